// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The threads that help one thread with its loops. They sleep soon where there is no work, and what they have not begun when it is
// through with its own part, it does itself: a thread that lost its core to other programs holds nobody up.
#pragma once

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

namespace sla::detail {

/// f(t) behind a pointer, so that a team is compiled once.
struct part_of_loop {
  void (*call)(void const* f, int t) = nullptr;
  void const* f = nullptr;
};

/// So often is a flag looked at before its thread sleeps: some 10 us. The passes of an iteration follow each other faster than that;
/// who sleeps is called within 5 to 50 us.
template <class Ready>
void wait_briefly(Ready const& ready) {
  for (int look = 0; look < 256 && !ready(); ++look) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#else
    std::atomic_thread_fence(std::memory_order_acquire);
#endif
  }
}

/// Is this thread running a part of a loop? Loops inside of it stay on it.
inline thread_local bool inside_a_loop = false;

/// Helpers of the thread that owns the team. Place()(attributes, t) may say where helper t runs. Law: one thread calls run, and not
/// from inside of a part.
template <class Place>
class team {
 public:
  team() = default;
  team(team const&) = delete;
  team& operator=(team const&) = delete;
  ~team() {
    stopping_.store(true, std::memory_order_relaxed);
    call_helpers();
    for (auto& h : helpers_)
      if (process_ == getpid())
        pthread_join(h->thread, nullptr);
      else
        (void)h.release();  // helpers of the process that this one was forked from: none of them is here
  }

  /// Runs parts 0 .. count-1, part t on helper t unless that comes late, and returns when all are done. The first exception is rethrown.
  void run(int count, part_of_loop part) {
    while (int(helpers_.size()) + 1 < count && add_helper()) continue;
    part_ = part;
    int const helped = (std::min)(count, int(helpers_.size()) + 1);
    left_.store(helped - 1, std::memory_order_relaxed);
    for (int t = 1; t < helped; ++t) helpers_[std::size_t(t) - 1]->ticket.fetch_add(1, std::memory_order_release);  // even: open
    call_helpers();
    inside_a_loop = true;
    do_part(0);
    for (int t = 1; t < helped; ++t)
      if (helpers_[std::size_t(t) - 1]->take()) {
        do_part(t);
        left_.fetch_sub(1, std::memory_order_relaxed);
      }
    for (int t = helped; t < count; ++t) do_part(t);  // for whom no thread could be started
    inside_a_loop = false;
    wait_briefly([&] { return left_.load(std::memory_order_acquire) == 0; });
    for (int left; (left = left_.load(std::memory_order_acquire)) != 0;) left_.wait(left, std::memory_order_acquire);
    if (failed_.exchange(false, std::memory_order_relaxed)) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  struct alignas(64) helper {
    team* of;
    int number;
    pthread_t thread;
    std::atomic<std::uint64_t> ticket{1};  ///< grows by one when a part is open for this helper, and by one when it is taken

    /// Is the part open, and now the caller's?
    bool take() {
      std::uint64_t seen = ticket.load(std::memory_order_acquire);
      return seen % 2 == 0 && ticket.compare_exchange_strong(seen, seen + 1, std::memory_order_acquire);
    }
  };

  void call_helpers() {
    calls_.fetch_add(1, std::memory_order_release);
    calls_.notify_all();
  }
  void do_part(int t) {
    try {
      part_.call(part_.f, t);
    } catch (...) {
      if (!failed_.exchange(true, std::memory_order_relaxed)) failure_ = std::current_exception();
    }
  }
  bool add_helper() {
    auto h = std::make_unique<helper>();
    h->of = this;
    h->number = int(helpers_.size()) + 1;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    Place()(attributes, h->number);
    bool const started = pthread_create(&h->thread, &attributes, [](void* self) -> void* { return help(*static_cast<helper*>(self)), nullptr; }, h.get()) == 0;
    pthread_attr_destroy(&attributes);
    if (started) helpers_.push_back(std::move(h));
    return started;
  }
  static void help(helper& self) {
    team& all = *self.of;
    inside_a_loop = true;
    for (int seen = 0;;) {
      wait_briefly([&] { return all.calls_.load(std::memory_order_acquire) != seen; });
      all.calls_.wait(seen, std::memory_order_acquire);
      seen = all.calls_.load(std::memory_order_acquire);
      if (all.stopping_.load(std::memory_order_relaxed)) return;
      if (!self.take()) continue;
      all.do_part(self.number);
      if (all.left_.fetch_sub(1, std::memory_order_release) == 1) all.left_.notify_one();
    }
  }

  std::vector<std::unique_ptr<helper>> helpers_;
  part_of_loop part_;
  std::atomic<int> calls_{0}, left_{0};
  std::atomic<bool> stopping_{false}, failed_{false};
  std::exception_ptr failure_;
  pid_t process_ = getpid();
};

}  // namespace sla::detail

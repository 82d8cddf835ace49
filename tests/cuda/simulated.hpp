// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An engine whose blocks are simulated: the spaces, the launcher and the kernel bodies of the device, run on the host.
#pragma once

#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include <sla/exec/cuda/space.cuh>

template <int Threads>
class simulated_engine {
 public:
  using memory_type = sla::host_memory;
  static constexpr int threads = Threads;
  int passes = 0, folds = 0, launches_of_folds = 0, maps = 0, width = 0;

  template <class T>
  std::shared_ptr<T> take(sla::index_t n) {
    std::shared_ptr<std::byte[]> room(new std::byte[std::size_t(n) * sizeof(T) + 1]);
    std::memset(room.get(), 0xff, std::size_t(n) * sizeof(T));  // NaN: what is not written is seen
    return {room, reinterpret_cast<T*>(room.get())};
  }
  template <class... P>
  void pass(sla::cuda::pass_grid const& g, unsigned mask, P const&... p) {
    ++passes;
    width = g.width;
    each_block(g.blocks(), [&](auto const& block) { sla::cuda::pass_body(block, g, mask, p...); });
  }
  template <class Targets, class... P>
  void pass_and_fold(sla::cuda::pass_grid const& g, unsigned mask, sla::index_t numbers, Targets const& targets, P const&... p) {
    pass(g, mask, p...);
    ++folds;
    each_block(numbers, [&](auto const& block) { sla::cuda::fold_all(block, targets); });
  }
  template <class D>
  void dots(sla::cuda::pass_grid const& g, int chunks, D const& d, typename D::summand* partials) {
    ++passes;
    for (int c = 0; c < chunks; ++c)
      each_block(g.blocks(), [&](auto const& block) { sla::cuda::dots_body(block, g, c * sla::cuda::dots_at_once, d, partials); });
  }
  template <class... Target>
  void fold(sla::index_t blocks, Target const&... target) {
    ++folds;
    ++launches_of_folds;
    each_block(blocks, [&](auto const& block) { sla::cuda::fold_body(block, target...); });
  }
  template <class F, class Place, class... A>
  void map(F const& f, Place const& place, sla::index_t count, A const&... argument) {
    ++maps;
    for (sla::index_t k = 0; k < count; ++k) sla::detail::put_result(place, k, f(sla::detail::item_value(argument, k)...));
  }
  void finish() {}
  void read(void const* from, void* to, std::size_t bytes) { std::memcpy(to, from, bytes); }
  void write(void const* from, void* to, std::size_t bytes) { std::memcpy(to, from, bytes); }

  class late_copies {
   public:
    explicit late_copies(int lag) : lag_(std::size_t(lag)) {}
    void const* exchange(void const* from, std::size_t bytes) {
      auto const* const first = static_cast<std::byte const*>(from);
      copies_.emplace_back(first, first + bytes);
      if (copies_.size() <= lag_) return nullptr;
      shown_ = std::move(copies_.front());
      copies_.pop_front();
      return shown_.data();
    }
    void forget() { copies_.clear(); }

   private:
    std::size_t lag_;
    std::deque<std::vector<std::byte>> copies_;
    std::vector<std::byte> shown_;
  };

 private:
  template <class F>
  static void each_block(sla::index_t blocks, F const& f) {
    alignas(16) static thread_local std::byte shared[Threads * sla::cuda::slot_bytes];
    for (sla::index_t n = blocks; n-- > 0;) f(sla::cuda::simulated_block<Threads>{n, shared});  // any order will do
  }
};

using simulated_space = sla::cuda::basic_space<simulated_engine<64>>;
using simulated_immediate = sla::cuda::basic_immediate<simulated_engine<64>>;
inline auto const simulate = [](sla::frame f) { return std::make_unique<simulated_space>(f); };

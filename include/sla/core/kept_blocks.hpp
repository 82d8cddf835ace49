// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Small blocks of the heap that a thread keeps for the next ones of the same size: an iteration asks for what the one before it
// gave back.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

namespace sla::detail {

/// The blocks that this thread freed last, at most a megabyte, each aligned to cache lines.
class kept_blocks {
public:
  static constexpr std::size_t largest = std::size_t(1) << 18;

  static void* take(std::size_t bytes) {
    if (!closed && bytes <= largest) {
      kept_blocks& own = of_this_thread();
      for (std::size_t n = own.count_; n-- > 0;)
        if (own.blocks_[n].bytes == bytes) return own.remove(n);
    }
    return ::operator new(bytes, line);
  }
  static void give(void* p, std::size_t bytes) noexcept {
    if (closed || bytes > largest) return ::operator delete(p, line);
    kept_blocks& own = of_this_thread();
    while (own.count_ == own.blocks_.size() || own.bytes_ + bytes > most) ::operator delete(own.remove(0), line);
    own.blocks_[own.count_++] = {p, bytes};
    own.bytes_ += bytes;
  }

private:
  struct block {
    void* at;
    std::size_t bytes;
  };
  static constexpr std::size_t most = std::size_t(1) << 20;
  static constexpr std::align_val_t line{64};

  kept_blocks() = default;
  ~kept_blocks() {
    while (count_ > 0) ::operator delete(remove(count_ - 1), line);
    closed = true;  // other statics are destroyed later
  }
  static kept_blocks& of_this_thread() {
    static thread_local kept_blocks own;
    return own;
  }
  void* remove(std::size_t n) noexcept {
    void* const at = blocks_[n].at;
    bytes_ -= blocks_[n].bytes;
    for (--count_; n < count_; ++n) blocks_[n] = blocks_[n + 1];
    return at;
  }

  static inline thread_local bool closed = false;
  std::array<block, 128> blocks_{};
  std::size_t count_ = 0, bytes_ = 0;
};

/// For containers of what a pass or an iteration needs.
template <class T>
struct kept_allocator {
  using value_type = T;
  kept_allocator() = default;
  template <class U>
  kept_allocator(kept_allocator<U> const&) {}  // NOLINT: all are alike
  T* allocate(std::size_t n) { return static_cast<T*>(kept_blocks::take(n * sizeof(T))); }
  void deallocate(T* p, std::size_t n) noexcept { kept_blocks::give(p, n * sizeof(T)); }
  bool operator==(kept_allocator const&) const = default;
};

template <class T>
using kept_list = std::vector<T, kept_allocator<T>>;

/// What is made with `new` in such a block; by its own type, or with a virtual destructor.
struct kept_object {
  static void* operator new(std::size_t bytes) { return kept_blocks::take(bytes); }
  static void operator delete(void* p, std::size_t bytes) noexcept { kept_blocks::give(p, bytes); }
};

/// Room for some T, which its last owner gives back.
template <class T>
std::shared_ptr<T> kept_room(std::size_t count) {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= alignof(std::max_align_t));
  auto const room = std::allocate_shared<std::max_align_t[]>(kept_allocator<std::max_align_t>(), (count * sizeof(T) + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t));
  return {room, reinterpret_cast<T*>(room.get())};
}

} // namespace sla::detail

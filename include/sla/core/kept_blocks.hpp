// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks of the heap that a thread keeps for the next ones of the same size: an iteration asks for what the one before it gave back.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

namespace sla {

namespace detail {
/// The blocks that this thread freed last, each aligned to cache lines: of those up to 256 KiB a mebibyte at most, of larger ones 16 MiB.
class kept_blocks {
public:
  static constexpr std::size_t largest = std::size_t(1) << 24;
  static constexpr bool is_short(std::size_t bytes) { return bytes <= std::size_t(1) << 18; }

  static void* take(std::size_t bytes) {
    if (!closed && bytes <= largest)
      if (void* const p = of_this_thread(bytes).take(bytes)) return p;
    return ::operator new(bytes, line);
  }
  static void give(void* p, std::size_t bytes) noexcept {
    if (closed || bytes > largest) return ::operator delete(p, line);
    of_this_thread(bytes).give(p, bytes);
  }
  /// Frees all that this thread keeps.
  static void release() noexcept {
    if (!closed) of_this_thread(0).trim(0), of_this_thread(largest).trim(0);
  }

private:
  static constexpr std::align_val_t line{64};

  class shelf {
  public:
    explicit shelf(std::size_t most) : most_(most) {}
    shelf(shelf const&) = delete;
    ~shelf() {
      trim(0);
      closed = true;  // other statics are destroyed later
    }
    /// Null, if there is none of this size.
    void* take(std::size_t bytes) noexcept {
      for (std::size_t n = count_; n-- > 0;)
        if (blocks_[n].bytes == bytes) return remove(n);
      return nullptr;
    }
    void give(void* p, std::size_t bytes) noexcept {
      trim(most_ - bytes);
      if (count_ == blocks_.size()) ::operator delete(remove(0), line);
      blocks_[count_++] = {p, bytes};
      bytes_ += bytes;
    }
    /// Frees the oldest, until at most so many bytes are kept.
    void trim(std::size_t most) noexcept {
      while (bytes_ > most) ::operator delete(remove(0), line);
    }

  private:
    struct block {
      void* at;
      std::size_t bytes;
    };
    void* remove(std::size_t n) noexcept {
      void* const at = blocks_[n].at;
      bytes_ -= blocks_[n].bytes;
      for (--count_; n < count_; ++n) blocks_[n] = blocks_[n + 1];
      return at;
    }
    std::array<block, 128> blocks_{};
    std::size_t count_ = 0, bytes_ = 0, most_;
  };
  static shelf& of_this_thread(std::size_t bytes) {
    static thread_local shelf short_ones(std::size_t(1) << 20), large_ones(largest);
    return is_short(bytes) ? short_ones : large_ones;
  }
  static inline thread_local bool closed = false;
};

/// For containers of what a pass or an iteration needs.
template <class T>
struct kept_allocator {
  using value_type = T;
  kept_allocator() = default;
  template <class U>
  constexpr kept_allocator(kept_allocator<U> const&) {}  // NOLINT: all are alike
  constexpr T* allocate(std::size_t n) {
    if (std::is_constant_evaluated()) return std::allocator<T>().allocate(n);
    return static_cast<T*>(kept_blocks::take(n * sizeof(T)));
  }
  constexpr void deallocate(T* p, std::size_t n) noexcept {
    if (std::is_constant_evaluated())
      std::allocator<T>().deallocate(p, n);
    else
      kept_blocks::give(p, n * sizeof(T));
  }
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

} // namespace detail

/// Frees the memory that this thread keeps for its next passes: at most 17 MiB. It is freed with the thread, too.
inline void release_kept_memory() { detail::kept_blocks::release(); }

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory: the host's, counted and first touched in parallel, and `buffer`, which owns or borrows a run of elements.
// Device memory is in adapter/cuda.cuh and has the same four functions.
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include <sla/core/error.hpp>
#include <sla/core/shape.hpp>
#include <sla/tensor/storage/pages.hpp>
#include <sla/tensor/storage/parallel.hpp>

namespace sla {

/// Bytes that tensors hold now, and the most they held since `memory_peak_reset()`. Host memory, all threads.
struct memory_use {
  std::size_t now, peak;
};

namespace detail {
inline std::atomic<std::size_t> bytes_now{0}, bytes_peak{0};
inline void count_bytes(std::size_t bytes) {
  std::size_t const now = bytes_now += bytes;
  for (std::size_t peak = bytes_peak; peak < now && !bytes_peak.compare_exchange_weak(peak, now);) {
  }
}
} // namespace detail
inline memory_use memory_in_use() { return {detail::bytes_now.load(), detail::bytes_peak.load()}; }
/// Lets `memory_in_use().peak` count from what is in use now.
inline void memory_peak_reset() { detail::bytes_peak = detail::bytes_now.load(); }

/// The memory of the host: aligned to cache lines. Long runs have large pages of their own (tensor/storage/pages.hpp), not the
/// heap's, which lie where any thread first touched them.
struct host_memory {
  static constexpr bool is_host = true;

  /// Errors: memory_error.
  static void* allocate(std::size_t bytes) {
    if (bytes == 0) return nullptr;
    void* const p = bytes < detail::large_page ? std::aligned_alloc(64, (bytes + 63) / 64 * 64) : detail::take_run(bytes);
    if (!p) throw memory_error(bytes, detail::bytes_now);
    detail::count_bytes(bytes);
    return p;
  }
  static void deallocate(void* p, std::size_t bytes) noexcept {
    if (!p) return;
    std::size_t const in_use = detail::bytes_now -= bytes;
    if (bytes >= detail::large_page) return detail::give_run(p, in_use);
    std::free(p);
  }
  template <class = void>
  static void zero(void* p, std::size_t bytes) {
    parallel_ranges(index_t(bytes), [&](index_t lo, index_t hi) {
      std::memset(static_cast<char*>(p) + lo, 0, std::size_t(hi - lo));
    }, light_bytes);
  }
  template <class = void>
  static void copy(void const* from, void* to, std::size_t bytes) {
    parallel_ranges(index_t(bytes), [&](index_t lo, index_t hi) {
      std::memcpy(static_cast<char*>(to) + lo, static_cast<char const*>(from) + lo, std::size_t(hi - lo));
    }, light_bytes);
  }

private:
  static constexpr index_t light_bytes = 8 * light_below;
};

namespace detail {
template <class M>
concept IsMemory = requires(void* p) {
  { M::is_host } -> std::convertible_to<bool>;
  M::deallocate(p, 0);
};
[[noreturn]] inline void refuse_index(std::string const& which, std::string const& of, index_t index, index_t extent) {
  throw index_error(text(which, " of ", of, "; it must be at least 0 and less than ", extent, index == extent ? " (indices count from 0)" : ""));
}
} // namespace detail

/// Asks for memory whose contents will all be written before they are read.
struct uninitialized_t {};
/// The value of `uninitialized_t`: `buffer<double>(n, uninitialized)`.
inline constexpr uninitialized_t uninitialized{};

/// A run of `size()` elements in one memory. It owns them, or borrows a user's array (a copy always owns).
template <class T, class Memory = host_memory>
class buffer {
  static_assert(std::is_trivially_copyable_v<T>);

public:
  using value_type = T;
  using memory_type = Memory;

  buffer() = default;
  /// n zeros.
  explicit buffer(index_t n) : buffer(n, uninitialized) { Memory::zero(data_, bytes()); }
  buffer(index_t n, uninitialized_t) : size_(n), owns_(true) {
    if (n < 0 || n > (std::numeric_limits<index_t>::max)() / index_t(sizeof(T)))
      throw shape_error(text("a buffer of ", n, " elements of ", sizeof(T), " bytes: the size is at least 0, and its bytes are countable"));
    data_ = static_cast<T*>(Memory::allocate(bytes()));
  }
  /// A user's array, neither copied nor freed; the user keeps it alive. A borrowed const array is never written.
  static buffer borrow(T* data, index_t n) { return buffer(data, n, false); }
  static buffer borrow(T const* data, index_t n) { return buffer(const_cast<T*>(data), n, true); }

  buffer(buffer const& other) : buffer(other.size_, uninitialized) {
    if (size_) Memory::copy(other.data_, data_, bytes());
  }
  buffer(buffer&& other) noexcept { swap(other); }
  buffer& operator=(buffer other) noexcept {
    swap(other);
    return *this;
  }
  ~buffer() {
    if (owns_) Memory::deallocate(data_, bytes());
  }
  void swap(buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(owns_, other.owns_);
    std::swap(read_only_, other.read_only_);
  }

  index_t size() const { return size_; }
  std::size_t bytes() const { return std::size_t(size_) * sizeof(T); }
  bool owns() const { return owns_; }
  T const* data() const SLA_LIFETIMEBOUND { return data_; }
  T* data() SLA_LIFETIMEBOUND {
    if (read_only_) throw value_error("a borrowed const array cannot be written; make a copy, which owns its values");
    return data_;
  }
  T const* begin() const SLA_LIFETIMEBOUND { return data_; }
  T const* end() const SLA_LIFETIMEBOUND { return data_ + size_; }
  T* begin() SLA_LIFETIMEBOUND { return data(); }
  T* end() SLA_LIFETIMEBOUND { return data() + size_; }
  /// Errors: index_error, if there is no such element, where assertions are on (no NDEBUG).
  T const& operator[](index_t n) const SLA_LIFETIMEBOUND { return data_[checked(n)]; }
  T& operator[](index_t n) SLA_LIFETIMEBOUND { return data_[checked(n)]; }

private:
  buffer(T* data, index_t n, bool read_only) : data_(data), size_(n), read_only_(read_only) {
    if (n < 0 || (n > 0 && !data)) throw shape_error(text("borrowing ", n, " elements from a null or negative range"));
  }
  index_t checked(index_t n) const {
    if (SLA_CHECKED && (n < 0 || n >= size_)) refuse(n);
    return n;
  }
  [[noreturn]] void refuse(index_t n) const { detail::refuse_index(text("element ", n), text(size_, " elements"), n, size_); }
  T* data_ = nullptr;
  index_t size_ = 0;
  bool owns_ = false, read_only_ = false;
};

namespace detail {
/// Do two runs share bytes?
template <class T, class U, class Memory>
bool overlap(buffer<T, Memory> const& a, buffer<U, Memory> const& b) {
  auto const first = reinterpret_cast<std::uintptr_t>(a.data()), second = reinterpret_cast<std::uintptr_t>(b.data());
  return first < second + b.bytes() && second < first + a.bytes();
}
} // namespace detail

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lists that begin in place and go to blocks that the thread keeps where they grow beyond it: what a `fuse` notes of a few statements costs
// no allocation, nor what it notes of many in each iteration.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include <sla/core/kept_blocks.hpp>

namespace sla::detail {

/// A list of elements, the first `Few` in place. It stays where it is made.
template <class T, std::size_t Few>
class short_list {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

public:
  short_list() {}  // NOLINT: nothing is written before it is pushed
  short_list(short_list const&) = delete;
  short_list& operator=(short_list const&) = delete;
  ~short_list() { let_go(); }

  void push_back(T const& x) {
    if (is_full()) grow();
    at_[size_++] = x;
  }
  /// One more, which nothing has been written to.
  T& push_back() {
    if (is_full()) grow();
    return at_[size_++];
  }
  bool is_full() const { return size_ == room_; }
  /// Twice the room.
  void grow() {
    T* const more = static_cast<T*>(kept_blocks::take(2 * room_ * sizeof(T)));
    std::copy_n(at_, size_, more);
    let_go();
    at_ = more, room_ *= 2;
  }
  std::size_t size() const { return size_; }
  T* begin() { return at_; }
  T* end() { return at_ + size_; }
  T const* begin() const { return at_; }
  T const* end() const { return at_ + size_; }
  T& operator[](std::size_t n) { return at_[n]; }
  T const& operator[](std::size_t n) const { return at_[n]; }

private:
  void let_go() {
    if (at_ != own_.elements) kept_blocks::give(at_, room_ * sizeof(T));
  }

  union in_place {
    in_place() {}  // NOLINT: as the list
    T elements[Few];
  } own_;
  T* at_ = own_.elements;
  std::size_t size_ = 0, room_ = Few;
};

} // namespace sla::detail

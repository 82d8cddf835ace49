// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lists that begin in place and go to the heap where they grow beyond it: what a `fuse` notes of a few statements costs no
// allocation.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

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
    if (size_ == room_) grow(size_ + 1);
    at_[size_++] = x;
  }
  /// Other elements behind these.
  template <class List>
  void append(List const& more) {
    if (size_ + more.size() > room_) grow(size_ + more.size());
    for (T const& x : more) at_[size_++] = x;
  }
  void clear() { size_ = 0; }
  std::size_t size() const { return size_; }
  T* begin() { return at_; }
  T* end() { return at_ + size_; }
  T const* begin() const { return at_; }
  T const* end() const { return at_ + size_; }
  T& operator[](std::size_t n) { return at_[n]; }
  T const& operator[](std::size_t n) const { return at_[n]; }

private:
  void grow(std::size_t least) {
    std::size_t const room = (std::max)(least, 2 * room_);
    T* const more = new T[room];
    std::copy_n(at_, size_, more);
    let_go();
    at_ = more, room_ = room;
  }
  void let_go() {
    if (at_ != own_.elements) delete[] at_;
  }

  union in_place {
    in_place() {}  // NOLINT: as the list
    T elements[Few];
  } own_;
  T* at_ = own_.elements;
  std::size_t size_ = 0, room_ = Few;
};

} // namespace sla::detail

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The part that an object shares with its copies, and has no longer once it was moved from: then it says so.
// Tensors that were moved from are empty instead (tensor/storage/dense.hpp). What threads share is in core/guarded.hpp.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include <sla/core/error.hpp>
#include <sla/core/meta.hpp>

namespace sla::detail {

/// Has p no other owner? Then whatever other threads did by shares that are gone happened before.
template <class T>
bool is_sole(std::shared_ptr<T> const& p) {
  if (p.use_count() > 1) return false;
  std::shared_ptr<T>(p).reset();  // use_count() alone waits for nobody's writes; to give up a share does
  return true;
}

/// std::make_shared<T>(arguments...) at a fifth of what that takes to compile: what counts the owners is one class for all T. It takes a second allocation, for that.
template <class T, class... Arguments>
std::shared_ptr<T> shared_of(Arguments&&... arguments) {
  using Plain = std::remove_const_t<T>;
  Plain* const made = new Plain(std::forward<Arguments>(arguments)...);
  return {std::shared_ptr<void>(static_cast<void*>(made), static_cast<void (*)(void*)>([](void* part) { delete static_cast<Plain*>(part); })), made};
}

/// A shared part of an object that messages call `Owner`. Errors of every use: value_error, if that was moved from.
template <class T, fixed_string Owner>
class held {
public:
  held() = default;
  held(std::shared_ptr<T> part) : part_(std::move(part)) {}  // NOLINT: a member is initialised by what it holds

  std::shared_ptr<T> const& shared() const {
    if (!part_) throw value_error(text(Owner.view(), " was moved from and is empty; assign another one to it first"));
    return part_;
  }
  T* get() const { return shared().get(); }
  T& operator*() const { return *get(); }
  T* operator->() const { return get(); }
  /// Is it there?
  explicit operator bool() const { return part_ != nullptr; }
  bool is_sole() const { return detail::is_sole(shared()); }

private:
  std::shared_ptr<T> part_;
};

} // namespace sla::detail

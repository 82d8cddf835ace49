// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parts of objects that more than one has: `held`, shared with copies, which says so once its object was moved from (tensors
// are empty then: tensor/dense.hpp), and `guarded`, which const functions change for several threads at once.
#pragma once

#include <memory>
#include <mutex>
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

/// What const functions of an object find out and keep, whichever thread comes first. A copy has its own from then on.
template <class T>
class guarded {
public:
  guarded() = default;
  explicit guarded(T value) : value_(std::move(value)) {}
  guarded(guarded const& other) : value_(other.with([](T const& value) { return value; })) {}

  /// f(value), for one thread at a time.
  template <class F>
  auto with(F const& f) const {
    std::lock_guard const lock(turn_);
    return f(value_);
  }

private:
  mutable std::mutex turn_;
  mutable T value_{};
};

} // namespace sla::detail

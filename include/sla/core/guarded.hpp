// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What const functions change, behind a lock: several threads may call them on one object.
#pragma once

#include <mutex>
#include <utility>

namespace sla::detail {

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

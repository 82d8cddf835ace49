// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What const functions change, behind a lock: several threads may call them on one object.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <sla/core/held.hpp>

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

/// Work memory that calls take in turn and leave for the next ones: as many as ran at one time. A copy begins with none.
template <class W>
class idle_work {
public:
  idle_work() = default;
  idle_work(idle_work const&) {}

  /// f(one that nobody else has): one that was left, or W(owner).
  template <class Owner, class F>
  void with(Owner const& owner, F const& f) const {
    auto one = take(owner);
    f(*one);
    leave(std::move(one));
  }

private:
  template <class Owner>
  std::shared_ptr<W> take(Owner const& owner) const {
    auto left = idle_.with([](auto& all) {
      std::shared_ptr<W> last;
      if (!all.empty()) last = std::move(all.back()), all.pop_back();
      return last;
    });
    return left ? left : detail::shared_of<W>(owner);
  }
  void leave(std::shared_ptr<W> one) const {
    idle_.with([&](auto& all) { all.push_back(std::move(one)); });
  }
  guarded<std::vector<std::shared_ptr<W>>> idle_;
};

} // namespace sla::detail

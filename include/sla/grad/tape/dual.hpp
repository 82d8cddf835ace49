// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Forward mode: values with tangents, computed together; nothing is recorded. A tangent has the type of its value.
// Users see traced values (grad/tape/traced.hpp) and jvp (grad/call/jvp.hpp); the tape of reverse mode is in grad/tape/tape.hpp.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include <sla/core/held.hpp>
#include <sla/grad/tape/cotangent.hpp>

namespace sla {

/// The tangents of a V: `type`, `zero` and `add` as of cotangents. A higher floor specialises it where cotangents have another
/// type than values.
template <class V>
struct tangent_space : cotangent_space<V> {
  static_assert(std::same_as<cotangent_type_t<V>, V>);
};

/// A value and the sum of the contributions to its tangent; no contribution is zero.
template <class V>
class dual_variable {
public:
  using value_type = V;

  explicit dual_variable(V value) : own_(std::move(value)), value_(&*own_) {}
  /// Views both, which must outlive it; a null tangent is zero.
  dual_variable(V const* value, V const* tangent) : value_(value), tangent_(tangent) {}
  dual_variable(dual_variable const&) = delete;
  dual_variable& operator=(dual_variable const&) = delete;

  V const& value() const { return *value_; }
  /// Null if it is zero.
  V const* tangent() const { return sum_ ? &*sum_ : tangent_; }
  template <class X>
  void add(X const& contribution) {
    tangent_space<V>::add(sum_, *value_, contribution);
  }
  /// At the end: both as owners.
  V take_value() { return own_ ? std::move(*own_) : *value_; }
  V take_tangent() {
    if (sum_) return std::move(*sum_);
    return tangent_ ? *tangent_ : tangent_space<V>::zero(*value_);
  }

private:
  std::optional<V> own_, sum_;
  V const* value_;
  V const* tangent_ = nullptr;
};

/// The home of values that carry tangents, in the place of a tape. What a rule reads outlives the rule, which runs at once: so
/// nothing is copied, and a value goes with the last handle to it.
class forward_mode {
public:
  template <class V>
  using variable_type = dual_variable<V>;
  template <class V>
  using handle_type = std::shared_ptr<dual_variable<V>>;

  forward_mode() = default;
  forward_mode(forward_mode const&) = delete;
  forward_mode& operator=(forward_mode const&) = delete;

  template <class V>
  std::shared_ptr<V const> keep(V const& value) {
    return {std::shared_ptr<void>(), &value};
  }
  /// The same for a value that borrows.
  template <class V, class Copy>
  std::shared_ptr<V const> keep_as(V&& borrowed, Copy const&) {
    return detail::shared_of<V const>(std::move(borrowed));
  }
};

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A function run on values that know which unknowns they depend on, in the place of a tape or of tangents: the pattern of its Jacobian.
// Every rule of the house and of the user says it: element by element, by the pattern of A in A x, and by probing what else is linear.
#pragma once

#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include <sla/core/held.hpp>
#include <sla/grad/operation/traced_product.hpp>
#include <sla/solve/nonlinear/dependence.hpp>

namespace sla {

namespace detail {
/// The numbers that a value is made of: elements, stored values, or itself.
template <class V>
index_t number_count(V const& v) {
  if constexpr (requires { v.values(); })
    return v.values().size();
  else
    return 1;
}
template <class V>
auto* numbers_of(V& v) {
  if constexpr (requires { v.values(); })
    return v.values().data();
  else
    return &v;
}

/// A value, and the unknowns that its numbers depend on.
template <class V>
class dependent_variable {
public:
  using value_type = V;
  explicit dependent_variable(V value, dependence on = nullptr) : value_(std::move(value)), on_(std::move(on)) {}
  V const& value() const { return value_; }
  dependence const& on() const { return on_; }
  void also_on(dependence const& more) { on_ = united(on_, more); }

private:
  V value_;
  dependence on_;
};

/// How the numbers of y depend on those of a linear map's operand.
template <class Y, class V, class Pullback, class Pushforward>
dependence map_of(Y const& y, linear_rule<dependent_variable<V>, Pullback, Pushforward> const& rule) {
  V const& x = rule.v->value();
  index_t const out = number_count(y), in = number_count(x);
  using T = std::remove_cvref_t<decltype(*numbers_of(std::declval<V&>()))>;
  return probed_dependence(out, in, [&](std::vector<double> const& seed) {
    V d = tangent_space<V>::zero(x);
    auto* const to = numbers_of(d);
    for (index_t n = 0; n < in; ++n) to[n] = T(real_t<T>(seed[std::size_t(n)]));
    auto const image = collected(y, rule.pushforward_(y, d));
    std::vector<dependent_t<char, Y>> hit(std::size_t(out), 0);
    auto const* const from = numbers_of(image);
    for (index_t n = 0; n < out; ++n) hit[std::size_t(n)] = from[n] != std::remove_cvref_t<decltype(from[n])>{};
    return hit;
  });
}
template <class Y, class V, class Pullback, class Part>
dependence map_of(Y const& y, linear_rule<dependent_variable<V>, Pullback, times_matrix<Part>> const& rule) {
  auto const& A = rule.pushforward_.matrix.A.value();
  index_t const in = A.batch_count() * (Part::transposed ? A.range() : A.domain()).total() / (A.batch_count() > 0 ? A.batch_count() : 1);
  return dependence_of_product<Part::transposed>(A, in > 0 ? number_count(rule.v->value()) / in : number_count(y));
}

/// What the numbers of y depend on by one rule.
template <class Y, class V, class Pullback, class Pushforward>
dependence dependence_by(Y const& y, linear_rule<dependent_variable<V>, Pullback, Pushforward> const& rule, index_t) {
  dependence const& in = rule.v->on();
  if constexpr (std::same_as<Pushforward, std::remove_const_t<decltype(unchanged)>>)
    return in;
  else
    return in ? composed(map_of(y, rule), in) : nullptr;
}
template <class Y, class V, class Contribution>
dependence dependence_by(Y const& y, pointwise_rule<traced_operand<dependent_variable<V>>, Contribution> const& rule, index_t) {
  dependence const& in = rule.x.v->on();
  index_t const out = number_count(y), from = number_count(rule.x.v->value());
  return !in || out == from ? in : composed(full_dependence(out, from), in);  // a number for all, or all to one
}
template <class Y>
dependence dependence_by(Y const&, no_rule const&, index_t) {
  return nullptr;
}
/// A rule that says no more: on everything.
template <class Y, class R>
dependence dependence_by(Y const& y, R const&, index_t unknowns) {
  return full_dependence(number_count(y), unknowns);
}
} // namespace detail

/// The home of values that carry what they depend on.
class dependence_mode {
public:
  template <class V>
  using variable_type = detail::dependent_variable<V>;
  template <class V>
  using handle_type = std::shared_ptr<detail::dependent_variable<V>>;

  explicit dependence_mode(index_t unknowns) : unknowns_(unknowns) {}
  dependence_mode(dependence_mode const&) = delete;
  dependence_mode& operator=(dependence_mode const&) = delete;

  template <class V>
  std::shared_ptr<V const> keep(V const& value) {
    return {std::shared_ptr<void>(), &value};
  }
  template <class V, class Copy>
  std::shared_ptr<V const> keep_as(V&& borrowed, Copy const&) {
    return detail::shared_of<V const>(std::move(borrowed));
  }
  template <class V, class... Rules>
  handle_type<V> record(V value, detail::rules_of_entry<Rules...> const& entry) {
    auto y = detail::shared_of<detail::dependent_variable<V>>(std::move(value));
    std::apply([&](auto const&... rule) { (y->also_on(detail::dependence_by(y->value(), rule, unknowns_)), ...); }, entry.rules);
    return y;
  }
  template <class... V, class... Rules>
  std::tuple<handle_type<V>...> record(std::tuple<V...> values, detail::rules_of_entry<Rules...> const&) {
    return std::apply(
        [&](V&... v) {
          return std::tuple(detail::shared_of<detail::dependent_variable<V>>(std::move(v), detail::full_dependence(detail::number_count(v), unknowns_))...);
        },
        values);
  }

private:
  index_t unknowns_;
};

namespace detail {
/// On which elements of u those of f(u) depend: a pattern of (elements of f(u)) x (elements of u), what is stored being an upper bound at
/// any u where f takes the same branches, but for operands of bilinear operations on sparse tensors that are 0 at u.
template <class F, class V>
dependence dependence_of(F const& f, V const& u) {
  dependence_mode mode(u.size());
  auto const x = traced<V, dependence_mode>(mode, detail::shared_of<dependent_variable<V>>(u, own_dependence(u.size())));
  auto const y = f(x);
  dependence found;
  if constexpr (Traced<decltype(y)>) found = y.variable().on();
  if (found) return found;
  auto const& plain = plain_value(y);
  index_t const rows = [&] {
    if constexpr (requires { plain.extents().total(); })
      return plain.extents().total();
    else
      return index_t(1);
  }();
  return made_dependence(rows, u.size(), {}, [](index_t) { return index_t(0); });
}
} // namespace detail

} // namespace sla

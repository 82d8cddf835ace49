// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The scalars of a space with several items, or on another device: one number per item, where the space keeps them. They
// are coefficients of expressions and arguments of `map`; they never convert and never compare.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <sla/core/pack.hpp>
#include <sla/expr/dense/node.hpp>

namespace sla {

/// One T per item in a space. Copies share the numbers. The space releases them in its own order.
template <class T, class Memory>
class item_scalar {
public:
  using value_type = T;
  using memory_type = Memory;

  item_scalar() = default;
  item_scalar(std::shared_ptr<T> data, index_t count) : data_(std::move(data)), count_(count) {}
  T* data() const { return data_.get(); }
  index_t count() const { return count_; }
  /// The numbers, for as long as they are held.
  std::shared_ptr<T> const& share() const { return data_; }

private:
  std::shared_ptr<T> data_;
  index_t count_ = 0;
};

/// A scalar of a space as an operand: each item has its own number.
template <class T, class Memory>
per_item<T, Memory> as_node(item_scalar<T, Memory> const& s) {
  return {s.data()};
}

/// A scalar that was moved into the expression; lowering views it.
template <class T, class Memory>
struct held_scalar {
  using expression_tag = void;
  using value_type = T;
  using extents_type = no_extents;
  using memory_type = Memory;
  static constexpr reach depth = reach::pointwise;

  item_scalar<T, Memory> owner;

  no_extents extents() const { return {}; }
  template <class F>
  per_item<T, Memory> rebuild(F const&) const {
    return {owner.data()};
  }
};
template <class T, class Memory>
held_scalar<T, Memory> as_node(item_scalar<T, Memory>&& s) {
  return {std::move(s)};
}
/// The coefficients of `combine`, per item.
template <class T, class Memory>
per_item<T, Memory> as_coefficients(item_scalar<T, Memory> const& s) {
  return {s.data()};
}

namespace detail {
/// Refused: arithmetic of two scalars of a space.
template <class S>
S refused_scalars() {
  static_assert(always_false<S>, "sla: scalars of a space have no arithmetic among themselves, for they are where the space keeps them: write space.map([](auto x, auto y) { return x * y; }, c, d)");
  return {};
}
} // namespace detail
// clang-format off
template <class T, class U, class M> item_scalar<T, M> operator+(item_scalar<T, M> const&, item_scalar<U, M> const&) { return detail::refused_scalars<item_scalar<T, M>>(); }
template <class T, class U, class M> item_scalar<T, M> operator-(item_scalar<T, M> const&, item_scalar<U, M> const&) { return detail::refused_scalars<item_scalar<T, M>>(); }
template <class T, class U, class M> item_scalar<T, M> operator*(item_scalar<T, M> const&, item_scalar<U, M> const&) { return detail::refused_scalars<item_scalar<T, M>>(); }
template <class T, class U, class M> item_scalar<T, M> operator/(item_scalar<T, M> const&, item_scalar<U, M> const&) { return detail::refused_scalars<item_scalar<T, M>>(); }
// clang-format on

namespace detail {
template <class X>
inline constexpr bool is_item_scalar = false;
template <class T, class Memory>
inline constexpr bool is_item_scalar<item_scalar<T, Memory>> = true;

/// The k-th item's number, or the number itself: what `map` hands to its function.
template <class T, class Memory>
SLA_HD T item_value(per_item<T, Memory> s, index_t k) {
  return s.value[k];
}
template <class T>
SLA_HD T item_value(T s, index_t) {
  return s;
}
/// An argument of `map` as kernels see it.
template <class T>
auto map_argument(T const& s) {
  if constexpr (is_item_scalar<T>)
    return as_node(s);
  else
    return s;
}

/// The numbers of a scalar, one per item. Errors: shape_error, if they are more or less.
template <class T, class K>
void copy_numbers(std::vector<T> const& numbers, K* to, index_t items) {
  if (index_t(numbers.size()) != items)
    throw shape_error(text("space.scalar(numbers): ", numbers.size(), " numbers for ", items, " items; there is one per item, as space.read(s) gives them"));
  for (T const& number : numbers) *to++ = K(number);
}

/// make(type) for what a function of `map` returns; for each part, where that is a pack.
template <class R, class Make>
constexpr auto results_of_map(Make const& make) {
  if constexpr (is_pack<R>)
    return [&]<class... T>(pack<T...> const*) { return packed(make(std::type_identity<T>{})...); }(static_cast<R const*>(nullptr));
  else
    return make(std::type_identity<R>{});
}
/// Where the results of `map` go, as kernels see it; and the k-th item's.
template <class T, class Memory>
T* place_of_results(item_scalar<T, Memory> const& s) {
  return s.data();
}
template <class... S>
auto place_of_results(pack<S...> const& s) {
  return with_parts([](auto const&... scalar) { return packed(scalar.data()...); }, s);
}
template <class T>
SLA_HD void put_result(T* to, index_t k, T const& result) {
  to[k] = result;
}
template <class... T, std::size_t... N>
SLA_HD void put_result(pack<T*...> const& to, index_t k, pack<T...> const& result, std::index_sequence<N...>) {
  ((part<N>(to)[k] = part<N>(result)), ...);
}
template <class... T>
SLA_HD void put_result(pack<T*...> const& to, index_t k, pack<T...> const& result) {
  put_result(to, k, result, std::index_sequence_for<T...>{});
}
} // namespace detail

} // namespace sla

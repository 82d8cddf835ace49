// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parts along one whole dimension: `section<0>(x, first, count)` with a typed offset, and `batched(f)(x, unbatched(w))`, which calls f for each
// item of the first dimension and stacks the results. Parts that axes shard are in dist/assembly/distribute.hpp.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <sla/dist/value/scalars.hpp>
#include <sla/spmd/placement/partition_spec.hpp>

namespace sla {

namespace op {
/// A section at an offset: linear in the tensor, not in the offset.
struct section {};
} // namespace op
template <>
inline constexpr op_rule rule_of<op::section>{.linear = linearity::separate, .nonlinear_arguments = 0b10};

namespace detail {

/// Is the dimension whole on every rank?
template <class X, int Dim>
inline constexpr bool is_whole_dim = order_of(tensor_placement_of<std::remove_cvref_t<X>>, Dim).count == 0;

template <class E, int Front>
struct shifted_extents { // without the first, or with another before it
  using type = decltype([]<std::size_t... N>(std::index_sequence<N...>) {
    return Extents<(static_cast<index_t>(N) * 0 + dyn)...>{};
  }(std::make_index_sequence<std::size_t(E::rank + Front)>{}));
};
template <class Local, int Front>
using shifted_local = tensor<typename Local::value_type, typename shifted_extents<typename Local::extents_type, Front>::type, typename Local::memory_type>;

/// A placement when a dimension is put before the first, or the first is taken away.
template <class P, int Front>
struct shifted {
  using type = P;
};
template <int Dim, class F, int Level, int Front>
struct shifted<Shard<Dim, F, Level>, Front> {
  using type = Shard<Dim + Front, F, Level>;
};
template <class List, int Front>
struct shifted_list;
template <class... P, int Front>
struct shifted_list<placements<P...>, Front> {
  using type = placements<typename shifted<P, Front>::type...>;
};

} // namespace detail

/// Elements first, ..., first + count - 1 of a dimension that is whole on every rank. Placement: that of x with a Replicate offset;
/// with a Varying one (`rank_along`) Varying, and a pending sum is refused then. Cost: a copy of the section.
/// Errors: index_error, if they are not all there.
template <int Dim, DistributedTensor X, class First>
  requires(DistributedNumber<First> || operand_traits<First>::kind == operand_kind::uniform)
auto section(X const& x, First const& first, index_t count) {
  static_assert(detail::is_whole_dim<X, Dim>, "sla[E17]: section<d>(x, first, count): dimension d is sharded over the ranks. all_gather it first");
  using Offset = typename detail::without_gradient<First>::type;
  require_well_typed<op::section, X, Offset>();
  using Local = typename X::local_type;
  using To = tensor<typename Local::value_type, typename detail::shifted_extents<typename Local::extents_type, 0>::type, typename Local::memory_type>;
  auto const& from = x.local();
  auto const begin = index_t(detail::number_here(first));
  if (begin < 0 || count < 0 || count > from.extent(Dim) - begin)
    throw index_error(text("section<", Dim, ">(x, ", begin, ", ", count, "): dimension ", Dim, " has ", from.extent(Dim), " indices"));
  index_t sizes[Local::rank], outer = 1, inner = 1;
  for (int d = 0; d < Local::rank; ++d) {
    sizes[d] = d == Dim ? count : from.extent(d);
    if (d < Dim) outer *= sizes[d];
    if (d > Dim) inner *= sizes[d];
  }
  To local(detail::extents_from<typename To::extents_type>(sizes), uninitialized);
  for (index_t o = 0; o < outer; ++o)
    std::copy_n(from.data() + (o * from.extent(Dim) + begin) * inner, count * inner, local.data() + o * count * inner);
  return result_t<To, op::section, X, Offset>(std::move(local), x.handle());
}

/// An argument of a batched function that is the same for all items.
template <class X>
struct unbatched_argument {
  X const& value;
};
/// An argument that all items share: it is not cut.
template <class X>
unbatched_argument<X> unbatched(X const& x) {
  return {x};
}

namespace detail {

/// How many items an argument has; -1 if it has none.
template <class X>
index_t items_of(X const& x) {
  if constexpr (DistributedTensor<X>)
    return x.local().extent(0);
  else
    return -1;
}
template <class... T>
index_t items_of(std::tuple<T...> const& x) {
  index_t count = -1;
  std::apply([&](auto const&... member) { ((count = count < 0 ? items_of(member) : count), ...); }, x);
  return count;
}
template <class X>
auto item_of(X const& x, index_t n) {
  if constexpr (DistributedTensor<X>) {
    static_assert(is_whole_dim<X, 0>, "sla: batched(f)(x): the first dimension is sharded, so that ranks have different items: a collective in f "
                                  "would mix them. Write local_map, or all_gather it first");
    using Local = typename X::local_type;
    if (n >= x.local().extent(0)) throw shape_error(text("batched(f): an argument has ", x.local().extent(0), " items, another more"));
    using List = typename shifted_list<placements_of_t<X>, -1>::type;
    if constexpr (Local::rank == 1) {
      return typename distributed_with<typename Local::value_type, mesh_of_t<X>, List>::type(x.local()[n], x.handle());
    } else {
      using To = shifted_local<Local, -1>;
      index_t sizes[Local::rank];
      for (int d = 1; d < Local::rank; ++d) sizes[d - 1] = x.local().extent(d);
      To local(extents_from<typename To::extents_type>(sizes), uninitialized);
      std::copy_n(x.local().data() + n * local.size(), local.size(), local.data());
      return typename distributed_with<To, mesh_of_t<X>, List>::type(std::move(local), x.handle());
    }
  } else {
    return x;
  }
}
template <class X>
X const& item_of(unbatched_argument<X> const& x, index_t) {
  return x.value;
}
template <class... T>
auto item_of(std::tuple<T...> const& x, index_t n) {
  return std::apply([&](auto const&... member) { return std::tuple<std::remove_cvref_t<decltype(item_of(member, n))>...>(item_of(member, n)...); }, x);
}

template <class X>
auto finished_item(X const& x) {
  if constexpr (requires { eval(x); }) // an expression
    return eval(x);
  else
    return x;
}
template <class... T>
auto finished_item(std::tuple<T...> const& x) {
  return std::apply([](auto const&... member) { return std::tuple<decltype(finished_item(member))...>(finished_item(member)...); }, x);
}

/// Results of one type behind each other.
template <class Y>
auto stacked_items(std::vector<Y> const& items) {
  static_assert(is_distributed<Y>, "sla: batched(f)(x): f returns a distributed tensor or number, or a tuple of them");
  using Local = typename Y::local_type;
  using List = typename shifted_list<placements_of_t<Y>, 1>::type;
  auto const count = static_cast<index_t>(items.size());
  if constexpr (is_tensor<Local>) {
    using To = shifted_local<Local, 1>;
    index_t sizes[Local::rank + 1] = {count};
    for (int d = 0; d < Local::rank; ++d) sizes[d + 1] = items[0].local().extent(d);
    To local(extents_from<typename To::extents_type>(sizes), uninitialized);
    for (index_t n = 0; n < count; ++n) {
      auto const& part = items[std::size_t(n)].local();
      if (!(part.extents() == items[0].local().extents())) throw shape_error("batched(f): the results of the items have different extents");
      std::copy_n(part.data(), part.size(), local.data() + n * part.size());
    }
    return typename distributed_with<To, mesh_of_t<Y>, List>::type(std::move(local), items[0].handle());
  } else {
    vector<Local> local(Extents<dyn>(count), uninitialized);
    for (index_t n = 0; n < count; ++n) local[n] = items[std::size_t(n)].local();
    return typename distributed_with<vector<Local>, mesh_of_t<Y>, List>::type(std::move(local), items[0].handle());
  }
}
template <class... T>
auto stacked_items(std::vector<std::tuple<T...>> const& items) {
  return [&]<std::size_t... M>(std::index_sequence<M...>) {
    auto const member = [&]<std::size_t K>(std::integral_constant<std::size_t, K>) {
      std::vector<std::tuple_element_t<K, std::tuple<T...>>> all;
      for (auto const& item : items) all.push_back(std::get<K>(item));
      return stacked_items(all);
    };
    return std::tuple<decltype(member(std::integral_constant<std::size_t, M>{}))...>{member(std::integral_constant<std::size_t, M>{})...};
  }(std::index_sequence_for<T...>{});
}

} // namespace detail

/// f for each item of the first dimension of its tensor arguments (also in tuples), the results stacked along a new first dimension. The
/// other arguments, and `unbatched(x)`, are the same for all items. Placement: as for one item, every shard one dimension further.
/// Cost: that of f times the items, and copies. Errors: shape_error, if the arguments have different numbers of items, or none.
template <class F>
auto batched(F f) {
  return [f](auto const&... x) {
    index_t count = -1;
    ((count = count < 0 ? detail::items_of(x) : count), ...);
    if (count <= 0) throw shape_error("batched(f): the arguments have no items; at least one is a distributed tensor with a first dimension");
    auto const one = [&](index_t n) { return detail::finished_item(f(detail::item_of(x, n)...)); };
    std::vector<decltype(one(0))> items;
    for (index_t n = 0; n < count; ++n) items.push_back(one(n));
    return detail::stacked_items(items);
  };
}

} // namespace sla

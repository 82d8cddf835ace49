// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reshapes of distributed tensors by pattern, without communication: `reshape<"(a b) c -> a b c">(x, named_extent<"b">(3))`. What the placements
// become is decided in spmd/step/reshape_pattern.hpp.
#pragma once

#include <type_traits>
#include <utility>

#include <sla/dist/value/expression.hpp>
#include <sla/spmd/step/reshape_pattern.hpp>

namespace sla {

/// The extent of a factor of a pattern, known to the compiler or not. Of each dimension one may be left out.
template <fixed_string Name, index_t Size = dyn>
struct named_extent {
  using named_extent_tag = void; // not every compiler finds strings in a type
  static constexpr std::string_view name() { return Name.view(); }
  constexpr named_extent()
    requires(Size != dyn)
  = default;
  constexpr explicit named_extent(index_t n)
    requires(Size == dyn)
      : value(n) {}
  static constexpr index_t size = Size;
  index_t value = Size;
};
/// The ranks divide the outermost factor of a dimension that is cut; checked at run time.
struct assume_divisible_t {};
/// The value of `assume_divisible_t`, an argument of `reshape`.
inline constexpr assume_divisible_t assume_divisible{};
/// What is sharded may become an inner factor: its shards are then Strided.
struct to_strided_t {};
/// The value of `to_strided_t`, an argument of `reshape`.
inline constexpr to_strided_t to_strided{};

namespace detail {

template <class T>
inline constexpr bool is_factor = requires { typename T::named_extent_tag; };
template <class T>
concept ReshapeArgument = is_factor<std::remove_cvref_t<T>> || std::is_same_v<std::remove_cvref_t<T>, assume_divisible_t> ||
                          std::is_same_v<std::remove_cvref_t<T>, to_strided_t>;

template <class Arg>
struct factor_name {
  static constexpr std::string_view value{};
};
template <class Arg>
  requires is_factor<Arg>
struct factor_name<Arg> {
  static constexpr std::string_view value = Arg::name();
};

template <fixed_string Pattern>
struct pattern_read {
  static constexpr reshape_pattern value = read_pattern(Pattern.view());
};
template <class Read, class Local, class Mesh, class List, class... Arg>
struct reshaped_local;
template <fixed_string Pattern, class X, class... Arg>
using reshaped_type = reshaped_local<pattern_read<Pattern>, local_of_t<X>, mesh_of_t<X>, placements_of_t<X>, Arg...>;
template <class Read, class Local, class Mesh, class... P, class... Arg>
struct reshaped_local<Read, Local, Mesh, placements<P...>, Arg...> {
  static constexpr reshape_pattern pattern = Read::value;
  using keys = typename key_list<P...>::type;

  static constexpr reshape_outcome decide() {
    reshape_facts known;
    for (int n = 0; n < max_factors; ++n) known.factor[n] = -1;
    for (int a = 0; a < Mesh::rank; ++a) known.axis[a] = Mesh::static_size(a);
    [[maybe_unused]] auto const even = [&]<class Q>(std::type_identity<Q>) {
      if constexpr (DenseShard<Q>)
        if (std::is_same_v<typename Q::family, Even>) known.even_families |= std::uint64_t{1} << to_value<Q, keys>().family;
    };
    (even(std::type_identity<P>{}), ...);
    [[maybe_unused]] auto const hear = [&]<class A>(std::type_identity<A>) {
      if constexpr (is_factor<A>) {
        if (int const n = pattern.find(factor_name<A>::value); n >= 0) known.factor[n] = A::size;
      } else if constexpr (std::is_same_v<A, assume_divisible_t>) {
        known.assume_divisible = true;
      } else {
        known.strided = true;
      }
    };
    (hear(std::type_identity<Arg>{}), ...);
    return reshape_placement(distributed_operand<keys, Local, P...>().type, pattern, known);
  }
  static constexpr reshape_outcome value = decide();
  static constexpr bool names_fit = ((!is_factor<Arg> || pattern.find(factor_name<Arg>::value) >= 0) && ...);

  template <int A>
  static auto placement() {
    using Q = placement_at<value.type.on[A], keys>;
    if constexpr (value.pieces[A] > 0)
      return std::type_identity<Shard<Q::dim, Strided<int(value.pieces[A]), typename Q::family>, Q::level>>{};
    else
      return std::type_identity<Q>{};
  }
  template <int... D>
  static auto extents(std::integer_sequence<int, D...>) {
    return std::type_identity<Extents<(D * 0 + dyn)...>>{};
  }
  template <int... A>
  static auto make(std::integer_sequence<int, A...>) {
    if constexpr (value.ok()) {
      using E = typename decltype(extents(std::make_integer_sequence<int, pattern.to.rank>{}))::type;
      using To = tensor<typename Local::value_type, E, typename Local::memory_type>;
      return std::type_identity<distributed<To, Mesh, typename decltype(placement<A>())::type...>>{};
    } else {
      return std::type_identity<distributed<Local, Mesh, P...>>{}; // one error
    }
  }
  using type = typename decltype(make(std::make_integer_sequence<int, Mesh::rank>{}))::type;
};

/// Never true; its arguments are what a refusal prints.
template <fixed_string Pattern, class Is>
inline constexpr bool reshape_fits = false;

template <fixed_string Pattern, class X, class... Arg>
constexpr void require_reshape() {
  using R = reshaped_type<Pattern, X, Arg...>;
  constexpr auto f = R::value.fault;
  using enum reshape_fault;
  if constexpr (f == pattern)
    static_assert(reshape_fits<Pattern, X>, "sla: reshape<pattern>(x): a pattern has one entry per dimension of x, a name or (a b), 1 for an extent of 1, and the same names "
                                            "in the same order on both sides of ->");
  else if constexpr (!R::names_fit)
    static_assert(reshape_fits<Pattern, X>, "sla: reshape<pattern>(x, named_extent<name>(n)): the pattern has no such name");
  else if constexpr (f == dropped)
    static_assert(reshape_fits<Pattern, X>, "sla[E26]: the reshape drops a dimension that is sharded. all_gather it first");
  else if constexpr (f == inner)
    static_assert(reshape_fits<Pattern, X>, "sla[E26]: the reshape merges a dimension that is sharded behind others: the ranks' parts would interleave. Redistribute first, or ask "
                                            "for a Strided shard: reshape<...>(x, named_extent<outer, n>(), to_strided)");
  else if constexpr (f == indivisible)
    static_assert(reshape_fits<Pattern, X>, "sla[E26]: the reshape cuts a dimension that is sharded, and the ranks do not divide its outermost factor. Redistribute first");
  else if constexpr (f == unknown)
    static_assert(reshape_fits<Pattern, X>, "sla[E26]: the reshape cuts a dimension that is sharded, and whether the ranks divide its outermost factor is not known here: give "
                                            "named_extent<name, n>(), or say so: reshape<...>(x, named_extent<name>(n), assume_divisible)");
  else if constexpr (f == uneven)
    static_assert(reshape_fits<Pattern, X>, "sla[E30]: the reshape cuts or merges a dimension in uneven shards. Redistribute to Shard<d, Even> or Replicate first");
}

/// The extents of the factors, of the whole tensor. Errors: shape_error, if they do not follow or do not fit.
template <class = void>
fixed_array<index_t, max_factors> factor_extents(reshape_pattern const& p, fixed_array<index_t, max_factors> factor, index_t const* whole) {
  for (int d = 0; d < p.from.rank; ++d) {
    index_t product = 1;
    int open = -1;
    for (int f = p.from.first[d]; f < p.from.first[d] + p.from.count[d]; ++f) {
      if (factor[f] < 0 && open >= 0)
        throw shape_error(text("reshape: of dimension ", d, " the factors ", p.name[open], " and ", p.name[f], " are unknown; give one, named_extent<\"", p.name[open], "\">(n)"));
      if (factor[f] < 0)
        open = f;
      else
        product *= factor[f];
    }
    if (open >= 0) factor[open] = product == 0 ? 0 : whole[d] / product;
    if (whole[d] != product * (open >= 0 ? factor[open] : 1))
      throw shape_error(text("reshape: dimension ", d, " has ", whole[d], " indices, and the factors that are given make ", product));
  }
  return factor;
}

template <fixed_string Pattern, class X, class... Arg>
auto reshaped_value(X const& x, Arg const&... arg) {
  using R = reshaped_type<Pattern, X, Arg...>;
  require_reshape<Pattern, X, Arg...>();
  if constexpr (R::value.ok() && R::names_fit) {
    using To = typename R::type;
    using Local = local_of_t<To>;
    using Mesh = mesh_of_t<X>;
    constexpr auto p = R::pattern;
    constexpr int rank = p.from.rank;
    auto const& old = *x.handle();
    fixed_array<index_t, max_factors> given{};
    for (int n = 0; n < max_factors; ++n) given[n] = -1;
    [[maybe_unused]] auto const hear = [&](auto const& a) {
      if constexpr (is_factor<std::remove_cvref_t<decltype(a)>>) given[p.find(factor_name<std::remove_cvref_t<decltype(a)>>::value)] = a.value;
    };
    (hear(arg), ...);
    index_t whole[max_dims] = {};
    constexpr tensor_placement before = operand_traits<X>::template value<typename R::keys>.type;
    for (int d = 0; d < rank; ++d) whole[d] = global_extent(x, d);
    auto const factor = factor_extents(p, given, whole);
    auto layout = std::make_shared<shared_layout<Mesh>>(old);
    auto part = factor; // of this rank
    for (int d = 0; d < rank; ++d) {
      auto const order = order_of(before, d);
      if (order.count == 0) continue;
      int const lead = p.from.first[d], end = lead + p.from.count[d];
      int at = 0; // the dimension of the result where the shards go
      while (p.to.count[at] == 0 || lead < p.to.first[at] || lead >= p.to.first[at] + p.to.count[at]) ++at;
      index_t rest = 1, ranks = 1, tail = 1, head = 1;
      for (int n = 0; n < order.count; ++n) ranks *= old.mesh.size(order.axis[n]);
      bool const cut = !p.keeps(d, at);
      for (int f = lead + 1; f < end; ++f) {
        if (cut)
          rest *= factor[f];
        else
          part[f] = 1; // all of the group is one
      }
      if (cut && factor[lead] % ranks != 0)
        throw shape_error(text("reshape: ", ranks, " ranks do not divide the factor ", p.name[lead], " of ", factor[lead]));
      part[lead] = rest == 0 ? 0 : x.local().extent(d) / rest;
      for (int f = p.to.first[at]; f < lead; ++f) head *= factor[f];
      for (int f = cut ? lead + 1 : end; f < p.to.first[at] + p.to.count[at]; ++f) tail *= factor[f];
      for (int n = 0; n < order.count; ++n) {
        auto& extent = layout->extent[order.axis[n]];
        extent = (rest == 0 ? 0 : extent / rest) * tail * head;
      }
    }
    index_t sizes[max_dims] = {};
    for (int e = 0; e < p.to.rank; ++e) {
      sizes[e] = 1;
      for (int f = p.to.first[e]; f < p.to.first[e] + p.to.count[e]; ++f) sizes[e] *= part[f];
    }
    Local local(extents_from<typename Local::extents_type>(sizes), uninitialized);
    std::copy_n(x.local().data(), x.local().size(), local.data());
    return To(std::move(local), std::move(layout));
  } else {
    return x;
  }
}

} // namespace detail

/// The same elements in row-major order with other extents. Placement: a dimension that is sharded stays as it is, or shards
/// its outermost factor, or becomes the outermost factor of another; every other placement passes. Gradient: the reshape back.
/// Cost: a copy; no communication. Errors: E26, E30; shape_error, if the factors do not make the extents.
template <fixed_string Pattern, DistributedExpr X, detail::ReshapeArgument... Arg>
  requires(local_dims<local_of_t<X>>::rank > 0)
auto reshape(X const& x, Arg const&... arg) {
  if constexpr (is_distributed<X>)
    return detail::reshaped_value<Pattern>(x, arg...);
  else
    return detail::reshaped_value<Pattern>(eval(x), arg...);
}

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A function of what each rank has, with its placements stated: `local_map<inputs<Shard<0>, Replicate>, outputs<Shard<0>>>(f)(x, w)`.
// Bodies of typed operations are checked, opaque ones say so: trust(f). What may be stated is decided in spmd/placement/partition_spec.hpp.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include <sla/dist/value/expression.hpp>
#include <sla/dist/view/assume.hpp>

namespace sla {

/// What the arguments hold, and the results: an entry each, a placement for all axes, `placements<...>`, `named<...>`, or
/// `lies<spec<unsharded, "tp">, Replicate>`; for a tuple a list of its own.
template <class... Entries>
struct inputs {};
/// The placements of the results of `local_map`, one entry each.
template <class... Entries>
struct outputs {};
/// Several statements about one tensor, as of `assume`.
template <class... What>
struct lies {};
/// The arguments are taken as they are: `inputs<infer>`, for all of them.
struct infer {};
/// An argument that is not distributed; it is passed on.
struct nontensor {};

namespace detail {
template <class F>
struct trusted {
  F f;
};
} // namespace detail

/// A body that works on plain local tensors and numbers. Law: its results are what `outputs` says; nothing checks it.
template <class F>
detail::trusted<std::remove_cvref_t<F>> trust(F&& f) {
  return {std::forward<F>(f)};
}

namespace detail {

/// Never true; its arguments are what a refusal prints: an entry, and what stands there.
template <class Entry, class Is>
inline constexpr bool entry_fits = false;

/// A mesh without its promises: in a body every axis is local.
template <class Mesh>
struct open_mesh {
  using type = Mesh;
};
template <class... Promises, class... Axes>
struct open_mesh<mesh<mesh_policy<Promises...>, Axes...>> {
  using type = mesh<Axes...>;
};
template <class To, class From>
layout_handle<To> layout_on(To const& m, std::shared_ptr<shared_layout<From> const> const& old) {
  if constexpr (std::is_same_v<To, From>) {
    return old;
  } else {
    auto layout = std::make_shared<shared_layout<To>>();
    layout->mesh = m;
    layout->extent = old->extent;
    layout->rows = old->rows;
    layout->halo = old->halo;
    layout->fold = old->fold;
    if (old->domain) layout->domain = layout_on(m, old->domain);
    return layout;
  }
}

/// The placements that an entry means for an X.
template <class X, class Entry>
struct entry_placements : stated_placements<X, Entry> {};
template <class X, class... What>
struct entry_placements<X, lies<What...>> : stated_placements<X, What...> {};
template <class X, Placement P>
struct entry_placements<X, P> {
  using type = placements_on_t<mesh_of_t<X>, 0, P>;
};
template <class X, Placement P>
  requires(is_sharded(P::kind))
struct entry_placements<X, P> : stated_placements<X, named_or_else<P>> {};
template <class X>
struct entry_placements<X, infer> {
  using type = placements_of_t<X>;
};

/// In a body, a shard is what this rank has of it.
template <class P>
using inside = std::conditional_t<P::kind == placement_kind::shard || P::kind == placement_kind::sparse_shard, Varying, P>;
template <class Mesh, class Local, class... P>
auto enter(distributed<Local, Mesh, P...> const& x) {
  using Open = typename open_mesh<Mesh>::type;
  return distributed<Local, Open, inside<P>...>(x.local(), layout_on(static_cast<Open const&>(x.mesh()), x.handle()));
}

template <class T>
inline constexpr bool is_tuple_value = false;
template <class... T>
inline constexpr bool is_tuple_value<std::tuple<T...>> = true;
template <class A, class B>
inline constexpr bool is_tuple_value<std::pair<A, B>> = true;
template <class List>
inline constexpr int entry_count = -1;
template <class... E>
inline constexpr int entry_count<inputs<E...>> = int(sizeof...(E));
template <class... E>
inline constexpr int entry_count<outputs<E...>> = int(sizeof...(E));
template <class List>
inline constexpr bool infers_a_part = false;
template <class... E>
inline constexpr bool infers_a_part<inputs<E...>> = sizeof...(E) > 1 && (std::is_same_v<E, infer> || ...);
template <int N, class List>
struct entry_at;
template <int N, class... E>
struct entry_at<N, inputs<E...>> : type_at_index<N, E...> {};
template <int N, class... E>
struct entry_at<N, outputs<E...>> : type_at_index<N, E...> {};

/// The members of a tuple with those of a list of entries, each by f; anything else with its entry.
template <class Entry, class T, class F>
auto by_entry(T const& value, F const& f) {
  if constexpr (entry_count<Entry> >= 0) {
    if constexpr (!is_tuple_value<T>) {
      static_assert(entry_fits<Entry, T>, "sla[E28]: local_map: a list stands for a tuple of as many members, and this is none");
      return 0;
    } else if constexpr (int(std::tuple_size_v<T>) != entry_count<Entry>) {
      static_assert(entry_fits<Entry, T>, "sla[E28]: local_map: a list has one entry per member of the tuple");
      return 0;
    } else {
      return [&]<std::size_t... N>(std::index_sequence<N...>) {
        using All = std::tuple<decltype(by_entry<typename entry_at<int(N), Entry>::type>(std::get<N>(value), f))...>;
        return All{by_entry<typename entry_at<int(N), Entry>::type>(std::get<N>(value), f)...}; // in this order on every rank
      }(std::make_index_sequence<std::tuple_size_v<T>>{});
    }
  } else if constexpr (is_tuple_value<T> && !std::is_same_v<Entry, nontensor> && !std::is_same_v<Entry, infer>) {
    static_assert(entry_fits<Entry, T>, "sla[E28]: local_map: one entry stands for a tuple; write a list with an entry for each of its members");
    return 0;
  } else if constexpr (is_tuple_value<T> && std::is_same_v<Entry, infer>) {
    return std::apply([&](auto const&... member) { return std::tuple<decltype(by_entry<Entry>(member, f))...>{by_entry<Entry>(member, f)...}; }, value);
  } else {
    return f(std::type_identity<Entry>{}, value);
  }
}

/// An argument as the body sees it.
template <bool Opaque>
struct entering {
  template <class Entry, class X>
  auto operator()(std::type_identity<Entry>, X const& x) const {
    if constexpr (!is_distributed<X>) {
      static_assert(std::is_same_v<Entry, nontensor> || std::is_same_v<Entry, infer>,
                    "sla[E28]: local_map: inputs<...> says what a distributed tensor holds where the argument is something else; write nontensor for it");
      return x;
    } else if constexpr (std::is_same_v<Entry, nontensor>) {
      static_assert(entry_fits<Entry, X>, "sla[E28]: local_map: nontensor stands for an argument that is distributed; say what it holds");
      return x;
    } else {
      auto const value = assumed<false, X, typename entry_placements<X, Entry>::type>(x);
      if constexpr (Opaque)
        return value.local();
      else
        return enter(value);
    }
  }
};

/// A result as `outputs` says it. Mesh: that of the arguments.
template <bool Opaque, class Mesh>
struct leaving {
  Mesh const& m;
  template <class Entry, class X>
  auto operator()(std::type_identity<Entry>, X const& x) const {
    if constexpr (std::is_same_v<Entry, nontensor>) {
      return x;
    } else if constexpr (Opaque) {
      static_assert(!is_distributed<X>, "sla[E28]: local_map: a trusted body returns plain tensors and numbers");
      auto const value = untyped(m, x);
      return assumed<false, decltype(untyped(m, x)), typename entry_placements<decltype(untyped(m, x)), Entry>::type>(value);
    } else if constexpr (!is_distributed<X>) {
      static_assert(entry_fits<Entry, X>, "sla[E28]: local_map: the body returns what is not distributed: return what operations on its arguments give. A body of "
                    "plain tensors is wrapped, trust(f), and outputs<...> believed: a false Partial is a false sum");
      return 0;
    } else {
      using List = typename entry_placements<X, Entry>::type;
      constexpr auto why = check_assume(stated_placements<X, List>::before, stated_placements<X, List>::value.type).what;
      static_assert(why == code::ok || entry_fits<List, X>,
                    "sla[E28]: local_map: the body's result (below) cannot be what outputs<...> says: a Varying may be a Shard or a Partial, anything "
                    "else is itself");
      if constexpr (why == code::ok) {
        auto const value = assumed<false, X, List>(x);
        return typename distributed_with<local_of_t<X>, Mesh, List>::type(value.local(), layout_on(m, value.handle()));
      } else {
        return x;
      }
    }
  }
};

template <class X>
auto evaluated(X const& x) {
  if constexpr (is_distributed_node<X>)
    return eval(x);
  else
    return x;
}

/// The first distributed value among arguments and members of tuples.
template <class T, class... Rest>
auto const& first_distributed(T const& x, Rest const&... rest) {
  if constexpr (is_distributed<T>)
    return x;
  else if constexpr (is_tuple_value<T>)
    return std::apply([&](auto const&... member) -> auto const& { return first_distributed(member..., rest...); }, x);
  else
    return first_distributed(rest...);
}

template <class F>
inline constexpr bool is_trusted = false;
template <class F>
inline constexpr bool is_trusted<trusted<F>> = true;

template <class In, class Out, class F>
struct mapped {
  F f;
  template <class... X>
  auto operator()(X const&... x) const {
    constexpr bool opaque = is_trusted<F>;
    auto const& m = first_distributed(x...).mesh();
    using Mesh = std::remove_cvref_t<decltype(m)>;
    static_assert(std::is_same_v<In, inputs<infer>> || entry_count<In> == int(sizeof...(X)),
                  "sla[E28]: local_map: inputs<...> has one entry per argument, or is inputs<infer>");
    static_assert(!infers_a_part<In>, "sla[E28]: local_map: infer stands for the whole list, inputs<infer>; beside other entries say what each argument holds");
    using Entries = std::conditional_t<std::is_same_v<In, inputs<infer>>, infer, In>;
    auto const args = by_entry<Entries>(std::tuple<X...>(x...), entering<opaque>{});
    auto const result = std::apply([&](auto const&... a) { return call(a...); }, args);
    using Result = std::remove_cvref_t<decltype(result)>;
    if constexpr (entry_count<Out> == 1 && !is_tuple_value<Result>)
      return by_entry<typename entry_at<0, Out>::type>(evaluated(result), leaving<opaque, Mesh>{m});
    else
      return by_entry<Out>(result, [&]<class E, class Y>(std::type_identity<E> e, Y const& y) { return leaving<opaque, Mesh>{m}(e, evaluated(y)); });
  }

private:
  template <class... A>
  auto call(A const&... a) const {
    if constexpr (is_trusted<F>)
      return f.f(a...);
    else
      return evaluated(f(a...));
  }
};

} // namespace detail

/// f as a function of distributed values: its arguments hold what In says (more may be said of them than is known, as by
/// `assume`), the body sees what this rank has, shards as Varying, and its results hold what Out says. Gradient: that of the body.
/// Cost: that of the body; of results in shards that are not Even, one all_reduce of two numbers. Errors: E28, if lists and
/// values differ in structure, or a result of a typed body is something else; those of `assume` for arguments.
template <class In, class Out, class F>
auto local_map(F&& f) {
  static_assert(detail::entry_count<In> >= 0 && detail::entry_count<Out> >= 0, "sla: local_map<inputs<...>, outputs<...>>(f)");
  return detail::mapped<In, Out, std::remove_cvref_t<F>>{std::forward<F>(f)};
}

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gradients through distributed values: cotangents have the dual placements, in their types. A rank's own derivative of an
// elementwise operation or reduction is in the dual placement already; products and solves use their adjoints, collectives the
// table of spmd/transition.hpp. The tape and the rules on scalars are in grad/.
#pragma once

#include <memory>
#include <utility>

#include <sla/dist/collectives.hpp>
#include <sla/dist/matrix.hpp>
#include <sla/dist/product.hpp>
#include <sla/dist/solve.hpp>
#include <sla/grad/gradient.hpp>
#include <sla/grad/solve.hpp>

namespace sla {

namespace detail {
/// A local cotangent as a contribution: a tensor or a number as itself, a sparse one by its values.
template <class Local>
decltype(auto) contributed(Local const& g) {
  if constexpr (is_sparse_tensor<Local>)
    return values(g);
  else
    return (g);
}
template <class P>
inline constexpr bool is_copied_kind = P::kind == placement_kind::replicate || P::kind == placement_kind::invariant;
}  // namespace detail

/// The cotangent of a distributed value: the same Local with the dual placements, on the same layout.
template <class Local, class Mesh, class... P>
struct cotangent_space<distributed<Local, Mesh, P...>> {
  using value_type = distributed<Local, Mesh, P...>;
  using type = cotangent_t<value_type>;
  static type zero(value_type const& v) { return {cotangent_space<Local>::zero(v.local()), v.handle()}; }
  /// A contribution is of this rank: a local expression, or a distributed value in the dual placements.
  template <class X>
  static void add(std::optional<type>& sum, value_type const& v, X const& contribution) {
    std::optional<Local> local;
    if (sum) local.emplace(std::move(*sum).local());
    if constexpr (is_distributed<X>) {
      static_assert(std::same_as<placements_of_t<X>, placements_of_t<type>>);
      cotangent_space<Local>::add(local, v.local(), detail::contributed(contribution.local()));
    } else {
      cotangent_space<Local>::add(local, v.local(), contribution);
    }
    sum.emplace(std::move(*local), v.handle());
  }
};

namespace detail {
template <class X>
concept TracedDistributed = Traced<X> && is_distributed<plain_t<X>>;
template <class X>
concept TracedPlaced = TracedDistributed<X> && Placed<plain_t<X>>;
template <class X>
concept TracedRows = TracedDistributed<X> && DistributedSparse<plain_t<X>>;
template <class X>
concept BesideTracedPlaced = TracedPlaced<X> || Placed<X> || Number<X> || operand_traits<std::remove_cvref_t<X>>::kind == operand_kind::uniform;
template <class L, class R>
concept TracedPlacedPair = (TracedPlaced<L> || TracedPlaced<R>) && BesideTracedPlaced<L> && BesideTracedPlaced<R>;

/// An operand as the forward operation sees it; run-time numbers beside traced values count as uniform.
template <class X>
decltype(auto) forward_value(X const& x) {
  if constexpr (Traced<X>)
    return (x.value());
  else if constexpr (Number<X>)
    return uniform(x);
  else if constexpr (is_placed<X>)
    return eval(x);
  else
    return (x);
}
/// What a pullback holds of an operand.
template <class V>
struct traced_part {
  static constexpr bool traced = true;
  variable<V>* v;
  V const& value() const { return v->value(); }
};
template <class V>
struct kept_part {
  static constexpr bool traced = false;
  std::shared_ptr<V const> v;
  V const& value() const { return *v; }
};
template <class X>
auto part_of(X const& x) {
  if constexpr (Traced<X>) {
    return traced_part<plain_t<X>>{&x.variable()};
  } else {
    using V = std::remove_cvref_t<decltype(forward_value(x))>;
    return kept_part<V>{std::make_shared<V const>(forward_value(x))};
  }
}

template <class Op, TracedPlaced X>
auto trace_placed(X const& x) {
  auto const part = part_of(x);
  return record(x.home(), eval(placed_elementwise<Op>(part.value())), [part](auto const&, auto const& g) {
    part.v->add(contribution<Op, 0>(local_node(part.value()), as_node(g.local())));
  });
}
template <class Op, class L, class R>
auto trace_placed(L const& l, R const& r) {
  auto const left = part_of(l);
  auto const right = part_of(r);
  return record(tape_of(l, r), eval(placed_elementwise<Op>(left.value(), right.value(), derivative<Op>::name)), [left, right](auto const&, auto const& g) {
    auto const a = local_node(left.value());
    auto const b = local_node(right.value());
    if constexpr (decltype(part_of(l))::traced) left.v->add(contribution<Op, 0>(a, b, as_node(g.local())));
    if constexpr (decltype(part_of(r))::traced) right.v->add(contribution<Op, 1>(a, b, as_node(g.local())));
  });
}
/// g of a number that an operation finished over the ranks: its cotangent is a pending sum there.
template <class Op, class X, class G>
auto finished_cotangent(G const& g) {
  auto value = g.local();
  for (int a = 0; a < mesh_of_t<X>::rank; ++a)
    if (reduced_axes<Op, X>[a]) value = all_reduce(g.mesh().communicator(a), value);
  return value;
}
}  // namespace detail

// ---- elementwise operations and reductions

template <class Op, detail::TracedPlaced X>
  requires(Differentiable<Op, 1> && !is_reducing<Op>)
auto perform(Op, X const& x) {
  return detail::trace_placed<Op>(x);
}
template <class Op, class L, class R>
  requires(Differentiable<Op, 2> && !is_reducing<Op> && detail::TracedPlacedPair<L, R>)
auto perform(Op, L const& l, R const& r) {
  return detail::trace_placed<Op>(l, r);
}
template <class Op, detail::TracedPlaced X>
  requires(Differentiable<Op, 1> && is_reducing<Op> && !is_extreme<Op>)
auto perform(Op, X const& x) {
  auto const part = detail::part_of(x);
  return detail::record(x.home(), eval(perform(Op{}, part.value())), [part](auto const& y, auto const& g) {
    auto const each = detail::finished_cotangent<Op, plain_t<X>>(g);
    part.v->add(detail::reduced_contribution<Op>(detail::local_node(part.value()), y.local(), each));
  });
}
template <class L, class R>
  requires detail::TracedPlacedPair<L, R>
auto perform(op::dot, L const& l, R const& r) {
  auto const left = detail::part_of(l);
  auto const right = detail::part_of(r);
  return detail::record(detail::tape_of(l, r), eval(perform(op::dot{}, left.value(), right.value())), [left, right](auto const&, auto const& g) {
    auto const a = detail::local_node(left.value());
    auto const b = detail::local_node(right.value());
    if constexpr (Traced<L>) left.v->add(detail::contribution<op::dot, 0>(a, b, as_node(g.local())));
    if constexpr (Traced<R>) right.v->add(detail::contribution<op::dot, 1>(a, b, as_node(g.local())));
  });
}

// ---- products and solves

namespace detail {
/// The contribution to the values of D where y = op(D) x: to the stored entries of each rank.
template <bool Transposed, bool Conj, class D, class X, class G>
void add_values(variable<D>& v, X const& x, G const& g, int sign) {
  if constexpr (Transposed) {
    auto const full = of_columns(v.value(), g);
    v.add(to_values<true, Conj>(view(x.local()), view(full), sign));
  } else {
    auto const full = of_columns(v.value(), x);
    v.add(to_values<false, Conj>(view(full), view(g.local()), sign));
  }
}

/// A traced row-sharded (or replicated) matrix in the place where solves expect one.
template <class D, bool Transposed, bool Conj>
struct traced_rows {
  static constexpr bool transposed = Transposed, conj = Conj;
  variable<D>* v;
  template <class X, class W>
  void pull(X const& x, W const& w, int sign) const {
    add_values<Transposed, Conj>(*v, x, w, sign);
  }
};
/// A cotangent in the dual placements of X: where that is a sum over ranks, a shard is padded with zeros.
template <class X, int Axis, class G>
auto in_dual_placement(G const& g) {
  using To = cotangent_t<X>;
  if constexpr (std::same_as<placements_of_t<G>, placements_of_t<To>>)
    return g;
  else
    return stepped<step::convert, mesh_of_t<X>::template name_string<Axis>(), placement_on_t<To, Axis>, true>(g);
}
template <class A, class X>
concept TracedRowProduct = (TracedRows<A> && (TracedPlaced<X> || Placed<X>)) || (DistributedOperator<A> && TracedPlaced<X>);
template <class A, class B>
concept TracedRowSystem = (TracedRows<A> && (TracedPlaced<B> || Placed<B>)) || (DistributedSparse<A> && TracedPlaced<B>);
}  // namespace detail

/// y = D x: D^H g to x (the reverse halo), g[row] conj(x[col]) to the stored values.
template <class A, class X>
  requires detail::TracedRowProduct<A, X>
auto perform(op::mul, A const& a, X const& x) {
  auto const vector = detail::part_of(x);
  if constexpr (Traced<A>) {
    auto const matrix = detail::part_of(a);
    return detail::record(a.home(), eval(matrix.value() * vector.value()), [matrix, vector](auto const&, auto const& g) {
      detail::add_values<false, false>(*matrix.v, vector.value(), g, 1);
      if constexpr (Traced<X>)
        vector.v->add(detail::in_dual_placement<plain_t<X>, detail::sparse_axis<placements_of_t<plain_t<A>>>>(eval(adjoint(matrix.value()) * g)));
    });
  } else {
    using Turned = detail::turned_operator<A>;
    using D = std::remove_cvref_t<decltype(detail::matrix_of(a))>;
    auto const kept = std::make_shared<D const>(detail::matrix_of(a));
    auto const oriented = [](D const& d) { return distributed_view<D, Turned::transposed, Turned::conj>{&d}; };
    return detail::record(x.home(), eval(oriented(*kept) * vector.value()), [kept, vector, oriented](auto const&, auto const& g) {
      vector.v->add(detail::in_dual_placement<plain_t<X>, detail::sparse_axis<placements_of_t<D>>>(eval(adjoint(oriented(*kept)) * g)));
    });
  }
}

template <class A, class B, class... Options>
  requires detail::TracedRowSystem<A, B>
auto perform(op::try_solve, A const& a, B const& b, Options const&... options) {
  auto const& matrix = detail::plain_value(a);
  auto prepared = perform(op::prepare{}, matrix, options...);
  auto const shared = std::make_shared<decltype(prepared) const>(std::move(prepared));
  tape& t = detail::tape_of(a, b);
  if constexpr (Traced<A>)
    return detail::trace_solve(t, shared, detail::traced_rows<plain_t<A>, false, false>{&a.variable()}, b, options...);
  else
    return detail::trace_solve(t, shared, detail::constant_matrix<false, false>{}, b, options...);
}
template <class A, class B, class... Options>
  requires detail::TracedRowSystem<A, B>
auto perform(op::solve, A const& a, B const& b, Options const&... options) {
  return detail::solved(perform(op::try_solve{}, a, b, options...));
}
template <class A, class Method, class P, detail::TracedPlaced B, class... Options>
auto perform(op::try_solve, prepared<A, Method, P> const& s, B const& b, Options const&... options) {
  return detail::trace_constant<false, false>(s, b, options...);
}

// ---- collectives: the adjoint step carries the cotangent back

namespace detail {
template <step How, fixed_string Axis, class To, bool Insisted, class X>
auto trace_step(X const& x) {
  auto const part = part_of(x);
  using From = placement_along_t<plain_t<X>, Axis>;
  return record(x.home(), stepped<How, Axis, To, Insisted>(part.value()), [part](auto const&, auto const& g) {
    using Back = dual_t<From>;
    constexpr bool kept = How != step::reinterpret || (is_copied_kind<From> && is_copied_kind<To>);
    part.v->add(stepped<kept ? route_v<dual_t<To>, Back> : step::reinterpret, Axis, Back, true>(g));
  });
}
}  // namespace detail
template <fixed_string Axis, Placement To = Replicate, detail::TracedPlaced X>
auto all_reduce(X const& x) {
  return detail::trace_step<step::all_reduce, Axis, To, false>(x);
}
template <fixed_string Axis, Placement To = Replicate, detail::TracedPlaced X>
auto all_gather(X const& x) {
  return detail::trace_step<step::all_gather, Axis, To, false>(x);
}
template <fixed_string Axis, Placement To, detail::TracedPlaced X>
auto reduce_scatter(X const& x) {
  return detail::trace_step<step::reduce_scatter, Axis, To, false>(x);
}
template <fixed_string Axis, Placement To, detail::TracedPlaced X>
auto convert(X const& x) {
  return detail::trace_step<step::convert, Axis, To, false>(x);
}
template <fixed_string Axis, Placement To, detail::TracedPlaced X>
auto convert(X const& x, expert_t) {
  return detail::trace_step<step::convert, Axis, To, true>(x);
}

// ---- the gradient

namespace detail {
/// Partial or Invariant on every axis.
template <class List>
inline constexpr bool is_one_loss = false;
template <class... P>
inline constexpr bool is_one_loss<placements<P...>> = ((std::same_as<P, Partial<Sum>> || std::same_as<P, Invariant>) && ...);
template <class Y>
inline constexpr bool is_distributed_number = false;
template <class T, class Mesh, class... P>
inline constexpr bool is_distributed_number<distributed<T, Mesh, P...>> = std::floating_point<T>;
/// What f returned; a reduction of values without a trace as its number.
template <class Y>
auto finished_loss(Y const& y) {
  if constexpr (is_placed_reduction<Y>)
    return eval(y);
  else
    return y;
}
}  // namespace detail

/// (f(args...), one cotangent per argument) of a function of distributed values. Collective: every rank calls it, and gets the
/// same value. f returns a distributed real number that is Partial (dot, sum, squared_norm) or Invariant on every axis.
/// Placement: cotangents are in the dual placements: Shard to Shard, SparseShard to SparseShard, Replicate to Partial.
/// Law: a Replicate loss is refused: its gradient would be counted once per rank. Errors: as of plain values.
template <class F, class... Args>
  requires((is_distributed<Args> || ...))
auto value_and_gradient(F&& f, Args const&... args) {
  tape t;
  return [&]<class... V>(variable<V>&... inputs) {
    auto const y = detail::finished_loss(f(traced<V>(t, inputs)...));
    using Y = plain_t<decltype(y)>;
    constexpr bool is_number = detail::is_distributed_number<Y>;
    static_assert(is_number,
                  "sla: value_and_gradient(f, args...): of distributed arguments, f returns one distributed real number: dot, sum or squared_norm");
    if constexpr (is_number) {
      using R = local_of_t<Y>;
      constexpr bool is_one = detail::is_one_loss<placements_of_t<Y>>;
      static_assert(is_one,
                    "sla[E25]: the loss is Replicate, and its gradient would be counted once per rank. Return the pending sum (dot, sum, "
                    "squared_norm) without all_reduce, or all_reduce<axis, Invariant>(loss)");
      auto const total = detail::gather_axes<mesh_of_t<Y>::rank - 1>(detail::plain_value(y));
      if constexpr (Traced<decltype(y)>) {  // else no argument mattered
        y.variable().add(constant<R>{1});
        t.sweep();
      }
      return std::tuple<R, cotangent_type_t<V>...>(total, inputs.take_cotangent()...);
    } else {
      return std::tuple<double, cotangent_type_t<V>...>(0.0, inputs.take_cotangent()...);  // well-formed: the sentence is the only error
    }
  }(t.input(args)...);
}

}  // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Derivatives through distributed values. Cotangents have the dual placements, in their types, tangents those of their values. A
// rank's own derivative of an elementwise operation or reduction is placed so already; products and solves use their adjoints,
// collectives the table of spmd/transition.hpp. The tape, forward mode and the rules on scalars are in grad/.
#pragma once

#include <memory>
#include <utility>

#include <sla/dist/collectives.hpp>
#include <sla/dist/cotangent.hpp>
#include <sla/dist/grad_steps.hpp>
#include <sla/dist/matrix.hpp>
#include <sla/dist/product.hpp>
#include <sla/dist/solve.hpp>
#include <sla/grad/gradient.hpp>
#include <sla/grad/jvp.hpp>
#include <sla/grad/pullback.hpp>
#include <sla/grad/solve.hpp>
#include <sla/spmd/seed.hpp>

namespace sla {

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
/// What a rule holds of an operand.
template <class Variable>
struct traced_part : traced_operand<Variable> {
  template <class D>
  static auto elements(D const& d) {
    return local_node(d);
  }
};
template <class X>
auto part_of(X const& x) {
  if constexpr (Traced<X>) {
    return traced_part<typename X::variable_type>{{&x.variable()}};
  } else {
    using V = std::remove_cvref_t<decltype(forward_value(x))>;
    return kept_operand<V>{std::make_shared<V const>(forward_value(x))};
  }
}
/// This rank's part of a cotangent; a plain number is one already.
template <class G>
decltype(auto) part_of_cotangent(G const& g) {
  if constexpr (is_distributed<G>)
    return (g.local());
  else
    return (g);
}

template <class Op, TracedPlaced X>
auto trace_placed(X const& x) {
  auto const part = part_of(x);
  return record(x.home(), eval(placed_elementwise<Op>(part.value())), pointwise_in(part, [part](auto const&, auto const& g) {
    return contribution<Op, 0>(local_node(part.value()), as_node(part_of_cotangent(g)));
  }));
}
/// The rule of an operation on two operands, to the K-th, which is x.
template <class Op, int K, class Part, class L, class R>
auto placed_in(Part const& x, L const& left, R const& right) {
  return pointwise_in(x, [left, right](auto const&, auto const& g) {
    return contribution<Op, K>(local_node(left.value()), local_node(right.value()), as_node(part_of_cotangent(g)));
  });
}
template <class Op, class L, class R>
auto trace_placed(L const& l, R const& r) {
  auto const left = part_of(l);
  auto const right = part_of(r);
  return record(home_of(l, r), eval(placed_elementwise<Op>(left.value(), right.value(), derivative<Op>::name)),
                placed_in<Op, 0>(left, left, right), placed_in<Op, 1>(right, left, right));
}
/// A rank's part of a number that an operation finishes over the ranks: the sum of all. Of a cotangent it is a pending sum.
template <class Op, class X, class Mesh, class T>
T finished(Mesh const& mesh, T value) {
  for (int a = 0; a < Mesh::rank; ++a)
    if (reduced_axes<Op, X>[a]) value = all_reduce(mesh.communicator(a), value);
  return value;
}
template <class Op, class X, class Y, class Out>
struct finished_tangent {
  Y const& y;
  Out& out;
  template <class Field>
  void add(Field const& field) {
    out.add(finished<Op, X>(y.mesh(), collected(y.local(), field)));
  }
};
/// The rule of a reduction, whose tangent is finished as its value is.
template <class Op, class X, class Rule>
struct finished_rule : Rule {
  template <class Y, class Out>
  void push(Y const& y, Out& out) const {
    finished_tangent<Op, X, Y, Out> local{y, out};
    Rule::push(y, local);
  }
};
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
  auto rule = detail::pointwise_in(part, [part](auto const& y, auto const& g) {
    auto const node = detail::local_node(part.value());
    if constexpr (is_distributed<std::remove_cvref_t<decltype(g)>>)
      return detail::reduced_contribution<Op>(node, y.local(), detail::finished<Op, plain_t<X>>(g.mesh(), g.local()));
    else
      return detail::reduced_contribution<Op>(node, y.local(), g);
  });
  return detail::record(x.home(), eval(perform(Op{}, part.value())), detail::finished_rule<Op, plain_t<X>, decltype(rule)>{std::move(rule)});
}
template <class L, class R>
  requires detail::TracedPlacedPair<L, R>
auto perform(op::dot, L const& l, R const& r) {
  auto const left = detail::part_of(l);
  auto const right = detail::part_of(r);
  return detail::record(detail::home_of(l, r), eval(perform(op::dot{}, left.value(), right.value())), detail::placed_in<op::dot, 0>(left, left, right),
                        detail::placed_in<op::dot, 1>(right, left, right));
}

// ---- products and solves

namespace detail {
/// The contribution to the values of D where y = op(D) x: to the stored entries of each rank. `full` has ghosts.
template <bool Transposed, bool Conj, class Full, class View>
struct rows_contribution {
  Full full;
  View own;
  int sign;
  template <class Sum>
  void add_to(Sum& sum) const {
    if constexpr (Transposed)
      to_values<true, Conj>(own, view(full), sign).add_to(sum);
    else
      to_values<false, Conj>(view(full), own, sign).add_to(sum);
  }
};
/// The same of a nonzero partition: both sides have ghosts.
template <bool Conj, class Columns, class Rows>
struct entries_contribution {
  Columns columns;
  Rows rows;
  int sign;
  template <class Sum>
  void add_to(Sum& sum) const {
    to_values<false, Conj>(view(columns), view(rows), sign).add_to(sum);
  }
};
/// A rank's own part of x, and behind it the ghosts of a plan.
template <class Local>
auto with_ghosts(halo_plan const& plan, Local const& x) {
  using T = typename Local::value_type;
  using Full = resized_t<Local, 0>;
  auto const [outer, inner] = around(x.extents(), 0);
  Full out(with_extent<typename Full::extents_type>(x.extents(), 0, plan.own() + plan.ghosts()), uninitialized);
  halo_exchange<T> exchange(plan, x.data(), {outer, inner});
  exchange.wait();
  std::copy_n(x.data(), plan.own() * inner, out.data());
  std::copy_n(exchange.ghosts(), plan.ghosts() * inner, out.data() + plan.own() * inner);
  return out;
}
template <bool Transposed, bool Conj, class D, class X, class G>
auto contribution_to_rows(D const& d, X const& x, G const& g, int sign) {
  if constexpr (by_entries<placements_of_t<D>>) {
    static_assert(!Transposed);
    using Columns = decltype(with_ghosts(*d.handle()->halo, x.local()));
    using Rows = decltype(with_ghosts(*d.handle()->fold, g.local()));
    return entries_contribution<Conj, Columns, Rows>{with_ghosts(*d.handle()->halo, x.local()), with_ghosts(*d.handle()->fold, g.local()), sign};
  } else if constexpr (Transposed) {
    using Own = decltype(view(x.local()));
    return rows_contribution<true, Conj, decltype(of_columns(d, g)), Own>{of_columns(d, g), view(x.local()), sign};
  } else {
    using Own = decltype(view(g.local()));
    return rows_contribution<false, Conj, decltype(of_columns(d, x)), Own>{of_columns(d, x), view(g.local()), sign};
  }
}

/// A traced row-sharded (or replicated) matrix in the place where solves expect one.
template <class Variable, bool Transposed, bool Conj>
struct traced_rows {
  static constexpr bool transposed = Transposed, conj = Conj;
  Variable* v;
  template <class X, class W>
  void pull_residual(X const& x, W const& w) const {
    v->add(contribution_to_rows<Transposed, Conj>(v->value(), x, w, -1));
  }
  template <class X, class Out>
  void push_residual(X const& x, Out& out) const {
    if (auto const* d = v->tangent()) out.add(eval(-(view_of<Transposed, Conj>(*d) * x)));
  }
};
/// A cotangent in the dual placements of X: where that is a sum over ranks, or a halo's contributions, a shard is padded with zeros.
template <class X, int Axis, class G>
auto in_dual_placement(G const& g, layout_handle<mesh_of_t<X>> const& of_x) {
  using To = cotangent_t<X>;
  if constexpr (std::same_as<placements_of_t<G>, placements_of_t<To>>)
    return g;
  else
    return stepped<step::convert, mesh_of_t<X>::template name_string<Axis>(), placement_on_t<To, Axis>, true>(g, of_x);
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
    auto to_values = detail::linear_in(
        matrix, [matrix, vector](auto const&, auto const& g) { return detail::contribution_to_rows<false, false>(matrix.value(), vector.value(), g, 1); },
        [vector](auto const&, auto const& d) { return eval(d * vector.value()); });
    auto to_x = detail::linear_in(
        vector,
        [matrix, vector](auto const&, auto const& g) {
          constexpr int axis = detail::sparse_axis<placements_of_t<plain_t<A>>>;
          return detail::in_dual_placement<plain_t<X>, axis>(eval(adjoint(matrix.value()) * g), detail::layout_of(vector.value()));
        },
        [matrix](auto const&, auto const& d) { return eval(matrix.value() * d); });
    return detail::record(a.home(), eval(matrix.value() * vector.value()), std::move(to_values), std::move(to_x));
  } else {
    using Turned = detail::turned_operator<A>;
    using D = std::remove_cvref_t<decltype(detail::matrix_of(a))>;
    auto const kept = std::make_shared<D const>(detail::matrix_of(a));
    auto const oriented = [kept] { return detail::view_of<Turned::transposed, Turned::conj>(*kept); };
    return detail::record(x.home(), eval(oriented() * vector.value()), detail::linear_in(
        vector,
        [oriented, vector](auto const&, auto const& g) {
          constexpr int axis = detail::sparse_axis<placements_of_t<D>>;
          return detail::in_dual_placement<plain_t<X>, axis>(eval(adjoint(oriented()) * g), detail::layout_of(vector.value()));
        },
        [oriented](auto const&, auto const& d) { return eval(oriented() * d); }));
  }
}

template <class A, class B, class... Options>
  requires detail::TracedRowSystem<A, B>
auto perform(op::try_solve, A const& a, B const& b, Options const&... options) {
  auto const& matrix = detail::plain_value(a);
  auto prepared = perform(op::prepare{}, matrix, options...);
  auto const shared = std::make_shared<decltype(prepared) const>(std::move(prepared));
  auto& home = detail::home_of(a, b);
  if constexpr (Traced<A>)
    return detail::trace_solve(home, shared, detail::traced_rows<typename A::variable_type, false, false>{&a.variable()}, b, options...);
  else
    return detail::trace_solve(home, shared, detail::constant_matrix<false, false>{}, b, options...);
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

// ---- the gradient

/// The seed of a distributed value has the dual placements.
template <class Local, class Mesh, class... P, class G>
struct seed_law<distributed<Local, Mesh, P...>, G> {
  using value_type = distributed<Local, Mesh, P...>;
  static constexpr bool holds = std::same_as<G, cotangent_t<value_type>>;
  static constexpr void require() { require_seed<value_type, G>(); }
};

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

/// The loss of a function of traced values, and its cotangents.
template <class F, class... V>
auto differentiated_loss(tape& t, F& f, variable<V>&... inputs) {
  auto const y = finished_loss(f(traced<V>(t, inputs)...));
  using Y = plain_t<decltype(y)>;
  constexpr bool is_number = is_distributed_number<Y>;
  static_assert(is_number,
                "sla: value_and_gradient(f, args...): of distributed arguments, f returns one distributed real number: dot, sum or squared_norm");
  if constexpr (is_number) {
    using R = local_of_t<Y>;
    constexpr bool is_one = is_one_loss<placements_of_t<Y>>;
    static_assert(is_one,
                  "sla[E25]: the loss is Replicate, and its gradient would be counted once per rank. Return the pending sum (dot, sum, "
                  "squared_norm) without all_reduce, or all_reduce<axis, Invariant>(loss)");
    auto const total = gather_axes<mesh_of_t<Y>::rank - 1>(plain_value(y), dealing_order<placements_of_t<Y>>{});
    if constexpr (Traced<decltype(y)>) {  // else no argument mattered
      y.variable().add(constant<R>{1});
      t.sweep();
    }
    return std::tuple<R, cotangent_type_t<V>...>(total, inputs.take_cotangent()...);
  } else {
    return std::tuple<double, cotangent_type_t<V>...>(0.0, inputs.take_cotangent()...);  // well-formed: the sentence is the only error
  }
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
  return detail::differentiated_loss(t, f, t.input(args)...);
}

}  // namespace sla

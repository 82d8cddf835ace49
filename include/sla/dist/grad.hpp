// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Derivatives through distributed values: products and solves by their adjoints, and the gradient itself. Cotangents have the dual
// placements, in their types, tangents those of their values. Elementwise operations and reductions are in dist/grad_elementwise.hpp,
// collectives in dist/grad_steps.hpp; the tape, forward mode and the rules on scalars in grad/.
#pragma once

#include <memory>
#include <utility>

#include <sla/dist/collectives.hpp>
#include <sla/dist/grad_elementwise.hpp>
#include <sla/dist/grad_steps.hpp>
#include <sla/dist/linear_operator.hpp>
#include <sla/dist/matrix.hpp>
#include <sla/dist/product.hpp>
#include <sla/dist/solve.hpp>
#include <sla/grad/gradient.hpp>
#include <sla/grad/jvp.hpp>
#include <sla/grad/pullback.hpp>
#include <sla/grad/solve.hpp>
#include <sla/spmd/seed.hpp>

namespace sla {

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
template <bool Transposed, bool Conj, class X, class G>
struct entries_contribution {
  X x;
  G g;
  int sign;
  template <class Sum>
  void add_to(Sum& sum) const {
    to_values<Transposed, Conj>(view(x), view(g), sign).add_to(sum);
  }
};
template <bool Transposed, bool Conj, class D, class X, class G>
auto contribution_to_rows(D const& d, X const& x, G const& g, int sign) {
  if constexpr (by_entries<placements_of_t<D>>) {
    auto const &in = *(Transposed ? d.handle()->fold : d.handle()->halo), &out = *(Transposed ? d.handle()->halo : d.handle()->fold);
    using In = decltype(with_halo<0>(x.local(), in));
    using Out = decltype(with_halo<0>(g.local(), out));
    return entries_contribution<Transposed, Conj, In, Out>{with_halo<0>(x.local(), in), with_halo<0>(g.local(), out), sign};
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
  void pullback_residual(X const& x, W const& w) const {
    v->add(contribution_to_rows<Transposed, Conj>(v->value(), x, w, -1));
  }
  template <class X, class Out>
  void pushforward_residual(X const& x, Out& out) const {
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
/// A traced matrix, or a view of one.
template <class A>
concept TracedOperator = TracedRows<A> || (is_traced_view<A> && DistributedSparse<typename A::plain_type>);
template <class X, bool Transposed, bool Conj>
struct turned_operator<traced_view<X, Transposed, Conj>> {
  static constexpr bool transposed = Transposed, conj = Conj;
};
template <class A>
auto const& viewed(A const& a) {
  if constexpr (is_traced_view<A>)
    return a.A;
  else
    return a;
}
template <class A, class X>
concept TracedRowPair = (TracedOperator<A> && (TracedPlaced<X> || Placed<X>)) || (DistributedOperator<A> && TracedPlaced<X>);

/// D^H g, in whichever placements the forward product makes it: nothing is to be asked for.
template <class V, class G>
auto pulled_product(V const& adjoint_of_d, G const& g) {
  using Op = inferring_partial<product_op<V>>;
  require_well_typed<Op, std::remove_cvref_t<decltype(matrix_of(adjoint_of_d))>, G>();
  return eval(product_as<Op>(adjoint_of_d, g));
}
/// The product by Op (dist/product.hpp).
template <class Op, class A, class X>
auto trace_product(A const& a, X const& x) {
  using D = std::remove_cvref_t<decltype(matrix_of(plain_value(viewed(a))))>;
  using Turned = turned_operator<A>;
  auto const turned = [](auto const& d) { return view_of<Turned::transposed, Turned::conj>(d); };
  auto const vector = part_of(x);
  auto const multiplied = [](auto const& d, auto const& v) {
    require_well_typed<Op, std::remove_cvref_t<decltype(matrix_of(d))>, std::remove_cvref_t<decltype(v)>>();
    return eval(product_as<Op>(d, v));
  };
  auto const pulled = [vector](auto const& adjoint_of_d, auto const& g) {
    constexpr int axis = sparse_axis<placements_of_t<D>>;
    return in_dual_placement<plain_t<X>, axis>(pulled_product(adjoint_of_d, g), layout_of(vector.value()));
  };
  if constexpr (TracedOperator<A>) {
    auto const matrix = part_of(viewed(a));
    auto to_values = linear_in(
        matrix,
        [matrix, vector](auto const&, auto const& g) {
          return contribution_to_rows<Turned::transposed, Turned::conj>(matrix.value(), vector.value(), g, 1);
        },
        [multiplied, turned, vector](auto const&, auto const& d) { return multiplied(turned(d), vector.value()); });
    auto to_x = linear_in(
        vector, [pulled, turned, matrix](auto const&, auto const& g) { return pulled(adjoint(turned(matrix.value())), g); },
        [multiplied, turned, matrix](auto const&, auto const& d) { return multiplied(turned(matrix.value()), d); });
    return record(a.home(), multiplied(turned(matrix.value()), vector.value()), std::move(to_values), std::move(to_x));
  } else {
    auto const kept = std::make_shared<D const>(matrix_of(a));
    auto const oriented = [kept, turned] { return turned(*kept); };
    return record(x.home(), multiplied(oriented(), vector.value()),
                  linear_in(
                      vector, [oriented, pulled](auto const&, auto const& g) { return pulled(adjoint(oriented()), g); },
                      [oriented, multiplied](auto const&, auto const& d) { return multiplied(oriented(), d); }));
  }
}
} // namespace detail

/// Views of a traced matrix, as of a plain one.
template <detail::TracedRows A>
auto perform(op::transpose, A const& a) {
  return detail::turned(detail::as_traced_view(a));
}
template <detail::TracedRows A>
auto perform(op::conj, A const& a) {
  return detail::conjugated(detail::as_traced_view(a));
}
template <detail::TracedRows A>
auto perform(op::adjoint, A const& a) {
  return detail::turned(detail::conjugated(detail::as_traced_view(a)));
}

/// y = D x: D^H g to x (the reverse halo), g[row] conj(x[col]) to the stored values; D may be turned.
template <class A, class X>
  requires detail::TracedRowPair<A, X>
auto perform(op::mul, A const& a, X const& x) {
  return detail::trace_product<detail::product_op<A>>(a, x);
}
template <class Op, class Word, class A, class X>
  requires(detail::TracedRowPair<A, X> && (Traced<A> ? std::same_as<detail::asked_t<Op>, op::matvec> : detail::IsProduct<Op>))
auto perform(detail::asking_partial<Op, Word>, A const& a, X const& x) {
  using Asked = detail::asking_partial<Op, Word>;
  if constexpr (Traced<A>)
    return detail::trace_product<Asked>(a, x);
  else
    return detail::trace_product<Asked>(detail::turned_for<Asked>(a), x);
}

template <class A, class B, class... Options>
  requires detail::TracedRowPair<A, B>
auto perform(op::try_solve, A const& a, B const& b, Options const&... options) {
  using Turned = detail::turned_operator<A>;
  if constexpr (Turned::conj && !Turned::transposed) { // conj(D) x = b is D conj(x) = conj(b)
    auto s = perform(op::try_solve{}, detail::matrix_of(detail::viewed(a)), eval(conj(b)), options...);
    return solution<decltype(s.x)>{conj(s.x), std::move(s.report)};
  } else {
    auto const& matrix = detail::matrix_of(detail::plain_value(detail::viewed(a)));
    auto prepared = perform(op::prepare{}, matrix, options...);
    auto const shared = std::make_shared<decltype(prepared) const>(std::move(prepared));
    auto& home = detail::home_of(a, b);
    if constexpr (detail::TracedOperator<A>) {
      auto& variable = detail::viewed(a).variable();
      using Matrix_ = detail::traced_rows<std::remove_reference_t<decltype(variable)>, Turned::transposed, Turned::conj>;
      return detail::trace_solve(home, shared, Matrix_{&variable}, b, options...);
    } else {
      return detail::trace_solve(home, shared, detail::constant_matrix<Turned::transposed, Turned::conj>{}, b, options...);
    }
  }
}
template <class A, class B, class... Options>
  requires detail::TracedRowPair<A, B>
auto perform(op::solve, A const& a, B const& b, Options const&... options) {
  return detail::solved(perform(op::try_solve{}, a, b, options...));
}
template <class A, class Method, class P, detail::TracedPlaced B, class... Options>
auto perform(op::try_solve, prepared<A, Method, P> const& s, B const& b, Options const&... options) {
  return detail::trace_constant<false, false>(s, b, options...);
}
template <class A, class Method, class P, detail::TracedPlaced B, class... Options>
auto perform(op::try_solve_transpose, prepared<A, Method, P> const& s, B const& b, Options const&... options) {
  return detail::trace_constant<true, false>(s, b, options...);
}
template <class A, class Method, class P, detail::TracedPlaced B, class... Options>
auto perform(op::try_solve_adjoint, prepared<A, Method, P> const& s, B const& b, Options const&... options) {
  return detail::trace_constant<true, true>(s, b, options...);
}

/// Of a linear_operator, whose function sees this rank's part.
template <class T, detail::TracedPlaced B, class... Options>
auto perform(op::try_solve, linear_operator<T> const& a, B const& b, Options const&... options) {
  return perform(op::prepare{}, detail::in_layout_of(a, b.value()), options...).try_solve(b, options...);
}
template <class T, detail::TracedPlaced B, class... Options>
auto perform(op::solve, linear_operator<T> const& a, B const& b, Options const&... options) {
  return detail::solved(perform(op::try_solve{}, a, b, options...));
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
/// The first axis on which a loss is neither, and the calls that mend it on all of them.
template <class Y, class List>
struct loss_refusal;
template <class Y, class... P>
struct loss_refusal<Y, placements<P...>> {
  using Mesh = mesh_of_t<Y>;
  static constexpr int axis = [] {
    int a = 0, found = -1;
    ((found = found < 0 && !is_one_loss<placements<P>> ? a : found, ++a), ...);
    return found;
  }();
  template <int A, class Q>
  static consteval auto step() {
    constexpr auto name = Mesh::template name_string<A>();
    if constexpr (Q::kind == placement_kind::replicate)
      return type_list<call::convert<name, Partial<>>>{};
    else if constexpr (Q::kind == placement_kind::varying)
      return type_list<call::reinterpret<name, Partial<>>>{};
    else
      return type_list<>{};
  }
  template <class... Call>
  static consteval auto fix(type_list<Call...>) {
    if constexpr (sizeof...(Call) > 0)
      return type_list<fix_by<Call...>>{};
    else
      return type_list<>{};
  }
  template <int... A>
  static consteval auto fixes(std::integer_sequence<int, A...>) {
    return fix((type_list<>{} + ... + step<A, P>()));
  }
  static constexpr placement_kind held = placement_on_t<Y, axis>::kind;
  using facts = decltype(type_list<operand_is<0, placement_on_t<Y, axis>>, on_axis<Mesh::template name_string<axis>()>>{} +
                         fixes(std::make_integer_sequence<int, int(sizeof...(P))>{}));
};
template <class Y>
inline constexpr bool is_distributed_number = false;
template <class T, class Mesh, class... P>
inline constexpr bool is_distributed_number<distributed<T, Mesh, P...>> = std::floating_point<T>;

/// The loss of a function of traced values, and its cotangents.
template <class F, class... V>
auto differentiated_loss(tape& t, F& f, tape_variable<V>&... inputs) {
  auto const y = f(traced<V>(t, inputs)...);
  using Y = plain_t<decltype(y)>;
  constexpr bool is_number = is_distributed_number<Y>;
  static_assert(is_number,
                "sla: value_and_gradient(f, args...): of distributed arguments, f returns one distributed real number: dot, sum or squared_norm");
  if constexpr (is_number) {
    using R = local_of_t<Y>;
    if constexpr (is_one_loss<placements_of_t<Y>>) {
      auto const total = gather_axes<mesh_of_t<Y>::rank - 1>(plain_value(y), dealing_order<placements_of_t<Y>>{});
      if constexpr (Traced<decltype(y)>) {  // else no argument mattered
        y.variable().add(constant<R>{1});
        t.sweep();
      }
      return std::tuple<R, cotangent_type_t<V>...>(total, inputs.take_cotangent()...);
    } else {
      using refused = loss_refusal<Y, placements_of_t<Y>>;
      refuse_loss<refused::held, typename refused::facts>();
      return std::tuple<R, cotangent_type_t<V>...>(R(0), inputs.take_cotangent()...);
    }
  } else {
    return std::tuple<double, cotangent_type_t<V>...>(0.0, inputs.take_cotangent()...);  // well-formed: the sentence is the only error
  }
}
} // namespace detail

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

} // namespace sla

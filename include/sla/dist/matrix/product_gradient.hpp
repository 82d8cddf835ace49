// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Derivatives of products of distributed matrices: D^H g to x, by the reverse halo, and g x^H on the stored entries. Cotangents have
// the dual placements, in their types, tangents those of their values.
#pragma once

#include <concepts>
#include <memory>
#include <utility>

#include <sla/dist/matrix/matrix_product.hpp>
#include <sla/dist/step/collectives.hpp>
#include <sla/dist/value/expression_gradient.hpp>
#include <sla/grad/operation/traced_product.hpp>

namespace sla {

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

} // namespace detail

/// The same of matrices on ranks, as their rules hand it on: left is a vector of the rows of D, right one of its columns. All ranks call it.
template <DistributedSparse D, class L, class R>
auto outer_contribution(D const& d, L const& left, R const& right, int sign) {
  return detail::contribution_to_rows<false, false>(d, right, left, sign);
}

namespace detail {
/// A cotangent in the dual placements of X: where that is a sum over ranks, or a halo's contributions, a shard is padded with zeros.
template <class X, int Axis, class G>
auto in_dual_placement(G const& g, layout_handle<mesh_of_t<X>> const& of_x) {
  using To = cotangent_t<X>;
  if constexpr (std::same_as<placements_of_t<G>, placements_of_t<To>>)
    return g;
  else
    return stepped<step_along<step::convert, mesh_of_t<X>::template name_string<Axis>(), placement_on_t<To, Axis>, true>>(g, of_x);
}
/// A traced matrix, or a view of one.
template <class A>
concept TracedOperator = TracedRows<A> || (is_traced_view<A> && PlacedSparse<typename A::plain_type>);
template <class X, bool Transposed, bool Conj>
struct view_orientation<traced_view<X, Transposed, Conj>> {
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
concept TracedRowPair = (TracedOperator<A> && (TracedDistributedExpr<X> || DistributedExpr<X>)) || (PlacedOperator<A> && TracedDistributedExpr<X>);

/// D^H g, in whichever placements the forward product makes it: nothing is to be asked for.
template <class V, class G>
auto pulled_product(V const& adjoint_of_d, G const& g) {
  using Op = inferring_partial<product_op<V>>;
  require_well_typed<Op, std::remove_cvref_t<decltype(matrix_of(adjoint_of_d))>, G>();
  return eval(product_as<Op>(adjoint_of_d, g));
}
/// The product by Op (dist/matrix/matrix_product.hpp).
template <class Op, class A, class X>
auto trace_product(A const& a, X const& x) {
  using D = std::remove_cvref_t<decltype(matrix_of(plain_value(viewed(a))))>;
  using Orientation = view_orientation<A>;
  auto const viewed_so = [](auto const& d) { return view_of<Orientation::transposed, Orientation::conj>(d); };
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
          return contribution_to_rows<Orientation::transposed, Orientation::conj>(matrix.value(), vector.value(), g, 1);
        },
        [multiplied, viewed_so, vector](auto const&, auto const& d) { return multiplied(viewed_so(d), vector.value()); });
    auto to_x = linear_in(
        vector, [pulled, viewed_so, matrix](auto const&, auto const& g) { return pulled(adjoint(viewed_so(matrix.value())), g); },
        [multiplied, viewed_so, matrix](auto const&, auto const& d) { return multiplied(viewed_so(matrix.value()), d); });
    return record(a.home(), multiplied(viewed_so(matrix.value()), vector.value()), std::move(to_values), std::move(to_x));
  } else {
    auto const kept = std::make_shared<D const>(matrix_of(a));
    auto const oriented = [kept, viewed_so] { return viewed_so(*kept); };
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
  return detail::transposed_view(detail::as_traced_view(a));
}
template <detail::TracedRows A>
auto perform(op::conj, A const& a) {
  return detail::conjugated(detail::as_traced_view(a));
}
template <detail::TracedRows A>
auto perform(op::adjoint, A const& a) {
  return detail::transposed_view(detail::conjugated(detail::as_traced_view(a)));
}

/// y = D x: D^H g to x (the reverse halo), g[row] conj(x[col]) to the stored values; D may be transposed.
template <class A, class X>
  requires detail::TracedRowPair<A, X>
auto perform(op::mul, A const& a, X const& x) {
  return detail::trace_product<detail::product_op<A>>(a, x);
}
template <class Op, class Word, class A, class X>
  requires(detail::TracedRowPair<A, X> && (Traced<A> ? std::same_as<detail::requested_op_t<Op>, op::matvec> : detail::IsProduct<Op>))
auto perform(detail::requesting_partial<Op, Word>, A const& a, X const& x) {
  using Requested = detail::requesting_partial<Op, Word>;
  if constexpr (Traced<A>)
    return detail::trace_product<Requested>(a, x);
  else
    return detail::trace_product<Requested>(detail::oriented_for<Requested>(a), x);
}

/// A traced vector of one rank beside a distributed matrix is refused by the sentence of its value.
template <PlacedOperator A, Traced X>
  requires Tensorial<plain_t<X>>
auto operator*(A const&, X const& x) {
  require_well_typed<detail::product_op<A>, std::remove_cvref_t<decltype(detail::matrix_of(std::declval<A const&>()))>, plain_t<X>>();
  return x;
}

} // namespace sla

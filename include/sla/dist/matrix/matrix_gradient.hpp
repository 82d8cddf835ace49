// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Derivatives of what is done with distributed sparse tensors: scaling by rows and columns, eliminated unknowns, stored transposes. Products are
// in dist/matrix/product_gradient.hpp.
#pragma once

#include <span>
#include <type_traits>
#include <utility>

#include <sla/dist/assembly/diagonal_on_ranks.hpp>
#include <sla/dist/matrix/eliminate_on_ranks.hpp>
#include <sla/dist/matrix/matrix_functions.hpp>
#include <sla/dist/matrix/product_gradient.hpp>
#include <sla/dist/matrix/stored_transpose.hpp>
#include <sla/grad/operation/traced_norms.hpp>
#include <sla/grad/operation/traced_sparse.hpp>

namespace sla {

namespace detail {
template <class A, class X>
concept TracedPartScaling = (TracedRows<A> && (TracedDistributedExpr<X> || DistributedTensor<X>)) || (DistributedSparse<A> && TracedDistributedExpr<X>);

/// This rank's values of diag(d) D, or D diag(d).
template <bool Rows, class D, class X>
auto scaled_values(D const& d, X const& x) {
  auto scaled = scaled_part<Rows>(d, x);
  return values(std::move(scaled).local());
}
/// The sums of conj(a) g over each row, or column, to the cotangent of x: this rank's, or those that a reverse halo adds up.
template <bool Rows, class D, class G, class X>
auto scaling_contribution(D const& a, G const& g, X const& x) {
  using Local = local_of_t<D>;
  if constexpr (sparse_dim<placements_of_t<D>> == 0 && !Rows) {
    using Ones = tensor<real_t<typename Local::value_type>, range_extents_t<typename Local::shape_type>>;
    auto local = with_values(g.local(), conj(values(a.local())) * values(g.local()));
    typename distributed_with<decltype(local), mesh_of_t<D>, placements_of_t<D>>::type const both(std::move(local), a.handle());
    auto const one = [&]<class... P>(vector_layout<mesh_of_t<D>, P...> const& layout) {
      return distributed<Ones, mesh_of_t<D>, P...>(ones<typename Ones::value_type, typename Ones::extents_type>(a.local().range()), layout.handle());
    }(a.row_layout());
    return in_dual_placement<X, sparse_axis<placements_of_t<D>>>(eval(transpose(both) * one), layout_of(x));
  } else {
    return scale_cotangent<Rows>(a.local(), g.local());
  }
}

template <bool Rows, class A, class X>
auto trace_part_scaling(A const& a, X const& x) {
  auto const matrix = part_of(a);
  auto const factor = part_of(x);
  auto to_A = linear_in(
      matrix, [factor](auto const&, auto const& g) { return scaled_values<Rows>(g, eval(conj(factor.value()))); },
      [factor](auto const&, auto const& dA) { return scaled_values<Rows>(dA, factor.value()); });
  auto to_x = linear_in(
      factor, [matrix, factor](auto const&, auto const& g) { return scaling_contribution<Rows>(matrix.value(), g, factor.value()); },
      [matrix](auto const&, auto const& dx) { return scaled_values<Rows>(matrix.value(), dx); });
  return record(home_of(a, x), scaled_part<Rows>(matrix.value(), factor.value()), std::move(to_A), std::move(to_x));
}

template <bool Conj, class A>
auto trace_transposed(A const& a) {
  using D = plain_t<A>;
  static_assert(sparse_dim<placements_of_t<D>> != 1,
                "sla: transposed(D), adjointed(D) of a traced D: its columns are sharded, and what comes back lies by rows; distribute D by rows");
  auto rule = linear_in(
      a,
      [](auto const&, auto const& g) {
        return adds([back = stored_transpose<Conj>(g)](auto& sum) {
          if (sparse_axis<placements_of_t<D>> >= 0 && !same_pattern(sum.pattern(), back.local().pattern()))
            throw value_error("the gradient of transposed(D): D stores an entry twice, or its rows in another order than distribute and assemble do");
          add_sample(sum, 1, back.local());
        });
      },
      [](auto const&, auto const& d) {
        auto other = stored_transpose<Conj>(d);
        return values(std::move(other).local());
      });
  return record(a.home(), stored_transpose<Conj>(a.value()), std::move(rule));
}
} // namespace detail

/// Gradient: as of plain sparse tensors, in the placements of D and d. Cost: of scale_cols with D sharded by rows a reverse halo.
template <class A, class X>
  requires detail::TracedPartScaling<A, X>
auto perform(op::scale_rows, A const& a, X const& x) {
  return detail::trace_part_scaling<true>(a, x);
}
template <class A, class X>
  requires detail::TracedPartScaling<A, X>
auto perform(op::scale_cols, A const& a, X const& x) {
  return detail::trace_part_scaling<false>(a, x);
}

/// `eliminate` of a traced D.
template <detail::TracedRows A, class B, class Fixed, class V>
auto perform(op::fixed_unknowns op, A const& a, B const& b, Fixed const& fixed, V const& values) {
  return perform(op, a.value(), b, fixed, values);
}
template <detail::TracedRows A, DistributedTensor Mask>
auto perform(op::with_identity op, A const& a, Mask const& mask) {
  auto rule = linear_in(
      a, [](auto const&, auto const& g) { return detail::sample_of(1, g.local()); },
      [](auto const&, auto const& d) { return adds([&d](auto& sum) { detail::add_spread(sum, 1, d.local()); }); });
  return record(a.home(), perform(op, a.value(), mask), std::move(rule));
}

/// Gradient: the cotangent is transposed back. Law: the rows of D are sharded, or every rank has D.
template <detail::TracedRows A>
auto transposed(A const& a) {
  return detail::trace_transposed<false>(a);
}
template <detail::TracedRows A>
auto adjointed(A const& a) {
  return detail::trace_transposed<true>(a);
}

namespace detail {
/// The cotangent of the entries of D where g is that of its diagonal. Collective, of entries and of rectangles.
template <class D, class G>
auto values_of_diagonal(D const& d, G const& g) {
  using Local = local_of_t<D>;
  using T = typename Local::value_type;
  using List = placements_of_t<D>;
  constexpr bool entries = by_entries<List>, rectangles = is_grid<List>, of_columns = sparse_dim<List> == 1 && !rectangles;
  constexpr index_t P = Local::shape_type::block_rows;
  Local const& A = d.local();
  auto const whole = [&] {
    if constexpr (entries) {
      return with_halo<0>(g.local(), *d.handle()->fold);
    } else if constexpr (rectangles) {  // the ranks of a block of rows have the diagonal alike
      auto sum = g.local();
      all_reduce(d.mesh().communicator(sparse_axis<List, 1>), std::span<T>(sum.data(), std::size_t(sum.size())));
      return sum;
    } else {
      return g.local();
    }
  }();
  vector<T> out(A.values().size());
  global_places<D> const places{d};
  index_t const side = of_columns ? A.cols() : A.rows();
  for (index_t i = 0; i < A.rows(); ++i)
    A.pattern().view().for_row(i, [&](index_t s, index_t j) {
      if (places.row(i) != places.col(j)) return;
      for (index_t b = 0; b < A.batch_count(); ++b)
        for (index_t k = 0; k < P; ++k) out[b * A.batch_stride() + s * P * P + k * (P + 1)] = T(whole.data()[(b * side + (of_columns ? j : i)) * P + k]);
    });
  return out;
}
} // namespace detail
/// Gradient of the diagonal: g at its entries; of a diagonal matrix: the diagonal of g.
template <detail::TracedRows A>
auto diagonal_of(A const& a) {
  auto const* const own = &a.variable();
  auto rule = linear_in(
      a, [own](auto const&, auto const& g) { return detail::values_of_diagonal(own->value(), g); }, [](auto const&, auto const& d) { return diagonal_of(d); });
  return record(a.home(), diagonal_of(a.value()), std::move(rule));
}
template <Format F, detail::TracedDistributedExpr X>
  requires DistributedTensor<plain_t<X>>
auto perform(op::diagonal, conversion_to<F> format, X const& v) {
  auto rule = linear_in(
      v, [](auto const&, auto const& g) { return diagonal_of(g); },
      [format](auto const&, auto const& d) { return values(perform(op::diagonal{}, format, d).local()); });
  return record(v.home(), perform(op::diagonal{}, format, v.value()), std::move(rule));
}

namespace detail {
/// What a norm y of D hands to this rank's entries, where g is its cotangent. Collective.
template <class Op, class D, class Y, class G>
auto norm_contribution_on_ranks(D const& d, Y const& y, G const& g) {
  constexpr int side = std::same_as<Op, op::norm1>, across = axis_across<side, D>;
  decltype(squared_sums(d.local())) sums;
  if constexpr (!std::same_as<Op, op::norm>) sums = sums_of_lines<side>(d);
  return norm_contribution<Op>(d.local(), y, g, sums, [&](index_t ties) {
    if constexpr (across >= 0) ties = all_reduce(d.mesh().communicator(across), ties);
    return ties;
  });
}
template <class Op, class A>
concept LargestOfEntries = (std::same_as<Op, op::norm1> || std::same_as<Op, op::norm_inf>) && by_entries<placements_of_t<plain_t<A>>>;
/// Numbers of all ranks that share D: one of each item, or all of them.
template <class D, class Number>
auto summed_over_sharing(D const& d, std::vector<Number> numbers) {
  reduce_over_sharing(d, std::span(numbers));
  return number_per_item(d.local().shape(), numbers);
}
/// sum(D) or a norm of it, and its rule.
template <class Op, TracedRows A>
auto traced_number(A const& a) {
  using D = plain_t<A>;
  auto const m = part_of(a);
  if constexpr (std::same_as<Op, op::norm1> && sparse_dim<placements_of_t<D>> == 0) {
    return traced_number<op::norm_inf>(trace_transposed<false>(a));
  } else if constexpr (std::same_as<Op, op::sum>) {
    auto rule = linear_in(
        m, [m](auto const&, auto const& g) { return sum_contribution(m.value().local(), part_of_cotangent(g)); }, [](auto const&, auto const& d) { return sum(d); });
    return record(a.home(), common_numbers_of(m.value(), sum(m.value())), std::move(rule));
  } else {
    require_single_entries(m.value().local());
    auto rule = linear_in(
        m, [m](auto const& y, auto const& g) { return norm_contribution_on_ranks<Op>(m.value(), y.local(), part_of_cotangent(g)); },
        [m](auto const& y, auto const& d) {
          using Number = decltype(number_of_item(y.local(), 0));
          return summed_over_sharing(d, slopes_along<Number>(d.local(), norm_contribution_on_ranks<Op>(m.value(), y.local(), 1.0)));
        });
    return record(a.home(), common_numbers_of(m.value(), perform(Op{}, m.value())), std::move(rule));
  }
}
} // namespace detail
/// The number of a traced D is distributed, Invariant where ranks share D: a loss; `convert<"rows", Replicate>(n)` stands before vectors and beside pending sums.
/// Gradient: that of one rank; rows or columns of all ranks whose sums are the largest share it. Cost: as of the number, and in norm1 of rows that of transposed(D).
template <class Op, detail::TracedRows A>
  requires((std::same_as<Op, op::sum> || detail::SparseNorm<Op>) && !detail::LargestOfEntries<Op, A>)
auto perform(Op, A const& a) {
  return detail::traced_number<Op>(a);
}
/// Refused: no rank has whole rows or columns of D. (Clang 16 asks for the type of the result before it looks at a requires clause.)
template <class Op, detail::TracedRows A, class = std::enable_if_t<detail::LargestOfEntries<Op, A>>>
auto perform(Op, A const& a) -> decltype(detail::traced_number<op::norm>(a)) {
  static_assert(always_false<A>, "sla: norm1(D), norm_inf(D) of a traced D that is distributed entry by entry have no gradient: no rank has whole rows or columns of it; those of a D by rows, "
                                 "columns or rectangles have one, and so have norm(D) and sum(D)");
  return detail::traced_number<op::norm>(a);
}
/// Refused, as of plain sparse tensors.
template <detail::TracedRows A>
auto perform(op::squared_norm, A const& a) {
  static_assert(always_false<A>, "sla: squared_norm(D) of a distributed matrix: norm(D) is its root, and has a gradient");
  return detail::traced_number<op::norm>(a);
}

} // namespace sla

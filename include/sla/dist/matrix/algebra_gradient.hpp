// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Derivatives of sums, products and multiples of matrices by rows or in rectangles, with respect to their stored entries. What they are is in
// dist/matrix/algebra_on_ranks.hpp.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include <sla/dist/matrix/algebra_on_ranks.hpp>
#include <sla/dist/matrix/product_gradient.hpp>
#include <sla/dist/matrix/unassembled.hpp>

namespace sla {

namespace detail {
template <class X>
concept RowsOrTraced = TracedRows<X> || DistributedSparse<X>;
template <class A, class B>
concept TracedRowsPair = RowsOrTraced<A> && RowsOrTraced<B> && (TracedRows<A> || TracedRows<B>);

/// The values of G where D stores entries, of the same rows: 0 where G has none.
template <class D, class G>
auto values_where_stored(D const& d, G const& g) {
  using T = typename local_of_t<D>::value_type;
  auto const rows = global_rows(g);
  auto const& pattern = rows.pattern();
  global_places<D> const places{d};
  std::vector<T> entry;
  std::vector<T> const none(std::size_t(rows.batch_count() * rows.block_size));
  return values_on(d.local(), [&](index_t, index_t i, index_t j) {
    auto const *const first = pattern.col.data() + pattern.row_ptr[i], *const last = pattern.col.data() + pattern.row_ptr[i + 1];
    auto const* const found = std::lower_bound(first, last, places.col(j));
    if (found == last || *found != places.col(j)) return none.data();
    auto const stored = stored_entry(rows, found - pattern.col.data());
    entry.assign(stored.begin(), stored.end());
    return static_cast<T const*>(entry.data());
  });
}
/// Errors: where D and E lie otherwise; Rectangles: may they lie in rectangles?
template <class A, class B, bool Rectangles>
constexpr void require_alike() {
  static_assert(rows_alike<plain_t<A>, plain_t<B>> || Rectangles, "sla: D + E, D - E, D * E of traced distributed matrices: both are sharded by rows, over one axis of one mesh: "
                                                                  "distribute<SparseShard<0>>(A, mesh, partitioner), or in rectangles of the same two axes");
}
/// Of rectangles nothing is sent.
template <class A, class B>
auto traced_sum_of_rectangles(A const& a, int sign, B const& b) {
  auto const x = part_of(a);
  auto const y = part_of(b);
  auto const rule = [](auto const& part, int by) {
    return linear_in(
        part, [by](auto const&, auto const& g) { return sample_of(by, g.local()); },
        [by](auto const&, auto const& d) { return adds([by, &d](auto& sum) { add_spread(sum, by, d.local()); }); });
  };
  return record(home_of(a, b), sum_of_rectangles(1, x.value(), sign, y.value()), rule(x, 1), rule(y, sign));
}
template <class A, class B>
auto traced_product_of_rectangles(A const& a, B const& b) {
  auto const x = part_of(a);
  auto const y = part_of(b);
  auto to_a = linear_in(
      x, [x, y](auto const&, auto const& g) { return product_cotangent<true>(x.value(), y.value(), g); },
      [y](auto const&, auto const& d) { return values(product_of_rectangles(d, y.value()).local()); });
  auto to_b = linear_in(
      y, [x, y](auto const&, auto const& g) { return product_cotangent<false>(x.value(), y.value(), g); },
      [x](auto const&, auto const& d) { return values(product_of_rectangles(x.value(), d).local()); });
  return record(home_of(a, b), product_of_rectangles(x.value(), y.value()), std::move(to_a), std::move(to_b));
}
template <class A, class B>
auto traced_sum_of_rows(A const& a, int sign, B const& b) {
  auto const x = part_of(a);
  auto const y = part_of(b);
  auto to_a = linear_in(
      x, [x](auto const&, auto const& g) { return values_where_stored(x.value(), g); },
      [y](auto const&, auto const& d) { return values(sum_on_ranks(1, d, 0, y.value()).local()); });
  auto to_b = linear_in(
      y,
      [y, sign](auto const&, auto const& g) {
        auto out = values_where_stored(y.value(), g);
        if (sign < 0) out = -out;
        return out;
      },
      [x, sign](auto const&, auto const& d) { return values(sum_on_ranks(0, x.value(), sign, d).local()); });
  return record(home_of(a, b), sum_on_ranks(1, x.value(), sign, y.value()), std::move(to_a), std::move(to_b));
}
template <class A, class B>
auto traced_sum(A const& a, int sign, B const& b) {
  constexpr bool rectangles = rectangles_alike<plain_t<A>, plain_t<B>, false>;
  require_alike<A, B, rectangles>();
  if constexpr (rectangles)
    return traced_sum_of_rectangles(a, sign, b);
  else
    return traced_sum_of_rows(a, sign, b);
}
template <class A, class B>
auto traced_product_of_rows(A const& a, B const& b) {
  auto const x = part_of(a);
  auto const y = part_of(b);
  auto to_a = linear_in(
      x, [x, y](auto const&, auto const& g) { return values_where_stored(x.value(), product_on_ranks(g, stored_transpose<true>(y.value()))); },
      [y](auto const&, auto const& d) { return values(product_on_ranks(d, y.value()).local()); });
  auto to_b = linear_in(
      y, [x, y](auto const&, auto const& g) { return values_where_stored(y.value(), product_on_ranks(stored_transpose<true>(x.value()), g)); },
      [x](auto const&, auto const& d) { return values(product_on_ranks(x.value(), d).local()); });
  return record(home_of(a, b), product_on_ranks(x.value(), y.value()), std::move(to_a), std::move(to_b));
}
} // namespace detail

/// Gradient of D + E and D - E: g where D and E store entries. Of D * E: g E^H and D^H g there. Of s D: conj(s) g. Collective, as they are.
template <class A, class B>
  requires detail::TracedRowsPair<A, B>
auto perform(op::add, A const& a, B const& b) {
  return detail::traced_sum(a, 1, b);
}
template <class A, class B>
  requires detail::TracedRowsPair<A, B>
auto perform(op::sub, A const& a, B const& b) {
  return detail::traced_sum(a, -1, b);
}
template <class A, class B>
  requires detail::TracedRowsPair<A, B>
auto perform(op::mul, A const& a, B const& b) {
  constexpr bool rectangles = detail::rectangles_alike<plain_t<A>, plain_t<B>, true>;
  detail::require_alike<A, B, rectangles>();
  if constexpr (rectangles)
    return detail::traced_product_of_rectangles(a, b);
  else
    return detail::traced_product_of_rows(a, b);
}

/// A multiple of a traced D by a number that all ranks have alike.
template <Number N, detail::TracedRows A>
auto perform(op::mul, N s, A const& a) {
  auto rule = linear_in(
      a, [s](auto const&, auto const& g) { return eval(conj_of(s) * values(g.local())); },
      [s](auto const&, auto const& d) { return eval(s * values(d.local())); });
  return record(a.home(), detail::scaled_on_ranks(a.value(), [&](auto const& local) { return s * local; }), std::move(rule));
}
template <Number N, detail::TracedRows A>
auto perform(op::mul, A const& a, N s) {
  return perform(op::mul{}, s, a);
}

/// masked(D, M): g where M stores; multiply_elements(D, E): g times the conjugate of the other one. Law: as of D + E.
template <class A, class M>
  requires detail::TracedRowsPair<A, M>
auto masked(A const& a, M const& m) {
  detail::require_alike<A, M, false>();
  auto const mask = detail::part_of(m);
  if constexpr (Traced<A>) {
    auto const x = detail::part_of(a);
    auto rule = linear_in(
        x, [x](auto const&, auto const& g) { return detail::values_where_stored(x.value(), g); },
        [mask](auto const&, auto const& d) { return values(masked(d, mask.value()).local()); });
    return record(a.home(), masked(x.value(), mask.value()), std::move(rule));
  } else {
    return masked(a, mask.value());
  }
}
template <class A, class B>
  requires detail::TracedRowsPair<A, B>
auto multiply_elements(A const& a, B const& b) {
  detail::require_alike<A, B, false>();
  auto const x = detail::part_of(a);
  auto const y = detail::part_of(b);
  auto to_a = linear_in(
      x, [x, y](auto const&, auto const& g) { return detail::values_where_stored(x.value(), multiply_elements(g, conj(y.value()))); },
      [y](auto const&, auto const& d) { return values(multiply_elements(d, y.value()).local()); });
  auto to_b = linear_in(
      y, [x, y](auto const&, auto const& g) { return detail::values_where_stored(y.value(), multiply_elements(g, conj(x.value()))); },
      [x](auto const&, auto const& d) { return values(multiply_elements(x.value(), d).local()); });
  return record(home_of(a, b), multiply_elements(x.value(), y.value()), std::move(to_a), std::move(to_b));
}

} // namespace sla

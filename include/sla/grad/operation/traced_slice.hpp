// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parts of traced sparse tensors: rows, columns, selections, permutations (all of them op::select) and items of a batch. The
// cotangent of a part is added at the places that it was taken from.
#pragma once

#include <sla/core/held.hpp>
#include <sla/grad/operation/traced_sparse.hpp>
#include <sla/tensor/arrange/slice.hpp>

namespace sla {

namespace detail {
/// sum += g, at the slots of a selection. Repeats: a slot may have been taken more than once.
template <class A, class Map, class G>
void add_selected(A& sum, Map const& map, bool repeats, G const& g) {
  auto add = [&](index_t lo, index_t hi) {
    for (index_t s = lo; s < hi; ++s) add_slot(sum, map.source[s], 1, g, s);
  };
  if (repeats)
    add(0, map.source.size());
  else
    parallel_ranges(map.source.size(), add);
}
template <bool Whole>
bool repeats(index_choice<Whole> const& chosen) {
  return !Whole && chosen.listed;
}
/// sum += g, of unblocked(sum).
template <class A, class G>
void add_to_blocks(A& sum, G const& g) {
  constexpr index_t p = A::shape_type::block_rows, q = A::shape_type::block_cols;
  auto const view = sum.pattern().view();
  parallel_ranges(g.rows(), [&, out = kernel_pointer(sum.values().data()), in = kernel_pointer(g.values().data())](index_t lo, index_t hi) {
    for (index_t r = lo; r < hi; ++r)
      for (index_t b = 0; b < sum.batch_count(); ++b) {
        index_t at = index_t(g.pattern().row_ptr[r]) + b * g.batch_stride();
        view.for_row(r / p, [&](index_t s, index_t) {
          for (index_t e = 0; e < q; ++e, ++at) out[b * sum.batch_stride() + (s * p + r % p) * q + e] += in[at];
        });
      }
  });
}
/// sum += g, from an item on.
template <class A, class G>
void add_items(A& sum, index_t first, G const& g) {
  parallel_ranges(g.values().size(), [out = kernel_pointer(sum.values().data()) + first * sum.batch_stride(), in = kernel_pointer(g.values().data())](index_t lo, index_t hi) {
    for (index_t n = lo; n < hi; ++n) out[n] += in[n];
  });
}
} // namespace detail

template <TracedSparse A, bool WholeRows, bool WholeCols>
auto perform(op::select, A const& a, index_choice<WholeRows> const& rows, index_choice<WholeCols> const& cols) {
  auto made = detail::selection_of<csr_for_t<typename plain_t<A>::format_type>>(a.value(), rows, cols);
  auto const map = detail::shared_of<decltype(made) const>(std::move(made));
  bool const repeats = detail::repeats(rows) || detail::repeats(cols);
  auto rule = linear_in(
      a,
      [map, repeats](auto const&, auto const& g) {
        return adds([map, repeats, &g](auto& sum) { detail::add_selected(sum, *map, repeats, g); });
      },
      [map](auto const&, auto const& d) { return values(detail::selected<WholeRows, WholeCols>(d, *map)); });
  return record(a.home(), detail::selected<WholeRows, WholeCols>(a.value(), *map), std::move(rule));
}
template <TracedSparse A>
auto perform(op::batch_items, A const& a, index_t first, index_t last) {
  auto rule = linear_in(
      a, [first](auto const&, auto const& g) { return adds([first, &g](auto& sum) { detail::add_items(sum, first, g); }); },
      [first, last](auto const&, auto const& d) { return values(batch_items(d, first, last)); });
  return record(a.home(), batch_items(a.value(), first, last), std::move(rule));
}

/// Item k of a traced batch, with a derivative of its own.
template <TracedSparse A>
auto batch_item(A const& a, index_t k) {
  auto rule = linear_in(
      a, [k](auto const&, auto const& g) { return adds([k, &g](auto& sum) { detail::add_items(sum, k, g); }); }, [k](auto const&, auto const& d) { return values(batch_item(d, k)); });
  return record(a.home(), batch_item(a.value(), k), std::move(rule));
}
/// A traced tensor with blocks as one of scalar entries.
template <TracedSparse A>
auto unblocked(A const& a) {
  auto rule = linear_in(
      a, [](auto const&, auto const& g) { return adds([&g](auto& sum) { detail::add_to_blocks(sum, g); }); }, [](auto const&, auto const& d) { return values(unblocked(d)); });
  return record(a.home(), unblocked(a.value()), std::move(rule));
}

/// The cotangent of A where C is a selection of it, from g on the pattern of C.
/// Errors: shape_error, if g has another pattern than the selection.
template <SparseOwner A, bool WholeRows, bool WholeCols, SparseOwner G>
auto vjp(op::select, A const& a, index_choice<WholeRows> const& rows, index_choice<WholeCols> const& cols, G const& g) {
  auto const map = detail::selection_of<csr_for_t<typename A::format_type>>(a, rows, cols);
  if (!same_pattern(g.pattern(), *map.pattern))
    throw shape_error(text("vjp(select, A, rows, cols, g): g stores ", g.nnz(), " entries, the selection ", map.pattern->nnz(), "; g lives on its pattern"));
  return detail::collected(a, adds([&](auto& sum) { detail::add_selected(sum, map, detail::repeats(rows) || detail::repeats(cols), g); }));
}

} // namespace sla

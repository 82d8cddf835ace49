// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parts of sparse tensors: ranges and selections of rows and columns, permutations P A Q, items of a batch. Putting parts
// together is in tensor/arrange/cat.hpp; other orders of axes are in tensor/arrange/permute.hpp.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <utility>
#include <vector>

#include <sla/core/held.hpp>
#include <sla/core/op.hpp>
#include <sla/tensor/build/block.hpp>

namespace sla {

/// Rows or columns of a tensor, in the order of the result. Whole: each of them once, so that the extent stays.
template <bool Whole>
struct index_choice {
  index_t first = 0, count = 0;
  bool listed = false;
  std::vector<index_t> list = {};

  index_t operator[](index_t k) const { return listed ? list[std::size_t(k)] : first + k; }
};

/// Rows [first, last) of a tensor.
struct row_slice {
  index_t first, last;
};

namespace detail {
inline index_choice<true> all_of(index_t extent) { return {0, extent}; }

template <class = void>
index_choice<false> chosen_range(index_t first, index_t last, index_t extent, char const* what) {
  if (first < 0 || last < first || last > extent)
    throw index_error(text(what, "(A, ", first, ", ", last, "): A has ", extent, " of them; ask for 0 <= first <= last <= ", extent));
  return {first, last - first};
}
template <class = void>
index_choice<false> chosen_one(index_t k, index_t extent, char const* what) {
  if (k < 0 || k >= extent)
    throw index_error(text(what, "(A, ", k, "): A has ", extent, " of them; ask for one that is at least 0 and less than ", extent,
                           k == extent ? " (indices count from 0)" : ""));
  return {k, 1};
}
/// A range of integers, as a selection is; of a mask or a number it is false.
template <class X>
concept ListOfIndices = requires(X const& x) {
  std::size(x);
  requires std::integral<std::remove_cvref_t<decltype(*std::begin(x))>> && !std::same_as<std::remove_cvref_t<decltype(*std::begin(x))>, bool>;
};
template <class Indices>
index_choice<false> chosen_list(Indices const& indices, index_t extent, char const* what) {
  constexpr bool listed = ListOfIndices<Indices>;
  static_assert(listed, "sla: a selection of rows or columns is a range of integers; of a mask, list where it is true");
  index_choice<false> out{0, 0, true, {}};
  if constexpr (listed) {  // else the sentence is the only error
    out.count = index_t(std::size(indices));
    out.list.reserve(std::size(indices));
    for (auto i : indices) {
      if (index_t(i) < 0 || index_t(i) >= extent)
        throw index_error(text(what, "(A, indices): index ", out.list.size(), " is ", i, "; it must be at least 0 and less than ", extent,
                               index_t(i) == extent ? " (indices count from 0)" : ""));
      out.list.push_back(index_t(i));
    }
  }
  return out;
}
template <class Indices>
index_choice<true> chosen_permutation(Indices const& indices, index_t extent, char const* what) {
  auto chosen = chosen_list(indices, extent, what);
  std::vector<index_t> place(std::size_t(extent), -1);
  for (index_t k = 0; k < chosen.count; ++k) {
    index_t& before = place[std::size_t(chosen[k])];
    if (before >= 0)
      throw index_error(text(what, ": the permutation has ", chosen[k], " twice, at places ", before, " and ", k, "; it holds each of 0 .. ", extent - 1, " once"));
    before = k;
  }
  if (chosen.count < extent)
    throw index_error(text(what, ": the permutation misses ", std::find(place.begin(), place.end(), -1) - place.begin(), "; it has ", chosen.count,
                           " numbers, and holds each of 0 .. ", extent - 1, " once"));
  return {0, extent, true, std::move(chosen.list)};
}

/// The entries at chosen rows and columns, and where they come from. A row keeps its order; with listed columns it is sorted.
template <class Col, class Ptr, class View, bool WholeRows, bool WholeCols>
pattern_map<Csr<Col, Ptr>> select_pattern(View const& view, index_choice<WholeRows> const& rows, index_choice<WholeCols> const& cols) {
  narrowed<Col>(cols.count, "the number of columns,", wide_columns);
  buffer<index_t> place(cols.listed ? cols.count : 0, uninitialized), begin;
  if (cols.listed)
    begin = counting_sort(
        cols.count, cols.count, view.cols,
        [&](index_t lo, index_t hi, auto const& f) {
          for (index_t k = lo; k < hi; ++k) f(cols[k], k);
        },
        [p = place.data()](index_t at, index_t k) { p[at] = k; });
  auto walk = [&](index_t i, auto const& f) {
    view.for_row(i, [&](index_t s, index_t j) {
      if (cols.listed)
        for (index_t t = begin[j]; t < begin[j + 1]; ++t) f(s, place[t]);
      else if (j >= cols.first && j < cols.first + cols.count)
        f(s, j - cols.first);
    });
  };
  auto row_ptr = row_pointers<Ptr>(rows.count, [&](index_t k) {
    index_t length = 0;
    walk(rows[k], [&](index_t, index_t) { ++length; });
    return length;
  });
  buffer<Col> col(row_ptr[rows.count], uninitialized);
  buffer<index_t> source(col.size(), uninitialized);
  bool const reordered = WholeRows && rows.listed; // then rows are read in their order: a read out of order is waited for, a write is not
  buffer<index_t> place_of(reordered ? rows.count : 0, uninitialized);
  if (reordered)
    for (index_t k = 0; k < rows.count; ++k) place_of[rows[k]] = k;
  parallel_ranges(rows.count, [&, c = col.data(), from = source.data()](index_t lo, index_t hi) {
    std::vector<std::pair<dependent_t<index_t, Col>, index_t>> row;
    for (index_t n = lo; n < hi; ++n) {
      index_t const k = reordered ? std::as_const(place_of)[n] : n;
      row.clear();
      walk(reordered ? n : rows[k], [&](index_t s, index_t j) { row.emplace_back(j, s); });
      if (cols.listed) std::sort(row.begin(), row.end());
      index_t at = row_ptr[k];
      for (auto const& [j, s] : row) {
        c[at] = Col(j);
        from[at++] = s;
      }
    }
  });
  using pattern = csr_pattern<Col, Ptr, host_memory>;
  return {detail::shared_of<pattern const>(pattern{rows.count, cols.count, std::move(row_ptr), std::move(col)}), std::move(source)};
}

template <class S, bool WholeRows, bool WholeCols>
struct selected_shape;
template <class B, index_t M, index_t N, class K, bool WholeRows, bool WholeCols>
struct selected_shape<Shape<B, M, N, K>, WholeRows, WholeCols> {
  using type = Shape<B, WholeRows ? M : dyn, WholeCols ? N : dyn, K>;
};

/// The map of a selection from A, into this Csr format.
template <class Format, class A, bool WholeRows, bool WholeCols>
auto selection_of(A const& a, index_choice<WholeRows> const& rows, index_choice<WholeCols> const& cols) {
  return select_pattern<typename Format::col_type, typename Format::ptr_type>(a.pattern().view(), rows, cols);
}
/// The values of A at the slots of a selection.
template <bool WholeRows, bool WholeCols, class T, class S, class F, class Format>
auto selected(sparse_tensor<T, S, F> const& A, pattern_map<Format> const& map) {
  using To = typename selected_shape<S, WholeRows, WholeCols>::type;
  auto values = gathered_blocks<sparse_tensor<T, S, F>::block_size>(A.values().data(), A.batch_stride(), map.source, A.batch_count());
  return sparse_tensor<T, To, Format>(To(A.shape().batch(), map.pattern->rows, map.pattern->cols), map.pattern, std::move(values));
}
template <class S>
struct items_shape;
template <class B, index_t M, index_t N, class K>
struct items_shape<Shape<B, M, N, K>> {
  using type = Shape<Batch<dyn>, M, N, K>;
};

/// The crossings of rows and columns of a sparse tensor; of what a higher floor has, such as a traced one, what it performs.
template <class A, bool WholeRows, bool WholeCols>
auto crossings(A const& a, index_choice<WholeRows> const& rows, index_choice<WholeCols> const& cols) {
  if constexpr (is_sparse_tensor<A>)
    return selected<WholeRows, WholeCols>(a, selection_of<csr_for_t<typename A::format_type>>(a, rows, cols));
  else
    return perform(op::select{}, a, rows, cols);
}
} // namespace detail

template <class T, class S, class F, bool WholeRows, bool WholeCols>
auto perform(op::select, sparse_tensor<T, S, F> const& A, index_choice<WholeRows> const& rows, index_choice<WholeCols> const& cols) {
  return detail::crossings(A, rows, cols);
}

/// Items [first, last) of a batch, (last - first, M, N, *block), counted over all batch axes, row-major, on the shared
/// pattern. One item without its batch axes: `batch_item(A, k)`. Errors: index_error, if the range leaves the batch.
template <class T, class S, class F>
auto batch_items(sparse_tensor<T, S, F> const& A, index_t first, index_t last) {
  static_assert(S::is_batched, "sla: batch_items(A, first, last): A has no batch axes");
  auto const chosen = detail::chosen_range(first, last, A.batch_count(), "batch_items");
  using To = typename detail::items_shape<S>::type;
  buffer<T> values(chosen.count * A.batch_stride(), uninitialized);
  host_memory::copy(A.values().data() + first * A.batch_stride(), values.data(), values.bytes());
  return sparse_tensor<T, To, F>(To({chosen.count}, A.rows(), A.cols()), A.shared_pattern(), std::move(values));
}
template <class T, class S, class F>
auto perform(op::batch_items, sparse_tensor<T, S, F> const& A, index_t first, index_t last) {
  return batch_items(A, first, last);
}
template <class A>
  requires(!is_sparse_tensor<A>)
auto batch_items(A const& a, index_t first, index_t last) {
  return perform(op::batch_items{}, a, first, last);
}

/// Rows [first, last) of A, (*batch, last - first, N, *block), in Csr. Rows are block rows; batches and blocks follow.
/// Gradient: g at the places that it was taken from; the same for all that follow here. Cost: O(entries taken + rows).
/// Errors: index_error, if the range leaves A.
template <class A>
auto rows(A const& a, index_t first, index_t last) {
  return detail::crossings(a, detail::chosen_range(first, last, a.rows(), "rows"), detail::all_of(a.cols()));
}
/// Row i of A, (*batch, 1, N, *block), sparse; one element is A(i, j). Errors: index_error.
template <class A>
auto row(A const& a, index_t i) {
  return detail::crossings(a, detail::chosen_one(i, a.rows(), "row"), detail::all_of(a.cols()));
}
/// Columns [first, last) of A, (*batch, M, last - first, *block). Cost: O(nnz).
template <class A>
auto cols(A const& a, index_t first, index_t last) {
  return detail::crossings(a, detail::all_of(a.rows()), detail::chosen_range(first, last, a.cols(), "cols"));
}
/// Column j of A, (*batch, M, 1, *block), sparse. Cost: O(nnz). Errors: index_error.
template <class A>
auto col(A const& a, index_t j) {
  return detail::crossings(a, detail::all_of(a.rows()), detail::chosen_one(j, a.cols(), "col"));
}
/// The rows of A that a list of indices names, in its order; a row may be named more than once.
template <class A, class Rows = std::initializer_list<index_t>>
auto select_rows(A const& a, Rows const& indices) {
  return detail::crossings(a, detail::chosen_list(indices, a.rows(), "select_rows"), detail::all_of(a.cols()));
}
/// The columns of A that a list of indices names, in its order. Rows of the result are sorted.
template <class A, class Cols = std::initializer_list<index_t>>
auto select_cols(A const& a, Cols const& indices) {
  return detail::crossings(a, detail::all_of(a.rows()), detail::chosen_list(indices, a.cols(), "select_cols"));
}
/// The crossings of listed rows and columns: entry (k, l) is A(row_indices[k], col_indices[l]).
template <class A, class Rows = std::initializer_list<index_t>, class Cols = std::initializer_list<index_t>>
auto select(A const& a, Rows const& row_indices, Cols const& col_indices) {
  return detail::crossings(a, detail::chosen_list(row_indices, a.rows(), "select, rows "), detail::chosen_list(col_indices, a.cols(), "select, columns "));
}

/// Entry (k, l) is A(p[k], q[l]): P A Q of two permutations. Rows are sorted. Cost: O(nnz log row).
/// Errors: index_error that names the index which a permutation repeats or misses.
template <class A, class P = std::initializer_list<index_t>, class Q = std::initializer_list<index_t>>
auto permuted(A const& a, P const& p, Q const& q) {
  return detail::crossings(a, detail::chosen_permutation(p, a.rows(), "permuted, rows"), detail::chosen_permutation(q, a.cols(), "permuted, columns"));
}
/// P A P^T: entry (k, l) is A(p[k], p[l]); a symmetric A stays symmetric. Vectors in that order, permuted(b, p), are in solve/direct/eliminate.hpp.
template <class A, class P = std::initializer_list<index_t>>
auto permuted(A const& a, P const& p) {
  return permuted(a, p, p);
}
/// The permutation that takes back what p did: permuted(permuted(A, p), inverse_permutation(p)) is A. Errors: as of `permuted`.
template <class P = std::initializer_list<index_t>>
std::vector<index_t> inverse_permutation(P const& p) {
  auto const chosen = detail::chosen_permutation(p, index_t(std::size(p)), "inverse_permutation");
  std::vector<index_t> out(chosen.list.size());
  for (index_t k = 0; k < chosen.count; ++k) out[std::size_t(chosen[k])] = k;
  return out;
}
template <class A, class P = std::initializer_list<index_t>>
auto permuted_rows(A const& a, P const& p) {
  return detail::crossings(a, detail::chosen_permutation(p, a.rows(), "permuted_rows"), detail::all_of(a.cols()));
}
template <class A, class Q = std::initializer_list<index_t>>
auto permuted_cols(A const& a, Q const& q) {
  return detail::crossings(a, detail::all_of(a.rows()), detail::chosen_permutation(q, a.cols(), "permuted_cols"));
}

/// Refused: parts of dense tensors.
template <class T, class E, class Memory>
auto rows(tensor<T, E, Memory> const& x, index_t, index_t) {
  static_assert(always_false<T>, "sla: rows(A, first, last): A is a sparse tensor; of a vector x take rows(eye<double>(n), first, last) * x, which has a gradient, or vector<double>(borrow(x.data() + first, last - first))");
  return x;
}
template <class T, class E, class Memory, class Rows = std::initializer_list<index_t>>
auto select_rows(tensor<T, E, Memory> const& x, Rows const&) {
  static_assert(always_false<T>, "sla: select_rows(A, indices): A is a sparse tensor; of a vector x take select_rows(eye<double>(n), indices) * x");
  return x;
}

/// A in slices of rows, which ascend and do not overlap; rows between them are left out. `cat_rows` puts slices together.
/// Errors: index_error that names two slices which overlap, or one that leaves A.
template <class A, class Slices = std::initializer_list<row_slice>>
auto split_rows(A const& a, Slices const& slices) {
  std::vector<decltype(rows(a, 0, 0))> out;
  row_slice before{0, 0};
  for (row_slice const& s : slices) {
    if (!out.empty() && s.first < before.last)
      throw index_error(text("split_rows: slice ", out.size(), ", rows ", s.first, " .. ", s.last, ", ", s.last <= before.first ? "stands after" : "overlaps",
                             " slice ", out.size() - 1, ", rows ", before.first, " .. ", before.last, "; slices ascend and do not overlap"));
    out.push_back(rows(a, s.first, s.last));
    before = s;
  }
  return out;
}

} // namespace sla

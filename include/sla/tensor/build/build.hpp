// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Assembly: sparse tensors from triplets, checked, repeated entries summed. A user's CSR arrays are in
// tensor/build/borrow.hpp, files in tensor/files/matrix_market.hpp, model problems in tensor/problems/problems.hpp.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <sla/core/held.hpp>
#include <sla/tensor/build/convert.hpp>
#include <sla/tensor/build/entries.hpp>

namespace sla {

/// Options of assembly.
struct assembly {
  bool refuse_nonfinite = false; ///< a NaN or an infinity among the values is an error that names its place
  bool allow_empty_rows = false; ///< of files: more than 4 million rows, and less than an entry in 256 of them
};

namespace detail {
/// A file of a few bytes can claim any number of rows: they are held against its entries before memory is asked for.
template <class = void>
void refuse_emptiness(std::string const& where, index_t claimed, char const* what, index_t entries, char const* remedy) {
  if (claimed >> 22 > 0 && claimed / 256 > entries)
    throw shape_error(text(where, claimed, " ", what, " with ", entries, " entries: a file that claims so much and holds so little is refused; ", remedy));
}

template <class Range>
using element_t = std::remove_cvref_t<decltype(*std::data(std::declval<Range&>()))>;

/// A triplet in its place. Its column stands beside its number: sorting a row reads nothing but the row.
template <class Col>
struct sorted_triplet {
  Col col;
  index_t number; ///< in the input
  friend bool operator<(sorted_triplet const& a, sorted_triplet const& b) { return a.col != b.col ? a.col < b.col : a.number < b.number; }
};
/// Triplets sorted by row, then column, then input position; equal (row, column) share a slot of the pattern.
template <class Col, class Ptr>
struct triplet_order {
  std::shared_ptr<csr_pattern<Col, Ptr, host_memory> const> pattern;
  buffer<index_t> begin; ///< the triplets of row i: order[begin[i]] .. order[begin[i + 1] - 1]
  buffer<sorted_triplet<Col>> order;
};

template <class Rows, class Cols>
void check_triplets(index_t rows, index_t cols, index_t n, Rows const* row, Cols const* col, std::string const& where) {
  auto outside = [](auto index, index_t extent) { return index_t(index) < 0 || index_t(index) >= extent; };
  index_t const bad = first_where(n, [&](index_t k) { return outside(row[k], rows) || outside(col[k], cols); });
  if (bad < 0) return;
  bool const in_rows = outside(row[bad], rows);
  index_t const value = in_rows ? index_t(row[bad]) : index_t(col[bad]), extent = in_rows ? rows : cols;
  throw index_error(text(where, "triplet ", bad, ": ", in_rows ? "row " : "column ", value, " of a ", rows, " x ", cols,
                         " matrix; it must be at least 0 and less than ", extent,
                         value == extent ? " (indices count from 0)" : ""));
}

/// The order of triplets that stand by row already: those of row i from order[begin[i]] on.
template <class Col, class Ptr>
triplet_order<Col, Ptr> sort_within_rows(index_t rows, index_t cols, buffer<index_t> begin, buffer<sorted_triplet<Col>> order) {
  auto* const sorted = order.data();
  index_t const* const from = begin.data();
  auto row_ptr = row_pointers<Ptr>(rows, [=](index_t i) {
    if (from[i] == from[i + 1]) return index_t(0);
    auto *const first = sorted + from[i], *const last = sorted + from[i + 1];
    if (!std::is_sorted(first, last)) std::sort(first, last);
    index_t distinct = 1;
    for (auto const* k = first; k + 1 < last; ++k) distinct += k[0].col != k[1].col;
    return distinct;
  });

  buffer<Col> columns(row_ptr[rows], uninitialized);
  parallel_ranges(rows, [=, slots = row_ptr.data(), out = columns.data()](index_t lo, index_t hi) {
    for (index_t i = lo; i < hi; ++i) {
      index_t slot = slots[i];
      for (index_t k = from[i]; k < from[i + 1]; ++k)
        if (k == from[i] || sorted[k].col != sorted[k - 1].col) out[slot++] = sorted[k].col;
    }
  });
  using pattern = csr_pattern<Col, Ptr, host_memory>;
  return {detail::shared_of<pattern const>(pattern{rows, cols, std::move(row_ptr), std::move(columns)}),
          std::move(begin), std::move(order)};
}
template <class Col, class Ptr, class Rows, class Cols>
triplet_order<Col, Ptr> sort_triplets(index_t rows, index_t cols, index_t n, Rows const* row, Cols const* col) {
  narrowed<Col>(cols, "the number of columns,", wide_columns);
  buffer<sorted_triplet<Col>> order(n, uninitialized);
  auto begin = counting_sort(
      n, n, rows,
      [&](index_t lo, index_t hi, auto const& f) {
        for (index_t k = lo; k < hi; ++k) f(index_t(row[k]), k);
      },
      [&, sorted = order.data()](index_t at, index_t k) { sorted[at] = {Col(col[k]), k}; });
  return sort_within_rows<Col, Ptr>(rows, cols, std::move(begin), std::move(order));
}

/// The sums of the triplets' values, [batch][triplet][block], on the pattern; in input order, so the same in each run.
template <class T, class V, class Col, class Ptr>
buffer<T> sum_triplets(triplet_order<Col, Ptr> const& sorted, V const* value, index_t batch, index_t block) {
  auto const& pattern = *sorted.pattern;
  index_t const n = sorted.order.size();
  buffer<T> values(batch * pattern.nnz() * block, uninitialized);
  for (index_t b = 0; b < batch; ++b)
    parallel_ranges(pattern.rows, [=, row_ptr = pattern.row_ptr.data(), begin = sorted.begin.data(), order = sorted.order.data(), from = value + b * n * block,
                                   out = values.data() + b * pattern.nnz() * block](index_t lo, index_t hi) {
      for (index_t i = lo; i < hi; ++i) {
        index_t slot = index_t(row_ptr[i]) - 1;
        for (index_t k = begin[i]; k < begin[i + 1]; ++k) {
          // Values lie in the order of the input, anywhere: they are asked for this many triplets ahead.
          if (k + 32 < n) SLA_PREFETCH(std::uintptr_t(from + order[k + 32].number * block));
          auto const [column, triplet] = order[k];
          bool const opens = k == begin[i] || column != order[k - 1].col;
          slot += opens;
          for (index_t e = 0; e < block; ++e) {
            T const v = T(from[triplet * block + e]);
            out[slot * block + e] = opens ? v : out[slot * block + e] + v;
          }
        }
      }
    });
  return values;
}

/// Errors of triplets for a tensor of this shape, in words that begin with `where`.
template <class T, class S, class Rows, class Cols, class Values>
void check_assembly(S const& shape, Rows const& row_indices, Cols const& col_indices, Values const& values,
                    assembly options, std::string const& where = {}) {
  constexpr index_t block = S::block_rows * S::block_cols;
  index_t const n = index_t(std::size(row_indices));
  index_t const each = sparse_tensor<T, S>::value_count(shape, 1), wanted = sparse_tensor<T, S>::value_count(shape, n);
  if (index_t(std::size(col_indices)) != n || index_t(std::size(values)) != wanted)
    throw shape_error(text(where, "triplets of ", n, " row indices, ", std::size(col_indices), " column indices and ",
                           std::size(values), " values; as many are wanted of each",
                           each == 1 ? "" : text(", and batch x block = ", each, " values")));
  auto const* row = std::data(row_indices);
  auto const* col = std::data(col_indices);
  check_triplets(shape.rows(), shape.cols(), n, row, col, where);
  if (options.refuse_nonfinite) {
    index_t const bad =
        first_where(wanted, [v = std::data(values)](index_t k) { return !is_finite(to_kernel(T(v[k]))); });
    if (bad >= 0) {
      index_t const k = n ? bad / block % n : 0;
      throw value_error(text(where, "triplet ", k, ": the value at row ", row[k], ", column ", col[k], " is ",
                             user_t<T>(T(std::data(values)[bad])), ", not a finite number"));
    }
  }
}

template <class T, class F, class S, class Rows, class Cols, class Values>
sparse_tensor<T, S, F> assembled(S shape, Rows const& row_indices, Cols const& col_indices, Values const& values,
                                 assembly options) {
  check_assembly<T>(shape, row_indices, col_indices, values, options);
  index_t const n = index_t(std::size(row_indices)), batch = shape.batch_count();
  auto const* row = std::data(row_indices);
  auto const* col = std::data(col_indices);
  using Direct = csr_for_t<F>;
  auto sorted =
      sort_triplets<typename Direct::col_type, typename Direct::ptr_type>(shape.rows(), shape.cols(), n, row, col);
  auto sums = sum_triplets<T>(sorted, std::data(values), batch, S::block_rows * S::block_cols);
  return in_format<F>(sparse_tensor<T, S, Direct>(shape, std::move(sorted.pattern), std::move(sums)));
}
} // namespace detail

/// The tensor of shape S with values[b][k] (a block, row-major) added at (row_indices[k], col_indices[k]), for batch
/// items b: `from_triplets<double>(Shape<Batch<4>, dyn, dyn, Block<3, 3>>({4}, m, n), rows, cols, values)`.
/// Indices count from 0; any contiguous ranges will do. Repeated entries are summed in the order given.
/// Cost: O(n + rows), and sorting within rows. Errors: an index out of range, lengths that differ, more entries than
/// the index type counts, and NaN or infinity where `assembly{.refuse_nonfinite = true}` says so.
template <class T, class F = Csr<>, class S, class Rows = std::initializer_list<index_t>,
          class Cols = std::initializer_list<index_t>, class Values = std::initializer_list<T>>
requires(is_shape<S>) sparse_tensor<T, S, detail::whole_format<F>> from_triplets(S shape, Rows const& row_indices, Cols const& col_indices,
                                                                                 Values const& values, assembly options = {}) {
  constexpr bool indices = std::integral<detail::element_t<Rows const>> && std::integral<detail::element_t<Cols const>>;
  constexpr bool values_fit = std::is_constructible_v<T, detail::element_t<Values const>>;
  static_assert(indices,
                "sla: from_triplets(rows, cols, row_indices, col_indices, values): the indices are ranges of integers");
  static_assert(values_fit, "sla: from_triplets<T>: the values do not convert to T (complex values want a complex T)");
  if constexpr (indices && values_fit && detail::is_scalar<T>)
    return detail::assembled<T, detail::whole_format<F>>(shape, row_indices, col_indices, values, options);
  else
    return {};
}

/// The rows x cols matrix of triplets: `from_triplets<double>(2, 2, {0, 1, 1}, {0, 0, 1}, {4.0, -1.0, 4.0})`.
template <class T, class F = Csr<>, class Rows = std::initializer_list<index_t>,
          class Cols = std::initializer_list<index_t>, class Values = std::initializer_list<T>>
sparse_tensor<T, Matrix, detail::whole_format<F>> from_triplets(index_t rows, index_t cols, Rows const& row_indices, Cols const& col_indices,
                                                                Values const& values, assembly options = {}) {
  return from_triplets<T, F>(Matrix(rows, cols), row_indices, col_indices, values, options);
}

/// A dense matrix as a sparse one, of its elements that are not 0: `to<Csr<>>(D)`. Errors: more of them than the index type counts.
template <Format F, class T, class E>
  requires(E::rank == 2)
sparse_tensor<T, Matrix, F> convert(conversion_to<F>, tensor<T, E> const& D) {
  std::vector<index_t> rows, cols;
  std::vector<T> values;
  for (index_t i = 0; i < D.extent(0); ++i)
    for (index_t j = 0; j < D.extent(1); ++j)
      if (D(i, j) != T(0)) rows.push_back(i), cols.push_back(j), values.push_back(D(i, j));
  return from_triplets<T, F>(D.extent(0), D.extent(1), rows, cols, values);
}

/// Collects triplets one by one: `triplets<double> t(n, n); t.add(i, j, v); auto A = t.build();`
template <Scalar T>
class triplets {
public:
  triplets(index_t rows, index_t cols) : rows_(rows), cols_(cols) {}

  void reserve(index_t n) {
    row_.reserve(std::size_t(n));
    col_.reserve(std::size_t(n));
    value_.reserve(std::size_t(n));
  }
  void add(index_t row, index_t col, T value) {
    row_.push_back(row);
    col_.push_back(col);
    value_.push_back(value);
  }
  /// A dense element matrix, row-major, at the crossings of these rows and columns: the step of finite elements.
  template <class Rows = std::initializer_list<index_t>, class Cols = std::initializer_list<index_t>,
            class Values = std::initializer_list<T>>
  void add_block(Rows const& rows, Cols const& cols, Values const& values) {
    if (std::size(values) != std::size(rows) * std::size(cols))
      throw shape_error(text("triplets.add_block(rows, cols, values): ", std::size(values), " values at ", std::size(rows), " rows x ",
                             std::size(cols), " columns; give rows times columns of them, row by row"));
    auto const* value = std::data(values);
    for (auto i : rows)
      for (auto j : cols) add(index_t(i), index_t(j), T(*value++));
  }
  index_t rows() const { return rows_; }
  index_t cols() const { return cols_; }
  /// Triplets added so far.
  index_t size() const { return index_t(value_.size()); }

  /// Errors: as `from_triplets`.
  template <Format F = Csr<>>
  sparse_tensor<T, Matrix, F> build(assembly options = {}) const {
    return from_triplets<T, F>(rows_, cols_, row_, col_, value_, options);
  }

private:
  index_t rows_, cols_;
  std::vector<index_t> row_, col_;
  std::vector<T> value_;
};

} // namespace sla

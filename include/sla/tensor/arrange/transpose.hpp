// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stored transposes: `transposed(A)`, `adjointed(A)`, and `transpose_plan`, which sorts once and then moves new values.
// The lazy `transpose(A)` of expressions is in expr/.
#pragma once

#include <memory>
#include <utility>

#include <sla/core/held.hpp>
#include <sla/tensor/build/convert.hpp>
#include <sla/tensor/build/entries.hpp>

namespace sla {

namespace detail {
/// The transpose of a pattern, and where its slots come from. Rows come out sorted.
template <class Col, class Ptr>
pattern_map<Csr<Col, Ptr>> transpose_pattern(csr_pattern<Col, Ptr, host_memory> const& old) {
  narrowed<Col>(old.rows, "the number of rows, now columns,", wide_columns);
  auto const view = old.view();
  index_t const nnz = old.nnz();
  buffer<Col> col(nnz, uninitialized);
  buffer<index_t> source(nnz, uninitialized);
  auto begin = counting_sort(
      old.rows, nnz, old.cols,
      [&](index_t lo, index_t hi, auto const& f) {
        for (index_t i = lo; i < hi; ++i) view.for_row(i, [&](index_t s, index_t j) { f(j, s, i); });
      },
      [&, c = col.data(), from = source.data()](index_t at, index_t s, index_t i) {
        c[at] = Col(i);
        from[at] = s;
      });
  auto row_ptr = row_pointers<Ptr>(old.cols, [&](index_t j) { return begin[j + 1] - begin[j]; });
  using pattern = csr_pattern<Col, Ptr, host_memory>;
  return {detail::shared_of<pattern const>(pattern{old.cols, old.rows, std::move(row_ptr), std::move(col)}),
          std::move(source)};
}

template <class Index>
pattern_map<Coo<Index>> transpose_pattern(coo_pattern<Index, host_memory> const& old) {
  auto csr = remap(conversion_to<Csr<Index, index_t>>{}, old, true);
  auto by_columns = transpose_pattern(*csr.pattern);
  return {remap(conversion_to<Coo<Index>>{}, *by_columns.pattern, true).pattern, std::move(by_columns.source)};
}

template <class = void>
pattern_map<Dia> transpose_pattern(dia_pattern<host_memory> const& old) {
  index_t const diagonals = old.offset.size(), rows = old.cols;
  auto pattern = detail::shared_of<dia_pattern<host_memory>>();
  *pattern = {rows, old.rows, buffer<index_t>(diagonals, uninitialized), old.entries};
  buffer<index_t> source(diagonals * rows, uninitialized);
  for (index_t d = 0; d < diagonals; ++d) {
    index_t const was = diagonals - 1 - d, offset = -old.offset[was];
    pattern->offset.data()[d] = offset;
    parallel_ranges(rows, [&, from = source.data() + d * rows](index_t lo, index_t hi) {
      for (index_t i = lo; i < hi; ++i) {
        index_t const j = i + offset;
        from[i] = j >= 0 && j < old.rows ? was * old.rows + j : -1;
      }
    });
  }
  return {std::move(pattern), std::move(source)};
}

/// The rows of the transpose of a pattern, in Csr, and the slots of its entries.
template <class Pattern>
auto rows_of_transpose(Pattern const& old) {
  using F = typename decltype(old.view())::format_type;
  if constexpr (is_csr<F>) {
    return transpose_pattern(old);
  } else {
    auto const rows = remap(conversion_to<csr_for_t<F>>{}, old, false);
    auto map = transpose_pattern(*rows.pattern);
    for (index_t& s : map.source) s = rows.source[s];
    return map;
  }
}
/// Any other format, by its rows.
template <class Pattern>
auto transpose_pattern(Pattern const& old) {
  using F = typename decltype(old.view())::format_type;
  auto const by_columns = rows_of_transpose(old);
  auto map = remap(conversion_to<F>{}, *by_columns.pattern, false);
  for (index_t& s : map.source)
    if (s >= 0) s = by_columns.source[s];
  return map;
}
/// The same as the list that products read, with each buffer as moved(buffer) has it.
template <class Memory, class Pattern, class Moved>
auto turned_rows_of(Pattern const& old, Moved const& moved) {
  auto const map = rows_of_transpose(old);
  auto const& rows = *map.pattern;
  using Ptr = std::remove_cvref_t<decltype(rows.row_ptr[0])>;
  using Col = std::remove_cvref_t<decltype(rows.col[0])>;
  buffer<Ptr> source(map.source.size(), uninitialized);
  for (index_t n = 0; n < source.size(); ++n) source[n] = narrowed<Ptr>(map.source[n], "the slot", wide_columns);
  return turned_rows<Col, Ptr, Memory>{moved(rows.row_ptr), moved(rows.col), moved(source)};
}

template <class S>
transposed_shape_t<S> transposed_extents(S const& shape) {
  return transposed_shape_t<S>(shape.batch(), shape.cols(), shape.rows());
}
} // namespace detail

/// The transpose of a pattern, kept: new values on the old pattern are transposed without sorting again.
///     transpose_plan plan(A);  auto At = plan.transpose(A);  plan.update(At, A2);
/// Cost: O(nnz + rows + cols) once, 8 bytes per entry kept; then one pass over the values, and one over the indices where the
/// pattern is equal but not shared. Errors: shape_error, if A is of another pattern, or At not of this plan.
/// Of a distributed matrix: dist/matrix/stored_transpose.hpp.
template <class F>
class transpose_plan {
  static_assert(Format<F>, "sla: transpose_plan plan(A): A is a sparse tensor");

public:
  using pattern_type = typename F::template pattern<host_memory>;

  template <class T, class S>
  explicit transpose_plan(sparse_tensor<T, S, F> const& A) : transpose_plan(A.shared_pattern()) {}
  explicit transpose_plan(std::shared_ptr<pattern_type const> pattern) : transpose_plan(pattern, detail::transpose_pattern(*pattern)) {}
  /// Of a copy of the pattern.
  explicit transpose_plan(pattern_type const& pattern) : transpose_plan(detail::shared_of<pattern_type const>(pattern)) {}

  std::shared_ptr<pattern_type const> const& shared_pattern() const { return pattern_.shared(); }
  /// The slot that each slot of the transpose comes from; -1 outside of the matrix (Dia).
  buffer<index_t> const& source() const { return source_; }

  /// (*batch, N, M, q, p): blocks are transposed too.
  template <class T, class S>
  sparse_tensor<T, transposed_shape_t<S>, F> transpose(sparse_tensor<T, S, F> const& A) const {
    return made(A, [](T a) { return a; });
  }
  /// The same, conjugated.
  template <class T, class S>
  sparse_tensor<T, transposed_shape_t<S>, F> adjoint(sparse_tensor<T, S, F> const& A) const {
    return made(A, conjugate<T>);
  }
  /// The values of A into At, which is of this plan; they may be A's own.
  template <class T, class S>
  void update(sparse_tensor<T, transposed_shape_t<S>, F>& At, sparse_tensor<T, S, F> const& A) const {
    fill(At, A, [](T a) { return a; });
  }
  template <class T, class S>
  void update_adjoint(sparse_tensor<T, transposed_shape_t<S>, F>& At, sparse_tensor<T, S, F> const& A) const {
    fill(At, A, conjugate<T>);
  }

private:
  transpose_plan(std::shared_ptr<pattern_type const> old, detail::pattern_map<F>&& map)
      : old_(std::move(old)), pattern_(std::move(map.pattern)), source_(std::move(map.source)) {}
  template <class T>
  static T conjugate(T a) {
    return T(conj_of(to_kernel(a)));
  }
  template <class T, class S, class Change>
  sparse_tensor<T, transposed_shape_t<S>, F> made(sparse_tensor<T, S, F> const& A, Change change) const {
    index_t const size = A.batch_count() * pattern_->slots() * A.block_size;
    sparse_tensor<T, transposed_shape_t<S>, F> At(detail::transposed_extents(A.shape()), shared_pattern(),
                                                  buffer<T>(size, uninitialized));
    fill(At, A, change);
    return At;
  }
  template <class T, class S, class Change>
  void fill(sparse_tensor<T, transposed_shape_t<S>, F>& At, sparse_tensor<T, S, F> const& A, Change change) const {
    if (!same_pattern(A.pattern(), *old_) || At.shared_pattern() != shared_pattern())
      throw shape_error(text("a transpose plan of ", old_->rows, " x ", old_->cols, " with ", old_->nnz(), " entries is given another pattern, of ", A.rows(),
                             " x ", A.cols(), " with ", A.nnz(), " entries",
                             At.shared_pattern() != shared_pattern() ? "; At must come from this plan: At = plan.transpose(A)" : "; make a plan of that one"));
    if (At.batch_count() != A.batch_count())
      throw shape_error(text("a transpose plan: A has ", A.batch_count(), " batch items, At ", At.batch_count(), "; they have as many"));
    if (detail::overlap(At.values(), A.values())) return fill(At, sparse_tensor<T, S, F>(A), change);
    constexpr index_t p = S::block_rows, q = S::block_cols;
    detail::gather_blocks(A.values().data(), A.batch_stride(), At.values().data(), source_, p * q, A.batch_count(),
                          [&](T const* from, T* to) {
                            for (index_t k = 0; k < p * q; ++k) to[k] = change(from[k % p * q + k / p]);
                          });
  }
  detail::held<pattern_type const, "a transpose_plan"> old_, pattern_;
  buffer<index_t> source_;
};
template <class T, class S, class F>
transpose_plan(sparse_tensor<T, S, F> const&) -> transpose_plan<F>;

/// A^T as a stored tensor, (*batch, N, M, q, p); rows sorted. Cost: O(nnz + rows + cols). The lazy form is
/// `transpose(A)`.
template <class T, class S, class F>
sparse_tensor<T, transposed_shape_t<S>, F> transposed(sparse_tensor<T, S, F> const& A) {
  return transpose_plan(A).transpose(A);
}

/// A^H as a stored tensor.
template <class T, class S, class F>
sparse_tensor<T, transposed_shape_t<S>, F> adjointed(sparse_tensor<T, S, F> const& A) {
  return transpose_plan(A).adjoint(A);
}

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Nonzero partitions: every entry of a square matrix on one rank, `distribute<Hyper<>>(A, mesh, strips{})`, vectors by rows. A
// product is that of dist/halo/entry_product.hpp. Partitions by rows alone are in dist/assembly/rows.hpp.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include <sla/dist/assembly/rows.hpp>

namespace sla::detail {
/// An entry in global numbers, and where its value is.
struct placed_entry {
  index_t row, col, slot;
};
/// Entries numbered by what a rank owns and by ghosts, on both sides: their pattern, where their values come from, and the exchanges.
template <class F>
struct numbered_entries {
  using pattern_type = typename F::template pattern<host_memory>;
  std::shared_ptr<pattern_type const> pattern;
  buffer<index_t> from;
  std::shared_ptr<halo_plan const> rows, columns;

  template <class T>
  auto tensor_of(T const* values) const {
    return sparse_tensor<T, Matrix, F>(Matrix(pattern->rows, pattern->cols), pattern, gathered_blocks<1>(values, 0, from, 1));
  }
};
/// Those of a square matrix whose rows and columns are owned alike. Collective.
template <class F>
numbered_entries<F> number_entries(any_communicator& c, row_partition const& own, std::vector<placed_entry> all) {
  using Col = typename F::col_type;
  using Ptr = typename F::ptr_type;
  std::vector<index_t> used_rows, used_columns;
  for (placed_entry const& e : all) {
    if (used_rows.empty() || used_rows.back() != e.row) used_rows.push_back(e.row);
    used_columns.push_back(e.col);
  }
  ghost_numbers const rows(c, own, used_rows), columns(c, own, used_columns);
  for (placed_entry& e : all) e.row = rows.local(e.row), e.col = columns.local(e.col);
  std::sort(all.begin(), all.end(), [](placed_entry const& a, placed_entry const& b) { return a.row != b.row ? a.row < b.row : a.col < b.col; });

  index_t const nnz = index_t(all.size());
  narrowed<Col>(columns.count(), "the number of local columns,", wide_columns);
  narrowed<Ptr>(nnz, "the number of local entries,", "Csr<std::int32_t, std::int64_t>");
  buffer<Ptr> ptr(rows.count() + 1);
  buffer<Col> col(nnz, uninitialized);
  buffer<index_t> from(nnz, uninitialized);
  for (index_t n = 0; n < nnz; ++n) {
    placed_entry const& e = all[std::size_t(n)];
    ++ptr[e.row + 1];
    col[n] = Col(e.col);
    from[n] = e.slot;
  }
  for (index_t i = 0; i < rows.count(); ++i) ptr[i + 1] += ptr[i];
  using Pattern = typename numbered_entries<F>::pattern_type;
  return {std::make_shared<Pattern const>(Pattern{rows.count(), columns.count(), std::move(ptr), std::move(col)}), std::move(from), rows.plan(c), columns.plan(c)};
}

/// The entries of this rank: each goes to the owner of its row or of its column, whichever is shorter, so that few ranks read a
/// long column and few add to a long row (the first step of a medium-grain partition). Collective.
template <int Axis, class T, class S, class F, class Mesh, class Cut>
auto shard_entries(sparse_tensor<T, S, F> const& A, shared_layout<Mesh> layout, Cut const& partitioner) {
  if (A.rows() != A.cols())
    throw shape_error(text("distribute<Hyper<>>(A, mesh): A is ", A.rows(), " x ", A.cols(), ", and rows and columns share a partition: A is square"));
  any_communicator& c = layout.mesh.communicator(Axis);
  auto const pattern = A.pattern().view();
  auto const own = rows_by(partitioner, "distribute(A, mesh, layout)", layout.mesh.world(), pattern, c.size(), c.rank());

  std::vector<index_t> in_row(std::size_t(A.rows()), 0), in_column(std::size_t(A.cols()), 0);
  auto const each = [&](auto const& f) {
    for (index_t i = 0; i < A.rows(); ++i) pattern.for_row(i, [&](index_t slot, index_t j) { f(i, j, slot); });
  };
  each([&](index_t i, index_t j, index_t) { ++in_row[std::size_t(i)], ++in_column[std::size_t(j)]; });
  std::vector<placed_entry> mine;
  each([&](index_t i, index_t j, index_t slot) {
    if (own->owns(in_row[std::size_t(i)] <= in_column[std::size_t(j)] ? i : j)) mine.push_back({i, j, slot});
  });
  auto const entries = number_entries<local_csr_t<F>>(c, *own, std::move(mine));
  layout.extent[Axis] = A.rows();
  layout.rows = own;
  layout.halo = entries.columns;
  layout.fold = entries.rows;
  return std::pair{entries.tensor_of(A.values().data()), layout_handle<Mesh>(std::make_shared<shared_layout<Mesh> const>(std::move(layout)))};
}
} // namespace sla::detail

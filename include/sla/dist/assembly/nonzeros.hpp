// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Nonzero partitions: every entry of a square matrix on one rank, `distribute<Hyper<>>(A, mesh, strips{})`, vectors by rows. A
// product is that of dist/halo/entry_product.hpp. Partitions by rows alone are in dist/assembly/rows.hpp.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include <sla/dist/assembly/rows.hpp>

namespace sla::detail {
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
  struct entry {
    index_t row, col, slot;
  };
  std::vector<entry> mine;
  std::vector<index_t> used_rows, used_columns;
  each([&](index_t i, index_t j, index_t slot) {
    if (!own->owns(in_row[std::size_t(i)] <= in_column[std::size_t(j)] ? i : j)) return;
    mine.push_back({i, j, slot});
    used_rows.push_back(i);
    used_columns.push_back(j);
  });
  ghost_numbers const rows(c, *own, used_rows), columns(c, *own, used_columns);
  for (entry& e : mine) e.row = rows.local(e.row), e.col = columns.local(e.col);
  std::sort(mine.begin(), mine.end(), [](entry const& a, entry const& b) { return a.row != b.row ? a.row < b.row : a.col < b.col; });

  using Sparse = sparse_tensor<T, open_shape_t<S>, local_csr_t<F>>;
  using Col = typename Sparse::format_type::col_type;
  using Ptr = typename Sparse::format_type::ptr_type;
  narrowed<Col>(columns.count(), "the number of local columns,", wide_columns);
  buffer<Ptr> ptr(rows.count() + 1);
  buffer<Col> col(index_t(mine.size()), uninitialized);
  buffer<T> values(index_t(mine.size()), uninitialized);
  for (std::size_t n = 0; n < mine.size(); ++n) {
    ++ptr[mine[n].row + 1];
    col[index_t(n)] = Col(mine[n].col);
    values[index_t(n)] = A.values()[mine[n].slot];
  }
  for (index_t i = 0; i < rows.count(); ++i) ptr[i + 1] += ptr[i];
  layout.extent[Axis] = A.rows();
  layout.rows = own;
  layout.halo = columns.plan(c);
  layout.fold = rows.plan(c);
  using Pattern = typename Sparse::pattern_type;
  auto shared = std::make_shared<Pattern const>(Pattern{rows.count(), columns.count(), std::move(ptr), std::move(col)});
  Sparse part(typename Sparse::shape_type(A.shape().batch(), rows.count(), columns.count()), std::move(shared), std::move(values));
  return std::pair{std::move(part), layout_handle<Mesh>(std::make_shared<shared_layout<Mesh> const>(std::move(layout)))};
}
} // namespace sla::detail

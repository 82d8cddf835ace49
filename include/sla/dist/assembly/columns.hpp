// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Column parts: a rank's columns of a whole matrix as a local sparse tensor of all rows, and the layouts of y and x in A * x.
// Row parts, which exchange halos, are in dist/assembly/rows.hpp; products of both in dist/matrix/matrix_product.hpp.
#pragma once

#include <memory>
#include <utility>

#include <sla/dist/assembly/rows.hpp>
#include <sla/tensor/arrange/slice.hpp>
#include <sla/tensor/arrange/transpose.hpp>

namespace sla::detail {

/// The columns of this rank and their layout; the partitioner shards the rows of the transpose. Rows that a
/// reduce_scatter shards lie like the columns if A is square, else in equal strips. Collective.
template <class T, class S, class F, class Mesh, class Cut>
auto shard_columns(sparse_tensor<T, S, F> const& A, shared_layout<Mesh> const& start, int axis, Cut const& partitioner) {
  any_communicator& c = start.mesh.communicator(axis);
  std::shared_ptr<row_partition const> columns;
  if constexpr (is_vector_layout<Cut>)
    columns = partitioner.rows_of("distribute(A, mesh, layout), of columns", A.cols());
  else
    columns = rows_by(partitioner, "distribute(A, mesh, layout), of columns", start.mesh.world(), transpose_pattern(A.pattern()).pattern->view(), c.size(), c.rank());

  auto layout = std::make_shared<shared_layout<Mesh>>(start);
  layout->extent[axis] = A.rows();
  layout->rows = columns;
  if (A.rows() != A.cols()) {
    layout->rows = std::make_shared<row_partition const>(owner_map::equal(A.rows(), c.size()), c.rank());
    auto domain = std::make_shared<shared_layout<Mesh>>(start);
    domain->extent[axis] = A.cols();
    domain->rows = columns;
    layout->domain = std::move(domain);
  }
  index_choice<false> mine{0, columns->count(), true, {}};
  for (index_t n = 0; n < mine.count; ++n) mine.list.push_back(columns->global(n));
  auto part = selected<false, false>(A, selection_of<local_csr_t<F>>(A, index_choice<false>{0, A.rows()}, mine));
  return std::pair{std::move(part), layout_handle<Mesh>(std::move(layout))};
}

} // namespace sla::detail

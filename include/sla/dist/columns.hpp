// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Column parts: a rank's columns of a whole matrix as a local sparse tensor of all rows, and the layouts of y and x in A * x.
// Row parts, which exchange halos, are in dist/rows.hpp; products of both in dist/product.hpp.
#pragma once

#include <utility>
#include <vector>

#include <sla/dist/rows.hpp>
#include <sla/tensor/transpose.hpp>

namespace sla::detail {

/// All rows of A, and of its columns those of this rank in their local order.
template <class Sparse, class T, class S, class F>
Sparse slice_columns(sparse_tensor<T, S, F> const& A, row_partition const& columns) {
  using Col = typename Sparse::format_type::col_type;
  using Ptr = typename Sparse::format_type::ptr_type;
  narrowed<Col>(columns.count(), "the number of local columns,", wide_columns);
  auto const whole = A.pattern().view();
  auto ptr = row_pointers<Ptr>(A.rows(), [&](index_t i) {
    index_t count = 0;
    whole.for_row(i, [&](index_t, index_t j) { count += columns.owns(j); });
    return count;
  });
  index_t const nnz = index_t(ptr[A.rows()]), batch = A.batch_count(), block = A.block_size;
  buffer<Col> col(nnz, uninitialized);
  buffer<T> values(batch * nnz * block, uninitialized);
  parallel_ranges(A.rows(), [&, to = col.data(), out = values.data()](index_t lo, index_t hi) {
    std::vector<std::pair<index_t, index_t>> row;
    for (index_t i = lo; i < hi; ++i) {
      row.clear();
      whole.for_row(i, [&](index_t s, index_t j) {
        if (columns.owns(j)) row.push_back({columns.local(j), s});
      });
      std::sort(row.begin(), row.end());
      index_t at = index_t(ptr[i]);
      for (auto const& [j, s] : row) {
        to[at] = Col(j);
        for (index_t b = 0; b < batch; ++b)
          std::copy_n(A.values().data() + b * A.batch_stride() + s * block, block, out + (b * nnz + at) * block);
        ++at;
      }
    }
  });
  using Pattern = typename Sparse::pattern_type;
  auto pattern = std::make_shared<Pattern const>(Pattern{A.rows(), columns.count(), std::move(ptr), std::move(col)});
  return Sparse(typename Sparse::shape_type(A.shape().batch(), A.rows(), columns.count()), std::move(pattern), std::move(values));
}

/// The columns of this rank and their layout; the partitioner deals out the rows of the transpose. Rows that a
/// reduce_scatter deals out lie like the columns if A is square, else in equal strips. Collective.
template <class T, class S, class F, class Mesh, class Cut>
auto deal_columns(sparse_tensor<T, S, F> const& A, shared_layout<Mesh> const& start, int axis, Cut const& partitioner) {
  any_communicator& c = start.mesh.communicator(axis);
  std::shared_ptr<row_partition const> columns;
  if constexpr (is_vector_layout<Cut>) {
    columns = partitioner.rows_of("distribute(A, mesh, layout), of columns", A.cols());
  } else {
    auto const turned = transpose_pattern(A.pattern()).pattern;
    columns = std::make_shared<row_partition const>(agreed_owners(start.mesh.world(), partitioner, turned->view(), c.size()), c.rank());
  }

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
  using Sparse = sparse_tensor<T, typename local_shape<S>::rows, local_csr_t<F>>;
  return std::pair{slice_columns<Sparse>(A, *columns), layout_handle<Mesh>(std::move(layout))};
}

} // namespace sla::detail

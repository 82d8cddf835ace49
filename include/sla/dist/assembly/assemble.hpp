// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Distributed assembly: `assemble<SparseShard<0>>(mesh, rows, cols, i, j, v)`, where each rank gives any triplets. No rank
// ever holds the whole matrix; one that every rank has is sharded by `distribute`. Triplets of one rank: tensor/build/build.hpp.
#pragma once

#include <utility>
#include <vector>

#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/assembly/entries_to_owners.hpp>
#include <sla/tensor/build/build.hpp>

namespace sla {

/// Rows in equal contiguous strips, whatever they hold: the partitioner of matrices that no rank has seen.
struct equal_rows {
  template <class View>
  owner_map partition(View const& view, int parts) const {
    return owner_map::equal(view.rows, parts);
  }
};

namespace detail {
/// What a partitioner is shown of a matrix that nobody has: how many rows and columns there are.
struct unseen_pattern {
  index_t rows, cols;
};
template <class How>
constexpr void require_partitioner_of_unseen() {
  static_assert(is_vector_layout<How> || Partitioner<How, unseen_pattern>,
                "sla: assemble(mesh, rows, cols, i, j, v, how), problems::poisson<T>(mesh, {n...}, how): no rank has the pattern that this partitioner reads; give "
                "equal_rows{}, a partitioner of coordinates, or a layout, D.row_layout()");
}

/// `rows` says who owns what.
template <class T, class F, class Mesh, class S, class Rows, class Cols, class Values>
auto assemble_rows(Mesh const& m, S const& shape, Rows const& i, Cols const& j, Values const& v, assembly options,
                   std::shared_ptr<row_partition const> const& rows) {
  constexpr index_t block = S::block_rows * S::block_cols;
  any_communicator& c = m.communicator(0);
  index_t const count = index_t(std::size(i)), batch = shape.batch_count();
  together(c, [&] { return check_assembly<T>(shape, i, j, v, options, text("assemble on rank ", c.rank(), ": ")), 0; });
  auto const* const row = std::data(i);
  auto const* const col = std::data(j);
  auto const* const value = std::data(v);
  auto const slice = deliver<T>(
      c, *rows, shape.cols(), count, batch, block, [&](index_t k) { return entry_place{index_t(row[k]), index_t(col[k])}; },
      [&](index_t k, T* to) {
        for (index_t b = 0; b < batch; ++b)
          for (index_t e = 0; e < block; ++e) *to++ = T(value[(b * count + k) * block + e]);
      });
  using Sparse = sparse_tensor<T, open_shape_t<S>, local_csr_t<F>>;
  typename Sparse::shape_type const whole(shape.batch(), shape.rows(), shape.cols());
  auto [local, handle] = localize<Sparse>(slice, whole, m, 0, {}, rows);
  return distributed<Sparse, Mesh, SparseShard<0>>(std::move(local), std::move(handle));
}

template <class Mesh, class P, class S, class Rows, class Cols, class Values>
constexpr void require_assembly() {
  static_assert(Mesh::rank == 1 && std::same_as<P, SparseShard<0>>,
                "sla: assemble<SparseShard<0>>(mesh, ...): rows are sharded, over a mesh of one axis");
  static_assert(std::integral<element_t<Rows const>> && std::integral<element_t<Cols const>>,
                "sla: assemble<...>(mesh, rows, cols, i, j, v): the indices i and j are ranges of integers");
}
} // namespace detail

/// The tensor of global shape S with v[b][k] (a block, row-major) added at (i[k], j[k]), for the triplets of all ranks
/// together: each rank gives any of them, in any order, its own or others' rows. Indices count from 0. Collective.
/// Entries of one place are summed, those of rank 0 first, each rank's in the order given: the bits are those of
/// `from_triplets` on all ranks' triplets in rank order. `how` shards the rows: equal_rows, a partitioner that needs no
/// pattern, or the layout of something else, `D.row_layout()`.
/// Cost: each triplet travels once; a rank holds its triplets, what it sends and what it owns.
/// Errors: as `from_triplets`, naming the rank; a shape_error on every rank, if they disagree about the shape.
template <Placement P, Format F = Csr<>, class Mesh, class S, class Rows, class Cols, class Values, class How = equal_rows>
  requires(is_mesh<Mesh> && is_shape<S>)
auto assemble(Mesh const& m, S shape, Rows const& i, Cols const& j, Values const& v, How const& how = {}, assembly options = {}) {
  using T = detail::element_t<Values const>;
  detail::require_assembly<Mesh, P, S, Rows, Cols, Values>();
  static_assert(Scalar<T>, "sla: assemble<...>(mesh, rows, cols, i, j, v): the values are a range of float, double or complex numbers");
  detail::require_agreement(m.world(), "assemble", "batch, rows, columns",
                            std::array<index_t, 3>{shape.batch_count(), shape.rows(), shape.cols()});
  detail::require_partitioner_of_unseen<How>();
  detail::unseen_pattern const pattern{shape.rows(), shape.cols()};
  auto const rows = detail::rows_by(how, "assemble(mesh, rows, cols, i, j, v, layout)", m.world(), pattern, m.size(0), m.coordinate(0));
  return detail::assemble_rows<T, F>(m, shape, i, j, v, options, rows);
}
/// The same of a rows x cols matrix.
template <Placement P, Format F = Csr<>, class Mesh, class Rows, class Cols, class Values, class How = equal_rows>
  requires(is_mesh<Mesh>)
auto assemble(Mesh const& m, index_t rows, index_t cols, Rows const& i, Cols const& j, Values const& v, How const& how = {},
              assembly options = {}) {
  return assemble<P, F>(m, Matrix(rows, cols), i, j, v, how, options);
}

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Distributed assembly: `assemble<SparseShard<0>>(mesh, rows, cols, i, j, v)`, where each rank gives any triplets. No rank
// ever holds the whole matrix; one that every rank has is sharded by `distribute`. Triplets of one rank: tensor/build/build.hpp.
#pragma once

#include <utility>

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
/// What delivery asks of triplets: where the k-th belongs, and its values (*batch, *block) of v[b][k] (a block).
template <class Row, class Col>
auto places_of(Row const* i, Col const* j) {
  return [i, j](index_t k) { return entry_place{index_t(i[k]), index_t(j[k])}; };
}
template <class T, class Value>
auto values_of_places(Value const* v, index_t count, index_t batch, index_t block) {
  return [=](index_t k, T* to) {
    for (index_t b = 0; b < batch; ++b)
      for (index_t e = 0; e < block; ++e) *to++ = T(v[(b * count + k) * block + e]);
  };
}
template <class How>
constexpr void require_partitioner_of_unseen() {
  static_assert(is_vector_layout<How> || Partitioner<How, unseen_pattern>,
                "sla: assemble(mesh, rows, cols, i, j, v, how), problems::poisson<T>(mesh, {n...}, how): no rank has the pattern that this partitioner reads; give "
                "equal_rows{}, a partitioner of coordinates, or a layout, D.row_layout()");
}

template <class Mesh, class P, class Rows, class Cols>
constexpr void require_assembly() {
  static_assert(Mesh::rank == 1 && std::same_as<P, SparseShard<0>>,
                "sla: assemble<SparseShard<0>>(mesh, ...): rows are sharded, over a mesh of one axis; over one of two, SparseShard<0, Balanced>, SparseShard<1, Balanced>");
  static_assert(std::integral<element_t<Rows const>> && std::integral<element_t<Cols const>>,
                "sla: assemble<...>(mesh, rows, cols, i, j, v): the indices i and j are ranges of integers");
}
} // namespace detail

/// The rows of a matrix that is assembled again and again with other values at the same places: `plan_assembly<SparseShard<0>>(mesh, rows, cols, i,
/// j)` makes one, plan(v) the matrix, and plan.update(D, v) gives it other values, which alone travel.
template <class Mesh, class S, class F>
class assembly_plan {
  template <class T>
  using sparse = sparse_tensor<T, detail::open_shape_t<S>, detail::local_csr_t<F>>;

public:
  /// Of checked indices, with rows on these owners. Collective.
  template <class Rows, class Cols>
  assembly_plan(Mesh const& m, S const& shape, Rows const& i, Cols const& j, std::shared_ptr<row_partition const> const& rows)
      : mesh_(m), shape_(shape), count_(index_t(std::size(i))),
        entries_(m.communicator(0), *rows, shape.cols(), count_, detail::places_of(std::data(i), std::data(j))),
        local_(detail::locate<sparse<double>>(entries_.pattern().row_ptr, entries_.pattern().col, whole(), m, 0, {}, rows, nullptr)) {}

  /// The matrix with v[b][k] (a block, row-major) added at the k-th place that this rank gave, for all ranks together. Collective.
  /// Errors, on every rank: shape_error where there are not as many values as places.
  template <class Values>
  auto operator()(Values const& v) const {
    using T = detail::element_t<Values const>;
    return distributed<sparse<T>, Mesh, SparseShard<0>>(part<T>(v), local_.layout);
  }
  /// D's values become those of v. Cost: each value travels once. Law: D was made by this plan. Errors: as above, and a value_error of another D.
  template <class T, class Values>
  void update(distributed<sparse_tensor<T, detail::open_shape_t<S>, detail::local_csr_t<F>>, Mesh, SparseShard<0>>& d, Values const& v) const {
    detail::together(mesh_.communicator(0), [&] {
      if (d.local().shared_pattern() != local_.pattern)
        throw value_error("plan.update(D, v): D has another pattern than those that this plan makes; D = plan(v) makes one of its own");
      return 0;
    });
    d.local() = part<T>(v);
  }

private:
  typename sparse<double>::shape_type whole() const { return {shape_.batch(), shape_.rows(), shape_.cols()}; }
  template <class T, class Values>
  sparse<T> part(Values const& v) const {
    constexpr index_t block = S::block_rows * S::block_cols;
    any_communicator& c = mesh_.communicator(0);
    index_t const batch = shape_.batch_count(), wanted = count_ * batch * block;
    detail::together(c, [&] {
      if (index_t(std::size(v)) != wanted)
        throw shape_error(text("assemble on rank ", c.rank(), ": ", std::size(v), " values for ", count_, " places", batch * block == 1 ? text() : text(", each of ", batch * block)));
      return 0;
    });
    auto const values = entries_.template values<T>(c, batch, block, detail::values_of_places<T>(std::data(v), count_, batch, block));
    return local_.template tensor_of<sparse<T>>(whole(), values.data());
  }

  Mesh mesh_;
  S shape_;
  index_t count_;
  detail::row_delivery entries_;
  detail::local_entries<sparse<double>, Mesh> local_;
};

namespace detail {
/// The owners of a matrix that no rank has. Collective.
template <class Mesh, class S, class How>
std::shared_ptr<row_partition const> rows_of_unseen(Mesh const& m, S const& shape, How const& how) {
  require_partitioner_of_unseen<How>();
  require_agreement(m.world(), "assemble", "batch, rows, columns", std::array<index_t, 3>{shape.batch_count(), shape.rows(), shape.cols()});
  unseen_pattern const pattern{shape.rows(), shape.cols()};
  return rows_by(how, "assemble(mesh, rows, cols, i, j, v, layout)", m.world(), pattern, m.size(0), m.coordinate(0));
}
} // namespace detail

/// What `assemble` finds out about places: for matrices of one pattern and many values. Each rank gives any places, as there. Collective.
/// Cost: each place travels once, and stays with about 40 bytes where it was given and where it is owned. Errors: as `assemble`.
template <Placement P, detail::FormatOption F = Csr<>, class Mesh, class S, class Rows, class Cols, class How = equal_rows>
  requires(is_mesh<Mesh> && is_shape<S>)
auto plan_assembly(Mesh const& m, S shape, Rows const& i, Cols const& j, How const& how = {}) {
  detail::require_assembly<Mesh, P, Rows, Cols>();
  auto const rows = detail::rows_of_unseen(m, shape, how);
  detail::together(m.world(), [&] {
    auto const where = text("plan_assembly on rank ", m.world().rank(), ": ");
    if (std::size(i) != std::size(j)) throw shape_error(text(where, std::size(i), " row indices and ", std::size(j), " column indices; as many are wanted of each"));
    detail::check_triplets(shape.rows(), shape.cols(), index_t(std::size(i)), std::data(i), std::data(j), where);
    return 0;
  });
  return assembly_plan<Mesh, S, F>(m, shape, i, j, rows);
}
/// The same of a rows x cols matrix.
template <Placement P, detail::FormatOption F = Csr<>, class Mesh, class Rows, class Cols, class How = equal_rows>
  requires(is_mesh<Mesh>)
auto plan_assembly(Mesh const& m, index_t rows, index_t cols, Rows const& i, Cols const& j, How const& how = {}) {
  return plan_assembly<P, F>(m, Matrix(rows, cols), i, j, how);
}

/// The tensor of global shape S with v[b][k] (a block, row-major) added at (i[k], j[k]), for the triplets of all ranks
/// together: each rank gives any of them, in any order, its own or others' rows. Indices count from 0. Collective.
/// Entries of one place are summed, those of rank 0 first, each rank's in the order given: the bits are those of
/// `from_triplets` on all ranks' triplets in rank order. `how` shards the rows: equal_rows, a partitioner that needs no
/// pattern, or the layout of something else, `D.row_layout()`.
/// Cost: each triplet travels once; a rank holds its triplets, what it sends and what it owns.
/// Errors: as `from_triplets`, naming the rank; a shape_error on every rank, if they disagree about the shape.
template <Placement P, detail::FormatOption F = Csr<>, class Mesh, class S, class Rows, class Cols, class Values, class How = equal_rows>
  requires(is_mesh<Mesh> && is_shape<S>)
auto assemble(Mesh const& m, S shape, Rows const& i, Cols const& j, Values const& v, How const& how = {}, assembly options = {}) {
  using T = detail::element_t<Values const>;
  detail::require_assembly<Mesh, P, Rows, Cols>();
  static_assert(Scalar<T>, "sla: assemble<...>(mesh, rows, cols, i, j, v): the values are a range of float, double or complex numbers");
  auto const rows = detail::rows_of_unseen(m, shape, how);
  any_communicator& c = m.communicator(0);
  detail::together(c, [&] { return detail::check_assembly<T>(shape, i, j, v, options, text("assemble on rank ", c.rank(), ": ")), 0; });
  index_t const count = index_t(std::size(i)), batch = shape.batch_count();
  constexpr index_t block = S::block_rows * S::block_cols;
  auto const slice = detail::deliver<T>(c, *rows, shape.cols(), count, batch, block, detail::places_of(std::data(i), std::data(j)),
                                        detail::values_of_places<T>(std::data(v), count, batch, block));
  using Sparse = sparse_tensor<T, detail::open_shape_t<S>, detail::local_csr_t<F>>;
  auto [local, handle] = detail::localize<Sparse>(slice, {shape.batch(), shape.rows(), shape.cols()}, m, 0, {}, rows);
  return distributed<Sparse, Mesh, SparseShard<0>>(std::move(local), std::move(handle));
}
/// The same of a rows x cols matrix.
template <Placement P, detail::FormatOption F = Csr<>, class Mesh, class Rows, class Cols, class Values, class How = equal_rows>
  requires(is_mesh<Mesh>)
auto assemble(Mesh const& m, index_t rows, index_t cols, Rows const& i, Cols const& j, Values const& v, How const& how = {},
              assembly options = {}) {
  return assemble<P, F>(m, Matrix(rows, cols), i, j, v, how, options);
}

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Model problems of which each rank makes the rows that it owns: `problems::poisson<double>(mesh, {200, 200, 20})`. What they are, and those of
// one rank, is in tensor/problems/problems.hpp.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include <sla/dist/assembly/assemble.hpp>
#include <sla/tensor/problems/problems.hpp>

namespace sla {

namespace detail {
/// The stencil of these weights, which follow from `numbers`, its rows sharded as `how` says. Collective.
template <class T, class F, class Mesh, std::size_t D, class Weight, class How>
auto stencil_on(Mesh const& m, index_t const (&n)[D], std::vector<double> const& numbers, Weight const& weight, How const& how) {
  static_assert(Mesh::rank == 1, "sla: problems::poisson<T>(mesh, {nx, ny}) and the other problems: rows are sharded, over a mesh of one axis");
  require_partitioner_of_unseen<How>();
  require_agreement(m.world(), "a model problem on a mesh", "extents", std::to_array(n), hash_bytes(numbers.data(), numbers.size() * sizeof(double)));
  grid<D> const g(n);
  auto const rows = rows_by(how, "a model problem on a mesh", m.world(), unseen_pattern{g.total, g.total}, m.size(0), m.coordinate(0));
  auto const each = [&](auto const& value, auto const& f) {
    for (index_t k = 0; k < rows->count(); ++k) each_entry(g, rows->global(k), rows->global(k) + 1, value, f);
  };
  rank_rows<T> slice;
  slice.ptr.assign(std::size_t(rows->count()) + 1, 0);
  each([](auto const&, std::size_t, int) { return 0; }, [&](index_t row, index_t col, int) {
    slice.col.push_back(col);
    slice.ptr[std::size_t(rows->local(row)) + 1] = index_t(slice.col.size());
  });
  slice.values = buffer<T>(index_t(slice.col.size()), uninitialized);
  index_t at = 0;
  each(stencil_of<T, D>(weight), [&](index_t, index_t, T value) { slice.values[at++] = value; });
  using Sparse = sparse_tensor<T, Matrix, local_csr_t<F>>;
  auto [local, handle] = localize<Sparse>(slice, Matrix(g.total, g.total), m, 0, {}, rows);
  return distributed<Sparse, Mesh, SparseShard<0>>(std::move(local), std::move(handle));
}
} // namespace detail

namespace problems {

/// The matrix of `poisson<T>({nx, ny, nz})`, rows on ranks, each made where it is owned: no rank has more. `how` shards the rows: equal_rows, a
/// partitioner that needs no pattern, as rcb of coordinates, or the layout of something else, `D.row_layout()`. Collective.
/// Cost: per rank the time and memory of its rows. Errors, on every rank: shape_error where they disagree about the extents, value_error where about a number.
template <Scalar T = double, Format F = Csr<>, class Mesh, std::size_t D, class How = equal_rows>
  requires(is_mesh<Mesh>)
auto poisson(Mesh const& m, index_t const (&n)[D], How const& how = {}) {
  return detail::stencil_on<T, F>(m, n, {}, detail::weights_of_poisson(), how);
}
/// The same of `anisotropic<T>({nx, ny}, epsilon)`.
template <Scalar T = double, Format F = Csr<>, class Mesh, std::size_t D, class How = equal_rows>
  requires(is_mesh<Mesh>)
auto anisotropic(Mesh const& m, index_t const (&n)[D], double epsilon, How const& how = {}) {
  return detail::stencil_on<T, F>(m, n, {epsilon}, detail::weights_of_anisotropic(epsilon), how);
}
/// The same of `checkerboard<T>({nx, ny}, jump, squares)`.
template <Scalar T = double, Format F = Csr<>, class Mesh, std::size_t D, class How = equal_rows>
  requires(is_mesh<Mesh>)
auto checkerboard(Mesh const& m, index_t const (&n)[D], double jump, index_t squares = 4, How const& how = {}) {
  return detail::stencil_on<T, F>(m, n, {jump, double(squares)}, detail::weights_of_checkerboard(n, jump, squares), how);
}
/// The same of `convection_diffusion<T>({nx, ny}, {px, py})`.
template <Scalar T = double, Format F = Csr<>, class Mesh, std::size_t D, class How = equal_rows>
  requires(is_mesh<Mesh>)
auto convection_diffusion(Mesh const& m, index_t const (&n)[D], double const (&peclet)[D], How const& how = {}) {
  return detail::stencil_on<T, F>(m, n, {peclet, peclet + D}, detail::weights_of_convection(peclet), how);
}

} // namespace problems
} // namespace sla

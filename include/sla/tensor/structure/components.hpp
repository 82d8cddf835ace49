// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The connected components of a square matrix: which rows are coupled, directly or through others; and each as a system.
// Other properties are in tensor/structure/properties.hpp.
#pragma once

#include <utility>
#include <vector>

#include <sla/tensor/arrange/sparse_list.hpp>
#include <sla/tensor/structure/disjoint_sets.hpp>

namespace sla {

/// The connected components of the graph of A + A^T.
struct matrix_components {
  index_t count = 0;
  buffer<index_t> label;  ///< of each row (block row), 0 .. count-1, in the order of the components' first rows

  /// The rows in each component.
  template <class = void>
  std::vector<index_t> sizes() const {
    std::vector<index_t> rows(std::size_t(count), 0);
    for (index_t l : label) ++rows[std::size_t(l)];
    return rows;
  }
};

/// The connected components of A's stored pattern, its direction left aside: rows of different components share no
/// unknown, and A is block diagonal in their order. Batch items share them; blocks count as one entry.
///     auto parts = connected_components(A);   if (parts.count > 1) ...
/// Law: A is square. Cost: nearly O(rows + nnz), in parallel; the result does not depend on threads.
template <class T, class S, class F>
matrix_components connected_components(sparse_tensor<T, S, F> const& A) {
  if (A.rows() != A.cols())
    throw shape_error(text("connected_components of a ", A.rows(), " x ", A.cols(), " matrix: it must be square, rows and columns are one set"));
  index_t const n = A.rows();
  detail::disjoint_sets sets(n);
  auto const view = A.pattern().view();
  parallel_ranges(n, [&](index_t lo, index_t hi) {
    for (index_t i = lo; i < hi; ++i) view.for_row(i, [&](index_t, index_t j) { sets.join(i, j); });
  });
  matrix_components out{0, buffer<index_t>(n, uninitialized)};
  index_t* const label = out.label.data();
  parallel_ranges(n, [&](index_t lo, index_t hi) {
    for (index_t i = lo; i < hi; ++i) label[i] = sets.find(i);
  });
  for (index_t i = 0; i < n; ++i) label[i] = label[i] == i ? out.count++ : label[label[i]];
  return out;
}

/// The components of a matrix as systems.
template <class List>
struct component_systems {
  List systems;
  std::vector<index_t> order;  ///< row n of the packed tensor is row order[n] of the matrix
};

/// The connected components of A as a list of systems, in the order of their first rows; rows keep their order within each.
///     auto [systems, order] = split_components(A);   auto x = solve(systems, ...);
/// Law: A is square, without batch axes. Cost: that of `connected_components` and of `permuted`.
/// Errors: shape_error, if A is 0 x 0: a list holds at least one system.
template <class T, class S, class F>
auto split_components(sparse_tensor<T, S, F> const& A) {
  if (A.rows() == 0 && A.cols() == 0) throw shape_error("split_components of a 0 x 0 matrix: it has no components, and a list holds at least one system");
  auto const components = connected_components(A);
  auto const sizes = components.sizes();
  std::vector<index_t> cuts{0}, order(std::size_t(A.rows()));
  for (index_t size : sizes) cuts.push_back(cuts.back() + size);
  std::vector<index_t> next = cuts;
  for (index_t i = 0; i < A.rows(); ++i) order[std::size_t(next[std::size_t(components.label[i])]++)] = i;
  auto const ordered = permuted(A, order);
  using List = sparse_list<T, typename detail::any_size<S>::type, csr_for_t<F>>;
  typename List::packed_type packed({ordered.rows(), ordered.cols()}, ordered.shared_pattern(), ordered.values());
  return component_systems<List>{List(std::move(packed), cuts, cuts), std::move(order)};
}

} // namespace sla

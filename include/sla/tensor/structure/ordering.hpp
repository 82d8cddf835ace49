// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Orders of rows and columns for narrow bands: `permuted(A, rcm(A))`. Orders for sparse factors, amd(A), are in solve/direct/fill_ordering.hpp.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include <sla/tensor/algebra/add.hpp>
#include <sla/tensor/arrange/slice.hpp>
#include <sla/tensor/arrange/transpose.hpp>

namespace sla {

namespace detail {
/// The graph of A + A^T in Csr, as a sparse tensor without batch items: it has a pattern and no values.
template <class T, class S, class F>
auto undirected(sparse_tensor<T, S, F> const& A, char const* what) {
  static_assert(S::block_rows == S::block_cols, "sla: an ordering for rows and columns wants square blocks");
  if (A.rows() != A.cols())
    throw shape_error(text(what, " of a ", A.rows(), " x ", A.cols(), " matrix: it must be square, rows and columns are one set"));
  auto const rows = to<csr_for_t<F>>(sparse_tensor<float, Shape<Batch<0>, dyn, dyn, Block<>>, F>({Extents<0>{}, A.rows(), A.cols()}, A.shared_pattern()));
  return add(1, rows, 1, transposed(rows));
}

/// Walks over a graph level by level.
template <class View>
class level_walk {
public:
  explicit level_walk(View const& graph) : graph_(graph), mark_(std::size_t(graph.rows), -1), degree_(std::size_t(graph.rows)) {
    for (index_t i = 0; i < graph.rows; ++i) degree_[std::size_t(i)] = row_length(graph, i);
  }
  bool reached(index_t i) const { return mark_[std::size_t(i)] >= 0; }
  index_t degree(index_t i) const { return degree_[std::size_t(i)]; }

  /// Appends what is connected to the root, of each node the neighbours by degree. Returns the number of levels, and where the last one begins.
  std::pair<index_t, std::size_t> append(index_t root, std::vector<index_t>& order) {
    ++walk_;
    auto const put = [&](index_t i) {
      if (std::exchange(mark_[std::size_t(i)], walk_) != walk_) order.push_back(i);
    };
    std::size_t begin = order.size();
    put(root);
    for (index_t levels = 1;; ++levels) {
      std::size_t const end = order.size();
      for (std::size_t k = begin; k < end; ++k) {
        auto const first = std::ptrdiff_t(order.size());
        graph_.for_row(order[k], [&](index_t, index_t j) { put(j); });
        std::sort(order.begin() + first, order.end(), [&](index_t i, index_t j) { return std::pair(degree(i), i) < std::pair(degree(j), j); });
      }
      if (order.size() == end) return {levels, begin};
      begin = end;
    }
  }
  /// A node at an end of the graph, far from others: of the last level one of least degree, while that is farther.
  /// Source: George and Liu, An implementation of a pseudoperipheral node finder (TOMS 1979).
  index_t end_of(index_t root) {
    std::vector<index_t> order;
    for (index_t levels = 0;;) {
      order.clear();
      auto const [height, last] = append(root, order);
      if (height <= levels) return root;
      levels = height;
      root = *std::min_element(order.begin() + std::ptrdiff_t(last), order.end(), [&](index_t i, index_t j) { return degree(i) < degree(j); });
    }
  }

private:
  View graph_;
  std::vector<index_t> mark_, degree_;
  index_t walk_ = -1;
};
} // namespace detail

/// The reverse Cuthill-McKee order of a square matrix, by its stored pattern and that of its transpose: permuted(A, rcm(A)) has its entries
/// near the diagonal. Connected components stay together; blocks count as one entry.
///     auto p = rcm(A);   auto B = permuted(A, p);   // row k of B is row p[k] of A
/// Cost: some walks over the pattern, O(nnz log row) each, on one thread. Errors: shape_error, if A is not square.
/// Source: George and Liu, Computer Solution of Large Sparse Positive Definite Systems (1981), chapter 4.
template <class T, class S, class F>
std::vector<index_t> rcm(sparse_tensor<T, S, F> const& A) {
  auto const graph = detail::undirected(A, "rcm");
  detail::level_walk walk(graph.pattern().view());
  std::vector<index_t> order;
  order.reserve(std::size_t(A.rows()));
  for (index_t i = 0; i < A.rows(); ++i)
    if (!walk.reached(i)) walk.append(walk.end_of(i), order);
  std::reverse(order.begin(), order.end());
  return order;
}

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random matrices and the Laplacians of graphs. A seed gives the same numbers on every machine, compiler and thread count.
// Model problems on grids are in tensor/problems/problems.hpp.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <utility>
#include <vector>

#include <sla/core/held.hpp>
#include <sla/tensor/build/build.hpp>
#include <sla/tensor/problems/problems.hpp>

namespace sla {

namespace detail {
/// An integer in [0, below) from the n-th number of a seed; no sum is rounded, so that no compiler can round it otherwise.
inline index_t integer_at(std::uint64_t seed, std::uint64_t n, index_t below) {
  return (std::min)(below - 1, index_t((uniform_at(seed, n) + 1) / 2 * double(below)));
}

/// `count` different columns of `cols` in ascending order, by Floyd's sampling (Bentley, Floyd, CACM 1987).
template <class = void>
void draw_columns(std::uint64_t seed, std::uint64_t first, index_t cols, index_t count, std::vector<index_t>& out) {
  out.clear();
  for (index_t last = cols - count; last < cols; ++last) {
    index_t const drawn = integer_at(seed, first++, last + 1);
    auto const at = std::lower_bound(out.begin(), out.end(), drawn);
    if (at == out.end() || *at != drawn)
      out.insert(at, drawn);
    else
      out.push_back(last);
  }
}

/// Rows of random columns and values; dominant: without the diagonal, which then outweighs the row.
template <class T, class F>
sparse_tensor<T, Matrix, F> random_rows(index_t rows, index_t cols, index_t per_row, std::uint64_t seed, bool dominant) {
  using Direct = csr_for_t<F>;
  using Col = typename Direct::col_type;
  using Ptr = typename Direct::ptr_type;
  if (rows < 0 || cols < 0 || per_row < 0)
    throw shape_error(text("a random matrix of ", rows, " x ", cols, " with ", per_row, " entries per row: these are at least 0"));
  narrowed<Col>(cols, "the number of columns,", wide_columns);
  index_t const others = (std::min)(per_row, dominant && cols > 0 ? cols - 1 : cols), each = others + dominant;
  auto row_ptr = row_pointers<Ptr>(rows, [=](index_t) { return each; });
  buffer<Col> col(rows * each, uninitialized);
  buffer<T> values(rows * each, uninitialized);
  parallel_ranges(rows, [&, columns = col.data(), out = values.data()](index_t lo, index_t hi) {
    std::vector<index_t> drawn;
    for (index_t i = lo; i < hi; ++i) {
      auto n = std::uint64_t(3 * i * others);
      draw_columns(seed, n, dominant ? cols - 1 : cols, others, drawn);
      n += std::uint64_t(others);
      double sum = 1;
      index_t diagonal = i * each;
      for (index_t k = 0; k < others; ++k, n += 2) {
        bool const behind = dominant && drawn[std::size_t(k)] >= i;  // of the diagonal, which was not drawn
        index_t const slot = i * each + k + behind;
        diagonal += !behind;
        columns[slot] = Col(drawn[std::size_t(k)] + behind);
        auto const re = real_t<T>(uniform_at(seed, n)), im = real_t<T>(uniform_at(seed, n + 1));
        if constexpr (is_complex<T>)
          out[slot] = T(re, im), sum += std::fabs(double(im));
        else
          out[slot] = re;
        sum += std::fabs(double(re));
      }
      if (dominant) columns[diagonal] = Col(i), out[diagonal] = T(real_t<T>(sum));
    }
  });
  auto pattern = detail::shared_of<csr_pattern<Col, Ptr, host_memory>>();
  *pattern = {rows, cols, std::move(row_ptr), std::move(col)};
  return in_format<F>(sparse_tensor<T, Matrix, Direct>(Matrix(rows, cols), std::move(pattern), std::move(values)));
}
} // namespace detail

namespace problems {

/// `per_row` entries in each row (at most `cols`), at columns drawn without repetition, their values uniform in [-1, 1), as
/// both parts of a complex one. Cost: O(rows per_row log per_row), in parallel.
///     auto A = problems::random_sparse<double>(1000, 800, 5, /*seed*/ 7);
template <Scalar T = double, Format F = Csr<>>
sparse_tensor<T, Matrix, F> random_sparse(index_t rows, index_t cols, index_t per_row, std::uint64_t seed) {
  return detail::random_rows<T, F>(rows, cols, per_row, seed, false);
}

/// The same with n rows and columns, and on the diagonal 1 more than the sum of the others of the row (of |re| + |im|):
/// strictly dominant, so not singular, and unsymmetric. A row has a diagonal and `per_row` other entries.
template <Scalar T = double, Format F = Csr<>>
sparse_tensor<T, Matrix, F> random_dominant(index_t n, index_t per_row, std::uint64_t seed) {
  return detail::random_rows<T, F>(n, n, per_row, seed, true);
}

/// The Laplacian D - W of an undirected graph: edge k joins nodes from[k] and to[k] with a positive weight (1, if none are
/// given). Repeated edges add up, loops add nothing. Symmetric positive semidefinite; the vectors that are constant on each
/// connected component are its null space.
///     auto L = problems::graph_laplacian(3, {0, 1}, {1, 2});   // a path
/// Errors: a node out of range, a weight that is not positive, lengths that differ.
/// Source: Chung, Spectral Graph Theory (AMS 1997), section 1.2.
template <Scalar T = double, Format F = Csr<>, class From = std::initializer_list<index_t>,
          class To = std::initializer_list<index_t>, class Weights = std::initializer_list<double>>
sparse_tensor<T, Matrix, F> graph_laplacian(index_t nodes, From const& from, To const& to, Weights const& weights = {}) {
  std::size_t const edges = std::size_t(std::size(from)), given = std::size_t(std::size(weights));
  if (std::size_t(std::size(to)) != edges || (given != 0 && given != edges))
    throw shape_error(text("graph_laplacian: ", edges, " nodes where edges begin, ", std::size(to), " where they end, and ", given,
                           " weights; as many are wanted of each, or no weights"));
  triplets<T> entries(nodes, nodes);
  entries.reserve(index_t(4 * edges));
  for (std::size_t k = 0; k < edges; ++k) {
    auto const a = index_t(std::data(from)[k]), b = index_t(std::data(to)[k]);
    auto const w = given ? real_t<T>(std::data(weights)[k]) : real_t<T>(1);
    for (index_t node : {a, b})
      if (node < 0 || node >= nodes)
        throw index_error(text("graph_laplacian: edge ", k, " has the node ", node, " of ", nodes, "; nodes count from 0"));
    if (!(w > 0 && w - w == 0))
      throw value_error(text("graph_laplacian: edge ", k, " has the weight ", w, "; weights are positive"));
    if (a == b) continue;
    entries.add(a, a, T(w)), entries.add(b, b, T(w)), entries.add(a, b, T(-w)), entries.add(b, a, T(-w));
  }
  return entries.template build<F>();
}

/// The Laplacian of a grid whose edges have random weights, between 1 and 2^octaves, as evenly on the scale of logarithms
/// as steps of 2 allow: rows sum to 0, and the constant vector is the null space. Symmetric positive semidefinite.
///     auto L = problems::grid_laplacian({300, 300}, /*seed*/ 7, /*octaves*/ 10);
template <Scalar T = double, Format F = Csr<>, std::size_t D>
sparse_tensor<T, Matrix, F> grid_laplacian(index_t const (&n)[D], std::uint64_t seed, int octaves = 1) {
  if (octaves < 1 || octaves > 60) throw value_error(text("grid_laplacian: ", octaves, " octaves; there are 1 to 60"));
  detail::grid<D> const g(n);
  return detail::stencil<T, F>(n, [=](auto const& at, std::size_t axis, int side) {
    if (!g.inside(at, axis, side)) return 0.0;
    index_t edge = side < 0 ? -g.stride[axis] : 0;  // an edge belongs to the lower of its points
    for (std::size_t a = 0; a < D; ++a) edge += at[int(a)] * g.stride[a];
    auto const draw = std::uint64_t(2 * (edge * index_t(D) + index_t(axis)));
    return std::ldexp((3 + detail::uniform_at(seed, draw)) / 2, int(detail::integer_at(seed, draw + 1, octaves)));
  });
}

} // namespace problems
} // namespace sla

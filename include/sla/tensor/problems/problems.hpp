// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Model problems on grids of nx x ny (x nz) unknowns with Dirichlet boundaries: five- and seven-point stencils, written
// directly into Csr or Dia, in parallel. Unknown (x, y, z) has number x + nx (y + ny z). Waves and elastic bodies are in
// tensor/problems/wave_problems.hpp, random matrices and graphs in tensor/problems/random_problems.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include <sla/core/held.hpp>
#include <sla/tensor/build/convert.hpp>

namespace sla {

namespace detail {
template <std::size_t D>
struct grid {
  index_t extent[D], stride[D], total = 1;

  explicit grid(index_t const (&n)[D]) {
    static_assert(D >= 1 && D <= 3, "sla: a grid has one to three axes: {nx}, {nx, ny} or {nx, ny, nz}");
    for (std::size_t a = 0; a < D; ++a) {
      if (n[a] < 0) throw shape_error(text("a grid of ", n[a], " points along axis ", a, ": extents are at least 0"));
      extent[a] = n[a];
      stride[a] = total;
      total = Extents<dyn, dyn>(total, n[a]).total();  // or an error, if they are not countable
    }
  }
  bool inside(fixed_array<index_t, int(D)> const& at, std::size_t axis, int side) const {
    return side < 0 ? at[int(axis)] > 0 : at[int(axis)] + 1 < extent[axis];
  }
  /// f(row, point) for rows first .. last-1, in order.
  template <class F>
  void walk(index_t first, index_t last, F const& f) const {
    fixed_array<index_t, int(D)> at;
    for (std::size_t a = 0; a < D; ++a) at[int(a)] = first / stride[a] % extent[a];
    for (index_t row = first; row < last; ++row) {
      f(row, at);
      for (std::size_t a = 0; a < D && ++at[int(a)] == extent[a]; ++a) at[int(a)] = 0;
    }
  }
};

/// The 2 D neighbours in the order of their numbers, the point itself in the middle: f(axis, side), side 0 for itself.
template <std::size_t D, class F>
void each_leg(F const& f) {
  for (std::size_t a = D; a-- > 0;) f(a, -1);
  f(std::size_t(0), 0);
  for (std::size_t a = 0; a < D; ++a) f(a, +1);
}

/// f(row, column, value) for the entries of the rows first .. last-1, in order; value(point, axis, side) as below.
template <std::size_t D, class Value, class F>
void each_entry(grid<D> const& g, index_t first, index_t last, Value const& value, F const& f) {
  g.walk(first, last, [&](index_t row, auto const& at) {
    each_leg<D>([&](std::size_t a, int side) {
      if (side == 0 || g.inside(at, a, side)) f(row, row + side * g.stride[a], value(at, a, side));
    });
  });
}

/// The matrix of a stencil of a point and its 2 D neighbours: value(point, axis, side) in the column of a neighbour, and
/// of the point itself (side 0).
template <class T, class F, std::size_t D, class Value>
sparse_tensor<T, Matrix, F> grid_matrix(index_t const (&n)[D], Value const& value) {
  grid<D> const g(n);
  index_t const rows = g.total;
  if constexpr (std::same_as<F, Dia>) {
    auto pattern = detail::shared_of<dia_pattern<host_memory>>();
    buffer<index_t> offset(2 * index_t(D) + 1, uninitialized);
    index_t diagonals = 0, entries = 0;
    each_leg<D>([&](std::size_t a, int side) {
      if (side != 0 && g.extent[a] < 2) return;
      index_t const reach = side == 0 ? 0 : g.stride[a];
      offset.data()[diagonals++] = side * reach;
      entries += (std::max)(index_t(0), rows - reach);
    });
    buffer<index_t> used(diagonals, uninitialized);
    std::copy_n(offset.begin(), diagonals, used.begin());
    *pattern = {rows, rows, std::move(used), entries};
    buffer<T> values(diagonals * rows, uninitialized);
    parallel_ranges(rows, [&, out = values.data()](index_t lo, index_t hi) {
      g.walk(lo, hi, [&](index_t row, auto const& at) {
        index_t d = 0;
        each_leg<D>([&](std::size_t a, int side) {
          if (side != 0 && g.extent[a] < 2) return;
          out[d++ * rows + row] = side == 0 || g.inside(at, a, side) ? value(at, a, side) : T{};
        });
      });
    });
    return {Matrix(rows, rows), std::move(pattern), std::move(values)};
  } else if constexpr (is_csr<F>) {
    using Col = typename F::col_type;
    using Ptr = typename F::ptr_type;
    narrowed<Col>(rows, "the number of columns,", wide_columns);
    index_t entries = rows;
    for (std::size_t a = 0; a < D; ++a) entries += g.extent[a] > 0 ? 2 * (rows - rows / g.extent[a]) : 0;
    narrowed<Ptr>(entries, "the number of entries,", "Csr<std::int32_t, std::int64_t>");
    buffer<Ptr> row_ptr(rows + 1, uninitialized);
    buffer<Col> col(entries, uninitialized);
    buffer<T> values(entries, uninitialized);
    Ptr* const pointers = row_ptr.data();
    pointers[0] = 0;
    // The entries before a row are its number times 2 D + 1, less the legs that end at the boundary: counted per axis.
    auto before = [&](index_t row) {
      index_t count = row;
      for (std::size_t a = 0; a < D; ++a) {
        index_t const block = g.stride[a] * g.extent[a], whole = row / block, rest = row % block;
        index_t const low = whole * g.stride[a] + (std::min)(rest, g.stride[a]);
        index_t const high = whole * g.stride[a] + (std::max)(index_t(0), rest - (block - g.stride[a]));
        count += 2 * row - low - high;
      }
      return count;
    };
    parallel_ranges(rows, [&, columns = col.data(), out = values.data()](index_t lo, index_t hi) {
      index_t slot = before(lo);
      g.walk(lo, hi, [&](index_t row, auto const& at) {
        each_leg<D>([&](std::size_t a, int side) {
          if (side != 0 && !g.inside(at, a, side)) return;
          columns[slot] = Col(row + side * g.stride[a]);
          out[slot++] = value(at, a, side);
        });
        pointers[row + 1] = Ptr(slot);
      });
    });
    auto pattern = detail::shared_of<csr_pattern<Col, Ptr, host_memory>>();
    *pattern = {rows, rows, std::move(row_ptr), std::move(col)};
    return {Matrix(rows, rows), std::move(pattern), std::move(values)};
  } else {
    return to<F>(grid_matrix<T, csr_for_t<F>>(n, value));
  }
}

/// The conservative stencil of face weights: weight(point, axis, side) couples a point to its neighbour with -weight;
/// the diagonal is the sum over all 2 D faces, those on the boundary included.
template <class T, std::size_t D, class Weight>
auto stencil_of(Weight const& weight) {
  return [weight](auto const& at, std::size_t axis, int side) {
    if (side != 0) return T(real_t<T>(-weight(at, axis, side)));
    double sum = 0;
    for (std::size_t a = 0; a < D; ++a) sum += weight(at, a, -1) + weight(at, a, +1);
    return T(real_t<T>(sum));
  };
}
template <class T, class F, std::size_t D, class Weight>
sparse_tensor<T, Matrix, F> stencil(index_t const (&n)[D], Weight const& weight) {
  return grid_matrix<T, F>(n, stencil_of<T, D>(weight));
}

// The weights of the problems below.
inline auto weights_of_poisson() {
  return [](auto const&, std::size_t, int) { return 1.0; };
}
inline auto weights_of_anisotropic(double epsilon) {
  if (!(epsilon > 0)) throw value_error(text("anisotropic: epsilon is ", epsilon, "; it must be positive"));
  return [=](auto const&, std::size_t axis, int) { return axis == 0 ? 1.0 : epsilon; };
}
template <std::size_t D>
auto weights_of_checkerboard(index_t const (&n)[D], double jump, index_t squares) {
  if (!(jump > 0)) throw value_error(text("checkerboard: the jump is ", jump, "; it must be positive"));
  if (squares < 1) throw value_error(text("checkerboard: ", squares, " squares along an axis; there is at least 1"));
  detail::grid<D> const g(n);
  return [=](auto const& at, std::size_t axis, int side) {
    auto black = [&](std::size_t moved, int by) {
      index_t colour = 0;
      for (std::size_t a = 0; a < D; ++a) colour += (at[int(a)] + (a == moved ? by : 0)) * squares / g.extent[a];
      return colour % 2 != 0;
    };
    double const here = black(axis, 0) ? jump : 1.0;
    if (!g.inside(at, axis, side)) return here;
    double const there = black(axis, side) ? jump : 1.0;
    return here == there ? here : 2 * here * there / (here + there);
  };
}
template <std::size_t D>
auto weights_of_convection(double const (&peclet)[D]) {
  fixed_array<double, int(D)> speed{};
  for (std::size_t a = 0; a < D; ++a) {
    speed[int(a)] = peclet[a];
    if (!(peclet[a] - peclet[a] == 0)) throw value_error(text("convection_diffusion: a cell Peclet number is ", peclet[a], ", not a finite number"));
  }
  return [speed](auto const&, std::size_t axis, int side) { return 1.0 + (std::max)(0.0, -side * speed[int(axis)]); };
}
} // namespace detail

namespace problems {

/// -Laplace on a grid, unscaled: 2 D on the diagonal and -1 for each neighbour (4/-1 in two dimensions, 6/-1 in three).
/// Symmetric positive definite; its eigenvalues are sum over axes of 4 sin^2(pi k / (2 (n + 1))), k = 1 .. n.
///     auto A = problems::poisson<double>({300, 300});   auto D = problems::poisson<float, Dia>({100, 100, 100});
/// Source: LeVeque, Finite Difference Methods for Ordinary and Partial Differential Equations (SIAM 2007), ch. 3.
template <Scalar T = double, Format F = Csr<>, std::size_t D>
sparse_tensor<T, Matrix, F> poisson(index_t const (&n)[D]) {
  return detail::stencil<T, F>(n, detail::weights_of_poisson());
}

/// -u_xx - epsilon u_yy, unscaled: 2 + 2 epsilon on the diagonal, -1 along x, -epsilon along y (and z).
/// Symmetric positive definite; point smoothers fail on it where epsilon is far from 1.
/// Source: Trottenberg, Oosterlee, Schueller, Multigrid (Academic Press 2001), section 5.1.
template <Scalar T = double, Format F = Csr<>, std::size_t D>
sparse_tensor<T, Matrix, F> anisotropic(index_t const (&n)[D], double epsilon) {
  return detail::stencil<T, F>(n, detail::weights_of_anisotropic(epsilon));
}

/// -div(k grad u), where k is 1 on the white and `jump` on the black squares of a checkerboard with `squares` squares
/// along each axis; the weight of a face is the harmonic mean of its two cells. Symmetric positive definite, with a
/// condition number that grows with the jump.
/// Source: Patankar, Numerical Heat Transfer and Fluid Flow (1980), section 4.2-3, for the harmonic mean.
template <Scalar T = double, Format F = Csr<>, std::size_t D>
sparse_tensor<T, Matrix, F> checkerboard(index_t const (&n)[D], double jump, index_t squares = 4) {
  return detail::stencil<T, F>(n, detail::weights_of_checkerboard(n, jump, squares));
}

/// -Laplace(u) + v . grad u, first-order upwind, unscaled. `peclet[a]` is the cell Peclet number v_a h / diffusion
/// along axis a: 2 D + sum |peclet| on the diagonal, -1 downwind and -(1 + |peclet[a]|) upwind. An M-matrix,
/// unsymmetric. Source: Saad, Iterative Methods for Sparse Linear Systems (SIAM 2003), section 2.2.4.
template <Scalar T = double, Format F = Csr<>, std::size_t D>
sparse_tensor<T, Matrix, F> convection_diffusion(index_t const (&n)[D], double const (&peclet)[D]) {
  return detail::stencil<T, F>(n, detail::weights_of_convection(peclet));
}
/// The same with one cell Peclet number along all axes.
template <Scalar T = double, Format F = Csr<>, std::size_t D>
sparse_tensor<T, Matrix, F> convection_diffusion(index_t const (&n)[D], double peclet) {
  double each[D];
  std::fill_n(each, D, peclet);
  return convection_diffusion<T, F>(n, each);
}

} // namespace problems
} // namespace sla

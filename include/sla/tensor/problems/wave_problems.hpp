// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Model problems on grids, continued: waves (Helmholtz, complex), and elastic bodies (a block of D x D per pair of nodes).
// Numbering as in tensor/problems/problems.hpp.
#pragma once

#include <complex>
#include <cstddef>
#include <utility>

#include <sla/core/held.hpp>
#include <sla/tensor/problems/problems.hpp>

namespace sla {

namespace detail {
/// The blocks of the elastic stencil: block[q][i][j] couples component i of a node to component j of the neighbour at the
/// offset whose coordinates are the digits of q in base 3, less 1. Multilinear elements of unit size, integrated exactly:
/// on each axis stands the integral of two of the hats, of two slopes, or of a hat and a slope.
template <std::size_t D>
struct elastic_blocks {
  static constexpr std::size_t offsets = D == 2 ? 9 : 27, corners = std::size_t(1) << D;
  double block[offsets][D][D] = {};
  double element[offsets][corners][D][D] = {};  ///< what the element adds in which the node is the corner whose bits are given

  elastic_blocks(double lambda, double mu) {
    for (std::size_t q = 0; q < offsets; ++q)
      for (std::size_t corner = 0; corner < corners; ++corner) add_element(q, corner, lambda, mu);
  }
  static int digit(std::size_t q, std::size_t axis) {
    for (; axis > 0; --axis) q /= 3;
    return int(q % 3) - 1;
  }

private:
  void add_element(std::size_t q, std::size_t corner, double lambda, double mu) {
    int here[D], there[D];
    for (std::size_t k = 0; k < D; ++k) {
      here[k] = int(corner >> k & 1), there[k] = here[k] + digit(q, k);
      if (there[k] < 0 || there[k] > 1) return;
    }
    auto slope = [](int node) { return node == 0 ? -1.0 : 1.0; };
    double gradients[D][D];  // the integral of (d/dx_i of the node's function) (d/dx_j of the neighbour's)
    for (std::size_t i = 0; i < D; ++i)
      for (std::size_t j = 0; j < D; ++j) {
        gradients[i][j] = 1;
        for (std::size_t k = 0; k < D; ++k)
          gradients[i][j] *= k == i && k == j ? slope(here[k]) * slope(there[k])
                             : k == i         ? slope(here[k]) / 2
                             : k == j         ? slope(there[k]) / 2
                             : here[k] == there[k] ? 1.0 / 3
                                                   : 1.0 / 6;
      }
    double trace = 0;
    for (std::size_t k = 0; k < D; ++k) trace += gradients[k][k];
    for (std::size_t i = 0; i < D; ++i)
      for (std::size_t j = 0; j < D; ++j)
        block[q][i][j] += element[q][corner][i][j] = lambda * gradients[i][j] + mu * (gradients[j][i] + (i == j ? trace : 0.0));
  }
};

/// The matrix of an elastic body; clamped(axis, side): do the elements beyond that face exist, whose outer nodes are held?
template <class T, class F, std::size_t D, class Clamped>
auto elastic_matrix(index_t const (&n)[D], char const* who, double poisson_ratio, Clamped const& clamped) {
  static_assert(D == 2 || D == 3, "sla: problems::elasticity wants a grid of two or three axes: {nx, ny} or {nx, ny, nz}");
  if (!(poisson_ratio > -1 && poisson_ratio < 0.5))
    throw value_error(text(who, ": Poisson's ratio is ", poisson_ratio, "; it lies between -1 and 1/2"));
  using S = Shape<Batch<>, dyn, dyn, Block<index_t(D), index_t(D)>>;
  using Direct = csr_for_t<F>;
  using Col = typename Direct::col_type;
  using Ptr = typename Direct::ptr_type;
  grid<D> const g(n);
  index_t const rows = g.total;
  detail::narrowed<Col>(rows, "the number of columns,", detail::wide_columns);
  detail::elastic_blocks<D> const stencil(poisson_ratio / ((1 + poisson_ratio) * (1 - 2 * poisson_ratio)), 0.5 / (1 + poisson_ratio));
  auto row_ptr = detail::row_pointers<Ptr>(rows, [&](index_t row) {
    index_t count = 1;
    for (std::size_t a = 0; a < D; ++a) {
      index_t const at = row / g.stride[a] % g.extent[a];
      count *= 1 + (at > 0) + (at + 1 < g.extent[a]);
    }
    return count;
  });
  // Is there an element in which the node is this corner? Beyond a boundary there is where nodes outside are clamped.
  auto const has_element = [&](auto const& at, std::size_t corner) {
    bool all = true;
    for (std::size_t a = 0; a < D; ++a) {
      int const side = corner >> a & 1 ? -1 : 1;
      all = all && (g.inside(at, a, side) || clamped(a, side));
    }
    return all;
  };
  buffer<Col> col(row_ptr[rows], uninitialized);
  buffer<T> values(col.size() * index_t(D * D), uninitialized);
  parallel_ranges(rows, [&, columns = col.data(), out = values.data()](index_t lo, index_t hi) {
    index_t slot = row_ptr[lo];
    g.walk(lo, hi, [&](index_t row, auto const& at) {
      bool has_all = true;
      for (std::size_t corner = 0; corner < stencil.corners; ++corner) has_all = has_all && has_element(at, corner);
      for (std::size_t q = 0; q < stencil.offsets; ++q) {
        index_t there = row;
        bool inside = true;
        for (std::size_t a = 0; a < D; ++a) {
          int const step = stencil.digit(q, a);
          inside = inside && (step == 0 || g.inside(at, a, step));
          there += step * g.stride[a];
        }
        if (!inside) continue;
        columns[slot] = Col(there);
        for (std::size_t e = 0; e < D * D; ++e) {
          double sum = 0;
          if (has_all)
            sum = stencil.block[q][e / D][e % D];
          else
            for (std::size_t corner = 0; corner < stencil.corners; ++corner)
              if (has_element(at, corner)) sum += stencil.element[q][corner][e / D][e % D];
          out[std::size_t(slot) * D * D + e] = T(real_t<T>(sum));
        }
        ++slot;
      }
    });
  });
  auto pattern = detail::shared_of<csr_pattern<Col, Ptr, host_memory>>();
  *pattern = {rows, rows, std::move(row_ptr), std::move(col)};
  return in_format<F>(sparse_tensor<T, S, Direct>(S(rows, rows), std::move(pattern), std::move(values)));
}
} // namespace detail

namespace problems {

/// -Laplace(u) - k^2 (1 + i absorption) u with the impedance boundary du/dn = i k u, through which waves leave: unscaled,
/// `kh` is the wave number times the spacing, and 2 pi / kh the points per wave (ten or more resolve it). 2 D - kh^2 (1 + i
/// absorption) on the diagonal, less 1 + i kh for each face on the boundary, and -1 for each neighbour. Complex symmetric,
/// not Hermitian, indefinite for waves that fit into the grid.
///     auto A = problems::helmholtz({200, 200}, 0.5);
/// Source: Ernst, Gander, Why it is difficult to solve Helmholtz problems with classical iterative methods (2012).
template <Scalar T = std::complex<double>, Format F = Csr<>, std::size_t D>
sparse_tensor<T, Matrix, F> helmholtz(index_t const (&n)[D], double kh, double absorption = 0) {
  static_assert(is_complex<T>, "sla: problems::helmholtz is complex: helmholtz<std::complex<double>>({nx, ny}, kh)");
  if (!(kh - kh == 0) || !(absorption - absorption == 0))
    throw value_error(text("helmholtz: kh is ", kh, " and the absorption ", absorption, "; they must be finite"));
  detail::grid<D> const g(n);
  return detail::grid_matrix<T, F>(n, [=](auto const& at, std::size_t, int side) {
    using R = real_t<T>;
    if (side != 0) return T(R(-1));
    double re = 2 * double(D) - kh * kh, im = -kh * kh * absorption;
    for (std::size_t a = 0; a < D; ++a)
      for (int face : {-1, +1})
        if (!g.inside(at, a, face)) re -= 1, im -= kh;
    return T(R(re), R(im));
  });
}

/// The stiffness of an elastic body, clamped on its whole boundary: Young's modulus 1, multilinear elements of unit size,
/// one block of D x D per pair of neighbouring nodes (D = 2: plane strain, 9 neighbours; D = 3: 27). The nodes inside are
/// the unknowns. Symmetric positive definite, ill-conditioned as `poisson_ratio` comes near 1/2 (rubber).
///     auto K = problems::elasticity({20, 20, 20});   // blocks of 3 x 3
/// Source: Hughes, The Finite Element Method (Dover 2000), chapter 2.
template <Scalar T = double, Format F = Csr<>, std::size_t D>
auto elasticity(index_t const (&n)[D], double poisson_ratio = 0.3) {
  return detail::elastic_matrix<T, F>(n, "elasticity", poisson_ratio, [](std::size_t, int) { return true; });
}

/// The same body clamped at one end of the first axis alone, and free elsewhere: a cantilever, whose rigid modes A all but annihilates.
/// The nodes but those of the clamped end are the unknowns: points 1, 2, ... of the first axis, 0, 1, ... of the others.
///     auto K = problems::cantilever({60, 12, 12});
template <Scalar T = double, Format F = Csr<>, std::size_t D>
auto cantilever(index_t const (&n)[D], double poisson_ratio = 0.3) {
  return detail::elastic_matrix<T, F>(n, "cantilever", poisson_ratio, [](std::size_t axis, int side) { return axis == 0 && side < 0; });
}

/// The coordinates of the points of a grid, a row each, in the order of its unknowns: 0, 1, ... along each axis.
///     auto modes = rigid_body_modes(problems::grid_points({60, 12, 12}));
template <Scalar T = double, std::size_t D>
matrix<T> grid_points(index_t const (&n)[D]) {
  detail::grid<D> const g(n);
  matrix<T> out({g.total, index_t(D)}, uninitialized);
  g.walk(0, g.total, [&](index_t row, auto const& at) {
    for (std::size_t a = 0; a < D; ++a) out(row, index_t(a)) = T(real_t<T>(at[int(a)]));
  });
  return out;
}

} // namespace problems
} // namespace sla

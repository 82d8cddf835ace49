// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The words of algebraic multigrid: the options `amg{...}` of solve/precond/amg/amg.hpp, and the matrices of its levels.
#pragma once

#include <cstdint>

#include <sla/tensor/storage/sparse.hpp>

namespace sla {

/// The order in which a cycle visits the levels: each once on the way down and once on the way up, or each twice as often as the
/// one above it.
enum class amg_cycle { V, W };
/// What is done on each level: x += D (b - A x), with d_i = 1.1 a_ii / sum |a_ij|^2 (SPAI-0: Broeker and Grote 2002), but at most 1.9 / sum
/// |a_ij|, so that it converges for every Hermitian definite A; or with d_i = 1 / sum |a_ij|.
enum class amg_smoother { spai0, l1_jacobi };
/// How a level goes over to the next one. smoothed, plain: by aggregates, on which a correction is the constant after a step of damped
/// Jacobi, or the constant. grid: every second point of a grid, with the interpolation of black-box multigrid (Dendy 1982), where A is a
/// symmetric operator of 5, 9, 7 or 27 points. automatic: grid, where A is found to be one and contracts well, else smoothed.
enum class amg_coarsening { automatic, grid, smoothed, plain };

/// Their names, as reports print them.
inline constexpr char const* to_string(amg_cycle c) { return c == amg_cycle::V ? "V-cycle" : "W-cycle"; }
inline constexpr char const* to_string(amg_smoother s) { return s == amg_smoother::spai0 ? "SPAI-0" : "l1-Jacobi"; }
inline constexpr char const* to_string(amg_coarsening c) {
  constexpr char const* names[] = {"automatic", "grid", "smoothed aggregation", "plain aggregation"};
  return names[int(c)];
}

namespace detail {
/// The options as the rooms of multigrid read them.
struct amg_options {
  amg_cycle cycle = amg_cycle::V;
  amg_smoother smoother = amg_smoother::spai0;
  amg_coarsening coarsening = amg_coarsening::smoothed;
  int sweeps = 1;
  index_t coarsest = 200;
  double strength = 0.4;
  int max_levels = 30;
};
/// The matrix of a level: scalar entries, each row's columns ascending.
template <class T>
using amg_matrix = sparse_tensor<T, Matrix, Csr<std::int32_t>>;
using amg_pattern = csr_pattern<std::int32_t, std::int32_t, host_memory>;
} // namespace detail

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Small dense matrices as numbers of a space: what `gram_of(V, W)` makes and `combine(V, C)` takes. Their algebra is the user's, or
// Eigen's: as_eigen(C) (adapter/eigen.hpp).
#pragma once

#include <sla/core/meta.hpp>

namespace sla {

/// A matrix of Rows x Cols numbers, row-major, by value: on the host, or one per item of a space. Where fewer rows or columns are in use
/// the others are 0.
template <class T, int Rows, int Cols = Rows>
struct small_matrix : fixed_array<T, Rows * Cols> {
  using value_type = T;

  SLA_HD static constexpr int rows() { return Rows; }
  SLA_HD static constexpr int cols() { return Cols; }
  SLA_HD constexpr T& operator()(int i, int j) { return (*this)[i * Cols + j]; }
  SLA_HD constexpr T const& operator()(int i, int j) const { return (*this)[i * Cols + j]; }
};

namespace detail {
/// Is X a small_matrix?
template <class X>
inline constexpr bool is_small_matrix = false;
template <class T, int Rows, int Cols>
inline constexpr bool is_small_matrix<small_matrix<T, Rows, Cols>> = true;
} // namespace detail

} // namespace sla

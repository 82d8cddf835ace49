// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A chain of rows: a matrix whose LU factors have no fill, and so those of its neighbouring rows and columns.
#pragma once

#include <sla/core/scalar.hpp>
#include <sla/tensor/problems/problems.hpp>

namespace suite {

template <class T>
sla::sparse_tensor<T> chain(sla::index_t n) {
  auto A = sla::cast<T>(sla::problems::convection_diffusion({n}, 0.7));
  for (sla::index_t s = 0; s < A.nnz(); ++s)
    if constexpr (sla::is_complex<T>) A.values()[s] *= T(1, 0.1 * double(s % 3));
  return A;
}

}  // namespace suite

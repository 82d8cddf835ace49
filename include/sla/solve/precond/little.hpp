// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Little dense P x P blocks, row-major: the arithmetic of block factorisations. P = 1 is plain numbers.
#pragma once

#include <utility>

#include <sla/core/scalar.hpp>
#include <sla/core/op.hpp>
#include <sla/core/shape.hpp>

namespace sla::detail {

/// Entry (r, c) of a block, or of its adjoint.
template <index_t P, bool Adjoint, class T>
T block_entry(T const* a, index_t r, index_t c) {
  return Adjoint ? conj_of(a[c * P + r]) : a[r * P + c];
}

/// y -= a x for P x `count` blocks x and y; the adjoint of a where asked.
template <index_t P, bool Adjoint, class T, class X>
void subtract_product(T const* a, X const* x, X* y, index_t count) {
  for (index_t r = 0; r < P; ++r)
    for (index_t c = 0; c < P; ++c) {
      T const f = block_entry<P, Adjoint>(a, r, c);
      for (index_t n = 0; n < count; ++n)
        y[r * count + n] = scalar_cast<X>(op::sub::apply(y[r * count + n], op::mul::apply(f, x[c * count + n])));
    }
}

/// y = a y for a P x `count` block y.
template <index_t P, bool Adjoint, class T, class X>
void multiply_in_place(T const* a, X* y, index_t count) {
  for (index_t n = 0; n < count; ++n) {
    X column[P];
    for (index_t r = 0; r < P; ++r) column[r] = y[r * count + n];
    for (index_t r = 0; r < P; ++r) {
      auto total = op::mul::apply(block_entry<P, Adjoint>(a, r, 0), column[0]);
      for (index_t c = 1; c < P; ++c) total = total + op::mul::apply(block_entry<P, Adjoint>(a, r, c), column[c]);
      y[r * count + n] = scalar_cast<X>(total);
    }
  }
}

/// a = a b.
template <index_t P, class T>
void multiply_right(T* a, T const* b) {
  for (index_t r = 0; r < P; ++r) {
    T row[P];
    for (index_t c = 0; c < P; ++c) row[c] = a[r * P + c];
    for (index_t c = 0; c < P; ++c) {
      T total = row[0] * b[c];
      for (index_t k = 1; k < P; ++k) total = total + row[k] * b[k * P + c];
      a[r * P + c] = total;
    }
  }
}

/// a = a^-1 by Gauss-Jordan elimination with row pivoting. False, if a pivot is zero or not finite.
template <index_t P, class T>
bool invert(T* a) {
  index_t origin[P];
  for (index_t k = 0; k < P; ++k) {
    index_t best = k;
    for (index_t r = k + 1; r < P; ++r)
      if (abs2_of(a[r * P + k]) > abs2_of(a[best * P + k])) best = r;
    T const pivot = a[best * P + k];
    if (!(abs2_of(pivot) > 0) || !is_finite(pivot)) return false;
    origin[k] = best;
    for (index_t c = 0; c < P; ++c) std::swap(a[k * P + c], a[best * P + c]);
    T const inverse = T(real_t<T>(1)) / pivot;
    a[k * P + k] = T(real_t<T>(1));
    for (index_t c = 0; c < P; ++c) a[k * P + c] = a[k * P + c] * inverse;
    for (index_t r = 0; r < P; ++r) {
      if (r == k) continue;
      T const f = a[r * P + k];
      a[r * P + k] = T{};
      for (index_t c = 0; c < P; ++c) a[r * P + c] = a[r * P + c] - f * a[k * P + c];
    }
  }
  for (index_t k = P; k-- > 0;)
    for (index_t r = 0; r < P; ++r) std::swap(a[r * P + k], a[r * P + origin[k]]);
  return true;
}

}  // namespace sla::detail

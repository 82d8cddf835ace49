// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers with derivatives in several directions at once: with them the Jacobian of a kernel that is a template of its
// number type is exact. For gradients of programs see grad/. Not part of spmd.hpp.
#pragma once

#include <sla/core/dual_number.hpp>

namespace sla::sim {

/// A value, and its derivatives in K directions.
template <int K>
using dual = dual_number<double, K>;

// Of both kinds of numbers.
/// e to the power a.
template <class T>
T exp(T const& a) {
  using std::exp;
  return exp(a);
}
/// The root of a.
template <class T>
T sqrt(T const& a) {
  using std::sqrt;
  return sqrt(a);
}
/// The natural logarithm of a.
template <class T>
T log(T const& a) {
  using std::log;
  return log(a);
}
/// |a|.
template <class T>
T abs(T const& a) {
  using std::abs;
  return abs(a);
}
/// The plain value: what an index or a condition looks at.
constexpr double plain(double x) { return x; }
template <int K>
constexpr double plain(dual<K> const& x) {
  return x.value;
}

} // namespace sla::sim

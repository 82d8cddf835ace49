// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the fuzzers share: the library's own errors as an answer, and two tensors held against each other.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <sla/core/scalar.hpp>
#include <sla/core/shape.hpp>

/// f() may refuse by an error of the library, and by no other.
template <class F>
bool attempt(F const& f) {
  try {
    f();
  } catch (sla::error const&) {
    return false;
  }
  return true;
}

inline void demand(bool holds, char const* what) {
  if (holds) return;
  std::fprintf(stderr, "demanded: %s\n", what);
  std::abort();
}

/// Equal bit for bit, but for the signs and payloads of NaN.
template <class Values>
bool same_values(Values const& a, Values const& b) {
  if (a.size() != b.size()) return false;
  for (sla::index_t k = 0; k < a.size(); ++k) {
    auto const x = sla::to_kernel(a[k]), y = sla::to_kernel(b[k]);
    auto same = [](auto u, auto v) { return u == v || (u != u && v != v); };
    if (!same(sla::real_of(x), sla::real_of(y)) || !same(sla::imag_of(x), sla::imag_of(y))) return false;
  }
  return true;
}

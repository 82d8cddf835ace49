// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For tests on a device: what the host computes and what the device computed, compared on the host.
#pragma once

#include <cmath>
#include <cstdio>

#include <sla/adapter/cuda.cuh>
#include <sla/tensor.hpp>

#include "expect.hpp"

namespace on_device {
using namespace sla;

template <class X>
auto up(X const& x) {
  return to<device_memory>(x);
}
template <class X>
auto down(X const& x) {
  return to<host_memory>(x);
}

/// Every bit the same?
template <class T, class E>
bool same_bits(tensor<T, E> const& x, tensor<T, E> const& y) {
  return x.extents() == y.extents() && std::equal(x.begin(), x.end(), y.begin());
}

/// |x - y| / |x|, on the host.
template <class T, class E>
double distance(tensor<T, E> const& x, tensor<T, E> const& y) {
  double const size = norm(x), apart = norm(x - y);
  return size > 0 ? apart / size : apart;
}
template <class A, class B>
double distance(std::vector<A> const& x, std::vector<B> const& y) {
  double apart = x.size() == y.size() ? 0 : INFINITY;
  for (std::size_t k = 0; k < x.size() && k < y.size(); ++k)
    apart = std::fmax(apart, double(abs_of(x[k] - y[k])) / (1 + double(abs_of(x[k]))));
  return apart;
}

/// Runs the tests where there is a device; 77, which ctest takes for skipped, elsewhere.
template <class F>
int run(F const& tests) {
  if (!cuda::available()) return 77;
  try {
    tests();
  } catch (std::exception const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return failures() ? 1 : 0;
}

/// Does f throw an E whose message has this text?
template <class E, class F>
bool refuses(char const* part, F const& f) {
  try {
    f();
  } catch (E const& e) {
    if (std::string(e.what()).find(part) != std::string::npos) return true;
    std::fprintf(stderr, "%s\n", e.what());
  }
  return false;
}
}  // namespace on_device

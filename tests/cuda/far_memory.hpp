// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A memory that is not the host's, as tensors see it, with the spaces of the simulated device: what adapter/cuda.cuh has for the device's.
#pragma once

#include <atomic>

#include <sla/exec/cuda/diagonal.cuh>
#include <sla/solve/linear/linear.hpp>
#include <sla/tensor/storage/turned_rows.hpp>

#include "simulated.hpp"

namespace test_far {

/// As tensors of a device see it: no host loop may read it.
struct far_memory : sla::host_memory {
  static constexpr bool is_host = false;
};
struct far_engine : simulated_engine<64> {
  using memory_type = far_memory;
};
inline sla::cuda::basic_immediate<far_engine> immediate_space(far_memory) { return {}; }
template <class T, class S, class F>
sla::tensor<T, sla::range_extents_t<S>, far_memory> perform(sla::op::diagonal_of, sla::sparse_tensor<T, S, F, far_memory> const& A) {
  return sla::tensor<T, sla::range_extents_t<S>, far_memory>(sla::cuda::diagonal_node(A));
}
static_assert(requires(sla::sparse_tensor<double, sla::Matrix, sla::Csr<>, far_memory> const& a) { diagonal_of(a); });  // as a device has its own
inline sla::cuda::basic_space<far_engine> solve_space(far_memory, sla::frame const& f) { return sla::cuda::basic_space<far_engine>(f, 4); }
template <class To, class From>
concept Crosses = !std::same_as<To, From> && (std::same_as<To, far_memory> || std::same_as<From, far_memory>);
/// Between the memories, which are one here.
template <class To, class T, class From>
sla::buffer<T, To> moved(sla::buffer<T, From> const& x) {
  sla::buffer<T, To> y(x.size(), sla::uninitialized);
  std::copy_n(x.data(), x.size(), y.data());
  return y;
}
template <class To>
sla::index_t moved(sla::index_t n) {
  return n;
}
template <class To, class T, class S, class F, class From>
sla::sparse_tensor<T, S, F, To> moved(sla::sparse_tensor<T, S, F, From> const& A) {
  using Pattern = typename F::template pattern<To>;
  return {A.shape(), std::make_shared<Pattern const>(A.pattern().parts([](auto const&... part) { return Pattern{moved<To>(part)...}; })), moved<To>(A.values())};
}
template <class To, class T, class S, class F, class From>
  requires Crosses<To, From>
sla::sparse_tensor<T, S, F, To> convert(sla::conversion_to<To>, sla::sparse_tensor<T, S, F, From> const& A) {
  return moved<To>(A);
}
template <class To, class T, class E, class From>
  requires Crosses<To, From>
sla::tensor<T, E, To> convert(sla::conversion_to<To>, sla::tensor<T, E, From> const& x) {
  return {x.extents(), moved<To>(x.values())};
}
inline std::atomic<int> lists = 0;  ///< made of patterns
template <class Pattern>
auto turned_rows_in(far_memory, Pattern const& p) {
  ++lists;
  using Twin = typename decltype(p.view())::format_type::template pattern<sla::host_memory>;
  return sla::detail::turned_rows_of<far_memory>(p.parts([](auto const&... part) { return Twin{moved<sla::host_memory>(part)...}; }), [](auto const& x) { return moved<far_memory>(x); });
}

} // namespace test_far

template <class T, class S, class F>
struct sla::linear_world<sla::sparse_tensor<T, S, F, test_far::far_memory>> : sla::detail::sparse_world<sla::sparse_tensor<T, S, F, test_far::far_memory>> {
  using operator_type = sparse_tensor<T, S, F, test_far::far_memory>;
  template <class V>
  static auto space(operator_type const& a, V const& b) {
    return solve_space(test_far::far_memory{}, linear_world::layout(a, b));
  }
};


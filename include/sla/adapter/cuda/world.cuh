// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `solve`, `try_solve` and `prepare` of sparse tensors on the device: the driver and the methods are those of solve/linear/linear.hpp.
#pragma once

#include <sla/adapter/cuda/engine.cuh>
#include <sla/adapter/cuda/transfer.cuh>
#include <sla/exec/cuda/diagonal.cuh>
#include <sla/exec/cuda/space.cuh>
#include <sla/exec/evaluate.hpp>
#include <sla/expr/sparse/values.hpp>
#include <sla/solve/linear/choose.hpp>
#include <sla/solve/linear/linear.hpp>
#include <sla/solve/precond/amg/in_memory/levels_in_memory.hpp>
#include <sla/solve/precond/block_jacobi.hpp>
#include <sla/solve/precond/jacobi.hpp>

namespace sla {

namespace cuda {
/// The Space of a device, on the thread's stream, which stays the same while the space is in use (`use_stream`).
using space = basic_space<device_engine>;
/// The space behind plain assignment to tensors on the device.
using immediate = basic_immediate<device_engine>;
} // namespace cuda

inline cuda::immediate immediate_space(device_memory) { return {}; }
/// Where operators of the user's are solved with that work on the device.
inline cuda::space solve_space(device_memory, frame const& f) { return cuda::space(f); }

/// What a report counts for a solve on the device.
inline memory_use memory_in_use(device_memory) { return cuda::memory_in_use(); }

template <class T, class S, class F>
tensor<T, range_extents_t<S>, device_memory> perform(op::diagonal_of, sparse_tensor<T, S, F, device_memory> const& A) {
  return tensor<T, range_extents_t<S>, device_memory>(cuda::diagonal_node(A));
}

/// The inverses of the diagonal blocks of A, on the device: read there, checked and inverted on the host, once per set-up.
/// Errors: those of the host's.
template <class T, class S, class F>
buffer<T, device_memory> inverse_of_blocks(sparse_tensor<T, S, F, device_memory> const& A, index_t size) {
  detail::require_blocks(A.rows(), A.cols(), size);
  vector<T, device_memory> const on_device(cuda::blocks_node(A, size));
  auto blocks = cuda::moved<host_memory>(on_device.values());
  detail::invert_blocks<S::block_rows>(blocks, A.rows(), size);
  return cuda::moved<device_memory>(blocks);
}
/// Made on the host: it is needed once per set-up.
template <index_t P, class T>
buffer<T, device_memory> adjoint_of_blocks(std::integral_constant<index_t, P> block, buffer<T, device_memory> const& blocks, index_t size) {
  return cuda::moved<device_memory>(adjoint_of_blocks(block, cuda::moved<host_memory>(blocks), size));
}

template <class T, class S, class F>
struct linear_world<sparse_tensor<T, S, F, device_memory>> : detail::sparse_world<sparse_tensor<T, S, F, device_memory>> {
  using A = sparse_tensor<T, S, F, device_memory>;
  using operator_type = A;
  using base = detail::sparse_world<A>;

  template <class V>
  static auto space(A const& a, V const& b) {
    return cuda::space(base::layout(a, b));
  }
  static auto probe(A const& a, std::uint64_t seed) { return to<device_memory>(random<T, domain_extents_t<S>>(a.domain(), seed)); }
  /// Made on the host: it is needed once per matrix.
  static A adjoint(A const& a) { return to<device_memory>(adjointed(to<host_memory>(a))); }
  static bool same_pattern(A const& a, A const& a2) {
    return a.shape() == a2.shape() &&
           (a.shared_pattern() == a2.shared_pattern() ||
            sla::same_pattern(*cuda::moved_pattern<F, host_memory>(a.shared_pattern()), *cuda::moved_pattern<F, host_memory>(a2.shared_pattern())));
  }
  template <class P>
  static auto setup(P const& p, A const& a) {
    constexpr bool on_device = !requires { typename P::preconditioner_tag; } || requires { p.setup(a); };
    static_assert(on_device, "sla: solve on a device takes a Krylov method with jacobi{}, block_jacobi{}, chebyshev{}, amg{}, identity{} or a preconditioner of yours; "
                             "ilu0 and factorisations run on the host: bring A and b there with to<host_memory>(...)");
    if constexpr (!on_device)
      return applied_identity{};
    else if constexpr (requires { typename P::preconditioner_tag; })
      return p.setup(a);
    else
      return p;
  }
};

} // namespace sla

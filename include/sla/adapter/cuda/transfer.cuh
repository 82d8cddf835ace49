// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `to<device_memory>(x)` and `to<host_memory>(x)` for tensors and sparse tensors. A pattern travels once: tensors that share
// one on the host share one on the device, and come back to the one they left.
#pragma once

#include <concepts>
#include <map>
#include <memory>
#include <mutex>

#include <sla/adapter/cuda/device.cuh>
#include <sla/tensor/arrange/transpose.hpp>
#include <sla/tensor/build/convert.hpp>
#include <sla/tensor/storage/dense.hpp>
#include <sla/tensor/storage/sparse.hpp>

namespace sla::cuda {

/// From the host to the device, or back.
template <class To, class From>
concept Crosses = (std::same_as<To, device_memory> && std::same_as<From, host_memory>) ||
                  (std::same_as<To, host_memory> && std::same_as<From, device_memory>);

/// The same elements in another memory. Copies to the host are complete when this returns.
template <class To, class T, class From>
buffer<T, To> moved(buffer<T, From> const& x) {
  buffer<T, To> y(x.size(), uninitialized);
  if (x.size() == 0) return y;
  auto const kind = From::is_host ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
  check(cudaMemcpyAsync(y.data(), x.data(), x.bytes(), kind, current_stream()), "cudaMemcpyAsync");
  synchronize();  // either side may be released or written by the host next
  return y;
}

template <class To>
index_t moved(index_t count) {
  return count;
}

/// Which pattern in one memory is which in the other, while both live.
template <class From, class To>
class pattern_twins {
  using key = std::pair<std::weak_ptr<From const>, int>;  // a pattern, and the device
  struct before {
    bool operator()(key const& a, key const& b) const {
      if (a.second != b.second) return a.second < b.second;
      return a.first.owner_before(b.first);
    }
  };

public:
  static std::shared_ptr<To const> find(std::shared_ptr<From const> const& p, int device) {
    std::lock_guard const lock(mutex_);
    auto const at = twins_.find(key{p, device});
    return at == twins_.end() ? nullptr : at->second.lock();
  }
  static void add(std::shared_ptr<From const> const& p, std::shared_ptr<To const> const& twin, int device) {
    std::lock_guard const lock(mutex_);
    std::erase_if(twins_, [](auto const& entry) { return entry.first.first.expired() || entry.second.expired(); });
    twins_[key{p, device}] = twin;
  }

private:
  static inline std::mutex mutex_;
  static inline std::map<key, std::weak_ptr<To const>, before> twins_;
};

/// The pattern in the other memory; the copy of one that was moved before is shared while it lives.
template <class F, class To, class From>
auto moved_pattern(std::shared_ptr<From const> const& p) {
  using Pattern = typename F::template pattern<To>;
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  if (auto known = pattern_twins<From, Pattern>::find(p, device)) return known;
  std::shared_ptr<Pattern const> twin = std::make_shared<Pattern>(p->parts([](auto const&... part) { return Pattern{moved<To>(part)...}; }));
  pattern_twins<From, Pattern>::add(p, twin, device);
  pattern_twins<Pattern, From>::add(twin, p, device);
  return twin;
}

/// A user's array on the device as a tensor, not copied: the user keeps it alive, assignment writes into it.
template <class T, class E = Extents<dyn>>
tensor<std::remove_const_t<T>, E, device_memory> borrow(T* data, std::type_identity_t<E> extents) {
  return {extents, buffer<std::remove_const_t<T>, device_memory>::borrow(data, extents.total())};
}
/// A user's CSR arrays on the device as a matrix, neither copied nor read: rows + 1 row pointers, nnz columns and nnz values. The user
/// keeps them alive, and answers for what `sla::borrow_csr` checks of arrays on the host. Errors: shape_error for null pointers and negative counts.
template <std::integral Ptr, std::integral Col, class T>
auto borrow_csr(index_t rows, index_t cols, index_t nnz, Ptr const* row_ptr, Col const* col, T* values) {
  using Pattern = csr_pattern<Col, Ptr, device_memory>;
  using V = std::remove_const_t<T>;
  auto pattern = std::make_shared<Pattern const>(
      Pattern{rows, cols, buffer<Ptr, device_memory>::borrow(row_ptr, rows + 1), buffer<Col, device_memory>::borrow(col, nnz)});
  return sparse_tensor<V, Matrix, Csr<Col, Ptr>, device_memory>(Matrix(rows, cols), std::move(pattern), buffer<V, device_memory>::borrow(values, nnz));
}

} // namespace sla::cuda

namespace sla {

/// The list that products with the transpose of a pattern read, sorted on the host.
template <class Pattern>
auto turned_rows_in(device_memory, Pattern const& p) {
  using Twin = typename decltype(p.view())::format_type::template pattern<host_memory>;
  auto const here = p.parts([](auto const&... part) { return Twin{cuda::moved<host_memory>(part)...}; });
  return detail::turned_rows_of<device_memory>(here, [](auto const& x) { return cuda::moved<device_memory>(x); });
}

/// x in another memory: `to<device_memory>(x)`, `to<host_memory>(dx)`.
/// Cost: one copy of the elements, complete when this returns. Errors: unavailable_error without a device.
template <class To, class T, class E, class From>
  requires cuda::Crosses<To, From>
tensor<T, E, To> convert(conversion_to<To>, tensor<T, E, From> const& x) {
  return {x.extents(), cuda::moved<To>(x.values())};
}

/// A in another memory. A second tensor on the same pattern, or new values of this one, move their values alone as long as
/// the pattern lives on both sides.
/// Cost: one copy of the values, and of the pattern the first time. Errors: unavailable_error without a device.
template <class To, class T, class S, class F, class From>
  requires cuda::Crosses<To, From>
sparse_tensor<T, S, F, To> convert(conversion_to<To>, sparse_tensor<T, S, F, From> const& A) {
  return {A.shape(), cuda::moved_pattern<F, To>(A.shared_pattern()), cuda::moved<To>(A.values())};
}

/// What is on the device already is copied there.
template <class T, class E>
tensor<T, E, device_memory> convert(conversion_to<device_memory>, tensor<T, E, device_memory> const& x) {
  return x;
}
template <class T, class S, class F>
sparse_tensor<T, S, F, device_memory> convert(conversion_to<device_memory>, sparse_tensor<T, S, F, device_memory> const& A) {
  return A;
}

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: store the adjoint beside it: with_adjoint.to<device_memory>.A., to<device_memory>.adjointed.A...
// alone: nvcc does not name its line, by which errors of programs that are compiled together are told from each other.
#include <memory>

#include <sla/adapter/cuda.cuh>
#include <sla/tensor/problems/problems.hpp>

using namespace sla;

// A diagonal without indices: a format whose pattern keeps no turned rows.
struct OneEach;
struct one_each_view {
  using format_type = OneEach;
  index_t rows, cols;
  SLA_AS_CALLEE
  template <class F>
  SLA_HD void for_row(index_t i, F&& f) const {
    f(i, i);
  }
  SLA_HD index_t entries_before(index_t i) const { return i; }
  template <class Memory>
  auto borrowed(Memory, index_t) const;
};
template <class Memory>
struct one_each_pattern {
  index_t rows = 0, cols = 0;
  static one_each_pattern none(index_t rows, index_t cols) { return {rows, cols}; }
  index_t nnz() const { return rows; }
  index_t slots() const { return rows; }
  std::size_t bytes() const { return 0; }
  one_each_view view() const { return {rows, cols}; }
  template <class F>
  auto parts(F const& f) const {
    return f(rows, cols);
  }
};
template <class Memory>
auto one_each_view::borrowed(Memory, index_t) const {
  return one_each_pattern<Memory>{rows, cols};
}
struct OneEach {
  using col_type = index_t;
  using ptr_type = index_t;
  template <class Memory>
  using pattern = one_each_pattern<Memory>;
  template <class Old>
  static detail::pattern_map<OneEach> remap(Old const& old) {
    buffer<index_t> source(old.rows, uninitialized);
    for (index_t i = 0; i < old.rows; ++i) source[i] = i;
    return {std::make_shared<one_each_pattern<host_memory> const>(one_each_pattern<host_memory>{old.rows, old.cols}), std::move(source)};
  }
};

int main() {
  auto const A = eye<double>(8);
#ifdef FIXED
  auto const dA = to<device_memory>(A);
#else
  auto const dA = to<device_memory>(to<OneEach>(A));
#endif
  auto const u = to<device_memory>(ones<double>(8));
  auto v = u;
  fuse(set(v, adjoint(dA) * u));
  return v.size() == 8 ? 0 : 1;
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: to<F>\(A\): the format has no member `remap`
#include <algorithm>
#include <memory>

#include <sla/tensor.hpp>

struct Full;
struct full_view {
  using format_type = Full;
  sla::index_t rows, cols;
  template <class F>
  void for_row(sla::index_t i, F&& f) const {
    for (sla::index_t j = 0; j < cols; ++j) f(i * cols + j, j);
  }
  sla::index_t entries_before(sla::index_t i) const { return i * cols; }
  template <class Memory>
  auto borrowed(Memory, sla::index_t) const;
};
struct full_pattern {
  sla::index_t rows = 0, cols = 0;
  static full_pattern none(sla::index_t rows, sla::index_t cols) { return {rows, cols}; }
  sla::index_t nnz() const { return rows * cols; }
  sla::index_t slots() const { return rows * cols; }
  std::size_t bytes() const { return 0; }
  full_view view() const { return {rows, cols}; }
  template <class F>
  auto parts(F const& f) const {
    return f(rows, cols);
  }
};
template <class Memory>
auto full_view::borrowed(Memory, sla::index_t) const {
  return full_pattern{rows, cols};
}
struct Full {
  using col_type = sla::index_t;
  using ptr_type = sla::index_t;
  template <class Memory>
  using pattern = full_pattern;
#ifdef FIXED
  template <class Old>
  static sla::detail::pattern_map<Full> remap(Old const& old) {
    sla::buffer<sla::index_t> source(old.rows * old.cols, sla::uninitialized);
    std::fill(source.begin(), source.end(), sla::index_t(-1));
    return {std::make_shared<full_pattern const>(full_pattern{old.rows, old.cols}), std::move(source)};
  }
#endif
};

int main() {
  auto const A = sla::problems::poisson({4, 4});
  auto const full = sla::to<Full>(A);
  return full.nnz() == 256 ? 0 : 1;
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: V is const, and is not written
#include <sla/exec/evaluate.hpp>

namespace {
void write_first(
#ifndef FIXED
    sla::tensor<double, sla::Extents<sla::dyn, 3>> const& V,
#else
    sla::tensor<double, sla::Extents<sla::dyn, 3>>& V,
#endif
    sla::vector<double> const& x) {
  sla::fuse(set(column(V, 0), x));
}
}  // namespace

int main() {
  sla::tensor<double, sla::Extents<sla::dyn, 3>> V({5, 3});
  write_first(V, sla::ones<double>(5));
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: for_each_entry.A, f.: A is one matrix with scalar entries
#include <sla/tensor/build/block.hpp>
#include <sla/tensor/build/build.hpp>

int main() {
  auto const A = sla::to_batch<2>(sla::from_triplets<double>(2, 2, {0}, {1}, {3.0}));
  double sum = 0;
#ifdef FIXED
  for_each_entry(sla::batch_item(A, 1), [&](sla::index_t, sla::index_t, double v) { sum += v; });
#else
  for_each_entry(A, [&](sla::index_t, sla::index_t, double v) { sum += v; });
#endif
  return sum > 0 ? 0 : 1;
}

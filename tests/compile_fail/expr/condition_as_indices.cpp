// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// apart: another program needs the same instance of the sentence
// expect-error: a selection of rows or columns is a range of integers; of a mask, list where it is true
#include <sla/exec/evaluate.hpp>
#include <sla/tensor/arrange/slice.hpp>

int main() {
  auto const A = sla::from_triplets<double>(2, 2, {0, 1}, {0, 1}, {1.0, 2.0});
  auto const b = sla::ones<double>(2);
#ifdef FIXED
  auto const part = select(A, {1}, {0});
#else
  auto const part = select(A, b > 0.5, {0});
#endif
  return int(part.rows()) - 1;
}

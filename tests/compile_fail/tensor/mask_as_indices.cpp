// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// apart: another program needs the same instance of the sentence
// expect-error: a selection of rows or columns is a range of integers; of a mask, list where it is true
#include <vector>

#include <sla/exec/evaluate.hpp>
#include <sla/tensor/arrange/slice.hpp>

int main() {
  auto A = sla::from_triplets<double>(2, 2, {0, 1}, {0, 1}, {1.0, 2.0});
#ifdef FIXED
  std::vector<int> chosen{1};
#else
  std::vector<bool> chosen{false, true};
#endif
  return int(sla::select_rows(A, chosen).rows()) - 1;
}

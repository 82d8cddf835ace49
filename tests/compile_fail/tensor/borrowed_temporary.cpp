// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: borrow_csr does not copy: give it arrays that outlive the result, not temporaries
#include <vector>

#include <sla/tensor/build/borrow.hpp>

int main() {
  std::vector<int> row_ptr{0, 1}, col{0};
  std::vector<double> values{1};
#ifdef FIXED
  auto A = sla::borrow_csr(1, 1, row_ptr, col, values);
#else
  auto A = sla::borrow_csr(1, 1, row_ptr, col, std::vector<double>{1});
#endif
  return int(A.nnz()) - 1;
}

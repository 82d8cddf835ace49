// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: pointers have no lengths: give the number of entries before them
#include <vector>

#include <sla/tensor/build/borrow.hpp>

int main() {
  std::vector<int> row_ptr{0, 1}, col{0};
  std::vector<double> values{1};
#ifdef FIXED
  auto A = sla::borrow_csr(1, 1, 1, row_ptr.data(), col.data(), values.data());
#else
  auto A = sla::borrow_csr(1, 1, row_ptr.data(), col.data(), values.data());
#endif
  return int(A.nnz()) - 1;
}

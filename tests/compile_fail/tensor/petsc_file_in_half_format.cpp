// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: the pattern of the format has no member `none`
#include <sla/tensor.hpp>

#ifdef FIXED
using Half = sla::Csr<>;
#else
struct Half {
  using col_type = int;
  using ptr_type = int;
  template <class Memory>
  struct pattern {
    sla::index_t rows = 0, cols = 0;
  };
};
#endif

int main() { return int(sla::read_petsc<double, Half>("A.petsc").rows()); }

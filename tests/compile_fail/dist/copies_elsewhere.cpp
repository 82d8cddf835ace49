// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: x is Replicate, and the rows of D in another memory
#include <sla/dist/matrix/matrix_product.hpp>

using namespace sla;
using Rows = mesh<axis<"rows">>;

namespace {
struct far_memory : host_memory {
  static constexpr bool is_host = false;
};
}  // namespace

#ifdef FIXED
using Memory = host_memory;
#else
using Memory = far_memory;
#endif

auto of_copies(dsparse_tensor<sparse_tensor<double, Matrix, Csr<>, Memory>, Rows, SparseShard<0>> const& D, distributed<tensor<double, Extents<dyn>, Memory>, Rows, Replicate> const& x) { return D * x; }
int main() {}

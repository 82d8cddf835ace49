// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: this is computed on the host: to<host_memory>\(D\)
#include <sla/dist/matrix/refused_on_ranks.hpp>

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

auto columns_as_rows(dsparse_tensor<sparse_tensor<double, Matrix, Csr<>, Memory>, Rows, SparseShard<0>> const& D) { return transposed(D); }
int main() {}

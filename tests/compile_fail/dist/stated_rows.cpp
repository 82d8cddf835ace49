// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: rows, columns or entries that one axis shards lie as found at run time, not as a stated family says
#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/matrix/matrix_product.hpp>

using namespace sla;
using Mesh = mesh<axis<"rows">>;
#ifdef FIXED
using Rows = SparseShard<0>;
#else
using Rows = SparseShard<0, Even>;
#endif

auto f(sparse_tensor<double> const& A, vector<double> const& x, Mesh const& m) {
  auto const D = distribute<Rows>(A, m);
  return eval(D * distribute(x, D.col_layout()));
}
int main() {}

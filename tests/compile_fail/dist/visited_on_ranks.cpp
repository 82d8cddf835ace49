// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: for_each_entry.D, f. of a distributed matrix
#include <sla/dist/matrix/matrix_functions.hpp>
#include <sla/dist/matrix/refused_on_ranks.hpp>

using namespace sla;
using Mesh = mesh<axis<"rows">>;
using Operator = dsparse_tensor<sparse_tensor<double>, Mesh, SparseShard<0>>;

double total(Operator const& D) {
  double sum = 0;
#ifdef FIXED
  for_each_entry(D.local(), [&](index_t, index_t, double v) { sum += v; });
#else
  for_each_entry(D, [&](index_t, index_t, double v) { sum += v; });
#endif
  return sum;
}
int main() {}

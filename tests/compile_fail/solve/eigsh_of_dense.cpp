// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: of a dense matrix take to<Csr<>>.A.
#include <sla/solve.hpp>
#include <sla/solve/eigen/eigsh.hpp>

int main() {
  sla::matrix<double> const D = sla::to_dense(sla::problems::poisson<double>({4}));
#ifdef FIXED
  return int(sla::eigsh(sla::to<sla::Csr<>>(D), 1, sla::smallest{}).values[0]);
#else
  return int(sla::eigsh(D, 1, sla::smallest{}).values[0]);
#endif
}

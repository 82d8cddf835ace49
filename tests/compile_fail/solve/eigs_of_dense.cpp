// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: of a dense matrix take to<Csr<>>.A.
#include <sla/solve.hpp>
#include <sla/solve/eigen/eigs.hpp>

int main() {
  sla::matrix<double> const D = sla::to_dense(sla::problems::poisson<double>({4}));
#ifdef FIXED
  return int(sla::eigs(sla::to<sla::Csr<>>(D), 1).values.size());
#else
  return int(sla::eigs(D, 1).values.size());
#endif
}

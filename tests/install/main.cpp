// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a new user writes first; the whole door is for those who have part of it compiled already.
#ifdef CONSUMER_USES_instances
#include <sla/sla.hpp>
#else
#include <sla/solve.hpp>
#endif
#ifdef CONSUMER_USES_mpi
#include <sla/adapter/mpi.hpp>
#endif
#ifdef CONSUMER_USES_gzip
#include <sla/adapter/gzip.hpp>
#endif
#ifdef CONSUMER_USES_safetensors
#include <sla/adapter/safetensors.hpp>
#endif
#ifdef CONSUMER_USES_metis
#include <sla/adapter/metis.hpp>
#endif
#ifdef CONSUMER_USES_kahip
#include <sla/adapter/kahip.hpp>
#endif
#ifdef CONSUMER_USES_ptscotch
#include <sla/adapter/ptscotch.hpp>
#endif
#ifdef CONSUMER_USES_suitesparse
#include <sla/adapter/suitesparse.hpp>
#endif
#ifdef CONSUMER_USES_spqr
#include <sla/adapter/spqr.hpp>
#endif
#if defined(CONSUMER_USES_instances) && (defined(EIGEN_SPARSELU_MODULE_H) || defined(EIGEN_SPARSECHOLESKY_MODULE_H))
#error "Eigen's sparse factors are read, although they are in the library of the component instances; its dense algebra is read for eigenvalues"
#endif

int main() {
  auto A = sla::problems::poisson<double>({20, 20});
  sla::vector<double> b = A * sla::ones<double>(A.cols());
  auto x = sla::solve(A, b, sla::cg{}, sla::jacobi{});
#ifdef CONSUMER_USES_metis
  if (sla::partition(A, 4, sla::metis_kway{}).rows() != A.rows()) return 1;
#endif
#ifdef CONSUMER_USES_suitesparse
  x = sla::solve(A, b, sla::cholmod{}) + sla::solve(A, b, sla::umfpack{}) - x;
#endif
#ifdef CONSUMER_USES_spqr
  x = sla::least_squares(A, b, sla::spqr{});
#endif
  return sla::norm(b - A * x) <= 1e-8 * sla::norm(b) ? 0 : 1;
}

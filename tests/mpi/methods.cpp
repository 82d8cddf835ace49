// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MINRES, and Schwarz with overlap, on MPI ranks against one rank with as many subdomains: for strips, and for owners without
// order, of which one rank may have no rows.
#include <sla/adapter/mpi.hpp>
#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/solve/schwarz_on_ranks.hpp>
#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/krylov/gmres.hpp>
#include <sla/solve/krylov/minres.hpp>
#include <sla/solve/precond/ilu0.hpp>
#include <sla/solve/precond/row_norms.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "expect.hpp"
#include "suites/partition.hpp"

using namespace sla;

namespace {
double distance(sla::vector<double> const& x, sla::vector<double> const& y) { return double(norm(x - y)) / double(norm(y)); }

/// The solution, the iterations and the residual are those of one rank, whose preconditioner is `whole`.
template <class D, class Method, class M, class P>
void same_solve(D const& d, sparse_tensor<double> const& A, sla::vector<double> const& b, Method const& method, M const& whole, P const& p, char const* what) {
  auto const one = try_solve(A, b, method, whole);
  auto const [x, report] = try_solve(d, distribute(b, d.row_layout()), method, p);
  expect(one.report.converged() && report.converged(), what);
  expect(std::abs(one.report.iterations() - report.iterations()) <= 1, what);
  expect(distance(gather(x), one.x) <= 1e-7, what);
  expect(double(norm(b - A * gather(x))) <= 1.01e-10 * double(norm(b)), what);
}

template <class Mesh>
void by_owners(Mesh const& m, owner_map const& owners) {
  auto const A = problems::checkerboard<double>({15, 12}, 10.0, 3);
  auto const C = problems::convection_diffusion<double>({15, 12}, {20.0, 5.0});
  auto indefinite = problems::poisson<double>({15, 12});
  auto const diagonal = diagonal_positions(indefinite.pattern());
  for (index_t i = 0; i < indefinite.rows(); ++i) indefinite.values()[diagonal[i]] -= 0.5;
  auto const b = random<double>(A.rows(), 5);

  same_solve(distribute<SparseShard<0>>(indefinite, m, owners), indefinite, b, minres{.rtol = 1e-10}, row_norms{}, row_norms{}, "minres");
  auto const D = distribute<SparseShard<0>>(A, m, owners);
  auto const E = distribute<SparseShard<0>>(C, m, owners);
  auto const db = distribute(b, E.row_layout());
  for (int overlap : {0, 1, 2}) {
    schwarz_options const there{.overlap = overlap}, here{.overlap = overlap, .owner = owners.table()};
    same_solve(D, A, b, cg{.rtol = 1e-10}, schwarz(ilu0{}, here), schwarz(ilu0{}, there), "cg with schwarz");
    same_solve(E, C, b, gmres{.rtol = 1e-10}, schwarz(ilu0{}, here), schwarz(ilu0{}, there), "gmres with schwarz");
    auto const M = schwarz(ilu0{}, there).setup(E);
    auto const one = schwarz(ilu0{}, here).setup(C);
    sla::vector<double> const z = one * b, h = one.adjoint() * b;
    expect(distance(gather(M * db), z) <= 1e-12, "schwarz");
    expect(distance(gather(M.adjoint() * db), h) <= 1e-12, "the adjoint of schwarz");
  }
}
}  // namespace

int main(int argc, char** argv) {
  mpi::environment environment(argc, argv);
  auto world = environment.world();
  mesh<axis<"rows">> const m(world);
  by_owners(m, partition(problems::poisson<double>({15, 12}), world.size(), strips{}));
  by_owners(m, suite::scattered_owners(180, world.size()));
  return failures();
}

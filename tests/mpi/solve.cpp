// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Distributed products, assembly, transposes, norms, a solve and a gradient on MPI, against one rank.
#include <cstdio>

#include <sla/adapter/mpi.hpp>
#include <sla/dist.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "suites/partition.hpp"

using namespace sla;

namespace {
int failures = 0;
void check(double error, double bound, char const* what) {
  if (error <= bound) return;
  ++failures;
  std::printf("%s: %g is above %g\n", what, error, bound);
}
}  // namespace

int main(int argc, char** argv) {
  mpi::environment environment(argc, argv);
  auto world = environment.world();
  auto const A = problems::poisson<double>({30, 20});
  auto const b = random<double>({A.rows()}, 4);
  sla::vector<double> const y = A * b;
  double const size = norm(b);

  mesh<axis<"rows">> m(world);
  auto D = distribute<SparseShard<0>>(A, m, strips{});
  auto db = distribute(b, D.row_layout());
  check(norm(gather(D * db) - y), 1e-12 * size, "product");
  check(norm(gather(transpose(D) * db) - y), 1e-12 * size, "transposed product");
  check(norm(b - A * gather(solve(D, db, cg{.rtol = 1e-10}, jacobi{}))), 1.01e-10 * size, "cg");
  auto const [chosen, report] = try_solve(D, db);
  check(norm(b - A * gather(chosen)), 1.01e-8 * size, "the automatic choice");
  check(report.method == "ldlt" ? 0 : 1, 0, "factors on the first rank");
  check(norm(b - A * gather(solve(D, db, gmres{.rtol = 1e-10}, ilu0{}))), 1.01e-10 * size, "gmres");
  check(norm(b - A * gather(solve(D, db, minres{.rtol = 1e-10}, jacobi{}))), 1.01e-10 * size, "minres");
  check(norm(b - A * gather(solve(D, db, gmres{.rtol = 1e-10}, schwarz(ilu0{}, {.overlap = 1})))), 1.01e-10 * size, "schwarz with overlap");
  auto [value, gradient] = value_and_gradient([&](auto const& x) { return squared_norm(D * x); }, db);
  check(std::abs(value - squared_norm(y)), 1e-10 * value, "value");
  check(norm(gather(gradient) - 2.0 * (A * y)), 1e-11 * size * 64, "gradient");

  auto scattered = distribute<SparseShard<0>>(A, m, suite::scattered_owners(A.rows(), world.size()));
  auto sb = distribute(b, scattered.row_layout());
  check(norm(gather(scattered * sb) - y), 1e-12 * size, "product by owners without order");
  check(norm(b - A * gather(solve(scattered, sb, cg{.rtol = 1e-10}, jacobi{}))), 1.01e-10 * size, "cg by owners without order");

  std::vector<index_t> i, j;  // every rank gives some entries of all rows
  std::vector<double> v;
  for (index_t row = 0; row < A.rows(); ++row)
    A.pattern().view().for_row(row, [&](index_t s, index_t col) {
      if (s % world.size() != world.rank()) return;
      i.push_back(row), j.push_back(col), v.push_back(A.values()[s]);
    });
  auto E = assemble<SparseShard<0>>(m, A.rows(), A.cols(), i, j, v);
  auto const whole = gather(E);
  check(norm(values(whole) - values(A)), 0, "assembly");
  check(norm(gather(transposed(E) * distribute(b, E.row_layout())) - y), 1e-12 * size, "stored transpose");
  check(std::abs(norm1(E) - 8.0) + std::abs(norm(E) - norm(values(A))), 1e-12, "norms");
  auto C = distribute<SparseShard<1>>(A, m);
  auto dy = reduce_scatter<"rows", Shard<0, Part<>>>(C * distribute(b, C.col_layout()));
  check(norm(gather(dy) - y), 1e-12 * size, "columns");

  // What all ranks saved, all but one read, and that one by itself.
  std::string const path = "scratch_mpi_solve_" + std::to_string(world.size());
  save(path, E, db);
  auto part = world.split(world.rank() == 0 && world.size() > 1, world.rank());
  mesh<axis<"rows">> fewer(part);
  auto [E2, b2] = load<decltype(E), decltype(db)>(fewer, path);
  check(norm(gather(E2 * b2) - y), 1e-12 * size, "a product of what was loaded");
  write_petsc(path + ".petsc", E);
  world.barrier();
  check(norm(values(gather(read_petsc<double>(fewer, path + ".petsc"))) - values(A)), 0, "a file of PETSc");
  world.barrier();
  for (auto const& name : {path, path + ".petsc", path + ".1." + std::to_string(world.rank()) + ".safetensors"}) std::remove(name.c_str());

  set_threads(2);  // those of a rank share its loops; the one that started MPI calls it, also between blocks of a pass
  auto const large = problems::poisson<double>({300, 400});
  auto const x = random<double>({large.rows()}, 5);
  auto L = distribute<SparseShard<0>>(large, m, strips{});
  auto dx = distribute(x, L.row_layout());
  sla::vector<double> const of_one = large * x;
  check(norm(gather(L * dx) - of_one), 1e-12 * norm(x), "product on two threads of each rank");
  check(norm(gather(transpose(L) * dx) - of_one), 1e-12 * norm(x), "transposed product on two threads of each rank");
  return failures;
}

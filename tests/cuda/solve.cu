// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `solve` on the device: the host's answers with every method, in batches and with right-hand sides, the same bits for every lag.
#include "same_answer.cuh"

using namespace on_device;

namespace {
void methods() {
  auto const A = problems::poisson<double>({40, 50});
  auto const C = problems::convection_diffusion<double>({40, 50}, 0.5);
  index_t const n = A.rows();
  auto const b = random<double>(n, 1);
  same_answer(A, b, cg{.rtol = 1e-10}, 1e-7, "cg");
  same_answer(C, b, bicgstab{.rtol = 1e-10}, 1e-7, "bicgstab");
  same_answer(A, b, minres{.rtol = 1e-10}, 1e-7, "minres");
  same_answer(to<Dia>(A), random<double, Extents<dyn, dyn>>({n, 3}, 2), cg{.rtol = 1e-10}, 1e-7, "cg with diagonals and right-hand sides");
  same_answer(to_batch(A, 2), random<double, Extents<dyn, dyn>>({2, n}, 3), cg{.rtol = 1e-10}, 1e-7, "cg in a batch");
  auto const F = problems::poisson<float>({40, 50});
  same_answer(F, random<float>(n, 4), cg{.rtol = 1e-4}, 1e-2, "cg in float");
}

void prepared_solves() {
  auto const C = problems::convection_diffusion<double>({20, 30}, 0.5);
  auto const b = random<double>(C.rows(), 1);
  auto const db = up(b);
  auto s = prepare(up(C), bicgstab{.rtol = 1e-10}, jacobi{});
  expect(distance(solve(C, b, bicgstab{.rtol = 1e-10}, jacobi{}), down(s.solve(db))) <= 1e-7, "a prepared solve");
  auto const Ct = transposed(C);
  expect(distance(solve(Ct, b, bicgstab{.rtol = 1e-10}, jacobi{}), down(s.solve_transpose(db))) <= 1e-7, "a transposed solve");
  s.update(up(2.0 * C));
  expect(s.setups() == 2, "new values are set up once");
  expect(distance(solve(2.0 * C, b, bicgstab{.rtol = 1e-10}, jacobi{}), down(s.solve(db))) <= 1e-7, "new values");
}

void bad_input() {
  auto A = problems::poisson<double>({5, 5});
  auto b = ones<double>(25);
  auto const db = up(b);
  b[7] = NAN;
  expect(refuses<value_error>("b(7)", [&] { (void)solve(up(A), up(b), cg{}, jacobi{}); }), "NaN in b is named");
  A.values()[0] = INFINITY;
  expect(refuses<value_error>("A(0, 0)", [&] { (void)solve(up(A), db, cg{}, jacobi{}); }), "infinity in A is named");
  A.values()[0] = 0;
  expect(refuses<value_error>("row 0", [&] { (void)solve(up(A), db, cg{}, jacobi{}); }), "a zero on the diagonal is named");
  A.values()[0] = -4;
  auto const [x, report] = try_solve(up(A), db, cg{}, jacobi{});
  expect(!report.converged(), "an indefinite matrix is reported");
}

void synchronizations() {
  auto const A = problems::poisson<double>({60, 60});
  auto const dA = up(A);
  auto const db = up(ones<double>(A.cols()));
  auto dx = up(zeros<double>(A.cols()));
  auto const M = jacobi{}.setup(dA);
  cuda::space space(frame{1, A.rows(), 1, 1});
  cg{}.run(space, dA, M, db, dx, stop_maker{{.rtol = 1e-8}});
  expect(space.synchronizations() == 1, "one synchronisation, whatever the iterations");
  report r = try_solve(dA, db, cg{}, jacobi{}).report;
  expect(r.bytes >= 6 * 8 * std::size_t(A.rows()), "the report counts device memory");
}
}  // namespace

int main() {
  return run([] {
    methods();
    prepared_solves();
    bad_input();
    synchronizations();
  });
}

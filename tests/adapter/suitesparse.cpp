// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CHOLMOD and UMFPACK: against dense elimination and Eigen's factors, on real matrices; what fails, by its row.
#include <sla/adapter/suitesparse.hpp>

#include <atomic>
#include <limits>
#include <new>
#include <thread>
#include <vector>

#include <sla/grad.hpp>
#include <sla/solve.hpp>
#include <sla/tensor.hpp>

#include "data.hpp"
#include "suites/gradient.hpp"
#include "suites/krylov.hpp"
#include "suites/memory_limit.hpp"

using namespace sla;
using Catch::Matchers::ContainsSubstring;
using complex_t = std::complex<double>;

namespace {
/// x, the transposed and the adjoint solution by `method`, against those by `reference`: where the reference errs, so may they.
template <class T, class Method, class Reference>
void as_good(std::string const& file, Method const& method, Reference const& reference) {
  CAPTURE(file);
  auto const A = read_matrix_market<T>(data(file));
  vector<T> const exact = random<T>(A.cols(), 1);
  auto const s = prepare(A, method);
  auto const other = prepare(A, reference);
  CHECK(s.preconditioner().bytes() > 0);
  auto const check = [&](solution<vector<T>> const& got, solution<vector<T>> const& wanted) {
    INFO(got.report);
    CHECK(got.report.converged());
    CHECK(got.report.residual() <= 1e-10);
    CHECK(double(norm(got.x - exact)) <= 30 * double(norm(wanted.x - exact)) + 1e-12 * double(norm(exact)));
  };
  vector<T> const b = A * exact, bt = transpose(A) * exact, bh = adjoint(A) * exact;
  check(s.try_solve(b), other.try_solve(b));
  check(s.try_solve_transpose(bt), other.try_solve_transpose(bt));
  check(s.try_solve_adjoint(bh), other.try_solve_adjoint(bh));
}
template <class T = double>
auto general(double wind = 3.0) {
  return cast<T>(problems::convection_diffusion({8, 8}, wind));
}
auto const definite = problems::checkerboard({8, 8}, 10.0, 2);
}  // namespace

TEST_CASE("cholmod is as good as cholesky on real matrices, and umfpack as lu") {
  as_good<double>("1138_bus.mtx", cholmod{}, cholesky{});
  as_good<double>("nos5.mtx", cholmod{}, cholesky{});
  as_good<complex_t>("mhd1280b.mtx", cholmod{}, cholesky{});
  as_good<double>("orsirr_1.mtx", umfpack{}, lu{});
  as_good<double>("utm300.mtx", umfpack{}, lu{});
  as_good<complex_t>("young1c.mtx", umfpack{}, lu{});
  as_good<complex_t>("qc324.mtx", umfpack{}, lu{});
}

TEST_CASE("cholmod and umfpack against dense elimination: plain, transposed, adjoint, complex, and with new values") {
  auto const b = random<double>(64, 1);
  auto s = prepare(general(), umfpack{});
  for (double wind : {3.0, 5.0}) {
    if (wind > 3) s.update(general(wind));
    suite::is_dense_solution(general(wind), b, s.solve(b));
    suite::is_dense_solution(transposed(general(wind)), b, s.solve_transpose(b));
  }
  CHECK(s.setups() == 2);
  auto t = prepare(definite, cholmod{});
  suite::is_dense_solution(definite, b, t.solve(b));
  sparse_tensor<double> const twice = 2.0 * definite;
  t.update(twice);
  suite::is_dense_solution(twice, b, t.solve(b));
  suite::is_dense_solution(twice, b, t.solve_transpose(b));

  auto const general_c = suite::complex_problem<bicgstab>(6), hermitian = suite::complex_problem<cg>(6);
  auto const c = random<complex_t>(general_c.rows(), 2), d = random<complex_t>(hermitian.rows(), 3);
  auto const u = prepare(general_c, umfpack{});
  suite::is_dense_solution(general_c, c, u.solve(c));
  suite::is_dense_solution(transposed(general_c), c, u.solve_transpose(c));
  suite::is_dense_solution(adjointed(general_c), c, u.solve_adjoint(c));
  auto const h = prepare(hermitian, cholmod{});
  suite::is_dense_solution(hermitian, d, h.solve(d));
  suite::is_dense_solution(transposed(hermitian), d, h.solve_transpose(d));
  suite::is_dense_solution(hermitian, d, h.solve_adjoint(d));
}

TEST_CASE("they are options of solve: one step, their name, float, blocks and batches, a queue, no rows") {
  auto const b = random<double>(64, 3);
  auto const [x, report] = try_solve(definite, b, cholmod{.rtol = 1e-13});
  CHECK(report.method == "cholmod");
  CHECK(report.residual() <= 1e-13);
  CHECK(report.iterations() <= 2);
  CHECK(try_solve(definite, b, umfpack{}).report.method == "umfpack");
  auto const y = solve(definite, b, cholmod{.rtol = 1e-13}, on([](frame f) { return deferred(f, 4); }));
  CHECK(std::equal(x.begin(), x.end(), y.begin()));
  auto const narrow = cast<float>(definite);
  auto const c = cast<float>(b);
  suite::is_dense_solution(narrow, c, solve(narrow, c, umfpack{.rtol = 1e-5}), 1e-5);
  suite::is_dense_solution(narrow, c, solve(narrow, c, cholmod{.rtol = 1e-5}), 1e-5);

  auto const C = to_blocks<2, 2>(stack_batch(definite, problems::checkerboard({8, 8}, 3.0, 2)));
  auto const many = random<double, Extents<2, dyn, 2, dyn>>({2, C.rows(), 2, 3}, 4);
  suite::is_dense_solution(C, many, solve(C, many, cholmod{}));
  suite::is_dense_solution(C, many, solve(C, many, umfpack{}));
  sparse_tensor<double> const none;
  CHECK(prepare(none, cholmod{}).solve_transpose(vector<double>{}).size() == 0);
  CHECK(prepare(none, umfpack{}).solve_transpose(vector<double>{}).size() == 0);
}

TEST_CASE("supernodes: a cube's factors, whose dense blocks pad them, with new values and after a failure") {
  auto const A = problems::poisson<double>({12, 12, 12});
  auto const exact = random<double>(A.rows(), 5);
  auto s = prepare(A, cholmod{});
  CHECK(double(norm(s.solve(A * exact) - exact)) <= 1e-11 * double(norm(exact)));
  auto bad = A;
  bad.values()[diagonal_positions(A.pattern())[777]] = -6;
  s.update(bad);
  auto const report = s.try_solve(exact).report;
  CHECK(report.reason() == reason::indefinite_matrix);
  CHECK_THAT(report.choice, ContainsSubstring("the pivot of row"));
  s.update(3.0 * A);
  CHECK(double(norm(s.solve(A * exact) - exact / 3.0)) <= 1e-11 * double(norm(exact)));
  auto const C = cast<complex_t>(A);
  auto const exact_c = random<complex_t>(A.rows(), 5);
  CHECK(double(norm(solve(C, C * exact_c, cholmod{}) - exact_c)) <= 1e-11 * double(norm(exact_c)));
}

TEST_CASE("singular and indefinite matrices are named, with the row of the pivot") {
  auto const diagonal = [](double third) { return from_triplets<double>(4, 4, {0, 1, 2, 3, 0, 1, 1, 2, 2, 3}, {0, 1, 2, 3, 1, 0, 2, 1, 3, 2}, {4.0, 4.0, third, 4.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0}); };
  auto const b = random<double>(4, 5);
  auto const indefinite = try_solve(diagonal(-1), b, cholmod{}).report;
  CHECK(indefinite.reason() == reason::indefinite_matrix);
  CHECK(indefinite.choice == "the pivot of row 2 is not positive: use ldlt or lu");
  CHECK_THROWS_AS(solve(diagonal(-1), b, cholmod{}), solve_error);
  suite::is_dense_solution(diagonal(-1), b, solve(diagonal(-1), b, umfpack{}));
  CHECK_THROWS_WITH(solve(general(), random<double>(64, 1), cholmod{}), ContainsSubstring("cholmod: A is not symmetric") && ContainsSubstring("use lu"));

  // rows 1 and 3 are the same, and A cannot be taken apart
  auto const twins = from_triplets<double>(4, 4, {0, 0, 1, 1, 1, 2, 2, 3, 3, 3}, {0, 1, 0, 1, 3, 0, 2, 0, 1, 3}, {4.0, 1.0, 1.0, 2.0, 1.0, 1.0, 4.0, 1.0, 2.0, 1.0});
  auto const singular = try_solve(twins, b, umfpack{}).report;
  CHECK(singular.reason() == reason::singular);
  CHECK((singular.choice == "the pivot of row 1 is zero" || singular.choice == "the pivot of row 3 is zero"));
  auto const singular_c = try_solve(cast<complex_t>(twins), cast<complex_t>(b), umfpack{}).report;
  CHECK((singular_c.choice == "the pivot of row 1 is zero" || singular_c.choice == "the pivot of row 3 is zero"));
  auto const structural = try_solve(read_matrix_market<double>(data("structurally_singular.mtx")), b, umfpack{}).report;
  CHECK(structural.reason() == reason::singular);
  CHECK_THAT(structural.choice, ContainsSubstring("structurally singular"));
  CHECK(try_solve(read_matrix_market<double>(data("numerically_singular.mtx")), b, umfpack{}).report.reason() == reason::singular);

  auto zero = definite;
  for (auto& value : zero.values()) value = 0;
  auto const report = try_solve(stack_batch(definite, zero), random<double, Extents<2, dyn>>({2, 64}, 7), cholmod{}).report;
  CHECK(report.items[0].state == reason::converged);
  CHECK(report.items[1].state == reason::singular);

  auto lost = definite;
  lost.values()[7] = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH(solve(lost, ones<double>(64), cholmod{}), ContainsSubstring("is nan"));
  CHECK_THROWS_WITH(solve(definite, ones<double>(64), umfpack{.rtol = std::numeric_limits<double>::quiet_NaN()}), ContainsSubstring("umfpack{.rtol = nan}"));
  CHECK_THROWS_AS(solve(read_matrix_market<double>(data("ash219.mtx")), ones<double>(219), umfpack{}), shape_error);
  CHECK_THROWS_WITH(detail::require_suitesparse(factorization::cholmod, CHOLMOD_TOO_LARGE, 5), ContainsSubstring("cholmod") && ContainsSubstring("overflows"));
  CHECK_THROWS_WITH(detail::require_suitesparse(factorization::umfpack, UMFPACK_ERROR_internal_error, 5), ContainsSubstring("umfpack") && ContainsSubstring("-911"));
  CHECK_THROWS_AS(detail::require_suitesparse(factorization::umfpack, UMFPACK_ERROR_out_of_memory, 5), std::bad_alloc);
}

namespace {
template <class Method>
void survives(Method const& method) {
  auto const A = problems::poisson<double>({40, 40, 10});
  auto const b = random<double>(A.rows(), 1);
  auto s = prepare(A, method);
  auto const x = s.solve(b);
  int refused = 0;
  for (std::size_t more = 1 << 20; more < (std::size_t(64) << 20); more *= 2) {
    sparse_tensor<double> next = 2.0 * A;
    try {
      suite::memory_limit const limit(more);
      auto aside = prepare(next, method);
    } catch (std::bad_alloc const&) {
      ++refused;
    }
    auto const y = s.solve(b);
    CHECK(std::equal(x.begin(), x.end(), y.begin()));
  }
  CHECK(refused > 0);
}
}  // namespace
TEST_CASE("where memory runs out, they say so as the standard does, and what was made before stays") {
  if (suite::sanitized) return;
  survives(cholmod{});
  survives(umfpack{});
}

namespace {
template <class Method>
void serves_threads(sparse_tensor<double> const& A, Method const& method) {
  auto const s = prepare(A, method);
  std::atomic<int> wrong{0};
  std::vector<std::thread> team;
  for (int k = 0; k < 4; ++k)
    team.emplace_back([&, k] {
      vector<double> const exact = random<double>(A.rows(), std::uint64_t(k));
      for (int n = 0; n < 5; ++n) {
        wrong += double(norm(s.solve(A * exact) - exact)) > 1e-10 * double(norm(exact));
        wrong += double(norm(s.solve_transpose(transpose(A) * exact) - exact)) > 1e-10 * double(norm(exact));
        auto copy = s;
        if (k == 0) copy.update(2.0 * A);
      }
    });
  for (auto& t : team) t.join();
  CHECK(wrong == 0);
  auto moved = s;
  auto const now = std::move(moved);
  CHECK_THROWS_WITH(moved.solve(ones<double>(A.rows())), ContainsSubstring("a prepared solver was moved from"));
}
}  // namespace
TEST_CASE("one const solver serves several threads, and a moved one says so") {
  serves_threads(problems::poisson<double>({9, 9, 9}), cholmod{});
  serves_threads(general(), umfpack{});
}

namespace {
template <class T, class Method>
void check_pairing(sparse_tensor<T> const& A, Method const& method) {
  using V = vector<T>;
  V const b = random<T>(A.rows(), 1), w = random<T>(A.rows(), 2), db = random<T>(A.rows(), 3);
  auto const [value, gA, gb] = value_and_gradient([&](auto const& B, auto const& c) { return real(dot(w, solve(B, c, method))); }, A, b);
  V const x = solve(A, b, method);
  CHECK(value == Approx(gradient::pairing(w, x)).epsilon(1e-10));
  CHECK(gradient::pairing(w, V(solve(A, db, method))) == Approx(gradient::pairing(gb, db)).epsilon(1e-10));
  auto dA = A;
  for (auto& v : dA.values()) v *= 0.3;
  V const moved = dA * x;
  CHECK(-gradient::pairing(w, V(solve(A, moved, method))) == Approx(gradient::pairing(gA, dA)).epsilon(1e-10));
}
}  // namespace
TEST_CASE("gradients through cholmod and umfpack: J^H against J") {
  check_pairing(definite, cholmod{.rtol = 1e-12});
  check_pairing(general(), umfpack{.rtol = 1e-12});
  check_pairing(read_matrix_market<complex_t>(data("young1c.mtx")), umfpack{.rtol = 1e-12});
}

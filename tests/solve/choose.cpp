// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The automatic choice: what it picks, why it says so, how it falls back, and that real matrices are solved.
#include "catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "data.hpp"
#include "suites/grid_problems.hpp"
#include "suites/memory_limit.hpp"

#include <sla/solve/linear/choose.hpp>
#include <sla/solve/linear/linear.hpp>
#include <sla/solve/precond/ic0.hpp>
#include <sla/tensor/files/matrix_market.hpp>
#include <sla/tensor/problems/problems.hpp>
#include <sla/tensor/problems/random_problems.hpp>

using Catch::Matchers::ContainsSubstring;

namespace {
sla::report solve_file(std::string const& name) {
  auto const A = sla::read_matrix_market<double>(data(name));
  sla::vector<double> const b = A * sla::ones<double>(A.cols());
  auto const [x, report] = sla::try_solve(A, b);
  INFO(name << ": " << report);
  CHECK(report.converged());
  CHECK(double(sla::norm(b - A * x)) <= 1e-8 * double(sla::norm(b)));
  return report;
}
sla::report solve_random(sla::sparse_tensor<double> const& A) {
  auto const b = sla::random<double>(A.rows(), 1);
  auto const [x, report] = sla::try_solve(A, b);
  CHECK(double(sla::norm(b - A * x)) <= 1e-8 * double(sla::norm(b)));
  return report;
}
sla::sparse_tensor<double> shift(sla::sparse_tensor<double> A, double by) {
  auto const diagonal = sla::diagonal_positions(A.pattern());
  for (sla::index_t i = 0; i < A.rows(); ++i) A.values()[diagonal[i]] += by;
  return A;
}
/// One diagonal entry in the middle is zero.
sla::sparse_tensor<double> pierced(sla::sparse_tensor<double> A) {
  A.values()[sla::diagonal_positions(A.pattern())[A.rows() / 2]] = 0;
  return A;
}
/// Neither symmetric nor definite: no iteration comes far.
auto const hard_one = shift(sla::problems::convection_diffusion({30, 30}, 0.1), -2.0);
}  // namespace

TEST_CASE("the list follows from the properties") {
  auto list = [](auto const& A) { return sla::choose(sla::properties(A), 1000, sla::detail::guess_of_grid(A)).steps; };
  auto first = [&](auto const& A) { return list(A).front().what; };
  CHECK(first(sla::problems::poisson({10, 10})) == sla::candidate::ldlt);
  CHECK(first(sla::problems::poisson({60, 60})) == sla::candidate::cg_ilu0);
  CHECK(first(sla::problems::convection_diffusion({10, 10}, 1.0)) == sla::candidate::bicgstab_ilu0);
  sla::matrix_properties large;
  large.rows = large.cols = 50'000'000;
  large.entries = 350'000'000;
  large.lower_bandwidth = large.upper_bandwidth = 140'000;
  auto const names = [](auto const& steps) {
    std::string out;
    for (auto const& step : steps) out += sla::detail::name_of(step.what) + std::string(", ");
    return out;
  };
  CHECK(names(sla::choose(large, 1000).steps) == "bicgstab + ilu0, bicgstab + amg, bicgstab + ilu0, gmres + row_norms, ");
  large.hermitian = large.symmetric = large.positive_diagonal = true;
  auto const steps = sla::choose(large, 1000).steps;
  CHECK(names(steps) == "cg + jacobi, cg + amg, cg + ilu0, cg + jacobi, minres + row_norms, ");
  large.opposed_off_diagonal = true;
  CHECK(names(sla::choose(large, 1000).steps) == "cg + amg, cg + jacobi, cg + ilu0, cg + jacobi, minres + row_norms, ");
  auto small = large;  // the bandwidth tells little: the cost of factors in another order is counted when it is their turn
  small.rows = small.cols = 300'000, small.lower_bandwidth = small.upper_bandwidth = 299'999;
  CHECK(names(sla::choose(small, 1000).steps) == "cg + jacobi, cg + amg, ldlt, cg + ilu0, cg + jacobi, minres + row_norms, ");
  // Where products are dense, multigrid takes longer: CG comes first, and goes on for longer.
  auto const dense = sla::choose(small, 1000, sla::detail::grid_guess::none, 10.0).steps, thin = sla::choose(small, 1000).steps;
  CHECK((dense[0].patience > 3 * thin[0].patience && dense[0].least > dense[0].patience / 2 && thin[0].least == 20));
  CHECK(sla::choose(large, 1000, sla::detail::grid_guess::none, 10.0).steps[0].what == sla::candidate::cg_jacobi);
  auto const growth = [](auto const& X) { return sla::detail::growth_of_products(X.pattern().view()); };
  CHECK((growth(sla::problems::poisson({40, 40})) < 2.7 && growth(sla::problems::poisson({12, 12, 12})) < 3.7));
  CHECK(growth(sla::problems::random_sparse(2000, 2000, 10, 1)) > 7);
  large.square = true, large.strictly_dominant_rows = large.dominant_rows = large.rows;  // steps in time
  CHECK(names(sla::choose(large, 1000).steps) == "cg + jacobi, cg + amg, cg + ilu0, cg + jacobi, minres + row_norms, ");
  large.positive_diagonal = false;
  for (auto const& step : sla::choose(large, 1000).steps) CHECK(step.what == sla::candidate::minres_row_norms);
}

TEST_CASE("the report says what was chosen, why, and what was tried") {
  auto const spd = solve_random(sla::problems::poisson({12, 12, 12}));
  CHECK(spd.method == "cg");
  CHECK_THAT(spd.choice, ContainsSubstring("symmetric, positive definite"));
  auto const hard = solve_random(sla::problems::anisotropic({60, 60}, 1e-5));
  CHECK(hard.converged());
  auto const general = solve_random(sla::problems::convection_diffusion({50, 50}, 1.0));
  CHECK(general.method == "bicgstab");
  CHECK_THAT(general.choice, ContainsSubstring("not symmetric"));

  auto const fallen = solve_random(hard_one);
  CHECK(fallen.method == "lu");
  CHECK_THAT(fallen.choice, ContainsSubstring("tried: bicgstab + ilu0"));
}

TEST_CASE("matrices in any order, graphs, jumps and transport end with multigrid or factors, not with thousands of steps") {
  auto const ends = [](auto const& A, int most) {
    auto const report = solve_random(A);
    INFO(report);
    CHECK(report.converged());
    CHECK(report.iterations() <= most);
    return report;
  };
  auto const jumps = ends(suite::shuffled(sla::problems::checkerboard({150, 150}, 1e6, 5)), 60);  // 2000 steps and more with jacobi, ilu0
  CHECK_THAT(jumps.choice, ContainsSubstring("tried: cg + jacobi: iteration limit after 20"));
  CHECK(jumps.preconditioner.starts_with("amg"));
  ends(suite::shuffled(sla::problems::anisotropic({70, 70}, 1e-3)), 60);
  CHECK(ends(suite::shuffled(sla::problems::convection_diffusion({150, 150}, 1.0)), 60).method == "bicgstab");
  // Steps in time, on a grid and in another order: as many steps of Jacobi as they need.
  auto const step = shift(sla::problems::poisson({80, 80}), 4.0);
  CHECK(ends(step, 40).choice.find("tried") == std::string::npos);
  auto const A = suite::shuffled(shift(sla::problems::poisson({80, 80}), 0.05));
  CHECK(ends(A, 300).preconditioner == "jacobi");
  CHECK_THAT(solve_random(A).choice, !ContainsSubstring("tried"));
  // Factors of points in space are not even counted: their middle is wide.
  auto const space = ends(suite::shuffled(sla::problems::poisson({24, 24, 24})), 120);
  CHECK(space.method == "cg");
}

TEST_CASE("a matrix whose narrow band has no holes is solved by incomplete factors, which are its factors, at any size") {
  auto const is_exact = [](auto const& A, char const* method) {
    auto const report = solve_random(A);
    INFO(report);
    CHECK((report.converged() && report.method == method && report.preconditioner == "ilu0" && report.iterations() <= 2));
    CHECK_THAT(report.choice, !ContainsSubstring("tried"));
  };
  is_exact(sla::problems::poisson({420000}), "cg");  // multigrid takes eight times as long
  is_exact(sla::problems::convection_diffusion({50000}, 0.1), "bicgstab");
  auto const second = sla::problems::poisson({210000});
  is_exact(sla::sparse_tensor<double>(second * second + sla::eye<double>(210000)), "cg");  // five diagonals
}

TEST_CASE("what is tried first is what measurements say is near the best: of strips, of transport, of graphs, of few rows") {
  auto const is_first = [](auto const& A, char const* method, char const* preconditioner) {
    sla::vector<double> const b = A * sla::random<double>(A.cols(), 4);
    auto const report = sla::try_solve(A, b).report;
    INFO(report);
    CHECK((report.converged() && report.method == method && report.preconditioner.starts_with(preconditioner)));
    CHECK_THAT(report.choice, !ContainsSubstring("tried"));
  };
  is_first(sla::problems::poisson({5, 8000}), "cg", "ilu0");
  is_first(sla::problems::convection_diffusion({110, 110}, 0.1), "bicgstab", "amg");
  is_first(sla::problems::convection_diffusion({110, 110}, 1.0), "bicgstab", "amg");
  is_first(sla::problems::convection_diffusion({110, 110}, 3.0), "bicgstab", "ilu0");
  is_first(shift(sla::problems::convection_diffusion({110, 110}, 0.1), 0.1), "bicgstab", "ilu0");
  auto graph = suite::shuffled(sla::problems::poisson({110, 110}));
  auto const ones = sla::ones<double>(graph.rows());
  sla::vector<double> const sums = graph * ones;
  auto const diagonal = sla::diagonal_positions(graph.pattern());
  for (sla::index_t i = 0; i < graph.rows(); ++i) graph.values()[diagonal[i]] -= sums[i];
  is_first(graph, "cg", "amg");
  is_first(sla::problems::poisson({38, 38}), "cg", "ilu0");  // of few rows with many entries
  auto const plate = sla::problems::poisson({38, 38});
  auto const hard = solve_random(sla::sparse_tensor<double>(plate * plate));
  CHECK(hard.method == "ldlt");
  CHECK_THAT(hard.choice, ContainsSubstring("of few rows; tried: cg + ilu0: "));
}

TEST_CASE("of LU, whose rows are exchanged, factors are counted of rows that stand in an order with a whole diagonal") {
  auto const A = sla::problems::convection_diffusion({60, 60}, 1.0);
  std::vector<sla::index_t> i, j;
  std::vector<double> v;
  for (sla::index_t r = 0; r < A.rows(); ++r)
    A.pattern().view().for_row(r, [&](sla::index_t s, sla::index_t c) { i.push_back((r * 1009 + 5) % A.rows()), j.push_back(c), v.push_back(A.values()[s]); });
  auto const B = sla::from_triplets<double>(A.rows(), A.rows(), i, j, v);
  auto const plain = sla::detail::cost_of_factors(A, 1e12), mixed = sla::detail::cost_of_factors(B, 1e12, true);
  CHECK(mixed.operations < 20 * plain.operations);
  CHECK(sla::detail::cost_of_factors(B, 1e12).operations > 100 * plain.operations);
  CHECK(sla::detail::cost_of_factors(A, 1e12, true).operations == plain.operations);
  auto const report = solve_random(B);
  INFO(report);
  CHECK((report.converged() && report.method == "lu"));
  CHECK_THAT(report.choice, ContainsSubstring("zeros on the diagonal") && !ContainsSubstring("tried"));  // 300 iterations of gmres before
}

TEST_CASE("a nearly full matrix is solved by dense factors, or by the few iterations that it needs, not by ILU(0)") {
  auto const full = [](sla::index_t n) { return sla::to<sla::Csr<>>(sla::random<double, sla::Extents<sla::dyn, sla::dyn>>({n, n}, 3)); };
  CHECK(solve_random(full(60)).method == "lu");
  sla::sparse_tensor<double> const definite = full(60) * transpose(full(60)) + sla::eye<double>(60);
  CHECK(solve_random(definite).method == "ldlt");
  CHECK(solve_random(eval(definite - 20.0 * sla::eye<double>(60))).method == "lu");
  auto const large = full(1600);
  auto const report = solve_random(large);
  CHECK(report.method == "lu");
  CHECK_THAT(report.choice, ContainsSubstring("nearly full; tried: gmres + row_norms: iteration limit after 20"));
  CHECK(solve_random(shift(large, 60.0)).method == "gmres");
  auto const mixed = solve_random(eval(definite - 20.0 * sla::eye<double>(60)));
  CHECK_THAT(mixed.choice, ContainsSubstring("symmetric, not definite, nearly full") || ContainsSubstring("symmetric, positive diagonal, nearly full"));
  CHECK_THAT(solve_random(eval(-1.0 * definite)).choice, ContainsSubstring("symmetric, not definite, nearly full"));
  auto singular = full(200);  // no factors, and b is not in the range
  for (sla::index_t i = 0; i < 200; ++i) singular.values()[200 * i + 7] = 0;
  auto const left = sla::try_solve(singular, sla::ones<double>(200)).report;
  CHECK((!left.converged() && left.iterations() <= 1000));  // 10000 of gmres before
}

TEST_CASE("where couplings of transport point one way, multigrid is smoothed by incomplete factors") {
  for (double const eps : {1e-3, 1e-6}) {
    auto const report = solve_random(suite::recirculating(60, eps));
    INFO(report);
    CHECK((report.converged() && report.method == "bicgstab" && report.preconditioner.starts_with("amg")));
    CHECK(report.iterations() <= 6);  // 21 and 26 with SPAI-0
  }
  auto const asymmetry = [](auto const& A) { return sla::detail::asymmetry(A.pattern().view(), A.values().data()); };
  for (double const peclet : {0.1, 1.0, 10.0}) CHECK(asymmetry(sla::problems::convection_diffusion({30, 20}, peclet)) == Approx(peclet / (2 + peclet)).epsilon(1e-12));
  CHECK(asymmetry(sla::problems::poisson({30, 20})) == 0);
  CHECK(asymmetry(sla::from_triplets<double>(2, 2, {0, 0, 1}, {0, 1, 1}, {1.0, 1.0, 1.0})) == 1);
}

TEST_CASE("iterations give up where they foresee more steps than their patience, by the slower half of their steps") {
  auto const gives_up = [](int patience, auto const& residual) {
    sla::detail::foresight ahead(1e-8, patience);
    for (int step = 0; step < 200; ++step)
      if (ahead.gives_up({{sla::reason::running, step, residual(step)}})) return step;
    return -1;
  };
  auto const tenths = [](int step) { return std::pow(10, -0.1 * step); };  // 60 steps are left after 20
  CHECK(gives_up(61, tenths) == -1);
  CHECK(gives_up(59, tenths) == 20);
  CHECK(gives_up(1000, [](int) { return 0.5; }) == 20);
  CHECK(gives_up(1000, [](int step) { return 1.0 + step; }) == 20);
  CHECK(gives_up(200, [&](int step) { return tenths((std::min)(step, 30)); }) > 30);
  sla::detail::foresight later(1e-8, 100, {}, 30);
  int step = 0;
  while (!later.gives_up({{sla::reason::running, step, 1.0}})) ++step;
  CHECK(step == 30);
  sla::detail::foresight two(1e-8, 100);  // the worse of two items counts, and one that has stopped does not
  bool given_up = false;
  for (int step = 0; step <= 20; ++step) given_up = two.gives_up({{sla::reason::running, step, tenths(step)}, {sla::reason::stagnated, step, 1.0}});
  CHECK_FALSE(given_up);
  CHECK(two.gives_up({{sla::reason::running, 21, tenths(20)}, {sla::reason::running, 21, 1.0}}) == false);  // what was reached counts
  // an absolute tolerance counts where it is the looser one, of each item: 40 steps are left to 1e-6 where 1e-8 takes 60
  for (double absolute : {1e-6, 1e-12}) {
    sla::detail::foresight loose(1e-8, 50, {absolute});
    for (int step = 0; step <= 20; ++step) given_up = loose.gives_up({{sla::reason::running, step, tenths(step)}});
    CHECK(given_up == (absolute < 1e-8));
  }
}

TEST_CASE("a loose absolute tolerance is foreseen as the steps that it takes: Jacobi goes on where the relative one would have it given up") {
  auto const A = suite::shuffled(sla::problems::checkerboard({150, 150}, 1e6, 5));
  auto const b = sla::random<double>(A.rows(), 1);
  auto const loose = sla::try_solve(A, b, sla::automatic{.atol = 5e-2 * sla::norm(b)});
  INFO(loose.report);
  CHECK_THAT(loose.report.choice, !ContainsSubstring("tried"));
  CHECK(loose.report.converged());
  CHECK(loose.report.preconditioner == "jacobi");
  CHECK(double(sla::norm(A * loose.x - b)) <= 5e-2 * double(sla::norm(b)));
}

TEST_CASE("a solution in float has a default that its digits reach; a tolerance that was asked for stays; where rounding is all that is left, nothing else is tried") {
  auto const A = sla::problems::poisson<float>({60, 60});
  auto const b = sla::random<float>(A.rows(), 3);
  auto const converges = [&](sla::report const& r) {
    INFO(r);
    CHECK(r.converged());
    CHECK(r.rtol == 1e-5);
    CHECK(r.residual() <= 1e-5);
  };
  converges(sla::try_solve(A, b).report);
  converges(sla::try_solve(A, b, sla::cg{}).report);
  converges(sla::prepare(A).try_solve(b).report);
  sla::with({.max_iterations = 500}, [&] { converges(sla::try_solve(A, b, sla::cg{}).report); });
  CHECK(sla::with({.rtol = 1e-4}, [&] { return sla::try_solve(A, b, sla::cg{}); }).report.rtol == 1e-4);
  CHECK(sla::try_solve(A, sla::cast<double>(b), sla::cg{}).report.rtol == 1e-8);  // x is double

  auto const asked = sla::try_solve(A, b, sla::cg{.rtol = 1e-8}).report;
  CHECK(asked.rtol == 1e-8);
  CHECK(asked.reason() == sla::reason::stagnated);
  CHECK(asked.limited_by_rounding);
  CHECK_THAT(asked.choice, ContainsSubstring("x is float, which holds seven digits: ask for less, such as .rtol = 1e-0") && ContainsSubstring("or solve with cast<double>(b)"));

  auto const L = sla::problems::poisson<float>({150, 150});
  auto const smooth = sla::try_solve(L, sla::ones<float>(L.rows())).report;  // |A| |x| is a thousand times |b|
  INFO(smooth);
  CHECK(smooth.limited_by_rounding);
  CHECK(smooth.residual() < 1e-3);
  CHECK_THAT(smooth.choice, !ContainsSubstring("tried") && ContainsSubstring(".rtol = 0.001"));

  std::vector<sla::index_t> i, j;
  std::vector<double> entries;
  for (sla::index_t n = 0; n < 144; ++n) i.push_back(n / 12), j.push_back(n % 12), entries.push_back(1.0 / double(n / 12 + n % 12 + 1));
  CHECK_THAT(sla::try_solve(sla::from_triplets<double>(12, 12, i, j, entries), sla::random<double>(12, 1)).report.choice, ContainsSubstring("their rounding alone leaves so much, for A is nearly singular"));
}
TEST_CASE("the middle of a graph is about as wide as its grid") {
  auto const middle = [](auto const& A) { return sla::detail::rows_of_levels(A.pattern().view()); };
  CHECK(middle(sla::problems::poisson({2000})) == std::pair<sla::index_t, sla::index_t>(1, 1));
  auto const [narrow, wide] = middle(suite::shuffled(sla::problems::poisson({20, 90})));
  CHECK((10 <= narrow && narrow <= wide && wide <= 20));
  CHECK(middle(sla::problems::poisson({20, 20, 20})).first >= 200);
  CHECK(middle(sla::from_triplets<double>(3, 3, {0, 1, 2}, {0, 1, 2}, {1.0, 1.0, 1.0})) == std::pair<sla::index_t, sla::index_t>(0, 3));
}

TEST_CASE("a row that is coupled to all others keeps multigrid away, whose products it would make dense") {
  std::vector<sla::index_t> i, j;
  std::vector<double> v;
  sla::index_t const n = 6000;
  auto const couple = [&](sla::index_t a, sla::index_t c, double w) {
    for (auto const& [row, col, value] : {std::tuple(a, c, -w), std::tuple(c, a, -w), std::tuple(a, a, w), std::tuple(c, c, w)}) i.push_back(row), j.push_back(col), v.push_back(value);
  };
  for (sla::index_t k = 1; k < n; ++k) couple(0, k, 1e-5), couple(k, k == n - 1 ? 0 : k + 1, 1.0);
  i.push_back(n / 2), j.push_back(n / 2), v.push_back(1e-2);
  auto const takes_multigrid = [](auto const& A) {
    auto const steps = sla::choose(sla::properties(A), 1000).steps;
    return std::any_of(steps.begin(), steps.end(), [](auto const& s) { return s.what == sla::candidate::cg_amg; });
  };
  auto const A = sla::from_triplets<double>(n, n, i, j, v);
  CHECK(sla::properties(A).opposed_off_diagonal);
  CHECK(!takes_multigrid(A));
  CHECK(takes_multigrid(suite::shuffled(sla::problems::poisson({80, 75}))));
  CHECK(solve_random(A).converged());
}

TEST_CASE("new values keep what was set up only where the list asks for the same: no limit of another step") {
  auto A = shift(suite::shuffled(sla::problems::poisson({17, 17, 17})), 6.0);
  auto s = sla::prepare(A);
  auto const b = sla::random<double>(A.rows(), 1);
  CHECK(s.try_solve(b).report.method == "cg");  // at most 40 steps
  A = shift(A, -6.0);
  sla::index_t far = A.pattern().row_ptr[0];
  while (A.pattern().col[far] == 0) ++far;  // one pair of couplings of the other sign
  auto const other = A.pattern().col[far];
  A.values()[far] = 1e-3;
  for (auto t = A.pattern().row_ptr[other]; t < A.pattern().row_ptr[other + 1]; ++t)
    if (A.pattern().col[t] == 0) A.values()[t] = 1e-3;
  s.update(A);
  auto const report = s.try_solve(b).report;
  INFO(report);
  CHECK(report.converged());
  CHECK(!ContainsSubstring("tried").match(report.choice));
}

TEST_CASE("an assembled matrix is symmetric, though sums that cancel are rounded in another order below the diagonal") {
  std::vector<int> i, j;
  std::vector<double> v;
  int const n = 2000;
  auto add = [&](int row, int col, double value) { i.push_back(row), j.push_back(col), v.push_back(value); };
  double const parts[] = {0.1, 0.2, -0.3};
  for (int k = 0; k < n; ++k) {
    add(k, k, 4);
    if (k + 1 < n) add(k, k + 1, -1), add(k + 1, k, -1);
    if (k + 50 < n)
      for (int e = 0; e < 3; ++e) add(k, k + 50, parts[e]), add(k + 50, k, parts[2 - e]);
  }
  auto const A = sla::from_triplets<double>(n, n, i, j, v);
  auto const report = solve_random(A);
  INFO(report);
  CHECK(report.method == "cg");
  CHECK_THAT(report.choice, ContainsSubstring("symmetric, positive definite"));
  auto const b = sla::random<double>(n, 2);
  for (auto const& x : {sla::solve(A, b, sla::cholesky{}), sla::solve(A, b, sla::ldlt{}), sla::solve(A, b, sla::cg{}, sla::ic0{})})
    CHECK(double(sla::norm(b - A * x)) <= 1e-8 * double(sla::norm(b)));
  auto B = A;  // beyond rounding it still is refused
  B.values()[2] += 1e-9;
  CHECK_THROWS_WITH(sla::solve(B, b, sla::cg{}, sla::ic0{}), ContainsSubstring("not symmetric"));
}

TEST_CASE("symmetric matrices of both signs: minres in three dimensions, factors in two, once cg has met that or the diagonal tells") {
  auto const met = solve_random(shift(sla::problems::poisson({17, 17, 17}), -0.4));
  CHECK(met.method == "minres");
  CHECK_THAT(met.choice, ContainsSubstring("tried: cg + ilu0: matrix is not positive definite"));
  CHECK(solve_random(shift(sla::problems::poisson({50, 50}), -0.4)).method == "ldlt");
  auto const seen = solve_random(shift(sla::problems::poisson({17, 17, 17}), -12.3));  // of one sign, the other one
  CHECK(seen.method == "minres");
  CHECK_THAT(seen.choice, ContainsSubstring("not definite") && !ContainsSubstring("tried"));
}

TEST_CASE("real matrices are solved to 1e-8") {
  for (char const* name : {"1138_bus.mtx", "nos5.mtx", "orsirr_1.mtx", "utm300.mtx"}) solve_file(name);
}
TEST_CASE("singular matrices are named, unless b is in their range") {
  for (char const* name : {"structurally_singular.mtx", "numerically_singular.mtx"}) {
    auto const A = sla::read_matrix_market<double>(data(name));
    CHECK(sla::try_solve(A, sla::random<double>(A.rows(), 1)).report.reason() == sla::reason::singular);
  }
  auto L = sla::problems::poisson({50, 50});  // a graph Laplacian: row sums are zero
  auto const diagonal = sla::diagonal_positions(L.pattern());
  for (sla::index_t i = 0; i < L.rows(); ++i) L.values()[diagonal[i]] = double(L.pattern().row_ptr[i + 1] - L.pattern().row_ptr[i] - 1);
  sla::vector<double> const b = L * sla::random<double>(L.rows(), 2);
  auto const [x, report] = sla::try_solve(L, b);
  CHECK(report.converged());
  CHECK_THAT(report.choice, ContainsSubstring("semidefinite"));
  auto const outside = sla::try_solve(L, sla::ones<double>(L.rows())).report;  // of those, the null vector is the farthest from it
  CHECK(outside.reason() == sla::reason::singular);
  CHECK(outside.residual() <= 1.01);
  for (sla::index_t n : {10, 200}) {  // whose steps of cg have no curvature but rounding: their residual grows
    sla::triplets<double> t(n, n);
    for (sla::index_t i = 0; i + 1 < n; ++i) t.add_block({i, i + 1}, {i, i + 1}, {1.0, -1.0, -1.0, 1.0});
    auto const chain = t.build();
    for (auto const& f : {sla::ones<double>(n), sla::random<double>(n, 3)}) {
      auto const least = std::abs(sla::sum(f)) / std::sqrt(double(n)) / double(sla::norm(f));  // the part of f outside of the range; minres takes the least residual by the norms of rows
      auto const [y, r] = sla::try_solve(chain, f);
      INFO(r);
      CHECK(r.reason() == sla::reason::singular);
      CHECK(double(sla::norm(f - chain * y)) <= (1.05 * least + 1e-8) * double(sla::norm(f)));
      auto const alone = sla::try_solve(chain, f, sla::cg{}).report;
      INFO(alone);
      CHECK(!alone.converged());
      CHECK(alone.iterations() <= 3 * n);
    }
  }
}

TEST_CASE("a right-hand side that is solved alone is solved beside one that has no solution") {
  int alone = 0, unsolved = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {  // the last row is the sum of the others: singular, but for rounding
    sla::index_t const n = 6 + sla::index_t(seed % 12);
    auto const numbers = sla::random<double>(6 * n, seed);
    sla::triplets<double> t(n, n);
    for (sla::index_t i = 0; i + 1 < n; ++i)
      for (int e = 0; e < 3; ++e) {
        auto const at = 6 * i + 2 * e;
        sla::index_t const j = sla::index_t((numbers[at] + 1) / 2 * double(n)) % n;
        t.add(i, j, numbers[at + 1]), t.add(n - 1, j, numbers[at + 1]);
      }
    auto const A = t.build();
    sla::vector<double> const b = A * sla::random<double>(n, seed + 100);
    sla::matrix<double> both(sla::Extents<sla::dyn, sla::dyn>{n, 2});
    auto const outside = sla::random<double>(n, seed + 200);
    for (sla::index_t i = 0; i < n; ++i) both(i, 0) = b[i], both(i, 1) = outside[i];
    auto const one = sla::try_solve(A, b).report;
    auto const two = sla::try_solve(A, both);
    INFO(seed << ": " << one << '\n' << two.report);
    if (!one.converged()) continue;
    ++alone, unsolved += !two.report.converged();
    CHECK(two.report.items[0].state == sla::reason::converged);
    CHECK(double(sla::norm(b - A * column(two.x, 0))) <= 1.01e-8 * double(sla::norm(b)));
  }
  CHECK((alone >= 10 && unsolved >= 10));
  sla::report one_of_two, none_of_two;  // what is kept of two solves that failed
  auto const is_nearer = [A = sla::eye<double>(2)](sla::report const& now, sla::report const& before) { return sla::detail::told(A, now).is_nearer(sla::detail::told(A, before)); };
  one_of_two.items = {{sla::reason::converged, 1, 1e-12}, {sla::reason::stagnated, 1, 5.0}};
  none_of_two.items = {{sla::reason::stagnated, 9, 0.3}, {sla::reason::stagnated, 9, 0.2}};
  CHECK((is_nearer(one_of_two, none_of_two) && !is_nearer(none_of_two, one_of_two)));
  one_of_two.items[0] = {sla::reason::stagnated, 1, 0.1};
  CHECK((!is_nearer(one_of_two, none_of_two) && is_nearer(none_of_two, one_of_two)));
}
TEST_CASE("iterations that get nowhere end soon: bicgstab of few rows before factors, gmres of a singular matrix") {
  sla::triplets<double> arrow(300, 300), singular(150, 150);
  auto const numbers = sla::random<double>(900, 3);
  for (sla::index_t i = 0; i < 300; ++i) {
    arrow.add(i, i, 1.1 + numbers[i]);
    if (i > 0) arrow.add(0, i, numbers[300 + i]), arrow.add(i, 0, numbers[600 + i]);
  }
  auto const quick = solve_random(arrow.build());
  INFO(quick);
  CHECK(quick.method == "lu");
  CHECK_THAT(quick.choice, ContainsSubstring("tried: bicgstab + ilu0: iteration limit after 2"));  // of 400
  for (sla::index_t i = 0; i < 149; ++i) singular.add(i, i + 1, 1.0 + 0.5 * numbers[i]), singular.add(i, (7 * i) % 150, numbers[300 + i]);
  auto const A = singular.build();
  auto const [x, report] = sla::try_solve(A, sla::ones<double>(150));  // its last row is zero
  INFO(report);
  CHECK(report.reason() == sla::reason::singular);
  CHECK(report.iterations() <= 400);
  // GMRES is the last of the list, where nothing else solves what is singular and consistent
  auto const same = sla::from_triplets<double>(2, 2, {0, 0, 1, 1}, {0, 1, 0, 1}, {1.0, 2.0, 1.0, 2.0});
  auto const consistent = sla::try_solve(same, sla::ones<double>(2));
  INFO(consistent.report);
  CHECK((consistent.report.converged() && consistent.report.method == "gmres"));
  CHECK(double(sla::norm_inf(same * consistent.x - 1.0)) <= 1e-8);
}

TEST_CASE("factors whose count is dear wait for the iterations, also where the diagonal has a zero") {
  // Random patterns fill up: 1e9 multiplications, though there are few rows.
  auto const random = solve_random(pierced(sla::problems::random_dominant<double>(3000, 8, 1)));
  INFO(random);
  CHECK(random.method == "gmres");
  CHECK_THAT(random.choice, ContainsSubstring("zeros on the diagonal") && !ContainsSubstring("tried"));
  auto const grid = solve_random(pierced(sla::problems::convection_diffusion({50, 50}, 1.0)));
  INFO(grid);
  CHECK(grid.method == "lu");
  // the count is that of the factors
  auto const A = sla::problems::poisson({40, 40});
  auto const cost = sla::detail::cost_of_factors(A, 1e12);
  CHECK(double(sla::ldlt(A).preconditioner().bytes()) == Approx(12 * cost.entries));
  CHECK(sla::detail::cost_of_factors(A, 1000).operations < 2000);
}

TEST_CASE("dear factors wait in their order") {
  auto steps = sla::choose(sla::properties(sla::problems::poisson({50, 50})), 1000).steps;
  auto const at = std::size_t(std::find_if(steps.begin(), steps.end(), [](auto const& s) { return s.what == sla::candidate::ldlt; }) - steps.begin());
  auto const before = steps;
  REQUIRE(steps[at].what == sla::candidate::ldlt);
  CHECK(sla::detail::let_iterations_pass(steps, at, 2.0, 0.01));
  REQUIRE(steps.size() == before.size());
  for (std::size_t n = 0; n < at; ++n) CHECK((steps[n].what == before[n].what && steps[n].limit == before[n].limit));
  CHECK(steps[at].what == sla::candidate::cg_jacobi);
  CHECK(steps[at].limit == 200);  // as many seconds
  CHECK(steps[at + 1].what == sla::candidate::ldlt);
  CHECK(steps[at + 2].what == sla::candidate::lu);
  CHECK_FALSE(sla::detail::let_iterations_pass(steps, at + 1, 2.0, 0.01));
  auto general = sla::choose(sla::properties(sla::problems::convection_diffusion({50, 50}, 1.0)), 1000).steps;
  CHECK(sla::detail::let_iterations_pass(general, 1, 2.0, 0.01));
  CHECK((general[1].what == sla::candidate::bicgstab_ilu0 && general[2].what == sla::candidate::lu));
  CHECK((general[3].what == sla::candidate::gmres_row_norms && general[3].limit == 1000));  // after the factors, as long as it likes
}

TEST_CASE("no factors of more entries than their indices count") {
  sla::matrix_properties p;
  p.rows = p.cols = 10'000'000;
  p.entries = sla::index_t(std::numeric_limits<std::int32_t>::max()) + 1;
  p.lower_bandwidth = p.upper_bandwidth = 100;
  auto const check = [&] {
    for (auto const& step : sla::choose(p, 1000).steps) CHECK_FALSE(sla::detail::is_factors(step.what));
    --p.entries;
    auto const steps = sla::choose(p, 1000).steps;
    CHECK(std::any_of(steps.begin(), steps.end(), [](auto const& s) { return sla::detail::is_factors(s.what); }));
    ++p.entries;
  };
  check();
  p.zero_diagonals = 1;
  check();
  p.hermitian = p.symmetric = true;
  check();
  p.zero_diagonals = 0, p.positive_diagonal = true;
  check();
}

TEST_CASE("of a singular matrix no method is advised that was tried") {
  auto const A = sla::from_triplets<double>(4, 4, {0, 0, 1, 1, 2, 2, 3, 3}, {0, 1, 0, 1, 2, 3, 2, 3}, {1.0, -1.0, -1.0, 1.0, -1.0, 1.0, 1.0, -1.0});
  auto const report = try_solve(A, sla::ones<double>(4)).report;
  CHECK(report.reason() == sla::reason::singular);
  CHECK_THAT(report.choice, ContainsSubstring("tried: lu") && !ContainsSubstring("take lu"));
}

TEST_CASE("where there is no memory to count factors, what is left of the list is tried") {
  auto const A = pierced(sla::problems::random_dominant<double>(3000, 200, 1));
  auto const b = sla::random<double>(A.rows(), 1);
  if (suite::sanitized) return;
  (void)sla::try_solve(A, b, sla::gmres{}, sla::row_norms{});
  auto const solved = [&] {
    suite::memory_limit const limit(std::size_t(6) << 20);
    return sla::try_solve(A, b);
  }();
  INFO(solved.report);
  CHECK(solved.report.method == "gmres");
  CHECK_THAT(solved.report.choice, ContainsSubstring("lu: not tried, no memory to count its factors"));
  CHECK(double(sla::norm(b - A * solved.x)) <= 1e-8 * double(sla::norm(b)));
}

TEST_CASE("where factors find no memory, what is left of the list is tried, and the report says so") {
  auto const A = pierced(sla::problems::convection_diffusion({20, 20, 20}, 1.0));
  auto const b = sla::random<double>(A.rows(), 1);
  if (suite::sanitized) return;  // they reserve addresses of their own
  (void)sla::try_solve(A, b, sla::gmres{}, sla::row_norms{});  // threads and their stacks are there
  auto const solved = [&] {
    suite::memory_limit const limit(std::size_t(24) << 20);
    return sla::try_solve(A, b);
  }();
  INFO(solved.report);
  CHECK(solved.report.converged());
  CHECK_THAT(solved.report.choice, ContainsSubstring("lu: out of memory"));
  CHECK(double(sla::norm(b - A * solved.x)) <= 1e-8 * double(sla::norm(b)));
}

TEST_CASE("a prepared automatic solver keeps the candidate that held") {
  auto s = sla::prepare(hard_one);
  auto const b = sla::random<double>(hard_one.rows(), 3);
  CHECK_THAT(s.try_solve(b).report.choice, ContainsSubstring("tried"));
  CHECK_THAT(s.try_solve(b).report.choice, !ContainsSubstring("tried"));
  auto const x = s.solve_transpose(b);
  CHECK(double(sla::norm(b - sla::transpose(s.matrix()) * x)) <= 1e-8 * double(sla::norm(b)));
  auto A = s.matrix();
  for (auto& value : A.values()) value *= 2;
  s.update(A);
  CHECK(double(sla::norm(b - A * s.solve(b))) <= 1e-8 * double(sla::norm(b)));
  CHECK(s.setups() == 2);
}

TEST_CASE("new values reach each candidate that was set up, also after an observer ended a solve by an error") {
  bool armed = true;
  int last = 0;
  auto const watch = [&](std::vector<sla::progress> const& items) {
    bool const begun_anew = items[0].iterations < std::exchange(last, items[0].iterations);
    if (begun_anew && std::exchange(armed, false)) throw sla::value_error("enough");
    return true;
  };
  auto s = sla::prepare(hard_one);
  auto const b = sla::random<double>(hard_one.rows(), 3);
  // What an observer throws is no fault of the method; here in the second one.
  CHECK_THROWS_WITH(sla::with({.watch = watch}, [&] { return s.try_solve(b); }), "enough");
  REQUIRE_FALSE(armed);
  auto A = hard_one;
  for (auto& value : A.values()) value *= 4;
  s.update(A);
  auto const [x, report] = s.try_solve(b);
  INFO(report);
  CHECK(report.method == "lu");
  CHECK(report.converged());
  CHECK(double(sla::norm(b - A * x)) <= 1e-8 * double(sla::norm(b)));
}

TEST_CASE("multigrid is chosen for many points along an axis, and couplings of one sign alone") {
  auto const A = sla::problems::poisson({180, 180});
  CHECK(sla::choose(sla::properties(A), 1000).steps.front().what == sla::candidate::cg_amg);
  auto const report = solve_random(A);
  INFO(report);
  CHECK(report.converged());
  CHECK(report.preconditioner.starts_with("amg"));
  CHECK(report.iterations() <= 20);
  auto other = A;
  CHECK(sla::properties(other).opposed_off_diagonal);
  CHECK(!sla::properties(sla::sparse_tensor<double>(-1.0 * other)).positive_diagonal);
  CHECK(sla::properties(sla::sparse_tensor<double>(-1.0 * other)).opposed_off_diagonal);
  other.values()[1] = 1e-3;
  CHECK(!sla::properties(other).opposed_off_diagonal);
  CHECK(sla::choose(sla::properties(other), 1000).steps.front().what != sla::candidate::cg_amg);
  CHECK(sla::choose(sla::properties(sla::problems::poisson({32, 32, 32})), 1000).steps.front().what == sla::candidate::cg_jacobi);

  // It meets what is not definite, and hands over.
  auto const indefinite = solve_random(shift(A, -0.01));
  INFO(indefinite);
  CHECK(indefinite.converged());
  CHECK_THAT(indefinite.choice, ContainsSubstring("tried: cg + amg"));
}

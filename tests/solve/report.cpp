// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reports, reasons, observers, defaults, and where a solve begins.
#include "catch.hpp"

#include <sstream>

#include <sla/exec/deferred.hpp>
#include <sla/solve/linear/choose.hpp>
#include <sla/solve/linear/describe.hpp>
#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/krylov/gmres.hpp>
#include <sla/solve/krylov/minres.hpp>
#include <sla/solve/linear/linear.hpp>
#include <sla/solve/precond/jacobi.hpp>
#include <sla/solve/driver/progress.hpp>
#include <sla/solve/precond/composed/chebyshev.hpp>
#include <sla/solve/precond/ic0.hpp>
#include <sla/tensor/files/print.hpp>
#include <sla/tensor/problems/problems.hpp>

using Catch::Matchers::ContainsSubstring;
using sla::index_t;

namespace {
struct fixture {
  sla::sparse_tensor<double> A = sla::problems::poisson({20, 20});
  sla::vector<double> b = sla::random<double>(A.rows(), 1);
};
auto queue(int lag) {
  return sla::on([lag](sla::frame f) { return sla::deferred(f, lag); });
}
}  // namespace

TEST_CASE_METHOD(fixture, "methods, preconditioners, prepared solvers, lists and solutions are printed in a line") {
  using namespace sla;
  CHECK(text(cg{}) == "cg{.rtol = 1e-08, .atol = 0, .max_iterations = 10000}");
  CHECK(text(gmres{.restart = 5, .rtol = 0.5}) == "gmres{.restart = 5, .rtol = 0.5, .atol = 0, .max_iterations = 10000}");
  CHECK(text(lu{}, automatic{}, identity{}) == "lu{.rtol = 1e-08, .atol = 0}automatic{.rtol = 1e-08, .atol = 0}identity{}");
  CHECK(text(jacobi{}, chebyshev{.degree = 2}) == "jacobi{}chebyshev{.degree = 2, .ratio = 30, .steps = 10, .margin = 1.1}");
  CHECK(text(schwarz(ic0{.shift = 2})) == "schwarz(ic0{.shift = 2}, {.parts = 0, .overlap = 1, .restricted = false})");
  CHECK(text(inner(cg{.rtol = 0.5}, jacobi{})) == "inner(cg{.rtol = 0.5, .atol = 0, .max_iterations = 10000}, jacobi{})");
  auto s = prepare(A, cg{}, jacobi{});
  s.update(2.0 * A);
  CHECK(text(s) == "prepared cg + jacobi for 400 x 400, 1920 entries, set up 2 times");
  CHECK(text(lu(A), '|', prepare(A)) == "prepared lu for 400 x 400, 1920 entries, set up 1 time|prepared automatic for 400 x 400, 1920 entries, set up 1 time");
  CHECK(text(sparse_list(std::vector{A, A})) == "2 systems, 800 x 800 in all, 3840 entries");
  CHECK(text(triplets<double>(3, 4)) == "triplets of a 3 x 4 matrix, 0 so far");
  CHECK(text(multiply_plan(A, A)) == text("multiply_plan 400 x 400 * 400 x 400, ", (A * A).nnz(), " entries, ", multiply_plan(A, A).work()[400], " multiplications"));
  CHECK(text(initial_guess(b), ' ', keep_history) == "initial_guess(400) keep_history");
  auto const solution = try_solve(A, b, cg{});
  CHECK(text(solution) == text(solution.report));
  CHECK(text(b.extents(), ' ', reason::breakdown) == "400 breakdown");
}

TEST_CASE_METHOD(fixture, "a report tells method, reason, iterations, true residual, time and bytes") {
  auto const [x, report] = sla::try_solve(A, b, sla::cg{.rtol = 1e-9}, sla::jacobi{});
  CHECK(report.method == "cg");
  CHECK(report.preconditioner == "jacobi");
  CHECK(report.converged());
  CHECK(report.reason() == sla::reason::converged);
  CHECK(report.rtol == 1e-9);
  double const residual = sla::norm(b - A * x), size = sla::norm(b);
  CHECK(report.residual() == Approx(residual / size));
  CHECK(report.runs == 1);
  CHECK(report.history.empty());
  CHECK(report.seconds_solve >= 0);
  // A, b, x, the diagonal, and four work vectors
  CHECK(report.bytes >= A.bytes() + std::size_t(A.rows()) * 8 * 7);
  std::ostringstream line;
  line << report;
  CHECK_THAT(line.str(), ContainsSubstring("cg + jacobi: converged in") && ContainsSubstring("true residual") && ContainsSubstring("asked 1e-09"));
  CHECK(line.str().find('\n') == std::string::npos);
  CHECK_THAT(sla::details(report), ContainsSubstring("item 0: converged"));
}

TEST_CASE_METHOD(fixture, "what was not reached is thrown by solve, with the report, and told by try_solve") {
  auto const [x, report] = sla::try_solve(A, b, sla::cg{.max_iterations = 3});
  CHECK(report.reason() == sla::reason::iteration_limit);
  CHECK(report.iterations() == 3);
  CHECK(report.residual() > 1e-8);
  try {
    (void)sla::solve(A, b, sla::cg{.max_iterations = 3});
    FAIL("no error");
  } catch (sla::solve_error const& e) {
    CHECK(e.report().reason() == sla::reason::iteration_limit);
    CHECK_THAT(e.what(), ContainsSubstring("cg: iteration limit after 3 iterations"));
  }
}

TEST_CASE_METHOD(fixture, "an indefinite matrix, or preconditioner, is named") {
  auto const diagonal = sla::diagonal_positions(A.pattern());
  A.values()[diagonal[7]] = -4;
  auto const report = sla::try_solve(A, b, sla::cg{}).report;
  CHECK(report.reason() == sla::reason::indefinite_matrix);
  CHECK_THAT(report.choice, ContainsSubstring("take minres{}"));
  auto const by = sla::try_solve(A, b, sla::cg{}, sla::jacobi{}).report.reason();
  CHECK((by == sla::reason::indefinite_preconditioner || by == sla::reason::indefinite_matrix));
}

TEST_CASE_METHOD(fixture, "the method runs again until the true residual agrees, and stagnation is named") {
  auto const [x, report] = sla::try_solve(A, b, sla::cg{.rtol = 1e-18}, sla::jacobi{});
  CHECK(report.reason() == sla::reason::stagnated);
  CHECK(report.runs >= 2);
  CHECK(report.residual() < 1e-14);
}

TEST_CASE_METHOD(fixture, "float is told from a method that stagnates") {
  auto const F = sla::cast<float>(A);
  auto const f = sla::cast<float>(b);
  CHECK_THAT(sla::try_solve(F, f, sla::cg{.rtol = 1e-8}, sla::jacobi{}).report.choice, ContainsSubstring("x is float") && ContainsSubstring("cast<double>(b)"));
  CHECK(sla::try_solve(F, f, sla::cg{.rtol = 1e-5}, sla::jacobi{}).report.converged());
  CHECK(sla::try_solve(F, b, sla::cg{}, sla::jacobi{}).report.converged());  // a float matrix under double vectors
}

TEST_CASE_METHOD(fixture, "an observer sees every iteration, and may stop it") {
  int seen = 0;
  auto const all = sla::try_solve(A, b, sla::cg{.watch = [&](std::vector<sla::progress> const& items) {
                                    CHECK(items.size() == 1);
                                    CHECK(items[0].iterations == seen);
                                    ++seen;
                                    return true;
                                  }}).report;
  CHECK(seen == all.iterations() + 1);
  int calls = 0;
  auto const stopped = sla::try_solve(A, b, sla::cg{.watch = [&](auto const&) { return ++calls < 6; }}).report;
  CHECK(stopped.reason() == sla::reason::stopped);
  CHECK(stopped.iterations() == 5);
}

TEST_CASE_METHOD(fixture, "an observer of a queue sees values as old as the flag") {
  int first = -1, calls = 0;
  auto const report = sla::try_solve(A, b, sla::cg{.watch = [&](std::vector<sla::progress> const& items) {
                                       if (calls++ == 0) first = items[0].iterations;
                                       return true;
                                     }}, sla::identity{}, queue(4)).report;
  CHECK(report.converged());
  CHECK(first == 0);
  CHECK(calls == report.iterations() + 1);
}

TEST_CASE_METHOD(fixture, "history is kept on request") {
  auto const [x, report] = sla::try_solve(A, b, sla::cg{}, sla::jacobi{}, sla::keep_history);
  REQUIRE(report.history.size() == std::size_t(report.iterations() + 1));
  CHECK(report.history.front()[0].residual == Approx(1.0));
  CHECK(report.history.back()[0].residual <= 1e-8);
}

TEST_CASE_METHOD(fixture, "defaults have a scope") {
  double inside = 0;
  sla::with({.rtol = 1e-4}, [&] {
    inside = sla::try_solve(A, b, sla::cg{}).report.rtol;
    CHECK(sla::cg{.max_iterations = 7}.rtol == 1e-4);
  });
  CHECK(inside == 1e-4);
  CHECK(sla::cg{}.rtol == 1e-8);
  CHECK_THROWS_AS(sla::with({.rtol = 1e-4}, [&]() -> int { throw sla::error("out"); }), sla::error);
  CHECK(sla::cg{}.rtol == 1e-8);
}

TEST_CASE_METHOD(fixture, "the observer of `with` sees the solves inside of it, whenever they were prepared, and none after it") {
  for (bool const automatic : {false, true}) {
    int seen = 0;
    auto const calls = [&](auto const& f) { return seen = 0, f(), seen; };
    auto const counting = sla::stop_rule{.rtol = 1e-6, .watch = [&seen](auto const&) { return ++seen, true; }};
    auto const check = [&](auto const& make) {
      auto const outside = make();
      auto const inside = sla::with(counting, make);
      CHECK(calls([&] { (void)inside.solve(b); }) == 0);
      CHECK(calls([&] { (void)outside.solve(b); }) == 0);
      int const all = calls([&] { sla::with(counting, [&] { (void)outside.solve(b); }); });
      CHECK(all > 0);
      CHECK(calls([&] { sla::with(counting, [&] { (void)inside.solve(b); }); }) > 0);
      CHECK(calls([&] { (void)outside.solve(b); }) == 0);  // of the candidates that were set up inside, too
      CHECK(calls([&] { (void)outside.solve_transpose(b); }) == 0);
    };
    if (automatic)
      check([&] { return sla::prepare(A); });
    else
      check([&] { return sla::prepare(A, sla::cg{}, sla::jacobi{}); });
  }
  CHECK(sla::with({.rtol = 1e-4}, [&] { return sla::prepare(A, sla::cg{}); }).try_solve(b).report.rtol == 1e-4);  // tolerances are kept
}

TEST_CASE_METHOD(fixture, "a solve begins where it is told") {
  auto const x = sla::solve(A, b, sla::cg{.rtol = 1e-10});
  auto const again = sla::try_solve(A, b, sla::cg{.rtol = 1e-8}, sla::initial_guess(x));
  CHECK(again.report.iterations() == 0);
  CHECK(std::equal(x.begin(), x.end(), again.x.begin()));
  auto const kept = sla::initial_guess(sla::vector<double>(x));
  auto const elsewhere = sla::zeros<double>(x.size());  // in the memory of that temporary, if it is gone
  CHECK(sla::try_solve(A, b, sla::cg{.rtol = 1e-8}, kept).report.iterations() == 0);
  CHECK(elsewhere[0] == 0);
  CHECK_THROWS_AS(sla::solve(A, b, sla::cg{}, sla::initial_guess(sla::ones<double>(3))), sla::shape_error);
}

TEST_CASE_METHOD(fixture, "a progress line is written over itself, and ends") {
  std::ostringstream out;
  sla::with({.watch = sla::progress_line(out, 0)}, [&] { (void)sla::solve(A, b, sla::cg{}); });
  CHECK_THAT(out.str(), ContainsSubstring("\r") && ContainsSubstring("iteration"));
}

TEST_CASE_METHOD(fixture, "b = 0 and empty systems have defined results") {
  auto const [x, report] = sla::try_solve(A, sla::zeros<double>(A.rows()), sla::cg{}, sla::jacobi{});
  CHECK(report.converged());
  CHECK(report.iterations() == 0);
  CHECK(double(sla::norm(x)) == 0);

  sla::sparse_tensor<double> const none;
  auto const empty = sla::try_solve(none, sla::vector<double>{}, sla::cg{}, sla::jacobi{});
  CHECK(empty.report.converged());
  CHECK(empty.x.size() == 0);
  CHECK(sla::solve(A, sla::matrix<double>({A.rows(), 0}), sla::cg{}).size() == 0);
}

TEST_CASE("a method that failed for want of symmetry says so, with the entry and the remedy") {
  auto const A = sla::problems::convection_diffusion({12, 12}, 40.0);
  auto const b = sla::random<double>(A.rows(), 1);
  auto said = [&](auto const& a, auto const&... options) {
    auto const report = sla::try_solve(a, b, options...).report;
    CHECK(!report.converged());
    return text(report);
  };
  sla::cg const brief{.max_iterations = 300};
  for (auto const& words : {said(A, brief, sla::jacobi{}), said(A, sla::minres{.max_iterations = 300}), said(A, sla::cg{.max_iterations = 1})})
    CHECK_THAT(words, ContainsSubstring("A is not symmetric: entry (0, 1) is") && ContainsSubstring("use gmres{} or bicgstab{}"));

  std::vector<int> i, j;
  std::vector<double> v;
  auto const P = sla::problems::poisson({12, 12});
  for (int row = 0; row < P.rows(); ++row)
    P.pattern().view().for_row(row, [&](index_t s, index_t col) {
      if (col <= row) i.push_back(row), j.push_back(int(col)), v.push_back(P.values()[s]);
    });
  auto const lower = sla::from_triplets<double>(P.rows(), P.cols(), i, j, v);
  CHECK_THAT(said(lower, brief, sla::jacobi{}), ContainsSubstring("one triangle only"));
  CHECK_THAT(said(P, sla::cg{.max_iterations = 3}), !ContainsSubstring("symmetric"));

  /// An operator without entries: x and b tell.
  struct hidden {
    using linear_operator_tag = void;
    using value_type = double;
    sla::sparse_tensor<double> const* a;
    auto operator*(sla::vector<double> const& x) const { return *a * x; }
    hidden adjoint() const { return *this; }
  };
  CHECK_THAT(said(hidden{&A}, brief), ContainsSubstring("not Hermitian") && ContainsSubstring("use gmres{} or bicgstab{}"));
  CHECK_THAT(said(hidden{&P}, sla::cg{.max_iterations = 3}), !ContainsSubstring("Hermitian"));
}

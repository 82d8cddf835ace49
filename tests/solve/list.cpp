// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lists of systems of different sizes: packed and back, multiplied, and solved together as each would be by itself.
#include <limits>

#include <sla/exec/deferred.hpp>
#include <sla/solve/linear/choose.hpp>
#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/linear/linear_list.hpp>
#include <sla/solve/precond/jacobi.hpp>
#include <sla/tensor/structure/components.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"

using namespace sla;
using Catch::Matchers::ContainsSubstring;

namespace {
/// Poisson's equation on grids of different sizes: the largest is cut into several blocks of rows.
std::vector<sparse_tensor<double>> systems() {
  std::vector<sparse_tensor<double>> out;
  for (auto [m, n] : {std::pair{4, 5}, {50, 60}, {1, 1}, {30, 11}}) out.push_back(problems::poisson<double>({m, n}));
  return out;
}
std::vector<vector<double>> right_hand_sides(std::vector<sparse_tensor<double>> const& A) {
  std::vector<vector<double>> out;
  for (auto const& a : A) out.push_back(random<double>(a.rows(), 7 + out.size()));
  return out;
}
/// Of few rows only.
struct rejects_some_extents {
  using preconditioner_tag = void;
  static constexpr char const* name = "rejects_some_extents";
  auto setup(sparse_tensor<double> const& a) const {
    if (a.rows() > 3000) throw value_error("too large");
    return jacobi{}.setup(a);
  }
};
double difference(vector<double> const& x, vector<double> const& y) { return double(norm(x - y)) / double(norm(y)); }
}  // namespace

TEST_CASE("a list is packed and unpacked, and multiplies") {
  auto const A = systems();
  sparse_list const L(A);
  REQUIRE(L.count() == 4);
  CHECK(L.packed().rows() == 20 + 3000 + 1 + 330);
  CHECK(L.nnz() == A[0].nnz() + A[1].nnz() + A[2].nnz() + A[3].nnz());
  auto const x = right_hand_sides(A);
  auto const y = L * x;
  for (std::size_t k = 0; k < A.size(); ++k) {
    auto const a = L[index_t(k)];
    CHECK(same_pattern(a.pattern(), A[k].pattern()));
    CHECK(difference(y[k], eval(A[k] * x[k])) == 0);
  }
  sparse_list const again(L.packed(), *L.row_cuts(), *L.col_cuts());
  CHECK(again.cols(1) == 3000);
  auto const some = L.systems(1, 3);
  REQUIRE(some.count() == 2);
  CHECK(same_pattern(some[0].pattern(), A[1].pattern()));
  CHECK(difference((some * std::vector{x[1], x[2]})[1], y[2]) == 0);
}

TEST_CASE("systems are solved together as each by itself") {
  auto const A = systems();
  auto const b = right_hand_sides(A);
  sparse_list const L(A);
  auto const [x, report] = try_solve(L, b, cg{.rtol = 1e-10}, jacobi{});
  REQUIRE(report.items.size() == 4);
  CHECK(report.converged());
  for (std::size_t k = 0; k < A.size(); ++k) {
    auto const one = try_solve(A[k], b[k], cg{.rtol = 1e-10}, jacobi{});
    CHECK(difference(x[k], one.x) < 1e-9);
    CHECK(report.items[k].iterations == one.report.iterations());
    CHECK(report.items[k].residual <= 1e-10);
  }
  auto const [more, from_x] = try_solve(L, b, cg{.rtol = 1e-10}, jacobi{}, initial_guess(x));
  CHECK(from_x.iterations() == 0);
}

TEST_CASE("the result does not depend on threads") {
  std::vector<sparse_tensor<double>> A = systems();
  A.push_back(problems::poisson<double>({150, 150}));
  auto const b = right_hand_sides(A);
  sparse_list const L(A);
  int const threads = threads_in_use();
  auto const run = [&](int count) {
    set_threads(count);
    return try_solve(L, b, cg{.rtol = 1e-10, .max_iterations = 60}, jacobi{});
  };
  auto const one = run(1), three = run(3);
  set_threads(threads);
  for (std::size_t k = 0; k < A.size(); ++k) {
    CHECK(difference(one.x[k], three.x[k]) == 0);
    CHECK(one.report.items[k].iterations == three.report.items[k].iterations);
  }
}

TEST_CASE("on a queue each system stops as on the host, whatever the lag") {
  auto A = systems();
  auto const b = right_hand_sides(A);
  for (double& v : A[3].values()) v = -v;  // the last one fails
  sparse_list const L(A);
  auto const run = [&](auto const&... where) { return try_solve(L, b, cg{.rtol = 1e-10}, jacobi{}, where...); };
  auto const host = run();
  CHECK(host.report.items[0].iterations < host.report.items[1].iterations);
  CHECK(host.report.items[3].state == reason::indefinite_matrix);
  for (int lag : {0, 4, 32}) {
    INFO("lag " << lag);
    auto const queued = run(on([lag](frame f, packed_systems const& each) { return basic_deferred(f, lag, each); }));
    for (std::size_t k = 0; k < A.size(); ++k) {
      CHECK(std::equal(host.x[k].begin(), host.x[k].end(), queued.x[k].begin()));
      CHECK(queued.report.items[k].iterations == host.report.items[k].iterations);
      CHECK(queued.report.items[k].residual == host.report.items[k].residual);
      CHECK(queued.report.items[k].state == host.report.items[k].state);
    }
  }
  CHECK_THROWS_WITH(try_solve(L.packed(), ones<double>(L.packed().rows()), cg{}, jacobi{},
                              on([](frame f) { return basic_deferred(f, 0, packed_systems(std::make_shared<std::vector<index_t> const>(2, 7))); })),
                    ContainsSubstring("a list of systems with 7 rows together, and vectors of 3351 rows"));
}

TEST_CASE("one system's trouble is its own") {
  auto A = systems();
  auto b = right_hand_sides(A);
  for (double& v : A[0].values()) v = -v;
  b[2] = zeros<double>(1);
  sparse_list const L(A);
  auto const [x, report] = try_solve(L, b, cg{.rtol = 1e-10}, jacobi{});
  CHECK(report.items[0].state == reason::indefinite_matrix);
  CHECK(report.items[1].state == reason::converged);
  CHECK(report.items[2].iterations == 0);
  CHECK(report.items[3].residual <= 1e-10);
  CHECK_THROWS_AS(solve(L, b, cg{.rtol = 1e-10}, jacobi{}), solve_error);
}

TEST_CASE("a singular system of a list, or one without a preconditioner, leaves the others solved") {
  auto A = systems();
  auto const b = right_hand_sides(A);
  for (double& v : A[3].values()) v = 0;
  sparse_list const L(A);
  auto check = [&](reason why, auto const&... options) {
    auto const [x, report] = try_solve(L, b, options...);
    INFO(details(report));
    REQUIRE(report.items.size() == 4);
    CHECK(report.items[3].state == why);
    CHECK(report.items[3].residual == Approx(1));
    for (std::size_t k = 0; k < 3; ++k) {
      CHECK(report.items[k].state == reason::converged);
      CHECK(difference(eval(A[k] * x[k]), b[k]) <= 1.1e-8);
    }
    return report;
  };
  check(reason::singular);
  check(reason::singular, lu{});
  check(reason::singular, ldlt{});
  auto const refused = check(reason::setup_failed, cg{}, jacobi{}, keep_history);
  CHECK_THAT(text(refused), ContainsSubstring("no preconditioner") && ContainsSubstring("system 3: ") && ContainsSubstring("row 0"));
  for (auto const& step : refused.history) CHECK(step.size() == 4);
  check(reason::setup_failed, cg{}, jacobi{}, initial_guess(b));
  check(reason::setup_failed, cg{}, jacobi{}, on([](frame f, packed_systems const& each) { return basic_deferred(f, 4, each); }));
  auto const s = prepare(L.packed(), lu{});
  auto const solved = s.try_solve(L.pack_rows(b), per_system(L));
  CHECK(difference(A[1] * L.unpack_cols(solved.x)[1], b[1]) < 1e-9);
  CHECK(solved.report.items[0].state == reason::converged);
  CHECK_THROWS_WITH(try_solve(L, b, cg{.rtol = -1}, jacobi{}), ContainsSubstring("rtol"));  // what fails for all is an error
  sparse_list const zeros(std::vector{A[3], A[3]});
  CHECK_THROWS_WITH(try_solve(zeros, std::vector{b[3], b[3]}, cg{}, jacobi{}), ContainsSubstring("jacobi"));
  CHECK_THROWS_WITH(try_solve(sparse_list(std::vector{A[0], A[1]}), std::vector{b[0], b[1]}, cg{.rtol = -1}, jacobi{}), ContainsSubstring("rtol"));
}

TEST_CASE("what an observer or a preconditioner's product throws ends the solve: it is no failed set-up") {
  auto const A = systems();
  auto const b = right_hand_sides(A);
  int calls = 0;
  auto const watch = [&](std::vector<progress> const&) -> bool {
    if (++calls == 3) throw value_error("enough");
    return true;
  };
  CHECK_THROWS_WITH(try_solve(sparse_list(A), b, cg{.watch = watch}, jacobi{}), "enough");
  CHECK(calls == 3);  // it did not begin anew
  auto singular = A;
  for (double& v : singular[3].values()) v = 0;
  calls = 0;
  CHECK_THROWS_WITH(try_solve(sparse_list(singular), b, cg{.watch = watch}, jacobi{}), "enough");  // nor each by itself
  CHECK(calls == 3);
  // a set-up of the user's that refuses is one
  CHECK(try_solve(sparse_list(A), b, cg{}, rejects_some_extents{}).report.converged());
  CHECK(try_solve(sparse_list(A), b, cg{.rtol = 1e-18}, rejects_some_extents{}).report.limited_by_rounding);  // of each alone
  CHECK(try_solve(sparse_list(A), b, cg{.rtol = 1e-18}, jacobi{}).report.limited_by_rounding);                // and of all at once
}

TEST_CASE("a method is kept for packed vectors") {
  auto const A = systems();
  auto const b = right_hand_sides(A);
  sparse_list const L(A);
  auto const s = prepare(L.packed(), cg{.rtol = 1e-10}, jacobi{});
  auto const x = L.unpack_cols(s.solve(L.pack_rows(b), per_system(L)));
  for (std::size_t k = 0; k < A.size(); ++k) CHECK(difference(A[k] * x[k], b[k]) < 1e-9);
}

TEST_CASE("the components of a matrix are systems") {
  auto const A = systems();
  auto const whole = block_diagonal(A);
  std::vector<index_t> mixed(std::size_t(whole.rows()));
  for (std::size_t n = 0; n < mixed.size(); ++n) mixed[n] = index_t(n * 7 % mixed.size());  // 3351 is no multiple of 7
  auto const M = permuted(whole, mixed);
  auto const split = split_components(M);
  auto const& L = split.systems;
  REQUIRE(L.count() == 4);
  CHECK(same_pattern(permuted(M, split.order).pattern(), L.packed().pattern()));
  auto rows_of = [&] {
    std::vector<index_t> rows;
    for (index_t k = 0; k < L.count(); ++k) rows.push_back(L.rows(k));
    std::sort(rows.begin(), rows.end());
    return rows;
  };
  CHECK(rows_of() == std::vector<index_t>{1, 20, 330, 3000});
}

TEST_CASE("bad lists say what is wrong") {
  auto const A = systems();
  auto b = right_hand_sides(A);
  sparse_list const L(A);
  CHECK_THROWS_WITH(sparse_list(std::vector<sparse_tensor<double>>{}), "sparse_list: a list of no systems; it has at least one");
  CHECK_THROWS_WITH(L[4], ContainsSubstring("system 4 of a list of 4"));
  CHECK_THROWS_WITH(L.systems(2, 2), ContainsSubstring("systems 2 .. 2 of a list of 4; a list has at least one"));
  CHECK_THROWS_AS(L.systems(3, 5), index_error);
  CHECK_THROWS_WITH(sparse_list(L.packed(), {0, 10, 3351}, {0, 10, 3351}), ContainsSubstring("outside of system 0"));
  CHECK_THROWS_WITH(sparse_list(L.packed(), {0, 20, 10, 3351}, {0, 20, 10, 3351}), ContainsSubstring("do not overlap"));
  CHECK_THROWS_WITH(sparse_list(L.packed(), {0, 20}, {0, 20}), ContainsSubstring("cover them all"));
  std::vector<index_t> const none;
  CHECK_THROWS_WITH(split_components(from_triplets<double>(0, 0, none, none, std::vector<double>{})), ContainsSubstring("0 x 0 matrix: it has no components"));
  auto bad = L;
  bad.packed().values()[A[0].nnz()] = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH(try_solve(bad, b, cg{}, jacobi{}), ContainsSubstring("A(0, 0) is nan") && ContainsSubstring("of system 1 of the list"));
  auto x0 = b;
  x0[1][7] = std::numeric_limits<double>::infinity();
  CHECK_THROWS_WITH(try_solve(L, b, cg{}, jacobi{}, initial_guess(x0)), ContainsSubstring("x0[1](7) is inf"));
  std::swap(b[0], b[1]);
  CHECK_THROWS_WITH(try_solve(L, b, cg{}, jacobi{}), ContainsSubstring("vector 0 of a list is 3000; system 0 has 20 rows"));
  b.pop_back();
  CHECK_THROWS_WITH(L * b, ContainsSubstring("3 vectors for a list of 4"));
}

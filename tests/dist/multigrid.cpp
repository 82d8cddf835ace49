// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Multigrid across ranks: as many iterations as on one, adjoint, deterministic, with new values and in gradients.
#include <sstream>

#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/grad/value_and_gradient.hpp>
#include <sla/dist/matrix/matrix_gradient.hpp>
#include <sla/dist/multigrid/two_level_on_ranks.hpp>
#include <sla/dist/solve/solve_gradient.hpp>
#include <sla/solve.hpp>

#include "catch.hpp"
#include "suites/partition.hpp"
#include "suites/spread.hpp"

namespace test_multigrid {

using namespace sla;
using Rows = mesh<axis<"rows">>;
amg const across{.gathered = 100};  // levels on ranks, whose problems are small here

namespace {
/// f(D, b on ranks) on each rank, strips unless the owners are told.
template <class F>
auto on_ranks(int ranks, sparse_tensor<double> const& A, F const& f, owner_map const& owners) {
  return threads::run(ranks, [&](auto& world) {
    Rows m(world);
    auto const D = distribute<SparseShard<0>>(A, m, owners);
    return f(D, distribute(random<double>(A.rows(), 1), D.row_layout()));
  });
}
template <class F>
auto on_ranks(int ranks, sparse_tensor<double> const& A, F const& f) {
  return on_ranks(ranks, A, f, partition(A, ranks, strips{}));
}
}  // namespace

TEST_CASE("multigrid on ranks takes at most 1.3 times the iterations of one rank, and reruns have the same bits") {
  for (auto const& A : {problems::poisson<double>({44, 44}), problems::poisson<double>({11, 11, 11}), problems::checkerboard<double>({44, 44}, 1e4, 11)}) {
    auto const b = random<double>(A.rows(), 1);
    cg const method{.rtol = 1e-6};
    int const one = try_solve(A, b, method, amg{}).report.iterations();
    auto const run = [&](auto const& D, auto const& db) {
      auto const [x, report] = try_solve(D, db, method, across);
      return std::pair(gather(x), report.iterations());
    };
    for (int ranks : {1, 2, 3, 4, 8}) {
      auto const [x, taken] = on_ranks(ranks, A, run)[0];
      CHECK(norm(b - A * x) <= 1.01e-6 * norm(b));
      CHECK(taken <= 1.3 * one);
      if (ranks == 3) CHECK(norm_inf(x - on_ranks(ranks, A, run)[2].first) == 0);
    }
    auto const [x, taken] = on_ranks(4, A, run, suite::owners_for(A, 4, true))[0];  // owners by chance
    CHECK(norm(b - A * x) <= 1.01e-6 * norm(b));
  }
}

TEST_CASE("multigrid on ranks finds the grid of a matrix whoever owns its points, and takes the iterations of one rank") {
  cg const method{.rtol = 1e-6};
  auto const run = [&](auto const& D, auto const& db) {
    bool const plain = D.rows() == 90 * 85;
    auto s = prepare(D, method, amg{.gathered = 2500});
    auto const [x, report] = s.try_solve(db);
    auto stretched = D;
    for (index_t i = 0; i < D.local().rows(); ++i)
      D.local().pattern().view().for_row(i, [&](index_t n, index_t j) {
        index_t const distance = std::abs(D.handle()->rows->global(i) - D.handle()->halo->global(*D.handle()->rows, j));
        stretched.local().values()[n] = distance == 0 ? 2.0002 : distance == 1 ? -1e-4 : -1.0;
      });
    bool const had = s.preconditioner().remark().find("grid") != std::string::npos;
    if (plain) s.update(stretched);  // whose couplings along lines a grid does not follow
    auto const after = s.try_solve(db).report;
    return std::tuple(gather(x), report.iterations(), had && (!plain || after.preconditioner.find("smoothed") != std::string::npos) && after.converged());
  };
  // Of lines, whole or not, on any number of ranks: M is that of one rank, however few of them have the coarse grids.
  for (auto const& A : {problems::checkerboard<double>({90, 85}, 1e4, 12), problems::poisson<double>({20, 21, 33})}) {
    vector<double> const b = 1e-30 * random<double>(A.rows(), 1);
    vector<double> const expected = amg{}.setup(A) * b;
    for (int ranks : {2, 3, 8})
      for (index_t gathered : {30, 4000}) {
        auto const each = on_ranks(ranks, A, [&](auto const& D, auto const&) {
          auto const M = amg{.gathered = gathered}.setup(D);
          std::ostringstream words;
          words << M;
          return std::pair(gather(M * distribute(b, D.row_layout())), words.str());
        });
        CHECK(norm(each[0].first - expected) <= 1e-6 * norm(expected));
        CHECK(norm_inf(each[0].first - each[std::size_t(ranks) - 1].first) == 0);
        CHECK_THAT(each[0].second, Catch::Matchers::ContainsSubstring("factors of a band, on 1 rank\n"));
        CHECK((each[0].second.find("on 4 ranks\n  2") != std::string::npos) == (ranks == 8 && gathered == 30 && A.rows() == 20 * 21 * 33));
      }
  }
  for (auto const& A : {problems::poisson<double>({90, 85}), problems::poisson<double>({20, 21, 19}), problems::checkerboard<double>({84, 84}, 1e4, 12)}) {
    auto const b = random<double>(A.rows(), 1);
    int const one = try_solve(A, b, method, amg{}).report.iterations();
    for (bool scattered : {false, true}) {
      auto const [x, taken, as_wanted] = on_ranks(scattered ? 4 : 3, A, run, suite::owners_for(A, scattered ? 4 : 3, scattered))[0];
      CHECK(norm(b - A * x) <= 1.01e-6 * norm(b));
      CHECK(taken <= 1.3 * one);
      CHECK(as_wanted);
    }
  }
}

TEST_CASE("schwarz with the coarse levels of multigrid takes no more iterations for more subdomains, on one rank and on ranks, and is Hermitian") {
  auto const A = problems::poisson<double>({48, 40});
  auto const b = random<double>(A.rows(), 1);
  cg const method{.rtol = 1e-8};
  auto const options = [](int parts, index_t gathered) { return two_level_schwarz(ic0{}, {.parts = parts}, amg{.gathered = gathered}); };
  int const few = try_solve(A, b, method, options(2, 4000)).report.iterations(), many = try_solve(A, b, method, options(16, 4000)).report.iterations();
  CHECK(many <= few + 3);
  CHECK(3 * many <= 2 * try_solve(A, b, method, schwarz(ic0{}, {.parts = 16})).report.iterations());
  for (int ranks : {2, 8}) {
    auto const [x, taken, skew, words] = on_ranks(ranks, A, [&](auto const& D, auto const& db) {
      auto s = prepare(D, method, options(0, 40));
      auto const& M = s.preconditioner();
      auto const u = random<double>(A.rows(), 2);
      double const forth = dot(u, gather(M * db)), back = dot(gather(M.adjoint() * distribute(u, D.row_layout())), b);
      s.update(D);
      auto const [x, report] = s.try_solve(db);
      return std::tuple(gather(x), report.iterations(), std::abs(forth - back) / std::abs(forth), report.preconditioner);
    })[0];
    CHECK(norm(b - A * x) <= 1.01e-8 * norm(b));
    CHECK(taken <= few + 4);
    CHECK(skew < 1e-12);
    CHECK_THAT(words, Catch::Matchers::ContainsSubstring("schwarz of ic0, ") && Catch::Matchers::ContainsSubstring(", and coarse levels, V-cycle of "));
  }
}

TEST_CASE("multigrid on ranks has its adjoint, and new values on the pattern") {
  amg const by_f{.cycle = amg_cycle::F, .gathered = 20};
  for (auto const& A : {problems::checkerboard<double>({22, 21}, 100.0, 4), problems::convection_diffusion<double>({20, 22}, {20.0, 5.0})})
    for (auto const& options : {across, by_f}) {
      auto const worst = on_ranks(3, A, [&](auto const& D, auto const& x) {
        auto M = options.setup(D);
        auto const u = random<double>(A.rows(), 2), v = gather(x);
        auto const y = distribute(u, D.row_layout());
        auto const before = gather(M * x), back = gather(M.adjoint() * y);
        auto other = D;
        for (double& value : other.local().values()) value *= 4;
        for (auto const& next : {other, D, other}) M.update(next);  // the second and third by plans of the products
        auto const renewed = gather(M * x), fresh = gather(options.setup(other) * x);
        return std::max({std::abs(dot(u, before) - dot(back, v)) / (norm(before) * norm(u)), norm(4.0 * renewed - before) / norm(before), norm(fresh - renewed) / norm(before)});
      });
      for (double d : worst) CHECK(d < 1e-13);
    }
  // Values that the levels of before do not fit: symmetric ones after others, and the other way round; rows of other sizes after a grid's lines.
  auto const transport = problems::convection_diffusion<double>({40, 41}, {300.0, 120.0}), still = problems::convection_diffusion<double>({40, 41}, {0.0, 0.0});
  auto const lines = problems::poisson<double>({90, 85});
  vector<double> c(lines.rows());
  for (index_t i = 0; i < c.size(); ++i) c[i] = i % 3 ? 1.0 : 1e4;
  sparse_tensor<double> const rough = scale_rows(scale_cols(lines, c), c);
  for (auto const& [first, then] : {std::pair(transport, still), std::pair(still, transport), std::pair(lines, rough)}) {
    auto const u = random<double>(first.rows(), 7);
    auto const worst = threads::run(2, [&, &before = first, &after = then](auto& world) {
      Rows m(world);
      amg const options{.coarsening = before.rows() == 90 * 85 ? amg_coarsening::automatic : amg_coarsening::smoothed, .gathered = 30};
      auto const owners = partition(before, 2, strips{});
      auto const D = distribute<SparseShard<0>>(before, m, owners), next = distribute<SparseShard<0>>(after, m, owners);
      auto const x = distribute(u, D.row_layout());
      auto M = options.setup(D);
      M.update(next);
      auto const fresh = gather(options.setup(next) * x);
      return norm(gather(M * x) - fresh) / norm(fresh);
    });
    for (double d : worst) CHECK(d < 1e-12);
  }
}

TEST_CASE("a gradient through multigrid on ranks is that of one rank, of a matrix that is not Hermitian too") {
  auto const check = [](sparse_tensor<double> const& A, auto const& method) {
    auto const b = random<double>(A.rows(), 1);
    auto const loss = [&](auto const& a, auto const& v) { return squared_norm(solve(a, v, method, across)); };
    auto const [value, gA, gb] = value_and_gradient(loss, A, b);
    auto const probe = random<double>(A.rows(), 3);
    vector<double> const expected = gA * probe;
    auto const errors = on_ranks(4, A, [&, &gb = gb, value = value](auto const& D, auto const& db) {
      auto const [again, hA, hb] = value_and_gradient(loss, D, db);
      vector<double> const product = gather(hA * distribute(probe, D.col_layout()));
      return std::array{std::abs(again - value) / value, norm(product - expected) / norm(expected), norm(gather(hb) - gb) / norm(gb)};
    });
    for (double e : errors[0]) CHECK(e < 1e-7);
  };
  check(problems::poisson<double>({20, 20}), cg{.rtol = 1e-11});
  check(problems::convection_diffusion<double>({20, 20}, {20.0, 5.0}), bicgstab{.rtol = 1e-11});
}

TEST_CASE("multigrid on ranks with few rows, none on some ranks, and nothing to aggregate") {
  auto const few = problems::poisson<double>({3, 2}), grid = problems::poisson<double>({12, 12});
  std::vector<int> lopsided(144, 2);
  for (std::size_t i = 100; i < 144; ++i) lopsided[i] = i % 3 == 0 ? 4 : 0;
  auto const lonely = diagonal(random<double>(300, 2) + 2.0);
  auto const solved = [](int ranks, sparse_tensor<double> const& A, owner_map const& owners) {
    auto const b = random<double>(A.rows(), 1);
    for (index_t gathered : {1, 4000}) {
      auto const each = on_ranks(ranks, A, [&](auto const& D, auto const& db) { return gather(solve(D, db, cg{.rtol = 1e-10}, amg{.gathered = gathered})); }, owners);
      CHECK(norm(b - A * each[0]) <= 1.01e-10 * norm(b));
    }
  };
  solved(8, few, partition(few, 8, strips{}));
  solved(5, grid, owner_map(lopsided, 5));
  solved(4, lonely, partition(lonely, 4, strips{}));
}

TEST_CASE("multigrid on ranks prints its levels, and says on all ranks what is wrong") {
  auto const A = problems::poisson<double>({40, 40});
  auto const printed = on_ranks(4, A, [](auto const& D, auto const& b) {
    auto const s = prepare(D, cg{}, across);
    auto const sizes = s.preconditioner().levels();
    std::ostringstream words;
    words << s.preconditioner() << s.try_solve(b).report.preconditioner;
    words << '\n' << (sizes.front().entries == 7840 && sizes.back().rows <= 100);
    return words.str();
  });
  for (auto const& words : printed) {
    CHECK(words.find("amg across 4 ranks, V-cycle of 3 levels, 2 across ranks, smoothed aggregation\n  0        1600 rows         7840 entries   1 + 1 SPAI-0, ") == 0);
    CHECK(words.find("on every rank: amg: ") != std::string::npos);
    CHECK(words.find("dense inverse\namg, V-cycle") != std::string::npos);
    CHECK(words.back() == '1');
  }
  auto const each_says = [](sparse_tensor<double> const& A, amg const& options, char const* part) {
    auto const all = suite::words_of(3, [&](auto& world) {
      Rows m(world);
      options.setup(distribute<SparseShard<0>>(A, m, strips{}));
    });
    for (auto const& words : all) CHECK_THAT(words, Catch::Matchers::ContainsSubstring(part));
  };
  auto hole = A;
  hole.values()[diagonal_positions(A.pattern())[700]] = 0;
  each_says(hole, across, "zero or not stored");
  each_says(hole, across, "row 700 is ");
  each_says(hole, across, "found by rank 1");
  each_says(A, {.near_null = matrix<double>({1600, 1}), .gathered = 100}, "levels across ranks do not take .near_null yet; leave it out, or take schwarz(amg{...})");
  each_says(A, {.smoother = jacobi{}, .gathered = 100}, "do not take a preconditioner as .smoother");
  each_says(hole, {.coarsening = amg_coarsening::grid, .gathered = 100}, "zero or not stored");
  each_says(sla::permuted(A, rcm(A)), {.coarsening = amg_coarsening::grid, .gathered = 100}, "D is not found to be a symmetric operator of 5, 9, 7 or 27 points");
  each_says(A, {.gathered = 0}, "amg{.gathered = 0}");
  auto indefinite = A;
  for (double& v : indefinite.values()) v = -v;
  auto const reasons = on_ranks(3, indefinite, [](auto const& D, auto const& b) { return try_solve(D, b, cg{}, across).report.reason(); });
  for (auto r : reasons) CHECK(r == reason::indefinite_matrix);
}

}  // namespace test_multigrid

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Solves on 1 to 8 thread ranks against one rank: methods, preconditioners, adjoints, failing ranks, reports.
#include <sstream>

#include <sla/dist.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"
#include "suites/partition.hpp"

namespace test_solve {

using namespace sla;
using Rows = mesh<axis<"rows">>;

namespace {
/// The solution by thread ranks, which own strips or rows without order; every rank must hold the same.
template <class Method, class P, class B>
auto solved(int ranks, sparse_tensor<double> const& A, B const& b, Method const& method, P const& p, int& iterations) {
  auto const all = threads::run(ranks, [&](auto& world) {
    Rows m(world);
    auto D = distribute<SparseShard<0>>(A, m, suite::owners_for(A, ranks, ranks % 2 == 0));
    auto [x, report] = try_solve(D, distribute(b, D.row_layout()), method, p);
    return std::pair{gather(x), report.converged() ? report.iterations() : -1};
  });
  for (auto const& [x, n] : all) {
    CHECK(n == all[0].second);
    CHECK(std::equal(x.begin(), x.end(), all[0].first.begin()));
  }
  iterations = all[0].second;
  return all[0].first;
}

template <class Method, class P>
void check(sparse_tensor<double> const& A, Method const& method, P const& p, bool same_iterations) {
  auto const b = random<double>({A.rows()}, 5);
  auto const [x, report] = try_solve(A, b, method, p);
  for (int ranks : {1, 2, 3, 4, 8}) {
    int iterations = 0;
    auto const y = solved(ranks, A, b, method, p, iterations);
    CHECK(double(norm(b - A * y)) <= 1.01e-10 * double(norm(b)));
    if (same_iterations || ranks == 1) CHECK(std::abs(iterations - report.iterations()) <= 2);
  }
}
}  // namespace

TEST_CASE("conjugate gradients on ranks are those of one rank") {
  auto const A = problems::poisson<double>({23, 17});
  check(A, cg{.rtol = 1e-10}, jacobi{}, true);
  check(A, cg{.rtol = 1e-10}, ilu0{}, false);
  check(A, cg{.rtol = 1e-10}, identity{}, true);
}

TEST_CASE("solving needs one halo and two reductions per iteration of conjugate gradients") {
  auto const A = problems::poisson<double>({40, 40});
  auto const b = random<double>({A.rows()}, 5);
  auto const reports = threads::run(4, [&](auto& world) {
    Rows m(world);
    auto D = distribute<SparseShard<0>>(A, m, strips{});
    return try_solve(D, distribute(b, D.row_layout()), cg{.rtol = 1e-10}, jacobi{}).report;
  });
  // what the text of the method says before it runs
  constexpr auto one =
      method_schedule<cg, dsparse_tensor<sparse_tensor<double>, Rows, SparseShard<0>>, dtensor<vector<double>, Rows, Shard<0, Part<>>>>.iteration();
  static_assert(count_steps<step::all_reduce>(one) == 2 && count_steps<step::halo_exchange>(one) == 1);
  for (auto const& r : reports) {
    CHECK(r.converged());
    double const n = r.iterations(), first_and_last = 5;  // what begins the runs, and the driver's true residuals
    CHECK(r.sent.reductions * n >= n * count_steps<step::all_reduce>(one));
    CHECK(r.sent.reductions * n <= n * count_steps<step::all_reduce>(one) + first_and_last);
    CHECK(r.sent.halos * n >= n * count_steps<step::halo_exchange>(one));
    CHECK(r.sent.halos * n <= n * count_steps<step::halo_exchange>(one) + first_and_last);
    std::ostringstream out;
    out << r;
    CHECK(out.str().find("2 reductions, 1 halos") != std::string::npos);
  }
}

TEST_CASE("ranks see the residual of one rank to its last digits, and know the solution of b = 0") {
  // integers of 45 bits: b is A x up to rounding, and of b - A x double holds only noise
  auto A = problems::poisson<double>({9, 7});
  auto const values = random<double>(A.nnz(), 5);
  auto x = random<double>({A.rows()}, 3);
  for (index_t k = 0; k < A.nnz(); ++k) A.values()[k] = std::round(0x1p45 * values[k]);
  for (auto& v : x) v = std::round(0x1p45 * v);
  vector<double> const b = A * x, exact = accurate_residual(b, A * x), plain = b - A * x;
  CHECK(double(norm(plain - exact)) > 0.1 * double(norm(exact)));
  for (int ranks : {1, 3, 4}) {
    auto const differences = threads::run(ranks, [&](auto& world) {
      Rows m(world);
      auto D = distribute<SparseShard<0>>(A, m, suite::owners_for(A, ranks, ranks == 4));
      auto dx = distribute(x, D.row_layout()), db = distribute(b, D.row_layout()), r = dx;
      r = accurate_residual(db, D * dx);
      return double(norm(gather(r) - exact));
    });
    for (double d : differences) CHECK(d == 0);
  }

  auto const P = problems::poisson<double>({9, 7});
  auto const sizes = threads::run(3, [&](auto& world) {
    Rows m(world);
    auto D = distribute<SparseShard<0>>(P, m, strips{});
    auto const x0 = distribute(x, D.row_layout());
    auto [y, report] = try_solve(D, distribute(zeros<double>(P.rows()), D.row_layout()), cg{}, jacobi{}, initial_guess(x0));
    return report.converged() ? double(norm(gather(y))) : -1;
  });
  for (double size : sizes) CHECK(size == 0);
}

TEST_CASE("a prepared distributed solver solves with the adjoint, and takes new values") {
  auto const A = problems::convection_diffusion<double>({15, 12}, {20.0, 5.0});
  auto const b = random<double>({A.rows()}, 5);
  bool const scattered = GENERATE(false, true);
  auto const worst = threads::run(3, [&](auto& world) {
    Rows m(world);
    auto const owners = suite::owners_for(A, 3, scattered);
    auto D = distribute<SparseShard<0>>(A, m, owners);
    auto db = distribute(b, D.row_layout());
    auto s = prepare(D, bicgstab{.rtol = 1e-11}, jacobi{});
    double const forward = norm(b - A * gather(s.solve(db)));
    double const back = norm(b - transpose(A) * gather(s.solve_transpose(db)));
    s.update(distribute<SparseShard<0>>(2.0 * A, m, owners));
    double const updated = norm(b - 2.0 * (A * gather(s.solve(db))));
    return std::array<double, 3>{forward, back, updated};
  });
  for (auto const& rank : worst)
    for (double r : rank) CHECK(r <= 1e-10 * double(norm(b)));
}

TEST_CASE("more ranks than rows") {
  auto const A = problems::poisson<double>({2, 2});
  int iterations = 0;
  auto const b = random<double>({4}, 1);
  auto const x = solved(8, A, b, cg{.rtol = 1e-12}, jacobi{}, iterations);
  CHECK(double(norm(b - A * x)) <= 1e-12 * double(norm(b)));
}

TEST_CASE("errors of one rank are errors of all") {
  auto const A = problems::poisson<double>({8, 8});
  auto b = random<double>({64}, 1);
  auto const heard = [&](auto const& matrix, auto const& rhs) {
    return threads::run(3, [&](auto& world) {
      Rows m(world);
      auto D = distribute<SparseShard<0>>(matrix, m, strips{});
      try {
        (void)solve(D, distribute(rhs, D.row_layout()), cg{}, jacobi{});
      } catch (error const& e) {
        return std::string(e.what());
      }
      return std::string();
    });
  };
  auto bad = b;
  bad[60] = std::numeric_limits<double>::quiet_NaN();
  for (auto const& words : heard(A, bad)) {
    CHECK(words.find("every element must be a finite number") != std::string::npos);
    CHECK(words.find("b(60) is ") != std::string::npos);
    CHECK(words.find("found by rank 2") != std::string::npos);
  }
  auto Z = A;
  Z.values()[0] = 0;
  for (auto const& words : heard(Z, b)) CHECK(words.find("the diagonal entry of row 0 is zero") != std::string::npos);
}

TEST_CASE("ranks of threads begin with the caller's defaults, but for the observer") {
  auto const A = problems::poisson<double>({8, 8});
  int seen = 0;
  auto const asked = with({.rtol = 1e-3, .max_iterations = 2, .watch = [&](auto const&) { return ++seen, true; }}, [&] {
    return threads::run(2, [&](auto& world) {
      Rows m(world);
      auto D = distribute<SparseShard<0>>(A, m, strips{});
      auto const report = try_solve(D, distribute(ones<double>({64}), D.row_layout()), cg{}, jacobi{}).report;
      return with({.rtol = 1e-5}, [&] { return cg{}.rtol; }) == 1e-5 && report.iterations() == 2 ? report.rtol : -1.0;
    });
  });
  CHECK(asked == std::vector{1e-3, 1e-3});
  CHECK(seen == 0);
  CHECK(threads::run(2, [](auto&) { return double(cg{}.rtol); }) == std::vector{1e-8, 1e-8});
}

TEST_CASE("a rank that throws in the middle of a solve ends the others with its name") {
  auto const A = problems::poisson<double>({30, 30});
  auto const b = random<double>({A.rows()}, 1);
  for (int ranks : {2, 4}) {
    try {
      threads::run(ranks, [&](auto& world) {
        Rows m(world);
        auto D = distribute<SparseShard<0>>(A, m, strips{});
        int seen = 0;
        observer const watch = [&](std::vector<progress> const&) {
          if (++seen == 5 && world.rank() == 1) throw value_error("the disk is full");
          return true;
        };
        (void)solve(D, distribute(b, D.row_layout()), cg{.rtol = 1e-12, .watch = watch}, jacobi{});
      });
      FAIL("nobody heard of it");
    } catch (rank_error const& e) {
      CHECK(e.rank() == 1);
      CHECK(std::string(e.what()).find("the disk is full") != std::string::npos);
    }
  }
}

TEST_CASE("where the observer of one rank asks to stop, all ranks stop, an iteration later") {
  auto const A = problems::poisson<double>({30, 30});
  auto const b = random<double>({A.rows()}, 1);
  auto const stop_at_5 = [](bool mine) { return [mine, n = 0](std::vector<progress> const&) mutable { return !(++n >= 5 && mine); }; };
  auto const check_stopped = [&](auto const& run) {
    for (int ranks : {2, 4}) {
      auto const all = threads::run(ranks, [&](auto& world) {
        Rows m(world);
        auto D = distribute<SparseShard<0>>(A, m, strips{});
        auto const [x, report] = run(D, distribute(b, D.row_layout()), world.rank());
        return std::tuple{report.reason(), report.iterations(), gather(x), report.residual()};
      });
      for (auto const& [why, iterations, x, residual] : all) {
        CHECK(why == reason::stopped);
        CHECK(iterations == 5);
        CHECK(std::equal(x.begin(), x.end(), std::get<2>(all[0]).begin()));
        CHECK(std::abs(residual - double(norm(b - A * x)) / double(norm(b))) <= 1e-12);
      }
    }
  };
  check_stopped([&](auto const& D, auto const& c, int rank) { return try_solve(D, c, cg{.watch = stop_at_5(rank == 1)}, jacobi{}); });
  check_stopped([&](auto const& D, auto const& c, int rank) { return try_solve(D, c, gmres{.watch = stop_at_5(rank == 0)}, jacobi{}); });
  check_stopped([&](auto const& D, auto const& c, int rank) { return try_solve(D, c, bicgstab{.watch = stop_at_5(rank == 1)}, jacobi{}); });
  check_stopped([&](auto const& D, auto const& c, int rank) { return try_solve(D, c, minres{.watch = stop_at_5(rank == 1)}, jacobi{}); });
  check_stopped([&](auto const& D, auto const& c, int rank) { // only one rank watches
    cg method;
    if (rank == 1) method.watch = stop_at_5(true);
    return try_solve(D, c, method, jacobi{});
  });
  check_stopped([&](auto const& D, auto const& c, int rank) { return with({.watch = stop_at_5(rank == 1)}, [&] { return try_solve(D, c, cg{}, jacobi{}); }); });
  check_stopped([&](auto const& D, auto const& c, int) { return try_solve(D, c, cg{.watch = stop_at_5(true)}, jacobi{}); });
}

TEST_CASE("where the observer of one rank asks to stop, the ranks that hold copies of the system stop too") {
  using Both = mesh<axis<"rows", 2>, axis<"copies", 2>>;
  auto const A = problems::poisson<double>({20, 20});
  auto const b = random<double>({A.rows()}, 1);
  auto const all = threads::run(4, [&](auto& world) {
    Both m(world);
    auto const D = distribute<SparseShard<0>, Replicate>(A, m, equal_rows{});
    cg method;
    if (world.rank() == 0) method.watch = [n = 0](auto const&) mutable { return ++n < 5; };
    auto const [x, report] = try_solve(D, distribute(b, D.row_layout()), method, jacobi{});
    return std::tuple{report.reason(), report.iterations(), gather(x)};
  });
  for (auto const& [why, iterations, x] : all) {
    CHECK(why == reason::stopped);
    CHECK(iterations == 5);
    CHECK(std::equal(x.begin(), x.end(), std::get<2>(all[0]).begin()));
  }
}

TEST_CASE("an observer on one rank that never asks changes nothing, and two numbers more are sent once where none watches") {
  auto const A = problems::poisson<double>({20, 20});
  auto const b = random<double>({A.rows()}, 1);
  auto const all = threads::run(3, [&](auto& world) {
    Rows m(world);
    auto D = distribute<SparseShard<0>>(A, m, strips{});
    auto const c = distribute(b, D.row_layout());
    int seen = 0;
    cg watched;
    if (world.rank() == 0) watched.watch = [&](auto const&) { return ++seen, true; };
    auto const with_one = try_solve(D, c, watched, jacobi{}), without = try_solve(D, c, cg{}, jacobi{});
    double const apart = norm(gather(with_one.x) - gather(without.x));
    return std::tuple{apart, seen, with_one.report, without.report};
  });
  for (std::size_t r = 0; r < all.size(); ++r) {
    auto const& [apart, seen, with_one, without] = all[r];
    CHECK(apart == 0);
    CHECK((seen > 0) == (r == 0));
    CHECK(with_one.iterations() == without.iterations());
    CHECK(with_one.sent.reductions == without.sent.reductions);
    CHECK(with_one.sent.bytes > without.sent.bytes + 20); // 16 bytes with each of two reductions
  }
}

TEST_CASE("of systems that the ranks have for themselves each stops alone, and a throw in one ends all") {
  auto const A = problems::poisson<double>({12, 12});
  matrix<double> const B = random<double, Extents<dyn, dyn>>({144, 4}, 3);
  using Columns = mesh<axis<"rhs">>;
  auto const run = [&](bool throws) {
    return threads::run(2, [&](auto& world) {
      Columns m(world);
      auto const D = distribute<Replicate>(A, m);
      int n = 0;
      observer const watch = [&](std::vector<progress> const&) {
        if (throws && world.rank() == 1 && ++n == 3) throw value_error("enough");
        return !(world.rank() == 1 && n++ == 3);
      };
      auto const [x, report] = try_solve(D, distribute<Shard<1>>(B, m), cg{.rtol = 1e-10, .watch = watch}, jacobi{});
      return report.reason();
    });
  };
  CHECK(run(false) == std::vector{reason::converged, reason::stopped});
  try {
    (void)run(true);
    FAIL("nobody heard of it");
  } catch (rank_error const& e) {
    CHECK(e.rank() == 1);
    CHECK(std::string(e.what()).find("enough") != std::string::npos);
  }
}

TEST_CASE("an observer of `with` that throws on one rank only ends the others, and leaves them their defaults") {
  auto const A = problems::poisson<double>({30, 30});
  auto const b = random<double>({A.rows()}, 1);
  for (auto const method : {0, 1}) {
    std::array<bool, 3> stayed{};
    try {
      threads::run(3, [&](auto& world) {
        Rows m(world);
        auto D = distribute<SparseShard<0>>(A, m, strips{});
        auto const c = distribute(b, D.row_layout());
        int seen = 0;
        auto const watch = [&](std::vector<progress> const&) {
          if (++seen == 4 && world.rank() == 2) throw value_error("no licence");
          return true;
        };
        try {
          with({.watch = watch}, [&] { return method == 0 ? try_solve(D, c, cg{}, jacobi{}).report.iterations() : try_solve(D, c, gmres{}, jacobi{}).report.iterations(); });
        } catch (...) {
          stayed[std::size_t(world.rank())] = bool(cg{}.watch);
          throw;
        }
      });
      FAIL("nobody heard of it");
    } catch (rank_error const& e) {
      CHECK(e.rank() == 2);
      CHECK(std::string(e.what()).find("no licence") != std::string::npos);
      CHECK(stayed == std::array<bool, 3>{});
    }
  }
}

TEST_CASE("a pending right-hand side is scattered to the rows of the matrix, also under a gradient") {
  auto const A = problems::poisson<double>({6, 5});
  auto const b = random<double>({30}, 1);
  auto const expected = solve(A, b, cg{.rtol = 1e-13}, jacobi{});
  auto const errors = threads::run(3, [&](auto& world) {
    Rows m(world);
    auto const D = distribute<SparseShard<0>>(A, m, strips{});
    auto const whole = distribute<Replicate>(b, m);
    auto const scattered = [&](auto const& v) { return reduce_scatter<"rows", Shard<0, Part<>>>(convert<"rows", Partial<>>(v), D.row_layout()); };
    auto const x = solve(D, scattered(whole), cg{.rtol = 1e-13}, jacobi{});
    auto const slope = std::get<1>(value_and_gradient([&](auto const& v) { return squared_norm(scattered(v)); }, whole));
    return std::pair<double, double>{norm(gather(x) - expected), norm(all_reduce<"rows">(slope).local() - 2.0 * b)};
  });
  for (auto const& [of_x, of_slope] : errors) CHECK((of_x <= 1e-11 && of_slope <= 1e-13));
}

TEST_CASE("a solve on ranks begins where it is told") {
  auto const A = problems::poisson<double>({8, 8});
  auto const b = random<double>({A.rows()}, 1);
  auto const seen = threads::run(3, [&](auto& world) {
    Rows m(world);
    auto D = distribute<SparseShard<0>>(A, m, strips{});
    auto db = distribute(b, D.row_layout());
    auto const x = solve(D, db, cg{.rtol = 1e-12}, jacobi{});
    auto const elsewhere = distribute(b, distribute<SparseShard<0>>(A, m, owner_map(std::vector<index_t>{0, 1, 2, 64})).row_layout());
    bool refused = false;
    try {
      (void)solve(D, db, cg{}, initial_guess(elsewhere));
    } catch (error const&) {
      refused = true;
    }
    return std::pair{try_solve(D, db, cg{}, jacobi{}, initial_guess(x)).report.iterations(), refused};
  });
  for (auto const& [iterations, refused] : seen) CHECK((iterations == 0 && refused));
}
} // namespace test_solve

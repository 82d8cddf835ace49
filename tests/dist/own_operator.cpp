// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operators of the user on 1 to 8 thread ranks: functions of what a rank holds, as matrix and as preconditioner, against one rank.
#include <sla/dist.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"
#include "suites/least_squares.hpp"
#include "suites/partition.hpp"
#include "suites/spread.hpp"

namespace test_own_operator {

using namespace sla;
using Rows = mesh<axis<"rows">>;

namespace {
/// D x, or D^H x, as a function of this rank's part: it exchanges halos with the other ranks by itself.
template <bool Adjoint, class D>
auto function_of(D const& d) {
  return [&d](std::span<double const> x, std::span<double> y) {
    auto const layout = d.row_layout();
    auto dx = dtensor<vector<double>, Rows, Shard<0, Part<>>>(vector<double>(index_t(x.size())), layout.handle());
    std::ranges::copy(x, dx.local().begin());
    if constexpr (Adjoint)
      std::ranges::copy(eval(adjoint(d) * dx).local(), y.begin());
    else
      std::ranges::copy(eval(d * dx).local(), y.begin());
  };
}
template <class D>
linear_operator<double> operator_of(D const& d) {
  index_t const n = d.local().rows();
  return {n, n, function_of<false>(d), function_of<true>(d)};
}
/// 0.5 I of a rank's part, as a function and as an expression.
linear_operator<double> halves(index_t n) {
  return {n, n, [](auto x, auto y) { std::ranges::transform(x, y.begin(), [](double v) { return 0.5 * v; }); }, self_adjoint};
}
struct half {
  half adjoint() const { return *this; }
};
template <class X>
auto operator*(half, X const& x) {
  return 0.5 * x;
}
/// f(D, b on ranks) on every rank; D of strips, or of rows without order.
template <class B, class F>
auto on_ranks(int ranks, sparse_tensor<double> const& A, B const& b, F const& f) {
  return threads::run(ranks, [&](auto& world) {
    Rows m(world);
    auto const D = distribute<SparseShard<0>>(A, m, suite::owners_for(A, ranks, ranks % 2 == 0));
    return f(D, distribute(b, D.row_layout()));
  });
}
/// As far apart as sums in another order are: a function is a pass of its own, between those of the expression.
template <class X, class Y>
bool same(X const& x, Y const& y) {
  return norm_inf(x - y) <= 1e-9 * norm_inf(y);
}
template <class Method>
void check(Method const& method, sparse_tensor<double> const& A) {
  auto const b = random<double>(A.rows(), 5);
  for (int ranks : {1, 2, 3, 4, 8}) {
    auto const seen = on_ranks(ranks, A, b, [&](auto const& D, auto const& db) {
      auto const wanted = try_solve(D, db, method, half{});
      // the preconditioner, then the matrix, then both
      bool all = true;
      auto const compare = [&](auto const& found) {
        all = all && found.report.converged() && std::abs(found.report.iterations() - wanted.report.iterations()) <= 1 && same(gather(found.x), gather(wanted.x));
      };
      auto const n = D.local().rows();
      compare(try_solve(D, db, method, halves(n)));
      compare(try_solve(operator_of(D), db, method, half{}));
      compare(try_solve(operator_of(D), db, method, halves(n)));
      return std::pair(all, gather(wanted.x));
    });
    for (auto const& [all, x] : seen) {
      CHECK(all);
      CHECK(norm(b - A * x) <= 1.01e-10 * norm(b));
    }
  }
}
}  // namespace

TEST_CASE("functions of a rank's part are matrix and preconditioner of every method") {
  auto const A = problems::poisson<double>({9, 7});
  auto const C = problems::convection_diffusion<double>({9, 7}, {20.0, 5.0});
  check(cg{.rtol = 1e-10}, A);
  check(minres{.rtol = 1e-10}, A);
  check(bicgstab{.rtol = 1e-10}, C);
  check(gmres{.rtol = 1e-10}, C);
  check(fgmres{.rtol = 1e-10}, C);
}

TEST_CASE("products, right-hand sides, transposed solves and gradients of functions on ranks") {
  auto const A = problems::convection_diffusion<double>({8, 6}, {20.0, 5.0});
  auto const b = random<double>(A.rows(), 5);
  auto const B = random<double, Extents<dyn, dyn>>({A.rows(), 3}, 6);
  for (int ranks : {1, 2, 3, 4, 8}) {
    auto const seen = on_ranks(ranks, A, b, [&](auto const& D, auto const& db) {
      gmres const method{.rtol = 1e-11};
      auto const op = operator_of(D);
      auto const r = eval(db - 2.0 * (op * (db + db)));
      auto const s = prepare(rank_operator(op, D.row_layout()), method, halves(D.local().rows()));
      auto dB = distribute(B, D.row_layout());
      auto const [x, report] = try_solve(op, dB, method);
      auto const f = [&](auto const& rhs) { return sum(solve(op, rhs, method)); };
      auto const [value, g] = value_and_gradient(f, db);
      auto renewed = s;
      auto const twice = linear_operator<double>(op.rows(), op.cols(), [&](auto in, auto out) {
        function_of<false>(D)(in, out);
        for (double& v : out) v *= 2;
      });
      renewed.update(rank_operator(twice, D.row_layout()));
      return std::tuple(gather(r), gather(s.solve(db)), gather(s.solve_transpose(db)), gather(x), int(report.items.size()), value, gather(g),
                        gather(renewed.solve(db)));
    });
    auto const gradient = solve(transpose(A), ones<double>(A.rows()), lu{});
    auto const near = [&](auto const& residual, auto const& of) { CHECK(norm(residual) <= 1e-10 * norm(of)); };
    for (auto const& [r, y, t, x, items, value, g, half_of_y] : seen) {
      near(r - (b - 4.0 * (A * b)), b);
      near(b - A * y, b);
      near(b - transpose(A) * t, b);
      near(B - A * x, B);
      CHECK(items == 3);
      CHECK(double(value) == Approx(sum(solve(A, b, lu{}))));
      CHECK(norm_inf(g - gradient) <= 1e-8 * norm_inf(gradient));
      near(b - 2.0 * (A * half_of_y), b);
    }
  }
}

TEST_CASE("a preconditioner of this rank's rows, in blocks and with right-hand sides, and every rank with a copy of the system") {
  auto const A = problems::poisson<double>({8, 6});
  auto const B = to_blocks<2, 2>(A);
  auto const b = random<double, Extents<dyn, 2, dyn>>({24, 2, 2}, 3);
  for (bool all : threads::run(3, [&](auto& world) {
         Rows m(world);
         auto const D = distribute<SparseShard<0>>(B, m, strips{});
         auto const db = distribute(b, D.row_layout());
         cg const method{.rtol = 1e-10};
         bool const blocks = same(gather(solve(D, db, method, halves(2 * D.local().rows()))), gather(solve(D, db, method, half{})));
         auto const R = distribute<Replicate>(A, m);
         auto const c = distribute(random<double>(A.rows(), 4), R.row_layout());
         auto const x = solve(R, c, method, halves(A.rows())), y = solve(R, c, method, half{});
         linear_operator<double> const op(A.rows(), A.rows(), [&](auto in, auto out) { std::ranges::copy(vector<double>(A * borrow(in.data(), A.rows())), out.begin()); });
         auto const z = solve(op, c, method, half{});
         return blocks && same(x.local(), y.local()) && same(x.local(), z.local());
       }))
    CHECK(all);
}

TEST_CASE("functions of a rank's part between vectors of two layouts: least squares") {
  auto const A = suite::scattered<double>(60, 25, 300);
  auto const b = random<double>(60, 5);
  auto const B = random<double, Extents<dyn, 2>>({60, 2}, 6);
  for (int ranks : {1, 3}) {
    auto const seen = threads::run(ranks, [&](auto& world) {
      Rows m(world);
      auto const D = distribute<SparseShard<0>>(A, m);
      auto const between = [&D](auto const& from, auto product) {  // x in the layout `from`
        return [&D, from, product](std::span<double const> x, std::span<double> y) {
          auto dx = dtensor<vector<double>, Rows, Shard<0, Part<>>>(vector<double>(index_t(x.size())), from.handle());
          std::ranges::copy(x, dx.local().begin());
          std::ranges::copy(eval(product(D, dx)).local(), y.begin());
        };
      };
      linear_operator<double> const local(distribute(b, D.row_layout()).local().size(), distribute(vector<double>(25), D.col_layout()).local().size(),
                                          between(D.col_layout(), [](auto const& d, auto const& x) { return d * x; }),
                                          between(D.row_layout(), [](auto const& d, auto const& x) { return adjoint(d) * x; }));
      rank_operator const op(local, D.row_layout(), D.col_layout());
      auto const x = distribute(random<double>(25, 7), D.col_layout());
      auto const db = distribute(b, D.row_layout());
      auto const forth = gather(eval(db - 2.0 * (op * x)));
      auto const back = gather(eval(adjoint(op) * db));
      auto const found = try_solve(op, db, suite::cgls{.rtol = 1e-11});
      auto const s = prepare(op, suite::cgls{.rtol = 1e-11});
      return std::tuple(forth, back, gather(found.x), found.report.converged(), gather(s.solve(distribute(B, D.row_layout()))));
    });
    auto const exact = solve(A, b, suite::cgls{.rtol = 1e-12});
    auto const block = solve(A, B, suite::cgls{.rtol = 1e-12});
    for (auto const& [forth, back, x, converged, many] : seen) {
      CHECK(norm(forth - (b - 2.0 * (A * random<double>(25, 7)))) <= 1e-12);
      CHECK(norm(back - adjoint(A) * b) <= 1e-12);
      CHECK(converged);
      CHECK(norm(x - exact) <= 1e-8 * norm(exact));
      CHECK(norm(many - block) <= 1e-8 * norm(block));
    }
  }
  auto const words = suite::words_of(2, [&](auto& world) {
    Rows m(world);
    auto const D = distribute<SparseShard<0>>(A, m);
    auto const db = distribute(b, D.row_layout());
    linear_operator<double> const local(db.local().size(), 9, [](auto, auto) {}, [](auto, auto) {});
    (void)solve(rank_operator(local, D.row_layout(), D.col_layout()), db, cg{});
  });
  CHECK(words[0].find("of two layouts, and must be square") != std::string::npos);
}

TEST_CASE("what fits on no rank, or fails on one, is an error on every rank") {
  auto const A = problems::poisson<double>({8, 6});
  auto const b = random<double>(A.rows(), 5);
  auto const told = [&](auto const& f, std::string const& part) {
    auto const said = suite::words_of(3, [&](auto& world) {
      Rows m(world);
      auto const D = distribute<SparseShard<0>>(A, m, strips{});
      f(D, distribute(b, D.row_layout()), world.rank());
    });
    for (auto const& words : said) {
      INFO(words);
      CHECK(words.find(part) != std::string::npos);
    }
  };
  told([](auto const& D, auto const& db, int rank) { (void)solve(D, db, cg{}, halves(D.local().rows() + (rank == 1))); }, 
       "P is a linear_operator of 16 x 16, and this rank holds 15 rows: on ranks a linear_operator is that of the rank's own rows, 15 x 15");
  told([](auto const& D, auto const& db, int rank) { (void)solve(halves(D.local().rows() + (rank == 2)), db, cg{}); }, 
       "rows: on ranks a linear_operator is that of the rank's own rows");
  told([](auto const& D, auto const& db, int) { (void)solve(halves(D.mesh().size(0) * 16), db, cg{}); }, "A is a linear_operator of 48 x 48, and this rank holds");
  told([](auto const&, auto const& db, int) { (void)eval(halves(48) * db); }, "A * x: A is a linear_operator of 48 x 48, and this rank holds");
  told(
      [](auto const& D, auto const& db, int) {
        auto const n = D.local().rows();
        prepare(rank_operator(linear_operator<double>(n, n, function_of<false>(D)), D.row_layout()), gmres{}).solve_transpose(db);
      },
      "was made without its adjoint");
  CHECK_THROWS_WITH(threads::run(3, [&](auto& world) {
                      Rows m(world);
                      auto const D = distribute<SparseShard<0>>(A, m, strips{});
                      auto const n = D.local().rows();
                      linear_operator<double> const op(n, n, [&, calls = 0](auto x, auto y) mutable {
                        if (world.rank() == 1 && ++calls == 4) throw value_error("out of plans");
                        function_of<false>(D)(x, y);
                      });
                      return solve(op, distribute(b, D.row_layout()), cg{}).local().size();
                    }),
                    Catch::Matchers::ContainsSubstring("out of plans"));
}

}  // namespace test_own_operator

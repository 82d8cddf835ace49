// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The automatic choice on 1 to 8 thread ranks against one rank's: the look, what is picked, what is tried, and failures, which all ranks have alike.
#include <algorithm>
#include <complex>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <sla/dist.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"
#include "suites/partition.hpp"

namespace test_automatic {

using namespace sla;
using Rows = mesh<axis<"rows">>;

namespace {
/// What every rank has: its solution, and what its report says.
struct outcome {
  vector<double> x;
  std::string method, choice;
  double residual;
  bool converged;
};
/// solve(D, b) on so many ranks: rows in strips, or without order, where the last of many ranks has none.
std::vector<outcome> on_ranks(int ranks, bool scattered, sparse_tensor<double> const& A, vector<double> const& b) {
  auto const all = threads::run(ranks, [&](auto& world) {
    Rows m(world);
    auto D = distribute<SparseShard<0>>(A, m, suite::owners_for(A, ranks, scattered));
    auto [x, report] = try_solve(D, distribute(b, D.row_layout()));
    return outcome{gather(x), report.method + "+" + report.preconditioner.substr(0, report.preconditioner.find_first_of(", ")), report.choice, report.residual(), report.converged()};
  });
  for (auto const& one : all) {  // all ranks hold the same, and did the same
    CHECK((one.method == all[0].method && one.choice == all[0].choice && one.residual == all[0].residual));
    CHECK(std::equal(one.x.begin(), one.x.end(), all[0].x.begin()));
  }
  return all;
}
/// x of all numbers of ranks against one rank's; what is said to be picked.
std::string picked(sparse_tensor<double> const& A, std::vector<int> const& counts = {1, 2, 3, 4, 8}) {
  auto const b = random<double>({A.rows()}, 5);
  auto const [x, report] = try_solve(A, b);
  CHECK(report.converged());
  std::string methods;
  for (int ranks : counts)
    for (bool scattered : {false, true}) {
      INFO(ranks << (scattered ? " scattered" : " strips"));
      auto const out = on_ranks(ranks, scattered, A, b)[0];
      INFO(out.method << "; " << out.choice);
      CHECK(out.converged);
      CHECK(double(norm(b - A * out.x)) <= 1.01e-8 * double(norm(b)));
      CHECK(double(norm(out.x - x)) <= 1e-5 * double(norm(x)));
      if (methods.find(out.method) == std::string::npos) methods += out.method + ' ';
    }
  return methods;
}
sparse_tensor<double> shifted(sparse_tensor<double> A, double by) {
  auto const diagonal = diagonal_positions(A.pattern());
  for (index_t i = 0; i < A.rows(); ++i) A.values()[diagonal[i]] += by;
  return A;
}
/// One diagonal entry in the middle is zero.
sparse_tensor<double> pierced(sparse_tensor<double> A) {
  A.values()[diagonal_positions(A.pattern())[A.rows() / 2]] = 0;
  return A;
}
/// A graph's Laplacian, of Poisson's entries beside the diagonal: constants are its null space.
sparse_tensor<double> laplacian(sparse_tensor<double> A) {
  auto const diagonal = diagonal_positions(A.pattern());
  for (index_t i = 0; i < A.rows(); ++i) {
    double sum = 0;
    A.pattern().view().for_row(i, [&](index_t s, index_t) { sum += s == diagonal[i] ? 0 : A.values()[s]; });
    A.values()[diagonal[i]] = -sum;
  }
  return A;
}
}  // namespace

TEST_CASE("the look at rows of all ranks is that of one rank at the whole") {
  std::vector<sparse_tensor<double>> all{problems::poisson<double>({13, 11}), problems::convection_diffusion<double>({9, 8}, 1.0), shifted(problems::poisson<double>({12, 9}), -1.5),
                                         laplacian(problems::poisson<double>({10, 7})), shifted(problems::poisson<double>({8, 8}), 1.0), problems::anisotropic<double>({10, 12}, 1e-3)};
  all.push_back(all[0]), all.push_back(all[0]), all.push_back(all[0]), all.push_back(all[3]);
  all[6] = pierced(all[6]);
  for (auto& v : all[7].values()) v *= 1 + 2e-16 * double(index_t(1e3 * std::abs(v)) % 3);
  for (index_t k = 0; k < all[7].nnz(); ++k) all[7].values()[k] *= 1 + 3e-16 * double(k % 2);  // symmetric, but for rounding
  all[8].values()[17] *= 1 + 1e-12;                                                            // not even that
  all[9].values()[diagonal_positions(all[9].pattern())[33]] += 1;                              // one strict row, from which all are reached
  auto const numbers = [](matrix_properties const& p) {
    return std::vector<double>{double(p.rows), double(p.entries), double(p.square), double(p.symmetric), double(p.hermitian), double(p.complex), double(p.positive_diagonal), double(p.opposed_off_diagonal),
                               double(p.zero_diagonals), double(p.dominant_rows), double(p.strictly_dominant_rows), double(p.definite), double(p.shortest_row), double(p.longest_row),
                               double(p.lower_bandwidth), double(p.upper_bandwidth), p.smallest_diagonal, p.largest_diagonal, double(p.zero_rows), double(p.batch)};
  };
  auto const compare = [&](auto const& A, int ranks, bool scattered) {
    auto const whole = numbers(properties(A));
    for (auto const& seen : threads::run(ranks, [&](auto& world) {
           Rows m(world);
           return numbers(detail::properties_on_ranks(distribute<SparseShard<0>>(A, m, suite::owners_for(A, ranks, scattered))));
         }))
      CHECK(seen == whole);
  };
  CHECK((properties(all[7]).symmetric && !properties(all[8]).symmetric && properties(all[9]).definite == definiteness::positive_definite));
  for (int ranks : {1, 2, 3, 4, 8})
    for (bool scattered : {false, true})
      for (std::size_t k = 0; k < all.size(); ++k) {
        INFO("matrix " << k << " on " << ranks << (scattered ? " scattered" : " strips"));
        compare(all[k], ranks, scattered);
      }
  // Complex: Hermitian, symmetric, neither; a last bit that is wrong.
  using C = std::complex<double>;
  for (int kind = 0; kind < 4; ++kind) {
    auto Z = cast<C>(all[0]);
    for (index_t i = 0; i < Z.rows(); ++i)
      Z.pattern().view().for_row(i, [&](index_t s, index_t j) { Z.values()[s] += C(0, kind == 1 ? 0.25 : kind == 2 ? 0.25 * double(i % 3) : i < j ? 0.5 : i > j ? -0.5 : 0); });
    if (kind == 3) Z.values()[20] *= 1 + 4e-16;
    INFO("complex " << kind);
    for (int ranks : {2, 4}) compare(Z, ranks, ranks == 4);
  }
}

TEST_CASE("on ranks the choice is that of one rank: multigrid, factors, and methods for what is not symmetric or not definite") {
  CHECK(picked(problems::poisson<double>({90, 80}), {1, 2, 3, 8}) == "cg+amg ");
  CHECK(picked(problems::poisson<double>({10, 12})) == "ldlt+factors ");
  CHECK(picked(problems::convection_diffusion<double>({24, 20}, 1.0)) == "bicgstab+ilu0 ");
  auto const indefinite = picked(shifted(problems::poisson<double>({19, 17}), -1.7));
  CHECK(indefinite.find("cg+") == std::string::npos);
  CHECK(picked(pierced(problems::convection_diffusion<double>({12, 12}, 1.0))) == "lu+factors ");
  CHECK(picked(problems::poisson<double>({2, 2}), {3, 8}) == "ldlt+factors ");  // ranks without rows
  CHECK(picked(problems::poisson<double>({14, 12, 11}), {2, 3}).starts_with("cg+"));
}

TEST_CASE("a singular matrix fails on every rank, with the words of all") {
  auto const A = laplacian(problems::poisson<double>({14, 12}));
  auto const b = random<double>({A.rows()}, 5);
  CHECK(try_solve(A, b).report.reason() == reason::singular);
  for (int ranks : {1, 2, 3, 4, 8}) {
    auto const all = threads::run(ranks, [&](auto& world) {
      Rows m(world);
      auto D = distribute<SparseShard<0>>(A, m, suite::owners_for(A, ranks, ranks == 4));
      try {
        (void)solve(D, distribute(b, D.row_layout()));
      } catch (solve_error const& e) {
        return std::string(to_string(e.report().reason())) + ": " + e.report().choice;
      }
      return std::string();
    });
    for (auto const& words : all) {
      INFO(words);
      CHECK(words == all[0]);
      CHECK(words.starts_with(to_string(reason::singular)));
      CHECK(words.find("symmetric, positive semidefinite; tried: ") != std::string::npos);
    }
    // In the range of A there is a solution, and it is found.
    auto const c = vector<double>(A * b);
    for (auto const& one : on_ranks(ranks, false, A, c)) CHECK(double(norm(c - A * one.x)) <= 1.01e-8 * double(norm(c)));
  }
}

TEST_CASE("factors of the first rank that fail do so on every rank") {
  auto A = problems::convection_diffusion<double>({9, 8}, 1.0);
  A.pattern().view().for_row(40, [&](index_t s, index_t) { A.values()[s] = 0; });
  for (int ranks : {1, 3}) {
    auto const out = on_ranks(ranks, false, A, random<double>({A.rows()}, 5));  // all ranks say the same
    INFO(out[0].choice);
    CHECK_FALSE(out[0].converged);
    CHECK(out[0].choice.find("zeros on the diagonal; tried: ") != std::string::npos);
    CHECK(out[0].choice.find("lu + factors") != std::string::npos);
    CHECK(out[0].choice.find("matrix is singular") != std::string::npos);
    CHECK(out[0].choice.find("ilu0: zero pivot in row ") != std::string::npos);
  }
}

TEST_CASE("what one rank has that is no number is the error of all") {
  auto A = problems::poisson<double>({9, 8});
  A.values()[200] = std::numeric_limits<double>::quiet_NaN();
  for (auto const& words : threads::run(3, [&](auto& world) {
         Rows m(world);
         auto D = distribute<SparseShard<0>>(A, m, strips{});
         try {
           (void)solve(D, generate(D.row_layout(), [](index_t) { return 1.0; }));
         } catch (error const& e) {
           return std::string(e.what());
         }
         return std::string();
       })) {
    CHECK(words.find("every entry must be a finite number") != std::string::npos);
    CHECK(words.find("rank 1") != std::string::npos);
  }
}

TEST_CASE("more rows than one rank takes are not gathered for factors, and failures say so") {
  auto const A = problems::convection_diffusion<double>({145, 140}, 1.0);
  auto const b = random<double>({A.rows()}, 5);
  for (auto const& one : on_ranks(2, false, A, b)) {
    CHECK(one.converged);
    CHECK(one.method.starts_with("bicgstab+"));
    CHECK(double(norm(b - A * one.x)) <= 1.01e-8 * double(norm(b)));
    CHECK(one.choice.find("not symmetric, of more than 20000 rows, which no rank gathers for factors") != std::string::npos);
  }
  with({.max_iterations = 2}, [&] {
    auto const one = on_ranks(3, true, A, b)[0];
    INFO(one.choice);
    CHECK_FALSE(one.converged);
    CHECK(one.method == "bicgstab+amg");  // the nearest
    for (char const* tried : {"tried: bicgstab + ilu0: ", ", gmres + row_norms: "}) CHECK(one.choice.find(tried) != std::string::npos);
    CHECK(one.choice.find("lu:") == std::string::npos);
  });
}

TEST_CASE("where one rank's observer asks to stop, no rank goes on, and no rank tries the next method") {
  auto const A = problems::poisson<double>({90, 80});
  auto const b = random<double>({A.rows()}, 5);
  for (auto const& [why, choice] : threads::run(3, [&](auto& world) {
         Rows m(world);
         auto D = distribute<SparseShard<0>>(A, m, strips{});
         observer watch;
         if (world.rank() == 1) watch = [n = 0](auto const&) mutable { return ++n < 4; };
         auto const report = with({.watch = watch}, [&] { return try_solve(D, distribute(b, D.row_layout())); }).report;
         return std::pair(report.reason(), report.choice);
       })) {
    CHECK(why == reason::stopped);
    CHECK(choice.find("tried") == std::string::npos);
  }
}

TEST_CASE("a prepared choice on ranks solves with the adjoint, and takes new values, of another kind too") {
  auto const A = problems::convection_diffusion<double>({15, 12}, {20.0, 5.0});
  auto const b = random<double>({A.rows()}, 5);
  auto const without = pierced(A);
  auto const symmetric = shifted(0.5 * (A + transpose(A)), 0.1);
  for (int ranks : {1, 3}) {
    for (auto const& rank : threads::run(ranks, [&](auto& world) {
           Rows m(world);
           auto const owners = suite::owners_for(A, ranks, true);
           auto D = distribute<SparseShard<0>>(A, m, owners);
           auto const db = distribute(b, D.row_layout());
           auto s = prepare(D);
           std::vector<double> out{double(norm(b - A * gather(s.solve(db)))), double(norm(b - transpose(A) * gather(s.solve_transpose(db)))),
                                   double(norm(b - transpose(A) * gather(solve(transpose(D), db))))};
           s.update(distribute<SparseShard<0>>(2.0 * A, m, owners));
           out.push_back(double(norm(b - 2.0 * (A * gather(s.solve(db))))));
           s.update(distribute<SparseShard<0>>(symmetric, m, owners));
           auto const [x, report] = s.try_solve(db);
           out.push_back(double(norm(b - symmetric * gather(x))));
           out.push_back(report.method == "ldlt" ? 0 : 1);
           auto const s0 = prepare(distribute<SparseShard<0>>(without, m, owners));  // factors on the first rank
           auto const there = s0.try_solve(db), back = s0.try_solve_transpose(db);
           out.push_back(double(norm(b - without * gather(there.x))));
           out.push_back(double(norm(b - transpose(without) * gather(back.x))));
           out.push_back(there.report.method == "lu" && back.report.method == "lu" ? 0 : 1);
           return out;
         }))
      for (double r : rank) CHECK(r <= 1.01e-8 * double(norm(b)));
  }
}

TEST_CASE("gradients of solve(D, b) are those of one rank") {
  auto const A = problems::convection_diffusion<double>({11, 9}, 1.0);
  auto const b = random<double>({A.rows()}, 5);
  auto const loss = [](auto const& K, auto const& f) { return squared_norm(solve(K, f)); };
  auto const [value, of_A, of_b] = value_and_gradient(loss, A, b);
  for (int ranks : {1, 2, 3, 4, 8})
    for (auto const& [v, dA, db] : threads::run(ranks, [&](auto& world) {
           Rows m(world);
           auto D = distribute<SparseShard<0>>(A, m, suite::owners_for(A, ranks, ranks == 4));
           auto [seen, to_D, to_b] = value_and_gradient(loss, D, distribute(b, D.row_layout()));
           return std::tuple(seen, gather(to_D), gather(to_b));
         })) {
      CHECK(std::abs(v - value) <= 1e-6 * value);
      CHECK(double(norm(values(dA) - values(of_A))) <= 1e-5 * double(norm(values(of_A))));
      CHECK(double(norm(db - of_b)) <= 1e-5 * double(norm(of_b)));
    }
}

TEST_CASE("copies of rows on a second axis choose alike; right-hand sides beside each other") {
  using Both = mesh<axis<"rows", 2>, axis<"copies", 2>>;
  auto const A = problems::poisson<double>({9, 8});
  matrix<double> b({A.rows(), 2});
  std::ranges::copy(random<double>({b.size()}, 5), b.begin());
  for (double r : threads::run(4, [&](auto& world) {
         Both m(world);
         auto const D = distribute<SparseShard<0>, Replicate>(A, m, equal_rows{});
         return double(norm(b - A * gather(solve(D, distribute(b, D.row_layout())))));
       }))
    CHECK(r <= 1.01e-8 * double(norm(b)));
}

TEST_CASE("items of a batch on ranks of their own: where one rank gives up, all go on") {
  triplets<double> arrow(300, 300);
  auto const numbers = random<double>({900}, 3);
  for (index_t i = 0; i < 300; ++i) {
    arrow.add(i, i, 1.1 + numbers[i]);
    if (i > 0) arrow.add(0, i, numbers[300 + i]), arrow.add(i, 0, numbers[600 + i]);
  }
  auto const A = arrow.build();
  auto batch = to_batch<2>(A);  // the second item is nearly diagonal
  for (index_t i = 0; i < 300; ++i)
    A.pattern().view().for_row(i, [&](index_t s, index_t j) { batch.values()[A.nnz() + s] = i == j ? 1.0 + 0.1 * double(i % 3) : 1e-3 * A.values()[s]; });
  auto const b = random<double, Extents<2, dyn>>({2, 300}, 5);
  for (bool converged : threads::run(2, [&](auto& world) {
         mesh<axis<"items">> m(world);
         return try_solve(distribute<Shard<0>>(batch, m), distribute<Shard<0>>(b, m)).report.converged();
       }))
    CHECK(converged);
}

TEST_CASE("ranks without items of a batch do not make the choice more careful") {
  auto const of = [](sparse_tensor<double> const& A, double factor) {
    auto batch = to_batch<2>(A);
    for (index_t n = 0; n < A.nnz(); ++n) batch.values()[A.nnz() + n] *= factor;
    return batch;
  };
  auto semidefinite = of(shifted(laplacian(problems::poisson<double>({9, 7})), 1.0), 2.0);  // the second item is semidefinite only
  auto const L = laplacian(problems::poisson<double>({9, 7}));
  std::ranges::copy(L.values(), semidefinite.values().data() + L.nnz());
  for (auto const& [batch, is_spd] : {std::pair{of(shifted(problems::poisson<double>({9, 7}), 1.0), 3.0), true}, {of(problems::convection_diffusion<double>({9, 7}, 1.0), 3.0), false}, {semidefinite, true}}) {
    auto const b = random<double, Extents<2, dyn>>({2, 63}, 5);
    auto const c = tensor<double, Extents<2, dyn>>(batch * b);  // in the range, of the singular one too
    auto const report = try_solve(batch, c).report;
    auto const whole = properties(batch);
    CHECK(whole.hermitian == is_spd);
    for (int ranks : {1, 2, 3, 4, 8})
      for (auto const& [seen, here] : threads::run(ranks, [&, &batch = batch](auto& world) {
             mesh<axis<"items">> m(world);
             auto const D = distribute<Shard<0, Balanced>>(batch, m);
             return std::pair(detail::properties_on_ranks(D), try_solve(D, distribute<Shard<0, Balanced>>(c, m)).report);
           })) {
        INFO(ranks << " ranks: " << here.method << " + " << here.preconditioner << ", " << here.choice << "; one: " << report.method << " + " << report.preconditioner << ", " << report.choice);
        CHECK((seen.symmetric == whole.symmetric && seen.hermitian == whole.hermitian && seen.positive_diagonal == whole.positive_diagonal && seen.opposed_off_diagonal == whole.opposed_off_diagonal));
        CHECK((seen.definite == whole.definite && seen.strictly_dominant() == whole.strictly_dominant() && seen.longest_row == whole.longest_row && seen.entries == whole.entries));
        CHECK(here.converged());
        CHECK(here.method == report.method);
        CHECK(here.choice == report.choice);
      }
  }
}

}  // namespace test_automatic

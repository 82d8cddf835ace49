// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Known unknowns of distributed systems, their gradients, and bad lists of them, against one rank.
#include <array>
#include <limits>
#include <string>
#include <vector>

#include <sla/dist.hpp>
#include <sla/tensor/problems/problems.hpp>
#include <sla/tensor/structure/properties.hpp>

#include "catch.hpp"

namespace test_eliminate {

using namespace sla;

namespace {
/// The rows of a list that a rank owns, or the whole list.
template <class D>
std::vector<int> named(D const& d, std::vector<int> const& fixed, int how) {
  std::vector<int> mine;
  for (int i : fixed)
    if (how == 0 || (how == 1 && d.handle()->rows->owns(i)) || (how == 2 && i % d.mesh().size(0) == d.mesh().coordinate(0))) mine.push_back(i);
  return mine;
}
/// The columns of K's pattern that a rank's rows read, and what others make of them: rows without their diagonal too.
sparse_tensor<double> without_diagonal(sparse_tensor<double> const& A, index_t row) {
  std::vector<index_t> i, j;
  std::vector<double> v;
  for (index_t k = 0; k < A.rows(); ++k)
    A.pattern().view().for_row(k, [&](index_t s, index_t l) {
      if (k != row || l != row) i.push_back(k), j.push_back(l), v.push_back(A.values()[s]);
    });
  return from_triplets<double>(A.rows(), A.cols(), i, j, v);
}
} // namespace

TEST_CASE("known unknowns of ranks are those of one rank") {
  int const ranks = GENERATE(1, 2, 3, 4, 8);
  int const how = GENERATE(0, 1, 2);
  auto const A = problems::poisson<double>({6, 5});
  auto b = random<double>(30, 1);
  std::vector<int> const fixed{29, 0, 7, 12};
  vector<double> const values{1.5, -2.0, 0.0, 3.0};
  auto everywhere = full<double>(30, std::numeric_limits<double>::quiet_NaN());  // read in the fixed rows only
  for (index_t k = 0; k < 4; ++k) everywhere[fixed[std::size_t(k)]] = values[k];
  b[7] = std::numeric_limits<double>::infinity();
  auto const [K, f] = eliminate(A, b, fixed, values);
  auto const [L, g] = eliminate(A, b, fixed, 2.5);
  auto const x = solve(K, f, cg{.rtol = 1e-13}, jacobi{});
  auto const errors = threads::run(ranks, [&, &K = K, &f = f, &g = g](auto& world) {
    mesh<axis<"rows">> m(world);
    auto const D = distribute<SparseShard<0>>(A, m, strips{});
    auto const db = distribute(b, D.row_layout());
    auto const rows = named(D, fixed, how);
    auto const [dK, df] = eliminate(D, db, rows, distribute(everywhere, D.row_layout()));
    auto const [dL, dg] = eliminate(D, db, rows, 2.5);
    auto const whole = gather(dK);
    auto const dx = solve(dK, df, cg{.rtol = 1e-13}, jacobi{});
    bool const kept = dK.handle()->halo == D.handle()->halo && same_pattern(dK.local().pattern(), D.local().pattern());
    return std::array<double, 6>{norm(whole - K), double(!properties(whole).symmetric), norm(gather(df) - f), norm(gather(dg) - g), norm(gather(dx) - x),
                                 double(!kept)};
  });
  for (auto const& of_rank : errors)
    for (double e : of_rank) CHECK(e <= 1e-12);
}

TEST_CASE("copies of a matrix are eliminated alike, whichever of them has the list") {
  auto const A = problems::poisson<double>({6, 5});
  auto const b = random<double>(30, 1);
  auto const [K, f] = eliminate(A, b, std::vector{3, 20}, 1.5);
  auto const errors = threads::run(4, [&, &K = K, &f = f](auto& world) {
    mesh<axis<"dp", 2>, axis<"rows", 2>> m(world);
    auto const D = distribute<Replicate, SparseShard<0>>(A, m, strips{});
    auto const list = m.coordinate(0) == 0 ? std::vector{3, 20} : std::vector<int>{};
    auto const [dK, df] = eliminate(D, distribute(b, D.row_layout()), list, uniform(1.5));
    return std::array<double, 2>{norm(gather(dK) - K), norm(gather(df) - f)};
  });
  for (auto const& of_rank : errors)
    for (double e : of_rank) CHECK(e <= 1e-13);
}

TEST_CASE("a fixed row of a rank whose diagonal is not stored gets one") {
  auto const A = without_diagonal(problems::convection_diffusion<double>({5, 4}, {0.5, 0.2}), 6);
  auto const b = random<double>(20, 1), v = random<double>(20, 2);
  auto const [K, f] = eliminate(A, b, std::vector{6, 13}, 1.25);
  vector<double> const y = K * v, z = transpose(K) * v;
  auto const errors = threads::run(3, [&, &f = f](auto& world) {
    mesh<axis<"rows">> m(world);
    auto const D = distribute<SparseShard<0>>(A, m, strips{});
    auto const dv = distribute(v, D.row_layout());
    auto const [dK, df] = eliminate(D, distribute(b, D.row_layout()), std::vector{6, 13}, 1.25);
    return std::array<double, 3>{norm(gather(eval(dK * dv)) - y), norm(gather(eval(transpose(dK) * dv)) - z), norm(gather(df) - f)};
  });
  for (auto const& of_rank : errors)
    for (double e : of_rank) CHECK(e <= 1e-13);
}

TEST_CASE("gradients through known unknowns of ranks are those of one rank") {
  int const ranks = GENERATE(1, 2, 3, 4, 8);
  auto const A = problems::convection_diffusion<double>({6, 5}, {0.5, 0.2});
  auto const b = random<double>(30, 1), w = random<double>(30, 4);
  std::vector<int> const fixed{29, 0, 7, 12};
  auto const values = random<double>(30, 5);
  vector<double> chosen(Extents<dyn>(4));
  for (index_t k = 0; k < 4; ++k) chosen[k] = values[fixed[std::size_t(k)]];
  auto const loss = [&fixed](auto const& weights) {
    return [&](auto const& a, auto const& r, auto const& v) {
      auto const system = eliminate(a, r, fixed, v);
      return dot(weights, solve(system.first, system.second, bicgstab{.rtol = 1e-14}, jacobi{}));
    };
  };
  auto const [value, gA, gb, gv] = value_and_gradient(loss(w), A, b, chosen);
  auto const [second, hA, hb, hs] = value_and_gradient(loss(w), A, b, 0.75);
  vector<double> gV = zeros<double>(30);
  for (index_t k = 0; k < 4; ++k) gV[fixed[std::size_t(k)]] = gv[k];
  auto const errors = threads::run(ranks, [&, value = value, &gA = gA, &gb = gb, hs = hs, &hA = hA](auto& world) {
    using Mesh = mesh<axis<"rows">>;
    Mesh m(world);
    auto const D = distribute<SparseShard<0>>(A, m, strips{});
    auto const layout = D.row_layout();
    auto const [total, dA, db, dv] = value_and_gradient(loss(distribute(w, layout)), D, distribute(b, layout), distribute(values, layout));
    distributed<double, Mesh, Replicate> const s(0.75, layout.handle());
    auto const of_number = value_and_gradient(loss(distribute(w, layout)), D, distribute(b, layout), s);
    return std::array<double, 6>{std::abs(total - value), norm(gather(dA) - gA), norm(gather(db) - gb), norm(gather(dv) - gV),
                                 norm(gather(std::get<1>(of_number)) - hA), std::abs(all_reduce<"rows">(std::get<3>(of_number)).value() - hs)};
  });
  for (auto const& of_rank : errors)
    for (double e : of_rank) CHECK(e <= 1e-10);
}

TEST_CASE("rows that are fixed twice or do not exist are named with the rank that lists them, on every rank") {
  auto const A = problems::poisson<double>({4, 3});
  auto const words = [&](std::vector<int> const& list) {
    return threads::run(3, [&](auto& world) {
      mesh<axis<"rows">> m(world);
      auto const D = distribute<SparseShard<0>>(A, m, strips{});
      try {
        (void)eliminate(D, distribute(ones<double>(12), D.row_layout()), world.rank() == 1 ? list : std::vector{3}, 0.0);
      } catch (error const& e) {
        return std::string(e.what());
      }
      return std::string("nothing");
    });
  };
  for (auto const& what : words({11, 4, 11})) CHECK(what == "rank 1: eliminate(A, b, fixed, values): row 11 is fixed twice, at places 0 and 2");
  for (auto const& what : words({11, 12}))
    CHECK(what == "rank 1: eliminate(A, indices): index 1 is 12; it must be at least 0 and less than 12 (indices count from 0)");
}

} // namespace test_eliminate

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows of matrices and vectors on 1 to 8 thread ranks, and gradients through them, against one rank.
#include <sla/dist/assembly/assemble.hpp>
#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/engine/threads.hpp>
#include <sla/dist/grad/value_and_gradient.hpp>
#include <sla/dist/matrix/algebra_gradient.hpp>
#include <sla/dist/matrix/matrix_gradient.hpp>
#include <sla/dist/matrix/reshard_rows.hpp>
#include <sla/dist/matrix/slices_on_ranks.hpp>
#include <sla/dist/solve/mesh_world.hpp>
#include <sla/grad.hpp>
#include <sla/solve/krylov/gmres.hpp>
#include <sla/tensor/build/block.hpp>
#include <sla/tensor/problems/random_problems.hpp>

#include "catch.hpp"
#include "suites/partition.hpp"
#include "suites/spread.hpp"

namespace test_slices {

using namespace sla;
using Line = mesh<axis<"line">>;

namespace {
/// The rows that rank r of `ranks` names, of n: some of them twice, the last rank none.
std::vector<index_t> named_by(int r, int ranks, index_t n) {
  std::vector<index_t> out;
  for (index_t k = r + 1 < ranks || ranks == 1 ? 0 : 5; k < 5; ++k) out.push_back((7 * k + 3 * r) % n);
  return out;
}
template <class T, class S>
double errors_of_rows(int ranks, bool scattered, sparse_tensor<T, S> const& A) {
  index_t const n = A.rows();
  std::vector<index_t> all;
  for (int r = 0; r < ranks; ++r)
    for (index_t i : named_by(r, ranks, n)) all.push_back(i);
  auto const some = select_rows(A, all), middle = rows(A, 2, n - 3);
  auto const x = random<T, domain_extents_t<S>>(A.domain(), 1);
  auto const of_middle = tensor<T, range_extents_t<S>>(middle * x);
  auto const of_some = tensor<T, range_extents_t<S>>(some * x);
  return suite::largest_error(ranks, [&](auto& world) {
    Line m(world);
    auto const D = distribute<SparseShard<0>>(A, m, suite::owners_for(A, ranks, scattered));
    auto const mine = named_by(world.rank(), ranks, n);
    auto const part = select_rows(D, mine), kept = rows(D, 2, n - 3);
    auto const y = eval(D * distribute(x, D.col_layout()));
    auto const of_kept = rows(y, 2, n - 3), of_part = select_rows(y, mine);
    return std::array<double, 8>{norm(gather(part) - some), norm(gather(kept) - middle), norm(gather(of_kept) - of_middle), norm(gather(of_part) - of_some),
                                 double(part.local().rows() - index_t(mine.size())), double(of_part.local().extent(0) - index_t(mine.size())),
                                 detail::same_rows(kept.handle()->rows.get(), of_kept.handle()->rows.get()) ? 0.0 : 1.0, norm(gather(eval(kept * distribute(x, kept.col_layout()))) - of_middle)};
  });
}
} // namespace

TEST_CASE("rows of a matrix and of a vector are those of one rank, ranges on their owners, lists on who names them") {
  int const ranks = GENERATE(1, 2, 3, 4, 8);
  for (bool scattered : {false, true}) {
    CHECK(errors_of_rows(ranks, scattered, problems::convection_diffusion<double>({6, 4}, {3.0, 1.0})) < 1e-13);
    CHECK(errors_of_rows(ranks, scattered, problems::random_sparse<double>(24, 31, 3, 5)) < 1e-13);
  }
  CHECK(errors_of_rows(ranks, true, to_blocks<2, 2>(problems::random_sparse<double>(24, 24, 3, 7))) < 1e-13);
}

TEST_CASE("gradients through rows of distributed matrices and vectors are those of one rank") {
  auto const A = problems::random_sparse<double>(12, 9, 3, 5);
  auto const x = random<double>({9}, 1);
  std::vector<index_t> const all{3, 3, 11, 0, 5};
  auto const loss = [](auto const& a, auto const& v, auto const& chosen) {
    return squared_norm(select_rows(a, chosen) * v) + 2.0 * squared_norm(rows(a, 2, 10) * v);
  };
  auto const [value, gA, gx] = value_and_gradient([&](auto const& a, auto const& v) { return loss(a, v, all); }, A, x);
  CHECK(suite::largest_error(3, [&, &value = value, &gA = gA, &gx = gx](auto& world) {
          Line m(world);
          auto const D = distribute<SparseShard<0>>(A, m, suite::scattered_owners(12, 3));
          std::vector<index_t> mine;
          for (std::size_t k = std::size_t(world.rank()); k < all.size(); k += 3) mine.push_back(all[k]);
          auto const [v, gD, gv] = value_and_gradient([&](auto const& a, auto const& u) { return loss(a, u, mine); }, D, distribute(x, D.col_layout()));
          auto const y = distribute(random<double>({12}, 2), D.row_layout());
          auto const [w, gy] = value_and_gradient([&](auto const& u) { return squared_norm(select_rows(u, mine)) + squared_norm(rows(u, 2, 10)); }, y);
          vector<double> times(12);
          for (index_t i : all) times[i] += 2.0;
          for (index_t i = 2; i < 10; ++i) times[i] += 2.0;
          (void)w;
          return std::array<double, 4>{std::abs(v - value), norm(gather(gD) - gA), norm(gather(gv) - gx), norm(gather(gy) - times * gather(y))};
        }) < 1e-12);
}

TEST_CASE("a square matrix may have columns that others own than its rows: permuted rows, and products of rectangles") {
  index_t const n = 23;
  auto const A = problems::random_dominant<double>(n, 3, 1);
  auto const P = problems::random_sparse<double>(n, 17, 3, 2), Q = problems::random_sparse<double>(17, n, 3, 3);
  auto const x = random<double>({n}, 4);
  auto const f = [](auto const& p, auto const& q) { return norm(p * q); };
  auto const [value, gP, gQ] = value_and_gradient(f, P, Q);
  (void)value;
  std::vector<index_t> turned;  // the rows by threes from either end
  for (index_t k = 0; k < n; ++k) turned.push_back(k % 2 == 0 ? k / 2 : n - 1 - k / 2);
  auto const T = select_rows(A, turned);
  auto const y = eval(T * x);
  for (int ranks : {1, 2, 3, 8}) {
    auto const owners = suite::scattered_owners(n, ranks);
    CHECK(suite::largest_error(ranks, [&, &gP = gP, &gQ = gQ](auto& world) {
            Line const m(world);
            auto const D = distribute<SparseShard<0>>(A, m, owners);
            auto const r = std::size_t(world.rank()), many = turned.size() / std::size_t(ranks);
            std::vector<index_t> const mine(turned.begin() + long(r * many), r + 1 == std::size_t(ranks) ? turned.end() : turned.begin() + long((r + 1) * many));
            auto const E = select_rows(D, mine);
            auto const u = distribute(x, D.col_layout());
            auto const b = eval(E * u);
            auto const back = repartition(E, E.row_layout());  // columns as the rows
            auto const v = solve(back, repartition(b, back.row_layout()), gmres{.rtol = 1e-12}, identity{});
            auto const [of_e, gE] = value_and_gradient([&](auto const& e) { return squared_norm(e * u); }, E);
            auto const [of_back, gBack] = value_and_gradient([&](auto const& e) { return squared_norm(repartition(e, E.row_layout()) * repartition(u, E.row_layout())); }, E);
            auto const L = distribute<SparseShard<0>>(P, m, owners);
            std::vector<index_t> i, j;
            std::vector<double> w;
            if (r == 0)
              for (index_t k = 0; k < 17; ++k) Q.pattern().view().for_row(k, [&](index_t s, index_t c) { i.push_back(k), j.push_back(c), w.push_back(Q.values()[s]); });
            auto const R = assemble<SparseShard<0>>(m, 17, n, i, j, w, L.col_layout());
            auto const both = L * R;
            auto const [again, gL, gR] = value_and_gradient(f, L, R);
            (void)again;
            return std::array<double, 9>{double(of_e) - double(of_back), norm(gather(gE) - gather(gBack)), norm(gather(E) - T), norm(gather(b) - y), norm(gather(eval(transpose(E) * b)) - vector<double>(transpose(T) * y)), norm(gather(v) - x),
                                         norm(gather(eval(both * distribute(x, R.col_layout()))) - vector<double>(P * vector<double>(Q * x))), norm(gather(gL) - gP), norm(gather(gR) - gQ)};
          }) < 1e-9);
  }
  for (auto const& words : suite::words_of(2, [&](auto& world) {
         Line const m(world);
         auto const D = distribute<SparseShard<0>>(A, m, equal_rows{});
         auto const E = select_rows(D, std::vector<index_t>(world.rank() == 0 ? 20 : 3, 1));
         (void)solve(E, distribute(x, E.row_layout()), gmres{}, identity{});
       }))
    CHECK_THAT(words, Catch::Matchers::ContainsSubstring("solve(A, b): the rows and columns of A have other owners: rank ") && Catch::Matchers::ContainsSubstring("take repartition(A, A.row_layout())"));
}

TEST_CASE("rows that are not there are refused on every rank") {
  auto const A = problems::poisson<double>({4, 5});
  auto const refused = [&](auto const& f, char const* what) {
    for (auto const& words : suite::words_of(2, [&](auto& world) {
           Line m(world);
           f(distribute<SparseShard<0>>(A, m), world.rank());
         }))
      CHECK_THAT(words, Catch::Matchers::ContainsSubstring(what));
  };
  refused([](auto const& D, int) { (void)rows(D, 3, 21); }, "21");
  refused([](auto const& D, int rank) { (void)select_rows(D, std::vector<index_t>{rank == 1 ? 20 : 0}); }, "select_rows on rank 1: row 20; there are 20");
  refused([](auto const& D, int rank) { (void)rows(D, 0, 3 + rank); }, "rank 1 has 0, 4");
}
} // namespace test_slices

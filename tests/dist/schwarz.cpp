// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Preconditioners that span the ranks: Schwarz with overlap and Chebyshev polynomials, against one rank with as many subdomains.
#include <complex>

#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/solve/schwarz_on_ranks.hpp>
#include <sla/dist/engine/threads.hpp>
#include <sla/solve.hpp>

#include "catch.hpp"

namespace test_schwarz {

using namespace sla;
using Rows = mesh<axis<"rows">>;

namespace {
/// f(this rank's matrix and r, by rows on ranks) on every rank; strips, unless the owners are told.
template <class A, class V, class F>
auto on_ranks(int ranks, A const& a, V const& r, F const& f, std::vector<int> const& owner = {}) {
  auto const owners = owner.empty() ? partition(a, ranks, strips{}) : owner_map(owner, ranks);
  return threads::run(ranks, [&](auto& world) {
    Rows m(world);
    auto const D = distribute<SparseShard<0>>(a, m, owners);
    return f(D, distribute(r, D.row_layout()));
  });
}
template <class X, class Y>
double distance(X const& x, Y const& y) {
  return double(norm_inf(x - y));
}
/// M r and M^H r by the ranks, new values too, are those of `one` on one rank.
template <class A, class V, class M, class P>
void same_as_one_rank(A const& a, V const& r, M const& one, int ranks, P const& options, std::vector<int> const& owner = {}) {
  V const z = one * r, h = one.adjoint() * r;
  auto const worst = on_ranks(ranks, a, r, [&](auto const& D, auto const& dr) {
    auto m = options.setup(D);
    double const before = std::max(distance(gather(m * dr), z), distance(gather(m.adjoint() * dr), h));
    auto twice = D;
    for (auto& value : twice.local().values()) value *= 2;
    m.update(twice);
    return std::max(before, distance(2.0 * gather(m * dr), z));
  }, owner);
  for (double d : worst) CHECK(d < 1e-12);
}
std::vector<std::string> words(int ranks, auto const& a, auto const& p) {
  return on_ranks(ranks, a, vector<double>(a.rows()), [&](auto const& D, auto const&) {
    try {
      p.setup(D);
    } catch (error const& e) {
      return std::string(e.what());
    }
    return std::string();
  });
}
}  // namespace

TEST_CASE("schwarz on ranks is that of one rank with as many subdomains") {
  auto const A = problems::convection_diffusion<double>({9, 8}, {20.0, 5.0});
  auto const r = random<double>({A.rows()}, 5);
  for (int ranks : {1, 2, 3, 4, 8})
    for (int overlap : {0, 1, 2})
      for (bool restricted : {false, true}) {
        auto const one = schwarz(ilu0{}, {.parts = ranks, .overlap = overlap, .restricted = restricted}).setup(A);
        same_as_one_rank(A, r, one, ranks, schwarz(ilu0{}, {.overlap = overlap, .restricted = restricted}));
      }
  std::vector<int> any;
  for (index_t i = 0; i < A.rows(); ++i) any.push_back(int(i * i % 7 % 4));
  same_as_one_rank(A, r, schwarz(ilu0{}, {.owner = any}).setup(A), 4, schwarz(ilu0{}), any);
}

TEST_CASE("schwarz on ranks with complex blocks, batches and right-hand sides") {
  using T = std::complex<double>;
  auto const A = to_blocks<2, 2>(cast<T>(problems::poisson<double>({8, 6})));
  auto C = stack_batch(A, A);
  for (index_t s = C.batch_stride(); s < C.values().size(); ++s) C.values()[s] *= 3;
  auto const r = random<T, Extents<2, dyn, 2, dyn>>({2, 24, 2, 3}, 5);
  same_as_one_rank(C, r, schwarz(ilu0{}, {.parts = 3, .overlap = 2}).setup(C), 3, schwarz(ilu0{}, {.overlap = 2}));
}

TEST_CASE("chebyshev on ranks is that of one rank, and sends a halo per degree") {
  auto const A = problems::checkerboard<double>({17, 13}, 10.0, 2);
  auto const r = random<double>({A.rows()}, 5);
  for (int ranks : {1, 2, 3, 4, 8}) same_as_one_rank(A, r, chebyshev{}.setup(A), ranks, chebyshev{});
  double const highest = chebyshev{}.setup(A).bounds().highest;
  std::vector<double> iterations;
  for (int ranks : {1, 3}) {
    auto const seen = on_ranks(ranks, A, r, [&](auto const& D, auto const& b) {
      auto const s = prepare(D, cg{.rtol = 1e-10}, chebyshev{});
      auto const [x, report] = s.try_solve(b);
      return std::array<double, 4>{double(norm(r - A * gather(x))), double(report.iterations()), report.sent.halos, s.preconditioner().bounds().highest};
    });
    for (auto const& [residual, taken, halos, bound] : seen) {
      CHECK(residual <= 1.01e-10 * double(norm(r)));
      CHECK(halos < 6);
      CHECK(bound == Approx(highest).epsilon(1e-12));
      iterations.push_back(taken);
    }
  }
  for (double taken : iterations) CHECK(std::abs(taken - iterations[0]) <= 1);
}

TEST_CASE("solves on ranks with overlap, forward and adjoint") {
  auto const A = problems::checkerboard<double>({15, 12}, 10.0, 3);
  auto const b = random<double>({A.rows()}, 5);
  auto const seen = on_ranks(4, A, b, [&](auto const& D, auto const& db) {
    auto const with = [&](int overlap) { return prepare(D, cg{.rtol = 1e-11}, schwarz(ilu0{}, {.overlap = overlap})); };
    auto const s = with(2);
    auto const [x, report] = s.try_solve(db);
    return std::array<double, 3>{double(norm(b - A * gather(x))), double(norm(b - transpose(A) * gather(s.solve_transpose(db)))),
                                 double(report.iterations() - with(0).try_solve(db).report.iterations())};
  });
  for (auto const& [forward, back, more] : seen) CHECK((forward <= 1e-10 * double(norm(b)) && back <= 1e-10 * double(norm(b)) && more < 0));
}

TEST_CASE("what is refused on ranks is refused on all") {
  auto const A = problems::poisson<double>({6, 6});
  auto const each_tells = [](std::vector<std::string> const& all, char const* part) {
    for (auto const& what : all) {
      INFO(what);
      CHECK(what.find(part) != std::string::npos);
    }
  };
  each_tells(words(3, A, schwarz(ilu0{}, {.parts = 2})), "the rows are on 3 ranks");
  each_tells(words(3, A, schwarz(ilu0{}, {.overlap = -1})), "the overlap is at least 0");
  auto hole = A;
  hole.values()[diagonal_positions(A.pattern())[20]] = 0;
  each_tells(words(3, hole, schwarz(jacobi{}, {.overlap = 1})), "of rank 1's subdomain, of 23 rows, 12 of them of other ranks");
  auto lopsided = A;
  index_t const first = problems::poisson<double>({6, 6}).rows() / 2;  // one entry between the two ranks
  lopsided.values()[find_slot(A.pattern().view(), first, first - 6)] += 1;
  each_tells(words(2, lopsided, chebyshev{}), "A is not Hermitian: for two vectors u and p");
  lopsided = A;
  lopsided.values()[find_slot(A.pattern().view(), 0, 1)] += 1;
  each_tells(words(2, lopsided, chebyshev{}), "chebyshev: A is not symmetric");
}

TEST_CASE("another pattern on one rank is refused on all, by a preconditioner and by what is prepared") {
  auto const A = problems::poisson<double>({6, 6});
  std::vector<int> const row{35}, col{33};
  auto const more = A + from_triplets<double>(Matrix(36, 36), row, col, std::vector<double>{1.0});
  auto const seen = on_ranks(3, A, vector<double>(36), [&](auto const& D, auto const&) {
    auto const other = distribute<SparseShard<0>>(more, D.mesh(), partition(A, 3, strips{}));
    auto s = prepare(D, cg{.rtol = 1e-11}, schwarz(ilu0{}));
    auto m = schwarz(ilu0{}).setup(D);
    int refused = 0;
    for (bool prepared : {true, false}) try {
        prepared ? s.update(other) : m.update(other);
      } catch (shape_error const&) {
        ++refused;
      }
    return std::to_string(refused);
  });
  for (std::string const& refused : seen) CHECK(refused == "2");
}
} // namespace test_schwarz

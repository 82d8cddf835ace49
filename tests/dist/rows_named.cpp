// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Errors of what ranks make of their own rows name the rows of the whole: on every rank the words of one rank, however the rows are owned.
#include <algorithm>
#include <complex>
#include <limits>
#include <string>

#include <sla/dist.hpp>
#include <sla/solve.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"
#include "suites/partition.hpp"

namespace test_rows_named {

using namespace sla;
using Rows = mesh<axis<"rows">>;

namespace {
template <class F>
std::string words_of_error(F const& f) {
  try {
    f();
  } catch (error const& e) {
    return e.what();
  }
  return {};
}
/// f(A) on one rank, and on_ranks(D) on several: what the former says before its remedy is in the words of all ranks.
template <class A, class F, class OnRanks>
void same_words(A const& a, F const& f, OnRanks const& on_ranks) {
  std::string const one = words_of_error([&] { f(a); }), what = one.substr(0, one.find(';'));
  CHECK(what.find("40") != std::string::npos);
  for (int ranks : {1, 2, 3, 4, 8})
    for (bool scattered : {false, true})
      for (auto const& here : threads::run(ranks, [&](auto& world) {
             Rows m(world);
             return words_of_error([&] { on_ranks(distribute<SparseShard<0>>(a, m, suite::owners_for(a, ranks, scattered))); });
           })) {
        INFO(ranks << (scattered ? " scattered: " : " strips: ") << here << "; one: " << one);
        CHECK(here.find(what) != std::string::npos);
        if (ranks > 1) CHECK((here.find("found by rank ") != std::string::npos || here.find("'s subdomain") != std::string::npos));
        CHECK(here.find("local order") == std::string::npos);
      }
}
template <class A, class P>
void same_setup(A const& a, P const& p) {
  INFO(P::name);
  same_words(a, [&](auto const& s) { (void)p.setup(s); }, [&](auto const& d) { (void)linear_world<std::remove_cvref_t<decltype(d)>>::setup(p, d); });
}
/// f(value, is the diagonal's) in row 40.
template <class F>
sparse_tensor<double> changed(sparse_tensor<double> A, F const& f) {
  A.pattern().view().for_row(40, [&](index_t s, index_t j) { A.values()[s] = f(A.values()[s], j == 40); });
  return A;
}
} // namespace

TEST_CASE("set-ups that fail on a rank name the row of the whole") {
  auto const A = problems::poisson<double>({10, 8});
  auto const hole = changed(A, [](double v, bool diagonal) { return diagonal ? 0.0 : v; });
  same_setup(hole, jacobi{});
  same_setup(hole, ssor{});
  same_setup(hole, gauss_seidel{});
  same_setup(hole, block_jacobi{});
  same_setup(hole, amg{.gathered = 10});
  auto const zeros = changed(A, [](double, bool) { return 0.0; });
  same_setup(zeros, ilu0{});
  same_setup(zeros, ilut{});
  same_setup(hole, schwarz(jacobi{}, {.overlap = 2}));  // the rows beside those of a rank, too
  same_setup(changed(A, [](double v, bool diagonal) { return diagonal ? -4.0 : v; }), ic0{});
  triplets<double> bare(80, 80);
  for (index_t i = 0; i < 80; ++i)
    A.pattern().view().for_row(i, [&](index_t s, index_t j) {
      if (i != 40 || j != 40) bare.add(i, j, A.values()[s]);
    });
  same_setup(bare.build(), ilu0{});
  auto blocks = to_blocks<2, 2>(problems::poisson<double>({10, 10}));
  blocks.pattern().view().for_row(40, [&](index_t s, index_t j) {
    if (j == 40) blocks.values()[4 * s + 3] = 0;
  });
  same_setup(blocks, jacobi{});
  blocks = to_blocks<2, 2>(problems::poisson<double>({10, 10}));
  blocks.pattern().view().for_row(20, [&](index_t s, index_t j) {
    if (j == 20) blocks.values()[4 * s] = 0;
  });
  same_setup(blocks, gauss_seidel{});
  same_setup(blocks, amg{});  // of scalar rows: 40 is the first one of block 20
}

TEST_CASE("factors of own blocks that do not exist name the row of the whole in the report") {
  auto const A = problems::poisson<double>({10, 8});
  auto const b = ones<double>(80);
  auto const told = [](auto const& a, auto const& v) { throw value_error(try_solve(a, v, cg{.max_iterations = 20}, factor<factorization::lu>{}).report.choice); };
  same_words(changed(A, [](double, bool) { return 0.0; }), [&](auto const& a) { told(a, b); }, [&](auto const& d) { told(d, distribute(b, d.row_layout())); });
}

TEST_CASE("what is no number in A or b is named by its place in the whole") {
  auto const A = problems::poisson<double>({10, 8});
  auto const b = random<double>({80}, 5);
  double const nan = std::numeric_limits<double>::quiet_NaN();
  auto const solve_with = [](auto const& a, auto const& v) { (void)solve(a, v, cg{}, jacobi{}); };
  same_words(changed(A, [&](double v, bool diagonal) { return diagonal ? nan : v; }), [&](auto const& a) { solve_with(a, b); }, [&](auto const& d) { solve_with(d, distribute(b, d.row_layout())); });
  index_t const slot = A.pattern().row_ptr[41] - 1;  // its column is another rank's, where rows are without order
  auto off = A;
  off.values()[slot] = nan;
  same_words(off, [&](auto const& a) { solve_with(a, b); }, [&](auto const& d) { solve_with(d, distribute(b, d.row_layout())); });
  auto bad = b;
  bad[40] = nan;
  same_words(A, [&](auto const& a) { solve_with(a, bad); }, [&](auto const& d) { solve_with(d, distribute(bad, d.row_layout())); });
  matrix<double> columns({80, 2});
  columns(40, 1) = nan;
  same_words(A, [&](auto const& a) { solve_with(a, columns); }, [&](auto const& d) { solve_with(d, distribute(columns, d.row_layout())); });
}

TEST_CASE("what is no number in a guess, or in b of a function, is named by its place in the whole") {
  auto const A = problems::poisson<double>({10, 8});
  auto bad = ones<double>(80);
  bad[40] = std::numeric_limits<double>::infinity();
  auto const begin_at = [](auto const& a, auto const& b, auto const& x0) { (void)solve(a, b, cg{}, jacobi{}, initial_guess(x0)); };
  auto const b = ones<double>(80);
  same_words(A, [&](auto const& a) { begin_at(a, b, bad); }, [&](auto const& d) { begin_at(d, distribute(b, d.row_layout()), distribute(bad, d.row_layout())); });
  auto const halve = [](auto const& b, index_t n) {
    (void)solve(linear_operator<double>(n, n, [](auto x, auto y) { std::ranges::transform(x, y.begin(), [](double v) { return 0.5 * v; }); }), b, cg{});
  };
  same_words(A, [&](auto const&) { halve(bad, 80); }, [&](auto const& d) { halve(distribute(bad, d.row_layout()), d.local().rows()); });
}

} // namespace test_rows_named

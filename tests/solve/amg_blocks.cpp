// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Multigrid of systems whose levels are matrices of blocks: the same levels as those of their rows, in double to the last digits and in float nearly,
// with constants and with rigid motions, also where an aggregate holds fewer of them; and which matrices and options have levels of numbers.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <sstream>

#include "suites/krylov.hpp"
#include "suites/messages.hpp"
#include "suites/multigrid.hpp"

#include <sla/solve/precond/amg/amg.hpp>
#include <sla/solve/precond/amg/blocks/rigid_body_modes.hpp>
#include <sla/solve/precond/ssor.hpp>
#include <sla/tensor/problems/wave_problems.hpp>

using suite::tells;
using sla::dyn, sla::index_t, sla::amg;

namespace {
template <class A>
auto right_for(A const& K) {
  constexpr index_t B = A::shape_type::block_rows;
  return sla::random<double, sla::Extents<dyn, B>>({K.rows(), B}, 1);
}
sla::vector<double> flat(auto const& b) {
  sla::vector<double> out(b.size());
  std::copy(b.begin(), b.end(), out.begin());
  return out;
}
/// The constants of each unknown of a node.
sla::matrix<double> constants(index_t nodes, index_t each) {
  sla::matrix<double> out({nodes * each, each});
  for (index_t i = 0; i < nodes * each; ++i) out(i, i % each) = 1;
  return out;
}
/// Levels of blocks are those of the rows. fewer: an aggregate holds fewer modes; the next level has rows that are zero in blocks, and not among the others.
void same_as_of_rows(auto const& K, sla::matrix<double> const& modes, bool given, bool fewer = false) {
  index_t const each = std::remove_cvref_t<decltype(K)>::shape_type::block_rows;
  sla::amg_in<double> in_double;
  amg in_float;
  if (given) in_double.near_null = modes, in_float.near_null = modes;
  auto const rows = amg{.near_null = {modes, each}}.setup(sla::unblocked(K));
  auto const M = in_double.setup(K);
  auto const F = in_float.setup(K);
  REQUIRE(M.hierarchy().blocks);
  REQUIRE(F.hierarchy().blocks);
  REQUIRE(!rows.hierarchy().blocks);
  CHECK(!M.hierarchy().blocks->in_float());
  CHECK(F.hierarchy().blocks->in_float());
  REQUIRE(M.levels().size() == rows.levels().size());
  CHECK(M.levels().size() >= 3);
  for (std::size_t l = 0; l < M.levels().size(); ++l) {
    bool const more = fewer && l == 1;
    CHECK((more ? M.levels()[l].rows > rows.levels()[l].rows : M.levels()[l].rows == rows.levels()[l].rows));
    CHECK((more ? M.levels()[l].entries > rows.levels()[l].entries : M.levels()[l].entries == rows.levels()[l].entries));
  }
  auto const b = right_for(K);
  auto const z = flat(sla::eval(M * b)), f = flat(sla::eval(F * b));
  sla::vector<double> const wanted = rows * flat(b);
  double const size = sla::norm_inf(wanted);
  CHECK(sla::norm_inf(z - wanted) <= 1e-12 * size);
  CHECK(sla::norm_inf(f - wanted) <= 1e-4 * size);
  CHECK(sla::norm_inf(f - wanted) > 1e-12 * size);  // it is float
  CHECK(F.bytes() < 0.6 * double(M.bytes()));
  CHECK(5 * F.bytes() < 2 * rows.bytes());
  sla::cg const method{.rtol = 1e-8};
  int const of_blocks = suite::iterations(K, method, in_float), of_rows = suite::iterations(sla::unblocked(K), method, amg{.near_null = {modes, each}});
  INFO(of_blocks << ' ' << of_rows);
  CHECK(std::abs(of_blocks - of_rows) <= 1);
}
}  // namespace

TEST_CASE("amg in blocks: elasticity with constants and with rigid motions, of space and of the plane, as by its rows") {
  index_t const n[] = {13, 13, 13}, plane[] = {70, 50};
  same_as_of_rows(sla::problems::elasticity(n), constants(13 * 13 * 13, 3), false);
  same_as_of_rows(sla::problems::cantilever(n), sla::rigid_body_modes(sla::problems::grid_points(n)), true);
  same_as_of_rows(sla::problems::cantilever(plane), sla::rigid_body_modes(sla::problems::grid_points(plane)), true);
}

TEST_CASE("amg in blocks: an aggregate of two nodes holds five of six rigid motions, and nodes that stand alone are in none") {
  index_t const n[] = {13, 13, 13};
  auto const K = sla::unblocked(sla::problems::cantilever(n));
  auto const body = sla::rigid_body_modes(sla::problems::grid_points(n));
  index_t const m = K.rows();
  sla::triplets<double> entries(m + 9, m + 9);
  for (index_t i = 0; i < m; ++i) K.pattern().view().for_row(i, [&](index_t s, index_t j) { entries.add(i, j, K.values()[s]); });
  for (index_t i = 0; i < 3; ++i) {  // two nodes that hold each other, and one alone
    entries.add(m + i, m + i, 2.0), entries.add(m + 3 + i, m + 3 + i, 2.0), entries.add(m + 6 + i, m + 6 + i, 3.0);
    entries.add(m + i, m + 3 + i, -1.0), entries.add(m + 3 + i, m + i, -1.0);
  }
  sla::matrix<double> points({(m + 9) / 3, 3});
  auto const of_body = sla::problems::grid_points(n);
  for (index_t p = 0; p < (m + 9) / 3; ++p)
    for (index_t c = 0; c < 3; ++c) points(p, c) = p < m / 3 ? of_body(p, c) : c == 0 ? double(p - m / 3) : 40.0;
  same_as_of_rows(sla::to_blocks<3, 3>(entries.build()), sla::rigid_body_modes(points), true, true);
}

TEST_CASE("amg in blocks: new values, adjoints, batches, queues, threads, numbers of any size, sweeps") {
  auto const K = sla::problems::elasticity({70, 50});
  using Matrix = std::remove_cvref_t<decltype(K)>;
  auto const b = right_for(K);
  auto M = amg{}.setup(K);
  REQUIRE(M.hierarchy().blocks);
  auto const z = flat(sla::eval(M * b));
  auto const c = sla::random<double, sla::Extents<dyn, 2>>({K.rows(), 2}, 2);
  auto const y = flat(sla::eval(M.adjoint() * c));
  CHECK(std::abs(sla::eval(sla::dot(z, flat(c))) - sla::eval(sla::dot(flat(b), y))) <= 1e-5 * sla::norm(z) * sla::norm(c));
  Matrix const twice = 2.0 * K;
  auto const other = M;
  M.update(twice);
  CHECK(sla::norm_inf(flat(sla::eval(M * b)) - 0.5 * z) <= 1e-6 * sla::norm_inf(z));
  CHECK(sla::norm_inf(flat(sla::eval(other * b)) - z) == 0);
  for (double size : {1e-200, 1e200}) {
    auto const scaled = flat(sla::eval(other * sla::eval(size * b)));
    CHECK(sla::norm_inf(scaled / size - z) <= 1e-5 * sla::norm_inf(z));
  }
  for (double size : {1e-200, 1e200}) {
    auto const of_scaled = amg{}.setup(Matrix(size * K));
    CHECK(of_scaled.hierarchy().blocks->sizes().size() == other.hierarchy().blocks->sizes().size());
    CHECK(sla::norm_inf(flat(sla::eval(of_scaled * b)) * size - z) <= 1e-5 * sla::norm_inf(z));
  }
  for (double size : {1e-310, 1e-317}) {  // least numbers have few digits
    auto const few = sla::eval(size * b);
    CHECK(sla::norm_inf(1e300 * flat(sla::eval(other * few)) - 1e300 * size * z) <= 1e-3 * 1e300 * size * sla::norm_inf(z));
  }
  CHECK(sla::norm_inf(flat(sla::eval(other * sla::eval(0.0 * b)))) == 0);
  auto const A = sla::stack_batch(K, twice);
  auto const both = sla::random<double, sla::Extents<2, dyn, 2>>({2, K.rows(), 2}, 3);
  auto const [x, report] = sla::try_solve(A, both, sla::cg{.rtol = 1e-6}, amg{});
  CHECK(report.converged());
  auto const [q, queued] = sla::try_solve(A, both, sla::cg{.rtol = 1e-6}, amg{}, sla::on([](sla::frame f) { return sla::deferred(f, 4); }));
  CHECK(std::equal(x.begin(), x.end(), q.begin()));
  for (int threads : {2, 3}) {
    sla::set_threads(threads);
    auto const again = flat(sla::eval(amg{}.setup(K) * b));
    sla::set_threads(0);
    CHECK(std::equal(z.begin(), z.end(), again.begin()));
  }
  CHECK(suite::iterations(K, sla::cg{.rtol = 1e-6}, amg{.sweeps = 2}) < suite::iterations(K, sla::cg{.rtol = 1e-6}, amg{}, "smoothed aggregation of nodes of 2"));
  std::ostringstream out;
  out << other;
  CHECK(tells(out.str(), "1 + 1 SPAI-0 in float"));
  CHECK(tells(out.str(), "dense inverse"));
  auto const single = sla::cast<float>(K);
  CHECK(amg{}.setup(single).hierarchy().blocks);
  auto const right = sla::random<float, sla::Extents<dyn, 2>>({K.rows(), 2}, 1);
  CHECK(sla::try_solve(single, right, sla::cg{.rtol = 1e-4}, amg{}).report.converged());
  CHECK(sla::norm_inf(flat(sla::eval(amg{}.setup(single) * sla::eval(1e-39f * right)))) > 0);  // false for NaN
}

TEST_CASE("amg in blocks: an error names the batch item, the row of numbers, and an entry that is not finite") {
  auto const K = sla::problems::elasticity({70, 50});
  auto bad = K;
  std::size_t const block = 4, first = std::size_t(K.pattern().row_ptr[777]), last = std::size_t(K.pattern().row_ptr[778]);
  std::fill(bad.values().data() + first * block, bad.values().data() + last * block, 0.0);
  auto const of_batch = suite::words([&] { amg{}.setup(sla::stack_batch(K, bad)); });
  CHECK(tells(of_batch, "amg: the diagonal entry of row 1554 is zero or not stored"));
  CHECK(tells(of_batch, "(batch item 1)"));
  bad = K;
  bad.values().data()[0] = std::numeric_limits<double>::quiet_NaN();
  CHECK(tells(suite::words([&] { amg{}.setup(bad); }), "amg: the diagonal entry of row 0 is nan; entries are finite"));
}

TEST_CASE("amg in blocks: coefficients that jump by 1e8 take some more iterations in float than in double") {
  auto const A = sla::problems::checkerboard({60, 60}, 1e8, 6);
  sla::triplets<double> entries(2 * A.rows(), 2 * A.rows());
  for (index_t i = 0; i < A.rows(); ++i)
    A.pattern().view().for_row(i, [&](index_t s, index_t j) {
      for (index_t e = 0; e < 4; ++e) entries.add(2 * i + e / 2, 2 * j + e % 2, A.values()[s] * (e % 3 == 0 ? 1 : 0.3));
    });
  auto const K = sla::to_blocks<2, 2>(entries.build());
  sla::cg const method{.rtol = 1e-6};
  int const in_float = suite::iterations(K, method, amg{}), in_double = suite::iterations(K, method, sla::amg_in<double>{});
  INFO(in_float << ' ' << in_double);
  CHECK(2 * in_float <= 3 * in_double);
}

TEST_CASE("amg in blocks: other cycles, smoothers, scalars and matrices have levels of numbers") {
  auto const K = sla::problems::elasticity({70, 50});
  CHECK(!amg{.cycle = sla::amg_cycle::W}.setup(K).hierarchy().blocks);
  CHECK(!amg{.smoother = sla::ssor{}}.setup(K).hierarchy().blocks);
  CHECK(!amg{}.setup(sla::problems::elasticity({20, 20})).hierarchy().blocks);
  CHECK(!amg{}.setup(sla::cast<std::complex<double>>(K)).hierarchy().blocks);
  CHECK(!amg{.near_null = constants(2 * K.rows(), 1)}.setup(K).hierarchy().blocks);
  auto turned = K;
  turned.values()[1] += 1e-3;  // of the first block, beside its diagonal
  CHECK(!amg{}.setup(turned).hierarchy().blocks);
  auto far = K;
  far.pattern().view().for_row(0, [&](index_t s, index_t j) {
    if (j == 0) far.values()[4 * s] *= 1e30, far.values()[4 * s + 3] *= 1e30;
  });
  CHECK(!amg{}.setup(far).hierarchy().blocks);
  CHECK(suite::iterations(far, sla::cg{.rtol = 1e-6}, amg{}) <= 60);
}

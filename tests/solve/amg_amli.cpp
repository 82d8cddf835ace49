// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Multigrid by constants on aggregates with the AMLI-cycle: coarse matrices are sums, the cycle is linear, symmetric and near a contraction,
// iterations hardly grow, and automatic coarsening takes it where aggregates are large.
#include <cmath>
#include <complex>
#include <sstream>
#include <tuple>
#include <vector>

#include "suites/grid_problems.hpp"
#include "suites/krylov.hpp"
#include "suites/messages.hpp"
#include "suites/multigrid.hpp"

#include <sla/core/bfloat16.hpp>
#include <sla/solve/direct/eliminate.hpp>
#include <sla/solve/krylov/bicgstab.hpp>
#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/precond/amg/amg.hpp>
#include <sla/tensor/algebra/diagonal.hpp>

using suite::shuffled, suite::tells;
using sla::index_t, sla::amg;

namespace {
amg const constants{.cycle = sla::amg_cycle::amli, .coarsening = sla::amg_coarsening::plain};

}  // namespace

TEST_CASE("amg by constants: coarse matrices are sums over aggregates, sorted, whatever the threads") {
  auto const A = shuffled(sla::problems::checkerboard({200, 200}, 100.0, 5));
  auto const M = sla::amg_in<double>{.cycle = constants.cycle, .coarsening = constants.coarsening}.setup(A);
  auto const& levels = M.hierarchy().levels;
  REQUIRE(levels.size() >= 3);
  for (std::size_t l = 0; l + 1 < levels.size(); ++l) {
    auto const& level = levels[l];
    auto const& next = levels[l + 1].A;
    CHECK(sla::has_sorted_columns(next.pattern()));
    auto const x = sla::random<double>(next.rows(), 3);
    sla::vector<double> const fine = level.P * x, product = level.A * fine, coarse = level.R * product, stored = next * x;
    CHECK(oracle::distance(coarse, stored) <= 1e-12 * sla::norm_inf(stored));
    index_t reached = 0;
    for (auto g : level.transfer->groups.of) reached += g >= 0;
    CHECK(level.P.nnz() == reached);
  }
  suite::same_bits_on_threads(A);
}

TEST_CASE("amg with the AMLI-cycle is linear, symmetric and definite, and serves new values and adjoints") {
  auto const A = sla::problems::checkerboard({40, 40}, 100.0, 6);
  for (auto coarsening : {sla::amg_coarsening::plain, sla::amg_coarsening::smoothed}) {
    amg const options{.cycle = sla::amg_cycle::amli, .coarsening = coarsening, .coarsest = 20};
    auto M = options.setup(A);
    CHECK(M.hierarchy().levels[1].range.least > 0);
    auto const b = sla::random<double>(A.rows(), 1), c = sla::random<double>(A.rows(), 2);
    sla::vector<double> const z = M * b, y = M * c, sum = M * (b - 3.0 * c);
    CHECK(oracle::distance(sum, sla::vector<double>(z - 3.0 * y)) <= 1e-12 * sla::norm_inf(z));
    CHECK(sla::dot(c, z) == Approx(sla::dot(y, b)).epsilon(1e-10));
    for (int seed : {3, 4, 5}) {
      auto const x = sla::random<double>(A.rows(), std::uint64_t(seed));
      sla::vector<double> const Ax = A * x, MAx = M * Ax;
      CHECK(sla::dot(Ax, MAx) > 0);
      CHECK(sla::dot(Ax, MAx) <= 1.1 * sla::dot(x, Ax));
    }
    CHECK(oracle::distance(sla::vector<double>(M.adjoint() * b), z) == 0);
    auto const before = M.hierarchy().levels[0].transfer.get();
    M.update(4.0 * A);
    CHECK(M.hierarchy().levels[0].transfer.get() == before);
    CHECK(oracle::distance(sla::vector<double>(4.0 * (M * b)), z) <= 1e-10 * sla::norm_inf(z));
  }
  // What was chosen stays with new values.
  auto const S = shuffled(sla::problems::poisson({90, 90}));
  auto M = amg{}.setup(S);
  M.update(sla::sparse_tensor<double>(2.0 * S));
  std::ostringstream out;
  out << M;
  CHECK(tells(out.str(), "amg: plain aggregation, AMLI-cycle of "));
  auto const b = sla::random<double>(S.rows(), 1);
  auto const [x, report] = sla::try_solve(S, b, sla::cg{}, amg{});
  auto const [y, queued] = sla::try_solve(S, b, sla::cg{}, amg{}, sla::on([](sla::frame f) { return sla::deferred(f, 4); }));
  CHECK(std::equal(x.begin(), x.end(), y.begin()));
  CHECK(queued.iterations() == report.iterations());
}

TEST_CASE("amg by smoothed aggregates, chosen: two steps where a level is small beside the one above, else one visit") {
  auto const A = shuffled(suite::rotated(90, 1e-2));
  auto M = amg{.coarsest = 20}.setup(A);
  REQUIRE(M.hierarchy().rounded);
  auto const& all = *M.hierarchy().rounded;
  CHECK(all.options.coarsening == sla::amg_coarsening::smoothed);
  REQUIRE(all.levels.size() >= 4);
  CHECK(5 * all.levels[2].A.nnz() < all.levels[1].A.nnz());
  CHECK(all.levels[1].range.least == 0);
  CHECK(all.levels[2].range.least > 0);
  auto const b = sla::random<double>(A.rows(), 1), c = sla::random<double>(A.rows(), 2);
  sla::vector<double> const z = M * b, y = M * c;
  CHECK(sla::dot(c, z) == Approx(sla::dot(y, b)).epsilon(1e-5));
  M.update(sla::sparse_tensor<double>(4.0 * A));
  REQUIRE(M.hierarchy().rounded);
  CHECK(M.hierarchy().rounded->levels[1].range.least == 0);
  CHECK(oracle::distance(sla::vector<double>(4.0 * (M * b)), z) <= 1e-12 * sla::norm_inf(z));
  CHECK(M.hierarchy().options.cycle == sla::amg_cycle::amli);
  // Levels that become slowly smaller are visited once.
  auto const slow = amg{}.setup(shuffled(sla::problems::anisotropic({90, 90}, 1e-3)));
  CHECK(slow.hierarchy().options.cycle == sla::amg_cycle::V);
}

TEST_CASE("amg by smoothed aggregates and by coarse points has levels in float, and takes the iterations of double") {
  auto const A = shuffled(suite::rotated(90, 1e-2));
  auto const jumps = sla::problems::checkerboard({90, 90}, 1e4, 9), far = sla::problems::checkerboard({90, 90}, 1e8, 9);
  auto const steps = [](sla::sparse_tensor<double> const& of, auto const& options) {
    auto const b = sla::random<double>(of.rows(), 1);
    auto const [x, report] = sla::try_solve(of, b, sla::cg{.rtol = 1e-6}, options);
    INFO(report);
    CHECK(report.converged());
    CHECK(sla::norm(b - of * x) <= 1e-6 * sla::norm(b));
    return report.iterations();
  };
  auto const compare = [&](sla::sparse_tensor<double> const& of, sla::amg_coarsening how) {
    amg const options{.coarsening = how};
    sla::amg_in<double> const whole{.coarsening = how};
    auto const M = options.setup(of);
    auto const D = whole.setup(of);
    REQUIRE(M.hierarchy().rounded);
    CHECK(!D.hierarchy().rounded);
    CHECK(std::abs(steps(of, options) - steps(of, whole)) <= 1);
    CHECK(5 * M.bytes() < 4 * D.bytes());
    CHECK(M.levels().size() == D.levels().size());
    std::ostringstream out;
    out << M;
    CHECK(tells(out.str(), "SPAI-0 in float"));
    auto const b = sla::random<double>(of.rows(), 1), c = sla::random<double>(of.rows(), 2);
    sla::vector<double> const z = M * b, w = D * b;
    CHECK(oracle::distance(z, w) > 0);
    CHECK(oracle::distance(z, w) <= 1e-3 * sla::norm_inf(w));
    CHECK(sla::dot(c, z) == Approx(sla::dot(sla::vector<double>(M.adjoint() * c), b)).epsilon(1e-5));
  };
  compare(A, sla::amg_coarsening::automatic);
  compare(A, sla::amg_coarsening::classical);
  compare(jumps, sla::amg_coarsening::smoothed);
  CHECK(!amg{.coarsening = sla::amg_coarsening::smoothed}.setup(far).hierarchy().rounded);
  CHECK(amg{.cycle = sla::amg_cycle::F, .coarsening = sla::amg_coarsening::smoothed}.setup(A).adjoint().hierarchy().rounded->reversed);
  CHECK(!amg{}.setup(sla::problems::convection_diffusion({90, 90}, 3.0)).hierarchy().rounded);
  CHECK(!amg{.coarsening = sla::amg_coarsening::smoothed}.setup(sla::sparse_tensor<double>(1e20 * A)).hierarchy().rounded);
}

TEST_CASE("amg keeps levels in double where A is singular but for a small shift") {
  index_t const n = 20000;
  auto A = sla::problems::poisson<double>({n});
  auto const at = sla::diagonal_positions(A.pattern());
  for (index_t i = 0; i < n; ++i) A.values()[at[i]] = i == 0 || i == n - 1 ? 1 : 2;
  A.values()[at[0]] += 1e-12;
  auto const chain = shuffled(A);
  auto const x = sla::random<double>(n, 7);
  sla::vector<double> const b = chain * x;
  for (auto how : {sla::amg_coarsening::automatic, sla::amg_coarsening::smoothed, sla::amg_coarsening::classical}) {
    auto const M = amg{.coarsening = how}.setup(chain);
    CHECK(!M.hierarchy().rounded);
    auto const [y, report] = sla::try_solve(chain, b, sla::cg{.rtol = 1e-8, .max_iterations = 100}, M);
    INFO(report);
    CHECK(report.converged());
  }
}

TEST_CASE("amg with the AMLI-cycle measures singular matrices in their range") {
  auto A = sla::problems::checkerboard({120, 100}, 100.0, 7);
  auto const at = sla::diagonal_positions(A.pattern());
  sla::vector<double> const sums = A * sla::ones<double>(A.rows());
  for (index_t i = 0; i < A.rows(); ++i) A.values()[at[i]] -= sums[i];
  amg const options{.cycle = sla::amg_cycle::amli, .coarsening = sla::amg_coarsening::plain};
  auto const M = options.setup(A);
  REQUIRE(M.hierarchy().rounded);
  auto const& levels = M.hierarchy().rounded->levels;
  for (std::size_t l = 1; l + 1 < levels.size(); ++l) CHECK(levels[l].range.least > 0.1);
  auto const [x, report] = sla::try_solve(A, sla::vector<double>(A * sla::random<double>(A.rows(), 3)), sla::cg{.rtol = 1e-8}, options);
  INFO(report);
  CHECK(report.converged());
}

namespace {
/// A x by the packed numbers of a level.
sla::vector<double> packed_product(sla::detail::packed_levels const& all, std::size_t l, sla::vector<double> const& x) {
  auto const A = all.view(l);
  std::vector<float> in(std::size_t(sla::detail::packed_room(A.rows)));
  for (index_t i = 0; i < A.rows; ++i) in[std::size_t(i)] = float(x[i]);
  auto out = sla::zeros<double>(A.rows);
  A.products(0, A.rows, in.data(), [&](index_t i, index_t last, float const* product) {
    for (; i < last; ++i) out[i] = double(*product++) * all.scale;
  });
  return out;
}
/// A, each entry beside the diagonal rounded to bfloat16, and what that takes from a row added to its diagonal.
sla::sparse_tensor<double> rounded(sla::sparse_tensor<double> A, double scale) {
  auto const at = sla::diagonal_positions(A.pattern());
  for (index_t i = 0; i < A.rows(); ++i)
    A.pattern().view().for_row(i, [&](index_t s, index_t j) {
      double const was = A.values()[s];
      if (i == j) return;
      A.values()[s] = double(float(sla::bfloat16(was / scale))) * scale;
      A.values()[at[i]] += was - A.values()[s];
    });
  return A;
}
/// P^T A P for the aggregates of the first level.
sla::sparse_tensor<double> summed(sla::sparse_tensor<double> const& A, sla::detail::packed_plan const& plan) {
  std::vector<index_t> rows, cols;
  std::vector<double> values;
  auto const& of = plan.of[0];
  for (index_t i = 0; i < A.rows(); ++i)
    A.pattern().view().for_row(i, [&](index_t s, index_t j) {
      if (of[i] >= 0 && of[j] >= 0) rows.push_back(of[i]), cols.push_back(of[j]), values.push_back(A.values()[s]);
    });
  return sla::from_triplets<double>(plan.members[0].rows, plan.members[0].rows, rows, cols, values);
}
/// Have the first two levels the products of A and P^T A P, rounded to words where they are stored so?
void has_products(sla::sparse_tensor<double> const& A, sla::detail::packed_levels const& all, bool words, bool words_below) {
  REQUIRE(all.levels.size() >= 3);
  auto const check = [&](std::size_t l, sla::sparse_tensor<double> const& exact, bool in_words) {
    CHECK((all.levels[l].word.size() > 0) == in_words);
    CHECK((all.levels[l].col.size() > 0) == !in_words);
    auto const x = sla::random<double>(exact.rows(), 1 + std::uint64_t(l));
    sla::vector<double> const y = (in_words ? rounded(exact, all.scale) : exact) * x;
    CHECK(oracle::distance(packed_product(all, l, x), y) <= 2e-6 * sla::norm_inf(exact));
    CHECK(sla::norm_inf(y) > 1e-2 * sla::norm_inf(exact));
  };
  check(0, A, words);
  check(1, summed(A, *all.plan), words_below);
}
}  // namespace

TEST_CASE("amg by constants in float: levels have the products of A and of P^T A P, rows that stand alone too") {
  auto A = shuffled(sla::problems::checkerboard({93, 89}, 1e4, 7));
  std::vector<index_t> const fixed{0, 5, 4000, A.rows() - 1};
  A = sla::eliminate(A, sla::zeros<double>(A.rows()), fixed, 0.0).first;
  A = 1e60 * A;  // of no float
  auto const M = amg{}.setup(A);
  REQUIRE(M.hierarchy().packed);
  auto const& all = *M.hierarchy().packed;
  CHECK(all.plan->of[0][4000] == -1);
  has_products(A, all, true, true);
  auto const x = sla::random<double>(A.rows(), 1);
  sla::vector<double> const z = M * sla::vector<double>(A * x);  // of the size of x
  CHECK(sla::dot(z, sla::vector<double>(A * x)) > 0);
  CHECK(sla::norm(z) < 10 * sla::norm(x));
}

TEST_CASE("amg by constants in float: new values that couple rows which stood alone leave coarse matrices P^T A P") {
  auto const A = shuffled(sla::problems::checkerboard({90, 80}, 10.0, 7));
  auto const is_fixed = [&](index_t i) { return i % 5 == 0; };
  auto B = A;
  for (index_t i = 0; i < B.rows(); ++i)
    B.pattern().view().for_row(i, [&](index_t s, index_t j) {
      if (i != j && (is_fixed(i) || is_fixed(j))) B.values()[s] = 0;
    });
  auto M = amg{.strength = 0.05}.setup(B);
  REQUIRE(M.hierarchy().packed);
  CHECK(M.hierarchy().packed->plan->of[0][5] == -1);
  M.update(A);
  REQUIRE(M.hierarchy().packed);
  has_products(A, *M.hierarchy().packed, true, true);
}

TEST_CASE("amg by constants in float: entries are words where columns are near and pull with the diagonal, else columns and values") {
  auto const A = shuffled(sla::problems::checkerboard({280, 260}, 1e3, 7));
  index_t const n = A.rows();
  REQUIRE(n > 65536);
  auto M = amg{}.setup(A);
  auto const levels = [&]() -> auto const& {
    REQUIRE(M.hierarchy().packed);
    return *M.hierarchy().packed;
  };
  has_products(A, levels(), true, true);
  std::size_t const bytes = M.bytes();
  // New values, two of which pull against the diagonal, and back.
  auto B = A;
  auto const at = sla::diagonal_positions(A.pattern());
  index_t const i = n / 2, j = A.pattern().col[A.pattern().row_ptr[i]];
  REQUIRE(j < i);
  B.values()[sla::find_slot(A.pattern().view(), i, j)] = B.values()[sla::find_slot(A.pattern().view(), j, i)] = 1e-3;
  M.update(B);
  has_products(B, levels(), false, true);
  CHECK(M.bytes() > bytes);
  M.update(A);
  has_products(A, levels(), true, true);
  // A negative definite matrix.
  sla::sparse_tensor<double> const N = -1.0 * A;
  M.update(N);
  has_products(N, levels(), true, true);
  // The first and the last row are coupled; of level 1 they are near.
  auto const far = [&](index_t to) {
    std::vector<index_t> rows, cols;
    std::vector<double> values;
    for (index_t r = 0; r < n; ++r) A.pattern().view().for_row(r, [&](index_t s, index_t c) { rows.push_back(r), cols.push_back(c), values.push_back(A.values()[s]); });
    for (auto [r, c, v] : {std::tuple<index_t, index_t, double>{0, to, -1}, {to, 0, -1}, {0, 0, 1}, {to, to, 1}}) rows.push_back(r), cols.push_back(c), values.push_back(v);
    return sla::from_triplets<double>(n, n, rows, cols, values);
  };
  for (bool fits : {true, false}) {
    index_t const to = fits ? 65535 : 65536;
    auto const F = far(to);
    M = amg{}.setup(F);
    has_products(F, levels(), fits, true);
    CHECK(suite::iterations(F, sla::cg{.rtol = 1e-8}, amg{}, "plain aggregation") <= suite::iterations(F, sla::cg{.rtol = 1e-8}, sla::amg_in<double>{}, "plain aggregation") + 1);
  }
}

TEST_CASE("amg by constants in float is near that in double: iterations, symmetry, jumps, numbers of any size, new values") {
  auto const A = shuffled(sla::problems::poisson({120, 110}));
  auto M = amg{}.setup(A);
  REQUIRE(M.hierarchy().packed);
  auto const D = sla::amg_in<double>{}.setup(A);
  CHECK(!D.hierarchy().packed);
  CHECK(D.levels().size() == M.levels().size());
  CHECK(M.bytes() < 0.6 * double(D.bytes()));
  auto const b = sla::random<double>(A.rows(), 1), c = sla::random<double>(A.rows(), 2);
  sla::vector<double> const z = M * b, y = M * c, exact = D * b;
  CHECK(oracle::distance(z, exact) <= 0x1p-8 * sla::norm_inf(exact));  // of words
  CHECK(sla::dot(c, z) == Approx(sla::dot(y, b)).epsilon(1e-5));
  CHECK(oracle::distance(sla::vector<double>(M.adjoint() * b), z) == 0);
  for (double size : {1e-200, 1e-30, 1e30, 1e200}) {
    CHECK(oracle::distance(sla::vector<double>((M * sla::vector<double>(size * b)) / size), z) <= 1e-5 * sla::norm_inf(z));
  }
  for (double size : {0x1p-200, 0x1p200}) CHECK(oracle::distance(sla::vector<double>(size * (amg{}.setup(sla::sparse_tensor<double>(size * A)) * b)), z) <= 1e-5 * sla::norm_inf(z));
  CHECK(sla::norm_inf(M * sla::zeros<double>(A.rows())) == 0);
  // Jumps of 1e8: float alone would lose what is between them.
  auto const J = shuffled(sla::problems::checkerboard({160, 160}, 1e8, 16));
  CHECK(amg{}.setup(J).hierarchy().packed);
  CHECK(suite::iterations(J, sla::cg{.rtol = 1e-6}, amg{}, "plain aggregation") <= suite::iterations(J, sla::cg{.rtol = 1e-6}, sla::amg_in<double>{}, "plain aggregation") + 2);
  CHECK(suite::iterations(sla::problems::checkerboard({180, 180}, 1e8, 32), sla::cg{.rtol = 1e-6}, amg{}, "plain aggregation") <= 18);  // squares of five or six points
  CHECK(suite::iterations(A, sla::cg{.rtol = 1e-12}, amg{}) <= suite::iterations(A, sla::cg{.rtol = 1e-12}, sla::amg_in<double>{}) + 2);
  // New values keep what belongs to the pattern; those of a matrix that is not symmetric take what they would have from the start.
  auto const plan = M.hierarchy().packed->plan;
  M.update(sla::sparse_tensor<double>(4.0 * A));
  CHECK(M.hierarchy().packed->plan == plan);
  CHECK(oracle::distance(sla::vector<double>(4.0 * (M * b)), z) == 0);
  auto skew = A;
  skew.values()[1] *= 1.5;
  M.update(skew);
  CHECK(!M.hierarchy().packed);
  CHECK(oracle::distance(sla::vector<double>(M * b), sla::vector<double>(amg{}.setup(skew) * b)) == 0);
  CHECK(suite::iterations(sla::cast<float>(A), sla::cg{.rtol = 1e-4f}, amg{}, "plain aggregation") <= 14);
  auto const N = amg{}.setup(A);
  sla::vector<std::complex<double>> const both = N * sla::vector<std::complex<double>>(b + std::complex<double>(0, 1) * c);
  CHECK(oracle::distance(sla::vector<double>(sla::real(both)), z) <= 1e-5 * sla::norm_inf(z));
  CHECK(oracle::distance(sla::vector<double>(sla::imag(both)), y) <= 1e-5 * sla::norm_inf(y));
  std::ostringstream out;
  out << N;
  CHECK(tells(out.str(), "SPAI-0 in float, "));
  CHECK(tells(out.str(), "dense inverse"));
}

TEST_CASE("amg by constants serves matrices whose squares are out of range, and rows that float does not reach") {
  auto const A = shuffled(sla::problems::poisson({90, 80}));
  int const usual = suite::iterations(A, sla::cg{}, amg{}, "plain aggregation");
  for (double size : {1e-200, 1e200}) {
    CHECK(suite::iterations(sla::sparse_tensor<double>(size * A), sla::cg{}, amg{}, "plain aggregation") <= usual + 1);
    CHECK(suite::iterations(sla::sparse_tensor<double>(size * A), sla::cg{}, sla::amg_in<double>{}, "plain aggregation") <= usual + 1);
  }
  int const in_float = suite::iterations(sla::cast<float>(A), sla::cg{.rtol = 1e-4}, amg{});
  for (float size : {1e-22f, 1e22f}) CHECK(suite::iterations(sla::sparse_tensor<float>(size * sla::cast<float>(A)), sla::cg{.rtol = 1e-4}, amg{}) <= in_float + 1);
  // Penalties: float would hold nothing of the other rows.
  auto B = A;
  auto const at = sla::diagonal_positions(A.pattern());
  for (index_t i = 0; i < 20; ++i) B.values()[at[i * 37]] += 1e40;
  CHECK(suite::iterations(B, sla::cg{}, amg{}, "plain aggregation") <= suite::iterations(B, sla::cg{}, sla::amg_in<double>{}, "plain aggregation"));
  CHECK(!amg{}.setup(B).hierarchy().packed);
  // New values may leave the range, and come back.
  auto M = amg{}.setup(A);
  REQUIRE(M.hierarchy().packed);
  auto const b = sla::random<double>(A.rows(), 1);
  M.update(B);
  CHECK(oracle::distance(sla::vector<double>(M * b), sla::vector<double>(amg{}.setup(B) * b)) == 0);
  M.update(A);
  CHECK(suite::iterations(A, sla::cg{}, M) <= usual + 1);
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Additive Schwarz against the sum of dense inverses of its subdomains; restricted, adjoint, in batches and blocks.
#include <complex>

#include "suites/chain.hpp"
#include "suites/krylov.hpp"
#include "suites/messages.hpp"

#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/precond/ilu0.hpp>
#include <sla/solve/precond/composed/schwarz.hpp>
#include <sla/solve/precond/composed/two_level_schwarz.hpp>

using suite::tells, suite::words;
using suite::chain;
using sla::dyn, sla::index_t, sla::schwarz, sla::ilu0;
using complex_t = std::complex<double>;

namespace {
/// sum of S_i^T A_i^-1 R_i r on dense arrays, where R_i and S_i pick rows(i), or of them those with owner i.
template <class T>
std::vector<T> dense_sum(sla::sparse_tensor<T> const& A, auto const& M, std::vector<int> const& owner, std::vector<T> const& r, bool own_in, bool own_out) {
  auto const D = oracle::dense(A);
  std::vector<T> out(r.size());
  for (index_t part = 0; part < M.parts(); ++part) {
    auto const& rows = M.rows(part);
    std::vector<T> square, local;
    for (index_t i : rows) {
      local.push_back(own_in && owner[std::size_t(i)] != part ? T{} : r[std::size_t(i)]);
      for (index_t j : rows) square.push_back(D[std::size_t(i * A.rows() + j)]);
    }
    auto const z = oracle::solution(square, local, index_t(rows.size()));
    for (std::size_t k = 0; k < rows.size(); ++k)
      if (!own_out || owner[std::size_t(rows[k])] == part) out[std::size_t(rows[k])] += z[k];
  }
  return out;
}
/// <M x, y> = <x, M^H y>.
template <class M, class V>
void adjoint_agrees(M const& m, V const& x, V const& y) {
  V const mx = m * x, hy = m.adjoint() * y;
  auto const left = sla::eval(sla::dot(mx, y)), right = sla::eval(sla::dot(x, hy));
  CHECK(std::abs(left - right) <= 1e-12 * std::abs(left));
}
}  // namespace

TEST_CASE("schwarz is the sum over subdomains, of strips and of any owners") {
  index_t const n = 30;
  auto const A = chain<double>(n);
  auto const r = sla::random<double>(n, 1);
  std::vector<double> const plain(r.begin(), r.end());
  std::vector<int> const runs = [&] {
    std::vector<int> out;
    for (index_t i = 0; i < n; ++i) out.push_back(int(i / 7 * 2 % 5));
    return out;
  }();
  for (int overlap : {0, 1, 3})
    for (bool restricted : {false, true})
      for (bool strips : {true, false}) {
        auto const M = schwarz(ilu0{}, {.parts = strips ? 4 : 0, .overlap = overlap, .restricted = restricted, .owner = strips ? std::vector<int>{} : runs}).setup(A);
        auto owner = runs;
        if (strips) {
          auto const bare = schwarz(ilu0{}, {.parts = 4, .overlap = 0}).setup(A);
          for (index_t part = 0; part < 4; ++part)
            for (index_t i : bare.rows(part)) owner[std::size_t(i)] = int(part);
        }
        CHECK(M.parts() == (strips ? 4 : 5));
        sla::vector<double> const z = M * r;
        CHECK(oracle::distance(z, dense_sum(A, M, owner, plain, false, restricted)) < 1e-12);
        adjoint_agrees(M, r, sla::random<double>(n, 2));
        if (strips && overlap == 1) CHECK(index_t(M.rows(1).size()) == 2 + std::count(owner.begin(), owner.end(), 1));
      }
  auto const whole = schwarz(ilu0{}, {.parts = 1}).setup(A);
  sla::vector<double> const one = whole * r, same = ilu0{}.setup(A) * r;
  CHECK(std::equal(one.begin(), one.end(), same.begin()));
}

TEST_CASE("schwarz of complex numbers, of batches, blocks and right-hand sides") {
  auto const Z = chain<complex_t>(18);
  auto const M = schwarz(ilu0{}, {.parts = 3, .overlap = 2, .restricted = true}).setup(Z);
  adjoint_agrees(M, sla::random<complex_t>(18, 1), sla::random<complex_t>(18, 2));

  using V = sla::tensor<double, sla::Extents<2, dyn, 2, dyn>>;
  auto const A = sla::to_blocks<2, 2>(chain<double>(24));
  auto C = sla::stack_batch(A, A);
  for (index_t s = C.batch_stride(); s < C.values().size(); ++s) C.values()[s] *= 3;
  V const x = sla::random<double, V::extents_type>({2, 12, 2, 3}, 3), y = sla::random<double, V::extents_type>({2, 12, 2, 3}, 4);
  auto N = schwarz(ilu0{}, {.parts = 3, .overlap = 1}).setup(C);
  adjoint_agrees(N, x, y);
  V const z = N * x;
  // One layer of blocks is two of scalars.
  std::vector<int> owner(24);
  auto const bare = schwarz(ilu0{}, {.parts = 3, .overlap = 0}).setup(C);
  for (index_t part = 0; part < 3; ++part)
    for (index_t i : bare.rows(part)) owner[std::size_t(2 * i)] = owner[std::size_t(2 * i + 1)] = int(part);
  auto const scalar = schwarz(ilu0{}, {.overlap = 2, .owner = owner}).setup(chain<double>(24));
  for (index_t b = 0; b < 2; ++b) {
    sla::vector<double> column(24);
    for (index_t i = 0; i < 24; ++i) column[i] = x[(b * 24 + i) * 3];
    sla::vector<double> const wanted = scalar * column;
    for (index_t i = 0; i < 24; ++i) CHECK(z[(b * 24 + i) * 3] == Approx(wanted[i] / (b == 1 ? 3 : 1)));
  }
  auto twice = C;
  for (auto& value : twice.values()) value *= 2;
  N.update(twice);
  CHECK(oracle::distance(V(2.0 * (N * x)), z) < 1e-13);
}

TEST_CASE("overlap spares iterations, and a queue gives the same bits") {
  auto const A = sla::problems::poisson({30, 30});
  auto const b = sla::random<double>(A.rows(), 5);
  std::vector<int> seen;
  for (int overlap : {0, 1, 3}) {
    auto const report = sla::try_solve(A, b, sla::cg{.rtol = 1e-8}, schwarz(ilu0{}, {.parts = 8, .overlap = overlap})).report;
    REQUIRE(report.converged());
    CHECK(report.preconditioner == sla::text("schwarz of ilu0, 8 parts, overlap ", overlap));
    seen.push_back(report.iterations());
  }
  INFO(seen[0] << " " << seen[1] << " " << seen[2]);
  CHECK(seen[1] < seen[0]);
  CHECK(seen[2] <= seen[1]);
  suite::same_everywhere(sla::problems::poisson({9, 9}), sla::random<double>(81, 5), sla::cg{}, schwarz(ilu0{}, {.parts = 3}), 1e-6);
  suite::same_everywhere(sla::problems::poisson({9, 9}), sla::random<double>(81, 5), sla::cg{}, sla::two_level_schwarz(ilu0{}, {.parts = 3}), 1e-6);
}

TEST_CASE("schwarz refuses what is no partition, and names the subdomain that fails") {
  auto const A = sla::problems::poisson({4, 4});
  auto const refusal = [&](sla::schwarz_options o) { return words([&] { schwarz(ilu0{}, o).setup(A); }); };
  CHECK(tells(refusal({.parts = 17}), "{.parts = 17}): A has 16 rows"));
  CHECK(tells(refusal({.parts = 2, .overlap = -1}), "both are at least 0"));
  CHECK(tells(refusal({.owner = {0, 1}}), "2 owners for 16 rows"));
  std::vector<int> owner(16, 0);
  owner[5] = 3;
  CHECK(tells(refusal({.parts = 2, .owner = owner}), "the owner of row 5 is 3"));
  owner[5] = -1;
  CHECK(tells(refusal({.owner = owner}), "the owner of row 5 is -1"));
  auto hole = A;
  hole.values()[sla::diagonal_positions(A.pattern())[13]] = 0;
  CHECK(tells(words([&] { schwarz(sla::jacobi{}, {.parts = 2, .overlap = 0}).setup(hole); }), "the diagonal entry of row 13 is zero"));
  CHECK(tells(words([&] { schwarz(sla::jacobi{}, {.parts = 2, .overlap = 0}).setup(hole); }), "of subdomain 1 of 2, of 8 rows from 8"));
  auto M = schwarz(ilu0{}, {.parts = 2}).setup(A);
  CHECK(tells(words([&] { M.update(sla::problems::poisson({2, 8})); }), "another pattern"));
}

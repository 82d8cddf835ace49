// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Multigrid of systems: near-null spaces that prolongations reproduce, elasticity in iterations that hardly grow with the body, blocks by
// nodes, vectors in the place of constants.
#include <complex>
#include <sstream>

#include "suites/krylov.hpp"
#include "suites/messages.hpp"
#include "suites/multigrid.hpp"

#include <sla/solve/krylov/bicgstab.hpp>
#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/linear/describe.hpp>
#include <sla/solve/precond/amg/amg.hpp>
#include <sla/solve/precond/amg/blocks/rigid_body_modes.hpp>
#include <sla/solve/precond/block_jacobi.hpp>
#include <sla/solve/precond/composed/chebyshev.hpp>
#include <sla/solve/precond/ssor.hpp>
#include <sla/tensor/problems/wave_problems.hpp>

using suite::tells, suite::words;
using sla::dyn, sla::index_t, sla::amg;
using complex_t = std::complex<double>;

TEST_CASE("rigid_body_modes are annihilated by an elastic body away from where it is clamped") {
  auto const check = [](auto const& K, sla::matrix<double> const& points, index_t modes) {
    index_t const d = points.extent(1), n = points.extent(0);
    auto const B = sla::rigid_body_modes(points);
    REQUIRE(B.extent(0) == n * d);
    REQUIRE(B.extent(1) == modes);
    auto const A = sla::unblocked(K);
    for (index_t m = 0; m < modes; ++m) {
      sla::vector<double> v(n * d);
      for (index_t i = 0; i < n * d; ++i) v[i] = B(i, m);
      sla::vector<double> const f = A * v;
      double inside = 0, at_clamp = 0;
      for (index_t i = 0; i < n * d; ++i) (points(i / d, 0) > 0 ? inside : at_clamp) = (std::max)(points(i / d, 0) > 0 ? inside : at_clamp, std::abs(f[i]));
      CHECK(inside <= 1e-13);
      CHECK(at_clamp > 1e-3);
    }
  };
  check(sla::problems::cantilever({5, 4}), sla::problems::grid_points({5, 4}), 3);
  check(sla::problems::cantilever({4, 3, 5}), sla::problems::grid_points({4, 3, 5}), 6);
  auto const D = oracle::dense(sla::problems::cantilever({3, 3, 2}));
  for (index_t i = 0; i < 54; ++i)
    for (index_t j = 0; j < i; ++j) CHECK(D[std::size_t(i * 54 + j)] == Approx(D[std::size_t(j * 54 + i)]).margin(1e-15));
  CHECK(tells(words([] { (void)sla::rigid_body_modes(sla::matrix<double>({5, 1})); }), "points have 1 coordinates"));
}

TEST_CASE("amg: a tentative prolongation is orthonormal and reproduces the near-null space, also where a mode is none on an aggregate") {
  // Aggregates of one node of 3 unknowns hold 3 of 6 modes, of two nodes 5, of three (not in line) 6; node 7 is in none.
  auto const points = sla::problems::grid_points({4, 2, 1});
  auto const modes = sla::rigid_body_modes(points);
  sla::detail::amg_nodes<double> nodes{{}, {}, 6};
  for (std::int32_t i = 0; i <= 24; i += 3) nodes.first.push_back(i);
  nodes.space.assign(modes.data(), modes.data() + 24 * 6);
  sla::detail::aggregates groups{sla::buffer<std::int32_t>(8, sla::uninitialized), 4};
  std::int32_t const of[] = {0, 3, 1, 2, 3, 3, 1, -1};
  std::copy(of, of + 8, groups.of.begin());
  auto const [T, next] = sla::detail::tentative_prolongation(nodes, groups);
  CHECK(next.count() == 4);
  std::vector<std::int32_t> const first{0, 3, 8, 11, 17};
  CHECK(next.first == first);
  CHECK(T.cols() == 17);
  auto const gram = oracle::dense(sla::sparse_tensor<double>(sla::transposed(T) * T));
  for (index_t i = 0; i < 17; ++i)
    for (index_t j = 0; j < 17; ++j) CHECK(gram[std::size_t(i * 17 + j)] == Approx(i == j ? 1 : 0).margin(1e-13));
  for (index_t m = 0; m < 6; ++m) {
    sla::vector<double> coarse(17);
    for (index_t i = 0; i < 17; ++i) coarse[i] = next.space[std::size_t(i * 6 + m)];
    sla::vector<double> const fine = T * coarse;
    for (index_t i = 0; i < 24; ++i) CHECK(fine[i] == Approx(i < 21 ? modes(i, m) : 0).margin(1e-12));
  }
}

TEST_CASE("amg by nodes: blocks and their rows give the same levels, adjoints agree, on any space and in float") {
  index_t const n[] = {10, 7};
  auto const K = sla::problems::cantilever(n);
  auto const modes = sla::rigid_body_modes(sla::problems::grid_points(n));
  amg const options{.coarsest = 10, .near_null = modes};
  auto const M = options.setup(K);
  REQUIRE(M.levels().size() >= 3);
  auto const of_rows = amg{.coarsest = 10, .near_null = {modes, 2}}.setup(sla::unblocked(K));
  auto const b = sla::random<double, sla::Extents<dyn, 2>>({K.rows(), 2}, 1);
  sla::vector<double> flat(140);
  std::copy(b.begin(), b.end(), flat.begin());
  sla::tensor<double, sla::Extents<dyn, 2>> const z = M * b;
  sla::vector<double> const y = of_rows * flat;
  CHECK(std::equal(z.begin(), z.end(), y.begin()));
  for (std::size_t l = 0; l + 1 < M.levels().size(); ++l) {
    auto const& level = M.hierarchy().levels[l];
    auto const coarse = sla::to_dense(level.R * (level.A * level.P)), stored = sla::to_dense(M.hierarchy().levels[l + 1].A);
    CHECK(oracle::distance(coarse, stored) <= 1e-12 * sla::norm_inf(stored));
  }
  suite::same_everywhere(K, b, sla::cg{}, options, 1e-7);
  auto const adjoint_agrees = [](auto const& A, auto const& P) {
    auto const S = P.setup(A);
    auto const u = sla::random<typename std::remove_cvref_t<decltype(A)>::value_type>(A.rows(), 3), v = sla::random<typename std::remove_cvref_t<decltype(A)>::value_type>(A.rows(), 4);
    std::remove_cvref_t<decltype(u)> const su = S * u, hv = S.adjoint() * v;
    CHECK(std::abs(sla::eval(sla::dot(su, v)) - sla::eval(sla::dot(u, hv))) <= 1e-11 * sla::norm(su) * sla::norm(v));
  };
  for (auto coarsening : {sla::amg_coarsening::smoothed, sla::amg_coarsening::plain}) {
    amg const both{.coarsening = coarsening, .coarsest = 10, .near_null = {modes, 2}};
    adjoint_agrees(sla::unblocked(K), both);
    auto turned = sla::unblocked(K);
    for (index_t i = 0; i < turned.rows(); ++i) turned.pattern().view().for_row(i, [&](index_t s, index_t j) { turned.values()[s] *= j > i ? 1.5 : 1; });
    adjoint_agrees(turned, both);
  }
  CHECK(std::abs(suite::iterations(K, sla::cg{.rtol = 1e-6}, sla::amg_in<float>{.coarsest = 10, .near_null = modes}) - suite::iterations(K, sla::cg{.rtol = 1e-6}, options)) <= 2);
  auto const E = suite::everything_at_once<sla::bicgstab>();
  suite::same_everywhere(E.first, E.second, sla::bicgstab{}, amg{.coarsest = 5}, 1e-6);  // complex blocks in a batch
  // New values are those of a fresh set-up.
  auto s = options.setup(K);
  sla::sparse_tensor<double, decltype(K)::shape_type> const twice = 2.0 * K;
  s.update(twice);
  sla::tensor<double, sla::Extents<dyn, 2>> const half = s * b;
  CHECK(oracle::distance(half, sla::tensor<double, sla::Extents<dyn, 2>>(0.5 * z)) <= 1e-13);
}

TEST_CASE("amg with vectors in the place of constants: rows that are scaled, and turned by phases") {
  auto const A = sla::problems::poisson({70, 70});
  index_t const n = A.rows();
  sla::vector<double> scale(n);
  sla::matrix<double> mode({n, 1});
  auto const r = sla::random<double>(n, 5);
  for (index_t i = 0; i < n; ++i) scale[i] = std::pow(10.0, r[i]), mode(i, 0) = 1 / scale[i];
  auto const scaled = sla::sparse_tensor<double>(sla::scale_rows(sla::scale_cols(A, scale), scale));
  int const plain = suite::iterations(A, sla::cg{.rtol = 1e-6}, amg{}), given = suite::iterations(scaled, sla::cg{.rtol = 1e-6}, amg{.smoother = sla::ssor{}, .near_null = mode}), unaware = suite::iterations(scaled, sla::cg{.rtol = 1e-6}, amg{.smoother = sla::ssor{}});
  INFO(plain << ' ' << given << ' ' << unaware);
  CHECK(given <= plain + 10);
  CHECK(unaware >= 2 * given);
  auto Z = sla::cast<complex_t>(A);
  sla::matrix<complex_t> phases({n, 1});
  for (index_t i = 0; i < n; ++i) phases(i, 0) = std::polar(1.0, 3 * r[i]);
  for (index_t i = 0; i < n; ++i) Z.pattern().view().for_row(i, [&](index_t s, index_t j) { Z.values()[s] *= phases(i, 0) * std::conj(phases(j, 0)); });
  CHECK(suite::iterations(Z, sla::cg{.rtol = 1e-6}, amg{.near_null = phases}) <= plain + 5);
}

TEST_CASE("amg refuses near-null spaces that do not fit, and prints nodes") {
  auto const K = sla::problems::cantilever({6, 5});
  auto const modes = sla::rigid_body_modes(sla::problems::grid_points({6, 5}));
  CHECK(tells(words([&] { (void)amg{.near_null = modes}.setup(sla::problems::cantilever({6, 4})); }), "amg{.near_null}: its 60 rows are not the 48 rows of A"));
  CHECK(tells(words([&] { (void)amg{.near_null = {modes, 3}}.setup(K); }), "amg{.near_null = {modes, 3}}: a node has 2 unknowns"));
  CHECK(tells(words([&] { (void)amg{.near_null = {modes, 7}}.setup(sla::unblocked(K)); }), "nodes of 7 unknowns do not make up the 60 rows of A"));
  CHECK(tells(words([&] { (void)amg{.near_null = sla::matrix<double>({60, 0})}.setup(K); }), "amg{.near_null}: there is no mode"));
  auto bad = modes;
  bad(7, 2) = std::nan("");
  CHECK(tells(words([&] { (void)amg{.near_null = bad}.setup(K); }), "the mode 2 has nan in row 7"));
  sla::matrix<complex_t> turned({60, 1});
  turned(0, 0) = complex_t(0, 1);
  CHECK(tells(words([&] { (void)amg{.near_null = turned}.setup(K); }), "modes are complex and A is real"));
  auto const s = sla::prepare(K, sla::cg{}, amg{.coarsest = 10, .near_null = modes});
  CHECK(tells(s.try_solve(sla::ones<double, sla::Extents<dyn, 2>>({30, 2})).report.preconditioner, "smoothed aggregation of nodes of 2"));
  CHECK(tells(sla::to_string(amg{.near_null = modes}), ".near_null = 3 modes"));
  std::ostringstream out;
  out << s.preconditioner();
  CHECK(tells(out.str(), " columns"));
}

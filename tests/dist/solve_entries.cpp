// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Solves where no rank has whole rows: matrices sharded by entries, by columns, and by rows and columns on two axes. Solutions and gradients
// are those of one rank.
#include <complex>

#include <sla/dist/assembly/assemble_rectangles.hpp>
#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/engine/threads.hpp>
#include <sla/dist/grad/value_and_gradient.hpp>
#include <sla/dist/matrix/algebra_gradient.hpp>
#include <sla/dist/matrix/matrix_gradient.hpp>
#include <sla/dist/step/steps_gradient.hpp>
#include <sla/grad.hpp>
#include <sla/solve.hpp>
#include <sla/tensor/problems/random_problems.hpp>

#include "catch.hpp"
#include "suites/partition.hpp"
#include "suites/spread.hpp"

namespace test_solve_entries {

using namespace sla;
using Line = mesh<axis<"line">>;
template <int Rows>
using Grid = mesh<axis<"pr", Rows>, axis<"pc">>;
using G = SparseShard<0, Ceil>;
using H = SparseShard<1, Balanced>;

namespace {
gmres const method{.rtol = 1e-12};

/// Errors of solves with D against x with A x, A^T x, A^H x, conj(A) x = b.
template <class D, class X>
auto errors_of(D const& d, X const& b, std::array<X, 4> const& x) {
  auto const db = distribute(b, d.row_layout());
  auto const cb = distribute(b, d.col_layout());
  auto const [found, report] = try_solve(d, db, method, ilu0{});
  static_assert(std::same_as<decltype(found.layout()), decltype(d.col_layout())>);
  auto s = prepare(d, method, jacobi{});
  std::array<double, 8> errors{norm(gather(found) - x[0]),
                               norm(gather(s.solve(db)) - x[0]),
                               norm(gather(solve(transpose(d), cb, method, jacobi{})) - x[1]),
                               norm(gather(solve(adjoint(d), cb, method, jacobi{})) - x[2]),
                               norm(gather(solve(conj(d), db, method, jacobi{})) - x[3]),
                               norm(gather(s.solve_transpose(cb)) - x[1]),
                               report.residual() <= 1e-12 ? 0.0 : 1.0,
                               double(try_solve(d, db, method, ilu0{}, initial_guess(found)).report.iterations())};
  if constexpr (detail::is_grid<placements_of_t<D>>) {
    s.update(2.0 * d);
    errors[1] += norm(gather(s.solve(db)) - 0.5 * x[0]);
  }
  return errors;
}
template <class T>
void check(sparse_tensor<T> const& A) {
  auto const b = random<T>({A.rows()}, 1);
  std::array const x{solve(A, b, method, ilu0{}), solve(transpose(A), b, method, ilu0{}), solve(adjoint(A), b, method, ilu0{}), solve(conj(A), b, method, ilu0{})};
  auto const errors = [&](auto const& d) { return errors_of(d, b, x); };
  for (int ranks : {1, 2, 3, 4, 8}) {
    CHECK(suite::largest_error(ranks, [&](auto& world) {
            Line m(world);
            return errors(distribute<SparseShard<1>>(A, m, suite::scattered_owners(A.cols(), ranks)));
          }) < 1e-9);
    CHECK(suite::largest_error(ranks, [&](auto& world) {
            Line m(world);
            return errors(distribute<Hyper<>>(A, m, strips{}));
          }) < 1e-9);
  }
  for (int columns : {1, 2, 4}) {
    CHECK(suite::largest_error(2 * columns, [&](auto& world) {
            Grid<2> m(world);
            return errors(distribute<G, H>(A, m));
          }) < 1e-9);
    if (columns < 4)
      CHECK(suite::largest_error(columns, [&](auto& world) {
              Grid<1> m(world);
              return errors(distribute<G, H>(A, m));
            }) < 1e-9);
  }
  CHECK(suite::largest_error(6, [&](auto& world) { // the columns on the first axis
          Grid<2> m(world);
          return errors(distribute<H, G>(A, m));
        }) < 1e-9);
}
}  // namespace

TEST_CASE("solves with entries, columns and rectangles are those of one rank, transposed too") {
  check(problems::convection_diffusion<double>({9, 7}, {5.0, -2.0}));
}

TEST_CASE("complex systems, several right-hand sides, and more ranks than rows") {
  using Z = std::complex<double>;
  auto Z0 = cast<Z>(problems::convection_diffusion<double>({4, 3}, {5.0, -2.0}));
  for (index_t n = 0; n < Z0.values().size(); ++n) Z0.values()[n] *= Z(1.0, 0.1 * double(n % 3));
  auto const A = problems::poisson<double>({2, 2});
  auto const B = random<double, Extents<dyn, dyn>>({4, 2}, 1);
  auto const X = solve(A, B, method, ilu0{});
  CHECK(suite::largest_error(8, [&](auto& world) {
          Grid<2> m(world);
          auto const D = distribute<G, H>(A, m);
          return std::array<double, 1>{norm(gather(solve(D, distribute(B, D.row_layout()), cg{.rtol = 1e-12}, jacobi{})) - X)};
        }) < 1e-10);
  CHECK(suite::largest_error(6, [&](auto& world) {
          Line m(world);
          auto const D = distribute<SparseShard<1>>(A, m);
          return std::array<double, 1>{norm(gather(solve(D, distribute(B, D.row_layout()), cg{.rtol = 1e-12}, jacobi{})) - X)};
        }) < 1e-10);
  auto const b = random<Z>({12}, 3);
  std::array const x{solve(Z0, b, method, ilu0{}), solve(transpose(Z0), b, method, ilu0{}), solve(adjoint(Z0), b, method, ilu0{}), solve(conj(Z0), b, method, ilu0{})};
  CHECK(suite::largest_error(4, [&](auto& world) {
          Grid<2> m(world);
          return errors_of(distribute<G, H>(Z0, m), b, x);
        }) < 1e-9);
}

TEST_CASE("gradients of solves with entries, columns and rectangles are those of one rank") {
  auto const A = problems::convection_diffusion<double>({5, 4}, {5.0, -2.0});
  auto const b = random<double>({20}, 1);
  auto const misfit = [](auto const& a, auto const& v) { return squared_norm(solve(a, v, method, jacobi{})); };
  auto const [value, gA, gb] = value_and_gradient(misfit, A, b);
  auto const turned = [](auto const& a, auto const& v) { return squared_norm(solve(transpose(a), v, method, jacobi{})); };
  auto const [value2, hA, hb] = value_and_gradient(turned, A, b);
  auto const errors = [&, &value = value, &gA = gA, &gb = gb, &value2 = value2, &hA = hA, &hb = hb](auto const& d, auto const& of, auto const& of_turned) {
    auto const [v, ga, gv] = value_and_gradient([&](auto const& a, auto const& x) { return of(misfit(a, x)); }, d, distribute(b, d.row_layout()));
    auto const [v2, ha, hv] = value_and_gradient([&](auto const& a, auto const& x) { return of_turned(turned(a, x)); }, d, distribute(b, d.col_layout()));
    return std::array<double, 6>{std::abs(v - value), norm(gather(ga) - gA), norm(gather(gv) - gb), std::abs(v2 - value2), norm(gather(ha) - hA), norm(gather(hv) - hb)};
  };
  auto const itself = [](auto const& loss) { return loss; };
  CHECK(suite::largest_error(3, [&](auto& world) {
          Line m(world);
          return errors(distribute<SparseShard<1>>(A, m, suite::scattered_owners(20, 3)), itself, itself);
        }) < 1e-9 * value);
  CHECK(suite::largest_error(4, [&](auto& world) {
          Line m(world);
          return errors(distribute<Hyper<>>(A, m, strips{}), itself, itself);
        }) < 1e-9 * value);
  CHECK(suite::largest_error(4, [&](auto& world) { // x is copied along the rows' axis, that of the transpose along the columns'
          Grid<2> m(world);
          return errors(distribute<G, H>(A, m), [](auto const& loss) { return convert<"pr", Partial<>>(loss); }, [](auto const& loss) { return convert<"pc", Partial<>>(loss); });
        }) < 1e-9 * value);
}

TEST_CASE("diagonals, sums, norms, scaling, transposes and gathering of rectangles and of entries") {
  auto const A = problems::random_sparse<double>(23, 23, 4, 3);
  auto const d = random<double>({23}, 4);
  auto const rows = scale_rows(A, d), cols = scale_cols(A, d), turned = transposed(A);
  auto const check = [&](auto const& D) {
    auto const of_rows = scale_rows(D, distribute(d, D.row_layout()));
    auto const of_cols = scale_cols(D, distribute(d, D.col_layout()));
    return std::array<double, 10>{norm(gather(D) - A),           norm(gather(diagonal_of(D)) - diagonal_of(A)), std::abs(sum(D) - sum(A)),           std::abs(norm(D) - norm(A)),
                                  std::abs(norm1(D) - norm1(A)), std::abs(norm_inf(D) - norm_inf(A)),           norm(gather(of_rows) - rows),        norm(gather(of_cols) - cols),
                                  norm(gather(transposed(D)) - turned), norm(gather(diagonal_of(transposed(D))) - diagonal_of(A))};
  };
  for (int columns : {1, 2, 4})
    CHECK(suite::largest_error(2 * columns, [&](auto& world) {
            Grid<2> m(world);
            return check(distribute<G, H>(A, m));
          }) < 1e-12);
  CHECK(suite::largest_error(3, [&](auto& world) {
          Line m(world);
          return check(distribute<Hyper<>>(A, m, strips{}));
        }) < 1e-12);
}

TEST_CASE("sums and products of rectangles are those of one rank, whatever families cut the sides that meet") {
  auto const A = problems::random_sparse<double>(23, 17, 4, 3), B = problems::random_sparse<double>(17, 9, 3, 4), C = problems::random_sparse<double>(23, 17, 2, 5);
  for (int columns : {1, 2, 3, 4})
    CHECK(suite::largest_error(2 * columns, [&](auto& world) {
            Grid<2> m(world);
            auto const D = distribute<G, H>(A, m);
            auto const E = distribute<SparseShard<0, Balanced>, SparseShard<1, Ceil>>(B, m);
            auto const P = D * E;
            static_assert(has_placements<std::remove_const_t<decltype(P)>, G, SparseShard<1, Ceil>>);
            auto const x = random<double>({9}, 6);
            return std::array<double, 4>{norm(gather(P) - A * B), norm(gather(D + distribute<G, H>(C, m)) - (A + C)), norm(gather(D - distribute<G, H>(C, m)) - (A - C)),
                                         norm(gather(eval(P * distribute(x, P.col_layout()))) - vector<double>(A * (B * x))) +
                                             norm(gather(distribute<G, H>(from_triplets<double>(5, 0, {}, {}, {}), m) * distribute<G, H>(from_triplets<double>(0, 4, {}, {}, {}), m)))};
          }) < 1e-12);
  for (auto const& words : suite::words_of(2, [&](auto& world) {
         Grid<2> m(world);
         (void)(distribute<G, H>(A, m) * distribute<G, H>(C, m));
       }))
    CHECK_THAT(words, Catch::Matchers::ContainsSubstring("D * E: the columns of D and the rows of E are 17 and 23"));
}

namespace {
template <class T, class U>
void check_algebra_gradient() {
  using Wide = SparseShard<1, Ceil>;
  auto const drawn = [](auto const& P, auto one, int seed) { return with_values(cast<decltype(one)>(P), random<decltype(one)>(P.nnz(), std::uint64_t(seed))); };
  auto const A = drawn(problems::random_sparse<double>(23, 17, 4, 3), T(1), 1), dA = drawn(A, T(1), 2);
  auto const B = drawn(problems::random_sparse<double>(17, 9, 3, 4), U(1), 3), dB = drawn(B, U(1), 4);
  auto const C = drawn(problems::random_sparse<double>(23, 9, 3, 5), T(1), 5), dC = drawn(C, T(1), 6);
  auto const f = [](auto const& a, auto const& b, auto const& c) { return norm(2.0 * (a * b) - c) * norm(c + c); };
  auto const [value, gA, gB, gC] = value_and_gradient(f, A, B, C);
  auto const slope = std::get<1>(jvp(f, std::tie(A, B, C), std::tie(dA, dB, dC)));
  auto const of_left = std::get<1>(value_and_gradient([&](auto const& a) { return norm(a * B); }, A));
  for (int columns : {1, 2, 3, 4})
    CHECK(suite::largest_error(2 * columns, [&, value = value, &gA = gA, &gB = gB, &gC = gC](auto& world) {
            Grid<2> m(world);
            auto const D = distribute<G, H>(A, m), dD = distribute<G, H>(dA, m);
            auto const E = distribute<SparseShard<0, Balanced>, Wide>(B, m), dE = distribute<SparseShard<0, Balanced>, Wide>(dB, m);
            auto const F = distribute<G, Wide>(C, m), dF = distribute<G, Wide>(dC, m);
            auto const [total, hA, hB, hC] = value_and_gradient(f, D, E, F);
            auto const [again, here] = jvp(f, std::tuple(D, E, F), std::tuple(dD, dE, dF));
            auto const left = std::get<1>(value_and_gradient([&](auto const& d) { return norm(d * E); }, D));
            return std::array<double, 6>{std::abs(total - value) / value, norm(gather(hA) - gA), norm(gather(hB) - gB), norm(gather(hC) - gC), std::abs(double(gather(here)) - slope) / value,
                                         norm(gather(left) - of_left)};
          }) < 1e-11);
}
} // namespace

TEST_CASE("gradients of sums and products of rectangles are those of one rank") {
  check_algebra_gradient<double, double>();
  check_algebra_gradient<std::complex<double>, std::complex<double>>();
  check_algebra_gradient<std::complex<double>, double>();
  auto const A = problems::random_dominant<double>(13, 3, 1);
  auto const [value, gA] = value_and_gradient([](auto const& a) { return squared_norm(diagonal_of(a)); }, A);
  for (int columns : {1, 2, 3})
    CHECK(suite::largest_error(2 * columns, [&, value = value, &gA = gA](auto& world) {
            Grid<2> m(world);
            auto const [total, hA] = value_and_gradient([](auto const& a) { return convert<"pc", Partial<>>(squared_norm(diagonal_of(a))); }, distribute<G, H>(A, m));
            return std::array<double, 2>{std::abs(total - value) / value, norm(gather(hA) - gA)};
          }) < 1e-11);
}

TEST_CASE("rectangles are assembled from triplets of all ranks with the bits of one rank, and again with other values") {
  index_t const n = 17, k = 13;
  std::vector<suite::random_triplets<double>> given;
  suite::random_triplets<double> all(n, k, 0, 1);
  for (int r = 0; r < 6; ++r) {
    given.emplace_back(n, k, 40, unsigned(r));
    all.row.insert(all.row.end(), given.back().row.begin(), given.back().row.end());
    all.col.insert(all.col.end(), given.back().col.begin(), given.back().col.end());
    all.value.insert(all.value.end(), given.back().value.begin(), given.back().value.end());
  }
  auto const A = from_triplets<double>(n, k, all.row, all.col, all.value);
  auto const errors = [&](auto const& plan, auto const& d, auto const& mine) {
    auto again = plan(mine.value);
    double const same = norm(gather(again) - A);
    std::vector<double> twice = mine.value;
    for (double& v : twice) v *= 2.0;
    plan.update(again, twice);
    auto const whole = gather(d);
    return std::array<double, 4>{same, norm(gather(again) - 2.0 * A), std::equal(whole.values().begin(), whole.values().end(), A.values().begin()) ? 0.0 : 1.0,
                                 double(whole.nnz() - A.nnz())};
  };
  CHECK(suite::largest_error(6, [&](auto& world) {
          Grid<2> m(world);
          auto const& t = given[std::size_t(world.rank())];
          return errors(plan_assembly<G, H>(m, n, k, t.row, t.col), assemble<G, H>(m, n, k, t.row, t.col, t.value), t);
        }) == 0.0);
  CHECK(suite::largest_error(6, [&](auto& world) {
          Grid<2> m(world);
          auto const& t = given[std::size_t(world.rank())];
          return errors(plan_assembly<H, G>(m, n, k, t.row, t.col), assemble<H, G>(m, n, k, t.row, t.col, t.value), t);
        }) == 0.0);
  for (auto const& words : suite::words_of(2, [&](auto& world) {
         Grid<2> m(world);
         std::vector<index_t> const one{world.rank() == 1 ? 3 : 0};
         (void)assemble<G, H>(m, 3, 3, one, one, std::vector<double>{1.0});
       }))
    CHECK_THAT(words, Catch::Matchers::ContainsSubstring("assemble on rank 1: triplet 0: row 3 of a 3 x 3 matrix"));
}
} // namespace test_solve_entries

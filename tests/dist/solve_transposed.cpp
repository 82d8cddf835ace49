// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Solves with transpose(D) and adjoint(D) on thread ranks, against what one rank's prepared matrix makes of them: solutions,
// gradients to b and to the values of D, and tangents.
#include <complex>

#include <sla/dist.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"
#include "suites/partition.hpp"
#include "suites/spread.hpp"

namespace test_solve_transposed {

using namespace sla;

namespace {
using Rows = mesh<axis<"rows">>;
bicgstab const method{.rtol = 1e-13};

template <bool Conj, class A, class B>
auto turned_here(A const& a, B const& b) {
  auto const s = prepare(a, method, jacobi{});
  if constexpr (Conj)
    return s.solve_adjoint(b);
  else
    return s.solve_transpose(b);
}
template <bool Conj, class A, class B>
auto turned_there(A const& a, B const& b) {
  if constexpr (Conj)
    return solve(adjoint(a), b, method, jacobi{});
  else
    return solve(transpose(a), b, method, jacobi{});
}

/// The largest differences to one rank, on all ranks.
template <bool Conj, class T>
double largest_difference(int ranks, sparse_tensor<T> const& A, vector<T> const& b) {
  auto const one = [](auto const& a, auto const& v) { return squared_norm(turned_here<Conj>(a, v)); };
  auto [value, gA, gb] = value_and_gradient(one, A, b);
  double const slope = std::get<1>(jvp(one, std::tie(A, b), std::tie(gA, gb)));
  vector<T> const x = turned_here<Conj>(A, b), probe = random<T>({A.cols()}, 9), applied = gA * probe;
  double const expected = value, size = norm(x), of_b = norm(gb), of_A = norm(applied);
  return suite::largest_error(ranks, [&, &gA = gA, &gb = gb](auto& world) {
    Rows m(world);
    auto const owners = suite::owners_for(A, ranks, ranks % 2 == 0);
    auto const D = distribute<SparseShard<0>>(A, m, owners);
    auto const db = distribute(b, D.row_layout());
    auto const y = turned_there<Conj>(D, db);
    static_assert(std::same_as<placements_of_t<decltype(y)>, placements_of_t<decltype(db)>>);
    auto const many = [](auto const& a, auto const& v) { return squared_norm(turned_there<Conj>(a, v)); };
    auto const [total, dA, g] = value_and_gradient(many, D, db);
    auto const only_b = std::get<1>(value_and_gradient([&](auto const& v) { return many(D, v); }, db));
    auto const only_A = std::get<1>(value_and_gradient([&](auto const& a) { return many(a, db); }, D));
    auto const by_prepared = std::get<1>(value_and_gradient([&](auto const& v) { return squared_norm(turned_here<Conj>(D, v)); }, db));
    auto const along =
        std::get<1>(jvp(many, std::tie(D, db), std::tuple(distribute<SparseShard<0>>(gA, m, owners), distribute(gb, D.row_layout()))));
    auto const at_probe = [&](auto const& d) { return double(norm(gather(eval(d * distribute(probe, D.col_layout()))) - applied)) / of_A; };
    auto const to_b = [&](auto const& d) { return double(norm(gather(d) - gb)) / of_b; };
    return std::array<double, 8>{double(norm(gather(y) - x)) / size, std::abs(total - expected) / expected, to_b(g), to_b(only_b), to_b(by_prepared),
                                 at_probe(dA), at_probe(only_A), std::abs(all_reduce<"rows">(along).value() - slope) / (1 + std::abs(slope))};
  });
}

template <class T>
void check(sparse_tensor<T> const& A) {
  auto const b = random<T>({A.rows()}, 2);
  for (int ranks : {1, 2, 3, 4}) {
    CHECK(largest_difference<false>(ranks, A, b) <= 1e-9);
    CHECK(largest_difference<true>(ranks, A, b) <= 1e-9);
  }
}
} // namespace

TEST_CASE("a transposed matrix is solved with, and differentiated, as one rank does") {
  auto const A = problems::convection_diffusion<double>({7, 6}, {20.0, 5.0});
  check(A);
  using Z = std::complex<double>;
  sparse_tensor<Z> C(A.shape(), A.shared_pattern());
  for (index_t s = 0; s < A.nnz(); ++s) C.values()[s] = A.values()[s] * Z(1, 0.2 * double(s % 3));
  check(C);
}

TEST_CASE("a conjugated matrix is solved with, and differentiated, as the conjugated system") {
  using Z = std::complex<double>;
  auto const R = problems::convection_diffusion<double>({7, 6}, {20.0, 5.0});
  sparse_tensor<Z> A(R.shape(), R.shared_pattern());
  for (index_t s = 0; s < A.nnz(); ++s) A.values()[s] = R.values()[s] * Z(1, 0.2 * double(s % 3));
  auto const b = random<Z>({A.rows()}, 2);
  vector<Z> const x = conj(solve(A, vector<Z>(conj(b)), method, jacobi{}));
  CHECK(suite::largest_error(3, [&](auto& world) {
          Rows m(world);
          auto const D = distribute<SparseShard<0>>(A, m, suite::owners_for(A, 3, true));
          auto const db = distribute(b, D.row_layout());
          auto const y = solve(conj(D), db, method, jacobi{});
          auto const [value, dA, g] =
              value_and_gradient([](auto const& a, auto const& v) { return squared_norm(solve(conj(a), v, method, jacobi{})); }, D, db);
          auto const [same, eA, h] =
              value_and_gradient([](auto const& a, auto const& v) { return squared_norm(solve(a, eval(conj(v)), method, jacobi{})); }, D, db);
          auto const only_b = std::get<1>(value_and_gradient([&](auto const& v) { return squared_norm(solve(conj(D), v, method, jacobi{})); }, db));
          return std::array<double, 5>{double(norm(gather(y) - x)), std::abs(value - same), double(norm(gather(eval(g - h)))),
                                       double(norm(gather(eval(only_b - h)))), double(norm(values(dA.local()) - values(eA.local())))};
        }) <= 1e-9);
}

TEST_CASE("a matrix that was transposed twice is itself, and reports come back") {
  auto const A = problems::convection_diffusion<double>({7, 6}, {20.0, 5.0});
  auto const b = random<double>({A.rows()}, 2);
  for (double const error : threads::run(3, [&](auto& world) {
         Rows m(world);
         auto const D = distribute<SparseShard<0>>(A, m);
         auto const Dt = transpose(D);
         auto const db = distribute(b, D.row_layout());
         auto const [x, report] = try_solve(transpose(Dt), db, method, jacobi{});
         return report.converged() ? double(norm(gather(eval(D * x - db)))) : 1.0;
       }))
    CHECK(error <= 1e-10);
}
} // namespace test_solve_transposed

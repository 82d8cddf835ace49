// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gradients and tangents through scaled and transposed distributed matrices, against one rank.
#include <complex>

#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/grad/check_on_ranks.hpp>
#include <sla/dist/grad/value_and_gradient.hpp>
#include <sla/dist/matrix/algebra_gradient.hpp>
#include <sla/dist/matrix/matrix_gradient.hpp>
#include <sla/dist/engine/threads.hpp>
#include <sla/grad/operation/traced_entries.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"
#include "suites/partition.hpp"

using namespace sla;

namespace gradient_matrix {
namespace {
using Rows = mesh<axis<"rows">>;
using complex_t = std::complex<double>;

template <class D>
auto scaled(D const& a, auto const& r, auto const& c) {
  return scale_cols(scale_rows(a, r), c);
}
template <class X, class Y>
double apart(X const& x, Y const& y) {
  return double(norm_inf(x - y));
}

template <class T>
void check_scaling(int ranks, bool scattered) {
  auto const real = problems::convection_diffusion<double>({7, 6}, {3.0, 1.0});
  auto A = cast<T>(real);
  if constexpr (is_complex<T>) A = with_values(A, T(1, 0.5) * values(A));
  auto const x = random<T>(42, 1), b = random<T>(42, 2), probe = random<T>(42, 3), r = random<T>(42, 4);
  auto const c = random<double>(42, 5);  // of a complex matrix too
  auto const dA = with_values(A, random<T>(A.nnz(), 6));
  auto const dr = random<T>(42, 7);
  auto const dc = random<double>(42, 8);
  auto const f = [&](auto const& a, auto const& u, auto const& v) { return squared_norm(scaled(a, u, v) * x - b); };
  auto const [value, gA, gr, gc] = value_and_gradient(f, A, r, c);
  auto const [again, slope] = jvp(f, std::tie(A, r, c), std::tie(dA, dr, dc));
  sla::vector<T> const expected = gA * probe;
  auto const errors = threads::run(ranks, [&, value = value, slope = slope, &gr = gr, &gc = gc](auto& world) {
    Rows m(world);
    auto const owners = suite::owners_for(A, ranks, scattered);
    auto const D = distribute<SparseShard<0>>(A, m, owners);
    auto const dD = distribute<SparseShard<0>>(dA, m, owners);
    auto const rows = [&](auto const& v) { return distribute(v, D.row_layout()); };
    auto const X = rows(x), B = rows(b);
    auto const g = [&](auto const& a, auto const& u, auto const& v) { return squared_norm(scaled(a, u, v) * X - B); };
    auto const [by_rows, hA, hr, hc] = value_and_gradient(g, D, rows(r), rows(c));
    static_assert(has_placements<decltype(hA), SparseShard<0>> && has_placements<decltype(hc), Shard<0, Part<>>>);
    auto const whole = distribute<Replicate>(c, m);
    auto const [with_whole, kA, kr, kc] = value_and_gradient(g, D, rows(r), whole);
    static_assert(has_placements<decltype(kc), Partial<>>);
    auto const [y, dy] = jvp(g, std::tuple(D, rows(r), rows(c)), std::tuple(dD, rows(dr), rows(dc)));

    auto const C = distribute<SparseShard<1>>(A, m, owners);
    auto const cols = [&](auto const& v) { return distribute(v, C.col_layout()); };
    auto const XC = cols(x), BC = distribute(b, C.row_layout());
    auto const [by_columns, lA, lr, lc] = value_and_gradient(
        [&](auto const& a, auto const& u, auto const& v) { return squared_norm(reduce_scatter<"rows", Shard<0, Part<>>>(scaled(a, u, v) * XC) - BC); }, C,
        distribute<Replicate>(r, m), cols(c));
    static_assert(has_placements<decltype(lA), SparseShard<1>> && has_placements<decltype(lr), Partial<>>);
    return std::array<double, 14>{std::abs(by_rows - value), std::abs(with_whole - value), std::abs(by_columns - value),
                                  apart(gather(hr), gr), apart(gather(hc), gc), apart(gather(hA * rows(probe)), expected),
                                  apart(gather(kr), gr), apart(gather(kc), gc), apart(gather(kA * rows(probe)), expected),
                                  apart(gather(lr), gr), apart(gather(lc), gc), apart(gather(reduce_scatter<"rows", Shard<0, Part<>>>(lA * cols(probe))), expected),
                                  std::abs(gather(y) - value), std::abs(gather(dy) - slope)};
  });
  for (auto const& rank : errors)
    for (double e : rank) CHECK(e <= 1e-11 * (1 + std::abs(value)));
}

template <class T>
void check_transposes(int ranks, bool scattered) {
  auto A = cast<T>(problems::convection_diffusion<double>({7, 6}, {3.0, 1.0}));
  if constexpr (is_complex<T>) A = with_values(A, T(1, 0.5) * values(A));
  auto const x = random<T>(42, 1), b = random<T>(42, 2), probe = random<T>(42, 3);
  auto const dA = with_values(A, random<T>(A.nnz(), 6));
  auto const f = [&](auto const& a) { return squared_norm(eval(transpose(a)) * x + eval(adjoint(a)) * b); };
  auto const [value, gA] = value_and_gradient(f, A);
  auto const [again, slope] = jvp(f, std::tie(A), std::tie(dA));
  sla::vector<T> const expected = gA * probe;
  auto const errors = threads::run(ranks, [&, value = value, slope = slope](auto& world) {
    Rows m(world);
    auto const owners = suite::owners_for(A, ranks, scattered);
    auto const D = distribute<SparseShard<0>>(A, m, owners);
    auto const rows = [&](auto const& v) { return distribute(v, D.row_layout()); };
    auto const X = rows(x), B = rows(b);
    auto const g = [&](auto const& a) { return squared_norm(transposed(a) * X + adjointed(a) * B); };
    auto const [total, hA] = value_and_gradient(g, D);
    static_assert(has_placements<decltype(hA), SparseShard<0>>);
    auto const [y, dy] = jvp(g, std::tuple(D), std::tuple(distribute<SparseShard<0>>(dA, m, owners)));
    return std::array<double, 4>{std::abs(total - value), apart(gather(hA * rows(probe)), expected), std::abs(gather(y) - value), std::abs(gather(dy) - slope)};
  });
  for (auto const& rank : errors)
    for (double e : rank) CHECK(e <= 1e-11 * (1 + std::abs(value)));
}
}  // namespace

TEST_CASE("gradients through scaled rows and columns of a distributed matrix are those of one rank") {
  check_scaling<double>(1, false);
  check_scaling<double>(3, false);
  check_scaling<complex_t>(4, true);
}

TEST_CASE("gradients through stored transposes of a distributed matrix are those of one rank") {
  check_transposes<double>(1, false);
  check_transposes<double>(3, false);
  check_transposes<complex_t>(4, true);
}

TEST_CASE("gradients through the stored transpose of a rectangular matrix") {
  auto const A = cols(rows(problems::poisson<double>({7, 6}), 0, 30), 5, 42);
  auto const x = random<double>(30, 1), probe = random<double>(37, 3);
  auto const [value, gA] = value_and_gradient([&](auto const& a) { return squared_norm(eval(transpose(a)) * x); }, A);
  sla::vector<double> const expected = gA * probe;
  auto const errors = threads::run(3, [&, value = value](auto& world) {
    Rows m(world);
    auto const D = distribute<SparseShard<0>>(A, m);
    auto const X = distribute(x, D.row_layout());
    auto const [total, hA] = value_and_gradient([&](auto const& a) { return squared_norm(transposed(a) * X); }, D);
    return std::array<double, 2>{std::abs(total - value), apart(gather(hA * distribute(probe, D.col_layout())), expected)};
  });
  for (auto const& rank : errors)
    for (double e : rank) CHECK(e <= 1e-11 * (1 + std::abs(value)));
}

TEST_CASE("gradients through diagonals and diagonal matrices on ranks are those of one rank") {
  auto const A = problems::convection_diffusion<double>({6, 4}, {3.0, 1.0});
  auto const v = random<double>(24, 1), x = random<double>(24, 2);
  auto const of_diagonal = [](auto const& a, auto const& u) { return dot(u, diagonal_of(a) * diagonal_of(a)); };
  auto const of_matrix = [](auto const& u, auto const& y) { return squared_norm(diagonal(u) * y); };
  auto const [value, gA, gv] = value_and_gradient(of_diagonal, A, v);
  auto const [value2, gu] = value_and_gradient([&](auto const& u) { return of_matrix(u, x); }, v);
  auto const check = [&, &gA = gA, &gv = gv](auto const& D) {
    auto const [total, hA, hv] = value_and_gradient(of_diagonal, D, distribute(v, D.row_layout()));
    auto const [same, slope] = jvp(of_diagonal, std::tuple(D, distribute(v, D.row_layout())), std::tuple(D, distribute(v, D.row_layout())));
    (void)total, (void)same;
    return std::array<double, 3>{norm(gather(hA) - gA), apart(gather(hv), gv), std::abs(gather(slope) - (double(dot(gA.values(), A.values())) + double(dot(gv, v))))};
  };
  for (int ranks : {1, 3})
    for (auto const& rank : threads::run(ranks, [&, &gu = gu](auto& world) {
           Rows m(world);
           auto const owners = suite::owners_for(A, ranks, true);
           auto const by_rows = check(distribute<SparseShard<0>>(A, m, owners)), by_columns = check(distribute<SparseShard<1>>(A, m, owners)), entry_by_entry = check(distribute<Hyper<>>(A, m, owners));
           auto const dv = distribute(v, distribute<SparseShard<0>>(A, m, owners).row_layout());
           auto const y = distribute(x, dv.layout());
           auto const hu = std::get<1>(value_and_gradient([&](auto const& u) { return of_matrix(u, y); }, dv));
           return std::array<double, 10>{by_rows[0], by_rows[1], by_rows[2], by_columns[0], by_columns[1], by_columns[2], entry_by_entry[0], entry_by_entry[1], entry_by_entry[2], apart(gather(hu), gu)};
         }))
      for (double e : rank) CHECK(e <= 1e-10 * (1 + std::abs(value) + std::abs(value2)));
}

TEST_CASE("gradients through sums and products of distributed matrices are those of one rank") {
  auto const A = problems::convection_diffusion<double>({6, 4}, {3.0, 1.0}), B = problems::poisson<double>({24});
  auto const x = random<double>(24, 1), probe = random<double>(24, 3);
  auto const f = [](auto const& a, auto const& b, auto const& u) { return squared_norm((a * b + 2.0 * a - b + masked(a, b) - multiply_elements(b, a)) * u); };
  auto const [value, gA, gB] = value_and_gradient([&](auto const& a, auto const& b) { return f(a, b, x); }, A, B);
  auto const dA = with_values(A, random<double>(A.nnz(), 6)), dB = with_values(B, random<double>(B.nnz(), 7));
  double const slope = std::get<1>(jvp([&](auto const& a, auto const& b) { return f(a, b, x); }, std::tie(A, B), std::tie(dA, dB)));
  sla::vector<double> const of_A = gA * probe, of_B = gB * probe;
  for (int ranks : {1, 3, 4}) {
    auto const errors = threads::run(ranks, [&, value = value](auto& world) {
      Rows m(world);
      auto const owners = suite::owners_for(A, ranks, ranks == 4);
      auto const D = distribute<SparseShard<0>>(A, m, owners), E = distribute<SparseShard<0>>(B, m, owners);
      auto const X = distribute(x, D.row_layout()), P = distribute(probe, D.row_layout());
      auto const g = [&](auto const& a, auto const& b) { return f(a, b, X); };
      auto const [total, hA, hB] = value_and_gradient(g, D, E);
      auto const [again, here] = jvp(g, std::tuple(D, E), std::tuple(distribute<SparseShard<0>>(dA, m, owners), distribute<SparseShard<0>>(dB, m, owners)));
      return std::array<double, 4>{std::abs(total - value), apart(gather(hA * P), of_A), apart(gather(hB * P), of_B),
                                   std::abs(gather(here) - slope)};
    });
    for (auto const& rank : errors)
      for (double e : rank) CHECK(e <= 1e-11 * (1 + std::abs(value)));
  }
}

namespace {
/// Value, cotangent and slope of f(D) against one rank's, and whether central differences agree.
template <class F, class A, class D, class V, class T>
std::array<double, 4> differences(F const& f, A const& gA, D const& d, D const& tangent, V value, T slope) {
  auto const [total, hA] = value_and_gradient(f, d);
  auto const [again, here] = jvp(f, std::tuple(d), std::tuple(tangent));
  static_assert(std::same_as<typename decltype(hA)::local_type, typename D::local_type>);
  bool agrees = true;
  if constexpr (has_directions<D>) agrees = check_gradient(f, std::tie(d), {.step = 1e-4, .out = nullptr}).passed;
  return {std::abs(total - value), double(norm(gather(hA) - gA)), std::abs(double(gather(here)) - slope), agrees ? 0.0 : 1.0};
}
template <class T, class F>
void check_norms(sparse_tensor<T> const& A, F const& f, bool kinked) {
  auto const [value, gA] = value_and_gradient(f, A);
  auto const dA = with_values(A, random<T>(A.nnz(), 6));
  double const slope = std::get<1>(jvp(f, std::tie(A), std::tie(dA)));
  for (int ranks : {1, 2, 3, 4, 8})
    for (bool scattered : {false, true})
      for (auto const& rank : threads::run(ranks, [&, value = value, &gA = gA](auto& world) {
             auto const owners = suite::owners_for(A, ranks, scattered);
             std::vector<double> out;
             auto const add = [&](auto const& d, auto const& tangent) {
               auto const errors = differences(f, gA, d, tangent, value, slope);
               out.insert(out.end(), errors.begin(), errors.end() - (kinked ? 1 : 0));
             };
             Rows m(world);
             add(distribute<SparseShard<0>>(A, m, owners), distribute<SparseShard<0>>(dA, m, owners));
             add(distribute<SparseShard<1>>(A, m, owners), distribute<SparseShard<1>>(dA, m, owners));
             add(distribute<Invariant>(A, m), distribute<Invariant>(dA, m));
             if (ranks % 4 == 0) {
               mesh<axis<"rows", 2>, axis<"columns">> grid(world);
               add(distribute<SparseShard<0, Balanced>, SparseShard<1, Balanced>>(A, grid), distribute<SparseShard<0, Balanced>, SparseShard<1, Balanced>>(dA, grid));
             }
             return out;
           }))
        for (double e : rank) {
          INFO(ranks << (scattered ? " scattered" : " strips"));
          CHECK(e <= 1e-11 * (1 + std::abs(value)));
        }
}
}  // namespace

TEST_CASE("gradients of sums and norms of distributed matrices are those of one rank") {
  auto const A = problems::convection_diffusion<double>({7, 6}, {3.0, 1.0});
  auto const f = [](auto const& a) { return norm(a) * norm_inf(a) + norm1(a) * sum(a); };
  check_norms(A, f, true);  // many rows and columns share the largest sums
  check_norms(with_values(A, random<double>(A.nnz(), 9)), f, false);
  using C = std::complex<double>;
  check_norms(with_values(cast<C>(A), random<C>(A.nnz(), 9)), [](auto const& a) { return norm(a) * norm_inf(a) + norm1(a); }, false);
  // Entry by entry; beside what is no matrix.
  auto const x = random<double>(42, 1);
  auto const g = [](auto const& a, auto const& u) { return squared_norm(a * u) / norm(a) + sum(a); };
  auto const [value, gA, gx] = value_and_gradient(g, A, x);
  auto const h = [](auto const& a) { return norm(a) * sum(a); };
  auto const [of_entries, hA] = value_and_gradient(h, A);
  for (int ranks : {1, 3, 4})
    for (auto const& rank : threads::run(ranks, [&, value = value, of_entries = of_entries, &gA = gA, &gx = gx, &hA = hA](auto& world) {
           Rows m(world);
           auto const D = distribute<SparseShard<0>>(A, m, strips{});
           auto const on_ranks = [](auto const& a, auto const& u) { return squared_norm(a * u) / convert<"rows", Replicate>(norm(a)) + convert<"rows", Partial<>>(convert<"rows", Replicate>(sum(a))); };
           auto const [here, dD, dx] = value_and_gradient(on_ranks, D, distribute(x, D.row_layout()));
           auto const [by_entries, dE] = value_and_gradient(h, distribute<Hyper<>>(A, m, strips{}));
           return std::array<double, 5>{std::abs(here - value), norm(gather(dD) - gA), apart(gather(dx), gx), std::abs(by_entries - of_entries), norm(gather(dE) - hA)};
         }))
      for (double e : rank) CHECK(e <= 1e-11 * (1 + std::abs(value) + std::abs(of_entries)));
}
}  // namespace gradient_matrix

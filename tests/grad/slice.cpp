// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parts of traced sparse tensors, and traced sparse tensors put together: <C, W> = <A, g> by reverse mode, forward mode and vjp, and central differences.
#include <sla/expr/sparse/views.hpp>
#include <sla/grad/operation/traced_cat.hpp>
#include <sla/grad/call/check_gradient.hpp>
#include <sla/grad/call/gradient.hpp>
#include <sla/grad/call/jvp.hpp>
#include <sla/grad/operation/traced_slice.hpp>

#include "catch.hpp"
#include "suites/gradient.hpp"
#include "tensor/oracle.hpp"

using namespace sla;
using complex_t = std::complex<double>;
using gradient::direction, gradient::pairing;

namespace {
/// C = part(A), linear in A.
template <class A, class F>
void check_part(A const& a, F const& part) {
  auto const C = part(a);
  auto const W = direction(C, 5);
  auto const dA = direction(a, 6);
  vector<typename A::value_type> const w = values(W);
  auto const f = [&](auto const& b) { return real(dot(w, values(part(b)))); };
  auto const [value, g] = value_and_gradient(f, a);
  CHECK(value == Approx(pairing(C, W)).epsilon(1e-12));
  CHECK(g.shared_pattern() == a.shared_pattern());
  CHECK(pairing(part(dA), W) == Approx(pairing(dA, g)).epsilon(1e-12));
  CHECK(gradient::difference_error(f, a, g, dA, 0.1) < 1e-10);
  auto const [again, dC] = jvp(part, std::tie(a), std::tie(dA));
  CHECK(double(norm(values(again) - values(C))) == 0);
  CHECK(pairing(dC, W) == Approx(pairing(dA, g)).epsilon(1e-12));
}
}  // namespace

TEST_CASE("rows, columns, and permutations of a selection in which some stand twice") {
  auto const A = random_triplets(9, 8, 50, 1).build();
  std::vector<index_t> const r{8, 0, 3, 3, 5}, c{6, 1, 1, 4, 0, 7}, p{3, 0, 4, 1, 2};
  check_part(A, [&](auto const& a) { return cols(rows(permuted_rows(select(a, r, c), p), 1, 5), 0, 4); });
}

TEST_CASE("items of a batch of complex blocks") {
  auto Z = cast<complex_t>(to_batch(to_blocks<2, 3>(random_triplets(12, 12, 60, 5).build()), 3));
  Z = with_values(Z, values(Z) + complex_t(0.5, 1) * values(direction(Z, 1)));
  check_part(Z, [](auto const& a) { return batch_items(select_rows(a, {4, 1, 4}), 1, 3); });
}

TEST_CASE("parts of transposes and adjoints, and these put together") {
  auto const A = random_triplets(9, 8, 50, 1).build();
  check_part(A, [](auto const& a) { return rows(transpose(a), 2, 7); });
  check_part(A, [](auto const& a) { return cat_cols(rows(a, 0, 8), transpose(rows(a, 1, 9))); });
  check_part(A, [](auto const& a) { return cat_rows(transpose(a), cols(transpose(a), 0, 9)); });
  check_part(A, [](auto const& a) { return block_diagonal(transpose(a), eval(transpose(a))); });
  auto const Z = cast<complex_t>(to_batch(to_blocks<2, 3>(random_triplets(12, 12, 60, 5).build()), 3));
  check_part(with_values(Z, complex_t(0.5, 1) * values(direction(Z, 1))), [](auto const& a) { return batch_items(transpose(a), 1, 3); });
  check_part(cast<complex_t>(A), [](auto const& a) { return cat_batch(conj(a), conj(a)); });
}

TEST_CASE("traced tensors below, beside and diagonal to others, and to themselves") {
  auto const A = random_triplets(9, 8, 50, 1).build(), other = random_triplets(9, 8, 30, 2).build();
  auto const B = with_values(other, 0.0 * values(other));  // zeros, so that the whole is linear in A
  check_part(A, [&](auto const& a) { return cat_rows(a, B, a); });
  check_part(A, [&](auto const& a) { return cat_cols(B, a, a); });
  check_part(A, [&](auto const& a) { return block_diagonal(a, B, a); });
  check_part(A, [&](auto const& a) { return cat_cols(rows(a, 2, 7), rows(a, 1, 6)); });
  auto const Z = cast<complex_t>(to_batch(to_blocks<2, 3>(random_triplets(12, 12, 60, 5).build()), 3));
  check_part(with_values(Z, complex_t(0.5, 1) * values(direction(Z, 1))), [](auto const& a) { return cat_rows(a, a); });
  CHECK_THROWS_AS(value_and_gradient([&](auto const& a) { return sum(values(cat_cols(a, rows(a, 1, 4)))); }, A), shape_error);
}

TEST_CASE("traced tensors as a batch on the union of their patterns") {
  auto const A = random_triplets(9, 8, 50, 1).build(), other = random_triplets(9, 8, 30, 2).build();
  auto const B = with_values(other, 0.0 * values(other));
  check_part(A, [&](auto const& a) { return cat_batch(a, B, a); });
  check_part(A, [&](auto const& a) { return cat_batch(B, 2.0 * a); });
  check_part(A, [&](auto const& a) { return cat_batch(a, A - A, a); });  // one pattern
  check_part(to<Coo<>>(A), [&](auto const& a) { return cat_batch(to<Coo<>>(B), a); });
  auto const Z = cast<complex_t>(to_batch(to_blocks<2, 3>(random_triplets(12, 12, 60, 5).build()), 3));
  auto const Y = cast<complex_t>(to_batch(to_blocks<2, 3>(random_triplets(12, 12, 40, 6).build()), 3));
  check_part(with_values(Z, complex_t(0.5, 1) * values(direction(Z, 1))), [&](auto const& z) { return cat_batch(with_values(Y, complex_t(0) * values(Y)), z); });
  auto const x = random<double, Extents<2, dyn>>({2, 8}, 3);
  auto const f = [&](auto const& a, auto const& b) { return squared_norm(cat_batch(a, b) * x); };
  auto const checked = check_gradient(f, std::tie(A, other), {.out = nullptr});
  INFO(checked);
  CHECK(checked.passed);
  CHECK(checked.outcome == gradient_outcome::right);
}

TEST_CASE("vjp of a selection without a tape") {
  auto const A = random_triplets(9, 8, 50, 1).build(), dA = direction(A, 6);
  index_choice<false> const r{2, 5}, c{0, 3, true, {6, 1, 1}};
  auto const W = direction(cols(rows(A, 2, 7), 0, 3), 2);
  CHECK_THROWS_AS(vjp(op::select{}, A, r, c, W), shape_error);
  auto const part = select_cols(rows(dA, 2, 7), {6, 1, 1}), G = direction(part, 3);
  CHECK(pairing(part, G) == Approx(pairing(dA, vjp(op::select{}, A, r, c, G))).epsilon(1e-12));
}

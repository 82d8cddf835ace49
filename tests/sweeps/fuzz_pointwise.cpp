// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The placement fuzz, entry-by-entry operations: every combination of placements on small meshes, values and gradients.
#include <sla/spmd/rule/table/make.hpp>
#include <sla/spmd/rule/table/pointwise.hpp>

#include "dense_kernels.hpp"

using namespace fuzz;

TEST_CASE("operations of one operand, entry by entry") {
  composition_state l;
  using namespace strategies;
  for (auto const& e : {shape{5, 4}, shape{6, 1}, shape{1, 2}}) {
    auto const x = values(e, 0);
    auto const d = dims_of(x);
    auto run = [&](char const* name, strategy const& s, auto f, checked_operand const& o) {
      on_all_meshes(l, name, s, unary(f), o);
    };
    run(
        "parabola", strategies::unary(d), [](auto v) { return v * v - v; }, x);
    run(
        "square", strategies::unary(d, behaviour::any, true), [](auto v) { return v * v; }, x);
    run(
        "copy", strategies::unary(d, behaviour::copy), [](auto v) { return v; }, x);
    run(
        "cube", strategies::unary(d, behaviour::rising, true), [](auto v) { return v * v * v; }, x);
    run(
        "falling cube", strategies::unary(d, behaviour::falling), [](auto v) { return -(v * v * v); }, x);
    run(
        "relu", strategies::unary(d, behaviour::rising), [](auto v) { return v < decltype(v)(0) ? decltype(v)(0) : v; },
        x);
    run(
        "exp", strategies::unary(d, behaviour::rising), [](auto v) { return sim::exp(v * decltype(v)(0.25)); }, x);
    run(
        "abs", strategies::unary(d, behaviour::any, true), [](auto v) { return sim::abs(v); }, x);
    run(
        "neg", strategies::neg(d), [](auto v) { return -v; }, x);
    run(
        "scale by 3", strategies::scale(d), [](auto v) { return decltype(v)(3) * v; }, x);
    run(
        "scale by -3", strategies::scale(d, -1), [](auto v) { return decltype(v)(-3) * v; }, x);
    run(
        "add 2", strategies::shift(d), [](auto v) { return v + decltype(v)(2); }, x);
    run(
        "2 minus", strategies::shift(d, -1), [](auto v) { return decltype(v)(2) - v; }, x);
    run(
        "ones like", strategies::like(d), [](auto v) { return decltype(v)(1); }, x);
    run(
        "fill in place", strategies::fill_in_place(d), [](auto v) { return decltype(v)(7); }, x);
    run(
        "zero in place", strategies::zero_in_place(d), [](auto v) { return decltype(v)(0); }, x);
  }
  l.finish();
}

TEST_CASE("operations of two operands, entry by entry") {
  composition_state l;
  using namespace strategies;
  struct {
    shape a, b;
  } const cases[] = {{{5, 4}, {5, 4}}, {{5, 4}, {4}}, {{5, 4}, {1, 4}}, {{2, 1}, {2, 1}}};
  for (auto const& [ea, eb] : cases) {
    auto const a = values(ea, 0), b = values(eb, 1), c = positive(eb, 1);
    auto const da = dims_of(a), db = dims_of(b);
    bool const same = ea == eb;
    auto run = [&](std::string name, strategy const& s, auto f, checked_operand const& second) {
      if (!same) name += " broadcast";
      on_all_meshes(l, name, s, binary(f), a, second);
    };
    run(
        "add", add(da, db), [](auto x, auto y) { return x + y; }, b);
    run(
        "sub", sub(da, db), [](auto x, auto y) { return x - y; }, b);
    run(
        "mul", mul(da, db), [](auto x, auto y) { return x * y; }, b);
    run(
        "div", div(da, db), [](auto x, auto y) { return x / y; }, c);
    run(
        "maximum", maximum(da, db), [](auto x, auto y) { return x < y ? y : x; }, b);
    run(
        "minimum", minimum(da, db), [](auto x, auto y) { return y < x ? y : x; }, b);
    run(
        "square of difference", pointwise(da, db), [](auto x, auto y) { return (x - y) * (x - y); }, b);
    run(
        "less", less(da, db), [](auto x, auto y) { return decltype(x)(x < y ? 1 : 0); }, b);
    if (same)
      run(
          "copy in place", copy_in_place(da, db), [](auto, auto y) { return y; }, b);
    auto const mask = conditions(eb);
    run(
        "masked zero", masked_fill(da, db, true),
        [](auto x, auto m) { return sim::plain(m) != 0 ? decltype(x)(0) : x; }, mask);
    run(
        "masked fill", masked_fill(da, db, false),
        [](auto x, auto m) { return sim::plain(m) != 0 ? decltype(x)(9) : x; }, mask);
  }
  l.finish();
}

TEST_CASE("operations of three operands, entry by entry") {
  composition_state l;
  using namespace strategies;
  auto const a = values({3, 5}, 0), b = values({3, 5}, 1), c = values({3, 5}, 2), number = values({}, 3);
  auto const d = dims_of(a);
  on_all_meshes(l, "where", where(d, d, d), ternary([](auto m, auto x, auto y) { return sim::plain(m) != 0 ? x : y; }),
                conditions({3, 5}), a, b);
  on_all_meshes(l, "multiply add", multiply_add(d, d, d), ternary([](auto z, auto x, auto y) { return z + x * y; }), a,
                b, c);
  on_all_meshes(l, "axpy", axpy(d), ternary([](auto t, auto x, auto y) { return t * x + y; }), number, a, b);
  on_all_meshes(l, "lerp", lerp(d, d, d), ternary([](auto x, auto y, auto w) { return x + w * (y - x); }), a, b, c);
  l.finish();
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ghosts and contributions to them in dense operations: what keeps the index keeps the halo consistent, what folds the
// index would count it twice; values and gradients over all placements.
#include <sla/spmd/rule/table/einsum.hpp>
#include <sla/spmd/rule/table/move.hpp>
#include <sla/spmd/rule/table/pointwise.hpp>
#include <sla/spmd/rule/table/folds.hpp>

#include "spmd/fuzz.hpp"

using namespace fuzz;

namespace {

rule_domain with_ghosts(rule_domain d, bool two_patterns) {
  d.families = {2};
  d.ghost_family = 2;
  d.w.halos = {{}, {{3}, {0, 1}, {1}}, {{2, 3}, {}, {0}}};
  for (auto& halo : d.w.halos)
    halo.resize(static_cast<std::size_t>(*std::max_element(d.w.ranks.begin(), d.w.ranks.end())));
  d.patterns = two_patterns ? std::vector<std::int16_t>{1, 2} : std::vector<std::int16_t>{1};
  return d;
}

template <class K, class... Operands>
void on_ghosts(composition_state& l, std::string const& name, strategy const& s, K const& kernel, Operands const&... operands) {
  for (int ranks : {2, 3}) {
    auto const d = with_ghosts(one_axis(ranks), sizeof...(Operands) > 1);
    l.check(name, d, s, kernel, operands...);
    auto const e = with_ghosts(two_axes(2, ranks), false);
    l.check(name + " on two axes", e, s, kernel, operands...);
  }
}

template <class F>
struct of_values {
  F f;
  template <class T>
  array<T> operator()(array<T> const& x) const {
    auto y = x;
    for (auto& v : y.values) v = f(v);
    return y;
  }
  template <class T>
  array<T> operator()(array<T> const& x, array<T> const& z) const {
    if (x.extents != z.extents) return sim::no_result<T>();
    auto y = x;
    for (int n = 0; n < y.size(); ++n) y[n] = f(x[n], z[n]);
    return y;
  }
};
template <class F>
of_values(F) -> of_values<F>;

} // namespace

TEST_CASE("ghosts in dense operations") {
  composition_state l;
  auto const x = values({5, 4}, 0), y = values({5, 4}, 1);
  auto const d = dims_of(x);
  on_ghosts(l, "square", strategies::unary(d, strategies::behaviour::any, true),
            of_values{[](auto v) { return v * v; }}, x);
  on_ghosts(l, "neg", strategies::neg(d), of_values{[](auto v) { return -v; }}, x);
  on_ghosts(l, "add", strategies::add(d, d), of_values{[](auto a, auto b) { return a + b; }}, x, y);
  on_ghosts(l, "mul", strategies::mul(d, d), of_values{[](auto a, auto b) { return a * b; }}, x, y);
  on_ghosts(l, "maximum", strategies::maximum(d, d), of_values{[](auto a, auto b) { return a < b ? b : a; }}, x, y);
  auto const columns = []<class T>(array<T> const& a) {
    array<T> s({a.extent(1)});
    for (int i = 0; i < a.extent(0); ++i)
      for (int j = 0; j < a.extent(1); ++j) s[j] = s[j] + a(i, j);
    return s;
  };
  on_ghosts(l, "sum over 0", strategies::sum(d, strategies::over(0)), columns, x);
  auto const turned = []<class T>(array<T> const& a) {
    array<T> b({a.extent(1), a.extent(0)});
    for (int i = 0; i < a.extent(0); ++i)
      for (int j = 0; j < a.extent(1); ++j) b(j, i) = a(i, j);
    return b;
  };
  on_ghosts(l, "transpose", strategies::move(d, {1, 0}), turned, x);
  auto const product = []<class T>(array<T> const& a, array<T> const& v) {
    if (a.extent(1) != v.extent(0)) return sim::no_result<T>();
    array<T> b({a.extent(0)});
    for (int i = 0; i < a.extent(0); ++i)
      for (int j = 0; j < a.extent(1); ++j) b[i] = b[i] + a(i, j) * v[j];
    return b;
  };
  on_ghosts(l, "mk k->m", strategies::einsum("mk,k->m"), product, x, values({4}, 2));
  CHECK(l.accepted > 150 / one_in());
  l.finish();
}

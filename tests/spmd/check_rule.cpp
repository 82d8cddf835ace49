// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checking own rules: in a constant expression; wrong rules, missing rules and wrong adjoints that were planted; and
// every stated rule with one slot changed.
#include <span>
#include <vector>

#include <sla/check.hpp>
#include <sla/exec/evaluate.hpp>
#include <sla/spmd/rule/compose.hpp>
#include <sla/spmd/rule/table/einsum.hpp>
#include <sla/spmd/rule/table/index.hpp>
#include <sla/spmd/rule/table/move.hpp>
#include <sla/spmd/rule/table/pointwise.hpp>
#include <sla/spmd/rule/table/folds.hpp>

#include "fuzz.hpp"

namespace own {         // operations of a user
struct row_length;      // the length of each row
struct careless_length; // the same, with a wrong claim
struct rank_only;
} // namespace own
template <>
inline constexpr auto sla::rule_of<own::row_length> = sla::rules::compose([](auto x) {
  return sla::rules::einsum<"m_->m">(x);
});
template <>
inline constexpr auto sla::rule_of<own::careless_length> = sla::rules::compose([](auto x) {
  return sla::rules::einsum<"mk->m">(x);
});
template <>
inline constexpr auto sla::rule_of<own::rank_only> = sla::local_only{};

namespace test_check_rule {

using namespace fuzz;
using outcome = rule_finding::outcome;

namespace {

struct matrix_product {
  template <class T>
  constexpr array<T> operator()(array<T> const& a, array<T> const& b) const {
    if (a.extent(1) != b.extent(0)) return sim::no_result<T>();
    array<T> c({a.extent(0), b.extent(1)});
    for (int i = 0; i < c.extent(0); ++i)
      for (int j = 0; j < c.extent(1); ++j)
        for (int k = 0; k < a.extent(1); ++k) c(i, j) = c(i, j) + a(i, k) * b(k, j);
    return c;
  }
};
struct column_sum {
  template <class T>
  constexpr array<T> operator()(array<T> const& a) const {
    array<T> y({a.extent(1)});
    for (int i = 0; i < a.extent(0); ++i)
      for (int j = 0; j < a.extent(1); ++j) y[j] = y[j] + a(i, j);
    return y;
  }
};
struct sum_of_two {
  template <class T>
  constexpr array<T> operator()(array<T> const& a, array<T> const& b) const {
    if (a.extents != b.extents) return sim::no_result<T>();
    auto c = a;
    for (int n = 0; n < c.size(); ++n) c[n] = a[n] + b[n];
    return c;
  }
};

// A user's test of a rule may be a static_assert.
constexpr bool checked_at_compile_time() {
  array<double> x({3, 2}, {1, -2, 3, 5, -4, 7});
  rule_domain d;
  d.w.ranks = {2};
  d.w.families = {{}, {family_facts_of<Balanced>}};
  d.families = {1};
  d.split_seeds = 1;
  auto const report = check_rule(d, strategies::sum(dims(3, 2), strategies::over(0)), column_sum{}, checked_operand{x});
  return report.ok() && report.gradients > 3;
}
static_assert(checked_at_compile_time());

rule_domain small(int ranks = 2) {
  auto d = one_axis(ranks);
  d.families = {2, 6};
  return d;
}

/// Two results of one shape, of which one falls where the other rises.
struct sum_and_difference {
  template <class T>
  constexpr std::vector<array<T>> operator()(array<T> const& a, array<T> const& b) const {
    if (a.extents != b.extents) return {sim::no_result<T>()};
    auto sum = a, difference = a;
    for (int n = 0; n < a.size(); ++n) sum[n] = a[n] + b[n], difference[n] = a[n] - b[n];
    return {sum, difference};
  }
};
constexpr strategy both_of(int rank) {
  auto s = strategies::opaque(2, rank, 2);
  for (int d = 0; d < rank; ++d) {
    rule r;
    r.in[0] = r.in[1] = r.out[0] = r.out[1] = shard_slot(d);
    s.add(r);
  }
  s.linear_in(operand_bits(0, 1)).rising_in(0);
  for (auto [one, other] : {std::pair{monoid::maximum, monoid::minimum}, std::pair{monoid::minimum, monoid::maximum}}) {
    rule r;
    r.in[1] = r.out[0] = partial_slot(one), r.out[1] = partial_slot(other);
    s.add(r);
  }
  return s;
}
/// Two results of different shapes: what one keeps the other folds.
struct sums_both_ways {
  template <class T>
  constexpr std::vector<array<T>> operator()(array<T> const& a) const {
    array<T> rows({a.extent(0)}), columns({a.extent(1)});
    for (int i = 0; i < a.extent(0); ++i)
      for (int j = 0; j < a.extent(1); ++j) rows[i] = rows[i] + a(i, j), columns[j] = columns[j] + a(i, j);
    return {rows, columns};
  }
};
constexpr strategy sums_of_lines() {
  auto s = strategies::opaque(1, 1, 2);
  for (int d : {0, 1}) {
    rule r;
    r.in[0] = shard_slot(d);
    r.out[d] = shard_slot(0), r.out[1 - d] = partial_slot(monoid::sum);
    s.add(r);
  }
  return s.linear_in(operand_bits(0));
}

constexpr strategy without(strategy s, int n) {
  for (int k = n; k + 1 < s.size; ++k) s.rules[k] = s.rules[k + 1];
  --s.size;
  return s;
}

} // namespace

TEST_CASE("a rule that is not there is found") {
  auto const a = values({4, 5}, 0), b = values({5, 3}, 1);
  auto const s = strategies::einsum("mk,kn->mn");
  CHECK(check_rule(small(), s, matrix_product{}, a, b).ok());
  for (int n = 0; n < s.size; ++n) {
    auto const r = check_rule(small(), without(s, n), matrix_product{}, a, b);
    CHECK(r.wrong() == 0);
    CHECK(r.missing() > 0);
    CHECK(!r.ok());
  }
  // and so is the whole of them, where the operation is thought to be unknown in structure
  strategy opaque;
  opaque.inputs = 2;
  opaque.result_rank[0] = 2;
  auto const r = check_rule(small(), opaque, matrix_product{}, a, b);
  CHECK(r.wrong() == 0);
  std::set<std::string> found;
  for (auto const& f : r.findings) found.insert(spelled(f.operands, small()) + " -> " + spelled(f.results, small()));
  CHECK(found == std::set<std::string>{"S0 R -> S0", "R S1 -> S1", "S1 S0 -> P(sum)", "P(sum) R -> P(sum)",
                                       "R P(sum) -> P(sum)", "P(avg) R -> P(avg)", "R P(avg) -> P(avg)"});
}

TEST_CASE("rules that are wrong in the value or only in a gradient are found") {
  auto const a = values({4, 5}, 0), b = values({4, 5}, 1);
  auto const s = strategies::add(dims(4, 5), dims(4, 5));
  auto wrong = s;
  rule counts_twice; // a sum of a pending sum and a whole operand
  counts_twice.in[0] = counts_twice.out[0] = partial_slot(monoid::sum);
  wrong.add(counts_twice);
  auto const r = check_rule(small(), wrong, sum_of_two{}, a, b);
  CHECK(r.count(outcome::wrong_value) > 0);

  // Invariant beside Replicate: right in the value, wrong in the gradient
  auto const mixing = [&](std::span<operand const> o) {
    auto read = std::vector<operand>(o.begin(), o.end());
    for (auto& one : read)
      if (one.type.on[0].kind == placement_kind::invariant) one.type.on[0].kind = placement_kind::replicate;
    return check(s, read);
  };
  auto const lost = check_rule_of(small(), mixing, sum_of_two{}, a, b);
  CHECK(lost.count(outcome::wrong_value) == 0);
  CHECK(lost.count(outcome::wrong_gradient) > 0);

  using Catch::Matchers::ContainsSubstring;
  auto const text = describe(r);
  CHECK_THAT(text, ContainsSubstring("checked " + std::to_string(r.combinations) + " combinations"));
  CHECK_THAT(text, ContainsSubstring("wrong value: [Partial<Sum>] [Replicate] -> [Partial<Sum>]"));
  CHECK_THAT(text, ContainsSubstring("E17"));
  CHECK_THAT(describe(lost), ContainsSubstring("wrong gradient: [Invariant] [Replicate] -> [Replicate]"));
}

namespace {
constexpr rule_report both_ways_at_compile_time(strategy const& s) {
  rule_domain d;
  d.w.ranks = {2};
  d.w.families = {{}, {family_facts_of<Balanced>}};
  d.families = {1};
  d.invariant = d.varying = false;
  d.split_seeds = 1;
  return check_rule(d, s, sums_both_ways{}, checked_operand{array<double>({3, 2}, {1, -2, 3, 5, -4, 7})});
}
static_assert(both_ways_at_compile_time(sums_of_lines()).ok());
static_assert(both_ways_at_compile_time(without(sums_of_lines(), 1)).missing() == 1);
} // namespace

TEST_CASE("a missing or wrong rule of several results is found") {
  auto const x = values({4, 5}, 0), y = values({4, 5}, 1);
  CHECK(check_rule(small(3), sums_of_lines(), sums_both_ways{}, x).ok());
  std::set<std::string> found;
  for (auto const& f : check_rule(small(3), strategies::opaque(1, 1, 2), sums_both_ways{}, x).findings) {
    CHECK(f.what == outcome::missing);
    found.insert(spelled(f.operands, small()) + " -> " + spelled(f.results, small()));
  }
  CHECK(found == std::set<std::string>{"S0 -> S0 P(sum)", "S1 -> P(sum) S0", "P(sum) -> P(sum) P(sum)",
                                       "P(avg) -> P(avg) P(avg)"});

  auto const s = both_of(2);
  CHECK(check_rule(small(), s, sum_and_difference{}, x, y).ok());
  for (int n = 0; n < s.size; ++n) {
    auto const r = check_rule(small(), without(s, n), sum_and_difference{}, x, y);
    CHECK(r.wrong() == 0);
    CHECK(r.missing() > 0);
  }
  auto on_two = two_axes(2, 2);
  on_two.one_in = 7;
  composition_state l;
  l.add("sum and difference on two axes", on_two, check_rule(on_two, s, sum_and_difference{}, x, y));
  l.finish();

  auto wrong = s; // the difference falls in its second operand
  wrong.rules[s.size - 1].out[1] = partial_slot(monoid::minimum);
  auto const r = check_rule(small(), wrong, sum_and_difference{}, x, y);
  CHECK(r.count(outcome::wrong_value) == 1);
  CHECK(r.missing() == 0);
  auto silent = s; // of the difference it says nothing
  silent.results = 1;
  auto const half = check_rule(small(), silent, sum_and_difference{}, x, y);
  CHECK(half.count(outcome::wrong_value) == half.accepted);
  using Catch::Matchers::ContainsSubstring;
  CHECK_THAT(describe(r), ContainsSubstring("wrong value: [Replicate] [Partial<Min>] -> [Partial<Min>] [Partial<Min>]"));
}

TEST_CASE("the rule of an own operation, in each of its forms") {
  auto const length = []<class T>(array<T> const& x) {
    array<T> y({x.extent(0)});
    for (int i = 0; i < x.extent(0); ++i) {
      for (int j = 0; j < x.extent(1); ++j) y[i] = y[i] + x(i, j) * x(i, j);
      y[i] = sim::sqrt(y[i]);
    }
    return y;
  };
  auto const x = values({5, 3}, 0);
  CHECK(check_rule<own::row_length>(small(3), length, x).ok());
  auto const careless = check_rule<own::careless_length>(small(3), length, x);
  CHECK(careless.count(outcome::wrong_value) > 0);
  auto const shy = check_rule<own::rank_only>(small(3), length, x);
  CHECK(shy.wrong() == 0);
  CHECK(shy.missing() == 2); // the rows might be sharded, by each of two families
  CHECK(check_rule<op::sub>(
            small(),
            []<class T>(array<T> const& a, array<T> const& b) {
              if (a.extents != b.extents) return sim::no_result<T>();
              auto c = a;
              for (int n = 0; n < c.size(); ++n) c[n] = a[n] - b[n];
              return c;
            },
            x, values({5, 3}, 1))
            .ok());
}

namespace {
/// The product with an adjoint by hand; `mistake`: the gradient of a is made with b untransposed in its first entry.
struct with_pullback : matrix_product {
  bool mistake = false;
  std::vector<array<double>> pullback(std::vector<array<double>> const& x, std::vector<array<double>> const& g) const {
    auto const &a = x[0], &b = x[1];
    array<double> da(a.extents), db(b.extents);
    for (int i = 0; i < a.extent(0); ++i)
      for (int k = 0; k < a.extent(1); ++k)
        for (int j = 0; j < b.extent(1); ++j) {
          da(i, k) += g[0](i, j) * b(k, j);
          db(k, j) += g[0](i, j) * a(i, k);
        }
    if (mistake && da.size() > 0) da[0] *= 2;
    return {da, db};
  }
};
} // namespace

TEST_CASE("a stated adjoint is checked on the same placements") {
  auto const a = values({4, 5}, 0), b = values({5, 3}, 1);
  auto const s = strategies::einsum("mk,kn->mn");
  CHECK(check_rule(small(), s, with_pullback{}, a, b).ok());
  with_pullback wrong;
  wrong.mistake = true;
  auto const r = check_rule(small(), s, wrong, a, b);
  CHECK(r.count(outcome::wrong_value) == 0);
  CHECK(r.count(outcome::wrong_gradient) > 5);
}

namespace {
struct with_pullback_of_both : sum_and_difference {
  bool mistake = false; // the gradient of the second result reaches b with the sign of the first
  std::vector<array<double>> pullback(std::vector<array<double>> const& x, std::vector<array<double>> const& g) const {
    auto da = x[0], db = x[1];
    for (int n = 0; n < da.size(); ++n) {
      da[n] = g[0][n] + g[1][n];
      db[n] = mistake ? da[n] : g[0][n] - g[1][n];
    }
    return {da, db};
  }
};
} // namespace

TEST_CASE("a stated adjoint of several results is checked") {
  auto const a = values({4, 5}, 0), b = values({4, 5}, 1);
  CHECK(check_rule(small(), both_of(2), with_pullback_of_both{}, a, b).ok());
  with_pullback_of_both wrong;
  wrong.mistake = true;
  auto const r = check_rule(small(), both_of(2), wrong, a, b);
  CHECK(r.count(outcome::wrong_value) == 0);
  CHECK(r.count(outcome::wrong_gradient) > 5);
}

namespace {

bool same_outcome(placement_outcome const& a, placement_outcome const& b) { return a.ok() == b.ok() && (!a.ok() || a.type == b.type); }

struct tally {
  int mutants = 0, caught = 0, same = 0;
};

/// Every rule of s with one slot changed: caught, or the same as what s says anyway.
template <class K, class... Operands>
tally mutate(strategy const& s, K const& kernel, Operands const&... operands) {
  tally t;
  int const dims_of_operands[] = {operands.value.rank()...};
  for (int n = 0; n < s.size; ++n)
    for (int k = -1; k < s.inputs; ++k) {
      auto const old = k < 0 ? s.rules[n].out[0] : s.rules[n].in[k];
      int const rank = k < 0 ? s.result_rank[0] : dims_of_operands[k];
      std::vector<slot> others = {{}, partial_slot(monoid::sum), partial_slot(monoid::maximum)};
      for (int d = 0; d < rank; ++d) others.push_back(shard_slot(d));
      for (auto const& other : others) {
        if (other == old) continue;
        auto mutant = s;
        mutant.size = 1;
        mutant.rules[0] = s.rules[n];
        (k < 0 ? mutant.rules[0].out[0] : mutant.rules[0].in[k]) = other;
        int novel = 0;
        auto const decide = [&](std::span<operand const> o) {
          auto const said = check(mutant, o);
          novel += said.ok() && !same_outcome(said, check(s, o));
          return said;
        };
        auto d = one_axis(2);
        d.families = {2, 6};
        d.missing = false;
        auto const r = check_rule_of(d, decide, kernel, operands...);
        ++t.mutants;
        t.caught += r.wrong() > 0;
        t.same += r.wrong() == 0 && novel == 0;
        if (r.wrong() == 0 && novel > 0)
          FAIL_CHECK("rule " << n << " slot " << k << " as kind " << int(other.kind) << " " << int(other.dim));
      }
    }
  return t;
}

} // namespace

TEST_CASE("every rule with one slot changed is caught") {
  tally all;
  auto const add = [&](tally t) { all.mutants += t.mutants, all.caught += t.caught, all.same += t.same; };
  auto const a = values({4, 5}, 0), b = values({5, 3}, 1), c = values({4, 5}, 2);
  add(mutate(strategies::einsum("mk,kn->mn"), matrix_product{}, a, b));
  add(mutate(strategies::add(dims(4, 5), dims(4, 5)), sum_of_two{}, a, c));
  add(mutate(strategies::sum(dims(4, 5), strategies::over(0)), column_sum{}, a));
  add(mutate(
      strategies::mul(dims(4, 5), dims(4, 5)),
      [](auto const& x, auto const& y) {
        using T = decltype(x[0] + x[0]);
        if (x.extents != y.extents) return sim::no_result<T>();
        auto z = x;
        for (int n = 0; n < z.size(); ++n) z[n] = x[n] * y[n];
        return z;
      },
      a, c));
  add(mutate(
      strategies::cat(0, {dims(4, 5), dims(2, 5)}),
      [](auto const& x, auto const& y) {
        using T = decltype(x[0] + x[0]);
        if (x.extent(1) != y.extent(1)) return sim::no_result<T>();
        auto z = x;
        z.extents[0] += y.extent(0);
        z.values.insert(z.values.end(), y.values.begin(), y.values.end());
        return z;
      },
      a, values({2, 5}, 3)));
  INFO(all.mutants << " mutants, " << all.caught << " caught, " << all.same << " say nothing new");
  CHECK(all.mutants > 240);
  CHECK(all.caught + all.same == all.mutants);
  CHECK(all.caught > 10 * all.same);
}

// ---- what was never tried

TEST_CASE("a check with nothing stated tries 2 and 3 ranks, three families and all reductions") {
  auto const a = values({4, 6}, 0), b = values({6, 3}, 1);
  auto const all = check_rule({}, strategies::einsum("mk,kn->mn"), matrix_product{}, a, b);
  INFO(describe(all));
  CHECK(all.ok());
  CHECK(all.untried().empty());
  // each of these passed, as no shard, no maximum, or one number of ranks was tried
  auto const entry = [](auto f) {
    return [f](auto const& x) {
      auto y = x;
      for (auto& v : y.values) v = f(v);
      return y;
    };
  };
  auto const negated = entry([](auto v) { return -v; });
  auto const softened = [](auto const& x) {
    auto y = x;
    for (int i = 0; i < x.extent(0); ++i) {
      std::remove_cvref_t<decltype(x[0])> s{};
      for (int j = 0; j < x.extent(1); ++j) s = s + sim::exp(x(i, j));
      for (int j = 0; j < x.extent(1); ++j) y(i, j) = sim::exp(x(i, j)) / s;
    }
    return y;
  };
  using namespace strategies;
  dims const d(4, 6);
  CHECK(check_rule({}, pointwise(d), softened, a).wrong() > 0);
  CHECK(check_rule({}, strategies::along(d, over(1)), softened, a).ok());
  CHECK(check_rule({}, strategies::unary(d, behaviour::rising), negated, a).wrong() > 0);
  CHECK(check_rule({}, strategies::unary(d, behaviour::rising), entry([](auto v) { return sim::abs(v); }), a).wrong() > 0);
  CHECK(check_rule({}, neg(d), negated, a).ok());
  CHECK(check_rule({}, strategies::unary(d, behaviour::any, true), negated, a).wrong() > 0); // -x y is (-x)(-y) on 3 ranks only
  auto index = a;
  index.gradient = false;
  CHECK(check_rule({}, strategies::unary(d, behaviour::linear), entry([](auto v) { return sim::exp(v); }), index).wrong() > 0);
}

TEST_CASE("a rule or a reduction that was never tried is told, and not ok") {
  using Catch::Matchers::ContainsSubstring;
  auto const a = values({4, 5}, 0);
  auto const s = strategies::sum(dims(4, 5), strategies::over(0)); // its rules: dimension 0, dimension 1, sums and averages
  rule_domain d;
  d.w.ranks = {2};
  d.w.families = {{}, {family_facts_of<Balanced>}};
  auto r = check_rule(d, s, column_sum{}, a); // no family is tried
  CHECK(r.findings.empty());
  CHECK(!r.ok());
  REQUIRE(r.untried().size() == 2);
  CHECK_THAT(describe(r), ContainsSubstring("not tried: rule 0: no operands") && ContainsSubstring("not tried: rule 1: no operands"));
  d.families = {1};
  d.folds = monoid_bit(monoid::sum);
  r = check_rule(d, s, column_sum{}, a);
  CHECK(!r.ok());
  CHECK_THAT(describe(r), ContainsSubstring("not tried: rule 2 for Partial<Avg>"));
  d.folds = all_monoids;
  CHECK(check_rule(d, s, column_sum{}, a).ok());
  // equal pieces do not come out of 5 indices
  auto const flat = [](auto const& x) {
    auto y = x;
    y.extents = {x.size()};
    return y;
  };
  CHECK(check_rule({}, strategies::reshape(dims(5, 4), dims(20)), flat, values({5, 4}, 0)).untried().size() == 1);
  CHECK(check_rule({}, strategies::reshape(dims(6, 4), dims(24)), flat, values({6, 4}, 0)).ok());
  // a composition tells no rules: then something beyond copies is to be accepted
  auto const length = []<class T>(array<T> const& x) {
    array<T> y({x.extent(0)});
    for (int i = 0; i < x.extent(0); ++i) {
      for (int j = 0; j < x.extent(1); ++j) y[i] = y[i] + x(i, j) * x(i, j);
      y[i] = sim::sqrt(y[i]);
    }
    return y;
  };
  CHECK(check_rule<own::row_length>({}, length, a).ok());
  d.families = {};
  CHECK(!check_rule<own::row_length>(d, length, a).ok());
  CHECK_THAT(describe(check_rule<own::row_length>(d, length, a)), ContainsSubstring("nothing with a shard or a pending operand"));
}

} // namespace test_check_rule

// ---- rules with collectives, and the adjoint that runs

namespace own {
struct summed_over_tp; // the sum of all columns, on every rank
struct scaled;         // 3 x, with an adjoint
struct badly_scaled;   // with a wrong one
} // namespace own
template <>
inline constexpr auto sla::rule_of<own::summed_over_tp> = sla::rules::compose([](auto x) {
  return sla::rules::all_reduce<"tp">(sla::rules::einsum<"mk->m">(x));
});

namespace test_check_rule {

namespace {
struct row_sums_of_all {
  bool reduced = true;
  template <class T>
  array<T> operator()(array<T> const& x) const {
    array<T> y({x.extent(0)});
    for (int n = 0; n < x.size(); ++n) y[n / x.extent(1)] = y[n / x.extent(1)] + x[n];
    return y;
  }
  std::vector<std::vector<array<double>>> together(sim::world const&, std::vector<std::vector<array<double>>> const& parts) const {
    std::vector<std::vector<array<double>>> out;
    for (auto const& mine : parts) out.push_back({(*this)(mine[0])});
    auto all = out[0][0];
    for (std::size_t r = 1; r < out.size(); ++r)
      for (int n = 0; n < all.size() && n < out[r][0].size(); ++n) all[n] = all[n] + out[r][0][n];
    if (reduced)
      for (auto& one : out) one[0] = all;
    return out;
  }
};
template <bool Wrong>
struct scaled_by_3 {
  using V = sla::vector<double>;
  static V apply(V const& x) { return V(3.0 * x); }
  static V pullback(std::integral_constant<int, 0>, V const&, V const& g) { return V((Wrong ? 2.0 : 3.0) * g); }
};
struct times_vectors {
  using V = sla::vector<double>;
  static V apply(V const& x, V const& y) { return V(x * y); }
  template <int K>
  static V pullback(std::integral_constant<int, K>, V const& x, V const& y, V const& g) { return V((K == 0 ? y : x) * g); }
};
} // namespace

TEST_CASE("a rule with collectives is checked on what all ranks make") {
  auto const a = values({4, 6}, 0);
  rule_domain d;
  d.invariant = d.varying = false;
  d.folds = sum_monoids;
  CHECK(!check_rule<own::summed_over_tp>(d, row_sums_of_all{}, a).ok()); // the axis has no name: all is refused
  d.names = {"tp"};
  auto const right = check_rule<own::summed_over_tp>(d, row_sums_of_all{}, a);
  INFO(describe(right));
  CHECK(right.ok());
  CHECK(right.accepted >= 2);
  CHECK(check_rule<own::summed_over_tp>(d, row_sums_of_all{false}, a).wrong() > 0);
}

TEST_CASE("the adjoint that is checked is the one that runs, or the report says that it stands in") {
  using Catch::Matchers::ContainsSubstring;
  auto const x = values({6}, 0), y = values({6}, 1);
  using V = sla::vector<double>;
  auto const s = strategies::scale(dims(6));
  auto const right = check_rule({}, s, op_kernel<scaled_by_3<false>, V>{}, x);
  INFO(describe(right));
  CHECK(right.ok());
  CHECK(right.adjoint == adjoint_source::operation);
  CHECK(check_rule({}, s, op_kernel<scaled_by_3<true>, V>{}, x).count(outcome::wrong_gradient) > 0);
  CHECK(check_rule({}, strategies::mul(dims(6), dims(6)), op_kernel<times_vectors, V, V>{}, x, y).ok());
  auto const stand_in = check_rule(small(), strategies::einsum("mk,kn->mn"), with_pullback{}, values({4, 5}, 0), values({5, 3}, 1));
  CHECK(stand_in.adjoint == adjoint_source::stated);
  CHECK_THAT(describe(stand_in), ContainsSubstring("op_kernel"));
  CHECK(check_rule({}, strategies::einsum("mk,kn->mn"), matrix_product{}, values({4, 6}, 0), values({6, 3}, 1)).adjoint == adjoint_source::derived);
}

} // namespace test_check_rule

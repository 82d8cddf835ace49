// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Strategies as values: the rules of products are exactly the sound ones (by enumeration over two ranks), expansion
// over families, what is wrong with a strategy, and the filters across axes.
#include <string>
#include <vector>

#include <sla/spmd/rule/compose.hpp>
#include <sla/spmd/rule/expand.hpp>
#include <sla/spmd/rule/rules.hpp>
#include <sla/spmd/rule/table/composite.hpp>
#include <sla/spmd/rule/table/einsum.hpp>
#include <sla/spmd/rule/table/index.hpp>
#include <sla/spmd/rule/table/make.hpp>
#include <sla/spmd/rule/table/move.hpp>
#include <sla/spmd/rule/table/pointwise.hpp>
#include <sla/spmd/rule/table/folds.hpp>
#include <sla/spmd/rule/table/sparse_tensors.hpp>

#include "catch.hpp"
#include "placed.hpp"

namespace test_strategies {

using namespace sla;
using namespace placed_values;
using namespace sla::strategies;
using sla::strategies::along, sla::strategies::local_preconditioner, sla::strategies::unary; // not those of sla, which other files of the program include

namespace {

// Products by enumeration. Every label has extent 2, and there are two ranks; a product is linear in each operand, so
// what holds for unit tensors, each wholly on one rank where they are pending, holds for all.
struct term {
  int rank = 0;
  int label[3] = {};
};
struct product {
  term in[2], out{};
  int labels = 0;
};

constexpr product read(std::string_view spec) {
  product p;
  char names[4] = {};
  term* t = p.in;
  for (char c : spec) {
    if (c == ',') t = p.in + 1;
    if (c == '-') t = &p.out;
    if (c < 'a') continue;
    int n = 0;
    while (n < p.labels && names[n] != c) ++n;
    if (n == p.labels) names[p.labels++] = c;
    t->label[t->rank++] = n;
  }
  return p;
}

// A tensor on one rank: the first index and the extent of each dimension, and its entries.
struct local {
  int from[3] = {}, extent[3] = {2, 2, 2}, at[8] = {};
};

constexpr int position(term const& t, local const& x, int labels) { // of an assignment of labels, as bits; -1: not here
  int out = 0;
  for (int d = 0; d < t.rank; ++d) {
    int const i = (labels >> t.label[d] & 1) - x.from[d];
    if (i < 0 || i >= x.extent[d]) return -1;
    out = out * 2 + i;
  }
  return out;
}

constexpr local share(term const& t, int unit, placement_value p, int rank, int holder) {
  local x;
  if (p.kind == placement_kind::shard) x.from[p.dim] = rank, x.extent[p.dim] = 1;
  bool const empty = p.kind == placement_kind::partial && rank != holder;
  int index[3] = {};
  bool here = !empty;
  for (int d = t.rank - 1, left = unit; d >= 0; --d, left /= 2) {
    index[d] = left % 2 - x.from[d];
    here = here && index[d] >= 0 && index[d] < x.extent[d];
  }
  int place = 0;
  for (int d = 0; d < t.rank; ++d) place = place * 2 + index[d];
  if (here) x.at[place] = 1;
  return x;
}

// Without looking at global numbers: the kernel sees extents and entries only. False: the extents do not fit.
constexpr bool multiply(product const& p, local const& a, local const& b, local& y) {
  int extent[4] = {2, 2, 2, 2};
  bool seen[4] = {};
  local const* const operands[] = {&a, &b};
  for (int k = 0; k < 2; ++k)
    for (int d = 0; d < p.in[k].rank; ++d) {
      int const l = p.in[k].label[d];
      if (seen[l] && extent[l] != operands[k]->extent[d]) return false;
      seen[l] = true, extent[l] = operands[k]->extent[d];
    }
  y = {};
  for (int d = 0; d < p.out.rank; ++d) y.extent[d] = extent[p.out.label[d]];
  for (int all = 0; all < 1 << p.labels; ++all) {
    bool inside = true;
    for (int l = 0; l < p.labels; ++l) inside = inside && (all >> l & 1) < extent[l];
    if (!inside) continue;
    int place[3] = {};
    term const* const terms[] = {p.in, p.in + 1, &p.out};
    for (int k = 0; k < 3; ++k)
      for (int d = 0; d < terms[k]->rank; ++d) place[k] = place[k] * 2 + (all >> terms[k]->label[d] & 1);
    y.at[place[2]] += a.at[place[0]] * b.at[place[1]];
  }
  return true;
}

constexpr bool sound(product const& p, placement_value pa, placement_value pb, placement_value po) {
  for (int ua = 0; ua < 1 << p.in[0].rank; ++ua)
    for (int ub = 0; ub < 1 << p.in[1].rank; ++ub) {
      local whole;
      multiply(p, share(p.in[0], ua, R, 0, 0), share(p.in[1], ub, R, 0, 0), whole);
      for (int holders = 0; holders < 4; ++holders) {
        if ((holders & 1 && pa != P) || (holders & 2 && pb != P)) continue;
        local y[2];
        for (int r = 0; r < 2; ++r)
          if (!multiply(p, share(p.in[0], ua, pa, r, holders & 1), share(p.in[1], ub, pb, r, holders >> 1), y[r]))
            return false;
        for (int r = 0; r < 2; ++r) {
          local expected = whole;
          if (po.kind == placement_kind::shard) {
            expected = {};
            expected.extent[po.dim] = 1;
            local window;
            window.from[po.dim] = r, window.extent[po.dim] = 1;
            for (int labels = 0; labels < 1 << p.labels; ++labels)
              if (int const at = position(p.out, window, labels); at >= 0)
                expected.at[at] = whole.at[position(p.out, local{}, labels)];
          }
          for (int d = 0; d < p.out.rank; ++d)
            if (y[r].extent[d] != expected.extent[d]) return false;
          for (int i = 0; i < 8; ++i)
            if (po == P ? y[0].at[i] + y[1].at[i] != whole.at[i] : y[r].at[i] != expected.at[i]) return false;
        }
      }
    }
  return true;
}

constexpr placement_value candidate(int n) { return n == 0 ? R : n == 1 ? P : S(n - 2); }

// Is the strategy exactly the sound rules, for the operands of these placements?
constexpr bool exact(strategy const& s, product const& p, int a, int b) {
  operand const operands[] = {tensor_on(candidate(a), p.in[0].rank), tensor_on(candidate(b), p.in[1].rank)};
  auto const got = check(s, operands);
  bool any = false;
  for (int c = 0; c < p.out.rank + 2; ++c) {
    bool const right = sound(p, candidate(a), candidate(b), candidate(c));
    any = any || right;
    if (got.ok() && got.type.on[0] == candidate(c) && !right) return false;
  }
  return got.ok() == any;
}

template <fixed_string Spec>
inline constexpr strategy rules_of = einsum(Spec.view());
template <fixed_string Spec, int A, int B>
inline constexpr bool exact_v = exact(rules_of<Spec>, read(Spec.view()), A, B); // a constant of its own each

template <fixed_string Spec, int... N>
constexpr bool all_exact(std::integer_sequence<int, N...>) {
  constexpr int of_b = read(Spec.view()).in[1].rank + 2;
  return (exact_v<Spec, N / of_b, N % of_b> && ...);
}
template <fixed_string Spec>
constexpr bool exact_product() {
  constexpr product p = read(Spec.view());
  return all_exact<Spec>(std::make_integer_sequence<int, (p.in[0].rank + 2) * (p.in[1].rank + 2)>{});
}
static_assert(exact_product<"i,i->">());
static_assert(exact_product<"m,n->mn">());
static_assert(exact_product<"mk,k->m">());

constexpr auto one_family() {
  filler_list out;
  return out.add({1, -1});
}
constexpr int choices(strategy const& s, monoid_set folds = monoid_bit(monoid::sum)) {
  return expand(s, one_family(), folds).size;
}
static_assert(choices(einsum("mk,kn->mn")) == 6 && choices(einsum("mk,kn->mn"), sum_monoids) == 8);
static_assert(choices(einsum("bmk,bkn->bmn")) == 7 && choices(einsum("i,i->")) == 4);
static_assert(choices(einsum("mk,k->m")) == 5 && choices(einsum("mk,m->k")) == 5 && choices(einsum("m,n->mn")) == 5);
static_assert(choices(einsum("ij,ij->ij")) == 5 && choices(einsum("m,mk->mk")) == 5);

template <class... O>
placement_outcome on_axes(strategy const& s, std::vector<std::vector<placement_value>> const& at, std::vector<int> const& ranks) {
  std::vector<operand> operands;
  for (std::size_t k = 0; k < at.size(); ++k) {
    operand o = tensor_on(at[k][0], ranks[k]);
    o.type.axes = static_cast<std::int8_t>(at[k].size());
    for (std::size_t a = 0; a < at[k].size(); ++a) o.type.on[static_cast<int>(a)] = at[k][a];
    operands.push_back(o);
  }
  return check(s, operands);
}

constexpr placement_value at_level(placement_value p, int level) {
  p.level = static_cast<std::int8_t>(level);
  return p;
}
constexpr placement_value pending(monoid m) { return {placement_kind::partial, m}; }

} // namespace

TEST_CASE("products have exactly the sound rules") {
  for (auto const* spec : {"mk,kn->mn", "bmk,bkn->bmn", "mk,k->m", "mk,m->k", "i,i->", "ij,ij->ij", "m,mk->mk",
                           "m,n->mn", "mk,nk->mn", "mk,kn->nm", "ij,ji->ij", "ij,kj->ik", "abc,c->ab", "ij,j->"}) {
    auto const s = einsum(spec);
    auto const p = read(spec);
    for (int a = 0; a < p.in[0].rank + 2; ++a)
      for (int b = 0; b < p.in[1].rank + 2; ++b) {
        INFO(spec << " " << a << " " << b);
        CHECK(exact(s, p, a, b));
      }
  }
}

TEST_CASE("a product with one slot changed is wrong, or is another of its rules") {
  int killed = 0, others = 0;
  for (auto const* spec : {"mk,kn->mn", "mk,k->m", "ij,ij->ij", "m,mk->mk"}) {
    auto const s = einsum(spec);
    auto const p = read(spec);
    auto const all = expand(s, one_family(), monoid_bit(monoid::sum));
    for (int n = 1; n < all.size; ++n)
      for (int where = 0; where < 3; ++where)
        for (int c = 0; c < (where < 2 ? p.in[where].rank : p.out.rank) + 2; ++c) {
          auto mutant = all.at[n];
          auto& slot = where < 2 ? mutant.in[where] : mutant.out[0];
          if (slot == candidate(c)) continue;
          slot = candidate(c);
          bool const right = sound(p, mutant.in[0], mutant.in[1], mutant.out[0]);
          bool stated = false;
          for (int m = 0; m < all.size; ++m)
            stated = stated || (all.at[m].in[0] == mutant.in[0] && all.at[m].in[1] == mutant.in[1] &&
                                all.at[m].out[0] == mutant.out[0]);
          CHECK(right == stated);
          ++(right ? others : killed);
        }
  }
  CHECK(killed > 80);
  CHECK(others < killed / 8);
}

TEST_CASE("expansion over families") {
  static constexpr auto mm = einsum("mk,kn->mn");
  CHECK(expand(mm, {}, sum_monoids).size == 5); // no family: what is whole or pending only
  auto two = one_family();
  two.add({2, -1});
  CHECK(expand(mm, two, sum_monoids).size == 5 + 2 * 3);
  CHECK(expand(mm, two, sum_monoids, true).size == 6 + 2 * 3);
  auto with_ghosts = one_family();
  with_ghosts.add({1, 4}); // ghosts stand where the index stays: rows and columns of the result
  CHECK(expand(mm, with_ghosts, sum_monoids).size == 5 + 3 + 2);
  CHECK(expand(spmv(), with_ghosts, sum_monoids).why == code::ok);
  operand const x[] = {tensor_on(S(0, 5), 2), tensor_on(S(1, 7), 2), tensor_on(R, 2)};
  auto const found = families_of(x);
  CHECK(found.size == 2);
  CHECK(found.at[1].family == 7);
  static constexpr auto joined = reshape(dims(4, 4), dims(16));
  CHECK(expand(joined, one_family(), sum_monoids).size == 1 + 1 + 2);
  CHECK(expand(joined, one_family(), sum_monoids, false, 0).size == 1 + 2); // no family has equal pieces
  for (int n = 0; n < expand(mm, two).size; ++n) {                   // every choice is what check says of it
    auto const c = expand(mm, two).at[n];
    operand const operands[] = {tensor_on(c.in[0], 2), tensor_on(c.in[1], 2)};
    CHECK(check(mm, operands).type.on[0] == c.out[0]);
  }
}

TEST_CASE("every rank of a sharded dimension has an index of it") {
  fixed_array<int, max_mesh_axes> const sizes{{2, 3, 4, 1, 1, 1}};
  auto const fits = [&](dims const& x, std::vector<placement_value> const& at) {
    tensor_placement t{.axes = 3, .rank = x.rank};
    for (int a = 0; a < 3; ++a) t.on[a] = at[static_cast<std::size_t>(a)];
    return shardable(t, x, sizes);
  };
  CHECK(fits(dims(6, 4), {S(0), S(0), S(1)}));
  CHECK(!fits(dims(5, 4), {S(0), S(0), S(1)}));
  CHECK(!fits(dims(6, 3), {S(0), S(0), S(1)}));
  CHECK(fits(dims(1, 1), {R, P, R}));
  CHECK(fits(dims::unknown(2), {S(0), S(0), S(0)})); // checked at run time
}

TEST_CASE("a dimension that an operand lacks is refused, whoever is asked for it") {
  auto const says = [](auto const& make) {
    try {
      static_cast<void>(make());
    } catch (shape_error const& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  dims const m(4, 6);
  CHECK(says([&] { return sum(m, over(2)); }) == "over(2): the dimensions of this operand are 0 to 1, or -1 to -2 from behind");
  CHECK(says([&] { return fold(m, monoid::maximum, over(0, -3)); }) == "over(-3): the dimensions of this operand are 0 to 1, or -1 to -2 from behind");
  CHECK(!says([&] { return along(m, over(7)); }).empty());
  CHECK(!says([&] { return move_along(m, over(5)); }).empty());
  CHECK(!says([&] { return cumulative_sum(m, 2); }).empty());
  CHECK(says([&] { return sum(m, over(33)); }) == "over(33): no tensor has more than 8 dimensions");
  CHECK(says([&] { return sum(m, over(0, 1, -1, -2)); }).empty());
  CHECK(says([&] { return sum(m); }).empty());
}

TEST_CASE("what is wrong with a strategy") {
  static constexpr auto m = dims::unknown(2);
  static constexpr strategy all[] = {einsum("mk,kn->mn"),
                                     add(m, m),
                                     sub(m, m),
                                     mul(m, m),
                                     div(m, m),
                                     maximum(m, m),
                                     minimum(m, m),
                                     where(m, m, m),
                                     sum(m),
                                     fold(m, monoid::maximum),
                                     cat(0, {m, m, m}),
                                     stack(1, {m, m}),
                                     move(m, {1, 0}),
                                     index_select(m, 0, kernel_knows::its_place),
                                     gather(m, 0, m, kernel_knows::its_place),
                                     scatter_add(m, 0, m, m),
                                     index_add(m, 1),
                                     embedding(m, kernel_knows::its_place),
                                     mean(m, over_all, false, kernel_knows::its_place),
                                     layer_norm(m, 1),
                                     attention(),
                                     dense_solve(m),
                                     spmv(),
                                     spmv_transposed({1, true, false, true}),
                                     spmv({1, true, true, true}),
                                     sddmm(),
                                     sddmm(1, false),
                                     diagonal(1),
                                     scale_rows(),
                                     scale_rows(1, true),
                                     add_sparse(1, true),
                                     local_preconditioner(),
                                     solve(),
                                     einsum_plus("mk,kn->mn", dims::unknown(1), 0, m, m),
                                     neg(m),
                                     shift(m, -1),
                                     like(m),
                                     equal(m, m)};
  for (auto const& s : all) CHECK(check_strategy(s) == code::ok);
  static constexpr auto s = einsum("mk,kn->mn");
  rule whole;
  CHECK(check_strategy(strategy(s).add(whole)) == code::ambiguous_rule);
  rule other = s.rules[0]; // the rows of the product, but with columns as the result
  other.out[0] = shard_slot(1);
  CHECK(check_strategy(strategy(s).add(other)) == code::ambiguous_rule);
  CHECK(check_strategy(strategy(s).add(s.rules[0])) == code::ok);
  rule third;
  third.in[2] = shard_slot(0);
  CHECK(check_strategy(strategy(s).add(third)) == code::no_rule);
  rule beyond = s.rules[0];
  beyond.out[0] = shard_slot(2);
  CHECK(check_strategy(strategy(s).add(beyond)) == code::no_rule);
  CHECK(check_strategy(einsum("mk,kn")) == code::no_rule);
  CHECK(check_strategy(strategy{}) == code::no_rule);
  std::vector<operand> const three(3, tensor_on(R, 2));
  CHECK(check(s, three).why.what == code::no_rule);
}

TEST_CASE("index notation") {
  static constexpr auto m = dims::unknown(2), b = dims::unknown(3);
  auto const result = [](strategy const& s, std::vector<placement_value> const& at, std::vector<int> const& ranks) {
    std::vector<operand> operands;
    for (std::size_t k = 0; k < at.size(); ++k) operands.push_back(tensor_on(at[k], ranks[k]));
    return check(s, operands);
  };
  static constexpr auto batched = einsum("...mk,kn->...mn", b, m);
  CHECK(result(batched, {S(0), R}, {3, 2}).type.on[0] == S(0));
  CHECK(result(batched, {S(2), S(0)}, {3, 2}).type.on[0] == P);
  CHECK(batched.result_rank[0] == 3);
  static constexpr auto both = einsum("...mk,...kn->...mn", m, b); // leading dimensions are aligned at their last one
  CHECK(result(both, {R, S(0)}, {2, 3}).type.on[0] == S(0));
  CHECK(result(einsum("m_,_n->mn"), {S(1), S(0)}, {2, 2}).why.what == code::layouts_differ); // whole on every rank
  CHECK(result(einsum("m_,_n->mn"), {S(0), R}, {2, 2}).type.on[0] == S(0));
  CHECK(result(einsum("ii->i"), {S(0)}, {2}).why.what == code::layouts_differ);                  // a diagonal
  CHECK(result(einsum("mk,kn->mn", dims(4, 1), dims(6, 5)), {R, S(0)}, {2, 2}).type.on[0] == P); // an extent of 1
  CHECK(!einsum("mk,k", m, m).known);
  CHECK(!einsum("mk,k->m", m).known);
}

TEST_CASE("two axes that shard one dimension nest alike") {
  static constexpr auto m = dims::unknown(2);
  auto const plain = S(0), outer_second = at_level(S(0), 1); // on the first of two axes: the second is outside
  CHECK(on_axes(add(m, m), {{plain, plain}, {plain, plain}}, {2, 2}).type.on[0] == plain);
  auto const kept = on_axes(add(m, m), {{outer_second, plain}, {outer_second, plain}}, {2, 2});
  CHECK(kept.ok());
  CHECK(kept.type.on[0] == outer_second);
  CHECK(on_axes(add(m, m), {{outer_second, plain}, {plain, plain}}, {2, 2}).why ==
        diagnostic{code::layouts_differ, 1, 1});
  static constexpr auto mm = einsum("mk,kn->mn");
  CHECK(on_axes(mm, {{outer_second, plain}, {R, R}}, {2, 2}).type.on[0] == outer_second);
  CHECK(on_axes(mm, {{at_level(S(1), 1), S(1)}, {plain, plain}}, {2, 2}).why.what ==
        code::layouts_differ); // contracted
  CHECK(on_axes(mm, {{at_level(S(1), 1), S(1)}, {outer_second, plain}}, {2, 2}).type.on[1] == P);
  CHECK(on_axes(mm, {{S(0), S(1)}, {R, S(0)}}, {2, 2}).type.on[0] == S(0)); // rows on one, contracted on the other
  CHECK(on_axes(mm, {{S(0), R}, {R, S(1)}}, {2, 2}).type.on[1] == S(1));
  // of three axes the last is outermost, the other two in the order of the mesh
  auto const three = on_axes(move(m, {1, 0}), {{at_level(S(0), 1), at_level(S(0), 1), S(0)}}, {2});
  CHECK(three.type.on[0] == at_level(S(1), 1));
  CHECK(three.type.on[2] == S(1));
}

TEST_CASE("pending reductions of a result commute") {
  static constexpr auto m = dims::unknown(2);
  CHECK(on_axes(sum(m), {{S(0), pending(monoid::average)}}, {2}).type.on[0] == P); // a sum of averages
  CHECK(on_axes(fold(m, monoid::maximum), {{S(0), P}}, {2}).why.what == code::nonlinear_in_partial);
  CHECK(on_axes(cat(0, {m, m}), {{pending(monoid::maximum), R}, {R, pending(monoid::minimum)}}, {2, 2}).why ==
        diagnostic{code::mixed_monoids, 1, -1});
  CHECK(on_axes(cat(0, {m, m}), {{pending(monoid::average), P}, {R, P}}, {2, 2}).ok());
}

TEST_CASE("call_context: in place, on request, by mode") {
  static constexpr auto m = dims::unknown(2);
  auto const with = [](strategy const& s, call_context const& now, std::vector<placement_value> const& at) {
    std::vector<operand> operands;
    for (auto p : at) operands.push_back(tensor_on(p, 2));
    return check(s, operands, now);
  };
  call_context in_place;
  in_place.in_place = 0;
  CHECK(with(add(m, m), in_place, {R, R}).ok());
  CHECK(with(add(m, m), in_place, {V, R}).ok());
  CHECK(with(add(m, m), in_place, {P, P}).ok());
  CHECK(with(add(m, m), in_place, {R, V}).why == diagnostic{code::changed_in_place, 0, 0});
  CHECK(with(mul(m, m), in_place, {R, P}).why.what == code::changed_in_place);
  CHECK(with(zero_in_place(m), in_place, {P}).ok());
  CHECK(with(fill_in_place(m), in_place, {P}).why.what == code::nonlinear_in_partial);
  CHECK(with(fill_in_place(m), in_place, {pending(monoid::average)}).ok());
  CHECK(with(copy_in_place(m, m), in_place, {P, P}).ok());
  CHECK(!with(copy_in_place(m, m), in_place, {P, R}).ok());
  call_context stated;
  stated.explicit_partial = 1;
  static constexpr auto mm = einsum("mk,kn->mn");
  CHECK(with(mm, stated, {S(1), S(0)}).why.what == code::unstated_partial);
  CHECK(with(mm, stated, {P, R}).ok()); // no new pending sum
  stated.out_partial = 1;
  CHECK(with(mm, stated, {S(1), S(0)}).type.on[0] == P);
  CHECK(with(mm, stated, {S(0), R}).why.what == code::unstated_partial);
  CHECK(with(mm, stated, {R, R}).why.what == code::unstated_partial);
  CHECK(with(mm, stated, {Inv, Inv}).why.what == code::unstated_partial);
  CHECK(with(mm, stated, {V, R}).type.on[0] == P);
  call_context global;
  global.global_axes = 1;
  CHECK(with(mm, global, {V, R}).why == diagnostic{code::varying_with_shard, 0, 0});
  CHECK(with(mm, global, {S(0), R}).ok());
}

TEST_CASE("operands without placement") {
  static constexpr auto m = dims::unknown(2);
  placement_value const untyped{};
  std::vector<operand> const one = {tensor_on(untyped, 2), tensor_on(R, 2)};
  CHECK(check(add(m, m), one).why == diagnostic{code::no_placement, 0, 0});
  call_context permissive;
  permissive.permissive = true;
  CHECK(check(add(m, m), one, permissive).ok());
  CHECK(check(add(m, m), one, permissive).type.on[0] == untyped);
  std::vector<operand> const any = {tensor_on(S(0), 2)};
  CHECK(check(random(1, 2), any).type.on[0] == untyped);
  CHECK(check(like(m), any).type.on[0] == S(0));
  for (placement_value p : {R, Inv, V, P, untyped}) {
    std::vector<operand> const x = {tensor_on(p, 2)};
    CHECK(check(like(m), x).type.on[0] == R);
  }
}

TEST_CASE("fused products name the bias") {
  static constexpr auto m = dims::unknown(2);
  static constexpr auto addmm = einsum_plus("mk,kn->mn", m, 0, m, m);
  auto const why = [&](placement_value a, placement_value b, placement_value c) { return on_axes(addmm, {{a}, {b}, {c}}, {2, 2, 2}).why.what; };
  CHECK(why(P, P, R) == code::ok);
  CHECK(why(P, R, P) == code::ok);
  for (auto const& at : {std::vector<placement_value>{P, R, R}, {R, P, R}, {R, R, P}, {R, P, P}})
    CHECK(why(at[0], at[1], at[2]) == code::partial_product_plus_replicate);
  CHECK(why(P, P, P) == code::partial_times_partial);
  CHECK(on_axes(addmm, {{P}, {S(1)}, {S(0)}}, {2, 2, 2}).type.on[0] == P);
  CHECK(why(R, S(1), S(0)) == code::layouts_differ);
  static constexpr auto bias = einsum_plus("mk,kn->mn", dims(5), 0, dims(3, 4), dims(4, 5));
  CHECK(on_axes(bias, {{R}, {S(0)}, {R}}, {1, 2, 2}).type.on[0] == S(0));
  CHECK(on_axes(bias, {{S(0)}, {R}, {S(1)}}, {1, 2, 2}).type.on[0] == S(1));
  CHECK(on_axes(bias, {{R}, {R}, {S(1)}}, {1, 2, 2}).why.what == code::layouts_differ);
}

TEST_CASE("halos in dense operations") {
  static constexpr auto m = dims::unknown(1);
  auto const g = ghost(0), c = ghost(0, true);
  auto const why = [&](strategy const& s, std::vector<std::vector<placement_value>> const& at) {
    return on_axes(s, at, std::vector<int>(at.size(), 1)).why.what;
  };
  CHECK(on_axes(mul(m, m), {{g}, {g}}, {1, 1}).type.on[0] == g);
  CHECK(on_axes(unary(m), {{g}}, {1}).type.on[0] == g);
  CHECK(why(mul(m, m), {{g}, {S(0)}}) == code::layouts_differ);
  CHECK(why(sum(m), {{g}}) == code::reduction_over_ghosts);
  CHECK(on_axes(add(m, m), {{c}, {c}}, {1, 1}).type.on[0] == c); // contributions are a pending sum
  CHECK(on_axes(mul(m, m), {{c}, {g}}, {1, 1}).type.on[0] == c);
  CHECK(on_axes(einsum("i,i->"), {{c}, {g}}, {1, 1}).type.on[0] == P); // the pairing of the two
  CHECK(on_axes(sum(m), {{c}}, {1}).type.on[0] == P);
  CHECK(!on_axes(unary(m), {{c}}, {1}).ok());
  CHECK(!on_axes(mul(m, m), {{c}, {c}}, {1, 1}).ok());
  CHECK(!on_axes(add(m, m), {{c}, {g}}, {1, 1}).ok());
  CHECK(!on_axes(fold(m, monoid::maximum), {{c}}, {1}).ok());
}

TEST_CASE("compositions of many operations split where each of them does") {
  static constexpr dims x(4, 6), row(4, 1);
  auto const normalised = rules::compose([](rules::value const& v) { // along the second dimension
    auto const mean_of = mean(x, over(1), true, kernel_knows::its_place);
    auto const centred = rules::apply(sub(x, row), v, rules::apply(mean_of, v).at[0]).at[0];
    auto const variance = rules::apply(mean_of, rules::apply(mul(x, x), centred, centred).at[0]).at[0];
    return rules::apply(div(x, row), centred, rules::apply(unary(row), variance).at[0]).at[0];
  });
  auto const weights = rules::compose([](rules::value const& v) {
    auto const top = rules::apply(fold(x, monoid::maximum, over(1), true), v).at[0];
    auto const e = rules::apply(unary(x, behaviour::rising), rules::apply(sub(x, row), v, top).at[0]).at[0];
    return rules::apply(div(x, row), e, rules::apply(sum(x, over(1), true), e).at[0]).at[0];
  });
  auto const result = [](auto const& rule, placement_value p) {
    std::vector<operand> const operands = {tensor_on(p, 2)};
    return check(rule, operands);
  };
  for (placement_value p : {R, Inv, V, S(0)}) {
    CHECK(result(normalised, p).type.on[0] == p);
    CHECK(result(weights, p).type.on[0] == p);
  }
  for (placement_value p : {S(1), P}) {
    CHECK(!result(normalised, p).ok());
    CHECK(!result(weights, p).ok());
  }
  CHECK(result(normalised, S(1)).why.what == code::partial_with_varying); // shards minus their pending mean
  CHECK(result(normalised, P).why.what == code::partial_times_partial);   // linear up to the squares
}

} // namespace test_strategies

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The placement fuzz, other extents: the operations of the tables with one to three dimensions, every set of dimensions,
// kept or not, counted from either end, every way to broadcast, reshapes; every combination of placements on one axis.
#include <sla/spmd/rule/table/composite.hpp>
#include <sla/spmd/rule/table/einsum.hpp>
#include <sla/spmd/rule/table/index.hpp>
#include <sla/spmd/rule/table/move.hpp>
#include <sla/spmd/rule/table/pointwise.hpp>
#include <sla/spmd/rule/table/folds.hpp>

#include "dense_kernels.hpp"

namespace fuzz_extents {
namespace {

using namespace fuzz;

bool has_shards(std::vector<tensor_placement> const& types) {
  return std::any_of(types.begin(), types.end(), [](tensor_placement const& t) { return t.on[0].kind == placement_kind::shard; });
}

/// Counts the cases beside what a composition_state counts.
struct cases : composition_state {
  int count = 0;
  std::vector<std::int16_t> families = {2};
  std::vector<int> meshes = {2, 3};
  bool missing = true; // looked for

  /// On 2 and 3 ranks, or those of `meshes`. Refusals without shards are those of the operation, whatever the extents: of few numbers much is
  /// right by chance. A dimension of extent 1 is sharded under no rule, right as that may be.
  template <class K, class... Operands>
  void check(std::string const& operation, std::string const& which, strategy const& s, K const& f, Operands const&... operands) {
    ++count;
    checked_operand const* const all[] = {&operands...};
    for (int ranks : meshes) {
      auto d = one_axis(ranks);
      d.families = families;
      d.one_in = one_in();
      d.missing = missing && d.one_in == 1;
      auto r = check_rule(d, s, f, operands...);
      rule_report shards;
      for (auto const& found : r.findings) {
        bool one = false;
        for (std::size_t k = 0; k < found.operands.size(); ++k)
          if (auto const p = found.operands[k].on[0]; p.kind == placement_kind::shard)
            one = one || all[k]->value.extent(p.dim) == 1;
        bool const missing = found.what == rule_finding::outcome::missing;
        if (missing && !one && has_shards(found.operands)) shards.findings.push_back(found);
      }
      std::erase_if(r.findings, [](rule_finding const& found) {
        return found.what == rule_finding::outcome::missing && has_shards(found.operands);
      });
      add(operation, d, r);
      add(operation + which + " sharded", d, shards);
    }
  }
};

std::string text(shape const& extents) {
  std::string out = "[";
  for (int e : extents) out += (out.size() > 1 ? "x" : "") + std::to_string(e);
  return out + "]";
}
shape without(shape s, int d) { return s.erase(s.begin() + d), s; }
shape with(shape s, int d, int extent) { return s.insert(s.begin() + d, extent), s; }

} // namespace

TEST_CASE("every set of dimensions is folded") {
  cases l;
  using namespace strategies;
  struct {
    char const* name;
    monoid how;
  } const folds[] = {
      {"sum", monoid::sum}, {"maximum", monoid::maximum}, {"minimum", monoid::minimum}, {"product", monoid::product}};
  for (auto const& e : {shape{4}, shape{3, 4}, shape{2, 3, 4}}) {
    auto const x = values(e, 0);
    int const rank = sim::count(e);
    for (unsigned set = 1; set < 1U << rank; ++set)
      for (bool keep : {false, true})
        for (auto const& [name, how] : folds) {
          auto const f = one([=, how = how](auto a) {
            using T = decltype(a[0] + a[0]);
            for (int d = rank; d-- > 0;) {
              if (!(set >> d & 1)) continue;
              auto const kept = with(without(a.extents, d), d, 1);
              a = reduced(a, d, sim::identity_of<T>(how), [=](T const& s, T const& v) { return sim::fold(how, s, v); });
              if (keep) a.extents = kept;
            }
            return a;
          });
          std::uint32_t gone = 0; // where the dimension is kept, counted from the last one
          for (int d = 0; d < rank; ++d)
            if (set >> d & 1) gone |= over(keep ? d - rank : d);
          auto const s = how == monoid::sum ? sum(dims_of(x), gone, keep) : fold(dims_of(x), how, gone, keep);
          l.check(name, text(e) + " over " + std::to_string(set) + (keep ? " kept" : ""), s, f, x);
        }
  }
  CHECK(l.count == 88);
  l.finish();
}

TEST_CASE("every dimension is moved, cut, joined or needed whole") {
  cases l;
  using namespace strategies;
  auto const x = values({2, 3, 4}, 0), y = values({2, 3, 4}, 1);
  auto const d = dims_of(x);
  for (auto const& p : {shape{0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}})
    l.check("permute", text(p), move(d, {p[0], p[1], p[2]}), one([p](auto const& a) { return permuted(a, p); }), x);
  for (int n = 0; n < 3; ++n) {
    int const back = n - 3; // the same dimension, counted from the last one
    auto const tag = " " + std::to_string(n);
    auto const flipped = [n](auto const& a) {
      auto order = sim::all_indices(a.extent(n));
      std::reverse(order.begin(), order.end());
      return take(a, n, order);
    };
    for (auto set : {over(n), over(back)}) l.check("flip", tag, move_along(d, set), one(flipped), x);
    auto const scan = [n](auto a) {
      for (int k = 0; k < a.size(); ++k)
        if (k / a.inner(n) % a.extent(n) > 0) a[k] = a[k] + a[k - a.inner(n)];
      return a;
    };
    for (int c : {n, back}) l.check("prefix sum", tag, cumulative_sum(d, c), one(scan), x);
    auto const shares = [n](auto a) {
      auto const total = reduced(a, n, decltype(a[0] + a[0])(1), [](auto s, auto v) { return s + v * v; });
      for (int k = 0; k < a.size(); ++k) a[k] = a[k] / total[k / (a.inner(n) * a.extent(n)) * a.inner(n) + k % a.inner(n)];
      return a;
    };
    l.check("normalise", tag, along(d, over(back)), one(shares), x);
    auto const select = [n](auto const& a) {
      using T = decltype(a[0] + a[0]);
      return a.extent(n) < 2 ? sim::no_result<T>() : sim::unstack(a, n)[1];
    };
    l.check("select", tag, move(d, {n == 0 ? 1 : 0, n == 2 ? 1 : 2}), one(select), x);
    auto const longer = values(with(without({2, 3, 4}, n), n, 5), 2);
    for (int c : {n, back})
      l.check("cat", tag, cat(c, {d, dims_of(longer)}),
              two([n](auto const& a, auto const& b) { return concatenated(a, b, n); }), x, longer);
  }
  for (int n = 0; n < 4; ++n) {
    auto const wider = one([n](auto a) { return a.extents = with(a.extents, n, 1), a; });
    auto const s = n == 0 ? move(d, {-1, 0, 1, 2}) : n == 1 ? move(d, {0, -1, 1, 2}) : n == 2 ? move(d, {0, 1, -1, 2})
                                                                                              : move(d, {0, 1, 2, -1});
    l.check("unsqueeze", " " + std::to_string(n), s, wider, x);
    for (int c : {n, n - 4})
      l.check("stack", " " + std::to_string(n), stack(c, {d, d}), two([n](auto const& a, auto const& b) {
                using T = decltype(a[0] + a[0]);
                return a.extents != b.extents ? sim::no_result<T>() : sim::stack(sim::on_ranks<T>{a, b}, n);
              }),
              x, y);
  }
  CHECK(l.count == 5 + 3 * 8 + 4 * 3);
  l.finish();
}

TEST_CASE("every way to broadcast two operands") {
  cases l;
  using namespace strategies;
  std::vector<shape> const all = {{}, {4}, {1}, {3, 4}, {3, 1}, {1, 4}, {2, 3, 4}, {2, 1, 4}, {1, 3, 1}};
  for (auto const& ea : all)
    for (auto const& eb : all) {
      auto const a = values(ea, 0), b = positive(eb, 1);
      auto const da = dims_of(a), db = dims_of(b);
      auto const run = [&](std::string const& name, strategy const& s, auto f) {
        l.check(name, text(ea) + text(eb), s, binary(f), a, b);
      };
      switch (l.count % 7) {
      case 0:
        run("add", add(da, db), [](auto x, auto y) { return x + y; });
        break;
      case 1:
        run("mul", mul(da, db), [](auto x, auto y) { return x * y; });
        break;
      case 2:
        run("maximum", maximum(da, db), [](auto x, auto y) { return x < y ? y : x; });
        break;
      case 3:
        run("div", div(da, db), [](auto x, auto y) { return x / y; });
        break;
      case 4:
        run("less", less(da, db), [](auto x, auto y) { return decltype(x)(x < y ? 1 : 0); });
        break;
      case 5:
        run("sub", sub(da, db), [](auto x, auto y) { return x - y; });
        break;
      default:
        run("hypotenuse", pointwise(da, db), [](auto x, auto y) { return x * x + y * y; });
      }
    }
  CHECK(l.count == 81);
  l.finish();
}

TEST_CASE("products in other index notations") {
  cases l;
  using namespace strategies;
  for (char const* spec : {"i->i", "ij->ji", "ij->", "ijk->kij", "ijk->j", "ijk->ik", "ijk->"}) {
    std::string const labels = spec;
    auto const x = labels.find('-') == 1 ? values({4}, 0) : labels.find('-') == 2 ? values({3, 4}, 0) : values({2, 3, 4}, 0);
    l.check(spec, "", einsum(spec, dims_of(x)), one([labels](auto const& a) {
              using T = std::remove_cvref_t<decltype(a[0])>;
              return product<T>(labels, {&a});
            }),
            x);
  }
  std::map<char, int> const extent = {{'b', 2}, {'i', 3}, {'j', 4}, {'k', 5}};
  for (char const* spec : {"ij,jk->ki", "bij,bjk->bik", "ij,ij->", "ij,ji->ij", "bij,j->bi", "bij,bj->bi", "bij,ij->b", "i,bij->bj",
                           "bij,k->bijk", "i,j->", "ij,kj->ik", "ji,jk->ik", "bi,bj->ij", "bij,bij->bj", "bij,ij->bij"}) {
    std::string const labels = spec;
    shape e[2];
    for (std::size_t at = 0, k = 0; labels[at] != '-'; ++at)
      if (labels[at] == ',')
        ++k;
      else
        e[k].push_back(extent.at(labels[at]));
    auto const a = values(e[0], 0), b = values(e[1], 1);
    l.check(spec, "", einsum(spec, dims_of(a), dims_of(b)), two([labels](auto const& x, auto const& y) {
              using T = std::remove_cvref_t<decltype(x[0])>;
              return product<T>(labels, {&x, &y});
            }),
            a, b);
  }
  struct {
    char const *dots, *labels;
    shape a, b;
  } const leading[] = {{"...ij,jk->...ik", "bij,jk->bik", {2, 3, 4}, {4, 5}},
                       {"...ij,...j->...i", "bij,bj->bi", {2, 3, 4}, {2, 4}},
                       {"ij,...j->...i", "ij,bj->bi", {3, 4}, {2, 4}}};
  for (auto const& [dots, labels, ea, eb] : leading) {
    auto const a = values(ea, 0), b = values(eb, 1);
    l.check(dots, "", einsum(dots, dims_of(a), dims_of(b)), two([spec = std::string(labels)](auto const& x, auto const& y) {
              using T = std::remove_cvref_t<decltype(x[0])>;
              return product<T>(spec, {&x, &y});
            }),
            a, b);
  }
  CHECK(l.count == 25);
  l.finish();
}

TEST_CASE("reshapes that keep, merge and cut") {
  cases l;
  l.meshes = {2, 3, 4};
  struct {
    shape from, to;
  } const all[] = {{{6, 2}, {12}},       {{6, 2}, {12, 1}},   {{6, 2, 4}, {6, 8}},   {{6, 2, 4}, {12, 4}}, {{6, 2, 4}, {48}},
                   {{12, 2}, {6, 2, 2}}, {{12}, {6, 2}},      {{12}, {1, 12}},       {{1, 12}, {12}},      {{6, 2, 4}, {6, 4, 2}},
                   {{12, 4}, {6, 8}},    {{2, 12}, {2, 6, 2}}, {{2, 6, 4}, {2, 24}}, {{6, 1, 2}, {12}},    {{6, 4}, {6, 4}},
                   {{6}, {6, 1, 1}},     {{6, 1}, {1, 6}},    {{2, 18}, {2, 6, 3}},  {{6, 6, 2}, {6, 12}}, {{4, 6, 6}, {24, 6}},
                   {{6, 4}, {4, 6}},     {{4, 9}, {6, 6}}};
  for (auto const& [from, to] : all) {
    auto const x = values(from, 0);
    auto const as_placed = [to = to](sim::rank_indices const& at, auto const& a) {
      using T = std::remove_cvref_t<decltype(a[0])>;
      array<T> y(to);
      for (std::size_t d = 0; d < to.size(); ++d) y.extents[d] = sim::count(at.result(0, d, to[d]));
      y = array<T>(y.extents);
      if (y.size() != a.size()) return sim::no_result<T>();
      y.values = a.values;
      return y;
    };
    auto const result = values(to, 0);
    for (bool strided : {false, true}) { // equal pieces; those of a strided shard do not merge
      l.families = {std::int16_t(strided ? 8 : 1)};
      l.missing = !strided;
      l.check("reshape", text(from) + text(to), strategies::reshape(dims_of(x), dims_of(result)), on<int>(as_placed), x);
    }
  }
  CHECK(l.count == 2 * 22);
  l.finish();
}

TEST_CASE("three operands of other shapes") {
  cases l;
  using namespace strategies;
  auto const a = values({3, 2}, 0), b = values({2, 4}, 1);
  auto const plus = [](auto const& bias, auto const& x, auto const& y) {
    using T = std::remove_cvref_t<decltype(x[0])>;
    auto z = product<T>("mk,kn->mn", {&x, &y});
    if (z.extent(0) < 0) return z;
    auto const at = align({bias.extents, z.extents});
    if (!at.fits || at.extents != z.extents) return sim::no_result<T>();
    for (int n = 0; n < z.size(); ++n) z[n] = z[n] + bias[at.places[0][static_cast<std::size_t>(n)]];
    return z;
  };
  auto const fused = on<int, int, int>([plus](sim::rank_indices const&, auto const&... x) { return plus(x...); });
  for (auto const& e : {shape{3, 4}, {4}, {1, 4}, {3, 1}, {1, 1}, {}}) {
    auto const bias = values(e, 2);
    l.check("plus", text(e), einsum_plus("mk,kn->mn", dims_of(bias), 0, dims_of(a), dims_of(b)), fused, bias, a, b);
  }
  struct {
    shape a, b, c;
  } const shapes[] = {{{4}, {3, 4}, {3, 1}}, {{3, 1}, {4}, {3, 4}}, {{}, {3, 4}, {4}}, {{2, 1, 4}, {3, 4}, {1}}};
  for (auto const& [ea, eb, ec] : shapes) {
    auto const m = conditions(ea), x = values(ea, 1), y = values(eb, 2), z = values(ec, 3);
    auto const d = dims_of(x), e = dims_of(y), f = dims_of(z);
    auto const tag = text(ea) + text(eb) + text(ec);
    l.check("where", tag, where(d, e, f), ternary([](auto c, auto u, auto v) { return sim::plain(c) != 0 ? u : v; }), m, y, z);
    l.check("multiply add", tag, multiply_add(d, e, f), ternary([](auto u, auto v, auto w) { return u + v * w; }), x, y, z);
    l.check("lerp", tag, lerp(d, e, f), ternary([](auto u, auto v, auto w) { return u + w * (v - u); }), x, y, z);
  }
  auto const normalised = [](sim::rank_indices const&, auto const& x, auto const& weight, auto const& bias) {
    using T = std::remove_cvref_t<decltype(x[0])>; // over the last two dimensions
    int const n = x.extent(1) * x.extent(2);
    if (sim::with_extent(weight, 0, x.extent(1)) != weight.extents || weight.extents != bias.extents || weight.extent(1) != x.extent(2) || n == 0)
      return sim::no_result<T>();
    auto y = x;
    for (int i = 0; i < x.extent(0); ++i) {
      T mean{}, square{};
      for (int k = 0; k < n; ++k) mean = mean + x[i * n + k] / T(n);
      for (int k = 0; k < n; ++k) square = square + (x[i * n + k] - mean) * (x[i * n + k] - mean);
      for (int k = 0; k < n; ++k) y[i * n + k] = weight[k] * (x[i * n + k] - mean) / sim::sqrt(square + T(1)) + bias[k];
    }
    return y;
  };
  auto const x = values({4, 3, 2}, 0), weight = values({3, 2}, 1), bias = values({3, 2}, 2);
  l.check("layer norm", "", layer_norm(dims_of(x), 2, 1), on<int, int, int>(normalised), x, weight, bias);
  CHECK(l.count == 6 + 12 + 1);
  l.finish();
}

namespace {

/// Where the rank has what an index names, in the dimension that is indexed; -1: nowhere.
int place_of_index(std::vector<int> const& held, double index) {
  auto const at = std::find(held.begin(), held.end(), static_cast<int>(index + 0.5));
  return at == held.end() ? -1 : static_cast<int>(at - held.begin());
}

} // namespace

TEST_CASE("every dimension is indexed") {
  cases l;
  using namespace strategies;
  for (auto const& e : {shape{5}, shape{4, 3}, shape{2, 4, 3}})
    for (int n = 0; n < sim::count(e); ++n)
      for (int c : {n, n - sim::count(e)}) { // the same dimension from either end
        auto const x = values(e, 0);
        auto const d = dims_of(x);
        int const extent = x.value.extent(n);
        auto const some = indices({6}, extent);
        auto const tag = text(e) + " " + std::to_string(n);
        auto const picked = [n](sim::rank_indices const& at, auto const& a, auto const& index) {
          using T = decltype(a[0] + a[0]);
          array<T> y(sim::with_extent(a, n, index.extent(0)));
          for (int j = 0; j < index.extent(0); ++j)
            if (int const from = place_of_index(at.in[0][static_cast<std::size_t>(n)], sim::plain(index[j])); from >= 0)
              put(y, n, {j}, take(a, n, {from}));
          return y;
        };
        l.check("index select", tag, index_select(d, c, kernel_knows::its_place), on<int, int>(picked), x, some);
        auto const map = indices(sim::with_extent(x.value, n, 6), extent);
        auto const gathered = [n](sim::rank_indices const& at, auto const& a, auto const& index) {
          using T = decltype(a[0] + a[0]);
          if (sim::with_extent(a, n, 0) != sim::with_extent(index, n, 0)) return sim::no_result<T>();
          array<T> y(index.extents);
          for (int k = 0; k < index.size(); ++k) {
            int const from = place_of_index(at.in[0][static_cast<std::size_t>(n)], sim::plain(index[k]));
            int const inner = a.inner(n), outer = k / (inner * index.extent(n));
            if (from >= 0) y[k] = a[(outer * a.extent(n) + from) * inner + k % inner];
          }
          return y;
        };
        l.check("gather", tag, gather(d, c, dims_of(map), kernel_knows::its_place), on<int, int>(gathered), x, map);
        if (c != n && e.size() > 1) continue; // three operands: often enough
        auto const source = values(map.value.extents, 1);
        auto const scattered = [n](sim::rank_indices const&, auto const& self, auto const& index, auto const& from) {
          using T = decltype(self[0] + self[0]);
          if (index.extents != from.extents || sim::with_extent(self, n, 0) != sim::with_extent(index, n, 0))
            return sim::no_result<T>();
          auto y = self;
          for (int k = 0; k < index.size(); ++k) {
            int const to = static_cast<int>(sim::plain(index[k]) + 0.5), inner = self.inner(n);
            if (to >= self.extent(n)) return sim::no_result<T>();
            auto& here = y[(k / (inner * index.extent(n)) * self.extent(n) + to) * inner + k % inner];
            here = here + from[k];
          }
          return y;
        };
        l.check("scatter add", tag, scatter_add(d, c, dims_of(map), dims_of(source)), on<int, int, int>(scattered), x, map, source);
      }
  auto const table = values({5, 3}, 0), words = indices({2, 4}, 5);
  auto const lookup = [](sim::rank_indices const& at, auto const& weight, auto const& index) {
    using T = std::remove_cvref_t<decltype(weight[0])>;
    int const width = weight.extent(1);
    array<T> y(with(index.extents, index.rank(), width));
    for (int k = 0; k < index.size(); ++k)
      if (int const from = place_of_index(at.in[0][0], sim::plain(index[k])); from >= 0)
        for (int j = 0; j < width; ++j) y[k * width + j] = weight(from, j);
    return y;
  };
  l.check("embedding", "", embedding(dims_of(words), kernel_knows::its_place), on<int, int>(lookup), table, words);
  CHECK(l.count == 2 * 12 + 7 + 1);
  l.finish();
}

} // namespace fuzz_extents

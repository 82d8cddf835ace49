// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The placement fuzz, reductions and moves of entries, by pattern and by index: every combination of placements on
// small meshes, values and gradients.
#include <sla/spmd/rule/table/index.hpp>
#include <sla/spmd/rule/table/move.hpp>
#include <sla/spmd/rule/table/folds.hpp>

#include "dense_kernels.hpp"

using namespace fuzz;

namespace {

int index_at(double x) { return static_cast<int>(x + 0.5); }
/// Where the local part has global index i in this dimension; -1: another rank has it.
int local_place(std::vector<int> const& held, int i) {
  auto const at = std::find(held.begin(), held.end(), i);
  return at == held.end() ? -1 : static_cast<int>(at - held.begin());
}

} // namespace

TEST_CASE("reductions and what needs a whole dimension") {
  composition_state l;
  using namespace strategies;
  auto const x = values({5, 3}, 0);
  auto const d = dims_of(x);
  for (int dim : {0, 1}) {
    auto const tag = " over " + std::to_string(dim);
    auto const extent = x.value.extent(dim);
    auto run = [&](std::string const& name, strategy const& s, auto f) { on_all_meshes(l, name + tag, s, one(f), x); };
    run("sum", sum(d, over(dim)),
        [=](auto const& a) { return reduced(a, dim, decltype(a[0] + a[0])(0), [](auto s, auto v) { return s + v; }); });
    run("mean", mean(d, over(dim), false, kernel_knows::its_place), [=](auto const& a) {
      using T = decltype(a[0] + a[0]); // divided by the extent of all
      return reduced(a, dim, T(0), [=](auto s, auto v) { return s + v / T(extent); });
    });
    run("product", fold(d, monoid::product, over(dim)),
        [=](auto const& a) { return reduced(a, dim, decltype(a[0] + a[0])(1), [](auto s, auto v) { return s * v; }); });
    run("maximum", fold(d, monoid::maximum, over(dim)), [=](auto const& a) {
      using T = decltype(a[0] + a[0]);
      return reduced(a, dim, sim::identity_of<T>(monoid::maximum), [](auto s, auto v) { return s < v ? v : s; });
    });
    run("norm 1", norm(d, norm_order::one, over(dim)), [=](auto const& a) {
      return reduced(a, dim, decltype(a[0] + a[0])(0), [](auto s, auto v) { return s + sim::abs(v); });
    });
    run("norm infinity", norm(d, norm_order::infinity, over(dim)), [=](auto const& a) {
      using T = decltype(a[0] + a[0]);
      return reduced(a, dim, sim::identity_of<T>(monoid::maximum),
                     [](auto s, auto v) { return s < sim::abs(v) ? sim::abs(v) : s; });
    });
    run("root of squares", unsplit(d, over(dim)), [=](auto const& a) {
      auto y = reduced(a, dim, decltype(a[0] + a[0])(1), [](auto s, auto v) { return s + v * v; });
      for (auto& v : y.values) v = sim::sqrt(v);
      return y;
    });
    auto const scan = [=](auto const& a, auto f) {
      auto y = a;
      for (int o = 0; o < a.outer(dim); ++o)
        for (int j = 1; j < a.extent(dim); ++j)
          for (int i = 0; i < a.inner(dim); ++i) {
            int const n = (o * a.extent(dim) + j) * a.inner(dim) + i;
            y[n] = f(y[n - a.inner(dim)], y[n]);
          }
      return y;
    };
    run("prefix sum", cumulative_sum(d, dim),
        [=](auto const& a) { return scan(a, [](auto s, auto v) { return s + v; }); });
    run("recurrence", along(d, over(dim)),
        [=](auto const& a) { return scan(a, [](auto s, auto v) { return s * v - v; }); });
  }
  auto const y = values({5, 3}, 0);
  on_all_meshes(l, "equal", equal(d, d), two([](auto const& a, auto const& b) {
                  using T = decltype(a[0] + a[0]);
                  array<T> out(std::vector<int>{}, T(1));
                  if (a.extents != b.extents) return sim::no_result<T>();
                  for (int n = 0; n < a.size(); ++n)
                    if (!(a[n] == b[n])) out[0] = T(0);
                  return out;
                }),
                x, y);
  l.finish();
}

TEST_CASE("moves of entries") {
  composition_state l;
  using namespace strategies;
  auto const x = values({5, 3}, 0), y = values({2, 3}, 1), z = values({2, 5, 3}, 2), same = values({5, 3}, 3);
  auto const d = dims_of(x);
  on_all_meshes(l, "transpose", move(d, {1, 0}), one([](auto const& a) { return permuted(a, {1, 0}); }), x);
  on_all_meshes(l, "permute", move(dims_of(z), {2, 0, 1}), one([](auto const& a) {
                  return permuted(a, {2, 0, 1});
                }),
                z);
  on_all_meshes(l, "unsqueeze", move(d, {0, -1, 1}), one([](auto const& a) {
                  auto b = a;
                  b.extents.insert(b.extents.begin() + 1, 1);
                  return b;
                }),
                x);
  on_all_meshes(l, "flip", move_along(d, over(0)), one([](auto const& a) {
                  auto order = sim::all_indices(a.extent(0));
                  std::reverse(order.begin(), order.end());
                  return take(a, 0, order);
                }),
                x);
  on_all_meshes(l, "narrow", move_along(d, over(0)), one([](auto const& a) {
                  using T = decltype(a[0] + a[0]);
                  return a.extent(0) < 3 ? sim::no_result<T>() : take(a, 0, {1, 2});
                }),
                x);
  on_all_meshes(l, "select", move(d, {1}), one([](auto const& a) {
                  using T = decltype(a[0] + a[0]);
                  return a.extent(0) < 3 ? sim::no_result<T>() : sim::unstack(a)[2];
                }),
                x);
  on_all_meshes(l, "cat", cat(0, {d, dims_of(y)}),
                two([](auto const& a, auto const& b) { return concatenated(a, b, 0); }), x, y);
  on_all_meshes(l, "stack", stack(1, {d, d}), two([](auto const& a, auto const& b) {
                  using T = decltype(a[0] + a[0]);
                  return a.extents != b.extents ? sim::no_result<T>() : sim::stack(sim::on_ranks<T>{a, b}, 1);
                }),
                x, same);
  // merged and cut: local extents follow from the outermost dimension
  auto const matrix = values({12, 2}, 4), merged = values({6, 4}, 5);
  on_all_meshes(l, "merge", reshape(dims(6, 4), dims(24)), one([](auto const& a) {
                  auto b = a;
                  b.extents = {a.size()};
                  return b;
                }),
                merged);
  on_all_meshes(l, "cut", reshape(dims(12, 2), dims(6, 2, 2)), one([](auto const& a) {
                  using T = decltype(a[0] + a[0]);
                  auto b = a;
                  b.extents = {a.extent(0) / 2, 2, a.extent(1)};
                  return a.extent(0) % 2 ? sim::no_result<T>() : b;
                }),
                matrix);
  l.finish();
}

TEST_CASE("moves by an index") {
  composition_state l;
  using namespace strategies;
  auto const x = values({5, 3}, 0);
  auto const d = dims_of(x);
  auto const rows = indices({4}, 5), map = indices({5, 3}, 5), narrow = indices({4, 3}, 5), words = indices({7}, 5);
  auto const pick = [](sim::rank_indices const& at, auto const& a, auto const& index) {
    using T = decltype(a[0] + a[0]);
    array<T> y(sim::with_extent(a, 0, index.extent(0)));
    for (int i = 0; i < index.extent(0); ++i) {
      int const from = local_place(at.in[0][0], index_at(sim::plain(index[i])));
      for (int j = 0; j < a.extent(1) && from >= 0; ++j) y(i, j) = a(from, j);
    }
    return y;
  };
  on_all_meshes(l, "index select", index_select(d, 0, kernel_knows::its_place), on<int, int>(pick), x, rows);
  auto const gathered = [](sim::rank_indices const& at, auto const& a, auto const& index) {
    using T = decltype(a[0] + a[0]);
    if (index.extent(1) != a.extent(1)) return sim::no_result<T>();
    array<T> y(index.extents);
    for (int i = 0; i < index.extent(0); ++i)
      for (int j = 0; j < index.extent(1); ++j) {
        int const from = local_place(at.in[0][0], index_at(sim::plain(index(i, j))));
        if (from >= 0) y(i, j) = a(from, j);
      }
    return y;
  };
  on_all_meshes(l, "gather", gather(d, 0, dims(5, 3), kernel_knows::its_place), on<int, int>(gathered), x, map);
  on_all_meshes(l, "gather fewer", gather(d, 0, dims(4, 3), kernel_knows::its_place), on<int, int>(gathered), x, narrow);
  auto const scattered = [](sim::rank_indices const&, auto const& self, auto const& index, auto const& source) {
    using T = decltype(self[0] + self[0]);
    if (index.extents != source.extents || self.extent(1) != index.extent(1)) return sim::no_result<T>();
    auto y = self;
    for (int i = 0; i < index.extent(0); ++i)
      for (int j = 0; j < index.extent(1); ++j) {
        int const to = index_at(sim::plain(index(i, j)));
        if (to >= self.extent(0)) return sim::no_result<T>();
        y(to, j) = y(to, j) + source(i, j);
      }
    return y;
  };
  auto const source = values({4, 3}, 1);
  on_all_meshes(l, "scatter add", scatter_add(d, 0, dims(4, 3), dims(4, 3)), on<int, int, int>(scattered), x, narrow,
                source);
  auto const added = [](sim::rank_indices const&, auto const& self, auto const& index, auto const& from) {
    using T = decltype(self[0] + self[0]);
    if (index.extent(0) != from.extent(0) || self.extent(1) != from.extent(1)) return sim::no_result<T>();
    auto y = self;
    for (int i = 0; i < index.extent(0); ++i)
      for (int j = 0; j < self.extent(1); ++j) {
        int const to = index_at(sim::plain(index[i]));
        if (to >= self.extent(0)) return sim::no_result<T>();
        y(to, j) = y(to, j) + from(i, j);
      }
    return y;
  };
  on_all_meshes(l, "index add", index_add(d, 0), on<int, int, int>(added), x, rows, source);
  auto const lookup = [](sim::rank_indices const& at, auto const& weight, auto const& index) {
    using T = decltype(weight[0] + weight[0]);
    array<T> y({index.extent(0), weight.extent(1)});
    for (int i = 0; i < index.extent(0); ++i) {
      int const from = local_place(at.in[0][0], index_at(sim::plain(index[i])));
      for (int j = 0; j < weight.extent(1) && from >= 0; ++j) y(i, j) = weight(from, j);
    }
    return y;
  };
  on_all_meshes(l, "embedding", embedding(dims_of(words), kernel_knows::its_place), on<int, int>(lookup), x, words);
  l.finish();
}

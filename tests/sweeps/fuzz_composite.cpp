// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The placement fuzz, compositions in one kernel, with all their results: normalisation, attention, dense solves and
// functions of matrices; every combination of placements on small meshes, values and gradients.
#include <sla/spmd/rule/table/composite.hpp>

#include "spmd/fuzz.hpp"

using namespace fuzz;

namespace {

/// (y, mean, reciprocal deviation) of the rows of x.
struct normalised_rows {
  int results = 3;
  template <class T>
  std::vector<array<T>> operator()(array<T> const& x, array<T> const& weight, array<T> const& bias) const {
    int const n = x.extent(1);
    if (weight.extents != bias.extents || weight.extent(0) != n || n == 0) return {sim::no_result<T>()};
    auto y = x;
    array<T> means({x.extent(0), 1}), scales({x.extent(0), 1});
    for (int i = 0; i < x.extent(0); ++i) {
      T mean{}, square{};
      for (int j = 0; j < n; ++j) mean = mean + x(i, j) / T(n);
      for (int j = 0; j < n; ++j) square = square + (x(i, j) - mean) * (x(i, j) - mean);
      T const scale = T(1) / sim::sqrt(square + T(1));
      for (int j = 0; j < n; ++j) y(i, j) = weight(j) * (x(i, j) - mean) * scale + bias(j);
      means(i, 0) = mean, scales(i, 0) = scale;
    }
    std::vector<array<T>> all = {std::move(y), std::move(means), std::move(scales)};
    all.resize(static_cast<std::size_t>(results));
    return all;
  }
};

/// softmax(q k^T) v, and the logarithms of the sums of exponentials.
struct attending {
  int results = 2;
  template <class T>
  std::vector<array<T>> operator()(array<T> const& q, array<T> const& k, array<T> const& v) const {
    int const batch = q.extent(0), heads = q.extent(1), length = q.extent(2), keys = k.extent(2);
    bool fit = k.extent(3) == q.extent(3) && v.extent(2) == keys;
    for (int d = 0; d < 2; ++d) fit = fit && k.extent(d) == q.extent(d) && v.extent(d) == q.extent(d);
    if (!fit || keys == 0) return {sim::no_result<T>()};
    array<T> y({batch, heads, length, v.extent(3)}), sums({batch, heads, length});
    for (int b = 0; b < batch; ++b)
      for (int h = 0; h < heads; ++h)
        for (int i = 0; i < length; ++i) {
          T& sum = sums(b, h, i);
          for (int j = 0; j < keys; ++j) {
            T score{};
            for (int d = 0; d < q.extent(3); ++d) score = score + q(b, h, i, d) * k(b, h, j, d) * T(0.03125);
            T const e = sim::exp(score);
            sum = sum + e;
            for (int d = 0; d < v.extent(3); ++d) y(b, h, i, d) = y(b, h, i, d) + e * v(b, h, j, d);
          }
          for (int d = 0; d < v.extent(3); ++d) y(b, h, i, d) = y(b, h, i, d) / sum;
          sum = sim::log(sum);
        }
    std::vector<array<T>> all = {std::move(y), std::move(sums)};
    all.resize(static_cast<std::size_t>(results));
    return all;
  }
};

/// Forward substitution in a batch of lower triangular matrices, with columns of right-hand sides or without.
struct substitution {
  template <class T>
  array<T> operator()(array<T> const& A, array<T> const& B) const {
    int const batch = A.extent(0), n = A.extent(1), columns = B.inner(1);
    if (A.extent(2) != n || B.extent(1) != n || B.extent(0) != batch) return sim::no_result<T>();
    auto x = B;
    auto const at = [&](int b, int i, int j) -> T& { return x[(b * n + i) * columns + j]; };
    for (int b = 0; b < batch; ++b)
      for (int j = 0; j < columns; ++j)
        for (int i = 0; i < n; ++i) {
          for (int k = 0; k < i; ++k) at(b, i, j) = at(b, i, j) - A(b, i, k) * at(b, k, j);
          at(b, i, j) = at(b, i, j) / A(b, i, i);
        }
    return x;
  }
};

} // namespace

TEST_CASE("normalisation with one result and with three") {
  composition_state l;
  auto const x = values({5, 3}, 2), w = values({3}, 3), bias = values({3}, 4);
  on_all_meshes(l, "layer norm", strategies::layer_norm(dims_of(x), 1, 1), normalised_rows{1}, x, w, bias);
  on_all_meshes(l, "layer norm with statistics", strategies::layer_norm(dims_of(x), 1), normalised_rows{}, x, w, bias);
  l.finish();
}

TEST_CASE("attention with one result and with two") {
  composition_state l;
  auto const q = values({2, 3, 5, 1}, 0), k = values({2, 3, 4, 1}, 1), v = values({2, 3, 4, 6}, 2);
  auto const run = [&](std::string const& name, int results, rule_domain d) {
    d.families = {2};
    l.check(name, d, strategies::attention(results), attending{results}, q, k, v);
  };
  for (int results : {1, 2}) {
    std::string const name = results == 1 ? "attention" : "attention with sums";
    for (int n : {2, 3}) run(name, results, one_axis(n));
    for (int n : {2, 3}) {
      auto d = two_axes(2, n);
      d.one_in = 401;
      run(name + " on two axes", results, d);
    }
  }
  l.finish();
}

TEST_CASE("dense solves and functions of matrices") {
  composition_state l;
  auto const A = positive({3, 2, 2}, 0), B = values({3, 2, 5}, 1), b = values({3, 2}, 2);
  on_all_meshes(l, "triangular solve", strategies::dense_solve(dims_of(A)), substitution{}, A, B);
  on_all_meshes(l, "triangular solve of vectors", strategies::dense_solve(dims_of(A), true), substitution{}, A, b);
  auto const determinants = []<class T>(array<T> const& a) {
    if (a.extent(1) != 2 || a.extent(2) != 2) return sim::no_result<T>();
    array<T> y({a.extent(0)});
    for (int n = 0; n < y.size(); ++n) y[n] = a(n, 0, 0) * a(n, 1, 1) - a(n, 0, 1) * a(n, 1, 0);
    return y;
  };
  on_all_meshes(l, "determinant", strategies::dense_function(dims_of(A), 1), determinants, values({3, 2, 2}, 3));
  l.finish();
}

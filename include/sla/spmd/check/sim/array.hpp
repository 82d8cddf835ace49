// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arrays of the simulated ranks: small, dense, row-major, usable in constant expressions. Who holds which part of one
// is in spmd/check/sim/ranks.hpp. For tests and for checking own rules; not part of spmd.hpp.
#pragma once
#include <cstddef>
#include <limits>
#include <vector>

#include <sla/spmd/placement/placement.hpp>

namespace sla::sim {

/// A row-major array of any number of dimensions; none for a number.
template <class T>
struct array {
  using value_type = T;
  std::vector<int> extents{};
  std::vector<T> values = std::vector<T>(1, T{});

  constexpr array() = default;
  constexpr explicit array(std::vector<int> shape, T fill = T{}) : extents(std::move(shape)) {
    std::size_t n = 1;
    for (int e : extents) n *= static_cast<std::size_t>(e < 0 ? 0 : e);
    values.assign(n, fill);
  }
  constexpr array(std::vector<int> shape, std::vector<T> entries)
      : extents(std::move(shape)), values(std::move(entries)) {}

  constexpr int rank() const { return static_cast<int>(extents.size()); }
  constexpr int size() const { return static_cast<int>(values.size()); }
  constexpr int extent(int d) const { return extents[static_cast<std::size_t>(d)]; }
  constexpr T& operator[](int n) { return values[static_cast<std::size_t>(n)]; }
  constexpr T const& operator[](int n) const { return values[static_cast<std::size_t>(n)]; }
  /// The entry at these indices, one per dimension.
  template <class... Index>
  constexpr T& operator()(Index... i) {
    return (*this)[place(i...)];
  }
  template <class... Index>
  constexpr T const& operator()(Index... i) const {
    return (*this)[place(i...)];
  }
  template <class... Index>
  constexpr int place(Index... i) const {
    int n = 0, d = 0;
    ((n = n * extent(d++) + i), ...);
    return n;
  }
  /// How many entries lie behind one index of dimension d, and how many indices there are before it.
  constexpr int inner(int d) const {
    int n = 1;
    for (int e = d + 1; e < rank(); ++e) n *= extent(e);
    return n;
  }
  constexpr int outer(int d) const {
    int n = 1;
    for (int e = 0; e < d; ++e) n *= extent(e);
    return n;
  }
  constexpr bool operator==(array const&) const = default;
};

/// What a kernel returns where the shapes of its operands do not go together: an array that is never right.
template <class T>
constexpr array<T> no_result() {
  return {std::vector<int>{-1}, std::vector<T>{}};
}

/// What every rank of an axis holds, in rank order.
template <class T>
using on_ranks = std::vector<array<T>>;

/// The number of elements.
template <class V>
constexpr int count(V const& v) {
  return static_cast<int>(v.size());
}

/// The indices 0, ..., n - 1.
constexpr std::vector<int> all_indices(int n) {
  std::vector<int> out(static_cast<std::size_t>(n), 0);
  for (int i = 0; i < n; ++i) out[static_cast<std::size_t>(i)] = i;
  return out;
}

/// The shape of x with another extent in dimension d.
template <class T>
constexpr std::vector<int> with_extent(array<T> const& x, int d, int extent) {
  auto shape = x.extents;
  shape[static_cast<std::size_t>(d)] = extent;
  return shape;
}

/// The entries of x whose index in dimension d is in the list, in its order.
template <class T>
constexpr array<T> take(array<T> const& x, int d, std::vector<int> const& indices) {
  int const m = count(indices), inner = x.inner(d), outer = x.outer(d), extent = x.extent(d);
  array<T> y(with_extent(x, d, m));
  for (int o = 0; o < outer; ++o)
    for (int j = 0; j < m; ++j)
      for (int i = 0; i < inner; ++i)
        y[(o * m + j) * inner + i] = x[(o * extent + indices[static_cast<std::size_t>(j)]) * inner + i];
  return y;
}

/// y[indices in dimension d] = combine(y[indices], part).
template <class T, class Combine>
constexpr void put(array<T>& y, int d, std::vector<int> const& indices, array<T> const& part, Combine combine) {
  int const m = count(indices), inner = y.inner(d), outer = y.outer(d), extent = y.extent(d);
  for (int o = 0; o < outer; ++o)
    for (int j = 0; j < m; ++j)
      for (int i = 0; i < inner; ++i) {
        T& to = y[(o * extent + indices[static_cast<std::size_t>(j)]) * inner + i];
        to = combine(to, part[(o * m + j) * inner + i]);
      }
}
template <class T>
constexpr void put(array<T>& y, int d, std::vector<int> const& indices, array<T> const& part) {
  put(y, d, indices, part, [](T const&, T const& b) { return b; });
}

/// A new dimension d, along which the arrays lie one after the other; and its parts.
template <class T>
constexpr array<T> stack(on_ranks<T> const& xs, int d = 0) {
  auto shape = xs[0].extents;
  shape.insert(shape.begin() + d, count(xs));
  array<T> y(shape);
  int const inner = y.inner(d), outer = y.outer(d), n = count(xs);
  for (int o = 0; o < outer; ++o)
    for (int r = 0; r < n; ++r)
      for (int i = 0; i < inner; ++i) y[(o * n + r) * inner + i] = xs[static_cast<std::size_t>(r)][o * inner + i];
  return y;
}
/// The parts of x along dimension d, which each of them lacks.
template <class T>
constexpr on_ranks<T> unstack(array<T> const& x, int d = 0) {
  on_ranks<T> out;
  for (int r = 0; r < x.extent(d); ++r) {
    auto part = take(x, d, {r});
    part.extents.erase(part.extents.begin() + d);
    out.push_back(std::move(part));
  }
  return out;
}

/// One step of a reduction, and what it begins with.
template <class T>
constexpr T fold(monoid how, T const& a, T const& b) {
  switch (how) {
  case monoid::maximum:
    return a < b ? b : a;
  case monoid::minimum:
    return b < a ? b : a;
  case monoid::product:
    return a * b;
  default:
    return a + b;
  }
}
/// What a reduction begins with.
template <class T>
constexpr T identity_of(monoid how) {
  switch (how) {
  case monoid::maximum:
    return T(std::numeric_limits<double>::lowest());
  case monoid::minimum:
    return T((std::numeric_limits<double>::max)());
  case monoid::product:
    return T(1);
  default:
    return T{};
  }
}

} // namespace sla::sim

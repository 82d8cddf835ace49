// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels of dense operations for the placement fuzz: entry by entry with broadcasting, along dimensions, moves, products
// in index notation. Those of sparse operations are in sparse_kernels.hpp.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "spmd/fuzz.hpp"

namespace fuzz {

using number = sim::dual<sim::detail::directions>;

/// A function on arrays of both number types behind one type, so that one kernel is compiled for all.
template <class... A>
struct kernel {
  template <class T, class>
  using with = array<T> const&;
  std::function<array<double>(sim::rank_indices const&, with<double, A>...)> value;
  std::function<array<number>(sim::rank_indices const&, with<number, A>...)> slopes;
  array<double> operator()(sim::rank_indices const& at, with<double, A>... x) const { return value(at, x...); }
  array<number> operator()(sim::rank_indices const& at, with<number, A>... x) const { return slopes(at, x...); }
};
template <class... A, class F>
kernel<A...> on(F f) {
  return {f, f};
}
template <class F>
auto one(F f) {
  return on<int>([f](sim::rank_indices const&, auto const& x) { return f(x); });
}
template <class F>
auto two(F f) {
  return on<int, int>([f](sim::rank_indices const&, auto const& x, auto const& y) { return f(x, y); });
}

/// Folds dimension d away.
template <class T, class F>
array<T> reduced(array<T> const& x, int d, T start, F f) {
  auto shape = x.extents;
  shape.erase(shape.begin() + d);
  array<T> y(shape, start);
  for (int o = 0; o < x.outer(d); ++o)
    for (int j = 0; j < x.extent(d); ++j)
      for (int i = 0; i < x.inner(d); ++i) {
        auto& to = y[o * x.inner(d) + i];
        to = f(to, x[(o * x.extent(d) + j) * x.inner(d) + i]);
      }
  return y;
}
template <class T>
array<T> permuted(array<T> const& x, std::vector<int> const& from) {
  std::vector<int> shape;
  for (int d : from) shape.push_back(x.extent(d));
  array<T> y(shape);
  for (int n = 0; n < y.size(); ++n) {
    std::vector<int> at(from.size());
    int rest = n;
    for (int d = y.rank(); d-- > 0;)
      at[static_cast<std::size_t>(from[static_cast<std::size_t>(d)])] = rest % y.extent(d), rest /= y.extent(d);
    int place = 0;
    for (int d = 0; d < x.rank(); ++d) place = place * x.extent(d) + at[static_cast<std::size_t>(d)];
    y[n] = x[place];
  }
  return y;
}
template <class T>
array<T> concatenated(array<T> const& x, array<T> const& y, int d) {
  if (sim::with_extent(x, d, 0) != sim::with_extent(y, d, 0)) return sim::no_result<T>();
  array<T> z(sim::with_extent(x, d, x.extent(d) + y.extent(d)));
  put(z, d, sim::all_indices(x.extent(d)), x);
  auto rest = sim::all_indices(y.extent(d));
  for (int& i : rest) i += x.extent(d);
  put(z, d, rest, y);
  return z;
}

/// The places of operands that are aligned at their last dimensions, an extent of 1 serving all, for every entry of the
/// result, and its extents. Nothing if they do not go together.
struct alignment {
  std::vector<int> extents{};
  std::vector<std::vector<int>> places{};
  bool fits = true;
};
inline alignment align(std::vector<std::vector<int>> const& shapes) {
  alignment out;
  for (auto const& a : shapes)
    for (auto back = a.size(); back > 0; --back) {
      while (out.extents.size() < back) out.extents.insert(out.extents.begin(), 1);
      int& e = out.extents[out.extents.size() - back];
      int const mine = a[a.size() - back];
      if (e != mine && e != 1 && mine != 1) out.fits = false;
      if (e == 1) e = mine;
    }
  array<double> const y(out.extents);
  for (auto const& a : shapes) {
    std::vector<int> places;
    for (int n = 0; n < y.size(); ++n) {
      int place = 0, rest = n, stride = 1;
      for (int d = y.rank(); d-- > 0;) {
        int const i = rest % y.extent(d), e = d - (y.rank() - sim::count(a));
        rest /= y.extent(d);
        if (e < 0) continue;
        if (a[static_cast<std::size_t>(e)] != 1) place += i * stride;
        stride *= a[static_cast<std::size_t>(e)];
      }
      places.push_back(place);
    }
    out.places.push_back(std::move(places));
  }
  return out;
}

/// A function of N numbers, entry by entry: one type for all functions, so that one kernel is compiled.
template <class... N>
struct entrywise {
  template <class>
  using also = number;
  double (*value)(N...);
  number (*slopes)(also<N>...);

  array<double> operator()(array<N> const&... x) const { return zip(value, x...); }
  array<number> operator()(array<also<N>> const&... x) const { return zip(slopes, x...); }

private:
  template <class F, class First, class... A>
  static First zip(F f, First const& first, A const&... rest) {
    auto const at = align({first.extents, rest.extents...});
    if (!at.fits) return sim::no_result<typename First::value_type>();
    First y(at.extents);
    for (int n = 0; n < y.size(); ++n) {
      std::size_t k = 1;
      [[maybe_unused]] auto const place = [&] { return at.places[k++][static_cast<std::size_t>(n)]; };
      auto const entries = std::tuple{first[at.places[0][static_cast<std::size_t>(n)]], rest[place()]...}; // in order
      y[n] = std::apply(f, entries);
    }
    return y;
  }
};
template <class F>
auto unary(F f) {
  return entrywise<double>{f, f};
}
template <class F>
auto binary(F f) {
  return entrywise<double, double>{f, f};
}
template <class F>
auto ternary(F f) {
  return entrywise<double, double, double>{f, f};
}

/// "mk,kn->mn" on arrays of equal label extents.
template <class T>
array<T> product(std::string const& spec, std::vector<array<T> const*> const& x) {
  std::map<char, int> extents;
  std::vector<std::string> labels(1);
  auto const arrow = spec.find("->");
  for (char c : spec.substr(0, arrow))
    if (c == ',')
      labels.emplace_back();
    else
      labels.back() += c;
  for (std::size_t k = 0; k < x.size(); ++k)
    for (int d = 0; d < x[k]->rank(); ++d) {
      auto const [at, first] = extents.try_emplace(labels[k][static_cast<std::size_t>(d)], x[k]->extent(d));
      if (!first && at->second != x[k]->extent(d)) return sim::no_result<T>();
    }
  auto const out = spec.substr(arrow + 2);
  std::string order = out;
  for (auto const& [c, e] : extents)
    if (order.find(c) == std::string::npos) order += c;
  std::vector<int> shape;
  int terms = 1;
  for (char c : out) shape.push_back(extents[c]);
  for (char c : order) terms *= extents[c];
  array<T> y(shape);
  for (int n = 0; n < terms; ++n) { // the labels of the result vary slowest
    std::map<char, int> at;
    int rest = n;
    for (auto c = order.rbegin(); c != order.rend(); ++c) at[*c] = rest % extents[*c], rest /= extents[*c];
    auto const place = [&](std::string const& l) {
      int p = 0;
      for (char c : l) p = p * extents[c] + at[c];
      return p;
    };
    T term(1);
    for (std::size_t k = 0; k < x.size(); ++k) term = term * (*x[k])[place(labels[k])];
    y[place(out)] = y[place(out)] + term;
  }
  return y;
}

} // namespace fuzz

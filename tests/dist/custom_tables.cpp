// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The strategies of the rule tables with plain kernels, through `custom` on thread ranks: in every combination of placements that a
// strategy accepts, the parts of 2 and 3 ranks make the result of one. And kernels that are told where their parts stand.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/engine/threads.hpp>
#include <sla/dist/grad/custom.hpp>
#include <sla/dist/value/explain_placement.hpp>
#include <sla/spmd/rule/tables.hpp>

#include "catch.hpp"

using namespace sla;

namespace tables {
using V = tensor<double, Extents<dyn>>;
using M = tensor<double, Extents<dyn, dyn>>;
using T3 = tensor<double, Extents<dyn, dyn, dyn>>;
using T4 = tensor<double, Extents<dyn, dyn, dyn, dyn>>;
using Mesh = mesh<axis<"tp">>;

inline constexpr dims v = dims::unknown(1), m = dims::unknown(2), t = dims::unknown(3);

// ---- kernels of whole operands, which know nothing of ranks
inline index_t at(M const& x, index_t i, index_t j) { return i * x.extent(1) + j; }
inline V line(index_t n, double value = 0) { return full<double, Extents<dyn>>(Extents<dyn>(n), value); }
inline M grid(index_t rows, index_t cols, double value = 0) { return full<double, Extents<dyn, dyn>>(Extents<dyn, dyn>(rows, cols), value); }
/// Each column, or each row, as a list to a number.
template <int D, class F>
V along(M const& x, F f) {
  V y = line(x.extent(1 - D));
  for (index_t k = 0; k < y.size(); ++k) {
    std::vector<double> line;
    for (index_t n = 0; n < x.extent(D); ++n) line.push_back(x[D == 0 ? at(x, n, k) : at(x, k, n)]);
    y[k] = f(line);
  }
  return y;
}
/// Each row to a row of `count` numbers, -1: of as many as before.
template <class F>
M rows_of(M const& x, F f, index_t count = -1) {
  M y = grid(x.extent(0), count < 0 ? x.extent(1) : count);
  for (index_t i = 0; i < x.extent(0); ++i) {
    std::vector<double> line;
    for (index_t j = 0; j < x.extent(1); ++j) line.push_back(x[at(x, i, j)]);
    f(line);
    for (index_t j = 0; j < y.extent(1); ++j) y[at(y, i, j)] = line[std::size_t(j)];
  }
  return y;
}
inline double sum_of(std::vector<double> const& x) {
  double s = 0;
  for (double a : x) s += a;
  return s;
}
inline double mean_of(std::vector<double> const& x) { return sum_of(x) / double(x.size()); }
inline double fold_of(std::vector<double> const& x, double start, double (*f)(double, double)) {
  for (double a : x) start = f(start, a);
  return start;
}
inline constexpr double most = std::numeric_limits<double>::infinity();

#define SLA_TABLE(name, rule, ...)                  \
  struct name {                                     \
    static auto apply(__VA_ARGS__);                 \
  };                                                \
  } /* namespace tables */                          \
  template <>                                       \
  inline constexpr auto sla::rule_of<tables::name> = [] { using namespace sla::strategies; using tables::v; using tables::m; using tables::t; return rule; }(); \
  namespace tables {                                \
  auto name::apply(__VA_ARGS__)

SLA_TABLE(column_sums, sum(m, over(0)), M const& x) { return along<0>(x, sum_of); }
SLA_TABLE(column_means, mean(m, over(0)), M const& x) { return along<0>(x, mean_of); }
SLA_TABLE(row_means, mean(m, over(1)), M const& x) { return along<1>(x, mean_of); }
SLA_TABLE(mean_of_vector, mean(v, over_all, true), V const& x) { return line(1, mean_of({x.begin(), x.end()})); }
SLA_TABLE(row_maxima, fold(m, monoid::maximum, over(1)), M const& x) {
  return along<1>(x, [](auto const& l) { return fold_of(l, -most, [](double a, double b) { return std::max(a, b); }); });
}
SLA_TABLE(column_minima, fold(m, monoid::minimum, over(0)), M const& x) {
  return along<0>(x, [](auto const& l) { return fold_of(l, most, [](double a, double b) { return std::min(a, b); }); });
}
SLA_TABLE(row_products, fold(m, monoid::product, over(1)), M const& x) {
  return along<1>(x, [](auto const& l) { return fold_of(l, 1, [](double a, double b) { return a * b; }); });
}
SLA_TABLE(variances, unsplit(m, over(0)), M const& x) {
  return along<0>(x, [](auto l) {
    double const mean = mean_of(l);
    for (double& a : l) a = (a - mean) * (a - mean);
    return mean_of(l);
  });
}
SLA_TABLE(places_of_maxima, unsplit(m, over(1)), M const& x) {
  return along<1>(x, [](auto const& l) { return double(std::max_element(l.begin(), l.end()) - l.begin()); });
}
SLA_TABLE(norms_1, norm(m, norm_order::one, over(1)), M const& x) {
  return along<1>(x, [](auto const& l) { return fold_of(l, 0, [](double a, double b) { return a + std::abs(b); }); });
}
SLA_TABLE(norms_2, norm(m, norm_order::other, over(1)), M const& x) {
  return along<1>(x, [](auto const& l) { return std::sqrt(fold_of(l, 0, [](double a, double b) { return a + b * b; })); });
}
SLA_TABLE(norms_inf, norm(m, norm_order::infinity, over(0)), M const& x) {
  return along<0>(x, [](auto const& l) { return fold_of(l, 0, [](double a, double b) { return std::max(a, std::abs(b)); }); });
}
SLA_TABLE(least_magnitudes, norm(m, norm_order::minus_infinity, over(0)), M const& x) {
  return along<0>(x, [](auto const& l) { return fold_of(l, most, [](double a, double b) { return std::min(a, std::abs(b)); }); });
}
SLA_TABLE(counts, norm(m, norm_order::zero, over(0)), M const& x) {
  return along<0>(x, [](auto const& l) { return fold_of(l, 0, [](double a, double b) { return a + (b > 0.1); }); });
}
SLA_TABLE(softmax, strategies::along(m, over(1)), M const& x) {
  return rows_of(x, [](auto& l) {
    for (double& a : l) a = std::exp(a);
    double const s = sum_of(l);
    for (double& a : l) a /= s;
  });
}
SLA_TABLE(sorted_rows, strategies::along(m, over(1)), M const& x) {
  return rows_of(x, [](auto& l) { std::sort(l.begin(), l.end()); });
}
SLA_TABLE(two_largest, strategies::along(m, over(1)), M const& x) {
  return rows_of(x, [](auto& l) { std::sort(l.rbegin(), l.rend()); }, 2);
}
SLA_TABLE(prefix_sums, cumulative_sum(m, 1), M const& x) {
  return rows_of(x, [](auto& l) {
    for (std::size_t j = 1; j < l.size(); ++j) l[j] += l[j - 1];
  });
}
SLA_TABLE(normalised, layer_norm(m, 1, 1), M const& x, V const& w, V const& bias) {
  return rows_of(x, [&](auto& l) {
    double const mean = mean_of(l);
    double square = 1;
    for (double a : l) square += (a - mean) * (a - mean);
    for (std::size_t j = 0; j < l.size(); ++j) l[j] = w[index_t(j)] * (l[j] - mean) / std::sqrt(square) + bias[index_t(j)];
  });
}
SLA_TABLE(equal_vectors, equal(v, v), V const& x, V const& y) { return std::equal(x.begin(), x.end(), y.begin()) ? 1.0 : 0.0; }

// by an index
SLA_TABLE(picked_rows, index_select(m, 0), M const& x, V const& rows) {
  M y = grid(rows.extent(0), x.extent(1));
  for (index_t n = 0; n < y.size(); ++n) {
    auto const from = index_t(rows[n / x.extent(1)]);
    y[n] = from < x.extent(0) ? x[at(x, from, n % x.extent(1))] : 1e3; // past the end of a part
  }
  return y;
}
SLA_TABLE(gathered, strategies::gather(m, 0, m), M const& x, M const& index) {
  M y = grid(index.extent(0), index.extent(1));
  for (index_t n = 0; n < y.size(); ++n) y[n] = index_t(index[n]) < x.extent(0) ? x[at(x, index_t(index[n]), n % x.extent(1))] : 1e3;
  return y;
}
SLA_TABLE(scattered, scatter_add(m, 0, m, m), M const& self, M const& index, M const& source) {
  M y = self;
  for (index_t n = 0; n < source.size(); ++n)
    if (index_t(index[n]) < y.extent(0)) y[at(y, index_t(index[n]), n % y.extent(1))] += source[n];
  return y;
}
SLA_TABLE(added_rows, index_add(m, 0), M const& self, V const& rows, M const& source) {
  M y = self;
  for (index_t n = 0; n < source.size(); ++n)
    if (auto const to = index_t(rows[n / y.extent(1)]); to < y.extent(0)) y[at(y, to, n % y.extent(1))] += source[n];
  return y;
}
SLA_TABLE(words, embedding(v), M const& weight, V const& index) { return picked_rows::apply(weight, index); }
SLA_TABLE(one_hot, contraction("i->i_"), V const& index) {
  M y = grid(index.extent(0), 5);
  for (index_t i = 0; i < index.extent(0); ++i) y[at(y, i, index_t(index[i]))] = 1;
  return y;
}

// moves and what makes tensors
SLA_TABLE(transposed, move(m, {1, 0}), M const& x) {
  M y = grid(x.extent(1), x.extent(0));
  for (index_t n = 0; n < x.size(); ++n) y[at(y, n % x.extent(1), n / x.extent(1))] = x[n];
  return y;
}
SLA_TABLE(flipped, move_along(m, over(1)), M const& x) {
  return rows_of(x, [](auto& l) { std::reverse(l.begin(), l.end()); });
}
SLA_TABLE(narrowed, move_along(m, over(1)), M const& x) {
  return rows_of(x, [](auto&) {}, 2);
}
SLA_TABLE(third_row, move(m, {1}), M const& x) {
  return along<0>(x, [](auto const& l) { return l[2]; });
}
SLA_TABLE(upper, triangle(m), M const& x) {
  M y = x;
  for (index_t n = 0; n < x.size(); ++n)
    if (n % x.extent(1) < n / x.extent(1)) y[n] = 0;
  return y;
}
SLA_TABLE(above, cat(0, {m, m}), M const& x, M const& y) {
  M z = grid(x.extent(0) + y.extent(0), x.extent(1));
  std::copy(x.begin(), x.end(), z.begin());
  std::copy(y.begin(), y.end(), z.begin() + x.size());
  return z;
}
SLA_TABLE(stacked, stack(1, {v, v}), V const& x, V const& y) {
  M z = grid(x.extent(0), 2);
  for (index_t i = 0; i < x.size(); ++i) z[2 * i] = x[i], z[2 * i + 1] = y[i];
  return z;
}
SLA_TABLE(merged, reshape(dims(12, 4), dims(48)), M const& x) {
  V y = line(x.size());
  std::copy(x.begin(), x.end(), y.begin());
  return y;
}
SLA_TABLE(ones_like_x, like(m), M const& x) { return grid(x.extent(0), x.extent(1), 1.0); }
SLA_TABLE(first_numbers, from_scalars(1, 1), V const& x) {
  V y = line(7);
  for (index_t i = 0; i < 7; ++i) y[i] = x[0] + double(i);
  return y;
}
SLA_TABLE(zeroed, zero_in_place(m), M const& x) { return grid(x.extent(0), x.extent(1), 0.0); }
SLA_TABLE(filled, fill_in_place(m), M const& x) { return grid(x.extent(0), x.extent(1), 3.0); }
SLA_TABLE(copied, copy_in_place(m, m), M const&, M const& y) { return y; }

// entry by entry, and products
template <class F>
M zip(F f, M const& first, auto const&... rest) {
  M y = grid(first.extent(0), first.extent(1));
  for (index_t n = 0; n < y.size(); ++n) y[n] = f(first[n], rest[n]...);
  return y;
}
SLA_TABLE(added, add(m, m), M const& x, M const& y) { return M(x + y); }
SLA_TABLE(difference, sub(m, m), M const& x, M const& y) { return M(x - y); }
SLA_TABLE(times, mul(m, m), M const& x, M const& y) { return M(x * y); }
SLA_TABLE(over_y, div(m, m), M const& x, M const& y) { return M(x / y); }
SLA_TABLE(larger, strategies::maximum(m, m), M const& x, M const& y) { return zip([](double a, double b) { return std::max(a, b); }, x, y); }
SLA_TABLE(smaller, strategies::minimum(m, m), M const& x, M const& y) { return zip([](double a, double b) { return std::min(a, b); }, x, y); }
SLA_TABLE(below, less(m, m), M const& x, M const& y) { return zip([](double a, double b) { return double(a < b); }, x, y); }
SLA_TABLE(chosen, where(m, m, m), M const& c, M const& x, M const& y) { return zip([](double a, double b, double d) { return a > 0 ? b : d; }, c, x, y); }
SLA_TABLE(cleared, masked_fill(m, m, true), M const& x, M const& c) { return zip([](double a, double b) { return b > 0 ? a : 0; }, x, c); }
SLA_TABLE(blend, lerp(m, m, m), M const& x, M const& y, M const& w) { return zip([](double a, double b, double c) { return a + c * (b - a); }, x, y, w); }
SLA_TABLE(fused, multiply_add(m, m, m), M const& z, M const& x, M const& y) { return M(z + x * y); }
SLA_TABLE(twice, scale(m), M const& x) { return M(2.0 * x); }
SLA_TABLE(minus_twice, scale(m, -1), M const& x) { return M(-2.0 * x); }
SLA_TABLE(shifted, shift(m), M const& x) { return M(x + 1.0); }
SLA_TABLE(exponentials, strategies::unary(m, behaviour::rising), M const& x) { return M(exp(x)); }
SLA_TABLE(rounded, stepwise(m), M const& x) { return zip([](double a) { return std::floor(4 * a); }, x); }
SLA_TABLE(product, einsum("mk,kn->mn"), M const& a, M const& b) {
  M c = grid(a.extent(0), b.extent(1));
  for (index_t i = 0; i < a.extent(0); ++i)
    for (index_t k = 0; k < a.extent(1); ++k)
      for (index_t j = 0; j < b.extent(1); ++j) c[at(c, i, j)] += a[at(a, i, k)] * b[at(b, k, j)];
  return c;
}
SLA_TABLE(linear_layer, einsum_plus("mk,kn->mn", v, 2, m, m), M const& a, M const& b, V const& bias) {
  M c = product::apply(a, b);
  for (index_t n = 0; n < c.size(); ++n) c[n] += bias[n % c.extent(1)];
  return c;
}
SLA_TABLE(lower_solve, dense_solve(m), M const& a, M const& b) {
  M x = b;
  for (index_t i = 0; i < a.extent(0); ++i)
    for (index_t j = 0; j < b.extent(1); ++j) {
      for (index_t k = 0; k < i; ++k) x[at(x, i, j)] -= a[at(a, i, k)] * x[at(x, k, j)];
      x[at(x, i, j)] /= 2 + a[at(a, i, i)];
    }
  return x;
}
SLA_TABLE(traces, dense_function(t, 1), T3 const& x) {
  V y = line(x.extent(0));
  for (index_t b = 0; b < y.size(); ++b)
    for (index_t i = 0; i < x.extent(1); ++i) y[b] += x[(b * x.extent(1) + i) * x.extent(2) + i];
  return y;
}
SLA_TABLE(attended, attention(1), T4 const& q, T4 const& k, T4 const& w) {
  index_t const heads = q.extent(1), length = q.extent(2), keys = k.extent(2), width = q.extent(3), out = w.extent(3);
  T4 y({q.extent(0), heads, length, out});
  for (index_t h = 0; h < q.extent(0) * heads; ++h)
    for (index_t i = 0; i < length; ++i) {
      double total = 0;
      for (index_t j = 0; j < keys; ++j) {
        double score = 0;
        for (index_t d = 0; d < width; ++d) score += q[(h * length + i) * width + d] * k[(h * keys + j) * width + d];
        total += std::exp(score);
        for (index_t d = 0; d < out; ++d) y[(h * length + i) * out + d] += std::exp(score) * w[(h * keys + j) * out + d];
      }
      for (index_t d = 0; d < out; ++d) y[(h * length + i) * out + d] /= total;
    }
  return y;
}

// ---- kernels that are told where their parts stand, by rules that hold for no others
/// Where this rank has the global index i; -1: nowhere.
inline index_t place_of(std::vector<index_t> const& held, double i) {
  auto const at = std::find(held.begin(), held.end(), index_t(i));
  return at == held.end() ? -1 : at - held.begin();
}
SLA_TABLE(told_means, mean(m, over(0), false, kernel_knows::its_place), std::array<rank_share, 1> const& here, M const& x) {
  return V(column_sums::apply(x) / double(here[0].whole[0]));
}
SLA_TABLE(told_upper, triangle(m, kernel_knows::its_place), std::array<rank_share, 1> const& here, M const& x) {
  M y = x;
  for (index_t n = 0; n < x.size(); ++n)
    if (here[0].indices[1][std::size_t(n % x.extent(1))] < here[0].indices[0][std::size_t(n / x.extent(1))]) y[n] = 0;
  return y;
}
SLA_TABLE(told_gathered, strategies::gather(m, 0, m, kernel_knows::its_place), std::array<rank_share, 2> const& here, M const& x, M const& index) {
  M y = grid(index.extent(0), index.extent(1));
  for (index_t n = 0; n < y.size(); ++n)
    if (auto const from = place_of(here[0].indices[0], index[n]); from >= 0) y[n] = x[at(x, from, n % x.extent(1))];
  return y;
}
struct told_words { // rows of a vocabulary that is sharded, and its gradient
  static M apply(std::array<rank_share, 2> const& here, M const& weight, V const& index) {
    M y = grid(index.extent(0), weight.extent(1));
    for (index_t n = 0; n < y.size(); ++n)
      if (auto const from = place_of(here[0].indices[0], index[n / y.extent(1)]); from >= 0) y[n] = weight[at(weight, from, n % y.extent(1))];
    return y;
  }
  static M pullback(operand_number<0>, std::array<rank_share, 2> const& here, M const& weight, V const& index, M const& g) {
    M y = grid(weight.extent(0), weight.extent(1));
    for (index_t n = 0; n < g.size(); ++n)
      if (auto const to = place_of(here[0].indices[0], index[n / g.extent(1)]); to >= 0) y[at(y, to, n % g.extent(1))] += g[n];
    return y;
  }
  static V pullback(operand_number<1>, std::array<rank_share, 2> const&, M const&, V const& index, M const&) { return line(index.size()); }
};
/// Says that it makes as many rows as it takes, and makes one more.
SLA_TABLE(one_row_more, strategies::unary(m), M const& x) { return grid(x.extent(0) + 1, x.extent(1)); }
} // namespace tables
template <>
inline constexpr auto sla::rule_of<tables::told_words> = sla::strategies::embedding(tables::v, sla::kernel_knows::its_place);
namespace tables {
// ---- every combination of placements that the rule accepts
template <class P, class X>
auto spread(Mesh const& world, X const& x) {
  if constexpr (P::kind != placement_kind::partial) {
    return distribute<P>(x, world);
  } else { // parts that differ on all ranks
    auto const whole = distribute<Replicate>(x, world);
    X part = x;
    int const ranks = world.size(0), rank = world.coordinate(0);
    constexpr auto fold = detail::tensor_placement_of<distributed<X, Mesh, P>>.on[0].fold;
    for (index_t n = 0; n < x.size(); ++n) {
      double const other = 0.25 + 0.125 * double(n % 5);
      bool const mine = n % ranks == rank;
      if (fold == monoid::sum) part[n] = mine ? x[n] - other * (ranks - 1) : other;
      if (fold == monoid::average) part[n] = x[n] + other * (rank - (ranks - 1) / 2.0);
      if (fold == monoid::maximum) part[n] = mine ? x[n] : x[n] - other;
      if (fold == monoid::minimum) part[n] = mine ? x[n] : x[n] + other;
      if (fold == monoid::product) part[n] = mine ? x[n] * std::pow(2.0, ranks - 1) : 0.5;
    }
    return distributed<X, Mesh, P>(std::move(part), whole.handle());
  }
}

/// Of an operand of so many dimensions. Three operands have many combinations: there only sums are pending.
template <class F, bool Sums, class Dims>
struct placements_for;
template <class F, int... D>
struct placements_for<F, false, std::integer_sequence<int, D...>> {
  using type = placements<Replicate, Shard<D, F>..., Partial<Sum>, Partial<Avg>, Partial<Max>, Partial<Min>, Partial<Prod>>;
};
template <class F, int... D>
struct placements_for<F, true, std::integer_sequence<int, D...>> {
  using type = placements<Replicate, Shard<D, F>..., Partial<Sum>>;
};

/// What went wrong, and how often an operand was sharded or pending.
struct outcome {
  std::string wrong;
  int tried = 0;
};

template <class Op, class Family, class... P, class... X>
void try_placements(outcome& out, Mesh const& world, placements<P...>, X const&... x) {
  if constexpr (sizeof...(P) == sizeof...(X)) {
    if constexpr (well_typed<Op, distributed<X, Mesh, P>...> && !(std::same_as<P, Replicate> && ...)) {
      auto const y = gather(custom<Op>(spread<P>(world, x)...));
      auto const right = custom<Op>(spread<Replicate>(world, x)...).local();
      double error = 0;
      if constexpr (std::is_arithmetic_v<decltype(right)>)
        error = std::abs(y - right);
      else if (y.extents() != right.extents())
        error = 1e9;
      else
        for (index_t n = 0; n < y.size(); ++n) error = std::max(error, std::abs(y[n] - right[n]));
      ++out.tried;
      if (!(error <= 1e-12)) out.wrong += " (" + ((detail::placement_words<P>() + " ") + ...) + "is off by " + std::to_string(error) + ")";
    }
  } else {
    using Next = std::tuple_element_t<sizeof...(P), std::tuple<X...>>;
    [&]<class... Q>(placements<Q...>) {
      (try_placements<Op, Family>(out, world, placements<P..., Q>{}, x...), ...);
    }(typename placements_for<Family, (sizeof...(X) > 2), std::make_integer_sequence<int, Next::rank>>::type{});
  }
}

template <class Op, class Family = Balanced, class... X>
void check_table(char const* name, int least, X const&... x) {
  for (int ranks : {2, 3})
    for (auto const& out : threads::run(ranks, [&](auto& world) {
           outcome one;
           try_placements<Op, Family>(one, Mesh(world), placements<>{}, x...);
           return one;
         })) {
      INFO(name << " on " << ranks << " ranks");
      CHECK(out.wrong == "");
      CHECK(out.tried >= least);
    }
}
inline M some(index_t rows, index_t cols, int seed) { return random<double, Extents<dyn, dyn>>({rows, cols}, std::uint64_t(seed)); }
inline V some(index_t n, int seed) { return random<double, Extents<dyn>>({n}, std::uint64_t(seed)); }
inline M indices(index_t rows, index_t cols, index_t below) {
  M x = grid(rows, cols);
  for (index_t n = 0; n < x.size(); ++n) x[n] = double((7 * n + 3) % below);
  return x;
}
inline V indices(index_t n, index_t below) {
  V x = line(n);
  for (index_t i = 0; i < n; ++i) x[i] = double((7 * i + 3) % below);
  return x;
}

#define CHECK_TABLE(name, ...) check_table<name>(#name, __VA_ARGS__)

TEST_CASE("reductions and what needs a whole dimension, with plain kernels on ranks") {
  M const x = some(7, 5, 1), y = some(7, 5, 2);
  CHECK_TABLE(column_sums, 4, x);
  CHECK_TABLE(column_means, 3, x);
  CHECK_TABLE(row_means, 3, x);
  CHECK_TABLE(mean_of_vector, 2, V{1.0, 2.0, 3.0, 4.0});
  CHECK_TABLE(row_maxima, 3, x);
  CHECK_TABLE(column_minima, 3, x);
  CHECK_TABLE(row_products, 3, x);
  CHECK_TABLE(variances, 1, x);
  CHECK_TABLE(places_of_maxima, 1, x);
  CHECK_TABLE(norms_1, 2, x);
  CHECK_TABLE(norms_2, 1, x);
  CHECK_TABLE(norms_inf, 2, x);
  CHECK_TABLE(least_magnitudes, 2, x);
  CHECK_TABLE(counts, 2, x);
  CHECK_TABLE(softmax, 1, x);
  CHECK_TABLE(sorted_rows, 1, x);
  CHECK_TABLE(two_largest, 1, x);
  CHECK_TABLE(prefix_sums, 3, x);
  CHECK_TABLE(normalised, 2, x, some(5, 3), some(5, 4));
  CHECK_TABLE(equal_vectors, 1, some(7, 5), some(7, 5));
}

TEST_CASE("moves by an index with plain kernels on ranks") {
  M const x = some(6, 5, 1);
  CHECK_TABLE(picked_rows, 7, x, indices(7, 6));
  CHECK_TABLE(gathered, 7, x, indices(6, 5, 6));
  CHECK_TABLE(scattered, 3, x, indices(6, 5, 6), some(6, 5, 2));
  CHECK_TABLE(added_rows, 3, x, indices(7, 6), some(7, 5, 2));
  CHECK_TABLE(words, 7, x, indices(7, 6));
  CHECK_TABLE(one_hot, 1, indices(7, 5));
}

TEST_CASE("moves and what makes tensors, with plain kernels on ranks") {
  M const x = some(6, 5, 1);
  CHECK_TABLE(transposed, 7, x);
  CHECK_TABLE(flipped, 6, x);
  CHECK_TABLE(narrowed, 6, x);
  CHECK_TABLE(third_row, 6, x);
  CHECK_TABLE(upper, 5, x);
  CHECK_TABLE(above, 6, x, some(4, 5, 2));
  CHECK_TABLE(stacked, 6, some(7, 1), some(7, 2));
  check_table<merged, Even>("merged", 6, some(12, 4, 1));
  CHECK_TABLE(ones_like_x, 2, x);
  CHECK_TABLE(first_numbers, 0, line(1, 2.0));
  CHECK_TABLE(zeroed, 2, x);
  CHECK_TABLE(filled, 2, x);
  CHECK_TABLE(copied, 2, x, some(6, 5, 2));
}

TEST_CASE("entry by entry and products, with plain kernels on ranks") {
  M const x = some(6, 5, 1), y = some(6, 5, 2), z = some(6, 5, 3);
  CHECK_TABLE(added, 4, x, y);
  CHECK_TABLE(difference, 4, x, y);
  CHECK_TABLE(times, 6, x, y);
  CHECK_TABLE(over_y, 4, x, M(2.0 + y));
  CHECK_TABLE(larger, 4, x, y);
  CHECK_TABLE(smaller, 4, x, y);
  CHECK_TABLE(below, 4, x, y);
  CHECK_TABLE(chosen, 3, x, y, z);
  CHECK_TABLE(cleared, 3, x, y);
  CHECK_TABLE(blend, 3, x, y, z);
  CHECK_TABLE(fused, 3, x, y, z);
  CHECK_TABLE(twice, 6, x);
  CHECK_TABLE(minus_twice, 6, x);
  CHECK_TABLE(shifted, 5, x);
  CHECK_TABLE(exponentials, 4, x);
  CHECK_TABLE(rounded, 2, x);
  CHECK_TABLE(product, 5, x, some(5, 4, 4));
  CHECK_TABLE(linear_layer, 3, x, some(5, 4, 4), some(4, 5));
  CHECK_TABLE(lower_solve, 2, M(some(4, 4, 6)), some(4, 5, 7));
  CHECK_TABLE(traces, 1, random<double, Extents<dyn, dyn, dyn>>({5, 3, 3}, 8));
  auto const four = [](index_t a, index_t b, index_t c, index_t d, int seed) { return random<double, Extents<dyn, dyn, dyn, dyn>>({a, b, c, d}, std::uint64_t(seed)); };
  CHECK_TABLE(attended, 5, four(3, 4, 5, 2, 1), four(3, 4, 6, 2, 2), four(3, 4, 6, 3, 3));
}
TEST_CASE("kernels that are told where their parts stand may split more") {
  M const x = some(6, 5, 1);
  CHECK_TABLE(told_means, 4, x);
  CHECK_TABLE(told_upper, 7, x);
  CHECK_TABLE(told_gathered, 8, x, indices(6, 5, 6));
  CHECK_TABLE(told_words, 8, x, indices(7, 6));
  using Rows = distributed<M, Mesh, Shard<0, Balanced>>;
  using Whole = distributed<V, Mesh, Replicate>;
  static_assert(std::same_as<placement_on_t<decltype(custom<told_words>(std::declval<Rows>(), std::declval<Whole>())), 0>, Partial<>>);
  static_assert(!well_typed<words, Rows, Whole> && !well_typed<column_means, Rows>, "by default nothing splits that a plain kernel gets wrong");
  V const index = indices(7, 6);
  M const expected = told_words::pullback(operand_number<0>{}, {rank_share{0, {0}, {6, 5}, {{0, 1, 2, 3, 4, 5}, {}}}, {}}, x, index, M(2.0 * words::apply(x, index)));
  for (double e : threads::run(3, [&](auto& world) {
         Mesh line_(world);
         auto const [loss, g] = value_and_gradient(
             [&](auto const& w) { return squared_norm(reduce_scatter<"tp", Shard<0, Balanced>>(custom<told_words>(w, distribute<Replicate>(index, line_)))); },
             distribute<Shard<0, Balanced>>(x, line_));
         return double(norm(sla::gather(g) - expected));
       }))
    CHECK(e <= 1e-13);
}

TEST_CASE("a kernel that makes other extents than its rule says is refused") {
  M const x = some(7, 5, 1);
  for (auto const& words : threads::run(2, [&](auto& world) {
         try {
           (void)custom<one_row_more>(distribute<Shard<0, Balanced>>(x, Mesh(world)));
         } catch (shape_error const& e) {
           return std::string(e.what());
         }
         return std::string("accepted");
       }))
    CHECK_THAT(words, Catch::Matchers::ContainsSubstring("the kernel made") && Catch::Matchers::ContainsSubstring("check_rule"));
}
} // namespace tables

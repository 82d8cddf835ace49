// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Singular triplets of a traced A, one entry of the tape: those of A are the eigenpairs of (0, A; A^H, 0), s with the vector (u, v) / sqrt(2), so that
// their derivatives are those of traced_eigen.hpp.
#pragma once

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include <sla/grad/implicit/traced_eigen.hpp>
#include <sla/solve/eigen/svds.hpp>

namespace sla {

namespace detail {
/// (0, A; A^H, 0).
template <class T, class S, class F>
auto hermitian_of(sparse_tensor<T, S, F> const& a) {
  return augmented<T>(a, 0, 0);
}
/// What A, an operand, is handed by the rule that `rule_of(operand)` makes for (0, A; A^H, 0), of which `value` is the value; y, g: the results of that, and their cotangents.
template <class Part, class H, class RuleOf, class Y, class G>
void pull_through_hermitian(Part const& a, H const& value, RuleOf const& rule_of, Y const& y, G const& g) {
  auto const& A = a.value();
  tape t;
  auto const h = traced<H>(t, t.input(value));
  rule_of(operand_of(h)).pullback(y, g);
  if (!h.variable().has_cotangent()) return;
  H const of_h = h.variable().take_cotangent();  // Hermitian
  auto of_a = A;
  for (index_t i = 0; i < A.rows(); ++i)
    A.pattern().view().for_row(i, [&](index_t at, index_t j) {
      auto const half = of_h(i, A.rows() + j);
      of_a.values()[at] = half + half;
    });
  a.v->add(contributed(std::move(of_a)));
}
/// The columns of u and v, one below the other, times a number; and the part of such a block from row `first` on, times a number, like u.
template <class Block>
Block stacked(Block const& u, Block const& v, double factor) {
  using T = typename Block::value_type;
  auto out = block_like<T>(column_like<T>(random<T>(u.extent(0) + v.extent(0), 1)), u.extent(1));
  for (index_t n = 0; n < out.size(); ++n) out.data()[n] = T(real_t<T>(factor)) * (n < u.size() ? u.data()[n] : v.data()[n - u.size()]);
  return out;
}
template <class Block>
Block unstacked(Block const& x, index_t first, Block const& like, double factor) {
  using T = typename Block::value_type;
  Block out = like;
  for (index_t n = 0; n < out.size(); ++n) out.data()[n] = T(real_t<T>(factor)) * x.data()[first * x.extent(1) + n];
  return out;
}

/// How (U, s, V) depends on A.
template <class Part>
struct singular_rule {
  using rule_tag = void;
  Part a;
  eigen_report report;

  template <class Y, class G>
  void pullback(Y const& y, G const& g) const {
    auto const &U = std::get<0>(y), &V = std::get<2>(y), &gU = std::get<0>(g), &gV = std::get<2>(g);
    auto const &s = common_numbers(std::get<1>(y)), &gs = common_numbers(std::get<1>(g));
    auto const& A = a.value();
    if (is_zero(gU, U) && is_zero(gV, V)) {
      clusters_of(s).require_invariant(gs);
      require_positive(s, [&](index_t j) { return gs[j] != 0; });
      auto scaled = U;
      for (index_t n = 0; n < own_size(scaled); ++n) own_numbers(scaled)[n] *= gs[n % s.size()];
      a.v->add(outer_contribution(A, scaled, V, 1));
    } else if constexpr (Readable<Matrix>) {
      pullback_by_hermitian(U, s, V, gU, gs, gV);
    } else {
      throw value_error("svds: a derivative of singular vectors of a matrix on ranks, which is not there; of values it is, and of vectors of matrices of one rank");
    }
  }
  template <class Y, class Out>
  void pushforward(Y const& y, Out& out) const {
    auto const &U = std::get<0>(y), &V = std::get<2>(y);
    auto const& s = common_numbers(std::get<1>(y));
    auto const* const tangent = a.v->tangent();
    if (!tangent) return;
    if constexpr (Readable<Matrix>) {
      out.add(pushed_by_hermitian(U, s, V, *tangent));
    } else {
      auto ds = s;
      auto u = column_like<T>(U), v = column_like<T>(V), r = u;
      auto space = space_of_call(a.value(), u);
      auto const clusters = clusters_of(s);
      require_positive(s, [](index_t) { return true; });
      for (index_t j = 0; j < s.size(); ++j) {
        clusters.require_whole(j, "value");
        for (index_t i = 0; i < j; ++i)
          if (clusters.are_near(i, j)) clusters.refuse_cluster(i, j, "single values");
        copy_column(u, U, j), copy_column(v, V, j);
        auto [d] = fuse(space, set(r, *tangent * v), dot_of(u, r));
        ds[j] = real_t<T>(real_of(read_one(space, d)));
      }
      out.add(std::tuple(of_nothing(U), std::move(ds), of_nothing(V)));
    }
  }

private:
  using Matrix = std::remove_cvref_t<decltype(std::declval<Part const&>().value())>;
  using T = typename Matrix::value_type;

  /// What is rounding of a value: of the largest that is there, and of |A x| / |x| for a random x, where that is had for nothing.
  template <class Values>
  double rounding_of_values(Values const& s) const {
    double size = 0;
    for (auto const value : s) size = (std::max)(size, double(value));
    if constexpr (Readable<Matrix>) {
      auto const x = random<T>(a.value().cols(), 1);
      size = (std::max)(size, double(norm_inf(a.value() * x)) / double(norm_inf(x)));
    }
    return 1e3 * double(std::numeric_limits<real_t<T>>::epsilon()) * size;
  }
  template <class Values>
  value_clusters<Values> clusters_of(Values const& s) const {
    return {s, report, rounding_of_values(s), "svds"};
  }
  /// Of vectors without a derivative: nobody takes it for zero.
  template <class Block>
  static Block of_nothing(Block x) {
    for (index_t n = 0; n < own_size(x); ++n) own_numbers(x)[n] = T(std::numeric_limits<real_t<T>>::quiet_NaN());
    return x;
  }
  /// Are all numbers of g, a cotangent of x, zero, on all ranks?
  template <class G, class X>
  bool is_zero(G const& g, X const& x) const {
    auto c = column_like<T>(x);
    auto space = space_of_call(a.value(), c);
    for (index_t j = 0; j < width_of(x); ++j) {
      copy_column(c, g, j);
      auto [size] = fuse(space, squared_norm_of(c));
      if (!(read_one(space, size) == 0)) return false;
    }
    return true;
  }
  template <class Block, class Values, class G, class GV>
  void pullback_by_hermitian(Block const& U, Values const& s, Block const& V, G const& gU, GV const& gs, G const& gV) const {
    auto const has = [](auto const& block, index_t j) { return norm_inf(column(block, j)) > 0; };
    require_positive(s, [&](index_t j) { return gs[j] != 0 || has(gU, j) || has(gV, j); });
    auto const rule = [&](auto h) { return rule_of(std::move(h)); };
    pull_through_hermitian(a, hermitian_of(a.value()), rule, std::tuple(s, stacked(U, V, std::sqrt(0.5))), std::tuple(gs, stacked(gU, gV, std::sqrt(2.0))));
  }
  template <class Block, class Values>
  auto pushed_by_hermitian(Block const& U, Values const& s, Block const& V, Matrix const& tangent) const {
    require_positive(s, [](index_t) { return true; });
    using H = decltype(hermitian_of(tangent));
    auto const value = hermitian_of(a.value());
    auto const of_tangent = hermitian_of(tangent);
    dual_variable<H> h(&value, &of_tangent);
    auto const X = stacked(U, V, std::sqrt(0.5));
    taken_tangent<std::tuple<std::remove_cvref_t<decltype(s)>, std::remove_cvref_t<decltype(X)>>> to;
    rule_of(traced_operand<dual_variable<H>>{&h}).pushforward(std::tuple(s, X), to);
    auto& [ds, dX] = *to.found;
    return std::tuple(unstacked(dX, 0, U, std::sqrt(2.0)), std::move(ds), unstacked(dX, U.extent(0), V, std::sqrt(2.0)));
  }
  template <class Operand>
  eigen_rule<Operand, no_matrix> rule_of(Operand h) const {
    return {std::move(h), {}, report, {}, "svds"};
  }
  /// Errors: value_error, if a value that is asked for is 0, where it, and its vectors, have a kink: s becomes |s + u^H dA v|.
  template <class Values, class Asked>
  void require_positive(Values const& s, Asked const& asked) const {
    double const rounding = rounding_of_values(s);
    for (index_t j = 0; j < s.size(); ++j)
      if (double(s[j]) <= rounding && asked(j))
        throw value_error(text("svds: a derivative of triplet ", j, ", whose value, ", s[j], ", is 0 beside the size of A: a singular value 0 has a kink, and its vectors jump; ask for the values above 0 alone"));
  }
};
} // namespace detail

/// Singular triplets of a traced A, `svds(A, k, wanted, ...)`. Gradient: with the cotangent g of a value g u v^H on A's pattern; of vectors by the Hermitian matrix
/// (0, A; A^H, 0), beside the triplets. Values within 1e-6 of each other are one cluster, of which only what does not change when its vectors are mixed
/// has a derivative, and a value 0 has none. On ranks vectors have none, which is an error. Cost: one solve by minres per triplet whose vectors a derivative asks for, none for values.
/// Errors: those of traced eigenpairs (traced_eigen.hpp).
template <Traced A, class W, class... Options>
  requires detail::EigenMatrix<A>
auto perform(op::svds, A const& a, int k, W const& wanted, Options const&... options) {
  auto triplets = svds(a.value(), k, wanted, options...);
  detail::singular_rule<decltype(detail::operand_of(a))> rule{detail::operand_of(a), triplets.report};
  auto [U, s, V] = record(a.home(), std::tuple(std::move(triplets.left), detail::recorded_values(a.value(), triplets.values), std::move(triplets.right)), std::move(rule));
  return singular_triplets<decltype(U), decltype(s), decltype(V)>{U, s, V, std::move(triplets.report)};
}

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Eigenpairs and singular triplets of dual numbers: the slopes of values and vectors are those of forward mode, and what solves beside the pairs
// has one more solve for its slope. One rank, real numbers.
#pragma once

#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <sla/grad/implicit/traced_eigen.hpp>
#include <sla/grad/operation/dual_solve.hpp>

namespace sla {

namespace detail {
/// The matrix of dual numbers, or a plain one, or none, as an operand of values with tangents; it views both parts.
template <class A>
struct parts_of_matrix {
  static constexpr bool moves = has_dual_elements<A>;
  A const& all;
  std::remove_cvref_t<decltype(value_part(std::declval<A const&>()))> value;
  std::optional<std::remove_cvref_t<decltype(value_part(std::declval<A const&>()))>> slope;
  explicit parts_of_matrix(A const& a) : all(a), value(value_part(a)) {
    if constexpr (moves) slope = slope_part(a);
  }
  using variable = dual_variable<std::remove_cvref_t<decltype(value)>>;
  auto dual() const { return std::make_unique<variable>(&value, slope ? &*slope : nullptr); }
};

/// f of both operands, each of dual numbers or plain, as rules of their values read them in forward mode; `no_matrix` is no operand.
template <class PartA, class PartB, class F>
auto with_tangents(PartA const& a, PartB const& b, F const& f) {
  auto const on = [](auto const& part, auto const& next) {
    parts_of_matrix const parts(part.value());
    auto const variable = parts.dual();
    return next(traced_operand<std::remove_cvref_t<decltype(*variable)>>{variable.get()});
  };
  return on(a, [&](auto const& da) {
    if constexpr (std::same_as<PartB, no_matrix>)
      return f(da, b);
    else
      return on(b, [&](auto const& db) { return f(da, db); });
  });
}

/// The rule of eigsh for dual numbers, backward: as eigen_rule, of which it has the set-up.
template <class PartA, class PartB, class... Options>
struct dual_eigen_rule {
  using rule_tag = void;
  PartA a;
  PartB b;
  eigen_report report;
  std::tuple<Options...> options;

  /// (w, V) with their slopes. Errors: those of the derivative.
  template <class W, class V>
  auto with_slopes(W const& w, V const& vectors) const {
    return with_tangents(a, b, [&]<class A, class B>(A const& da, B const& db) {
      taken_tangent<std::tuple<W, V>> to;
      eigen_rule<A, B, Options...>{da, db, report, options}.pushforward(std::tuple<W const&, V const&>(w, vectors), to);
      return with_slope(std::tuple<W, V>(w, vectors), *to.found);
    });
  }

  template <class Y, class G>
  void pullback(Y const& y, G const& g) const {
    auto const& w = std::get<0>(y);
    auto const& gw = std::get<0>(g);
    of_values([&]<class PA, class PB>(PA const& pa, PB const& pb) {
      using A = std::remove_cvref_t<decltype(pa.value)>;
      auto const held = [](auto const& p) { return kept_operand<std::remove_cvref_t<decltype(p.value)>>{{std::shared_ptr<void>(), &p.value}}; };
      auto const with = [&](auto part_b) {
        eigen_rule<kept_operand<A>, decltype(part_b), Options...> const rule{held(pa), part_b, report, options};
        auto const V0 = value_part(std::get<1>(y)), V1 = slope_part(std::get<1>(y)), G0 = value_part(std::get<1>(g)), G1 = slope_part(std::get<1>(g));
        auto const w0 = value_part(w);
        rule.with_derivative(w0, V0, [&](auto const& d) {
          d.clusters().require_invariant(value_part(gw));
          index_t const k = d.count();
          auto const column = [&](auto const& block, auto const& slopes, index_t j) { return with_slope(d.column_of(block, j), d.column_of(slopes, j)); };
          using Column = decltype(column(V0, V1, 0));
          std::vector<Column> v, bv;
          for (index_t j = 0; j < k; ++j) v.push_back(column(V0, V1, j)), bv.push_back(times(pb, v.back()));
          // The z of (A - w_j B) z + B V c = g, V^H B z = 0.
          auto const solve_beside = [&](index_t j, Column const& right) {
            auto const g0 = value_part(right);
            auto const z0 = d.solve_beside(j, g0), bz0 = d.times_b(z0);
            auto r = eval(slope_part(right) + w[j].slope[0] * bz0);
            if constexpr (PA::moves) r = r - *pa.slope * z0;
            if constexpr (PB::moves) r = r + w[j].value * (*pb.slope * z0);
            for (std::size_t i = 0; i < v.size(); ++i) r = r - dot(value_part(v[i]), g0) * slope_part(bv[i]);
            auto z1 = d.solve_beside(j, r);
            for (std::size_t i = 0; i < v.size(); ++i) z1 = z1 - dot(slope_part(bv[i]), z0) * value_part(v[i]);
            return with_slope(z0, z1);
          };
          auto U = V0, U1 = V0, W = V0, W1 = V0, N = V0, N1 = V0;
          auto const put = [&](auto& block, auto& slopes, index_t j, Column const& x) { put_column(block, j, value_part(x)), put_column(slopes, j, slope_part(x)); };
          for (index_t j = 0; j < k; ++j) {
            Column u = gw[j] * v[std::size_t(j)], n = 0.0 * u;
            Column const gj = column(G0, G1, j);
            if (norm(value_part(gj)) > 0 || norm(slope_part(gj)) > 0) {
              d.clusters().require_whole(j, "vector");
              u = u - solve_beside(j, gj);
              for (index_t i = 0; i < k; ++i) {
                dual_element const c = dot(v[std::size_t(i)], gj);
                if (i == j)
                  n = n - c * v[std::size_t(i)];
                else if (d.clusters().are_near(i, j))
                  d.clusters().refuse_cluster(i, j, "single vectors, of second order,");
                else
                  u = u + (c / (w[j] - w[i])) * v[std::size_t(i)];
              }
            }
            put(U, U1, j, u), put(W, W1, j, Column(-w[j] * u)), put(N, N1, j, n);
          }
          auto const half = with_slope(eval(0.5 * V0), eval(0.5 * V1)), left = with_slope(U, U1), left_b = with_slope(W, W1), norms = with_slope(N, N1);
          add(a, left, half), add(b, left_b, half);
          if constexpr (PartB::traced) b.v->add(outer_contribution(b.value(), norms, half, 1));
          return 0;
        });
      };
      if constexpr (std::same_as<PartB, no_matrix>)
        with(b);
      else
        with(held(pb));
      return 0;
    });
  }

private:
  template <class F>
  auto of_values(F const& f) const {
    parts_of_matrix const pa(a.value());
    parts_of_matrix const pb(b.value());
    return f(pa, pb);
  }
  template <class P, class Column>
  static Column times(P const& p, Column const& x) {
    if constexpr (std::same_as<PartB, no_matrix>)
      return x;
    else
      return p.all * x;
  }
  /// The Hermitian part of left right^H.
  template <class Part, class Block>
  static void add(Part const& part, Block const& left, Block const& right) {
    if constexpr (Part::traced) {
      part.v->add(outer_contribution(part.value(), left, right, 1));
      part.v->add(outer_contribution(part.value(), right, left, 1));
    }
  }
};

template <class Home, class PartA, class PartB, class Pairs, class... Options>
auto dual_eigsh(Home& home, PartA a, PartB b, Pairs const& pairs, std::tuple<Options...> options) {
  if (!pairs.report.converged()) throw eigen_error(pairs.report);
  dual_eigen_rule<PartA, PartB, Options...> rule{std::move(a), std::move(b), pairs.report, std::move(options)};
  auto found = rule.with_slopes(pairs.values, pairs.vectors);
  auto [w, V] = record(home, std::move(found), std::move(rule));
  return eigenpairs<decltype(w), decltype(V)>{w, V, pairs.report};
}
template <class A>
concept DualTraced = OneTracedMatrix<A> && DualMatrix<plain_t<A>>;
} // namespace detail

template <detail::DualTraced A, class W, class... Options>
auto perform(op::eigsh, A const& a, int k, W const& wanted, Options const&... options) {
  return detail::dual_eigsh(a.home(), detail::operand_of(a), detail::no_matrix{}, eigsh(detail::value_part(a.value()), k, wanted, options...), std::tuple(options...));
}
template <class A, class B, class W, class... Options>
  requires((detail::DualTraced<A> || detail::DualTraced<B>) && detail::OneStoredMatrix<A> && detail::OneStoredMatrix<B>)
auto perform(op::eigsh, A const& a, B const& b, int k, W const& wanted, Options const&... options) {
  auto& home = home_of(a, b);
  auto const pairs = eigsh(detail::value_part(detail::plain_value(a)), detail::value_part(detail::plain_value(b)), k, wanted, options...);
  return detail::dual_eigsh(home, detail::eigen_part(home, a), detail::eigen_part(home, b), pairs, std::tuple(options...));
}

} // namespace sla

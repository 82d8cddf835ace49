// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Golub and Kahan's bidiagonalisation with thick restarts for the largest singular triplets of an operator (Baglama and Reichel 2005): A V = U B and
// A^H U = V B^H + v b^H with orthonormal U, V and v, both bases orthogonalised in full.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include <sla/solve/eigen/krylov/orthonormal_list.hpp>
#include <sla/solve/eigen/krylov/restarts.hpp>

namespace sla::detail {

/// What `run_golub_kahan` ends with: singular values of the operator, the largest first, and the vectors of the domain and of the range.
template <class V, class U>
struct golub_kahan_result {
  std::vector<double> values;
  std::vector<V> domain;
  std::vector<U> range;
  sla::reason reason = sla::reason::iteration_limit;
  int restarts = 0;
  index_t products = 0;
  bool alone = false, is_whole = false, cuts_cluster = false;
};

/// The k largest singular triplets, or the smallest, of an operator whose domain has `dimension` <= the range's: `forth(x, y, f)` calls f with the statements
/// that set y to A x, `back` those of A^H. A pair has converged where |A^H u - s v| <= rtol s. As in `restarted`, others are looked for beside
/// what has converged. Cost: of each of the basis vectors of a cycle two products, and four passes over two bases; one synchronisation per cycle.
template <int Capacity, class S, class RandomV, class RandomU, class Forth, class Back>
auto run_golub_kahan(S& space, index_t k_wanted, bool smallest_first, restart_rule const& rule, index_t dimension, RandomV const& random_v, RandomU const& random_u, Forth const& forth, Back const& back) {
  using V = decltype(random_v(0));
  using W = decltype(random_u(0));
  using list_v = orthonormal_list<Capacity, S, V, plain_inner, RandomV>;
  using list_u = orthonormal_list<Capacity, S, W, plain_inner, RandomU>;
  using U = typename list_v::U;
  using matrix_type = projected_matrix<U>;
  double const unit = double(list_v::unit_rounding);
  int const k = int(k_wanted), most = int((std::min)(index_t(rule.basis), dimension));
  list_v right(space, plain_inner{}, random_v);
  list_u left(space, plain_inner{}, random_u);
  matrix_type B(0, 0);
  projected_column<U> b(0);
  bool is_closed = true;
  look_beside<dependent_t<double, S>> look(rule.find_multiples);
  golub_kahan_result<V, W> out;

  auto const step_u = [&](int j) { return forth(right.at(j), left.next(), [&](auto&&... s) { return left.join(j, std::forward<decltype(s)>(s)...); }); };
  auto const step_v = [&](int j) { return back(left.at(j), right.next(), [&](auto&&... s) { return right.join(j + 1, std::forward<decltype(s)>(s)...); }); };
  auto const grow = [&](int j, projected_column<U> const& g, double alpha) {
    matrix_type grown = matrix_type::Zero(j + 1, j + 1);
    grown.topLeftCorner(j, j) = B;
    grown.col(j).head(j) = g;
    grown(j, j) = U(alpha);
    B = std::move(grown);
  };
  auto const take = [&](int j, auto const& joined) {
    double const beta = double(right.read(j + 1, joined).second);
    b = projected_column<U>::Zero(j + 1);
    b(j) = U(beta);
    is_closed = beta == 0;
  };
  auto const expand = [&] {
    while (int(B.rows()) < most) {
      int const begin = int(B.rows());
      if (is_closed) right.join_random(begin), is_closed = false;
      std::vector<std::pair<decltype(step_u(0)), decltype(step_v(0))>> steps;
      for (int j = begin; j < most; ++j) {
        auto u = step_u(j);
        steps.emplace_back(u, step_v(j));
      }
      out.products += 2 * (most - begin);
      space.finish();
      for (int j = begin; j < most && !is_closed; ++j) {
        auto const& [u, v] = steps[std::size_t(j - begin)];
        auto const [g, alpha] = left.read(j, u);
        grow(j, g, double(alpha));
        if (alpha == 0) {  // A v is a combination of the others: any u beside them will do, and the steps after it are in vain
          left.join_random(j);
          auto const again = step_v(j);
          space.finish();
          take(j, again);
          break;
        }
        take(j, v);
      }
    }
  };
  for (;; ++out.restarts) {
    expand();
    int const size = int(B.rows());
    out.is_whole = size >= dimension;
    auto const svd = dense_triplets_of<U>(B);
    auto const at = [&](int j) { return smallest_first ? size - 1 - j : j; };
    auto const value = [&](int j) { return double(svd.values(at(j))); };
    auto const coupling = [&](int j) { return double(std::abs(b.dot(svd.U.col(at(j))))); };
    auto const columns = [&](matrix_type const& of, int count) {
      matrix_type q(size, count);
      for (int j = 0; j < count; ++j) q.col(j) = of.col(at(j));
      return q;
    };
    double const greatest = double(svd.values(0));
    auto const is_converged = [&](int j) { return out.is_whole || coupling(j) <= (std::max)(rule.rtol * value(j), 4 * unit * greatest); };
    int const count = (std::min)(k, size);
    int converged = 0;
    while (converged < count && is_converged(converged)) ++converged;
    ordered_values const values{[&](int j) { return smallest_first ? value(j) : -value(j); }, coupling, is_converged, unit * greatest, rule.rtol};
    bool const done = converged == k, ends = look.ends(out, values, k, size, done, out.is_whole);
    if (ends || out.restarts >= rule.max_restarts) {
      for (int j = 0; j < count; ++j) out.values.push_back(value(j));
      out.domain = right.combined(columns(svd.V, count));
      out.range = left.combined(columns(svd.U, count));
      space.finish();  // the bases go
      return out;
    }
    bool const begins_beside = look.is_due(done);
    if (begins_beside) look.begin(values, k);
    int const kept = begins_beside ? k : kept_of(size, k, converged);
    matrix_type const P = columns(svd.U, kept), Q = columns(svd.V, kept);
    right.contract(Q), left.contract(P);
    B = dense_adjoint_product<U>(P, dense_product<U>(B, Q));
    b = (P.adjoint() * b).eval();
    is_closed = is_closed || begins_beside;
  }
}

} // namespace sla::detail

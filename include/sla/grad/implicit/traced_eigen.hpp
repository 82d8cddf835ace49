// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Eigenpairs of traced Hermitian matrices, one entry of the tape: values, vectors in their gauge, and clusters of values as subspaces.
// One solve with A - w B beside the pairs for each vector that a derivative asks for.
#pragma once

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <sla/core/held.hpp>
#include <sla/grad/implicit/value_clusters.hpp>
#include <sla/grad/operation/traced_solve.hpp>
#include <sla/grad/tape/record.hpp>
#include <sla/solve/eigen/eigsh.hpp>
#include <sla/solve/krylov/minres.hpp>

namespace sla {

namespace detail {
/// left[row] conj(right[col]) as a contribution to the values of A, summed over columns.
template <class T, class S, class F, class V>
auto outer_contribution(sparse_tensor<T, S, F> const&, V const& left, V const& right) {
  return to_values<false, false>(view(right), view(left), 1);
}

/// A preconditioner for solves beside the pairs, where the call names none: multigrid of an M-matrix, or nothing.
template <class Problem>
auto beside_setup(Problem const& problem) {
  using Block = std::remove_cvref_t<decltype(problem.random_vector(1))>;
  using Apply = std::function<void(Block const&, Block&)>;
  using A = std::remove_cvref_t<decltype(problem.a)>;
  if constexpr (Problem::is_preconditioned) {
    auto const m = detail::shared_of<decltype(problem.setup()) const>(problem.setup());
    struct kept {
      decltype(std::declval<Problem const&>().space()) space;
    };
    std::shared_ptr<kept> const on(new kept{problem.space()});  // a space need not move
    return Apply([m, on](Block const& r, Block& z) { fuse(on->space, set(z, *m * r)), on->space.finish(); });
  } else {
    if constexpr (Readable<A>) {
      auto const p = properties(problem.a);
      if (p.opposed_off_diagonal && p.positive_diagonal) {
        auto const m = detail::shared_of<decltype(amg{}.setup(problem.a)) const>(amg{}.setup(problem.a));
        return Apply([m](Block const& r, Block& z) { z = *m * r; });
      }
    }
    return Apply();
  }
}

/// What derivatives of the pairs (w, V) of A v = w B v are made of. On ranks it is called by all alike.
template <class Problem, class Values, class Vectors>
class eigen_derivative {
  using T = typename Problem::value_type;
  using Real = typename Problem::real_type;
  using Column = std::remove_cvref_t<decltype(std::declval<Problem const&>().random_vector(1))>;
  using Wide = small_scalar<T>;

public:
  eigen_derivative(Problem const& problem, Values const& w, Vectors const& V, eigen_report const& report, char const* call)
      : problem_(problem), w_(w), clusters_(w, report, 1e3 * double(std::numeric_limits<Real>::epsilon()) * size_of_values(), call) {
    for (index_t j = 0; j < w.size(); ++j) {
      v_.push_back(column_of(V, j));
      bv_.push_back(times_b(v_.back()));
    }
  }

  index_t count() const { return w_.size(); }
  Column const& vector(index_t j) const { return v_[std::size_t(j)]; }
  template <class Block>
  Column column_of(Block const& block, index_t j) const {
    auto v = problem_.random_vector(1);
    copy_column(v, block, j);
    return v;
  }
  Column times_b(Column const& v) const {
    Column out = v;
    if constexpr (!Problem::is_standard) run(set(out, problem_.b * v));
    return out;
  }
  Wide inner(Column const& x, Column const& y) const {
    auto space = problem_.space();
    auto [s] = fuse(space, dot_of(x, y));
    return Wide(read_number(space, s));
  }
  /// x += c y
  void add(Column& x, Wide c, Column const& y) const {
    auto* const to = own_numbers(x);
    auto const* const from = own_numbers(y);
    for (index_t i = 0; i < own_size(x); ++i) to[i] += T(c) * from[i];
  }
  value_clusters<Values> const& clusters() const { return clusters_; }

  /// Of a cotangent g of column j its part that the gauge leaves: the phase of v_j is fixed by its inner product with a random vector.
  void without_phase(index_t j, Column& g) const {
    if constexpr (is_complex<T>) {
      auto const p = problem_.random_vector(1);
      add(g, Wide(0, inner(g, vector(j)).imag() / std::real(inner(p, vector(j)))), p);
    }
  }
  void with_phase(index_t j, Column& dv) const {
    if constexpr (is_complex<T>) {
      auto const p = problem_.random_vector(1);
      add(dv, Wide(0, -inner(p, dv).imag() / std::real(inner(p, vector(j)))), vector(j));
    }
  }

  /// The z beside the pairs, V^H B z = 0, with (A - w_j B) z = r but for a combination of B V. Errors: solve_error.
  Column solve_beside(index_t j, Column r) const {
    if (!made_) apply_ = beside_setup(problem_), made_ = true;
    auto const step = [&](Column& x) {  // x - V (B V)^H x
      for (std::size_t i = 0; i < v_.size(); ++i) add(x, -inner(bv_[i], x), v_[i]);
    };
    auto const step_adjoint = [&](Column& x) {
      for (std::size_t i = 0; i < v_.size(); ++i) add(x, -inner(v_[i], x), bv_[i]);
    };
    double const rounding = double(std::numeric_limits<Real>::epsilon()), before = std::real(inner(r, r));
    step_adjoint(r);
    index_t const own = own_size(r);
    if (std::real(inner(r, r)) <= std::pow(1e3 * rounding, 2) * before) {  // rounding alone: of all pairs there is nothing beside
      std::fill_n(own_numbers(r), own, T(0));
      return r;
    }
    auto const as_function = [&](auto const& f) {
      return [&, f](std::span<T const> from, std::span<T> to) {
        Column x = v_.front();
        std::copy(from.begin(), from.end(), own_numbers(x));
        Column const y = f(x);
        std::copy(own_numbers(y), own_numbers(y) + own, to.begin());
      };
    };
    linear_operator<T> const shifted(own, own, as_function([&](Column& x) {
      step(x);
      Column y = x, by = times_b(x);
      run(set(y, problem_.a * x));
      add(y, Wide(-double(w_[j])), by);
      step_adjoint(y);
      return y;
    }), self_adjoint);
    linear_operator<T> const m(own, own, as_function([&](Column& x) {
      step_adjoint(x);
      Column y = x;
      if (apply_) apply_(x, y);
      step(y);
      return y;
    }), self_adjoint);
    auto s = try_solve(shifted, r, minres{.rtol = (std::max)(1e-11, 100 * rounding), .max_iterations = 20000}, m);
    if (!s.report.converged() && !(s.report.residual() <= 1e3 * (std::max)(1e-11, 100 * rounding))) throw solve_error(s.report);
    step(s.x);
    return std::move(s.x);
  }

  template <class... S>
  void run(S const&... statements) const {
    auto space = problem_.space();
    fuse(space, statements...);
    space.finish();
  }

private:
  /// |A x| / |B x| for a random x.
  double size_of_values() const {
    auto const x = problem_.random_vector(1);
    Column ax = x;
    run(set(ax, problem_.a * x));
    auto const bx = times_b(x);
    return std::sqrt(std::abs(inner(ax, ax)) / std::abs(inner(bx, bx)));
  }

  Problem const& problem_;
  Values const& w_;
  value_clusters<Values> clusters_;
  std::vector<Column> v_, bv_;
  mutable bool made_ = false;
  mutable decltype(beside_setup(std::declval<Problem const&>())) apply_;
};

/// What a rule's pushforward adds.
template <class Y>
struct taken_tangent {
  std::optional<Y> found;
  void add(Y d) { found = std::move(d); }
};

struct no_matrix {
  static constexpr bool traced = false;
  applied_identity one;
  applied_identity const& value() const { return one; }
};

/// The rule of both operands: how (w, V) depend on A and B.
template <class PartA, class PartB, class... Options>
struct eigen_rule {
  using rule_tag = void;
  PartA a;
  PartB b;
  eigen_report report;
  std::tuple<Options...> options;
  char const* call = "eigsh";  ///< what errors begin with

  template <class F>
  auto with_derivative(auto const& w, auto const& V, F const& f) const {
    none const no{};
    return std::apply([&](auto const&... o) {
      auto const& p = pick<wants_preconditioner>(o..., no);
      auto const& on = pick<wants_space>(o..., no);
      using A = std::remove_cvref_t<decltype(a.value())>;
      using B = std::remove_cvref_t<decltype(b.value())>;
      using Problem = eigen_problem<A, B, std::remove_cvref_t<decltype(p)>, std::remove_cvref_t<decltype(on)>>;
      Problem const problem{a.value(), b.value(), p, on, 0};
      return f(eigen_derivative<Problem, std::remove_cvref_t<decltype(w)>, std::remove_cvref_t<decltype(V)>>(problem, w, V, report, call));
    }, options);
  }

  /// A: u v^H of each pair, where u is g v + y; B: -w u v^H, and half of what normalises V. Hermitian parts: A and B stay Hermitian.
  template <class Y, class G>
  void pullback(Y const& y, G const& g) const {
    auto const& w = common_numbers(std::get<0>(y));
    auto const& V = std::get<1>(y);
    auto const& gw = common_numbers(std::get<0>(g));
    auto const& gV = std::get<1>(g);
    with_derivative(w, V, [&](auto const& d) {
      using Wide = std::remove_cvref_t<decltype(d.inner(d.vector(0), d.vector(0)))>;
      index_t const k = d.count();
      auto const& clusters = d.clusters();
      clusters.require_invariant(gw);
      auto U = V, UW = V, N = V;  // u, -w u, and -V S with S of the clusters
      std::vector<std::remove_cvref_t<decltype(d.vector(0))>> of_vectors;
      for (index_t j = 0; j < k; ++j) of_vectors.push_back(d.column_of(gV, j));
      std::vector<Wide> h(std::size_t(k * k));  // v_i^H g_j
      std::vector<double> sizes;
      double most = 0;
      for (index_t j = 0; j < k; ++j) {
        auto& gj = of_vectors[std::size_t(j)];
        sizes.push_back(std::sqrt(std::abs(d.inner(gj, gj))));
        if (sizes.back() > 0) d.without_phase(j, gj);
        for (index_t i = 0; i < k; ++i) h[std::size_t(i * k + j)] = sizes.back() > 0 ? d.inner(d.vector(i), gj) : Wide(0);
        most = (std::max)(most, sizes.back());
      }
      for (index_t j = 0; j < k; ++j) {
        for (index_t i = 0; i < j; ++i)
          if (clusters.are_near(i, j) && std::abs(h[std::size_t(i * k + j)] - conj_as(h[std::size_t(j * k + i)])) > 1e-6 * most) clusters.refuse_cluster(i, j, "single vectors");
        auto u = d.vector(j), uw = u, n = u;
        d.add(u, Wide(double(gw[j]) - 1), d.vector(j));
        d.add(n, Wide(-1), n);
        if (sizes[std::size_t(j)] > 0) {
          clusters.require_whole(j, "vector");
          d.add(u, Wide(-1), d.solve_beside(j, of_vectors[std::size_t(j)]));
          for (index_t i = 0; i < k; ++i) {
            Wide const c = h[std::size_t(i * k + j)];
            if (clusters.are_near(i, j))
              d.add(n, i == j ? Wide(-std::real(c)) : Wide(-0.5) * (c + conj_as(h[std::size_t(j * k + i)])), d.vector(i));
            else
              d.add(u, c / Wide(double(w[j]) - double(w[i])), d.vector(i));
          }
        }
        d.add(uw, Wide(-1), uw);
        d.add(uw, Wide(-double(w[j])), u);
        put_column(U, j, u), put_column(UW, j, uw), put_column(N, j, n);
      }
      auto halve = [](auto block) {
        for (index_t n = 0; n < own_size(block); ++n) own_numbers(block)[n] *= 0.5f;
        return block;
      };
      auto const half_v = halve(V);
      if constexpr (PartA::traced) {
        a.v->add(outer_contribution(a.value(), U, half_v, 1));
        a.v->add(outer_contribution(a.value(), half_v, U, 1));
      }
      if constexpr (PartB::traced) {
        b.v->add(outer_contribution(b.value(), UW, half_v, 1));
        b.v->add(outer_contribution(b.value(), half_v, UW, 1));
        b.v->add(outer_contribution(b.value(), N, half_v, 1));
      }
      return 0;
    });
  }

  template <class Y, class Out>
  void pushforward(Y const& y, Out& out) const {
    auto const& w = common_numbers(std::get<0>(y));
    auto const& V = std::get<1>(y);
    with_derivative(w, V, [&](auto const& d) {
      using Wide = std::remove_cvref_t<decltype(d.inner(d.vector(0), d.vector(0)))>;
      using Real = typename std::remove_cvref_t<decltype(w)>::value_type;
      auto dw = w;
      auto dV = V;
      index_t const k = d.count();
      for (index_t j = 0; j < k; ++j) {
        auto r = d.vector(j), br = r;  // dA v - w dB v, dB v
        d.add(r, Wide(-1), r), d.add(br, Wide(-1), br);
        auto const apply = [&](auto const& part, auto& to) {
          if constexpr (std::remove_cvref_t<decltype(part)>::traced)
            if (auto const* tangent = part.v->tangent()) d.run(set(to, *tangent * d.vector(j)));
        };
        apply(a, r), apply(b, br);
        d.add(r, Wide(-double(w[j])), br);
        dw[j] = Real(std::real(d.inner(d.vector(j), r)));
        d.clusters().require_whole(j, "pair");
        auto dv = d.solve_beside(j, r);
        d.add(dv, Wide(-2), dv);
        double const size = std::sqrt(std::abs(d.inner(r, r)));
        for (index_t i = 0; i < k; ++i) {
          Wide const c = d.inner(d.vector(i), r);
          if (!d.clusters().are_near(i, j))
            d.add(dv, c / Wide(double(w[j]) - double(w[i])), d.vector(i));
          else if (i != j && std::abs(c) > 1e-6 * size)
            d.clusters().refuse_cluster(i, j, "single vectors");
          else
            d.add(dv, Wide(-0.5) * d.inner(d.vector(i), br), d.vector(i));
        }
        d.with_phase(j, dv);
        put_column(dV, j, dv);
      }
      out.add(std::tuple(std::move(dw), std::move(dV)));
      return 0;
    });
  }

private:
  template <class Z>
  static Z conj_as(Z z) {
    if constexpr (is_complex<Z>)
      return std::conj(z);
    else
      return z;
  }
};

/// An operand of eigsh for its rule: traced, or kept.
template <class Home, class X>
auto eigen_part(Home& home, X const& x) {
  if constexpr (Traced<X>)
    return operand_of(x);
  else
    return kept_operand<X>{home.keep(x)};
}
template <class Home, class A, class PartB, class... More>
auto traced_eigsh(Home& home, A const& a, PartB b, auto const& pairs, std::tuple<More...> options) {
  auto part = eigen_part(home, a);
  eigen_rule<decltype(part), PartB, More...> rule{std::move(part), std::move(b), pairs.report, std::move(options)};
  auto [w, V] = record(home, std::tuple(recorded_values(plain_value(a), pairs.values), pairs.vectors), std::move(rule));
  return eigenpairs<decltype(w), decltype(V)>{w, V, pairs.report};
}
template <class A>
concept EigenMatrix = PlainEigenOperator<plain_t<A>> && HasCotangent<plain_t<A>>;
/// A sparse tensor, traced or not, that is one matrix with scalar entries.
template <class A>
concept OneStoredMatrix = is_sparse_tensor<plain_t<A>> && is_one_matrix<plain_t<A>>;
template <class A>
concept OneTracedMatrix = Traced<A> && OneStoredMatrix<A>;
} // namespace detail

/// Eigenpairs of a traced A, `eigsh(A, k, wanted, ...)`. Gradient: with the cotangent g of a value g v v^H on A's pattern; of a vector y v^H, where
/// (w B - A) y is the cotangent beside the pairs; its Hermitian part, so that A stays Hermitian. Values within 1e-6 of each other are one
/// cluster, of which only what does not change when its vectors are mixed has a derivative.
/// Cost: one solve by minres per vector that a derivative asks for, with the preconditioner of the call, none for values. Errors: eigen_error of pairs that did not
/// converge; value_error, for a cluster whose vectors or values are told apart, or that goes on beyond the k pairs; solve_error.
template <Traced A, class W, class... Options>
  requires detail::EigenMatrix<A>
auto perform(op::eigsh, A const& a, int k, W const& wanted, Options const&... options) {
  return detail::traced_eigsh(a.home(), a, detail::no_matrix{}, eigsh(a.value(), k, wanted, options...), std::tuple(options...));
}
/// The same of A v = w B v, where either or both are traced: to B, -w times what A gets, and half of what keeps V^H B V = I.
template <class A, class B, class W, class... Options>
  requires((Traced<A> || Traced<B>) && detail::EigenMatrix<A> && detail::EigenMatrix<B>)
auto perform(op::eigsh, A const& a, B const& b, int k, W const& wanted, Options const&... options) {
  auto& home = home_of(a, b);
  auto const pairs = eigsh(detail::plain_value(a), detail::plain_value(b), k, wanted, options...);
  return detail::traced_eigsh(home, a, detail::eigen_part(home, b), pairs, std::tuple(options...));
}

} // namespace sla

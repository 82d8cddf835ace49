// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Singular values: `svds(A, k)`, `svds(A, k, smallest{})`, of rectangular matrices too; `condition_number(A)`. The smallest ones are the largest of the
// pseudoinverse, by factors, unless products take less time. Derivatives are in grad/implicit/traced_svds.hpp.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include <sla/solve/eigen/eigsh.hpp>
#include <sla/solve/eigen/krylov/pseudoinverse.hpp>

namespace sla {

/// The method of `svds`: Golub and Kahan's bidiagonalisation with thick restarts; for smallest{} with the pseudoinverse, by the factors of A or, where A is not
/// square, of (c I, A; A^H, 0). At most Capacity basis vectors; of fewer rows or columns it finds all triplets, as a dense method does.
/// Source: Baglama and Reichel, SIAM J. Sci. Comput. 27 (2005) 19.
template <int Capacity>
struct basic_golub_kahan {
  double rtol = default_rule().rtol;
  int max_restarts = 1000;
  int basis = 0;  ///< vectors of each basis; 0: some more than twice the triplets that are wanted
  bool find_multiples = true;  ///< look for others beside what has converged

  using singular_method_tag = void;
  static constexpr char const* name = "golub-kahan";
  static constexpr int capacity = Capacity;
};
/// `basic_golub_kahan` of at most 64 basis vectors.
using golub_kahan = basic_golub_kahan<64>;

/// A method of svds, as options of one name: golub_kahan{}.
template <class M>
concept SingularMethod = requires { typename M::singular_method_tag; };

namespace detail {
template <class O>
using wants_singular_method = std::bool_constant<SingularMethod<O>>;

/// The triplets of a small A by dense algebra, as `run_golub_kahan` gives them.
template <class T, class A>
auto dense_golub_kahan(A const& a, index_t k, bool smallest_first) {
  using Wide = small_scalar<T>;
  auto const all = dense_triplets_of<Wide>(small_dense_of<Wide>(a));
  golub_kahan_result<vector<T>, vector<T>> out;
  for (index_t j = 0; j < k; ++j) {
    index_t const at = smallest_first ? a.cols() - 1 - j : j;
    out.values.push_back(all.values(at));
    out.range.push_back(column_as<T>(all.U, at)), out.domain.push_back(column_as<T>(all.V, at));
  }
  out.reason = reason::converged, out.restarts = -1, out.alone = out.is_whole = true;
  if (k < a.cols()) {
    index_t const last = smallest_first ? a.cols() - k : k - 1, next = smallest_first ? last - 1 : k;
    out.cuts_cluster = std::abs(all.values(next) - all.values(last)) <= 100 * double(a.cols()) * std::numeric_limits<double>::epsilon() * all.values(0);
  }
  return out;
}

/// Eigenpairs of a semidefinite A as `run_golub_kahan` gives triplets.
template <class T, class Pairs>
auto triplets_of_pairs(Pairs const& pairs, index_t n) {
  golub_kahan_result<vector<T>, vector<T>> out;
  for (index_t j = 0; j < pairs.values.size(); ++j) {
    vector<T> v(n);
    for (index_t i = 0; i < n; ++i) v[i] = pairs.vectors(i, j);
    out.values.push_back(double(pairs.values[j])), out.range.push_back(v), out.domain.push_back(std::move(v));
  }
  out.reason = reason::converged, out.products = pairs.report.products, out.restarts = pairs.report.iterations - 1;
  out.cuts_cluster = pairs.report.cuts_cluster;
  return out;
}

/// Whether the triplets of m x n entries are by dense algebra: never, where that takes less time, or always.
enum class dense_use { never, where_cheaper, always };
template <class A>
bool serves_dense(index_t m, index_t n) {
  return Readable<A> && double(m) * double(n) * double((std::min)(m, n)) <= 2e8;
}

/// Are there values so small beside |A| that factors of the augmented matrix may have missed others?
template <class A, class Values>
bool falls_short(A const& a, Values const& values) {
  if constexpr (Readable<A>)
    for (index_t j = 0; j < values.size(); ++j)
      if (values[j] > 0 && double(values[j]) < 1e-9 * double(norm_inf(a))) return true;
  return false;
}

/// svds of an A with at least as many rows as columns, and its stored adjoint. `transposed`: it is the adjoint that was given.
/// `use`: whether dense algebra may take its place. `is_doubtful`: small values may be missing.
template <class A, class Adjoint, class W, class Method, class On>
auto svds_of(A const& a, Adjoint const& adjoint, int k, W const&, Method const& method, On const& on, bool transposed, dense_use use, bool& is_doubtful) {
  constexpr bool of_smallest = std::same_as<W, smallest>;
  constexpr int capacity = Method::capacity;
  using T = typename A::value_type;
  using Real = real_t<T>;
  none const no{};
  index_t const m = sides_of(a).first, n = sides_of(a).second;
  eigen_problem<A, applied_identity, none, On> const problem{a, no_weight, no, on, n};
  auto space = problem.space();
  auto const random_v = [&](std::uint64_t seed) { return random_of_range(adjoint, seed); };
  auto const random_u = [&](std::uint64_t seed) { return random_of_range(a, seed); };
  {
    auto const x = random_v(1);
    auto z = random_u(1);
    require_range(space, a, x, z, "A", "svds(A, k)");
  }
  restart_rule const rule{method.rtol, method.max_restarts, n <= capacity ? int(n) : basis_for(k, method.basis, capacity), method.find_multiples};
  bool const is_dense = use == dense_use::always || (use == dense_use::where_cheaper && n > capacity && (k > n / 5 || k + 3 > capacity) && serves_dense<A>(m, n));
  if (!is_dense) require_basis(Method::name, k, n, capacity);
  auto const by = [](auto const& op) { return [&op](auto const& x, auto& y, auto const& f) { return f(set(y, op * x)); }; };
  bool inverts = of_smallest && Readable<A> && n > capacity && !is_dense, by_eigenpairs = false;
  int multiplicity = 1;
  dependent_t<eigen_report, A> out;
  auto const by_products = [&](restart_rule const& limited) { return run_golub_kahan<capacity>(space, k, of_smallest, limited, n, random_v, random_u, by(a), by(adjoint)); };
  auto const by_factors = [&](auto is_hermitian) {
    auto const inverse = pseudoinverse<T>::make(a, (std::min)(index_t(k) + 1, n), is_hermitian);
    if (!inverse) throw value_error(text("svds(A, k, smallest{}): A, ", m, " x ", n, ", has no factors, nor has (c I, A; A^H, -c I); svds(A, k) has the largest values"));
    out.preconditioner = inverse->name, is_doubtful = inverse->is_augmented;
    index_t const null = inverse->right.cols(), returned = (std::min)(null, index_t(k));
    golub_kahan_result<vector<T>, vector<T>> both;
    if (returned < k)
      both = run_golub_kahan<capacity>(space, k - returned, false, rule, n, random_v, random_u, by(inverse->of_adjoint), by(inverse->of_matrix));
    else
      both.reason = reason::converged, both.alone = true, both.cuts_cluster = null > k;
    if (null > 0) out.choice = text("A has not full rank: ", returned, returned == 1 ? " null vector is" : " null vectors are", " by inverse iteration");
    for (index_t j = returned; j-- > 0;)
      both.range.insert(both.range.begin(), column_as<T>(inverse->left, j)), both.domain.insert(both.domain.begin(), column_as<T>(inverse->right, j)), both.values.insert(both.values.begin(), 0);
    return both;
  };
  auto found = [&] {
    if constexpr (Readable<A>)
      if (is_dense) return dense_golub_kahan<T>(a, k, of_smallest);
    if constexpr (of_smallest && Readable<A>)
      if (inverts) {
        bool hermitian = m == n;
        if constexpr (requires { linear_world<A>::is_self_adjoint(a); }) hermitian = hermitian && linear_world<A>::is_self_adjoint(a);
        inverts = false;
        int const before = restarts_before_factors(a, hermitian, rule.basis);
        if constexpr (std::same_as<On, none>)
          if (hermitian && before != 0 && k <= lobpcg::most_pairs && multigrid_serves(properties(a)))
            if (auto const pairs = eigsh(a, k, smallest{}, lobpcg{.rtol = method.rtol / 2}, amg{}); pairs.report.converged()) {
              by_eigenpairs = true, multiplicity = pairs.report.sees_multiplicity;
              out.preconditioner = pairs.report.preconditioner, out.applications = pairs.report.applications, out.choice = "A is a diagonally dominant M-matrix: its eigenpairs";
              return triplets_of_pairs<T>(pairs, n);
            }
        restart_rule limited = rule;
        if (before > 0) limited.max_restarts = (std::min)(before, rule.max_restarts);
        if (before != 0) {
          auto products = by_products(limited);
          out.choice = "factors take longer than products";
          if (products.reason == reason::converged || before < 0) return products;
          out.choice.clear();
        }
        inverts = true;
        return by_factors(hermitian);
      }
    return by_products(rule);
  }();
  out.method = is_dense ? "dense" : by_eigenpairs ? lobpcg::name : Method::name, out.wanted = text("singular triplets, the ", W::name), out.reason = found.reason, out.iterations = found.restarts + 1;
  (inverts ? out.applications : out.products) = found.products;
  out.rtol = method.rtol, out.sees_multiplicity = found.alone ? int(n) : multiplicity, out.cuts_cluster = found.cuts_cluster;
  if (found.alone && !found.is_whole && found.products > 0) add_remark(out.choice, "a run beside these triplets found no others");

  index_t const count = index_t(found.values.size());
  auto left = block_like<T>(found.range.front(), count), right = block_like<T>(found.domain.front(), count);
  vector<Real> values(count);
  auto const p = random_v(1);
  // of a random vector of both lengths, that of the range of A first
  auto const turn_v = random_of_range(adjoint, 1, transposed ? 0 : m), turn_u = random_of_range(a, 1, transposed ? n : 0);
  auto au = space.template like<T>(p);
  auto av = space.template like<T>(found.range.front());
  auto [ap, pp] = fuse(space, set(av, a * p), squared_norm_of(av), squared_norm_of(p));
  double size = std::sqrt(double(read_one(space, ap)) / double(read_one(space, pp)));  // a lower bound of |A|, and a better one, where A is of low rank
  if (size > 0) {
    auto const shrink = number_in(space, real_t<T>(1 / std::sqrt(double(read_one(space, ap)))));
    auto [of_image] = fuse(space, set(au, shrink * (adjoint * av)), squared_norm_of(au));
    size = (std::max)(size, std::sqrt(double(read_one(space, of_image))));
  }
  std::vector<double> residuals;
  for (index_t j = 0; j < count; ++j) {
    auto &v = found.domain[std::size_t(j)];
    auto &u = found.range[std::size_t(j)];
    auto [pv, vv] = fuse(space, dot_of(turn_v, v), squared_norm_of(v));
    auto [pu, uu] = fuse(space, dot_of(turn_u, u), squared_norm_of(u));
    auto const turn = turned(read_number(space, pv) + read_number(space, pu));
    using Z = std::remove_const_t<decltype(turn)>;
    fuse(space, set(v, number_in(space, turn / std::sqrt(real_t<Z>(read_one(space, vv)))) * v), set(u, number_in(space, turn / std::sqrt(real_t<Z>(read_one(space, uu)))) * u));
    auto [uav] = fuse(space, set(av, a * v), dot_of(u, av));
    values[j] = Real(real_of(read_one(space, uav)));  // as its vectors have it
    if (values[j] < 0) values[j] = -values[j], fuse(space, set(u, number_in(space, Real(-1)) * u));  // the rounding of 0
    auto const s = number_in(space, values[j]);
    auto [of_v, aa] = fuse(space, squared_norm_of(av - s * u), squared_norm_of(av));
    auto [of_u] = fuse(space, set(au, adjoint * u), squared_norm_of(au - s * v));
    double const apart = std::sqrt(double(read_one(space, of_v))) + std::sqrt(double(read_one(space, of_u)));
    size = (std::max)(size, std::sqrt(double(read_one(space, aa))));
    residuals.push_back(apart);
  }
  double const rounding = 96 * double(std::numeric_limits<Real>::epsilon()) * size;  // of products 32, and 64 that a basis takes for nothing
  for (index_t j = 0; j < count; ++j)
    if (residuals[std::size_t(j)] <= rounding && values[j] < residuals[std::size_t(j)]) values[j] = 0;
  is_doubtful = is_doubtful && falls_short(a, values);
  auto const as_found = values;
  auto const order = ordered_by(count, [&](index_t j) { return W::key(as_found[j]); });
  for (index_t j = 0; j < count; ++j) {
    std::size_t const at = std::size_t(order[std::size_t(j)]);
    values[j] = as_found[index_t(at)];
    put_column(left, j, found.range[at]), put_column(right, j, found.domain[at]);
    double const apart = residuals[at], beside = values[j] == 0 ? size : double(values[j]);
    bool const is_rounding = apart <= rounding;
    out.residuals.push_back(apart == 0 ? 0 : apart / beside);
    out.rounding.push_back(is_rounding ? rounding / beside : 0);
  }
  out.let_residuals_decide();
  out.orthogonality = (std::max)(apart_from_orthonormal(space, no_weight, count, av, [&](index_t j) -> auto const& { return found.range[std::size_t(j)]; }),
                                 apart_from_orthonormal(space, no_weight, count, au, [&](index_t j) -> auto const& { return found.domain[std::size_t(j)]; }));
  return singular_triplets<decltype(left), vector<Real>, decltype(right)>{std::move(left), std::move(values), std::move(right), std::move(out)};
}
} // namespace detail

/// The k largest singular triplets A v = s u, A^H u = s v, of any matrix, or with `smallest{}` the smallest: `auto [U, s, V] = svds(A, 3);`, with `report` a fourth
/// member. The largest value comes first, unless the smallest are wanted; columns j of U (rows of A, k) and V (columns of A, k) belong to value j. Options:
/// golub_kahan{...}, on(make_space). The vectors (u, v), one below the other, have real and positive inner products with random<T>(rows + columns, 1).
/// Law: one matrix with scalar entries, or a linear_operator with its adjoint; of batches and blocks eigen_of_batch.hpp. What did not converge is in the report: nothing is thrown for that.
/// A value that its residual is not below, where that is rounding, is 0, and its residual over |A|. The smallest values are by factors, of (c I, A; A^H, 0) where A is not square; by products alone, where
/// these are not stored whole or factors take longer; of a diagonally dominant M-matrix with dear factors they are its eigenvalues, by lobpcg with amg; null vectors are by inverse iteration, and of an A that has no factors or is not square, values below 1e-10 |A| beside them may be missed, as the report says.
/// Where no method is named, small matrices whose values these do not settle are by dense algebra.
/// Gradient: of values and vectors (traced_svds.hpp). Cost: that of golub_kahan. Errors: value_error for NaN, k < 1 or k > min(rows, columns).
template <class A, class W = largest, class... Options>
  requires Wanted<W>
[[nodiscard]] auto svds(A const& a, int k, W const& wanted = {}, Options const&... options) {
  if constexpr (!detail::PlainEigenOperator<A>) {
    return perform(op::svds{}, a, k, wanted, options...);
  } else {
    constexpr bool either = std::same_as<W, smallest> || std::same_as<W, largest>;
    static_assert(either, "sla: svds(A, k, wanted): the singular values that are wanted are largest{} or smallest{}");
    constexpr bool lawful = (0 + ... + int(SingularMethod<Options>)) <= 1 && ((SingularMethod<Options> || detail::is_on_space<Options>) && ...);
    static_assert(lawful, "sla: svds(A, k, wanted, options...): options are golub_kahan{...}, on(space)");
    if constexpr (either && lawful) {
      double const began = detail::seconds_now();
      detail::check_finite(a, "A", "svds(A, k)");
      index_t const rows = detail::sides_of(a).first, cols = detail::sides_of(a).second;
      index_t const most = (std::min)(rows, cols);
      if (k < 1 || k > most)
        throw value_error(text("svds(A, k): k is ", k, ", and A is ", rows, " x ", cols, detail::ask_for(most, "triplet")));
      detail::none const no{};
      golub_kahan const unnamed{};
      auto const& method = detail::pick<detail::wants_singular_method>(options..., unnamed);
      auto const& on = detail::pick<detail::wants_space>(options..., no);
      detail::require_sensible_call(method, wanted, "svds(A, k)");
      constexpr bool is_named = (SingularMethod<Options> || ...);
      auto const found = [&](A const& c, applied_identity const&, W const&) {
        auto const adjoint = linear_world<A>::adjoint(c);
        bool is_doubtful = false;
        auto const by = [&](detail::dense_use use) {
          return rows >= cols ? detail::svds_of(c, adjoint, k, wanted, method, on, false, use, is_doubtful) : detail::svds_of(adjoint, c, k, wanted, method, on, true, use, is_doubtful);
        };
        auto out = by(is_named ? detail::dense_use::never : detail::dense_use::where_cheaper);
        if (is_doubtful) detail::add_remark(out.report.choice, "values below 1e-10 |A| may be missing");
        if (!is_named && (is_doubtful || !out.report.converged()) && detail::serves_dense<A>(rows, cols)) {
          out = by(detail::dense_use::always);
          out.report.choice = "golub-kahan did not settle it";
        }
        if (rows < cols) std::swap(out.left, out.right);
        return out;
      };
      auto out = detail::in_range(a, detail::no_weight, wanted, true, "svds(A, k)", found, [](auto&, int) {});
      out.report.seconds = detail::seconds_now() - began;
      return out;
    }
  }
}

/// Refused: the arguments in another order, or none that is a number.
template <class A, class... X>
  requires(!(sizeof...(X) == 1 && (std::is_convertible_v<X, int> && ...)) && !detail::in_order_of_eigenpairs<X...>)
[[nodiscard]] auto svds(A const&, X const&...) {
  static_assert(always_false<A>, "sla: svds(A, k, wanted, options...): the number of singular triplets comes before what is wanted, which is largest{} or smallest{}: svds(A, 3, smallest{})");
  return dependent_t<singular_triplets<matrix<double>, vector<double>, matrix<double>>, A>{};
}

/// Refused: what has no singular triplets here.
template <class A, class... X>
auto perform(op::svds, A const&, X const&...) {
  constexpr bool one = detail::is_one_matrix<A>;
  static_assert(one, "sla: svds(A, k): A is one matrix with scalar entries: of batches and blocks in host memory it is in <sla/eigenvalues.hpp>; else take batch_item(A, b) and unblocked(A)");
  static_assert(!one, "sla: svds(A, k): A is a sparse matrix in host memory or distributed by rows, traced or not, or a linear_operator with its adjoint: of a dense matrix take "
                      "to<Csr<>>(A), of a view or an expression eval(A)");
  return dependent_t<singular_triplets<matrix<double>, vector<double>, matrix<double>>, A>{};
}

/// The condition number |A| |A^-1| in the 2-norm, the largest singular value over the smallest, to about six digits; infinity, if A has not full rank; of a large matrix that is not Hermitian and has
/// no factors of its own a bound from below, where it is beyond 1e9. Of a Hermitian A
/// it is by eigenvalues. Cost: factors of A or, where it is not square, of a matrix of rows + columns; some hundred products and solves.
/// Errors: value_error for NaN; eigen_error, if a method did not converge. condition_estimate(A) is an estimate in the 1-norm.
template <class T, class S, class F>
  requires(!S::is_batched && !S::is_blocked)
[[nodiscard]] double condition_number(sparse_tensor<T, S, F> const& A) {
  linear_world<sparse_tensor<T, S, F>>::check(A, false, "condition_number(A)");
  if (A.rows() == 0 || A.cols() == 0) return 0;
  constexpr double rtol = 1e-5;  // of residuals; values are known to the square of that over their distance from others
  bool const hermitian = A.rows() == A.cols() && linear_world<sparse_tensor<T, S, F>>::is_self_adjoint(A);
  double most = 0;
  auto const value_of = [&](auto const& values, eigen_report const& report) {
    double const value = std::abs(double(values[0])), unit = double(std::numeric_limits<real_t<T>>::epsilon()), residual = report.residuals[0];
    // Pairs of an eigensolver of which the value and the residual are rounding are judged beside |A|.
    bool const both_rounding = hermitian && value <= detail::rounding_beside<real_t<T>>(most) && residual <= detail::rounding_beside<real_t<T>>(1);
    double const apart = residual * (both_rounding ? most : value);
    if (report.converged()) return apart < value || apart == 0 ? value : 0.0;  // not: it is below its rounding
    if (value + apart <= double(A.rows() + A.cols()) * unit * most) return 0.0;  // |A v|, which the least singular value is not above
    throw eigen_error(report, "condition_number(A)");
  };
  if (hermitian) {
    auto const large = eigsh(A, 1, largest_magnitude{}, lanczos{.rtol = rtol, .find_multiples = false});
    most = value_of(large.values, large.report);
    try {
      auto const little = eigsh(A, 1, near{0.0}, lanczos{.rtol = rtol, .find_multiples = false, .move_shift = false});
      return most / value_of(little.values, little.report);
    } catch (value_error const&) {  // 0 is an eigenvalue
      return std::numeric_limits<double>::infinity();
    }
  }
  golub_kahan const method{.rtol = rtol, .find_multiples = false};
  auto const large = svds(A, 1, largest{}, method);
  most = value_of(large.values, large.report);
  auto little = svds(A, 1, smallest{}, method);
  if (!little.report.converged() || detail::falls_short(A, little.values)) little = svds(A, 1, smallest{});
  double const least = value_of(little.values, little.report);
  return least == 0 ? std::numeric_limits<double>::infinity() : most / least;
}

/// Refused: what is not one sparse matrix.
template <class A>
double condition_number(A const&) {
  static_assert(always_false<A>, "sla: condition_number(A): A is one sparse tensor in host memory, not traced: of batches and blocks it is in <sla/eigenvalues.hpp>; of a dense matrix take to<Csr<>>(A), of a traced "
                                 "one A.value(); else svds(A, 1) has the largest singular value");
  return 0;
}

} // namespace sla

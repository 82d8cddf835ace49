// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls for any square A: `eigs(A, k, wanted, krylov_schur{})`, and `eigs(A, B, k, ...)` of A v = w B v; with `left_vectors` those of A^H too.
// Derivatives are in grad/implicit/traced_eigs.hpp.
#pragma once

#include <utility>

#include <sla/solve/eigen/eigsh.hpp>
#include <sla/solve/eigen/krylov_schur.hpp>

namespace sla {

/// Asks `eigs` for left vectors too.
struct left_vectors_t {};
/// The option of `eigs` that asks for left vectors: `auto [w, V, W, report] = eigs(A, 4, largest{}, left_vectors);`
inline constexpr left_vectors_t left_vectors{};

/// What `eigs` returns with left vectors, W^H A = diag(w) W^H B: w_j^H B v_j = 1, so that |w_j| |B v_j| is the condition number of value j.
template <class Values, class Vectors>
struct eigentriples {
  Values values;
  Vectors vectors, left;
  eigen_report report;
};

/// A method of eigs, as options of one name: krylov_schur{}, dense_schur{}.
template <class M>
concept GeneralEigenMethod = requires { typename M::general_eigen_method_tag; };

namespace detail {
template <class W>
inline constexpr bool has_complex_shift = false;
template <class Sigma>
inline constexpr bool has_complex_shift<near<Sigma>> = is_complex<Sigma>;

template <class O>
using wants_general_method = std::bool_constant<GeneralEigenMethod<O>>;
template <class O>
concept GeneralEigenOption = GeneralEigenMethod<O> || is_on_space<O> || std::same_as<O, left_vectors_t>;

/// Column j of vectors becomes v, of length 1 and with (p, v) real and positive.
template <class Space, class Block, class P, class V>
void turn_column(Space& space, Block& vectors, index_t j, P const& p, V& v) {
  using Z = typename V::value_type;
  auto [vv] = fuse(space, set(v, column(vectors, j)), squared_norm_of(v));
  auto [pv] = fuse(space, dot_of(p, v));
  double const length = std::sqrt(double(read_one(space, vv)));
  fuse(space, set(v, number_in(space, turned(Z(read_number(space, pv))) / real_t<Z>(length)) * v));
  space.finish();
  put_column(vectors, j, v);
}
/// W C with (W C)^H B V = I, for the columns of V, of values w, and those of W whose values are nearest to the conjugate ones; a remark, where there is no such C, or nearly.
template <class B, class Space, class Found, class V>
auto dual_columns(B const& b, Space& space, Found const& left, Found const& right, V& v, std::string& remarks) {
  using Z = typename V::value_type;
  using Block = decltype(left.vectors);
  auto const& vectors = right.vectors;
  constexpr int at_once = 16;
  std::vector<std::vector<V>> columns;  // so many in a list
  std::vector<dependent_t<char, B>> taken(left.values.size(), 0);
  index_t const k = index_t(right.values.size());
  for (Z const w : right.values) {
    std::size_t nearest = left.values.size();
    for (std::size_t i = 0; i < left.values.size(); ++i)
      if (!taken[i] && (nearest == left.values.size() || std::abs(std::conj(left.values[i]) - w) < std::abs(std::conj(left.values[nearest]) - w))) nearest = i;
    taken[nearest] = 1;
    if (columns.empty() || columns.back().size() == at_once) columns.emplace_back();
    columns.back().push_back(space.template like<Z>(v));
    fuse(space, set(columns.back().back(), column(left.vectors, index_t(nearest))));
  }
  using Wide = small_complex<small_scalar<Z>>;
  projected_matrix<Wide> M(k, k);
  auto bv = space.template like<Z>(v);
  for (index_t j = 0; j < k; ++j) {
    fuse(space, set(v, column(vectors, j)), set(bv, b * v));
    for (std::size_t c = 0; c < columns.size(); ++c) {
      auto [h] = fuse(space, dots<at_once>(columns[c], int(columns[c].size()), bv));
      auto const numbers = read_one(space, h);
      for (int i = 0; i < int(columns[c].size()); ++i) M(index_t(c) * at_once + i, j) = Wide(user_t<std::remove_cvref_t<decltype(numbers[i])>>(numbers[i]));
    }
  }
  double size = 0;
  for (Z const w : right.values) size = (std::max)(size, double(std::abs(w)));
  for (index_t i = 0; i < k; ++i)  // those of different values are orthogonal, but for their residuals, which W^H B V may amplify
    for (index_t j = 0; j < k; ++j)
      if (double(std::abs(right.values[std::size_t(i)] - right.values[std::size_t(j)])) > 1e-6 * size) M(i, j) = 0;
  projected_matrix<Wide> const C = solved<Wide>(M.adjoint(), projected_matrix<Wide>::Identity(k, k));
  double const longest = double(C.cwiseAbs().maxCoeff());
  if (!(longest * std::sqrt(double(std::numeric_limits<real_t<Z>>::epsilon())) <= 1))
    add_remark(remarks, "left vectors are nearly orthogonal to right ones, as of a value that is defective, or has equals that are not returned: w^H v = 1 takes a w of length ", longest);
  Block out = block_like<Z>(vectors, k);
  std::vector<V> part;
  for (index_t j = 0; j < k; ++j) {
    fuse(space, set(v, 0.0 * bv));
    for (std::size_t c = 0; c < columns.size(); ++c) {
      combine_columns<at_once>(space, columns[c], projected_matrix<Z>(C.block(index_t(c) * at_once, j, index_t(columns[c].size()), 1).template cast<Z>()), part);
      fuse(space, set(v, v + part[0]));
    }
    space.finish();
    put_column(out, j, v);
  }
  return out;
}
/// Errors: shape_error, value_error, if A has no eigenvalues, or not k.
template <class A>
void check_general(A const& a, char const* name, char const* call) {
  if constexpr (requires { a.rows() != a.cols(); })
    if (a.rows() != a.cols())
      throw shape_error(text(call, ": ", name, " is ", a.rows(), " x ", a.cols(), ", and must be square; of a rectangular matrix take singular values, svds(A, k)"));
  check_finite(a, name, call, true);
}

template <class A, class B, class W, class... Options>
auto eigs_in_range(A const& a, B const& b, int k, W const& wanted, Options const&... options) {
  constexpr bool lawful = (0 + ... + int(GeneralEigenMethod<Options>)) <= 1 && (GeneralEigenOption<Options> && ...);
  static_assert(lawful, "sla: eigs(A, k, wanted, options...): options are krylov_schur{...}, dense_schur{}, left_vectors, on(space); lobpcg{} and lanczos{} are methods of eigsh, for a Hermitian A");
  constexpr bool standard = std::same_as<B, applied_identity>, wants_left = (std::same_as<Options, left_vectors_t> || ...);
  constexpr char const* call = standard ? "eigs(A, k, ...)" : "eigs(A, B, k, ...)";
  if constexpr (lawful) {
    double const began = seconds_now();
    none const no{};
    automatic_eigs const unnamed{};
    auto const& method = pick<wants_general_method>(options..., unnamed);
    auto const& on = pick<wants_space>(options..., no);
    using On = std::remove_cvref_t<decltype(on)>;
    require_sensible_call(method, wanted, call);
    check_general(a, "A", call);
    if constexpr (!standard) {
      require_sides_of(a, b, call);
      check_general(b, "B", call);
    }
    eigen_problem<A, B, none, On> problem{a, b, no, on, 0};
    auto const p = problem.random_vector(1);
    auto space = problem.space();
    problem.n = count_elements(space, p);
    auto room = p;
    require_range(space, a, p, room, "A", call, standard ? 1e140 : 1e70);
    if constexpr (!standard) require_weight(space, b, p, room, call);
    if (k < 1 || k > problem.n)
      throw value_error(text(call, ": k is ", k, ", and A has ", problem.n, problem.n == 1 ? " row" : " rows", ask_for(problem.n, "pair")));

    auto found = method.template find<false>(problem, k, wanted);
    using Z = typename decltype(found.values)::value_type;
    using Block = decltype(found.vectors);
    auto out = report_of(found, wanted, method.rtol);
    out.orthogonality = std::numeric_limits<double>::quiet_NaN();  // they need not be
    auto v = column_like<Z>(p);
    vector<Z> values(static_cast<index_t>(found.values.size()));
    for (std::size_t j = 0; j < found.values.size(); ++j) values[index_t(j)] = found.values[j], turn_column(space, found.vectors, index_t(j), p, v);
    judge_columns(a, b, space, values, found.vectors, p, v, out);
    if constexpr (wants_left) {
      // where k is between the two values of a conjugate pair the left ones may be on the other side
      auto left = method.template find<true>(problem, (std::min)(index_t(k + 1), problem.n), wanted);
      out.iterations += left.iterations, out.products += left.products, out.applications += left.applications;
      if (left.reason != reason::converged) out.reason = left.reason;
      auto dual = dual_columns(b, space, left, found, v, out.choice);
      auto conjugate = values;
      for (Z& w : conjugate) w = std::conj(w);
      judge_columns(oriented<true>(a), oriented<true>(b), space, conjugate, dual, p, v, out);
      out.let_residuals_decide();
      out.seconds = seconds_now() - began;
      return eigentriples<vector<Z>, Block>{std::move(values), std::move(found.vectors), std::move(dual), std::move(out)};
    } else {
      out.let_residuals_decide();
      out.seconds = seconds_now() - began;
      return eigenpairs<vector<Z>, Block>{std::move(values), std::move(found.vectors), std::move(out)};
    }
  }
}
template <class A, class B, class W, class... Options>
auto eigs_of(A const& a, B const& b, int k, W const& wanted, Options const&... options) {
  constexpr bool readable = Readable<A> || !(std::same_as<Options, dense_schur> || ...);
  static_assert(readable, "sla: eigs(A, k, ..., dense_schur{}): A is a sparse matrix in host memory; on ranks, and of operators, take krylov_schur{}");
  if constexpr (!readable)
    return dependent_t<eigenpairs<vector<std::complex<double>>, matrix<std::complex<double>>>, A>{};
  else
    return in_range(
        a, b, wanted, true, "eigs(A, k, ...)", [&](auto const& c, auto const& d, W const& w) { return eigs_in_range(c, d, k, w, options...); },
        []([[maybe_unused]] auto& out, [[maybe_unused]] int of_b) {
          if constexpr (requires { out.left; }) multiply_by_power(out.left, of_b);
        });
}
} // namespace detail

/// The k eigenpairs A v = w v of any square matrix that are wanted: largest_magnitude{}, near{sigma} with a real or complex sigma, smallest{} and largest{} by
/// real part. Values and vectors are complex, those of a real A found in real arithmetic: `auto [w, V, report] = eigs(A, 4, largest_magnitude{})`. Options:
/// krylov_schur{...} or dense_schur{}, left_vectors (an eigentriples, with W too), on(make_space). Each vector has length 1, and its inner product with random<T>(n, 1) is
/// real and positive. A may be a sparse matrix of the host, a distributed one, or a linear_operator.
/// Law: one matrix with scalar entries; of batches and blocks eigen_of_batch.hpp. What did not converge is in the report: nothing is thrown for that. Gradient: of values and vectors (traced_eigs.hpp).
/// Cost: that of krylov_schur; left vectors as much again. Errors: shape_error, if A is not square; value_error for NaN, k < 1 or k > n, or where A - sigma B is singular for any sigma.
template <class A, class W = largest_magnitude, class... Options>
  requires Wanted<W>
[[nodiscard]] auto eigs(A const& a, int k, W const& wanted = {}, Options const&... options) {
  if constexpr (!detail::PlainEigenOperator<A>) {
    return perform(op::eigs{}, a, k, wanted, options...);
  } else if constexpr (detail::has_complex_shift<W> && !is_complex<typename A::value_type>) {
    return detail::eigs_of(cast<std::complex<real_t<typename A::value_type>>>(a), detail::no_weight, k, wanted, options...);
  } else {
    return detail::eigs_of(a, detail::no_weight, k, wanted, options...);
  }
}
/// The same of A v = w B v, for any B of the size of A that is not singular, or with near{sigma} for any.
template <class A, class B, class W, class... Options>
  requires Wanted<W>
[[nodiscard]] auto eigs(A const& a, B const& b, int k, W const& wanted, Options const&... options) {
  if constexpr (!detail::PlainEigenOperator<A> || !detail::PlainEigenOperator<B> || detail::ApartOnRanks<A, B>)
    return perform(op::eigs{}, a, b, k, wanted, options...);
  else if constexpr (detail::has_complex_shift<W> && !is_complex<typename A::value_type>)
    return detail::eigs_of(cast<std::complex<real_t<typename A::value_type>>>(a), b, k, wanted, options...);
  else
    return detail::eigs_of(a, b, k, wanted, options...);
}

/// Refused: the arguments in another order, or none that is a number.
template <class A, class... X>
  requires(!(sizeof...(X) == 1 && (std::is_convertible_v<X, int> && ...)) && !detail::in_order_of_eigenpairs<X...>)
[[nodiscard]] auto eigs(A const&, X const&...) {
  static_assert(always_false<A>, "sla: eigs(A, k, wanted, options...), eigs(A, B, k, wanted, options...): the number of eigenpairs comes before what is wanted, which is largest_magnitude{}, largest{}, smallest{} or near{sigma}, and left out of eigs(A, k) alone: eigs(A, 6, largest{})");
  return dependent_t<eigenpairs<vector<std::complex<double>>, matrix<std::complex<double>>>, A>{};
}

/// Refused: what has no eigenpairs here.
template <class A, class... X>
auto perform(op::eigs, A const&, X const&...) {
  constexpr bool one = detail::is_one_matrix<A> && (detail::is_one_matrix<X> && ...);
  static_assert(one, "sla: eigs(A, k, ...): A is one matrix with scalar entries: of batches and blocks in host memory it is in <sla/eigenvalues.hpp>; else take batch_item(A, b) and unblocked(A)");
  static_assert(!one, "sla: eigs(A, k, wanted, ...), eigs(A, B, k, ...): A and B are sparse matrices, both in host memory or both distributed by rows, traced or not, or a linear_operator: "
                      "of a dense matrix take to<Csr<>>(A), of a view or an expression eval(A)");
  return dependent_t<eigenpairs<vector<std::complex<double>>, matrix<std::complex<double>>>, A>{};
}

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `det(A)`, `slogdet(A)`, `logdet(A)` and `selected_inverse(A)` of sparse tensors, from factors that are made or that are there already.
// Their derivatives are in grad/implicit/traced_determinant.hpp.
#pragma once

#include <complex>
#include <type_traits>

#include <sla/expr/sparse/stored.hpp>
#include <sla/solve/determinant/item_factors.hpp>
#include <sla/solve/linear/condition.hpp>

namespace sla {

namespace op {
/// The determinant.
struct det {
  static constexpr char const* call = "det(A)";
};
/// Its sign, and the logarithm of its modulus.
struct slogdet {
  static constexpr char const* call = "slogdet(A)";
};
/// Its logarithm, where it is positive.
struct logdet {
  static constexpr char const* call = "logdet(A)";
};
/// The entries of the inverse on the pattern.
struct selected_inverse {
  static constexpr char const* call = "selected_inverse(A)";
};
} // namespace op

/// What `slogdet` gives: det(A) = sign exp(log_abs), `auto [sign, log_abs] = slogdet(A)`. Of a batch both are tensors of its extents.
template <class Sign, class Log>
struct sign_and_log {
  Sign sign;
  Log log_abs;
};

namespace detail {
template <class Op>
inline constexpr bool is_determinant = std::same_as<Op, op::det> || std::same_as<Op, op::slogdet> || std::same_as<Op, op::logdet>;
template <class Op>
concept OfFactors = is_determinant<Op> || std::same_as<Op, op::selected_inverse>;
template <factorization Kind>
inline constexpr bool has_pivots = Kind == factorization::lu || Kind == factorization::cholesky || Kind == factorization::ldlt;
template <factorization Kind>
constexpr bool require_pivots() {
  static_assert(has_pivots<Kind>, "sla: det, slogdet, logdet and selected_inverse: factors of SuiteSparse do not show their entries: take lu{}, ldlt{} or cholesky{}");
  return has_pivots<Kind>;
}
/// The factors that an operation takes where none are named.
template <class Op>
inline constexpr factorization usual_factors = std::same_as<Op, op::logdet> ? factorization::cholesky : factorization::lu;
/// Of logdet a singular item is an error; det is 0 there.
template <class Op>
inline constexpr bool gives_zero = std::same_as<Op, op::det> || std::same_as<Op, op::slogdet>;

/// The value of an operation, from factors.
template <class Factors>
auto number_of(op::det, Factors const& f) {
  return f.numbers([&](auto const& d, index_t b) { return d.value("det(A)", of_item(f.shape(), b)); });
}
template <class Factors>
auto number_of(op::slogdet, Factors const& f) {
  auto signs = f.numbers([](auto const& d, index_t) { return d.sign(); });
  auto logs = f.numbers([](auto const& d, index_t) { return d.log_abs(); });
  return sign_and_log<decltype(signs), decltype(logs)>{std::move(signs), std::move(logs)};
}
/// Errors: value_error, if the determinant is not positive.
template <class Factors>
auto number_of(op::logdet, Factors const& f) {
  return f.numbers([&](auto const& d, index_t b) {
    bool positive = true;
    if constexpr (is_complex<decltype(d.mantissa)>)
      positive = d.mantissa.real() > 0 && std::abs(d.mantissa.imag()) <= 1e-10 * d.mantissa.real();
    else
      positive = d.mantissa > 0;
    if (!positive) throw value_error(text("logdet(A): det(A)", of_item(f.shape(), b), " is not positive, its sign is ", d.sign(), "; slogdet(A) gives sign and logarithm"));
    return d.log_abs();
  });
}
/// The factors of a solver that is there, such as lu(A).
template <class Op, class T, class S, class F, factorization Kind>
auto factors_of_solver(prepared<sparse_tensor<T, S, F>, refinement<Kind>, factor<Kind>> const& solver) {
  return item_factors<T, S, F, Kind>(solver.preconditioner(), solver.matrix().shape(), Op::call, gives_zero<Op>);
}
/// The value of an operation on A; of selected_inverse the entries of A^-1 on the pattern of A, each once, in its scalars.
template <class Op, class T, class S, class F, class Factors>
auto value_of(Op op, sparse_tensor<T, S, F> const& A, Factors const& factors) {
  if constexpr (is_determinant<Op>)
    return number_of(op, factors);
  else
    return with_single_entries(A, [&](auto const& a) {
      sparse_tensor<T, S, F> out(a.shape(), a.shared_pattern());
      auto const values = out.values().data();
      for_inverse_on_pattern<false>(a, factors, [&](index_t, index_t n, auto const& v) { values[n] = T(v); });
      return out;
    });
}
} // namespace detail

template <detail::OfFactors Op>
inline constexpr bool reads_entries<Op> = true;

template <detail::OfFactors Op, class T, class S, class F, factorization Kind>
auto perform(Op op, sparse_tensor<T, S, F> const& A, detail::direct_method<Kind> const&) {
  if constexpr (detail::require_pivots<Kind>())
    return detail::value_of(op, A, detail::factors_for<Kind>(A, Op::call, detail::gives_zero<Op>, !detail::is_determinant<Op>));
}
template <detail::OfFactors Op, class T, class S, class F>
auto perform(Op op, sparse_tensor<T, S, F> const& A) {
  return perform(op, A, detail::direct_method<detail::usual_factors<Op>>{});
}
template <detail::OfFactors Op, class T, class S, class F, factorization Kind>
auto perform(Op op, prepared<sparse_tensor<T, S, F>, refinement<Kind>, factor<Kind>> const& solver) {
  if constexpr (detail::require_pivots<Kind>()) return detail::value_of(op, solver.matrix(), detail::factors_of_solver<Op>(solver));
}

/// The determinant of a square sparse tensor, or expression of such, a number; of a batch a tensor of its extents. float counts in double.
/// A method names other factors than those of lu{}, `det(A, ldlt{})`, and in A's place may stand factors that are kept, `det(lu(A))`.
/// Cost: of the factors. Gradient: conj(det(A) A^-1)^T on A's pattern, exactly, by selected inversion, not n solves.
/// Errors: value_error, where |det(A)| is out of the range of double (slogdet has none), and for NaN; shape_error, if A is not square. 0, if A is singular.
template <class A, class... Options>
auto det(A const& a, Options const&... options) {
  return perform(op::det{}, a, options...);
}
/// The sign of the determinant, for complex A a complex number of modulus 1, and the logarithm of its modulus: `auto [sign, log_abs] = slogdet(A)`.
/// Neither overflows. Of a singular A the sign is 0, and log_abs -infinity, as NumPy has it. Batches, methods, factors that are kept, cost: as of det.
/// Gradient: of log_abs A^-H on A's pattern; of the sign that of its phase, none for real A; value_error, if A is singular.
/// Errors: shape_error, if A is not square; value_error for NaN.
template <class A, class... Options>
auto slogdet(A const& a, Options const&... options) {
  return perform(op::slogdet{}, a, options...);
}
/// The logarithm of the determinant of a Hermitian positive definite A, a real number, by Cholesky factors. Another method, or factors that are kept,
/// take what they take, lu{} any square matrix, of positive determinant: the logarithm of a negative one is refused. Batches, cost: as of det.
/// Gradient: A^-H on A's pattern. Errors: value_error, where A is not Hermitian or not positive definite, naming slogdet; shape_error, if it is not square.
template <class A, class... Options>
auto logdet(A const& a, Options const&... options) {
  return perform(op::logdet{}, a, options...);
}
/// The entries of A^-1 on the pattern of A, its diagonal, say (variances, where A is a precision matrix), without the others: a sparse tensor like A.
/// By the factors of lu{}, of another method, `selected_inverse(A, cholesky{})`, or by factors that are kept, of a matrix with a symmetric pattern.
/// Cost: about two factorisations, where the n solves of an inverse cost n. Errors: value_error, if A is singular, and for NaN; shape_error.
/// Gradient: none. Source: Takahashi, Fagan, Chen (1973); Erisman, Tinney (CACM 1975); Lin et al., SelInv (ACM TOMS 2011).
template <class A, class... Options>
auto selected_inverse(A const& a, Options const&... options) {
  return perform(op::selected_inverse{}, a, options...);
}

namespace detail {
template <class A, class Method, class P>
std::bool_constant<keeps_factors<P>> has_factors(prepared<A, Method, P> const&);
/// lu(A), and what else prepare makes with factors.
template <class X>
concept WithFactors = requires(X const& x) { requires decltype(has_factors(x))::value; };
template <factorization Kind>
void made_by(direct_method<Kind> const&);
/// A method that makes factors here.
template <class O>
concept MakesFactors = requires(O const& o) { made_by(o); };
/// Options of what needs no factors.
template <class O>
concept EstimatorOptions = requires { typename O::estimator_tag; };
/// Neither a sparse tensor nor such a solver. Higher floors have values of their own.
template <class A>
inline constexpr bool has_no_entries = !SparseOperand<A> && !WithFactors<A>;
/// What is returned where a call is refused: a number. Higher floors return theirs, so that no other sentence follows.
template <class Op, class A>
struct refused_determinant {
  using type = std::conditional_t<std::same_as<Op, op::slogdet>, sign_and_log<double, double>, double>;
  static type of(A const&) { return {}; }
};
} // namespace detail

/// Refused: another option than factors that can be made, or an estimate.
template <detail::OfFactors Op, class A, class... Options>
  requires(!detail::has_no_entries<A> && !(sizeof...(Options) <= 1 && (detail::MakesFactors<Options> && ...)) && !(detail::EstimatorOptions<Options> || ...))
auto perform(Op, A const& a, Options const&...) {
  static_assert(always_false<A>, "sla: det, slogdet, logdet, selected_inverse: a determinant is of factors, lu{}, ldlt{} or cholesky{}, and of no other method or preconditioner; without "
                                 "factors there is the estimate logdet(A, stochastic_lanczos{})");
  return detail::refused_determinant<Op, A>::of(a);
}
/// Refused: what has no entries to factor.
template <detail::OfFactors Op, class A, class... Options>
  requires(detail::has_no_entries<A> && !(detail::EstimatorOptions<Options> || ...))
auto perform(Op, A const& a, Options const&...) {
  static_assert(always_false<A>, "sla: det, slogdet, logdet, selected_inverse: A is a sparse tensor in host memory, or lu(A), ldlt(A), cholesky(A): of a dense matrix or a linear_operator "
                                 "to<Csr<>>(to_dense(A)), of what is distributed gather(A), or logdet(A, stochastic_lanczos{})");
  return detail::refused_determinant<Op, A>::of(a);
}

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The inverse of A - sigma B by factors, as an operator: shift and invert. L D L^H where A - sigma B is Hermitian and its pivots serve, else L U.
#pragma once

#include <optional>

#include <sla/solve/direct/direct.hpp>
#include <sla/tensor/algebra/add.hpp>

namespace sla::detail {

/// A - sigma B in scalar entries of Number, for B a sparse tensor or `applied_identity`.
template <class Number, class A, class B, class Sigma>
auto minus_shift(A const& a, B const& b, Sigma sigma) {
  auto const flat = flat_scalars<Number>(a);
  if constexpr (std::same_as<B, applied_identity>)
    return sorted(eval(flat - Number(sigma) * eye<Number>(a.rows())));
  else
    return sorted(eval(flat - Number(sigma) * flat_scalars<Number>(b)));
}

/// An operator by factors of a matrix, and the name of these.
template <class T>
struct factored_inverse {
  linear_operator<T> apply;
  char const* name;
};
/// The factors M as an operator on vectors of T.
template <class T, class M>
linear_operator<T> operator_of_factors(M const& m, index_t n) {
  auto const by = [m, view = m.view()]<bool Adjoint>(std::bool_constant<Adjoint>, auto x, auto y) {
    view.template sweep<Adjoint>(kernel_pointer(x.data()), kernel_pointer(y.data()), index_t(1));
  };
  return linear_operator<T>(
      n, n, [by](std::span<T const> x, std::span<T> y) { by(std::false_type{}, x, y); }, [by](std::span<T const> x, std::span<T> y) { by(std::true_type{}, x, y); });
}
/// Factors of the kind, or none, where a pivot vanished, the matrix is not what the kind wants, or a solve leaves more than rounding.
template <factorization Kind, class Matrix>
auto trusted_factors(Matrix const& s) {
  using M = decltype(factor<Kind>{}.setup(s));
  using Number = typename Matrix::value_type;
  std::optional<M> out;
  try {
    out.emplace(factor<Kind>{}.setup(s));
  } catch (value_error const&) {
    return out;  // it is not Hermitian
  }
  if (out->failure(0).why != reason::converged) return std::optional<M>();
  auto const r = random<Number>(s.rows(), 1);
  vector<Number> const z = *out * r;
  double const left = norm(s * z - r), size = norm_inf(s) * norm(z);
  if (!(left <= 1e-11 * (size + norm(r)))) out.reset();
  return out;
}
/// Has a Hermitian B values below -1e-10 of its size? What is shifted by that has no Cholesky factors then.
template <class Number, class B>
bool has_negative_values(B const& b) {
  return factor<factorization::cholesky>{}.setup(minus_shift<Number>(b, applied_identity{}, -1e-10 * double(norm_inf(b)))).failure(0).why != reason::converged;
}
/// The inverse of S by L D L^H, or by L U. None, if S is singular.
template <class T, class Matrix>
std::optional<factored_inverse<T>> invert(Matrix const& s, bool is_hermitian) {
  if (is_hermitian)
    if (auto const m = trusted_factors<factorization::ldlt>(s)) return factored_inverse<T>{operator_of_factors<T>(*m, s.rows()), "ldlt"};
  if (auto const m = trusted_factors<factorization::lu>(s)) return factored_inverse<T>{operator_of_factors<T>(*m, s.rows()), "lu"};
  return std::nullopt;
}

} // namespace sla::detail

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The inverse of A - sigma B by factors, as an operator: shift and invert. L D L^H where A - sigma B is Hermitian and its pivots serve, else L U. Of a
// matrix whose rows are on ranks they are those of the automatic choice there, on the first rank.
#pragma once

#include <optional>

#include <sla/solve/linear/choice_world.hpp>
#include <sla/solve/seam/own_numbers.hpp>
#include <sla/tensor/algebra/add.hpp>

namespace sla::detail {

/// A matrix whose rows are on ranks, and are gathered for factors.
template <class A>
concept GatheredForFactors = requires { requires choice_world<A>::is_gathered; };
/// A in scalar entries of Number.
template <class Number, class A>
auto in_scalars(A const& a) {
  if constexpr (GatheredForFactors<A>)
    return cast<Number>(a);
  else
    return flat_scalars<Number>(a);
}
/// S - sigma B of stored matrices.
template <class S, class Number, class B>
auto minus_multiple(S const& s, Number sigma, B b) {
  if constexpr (GatheredForFactors<S>) {
    for (auto& value : b.local().values()) value *= sigma;
    return s - b;
  } else {
    return sorted(eval(s - sigma * b));
  }
}
/// A - sigma B in scalar entries of Number, for B a sparse tensor or `applied_identity`.
template <class Number, class A, class B, class Sigma>
auto minus_shift(A const& a, B const& b, Sigma sigma) {
  auto const flat = in_scalars<Number>(a);
  if constexpr (!std::same_as<B, applied_identity>)
    return minus_multiple(flat, Number(sigma), in_scalars<Number>(b));
  else if constexpr (GatheredForFactors<A>)
    return minus_multiple(flat, Number(sigma), eye<Number>(a.row_layout()));
  else
    return minus_multiple(flat, Number(sigma), eye<Number>(a.rows()));
}

/// An operator by factors of a matrix, and the name of these.
template <class T>
struct factored_inverse {
  linear_operator<T> apply;
  char const* name;
};
/// The factors M as an operator on vectors of T, of which n elements are here.
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
  using Options = typename choice_world<Matrix>::template factors<Kind>;
  using M = decltype(Options{}.setup(s));
  std::optional<M> out;
  try {
    out.emplace(Options{}.setup(s));
  } catch (value_error const&) {
    if constexpr (Kind == factorization::lu) throw;
    return out;  // it is not Hermitian
  }
  if (out->failure(0).why != reason::converged) return std::optional<M>();
  using Number = typename Matrix::value_type;
  auto const r = [&] {
    if constexpr (GatheredForFactors<Matrix>)
      return linear_world<Matrix>::probe_of_range(s, 1, 0);
    else
      return random<Number>(s.rows(), 1);
  }();
  auto z = column_like<Number>(r), left = z;
  auto space = space_of_call(s, r);
  auto [zz, rr] = fuse(space, set(z, *out * r), squared_norm_of(z), squared_norm_of(r));
  auto [ll] = fuse(space, set(left, s * z), squared_norm_of(left - r));
  double const size = double(norm_inf(s)) * std::sqrt(double(read_one(space, zz)));
  if (!(std::sqrt(double(read_one(space, ll))) <= 1e-11 * (size + std::sqrt(double(read_one(space, rr)))))) out.reset();
  return out;
}
/// Has a Hermitian B values below -1e-10 of its size? What is shifted by that has no Cholesky factors then.
template <class Number, class B>
bool has_negative_values(B const& b) {
  return factor<factorization::cholesky>{}.setup(minus_shift<Number>(b, applied_identity{}, -1e-10 * double(norm_inf(b)))).failure(0).why != reason::converged;
}
/// The inverse of S by L D L^H, or by L U. None, if S is singular.
template <class T, class Matrix>
std::optional<factored_inverse<T>> invert(Matrix const& s, [[maybe_unused]] bool is_hermitian) {
  auto const own_rows = [](auto const& m) {
    if constexpr (requires { m.local(); })
      return m.local().rows();
    else
      return m.rows();
  };
  if constexpr (Readable<Matrix>)
    if (is_hermitian)
      if (auto const m = trusted_factors<factorization::ldlt>(s)) return factored_inverse<T>{operator_of_factors<T>(*m, s.rows()), "ldlt"};
  if (auto const m = trusted_factors<factorization::lu>(s)) return factored_inverse<T>{operator_of_factors<T>(*m, own_rows(s)), "lu"};
  return std::nullopt;
}

} // namespace sla::detail

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `logdet(A, stochastic_lanczos{})` of a traced A: its derivative is the mean of z^H A^-1 dA z over the probes z of the value, by solves of
// cg. One text for tensors on one rank and on many.
#pragma once

#include <algorithm>

#include <sla/grad/implicit/traced_determinant.hpp>
#include <sla/grad/operation/traced_elementwise.hpp>
#include <sla/solve/determinant/stochastic_lanczos.hpp>
#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/precond/jacobi.hpp>

namespace sla {

/// Law: one system, not a batch of them. Errors: those of the value; solve_error, if a solve does not reach rtol.
template <Traced A, class... Where>
  requires(detail::HasWorld<plain_t<A>> || detail::has_dual_elements<plain_t<A>>)
auto perform(op::logdet op, A const& a, stochastic_lanczos const& options, Where const&... where) {
  auto const& plain = a.value();
  auto const guess = perform(op, detail::value_part(plain), options, where...);
  static_assert(std::same_as<std::remove_const_t<decltype(guess.value)>, double>, "sla: logdet(A, stochastic_lanczos{}), traced: A is a batch: differentiate its items, batch_item(A, k)");
  cg const method{.rtol = options.rtol};
  auto const prepared = prepare(plain, method, jacobi{});
  [[maybe_unused]] double slope = 0;  // of the value, if A is of dual numbers
  auto const term = [&](index_t first) {  // Re z^H A^-1 A z, where A^-1 is constant, by both products, so that what A is handed is Hermitian
    auto const z = detail::sign_probes(detail::value_part(plain), options.seed, first, (std::min)(index_t(16), options.probes - first));
    auto const x = prepared.solve(z, where...);
    if constexpr (detail::has_dual_elements<plain_t<A>>) slope += dot(detail::value_part(x), detail::slope_part(plain) * z) / options.probes;
    return real(dot(x, a * z) + dot(z, a * x));
  };
  auto sum = term(0);
  for (index_t first = 16; first < options.probes; first += 16) sum = sum + term(first);
  auto const mean = (0.5 / options.probes) * sum;
  auto const rest = [&] {
    if constexpr (detail::has_dual_elements<plain_t<A>>)
      return detail::with_slope(guess.value - mean.value().value, slope - mean.value().slope[0]);
    else
      return linear_world<plain_t<A>>::rest(guess.value, mean.value());
  }();
  auto value = mean + rest;  // the value, whose rest is constant
  return estimate<decltype(value), double>{value, guess.error, guess.quadrature, guess.probes, guess.steps};
}
/// Of views of A, such as transpose(A).
template <class A, class... Where>
  requires detail::StoredTracedView<A>
auto perform(op::logdet op, A const& a, stochastic_lanczos const& options, Where const&... where) {
  return perform(op, perform(op::eval{}, a), options, where...);
}

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `condition_estimate(A, factors)`: how many digits a solve with A loses, from a few solves with factors that are there already.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include <sla/expr/sparse/norms.hpp>
#include <sla/solve/linear/choose.hpp>
#include <sla/solve/linear/linear.hpp>

namespace sla {

namespace detail {
/// |B|_1 of every batch item, or less, for B that is known by apply(x) = B x and apply_adjoint(x) = B^H x; x has their vectors' extents.
/// Source: Higham, FORTRAN codes for estimating the one-norm of a real or complex matrix (TOMS 1988), after Hager (1984).
template <class V, class Apply, class ApplyAdjoint>
std::vector<double> norm1_estimates(V x, index_t items, Apply const& apply, ApplyAdjoint const& apply_adjoint) {
  using T = typename V::value_type;
  std::vector<double> most(std::size_t(items), 0.0);
  if (x.size() == 0) return most;
  index_t const n = x.size() / items;
  // Of B x the 1-norms, times a factor, where they are more; is one of them?
  auto const grows = [&](V const& y, double factor) {
    bool any = false;
    for (index_t b = 0; b < items; ++b) {
      double total = 0;
      for (index_t i = b * n; i < (b + 1) * n; ++i) total += factor * double(abs_of(to_kernel(y[i])));
      double& before = most[std::size_t(b)];
      if (total <= before || !(before - before == 0)) continue;
      before = total;
      any = true;
    }
    return any;
  };
  for (T& v : x) v = T(1.0 / double(n));
  for (int step = 0; step < 5; ++step) {
    V y = apply(x);
    if (!grows(y, 1)) break;
    for (T& v : y) {
      double const size = double(abs_of(to_kernel(v)));
      v = size > 0 ? v / size : T(1);
    }
    V const z = apply_adjoint(y);  // the gradient of |B x|_1: the unit vector of its largest element may give more
    for (index_t b = 0; b < items; ++b) {
      auto const size = [&](index_t i) { return abs_of(to_kernel(z[i])); };
      index_t best = b * n;
      for (index_t i = b * n; i < (b + 1) * n; ++i) {
        x[i] = T(0);
        if (size(i) > size(best)) best = i;
      }
      x[best] = T(1);
    }
  }
  for (index_t k = 0; k < x.size(); ++k) x[k] = T((k % n % 2 == 0 ? 1.0 : -1.0) * (1 + double(k % n) / double((std::max)(index_t(1), n - 1))));
  grows(apply(x), 2.0 / (3.0 * double(n)));  // for matrices that are made to cheat what is above
  return most;
}
template <class P>
inline constexpr bool keeps_factors = false;
template <factorization Kind>
inline constexpr bool keeps_factors<factor<Kind>> = true;
} // namespace detail

/// An estimate of the condition number |A|_1 |A^-1|_1 from what solves with A: `lu(A)`, `cholesky(A)`, `ldlt(A)`, or prepare(A, ...). It is never
/// more than the number but for rounding, and rarely less than a third of it. A relative change d of A or b may change x by about this number times d,
/// relative to |x|. Infinity where A is singular, and 0 if it has no rows; of a batch a tensor of its extents, one number per item.
/// Cost: at most 11 applications of factors, or solves, to one vector. Errors: shape_error, if the solver is of a matrix of another size;
/// without factors, solve_error of a solve that did not reach its tolerance.
/// Source: Higham, Accuracy and Stability of Numerical Algorithms, chapter 15.
template <class T, class S, class F, class U, class G, class Method, class P>
auto condition_estimate(sparse_tensor<T, S, F> const& A, prepared<sparse_tensor<U, S, G>, Method, P> const& solver) {
  using V = tensor<std::conditional_t<is_complex<T> || is_complex<U>, std::complex<double>, double>, range_extents_t<S>>;
  auto const& made_for = solver.matrix();
  if (A.rows() != made_for.rows() || A.cols() != made_for.cols() || A.batch_count() != made_for.batch_count())
    throw shape_error(text("condition_estimate(A, solver): A is ", A.rows(), " x ", A.cols(), ", batch ", A.batch_count(), ", and the solver is of a matrix ",
                           made_for.rows(), " x ", made_for.cols(), ", batch ", made_for.batch_count(), "; give that matrix, or prepare a solver of A"));
  V const x(A.range());
  std::vector<double> numbers;
  if constexpr (detail::keeps_factors<P>) {  // what they give: refinement asks for more than there is where the condition is bad
    auto const& m = solver.preconditioner();
    auto const adjoint = m.adjoint();
    numbers = detail::norm1_estimates(x, A.batch_count(), [&](V const& v) { return V(m * v); }, [&](V const& v) { return V(adjoint * v); });
    for (index_t b = 0; b < A.batch_count(); ++b)
      if (m.failure(b).why != reason::converged) numbers[std::size_t(b)] = std::numeric_limits<double>::infinity();
  } else {
    numbers = detail::norm1_estimates(x, A.batch_count(), [&](V const& v) { return V(solver.solve(v)); }, [&](V const& v) { return V(solver.solve_adjoint(v)); });
  }
  auto const sums = detail::with_single_entries(A, [](auto const& a) { return detail::absolute_sums<false>(a); });
  auto const sizes = detail::largest(sums, A.batch_count());
  for (std::size_t b = 0; b < numbers.size(); ++b)
    numbers[b] = numbers[b] - numbers[b] == 0 ? numbers[b] * double(sizes[b]) : std::numeric_limits<double>::infinity();
  return detail::number_per_item(A.shape(), numbers);
}
/// The same with factors of its own, those of lu. Cost: of the factors. Errors: value_error for NaN in A; shape_error, if A is not square.
template <class T, class S, class F>
auto condition_estimate(sparse_tensor<T, S, F> const& A) {
  return condition_estimate(A, prepare(A, lu<>{}));
}
/// Refused: what has no entries to factor.
template <class A, class... Solver>
  requires(!SparseOperand<A>)
double condition_estimate(A const&, Solver const&...) {
  static_assert(always_false<A>, "sla: condition_estimate(A): A is a sparse tensor in host memory, which is factored: of a dense matrix or a linear_operator that is "
                                 "to<Csr<>>(to_dense(A)), and of one that is distributed the tensor that was distributed, or gather(A)");
  return 0;
}

} // namespace sla

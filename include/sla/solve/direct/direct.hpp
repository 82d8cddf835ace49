// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Direct solvers: `solve(A, b, lu{})`, and objects that keep the factors: `lu(A)`, `cholesky(A)`, `ldlt(A)`. Factors are a
// preconditioner whose method is iterative refinement, so batches, blocks, adjoints and true residuals are those of all.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <sla/core/held.hpp>
#include <sla/solve/direct/factors.hpp>
#include <sla/solve/direct/parts.hpp>
#include <sla/solve/driver/prepared.hpp>
#include <sla/solve/precond/hermitian.hpp>
#include <sla/solve/precond/sweep.hpp>
#include <sla/tensor/build/block.hpp>

namespace sla {

namespace detail {
/// The matrix with scalar entries and sorted rows, in the index type of the factors and double precision.
template <class Number, class Index = std::int32_t, class T, class S, class F>
auto flat_scalars(sparse_tensor<T, S, F> const& A) {
  using Flat = Csr<Index>;
  auto scalar = [&] {
    if constexpr (S::is_blocked)
      return to<Flat>(cast<Number>(unblocked(A)));
    else
      return to<Flat>(cast<Number>(A));
  }();
  return has_sorted_columns(scalar.pattern()) ? std::move(scalar) : sorted(scalar);
}
/// What factors of all batch items of A would take, counted without making them (solve/seam/factorization.hpp). exchanges: those of LU, whose rows are
/// exchanged until none is without its diagonal entry; the others are counted as they stand.
template <class T, class S, class F>
factor_cost cost_of_factors(sparse_tensor<T, S, F> const& A, double most, bool exchanges = false) {
  using number = std::conditional_t<is_complex<T>, std::complex<double>, double>;
  auto const scalar = flat_scalars<number>(A);
  auto const& p = scalar.pattern();
  auto const entries = without_zeros<decltype(p.view()), number>{p.view(), scalar.values().data(), scalar.rows(), scalar.rows()};
  std::vector<index_t> row_of;
  factor_cost out;
  if (exchanges && A.batch_count() > 0 && match_rows(entries, row_of) < 0) {
    std::vector<int> row_ptr{0}, col;
    std::vector<number> values;
    for (index_t const i : row_of) {
      entries.for_row(i, [&](index_t s, index_t j) { col.push_back(int(j)), values.push_back(scalar.values()[s]); });
      row_ptr.push_back(int(col.size()));
    }
    out = cost_of_factors(scalar.rows(), row_ptr.data(), col.data(), values.data(), most);
  } else {
    out = cost_of_factors(scalar.rows(), p.row_ptr.data(), p.col.data(), scalar.values().data(), most);
  }
  out.entries *= double(A.batch_count()), out.operations *= double(A.batch_count());
  return out;
}
} // namespace detail

/// A^-1 by factors: `x = M * b`; `M.adjoint() * b`. Made by `factor<Kind>{}.setup(A)`; singular items are named by
/// `failure(item)`, and their singular components give 0.
template <class T, class S, class F, factorization Kind, bool Adjoint = false>
class applied_factors {
  using number = std::conditional_t<is_complex<T>, std::complex<double>, double>;
  using index = detail::factor_index<Kind>;
  using factors_type = detail::factors<number, index>;

public:
  using value_type = T;
  using shape_type = S;

  explicit applied_factors(sparse_tensor<T, S, F> const& A) : factors_(detail::shared_of<factors_type>()) { update(A); }
  explicit applied_factors(std::shared_ptr<factors_type> factors) : factors_(std::move(factors)) {}

  applied_factors<T, S, F, Kind, !Adjoint> adjoint() const { return applied_factors<T, S, F, Kind, !Adjoint>(factors_.shared()); }

  /// New values. The ordering is kept where the pattern is the same object: then the old factors give their memory to the new ones.
  /// Errors: those of the set-up, and the old factors stay; but where memory ran out for the new ones, all items say so.
  void update(sparse_tensor<T, S, F> const& A) {
    auto const scalar = detail::flat_scalars<number, index>(A);
    if constexpr (detail::is_hermitian(Kind)) detail::require_hermitian(scalar, detail::name_of(Kind), "lu");
    bool const anew = !factors_.is_sole() || factors_->pattern != A.shared_pattern();
    auto const next = anew ? detail::shared_of<factors_type>() : factors_.shared();
    detail::make_parts(*next, detail::factor_functions<number, Kind>, scalar, anew);
    next->pattern = A.shared_pattern();
    factors_ = next;
  }

  detail::factor_failure const& failure(index_t batch_item) const { return factors_->failures[std::size_t(batch_item)]; }
  index_t batch_count() const { return index_t(factors_->items.size()); }
  std::size_t bytes() const { return factors_->bytes; }
  index_t rows() const { return factors_->rows; }
  detail::factors_view<number, Kind> view() const { return {factors_.get()}; }

private:
  detail::held<factors_type, "a preconditioner"> factors_;
};

template <class T, class S, class F, factorization Kind, bool Adjoint, Tensorial X>
auto operator*(applied_factors<T, S, F, Kind, Adjoint> const& M, X&& x) {
  return detail::swept<S, Adjoint>(M.view(), M.batch_count() * M.rows(), std::forward<X>(x), "factors");
}

/// Factors as a preconditioner, for a matrix near the one that is solved with.
template <factorization Kind>
struct factor {
  using preconditioner_tag = void;
  static constexpr char const* name = "";

  template <class T, class S, class F>
  auto setup(sparse_tensor<T, S, F> const& A) const {
    return applied_factors<T, S, F, Kind>(A);
  }
};

namespace detail {
/// The text of `refinement`, whatever the factors.
template <class S, class A, class M, class V, class MakeStop>
auto refine(S& space, A const& a, M const& m, V const& b, V& x, MakeStop make_stop) {
  using T = typename V::value_type;
  auto r = space.template like<T>(b), z = space.template like<T>(b);
  auto [rr, bb] = fuse(space, set(r, b - a * x), squared_norm_of(r), squared_norm_of(b));
  auto stop = make_stop(space, bb);
  while (stop.go_on(rr)) {
    auto step = stop.running(rr);
    auto [rr2] = fuse(space, set(z, m * r), set(x, x + step * z), set(r, b - a * x), squared_norm_of(r));
    stop.expect_decrease(rr, rr2);
    rr = rr2;
  }
  return stop.outcome();
}
} // namespace detail

/// x += M (b - A x) until the residual is within the tolerance or no longer falls: iterative refinement. Frozen items stay.
/// Cost: three passes and one application of M per iteration. Memory: 2 vectors.
template <factorization Kind>
struct refinement {
  relative_tolerance rtol = default_rule().rtol;
  double atol = default_rule().atol;
  int max_iterations = default_rule().max_iterations;
  observer watch = {};

  using method_tag = void;
  static constexpr char const* name = detail::name_of(Kind);
  static constexpr bool needs_definite = false, needs_hermitian = Kind != factorization::lu && Kind != factorization::umfpack;

  template <class S, class A, class M, class V, class MakeStop>
    requires Space<S, V> && LinearOperator<A, V> && LinearOperator<M, V>
  static auto run(S& space, A const& a, M const& m, V const& b, V& x, MakeStop make_stop) {
    return detail::refine(space, a, m, b, x, make_stop);
  }
};

/// `solve(A, b, lu{})`: sparse LU with partial pivoting (Eigen's SparseLU, after Demmel et al., SuperLU), any square matrix.
/// Of a matrix of 32 rows and more that stores at least half of its entries, dense LU (PartialPivLU); cholesky and ldlt then try a dense L L^H first.
/// `lu(A)` keeps the factors: solve, solve_transpose, solve_adjoint, refactor(A2). Errors of the latter: solve_error where
/// A is singular.
template <class A = void>
struct lu;
template <class A = void>
struct cholesky;
template <class A = void>
struct ldlt;

namespace detail {
/// Factors of what has no entries to factor.
template <class A>
struct refused_factors {
  static_assert(always_false<A>, "sla: lu(A), cholesky(A), ldlt(A): A is a sparse tensor in host memory: of a dense matrix to<Csr<>>(D), of a view eval(transpose(A)), "
                                 "of a linear_operator to<Csr<>>(to_dense(M)); what is on ranks is gathered first");
  explicit refused_factors(A const&) {}
};
template <factorization Kind>
struct direct_method {
  using method_tag = void;
  relative_tolerance rtol = default_rule().rtol;
  double atol = default_rule().atol;

  refinement<Kind> method() const { return {.rtol = rtol, .atol = atol}; }
  factor<Kind> preconditioner() const { return {}; }
};
template <class A, factorization Kind>
class direct_solver : public prepared<A, refinement<Kind>, factor<Kind>> {
  using base = prepared<A, refinement<Kind>, factor<Kind>>;

public:
  explicit direct_solver(A a) : base(std::move(a), {}, {}) { require_success(); }
  /// New values on the same pattern; the ordering is kept. Errors: solve_error, if A is singular now.
  void refactor(A a) {
    base::update(std::move(a));
    require_success();
  }

private:
  void require_success() const {
    auto const& m = this->preconditioner();
    report out;
    out.method = name_of(Kind);
    for (index_t b = 0; b < m.batch_count(); ++b) {
      out.items.push_back({m.failure(b).why, 0, 1});
      if (m.failure(b).why != reason::converged) out.choice = text(m.failure(b).what, m.failure(b).in_solves);
    }
    if (!out.converged()) throw solve_error(std::move(out));
  }
};
} // namespace detail

/// Refused of what has no entries.
template <class A>
struct lu : detail::refused_factors<A> {
  using detail::refused_factors<A>::refused_factors;
};
/// Refused, as lu is, of what has no entries.
template <class A>
struct cholesky : detail::refused_factors<A> {
  using detail::refused_factors<A>::refused_factors;
};
/// Refused, as lu is, of what has no entries.
template <class A>
struct ldlt : detail::refused_factors<A> {
  using detail::refused_factors<A>::refused_factors;
};
template <class A>
lu(A const&) -> lu<A>;
template <class A>
cholesky(A const&) -> cholesky<A>;
template <class A>
ldlt(A const&) -> ldlt<A>;

template <>
struct lu<void> : detail::direct_method<factorization::lu> {};
template <class T, class S, class F>
struct lu<sparse_tensor<T, S, F>> : detail::direct_solver<sparse_tensor<T, S, F>, factorization::lu> {
  using detail::direct_solver<sparse_tensor<T, S, F>, factorization::lu>::direct_solver;
};
lu() -> lu<void>;
template <class T, class S, class F>
lu(sparse_tensor<T, S, F>) -> lu<sparse_tensor<T, S, F>>;

/// The same with L L^H, for Hermitian positive definite matrices. Errors: value_error where A is not Hermitian.
template <>
struct cholesky<void> : detail::direct_method<factorization::cholesky> {};
template <class T, class S, class F>
struct cholesky<sparse_tensor<T, S, F>> : detail::direct_solver<sparse_tensor<T, S, F>, factorization::cholesky> {
  using detail::direct_solver<sparse_tensor<T, S, F>, factorization::cholesky>::direct_solver;
};
cholesky() -> cholesky<void>;
template <class T, class S, class F>
cholesky(sparse_tensor<T, S, F>) -> cholesky<sparse_tensor<T, S, F>>;

/// The same with L D L^H, for Hermitian matrices whose leading minors do not vanish: quasi-definite ones, for instance. Where one
/// does, the reason is zero_pivot: A need not be singular, and lu{} or minres{} may solve it.
template <>
struct ldlt<void> : detail::direct_method<factorization::ldlt> {};
template <class T, class S, class F>
struct ldlt<sparse_tensor<T, S, F>> : detail::direct_solver<sparse_tensor<T, S, F>, factorization::ldlt> {
  using detail::direct_solver<sparse_tensor<T, S, F>, factorization::ldlt>::direct_solver;
};
ldlt() -> ldlt<void>;
template <class T, class S, class F>
ldlt(sparse_tensor<T, S, F>) -> ldlt<sparse_tensor<T, S, F>>;

} // namespace sla

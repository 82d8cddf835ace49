// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Direct solvers: `solve(A, b, lu{})`, and objects that keep the factors: `lu(A)`, `cholesky(A)`, `ldlt(A)`. Factors are a
// preconditioner whose method is iterative refinement, so batches, blocks, adjoints and true residuals are those of all.
#pragma once

#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <sla/core/held.hpp>
#include <sla/solve/direct/factors.hpp>
#include <sla/solve/direct/matching.hpp>
#include <sla/solve/driver/prepared.hpp>
#include <sla/solve/precond/hermitian.hpp>
#include <sla/solve/precond/sweep.hpp>
#include <sla/tensor/build/block.hpp>
#include <sla/tensor/structure/components.hpp>

namespace sla {

namespace detail {
constexpr char const* name_of(factorization kind) {
  return kind == factorization::lu ? "lu" : kind == factorization::cholesky ? "cholesky" : "ldlt";
}

/// The matrix with scalar entries and sorted rows, in Eigen's index type and double precision.
template <class Number, class T, class S, class F>
auto flat_scalars(sparse_tensor<T, S, F> const& A) {
  using Flat = Csr<std::int32_t>;
  auto scalar = [&] {
    if constexpr (S::is_blocked)
      return to<Flat>(cast<Number>(unblocked(A)));
    else
      return to<Flat>(cast<Number>(A));
  }();
  return has_sorted_columns(scalar.pattern()) ? std::move(scalar) : sorted(scalar);
}
/// What factors of all batch items of A would take, counted without making them (solve/seam/factorization.hpp).
template <class T, class S, class F>
factor_cost cost_of_factors(sparse_tensor<T, S, F> const& A, double most) {
  using number = std::conditional_t<is_complex<T>, std::complex<double>, double>;
  auto const scalar = flat_scalars<number>(A);
  auto const& p = scalar.pattern();
  auto out = cost_of_factors(scalar.rows(), p.row_ptr.data(), p.col.data(), scalar.values().data(), most);
  out.entries *= double(A.batch_count()), out.operations *= double(A.batch_count());
  return out;
}

/// A pattern without its stored zeros.
template <class View, class T>
struct without_zeros {
  View pattern;
  T const* values;
  index_t rows, cols;
  template <class F>
  void for_row(index_t i, F const& f) const {
    pattern.for_row(i, [&](index_t s, index_t j) {
      if (values[s] != T{}) f(s, j);
    });
  }
};

/// What went wrong with the factors of a batch item.
struct factor_failure {
  reason why = reason::converged;
  std::string what;
};

/// The factors of each batch item, in double precision.
template <class T, factorization Kind>
struct factors {
  using number = std::conditional_t<is_complex<T>, std::complex<double>, double>;
  /// The factors of all rows of an item, or, where those failed, of one connected component: the others are solved.
  struct part {
    std::shared_ptr<factors_of_one<number, Kind>> of{};  ///< none: they failed, and give 0
    std::vector<int> rows{};                            ///< empty: all of them
  };
  index_t rows = 0;
  std::vector<std::vector<part>> items;
  std::vector<factor_failure> failures;
  std::shared_ptr<void const> pattern;  ///< that the ordering is for
  std::size_t bytes = 0;

  /// Some rows of an n x rhs item of x, taken and written.
  template <class X, class Out>
  struct columns {
    X const* x;
    Out* out;
    index_t rhs;
    int const* rows;
    index_t at(index_t i, index_t k) const { return (rows ? rows[i] : i) * rhs + k; }
    number get(index_t i, index_t k) const { return number(scalar_cast<kernel_t<number>>(x[at(i, k)])); }
    void put(index_t i, index_t k, number v) const { out[at(i, k)] = scalar_cast<Out>(kernel_t<number>(v)); }
  };
  template <bool Adjoint, class X, class Out>
  void sweep(X const* x, Out* out, index_t rhs) const {
    for_batch_items(index_t(items.size()), [&](index_t b) {
      index_t const first = b * rows * rhs;
      for (part const& p : items[std::size_t(b)]) {
        index_t const count = p.rows.empty() ? rows : index_t(p.rows.size());
        columns<X, Out> const at{x + first, out + first, rhs, p.rows.empty() ? nullptr : p.rows.data()};
        std::vector<number> one(std::size_t(count), number{});
        for (index_t k = 0; k < rhs && count > 0; ++k) {
          if (p.of) {
            for (index_t i = 0; i < count; ++i) one[std::size_t(i)] = at.get(i, k);
            solve_one<Adjoint>(*p.of, count, one.data());
          }
          for (index_t i = 0; i < count; ++i) at.put(i, k, one[std::size_t(i)]);
        }
      }
    }, index_t(bytes / (sizeof(number) + sizeof(int))) * rhs);
  }
};

/// The factors as sweeps see them.
template <class Factors>
struct factors_view {
  Factors const* factors;
  template <bool Adjoint, class X, class Out>
  void sweep(X const* x, Out* out, index_t rhs) const {
    factors->template sweep<Adjoint>(x, out, rhs);
  }
};
} // namespace detail

/// A^-1 by factors: `x = M * b`; `M.adjoint() * b`. Made by `factor<Kind>{}.setup(A)`; singular items are named by
/// `failure(item)`, and their singular components give 0.
template <class T, class S, class F, factorization Kind, bool Adjoint = false>
class applied_factors {
  using factors_type = detail::factors<T, Kind>;
  using number = typename factors_type::number;

public:
  using value_type = T;
  using shape_type = S;

  explicit applied_factors(sparse_tensor<T, S, F> const& A) : factors_(std::make_shared<factors_type>()) { update(A); }
  explicit applied_factors(std::shared_ptr<factors_type> factors) : factors_(std::move(factors)) {}

  applied_factors<T, S, F, Kind, !Adjoint> adjoint() const { return applied_factors<T, S, F, Kind, !Adjoint>(factors_.shared()); }

  /// New values. The ordering is kept where the pattern is the same object: then the old factors give their memory to the new ones.
  /// Errors: those of the set-up, and the old factors stay; but where memory ran out for the new ones, all items say so.
  void update(sparse_tensor<T, S, F> const& A) {
    std::shared_ptr<void const> const pattern = A.shared_pattern();
    auto scalar = detail::flat_scalars<number>(A);
    if constexpr (Kind != factorization::lu) detail::require_hermitian(scalar, detail::name_of(Kind), "lu");
    bool const anew = !factors_.is_sole() || factors_->pattern != pattern;
    auto const next = anew ? std::make_shared<factors_type>() : factors_.shared();
    auto& f = *next;
    f.pattern = nullptr;
    f.rows = scalar.rows();
    f.items.resize(std::size_t(A.batch_count()));
    f.failures.resize(f.items.size());
    index_t const bare = anew ? detail::unmatched_row(scalar.pattern().view()) : -1;
    try {
      detail::for_batch_items(A.batch_count(), [&](index_t b) { f.failures[std::size_t(b)] = factor(scalar, b, f.items[std::size_t(b)], bare, anew); });
    } catch (...) {
      for (std::size_t b = 0; b < f.items.size(); ++b) {
        f.items[b].clear(), f.items[b].resize(1);
        f.failures[b] = {reason::setup_failed, "out of memory"};  // as short as not to want memory
      }
      f.bytes = 0;
      throw;
    }
    f.pattern = pattern;
    f.bytes = 0;
    for (auto const& parts : f.items)
      for (auto const& p : parts)
        if (p.of) f.bytes += detail::bytes_of_one(*p.of);
    factors_ = next;
  }

  detail::factor_failure const& failure(index_t batch_item) const { return factors_->failures[std::size_t(batch_item)]; }
  index_t batch_count() const { return index_t(factors_->items.size()); }
  std::size_t bytes() const { return factors_->bytes; }
  index_t rows() const { return factors_->rows; }
  detail::factors_view<factors_type> view() const { return {factors_.get()}; }

private:
  using part = typename factors_type::part;

  /// The factors of item b, and what went wrong; where they fail, those of its connected components, each by itself: the systems of a list, for one.
  template <class Scalars>
  static detail::factor_failure factor(Scalars const& A, index_t b, std::vector<part>& parts, index_t bare, bool anew) {
    detail::factor_failure failure;
    auto const& p = A.pattern();
    auto const* const values = A.values().data() + b * A.batch_stride();
    if (parts.size() != 1 || !parts[0].of || !parts[0].rows.empty()) parts.clear(), parts.resize(1), anew = true;
    if (bare < 0 && made(parts[0], A.rows(), p.row_ptr.data(), p.col.data(), values, anew)) return failure;
    auto const components = connected_components(A);
    if (components.count == 1) {
      parts[0].of.reset();
      return why_not(p.view(), values, nullptr);
    }
    parts.clear(), parts.resize(std::size_t(components.count));
    std::vector<int> place(std::size_t(A.rows()));  // of each row in its component
    for (index_t i = 0; i < A.rows(); ++i) {
      auto& rows = parts[std::size_t(components.label[i])].rows;
      place[std::size_t(i)] = int(rows.size());
      rows.push_back(int(i));
    }
    std::vector<int> row_ptr, col;
    std::vector<number> entries;
    for (part& one : parts) {
      row_ptr.assign(1, 0), col.clear(), entries.clear();
      for (int const i : one.rows) {
        p.view().for_row(i, [&](index_t s, index_t j) { col.push_back(place[std::size_t(j)]), entries.push_back(values[s]); });
        row_ptr.push_back(int(col.size()));
      }
      index_t const n = index_t(one.rows.size());
      csr_view<int, int> const view{row_ptr.data(), col.data(), n, n};
      if (detail::unmatched_row(view) < 0 && made(one, n, row_ptr.data(), col.data(), entries.data(), true)) continue;
      one.of.reset();
      if (failure.why == reason::converged) failure = why_not(view, entries.data(), one.rows.data());
    }
    return failure;
  }
  /// False, if the factors of a part do not exist.
  static bool made(part& p, index_t n, int const* row_ptr, int const* col, number const* values, bool anew) {
    if (!p.of) p.of = detail::make_factors<number, Kind>();
    try {
      return detail::factor_one(*p.of, n, row_ptr, col, values, anew);
    } catch (std::bad_alloc const&) {
      p.of.reset();
      throw;
    }
  }
  /// What to say where they do not; rows: the numbers of the rows, null for 0, 1, ...
  template <class View>
  static detail::factor_failure why_not(View const& view, number const* values, int const* rows) {
    index_t const row = detail::unmatched_row(detail::without_zeros<View, number>{view, values, view.rows, view.cols});
    if (row >= 0) return {reason::singular, text("structurally singular: no choice of pivots serves row ", rows ? rows[row] : row)};
    if constexpr (Kind == factorization::cholesky)
      return {reason::indefinite_matrix, "a pivot is not positive: use ldlt or lu"};
    else if constexpr (Kind == factorization::ldlt)
      return {reason::zero_pivot, "a pivot is zero, and ldlt exchanges no rows, so that A need not be singular: take lu{} or minres{}"};
    else
      return {reason::singular, "a pivot is zero"};
  }
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

/// x += M (b - A x) until the residual is within the tolerance or no longer falls: iterative refinement. Frozen items stay.
/// Cost: three passes and one application of M per iteration. Memory: 2 vectors.
template <factorization Kind>
struct refinement {
  double rtol = default_rule().rtol, atol = default_rule().atol;
  int max_iterations = default_rule().max_iterations;
  observer watch = {};

  using method_tag = void;
  static constexpr char const* name = detail::name_of(Kind);
  static constexpr bool needs_definite = false;

  template <class S, class A, class M, class V, class MakeStop>
    requires Space<S, V> && LinearOperator<A, V> && LinearOperator<M, V>
  static auto run(S& space, A const& a, M const& m, V const& b, V& x, MakeStop make_stop) {
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
    return stop.finish();
  }
};

/// `solve(A, b, lu{})`: sparse LU with partial pivoting (Eigen's SparseLU, after Demmel et al., SuperLU), any square matrix.
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
  double rtol = default_rule().rtol, atol = default_rule().atol;

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
      if (m.failure(b).why != reason::converged) out.choice = m.failure(b).what;
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

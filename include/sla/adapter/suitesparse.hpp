// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SuiteSparse (component `suitesparse`): `solve(A, b, cholmod{})` and `solve(A, b, umfpack{})`, direct solvers whose factors are made
// of dense blocks. Batches, blocks, refinement and adjoints are those of all factors, in solve/direct/direct.hpp.
#pragma once

#include <cholmod.h>
#include <umfpack.h>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#include <sla/solve.hpp>

namespace sla {

/// `solve(A, b, cholmod{})`, `prepare(A, cholmod{})`: L L^H by CHOLMOD, for Hermitian positive definite matrices. It chooses between
/// supernodal factors, which are dense blocks, and those of `cholesky{}` by the work they take; orders, by minimum degree or
/// nested dissection, likewise. `update` keeps order and structure of the factors. Its indices have 64 bits.
/// Cost: where factors are large, a fraction of the time of `cholesky{}`, the better the faster the BLAS is.
/// Errors: value_error where A is not Hermitian; solve_error, indefinite_matrix, names the row whose pivot is not positive; bad_alloc.
/// Gradient: as of every solve. Source: Chen, Davis, Hager, Rajamanickam, Algorithm 887: CHOLMOD (ACM TOMS 2008).
using cholmod = detail::direct_method<factorization::cholmod>;

/// `solve(A, b, umfpack{})`, `prepare(A, umfpack{})`: L U by UMFPACK, for any square matrix; frontal matrices are dense. Rows are
/// exchanged as the values demand, so that `update` keeps the order of columns. Its indices have 64 bits.
/// Errors: solve_error, singular, names the row whose pivot is zero; bad_alloc.
/// Gradient: as of every solve. Source: Davis, Algorithm 832: UMFPACK (ACM TOMS 2004).
using umfpack = detail::direct_method<factorization::umfpack>;

namespace detail {

template <factorization Kind>
inline constexpr bool by_suitesparse = Kind == factorization::cholmod || Kind == factorization::umfpack;

template <class T>
T conj_of_scalar(T v) {
  if constexpr (is_complex<T>) return std::conj(v);
  else return v;
}
/// Complex numbers as SuiteSparse takes them: real and imaginary parts in turn.
template <class T>
auto as_parts(T* x) {
  return reinterpret_cast<std::conditional_t<std::is_const_v<T>, double const, double>*>(x);
}
/// Errors: bad_alloc; what else its libraries answer, by its number.
inline void require_suitesparse(factorization kind, std::int64_t code, index_t n) {
  bool const cholmod = kind == factorization::cholmod;
  if (code >= 0) return;
  if (code == (cholmod ? CHOLMOD_OUT_OF_MEMORY : UMFPACK_ERROR_out_of_memory)) throw std::bad_alloc();
  throw error(text(name_of(kind), ": it refuses a matrix of ", n, " rows with its code ", code,
                   cholmod && code == CHOLMOD_TOO_LARGE ? ": a size overflows, that of the factors or of the integers of its BLAS" : "",
                   cholmod ? "; use cholesky" : "; use lu"));
}

/// The factors of conj(A), whose columns are the rows of A: CHOLMOD reads those of one triangle.
template <class T>
class factors_of_one<T, factorization::cholmod> {
  static constexpr factorization kind = factorization::cholmod;

public:
  factors_of_one() {
    cholmod_l_start(&common_);
    common_.print = 0;
    common_.final_ll = true;  // an indefinite matrix has factors L D L^H
    common_.quick_return_if_not_posdef = true;
  }
  factors_of_one(factors_of_one const&) = delete;
  factors_of_one& operator=(factors_of_one const&) = delete;
  ~factors_of_one() {
    cholmod_l_free_factor(&factor_, &common_);
    cholmod_l_finish(&common_);
  }

  factored factor(index_t n, std::int64_t const* row_ptr, std::int64_t const* col, T const* values, bool anew) {
    if (n == 0) return {};
    cholmod_sparse A{};
    A.nrow = A.ncol = std::size_t(n);
    A.nzmax = std::size_t(row_ptr[n]);
    A.p = const_cast<std::int64_t*>(row_ptr), A.i = const_cast<std::int64_t*>(col), A.x = const_cast<T*>(values);  // it writes none of them
    A.stype = 1;                                                                                                   // the upper triangle
    A.itype = CHOLMOD_LONG, A.xtype = scalars, A.dtype = CHOLMOD_DOUBLE;
    A.sorted = A.packed = true;
    if (anew) {
      cholmod_l_free_factor(&factor_, &common_);
      factor_ = cholmod_l_analyze(&A, &common_);
      bool const no_order = common_.status == CHOLMOD_INVALID;  // A is valid: so METIS says that it has no memory
      require_suitesparse(kind, no_order ? CHOLMOD_OUT_OF_MEMORY : common_.status, n);
    }
    cholmod_l_factorize(&A, factor_, &common_);
    int const status = common_.status;
    cholmod_l_free_work(&common_);
    require_suitesparse(kind, status, n);
    if (factor_->minor == factor_->n) return {};
    return {false, index_t(static_cast<std::int64_t const*>(factor_->Perm)[factor_->minor])};
  }
  void solve(index_t n, T* b) const {
    if (n == 0) return;
    cholmod_common own = common_;  // its workspace was freed, so that each solve has its own
    std::transform(b, b + n, b, conj_of_scalar<T>);
    cholmod_dense right{};
    right.nrow = right.nzmax = right.d = std::size_t(n);
    right.ncol = 1;
    right.x = b;
    right.xtype = scalars, right.dtype = CHOLMOD_DOUBLE;
    cholmod_dense* x = cholmod_l_solve(CHOLMOD_A, factor_, &right, &own);
    int const status = own.status;
    if (x) std::transform(static_cast<T const*>(x->x), static_cast<T const*>(x->x) + n, b, conj_of_scalar<T>);
    cholmod_l_free_dense(&x, &own);
    cholmod_l_free_work(&own);
    require_suitesparse(kind, status, n);
  }
  std::size_t bytes() const {
    if (!factor_) return 0;
    return factor_->is_super ? factor_->xsize * sizeof(T) + factor_->ssize * sizeof(std::int64_t) : factor_->nzmax * (sizeof(T) + sizeof(std::int64_t));
  }

private:
  static constexpr int scalars = is_complex<T> ? CHOLMOD_COMPLEX : CHOLMOD_REAL;
  cholmod_common common_;
  cholmod_factor* factor_ = nullptr;
};

/// The factors of A^T, whose columns are the rows of A.
template <class T>
class factors_of_one<T, factorization::umfpack> {
  static constexpr factorization kind = factorization::umfpack;

public:
  factored factor(index_t n, std::int64_t const* row_ptr, std::int64_t const* col, T const* values, bool anew) {
    if (n == 0) return {};
    double info[UMFPACK_INFO];
    numeric_.reset();
    bytes_ = 0;
    void* made = nullptr;
    if (anew) {
      symbolic_.reset();
      std::int64_t status = 0;
      if constexpr (is_complex<T>)
        status = umfpack_zl_symbolic(n, n, row_ptr, col, as_parts(values), nullptr, &made, nullptr, nullptr);
      else
        status = umfpack_dl_symbolic(n, n, row_ptr, col, values, &made, nullptr, nullptr);
      symbolic_.reset(made);
      require_suitesparse(kind, status, n);
    }
    made = nullptr;
    std::int64_t status = 0;
    if constexpr (is_complex<T>)
      status = umfpack_zl_numeric(row_ptr, col, as_parts(values), nullptr, symbolic_.get(), &made, nullptr, info);
    else
      status = umfpack_dl_numeric(row_ptr, col, values, symbolic_.get(), &made, nullptr, info);
    numeric_.reset(made);
    require_suitesparse(kind, status, n);
    if (status == UMFPACK_WARNING_singular_matrix) return {false, row_of_zero(n)};
    bytes_ = std::size_t(info[UMFPACK_NUMERIC_SIZE] * info[UMFPACK_SIZE_OF_UNIT]);
    return {};
  }
  template <bool Adjoint>
  void solve(index_t n, T* b) const {
    if (n == 0) return;
    double control[UMFPACK_CONTROL];
    umfpack_dl_defaults(control);
    control[UMFPACK_IRSTEP] = 0;  // refinement is our method
    std::vector<T> x(static_cast<std::size_t>(n));
    if constexpr (Adjoint) std::transform(b, b + n, b, conj_of_scalar<T>);  // A^H is the conjugate of what was factored
    std::int64_t status = 0;
    if constexpr (is_complex<T>)
      status = umfpack_zl_solve(Adjoint ? UMFPACK_A : UMFPACK_Aat, nullptr, nullptr, nullptr, nullptr, as_parts(x.data()), nullptr, as_parts(b), nullptr,
                                numeric_.get(), control, nullptr);
    else
      status = umfpack_dl_solve(Adjoint ? UMFPACK_A : UMFPACK_Aat, nullptr, nullptr, nullptr, x.data(), b, numeric_.get(), control, nullptr);
    require_suitesparse(kind, status, n);
    std::transform(x.begin(), x.end(), b, [](T v) { return Adjoint ? conj_of_scalar(v) : v; });
  }
  std::size_t bytes() const { return bytes_; }

private:
  struct release_symbolic {
    void operator()(void* p) const { is_complex<T> ? umfpack_zl_free_symbolic(&p) : umfpack_dl_free_symbolic(&p); }
  };
  struct release_numeric {
    void operator()(void* p) const { is_complex<T> ? umfpack_zl_free_numeric(&p) : umfpack_dl_free_numeric(&p); }
  };
  index_t row_of_zero(index_t n) const {
    std::vector<std::int64_t> columns(static_cast<std::size_t>(n));
    std::vector<T> diagonal(static_cast<std::size_t>(n));
    std::int64_t reciprocal = 0;
    if constexpr (is_complex<T>)
      umfpack_zl_get_numeric(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, columns.data(), as_parts(diagonal.data()), nullptr,
                             &reciprocal, nullptr, numeric_.get());
    else
      umfpack_dl_get_numeric(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, columns.data(), diagonal.data(), &reciprocal, nullptr,
                             numeric_.get());
    auto const zero = std::find(diagonal.begin(), diagonal.end(), T{});
    return zero == diagonal.end() ? -1 : index_t(columns[std::size_t(zero - diagonal.begin())]);
  }
  std::unique_ptr<void, release_symbolic> symbolic_;
  std::unique_ptr<void, release_numeric> numeric_;
  std::size_t bytes_ = 0;
};

template <class T, factorization Kind>
  requires by_suitesparse<Kind>
factored factor_one(std::shared_ptr<factors_of_one<T, Kind>>& f, index_t n, factor_index<Kind> const* row_ptr, factor_index<Kind> const* col, T const* values, bool anew) {
  if (!f) f = std::make_shared<factors_of_one<T, Kind>>();
  return f->factor(n, row_ptr, col, values, anew);
}
template <bool Adjoint, class T, factorization Kind>
  requires by_suitesparse<Kind>
void solve_one(factors_of_one<T, Kind> const& f, index_t n, T* b) {
  if constexpr (Kind == factorization::umfpack)
    f.template solve<Adjoint>(n, b);
  else
    f.solve(n, b);  // A^H is A
}
template <class T, factorization Kind>
  requires by_suitesparse<Kind>
std::size_t bytes_of_one(factors_of_one<T, Kind> const& f) {
  return f.bytes();
}
} // namespace detail

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SuiteSparseQR (component `spqr`): `least_squares(A, b, spqr{})`, sparse QR whose factors are made of dense blocks. Batches, blocks,
// true figures and derivatives are those of all methods, in solve/least_squares.
#pragma once

#include <SuiteSparseQR.hpp>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <sla/least_squares.hpp>

namespace sla {

namespace detail {
/// The sparse QR of [A; damping], or of A^H where A has fewer rows than columns. Copies share it.
template <class Number>
class sparse_qr_factors {
  static constexpr int scalars = is_complex<Number> ? CHOLMOD_COMPLEX : CHOLMOD_REAL;
  using columns = rhs_columns<Number>;

  struct state {
    cholmod_common common;
    SuiteSparseQR_factorization<Number>* qr = nullptr;
    columns null_space;  ///< of the matrix that is factored, orthonormal, where that is worth its memory

    state() {
      cholmod_l_start(&common);
      common.print = 0;
    }
    state(state const&) = delete;
    state& operator=(state const&) = delete;
    ~state() {
      if (qr) SuiteSparseQR_free(&qr, &common);
      cholmod_l_finish(&common);
    }
    /// Errors: bad_alloc; what else it answers, by its number.
    template <class P>
    P made(P p) {
      if (p) return p;
      if (common.status == CHOLMOD_OUT_OF_MEMORY) throw std::bad_alloc();
      throw error(text("spqr: it refuses the matrix with its code ", common.status, "; use lsmr{}"));
    }
  };

public:
  template <class S>
  sparse_qr_factors(sparse_tensor<Number, S, Csr<std::int64_t>> const& A, double damping)
      : wide_(damping == 0 && A.rows() < A.cols()), size_((std::min)(A.rows(), A.cols())), rows_(damping > 0 ? A.rows() + A.cols() : A.rows()), cols_(A.cols()), state_(std::make_shared<state>()) {
    if (rows_ * cols_ == 0) return;
    if (wide_)
      factor(A, 0, 0);
    else
      factor(adjointed(A), damping, A.rows());
    size_ = wide_ ? rows_ : cols_;
    if (index_t const missing = size_ - index_t(state_->qr->rank); missing > 0 && missing * size_ <= 20000000) find_null_space(A, damping, missing);
  }
  columns solve(columns const& right) const { return wide_ ? by_q(right, cols_) : by_r(right, cols_); }
  columns solve_adjoint(columns const& right) const { return wide_ ? by_r(right, rows_) : by_q(right, rows_); }
  std::string remark(index_t) const {
    index_t const rank = state_->qr ? index_t(state_->qr->rank) : 0;
    return rank < size_ ? text("rank ", rank, " of ", size_, state_->null_space.size() > 0 ? ": the shortest x" : ": one x of many, and not the shortest, which lsmr{} gives") : std::string();
  }

private:
  /// Of the matrix whose columns are the conjugate rows of C, with `damping` on the diagonal below row `from`.
  template <class S>
  void factor(sparse_tensor<Number, S, Csr<std::int64_t>> const& C, double damping, index_t from) {
    std::vector<std::int64_t> p{0}, i;
    std::vector<Number> x;
    auto const& pattern = C.pattern();
    for (index_t c = 0; c < C.rows(); ++c) {
      for (auto s = pattern.row_ptr.data()[c]; s < pattern.row_ptr.data()[c + 1]; ++s) {
        i.push_back(pattern.col.data()[s]);
        if constexpr (is_complex<Number>)
          x.push_back(std::conj(C.values()[s]));
        else
          x.push_back(C.values()[s]);
      }
      if (damping > 0) i.push_back(from + c), x.push_back(Number(damping));
      p.push_back(std::int64_t(i.size()));
    }
    cholmod_sparse A{};
    A.nrow = std::size_t(damping > 0 ? from + C.rows() : C.cols()), A.ncol = std::size_t(C.rows());
    A.nzmax = i.size();
    A.p = p.data(), A.i = i.data(), A.x = x.data();
    A.itype = CHOLMOD_LONG, A.xtype = scalars, A.dtype = CHOLMOD_DOUBLE;
    A.sorted = A.packed = true;
    state_->qr = state_->made(SuiteSparseQR_factorize<Number>(SPQR_ORDERING_DEFAULT, SPQR_DEFAULT_TOL, &A, &state_->common));
  }
  /// Of F = [A; damping], or A^H, the columns g - F^+ F g for random g: their number is what the rank misses.
  template <class S>
  void find_null_space(sparse_tensor<Number, S, Csr<std::int64_t>> const& A, double damping, index_t missing) {
    auto const entries = random<Number>(size_ * missing, 1);
    columns N = Eigen::Map<columns const>(entries.data(), size_, missing), image = columns::Zero(wide_ ? cols_ : rows_, missing);
    for (index_t i = 0; i < A.rows(); ++i)
      A.pattern().view().for_row(i, [&](index_t s, index_t j) {
        if (wide_)
          image.row(j) += Eigen::numext::conj(A.values()[s]) * N.row(i);
        else
          image.row(i) += A.values()[s] * N.row(j);
      });
    if (damping > 0) image.bottomRows(cols_) = Number(damping) * N;
    N -= by_r(image, size_);
    for (index_t c = 0; c < missing; ++c) {
      for (int twice = 0; twice < 2; ++twice)
        for (index_t before = 0; before < c; ++before) N.col(c) -= N.col(before).dot(N.col(c)) * N.col(before);
      N.col(c).normalize();
    }
    state_->null_space = std::move(N);
  }
  /// What is beside the null space.
  columns without_null_space(columns x) const {
    columns const& N = state_->null_space;
    for (index_t c = 0; c < N.cols(); ++c)
      for (index_t k = 0; k < x.cols(); ++k) x.col(k) -= N.col(c).dot(x.col(k)) * N.col(c);
    return x;
  }
  /// What a step of SuiteSparseQR makes of columns.
  template <class Step>
  columns step(columns& from, Step const& f) const {
    cholmod_dense right{};
    right.nrow = right.d = std::size_t(from.rows()), right.ncol = std::size_t(from.cols());
    right.nzmax = right.nrow * right.ncol;
    right.x = from.data();
    right.xtype = scalars, right.dtype = CHOLMOD_DOUBLE;
    cholmod_dense* out = state_->made(f(&right));
    columns const copy = Eigen::Map<columns const>(static_cast<Number const*>(out->x), Eigen::Index(out->nrow), Eigen::Index(out->ncol));
    cholmod_l_free_dense(&out, &state_->common);
    return copy;
  }
  /// E R^-1 Q^H right, of so many rows.
  columns by_r(columns right, index_t rows) const {
    if (!state_->qr) return columns::Zero(rows, right.cols());
    columns y = step(right, [&](cholmod_dense* b) { return SuiteSparseQR_qmult<Number>(SPQR_QTX, state_->qr, b, &state_->common); });
    return without_null_space(step(y, [&](cholmod_dense* b) { return SuiteSparseQR_solve<Number>(SPQR_RETX_EQUALS_B, state_->qr, b, &state_->common); }));
  }
  /// Q R^-H E^T right.
  columns by_q(columns right, index_t rows) const {
    if (!state_->qr) return columns::Zero(rows, right.cols());
    columns beside = without_null_space(right);
    columns y = step(beside, [&](cholmod_dense* b) { return SuiteSparseQR_solve<Number>(SPQR_RTX_EQUALS_ETB, state_->qr, b, &state_->common); });
    return step(y, [&](cholmod_dense* b) { return SuiteSparseQR_qmult<Number>(SPQR_QX, state_->qr, b, &state_->common); });
  }
  bool wide_;
  index_t size_, rows_, cols_;
  std::shared_ptr<state> state_;
};
} // namespace detail

/// `least_squares(A, b, spqr{})`: A = Q R by SuiteSparseQR, in an order of the columns that keeps R sparse, for sparse tensors of the host. Of fewer rows than
/// columns, A^H = Q R gives the shortest x, and so do dependent columns or rows: what x has in their null space, of which a basis is made by as many solves, is taken away. Where that is above
/// 2e7 numbers x is one of many, and the report says so.
/// Cost: of the factors, of which Q is kept as reflections. Errors: bad_alloc. Gradient: as of all least squares, with the factors.
/// Source: Davis, Algorithm 915: SuiteSparseQR (ACM TOMS 2011).
struct spqr {
  double rtol = default_rule().rtol;
  double damping = 0;

  using least_squares_tag = void;
  static constexpr char const* name = "spqr";

  template <class T, class S, class F>
  auto factor(sparse_tensor<T, S, F> const& A, double d) const {
    using number = detail::number_of_factors<T>;
    auto const flat = detail::flat_scalars<number, std::int64_t>(A);
    std::vector<detail::sparse_qr_factors<number>> factors;
    for (index_t b = 0; b < flat.batch_count(); ++b) {
      if constexpr (S::is_batched)
        factors.emplace_back(batch_item(flat, b), d);
      else
        factors.emplace_back(flat, d);
    }
    return detail::factored_least_squares<number, detail::sparse_qr_factors<number>>(std::move(factors), flat.cols());
  }
};

} // namespace sla

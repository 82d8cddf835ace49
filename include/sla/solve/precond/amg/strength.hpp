// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What multigrid reads off the rows of a level: how strongly each is coupled to its neighbours, and the weights of the smoother.
#pragma once

#include <algorithm>
#include <limits>

#include <sla/solve/precond/amg/grid/recognise.hpp>
#include <sla/solve/precond/amg/options.hpp>
#include <sla/solve/seam/numbered_error.hpp>
#include <sla/tensor/build/counting.hpp>
#include <sla/tensor/storage/dense.hpp>

namespace sla::detail {

/// The phase that takes a onto the positive axis, conj(a) / |a|; 0 of 0.
template <class K>
K phase_of(K a) {
  auto const size = abs_of(a);
  return size > 0 ? conj_of(a) / size : K{};
}
/// How strongly a_ij couples: by its part against the diagonal entry, which is what errors that smoothing leaves alone follow.
template <class K>
real_t<K> coupling(K a, K phase) {
  return -real_of(a * phase);
}

/// The largest of some magnitudes; NaN, if one is.
template <class R>
struct largest_size {
  R value = 0;
  void merge(largest_size const& o) { value = o.value > value || o.value != o.value ? o.value : value; }
};

/// Asks memory for the entries of rows to come, in the order in which they lie, some hundred thousand bytes ahead: passes that go from a row to those it is
/// coupled to find them near then, also where rows of a neighbourhood are numbered by chance.
template <class K>
class entries_ahead {
public:
  /// width: the numbers of an entry.
  entries_ahead(csr_view<std::int32_t, std::int32_t> const& rows, K const* values, index_t first, index_t width = 1) : rows_(rows), values_(values), next_(rows.row_ptr[first]), width_(width) {}
  void reach(index_t row) {
    constexpr index_t ahead = 32768, line = 64 / index_t(sizeof(K)) < 16 ? 64 / index_t(sizeof(K)) : 16;
    for (index_t const end = (std::min)(index_t(rows_.row_ptr[row]) + ahead, index_t(rows_.row_ptr[rows_.rows])); next_ < end; next_ += line) {
      SLA_PREFETCH(std::uintptr_t(rows_.col + next_));
      SLA_PREFETCH(std::uintptr_t(values_ + next_ * width_));
    }
  }

private:
  csr_view<std::int32_t, std::int32_t> rows_;
  K const* values_;
  index_t next_, width_;
};

/// Of each row: the diagonal entry's phase, the largest coupling (0 where there is none), and the weight of the smoother; and the norm of all, the largest sum of magnitudes.
template <class T>
struct amg_rows {
  buffer<kernel_t<T>> phase;
  buffer<real_t<T>> strongest;
  vector<T> smoother;
  real_t<T> norm = 0;
};

/// One pass over n rows, of which each(i, f) gives f(column, entry). Rows that stand alone are solved by the smoother. Errors: value_error for a zero on the diagonal.
template <class T, class Each>
amg_rows<T> look_at(index_t n, Each const& each, amg_smoother const& smoother, int level) {
  using K = kernel_t<T>;
  using Real = real_t<T>;
  bool const l1_jacobi = smoother == amg_smoother::l1_jacobi;
  Real const least_squares = (std::numeric_limits<Real>::min)() / std::numeric_limits<Real>::epsilon();
  amg_rows<T> out{buffer<K>(n, uninitialized), buffer<Real>(n, uninitialized), vector<T>({n}, uninitialized)};
  auto const norm = merged_ranges<largest_size<Real>>(n, [&, phase = out.phase.data(), strongest = out.strongest.data(), d = kernel_pointer(out.smoother.data())](index_t lo, index_t hi) {
    largest_size<Real> largest;
    for (index_t i = lo; i < hi; ++i) {
      K diagonal{};
      Real squares = 0, sum = 0, most = 0;
      each(i, [&](index_t j, K a) {
        squares += abs2_of(a), sum += abs_of(a);
        diagonal = i == j ? a : diagonal;
      });
      Real const size = abs_of(diagonal);
      phase[i] = phase_of(diagonal);
      each(i, [&, p = phase[i]](index_t, K a) { most = (std::max)(most, coupling(a, p)); });  // that of the diagonal is none
      strongest[i] = most;
      Real ratio = squares > 0 ? size / squares : 0;
      if (!(squares >= least_squares && squares <= (std::numeric_limits<Real>::max)()) && size > 0) {  // squares that the scalars do not hold
        Real relative = 0;
        each(i, [&](index_t, K a) { relative += abs2_of(a / size); });
        ratio = 1 / relative / size;
      }
      Real const l1 = sum > 0 ? 1 / sum : 0, spai = (std::min)(Real(1.1) * ratio, Real(1.9) * l1);
      d[i] = phase[i] * (sum == size || l1_jacobi ? l1 : spai);
      largest.merge({sum});
    }
    return largest;
  });
  out.norm = norm.value;
  index_t const bare = first_where(n, [&, phase = out.phase.data()](index_t i) { return phase[i] == K{}; });
  if (bare >= 0 && level == 0) {
    each(bare, [&](index_t j, K a) {
      if (j == bare && !std::isfinite(double(abs_of(a)))) throw numbered_error("amg: the diagonal entry of row ", row_number{bare, true}, " is ", user_t<K>(a), "; entries are finite");
    });
    throw numbered_error("amg: the diagonal entry of row ", row_number{bare, true}, " is zero or not stored; permute rows so that none is, or use ilu0, lu, or row_norms with minres");
  }
  return out;
}
/// Of the rows of A.
template <class T>
amg_rows<T> look_at_rows(amg_matrix<T> const& A, amg_smoother const& smoother, int level) {
  return look_at<T>(A.rows(), [view = A.pattern().view(), a = kernel_pointer(A.values().data())](index_t i, auto const& f) { view.for_row(i, [&](index_t s, index_t j) { f(j, a[s]); }); }, smoother, level);
}

/// How far couplings are from those of a symmetric matrix, of a few rows: sum |a_ij - a_ji| over sum |a_ij| + |a_ji|: 0.05 for upwind differences at a cell Peclet number of 0.1, 0.3 at 1, 1 where
/// all go one way.
template <class Rows, class T>
double asymmetry(Rows const& rows, T const* a) {
  double apart = 0, all = 0;
  if (rows.rows == rows.cols && rows.rows > 0)
    for_sampled_rows(rows.rows, [&](index_t i) {
      rows.for_row(i, [&](index_t s, index_t j) {
        if (i == j) return;
        T other{};
        rows.for_row(j, [&](index_t t, index_t k) {
          if (k == i) other = a[t];
        });
        apart += std::abs(double(a[s] - other)), all += std::abs(double(a[s])) + std::abs(double(other));
      });
    });
  return all > 0 ? apart / all : 0;
}
/// Do couplings of transport point one way, so that a cycle wants incomplete factors for its smoother? A few iterations in the place of 20 to 30.
template <class T>
bool couples_one_way(amg_matrix<T> const& A) {
  if constexpr (!is_complex<T>)
    return asymmetry(A.pattern().view(), kernel_pointer(A.values().data())) > 0.2;
  else
    return false;
}

} // namespace sla::detail

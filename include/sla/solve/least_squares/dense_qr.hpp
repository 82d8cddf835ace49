// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dense QR for least squares with few columns: the complete orthogonal decomposition of Eigen, which tells the rank. Factors of a batch
// item each, in double; how vectors go to the columns of Eigen and back serves other direct methods too.
#pragma once

#include <complex>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <sla/adapter/eigen_qr.hpp>
#include <sla/solve/least_squares/least_squares_problem.hpp>
#include <sla/tensor/build/block.hpp>

namespace sla {

namespace detail {
/// How many of a vector of scalars T with rhs right-hand sides.
template <class Number, class T>
index_t columns_for(index_t rhs) {
  return is_complex<T> && !is_complex<Number> ? 2 * rhs : rhs;
}
/// The rows from `row` of `to` become item k of x, or, the other way, are added to it.
template <class Number, class T, class E>
void to_columns(tensor<T, E> const& x, index_t items, index_t k, rhs_columns<Number>& to, index_t row) {
  index_t const rhs = to.cols() / columns_for<Number, T>(1), rows = x.size() / items / rhs;
  for (index_t i = 0; i < rows; ++i)
    for (index_t c = 0; c < rhs; ++c) {
      T const v = x[(k * rows + i) * rhs + c];
      if constexpr (is_complex<T> && !is_complex<Number>)
        to(row + i, 2 * c) = Number(v.real()), to(row + i, 2 * c + 1) = Number(v.imag());
      else
        to(row + i, c) = Number(v);
    }
}
template <class Number, class T, class E>
void add_columns(rhs_columns<Number> const& from, index_t items, index_t k, tensor<T, E>& x) {
  index_t const rhs = from.cols() / columns_for<Number, T>(1), rows = x.size() / items / rhs;
  for (index_t i = 0; i < rows; ++i)
    for (index_t c = 0; c < rhs; ++c) {
      T& v = x[(k * rows + i) * rhs + c];
      if constexpr (is_complex<T> && !is_complex<Number>)
        v += T(real_t<T>(from(i, 2 * c)), real_t<T>(from(i, 2 * c + 1)));
      else
        v += T(from(i, c));
    }
}
/// x += the x of least squares for what is left of the problem, by factors of [A; damping], an item each, which have `rows`, `solve(columns)` with it,
/// and `solve_adjoint(columns)` with its adjoint, the shortest solutions.
template <class Number, class Factors, class P, class X>
void improve_by_factors(std::vector<Factors> const& factors, P const& p, X& x) {
  using V = std::remove_cvref_t<decltype(p.b)>;
  index_t const items = index_t(factors.size());
  V const left = p.b - p.a * x;
  X const below = -p.damping * x;
  for (index_t k = 0; k < items; ++k) {
    index_t const cols = p.a.cols() * std::remove_cvref_t<decltype(p.a)>::shape_type::block_cols, rhs = x.size() / items / cols, columns = columns_for<Number, typename X::value_type>(rhs);
    index_t const rows = left.size() / items / rhs;
    rhs_columns<Number> right = rhs_columns<Number>::Zero(p.damping > 0 ? rows + cols : rows, columns);
    to_columns(left, items, k, right, 0);
    if (p.damping > 0) to_columns(below, items, k, right, rows);
    if (p.linear) {
      rhs_columns<Number> c(cols, columns);
      to_columns(*p.linear, items, k, c, 0);
      right += factors[std::size_t(k)].solve_adjoint(c);
    }
    add_columns(factors[std::size_t(k)].solve(right), items, k, x);
  }
}

/// |A^+|, or a little less, by some steps of the power method with factors.
template <class Number, class Factors>
double size_of_inverse(Factors const& factors, index_t cols) {
  rhs_columns<Number> v = rhs_columns<Number>::Ones(cols, 1);
  double size = 0;
  for (int step = 0; step < 5 && v.norm() > 0; ++step) {
    v = rhs_columns<Number>(factors.solve_adjoint(rhs_columns<Number>(v / v.norm())));
    size = double(v.norm());
    v = rhs_columns<Number>(factors.solve(v));
  }
  return size;
}

/// What a direct method makes of A: factors of [A; damping], an item each.
template <class Number, class Factors>
class factored_least_squares {
public:
  factored_least_squares(std::vector<Factors> factors, index_t cols) : factors_(std::move(factors)), cols_(cols) {}

  /// Improves x.
  template <class P, class X>
  void solve(P const& problem, X& x) const {
    improve_by_factors<Number>(factors_, problem, x);
  }
  double size_of_inverse(index_t item) const { return detail::size_of_inverse<Number>(factors_[std::size_t(item)], cols_); }
  /// What a report should say of an item whose rank is not that of its columns.
  std::string remark() const {
    for (auto const& f : factors_)
      if (std::string const words = f.remark(cols_); !words.empty()) return words;
    return {};
  }

private:
  std::vector<Factors> factors_;
  index_t cols_;
};
template <class T>
using number_of_factors = std::conditional_t<is_complex<T>, std::complex<double>, double>;
} // namespace detail

/// `least_squares(A, b, dense_qr{})`: A = Q R with column pivots, and once more from the right where the rank is less than the columns (Golub and Van Loan,
/// Matrix Computations, 5.4.2, by Eigen): the shortest x, whatever the rank. For sparse tensors of the host with few columns. The rank is that
/// of columns above rounding; the report names it where it is not full.
/// Cost: 2 m n min(m, n) operations and m n numbers, of each batch item.
struct dense_qr {
  double rtol = default_rule().rtol;
  double damping = 0;

  using least_squares_tag = void;
  static constexpr char const* name = "dense_qr";

  template <class T, class S, class F>
  auto factor(sparse_tensor<T, S, F> const& A, double d) const {
    using number = detail::number_of_factors<T>;
    constexpr index_t P = S::block_rows, Q = S::block_cols;
    index_t const rows = A.rows() * P, cols = A.cols() * Q;
    auto const pattern = A.pattern().view();
    std::vector<detail::dense_factors<number>> factors;
    for (index_t b = 0; b < A.batch_count(); ++b) {
      detail::rhs_columns<number> dense = detail::rhs_columns<number>::Zero(d > 0 ? rows + cols : rows, cols);
      T const* const values = A.values().data() + b * A.batch_stride();
      for (index_t i = 0; i < A.rows(); ++i)
        pattern.for_row(i, [&](index_t s, index_t j) {
          for (index_t p = 0; p < P; ++p)
            for (index_t q = 0; q < Q; ++q) dense(i * P + p, j * Q + q) += number(values[(s * P + p) * Q + q]);
        });
      if (d > 0) dense.bottomRows(cols).diagonal().setConstant(number(d));
      factors.emplace_back(dense);
    }
    return detail::factored_least_squares<number, detail::dense_factors<number>>(std::move(factors), cols);
  }
};

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pseudoinverse of a matrix by factors, for its smallest singular values: those of A where it is square and they exist, else of (c I, A; A^H, -d I).
// Where A has not full rank: its null vectors, and the pseudoinverse beside them.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <sla/solve/direct/matching.hpp>
#include <sla/solve/eigen/krylov/factored_inverse.hpp>
#include <sla/solve/eigen/krylov/restarted_bidiagonal.hpp>

namespace sla::detail {

/// (c I, A; A^H, -d I), Hermitian and, for positive d, quasi-definite. The inverse acts on the vectors u and v of a singular value s as (d, s; s, -c) / (c d + s^2).
template <class Number, class Flat>
auto augmented(Flat const& flat, double c, double d) {
  index_t const m = flat.rows(), n = flat.cols();
  std::vector<index_t> row, col;
  std::vector<Number> value;
  auto const add = [&](index_t i, index_t j, Number v) { row.push_back(i), col.push_back(j), value.push_back(v); };
  for (index_t i = 0; i < m; ++i) {
    if (c > 0) add(i, i, Number(c));
    flat.pattern().view().for_row(i, [&](index_t s, index_t j) { add(i, m + j, flat.values()[s]), add(m + j, i, conj_of_value(flat.values()[s])); });
  }
  for (index_t j = 0; j < n && d > 0; ++j) add(m + j, m + j, Number(-d));
  return from_triplets<Number>(m + n, m + n, row, col, value);
}

/// Column j of a small matrix.
template <class T, class X>
vector<T> column_as(X const& x, index_t j) {
  vector<T> out(x.rows());
  for (index_t i = 0; i < x.rows(); ++i) out[i] = T(x(i, j));
  return out;
}

/// A^+ and (A^H)^+ of an m x n matrix with m >= n, by factors; of one without full rank beside the null vectors that are there.
template <class T>
class pseudoinverse {
  using Wide = small_scalar<T>;
  using Number = std::conditional_t<is_complex<T>, std::complex<double>, double>;
  using Column = vector<T>;

public:
  small_dense<Wide> left, right;  ///< null vectors of A^H and of A, as many of each
  linear_operator<T> of_adjoint, of_matrix;
  char const* name = "lu";
  bool is_augmented = false;  ///< of the matrix with A and A^H beside its diagonal: values below 1e-10 |A| hide others

  /// At most k null vectors are made. None, if there are no factors.
  template <class A>
  static std::optional<pseudoinverse> make(A const& a, index_t k, bool is_hermitian) {
    auto const flat = flat_scalars<Number>(a);
    index_t const m = flat.rows(), n = flat.cols();
    double size = 0;
    for (Number const v : flat.values()) size = (std::max)(size, double(std::abs(v)));
    if (size == 0) size = 1;
    if (m == n)
      if (auto const inverse = invert<T>(flat, is_hermitian))
        if (double const reach = reach_of(inverse->apply, double(norm_inf(flat))); reach < most_reach) {
          pseudoinverse out(*inverse);
          if (reach > least_reach) out.find_null(a, k, [&](Column const& x) { return Column(out.of_matrix * Column(out.of_adjoint * x)); }, [&](Column const& v, index_t) { return Column(out.of_adjoint * v); });
          return out;
        }
    if (m > n)
      if (auto const all = invert<T>(augmented<Number>(flat, 1e-3 * size, 0), true); all && reach_of(all->apply, size) < least_reach) return pseudoinverse(*all, m, n);
    if (auto const all = invert<T>(augmented<Number>(flat, 1e-10 * size, 1e-10 * size), true)) {
      pseudoinverse out(*all, m, n);
      auto const block = [&](index_t at, Column const& x) { return part(all->apply, m + n, at, at, x); };
      out.find_null(a, k, [&](Column const& x) { return block(m, x); }, [&](Column const&, index_t j) { return block(0, block(0, random<T>(m, std::uint64_t(j) + 1))); });
      return out;
    }
    return std::nullopt;
  }

private:
  /// |inverse| |A|, from below, from where on a matrix may be singular to rounding, and from where on its factors serve no more.
  static constexpr double least_reach = 1e10, most_reach = 1e18;

  explicit pseudoinverse(factored_inverse<T> const& square) : of_adjoint(square.apply.adjoint()), of_matrix(square.apply), name(square.name) {}
  pseudoinverse(factored_inverse<T> const& all, index_t m, index_t n)
      : of_adjoint(m, n, as_operator(all.apply, m + n, m, 0)), of_matrix(n, m, as_operator(all.apply, m + n, 0, m)), name(all.name), is_augmented(true) {}

  static double reach_of(linear_operator<T> const& inverse, double size) {
    Column const r = random<T>(inverse.rows(), 1), z = inverse * r;
    return double(norm(z)) / double(norm(r)) * size;
  }
  /// The elements from `to` on of the inverse times what is x from `from` on and else zeros; as many as the other part has, or as x.
  static Column part(linear_operator<T> const& all, index_t whole, index_t from, index_t to, Column const& x) {
    Column right(whole), out(from == to ? x.size() : whole - x.size());
    for (index_t i = 0; i < x.size(); ++i) right[from + i] = x[i];
    Column const both = all * right;
    for (index_t i = 0; i < out.size(); ++i) out[i] = both[to + i];
    return out;
  }
  /// f of a column as a linear_operator calls it.
  template <class F>
  static auto on_numbers(F const& f) {
    return [f](std::span<T const> x, std::span<T> y) {
      Column in(index_t(x.size()));
      std::copy(x.begin(), x.end(), in.data());
      Column const out = f(std::move(in));
      std::copy_n(out.data(), y.size(), y.begin());
    };
  }
  static auto as_operator(linear_operator<T> const& all, index_t whole, index_t from, index_t to) {
    return on_numbers([all, whole, from, to](Column const& x) { return part(all, whole, from, to, x); });
  }
  /// What x leaves beside the first `count` columns becomes column `count`, of length 1. False, if that is rounding.
  static bool append(small_dense<Wide>& X, index_t count, Column const& x) {
    for (index_t i = 0; i < X.rows(); ++i) X(i, count) = Wide(x[i]);
    for (int twice = 0; twice < 2; ++twice) {
      double const length = X.col(count).norm();
      if (!(length > 0 && length - length == 0)) return false;
      X.col(count) /= Wide(length);
      for (index_t j = 0; j < count; ++j) X.col(count) -= X.col(j).dot(X.col(count)) * X.col(j);
      if (!(X.col(count).norm() > 1e-10)) return false;
    }
    X.col(count).normalize();
    return true;
  }
  /// Null vectors by inverse iteration with a block of k: `step` is an inverse of A^H A, nearly, and `left_of` gives a vector like the left null vector j.
  template <class A, class Step, class LeftOf>
  void find_null(A const& a, index_t k, Step const& step, LeftOf const& left_of) {
    index_t const m = a.rows(), n = a.cols();
    small_dense<Wide> X(n, k);
    index_t count = 0;
    for (int times = 0; times < 3; ++times) {
      index_t const before = times == 0 ? k : count;
      small_dense<Wide> next(n, k);
      count = 0;
      for (index_t j = 0; j < before; ++j)
        if (append(next, count, step(times == 0 ? random<T>(n, std::uint64_t(j) + 1) : column_as<T>(X, j)))) ++count;
      X = std::move(next);
    }
    Column const p = random<T>(n, 1);
    double const tiny = 64 * double(std::numeric_limits<real_t<T>>::epsilon()) * double(norm(a * p)) / double(norm(p));
    small_dense<Wide> U(m, k), V(n, k);
    index_t found = 0;
    for (index_t j = 0; j < count; ++j) {
      auto const v = column_as<T>(X, j);
      if (!(norm(a * v) <= tiny) || !append(V, found, v)) continue;
      if (append(U, found, left_of(v, found))) ++found;
    }
    if (found == 0) return;
    right = V.leftCols(found), left = U.leftCols(found);
    of_matrix = beside(of_matrix, left, right), of_adjoint = beside(of_adjoint, right, left);
  }
  /// The operator between what is orthogonal to these columns.
  static linear_operator<T> beside(linear_operator<T> const& op, small_dense<Wide> const& from, small_dense<Wide> const& to) {
    auto const project = [](small_dense<Wide> const& N, Column& x) {
      for (index_t j = 0; j < N.cols(); ++j) {
        Wide c = 0;
        for (index_t i = 0; i < N.rows(); ++i) c += Eigen::numext::conj(N(i, j)) * Wide(x[i]);
        for (index_t i = 0; i < N.rows(); ++i) x[i] -= T(c * N(i, j));
      }
    };
    return linear_operator<T>(op.rows(), op.cols(), on_numbers([op, from, to, project](Column in) {
      project(from, in);
      Column out = op * in;
      project(to, out);
      return out;
    }));
  }
};

/// How many restarts by products take as long as factors do, where these are dear; 0, where they are not, and -1, where they would take minutes.
template <class A>
int restarts_before_factors(A const& a, bool is_hermitian, int basis) {
  using Number = std::conditional_t<is_complex<typename A::value_type>, std::complex<double>, double>;
  double const rows = double(a.rows()), cols = double(a.cols());
  if (rows + cols <= 3000) return 0;
  constexpr double patience = 1, most = 60;          // seconds
  double const each = is_hermitian ? 1.5e-9 : 3e-9;  // those of a multiplication, as in choose.hpp
  auto const flat = flat_scalars<Number>(a);
  auto const counted = [&](auto const& s) { return cost_of_factors(s, most / each).operations * each; };
  double seconds = a.rows() == a.cols() ? counted(flat) : counted(augmented<Number>(flat, 1, 0));
  if (a.rows() == a.cols() && !is_hermitian && seconds > patience) {  // with a diagonal of entries that there are, the fill of A + A^H is more like that of L and U
    std::vector<index_t> row_of, row, col;
    if (match_rows(flat.pattern().view(), row_of) < 0) {
      for (index_t i = 0; i < flat.rows(); ++i) flat.pattern().view().for_row(i, [&](index_t, index_t j) { row.push_back(i), col.push_back(row_of[std::size_t(j)]); });
      std::vector<Number> const value(row.size(), Number(1));
      seconds = (std::min)(seconds, counted(from_triplets<Number>(flat.rows(), flat.cols(), row, col, value)));
    }
  }
  if (seconds > most) return -1;
  if (seconds <= patience) return 0;
  double const of_restart = 0.5 * basis * (4e-11 * 12 * double(a.nnz()) + 4e-10 * basis * (rows + cols));
  return int(std::clamp(seconds / of_restart, 4.0, 1e6));
}

} // namespace sla::detail

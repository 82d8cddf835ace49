// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `jacobian(F, u)`: the sparse Jacobian of a function of tensors, exact by dual numbers, a colour of columns at a time; and
// `jacobian_plan`, which keeps pattern and colours for the next u.
#pragma once

#include <limits>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include <sla/core/held.hpp>
#include <sla/grad/call/jvp.hpp>
#include <sla/solve/nonlinear/dependence_mode.hpp>

namespace sla {

namespace detail {
/// F with its parameters: a function of u alone.
template <class F, class... P>
auto with_parameters(F const& f, P const&... p) {
  return [&f, &p...](auto const& u) -> decltype(auto) { return f(u, p...); };
}
template <class V>
inline constexpr bool is_host_tensor = false;
template <class T, class E>
inline constexpr bool is_host_tensor<tensor<T, E, host_memory>> = true;
/// The laws of F(u, parameters...), of plain values, with their sentences: u is lawful, F takes it, and gives something like it.
template <class V>
constexpr bool require_tensor() {
  constexpr bool tensors = is_host_tensor<V>;
  static_assert(tensors, "sla: jacobian(F, u, parameters...): u is a tensor of one rank in host memory; gather(u) is one of a distributed u, and to<host_memory>(u) of one on a device");
  return tensors;
}
template <class F, class V, class... P>
constexpr bool require_values() {
  constexpr bool callable = requires(F const& f, V const& u, P const&... p) { f(u, p...); };
  static_assert(callable, "sla: nonlinear_solve(F, u0, method, parameters...), jacobian(F, u, parameters...), trace_branch(F, u0, lambda0, ...): F takes u and as many parameters as are given, by `auto const&`");
  if constexpr (callable) {
    using Y = std::remove_cvref_t<decltype(eval(std::declval<F const&>()(std::declval<V const&>(), std::declval<P const&>()...)))>;
    constexpr bool like = is_host_tensor<V> ? is_tensor<Y> : std::same_as<Y, V>;
    static_assert(like, "sla: nonlinear_solve(F, u0, method, parameters...), jacobian(F, u, parameters...): F(u, parameters...) is a tensor or an expression of one, on ranks in the placements of u; what is traced it gets as a parameter, and does not catch");
    return like;
  }
  return false;
}
template <class F, class V, class... P>
constexpr bool require_function() {
  if constexpr (require_tensor<V>())
    return require_values<F, V, P...>();
  else
    return false;
}
} // namespace detail

/// The pattern of a Jacobian with the colours of its columns, kept for many u: `jacobian_plan plan(F, u); auto J = plan(F, u); plan.update(J, F, u2)`.
/// It is found by running F on values that know what they depend on, or it is that of a sparse tensor P: of every entry that is not 0
/// somewhere. Each Jacobian is tried along one direction at random, J v against dual numbers.
/// Law: F is a function of tensors that takes traced values (`auto const&`). Cost: of the pattern one F, its products on patterns, and memory
/// as of J; of a Jacobian as many directional derivatives of F as colours, and one more; a few more where terms cancel. Errors: value_error where the pattern misses an entry, where a
/// derivative is no number, and where a pattern is not found; shape_error.
/// Source: Curtis, Powell and Reid, On the estimation of sparse Jacobian matrices (1974); Griewank and Walther, Evaluating Derivatives (2008), chapters 7 and 8.
class jacobian_plan {
  using Format = Csr<std::int32_t>;
  using pattern_type = Format::pattern<host_memory>;

public:
  /// The pattern of F's Jacobian at u, found.
  template <class F, class T, class E, class... P>
  jacobian_plan(F const& f, tensor<T, E> const& u, P const&... p) : jacobian_plan(detail::dependence_of(detail::with_parameters(f, p...), u)) {}
  /// The pattern of A.
  template <class T, class S, class Fmt>
  explicit jacobian_plan(sparse_tensor<T, S, Fmt> const& A, column_order order = column_order::fewest_colors) {
    auto const rows = to<Format>(A);
    color(has_sorted_columns(rows.pattern()) ? rows.shared_pattern() : sorted(rows).shared_pattern(), order);
  }
  /// Refused: of what is on ranks, or on a device.
  template <class X, class... Y>
  explicit jacobian_plan(X const&, Y const&...) {
    static_assert(always_false<X>, "sla: jacobian_plan(F, u, parameters...), jacobian_plan(A): u is a tensor, and A a sparse tensor, of one rank in host memory; on ranks the option jacobian_on(D) of nonlinear_solve stores Jacobians");
  }

  index_t rows() const { return pattern_->rows; }
  index_t cols() const { return pattern_->cols; }
  index_t nnz() const { return pattern_->nnz(); }
  /// Directional derivatives that a Jacobian takes.
  int colors() const { return coloring_.count; }
  column_coloring const& coloring() const { return coloring_; }
  std::shared_ptr<pattern_type const> const& shared_pattern() const { return pattern_; }
  /// Of another plan too: both patterns in one.
  template <class = void>
  jacobian_plan united_with(jacobian_plan const& other) const {
    auto const wide = [](jacobian_plan const& of) { return sparse_tensor<float>(Matrix(of.rows(), of.cols()), of.pattern_); };
    return jacobian_plan(perform(op::add{}, 1.0f, wide(*this), 1.0f, wide(other)));
  }

  /// The Jacobian of F at u, (elements of F) x (elements of u), both row-major.
  template <class F, class T, class E, class... P>
  sparse_tensor<T> operator()(F const& f, tensor<T, E> const& u, P const&... p) const {
    sparse_tensor<T> J(Matrix(rows(), cols()), pattern_);
    update(J, f, u, p...);
    return J;
  }
  /// Its values into J, which is of this plan.
  template <class F, class T, class E, class... P>
  void update(sparse_tensor<T>& J, F const& f, tensor<T, E> const& u, P const&... p) const {
    if (index_t const row = differentiate(J, f, u, p...); row >= 0)
      throw value_error(text("jacobian(F, u): the pattern misses an entry of row ", row, ", which directional derivatives of F have; give the whole pattern, newton{.pattern = P} or jacobian_plan(P)",
                             is_complex<T> ? "; or F is no analytic function of u, as conj(u) and abs(u) are not, and has no complex Jacobian: write it for the real and the imaginary parts" : ""));
  }
  /// The same; the first row where the pattern misses something, or -1.
  template <class F, class T, class E, class... P>
  index_t differentiate(sparse_tensor<T>& J, F const& f, tensor<T, E> const& u, P const&... p) const {
    if (u.size() != cols())
      throw shape_error(text("jacobian(F, u): the pattern is ", rows(), " x ", cols(), ", and u has ", u.size(), " elements; it is (elements of F) x (elements of u)"));
    if (J.shared_pattern() != pattern_) throw shape_error("jacobian_plan.update(J, F, u): J is of another plan; make it by plan(F, u)");
    auto const of_u = detail::with_parameters(f, p...);
    tensor<T, E> seed(u.extents());
    T* const values = J.values().data();
    for (int c = 0; c < colors(); ++c) {
      for (index_t j = 0; j < u.size(); ++j) seed[j] = T(coloring_.color[std::size_t(j)] == c ? 1 : 0);
      auto const slope = direction(of_u, u, seed);
      for (auto n = first_[std::size_t(c)]; n < first_[std::size_t(c) + 1]; ++n) values[slots_[n]] = slope[rows_[n]];
    }
    return missing(J, of_u, u);
  }

private:
  template <class = void>
  explicit jacobian_plan(detail::dependence const& found) {
    auto const& wide = *found;
    auto row_ptr = detail::row_pointers<std::int32_t>(wide.rows, [&](index_t i) { return index_t(wide.row_ptr[i + 1] - wide.row_ptr[i]); }, "jacobian(F, u): the number of entries,", "newton_krylov{}, which stores none");
    color(detail::shared_of<pattern_type const>(pattern_type{wide.rows, wide.cols, std::move(row_ptr), wide.col}), column_order::fewest_colors);
  }
  template <class = void>
  void color(std::shared_ptr<pattern_type const> pattern, column_order order) {
    pattern_ = std::move(pattern);
    coloring_ = detail::color_columns(*pattern_, order);
    first_.assign(std::size_t(coloring_.count) + 1, 0);
    for (index_t s = 0; s < nnz(); ++s) ++first_[std::size_t(color_of(s)) + 1];
    for (std::size_t c = 1; c < first_.size(); ++c) first_[c] += first_[c - 1];
    slots_.resize(std::size_t(nnz())), rows_ = slots_;
    auto next = first_;
    for (index_t i = 0; i < rows(); ++i)
      pattern_->view().for_row(i, [&](index_t s, index_t) {
        auto const n = next[std::size_t(color_of(s))]++;
        slots_[n] = std::int32_t(s), rows_[n] = std::int32_t(i);
      });
  }
  template <class = void>
  std::int32_t color_of(index_t slot) const { return coloring_.color[std::size_t(pattern_->col[slot])]; }

  /// dF/du d. Errors: shape_error, if F has not as many elements as the pattern has rows.
  template <class F, class V>
  auto direction(F const& f, V const& u, V const& d) const {
    auto slope = std::get<1>(jvp(f, std::tie(u), std::tie(d)));
    if (slope.size() != rows())
      throw shape_error(text("jacobian(F, u): F(u) has ", slope.size(), " elements, and the pattern ", rows(), " rows; it is (elements of F) x (elements of u)"));
    return slope;
  }
  /// J v against dual numbers, v at random: the first row that is found to miss an entry, or -1. Rows whose terms cancel differ too, by rounding: along a v that is 0 on the
  /// columns of its pattern the derivative of a row is 0, unless an entry is missing; and of an analytic function that along i v is i times that along v. Errors: value_error, if a derivative is no number.
  template <class F, class T, class E>
  index_t missing(sparse_tensor<T> const& J, F const& f, tensor<T, E> const& u) const {
    std::vector<dependent_t<detail::suspect_row, T>> suspects;
    auto const v = random<T, E>(u.extents(), 71);
    auto const slope = direction(f, u, v);
    for (index_t i = 0; i < rows(); ++i) {
      T sum{};
      double size = std::abs(slope[i]);
      pattern_->view().for_row(i, [&](index_t s, index_t j) {
        T const term = J.values()[s] * v[j];
        sum += term, size += std::abs(term);
      });
      double const apart = std::abs(sum - slope[i]);
      if (!std::isfinite(apart))
        throw value_error(text("jacobian(F, u): the derivative of element ", i, " of F is NaN or infinite at this u; begin where F has derivatives"));
      if (apart > std::sqrt(double(std::numeric_limits<real_t<T>>::epsilon())) * size) suspects.push_back({i, apart});
    }
    for (auto const& [i, apart] : detail::most_suspect(std::move(suspects))) {
      auto elsewhere = v;
      pattern_->view().for_row(i, [&](index_t, index_t j) { elsewhere[j] = T(0); });
      if (direction(f, u, elsewhere)[i] != T(0)) return i;
      if constexpr (is_complex<T>)
        if (direction(f, u, eval(T(0, 1) * v))[i] != T(0, 1) * slope[i]) return i;
    }
    return -1;
  }

  std::shared_ptr<pattern_type const> pattern_;
  column_coloring coloring_;
  std::vector<std::size_t> first_;          ///< of each colour, in these
  std::vector<std::int32_t> slots_, rows_;  ///< entries, colour by colour
};

/// The Jacobian dF/du of F(u, parameters...) at u, exact: (elements of F) x (elements of u), both row-major, as a sparse tensor. F is a function of
/// tensors that takes traced values (`auto const&`); its pattern is found by running it once (`jacobian_plan`, which is kept for more than one u).
///     auto J = jacobian([&](auto const& u) { return A * u - exp(u); }, u);   // A - diagonal(exp(u)), on the pattern of A
/// Law, Cost, Errors, Source: as of jacobian_plan.
template <class F, class U, class... P>
auto jacobian(F const& f, U const& u, P const&... p) {
  auto const& at = detail::argument(u);
  using V = std::remove_cvref_t<decltype(at)>;
  if constexpr (detail::require_function<F, V, P...>())
    return jacobian_plan(f, at, p...)(f, at, p...);
  else
    return sparse_tensor<double>();  // well-formed, so that the sentence is the only error
}

} // namespace sla

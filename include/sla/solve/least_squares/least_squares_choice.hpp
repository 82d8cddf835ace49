// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The method of `least_squares(A, b)`: dense factors where there are few columns, else LSMR; where that takes many iterations, and factors of
// A^H A + damping^2 are cheap, LSMR with these, which is then done in a few.
#pragma once

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include <sla/core/held.hpp>
#include <sla/solve/direct/direct.hpp>
#include <sla/solve/least_squares/least_squares_engine.hpp>
#include <sla/solve/least_squares/lsmr.hpp>

namespace sla::detail {

/// The automatic choice for one A: what it had to make is kept, also for derivatives.
template <class A>
class least_squares_engine<A, automatic, identity> {
  using by_factors = least_squares_engine<A, lsmr, factor<factorization::cholesky>>;
  static constexpr double dense_operations = 2e7, multiply_seconds = 1.5e-9;  // some 10 ms; Eigen's, as in solve/linear/choose.hpp

public:
  least_squares_engine(A const& a, automatic const& method, identity const&, double damping)
      : rule_{method.rtol, 0, default_rule().max_iterations, {}}, damping_(damping), by_lsmr_(a, with_limit(rule_.max_iterations), identity{}, damping) {
    if constexpr (Readable<A>) {
      double const rows = double(a.rows()) * A::shape_type::block_rows, cols = double(a.cols()) * A::shape_type::block_cols;
      if (2 * rows * cols * (std::min)(rows, cols) * double(a.batch_count()) <= dense_operations) by_dense_ = detail::shared_of<least_squares_engine<A, dense_qr, identity>>(a, dense_qr{.rtol = rule_.rtol}, identity{}, damping);
    }
  }

  template <class V, class Place>
  auto solve(A const& a, V const& b, Place const& place, bool history) {
    auto const chosen = [](auto&& s, std::string const& why) {
      s.report.choice = text("chosen for: ", why, s.report.choice.empty() ? "" : "; ", s.report.choice);
      return std::move(s);
    };
    if constexpr (Readable<A>) {
      if (by_dense_) return chosen(by_dense_->solve(a, b, place, history), "few columns");
      constexpr int patience = 500;
      if (rule_.max_iterations > patience && (damping_ > 0 || a.rows() >= a.cols())) {
        auto first = least_squares_engine<A, lsmr, identity>(a, with_limit(patience), identity{}, damping_).solve(a, b, place, history);
        if (first.report.reason() != reason::iteration_limit) return chosen(std::move(first), "many columns");
        std::string const failure = text("many columns; tried: lsmr: iteration limit after ", patience);
        if (factors_pay(a, first.report.seconds_solve)) {
          auto second = by_factors_->solve(a, b, place, history);
          // The norm of M would not give the shortest x of a matrix without full rank, whose factors are rounding.
          bool const is_exact = second.report.condition() <= 10;
          if (second.report.converged() && is_exact) {
            second.report.seconds_solve += first.report.seconds_solve;
            return chosen(std::move(second), failure);
          }
          by_factors_ = nullptr;
        }
        return chosen(by_lsmr_.solve(a, b, place, history), failure);
      }
    }
    return chosen(by_lsmr_.solve(a, b, place, history), "many columns");
  }
  template <class V, class X, class Place>
  auto solve_normal(A const& a, V const& b, X const& g, Place const& place) const {
    if constexpr (Readable<A>) {
      if (by_dense_) return by_dense_->solve_normal(a, b, g, place);
      if (by_factors_) return by_factors_->solve_normal(a, b, g, place);
    }
    return by_lsmr_.solve_normal(a, b, g, place);
  }

private:
  lsmr with_limit(int most) const { return {.rtol = rule_.rtol, .max_iterations = most}; }
  /// Are factors of A^H A made in about the time that LSMR took in vain? Then they are.
  bool factors_pay(A const& a, double seconds) {
    using S = typename A::shape_type;
    double const most = (std::max)(0.1, 4 * seconds) / multiply_seconds;
    double pairs = 0;
    for (index_t i = 0; i < a.rows(); ++i) {
      double entries = 0;
      a.pattern().view().for_row(i, [&](index_t, index_t) { entries += S::block_cols; });
      pairs += entries * entries * S::block_rows;
    }
    if (pairs * double(a.batch_count()) > most) return false;
    try {
      if (cost_of_factors(normal_matrix(a, damping_), most).operations > most) return false;
      by_factors_ = detail::shared_of<by_factors>(a, with_limit(100), factor<factorization::cholesky>{}, damping_);
    } catch (value_error const&) {
      return false;
    } catch (std::bad_alloc const&) {
      return false;
    }
    return true;
  }
  stop_rule rule_;
  double damping_;
  least_squares_engine<A, lsmr, identity> by_lsmr_;
  std::shared_ptr<least_squares_engine<A, dense_qr, identity>> by_dense_;
  std::shared_ptr<by_factors> by_factors_;
};

} // namespace sla::detail

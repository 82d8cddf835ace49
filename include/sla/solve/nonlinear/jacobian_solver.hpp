// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What solves with the Jacobian of a function: `jacobian_solver`, which stores it, found or on a given pattern, and `operator_solver`, which does
// not. They have the same members, so that methods take either.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <sla/core/held.hpp>
#include <sla/grad/call/pullback.hpp>
#include <sla/solve/linear/choose.hpp>
#include <sla/solve/linear/linear.hpp>
#include <sla/solve/nonlinear/jacobian.hpp>
#include <sla/solve/nonlinear/unknowns.hpp>

namespace sla {

/// A pattern that is given: that of a sparse tensor, `newton{.pattern = P}`. None: it is found.
class given_pattern {
public:
  given_pattern() = default;
  template <class T, class S, class F>
  given_pattern(sparse_tensor<T, S, F> const& A) : plan_(detail::shared_of<jacobian_plan const>(A)) {}  // NOLINT: converts by intent
  template <class X>
  auto plan() const {
    return std::static_pointer_cast<dependent_t<jacobian_plan, X> const>(plan_);
  }

private:
  std::shared_ptr<void const> plan_;  ///< a jacobian_plan, whose type readers of this header need not compile
};

namespace detail {
/// J + c I. Law: the pattern of J has the diagonal.
template <class T>
sparse_tensor<T> plus_identity(sparse_tensor<T> const& J, real_t<T> c) {
  sparse_tensor<T> K = J;
  parallel_ranges(K.rows(), [view = K.pattern().view(), values = K.values().data(), c](index_t first, index_t last) {
    for (index_t i = first; i < last; ++i)
      view.for_row(i, [&](index_t s, index_t j) {
        if (i == j) values[s] += c;
      });
  });
  return K;
}
/// J set up by a method and a preconditioner, or by the automatic choice.
template <class T, class... Options>
auto prepared_for(sparse_tensor<T> const& J, double rtol, Options const&... options) {
  if constexpr (sizeof...(Options) == 0)
    return prepare(J, automatic{.rtol = rtol});
  else
    return prepare(J, options...);
}
/// d of a linear solve, laid as r, and its report, which is counted.
template <class V, class S>
std::pair<V, report> counted_solve(V const& r, S s, nonlinear_report& report) {
  ++report.linear_solves;
  report.linear_iterations += s.report.iterations();
  report.linear = s.report.preconditioner.empty() ? s.report.method : text(s.report.method, " + ", s.report.preconditioner);
  return {laid_as(r, std::move(s.x)), std::move(s.report)};
}
/// The Jacobian of F at u with what solves with it, kept from one u to the next: pattern, colours, order, factors or hierarchy. With diagonal: the pattern
/// has it all, for those who edit the matrix. On: a tuple of where solves run, or none.
template <class T, class On, class... Linear>
class jacobian_solver {
public:
  jacobian_solver(given_pattern const& given, double rtol, On const& on, Linear const&... linear) : given_(given.template plan<T>()), plan_(given_), rtol_(rtol), on_(on), linear_(linear...) {}
  jacobian_solver& with_diagonal() {
    diagonal_ = true;
    return *this;
  }

  /// The Jacobian at u. A pattern that was found elsewhere, and misses an entry here, is found again. Errors: value_error, shape_error.
  template <class F, class V>
  sparse_tensor<T> const& jacobian_at(F const& f, V const& u, nonlinear_report& report) {
    if (!plan_) plan_ = detail::shared_of<dependent_t<jacobian_plan, T> const>(f, u);
    if (plan_->rows() != u.size() || plan_->cols() != u.size())
      throw shape_error(text(report.method, "{.pattern = P}: P is ", plan_->rows(), " x ", plan_->cols(), ", and u has ", u.size(), " elements, as many as F; it is (elements of F) x (elements of u)"));
    if (!J_) complete(*plan_);
    ++report.jacobians, report.derivatives += plan_->colors() + 1;
    if (plan_->differentiate(*J_, f, u) >= 0) {
      if (!given_) complete(plan_->united_with(jacobian_plan(f, u)));
      plan_->update(*J_, f, u);
    }
    report.jacobian = text("dual numbers in ", plan_->colors(), plan_->colors() == 1 ? " colour" : " colours", given_ ? ", pattern given" : ", pattern found");
    return *J_;
  }
  /// Ready to solve with the Jacobian at u.
  template <class F, class V>
  void linearize(F const& f, V const& u, nonlinear_report& report) {
    set_up(jacobian_at(f, u, report));
  }
  /// The Jacobian at u, and then ready to solve with J + c I. Law: the pattern has the diagonal.
  template <class F, class V>
  void look(F const& f, V const& u, nonlinear_report& report) {
    jacobian_at(f, u, report);
  }
  void set_up_shifted(real_t<T> c) { set_up(plus_identity(*J_, c)); }
  /// Ready to solve with a matrix on the pattern of the Jacobian.
  void set_up(sparse_tensor<T> const& K) {
    if (s_)
      s_->update(K);
    else
      s_.emplace(std::apply([&](Linear const&... option) { return prepared_for(K, rtol_, option...); }, linear_));
  }
  sparse_tensor<T> const& jacobian() const { return *J_; }
  /// d with J d = r, if the report says so.
  template <class V>
  std::pair<V, sla::report> solve(V const& r, nonlinear_report& report) const {
    return counted_solve(r, std::apply([&](auto const&... o) { return s_->try_solve(flat(r), o...); }, on_), report);
  }
  /// The same for J d = r and J^H w = g of derivatives. Errors: solve_error.
  template <class V>
  V solve(V const& r) const {
    return std::apply([&](auto const&... o) { return laid_as(r, s_->solve(flat(r), o...)); }, on_);
  }
  template <class V>
  V solve_adjoint(V const& g) const {
    return std::apply([&](auto const&... o) { return laid_as(g, s_->solve_adjoint(flat(g), o...)); }, on_);
  }
  /// J x, and J^H x.
  template <class V>
  V times(V const& x) const {
    return laid_as(x, eval(*J_ * flat(x)));
  }
  template <class V>
  V times_adjoint(V const& x) const {
    return laid_as(x, eval(adjoint(*J_) * flat(x)));
  }

private:
  using Prepared = decltype(prepared_for(std::declval<sparse_tensor<T> const&>(), 0.0, std::declval<Linear const&>()...));

  /// Goes on with this plan, and the diagonal if it is wanted.
  void complete(dependent_t<jacobian_plan, T> plan) {
    plan_ = detail::shared_of<dependent_t<jacobian_plan, T> const>(diagonal_ ? plan.united_with(jacobian_plan(eye<T>(plan.rows()))) : std::move(plan));
    J_.emplace(Matrix(plan_->rows(), plan_->cols()), plan_->shared_pattern());
    s_.reset();
  }

  bool diagonal_ = false;
  std::shared_ptr<dependent_t<jacobian_plan, T> const> given_, plan_;
  double rtol_;
  On on_;
  std::tuple<Linear...> linear_;
  std::optional<sparse_tensor<T>> J_;
  std::optional<Prepared> s_;
};

/// J + c I and its adjoint at u, by one directional derivative or one sweep of F each, as functions of this process's numbers.
template <class F, class V>
linear_operator<typename V::value_type> jacobian_operator(F const& f, V const& u, real_t<typename V::value_type> c = 0) {
  using T = typename V::value_type;
  auto const at = detail::shared_of<V const>(u);
  auto const write = [c](V const& image, std::span<T const> x, std::span<T> y) {
    auto const* const from = own_numbers(image);
    for (std::size_t n = 0; n < y.size(); ++n) y[n] = c == 0 ? from[n] : from[n] + c * x[n];
  };
  return {own_size(u), own_size(u),
          [f, at, write](std::span<T const> x, std::span<T> y) { write(laid_as(*at, std::get<1>(jvp(f, std::tie(*at), std::tuple<V>(borrowed_as(*at, x))))), x, y); },
          [f, at, write](std::span<T const> x, std::span<T> y) { write(laid_as(*at, std::get<1>(vjp(f, std::tie(*at), borrowed_as(*at, x)))), x, y); }};
}
/// What solves with the Jacobian of F where it is not stored: J v by dual numbers, J^H w by a tape, and the linear method and preconditioner of the call, or else GMRES, with M
/// if there is one.
template <class V, class On, class... Linear>
class operator_solver {
  using T = typename V::value_type;

public:
  operator_solver(double rtol, On const& on, Linear const&... linear) : method_{.rtol = rtol}, on_(on), linear_(linear...) {}
  operator_solver& with_diagonal() { return *this; }
  /// From now on by this method, and M.
  void use(gmres const& method, std::shared_ptr<dependent_t<linear_operator<double>, V> const> M) { method_ = method, M_ = std::move(M); }

  /// What F refers to outlives the solves.
  template <class F>
  void look(F const& f, V const& u, nonlinear_report& report) {
    if (std::string_view(report.jacobian).find("J v") == std::string_view::npos) report.jacobian += report.jacobian.empty() ? "J v by dual numbers" : "; J v by dual numbers";
    shifted_ = [f, u](real_t<T> c) { return jacobian_operator(f, u, c); };
    plain_.emplace(shifted_(0));
  }
  /// Ready to solve with J in free elements, which are 1, and c in the others, which are 0.
  void set_up_held(V const& free, V const& c) {
    auto const masked = [free, c](linear_operator<T> const& J) {
      return [free, c, J](std::span<T const> x, std::span<T> y) {
        V part = free;
        auto const* const is_free = own_numbers(free);
        for (std::size_t n = 0; n < x.size(); ++n) own_numbers(part)[n] *= x[n];
        V const image = laid_as(part, eval(J * flat(part)));
        for (std::size_t n = 0; n < y.size(); ++n) y[n] = is_free[n] * own_numbers(image)[n] + (T(1) - is_free[n]) * own_numbers(c)[n] * x[n];
      };
    };
    J_.emplace(own_size(c), own_size(c), masked(*plain_), masked(plain_->adjoint()));
  }
  void set_up_shifted(real_t<T> c) { J_.emplace(shifted_(c)); }
  template <class F>
  void linearize(F const& f, V const& u, nonlinear_report& report) {
    look(f, u, report);
    set_up_shifted(0);
  }
  std::pair<V, sla::report> solve(V const& r, nonlinear_report& report) const {
    auto out = counted_solve(r, attempt(*J_, r), report);
    report.derivatives += out.second.iterations();
    return out;
  }
  /// Errors: solve_error.
  V solve(V const& r) const { return reached(attempt(*J_, r), r); }
  V solve_adjoint(V const& g) const { return reached(attempt(J_->adjoint(), g), g); }
  V times(V const& x) const { return laid_as(x, eval(*plain_ * flat(x))); }
  V times_adjoint(V const& x) const { return laid_as(x, eval(plain_->adjoint() * flat(x))); }

private:
  auto attempt(linear_operator<T> const& J, V const& r) const {
    auto const& b = flat(r);
    return std::apply(
        [&](auto const&... o) {
          if constexpr (sizeof...(Linear) > 0)
            return std::apply([&](Linear const&... linear) { return try_solve(J, b, linear..., o...); }, linear_);
          else
            return M_ ? try_solve(J, b, method_, *M_, o...) : try_solve(J, b, method_, o...);
        },
        on_);
  }
  template <class S>
  static V reached(S s, V const& like) {
    if (!s.report.converged()) throw solve_error(std::move(s.report));
    return laid_as(like, std::move(s.x));
  }
  gmres method_;
  On on_;
  std::tuple<Linear...> linear_;
  std::shared_ptr<dependent_t<linear_operator<double>, V> const> M_;
  std::function<linear_operator<T>(real_t<T>)> shifted_;
  std::optional<linear_operator<T>> plain_, J_;  ///< the Jacobian, and what is solved with
};

/// What solves with the Jacobian of functions of V: stored where its entries are found, on one host. On: as of jacobian_solver.
template <class V, class On, class... Linear>
auto make_jacobian_solver([[maybe_unused]] given_pattern const& pattern, double rtol, On const& on, std::tuple<Linear const&...> const& linear) {
  return std::apply(
      [&](Linear const&... o) {
        if constexpr (is_host_tensor<V>)
          return detail::shared_of<jacobian_solver<typename V::value_type, On, Linear...>>(pattern, rtol, on, o...);
        else
          return detail::shared_of<operator_solver<V, On, Linear...>>(rtol, on, o...);
      },
      linear);
}
} // namespace detail

} // namespace sla

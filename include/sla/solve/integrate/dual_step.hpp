// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Steps in time of dual numbers, from those of their values: the equation of a step gives the slopes of the next state by one solve with its Jacobian.
#pragma once

#include <memory>
#include <utility>

#include <sla/core/held.hpp>
#include <sla/solve/integrate/time_step.hpp>

namespace sla::detail {

/// A time_stepper for states of dual numbers.
template <class Stepper>
class dual_stepper {
  using values = typename Stepper::state;

public:
  using residual_type = typename Stepper::residual_type;
  using vector_type = dual_of_t<decltype(values::u)>;
  using state = time_state<vector_type>;
  static constexpr bool reads_before = Stepper::reads_before;

  explicit dual_stepper(std::shared_ptr<Stepper> stepper) : stepper_(std::move(stepper)) {}
  time_grid const& grid() const { return stepper_->grid(); }
  residual_type residual(index_t k) const { return stepper_->residual(k); }
  state begin(vector_type const& u0) const { return {u0, no_elements_of(u0)}; }

  template <class M, class... P>
  state advance(index_t k, state const& s, integration_report& total, M const& m, P const&... p) {
    values next = stepper_->advance(k, values{value_part(s.u), value_part(s.before)}, total, value_part(m), value_part(p)...);
    auto u = with_slope_of_equation(next.u, residual(k), of_values(k, next.u, m, p...), s.u, s.before, m, p...);
    return {std::move(u), reads_before ? s.u : s.before};
  }
  template <class M, class... P>
  auto linearized(index_t k, vector_type const& next, M const& m, P const&... p) {
    auto of_next = [R = residual(k), &m, &p...](auto const& v) { return R.next(v, m, p...); };
    using Gradient = gradient_of_residual<decltype(of_next)>;
    auto jacobian = of_values(k, value_part(next), m, p...);
    return dual_linearized<decltype(jacobian), vector_type, Gradient>{jacobian, next, Gradient{of_next}};
  }

private:
  /// What solves with the Jacobian of step k refers to next and to the parameters, whose values are kept for it.
  template <class V, class M, class... P>
  auto of_values(index_t k, V const& next, M const& m, P const&... p) {
    using Held = std::tuple<V, decltype(value_part(m)), decltype(value_part(p))...>;
    auto const held = detail::shared_of<Held const>(next, value_part(m), value_part(p)...);
    held_ = held;
    auto const& kept = std::apply([&](auto const&... all) -> auto const& { return stepper_->linearized(k, all...); }, *held);
    return solver_at_solution<decltype(&kept)>{&kept};
  }
  std::shared_ptr<void const> held_;
  std::shared_ptr<Stepper> stepper_;
};

} // namespace sla::detail

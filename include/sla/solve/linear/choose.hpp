// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The automatic choice at work: the candidates of solve/linear/candidates.hpp are set up and tried in turn, until one converges.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <sla/core/guarded.hpp>
#include <sla/core/held.hpp>
#include <sla/solve/driver/engine.hpp>
#include <sla/solve/krylov/bicgstab.hpp>
#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/krylov/gmres.hpp>
#include <sla/solve/krylov/minres.hpp>
#include <sla/solve/linear/choice_world.hpp>
#include <sla/solve/precond/amg/amg.hpp>
#include <sla/solve/precond/ilu0.hpp>
#include <sla/solve/precond/jacobi.hpp>
#include <sla/solve/precond/row_norms.hpp>

namespace sla {

namespace detail {
inline constexpr candidate all_candidates[] = {candidate::cg_amg, candidate::cg_jacobi, candidate::cg_ilu0, candidate::minres_row_norms, candidate::bicgstab_amg, candidate::bicgstab_ilu0, candidate::gmres_row_norms, candidate::ldlt, candidate::lu};
constexpr char const* name_of(candidate what) {
  constexpr char const* names[] = {"cg + amg", "cg + jacobi", "cg + ilu0", "minres + row_norms", "bicgstab + amg", "bicgstab + ilu0", "gmres + row_norms", "ldlt", "lu"};
  return names[int(what)];
}

/// The factors at `at` take so many seconds: the iterations behind them come first, and get as much time, GMRES, which converges soon or stagnates, 500
/// iterations; factors keep their order, and GMRES at the end its place. False, if no iterations follow.
template <class Steps>
bool let_iterations_pass(Steps& steps, std::size_t at, double seconds, double step_seconds) {
  auto const next = steps.begin() + std::ptrdiff_t(at), end = steps.end() - (steps.back().what == candidate::gmres_row_norms);
  bool any = false;
  for (auto step = next; step != end; ++step)
    if (!is_factors(step->what)) {
      step->limit = (std::min)(step->limit, int(std::clamp(seconds / step_seconds, 100.0, step->what == candidate::gmres_row_norms ? 500.0 : 1e9)));
      any = true;
    }
  std::stable_partition(next, end, [](auto const& s) { return !is_factors(s.what); });
  return any;
}

/// Does an iteration give up? From step `least` on, where the residual falls as it did in the later half of its steps, and then more than `patience` are left.
/// Of several items the one counts that is the farthest from its tolerance. An observer of one run.
class foresight {
public:
  /// absolute: atol / |b| of each item; none, where there is no atol.
  foresight(double rtol, int patience, std::vector<double> absolute = {}, int least = 20)
      : rtol_((std::max)(rtol, 1e-15)), patience_(patience), absolute_(std::move(absolute)), begin_(std::size_t(least)) {}
  bool gives_up(std::vector<progress> const& items) {
    double worst = 0;  // |r| over what it is to become
    for (std::size_t i = 0; i < items.size(); ++i)
      if (items[i].state == reason::running) worst = (std::max)(worst, items[i].residual / (i < absolute_.size() ? (std::max)(rtol_, absolute_[i]) : rtol_));
    least_.push_back((std::min)(least_.empty() ? INFINITY : least_.back(), worst));
    std::size_t const step = least_.size() - 1;
    if (step < begin_ || !(least_.back() > 1)) return false;
    double const fell = std::log(least_[step / 2] / least_.back()), left = std::log(least_.back());
    return left * double(step - step / 2) > patience_ * fell;
  }

private:
  double rtol_;
  int patience_;
  std::vector<double> absolute_, least_ = {};  ///< least_: the worst item's |r| up to each step, over what it is to become
  std::size_t begin_;
};

template <>
struct automatic_choice<automatic> {};

/// A list of candidates for one operator. Candidates are set up when they are reached, by one thread for all; later solves begin with the one that held.
/// Its functions stand outside of it, so that who has them compiled can say so (docs/installing.md, `instances`).
template <class A>
class engine<A, automatic, none> {
  using World = choice_world<A>;
  using steps_type = dependent_t<std::vector<choice_step>, A>;

  /// What a candidate is made of.
  template <class Method, class P>
  struct kind_of_engine {
    using engine_type = engine<A, Method, P>;
    using method_type = Method;
    using preconditioner_type = P;
  };
  /// f(kind_of_engine of a candidate).
  template <class F>
  static auto on_engine(candidate what, F const& f) {
    switch (what) {
      case candidate::cg_amg: return f(kind_of_engine<cg, amg>{});
      case candidate::cg_jacobi: return f(kind_of_engine<cg, jacobi>{});
      case candidate::cg_ilu0: return f(kind_of_engine<cg, ilu0>{});
      case candidate::minres_row_norms: return f(kind_of_engine<minres, row_norms>{});
      case candidate::bicgstab_amg: return f(kind_of_engine<bicgstab, amg>{});
      case candidate::bicgstab_ilu0: return f(kind_of_engine<bicgstab, ilu0>{});
      case candidate::gmres_row_norms: return f(kind_of_engine<gmres, row_norms>{});
      case candidate::ldlt: return f(kind_of_engine<refinement<factorization::ldlt>, typename World::template factors<factorization::ldlt>>{});
      case candidate::lu: break;
    }
    return f(kind_of_engine<refinement<factorization::lu>, typename World::template factors<factorization::lu>>{});
  }

public:
  engine(A const& a, automatic const& method, none const&);

  template <class V, class... Options>
  solution<V> solve(A const& a, V const& b, Options const&... options) const {
    return try_all<false>(a, b, options...);
  }
  template <class V, class... Options>
  solution<V> solve_adjoint(A const& a, V const& b, Options const&... options) const {
    return try_all<true>(a, b, options...);
  }
  /// New values: the candidate that held is kept where the list still has it.
  void update(A const& a);

private:
  /// What solves find out: the order of the candidates, once the cost of factors is known, those that are set up, and the one that held.
  struct found {
    steps_type steps{};
    std::size_t at = 0;
    double seconds = 0;  ///< of looking at A, until a report tells them
    std::array<std::shared_ptr<void>, std::size(all_candidates)> engines{};  ///< those of on_engine
    std::array<int, std::size(all_candidates)> limits{};  ///< the iterations that they may take

    std::shared_ptr<void>& engine_of(candidate what) { return engines[std::size_t(what)]; }
  };

  void look_at(A const& a);
  std::shared_ptr<void> set_up(A const& a, choice_step step, std::shared_ptr<void> (*make)(A const&, stop_rule const&)) const;
  void drop(candidate what) const;
  bool waits(A const& a, steps_type& steps, std::size_t at, std::vector<std::string>& failures) const;
  template <bool Adjoint, class V, class... Options>
  solution<V> try_all(A const& a, V const& b, Options const&... options) const;
  template <bool Adjoint, class V, class... Options>
  solution<V> try_candidate(choice_step step, A const& a, V const& b, Options const&... options) const;

  stop_rule rule_;
  dependent_t<candidates, A> candidates_;
  guarded<found> found_;
};

template <class A>
engine<A, automatic, none>::engine(A const& a, automatic const& method, none const&) : rule_{sensible(method).rtol, method.atol, default_rule().max_iterations, {}} {
  look_at(a);
}
template <class A>
void engine<A, automatic, none>::look_at(A const& a) {
  double const start = seconds_now();
  candidates_ = World::look(a, rule_.max_iterations);
  found_.with([&](found& f) { f.at = 0, f.steps = candidates_.steps, f.seconds += seconds_now() - start; });
}
template <class A>
void engine<A, automatic, none>::update(A const& a) {
  auto const [before, limit] = found_.with([](found& f) { return std::pair(f.steps[f.at].what, f.limits[std::size_t(f.steps[f.at].what)]); });
  look_at(a);
  auto const at = std::find_if(candidates_.steps.begin(), candidates_.steps.end(), [what = before, limit = limit](choice_step const& s) { return s.what == what && s.limit == limit; });
  bool const kept = at != candidates_.steps.end();
  found_.with([&, before = before](found& f) {
    for (candidate const what : all_candidates)  // a solve that an observer ended, or one beside it, may have set up another one
      if (!kept || what != before) f.engine_of(what).reset();
    if (!kept) return;
    f.at = std::size_t(at - candidates_.steps.begin());
    auto& held = f.engine_of(before);
    if (!held) return;
    try {
      on_engine(before, [&]<class Kind>(Kind) {
        using Engine = typename Kind::engine_type;
        if (!is_sole(held)) held = detail::shared_of<Engine>(*static_cast<Engine const*>(held.get()));
        static_cast<Engine*>(held.get())->update(a);
      });
    } catch (value_error const&) {  // the next solve says why, and goes on
      held.reset();
    } catch (shape_error const&) {  // too many entries for the indices of a product
      held.reset();
    } catch (std::bad_alloc const&) {
      if constexpr (World::is_shared) throw;
      held.reset();
    }
  });
}
/// The engine of a candidate, made on first need.
template <class A>
std::shared_ptr<void> engine<A, automatic, none>::set_up(A const& a, choice_step step, std::shared_ptr<void> (*make)(A const&, stop_rule const&)) const {
  return found_.with([&](found& f) {
    auto& e = f.engine_of(step.what);
    try {
      if (!e) e = make(a, {rule_.rtol, rule_.atol, step.limit, {}}), f.limits[std::size_t(step.what)] = step.limit;
    } catch (shape_error const& too_many) {  // entries for the indices of a product
      throw setup_refused(too_many.what());
    }
    return e;
  });
}
/// For the next solves; those under way keep theirs.
template <class A>
void engine<A, automatic, none>::drop(candidate what) const {
  found_.with([&](found& f) { f.engine_of(what).reset(); });
}

/// Do the factors that are next take so long that they leave their place: to iterations that get as much time, or for good?
template <class A>
bool engine<A, automatic, none>::waits(A const& a, steps_type& steps, std::size_t at, std::vector<std::string>& failures) const {
  auto const next = steps.begin() + std::ptrdiff_t(at);
  if (!is_factors(next->what) || next->weighed || candidates_.rows <= 1500) return false;
  auto const is_multigrid = [](choice_step const& s) { return s.what == candidate::cg_amg || s.what == candidate::bicgstab_amg; };
  bool const before_multigrid = std::any_of(next, steps.end(), is_multigrid);
  bool const expects_multigrid = before_multigrid && std::any_of(steps.begin(), next, [](choice_step const& s) { return s.patience > 0; });
  double const patience = before_multigrid ? (expects_multigrid ? 2 * candidates_.multigrid_steps : 1000) * candidates_.step_seconds : 1;
  constexpr double multiply_seconds[] = {1.5e-9, 3e-9};  // of ldlt, and of lu; Eigen's on 22^3 points
  bool const is_lu = next->what == candidate::lu;
  if constexpr (Chosen<A>) {  // to count the factors takes as long as many steps, or as a part of making them: not where the levels of a walk tell enough
    auto const [narrow, wide] = World::levels(a);
    double const p = double(World::block_rows()), each = multiply_seconds[is_lu] * double(candidates_.batch);
    auto const seconds_by = [&](index_t level) { return std::pow(double(level) * p, 3) * each; };
    if (expects_multigrid && seconds_by(narrow) > patience) {
      std::rotate(next, next + 1, std::find_if(next, steps.end(), is_multigrid) + 1);
      return true;
    }
    next->weighed = (std::max)(4 * seconds_by(wide), double(candidates_.rows) * std::pow(double(wide) * p, 1.5) * each) < patience;
    if (next->weighed) return false;
  }
  next->weighed = true;
  double const most = candidates_.rows <= 20000 ? 600 : 60;
  auto const leave_out = [&](std::string const& why) {
    if (steps.size() == 1) return false;
    failures.push_back(text(name_of(next->what), ": not tried, ", why));
    steps.erase(next);
    return true;
  };
  factor_cost cost;
  try {
    if constexpr (Chosen<A>) cost = World::cost(a, most / multiply_seconds[is_lu], is_lu);
  } catch (std::bad_alloc const&) {
    if constexpr (World::is_shared) throw;  // the others know nothing of it
    return leave_out("no memory to count its factors");
  }
  double const seconds = cost.operations * multiply_seconds[is_lu];
  if (seconds > most) return leave_out(text("its factors take minutes, and more than ", bytes_text(std::size_t(cost.entries * (is_lu ? 48 : 12)))));
  return seconds > patience && let_iterations_pass(steps, at, seconds, candidates_.step_seconds);
}

/// The candidates, from the last that held, until one converges; else what came nearest.
template <class A>
template <bool Adjoint, class V, class... Options>
solution<V> engine<A, automatic, none>::try_all(A const& a, V const& b, Options const&... options) const {
  std::optional<solution<V>> best;
  std::vector<std::string> failures;
  std::size_t of_best = 0;  // its failure, if it has one
  std::optional<told> nearest;  // of the best
  double solve = 0;
  auto [steps, at, setup] = found_.with([](found& f) { return std::tuple(f.steps, f.at, std::exchange(f.seconds, 0.0)); });
  bool singular = false, indefinite = false, tried_cg = false, rounded = false;
  for (; at < steps.size(); ++at) {
    // Where rounding is what stops one method, it stops others; factors, whose rounding is the least, may still be better, by a little.
    auto const is_left_out = [&](choice_step const& s) { return rounded && !(is_factors(s.what) && candidates_.rows <= 20000); };
    if (is_left_out(steps[at])) continue;
    while (at < steps.size() && waits(a, steps, at, failures)) {
    }
    if (at == steps.size()) break;
    auto const& step = steps[at];
    if (is_left_out(step)) continue;
    bool const is_cg = step.what == candidate::cg_amg || step.what == candidate::cg_jacobi || step.what == candidate::cg_ilu0;
    if (indefinite ? is_cg : tried_cg && step.what == candidate::minres_row_norms) continue;
    tried_cg = tried_cg || is_cg;
    std::string failure;
    try {
      auto now = try_candidate<Adjoint>(step, a, b, options...);
      setup += now.report.seconds_setup, solve += now.report.seconds_solve;
      failure = text(now.report.method, now.report.preconditioner.empty() ? "" : " + ", now.report.preconditioner, ": ",
                     to_string(now.report.reason()), " after ", now.report.iterations());
      told const seen(a, now.report);
      bool const is_null = candidates_.semidefinite && is_cg && (seen.is(told::indefinite) || (seen.left() > 1e6 && !seen.is(told::at_limit)));
      singular = singular || seen.is(told::singular) || is_null;
      rounded = rounded || (seen.is(told::failed) && !seen.is(told::exact) && seen.left() < 0.1 && !candidates_.semidefinite);  // not by an x that is far too large
      indefinite = indefinite || seen.is(told::indefinite) || is_null;
      if (!best || seen.done() || seen.is_nearer(*nearest)) {
        best.emplace(std::move(now));
        of_best = failures.size(), nearest = seen;
      }
      if (seen.done()) break;
    } catch (setup_refused const& e) {  // this preconditioner does not exist for this matrix
      failure = e.what();
      failure = failure.substr(0, failure.find(';'));
      World::agree(a, failure);
    } catch (std::bad_alloc const&) {
      if constexpr (World::is_shared) throw;  // the others know nothing of it
      failure = text(name_of(step.what), ": out of memory");
    }
    failures.push_back(std::move(failure));
    drop(step.what);
  }
  std::string tried;
  for (std::size_t n = 0; n < failures.size(); ++n)
    if (!best || n != of_best) tried += text(tried.empty() ? "" : ", ", failures[n]);
  found_.with([next = at == steps.size() ? 0 : at, &order = steps](found& f) { f.at = next, f.steps = order; });
  if (!best) throw setup_refused(text("solve: no method of the automatic choice works for this matrix (", candidates_.why, "): ", tried));
  report& out = best->report;
  if (singular && out.reason() != reason::singular) out.choice.clear();  // what it advises in its own case, a method that was tried
  out.choice = text("chosen for: ", candidates_.why, tried.empty() ? "" : "; tried: ", tried, out.choice.empty() ? "" : "; ", out.choice);
  out.seconds_setup = setup, out.seconds_solve = solve;
  if (singular)
    for (progress& item : out.items)
      if (item.state != reason::converged) item.state = reason::singular;
  return std::move(*best);
}

template <class A>
template <bool Adjoint, class V, class... Options>
solution<V> engine<A, automatic, none>::try_candidate(choice_step step, A const& a, V const& b, Options const&... options) const {
  std::vector<double> absolute;  // atol / |b|
  if (step.patience != 0 && rule_.atol > 0) {
    auto space = space_of_call(a, b, options...);
    auto [bb] = fuse(space, squared_norm_of(b));
    space.finish();
    for (auto const& square : space.read(bb)) absolute.push_back(rule_.atol / std::sqrt(double(real_of(square))));
  }
  struct functions {  // of its engine, whose type nothing else here knows
    std::shared_ptr<void> (*make)(A const&, stop_rule const&);
    solution<V> (*solve)(void const* engine, A const&, V const&, Options const&...);
  };
  auto const its = on_engine(step.what, []<class Kind>(Kind) {
    using Engine = typename Kind::engine_type;
    return functions{[](A const& of, stop_rule const& rule) -> std::shared_ptr<void> {
                       typename Kind::method_type method{};
                       method.rtol = rule.rtol, method.atol = rule.atol, method.max_iterations = rule.max_iterations;
                       return detail::shared_of<Engine>(of, method, typename Kind::preconditioner_type{});
                     },
                     [](void const* made, A const& of, V const& right, Options const&... given) -> solution<V> {
                       auto const& solver = *static_cast<Engine const*>(made);
                       if constexpr (Adjoint)
                         return solver.solve_adjoint(of, right, given...);
                       else
                         return solver.solve(of, right, given...);
                     }};
  });
  auto const made = set_up(a, step, its.make);
  auto const run = [&] { return its.solve(made.get(), a, b, options...); };
  if (step.patience == 0) return run();
  bool given_up = false, asked = false;  // by an observer of the user's
  auto rule = default_rule();
  rule.watch = [&given_up, &asked, ahead = foresight(rule_.rtol.*tolerance_of<typename V::value_type>, step.patience, absolute, step.least), outer = rule.watch](std::vector<progress> const& seen) mutable {
    if (outer && !outer(seen)) return asked = true, false;
    given_up = given_up || ahead.gives_up(seen);
    return !given_up;
  };
  auto out = with(rule, run);
  double stopped[] = {double(asked)};  // a rank may have given up on its items of a batch, and others not
  World::agree(a, stopped);
  if (stopped[0] == 0)
    for (progress& item : out.report.items)
      if (item.state == reason::stopped) item.state = reason::iteration_limit;
  return out;
}
} // namespace detail

} // namespace sla

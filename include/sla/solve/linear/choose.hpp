// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The automatic choice: from what one look at A tells (tensor/structure/properties.hpp) to a list of methods to try. A cheap method gets
// about the time that the dearer one after it would take, so that the sum stays near the better of the two.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
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
#include <sla/solve/direct/direct.hpp>
#include <sla/solve/driver/engine.hpp>
#include <sla/solve/krylov/bicgstab.hpp>
#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/krylov/gmres.hpp>
#include <sla/solve/krylov/minres.hpp>
#include <sla/solve/precond/amg/amg.hpp>
#include <sla/solve/precond/ilu0.hpp>
#include <sla/solve/precond/jacobi.hpp>
#include <sla/solve/precond/row_norms.hpp>
#include <sla/tensor/structure/properties.hpp>

namespace sla {

/// One candidate of the list: a method with its preconditioner, and how many iterations it may take.
/// MINRES is for Hermitian matrices that are not definite: among candidates of CG it is reached where CG has met that, and CG left.
enum class candidate { cg_amg, cg_jacobi, cg_ilu0, minres_row_norms, bicgstab_amg, bicgstab_ilu0, gmres_row_norms, ldlt, lu };
/// One method to try, and the iterations it may take.
struct attempt {
  candidate what;
  int limit;
  bool weighed = false;  ///< factors: their cost was counted
  bool if_near = false;  ///< only where the best x so far has gone a fifth of the way, in decades of the residual
};
/// What to try, in order, and why.
struct candidates {
  std::vector<attempt> steps;
  std::string why;
  bool semidefinite = false;  ///< (p, A p) <= 0 means a null vector: where CG meets one, A is singular and b not in its range
  index_t rows = 0;
  double step_seconds = 0;  ///< of an iteration
};

namespace detail {
constexpr bool is_factors(candidate what) { return what == candidate::ldlt || what == candidate::lu; }
inline double step_seconds(matrix_properties const& p) { return 1.5e-11 * (12 * double(p.entries) + 100 * double(p.rows)); }
template <class Candidates>
Candidates choose_steps(matrix_properties const& p, int max_iterations, grid_guess grid) {
  double const rows = double(p.rows), band = double((std::max)(p.lower_bandwidth, p.upper_bandwidth));
  double const factor_seconds = 5e-11 * rows * band * band, step_seconds = detail::step_seconds(p);
  auto limited = [&](double seconds, int least, int most) {
    double const steps = step_seconds > 0 ? seconds / step_seconds : double(least);
    return (std::min)(max_iterations, int(std::clamp(steps, double(least), double(most))));
  };
  bool const countable = p.entries <= (std::numeric_limits<std::int32_t>::max)();  // by those who make factors
  bool const ordered = countable && p.rows <= 1000000;  // to find an order of its own for more takes long
  std::string const dear = ordered ? ", in an order that is dear to factorise" : ", too large for factors";
  bool const affordable = countable && (factor_seconds < 60 || p.rows <= 20000);
  // Of grids in two dimensions, bandwidth^2 = rows, factors cost fewer steps than indefinite matrices take; in three, more.
  bool const minres_pays = band * band > 4 * rows;
  attempt const minres_while{candidate::minres_row_norms, limited(factor_seconds, 100, 2000)};
  bool const semidefinite = p.definite == definiteness::positive_semidefinite;
  std::string const symmetry = p.complex ? "Hermitian" : "symmetric";

  // Multigrid is for couplings of one sign, and a solve with it takes as long as 100 steps of CG, of few rows as 300 and more. It begins on grids of two axes and
  // where there are many rows; elsewhere it waits for some steps, and for more where these come near, and of few rows for factors that cost less. Rows that are
  // all strictly dominant, as those of steps in time, may need few steps everywhere. Where the couplings of a grid follow one axis, sweeps along it are nearly exact.
  bool const elliptic = p.opposed_off_diagonal && countable && p.rows >= 3000;
  bool const many = grid == grid_guess::none ? p.rows >= 400000 || (p.rows >= 30000 && rows >= 100 * band) : grid == grid_guess::even ? p.rows >= least_grid_points : p.rows >= 130000;
  auto const with_multigrid = [&](Candidates&& l, candidate by) {
    if (!countable || p.rows < 3000) return std::move(l);
    auto& steps = l.steps;
    attempt const multigrid{by, (std::min)(max_iterations, 100)};
    auto place = steps.begin();
    if (!elliptic) {  // one more thing to try before long iterations
      place = std::find_if(place + 1, steps.end(), [&](attempt const& s) { return s.limit == max_iterations && !is_factors(s.what); });
    } else if (by != candidate::cg_amg || p.strictly_dominant() || !many) {
      bool const waits = by == candidate::cg_amg && grid == grid_guess::none;
      place->limit = (std::min)(place->limit, waits ? 40 : by == candidate::cg_amg ? 40 + int(2.5 * std::cbrt(rows)) : 50);
      if (waits) place = steps.insert(place + 1, {place->what, (std::min)(max_iterations, p.rows <= 20000 ? 300 : 200), false, true});
      ++place;
      if (waits && p.rows <= 20000) {
        auto const factors = std::find_if(place, steps.end(), [](attempt const& s) { return is_factors(s.what); });
        if (factors != steps.end()) place = factors + 1;
      }
    }
    steps.insert(place, multigrid);
    return std::move(l);
  };

  if (p.hermitian && p.positive_diagonal) {
    std::string const why = symmetry + (p.definite == definiteness::positive_definite ? ", positive definite"
                                        : semidefinite                                ? ", positive semidefinite"
                                                                                      : ", positive diagonal");
    if (semidefinite)
      return with_multigrid({{{candidate::cg_jacobi, max_iterations}, {candidate::cg_ilu0, max_iterations}, {candidate::cg_jacobi, max_iterations}, {candidate::minres_row_norms, max_iterations}}, why, true}, candidate::cg_amg);
    if (p.rows <= 1500)
      return {{{candidate::ldlt, max_iterations}, {candidate::cg_jacobi, max_iterations}, {candidate::lu, max_iterations}}, why + ", of few rows"};
    if (affordable) {
      // Sweeps go row by row on one thread: worth three steps of CG in a cache and in good order, far more in memory that threads share.
      bool const swept = p.rows <= 200000 && !(elliptic && grid == grid_guess::none);
      attempt const begin = swept ? attempt{candidate::cg_ilu0, limited(factor_seconds / 3, 100, 2000)} : attempt{candidate::cg_jacobi, limited(factor_seconds, 100, 2000)};
      Candidates out{{begin, {candidate::ldlt, max_iterations}, {swept ? candidate::cg_jacobi : candidate::cg_ilu0, max_iterations}, {candidate::lu, max_iterations}}, why};
      if (minres_pays) out.steps.insert(out.steps.begin() + 1, minres_while);
      return with_multigrid(std::move(out), candidate::cg_amg);
    }
    Candidates out{{{candidate::cg_jacobi, limited(60, 100, 1000)}, {candidate::ldlt, max_iterations}, {candidate::cg_ilu0, max_iterations}, {candidate::cg_jacobi, max_iterations}, {candidate::minres_row_norms, max_iterations}},
                   why + dear};
    if (!ordered) out.steps.erase(out.steps.begin() + 1);
    return with_multigrid(std::move(out), candidate::cg_amg);
  }
  std::string const why = p.hermitian ? symmetry + ", not definite" : p.symmetric ? "complex symmetric" : "not " + symmetry;
  if (p.hermitian) {
    if (!affordable) return {{{candidate::minres_row_norms, max_iterations}}, why + ", too large for factors"};
    Candidates out{{{candidate::ldlt, max_iterations}, {candidate::lu, max_iterations}, {candidate::minres_row_norms, max_iterations}}, why};
    if (minres_pays) out.steps.insert(out.steps.begin(), minres_while);
    return out;
  }
  if (p.zero_diagonals > 0) {
    Candidates out{{{candidate::lu, max_iterations}, {candidate::gmres_row_norms, max_iterations}, {candidate::bicgstab_ilu0, max_iterations}}, why + ", zeros on the diagonal"};
    if (!countable) out.steps.erase(out.steps.begin());
    return out;
  }
  Candidates out{{{candidate::bicgstab_ilu0, affordable ? limited(2 * factor_seconds, 60, 400) : 400}, {candidate::lu, max_iterations}, {candidate::bicgstab_ilu0, max_iterations}},
                 affordable ? why : why + dear};
  if (!affordable && !ordered) out.steps.erase(out.steps.begin() + 1);
  return with_multigrid(std::move(out), candidate::bicgstab_amg);
}
} // namespace detail

/// The list for a matrix of these properties. Costs are guessed from rows, entries and bandwidth: a factorisation as
/// rows x bandwidth^2, which is too much for a matrix in bad order, so that iterations come first there. Before factors are
/// made, their cost is counted, and dear ones wait until iterations have had as much time.
/// Source of the constants: bench/results.
template <class Candidates = candidates>
Candidates choose(matrix_properties const& p, int max_iterations, detail::grid_guess grid = detail::grid_guess::none) {
  auto out = detail::choose_steps<Candidates>(p, max_iterations, grid);
  out.rows = p.rows;
  out.step_seconds = detail::step_seconds(p);
  return out;
}

namespace detail {
inline constexpr candidate all_candidates[] = {candidate::cg_amg, candidate::cg_jacobi, candidate::cg_ilu0, candidate::minres_row_norms, candidate::bicgstab_amg, candidate::bicgstab_ilu0, candidate::gmres_row_norms, candidate::ldlt, candidate::lu};
constexpr char const* name_of(candidate what) {
  constexpr char const* names[] = {"cg + amg", "cg + jacobi", "cg + ilu0", "minres + row_norms", "bicgstab + amg", "bicgstab + ilu0", "gmres + row_norms", "ldlt", "lu"};
  return names[int(what)];
}

/// The factors at `at` take so many seconds: the iterations behind them come first, and get as much time, GMRES, which converges soon or stagnates, 500
/// iterations; factors keep their order. False, if no iterations follow.
template <class Steps>
bool let_iterations_pass(Steps& steps, std::size_t at, double seconds, double step_seconds) {
  auto const next = steps.begin() + std::ptrdiff_t(at);
  bool any = false;
  for (auto step = next; step != steps.end(); ++step)
    if (!is_factors(step->what)) {
      step->limit = (std::min)(step->limit, int(std::clamp(seconds / step_seconds, 100.0, step->what == candidate::gmres_row_norms ? 500.0 : 1e9)));
      any = true;
    }
  std::stable_partition(next, steps.end(), [](auto const& s) { return !is_factors(s.what); });
  return any;
}

template <>
struct ladder_of<automatic> {};

/// A list of candidates for one operator. Candidates are set up when they are reached, by one thread for all; later solves begin with the one that held.
/// Its functions stand outside of it, so that who has them compiled can say so (docs/installing.md, `instances`).
template <class A>
class engine<A, automatic, none> {
  using steps_type = dependent_t<std::vector<attempt>, A>;

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
      case candidate::ldlt: return f(kind_of_engine<refinement<factorization::ldlt>, factor<factorization::ldlt>>{});
      case candidate::lu: break;
    }
    return f(kind_of_engine<refinement<factorization::lu>, factor<factorization::lu>>{});
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

    std::shared_ptr<void>& engine_of(candidate what) { return engines[std::size_t(what)]; }
  };

  void look_at(A const& a);
  std::shared_ptr<void> set_up(A const& a, attempt step, std::shared_ptr<void> (*make)(A const&, stop_rule const&)) const;
  void drop(candidate what) const;
  bool waits(A const& a, steps_type& steps, std::size_t at, std::vector<std::string>& failures) const;
  template <bool Adjoint, class V, class... Options>
  solution<V> try_all(A const& a, V const& b, Options const&... options) const;
  template <bool Adjoint, class V, class... Options>
  solution<V> try_candidate(attempt step, A const& a, V const& b, Options const&... options) const;

  stop_rule rule_;
  dependent_t<candidates, A> candidates_;
  guarded<found> found_;
};

template <class A>
engine<A, automatic, none>::engine(A const& a, automatic const& method, none const&) : rule_{sensible(method).rtol, method.atol, default_rule().max_iterations, {}} {
  look_at(a);
}
/// Of a batch item for all.
template <class A>
grid_guess guess_of_grid(A const& a) {
  if constexpr (!is_complex<typename A::value_type> && A::shape_type::block_rows == 1 && A::shape_type::block_cols == 1)
    if (a.batch_count() > 0) return guess_grid(a.pattern().view(), a.values().data());
  return grid_guess::none;
}
template <class A>
void engine<A, automatic, none>::look_at(A const& a) {
  double const start = seconds_now();
  if constexpr (Readable<A>) candidates_ = choose(properties(a), rule_.max_iterations, guess_of_grid(a));  // others are refused in solve/linear/linear.hpp
  found_.with([&](found& f) { f.at = 0, f.steps = candidates_.steps, f.seconds += seconds_now() - start; });
}
template <class A>
void engine<A, automatic, none>::update(A const& a) {
  auto const before = found_.with([](found& f) { return f.steps[f.at].what; });
  look_at(a);
  auto const at = std::find_if(candidates_.steps.begin(), candidates_.steps.end(), [&](attempt const& s) { return s.what == before; });
  bool const kept = at != candidates_.steps.end();
  found_.with([&](found& f) {
    for (candidate const what : all_candidates)  // a solve that an observer ended, or one beside it, may have set up another one
      if (!kept || what != before) f.engine_of(what).reset();
    if (!kept) return;
    f.at = std::size_t(at - candidates_.steps.begin());
    auto& held = f.engine_of(before);
    if (!held) return;
    try {
      on_engine(before, [&]<class Kind>(Kind) {
        using Engine = typename Kind::engine_type;
        if (!is_sole(held)) held = std::make_shared<Engine>(*static_cast<Engine const*>(held.get()));
        static_cast<Engine*>(held.get())->update(a);
      });
    } catch (value_error const&) {  // the next solve says why, and goes on
      held.reset();
    } catch (std::bad_alloc const&) {
      held.reset();
    }
  });
}
/// The engine of a candidate, made on first need.
template <class A>
std::shared_ptr<void> engine<A, automatic, none>::set_up(A const& a, attempt step, std::shared_ptr<void> (*make)(A const&, stop_rule const&)) const {
  return found_.with([&](found& f) {
    auto& e = f.engine_of(step.what);
    if (!e) e = make(a, {rule_.rtol, rule_.atol, step.limit, {}});
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
  next->weighed = true;
  bool const before_multigrid = std::any_of(next, steps.end(), [](attempt const& s) { return s.what == candidate::cg_amg || s.what == candidate::bicgstab_amg; });
  double const patience = before_multigrid ? 1000 * candidates_.step_seconds : 1;
  constexpr double multiply_seconds[] = {1.5e-9, 3e-9};  // of ldlt, and of lu; Eigen's on 22^3 points
  bool const is_lu = next->what == candidate::lu;
  double const most = candidates_.rows <= 20000 ? 600 : 60;
  auto const leave_out = [&](std::string const& why) {
    if (steps.size() == 1) return false;
    failures.push_back(text(name_of(next->what), ": not tried, ", why));
    steps.erase(next);
    return true;
  };
  factor_cost cost;
  try {
    if constexpr (Readable<A>) cost = cost_of_factors(a, most / multiply_seconds[is_lu]);
  } catch (std::bad_alloc const&) {
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
  double solve = 0;
  auto [steps, at, setup] = found_.with([](found& f) { return std::tuple(f.steps, f.at, std::exchange(f.seconds, 0.0)); });
  bool singular = false, indefinite = false, tried_cg = false;
  for (; at < steps.size(); ++at) {
    while (at < steps.size() && waits(a, steps, at, failures)) {
    }
    if (at == steps.size()) break;
    auto const& step = steps[at];
    bool const is_cg = step.what == candidate::cg_amg || step.what == candidate::cg_jacobi || step.what == candidate::cg_ilu0;
    if (step.if_near && !(best && best->report.residual() <= std::pow(rule_.rtol, 0.2))) continue;
    if (indefinite ? is_cg : tried_cg && step.what == candidate::minres_row_norms) continue;
    tried_cg = tried_cg || is_cg;
    std::string failure;
    try {
      auto now = try_candidate<Adjoint>(step, a, b, options...);
      setup += now.report.seconds_setup, solve += now.report.seconds_solve;
      failure = text(now.report.method, now.report.preconditioner.empty() ? "" : " + ", now.report.preconditioner, ": ",
                     to_string(now.report.reason()), " after ", now.report.iterations());
      singular = singular || now.report.reason() == reason::singular || (candidates_.semidefinite && now.report.reason() == reason::indefinite_matrix);
      indefinite = indefinite || now.report.reason() == reason::indefinite_matrix;
      bool const done = now.report.converged() || now.report.reason() == reason::stopped;
      if (!best || done || now.report.residual() < best->report.residual()) {
        best.emplace(std::move(now));
        of_best = failures.size();
      }
      if (done) break;
    } catch (setup_refused const& e) {  // this preconditioner does not exist for this matrix
      failure = e.what();
      failure = failure.substr(0, failure.find(';'));
    } catch (std::bad_alloc const&) {
      failure = text(name_of(step.what), ": out of memory");
    }
    failures.push_back(std::move(failure));
    drop(step.what);
  }
  std::string tried;
  for (std::size_t n = 0; n < failures.size(); ++n)
    if (!best || n != of_best) tried += (tried.empty() ? "" : ", ") + failures[n];
  found_.with([held = at == steps.size() ? 0 : at, &order = steps](found& f) { f.at = held, f.steps = order; });
  if (!best) throw setup_refused(text("solve: no method of the automatic choice works for this matrix (", candidates_.why, "): ", tried));
  report& out = best->report;
  if (singular && out.reason() != reason::singular) out.choice.clear();  // what it advises in its own case, a method that was tried
  out.choice = "chosen for: " + candidates_.why + (tried.empty() ? "" : "; tried: " + tried) + (out.choice.empty() ? "" : "; " + out.choice);
  out.seconds_setup = setup, out.seconds_solve = solve;
  if (singular)
    for (progress& item : out.items)
      if (item.state != reason::converged) item.state = reason::singular;
  return std::move(*best);
}

template <class A>
template <bool Adjoint, class V, class... Options>
solution<V> engine<A, automatic, none>::try_candidate(attempt step, A const& a, V const& b, Options const&... options) const {
  return on_engine(step.what, [&]<class Kind>(Kind) {
    using Engine = typename Kind::engine_type;
    auto const made = set_up(a, step, [](A const& of, stop_rule const& rule) -> std::shared_ptr<void> {
      typename Kind::method_type method{};
      method.rtol = rule.rtol, method.atol = rule.atol, method.max_iterations = rule.max_iterations;
      return std::make_shared<Engine>(of, method, typename Kind::preconditioner_type{});
    });
    auto const& engine = *static_cast<Engine const*>(made.get());
    if constexpr (Adjoint)
      return engine.solve_adjoint(a, b, options...);
    else
      return engine.solve(a, b, options...);
  });
}
} // namespace detail

} // namespace sla

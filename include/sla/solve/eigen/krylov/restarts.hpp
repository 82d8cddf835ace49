// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The loop of restarted Krylov methods: expand, solve the small problem, contract to what is wanted; and a look beside what has converged, so that
// no vector of a multiple value is missed.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sla/solve/eigen/krylov/krylov_process.hpp>
#include <sla/solve/seam/rule.hpp>

namespace sla::detail {

/// How a restarted Krylov method runs.
struct restart_rule {
  double rtol;
  int max_restarts, basis;
  bool find_multiples;
};
/// The number of basis vectors for k pairs.
inline int basis_for(index_t k, int asked, int capacity) {
  index_t const all = asked > 0 ? asked : (std::max)(2 * k + 10, index_t(30));
  return int((std::min)((std::max)(all, k + 3), index_t(capacity)));
}
/// How many of them a restart keeps.
inline int kept_of(int size, int k, int converged) {
  return (std::min)((std::max)(size / 2, k + (std::min)(converged, (size - k) / 2)), size - 2);
}
/// The type of a method's options, of its name for reports.
template <class = void>
std::string type_name(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
/// Errors: shape_error, if a basis of at most `capacity` vectors has no room for k pairs of n.
template <class = void>
void require_basis(char const* name, index_t k, index_t n, int capacity) {
  if (n > capacity && k + 3 > capacity)
    throw shape_error(text(type_name(name), "{}: ", k, " are wanted, and a basis of ", capacity, " vectors has room for ", capacity - 3, "; basic_", type_name(name), '<', 2 * k + 10, "> keeps more"));
}

/// What the loop ends with: the small problem, of which the first `count` pairs are the result.
template <class Problem>
struct restarted_result {
  std::optional<Problem> problem;
  int count = 0, restarts = 0;
  sla::reason reason = sla::reason::iteration_limit;
  bool alone = false;         ///< others beside these were looked for, and there were none
  bool cuts_cluster = false;  ///< the next value is as near to the last one as both are known

  auto vectors() const { return problem->vectors(count); }
};

/// What a restarted method knows of its values in their order, the first key the smallest: keys, how well each is known, and whether it has converged.
template <class Key, class Coupling, class Converged>
struct ordered_values {
  Key key;
  Coupling coupling;
  Converged is_converged;
  double rounding, rtol;

  double margin(int j) const { return 8 * (coupling(j) + rounding) + rtol * std::abs(key(j)); }
};
template <class Key, class Coupling, class Converged>
ordered_values(Key, Coupling, Converged, double, double) -> ordered_values<Key, Coupling, Converged>;

/// Whether k pairs that have converged are the first of all. The run begins anew beside them, from a random vector, and goes on until what it finds there is known
/// to be beyond the k-th. One run finds one more vector of a multiple value, so it begins again until the first k stay as they are.
template <class Real>
class look_beside {
public:
  explicit look_beside(bool is_wanted) : is_wanted_(is_wanted), is_beside_(!is_wanted) {}

  /// Whether the run ends with the first k of `values`, of which there are `size`, and these are all that there are if `is_whole`. `done`: the first k have converged.
  template <class Values, class Out>
  bool ends(Out& out, Values const& values, int k, int size, bool done, bool is_whole) {
    if (done && is_whole) is_beside_ = out.alone = true;
    if (!done || !is_beside_) return false;
    if (size > k) {
      Real const apart = values.key(k) - values.key(k - 1), known = values.coupling(k);
      bool const next = values.is_converged(k);
      out.cuts_cluster = next && apart <= 8 * (known + values.coupling(k - 1) + values.rounding);
      if (is_wanted_ && !next && apart <= known) return false;
    }
    for (std::size_t j = 0; !is_whole && j < locked_.size(); ++j)
      if (values.key(int(j)) < locked_[j].first - values.margin(int(j)) - locked_[j].second) return is_beside_ = false;
    out.reason = reason::converged, out.alone = out.alone || is_wanted_;
    return true;
  }
  bool is_due(bool done) const { return done && !is_beside_; }
  template <class Values>
  void begin(Values const& values, int k) {
    locked_.clear();
    for (int j = 0; j < k; ++j) locked_.emplace_back(values.key(j), values.margin(j));
    is_beside_ = true;
  }

private:
  bool is_wanted_, is_beside_;
  std::vector<std::pair<Real, Real>> locked_;  // the keys of the pairs beside which it looks, and how well they are known
};

/// Restarts until the k first pairs have converged, by the order of `key` of values of the operator. `to_a(value)` is the value of A. `scale(process)` is
/// |A x - w B x| / |B x| for the residual vector x of length 1; with an inverse, this over |value| again. With find_multiples others are looked for beside what
/// has converged; of operators that are not normal, as far as their residuals say.
template <template <class> class Problem, class Process, class Key, class ToA, class Scale>
auto restarted(Process& process, int k, restart_rule const& rule, bool inverted, Key const& key, ToA const& to_a, Scale const& scale) {
  restarted_result<Problem<typename Process::U>> out;
  double const unit = Process::unit_rounding;
  look_beside<dependent_t<double, Process>> look(rule.find_multiples);
  for (;; ++out.restarts) {
    process.expand(rule.basis);
    int const size = process.size();
    auto const& projected = out.problem.emplace(process.projected(), process.coupling(), key, k + 1);
    out.count = (std::min)(k, size);
    double const most = double(process.projected().norm()), of_residual = process.is_closed() ? 0 : scale(process);
    auto const is_small = [&](double change, int j) {
      double const reach = std::abs(to_a(projected.value(j))) * (inverted ? std::abs(projected.value(j)) : 1);
      return process.is_whole() || change <= 4 * unit * most || change * of_residual <= rule.rtol * reach;
    };
    auto const is_converged = [&](int j) { return is_small(projected.coupling(j), j); };
    ordered_values const values{[&](int j) { return double(key(projected.value(j))); }, [&](int j) { return double(projected.coupling(j)); }, is_converged, unit * most, rule.rtol};
    int converged = 0;
    while (converged < out.count && is_converged(converged)) ++converged;
    bool const done = converged == k, ends = look.ends(out, values, k, size, done, process.is_whole());
    if (ends || out.restarts >= rule.max_restarts) return out;
    // What is locked is a basis, which leaves more than its eigenvectors do where these are nearly parallel.
    bool begins_beside = look.is_due(done);
    for (int j = 0; begins_beside && j < k; ++j) begins_beside = is_small(projected.coupling_of_basis(k), j);
    if (begins_beside) look.begin(values, k);
    process.contract(projected.basis(begins_beside ? k : kept_of(size, k, converged)), begins_beside);
  }
}

} // namespace sla::detail

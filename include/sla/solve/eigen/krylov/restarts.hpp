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

/// Restarts until the k first pairs have converged, by the order of `key` of values of the operator. `to_a(value)` is the value of A. `scale(process)` is
/// |A x - w B x| / |B x| for the residual vector x of length 1; with an inverse, this over |value| again.
/// With find_multiples the process begins anew beside what has converged, from a random vector, and goes on until what it finds there is known to
/// be beyond the k-th; of operators that are not normal, as far as their residuals say. One run finds one more vector of a multiple value, so it begins
/// again until the first k stay as they are.
template <template <class> class Problem, class Process, class Key, class ToA, class Scale>
auto restarted(Process& process, int k, restart_rule const& rule, bool inverted, Key const& key, ToA const& to_a, Scale const& scale) {
  restarted_result<Problem<typename Process::U>> out;
  double const unit = Process::unit_rounding;
  bool beside = !rule.find_multiples;
  std::vector<std::pair<dependent_t<double, Process>, double>> locked;  // the keys of the pairs beside which it looks, and how well they are known
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
    int converged = 0;
    while (converged < out.count && is_converged(converged)) ++converged;
    bool const done = converged == k;
    if (done && process.is_whole()) beside = out.alone = true;
    bool ends = done && beside;
    if (ends && size > k) {
      double const apart = key(projected.value(k)) - key(projected.value(k - 1)), known = projected.coupling(k);
      bool const next = is_converged(k);
      out.cuts_cluster = next && apart <= 8 * (known + projected.coupling(k - 1) + unit * most);
      ends = !rule.find_multiples || next || apart > known;
    }
    auto const key_of = [&](int j) {
      double const v = key(projected.value(j));
      return std::pair(v, 8 * (projected.coupling(j) + unit * most) + rule.rtol * std::abs(v));
    };
    for (std::size_t j = 0; ends && beside && !process.is_whole() && j < locked.size(); ++j) {
      auto const [now, known] = key_of(int(j));
      if (now < locked[j].first - known - locked[j].second) ends = beside = false;
    }
    if (ends) out.reason = reason::converged, out.alone = out.alone || rule.find_multiples;
    if (ends || out.restarts >= rule.max_restarts) return out;
    // What is locked is a basis, which leaves more than its eigenvectors do where these are nearly parallel.
    bool begins_beside = done && !beside;
    for (int j = 0; begins_beside && j < k; ++j) begins_beside = is_small(projected.coupling_of_basis(k), j);
    if (begins_beside) {
      locked.clear();
      for (int j = 0; j < k; ++j) locked.push_back(key_of(j));
    }
    process.contract(projected.basis(begins_beside ? k : kept_of(size, k, converged)), begins_beside);
    beside = beside || begins_beside;
  }
}

} // namespace sla::detail

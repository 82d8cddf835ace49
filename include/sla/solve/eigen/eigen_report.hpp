// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What an eigensolver did: `eigen_report`, printed as one line; `eigen_error`, which carries it; `eigenpairs`, which a call returns.
#pragma once

#include <concepts>
#include <ostream>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <sla/solve/seam/report.hpp>

namespace sla {

/// What an eigensolver did. Its residuals are recomputed at the end from A and what is returned: |A v - w B v| / |w B v| of each pair, of singular
/// triplets |A v - s u| + |A^H u - s v| over s; over |A| where these are 0, but for rounding.
struct eigen_report {
  std::string method, preconditioner;
  std::string choice;  ///< why this method, and remarks of it
  std::string wanted;  ///< which pairs were asked for
  sla::reason reason = sla::reason::running;  ///< why the method stopped
  int iterations = 0;
  index_t products = 0, applications = 0;  ///< vectors that A, and the preconditioner or factors, were applied to
  std::vector<double> residuals;           ///< per pair, the true ones
  std::vector<double> rounding;            ///< per pair, how much of that the rounding of the products with A may be
  double orthogonality = 0;                ///< the largest element of V^H B V - I; not a number, where vectors need not be orthogonal
  double rtol = 0;
  double seconds = 0;
  std::vector<eigen_report> items;         ///< of a batch: that of each item; the rest tells of all of them, what is the worst
  int sees_multiplicity = 1;  ///< values of at most this multiplicity cannot have lost some of their vectors; a method of single vectors sees one of each
  bool cuts_cluster = false;  ///< the last value is no further from the next one, which is not returned, than they are known

  /// Has each pair a residual within the tolerance, or as small as the rounding of products allows?
  bool converged() const {
    if (reason != sla::reason::converged) return false;
    for (std::size_t j = 0; j < residuals.size(); ++j)
      if (!is_converged(j)) return false;
    return true;
  }
  bool is_converged(std::size_t j) const { return residuals[j] <= rtol || (j < rounding.size() && residuals[j] <= rounding[j]); }
  /// Whatever the method says: the residuals tell whether it has converged.
  void let_residuals_decide() {
    if (reason != sla::reason::converged && reason != sla::reason::stagnated && reason != sla::reason::iteration_limit) return;
    auto const why = reason;
    reason = sla::reason::converged;
    if (!converged()) reason = why == sla::reason::converged ? sla::reason::stagnated : why;
  }
  /// The largest.
  template <class = void>
  double residual() const {
    double most = 0;
    for (double r : residuals)
      if (!(r <= most)) most = r;
    return most;
  }
};

/// One line: "lobpcg + amg: 4 smallest converged in 9 iterations, true residuals at most 3.1e-09 (asked 1e-08), ...".
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, eigen_report const& r) {
  out << r.method;
  if (!r.preconditioner.empty()) out << " + " << r.preconditioner;
  std::size_t done = 0, rounded = 0;
  for (std::size_t j = 0; j < r.residuals.size(); ++j) done += r.is_converged(j), rounded += r.is_converged(j) && !(r.residuals[j] <= r.rtol);
  out << ": ";
  if (done < r.residuals.size()) out << done << " of ";
  out << r.residuals.size() << (r.wanted.empty() ? "" : " ") << r.wanted << " converged";
  if (r.iterations) out << (r.converged() ? " in " : " after ") << r.iterations << (r.iterations == 1 ? " iteration" : " iterations");
  if (!r.converged()) out << " (" << to_string(r.reason) << ')';
  auto const digits = out.precision(2);
  out << ", true residuals at most " << r.residual() << " (asked " << r.rtol;
  if (rounded) out << "; " << rounded << " of them as small as rounding allows";
  out << ')';
  if (r.orthogonality == r.orthogonality) out << ", orthogonal to " << r.orthogonality;
  out.precision(digits);
  if (r.products) out << ", " << r.products << " products";
  if (r.applications) out << ", " << r.applications << " applications";
  out << ", " << detail::seconds_text(r.seconds);
  if (r.cuts_cluster) out << "; the last value has others beside it that are not returned: ask for more";
  if (r.sees_multiplicity == 1) out << "; of a multiple value some vectors may be missing";
  if (!r.items.empty()) out << "; a batch of " << r.items.size();
  if (!r.choice.empty()) out << "; " << r.choice;
  return out;
}

/// An eigensolver that did not reach its tolerance, where a derivative of `call` wants it to.
class eigen_error : public error {
public:
  template <std::same_as<eigen_report> R>
  explicit eigen_error(R const& r, char const* call = "eigsh") : error(text(call, ": ", r)), report_(r) {}
  eigen_report const& report() const { return report_; }

private:
  eigen_report report_;
};

/// What `eigsh` returns: `auto [w, V, report] = eigsh(A, 4, smallest{});`. The values are in the order of what was wanted, column j of the vectors
/// (n, k) belongs to value j, and V^H B V = I. The gauge: of each vector v the inner product with one random vector, the same in all calls, is real and positive.
template <class Values, class Vectors>
struct eigenpairs {
  Values values;
  Vectors vectors;
  eigen_report report;
};

/// What `svds` returns, A v = s u: `auto [U, s, V] = svds(A, 3);`, the largest value first unless the smallest were wanted. `report` is a member beside these three.
template <class Left, class Values, class Right>
struct singular_triplets {
  Left left;
  Values values;
  Right right;
  eigen_report report;

  template <std::size_t Part>
  auto const& get() const& {
    return std::get<Part>(std::tie(left, values, right));
  }
  template <std::size_t Part>
  auto& get() & {
    return std::get<Part>(std::tie(left, values, right));
  }
  template <std::size_t Part>
  auto&& get() && {
    return std::move(get<Part>());
  }
};

} // namespace sla

template <class L, class V, class R>
struct std::tuple_size<sla::singular_triplets<L, V, R>> : std::integral_constant<std::size_t, 3> {};
template <std::size_t Part, class L, class V, class R>
struct std::tuple_element<Part, sla::singular_triplets<L, V, R>> {
  using type = std::conditional_t<Part == 0, L, std::conditional_t<Part == 1, V, R>>;
};

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a solve did: `report`, printed as one line; `solve_error`, which carries it; `solution`, the pair of x and report.
// Why a method stops is in solve/seam/stop.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <sla/core/error.hpp>
#include <sla/solve/seam/stop.hpp>

namespace sla {

/// What one rank of a mesh sends per iteration, on average; zeros where there is one rank.
struct sent_per_iteration {
  double reductions = 0;  ///< all_reduces
  double halos = 0;       ///< exchanges with neighbours
  double messages = 0, bytes = 0;
};

/// What a solve did. Residuals are true ones, recomputed from x in twice the precision of double: |b - A x| / |b| (|b - A x| where b = 0),
/// or what else the method is judged by (solve/seam/measure.hpp).
struct report {
  std::string method, preconditioner;
  char const* measure = "residual";  ///< what `residual` is, and the tolerance of
  std::string choice;  ///< why this method: who chose it, and what was tried before
  std::vector<progress> items;  ///< per item (batch item or right-hand side): reason, iterations, true residual
  double rtol = 0;
  bool limited_by_rounding = false;  ///< the residual of items that did not converge is as small as the rounding of an x of that size allows
  double seconds_setup = 0, seconds_solve = 0;
  std::size_t bytes = 0;  ///< held by tensors and factors while the method ran, A, b and x included
  int runs = 0;           ///< calls of the method; more than one where the true residual asked for it
  std::vector<std::vector<progress>> history;  ///< per iteration and item, as the stop test saw them; on request (`keep_history`)
  sent_per_iteration sent;

  template <class = void>
  bool converged() const {
    return std::all_of(items.begin(), items.end(), [](progress const& p) { return p.state == sla::reason::converged; });
  }
  /// `converged`, or the reason of the first item that did not.
  sla::reason reason() const {
    for (progress const& p : items)
      if (p.state != sla::reason::converged) return p.state;
    return sla::reason::converged;
  }
  /// The most of any item.
  int iterations() const {
    int most = 0;
    for (progress const& p : items) most = (std::max)(most, p.iterations);
    return most;
  }
  double residual() const {
    double most = 0;
    for (progress const& p : items)
      if (!(p.residual <= most)) most = p.residual;
    return most;
  }
};

namespace detail {
template <class = void>
std::string with_unit(double value, char const* const (&units)[4], double step) {
  int u = 0;
  for (; u < 3 && value >= step; ++u) value /= step;
  double const scale = value < 10 ? 100 : value < 100 ? 10 : 1;
  return text(std::round(value * scale) / scale, ' ', units[u]);
}
inline double rounded(double value) { return std::round(value * 10) / 10; }
template <class = void>
std::string bytes_text(std::size_t bytes) { return with_unit(double(bytes), {"B", "KiB", "MiB", "GiB"}, 1024); }
template <class = void>
std::string seconds_text(double seconds) {
  return seconds >= 1 ? with_unit(seconds, {"s", "s", "s", "s"}, 1e99) : with_unit(seconds * 1e9, {"ns", "us", "ms", "s"}, 1000);
}
} // namespace detail

/// One line: "cg + jacobi: converged in 123 iterations, true residual 3.1e-09 (asked 1e-08), 2.1 ms + 31 ms, 12 MiB".
/// Traits: who prints no report compiles nothing of this.
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, report const& r) {
  out << r.method;
  if (!r.preconditioner.empty()) out << " + " << r.preconditioner;
  out << ": " << to_string(r.reason());
  std::size_t const count = r.items.size();
  auto const done = std::size_t(std::count_if(r.items.begin(), r.items.end(), [](progress const& p) { return p.state == reason::converged; }));
  if (count > 1) out << " (" << done << " of " << count << " items converged)";
  auto const digits = out.precision(2);
  int const n = r.iterations();
  out << (r.converged() ? " in " : " after ") << n << (n == 1 ? " iteration" : " iterations") << ", true " << r.measure << ' ' << r.residual() << " (asked " << r.rtol << ')';
  out.precision(digits);
  out << ", setup " << detail::seconds_text(r.seconds_setup) << ", solve " << detail::seconds_text(r.seconds_solve) << ", " << detail::bytes_text(r.bytes);
  if (r.sent.reductions > 0 || r.sent.halos > 0)
    out << "; per iteration " << detail::rounded(r.sent.reductions) << " reductions, " << detail::rounded(r.sent.halos) << " halos, "
        << detail::bytes_text(std::size_t(r.sent.bytes)) << " sent";
  if (!r.choice.empty()) out << "; " << r.choice;
  return out;
}

/// Several lines: the report, then one per item.
template <class = void>
std::string details(report const& r) {
  std::string out = text(r, '\n');
  for (std::size_t k = 0; k < r.items.size(); ++k) {
    progress const& p = r.items[k];
    out += text("  item ", k, ": ", to_string(p.state), ", ", p.iterations, p.iterations == 1 ? " iteration" : " iterations",
                ", true ", r.measure, ' ', p.residual, '\n');
  }
  return out;
}

/// A solve that did not reach its tolerance.
class solve_error : public error {
public:
  template <class = void>
  explicit solve_error(sla::report r, char const* call = "solve") : error(text(call, ": ", r)), report_(std::move(r)) {}
  sla::report const& report() const { return report_; }

private:
  sla::report report_;
};

/// What `try_solve` returns: `auto [x, report] = try_solve(A, b);`
template <class X>
struct solution {
  X x;
  sla::report report;
};

} // namespace sla

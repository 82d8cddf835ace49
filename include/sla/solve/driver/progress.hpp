// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An observer that shows progress on a terminal.
#pragma once

#include <ostream>
#include <vector>

#include <sla/core/held.hpp>
#include <sla/solve/driver/driver.hpp>

namespace sla {

/// An observer that prints a line over the line before, at most once in `seconds`: iteration and largest residual. It clears
/// its line when no item runs any more. For terminals: `with({.watch = progress_line(std::cerr)}, [&] { solve(A, b); })`.
/// What is solved in less than `seconds` prints nothing.
template <class = void>
observer progress_line(std::ostream& out, double seconds = 0.1) {
  auto const last = detail::shared_of<double>(detail::seconds_now());
  auto const shown = detail::shared_of<bool>(false);
  return [&out, seconds, last, shown](std::vector<progress> const& items) {
    bool runs = false;
    int iteration = 0;
    double residual = 0;
    std::size_t done = 0;
    for (progress const& p : items) {
      runs = runs || p.state == reason::running;
      done += p.state == reason::converged;
      iteration = (std::max)(iteration, p.iterations);
      residual = (std::max)(residual, p.residual);
    }
    double const now = detail::seconds_now();
    constexpr char const* clear = "\r\x1b[K";
    if (runs && now - *last >= seconds) {
      *last = now;
      *shown = true;
      out << clear << "iteration " << iteration << ", residual " << residual;
      if (items.size() > 1) out << ", " << done << " of " << items.size() << " items";
      out << std::flush;
    }
    if (!runs && *shown) {
      *shown = false;
      out << clear << std::flush;
    }
    return true;
  };
}

} // namespace sla

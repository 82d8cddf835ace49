// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How what runs on the host is run on queues of any lag: on the option `on(...)`, with the same results.
#pragma once

#include <tuple>

#include <sla/exec/deferred.hpp>
#include <sla/solve/driver/engine.hpp>

#include "catch.hpp"

namespace suite {

/// find(on(queue)) has the results of find() for each lag, and uses the queue; `parts(result)` are tensors and numbers.
template <class Find, class Parts>
void check_lags(Find const& find, Parts const& parts, double tolerance = 1e-11) {
  using sla::norm, std::abs;
  auto const host = find();
  auto const reached = [](auto const& found) {
    if constexpr (requires { found.report.converged(); })
      return found.report.converged();
    else
      return true;
  };
  REQUIRE(reached(host));
  for (int lag : {0, 4, 32}) {
    int spaces = 0;
    auto const late = find(sla::on([&spaces, lag](sla::frame f) { return ++spaces, sla::deferred(f, lag); }));
    CHECK(spaces > 0);
    CHECK(reached(late));
    std::apply([&](auto const&... expected) {
      auto const compare = [&](auto const& found, auto const& wanted) {
        if constexpr (sla::is_tensor<std::remove_cvref_t<decltype(found)>>)
          CHECK(double(norm(found - wanted)) <= tolerance * double(norm(wanted)));
        else if constexpr (sla::is_sparse_tensor<std::remove_cvref_t<decltype(found)>>)
          CHECK(double(norm(values(found) - values(wanted))) <= tolerance * double(norm(values(wanted))));
        else
          CHECK(abs(found - wanted) <= tolerance * abs(wanted));
      };
      std::apply([&](auto const&... found) { (compare(found, expected), ...); }, parts(late));
    }, parts(host));
  }
}

} // namespace suite

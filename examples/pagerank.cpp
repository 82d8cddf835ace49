// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PageRank (Brin and Page 1998): p = d S p + (1 - d) / n, where column j of S shares page j's vote among the pages that it links to. By
// the power method, where nothing but S^T's rows is stored, against one solve of (I - d S) p = (1 - d) / n.
#include <cmath>
#include <vector>

#include <sla/solve.hpp>

#include "check.hpp"

int main() {
  using namespace sla;
  constexpr index_t n = 3000;
  constexpr double d = 0.85;

  // Page i links to pages that are cheap to compute; pages 0, 100, 200, ... have no links, and vote for all.
  triplets<double> votes(n, n);
  std::vector<index_t> silent;
  for (index_t i = 0; i < n; ++i) {
    if (i % 100 == 0) {
      silent.push_back(i);
      continue;
    }
    index_t const links[] = {i / 2, (i * i + 1) % n, (7 * i + 3) % n};
    for (index_t to : links) votes.add(to, i, 1.0 / 3.0);
  }
  auto const S = votes.build();
  auto const one = ones<double>(n);
  auto silent_votes = [&](vector<double> const& p) {
    double sum = 0;
    for (index_t i : silent) sum += p(i);
    return sum;
  };

  vector<double> p = (1.0 / n) * one;
  int iterations = 0;
  for (double change = 1; change > 1e-13 && iterations < 500; ++iterations) {
    double const shared = (d * silent_votes(p) + (1 - d)) / double(n);
    vector<double> const next = d * (S * p) + shared * one;
    change = norm1(next - p);
    p = next;
  }
  std::cout << iterations << " power iterations\n";

  // What silent pages share is the same for all, so it only scales the solution of the system without it.
  triplets<double> identity(n, n);
  for (index_t i = 0; i < n; ++i) identity.add(i, i, 1.0);
  auto [q, report] = try_solve(identity.build() - d * S, one, gmres{.rtol = 1e-13}, ilu0{});
  std::cout << report << '\n';
  q = (1.0 / sum(q)) * q;

  checks check;
  check.at_most("sum of all ranks, distance to 1", std::abs(sum(p) - 1.0), 1e-12);
  check.at_most("power method against the linear system, relative", norm1(p - q), 1e-10);
  return check.exit_status();
}

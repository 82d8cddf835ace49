// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Eigenvalues beside SciPy and SLEPc, in turns, in seconds of processor: the smallest pairs of a square, pairs in the spectrum with factors that are
// there, the smallest pairs of a cube by multigrid.
//   eigen [points along an axis of the square [of the cube, 0 for none [turns [turns of plain ARPACK]]]]
// SciPy by $PYTHON (/usr/bin/python3) and bench/peers/scipy_eigen.py.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <sla/solve.hpp>
#include <sla/solve/eigen/eigsh.hpp>

#ifdef SLA_BENCH_SLEPC
#include "slepc.hpp"
#endif
#include "table.hpp"

namespace {
using namespace sla;

/// The numbers that the script prints; none where there is no SciPy.
std::vector<double> scipy(std::string const& arguments) {
  char const* const python = std::getenv("PYTHON");
  std::string const command = text(python ? python : "/usr/bin/python3", " " SLA_BENCH_PEERS "/scipy_eigen.py ", arguments, " 2>/dev/null");
  std::vector<double> out;
  if (std::FILE* const from = popen(command.c_str(), "r")) {
    for (double x; std::fscanf(from, "%lf", &x) == 1;) out.push_back(x);
    pclose(from);
  }
  return out;
}
std::string shown(bench::samples const& s, int digits = 2) { return s.size() ? bench::spread(s, digits) : "not here"; }
std::string shown_ratio(bench::samples const& ours, bench::samples const& peer) { return peer.size() == ours.size() ? bench::spread(ours / peer, 3) : peer.size() ? bench::fixed(ours.median() / peer.median(), 3) : ""; }

void square(index_t points, int turns, int plain_turns) {
  auto const A = problems::poisson<double>({points, points});
  bench::samples ours, wall, inverted, plain;
  double residual = 0, of_inverted = 0, of_plain = 0;
  std::string report;
  for (int t = 0; t < turns; ++t) {
    double within = 0;
    wall.add(bench::seconds([&] {
      within = bench::process_seconds([&] {
        auto const pairs = eigsh(A, 6, smallest{}, lobpcg{.rtol = 1e-8}, amg{});
        residual = (std::max)(residual, pairs.report.residual()), report = text(pairs.report);
      });
    }));
    ours.add(within);
    if (auto const r = scipy(text("laplacian ", points, " 6 1e-8 shift")); r.size() > 2) inverted.add(r[1]), of_inverted = (std::max)(of_inverted, r[2]);
    if (t < plain_turns)
      if (auto const r = scipy(text("laplacian ", points, " 6 1e-8 SA")); r.size() > 2) plain.add(r[1]), of_plain = (std::max)(of_plain, r[2]);
  }
  std::cout << "The 6 smallest pairs of " << points << " x " << points << " points to 1e-8. Wall time beside other work: " << bench::spread(wall, 2) << " s. " << report << ".\n\n";
  bench::table out({"", "seconds of processor", "true residuals at most", "ours in these", "target"});
  out.row({"eigsh(A, 6, smallest{}, lobpcg{}, amg{})", shown(ours), bench::scientific(residual), "", text("<= 1.0 s: ", ours.median() <= 1 ? "met" : "missed")});
  out.row({"SciPy, eigsh(A, 6, which='SA')", shown(plain), bench::scientific(of_plain), shown_ratio(ours, plain), plain.size() ? text("<= 0.1: ", ours.median() / plain.median() <= 0.1 ? "met" : "missed") : ""});
  out.row({"SciPy, eigsh(A, 6, sigma=0), with its factors", shown(inverted), bench::scientific(of_inverted), shown_ratio(ours, inverted), ""});
}

void inside(index_t points, int turns) {
  constexpr double sigma = 2.2;
  auto const A = problems::poisson<double>({points, points});
  auto const shifted = eval(A - sigma * eye<double>(A.rows()));
  auto const b = ones<double>(A.rows());
  bench::samples factors, rest, one, with_theirs, their_factors, their_rest, their_one;
  double residual = 0, theirs = 0, solves = 0, their_solves = 0;
  for (int t = 0; t < turns; ++t) {
    double const made = bench::process_seconds([&] { (void)ldlt(shifted); });
    auto const F = ldlt(shifted);
    double const solve = bench::process_seconds([&] {
                           for (int n = 0; n < 20; ++n) (void)F.solve(b);
                         }) / 20;
    double const all = bench::process_seconds([&] {
      auto const pairs = eigsh(A, 10, near{sigma}, lanczos{.rtol = 1e-10, .find_multiples = false});
      residual = (std::max)(residual, pairs.report.residual()), solves = double(pairs.report.applications);
    });
    factors.add(made), one.add(solve), rest.add(all - made);
    auto const r = scipy(text("near ", points, " 10 1e-10 ", sigma));
    if (r.size() < 5) continue;
    their_factors.add(r[0]), their_rest.add(r[1]), their_one.add(r[2]), their_solves = r[3], theirs = (std::max)(theirs, r[4]);
    with_theirs.add(all - made + solves * (r[2] - solve));
  }
  std::cout << "\nThe 10 pairs nearest 2.2 of " << points << " x " << points
            << " points to 1e-10, one of each double value at least, without factors: `eigsh(A, 10, near{2.2}, lanczos{.find_multiples = false})` less a factorisation by ldlt; and "
               "eigsh of SciPy with OPinv, SuperLU's solve. `With their solves`: each of our solves replaced by one of theirs.\n\n";
  bench::table out({"", "factors, s", "the rest, s", "solves", "a solve, s", "with their solves, s", "of SciPy's rest", "true residuals at most", "target"});
  auto const same = their_rest.size() ? (with_theirs / their_rest).median() : 0.0;
  out.row({"eigsh", shown(factors), shown(rest), bench::fixed(solves, 0), shown(one, 4), shown(with_theirs), their_rest.size() ? bench::spread(with_theirs / their_rest, 2) : "", bench::scientific(residual),
           their_rest.size() ? text("<= 1.2: ", same <= 1.2 ? "met" : "missed") : ""});
  out.row({"SciPy", shown(their_factors), shown(their_rest), bench::fixed(their_solves, 0), shown(their_one, 4), "", "", bench::scientific(theirs), ""});
}

void cube(index_t points, int turns) {
  auto const A = problems::poisson<double>({points, points, points});
  bench::samples ours, theirs;
  double residual = 0, last = 0;
  std::string report, peer = "SLEPc is not here";
  for (int t = 0; t < turns; ++t) {
    ours.add(bench::process_seconds([&] {
      auto const pairs = eigsh(A, 20, smallest{}, lobpcg{.rtol = 1e-8}, amg{});
      residual = (std::max)(residual, pairs.report.residual()), report = text(pairs.report), last = pairs.values[19];
    }));
#ifdef SLA_BENCH_SLEPC
    auto const r = bench::slepc_smallest(A, 20, 1e-8);
    theirs.add(r.seconds);
    peer = text("SLEPc: ", r.pairs, " pairs, ", r.steps, " inner iterations, true residuals at most ", bench::scientific(r.residual), ", the 20th value ", r.last, " where it is ", last);
#endif
  }
  std::cout << "\nThe 20 smallest pairs of " << points << "^3 points to 1e-8. " << report << ".\n" << peer << ".\n\n";
  bench::table out({"", "seconds of processor", "true residuals at most", "ours in these", "target"});
  out.row({"eigsh(A, 20, smallest{}, lobpcg{}, amg{})", shown(ours), bench::scientific(residual), "", ""});
  out.row({"SLEPc", shown(theirs), "", shown_ratio(ours, theirs), theirs.size() ? text("<= 0.5: ", (ours / theirs).median() <= 0.5 ? "met" : "missed") : ""});
}
}  // namespace

int main(int argc, char** argv) {
  bench::heading("Eigenvalues beside SciPy and SLEPc");
  int const turns = int(bench::argument(argc, argv, 3, 5));
  square(bench::argument(argc, argv, 1, 350), turns, int(bench::argument(argc, argv, 4, 1)));
  inside(bench::argument(argc, argv, 1, 350) / 2, turns);
  if (index_t const points = bench::argument(argc, argv, 2, 100)) cube(points, turns);
}

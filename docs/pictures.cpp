// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// pictures <folder>: the pictures of the reference, as the library draws them: a pattern, a partition; and the residuals of three solves.
#include <array>
#include <cmath>
#include <fstream>
#include <string>

#include <sla/sla.hpp>

namespace {
/// The true residuals of each iteration, on a logarithmic axis of ten decades.
void draw_residuals(std::string const& path, std::vector<std::pair<std::string, sla::report>> const& solves) {
  constexpr double wide = 700, tall = 400, left = 50, decades = 10;
  std::size_t most = 1;
  for (auto const& [name, report] : solves) most = (std::max)(most, report.history.size());
  std::ofstream out(path);
  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " << left + wide + 20 << ' ' << tall + 40 << "\" font-family=\"sans-serif\" font-size=\"12\">\n"
      << "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  for (int d = 0; d <= decades; d += 2) {
    double const y = 10 + d * tall / decades;
    out << "<path d=\"M" << left << ' ' << y << "h" << wide << "\" stroke=\"#ddd\"/><text x=\"5\" y=\"" << y + 4 << "\">1e-" << d << "</text>\n";
  }
  std::array<char const*, 4> const colours{"#1f5fa8", "#c0392b", "#2e8b57", "#8e5ea2"};
  for (std::size_t k = 0; k < solves.size(); ++k) {
    auto const& [name, report] = solves[k];
    out << "<polyline fill=\"none\" stroke-width=\"1.5\" stroke=\"" << colours[k % 4] << "\" points=\"";
    for (std::size_t n = 0; n < report.history.size(); ++n) {
      double const r = report.history[n][0].residual;
      if (r > 0) out << left + double(n) / double(most) * wide << ',' << 10 - std::log10(r) * tall / decades << ' ';
    }
    out << "\"/>\n<text x=\"" << left + wide - 150 << "\" y=\"" << 30 + 18 * k << "\" fill=\"" << colours[k % 4] << "\">" << name << ", "
        << report.iterations() << " iterations</text>\n";
  }
  out << "<text x=\"" << left << "\" y=\"" << tall + 30 << "\">" << most << " iterations; the residual relative to b</text>\n</svg>\n";
}
} // namespace

int main(int argc, char** argv) {
  using namespace sla;
  std::string const folder = argc > 1 ? std::string(argv[1]) + "/" : "";
  spy(problems::poisson<double>({12, 12}), 144).write_svg(folder + "spy.svg");

  index_t const side = 60;
  auto const A = problems::poisson<double>({side, side});
  auto const b = random<double>(A.rows(), 7);
  std::vector<std::pair<std::string, report>> solves;
  auto const add = [&](char const* name, auto const& preconditioner) {
    solves.emplace_back(name, try_solve(A, b, cg{.rtol = 1e-9}, preconditioner, keep_history).report);
  };
  add("cg, jacobi", jacobi{});
  add("cg, ssor", ssor{.omega = 1.5});
  add("cg, ic0", ic0{});
  draw_residuals(folder + "convergence.svg", solves);

  matrix<double> xy(Extents<dyn, dyn>{A.rows(), 2});
  for (index_t k = 0; k < A.rows(); ++k) xy(k, 0) = double(k % side), xy(k, 1) = double(k / side);
  draw_partition(folder + "partition.svg", xy, rcb{xy}.partition(A.pattern().view(), 7));
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Convection and diffusion with upwind differences: an unsymmetric system by GMRES and BiCGStab with ILU(0), their residuals drawn as
// they fall, and LU as the independent answer.
#include <algorithm>
#include <cmath>
#include <string>

#include <sla/solve.hpp>

#include "check.hpp"

namespace {
/// The residuals of one solve over its iterations, in decades below the right-hand side.
void draw(std::string const& name, auto const& history) {
  std::cout << name << '\n';
  std::size_t const count = history.size(), rows = std::min<std::size_t>(count, 12);
  for (std::size_t k = 0; k < rows; ++k) {
    std::size_t const at = rows > 1 ? k * (count - 1) / (rows - 1) : 0;
    double const residual = history[at][0].residual;
    int const decades = int(std::clamp(-std::log10(std::max(residual, 1e-16)), 0.0, 16.0) * 4);
    std::cout << std::string(std::size_t(decades), ' ') << "* " << residual << " at " << at << '\n';
  }
}
} // namespace

int main() {
  using namespace sla;
  auto const A = problems::convection_diffusion<double>({80, 80}, 3.0);
  auto const b = ones<double>(A.rows());

  auto const [x, by_gmres] = try_solve(A, b, gmres{.rtol = 1e-10}, ilu0{}, keep_history);
  auto const [y, by_bicgstab] = try_solve(A, b, bicgstab{.rtol = 1e-10}, ilu0{}, keep_history);
  std::cout << by_gmres << '\n' << by_bicgstab << '\n';
  draw("gmres + ilu0", by_gmres.history);
  draw("bicgstab + ilu0", by_bicgstab.history);

  auto const direct = lu(A).solve(b);
  checks check;
  check.at_most("gmres against LU, relative", norm(x - direct) / norm(direct), 1e-8);
  check.at_most("bicgstab against LU, relative", norm(y - direct) / norm(direct), 1e-8);
  return check.exit_status();
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A product on two thread ranks whose messages are late: interior rows are computed meanwhile.      overlap [n]
#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/matrix/matrix_product.hpp>
#include <sla/dist/engine/threads.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "table.hpp"

namespace {
using namespace sla;

/// Seconds of y = A x on the slower of two ranks, the median of some calls.
double product_seconds(sparse_tensor<double> const& A, vector<double> const& x, std::chrono::nanoseconds delay) {
  auto const medians = threads::run(2, {.delay = delay}, [&](auto& world) {
    mesh<axis<"rows">> m(world);
    auto D = distribute<SparseShard<0>>(A, m, strips{});
    auto dx = distribute(x, D.row_layout());
    auto dy = eval(D * dx);
    bench::samples t;
    for (int k = 0; k < 9; ++k) {
      m.world().barrier();
      t.add(bench::seconds([&] { dy = D * dx; }));
    }
    return t.median();
  });
  return (std::max)(medians[0], medians[1]);
}
std::string bar(double from, double to, double whole, char mark) {
  int const width = 60, first = int(width * from / whole), last = (std::max)(first + 1, int(width * to / whole));
  return std::string(std::size_t(first), ' ') + std::string(std::size_t(last - first), mark);
}
}  // namespace

int main(int argc, char** argv) {
  index_t const n = bench::argument(argc, argv, 1, 1500);
  bench::heading("A product beside late messages");
  std::cout << "2-D Poisson, " << n << " x " << n << ", two thread ranks of one thread; every message arrives `delay` after it was sent.\n\n";
  auto const A = problems::poisson<double>({n, n});
  auto const x = random<double>({A.cols()}, 1);
  double const alone = product_seconds(A, x, {});
  {
    bench::table out({"delay, us", "product, us", "of max(product without delay, delay)", "of the sum"});
    for (double factor : {0.0, 0.5, 1.0, 2.0, 4.0}) {
      double const delay = factor * alone;
      double const t = product_seconds(A, x, std::chrono::nanoseconds(std::int64_t(1e9 * delay)));
      out.row({bench::fixed(1e6 * delay, 0), bench::fixed(1e6 * t, 0), bench::fixed(t / (std::max)(alone, delay), 2), bench::fixed(t / (alone + delay), 2)});
    }
  }
  double const delay = 0.5 * alone, t = product_seconds(A, x, std::chrono::nanoseconds(std::int64_t(1e9 * delay)));
  std::cout << "Timeline at delay " << bench::fixed(1e6 * delay, 0) << " us:\n\n```\nmessages  |" << bar(0, delay, (std::max)(t, delay), '-')
            << "\nproduct   |" << bar(0, t, (std::max)(t, delay), '=') << "\n```\n";
}

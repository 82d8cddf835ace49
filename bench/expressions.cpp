// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products inside of expressions: y = alpha (A x) + b and r = b - A x with its norm, in one statement against the product and the
// rest in a statement each.      expressions [side of the larger grid [repetitions [threads]]]
#include <sla/exec/evaluate.hpp>
#include <sla/expr/sparse/product.hpp>
#include <sla/tensor/build/block.hpp>
#include <sla/tensor/build/convert.hpp>
#include <sla/tensor/build/sell.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "table.hpp"

namespace {
using namespace sla;

/// One format on a grid of so many rows: x, b, y of the extents of A, and both ways in turn.
template <class A, class X>
void compare(bench::table& out, char const* name, A const& a, X const& x, int threads, int repetitions) {
  auto const b = x;
  auto one = x, two = x;
  double const alpha = 1.5;
  double norm_one = 0, norm_two = 0;
  int const calls = int((std::max)(index_t(2), 10'000'000 / x.size()));
  auto repeated = [&](auto const& f) {
    return [&f, calls] {
      for (int k = 0; k < calls; ++k) f();
    };
  };
  auto row = [&](char const* statement, auto const& in_one, auto const& in_two) {
    auto const [t_one, t_two] = bench::interleaved_on(threads, repetitions, repeated(in_one), repeated(in_two));
    auto const ratio = t_one / t_two;
    out.row({name, statement, text(threads), text(x.size()), bench::spread(t_one, 1, 1e6 / calls), bench::spread(t_two, 1, 1e6 / calls), bench::spread(ratio, 2),
             text("<= 1.10", ratio.median() <= 1.1 ? ": met" : ": missed"), bench::scientific(norm_inf(one - two) + std::abs(norm_one - norm_two))});
  };
  row("alpha * (A * x) + b", [&] { one = alpha * (a * x) + b; }, [&] { fuse(set(two, a * x), set(two, alpha * two + b)); });
  row("b - A * x, its norm", [&] { norm_one = std::get<0>(fuse(set(one, b - a * x), squared_norm_of(one))); },
      [&] { norm_two = std::get<0>(fuse(set(two, a * x), set(two, b - two), squared_norm_of(two))); });
}
}  // namespace

int main(int argc, char** argv) {
  index_t const larger = bench::argument(argc, argv, 1, 1000);
  int const repetitions = int(bench::argument(argc, argv, 2, 7)), most_threads = int(bench::argument(argc, argv, 3, 2));
  bench::heading("Products inside of expressions");
  std::cout << "2-D Poisson, five points, double. Times in us, of one thread processor time. Difference: of the two results, and of the norms.\n\n";
  bench::table out({"", "", "threads", "elements", "one statement", "two statements", "one / two", "target", "difference"});
  for (int threads = 1; threads <= most_threads; ++threads) {
    set_threads(threads);
    for (index_t n : {index_t(100), larger}) {
      auto const A = problems::poisson<double>({n, n});
      auto const x = random<double>(A.cols(), 1);
      compare(out, "Csr", A, x, threads, repetitions);
      compare(out, "Dia", to<Dia>(A), x, threads, repetitions);
      compare(out, "Coo", to<Coo<>>(A), x, threads, repetitions);
      compare(out, "Sell", to<Sell<>>(A), x, threads, repetitions);
      compare(out, "NarrowSell", to<NarrowSell<>>(A), x, threads, repetitions);
      auto const B = to_blocks<4, 4>(A);
      compare(out, "Csr, blocks 4 x 4", B, random<double, std::remove_cvref_t<decltype(B.domain())>>(B.domain(), 1), threads, repetitions);
      auto const few = random<double, Extents<dyn, dyn>>({A.cols() / 4, 4}, 1);
      auto const C = problems::poisson<double>({n / 2, n / 2});
      compare(out, "Csr, 4 right-hand sides", C, few, threads, repetitions);
      compare(out, "Dia, 4 right-hand sides", to<Dia>(C), few, threads, repetitions);
    }
  }
}

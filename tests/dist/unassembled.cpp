// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Unassembled sparse tensors: the sum of all ranks' terms, assembled whole or by rows, and the gradients of the terms.
#include <sla/dist/matrix/matrix_product.hpp>
#include <sla/dist/engine/threads.hpp>
#include <sla/dist/matrix/unassembled.hpp>

#include "catch.hpp"
#include "suites/spread.hpp"
#include "suites/steps.hpp"

namespace test_unassembled {

using namespace sla;
using suite::require;
using Ranks = mesh<axis<"rows">>;

namespace {
/// Terms of one rank: a pattern and whole numbers of its own; rank 1 has none.
sparse_tensor<double> terms(index_t rows, index_t cols, int rank) {
  suite::random_triplets<double> t(rows, cols, rank == 1 ? 0 : 25 + rank, unsigned(3 * rank + 1));
  for (double& v : t.value) v = double(int(v * 8));
  return from_triplets<double>(rows, cols, t.row, t.col, t.value);
}
template <class D>
double values_dot(any_communicator& c, D const& a, D const& b, bool shared) {
  double sum = 0;
  for (index_t n = 0; n < a.values().size(); ++n) sum += a.values()[n] * b.values()[n];
  return shared ? sum : all_reduce(c, sum);
}
} // namespace

TEST_CASE("the terms of all ranks are one matrix, and each rank's gradient is on its own pattern") {
  int const ranks = GENERATE(1, 2, 3, 4, 8);
  bool const square = GENERATE(true, false);
  index_t const rows = 12, cols = square ? 12 : 9;
  CHECK_NOTHROW(threads::run(ranks, [&](auto& world) {
    Ranks const m(world);
    auto& c = m.communicator(0);
    auto const A = suite::placed_as<sparse_tensor<double>, Ranks, Partial<>>(terms(rows, cols, c.rank()), m);
    auto const x = suite::whole_numbers(Extents<dyn>(cols), 3);
    sla::vector<double> y(Extents<dyn>{rows});
    for (int r = 0; r < c.size(); ++r) {
      sla::vector<double> const one = terms(rows, cols, r) * x;
      for (index_t n = 0; n < rows; ++n) y[n] += one[n];
    }
    auto const R = assemble<"rows", Replicate>(A);
    static_assert(has_placements<std::remove_const_t<decltype(R)>, Replicate>);
    require(suite::equal(sla::vector<double>(R.local() * x), y), c, "assembled whole");
    auto const D = assemble<"rows", SparseShard<0>>(A);
    static_assert(has_placements<std::remove_const_t<decltype(D)>, SparseShard<0>>);
    require(suite::equal(gather(D * distribute(x, D.col_layout())), y), c, "assembled by rows");
    require(all_reduce(c, std::int64_t(D.local().nnz())) == R.local().nnz(), c, "every entry is on one rank");
    auto const E = assemble<"rows", SparseShard<0>>(A, D.row_layout());
    require(E.handle()->rows == D.handle()->rows, c, "assembled by a layout");

    // <g, assemble(A)> = <restrict(g), A>: of terms every rank has its own, summed over the ranks
    auto const adjoint = [&](auto const& step, bool shared, bool pending, char const* what) {
      tape t;
      auto& input = t.input(A);
      using X = std::remove_const_t<decltype(A)>;
      auto const B = step(traced<X>(t, input));
      auto const value = B.value().local();
      auto g = value;
      auto const noise = suite::whole_numbers(Extents<dyn>(g.values().size()), pending || !shared ? c.rank() : 1);
      for (index_t n = 0; n < g.values().size(); ++n) g.values()[n] = noise[n];
      B.variable().add(cotangent_t<plain_t<decltype(B)>>(g, B.value().handle()));
      t.sweep();
      auto const back = input.take_cotangent();
      static_assert(has_placements<std::remove_const_t<decltype(back)>, Replicate>);
      require(values_dot(c, value, g, shared && !pending) == values_dot(c, A.local(), back.local(), false), c, what);
    };
    adjoint([](auto const& a) { return assemble<"rows", Replicate>(a); }, true, true,
            "the adjoint of assemble to Replicate");
    adjoint([](auto const& a) { return assemble<"rows", Invariant>(a); }, true, false,
            "the adjoint of assemble to Invariant");
    adjoint([](auto const& a) { return assemble<"rows", SparseShard<0>>(a); }, false, false,
            "the adjoint of assemble to rows");
  }));
}

TEST_CASE("batches of blocks are assembled item by item") {
  using Blocks = Shape<Batch<2>, dyn, dyn, Block<2, 1>>;
  CHECK_NOTHROW(threads::run(3, [&](auto& world) {
    Ranks const m(world);
    auto& c = m.communicator(0);
    auto const part = [](int r) {
      std::vector<index_t> const row{r, 2, 0}, col{0, 1, r};
      std::vector<double> value;
      for (int n = 0; n < 12; ++n) value.push_back(n + 20 * r);
      return from_triplets<double>(Blocks(Extents<2>(2), 3, 3), row, col, value);
    };
    auto const A = suite::placed_as<decltype(part(0)), Ranks, Partial<>>(part(c.rank()), m);
    auto const x = suite::whole_numbers(Extents<2, dyn, 1>(2, 3, 1), 1);
    auto const whole = assemble<"rows", Replicate>(A);
    auto const y = eval(whole.local() * x);
    auto z = eval(part(0) * x);
    for (int r = 1; r < 3; ++r) {
      auto const one = eval(part(r) * x);
      for (index_t n = 0; n < z.size(); ++n) z[n] += one[n];
    }
    require(suite::equal(y, z), c, "assembled whole");
    auto const D = assemble<"rows", SparseShard<0>>(A);
    require(suite::equal(gather(D * distribute(x, D.col_layout())), z), c, "assembled by rows");
  }));
}
} // namespace test_unassembled

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sparse tensors whose rows get other owners are those that were sharded so at once; gradients and tangents come back.
#include <sla/dist/matrix/reshard_rows.hpp>
#include <sla/dist/grad/value_and_gradient.hpp>
#include <sla/dist/matrix/matrix_functions.hpp>
#include <sla/dist/engine/threads.hpp>

#include "catch.hpp"
#include "suites/communicator.hpp"
#include "suites/partition.hpp"
#include "suites/spread.hpp"

namespace test_reshard_rows {

using namespace sla;
using suite::require;

namespace {
namespace reshard_rows {
using Rows = mesh<axis<"rows">>;
using New = SparseShard<0, Part<"new">>;

template <class A, class B>
bool same(A const& a, B const& b) {
  return a.rows() == b.rows() && a.cols() == b.cols() && a.nnz() == b.nnz() && same_pattern(a.pattern(), b.pattern()) &&
         std::equal(a.values().begin(), a.values().end(), b.values().begin());
}
template <class Sparse>
void resharded(Rows const& m, Sparse const& A, Sparse const& dA) {
  auto& c = m.communicator(0);
  auto const owners = suite::scattered_owners(A.rows(), c.size());
  auto const D = distribute<SparseShard<0>>(A, m, owners), dD = distribute<SparseShard<0>>(dA, m, owners);
  auto const E = distribute<New>(A, m, strips{}), dE = distribute<New>(dA, m, strips{});
  auto const moved = [&E](auto const& d) { return repartition<"rows", New>(d, E.row_layout()); };
  auto const y = moved(D);
  static_assert(has_placements<std::remove_const_t<decltype(y)>, New>);
  bool const square = A.rows() == A.cols();
  if (square) require(same(y.local(), E.local()), c, "what is sharded so at once");
  require(y.local().rows() == E.local().rows() && y.local().nnz() == E.local().nnz(), c, "the same rows");
  auto const equal = repartition<"rows", New>(D, equal_rows{});
  require(equal.handle()->rows->fingerprint() == owner_map::equal(A.rows(), c.size()).fingerprint(), c, "by a partitioner");
  require(same(repartition<"rows", SparseShard<0>>(equal, D.row_layout()).local(), D.local()), c, "there and back");
  require(same(repartition<"rows", SparseShard<0>>(y, D.row_layout()).local(), D.local()), c, "there by a layout and back");

  auto const [z, dz] = jvp(moved, std::tie(D), std::tie(dD));
  require(same(z.local(), y.local()) && same(dz.local(), moved(dD).local()), c, "tangents");
  if (square) require(same(dz.local(), dE.local()), c, "tangents as sharded at once");

  // it moves entries: the adjoint moves them back
  tape t;
  auto& input = t.input(D);
  auto const traced_y = moved(traced<std::remove_const_t<decltype(D)>>(t, input));
  traced_y.variable().add(dz);
  t.sweep();
  auto const back = input.take_cotangent();
  static_assert(has_placements<std::remove_const_t<decltype(back)>, SparseShard<0>>);
  require(same(back.local(), dD.local()), c, "gradients");

  // products with what was moved
  auto const x = random<double>({A.cols()}, 3);
  if constexpr (Sparse::block_size == 1 && std::same_as<typename Sparse::shape_type, Matrix>) {
    sla::vector<double> const expected = A * x;
    require(double(norm(gather(eval(y * distribute(x, y.col_layout()))) - expected)) < 1e-13 * (1 + double(norm(expected))), c, "A * x");
  }
}
} // namespace reshard_rows
} // namespace

TEST_CASE("rows get other owners, and gradients go back") {
  using namespace reshard_rows;
  auto const noise = [](auto const& A) {
    auto values = random<double>({A.values().size()}, 9);
    return with_values(A, values);
  };
  auto const A = suite::scattered<double>(30, 30, 90), R = suite::scattered<double>(30, 21, 80);
  suite::random_triplets<double> const t(12, 12, 30, 5, 8);
  auto const B = from_triplets<double>(Shape<Batch<2>, dyn, dyn, Block<2, 2>>({}, 12, 12), t.row, t.col, t.value);
  for (int ranks : {1, 2, 3, 4, 8}) CHECK_NOTHROW(threads::run(ranks, [&](auto& world) {
    Rows const m(world);
    resharded(m, A, noise(A));
    resharded(m, R, noise(R));
    resharded(m, B, noise(B));
  }));
}

TEST_CASE("a layout of another number of rows is refused on all ranks") {
  for (bool const refused : threads::run(2, [](auto& world) {
         reshard_rows::Rows const m(world);
         auto const D = distribute<SparseShard<0>>(suite::scattered<double>(8, 8, 20), m);
         auto const E = distribute<SparseShard<0>>(suite::scattered<double>(9, 9, 20), m);
         try {
           (void)repartition<"rows", reshard_rows::New>(D, E.row_layout());
           return false;
         } catch (shape_error const&) {
           return true;
         }
       }))
    CHECK(refused);
}
} // namespace test_reshard_rows

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What was moved from: empty where the type allows it, refused where it does not, and good to be assigned to.
#include "catch.hpp"
#include "oracle.hpp"

#include <sla/exec/evaluate.hpp>
#include <sla/tensor/build/convert.hpp>
#include <sla/tensor/algebra/multiply.hpp>
#include <sla/tensor/arrange/sparse_list.hpp>
#include <sla/tensor/arrange/transpose.hpp>

namespace test_moved_from {

namespace test_moved_from {

using namespace sla;
using Catch::Matchers::ContainsSubstring;

namespace {
template <class F, class S>
void moved(sparse_tensor<double, S, F> A) {
  using Sparse = sparse_tensor<double, S, F>;
  auto const copy = A;
  Sparse B = std::move(A);
  auto const expected = to_dense(copy);
  CHECK(equals(B, std::vector<double>(expected.begin(), expected.end())));
  for (int again = 0; again < 2; ++again) { // moved by the constructor, then by assignment
    CHECK((A.nnz() == 0 && A.values().size() == 0 && A.batch_stride() == 0));
    CHECK((A.rows() == S{}.rows() && A.cols() == S{}.cols() && A.shared_pattern()->rows == A.rows()));
    vector<double> const y = A * zeros<double>({A.cols()});
    CHECK(y.size() == A.rows());
    for (double v : y) CHECK(v == 0);
    CHECK((to_dense(A).size() == A.rows() * A.cols() && transposed(A).nnz() == 0));
    auto const same = A;
    CHECK(same.nnz() == 0);
    A = std::move(B);
    CHECK((A.nnz() == copy.nnz() && B.nnz() == 0));
    std::swap(A, B);
  }
  A = copy;
  CHECK(A.nnz() == copy.nnz());
}
} // namespace

TEST_CASE("a sparse tensor that was moved from has no entries") {
  random_triplets const t(6, 5, 14, 1);
  moved(t.build());
  moved(t.build<double, Csr<std::int32_t, std::int64_t>>());
  moved(t.build<double, Coo<>>());
  moved(t.build<double, Dia>());
  auto const A = t.build();
  using Static = Shape<Batch<>, 6, 5, Block<>>;
  moved(sparse_tensor<double, Static>(Static{}, A.shared_pattern(), A.values()));

  auto B = t.build();
  auto const C = std::move(B);
  CHECK_THROWS_AS(eval(B * ones<double>({5})), shape_error);
  B = C;
  auto& self = B;
  B = std::move(self);
  CHECK(B.nnz() == C.nnz());
}

TEST_CASE("a tensor of static extents that was moved from says so") {
  using Three = tensor<double, Extents<3>>;
  Three x = ones<double, Extents<3>>({});
  Three const y = std::move(x);
  CHECK(y(2) == 1);
  auto const was_moved = ContainsSubstring("a tensor of 3 was moved from and has no elements");
  CHECK_THROWS_WITH(eval(x + y), was_moved);
  CHECK_THROWS_WITH(double(sum(x)), was_moved);
  CHECK_THROWS_WITH(fuse(set(x, y)), was_moved);
  CHECK_THROWS_WITH(x.data(), was_moved);
  CHECK_THROWS_AS(x.data(), shape_error);
  CHECK(x.begin() == x.end());
  x = 2.0 * y;
  CHECK(double(sum(x)) == 6);
  Three z = std::move(x);
  x = y;
  CHECK((double(sum(x)) == 3 && double(sum(z)) == 6));
  z = std::move(x);
  x = std::move(z);
  CHECK(double(sum(x)) == 3);

  tensor<double, Extents<>> number(Extents<>{});
  auto const taken = std::move(number);
  CHECK_THROWS_AS(number.data(), shape_error);
  CHECK(taken.data()[0] == 0);
  tensor<double, Extents<0>> none(Extents<0>{});
  auto const other = std::move(none);
  CHECK((none.size() == 0 && none.data() == other.data()));
}

TEST_CASE("plans and lists that were moved from say so, and can be assigned to") {
  random_triplets const t(6, 6, 14, 1);
  auto const A = t.build();
  auto const refused = [](char const* name, auto const& use) {
    CHECK_THROWS_WITH(use(), ContainsSubstring(name) && ContainsSubstring("was moved from and is empty; assign another one to it first"));
    CHECK_THROWS_AS(use(), value_error);
  };
  multiply_plan product(A, A);
  auto C = product(A, A);
  auto const product_now = std::move(product);
  refused("a multiply_plan", [&] { product(A, A); });
  refused("a multiply_plan", [&] { product.update(C, A, A); });
  refused("a multiply_plan", [&] { return product.left().nnz() + product.right().nnz(); });
  refused("a multiply_plan", [&] { return product.shared_pattern(); });
  product = product_now;
  CHECK(product(A, A).nnz() == C.nnz());

  transpose_plan<Csr<>> turn(A.pattern());
  auto At = turn.transpose(A);
  auto const turn_now = std::move(turn);
  refused("a transpose_plan", [&] { turn.transpose(A); });
  refused("a transpose_plan", [&] { turn.update_adjoint(At, A); });
  refused("a transpose_plan", [&] { return turn.shared_pattern(); });
  turn = turn_now;
  CHECK(turn.transpose(A).nnz() == A.nnz());

  sparse_list list(std::vector{A, A});
  auto const list_now = std::move(list);
  refused("a sparse_list", [&] { return list.count(); });
  refused("a sparse_list", [&] { return list.row_cuts(); });
  list = list_now;
  CHECK(list.count() == 2);
}
} // namespace test_moved_from

} // namespace test_moved_from

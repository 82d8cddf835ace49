// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Extents and shapes, and the small tools below them.
#include <locale>
#include <string>

#include "catch.hpp"

#include <sla/core/shape.hpp>

namespace test_shape {

using namespace sla;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("extents are static or known at run time") {
  Extents<4, dyn> const e(4, 7);
  CHECK(e[0] == 4);
  CHECK(e[1] == 7);
  CHECK(e.total() == 28);
  CHECK(to_string(e) == "4 x 7");
  CHECK(to_string(Extents<>()) == "scalar");
  CHECK(Extents<>().total() == 1);
  static_assert(Extents<4, 2>::is_static && !Extents<4, dyn>::is_static);
  static_assert(Extents<4, dyn>::static_extent(0) == 4 && Extents<4, dyn>::static_extent(1) == dyn);
  static_assert(Extents<4, 2>()[1] == 2 && Extents<dyn>()[0] == 0);
  static_assert(std::same_as<join_t<Extents<2>, Extents<dyn, 3>>, Extents<2, dyn, 3>>);
  CHECK_THROWS_WITH((Extents<4, dyn>(5, 7)), ContainsSubstring("extent 5 on axis 0, where the type says 4"));
  CHECK_THROWS_WITH((Extents<dyn>(-2)), ContainsSubstring("extent -2 on axis 0"));
  CHECK_THROWS_WITH((Extents<dyn, dyn>(index_t(1) << 40, index_t(1) << 40)), ContainsSubstring("more elements than"));
  CHECK((Extents<dyn, dyn>(index_t(1) << 40, index_t(1) << 20).total()) == index_t(1) << 60);
}

TEST_CASE("shapes of sparse tensors") {
  using S = Shape<Batch<4>, dyn, 6, Block<2, 3>>;
  static_assert(is_shape<S> && is_shape<Matrix> && !is_shape<int>);
  static_assert(S::is_batched && S::is_blocked && S::block_rows == 2 && S::block_cols == 3);
  static_assert(!Matrix::is_batched && !Matrix::is_blocked && Matrix::block_rows == 1);
  static_assert(std::same_as<transposed_shape_t<S>, Shape<Batch<4>, 6, dyn, Block<3, 2>>>);
  static_assert(std::same_as<domain_extents_t<S>, Extents<4, 6, 3>>);
  static_assert(std::same_as<range_extents_t<S>, Extents<4, dyn, 2>>);
  static_assert(std::same_as<domain_extents_t<Matrix>, Extents<dyn>>);
  S const s({4}, 5, 6);
  CHECK(s.rows() == 5);
  CHECK(s.cols() == 6);
  CHECK(s.batch_count() == 4);
  CHECK(Matrix(2, 3).batch_count() == 1);
  CHECK(Matrix() == Matrix(0, 0));
  CHECK_THROWS_AS(S({4}, 5, 7), shape_error);
  CHECK_THROWS_AS(S({3}, 5, 6), shape_error);
  CHECK_THROWS_AS(Matrix(-1, 0), shape_error);
}

TEST_CASE("strings as template arguments, arrays for host and device") {
  static_assert(fixed_string("tp") == fixed_string("tp") && !(fixed_string("tp") == fixed_string("dp2")));
  CHECK(fixed_string("rows").view() == "rows");
  fixed_array<int, 3> a{{1, 2, 3}};
  a += a;
  CHECK(a == fixed_array<int, 3>{{2, 4, 6}});
  static_assert(fixed_array<int, 0>::size() == 0);
}

TEST_CASE("errors say where") {
  io_error const e("a.mtx", 3, 7, "expected a value");
  CHECK(std::string(e.what()) == "a.mtx:3:7: expected a value");
  CHECK(e.line() == 3);
  CHECK(e.column() == 7);
  CHECK(text("row ", 3, " of ", 2.5) == "row 3 of 2.5");
  struct by_thousands : std::numpunct<char> {
    char do_thousands_sep() const override { return ','; }
    std::string do_grouping() const override { return "\3"; }
  };
  auto const before = std::locale::global(std::locale(std::locale::classic(), new by_thousands));
  CHECK(text(1234567) == "1234567");  // files hold such numbers
  std::locale::global(before);
  CHECK_THROWS_AS(throw unavailable_error("no GPU"), error);
}

} // namespace test_shape

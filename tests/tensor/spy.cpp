// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pictures of patterns against pictures drawn by hand, and against counts.
#include "catch.hpp"
#include "oracle.hpp"

#include <algorithm>
#include <complex>
#include <sstream>

#include <sla/tensor/build/block.hpp>
#include <sla/tensor/build/borrow.hpp>
#include <sla/tensor/files/print.hpp>
#include <sla/tensor/problems/problems.hpp>
#include <sla/tensor/arrange/slice.hpp>
#include <sla/tensor/files/spy.hpp>

namespace test_spy {

using namespace sla;
using Catch::Matchers::ContainsSubstring;

std::string svg(spy_picture const& p) {
  std::ostringstream out;
  p.write_svg(out);
  return out.str();
}

TEST_CASE("a little matrix is drawn entry by entry") {
  auto const A = from_triplets<double>(5, 4, {0, 1, 2, 3, 4, 0}, {0, 1, 2, 3, 0, 3}, {1.0, 1.0, 1.0, 1.0, 1.0, 1.0});
  CHECK(text(spy(A)) == "5 x 4, 6 entries\n+--+\n|⠑⢌|\n|⠁⠀|\n+--+\n");
  CHECK_THAT(svg(spy(A)), ContainsSubstring("viewBox=\"0 0 4 5\"") && ContainsSubstring("<title>5 x 4, 6 entries</title>") &&
                              ContainsSubstring("d=\"M0 0h1v1H0zM3 0h1v1H3zM1 1h1v1H1zM2 2h1v1H2zM3 3h1v1H3zM0 4h1v1H0z\""));
  CHECK(text(spy(to_batch<2>(to_blocks<5, 2>(A)))) == "1 x 2, 2 blocks of 5 x 2, 2 in a batch\n+-+\n|⠉|\n+-+\n");
}

TEST_CASE("a large matrix is counted into cells, each entry once, whatever the threads") {
  auto check = [](auto const& A, index_t across, index_t height, index_t width) {
    auto const p = spy(A, across);
    CHECK(p.height() == height);
    CHECK(p.width() == width);
    std::vector<index_t> expected(std::size_t(height * width));
    for (index_t i = 0; i < A.rows(); ++i)
      A.pattern().view().for_row(i, [&](index_t, index_t j) { ++expected[std::size_t(i * height / A.rows() * width + j * width / A.cols())]; });
    for (index_t k = 0; k < height * width; ++k) REQUIRE(p.count(k / width, k % width) == expected[std::size_t(k)]);
  };
  check(problems::poisson({250, 150}), 60, 60, 60);
  check(problems::poisson({40, 40}), 7, 7, 7);
  check(random_triplets(300, 20, 900, 1).build(), 50, 200, 20);
  check(random_triplets(20, 300, 900, 2).build(), 50, 4, 50);
  check(to<Dia>(problems::poisson({30, 3})), 144, 90, 90);
}

TEST_CASE("shades, and matrices with nothing to see") {
  auto const drawing = svg(spy(problems::poisson({30, 30}), 30));
  CHECK_THAT(drawing, ContainsSubstring("fill-opacity=\"1\"") && ContainsSubstring("fill-opacity=\"0.625\""));
  CHECK(text(spy(from_triplets<double>(3, 0, std::vector<int>{}, std::vector<int>{}, std::vector<double>{}))) == "3 x 0, 0 entries\n++\n++\n");
  CHECK_THAT(svg(spy(sparse_tensor<double>{})), ContainsSubstring("viewBox=\"0 0 0 0\""));
  CHECK_THROWS_AS(spy(problems::poisson({2}), 0), value_error);
  CHECK_THROWS_AS(spy(problems::poisson({2})).write_svg("no/such/picture.svg"), io_error);
}

TEST_CASE("a little matrix is printed as a table, a large one as a picture of at most 20 lines") {
  auto const A = from_triplets<double>(3, 3, {0, 0, 1, 2, 2}, {0, 2, 1, 0, 2}, {4.0, -1.5, 0.0, 1.0 / 3, 1e-9});
  CHECK(text(A) == "3 x 3, 5 entries\n"
                   "       4 .  -1.5\n"
                   "       . 0     .\n"
                   "0.333333 . 1e-09\n");
  std::ostringstream out;
  out.precision(2);
  out << to_batch<2>(to_blocks<3, 3>(A)) << cast<std::complex<double>>(rows(A, 0, 1));
  CHECK(out.str() == "1 x 1, 1 blocks of 3 x 3, 2 in a batch\n"
                     "item 0\n   4 0  -1.5\n   0 0     0\n0.33 0 1e-09\n"
                     "item 1\n   4 0  -1.5\n   0 0     0\n0.33 0 1e-09\n"
                     "1 x 3, 2 entries\n(4,0) . (-1.5,0)\n");
  std::vector<int> const row_ptr{0, 2}, col{1, 1};
  std::vector<double> const values{1.0, 2.0};
  CHECK(text(borrow_csr(1, 2, row_ptr, col, values)) == "1 x 2, 2 entries\n. 3\n");
  CHECK(text(sparse_tensor<double>{}) == "0 x 0, 0 entries\n");
  for (auto const& [m, n] : std::vector<std::pair<index_t, index_t>>{{100, 100}, {21, 3}, {12, 13}, {1000, 7}, {60, 100}, {100, 60}, {3, 5000}, {5000, 3}, {69, 68}}) {
    auto const picture = text(random_triplets(m, n, 100, 1).build());
    CHECK_THAT(picture, ContainsSubstring(text(m, " x ", n, ", ")) && ContainsSubstring("+-"));
    CHECK(std::count(picture.begin(), picture.end(), '\n') <= 20);
  }
}

} // namespace test_spy

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gzipped files against the plain ones, and every way in which they can be broken.
#include "catch.hpp"
#include "data.hpp"
#include "scratch.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <sla/adapter/gzip.hpp>
#include <sla/tensor/problems/problems.hpp>

using namespace sla;
using Catch::Matchers::ContainsSubstring;

scratch_file gzipped(std::string const& what = {}) { return scratch_file("gzip.mtx.gz", what); }
std::string plain(std::string const& path) {
  gzip_istream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}
bool same(sparse_tensor<double> const& A, sparse_tensor<double> const& B) {
  return same_pattern(A.pattern(), B.pattern()) && std::equal(A.values().begin(), A.values().end(), B.values().begin());
}

TEST_CASE("a matrix goes into a gzipped file and comes back, bit for bit") {
  auto const file = gzipped();
  auto A = problems::poisson({60, 50});
  for (index_t k = 0; k < A.nnz(); ++k) A.values()[k] += 1.0 / double(k + 1);
  write_matrix_market_gzip(file.name, A, {.comment = "Poisson, disturbed"});
  CHECK(file.bytes().size() < plain(file.name).size() / 2);
  CHECK_THAT(plain(file.name), ContainsSubstring("% Poisson, disturbed\n3000 3000 14780\n"));
  CHECK(same(read_matrix_market_gzip<double>(file.name), A));
  auto const x = random<double>(9000, 3);
  write_matrix_market_gzip(file.name, x);
  gzip_istream in(file.name);
  auto const y = read_matrix_market_vector<double>(in, file.name);
  CHECK(std::equal(x.begin(), x.end(), y.begin(), y.end()));
}

TEST_CASE("files that gzip wrote") {
  // printf '%%%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.5\n2 1 -2\n' | gzip -9n
  CHECK(same(read_matrix_market_gzip<double>(data("two_by_two.mtx.gz")), from_triplets<double>(2, 2, {0, 1}, {0, 0}, {1.5, -2.0})));
}

TEST_CASE("members one after the other are one text; zeros behind the last are filling") {
  auto const a = gzipped(), b = gzipped();
  auto write = [](scratch_file const& to, std::string const& what) {
    gzip_ostream out(to.name);
    out << what;
  };
  write(a, "%%MatrixMarket matrix coordinate real general\n2 ");
  write(b, "2 1\n1 2 5\n");
  auto const both = gzipped(a.bytes() + b.bytes() + std::string(70000, '\0'));
  CHECK(same(read_matrix_market_gzip<double>(both.name), from_triplets<double>(2, 2, {0}, {1}, {5.0})));
  auto const empty_between = gzipped(a.bytes() + [&] {
    write(b, "");
    return b.bytes();
  }() + a.bytes());
  CHECK(plain(empty_between.name) == plain(a.name) + plain(a.name));
  write(a, "");
  CHECK(plain(a.name).empty());
}

TEST_CASE("a file that is broken is one error with its name and the remedy") {
  auto fails = [](scratch_file const& file, std::string const& message) {
    CHECK_THROWS_WITH(read_matrix_market_gzip<double>(file.name), ContainsSubstring(file.name + ":0:0: gzip: ") && ContainsSubstring(message));
  };
  auto const file = gzipped();
  write_matrix_market_gzip(file.name, problems::poisson({9, 9}));
  std::string const good = file.bytes();
  for (std::size_t length = 1; length < good.size(); length += 7) {
    file.write(good.substr(0, length));
    fails(file, text("the file ends within its data, at byte ", length, "; copy or download it again"));
  }
  auto damaged = [&](std::size_t at) {
    std::string bytes = good;
    bytes[at] = char(bytes[at] ^ 0x10);
    file.write(bytes);
  };
  damaged(good.size() - 8), fails(file, "the file is damaged: incorrect data check");
  damaged(good.size() - 1), fails(file, "the file is damaged: incorrect length check");
  damaged(1), fails(file, "the file is damaged: incorrect header check");
  for (std::size_t at = 10; at < good.size(); at += 5) {
    damaged(at);
    CHECK_THROWS_AS(read_matrix_market_gzip<double>(file.name), io_error);
  }
  file.write("%%MatrixMarket matrix coordinate real general\n1 1 0\n");
  fails(file, "this is not gzipped, at byte 0; plain text is read by read_matrix_market");
  file.write(good + "rubbish");
  fails(file, text("this is not gzipped, at byte ", good.size(), "; copy"));
  file.write("");
  CHECK_THROWS_WITH(read_matrix_market_gzip<double>(file.name), ContainsSubstring("found the end of the file"));
  CHECK_THROWS_WITH(read_matrix_market_gzip<double>("no/such.mtx.gz"), ContainsSubstring("no/such.mtx.gz:0:0: the file cannot be opened"));
  CHECK_THROWS_AS(write_matrix_market_gzip("no/such.mtx.gz", problems::poisson({2})), io_error);
  if (std::ifstream("/dev/full").good())
    CHECK_THROWS_WITH(write_matrix_market_gzip("/dev/full", problems::poisson({200, 200})),
                      ContainsSubstring("/dev/full:0:0: the file cannot be written to its end"));
}

TEST_CASE("a gzipped write that is refused leaves the old file") {
  auto const file = gzipped();
  write_matrix_market_gzip(file.name, problems::poisson({9, 9}));
  std::string const before = file.bytes();
  CHECK_THROWS_AS(write_matrix_market_gzip(file.name, from_triplets<double>(2, 2, {0}, {1}, {1.0}), {.symmetry = matrix_symmetry::symmetric}), value_error);
  CHECK(file.bytes() == before);
  CHECK(!std::ifstream(file.name + ".part0").good());
}

TEST_CASE("an error of the text keeps its line") {
  auto const file = gzipped();
  {
    gzip_ostream out(file.name);
    out << "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 3 1\n";
  }
  CHECK_THROWS_WITH(read_matrix_market_gzip<double>(file.name), ContainsSubstring(file.name + ":3:3: expected a column index from 1 to 2"));
}

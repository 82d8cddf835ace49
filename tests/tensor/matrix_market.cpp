// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matrix Market files: what the format allows, what real files hold, and where malformed ones go wrong.
#include "catch.hpp"
#include "data.hpp"
#include "oracle.hpp"

#include <clocale>
#include <cmath>
#include <complex>
#include <cstdio>
#include <sstream>

#include <sla/tensor/files/matrix_market_write.hpp>
#include <sla/tensor/problems/problems.hpp>

namespace test_matrix_market {

using namespace sla;
using C = std::complex<double>;
using Catch::Matchers::ContainsSubstring;

template <class T = double, class F = Csr<>>
auto read(std::string const& file, assembly options = {}) {
  std::istringstream in(file);
  return read_matrix_market<T, F>(in, "f.mtx", options);
}
template <class T = double>
auto read_dense(std::string const& file) {
  std::istringstream in(file);
  return read_matrix_market_dense<T>(in, "f.mtx");
}
std::string const head = "%%MatrixMarket matrix coordinate ";

TEST_CASE("fields and symmetries") {
  CHECK(equals(read(head + "real general\n2 3 2\n1 1 1.5\n2 3 -2e1\n"), std::vector<double>{1.5, 0, 0, 0, 0, -20}));
  CHECK(equals(read(head + "integer general\n2 2 1\n2 1 -7\n"), std::vector<double>{0, 0, -7, 0}));
  CHECK(equals(read(head + "pattern symmetric\n2 2 2\n1 1\n2 1\n"), std::vector<double>{1, 1, 1, 0}));
  CHECK(equals(read(head + "real skew-symmetric\n2 2 1\n2 1 3\n"), std::vector<double>{0, -3, 3, 0}));
  CHECK(
      equals(read<C>(head + "complex hermitian\n2 2 2\n1 1 2 0\n2 1 3 4\n"), std::vector<C>{2, C(3, -4), C(3, 4), 0}));
  CHECK(equals(read<C>(head + "complex symmetric\n2 2 1\n2 1 3 4\n"), std::vector<C>{0, C(3, 4), C(3, 4), 0}));
  CHECK(equals(read<C>(head + "complex skew-symmetric\n2 2 1\n2 1 3 4\n"), std::vector<C>{0, C(-3, -4), C(3, 4), 0}));
  CHECK(equals(read<std::complex<float>>(head + "real general\n1 1 1\n1 1 2\n"), std::vector<double>{2}));
  CHECK(equals(read(head + "real symmetric\n2 2 1\n1 2 5\n"),
               std::vector<double>{0, 5, 5, 0})); // the upper triangle alone
}

TEST_CASE("formats, and entries that repeat") {
  std::string const file = head + "real general\n3 3 4\n1 1 1\n3 2 2\n1 1 3\n2 3 4\n";
  std::vector<double> const expected{4, 0, 0, 0, 0, 4, 0, 2, 0};
  CHECK(equals(read(file), expected));
  CHECK(equals(read<float, Coo<>>(file), expected));
  CHECK(equals(read<double, Csr<std::int64_t>>(file), expected));
  CHECK(equals(read<double, Dia>(file), expected));
}

TEST_CASE("spaces, comments, blank lines, CR LF, capitals, Fortran's exponents") {
  std::string const file =
      "%%MATRIXMARKET Matrix COORDINATE Real General\r\n% a comment\r\n\r\n  2\t2  3 \r\n%% another\r\n"
      "1 1 +1.5D+01\r\n\r\n 2  2\t-2d0  \r\n1 2 1e-400";
  CHECK(equals(read(file), std::vector<double>{15, 0, 0, -2}));
}

TEST_CASE("NaN and infinity are read, or refused with their place") {
  std::string const file = head + "real general\n1 2 2\n1 1 nan\n1 2 -Inf\n";
  auto const A = read(file);
  CHECK(std::isnan(A.values()[0]));
  CHECK(A.values()[1] == -INFINITY);
  CHECK_THROWS_WITH(read(file, {.refuse_nonfinite = true}), "f.mtx:3:5: expected a finite value, found 'nan'");
}

TEST_CASE("numbers that the type cannot hold, and what is none, are refused") {
  auto refuses = [](auto one, std::string const& field, std::string const& number, std::string const& message) {
    CHECK_THROWS_WITH(read<decltype(one)>(head + field + " general\n1 1 1\n1 1 " + number + "\n"), ContainsSubstring("f.mtx:3:") && ContainsSubstring(message));
  };
  auto reads = [](auto one, std::string const& field, std::string const& number) { return read<decltype(one)>(head + field + " general\n1 1 1\n1 1 " + number + "\n").values()[0]; };
  for (auto const* sign : {"+-5", "+-5.5", "-+5", "++5", "+-5d0", "+"}) {
    refuses(1.0, "real", sign, text("expected a value, found '", sign, "'"));
    refuses(1.0, "integer", sign, "expected an integer value");
  }
  for (auto const* odd : {"nan(123)", "nan(ind)", "-nan()"}) refuses(1.0, "real", odd, "expected a value");
  CHECK(std::isnan(reads(1.0, "real", "-nan")));
  CHECK(reads(1.0, "real", "+inf") == INFINITY);

  refuses(1.0f, "real", "1e300", "expected a number that a float can hold; read the file with double, found '1e300'");
  refuses(1.0f, "real", "-3.5D+38", "expected a number that a float can hold");
  refuses(std::complex<float>{}, "complex", "1 1e39", "expected a number that a float can hold");
  CHECK(reads(1.0f, "real", "3.4028235e+38") == std::numeric_limits<float>::max());
  CHECK(reads(1.0f, "real", "-inf") == -INFINITY);
  CHECK(reads(1.0f, "real", "1e-300") == 0);

  std::string const zeros(400, '0');
  std::vector<std::string> const too_little{"1.5e-400", "1.5E-400", "1.5D-400", "12345e-99999999999999999999", "0." + zeros + "15", "0." + zeros + "15e+3", "1" + zeros + "e-900"};
  std::vector<std::string> const too_large{"1.5e400", "1.5E+400", "-1.5D400", "0.1e+99999999999999999999", "15" + zeros, "15" + zeros + "e-3", "0." + zeros + "1e900"};
  auto check = [&] {
    for (auto const& little : too_little) CHECK(reads(1.0, "real", little) == 0);
    CHECK(std::signbit(reads(1.0, "real", "-1e-400")));
    for (auto const& large : too_large) refuses(1.0, "real", large, "expected a number that a double can hold");
  };
  check();
  std::string const before = std::setlocale(LC_NUMERIC, nullptr);
  for (auto const* comma : {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"})  // where one of them is installed
    if (std::setlocale(LC_NUMERIC, comma)) {
      check();
      break;
    }
  std::setlocale(LC_NUMERIC, before.c_str());

  refuses(1.0, "integer", "9007199254740993", "expected an integer that a double holds exactly; where it may be rounded");
  refuses(1.0, "integer", "9223372036854775807", "expected an integer that a double holds exactly");
  refuses(1.0f, "integer", "-16777217", "expected an integer that a float holds exactly");
  refuses(C{}, "integer", "9007199254740993", "expected an integer that a double holds exactly");
  CHECK(reads(1.0, "integer", "+9007199254740992") == 0x1p53);
  CHECK(reads(1.0, "integer", "-9223372036854775808") == -0x1p63);
  CHECK(reads(1.0, "integer", "1152921504606846976") == 0x1p60);
  CHECK(reads(1.0, "real", "9007199254740993") == 0x1p53);
}

TEST_CASE("errors name the file, the line and the column, what is there and what should be") {
  auto fails = [](std::string const& file, std::string const& message) {
    CHECK_THROWS_WITH(read(file), ContainsSubstring(message));
  };
  fails("", "f.mtx:1:1: expected '%%MatrixMarket', found the end of the file");
  fails("\n", "f.mtx:1:1: expected '%%MatrixMarket', found the end of the line");
  fails("%%MatrixMarket matrix coordinate\n",
        "f.mtx:1:33: expected 'real', 'complex', 'integer' or 'pattern', found the end of the line");
  fails(head + "real diagonal\n",
        "f.mtx:1:39: expected 'general', 'symmetric', 'skew-symmetric' or 'hermitian', found 'diagonal'");
  fails(head + "real general extra\n", "f.mtx:1:47: expected the end of the line after the symmetry, found 'extra'");
  fails(head + "complex general\n1 1 0\n",
        "f.mtx:1:34: expected real values; a complex file is read with std::complex<double>");
  fails(head + "real hermitian\n1 1 0\n", "a real matrix is not hermitian");
  fails(head + "pattern skew-symmetric\n1 1 0\n", "a pattern has no signs");
  fails("%%MatrixMarket matrix array real general\n1 1\n1\n",
        "f.mtx:1:23: expected 'coordinate'; an array file is read by read_matrix_market_dense");
  fails(head + "real general\n% only comments\n",
        "f.mtx:3:1: expected the line of sizes, 'rows columns entries', found the end of the file");
  fails(head + "real general\n2 2\n", "f.mtx:2:4: expected the number of entries, found the end of the line");
  fails(head + "real general\n2 -2 1\n", "f.mtx:2:3: expected the number of columns, found '-2'");
  fails(head + "real general\n2.5 2 1\n", "f.mtx:2:1: expected the number of rows, found '2.5'");
  fails(head + "real general\n99999999999999999999 2 1\n", "f.mtx:2:1: expected the number of rows");
  fails(head + "real general\n2 2 1 1\n", "f.mtx:2:7: expected the end of the line after the sizes, found '1'");
  fails(head + "real symmetric\n2 3 1\n",
        "f.mtx:2:3: expected as many columns as rows (2) in a symmetric file, found '3'");
  fails(head + "real general\n2 2 2\n1 1 1\n", "f.mtx:4:1: expected entry 2 of 2, found the end of the file");
  fails(head + "real general\n2 2 1\n1 1 1\n2 2 1\n",
        "f.mtx:4:1: expected the end of the file after 1 entries, found '2'");
  fails(head + "real general\n2 2 1\n0 1 1\n", "f.mtx:3:1: expected a row index from 1 to 2, found '0'");
  fails(head + "real general\n2 2 1\n1  3 1\n", "f.mtx:3:4: expected a column index from 1 to 2, found '3'");
  fails(head + "real general\n2 2 1\n1 1\n", "f.mtx:3:4: expected a value, found the end of the line");
  fails(head + "real general\n2 2 1\n1 1 x7\n", "f.mtx:3:5: expected a value, found 'x7'");
  fails(head + "real general\n2 2 1\n1 1 1.5abc\n", "f.mtx:3:5: expected a value, found '1.5abc'");
  fails(head + "real general\n2 2 1\n1 1 1e999\n",
        "f.mtx:3:5: expected a number that a double can hold, found '1e999'");
  fails(head + "real general\n2 2 1\n1 1 1 1\n", "f.mtx:3:7: expected the end of the line after an entry, found '1'");
  fails(head + "integer general\n2 2 1\n1 1 1.5\n", "f.mtx:3:5: expected an integer value, found '1.5'");
  fails(head + "real symmetric\n2 2 2\n2 1 1\n1 2 1\n",
        "f.mtx:4:3: expected entries of one triangle only in a symmetric file, found '2'");
  fails(head + "real skew-symmetric\n2 2 1\n1 1 1\n",
        "f.mtx:3:5: expected a diagonal entry that is its own mirror image in a skew-symmetric file, found '1'");
  CHECK_THROWS_WITH(read<C>(head + "complex general\n1 1 1\n1 1 2\n"),
                    ContainsSubstring("f.mtx:3:6: expected the imaginary part of a value"));
  CHECK_THROWS_WITH((read<double, Csr<std::int16_t>>(head + "real general\n40000 1 0\n")),
                    ContainsSubstring("use the format Csr<std::int64_t>"));
  CHECK_THROWS_WITH(read_matrix_market<double>(data("two_by_two.mtx.gz")),
                    ContainsSubstring("two_by_two.mtx.gz:1:1: expected text, found a gzipped file; it is read by read_matrix_market_gzip"));
  CHECK_THROWS_WITH(read_matrix_market<double>(data("malformed")), ContainsSubstring("malformed:1:0: the file cannot be read; is it a folder?"));
  CHECK_THROWS_WITH(read_matrix_market<double>("/no/such/file.mtx"),
                    ContainsSubstring("/no/such/file.mtx") && ContainsSubstring("No such file"));
}

TEST_CASE("memory is asked for what a file holds, not for what it claims") {
  CHECK_THROWS_WITH(read(head + "real general\n3 3 1152921504606846976\n1 1 1\n"), ContainsSubstring("f.mtx:4:1: expected entry 2 of 1152921504606846976"));
  std::string const empty = head + "real general\n5000000 3 1\n1 1 1\n";
  memory_peak_reset();
  auto const before = memory_in_use().peak;
  CHECK_THROWS_WITH(read(empty), ContainsSubstring("f.mtx: 5000000 rows with 1 entries") && ContainsSubstring("assembly{.allow_empty_rows = true}"));
  CHECK(memory_in_use().peak == before);
  CHECK(read(empty, {.allow_empty_rows = true}).rows() == 5000000);
  std::string const array = "%%MatrixMarket matrix array real general\n";
  CHECK_THROWS_WITH(read_dense(array + "1000000 1000000\n1\n"), ContainsSubstring("f.mtx:4:1: expected the value at row 2, column 1"));
  auto const nothing = read_dense(array + "0 4611686018427387904\n");
  CHECK(nothing.extent(1) == 4611686018427387904);
  std::ostringstream out;
  write_matrix_market(out, nothing);
  CHECK(out.str() == array + "0 4611686018427387904\n");
}

TEST_CASE("the malformed files of LAGraph") {
  auto place = [](std::string const& file) {
    try {
      read_matrix_market<double>(data("malformed/" + file));
    } catch (io_error const& e) {
      CHECK_THAT(e.what(), ContainsSubstring(file + ":"));
      return std::pair(e.line(), e.column());
    }
    return std::pair(std::size_t(0), std::size_t(0));
  };
  CHECK(place("mangled1.mtx") == std::pair<std::size_t, std::size_t>(1, 16));
  CHECK(place("mangled2.mtx") == std::pair<std::size_t, std::size_t>(1, 23));
  CHECK(place("mangled3.mtx") == std::pair<std::size_t, std::size_t>(1, 34));
  CHECK(place("mangled5.mtx") == std::pair<std::size_t, std::size_t>(1, 42));
  CHECK(place("mangled8.mtx") == std::pair<std::size_t, std::size_t>(4, 2));
  CHECK(place("mangled13.mtx") == std::pair<std::size_t, std::size_t>(7, 3));
}

TEST_CASE("every truncation of a file is an error, never a matrix") {
  std::string const file = head + "real symmetric\n3 3 3\n1 1 1.5\n2 1 2.5\n3 3 4.5\n";
  CHECK(read(file).nnz() == 4);
  for (std::size_t length = 0; length + 4 < file.size(); ++length) // "4" would be a number too
    CHECK_THROWS_AS(read(file.substr(0, length)), io_error);
}

TEST_CASE("real matrices have the sizes of their table") {
  auto entries = [](char const* name) { return read_matrix_market<double>(data(name)).nnz(); };
  CHECK(entries("1138_bus.mtx") == 4054);
  CHECK(entries("orsirr_1.mtx") == 6858);
  CHECK(entries("well1850.mtx") == 8758);
  CHECK(entries("ash219.mtx") == 438);
  CHECK(read_matrix_market<C>(data("mhd1280b.mtx")).nnz() == 22778);
  CHECK(read_matrix_market<C>(data("qc324.mtx")).nnz() == 26730);
  CHECK(read_matrix_market<std::complex<float>>(data("young1c.mtx")).nnz() == 4089);
}

TEST_CASE("array files") {
  std::string const array = "%%MatrixMarket matrix array ";
  auto const A = read_dense(array + "real general\n2 3\n1\n2\n3\n% c\n4\n5\n6\n");
  CHECK(A.extents() == Extents<dyn, dyn>(2, 3));
  CHECK(std::vector<double>(A.begin(), A.end()) == std::vector<double>{1, 3, 5, 2, 4, 6});
  auto const S = read_dense(array + "integer symmetric\n2 2\n1\n2\n3\n");
  CHECK(std::vector<double>(S.begin(), S.end()) == std::vector<double>{1, 2, 2, 3});
  auto const K = read_dense(array + "real skew-symmetric\n2 2\n2\n");
  CHECK(std::vector<double>(K.begin(), K.end()) == std::vector<double>{0, -2, 2, 0});
  auto const H = read_dense<C>(array + "complex hermitian\n2 2\n1 0\n2 3\n4 0\n");
  CHECK(H(0, 1) == C(2, -3));
  CHECK_THROWS_WITH(read_dense(array + "pattern general\n1 1\n1\n"),
                    ContainsSubstring("f.mtx:1:29: expected 'real', 'complex' or 'integer'"));
  CHECK_THROWS_WITH(read_dense(array + "real general\n2 1\n1\n"),
                    ContainsSubstring("f.mtx:4:1: expected the value at row 2, column 1, found the end of the file"));
  CHECK_THROWS_WITH(read_dense(array + "real general\n1 1\n1\n2\n"),
                    ContainsSubstring("f.mtx:4:1: expected the end of the file"));
  CHECK_THROWS_WITH(read_dense(array + "real general\n1 1\n1 2\n"),
                    ContainsSubstring("expected the end of the line after a value, found '2'"));
  CHECK_THROWS_WITH(read_dense(head + "real general\n1 1 0\n"), ContainsSubstring("read by read_matrix_market"));
  CHECK_THROWS_AS(read_dense(array + "real general\n4000000000 4000000000\n1\n"), shape_error);
  std::istringstream column(array + "real general\n2 1\n1\n2\n"), wide(array + "real general\n1 2\n1\n2\n");
  CHECK(read_matrix_market_vector<float>(column)[1] == 2);
  CHECK_THROWS_WITH(read_matrix_market_vector<float>(wide, "w"), ContainsSubstring("w: an array of 1 x 2"));
}

template <class T, class X>
void round_trip(X const& A, matrix_market_options options = {}) {
  std::stringstream file;
  write_matrix_market(file, A, options);
  auto const B = read_matrix_market<T>(file);
  auto const a = to_dense(A), b = to_dense(B);
  REQUIRE(a.size() == b.size());
  CHECK(std::equal(a.begin(), a.end(), b.begin()));
}

TEST_CASE("what is written reads back bit for bit") {
  random_triplets t(20, 15, 60, 1);
  for (double& v : t.value) v = v / 7 * 1e-11;
  round_trip<double>(t.build());
  round_trip<double>(t.build<double, Coo<>>());
  round_trip<double>(t.build<double, Dia>());
  round_trip<float>(t.build<float>());
  round_trip<C>(t.build<C>());
  auto const P = problems::poisson({6, 5});
  round_trip<double>(P, {.symmetry = matrix_symmetry::symmetric, .comment = "two\nlines"});
  round_trip<double>(to<Dia>(P), {.symmetry = matrix_symmetry::symmetric});
  round_trip<double>(to_blocks<3, 3>(P), {.symmetry = matrix_symmetry::symmetric});
  auto const H = read_matrix_market<C>(data("mhd1280b.mtx"));
  std::stringstream file;
  write_matrix_market(file, H, {.symmetry = matrix_symmetry::hermitian});
  auto const again = read_matrix_market<C>(file);
  CHECK(same_pattern(H.pattern(), again.pattern()));
  CHECK(std::equal(H.values().begin(), H.values().end(), again.values().begin()));
  auto const skew = from_triplets<double>(2, 2, {0, 1}, {1, 0}, {-2.0, 2.0});
  round_trip<double>(skew, {.symmetry = matrix_symmetry::skew_symmetric});
}

TEST_CASE("a symmetry that A does not have is not written") {
  std::ostringstream out;
  auto const A = problems::convection_diffusion({3, 3}, 1);
  CHECK_THROWS_WITH(write_matrix_market(out, A, {.symmetry = matrix_symmetry::symmetric}),
                    ContainsSubstring("not symmetric at row 0, column 1; write it as general"));
  CHECK_THROWS_AS(write_matrix_market(out, problems::poisson({3, 3}), {.symmetry = matrix_symmetry::skew_symmetric}),
                  value_error);
  CHECK_THROWS_AS(
      write_matrix_market(out, random_triplets(3, 4, 5, 1).build(), {.symmetry = matrix_symmetry::symmetric}),
      shape_error);
  CHECK_THROWS_AS(write_matrix_market(out, vector<double>{1.0}, {.symmetry = matrix_symmetry::symmetric}), value_error);
  CHECK(out.str().empty());
}

TEST_CASE("dense tensors and paths") {
  std::string const path = "matrix_market_test.mtx";
  matrix<double> M({2, 3});
  for (index_t n = 0; n < 6; ++n) M[n] = 0.1 * double(n);
  write_matrix_market(path, M);
  auto const again = read_matrix_market_dense<double>(path);
  CHECK(std::equal(M.begin(), M.end(), again.begin()));
  write_matrix_market(path, vector<std::complex<float>>{{1, 2}, {3, 4}}, {.comment = "x"});
  CHECK(read_matrix_market_vector<std::complex<float>>(path)[1] == std::complex<float>(3, 4));
  write_matrix_market(path, problems::poisson({3, 3}));
  CHECK(read_matrix_market<double>(path).nnz() == 33);
  std::remove(path.c_str());
  CHECK_THROWS_AS(write_matrix_market("/no/such/folder/a.mtx", M), io_error);
  std::ostringstream broken;
  broken.setstate(std::ios::badbit);
  CHECK_THROWS_AS(write_matrix_market(broken, M), io_error);
}

TEST_CASE("a line without end is refused while it is little") {
  std::string const file = head + "real general\n%" + std::string((std::size_t(1) << 24) + 1, 'x') + "\n1 1 1\n1 1 1\n";
  CHECK_THROWS_WITH(read(file), ContainsSubstring("f.mtx:2:1: a line of more than 16777216 characters"));
}

TEST_CASE("columns that a file claims cost no memory as diagonals") {
  std::istringstream in(head + "real general\n5 1000000000000000 1\n1 1 1\n");
  memory_peak_reset();
  auto const before = memory_in_use().peak;
  CHECK(read_matrix_market<double, Dia>(in).nnz() == 5);
  CHECK(memory_in_use().peak < before + 10'000);
}

TEST_CASE("lines longer and files larger than a piece of the reader") {
  std::string file = head + "real general\n%" + std::string(600'000, 'x') + "\n1000 1000 60000\n";
  for (int k = 0; k < 60000; ++k) file += std::to_string(k % 1000 + 1) + " " + std::to_string(k / 60 + 1) + "   1.25\n";
  auto const A = read(file);
  double sum = 0;
  for (double v : A.values()) sum += v;
  CHECK(sum == 75000);
}

} // namespace test_matrix_market

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PETSc's binary files: what PETSc wrote is read, what is written has its bytes, and each fault is one error.
#include "catch.hpp"
#include "data.hpp"
#include "scratch.hpp"

#include <complex>

#include <sla/tensor/build/build.hpp>
#include <sla/tensor/files/petsc.hpp>

namespace test_petsc {

using namespace sla;
using C = std::complex<double>;
using Catch::Matchers::ContainsSubstring;

namespace {
/// What the program that wrote data/petsc.bin gave PETSc.
sparse_tensor<double> matrix_of_petsc() {
  triplets<double> t(5, 7);
  for (int i : {0, 1, 3, 4}) t.add(i, i, 2.0 + i), t.add(i, (i + 3) % 7, -1.0 / (i + 1));
  return t.build();
}
sla::vector<double> vector_of_petsc() {
  sla::vector<double> b(5);
  for (int i = 0; i < 5; ++i) b[i] = 0.1 * i;
  return b;
}
template <class A, class B>
bool same(A const& a, B const& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}
template <class A>
bool same_matrix(A const& a, A const& b) {
  return a.shape() == b.shape() && same_pattern(a.pattern(), b.pattern()) && same(a.values(), b.values());
}
} // namespace

TEST_CASE("PETSc's files are read and written, byte for byte") {
  auto const A = matrix_of_petsc();
  auto const b = vector_of_petsc();
  CHECK(same_matrix(read_petsc<double>(data("petsc.bin")), A));
  CHECK(same(read_petsc_vector<double>(data("petsc.bin")), b));
  scratch_file const file("petsc");
  write_petsc(file.name, A, b);
  std::ifstream in(data("petsc.bin"), std::ios::binary);
  CHECK(file.bytes() == std::string(std::istreambuf_iterator<char>(in), {}));

  write_petsc<std::int64_t>(file.name, b, A, b);  // integers of 64 bits, in another order
  CHECK(file.bytes().size() == 2 * (16 + 40) + 32 + 8 * (5 + 8 + 8));
  CHECK(same_matrix(read_petsc<double, Coo<std::int64_t>>(file.name), to<Coo<std::int64_t>>(A)));
  CHECK(same(read_petsc_vector<double>(file.name), b));
  auto const Z = cast<C>(A);
  write_petsc(file.name, to<Coo<>>(Z), sla::vector<C>{C(1, 2)});
  CHECK(same_matrix(read_petsc<C>(file.name), Z));
  CHECK(same(read_petsc_vector<C>(file.name), sla::vector<C>{C(1, 2)}));
  write_petsc(file.name, from_triplets<float>(0, 3, {}, {}, {}), sla::vector<float>{1.5f});
  CHECK(read_petsc<float>(file.name).cols() == 3);
  CHECK(read_petsc_vector<float>(file.name)[0] == 1.5f);
}

TEST_CASE("each fault of a file of PETSc is one error that names it") {
  std::ifstream in(data("petsc.bin"), std::ios::binary);
  std::string const good(std::istreambuf_iterator<char>(in), {});
  auto const words = []<class T = double>(std::string const& bytes, T = {}) {
    scratch_file const file("petsc", bytes);
    try {
      (void)read_petsc<T>(file.name);
      (void)read_petsc_vector<T>(file.name);
    } catch (io_error const& e) {
      std::string const what = e.what();
      return what.find(file.name) == 0 ? what : "without its name: " + what;
    }
    return std::string();
  };
  CHECK(words(good) == "");
  for (std::size_t n = 0; n < good.size(); ++n)
    if (n != 132) CHECK_THAT(words(good.substr(0, n)), ContainsSubstring("_petsc:0:0: "));
  CHECK_THAT(words(good.substr(0, 132)), ContainsSubstring("the file has no vector"));  // behind the matrix
  CHECK_THAT(words(good, C()), ContainsSubstring("its scalars are not of 16 bytes"));
  CHECK_THAT(words(good, 1.0f), ContainsSubstring("its scalars are not of 4 bytes"));
  auto const with = [&](std::size_t at, int value) {
    std::string bad = good;
    for (std::size_t k = 0; k < 4; ++k) bad[at + k] = char(value >> (24 - 8 * k));
    return bad;
  };
  CHECK_THAT(words(with(0, 17)), ContainsSubstring("at byte 0 there is 17, where a binary file of PETSc has 1211216"));
  CHECK_THAT(words(with(12, -1)), ContainsSubstring("the matrix is dense"));
  CHECK_THAT(words(with(16, 9)), ContainsSubstring("row 0 has 9 entries, and the matrix 8"));
  CHECK_THAT(words(with(16, 1)), ContainsSubstring("the rows have 7 entries, and the matrix 8"));
  CHECK_THAT(words(with(36, 7)), ContainsSubstring("an entry is in column 7 of 7"));
  CHECK_THAT(words(with(4, -5)), ContainsSubstring("has -5 of them"));
}

} // namespace test_petsc

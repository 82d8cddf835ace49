// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Safetensors files: what goes in comes out, what other tools wrote is read, and each lie of a header is one error.
#include "catch.hpp"
#include "data.hpp"
#include "scratch.hpp"

#include <algorithm>
#include <complex>
#include <sstream>

#include <sla/adapter/safetensors.hpp>
#include <sla/tensor/build/block.hpp>
#include <sla/tensor/problems/problems.hpp>

using namespace sla;
using C = std::complex<double>;
using Batched = sparse_tensor<C, Shape<Batch<3>, dyn, dyn, Block<>>, Dia>;
using Wide = sparse_tensor<C, Matrix, Csr<std::int32_t, std::int64_t>>;
using Catch::Matchers::ContainsSubstring;

template <class A, class B>
bool same_numbers(A const& a, B const& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}
/// x through a file that also holds another tensor, as a Y.
template <class Y, class X>
Y through_file(X const& x) {
  std::stringstream bytes;
  safetensors_writer writer;
  auto const other = random<float>(3, 1);
  writer.add("other", other), writer.add("x", x);
  writer.write(bytes);
  safetensors_file file(bytes);
  CHECK(same_numbers(file.template read<vector<float>>("other"), other));
  return file.template read<Y>("x");
}
template <class X>
void round_trip(X const& A) {
  auto const B = through_file<X>(A);
  CHECK(A.shape() == B.shape());
  CHECK(same_pattern(A.pattern(), B.pattern()));
  CHECK(same_numbers(A.values(), B.values()));
}

/// A file of a header and so many bytes of zeros.
std::string file_of(std::string const& header, std::size_t bytes) {
  std::uint64_t const length = header.size();
  return std::string(reinterpret_cast<char const*>(&length), 8) + header + std::string(bytes, '\0');
}
/// The error of reading an X of a file, or of its header.
template <class X = vector<double>>
std::string error_of(std::string const& file, std::string const& name = "b") {
  std::istringstream in(file);
  try {
    safetensors_file(in, "f").read<X>(name);
  } catch (io_error const& e) {
    return e.what();
  }
  return "no error";
}

TEST_CASE("sparse tensors of every clothing come back as they were") {
  auto A = problems::poisson({6, 5});
  for (index_t k = 0; k < A.nnz(); ++k) A.values()[k] += 1.0 / double(k + 3);
  round_trip(A);
  round_trip<Batched>(to<Dia>(to_batch<3>(cast<C>(A))));
  auto B = to<Coo<std::int64_t>>(to_batch(to_blocks<3, 2>(cast<std::complex<float>>(A)), 2));
  for (index_t k = 0; k < B.values().size(); ++k) B.values()[k] *= std::complex<float>(0, float(k));
  round_trip(B);
  CHECK(same_numbers(through_file<Wide>(A).values(), cast<C>(A).values()));
  CHECK(through_file<sparse_tensor<double>>(sparse_tensor<double>{}).rows() == 0);
}

TEST_CASE("dense tensors, one tensor alone, metadata") {
  auto const x = random<C, Extents<2, dyn, 3>>({2, 4, 3}, 5);
  auto const y = through_file<tensor<C, Extents<dyn, dyn, dyn>>>(x);
  CHECK(to_string(y.extents()) == "2 x 4 x 3");
  CHECK(same_numbers(x, y));
  CHECK(through_file<vector<double>>(random<float>(7, 1))[3] == double(random<float>(7, 1)[3]));

  scratch_file const file("safetensors");
  auto const A = problems::poisson({4, 4});
  write_safetensors(file.name, A);
  CHECK(same_numbers(read_safetensors<sparse_tensor<double>>(file.name).values(), A.values()));
  safetensors_file in(file.name);
  CHECK(in.entries().size() == 3);
  CHECK(in.entries().at("col").dtype == "I32");
  CHECK(in.metadata().at("shape") == "[16,16]");
  CHECK(in.metadata().at("sparse_axes") == "[0,1]");
  for (auto const& [name, entry] : in.entries()) CHECK(entry.begin % (entry.dtype == "F64" ? 8 : 4) == 0);
  write_safetensors(file.name, random<double>(3, 1));
  CHECK(read_safetensors<vector<double>>(file.name).size() == 3);

  safetensors_writer writer;
  writer.metadata["origin"] = "a \"test\" of UTF-8: \u00e9";
  std::stringstream bytes;
  writer.write(bytes);
  CHECK(safetensors_file(bytes).metadata() == writer.metadata);
  auto const one = random<double>(1, 1);
  writer.add("x", one), writer.add("x", one);
  CHECK_THROWS_WITH(writer.write(bytes), ContainsSubstring("an array named 'x' is there already"));
  safetensors_writer odd;
  odd.metadata["origin"] = "\xff";
  CHECK_THROWS_WITH(odd.write(bytes), ContainsSubstring("not UTF-8"));
  CHECK_THROWS_AS(odd.write("no/such.safetensors"), io_error);
  std::string const before = file.bytes();
  CHECK_THROWS_AS(odd.write(file.name), value_error);
  CHECK(file.bytes() == before);
}

TEST_CASE("a file that Python's safetensors wrote") {
  safetensors_file file(data("python.safetensors"));
  auto const A = file.read<sparse_tensor<double>>("A");
  CHECK(same_numbers(to_dense(A), std::vector<double>{0, 1.5, 0, -2, 0, 4}));
  CHECK(same_numbers(to_dense(file.read<Wide>("T")), std::vector<C>{3, 0, 0, C(0, 5)}));
  CHECK(same_numbers(file.read<matrix<double>>("dense"), std::vector<double>{1, 2, 3, 4, 5, 6}));
  CHECK(file.metadata().at("origin") == "safetensors.numpy.save_file");
}

TEST_CASE("a shard that save(path, D, x) wrote is a file like any other") {
  safetensors_file file(data("saved.1.1.safetensors"));  // of two ranks, the second half of a grid of 3 x 2
  auto const A = problems::poisson({3, 2});
  CHECK(same_numbers(to_dense(file.read<sparse_tensor<double>>("0")), to_dense(rows(A, 3, 6))));
  CHECK(same_numbers(file.read<vector<C>>("1"), std::vector<C>{C(3, -0.5), C(4, -0.5), C(5, -0.5)}));
  CHECK(file.entries().at("crc32c").shape == std::vector<index_t>{1});
}

TEST_CASE("triplets, rows out of order, and integers of other widths are read") {
  std::string file = file_of(R"({"__metadata__":{"shape":"[2, 3]"},"values":{"dtype":"F64","shape":[3],"data_offsets":[0,24]},)"
                             R"("row":{"dtype":"I64","shape":[3],"data_offsets":[24,48]},"col":{"dtype":"I16","shape":[3],"data_offsets":[48,54]}}   )", 54);
  auto put = [&](std::size_t at, auto value) { std::copy_n(reinterpret_cast<char const*>(&value), sizeof value, file.data() + file.size() - 54 + at); };
  put(0, 1.0), put(8, 2.0), put(16, 4.0), put(24, std::int64_t(1)), put(40, std::int64_t(1)), put(48, std::int16_t(2)), put(50, std::int16_t(1));
  std::istringstream in(file);
  CHECK(same_numbers(to_dense(safetensors_file(in).read<sparse_tensor<double>>()), std::vector<double>{0, 2, 0, 4, 0, 1}));
  put(24, std::int64_t(7));
  CHECK_THAT(error_of<sparse_tensor<double>>(file, ""), ContainsSubstring("f:0:0: safetensors: triplet 0: row 7 of a 2 x 3 matrix"));
}

TEST_CASE("each lie of a header is one error that names the file") {
  std::string const good = R"({"b":{"dtype":"F64","shape":[2],"data_offsets":[0,16]}})";
  CHECK(error_of(file_of(good, 16)) == "no error");
  auto fails = [](std::string const& file, std::string const& message) {
    CHECK_THAT(error_of(file), ContainsSubstring("f:0:0: safetensors: ") && ContainsSubstring(message));
  };
  for (std::size_t length = 0; length < file_of(good, 16).size(); ++length)
    CHECK(error_of(file_of(good, 16).substr(0, length)) != "no error");
  fails("", "the file has 0 bytes");
  fails(std::string(8, '\xff'), "a header of 18446744073709551615 bytes, where the format allows 100000000");
  fails(file_of(good, 16).substr(0, 20), "a header of 55 bytes in a file of 20; it was cut short");
  fails(file_of(good, 15), "the array 'b' of shape 2 is larger than the file");
  fails(file_of(good, 17), "the arrays end at byte 16, but the file has 17 behind the header");
  fails(file_of(good + "x", 16), "the header is not JSON");
  fails(file_of("[]", 0), "the header is not a JSON object");
  fails(file_of(std::string(100000, '['), 0), "the header is not a JSON object");

  auto entry = [](std::string const& b) { return R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},"b":)" + b + "}"; };
  auto array = [&](char const* dtype, char const* shape, char const* offsets) {
    return entry(text(R"({"dtype":")", dtype, R"(","shape":)", shape, R"(,"data_offsets":)", offsets, "}"));
  };
  CHECK(error_of(file_of(array("F32", "[4]", "[8,24]"), 16 + 8)) == "no error");
  fails(file_of(array("F64", "[2]", "[4,20]"), 20), "the array 'b' begins at byte 4, where the arrays before it end at 8; arrays do not overlap");
  fails(file_of(array("F64", "[2]", "[9,25]"), 25), "there are no gaps");
  fails(file_of(array("F64", "[2]", "[8,32]"), 24), "the array 'b' ends at byte 32 of 24");
  fails(file_of(array("F64", "[3]", "[8,24]"), 24), "the array 'b' of type F64 and shape 3 has 16 bytes; it needs 24");
  fails(file_of(array("F64", "[1152921504606846976,16]", "[8,24]"), 24), "of shape 1152921504606846976 x 16 is larger than the file");
  fails(file_of(array("F64", "[4611686018427387904,4,0]", "[8,24]"), 24), "has 16 bytes; it needs 0");
  fails(file_of(array("F64", "[2]", "[24,8]"), 24), "the end is not before the begin");
  fails(file_of(array("F65", "[2]", "[8,24]"), 24), "the array 'b' is of the unknown type 'F65'");
  fails(file_of(array("F64", "[-2]", "[8,24]"), 24), "the header has the number -2 in 'shape' of 'b'");
  fails(file_of(array("F64", "[2.5]", "[8,24]"), 24), "the number 2.5");
  fails(file_of(array("F64", "[18446744073709551615]", "[8,24]"), 24), "the number 18446744073709551615");
  fails(file_of(array("F64", "[2]", "[8,16,24]"), 24), "the array 'b' has 3 data_offsets");
  fails(file_of(array("F64", "[[2]]", "[8,24]"), 24), "a value of the wrong kind in 'shape' of 'b'");
  fails(file_of(array("F64", "null", "[8,24]"), 24), "a value of the wrong kind");
  fails(file_of(array("F64", ("[" + std::string(200, '1') + "]").c_str(), "[8,24]"), 24), "sizes and offsets are integers");
  fails(file_of(entry(R"({"dtype":"F64","shape":[2]})"), 24), "the array 'b' has no 'data_offsets'");
  fails(file_of(entry(R"({"dtype":"F64","dtype":"F64"})"), 24), "'dtype' of 'b' twice");
  fails(file_of(entry(R"({"offset":1})"), 24), "'offset' of 'b'");
  fails(file_of(R"({"b":{"dtype":"U8","shape":[],"data_offsets":[0,1]},"b":{}})", 1), "the header has 'b' twice");
  fails(file_of(R"({"__metadata__":{"a":1}})", 0), "in 'a' of '__metadata__'; metadata are texts");
}

TEST_CASE("arrays that are not what is asked for") {
  auto const file = file_of(R"({"b":{"dtype":"F64","shape":[2],"data_offsets":[0,16]},"i":{"dtype":"I32","shape":[1],"data_offsets":[16,20]},)"
                            R"("z":{"dtype":"C64","shape":[1],"data_offsets":[20,28]}})", 28);
  CHECK(error_of(file, "b") == "no error");
  CHECK(error_of<vector<std::complex<float>>>(file, "z") == "no error");
  CHECK_THAT(error_of(file, "x"), ContainsSubstring("there is no array 'x'; there are: 'b', 'i', 'z'"));
  CHECK_THAT(error_of<vector<std::complex<float>>>(file, "b"), ContainsSubstring("'b' is of type F64, which float does not hold; read it with double"));
  CHECK_THAT(error_of(file, "i"), ContainsSubstring("'i' is of type I32, where F32 and F64 are read as values"));
  CHECK_THAT(error_of(file, "z"), ContainsSubstring("'z' is of type C64, where F32 and F64 are read as values"));
  CHECK_THAT(error_of<matrix<double>>(file, "b"), ContainsSubstring("'b' is of shape 2, where 2 axes are wanted"));
  CHECK_THAT((error_of<sparse_tensor<double>>(file, "b")), ContainsSubstring("the metadata have no 'b.shape'"));

  std::stringstream bytes;
  safetensors_writer writer;
  auto const A = to_batch<3>(cast<C>(to<Dia>(problems::poisson({2, 2}))));
  auto const z = random<C>(2, 1);
  writer.add("A", A), writer.add("z", z);
  auto written = [&](char const* key, char const* value) {
    auto changed = writer;
    changed.metadata[key] = value;
    std::stringstream out;
    changed.write(out);
    return out.str();
  };
  CHECK(error_of<Batched>(written("a", ""), "A") == "no error");
  auto fails = [](std::string const& file_bytes, std::string const& message) {
    CHECK_THAT(error_of<Batched>(file_bytes, "A"), ContainsSubstring(message));
  };
  fails(written("A.shape", "[3, 5, 4]"), "row_ptr of 5 numbers for 5 rows");
  fails(written("A.shape", "[3, 4, 3]"), "column 3 of a 4 x 3 matrix");
  fails(written("A.shape", "[2, 4, 4]"), "extent 2 on axis 0, where the type says 3");
  fails(written("A.shape", "[3, 4, -4]"), "'A.shape' are '[3, 4, -4]', not a list of sizes");
  for (char const* list : {"3 4 4", "[3, 4 4]", "[3, 4, 4,]", "[", "[3, 4, 4] "}) fails(written("A.shape", list), "not a list of sizes");
  fails(written("A.sparse_axes", "[0, 1]"), "with the sparse axes 0 x 1, where the type has 1 axes of batches");
  CHECK_THAT(error_of<Wide>(written("a", ""), "A"), ContainsSubstring("shape 3 x 4 x 4 with the sparse axes 1 x 2, where the type has 0 axes"));
  CHECK_THAT(error_of(written("a", ""), "z"), ContainsSubstring("'z' has complex numbers"));
}

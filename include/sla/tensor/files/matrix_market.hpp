// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reading Matrix Market files: coordinate files as sparse tensors, array files as dense ones.
// Writing is in tensor/files/matrix_market_write.hpp.
#pragma once

#include <algorithm>
#include <concepts>
#include <istream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sla/tensor/build/build.hpp>
#include <sla/tensor/files/files.hpp>
#include <sla/tensor/files/text_lines.hpp>
#include <sla/tensor/storage/dense.hpp>

namespace sla {

/// How a file's entries stand for their mirror images: not at all, a_ji = a_ij, a_ji = -a_ij, a_ji = conj(a_ij).
enum class matrix_symmetry { general, symmetric, skew_symmetric, hermitian };

namespace detail {
inline constexpr char const* symmetry_names[] = {"general", "symmetric", "skew-symmetric", "hermitian"};

enum class market_field { real, complex, integer, pattern };
inline constexpr char const* field_names[] = {"real", "complex", "integer", "pattern"};

struct market_header {
  market_field field;
  matrix_symmetry symmetry;
  index_t rows, cols, entries;
};

/// Which of the choices the next word of the file is, in upper or lower case.
std::size_t one_of(auto& lines, std::span<char const* const> choices) {
  std::string expected;
  for (std::size_t k = 0; k < choices.size(); ++k)
    expected += text(k == 0 ? "" : k + 1 < choices.size() ? ", " : " or ", "'", choices[k], "'");
  std::string_view const token = lines.word();
  auto same = [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b);
  };
  for (std::size_t k = 0; k < choices.size(); ++k) {
    std::string_view const name = choices[k];
    if (std::equal(token.begin(), token.end(), name.begin(), name.end(), same)) return k;
  }
  lines.fail_last(expected);
}

/// The header, the comments and the line of sizes. T is what the values become.
template <class T>
market_header read_market_header(auto& lines, bool dense) {
  constexpr char const *banner[] = {"%%MatrixMarket"}, *object[] = {"matrix"}, *formats[] = {"coordinate", "array"};
  lines.next();
  lines.refuse_gzipped("read_matrix_market_gzip of <sla/adapter/gzip.hpp>");
  one_of(lines, banner);
  one_of(lines, object);
  bool const is_array = one_of(lines, formats) == 1;
  if (is_array != dense)
    lines.fail_last(dense ? "'array'; a coordinate file is read by read_matrix_market"
                          : "'coordinate'; an array file is read by read_matrix_market_dense");
  market_header header{};
  header.field = market_field(one_of(lines, field_names));
  if (header.field == market_field::complex && !is_complex<T>)
    lines.fail_last("real values; a complex file is read with std::complex<double>, as in "
                    "read_matrix_market<std::complex<double>>");
  if (header.field == market_field::pattern && dense)
    lines.fail_last("'real', 'complex' or 'integer' in an array file");
  header.symmetry = matrix_symmetry(one_of(lines, symmetry_names));
  if (header.symmetry == matrix_symmetry::hermitian && header.field != market_field::complex)
    lines.fail_last(text("'general' or 'symmetric': a ", field_names[int(header.field)], " matrix is not hermitian"));
  if (header.symmetry == matrix_symmetry::skew_symmetric && header.field == market_field::pattern)
    lines.fail_last("'general' or 'symmetric': a pattern has no signs");
  lines.expect_end("the symmetry");

  auto size = [&](char const* what) {
    index_t const n = lines.integer(what);
    if (n < 0) lines.fail_last(what);
    return n;
  };
  if (!lines.next_data('%'))
    lines.fail(dense ? "the line of sizes, 'rows columns'" : "the line of sizes, 'rows columns entries'");
  header.rows = size("the number of rows");
  header.cols = size("the number of columns");
  if (header.symmetry != matrix_symmetry::general && header.rows != header.cols)
    lines.fail_last(
        text("as many columns as rows (", header.rows, ") in a ", symmetry_names[int(header.symmetry)], " file"));
  if (!dense) header.entries = size("the number of entries");
  lines.expect_end("the sizes");
  return header;
}

template <class R>
inline constexpr char const* real_name = std::same_as<R, float> ? "a float" : "a double";

/// A number, rounded to R.
template <class R>
R read_market_number(auto& lines, char const* expected) {
  double const number = lines.number(expected);
  if (std::isfinite(number) && !std::isfinite(R(number))) lines.fail_last(text("a number that ", real_name<R>, " can hold; read the file with double"));
  return R(number);
}
/// An integer, which R holds as it is.
template <class R>
R read_market_integer(auto& lines) {
  index_t const number = lines.integer("an integer value");
  R const value = R(number);
  if (value >= R(0x1p63) || index_t(value) != number)
    lines.fail_last(text("an integer that ", real_name<R>, " holds exactly; where it may be rounded, the file's first line says real instead of integer"));
  return value;
}

/// The value at the cursor, as the header's field says.
template <class T>
T read_market_value(auto& lines, market_header const& header, assembly options) {
  using R = real_t<T>;
  if (header.field == market_field::pattern) return T(1);
  T value;
  if (header.field == market_field::integer) {
    value = T(read_market_integer<R>(lines));
  } else if constexpr (is_complex<T>) {
    R const re = read_market_number<R>(lines, "a value");
    value = header.field == market_field::complex ? T(re, read_market_number<R>(lines, "the imaginary part of a value")) : T(re);
  } else {
    value = read_market_number<R>(lines, "a value");
  }
  if (options.refuse_nonfinite && !is_finite(to_kernel(value))) lines.fail_last("a finite value");
  return value;
}

/// The mirror image of a value; on the diagonal it must be the value itself.
template <class T>
T mirrored(T value, matrix_symmetry symmetry) {
  auto const v = to_kernel(value);
  return T(symmetry == matrix_symmetry::skew_symmetric ? -v : symmetry == matrix_symmetry::hermitian ? conj_of(v) : v);
}

void expect_end_of_file(auto& lines, index_t count) {
  if (lines.next_data('%')) lines.fail(text("the end of the file after ", count, " entries"));
}

/// What the entries of a coordinate file stand for.
template <class T>
class market_entries {
public:
  market_entries(market_header const& header, assembly options) : header_(header), options_(options) {}
  /// add(row, column, value) of the entry on this line, and of its mirror image.
  template <class Add>
  void read(auto& lines, Add const& add) {
    auto index = [&](index_t extent, char const* what) {
      index_t const n = lines.integer(what);
      if (n < 1 || n > extent) lines.fail_last(text(what, " from 1 to ", extent));
      return n - 1;
    };
    bool const general = header_.symmetry == matrix_symmetry::general;
    index_t const i = index(header_.rows, "a row index"), j = index(header_.cols, "a column index");
    if (!general && i != j) {
      if (triangle_ == (i < j ? -1 : 1))
        lines.fail_last(text("entries of one triangle only in a ", symmetry_names[int(header_.symmetry)], " file"));
      triangle_ = i < j ? 1 : -1;
    }
    T const value = read_market_value<T>(lines, header_, options_);
    lines.expect_end("an entry");
    add(i, j, value);
    if (general) return;
    T const mirror = mirrored(value, header_.symmetry);
    if (i != j)
      add(j, i, mirror);
    else if (mirror != value && value == value)
      lines.fail_last(
          text("a diagonal entry that is its own mirror image in a ", symmetry_names[int(header_.symmetry)], " file"));
  }
  /// -1: there were entries below the diagonal, +1: above; entries of both would be counted twice.
  int triangle() const { return triangle_; }

private:
  market_header header_;
  assembly options_;
  int triangle_ = 0;
};

template <class T, class F>
sparse_tensor<T, Matrix, F> read_market(std::istream& in, std::string const& name, assembly options) {
  using Index = typename F::col_type;
  text_lines lines(in, name);
  auto const header = read_market_header<T>(lines, false);
  narrowed<Index>(header.rows, text(name, ": the number of rows,").c_str(), wide_columns);
  narrowed<Index>(header.cols, text(name, ": the number of columns,").c_str(), wide_columns);
  bool const general = header.symmetry == matrix_symmetry::general;

  std::vector<Index> row, col;
  std::vector<T> values;
  std::size_t const expected = std::size_t((std::min)(header.entries, index_t(1) << 16)) * (general ? 1 : 2);
  row.reserve(expected), col.reserve(expected), values.reserve(expected);
  market_entries<T> entries(header, options);
  for (index_t k = 0; k < header.entries; ++k) {
    if (!lines.next_data('%')) lines.fail(text("entry ", k + 1, " of ", header.entries));
    entries.read(lines, [&](index_t i, index_t j, T value) { row.push_back(Index(i)), col.push_back(Index(j)), values.push_back(value); });
  }
  expect_end_of_file(lines, header.entries);
  if (!options.allow_empty_rows)
    refuse_emptiness(text(name, ": "), header.rows, "rows", index_t(row.size()), "read it with assembly{.allow_empty_rows = true}");
  return from_triplets<T, F>(header.rows, header.cols, row, col, values);
}

template <class T>
matrix<T> read_market_dense(std::istream& in, std::string const& name, assembly options) {
  text_lines lines(in, name);
  auto const header = read_market_header<T>(lines, true);
  if (header.cols > 0 && header.rows > (std::numeric_limits<index_t>::max)() / 16 / header.cols)
    throw shape_error(text(name, ": an array of ", header.rows, " x ", header.cols, " does not fit into memory"));
  bool const general = header.symmetry == matrix_symmetry::general;
  index_t const skip = header.symmetry == matrix_symmetry::skew_symmetric ? 1 : 0;
  std::vector<T> values; // what the file has, not what its header claims
  index_t const cols = header.rows > 0 ? header.cols : 0; // of nothing there may be any number
  for (index_t j = 0; j < cols; ++j)
    for (index_t i = general ? 0 : j + skip; i < header.rows; ++i) {
      if (!lines.next_data('%')) lines.fail(text("the value at row ", i + 1, ", column ", j + 1));
      values.push_back(read_market_value<T>(lines, header, options));
      lines.expect_end("a value");
    }
  matrix<T> A({header.rows, header.cols});
  index_t count = 0;
  for (index_t j = 0; j < cols; ++j)
    for (index_t i = general ? 0 : j + skip; i < header.rows; ++i) {
      T const value = values[std::size_t(count++)];
      A(i, j) = value;
      if (!general && i != j) A(j, i) = mirrored(value, header.symmetry);
    }
  expect_end_of_file(lines, count);
  return A;
}
} // namespace detail

/// The sparse matrix of a Matrix Market coordinate file: real, complex, integer or pattern (ones); the mirror images of
/// symmetric, skew-symmetric and hermitian files are filled in, repeated entries summed. Comments and blank lines may
/// stand anywhere, lines may end in CR LF. NaN and infinities are read unless `assembly{.refuse_nonfinite = true}`.
///     auto A = read_matrix_market<double>("1138_bus.mtx");   auto C = read_matrix_market<float, Coo<>>(stream,
///     "name");
/// Cost: linear in the length of the file, about 25 bytes per entry beside the result; memory is asked for as entries are
/// read, whatever the header claims. Reals are rounded to T, integers never. Errors: io_error with file, line and column, what was found there and what was
/// expected; more than 4 million rows with an entry in less than every 256th, unless `assembly{.allow_empty_rows = true}`.
/// Source: Boisvert, Pozo, Remington, The Matrix Market Exchange Formats (NISTIR 5935, 1996).
template <Scalar T, class F = Csr<>>
sparse_tensor<T, Matrix, detail::whole_format<F>> read_matrix_market(std::istream& in, std::string const& name = "stream",
                                               assembly options = {}) {
  return detail::read_market<T, detail::whole_format<F>>(in, name, options);
}
template <Scalar T, class F = Csr<>>
sparse_tensor<T, Matrix, detail::whole_format<F>> read_matrix_market(std::string const& path, assembly options = {}) {
  return detail::with_file<std::ifstream>(
      path, [&](std::istream& in) { return detail::read_market<T, detail::whole_format<F>>(in, path, options); });
}
/// Refused: a file does not say in which type its numbers are wanted.
template <class Where, class... None>
  requires(sizeof...(None) == 0 && (std::convertible_to<Where, std::string> || std::convertible_to<Where, std::istream&>))
sparse_tensor<double> read_matrix_market(Where&&, None const&...) {
  static_assert(always_false<Where>, "sla: read_matrix_market<T>(path): name the type of the entries: read_matrix_market<double>(\"A.mtx\")");
  return {};
}

/// The dense matrix of a Matrix Market array file, row-major (the file counts down columns). Errors: as above.
template <Scalar T>
matrix<T> read_matrix_market_dense(std::istream& in, std::string const& name = "stream", assembly options = {}) {
  return detail::read_market_dense<T>(in, name, options);
}
template <Scalar T>
matrix<T> read_matrix_market_dense(std::string const& path, assembly options = {}) {
  return detail::with_file<std::ifstream>(
      path, [&](std::istream& in) { return detail::read_market_dense<T>(in, path, options); });
}

/// The same for a file of one column, as right-hand sides are.
template <Scalar T>
vector<T> read_matrix_market_vector(std::istream& in, std::string const& name = "stream", assembly options = {}) {
  matrix<T> column = detail::read_market_dense<T>(in, name, options);
  if (column.extent(1) != 1)
    throw shape_error(text(name, ": an array of ", to_string(column.extents()), ", where a vector has one column"));
  return {Extents<dyn>(column.extent(0)), std::move(column.values())};
}
template <Scalar T>
vector<T> read_matrix_market_vector(std::string const& path, assembly options = {}) {
  return detail::with_file<std::ifstream>(
      path, [&](std::istream& in) { return read_matrix_market_vector<T>(in, path, options); });
}

} // namespace sla

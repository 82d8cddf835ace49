// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PETSc's binary files: `read_petsc<double>(path)`, `read_petsc_vector<double>(path)`, `write_petsc(path, A, b)`. Files that no rank has whole are in
// dist/files/petsc_on_ranks.hpp.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <sla/core/held.hpp>
#include <sla/tensor/build/borrow.hpp>
#include <sla/tensor/files/shard_file.hpp>
#include <sla/tensor/storage/dense.hpp>

namespace sla {

namespace detail {

/// What such a file has one after the other, by its first number.
enum class petsc_class : index_t { vector = 1211214, matrix = 1211216, indices = 1211218 };

/// The number whose bytes lie the other way round, as they do in such a file on a little-endian machine.
template <class Number>
Number big_endian(Number n) {
  if constexpr (is_complex<Number>) {
    return {big_endian(n.real()), big_endian(n.imag())};
  } else {
    if constexpr (std::endian::native == std::endian::little) {
      char bytes[sizeof(Number)];
      std::memcpy(bytes, &n, sizeof n);
      std::reverse(bytes, bytes + sizeof n);
      std::memcpy(&n, bytes, sizeof n);
    }
    return n;
  }
}

/// One object of a file: a matrix of `entries`, or a vector of `rows`; `at` is where its numbers begin, and `width` the bytes of an integer.
struct petsc_object {
  petsc_class what = petsc_class::matrix;
  index_t rows = 0, cols = 1, entries = 0, at = 0;
  int width = 4;
  index_t col_at() const { return at + rows * width; }
  index_t value_at() const { return what == petsc_class::matrix ? col_at() + entries * width : at; }
};

/// `count` numbers that a file has as From, at a place.
template <class From, class To>
void read_big_endian(ranged_file const& file, index_t at, index_t count, To* to) {
  std::vector<From> piece(std::size_t((std::min)(count, index_t(1) << 13)));
  for (index_t k = 0; k < count; k += index_t(piece.size())) {
    index_t const n = (std::min)(count - k, index_t(piece.size()));
    file.read(at + k * index_t(sizeof(From)), n * index_t(sizeof(From)), piece.data());
    for (index_t j = 0; j < n; ++j) to[k + j] = To(big_endian(piece[std::size_t(j)]));
  }
}
template <class = void>
void read_petsc_integers(ranged_file const& file, petsc_object const& o, index_t at, index_t count, index_t* to) {
  o.width == 4 ? read_big_endian<std::int32_t>(file, at, count, to) : read_big_endian<std::int64_t>(file, at, count, to);
}

/// The first matrix or vector of a file whose scalars are T. Errors: io_error with its name.
template <class T>
petsc_object find_petsc(ranged_file const& file, petsc_class wanted) {
  petsc_object o;
  index_t const scalar = index_t(sizeof(T));
  auto const bytes = [&](index_t count, index_t each) {  // which are in the file
    if (count < 0 || count > file.size() / each)
      file.fail(text("the object whose numbers begin at byte ", o.at, " of ", file.size(), " has ", count, " of them; the file was cut short, or its scalars are not of ", scalar, " bytes"));
    return count * each;
  };
  index_t first[1] = {};
  read_petsc_integers(file, o, 0, 1, first);
  if (first[0] == 0) o.width = 8;  // integers of 64 bits begin with zeros
  petsc_object found;
  bool is_found = false;
  for (index_t begin = 0; begin < file.size();) {
    index_t number[4] = {};
    o.at = begin;
    read_petsc_integers(file, o, o.at, 2, number);
    o.what = petsc_class(number[0]), o.rows = number[1];
    o.at += 2 * o.width;
    if (o.what == petsc_class::matrix) {
      read_petsc_integers(file, o, o.at, 2, number + 2);
      o.cols = number[2], o.entries = number[3], o.at += 2 * o.width;
      if (o.cols < 0) file.fail(text("a matrix at byte ", begin, " has ", o.cols, " columns"));
      if (o.entries == -1 && wanted == o.what) file.fail("the matrix is dense, and sparse ones are read; MatConvert(A, MATAIJ, ...) makes it one");
      begin = o.at + (o.entries != -1              ? bytes(o.rows, o.width) + bytes(o.entries, o.width) + bytes(o.entries, scalar)
                      : o.rows == 0 || o.cols == 0 ? 0
                                                   : bytes(o.rows, bytes(o.cols, scalar)));
    } else if (o.what == petsc_class::vector || o.what == petsc_class::indices) {
      begin = o.at + bytes(o.rows, o.what == petsc_class::vector ? scalar : o.width);
    } else {
      file.fail(text("at byte ", begin, " there is ", number[0], ", where a binary file of PETSc has 1211216 for a matrix or 1211214 for a vector",
                     begin > 0 ? text("; or else its scalars are not of ", scalar, " bytes, as those of the type that is read") : text()));
    }
    if (begin > file.size()) file.fail(text("the file has ", file.size(), " bytes, where ", begin, " are wanted; it was cut short, or its scalars are not of ", scalar, " bytes"));
    if (!is_found && o.what == wanted) found = o, is_found = true;
  }
  if (!is_found) file.fail(wanted == petsc_class::matrix ? "the file has no matrix" : "the file has no vector");
  return found;
}

/// Rows of a matrix: where each begins, columns, values.
template <class T>
struct petsc_rows {
  std::vector<index_t> ptr, col;
  buffer<T> values;
};
/// How many entries the rows [begin, end) have, as sums from 0 on.
template <class = void>
std::vector<index_t> read_petsc_row_ptr(ranged_file const& file, petsc_object const& o, index_t begin, index_t end) {
  std::vector<index_t> ptr(std::size_t(end - begin) + 1, 0);
  read_petsc_integers(file, o, o.at + begin * o.width, end - begin, ptr.data() + 1);
  for (std::size_t n = 1; n < ptr.size(); ++n) {
    if (ptr[n] < 0 || ptr[n] > o.entries - ptr[n - 1]) file.fail(text("row ", begin + index_t(n) - 1, " has ", ptr[n], " entries, and the matrix ", o.entries));
    ptr[n] += ptr[n - 1];
  }
  return ptr;
}
/// The entries of these rows, the first of which is the `first` of the matrix.
template <class T>
petsc_rows<T> read_petsc_entries(ranged_file const& file, petsc_object const& o, std::vector<index_t> ptr, index_t first) {
  index_t const n = ptr.back();
  petsc_rows<T> out{std::move(ptr), std::vector<index_t>(std::size_t(n)), buffer<T>(n, uninitialized)};
  read_petsc_integers(file, o, o.col_at() + first * o.width, n, out.col.data());
  for (index_t j : out.col)
    if (j < 0 || j >= o.cols) file.fail(text("an entry is in column ", j, " of ", o.cols));
  read_big_endian<T>(file, o.value_at() + first * index_t(sizeof(T)), n, out.values.data());
  return out;
}
[[noreturn]] inline void fail_petsc_total(ranged_file const& file, petsc_object const& o, index_t found) {
  file.fail(text("the rows have ", found, " entries, and the matrix ", o.entries));
}

/// f(0), ..., f(count - 1) as Numbers at a place of a file.
template <class Number, class File, class F>
void write_big_endian(File& file, index_t at, index_t count, F const& f) {
  std::vector<Number> piece;
  for (index_t k = 0; k < count; k += index_t(piece.size())) {
    piece.resize(std::size_t((std::min)(count - k, index_t(1) << 13)));
    for (std::size_t j = 0; j < piece.size(); ++j) piece[j] = big_endian(Number(f(k + index_t(j))));
    file.write(at + k * index_t(sizeof(Number)), piece.data(), index_t(piece.size() * sizeof(Number)));
  }
}
template <class Index>
Index petsc_integer(index_t n) {
  return narrowed<Index>(n, "a size", "write_petsc<std::int64_t>(path, A), for a PETSc with integers of 64 bits");
}
/// An object of `rows`, and of a matrix `cols` and `entries`, as the next one of a file: `at` goes behind it.
template <class T, class Index>
petsc_object next_petsc(index_t& at, petsc_class what, index_t rows, index_t cols, index_t entries) {
  bool const is_matrix = what == petsc_class::matrix;
  petsc_object const o{what, rows, cols, entries, at + (is_matrix ? 4 : 2) * int(sizeof(Index)), int(sizeof(Index))};
  at = o.value_at() + (is_matrix ? entries : rows) * index_t(sizeof(T));
  return o;
}
template <class Index, class File>
void write_petsc_header(File& file, petsc_object const& o) {
  index_t const number[] = {index_t(o.what), o.rows, o.cols, o.entries}, count = o.what == petsc_class::matrix ? 4 : 2;
  write_big_endian<Index>(file, o.at - count * index_t(sizeof(Index)), count, [&](index_t k) { return petsc_integer<Index>(number[k]); });
}
/// The rows of A from the `first_row` on, whose entries are those of the whole from the `first` on; column(j) is the whole's.
template <class Index, class File, class T, class S, class F, class Column>
void write_petsc_rows(File& file, petsc_object const& o, index_t first_row, index_t first, sparse_tensor<T, S, F> const& A, Column const& column) {
  auto const& pattern = A.pattern();
  std::vector<std::pair<index_t, index_t>> entry;  // columns ascend in the rows of such a file
  entry.reserve(std::size_t(A.nnz()));
  for (index_t i = 0; i < A.rows(); ++i) {
    auto const begin = std::ptrdiff_t(entry.size());
    for (index_t s = pattern.row_ptr[i]; s < index_t(pattern.row_ptr[i + 1]); ++s) entry.push_back({column(index_t(pattern.col[s])), s});
    std::sort(entry.begin() + begin, entry.end());
  }
  write_big_endian<Index>(file, o.at + first_row * o.width, A.rows(), [&](index_t i) { return pattern.row_ptr[i + 1] - pattern.row_ptr[i]; });
  write_big_endian<Index>(file, o.col_at() + first * o.width, A.nnz(), [&](index_t k) { return entry[std::size_t(k)].first; });
  write_big_endian<T>(file, o.value_at() + first * index_t(sizeof(T)), A.nnz(), [&](index_t k) { return A.values()[entry[std::size_t(k)].second]; });
}

/// What stands for itself in such a file: matrices without batches and blocks, and vectors.
template <class X>
inline constexpr bool is_petsc_object = false;
template <class T, class S, class F>
inline constexpr bool is_petsc_object<sparse_tensor<T, S, F>> = S::batch_extents::rank == 0 && !S::is_blocked;
template <class T, class E>
inline constexpr bool is_petsc_object<tensor<T, E>> = E::rank == 1;

/// A file that is there already, as `replacement` makes one.
struct opened_disk : system_disk {
  template <class = void>
  int create(std::string const& name) {
    int const file = ::open(name.c_str(), O_WRONLY | O_CLOEXEC);
    if (file < 0) throw io_error(name, 0, 0, text("the file cannot be opened: ", errno_text()));
    return file;
  }
};

template <class Index, class File, class T, class S, class F>
void write_petsc_object(File& file, index_t& at, sparse_tensor<T, S, F> const& A) {
  if constexpr (is_csr<F>) {
    auto const o = next_petsc<T, Index>(at, petsc_class::matrix, A.rows(), A.cols(), A.nnz());
    write_petsc_header<Index>(file, o);
    write_petsc_rows<Index>(file, o, 0, 0, A, [](index_t j) { return j; });
  } else {
    write_petsc_object<Index>(file, at, to<csr_for_t<F>>(A));
  }
}
template <class Index, class File, class T, class E>
void write_petsc_object(File& file, index_t& at, tensor<T, E> const& x) {
  auto const o = next_petsc<T, Index>(at, petsc_class::vector, x.size(), 1, 0);
  write_petsc_header<Index>(file, o);
  write_big_endian<T>(file, o.at, x.size(), [&](index_t k) { return x[k]; });
}
} // namespace detail

/// The first matrix in a binary file of PETSc, as MatView writes one to a PETSCVIEWERBINARY. Its integers may be of 32 or 64 bits; its scalars are T:
/// double, std::complex<double> for a PETSc of complex numbers, float for one in single precision. Rows come out sorted.
/// Errors: io_error with the name of the file, if it is cut short, of another kind or of other scalars, or if the matrix is dense.
/// Source: https://petsc.org/release/manualpages/Mat/MatLoad.
template <Scalar T, class F = Csr<>>
sparse_tensor<T, Matrix, detail::whole_format<F>> read_petsc(std::string const& path) {
  detail::ranged_file const file(path);
  auto const o = detail::find_petsc<T>(file, detail::petsc_class::matrix);
  auto rows = detail::read_petsc_entries<T>(file, o, detail::read_petsc_row_ptr(file, o, 0, o.rows), 0);
  if (rows.ptr.back() != o.entries) detail::fail_petsc_total(file, o, rows.ptr.back());
  using Direct = csr_for_t<detail::whole_format<F>>;
  auto pattern = detail::shared_of<typename Direct::template pattern<host_memory>>();
  pattern->rows = o.rows, pattern->cols = o.cols;
  detail::narrowed<typename Direct::col_type>(o.cols, "the number of columns,", detail::wide_columns);
  detail::narrowed<typename Direct::ptr_type>(o.entries, "the number of entries,", "Csr<std::int32_t, std::int64_t>");
  pattern->row_ptr = buffer<typename Direct::ptr_type>(o.rows + 1, uninitialized);
  pattern->col = buffer<typename Direct::col_type>(o.entries, uninitialized);
  std::transform(rows.ptr.begin(), rows.ptr.end(), pattern->row_ptr.begin(), [](index_t n) { return typename Direct::ptr_type(n); });
  std::transform(rows.col.begin(), rows.col.end(), pattern->col.begin(), [](index_t n) { return typename Direct::col_type(n); });
  sparse_tensor<T, Matrix, Direct> A(Matrix(o.rows, o.cols), std::move(pattern), std::move(rows.values));
  if (!has_sorted_columns(A.pattern())) A = sorted(A);
  return detail::in_format<detail::whole_format<F>>(std::move(A));
}
/// The first vector in such a file, as VecView writes one. Errors: as above.
template <Scalar T>
vector<T> read_petsc_vector(std::string const& path) {
  detail::ranged_file const file(path);
  auto const o = detail::find_petsc<T>(file, detail::petsc_class::vector);
  vector<T> x(Extents<dyn>(o.rows), uninitialized);
  detail::read_big_endian<T>(file, o.at, o.rows, x.data());
  return x;
}
/// Matrices of any format and vectors, one after the other, as MatLoad and VecLoad read them: `write_petsc("system.petsc", A, b)`. A PETSc with integers of 64
/// bits reads `write_petsc<std::int64_t>(path, A, b)`. Law: no batches, no blocks. Errors: io_error, the old file is kept then; a size that 32 bits do not hold.
template <std::integral Index = std::int32_t, class... X>
  requires((is_sparse_tensor<X> || is_tensor<X>) && ...)
void write_petsc(std::string const& path, X const&... x) {
  constexpr bool fit = (detail::is_petsc_object<X> && ...);
  static_assert(fit, "sla: write_petsc(path, A, b, ...): matrices without batches and blocks, and vectors: unblocked(A), and one column of several at a time");
  if constexpr (fit) {
    detail::replacement file(path);
    detail::opened_disk disk;
    detail::new_file<detail::opened_disk> out(disk, file.name());
    index_t at = 0;
    (detail::write_petsc_object<Index>(out, at, x), ...);
    out.finish();
    file.take_place();
  }
}

} // namespace sla

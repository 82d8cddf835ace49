// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writing Matrix Market files: sparse tensors as coordinate files, dense ones as array files.
#pragma once

#include <charconv>
#include <ostream>
#include <string>
#include <string_view>

#include <sla/tensor/build/block.hpp>
#include <sla/tensor/build/borrow.hpp>
#include <sla/tensor/files/matrix_market.hpp>

namespace sla {

/// Options of write_matrix_market.
struct matrix_market_options {
  matrix_symmetry symmetry =
      matrix_symmetry::general;  ///< other than general: the lower triangle is written, once checked
  std::string_view comment = {}; ///< written behind '%', line by line
};

namespace detail {
/// Text collected and written in large pieces. Numbers are the shortest that read back as the same value.
class text_writer {
public:
  text_writer(std::ostream& out, std::string_view name) : out_(out), name_(name) {}

  text_writer& operator<<(std::string_view part) {
    pending_ += part;
    if (pending_.size() > (std::size_t(1) << 20)) flush();
    return *this;
  }
  template <class T>
  requires(std::is_arithmetic_v<T>) text_writer& operator<<(T value) {
    char digits[40];
    return *this << std::string_view(digits,
                                     std::size_t(std::to_chars(digits, digits + sizeof digits, value).ptr - digits));
  }
  template <class T>
  void value(T v) {
    *this << real_of(to_kernel(v));
    if constexpr (is_complex<T>) *this << " " << imag_of(to_kernel(v));
    *this << "\n";
  }
  template <class = void>
  void flush() {
    out_.write(pending_.data(), std::streamsize(pending_.size()));
    pending_.clear();
    if (!out_.flush()) throw io_error(std::string(name_), 0, 0, "the file cannot be written to its end");
  }

private:
  std::ostream& out_;
  std::string_view name_;
  std::string pending_;
};

template <class T>
void write_market_header(text_writer& out, char const* format, matrix_market_options const& options) {
  out << "%%MatrixMarket matrix " << format << (is_complex<T> ? " complex " : " real ")
      << symmetry_names[int(options.symmetry)] << "\n";
  for (std::string_view rest = options.comment; !rest.empty();) {
    std::size_t const end = (std::min)(rest.find('\n'), rest.size());
    out << "% " << rest.substr(0, end) << "\n";
    rest.remove_prefix((std::min)(end + 1, rest.size()));
  }
}

/// Errors: an entry of A, whose rows are sorted, is not the mirror image of its opposite.
template <class T, class S, class F>
void check_symmetry(sparse_tensor<T, S, F> const& A, matrix_symmetry symmetry, std::string_view name) {
  if (A.rows() != A.cols())
    throw shape_error(text(name, ": a ", A.rows(), " x ", A.cols(), " matrix has no symmetry; write it as general"));
  auto const view = A.pattern().view();
  auto wrong_column = [&](index_t i) {
    index_t wrong = -1;
    view.for_row(i, [&](index_t s, index_t j) {
      index_t const t = find_slot(view, j, i);
      if (wrong < 0 && (t < 0 || A.values()[s] != mirrored(A.values()[t], symmetry))) wrong = j;
    });
    return wrong;
  };
  index_t const row = first_where(A.rows(), [&](index_t i) { return wrong_column(i) >= 0; });
  if (row >= 0)
    throw value_error(text(name, ": the matrix is not ", symmetry_names[int(symmetry)], " at row ", row, ", column ",
                           wrong_column(row), "; write it as general"));
}

template <class T, class S, class F>
void write_market(std::ostream& stream, std::string_view name, sparse_tensor<T, S, F> const& A,
                  matrix_market_options const& options) {
  static_assert(!S::is_batched, "sla: write_matrix_market writes one matrix; batch_item(A, k) takes one of a batch");
  auto const B = unblocked(A);
  bool const general = options.symmetry == matrix_symmetry::general,
             skew = options.symmetry == matrix_symmetry::skew_symmetric;
  if (!general) check_symmetry(has_sorted_columns(B.pattern()) ? B : sorted(B), options.symmetry, name);

  auto const view = B.pattern().view();
  auto written = [&](index_t i, index_t j) { return general || (skew ? j < i : j <= i); };
  index_t entries = 0;
  for (index_t i = 0; i < B.rows(); ++i) view.for_row(i, [&](index_t, index_t j) { entries += written(i, j); });
  text_writer out(stream, name);
  write_market_header<T>(out, "coordinate", options);
  out << B.rows() << " " << B.cols() << " " << entries << "\n";
  for (index_t i = 0; i < B.rows(); ++i)
    view.for_row(i, [&](index_t s, index_t j) {
      if (written(i, j)) (out << i + 1 << " " << j + 1 << " ").value(B.values()[s]);
    });
  out.flush();
}

template <class T, class E>
void write_market(std::ostream& stream, std::string_view name, tensor<T, E> const& x,
                  matrix_market_options const& options) {
  static_assert(E::rank == 1 || E::rank == 2, "sla: write_matrix_market writes vectors and matrices");
  if (options.symmetry != matrix_symmetry::general)
    throw value_error(text(name, ": dense tensors are written as matrix_symmetry::general"));
  index_t const rows = x.extent(0), cols = E::rank == 2 ? x.extent(E::rank - 1) : 1;
  text_writer out(stream, name);
  write_market_header<T>(out, "array", options);
  out << rows << " " << cols << "\n";
  for (index_t j = 0; j < cols && rows > 0; ++j)
    for (index_t i = 0; i < rows; ++i) out.value(x[i * cols + j]);
  out.flush();
}
} // namespace detail

/// A as a Matrix Market file: a sparse tensor as a coordinate file (blocks as their scalars), a vector or matrix as an
/// array file. Values read back bit for bit.
///     write_matrix_market("K.mtx", K, {.symmetry = matrix_symmetry::symmetric, .comment = "stiffness"});
/// Errors: A does not have the symmetry asked for (the place is named); the file cannot be written. The old file is kept then:
/// the new one takes its place when it is whole.
template <class X>
requires(is_sparse_tensor<X> || is_tensor<X>) void write_matrix_market(std::ostream& out, X const& A,
                                                                       matrix_market_options const& options = {}) {
  detail::write_market(out, "stream", A, options);
}
template <class X>
requires(is_sparse_tensor<X> || is_tensor<X>) void write_matrix_market(std::string const& path, X const& A,
                                                                       matrix_market_options const& options = {}) {
  detail::write_file<std::ofstream>(path, [&](std::ostream& out) { detail::write_market(out, path, A, options); });
}

/// Refused: the arguments in another order.
template <class X, class Where>
requires(is_sparse_tensor<X> || is_tensor<X>) void write_matrix_market(X const&, Where const&, matrix_market_options const& = {}) {
  static_assert(always_false<X>, "sla: write_matrix_market(where, A): the path or stream comes first, then what is written");
}

} // namespace sla

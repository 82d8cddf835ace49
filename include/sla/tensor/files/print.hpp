// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `std::cout << A`: a little matrix as a table of its elements, a large one as a picture of its pattern. All elements, whatever
// their number, are `std::cout << to_dense(A)`.
#pragma once

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include <sla/tensor/arrange/sparse_list.hpp>
#include <sla/tensor/build/build.hpp>
#include <sla/tensor/files/spy.hpp>

namespace sla {

namespace detail {
/// What says itself in a line: extents, methods, preconditioners, prepared solvers, reasons, lists, ...
template <class X>
concept InWords = (std::is_class_v<X> || std::is_enum_v<X>)&&requires(X const& x) {
  { to_string(x) } -> std::convertible_to<std::string>;
};
/// As an element stands in the stream: with its precision and notation.
template <class T>
std::string as_printed(std::ostream const& like, T const& value) {
  std::string text;
  text_buffer buffer(text);
  std::ostream out(&buffer);
  out.precision(like.precision());
  out.flags(like.flags());
  out << value;
  return text;
}

/// The rows of one item, a line each, columns aligned to the right; a dot where nothing is stored.
template <class T, class S, class F>
void print_table(std::ostream& out, sparse_tensor<T, S, F> const& A, index_t item) {
  constexpr index_t p = S::block_rows, q = S::block_cols;
  index_t const rows = A.rows() * p, cols = A.cols() * q;
  std::vector<T> sum(std::size_t(rows * cols));
  std::vector<std::string> cell(sum.size(), ".");
  T const* const values = A.values().data() + item * A.batch_stride();
  for (index_t i = 0; i < A.rows(); ++i)
    A.pattern().view().for_row(i, [&](index_t s, index_t j) {
      for (index_t e = 0; e < p * q; ++e) {
        auto const at = std::size_t((i * p + e / q) * cols + j * q + e % q);
        cell[at] = as_printed(out, sum[at] += values[s * p * q + e]);
      }
    });
  for (index_t i = 0; i < rows; ++i)
    for (index_t j = 0; j < cols; ++j) {
      std::size_t width = 0;
      for (index_t k = 0; k < rows; ++k) width = (std::max)(width, cell[std::size_t(k * cols + j)].size());
      std::string const& text = cell[std::size_t(i * cols + j)];
      out << std::string(width - text.size() + (j > 0), ' ') << text << (j + 1 == cols ? "\n" : "");
    }
}
} // namespace detail

/// Whatever has a `to_string`, in its line. Any operator of the user's own for streams is the better match.
template <class Traits, detail::InWords X>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, X const& x) {
  return out << std::string(to_string(x));
}
/// "2 systems, 18 x 18 in all, 66 entries".
template <class T, class S, class F>
std::string to_string(sparse_list<T, S, F> const& L) {
  return text(L.count(), L.count() == 1 ? " system, " : " systems, ", L.packed().rows(), " x ", L.packed().cols(), " in all, ", L.nnz(), " entries");
}
/// "triplets of a 3 x 3 matrix, 5 so far".
template <class T>
std::string to_string(triplets<T> const& t) {
  return text("triplets of a ", t.rows(), " x ", t.cols(), " matrix, ", t.size(), " so far");
}

/// At most 12 columns and, in all items of a batch, 20 rows: a line with extents and entries, then the elements, those of blocks
/// apart; a dot is what is not stored. Larger: `spy(A)` in at most 20 lines.
template <class T, class S, class F>
std::ostream& operator<<(std::ostream& out, sparse_tensor<T, S, F> const& A) {
  index_t const rows = A.rows() * S::block_rows, cols = A.cols() * S::block_cols;
  if (cols > 12 || rows * A.batch_count() > 20) {
    constexpr index_t cells = 4 * 17;  // in 17 lines, between a caption and a frame
    return out << spy(A, (std::clamp)(A.cols() * cells / (std::max)(index_t(1), A.rows()), index_t(1), index_t(144)));
  }
  out << spy(A, 1).caption() << '\n';
  for (index_t b = 0; b < A.batch_count(); ++b) {
    if constexpr (S::is_batched) out << "item " << b << '\n';
    detail::print_table(out, A, b);
  }
  return out;
}

} // namespace sla

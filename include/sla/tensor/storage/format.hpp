// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Formats: where the stored entries of a sparse tensor are. A format is a type between < >; its pattern owns the indices,
// its view walks a row: `for_row(i, f)` calls f(slot, column). Values are kept apart, [*batch][slot][*block].
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <sla/core/shape.hpp>
#include <sla/tensor/storage/memory.hpp>

namespace sla {

namespace detail {
template <class Int>
constexpr char const* width_name() {
  if constexpr (std::unsigned_integral<Int>) return "an unsigned index";
  return sizeof(Int) == 8 ? "std::int64_t" : sizeof(Int) == 4 ? "std::int32_t" : sizeof(Int) == 2 ? "std::int16_t" : "std::int8_t";
}
/// n as an Int, or an error that names the type to use.
template <class Int>
Int narrowed(index_t n, char const* what, char const* remedy) {
  if (!std::in_range<Int>(n))
    throw shape_error(text(what, " ", n, " does not fit into ", width_name<Int>(), "; use the format ", remedy));
  return Int(n);
}
} // namespace detail

/// Compressed sparse rows. `Col` holds columns, `Ptr` positions: 5e9 entries need `Csr<std::int32_t, std::int64_t>`.
template <class Col, class Ptr>
struct csr_view {
  Ptr const* row_ptr;
  Col const* col;
  index_t rows, cols;

  SLA_AS_CALLEE
  template <class F>
  SLA_HD void for_row(index_t i, F&& f) const {
    for (index_t s = row_ptr[i], last = row_ptr[i + 1]; s < last; ++s) f(s, index_t(col[s]));
  }
  /// Stored entries in the rows before i: threads share rows by it.
  SLA_HD index_t entries_before(index_t i) const { return row_ptr[i]; }
};

/// The indices of Csr: row i holds the entries row_ptr[i] .. row_ptr[i + 1] - 1.
template <class Col, class Ptr, class Memory>
struct csr_pattern {
  index_t rows = 0, cols = 0;
  buffer<Ptr, Memory> row_ptr;
  buffer<Col, Memory> col;

  /// A pattern without entries.
  static csr_pattern none(index_t rows, index_t cols) {
    csr_pattern p;
    p.rows = rows, p.cols = cols, p.row_ptr = buffer<Ptr, Memory>(rows + 1);
    return p;
  }
  index_t nnz() const { return col.size(); }
  index_t slots() const { return col.size(); }
  std::size_t bytes() const { return row_ptr.bytes() + col.bytes(); }
  csr_view<Col, Ptr> view() const { return {row_ptr.data(), col.data(), rows, cols}; }
};

/// Compressed sparse rows, the default format. Col is the type of column indices, Ptr the type that counts entries:
/// `Csr<std::int32_t, std::int64_t>` for more than 2^31 - 1 of them.
template <std::integral Col = std::int32_t, std::integral Ptr = Col>
struct Csr {
  using col_type = Col;
  using ptr_type = Ptr;
  template <class Memory>
  using pattern = csr_pattern<Col, Ptr, Memory>;
};

/// Coordinates, sorted by row, then column. `Index` holds rows, columns and the number of entries.
template <class Index>
struct coo_view {
  Index const *row, *col;
  index_t count, rows, cols;

  SLA_HD index_t entries_before(index_t i) const {
    index_t lo = 0, hi = count;
    while (lo < hi) {
      index_t const mid = lo + (hi - lo) / 2;
      if (row[mid] < i)
        lo = mid + 1;
      else
        hi = mid;
    }
    return lo;
  }
  SLA_AS_CALLEE
  template <class F>
  SLA_HD void for_row(index_t i, F&& f) const {
    for (index_t s = entries_before(i); s < count && row[s] == i; ++s) f(s, index_t(col[s]));
  }
};

/// The indices of Coo: a row and a column for each entry.
template <class Index, class Memory>
struct coo_pattern {
  index_t rows = 0, cols = 0;
  buffer<Index, Memory> row, col;

  /// A pattern without entries.
  static coo_pattern none(index_t rows, index_t cols) {
    coo_pattern p;
    p.rows = rows, p.cols = cols;
    return p;
  }
  index_t nnz() const { return col.size(); }
  index_t slots() const { return col.size(); }
  std::size_t bytes() const { return row.bytes() + col.bytes(); }
  coo_view<Index> view() const { return {row.data(), col.data(), nnz(), rows, cols}; }
};

/// Coordinates: a row and a column index for each entry, sorted by rows, then columns.
template <std::integral Index = std::int32_t>
struct Coo {
  using col_type = Index;
  using ptr_type = Index;
  template <class Memory>
  using pattern = coo_pattern<Index, Memory>;
};

/// Stored diagonals, the wide format: slot d * rows + i holds A(i, i + offset[d]); slots outside of the matrix hold 0.
struct dia_view {
  index_t const* offset;
  index_t diagonals, rows, cols;

  SLA_AS_CALLEE
  template <class F>
  SLA_HD void for_row(index_t i, F&& f) const {
    for (index_t d = 0; d < diagonals; ++d) {
      index_t const j = i + offset[d];
      if (j >= 0 && j < cols) f(d * rows + i, j);
    }
  }
  SLA_HD index_t entries_before(index_t i) const { return i * diagonals; }
};

/// The diagonals of Dia, by their offsets: column - row.
template <class Memory>
struct dia_pattern {
  index_t rows = 0, cols = 0;
  buffer<index_t, Memory> offset;  ///< ascending
  index_t entries = 0;             ///< slots that lie inside of the matrix

  /// A pattern without entries.
  static dia_pattern none(index_t rows, index_t cols) {
    dia_pattern p;
    p.rows = rows, p.cols = cols;
    return p;
  }
  index_t nnz() const { return entries; }
  index_t slots() const { return offset.size() * rows; }
  std::size_t bytes() const { return offset.bytes(); }
  dia_view view() const { return {offset.data(), offset.size(), rows, cols}; }
};

/// Whole diagonals, zeros included: no index per entry, for matrices of few diagonals.
struct Dia {
  using col_type = index_t;
  using ptr_type = index_t;
  template <class Memory>
  using pattern = dia_pattern<Memory>;
};

/// A sparse format: a type that names its pattern in a memory.
template <class F>
concept Format = requires { typename F::template pattern<host_memory>; };
/// Is F a `Csr<...>`?
template <class F>
inline constexpr bool is_csr = false;
template <class Col, class Ptr>
inline constexpr bool is_csr<Csr<Col, Ptr>> = true;

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The format SELL-C-sigma: `to<Sell<>>(A)`. Rows are sorted by length within windows, and stored in chunks whose entries lie side by
// side, so that a product walks the rows of a chunk together. One format in one file: pattern, view, row kernel, conversion.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <concepts>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

#include <sla/core/held.hpp>
#include <sla/tensor/build/convert.hpp>

namespace sla {

template <int Chunk = 8, int Window = 256, std::integral Col = std::int32_t, std::integral Ptr = Col, std::integral Stored = Col>
struct Sell;

/// SELL-C-sigma as kernels see it. The rows of a window stand in the order of their lengths, the longest first; row i at position
/// i / Window * Window + place[i], and `row` has the rows of the positions. Entry n of position p is in slot begin[p / Chunk] + n * Chunk + p % Chunk.
/// A slot holds a column, or, Stored in a type of its own, how far it is from the first column of the chunk. Where neighbouring rows have
/// entries in neighbouring columns, as on grids, `run` has the column of the first row for each `Chunk` slots, and a product reads x as it stands; where few chunks are so, `run` is null.
template <int Chunk, int Window, class Col, class Ptr, class Stored>
struct sell_view {
  using format_type = Sell<Chunk, Window, Col, Ptr, Stored>;
  static constexpr index_t rows_together = Window;
  static constexpr Col no_run = (std::numeric_limits<Col>::max)();  ///< no column: their number is as large at most

  Ptr const *begin, *row_ptr;
  Stored const* col;
  Col const *length, *base, *run;
  std::uint16_t const *place, *row;
  index_t rows, cols, entries;

  SLA_AS_CALLEE
  template <class F>
  SLA_HD void for_row(index_t i, F&& f) const {
    index_t const p = i / Window * Window + place[i], count = row_ptr[i + 1] - row_ptr[i];
    index_t s = begin[p / Chunk] + p % Chunk;
    index_t const first = first_column(p / Chunk);
    for (index_t n = 0; n < count; ++n, s += Chunk) f(s, first + index_t(col[s]));
  }
  SLA_HD index_t entries_before(index_t i) const { return row_ptr[i]; }

  /// Whole windows by their chunks; rows of a window that the span cuts one by one. What fills up a chunk is not multiplied.
  template <class Term, class T>
  SLA_HD void sum_rows(index_t first, index_t count, Term const& term, T* out) const {
    index_t const last = first + count;
    for (index_t i = first; i < last;) {
      index_t const window = i / Window * Window, end = window + Window < rows ? window + Window : rows;
      if (i == window && end <= last) {
        for (index_t p = window; p < end; p += Chunk) sum_chunk(p, end, term, out + (window - first));
        i = end;
      } else {
        for (index_t const stop = end < last ? end : last; i < stop; ++i) {
          typename Term::value_type total{};
          for_row(i, [&](index_t slot, index_t j) { total += term(slot, j); });
          out[i - first] = scalar_cast<T>(total);
        }
      }
    }
  }
  template <class Memory>
  auto borrowed(Memory, index_t slots) const {
    index_t const padded = (rows + Chunk - 1) / Chunk * Chunk;
    return typename format_type::template pattern<Memory>{rows, cols, buffer<Ptr, Memory>::borrow(begin, padded / Chunk + 1), buffer<Ptr, Memory>::borrow(row_ptr, rows + 1),
                                                          buffer<Stored, Memory>::borrow(col, slots), buffer<Col, Memory>::borrow(length, padded), buffer<Col, Memory>::borrow(base, format_type::is_relative ? padded / Chunk : 0),
                                                          buffer<Col, Memory>::borrow(run, run ? slots / Chunk : 0),
                                                          buffer<std::uint16_t, Memory>::borrow(place, rows), buffer<std::uint16_t, Memory>::borrow(row, padded), entries};
  }

private:
  SLA_HD index_t first_column(index_t chunk) const {
    if constexpr (format_type::is_relative)
      return base[chunk];
    else
      return 0;
  }
  /// The rows of the chunk at position p, to their places in the window, which `out` begins at.
  template <class Term, class T>
  SLA_HD void sum_chunk(index_t p, index_t end, Term const& term, T* out) const {
    typename Term::value_type sum[Chunk];
    add_chunk(p, term, sum);
    if (p + Chunk <= end && length[p] == length[p + Chunk - 1] && row[p + Chunk - 1] - row[p] == Chunk - 1)  // side by side
      for (int lane = 0, to = row[p]; lane < Chunk; ++lane) out[to + lane] = scalar_cast<T>(sum[lane]);
    else
      for (int lane = 0; lane < Chunk && p + lane < end; ++lane) out[row[p + lane]] = scalar_cast<T>(sum[lane]);
  }
  /// The sums of the chunk at position p, whose rows have at least as many entries as the last of them. g++ calls it; inlined, short rows took 1.2 times as long.
  template <class Term, class V>
  SLA_HD void add_chunk(index_t p, Term const& of, V* sum) const {
    auto const term = of;
    auto const* const column = col;
    index_t const first = first_column(p / Chunk);
    index_t slot = begin[p / Chunk];
    index_t const full = length[p + Chunk - 1], most = length[p];
    // The lanes are written out: at -O2 a loop over them would keep the sums in memory.
    [&]<int... Lane>(std::integer_sequence<int, Lane...>) {
      V total[Chunk] = {((void)Lane, V{})...};
      if (Col const* const next = run ? run + slot / Chunk : nullptr; next && full > 0 && *next != no_run)
        for (index_t n = 0; n < full; ++n, slot += Chunk) {
          term.fetch(slot + detail::fetch_distance);
          index_t const c = next[n];
          ((total[Lane] += term(slot + Lane, c + Lane)), ...);
        }
      else
        for (index_t n = 0; n < full; ++n, slot += Chunk) {
          SLA_PREFETCH(std::uintptr_t(column) + std::size_t(slot + detail::fetch_distance) * sizeof(Stored));
          term.fetch(slot + detail::fetch_distance);
          ((total[Lane] += term(slot + Lane, first + index_t(column[slot + Lane]))), ...);
        }
      ((sum[Lane] = total[Lane]), ...);
    }(std::make_integer_sequence<int, Chunk>{});
    for (index_t n = full; n < most; ++n, slot += Chunk)
      for (int lane = 0; lane < Chunk && index_t(length[p + lane]) > n; ++lane) sum[lane] += term(slot + lane, first + index_t(column[slot + lane]));
  }
};

/// The indices of Sell; see sell_view. Slots that fill up a chunk hold 0.
template <int Chunk, int Window, class Col, class Ptr, class Stored, class Memory>
struct sell_pattern {
  index_t rows = 0, cols = 0;
  buffer<Ptr, Memory> begin;            ///< the first slot of each chunk, and their number
  buffer<Ptr, Memory> row_ptr;          ///< the entries before each row, in the order of rows
  buffer<Stored, Memory> col;           ///< of each slot
  buffer<Col, Memory> length;           ///< by position
  buffer<Col, Memory> base;             ///< the first column of each chunk; none, where slots hold columns
  buffer<Col, Memory> run;              ///< of each `Chunk` slots side by side, the first of their columns, in chunks where all rows have theirs next to each other's, else the largest number; none at all, where fewer than a quarter of the chunks are such
  buffer<std::uint16_t, Memory> place;  ///< of each row, in its window
  buffer<std::uint16_t, Memory> row;    ///< by position, in its window
  index_t entries = 0;
  [[no_unique_address]] detail::kept_turned_rows<Col, Ptr, Memory> turned{};

  /// A pattern without entries.
  static sell_pattern none(index_t rows, index_t cols) {
    if constexpr (Memory::is_host) {
      return *Sell<Chunk, Window, Col, Ptr, Stored>::remap(csr_pattern<Col, Ptr, host_memory>::none(rows, cols)).pattern;
    } else {
      sell_pattern p;
      p.rows = rows, p.cols = cols;
      return p;
    }
  }
  index_t nnz() const { return entries; }
  index_t slots() const { return col.size(); }
  std::size_t bytes() const { return begin.bytes() + row_ptr.bytes() + col.bytes() + length.bytes() + base.bytes() + run.bytes() + place.bytes() + row.bytes(); }
  sell_view<Chunk, Window, Col, Ptr, Stored> view() const { return {begin.data(), row_ptr.data(), col.data(), length.data(), base.data(), run.data(), place.data(), row.data(), rows, cols, entries}; }
  template <class F>
  auto parts(F const& f) const {
    return f(rows, cols, begin, row_ptr, col, length, base, run, place, row, entries);
  }
};

/// SELL-C-sigma: chunks of `Chunk` rows, sorted by length within `Window` rows. For products of matrices with few entries per row;
/// of blocks and of several right-hand sides they are no faster than Csr. With std::uint16_t in the place of Stored, as NarrowSell has it, a
/// slot takes two bytes for its column, which the chunk counts from its first one. Errors: shape_error by `to`, if a chunk is too wide for it.
/// Source: Kreutzer, Hager, Wellein, Fehske, Bishop, A Unified Sparse Matrix Data Format for Efficient General Sparse Matrix-Vector
/// Multiplication on Modern Processors with Wide SIMD Units (2014).
template <int Chunk, int Window, std::integral Col, std::integral Ptr, std::integral Stored>
struct Sell {
  static_assert(Chunk > 0 && Window % Chunk == 0 && Window <= 1024, "sla: Sell<Chunk, Window>: a window of at most 1024 rows, a block of a product, is a multiple of the chunk");
  using col_type = Col;
  using ptr_type = Ptr;
  template <class Memory>
  using pattern = sell_pattern<Chunk, Window, Col, Ptr, Stored, Memory>;
  static constexpr bool slots_by_row = false, is_relative = !std::same_as<Col, Stored>;

  /// The pattern of another format as this one, and where its slots come from.
  template <class Old>
  static detail::pattern_map<Sell> remap(Old const& old) {
    auto const view = old.view();
    index_t const rows = old.rows, chunks = (rows + Chunk - 1) / Chunk;
    char const* const wider = "Sell<Chunk, Window, std::int32_t, std::int64_t>";
    detail::narrowed<Col>(old.cols, "the number of columns,", "Sell<Chunk, Window, std::int64_t>");
    pattern<host_memory> p;
    p.rows = rows, p.cols = old.cols, p.entries = old.nnz();
    p.row_ptr = detail::row_pointers<Ptr>(rows, [&](index_t i) { return detail::row_length(view, i); }, "the number of entries,", wider);
    p.length = buffer<Col>(chunks * Chunk);
    p.place = buffer<std::uint16_t>(rows, uninitialized), p.row = buffer<std::uint16_t>(chunks * Chunk);
    p.base = buffer<Col>(is_relative ? chunks : 0, uninitialized);
    std::fill(p.base.begin(), p.base.end(), (std::numeric_limits<Col>::max)());
    auto const length_of = [q = std::as_const(p.row_ptr).data()](index_t i) { return index_t(q[i + 1]) - index_t(q[i]); };
    parallel_ranges((rows + Window - 1) / Window, [&, length = p.length.data(), place = p.place.data(), row = p.row.data(), base = p.base.data()](index_t lo, index_t hi) {
      std::array<index_t, Window> order;
      for (index_t w = lo; w < hi; ++w) {
        index_t const first = w * Window, count = (std::min)(index_t(Window), rows - first);
        std::iota(order.begin(), order.begin() + count, first);
        std::stable_sort(order.begin(), order.begin() + count, [&](index_t a, index_t b) { return length_of(a) > length_of(b); });
        for (index_t k = 0; k < count; ++k) {
          index_t const i = order[std::size_t(k)];
          place[i] = std::uint16_t(k), row[first + k] = std::uint16_t(i - first), length[first + k] = Col(length_of(i));
        }
        if constexpr (is_relative)
          for (index_t k = 0; k < count; ++k)
            view.for_row(order[std::size_t(k)], [&least = base[(first + k) / Chunk]](index_t, index_t j) { least = (std::min)(least, Col(j)); });
      }
    });
    p.begin = detail::row_pointers<Ptr>(chunks, [length = std::as_const(p.length).data()](index_t c) { return index_t(length[c * Chunk]) * Chunk; }, "the number of slots,", wider);
    p.col = buffer<Stored>(p.begin[chunks]);
    buffer<index_t> source(p.col.size(), uninitialized);
    std::fill(source.begin(), source.end(), index_t(-1));
    parallel_ranges(rows, [&, begin = std::as_const(p.begin).data(), place = std::as_const(p.place).data(), base = std::as_const(p.base).data(), col = p.col.data(), from = source.data()](index_t lo, index_t hi) {
      for (index_t i = lo; i < hi; ++i) {
        index_t const at = i / Window * Window + place[i], first_column = is_relative ? index_t(base[at / Chunk]) : 0;
        index_t slot = begin[at / Chunk] + at % Chunk;
        view.for_row(i, [&](index_t s, index_t j) {
          col[slot] = detail::narrowed<Stored>(j - first_column, "a column, counted from the first one of its chunk,", "Sell<Chunk, Window>, which holds columns themselves");
          from[slot] = s, slot += Chunk;
        });
      }
    });
    p.run = buffer<Col>(p.col.size() / Chunk, uninitialized);
    std::atomic<index_t> runs{0};
    parallel_ranges(chunks, [&, begin = std::as_const(p.begin).data(), length = std::as_const(p.length).data(), col = std::as_const(p.col).data(), base = std::as_const(p.base).data(), run = p.run.data()](index_t lo, index_t hi) {
      index_t found = 0;
      for (index_t c = lo; c < hi; ++c) {
        index_t const full = length[c * Chunk + Chunk - 1];
        bool is_run = full > 0;
        for (index_t s = begin[c]; s < begin[c] + full * Chunk; ++s) is_run = is_run && index_t(col[s]) == index_t(col[s / Chunk * Chunk]) + s % Chunk;
        for (index_t s = begin[c]; s < begin[c + 1]; s += Chunk)
          run[s / Chunk] = is_run && s < begin[c] + full * Chunk ? Col((is_relative ? index_t(base[c]) : 0) + index_t(col[s])) : (std::numeric_limits<Col>::max)();
        found += is_run;
      }
      runs += found;
    });
    if (runs * 4 < chunks) p.run = {};  // too few to be worth a look at each chunk
    return {detail::shared_of<pattern<host_memory> const>(std::move(p)), std::move(source)};
  }
};

/// Sell with two bytes for a column: for matrices whose chunks of rows are at most 65536 columns wide, as of meshes in a good order.
template <int Chunk = 8, int Window = 256>
using NarrowSell = Sell<Chunk, Window, std::int32_t, std::int32_t, std::uint16_t>;

/// The slot of entry (i, j), -1 if it is not stored. Cost: O(row).
template <int Chunk, int Window, class Col, class Ptr, class Stored>
index_t find_slot(sell_view<Chunk, Window, Col, Ptr, Stored> const& view, index_t i, index_t j) {
  index_t found = -1;
  view.for_row(i, [&](index_t s, index_t k) {
    if (k == j) found = s;
  });
  return found;
}

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversions: `to<Format>(A)` and `cast<T>(A)`. Dense forms and diagonals are in tensor/build/entries.hpp, transposes in
// tensor/arrange/transpose.hpp, blocks and batches in tensor/build/block.hpp.
#pragma once

#include <algorithm>
#include <concepts>
#include <memory>
#include <utility>
#include <vector>

#include <sla/core/held.hpp>
#include <sla/tensor/build/counting.hpp>
#include <sla/tensor/storage/dense.hpp>
#include <sla/tensor/storage/sparse.hpp>

namespace sla {

/// What `to<Target>(x)` converts to: a format, or a memory.
template <class Target>
struct conversion_to {};

/// x in another format (`to<Dia>(A)`) or memory (`to<device_memory>(A)`).
/// Cost: O(nnz); nothing but a copy of the values where x is there already. Errors: an index type too narrow.
template <class Target, class X, class... Options>
auto to(X const& x, Options const&... options) {
  constexpr bool is_whole = [] {
    if constexpr (detail::FormatOption<Target>)
      return detail::require_format<Target>();
    else
      return true;
  }();
  if constexpr (is_whole)
    return convert(conversion_to<Target>{}, x, options...);
  else
    return x;  // well-formed, so that the sentence is the only error
}

/// How many slots a conversion to `Dia` may make: `times` the entries, and a few. `to<Dia>(A, dia_limit{20})`
struct dia_limit {
  double times = 4;
};

/// The Csr type that holds the patterns of another format.
template <class F>
using csr_for_t = Csr<typename F::col_type, typename F::ptr_type>;

namespace detail {
/// What was just made, in the format F: itself, where that is its own.
template <class F, class T, class S, class Own>
auto in_format(sparse_tensor<T, S, Own>&& made) {
  if constexpr (std::same_as<F, Own>)
    return std::move(made);
  else
    return to<F>(made);
}

inline constexpr char const* wide_columns = "Csr<std::int64_t>";

/// A pattern, and for each of its slots the slot of an older pattern with the value (-1: zero). No source: the same
/// slots.
template <class F>
struct pattern_map {
  std::shared_ptr<typename F::template pattern<host_memory> const> pattern;
  buffer<index_t> source;
};

/// to[s] = from[source[s]] in each batch item, for blocks of `block` numbers; copy(from, to) copies one.
template <class T, class Copy>
void gather_blocks(T const* from, index_t from_stride, T* to, buffer<index_t> const& source, index_t block,
                   index_t batch, Copy const& copy) {
  index_t const slots = source.size();
  for (index_t b = 0; b < batch; ++b)
    parallel_ranges(slots, [&, old = from + b * from_stride, now = to + b * slots * block](index_t lo, index_t hi) {
      for (index_t s = lo; s < hi; ++s) {
        if (source[s] >= 0)
          copy(old + source[s] * block, now + s * block);
        else
          std::fill_n(now + s * block, block, T{});
      }
    });
}

/// The blocks of Block numbers at the slots of `source`, in each batch item; zeros for -1.
template <index_t Block, class T>
buffer<T> gathered_blocks(T const* from, index_t from_stride, buffer<index_t> const& source, index_t batch) {
  buffer<T> values(batch * source.size() * Block, uninitialized);
  gather_blocks(from, from_stride, values.data(), source, Block, batch, [](T const* a, T* b) { std::copy_n(a, Block, b); });
  return values;
}

/// The values of A on the pattern of the map.
template <class F2, class T, class S, class F>
sparse_tensor<T, S, F2> moved(sparse_tensor<T, S, F> const& A, pattern_map<F2> map) {
  if (A.pattern().slots() == map.pattern->slots() && map.source.size() == 0)
    return {A.shape(), std::move(map.pattern), A.values()};
  auto values = gathered_blocks<sparse_tensor<T, S, F>::block_size>(A.values().data(), A.batch_stride(), map.source, A.batch_count());
  return {A.shape(), std::move(map.pattern), std::move(values)};
}

template <class View>
index_t row_length(View const& view, index_t i) {
  index_t count = 0;
  view.for_row(i, [&](index_t, index_t) { ++count; });
  return count;
}
template <class Col, class Ptr>
index_t row_length(csr_view<Col, Ptr> const& view, index_t i) {
  return view.row_ptr[i + 1] - view.row_ptr[i];
}

/// An old pattern as another one. Slots keep their order, but for Dia, whose slots are laid out by diagonals.
template <class Col, class Ptr, class Old>
pattern_map<Csr<Col, Ptr>> remap(conversion_to<Csr<Col, Ptr>>, Old const& old, bool same_slots) {
  auto const view = old.view();
  narrowed<Col>(old.cols, "the number of columns,", wide_columns);
  auto row_ptr = row_pointers<Ptr>(old.rows, [&](index_t i) { return row_length(view, i); });
  buffer<Col> col(old.nnz(), uninitialized);
  buffer<index_t> source(same_slots ? 0 : old.nnz(), uninitialized);
  parallel_ranges(old.rows, [&, c = col.data(), from = source.data()](index_t lo, index_t hi) {
    for (index_t i = lo; i < hi; ++i) {
      index_t at = row_ptr[i];
      view.for_row(i, [&](index_t s, index_t j) {
        c[at] = Col(j);
        if (!same_slots) from[at] = s;
        ++at;
      });
    }
  });
  using pattern = csr_pattern<Col, Ptr, host_memory>;
  return {detail::shared_of<pattern const>(pattern{old.rows, old.cols, std::move(row_ptr), std::move(col)}),
          std::move(source)};
}

template <class Index, class Old>
pattern_map<Coo<Index>> remap(conversion_to<Coo<Index>>, Old const& old, bool same_slots) {
  narrowed<Index>(old.rows, "the number of rows,", "Coo<std::int64_t>");
  narrowed<Index>(old.nnz(), "the number of entries,", "Coo<std::int64_t>");
  auto csr = remap(conversion_to<Csr<Index, index_t>>{}, old, same_slots);
  buffer<Index> row(csr.pattern->nnz(), uninitialized);
  parallel_ranges(old.rows, [&, r = row.data()](index_t lo, index_t hi) {
    for (index_t i = lo; i < hi; ++i) std::fill(r + csr.pattern->row_ptr[i], r + csr.pattern->row_ptr[i + 1], Index(i));
  });
  using pattern = coo_pattern<Index, host_memory>;
  return {detail::shared_of<pattern const>(pattern{old.rows, old.cols, std::move(row), csr.pattern->col}),
          std::move(csr.source)};
}

template <class Old>
pattern_map<Dia> remap(conversion_to<Dia>, Old const& old, bool, dia_limit limit = {}) {
  auto const view = old.view();
  index_t const rows = old.rows;
  // Diagonals are marked and numbered in an array of all; where that is much more than the entries, which a file of a few bytes
  // can claim, they are collected and searched for.
  index_t const all = rows + old.cols;
  buffer<index_t> numbers(all / 4 > old.nnz() + (index_t(1) << 20) ? 0 : all);
  index_t* const number = numbers.data();  // of the diagonal j - i + rows
  std::vector<index_t> offset;
  for (index_t i = 0; i < rows; ++i)
    view.for_row(i, [&](index_t, index_t j) {
      if (number)
        number[j - i + rows] = 1;
      else
        offset.push_back(j - i);
    });
  for (index_t k = 0; k < numbers.size(); ++k)
    if (number[k]) number[k] = index_t(offset.size()), offset.push_back(k - rows);
  if (!number) {
    std::sort(offset.begin(), offset.end());
    offset.erase(std::unique(offset.begin(), offset.end()), offset.end());
  }
  index_t const diagonals = index_t(offset.size());
  if (double(diagonals) * double(rows) > limit.times * double(old.nnz()) + 4096)
    throw shape_error(text("the format Dia would store ", diagonals, " diagonals x ", rows, " rows for ", old.nnz(),
                           " entries, more than ", limit.times,
                           " slots per entry; keep to Csr, as in to<Csr<>>(A), or allow it: to<Dia>(A, dia_limit{",
                           double(diagonals) * double(rows) / double((std::max)(index_t(1), old.nnz())), "})"));
  dia_pattern<host_memory> pattern{rows, old.cols, buffer<index_t>(diagonals, uninitialized), 0};
  for (index_t d = 0; d < diagonals; ++d) {
    index_t const o = pattern.offset.data()[d] = offset[std::size_t(d)];
    pattern.entries += (std::min)(rows, old.cols - o) - (std::max)(index_t(0), -o);
  }
  auto number_of = [&](index_t o) { return number ? number[o + rows] : std::lower_bound(offset.begin(), offset.end(), o) - offset.begin(); };
  buffer<index_t> source(diagonals * rows, uninitialized);
  parallel_ranges(rows, [&, from = source.data()](index_t lo, index_t hi) {
    for (index_t d = 0; d < diagonals; ++d) std::fill(from + d * rows + lo, from + d * rows + hi, index_t(-1));
    for (index_t i = lo; i < hi; ++i)
      view.for_row(i, [&](index_t s, index_t j) {
        index_t& slot = from[number_of(j - i) * rows + i];
        if (slot >= 0) throw value_error(text("to<Dia>(A): two entries at row ", i, ", column ", j, ": sum them first, sorted(A)"));
        slot = s;
      });
  });
  return {detail::shared_of<dia_pattern<host_memory> const>(std::move(pattern)), std::move(source)};
}

/// A format of its own file converts by itself.
template <class F, class Old>
  requires requires(Old const& old) { F::remap(old); }
pattern_map<F> remap(conversion_to<F>, Old const& old, bool) {
  return F::remap(old);
}

template <class X>
inline constexpr bool is_dia_format = std::same_as<X, Dia>;

template <class T2, class T>
buffer<T2> cast_values(buffer<T> const& from) {
  static_assert(is_complex<T2> || !is_complex<T>,
                "sla: cast<T>(A): complex values do not become real; take real(A), imag(A) or abs(A)");
  buffer<T2> values(from.size(), uninitialized);
  parallel_ranges(from.size(), [&, out = values.data()](index_t lo, index_t hi) {
    for (index_t n = lo; n < hi; ++n) out[n] = scalar_cast<kernel_t<T2>>(to_kernel(from[n]));
  });
  return values;
}
} // namespace detail

/// A in the format F2; batches and blocks stay. `Dia` stores whole diagonals, with zeros where A has no entry, and is
/// refused where that is more than `dia_limit` allows. Entries keep their order, which in our own patterns is
/// ascending.
template <Format F2, class T, class S, class F, class... Limit>
sparse_tensor<T, S, F2> convert(conversion_to<F2> to, sparse_tensor<T, S, F> const& A, Limit... limit) {
  static_assert(sizeof...(Limit) == 0 || detail::is_dia_format<F2>, "sla: dia_limit is an option of to<Dia>(A) alone");
  constexpr bool has_remap = requires { detail::remap(to, A.pattern(), slots_by_row<F>, limit...); };
  static_assert(has_remap || std::same_as<F, F2> || sizeof...(Limit) > 0, "sla: to<F>(A): the format has no member `remap`: static pattern_map<F> remap(Old const& old), from the pattern of another format");
  if constexpr (std::same_as<F, F2>)
    return A;
  else if constexpr (has_remap)
    return detail::moved(A, detail::remap(to, A.pattern(), slots_by_row<F>, limit...));
  else
    return {};
}
/// What is on the host already is copied.
template <class T, class S, class F>
sparse_tensor<T, S, F> convert(conversion_to<host_memory>, sparse_tensor<T, S, F> const& A) {
  return A;
}
template <class T, class E>
tensor<T, E> convert(conversion_to<host_memory>, tensor<T, E> const& x) {
  return x;
}

/// The values as another type, each rounded to it, on the same pattern. Law: a complex tensor does not become real.
template <class T2, class T, class S, class F>
sparse_tensor<T2, S, F> cast(sparse_tensor<T, S, F> const& A) {
  return {A.shape(), A.shared_pattern(), detail::cast_values<T2>(A.values())};
}
template <class T2, class T, class E>
tensor<T2, E> cast(tensor<T, E> const& x) {
  return {x.extents(), detail::cast_values<T2>(x.values())};
}

} // namespace sla

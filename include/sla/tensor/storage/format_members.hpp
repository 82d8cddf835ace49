// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a format is: the members that the library calls of it, of its pattern and of its view, as the concept Format, and the sentence
// for each that is missing. The formats are in tensor/storage/format.hpp; CONTRIBUTING.md writes one.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <sla/tensor/storage/format.hpp>

namespace sla {

namespace detail {
/// What says that it is a format, whether or not it is one.
template <class F>
concept FormatOption = requires { typename F::template pattern<host_memory>; };

struct ignore_entry {
  SLA_HD void operator()(index_t, index_t) const {}
};
struct ignore_parts {
  template <class... P>
  void operator()(P const&...) const {}
};
/// In the order in which they are asked for.
enum class format_member { all, pattern, col_type, ptr_type, rows, cols, none, nnz, slots, bytes, parts, view, format_type, for_row, entries_before, borrowed };

template <class View>
constexpr format_member missing_of_view() {
  using enum format_member;
  if (!requires { typename View::format_type; }) return format_type;
  if (!requires(View const& v) { v.for_row(index_t(), ignore_entry{}); }) return for_row;
  if (!requires(View const& v) { { v.entries_before(index_t()) } -> std::convertible_to<index_t>; }) return entries_before;
  if (!requires(View const& v) { v.borrowed(host_memory{}, index_t()); }) return borrowed;
  return all;
}
template <class F, class P>
constexpr format_member missing_of_pattern() {
  using enum format_member;
  if (!requires { typename F::col_type; }) return col_type;
  if (!requires { typename F::ptr_type; }) return ptr_type;
  if (!requires(P const& p) { { p.rows } -> std::convertible_to<index_t>; }) return rows;
  if (!requires(P const& p) { { p.cols } -> std::convertible_to<index_t>; }) return cols;
  if (!requires { { P::none(index_t(), index_t()) } -> std::convertible_to<P>; }) return none;
  if (!requires(P const& p) { { p.nnz() } -> std::convertible_to<index_t>; }) return nnz;
  if (!requires(P const& p) { { p.slots() } -> std::convertible_to<index_t>; }) return slots;
  if (!requires(P const& p) { { p.bytes() } -> std::convertible_to<std::size_t>; }) return bytes;
  if (!requires(P const& p) { p.parts(ignore_parts{}); }) return parts;
  if constexpr (requires(P const& p) { p.view(); })
    return missing_of_view<decltype(std::declval<P const&>().view())>();
  else
    return view;
}
/// The first member that F misses.
template <class F>
constexpr format_member missing_of_format() {
  if constexpr (FormatOption<F>)
    return missing_of_pattern<F, typename F::template pattern<host_memory>>();
  else
    return format_member::pattern;
}
} // namespace detail

/// A sparse format: a type that says where entries are; values are kept apart, [*batch][slot][*block].
///   col_type, ptr_type      the index types of the Csr that holds as much
///   pattern<Memory>         owns the indices: rows, cols, none(rows, cols), nnz(), slots(), bytes(), view(), and parts(f), which is f(members...)
///                           in their order: patterns are compared and moved to another memory by them
///                           optional: a last member `turned`, a detail::kept_turned_rows, by which devices multiply by the transpose
///   slots_by_row            optional, static constexpr bool: false, where slots are not in the order of rows, or have gaps
///   remap(old)              static, of a format of yours: a pattern_map from any other pattern, for `to<F>(A)`
/// of whose view, which is copied to devices, is asked
///   format_type             the format
///   for_row(i, f)           f(slot, column) for the entries of row i; SLA_HD
///   entries_before(i)       about how many entries are stored in the rows before i: threads share rows by it
///   borrowed(Memory, slots) the pattern that borrows what the view shows
///   sum_rows(first, count, term, out)  optional: the row kernel
///   rows_together                      optional: rows that stand in memory together, whose multiples blocks of a pass end at
/// and `find_slot(view, i, j)`, the slot of an entry, or -1, where single entries are asked for.
template <class F>
concept Format = detail::missing_of_format<F>() == detail::format_member::all;

namespace detail {
/// The sentence for the first member that F misses.
template <class F>
constexpr bool require_format() {
  using enum format_member;
  constexpr format_member m = missing_of_format<F>();
  constexpr bool has_pattern = m != pattern;
  static_assert(has_pattern, "sla: a format is a type with a member template `pattern<Memory>`, such as Csr<>, Coo<>, Dia or Sell<>");
  constexpr bool has_col_type = m != col_type, has_ptr_type = m != ptr_type, has_rows = m != rows, has_cols = m != cols, has_none = m != none, has_nnz = m != nnz, has_slots = m != slots,
                 has_bytes = m != bytes, has_parts = m != parts, has_view = m != view, has_format_type = m != format_type, has_for_row = m != for_row, has_entries_before = m != entries_before, has_borrowed = m != borrowed;
  static_assert(has_col_type, "sla: the format has no member `col_type`: the type of column indices that it can hold, such as std::int32_t");
  static_assert(has_ptr_type, "sla: the format has no member `ptr_type`: the type that counts its entries, such as std::int32_t");
  static_assert(has_rows, "sla: the pattern of the format has no member `rows`: index_t rows, how many there are");
  static_assert(has_cols, "sla: the pattern of the format has no member `cols`: index_t cols, how many there are");
  static_assert(has_none, "sla: the pattern of the format has no member `none`: static pattern none(index_t rows, index_t cols), without entries");
  static_assert(has_nnz, "sla: the pattern of the format has no member `nnz`: index_t nnz() const, the stored entries");
  static_assert(has_slots, "sla: the pattern of the format has no member `slots`: index_t slots() const, how many values it wants, gaps included");
  static_assert(has_bytes, "sla: the pattern of the format has no member `bytes`: std::size_t bytes() const, of its indices");
  static_assert(has_parts, "sla: the pattern of the format has no member `parts`: auto parts(F const& f) const { return f(rows, cols, ...); } of all its members, in their order");
  static_assert(has_view, "sla: the pattern of the format has no member `view`: auto view() const, a trivially copyable struct of pointers that walks rows");
  static_assert(has_format_type, "sla: the view of the format has no member `format_type`: using format_type, the format");
  static_assert(has_for_row, "sla: the view of the format has no member `for_row`: void for_row(index_t i, F&& f) const, which calls f(slot, column) for the entries of row i");
  static_assert(has_entries_before, "sla: the view of the format has no member `entries_before`: index_t entries_before(index_t i) const, the entries in the rows before i, by which threads share rows");
  static_assert(has_borrowed, "sla: the view of the format has no member `borrowed`: auto borrowed(Memory, index_t slots) const, the pattern that borrows what the view shows");
  return m == all;
}
/// F, or after the sentence another format, so that it is the only error.
template <class F>
using whole_format = std::conditional_t<require_format<F>(), F, Csr<std::int32_t>>;
} // namespace detail

} // namespace sla

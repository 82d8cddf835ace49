// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Traced sparse tensors put together: cat_rows, cat_cols and block_diagonal, of traced and plain tensors in any mix. Lists of
// traced tensors, and cat_batch, are not here: their results have no traced type.
#pragma once

#include <array>
#include <memory>
#include <utility>

#include <sla/grad/sparse.hpp>
#include <sla/tensor/cat.hpp>

namespace sla {

namespace detail {
template <class... Parts>
concept SomeTracedSparse = (TracedSparse<Parts> || ...) && ((TracedSparse<Parts> || SparseOwner<Parts>) && ...);

/// Where the parts' entries are in the whole: for part k, the slot of the whole for each of its slots.
template <bool Down, bool Across, class Whole, class... Parts>
auto slots_in_whole(Whole const& whole, Parts const&... parts) {
  std::array<buffer<index_t>, sizeof...(Parts)> slots;
  buffer<index_t> taken(whole.rows());  // entries of each row in the parts so far
  index_t row = 0;
  std::size_t k = 0;
  auto place = [&](auto const& part) {
    slots[k] = buffer<index_t>(part.nnz(), uninitialized);
    parallel_ranges(part.rows(), [&, at = slots[k].data(), used = taken.data(), from = part.pattern().view(), to = whole.pattern().view()](index_t lo, index_t hi) {
      for (index_t i = lo; i < hi; ++i) from.for_row(i, [&](index_t s, index_t) { at[s] = to.entries_before(row + i) + used[row + i]++; });
    });
    if constexpr (Down) row += part.rows();
    ++k;
  };
  (place(parts), ...);
  return slots;
}

template <bool Down, bool Across, class Put, class... Parts>
auto trace_cat(Put const& put, Parts const&... parts) {
  static_assert((is_csr<typename std::remove_cvref_t<decltype(value_of(parts))>::format_type> && ...),
                "sla: cat_rows, cat_cols and block_diagonal of traced sparse tensors want them in Csr: convert them before they are traced, with to<Csr<>>(A)");
  auto whole = put(value_of(parts)...);
  auto const slots = std::make_shared<std::array<buffer<index_t>, sizeof...(Parts)> const>(slots_in_whole<Down, Across>(whole, value_of(parts)...));
  auto const rule = [&slots](auto const& part, std::size_t k) {
    if constexpr (Traced<std::remove_cvref_t<decltype(part)>>)
      return linear_in(
          part,
          [slots, k](auto const&, auto const& g) {
            return adds([slots, k, &g](auto& sum) {
              auto const& at = (*slots)[k];
              parallel_ranges(at.size(), [&](index_t lo, index_t hi) {
                for (index_t s = lo; s < hi; ++s) add_slot(sum, s, 1, g, at[s]);
              });
            });
          },
          [slots, k](auto const&, auto const& d) {
            return adds([slots, k, &d](auto& sum) {
              auto const& at = (*slots)[k];
              parallel_ranges(at.size(), [&](index_t lo, index_t hi) {
                for (index_t s = lo; s < hi; ++s) add_slot(sum, at[s], 1, d, s);
              });
            });
          });
    else
      return no_rule{};
  };
  return [&]<std::size_t... K>(std::index_sequence<K...>) {
    return record(home_of(parts...), std::move(whole), rule(parts, K)...);
  }(std::index_sequence_for<Parts...>{});
}
}  // namespace detail

/// As of plain tensors, where some are traced. Gradient: each part's cotangent is that of its place in the whole.
/// Law: the traced parts are in Csr.
template <class... Parts>
  requires detail::SomeTracedSparse<Parts...>
auto cat_rows(Parts const&... parts) {
  return detail::trace_cat<true, false>([](auto const&... plain) { return cat_rows(plain...); }, parts...);
}
template <class... Parts>
  requires detail::SomeTracedSparse<Parts...>
auto cat_cols(Parts const&... parts) {
  return detail::trace_cat<false, true>([](auto const&... plain) { return cat_cols(plain...); }, parts...);
}
template <class... Parts>
  requires detail::SomeTracedSparse<Parts...>
auto block_diagonal(Parts const&... parts) {
  return detail::trace_cat<true, true>([](auto const&... plain) { return block_diagonal(plain...); }, parts...);
}

}  // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Traced sparse tensors put together: cat_rows, cat_cols, block_diagonal and cat_batch, of traced and plain tensors in any mix.
// Lists of traced tensors are not here.
#pragma once

#include <array>
#include <memory>
#include <utility>

#include <sla/core/held.hpp>
#include <sla/expr/sparse/views.hpp>
#include <sla/grad/operation/traced_sparse.hpp>
#include <sla/tensor/algebra/sampled.hpp>
#include <sla/tensor/arrange/cat.hpp>

namespace sla {

namespace detail {
template <class... Parts>
concept SomeTracedSparse = (TracedMatrix<Parts> || ...) && (SparseOrTraced<Parts> && ...);

/// Where the parts' entries are in the whole: for part k, the slot of the whole for each of its slots.
template <bool Down, class Whole, class... Parts>
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

template <class Part>
using part_scalar_t = typename std::remove_cvref_t<decltype(plain_value(std::declval<std::remove_cvref_t<Part> const&>()))>::value_type;
/// put(parts) of the values; beside dual numbers a plain part is of those too, constant ones.
template <class Put, class... Parts>
auto put_values(Put const& put, Parts const&... parts) {
  constexpr bool dual = (is_dual<part_scalar_t<Parts>> || ...);
  auto const value = [](auto const& part) -> decltype(auto) {
    if constexpr (dual && !is_dual<part_scalar_t<decltype(part)>>)
      return cast<dual_number<double>>(plain_value(part));
    else
      return (plain_value(part));
  };
  return put(value(parts)...);
}

/// The whole, with rule(part, k) for part k.
template <class Whole, class Rule, class... Parts>
auto record_parts(Whole whole, Rule const& rule, Parts const&... parts) {
  return [&]<std::size_t... K>(std::index_sequence<K...>) {
    return record(home_of(parts...), std::move(whole), rule(parts, K)...);
  }(std::index_sequence_for<Parts...>{});
}

/// A contribution to or of the part whose slots are at these of the whole: by(sum, n, at[n]) for each.
template <class Slots, class By>
auto by_slots(std::shared_ptr<Slots const> const& slots, std::size_t part, By by) {
  return adds([slots, part, by](auto& sum) {
    auto const& at = (*slots)[part];
    parallel_ranges(at.size(), [&](index_t lo, index_t hi) {
      for (index_t n = lo; n < hi; ++n) by(sum, n, at[n]);
    });
  });
}

template <bool Down, class Put, class... Parts>
auto trace_cat(Put const& put, Parts const&... parts) {
  static_assert((is_csr<typename std::remove_cvref_t<decltype(plain_value(parts))>::format_type> && ...),
                "sla: cat_rows, cat_cols and block_diagonal of traced sparse tensors want them in Csr: convert them before they are traced, with to<Csr<>>(A)");
  auto whole = put_values(put, parts...);
  auto const slots = detail::shared_of<std::array<buffer<index_t>, sizeof...(Parts)> const>(slots_in_whole<Down>(whole, plain_value(parts)...));
  auto const rule = [&slots](auto const& part, std::size_t k) {
    if constexpr (Traced<std::remove_cvref_t<decltype(part)>>)
      return linear_in(
          part, [slots, k](auto const&, auto const& g) { return by_slots(slots, k, [&g](auto& sum, index_t s, index_t at) { add_slot(sum, s, 1, g, at); }); },
          [slots, k](auto const&, auto const& d) { return by_slots(slots, k, [&d](auto& sum, index_t s, index_t at) { add_slot(sum, at, 1, d, s); }); });
    else
      return no_rule{};
  };
  return record_parts(std::move(whole), rule, parts...);
}

/// sum += from, where one of them is part k of the batch that the other is, on a pattern with all entries of the part.
template <bool IntoWhole, class Sum, class From>
void add_part(Sum& sum, index_t k, From const& from) {
  auto const add = [&, out = kernel_pointer(sum.values().data()), in = kernel_pointer(from.values().data())](auto const& part, auto const& whole) {
    for_common_slots(part.pattern(), whole.pattern(), [&](index_t s, index_t t) {
      for (index_t b = 0; b < part.batch_count(); ++b)
        for (index_t e = 0; e < Sum::block_size; ++e) {
          index_t const of_part = b * part.batch_stride() + s * Sum::block_size + e;
          index_t const of_whole = (k * part.batch_count() + b) * whole.batch_stride() + t * Sum::block_size + e;
          out[IntoWhole ? of_whole : of_part] += in[IntoWhole ? of_part : of_whole];
        }
    });
  };
  if constexpr (IntoWhole)
    add(from, sum);
  else
    add(sum, from);
}
} // namespace detail

/// As of plain tensors, where some are traced. Gradient: each part's cotangent is that of its place in the whole.
/// Law: the traced parts are in Csr.
template <class... Parts>
  requires detail::SomeTracedSparse<Parts...>
auto cat_rows(Parts const&... parts) {
  return detail::trace_cat<true>([](auto const&... plain) { return cat_rows(plain...); }, detail::evaluated_sparse(parts)...);
}
template <class... Parts>
  requires detail::SomeTracedSparse<Parts...>
auto cat_cols(Parts const&... parts) {
  return detail::trace_cat<false>([](auto const&... plain) { return cat_cols(plain...); }, detail::evaluated_sparse(parts)...);
}
template <class... Parts>
  requires detail::SomeTracedSparse<Parts...>
auto block_diagonal(Parts const&... parts) {
  return detail::trace_cat<true>([](auto const&... plain) { return block_diagonal(plain...); }, detail::evaluated_sparse(parts)...);
}
/// The same, in any format: entries that the union stores and the part does not have no cotangent.
template <class... Parts>
  requires detail::SomeTracedSparse<Parts...>
auto cat_batch(Parts const&... parts) {
  auto const rule = [](auto const& part, std::size_t k) {
    if constexpr (Traced<decltype(part)>)
      return linear_in(
          part, [k](auto const&, auto const& g) { return adds([k, &g](auto& sum) { detail::add_part<false>(sum, index_t(k), g); }); },
          [k](auto const&, auto const& d) { return adds([k, &d](auto& sum) { detail::add_part<true>(sum, index_t(k), d); }); });
    else
      return no_rule{};
  };
  auto const record = [&rule](auto const&... part) {
    return detail::record_parts(detail::put_values([](auto const&... plain) { return cat_batch(plain...); }, part...), rule, part...);
  };
  return record(detail::evaluated_sparse(parts)...);
}

} // namespace sla

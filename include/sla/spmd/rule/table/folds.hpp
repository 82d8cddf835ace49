// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Strategies of operations along dimensions: reductions, whose parts fold, and what needs a whole dimension (sorting,
// softmax, prefix sums). Contractions of products are in einsum.hpp, moves of entries in move.hpp.
#pragma once
#include <cstdint>

#include <sla/spmd/rule/table/indexed.hpp>
#include <sla/spmd/rule/table/strategy.hpp>

namespace sla::strategies {

/// A map from x to results without the dimensions `gone` (kept as extents of 1 if `keep`), which fold with `fold`.
constexpr strategy reduction(dims const& x, std::uint32_t gone, bool keep, monoid fold, int results = 1) {
  detail::index_map m;
  m.inputs = 1;
  m.results = results;
  int at = 0;
  for (int d = 0; d < x.rank; ++d) {
    auto const letter = static_cast<std::int8_t>(x.extent[d] == 1 ? -1 : d);
    bool const stays = !is_in(gone, d, x);
    m.in[0][d] = letter;
    for (int n = 0; n < results; ++n)
      if (stays) m.out[n][at] = letter;
    at += stays || keep;
  }
  for (int n = 0; n < results; ++n) m.out_rank[n] = static_cast<std::int8_t>(at);
  return detail::indexed(m, fold);
}

/// The sum over dimensions.
constexpr strategy sum(dims const& x, std::uint32_t gone = over_all, bool keep = false) {
  return reduction(x, gone, keep, monoid::sum).linear_in(operand_bits(0));
}
/// The mean over dimensions, which are whole: the means of parts make no mean. A kernel that divides by the extent of the whole makes
/// terms of a sum.
constexpr strategy mean(dims const& x, std::uint32_t gone = over_all, bool keep = false, kernel_knows what = kernel_knows::its_part) {
  return reduction(x, gone, keep, what == kernel_knows::its_place ? monoid::sum : monoid::none).linear_in(operand_bits(0));
}

/// Products, maxima, minima, and on booleans `any` (a maximum) and `all` (a minimum): a pending one folds further.
constexpr strategy fold(dims const& x, monoid m, std::uint32_t gone = over_all, bool keep = false) {
  return reduction(x, gone, keep, m).passes(operand_bits(0), monoid_bit(m));
}

/// The maximum and where it is (argmax, max with indices, median, variance, logsumexp): the reduced dimension is whole.
constexpr strategy unsplit(dims const& x, std::uint32_t gone = over_all, bool keep = false, int results = 1) {
  return reduction(x, gone, keep, monoid::none, results);
}

/// A vector norm of order p before its last root: sums of |x|^p, counts (p = 0), and the extrema of |x|.
/// Law: nothing pending passes, since |.| is neither linear nor monotone.
enum class norm_order : std::uint8_t { other, zero, one, infinity, minus_infinity };
/// The norm over dimensions.
constexpr strategy norm(dims const& x, norm_order p, std::uint32_t gone = over_all, bool keep = false) {
  auto const fold = p == norm_order::infinity         ? monoid::maximum
                    : p == norm_order::minus_infinity ? monoid::minimum
                    : p == norm_order::other          ? monoid::none // the root does not fold: sum the squares instead
                                                      : monoid::sum;
  return reduction(x, gone, keep, fold);
}

/// What keeps all dimensions and needs some of them whole: sort, top k, softmax.
constexpr strategy along(dims const& x, std::uint32_t needed, int results = 1) {
  dims rest = x;
  for (int d = 0; d < x.rank; ++d)
    if (is_in(needed, d, x)) rest.extent[d] = 1;
  return reduction(rest, 0, false, monoid::none, results);
}
/// Prefix sums along a dimension: linear.
constexpr strategy cumulative_sum(dims const& x, int d) { return along(x, over(d)).linear_in(operand_bits(0)); }

/// Are two tensors equal? A boolean, and the parts must all agree.
constexpr strategy equal(dims const& a, dims const& b) {
  auto m = detail::broadcast(a, b);
  m.out[0] = detail::no_letters();
  m.out_rank[0] = 0;
  auto s = detail::indexed(m, monoid::minimum);
  s.differentiable = false;
  return s;
}

} // namespace sla::strategies

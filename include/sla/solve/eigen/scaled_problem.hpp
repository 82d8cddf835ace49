// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A v = w B v where the squares of A or B leave the range of double: the same problem of 2^p A and 2^q B, whose pairs are told as those of A and B.
#pragma once

#include <cmath>
#include <utility>

#include <sla/solve/driver/rescaled.hpp>
#include <sla/solve/eigen/problem.hpp>

namespace sla::detail {

/// The exponent of one matrix, or operator.
template <class A>
int exponent_out_of_range(A const& a, double most) {
  if constexpr (Rescalable<A>)
    return exponents_out_of_range(a, most).front();
  else
    return 0;
}
template <class A>
A times_power_of_two(A const& a, int exponent) {
  if constexpr (Rescalable<A>)
    return rescaled(a, {-exponent});
  else
    return a;
}
/// What is wanted of values times 2^exponent.
template <class W>
W scaled_wanted(W wanted, int exponent, char const* call) {
  if constexpr (is_near<W>) {
    auto const sigma = times_power(wanted.sigma, exponent);
    if (std::abs(wanted.sigma) - std::abs(wanted.sigma) == 0 && !(largest_part(sigma) <= 1e100))
      throw value_error(text(call, ": near{", wanted.sigma, "}: sigma is ", std::log10(largest_part(wanted.sigma)) + 0.30103 * exponent, " decimal orders above the values of A"));
    wanted.sigma = sigma;
  }
  return wanted;
}

/// What `body(A, B, wanted)` finds, in which A and B are multiplied by powers of two where that is wanted. Undo(found, q): of the vectors, where B was by 2^q.
/// `may`: no option depends on the size of A. Errors: value_error, if a value is out of the range of its type.
template <class A, class B, class W, class Body, class Undo>
auto in_range(A const& a, B const& b, W const& wanted, bool may, char const* call, Body const& body, Undo const& undo) {
  double const most = std::same_as<B, applied_identity> ? 1e100 : 1e50;
  int const of_a = may ? exponent_out_of_range(a, most) : 0, of_b = may ? exponent_out_of_range(b, most) / 2 * 2 : 0;
  if (of_a == 0 && of_b == 0) return body(a, b, wanted);
  std::string const remark = text("by ", of_a == 0 ? std::string("A") : text("2^", -of_a, " A"), of_b == 0 ? std::string() : text(" and 2^", -of_b, " B"));
  try {
    auto out = body(times_power_of_two(a, -of_a), times_power_of_two(b, -of_b), scaled_wanted(wanted, of_b - of_a, call));
    for (auto& w : out.values) {
      w = times_power(w, of_a - of_b);
      if (!(largest_part(w) - largest_part(w) == 0)) throw value_error("a value is above the range of its type");
    }
    undo(out, -of_b);
    out.report.choice += (out.report.choice.empty() ? "" : "; ") + remark;
    return out;
  } catch (value_error const& e) {
    throw value_error(text(e.what(), " (", remark, ")"));
  }
}
/// The numbers of a block times 2^exponent.
template <class Block>
void multiply_by_power(Block& block, int exponent) {
  for (index_t n = 0; n < own_size(block); ++n) own_numbers(block)[n] = times_power(own_numbers(block)[n], exponent);
}

} // namespace sla::detail

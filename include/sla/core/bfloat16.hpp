// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// bfloat16: the upper half of a float, for what travels between ranks. No tensor holds it and no kernel computes with
// it; what travels how is in dist/engine/wire.hpp, who asks for it in dist/step/precision_steps.hpp.
#pragma once

#include <cstdint>

#include <sla/core/config.hpp>

namespace sla {

/// A float of 8 bits of precision. It converts to float exactly, and from one by rounding to the nearest, ties to even.
class bfloat16 {
public:
  bfloat16() = default;
  SLA_HD constexpr explicit bfloat16(float x) {
    auto const bits = __builtin_bit_cast(std::uint32_t, x);
    if (x != x)
      bits_ = std::uint16_t(bits >> 16 | 0x40u); // a NaN stays one
    else
      bits_ = std::uint16_t((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
  }
  SLA_HD constexpr explicit bfloat16(double x) : bfloat16(float(x)) {}
  SLA_HD constexpr operator float() const {
    return __builtin_bit_cast(float, std::uint32_t(bits_) << 16);
  } // NOLINT: exact

  SLA_HD constexpr bfloat16& operator+=(bfloat16 b) { return *this = bfloat16(float(*this) + float(b)); }
  SLA_HD constexpr bfloat16& operator*=(bfloat16 b) { return *this = bfloat16(float(*this) * float(b)); }
  SLA_HD constexpr bfloat16& operator/=(bfloat16 b) { return *this = bfloat16(float(*this) / float(b)); }

private:
  std::uint16_t bits_ = 0;
};

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Residuals in twice the precision of double: `accurate_residual(b, A * x)` is b - A x whose products are added up in twofold
// numbers (core/twofold.hpp). One text for all formats, for host, device and ranks: what is replaced are the entries of A.
#pragma once

#include <utility>

#include <sla/core/twofold.hpp>
#include <sla/expr/sparse/product.hpp>

namespace sla {

/// A sparse view whose entries are twofold numbers, and so are the products with them.
template <class View>
struct twofold_view : View {
  using value_type = std::conditional_t<is_complex<typename View::value_type>, complex<twofold>, twofold>;

  template <class T>
  SLA_HD value_type read(T value) const {
    return scalar_cast<value_type>(View::read(value));
  }
  SLA_HD value_type entry(index_t b, index_t slot, index_t c, index_t q) const { return scalar_cast<value_type>(View::entry(b, slot, c, q)); }
  template <class F>
  twofold_view rebuild(F const&) const {
    return *this;
  }
};

namespace detail {
/// The tree with twofold entries in its products. Nodes that take whole operands, an operator of the user for one, stay.
struct to_twofold {
  template <class X>
  auto operator()(X const& x) const {
    if constexpr (X::depth == reach::whole)
      return x;
    else
      return x.rebuild(*this);
  }
  /// What was moved into the expression stays there.
  template <class Owner>
  held_tensor<Owner> operator()(held_tensor<Owner> const& x) const {
    return x;
  }
  template <class Owner, bool Conj, bool Turned, class X>
  product<held_sparse<Owner, Conj, Turned>, X> operator()(product<held_sparse<Owner, Conj, Turned>, X> const& x) const {
    return x;
  }
  template <class View>
  twofold_view<View> entries(View const& A) const {
    return {A};
  }
};
} // namespace detail

/// The expression b - y, where y is a product A * x: twofold numbers, whose squared norm is that of the value and that of the
/// magnitudes |b| + |A| |x|, a fixed_array of two. `set` rounds once.
/// Operators that are no sparse tensors keep their own precision and give plain numbers; so do matrices that are no variables.
/// Cost: reads as b - A * x, with some 30 operations per entry.
template <Tensorial B, Tensorial Y>
auto accurate_residual(B const& b, Y&& y) {
  auto const difference = b - std::forward<Y>(y);
  return detail::to_twofold{}(difference);
}

} // namespace sla

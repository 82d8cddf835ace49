// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Derivative rules of elementwise operations and reductions, on scalars, for host and device: pullback<K> is the contribution of
// one element to the cotangent of operand K. Products are in grad/operation/traced_product.hpp, solves in grad/operation/traced_solve.hpp.
#pragma once

#include <sla/expr/dense/elementwise.hpp>

namespace sla {

/// The rule of Op: `operands`; `name`, for messages; `reads(k, n)`: does the contribution to operand k read operand n;
/// `pullback<k>(l, r, g)` or `pullback(x, g)`, where g is the cotangent of the result. With dL = Re sum conj(g) dy, a holomorphic
/// f pulls g back to conj(f'(x)) g.
template <class Op>
struct derivative;

/// The base of a `derivative<Op>` of one operand.
struct unary_rule {
  static constexpr int operands = 1;
  static constexpr bool unbounded = false;  ///< may a derivative be infinite, at a pole or as an operand that is?
  static constexpr bool reads(int, int) { return true; }
};
/// The base of a `derivative<Op>` of two operands, which says `reads(k, n)` itself.
struct binary_rule {
  static constexpr int operands = 2;
  static constexpr bool unbounded = false;
};

namespace detail {
template <class A, class B>
SLA_HD constexpr auto times(A a, B b) {
  return op::mul::apply(a, b);
}
/// a / |a|, 0 at 0: the subgradient of |a| of least modulus.
template <class A>
SLA_HD A direction(A a) {
  real_t<A> const modulus = abs_of(a);
  return modulus == 0 ? A{} : op::div::apply(a, modulus);
}
} // namespace detail

template <>
struct derivative<op::add> : binary_rule {
  static constexpr char const* name = "x + y";
  static constexpr bool reads(int, int) { return false; }
  template <int K, class L, class R, class G>
  SLA_HD static constexpr G pullback(L, R, G g) {
    return g;
  }
};
template <>
struct derivative<op::sub> : binary_rule {
  static constexpr char const* name = "x - y";
  static constexpr bool reads(int, int) { return false; }
  template <int K, class L, class R, class G>
  SLA_HD static constexpr G pullback(L, R, G g) {
    return K == 0 ? g : -g;
  }
};
template <>
struct derivative<op::mul> : binary_rule {
  static constexpr char const* name = "x * y";
  static constexpr bool unbounded = true;
  static constexpr bool reads(int k, int n) { return k != n; }
  template <int K, class L, class R, class G>
  SLA_HD static constexpr auto pullback(L l, R r, G g) {
    if constexpr (K == 0)
      return detail::times(g, conj_of(r));
    else
      return detail::times(g, conj_of(l));
  }
};
template <>
struct derivative<op::div> : binary_rule {
  static constexpr char const* name = "x / y";
  static constexpr bool unbounded = true;
  static constexpr bool reads(int k, int n) { return k == 1 || n == 1; }
  template <int K, class L, class R, class G>
  SLA_HD static constexpr auto pullback(L l, R r, G g) {
    if constexpr (K == 0)
      return op::div::apply(g, conj_of(r));
    else  // g / r first: with l / r first g++ makes a branch of what is regular where g is 0, and no vectors. It may be infinite, and l 0
      return op::div::apply(-detail::times(op::div::apply(is_zero(l) ? G{} : g, conj_of(r)), conj_of(l)), conj_of(r));
  }
};
template <>
struct derivative<op::pow> : binary_rule {
  static constexpr char const* name = "pow(x, y)";
  static constexpr bool unbounded = true;
  static constexpr bool reads(int, int) { return true; }
  template <int K, class L, class R, class G>
  SLA_HD static auto pullback(L l, R r, G g) {
    using T = promote_t<promote_t<L, R>, G>;
    using std::log, std::pow;
    if constexpr (K == 0)
      return is_zero(r) ? T(0) : T(g) * T(r) * pow(T(l), T(r) - 1);
    else
      return l == L(0) ? T(0) : T(g) * pow(T(l), T(r)) * log(T(l));
  }
};

namespace detail {
/// Of the one of two numbers that is taken; each is by half where they are equal.
template <bool Larger>
struct taken_rule : binary_rule {
  static constexpr bool reads(int, int) { return true; }
  template <int K, class L, class R, class G>
  SLA_HD static constexpr auto pullback(L l, R r, G g) {
    using T = promote_t<promote_t<L, R>, G>;
    T const a(l), b(r), half = a == b ? T(0.5) : T(0);
    bool const first = Larger ? a > b : a < b, second = Larger ? b > a : b < a;
    return T(g) * ((K == 0 ? first : second) ? T(1) : half);
  }
};
} // namespace detail
template <>
struct derivative<op::larger> : detail::taken_rule<true> {
  static constexpr char const* name = "maximum(x, y)";
};
template <>
struct derivative<op::smaller> : detail::taken_rule<false> {
  static constexpr char const* name = "minimum(x, y)";
};

template <>
struct derivative<op::neg> : unary_rule {
  template <class X, class G>
  SLA_HD static constexpr G pullback(X, G g) {
    return -g;
  }
};
template <>
struct derivative<op::conj> : unary_rule {
  template <class X, class G>
  SLA_HD static constexpr G pullback(X, G g) {
    return conj_of(g);
  }
};
template <>
struct derivative<op::real> : unary_rule {
  template <class X, class G>
  SLA_HD static constexpr G pullback(X, G g) {
    return g;
  }
};
template <>
struct derivative<op::imag> : unary_rule {
  template <class X, class G>
  SLA_HD static constexpr auto pullback(X, G g) {
    if constexpr (is_complex<X>)
      return complex<G>(G{}, g);
    else
      return G{};
  }
};
template <>
struct derivative<op::abs> : unary_rule {
  template <class X, class G>
  SLA_HD static auto pullback(X x, G g) {
    return detail::times(g, detail::direction(x));
  }
};
template <>
struct derivative<op::abs2> : unary_rule {
  template <class X, class G>
  SLA_HD static constexpr auto pullback(X x, G g) {
    return detail::times(g, x + x);
  }
};
template <>
struct derivative<op::exp> : unary_rule {
  template <class X, class G>
  SLA_HD static auto pullback(X x, G g) {
    return detail::times(g, conj_of(op::exp::apply(x)));
  }
};
template <>
struct derivative<op::sqrt> : unary_rule {
  static constexpr bool unbounded = true;
  template <class X, class G>
  SLA_HD static auto pullback(X x, G g) {
    auto const root = op::sqrt::apply(x);
    return op::div::apply(g, conj_of(root + root));
  }
};
template <>
struct derivative<op::log> : unary_rule {
  static constexpr bool unbounded = true;
  template <class X, class G>
  SLA_HD static auto pullback(X x, G g) {
    return op::div::apply(g, x);
  }
};
template <>
struct derivative<op::sin> : unary_rule {
  template <class X, class G>
  SLA_HD static auto pullback(X x, G g) {
    using std::cos;
    return detail::times(g, cos(x));
  }
};
template <>
struct derivative<op::cos> : unary_rule {
  template <class X, class G>
  SLA_HD static auto pullback(X x, G g) {
    using std::sin;
    return -detail::times(g, sin(x));
  }
};
template <>
struct derivative<op::tanh> : unary_rule {
  template <class X, class G>
  SLA_HD static auto pullback(X x, G g) {
    using std::tanh;
    X const y = tanh(x);
    return detail::times(g, 1 - y * y);
  }
};
template <>
struct derivative<op::atan> : unary_rule {
  template <class X, class G>
  SLA_HD static auto pullback(X x, G g) {
    return detail::times(g, 1 / (1 + x * x));
  }
};

// Reductions: the same, where g is one number for all elements.

template <>
struct derivative<op::dot> : binary_rule {
  static constexpr bool reads(int k, int n) { return k != n; }
  template <int K, class L, class R, class G>
  SLA_HD static constexpr auto pullback(L l, R r, G g) {
    if constexpr (K == 0)
      return detail::times(conj_of(g), r);
    else
      return detail::times(g, l);
  }
};
template <>
struct derivative<op::sum> : derivative<op::real> {};
template <>
struct derivative<op::squared_norm> : derivative<op::abs2> {};
template <>
struct derivative<op::norm1> : derivative<op::abs> {};
/// g is the cotangent of the norm over |x| (element_cotangent in grad/tape/vjp.hpp).
template <>
struct derivative<op::norm> : unary_rule {
  template <class X, class G>
  SLA_HD static constexpr auto pullback(X x, G g) {
    return detail::times(g, x);
  }
};
/// For extreme elements alone; where several tie, g is the share of each.
template <>
struct derivative<op::norm_inf> : derivative<op::abs> {};
template <>
struct derivative<op::minimum> : derivative<op::real> {};
template <>
struct derivative<op::maximum> : derivative<op::real> {};

/// Does Op fold a tensor to a number?
template <class Op>
inline constexpr bool is_reducing = false;
template <>
inline constexpr bool is_reducing<op::dot> = true;
template <>
inline constexpr bool is_reducing<op::sum> = true;
template <>
inline constexpr bool is_reducing<op::squared_norm> = true;
template <>
inline constexpr bool is_reducing<op::norm> = true;
template <>
inline constexpr bool is_reducing<op::norm1> = true;
template <>
inline constexpr bool is_reducing<op::norm_inf> = true;
template <>
inline constexpr bool is_reducing<op::minimum> = true;
template <>
inline constexpr bool is_reducing<op::maximum> = true;
/// Reductions to extreme elements: only these elements get a cotangent.
template <class Op>
inline constexpr bool is_extreme =
    std::same_as<Op, op::norm_inf> || std::same_as<Op, op::minimum> || std::same_as<Op, op::maximum>;

/// Op has a derivative rule for this number of operands.
template <class Op, int Operands>
concept Differentiable = requires {
  derivative<Op>::operands;
  requires derivative<Op>::operands == Operands;
};

namespace detail {
/// Where an operand is looked at. Where g is 0, the contribution is 0, though the derivative be infinite, and so it is at any regular
/// point: `where(x > 0, x * log(x), 0)` has the gradient 0 at 0. It is not 1, with which g++ makes a branch of products.
template <class Op, class X, class G>
SLA_HD constexpr X regular(X x, G g) {
  if constexpr (derivative<Op>::unbounded)
    return is_zero(g) ? X(2) : x;
  else
    return x;
}
/// The rule as the functor of a node over the operands and g.
template <class Op, int K>
struct pulled {
  template <class L, class R, class G>
  SLA_HD static constexpr auto apply(couple<L, R> at, G g) {
    return derivative<Op>::template pullback<K>(regular<Op>(at.l, g), regular<Op>(at.r, g), g);
  }
  template <class X, class G>
  SLA_HD static constexpr auto apply(X x, G g) {
    return derivative<Op>::pullback(regular<Op>(x, g), g);
  }
};
/// The same of a derivative that was computed before.
struct slope_times {
  template <class D, class G>
  SLA_HD static constexpr auto apply(D slope, G g) {
    return times(is_zero(g) ? D{} : slope, g);
  }
};
/// 1 where an element is the extreme one.
struct is_extremum {
  template <class X, class Y>
  SLA_HD static constexpr real_t<X> apply(X x, Y y) {
    return Y(x) == y ? real_t<X>(1) : real_t<X>(0);
  }
};

template <class Op, class L, class R>
using binary_of = binary<Op, std::remove_cvref_t<L>, std::remove_cvref_t<R>>;

/// The contribution to operand K as an expression over nodes: the operands, then g.
template <class Op, int K, class X, class G>
auto contribution(X const& x, G const& g) {
  return binary_of<pulled<Op, K>, X, G>{x, g};
}
template <class Op, int K, class L, class R, class G>
auto contribution(L const& l, R const& r, G const& g) {
  using Both = binary_of<join, L, R>;
  return binary_of<pulled<Op, K>, Both, G>{Both{l, r}, g};
}
} // namespace detail

} // namespace sla

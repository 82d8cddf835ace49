// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sets of traced vectors: gram(V, W), a traced small_matrix, whose elements are traced numbers, and combine(V, C), of a traced block, a
// traced matrix or both; column(V, j) of a traced block.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>

#include <sla/grad/tape/record.hpp>

namespace sla {

/// A contribution is a small_matrix, or adds itself.
template <class T, int Rows, int Cols>
struct cotangent_space<small_matrix<T, Rows, Cols>> {
  using type = small_matrix<T, Rows, Cols>;
  static type zero(type const&) { return {}; }
  template <class X>
  static void add(std::optional<type>& sum, type const&, X const& contribution) {
    if (!sum) sum.emplace();
    if constexpr (requires { contribution.add_to(*sum); })
      contribution.add_to(*sum);
    else
      for (int n = 0; n < Rows * Cols; ++n) (*sum)[n] += scalar_cast<T>(detail::onto<T>::apply(contribution[n]));
  }
};

namespace detail {
template <class X>
concept TracedBlock = Traced<X> && is_tensor<plain_t<X>>;
template <class X>
concept TracedMatrixOfNumbers = Traced<X> && is_small_matrix<plain_t<X>>;

template <class T, int Rows, int Cols>
small_matrix<T, Cols, Rows> conjugate_transpose(small_matrix<T, Rows, Cols> const& c) {
  small_matrix<T, Cols, Rows> out{};
  for (int i = 0; i < Rows; ++i)
    for (int j = 0; j < Cols; ++j) out(j, i) = conj_of(c(i, j));
  return out;
}
template <class T, class E, class Memory>
index_t columns_of_block(tensor<T, E, Memory> const& V) {
  return V.extent(E::rank - 1);
}

/// A small matrix without a trace, as an operand of a rule.
template <class C>
struct numbers_operand {
  static constexpr bool traced = false;
  C c;
  C const& value() const { return c; }
};
template <class C>
auto operand_of_matrix(C const& c) {
  if constexpr (Traced<C>)
    return operand_of(c);
  else
    return numbers_operand<C>{c};
}

template <class V, class C>
auto traced_combine(V const& v, C const& c, index_t columns) {
  using Matrix = plain_t<C>;
  auto& home = home_of(v, c);
  auto const l = trace_operand<true>(home, v);
  auto const m = operand_of_matrix(c);
  auto const in_v = linear_in(
      l, [l, m](auto const&, auto const& g) { return combine(g, conjugate_transpose(m.value()), columns_of_block(l.value())); },
      [m, columns](auto const&, auto const& d) { return combine(d, m.value(), columns); });
  auto const in_c = linear_in(
      m,
      [l](auto const&, auto const& g) {
        return adds([product = gram<(std::max)(Matrix::rows(), Matrix::cols())>(l.value(), g)](auto& sum) {
          using T = typename Matrix::value_type;
          for (int i = 0; i < (std::min)(product.rows(), Matrix::rows()); ++i)
            for (int j = 0; j < (std::min)(product.cols(), Matrix::cols()); ++j) sum(i, j) += scalar_cast<T>(onto<T>::apply(product(i, j)));
        });
      },
      [l, columns](auto const&, auto const& d) { return combine(l.value(), d, columns); });
  return record(home, eval(combine(l.value(), m.value(), columns)), in_v, in_c);
}
} // namespace detail

/// V^H W of blocks of which one is traced, or both: a traced small_matrix. Law: both are of one scalar type.
/// Gradient: of a cotangent S, W S^H to V and V S to W.
template <int Most = 0, class V, class W>
  requires(detail::TracedBlock<V> || detail::TracedBlock<W>)
auto gram(V const& v, W const& w) {
  using T = typename plain_t<V>::value_type;
  static_assert(std::same_as<T, typename plain_t<W>::value_type>, "sla: gram(V, W) of traced blocks: V and W have one scalar type: make both complex, or both real");
  auto& home = home_of(v, w);
  auto const l = detail::trace_operand<true>(home, v);
  auto const r = detail::trace_operand<true>(home, w);
  auto const in_v = linear_in(
      l, [l, r](auto const&, auto const& s) { return combine(r.value(), detail::conjugate_transpose(s), detail::columns_of_block(l.value())); },
      [r](auto const&, auto const& d) { return gram<Most>(d, r.value()); });
  auto const in_w = linear_in(
      r, [l, r](auto const&, auto const& s) { return combine(l.value(), s, detail::columns_of_block(r.value())); },
      [l](auto const&, auto const& d) { return gram<Most>(l.value(), d); });
  return record(home, gram<Most>(l.value(), r.value()), in_v, in_w);
}

/// V C, where V is traced, or C, or both: a traced block. Gradient: of a cotangent Z, Z C^H to V and V^H Z to C.
template <detail::TracedBlock V, class C>
auto combine(V const& v, C const& c, index_t columns = -1) {
  return detail::traced_combine(v, c, columns);
}
template <class T, class E, class Memory, detail::TracedMatrixOfNumbers C>
auto combine(tensor<T, E, Memory> const& V, C const& c, index_t columns = -1) {
  return detail::traced_combine(V, c, columns);
}

/// Column j of a traced block (*batch, N, k), a traced vector. Gradient: the cotangent in that column, 0 in the others.
template <detail::TracedBlock V>
auto column(V const& v, index_t j) {
  auto const rule = linear_in(
      v, [j](auto const&, auto const& g) { return adds([j, g = eval(g)](auto& sum) { fuse(set(column(sum, j), column(std::as_const(sum), j) + g)); }); },
      [j](auto const&, auto const& d) { return eval(column(d, j)); });
  return record(v.home(), eval(column(v.value(), j)), rule);
}

/// One element of a traced small_matrix, a traced number.
template <detail::TracedMatrixOfNumbers G>
auto perform(op::entry, G const& g, index_t i, index_t j) {
  using T = typename plain_t<G>::value_type;
  auto const place = int(i) * plain_t<G>::cols() + int(j);
  if (i < 0 || i >= plain_t<G>::rows() || j < 0 || j >= plain_t<G>::cols())
    throw index_error(text("C(", i, ", ", j, ") of a traced small_matrix of ", plain_t<G>::rows(), " x ", plain_t<G>::cols()));
  auto const rule = linear_in(
      g, [place](auto const&, auto const& s) { return adds([place, s](auto& sum) { sum[place] += to_kernel(s); }); },
      [place](auto const&, auto const& d) { return user_t<T>(d[place]); });
  return record(g.home(), user_t<T>(g.value()[place]), rule);
}

} // namespace sla

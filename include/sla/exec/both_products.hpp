// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `fuse(..., set(q, A * p), set(s, transpose(A) * u), ...)`, or with the adjoint: neighbours of the same Csr, of scalar entries and one
// right-hand side, are one walk over its entries. The sums are those of two statements, in the same order.
#pragma once

#include <algorithm>
#include <type_traits>

#include <sla/core/pack.hpp>
#include <sla/exec/plan.hpp>
#include <sla/expr/sparse/product.hpp>

namespace sla::detail {

/// Adds rows to their columns, as scatter_entries does, and sums them up, as `sum_rows` of Csr does.
template <class Forth>
struct scatter_and_sum {
  Forth forth;

  template <class Back, class To>
  void operator()(Back const& y, index_t b, index_t first, index_t last, To const& to) const {
    using T = std::remove_pointer_t<decltype(to(0))>;
    row_terms<typename Forth::expression_type> const term(forth.x, b, b);
    auto const A = y.A;
    auto const x = y.x;
    auto const* const values = A.values + b * A.batch_stride;
    auto* const out = forth.data + b * A.shape.rows();
    index_t const col0 = b * A.shape.cols(), row0 = b * A.shape.rows();
    index_t slot = A.pattern.row_ptr[first];
    for (index_t i = first; i < last; ++i) {
      SLA_PREFETCH(std::uintptr_t(A.pattern.col) + std::size_t(slot + fetch_distance) * sizeof(*A.pattern.col));
      term.fetch(slot + fetch_distance);
      auto const x_i = x.at(element{row0 + i, row0 + i, b});
      typename Forth::expression_type::value_type total{};
      for (index_t const end = A.pattern.row_ptr[i + 1]; slot < end; ++slot) {
        index_t const j = A.pattern.col[slot];
        total += term(slot, j);
        T* const sum = to(col0 + j);
        *sum = scalar_cast<T>(*sum + op::mul::apply(A.read(values[slot]), x_i));
      }
      out[i] = scalar_cast<std::remove_pointer_t<decltype(Forth::data)>>(total);
    }
  }
};

/// q = A p and s = A^T u as one whole node, which is s.
template <class Forth, class Back>
struct both_products {
  using expression_tag = void;
  using value_type = typename Back::expression_type::value_type;
  using extents_type = typename Back::expression_type::extents_type;
  using memory_type = typename Back::memory_type;
  static constexpr reach depth = reach::whole;

  Forth forth;
  Back back;

  extents_type const& extents() const { return back.x.extents(); }
  template <class F>
  both_products rebuild(F const&) const {
    return *this;
  }
  template <class F>
  void accesses(F&& f, bool) const {
    forth.accesses(f);
    back.x.accesses(f, false);
  }
  template <class Space, class T>
  void apply(Space& space, T* out) const {
    space.run([b = *this, out] { b.back.x.scatter(out, scatter_and_sum<Forth>{b.forth}); });
  }
};

/// Is it a product with a Csr of scalar entries, or, Turned, one with the transpose?
template <class S, bool Turned>
inline constexpr bool is_csr_product = false;
template <class Pattern>
inline constexpr bool is_csr_pattern = false;
template <class Pattern>
  requires is_csr<typename Pattern::format_type>
inline constexpr bool is_csr_pattern<Pattern> = true;
template <class Product>
inline constexpr bool is_of_csr = Product::P * Product::Q == 1 && !Product::has_rhs && !reads_items<decltype(Product::x)> && is_csr_pattern<decltype(Product::A.pattern)>;
template <class T, class View, class X, class Memory>
inline constexpr bool is_csr_product<set_statement<T, product<View, X>, Memory>, false> = is_of_csr<product<View, X>>;
template <class T, class View, class X, class Memory>
inline constexpr bool is_csr_product<set_statement<T, transposed_product<View, X>, Memory>, true> = is_of_csr<transposed_product<View, X>>;

/// Is there a product with a Csr among the statements, and one with the transpose of one?
template <class... S>
inline constexpr bool may_be_both = (is_csr_product<S, false> || ...) && (is_csr_product<S, true> || ...);

/// Do both read the same A, and neither what the other writes?
template <class Forth, class Back>
bool are_both(Forth const& forth, Back const& back) {
  access_list f, b;
  forth.accesses(f), back.accesses(b);
  auto const meet = [](std::span<memory_access const> writes, access_list const& other) {
    return std::ranges::any_of(writes, [&](memory_access const& x) {
      auto const overlaps = [&](memory_access const& y) { return x.overlaps(y); };
      return std::ranges::any_of(other.reads({}, other.end()), overlaps) || std::ranges::any_of(other.writes({}, other.end()), overlaps);
    });
  };
  return static_cast<void const*>(forth.x.A.values) == back.x.A.values && forth.x.A.pattern.col == back.x.A.pattern.col && forth.x.A.bytes == back.x.A.bytes &&
         !meet(f.writes({}, f.end()), b) && !meet(b.writes({}, b.end()), f);
}
template <class Forth, class Back>
auto both(Forth const& forth, Back const& back) {
  using Node = both_products<Forth, Back>;
  return set_statement<std::remove_pointer_t<decltype(Back::data)>, Node, typename Back::memory_type>{back.data, back.elements, Node{forth, back}};
}

/// See with_products_joined.
template <class F, class Done>
auto with_both(F const& f, Done const& done) {
  return with_parts(f, done);
}
template <class F, class Done, class S>
auto with_both(F const& f, Done const& done, S const& last) {
  return with_parts(f, joined(done, packed(last)));
}
template <class F, class Done, class S, class Next, class... More>
auto with_both(F const& f, Done const& done, S const& s, Next const& next, More const&... more) {
  if constexpr (is_csr_product<S, false> && is_csr_product<Next, true>) {
    if (are_both(s, next)) return with_both(f, joined(done, packed(both(s, next))), more...);
  } else if constexpr (is_csr_product<S, true> && is_csr_product<Next, false>) {
    if (are_both(next, s)) return with_both(f, joined(done, packed(both(next, s))), more...);
  }
  return with_both(f, joined(done, packed(s)), next, more...);
}
/// f(statements...) with one statement in the place of neighbours that are both products.
template <class F, class... S>
auto with_products_joined(F const& f, S const&... statements) {
  if constexpr (may_be_both<S...>)
    return with_both(f, pack<>{}, statements...);
  else
    return f(statements...);
}

} // namespace sla::detail

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The product of a nonzero partition: a halo of x in, the entries of this rank, contributions out to the owners of y. Such
// matrices are sharded in dist/assembly/nonzeros.hpp.
#pragma once

#include <algorithm>
#include <memory>

#include <sla/dist/halo/halo.hpp>
#include <sla/expr/sparse/product.hpp>

namespace sla {

/// y = A x or transpose(A) x with the entries of this rank, whose rows and columns are numbered own-then-ghost. A whole node.
template <class View, class X, bool Transposed, class Plan>
struct entries_product {
  using expression_tag = void;
  using value_type = promote_t<typename View::value_type, typename X::value_type>;
  using extents_type = typename X::extents_type;
  using memory_type = typename X::memory_type;
  static constexpr reach depth = reach::whole;
  static constexpr bool needs_vector = true;
  static_assert(!View::shape_type::is_batched && !View::shape_type::is_blocked, "sla: A * x: of a nonzero partition A has no batch and no blocks");

  View A;
  X x;
  Plan rows, columns;  ///< shared_ptrs, lowered to pointers

  extents_type extents() const { return x.extents(); }
  template <class Y>
  auto with_operand(Y const& y) const {
    return entries_product<View, Y, Transposed, Plan>{A, y, rows, columns};
  }
  template <class F>
  auto rebuild(F const& f) const {
    return entries_product<decltype(A.rebuild(f)), decltype(f(x)), Transposed, halo_plan const*>{A.rebuild(f), f(x), std::to_address(rows),
                                                                                                   std::to_address(columns)};
  }
  template <class F>
  void accesses(F&& f, bool) const {
    f(A.stored());
    x.accesses(f, true);
  }
  template <class Space, class T>
  void apply(Space& space, T* out) const {
    space.run([y = *this, out] { y.multiply(out); });
  }
  template <class T>
  void multiply(T* out) const {
    using From = typename X::value_type;
    auto const& in = Transposed ? *rows : *columns;
    auto const& to = Transposed ? *columns : *rows;
    index_t rhs = 1;
    if constexpr (extents_type::rank == 2) rhs = x.extents()[1];
    detail::row_shape const shape{1, rhs};
    detail::halo_exchange<From> halo(in, x.data, shape);
    detail::kept_list<T> mine(std::size_t(to.own() * rhs)), others(std::size_t(to.ghosts() * rhs));
    halo.wait();
    for (index_t i = 0; i < A.shape.rows(); ++i)
      A.pattern.for_row(i, [&](index_t slot, index_t j) {
        index_t const from = Transposed ? i : j, into = Transposed ? j : i;
        From const* const source = from < in.own() ? x.data + from * rhs : halo.ghosts() + (from - in.own()) * rhs;
        T* const sum = into < to.own() ? mine.data() + into * rhs : others.data() + (into - to.own()) * rhs;
        auto const a = A.entry(0, slot, 0, 0);
        for (index_t k = 0; k < rhs; ++k) sum[k] = scalar_cast<T>(sum[k] + op::mul::apply(a, source[k]));
      });
    std::copy(mine.begin(), mine.end(), out);
    detail::reverse_halo(to, others, out, shape);
  }
};

namespace detail {
template <class List>
inline constexpr bool by_entries = false;
template <class... P>
inline constexpr bool by_entries<placements<P...>> = ((P::kind == placement_kind::hyper) || ...);
} // namespace detail

} // namespace sla

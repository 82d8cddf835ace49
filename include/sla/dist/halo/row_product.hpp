// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The nodes of products with row-sharded operands: columns are numbered own-then-ghost. Interior rows see a plain view of the
// own part, boundary rows a view with the ghosts; of a whole vector all rows pick what they read. What starts and awaits the
// exchange is in dist/halo/overlap.hpp.
#pragma once

#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>

#include <sla/dist/halo/halo.hpp>
#include <sla/expr/sparse/product.hpp>

namespace sla {

/// A vector and its ghosts, behind each other: columns below `own` are in data, the others in ghost. Batched, blocked or
/// with right-hand sides, unless Plain.
template <class T, class E, class Memory, bool Plain>
struct ghosted_view {
  using expression_tag = void;
  using value_type = T;
  using extents_type = E;
  using memory_type = Memory;
  static constexpr reach depth = reach::pointwise;

  T const *data, *ghost;
  E shape;
  index_t own, columns, batch, inner;

  E const& extents() const { return shape; }
  SLA_HD T at(element e) const {
    if constexpr (Plain) {
      return e.at < own ? data[e.at] : ghost[e.at - own];
    } else {
      index_t const column = e.at / inner, w = e.at - column * inner, b = column / columns, j = column - b * columns;
      return j < own ? data[(b * own + j) * inner + w] : ghost[((j - own) * batch + b) * inner + w];
    }
  }
  template <class F>
  ghosted_view rebuild(F const&) const {
    return *this;
  }
  template <class F>
  void accesses(F&& f, bool elsewhere) const {
    f(memory_access{data, batch * own * inner * index_t(sizeof(T)), elsewhere, false});
  }
};

namespace detail {
template <class View>
View with_columns(View A, index_t columns) {
  A.shape = typename View::shape_type(A.shape.batch(), A.shape.rows(), columns);
  return A;
}
} // namespace detail

/// y = A x, where x is this rank's part and A's columns are own-then-ghost. Plan: a shared_ptr, lowered to a pointer.
template <class View, class X, class Plan>
struct halo_product : product<View, X> {
  using base = product<View, X>;
  static constexpr bool plain = !base::has_rhs && !View::shape_type::is_batched && !View::shape_type::is_blocked;
  static constexpr bool needs_vector = true;

  Plan plan;

  template <class Y>
  auto with_operand(Y const& y) const {
    return halo_product<View, Y, Plan>{{this->A, y, this->result}, plan};
  }
  template <class F>
  auto rebuild(F const& f) const {
    return halo_product<decltype(this->A.rebuild(f)), decltype(f(this->x)), halo_plan const*>{
        {this->A.rebuild(f), f(this->x), this->result}, std::to_address(plan)};
  }

  detail::row_shape shape() const { return {this->A.shape.batch_count(), base::Q * this->rhs()}; }
  /// The product as the interior rows see it, and as the boundary rows do.
  auto interior() const { return base{detail::with_columns(this->A, plan->own()), this->x, this->result}; }
  template <class T>
  auto boundary(T const* ghosts) const {
    using Ghosted = ghosted_view<T, typename X::extents_type, typename X::memory_type, plain>;
    auto const s = shape();
    Ghosted const both{this->x.data, ghosts, this->x.extents(), plan->own(), plan->own() + plan->ghosts(), s.batch, s.inner};
    return product<View, Ghosted>{this->A, both, this->result};
  }
};

/// A whole vector as the columns of a row-sharded operand see it: the own ones of this rank, then its ghosts.
template <class X, class S, bool HasRhs>
struct picked_view {
  using expression_tag = void;
  using value_type = typename X::value_type;
  using extents_type = typename X::extents_type;
  using memory_type = typename X::memory_type;
  static constexpr reach depth = X::depth;

  X x;
  row_partition const* own;
  halo_plan const* halo;
  index_t rhs;

  extents_type const& extents() const { return x.extents(); }
  SLA_AS_CALLEE
  SLA_HD value_type at(element e) const {
    if constexpr (!HasRhs && !S::is_batched && !S::is_blocked) {
      index_t const from = halo->global(*own, e.at);
      return x.at(element{from, from, e.item});
    } else {
      index_t const inner = S::block_cols * rhs, columns = halo->own() + halo->ghosts();
      index_t const column = e.at / inner, w = e.at - column * inner, b = column / columns;
      index_t const from = (b * own->extent() + halo->global(*own, column - b * columns)) * inner + w;
      return x.at(element{from, HasRhs ? from / rhs : from, e.item});
    }
  }
  template <class F>
  auto rebuild(F const& f) const {
    return picked_view<decltype(f(x)), S, HasRhs>{f(x), own, halo, rhs};
  }
  template <class F>
  void accesses(F&& f, bool elsewhere) const {
    x.accesses(f, elsewhere);
  }
};

/// y = A x, where every rank has the whole of x and A's columns are own-then-ghost: no communication.
template <class View, class X, class Handle>
struct picked_product : product<View, X> {
  using base = product<View, X>;
  using value_type = typename base::value_type;

  Handle handle;  ///< of A's layout: a shared_ptr, lowered to a pointer

  template <class Y>
  auto with_operand(Y const& y) const {
    return picked_product<View, Y, Handle>{{this->A, y, this->result}, handle};
  }
  template <class F>
  auto rebuild(F const& f) const {
    auto const* pointer = std::to_address(handle);
    return picked_product<decltype(this->A.rebuild(f)), decltype(f(this->x)), decltype(pointer)>{
        {this->A.rebuild(f), f(this->x), this->result}, pointer};
  }
  value_type at(element e) const { return picked().at(e); }
  template <class T>
  void store(row_span s, T* out) const {
    picked().store(s, out);
  }

private:
  auto picked() const {
    using Picked = picked_view<X, typename View::shape_type, base::has_rhs>;
    auto const& domain = handle->domain ? handle->domain->rows : handle->rows;
    return product<View, Picked>{this->A, Picked{this->x, domain.get(), handle->halo.get(), this->rhs()}, this->result};
  }
};

/// y = transpose(A) x for such an A: the local part scatters, contributions to ghosts go to their owners. A whole node.
template <class View, class X, class Plan>
struct halo_transposed_product : transposed_product<View, X> {
  using base = transposed_product<View, X>;
  Plan plan;

  template <class Y>
  auto with_operand(Y const& y) const {
    return halo_transposed_product<View, Y, Plan>{{this->A, y, this->result}, plan};
  }
  template <class F>
  auto rebuild(F const& f) const {
    return halo_transposed_product<decltype(this->A.rebuild(f)), decltype(f(this->x)), halo_plan const*>{
        {this->A.rebuild(f), f(this->x), this->result}, std::to_address(plan)};
  }
  template <class Space, class T>
  void apply(Space& space, T* out) const {
    if constexpr (Space::memory_type::is_host)
      space.run([y = *this, out] { y.fold(out); });
    else
      space.put_transposed(*this, out);
  }
  /// The numbers that a fold adds up in: it rounds once, as on one rank.
  template <class T>
  using sum_type = std::conditional_t<(sizeof(real_t<T>) < sizeof(real_t<typename base::value_type>)), typename base::value_type, T>;
  detail::row_shape shape() const { return {this->A.shape.batch_count(), base::Q * this->rhs()}; }
  /// The extents of the local product: own columns, then ghosts.
  auto local_extents() const {
    index_t const columns = plan->own() + plan->ghosts();
    return [&]<std::size_t... D>(std::index_sequence<D...>) {
      constexpr int row = View::shape_type::batch_extents::rank;
      return typename base::extents_type((int(D) == row ? columns : this->result[int(D)])...);
    }(std::make_index_sequence<std::size_t(base::extents_type::rank)>{});
  }
  template <class T>
  void fold(T* out) const {
    using Wide = sum_type<T>;
    auto const s = shape();
    auto local = static_cast<base const&>(*this);
    local.result = local_extents();
    std::vector<Wide> all(std::size_t(local.result.total()));
    local.scatter(all.data());
    if constexpr (std::same_as<Wide, T>) {
      detail::fold_halo(*plan, all.data(), out, s);
    } else {
      std::vector<Wide> own(std::size_t(this->result.total()));
      detail::fold_halo(*plan, all.data(), own.data(), s);
      std::transform(own.begin(), own.end(), out, [](Wide const& v) { return scalar_cast<T>(v); });
    }
  }
};

} // namespace sla

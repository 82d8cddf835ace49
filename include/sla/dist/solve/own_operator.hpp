// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A user's `linear_operator` on ranks: its function gets the elements that this rank holds, in ascending order,
// and is called on all ranks alike, so that it may communicate. As the matrix of a solve, and as the preconditioner of one.
#pragma once

#include <utility>

#include <sla/dist/solve/mesh_world.hpp>
#include <sla/expr/sparse/linear_operator.hpp>

namespace sla {

namespace detail {
/// Errors: shape_error, if a rank's operator is not of the rows that this rank holds, in words that begin with the call.
template <class = void>
void require_own_size(char const* call, index_t rows, index_t cols, index_t own, index_t own_cols) {
  if (rows != own || cols != own_cols)
    throw shape_error(text(call, " is a linear_operator of ", rows, " x ", cols, ", and this rank holds ", own, " rows", own == own_cols ? text() : text(" and ", own_cols, " columns"),
                           ": on ranks a linear_operator is that of the rank's own rows, ", own, " x ", own_cols, ", and its function communicates for what it reads of others"));
}
} // namespace detail

/// A x in the placements of x: each rank's function of this rank's part. Law: the operator is square on each rank, of what it holds.
/// Errors: shape_error on the rank whose part has another size.
template <class T, DistributedExpr X>
auto operator*(linear_operator<T> const& a, X&& x) {
  return detail::distributed_like(std::forward<X>(x), [&](auto&& node) {
    if (a.rows() != a.cols())
      throw shape_error(text("A * x on ranks: A is a linear_operator of ", a.rows(), " x ", a.cols(), " on this rank, and must be square: A x lies as x does; "
                             "where it lies otherwise, rank_operator(A, its layout, layout of x) * x"));
    detail::require_own_size("A * x: A", a.rows(), a.cols(), node.extents()[0], node.extents()[0]);
    return a * std::move(node);
  });
}
template <class T, int Rank, DistributedExpr X>
auto operator*(applied_operator<T, host_memory, Rank> const& m, X&& x) {
  return detail::distributed_like(std::forward<X>(x), [&](auto&& node) { return m * std::move(node); });
}

/// As preconditioner of D: of the rows that this rank holds. Errors, on every rank: shape_error, where it has another size on one.
template <class T, DistributedSparse D>
auto perform(op::setup, linear_operator<T> const& p, D const& d) {
  return detail::with_local_rows(d, [&] {
    if constexpr (detail::sparse_axis<placements_of_t<D>> >= 0)
      detail::require_own_size("solve(A, b, method, P): P", p.rows(), p.cols(), d.local().rows() * local_of_t<D>::shape_type::block_rows, d.local().rows() * local_of_t<D>::shape_type::block_rows);
    return p.setup(d.local());
  });
}
namespace detail {
template <class M>
inline constexpr bool is_own_operator<local_preconditioner<M>> = is_own_operator<M>;
} // namespace detail

/// A linear_operator, and the layout of the vectors that it maps, so that it can be prepared:
/// `prepare(rank_operator(A, b.layout()), cg{}).solve(b)` is `solve(A, b, cg{})`, set up once. With two layouts, of A x and of x, A need
/// not be square: each rank's function makes its rows of A x from its elements of x.
/// Errors: shape_error on the rank whose part of x or b has another size.
template <class T, class Mesh, class... P>
class rank_operator {
public:
  using value_type = T;
  using linear_operator_tag = void;

  rank_operator(linear_operator<T> local, vector_layout<Mesh, P...> layout) : rank_operator(std::move(local), layout, layout) {}
  rank_operator(linear_operator<T> local, vector_layout<Mesh, P...> rows, vector_layout<Mesh, P...> cols) : local_(std::move(local)), rows_(std::move(rows)), cols_(std::move(cols)) {}
  linear_operator<T> const& local() const { return local_; }
  /// Of A x, and of x.
  vector_layout<Mesh, P...> const& row_layout() const { return rows_; }
  vector_layout<Mesh, P...> const& col_layout() const { return cols_; }
  Mesh const& mesh() const { return rows_.mesh(); }
  bool has_one_layout() const { return rows_.handle() == cols_.handle(); }
  rank_operator adjoint() const { return {local_.adjoint(), cols_, rows_}; }

private:
  linear_operator<T> local_;
  vector_layout<Mesh, P...> rows_, cols_;
};
template <class T, class Mesh, class... P, DistributedExpr X>
auto operator*(rank_operator<T, Mesh, P...> const& a, X&& x) {
  constexpr bool lies = has_placements<std::remove_cvref_t<X>, P...>;
  static_assert(lies, "sla: A * x with a rank_operator: x has other placements than the layouts of A");
  auto layout = detail::layout_of(x);
  if (!a.has_one_layout()) {
    if (a.col_layout().handle()->rows) detail::require_partition(layout, a.col_layout().handle(), false);
    layout = a.row_layout().handle();
  }
  auto node = detail::local_node(std::forward<X>(x));
  detail::require_own_size("A * x: A", a.local().rows(), a.local().cols(), a.has_one_layout() ? node.extents()[0] : a.local().rows(), node.extents()[0]);
  auto product = a.local() * std::move(node);
  return typename detail::distributed_by<decltype(product), Mesh, placements<P...>>::type{std::move(product), std::move(layout)};
}

namespace detail {
/// The operator for vectors that lie as b does.
template <class T, class B>
auto in_layout_of(linear_operator<T> const& a, B const& b) {
  return [&]<class... P>(placements<P...>) {
    return rank_operator(a, vector_layout<mesh_of_t<B>, P...>(layout_of(b)));
  }(placements_of_t<B>{});
}
} // namespace detail

/// Ranks of an axis that shards rows share a system; those of any other axis have systems of their own.
template <class T, class Mesh, class... P>
struct linear_world<rank_operator<T, Mesh, P...>> : detail::placed_world {
  using A = rank_operator<T, Mesh, P...>;
  using operator_type = A;
  static constexpr bool is_factored = false;
  template <class B>
  static constexpr bool accepts = DistributedExpr<B>;
  template <class B>
  static constexpr bool placed = [] {
    constexpr bool lies = has_placements<B, P...> && ((P::kind == placement_kind::shard || P::kind == placement_kind::replicate) && ...);
    static_assert(lies, "sla: solve(A, b) with a linear_operator on ranks: b is Shard or Replicate on every axis, and lies in the layout of A; finish a pending sum first");
    return lies;
  }();
  template <class B>
  using vector_type = detail::distributed_vector_t<T, Mesh, B>;

  static void check(A const& a, bool square, char const* who = "solve(A, b)") {
    detail::together(a.mesh().world(), [&] {
      if (square && !a.has_one_layout())
        throw shape_error(text(who, ": A is a linear_operator of ", a.local().rows(), " x ", a.local().cols(), " on a rank, of two layouts, and must be square, of one"));
      if (a.has_one_layout() && a.local().rows() != a.local().cols())
        throw shape_error(text(who, ": A is a linear_operator of ", a.local().rows(), " x ", a.local().cols(), " on a rank, and must be square, or say how x lies: "
                               "rank_operator(A, layout of b, layout of x)"));
      return 0;
    });
  }
  template <class V>
  static auto zero_of_domain(A const& a, V const& b) {
    using B = typename V::local_type::extents_type;
    using Local = tensor<typename V::value_type, std::conditional_t<B::rank == 1, Extents<dyn>, Extents<dyn, B::static_extent(B::rank - 1)>>>;
    auto const extents = [&] {
      if constexpr (B::rank == 1)
        return typename Local::extents_type(a.local().cols());
      else
        return typename Local::extents_type(a.local().cols(), b.local().extent(1));
    }();
    return typename detail::distributed_with<Local, Mesh, placements_of_t<V>>::type(Local(extents), a.has_one_layout() ? b.handle() : a.col_layout().handle());
  }
  template <class B>
  static vector_type<B> right_hand_side(A const& a, B const& b) {
    using V = vector_type<B>;
    static_assert(V::local_type::rank == 1 || V::local_type::rank == 2, "sla: solve(A, b) with an operator of yours: b has one axis, and perhaps one of right-hand sides");
    auto node = detail::local_node(b);
    return detail::with_own_elements(detail::layout_of(b), placements_of_t<V>{}, [&](int rows) {
      detail::require_own_size("solve(A, b): A", a.local().rows(), a.local().cols(), node.extents()[0], a.has_one_layout() ? node.extents()[0] : a.local().cols());
      typename V::local_type local(typename V::local_type::extents_type(V::local_type::extents_type::from(node.extents())), uninitialized);
      immediate<overlapped> space;
      fuse(space, set(local, node));
      detail::require_finite(local, "b", rows);
      return V(std::move(local), detail::layout_of(b));
    });
  }
  template <class V>
  static frame layout(A const& a, V const& b) {
    return linear_world<linear_operator<T>>::layout(a.local(), b.local());
  }
  template <class V>
  static auto space(A const& a, V const& b) {
    return mesh_space<Mesh, (V::local_type::rank > 1), detail::shares_system<P, 0, 1>...>(layout(a, b), a.mesh(), {is_copied(P::kind)...});
  }
  template <class V>
  static bool is_empty(A const& a, V const& b) {
    index_t size = b.local().size();
    int axis = 0;
    ((detail::shares_system<P, 0, 1> ? void(size = all_reduce(a.mesh().communicator(axis++), size)) : void(++axis)), ...);
    return size == 0;
  }
  template <class M>
  static auto setup(M const& p, A const& a) {
    return detail::together(a.mesh().world(), [&] { return detail::set_up(p, a.local()); });
  }
  static A adjoint(A const& a) { return a.adjoint(); }
  static bool same_pattern(A const& a, A const& a2) {
    return all_reduce(a.mesh().world(), index_t(a.local().rows() != a2.local().rows())) == 0;
  }
};

/// x with A x = b on ranks, for A that sees this rank's part of b. Placement: b is Shard or Replicate on every axis, x as b.
template <class T, DistributedExpr B, detail::SolveOption... Options>
auto perform(op::try_solve, linear_operator<T> const& a, B const& b, Options const&... options) {
  return try_solve(detail::in_layout_of(a, b), b, options...);
}
template <class T, DistributedExpr B, detail::SolveOption... Options>
auto perform(op::solve, linear_operator<T> const& a, B const& b, Options const&... options) {
  return solve(detail::in_layout_of(a, b), b, options...);
}

} // namespace sla

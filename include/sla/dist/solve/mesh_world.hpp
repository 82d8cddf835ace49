// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Solving on a mesh: what the driver of solve/linear/linear.hpp must know of a distributed operator. The methods are those of one rank.
#pragma once

#include <utility>

#include <sla/dist/matrix/matrix_functions.hpp>
#include <sla/dist/matrix/multiply_on_ranks.hpp>
#include <sla/dist/solve/local_preconditioner.hpp>
#include <sla/dist/solve/mesh_space.hpp>
#include <sla/solve/direct/direct.hpp>
#include <sla/solve/linear/choose.hpp>
#include <sla/solve/linear/linear.hpp>
#include <sla/solve/precond/composed/chebyshev.hpp>

namespace sla {

/// Of the whole of A, whose rows are on ranks: its products exchange halos.
template <DistributedSparse A, DistributedExpr X>
auto operator*(applied_chebyshev<A> const& m, X&& x) {
  auto product = m.matrix() * std::forward<X>(x);
  return detail::distributed_like(std::move(product), [&](auto&& node) { return m.around(std::move(node)); });
}

namespace detail {
/// Has every system of D its rows on one axis, without a batch?
template <class D>
inline constexpr bool may_be_gathered = has_found_rows<placements_of_t<D>> && !local_of_t<D>::shape_type::is_batched;
template <factorization Kind>
struct factor_on_first; // dist/choice/factors_on_ranks.hpp

/// Vectors on ranks for an operator of scalars T.
template <class T, class Mesh, class B>
struct distributed_vector;
template <class T, class Mesh, class B>
  requires(is_distributed<B> || is_distributed_node<B>)
struct distributed_vector<T, Mesh, B> {
  using value_type = user_t<promote_t<kernel_t<T>, kernel_t<typename B::value_type>>>;
  using type = typename distributed_with<tensor<value_type, typename local_of_t<B>::extents_type, memory_on_ranks_t<B>>, Mesh, placements_of_t<B>>::type;
};
template <class T, class Mesh, class B>
using distributed_vector_t = typename distributed_vector<T, Mesh, std::remove_cvref_t<B>>::type;

/// What operators on ranks have alike.
struct placed_world {
  template <class A, class V>
  static V zero(A const&, V const& b) {
    return V(typename V::local_type(b.local().extents()), b.handle());
  }
  template <class Local, class Mesh, class... P>
  static auto beside(distributed<Local, Mesh, P...> const& x, index_t count) {
    auto local = tensor_world<Local>::beside(x.local(), count);
    return distributed<decltype(local), Mesh, P...>(std::move(local), x.handle());
  }
  template <class V>
  static auto& own(V& x) {
    return x.local();
  }
  /// Of a number that is a sum over the ranks of an axis, all on its first rank.
  template <class Mesh, class... P>
  static auto rest(double value, distributed<double, Mesh, P...> const& y) {
    int axis = 0;
    bool const counts = ((y.mesh().coordinate(axis++) == 0 || P::kind != placement_kind::partial) && ...);
    return distributed<double, Mesh, P...>((counts ? value : 0.0) - y.local(), y.handle());
  }
  template <class V>
  static void check_guess(V const& x0, V const& b) {
    with_own_elements(b.handle(), placements_of_t<V>{}, [&](int rows) {
      (void)common_layout(b, x0);
      return detail::check_guess(x0.local(), b.local(), rows), 0;
    });
  }
};
} // namespace detail

template <class T, class S, class F, class Memory, class Mesh, class... P>
  requires(!detail::cuts_rows<distributed<sparse_tensor<T, S, F, Memory>, Mesh, P...>>) // those: dist/solve/solve_entries.hpp
struct linear_world<distributed<sparse_tensor<T, S, F, Memory>, Mesh, P...>> : detail::placed_world {
  using A = distributed<sparse_tensor<T, S, F, Memory>, Mesh, P...>;
  using operator_type = A;
  static constexpr int axis = detail::owners_axis<placements<P...>>;
  static constexpr bool by_entries = detail::by_entries<placements<P...>>;
  static constexpr bool is_gathered = Memory::is_host && detail::may_be_gathered<A>, is_factored = axis < 0 || is_gathered, is_chosen_for = Memory::is_host && !by_entries;

  template <class B>
  static constexpr bool accepts = DistributedExpr<B>;
  template <class B>
  static constexpr bool placed = [] {
    constexpr bool same_memory = std::same_as<detail::memory_on_ranks_t<B>, Memory>;
    static_assert(same_memory, "sla: solve(D, b): the parts of D and b live in different memories; bring one over with to<Memory>(...)");
    return same_memory && well_typed<op::solve, A, B>;
  }();
  template <class B>
  static constexpr void refuse() {
    require_well_typed<op::solve, A, B>();
  }
  template <class B>
  using vector_type = detail::distributed_vector_t<T, Mesh, B>;

  /// The rows and columns of the whole, of scalars.
  static std::pair<index_t, index_t> sides(A const& a) {
    return {a.rows() * S::block_rows, a.cols() * S::block_cols};
  }
  static void check(A const& a, bool square, char const* who = "solve(A, b)") {
    if (square && a.rows() != a.cols())
      throw shape_error(text(who, ": A is ", a.rows(), " x ", a.cols(), ", and must be square; for least squares, least_squares(A, b)"));
    if constexpr (detail::sparse_dim<placements_of_t<A>> == 0)
      if (square) detail::require_square(who, "A", a);
    detail::with_local_rows<true>(a, [&] { return linear_world<sparse_tensor<T, S, F, Memory>>::check(a.local(), false, who), 0; });
  }
  /// Errors: shape_error, if the rows or columns of a matrix that stands beside A lie otherwise.
  template <class B>
    requires requires(B const& b) { detail::domain_layout(b.handle()); }
  static void check_beside(A const& a, B const& b, char const* who) {
    if constexpr (axis >= 0)
      for (auto const& side : {b.handle(), detail::domain_layout(b.handle())}) detail::require_partition(side, a.handle(), true, who);
  }
  template <class V>
  static auto zero_of_domain(A const& a, V const& b) {
    using Domain = transposed_shape_t<S>;
    using B = typename V::local_type::extents_type;
    using E = typename detail::product_extents<domain_extents_t<S>, B, detail::has_rhs_axis<Domain, B>>::type;
    using Local = tensor<typename V::value_type, E, Memory>;
    auto layout = b.handle();
    index_t cols = a.local().cols();
    if constexpr (axis >= 0) {
      layout = detail::result_layout(detail::domain_layout(a.handle()), layout, axis);
      cols = a.handle()->halo->own();
    }
    Domain const sides(a.local().shape().batch(), cols, a.local().rows());
    return typename detail::distributed_with<Local, Mesh, placements_of_t<V>>::type(Local(detail::make_product_extents<E>(sides, b.local().extents())), layout);
  }
  template <class B>
  static vector_type<B> right_hand_side(A const& a, B const& b) {
    require_well_typed<op::solve, A, B>();
    using V = vector_type<B>;
    auto const& layout = detail::layout_of(b);
    if constexpr (axis >= 0) detail::require_partition(layout, a.handle(), true, "solve(A, b): b");
    auto node = detail::local_node(b);
    return detail::with_local_rows(a, [&] {
      auto const range = own_range(a);
      constexpr int rank = decltype(range)::rank;
      static_assert(V::local_type::rank == rank || V::local_type::rank == rank + 1,
                    "sla: solve(A, b): b must have the extents (*batch, M, p) of A's range, plus at most one axis of right-hand sides");
      if constexpr (axis >= 0) detail::require_part(node.extents()[S::batch_extents::rank], *a.handle()->rows, "solve(A, b): b", "row_layout()");
      for (int d = 0; d < rank; ++d)
        if (node.extents()[d] != range[d])
          throw shape_error(text("solve(A, b): axis ", d, " of this rank's part of b is ", node.extents()[d], " and should be ", range[d]));
      typename V::local_type local(typename V::local_type::extents_type(V::local_type::extents_type::from(node.extents())), uninitialized);
      typename rank_spaces<Memory>::immediate space;
      fuse(space, set(local, node));
      detail::require_finite(local, "b", S::batch_extents::rank);
      return V(std::move(local), layout);
    });
  }
  template <class V>
  static constexpr bool has_items = S::is_batched || (V::local_type::rank > domain_extents_t<S>::rank);
  template <class V>
  static frame layout(A const& a, V const& b) {
    auto const& x = b.local();
    index_t const rhs = V::local_type::rank > domain_extents_t<S>::rank ? x.extent(V::local_type::rank - 1) : 1;
    return {a.local().batch_count(), own_range(a)[S::batch_extents::rank], S::block_rows * rhs, rhs};
  }
  template <class V>
  static auto space(A const& a, V const& b) {
    constexpr int batch = S::batch_extents::rank, domain = domain_extents_t<S>::rank;
    return [&]<class... Q>(placements<Q...>) {
      return mesh_space_in<Memory, Mesh, has_items<V>, detail::shares_system<Q, batch, domain>...>(layout(a, b), a.mesh(), {is_copied(Q::kind)...});
    }(placements_of_t<V>{});
  }
  /// Nothing to do for the ranks that share this one's systems.
  template <class V>
  static bool is_empty(A const& a, V const& b) {
    index_t size = b.local().size();
    if constexpr (axis >= 0) size = all_reduce(a.mesh().communicator(axis), size);
    return size == 0;
  }
  template <factorization Kind>
  static detail::factor_on_first<Kind> of_whole(factor<Kind> const&)
    requires is_gathered
  {
    return {};
  }
  template <class M>
  static constexpr bool sets_up = !Memory::is_host || detail::SetsUp<M, A> || detail::SetsUp<M, typename A::local_type>;  // elsewhere `setup` says more
  template <class M>
  static auto setup(M const& p, A const& a) {
    constexpr bool is_there = Memory::is_host || !requires { typename M::preconditioner_tag; } || (detail::SetsUp<M, typename A::local_type> && !requires { typename M::spans_ranks_tag; });
    static_assert(is_there, "sla: solve(D, b, method, preconditioner), where the parts of D are in another memory than the host's, takes jacobi{}, block_jacobi{}, identity{} or a preconditioner of "
                            "yours; others work on the host: solve(to<host_memory>(D), to<host_memory>(b), ...)");
    if constexpr (std::same_as<M, identity> || !is_there) {
      return applied_identity{};
    } else if constexpr (axis >= 0 && requires { typename M::spans_ranks_tag; }) {
      static_assert(!by_entries, "sla: solve(A, b, method, preconditioner): this preconditioner asks what others have of the rows of A, and no rank has whole rows of this one "
                                 "(columns, rectangles, entries): take one of each rank's own block, jacobi{}, ilu0{}, or distribute A by rows");
      if constexpr (by_entries)
        return applied_identity{};
      else
        return p.setup(a);
    } else if constexpr (requires { typename M::preconditioner_tag; }) {
      auto m = detail::with_own_block<M>(a, [&](auto const& block) { return p.setup(block); });
      return local_preconditioner<decltype(m)>(std::move(m), a);
    } else {
      return p;
    }
  }
  /// By global numbers of rows; a batch that is sharded counts its items from 0 on each rank.
  static auto probe(A const& a, std::uint64_t seed)
    requires(detail::sparse_dim<placements<P...>> == 0)
  {
    using E = domain_extents_t<S>;
    auto const domain = a.local().domain();
    index_t sizes[E::rank];
    for (int d = 0; d < E::rank; ++d) sizes[d] = domain[d];
    sizes[S::batch_extents::rank] = a.handle()->halo->own();
    return random_in<S::block_cols>(a.col_layout(), detail::extents_from<E>(sizes), seed, 0);
  }
  static auto probe_of_range(A const& a, std::uint64_t seed, index_t first)
    requires(detail::sparse_dim<placements<P...>> == 0)
  {
    return random_in<S::block_rows>(a.row_layout(), a.local().range(), seed, first);
  }
  /// Of another memory made on the host: it is needed once per matrix.
  static auto adjoint(A const& a) {
    if constexpr (Memory::is_host)
      return adjointed(a);
    else
      return to<Memory>(adjointed(to<host_memory>(a)));
  }
  template <class Numbers>
  static auto common(A const& a, Numbers numbers) {
    return detail::common_numbers_of(a, std::move(numbers));
  }
  /// On every rank, so that all of them go on, or none.
  static bool same_pattern(A const& a, A const& a2) {
    auto const same = [](auto const& p, auto const& q) { return sla::same_pattern(p, q); };
    bool here = a.local().shape() == a2.local().shape();
    if constexpr (Memory::is_host)
      here = here && same(a.local().pattern(), a2.local().pattern());
    else
      here = here && (a.local().shared_pattern() == a2.local().shared_pattern() || same(to<host_memory>(a.local()).pattern(), to<host_memory>(a2.local()).pattern()));
    return all_reduce(a.mesh().world(), index_t(!here)) == 0;
  }

private:
  /// The extents of what this rank owns of y in y = A x.
  static auto own_range(A const& a) {
    auto range = a.local().range();
    if constexpr (by_entries) range = decltype(range)(a.handle()->rows->count());
    return range;
  }
  template <index_t Block, class E, class... Q>
  static auto random_in(vector_layout<Mesh, Q...> const& layout, E const& extents, std::uint64_t seed, index_t first) {
    auto const& rows = *layout.handle()->rows;
    tensor<T, E> local(extents, uninitialized);
    for (index_t n = 0; n < local.size(); ++n) {
      index_t const row = n / Block, b = row / (std::max)(rows.count(), index_t(1));
      local[n] = detail::random_at<T>(seed, first + (b * rows.extent() + rows.global(row - b * rows.count())) * Block + n % Block);
    }
    return distributed<tensor<T, E>, Mesh, Q...>(std::move(local), layout.handle());
  }
};

/// One side on ranks and the other one on one rank: refused by a sentence.
template <detail::Solving Op, SparseOperand A, DistributedExpr B, class... Options>
  requires(!PlacedOperator<A>)
auto perform(Op, A const&, B const&, Options const&...) {
  static_assert(always_false<A>, "sla: solve(A, b): b is distributed and A is a matrix of one rank: distribute it, D = distribute<SparseShard<0>>(A, mesh, partitioner), "
                                 "and b by D.row_layout()");
  return detail::solved_by_nothing<Op, detail::distributed_vector_t<typename B::value_type, mesh_of_t<B>, B>>();
}
template <detail::Solving Op, PlacedOperator A, Tensorial B, class... Options>
  requires(!DistributedExpr<B>)
auto perform(Op, A const&, B const&, Options const&...) {
  static_assert(always_false<A>, "sla: solve(D, b): D is distributed and b is a vector of one rank: distribute it, distribute(b, D.row_layout())");
  return detail::solved_by_nothing<Op, B>();
}

/// x with op(D) x = b, `solve(transpose(D), b, cg{}, jacobi{})`: of transpose and adjoint as solve_transpose and solve_adjoint of what
/// `prepare(D, ...)` makes; conj(D) x = b is D conj(x) = conj(b). Placement and gradient: as of D. Cost: of the former two a copy of D's
/// values, and D transposed, stored.
template <class D, bool Transposed, bool Conj, DistributedExpr B, detail::SolveOption... Options>
  requires(!detail::cuts_rows<D>)
auto perform(op::try_solve, distributed_view<D, Transposed, Conj> const& a, B const& b, Options const&... options) {
  if constexpr (!detail::solve_laws<D, B, Options...>::hold || !(Transposed || Conj)) {
    return try_solve(*a.matrix, b, options...);
  } else if constexpr (!Transposed) {
    auto s = try_solve(*a.matrix, eval(conj(b)), options...);
    s.x = conj(s.x);
    return s;
  } else if constexpr (Conj) {
    return prepare(*a.matrix, options...).try_solve_adjoint(b, options...);
  } else {
    return prepare(*a.matrix, options...).try_solve_transpose(b, options...);
  }
}
template <class D, bool Transposed, bool Conj, DistributedExpr B, detail::SolveOption... Options>
  requires(!detail::cuts_rows<D>)
auto perform(op::solve, distributed_view<D, Transposed, Conj> const& a, B const& b, Options const&... options) {
  return detail::solved(perform(op::try_solve{}, a, b, options...));
}

} // namespace sla

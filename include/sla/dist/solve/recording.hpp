// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The schedule of a solver, before anything runs: `method_schedule<cg, D, V>` runs the text of the method in a constant
// expression on outlines of D and of a vector V, in a space whose stop test goes on twice. Outlines are in spmd/schedule/outline.hpp.
#pragma once

#include <tuple>
#include <utility>
#include <vector>

#include <sla/dist/value/distributed.hpp>
#include <sla/dist/value/reductions.hpp>
#include <sla/solve/krylov/bicgstab.hpp>
#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/krylov/fgmres.hpp>
#include <sla/solve/krylov/gmres.hpp>
#include <sla/solve/krylov/minres.hpp>
#include <sla/spmd/schedule/outline_operators.hpp>

namespace sla {

namespace detail {
/// What kernels and all_reduce see of a number.
template <class T>
struct kernel_number {
  using type = T;
};
template <Scalar T>
struct kernel_number<T> {
  using type = accumulator_t<kernel_t<T>>;
};
template <class T>
using kernel_number_t = typename kernel_number<T>::type;
} // namespace detail

/// The statement y = x of a recording space.
template <class Y, class X>
struct outline_assignment {
  Y* to;
  X from;
};
template <class Local, class Mesh, class... P, detail::DenseOutline X>
constexpr auto set(outline<Local, Mesh, P...>& destination, X const& x) {
  static_assert(has_placements<X, P...>, "sla: set(x, expression): the expression has other placements than x");
  return outline_assignment<outline<Local, Mesh, P...>, X>{&destination, x};
}
/// Is S an assignment of outlines?
template <class S>
inline constexpr bool is_outline_assignment = false;
template <class Y, class X>
inline constexpr bool is_outline_assignment<outline_assignment<Y, X>> = true;
/// A statement of outlines, of which only the types and the messages are known.
template <class S>
concept OutlineStatement = is_outline_assignment<S> || Outlined<S>;

/// A preconditioner that sends nothing: Jacobi, or incomplete factors of each rank's own block.
struct local_operator {};
template <detail::DenseOutline X>
constexpr X operator*(local_operator, X const& x) {
  return x;
}

/// The sum of the first `count` vectors of a basis times coefficients that every rank has.
template <class Local, class Mesh, class... P, class H>
constexpr auto combine(std::vector<outline<Local, Mesh, P...>> const& basis, int, H const& h) {
  static_assert(detail::all_finished<H>, "sla: combine(V, k, h): h is a scalar of a space");
  return outline<Local, Mesh, P...>(std::in_place, basis.front(), h);
}
/// The statement of count inner products: one number of Capacity parts in the placements of a dot.
template <int Capacity, class Local, class Mesh, class... P, detail::DenseOutline X>
constexpr auto dots(std::vector<outline<Local, Mesh, P...>> const& basis, int, X const& w) {
  using V = outline<Local, Mesh, P...>;
  using H = fixed_array<accumulator_t<kernel_t<typename V::value_type>>, Capacity>;
  return detail::outlined<op::dot, H>(basis.front(), w);
}

/// The columns of V C, of an outlined block (*batch, N, k).
template <class T, class E, class Mesh, class... P, class C>
constexpr auto combine(outline<shape_only<T, E>, Mesh, P...> const& v, C const& c, index_t = -1) {
  static_assert(detail::all_finished<C>, "sla: combine(V, C): C is a scalar of a space");
  detail::require_whole_rows<E::rank>(placements<P...>{});
  using Wide = typename detail::columns_replaced<E, E::static_extent(E::rank - 1) == dyn ? dyn : index_t(C::local_type::cols())>::type;
  return outline<shape_only<T, Wide>, Mesh, P...>(std::in_place, v, c);
}
/// The statement of V^H W of outlined blocks: k m numbers in the placements of a dot.
template <int Most = 0, class T, class E, class U, class E2, class Mesh, class... P, class... Q>
constexpr auto gram_of(outline<shape_only<T, E>, Mesh, P...> const& v, outline<shape_only<U, E2>, Mesh, Q...> const& w) {
  detail::require_whole_rows<E::rank>(placements<P...>{});
  using Wide = decltype(op::inner::apply(accumulator_t<kernel_t<T>>{}, accumulator_t<kernel_t<U>>{}));
  return detail::outlined<op::dot, small_matrix<Wide, detail::columns_of<Most, E>, detail::columns_of<Most, E2>>>(v, w);
}
/// One column of an outlined block.
template <class T, class E, class Mesh, class... P>
constexpr auto column(outline<shape_only<T, E>, Mesh, P...> const& v, index_t) {
  detail::require_whole_rows<E::rank>(placements<P...>{});
  return outline<shape_only<T, typename detail::extents_of_column<E>::type>, Mesh, P...>(std::in_place, v);
}

/// A space (solve/seam/space.hpp) of outlines: reductions of one fuse are joined, one all_reduce per monoid and axis, as those of
/// mesh_space are. Its scalars are typed: Replicate, once reduced.
template <class Mesh>
class recording_space {
public:
  using recording_tag = void;
  template <class T>
  using scalar_type = typename detail::replicated_outline<T, Mesh>::type;

  constexpr explicit recording_space(recorder& to) : to_(&to) {}

  template <class T, class Local, class... P>
  constexpr auto like(outline<Local, Mesh, P...> const& x) {
    return x;
  }
  template <class F, class... A>
  constexpr auto map(F, A const&... a) {
    static_assert((detail::all_finished<A> && ...), "sla: space.map(f, s...): a scalar that the ranks do not share; it is finished by fuse");
    using T = decltype(std::declval<F>()(std::declval<typename A::local_type>()...));
    return detail::results_of_map<T>([&]<class R>(std::type_identity<R>) { return scalar_type<R>(std::in_place, a...); });
  }
  /// Asks whether to go on.
  template <class S>
  constexpr auto peek(S const&) {
    static_assert(detail::all_finished<S>, "sla[E23]: ranks may not branch on a value that differs among them");
    bool const runs = to_->answer();
    std::vector<typename S::local_type> seen(1);
    if constexpr (std::same_as<typename S::local_type, progress>) seen[0] = {runs ? reason::running : reason::converged, 0, 0.0};
    return seen;
  }
  template <class S>
  constexpr auto read(S const&) {
    return std::vector<typename S::local_type>();
  }
  /// Numbers of the host, which every rank has.
  template <class T>
  constexpr auto scalar(std::vector<T> const&) {
    return scalar_type<kernel_t<T>>(*to_);
  }
  constexpr index_t items() const { return 1; }
  constexpr void finish() {}

  /// What a statement sends by itself.
  template <OutlineStatement S>
  constexpr void run(S const& s) {
    if constexpr (is_outline_assignment<S>) {
      auto x = s.from;
      x.known_after(to_->size());  // earlier statements may have written what it reads
      x.evaluate();
      s.to->known_after(to_->size());
    }
  }
  /// The reductions of a fuse, together.
  template <OutlineStatement... S>
  constexpr void reduce(S const&... s) {
    for (monoid const fold : {monoid::sum, monoid::maximum, monoid::minimum})
      for (int a = 0; a < Mesh::rank; ++a) {
        scheduled_step together({step::all_reduce, {placement_kind::partial, fold}, {placement_kind::replicate}}, a);
        together.values = 0;
        (join(together, s, fold, a), ...);
        together.result = together.bytes;
        together.after = std::int16_t(to_->size());
        together.scalar = true;
        if (together.values > 0) to_->add(together);
      }
  }
  template <OutlineStatement S>
  constexpr auto result(S const&) {
    if constexpr (is_outline_assignment<S>) {
      return std::tuple<>();
    } else {
      scalar_type<detail::kernel_number_t<typename S::local_type>> out(*to_);
      out.known_after(to_->size());
      return std::tuple(out);
    }
  }

private:
  template <class S>
  constexpr void join(scheduled_step& together, S const&, monoid fold, int a) {
    if constexpr (!is_outline_assignment<S>) {
      placement_value const at = detail::tensor_placement_of<S>.on[a];
      if (at.kind != placement_kind::partial || at.fold != fold) return;
      together.bytes += linear_bytes{std::int64_t(sizeof(detail::kernel_number_t<typename S::local_type>))};
      ++together.values;
    }
  }
  recorder* to_;
};
/// A space that records what would be sent, and computes nothing.
template <class S>
concept RecordingSpace = requires { typename S::recording_tag; };

/// The statements in order; the reductions come back as scalars of the space.
template <RecordingSpace Space, OutlineStatement... S>
constexpr auto fuse(Space& space, S const&... statements) {
  (space.run(statements), ...);
  space.reduce(statements...);
  return std::tuple_cat(space.result(statements)...);
}

namespace detail {
/// When a recorded method stops: when the space says so.
struct no_observer {
  constexpr explicit operator bool() const { return false; }
  constexpr bool operator()(std::vector<progress> const&) const { return true; }
};
struct recorded_rule {
  double rtol = 0, atol = 0;
  int max_iterations = recorded_schedule::max_answers;
  no_observer watch{};
};
struct recorded_stop_maker_of_outlines {
  template <class Space, class Real>
  constexpr stop_test<Space, Real, recorded_rule> operator()(Space& space, Real const& bb) const {
    return {space, recorded_rule{}, bb};
  }
};

/// How a method is run without its options, which are no literal type: an observer is a std::function.
template <class Method>
struct recorded_method {
  template <class... X>
  static constexpr void run(X&&... x) {
    (void)Method::run(std::forward<X>(x)...);
  }
};
template <int Capacity, right_preconditioner How>
struct recorded_cycles {
  static constexpr char const* name = "gmres";
  int restart = Capacity < 30 ? Capacity : 30;
  template <class... X>
  static constexpr void run(X&&... x) {
    (void)arnoldi_cycles<Capacity, How>(recorded_cycles{}, std::forward<X>(x)...);
  }
};
template <int Capacity>
struct recorded_method<basic_gmres<Capacity>> : recorded_cycles<Capacity, right_preconditioner::fixed> {};
template <int Capacity>
struct recorded_method<basic_fgmres<Capacity>> : recorded_cycles<Capacity, right_preconditioner::varying> {};

template <class Method, int Iterations, class D, class V>
consteval recorded_schedule record_method() {
  recorder to(Iterations);
  recording_space<mesh_of_t<D>> space(to);
  typename outline_of<D>::type a(to);
  typename outline_of<V>::type b(to), x(to);
  recorded_method<Method>::run(space, a, local_operator{}, b, x, recorded_stop_maker_of_outlines{});
  return to.steps();
}
} // namespace detail

/// The schedule of a method on the operator D and vectors V, with a preconditioner that sends nothing, where the stop test
/// lets it do so many iterations. `.iteration()` is one of them.
template <class Method, class D, class V, int Iterations = 2>
inline constexpr recorded_schedule method_schedule = detail::record_method<Method, Iterations, D, V>();

} // namespace sla

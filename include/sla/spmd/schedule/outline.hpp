// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Outlines: distributed values of which only types are left, literal types that run in constant expressions. Their operators,
// and the schedules that they leave, are in spmd/schedule/outline_operators.hpp.
#pragma once
#include <cstdint>
#include <type_traits>
#include <utility>

#include <sla/core/shape.hpp>
#include <sla/spmd/refusal/diagnose.hpp>
#include <sla/spmd/rule/operators.hpp>
#include <sla/spmd/rule/well_typed.hpp>
#include <sla/spmd/schedule/schedule.hpp>

namespace sla {

/// What is left of the local part of a dense tensor, and of a sparse one.
template <class T, class E>
struct shape_only {
  using value_type = T;
  using extents_type = E;
};
/// The local type of an outline of a sparse tensor: its scalar and shape.
template <class T, class S>
struct sparse_shape_only {
  using value_type = T;
  using shape_type = S;
};

/// What is left of a layout: `D.row_layout()` of an outline.
struct layout_outline {};

template <class Local, class Mesh, class... P>
class outline;
/// Is X an outline?
template <class X>
inline constexpr bool is_outline = false;
template <class Local, class Mesh, class... P>
inline constexpr bool is_outline<outline<Local, Mesh, P...>> = true;
/// An outline: the type and placements of a distributed tensor, without a value.
template <class X>
concept Outlined = is_outline<std::remove_cvref_t<X>>;

template <class Local, class Mesh, class... P>
struct operand_traits<outline<Local, Mesh, P...>> : operand_traits<distributed<Local, Mesh, P...>> {
  template <class NewLocal, class... Q>
  using rebind = outline<NewLocal, Mesh, Q...>;
};

namespace detail {
template <class Local>
struct outlined_local {
  using type = Local;
};
template <class Local>
  requires requires { typename Local::extents_type; } && (!requires { typename Local::shape_type; })
struct outlined_local<Local> {
  using type = shape_only<typename Local::value_type, typename Local::extents_type>;
};
template <class Local>
  requires requires { typename Local::shape_type; }
struct outlined_local<Local> {
  using type = sparse_shape_only<typename Local::value_type, typename Local::shape_type>;
};

template <class Local>
struct outline_value {
  using type = Local;
};
template <class Local>
  requires requires { typename Local::value_type; } && (local_dims<Local>::rank > 0)
struct outline_value<Local> {
  using type = typename Local::value_type;
};

/// The bytes of a local part. `fixed` where all extents are known; of a sparse one n counts its entries, which have places.
template <class Local>
constexpr linear_bytes bytes_of() {
  using T = typename outline_value<Local>::type;
  std::int64_t size = sizeof(T);
  bool open = false;
  auto const take = [&]<index_t... E>(Extents<E...>) { ((E == dyn ? void(open = true) : void(size *= E)), ...); };
  if constexpr (requires { typename Local::shape_type; }) {
    using S = typename Local::shape_type;
    take(typename S::batch_extents{});
    return {0, size * S::block_rows * S::block_cols + 2 * std::int64_t{sizeof(index_t)}};
  } else if constexpr (requires { typename Local::extents_type; }) {
    take(typename Local::extents_type{});
  }
  return open ? linear_bytes{0, size} : linear_bytes{size, 0};
}

/// A rank's part of an extent, and the whole of a part; open where the type does not tell, or parts differ.
template <class Family>
constexpr index_t part_of_extent(index_t extent, int ranks) {
  if constexpr (Family::stated) {
    if (extent == dyn || ranks == dyn || !Family::accepts(extent, ranks)) return dyn;
    index_t const part = Family::local_extent(0, extent, ranks);
    for (int r = 1; r < ranks; ++r)
      if (Family::local_extent(r, extent, ranks) != part) return dyn;
    return part;
  } else {
    return dyn;
  }
}
template <class Family>
constexpr index_t whole_of_part(index_t extent, int ranks) {
  return extent == dyn || ranks == dyn || !Family::even ? dyn : extent * ranks;
}

/// The Local after P sharded it over the ranks of an axis, or was put together again.
template <class Local, class P, int Ranks, bool Cut>
struct moved_local {
  using type = Local;
};
template <class T, class E, class P, int Ranks, bool Cut>
struct moved_local<shape_only<T, E>, P, Ranks, Cut> {
  static constexpr index_t before = E::static_extent(P::dim);
  static constexpr index_t size = Cut ? part_of_extent<typename P::family>(before, Ranks) : whole_of_part<typename P::family>(before, Ranks);
  using type = shape_only<T, typename resized_extents<E, P::dim, size>::type>;
};
/// The stack of the ranks' Locals along a new dimension D, and a rank's Local out of it: of one dimension a number remains.
template <class Local, int D, int Ranks>
struct stacked_local {
  using type = shape_only<Local, Extents<index_t{Ranks}>>;
};
template <class T, class E, int D, int Ranks>
struct stacked_local<shape_only<T, E>, D, Ranks> {
  using type = shape_only<T, typename inserted_extent<E, D, index_t{Ranks}>::type>;
};
template <class Local, int D>
struct unstacked_local {
  static_assert(local_dims<Local>::rank > D, "sla: the stack of the ranks' values has a dimension to take apart, the first unless you name another");
  using type = Local;
};
template <class T, class E, int D>
  requires(E::rank > D)
struct unstacked_local<shape_only<T, E>, D> {
  using type = shape_only<T, typename removed_extent<E, D>::type>;
};
template <class T, index_t Size>
struct unstacked_local<shape_only<T, Extents<Size>>, 0> {
  using type = T;
};

/// The Local after a step on an axis of so many ranks; values of a Varying lie side by side along dimension Dim.
template <step How, class Local, class From, class To, int Ranks, int Dim>
constexpr auto stepped_local() {
  using kind = placement_kind;
  constexpr kind from = From::kind, to = To::kind;
  constexpr bool halo = from == kind::ghost || from == kind::ghost_partial || to == kind::ghost || to == kind::ghost_partial;
  if constexpr (How == step::reinterpret || halo || std::is_same_v<From, To>)
    return std::type_identity<Local>{};
  else if constexpr (from == kind::varying)
    return stacked_local<Local, Dim, Ranks>{};
  else if constexpr (to == kind::varying)
    return unstacked_local<Local, Dim>{};
  else if constexpr (from == kind::shard && to == kind::shard)
    return moved_local<typename moved_local<Local, From, Ranks, false>::type, To, Ranks, true>{};
  else if constexpr (from == kind::shard)
    return moved_local<Local, From, Ranks, false>{};
  else if constexpr (to == kind::shard)
    return moved_local<Local, To, Ranks, true>{};
  else
    return std::type_identity<Local>{};
}
} // namespace detail

/// A distributed value without its numbers: a literal type. An expression keeps the communication of its products until it is
/// evaluated, as expressions of values do.
template <class Local, class Mesh, class... P>
class outline {
  static constexpr int checked = (require_placements<Local, Mesh, P...>(), 0);

public:
  using local_type = Local;
  using mesh_type = Mesh;
  using value_type = typename detail::outline_value<Local>::type;
  static constexpr int max_pending = 3;

  constexpr explicit outline(recorder& to) : to_(&to) {}
  /// The result of a computation of these operands.
  template <class... X>
  constexpr explicit outline(std::in_place_t, X const&... operands) {
    (inherit(operands), ...);
  }

  constexpr outline(outline const&) = default;
  /// x = expression evaluates it.
  constexpr outline& operator=(outline const& other) {
    to_ = other.to_;
    after_ = other.after_;
    waiting_ = other.waiting_;
    pending_ = other.pending_;
    evaluate();
    return *this;
  }

  constexpr recorder& record() const { return *to_; }
  constexpr layout_outline row_layout() const { return {}; }
  constexpr layout_outline col_layout() const { return {}; }
  /// How many steps must be done before the value is known.
  constexpr int after() const { return after_; }
  /// A step that happens when the expression is evaluated.
  constexpr void postpone(scheduled_step s) {
    if (waiting_ == max_pending) throw "sla: an expression has more than three products that communicate; evaluate one of them: eval(A * x)";
    pending_[waiting_++] = s;
  }
  /// Takes the steps that wait; from now on the value is known after them.
  constexpr void evaluate() {
    settle();
    waiting_ = 0;
  }
  /// The same of an expression that may be evaluated again.
  constexpr void settle() {
    for (int n = 0; n < waiting_; ++n) {
      auto s = pending_[n];
      s.after = static_cast<std::int16_t>(after_);
      to_->add(s);
    }
    if (waiting_ > 0) after_ = to_->size();
  }
  constexpr void known_after(int steps) { after_ = steps; }

  /// A condition. Law: every rank of every axis has the same answer, or ranks part ways and wait for each other for ever.
  constexpr explicit operator bool() const
    requires std::same_as<Local, bool>
  {
    static_assert((is_copied(P::kind) && ...),
                  "sla[E23]: ranks may not branch on a value that differs among them: finish it first, all_reduce<axis>(x)");
    return to_->answer();
  }

private:
  template <class X>
  constexpr void inherit(X const& x) {
    if constexpr (is_outline<X>) {
      to_ = &x.record();
      if (x.after() > after_) after_ = x.after();
      x.hand_over(*this);
    }
  }
  template <class Other>
  constexpr void hand_over(Other& to) const {
    for (int n = 0; n < waiting_; ++n) to.postpone(pending_[n]);
  }
  template <class, class, class...>
  friend class outline;

  recorder* to_ = nullptr;
  int after_ = 0, waiting_ = 0;
  fixed_array<scheduled_step, max_pending> pending_{};
};

namespace detail {
template <class Local, class Mesh, class List>
struct outline_with;
template <class Local, class Mesh, class... P>
struct outline_with<Local, Mesh, placements<P...>> {
  using type = outline<Local, Mesh, P...>;
};
template <class X>
struct outline_of;
template <class Local, class Mesh, class... P>
struct outline_of<distributed<Local, Mesh, P...>> {
  using type = outline<typename outlined_local<Local>::type, Mesh, P...>;
};

/// A number that every rank of a mesh has.
template <class T, class Mesh>
struct replicated_outline;
template <class T, class... Axes>
struct replicated_outline<T, mesh<Axes...>> {
  using type = outline<T, mesh<Axes...>, std::conditional_t<always_false<Axes>, void, Replicate>...>;
};
template <class S>
inline constexpr bool all_finished = false;
template <class Local, class Mesh, class... P>
inline constexpr bool all_finished<outline<Local, Mesh, P...>> =
    (is_copied(P::kind) && ...);

template <class X>
inline constexpr int dims_of = -1;
template <Outlined X>
inline constexpr int dims_of<X> = local_dims<typename X::local_type>::rank;

/// The value type of an elementwise result: numbers beside a tensor take part in its type.
template <class L, class R>
struct joined_local {
  using lead = std::conditional_t<(dims_of<L> >= dims_of<R>), L, R>;
  using type = typename lead::local_type;
};
template <class T, class U>
struct joined_number {
  using type = std::common_type_t<T, U>;
};
template <Outlined L, Outlined R>
  requires(dims_of<L> == 0 && dims_of<R> == 0)
struct joined_local<L, R> : joined_number<typename L::local_type, typename R::local_type> {};

/// What sums add up in.
template <class T>
struct summed {
  using type = T;
};
template <>
struct summed<float> {
  using type = double;
};
template <class Op, class Local, class... X>
constexpr auto outlined(X const&... x) {
  require_well_typed<Op, X...>();
  using Result = typename outline_with<Local, common_mesh_t<X...>, result_placements_t<Op, X...>>::type;
  return Result(std::in_place, x...);
}

template <class X>
concept BesideOutline = Outlined<X> || operand_traits<std::remove_cvref_t<X>>::kind == operand_kind::literal ||
                        operand_traits<std::remove_cvref_t<X>>::kind == operand_kind::uniform ||
                        operand_traits<std::remove_cvref_t<X>>::kind == operand_kind::distributed;
template <class X>
inline constexpr bool is_sparse_outline = false;
template <class T, class S, class Mesh, class... P>
inline constexpr bool is_sparse_outline<outline<sparse_shape_only<T, S>, Mesh, P...>> = true;
template <class L, class R>
concept OutlinePair = (Outlined<L> && BesideOutline<R>) || (Outlined<R> && BesideOutline<L>); // in this order: it decides on == of kinds too
template <class L, class R>
concept DenseOutlinePair = OutlinePair<L, R> && !is_sparse_outline<L> && !is_sparse_outline<R>;
template <class X>
concept DenseOutline = Outlined<X> && !is_sparse_outline<X>;

/// What an operation sends by itself, as a step of one axis.
template <class = void>
constexpr transition implied_transition(communication what, placement_value x, placement_value y) {
  placement_value ghost{placement_kind::ghost, monoid::none, x.dim, x.family};
  placement_value ghost_partial{placement_kind::ghost_partial, monoid::none, y.dim, y.family};
  switch (what) {
  case communication::halo: return {step::halo_exchange, x, ghost};
  case communication::reverse_halo: return {step::halo_reduce, ghost_partial, y};
  default: return {step::all_reduce, {placement_kind::partial, monoid::sum}, {placement_kind::replicate}};
  }
}
/// Has the result wait for what Op sends of its last operand.
template <class Op, class Y, class... X>
constexpr void postpone_implied(Y& y) {
  using call = call_t<Op, X...>;
  constexpr auto decided = outcome_of<Op, X...>;
  for (int a = 0; a < decided.type.axes; ++a) {
    if (decided.implied[a] == communication::none) continue;
    constexpr linear_bytes part = bytes_of<typename Y::local_type>();
    auto const postpone = [&](communication one) {
      scheduled_step s(implied_transition(one, call::operands[sizeof...(X) - 1].type.on[a], decided.type.on[a]), a);
      s.bytes = s.result = part;
      s.scalar = s.how() == step::all_reduce;
      y.postpone(s);
    };
    if (decided.implied[a] == communication::halo_and_back) {
      postpone(communication::halo);
      postpone(communication::reverse_halo);
    } else {
      postpone(decided.implied[a]);
    }
  }
}
} // namespace detail

} // namespace sla

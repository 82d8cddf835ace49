// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `fuse(space, statements...)`: the statements in order, in as few passes over memory as that allows; the reductions come
// back as scalars of the space. Spaces of the host: exec/host.hpp, exec/deferred.hpp. Nested products: exec/hoist.hpp.
#pragma once

#include <array>
#include <tuple>

#include <sla/exec/hoist.hpp>
#include <sla/exec/plan.hpp>
#include <sla/exec/both_products.hpp>

namespace sla {

/// Where statements run: the first argument of `fuse(space, ...)`. It owns the queue: where memory lies, the scalars, the vectors in between,
/// the order, the end. Sizes belong to vectors: a statement runs over the elements that it writes or folds, and a pass ends where the next
/// one's are others. What the vectors of a space have alike are their items (a batch, right-hand sides): a scalar has a number for each.
/// Algorithms call what solve/seam/space.hpp lists. `fuse`, nodes and the driver of solves ask besides for
///   space_tag, memory_type, is_distributed
///   result, count, run_pass, reduce, finished   the passes of a fuse: see detail::fuse_lowered
///   temporary<T>(extents)                       a vector until the end of the fuse, which borrows memory of the space
///   run(task)                                   a task on host memory, in the order of the space
///   has_items, layout()                         optional: there may be several items, those of this layout
///   keep(statement)                             optional: a statement until its work is done, where that is later
///   begin_watch, agreed, account                optional: observers and messages of ranks (dist/solve/mesh_space.hpp)
template <class S>
concept ExecutionSpace = requires { typename std::remove_cvref_t<S>::space_tag; };

namespace detail {
/// Which of the statements have a result, as an index_sequence.
template <class... S>
constexpr auto places_of_reductions() {
  constexpr std::size_t count = (0 + ... + std::size_t(!std::is_void_v<typename S::result_type>));
  constexpr auto places = [] {
    std::array<std::size_t, count + 1> out{};
    std::size_t n = 0, k = 0;
    ((std::is_void_v<typename S::result_type> ? void() : void(out[k++] = n), ++n), ...);
    return out;
  }();
  return [&]<std::size_t... K>(std::index_sequence<K...>) { return std::index_sequence<places[K]...>{}; }(std::make_index_sequence<count>{});
}
/// Runs the passes of a fuse. Where one of them throws, as an operator of the user's may, the fuse has ended for the space all the same, if
/// no other rank waits for it.
template <class Space, class F>
void ending(Space& space, F const& run) {
  if constexpr (requires { requires Space::ends_alone && !Space::is_distributed; }) {
    try {
      run();
    } catch (...) {
      space.reduce(pack<>{}, pack<>{});
      throw;
    }
  } else {
    run();
  }
}
/// The passes of a space that wants to know the types of statements.
template <class Space, class... S, class... R>
void run_typed(Space& space, pack<R...>& results, S const&... lowered) {
  auto const plan = plan_passes(lowered...);
  auto const statements = packed(lowered...);
  space.count(plan.passes, lowered...);
  auto const run = [&]<std::size_t... N>(std::index_sequence<N...>) {
    for (int pass = 0; pass < plan.passes; ++pass) {
      bool whole = false;
      auto apply = [&](auto const& s, int of) {
        if constexpr (is_whole<std::remove_cvref_t<decltype(s)>>) {
          if (of != pass) return;
          s.x.apply(space, s.data);
          whole = true;
        }
      };
      (apply(part<N>(statements), plan.pass_of[N]), ...);
      if (!whole) space.run_pass(plan, pass, statements, results);
    }
  };
  ending(space, [&] { run(std::index_sequence_for<S...>{}); });
  space.reduce(statements, results);
}
/// Errors: shape_error, if a statement has other items than a space of this layout: the extents of its tensors begin with the axes of the
/// batch, and end with the right-hand sides where there are several.
template <class S>
void require_items(S const& statement, frame const& space) {
  if constexpr (requires { statement.x.extents().total(); }) {
    auto const extents = statement.x.extents();
    constexpr int rank = decltype(extents)::rank;
    int axes = 0;
    index_t batch = 1;
    while (batch != space.batch && axes < rank) batch *= extents[axes++];
    if (batch != space.batch || (space.rhs != 1 && (axes == rank || extents[rank - 1] != space.rhs)))
      throw shape_error(text("fuse: a tensor of extents ", to_string(extents), " in a space of batch ", space.batch, " and ", space.rhs,
                             " right-hand sides: its extents begin with those of the batch and end with the right-hand sides"));
  }
}
/// The pass loop, shared by every space: Space supplies
///   result<Statement>()              room for one accumulator per item
///   count(passes, statements...)     before the passes
///   run_pass(plan, pass, statements, results)
///   reduce(statements, results)      after them: vectors of `temporary` may go
///   finished<Statement>(result)      the scalar that the algorithm sees
/// Where `runs_untyped`, what is between the first and the last is run_fused (exec/host.hpp), which knows no types.
template <class Space, class... S>
auto fuse_lowered(Space& space, S const&... lowered) {
  static_assert((std::is_trivially_copyable_v<S> && ...), "sla: a lowered statement is trivially copyable");
  if constexpr (requires { requires Space::has_items; })
    if (space.layout().items() != 1) (require_items(lowered, space.layout()), ...);
  auto results = packed(space.template result<S>()...);
  if constexpr (requires { requires Space::runs_untyped; })
    run_fused(space, results, lowered...);
  else
    run_typed(space, results, lowered...);
  return [&]<std::size_t... N>(std::index_sequence<N...>) {
    using Statements = pack<S...>;
    using Scalars = std::tuple<decltype(space.template finished<part_t<N, Statements>>(part<N>(results)))...>;
    return Scalars{space.template finished<part_t<N, Statements>>(part<N>(results))...};
  }(decltype(places_of_reductions<S...>()){});
}
} // namespace detail

/// A number is no statement. Higher floors add theirs.
template <class X>
inline constexpr bool is_finished_number = Number<X>;

namespace detail {
/// The statement that views point into: itself, or the copy of a space that keeps it, since it runs it later.
template <class Space, class S>
auto const& kept(Space& space, S&& statement) {
  using Kept = std::remove_cvref_t<S>;
  if constexpr (requires { space.keep(std::forward<S>(statement)); } && !std::same_as<Kept, lowered_t<Kept>>)
    return space.keep(std::forward<S>(statement));
  else
    return statement;
}

/// For counting passes: hoisting gets vectors, whose addresses decide where passes end, and nothing is run.
struct planning_space {
  vectors_between<host_memory> vectors;

  template <class T, class E>
  tensor<T, E> temporary(E const& extents) {
    return vectors.take<T>(extents);
  }
};
} // namespace detail

/// The number of passes over memory that `fuse` of these statements makes.
template <Statement... S>
int passes(S const&... statements) {
  detail::planning_space space;
  auto const count = [](auto const&... s) { return plan_passes(s...).passes; };
  return detail::with_hoisted(space, [&](auto const&... lowered) { return detail::with_products_joined(count, lowered...); }, lower_tree{}(statements)...);
}

/// The bytes that the passes of these statements load and store, each operand once per pass (a value that a pass has just
/// stored is not loaded again; write-allocation is not counted).
template <Statement... S>
index_t bytes_moved(S const&... statements) {
  detail::planning_space space;
  auto const count = [](auto const&... s) { return detail::bytes_of_passes(s...); };
  return detail::with_hoisted(space, [&](auto const&... lowered) { return detail::with_products_joined(count, lowered...); }, lower_tree{}(statements)...);
}

namespace detail {
/// The statements of this thread, rank or device, whatever the space: what whole nodes call inside of a fuse.
template <class Space, class... S>
auto fuse_local(Space& space, S const&... statements) {
  if constexpr (!(wants_hoisting<lowered_t<S>> || ...) && !may_be_both<lowered_t<S>...>) {  // most: nothing between is compiled
    return fuse_lowered(space, lower_tree{}(statements)...);
  } else {
    auto const run = [&](auto const&... lowered) { return fuse_lowered(space, lowered...); };
    return with_hoisted(
        space,
        [&]<class... L>(L const&... lowered) {
          if constexpr (requires { requires Space::joins_products; })
            return with_products_joined(run, lowered...);
          else
            return run(lowered...);
        },
        lower_tree{}(statements)...);
  }
}
} // namespace detail

/// Runs the statements in order and returns the scalars of the reductions among them, as a tuple.
/// Cost: `passes(statements...)` walks over memory. Errors: shape_error, if a statement does not fit the space.
template <ExecutionSpace Space, Statement... S>
  requires(!Space::is_distributed)
auto fuse(Space& space, S&&... statements) {
  return detail::fuse_local(space, detail::kept(space, std::forward<S>(statements))...);
}

/// The same without a space: on the memory of the operands, now; reductions fold everything and come back as numbers.
template <Statement... S>
auto fuse(S const&... statements) {
  using Memory = common_memory_of_t<typename S::memory_type...>;
  auto space = immediate_space(Memory{});
  return fuse(space, statements...);
}

namespace detail {
/// The numbers that a refused fuse would have returned, so that its sentence is the only error.
template <class S>
auto unfused(S const& s) {
  if constexpr (is_finished_number<S>)
    return std::tuple<S>(s);
  else if constexpr (requires { s.local.total(); })  // a statement with placements
    return unfused(s.local);
  else if constexpr (requires { typename S::accumulator_type; })
    return std::tuple<typename S::result_type>();
  else
    return std::tuple<>();
}
} // namespace detail

/// Refused: a number, a tensor or an expression in the place of a statement.
template <class... S>
  requires(is_finished_number<std::remove_cvref_t<S>> || ...) || (Tensorial<S> || ...)
auto fuse(S&&... statements) {
  static_assert(!(Tensorial<S> || ...), "sla: fuse(statements...): a tensor or an expression is no statement: the assignment y = 2.0 * b is set(y, 2.0 * b)");
  static_assert(!(is_finished_number<std::remove_cvref_t<S>> || ...),
                "sla: fuse(statements...): a number is no statement: dot(x, y), norm(x), sum(x), ... are numbers, evaluated before the fuse begins; in it write "
                "dot_of(x, y), norm_of(x), sum_of(x), ...");
  return std::tuple_cat(detail::unfused(statements)...);
}

} // namespace sla

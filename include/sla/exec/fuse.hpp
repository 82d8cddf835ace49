// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `fuse(space, statements...)`: the statements in order, in as few passes over memory as that allows; the reductions come
// back as scalars of the space. Spaces of the host: exec/host.hpp, exec/deferred.hpp. Nested products: exec/hoist.hpp.
#pragma once

#include <sla/exec/hoist.hpp>
#include <sla/exec/plan.hpp>

namespace sla {

template <class S>
concept ExecutionSpace = requires { typename std::remove_cvref_t<S>::space_tag; };

namespace detail {
/// The pass loop, shared by every space: Space supplies
///   result<Statement>()              room for one accumulator per item
///   run_pass(plan, pass, statements, results)
///   finished<Statement>(result)      the scalar that the algorithm sees
template <class Space, class... S>
auto fuse_lowered(Space& space, S const&... lowered) {
  static_assert((std::is_trivially_copyable_v<S> && ...), "sla: a lowered statement is trivially copyable");
  auto const plan = plan_passes(lowered...);
  std::tuple const statements{lowered...};
  std::tuple results{space.template result<S>()...};
  space.count(plan.passes, lowered...);
  [&]<std::size_t... N>(std::index_sequence<N...>) {
    for (int pass = 0; pass < plan.passes; ++pass) {
      bool whole = false;
      auto apply = [&](auto const& s, int of) {
        if constexpr (is_whole<std::remove_cvref_t<decltype(s)>>) {
          if (of != pass) return;
          s.x.apply(space, s.data);
          whole = true;
        }
      };
      (apply(std::get<N>(statements), plan.pass_of[N]), ...);
      if (!whole) space.run_pass(plan, pass, statements, results);
    }
    space.reduce(statements, results);
  }(std::index_sequence_for<S...>{});
  return [&]<std::size_t... N>(std::index_sequence<N...>) {
    auto scalar = [&]<class Statement>(std::type_identity<Statement>, auto& result) {
      if constexpr (std::is_void_v<typename Statement::result_type>)
        return std::tuple<>{};
      else
        return std::tuple{space.template finished<Statement>(result)};
    };
    return std::tuple_cat(scalar(std::type_identity<S>{}, std::get<N>(results))...);
  }(std::index_sequence_for<S...>{});
}
}  // namespace detail

/// Runs the statements in order and returns the scalars of the reductions among them, as a tuple.
/// Cost: `passes(statements...)` walks over memory. Errors: shape_error, if a statement does not fit the space.
template <ExecutionSpace Space, Statement... S>
  requires(!Space::is_distributed)
auto fuse(Space& space, S const&... statements) {
  return detail::with_hoisted(space, [&](auto const&... lowered) { return detail::fuse_lowered(space, lowered...); },
                              lower{}(statements)...);
}

/// The same without a space: on the memory of the operands, now; reductions fold everything and come back as numbers.
template <Statement... S>
auto fuse(S const&... statements) {
  using Memory = common_memory_of_t<typename S::memory_type...>;
  auto space = immediate_space(Memory{});
  return fuse(space, statements...);
}

}  // namespace sla

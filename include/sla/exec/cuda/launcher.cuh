// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From the statements of a fuse to launches: which kernel runs which of them, with how many threads a row, and where partial
// results go. An engine launches: the device's (adapter/cuda/engine.cuh), or a test's, whose blocks are simulated.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

#include <sla/core/pack.hpp>
#include <sla/exec/backend.hpp>
#include <sla/exec/cuda/pass.cuh>
#include <sla/exec/plan.hpp>

namespace sla::cuda {

/// Is S a `dots` or `gram_of` statement, of many numbers at once?
template <class S>
inline constexpr bool is_dots = requires { typename S::summand; };
/// Of blocks?
template <class S>
inline constexpr bool is_gram = requires { requires is_dots<S> && S::is_block; };

/// The tree without combinations of the columns of blocks.
struct without_blocks {
  template <class X>
  auto operator()(X const& x) const {
    return x.rebuild(*this);
  }
  template <class T, class E, class Memory, class E2, class C>
  block_view<T, E, Memory> operator()(combine_node<block_view<T, E, Memory>, E2, C> const& x) const {
    return x.V;
  }
};
/// Does a statement read all of its row, which several threads may write?
template <class S>
inline constexpr bool reads_its_row = !std::same_as<S, decltype(std::declval<S const&>().rebuild(without_blocks{}))>;

/// The room of a reduction: its numbers, and the partial results between a pass and the fold. Unfinished: its numbers are those of one rank, which are
/// folded with those of others before they are finished.
template <class S, bool Unfinished = false>
struct room_for {
  static constexpr bool is_reduction = true;
  using partial = typename S::accumulator_type;
  using number = std::conditional_t<Unfinished, partial, typename S::result_type>;
  using finish_type = std::conditional_t<Unfinished, as_is, typename S::finish_type>;
  std::shared_ptr<number> numbers;
  std::shared_ptr<partial> partials{};
  index_t parts = 0;
  bool folded = false;  ///< by the kernel of the last pass
};
template <class S, bool Unfinished>
  requires is_dots<S>
struct room_for<S, Unfinished> {
  static constexpr bool is_reduction = true, is_gram = cuda::is_gram<S>;
  using partial = typename S::summand;
  using number = typename S::result_type;
  std::shared_ptr<number> numbers;
  std::shared_ptr<partial> partials{};
  index_t parts = 0;
  int components = 0, vectors = 1;
  bool folded = false;
};
template <class S, bool Unfinished>
  requires std::is_void_v<typename S::result_type>
struct room_for<S, Unfinished> {
  static constexpr bool is_reduction = false;
};

/// Engine supplies, each in the order of its calls:
///   threads                        of a block
///   take<T>(n)                     room for n of T, shared; released in order
///   pass(grid, mask, placed...)    pass_body on every block of the grid
///   pass_and_fold(grid, mask, numbers, targets, placed...)  the same, and then fold_body on blocks 0 .. numbers - 1
///   dots(grid, chunks, d, partials)  dots_body on every block, for the inner products of each chunk
///   fold(blocks, target...)        fold_body on every block
template <class Engine>
class launcher {
public:
  explicit launcher(Engine& engine) : engine_(engine) {}

  /// `items`: the numbers that each reduction makes, if the last pass may make them in its kernel; else 0.
  template <std::size_t Count, class... S, class... R>
  void run_pass(pass_plan<Count> const& plan, int pass, detail::pack<S...> const& statements, frame f, detail::pack<R...>& rooms,
                packed_rows packed = {}, index_t items = 0) {
    static_assert(Count <= 32, "sla: a fuse on a device takes at most 32 statements; split it");
    int width = 1;
    detail::for_statements(plan, pass, statements, [&](auto const& s, auto) { (void)s.rebuild(find_width{&width}); });
    pass_grid const g = share(f, Engine::threads, (std::min)(width, Engine::threads), packed);
    [&]<std::size_t... N>(std::index_sequence<N...>) {
      (make_room(detail::part<N>(statements), plan.pass_of[N] == pass, grid_of(detail::part<N>(statements), g, items), detail::part<N>(rooms)), ...);
      if (g.blocks() == 0) return;
      unsigned mask = 0;
      auto flush = [&](bool is_last = false) {
        if (mask == 0) return;
        if (!is_last || g.blocks() > filling_blocks || !fold_with(statements, rooms, items, [&](index_t numbers, auto const& targets) {
              engine_.pass_and_fold(g, mask, numbers, targets, place<true>(detail::part<N>(statements), detail::part<N>(rooms), g)...);
            }))
          engine_.pass(g, mask, place<true>(detail::part<N>(statements), detail::part<N>(rooms), g)...);
        mask = 0;
      };
      auto issue = [&](auto const& s, unsigned n, auto& room) {
        if (plan.pass_of[n] != pass) return;
        if constexpr (is_dots<std::remove_cvref_t<decltype(s)>>) {
          flush();  // inner products with a basis have a kernel of their own
          if (s.components() > 0)
            engine_.dots(grid_of(s, g, items), (s.components() + dots_at_once - 1) / dots_at_once, s.rebuild(for_device{1}), room.partials.get());
        } else if constexpr (reads_its_row<std::remove_cvref_t<decltype(s)>>) {
          flush();  // other threads write what it reads, and read what it writes
          launch_apart(s, room, g);
        } else {
          mask |= 1u << n;
        }
      };
      (issue(detail::part<N>(statements), unsigned(N), detail::part<N>(rooms)), ...);
      flush(items > 0 && pass + 1 == plan.passes);
    }(std::index_sequence_for<S...>{});
  }

  /// The numbers of a fuse, from what its passes left, where its last kernel has not made them.
  template <class... S, class... R>
  void fold(detail::pack<S...> const&, detail::pack<R...> const& rooms, index_t items) {
    if constexpr ((R::is_reduction || ...)) {
      if (items == 0 || detail::with_parts([](auto const&... room) { return (is_folded(room) || ...); }, rooms)) return;
      detail::with_parts([&](auto const&... target) { engine_.fold((target.count() + ...), target...); }, all_targets<S...>(rooms, items));
    }
  }

private:
  /// The grid of a statement: the columns of a block are right-hand sides of their own. Without items all of them are one.
  template <class S>
  static pass_grid grid_of(S const& s, pass_grid const& g, index_t items) {
    if constexpr (is_gram<S>) {
      index_t const batch = items > 0 ? g.f.batch : 1;
      return share({batch, g.f.batch * g.f.rows / batch, s.vectors(), s.vectors()}, Engine::threads, 1, g.packed);
    } else {
      return g;
    }
  }
  /// A statement that reads all of its row, in a kernel of its own; into other memory first, where it writes what it reads.
  template <class S, class R>
  void launch_apart(S const& s, R const& room, pass_grid const& g) {
    engine_.pass(g, 1u, place<false>(s, room, g));
  }
  template <class T, class X, class Memory, class R>
  void launch_apart(set_statement<T, X, Memory> s, R const& room, pass_grid const& g) {
    memory_access const written{s.data, s.elements * index_t(sizeof(T)), false, true};
    bool in_place = false;
    s.x.accesses([&](memory_access a) { in_place = in_place || (a.by_row && a.overlaps(written)); }, false);
    if (!in_place) return engine_.pass(g, 1u, place<false>(s, room, g));
    auto const values = engine_.template take<T>(s.elements);
    using Values = tensor_view<T, typename X::extents_type, typename X::memory_type>;
    set_statement<T, Values, Memory> const back{s.data, s.elements, Values{values.get(), s.x.extents()}};
    s.data = values.get();
    engine_.pass(g, 1u, place<false>(s, room, g));
    engine_.pass(g, 1u, place<false>(back, room, g));
  }

  /// So many numbers are made by the last block of a short pass. More wait for blocks of their own, and a long pass is slowed by
  /// the registers of its fold more than by a launch.
  static constexpr index_t most_folded_inside = 8;

  template <class R>
  static bool is_folded(R const& room) {
    if constexpr (R::is_reduction)
      return room.folded;
    else
      return false;
  }
  /// launch(numbers, targets), where there are few enough of them: then they are made when it has run.
  template <class... S, class... R, class Launch>
  bool fold_with(detail::pack<S...> const&, detail::pack<R...>& rooms, index_t items, Launch const& launch) {
    if constexpr ((R::is_reduction || ...)) {
      auto const targets = all_targets<S...>(rooms, items);
      index_t const numbers = detail::with_parts([](auto const&... target) { return (target.count() + ...); }, targets);
      if (numbers > most_folded_inside) return false;
      launch(numbers, targets);
      auto const mark = [](auto& room) {
        if constexpr (std::remove_cvref_t<decltype(room)>::is_reduction) room.folded = true;
      };
      detail::with_parts([&](auto&... room) { (mark(room), ...); }, rooms);
      return true;
    } else {
      (void)rooms, (void)items, (void)launch;
      return false;
    }
  }
  template <class... S, class... R>
  static auto all_targets(detail::pack<R...> const& rooms, index_t items) {
    return [&]<std::size_t... N>(std::index_sequence<N...>) {
      return detail::joined(targets<S>(detail::part<N>(rooms), items)...);
    }(std::index_sequence_for<S...>{});
  }
  template <class S, class R>
  void make_room(S const& s, bool now, pass_grid const& g, R& room) {
    if constexpr (R::is_reduction) {
      if (!now) return;
      index_t components = 1;
      if constexpr (is_dots<S>) {
        room.vectors = s.vectors();
        components = room.components = s.components();
      }
      room.partials = engine_.template take<typename R::partial>(components * g.f.items() * g.parts);
      room.parts = g.parts;
    } else {
      (void)s, (void)now, (void)g, (void)room;
    }
  }

  /// The statement as a kernel takes it; Among others, if it can be.
  template <bool Among, class S, class R>
  static auto place(S const& s, R const& room, pass_grid const& g) {
    if constexpr (detail::is_whole<S> || is_dots<S> || (reads_its_row<S> && Among)) {
      return skipped{0};
    } else {
      auto const read = s.rebuild(for_device{g.width});
      using Placed = placed<std::remove_const_t<decltype(read)>, has_products<S>>;
      static_assert(std::is_trivially_copyable_v<Placed>);
      if constexpr (R::is_reduction)
        return Placed{read, room.partials.get()};
      else
        return Placed{read};
    }
  }

  /// What the fold kernel takes of a statement: one target, or none.
  template <class S, class R>
  static auto targets(R const& room, index_t items) {
    if constexpr (!R::is_reduction) {
      return detail::pack<>{};
    } else if constexpr (is_dots<S>) {
      using A = typename S::summand;
      using Target = fold_target<op::plus, as_is, A, A>;
      constexpr int size = S::result_type::size();
      static_assert(sizeof(typename S::result_type) == sizeof(A) * std::size_t(size));
      constexpr int lines = [] {
        if constexpr (is_gram<S>)
          return S::result_type::rows();
        else
          return 1;
      }();
      A* const numbers = reinterpret_cast<A*>(room.numbers.get());
      return detail::packed(Target{room.partials.get(), numbers, room.parts, items, room.components, size / lines, room.vectors, lines});
    } else {
      using Target = fold_target<typename S::monoid_type, typename R::finish_type, typename R::partial, typename R::number>;
      return detail::packed(Target{room.partials.get(), room.numbers.get(), room.parts, items, 1, 1});
    }
  }

  Engine& engine_;
};

} // namespace sla::cuda

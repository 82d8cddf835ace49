// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bodies of the device's kernels, over blocks real or simulated: a pass (statements on a block's share of a frame,
// reductions to one partial result per block) and the fold of partial results in a fixed order. Launches: adapter/cuda.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

#include <sla/core/pack.hpp>
#include <sla/exec/cuda/row_product.cuh>
#include <sla/expr/dense/multi.hpp>

namespace sla::cuda {

/// What a kernel holds of a statement: the statement, and where its partial results go ([item][part]; no reduction: nowhere).
/// With Shared, its elements may be computed by several threads each.
template <class S, bool Shared>
struct placed {
  using statement = S;
  static constexpr bool shared = Shared;
  using accumulator = decltype(S::identity());
  S s;
  accumulator* partials;
};
template <class S, bool Shared>
  requires(std::is_void_v<typename S::result_type>)
struct placed<S, Shared> {
  using statement = S;
  static constexpr bool shared = Shared;
  using accumulator = void;
  S s;
};
/// In the place of a statement that is not for this kernel.
struct skipped {
  using accumulator = void;
  int unused;
};
/// Does this part of a pass fold, rather than store?
template <class P>
inline constexpr bool folds = !std::is_void_v<typename P::accumulator>;

/// What a block keeps of one statement during a pass.
template <class Block, class P>
struct state {
  P const& p;
  bool runs;
};
template <class Block, class P>
  requires folds<P>
struct state<Block, P> {
  P const& p;
  bool runs;
  typename Block::template local<typename P::accumulator> folded;
};

/// The tree that a statement evaluates, at an element.
template <class S>
SLA_HD auto value_at(S const& s, element e) {
  return s.x.at(e);
}

/// Folds or stores one element.
template <class Block, class P, class V>
SLA_HD void take(state<Block, P>& st, int t, element e, V const& value) {
  if constexpr (folds<P>) {
    P::statement::monoid_type::fold(st.folded[t], typename P::accumulator(value));
  } else {
    using T = std::remove_reference_t<decltype(st.p.s.data[0])>;
    st.p.s.data[e.at] = scalar_cast<T>(value);
  }
}

/// Each thread begins with what adds nothing.
template <class Block, class P>
SLA_HD void start_fold(Block const& block, state<Block, P>& st) {
  if constexpr (folds<P>) block.each_thread([&](int t) { st.folded[t] = P::statement::identity(); });
}

/// One statement on one tile.
template <class Block, class P>
SLA_HD void on_tile(Block const& block, pass_grid const& g, block_place const& place, index_t tile, state<Block, P>& st) {
  if constexpr (!std::same_as<P, skipped>) {
    if (!st.runs) return;
    if constexpr (P::shared) {
      if (g.width > 1) {
        auto const value_of = [&](element e) {  // rounded as it will be stored: more digits have no room
          if constexpr (folds<P>)
            return value_at(st.p.s, e);
          else
            return scalar_cast<std::remove_reference_t<decltype(st.p.s.data[0])>>(value_at(st.p.s, e));
        };
        using V = decltype(value_of(element{}));
        static_assert(sizeof(V) <= slot_bytes);
        V* const values = static_cast<V*>(block.shared);
        block.sync();  // what earlier statements wrote for this tile is read by other threads
        block.each_thread([&](int t) {
          int step = 0;
          do {
            int const n = (step * Block::threads + t) / g.width;
            bool const held = place.holds(g, tile, n);
            V const value = value_of(place.at(g, tile, held ? n : 0));  // all threads take part
            if (held && t % g.width == 0) values[n] = value;
          } while (++step < g.steps);
        });
        block.sync();
        block.each_thread([&](int t) {
          if (place.holds(g, tile, t)) take(st, t, place.at(g, tile, t), values[t]);
        });
        return;
      }
    }
    block.each_thread([&](int t) {
      if (!place.holds(g, tile, t)) return;
      element const e = place.at(g, tile, t);
      take(st, t, e, value_at(st.p.s, e));
    });
  }
}

/// `columns_together` of a statement, as a kernel holds it.
template <class P>
inline constexpr int columns_of = columns_together<typename P::statement>;
template <>
inline constexpr int columns_of<skipped> = 1;

/// The most of several.
template <class... P>
inline constexpr int most_columns = (std::max)({1, columns_of<P>...});

/// One statement on tiles first, first + parts, ..., `together` of them, for one thread or, as columns of a product, for Count elements of each.
template <int Together, class Block, class P>
SLA_HD void on_tiles(Block const& block, pass_grid const& g, block_place const& place, index_t first, state<Block, P>& st) {
  if constexpr (columns_of<P> > 1) {
    constexpr int count = columns_of<P>;
    auto const& s = st.p.s;
    using Columns = side_by_side<std::remove_cvref_t<decltype(s.data[0])>, count>;
    if (!st.runs) return;
    if (g.width == 1 && g.across % count == 0 && g.f.rhs % count == 0 && Columns::fits(s.data) && Columns::fits(s.x.x.data)) {
      int const groups = g.across / count, of_tile = int(g.per_tile) * groups;
      block.sync();  // what earlier statements read and wrote at these elements, other threads did
      block.each_thread([&](int t) {
        for (int n = t; n < Together * of_tile; n += Block::threads) {
          int const among = n / of_tile, rest = n - among * of_tile, line = rest / groups;
          index_t const tile = first + among * g.parts, k = place.k0 + index_t(rest - line * groups) * count;
          if (tile >= place.tiles || tile * g.per_tile + line >= place.lines || k >= g.f.rhs) continue;
          index_t const row = place.first + tile * g.per_tile + line;
          element const e{row * g.f.rhs + k, row, place.b * g.f.rhs + k};
          s.x.template columns_at<count>(e).store(s.data + e.at);
        }
      });
      block.sync();
      return;
    }
  }
  on_tile(block, g, place, first, st);  // the first tile is always there
  for (int among = 1; among < Together; ++among)
    if (index_t const tile = first + among * g.parts; tile < place.tiles) on_tile(block, g, place, tile, st);
}

/// Folds one value per thread, of `lines` x `across` threads, into those of the first line, in a fixed order.
template <class Monoid, class Block, class A>
SLA_HD void fold_block(Block const& block, int lines, int across, typename Block::template local<A>& folded) {
  static_assert(sizeof(A) <= slot_bytes);
  A* const values = static_cast<A*>(block.shared);
  block.sync();
  block.each_thread([&](int t) { values[t] = folded[t]; });
  int half = 1;
  while (half < lines) half *= 2;
  bool in_warp = false;  // do the threads that are left sit in one warp?
  for (half /= 2; half > 0; half /= 2) {
    if (in_warp)
      block.sync_warp();
    else
      block.sync();
    in_warp = half * across <= warp_threads;
    block.each_thread([&](int t) {
      int const line = t / across;
      if (line < half && line + half < lines) Monoid::fold(values[t], values[t + half * across]);
    });
  }
  block.each_thread([&](int t) { folded[t] = values[t]; });  // each has written its own
}

/// Where the partial result of thread t's right-hand side belongs, among [item][part]; -1: nowhere.
SLA_HD inline index_t partial_place(pass_grid const& g, block_place const& place, int t) {
  index_t const k = place.k0 + t;
  return t < g.across && k < g.f.rhs ? (place.b * g.f.rhs + k) * g.parts + place.part : -1;
}

/// The partial results of a block, one per right-hand side of its chunk.
template <class Block, class P>
SLA_HD void finish_fold(Block const& block, pass_grid const& g, block_place const& place, state<Block, P>& st) {
  if constexpr (folds<P>) {
    if (!st.runs) return;
    fold_block<typename P::statement::monoid_type, Block, typename P::accumulator>(block, int(g.per_tile), g.across, st.folded);
    block.each_thread([&](int t) {
      if (index_t const to = partial_place(g, place, t); to >= 0) st.p.partials[to] = st.folded[t];
    });
  }
}

/// All statements of a pass on the tiles of one block.
template <class Block, class... State>
SLA_HD void run_states(Block const& block, pass_grid const& g, State... st) {
  block_place const place(g, block.index);
  (start_fold(block, st), ...);
  constexpr int together = most_columns<std::remove_cvref_t<decltype(State::p)>...>;
  for (index_t tile = place.part; tile < place.tiles; tile += together * g.parts) (on_tiles<together>(block, g, place, tile, st), ...);
  (finish_fold(block, g, place, st), ...);
}

/// The state of a statement at the beginning of a pass.
template <class Block, class P>
SLA_HD state<Block, P> state_of(P const& p, bool runs) {
  if constexpr (folds<P>)
    return {p, runs, {}};
  else
    return {p, runs};
}

template <class Block, class... P, std::size_t... N>
SLA_HD void pass_body(Block const& block, pass_grid const& g, unsigned mask, std::index_sequence<N...>, P const&... p) {
  run_states(block, g, state_of<Block>(p, (mask >> N & 1u) != 0)...);
}

/// The statements named by the bits of `mask`, in order, on the share of one block. Between threads the order is that of
/// the pass: a statement reads only what earlier ones wrote at its own element.
template <class Block, class... P>
SLA_HD void pass_body(Block const& block, pass_grid const& g, unsigned mask, P const&... p) {
  pass_body(block, g, mask, std::index_sequence_for<P...>{}, p...);
}

/// How many inner products a block of `dots` takes at a time: its registers hold their sums.
inline constexpr int dots_at_once = 8;

/// f<0>(), f<1>(), ...: an array that is indexed by constants stays in registers.
template <class F, int... J>
SLA_HD void unrolled(std::integer_sequence<int, J...>, F const& f) {
  (f.template operator()<J>(), ...);
}

/// Inner products j0 .. j0 + 7 of a `dots` or `gram_of` statement on a block's share: of each column of a block, which are right-hand sides. Partial results: [j][item][part].
template <class Block, class D>
SLA_HD void dots_body(Block const& block, pass_grid const& g, int j0, D const& d, typename D::summand* partials) {
  using A = typename D::summand;
  using all = std::make_integer_sequence<int, dots_at_once>;
  block_place const place(g, block.index);
  typename Block::template local<fixed_array<A, dots_at_once>> sum;
  typename Block::template local<A> one;
  block.each_thread([&](int t) { unrolled(all{}, [&]<int J>() { sum[t][J] = A{}; }); });
  for (index_t tile = place.part; tile < place.tiles; tile += g.parts)
    block.each_thread([&](int t) {
      if (!place.holds(g, tile, t)) return;
      element const e = place.at(g, tile, t);
      auto const w = d.x.at(e);
      unrolled(all{}, [&]<int J>() {
        if (j0 + J < d.components()) sum[t][J] += d.V.term(j0 + J, e, w);
      });
    });
  unrolled(all{}, [&]<int J>() {
    if (j0 + J >= d.components()) return;
    block.each_thread([&](int t) { one[t] = sum[t][J]; });
    fold_block<op::plus, Block, A>(block, int(g.per_tile), g.across, one);
    block.each_thread([&](int t) {
      index_t const to = partial_place(g, place, t);
      if (to >= 0) partials[(j0 + J) * g.f.items() * g.parts + to] = one[t];
    });
  });
}

/// Partial results [component][item][part] and the numbers that come of them, `capacity` components per item; those from
/// `components` on have no parts, and are the monoid's identity. An item may be `vectors` ones, with room for `lines`.
template <class Monoid, class Finish, class A, class R>
struct fold_target {
  A const* partials;
  R* result;
  index_t parts, items;
  int components, capacity, vectors = 1, lines = 1;

  SLA_HD index_t count() const { return items * lines * capacity; }
};

/// The n-th number of a reduction, of its partial results.
template <class Block, class Monoid, class Finish, class A, class R>
SLA_HD void fold_one(Block const& block, index_t n, fold_target<Monoid, Finish, A, R> const& target) {
  if (n < 0 || n >= target.count()) return;
  index_t const items = target.items * target.lines, component = n / items, item = n - component * items;
  index_t const b = target.lines == 1 ? item : item / target.lines, a = item - b * target.lines;
  index_t const parts = component < target.components && a < target.vectors ? target.parts : 0;
  index_t const first = ((component * target.items + b) * target.vectors + a) * target.parts;
  typename Block::template local<A> folded;
  block.each_thread([&](int t) {
    A mine = Monoid::template identity<A>();
    for (index_t at = t; at < parts; at += Block::threads) Monoid::fold(mine, target.partials[first + at]);
    folded[t] = mine;
  });
  fold_block<Monoid, Block, A>(block, Block::threads, 1, folded);
  block.each_thread([&](int t) {
    if (t == 0) target.result[item * target.capacity + component] = Finish::apply(folded[0]);
  });
}

/// Folds partial results: block n makes the n-th number of the targets, one after the other.
template <class Block, class... Target>
SLA_HD void fold_body(Block const& block, Target const&... target) {
  index_t n = block.index;
  ((fold_one(block, n, target), n -= target.count()), ...);
}
/// The same for a pack of targets.
template <class Block, class... Target, std::size_t... N>
SLA_HD void fold_all(Block const& block, detail::pack<Target...> const& targets, std::index_sequence<N...>) {
  fold_body(block, detail::part<N>(targets)...);
}
/// The same, its targets counted.
template <class Block, class... Target>
SLA_HD void fold_all(Block const& block, detail::pack<Target...> const& targets) {
  fold_all(block, targets, std::index_sequence_for<Target...>{});
}

} // namespace sla::cuda

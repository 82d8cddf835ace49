// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which slabs of a grid each rank has, level by level, and the messages that bring a rank the slabs around its own. All of it follows from the rows of
// the ranks, so that no rank stores anything of the others.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <sla/dist/engine/typed_collectives.hpp>
#include <sla/dist/halo/row_partition.hpp>
#include <sla/solve/precond/amg/grid/stencil.hpp>

namespace sla::detail {

/// Slabs, or numbers, [first, last).
struct slab_range {
  index_t first = 0, last = 0;

  index_t count() const { return last - first; }
  bool empty() const { return last <= first; }
  friend slab_range operator&(slab_range a, slab_range b) { return {(std::max)(a.first, b.first), (std::min)(a.last, b.last)}; }
};

/// The slabs of a level on ranks. On the finest grid a rank owns those whose last point is in its rows; on a coarser one those of even number, and of `stride`
/// ranks the first has all.
struct slab_layout {
  row_partition const* rows;
  grid_shape shape;  ///< of all ranks
  index_t finest_slab;
  int level = 0, stride = 1;

  int active() const { return (rows->ranks() + stride - 1) / stride; }
  index_t first(int r) const {
    if (r >= rows->ranks()) return shape.nz;
    return (rows->first(r) / finest_slab + (index_t(1) << level) - 1) >> level;
  }
  slab_range own(int r) const { return r % stride == 0 ? slab_range{first(r), first((std::min)(r + stride, rows->ranks()))} : slab_range{}; }
  /// Those on which a cycle corrects: on the finest grid all that have points in the rows of r.
  slab_range corrected(int r) const {
    if (level > 0) return own(r);
    return rows->count(r) > 0 ? slab_range{first(r), (rows->first(r + 1) + finest_slab - 1) / finest_slab} : slab_range{};
  }
  /// Those of which r holds the operator: as many more on both sides as the interpolation and the product of its coarse points read. The first is even.
  slab_range held(int r) const {
    auto const mine = corrected(r);
    return mine.empty() ? slab_range{} : slab_range{(std::max)(index_t(0), mine.first - 3) & ~index_t(1), (std::min)(shape.nz, mine.last + 2)};
  }
  /// Those of a right-hand side that a cycle reads, and of the correction of the next level.
  slab_range read(int r) const {
    auto const mine = corrected(r);
    return mine.empty() ? slab_range{} : slab_range{(std::max)(index_t(0), mine.first - 2), (std::min)(shape.nz, mine.last + 2)};
  }
  slab_range read_of_next(int r) const {
    auto const mine = corrected(r);
    return mine.empty() ? slab_range{} : slab_range{(std::max)(index_t(0), mine.first - 1) / 2, (std::min)((shape.nz + 1) / 2, (mine.last + 1) / 2 + 1)};
  }
  /// The next grid with the same owners.
  slab_layout next() const { return {rows, shape.coarse(), finest_slab, level + 1, stride}; }
  /// What a rank holds as a grid of its own.
  grid_shape local(int r) const { return {shape.nx, shape.ny, held(r).count(), shape.pairs > 3}; }
};

/// The messages that bring each rank its range `wanted` from the ranks whose range `owned` it meets. Cost: O(ranks) comparisons, no messages.
struct range_messages {
  struct piece {
    int rank;
    slab_range range;
  };
  std::vector<piece> sends, receives;
  slab_range here;

  template <class Owned, class Wanted>
  range_messages(any_communicator const& c, Owned const& owned, Wanted const& wanted) : here(owned(c.rank()) & wanted(c.rank())) {
    for (int r = 0; r < c.size(); ++r) {
      if (r == c.rank()) continue;
      auto const to = owned(c.rank()) & wanted(r), from = owned(r) & wanted(c.rank());
      if (!to.empty()) sends.push_back({r, to});
      if (!from.empty()) receives.push_back({r, from});
    }
  }
  /// The messages for arrays whose element of number k is at from[k * size] and to[k * size].
  template <class R>
  void add(R const* from, R* to, index_t size, std::vector<outgoing_message>& out, std::vector<incoming_message>& in) const {
    auto const run = [&](auto* at, slab_range range) { return std::span(at + range.first * size, std::size_t(range.count() * size)); };
    for (piece const& p : sends) out.push_back(send_to(p.rank, run(from, p.range)));
    for (piece const& p : receives) in.push_back(receive_from(p.rank, run(to, p.range)));
  }
};
/// The messages of a cycle: the points around its own that a rank reads of a right-hand side on the finest level; slabs of the next one, which go to the ranks that
/// have it, and come back.
inline range_messages messages_around(any_communicator const& c, slab_layout const& finest) {
  index_t const size = finest.shape.slab();
  return {c, [&](int r) { return slab_range{finest.rows->first(r), finest.rows->first(r + 1)}; }, [&](int r) { return slab_range{finest.read(r).first * size, finest.read(r).last * size}; }};
}
inline range_messages messages_down(any_communicator const& c, slab_layout const& fine, slab_layout const& next) {
  auto const natural = fine.next();
  return {c, [&](int r) { return natural.own(r); }, [&](int r) { return next.read(r); }};
}
inline range_messages messages_up(any_communicator const& c, slab_layout const& fine, slab_layout const& next) {
  return {c, [&](int r) { return next.own(r); }, [&](int r) { return fine.read_of_next(r); }};
}
/// Numbers of several arrays, once.
template <class R>
void exchange_once(any_communicator& c, range_messages const& plan, std::vector<std::pair<R const*, R*>> const& arrays, index_t size) {
  std::vector<outgoing_message> out;
  std::vector<incoming_message> in;
  for (auto const& [from, to] : arrays) plan.add(from, to, size, out, in);
  auto const under_way = c.start(out, in);
  for (auto const& [from, to] : arrays)
    if (from != to && !plan.here.empty()) std::copy_n(from + plan.here.first * size, plan.here.count() * size, to + plan.here.first * size);
  under_way->wait();
}
/// Those of one array into another, or into the same, again and again.
template <class R>
class range_exchange {
public:
  range_exchange(any_communicator& c, range_messages const& plan, R const* from, R* to, index_t size) : c_(&c) {
    std::vector<outgoing_message> out;
    std::vector<incoming_message> in;
    plan.add(from, to, size, out, in);
    if (!out.empty() || !in.empty()) messages_ = c.repeat(out, in);
    if (from != to && !plan.here.empty()) from_ = from + plan.here.first * size, to_ = to + plan.here.first * size, count_ = plan.here.count() * size;
  }
  void operator()() {
    if (messages_) c_->begin(*messages_);
    std::copy_n(from_, count_, to_);
    if (messages_) messages_->wait();
  }

private:
  any_communicator* c_;
  std::unique_ptr<repeated_exchange> messages_;
  R const* from_ = nullptr;
  R* to_ = nullptr;
  index_t count_ = 0;
};

} // namespace sla::detail

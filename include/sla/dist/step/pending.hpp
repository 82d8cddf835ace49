// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Steps under way: `auto y = all_gather<"tp">(x, async)` sends what it has and returns; `std::move(y).wait()` is the
// value. The messages travel meanwhile; packing is done before and unpacking after. The steps that wait at once are in
// dist/step/steps.hpp.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <sla/dist/step/halo_steps.hpp>
#include <sla/dist/value/pending_value.hpp>

namespace sla {

namespace detail {
/// What unpacking asks of the operand.
template <class Local>
struct outline_of_local {
  using value_type = typename Local::value_type;
  using extents_type = typename Local::extents_type;
  using memory_type = typename Local::memory_type;
  static constexpr int rank = Local::rank;
  extents_type shape;
  extents_type const& extents() const { return shape; }
  index_t extent(int d) const { return shape[d]; }
};

/// The fold of equally long pieces, one of each rank, in the order of the ranks.
template <class T>
std::vector<T> folded_pieces(std::vector<T> pieces, int ranks, monoid how) {
  std::size_t const count = pieces.size() / std::size_t(ranks);
  auto* const bytes = reinterpret_cast<std::byte*>(pieces.data());
  monoid const fold = how == monoid::average ? monoid::sum : how;
  for (int r = 1; r < ranks; ++r)
    fold_bytes(wire_traits<T>::type, fold, bytes, bytes + std::size_t(r) * count * sizeof(T), count * wire_traits<T>::parts);
  if (how == monoid::average) divide_bytes(wire_traits<T>::type, bytes, count * wire_traits<T>::parts, ranks);
  pieces.resize(count);
  return pieces;
}

/// A collective of the engine's own, or pieces for all ranks and from all ranks, as messages; this rank's own is copied.
template <class T>
struct pieces_under_way {
  traded<T> data;
  bool by_engine = false;  ///< then data.received becomes the result
  std::unique_ptr<message_exchange> messages;

  /// Does the engine do it?
  bool started(any_communicator& c, collective what, rank_counts n, monoid how) {
    messages = c.start_collective(what, std::as_bytes(std::span(data.sent)), std::as_writable_bytes(std::span(data.received)), wire_counts<T>(n), wire_traits<T>::type,
                                  how == monoid::average ? monoid::sum : how);
    return by_engine = messages != nullptr;
  }
  /// By messages, where one_for_all is set the same for each.
  void begin(any_communicator& c, bool one_for_all = false) {
    std::vector<dependent_t<outgoing_message, T>> sends;
    std::vector<dependent_t<incoming_message, T>> receives;
    std::size_t from = 0, into = 0;
    for (int r = 0; r < c.size(); ++r) {
      std::size_t const out = data.send[std::size_t(r)], in = data.receive[std::size_t(r)];
      std::span<T const> const sent = std::span<T const>(data.sent).subspan(from, out);
      std::span<T> const received = std::span<T>(data.received).subspan(into, in);
      if (r == c.rank()) {
        std::copy(sent.begin(), sent.end(), received.begin());
      } else {
        if (out) sends.push_back(send_to(r, sent));
        if (in) receives.push_back(receive_from(r, received));
      }
      if (!one_for_all) from += out;
      into += in;
    }
    messages = c.start(sends, receives);
  }
  /// What has been reduced by either.
  std::vector<T> folded(int ranks, monoid how) {
    if (!by_engine) return folded_pieces(std::move(data.received), ranks, how);
    if (how == monoid::average) divide_bytes(wire_traits<T>::type, reinterpret_cast<std::byte*>(data.received.data()), data.received.size() * wire_traits<T>::parts, ranks);
    return std::move(data.received);
  }
};

/// What a step sends, begin(pieces, x, from, to, how), and makes of what has arrived, end(outline, pieces, from, to, how).
template <step How, class From, class To>
struct async_step;

template <class From, class To>
struct async_step<step::all_gather, From, To> {
  template <class Pieces, class Local>
  static void begin(Pieces& p, Local const& x, rank_group const& from, rank_group const&, monoid) {
    auto const [outer, inner] = around(x.extents(), From::dim);
    auto& t = p.data;
    t.receive = piece_counts<typename From::family>(from, outer * inner);
    t.sent.assign(x.data(), x.data() + x.size());
    t.received.resize(std::size_t(from.extent * outer * inner));
    if (p.started(*from.c, collective::all_gather, t.receive, monoid::none)) return;
    t.send.assign(std::size_t(from.size), std::size_t(x.size()));
    p.begin(*from.c, true);
  }
  template <class Outline, class Pieces>
  static auto end(Outline const& x, Pieces& p, rank_group const& from, rank_group const&, monoid) {
    return unpacked_whole<From>(x, p.data.received.data(), from);
  }
};
template <class From, class To>
struct async_step<step::reduce_scatter, From, To> {
  template <class Pieces, class Local>
  static void begin(Pieces& p, Local const& x, rank_group const&, rank_group const& to, monoid how) {
    auto const [outer, inner] = around(x.extents(), To::dim);
    auto& t = p.data;
    t.sent = packed_whole<To>(x, to);
    t.send = piece_counts<typename To::family>(to, outer * inner);
    auto const mine = t.send[std::size_t(to.rank)];
    t.received.resize(mine);
    if (p.started(*to.c, collective::reduce_scatter, t.send, how)) return;
    t.receive.assign(std::size_t(to.size), mine);
    t.received.resize(mine * std::size_t(to.size));
    p.begin(*to.c);
  }
  template <class Outline, class Pieces>
  static auto end(Outline const& x, Pieces& p, rank_group const&, rank_group const& to, monoid how) {
    return unpacked_part<To>(x, p.folded(to.size, how).data(), to);
  }
};
/// By messages each rank folds one piece of all, and the pieces are gathered in wait().
template <class From, class To>
struct async_step<step::all_reduce, From, To> {
  template <class Pieces, class Local>
  static void begin(Pieces& p, Local const& x, rank_group const& from, rank_group const&, monoid how) {
    auto& t = p.data;
    t.received.assign(x.data(), x.data() + x.size());
    std::size_t const count = t.received.size();
    if (p.started(*from.c, collective::all_reduce, {&count, 1}, how)) return;
    t.sent = std::exchange(t.received, {});
    for (int r = 0; r < from.size; ++r) t.send.push_back(std::size_t(Balanced::local_extent(r, x.size(), from.size)));
    t.receive.assign(std::size_t(from.size), t.send[std::size_t(from.rank)]);
    t.received.resize(t.send[std::size_t(from.rank)] * std::size_t(from.size));
    p.begin(*from.c);
  }
  template <class Outline, class Pieces>
  static auto end(Outline const& x, Pieces& p, rank_group const& from, rank_group const&, monoid how) {
    using T = typename Outline::value_type;
    auto const mine = p.folded(from.size, how);
    rebuilt_t<Outline, T> y(x.extents(), uninitialized);
    if (p.by_engine)
      std::copy(mine.begin(), mine.end(), y.data());
    else
      all_gather(*from.c, std::span<T const>(mine), elements_of(y), p.data.send);
    return y;
  }
};
template <class From, class To>
struct async_trade {
  template <class Pieces, class Local>
  static void begin(Pieces& p, Local const& x, rank_group const& from, rank_group const& to, monoid) {
    p.data = part_exchange<From, To>::begin(x, from, to);
    p.begin(*from.c);
  }
  template <class Outline, class Pieces>
  static auto end(Outline const& x, Pieces& p, rank_group const& from, rank_group const& to, monoid) {
    return part_exchange<From, To>::end(x, p.data, from, to);
  }
};
template <class From, class To>
struct async_step<step::all_to_all, From, To> : async_trade<From, To> {};
template <class From, class To>
struct async_step<step::repartition, From, To> : async_trade<From, To> {};

template <class P>
inline constexpr monoid fold_of = monoid::none;
template <class Op>
inline constexpr monoid fold_of<Partial<Op>> = Op::value;

template <step How, class From, class To, int A, class Local, class Mesh, class Y>
struct step_under_way final : work_under_way<Y> {
  using Taken = async_step<How, From, To>;
  using T = typename Local::value_type;
  outline_of_local<Local> shape;
  layout_handle<Mesh> before, after;
  pieces_under_way<T> pieces;

  step_under_way(Local const& x, layout_handle<Mesh> layout, layout_handle<Mesh> const& layout_source)
      : shape{x.extents()}, before(std::move(layout)), after(before) {
    check_complex<T>(fold_of<From>);
    if constexpr (To::kind == placement_kind::shard)
      after = sharded_layout<typename To::family>(before, A, same_dimension() ? before->extent[A] : x.extent(To::dim), layout_source);
    Taken::begin(pieces, x, group_of(*before, A), group_of(*after, A), fold_of<From>);
  }
  bool done() override { return pieces.messages->done(); }
  Y finish() override {
    pieces.messages->wait();
    return Y(Taken::end(shape, pieces, group_of(*before, A), group_of(*after, A), fold_of<From>), after);
  }
  static constexpr bool same_dimension() {
    if constexpr (requires { From::dim; })
      return int(From::dim) == int(To::dim);
    else
      return false;
  }
};
template <int D, class Local, class Mesh, class Y>
struct halo_under_way final : work_under_way<Y> {
  using T = typename Local::value_type;
  layout_handle<Mesh> layout;
  local_of_t<Y> own;
  halo_exchange<T> messages;

  halo_under_way(Local const& x, layout_handle<Mesh> with)
      : layout(std::move(with)), own(among_zeros<D>(x, plan_of(*layout).own() + plan_of(*layout).ghosts())),
        messages(plan_of(*layout), x.data(), {around(x.extents(), D).first, around(x.extents(), D).second}) {}
  bool done() override { return messages.done(); }
  Y finish() override {
    messages.wait();
    place_ghosts<D>(own, plan_of(*layout), messages.ghosts());
    return Y(std::move(own), layout);
  }
};
template <int D, class Local, class Mesh, class Y>
struct contributions_under_way final : work_under_way<Y> {
  layout_handle<Mesh> layout;
  local_of_t<Y> own;
  reverse_exchange<typename Local::value_type> messages;

  contributions_under_way(Local const& x, layout_handle<Mesh> of)
      : layout(std::move(of)), own(first_rows<D>(x, plan_of(*layout).own())),
        messages(plan_of(*layout), packed_ghosts<D>(x, plan_of(*layout)),
                 {around(x.extents(), D).first, around(x.extents(), D).second}) {}
  bool done() override { return messages.done(); }
  Y finish() override {
    messages.add_to(own.data());
    return Y(std::move(own), layout);
  }
};
/// A value that was there at once, and a step that goes on once another has arrived.
template <class Y>
struct arrived final : work_under_way<Y> {
  Y value;
  explicit arrived(Y y) : value(std::move(y)) {}
  bool done() override { return true; }
  Y finish() override { return std::move(value); }
};
template <class Y, class First, class F>
struct followed final : work_under_way<Y> {
  First first;
  F f;
  followed(First before, F g) : first(std::move(before)), f(std::move(g)) {}
  bool done() override { return first.done(); }
  Y finish() override { return f(std::move(first).wait()); }
};
template <class First, class F>
auto when_there(First first, F f) {
  using Y = decltype(f(std::move(first).wait()));
  return pending<Y>(std::make_unique<followed<Y, First, F>>(std::move(first), std::move(f)));
}

template <class S, class X>
auto begun(X const& x, layout_handle<mesh_of_t<stepping_t<X>>> const& layout_source = {}) {
  if constexpr (!is_distributed<X>) {
    return begun<S>(eval(x), layout_source);
  } else {
    using Mesh = mesh_of_t<X>;
    using To = typename S::to;
    using kind = placement_kind;
    using decided = step_decision<S, X>;
    using From = typename decided::From;
    constexpr step How = S::how;
    constexpr int a = decided::at;
    static_assert(S::axes::count == 1, "sla: a step without waiting, f<axis>(x, async), is taken on one axis");
    static_assert(is_tensor<local_of_t<X>> && From::kind != kind::varying && To::kind != kind::varying,
                  "sla: a step without waiting, f<axis>(x, async), is taken on tensors, and not on stacks of a Varying");
    decided::require();
    if constexpr (!decided::legal) {
      return x;
    } else {
      auto const stepped_on = [&layout_source](auto const& y) { return stepped<S>(y, layout_source); };
      using Y = std::remove_cvref_t<decltype(stepped_on(x))>;
      if constexpr (is_free(How)) {
        return pending<Y>(std::make_unique<arrived<Y>>(stepped_on(x)));
      } else if constexpr (How == step::halo_exchange) {
        auto sharded = with_halo_of(x.handle(), a, layout_source ? *layout_source : *x.handle());
        require_rows_of_halo(*x.handle(), *sharded);
        using Work = halo_under_way<From::dim, local_of_t<X>, Mesh, Y>;
        return pending<Y>(std::make_unique<Work>(x.local(), std::move(sharded)));
      } else if constexpr (How == step::halo_reduce) {
        using Work = contributions_under_way<From::dim, local_of_t<X>, Mesh, Y>;
        return pending<Y>(std::make_unique<Work>(x.local(), x.handle()));
      } else if constexpr (From::kind == kind::ghost) {  // gathered: the own rows
        return begun<S>(stepped<step_on<step::convert, typename S::axes, shard_of<From>>>(x), layout_source);
      } else if constexpr (To::kind == kind::ghost_partial) {  // scattered: own rows, among zeros
        return when_there(begun<step_on<How, typename S::axes, shard_of<To>, true>>(x, layout_source), [layout_source](auto const& y) {
          return stepped<step_on<step::convert, typename S::axes, To, true>>(y, layout_source);
        });
      } else {
        using Work = step_under_way<How, From, To, a, local_of_t<X>, Mesh, Y>;
        return pending<Y>(std::make_unique<Work>(x.local(), x.handle(), layout_source));
      }
    }
  }
}
} // namespace detail

// Cost: that of the step; what its messages take may pass beside other work. Gathers and reductions are the engine's own where it has such that do not
// block (MPI: whose sums may round otherwise than those that wait). Else all messages of a gather, a scatter, an exchange or a halo are under way at once;
// of an all_reduce those to the ranks that fold, while the pieces are gathered in wait(). Gradient: that of the step, without waiting too: its messages travel from where the
// value was waited for to where the step began (dist/step/pending_gradient.hpp).
template <StepOn S, class X>
requires DistributedExpr<X>
auto perform(begin_step<S>, X const& x, layout_handle<mesh_of_t<detail::stepping_t<X>>> const& layout_source = {}) {
  return detail::begun<S>(x, layout_source);
}

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Trades: parts of one dimension, or by one family, that become parts of another: what each rank packs for each other
// one, and what it makes of what it receives. Parts themselves are in dist/step/dense_shards.hpp.
#pragma once

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <sla/dist/step/dense_shards.hpp>

namespace sla::detail {

/// Which indices of a dimension go to, or come from, each rank, one rank after the other.
struct index_lists {
  std::vector<index_t> at;
  std::vector<std::size_t> counts;
  /// f(rank, its indices), rank after rank.
  template <class F>
  void for_ranks(F const& f) const {
    std::size_t first = 0;
    for (std::size_t r = 0; r < counts.size(); first += counts[r++]) f(int(r), std::span(at).subspan(first, counts[r]));
  }
};
/// This rank's local indices by who owns them in another sharding, each rank's in the order of the whole. Collective, as part_owners.
template <class Mine, class Theirs>
index_lists lists_by_owner(rank_group const& mine, rank_group const& theirs) {
  std::vector<std::pair<index_t, index_t>> order;
  for (index_t n = 0; n < part_extent<Mine>(mine, mine.rank); ++n) order.push_back({part_global<Mine>(mine, n), n});
  std::sort(order.begin(), order.end());
  index_lists out{std::vector<index_t>(order.size()), std::vector<std::size_t>(std::size_t(theirs.size), 0)};
  auto const owner = part_owners<Theirs>(theirs, index_t(order.size()), [&](index_t k) { return order[std::size_t(k)].first; });
  for (int r : owner) ++out.counts[std::size_t(r)];
  std::vector<std::size_t> next(out.counts.size(), 0);
  std::exclusive_scan(out.counts.begin(), out.counts.end(), next.begin(), std::size_t(0));
  for (std::size_t k = 0; k < order.size(); ++k) out.at[next[std::size_t(owner[k])]++] = order[k].second;
  return out;
}
/// The indices of the whole that each rank has, and this rank's local ones, both in the order in which pieces are sent.
template <class Family>
index_lists whole_lists(rank_group const& l) {
  index_lists out;
  auto const place = piece_places<Family>(l);
  for (int r = 0; r < l.size; ++r) {
    index_t const count = part_extent<Family>(l, r);
    for (index_t j = 0; j < count; ++j) out.at.push_back(place(r, j));
    out.counts.push_back(std::size_t(count));
  }
  return out;
}
template <class Family>
std::vector<index_t> own_list(rank_group const& l) {
  std::vector<index_t> out(std::size_t(part_extent<Family>(l, l.rank)));
  std::iota(out.begin(), out.end(), index_t(0));
  return out;
}

/// Moves the elements at the listed places of two dimensions (d < e) of a tensor into a buffer, or back; gives the
/// buffer's end.
template <bool Pack, class T, class U, class E>
U* move_block(T* whole, U* packed, E const& extents, int d, std::span<index_t const> at_d, int e,
              std::span<index_t const> at_e) {
  auto const [outer, rest] = around(extents, d);
  auto const [front, inner] = around(extents, e);
  index_t const middle = rest / (extents[e] == 0 ? 1 : extents[e] * inner);
  index_t const slices = index_t(at_d.size()), each = middle * index_t(at_e.size()) * inner, pieces = outer * slices;
  parallel_ranges(pieces, [&, &inner = inner](index_t first, index_t last) {
    for (index_t n = first; n < last; ++n) {
      index_t const o = n / slices, i = at_d[std::size_t(n - o * slices)];
      U* part = packed + n * each;
      for (index_t m = 0; m < middle; ++m)
        for (index_t j : at_e) {
          auto* const at = whole + (((o * extents[d] + i) * middle + m) * extents[e] + j) * inner;
          if constexpr (Pack)
            std::copy_n(at, inner, part);
          else
            std::copy_n(part, inner, at);
          part += inner;
        }
    }
  }, least_pieces(each));
  return packed + pieces * each;
}

/// One message's worth for every rank, and from every rank.
template <class T>
struct traded {
  std::vector<T> sent, received;
  std::vector<std::size_t> send, receive;
  index_lists come{};  ///< of one dimension: where what is received belongs
  void trade(any_communicator& c) { all_to_all(c, std::span<T const>(sent), send, std::span<T>(received), receive); }
};

/// Parts of dimension From::dim become parts of To::dim, another one.
template <class From, class To>
struct all_to_all_parts {
  static constexpr int i = From::dim, j = To::dim;
  using F = typename From::family;
  using G = typename To::family;

  template <class Local>
  static auto begin(Local const& x, rank_group const& from, rank_group const& to) {
    traded<typename Local::value_type> t;
    auto const own = own_list<F>(from);
    auto const whole = whole_lists<G>(to);
    index_t const total = x.size(), other = x.extent(j) == 0 ? 0 : total / x.extent(j);
    t.sent.resize(std::size_t(total));
    auto* packed = t.sent.data();
    whole.for_ranks([&](int, std::span<index_t const> theirs) {
      packed = i < j ? move_block<true>(x.data(), packed, x.extents(), i, own, j, theirs)
                     : move_block<true>(x.data(), packed, x.extents(), j, theirs, i, own);
      t.send.push_back(theirs.size() * std::size_t(other));
    });
    index_t const mine = part_extent<G>(to, to.rank),
                  slice = x.extent(i) * x.extent(j) == 0 ? remaining(x) : total / (x.extent(i) * x.extent(j));
    for (int r = 0; r < from.size; ++r) t.receive.push_back(std::size_t(part_extent<F>(from, r) * mine * slice));
    t.received.resize(std::size_t(from.extent * mine * slice));
    return t;
  }
  template <class Local>
  static auto end(Local const& x, traded<typename Local::value_type> const& t, rank_group const& from,
                  rank_group const& to) {
    using Half = resized_t<Local, i>;
    using Out = resized_t<Half, j>;
    auto const half = with_extent<typename Half::extents_type>(x.extents(), i, from.extent);
    Out out(with_extent<typename Out::extents_type>(half, j, part_extent<G>(to, to.rank)), uninitialized);
    auto const own = own_list<G>(to);
    auto const whole = whole_lists<F>(from);
    auto const* packed = t.received.data();
    whole.for_ranks([&](int, std::span<index_t const> theirs) {
      packed = i < j ? move_block<false>(out.data(), packed, out.extents(), i, theirs, j, own)
                     : move_block<false>(out.data(), packed, out.extents(), j, own, i, theirs);
    });
    return out;
  }

private:
  template <class Local>
  static index_t remaining(Local const& x) {
    index_t n = 1;
    for (int d = 0; d < Local::rank; ++d) n *= d == i || d == j ? 1 : x.extent(d);
    return n;
  }
};
/// Parts by one family become parts of the same dimension by another.
template <class From, class To>
struct reshard_parts {
  static constexpr int d = From::dim;
  using F = typename From::family;
  using G = typename To::family;

  template <class Local>
  static auto begin(Local const& x, rank_group const& from, rank_group const& to) {
    traded<typename Local::value_type> t;
    auto const go = lists_by_owner<F, G>(from, to);
    auto& come = t.come = lists_by_owner<G, F>(to, from);
    auto const [outer, inner] = around(x.extents(), d);
    t.sent.resize(std::size_t(x.size()));
    auto* packed = t.sent.data();
    index_t const rows = outer, row = inner;
    go.for_ranks([&](int r, std::span<index_t const> list) {
      move_rows<false>(x.data(), packed, rows, index_t(list.size()), x.extent(d), row, [&](index_t n) { return list[std::size_t(n)]; });
      packed += index_t(list.size()) * rows * row;
      t.send.push_back(list.size() * std::size_t(rows * row));
      t.receive.push_back(come.counts[std::size_t(r)] * std::size_t(rows * row));
    });
    t.received.resize(come.at.size() * std::size_t(outer * inner));
    return t;
  }
  template <class Local>
  static auto end(Local const& x, traded<typename Local::value_type> const& t, rank_group const&, rank_group const&) {
    using Out = resized_t<Local, d>;
    auto const& come = t.come;
    auto const [outer, inner] = around(x.extents(), d);
    Out out(with_extent<typename Out::extents_type>(x.extents(), d, index_t(come.at.size())), uninitialized);
    auto const* packed = t.received.data();
    index_t const rows = outer, row = inner;
    come.for_ranks([&](int, std::span<index_t const> list) {
      move_rows<true>(packed, out.data(), rows, index_t(list.size()), out.extent(d), row, [&](index_t n) { return list[std::size_t(n)]; });
      packed += index_t(list.size()) * rows * row;
    });
    return out;
  }
};
template <class From, class To>
using part_exchange = std::conditional_t<From::dim == To::dim, reshard_parts<From, To>, all_to_all_parts<From, To>>;

template <class From, class To, class Local>
auto exchange_parts(Local const& x, rank_group const& from, rank_group const& to) {
  using Trade = part_exchange<From, To>;
  auto t = Trade::begin(x, from, to);
  t.trade(*from.c);
  return Trade::end(x, t, from, to);
}

} // namespace sla::detail

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collective calls on typed spans and values: all_reduce, broadcast, all_gather, reduce_scatter, all_to_all, messages.
// The interface on bytes is any_communicator; collectives of distributed tensors are in dist/step/collectives.hpp.
#pragma once

#include <cstddef>
#include <numeric>
#include <span>
#include <type_traits>
#include <vector>

#include <sla/dist/engine/communicator.hpp>

namespace sla {

namespace detail {

template <class T>
kept_list<std::size_t> wire_counts(rank_counts n) {
  kept_list<std::size_t> out(n.begin(), n.end());
  for (std::size_t& k : out) k *= wire_traits<T>::parts;
  return out;
}

template <class T>
void check_complex(monoid how) {
  if (is_complex<T> && how != monoid::sum && how != monoid::average)
    throw value_error(
        text("the ", name_of(how), " of complex numbers over ranks is not defined; fold their parts or sum"));
}

} // namespace detail

/// A value whose bytes mean the same on another rank: nothing that points elsewhere.
template <class T>
concept Sendable = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !requires(T value) {
  value.data();
};

/// One message of values; for `start`.
template <class T>
outgoing_message send_to(int rank, std::span<T const> values) {
  static_assert(wire_traits<T>::parts > 0);
  return {rank, std::as_bytes(values)};
}
/// The message to receive from this rank, into these values.
template <class T>
incoming_message receive_from(int rank, std::span<T> values) {
  static_assert(wire_traits<T>::parts > 0);
  return {rank, std::as_writable_bytes(values)};
}

/// Every rank's values become the fold of all ranks', bitwise the same on all. Complex numbers: sum and average.
template <Foldable T>
void all_reduce(any_communicator& c, std::span<T> values, monoid how = monoid::sum) {
  detail::check_complex<T>(how);
  c.all_reduce(std::as_writable_bytes(values), wire_traits<T>::type, how);
}
/// The fold of one value of each rank.
template <Foldable T>
requires Scalar<T> || std::integral<T> T all_reduce(any_communicator& c, T value, monoid how = monoid::sum) {
  all_reduce(c, std::span<T>(&value, 1), how);
  return value;
}

/// Every rank's values become the root's.
template <class T>
void broadcast(any_communicator& c, std::span<T> values, int root = 0) {
  c.broadcast(std::as_writable_bytes(values), wire_traits<T>::type, root);
}
/// The root's vector, of whatever length, on every rank. Cost: two broadcasts.
template <class T>
void broadcast(any_communicator& c, std::vector<T>& values, int root = 0) {
  std::uint64_t length = values.size();
  broadcast(c, std::span<std::uint64_t>(&length, 1), root);
  values.resize(static_cast<std::size_t>(length));
  broadcast(c, std::span<T>(values), root);
}

/// all = the ranks' values one after the other, n[r] from rank r.
template <class T>
void all_gather(any_communicator& c, std::span<T const> mine, std::span<T> all, rank_counts n) {
  c.all_gather(std::as_bytes(mine), std::as_writable_bytes(all), detail::wire_counts<T>(n), wire_traits<T>::type);
}
/// One value of each rank, in rank order.
template <Sendable T>
std::vector<T> all_gather(any_communicator& c, T const& value) {
  std::vector<T> all(static_cast<std::size_t>(c.size()));
  std::vector<std::size_t> const n(all.size(), 1);
  all_gather(c, std::span<T const>(&value, 1), std::span<T>(all), n);
  return all;
}
/// The ranks' vectors one after the other, and how long each is. Cost: two all_gathers.
template <class T>
struct gathered {
  std::vector<T> values;
  std::vector<std::size_t> counts;
};
template <class T>
gathered<T> all_gather(any_communicator& c, std::vector<T> const& mine) {
  gathered<T> out;
  for (std::uint64_t n : all_gather(c, std::uint64_t{mine.size()})) out.counts.push_back(static_cast<std::size_t>(n));
  out.values.resize(std::accumulate(out.counts.begin(), out.counts.end(), std::size_t{0}));
  all_gather(c, std::span<T const>(mine), std::span<T>(out.values), out.counts);
  return out;
}

/// The fold of all ranks' `all`, cut in pieces of n[r]: this rank's piece into `mine`. Complex numbers: sum and
/// average.
template <Foldable T>
void reduce_scatter(any_communicator& c, std::span<T const> all, std::span<T> mine, rank_counts n,
                    monoid how = monoid::sum) {
  detail::check_complex<T>(how);
  c.reduce_scatter(std::as_bytes(all), std::as_writable_bytes(mine), detail::wire_counts<T>(n), wire_traits<T>::type, how);
}

/// `from` holds send[r] values for each rank r, `into` receives receive[r] values from each.
template <class T>
void all_to_all(any_communicator& c, std::span<T const> from, rank_counts send, std::span<T> into,
                rank_counts receive) {
  c.all_to_all(std::as_bytes(from), detail::wire_counts<T>(send), std::as_writable_bytes(into),
               detail::wire_counts<T>(receive), wire_traits<T>::type);
}
/// The same when no rank knows what it will receive: values for each rank in, values and counts from each rank out.
/// Cost: of counts and of values one message to each rank that is sent any, where the engine can find out who sends; else an all_to_all
/// of a number per rank.
template <class T>
gathered<T> all_to_all(any_communicator& c, std::vector<T> const& from, rank_counts send) {
  gathered<T> out;
  out.counts = c.discover(send);
  out.values.resize(std::accumulate(out.counts.begin(), out.counts.end(), std::size_t{0}));
  all_to_all(c, std::span<T const>(from), send, std::span<T>(out.values), out.counts);
  return out;
}

} // namespace sla

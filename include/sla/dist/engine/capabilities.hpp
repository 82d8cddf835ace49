// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What an engine is: the concept Communicator, one concept per capability, messages, and the error of a failing rank.
// The engines are dist/engine/{self,fake,threads} and adapter/mpi; programs call them by dist/engine/typed_collectives.hpp.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sla/core/error.hpp>
#include <sla/core/kept_blocks.hpp>
#include <sla/dist/engine/wire.hpp>

namespace sla {

/// A rank failed: it threw, returned while others waited for it, or called something else than they did.
/// Every rank gets this error, with the rank to look at first.
class rank_error : public error {
public:
  rank_error(int rank, std::string const& what) : error(what), rank_(rank) {}
  int rank() const { return rank_; }

private:
  int rank_;
};

namespace detail {
/// The rank that an error's words begin with, "rank 3: ..." or "rank 3 failed: ..."; -1, if they name none.
template <class = void>
int rank_named_by(std::string_view what) {
  if (!what.starts_with("rank ")) return -1;
  std::size_t at = 5;
  int rank = 0;
  for (; at < what.size() && at < 14 && what[at] >= '0' && what[at] <= '9'; ++at) rank = 10 * rank + (what[at] - '0');
  auto const rest = what.substr(at);
  return at > 5 && (rest.starts_with(": ") || rest.starts_with(" failed: ")) ? rank : -1;
}
/// Of an error of the library alone: the words of another may begin so, and mean something else.
template <class = void>
int rank_named_by(std::exception_ptr const& cause) {
  try {
    std::rethrow_exception(cause);
  } catch (error const& e) {
    return rank_named_by(std::string_view(e.what()));
  } catch (...) {
    return -1;
  }
}
/// The words of a rank's error for all ranks: they say once who failed.
template <class = void>
std::string failure_of(int rank, std::string const& what, bool names_it) {
  return names_it ? what : text("rank ", rank, " failed: ", what);
}
} // namespace detail

/// Bytes to receive into.
using byte_span = std::span<std::byte>;
/// Bytes to send.
using const_byte_span = std::span<std::byte const>;
using rank_counts = std::span<std::size_t const>; ///< one number of elements per rank

/// One message to a rank. The bytes must stay as they are until the exchange has been waited for.
struct outgoing_message {
  int rank;
  const_byte_span data;
};
/// One message from a rank: as many bytes as were sent.
struct incoming_message {
  int rank;
  byte_span data;
};

/// Messages under way, begun by `start`. The destructor waits; where an exception passes, it may cancel what nobody has received. After it the bytes may go.
class message_exchange : public detail::kept_object {
public:
  message_exchange() = default;
  message_exchange(message_exchange const&) = delete;
  message_exchange& operator=(message_exchange const&) = delete;
  virtual ~message_exchange() = default;

  /// Returns when all incoming messages have arrived and all outgoing bytes may be overwritten.
  virtual void wait() = 0;
  /// Would `wait` return at once?
  virtual bool done() = 0;
  /// For engines that move messages only inside of calls: moves them on. True where nothing is left to move, or they move by themselves.
  /// A pass calls it between its blocks while it waits for a halo.
  virtual bool advance() { return true; }
};

/// Messages between the same ranks, from and into the same memory, again and again, made by `repeat`. After `begin` it is as any
/// exchange, until it has been waited for. Law: one round at a time; the memory stays as long as this.
class repeated_exchange : public message_exchange {
public:
  virtual void begin() = 0;
  std::uint64_t messages = 0, bytes = 0;  ///< that this rank sends in a round
};

namespace detail {

/// An exchange that was over when it began.
struct finished_exchange final : message_exchange {
  void wait() override {}
  bool done() override { return true; }
};

/// Where rank r's piece begins when the pieces of n[0], n[1], ... elements lie one after the other, in bytes.
inline std::size_t offset_of(rank_counts n, int r, wire_type type) {
  std::size_t sum = 0;
  for (std::size_t q = 0; q < static_cast<std::size_t>(r); ++q) sum += n[q];
  return sum * size_of(type);
}

} // namespace detail

/// An engine: a cheap handle that knows how many ranks there are, which one this is, and its own name for error
/// messages. Every other member is a capability, a concept of its own below. Collective calls are made by all ranks in
/// the same order; any_communicator has checked sizes and ranks before.
template <class C>
concept Communicator = requires(C& c) {
  { c.size() } -> std::convertible_to<int>;
  { c.rank() } -> std::convertible_to<int>;
  { c.engine() } -> std::convertible_to<std::string_view>;
};

namespace detail {
template <class C>
concept Handle = Communicator<C> && std::copy_constructible<C>;
}

/// `barrier()`: no rank leaves before all have come.
template <class C>
concept CanBarrier = Communicator<C> && requires(C& c) {
  c.barrier();
};

/// `broadcast(data, type, root)`: every rank's data becomes the root's.
template <class C>
concept CanBroadcast = Communicator<C> && requires(C& c, byte_span data, wire_type type) {
  c.broadcast(data, type, 0);
};

/// `all_reduce(data, type, how)`: every rank's data becomes the fold of all ranks', bitwise the same on all.
template <class C>
concept CanAllReduce = Communicator<C> && requires(C& c, byte_span data, wire_type type, monoid how) {
  c.all_reduce(data, type, how);
};

/// `all_gather(mine, all, n, type)`: all = the ranks' data one after the other, n[r] elements from rank r.
template <class C>
concept CanAllGather = Communicator<C> &&
    requires(C& c, const_byte_span mine, byte_span all, rank_counts n, wire_type type) {
  c.all_gather(mine, all, n, type);
};

/// `reduce_scatter(all, mine, n, type, how)`: the fold of all ranks' `all` is cut in pieces of n[r]; mine = this
/// rank's.
template <class C>
concept CanReduceScatter = Communicator<C> &&
    requires(C& c, const_byte_span all, byte_span mine, rank_counts n, wire_type type, monoid how) {
  c.reduce_scatter(all, mine, n, type, how);
};

/// `all_to_all(from, send, into, receive, type)`: `from` is cut in pieces of send[r], one for each rank r; `into` = the
/// pieces for this rank, receive[r] elements from rank r.
template <class C>
concept CanAllToAll = Communicator<C> &&
    requires(C& c, const_byte_span from, byte_span into, rank_counts n, wire_type type) {
  c.all_to_all(from, n, into, n, type);
};

/// `discover(send)`: how many elements each rank has for this one, of how many this one has for each. Without it an all_to_all of one
/// number per rank tells them.
template <class C>
concept CanDiscover = Communicator<C> && requires(C& c, rank_counts n) {
  { c.discover(n) } -> std::same_as<std::vector<std::size_t>>;
};

/// `start(sends, receives)`: messages between pairs of ranks, not collective. Those of a pair arrive in the order sent.
template <class C>
concept CanExchange = Communicator<C> &&
    requires(C& c, std::span<outgoing_message const> sends, std::span<incoming_message const> receives) {
  { c.start(sends, receives) } -> std::same_as<std::unique_ptr<message_exchange>>;
};

/// `repeat(sends, receives)`: such messages again and again, begun each time by `begin`. Without it each round is a `start`.
template <class C>
concept CanRepeat = CanExchange<C> &&
    requires(C& c, std::span<outgoing_message const> sends, std::span<incoming_message const> receives) {
  { c.repeat(sends, receives) } -> std::same_as<std::unique_ptr<repeated_exchange>>;
};

/// `start_collective(what, from, into, n, type, how)`: an all_reduce (of `into`, in its place; n is its length), an all_gather or a reduce_scatter, as the
/// members of these names, which goes on while others work. The bytes stay as they are until it has been waited for, n and the rest may go. Null, on all
/// ranks, where the engine has no such call for these: then messages do the same.
template <class C>
concept CanStartCollectives = Communicator<C> &&
    requires(C& c, const_byte_span from, byte_span into, rank_counts n, wire_type type, monoid how) {
  { c.start_collective(collective::all_reduce, from, into, n, type, how) } -> std::same_as<std::unique_ptr<message_exchange>>;
};

/// `split(color, key)`: a communicator of the ranks that give the same color, in the order of key, then of rank.
template <class C>
concept CanSplit = Communicator<C> && requires(C& c) {
  { c.split(0, 0) } -> detail::Handle;
};

/// `axis(size, stride)`: one axis of a row-major mesh of the ranks, where an engine can tell it without asking others.
template <class C>
concept CanAxis = Communicator<C> && requires(C& c) {
  { c.axis(1, 1) } -> detail::Handle;
};

/// `part(members, place)`: a communicator of these ranks in this order, where this one is number `place`, made by the members alone.
template <class C>
concept CanPart = Communicator<C> && requires(C& c, std::span<int const> members) {
  { c.part(members, 0) } -> detail::Handle;
};

/// `name_step(words)`: the next collective is part of this step. An engine that compares the ranks' calls compares the words
/// too, and names them in its errors. The words last as long as the program.
template <class C>
concept CanNameSteps = Communicator<C> && requires(C& c, std::string_view words) {
  c.name_step(words);
};

} // namespace sla

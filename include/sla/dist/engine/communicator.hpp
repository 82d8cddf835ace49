// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// any_communicator: the engine of a running program behind one interface on bytes, with checks and traffic counts.
// What an engine must offer is in dist/engine/capabilities.hpp, how it comes behind the interface in dist/engine/erase.hpp; calls on typed spans are in dist/engine/typed_collectives.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sla/core/error.hpp>
#include <sla/dist/engine/capabilities.hpp>
#include <sla/dist/engine/wire.hpp>

namespace sla {

/// What a communicator has carried for this rank so far.
struct traffic {
  std::array<std::uint64_t, collective_count> calls{}; ///< by kind of collective
  std::uint64_t collective_bytes = 0;                  ///< contributed by this rank
  std::uint64_t exchanges = 0;
  std::uint64_t messages = 0; ///< sent by this rank
  std::uint64_t message_bytes = 0;

  std::uint64_t count(collective what) const { return calls[static_cast<std::size_t>(what)]; }
  std::uint64_t collectives() const {
    std::uint64_t all = 0;
    for (std::uint64_t n : calls) all += n;
    return all;
  }
};

/// A communicator of any engine. It checks sizes and ranks, counts the traffic, and calls the engine. It belongs to one
/// rank. The members are described in dist/engine/capabilities.hpp.
/// Errors: shape_error and index_error for arguments that do not fit; unavailable_error if the engine lacks the
/// capability; rank_error if another rank fails.
class any_communicator {
public:
  any_communicator() = default;
  any_communicator(any_communicator const&) = delete;
  any_communicator& operator=(any_communicator const&) = delete;
  virtual ~any_communicator() = default;

  virtual int size() const = 0;
  virtual int rank() const = 0;
  virtual std::string engine() const = 0;

  /// The next collective is part of this step, which engines that compare the ranks' calls compare too. The words last as long
  /// as the program.
  void name_step(std::string_view words) { do_name_step(words); }
  void barrier() {
    count(collective::barrier, 0);
    do_barrier();
  }
  template <class = void>
  void broadcast(byte_span data, wire_type type, int root) {
    check_length("broadcast", data.size(), data.size() / size_of(type), type);
    check_rank("broadcast", root);
    count(collective::broadcast, root == rank() ? data.size() : 0);
    do_broadcast(data, type, root);
  }
  template <class = void>
  void all_reduce(byte_span data, wire_type type, monoid how) {
    check_foldable("all_reduce", type, how);
    check_length("all_reduce", data.size(), data.size() / size_of(type), type);
    count(collective::all_reduce, data.size());
    do_all_reduce(data, type, how == monoid::average ? monoid::sum : how);
    if (how == monoid::average) detail::divide_bytes(type, data.data(), data.size() / size_of(type), size());
  }
  template <class = void>
  void all_gather(const_byte_span mine, byte_span all, rank_counts n, wire_type type) {
    check_length("all_gather", all.size(), total("all_gather", n), type);
    check_length("all_gather", mine.size(), n[static_cast<std::size_t>(rank())], type);
    count(collective::all_gather, mine.size());
    do_all_gather(mine, all, n, type);
  }
  template <class = void>
  void reduce_scatter(const_byte_span all, byte_span mine, rank_counts n, wire_type type, monoid how) {
    check_foldable("reduce_scatter", type, how);
    check_length("reduce_scatter", all.size(), total("reduce_scatter", n), type);
    check_length("reduce_scatter", mine.size(), n[static_cast<std::size_t>(rank())], type);
    count(collective::reduce_scatter, all.size());
    do_reduce_scatter(all, mine, n, type, how == monoid::average ? monoid::sum : how);
    if (how == monoid::average) detail::divide_bytes(type, mine.data(), mine.size() / size_of(type), size());
  }
  template <class = void>
  void all_to_all(const_byte_span from, rank_counts send, byte_span into, rank_counts receive, wire_type type) {
    check_length("all_to_all", from.size(), total("all_to_all", send), type);
    check_length("all_to_all", into.size(), total("all_to_all", receive), type);
    count(collective::all_to_all, from.size());
    do_all_to_all(from, send, into, receive, type);
  }
  /// How many elements each rank has for this one, which has send[r] for rank r; elements of what size is the caller's affair.
  template <class = void>
  std::vector<std::size_t> discover(rank_counts send) {
    total("discover", send);
    count(collective::all_to_all, sizeof(std::uint64_t) * static_cast<std::size_t>(std::count_if(send.begin(), send.end(), [](std::size_t n) { return n != 0; })));
    return do_discover(send);
  }
  template <class = void>
  [[nodiscard]] std::unique_ptr<message_exchange> start(std::span<outgoing_message const> sends, std::span<incoming_message const> receives) {
    count_messages(sends.size(), check_messages("start", sends, receives));
    return do_start(sends, receives);
  }
  /// A collective that goes on while this rank works, by the engine itself; null where the engine has none, and messages serve. Collective.
  template <class = void>
  [[nodiscard]] std::unique_ptr<message_exchange> start_collective(collective what, const_byte_span from, byte_span into, rank_counts n, wire_type type, monoid how) {
    auto out = do_start_collective(what, from, into, n, type, how);
    if (out) count(what, what == collective::all_reduce ? into.size() : from.size());
    return out;
  }
  /// The same messages again and again: `begin(*e)` each time, then e->wait(). What can be prepared is prepared once.
  template <class = void>
  [[nodiscard]] std::unique_ptr<repeated_exchange> repeat(std::span<outgoing_message const> sends, std::span<incoming_message const> receives) {
    std::uint64_t const bytes = check_messages("repeat", sends, receives);
    auto out = do_repeat(sends, receives);
    out->messages = sends.size(), out->bytes = bytes;
    return out;
  }
  void begin(repeated_exchange& exchange) {
    count_messages(exchange.messages, exchange.bytes);
    exchange.begin();
  }
  template <class = void>
  std::shared_ptr<any_communicator> split(int color, int key) {
    if (color < 0)
      throw value_error(text("split: color ", color, " on rank ", rank(), " is negative; colors begin at 0"));
    count(collective::split, 0);
    return do_split(color, key);
  }
  /// The communicator of the `size` ranks that a step of `stride` connects: axis j of a row-major mesh of all ranks,
  /// where `stride` is the product of the sizes of the later axes. Every rank calls it.
  template <class = void>
  std::shared_ptr<any_communicator> axis(int size, int stride) {
    if (size < 1 || stride < 1 || this->size() % (size * stride) != 0)
      throw shape_error(text("axis: size ", size, " with stride ", stride, " does not divide the ", this->size(),
                             " ranks of engine ", engine(),
                             "; use a mesh whose sizes multiply to the number of ranks"));
    count(collective::split, 0);
    return do_axis(size, stride);
  }
  /// The communicator of these ranks, in this order, of which this one is a member: made when first asked for, and kept. The
  /// members call it, and give the same list. An engine without `part` makes it by a split, which all ranks call.
  template <class = void>
  any_communicator& part(std::vector<int> const& members) {
    for (kept_part const& known : parts_)
      if (known.members == members) return *known.communicator;
    auto const mine = std::find(members.begin(), members.end(), rank());
    if (mine == members.end()) throw index_error(text("part: rank ", rank(), " is not one of the ranks that it lists"));
    count(collective::split, 0);
    parts_.push_back({members, do_part(members, int(mine - members.begin()))});
    return *parts_.back().communicator;
  }

  traffic const& stats() const { return stats_; }
  void reset_stats() { stats_ = {}; }

protected:
  virtual void do_name_step(std::string_view) {}
  virtual void do_barrier() { missing("barrier"); }
  virtual void do_broadcast(byte_span, wire_type, int) { missing("broadcast"); }
  virtual void do_all_reduce(byte_span, wire_type, monoid) { missing("all_reduce"); }
  virtual void do_all_gather(const_byte_span, byte_span, rank_counts, wire_type) { missing("all_gather"); }
  virtual void do_reduce_scatter(const_byte_span, byte_span, rank_counts, wire_type, monoid) {
    missing("reduce_scatter");
  }
  virtual void do_all_to_all(const_byte_span, rank_counts, byte_span, rank_counts, wire_type) { missing("all_to_all"); }
  virtual std::vector<std::size_t> do_discover(rank_counts) { missing("all_to_all"); }
  virtual std::unique_ptr<message_exchange> do_start(std::span<outgoing_message const>, std::span<incoming_message const>) { missing("start"); }
  virtual std::unique_ptr<message_exchange> do_start_collective(collective, const_byte_span, byte_span, rank_counts, wire_type, monoid) { return nullptr; }
  virtual std::unique_ptr<repeated_exchange> do_repeat(std::span<outgoing_message const>, std::span<incoming_message const>) { missing("start"); }
  virtual std::shared_ptr<any_communicator> do_split(int, int) { missing("split"); }
  virtual std::shared_ptr<any_communicator> do_axis(int size, int stride) {
    int const place = rank() / stride % size;
    return do_split(rank() - place * stride, place);
  }

  virtual std::shared_ptr<any_communicator> do_part(std::vector<int> const& members, int place) {
    return do_split(members.front(), place);
  }

private:
  /// The bytes that are sent.
  template <class = void>
  std::uint64_t check_messages(std::string_view what, std::span<outgoing_message const> sends, std::span<incoming_message const> receives) const {
    std::uint64_t bytes = 0;
    for (incoming_message const& m : receives) check_rank(what, m.rank, " (receive)");
    for (outgoing_message const& m : sends) {
      check_rank(what, m.rank, " (send)");
      bytes += m.data.size();
    }
    return bytes;
  }
  void count_messages(std::uint64_t messages, std::uint64_t bytes) {
    stats_.messages += messages;
    stats_.message_bytes += bytes;
    stats_.exchanges += 1;
  }
  template <class = void>
  [[noreturn]] void missing(std::string_view what) const {
    throw unavailable_error(text("the engine ", engine(), " has no ", what,
                                 "; use an engine that has it, or give this one a member ", what,
                                 " (sla/dist/engine/capabilities.hpp says what it does)"));
  }
  void count(collective what, std::size_t contributed) {
    stats_.calls[static_cast<std::size_t>(what)] += 1;
    stats_.collective_bytes += contributed;
  }
  template <class = void>
  void check_length(std::string_view what, std::size_t have, std::size_t elements, wire_type type) const {
    if (have != elements * size_of(type))
      throw shape_error(text(what, " on rank ", rank(), ": a buffer of ", have, " bytes where ", elements, " x ",
                             name_of(type), " need ", elements * size_of(type)));
  }
  template <class = void>
  void check_rank(std::string_view what, int other, std::string_view which = {}) const {
    if (other < 0 || other >= size())
      throw index_error(text(what, which, " on rank ", rank(), ": rank ", other, " is not one of 0 to ", size() - 1));
  }
  template <class = void>
  std::size_t total(std::string_view what, rank_counts n) const {
    if (n.size() != static_cast<std::size_t>(size()))
      throw shape_error(
          text(what, " on rank ", rank(), ": ", n.size(), " counts for ", size(), " ranks; give one each"));
    std::size_t sum = 0;
    for (std::size_t k : n) sum += k;
    return sum;
  }
  template <class = void>
  void check_foldable(std::string_view what, wire_type type, monoid how) const {
    bool const real = type == wire_type::float32 || type == wire_type::float64 || type == wire_type::bfloat16;
    if (type == wire_type::byte || how == monoid::none || (how == monoid::average && !real))
      throw value_error(text(what, " on rank ", rank(), ": the ", name_of(how), " of elements ", name_of(type),
                             " is not defined; fold numbers, and take averages of floating-point numbers"));
  }

  traffic stats_;
  struct kept_part {
    std::vector<int> members;
    std::shared_ptr<any_communicator> communicator;
  };
  std::vector<kept_part> parts_; // few: one for each group that is named
};

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The engine `fake`: one rank of a world of any size, alone. It moves no data, so that types, schedules and memory of
// 8192 ranks can be looked at without them. Engines that compute are in dist/self, dist/threads and adapter/mpi.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string_view>

#include <sla/core/error.hpp>
#include <sla/dist/engine/erase.hpp>

namespace sla {

/// Rank `me` of `ranks`, without the others. A collective leaves this rank's part of the result where it would be,
/// zeros where the others' parts would be, and the values of a reduction or broadcast as they are; messages arrive as
/// zeros. `split` needs the others; a mesh uses `axis`, which does not.
class fake {
public:
  template <class = void>
  fake(int ranks, int me) : ranks_(ranks), me_(me) {
    if (ranks < 1 || me < 0 || me >= ranks)
      throw index_error(
          text("fake(", ranks, ", ", me, "): give the number of ranks, at least 1, and one of 0 to ranks - 1"));
  }
  int size() const { return ranks_; }
  int rank() const { return me_; }
  std::string_view engine() const { return "fake"; }

  void barrier() {}
  void broadcast(byte_span, wire_type, int) {}
  void all_reduce(byte_span, wire_type, monoid) {}
  void all_gather(const_byte_span mine, byte_span all, rank_counts n, wire_type type) {
    place(mine, all, detail::offset_of(n, me_, type));
  }
  void reduce_scatter(const_byte_span all, byte_span mine, rank_counts n, wire_type type, monoid) {
    detail::copy_bytes(mine.data(), all.data() + detail::offset_of(n, me_, type), mine.size());
  }
  template <class = void>
  void all_to_all(const_byte_span from, rank_counts send, byte_span into, rank_counts receive, wire_type type) {
    auto const me = static_cast<std::size_t>(me_);
    if (send[me] != receive[me])
      throw rank_error(
          me_, text("all_to_all: rank ", me_, " sends ", send[me], " elements to itself and expects ", receive[me]));
    place(from.subspan(detail::offset_of(send, me_, type), send[me] * size_of(type)), into,
          detail::offset_of(receive, me_, type));
  }
  template <class = void>
  std::unique_ptr<message_exchange> start(std::span<outgoing_message const>, std::span<incoming_message const> receives) {
    for (incoming_message const& m : receives) std::fill(m.data.begin(), m.data.end(), std::byte{0});
    return std::unique_ptr<message_exchange>(new detail::finished_exchange);
  }
  fake axis(int size, int stride) { return {size, me_ / stride % size}; }
  fake part(std::span<int const> members, int place) { return {static_cast<int>(members.size()), place}; }

private:
  template <class = void>
  static void place(const_byte_span part, byte_span whole, std::size_t offset) {
    std::fill(whole.begin(), whole.end(), std::byte{0});
    detail::copy_bytes(whole.data() + offset, part.data(), part.size());
  }

  int ranks_, me_;
};

} // namespace sla

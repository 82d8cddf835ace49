// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The engine of one rank, `self`: every collective is a copy. A program on a mesh of one is the serial program.
// The engine that pretends to be one of many ranks is in dist/engine/fake.hpp.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <sla/dist/engine/erase.hpp>

namespace sla {

/// One rank. A message to rank 0 is received by rank 0, in the order sent.
class self {
public:
  int size() const { return 1; }
  int rank() const { return 0; }
  std::string_view engine() const { return "self"; }

  void barrier() {}
  void broadcast(byte_span, wire_type, int) {}
  void all_reduce(byte_span, wire_type, monoid) {}
  void all_gather(const_byte_span mine, byte_span all, rank_counts, wire_type) { copy(mine, all); }
  void reduce_scatter(const_byte_span all, byte_span mine, rank_counts, wire_type, monoid) { copy(all, mine); }
  template <class = void>
  void all_to_all(const_byte_span from, rank_counts send, byte_span into, rank_counts receive, wire_type) {
    if (send[0] != receive[0])
      throw rank_error(0, text("all_to_all: rank 0 sends ", send[0], " elements to itself and expects ", receive[0]));
    copy(from, into);
  }
  template <class = void>
  std::unique_ptr<message_exchange> start(std::span<outgoing_message const> sends, std::span<incoming_message const> receives) {
    for (outgoing_message const& m : sends) post_->emplace_back(m.data.data(), m.data.data() + m.data.size());
    for (incoming_message const& m : receives) {
      if (post_->empty()) throw rank_error(0, "start: rank 0 expects a message from itself that it has not sent");
      std::vector<std::byte> const& first = post_->front();
      if (first.size() != m.data.size())
        throw rank_error(0, text("start: rank 0 sent itself ", first.size(), " bytes and expects ", m.data.size()));
      detail::copy_bytes(m.data.data(), first.data(), first.size());
      post_->erase(post_->begin());
    }
    return std::unique_ptr<message_exchange>(new detail::finished_exchange);
  }
  self split(int, int) { return {}; }

private:
  static void copy(const_byte_span from, byte_span into) { detail::copy_bytes(into.data(), from.data(), from.size()); }

  using post = std::vector<std::vector<std::byte>>;
  std::shared_ptr<post> post_ = std::make_shared<post>();
};

} // namespace sla

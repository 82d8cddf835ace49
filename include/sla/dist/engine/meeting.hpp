// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The threads of one communicator: what each has come to do, whether they agree, and their mailboxes. Data only.
// Waiting and failing are in dist/engine/rendezvous.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sla/dist/engine/capabilities.hpp>

namespace sla::detail {

template <class Clock>
struct message {
  std::uint64_t number;
  std::vector<std::byte> data;
  typename Clock::time_point ready;
};

/// From one rank to one other: numbered, since a rank may wait for a later exchange first.
template <class Clock>
struct mailbox {
  using message = detail::message<Clock>;
  std::vector<message> messages; // in no order: those that wait are few
  std::uint64_t sent = 0, expected = 0;
  std::vector<std::vector<std::byte>> spare;

  /// The message of this number; null, if it is not there.
  message* find(std::uint64_t number) {
    for (message& m : messages)
      if (m.number == number) return &m;
    return nullptr;
  }
  std::vector<std::byte> take(message& m) {
    auto data = std::move(m.data);
    if (&m != &messages.back()) m = std::move(messages.back());
    messages.pop_back();
    return data;
  }
  std::vector<std::byte> take_spare() {
    if (spare.empty()) return {};
    auto buffer = std::move(spare.back());
    spare.pop_back();
    return buffer;
  }
};

/// One rank's part in a collective.
struct joint_call {
  collective what = collective::barrier;
  wire_type type = wire_type::byte;
  monoid how = monoid::none;
  int root = 0, color = 0, key = 0;
  std::size_t count = 0; // elements
  std::byte const* from = nullptr;
  std::byte* into = nullptr;
  rank_counts send{}, receive{};
  std::string_view step{}; // that it is part of
};

template <class Clock>
struct meeting {
  using mailbox = detail::mailbox<Clock>;
  static constexpr std::size_t kept_bytes = 128;

  /// What a rank leaves for the others. Two sets alternate: the values of one round are read while the next one begins.
  struct slot {
    joint_call call;
    std::array<std::byte, kept_bytes> kept{};
    std::shared_ptr<meeting> part;
    int part_rank = 0;
  };

  explicit meeting(std::vector<int> ranks)
      : members(std::move(ranks)), here(members.size()), boxes(members.size() * members.size()) {
    for (auto& set : slots) set.resize(members.size());
  }

  int size() const { return static_cast<int>(members.size()); }
  slot& slot_of(int member, std::uint64_t round) { return slots[round % 2][static_cast<std::size_t>(member)]; }
  mailbox& box(int from, int to) {
    return boxes[static_cast<std::size_t>(from) * members.size() + static_cast<std::size_t>(to)];
  }

  std::string call_of(int member, std::uint64_t round) {
    joint_call const& c = slot_of(member, round).call;
    std::string out = c.step.empty() ? std::string() : text(c.step, ", by ");
    out += name_of(c.what);
    switch (c.what) {
    case collective::barrier:
    case collective::split:
      return out;
    case collective::broadcast:
      return out + text("(root ", c.root, ", ", c.count, " x ", name_of(c.type), ")");
    case collective::all_reduce:
      return out + text("(", name_of(c.how), ", ", c.count, " x ", name_of(c.type), ")");
    case collective::reduce_scatter:
      out += text("(", name_of(c.how), ", ");
      break;
    case collective::all_gather:
    case collective::all_to_all:
      out += "(";
      break;
    }
    for (std::size_t r = 0; r < (std::min)(c.send.size(), std::size_t{8}); ++r) out += text(r ? "+" : "", c.send[r]);
    return out + text(c.send.size() > 8 ? "+... x " : " x ", name_of(c.type), ")");
  }

  /// The rank to look at and what differs, when all have arrived; no text if they agree.
  std::pair<int, std::string> disagreement() {
    std::uint64_t const round = begun.load();
    joint_call const& first = slot_of(0, round).call;
    for (int m = 1; m < size(); ++m) {
      joint_call const& c = slot_of(m, round).call;
      bool const same = c.what == first.what && c.type == first.type && c.how == first.how && c.root == first.root &&
                        c.count == first.count && c.step == first.step &&
                        (c.what == collective::all_to_all ||
                         std::equal(c.send.begin(), c.send.end(), first.send.begin(), first.send.end()));
      if (!same)
        return {name(m),
                text("the ranks disagree: rank ", name(0), " called ", call_of(0, round), " and rank ", name(m),
                     " called ", call_of(m, round), "; all ranks make the same calls in the same order")};
    }
    if (first.what != collective::all_to_all) return {};
    for (int from = 0; from < size(); ++from)
      for (int to = 0; to < size(); ++to) {
        std::size_t const given = slot_of(from, round).call.send[static_cast<std::size_t>(to)];
        std::size_t const taken = slot_of(to, round).call.receive[static_cast<std::size_t>(from)];
        if (given != taken)
          return {name(to), text("all_to_all: rank ", name(from), " sends ", given, " elements to rank ", name(to),
                                 ", which expects ", taken)};
      }
    return {};
  }

  /// After a split: the meetings of the ranks that gave the same color, in the order of key, then of rank.
  void form_parts() {
    std::uint64_t const round = begun.load();
    if (slot_of(0, round).call.what != collective::split) return;
    for (int first = 0; first < size(); ++first) {
      if (slot_of(first, round).part) continue; // with a rank before it
      std::vector<int> ranks;
      for (int m = first; m < size(); ++m) {
        joint_call const& c = slot_of(m, round).call;
        if (c.color != slot_of(first, round).call.color) continue;
        std::size_t place = ranks.size();
        while (place > 0 && slot_of(ranks[place - 1], round).call.key > c.key) --place;
        ranks.insert(ranks.begin() + static_cast<std::ptrdiff_t>(place), m);
      }
      std::vector<int> names;
      for (int m : ranks) names.push_back(name(m));
      auto const part = std::make_shared<meeting>(names);
      for (std::size_t place = 0; place < ranks.size(); ++place) {
        slot& mine = slot_of(ranks[place], round);
        mine.part = part;
        mine.part_rank = static_cast<int>(place);
      }
    }
  }

  std::vector<int> const members; // by their ranks in the whole program
  std::vector<char> here;
  int arrived = 0, departed = 0;
  std::atomic<std::uint64_t> begun{0}, ended{0};
  std::condition_variable over;
  std::array<std::vector<slot>, 2> slots;
  std::vector<mailbox> boxes;

private:
  int name(int member) const { return members[static_cast<std::size_t>(member)]; }
};

} // namespace sla::detail

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// erase(world): any engine as the any_communicator of dist/engine/communicator.hpp. A mesh calls it for the world that it is made from.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <sla/dist/engine/communicator.hpp>

namespace sla {

template <class World>
std::shared_ptr<any_communicator> erase(World& world);

namespace detail {

/// Messages that are started anew in each round, by an engine that prepares none.
template <class World>
class restarted_exchange final : public repeated_exchange {
public:
  restarted_exchange(World& world, std::span<outgoing_message const> sends, std::span<incoming_message const> receives)
      : world_(world), sends_(sends.data(), sends.data() + sends.size()), receives_(receives.data(), receives.data() + receives.size()) {}
  void begin() override { round_ = world_.start(sends_, receives_); }
  void wait() override {
    if (round_) std::exchange(round_, nullptr)->wait();
  }
  bool done() override { return !round_ || round_->done(); }
  bool advance() override { return !round_ || round_->advance(); }

private:
  World& world_;
  std::vector<dependent_t<outgoing_message, World>> sends_;
  std::vector<dependent_t<incoming_message, World>> receives_;
  std::unique_ptr<dependent_t<message_exchange, World>> round_;
};

/// any_communicator over an engine. A handle is copied; an engine that cannot be copied must outlive what is made from
/// it.
template <class World>
class erased_communicator final : public any_communicator {
public:
  explicit erased_communicator(World& world) : held_(world) {}
  int size() const override { return static_cast<int>(world().size()); }
  int rank() const override { return static_cast<int>(world().rank()); }
  std::string engine() const override { return std::string(std::string_view(world().engine())); }

private:
  using base = any_communicator; // its defaults throw: the engine lacks the capability

  void do_name_step(std::string_view words) override {
    if constexpr (CanNameSteps<World>) world().name_step(words);
  }
  void do_barrier() override {
    if constexpr (CanBarrier<World>)
      world().barrier();
    else
      base::do_barrier();
  }
  void do_broadcast(byte_span data, wire_type type, int root) override {
    if constexpr (CanBroadcast<World>)
      world().broadcast(data, type, root);
    else
      base::do_broadcast(data, type, root);
  }
  void do_all_reduce(byte_span data, wire_type type, monoid how) override {
    if constexpr (CanAllReduce<World>)
      world().all_reduce(data, type, how);
    else
      base::do_all_reduce(data, type, how);
  }
  void do_all_gather(const_byte_span mine, byte_span all, rank_counts n, wire_type type) override {
    if constexpr (CanAllGather<World>)
      world().all_gather(mine, all, n, type);
    else
      base::do_all_gather(mine, all, n, type);
  }
  void do_reduce_scatter(const_byte_span all, byte_span mine, rank_counts n, wire_type type, monoid how) override {
    if constexpr (CanReduceScatter<World>)
      world().reduce_scatter(all, mine, n, type, how);
    else
      base::do_reduce_scatter(all, mine, n, type, how);
  }
  void do_all_to_all(const_byte_span from, rank_counts send, byte_span into, rank_counts receive,
                     wire_type type) override {
    if constexpr (CanAllToAll<World>)
      world().all_to_all(from, send, into, receive, type);
    else
      base::do_all_to_all(from, send, into, receive, type);
  }
  std::vector<std::size_t> do_discover(rank_counts send) override {
    if constexpr (CanDiscover<World>) {
      return world().discover(send);
    } else {
      std::vector<std::uint64_t> const told(send.begin(), send.end());
      std::vector<std::uint64_t> heard(told.size());
      std::vector<std::size_t> const one(told.size(), 1);
      do_all_to_all(std::as_bytes(std::span(told)), one, std::as_writable_bytes(std::span(heard)), one, wire_type::uint64);
      return {heard.begin(), heard.end()};
    }
  }
  std::unique_ptr<message_exchange> do_start(std::span<outgoing_message const> sends, std::span<incoming_message const> receives) override {
    if constexpr (CanExchange<World>)
      return world().start(sends, receives);
    else
      return base::do_start(sends, receives);
  }
  std::unique_ptr<message_exchange> do_start_collective(collective what, const_byte_span from, byte_span into, rank_counts n, wire_type type,
                                                        monoid how) override {
    if constexpr (CanStartCollectives<World>)
      return world().start_collective(what, from, into, n, type, how);
    else
      return base::do_start_collective(what, from, into, n, type, how);
  }
  std::unique_ptr<repeated_exchange> do_repeat(std::span<outgoing_message const> sends, std::span<incoming_message const> receives) override {
    if constexpr (CanRepeat<World>)
      return world().repeat(sends, receives);
    else if constexpr (CanExchange<World>)
      return std::make_unique<restarted_exchange<World>>(world(), sends, receives);
    else
      return base::do_repeat(sends, receives);
  }
  std::shared_ptr<any_communicator> do_split(int color, int key) override {
    if constexpr (CanSplit<World>) {
      auto part = world().split(color, key);
      return sla::erase(part);
    } else {
      return base::do_split(color, key);
    }
  }
  std::shared_ptr<any_communicator> do_axis(int size, int stride) override {
    if constexpr (CanAxis<World>) {
      auto part = world().axis(size, stride);
      return sla::erase(part);
    } else {
      return base::do_axis(size, stride);
    }
  }

  std::shared_ptr<any_communicator> do_part(std::vector<int> const& members, int place) override {
    if constexpr (CanPart<World>) {
      auto part = world().part(members, place);
      return sla::erase(part);
    } else {
      return base::do_part(members, place);
    }
  }

  World& world() const { return held_; }
  mutable std::conditional_t<std::copy_constructible<World>, World, std::reference_wrapper<World>> held_;
};

} // namespace detail

/// The engine behind one interface. A mesh calls this for the world that it is made from.
/// Law: World is a Communicator.
template <class World>
std::shared_ptr<any_communicator> erase(World& world) {
  constexpr bool has_size = requires { { world.size() } -> std::convertible_to<int>; }, has_rank = requires { { world.rank() } -> std::convertible_to<int>; };
  static_assert(has_size, "sla: a world must model Communicator, and has no member `size()`, the number of ranks (sla/dist/engine/capabilities.hpp); use self, fake, the argument of threads::run, or "
                          "mpi::environment::world()");
  static_assert(!has_size || has_rank, "sla: a world must model Communicator, and has no member `rank()`, the number of this rank (sla/dist/engine/capabilities.hpp); use self, fake, the argument of "
                                       "threads::run, or mpi::environment::world()");
  static_assert(!has_size || !has_rank || Communicator<World>, "sla: a world must model Communicator, and has no member `engine()`, its name, which errors tell (sla/dist/engine/capabilities.hpp); use self, "
                                                               "fake, the argument of threads::run, or mpi::environment::world()");
  if constexpr (Communicator<World>)
    return std::make_shared<detail::erased_communicator<World>>(world);
  else
    return nullptr;
}
/// What is erased already.
inline std::shared_ptr<any_communicator> erase(std::shared_ptr<any_communicator> const& communicator) {
  return communicator;
}

} // namespace sla

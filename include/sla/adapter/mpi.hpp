// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The engine for many machines, on MPI: `mpi::environment mpi(argc, argv)`, then `mpi.world()` is the world of a mesh.
// What it is made of is in adapter/mpi/, what an engine must do in dist/engine/capabilities.hpp; its oracle is dist/engine/threads.hpp.
#pragma once

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <numeric>
#include <span>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <sla/adapter/mpi/consensus.hpp>
#include <sla/adapter/mpi/exchange.hpp>
#include <sla/adapter/mpi/group.hpp>
#include <sla/core/error.hpp>
#include <sla/dist/engine/erase.hpp>

namespace sla {
namespace mpi {

using sla::erase; // found by argument-dependent lookup where a mesh is made

/// The ranks of an MPI communicator: a handle. The few values that travel with a comparison of calls are folded in the order of the ranks, and
/// sent to all. Other all_reduces are MPI's, which wants identical results on all ranks, in an order of its own: `want_equal_bits` is for
/// ranks on unequal machines. More elements than MPI's int counts travel in pieces.
class world {
public:
  /// The ranks of `comm`, for programs that start MPI themselves. All of them call it; traffic is kept apart from
  /// comm's.
  explicit world(MPI_Comm comm) {
    MPI_Comm own = MPI_COMM_NULL;
    detail::mpi_check(MPI_Comm_dup(comm, &own), "MPI_Comm_dup");
    group_ = std::make_shared<detail::mpi_group>(own, std::make_shared<detail::mpi_watch>(comm));
  }

  int size() const { return group_->size; }
  int rank() const { return group_->rank; }
  std::string_view engine() const { return "mpi"; }
  /// The largest number of elements in one call of MPI, on every rank: INT_MAX unless set lower.
  void limit_calls_to(std::size_t elements) {
    group_->limit = (std::clamp)(elements, std::size_t{1}, std::size_t{INT_MAX});
  }

  /// Every all_reduce is a reduce, whose result is sent to all: equal bits on all ranks also where their processors round in other ways.
  /// Call it on all ranks, before you make a mesh. Cost: of a reduce and a broadcast.
  void want_equal_bits(bool wanted = true) { group_->equal_bits = wanted; }

  /// The calls of all ranks are compared: those that differ are an error on every rank, which names two of them. A rank that waits for
  /// `patience`, and for 10 ns a byte of the messages it has under way, asks the one that it waits for: where that has reached the
  /// end of its environment, or ranks wait for each other in a circle, it says so and ends all; for a rank that computes it waits
  /// on, and says so after a minute. Cost: none for an all_reduce of few values, whose messages carry the call with them; for other
  /// collectives one such all_reduce before each.
  /// compare_calls(0s) switches both off, the comparison and the watch for deadlocks: calls that differ are undefined, as in MPI,
  /// and a rank may wait for ever. Call it on all ranks, with the same value, before you make a mesh.
  void compare_calls(std::chrono::nanoseconds patience = std::chrono::seconds(2)) { group_->patience = patience; }
  /// The next collective is part of this step: the comparison tells steps apart, and its words name them.
  void name_step(std::string_view words) { group_->step = words; }

  void barrier() {
    detail::compare_calls(*group_, {collective::barrier});
    detail::mpi_check(MPI_Barrier(group_->comm), "MPI_Barrier");
  }

  void broadcast(byte_span data, wire_type type, int root) {
    std::size_t const count = data.size() / size_of(type);
    detail::compare_calls(*group_, {collective::broadcast, type, monoid::none, root, {&count, 1}});
    send_to_all(data, type, root);
  }
  void all_reduce(byte_span data, wire_type type, monoid how) {
    std::size_t const count = data.size() / size_of(type);
    detail::mpi_call call{collective::all_reduce, type, how, 0, {&count, 1}};
    bool const few = data.size() <= detail::mpi_group::room && count <= group_->limit;
    if (few && group_->patience != std::chrono::nanoseconds::zero()) {
      call.step = std::exchange(group_->step, {});
      return detail::meet(*group_, call, data, [&](std::byte* into, std::byte const* from) { detail::fold_bytes(type, how, into, from, count); });
    }
    detail::compare_calls(*group_, call);
    if (!group_->equal_bits) return reduce_on_all(data, type, how);
    reduce_to(0, data, data, type, how);
    send_to_all(data, type, 0);
  }
  void all_gather(const_byte_span mine, byte_span all, rank_counts n, wire_type type) {
    detail::compare_calls(*group_, {collective::all_gather, type, monoid::none, 0, n});
    if (all.size() / size_of(type) <= group_->limit) {
      auto const [count, first] = as_int(n);
      detail::mpi_check(MPI_Allgatherv(mine.data(), count[at(rank())], detail::mpi_type(type), all.data(), count.data(),
                                       first.data(), detail::mpi_type(type), group_->comm),
                        "MPI_Allgatherv");
      return;
    }
    detail::copy_bytes(all.data() + detail::offset_of(n, rank(), type), mine.data(), mine.size());
    for (int r = 0; r < size(); ++r) send_to_all(piece(all, n, r, type), type, r);
  }
  void reduce_scatter(const_byte_span all, byte_span mine, rank_counts n, wire_type type, monoid how) {
    detail::compare_calls(*group_, {collective::reduce_scatter, type, how, 0, n});
    if (all.size() / size_of(type) <= group_->limit) {
      auto const count = as_int(n).first;
      detail::mpi_check(
          MPI_Reduce_scatter(all.data(), mine.data(), count.data(), detail::mpi_type(type), fold(how), group_->comm),
          "MPI_Reduce_scatter");
      return;
    }
    for (int r = 0; r < size(); ++r) reduce_to(r, piece(all, n, r, type), r == rank() ? mine : byte_span{}, type, how);
  }
  void all_to_all(const_byte_span from, rank_counts send, byte_span into, rank_counts receive, wire_type type) {
    detail::compare_calls(*group_, {collective::all_to_all, type});
    // Messages of a tag of their own, to the ranks that are sent anything: what a rank sends takes no room or time for the others.
    std::vector<outgoing_message> sends;
    std::vector<incoming_message> receives;
    for (int r = 0; r < size(); ++r) {
      auto const out = from.first(send[at(r)] * size_of(type));
      auto const in = into.first(receive[at(r)] * size_of(type));
      from = from.subspan(out.size()), into = into.subspan(in.size());
      if (r == rank()) {
        if (out.size() != in.size()) throw rank_error(r, text("all_to_all: rank ", r, " sends ", out.size(), " bytes to itself and expects ", in.size()));
        detail::copy_bytes(in.data(), out.data(), in.size());
        continue;
      }
      if (!out.empty()) sends.push_back({r, out});
      if (!in.empty()) receives.push_back({r, in});
    }
    detail::mpi_exchange(group_, sends, receives, 2).wait();
  }
  std::vector<std::size_t> discover(rank_counts send) {
    detail::compare_calls(*group_, {collective::all_to_all});
    return detail::mpi_discover(*group_, send);
  }
  std::unique_ptr<message_exchange> start(std::span<outgoing_message const> sends, std::span<incoming_message const> receives) {
    return std::make_unique<detail::mpi_exchange>(group_, sends, receives);
  }
  /// The calls of all ranks are compared before, where they are: then this waits until all have come, and what is under way is the data.
  std::unique_ptr<message_exchange> start_collective(collective what, const_byte_span from, byte_span into, rank_counts n, wire_type type, monoid how) {
    bool const reduces = what == collective::all_reduce;
    std::size_t const whole = (std::max)(from.size(), into.size()) / size_of(type);
    if ((group_->equal_bits && how != monoid::none) || (!reduces && whole > group_->limit)) return nullptr;
    detail::compare_calls(*group_, {what, type, how, 0, n});
    auto out = std::make_unique<detail::mpi_collective>(group_, name_of(what));
    MPI_Datatype const element = detail::mpi_type(type);
    if (reduces) {
      in_pieces(into, type, [&](std::byte* piece, int count) {
        detail::mpi_check(MPI_Iallreduce(MPI_IN_PLACE, piece, count, element, fold_on_all(type, how), group_->comm, out->next()), "MPI_Iallreduce");
      });
      return out;
    }
    std::tie(out->counts, out->firsts) = as_int(n);
    if (what == collective::all_gather)
      detail::mpi_check(MPI_Iallgatherv(from.data(), out->counts[at(rank())], element, into.data(), out->counts.data(), out->firsts.data(), element, group_->comm,
                                        out->next()),
                        "MPI_Iallgatherv");
    else
      detail::mpi_check(MPI_Ireduce_scatter(from.data(), into.data(), out->counts.data(), element, fold(how), group_->comm, out->next()), "MPI_Ireduce_scatter");
    return out;
  }
  std::unique_ptr<repeated_exchange> repeat(std::span<outgoing_message const> sends, std::span<incoming_message const> receives) {
    return std::make_unique<detail::mpi_repeated>(group_, sends, receives);
  }
  world split(int color, int key) {
    detail::compare_calls(*group_, {collective::split});
    MPI_Comm own = MPI_COMM_NULL;
    detail::mpi_check(MPI_Comm_split(group_->comm, color, key, &own), "MPI_Comm_split");
    return like_this(own);
  }
  world part(std::span<int const> members, int) {
    MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
    MPI_Comm own = MPI_COMM_NULL;
    detail::mpi_check(MPI_Comm_group(group_->comm, &all), "MPI_Comm_group");
    detail::mpi_check(MPI_Group_incl(all, static_cast<int>(members.size()), members.data(), &some), "MPI_Group_incl");
    detail::mpi_check(MPI_Comm_create_group(group_->comm, some, 0, &own), "MPI_Comm_create_group");
    MPI_Group_free(&some);
    MPI_Group_free(&all);
    return like_this(own);
  }

private:
  friend class environment;

  world like_this(MPI_Comm own) const {
    world part = *this;
    part.group_ = std::make_shared<detail::mpi_group>(own, group_->watch);
    part.group_->limit = group_->limit;
    part.group_->equal_bits = group_->equal_bits;
    part.group_->patience = group_->patience;
    return part;
  }
  static std::size_t at(int r) { return static_cast<std::size_t>(r); }
  MPI_Op fold(monoid how) const { return group_->folds[static_cast<std::size_t>(how)]; }

  template <class Byte>
  static std::span<Byte> piece(std::span<Byte> all, rank_counts n, int r, wire_type type) {
    return all.subspan(detail::offset_of(n, r, type), n[at(r)] * size_of(type));
  }
  static std::pair<detail::kept_list<int>, detail::kept_list<int>> as_int(rank_counts n) {
    detail::kept_list<int> counts(n.begin(), n.end()), firsts(n.size());
    std::exclusive_scan(counts.begin(), counts.end(), firsts.begin(), 0);
    return {std::move(counts), std::move(firsts)};
  }
  template <class F>
  void in_pieces(byte_span data, wire_type type, F f) const {
    std::size_t const step = group_->limit * size_of(type);
    for (std::size_t at = 0; at < data.size(); at += step)
      f(data.data() + at, static_cast<int>((std::min)(step, data.size() - at) / size_of(type)));
  }
  void send_to_all(byte_span data, wire_type type, int root) {
    in_pieces(data, type, [&](std::byte* piece, int count) {
      detail::mpi_check(MPI_Bcast(piece, count, detail::mpi_type(type), root, group_->comm), "MPI_Bcast");
    });
  }
  /// Sums and products by MPI's own operations, which networks may compute themselves; what these leave open, as a NaN in a minimum, by ours.
  MPI_Op fold_on_all(wire_type type, monoid how) const {
    bool const theirs = type != wire_type::bfloat16 && (how == monoid::sum || how == monoid::product);
    return !theirs ? fold(how) : how == monoid::sum ? MPI_SUM : MPI_PROD;
  }
  void reduce_on_all(byte_span data, wire_type type, monoid how) {
    in_pieces(data, type, [&](std::byte* piece, int count) {
      detail::mpi_check(MPI_Allreduce(MPI_IN_PLACE, piece, count, detail::mpi_type(type), fold_on_all(type, how), group_->comm), "MPI_Allreduce");
    });
  }
  /// The fold of all `from` into the root's `into`; they may be the same.
  void reduce_to(int root, const_byte_span from, byte_span into, wire_type type, monoid how) {
    std::size_t const step = group_->limit * size_of(type);
    for (std::size_t at = 0; at < from.size(); at += step) {
      int const count = static_cast<int>((std::min)(step, from.size() - at) / size_of(type));
      bool const mine = root == rank(), in_place = mine && into.data() == from.data();
      detail::mpi_check(MPI_Reduce(in_place ? MPI_IN_PLACE : from.data() + at, mine ? into.data() + at : nullptr, count,
                                   detail::mpi_type(type), fold(how), root, group_->comm),
                        "MPI_Reduce");
    }
  }

  std::shared_ptr<detail::mpi_group> group_;
  detail::unwinding_witness witness_;
};

/// MPI for the length of main: starts it (unless it runs already) and ends it, for the thread that made this (MPI_THREAD_FUNNELED), whose
/// loops may be shared by others. A rank that fails ends all ranks:
/// - an exception that leaves main, or any thread: its message with the rank on stderr, then MPI_Abort;
/// - one that leaves the environment and is caught: MPI_Abort when the program ends, so that its handler can speak
/// first;
/// - one caught inside that destroyed a mesh: MPI_Abort, unless the other ranks come to their end too within three
/// seconds;
/// - a rank that reaches the end of its environment while another waits for it: MPI_Abort by that one, which names it
/// (world::compare_calls).
/// The last two need an environment that started MPI. A program that called MPI_Init itself calls MPI_Finalize itself too: there a
/// rank that has reached the end answers nobody, and others may wait for it for ever.
class environment {
public:
  environment(int& argc, char**& argv) {
    int started = 0, level = 0;
    MPI_Initialized(&started);
    if (started == 0) {
      detail::mpi_check(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level), "MPI_Init_thread");
      ours_ = true;
    }
    world_ = std::make_unique<mpi::world>(MPI_COMM_WORLD);
    watch_ = world_->group_->watch;
    previous_ = std::set_terminate(&on_terminate);
  }
  environment(environment const&) = delete;
  environment& operator=(environment const&) = delete;
  ~environment() {
    if (std::uncaught_exceptions() > at_birth_) {
      std::fprintf(stderr, "sla: rank %d of %d: an exception ends it; all ranks end with it\n", world_->rank(),
                   world_->size());
      std::atexit(+[] { MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE); });
      return;
    }
    world_.reset();
    if (ours_) {
      take_leave();
      watch_.reset();
      MPI_Finalize();
    }
    std::set_terminate(previous_);
  }

  mpi::world& world() { return *world_; }

private:
  [[noreturn]] static void on_terminate() {
    try {
      if (auto const e = std::current_exception()) std::rethrow_exception(e);
    } catch (std::exception const& e) {
      detail::mpi_end_all(e.what(), detail::rank_named_by(std::current_exception()) >= 0);
    } catch (...) {
      detail::mpi_end_all("it threw what is not a std::exception");
    }
    detail::mpi_end_all("std::terminate was called");
  }
  /// MPI_Finalize waits for all ranks. Those that wait for this one hear that it has left; a rank that knows of an exception does
  /// not wait for ever.
  void take_leave() const {
    using clock = std::chrono::steady_clock;
    MPI_Request all_here = MPI_REQUEST_NULL;
    MPI_Ibarrier(MPI_COMM_WORLD, &all_here);
    auto const begin = clock::now();
    for (int here = 0; MPI_Test(&all_here, &here, MPI_STATUS_IGNORE) == MPI_SUCCESS && here == 0;) {
      if (detail::unwinding_witness::saw_one() && clock::now() - begin > std::chrono::seconds(3))
        detail::mpi_end_all("an exception ended its work, and the other ranks have not ended within 3 s");
      watch_->answer_that_it_left();
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

  bool ours_ = false;
  int at_birth_ = std::uncaught_exceptions();
  std::unique_ptr<mpi::world> world_;
  std::shared_ptr<detail::mpi_watch> watch_;
  std::terminate_handler previous_ = nullptr;
};

} // namespace mpi
} // namespace sla

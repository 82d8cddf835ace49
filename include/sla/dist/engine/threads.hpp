// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The engine whose ranks are threads of this process, `threads::run(4, f)`: the oracle of the other engines.
// Where the threads meet, and how a failing one ends the others, is in dist/engine/rendezvous.hpp.
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <sla/core/error.hpp>
#include <sla/dist/engine/erase.hpp>
#include <sla/dist/engine/rendezvous.hpp>
#include <sla/solve/seam/rule.hpp>
#include <sla/tensor/storage/parallel.hpp>

namespace sla::threads {

using sla::erase; // found by argument-dependent lookup where a mesh is made

/// Options of `threads::run`.
struct options {
  std::chrono::nanoseconds delay{0};   ///< a message sent at t can be received at t + delay
  std::chrono::nanoseconds timeout{0}; ///< the longest wait for another rank; 0 waits for as long as it computes
  int threads_per_rank = 1;            ///< host threads that each rank's loops use, whatever the caller set
};

/// One rank of `threads::run`: a handle, for one thread. Folds are made in the order of the ranks, so that they are
/// bitwise equal on all ranks and from run to run.
/// Cost: an all_reduce of up to 16 doubles is one meeting of all ranks; any other collective is two, and copies each byte once.
/// Messages are copied twice.
/// Errors: rank_error on every rank if one throws, returns early, makes another call, or if all wait for each other.
template <class Clock>
class basic_world {
public:
  basic_world(std::shared_ptr<detail::rendezvous<Clock>> job, std::shared_ptr<detail::meeting<Clock>> group, int rank)
      : job_(std::move(job)), group_(std::move(group)), rank_(rank) {}

  int size() const { return group_->size(); }
  int rank() const { return rank_; }
  std::string_view engine() const { return "threads"; }

  /// The next collective is part of this step: ranks whose steps differ are told so.
  void name_step(std::string_view words) { step_ = words; }

  void barrier() {
    meet({.what = collective::barrier}, [](std::uint64_t) {});
  }
  void broadcast(byte_span data, wire_type type, int root) {
    meet({.what = collective::broadcast,
          .type = type,
          .root = root,
          .count = data.size() / size_of(type),
          .from = data.data()},
         [&](std::uint64_t round) {
           if (root != rank_) detail::copy_bytes(data.data(), call(root, round).from, data.size());
         });
  }
  void all_reduce(byte_span data, wire_type type, monoid how) {
    detail::joint_call const mine{.what = collective::all_reduce,
                                  .type = type,
                                  .how = how,
                                  .count = data.size() / size_of(type),
                                  .into = data.data()};
    if (data.size() <= detail::meeting<Clock>::kept_bytes) return reduce_kept(mine, data);
    meet(mine, [&](std::uint64_t round) {
      // This rank folds one piece of everybody's data, and nobody else touches that piece.
      std::size_t const each = size_of(type), first = mine.count * at(rank_) / at(size()),
                        count = mine.count * at(rank_ + 1) / at(size()) - first;
      std::byte* const folded = call(0, round).into + first * each;
      for (int r = 1; r < size(); ++r) detail::fold_bytes(type, how, folded, call(r, round).into + first * each, count);
      for (int r = 1; r < size(); ++r) detail::copy_bytes(call(r, round).into + first * each, folded, count * each);
    });
  }
  void all_gather(const_byte_span mine, byte_span all, rank_counts n, wire_type type) {
    meet({.what = collective::all_gather, .type = type, .from = mine.data(), .send = n}, [&](std::uint64_t round) {
      std::byte* into = all.data();
      for (int r = 0; r < size(); ++r) {
        detail::copy_bytes(into, call(r, round).from, n[at(r)] * size_of(type));
        into += n[at(r)] * size_of(type);
      }
    });
  }
  void reduce_scatter(const_byte_span all, byte_span mine, rank_counts n, wire_type type, monoid how) {
    meet({.what = collective::reduce_scatter, .type = type, .how = how, .from = all.data(), .send = n},
         [&](std::uint64_t round) {
           std::size_t const offset = detail::offset_of(n, rank_, type);
           detail::copy_bytes(mine.data(), call(0, round).from + offset, mine.size());
           for (int r = 1; r < size(); ++r)
             detail::fold_bytes(type, how, mine.data(), call(r, round).from + offset, n[at(rank_)]);
         });
  }
  void all_to_all(const_byte_span from, rank_counts send, byte_span into, rank_counts receive, wire_type type) {
    meet({.what = collective::all_to_all, .type = type, .from = from.data(), .send = send, .receive = receive},
         [&](std::uint64_t round) {
           std::byte* next = into.data();
           for (int r = 0; r < size(); ++r) {
             detail::joint_call const& theirs = call(r, round);
             detail::copy_bytes(next, theirs.from + detail::offset_of(theirs.send, rank_, type),
                                receive[at(r)] * size_of(type));
             next += receive[at(r)] * size_of(type);
           }
         });
  }
  std::unique_ptr<message_exchange> start(std::span<outgoing_message const> sends, std::span<incoming_message const> receives) {
    for (outgoing_message const& m : sends) job_->send(*group_, rank_, m.rank, m.data);
    return std::make_unique<detail::thread_exchange<Clock>>(job_, group_, rank_, receives);
  }
  basic_world split(int color, int key) {
    basic_world part = *this;
    meet({.what = collective::split, .color = color, .key = key}, [&](std::uint64_t round) {
      auto& slot = group_->slot_of(rank_, round);
      part.group_ = std::move(slot.part);
      part.rank_ = slot.part_rank;
    });
    return part;
  }
  basic_world part(std::span<int const> members, int place) const {
    basic_world part = *this;
    part.group_ = job_->part_of(*group_, members);
    part.rank_ = place;
    return part;
  }

private:
  static std::size_t at(int r) { return static_cast<std::size_t>(r); }
  detail::joint_call const& call(int r, std::uint64_t round) const { return group_->slot_of(r, round).call; }

  /// All arrive, work on what the others point to, and depart together. The work does not throw.
  template <class Work>
  void meet(detail::joint_call const& mine, Work work) {
    std::uint64_t const round = group_->begun.load();
    auto& slot = group_->slot_of(rank_, round);
    slot.call = mine;
    slot.call.step = std::exchange(step_, {});
    job_->arrive(*group_, rank_);
    work(round);
    job_->depart(*group_);
  }
  /// Few values are copied into the slots, which stay until everybody has come to the next round: no second meeting is needed.
  void reduce_kept(detail::joint_call const& mine, byte_span data) {
    std::uint64_t const round = group_->begun.load();
    auto& slot = group_->slot_of(rank_, round);
    slot.call = mine;
    slot.call.step = std::exchange(step_, {});
    detail::copy_bytes(slot.kept.data(), data.data(), data.size());
    job_->arrive(*group_, rank_);
    detail::copy_bytes(data.data(), group_->slot_of(0, round).kept.data(), data.size());
    for (int r = 1; r < size(); ++r)
      detail::fold_bytes(mine.type, mine.how, data.data(), group_->slot_of(r, round).kept.data(), mine.count);
  }

  std::shared_ptr<detail::rendezvous<Clock>> job_;
  std::shared_ptr<detail::meeting<Clock>> group_;
  int rank_;
  std::string_view step_{};
};
/// The rank that `run` gives to its function.
using world = basic_world<std::chrono::steady_clock>;

/// f(world) on one thread per rank. An f that returns int gives the largest one (as exit codes do), void nothing, and
/// any other type a std::vector with one result per rank. Ranks begin with the caller's defaults of a solve (`with`), but
/// without its observer, which all of them would call at once. Errors: rank_error that names the rank that failed first,
/// with its exception nested, after all ranks have returned.
template <class F>
auto run(int ranks, options const& o, F&& f) {
  using Result = std::invoke_result_t<F&, world&>;
  constexpr bool has_result = !std::is_void_v<Result>;
  struct nothing {};
  struct holder { // vector<bool> packs its elements, and neighbours would race
    std::conditional_t<has_result, Result, nothing> value{};
  };
  if (ranks < 1) throw value_error(text("threads::run(", ranks, ", ...): give at least one rank"));

  auto const job = std::make_shared<detail::rendezvous<std::chrono::steady_clock>>(ranks, o.delay, o.timeout);
  std::vector<holder> results(static_cast<std::size_t>(ranks));
  stop_rule defaults = default_rule();
  defaults.watch = {};
  auto const body = [&](int rank) {
    try {
      set_threads(o.threads_per_rank);
      default_rule() = defaults;
      world mine(job, job->everyone(), rank);
      if constexpr (has_result)
        results[static_cast<std::size_t>(rank)].value = f(mine);
      else
        f(mine);
      job->leave(rank);
    } catch (std::exception const& e) {
      job->fail(rank, std::current_exception(), e.what());
    } catch (...) {
      job->fail(rank, std::current_exception(), "it threw what is not a std::exception");
    }
  };
  std::vector<std::thread> team;
  try {
    for (int rank = 0; rank < ranks; ++rank) team.emplace_back(body, rank);
  } catch (std::exception const& e) {
    job->fail(static_cast<int>(team.size()), std::current_exception(), e.what());
  }
  for (std::thread& t : team) t.join();
  job->conclude();

  if constexpr (std::is_same_v<Result, int>) {
    int largest = results[0].value;
    for (holder const& r : results) largest = (std::max)(largest, r.value);
    return largest;
  } else if constexpr (has_result) {
    std::vector<Result> all;
    for (holder& r : results) all.push_back(std::move(r.value));
    return all;
  }
}
template <class F>
  requires(!std::invocable<F&, world&>)
int run(int, options const&, F&&) {
  static_assert(always_false<F>, "sla: threads::run(ranks, f): f takes the world of its rank: [](threads::world& world) { ... }, or [](auto& world) { ... }");
  return 0;
}
template <class F>
auto run(int ranks, F&& f) {
  return run(ranks, options{}, f);
}

} // namespace sla::threads

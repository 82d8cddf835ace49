// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the MPI engine is made of: a communicator of our own with its folds, and the meeting of all ranks in a call, in which calls are
// compared and few values folded. Messages are in adapter/mpi/exchange.hpp, the engine itself in adapter/mpi.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sla/adapter/mpi/failure.hpp>
#include <sla/core/error.hpp>
#include <sla/dist/engine/communicator.hpp>

namespace sla::detail {

inline MPI_Datatype mpi_type(wire_type type) {
  MPI_Datatype const types[] = {MPI_BYTE, MPI_INT32_T, MPI_INT64_T, MPI_UINT64_T, MPI_FLOAT, MPI_DOUBLE, MPI_UINT16_T};
  return types[static_cast<std::size_t>(type)];
}

/// The library's fold as an operation of MPI, whose own leave open what becomes of a NaN.
template <monoid How>
void mpi_fold(void* from, void* into, int* count, MPI_Datatype* type) {
  for (wire_type e : {wire_type::int32, wire_type::int64, wire_type::uint64, wire_type::float32, wire_type::float64,
                      wire_type::bfloat16})
    if (mpi_type(e) == *type)
      fold_bytes(e, How, static_cast<std::byte*>(into), static_cast<std::byte const*>(from),
                 static_cast<std::size_t>(*count));
}

/// A communicator of MPI that belongs to us, with the operations used on it.
struct mpi_group {
  MPI_Comm comm;
  int size = 0, rank = 0;
  std::size_t limit = INT_MAX;   // elements in one call of MPI
  std::array<MPI_Op, 6> folds{}; // by monoid
  std::chrono::nanoseconds patience = std::chrono::seconds(2); // before a rank asks the one it waits for; 0 compares nothing
  bool equal_bits = false;                                     // is the result of every all_reduce sent to all by one rank?
  std::string_view step;                                       // of the next call
  std::uint64_t discoveries = 0;                               // that all ranks have made together
  bool has_given_up = false;                                   // a receive: its message may still come
  std::shared_ptr<mpi_watch> watch;
  static constexpr std::size_t room = 2048;           // bytes that a message of a meeting carries, so that it leaves at once
  std::vector<std::byte> meeting = std::vector<std::byte>(sizeof(std::uint64_t) + room);

  mpi_group(MPI_Comm own, std::shared_ptr<mpi_watch> shared) : comm(own), watch(std::move(shared)) {
    mpi_check(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &rank);
    folds.fill(MPI_OP_NULL);
    make<monoid::sum>();
    make<monoid::product>();
    make<monoid::minimum>();
    make<monoid::maximum>();
  }
  mpi_group(mpi_group const&) = delete;
  mpi_group& operator=(mpi_group const&) = delete;
  ~mpi_group() {
    if (mpi_is_over() || std::uncaught_exceptions() > 0) return; // to free is a call that all ranks make
    for (MPI_Op& f : folds)
      if (f != MPI_OP_NULL) MPI_Op_free(&f);
    MPI_Comm_free(&comm);
  }

private:
  template <monoid How>
  void make() {
    // Said not to commute, so that MPI folds in the order of the ranks.
    mpi_check(MPI_Op_create(&mpi_fold<How>, 0, &folds[static_cast<std::size_t>(How)]), "MPI_Op_create");
  }
};

/// Calls done() until it is true. Where that takes long, it asks whether it ever will be: `whom()` is the rank that is waited
/// for at the moment, or mpi_watch::all_ranks, in what `words()` say. Where the answer is no, it ends all ranks. Long are the group's patience and the time
/// that the messages under way may take, at 100 MB/s: ranks that exchange them do wait for each other.
template <class Done, class Whom, class Words>
void mpi_wait(mpi_group& group, Done const& done, Whom const& whom, Words const& words) {
  for (int turn = 0; turn < 1000; ++turn)
    if (done()) return;
  auto const patience = group.patience + 10 * std::chrono::nanoseconds(group.watch->bytes_under_way);
  auto const begin = std::chrono::steady_clock::now();
  while (group.patience == std::chrono::nanoseconds::zero() || std::chrono::steady_clock::now() - begin < patience)
    if (done()) return;
  for (mpi_watch::long_wait wait(*group.watch, words()); !done();) {
    wait.wait_for(group.comm, whom());
    auto const why = wait.look();
    if (!why) continue;
    if (done()) return;
    mpi_end_all(*why);
  }
}

/// What this rank is about to call.
struct mpi_call {
  collective what;
  wire_type type = wire_type::byte;
  monoid how = monoid::none;
  int root = 0;
  rank_counts n{};
  std::string_view step{};

  /// In words that equal those of the other ranks when the calls agree.
  std::string words() const {
    std::string out = step.empty() ? "" : text(step, ", by ");
    out += name_of(what);
    if (what == collective::barrier || what == collective::split) return out;
    out += what == collective::broadcast ? text("(root ", root, ", ")
           : how == monoid::none         ? "("
                                         : text("(", name_of(how), ", ");
    for (std::size_t k = 0; k < n.size(); ++k) out += text(k ? "+" : "", n[k]);
    return out + text(n.empty() ? "" : " x ", name_of(type), ")");
  }
  /// A number that is not 0, and differs where the words do.
  std::uint64_t hash() const {
    std::uint64_t out = 0xcbf29ce484222325ULL;
    auto const add = [&](std::uint64_t v) { out = (out ^ v) * 0x100000001b3ULL; };
    for (char const c : step) add(static_cast<unsigned char>(c));
    for (int const v : {static_cast<int>(what), static_cast<int>(type), static_cast<int>(how), root}) add(static_cast<std::uint64_t>(v) + 1);
    for (std::size_t const v : n) add(v + 1);
    return out | 1;
  }
};

/// Every rank's call is told to all: they differ.
[[noreturn]] inline void refuse_calls(mpi_group& group, mpi_call const& call) {
  constexpr std::size_t room = 256;
  std::string mine = call.words(), heard(room * static_cast<std::size_t>(group.size), ' ');
  mine.resize(room, ' ');
  mpi_check(MPI_Allgather(mine.data(), room, MPI_CHAR, heard.data(), room, MPI_CHAR, group.comm), "MPI_Allgather");
  auto const said = [&](int r) { return std::string_view(heard).substr(static_cast<std::size_t>(r) * room, room); };
  int other = 1;
  while (other < group.size - 1 && said(other) == said(0)) ++other;
  auto const trimmed = [&](int r) { return said(r).substr(0, said(r).find_last_not_of(' ') + 1); };
  throw rank_error(other, text("the ranks disagree: rank 0 called ", trimmed(0), " and rank ", other, " called ", trimmed(other),
                               "; all ranks make the same calls in the same order, with the same options and observers"));
}

/// All ranks meet before, or instead of, a collective: their calls are compared up a binomial tree, with what they hand in, at most
/// `room` bytes each, which fold(into, from) makes one of in the order of the ranks: all at rank 0 if they have room together, as
/// the threads engine does, else on the way. The result goes down to all. Errors: rank_error on every rank, which names two
/// calls that differ. Cost: 2 log2(ranks) messages one after the other.
template <class Fold>
void meet(mpi_group& group, mpi_call const& call, byte_span mine, Fold const& fold) {
  if (group.size == 1) return;
  constexpr int tag = 1;
  constexpr std::size_t head = sizeof(std::uint64_t);
  std::array<std::byte, head + mpi_group::room> from;
  auto const receive = [&](int source) {
    MPI_Request arrival = MPI_REQUEST_NULL;
    MPI_Status status;
    mpi_check(MPI_Irecv(from.data(), static_cast<int>(from.size()), MPI_BYTE, source, tag, group.comm, &arrival), "MPI_Irecv");
    mpi_wait(
        group,
        [&] {
          int here = 0;
          mpi_check(MPI_Test(&arrival, &here, &status), "MPI_Test");
          return here != 0;
        },
        [&] { return source; }, [&] { return call.words(); });
    int got = 0;
    MPI_Get_count(&status, MPI_BYTE, &got);
    return static_cast<std::size_t>(got) - head;
  };
  auto const send = [&](int to, std::size_t bytes) {
    mpi_check(MPI_Send(group.meeting.data(), static_cast<int>(head + bytes), MPI_BYTE, to, tag, group.comm), "MPI_Send");
  };
  std::byte* const all = group.meeting.data() + head;
  std::uint64_t hash = call.hash();
  bool const together = mine.size() * static_cast<std::size_t>(group.size) <= mpi_group::room;
  std::size_t held = mine.size();
  copy_bytes(all, mine.data(), held);
  int reach = 1;
  for (; reach < group.size && (group.rank & reach) == 0; reach *= 2) {
    if (group.rank + reach >= group.size) continue;
    std::size_t const bytes = receive(group.rank + reach);
    std::uint64_t theirs = 0;
    copy_bytes(reinterpret_cast<std::byte*>(&theirs), from.data(), head);
    if (theirs != hash) hash = 0;
    if (hash == 0) continue;
    if (together)
      copy_bytes(all + std::exchange(held, held + bytes), from.data() + head, bytes);
    else
      fold(all, from.data() + head);
  }
  copy_bytes(group.meeting.data(), reinterpret_cast<std::byte const*>(&hash), head);
  if (group.rank == 0) {
    for (std::size_t at = mine.size(); at < held && hash != 0; at += mine.size()) fold(all, all + at);
  } else {
    send(group.rank - reach, hash == 0 ? 0 : held);
    std::size_t const bytes = receive(group.rank - reach);
    copy_bytes(group.meeting.data(), from.data(), head + (std::min)(bytes, mine.size()));
    copy_bytes(reinterpret_cast<std::byte*>(&hash), from.data(), head);
  }
  for (reach /= 2; reach > 0; reach /= 2)
    if (group.rank + reach < group.size) send(group.rank + reach, hash == 0 ? 0 : mine.size());
  if (hash == 0) refuse_calls(group, call);
  copy_bytes(mine.data(), all, mine.size());
}
/// Compares the calls of all ranks before they are made.
inline void compare_calls(mpi_group& group, mpi_call call) {
  call.step = std::exchange(group.step, {});
  if (group.patience != std::chrono::nanoseconds::zero()) meet(group, call, {}, [](std::byte*, std::byte const*) {});
}

} // namespace sla::detail

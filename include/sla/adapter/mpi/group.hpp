// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the MPI engine is made of: a communicator of our own with its folds, the meeting of all ranks in a call, in which calls are
// compared and few values folded, and messages under way. The engine itself is in adapter/mpi.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
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
  std::string_view step;                                       // of the next call
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
/// for at the moment, in what `words()` say. Where the answer is no, it ends all ranks. Long are the group's patience and the time
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

class mpi_exchange final : public message_exchange {
public:
  mpi_exchange(std::shared_ptr<mpi_group> group, std::span<outgoing_message const> sends, std::span<incoming_message const> receives)
      : group_(std::move(group)), receives_(receives.begin(), receives.end()) {
    if (group_->has_given_up)
      throw rank_error(group_->rank, text("rank ", group_->rank, " gave up an exchange of messages when an exception passed: those that come late cannot be told from others; "
                                          "catch exceptions outside of what ranks do together"));
    requests_.reserve(sends.size() + receives.size());
    whom_.reserve(sends.size() + receives.size());
    for (incoming_message const& m : receives)
      in_pieces(m.data.size(), [&](std::size_t at, int count) {
        mpi_check(MPI_Irecv(m.data.data() + at, count, MPI_BYTE, m.rank, 0, group_->comm, next(m.rank)), "MPI_Irecv");
      });
    for (outgoing_message const& m : sends)
      in_pieces(m.data.size(), [&](std::size_t at, int count) {
        mpi_check(MPI_Isend(m.data.data() + at, count, MPI_BYTE, m.rank, 0, group_->comm, next(m.rank)), "MPI_Isend");
      });
    for (incoming_message const& m : receives) bytes_ += m.data.size();
    for (outgoing_message const& m : sends) bytes_ += m.data.size();
    group_->watch->bytes_under_way += bytes_;
  }
  ~mpi_exchange() override {
    if (!requests_.empty() && !mpi_is_over()) {
      try {
        if (std::uncaught_exceptions() == 0)
          wait();
        else
          group_->has_given_up = give_up() || group_->has_given_up;
      } catch (error const& e) {
        mpi_end_all(e.what());
      }
    }
    group_->watch->bytes_under_way -= bytes_;
  }
  void wait() override {
    kept_list<MPI_Status> status(requests_.size());
    int code = MPI_SUCCESS;
    mpi_wait(
        *group_,
        [&] {
          int here = 0;
          code = MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &here, status.data());
          return here != 0 || code != MPI_SUCCESS;
        },
        [&] {
          std::size_t k = 0;
          while (k + 1 < requests_.size() && is_done(requests_[k])) ++k;
          return whom_[k];
        },
        [] { return std::string("an exchange of messages"); });
    if (code != MPI_SUCCESS) give_up();
    requests_.clear();
    group_->watch->bytes_under_way -= std::exchange(bytes_, 0);
    if (code == MPI_ERR_IN_STATUS)
      for (MPI_Status const& s : status) {
        if (s.MPI_ERROR == MPI_ERR_TRUNCATE)
          throw rank_error(s.MPI_SOURCE, text("a message from rank ", s.MPI_SOURCE, " to rank ", group_->rank,
                                              " is longer than the receiver expects: the ranks do not make the same calls, or of other sizes"));
        if (s.MPI_ERROR != MPI_ERR_PENDING) mpi_check(s.MPI_ERROR, text("a message to rank ", group_->rank));
      }
    mpi_check(code, "MPI_Testall");
    std::size_t k = 0;
    for (incoming_message const& m : std::exchange(receives_, {}))
      in_pieces(m.data.size(), [&](std::size_t, int expected) {
        int got = 0;
        MPI_Get_count(&status[k++], MPI_BYTE, &got);
        if (got != expected)
          throw rank_error(m.rank, text("a message from rank ", m.rank, " to rank ", group_->rank, " has ", got,
                                        " bytes, and the receiver expects ", expected));
      });
  }
  bool done() override {
    return std::all_of(requests_.begin(), requests_.end(), is_done);
  }
  bool advance() override { return done(); }

private:
  /// After an error MPI may have other messages under way, and where an exception passes all of them: those that have met no partner are
  /// cancelled, the rest come to their end. Then nothing reads or writes their memory. Was any cancelled?
  bool give_up() {
    int any = 0;
    for (MPI_Request& r : requests_)
      if (r != MPI_REQUEST_NULL) mpi_check(MPI_Cancel(&r), "MPI_Cancel");
    for (std::size_t k = 0; k < requests_.size(); ++k)
      mpi_wait(
          *group_,
          [&] {
            int ended = 0, cancelled = 0;
            MPI_Status status;
            if (MPI_Test(&requests_[k], &ended, &status) != MPI_SUCCESS) return true;
            if (ended != 0) MPI_Test_cancelled(&status, &cancelled);
            any |= cancelled;
            return ended != 0;
          },
          [&] { return whom_[k]; }, [] { return std::string("an exchange of messages, of which one failed"); });
    return any != 0;
  }
  /// f(offset, count): one piece for an empty message, several where MPI's int cannot count the bytes.
  template <class F>
  void in_pieces(std::size_t size, F f) const {
    std::size_t at = 0;
    do {
      std::size_t const count = (std::min)(size - at, group_->limit);
      f(at, static_cast<int>(count));
      at += count;
    } while (at < size);
  }
  MPI_Request* next(int whom) {
    whom_.push_back(whom);
    return &requests_.emplace_back(MPI_REQUEST_NULL);
  }
  static bool is_done(MPI_Request r) {
    int finished = 0;
    mpi_check(MPI_Request_get_status(r, &finished, MPI_STATUS_IGNORE), "MPI_Request_get_status");
    return finished != 0;
  }

  std::shared_ptr<mpi_group> group_;
  kept_list<incoming_message> receives_;
  kept_list<MPI_Request> requests_;
  std::size_t bytes_ = 0; // of the messages under way
  kept_list<int> whom_; // each of them is to or from
};

} // namespace sla::detail

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Messages of the MPI engine under way, of one exchange or of one that is repeated, whose requests are persistent; and collectives that do not block.
// The engine itself is in adapter/mpi.hpp.
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sla/adapter/mpi/group.hpp>
#include <sla/core/error.hpp>
#include <sla/dist/engine/capabilities.hpp>

namespace sla::detail {

/// Base: message_exchange, whose messages are under way when it is made, or repeated_exchange, whose messages `begin` sends.
template <class Base>
class mpi_messages : public Base {
  static constexpr bool persistent = std::same_as<Base, repeated_exchange>;

public:
  /// Messages of another tag are other messages.
  mpi_messages(std::shared_ptr<mpi_group> group, std::span<outgoing_message const> sends, std::span<incoming_message const> receives, int tag = 0)
      : group_(std::move(group)), receives_(receives.begin(), receives.end()) {
    refuse_after_giving_up();
    requests_.reserve(sends.size() + receives.size());
    whom_.reserve(sends.size() + receives.size());
    for (incoming_message const& m : receives)
      in_pieces(m.data.size(), [&](std::size_t at, int count) {
        mpi_check((persistent ? MPI_Recv_init : MPI_Irecv)(m.data.data() + at, count, MPI_BYTE, m.rank, tag, group_->comm, next(m.rank)), "MPI_Irecv");
      });
    for (outgoing_message const& m : sends)
      in_pieces(m.data.size(), [&](std::size_t at, int count) {
        mpi_check((persistent ? MPI_Send_init : MPI_Isend)(m.data.data() + at, count, MPI_BYTE, m.rank, tag, group_->comm, next(m.rank)), "MPI_Isend");
      });
    for (incoming_message const& m : receives) bytes_ += m.data.size();
    for (outgoing_message const& m : sends) bytes_ += m.data.size();
    if (!persistent) note_under_way();
  }
  ~mpi_messages() override {
    if (mpi_is_over()) return;
    if (under_way_) {
      try {
        if (std::uncaught_exceptions() == 0)
          wait();
        else
          group_->has_given_up = give_up() || group_->has_given_up;
      } catch (error const& e) {
        mpi_end_all(e.what());
      }
    }
    note_over();
    if (persistent)
      for (MPI_Request& r : requests_) MPI_Request_free(&r);
  }
  void wait() override {
    if (!under_way_) return;
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
    if (!persistent) requests_.clear();
    note_over();
    if (code == MPI_ERR_IN_STATUS)
      for (MPI_Status const& s : status) {
        if (s.MPI_ERROR == MPI_ERR_TRUNCATE)
          throw rank_error(s.MPI_SOURCE, text("a message from rank ", s.MPI_SOURCE, " to rank ", group_->rank,
                                              " is longer than the receiver expects: the ranks do not make the same calls, or of other sizes"));
        if (s.MPI_ERROR != MPI_ERR_PENDING) mpi_check(s.MPI_ERROR, text("a message to rank ", group_->rank));
      }
    mpi_check(code, "MPI_Testall");
    std::size_t k = 0;
    for (incoming_message const& m : receives_)
      in_pieces(m.data.size(), [&](std::size_t, int expected) {
        int got = 0;
        MPI_Get_count(&status[k++], MPI_BYTE, &got);
        if (got != expected)
          throw rank_error(m.rank, text("a message from rank ", m.rank, " to rank ", group_->rank, " has ", got,
                                        " bytes, and the receiver expects ", expected));
      });
  }
  bool done() override {
    return !under_way_ || std::all_of(requests_.begin(), requests_.end(), is_done);
  }
  bool advance() override { return done(); }

protected:
  /// Of persistent requests, one by one: MPI starts those of a list in any order, and the pieces of a message have one.
  void start_all() {
    refuse_after_giving_up();
    if (under_way_) throw error("an exchange of messages begins again before it has been waited for");
    for (MPI_Request& r : requests_) mpi_check(MPI_Start(&r), "MPI_Start");
    note_under_way();
  }

private:
  void refuse_after_giving_up() const {
    if (group_->has_given_up)
      throw rank_error(group_->rank, text("rank ", group_->rank, " gave up an exchange of messages when an exception passed: those that come late cannot be told from others; "
                                          "catch exceptions outside of what ranks do together"));
  }
  void note_under_way() {
    under_way_ = true;
    group_->watch->bytes_under_way += bytes_;
  }
  void note_over() {
    if (std::exchange(under_way_, false)) group_->watch->bytes_under_way -= bytes_;
  }
  /// After an error MPI may have other messages under way, and where an exception passes all of them: those that have met no partner are
  /// cancelled, the rest come to their end. Then nothing reads or writes their memory. Was any cancelled?
  bool give_up() {
    int any = 0;
    for (MPI_Request& r : requests_) {
      int ended = 0;  // a persistent request that has come to its end may not be cancelled
      if (persistent) MPI_Request_get_status(r, &ended, MPI_STATUS_IGNORE);
      if (r != MPI_REQUEST_NULL && ended == 0) mpi_check(MPI_Cancel(&r), "MPI_Cancel");
    }
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
  kept_list<int> whom_;  // each of them is to or from
  std::size_t bytes_ = 0;
  bool under_way_ = false;
};
using mpi_exchange = mpi_messages<message_exchange>;
struct mpi_repeated final : mpi_messages<repeated_exchange> {
  using mpi_messages::mpi_messages;
  void begin() override { start_all(); }
};

/// Collectives that do not block, begun one by one with the requests of `next`: MPI cannot cancel them. Where an exception passes, the other ranks have as
/// long to join them as this one had patience, or three seconds, before all end.
class mpi_collective final : public message_exchange {
public:
  mpi_collective(std::shared_ptr<mpi_group> group, std::string_view words) : group_(std::move(group)), words_(words) {}
  ~mpi_collective() override {
    if (mpi_is_over() || requests_.empty()) return;
    auto const begin = std::chrono::steady_clock::now();
    try {
      while (std::uncaught_exceptions() > 0 && !done())
        if (std::chrono::steady_clock::now() - begin > (std::max)(group_->patience, std::chrono::nanoseconds(std::chrono::seconds(3))))
          mpi_end_all(text("an exception passed while ", words_, " was under way, which the other ranks do not join"));
      wait();
    } catch (error const& e) {
      mpi_end_all(e.what());
    }
  }
  void wait() override {
    mpi_wait(
        *group_,
        [&] {
          int over = 0;
          mpi_check(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &over, MPI_STATUSES_IGNORE), words_);
          return over != 0;
        },
        [] { return mpi_watch::all_ranks; }, [&] { return std::string(words_) + ", which was begun before"; });
    requests_.clear();
  }
  bool done() override {
    int over = 1;
    for (std::size_t k = 0; k < requests_.size() && over != 0; ++k) mpi_check(MPI_Request_get_status(requests_[k], &over, MPI_STATUS_IGNORE), words_);
    return over != 0;
  }
  bool advance() override { return done(); }

  MPI_Request* next() { return &requests_.emplace_back(MPI_REQUEST_NULL); }
  kept_list<int> counts{}, firsts{};  ///< which MPI reads until the end

private:
  std::shared_ptr<mpi_group> group_;
  std::string_view words_;
  std::vector<MPI_Request> requests_{};
};

} // namespace sla::detail

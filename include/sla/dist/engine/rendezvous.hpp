// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where ranks that are threads meet: collectives as "all arrive, work, all depart", messages by mailbox, and all ways
// of failing (a throw, an early return, calls that differ, deadlock, time out). What is done there: dist/engine/threads.hpp.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sla/dist/engine/capabilities.hpp>
#include <sla/dist/engine/meeting.hpp>

namespace sla::detail {

/// One program on many threads: who waits for what, and whether a rank has failed. One mutex guards it and its groups;
/// ranks hold it only to arrive, to depart, and to hand over a message.
/// Law: buffers of a collective are read only between arrive and depart. No rank throws in between, so none is freed
/// then.
template <class Clock>
class rendezvous {
public:
  using clock = Clock;
  using meeting = detail::meeting<Clock>;

  rendezvous(int ranks, clock::duration delay, clock::duration timeout)
      : delay_(delay), timeout_(timeout),
        spins_(ranks <= static_cast<int>(std::thread::hardware_concurrency()) ? 2000 : 0),
        waits_(static_cast<std::size_t>(ranks)), left_(static_cast<std::size_t>(ranks)),
        wake_(static_cast<std::size_t>(ranks)), everyone_(std::make_shared<meeting>(all_of(ranks))) {}

  std::shared_ptr<meeting> everyone() const { return everyone_; }

  /// Returns when all members have arrived with calls that agree; else throws on every one of them.
  void arrive(meeting& m, int member) {
    std::unique_lock lock(mutex_);
    raise_if_failed();
    std::uint64_t const round = m.begun.load();
    m.here[at(member)] = 1;
    if (++m.arrived == m.size()) {
      if (auto const [who, why] = m.disagreement(); !why.empty()) {
        fail(who, why);
        raise_if_failed();
      }
      m.form_parts();
      m.here.assign(m.here.size(), 0);
      m.arrived = 0;
      m.begun.store(round + 1);
      for (int rank : m.members)
        if (waits_[at(rank)]) wake_[at(rank)].notify_one();
      return;
    }
    lock.unlock();
    for (int k = 0; k < spins_; ++k)
      if (m.begun.load() != round) return;
    lock.lock();
    block(lock, {&m, member, round, -1});
  }

  /// Returns when all members have come here: what one still read, none may free. It cannot fail, since all have
  /// arrived.
  void depart(meeting& m) {
    std::unique_lock lock(mutex_);
    std::uint64_t const round = m.ended.load();
    if (++m.departed == m.size()) {
      m.departed = 0;
      m.ended.store(round + 1);
      m.over.notify_all();
      return;
    }
    lock.unlock();
    for (int k = 0; k < spins_; ++k)
      if (m.ended.load() != round) return;
    lock.lock();
    m.over.wait(lock, [&] { return m.ended.load() != round; });
  }

  void send(meeting& m, int from, int to, const_byte_span data) {
    std::unique_lock lock(mutex_);
    raise_if_failed();
    auto& box = m.box(from, to);
    std::vector<std::byte> copy = box.take_spare();
    lock.unlock();
    copy.assign(data.begin(), data.end());
    lock.lock();
    box.messages.push_back({box.sent++, std::move(copy), clock::now() + delay_});
    int const receiver = m.members[at(to)];
    if (waits_[at(receiver)]) wake_[at(receiver)].notify_one();
  }

  /// The number of the next message that `to` expects from `from`.
  std::uint64_t expect(meeting& m, int from, int to) {
    std::unique_lock lock(mutex_);
    raise_if_failed();
    return m.box(from, to).expected++;
  }

  bool is_there(meeting& m, int from, int to, std::uint64_t number) {
    std::unique_lock lock(mutex_);
    raise_if_failed();
    auto const* const found = m.box(from, to).find(number);
    return found && found->ready <= clock::now();
  }

  void receive(meeting& m, int from, int to, std::uint64_t number, byte_span into) {
    std::unique_lock lock(mutex_);
    raise_if_failed();
    block(lock, {&m, to, number, from});
    auto& box = m.box(from, to);
    auto const ready = box.find(number)->ready;
    while (clock::now() < ready) {
      wake_[at(m.members[at(to)])].wait_until(lock, ready);
      raise_if_failed();
    }
    std::vector<std::byte> data = box.take(*box.find(number));
    if (data.size() != into.size()) {
      fail(m.members[at(to)],
           text("message ", number, " from rank ", m.members[at(from)], " to rank ", m.members[at(to)], " has ",
                data.size(), " bytes, and the receiver expects ", into.size()));
      raise_if_failed();
    }
    lock.unlock();
    copy_bytes(into.data(), data.data(), data.size());
    lock.lock();
    box.spare.push_back(std::move(data));
  }

  /// Where these members of m meet: made by the first that asks, found by the others.
  std::shared_ptr<meeting> part_of(meeting const& m, std::span<int const> members) {
    std::vector<int> names;
    for (int member : members) names.push_back(m.members[at(member)]);
    std::unique_lock lock(mutex_);
    raise_if_failed();
    for (auto const& known : parts_)
      if (auto part = known.lock(); part && part->members == names) return part;
    auto part = std::make_shared<meeting>(names);
    parts_.push_back(part);
    return part;
  }

  /// The rank has returned: whoever waits for it waits in vain.
  void leave(int rank) {
    std::unique_lock lock(mutex_);
    left_[at(rank)] = 1;
    wake_all();
  }

  /// The rank has thrown: every other rank's pending or next call throws too.
  void fail(int rank, std::exception_ptr cause, std::string const& what) {
    std::unique_lock lock(mutex_);
    int const told = cause ? rank_named_by(cause) : -1; // perhaps of another rank's failure
    if (!failed_) cause_ = std::move(cause);
    fail(told >= 0 && told < static_cast<int>(left_.size()) ? told : rank, failure_of(rank, what, told >= 0));
    left_[at(rank)] = 1;
  }

  /// After all ranks have returned: throws if one failed.
  void conclude() const {
    if (!failed_) return;
    if (!cause_) throw rank_error(failed_rank_, failure_);
    try {
      std::rethrow_exception(cause_);
    } catch (...) {
      std::throw_with_nested(rank_error(failed_rank_, failure_));
    }
  }

private:
  struct waiting {
    meeting* where;
    int member;
    std::uint64_t number; // of the round, or of the message
    int from;             // the sender; -1 for a collective
  };

  static std::size_t at(int n) { return static_cast<std::size_t>(n); }
  static std::vector<int> all_of(int ranks) {
    std::vector<int> all(at(ranks));
    for (int r = 0; r < ranks; ++r) all[at(r)] = r;
    return all;
  }

  static bool satisfied(waiting const& w) {
    if (w.from < 0) return w.where->begun.load() != w.number;
    return w.where->box(w.from, w.member).find(w.number) != nullptr;
  }

  void block(std::unique_lock<std::mutex>& lock, waiting const& w) {
    int const me = w.where->members[at(w.member)];
    auto const deadline = clock::now() + timeout_;
    while (!satisfied(w)) {
      raise_if_failed();
      waits_[at(me)] = &w;
      if (int const gone = missing_rank(w); gone >= 0)
        fail(gone, text("rank ", gone, " returned while ", describe(w)));
      else if (stuck())
        fail(me, text("deadlock: ", all_waiting()));
      else if (timeout_ == clock::duration::zero())
        wake_[at(me)].wait(lock);
      else if (wake_[at(me)].wait_until(lock, deadline) == std::cv_status::timeout && !satisfied(w))
        fail(first_awaited(w),
             text("no answer in ", std::chrono::duration<double>(timeout_).count(), " s: ", describe(w)));
      waits_[at(me)] = nullptr;
    }
  }

  bool absent(waiting const& w, int member) const {
    return w.from < 0 ? w.where->here[at(member)] == 0 : member == w.from;
  }
  /// A rank that w needs and that has returned; -1 if there is none.
  int missing_rank(waiting const& w) const {
    for (int member = 0; member < w.where->size(); ++member)
      if (absent(w, member) && left_[at(w.where->members[at(member)])]) return w.where->members[at(member)];
    return -1;
  }
  int first_awaited(waiting const& w) const {
    int member = 0;
    while (!absent(w, member)) ++member;
    return w.where->members[at(member)];
  }
  /// Deadlock: every rank has returned, or waits for what only a waiting rank can do.
  bool stuck() const {
    for (std::size_t r = 0; r < waits_.size(); ++r)
      if (!left_[r] && (!waits_[r] || satisfied(*waits_[r]))) return false;
    return true;
  }
  std::string describe(waiting const& w) const {
    std::string const who = text("rank ", w.where->members[at(w.member)], " waits ");
    if (w.from >= 0) return text(who, "for a message from rank ", w.where->members[at(w.from)]);
    std::string out = text(who, "in ", w.where->call_of(w.member, w.number), " for rank");
    for (int member = 0; member < w.where->size(); ++member)
      if (absent(w, member)) out += text(" ", w.where->members[at(member)]);
    return out;
  }
  std::string all_waiting() const {
    std::string out;
    for (waiting const* w : waits_)
      if (w) out += (out.empty() ? "" : "; ") + describe(*w);
    return out;
  }

  void fail(int rank, std::string const& why) {
    if (failed_) return;
    failed_ = true;
    failed_rank_ = rank;
    failure_ = why;
    wake_all();
  }
  void raise_if_failed() const {
    if (failed_) throw rank_error(failed_rank_, failure_);
  }
  void wake_all() {
    for (auto& rank : wake_) rank.notify_all();
  }

  std::mutex mutex_;
  clock::duration const delay_, timeout_;
  int const spins_;
  bool failed_ = false;
  int failed_rank_ = -1;
  std::string failure_;
  std::exception_ptr cause_;
  std::vector<waiting const*> waits_;
  std::vector<char> left_;
  std::vector<std::condition_variable> wake_;
  std::shared_ptr<meeting> everyone_;
  std::vector<std::weak_ptr<meeting>> parts_;
};

/// The messages that one rank expects.
template <class Clock>
class thread_exchange final : public message_exchange {
public:
  thread_exchange(std::shared_ptr<rendezvous<Clock>> job, std::shared_ptr<meeting<Clock>> group, int rank,
                  std::span<incoming_message const> receives)
      : job_(std::move(job)), group_(std::move(group)), rank_(rank) {
    for (incoming_message const& m : receives) pending_.push_back({m, job_->expect(*group_, m.rank, rank_)});
  }
  ~thread_exchange() override {
    if (pending_.empty() || std::uncaught_exceptions() > 0) return;
    try {
      wait();
    } catch (rank_error const&) { // the next call of this rank throws it again
    }
  }
  void wait() override {
    for (expected const& e : std::exchange(pending_, {}))
      job_->receive(*group_, e.message.rank, rank_, e.number, e.message.data);
  }
  bool done() override {
    return std::all_of(pending_.begin(), pending_.end(),
                       [&](expected const& e) { return job_->is_there(*group_, e.message.rank, rank_, e.number); });
  }

private:
  struct expected {
    incoming_message message;
    std::uint64_t number;
  };
  std::shared_ptr<rendezvous<Clock>> job_;
  std::shared_ptr<meeting<Clock>> group_;
  int rank_;
  kept_list<expected> pending_;
};

} // namespace sla::detail

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Failing ranks of the MPI engine: how one ends the others, and how ranks that wait for long find out that they wait for ever.
#pragma once

// The C interface; the C++ one of old is deprecated and wants another library.
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sla/core/error.hpp>

namespace sla::detail {

inline void mpi_check(int code, std::string_view call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> why{};
  int length = 0;
  MPI_Error_string(code, why.data(), &length);
  throw error(text(call, " failed: ", std::string_view(why.data(), static_cast<std::size_t>(length))));
}

inline bool mpi_is_over() {
  int over = 0;
  MPI_Finalized(&over);
  return over != 0;
}

/// Says on stderr what this rank does.
inline void mpi_warn(std::string_view what) {
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::fprintf(stderr, "sla: rank %d of %d %.*s\n", rank, size, static_cast<int>(what.size()), what.data());
  std::fflush(nullptr);
}
/// Says what failed and ends all ranks: this one, or another one that has told it.
[[noreturn]] inline void mpi_end_all(std::string_view why, bool of_another = false) {
  mpi_warn(text(of_another ? "ends all ranks: " : "failed: ", why));
  MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  std::abort();
}

/// Notes that an exception destroyed the object it is a member of: then the other ranks may be waiting for this one.
class unwinding_witness {
public:
  static bool& saw_one() {
    static bool saw = false;
    return saw;
  }
  unwinding_witness() = default;
  unwinding_witness(unwinding_witness const&) : unwinding_witness() {}
  unwinding_witness& operator=(unwinding_witness const&) { return *this; }
  ~unwinding_witness() {
    if (std::uncaught_exceptions() > at_birth_) saw_one() = true;
  }

private:
  int at_birth_ = std::uncaught_exceptions();
};

/// Questions between ranks that wait for long: a rank asks the one that it waits for, which answers when it waits too, or has
/// reached the end of its mpi::environment. So a rank finds that it waits for one that has left, or that ranks wait for each other
/// in a circle, and can say so in words that name them; for a rank that computes it waits on. Cost: nothing until a wait is long.
class mpi_watch {
  using clock = std::chrono::steady_clock;
  enum tag : int { question, reply };
  /// What a rank says of itself; numbers tell its waits apart.
  struct report {
    std::uint64_t question = 0, number = 0;
    int whom = -1;  // it waits for; -1: it has left
    std::array<char, 236> words{};
  };

public:
  /// Who waits for all of them has no one to ask: it answers that it waits for itself, which leads others that ask no further.
  static constexpr int all_ranks = -1;
  std::size_t bytes_under_way = 0;  // of the messages that this rank has started, in all communicators

  /// All ranks of `of` call it.
  explicit mpi_watch(MPI_Comm of) {
    mpi_check(MPI_Comm_dup(of, &comm_), "MPI_Comm_dup");
    MPI_Comm_rank(comm_, &rank_);
  }
  mpi_watch(mpi_watch const&) = delete;
  mpi_watch& operator=(mpi_watch const&) = delete;
  ~mpi_watch() {
    if (!mpi_is_over() && std::uncaught_exceptions() == 0) MPI_Comm_free(&comm_);
  }

  /// One wait of a rank that has become long: `wait_for` and `look` are called again and again, until it ends.
  class long_wait {
  public:
    /// This rank waits in what `words` say.
    long_wait(mpi_watch& watch, std::string words) : watch_(watch), words_(std::move(words)) {
      std::copy_n(words_.data(), (std::min)(words_.size(), me_.words.size() - 1), me_.words.data());
    }
    /// Rank `whom` of `comm` is waited for. Another one than before is another wait: what was heard of the last tells nothing of it.
    void wait_for(MPI_Comm comm, int whom) {
      if (whom == whom_) return;
      whom_ = whom;
      if (whom == all_ranks) {
        me_.whom = watch_.rank_;
        me_.number = ++watch_.waits_;
        return;
      }
      MPI_Group theirs = MPI_GROUP_NULL, ours = MPI_GROUP_NULL;
      MPI_Comm_group(comm, &theirs);
      MPI_Comm_group(watch_.comm_, &ours);
      MPI_Group_translate_ranks(theirs, 1, &whom, ours, &me_.whom);
      MPI_Group_free(&theirs);
      MPI_Group_free(&ours);
      me_.number = ++watch_.waits_;
      asked_ = 0;
      path_.clear();
      before_.clear();
    }
    /// Why the wait has no end, if the ranks said so twice. What came in the meantime is for the caller to see.
    std::optional<std::string> look() {
      watch_.answer(me_);
      auto const now = clock::now();
      if (!said_ && now - begin_ > std::chrono::seconds(60)) {
        said_ = true;
        mpi_warn(text("has waited for a minute in ", words_, " for ", whom_ == all_ranks ? text("all ranks, of which one") : text("rank ", me_.whom, ", which"),
                      " computes, or is in a call of its own"));
      }
      if (whom_ == all_ranks) return {};
      int const by = path_.empty() ? me_.whom : path_.back().whom;
      if (asked_ == 0) {
        if (now >= next_) asked_ = watch_.ask(by);
        return {};
      }
      report heard;
      if (!watch_.hear(heard) || heard.question != asked_) return {};
      asked_ = 0;
      bool const left = heard.whom < 0, circle = heard.whom == watch_.rank_;
      bool const met = heard.whom == me_.whom || std::any_of(path_.begin(), path_.end(), [&](report const& r) { return r.whom == heard.whom; });
      path_.push_back(heard);
      if (!left && !circle && !met) return {};
      if ((left || circle) && same_as_before()) return circle ? words_of_circle() : words_of_leaver(by);
      before_ = std::exchange(path_, {});
      next_ = now + std::chrono::milliseconds(200);
      return {};
    }

  private:
    bool same_as_before() const {
      return std::equal(path_.begin(), path_.end(), before_.begin(), before_.end(),
                        [](report const& a, report const& b) { return a.number == b.number && a.whom == b.whom; });
    }
    std::string words_of_leaver(int who) const {
      return text("rank ", who, " has reached the end of its mpi::environment, and this rank waits in ", words_, who == me_.whom ? "" : text(" for rank ", me_.whom, ", which waits for it"));
    }
    std::string words_of_circle() const {
      std::string all = text("the ranks wait for each other: rank ", watch_.rank_, " for rank ", me_.whom, " in ", words_);
      int by = me_.whom;
      for (report const& r : path_) {
        all += text(", rank ", by, " for rank ", r.whom, " in ", r.words.data());
        by = r.whom;
      }
      return all + "; all ranks make the same calls in the same order, with the same options and observers";
    }

    mpi_watch& watch_;
    std::string words_;
    int whom_ = all_ranks - 1;  ///< is waited for, a rank of the caller's communicator
    report me_;
    std::vector<report> path_, before_;  ///< what the ranks said along the way from the one that is waited for
    std::uint64_t asked_ = 0;            ///< the question that has no reply yet
    clock::time_point begin_ = clock::now(), next_ = begin_;
    bool said_ = false;
  };

  /// For a rank that has left: says so to those that ask; one that knows of an exception ends all then.
  void answer_that_it_left() {
    int asked = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, question, comm_, &asked, MPI_STATUS_IGNORE);
    if (asked != 0 && unwinding_witness::saw_one()) mpi_end_all("an exception ended its work, and other ranks wait for it");
    answer({});
  }

private:
  /// Answers one question; before the next, the caller sees again what it waits for.
  void answer(report mine) {
    int there = 0;
    MPI_Status from;
    mpi_check(MPI_Iprobe(MPI_ANY_SOURCE, question, comm_, &there, &from), "MPI_Iprobe");
    if (there == 0) return;
    MPI_Recv(&mine.question, 1, MPI_UINT64_T, from.MPI_SOURCE, question, comm_, MPI_STATUS_IGNORE);
    MPI_Send(&mine, static_cast<int>(sizeof mine), MPI_BYTE, from.MPI_SOURCE, reply, comm_);
  }
  std::uint64_t ask(int whom) {
    ++questions_;
    MPI_Send(&questions_, 1, MPI_UINT64_T, whom, question, comm_);
    return questions_;
  }
  bool hear(report& heard) {
    int there = 0;
    MPI_Status from;
    mpi_check(MPI_Iprobe(MPI_ANY_SOURCE, reply, comm_, &there, &from), "MPI_Iprobe");
    if (there != 0) MPI_Recv(&heard, static_cast<int>(sizeof heard), MPI_BYTE, from.MPI_SOURCE, reply, comm_, MPI_STATUS_IGNORE);
    return there != 0;
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  std::uint64_t waits_ = 0, questions_ = 0;
};

} // namespace sla::detail

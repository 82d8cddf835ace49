// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the MPI engine is made of: a communicator of our own with its folds, messages under way, the comparison of the
// ranks' calls, and how a failing rank ends the others. The engine itself is in adapter/mpi.hpp.
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

#include <sla/core/error.hpp>
#include <sla/dist/communicator.hpp>

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

/// Says on stderr what failed.
inline void mpi_say(std::string_view why) {
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::fprintf(stderr, "sla: rank %d of %d failed: %.*s\n", rank, size, static_cast<int>(why.size()), why.data());
  std::fflush(nullptr);
}
/// Says what failed and ends all ranks.
[[noreturn]] inline void mpi_end_all(std::string_view why) {
  mpi_say(why);
  MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  std::abort();
}

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
  std::chrono::nanoseconds patience{
      0};                // how long a call waits for the others' calls to compare with; 0 compares nothing
  std::string_view step; // of the next call

  explicit mpi_group(MPI_Comm own) : comm(own) {
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

/// What this rank is about to call, in words that equal those of the other ranks when the calls agree.
inline std::string words_of_call(collective what, wire_type type, monoid how, int root, rank_counts n) {
  std::string out(name_of(what));
  if (what == collective::barrier || what == collective::split) return out;
  out += what == collective::broadcast ? text("(root ", root, ", ")
         : how == monoid::none         ? "("
                                       : text("(", name_of(how), ", ");
  for (std::size_t k = 0; k < n.size(); ++k) out += text(k ? "+" : "", n[k]);
  return out + text(n.empty() ? "" : " x ", name_of(type), ")");
}

/// Compares the calls of all ranks before they are made. Errors: rank_error on every rank, which names two calls that
/// differ; a rank that gets no answer within the patience of its group ends all, with words of what it waits in.
inline void compare_calls(mpi_group& group, collective what, wire_type type = wire_type::byte,
                          monoid how = monoid::none, int root = 0, rank_counts n = {}) {
  std::string_view const step = std::exchange(group.step, {});
  if (group.patience == std::chrono::nanoseconds::zero()) return;
  std::string words = words_of_call(what, type, how, root, n);
  if (!step.empty()) words = text(step, ", by ", words);
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (char const c : words) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  std::vector<std::uint64_t> all(static_cast<std::size_t>(group.size));
  MPI_Request answer = MPI_REQUEST_NULL;
  mpi_check(MPI_Iallgather(&hash, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, group.comm, &answer), "MPI_Iallgather");
  auto const begin = std::chrono::steady_clock::now();
  for (int here = 0; here == 0;) {
    mpi_check(MPI_Test(&answer, &here, MPI_STATUS_IGNORE), "MPI_Test");
    if (here == 0 && std::chrono::steady_clock::now() - begin > group.patience) {
      double const seconds = std::chrono::duration<double>(group.patience).count();
      mpi_say(text("no answer in ", seconds, " s: it called ", words));
      std::this_thread::sleep_for(std::chrono::milliseconds(300)); // so that ranks which wait elsewhere say it too
      mpi_end_all("the ranks do not make the same calls");
    }
  }
  if (std::all_of(all.begin(), all.end(), [&](std::uint64_t other) { return other == all[0]; })) return;
  constexpr std::size_t room = 256;
  words.resize(room, ' ');
  std::string heard(room * all.size(), ' ');
  mpi_check(MPI_Allgather(words.data(), room, MPI_CHAR, heard.data(), room, MPI_CHAR, group.comm), "MPI_Allgather");
  std::size_t const other =
      std::size_t(std::find_if(all.begin(), all.end(), [&](std::uint64_t h) { return h != all[0]; }) - all.begin());
  auto const said = [&](std::size_t r) {
    std::string const line = heard.substr(r * room, room);
    return line.substr(0, line.find_last_not_of(' ') + 1);
  };
  throw rank_error(static_cast<int>(other),
                   text("the ranks disagree: rank 0 called ", said(0), " and rank ", other, " called ", said(other),
                        "; all ranks make the same calls in the same order"));
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

class mpi_exchange final : public exchange {
public:
  mpi_exchange(std::shared_ptr<mpi_group> group, std::span<outgoing_message const> sends, std::span<incoming_message const> receives)
      : group_(std::move(group)), receives_(receives.begin(), receives.end()) {
    for (incoming_message const& m : receives)
      in_pieces(m.data.size(), [&](std::size_t at, int count) {
        mpi_check(MPI_Irecv(m.data.data() + at, count, MPI_BYTE, m.rank, 0, group_->comm, next()), "MPI_Irecv");
      });
    for (outgoing_message const& m : sends)
      in_pieces(m.data.size(), [&](std::size_t at, int count) {
        mpi_check(MPI_Isend(m.data.data() + at, count, MPI_BYTE, m.rank, 0, group_->comm, next()), "MPI_Isend");
      });
  }
  ~mpi_exchange() override {
    if (requests_.empty() || std::uncaught_exceptions() > 0 || mpi_is_over()) return;
    try {
      wait();
    } catch (error const& e) {
      mpi_end_all(e.what());
    }
  }
  void wait() override {
    std::vector<MPI_Status> status(requests_.size());
    int const code = MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), status.data());
    requests_.clear();
    if (code == MPI_ERR_IN_STATUS)
      for (MPI_Status const& s : status) mpi_check(s.MPI_ERROR, text("a message to rank ", group_->rank));
    mpi_check(code, "MPI_Waitall");
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
    return std::all_of(requests_.begin(), requests_.end(), [](MPI_Request r) {
      int finished = 0;
      mpi_check(MPI_Request_get_status(r, &finished, MPI_STATUS_IGNORE), "MPI_Request_get_status");
      return finished != 0;
    });
  }

private:
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
  MPI_Request* next() { return &requests_.emplace_back(MPI_REQUEST_NULL); }

  std::shared_ptr<mpi_group> group_;
  std::vector<incoming_message> receives_;
  std::vector<MPI_Request> requests_;
};

} // namespace sla::detail

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rank 1 fails while the others wait for it. The test passes when the ranks end in time and this one's words are heard, or
// those of mpiexec where the rank is killed by a signal. Ranks that only wait for long must go on.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

#include <sla/adapter/mpi.hpp>
#include <sla/dist/engine/typed_collectives.hpp>

namespace {

using namespace std::chrono_literals;

// Through MPI's interface for tools this test decides when messages count as arrived.
std::function<bool()> held_back = [] { return false; };
int reports_heard = 0;      // answers of other ranks in a long wait
bool errors_early = false;  // an error is told while other messages are under way, as MPICH does, and Open MPI does not

} // namespace

extern "C" int MPI_Testall(int n, MPI_Request requests[], int* all, MPI_Status status[]) {
  int here = *all = 0;
  for (int k = 0; k < n && errors_early; ++k) {
    PMPI_Request_get_status(requests[k], &here, &status[k]);
    if (here == 0 || (status[k].MPI_ERROR = PMPI_Test(&requests[k], &here, &status[k])) == MPI_SUCCESS) continue;
    for (int other = 0; other < n; ++other)
      if (other != k) status[other].MPI_ERROR = MPI_ERR_PENDING;
    return MPI_ERR_IN_STATUS;
  }
  if (!held_back()) return PMPI_Testall(n, requests, all, status);
  for (int k = 0; k < n; ++k) PMPI_Request_get_status(requests[k], &here, MPI_STATUS_IGNORE);  // what is under way moves on
  return MPI_SUCCESS;
}
extern "C" int MPI_Request_get_status(MPI_Request request, int* here, MPI_Status* status) {
  int const code = PMPI_Request_get_status(request, here, status);
  if (held_back()) *here = 0;
  return code;
}
extern "C" int MPI_Recv(void* data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status) {
  if (n > 200 && type == MPI_BYTE) ++reports_heard;
  return PMPI_Recv(data, n, type, from, tag, comm, status);
}

namespace {

/// From here on the test counts seconds: how long mpiexec takes to begin is the machine's affair.
void begin(sla::mpi::world& world) {
  if (world.rank() != 0) return;
  std::printf("all ranks begin\n");
  std::fflush(stdout);
}

void work(sla::mpi::world& world) {
  begin(world);
  auto const c = erase(world);
  if (c->rank() == 1) throw std::runtime_error("the disk is full");
  all_reduce(*c, 1.0);
  c->barrier();
}

int outside(int argc, char** argv) {
  try {
    sla::mpi::environment mpi(argc, argv);
    work(mpi.world());
  } catch (std::exception const& e) {
    std::fprintf(stderr, "main heard: %s\n", e.what());
    return 1;
  }
  return 0;
}

int inside(int argc, char** argv) {
  sla::mpi::environment mpi(argc, argv);
  try {
    work(mpi.world());
  } catch (std::exception const& e) {
    std::fprintf(stderr, "main heard: %s\n", e.what());
    return 1;
  }
  return 0;
}

/// All ranks fail alike and go on: this is no reason to end them.
int together(int argc, char** argv) {
  sla::mpi::environment mpi(argc, argv);
  begin(mpi.world());
  try {
    auto const c = erase(mpi.world());
    throw std::runtime_error("no convergence");
  } catch (std::exception const&) {
  }
  all_reduce(*erase(mpi.world()), 1.0);
  if (mpi.world().rank() == 0) std::printf("all ranks went on\n");
  return 0;
}

/// Rank 1 is gone without a word, the others wait: rank 0 in a collective, rank 2 for a message.
int killed(int argc, char** argv) {
  sla::mpi::environment mpi(argc, argv);
  begin(mpi.world());
  auto const c = erase(mpi.world());
  c->barrier();
  if (c->rank() == 1) std::raise(SIGKILL);
  double value = 0;
  std::vector<sla::incoming_message> const receives{sla::receive_from(1, std::span<double>(&value, 1))};
  if (c->rank() == 2) c->start({}, receives)->wait();
  all_reduce(*c, 1.0);
  std::printf("rank %d went on\n", c->rank());
  return 0;
}

/// Rank 1 waits for all ranks, the others for a part of them.
int elsewhere(int argc, char** argv) {
  sla::mpi::environment mpi(argc, argv);
  auto const c = erase(mpi.world());
  auto const pair = c->split(c->rank() / 2, 0);
  begin(mpi.world());
  if (c->rank() == 1)
    c->barrier();
  else
    all_reduce(*pair, 1.0);
  c->barrier();
  return 0;
}

/// Rank 2 comes to the end of its environment while the others wait for it: rank 0 for all, rank 1 for a message.
int leaves(int argc, char** argv) {
  sla::mpi::environment mpi(argc, argv);
  auto const c = erase(mpi.world());
  begin(mpi.world());
  if (c->rank() == 2) return 0;
  double value = 0;
  std::vector<sla::incoming_message> const receives{sla::receive_from(2, std::span<double>(&value, 1))};
  if (c->rank() == 1) c->start({}, receives)->wait();
  all_reduce(*c, 1.0);
  return 0;
}

/// Rank 1 makes another call, of few values, of many, or for a message.
int other(int argc, char** argv, std::string_view how) {
  sla::mpi::environment mpi(argc, argv);
  auto const c = erase(mpi.world());
  begin(mpi.world());
  std::vector<double> many(1000, 1.0);
  double value = 0;
  std::vector<sla::incoming_message> const receives{sla::receive_from(0, std::span<double>(&value, 1))};
  try {
    if (c->rank() != 1)
      all_reduce(*c, 1.0);
    else if (how == "other_call")
      c->barrier();
    else if (how == "other_size")
      all_reduce(*c, std::span<double>(many));
    else
      c->start({}, receives)->wait();
  } catch (sla::rank_error const& e) {
    std::fprintf(stderr, "rank %d heard: %s\n", c->rank(), e.what());
    return 1;
  }
  return 0;
}

/// Rank 1 computes for longer than the others' patience: they wait.
int late(int argc, char** argv) {
  sla::mpi::environment mpi(argc, argv);
  auto const c = erase(mpi.world());
  begin(mpi.world());
  if (c->rank() == 1) std::this_thread::sleep_for(std::chrono::seconds(4));
  double const sum = all_reduce(*c, 1.0);
  if (c->rank() == 0) std::printf("all ranks went on with %g\n", sum);
  return 0;
}

/// A message to rank 1 is too long, while it waits for another one, which comes after the error: the receiver of then is gone.
int truncated(int argc, char** argv) {
  sla::mpi::environment mpi(argc, argv);
  auto const c = erase(mpi.world());
  begin(mpi.world());
  std::vector<double> const two{1, 2};
  double too_short = 0, cancelled = 0, later = 0;
  auto const send = [&](std::size_t n) { c->start(std::vector{sla::send_to(1, std::span(two).first(n))}, {})->wait(); };
  auto const into = [](double& x) { return sla::receive_from(0, std::span(&x, 1)); };
  if (c->rank() == 0) send(2);
  if (c->rank() == 1) {
    errors_early = true;
    try {
      c->start({}, std::vector{into(too_short), into(cancelled)})->wait();
    } catch (sla::rank_error const& e) {
      std::printf("rank 1 heard: %s\n", e.what());
    }
    errors_early = false;
  }
  c->barrier();
  if (c->rank() == 0) send(1);
  if (c->rank() == 1) c->start({}, std::vector{into(later)})->wait();
  if (c->rank() == 1) std::printf("and then %g and %g\n", cancelled, later);
  return 0;
}

/// An exception passes on every rank while a collective that does not block is under way, which rank 1 joins late: it comes to its end, for it cannot be cancelled.
int passing(int argc, char** argv) {
  sla::mpi::environment mpi(argc, argv);
  mpi.world().compare_calls(0s);
  auto const c = erase(mpi.world());
  begin(mpi.world());
  std::vector<double> values(100000, 1.0);
  std::size_t const count = values.size();
  try {
    if (c->rank() == 1) std::this_thread::sleep_for(500ms);
    auto const under_way = c->start_collective(sla::collective::all_reduce, {}, std::as_writable_bytes(std::span(values)), {&count, 1}, sla::wire_type::float64, sla::monoid::sum);
    throw std::runtime_error("no convergence");
  } catch (std::exception const&) {
  }
  c->barrier();
  if (c->rank() == 0) std::printf("all ranks went on with %g\n", values.back());
  return 0;
}

/// Every rank but 0 exchanges `size` bytes with it.
void exchange_with_0(sla::any_communicator& c, std::size_t size) {
  std::vector<std::byte> const mine(size);
  std::vector<std::vector<std::byte>> theirs(3, std::vector<std::byte>(size));
  std::vector<sla::outgoing_message> sends;
  std::vector<sla::incoming_message> receives;
  for (int r = 0; r < c.size(); ++r)
    if (r != c.rank() && (r == 0 || c.rank() == 0)) sends.push_back({r, mine}), receives.push_back({r, theirs[r]});
  c.start(sends, receives)->wait();
}
/// The ranks do wait for each other for longer than their patience, and each time it ends well:
/// - turns: rank 0 for rank 1, which then waits for it in a barrier, while it waits for rank 2;
/// - large: in an exchange of messages that take long to travel;
/// - in_time: in one whose messages are there when the last word is heard that would end it.
int patient(int argc, char** argv, std::string_view how) {
  sla::mpi::environment mpi(argc, argv);
  mpi.world().barrier();
  mpi.world().compare_calls(how == "turns" ? 50ms : 1ms);
  auto const c = erase(mpi.world());
  begin(mpi.world());
  if (how == "turns") std::this_thread::sleep_for(c->rank() * c->rank() * 300ms);
  auto const start = std::chrono::steady_clock::now();
  if (how == "large") held_back = [=] { return std::chrono::steady_clock::now() - start < 500ms; };
  if (how == "in_time") held_back = [] { return reports_heard < 2; };
  exchange_with_0(*c, how == "large" ? 32 << 20 : 8);
  held_back = [] { return false; };
  c->barrier();
  double const sum = all_reduce(*c, 1.0);
  if (c->rank() == 0) std::printf("all ranks went on with %g\n", sum);
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  std::string_view const how = argc > 1 ? argv[1] : "";
  if (how == "outside") return outside(argc, argv);
  if (how == "inside") return inside(argc, argv);
  if (how == "together") return together(argc, argv);
  if (how == "elsewhere") return elsewhere(argc, argv);
  if (how == "killed") return killed(argc, argv);
  if (how == "leaves") return leaves(argc, argv);
  if (how == "late") return late(argc, argv);
  if (how.substr(0, 5) == "other") return other(argc, argv, how);
  if (how == "passing") return passing(argc, argv);
  if (how == "truncated") return truncated(argc, argv);
  if (how == "turns" || how == "large" || how == "in_time") return patient(argc, argv, how);
  sla::mpi::environment mpi(argc, argv);
  work(mpi.world()); // nobody catches
  return 0;
}

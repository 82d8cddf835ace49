// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rank 1 fails while the others wait for it. The test passes when the ranks end in time and this one's words are heard, or
// those of mpiexec where the rank is killed by a signal.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

#include <sla/adapter/mpi.hpp>
#include <sla/dist/typed.hpp>

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

/// Rank 2 leaves main while the others wait for it: rank 0 for all, rank 1 for a message.
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
  sla::mpi::environment mpi(argc, argv);
  work(mpi.world()); // nobody catches
  return 0;
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The communicator suite on MPI: as it is, with calls so short that everything travels in pieces, without comparing calls, and with results of reductions that one rank sends to all.
#include <chrono>
#include <thread>

#include <sla/adapter/mpi.hpp>

#include "expect.hpp"
#include "suites/communicator.hpp"

int main(int argc, char** argv) {
  sla::mpi::environment mpi(argc, argv);
  suite::communicator(*erase(mpi.world()));

  sla::mpi::world again(MPI_COMM_WORLD);
  again.limit_calls_to(5);
  suite::communicator(*erase(again));

  sla::mpi::world reduced(MPI_COMM_WORLD);
  reduced.compare_calls(std::chrono::seconds(0));
  reduced.want_equal_bits();
  suite::communicator(*erase(reduced));

  sla::mpi::world trusted(MPI_COMM_WORLD);
  trusted.compare_calls(std::chrono::seconds(0));
  suite::communicator(*erase(trusted));

  int mixed = 0;  // a rank may be a round ahead of others
  for (int round = 0; round < 300; ++round) {
    std::vector<std::size_t> send(std::size_t(trusted.size()));
    auto const told = [&](int from, int to) { return (from + to + round) % 3 == 0 ? std::size_t(1000 * round + 10 * from + to) : 0; };
    for (int r = 0; r < trusted.size(); ++r) send[std::size_t(r)] = told(trusted.rank(), r);
    if ((trusted.rank() + round) % 7 == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
    auto const heard = trusted.discover(send);
    for (int r = 0; r < trusted.size(); ++r) mixed += heard[std::size_t(r)] != told(r, trusted.rank());
  }
  expect(mixed == 0, "who has something for a rank is found round by round");

  auto const c = erase(mpi.world());
  expect(c->engine() == "mpi", "the engine's name");
  std::vector<double> some(200, 1.0 + c->rank()); // folded on the way to rank 0
  all_reduce(*c, std::span<double>(some));
  expect(some == std::vector<double>(200, c->size() * (c->size() + 1) / 2.0), "the sum of 200 numbers of each rank");
  if (c->size() > 1) {
    double data[2] = {1, 2};
    std::vector<sla::outgoing_message> const sends{sla::send_to(1, std::span<double const>(data, 1))};
    std::vector<sla::incoming_message> const receives{sla::receive_from(0, std::span<double>(data))};
    try {
      if (c->rank() == 0) c->start(sends, {})->wait();
      if (c->rank() == 1) c->start({}, receives)->wait();
      expect(c->rank() != 1, "a message of another length is an error");
    } catch (sla::rank_error const& e) {
      expect(e.rank() == 0 && c->rank() == 1, "the error names the sender");
    }
  }
  for (bool const repeats : {false, true}) {  // an exception passes while messages are under way: none of them is written to memory that has gone
    if (c->size() == 1) break;
    sla::mpi::world parted(MPI_COMM_WORLD);
    auto const d = erase(parted);
    std::vector<double> mine(100, 2.0);
    auto theirs = std::make_unique<std::vector<double>>(100, -1.0);
    d->barrier();
    if (d->rank() == 0) {
      try {
        std::vector<sla::incoming_message> const receives{sla::receive_from(1, std::span<double>(*theirs))};
        std::unique_ptr<sla::message_exchange> under_way;
        if (repeats) {
          auto again = d->repeat({}, receives);
          d->begin(*again);
          under_way = std::move(again);
        } else {
          under_way = d->start({}, receives);
        }
        throw std::runtime_error("of the user");
      } catch (std::runtime_error const&) {
      }
    }
    d->barrier();
    if (d->rank() == 1) {
      std::vector<sla::outgoing_message> const sends{sla::send_to(0, std::span<double const>(mine))};
      d->start(sends, {})->wait();
    }
    d->barrier();
    if (d->rank() == 0) {
      expect(*theirs == std::vector<double>(100, -1.0), "a message that was given up arrives nowhere");
      try {
        std::vector<sla::incoming_message> const receives{sla::receive_from(1, std::span<double>(*theirs))};
        d->start({}, receives)->wait();
        expect(false, "the next exchange would take it for its own");
      } catch (sla::rank_error const&) {
      }
    }
    d->barrier();
  }
  return failures();
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The communicator suite on MPI: as it is, with calls so short that everything travels in pieces, and without comparing calls.
#include <sla/adapter/mpi.hpp>

#include "expect.hpp"
#include "suites/communicator.hpp"

int main(int argc, char** argv) {
  sla::mpi::environment mpi(argc, argv);
  suite::communicator(*erase(mpi.world()));

  sla::mpi::world again(MPI_COMM_WORLD);
  again.limit_calls_to(5);
  suite::communicator(*erase(again));

  sla::mpi::world trusted(MPI_COMM_WORLD);
  trusted.compare_calls(std::chrono::seconds(0));
  suite::communicator(*erase(trusted));

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
  return failures();
}

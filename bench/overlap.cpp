// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products on two ranks of MPI: what of the halo has arrived when the interior rows are done, with and without moving messages on between
// the blocks of these.      mpirun -n 2 overlap [planes [side [repetitions]]]
#include <sla/adapter/mpi.hpp>
#include <sla/dist/assembly/problems_on_ranks.hpp>
#include <sla/dist/assembly/vectors.hpp>
#include <sla/dist/matrix/matrix_product.hpp>

#include "table.hpp"

namespace {
using namespace sla;

struct record {
  bool moves = true;  ///< do passes move messages on?
  int exchanges = 0, there = 0;
  double waited = 0;
};
/// MPI, whose exchanges are watched.
struct watched_world : mpi::world {
  static inline record now;
  struct watched final : repeated_exchange {
    std::unique_ptr<repeated_exchange> of;
    explicit watched(std::unique_ptr<repeated_exchange> e) : of(std::move(e)) {}
    void begin() override { of->begin(); }
    bool done() override { return of->done(); }
    bool advance() override { return now.moves ? of->advance() : true; }
    void wait() override {
      double const t = bench::seconds([&] { of->wait(); });
      now.waited += t;
      ++now.exchanges;
      now.there += t < 10e-6;  // it took as long as one look at what is there
    }
  };
  explicit watched_world(mpi::world const& w) : mpi::world(w) {}
  watched_world split(int color, int key) { return watched_world(mpi::world::split(color, key)); }
  std::unique_ptr<repeated_exchange> repeat(std::span<outgoing_message const> sends, std::span<incoming_message const> receives) {
    return std::make_unique<watched>(mpi::world::repeat(sends, receives));
  }
};

struct figures {
  bench::samples product, wait, there;
};
}  // namespace

int main(int argc, char** argv) {
  mpi::environment environment(argc, argv);
  index_t const planes = bench::argument(argc, argv, 1, 32), side = bench::argument(argc, argv, 2, 300);
  int const repetitions = int(bench::argument(argc, argv, 3, 9)), products = 10;
  set_threads(1);
  watched_world world(environment.world());
  mesh<axis<"rows">> m(world);
  auto const D = problems::poisson<double>(m, {planes, side, side});
  auto const x = generate(D.row_layout(), [](index_t i) { return double(i % 17); });
  auto y = eval(D * x);
  auto const slowest = [&](double t) { return all_reduce(m.world(), t, monoid::maximum); };
  figures found[2];
  for (int k = 0; k < repetitions; ++k)
    for (int const moves : {0, 1}) {
      watched_world::now = {.moves = moves == 1};
      double product = 0;
      for (int n = 0; n < products; ++n) {
        m.world().barrier();
        product += bench::seconds([&] { y = D * x; });
      }
      found[moves].product.add(slowest(product / products));
      found[moves].wait.add(slowest(watched_world::now.waited / products));
      found[moves].there.add(all_reduce(m.world(), 100.0 * watched_world::now.there / watched_world::now.exchanges) / world.size());
    }
  if (world.rank() != 0) return 0;
  bench::heading("A product on two ranks of MPI");
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(version, &length);
  std::cout << "3-D Poisson, " << planes << " x " << side << " x " << side << ", rows in strips, one thread per rank, " << world.size() << " ranks; a message is a plane of "
            << side * side * 8 / 1024 << " KiB. " << std::string(version).substr(0, std::string(version).find(',')) << ", "
            << (std::getenv("OMPI_MCA_btl") ? std::getenv("OMPI_MCA_btl") : "its own choice of transport") << ". The slower rank's times.\n\n";
  {
    bench::table out({"messages are moved on", "ms per product", "us in the wait for the halo", "% of halos that were there at once"});
    char const* const names[] = {"in the wait alone", "between blocks of interior rows"};
    for (int const k : {0, 1}) out.row({names[k], bench::spread(found[k].product, 2, 1e3), bench::spread(found[k].wait, 0, 1e6), bench::spread(found[k].there, 0)});
  }
  std::cout << "Product without moving on, of the one with: " << bench::spread(found[0].product / found[1].product, 2) << "\n\n";
}

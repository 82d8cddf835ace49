// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rank 1 is killed in the middle of a halo, an assembly or a save, disagrees about a layout, or has nothing: three ranks hear of it in time, and what was
// saved before is there. The engine by itself is in failing_rank.cpp.
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

#include <sla/adapter/mpi.hpp>
#include <sla/dist/assembly/assemble.hpp>
#include <sla/dist/assembly/problems_on_ranks.hpp>
#include <sla/dist/files/load.hpp>
#include <sla/dist/matrix/matrix_product.hpp>
#include <sla/dist/value/reductions.hpp>
#include <sla/dist/value/scalars.hpp>

namespace {

// Through MPI's interface for tools the test decides in which message of rank 1 the signal comes.
int messages_left = -1;
void may_die() {
  if (messages_left > 0 && --messages_left == 0) std::raise(SIGKILL);
}

} // namespace

extern "C" int MPI_Start(MPI_Request* request) {
  may_die();
  return PMPI_Start(request);
}
extern "C" int MPI_Isend(void const* data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  may_die();
  return PMPI_Isend(data, n, type, to, tag, comm, request);
}

namespace {

using namespace sla;
using Line = mesh<axis<"rows">>;

void begin(Line const& m) {
  m.communicator(0).barrier();
  if (m.coordinate(0) != 0) return;
  std::printf("all ranks begin\n");
  std::fflush(stdout);
}
void let_rank_1_die(Line const& m, int message) {
  if (m.coordinate(0) == 1) messages_left = message;
}

/// Rank 1 has begun two receives and a send of four messages.
int killed_in_halo(Line const& m) {
  auto const K = problems::poisson<double>(m, {20, 30});
  auto const x = generate(K.row_layout(), [](index_t i) { return double(i); });
  vector<double> y = eval(K * x).local();
  begin(m);
  let_rank_1_die(m, 4);
  y = eval(K * x).local();
  return std::printf("a rank went on\n");
}

/// Each rank has rows of the next one, and sends them.
int killed_in_assembly(Line const& m) {
  index_t const n = 90;
  std::vector<index_t> i, j;
  for (index_t k = 0; k < n; ++k) i.push_back((30 * m.coordinate(0) + k) % n), j.push_back(k);
  std::vector<double> const v(i.size(), 1.0);
  begin(m);
  let_rank_1_die(m, 2);
  auto const D = assemble<SparseShard<0>>(m, n, n, i, j, v);
  return std::printf("a rank went on with %d entries\n", int(D.local().nnz()));
}

/// A disk on which rank 1 dies when half of its second piece is written.
struct deadly_disk : detail::system_disk {
  int pieces = 0;
  bool deadly;
  explicit deadly_disk(bool is) : deadly(is) {}

  void write(int file, std::string const& name, index_t at, void const* data, index_t bytes) {
    bool const last = deadly && ++pieces == 2;
    detail::system_disk::write(file, name, at, data, last ? bytes / 2 : bytes);
    if (last) std::raise(SIGKILL);
  }
};
/// What is saved: the vector tells which state it is.
auto state(Line const& m, double number) {
  auto K = problems::poisson<double>(m, {60, 200});
  auto x = generate(K.row_layout(), [number](index_t i) { return number + double(i); });
  return std::pair(std::move(K), std::move(x));
}
int killed_in_save(Line const& m, std::string const& path) {
  auto const [K, x] = state(m, 0.25);
  save(path, K, x);
  auto const [K2, x2] = state(m, 0.5);
  begin(m);
  deadly_disk disk(m.coordinate(0) == 1);
  detail::save_on(disk, path, K2, x2);
  return std::printf("a rank went on\n");
}
int load_the_first(Line const& m, std::string const& path) {
  auto const [K, x] = state(m, 0.25);
  auto const [K2, x2] = load<std::remove_cvref_t<decltype(K)>, std::remove_cvref_t<decltype(x)>>(m, path);
  bool const right = norm(x2 - x) <= 0 && norm(K2 * x2 - K * x) <= 0;
  if (m.coordinate(0) == 0) std::printf(right ? "the last good copy is there\n" : "another state\n");
  return right ? 0 : 1;
}

/// Rank 1 has other owners in mind: every rank hears of it, and goes on.
int other_layout(Line const& m) {
  auto const A = problems::poisson<double>({10, 9});
  begin(m);
  try {
    auto const D = distribute<SparseShard<0>>(A, m, m.coordinate(0) == 1 ? owner_map(std::vector<index_t>{0, 10, 20, 90}) : owner_map::equal(90, 3));
  } catch (error const& e) {
    std::printf("rank %d heard: %s\n", m.coordinate(0), e.what());
  }
  double const sum = all_reduce(m.communicator(0), 1.0);
  if (m.coordinate(0) == 0) std::printf("all ranks went on with %g\n", sum);
  return 0;
}

/// Two rows on three ranks, and all rows on one.
int few_rows(Line const& m, std::string const& path) {
  begin(m);
  auto const right = [&](auto const& owners) {
    auto const K = problems::poisson<double>(m, {2}, owners);
    auto const x = generate(K.row_layout(), [](index_t i) { return double(i + 1); });
    auto const y = assemble(K.row_layout(), std::vector<index_t>{0, 1}, std::vector<double>{1.0, 2.0});
    save(path, K, x);
    auto const [K2, x2] = load<std::remove_cvref_t<decltype(K)>, std::remove_cvref_t<decltype(x)>>(m, path);
    auto const Kx = generate(K.row_layout(), [](index_t i) { return i == 0 ? 0.0 : 3.0; });
    return norm(y - 3.0 * x) <= 0 && norm(K2 * x2 - K * x) <= 0 && norm(K * x - Kx) <= 0;
  };
  bool const all = right(owner_map::equal(2, 3)) && right(owner_map(std::vector<index_t>{0, 0, 2, 2}));
  if (m.coordinate(0) == 0) std::printf(all ? "few rows are right\n" : "few rows are wrong\n");
  return all ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
  std::string_view const how = argc > 1 ? argv[1] : "";
  std::string const path = argc > 2 ? argv[2] : "state";
  mpi::environment mpi(argc, argv);
  Line const m(mpi.world());
  if (how == "halo") return killed_in_halo(m);
  if (how == "assembly") return killed_in_assembly(m);
  if (how == "save") return killed_in_save(m, path);
  if (how == "load") return load_the_first(m, path);
  if (how == "layout") return other_layout(m);
  if (how == "few_rows") return few_rows(m, path);
  return 1;
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a call of metis_kway costs besides METIS itself, and the quality of strips, rcb and metis_kway.
// partition [n [repetitions [matrix.mtx or matrix.mtx.gz ...]]]
#include <sla/adapter/gzip.hpp>
#include <sla/adapter/metis.hpp>
#include <sla/dist/partition/quality.hpp>
#include <sla/dist/partition/rcb.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "table.hpp"

namespace {
using namespace sla;

double in_metis = 0;  ///< seconds of the last call of METIS
}  // namespace

/// The linker puts these around METIS (bench/CMakeLists.txt): what a call costs besides METIS is then known call by call.
extern "C" decltype(METIS_PartGraphKway) __real_METIS_PartGraphKway;
extern "C" int __wrap_METIS_PartGraphKway(idx_t* rows, idx_t* constraints, idx_t* begin, idx_t* target, idx_t* work, idx_t* sizes, idx_t* weights, idx_t* parts,
                                          ::real_t* shares, ::real_t* balance, idx_t* options, idx_t* reached, idx_t* owner) {
  int status = METIS_ERROR;
  in_metis = bench::cpu_seconds([&] {
    status = __real_METIS_PartGraphKway(rows, constraints, begin, target, work, sizes, weights, parts, shares, balance, options, reached, owner);
  });
  return status;
}

namespace {
void overhead(bench::table& out, std::string const& name, sparse_tensor<double> const& A, int repetitions) {
  for (int parts : {2, 8, 64}) {
    bench::samples call, inside, more;
    for (int k = -1; k < repetitions; ++k) {
      double const all = bench::cpu_seconds([&] { (void)partition(A, parts, metis_kway{}); });
      if (k >= 0) call.add(all), inside.add(in_metis), more.add(100 * (all / in_metis - 1));
    }
    out.row({name, text(parts), bench::spread(call, 0, 1e3), bench::spread(inside, 0, 1e3), bench::spread(more, 1),
             text("< 5: ", more.median() < 5 ? "met" : "missed")});
  }
}

template <class Cut>
void quality(bench::table& out, std::string const& name, std::string const& how, sparse_tensor<double> const& A, Cut const& cut) {
  for (int parts : {2, 8, 64}) {
    owner_map owners;
    double const t = bench::seconds([&] { owners = partition(A, parts, cut); });
    auto const q = partition_quality(A, owners);
    using part = partition_report::part;
    out.row({name, how, text(parts), text(*q.edge_cut), text(q.halo()), text(q.most(&part::ghosts)), text(q.messages()), text(q.most(&part::neighbours)),
             bench::fixed(q.row_balance(), 3), bench::fixed(q.entry_balance(), 3), bench::fixed(t * 1e3, 1)});
  }
}

sparse_tensor<double> read(std::string const& path) {
  return path.ends_with(".gz") ? read_matrix_market_gzip<double>(path) : read_matrix_market<double>(path);
}
}  // namespace

int main(int argc, char** argv) {
  index_t const n = bench::argument(argc, argv, 1, 1000);
  int const repetitions = int(bench::argument(argc, argv, 2, 5));
  bench::heading("Partitions");
  auto const poisson = problems::poisson<double>({n, n});
  std::string const grid = text("2-D Poisson, ", n, " x ", n);
  std::vector<std::pair<std::string, sparse_tensor<double>>> others;
  for (int k = 3; k < argc; ++k) {
    std::string const path = argv[k];
    others.emplace_back(path.substr(path.rfind('/') + 1), read(path));
  }
  {
    std::cout << "A call of `partition(A, parts, metis_kway{})` and METIS_PartGraphKway within the same call; objective volume.\n"
                 "Processor time of the thread that calls, which shares the rest of the call with others: " << threads_in_use() << " threads.\n\n";
    bench::table out({"matrix", "parts", "ms", "ms in METIS", "overhead in %", "target"});
    overhead(out, grid, poisson, repetitions);
    for (auto const& [name, A] : others) overhead(out, name, A, repetitions);
  }
  std::cout << "Quality; the work of a row is its entries and 3. rcb needs coordinates, which only the grid has. Balance: the largest over the mean.\n\n";
  matrix<double> xy({n * n, 2});
  for (index_t i = 0; i < n * n; ++i) xy(i, 0) = double(i % n), xy(i, 1) = double(i / n);
  bench::table out({"matrix", "partitioner", "parts", "edge cut", "volume", "most of one part", "messages", "most of one part", "rows", "entries", "ms"});
  quality(out, grid, "strips", poisson, strips{});
  quality(out, grid, "rcb", poisson, rcb{xy});
  quality(out, grid, "metis_kway", poisson, metis_kway{});
  for (auto const& [name, A] : others) {
    quality(out, name, "strips", A, strips{});
    quality(out, name, "metis_kway", A, metis_kway{});
  }
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a call of metis_kway costs beside METIS itself, and the quality of strips, rcb and metis_kway.
// partition [n [repetitions [matrix.mtx or matrix.mtx.gz ...]]]
#include <sla/adapter/gzip.hpp>
#include <sla/adapter/metis.hpp>
#include <sla/dist/partition/quality.hpp>
#include <sla/dist/partition/rcb.hpp>
#include <sla/tensor/problems.hpp>

#include "table.hpp"

namespace {
using namespace sla;

void overhead(bench::table& out, std::string const& name, sparse_tensor<double> const& A, int repetitions) {
  for (int parts : {2, 8, 64}) {
    auto const view = A.pattern().view();
    auto graph = graph_of<idx_t>(view, "bench");
    auto work = detail::row_costs<idx_t>(view, metis_kway{}.row_weight, "bench");
    idx_t rows = idx_t(A.rows()), one = 1, wanted = parts, volume = 0, options[METIS_NOPTIONS];
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_OBJTYPE] = METIS_OBJTYPE_VOL;
    options[METIS_OPTION_UFACTOR] = 30;
    options[METIS_OPTION_SEED] = 0;
    std::vector<idx_t> owner(std::size_t(A.rows()));
    auto const [ours, alone] = bench::interleaved(
        repetitions, [&] { (void)partition(A, parts, metis_kway{}); },
        [&] {
          METIS_PartGraphKway(&rows, &one, graph.begin.data(), graph.target.data(), work.data(), nullptr, nullptr, &wanted, nullptr, nullptr, options,
                              &volume, owner.data());
        });
    auto const more = (ours / alone).map([](double ratio) { return 100 * (ratio - 1); });
    auto const built = bench::interleaved(repetitions, [&] { (void)graph_of<idx_t>(view, "bench"); })[0];
    out.row({name, text(parts), bench::spread(ours, 0, 1e3), bench::spread(alone, 0, 1e3), bench::spread(more, 1),
             text("<= 5: ", more.median() <= 5 ? "met" : "missed"), bench::spread(built, 1, 1e3)});
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
    std::cout << "A call of `partition(A, parts, metis_kway{})` beside METIS_PartGraphKway on the graph and the weights that it builds; objective volume.\n\n";
    bench::table out({"matrix", "parts", "ms", "ms in METIS", "overhead in %", "target", "ms for the graph"});
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

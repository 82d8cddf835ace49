// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Solves on ranks that have whole copies, and preconditioners of own blocks that fail on one rank: reports say on every rank what that of one rank says.
#include <string>
#include <vector>

#include <sla/dist.hpp>
#include <sla/solve.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"

namespace test_copies {

using namespace sla;
using Rows = mesh<axis<"rows">>;

namespace {
/// What a report says, without times; memory is measured beside other threads, and is not compared.
struct told {
  std::string method, preconditioner, choice;
  std::vector<reason> why;
  std::size_t bytes;
  bool operator==(told const& t) const { return method == t.method && preconditioner == t.preconditioner && choice == t.choice && why == t.why; }
  friend std::ostream& operator<<(std::ostream& out, told const& t) {
    out << t.method << " | " << t.preconditioner << " | " << t.choice << " | " << t.bytes << " bytes |";
    for (reason why : t.why) out << ' ' << to_string(why);
    return out;
  }
};
told words_of(report const& r) {
  told out{r.method, r.preconditioner, r.choice, {}, r.bytes};
  for (progress const& item : r.items) out.why.push_back(item.state);
  return out;
}
/// On copies every rank reports what one rank does.
template <class A, class B, class... Options>
told as_on_one_rank(A const& a, B const& b, Options const&... options) {
  auto const one = words_of(try_solve(a, b, options...).report);
  for (int ranks : {1, 2, 3, 4, 8})
    for (auto const& seen : threads::run(ranks, [&](auto& world) {
           Rows m(world);
           auto const D = distribute<Replicate>(a, m);
           auto const db = distribute<Replicate>(b, m);
           auto const words = words_of(prepare(D, options...).try_solve(db).report);
           return std::pair(words_of(try_solve(D, db, options...).report), words);
         })) {
      INFO(ranks << " ranks");
      CHECK(seen.first == one);
      CHECK(seen.second == one);
      CHECK((seen.first.bytes > 0) == (one.bytes > 0));
    }
  return one;
}
/// Constants are its null space.
sparse_tensor<double> laplacian(index_t n) {
  triplets<double> t(n, n);
  for (index_t i = 0; i < n; ++i) t.add(i, i, i == 0 || i == n - 1 ? 1.0 : 2.0);
  for (index_t i = 1; i < n; ++i) t.add(i, i - 1, -1.0), t.add(i - 1, i, -1.0);
  return t.build();
}
} // namespace

TEST_CASE("on copies a singular matrix is singular, as on one rank, with the memory of the factors and remarks") {
  auto const A = laplacian(12);
  auto const b = random<double>({12}, 5);
  CHECK(as_on_one_rank(A, b, lu{}).why == std::vector{reason::singular});
  CHECK(as_on_one_rank(A, b, ldlt{}).why == std::vector{reason::zero_pivot});
  auto const K = problems::convection_diffusion<double>({7, 6}, 1.0);
  auto const f = random<double>({42}, 5);
  CHECK(as_on_one_rank(K, f, lu{}).bytes > 0);
  CHECK(as_on_one_rank(K, f, gmres{}, ilut{}).preconditioner.find("x the entries of A") != std::string::npos);
  CHECK(as_on_one_rank(K, f, gmres{}, factor<factorization::lu>{}).bytes > 0);
  auto batch = to_batch<2>(A);  // the second item is regular
  for (index_t i = 0; i < A.rows(); ++i)
    A.pattern().view().for_row(i, [&](index_t s, index_t j) { batch.values()[A.nnz() + s] += i == j ? 1 : 0; });
  CHECK(as_on_one_rank(batch, random<double, Extents<2, dyn>>({2, 12}, 5), lu{}).why == std::vector{reason::singular, reason::converged});
}

TEST_CASE("factors of own blocks, of which one rank's fail, are said to on every rank") {
  // Two systems beside each other, of which the second one is singular; it is that of the last rank.
  auto const A = laplacian(12);
  triplets<double> t(24, 24);
  for (index_t i = 0; i < 12; ++i)
    A.pattern().view().for_row(i, [&](index_t s, index_t j) { t.add(i, j, A.values()[s] + (i == j ? 1 : 0)), t.add(12 + i, 12 + j, A.values()[s]); });
  auto const K = t.build();
  auto const b = random<double>({24}, 5);
  auto const one = words_of(try_solve(K, b, gmres{.max_iterations = 30}, factor<factorization::lu>{}).report);
  CHECK(one.why == std::vector{reason::singular});
  for (int ranks : {1, 2}) {
    auto const all = threads::run(ranks, [&](auto& world) {
      Rows m(world);
      auto const D = distribute<SparseShard<0>>(K, m, equal_rows{});
      auto const db = distribute(b, D.row_layout());
      auto s = prepare(2.0 * D + eye<double>(D.row_layout()), gmres{.max_iterations = 30}, factor<factorization::lu>{});
      bool const before = s.try_solve(db).report.converged();
      s.update(add(1.0, D, 0.0, eye<double>(D.row_layout())));
      auto const updated = words_of(s.try_solve(db).report);
      return std::tuple(words_of(try_solve(D, db, gmres{.max_iterations = 30}, factor<factorization::lu>{}).report), updated, before, words_of(try_solve(2.0 * D + eye<double>(D.row_layout()), db, gmres{}, ilut{}).report));
    });
    for (auto const& [words, updated, before, thin] : all) {
      INFO(ranks << " ranks: " << words << "; one: " << one << "; " << thin);
      CHECK(before);
      CHECK(words.why == one.why);
      CHECK((words == std::get<0>(all[0]) && updated == std::get<1>(all[0]) && thin == std::get<3>(all[0])));
      CHECK(updated.why == one.why);
      CHECK(words.bytes > 0);
      CHECK(words.choice.find("is zero") != std::string::npos);
      CHECK((thin.preconditioner.find(", on the first of 2 ranks") != std::string::npos) == (ranks == 2));
    }
  }
}

} // namespace test_copies

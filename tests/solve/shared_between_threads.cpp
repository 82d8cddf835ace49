// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Const objects that several threads use at once: each thread has the results of one thread alone. The thread sanitizer sees the rest.
#include <atomic>
#include <thread>
#include <vector>

#include <sla/grad.hpp>
#include <sla/solve.hpp>
#include <sla/tensor.hpp>

#include "catch.hpp"

namespace test_shared_between_threads {

using namespace sla;

namespace {
constexpr int threads_of_test = 4;

/// f(k) on thread k, all at once. What one throws is thrown.
template <class F>
void at_once(F const& f) {
  std::atomic<int> waiting{threads_of_test};
  std::vector<std::exception_ptr> failures(threads_of_test);
  std::vector<std::thread> team;
  for (int k = 0; k < threads_of_test; ++k)
    team.emplace_back([&, k] {
      for (--waiting; waiting.load() > 0;) std::this_thread::yield();
      try {
        f(k);
      } catch (...) {
        failures[std::size_t(k)] = std::current_exception();
      }
    });
  for (auto& t : team) t.join();
  for (auto const& e : failures)
    if (e) std::rethrow_exception(e);
}

vector<double> side(int k) { return random<double>({90}, std::uint64_t(k + 1)); }

sparse_tensor<double> unsymmetric() {
  auto A = problems::poisson<double>({10, 9});
  for (index_t n = 0; n < A.values().size(); n += 3) A.values()[n] *= 1.1;
  return A;
}

/// Each thread solves with the one object, and so with a copy of it, as a thread alone does with one of its own.
template <class Make>
void same_solutions(Make const& make) {
  auto const alone = make();
  std::vector<vector<double>> x, xt;
  for (int k = 0; k < threads_of_test; ++k) x.push_back(alone.solve(side(k))), xt.push_back(alone.solve_transpose(side(k)));
  auto const shared = make();
  std::atomic<int> wrong{0};
  at_once([&](int k) {
    auto const at = std::size_t(k);
    auto const differs = [&](vector<double> const& got, vector<double> const& wanted) { wrong += double(norm(got - wanted)) > 1e-6 * double(norm(wanted)); };
    differs(shared.solve_transpose(side(k)), xt[at]);
    differs(shared.solve(side(k)), x[at]);
    auto const copy = shared;
    differs(copy.solve_transpose(side(k)), xt[at]);
  });
  CHECK(wrong == 0);
}
template <class Method, class P>
void same_solutions(sparse_tensor<double> const& A, Method const& method, P const& p) {
  CAPTURE(Method::name, P::name);
  same_solutions([&] { return prepare(A, method, p); });
}
} // namespace

TEST_CASE("one const object of factors serves several threads") {
  auto const A = unsymmetric(), D = problems::poisson<double>({10, 9});
  same_solutions([&] { return lu(A); });
  same_solutions([&] { return cholesky(D); });
  same_solutions([&] { return ldlt(D); });
}

TEST_CASE("one const prepared solver serves several threads, whatever its preconditioner") {
  auto const A = unsymmetric(), D = problems::poisson<double>({10, 9});
  same_solutions(D, cg{.rtol = 1e-10}, jacobi{});
  same_solutions(D, cg{.rtol = 1e-10}, ssor{});
  same_solutions(D, cg{.rtol = 1e-10}, chebyshev{});
  same_solutions(D, cg{.rtol = 1e-10}, schwarz(ic0{}, {.parts = 3}));
  same_solutions(D, minres{.rtol = 1e-10}, row_norms{});
  same_solutions(A, bicgstab{.rtol = 1e-10}, ilu0{});
  same_solutions(A, gmres{.rtol = 1e-10}, block_jacobi{.size = 3});
  same_solutions(A, fgmres{.rtol = 1e-10}, inner(gmres{.max_iterations = 3}, jacobi{}));
}

TEST_CASE("the automatic choice is made once for several threads") {
  auto const A = unsymmetric(), D = problems::poisson<double>({10, 9});
  same_solutions([&] { return prepare(D); });
  same_solutions([&] { return prepare(A); });
  // Every 2 x 2 minor on the diagonal vanishes: ldlt and cg fail, and lu holds.
  auto const block = from_triplets<double>(3, 3, {0, 0, 0, 1, 1, 1, 2, 2, 2}, {0, 1, 2, 0, 1, 2, 0, 1, 2}, {1.0, 1.0, 1.0, 1.0, 1.0, -1.0, 1.0, -1.0, 1.0});
  auto const climbed = sparse_list(std::vector(30, block)).packed();
  same_solutions([&] { return prepare(climbed); });
}

TEST_CASE("a copy that is updated leaves the threads alone that solve with the others") {
  auto const A = unsymmetric();
  auto const s = lu(A);
  auto const p = prepare(A);
  auto const x = s.solve(side(0)), xt = s.solve_transpose(side(0));
  std::atomic<int> wrong{0};
  at_once([&](int k) {
    auto mine = s;
    auto chosen = p;
    if (k % 2) mine.refactor(2.0 * A), chosen.update(2.0 * A);
    double const scale = k % 2 ? 2 : 1;
    for (int again = 0; again < 3; ++again) {
      wrong += double(norm(scale * mine.solve(side(0)) - x)) > 1e-10 * double(norm(x));
      wrong += double(norm(scale * chosen.solve(side(0)) - x)) > 1e-6 * double(norm(x));
      wrong += double(norm(scale * mine.solve_transpose(side(0)) - xt)) > 1e-10 * double(norm(xt));
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("const matrices, plans and functions serve several threads") {
  auto const A = unsymmetric();
  multiply_plan const product(A, A);
  transpose_plan<Csr<>> const turn(A.pattern());
  sparse_list const list(std::vector{A, A});
  auto const squared = product(A, A);
  auto const loss = [&](auto const& M, auto const& b) { return 0.5 * squared_norm(solve(M, b, bicgstab{.rtol = 1e-12}, ilu0{})); };
  auto const alone = value_and_gradient(loss, A, side(0));
  std::atomic<int> wrong{0};
  at_once([&](int k) {
    wrong += double(norm(product(A, A) - squared)) != 0;
    wrong += double(norm(turn.transpose(A) * side(k) - transpose(A) * side(k))) > 1e-12;
    wrong += double(norm(A * side(k) - to<Coo<>>(A) * side(k))) > 1e-12;
    wrong += properties(A).rows != 90;
    wrong += solve(list, std::vector{side(k), side(k)}, bicgstab{}, ilu0{}).size() != 2;
    auto const mine = value_and_gradient(loss, A, side(0));
    wrong += std::get<0>(mine) != std::get<0>(alone) || double(norm(std::get<2>(mine) - std::get<2>(alone))) != 0;
  });
  CHECK(wrong == 0);
}
} // namespace test_shared_between_threads

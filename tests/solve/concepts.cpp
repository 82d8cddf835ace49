// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The library's methods and preconditioners are what the concepts say that solves call. What misses a member is refused by a sentence
// that names it: tests/compile_fail/solve.
#include <complex>

#include <sla/solve.hpp>

#include "catch.hpp"

using namespace sla;

namespace {
struct lonely {
  using method_tag = void;
  static constexpr char const* name = "lonely";
};
template <class T>
constexpr bool has_all_preconditioners() {
  using A = sparse_tensor<T>;
  using V = vector<T>;
  static_assert(Preconditioner<identity, A, V> && Preconditioner<jacobi, A, V> && Preconditioner<row_norms, A, V> && Preconditioner<block_jacobi, A, V>);
  static_assert(Preconditioner<ilu0, A, V> && Preconditioner<iluk, A, V> && Preconditioner<ilut, A, V> && Preconditioner<ic0, A, V> && Preconditioner<ssor, A, V>);
  static_assert(Preconditioner<gauss_seidel, A, V> && Preconditioner<chebyshev, A, V> && Preconditioner<amg, A, V>);
  static_assert(Preconditioner<decltype(schwarz(ic0{})), A, V> && Preconditioner<decltype(inner(cg{}, jacobi{})), A, V>);
  return true;
}
}  // namespace

TEST_CASE("methods and preconditioners have the members that solves call of them") {
  static_assert(Method<cg> && Method<minres> && Method<bicgstab> && Method<gmres> && Method<fgmres> && Method<automatic>);
  static_assert(Method<lu<>> && Method<cholesky<>> && Method<ldlt<>> && Method<refinement<factorization::lu>>);
  static_assert(!Method<jacobi> && !Method<lonely>);
  static_assert(has_all_preconditioners<double>() && has_all_preconditioners<std::complex<double>>());
  static_assert(!Preconditioner<cg, sparse_tensor<double>, vector<double>>);
  CHECK(has_all_preconditioners<double>());
}

namespace {
/// Returns without the outcome() of its stop test, or without any.
struct hasty : cg {
  bool makes_test = true;
  template <class S, class A, class M, class V, class MakeStop>
  std::vector<progress> run(S& space, A const&, M const&, V const& b, V&, MakeStop make_stop) const {
    auto [bb] = fuse(space, squared_norm_of(b));
    if (makes_test) (void)make_stop(space, bb);
    return {{reason::converged, 0, 0.0}};
  }
};
}  // namespace

TEST_CASE("a method whose run does not finish its stop test is told so") {
  auto const A = problems::poisson<double>({4, 3});
  for (bool const makes_test : {true, false}) {
    hasty method;
    method.makes_test = makes_test;
    CHECK_THROWS_WITH(try_solve(A, ones<double>(A.rows()), method), Catch::Matchers::ContainsSubstring("outcome()"));
  }
}

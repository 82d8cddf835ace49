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

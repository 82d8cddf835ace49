// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The five examples of CONTRIBUTING.md, which shows parts of them: a method, a preconditioner, a format, a rule of differentiation and an
// operation on ranks. Each is what a header would have and, below it, its test.

// A Krylov method: include/sla/solve/krylov/steepest_descent.hpp
#include <sla/sla.hpp>  // a method itself wants sla/solve/seam/stop.hpp
#include <sla/check.hpp>
#include <sla/spmd/rule/tables.hpp>

#include "suites/krylov.hpp"

namespace sla {
/// Steepest descent, preconditioned, for Hermitian positive definite A and M. Cost: two passes per iteration. Memory: 3 vectors.
/// Source: Saad, Iterative Methods for Sparse Linear Systems, algorithm 5.2.
struct steepest_descent {
  relative_tolerance rtol = default_rule().rtol;
  double atol = default_rule().atol;
  int max_iterations = default_rule().max_iterations;
  observer watch = {};

  using method_tag = void;
  static constexpr char const* name = "steepest descent";
  static constexpr bool needs_definite = true;

  /// Improves x until `make_stop`'s test is content. Returns one progress per item.
  template <class S, class A, class M, class V, class MakeStop>
    requires Space<S, V> && LinearOperator<A, V> && LinearOperator<M, V>
  static constexpr auto run(S& space, A const& a, M const& m, V const& b, V& x, MakeStop make_stop) {
    using T = typename V::value_type;
    auto r = space.template like<T>(b), z = space.template like<T>(b), q = space.template like<T>(b);

    auto [rz, rr, bb] = fuse(space, set(r, b - a * x), set(z, m * r), dot_of(r, z), squared_norm_of(r), squared_norm_of(b));
    auto stop = make_stop(space, bb);
    while (stop.go_on(rr)) {
      auto [zq] = fuse(space, set(q, a * z), dot_of(z, q));
      auto alpha = stop.ratio(rz, zq, reason::indefinite_matrix);
      auto [rz2, rr2] = fuse(space, set(x, x + alpha * z), set(r, r - alpha * q), set(z, m * r), dot_of(r, z), squared_norm_of(r));
      rz = rz2, rr = rr2;
    }
    return stop.outcome();
  }
};
} // namespace sla

// tests/solve/steepest_descent.cpp

/// The solution that each of three ranks has, compared with dense algebra.
auto const is_right_on_ranks = [](auto const& A, auto const& b, auto const& method, auto const& preconditioner) {
  for (auto const& x : sla::threads::run(3, [&](auto& world) {
         sla::mesh<sla::axis<"rows">> m(world);
         auto const D = sla::distribute<sla::SparseShard<0>>(A, m, sla::strips{});
         return sla::gather(sla::solve(D, sla::distribute(b, D.row_layout()), method, preconditioner));
       }))
    suite::is_dense_solution(A, b, x, 1e-7);
};

TEST_CASE("steepest descent gives the dense solution on the host, the same bits on a queue of any lag, and the solution on ranks") {
  suite::plain(sla::steepest_descent{.rtol = 1e-9});
  auto const A = sla::problems::poisson<double>({8, 7});
  is_right_on_ranks(A, sla::random<double>(A.rows(), 1), sla::steepest_descent{.rtol = 1e-10}, sla::jacobi{});
}

// A preconditioner: include/sla/solve/precond/composed/damped.hpp
namespace sla {
/// What `damped{}.setup(A)` makes: omega D^-1, elementwise, so that it costs no pass of its own.
template <class V>
struct applied_damped {
  double omega;
  V factor;

  applied_damped adjoint() const { return {omega, V(conj(factor))}; }
  template <class A>
  void update(A const& a) {
    factor = omega * inverse_of_diagonal(a, "damped");
  }
  template <Tensorial X>
  friend auto operator*(applied_damped const& M, X&& x) {
    return M.factor * std::forward<X>(x);
  }
};

/// The damped inverse of the diagonal. Law: one right-hand side. Errors: value_error naming the row whose diagonal entry is zero or missing.
struct damped {
  double omega = 0.5;

  using preconditioner_tag = void;
  static constexpr char const* name = "damped";
  template <class T, class S, class F>
  auto setup(sparse_tensor<T, S, F> const& A) const {
    applied_damped<tensor<T, range_extents_t<S>>> made{omega, {}};
    made.update(A);
    return made;
  }
};
} // namespace sla

// tests/solve/damped.cpp
TEST_CASE("conjugate gradients do not see the factor of a preconditioner, which takes new values, and runs on ranks") {
  auto const A = sla::problems::checkerboard({11, 11}, 10.0, 2);
  auto const b = sla::random<double>(A.rows(), 1);
  sla::cg const method{.rtol = 1e-10};
  auto s = sla::prepare(A, method, sla::damped{.omega = 0.25});
  suite::is_dense_solution(A, b, s.solve(b), 1e-7);
  CHECK(sla::try_solve(A, b, method, sla::damped{}).report.iterations() == sla::try_solve(A, b, method, sla::jacobi{}).report.iterations());
  suite::is_dense_solution(A, b, s.solve_transpose(b), 1e-7);
  s.update(sla::eval(2.0 * A));
  CHECK(sla::norm(s.preconditioner() * b - 0.125 * b / sla::diagonal_of(A)) <= 1e-15 * sla::norm(b));
  is_right_on_ranks(A, b, method, sla::damped{});
  CHECK_THROWS_WITH(sla::damped{}.setup(sla::from_triplets<double>(2, 2, {0}, {0}, {1.0})), Catch::Matchers::ContainsSubstring("row 1"));
}

// A format: include/sla/tensor/build/full.hpp
namespace sla {
struct Full;
template <class Memory>
struct full_pattern;

/// All entries of all rows: entry (i, j) is in slot i * cols + j.
struct full_view {
  using format_type = Full;
  index_t rows, cols;

  SLA_AS_CALLEE
  template <class F>
  SLA_HD void for_row(index_t i, F&& f) const {
    for (index_t j = 0; j < cols; ++j) f(i * cols + j, j);
  }
  SLA_HD index_t entries_before(index_t i) const { return i * cols; }
  template <class Memory>
  auto borrowed(Memory, index_t) const {
    return full_pattern<Memory>{rows, cols};
  }
};
/// The slot of entry (i, j).
inline index_t find_slot(full_view const& view, index_t i, index_t j) { return i * view.cols + j; }

/// The pattern of Full, which has no indices.
template <class Memory>
struct full_pattern {
  index_t rows = 0, cols = 0;

  static full_pattern none(index_t rows, index_t cols) { return {rows, cols}; }
  index_t nnz() const { return rows * cols; }
  index_t slots() const { return nnz(); }
  std::size_t bytes() const { return 0; }
  full_view view() const { return {rows, cols}; }
  /// f(members...), in their order: patterns are compared and moved to another memory by them.
  template <class F>
  auto parts(F const& f) const {
    return f(rows, cols);
  }
};

/// Every entry, row by row, zeros included: for small matrices that are nearly full.
struct Full {
  using col_type = index_t;
  using ptr_type = index_t;
  template <class Memory>
  using pattern = full_pattern<Memory>;

  template <class Old>
  static detail::pattern_map<Full> remap(Old const& old) {
    buffer<index_t> source(old.rows * old.cols, uninitialized);
    std::fill(source.begin(), source.end(), index_t(-1));
    for (index_t i = 0; i < old.rows; ++i)
      old.view().for_row(i, [&, from = source.data()](index_t s, index_t j) {
        if (from[i * old.cols + j] >= 0) throw value_error(text("to<Full>(A): two entries at row ", i, ", column ", j, ": sum them first, sorted(A)"));
        from[i * old.cols + j] = s;
      });
    return {std::make_shared<pattern<host_memory> const>(pattern<host_memory>{old.rows, old.cols}), std::move(source)};
  }
};
} // namespace sla

// tests/tensor/full.cpp
TEST_CASE("a full pattern has the products of Csr, there and back, and an incomplete factorisation of it is exact") {
  using namespace sla;
  auto const A = problems::convection_diffusion<double>({6, 5}, {30.0, -10.0});
  auto const F = to<Full>(A);
  auto const x = random<double>(A.cols(), 1), b = random<double>(A.rows(), 2);
  CHECK(F.nnz() == A.rows() * A.cols());
  CHECK(F(7, 8) == A(7, 8));
  CHECK(F.values()[find_slot(F.pattern().view(), 7, 8)] == A(7, 8));
  CHECK(norm(b - F * x - (b - A * x)) <= 1e-13 * norm(x));
  CHECK(norm(transpose(F) * x - transpose(A) * x) <= 1e-13 * norm(x));
  CHECK(std::ranges::equal(to_dense(to<Csr<>>(F)), to_dense(A)));
  CHECK(same_pattern(F.pattern(), to<Full>(to<Sell<>>(A)).pattern()));
  CHECK(try_solve(F, b, gmres{}, ilu0{}).report.iterations() == 1);
}

// A rule of differentiation: include/sla/core/op.hpp
namespace sla::op {
/// The inverse of sinh; real numbers.
struct asinh {
  template <class A>
    requires(!is_complex<A>)
  SLA_HD static A apply(A a) {
    return std::asinh(a);
  }
};
} // namespace sla::op
namespace sla {
// include/sla/expr/dense/ops.hpp
template <>
inline constexpr bool is_elementwise<op::asinh> = true;
/// The inverse of sinh of each element. Law: real. Gradient: g / sqrt(1 + x^2).
template <class X>
  requires Takes<op::asinh, X>
auto asinh(X&& x) {
  return detail::function_of<op::asinh>(std::forward<X>(x));
}
// include/sla/spmd/rule/table/op_rule.hpp: of the library's own, a declaration and a word in library_rule
template <>
inline constexpr op_rule rule_of<op::asinh> = {.rising = 0b01};
// include/sla/grad/tape/derivatives.hpp
template <>
struct derivative<op::asinh> : unary_rule {
  template <class X, class G>
  SLA_HD static auto pullback(X x, G g) {
    return g / std::sqrt(1 + x * x);
  }
};
} // namespace sla

// tests/grad/rules.cpp
TEST_CASE("asinh is the inverse of sinh, and its gradient is right in both modes and on ranks") {
  using namespace sla;
  auto const x = random<double>(37, 1), d = random<double>(37, 2);
  auto const f = [](auto const& v) { return squared_norm(asinh(v)); };
  vector<double> const y = asinh(x), expected = 2.0 * y / sqrt(1.0 + x * x);
  CHECK(norm(0.5 * (exp(y) - exp(-y)) - x) <= 1e-14 * norm(x));
  CHECK(norm(std::get<1>(value_and_gradient(f, x)) - expected) <= 1e-14);
  CHECK(std::get<1>(jvp(f, std::tie(x), std::tie(d))) == Approx(double(dot(expected, d))));
  CHECK(check_gradient(f, std::tie(x), {.out = nullptr}).passed);
  for (auto const& g : threads::run(3, [&](auto& world) {
         mesh<axis<"rows">> m(world);
         return gather(std::get<1>(value_and_gradient(f, distribute<Shard<0, Balanced>>(x, m))));
       }))
    CHECK(norm(g - expected) <= 1e-14);
}

// An operation on ranks: include/sla/dist/grad/column_sums.hpp
namespace sla {
/// The sums of the columns of a dense matrix: (m, n) to (n).
struct column_sums {
  static vector<double> apply(matrix<double> const& x) {
    vector<double> y(Extents<dyn>(x.extent(1)));
    for (index_t n = 0; n < x.size(); ++n) y[n % x.extent(1)] += x[n];
    return y;
  }
  static matrix<double> pullback(operand_number<0>, matrix<double> const& x, vector<double> const& g) {
    matrix<double> out(x.extents());
    for (index_t n = 0; n < x.size(); ++n) out[n] = g[n % x.extent(1)];
    return out;
  }
};
template <>
inline constexpr auto rule_of<column_sums> = strategies::sum(dims::unknown(2), strategies::over(0));
} // namespace sla

// tests/dist/column_sums.cpp
TEST_CASE("sums of columns follow their rule, and have the value and the gradient of one rank on three") {
  using namespace sla;
  sim::array<double> a({4, 3});
  for (int n = 0; n < a.size(); ++n) a[n] = double(n * n) - 40.5;
  auto const report = check_rule<column_sums>({}, op_kernel<column_sums, matrix<double>>{}, checked_operand{a});
  INFO(describe(report));
  CHECK(report.ok());

  auto const A = problems::convection_diffusion<double>({3, 2}, {30.0, -10.0});
  matrix<double> const x = to_dense(A);
  vector<double> const sums = transpose(A) * ones<double>(A.rows());
  matrix<double> expected(x.extents());
  for (index_t n = 0; n < x.size(); ++n) expected[n] = 2.0 * sums[n % A.cols()];
  for (double apart : threads::run(3, [&](auto& world) {
         mesh<axis<"tp">> m(world);
         auto const rows = distribute<Shard<0, Balanced>>(x, m);
         auto const pending = custom<column_sums>(rows);
         auto const parts = custom<column_sums>(distribute<Shard<1, Balanced>>(x, m));
         static_assert(has_placements<decltype(pending), Partial<>> && has_placements<decltype(parts), Shard<0, Balanced>>);
         auto const [loss, g] = value_and_gradient([](auto const& v) { return squared_norm(all_reduce<"tp", Invariant>(custom<column_sums>(v))); }, rows);
         return double(norm(gather(pending) - sums) + norm(gather(parts) - sums) + norm(gather(g) - expected)) + std::abs(loss - squared_norm(sums));
       }))
    CHECK(apart <= 1e-12);
}

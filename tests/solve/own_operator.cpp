// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operators of the user: functions on arrays, as the matrix and as the preconditioner of every method, and classes of his own.
#include "suites/krylov.hpp"

#include <sla/grad.hpp>
#include <sla/solve.hpp>

namespace test_own_operator {

using namespace sla;
using complex_t = std::complex<double>;

namespace {
/// The function of A, by its rows; y is zero at first. Counts its calls.
template <class T>
auto rows_of(sparse_tensor<T> A, bool adjoint = false, int* calls = nullptr) {
  return [A = std::move(A), adjoint, calls](std::span<T const> x, std::span<T> y) {
    if (calls) ++*calls;
    for (index_t i = 0; i < A.rows(); ++i)
      A.pattern().view().for_row(i, [&](index_t s, index_t j) {
        T value = A.values()[s];
        if constexpr (is_complex<T>)
          if (adjoint) value = std::conj(value);
        y[std::size_t(adjoint ? j : i)] += value * x[std::size_t(adjoint ? i : j)];
      });
  };
}
template <class T>
linear_operator<T> function_of(sparse_tensor<T> const& A) {
  return {A.rows(), A.cols(), rows_of(A), rows_of(A, true)};
}
template <class T>
auto halves(index_t n) {
  return linear_operator<T>(n, n, [](std::span<T const> x, std::span<T> y) { std::transform(x.begin(), x.end(), y.begin(), [](T v) { return 0.5 * v; }); });
}
/// 0.5 I as an expression: a preconditioner of the user's.
struct half {
  half adjoint() const { return *this; }
};
template <class X>
auto operator*(half, X const& x) {
  return 0.5 * x;
}

template <class X, class Y>
bool same_bits(X const& x, Y const& y) {
  return std::equal(x.begin(), x.end(), y.begin(), y.end());
}
/// f() throws an E that says all this.
template <class E, class F, class... Words>
void throws(F const& f, Words const&... words) {
  std::string said;
  try {
    f();
  } catch (E const& e) {
    said = e.what();
  }
  INFO(said);
  CHECK(((said.find(words) != std::string::npos) && ...));
}
/// The same bits on the host and on queues, of all the options say.
template <class A, class B, class... Options>
auto on_queues(A const& a, B const& b, Options const&... options) {
  auto found = try_solve(a, b, options...);
  INFO(found.report);
  CHECK(found.report.converged());
  for (int lag : {0, 4, 32}) {
    auto const [y, queued] = try_solve(a, b, options..., on([lag](frame f) { return deferred(f, lag); }));
    INFO("lag " << lag);
    CHECK(same_bits(found.x, y));
    CHECK(queued.iterations() == found.report.iterations());
  }
  return found;
}
template <class Method>
void as_matrix(Method const& method) {
  auto const A = suite::problem<Method>(9);
  auto const op = function_of(A);
  auto const b = random<double>(A.rows(), 1);
  suite::is_dense_solution(A, b, on_queues(op, b, method).x, 1e-7);
  auto const B = random<double, Extents<dyn, dyn>>({A.rows(), 3}, 2);
  auto const [x, report] = on_queues(op, B, method);
  suite::is_dense_solution(A, B, x, 1e-7);
  CHECK(report.items.size() == 3);
  auto const C = suite::complex_problem<Method>(6);
  auto const c = random<complex_t>(C.rows(), 3);
  suite::is_dense_solution(C, c, solve(function_of(C), c, method), 1e-7);
}
template <class Method>
void as_preconditioner(Method const& method) {
  auto const check = [&](auto const& A, auto const& b, index_t n) {
    auto const [x, report] = on_queues(A, b, method, halves<double>(n));
    auto const [y, wanted] = try_solve(A, b, method, half{});
    CHECK(same_bits(x, y));
    CHECK(report.iterations() == wanted.iterations());
    CHECK(report.residual() == wanted.residual());
    CHECK(report.preconditioner == "linear_operator");
  };
  auto const A = suite::problem<Method>(8);
  index_t const n = A.rows();
  check(A, random<double>(n, 1), n);
  check(A, random<double, Extents<dyn, dyn>>({n, 2}, 2), n);
  check(suite::batched_problem<Method>(8), random<double, Extents<2, dyn, dyn>>({2, n, 3}, 3), n);
  check(to_blocks<2, 2>(A), random<double, Extents<dyn, 2, dyn>>({n / 2, 2, 2}, 4), n);
}
}  // namespace

TEST_CASE("products of functions are those of the dense matrix") {
  auto const A = cat_rows(problems::convection_diffusion<double>({5, 4}, 3.0), problems::poisson<double>({20}));  // 40 x 20
  auto const op = function_of(A);
  auto const dense = oracle::dense(A);
  CHECK((op.rows() == 40 && op.cols() == 20 && adjoint(op).rows() == 20));
  auto const x = random<double>(20, 1), b = random<double>(40, 2);
  vector<double> const y = op * x;
  CHECK(oracle::distance(y, oracle::product(dense, x.data(), 1, 40, 20, 1)) <= 1e-14);
  vector<double> const r = b - 2.0 * (op * (x + x)), h = adjoint(op) * b, t = transpose(op) * b;
  CHECK(norm_inf(b - 4.0 * y - r) <= 1e-13);
  CHECK(oracle::distance(h, oracle::product(dense, b.data(), 1, 40, 20, 1, true)) <= 1e-14);
  CHECK(same_bits(h, t));
  matrix<double> const X = random<double, Extents<dyn, dyn>>({20, 3}, 3), Y = op * X;
  CHECK(oracle::distance(Y, oracle::product(dense, X.data(), 1, 40, 20, 3)) <= 1e-14);
  vector<double> z = x;
  z = adjoint(op) * (op * z);  // two whole nodes, and z is read before it is written
  CHECK(norm_inf(z - transpose(A) * eval(A * x)) <= 1e-13);

  // a real operator of complex vectors, a float one of doubles, and into floats
  auto const c = random<complex_t>(20, 4);
  vector<complex_t> const Ac = op * c;
  CHECK(norm_inf(Ac - A * c) <= 1e-13);
  auto const single = function_of(cast<float>(A));
  vector<double> const coarse = single * x;
  CHECK(norm_inf(coarse - y) <= 1e-5);
  vector<float> const stored = op * x;
  CHECK(norm_inf(stored - y) <= 1e-5);

  auto const C = suite::complex_problem<gmres>(4);
  auto const f = function_of(C);
  auto const w = random<complex_t>(16, 5);
  auto const all = oracle::dense(C);
  vector<complex_t> const Cw = f * w, Chw = adjoint(f) * w, Ctw = transpose(f) * w, Cjw = conj(f) * w, wide = function_of(C) * random<double>(16, 6);
  CHECK(oracle::distance(Cw, oracle::product(all, w.data(), 1, 16, 16, 1)) <= 1e-14);
  CHECK(oracle::distance(Chw, oracle::product(all, w.data(), 1, 16, 16, 1, true, true)) <= 1e-14);
  CHECK(oracle::distance(Ctw, oracle::product(all, w.data(), 1, 16, 16, 1, true)) <= 1e-14);
  CHECK(oracle::distance(Cjw, oracle::product(all, w.data(), 1, 16, 16, 1, false, true)) <= 1e-14);
  CHECK(norm_inf(wide - C * random<double>(16, 6)) <= 1e-13);
}

TEST_CASE("a function is called in its turn, and once for each vector") {
  auto const A = problems::poisson<double>({20});
  int calls = 0;
  linear_operator<double> const op(20, 20, rows_of(A, false, &calls), self_adjoint);
  auto const b = random<double>(20, 1);
  vector<double> r(20), z(20);
  auto const [rz] = fuse(set(r, 2.0 * b), set(z, op * r), dot_of(r, z));  // r is written before the function reads it
  CHECK(calls == 1);
  CHECK(norm_inf(z - 2.0 * (A * b)) <= 1e-13);
  CHECK(rz == Approx(dot(r, z)));
  CHECK(passes(set(r, 2.0 * b), set(z, op * r), dot_of(r, z)) == 3);
  throws<value_error>([&] { fuse(set(r, op * r)); }, "reads x at other rows");

  // what a temporary holds lives as long as the expression, and a function may be one that only moves
  auto const y = linear_operator<double>(20, 20, [own = std::make_unique<double>(3.0)](auto x, auto out) {
    for (std::size_t i = 0; i < x.size(); ++i) out[i] = *own * x[i];
  }) * b;
  CHECK(norm_inf(eval(y) - 3.0 * b) == 0);
  linear_operator<double> const nothing(0, 0, [](auto, auto) {});
  CHECK(vector<double>(nothing * vector<double>(0)).size() == 0);
}

TEST_CASE("functions are the matrix of every method") {
  as_matrix(cg{.rtol = 1e-10});
  as_matrix(minres{.rtol = 1e-10});
  as_matrix(bicgstab{.rtol = 1e-10});
  as_matrix(gmres{.rtol = 1e-10});
  as_matrix(fgmres{.rtol = 1e-10});
}

TEST_CASE("functions are the preconditioner of every method, with the same bits as the same expression") {
  as_preconditioner(cg{.rtol = 1e-10});
  as_preconditioner(minres{.rtol = 1e-10});
  as_preconditioner(bicgstab{.rtol = 1e-10});
  as_preconditioner(gmres{.rtol = 1e-10});
  as_preconditioner(fgmres{.rtol = 1e-10});
}

TEST_CASE("a preconditioner that reads other rows, of batches, float and complex") {
  auto const A = suite::problem<cg>(8);
  index_t const n = A.rows();
  auto const F = ic0{}.setup(A);
  linear_operator<double> const M(n, n, [&](auto x, auto y) { std::ranges::copy(vector<double>(F * borrow(x.data(), n)), y.begin()); });
  auto const both = stack_batch(A, A);
  auto const b = random<double, Extents<2, dyn, dyn>>({2, n, 3}, 1);
  auto const [x, report] = on_queues(both, b, cg{.rtol = 1e-10}, M);
  auto const [y, wanted] = try_solve(both, b, cg{.rtol = 1e-10}, ic0{});
  CHECK(same_bits(x, y));
  CHECK(report.iterations() == wanted.iterations());
  auto const c = random<complex_t>(n, 2);  // a real preconditioner, complex vectors
  CHECK(same_bits(solve(A, c, cg{.rtol = 1e-10}, M), solve(A, c, cg{.rtol = 1e-10}, ic0{}.setup(A))));
  auto const C = suite::complex_problem<cg>(8);
  suite::is_dense_solution(C, c, on_queues(C, c, cg{.rtol = 1e-10}, M).x, 1e-7);

  auto const d = random<double>(n, 3);
  auto const Ff = ic0{}.setup(cast<float>(A));
  linear_operator<float> const single(n, n, [&](auto v, auto z) { std::ranges::copy(vector<float>(Ff * borrow(v.data(), n)), z.begin()); });
  suite::is_dense_solution(A, d, solve(A, d, cg{.rtol = 1e-10}, single), 1e-7);
  // matrix and preconditioner, both yours; within an inner iteration too
  suite::is_dense_solution(A, d, solve(function_of(A), d, cg{.rtol = 1e-10}, M), 1e-7);
  suite::is_dense_solution(A, d, solve(function_of(A), d, cg{.rtol = 1e-10}, F), 1e-7);
  suite::is_dense_solution(A, d, solve(A, d, fgmres{.rtol = 1e-10}, inner(cg{.max_iterations = 3}, M)), 1e-7);
}

TEST_CASE("inner iterations on functions take the steps of those on the matrix") {
  auto const A = problems::poisson<double>({12, 11});
  linear_operator<double> const op(A.rows(), A.rows(), rows_of(A), self_adjoint);
  auto const b = random<double, Extents<dyn, dyn>>({A.rows(), 2}, 1);
  auto const M = ic0{}.setup(A);
  linear_operator<double> const near(A.rows(), A.rows(), [&](auto x, auto y) { std::ranges::copy(vector<double>(M * borrow(x.data(), A.rows())), y.begin()); }, self_adjoint);
  auto const both = [&](auto const& p, auto const& q) {
    auto const [x, report] = try_solve(op, b, fgmres{.rtol = 1e-10}, p);
    auto const [y, wanted] = try_solve(A, b, fgmres{.rtol = 1e-10}, q);
    CHECK(report.converged());
    CHECK(report.iterations() == wanted.iterations());
    CHECK(norm_inf(x - y) <= 1e-9);
    suite::is_dense_solution(A, b, prepare(op, fgmres{.rtol = 1e-10}, p).solve_transpose(b), 1e-7);
  };
  both(inner(cg{.rtol = 0.1}), inner(cg{.rtol = 0.1}));
  both(inner(cg{.rtol = 0.1}, near), inner(cg{.rtol = 0.1}, near));
  auto const c = random<complex_t>(A.rows(), 2);  // a real function, complex vectors
  CHECK(norm(A * solve(op, c, fgmres{.rtol = 1e-10}, inner(gmres{.max_iterations = 5})) - c) <= 1e-9 * norm(c));
}

TEST_CASE("transposed solves ask for the adjoint, but of methods for Hermitian operators") {
  auto const C = suite::complex_problem<gmres>(5);
  auto const b = random<complex_t>(C.rows(), 1);
  auto const M = ilu0{}.setup(C);
  auto const Mh = M.adjoint();
  auto const kept = [](auto const& m) {
    return [&m](std::span<complex_t const> x, std::span<complex_t> y) { std::ranges::copy(vector<complex_t>(m * borrow(x.data(), index_t(x.size()))), y.begin()); };
  };
  index_t const n = C.rows();
  auto const s = prepare(function_of(C), gmres{.rtol = 1e-11}, linear_operator<complex_t>(n, n, kept(M), kept(Mh)));
  suite::is_dense_solution(C, b, s.solve(b), 1e-7);
  suite::is_dense_solution(transposed(C), b, s.solve_transpose(b), 1e-7);
  suite::is_dense_solution(adjointed(C), b, s.solve_adjoint(b), 1e-7);
  CHECK(s.try_solve_adjoint(b).report.iterations() <= s.try_solve(b).report.iterations() + 2);
  suite::is_dense_solution(transposed(C), b, solve(transpose(function_of(C)), b, gmres{.rtol = 1e-11}), 1e-7);

  auto const A = suite::problem<cg>(6);
  auto const d = random<double>(A.rows(), 2);
  linear_operator<double> const forth(A.rows(), A.rows(), rows_of(A));
  CHECK(!forth.has_adjoint());
  auto const hermitian = prepare(forth, cg{.rtol = 1e-11}, halves<double>(A.rows()));
  CHECK(same_bits(hermitian.solve(d), hermitian.solve_transpose(d)));
  auto const general = prepare(forth, gmres{.rtol = 1e-11});
  suite::is_dense_solution(A, d, general.solve(d), 1e-7);
  throws<value_error>([&] { general.solve_transpose(d); }, "36 x 36 operator was made without its adjoint", "self_adjoint");
  throws<value_error>([&] { prepare(A, gmres{}, halves<double>(36)).solve_adjoint(d); }, "was made without its adjoint");
  CHECK(same_bits(prepare(A, cg{}, halves<double>(36)).solve(d), prepare(A, cg{}, halves<double>(36)).solve_adjoint(d)));
  auto const own = prepare(linear_operator<double>(36, 36, rows_of(A), self_adjoint), gmres{.rtol = 1e-11});
  CHECK(same_bits(own.solve(d), own.solve_transpose(d)));
}

TEST_CASE("the gradient of a solve with a function is one solve with its adjoint") {
  auto const A = suite::problem<gmres>(6);
  index_t const n = A.rows();
  auto const op = function_of(A);
  auto const b = random<double>(n, 1), target = random<double>(n, 2);
  auto const misfit = [&](auto const& rhs) { return 0.5 * squared_norm(solve(op, rhs, gmres{.rtol = 1e-13}) - target); };
  auto const [value, g] = value_and_gradient(misfit, b);
  suite::is_dense_solution(transposed(A), eval(solve(A, b, lu{}) - target), g, 1e-9);
  CHECK(value == Approx(misfit(b)));
  auto const db = random<double>(n, 3);
  auto const [again, slope] = jvp(misfit, std::tie(b), std::tie(db));
  CHECK(slope == Approx(dot(g, db)));

  // of a product, real and complex
  auto const distance = [&](auto const& x) { return 0.5 * squared_norm(op * x - b); };
  auto const [far, gx] = value_and_gradient(distance, target);
  CHECK(far == Approx(distance(target)));
  CHECK(norm_inf(gx - transpose(A) * eval(A * target - b)) <= 1e-12);
  CHECK(std::get<1>(jvp(distance, std::tie(target), std::tie(db))) == Approx(dot(gx, db)));
  auto const C = suite::complex_problem<gmres>(6);
  auto const turned = function_of(C);
  auto const gc = std::get<1>(value_and_gradient([&](auto const& x) { return 0.5 * squared_norm(turned * x); }, target));
  CHECK(norm_inf(gc - real(adjoint(C) * eval(C * target))) <= 1e-12);

  auto const S = suite::problem<cg>(6);
  linear_operator<double> const forth(n, n, rows_of(S));
  CHECK_THROWS_AS(value_and_gradient([&](auto const& x) { return sum(forth * x); }, b), value_error);
  auto const [v, h] = value_and_gradient([&](auto const& rhs) { return sum(solve(forth, rhs, cg{.rtol = 1e-13}, halves<double>(n))); }, b);
  suite::is_dense_solution(S, ones<double>(n), h, 1e-9);
  // of a matrix, with a preconditioner that is a function
  auto const [u, gS] = value_and_gradient([&](auto const& M) { return sum(solve(M, b, cg{.rtol = 1e-13}, halves<double>(n))); }, S);
  auto const [w, gd] = value_and_gradient([&](auto const& M) { return sum(solve(M, b, cg{.rtol = 1e-13}, jacobi{})); }, S);
  CHECK(oracle::distance(gS.values(), gd.values()) <= 1e-8);
}

TEST_CASE("sizes that do not fit, and numbers that are none") {
  auto const A = problems::poisson<double>({12});
  auto const b = random<double>(12, 1);
  auto gone = halves<double>(12);
  auto const here = std::move(gone);
  throws<value_error>([&] { (void)solve(here, b, cg{}), (void)solve(gone, b, cg{}); }, "a linear_operator was moved from and is empty");
  throws<shape_error>([&] { (void)solve(halves<double>(10), b, cg{}); }, "operator of 10 x 10", "b is 12", "axis 0 of b should be 10");
  throws<shape_error>([&] { (void)solve(linear_operator<double>(12, 10, [](auto, auto) {}), b, gmres{}); }, "12 x 10, and must be square");
  throws<shape_error>([&] { (void)solve(A, b, cg{}, halves<double>(10)); }, "A has 12 rows", "10 x 10");
  throws<shape_error>([&] { (void)(halves<double>(10) * b); }, "linear_operator of 10 x 10, x is 12; axis 0 of x should be 10");
  throws<shape_error>([&] { linear_operator<double>(3, 4, [](auto, auto) {}, self_adjoint); }, "linear_operator(3, 4", "square");
  throws<shape_error>([&] { linear_operator<double>(-1, 4, [](auto, auto) {}); }, "linear_operator(-1, 4");
  auto const poisoned = [&](double value, int from) {
    return linear_operator<double>(12, 12, [&A, value, from, calls = 0](auto x, auto y) mutable {
      rows_of(A)(x, y);
      if (++calls >= from) y[3] = value;
    });
  };
  double const nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  for (double value : {nan, inf})
    for (int from : {1, 3}) {
      CHECK(try_solve(poisoned(value, from), b, cg{}).report.reason() == reason::not_a_number);
      CHECK(try_solve(poisoned(value, from), b, gmres{}).report.reason() == reason::not_a_number);
      CHECK(!try_solve(A, b, cg{}, poisoned(value, from)).report.converged());
      CHECK_THROWS_AS(solve(poisoned(value, from), b, bicgstab{}), solve_error);
    }
  linear_operator<double> const negative(12, 12, [&A](auto x, auto y) {
    rows_of(A)(x, y);
    for (double& v : y) v = -v;
  });
  CHECK(try_solve(negative, b, cg{}).report.reason() == reason::indefinite_matrix);
}

TEST_CASE("what a function throws passes through, and all is as before") {
  auto const A = suite::problem<gmres>(6);
  index_t const n = A.rows();
  auto const b = random<double>(n, 1), guess = random<double>(n, 2);
  int calls = 0, last = 1 << 30;
  auto const f = [&, rows = rows_of(A)](std::span<double const> x, std::span<double> y) {
    if (++calls > last) throw std::runtime_error("the FFT is out of plans");
    rows(x, y);
  };
  linear_operator<double> const op(n, n, f);
  auto const s = prepare(op, gmres{.rtol = 1e-10});
  auto const before = s.solve(b);
  vector<double> y = guess;
  std::size_t const bytes = memory_in_use().now;
  for (int k : {0, 1, 5}) {
    for (int lag : {-1, 0, 4, 32}) {
      calls = 0, last = k;
      INFO("call " << k << ", lag " << lag);
      auto const run = [&] {
        if (lag < 0)
          s.solve(b, initial_guess(guess));
        else
          s.solve(b, initial_guess(guess), on([lag](frame frame) { return deferred(frame, lag); }));
      };
      throws<std::runtime_error>(run, "out of plans");
      CHECK(memory_in_use().now == bytes);
    }
    calls = 0, last = 0;
    CHECK_THROWS_AS(y = b - op * guess, std::runtime_error);
    CHECK_THROWS_AS(solve(A, b, cg{}, op), std::runtime_error);
    CHECK(same_bits(y, guess));
    last = 1 << 30;
    CHECK(same_bits(s.solve(b), before));
  }
}

TEST_CASE("prepared functions take new ones; several solves share them") {
  auto const A = suite::problem<gmres>(5), B = suite::shifted(A, 1.0);
  auto const b = random<double>(A.rows(), 1);
  auto s = prepare(function_of(A), gmres{.rtol = 1e-11});
  auto const old = s;
  s.update(function_of(B));
  suite::is_dense_solution(B, b, s.solve(b), 1e-7);
  suite::is_dense_solution(transposed(B), b, s.solve_transpose(b), 1e-7);
  suite::is_dense_solution(A, b, old.solve(b), 1e-7);
  throws<shape_error>([&] { s.update(halves<double>(3)); }, "another shape");
}

namespace {
/// A class of the user's, without adjoint().
struct twice {
  using linear_operator_tag = void;
  using value_type = double;
};
template <class X>
auto operator*(twice, X const& x) {
  return 2.0 * x;
}
/// Options without a name.
struct nameless {
  using preconditioner_tag = void;
  template <class A>
  auto setup(A const& a) const {
    return jacobi{}.setup(a);
  }
};
}  // namespace

TEST_CASE("a preconditioner without a name stands inside of others too") {
  auto const A = problems::poisson<double>({9});
  auto const b = random<double>(9, 1);
  CHECK(try_solve(A, b, cg{}, schwarz(nameless{}, {.parts = 2})).report.preconditioner.starts_with("schwarz of a preconditioner of yours, 2 parts"));
  CHECK(try_solve(A, b, fgmres{}, inner(gmres{.max_iterations = 3}, nameless{})).report.preconditioner == "inner gmres + a preconditioner of yours");
  CHECK(try_solve(A, b, cg{}, amg{.smoother = nameless{}}).report.preconditioner.starts_with("amg"));
}

TEST_CASE("the dense matrix of an operator, and a line of what it is") {
  auto const A = problems::convection_diffusion<double>({7}, 0.5);
  linear_operator<double> const M(7, 7, rows_of(A)), N(7, 7, rows_of(A), rows_of(A, true));
  CHECK(norm_inf(to_dense(M) - to_dense(A)) <= 1e-14);
  CHECK(text(M) == "linear_operator of 7 x 7, without its adjoint");
  CHECK(text(prepare(N, gmres{}, N)) == "prepared gmres + linear_operator for 7 x 7, set up 1 time");
}

TEST_CASE("a class without adjoint() is solved with, and preconditions") {
  auto const b = random<double>(9, 1);
  CHECK(norm_inf(solve(twice{}, b, gmres{}) - 0.5 * b) <= 1e-8);
  CHECK(norm_inf(prepare(twice{}, cg{}).solve_transpose(b) - 0.5 * b) <= 1e-8);
  auto const A = problems::poisson<double>({9});
  suite::is_dense_solution(A, b, solve(A, b, gmres{.rtol = 1e-12}, twice{}), 1e-9);
  CHECK(try_solve(A, b, cg{}, twice{}).report.preconditioner == "a preconditioner of yours");
}

}  // namespace test_own_operator

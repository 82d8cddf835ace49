// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values that an equation defines, as a user writes them: eigenpairs, a nonlinear system, least squares; and an operation of the user's
// with two results. Duality <w, J d> = <J^H w, d>, Taylor remainders of rate 2.0 +- 0.05, closed forms.
#include <sla/grad.hpp>
#include <sla/tensor.hpp>

#include "catch.hpp"
#include "suites/dual.hpp"

using namespace sla;
using gradient::check_dual;
using gradient::direction;

namespace {
/// The solves with K = [[0, -v^T], [-v, A - lambda I]], which is symmetric: of (a, f) to (dlambda, dv), and back.
struct bordered {
  lu<sparse_tensor<double>> factors;

  bordered(double lambda, vector<double> const& v, sparse_tensor<double> const& A) : factors(bordered_matrix(lambda, v, A)) {}
  static sparse_tensor<double> bordered_matrix(double lambda, vector<double> const& v, sparse_tensor<double> const& A) {
    triplets<double> t(A.rows() + 1, A.cols() + 1);
    for (index_t i = 0; i < A.rows(); ++i) {
      A.pattern().view().for_row(i, [&](index_t s, index_t j) { t.add(i + 1, j + 1, A.values()[s]); });
      t.add(i + 1, i + 1, -lambda);
      t.add(0, i + 1, -v[i]);
      t.add(i + 1, 0, -v[i]);
    }
    return t.build();
  }
  std::tuple<double, vector<double>> solve(std::tuple<double, vector<double>> const& r) const {
    auto const& [a, f] = r;
    vector<double> whole(f.size() + 1), v(f.size());
    whole[0] = a;
    std::copy_n(f.data(), f.size(), whole.data() + 1);
    whole = factors.solve(whole);
    std::copy_n(std::as_const(whole).data() + 1, v.size(), v.data());
    return {whole[0], std::move(v)};
  }
  auto solve_adjoint(std::tuple<double, vector<double>> const& g) const { return solve(g); }
};

/// (lambda, v) of the smallest eigenvalue of a symmetric A, v^T v = 1, by inverse iteration.
template <class Matrix>
auto smallest_eigenpair(Matrix const& matrix) {
  auto const iterate = [](auto const& A) {
    auto const s = prepare(A, cholesky{});
    vector<double> v = ones<double>(A.rows()) + 0.1 * random<double>(A.rows(), 5);
    for (int n = 0; n < 200; ++n) {
      v = s.solve(v);
      v = v / norm(v);
    }
    return std::tuple{double(dot(v, A * v)), v};
  };
  auto const residual = [](auto const& lambda, auto const& v, auto const& A) { return std::tuple{0.5 * (1.0 - dot(v, v)), A * v - lambda * v}; };
  auto const linearize = [](auto const& lambda, auto const& v, auto const& A) { return bordered(lambda, v, A); };
  return implicit(iterate, residual, linearize, matrix);
}

/// u with A u + c u^3 = b, elementwise, by Newton's method.
template <class Matrix, class C, class B>
auto cubic(Matrix const& matrix, C const& c, B const& b) {
  auto const jacobian = [](auto const& u, auto const& A, double factor, auto const&) { return lu(eval(A + diagonal(3.0 * factor * u * u))); };
  auto const newton = [&](auto const& A, double factor, auto const& rhs) {
    auto u = zeros<double>(A.rows());
    for (int n = 0; n < 12; ++n) u = u - jacobian(u, A, factor, rhs).solve(A * u + factor * u * u * u - rhs);
    return u;
  };
  auto const residual = [](auto const& u, auto const& A, auto const& factor, auto const& rhs) { return A * u + factor * (u * u * u) - rhs; };
  return implicit(newton, residual, jacobian, matrix, c, b);
}

/// K = [[I, A], [A^H, -d^2 I]], whose solution of (b, 0) is r = b - A x and the x of least |r|^2 + d^2 |x|^2.
sparse_tensor<double> augmented(sparse_tensor<double> const& A, double d) {
  triplets<double> t(A.rows() + A.cols(), A.rows() + A.cols());
  for (index_t i = 0; i < A.rows(); ++i) {
    t.add(i, i, 1.0);
    A.pattern().view().for_row(i, [&](index_t s, index_t j) {
      t.add(i, A.rows() + j, A.values()[s]);
      t.add(A.rows() + j, i, A.values()[s]);
    });
  }
  for (index_t j = 0; j < A.cols(); ++j) t.add(A.rows() + j, A.rows() + j, -d * d);
  return t.build();
}
struct least_squares_system {
  lu<sparse_tensor<double>> factors;
  index_t rows, cols;
  using pair = std::tuple<vector<double>, vector<double>>;  // r and x
  least_squares_system(sparse_tensor<double> const& A, double d) : factors(augmented(A, d)), rows(A.rows()), cols(A.cols()) {}
  pair solve(pair const& of) const {
    vector<double> whole(rows + cols), r(rows), x(cols);
    std::copy_n(std::get<0>(of).data(), rows, whole.data());
    std::copy_n(std::get<1>(of).data(), cols, whole.data() + rows);
    whole = factors.solve(whole);
    std::copy_n(std::as_const(whole).data(), rows, r.data());
    std::copy_n(std::as_const(whole).data() + rows, cols, x.data());
    return {r, x};
  }
  pair solve_adjoint(pair const& g) const { return solve(g); }
};
template <class Matrix, class D, class B>
auto damped_least_squares(Matrix const& matrix, D const& damping, B const& b) {
  auto const forward = [](auto const& A, double d, auto const& rhs) { return least_squares_system(A, d).solve({rhs, zeros<double>(A.cols())}); };
  auto const residual = [](auto const& r, auto const& x, auto const& A, auto const& d, auto const& rhs) {
    return std::tuple{r + A * x - rhs, transpose(A) * r - d * d * x};
  };
  auto const linearize = [](auto const&, auto const&, auto const& A, double d, auto const&) { return least_squares_system(A, d); };
  return std::get<1>(implicit(forward, residual, linearize, matrix, damping, b));
}
}  // namespace

TEST_CASE("an eigenpair of the user's: one entry of the tape, d lambda = v^T dA v, and the vector by the bordered system") {
  auto const A = problems::poisson<double>({9, 5});
  auto const pair = smallest_eigenpair(A);
  double const lambda = std::get<0>(pair);
  vector<double> const v = std::get<1>(pair);
  double const pi = std::acos(-1.0);
  double const exact = 4 * std::pow(std::sin(pi / 20), 2) + 4 * std::pow(std::sin(pi / 12), 2);
  CHECK(lambda == Approx(exact).epsilon(1e-12));
  CHECK(norm(A * v - lambda * v) <= 1e-12);

  auto const [value, gA] = value_and_gradient([](auto const& B) { return std::get<0>(smallest_eigenpair(B)); }, A);
  CHECK(value == lambda);
  for (index_t i = 0; i < A.rows(); ++i)
    A.pattern().view().for_row(i, [&, &g = gA](index_t s, index_t j) { CHECK(g.values()[s] == Approx(v[i] * v[j]).epsilon(1e-9).margin(1e-11)); });

  std::size_t entries = 0;
  auto const w = random<double>(A.rows(), 3);
  auto const f = [&](auto const& B) {
    auto const [l, u] = smallest_eigenpair(B);
    if constexpr (Traced<decltype(l)>)
      if constexpr (requires { l.home().operations(); }) entries = l.home().operations();
    return l * dot(w, u) + dot(u, u * u);
  };
  auto const dA = direction(A, 4, true);
  auto const [fv, fg] = value_and_gradient(f, A);
  CHECK(entries == 1);
  auto const [again, slope] = jvp(f, std::tie(A), std::tie(dA));
  CHECK(again == fv);
  CHECK(slope == Approx(gradient::pairing(fg, dA)).epsilon(1e-10));
  CHECK(gradient::taylor_rate(f, A, fg, dA, 1e-2) == Approx(2).margin(0.05));

  auto const [pair_again, d] = jvp([](auto const& B) { return std::get<0>(smallest_eigenpair(B)); }, std::tie(A), std::tie(dA));
  CHECK(d == Approx(dot(v, dA * v)).epsilon(1e-10));
  // one of the results alone: the other one's cotangent is zero
  auto const [nv, ng] = value_and_gradient([&](auto const& B) { return dot(w, std::get<1>(smallest_eigenpair(B))); }, A);
  CHECK(gradient::taylor_rate([&](auto const& B) { return dot(w, std::get<1>(smallest_eigenpair(B))); }, A, ng, dA, 1e-2) == Approx(2).margin(0.05));
}

TEST_CASE("the solution of a nonlinear system, to a matrix, a number and a vector, of which some are constant") {
  auto const A = problems::convection_diffusion<double>({6, 5}, {2.0, -1.0});
  auto const b = random<double>(A.rows(), 1), w = random<double>(A.rows(), 2);
  double const c = 1.5;
  auto const u = cubic(A, c, b);
  static_assert(std::same_as<decltype(u), vector<double> const>);
  CHECK(norm(A * u + c * u * u * u - b) <= 1e-13);
  check_dual([](auto const& B, auto const& factor, auto const& rhs) { return cubic(B, factor, rhs); }, std::tie(A, c, b), {.accuracy = 1e-11});
  check_dual([&](auto const& factor) { return cubic(A, factor, b); }, std::tie(c), {.accuracy = 1e-11});
  // by dense algebra: J^T w = g, and g to b is w
  auto const [value, gb] = value_and_gradient([&](auto const& rhs) { return dot(w, cubic(A, c, rhs)); }, b);
  CHECK(norm(transpose(A) * gb + 3.0 * c * u * u * gb - w) <= 1e-12);
  // an expression as the parameter, and the result in further computations
  CHECK(check_gradient([&](auto const& rhs) { return squared_norm(cubic(A, c, eval(2.0 * rhs)) - w); }, std::tie(b), {.out = nullptr}).passed);
}

TEST_CASE("damped least squares by its two unknowns, inconsistent: the term of the residual and of the damping are there") {
  auto const P = problems::convection_diffusion<double>({6, 5}, {2.0, -1.0});
  auto const A = eval(cols(P, 0, 21));
  auto const b = random<double>(A.rows(), 1);
  double const d = 0.7;
  auto const x = damped_least_squares(A, d, b);
  CHECK(norm(transpose(A) * (b - A * x) - d * d * x) <= 1e-12);
  CHECK(norm(b - A * x) >= 0.1 * norm(b));
  check_dual([](auto const& B, auto const& damping, auto const& rhs) { return damped_least_squares(B, damping, rhs); }, std::tie(A, d, b), {.accuracy = 1e-11});
}

TEST_CASE("a complex linear system as an equation has the derivatives of solve, in both modes") {
  using T = std::complex<double>;
  auto const P = problems::convection_diffusion<double>({5, 4}, {3.0, 1.0});
  auto const A = with_values(P, values(P) + 0.3 * random<T>(P.values().size(), 7));
  auto const b = random<T>(A.rows(), 1), w = random<T>(A.rows(), 2);
  auto const by_equation = [](auto const& matrix, auto const& rhs) {
    return implicit([](auto const& B, auto const& c) { return lu(B).solve(c); }, [](auto const& x, auto const& B, auto const& c) { return B * x - c; },
                    [](auto const&, auto const& B, auto const&) { return lu(B); }, matrix, rhs);
  };
  check_dual(by_equation, std::tie(A, b), {.accuracy = 1e-10});
  auto const [value, gA, gb] = value_and_gradient([&](auto const& B, auto const& c) { return real(dot(w, by_equation(B, c))); }, A, b);
  auto const [value2, hA, hb] = value_and_gradient([&](auto const& B, auto const& c) { return real(dot(w, solve(B, c, lu{}))); }, A, b);
  CHECK(norm(values(gA) - values(hA)) <= 1e-13 * norm(values(hA)));
  CHECK(norm(gb - hb) <= 1e-13 * norm(hb));
}

TEST_CASE("what fails in a derivative of an equation is an error of the derivative, and without one nothing is linearized") {
  struct slope {
    double of;
    double solve(double r) const { return r / of; }
    double solve_adjoint(double g) const { return g / of; }
  };
  int linearized = 0;
  auto const root = [&](auto const& p) {
    return implicit([](double a) { return std::sqrt(a); }, [](double x, auto const& a) { return x * x - a; },
                    [&](double, double) -> slope {
                      ++linearized;
                      throw value_error("no derivative here");
                    },
                    p);
  };
  CHECK(root(4.0) == 2.0);
  CHECK(linearized == 0);
  CHECK_THROWS_WITH(value_and_gradient(root, 4.0), Catch::Matchers::ContainsSubstring("no derivative here"));
  CHECK_THROWS_AS(jvp(root, std::tuple(4.0), std::tuple(1.0)), value_error);
  CHECK(linearized == 2);
}

namespace {
/// The symmetric and the skew part of a pair of vectors: two results of one operation of the user's.
template <Traced X, Traced Y>
auto sum_and_difference(X const& x, Y const& y) {
  auto to_x = linear_in(
      x, [](auto const&, auto const& g) { return std::get<0>(g) + std::get<1>(g); }, [](auto const&, auto const& d) { return std::tuple{1.0 * d, 1.0 * d}; });
  auto to_y = linear_in(
      y, [](auto const&, auto const& g) { return std::get<0>(g) - std::get<1>(g); }, [](auto const&, auto const& d) { return std::tuple{1.0 * d, -d}; });
  return record(home_of(x, y), std::tuple{vector<double>(x.value() + y.value()), vector<double>(x.value() - y.value())}, to_x, to_y);
}
/// x[row] A[row, col] y[col], summed: the rule to A is an outer product on its pattern.
template <Traced A>
auto form(A const& a, vector<double> const& x, vector<double> const& y) {
  auto rule = linear_in(
      a, [&](auto const&, auto const& g) { return adds([&, g](auto& sum) { add_outer(sum, g * x, y); }); },
      [&](auto const&, auto const& d) { return dot(x, d * y); });
  return record(home_of(a), double(dot(x, a.value() * y)), rule);
}
}  // namespace

TEST_CASE("operations of the user's with rules of public names: two results, and an outer product on a pattern") {
  auto const x = random<double>(11, 1), y = random<double>(11, 2), d = random<double>(11, 3), e = random<double>(11, 4);
  auto const f = [&](auto const& a, auto const& b) {
    auto const [s, t] = sum_and_difference(a, b);
    return dot(s, s * t) + 3.0 * dot(e, t);
  };
  auto const [value, gx, gy] = value_and_gradient(f, x, y);
  vector<double> const s = x + y, t = x - y, gs = 2.0 * s * t, gt = s * s + 3.0 * e;
  CHECK(norm(gx - (gs + gt)) <= 1e-14);
  CHECK(norm(gy - (gs - gt)) <= 1e-14);
  CHECK(std::get<1>(jvp(f, std::tie(x, y), std::tie(d, e))) == Approx(dot(gx, d) + dot(gy, e)));
  auto const only = [&](auto const& a, auto const& b) { return dot(e, std::get<0>(sum_and_difference(a, b))); };
  CHECK(norm(std::get<2>(value_and_gradient(only, x, y)) - e) <= 1e-15);

  auto const A = problems::convection_diffusion<double>({11}, 2.0);
  auto const dA = direction(A, 4);
  auto const bilinear = [&](auto const& B) { return form(B, x, y); };
  auto const gA = std::get<1>(value_and_gradient(bilinear, A));
  CHECK(gradient::pairing(gA, dA) == Approx(dot(x, dA * y)));
  CHECK(std::get<1>(jvp(bilinear, std::tie(A), std::tie(dA))) == Approx(dot(x, dA * y)));
}

TEST_CASE("parameters of an equation may be expressions and views, of locals too") {
  auto const A = problems::convection_diffusion<double>({4, 3}, {1.0, 2.0});
  auto const b = random<double>(A.rows(), 1), w = random<double>(A.rows(), 2);
  auto const linear = [](auto const& matrix, auto const& rhs) {
    return implicit([](auto const& B, auto const& c) { return lu(B).solve(c); }, [](auto const& x, auto const& B, auto const& c) { return B * x - c; },
                    [](auto const&, auto const& B, auto const&) { return lu(B); }, matrix, rhs);
  };
  auto const by_equation = [&](auto const& B, auto const& c) {
    auto const local = random<double>(A.rows(), 9);
    return dot(w, linear(B, 2.0 * local)) + dot(w, linear(transpose(B), c));
  };
  auto const by_solve = [&](auto const& B, auto const& c) {
    auto const local = random<double>(A.rows(), 9);
    return dot(w, solve(B, eval(2.0 * local), lu{})) + dot(w, solve(transpose(B), c, lu{}));
  };
  auto const [value, gA, gb] = value_and_gradient(by_equation, A, b);
  auto const [same, hA, hb] = value_and_gradient(by_solve, A, b);
  CHECK(value == Approx(same));
  CHECK(norm(values(gA) - values(hA)) <= 1e-12 * norm(values(hA)));
  CHECK(norm(gb - hb) <= 1e-12 * norm(hb));
  auto const dA = direction(A, 4);
  CHECK(std::get<1>(jvp(by_equation, std::tie(A, b), std::tie(dA, w))) == Approx(gradient::pairing(hA, dA) + dot(hb, w)));
}

TEST_CASE("a residual that catches a traced value, and rules that contribute vectors of another size, are errors") {
  auto const A = problems::poisson<double>({4, 3});
  auto const b = random<double>(A.rows(), 1);
  auto const catches = [&](auto const& B, auto const& c) {
    return sum(implicit([&](auto const& rhs) { return lu(A).solve(rhs); }, [B](auto const& x, auto const& rhs) { return B * x - rhs; },
                        [K = A](auto const&, auto const&) { return lu(K); }, c));
  };
  CHECK_THROWS_WITH(value_and_gradient(catches, A, b), Catch::Matchers::ContainsSubstring("caught from outside"));
  struct shorter {
    vector<double> solve(vector<double> const&) const { return zeros<double>(3); }
    vector<double> solve_adjoint(vector<double> const&) const { return zeros<double>(3); }
  };
  auto const wrong = [&](auto const& c) {
    return sum(implicit([&](auto const& rhs) { return lu(A).solve(rhs); }, [&](auto const& x, auto const& rhs) { return A * x - rhs; },
                        [](auto const&, auto const&) { return shorter{}; }, c));
  };
  CHECK_THROWS_AS(value_and_gradient(wrong, b), shape_error);
  CHECK_THROWS_AS(jvp(wrong, std::tie(b), std::tie(b)), shape_error);
  auto const wrong_rule = [&](auto const& x) {
    auto const three = [](auto const&, auto const&) { return zeros<double>(3); };
    return sum(record(home_of(x), vector<double>(2.0 * x.value()), linear_in(x, three, three)));
  };
  CHECK_THROWS_WITH(value_and_gradient(wrong_rule, b), Catch::Matchers::ContainsSubstring("contributes 3 to"));
  CHECK_THROWS_AS(jvp(wrong_rule, std::tie(b), std::tie(b)), shape_error);
}

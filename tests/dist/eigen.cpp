// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Eigenpairs of matrices on ranks: the basis is sharded, values and vectors are those of one rank.
#include <sla/dist.hpp>
#include <sla/eigenvalues.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"
#include "suites/dual_on_ranks.hpp"
#include "suites/partition.hpp"
#include "suites/spread.hpp"

namespace test_eigen_on_ranks {

using namespace sla;

TEST_CASE("eigsh finds the pairs of one rank on one to four, ordinary and generalised, with few reductions") {
  auto const A = problems::poisson<double>({13, 11});
  auto const B = eval(0.1 * A + diagonal(random<double>(A.rows(), 3) + 2.0));
  auto const one = eigsh(A, 4, smallest{}, lobpcg{.rtol = 1e-9}, jacobi{});
  auto const general = eigsh(A, B, 3, largest{}, lobpcg{.rtol = 1e-9});
  for (int ranks : {1, 2, 3, 4}) {
    auto const apart = threads::run(ranks, [&](auto& world) {
      mesh<axis<"rows">> m(world);
      auto const D = distribute<SparseShard<0>>(A, m, strips{});
      auto const E = distribute<SparseShard<0>>(B, m, D.row_layout());
      auto const pairs = eigsh(D, 4, smallest{}, lobpcg{.rtol = 1e-9}, jacobi{});
      auto const other = eigsh(D, E, 3, largest{}, lobpcg{.rtol = 1e-9});
      auto const multigrid = eigsh(D, 2, smallest{}, lobpcg{.rtol = 1e-9}, amg{});
      double worst = norm(pairs.values - one.values) + norm(gather(pairs.vectors) - one.vectors) / 1e4 + norm(other.values - general.values) +
                     norm(gather(other.vectors) - general.vectors) / 1e4 + std::abs(multigrid.values[1] - one.values[1]);
      if (!pairs.report.converged() || !other.report.converged() || !multigrid.report.converged()) worst = 1e9;
      if (pairs.report.orthogonality > 1e-12 || pairs.report.sees_multiplicity < 4) worst = 1e8;
      return worst;
    });
    for (double a : apart) CHECK(a <= 1e-10);
  }
}

TEST_CASE("Krylov methods find the pairs of one rank on one to four, by factors of the first, and by minres where a preconditioner is named") {
  auto const A = problems::poisson<double>({9, 7}), C = problems::convection_diffusion<double>({9, 8}, 0.8);
  auto const B = eval(0.1 * A + diagonal(random<double>(A.rows(), 3) + 2.0));
  auto const one = eigsh(A, 3, largest{}, lanczos{.rtol = 1e-9});
  auto const inside = eigsh(A, 3, near{2.1}, lanczos{.rtol = 1e-9}), of_weighted = eigsh(A, B, 3, near{1.0}, dense_eigen{}), of_b = eigsh(A, B, 2, largest{}, dense_eigen{});
  auto const other = eigs(C, 3, largest_magnitude{}, krylov_schur{.rtol = 1e-9});
  auto const graph = eval(A - diagonal(A * ones<double>(A.rows())));  // 0 is a value of it
  auto const at_zero = eigsh(graph, 3, near{0.0}, lanczos{.rtol = 1e-9}), at_zero_of_b = eigsh(graph, B, 3, near{0.0}, lanczos{.rtol = 1e-9});
  auto const exact = eigsh(A, 3, near{2.1}, dense_eigen{});
  for (int ranks : {1, 2, 3, 4}) {
    auto const apart = threads::run(ranks, [&](auto& world) {
      mesh<axis<"rows">> m(world);
      auto const D = distribute<SparseShard<0>>(A, m, strips{});
      auto const pairs = eigsh(D, 3, largest{}, lanczos{.rtol = 1e-9});
      auto const near_two = eigsh(D, 3, near{2.1}, lanczos{.rtol = 1e-13});
      if (near_two.report.preconditioner != "lu" || norm(near_two.values - exact.values) > 1e-12) return 1e8;
      auto const weighted = eigsh(D, distribute<SparseShard<0>>(B, m, D.row_layout()), 3, near{1.0}, lanczos{.rtol = 1e-9}, jacobi{});
      auto const by_b = eigsh(D, distribute<SparseShard<0>>(B, m, D.row_layout()), 2, largest{}, lanczos{.rtol = 1e-9});
      double const inverted = norm(near_two.values - inside.values) + norm(gather(near_two.vectors) - inside.vectors) / 1e4 + norm(weighted.values - of_weighted.values) + norm(by_b.values - of_b.values);
      if (weighted.report.preconditioner != "minres" || by_b.report.preconditioner != "lu" || !near_two.report.converged() || !weighted.report.converged() || !by_b.report.converged()) return 1e8;
      if (ranks == 3) {
        auto const L = distribute<SparseShard<0>>(graph, m, D.row_layout());
        auto const moved = eigsh(L, 3, near{0.0}, lanczos{.rtol = 1e-9}), of_b = eigsh(L, distribute<SparseShard<0>>(B, m, D.row_layout()), 3, near{0.0}, lanczos{.rtol = 1e-9}, jacobi{});
        if (!moved.report.converged() || moved.report.choice != at_zero.report.choice || moved.report.choice.find("the shift was moved") == std::string::npos) return 1e7;
        if (!of_b.report.converged() || of_b.report.choice.find("0 is an eigenvalue, or nearly, so that the shift was moved by -") != 0) return 1e6;
        if (norm(moved.values - at_zero.values) + norm(of_b.values - at_zero_of_b.values) + norm(gather(of_b.vectors) - at_zero_of_b.vectors) / 1e4 > 1e-10) return 1e5;
      }
      auto const general = eigs(distribute<SparseShard<0>>(C, m, strips{}), 3, largest_magnitude{}, krylov_schur{.rtol = 1e-9});
      double const worst = norm(pairs.values - one.values) + norm(gather(pairs.vectors) - one.vectors) / 1e4 + norm(general.values - other.values) + norm(gather(general.vectors) - other.vectors) / 1e6;
      return pairs.report.converged() && general.report.converged() ? worst + inverted : 1e9;
    });
    for (double a : apart) CHECK(a <= 1e-10);
  }
}

TEST_CASE("eigs by factors on ranks has the triples of one rank: near real and complex numbers, beside a shift that is a value, with a weight, and left vectors") {
  using namespace std::complex_literals;
  auto const A = problems::convection_diffusion<double>({9, 8}, 0.8);
  auto const B = eval(0.1 * A + diagonal(random<double>(A.rows(), 3) + 2.0)), graph = eval(A - diagonal(A * ones<double>(A.rows())));  // 0 is a value of it
  krylov_schur const method{.rtol = 1e-9};
  auto const inside = eigs(A, 3, near{2.1}, method, left_vectors);
  auto const beside = eigs(A, 2, near{2.1 + 0.3i}, method);
  auto const weighted = eigs(A, B, 2, near{0.7}, method), largest_of_b = eigs(A, B, 2, largest{}, method);
  auto const moved = eigs(graph, 2, near{0.0}, method);
  CHECK_THAT(moved.report.choice, Catch::Matchers::ContainsSubstring("the shift was moved"));
  for (int ranks : {1, 2, 3, 4, 8})
    CHECK(suite::largest_error(ranks, [&](auto& world) {
            mesh<axis<"rows">> m(world);
            auto const D = distribute<SparseShard<0>>(A, m, strips{});
            auto const E = distribute<SparseShard<0>>(B, m, D.row_layout()), G = distribute<SparseShard<0>>(graph, m, D.row_layout());
            auto const apart = [](auto const& found, auto const& one) {
              bool const same = found.report.converged() && found.report.preconditioner == "lu" && found.report.preconditioner == one.report.preconditioner && found.report.choice == one.report.choice;
              return same ? double(norm(found.values - one.values)) + double(norm(gather(found.vectors) - one.vectors)) / 1e6 : 1e9;
            };
            auto const triples = eigs(D, 3, near{2.1}, method, left_vectors);
            std::array<double, 6> out{apart(triples, inside), double(norm(gather(triples.left) - inside.left)) / 1e6, apart(eigs(D, E, 2, near{0.7}, method), weighted)};
            if (ranks == 3)
              out[3] = apart(eigs(D, 2, near{2.1 + 0.3i}, method), beside), out[4] = apart(eigs(D, E, 2, largest{}, method), largest_of_b), out[5] = apart(eigs(G, 2, near{0.0}, method), moved);
            return out;
          }) < 1e-10);
  for (auto const& words : suite::words_of(2, [&](auto& world) {
         mesh<axis<"rows">> m(world);
         (void)eigs(distribute<SparseShard<0>>(problems::poisson<double>({20001}), m, strips{}), 1, near{0.3});
       }))
    CHECK_THAT(words, Catch::Matchers::ContainsSubstring("of 20001 rows, and of more than 20000 no rank gathers them"));
}

TEST_CASE("derivatives of eigenpairs on ranks are those of one rank, in both modes") {
  auto const check = [](auto const& A, auto const& B) {
    lobpcg const method{.rtol = 1e-12};
    auto const values_of = [&](auto const& a) {
      auto const w = eigsh(a, 3, smallest{}, method, jacobi{}).values;
      return w[0] + 2.0 * w[1] * exp(w[2]);
    };
    auto const vectors_of = [&](auto const& a, auto const& b) {
      auto const V = eigsh(a, b, 2, largest{}, method).vectors;
      return sum(real(V * V * V));
    };
    auto const like = [](auto const& a, double size) { return with_values(a, values(eval(size * diagonal(random<double>(a.rows(), 8)) + 0.5 * a))); };
    auto const dA = like(A, 1.0), dB = like(B, 0.3);
    auto const [value, of_values] = value_and_gradient(values_of, A);
    auto const [size, to_A, to_B] = value_and_gradient(vectors_of, A, B);
    auto const [same, forward] = jvp(vectors_of, std::tie(A, B), std::tie(dA, dB));
    for (int ranks : {1, 2, 3, 4})
      CHECK(suite::largest_error(ranks, [&, value = value, of_values = of_values, size = size, to_A = to_A, to_B = to_B, forward = forward](auto& world) {
              mesh<axis<"rows">> m(world);
              auto const D = distribute<SparseShard<0>>(A, m, strips{});
              auto const E = distribute<SparseShard<0>>(B, m, D.row_layout());
              auto const [w, gw] = value_and_gradient(values_of, D);
              auto const [v, gD, gE] = value_and_gradient(vectors_of, D, E);
              auto const [u, gU] = value_and_gradient([&](auto const& d) { return vectors_of(d, E); }, D);  // E is not traced
              auto const [y, dy] = jvp(vectors_of, std::tie(D, E), std::tuple(distribute<SparseShard<0>>(dA, m, D.row_layout()), distribute<SparseShard<0>>(dB, m, D.row_layout())));
              auto const apart = [](auto const& g, auto const& whole) { return double(norm(values(gather(g)) - values(whole)) / norm(values(whole))); };
              return std::array<double, 8>{std::abs(w - value), apart(gw, of_values), std::abs(v - size), apart(gD, to_A), apart(gE, to_B), std::abs(u - size), apart(gU, to_A),
                                           std::abs(all_reduce<"rows">(dy).value() - forward) / std::abs(forward)};
            }) < 1e-9);
  };
  auto const A = problems::poisson<double>({6, 5});
  auto const B = eval(0.1 * A + diagonal(random<double>(A.rows(), 3) + 2.0));
  check(A, B);
}

TEST_CASE("singular triplets on ranks, and the derivatives of their values, are those of one rank") {
  auto const check = [](auto const& A) {
    golub_kahan const method{.rtol = 1e-10};
    auto const E = with_values(A, random<double>(A.nnz(), 4));
    auto const one = svds(A, 3, largest{}, method);
    auto const few = svds(A, 2, smallest{}, method);  // there are fewer than a basis has room for
    auto const f = [&](auto const& a) {
      auto const s = svds(a, 3, largest{}, method).values;
      return s[0] * s[1] + exp(0.1 * s[2]);
    };
    auto const [value, g] = value_and_gradient(f, A);
    auto const [same, forward] = jvp(f, std::tie(A), std::tie(E));
    for (int ranks : {1, 2, 3, 4})
      CHECK(suite::largest_error(ranks, [&, value = value, g = g, forward = forward](auto& world) {
              mesh<axis<"rows">> m(world);
              auto const D = distribute<SparseShard<0>>(A, m, strips{});
              auto const [U, s, V] = svds(D, 3, largest{}, method);
              auto const last = svds(D, 2, smallest{}, method);
              auto const images = eval(A * gather(V)), left = gather(U);
              double residual = last.report.converged() ? 0 : 1e9;
              for (index_t j = 0; j < 3; ++j) residual += double(norm(column(images, j) - s[j] * column(left, j)));
              auto const [v, gD] = value_and_gradient(f, D);
              auto const [y, dy] = jvp(f, std::tie(D), std::tuple(distribute<SparseShard<0>>(E, m, strips{})));
              return std::array<double, 8>{double(norm(s - one.values)), double(norm(gather(U) - one.left)), double(norm(gather(V) - one.right)), double(norm(last.values - few.values)),
                                           residual, std::abs(v - value), double(norm(values(gather(gD)) - values(g))), std::abs(dy.value() - forward)};
            }) < 1e-10);
  };
  check(suite::scattered<double>(50, 30, 200));
  check(suite::scattered<double>(30, 50, 200));
  check(problems::convection_diffusion<double>({6, 5}, {2.0, 0.7}));
  auto const words = suite::words_of(2, [&](auto& world) {
    mesh<axis<"rows">> m(world);
    auto const D = distribute<SparseShard<0>>(suite::scattered<double>(20, 12, 90), m, strips{});
    (void)value_and_gradient([](auto const& a) { return sum(svds(a, 2).left); }, D);
  });
  for (auto const& w : words) CHECK_THAT(w, Catch::Matchers::ContainsSubstring("a derivative of singular vectors of a matrix on ranks"));
}

TEST_CASE("derivatives of eigenpairs, clusters and singular values on ranks pass the checks of one rank") {
  auto const A = eval(problems::poisson<double>({5, 4}) + diagonal(random<double>(20, 2)));
  auto const B = eval(0.1 * A + diagonal(random<double>(20, 3) + 2.0));
  lobpcg const method{.rtol = 1e-12};
  gradient::check_dual_on_ranks([&](auto const& a) {
    auto const w = eigsh(a, 3, smallest{}, method, jacobi{}).values;
    return w[0] + 2.0 * w[1] * exp(w[2]);
  }, std::tie(A), {.accuracy = 1e-9});
  gradient::check_dual_on_ranks([&](auto const& a, auto const& b) {
    auto const [w, V, report] = eigsh(a, b, 2, largest{}, method);
    return sum(real(V * V * V));
  }, std::tie(A, B), {.accuracy = 1e-8});
  auto const square = problems::poisson<double>({4, 4});  // values 1 and 2 are equal
  for (int ranks : {1, 2, 4})
    CHECK(suite::largest_error(ranks, [&](auto& world) {
            mesh<axis<"rows">> m(world);
            auto const of_cluster = [&](auto const& a) {
              auto const w = eigsh(a, 3, smallest{}, method, jacobi{}).values;
              return w[0] * w[0] + w[1] + w[2];
            };
            auto const check = check_gradient(of_cluster, std::tuple(distribute<SparseShard<0>>(square, m, strips{})), {.out = nullptr});
            return std::array<double, 2>{check.passed ? std::abs(check.slope - 2) : 1.0, 1e4 * std::abs(check.derivative / check.difference - 1)};
          }) <= 0.05);
  auto const C = suite::scattered<double>(20, 12, 90);
  gradient::check_dual_on_ranks([](auto const& a) {
    auto const s = svds(a, 3, largest{}, golub_kahan{.rtol = 1e-11}).values;
    return s[0] * s[1] + exp(0.1 * s[2]);
  }, std::tie(C), {.accuracy = 1e-9});
}

TEST_CASE("eigsh near{} of more rows than a rank gathers for factors solves by minres, and finds what factors find") {
  index_t const n = 20001;
  auto const L = problems::poisson<double>({n});
  vector<double> d = full<double>(n, 1.0), weight(n);
  for (index_t i = 0; i < 4; ++i) d[17 + 5000 * i] = 3.0 + 0.1 * double(i);  // values far from those of all other rows
  for (index_t i = 0; i < n; ++i) weight[i] = 1.0 + 0.1 * std::sin(double(i));
  auto const A = eval(0.05 * L + diagonal(d));
  auto const B = diagonal(weight);
  lanczos const method{.rtol = 1e-9, .basis = 5, .find_multiples = false};
  auto const one = eigsh(A, 1, near{3.16}, method), of_b = eigsh(A, B, 1, near{3.16}, method);
  REQUIRE(one.report.preconditioner != "minres");
  for (int ranks : {2, 3})
    CHECK(suite::largest_error(ranks, [&](auto& world) {
            mesh<axis<"rows">> m(world);
            auto const D = distribute<SparseShard<0>>(A, m, strips{});
            auto const pairs = ranks == 2 ? eigsh(D, 1, near{3.16}, method) : eigsh(D, distribute<SparseShard<0>>(B, m, D.row_layout()), 1, near{3.16}, method);
            auto const& wanted = ranks == 2 ? one : of_b;
            if (!pairs.report.converged() || pairs.report.preconditioner != "minres") return std::array<double, 2>{1e9, 0};
            return std::array<double, 2>{double(norm(pairs.values - wanted.values)), double(norm(gather(pairs.vectors) - wanted.vectors)) / 1e3};
          }) <= 1e-11);
}

TEST_CASE("eigsh and eigs say that B lies on other rows than A") {
  auto const A = problems::poisson<double>({6, 5});
  auto const check = [&](auto const& find, char const* call) {
    for (auto const& words : suite::words_of(2, [&](auto& world) {
           mesh<axis<"rows">> m(world);
           find(distribute<SparseShard<0>>(A, m, suite::owners_for(A, 2, false)), distribute<SparseShard<0>>(A, m, suite::owners_for(A, 2, true)));
         }))
      CHECK_THAT(words, Catch::Matchers::StartsWith(std::string(call) + "(A, B, k, ...): B was sharded by another partition than A's rows: rank ") && Catch::Matchers::ContainsSubstring("distribute it by A.row_layout()"));
  };
  check([](auto const& D, auto const& E) { (void)eigsh(D, E, 2, largest{}, lobpcg{.rtol = 1e-9}); }, "eigsh");
  check([](auto const& D, auto const& E) { (void)eigsh(D, E, 3, near{1.0}, lanczos{.rtol = 1e-9}); }, "eigsh");
  check([](auto const& D, auto const& E) { (void)eigs(D, E, 2, near{0.7}, krylov_schur{.rtol = 1e-9}); }, "eigs");
  check([](auto const& D, auto const& E) { (void)eigsh(cast<std::complex<double>>(D), E, 2, largest{}, lobpcg{.rtol = 1e-9}); }, "eigsh");
}

TEST_CASE("errors about a matrix on ranks name the call that was made, and the matrix") {
  auto const A = problems::poisson<double>({6, 5});
  auto broken = A;
  broken.values()[7] = std::nan("");
  auto const says = [&](std::string const& expected, auto const& call) {
    for (auto const& words : suite::words_of(2, [&](auto& world) {
           mesh<axis<"rows">> m(world);
           auto const D = distribute<SparseShard<0>>(A, m, equal_rows{});
           call(D, distribute<SparseShard<0>>(broken, m, D.row_layout()), select_rows(D, std::vector<index_t>(world.rank() == 0 ? 18 : 12, 1)), rows(D, 0, 20));
         }))
      CHECK_THAT(words, Catch::Matchers::StartsWith(expected) || Catch::Matchers::StartsWith("rank 0 failed: " + expected));
  };
  std::string const owners = ": the rows and columns of A have other owners: rank ";
  says("eigsh(A, k, ...)" + owners, [](auto const&, auto const&, auto const& E, auto const&) { (void)eigsh(E, 2, smallest{}); });
  says("eigs(A, k, ...)" + owners, [](auto const&, auto const&, auto const& E, auto const&) { (void)eigs(E, 2, largest_magnitude{}); });
  says("prepare(A, ...)" + owners, [](auto const&, auto const&, auto const& E, auto const&) { (void)prepare(E, gmres{}, identity{}); });
  says("prepare(A, ...): A(2, 1) is nan", [](auto const&, auto const& N, auto const&, auto const&) { (void)prepare(N, cg{}, jacobi{}); });
  says("prepare(A, ...): A is 20 x 30, and must be square", [](auto const&, auto const&, auto const&, auto const& R) { (void)prepare(R, cg{}, jacobi{}); });
  says("prepared.update(A): A(2, 1) is nan", [](auto const& D, auto const& N, auto const&, auto const&) { prepare(D, cg{}, jacobi{}).update(N); });
  says("eigsh(A, B, k, ...), B in the place of A: A(2, 1) is nan", [](auto const& D, auto const& N, auto const&, auto const&) { (void)eigsh(D, N, 2, smallest{}); });
  says("svds(A, k): A(2, 1) is nan", [](auto const&, auto const& N, auto const&, auto const&) { (void)svds(N, 2); });
}

TEST_CASE("what is no eigenproblem is refused on all ranks alike") {
  auto const A = problems::convection_diffusion<double>({5, 4}, 3.0);
  for (auto const& words : threads::run(2, [&](auto& world) {
         mesh<axis<"rows">> m(world);
         auto const D = distribute<SparseShard<0>>(A, m, strips{});
         auto const S = distribute<SparseShard<0>>(problems::poisson<double>({20}), m, strips{});
         std::string out;
         try {
           (void)eigsh(D, 2, smallest{}, lobpcg{});
         } catch (value_error const& e) {
           out = e.what();
         }
         try {
           (void)eigsh(S, 21, smallest{}, lobpcg{});
         } catch (value_error const& e) {
           out += e.what();
         }
         try {
           (void)eigsh(S, distribute<SparseShard<0>>(eval(eye<double>(20) - 0.7 * problems::poisson<double>({20})), m, S.row_layout()), 1, largest{}, lobpcg{});
         } catch (value_error const& e) {
           out += e.what();
         }
         auto broken = problems::poisson<double>({20});
         broken.values()[broken.nnz() - 1] = std::nan("");
         for (bool rectangular : {false, true}) try {
             (void)eigsh(distribute<SparseShard<0>>(rectangular ? rows(broken, 0, 10) : broken, m, strips{}), 1, smallest{}, lobpcg{});
           } catch (error const& e) {
             out += e.what();
           }
         return out;
       })) {
    CHECK_THAT(words, Catch::Matchers::ContainsSubstring("eigsh(A, k, ...): A(19, 19) is nan") && Catch::Matchers::ContainsSubstring("eigsh(A, k, ...): A is 10 x 20, and must be square"));
    CHECK_THAT(words, Catch::Matchers::ContainsSubstring("A is not Hermitian") && Catch::Matchers::ContainsSubstring("B is not positive definite: a vector p has (p, B p) = -") && Catch::Matchers::ContainsSubstring("k is 21, and A has 20 rows"));
  }
}

} // namespace test_eigen_on_ranks

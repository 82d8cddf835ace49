// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stored transposes, norms, diagonals, scaling and gathering of distributed matrices, against the whole matrix.
#include <complex>

#include <sla/dist/assembly/vectors.hpp>
#include <sla/dist/matrix/algebra_on_ranks.hpp>
#include <sla/dist/solve/mesh_world.hpp>
#include <sla/solve/krylov/cg.hpp>
#include <sla/tensor/build/block.hpp>
#include <sla/tensor/problems/random_problems.hpp>

#include "catch.hpp"
#include "suites/partition.hpp"
#include "suites/spread.hpp"

namespace test_matrix {

using namespace sla;
using Line = mesh<axis<"line">>;

namespace {
double far(double a, double b) { return std::abs(a - b); }
template <class X>
double far(X const& a, X const& b) {
  return norm(a - b);
}

template <int Sharded, class T, class S>
double errors(int ranks, sparse_tensor<T, S> const& A) {
  auto const whole = to_dense(A), turned = to_dense(transposed(A)), conjugate = to_dense(adjointed(A));
  auto const by_rows = random<real_t<T>, range_extents_t<S>>(A.range(), 1);
  auto const by_columns = random<real_t<T>, domain_extents_t<S>>(A.domain(), 2);
  auto const rows_scaled = to_dense(scale_rows(A, by_rows)), columns_scaled = to_dense(scale_cols(A, by_columns));
  auto const frobenius = norm(A), one = norm1(A), inf = norm_inf(A);
  return suite::largest_error(ranks, [&](auto& world) {
    Line m(world);
    auto D = distribute<SparseShard<Sharded>>(A, m, suite::scattered_owners(Sharded == 0 ? A.rows() : A.cols(), ranks));
    auto Dt = transposed(D);
    static_assert(has_placements<decltype(Dt), SparseShard<0>>);
    auto const rows = [&](auto const& d) {
      if constexpr (Sharded == 0)
        return distribute(d, D.row_layout());
      else
        return distribute<Replicate>(d, m);
    };
    return std::array<double, 10>{far(to_dense(D), whole),
                                 far(to_dense(Dt), turned),
                                 far(to_dense(adjointed(D)), conjugate),
                                 far(to_dense(transposed(Dt)), whole),
                                 far(sum(D), sum(A)),
                                 far(norm(D), frobenius),
                                 far(norm1(D), one),
                                 far(norm_inf(D), inf),
                                 far(to_dense(scale_rows(D, rows(by_rows))), rows_scaled),
                                 far(to_dense(scale_cols(D, distribute(by_columns, D.col_layout()))), columns_scaled)};
  });
}
} // namespace

TEST_CASE("sums, products and multiples of matrices by rows are those of the whole") {
  int const ranks = GENERATE(1, 2, 3, 4, 8);
  auto const P = problems::random_sparse<double>(24, 9, 3, 5), A = problems::convection_diffusion<double>({6, 4}, {3.0, 1.0});
  auto const B = problems::random_sparse<double>(24, 24, 2, 6);
  auto const C = to_blocks<2, 2>(problems::random_sparse<std::complex<double>>(24, 24, 3, 7));
  double const error = suite::largest_error(ranks, [&](auto& world) {
    Line m(world);
    auto const owners = suite::owners_for(A, ranks, ranks != 2);
    auto const D = distribute<SparseShard<0>>(A, m, owners), E = distribute<SparseShard<0>>(B, m, owners), Q = distribute<SparseShard<0>>(P, m, owners);
    auto const F = distribute<SparseShard<0>>(C, m, suite::scattered_owners(12, ranks));
    auto const sum = D + E;
    auto const x = random<double>({24}, 8);
    double const product = norm(gather(sum * distribute(x, D.row_layout()) - D * distribute(x, E.col_layout())) - vector<double>(B * x));
    return std::array<double, 10>{far(to_dense(sum), to_dense(A + B)),
                                 far(to_dense(D - transpose(E)), to_dense(A - transpose(B))),
                                 far(to_dense(D * E), to_dense(A * B)),
                                 far(to_dense(transpose(Q) * (D * Q)), to_dense(transpose(P) * (A * P))),  // Galerkin
                                 far(to_dense(F * adjoint(F) + F), to_dense(C * adjoint(C) + C)),
                                 far(to_dense(2.0 * D - D / 4.0), to_dense(2.0 * A - A / 4.0)),
                                 far(to_dense(-(E * uniform(norm(E)))), to_dense(-(B * norm(B)))),
                                 far(to_dense(scale_rows(E, 1.0 / diagonal_of(D))), to_dense(scale_rows(B, 1.0 / diagonal_of(A)))),
                                 double(Q.rows() - 24 + Q.cols() - 9),
                                 product};
  });
  CHECK(error < 1e-11);
}

TEST_CASE("functions of entries, in place and entry by entry, are those of the whole") {
  auto const A = problems::convection_diffusion<double>({6, 4}, {3.0, 1.0}), B = problems::random_sparse<double>(24, 24, 4, 6);
  for (int ranks : {1, 3, 4})
    CHECK(suite::largest_error(ranks, [&](auto& world) {
            Line m(world);
            auto const owners = suite::owners_for(A, ranks, ranks != 3);
            auto const D = distribute<SparseShard<0>>(A, m, owners), E = distribute<SparseShard<0>>(B, m, owners);
            auto const C = distribute<SparseShard<1>>(A, m, owners);
            auto changed = D;
            changed += E;
            changed *= 2.0;
            changed -= D;
            return std::array<double, 7>{far(to_dense(changed), to_dense(2.0 * (A + B) - A)),
                                         far(to_dense(abs(C)), to_dense(abs(A))),
                                         far(to_dense(cast<float>(E)), to_dense(cast<float>(B))),
                                         far(to_dense(masked(D, transpose(E))), to_dense(masked(A, transpose(B)))),
                                         far(to_dense(multiply_elements(D, E)), to_dense(multiply_elements(A, B))),
                                         far(to_dense(add(2.0, D, -1.0, transpose(E))), to_dense(add(2.0, A, -1.0, transpose(B)))),
                                         far(to_dense(eval(adjoint(D))), to_dense(adjointed(A)))};
          }) < 1e-13);
}

TEST_CASE("plans multiply and transpose new values: no pattern travels, and the results are those without a plan, to the last bit") {
  auto const same = [](auto const& C, auto const& E) {
    return same_pattern(C.local().pattern(), E.local().pattern()) && std::equal(C.local().values().begin(), C.local().values().end(), E.local().values().begin()) ? 0.0 : 1.0;
  };
  auto const P = problems::random_sparse<double>(24, 9, 3, 5), A = problems::convection_diffusion<double>({6, 4}, {3.0, 1.0});
  auto const F = to_blocks<2, 2>(problems::random_sparse<std::complex<double>>(24, 24, 3, 7));
  for (int ranks : {1, 2, 3, 4, 8})
    CHECK(suite::largest_error(ranks, [&](auto& world) {
            Line m(world);
            auto const owners = suite::owners_for(A, ranks, ranks != 2);
            auto const D = distribute<SparseShard<0>>(A, m, owners), Q = distribute<SparseShard<0>>(P, m, owners), D2 = scale_rows(D, generate(D.row_layout(), [](index_t i) {
                                                                                                                                             return 1.0 / double(i + 1);
                                                                                                                                           }));
            multiply_plan const of_fine(D, Q);
            auto DQ = of_fine(D, Q);
            transpose_plan const turn(Q);
            auto R = turn.transpose(Q);
            multiply_plan const of_coarse(R, DQ);
            auto K = of_coarse(R, DQ);
            double const first = same(K, transpose(Q) * (D * Q)) + same(DQ, D * Q) + same(R, transposed(Q));
            any_communicator& c = m.communicator(0);
            auto const before = c.stats();
            of_fine.update(DQ, D2, Q);
            auto const after = c.stats();
            double const sent = double(after.collectives() - before.collectives()) - 2.0;  // whether C, and D and Q, are of the plan
            turn.update(R, 2.0 * Q);
            of_coarse.update(K, R, DQ);
            auto const G = distribute<SparseShard<0>>(F, m, suite::scattered_owners(12, ranks));
            transpose_plan const turn_blocks(G);
            multiply_plan const of_blocks(G, turn_blocks.adjoint(G));
            return std::array<double, 5>{first, sent, far(to_dense(K), to_dense(2.0 * (transpose(P) * gather(D2 * Q)))), same(DQ, D2 * Q), same(of_blocks(G, adjointed(G)), G * adjoint(G))};
          }) < 1e-12);
  for (auto const& w : suite::words_of(2, [&](auto& world) {
         Line m(world);
         auto const D = distribute<SparseShard<0>>(A, m, owner_map::equal(24, 2));
         multiply_plan const plan(D, D);
         (void)plan(D, D + distribute<SparseShard<0>>(problems::random_sparse<double>(24, 24, 2, 6), m, owner_map::equal(24, 2)));
       }))
    CHECK(w.find("multiply_plan(D, E) on rank 0: other patterns than those of the plan; make a plan of those") != std::string::npos);
}

TEST_CASE("matrices that do not fit are refused on every rank, with the sides that differ") {
  auto const A = problems::poisson<double>({4, 5});
  auto const heard = [&](auto const& f) {
    return suite::words_of(2, [&](auto& world) {
      Line m(world);
      f(m, distribute<SparseShard<0>>(A, m, owner_map::equal(20, 2)));
    });
  };
  for (auto const& w : heard([&](auto& m, auto const& D) { (void)(D + distribute<SparseShard<0>>(A, m, owner_map({0, 8, 20}))); }))
    CHECK(w.find("D + E: their rows have other owners") != std::string::npos);
  for (auto const& w : heard([&](auto& m, auto const& D) { (void)(D * distribute<SparseShard<0>>(problems::poisson<double>({3, 5}), m)); }))
    CHECK(w.find("D * E: the columns of D and the rows of E are 20 and 15") != std::string::npos);
}

TEST_CASE("what is asked of a matrix by rows has the answers of the whole") {
  int const ranks = GENERATE(1, 2, 3, 4, 8);
  CHECK(errors<0>(ranks, problems::convection_diffusion<double>({6, 5}, {3.0, 1.0})) < 1e-12);
  CHECK(errors<0>(ranks, suite::scattered<double>(30, 22, 90)) < 1e-12);
}

TEST_CASE("and by columns, and of batches of complex blocks") {
  CHECK(errors<1>(3, suite::scattered<double>(30, 22, 90)) < 1e-12);
  using S = Shape<Batch<2>, dyn, dyn, Block<2, 2>>;
  suite::random_triplets<std::complex<double>> const t(12, 12, 40, 5, 8);
  CHECK(errors<0>(3, from_triplets<std::complex<double>>(S({}, 12, 12), t.row, t.col, t.value)) < 1e-12);
}

TEST_CASE("norms of a matrix are those of its dense form") {
  auto const A = suite::scattered<std::complex<double>>(9, 7, 30);
  auto const dense = to_dense(A);
  double frobenius = 0, one = 0, inf = 0;
  for (index_t i = 0; i < 9; ++i) {
    double row = 0;
    for (index_t j = 0; j < 7; ++j) row += std::abs(dense(i, j)), frobenius += std::norm(dense(i, j));
    inf = (std::max)(inf, row);
  }
  for (index_t j = 0; j < 7; ++j) {
    double column = 0;
    for (index_t i = 0; i < 9; ++i) column += std::abs(dense(i, j));
    one = (std::max)(one, column);
  }
  CHECK(std::abs(norm(A) - std::sqrt(frobenius)) < 1e-13 * std::sqrt(frobenius));
  CHECK(std::abs(norm1(A) - one) < 1e-13 * one);
  CHECK(std::abs(norm_inf(A) - inf) < 1e-13 * inf);
}

TEST_CASE("a diagonal lies as the rows or columns that are sharded") {
  auto const A = suite::scattered<double>(25, 25, 200);
  auto const expected = diagonal_of(A);
  auto const x = random<double>({25}, 3);
  double const error = suite::largest_error(4, [&](auto& world) {
    Line m(world);
    auto D = distribute<SparseShard<0>>(A, m);
    auto E = distribute<SparseShard<1>>(A, m);
    auto R = distribute<Replicate>(A, m);
    // what lies alike multiplies: D's diagonal times a vector of its rows
    auto product = eval(diagonal_of(D) * distribute(x, D.row_layout()));
    return std::array<double, 4>{norm(gather(diagonal_of(D)) - expected), norm(gather(diagonal_of(E)) - expected),
                                 norm(diagonal_of(R).local() - expected), norm(gather(product) - expected * x)};
  });
  CHECK(error < 1e-14);
  auto const words = suite::words_of(2, [&](auto& world) {
    Line m(world);
    diagonal_of(distribute<SparseShard<0>>(suite::scattered<double>(6, 5, 9), m));
  });
  CHECK(words[1].find("D is 6 x 5, and must be square") != std::string::npos);
}

TEST_CASE("ranks that give different tensors of one size are told so") {
  auto const words = suite::words_of(3, [&](auto& world) {
    Line m(world);
    auto A = problems::poisson<double>({6, 6});
    if (world.rank() == 2) A.values()[17] += 1e-9;
    distribute<SparseShard<0>>(A, m);
  });
  for (auto const& w : words) CHECK(w.find("rank 2 gives another tensor of this size than rank 0") != std::string::npos);
  auto const pattern = suite::words_of(2, [&](auto& world) {
    Line m(world);
    index_t const at = world.rank();
    distribute<SparseShard<0>>(from_triplets<double>(4, 4, {at, 3}, {0, 1}, {1.0, 2.0}), m);
  });
  CHECK(pattern[0].find("rank 1 gives another tensor") != std::string::npos);
  auto const vectors = suite::words_of(2, [&](auto& world) {
    Line m(world);
    distribute<Replicate>(random<double>({5}, unsigned(world.rank())), m);
  });
  CHECK(vectors[1].find("rank 1 gives another tensor") != std::string::npos);
}

TEST_CASE("distributed values and layouts that were moved from say so") {
  auto const A = problems::poisson<double>({4, 3});
  threads::run(2, [&](auto& world) {
    Line m(world);
    auto D = distribute<SparseShard<0>>(A, m);
    auto const x = distribute(ones<double>({12}), D.row_layout());
    auto y = x;
    auto layout = D.row_layout();
    auto const y_now = std::move(y);
    auto const layout_now = std::move(layout);
    auto const D_now = std::move(D);
    auto const refused = [](auto const& use) {
      try {
        use();
      } catch (value_error const& e) {
        if (std::string(e.what()).find("was moved from and is empty") != std::string::npos) return;
      }
      throw error("what was moved from was used without an error");
    };
    refused([&] { return eval(D * x); });
    refused([&] { return eval(D_now * y); });
    refused([&] { return eval(x + y); });
    refused([&] { return gather(y); });
    refused([&] { return D.row_layout(); });
    refused([&] { return distribute(ones<double>({12}), layout); });
    refused([&] { return prepare(D, cg{}, jacobi{}); });
  });
}
} // namespace test_matrix

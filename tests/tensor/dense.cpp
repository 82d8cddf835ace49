// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dense tensors, sparse owners, buffers, the count of memory, and loops over threads.
#include "catch.hpp"
#include "oracle.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <complex>

#include <sla/tensor/build/block.hpp>

namespace test_dense {

using namespace sla;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("tensors have extents, zeros, and elements in rows") {
  matrix<double> A({2, 3});
  CHECK(A.size() == 6);
  CHECK(A.extent(1) == 3);
  for (double v : A) CHECK(v == 0);
  A(1, 2) = 5;
  CHECK(A[5] == 5);
  tensor<float, Extents<2, dyn>> const B({2, 4});
  CHECK(B.size() == 8);
  vector<double> const x{1, 2, 3};
  CHECK(x.extents() == Extents<dyn>(3));
  CHECK(x(1) == 2);
  CHECK(vector<double>().size() == 0);
  CHECK(tensor<double, Extents<2, 2>>().size() == 4);
  CHECK_THROWS_AS(vector<double>(-1), shape_error);
  CHECK_THROWS_WITH((matrix<double>({2, 2}, buffer<double>(3))),
                    ContainsSubstring("3 values for a tensor of 2 x 2 = 4"));
}

TEST_CASE("elements are looked up where they are, or refused with index and extent") {
  if (!SLA_CHECKED) return;
  vector<double> w{1, 2, 3, 4, 5};
  auto const& fixed = w;
  CHECK_THROWS_AS(w[7] = 1, index_error);
  CHECK_THROWS_WITH(fixed[5], "element 5 of a tensor of 5; it must be at least 0 and less than 5 (indices count from 0)");
  CHECK_THROWS_WITH(w(-1), "index -1 on axis 0 of a tensor of 5; it must be at least 0 and less than 5");
  CHECK((w[4] == 5 && fixed(4) == 5));
  matrix<double> M({3, 4});
  M(2, 3) = 7;
  CHECK(M[11] == 7);
  CHECK_THROWS_WITH(M(2, 5), "index 5 on axis 1 of a tensor of 3 x 4; it must be at least 0 and less than 4");
  CHECK_THROWS_WITH(M(3, 0), "index 3 on axis 0 of a tensor of 3 x 4; it must be at least 0 and less than 3 (indices count from 0)");
  CHECK_THROWS_AS(std::as_const(M)(0, 4), index_error);  // not element (1, 0)
  CHECK_THROWS_AS(M[12], index_error);
  CHECK_THROWS_AS(vector<double>()[0], index_error);
  std::vector<double> user{1, 2};
  CHECK_THROWS_AS(borrow(user.data(), 2)[2], index_error);
  buffer<int> numbers(3);
  CHECK_THROWS_WITH(numbers[3] = 1, "element 3 of 3 elements; it must be at least 0 and less than 3 (indices count from 0)");
  auto const A = random_triplets(4, 4, 6, 1).build();
  CHECK_THROWS_AS(A.values()[A.nnz()], index_error);
  CHECK_THROWS_AS(A.pattern().row_ptr[-1], index_error);
  tensor<double, Extents<2>> a({1, 2});
  auto const b = std::move(a);
  CHECK_THROWS_WITH(a(0), ContainsSubstring("was moved from and has no elements"));
  CHECK(b(0) == 1);
}

TEST_CASE("arrays and containers of numbers are copied into vectors") {
  std::vector<double> user{1, 2, 3};
  vector<double> x(user);
  user[0] = 9;
  CHECK(text(x) == "1 2 3");
  int const counts[] = {4, 5};
  CHECK(text(vector<float>(counts)) == "4 5");
  CHECK(text(vector<std::complex<double>>(std::array{1.5, 2.5})) == "(1.5,0) (2.5,0)");
  CHECK(text(tensor<double, Extents<3>>(user)) == "9 2 3");
  CHECK_THROWS_AS((tensor<double, Extents<2>>(user)), shape_error);
  CHECK(vector<double>(std::vector<double>{}).size() == 0);
  CHECK_THROWS_WITH(vector<double>({5}), Catch::Matchers::ContainsSubstring("a vector of {5}: is this its element or its extent?"));
  CHECK_THROWS_AS(vector<double>{5}, shape_error);
  CHECK(vector<double>{5.0}.size() == 1);
  CHECK(text(vector<double>{1, -2, 3}) == "1 -2 3");
  CHECK(text(vector<std::complex<double>>{1, 2}) == "(1,0) (2,0)");
  CHECK(vector<double>(5).size() == 5);
  static_assert(!std::constructible_from<vector<double>, std::string> && !std::constructible_from<vector<double>, matrix<double>>);
  static_assert(!std::constructible_from<vector<double>, std::vector<std::complex<double>>> && std::convertible_to<std::vector<double>, vector<double>>);
  vector<double> y = user;
  y = std::array{4.0, 5.0};
  CHECK(text(y) == "4 5");
}

TEST_CASE("a matrix is made of extents, of its rows, and of an array with its extents") {
  matrix<double> const D{{1, 2, 3}, {4, 5, 6}}, one_row{{1, 2}}, zero(2, 3), same({2, 3});
  matrix<float> const E = {{1.5f}, {2.5f}};
  CHECK(text(D) == "1 2 3\n4 5 6");
  CHECK(text(one_row, '|', E) == "1 2|1.5\n2.5");
  CHECK((zero.extent(0) == 2 && zero.extent(1) == 3 && text(zero) == text(same)));
  std::vector<std::vector<double>> const rows{{1, 2}, {3, 4}, {5, 6}};
  CHECK(text(matrix<double>(rows)) == "1 2\n3 4\n5 6");
  matrix<double> const converted = rows;
  CHECK(text(converted) == "1 2\n3 4\n5 6");
  CHECK(text(tensor<double, Extents<dyn, 2>>(rows)) == "1 2\n3 4\n5 6");
  CHECK(text(matrix<double>({3, 2}, std::vector<int>{1, 2, 3, 4, 5, 6})) == "1 2\n3 4\n5 6");
  CHECK(text(tensor<double, Extents<dyn, dyn, dyn>>(1, 1, 2)) == "0 0");
  CHECK_THROWS_WITH((matrix<double>{{1, 2}, {3}}), "a matrix by its rows: row 1 has 1 elements, row 0 has 2; rows are equally long");
  CHECK_THROWS_AS((tensor<double, Extents<dyn, 3>>(rows)), shape_error);
  CHECK_THROWS_WITH(matrix<double>({2, 2}, std::vector<double>{1.0}), "1 values for a tensor of 2 x 2 = 4 elements");
  CHECK(matrix<double>(std::vector<std::vector<double>>{}).extent(0) == 0);
}

TEST_CASE("tensors are printed, a line for each row") {
  matrix<double> A({2, 3});
  for (index_t n = 0; n < 6; ++n) A[n] = 0.5 * double(n);
  CHECK(text(A) == "0 0.5 1\n1.5 2 2.5");
  CHECK(text(vector<double>{1, 2, 3}) == "1 2 3");
  CHECK(text(full<std::complex<float>, Extents<2, 1, 2>>({}, {1, -1})) == "(1,-1) (1,-1)\n(1,-1) (1,-1)");
  CHECK(text(vector<double>(), "|", matrix<float>({2, 0})) == "|");
}

TEST_CASE("values are copied, and moved without a copy") {
  vector<double> a = full<double>(5, 2.0);
  auto b = a;
  b[0] = 9;
  CHECK(a[0] == 2);
  double const* const where = a.data();
  auto c = std::move(a);
  CHECK(c.data() == where);
  CHECK(a.extent(0) == 0);  // what says its extents has its elements
  b = std::move(c);
  CHECK((c.extent(0) == 0 && b.extent(0) == 5));
  c = b;
  CHECK((c[0] == 2 && b[0] == 2));
  CHECK(zeros<float>(3)[2] == 0);
  CHECK(ones<std::complex<double>>(3)[2] == 1.0);
}

TEST_CASE("random numbers are the same for a seed, whatever the threads") {
  auto const a = random<double>(50000, 7), other = random<double>(50000, 8);
  set_threads(1);
  auto const b = random<double>(50000, 7);
  set_threads(0);
  CHECK(std::equal(a.begin(), a.end(), b.begin()));
  CHECK_FALSE(std::equal(a.begin(), a.end(), other.begin()));
  double sum = 0, low = 1, high = -1;
  for (double v : a) sum += v, low = std::min(low, v), high = std::max(high, v);
  CHECK(std::abs(sum) < 500);
  CHECK((low >= -1 && low < -0.99 && high < 1 && high > 0.99));
  auto const z = random<std::complex<float>, Extents<3, dyn>>({3, 5}, 1);
  CHECK(z[0].real() != z[0].imag());
}

TEST_CASE("borrowed arrays") {
  std::vector<double> user{1, 2, 3, 4};
  auto x = borrow(user.data(), 4);
  x[1] = 7;
  CHECK(user[1] == 7);
  auto const copy = x;
  user[0] = 0;
  CHECK(copy[0] == 1);
  std::vector<double> const fixed{1, 2};
  auto y = borrow(fixed.data(), 2);
  CHECK(std::as_const(y)[1] == 2);
  CHECK_THROWS_AS(y.data(), value_error);
  CHECK_THROWS_AS(borrow(static_cast<double*>(nullptr), 2), shape_error);
}

TEST_CASE("memory is counted") {
  std::size_t const before = memory_in_use().now;
  memory_peak_reset();
  {
    vector<double> const x(1000);
    CHECK(memory_in_use().now == before + 8000);
    auto const y = x;
    CHECK(memory_in_use().now == before + 16000);
  }
  CHECK(memory_in_use().now == before);
  CHECK(memory_in_use().peak == before + 16000);
}

TEST_CASE("long runs are used again, as long as more than that is in use") {
  index_t const n = 1 << 20;
  vector<double> const held(2 * n);
  double const* where[2];
  for (double const*& at : where) {
    vector<double> work(n);
    at = std::as_const(work).data();
    CHECK(std::all_of(work.begin(), work.end(), [](double v) { return v == 0; }));  // whatever the pages held
    std::fill(work.begin(), work.end(), 1.0);
  }
  CHECK(where[0] == where[1]);
  auto const place = [](index_t size) {
    vector<double> const work(size);
    std::uintptr_t at = 0;
    at = reinterpret_cast<std::uintptr_t>(work.data());  // assigned: of a returned address of a local clang warns
    return at;
  };
  auto const before = place(n);
  CHECK(place(n - n / 4) == before);
  CHECK(place(n) == before);  // it is as long as it was
  CHECK_THROWS_AS(host_memory::allocate(std::size_t(1) << 60), std::bad_alloc);
  CHECK_THROWS_AS(host_memory::allocate(std::size_t(1) << 60), memory_error);
  CHECK_THROWS_WITH(zeros<double>(index_t(1) << 59), ContainsSubstring("no room for 4611686018427387904 bytes (4.61e+09 GB) more"));
  CHECK(detail::runs_of_this_thread().take(detail::page_run::length_for(n * sizeof(double))).at == nullptr);  // given back first

  detail::kept_runs kept;
  auto const run = detail::page_run::from_system(2 * detail::large_page);
  kept.give(run, run.length);
  CHECK(kept.take(run.length + detail::large_page).at == nullptr);
  CHECK(kept.take(run.length).at == run.at);
  kept.give(run, run.length);
  CHECK(kept.take(run.length / 2).at == nullptr);  // too long for that
  auto const longer = detail::page_run::from_system(3 * detail::large_page);
  kept.give(longer, run.length + longer.length);
  CHECK(kept.take(run.length).at == run.at);  // the shorter of two that fit
  CHECK(kept.take(run.length).length == longer.length);
  longer.to_system();
  kept.give(run, run.length - 1);  // freed: too much to keep
  CHECK(kept.take(run.length).at == nullptr);
}

TEST_CASE("sparse tensors share patterns, not values") {
  auto const A = random_triplets(8, 6, 20, 1).build();
  auto B = A;
  CHECK(B.shared_pattern() == A.shared_pattern());
  B.values()[0] += 1;
  CHECK(A.values()[0] != B.values()[0]);
  CHECK(A.bytes() == A.pattern().bytes() + std::size_t(A.nnz()) * 8);
  CHECK(sparse_tensor<double>(Matrix(8, 6), A.shared_pattern()).values()[0] == 0);
  CHECK_THROWS_WITH(sparse_tensor<double>(Matrix(8, 7), A.shared_pattern()),
                    ContainsSubstring("8 x 6 for a tensor of 8 x 7"));
  CHECK_THROWS_AS(sparse_tensor<double>(Matrix(8, 6), A.shared_pattern(), buffer<double>(1)), shape_error);
  auto const C = to_batch<2>(to_blocks<2, 3>(A));
  CHECK(C.domain() == Extents<2, dyn, 3>(2, 2, 3));
  CHECK(C.range() == Extents<2, dyn, 2>(2, 4, 2));
}

TEST_CASE("loops over threads cover each index once, and pass on what is thrown") {
  for (int threads : {1, 2, 5}) {
    set_threads(threads);
    std::vector<int> seen(100000, 0);
    parallel_ranges(100000, [&](index_t lo, index_t hi) {
      for (index_t n = lo; n < hi; ++n) ++seen[std::size_t(n)];
    });
    CHECK(std::count(seen.begin(), seen.end(), 1) == 100000);
    CHECK_THROWS_AS(parallel_ranges(100000, [](index_t, index_t) { throw value_error("no"); }), value_error);
    CHECK(detail::first_where(100000, [](index_t n) { return n % 70000 == 69999; }) == 69999);
    CHECK(detail::first_where(100000, [](index_t) { return false; }) == -1);
  }
  set_threads(0);
  CHECK(threads_in_use() >= 1);
  CHECK_THROWS_AS(set_threads(-1), value_error);
  std::atomic<int> calls = 0;
  parallel_ranges(0, [&](index_t, index_t) { ++calls; });
  parallel(0, [&](int) { ++calls; });
  CHECK(calls == 0);
}

} // namespace test_dense

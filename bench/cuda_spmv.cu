// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// y = A x on a GPU in Csr, Dia and Sell, with one vector and several, beside the fastest of cuSPARSE's algorithms for compressed rows.
// cuda_spmv [repetitions]
#include <cusparse.h>

#include <sla/tensor.hpp>
#include <sla/tensor/build/sell.hpp>

#include "cuda_time.cuh"

namespace {
using namespace sla;

void check(cusparseStatus_t status) {
  if (status != CUSPARSE_STATUS_SUCCESS) throw value_error(text("cuSPARSE: ", cusparseGetErrorString(status)));
}
template <class T>
constexpr cudaDataType kind = std::is_same_v<T, double> ? CUDA_R_64F : CUDA_R_32F;

/// Seconds of cuSPARSE's Y = A X with the arrays of ours, by the algorithm that is fastest here; X has `columns` in rows.
template <class T, class A, class V>
bench::samples peer(A const& a, V const& x, V& y, index_t columns, int repetitions) {
  auto const& p = a.pattern();
  void *row_ptr = const_cast<void*>(static_cast<void const*>(p.row_ptr.data())), *col = const_cast<void*>(static_cast<void const*>(p.col.data()));
  void *values = const_cast<T*>(a.values().data()), *in = const_cast<T*>(x.data()), *out = y.data();
  auto const index = [](std::size_t bytes) { return bytes == 8 ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I; };
  cusparseHandle_t handle{};
  cusparseSpMatDescr_t matrix{};
  check(cusparseCreate(&handle));
  check(cusparseSetStream(handle, cuda::current_stream()));
  check(cusparseCreateCsr(&matrix, a.rows(), a.cols(), a.nnz(), row_ptr, col, values, index(sizeof *p.row_ptr.data()), index(sizeof *p.col.data()), CUSPARSE_INDEX_BASE_ZERO, kind<T>));
  T const one = 1, zero = 0;
  std::size_t bytes = 0;
  bench::samples best;
  auto consider = [&](auto const& run) {
    auto const t = bench::device_seconds(repetitions, run);
    if (best.size() == 0 || t.median() < best.median()) best = t;
  };
  if (columns == 1) {
    cusparseDnVecDescr_t u{}, v{};
    check(cusparseCreateDnVec(&u, a.cols(), in, kind<T>));
    check(cusparseCreateDnVec(&v, a.rows(), out, kind<T>));
    for (auto algorithm : {CUSPARSE_SPMV_CSR_ALG1, CUSPARSE_SPMV_CSR_ALG2}) {
      auto const transpose = CUSPARSE_OPERATION_NON_TRANSPOSE;
      check(cusparseSpMV_bufferSize(handle, transpose, &one, matrix, u, &zero, v, kind<T>, algorithm, &bytes));
      buffer<char, device_memory> work(index_t(bytes) + 1);
      check(cusparseSpMV_preprocess(handle, transpose, &one, matrix, u, &zero, v, kind<T>, algorithm, work.data()));
      consider([&] { check(cusparseSpMV(handle, transpose, &one, matrix, u, &zero, v, kind<T>, algorithm, work.data())); });
    }
    cusparseDestroyDnVec(u), cusparseDestroyDnVec(v);
  } else {
    cusparseDnMatDescr_t u{}, v{};
    check(cusparseCreateDnMat(&u, a.cols(), columns, columns, in, kind<T>, CUSPARSE_ORDER_ROW));
    check(cusparseCreateDnMat(&v, a.rows(), columns, columns, out, kind<T>, CUSPARSE_ORDER_ROW));
    for (auto algorithm : {CUSPARSE_SPMM_CSR_ALG2, CUSPARSE_SPMM_CSR_ALG3}) {
      auto const transpose = CUSPARSE_OPERATION_NON_TRANSPOSE;
      if (cusparseSpMM_bufferSize(handle, transpose, transpose, &one, matrix, u, &zero, v, kind<T>, algorithm, &bytes) != CUSPARSE_STATUS_SUCCESS) continue;
      buffer<char, device_memory> work(index_t(bytes) + 1);
      consider([&] { check(cusparseSpMM(handle, transpose, transpose, &one, matrix, u, &zero, v, kind<T>, algorithm, work.data())); });
    }
    cusparseDestroyDnMat(u), cusparseDestroyDnMat(v);
  }
  cusparseDestroySpMat(matrix);
  cusparseDestroy(handle);
  return best;
}

/// Milliseconds in a format whose chunks have as many rows as a warp has threads; "" where A does not fit it.
template <class Format, class A, class V>
std::string in_chunks(A const& a, V const& x, int repetitions) {
  try {
    auto const d = to<device_memory>(to<Format>(a));
    auto y = x;
    return bench::spread(bench::device_seconds(repetitions, [&] { fuse(set(y, d * x)); }), 4, 1e3);
  } catch (error const&) {
    return "";
  }
}

template <class T, class A, class D>
void product(bench::table& out, std::string const& what, A const& a, D const& diagonals, index_t columns, int repetitions) {
  auto const dA = to<device_memory>(a);
  auto const dD = to<device_memory>(diagonals);
  auto all = [&](auto const& x) {
    auto y = x, z = x;
    auto const ours = bench::device_seconds(repetitions, [&] { fuse(set(y, dA * x)); });
    auto const dia = bench::device_seconds(repetitions, [&] { fuse(set(z, dD * x)); });
    double const bytes = double(bytes_moved(set(y, dA * x)));
    auto const theirs = peer<T>(dA, x, z, columns, repetitions);
    double const apart = norm(to<host_memory>(y) - to<host_memory>(z)) / norm(to<host_memory>(y));
    out.row({what, text(a.rows()), text(columns), bench::spread(ours, 4, 1e3), bench::spread(theirs, 4, 1e3), bench::spread(ours / theirs, 2),
             bench::fixed(1e-9 * bytes / ours.median(), 0), bench::spread(dia, 4, 1e3), columns == 1 ? in_chunks<Sell<32>>(a, x, repetitions) : "",
             columns == 1 ? in_chunks<NarrowSell<32>>(a, x, repetitions) : "", bench::scientific(apart)});
  };
  if (columns == 1) all(to<device_memory>(random<T>(a.rows(), 1)));
  else all(to<device_memory>(random<T, Extents<dyn, dyn>>({a.rows(), columns}, 1)));
}

template <class T>
void products(bench::table& out, std::string const& kind, int repetitions) {
  for (index_t n : {316, 1000, 4096})
    for (index_t columns : {1, 8, 32})
      product<T>(out, "2-D Poisson, " + kind, problems::poisson<T>({n, n}), problems::poisson<T, Dia>({n, n}), columns, repetitions);
  for (index_t columns : {1, 32})
    product<T>(out, "3-D Poisson, " + kind, problems::poisson<T>({200, 200, 200}), problems::poisson<T, Dia>({200, 200, 200}), columns, repetitions);
}
}  // namespace

int main(int argc, char** argv) {
  if (!cuda::available()) {
    std::cout << "no CUDA device can be used\n";
    return 77;
  }
  int const repetitions = int(bench::argument(argc, argv, 1, 11));
  cudaDeviceProp device{};
  cuda::check(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
  bench::heading(text("Products on ", device.name));
  std::cout << "y = A x, x random; milliseconds of the device, events around each call; apart: |ours in Csr - cuSPARSE| / |ours|.\n\n";
  bench::table out({"matrix", "rows", "columns of x", "Csr", "cuSPARSE", "ratio", "GB/s", "Dia", "Sell<32>", "NarrowSell<32>", "apart"});
  products<double>(out, "double", repetitions);
  products<float>(out, "float", repetitions);
}

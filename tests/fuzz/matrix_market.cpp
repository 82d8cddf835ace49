// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as a Matrix Market file: refused by an error, or a matrix that is written and read back as it is.
#include "fuzz.hpp"

#include <complex>
#include <optional>
#include <sstream>
#include <string>

#include <sla/tensor/files/matrix_market_write.hpp>

using namespace sla;
using C = std::complex<double>;

template <class T>
bool is_sparse(std::string const& bytes) {
  std::optional<sparse_tensor<T>> A;
  if (!attempt([&] {
        std::istringstream in(bytes);
        A = read_matrix_market<T>(in);
      }))
    return false;
  demand(has_sorted_columns(A->pattern()), "sorted rows");
  std::stringstream file;
  demand(attempt([&] {
           write_matrix_market(file, *A);
           auto const B = read_matrix_market<T>(file, "again", {.allow_empty_rows = true});
           demand(same_pattern(A->pattern(), B.pattern()) && same_values(A->values(), B.values()), "the same matrix again");
         }),
         "what is written can be read");
  return true;
}

void is_dense(std::string const& bytes) {
  std::optional<matrix<C>> A;
  if (!attempt([&] {
        std::istringstream in(bytes);
        A = read_matrix_market_dense<C>(in);
      }))
    return;
  std::stringstream file;
  demand(attempt([&] {
           write_matrix_market(file, *A);
           demand(same_values(A->values(), read_matrix_market_dense<C>(file).values()), "the same array again");
         }),
         "what is written can be read");
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string const bytes(reinterpret_cast<char const*>(data), size);
  if (!is_sparse<double>(bytes) && !is_sparse<C>(bytes)) is_dense(bytes);
  return 0;
}

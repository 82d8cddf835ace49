// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matrices that a benchmark is given as files, .mtx or .mtx.gz.
#pragma once

#include <string>

#include <sla/adapter/gzip.hpp>
#include <sla/tensor.hpp>

namespace bench {

template <class T>
sla::sparse_tensor<T> read(std::string const& path) {
  return path.ends_with(".gz") ? sla::read_matrix_market_gzip<T>(path) : sla::read_matrix_market<T>(path);
}
/// What the banner says; a reader of real values refuses the others by it.
inline bool has_complex_values(std::string const& path) try {
  read<double>(path);
  return false;
} catch (sla::io_error const& e) {
  if (std::string(e.what()).find("std::complex<double>") == std::string::npos) throw;
  return true;
}

} // namespace bench

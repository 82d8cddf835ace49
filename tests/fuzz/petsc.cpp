// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as a binary file of PETSc: refused by an error, or tensors that are written and read back as they are.
#include <sys/mman.h>

#include <complex>
#include <optional>
#include <string>

#include <sla/tensor/files/petsc.hpp>

#include "fuzz.hpp"

using namespace sla;

/// A file in memory.
struct memory_file {
  int file = ::memfd_create("fuzz", 0);
  std::string name = text("/proc/self/fd/", file);
  ~memory_file() { ::close(file); }
};
template <class T>
void read_and_return(std::string const& name) {
  memory_file const again;
  std::optional<sparse_tensor<T>> A;
  if (attempt([&] { A = read_petsc<T>(name); }))
    demand(attempt([&] {
             write_petsc(again.name, *A);
             auto const B = read_petsc<T>(again.name);
             demand(same_pattern(A->pattern(), B.pattern()) && same_values(A->values(), B.values()), "the same matrix again");
           }),
           "what is written can be read");
  attempt([&] { (void)read_petsc_vector<T>(name); });
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  memory_file const file;
  if (::pwrite(file.file, data, size, 0) != ssize_t(size)) return 0;
  read_and_return<double>(file.name);
  read_and_return<std::complex<float>>(file.name);
  return 0;
}

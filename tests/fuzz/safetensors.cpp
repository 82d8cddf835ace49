// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as a safetensors file: refused by an error, or tensors that are written and read back as they are.
#include "fuzz.hpp"

#include <complex>
#include <optional>
#include <sstream>
#include <string>

#include <sla/adapter/safetensors.hpp>
#include <sla/tensor/build/block.hpp>

using namespace sla;

template <class X>
void read_and_return(safetensors_file& file, std::string const& name) {
  std::optional<X> x;
  if (!attempt([&] { x = file.read<X>(name); })) return;
  demand(attempt([&] {
           safetensors_writer writer;
           writer.add("again", *x);
           std::stringstream bytes;
           writer.write(bytes);
           auto const y = safetensors_file(bytes).read<X>("again");
           if constexpr (is_sparse_tensor<X>) demand(same_pattern(x->pattern(), y.pattern()), "the same pattern again");
           demand(same_values(x->values(), y.values()), "the same values again");
         }),
         "what is written can be read");
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  attempt([&] {
    std::istringstream in(std::string(reinterpret_cast<char const*>(data), size));
    safetensors_file file(in);
    read_and_return<sparse_tensor<double>>(file, "");
    read_and_return<sparse_tensor<std::complex<float>, Shape<Batch<dyn>, dyn, dyn, Block<2, 2>>, Coo<>>>(file, "A");
    for (auto const& [name, entry] : file.entries()) {
      demand(entry.begin <= entry.end && entry.end <= index_t(size), "arrays within the file");
      read_and_return<vector<double>>(file, name);
      read_and_return<matrix<std::complex<double>>>(file, name);
    }
  });
  return 0;
}

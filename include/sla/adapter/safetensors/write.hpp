// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writing safetensors files: `safetensors_writer` for several tensors, `write_safetensors` for one.
// Reading is in adapter/safetensors.hpp.
#pragma once

#include <concepts>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sla/adapter/safetensors/container.hpp>
#include <sla/tensor/build/convert.hpp>
#include <sla/tensor/files/files.hpp>

namespace sla {

namespace detail {
/// The format's name for the real numbers and integers of a type.
template <class T>
constexpr char const* dtype_name() {
  if constexpr (std::floating_point<T>) return sizeof(T) == 8 ? "F64" : "F32";
  if constexpr (std::unsigned_integral<T>) return sizeof(T) == 8 ? "U64" : sizeof(T) == 4 ? "U32" : sizeof(T) == 2 ? "U16" : "U8";
  return sizeof(T) == 8 ? "I64" : sizeof(T) == 4 ? "I32" : sizeof(T) == 2 ? "I16" : "I8";
}
template <class E>
std::vector<index_t> dimensions_of(E const& extents) {
  std::vector<index_t> out;
  for (int a = 0; a < E::rank; ++a) out.push_back(extents[a]);
  return out;
}
/// The shape of the values of a sparse tensor of shape S: (*batch, entries, *block).
template <class S>
std::vector<index_t> values_shape(S const& shape, index_t entries) {
  auto out = dimensions_of(shape.batch());
  out.push_back(entries);
  if (S::is_blocked) out.insert(out.end(), {S::block_rows, S::block_cols});
  return out;
}
inline std::string member(std::string const& name, char const* part) { return name.empty() ? part : name + "." + part; }
} // namespace detail

/// Collects tensors and writes them into one file:
///     safetensors_writer out;
///     out.add("A", A), out.add("b", b);
///     out.metadata["origin"] = "step 17";
///     out.write("system.safetensors");
/// Dense tensors keep their shape. Of a sparse tensor A (any format; Csr needs no copy) the file has A.values of shape
/// (*batch, entries, *block), A.row_ptr and A.col, and the metadata A.shape = "[*batch, M, N, *block]" and A.sparse_axes, the
/// two axes of M and N in it. Complex numbers get a last axis of two, real and imaginary part, which every reader of the
/// format knows. With the name "" the arrays are `values`, `row_ptr` and `col` alone. The tensors outlive the writer.
/// Errors: a name twice; texts that are not UTF-8; the file cannot be written. The old file is kept then.
/// Source: the safetensors format, https://huggingface.co/docs/safetensors.
class safetensors_writer {
public:
  std::map<std::string, std::string> metadata;

  template <class T, class E>
  void add(std::string const& name, tensor<T, E> const& x) {
    add_values(name, detail::dimensions_of(x.extents()), x.values());
  }
  template <class T, class S, class F>
  void add(std::string const& name, sparse_tensor<T, S, F> const& A) {
    if constexpr (is_csr<F>) {
      add_values(detail::member(name, "values"), detail::values_shape(A.shape(), A.nnz()), A.values());
      add_indices(detail::member(name, "row_ptr"), A.pattern().row_ptr);
      add_indices(detail::member(name, "col"), A.pattern().col);
      auto shape = detail::dimensions_of(A.shape().batch());
      std::size_t const sparse = shape.size();
      shape.insert(shape.end(), {A.rows(), A.cols()});
      if (S::is_blocked) shape.insert(shape.end(), {S::block_rows, S::block_cols});
      metadata[detail::member(name, "shape")] = nlohmann::json(shape).dump();
      metadata[detail::member(name, "sparse_axes")] = nlohmann::json({sparse, sparse + 1}).dump();
    } else {
      auto converted = std::make_shared<sparse_tensor<T, S, csr_for_t<F>> const>(to<csr_for_t<F>>(A));
      add(name, *converted);
      kept_.push_back(std::move(converted));
    }
  }
  template <class X>
  void add(std::string const&, X const&&) = delete;  // the tensor would be gone before it is written

  void write(std::ostream& out, std::string const& name = "stream") const {
    detail::write_safetensors_arrays(out, name, arrays_, metadata);
  }
  void write(std::string const& path) const {
    detail::write_file<std::ofstream>(path, [&](std::ostream& out) { write(out, path); });
  }

private:
  template <class T>
  void add_values(std::string const& name, std::vector<index_t> shape, buffer<T> const& values) {
    if (is_complex<T>) shape.push_back(2);
    arrays_.push_back({name, detail::dtype_name<real_t<T>>(), std::move(shape), values.data(), index_t(values.bytes())});
  }
  template <class Int>
  void add_indices(std::string const& name, buffer<Int> const& numbers) {
    arrays_.push_back({name, detail::dtype_name<Int>(), {numbers.size()}, numbers.data(), index_t(numbers.bytes())});
  }
  std::vector<detail::safetensors_array> arrays_;
  std::vector<std::shared_ptr<void const>> kept_;
};

/// One tensor as a file.
template <class X>
  requires(is_sparse_tensor<X> || is_tensor<X>)
void write_safetensors(std::string const& path, X const& x, std::string const& name = {}) {
  safetensors_writer out;
  out.add(name.empty() && is_tensor<X> ? "values" : name, x);
  out.write(path);
}

} // namespace sla

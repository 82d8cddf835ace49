// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Safetensors files (component `safetensors`, through nlohmann-json): dense and sparse tensors under names, read here and
// written by adapter/safetensors/write.hpp. A sparse tensor A is the arrays A.values, A.row_ptr and A.col, which other tools
// read with their own library.
#pragma once

#include <algorithm>
#include <charconv>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <sla/adapter/safetensors/container.hpp>
#include <sla/adapter/safetensors/write.hpp>
#include <sla/tensor/build/borrow.hpp>
#include <sla/tensor/files/files.hpp>

namespace sla {

/// A safetensors file, its header read and checked, its arrays yet to be read:
///     safetensors_file in("system.safetensors");
///     auto A = in.read<sparse_tensor<double>>("A");   auto b = in.read<vector<double>>("b");
/// A sparse tensor may also be stored by A.row instead of A.row_ptr, as triplets. Rows come out sorted. float becomes
/// double and a real number complex where the type asks for it, indices fit themselves to the format; nothing is rounded. C64 is complex<float>.
/// Cost: the bytes of the file and of the result; sizes that the header claims are checked against the file first.
/// Errors: io_error with the file's name, for a header that is cut short, not JSON, or at odds with itself or with the
/// file; for arrays that are missing, of another type or shape; for indices that are no matrix.
class safetensors_file {
public:
  explicit safetensors_file(std::string const& path)
      : name_(path), own_(detail::with_file<std::ifstream>(path, [](auto& in) { return std::make_unique<std::ifstream>(std::move(in)); })),
        in_(own_.get()) {
    open();
  }
  /// A stream, which outlives this object.
  explicit safetensors_file(std::istream& in, std::string name = "stream") : name_(std::move(name)), in_(&in) { open(); }

  std::map<std::string, safetensors_entry> const& entries() const { return contents_.entries; }
  std::map<std::string, std::string> const& metadata() const { return contents_.metadata; }

  template <class X>
  X read(std::string const& name = {}) {
    static_assert(is_sparse_tensor<X> || is_tensor<X>, "sla: read<X>(name): X is a tensor or a sparse_tensor, on the host");
    try {
      if constexpr (is_tensor<X>)
        return read_dense(name.empty() ? "values" : name, static_cast<X*>(nullptr));
      else
        return read_sparse(name, static_cast<X*>(nullptr));
    } catch (io_error const&) {
      throw;
    } catch (error const& e) {  // what the library says of such arrays
      fail(text(name.empty() ? "" : detail::in_quotes(name) + ": ", e.what()));
    }
  }

private:
  void open() {
    contents_ = detail::read_safetensors_header(*in_, name_);
    data_ = in_->tellg();
  }
  [[noreturn]] void fail(std::string const& what) const { detail::safetensors_fail(name_, what); }

  safetensors_entry const& entry(std::string const& name) const {
    if (auto const at = contents_.entries.find(name); at != contents_.entries.end()) return at->second;
    std::string names;
    for (auto const& [other, _] : contents_.entries)
      if (names.size() < 200) names += (names.empty() ? "" : ", ") + detail::in_quotes(other);
    fail(text("there is no array ", detail::in_quotes(name), "; there are: ", names.empty() ? "none" : names));
  }

  /// count elements of the type From as they are in the file, through `become` into `to`.
  template <class From, class To, class Become>
  void copy(safetensors_entry const& from, To* to, Become const& become) {
    index_t const count = (from.end - from.begin) / index_t(sizeof(From));
    in_->clear();
    in_->seekg(data_ + std::streamoff(from.begin));
    auto get = [&](void* where, index_t n) {
      if (!in_->read(static_cast<char*>(where), std::streamsize(n) * std::streamsize(sizeof(From)))) fail("the file cannot be read to its end");
    };
    if constexpr (std::same_as<From, To>) return get(to, count);
    std::vector<From> piece(std::size_t((std::min)(count, index_t(1) << 15)));
    for (index_t at = 0; at < count; at += index_t(piece.size())) {
      index_t const n = (std::min)(count - at, index_t(piece.size()));
      get(piece.data(), n);
      for (index_t k = 0; k < n; ++k) to[at + k] = become(piece[std::size_t(k)]);
    }
  }

  /// The values of an array whose shape, but for the parts of complex numbers, is `shape`.
  template <class T>
  buffer<T> read_values(std::string const& name, std::vector<index_t> const& shape) {
    using R = real_t<T>;
    safetensors_entry const& from = entry(name);
    auto parts = shape;
    parts.push_back(2);
    bool const whole = from.shape == shape, split = from.shape == parts && is_float(from);
    if (!whole && !split)
      fail(text("the array ", detail::in_quotes(name), " is of shape ", detail::shape_text(from.shape), ", where ", detail::shape_text(shape), " is wanted"));
    if (split && !is_complex<T>) fail(text("the array ", detail::in_quotes(name), " has complex numbers; read it with std::complex<double>"));
    buffer<T> values(split ? from.size() / 2 : from.size(), uninitialized);
    if (from.dtype == detail::dtype_name<R>() && split) {
      copy<R>(from, reinterpret_cast<R*>(values.data()), std::identity{});
    } else if (split && from.dtype == "F32") {
      copy<float>(from, reinterpret_cast<R*>(values.data()), [](float v) { return R(v); });
    } else if (from.dtype == detail::dtype_name<R>()) {
      copy<R>(from, values.data(), [](R v) { return T(v); });
    } else if (from.dtype == "F32") {
      copy<float>(from, values.data(), [](float v) { return T(R(v)); });
    } else if constexpr (is_complex<T>) {
      if (from.dtype == "C64")
        copy<std::complex<float>>(from, values.data(), [](std::complex<float> v) { return T(R(v.real()), R(v.imag())); });
      else
        wrong_type(name, from, "F32, F64 and C64");
    } else {
      wrong_type(name, from, "F32 and F64");
    }
    return values;
  }
  static bool is_float(safetensors_entry const& e) { return e.dtype == "F32" || e.dtype == "F64"; }
  [[noreturn]] void wrong_type(std::string const& name, safetensors_entry const& from, char const* known) const {
    fail(text("the array ", detail::in_quotes(name), " is of type ", from.dtype,
              is_float(from) ? ", which float does not hold; read it with double, and round with cast<float>(x)"
                             : text(", where ", known, " are read as values")));
  }

  template <class Int>
  buffer<Int> read_indices(std::string const& name) {
    safetensors_entry const& from = entry(name);
    if (from.shape.size() != 1) fail(text("the array ", detail::in_quotes(name), " is of shape ", detail::shape_text(from.shape), ", where indices have one axis"));
    buffer<Int> to(from.size(), uninitialized);
    auto fits = [](auto v) { return detail::narrowed<Int>(index_t(v), "an index of", detail::wide_columns); };
    if (from.dtype == "I32")
      copy<std::int32_t>(from, to.data(), fits);
    else if (from.dtype == "I64")
      copy<std::int64_t>(from, to.data(), fits);
    else if (from.dtype == "I16")
      copy<std::int16_t>(from, to.data(), fits);
    else
      fail(text("the array ", detail::in_quotes(name), " is of type ", from.dtype, ", where indices are I16, I32 or I64"));
    return to;
  }

  template <class T, class E>
  tensor<T, E> read_dense(std::string const& name, tensor<T, E>*) {
    auto shape = entry(name).shape;
    if (int(shape.size()) == E::rank + 1 && shape.back() == 2 && is_float(entry(name))) shape.pop_back();
    E const extents = extents_from<E>(shape, name);
    return {extents, read_values<T>(name, shape)};
  }
  template <class E>
  E extents_from(std::vector<index_t> const& shape, std::string const& name) const {
    if (int(shape.size()) != E::rank)
      fail(text(detail::in_quotes(name), " is of shape ", detail::shape_text(shape), ", where ", E::rank, " axes are wanted"));
    return [&]<std::size_t... Axis>(std::index_sequence<Axis...>) { return E(shape[Axis]...); }(std::make_index_sequence<std::size_t(E::rank)>{});
  }

  /// The shape of a sparse tensor, from the metadata.
  template <class S>
  S read_shape(std::string const& name) const {
    constexpr std::size_t batch = std::size_t(S::batch_extents::rank), rank = batch + (S::is_blocked ? 4 : 2);
    auto const shape = listed(detail::member(name, "shape"), true), axes = listed(detail::member(name, "sparse_axes"), false);
    if (shape.size() != rank || (!axes.empty() && axes != std::vector<index_t>{index_t(batch), index_t(batch) + 1}))
      fail(text("the metadata say shape ", detail::shape_text(shape), axes.empty() ? "" : text(" with the sparse axes ", detail::shape_text(axes)),
                ", where the type has ", batch, " axes of batches, rows, columns", S::is_blocked ? " and blocks" : ""));
    if constexpr (S::is_blocked)
      if (shape[batch + 2] != S::block_rows || shape[batch + 3] != S::block_cols)
        fail(text("the metadata say blocks of ", shape[batch + 2], " x ", shape[batch + 3], ", where the type has ", S::block_rows, " x ", S::block_cols));
    auto const items = extents_from<typename S::batch_extents>({shape.begin(), shape.begin() + std::ptrdiff_t(batch)}, name);
    return S(items, shape[batch], shape[batch + 1]);
  }
  /// A metadata text like "[2, 5, 5]".
  std::vector<index_t> listed(std::string const& key, bool needed) const {
    auto const at = contents_.metadata.find(key);
    std::vector<index_t> numbers;
    if (at == contents_.metadata.end()) {
      if (needed) fail(text("the metadata have no ", detail::in_quotes(key), "; write the shape there, as \"[rows, cols]\""));
      return numbers;
    }
    std::string const& list = at->second;
    char const *next = list.data(), *const last = next + list.size();
    auto skip_blanks = [&] {
      while (next < last && *next == ' ') ++next;
    };
    bool good = list.size() >= 2 && list.front() == '[' && list.back() == ']';
    ++next, skip_blanks();
    for (bool more = good && next + 1 < last; good && more;) {
      index_t n = -1;
      auto const status = std::from_chars(next, last, n);
      next = status.ptr, skip_blanks();
      more = *next == ',';
      good = status.ec == std::errc{} && n >= 0 && (more || next + 1 == last);
      numbers.push_back(n);
      if (more) ++next, skip_blanks();
    }
    if (!good) fail(text("the metadata ", detail::in_quotes(key), " are ", detail::in_quotes(at->second), ", not a list of sizes as \"[rows, cols]\""));
    return numbers;
  }

  template <class T, class S, class F>
  sparse_tensor<T, S, F> read_sparse(std::string const& name, sparse_tensor<T, S, F>*) {
    using Direct = csr_for_t<F>;
    using Col = typename Direct::col_type;
    using Ptr = typename Direct::ptr_type;
    auto const shape = read_shape<S>(name);
    detail::narrowed<Col>(shape.cols(), "the number of columns,", detail::wide_columns);
    std::string const rows_name = detail::member(name, "row");
    bool const by_rows = contents_.entries.count(rows_name) > 0;
    auto col = read_indices<Col>(detail::member(name, "col"));
    auto values = read_values<T>(detail::member(name, "values"), detail::values_shape(shape, col.size()));
    detail::refuse_emptiness({}, shape.batch_count(), "batch items", values.size(), "store what has entries");
    if (by_rows) {
      detail::refuse_emptiness({}, shape.rows(), "rows", col.size(), "store row_ptr instead of row");
      return from_triplets<T, F>(shape, read_indices<index_t>(rows_name), col, values);
    }

    auto pattern = std::make_shared<typename Direct::template pattern<host_memory>>();
    *pattern = {shape.rows(), shape.cols(), read_indices<Ptr>(detail::member(name, "row_ptr")), std::move(col)};
    detail::check_csr(shape.rows(), shape.cols(), pattern->row_ptr.data(), pattern->row_ptr.size(), pattern->col.data(), pattern->col.size());
    sparse_tensor<T, S, Direct> A(shape, std::move(pattern), std::move(values));
    if (!has_sorted_columns(A.pattern())) A = sorted(A);
    return detail::in_format<F>(std::move(A));
  }

  std::string name_;
  std::unique_ptr<std::istream> own_;
  std::istream* in_;
  safetensors_contents contents_;
  std::streamoff data_ = 0;
};

/// The one tensor of a file: `auto A = read_safetensors<sparse_tensor<double>>("A.safetensors");`
template <class X>
X read_safetensors(std::string const& path, std::string const& name = {}) {
  return safetensors_file(path).read<X>(name);
}

} // namespace sla

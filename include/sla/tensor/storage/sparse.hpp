// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sparse tensors of shape (*batch, M, N, *block): a pattern, shared between tensors, and values [*batch][slot][*block].
// Assembly is in tensor/build/build.hpp, conversions in tensor/build/convert.hpp, products in expr/sparse/product.hpp.
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

#include <sla/core/held.hpp>
#include <sla/core/scalar.hpp>
#include <sla/core/shape.hpp>
#include <sla/tensor/storage/format_members.hpp>

namespace sla {

/// A sparse tensor of shape (*batch, M, N, *block): values of its own, [*batch][entry][*block], on a pattern that copies and
/// results of the same pattern share. Made by `from_triplets`, `triplets`, `to`, `borrow_csr`, `read_matrix_market`,
/// `problems::poisson`, ...
template <class T, class S = Matrix, class F = Csr<std::int32_t>, class Memory = host_memory>
class sparse_tensor {
  static_assert(is_shape<S>, "the second parameter of sparse_tensor is a Shape<Batch<...>, M, N, Block<...>>");

public:
  using value_type = T;
  using shape_type = S;
  using format_type = F;
  using memory_type = Memory;
  using pattern_type = typename detail::whole_format<F>::template pattern<Memory>;

  /// No entries, in the extents that the type knows.
  sparse_tensor() : sparse_tensor(S{}, detail::shared_of<pattern_type>(pattern_type::none(S{}.rows(), S{}.cols()))) {}

  /// Values on a pattern. Errors: the pattern is of another shape, or the values are not batch x slots x block many.
  sparse_tensor(S shape, std::shared_ptr<pattern_type const> pattern, buffer<T, Memory> values)
      : shape_(shape), pattern_(std::move(pattern)), values_(std::move(values)) {
    if (pattern_->rows != shape_.rows() || pattern_->cols != shape_.cols())
      throw shape_error(text("a pattern of ", pattern_->rows, " x ", pattern_->cols, " for a tensor of ", shape_.rows(),
                             " x ", shape_.cols(), "; sparse_tensor(shape, pattern, values) wants equal rows and columns"));
    index_t const wanted = value_count(shape_, pattern_->slots());
    if (values_.size() != wanted)
      throw shape_error(text("sparse_tensor(shape, pattern, values): ", values_.size(), " values, where batch ", shape_.batch_count(), " x slots ",
                             pattern_->slots(), " x block ", block_size, " = ", wanted));
  }
  /// Zeros on a pattern.
  sparse_tensor(S shape, std::shared_ptr<pattern_type const> pattern)
      : sparse_tensor(shape, pattern, buffer<T, Memory>(value_count(shape, pattern->slots()))) {}

  /// Refused: entries come one by one to `triplets`.
  template <std::integral Rows, std::integral Cols>
  explicit sparse_tensor(Rows, Cols) {
    static_assert(always_false<Rows>, "sla: sparse_tensor<T> A(rows, cols): a sparse tensor is made with its entries: from_triplets<T>(rows, cols, i, j, v), or triplets<T> t(rows, cols), t.add(i, j, v), t.build()");
  }

  sparse_tensor(sparse_tensor const&) = default;
  /// What was moved from has no entries, and says so: its dynamic extents are 0.
  sparse_tensor(sparse_tensor&& other) noexcept
      : shape_(std::exchange(other.shape_, S{})), pattern_(std::move(other.pattern_)), values_(std::move(other.values_)) {}
  sparse_tensor& operator=(sparse_tensor const&) = default;
  sparse_tensor& operator=(sparse_tensor&& other) noexcept {
    shape_ = std::exchange(other.shape_, S{});
    pattern_ = std::move(other.pattern_);
    values_ = std::move(other.values_);
    return *this;
  }

  static constexpr index_t block_size = S::block_rows * S::block_cols;
  /// The values of so many slots. Errors: shape_error, if std::int64_t does not count them.
  static index_t value_count(S const& shape, index_t slots) { return Extents<dyn, dyn, dyn>(shape.batch_count(), slots, block_size).total(); }

  S const& shape() const SLA_LIFETIMEBOUND { return shape_; }
  index_t rows() const { return shape_.rows(); }
  index_t cols() const { return shape_.cols(); }
  /// Stored entries (blocks) of one batch item.
  index_t nnz() const { return pattern().nnz(); }
  index_t batch_count() const { return shape_.batch_count(); }

  pattern_type const& pattern() const SLA_LIFETIMEBOUND { return *shared_pattern(); }
  std::shared_ptr<pattern_type const> const& shared_pattern() const SLA_LIFETIMEBOUND { return pattern_ ? pattern_ : no_pattern(); }
  buffer<T, Memory> const& values() const SLA_LIFETIMEBOUND { return values_; }
  buffer<T, Memory>& values() SLA_LIFETIMEBOUND { return values_; }
  /// From one batch item's values to the next one's.
  index_t batch_stride() const { return pattern().slots() * block_size; }
  std::size_t bytes() const { return pattern().bytes() + values_.bytes(); }

  /// The extents of x in A * x, and of the result, with one right-hand side.
  domain_extents_t<S> domain() const { return side<domain_extents_t<S>>(cols(), S::block_cols); }
  range_extents_t<S> range() const { return side<range_extents_t<S>>(rows(), S::block_rows); }

  /// The element at one position per batch axis, a row and a column, of blocks the scalar ones: A(i, j) is to_dense(A)(i, j).
  /// Zero where no entry is stored, repeated entries summed. Cost: the entries of one row. Errors: index_error.
  template <std::integral... Index>
    requires(Memory::is_host)
  T operator()(Index... at) const {
    T sum{};
    for_entry([&](index_t n) { sum += std::as_const(values_)[n]; }, at...);
    return sum;
  }
  /// Refused: an entry has a row and a column.
  template <std::integral Index>
  void operator[](Index) const {
    static_assert(always_false<Index>, "sla: A[i] of a sparse tensor: an entry is A(i, j), the stored values are A.values()[n], and a row is row(A, i)");
  }
  /// f(n) for each n such that the stored value n is of A(at...), or is a part of it.
  template <class Visit, std::integral... Index>
    requires(Memory::is_host)
  void for_entry(Visit const& f, Index... at) const {
    constexpr int batch_rank = S::batch_extents::rank;
    constexpr bool fits = sizeof...(Index) == std::size_t(batch_rank + 2);
    static_assert(fits, "sla: A(i, j): give one position for each batch axis, then the row and the column");
    if constexpr (fits) {
      index_t const position[] = {index_t(at)...}, i = position[batch_rank], j = position[batch_rank + 1];
      index_t item = 0;
      for (int axis = 0; axis < batch_rank; ++axis) {
        require_inside("batch position", position[axis], shape_.batch()[axis]);
        item = item * shape_.batch()[axis] + position[axis];
      }
      require_inside("row", i, rows() * S::block_rows);
      require_inside("column", j, cols() * S::block_cols);
      index_t const first = item * batch_stride() + i % S::block_rows * S::block_cols + j % S::block_cols;
      pattern().view().for_row(i / S::block_rows, [&](index_t s, index_t k) {
        if (k == j / S::block_cols) f(first + s * block_size);
      });
    }
  }

private:
  void require_inside(char const* what, index_t at, index_t extent) const {
    if (at < 0 || at >= extent)
      throw index_error(text("A(i, j): ", what, " ", at, " of a ", rows() * S::block_rows, " x ", cols() * S::block_cols,
                             " matrix; it must be at least 0 and less than ", extent, at == extent ? " (indices count from 0)" : ""));
  }
  static std::shared_ptr<pattern_type const> const& no_pattern() {
    static auto const none = detail::shared_of<pattern_type const>(pattern_type::none(S{}.rows(), S{}.cols()));
    return none;
  }
  template <class E>
  E side(index_t count, index_t block) const {
    return [&]<std::size_t... Axis>(std::index_sequence<Axis...>) {
      constexpr int batch_rank = S::batch_extents::rank;
      auto size = [&](int axis) { return axis < batch_rank ? shape_.batch()[axis] : axis == batch_rank ? count : block; };
      return E(size(int(Axis))...);
    }(std::make_index_sequence<std::size_t(E::rank)>{});
  }
  S shape_;
  std::shared_ptr<pattern_type const> pattern_;
  buffer<T, Memory> values_;
  static_assert(detail::is_scalar<T>, "sla: sparse_tensor<T, ...>: T is float, double, std::complex<float> or std::complex<double>; 0 and 1 of a graph are values of these too");
};

/// Is X a sparse tensor?
template <class X>
inline constexpr bool is_sparse_tensor = false;
template <class T, class S, class F, class Memory>
inline constexpr bool is_sparse_tensor<sparse_tensor<T, S, F, Memory>> = true;
/// One in the memory of the host?
template <class X>
inline constexpr bool is_sparse_on_host = false;
template <class T, class S, class F>
inline constexpr bool is_sparse_on_host<sparse_tensor<T, S, F>> = true;

} // namespace sla

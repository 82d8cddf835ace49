// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The diagonal of a sparse tensor, and its diagonal blocks, as nodes, so that any backend can evaluate them. On the host
// tensor/build/entries.hpp has `diagonal_of(A)`, and solve/precond/block_jacobi.hpp reads the blocks.
#pragma once

#include <sla/expr/sparse/product.hpp>

namespace sla::cuda {

/// The scalar diagonal (*batch, M, p) of A: zero where no entry is stored, repeated entries summed.
template <class View>
struct stored_diagonal {
  using expression_tag = void;
  using shape_type = typename View::shape_type;
  using value_type = typename View::value_type;
  using memory_type = typename View::memory_type;
  using extents_type = range_extents_t<shape_type>;
  static constexpr reach depth = reach::pointwise;
  static constexpr index_t P = shape_type::block_rows;

  View A;
  extents_type shape;

  SLA_HD extents_type const& extents() const { return shape; }
  SLA_HD value_type at(element e) const {
    index_t const block_row = e.at / P, c = e.at - block_row * P;
    index_t const b = shape_type::is_batched ? block_row / A.shape.rows() : 0, i = block_row - b * A.shape.rows();
    value_type total{};
    A.pattern.for_row(i, [&](index_t slot, index_t j) {
      if (i == j) total += A.entry(b, slot, c, c);
    });
    return total;
  }
  template <class F>
  stored_diagonal rebuild(F const&) const {
    return *this;
  }
  template <class F>
  void accesses(F&& f, bool) const {
    f(A.stored());
  }
};

/// The diagonal blocks of A, of `size` rows each, all entries: [*batch][row][column in the block][p][p]. Zero where no entry
/// is stored, repeated entries summed.
template <class View>
struct stored_blocks {
  using expression_tag = void;
  using value_type = typename View::value_type;
  using memory_type = typename View::memory_type;
  using extents_type = Extents<dyn>;
  static constexpr reach depth = reach::pointwise;
  static constexpr index_t P = View::shape_type::block_rows;

  View A;
  index_t size;
  extents_type shape;

  SLA_HD extents_type const& extents() const { return shape; }
  SLA_HD value_type at(element e) const {
    index_t const slot = e.at / (P * P), entry = e.at - slot * (P * P), row = slot / size;
    index_t const b = row / A.shape.rows(), i = row - b * A.shape.rows(), column = i / size * size + (slot - row * size);
    value_type total{};
    A.pattern.for_row(i, [&](index_t s, index_t j) {
      if (j == column) total += A.entry(b, s, entry / P, entry % P);
    });
    return total;
  }
  template <class F>
  stored_blocks rebuild(F const&) const {
    return *this;
  }
  template <class F>
  void accesses(F&& f, bool) const {
    f(A.stored());
  }
};

/// The diagonal of A as an expression.
template <class T, class S, class F, class Memory>
auto diagonal_node(sparse_tensor<T, S, F, Memory> const& A) {
  static_assert(S::block_rows == S::block_cols, "sla: the diagonal of blocks wants square blocks");
  return stored_diagonal<decltype(view(A))>{view(A), A.range()};
}

/// The diagonal blocks of A, each of `size` rows, as an expression.
template <class T, class S, class F, class Memory>
auto blocks_node(sparse_tensor<T, S, F, Memory> const& A, index_t size) {
  static_assert(S::block_rows == S::block_cols, "sla: diagonal blocks want square blocks");
  return stored_blocks<decltype(view(A))>{view(A), size, Extents<dyn>(A.batch_count() * A.rows() * size * S::block_rows * S::block_cols)};
}

} // namespace sla::cuda

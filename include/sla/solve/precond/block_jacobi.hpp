// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Block Jacobi: M is the inverse of the diagonal blocks of A, dense, each on its own. Its product is that of a sparse matrix
// whose pattern needs no indices. Blocks that overlap, or are sparse, are domains of another method.
#pragma once

#include <utility>
#include <vector>

#include <sla/core/held.hpp>
#include <sla/expr/sparse/product.hpp>
#include <sla/solve/precond/little.hpp>
#include <sla/solve/seam/numbered_error.hpp>
#include <sla/tensor/build/entries.hpp>

namespace sla {

/// Blocks of `size` consecutive rows along the diagonal, all entries stored: slot i size + k is column k of row i's block.
struct block_diagonal_view {
  index_t rows, cols, size;

  SLA_AS_CALLEE
  template <class F>
  SLA_HD void for_row(index_t i, F&& f) const {
    index_t const first = i / size * size;
    for (index_t k = 0; k < size; ++k) f(i * size + k, first + k);
  }
  SLA_HD index_t entries_before(index_t i) const { return i * size; }
};

namespace detail {
/// Calls f(block, its dense numbers) for the blocks of [lo, hi) of one item, n x n numbers row-major, and stores them after it.
/// Rows of a block are `size` rows of P numbers, slots as in block_diagonal_view.
template <index_t P, class T, class F>
void for_dense_blocks(T* stored, index_t size, index_t lo, index_t hi, F const& f) {
  index_t const n = size * P;
  std::vector<T> dense(std::size_t(n * n));
  auto each = [&](index_t block, auto const& move) {
    for (index_t r = 0; r < n; ++r)
      for (index_t c = 0; c < n; ++c) {
        index_t const slot = (block * size + r / P) * size + c / P;
        move(stored[(slot * P + r % P) * P + c % P], dense[std::size_t(r * n + c)]);
      }
  };
  for (index_t block = lo; block < hi; ++block) {
    each(block, [](T const& a, T& d) { d = a; });
    f(block, dense.data());
    each(block, [](T& a, T const& d) { a = d; });
  }
}
/// for_dense_blocks over all blocks of all items, shared between threads by their numbers.
template <index_t P, class T, class F>
void for_all_dense_blocks(T* stored, index_t blocks, index_t size, F const& f) {
  int const parts = int((std::min)(index_t(parallel_parts(blocks * size * size * P * P)), (std::max)(index_t(1), blocks)));
  parallel(parts, [&](int t) { for_dense_blocks<P>(stored, size, blocks * t / parts, blocks * (t + 1) / parts, f); });
}

/// Errors: shape_error, if A is not made up of diagonal blocks of `size` rows.
template <class = void>
void require_blocks(index_t rows, index_t cols, index_t size) {
  if (cols != rows) throw shape_error(text("block_jacobi: A is ", rows, " x ", cols, ", and must be square"));
  if (size < 1 || rows % size != 0)
    throw shape_error(text("block_jacobi{.size = ", size, "}: blocks of ", size, " rows do not make up the ", rows, " rows of A",
                           "; choose a size that divides them (1 takes each row, or block row, alone)"));
}

/// Inverts diagonal blocks in their place, [*batch][slot][p][p]. Errors: value_error naming the rows of one that is singular.
template <index_t P, class T>
void invert_blocks(buffer<T>& blocks, index_t rows, index_t size) {
  index_t const n = size * P, each = rows / size;
  buffer<char> singular(blocks.size() / (n * n));
  char* const failed = singular.data();
  for_all_dense_blocks<P>(kernel_pointer(blocks.data()), singular.size(), size, [&](index_t block, kernel_t<T>* dense) {
    std::vector<index_t> origin(static_cast<std::size_t>(n));  // room for the pivots
    failed[block] = !invert(dense, n, origin.data());
  });
  index_t const bad = first_where(singular.size(), [&](index_t block) { return singular[block] != 0; });
  if (bad < 0) return;
  index_t const row = bad % each * size, item = bad / each;
  std::string const why = text(item > 0 ? text(", of batch item ", item) : "", " is singular; permute rows or choose a size so that none is, or use ilu0 or lu");
  if (size > 1) throw numbered_error("block_jacobi: the diagonal block of ", size, " rows from row ", row_number{row}, why);
  throw numbered_error("block_jacobi: the diagonal block of row ", row_number{row}, why);
}
} // namespace detail

/// The inverses of the diagonal blocks of A of `size` rows each, in the slots of block_diagonal_view, [*batch][slot][p][p].
/// Devices have an overload of their own. Errors: shape_error where size does not divide the rows of A; value_error naming
/// the rows of a block that is singular.
template <class T, class S, class F>
buffer<T> inverse_of_blocks(sparse_tensor<T, S, F> const& A, index_t size) {
  constexpr index_t P = S::block_rows;
  index_t const rows = A.rows(), stride = rows * size * P * P;
  detail::require_blocks(rows, A.cols(), size);
  buffer<T> inverse(A.batch_count() * stride);
  auto const pattern = A.pattern().view();
  kernel_t<T>* const to = kernel_pointer(inverse.data());
  for (index_t b = 0; b < A.batch_count(); ++b)
    parallel_ranges(rows, [&, from = kernel_pointer(A.values().data()) + b * A.batch_stride(), out = to + b * stride](index_t lo, index_t hi) {
      for (index_t i = lo; i < hi; ++i)
        pattern.for_row(i, [&](index_t s, index_t j) {
          if (j / size != i / size) return;
          for (index_t e = 0; e < P * P; ++e) {
            auto& d = out[(i * size + j % size) * P * P + e];
            d = d + from[s * P * P + e];
          }
        });
    });
  detail::invert_blocks<P>(inverse, rows, size);
  return inverse;
}

/// The conjugate transpose of each block, in the same slots. Devices have an overload of their own.
template <index_t P, class T>
buffer<T> adjoint_of_blocks(std::integral_constant<index_t, P>, buffer<T> blocks, index_t size) {
  index_t const n = size * P;
  detail::for_all_dense_blocks<P>(kernel_pointer(blocks.data()), blocks.size() / (n * n), size, [n](index_t, kernel_t<T>* dense) {
    for (index_t r = 0; r < n; ++r) {
      dense[r * n + r] = conj_of(dense[r * n + r]);
      for (index_t c = 0; c < r; ++c) {
        auto const above = dense[c * n + r];
        dense[c * n + r] = conj_of(dense[r * n + c]), dense[r * n + c] = conj_of(above);
      }
    }
  });
  return blocks;
}

/// The inverses of diagonal blocks: `z = M * r`, a product that reads the rows of its own block. Made by
/// `block_jacobi{}.setup(A)`, or from the inverses, in any memory.
template <class T, class S, class Memory = host_memory>
class applied_block_jacobi {
public:
  using value_type = T;
  using shape_type = S;
  static constexpr index_t P = S::block_rows;

  /// The inverses, as inverse_of_blocks gives them, of the shape of A.
  applied_block_jacobi(buffer<T, Memory> inverse, S shape, index_t size) : inverse_(hold(std::move(inverse))), shape_(shape), size_(size) {}

  applied_block_jacobi adjoint() const { return {adjoint_of_blocks(std::integral_constant<index_t, P>{}, *inverse_, size_), shape_, size_}; }

  /// New values on the same pattern. Where this throws, all is as before.
  template <class F>
  void update(sparse_tensor<T, S, F, Memory> const& A) {
    inverse_ = hold(inverse_of_blocks(A, size_));
    shape_ = A.shape();
  }

  buffer<T, Memory> const& inverses() const { return *inverse_; }
  index_t size() const { return size_; }
  auto view() const {
    block_diagonal_view const pattern{shape_.rows(), shape_.cols(), size_};
    return sparse_view<kernel_t<T>, S, block_diagonal_view, Memory>{pattern, kernel_pointer(inverse_->data()), shape_.rows() * size_ * P * P,
                                                                    shape_, index_t(inverse_->bytes())};
  }

private:
  static auto hold(buffer<T, Memory>&& inverse) { return detail::shared_of<buffer<T, Memory> const>(std::move(inverse)); }

  detail::held<buffer<T, Memory> const, "a preconditioner"> inverse_;
  S shape_;
  index_t size_;
};

template <class T, class S, class Memory, Tensorial X>
auto operator*(applied_block_jacobi<T, S, Memory> const& M, X&& x) {
  return sparse_operand<decltype(M.view()), false>{M.view()} * std::forward<X>(x);
}

/// `solve(A, b, cg{}, block_jacobi{.size = 4})`: M is the inverse of A's diagonal blocks of `size` consecutive rows. The rows of
/// a block matrix are its block rows: by default its p x p diagonal entries are inverted. Hermitian definite where A is.
/// Setup: O(M size^2 p^3). Memory and cost of an application: M size p^2 numbers, rows in parallel.
/// Placement: on ranks, blocks are of consecutive rows that a rank owns: shard a block matrix, `to_blocks<4, 4>(A)`, where none
/// may be cut between ranks.
/// Errors: shape_error where size does not divide the rows; value_error naming the rows of a block that is singular.
struct block_jacobi {
  index_t size = 1;

  using preconditioner_tag = void;
  static constexpr char const* name = "block_jacobi";

  template <class T, class S, class F, class Memory>
    requires requires(sparse_tensor<T, S, F, Memory> const& A) { inverse_of_blocks(A, index_t()); }
  auto setup(sparse_tensor<T, S, F, Memory> const& A) const {
    static_assert(S::block_rows == S::block_cols, "sla: block_jacobi wants a square matrix: square blocks too");
    return applied_block_jacobi<T, S, Memory>(inverse_of_blocks(A, size), A.shape(), size);
  }
};

} // namespace sla

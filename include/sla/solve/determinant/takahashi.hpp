// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The entries of an inverse from blocks of L and U. The room's other files, in their order: item_factors.hpp, the factors of a batch;
// slogdet.hpp, the calls; stochastic_lanczos.hpp, logdet without factors. Derivatives are in grad/implicit/traced_determinant.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <sla/adapter/eigen.hpp>
#include <sla/core/error.hpp>
#include <sla/core/meta.hpp>
#include <sla/solve/seam/factorization.hpp>

namespace sla::detail {

/// The entries of A^-1 at the places of the transposed pattern of L + U, which is closed: from the last block to the first, those of a block
/// follow from L and U and from entries that are there. They take the place of L and U.
/// Cost: about two factorisations, as products of dense blocks. Memory: none beside the blocks, and one dense block.
/// Source: Takahashi, Fagan, Chen (1973); Erisman and Tinney, On computing certain elements of the inverse of a sparse matrix (CACM 1975);
/// Lin, Yang, Meza, Lu, Ying, E, SelInv (ACM TOMS 2011), by blocks.
template <class T>
class inverse_entries {
  using int_list = std::pair<dependent_t<int, T> const*, dependent_t<int, T> const*>;
  using Block = Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>>;

public:
  explicit inverse_entries(factor_blocks<T> blocks) : b_(std::move(blocks)), block_of_(b_.row_place.size()) {
    for (int k = 0; k < b_.count(); ++k) std::fill(block_of_.begin() + b_.first[at(k)], block_of_.begin() + b_.first[at(k) + 1], k);
    for (int k = b_.count(); k-- > 0;) invert(k);
  }

  /// Entry (i, j) of A^-1, where A has an entry (j, i); false, if it is not among those that are there.
  bool find(index_t i, index_t j, T& out) const {
    int row = b_.row_place[std::size_t(j)], col = b_.col_place[std::size_t(i)];
    bool const mirrored = b_.hermitian && block_of_[at(row)] < block_of_[at(col)];
    if (mirrored) std::swap(row, col);
    int const of_row = block_of_[at(row)], of_col = block_of_[at(col)], k = (std::min)(of_row, of_col), w = width(k), first = b_.first[at(k)];
    if (of_row == of_col) {
      out = b_.diagonal[std::size_t(b_.diagonal_begin[at(k)] + (col - first) * w + row - first)];
    } else {
      auto const [begin, end] = of_row > of_col ? rows_of(k) : cols_of(k);
      int const wanted = of_row > of_col ? row : col;
      auto const place = std::lower_bound(begin, end, wanted);
      if (place == end || *place != wanted) return false;
      std::ptrdiff_t const n = place - begin;
      out = of_row > of_col ? b_.lower[std::size_t(b_.lower_begin[at(k)] + (col - first) * (end - begin) + n)] : b_.upper[std::size_t(b_.upper_begin[at(k)] + n * w + row - first)];
    }
    if (mirrored) out = Eigen::numext::conj(out);
    return true;
  }

private:
  static std::size_t at(int k) { return std::size_t(k); }
  int width(int k) const { return b_.first[at(k) + 1] - b_.first[at(k)]; }
  int_list rows_of(int k) const { return {b_.rows.data() + b_.rows_begin[at(k)], b_.rows.data() + b_.rows_begin[at(k) + 1]}; }
  int_list cols_of(int k) const { return {b_.cols.data() + b_.cols_begin[at(k)], b_.cols.data() + b_.cols_begin[at(k) + 1]}; }

  /// W = (P A Q)^-T of block k, J, from H = W(R, C) of its rows R and columns C, by Z L = U^-1 and U Z = L^-1 for Z = W^T.
  void invert(int k) {
    auto const w = width(k);
    auto const r = rows_of(k).second - rows_of(k).first, c = b_.hermitian ? r : cols_of(k).second - cols_of(k).first;
    Block diagonal(b_.diagonal.data() + b_.diagonal_begin[at(k)], w, w), lower(b_.lower.data() + b_.lower_begin[at(k)], r, w);
    Block inverse(room_for(inverse_, w * w), w, w), right(room_for(right_, r * w), r, w);
    auto const L = diagonal.template triangularView<Eigen::UnitLower>();
    auto const U = diagonal.template triangularView<Eigen::Upper>();
    inverse.setIdentity();
    if (w > 1) L.solveInPlace(inverse);
    gather(k, r, c);
    Block const H(gathered_.data(), r, c);
    if (b_.hermitian) {
      for (int j = 0; j < w; ++j) inverse.row(j) = inverse.row(j).conjugate() / diagonal(j, j);
      if (r > 0) {
        right.noalias() = H * lower.conjugate();
        if (w > 1) L.conjugate().template solveInPlace<Eigen::OnTheRight>(right);
        inverse.noalias() += lower.transpose() * right;
      }
      if (w > 1) L.transpose().solveInPlace(inverse);
      diagonal = inverse;
    } else {
      Block upper(b_.upper.data() + b_.upper_begin[at(k)], w, c), left(room_for(left_, w * c), w, c);
      if (r > 0 && c > 0) {
        left.noalias() = lower.transpose() * H;
        if (w > 1) L.transpose().solveInPlace(left);
        right.noalias() = H * upper.transpose();
        U.transpose().template solveInPlace<Eigen::OnTheRight>(right);
        inverse.noalias() += upper * left.transpose();
      } else {
        left.setZero(), right.setZero();
      }
      U.solveInPlace(inverse);
      upper = -left, diagonal = inverse.transpose();
    }
    lower = -right;
  }
  T* room_for(std::vector<T>& memory, std::ptrdiff_t size) {
    if (memory.size() < std::size_t(size)) memory.resize(std::size_t(size));
    return memory.data();
  }

  /// H of block k, from the blocks that its rows and columns are of.
  void gather(int k, std::ptrdiff_t r, std::ptrdiff_t c) {
    auto const [rows, rows_end] = rows_of(k);
    auto const [cols, cols_end] = b_.hermitian ? rows_of(k) : cols_of(k);
    T* const H = room_for(gathered_, r * c);
    for (std::ptrdiff_t a = 0, b = 0; a < r || b < c;) {
      int const t = block_of_[at(b == c || (a < r && rows[a] < cols[b]) ? rows[a] : cols[b])], first = b_.first[at(t)], last = b_.first[at(t) + 1], w = last - first;
      std::ptrdiff_t const a0 = a, b0 = b;
      while (a < r && rows[a] < last) ++a;
      while (b < c && cols[b] < last) ++b;
      if (b > b0) {
        T const* const diagonal = b_.diagonal.data() + b_.diagonal_begin[at(t)] - first;
        T const* const lower = b_.lower.data() + b_.lower_begin[at(t)];
        std::ptrdiff_t const height = locate(rows + a, rows_end, rows_of(t));
        for (std::ptrdiff_t n = b0; n < b; ++n) {
          T* const out = H + n * r;
          T const *const d = diagonal + (cols[n] - first) * w, *const l = lower + (cols[n] - first) * height;
          for (std::ptrdiff_t m = a0; m < a; ++m) out[m] = d[rows[m]];
          for (std::ptrdiff_t m = a; m < r; ++m) out[m] = l[places_[std::size_t(m - a)]];
        }
      }
      if (b_.hermitian) {
        for (std::ptrdiff_t n = b0; n < b; ++n)
          for (std::ptrdiff_t m = b; m < r; ++m) H[m * r + n] = Eigen::numext::conj(H[n * r + m]);
      } else if (a > a0) {
        T const* const upper = b_.upper.data() + b_.upper_begin[at(t)] - first;
        locate(cols + b, cols_end, cols_of(t));
        for (std::ptrdiff_t n = b; n < c; ++n) {
          T* const out = H + n * r;
          T const* const u = upper + places_[std::size_t(n - b)] * w;
          for (std::ptrdiff_t m = a0; m < a; ++m) out[m] = u[rows[m]];
        }
      }
    }
  }
  /// Where the numbers of a sorted list stand in a longer one, into places_. Returns how long that is.
  std::ptrdiff_t locate(int const* wanted, int const* wanted_end, int_list list) {
    places_.clear();
    for (int const* in = list.first; wanted != wanted_end; ++wanted) {
      while (in != list.second && *in != *wanted) ++in;
      if (in == list.second) throw error("selected_inverse: the pattern of these factors is not closed; please report the matrix");
      places_.push_back(in - list.first);
    }
    return list.second - list.first;
  }

  factor_blocks<T> b_;
  std::vector<dependent_t<int, T>> block_of_;
  std::vector<std::ptrdiff_t> places_;
  std::vector<T> gathered_, inverse_, left_, right_;
};

} // namespace sla::detail

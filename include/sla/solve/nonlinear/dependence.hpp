// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which unknowns the elements of a value depend on: patterns of (elements) x (unknowns), composed and united. They are carried through
// a function by solve/nonlinear/dependence_mode.hpp.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <sla/core/held.hpp>
#include <sla/solve/nonlinear/coloring.hpp>
#include <sla/tensor/algebra/add.hpp>
#include <sla/tensor/algebra/multiply.hpp>

namespace sla::detail {

using dependence_format = Csr<std::int32_t, std::int64_t>;
using dependence_pattern = dependence_format::pattern<host_memory>;
/// Of which column each row depends, ascending; null: on none.
using dependence = std::shared_ptr<dependence_pattern const>;

/// A dependence by its rows, one after the other: `columns` of all of them, which end at `end(i)` for the i-th.
template <class End>
dependence made_dependence(index_t rows, index_t cols, std::vector<std::int32_t> const& columns, End const& end) {
  auto row_ptr = row_pointers<std::int64_t>(rows, [&](index_t i) { return end(i) - (i > 0 ? end(i - 1) : 0); });
  buffer<std::int32_t> col(index_t(columns.size()), uninitialized);
  std::copy(columns.begin(), columns.end(), col.begin());
  return detail::shared_of<dependence_pattern const>(dependence_pattern{rows, cols, std::move(row_ptr), std::move(col)});
}
/// Each on itself.
template <class = void>
dependence own_dependence(index_t n) {
  narrowed<std::int32_t>(n, "a Jacobian by colours: the number of unknowns", "newton_krylov{}, which has none");
  std::vector<std::int32_t> columns(static_cast<std::size_t>(n));
  for (index_t i = 0; i < n; ++i) columns[std::size_t(i)] = std::int32_t(i);
  return made_dependence(n, n, columns, [](index_t i) { return i + 1; });
}
/// Errors: value_error that names the remedy, if a dependence has more than 2^24 entries and is nearly full.
template <class = void>
void require_sparse(index_t rows, index_t entries) {
  if (rows > 1 && entries > (index_t(1) << 24) && entries / rows > 1024)
    throw value_error(text("jacobian(F, u): the Jacobian is not sparse, or its pattern is not found: ", rows, " values of F depend on ", entries / rows,
                           " others each; give the pattern, newton{.pattern = P} or jacobian_plan(P), or take newton_krylov{}, which needs none"));
}
/// Each on all. Errors: as of require_sparse.
template <class = void>
dependence full_dependence(index_t rows, index_t cols) {
  require_sparse(rows, rows * cols);
  std::vector<std::int32_t> columns(std::size_t(rows * cols));
  for (std::size_t n = 0; n < columns.size(); ++n) columns[n] = std::int32_t(n % std::size_t(cols));
  return made_dependence(rows, cols, columns, [cols](index_t i) { return (i + 1) * cols; });
}
/// Of what a value depends that depends by `map` on one that depends on `in`.
template <class Format = dependence_format>
dependence composed(dependence const& map, dependence const& in) {
  if (!map || !in) return nullptr;
  index_t pairs = 0;
  for (index_t s = 0; s < map->nnz(); ++s) pairs += index_t(in->row_ptr[map->col[s] + 1] - in->row_ptr[map->col[s]]);
  require_sparse(map->rows, pairs);
  return multiply_plan<Format, Format>(map, in).shared_pattern();
}
template <class = void>
dependence united(dependence const& a, dependence const& b) {
  if (!a || !b || a == b) return a ? a : b;
  std::vector<std::int32_t> columns;
  std::vector<index_t> ends;
  auto const left = a->view(), right = b->view();
  for (index_t i = 0; i < a->rows; ++i) {
    merge_row(left, right, i, [&](index_t j, index_t, index_t) { columns.push_back(std::int32_t(j)); });
    ends.push_back(index_t(columns.size()));
  }
  return made_dependence(a->rows, a->cols, columns, [&](index_t i) { return ends[std::size_t(i)]; });
}

/// Of what y = op(A) x depends on x, both row-major: (*batch, M, p, rhs) on (*batch, N, q, rhs).
template <bool Transposed, class V>
dependence dependence_of_product(V const& A, index_t right_hand_sides) {
  using S = typename V::shape_type;
  constexpr index_t P = S::block_rows, Q = S::block_cols;
  index_t const rhs = right_hand_sides, out = A.batch_count() * A.rows() * P * rhs, in = A.batch_count() * A.cols() * Q * rhs;
  std::vector<dependent_t<std::int32_t, V>> columns;
  std::vector<index_t> ends;
  for (index_t b = 0; b < A.batch_count(); ++b)
    for (index_t i = 0; i < A.rows(); ++i)
      for (index_t p = 0; p < P; ++p)
        for (index_t k = 0; k < rhs; ++k) {
          auto const first = columns.size();
          A.pattern().view().for_row(i, [&](index_t, index_t j) {
            for (index_t q = 0; q < Q; ++q) columns.push_back(std::int32_t(((b * A.cols() + j) * Q + q) * rhs + k));
          });
          std::sort(columns.begin() + std::ptrdiff_t(first), columns.end());
          columns.erase(std::unique(columns.begin() + std::ptrdiff_t(first), columns.end()), columns.end());
          ends.push_back(index_t(columns.size()));
        }
  auto made = made_dependence(out, in, columns, [&](index_t i) { return ends[std::size_t(i)]; });
  if constexpr (Transposed)
    return transpose_pattern(*made).pattern;
  else
    return made;
}

/// Of what a linear map depends that can only be called: `reached(d)` says which of its values are not 0 for a d of so many elements, and
/// reads only where d is not 0. Blocks of unknowns are split in four where a value depends on them, and probed a colour at a time
/// with numbers at random. Cost: for each of log4(in) levels as many calls as colours; where they are too many, the map counts as full.
template <class Reached>
dependence probed_dependence(index_t out, index_t in, Reached const& reached) {
  constexpr int most_colors = 512;
  index_t block = 1;
  while (block < in) block *= 4;
  dependence found = full_dependence(out, 1);
  for (bool whole = true; whole || block > 1; whole = false) {
    if (block > 1) block /= 4;
    index_t const blocks = (in + block - 1) / block;
    std::vector<std::int32_t> columns;
    std::vector<index_t> ends;
    for (index_t i = 0; i < out; ++i) {
      found->view().for_row(i, [&](index_t, index_t parent) {
        for (index_t child = 4 * parent; child < 4 * parent + 4 && child < blocks; ++child) columns.push_back(std::int32_t(child));
      });
      ends.push_back(index_t(columns.size()));
    }
    auto const may_be = made_dependence(out, blocks, columns, [&](index_t i) { return ends[std::size_t(i)]; });
    auto const colors = color_columns(*may_be, column_order::natural);
    if (colors.count > most_colors) return full_dependence(out, in);
    std::vector<dependent_t<char, Reached>> is(columns.size(), 0);
    for (int c = 0; c < colors.count; ++c) {
      std::vector<double> seed(std::size_t(in), 0.0);
      for (index_t n = 0; n < in; ++n)
        if (colors.color[std::size_t(n / block)] == c) seed[std::size_t(n)] = 1.5 + 0.5 * uniform_at(17, std::uint64_t(n));
      auto const hit = reached(seed);
      for (index_t i = 0; i < out; ++i)
        if (hit[std::size_t(i)])
          for (index_t s = i > 0 ? ends[std::size_t(i - 1)] : 0; s < ends[std::size_t(i)]; ++s)
            if (colors.color[std::size_t(columns[std::size_t(s)])] == c) is[std::size_t(s)] = 1;
    }
    std::vector<std::int32_t> kept;
    for (index_t i = 0, s = 0; i < out; ++i) {
      for (; s < ends[std::size_t(i)]; ++s)
        if (is[std::size_t(s)]) kept.push_back(columns[std::size_t(s)]);
      ends[std::size_t(i)] = index_t(kept.size());
    }
    found = made_dependence(out, blocks, kept, [&](index_t i) { return ends[std::size_t(i)]; });
  }
  return found;
}

} // namespace sla::detail

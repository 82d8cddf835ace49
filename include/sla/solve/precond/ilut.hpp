// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Incomplete LU factorisation with a threshold, ILUT (Saad, Iterative Methods for Sparse Linear Systems, algorithm 10.6): what fills
// up is kept where it is large. The pattern follows from the values, so that each batch item has one of its own.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sla/core/held.hpp>
#include <sla/solve/precond/little.hpp>
#include <sla/solve/precond/sweep.hpp>
#include <sla/solve/precond/triangles.hpp>
#include <sla/solve/seam/numbered_error.hpp>

namespace sla {

namespace detail {
/// L and U of one batch item as triangles_view reads them: rows are sorted, the unit of L is not stored, and diagonal blocks are inverted.
template <class T, class Col>
struct dropped_factors {
  csr_pattern<Col, index_t, host_memory> pattern;
  buffer<T> values;
  buffer<index_t> diagonal;
};
/// Those of all batch items.
template <class T, class Col>
struct dropped_items {
  std::vector<dropped_factors<T, Col>> items;
  index_t entries = 0;
  std::string remark;
};

/// The elimination of a matrix row by row, in P x P blocks of K.
template <index_t P, class K>
class threshold_elimination {
  static constexpr index_t PP = P * P;
  struct candidate {
    double size;
    index_t column;
  };

public:
  threshold_elimination(index_t rows, double drop_tolerance, index_t fill)
      : drop_tolerance_(drop_tolerance), fill_(fill), put_(std::size_t(rows), -1), row_(std::size_t(rows * PP)) {}

  /// Row i of L and U, which stand behind those before, from row i of A. What is wrong with it, or null.
  template <class View>
  char const* add(View const& A, K const* a, index_t i) {
    waiting_.clear(), lower_.clear(), upper_.clear(), right_.clear();
    put(i, i);
    double norm = 0;
    A.for_row(i, [&](index_t s, index_t j) {
      put(i, j);
      std::copy_n(a + s * PP, PP, at(j));
      norm = std::hypot(norm, size(j));
    });
    double const least = drop_tolerance_ * norm;
    bool finite = norm - norm == 0;
    auto keep = [&](std::vector<candidate>& in, index_t j) {
      double const large = size(j);
      finite = finite && large - large == 0;
      bool const kept = finite && large > 0 && large >= least;
      if (kept) in.push_back({large, j});
      return kept;
    };
    while (!waiting_.empty()) {
      std::pop_heap(waiting_.begin(), waiting_.end(), std::greater<>());
      index_t const k = waiting_.back(), diagonal = diagonal_[std::size_t(k)];
      waiting_.pop_back();
      if (!keep(lower_, k)) continue;
      multiply_right<P, false>(at(k), values_.data() + diagonal * PP);  // L_ik = W_ik U_kk^-1
      for (index_t u = diagonal + 1; u < row_ptr_[std::size_t(k) + 1]; ++u) {
        put(i, col_[std::size_t(u)]);
        subtract_product<P, false>(at(k), values_.data() + u * PP, at(col_[std::size_t(u)]), P);
      }
    }
    for (index_t j : right_) keep(upper_, j);
    store_largest(lower_);
    diagonal_.push_back(index_t(col_.size()));
    store(i);
    store_largest(upper_);
    row_ptr_.push_back(index_t(col_.size()));
    if (!finite) return "a number that is not finite";
    return invert<P>(values_.data() + diagonal_.back() * PP) ? nullptr : "zero pivot";
  }

  /// The rows that were added, as factors in the user's scalars.
  template <class T, class Col>
  dropped_factors<T, Col> factors() const {
    auto const copy = [](auto to, auto const& from) {
      std::copy(from.begin(), from.end(), to.data());
      return to;
    };
    index_t const rows = index_t(diagonal_.size()), entries = index_t(col_.size());
    dropped_factors<T, Col> out{{rows, rows, copy(buffer<index_t>(rows + 1, uninitialized), row_ptr_), buffer<Col>(entries, uninitialized)},
                                buffer<T>(entries * PP, uninitialized),
                                copy(buffer<index_t>(rows, uninitialized), diagonal_)};
    std::transform(col_.begin(), col_.end(), out.pattern.col.data(), [](index_t j) { return Col(j); });
    std::copy(values_.begin(), values_.end(), kernel_pointer(out.values.data()));
    return out;
  }

private:
  K* at(index_t j) { return row_.data() + j * PP; }
  /// The norm of block j of the row, whose square may leave the range of double.
  double size(index_t j) {
    double total = double(abs_of(at(j)[0]));
    for (index_t n = 1; n < PP; ++n) total = std::hypot(total, double(abs_of(at(j)[n])));
    return total;
  }
  /// Zero at column j of row i, unless it has a block there.
  void put(index_t i, index_t j) {
    if (std::exchange(put_[std::size_t(j)], i) == i) return;
    std::fill_n(at(j), PP, K{});
    if (j > i) right_.push_back(j);
    if (j >= i) return;
    waiting_.push_back(j);
    std::push_heap(waiting_.begin(), waiting_.end(), std::greater<>());
  }
  void store(index_t j) {
    col_.push_back(j);
    values_.insert(values_.end(), at(j), at(j) + PP);
  }
  void store_largest(std::vector<candidate>& all) {
    if (index_t(all.size()) > fill_) {
      std::nth_element(all.begin(), all.begin() + fill_, all.end(),
                       [](candidate const& a, candidate const& b) { return a.size != b.size ? a.size > b.size : a.column < b.column; });
      all.resize(std::size_t(fill_));
    }
    std::sort(all.begin(), all.end(), [](candidate const& a, candidate const& b) { return a.column < b.column; });
    for (candidate const& c : all) store(c.column);
  }

  double drop_tolerance_;
  index_t fill_;
  std::vector<index_t> put_;             // the last row that has a block at a column
  std::vector<K> row_;                   // W: the row that is eliminated
  std::vector<index_t> waiting_, right_; // its columns before the diagonal, the first on top of a heap, and those behind it
  std::vector<candidate> lower_, upper_;
  std::vector<index_t> row_ptr_{0}, col_, diagonal_;
  std::vector<K> values_;
};

/// The factors of all batch items as sweeps see them.
template <class T, class Col, index_t P>
struct dropped_view {
  dropped_items<T, Col> const* of;

  template <bool Adjoint, class X, class Out>
  void sweep(X const* x, Out* out, index_t rhs) const {
    for_batch_items(index_t(of->items.size()), [&](index_t b) {
      auto const& f = of->items[std::size_t(b)];
      index_t const first = b * f.pattern.rows * P * rhs;
      triangles_view<kernel_t<T>, Col, index_t, P, false> const triangles{f.pattern.view(), kernel_pointer(f.values.data()), f.diagonal.data(), 1, f.pattern.slots()};
      triangles.template sweep<Adjoint>(x + first, out + first, rhs);
    }, of->entries * P * P * rhs);
  }
};
} // namespace detail

template <class T, class S, class F, bool Adjoint>
class applied_ilut;

/// `solve(A, b, gmres{}, ilut{.drop_tolerance = 1e-4, .fill = 20})`: M = (L U)^-1, where L U is A but for what was dropped: in the
/// elimination of a row, numbers less than drop_tolerance times the 2-norm of the row of A, before they are divided by a pivot, so
/// that rows may have any scale; and of what is left all but the `fill` largest of the row in L, and in U, besides the diagonal.
/// Blocks count by their norm as one. With a tolerance of 0 and a fill of all columns it is LU, without exchanges of rows.
/// Setup: O(sum over rows of L entries times U entries), up to 2 fill + 1 entries per row; rows in order, batch items in parallel.
/// Cost of an application: as of ilu0 with so many entries, which the report tells as a multiple of A's.
/// Errors: value_error naming the row whose pivot is zero, and an option that makes no sense; shape_error, if A is not square.
struct ilut {
  double drop_tolerance = 1e-3;
  int fill = 10;

  using preconditioner_tag = void;
  static constexpr char const* name = "ilut";

  template <class T, class S, class F>
  auto setup(sparse_tensor<T, S, F> const& A) const {
    if (!(drop_tolerance >= 0 && drop_tolerance < 1))
      throw value_error(text("ilut{.drop_tolerance = ", drop_tolerance, "}: it is a part of the norm of a row, at least 0 and less than 1, such as 1e-3"));
    if (fill < 0) throw value_error(text("ilut{.fill = ", fill, "}: it is the number of entries that a row of L and of U keeps besides the diagonal, from 0 on"));
    return applied_ilut<T, S, F, false>(*this, A);
  }
};

/// M * r by sweeps over the rows of L and U; M.adjoint() * r. Made by `ilut{}.setup(A)`.
template <class T, class S, class F, bool Adjoint = false>
class applied_ilut {
  static_assert(S::block_rows == S::block_cols, "sla: ilut wants a square matrix: square blocks too");
  static constexpr index_t P = S::block_rows;
  using Col = typename csr_for_t<F>::col_type;
  using Rows = detail::row_order<F>;
  using Items = detail::dropped_items<T, Col>;

public:
  using value_type = T;
  using shape_type = S;

  applied_ilut(ilut recipe, sparse_tensor<T, S, F> const& A) : recipe_(recipe) { update(A); }

  /// The adjoint shares the factors; it sees later updates of neither.
  applied_ilut<T, S, F, !Adjoint> adjoint() const { return {recipe_, rows_.shared(), items_.shared()}; }

  /// New values, with the entries that are large among them. Where this throws, all is as before.
  void update(sparse_tensor<T, S, F> const& A) {
    if (A.rows() != A.cols()) throw shape_error(text("ilut: A is ", A.rows(), " x ", A.cols(), ", and must be square"));
    auto const rows = rows_ && rows_->fits(A.pattern()) ? rows_.shared() : detail::shared_of<Rows const>(A.shared_pattern());
    items_ = rows->apply(A, [&](auto const& sorted) { return factored(sorted); });
    rows_ = rows;
  }

  index_t rows() const { return rows_->pattern()->rows; }
  index_t batch_count() const { return index_t(items_->items.size()); }
  /// The entries, or blocks, of L and U of all batch items, of which they share the diagonal.
  index_t entries() const { return items_->entries; }
  /// What a report adds to the name.
  std::string const& remark() const { return items_->remark; }
  auto view() const { return detail::dropped_view<T, Col, P>{items_.get()}; }

  applied_ilut(ilut recipe, std::shared_ptr<Rows const> rows, std::shared_ptr<Items const> items)
      : recipe_(recipe), rows_(std::move(rows)), items_(std::move(items)) {}

private:
  template <class A>
  std::shared_ptr<Items const> factored(A const& a) const {
    auto const out = detail::shared_of<Items>();
    out->items.resize(std::size_t(a.batch_count()));
    auto const* const values = kernel_pointer(a.values().data());
    detail::for_batch_items(a.batch_count(), [&](index_t b) {
      detail::threshold_elimination<P, kernel_t<T>> elimination(a.rows(), recipe_.drop_tolerance, recipe_.fill);
      for (index_t i = 0; i < a.rows(); ++i)
        if (char const* const wrong = elimination.add(a.pattern().view(), values + b * a.batch_stride(), i))
          throw detail::numbered_error("ilut: ", wrong, " in row ", detail::row_number{i}, b > 0 ? text(" of batch item ", b) : "",
                                       "; permute rows so that the diagonal is large, drop less (a smaller .drop_tolerance, a larger .fill), or use jacobi or lu");
      out->items[std::size_t(b)] = elimination.template factors<T, Col>();
    });
    for (auto const& item : out->items) out->entries += item.pattern.nnz();
    out->remark = text(", ", std::round(10 * double(out->entries) / double((std::max)(index_t(1), a.nnz() * a.batch_count()))) / 10, " x the entries of A");
    return out;
  }
  ilut recipe_;
  detail::held<Rows const, "a preconditioner"> rows_;
  detail::held<Items const, "a preconditioner"> items_;
};

template <class T, class S, class F, bool Adjoint, Tensorial X>
auto operator*(applied_ilut<T, S, F, Adjoint> const& M, X&& x) {
  return detail::swept<S, Adjoint>(M.view(), M.batch_count() * M.rows() * S::block_rows, std::forward<X>(x), ilut::name);
}

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Symmetric Gauss-Seidel on several threads, with results that do not depend on their number: by colours (Saad, Iterative Methods for
// Sparse Linear Systems, section 12.4), or in parts of consecutive rows (Baker, Falgout, Kolev and Yang 2011). In the order of rows: ssor{}.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sla/core/held.hpp>
#include <sla/solve/precond/scalar_rows.hpp>
#include <sla/solve/precond/sweep.hpp>
#include <sla/solve/seam/numbered_error.hpp>
#include <sla/tensor/arrange/transpose.hpp>

namespace sla {

namespace detail {
/// The order of a sweep: groups one after the other, whose rows may be swept at once.
struct sweep_groups {
  index_t part;  ///< rows that are swept in order; 0: by colour
  buffer<std::int32_t> colour, rows;
  std::vector<index_t> first{0};  ///< of each colour among `rows`

  /// Each row gets the least colour that none of its neighbours has, of A or of A^T, in the order of rows.
  template <class Pattern>
  sweep_groups(Pattern const& A, index_t of_part) : part(of_part) {
    if (part > 0) return;
    auto const by_columns = transpose_pattern(A).pattern;
    index_t const n = A.rows;
    colour = buffer<std::int32_t>(n, uninitialized), rows = buffer<std::int32_t>(n, uninitialized);
    std::vector<index_t> last_seen;  // by which row each colour was seen
    for (index_t i = 0; i < n; ++i) {
      auto const see = [&](index_t, index_t j) {
        if (j < i) last_seen[std::size_t(colour[j])] = i;
      };
      A.view().for_row(i, see);
      by_columns->view().for_row(i, see);
      auto const free = std::find_if(last_seen.begin(), last_seen.end(), [i](index_t seen) { return seen != i; });
      colour[i] = std::int32_t(free - last_seen.begin());
      if (free == last_seen.end()) last_seen.push_back(-1), first.push_back(0);
      ++first[std::size_t(colour[i]) + 1];
    }
    for (std::size_t c = 1; c < first.size(); ++c) first[c] += first[c - 1];
    auto next = first;
    for (index_t i = 0; i < n; ++i) rows[next[std::size_t(colour[i])]++] = std::int32_t(i);
  }
  index_t parts(index_t n) const { return n / part + (n % part != 0); }
};

/// One item: its rows, and 1 / d.
template <class T>
struct gauss_seidel_item {
  sparse_tensor<T, Matrix, Csr<std::int32_t>> A;
  buffer<T> inverse;
};

/// (D + U)^-1 D (D + L)^-1, where L and U have the entries of rows that are swept before, and after: one sweep forth and one back.
template <class T>
struct gauss_seidel_view {
  sweep_groups const* order;
  gauss_seidel_item<T> const* items;
  index_t count, rows;

  template <bool, class X, class Out>
  void sweep(X const* x, Out* out, index_t rhs) const {
    for (index_t b = 0; b < count; ++b)
      for (index_t c = 0; c < rhs; ++c) column(items[b], x + b * rows * rhs + c, out + b * rows * rhs + c, rhs);
  }

private:
  template <class X, class Out>
  void column(gauss_seidel_item<T> const& item, X const* x, Out* out, index_t stride) const {
    auto const pattern = item.A.pattern().view();
    auto const* const a = kernel_pointer(item.A.values().data());
    auto const* const inverse = kernel_pointer(item.inverse.data());
    // d^-1 (from - the entries of row i that are wanted)
    auto const solved = [&](index_t i, Out from, auto const& wanted) {
      pattern.for_row(i, [&](index_t s, index_t j) {
        if (wanted(j)) from = scalar_cast<Out>(op::sub::apply(from, op::mul::apply(a[s], out[j * stride])));
      });
      return scalar_cast<Out>(op::mul::apply(inverse[i], from));
    };
    auto const forth = [&](index_t i, auto const& before) { out[i * stride] = solved(i, scalar_cast<Out>(x[i * stride]), before); };
    auto const back = [&](index_t i, auto const& after) { out[i * stride] = out[i * stride] + solved(i, Out{}, after); };
    if (order->part > 0) {
      index_t const part = order->part;
      for_batch_items(order->parts(rows), [&](index_t p) {
        index_t const lo = p * part, hi = (std::min)(rows, lo + part);
        for (index_t i = lo; i < hi; ++i) forth(i, [=](index_t j) { return lo <= j && j < i; });
        for (index_t i = hi; i-- > lo;) back(i, [=](index_t j) { return i < j && j < hi; });
      }, item.A.nnz());
      return;
    }
    auto const* const colour = order->colour.data();
    auto const of_colour = [&](std::size_t c, auto const& f) {
      index_t const begin = order->first[c];
      parallel_ranges(order->first[c + 1] - begin, [&, at = order->rows.data() + begin](index_t lo, index_t hi) {
        for (index_t k = lo; k < hi; ++k) f(index_t(at[k]));
      }, 8192);
    };
    std::size_t const colours = order->first.size() - 1;
    for (std::size_t c = 0; c < colours; ++c)
      of_colour(c, [&](index_t i) { forth(i, [&](index_t j) { return colour[j] < colour[i]; }); });
    for (std::size_t c = colours; c-- > 0;)
      of_colour(c, [&](index_t i) { back(i, [&](index_t j) { return colour[j] > colour[i]; }); });
  }
};
} // namespace detail

/// M * r by sweeps: made by `gauss_seidel{}.setup(A)`.
template <class T, class S>
class applied_gauss_seidel {
  using Items = std::vector<detail::gauss_seidel_item<T>>;

public:
  using value_type = T;
  using shape_type = S;

  template <class F>
  applied_gauss_seidel(index_t part, sparse_tensor<T, S, F> const& A) : part_(part) {
    update(A);
  }
  /// The sweeps of A^H, in the same order.
  applied_gauss_seidel adjoint() const {
    Items items;
    for (auto const& item : *items_) {
      items.push_back({adjointed(item.A), item.inverse});
      for (T& d : items.back().inverse) d = T(conj_of(to_kernel(d)));
    }
    return {part_, order_.shared(), detail::shared_of<Items const>(std::move(items)), rows_};
  }
  /// New values; the order is found anew where the pattern is another one. Where this throws, all is as before.
  template <class F>
  void update(sparse_tensor<T, S, F> const& A) {
    detail::with_scalar_rows(A, "gauss_seidel", [&](auto const& rows) {
      auto items = detail::shared_of<Items>();
      for (index_t b = 0; b < rows.batch_count(); ++b) items->push_back(item(detail::item_of_rows(rows, b), b));
      bool const kept = items_ && !items_->empty() && !items->empty() && same_pattern((*items_)[0].A.pattern(), rows.pattern());
      if (!kept) order_ = detail::shared_of<detail::sweep_groups const>(rows.pattern(), part_);
      items_ = std::shared_ptr<Items const>(std::move(items));
      rows_ = rows.rows();
    });
  }
  /// Colours, or parts.
  index_t groups() const { return part_ > 0 ? order_->parts(rows_) : index_t(order_->first.size()) - 1; }
  /// What a report adds to the name.
  std::string remark() const { return text(" in ", groups(), part_ > 0 ? (groups() == 1 ? " part" : " parts") : (groups() == 1 ? " colour" : " colours")); }
  index_t elements() const { return index_t(items_->size()) * rows_; }
  detail::gauss_seidel_view<T> view() const { return {order_.get(), items_->data(), index_t(items_->size()), rows_}; }

private:
  applied_gauss_seidel(index_t part, std::shared_ptr<detail::sweep_groups const> order, std::shared_ptr<Items const> items, index_t rows)
      : part_(part), order_(std::move(order)), items_(std::move(items)), rows_(rows) {}

  /// 1 / d, where d is the diagonal, enlarged in parts by what couples a row to other parts.
  detail::gauss_seidel_item<T> item(sparse_tensor<T, Matrix, Csr<std::int32_t>>&& A, index_t batch_item) const {
    using Real = real_t<T>;
    index_t const n = A.rows(), part = part_;
    buffer<T> inverse(n, uninitialized);
    auto const* const a = kernel_pointer(A.values().data());
    auto* const d = kernel_pointer(inverse.data());
    index_t const bare = detail::first_where(n, [&](index_t i) {
      kernel_t<T> diagonal{};
      Real outside = 0;
      A.pattern().view().for_row(i, [&](index_t s, index_t j) {
        if (i == j) diagonal = a[s];
        if (part > 0 && i / part != j / part) outside += abs_of(a[s]);
      });
      Real const size = abs_of(diagonal);
      d[i] = size > 0 ? conj_of(diagonal) / size / (size + outside) : kernel_t<T>{};
      return !(size > 0);
    });
    if (bare >= 0)
      throw detail::numbered_error("gauss_seidel: the diagonal entry of row ", detail::row_number{bare, true}, batch_item > 0 ? text(" of batch item ", batch_item) : "",
                                   " is zero or not stored; permute rows so that none is, or use lu");
    return {std::move(A), std::move(inverse)};
  }

  index_t part_;
  detail::held<detail::sweep_groups const, "a preconditioner"> order_;
  detail::held<Items const, "a preconditioner"> items_;
  index_t rows_ = 0;
};

template <class T, class S, Tensorial X>
auto operator*(applied_gauss_seidel<T, S> const& M, X&& x) {
  return detail::swept<S, false>(M.view(), M.elements(), std::forward<X>(x), "gauss_seidel");
}

/// `solve(A, b, cg{}, gauss_seidel{})`: M^-1 = (D + L) D^-1 (D + U), where L has the entries of rows that are swept before, U of those after. By
/// default rows are swept by colours, so that no two of a colour are coupled: A = L + D + U. With `part`, so many consecutive rows are
/// swept in order, each part as if it were alone; what couples it to others is added to its diagonal, |a_ij| by |a_ij|, so that x += M (b - A x)
/// converges for every Hermitian definite A, as it does by colours. M is Hermitian definite where A is. Blocks are taken apart into scalar rows.
///     auto x = solve(A, b, cg{}, gauss_seidel{.part = 4096});   auto y = solve(A, b, cg{}, amg{.smoother = gauss_seidel{}});
/// Setup: a copy of A. Cost of an application: A is read twice; colours one after the other, the rows of each in parallel, or parts in parallel.
/// Placement: the host; with A's rows on ranks, each rank has its own rows and columns. Errors: value_error where `part` is negative, and
/// naming the row whose diagonal entry is zero or not stored.
struct gauss_seidel {
  index_t part = 0;

  using preconditioner_tag = void;
  static constexpr char const* name = "gauss_seidel";

  template <class T, class S, class F>
  auto setup(sparse_tensor<T, S, F> const& A) const {
    static_assert(S::block_rows == S::block_cols, "sla: gauss_seidel wants a square matrix: square blocks too");
    if (A.rows() != A.cols()) throw shape_error(text("gauss_seidel: A is ", A.rows(), " x ", A.cols(), ", and must be square"));
    if (part < 0) throw value_error(text("gauss_seidel{.part = ", part, "}: so many rows are swept in order, or 0: rows are swept by colours"));
    return applied_gauss_seidel<T, S>(part, A);
  }
};

} // namespace sla

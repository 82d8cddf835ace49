// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Preconditioners that sweep over the two triangles of a matrix, or one and its adjoint: what ilu0, iluk, ic0 and ssor share, and the sweeps of ilut. What
// each of them puts into the triangles is its own; the node that waits for the whole of r is in solve/precond/sweep.hpp.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <sla/core/held.hpp>
#include <sla/solve/precond/little.hpp>
#include <sla/solve/precond/sweep.hpp>
#include <sla/solve/seam/numbered_error.hpp>
#include <sla/tensor/build/block.hpp>
#include <sla/tensor/build/borrow.hpp>
#include <sla/tensor/build/entries.hpp>

namespace sla {

namespace detail {
/// The rows of a pattern in order, as Csr: sorted once, for values that come again.
template <class F>
class row_order {
  using Pattern = typename F::template pattern<host_memory>;
  using Rows = csr_for_t<F>;

public:
  explicit row_order(std::shared_ptr<Pattern const> of) : of_(std::move(of)) {
    if constexpr (is_csr<F>)
      direct_.pattern = of_;
    else
      direct_ = remap(conversion_to<Rows>{}, *of_, slots_by_row<F>);
    if (!has_sorted_columns(*direct_.pattern)) order_ = sort_rows(*direct_.pattern);
  }
  bool fits(Pattern const& other) const { return same_pattern(*of_, other); }
  auto const& pattern() const { return order_ ? order_->pattern : direct_.pattern; }

  /// f(A with its rows in order), for A of this pattern.
  template <class T, class S, class Use>
  auto apply(sparse_tensor<T, S, F> const& A, Use const& f) const {
    using Direct = sparse_tensor<T, S, Rows>;
    auto ordered = [&](Direct const& direct) {
      if (!order_) return f(direct);
      auto values = sum_triplets<T>(*order_, direct.values().data(), A.batch_count(), A.block_size);
      return f(Direct(A.shape(), order_->pattern, std::move(values)));
    };
    if constexpr (is_csr<F>)
      return ordered(A);
    else
      return ordered(moved(A, direct_));
  }

private:
  std::shared_ptr<Pattern const> of_;
  pattern_map<Rows> direct_;
  std::optional<triplet_order<typename Rows::col_type, typename Rows::ptr_type>> order_;
};

/// The entries up to the diagonal, which is the last of each row.
template <class Col, class Ptr>
std::shared_ptr<csr_pattern<Col, Ptr, host_memory> const> lower_triangle(csr_pattern<Col, Ptr, host_memory> const& A, buffer<index_t> const& diagonal) {
  auto row_ptr = row_pointers<Ptr>(A.rows, [&](index_t i) { return diagonal[i] + 1 - index_t(A.row_ptr[i]); });
  buffer<Col> col(row_ptr[A.rows], uninitialized);
  parallel_ranges(A.rows, [&, to = col.data()](index_t lo, index_t hi) {
    for (index_t i = lo; i < hi; ++i) std::copy(A.col.data() + A.row_ptr[i], A.col.data() + diagonal[i] + 1, to + row_ptr[i]);
  });
  using Pattern = csr_pattern<Col, Ptr, host_memory>;
  return detail::shared_of<Pattern const>(Pattern{A.rows, A.cols, std::move(row_ptr), std::move(col)});
}

/// Where the factors of matrices of one pattern are: on the pattern, or its lower triangle, or the one that `recipe.filled(pattern)` makes.
template <class F, bool Lower>
struct triangle_layout {
  using Rows = csr_for_t<F>;
  using Ptr = typename Rows::ptr_type;

  row_order<F> rows;
  std::shared_ptr<typename Rows::template pattern<host_memory> const> pattern;  ///< of the factors
  buffer<Ptr> diagonal;                                                         ///< slots in `pattern`

  template <class Recipe>
  triangle_layout(std::shared_ptr<typename F::template pattern<host_memory> const> of, Recipe const& recipe) : rows(std::move(of)), pattern(rows.pattern()) {
    constexpr char const* who = Recipe::name;
    if (pattern->rows != pattern->cols) throw shape_error(text(who, ": A is ", pattern->rows, " x ", pattern->cols, ", and must be square"));
    if constexpr (requires { recipe.filled(*pattern); }) pattern = recipe.filled(*pattern);
    auto const slots = diagonal_positions(*pattern);
    index_t const bare = first_where(slots.size(), [&](index_t i) { return slots[i] < 0; });
    if (bare >= 0)
      throw numbered_error(who, ": row ", row_number{bare}, " has no diagonal entry; store it, permute rows so that each has one, or use lu");
    if constexpr (Lower) pattern = lower_triangle(*pattern, slots);
    diagonal = buffer<Ptr>(slots.size(), uninitialized);
    for (index_t i = 0; i < slots.size(); ++i) diagonal[i] = Ptr(Lower ? index_t(pattern->row_ptr[i + 1]) - 1 : slots[i]);
  }
};

/// Two triangles in sorted rows as sweeps see them. The diagonal blocks are stored inverted. Lower: the matrix is L L^H, and L
/// is stored. Else it is L U, and the unit of L is not stored.
template <class T, class Col, class Ptr, index_t P, bool Lower>
struct triangles_view {
  csr_view<Col, Ptr> pattern;
  T const* values;
  Ptr const* diagonal;
  index_t batch, slots;

  /// out = (L U)^-1 x or (L L^H)^-1 x, or its adjoint, for `rhs` right-hand sides that are swept together.
  template <bool Adjoint, class X, class Out>
  void sweep(X const* x, Out* out, index_t rhs) const {
    for_batch_items(batch, [&](index_t b) {
      index_t const first = b * pattern.rows * P * rhs;
      T const* const a = values + b * slots * P * P;
      X const* const from = x + first;
      Out* const y = out + first;
      if constexpr (Lower)
        gather_down(a, from, y, rhs), scatter_up(a, y, rhs);
      else if constexpr (Adjoint)
        scatter_down(a, from, y, rhs), scatter_up(a, y, rhs);
      else
        gather_down(a, from, y, rhs), gather_up(a, y, rhs);
    }, batch * slots * P * P * rhs);
  }

private:
  /// L^-1 x (Step 1) or U^-1 x (-1) for one right-hand side. Most rows need the row that was swept just before them: its term
  /// comes last, and from registers, since to read back what was just stored would take longer than all the rest.
  template <int Step, class X, class Out>
  void gather_column(T const* a, X const* x, Out* out) const {
    Out previous[P] = {};
    for (index_t n = 0; n < pattern.rows; ++n) {
      index_t const i = Step > 0 ? n : pattern.rows - 1 - n, end = diagonal[i];
      index_t s = Step > 0 ? index_t(pattern.row_ptr[i]) : index_t(pattern.row_ptr[i + 1]) - 1;
      Out row[P];
      for (index_t r = 0; r < P; ++r) row[r] = scalar_cast<Out>(x[i * P + r]);
      for (; Step * (end - s) > 1; s += Step) subtract_product<P, false>(a + s * P * P, out + index_t(pattern.col[s]) * P, row, 1);
      if (s != end) {
        if (index_t(pattern.col[s]) == i - Step)
          subtract_product<P, false>(a + s * P * P, previous, row, 1);
        else
          subtract_product<P, false>(a + s * P * P, out + index_t(pattern.col[s]) * P, row, 1);
      }
      if constexpr (Lower || Step < 0) multiply_in_place<P, false>(a + end * P * P, row, 1);
      for (index_t r = 0; r < P; ++r) out[i * P + r] = previous[r] = row[r];
    }
  }
  /// y = L^-1 x.
  template <class X, class Out>
  void gather_down(T const* a, X const* x, Out* out, index_t rhs) const {
    if (rhs == 1) return gather_column<1>(a, x, out);
    for (index_t i = 0; i < pattern.rows; ++i) {
      Out* const y = out + i * P * rhs;
      for (index_t n = 0; n < P * rhs; ++n) y[n] = scalar_cast<Out>(x[i * P * rhs + n]);
      for (index_t s = pattern.row_ptr[i]; s < diagonal[i]; ++s)
        subtract_product<P, false>(a + s * P * P, out + index_t(pattern.col[s]) * P * rhs, y, rhs);
      if constexpr (Lower) multiply_in_place<P, false>(a + diagonal[i] * P * P, y, rhs);
    }
  }
  /// y = U^-1 y.
  template <class Out>
  void gather_up(T const* a, Out* out, index_t rhs) const {
    if (rhs == 1) return gather_column<-1>(a, out, out);
    for (index_t i = pattern.rows; i-- > 0;) {
      Out* const y = out + i * P * rhs;
      for (index_t s = diagonal[i] + 1; s < pattern.row_ptr[i + 1]; ++s)
        subtract_product<P, false>(a + s * P * P, out + index_t(pattern.col[s]) * P * rhs, y, rhs);
      multiply_in_place<P, false>(a + diagonal[i] * P * P, y, rhs);
    }
  }
  /// L^-H y (Step -1) or U^-H y (1) for one right-hand side: a finished row is subtracted from the rows
  /// that depend on it, since no transpose is stored. What the next row has received stays in registers.
  template <int Step, class Out>
  void scatter_column(T const* a, Out* out) const {
    Out row[P], next[P] = {};
    for (index_t n = 0; n < pattern.rows; ++n) {
      index_t const i = Step > 0 ? n : pattern.rows - 1 - n, d = diagonal[i];
      index_t const end = Step > 0 ? index_t(pattern.row_ptr[i + 1]) : index_t(pattern.row_ptr[i]) - 1;
      for (index_t r = 0; r < P; ++r) row[r] = n > 0 ? next[r] : out[i * P + r];
      if constexpr (Lower || Step > 0) multiply_in_place<P, true>(a + d * P * P, row, 1);
      for (index_t r = 0; r < P; ++r) out[i * P + r] = row[r];
      if (n + 1 < pattern.rows)
        for (index_t r = 0; r < P; ++r) next[r] = out[(i + Step) * P + r];
      index_t s = d + Step;
      if (s != end && index_t(pattern.col[s]) == i + Step) {
        subtract_product<P, true>(a + s * P * P, row, next, 1);
        s += Step;
      }
      for (; s != end; s += Step) subtract_product<P, true>(a + s * P * P, row, out + index_t(pattern.col[s]) * P, 1);
    }
  }
  /// y = L^-H y.
  template <class Out>
  void scatter_up(T const* a, Out* out, index_t rhs) const {
    if (rhs == 1) return scatter_column<-1>(a, out);
    for (index_t i = pattern.rows; i-- > 0;) {
      Out* const y = out + i * P * rhs;
      if constexpr (Lower) multiply_in_place<P, true>(a + diagonal[i] * P * P, y, rhs);
      for (index_t s = pattern.row_ptr[i]; s < diagonal[i]; ++s)
        subtract_product<P, true>(a + s * P * P, y, out + index_t(pattern.col[s]) * P * rhs, rhs);
    }
  }
  /// y = U^-H x.
  template <class X, class Out>
  void scatter_down(T const* a, X const* x, Out* out, index_t rhs) const {
    for (index_t n = 0; n < pattern.rows * P * rhs; ++n) out[n] = scalar_cast<Out>(x[n]);
    if (rhs == 1) return scatter_column<1>(a, out);
    for (index_t i = 0; i < pattern.rows; ++i) {
      Out* const y = out + i * P * rhs;
      multiply_in_place<P, true>(a + diagonal[i] * P * P, y, rhs);
      for (index_t s = diagonal[i] + 1; s < pattern.row_ptr[i + 1]; ++s)
        subtract_product<P, true>(a + s * P * P, y, out + index_t(pattern.col[s]) * P * rhs, rhs);
    }
  }
};

/// What a recipe makes of the rows of A: values on the pattern of its layout, and what a report should say of them.
template <class T>
struct triangle_values {
  buffer<T> values;
  std::string remark;
};
} // namespace detail

/// M * r by sweeps over triangles; M.adjoint() * r. Made by `ilu0{}.setup(A)`, `ic0{}.setup(A)`, `ssor{}.setup(A)`. Recipe is
/// one of these options: `one_triangle` says that M is (L L^H)^-1, and `fill(rows of A, layout)` gives the triangles.
template <class Recipe, class T, class S, class F, bool Adjoint = false>
class applied_triangles {
  static_assert(S::block_rows == S::block_cols, "sla: ilu0, ic0 and ssor want a square matrix: square blocks too");
  static constexpr bool Lower = Recipe::one_triangle;
  using Layout = detail::triangle_layout<F, Lower>;
  using Values = detail::triangle_values<T>;
  using Rows = csr_for_t<F>;

public:
  using value_type = T;
  using shape_type = S;

  applied_triangles(Recipe recipe, sparse_tensor<T, S, F> const& A) : recipe_(recipe) { update(A); }

  /// The adjoint shares the triangles; it sees later updates of neither.
  applied_triangles<Recipe, T, S, F, !Adjoint && !Lower> adjoint() const { return {recipe_, layout_.shared(), values_.shared(), batch_}; }

  /// New values; what is known of the pattern stays where it is the same one. Where this throws, all is as before.
  void update(sparse_tensor<T, S, F> const& A) {
    auto const layout = layout_ && layout_->rows.fits(A.pattern()) ? layout_.shared() : detail::shared_of<Layout const>(A.shared_pattern(), recipe_);
    values_ = layout->rows.apply(A, [&](auto const& rows) { return detail::shared_of<Values const>(recipe_.fill(rows, *layout)); });
    layout_ = layout;
    batch_ = A.batch_count();
  }

  index_t rows() const { return layout_->pattern->rows; }
  index_t batch_count() const { return batch_; }
  /// Of values and the places of diagonals, and of the pattern, where it is not that of A.
  std::size_t bytes() const {
    auto const& pattern = layout_->pattern;
    return values_->values.bytes() + layout_->diagonal.bytes() + (pattern == layout_->rows.pattern() ? 0 : pattern->bytes());
  }
  /// The triangles with their numbers rounded to To; sweeps add up in the numbers of x.
  template <class To>
  applied_triangles<Recipe, To, S, F, Adjoint> rounded() const {
    buffer<T> const& from = values_->values;
    buffer<To> values(from.size(), uninitialized);
    parallel_ranges(from.size(), [&, to = values.data()](index_t lo, index_t hi) {
      for (index_t s = lo; s < hi; ++s) to[s] = To(from[s]);
    });
    return {recipe_, layout_.shared(), detail::shared_of<detail::triangle_values<To> const>(detail::triangle_values<To>{std::move(values), values_->remark}), batch_};
  }
  /// What a report adds to the name.
  std::string const& remark() const { return values_->remark; }
  auto view() const {
    return detail::triangles_view<kernel_t<T>, typename Rows::col_type, typename Rows::ptr_type, S::block_rows, Lower>{
        layout_->pattern->view(), kernel_pointer(values_->values.data()), layout_->diagonal.data(), batch_, layout_->pattern->slots()};
  }

  applied_triangles(Recipe recipe, std::shared_ptr<Layout const> layout, std::shared_ptr<Values const> values, index_t batch)
      : recipe_(recipe), layout_(std::move(layout)), values_(std::move(values)), batch_(batch) {}

private:
  Recipe recipe_;
  detail::held<Layout const, "a preconditioner"> layout_;
  detail::held<Values const, "a preconditioner"> values_;
  index_t batch_ = 0;
};

template <class Recipe, class T, class S, class F, bool Adjoint, Tensorial X>
auto operator*(applied_triangles<Recipe, T, S, F, Adjoint> const& M, X&& x) {
  return detail::swept<S, Adjoint>(M.view(), M.batch_count() * M.rows() * S::block_rows, std::forward<X>(x), Recipe::name);
}

} // namespace sla

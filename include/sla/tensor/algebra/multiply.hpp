// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of sparse tensors: `multiply_plan`, which finds the pattern of A B once and then multiplies values, row by row.
// The operator A * B is in expr/sparse/algebra.hpp, the products that its gradients are made of in tensor/algebra/sampled.hpp.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sla/core/held.hpp>
#include <sla/core/op.hpp>
#include <sla/tensor/algebra/pair.hpp>
#include <sla/tensor/algebra/row_columns.hpp>
#include <sla/tensor/build/block.hpp>

namespace sla {

namespace detail {
/// The columns of some rows, one row after the other, from row `first` on.
template <class Col>
struct column_run {
  index_t first, count = 0;
  buffer<Col> columns;

  /// Room for the `here` columns of this row, and for more of the `most` that may follow.
  column_run(index_t row, index_t here, index_t most)
      : first(row), columns((std::max)(here, (std::min)(most, index_t(1) << 20)), uninitialized) {}
  bool has_room(index_t more) const { return count + more <= columns.size(); }
};

/// The pattern of a product of patterns; work[i] is the number of pairs of entries in the rows before i. The columns are
/// found once, in runs, which go as the pattern is made of them.
template <class F, class PA, class PB>
auto multiplied_pattern(PA const& a, PB const& b, buffer<index_t> const& work) {
  using Col = typename F::col_type;
  using pattern = typename F::template pattern<host_memory>;
  auto const va = a.view();
  auto const vb = b.view();
  bool const ascending = has_sorted_columns(b);
  buffer<index_t> counts(a.rows);
  std::vector<std::vector<column_run<Col>>> runs(static_cast<std::size_t>(work_parts(work)));
  parallel_work(work, [&, count = counts.data()](index_t lo, index_t hi, int t) {
    auto& mine = runs[std::size_t(t)];
    column_set columns;
    for (index_t i = lo; i < hi; ++i) {
      if (work[i] == work[i + 1]) continue;
      index_t first = b.cols, last = -1;
      va.for_row(i, [&](index_t, index_t k) {
        auto const *from = vb.col + vb.row_ptr[k], *to = vb.col + vb.row_ptr[k + 1];
        if (from == to) return;
        auto const [low, high] = ascending ? std::pair(from, to - 1) : std::minmax_element(from, to);
        first = (std::min)(first, index_t(*low));
        last = (std::max)(last, index_t(*high));
      });
      columns.open(first, last, (std::min)(work[i + 1] - work[i], b.cols));
      columns.fill([&](auto const& insert) {
        va.for_row(i, [&](index_t, index_t k) { vb.for_row(k, [&](index_t, index_t j) { insert(j); }); });
      });
      count[i] = columns.size();
      if (mine.empty() || !mine.back().has_room(count[i])) mine.emplace_back(i, count[i], work[hi] - work[i]);
      Col* to = mine.back().columns.data() + mine.back().count;
      columns.drain([&](index_t j) { *to++ = Col(j); });
      mine.back().count += count[i];
    }
  });
  auto row_ptr = row_pointers<typename F::ptr_type>(
      a.rows, [&](index_t i) { return counts[i]; }, "the number of entries of A * B,",
      "Csr<std::int32_t, std::int64_t> for A: to<Csr<std::int32_t, std::int64_t>>(A) * B");
  buffer<Col> col(row_ptr[a.rows], uninitialized);
  for (auto& part : runs)
    for (auto& run : part) {
      host_memory::copy(run.columns.data(), col.data() + row_ptr[run.first], std::size_t(run.count) * sizeof(Col));
      run.columns = {};
    }
  return detail::shared_of<pattern const>(pattern{a.rows, b.cols, std::move(row_ptr), std::move(col)});
}

/// c += a b, blocks of P x Q and Q x R numbers.
template <index_t P, index_t Q, index_t R, class C, class A, class B>
void add_block_product(C* c, A const* a, B const* b) {
  for (index_t p = 0; p < P; ++p)
    for (index_t q = 0; q < Q; ++q)
      for (index_t r = 0; r < R; ++r) c[p * R + r] += op::mul::apply(a[p * Q + q], b[q * R + r]);
}
} // namespace detail

/// The pattern of A B, kept: new values on the old patterns are multiplied without looking for it again.
///     multiply_plan plan(A, B);  auto C = plan(A, B);  plan.update(C, A2, B2);
/// A is (*batch, M, K, p, q) and B (*batch, K, N, q, r); batch axes may be missing on one side. Rows of C ascend.
/// Cost: O(multiplications), in parallel over rows of equal work, once for the pattern and once per product; 8 bytes per
/// row are kept beside the patterns. Errors: shape_error where only run time can tell, and where C has more entries
/// than its format counts.
/// Source: Gustavson, Two fast algorithms for sparse matrices (ACM TOMS 1978).
template <class FA, class FB>
class multiply_plan {
  static_assert(is_csr<FA> && is_csr<FB>,
                "sla: multiply_plan(A, B) wants both in Csr: to<Csr<>>(A); the operator A * B takes any format");

public:
  using format_type = common_format_t<FA, FB>;
  using pattern_type = typename format_type::template pattern<host_memory>;
  using left_pattern = typename FA::template pattern<host_memory>;
  using right_pattern = typename FB::template pattern<host_memory>;
  /// The type of A B.
  template <class TA, class SA, class TB, class SB>
  using result_type = sparse_tensor<user_t<promote_t<TA, TB>>, multiplied_shape_t<SA, SB>, format_type>;

  template <class TA, class SA, class TB, class SB>
  multiply_plan(sparse_tensor<TA, SA, FA> const& A, sparse_tensor<TB, SB, FB> const& B)
      : multiply_plan(A.shared_pattern(), B.shared_pattern()) {
    check_law<SA, SB>();
  }
  multiply_plan(std::shared_ptr<left_pattern const> a, std::shared_ptr<right_pattern const> b)
      : a_(std::move(a)), b_(std::move(b)) {
    if (a_->cols != b_->rows)
      throw shape_error(text("A * B: A is ", a_->rows, " x ", a_->cols, ", B is ", b_->rows, " x ", b_->cols,
                             "; the columns of A must be as many as the rows of B"));
    auto const va = a_->view();
    auto const vb = b_->view();
    work_ = detail::row_pointers<index_t>(a_->rows, [&](index_t i) {
      index_t pairs = 0;
      va.for_row(i, [&](index_t, index_t k) { pairs += vb.row_ptr[k + 1] - vb.row_ptr[k]; });
      return pairs;
    });
    pattern_ = detail::multiplied_pattern<format_type>(*a_, *b_, work_);
  }

  left_pattern const& left() const { return *a_; }
  right_pattern const& right() const { return *b_; }
  std::shared_ptr<pattern_type const> const& shared_pattern() const { return pattern_.shared(); }
  /// Pairs of entries that are multiplied in the rows before each, and in all.
  buffer<index_t> const& work() const { return work_; }

  /// A B.
  template <class TA, class SA, class TB, class SB>
  result_type<TA, SA, TB, SB> operator()(sparse_tensor<TA, SA, FA> const& A, sparse_tensor<TB, SB, FB> const& B) const {
    if constexpr (check_law<SA, SB>()) {
      using C = result_type<TA, SA, TB, SB>;
      typename C::shape_type const shape(detail::common_batch(A.shape(), B.shape(), "A * B"), A.rows(), B.cols());
      C c(shape, shared_pattern(),
          buffer<typename C::value_type>(C::value_count(shape, pattern_->nnz()), uninitialized));
      update(c, A, B);
      return c;
    } else {
      return {};
    }
  }
  /// The values of A B into C, which is of this plan; they may be A's or B's own.
  template <class TA, class SA, class TB, class SB>
  void update(result_type<TA, SA, TB, SB>& C, sparse_tensor<TA, SA, FA> const& A,
              sparse_tensor<TB, SB, FB> const& B) const {
    if (!is_of(A, *a_) || !is_of(B, *b_) || C.shared_pattern() != shared_pattern())
      throw shape_error(
          text("multiply_plan: a plan of ", a_->nnz(), " and ", b_->nnz(), " entries, with ", pattern_->nnz(),
               " in the product, is given other patterns, of ", A.nnz(), " and ", B.nnz(), " entries",
               C.shared_pattern() != shared_pattern() ? "; C must come from this plan: C = plan(A, B)" : "; make a plan of those"));
    if (C.shape().batch() != detail::common_batch(A.shape(), B.shape(), "A * B"))
      throw shape_error(text("multiply_plan.update(C, A, B): the batch axes of C are ", to_string(C.shape().batch()), ", those of A * B ",
                             to_string(detail::common_batch(A.shape(), B.shape(), "A * B")), "; C must come from this plan: C = plan(A, B)"));
    if (detail::overlap(C.values(), A.values())) return update(C, sparse_tensor<TA, SA, FA>(A), B);
    if (detail::overlap(C.values(), B.values())) return update(C, A, sparse_tensor<TB, SB, FB>(B));
    using V = kernel_t<typename std::remove_cvref_t<decltype(C)>::value_type>;
    constexpr index_t P = SA::block_rows, Q = SA::block_cols, R = SB::block_cols;
    auto const va = a_->view();
    auto const vb = b_->view();
    detail::parallel_work(work_, [&, c = kernel_pointer(C.values().data()), a = kernel_pointer(A.values().data()),
                                  b = kernel_pointer(B.values().data())](index_t lo, index_t hi, int) {
      detail::column_places places;
      for (index_t i = lo; i < hi; ++i) {
        index_t const first = pattern_->row_ptr[i], count = pattern_->row_ptr[i + 1] - first;
        places.open(pattern_->col.data() + first, count);
        places.use([&](auto const& place) {
          for (index_t item = 0; item < C.batch_count(); ++item) {
            V* const row = c + item * C.batch_stride() + first * P * R;
            std::fill_n(row, count * P * R, V{});
            auto const* const left = a + item * detail::item_stride(A);
            auto const* const right = b + item * detail::item_stride(B);
            va.for_row(i, [&](index_t s, index_t k) {
              vb.for_row(k, [&](index_t t, index_t j) {
                detail::add_block_product<P, Q, R>(row + place(j) * P * R, left + s * P * Q, right + t * Q * R);
              });
            });
          }
        });
      }
    });
  }

private:
  template <class SA, class SB>
  static constexpr bool check_law() {
    constexpr bool fits = multiply_law<SA, SB>;
    static_assert(fits, "sla: A * B of sparse tensors: the columns and block columns of A must be the rows and block "
                        "rows of B, and batch axes equal or missing on one side");
    return fits;
  }
  template <class A, class Pattern>
  static bool is_of(A const& a, Pattern const& pattern) {
    return same_pattern(a.pattern(), pattern);
  }

  detail::held<left_pattern const, "a multiply_plan"> a_;
  detail::held<right_pattern const, "a multiply_plan"> b_;
  detail::held<pattern_type const, "a multiply_plan"> pattern_;
  buffer<index_t> work_;
};
/// "multiply_plan 9 x 9 * 9 x 9, 25 entries, 65 multiplications".
template <class FA, class FB>
std::string to_string(multiply_plan<FA, FB> const& plan) {
  return text("multiply_plan ", plan.left().rows, " x ", plan.left().cols, " * ", plan.right().rows, " x ", plan.right().cols, ", ",
              plan.shared_pattern()->nnz(), " entries, ", plan.work()[plan.left().rows], " multiplications");
}

template <class TA, class SA, class FA, class TB, class SB, class FB>
multiply_plan(sparse_tensor<TA, SA, FA> const&, sparse_tensor<TB, SB, FB> const&) -> multiply_plan<FA, FB>;

namespace detail {
/// A B at once, in the format of both, or in Csr with the wider index types.
/// Law, Cost, Errors: as of `multiply_plan`. Gradient: (g B^H) on A's pattern, (A^H g) on B's.
template <class TA, class SA, class FA, class TB, class SB, class FB>
auto multiplied(sparse_tensor<TA, SA, FA> const& A, sparse_tensor<TB, SB, FB> const& B) {
  if constexpr (!is_csr<FA> || !is_csr<FB>) {
    auto C = multiplied(to<csr_for_t<FA>>(A), to<csr_for_t<FB>>(B));
    if constexpr (std::same_as<FA, FB>)
      return to<FA>(C);
    else
      return C;
  } else {
    return multiply_plan(A, B)(A, B);
  }
}
} // namespace detail

template <class TA, class SA, class FA, class TB, class SB, class FB>
auto perform(op::mul, sparse_tensor<TA, SA, FA> const& A, sparse_tensor<TB, SB, FB> const& B) {
  return detail::multiplied(A, B);
}

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers of sparse tensors: `sum(A)`, `trace(A)`, `norm(A)` (Frobenius), `norm1(A)` (largest column sum) and `norm_inf(A)` (largest row sum), one per
// batch item. Those of vectors are in expr/dense/reduce.hpp, condition numbers in solve/linear/condition.hpp; spectral norms are not here.
#pragma once

#include <vector>

#include <sla/expr/dense/reduce.hpp>
#include <sla/expr/sparse/stored.hpp>
#include <sla/tensor/algebra/masked.hpp>

namespace sla {

namespace detail {
/// The sums of |a| over each scalar row, or column, of every batch item: [*batch][row or column].
template <bool Rows, class T, class S, class F>
auto absolute_sums(sparse_tensor<T, S, F> const& A) {
  constexpr index_t P = S::block_rows, Q = S::block_cols;
  using R = decltype(op::widen_abs::apply(to_kernel(T{})));
  index_t const side = Rows ? A.rows() * P : A.cols() * Q;
  std::vector<R> sums(std::size_t(A.batch_count() * side));
  auto const view = A.pattern().view();
  for (index_t b = 0; b < A.batch_count(); ++b) {
    T const* const values = A.values().data() + b * A.batch_stride();
    auto const add_rows = [&, to = sums.data() + b * side](index_t first, index_t last) {
      for (index_t i = first; i < last; ++i)
        view.for_row(i, [&](index_t s, index_t j) {
          for (index_t k = 0; k < P * Q; ++k)
            to[Rows ? i * P + k / Q : j * Q + k % Q] += op::widen_abs::apply(to_kernel(values[s * P * Q + k]));
        });
    };
    if constexpr (Rows)
      parallel_ranges(A.rows(), add_rows);
    else
      add_rows(0, A.rows()); // columns meet in every row
  }
  return sums;
}
/// The stored values of a batch item.
template <class T, class S, class F>
auto item_values(sparse_tensor<T, S, F> const& A, index_t item) {
  return tensor_view<kernel_t<T>, Extents<dyn>, host_memory>{kernel_pointer(A.values().data()) + item * A.batch_stride(), Extents<dyn>(A.batch_stride())};
}
/// f of the stored values of every batch item.
template <class A, class F>
auto for_each_item(A const& a, F const& f) {
  std::vector<decltype(f(item_values(a, 0)))> out;
  for (index_t b = 0; b < a.batch_count(); ++b) out.push_back(f(item_values(a, b)));
  return out;
}
/// The sum of |a|^2 of every batch item.
template <class T, class S, class F>
auto squared_sums(sparse_tensor<T, S, F> const& A) {
  return for_each_item(A, [](auto const& item) { return squared_norm(item); });
}
/// The largest of the sums of every batch item; a NaN is kept.
template <class R>
std::vector<R> largest(std::vector<R> const& sums, index_t items) {
  std::vector<R> out(std::size_t(items), R{});
  std::size_t const side = items ? sums.size() / std::size_t(items) : 0;
  for (std::size_t n = 0; n < side * out.size(); ++n) op::maximum::fold(out[n / side], sums[n]);
  return out;
}
template <class R>
std::vector<R> roots(std::vector<R> sums) {
  using std::sqrt;
  for (R& s : sums) s = sqrt(s);
  return sums;
}
/// The number of a matrix; of a batch a tensor of its extents.
template <class S, class R>
auto number_per_item(S const& shape, std::vector<R> const& numbers) {
  if constexpr (S::is_batched) {
    tensor<R, typename S::batch_extents> out(shape.batch(), uninitialized);
    std::copy(numbers.begin(), numbers.end(), out.data());
    return out;
  } else {
    return numbers[0];
  }
}

template <class T, class Memory>
tensor_view<kernel_t<T>, Extents<dyn>, Memory> view(buffer<T, Memory> const& values) {
  return {kernel_pointer(values.data()), Extents<dyn>(values.size())};
}
template <class Op, class T, class S, class F>
auto number_of_matrix(sparse_tensor<T, S, F> const& A) {
  if constexpr (std::same_as<Op, op::sum>)
    return number_per_item(A.shape(), for_each_item(A, [](auto const& item) { return sum(item); }));
  else if constexpr (std::same_as<Op, op::norm>)
    return number_per_item(A.shape(), roots(with_single_entries(A, [](auto const& a) { return squared_sums(a); })));
  else
    return number_per_item(A.shape(), largest(with_single_entries(A, [](auto const& a) { return absolute_sums<std::same_as<Op, op::norm_inf>>(a); }), A.batch_count()));
}
} // namespace detail

/// Of sparse tensors the sum of all stored entries; the root of the sum of |a|^2 over them; the largest sum of |a| over a column (norm1), or a row
/// (norm_inf). Reductions of the array A.values() are those of values(A), and so is `dot(A.values(), B.values())`.
template <class Op, class... A>
auto detail::number_of_entries(A const&... a) {
  if constexpr ((SparseOperand<A> && ...))
    return (number_of_matrix<Op>(stored(a)), ...);
  else
    return eval(reduction_for<Op>(view(a)...));
}
template <class Op, class T, class S, class F>
  requires(detail::is_of_entries<Op> && !std::same_as<Op, op::squared_norm>)
auto perform(Op, sparse_tensor<T, S, F> const& A) {
  return detail::number_of_matrix<Op>(A);
}
template <class Op, class T, class Memory>
  requires(std::same_as<Op, op::sum> || std::same_as<Op, op::norm> || std::same_as<Op, op::squared_norm>)
auto perform(Op, buffer<T, Memory> const& x) {
  return detail::number_of_entries<Op>(x);
}
template <class T, class U, class Memory>
auto perform(op::dot, buffer<T, Memory> const& x, buffer<U, Memory> const& y) {
  return detail::number_of_entries<op::dot>(x, y);
}

namespace detail {
/// Does a sparse tensor, or a traced one, have blocks?
template <class A>
inline constexpr bool has_blocks = false;
template <SparseOwner A>
inline constexpr bool has_blocks<A> = A::shape_type::is_blocked;
template <class A>
  requires requires { typename A::plain_type; }
inline constexpr bool has_blocks<A> = has_blocks<typename A::plain_type>;
} // namespace detail

/// The sum of the diagonal, one number per batch item; A may have any sides. Law: scalar entries; of blocks trace(unblocked(A)).
/// Gradient: g at the stored diagonal entries. Cost: two passes over the pattern.
template <class A>
  requires Performs<op::band, A const&, index_t, index_t>
[[nodiscard]] auto trace(A const& a) {
  auto const diagonal = detail::band_of(a, 0, 0);
  static_assert(!detail::has_blocks<std::remove_const_t<decltype(diagonal)>>, "sla: trace(A) of a tensor of blocks: that of their scalars is trace(unblocked(A))");
  return sum(diagonal);
}

} // namespace sla

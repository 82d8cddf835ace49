// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two sparse tensors together: the shape, format and scalar type of what they make, and the laws that allow it.
// Sums are in tensor/algebra/add.hpp, products in tensor/algebra/multiply.hpp and tensor/algebra/kron.hpp.
#pragma once

#include <sla/tensor/build/borrow.hpp>
#include <sla/tensor/build/convert.hpp>
#include <sla/tensor/build/entries.hpp>

namespace sla {

namespace detail {
template <class A, class B>
using wider_t = std::conditional_t<(sizeof(A) >= sizeof(B)), A, B>;

template <class FA, class FB>
struct common_format {
  using type = Csr<wider_t<typename FA::col_type, typename FB::col_type>,
                   wider_t<typename FA::ptr_type, typename FB::ptr_type>>;
};
template <class F>
struct common_format<F, F> {
  using type = F;
};

template <class E>
struct batch_axes;
template <index_t... E>
struct batch_axes<Extents<E...>> {
  using type = Batch<E...>;
};
template <class SA, class SB>
using common_batch_t = std::conditional_t<
    !SA::is_batched, typename SB::batch_extents,
    std::conditional_t<!SB::is_batched, typename SA::batch_extents,
                       common_extents_t<typename SA::batch_extents, typename SB::batch_extents>>>;

/// Batch axes go together: they are equal, or only one of the two has any.
template <class SA, class SB>
inline constexpr bool batches_fit = !SA::is_batched || !SB::is_batched ||
                                    extents_may_agree<typename SA::batch_extents, typename SB::batch_extents>;

template <class SA, class SB>
common_batch_t<SA, SB> common_batch(SA const& a, SB const& b, char const* operation) {
  using E = common_batch_t<SA, SB>;
  if constexpr (SA::is_batched && SB::is_batched)
    for (int axis = 0; axis < E::rank; ++axis)
      if (a.batch()[axis] != b.batch()[axis])
        throw shape_error(text(operation, ": the batch axes of A are ", to_string(a.batch()), ", those of B ",
                               to_string(b.batch()), "; they must be equal, or one of the two has none"));
  if constexpr (SA::is_batched)
    return E::from(a.batch());
  else
    return E::from(b.batch());
}

/// From one batch item's values to the next one's; 0 if one item serves all.
template <class A>
index_t item_stride(A const& a) {
  return A::shape_type::is_batched ? a.batch_stride() : 0;
}

/// f(A in Csr with ascending columns, repeated entries summed): A itself, if it is that already.
template <class T, class S, class F, class Use>
auto with_sorted_rows(sparse_tensor<T, S, F> const& A, Use const& use) {
  if constexpr (!is_csr<F>)
    return with_sorted_rows(to<csr_for_t<F>>(A), use);
  else if (has_sorted_columns(A.pattern()))
    return use(A);
  else
    return use(sorted(A));
}
} // namespace detail

/// The format of what two sparse tensors make: theirs, if they have one; else Csr with the wider of their index types.
template <class FA, class FB>
using common_format_t = typename detail::common_format<FA, FB>::type;

/// The law of A + B: one shape; batch axes may be missing on one side.
template <class SA, class SB>
inline constexpr bool sum_law =
    detail::extents_may_agree<Extents<SA::static_rows, SA::static_cols>, Extents<SB::static_rows, SB::static_cols>> &&
    std::same_as<typename SA::block_axes, typename SB::block_axes> && detail::batches_fit<SA, SB>;
/// The law of A * B: the columns and block columns of A are the rows and block rows of B.
template <class SA, class SB>
inline constexpr bool multiply_law = detail::extents_may_agree<Extents<SA::static_cols>, Extents<SB::static_rows>> &&
                                     SA::is_blocked == SB::is_blocked && SA::block_cols == SB::block_rows &&
                                     detail::batches_fit<SA, SB>;

/// (*batch, M, N, *block) of A + B.
template <class SA, class SB>
using sum_shape_t = Shape<typename detail::batch_axes<detail::common_batch_t<SA, SB>>::type,
                          SA::static_rows == dyn ? SB::static_rows : SA::static_rows,
                          SA::static_cols == dyn ? SB::static_cols : SA::static_cols, typename SA::block_axes>;
/// (*batch, M, N, p, r) of A * B, for A (*batch, M, K, p, q) and B (*batch, K, N, q, r).
template <class SA, class SB>
using multiplied_shape_t =
    Shape<typename detail::batch_axes<detail::common_batch_t<SA, SB>>::type, SA::static_rows, SB::static_cols,
          std::conditional_t<SA::is_blocked, Block<SA::block_rows, SB::block_cols>, Block<>>>;

} // namespace sla

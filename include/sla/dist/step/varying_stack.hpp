// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stacks: tensors of which each rank has a whole one, put side by side along a new dimension, and taken apart again.
// A rank's parts of one tensor are in dist/step/dense_shards.hpp, the steps made of both in dist/step/steps.hpp.
#pragma once

#include <vector>

#include <sla/dist/step/dense_shards.hpp>

namespace sla::detail {

/// The local tensor with a new dimension D of this extent, and without dimension D: of one dimension, a number remains.
template <class Local, int D, index_t Size>
struct stack_of {
  using type = rebuilt_t<Local, typename Local::value_type, typename inserted_extent<typename Local::extents_type, D, Size>::type>;
};
template <class T, int D, index_t Size>
requires is_plain_number<T>
struct stack_of<T, D, Size> {
  using type = tensor<T, Extents<Size>>;
};
template <class Local, int D>
struct stack_part {
  using type = rebuilt_t<Local, typename Local::value_type, typename removed_extent<typename Local::extents_type, D>::type>;
};
template <class Local, int D>
requires(Local::rank == 1) struct stack_part<Local, D> {
  using type = typename Local::value_type;
};
template <class Local>
inline constexpr int rank_of_local = 0;
template <class Local>
requires(!is_plain_number<Local>) inline constexpr int rank_of_local<Local> = Local::rank;

/// The elements of a local value in a row.
template <class Local>
auto elements_of(Local const& x) {
  if constexpr (is_plain_number<Local>)
    return std::span<Local const>(&x, 1);
  else
    return std::span<typename Local::value_type const>(x.data(), std::size_t(x.size()));
}
template <class Local>
auto elements_of(Local& x) {
  if constexpr (is_plain_number<Local>)
    return std::span<Local>(&x, 1);
  else
    return std::span<typename Local::value_type>(x.data(), std::size_t(x.size()));
}

/// Around dimension D of the stack of n such values: outer and inner, and the stack's extents.
template <int D, class Local>
struct stack_shape {
  index_t outer = 1, inner = 1;
  explicit stack_shape(Local const& x) {
    if constexpr (!is_plain_number<Local>)
      for (int d = 0; d < Local::rank; ++d) (d < D ? outer : inner) *= x.extent(d);
  }
  template <class E>
  static E extents(Local const& x, int n) {
    return [&]<std::size_t... N>(std::index_sequence<N...>) { return E(extent(x, int(N), n)...); }
    (std::make_index_sequence<std::size_t(E::rank)>{});
  }

private:
  static index_t extent(Local const& x, int d, int n) {
    if constexpr (!is_plain_number<Local>)
      return d == D ? index_t(n) : x.extent(d < D ? d : d - 1);
    else
      return n;
  }
};
/// Errors: shape_error, if dimension D has not one index per rank.
template <int D, class Local>
void require_stack(Local const& x, rank_group const& l) {
  static_assert(rank_of_local<Local> > D,
                "sla: the stack of the ranks' values has a dimension to take apart, the first unless you name another");
  if (x.extent(D) != l.size)
    throw shape_error(
        text("dimension ", D, " has ", x.extent(D), " indices, and is taken apart for ", l.size, " ranks: one each"));
}
template <class To, int D, class Local>
To empty_part(Local const& x) {
  if constexpr (is_plain_number<To>)
    return To{};
  else
    return To([&]<std::size_t... N>(std::index_sequence<N...>) {
      return typename To::extents_type(x.extent(int(N) < D ? int(N) : int(N) + 1)...);
    }(std::make_index_sequence<std::size_t(To::rank)>{}));
}

/// Every rank: the values of all, side by side along a new dimension D. Law: they have the same extents on all ranks.
template <int D, index_t Size, class Local>
auto stack_all(Local const& x, rank_group const& l) {
  using Out = typename stack_of<Local, D, Size>::type;
  using T = typename Out::value_type;
  auto const mine = elements_of(x);
  std::vector<std::size_t> const counts(std::size_t(l.size), mine.size());
  std::vector<T> all(mine.size() * std::size_t(l.size));
  all_gather(*l.c, mine, std::span<T>(all), counts);
  stack_shape<D, Local> const s(x);
  Out out(s.template extents<typename Out::extents_type>(x, l.size), uninitialized);
  for (int r = 0; r < l.size; ++r)
    move_rows<true>(all.data() + std::size_t(r) * mine.size(), out.data(), s.outer, 1, index_t(l.size), s.inner,
                    [r](index_t) { return index_t(r); });
  return out;
}
/// This rank's value in the stack of zeros.
template <int D, index_t Size, class Local>
auto stack_own(Local const& x, rank_group const& l) {
  using Out = typename stack_of<Local, D, Size>::type;
  stack_shape<D, Local> const s(x);
  Out out(s.template extents<typename Out::extents_type>(x, l.size));
  move_rows<true>(elements_of(x).data(), out.data(), s.outer, 1, index_t(l.size), s.inner,
                  [&](index_t) { return index_t(l.rank); });
  return out;
}
/// This rank's value out of the stack.
template <int D, class Local>
auto unstack_own(Local const& x, rank_group const& l) {
  require_stack<D>(x, l);
  auto out = empty_part<typename stack_part<Local, D>::type, D>(x);
  auto const [outer, inner] = around(x.extents(), D);
  move_rows<false>(x.data(), elements_of(out).data(), outer, 1, index_t(l.size), inner,
                   [&](index_t) { return index_t(l.rank); });
  return out;
}
/// This rank's value out of the fold of all stacks.
template <int D, class Local>
auto unstack_fold(Local const& x, rank_group const& l, monoid how) {
  using T = typename Local::value_type;
  require_stack<D>(x, l);
  auto out = empty_part<typename stack_part<Local, D>::type, D>(x);
  auto const [outer, inner] = around(x.extents(), D);
  std::vector<std::size_t> const counts(std::size_t(l.size), std::size_t(outer * inner));
  std::vector<T> sent(std::size_t(x.size()));
  for (int r = 0; r < l.size; ++r)
    move_rows<false>(x.data(), sent.data() + r * outer * inner, outer, 1, index_t(l.size), inner,
                     [r](index_t) { return index_t(r); });
  reduce_scatter(*l.c, std::span<T const>(sent), elements_of(out), counts, how);
  return out;
}
/// y[s] on rank r = x[r] on rank s, along the first dimension.
template <class Local>
auto exchange_stacks(Local const& x, rank_group const& l) {
  require_stack<0>(x, l);
  Local out(x.extents(), uninitialized);
  std::vector<std::size_t> const counts(std::size_t(l.size), std::size_t(x.size() / l.size));
  all_to_all(*l.c, elements_of(x), counts, elements_of(out), counts);
  return out;
}

} // namespace sla::detail

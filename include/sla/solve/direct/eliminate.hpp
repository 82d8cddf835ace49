// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Unknowns whose values are known, as Dirichlet conditions say: `auto [K, f] = eliminate(A, b, boundary, 0.0);`. Entries are taken out of
// equations, none out of the pattern. And vectors in another order of the rows: `permuted(b, p)`.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <numeric>
#include <utility>
#include <vector>

#include <sla/exec/evaluate.hpp>
#include <sla/expr/sparse/product.hpp>
#include <sla/tensor/algebra/diagonal.hpp>
#include <sla/tensor/arrange/slice.hpp>

namespace sla {

namespace detail {
/// Rows to be fixed, each at most once. Errors: index_error.
template <class Fixed>
index_choice<false> fixed_once(Fixed const& fixed, index_t rows) {
  auto const chosen = chosen_list(fixed, rows, "eliminate");
  std::vector<std::pair<dependent_t<index_t, Fixed>, index_t>> places;
  for (index_t k = 0; k < chosen.count; ++k) places.push_back({chosen[k], k});
  std::sort(places.begin(), places.end());
  for (std::size_t k = 1; k < places.size(); ++k)
    if (places[k].first == places[k - 1].first)
      throw index_error(text("eliminate(A, b, fixed, values): row ", places[k].first, " is fixed twice, at places ", places[k - 1].second, " and ",
                             places[k].second));
  return chosen;
}
/// The columns k of the identity that chosen rows ask for: it puts values into their places.
template <class T>
sparse_tensor<T> placing(index_choice<false> const& chosen, index_t rows) {
  std::vector<index_t> number(std::size_t(chosen.count));
  std::iota(number.begin(), number.end(), index_t(0));
  return from_triplets<T>(rows, chosen.count, chosen.list, number, std::vector<T>(number.size(), T(1)));
}
/// Numbers in a std::vector or a span as a vector, integers as R; other values as they are.
template <class R, class V>
decltype(auto) as_operand(V const& values) {
  if constexpr (requires { requires ArrayOfNumbers<V, std::remove_cvref_t<decltype(*std::data(values))>>; }) {
    using T = std::remove_cvref_t<decltype(*std::data(values))>;
    return vector<std::conditional_t<std::integral<T>, R, T>>(values);
  } else {
    return (values);
  }
}
/// Errors: shape_error, if a vector has not `count` elements.
template <class V>
void require_one_each(V const& v, index_t count, char const* name, char const* what) {
  if constexpr (requires { v.extents().total(); })
    if (v.extents().total() != count)
      throw shape_error(text("eliminate(A, b, fixed, values): ", name, " has ", v.extents().total(), " elements for ", count, ' ', what));
}
/// The entries (i, i) of the identity where the mask is not 0.
template <Format F = Csr<>, class T>
auto identity_at(vector<T> const& mask, index_t cols) {
  std::vector<index_t> place;
  for (index_t i = 0; i < mask.size(); ++i)
    if (mask[i] != T(0)) place.push_back(i);
  return from_triplets<T, F>(mask.size(), cols, place, place, std::vector<T>(place.size(), T(1)));
}

/// The real numbers of a sparse tensor, and its shape, traced or not.
template <class A>
struct real_of_scalars {
  using type = real_t<typename A::value_type>;
};
template <class A>
  requires requires { typename A::plain_type; }
struct real_of_scalars<A> : real_of_scalars<typename A::plain_type> {};
template <class A>
struct system_shape {
  using type = std::remove_cvref_t<decltype(std::declval<A const&>().shape())>;
};
template <class A>
  requires requires { typename A::plain_type; }
struct system_shape<A> : system_shape<typename A::plain_type> {};
/// Can rows of an A be fixed where it lies? A tensor of one rank has them all.
template <class A>
inline constexpr bool has_own_rows = true;
template <class A>
  requires requires { typename A::plain_type; }
inline constexpr bool has_own_rows<A> = has_own_rows<typename A::plain_type>;

/// A vector that is 1 where the unknown is fixed and 0 elsewhere, and one of their values, 0 elsewhere.
template <class Mask, class Known>
struct fixed_values {
  Mask is_fixed;
  Known known;
};

/// What is fixed, on one rank; of many ranks it is in dist/matrix/eliminate_on_ranks.hpp.
template <class A, class B, class Fixed, class V>
auto fixed_unknowns(A const& a, B const& b, Fixed const& fixed, V const& given) {
  if (a.rows() != a.cols()) throw shape_error(text("eliminate(A, b, fixed, values): A is ", a.rows(), " x ", a.cols(), ", and must be square"));
  using R = typename real_of_scalars<A>::type;
  auto const& values = as_operand<R>(given);
  auto const place = placing<R>(fixed_once(fixed, a.rows()), a.rows());
  require_one_each(b, a.rows(), "b", "rows of A; give one for each");
  require_one_each(values, place.cols(), "values", "fixed rows; give one for each, or one number for all");
  vector<R> is_fixed = place * ones<R>(place.cols());
  auto known = [&] {
    if constexpr (requires { values.extents(); })
      return eval(place * values);
    else
      return eval(is_fixed * values);
  }();
  return fixed_values<vector<R>, decltype(known)>{std::move(is_fixed), std::move(known)};
}
} // namespace detail

/// The pair {K, f} of a system whose solution has x[fixed[k]] = values[k], and fulfils the other equations of A x = b: in the fixed rows
/// and columns K has the identity, and f has the values there, whatever b is, and b - A x_fixed elsewhere. A symmetric (hermitian, definite) A gives
/// such a K, on the pattern of A where that stores the fixed diagonal entries: what is eliminated is a stored zero. `fixed` is
/// a range of integers, {0, 4} too. `values` is one number for all fixed rows, or a vector, std::vector or span with one for each, in the order of `fixed`.
/// On ranks, `eliminate(D, db, fixed, values)`: what the lists of all ranks name, in global numbers, is fixed: each rank names the rows that
/// it owns, or all of them, or any. `values` is a distributed vector as db, read in the fixed rows, or one number for all. Collective.
/// Law: A is square, of finite scalar entries, without batch axes; a float A and float b and values give float K and f. Gradient: to A, b and the values. Cost: three passes over A.
/// Errors: index_error, if a row is out of range or twice in a list, with the rank that gave it, and a value_error of the same words on the other ranks; shape_error.
template <class A, class B, class Fixed = std::initializer_list<index_t>, class V>
auto eliminate(A const& a, B const& b, Fixed const& fixed, V const& values) {
  using S = typename detail::system_shape<A>::type;
  using R = typename detail::real_of_scalars<A>::type;
  constexpr bool plain = !S::is_batched && !S::is_blocked, by_rows = detail::has_own_rows<A>;
  constexpr bool listed = detail::ListOfIndices<Fixed>;
  static_assert(listed, "sla: eliminate(A, b, fixed, values): fixed is a range of row numbers, as std::vector<int> or {0, 4}, before the values; of a mask, list where it is true");
  static_assert(plain, "sla: eliminate(A, b, fixed, values): A has scalar entries and no batch axes: take unblocked(A), or batch_item(A, k), first");
  static_assert(by_rows, "sla: eliminate(D, b, fixed, values): each rank has rows of D, over one axis: distribute<SparseShard<0>>(A, mesh, partitioner)");
  if constexpr (listed && plain && by_rows) {
    auto const [is_fixed, known] = [&] {
      if constexpr (requires { perform(op::fixed_unknowns{}, a, b, fixed, values); })
        return perform(op::fixed_unknowns{}, a, b, fixed, values);
      else
        return detail::fixed_unknowns(a, b, fixed, values);
    }();
    auto const is_free = eval(R(1) - is_fixed);
    auto matrix = [](auto const& kept, auto const& mask) {
      if constexpr (requires { perform(op::with_identity{}, kept, mask); })
        return perform(op::with_identity{}, kept, mask);
      else
        return kept + detail::identity_at(mask, mask.size());
    }(scale_cols(scale_rows(a, is_free), is_free), is_fixed);
    return std::pair(std::move(matrix), eval(where(is_fixed, known, b - a * known)));
  } else {
    return std::pair(a, b);
  }
}

/// The rows of a vector in the order of those of permuted(A, p): element k is b[p[k]]. b is (M), or (M, n): right-hand sides, or the
/// numbers of a block; an expression, or traced.
///     auto p = rcm(A);   auto x = permuted(solve(permuted(A, p), permuted(b, p)), inverse_permutation(p));   // A x = b
/// Gradient: g in the order back. Cost: that of a product with a matrix of M entries. Errors: index_error, as of permuted(A, p).
template <class B, class P = std::initializer_list<index_t>>
  requires(requires(B const& b) { b.extents()[0]; })
auto permuted(B const& b, P const& p) {
  using R = typename detail::real_of_scalars<B>::type;
  constexpr bool is_column = std::remove_cvref_t<decltype(b.extents())>::rank <= 2;
  static_assert(is_column, "sla: permuted(b, p): b is a vector (M), or (M, n) with right-hand sides or the numbers of blocks; of a batch, permute each item");
  if constexpr (is_column) {
    index_t const rows = b.extents()[0];
    return eval(detail::crossings(eye<R>(rows), detail::chosen_permutation(p, rows, "permuted"), detail::all_of(rows)) * b);
  } else {
    return b;
  }
}

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Unknowns whose values are known, as Dirichlet conditions say: `auto [K, f] = eliminate(A, b, boundary, 0.0);`. Entries are taken out of
// equations, none out of the pattern.
#pragma once

#include <numeric>
#include <utility>
#include <vector>

#include <sla/exec/evaluate.hpp>
#include <sla/tensor/slice.hpp>

namespace sla {

namespace detail {
/// The columns k of the identity that these rows, each at most once, ask for: it puts values into their places.
template <class T, class Fixed>
sparse_tensor<T> placing(Fixed const& fixed, index_t rows) {
  auto const chosen = chosen_list(fixed, rows, "eliminate");
  std::vector<index_t> place(std::size_t(rows), -1), number(std::size_t(chosen.count));
  for (index_t k = 0; k < chosen.count; ++k) {
    index_t& before = place[std::size_t(chosen[k])];
    if (before >= 0) throw index_error(text("eliminate(A, b, fixed, values): row ", chosen[k], " is fixed twice, at places ", before, " and ", k));
    before = k;
  }
  std::iota(number.begin(), number.end(), index_t(0));
  return from_triplets<T>(rows, chosen.count, chosen.list, number, std::vector<T>(number.size(), T(1)));
}
/// Errors: shape_error, if a vector has not `count` elements.
template <class V>
void require_one_each(V const& v, index_t count, char const* name, char const* what) {
  if constexpr (requires { v.extents().total(); })
    if (v.extents().total() != count)
      throw shape_error(text("eliminate(A, b, fixed, values): ", name, " has ", v.extents().total(), " elements for ", count, ' ', what));
}
/// The real numbers of a sparse tensor, traced or not.
template <class A>
struct real_of_scalars {
  using type = real_t<typename A::value_type>;
};
template <class A>
  requires requires { typename A::plain_type; }
struct real_of_scalars<A> : real_of_scalars<typename A::plain_type> {};
} // namespace detail

/// The pair {K, f} of a system whose solution has x[fixed[k]] = values[k], and fulfils the other equations of A x = b: in the fixed rows
/// and columns K has the identity, and f has the values there, whatever b is, and b - A x_fixed elsewhere. A symmetric (hermitian, definite) A gives
/// such a K, on the pattern of A where that stores the fixed diagonal entries: what is eliminated is a stored zero. `values` is a
/// vector with a number for each fixed row, or one number for all.
/// Law: A is square, of finite scalar entries, without batch axes; a float A and float b and values give float K and f. Gradient: to A, b and the values. Cost: three passes over A.
/// Errors: index_error, if a row is out of range or fixed twice; shape_error.
template <class A, class B, class Fixed, class V>
auto eliminate(A const& a, B const& b, Fixed const& fixed, V const& values) {
  using S = std::remove_cvref_t<decltype(a.shape())>;
  constexpr bool plain = !S::is_batched && !S::is_blocked;
  static_assert(plain, "sla: eliminate(A, b, fixed, values): A has scalar entries and no batch axes: take unblocked(A), or batch_item(A, k), first");
  if (a.rows() != a.cols()) throw shape_error(text("eliminate(A, b, fixed, values): A is ", a.rows(), " x ", a.cols(), ", and must be square"));
  if constexpr (plain) {
    using R = typename detail::real_of_scalars<A>::type;
    auto const place = detail::placing<R>(fixed, a.rows());
    detail::require_one_each(b, a.rows(), "b", "rows of A; give one for each");
    detail::require_one_each(values, place.cols(), "values", "fixed rows; give one for each, or one number for all");
    vector<R> const is_fixed = place * ones<R>(place.cols());
    vector<R> const is_free = R(1) - is_fixed;
    auto const known = [&] {
      if constexpr (requires { values.extents(); })
        return eval(place * values);
      else
        return eval(is_fixed * values);
    }();
    auto matrix = scale_cols(scale_rows(a, is_free), is_free) + place * transpose(place);
    return std::pair(std::move(matrix), eval(where(is_fixed, known, b - a * known)));
  } else {
    return std::pair(a, b);
  }
}

} // namespace sla

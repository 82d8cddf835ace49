// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Distributed vectors that no rank has whole: `generate(layout, f)` of a function of the global index, and `assemble(layout, i, v)` of
// contributions that any rank has for any row. What every rank has is sharded by `distribute`.
#pragma once

#include <type_traits>
#include <utility>
#include <vector>

#include <sla/dist/assembly/assemble.hpp>

namespace sla {

namespace detail {
template <class P>
inline constexpr bool shards_rows = false;
template <DenseShard P>
inline constexpr bool shards_rows<P> = P::dim == 0;
/// The one axis that shards rows in a layout of vectors, and its placement there.
template <class... P>
struct rows_of_layout {
  static constexpr int axis = [] {
    int a = 0, found = 0;
    ((shards_rows<P> ? void(found = a++) : void(a++)), ...);
    return found;
  }();
  static constexpr bool hold = (int(shards_rows<P>) + ... + 0) == 1 && ((shards_rows<P> || is_copied(P::kind)) && ...);
  using family = typename placement_number<axis, placements<P...>>::type::family;
};
template <class... P>
constexpr bool require_rows_of_layout() {
  static_assert(rows_of_layout<P...>::hold,
                "sla: generate(layout, f), assemble(layout, i, v): the layout is one of vectors whose rows one axis shards: D.row_layout(), D.col_layout() "
                "of a matrix by rows, or x.layout() of such a vector");
  return rows_of_layout<P...>::hold;
}

/// f(local row, global row) for the rows that this rank has by a layout.
template <class Mesh, class... P, class F>
void for_own_rows(vector_layout<Mesh, P...> const& like, F const& f) {
  using rows = rows_of_layout<P...>;
  using Family = typename rows::family;
  shared_layout<Mesh> const& layout = *like.handle();
  index_t const count = part_extent<Family>(layout, rows::axis, layout.mesh.coordinate(rows::axis));
  for (index_t n = 0; n < count; ++n) f(n, part_global<Family>(layout, rows::axis, n));
}
template <class Mesh, class... P>
index_t own_rows(vector_layout<Mesh, P...> const& like) {
  using rows = rows_of_layout<P...>;
  return part_extent<typename rows::family>(*like.handle(), rows::axis, like.mesh().coordinate(rows::axis));
}
/// Where a global row that this rank owns lies in its part.
template <class Family>
index_t local_row(rank_group const& group, index_t global) {
  index_t n = 0;
  if constexpr (!Family::stated)
    n = group.rows->local(global);
  else
    for (index_t end = part_extent<Family>(group, group.rank); n < end;) {  // the rows of a rank ascend in every family
      index_t const mid = n + (end - n) / 2;
      part_global<Family>(group, mid) < global ? void(n = mid + 1) : void(end = mid);
    }
  return n;
}
} // namespace detail

/// x with x[i] = f(i): each rank calls f for the global indices that it owns, in ascending order. `generate(D.row_layout(), [](index_t i) {
/// return 1.0 / double(i + 1); })`. No communication. Placement: that of the layout. Gradient: none.
template <class Mesh, class... P, class F>
  requires std::is_invocable_v<F const&, index_t>
auto generate(vector_layout<Mesh, P...> const& like, F const& f) {
  using T = std::remove_cvref_t<std::invoke_result_t<F const&, index_t>>;
  static_assert(Scalar<T>, "sla: generate(layout, f): f(i) is a float, a double or a complex number: 1.0 / double(i + 1)");
  if constexpr (detail::require_rows_of_layout<P...>() && Scalar<T>) {
    vector<T> local(Extents<dyn>(detail::own_rows(like)), uninitialized);
    detail::for_own_rows(like, [&](index_t n, index_t i) { local[n] = f(i); });
    return distributed<vector<T>, Mesh, P...>(std::move(local), like.handle());
  }
}
/// The same of several right-hand sides, or of the rows of a block matrix: x(i, k) = f(i, k) for k < columns.
template <class Mesh, class... P, class F>
  requires std::is_invocable_v<F const&, index_t, index_t>
auto generate(vector_layout<Mesh, P...> const& like, index_t columns, F const& f) {
  using T = std::remove_cvref_t<std::invoke_result_t<F const&, index_t, index_t>>;
  static_assert(Scalar<T>, "sla: generate(layout, columns, f): f(i, k) is a float, a double or a complex number");
  if constexpr (detail::require_rows_of_layout<P...>() && Scalar<T>) {
    matrix<T> local({detail::own_rows(like), columns}, uninitialized);
    detail::for_own_rows(like, [&](index_t n, index_t i) {
      for (index_t k = 0; k < columns; ++k) local(n, k) = f(i, k);
    });
    return distributed<matrix<T>, Mesh, P...>(std::move(local), like.handle());
  }
}

namespace detail {
/// y[i[n]] += v[n], of `columns` numbers each, on the owners. Collective.
template <class Mesh, class... P, class Rows, class T, class Local>
auto assembled_vector(vector_layout<Mesh, P...> const& like, Rows const& i, T const* v, index_t count, index_t columns, Local local) {
  using Family = typename rows_of_layout<P...>::family;
  constexpr int axis = rows_of_layout<P...>::axis;
  shared_layout<Mesh> const& layout = *like.handle();
  any_communicator& c = layout.mesh.communicator(axis);
  index_t const extent = layout.extent[axis];
  rank_group const group = group_of(layout, axis);
  auto const* const row = std::data(i);
  together(c, [&] {
    index_t const given = index_t(std::size(i));
    if (given != count)
      throw shape_error(text("assemble(layout, i, v) on rank ", c.rank(), ": ", given, " indices and ", count, columns == 1 ? " values" : " rows of values", "; give one for each index"));
    for (index_t n = 0; n < count; ++n)
      if (index_t(row[n]) < 0 || index_t(row[n]) >= extent)
        throw index_error(text("assemble(layout, i, v) on rank ", c.rank(), ": contribution ", n, " is to row ", row[n], " of ", extent,
                               "; rows are counted from 0", index_t(row[n]) == extent ? ", so that the last one is the number of rows less 1" : ""));
    return 0;
  });
  terms_by_owner const terms(c, part_owners<Family>(group, count, [&](index_t n) { return index_t(row[n]); }));
  auto const places = terms.template send<index_t>(c, 1, [&](index_t n, index_t* to) { *to = index_t(row[n]); });
  auto const values = terms.template send<T>(c, columns, [&](index_t n, T* to) { std::copy_n(v + n * columns, columns, to); });
  T const* from = values.values.data();
  for (index_t const global : places.values) {
    index_t const n = local_row<Family>(group, global);
    for (index_t k = 0; k < columns; ++k) local.data()[n * columns + k] += *from++;
  }
  return distributed<Local, Mesh, P...>(std::move(local), like.handle());
}
} // namespace detail

/// y with v[n] added at the global row i[n], for the contributions of all ranks together: each rank gives any of them, in any order, to its own
/// rows and to those of others, as finite elements that ranks share; rows that nobody names are 0. `assemble(D.row_layout(), i, v)`; v is a
/// range of numbers, or a matrix with a row of right-hand sides for each index: `assemble(layout, i, V)`, V of (size of i, columns). Collective.
/// What meets in one row is summed, that of rank 0 first, each rank's in the order given: the bits do not depend on the engine.
/// Cost: each contribution travels once; a rank holds those that it gives, sends and owns. Placement: that of the layout.
/// Errors, on every rank: index_error with rank, place and row; shape_error where the lengths differ.
template <class Mesh, class... P, class Rows, class Values>
auto assemble(vector_layout<Mesh, P...> const& like, Rows const& i, Values const& v) {
  using T = detail::element_t<Values const>;
  static_assert(std::integral<detail::element_t<Rows const>>, "sla: assemble(layout, i, v): the indices i are a range of integers");
  static_assert(Scalar<T>, "sla: assemble(layout, i, v): the values are a range, or a matrix, of float, double or complex numbers");
  if constexpr (detail::require_rows_of_layout<P...>() && Scalar<T>) {
    index_t const own = detail::own_rows(like);
    if constexpr (requires { v.extent(1); })
      return detail::assembled_vector(like, i, v.data(), v.extent(0), v.extent(1), matrix<T>({own, v.extent(1)}));
    else
      return detail::assembled_vector(like, i, std::data(v), index_t(std::size(v)), 1, vector<T>(Extents<dyn>(own)));
  }
}

} // namespace sla

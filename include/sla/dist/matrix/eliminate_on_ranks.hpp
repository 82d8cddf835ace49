// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Unknowns of distributed systems whose values are known, `eliminate(D, db, fixed, values)`: which rows are whose. What is done with
// them is one text for one rank and for many, in solve/direct/eliminate.hpp.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include <sla/dist/matrix/matrix_functions.hpp>
#include <sla/dist/value/compare.hpp>
#include <sla/solve/direct/eliminate.hpp>

namespace sla {

namespace detail {
template <class Local, class Mesh, class... P>
struct system_shape<distributed<Local, Mesh, P...>> : system_shape<Local> {};
template <class Local, class Mesh, class... P>
inline constexpr bool has_own_rows<distributed<Local, Mesh, P...>> = sparse_dim<placements<P...>> == 0 && !by_entries<placements<P...>>;

/// 1 in this rank's rows that the list of some rank of the mesh names, 0 in its others, as the rows of D lie. Collective.
template <class T, class D, class Fixed>
auto fixed_mask(D const& d, Fixed const& fixed) {
  any_communicator& c = sharing(d);
  row_partition const& rows = *d.handle()->rows;
  any_communicator& world = d.mesh().world();
  auto const mine = together(world, [&] {
    require_square("eliminate(D, b, fixed, values)", "D", d);
    try {
      return fixed_once(fixed, rows.extent()).list;
    } catch (index_error const& e) {
      throw index_error(text("rank ", world.rank(), ": ", e.what()));
    }
  });
  auto const nth = [&](index_t k) { return index_t(mine[std::size_t(k)]); };
  terms_by_owner const fixed_rows(c, rows.owners_of(c, index_t(mine.size()), nth));
  vector<T> mask = zeros<T>(rows.count());
  for (index_t i : fixed_rows.template send<index_t>(c, 1, [&](index_t k, index_t* to) { *to = nth(k); }).values) mask[rows.local(i)] = T(1);
  for (int a = 0; a < mesh_of_t<D>::rank; ++a)  // ranks that have the same rows
    if (a != sparse_axis<placements_of_t<D>>) all_reduce(d.mesh().communicator(a), std::span(mask.data(), std::size_t(mask.size())), monoid::maximum);
  return [&]<class... P>(vector_layout<mesh_of_t<D>, P...> const& layout) {
    return distributed<vector<T>, mesh_of_t<D>, P...>(std::move(mask), layout.handle());
  }(d.row_layout());
}

/// One number for all fixed rows, or a distributed vector, traced or not.
template <class V>
inline constexpr bool values_of_ranks = Number<V> || DistributedExpr<V> || operand_traits<V>::kind == operand_kind::uniform;
template <class V>
  requires requires { typename V::plain_type; }
inline constexpr bool values_of_ranks<V> = values_of_ranks<typename V::plain_type>;
} // namespace detail

template <DistributedSparse D, class B, class Fixed, class V>
auto perform(op::fixed_unknowns, D const& d, B const&, Fixed const& fixed, V const& values) {
  static_assert(detail::values_of_ranks<V>,
                "sla: eliminate(D, b, fixed, values): values is one number, or a distributed vector as b, of which the fixed rows are read: "
                "distribute(v, D.row_layout())");
  auto is_fixed = detail::fixed_mask<real_t<typename D::value_type>>(d, fixed);
  auto known = [&] {
    if constexpr (Number<V>)
      return eval(uniform(values) * is_fixed);
    else if constexpr (operand_traits<V>::kind == operand_kind::uniform)
      return eval(values * is_fixed);
    else if constexpr (detail::values_of_ranks<V>)
      return eval(where(is_fixed, values, 0.0));
    else
      return is_fixed;  // well-formed, so that the sentence is the only error
  }();
  return detail::fixed_values<decltype(is_fixed), decltype(known)>{std::move(is_fixed), std::move(known)};
}
/// The diagonal entries of own rows are in the same places of rows and columns: nothing is sent, and the halo stays as it is.
template <DistributedSparse D, DistributedTensor Mask>
auto perform(op::with_identity, D const& d, Mask const& mask) {
  auto local = d.local() + detail::identity_at<typename local_of_t<D>::format_type>(mask.local(), d.local().cols());
  return typename detail::distributed_with<decltype(local), mesh_of_t<D>, placements_of_t<D>>::type(std::move(local), d.handle());
}

} // namespace sla

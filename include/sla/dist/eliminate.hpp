// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Unknowns of distributed systems whose values are known, `eliminate(D, db, fixed, values)`: which rows are whose. What is done with
// them is one text for one rank and for many, in solve/eliminate.hpp.
#pragma once

#include <utility>
#include <vector>

#include <sla/dist/choose.hpp>
#include <sla/dist/matrix.hpp>
#include <sla/solve/eliminate.hpp>

namespace sla {

namespace detail {
template <class Local, class Mesh, class... P>
struct system_shape<distributed<Local, Mesh, P...>> : system_shape<Local> {};
template <class Local, class Mesh, class... P>
inline constexpr bool has_own_rows<distributed<Local, Mesh, P...>> = sparse_dim<placements<P...>> == 0 && !by_entries<placements<P...>>;

/// 1 in this rank's rows that some rank's list names, 0 in its others, as the rows of D lie. Collective.
template <class T, class D, class Fixed>
auto fixed_mask(D const& d, Fixed const& fixed) {
  any_communicator& c = sharing(d);
  row_partition const& rows = *d.handle()->rows;
  auto const mine = together(c, [&] {
    if (rows.extent() != domain_layout(d.handle())->rows->extent())
      throw shape_error(text("eliminate(D, b, fixed, values): D is ", rows.extent(), " x ", domain_layout(d.handle())->rows->extent(), ", and must be square"));
    try {
      return fixed_once(fixed, rows.extent()).list;
    } catch (index_error const& e) {
      throw index_error(text("rank ", c.rank(), ": ", e.what()));
    }
  });
  std::vector<std::size_t> counts(std::size_t(c.size()), 0);
  std::vector<std::vector<index_t>> to(counts.size());
  for (index_t i : mine) to[std::size_t(rows.owner(i))].push_back(i);
  std::vector<index_t> sent;
  for (std::size_t r = 0; r < to.size(); ++r) {
    counts[r] = to[r].size();
    sent.insert(sent.end(), to[r].begin(), to[r].end());
  }
  vector<T> mask = zeros<T>(rows.count());
  for (index_t i : all_to_all(c, sent, counts).values) mask[rows.local(i)] = T(1);
  return [&]<class... P>(vector_layout<mesh_of_t<D>, P...> const& layout) {
    return distributed<vector<T>, mesh_of_t<D>, P...>(std::move(mask), layout.handle());
  }(d.row_layout());
}
} // namespace detail

template <DistributedSparse D, class Fixed, class V>
auto perform(op::fixed_unknowns, D const& d, Fixed const& fixed, V const& values) {
  auto is_fixed = detail::fixed_mask<real_t<typename D::value_type>>(d, fixed);
  auto known = [&] {
    if constexpr (Number<V>)
      return eval(uniform(values) * is_fixed);
    else
      return eval(where(is_fixed, values, 0.0));
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

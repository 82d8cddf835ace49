// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The layouts of halos: `halo_exchange<"rows", "A">(x, D)` gives each rank copies of what its rows of D read. The calls are in
// spmd/step/named_steps.hpp. Products of distributed matrices do this themselves (dist/matrix/matrix_product.hpp).
#pragma once

#include <sla/dist/step/collectives.hpp>

namespace sla {

namespace detail {
/// x lies as the columns of D, whose halo is asked for.
template <class X, class D>
auto halo_layout(X const& x, D const& d, int axis) {
  static_assert(PlacedSparse<D>,
                "sla: halo_exchange<axis, pattern>(x, D): D is a distributed sparse tensor whose rows are sharded");
  if constexpr (!PlacedSparse<D>) {
    return x; // well-formed, so that the sentence is the only error
  } else {
    if (!d.handle()->halo)
      throw value_error("halo_exchange(x, D): D is not sharded by rows; distribute it as SparseShard<0>");
    auto const& columns = domain_layout(d.handle())->rows;
    auto const& rows = x->rows;
    if (rows && !same_rows(rows.get(), columns.get()))
      throw shape_error(
          "halo_exchange(x, D): x was sharded by another partition than D's columns; distribute it by D.col_layout()");
    return with_halo_of(x, axis, *d.handle());
  }
}
template <class X>
auto const& handle_of(X const& x) {
  return layout_of(value_under(x));
}
/// The layout of x beside the halo of a matrix: of an exchange x has to lie as the columns of D.
template <class S, class X, class D>
auto layout_beside(X const& x, D const& d) {
  constexpr int axis = mesh_of_t<stepping_t<X>>::template index<S::axis>();
  if constexpr (S::how == step::halo_exchange)
    return halo_layout(handle_of(x), value_under(d), axis);
  else
    return with_halo_of(handle_of(x), axis, *value_under(d).handle());
}
} // namespace detail

template <StepOn S, Stepping X, class D>
auto perform(S to_take, X const& x, halo_of<D> const& of) {
  return perform(to_take, x, detail::layout_beside<S>(x, of.matrix));
}
template <StepOn S, Stepping X, class D>
auto perform(begin_step<S> to_begin, X const& x, halo_of<D> const& of) {
  return perform(to_begin, x, detail::layout_beside<S>(x, of.matrix));
}

} // namespace sla

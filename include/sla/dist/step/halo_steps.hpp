// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Halos by name: `halo_exchange<"rows", "A">(x, D)` gives each rank copies of what its rows of D read, `halo_reduce`,
// `owned`, `restrict_to` and `embed` lead on and back. Products of distributed matrices do this themselves
// (dist/matrix/matrix_product.hpp).
#pragma once

#include <sla/dist/step/collectives.hpp>

namespace sla {

namespace detail {
/// x lies as the columns of D, whose halo is asked for.
template <class X, class D>
auto halo_layout(X const& x, D const& d, int axis) {
  static_assert(DistributedSparse<D>,
                "sla: halo_exchange<axis, pattern>(x, D): D is a distributed sparse tensor whose rows are sharded");
  if constexpr (!DistributedSparse<D>) {
    return x; // well-formed, so that the sentence is the only error
  } else {
    if (!d.handle()->halo)
      throw value_error("halo_exchange(x, D): D is not sharded by rows; distribute it as SparseShard<0>");
    auto const& columns = domain_layout(d.handle())->rows;
    auto const& rows = x->rows;
    if (rows && rows != columns && rows->fingerprint() != columns->fingerprint())
      throw shape_error(
          "halo_exchange(x, D): x was sharded by another partition than D's columns; distribute it by D.col_layout()");
    return with_halo_of(x, axis, *d.handle());
  }
}
template <class X>
auto const& handle_of(X const& x) {
  return layout_of(value_under(x));
}
template <class X, fixed_string Axis>
using on_axis_of = placement_along_t<stepping_t<X>, Axis>;
template <class X, fixed_string Axis>
inline constexpr int axis_of = mesh_of_t<stepping_t<X>>::template index<Axis>();
} // namespace detail

/// This rank's part, and copies of what its rows of D read of others: own entries first, then ghosts. Pattern names the
/// halo, so that values with one meet only those with the same. Placement: Shard<d, Part<>> to Ghost<d, Part<>,
/// Pattern>. Gradient: halo_reduce. Cost: one message to and from each neighbour. Errors: shape_error, if x lies
/// otherwise than D's columns.
template <fixed_string Axis, fixed_string Pattern = "", Stepping X, class D>
auto halo_exchange(X const& x, D const& d) {
  using To = detail::ghost_of<detail::on_axis_of<X, Axis>, Pattern>;
  return perform(step_on<step::halo_exchange, Axis, To>{}, x,
                 detail::halo_layout(detail::handle_of(x), detail::value_under(d), detail::axis_of<X, Axis>));
}
/// The owners' entries, with what other ranks hold for them added. Placement: GhostP to Shard. Gradient: halo_exchange.
/// Cost: one message to and from each neighbour.
template <fixed_string Axis, Stepping X>
auto halo_reduce(X const& x) {
  return perform(step_on<step::halo_reduce, Axis, detail::shard_of<detail::on_axis_of<X, Axis>>>{}, x);
}
/// Own entries without the halo. Placement: Ghost to Shard. Gradient: GhostP with zeros for the ghosts. Cost: a copy.
template <fixed_string Axis, Stepping X>
auto owned(X const& x) {
  return perform(step_on<step::convert, Axis, detail::shard_of<detail::on_axis_of<X, Axis>>>{}, x);
}
/// What this rank's rows of D read, out of the whole. Placement: Replicate to Ghost<d, Part<>, Pattern>, where
/// dimension d of x is that of D's columns. Gradient: embed. Cost: a copy.
template <fixed_string Axis, fixed_string Pattern = "", int Dim = 0, Stepping X, class D>
auto restrict_to(X const& x, D const& d) {
  using Rows = placement_along_t<std::remove_cvref_t<decltype(detail::value_under(d))>, Axis>;
  using To = Ghost<Dim, typename Rows::family, Pattern>;
  auto const& matrix = detail::value_under(d);
  return perform(step_on<step::convert, Axis, To>{}, x,
                 detail::with_halo_of(detail::handle_of(x), detail::axis_of<X, Axis>, *matrix.handle()));
}
/// Contributions in the whole, zeros elsewhere. Placement: GhostP to Partial. Gradient: restrict_to. Cost: a copy.
template <fixed_string Axis, Stepping X>
auto embed(X const& x) {
  return perform(step_on<step::convert, Axis, Partial<>>{}, x);
}

} // namespace sla

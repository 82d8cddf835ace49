// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A rank's rows with copies of the halo that it reads (Ghost), and its dual, contributions to both (GhostP): rows
// first, then ghosts as the halo plan numbers them. The plan and its exchange are in dist/halo/halo.hpp.
#pragma once

#include <algorithm>
#include <memory>

#include <sla/dist/halo/halo.hpp>
#include <sla/dist/step/dense_shards.hpp>

namespace sla::detail {

/// The plan of a layout that ghosts are numbered by. Errors: value_error, if there is none.
template <class Mesh>
halo_plan const& plan_of(shared_layout<Mesh> const& layout) {
  if (!layout.halo || !layout.rows)
    throw value_error(
        "a halo belongs to a sparse tensor that is sharded by rows: name it, halo_exchange<axis, pattern>(x, D)");
  return *layout.halo;
}

/// Rows d of x: the first `count` of `whole`, as a tensor of that extent, or such a tensor among zeros.
template <int D, class Local>
auto first_rows(Local const& x, index_t count) {
  using To = resized_t<Local, D>;
  auto const [outer, inner] = around(x.extents(), D);
  To out(with_extent<typename To::extents_type>(x.extents(), D, count), uninitialized);
  move_rows<false>(x.data(), out.data(), outer, count, x.extent(D), inner, [](index_t n) { return n; });
  return out;
}
template <int D, class Local>
auto among_zeros(Local const& x, index_t count) {
  using To = resized_t<Local, D>;
  auto const [outer, inner] = around(x.extents(), D);
  To out(with_extent<typename To::extents_type>(x.extents(), D, count));
  move_rows<true>(x.data(), out.data(), outer, x.extent(D), count, inner, [](index_t n) { return n; });
  return out;
}

/// The ghosts behind the own rows of out, from where they arrived.
template <int D, class Local>
void place_ghosts(Local& out, halo_plan const& plan, typename Local::value_type const* ghosts) {
  auto const [outer, inner] = around(out.extents(), D);
  for (index_t b = 0; b < outer; ++b)
    for (index_t g = 0; g < plan.ghosts(); ++g)
      std::copy_n(ghosts + (g * outer + b) * inner, inner, out.data() + (b * out.extent(D) + plan.own() + g) * inner);
}
/// Own rows, and the ghosts of others. Collective: neighbours exchange messages.
template <int D, class Local>
auto with_halo(Local const& x, halo_plan const& plan) {
  using T = typename Local::value_type;
  auto const [outer, inner] = around(x.extents(), D);
  halo_exchange<T> exchange(plan, x.data(), {outer, inner});
  auto out = among_zeros<D>(x, plan.own() + plan.ghosts());
  exchange.wait();
  place_ghosts<D>(out, plan, exchange.ghosts());
  return out;
}
/// The contributions to ghosts behind the own rows of x, as messages hold them.
template <int D, class Local>
auto packed_ghosts(Local const& x, halo_plan const& plan) {
  auto const [outer, inner] = around(x.extents(), D);
  return packed_ghosts(plan, x.data(), {outer, inner});
}
/// Own rows, with what others contributed to them. Collective.
template <int D, class Local>
auto with_contributions(Local const& x, halo_plan const& plan) {
  using To = resized_t<Local, D>;
  auto const [outer, inner] = around(x.extents(), D);
  To out(with_extent<typename To::extents_type>(x.extents(), D, plan.own()), uninitialized);
  fold_halo(plan, x.data(), out.data(), {outer, inner});
  return out;
}
/// The rows and ghosts of this rank out of the whole.
template <int D, class Local>
auto picked_rows(Local const& x, halo_plan const& plan, row_partition const& rows) {
  using To = resized_t<Local, D>;
  auto const [outer, inner] = around(x.extents(), D);
  index_t const all = plan.own() + plan.ghosts();
  To out(with_extent<typename To::extents_type>(x.extents(), D, all), uninitialized);
  move_rows<false>(x.data(), out.data(), outer, all, rows.extent(), inner,
                   [&](index_t n) { return plan.global(rows, n); });
  return out;
}
/// Its adjoint: they in the whole, zeros elsewhere.
template <int D, class Local>
auto distributed_rows(Local const& x, halo_plan const& plan, row_partition const& rows) {
  using To = resized_t<Local, D>;
  auto const [outer, inner] = around(x.extents(), D);
  To out(with_extent<typename To::extents_type>(x.extents(), D, rows.extent()));
  move_rows<true>(x.data(), out.data(), outer, x.extent(D), rows.extent(), inner,
                  [&](index_t n) { return plan.global(rows, n); });
  return out;
}

/// The halo of `source` in the layout of a value whose mesh may be another object.
template <class Mesh>
std::shared_ptr<halo_plan const> halo_beside(Mesh const& mine, int a, shared_layout<Mesh> const& source) {
  if (source.halo && &source.halo->communicator() != &mine.communicator(a)) return kept_with(source.mesh, source.halo);
  return source.halo;
}
/// Errors: shape_error, if a value lies otherwise than what the halo belongs to; of copies, if it has other extents.
template <class Mesh>
void require_rows_of_halo(shared_layout<Mesh> const& of_value, shared_layout<Mesh> const& of_halo) {
  auto const &mine = of_value.rows, &wanted = of_halo.rows;
  if (!same_rows(mine.get(), wanted.get()))
    throw shape_error("the halo is that of a sparse tensor's columns, and the value was sharded by another partition; "
                      "distribute it by D.col_layout()");
}
template <class Mesh>
void require_extent_of_halo(index_t extent, shared_layout<Mesh> const& of_halo) {
  if (extent != of_halo.rows->extent())
    throw shape_error(text("the halo is of ", of_halo.rows->extent(), " rows, and the dimension has ", extent));
}

/// The layout `old` with the rows and the halo by which axis a shards the columns of a sparse operand.
template <class Mesh>
layout_handle<Mesh> with_halo_of(layout_handle<Mesh> const& old, int a, shared_layout<Mesh> const& sparse) {
  auto const& columns = sparse.domain ? sparse.domain->rows : sparse.rows;
  if (old->rows == columns && old->halo == sparse.halo && columns && old->extent[a] == columns->extent()) return old;
  auto layout = std::make_shared<shared_layout<Mesh>>(*old);
  layout->rows = columns;
  layout->halo = halo_beside(old->mesh, a, sparse);
  layout->domain = nullptr;
  layout->extent[a] = columns ? columns->extent() : 0;
  return layout;
}

} // namespace sla::detail

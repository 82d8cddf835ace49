// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rows of a distributed sparse tensor on other owners, `repartition<"rows", SparseShard<0, Part<"graph">>>(D, layout)`, and its
// gradient. Dense values are resharded in dist/step/collectives.hpp; entries that are to be added, in dist/matrix/unassembled.hpp.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <sla/dist/assembly/assemble.hpp>
#include <sla/dist/matrix/unassembled.hpp>

namespace sla {

namespace detail {
/// The rows of D along an axis, each on its owner in `rows`. The columns of a rectangular D
/// stay where they are. Collective.
template <int Axis, class D>
auto rows_resharded(D const& d, std::shared_ptr<row_partition const> const& rows) {
  using Sparse = local_of_t<D>;
  using T = typename Sparse::value_type;
  Sparse const& A = d.local();
  auto const& layout = *d.handle();
  auto const& of_columns = layout.domain ? layout.domain->rows : layout.rows;
  std::vector<entry_place> places;
  std::vector<index_t> slots;
  auto const pattern = A.pattern().view();
  for (index_t i = 0; i < A.rows(); ++i)
    pattern.for_row(i, [&](index_t s, index_t j) {
      places.push_back({layout.rows->global(i), layout.halo->global(*of_columns, j)});
      slots.push_back(s);
    });
  auto const slice = deliver<T>(
      layout.mesh.communicator(Axis), *rows, of_columns->extent(), index_t(places.size()), A.batch_count(), A.block_size,
      [&](index_t k) { return places[std::size_t(k)]; },
      [&](index_t k, T* to) {
        for (index_t b = 0; b < A.batch_count(); ++b)
          to = std::copy_n(A.values().data() + b * A.batch_stride() + slots[std::size_t(k)] * A.block_size, A.block_size, to);
      });
  typename Sparse::shape_type const whole(A.shape().batch(), layout.rows->extent(), of_columns->extent());
  return localize<Sparse>(slice, whole, layout.mesh, Axis, layout.extent, rows, layout.domain ? layout.domain->rows : nullptr);
}
} // namespace detail

template <StepOn S, DistributedSparse X, class How>
  requires(S::how == step::repartition)
auto perform(S, X const& x, How const& how) {
  using Mesh = mesh_of_t<X>;
  using To = typename S::to;
  using decided = detail::step_decision<S, X>;
  decided::require();
  if constexpr (!decided::legal) {
    return x;
  } else {
    constexpr int a = decided::at;
    using From = typename decided::From;
    constexpr bool by_rows = From::kind == placement_kind::sparse_shard && From::dim == 0 && To::kind == placement_kind::sparse_shard &&
                             To::dim == 0 && !From::family::stated && !To::family::stated;
    static_assert(by_rows, "sla: repartition<axis, P>(A, how): rows get other owners, SparseShard<0, Part<\"old\">> to SparseShard<0, Part<\"new\">>; "
                           "columns and entries are sharded by distribute");
    if constexpr (!by_rows) {
      return x;
    } else {
      detail::unseen_pattern const pattern{x.handle()->rows->extent(), x.col_layout().handle()->rows->extent()};
      auto const rows = detail::rows_by(how, "repartition(A, layout)", x.mesh().world(), pattern, x.mesh().size(a), x.mesh().coordinate(a));
      auto [local, layout] = detail::rows_resharded<a>(x, rows);
      return typename detail::distributed_with<decltype(local), Mesh, typename decided::result>::type(std::move(local), std::move(layout));
    }
  }
}
template <StepOn S, class X, class How>
  requires(S::how == step::repartition && Traced<X> && DistributedSparse<plain_t<X>>)
auto perform(S s, X const& x, How const& how) {
  auto const* const own = &x.variable();
  auto rule = linear_in(
      x,
      [own](auto const&, auto const& g) {
        constexpr int a = mesh_of_t<plain_t<X>>::template index<S::axis>();
        auto const& A = own->value();
        auto const back = detail::rows_resharded<a>(g, A.handle()->rows).first;
        auto const pattern = back.pattern().view(); // the entries of A, whose columns have their numbers
        std::vector<typename plain_t<X>::value_type> entry;
        return detail::values_on(A.local(), [&](index_t, index_t i, index_t j) {
          entry = detail::stored_entry(back, detail::slot_in_row(pattern, i, j, [](index_t n) { return n; }));
          return entry.data();
        });
      },
      [s, how](auto const&, auto const& d) { return perform(s, d, how); });
  return record(x.home(), perform(s, x.value(), how), std::move(rule));
}

} // namespace sla

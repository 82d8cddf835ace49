// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rows of distributed tensors on other owners: `repartition(D, f)`, which finds them, `repartition(x, layout)` for the vectors that follow, and
// the step that says so in types, `repartition<"rows", SparseShard<0, Part<"graph">>>(D, layout)`; with gradients. Dense values are resharded in dist/step/collectives.hpp; entries that are to be added, in dist/matrix/unassembled.hpp.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <sla/dist/assembly/assemble.hpp>
#include <sla/dist/matrix/matrix_functions.hpp>
#include <sla/dist/matrix/unassembled.hpp>
#include <sla/dist/partition/rows_of_rank.hpp>
#include <sla/dist/step/steps_gradient.hpp>

namespace sla {

namespace detail {
/// The rows of D along an axis, each on its owner in `rows`. The columns of a rectangular D stay where they are; those of a square D go to their owners in
/// `columns`, or lie as its rows where that is null. Collective.
template <int Axis, class D>
auto rows_resharded(D const& d, std::shared_ptr<row_partition const> const& rows, std::shared_ptr<row_partition const> const& columns = nullptr) {
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
  return localize<Sparse>(slice, whole, layout.mesh, Axis, layout.extent, rows, whole.rows() == whole.cols() ? columns : of_columns);
}

/// The graph of A + A^T on this rank's rows, as `rows_of_rank` says. Collective.
template <class D>
row_graph<index_t> graph_on_ranks(D const& d) {
  auto const& layout = *d.handle();
  halo_plan const& halo = *layout.halo;
  any_communicator& c = halo.communicator();
  index_t const first = layout.rows->first(c.rank()), own = halo.own();
  require_square("the graph of A + A^T", "A", d);
  std::vector<double> numbers(static_cast<std::size_t>(own));  // exact below 2^53
  for (index_t n = 0; n < own; ++n) numbers[std::size_t(n)] = double(first + n);
  halo_exchange<double> numbered(halo, numbers.data(), {1, 1});
  numbered.wait();
  auto const number = [&](index_t j) { return j < own ? first + j : index_t(numbered.ghosts()[j - own]); };

  std::vector<int> owner;  // of ghosts
  for (halo_message const& m : halo.receives()) owner.insert(owner.end(), std::size_t(m.count), m.rank);
  std::vector<entry_place> edges, back;  // back: those of the transpose, in the rows of others
  std::vector<int> to;
  auto const pattern = d.local().pattern().view();
  for (index_t i = 0; i < own; ++i)
    pattern.for_row(i, [&](index_t, index_t j) {
      if (i == j) return;
      edges.push_back({first + i, number(j)});
      if (j < own)
        edges.push_back({first + j, first + i});
      else
        back.push_back({number(j), first + i}), to.push_back(owner[std::size_t(j - own)]);
    });
  auto const heard = terms_by_owner(c, std::move(to)).send<entry_place>(c, 1, [&](index_t k, entry_place* at) { *at = back[std::size_t(k)]; });
  edges.insert(edges.end(), heard.values.begin(), heard.values.end());
  auto const as_pair = [](entry_place const& e) { return std::pair(e.row, e.col); };
  std::sort(edges.begin(), edges.end(), [&](auto const& a, auto const& b) { return as_pair(a) < as_pair(b); });
  edges.erase(std::unique(edges.begin(), edges.end(), [&](auto const& a, auto const& b) { return as_pair(a) == as_pair(b); }), edges.end());
  row_graph<index_t> out{buffer<index_t>(own + 1), buffer<index_t>(index_t(edges.size()), uninitialized)};
  for (std::size_t k = 0; k < edges.size(); ++k) {
    ++out.begin[edges[k].row - first + 1];
    out.target[index_t(k)] = edges[k].col;
  }
  for (index_t i = 0; i < own; ++i) out.begin[i + 1] += out.begin[i];
  return out;
}

/// The rows of D as a partitioner sees them.
template <int Axis, class D>
rows_of_rank shown_rows(D const& d) {
  auto const& rows = *d.handle()->rows;
  rows_of_rank out{d.mesh().communicator(Axis), rows.extent(), rows.members(), std::vector<index_t>(std::size_t(rows.count()), 0), [&d] { return graph_on_ranks(d); }};
  auto const pattern = d.local().pattern().view();
  for (index_t i = 0; i < rows.count(); ++i) pattern.for_row(i, [&](index_t, index_t) { ++out.entries[std::size_t(i)]; });
  return out;
}
/// The owners that `how` finds for the rows of D: a partitioner that runs on all ranks, one that needs no pattern, or a layout. Collective.
template <int Axis, class D, class How>
std::shared_ptr<row_partition const> other_owners(D const& d, How const& how) {
  auto const& rows = *d.handle()->rows;
  any_communicator& c = d.mesh().communicator(Axis);
  if constexpr (RankPartitioner<How>) {
    if (c.engine() == "fake")
      throw unavailable_error("repartition(D, f): a rank of the engine fake has the rows of no others, so that there are no parts to find; give a layout");
    auto const shown = shown_rows<Axis>(d);
    auto const part = how.partition_on_ranks(shown);
    together(c, [&] {
      if (part.size() != shown.global.size())
        throw shape_error(text("repartition(D, f) on rank ", c.rank(), ": f gives ", part.size(), " parts for ", shown.global.size(), " rows; give one for each"));
      return 0;
    });
    return std::make_shared<row_partition const>(c, rows.extent(), shown.global, part);
  } else {
    static_assert(is_vector_layout<How> || Partitioner<How, unseen_pattern>,
                  "sla: repartition(D, f): no rank has the pattern that this partitioner reads; give rcb{xyz} or hilbert{xyz}, of coordinates of the rows that this rank owns, "
                  "a class with a member std::vector<int> partition_on_ranks(rows_of_rank const&) const, or a layout, E.row_layout()");
    unseen_pattern const pattern{rows.extent(), domain_layout(d.handle())->rows->extent()};
    return rows_by(how, "repartition(A, layout)", d.mesh().world(), pattern, d.mesh().size(Axis), d.mesh().coordinate(Axis));
  }
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
      auto [local, layout] = detail::rows_resharded<a>(x, detail::other_owners<a>(x, how));
      return typename detail::distributed_with<decltype(local), Mesh, typename decided::result>::type(std::move(local), std::move(layout));
    }
  }
}
namespace detail {
/// Records y, the rows of traced x on other owners: move(d, layout) moves a tangent.
template <int Axis, class X, class Y, class Move>
auto record_resharded(X const& x, Y y, Move const& move) {
  auto const* const own = &x.variable();
  auto rule = linear_in(
      x,
      [own](auto const&, auto const& g) {
        auto const& A = own->value();
        auto const back = rows_resharded<Axis>(g, A.handle()->rows, domain_layout(A.handle())->rows).first;
        auto const pattern = back.pattern().view(); // the entries of A, whose columns have their numbers
        std::vector<typename plain_t<X>::value_type> entry;
        return values_on(A.local(), [&](index_t, index_t i, index_t j) {
          entry = stored_entry(back, slot_in_row(pattern, i, j, [](index_t n) { return n; }));
          return entry.data();
        });
      },
      [move, layout = y.row_layout()](auto const&, auto const& d) { return move(d, layout); });
  return record(x.home(), std::move(y), std::move(rule));
}
} // namespace detail

template <StepOn S, class X, class How>
  requires(S::how == step::repartition && Traced<X> && DistributedSparse<plain_t<X>>)
auto perform(S s, X const& x, How const& how) {
  return detail::record_resharded<mesh_of_t<plain_t<X>>::template index<S::axis>()>(x, perform(s, x.value(), how),
                                                                                    [s](auto const& d, auto const& layout) { return perform(s, d, layout); });
}

namespace detail {
/// The mesh axis on which rows are shared out as found at run time; -1, if there is none.
template <class List>
inline constexpr int found_rows_axis = -1;
template <class... P>
inline constexpr int found_rows_axis<placements<P...>> = [] {
  int found = -1, a = 0;
  auto const look = [&]<class Q>(std::type_identity<Q>) {
    if constexpr (Q::kind == placement_kind::sparse_shard || Q::kind == placement_kind::shard)
      if (Q::dim == 0 && !Q::family::stated) found = a;
    ++a;
  };
  (look(std::type_identity<P>{}), ...);
  return found;
}();

/// x with its rows on the owners of `layout`, To on axis A. Collective.
template <int A, class To, class X>
auto rows_moved(X const& x, layout_handle<mesh_of_t<X>> const& layout) {
  auto [local, handle] = take_step<step::repartition, placement_on_t<X, A>, To, axes_as_one<A>, 0>(x.local(), x.handle(), layout);
  using List = typename replaced<A, To, placements_of_t<X>>::type;
  return typename distributed_with<decltype(local), mesh_of_t<X>, List>::type(std::move(local), std::move(handle));
}
} // namespace detail

/// D with its rows on the owners that f finds; the columns of a square D follow. After an assembly by strips: `auto E = repartition(D, rcb{xyz})`, where xyz
/// has the coordinates of the rows that this rank owns, in their order; or hilbert{xyz}, any class with a member
/// partition_on_ranks(rows_of_rank), or a layout. Vectors follow by `repartition(b, E.row_layout())`. Collective. No rank holds the whole.
/// Placement: that of D. Cost: each entry travels once; memory of a rank: what it has and gets. Gradient: the entries go back.
/// Errors, on every rank: those of f; index_error for a part that is no rank.
template <DistributedSparse D, class How>
auto repartition(D const& d, How const& how) {
  constexpr int a = detail::found_rows_axis<placements_of_t<D>>;
  static_assert(a >= 0, "sla: repartition(D, f): D is sharded by rows, SparseShard<0>, on owners found at run time; columns and entries are sharded by distribute");
  if constexpr (a >= 0) {
    auto [local, layout] = detail::rows_resharded<a>(d, detail::other_owners<a>(d, how));
    return typename detail::distributed_with<decltype(local), mesh_of_t<D>, placements_of_t<D>>::type(std::move(local), std::move(layout));
  }
}
/// The same of a traced one.
template <Traced X, class How>
  requires DistributedSparse<plain_t<X>>
auto repartition(X const& x, How const& how) {
  return detail::record_resharded<detail::found_rows_axis<placements_of_t<plain_t<X>>>>(x, repartition(x.value(), how),
                                                                                        [](auto const& d, auto const& layout) { return repartition(d, layout); });
}

/// x, a vector or the columns of several right-hand sides, with its rows on the owners of a layout: `repartition(b, E.row_layout())`. Collective. Placement: that
/// of x, with the family of the layout's rows. Cost: each row that changes its owner travels once. Gradient: the rows go back.
/// Errors: shape_error where the layout has another number of rows.
template <DistributedTensor X, class Mesh, class... P>
auto repartition(X const& x, vector_layout<Mesh, P...> const& layout) {
  constexpr int a = detail::found_rows_axis<placements_of_t<X>>, b = detail::found_rows_axis<placements<P...>>;
  static_assert(a >= 0 && a == b && std::same_as<Mesh, mesh_of_t<X>>,
                "sla: repartition(x, layout): the rows of x, Shard<0, Part<>>, and of the layout, E.row_layout(), are shared out over one axis of one mesh; of other families: "
                "repartition<axis, Shard<0, Part<>>>(x, layout)");
  if constexpr (a >= 0 && a == b && std::same_as<Mesh, mesh_of_t<X>>)
    return detail::rows_moved<a, typename detail::placement_number<a, placements<P...>>::type>(x, layout.handle());
}
/// The same of a traced one.
template <Traced X, class Mesh, class... P>
  requires DistributedTensor<plain_t<X>>
auto repartition(X const& x, vector_layout<Mesh, P...> const& layout) {
  constexpr int a = detail::found_rows_axis<placements_of_t<plain_t<X>>>;
  using From = placement_on_t<plain_t<X>, a>;
  auto rule = linear_in(
      x, [home = x.value().handle()](auto const&, auto const& g) { return detail::rows_moved<a, From>(g, home); },
      [layout](auto const&, auto const& d) { return repartition(d, layout); });
  return record(x.home(), repartition(x.value(), layout), std::move(rule));
}

} // namespace sla

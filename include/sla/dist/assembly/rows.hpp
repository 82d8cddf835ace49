// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Row parts: from a rank's rows with global columns to its local sparse tensor and the halo plan. Where the rows come from: dist/assembly/distribute.hpp cuts a whole matrix, dist/assembly/entries_to_owners.hpp collects entries of all ranks.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <sla/dist/engine/replicated_arguments.hpp>
#include <sla/dist/halo/halo.hpp>
#include <sla/dist/value/distributed.hpp>
#include <sla/tensor/build/convert.hpp>
#include <sla/tensor/storage/parallel.hpp>

namespace sla::detail {

/// Who owns which rows, columns and entries is found at run time; a stated family says it itself.
template <class P>
constexpr void require_found() {
  static_assert(!P::family::stated, "sla: rows, columns or entries that one axis shards lie as found at run time, not as a stated family says: write SparseShard<0> "
                                    "or SparseShard<0, Part<\"name\">>, and lay vectors out by D.row_layout() and D.col_layout()");
}

/// The rows of one rank, in ascending global order, columns global: values [batch][entry][block].
template <class T>
struct rank_rows {
  std::vector<index_t> ptr{0}, col;
  buffer<T> values;
  index_t batch = 1, block = 1;
};

template <class F>
using local_csr_t = std::conditional_t<is_csr<whole_format<F>>, F, Csr<std::int32_t>>;

/// Errors, on every rank: value_error, if a rank gives other owners than rank 0. Collective.
template <class = void>
void require_same_owners(any_communicator& c, owner_map const& owners) {
  std::uint64_t const mine = owners.fingerprint();
  std::uint64_t of_first = mine;
  broadcast(c, std::span<std::uint64_t>(&of_first, 1));
  auto const other = all_reduce(c, std::int64_t(mine == of_first ? c.size() : c.rank()), monoid::minimum);
  if (other < c.size()) throw value_error(text("owners of rows: rank ", other, " gives other owners than rank 0; every rank gives the same owner_map"));
}
/// What the partitioner of rank 0 finds, on every rank: whatever it computes with, they agree. Of a map that all ranks give, each has its own. Collective.
template <class Cut, class View>
owner_map agreed_owners(any_communicator& c, Cut const& partitioner, View const& view, int parts) {
  if constexpr (!Partitioner<Cut, View>) {
    return {};  // the caller's sentence is the only error
  } else {
    if (c.size() == 1 || c.engine() == "fake") return partitioner.partition(view, parts);
    if constexpr (std::same_as<Cut, owner_map>) {
      require_same_owners(c, partitioner);
      return together(c, [&] { return partitioner.partition(view, parts); });
    }
    auto const found = together(c, [&] { return c.rank() == 0 ? partitioner.partition(view, parts) : owner_map(); });
    auto first = found.starts();
    auto owner = found.contiguous() ? std::vector<int>() : found.table();
    broadcast(c, first);
    broadcast(c, owner);
    return owner.empty() ? owner_map(std::move(first)) : owner_map(std::move(owner), parts);
  }
}

/// The rows of a matrix of this pattern, sharded as `how` says: the layout of something else, or a partitioner. Collective.
/// Errors: shape_error, in words that begin with the call; those of the partitioner.
template <class How, class View>
std::shared_ptr<row_partition const> rows_by(How const& how, char const* call, any_communicator& c, View const& view, int parts, int rank) {
  if constexpr (is_vector_layout<How>)
    return how.rows_of(call, view.rows);
  else
    return std::make_shared<row_partition const>(agreed_owners(c, how, view, parts), rank, c.engine() == "fake");
}

/// Local numbers: first the indices that a rank owns, then its ghosts, those among the indices that it uses which it does not own.
class ghost_numbers {
public:
  /// Collective where owners are no ranges.
  template <class Indices>
  ghost_numbers(any_communicator& c, row_partition const& own, Indices const& used) : own_(&own), ghosts_(foreign_among(c, own, used)) {
    if (own.contiguous()) return;
    for (index_t g : ghosts_.at) number_.push_back({g, index_t(number_.size())});
    std::sort(number_.begin(), number_.end());
  }
  index_t count() const { return own_->count() + index_t(ghosts_.at.size()); }
  template <class = void>
  index_t local(index_t global) const {
    if (own_->contiguous())  // by owner is in the order of indices
      return own_->owns(global) ? own_->local(global) : own_->count() + (std::lower_bound(ghosts_.at.begin(), ghosts_.at.end(), global) - ghosts_.at.begin());
    auto const ghost = std::lower_bound(number_.begin(), number_.end(), std::pair(global, index_t(0)));
    return ghost != number_.end() && ghost->first == global ? own_->count() + ghost->second : own_->local(global);
  }
  /// The exchange of these ghosts, which these rows read. Collective.
  template <class = void>
  std::shared_ptr<halo_plan const> plan(any_communicator& c, row_runs runs = {}) const {
    return std::make_shared<halo_plan const>(c, *own_, ghosts_, ask_owners(c, ghosts_), std::move(runs));
  }

private:
  row_partition const* own_;
  foreign_indices ghosts_;
  std::vector<std::pair<index_t, index_t>> number_;  ///< ghosts in the order of indices, where owners are no ranges
};

/// Where a rank's entries lie: its pattern in local numbers, the layout, and from which entry of its rows each comes.
template <class Sparse, class Mesh>
struct local_entries {
  std::shared_ptr<typename Sparse::pattern_type const> pattern;
  buffer<index_t> from;
  layout_handle<Mesh> layout;

  /// The local tensor of values [batch][entry][block] in the order of the rank's rows.
  template <class To>
  To tensor_of(typename To::shape_type const& global, typename To::value_type const* values) const {
    typename To::shape_type const shape(global.batch(), pattern->rows, pattern->cols);
    return {shape, pattern, gathered_blocks<To::block_size>(values, from.size() * To::block_size, from, global.batch_count())};
  }
};
/// Those of rows whose entries are in the columns col[ptr[i]] .. col[ptr[i + 1] - 1]. The rows are sharded as in `rows`; the columns as in
/// `domain` where that is given, else as the rows of a square tensor, and in equal strips of a rectangular one. Collective.
template <class Sparse, class Mesh, class Indices>
local_entries<Sparse, Mesh> locate(Indices const& row_ptr, Indices const& columns_of, typename Sparse::shape_type const& global, Mesh const& mesh, int axis,
                                   fixed_array<index_t, Mesh::rank> extent, std::shared_ptr<row_partition const> const& rows,
                                   std::shared_ptr<row_partition const> domain) {
  any_communicator& c = mesh.communicator(axis);
  bool const square = global.rows() == global.cols(), one_layout = square && (!domain || same_rows(domain.get(), rows.get()));
  if (one_layout) domain = rows;
  if (!domain) domain = std::make_shared<row_partition const>(owner_map::equal(global.cols(), c.size()), c.rank());
  ghost_numbers const columns(c, *domain, columns_of);

  using F = typename Sparse::format_type;
  using Col = typename F::col_type;
  using Ptr = typename F::ptr_type;
  auto const* const begin = std::data(row_ptr);
  auto const* const global_column = std::data(columns_of);
  index_t const nnz = index_t(std::size(columns_of));
  narrowed<Col>(columns.count(), "the number of local columns,", wide_columns);
  narrowed<Ptr>(nnz, "the number of local entries,", "Csr<std::int32_t, std::int64_t>");
  buffer<Ptr> ptr(rows->count() + 1, uninitialized);
  buffer<Col> col(nnz, uninitialized);
  buffer<index_t> from(nnz, uninitialized);
  ptr[0] = 0;
  std::vector<char> reads(std::size_t(rows->count()));  // ghosts
  parallel_ranges(rows->count(), [&](index_t first, index_t last) {
    std::vector<std::pair<index_t, index_t>> entries;
    for (index_t i = first; i < last; ++i) {
      entries.clear();
      for (index_t s = begin[i]; s < begin[i + 1]; ++s) entries.push_back({columns.local(global_column[s]), s});
      std::sort(entries.begin(), entries.end());
      index_t at = begin[i] - begin[0];
      for (auto const& [j, s] : entries) {
        col[at] = Col(j);
        from[at++] = s;
      }
      ptr[i + 1] = Ptr(at);
      reads[std::size_t(i)] = !entries.empty() && entries.back().first >= domain->count();
    }
  });
  auto runs = runs_of(rows->count(), [&](index_t i) { return reads[std::size_t(i)] != 0; });

  auto layout = std::make_shared<shared_layout<Mesh>>();
  layout->mesh = mesh;
  layout->extent = extent;
  layout->extent[axis] = global.rows();
  layout->rows = rows;
  layout->halo = columns.plan(c, std::move(runs));
  if (!one_layout) {
    auto of_columns = std::make_shared<shared_layout<Mesh>>();
    of_columns->mesh = mesh;
    of_columns->extent = extent;
    of_columns->extent[axis] = global.cols();
    of_columns->rows = domain;
    layout->domain = std::move(of_columns);
  }
  using Pattern = typename Sparse::pattern_type;
  return {std::make_shared<Pattern const>(Pattern{rows->count(), columns.count(), std::move(ptr), std::move(col)}), std::move(from), std::move(layout)};
}
/// The local tensor of a rank's rows, and its layout. Collective.
template <class Sparse, class T, class Mesh>
std::pair<Sparse, layout_handle<Mesh>> localize(rank_rows<T> const& slice, typename Sparse::shape_type const& global, Mesh const& mesh,
                                                int axis, fixed_array<index_t, Mesh::rank> extent,
                                                std::shared_ptr<row_partition const> const& rows,
                                                std::shared_ptr<row_partition const> domain = nullptr) {
  auto const at = locate<Sparse>(slice.ptr, slice.col, global, mesh, axis, extent, rows, std::move(domain));
  return {at.template tensor_of<Sparse>(global, slice.values.data()), at.layout};
}

} // namespace sla::detail

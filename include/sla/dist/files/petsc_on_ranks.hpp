// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PETSc's binary files that no rank has whole: `read_petsc<double>(mesh, path)`, `read_petsc_vector<double>(layout, path)`, `write_petsc(path, D, x)`. Those of one
// rank, and what such files are, is in tensor/files/petsc.hpp.
#pragma once

#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sla/dist/files/load.hpp>
#include <sla/tensor/files/petsc.hpp>

namespace sla {

namespace detail {
/// The sum of the lower ranks' n. Collective.
template <class = void>
index_t sum_before(any_communicator& c, index_t n) {
  auto const all = all_gather(c, n);
  return std::accumulate(all.begin(), all.begin() + c.rank(), index_t(0));
}

template <class Index, class Disk, class X>
void write_petsc_part(any_communicator& c, std::optional<new_file<Disk>>& file, index_t& at, X const& x) {
  using Local = local_of_t<X>;
  using T = typename Local::value_type;
  auto const& layout = *x.handle();
  auto const counts = counts_of(x);
  index_t const first_row = sum_before(c, counts.rows), first = sum_before(c, counts.entries), entries = all_reduce(c, counts.entries);
  together(c, [&] {
    if constexpr (is_sparse_tensor<Local>) {
      auto const o = next_petsc<T, Index>(at, petsc_class::matrix, x.rows(), x.cols(), entries);
      if (c.rank() == 0) write_petsc_header<Index>(*file, o);
      write_petsc_rows<Index>(*file, o, first_row, first, x.local(), [&](index_t j) { return layout.halo->global(*domain_layout(x.handle())->rows, j); });
    } else {
      auto const o = next_petsc<T, Index>(at, petsc_class::vector, layout.extent[0], 1, 0);
      if (c.rank() == 0) write_petsc_header<Index>(*file, o);
      write_big_endian<T>(*file, o.at + first_row * index_t(sizeof(T)), counts.rows, [&](index_t k) { return x.local()[k]; });
    }
    return 0;
  });
}
} // namespace detail

/// The first matrix in a binary file of PETSc, its rows sharded as `how` says: equal_rows, a partitioner that needs no pattern, or the layout of
/// something else. Collective. Cost: a rank reads its rows, or an equal share of them, which go to their owners, where those have no ranges.
/// Errors: as of one rank, on every rank.
template <Scalar T, detail::FormatOption F = Csr<>, class Mesh, class How = equal_rows>
  requires(is_mesh<Mesh>)
auto read_petsc(Mesh const& m, std::string const& path, How const& how = {}) {
  static_assert(Mesh::rank == 1, "sla: read_petsc<T>(mesh, path): rows are sharded, over a mesh of one axis");
  using Sparse = sparse_tensor<T, Matrix, detail::local_csr_t<F>>;
  any_communicator& c = m.communicator(0);
  std::optional<detail::ranged_file> file;
  auto const o = detail::together(c, [&] { return detail::find_petsc<T>(file.emplace(path), detail::petsc_class::matrix); });
  shared_layout<Mesh> layout;
  layout.mesh = m;
  layout.rows = detail::rows_by(how, "read_petsc<T>(mesh, path, layout)", c, detail::unseen_pattern{o.rows, o.cols}, m.size(0), m.coordinate(0));
  auto const rows = detail::rows_to_read<SparseShard<0>>(false, o.rows, layout);
  auto ptr = detail::together(c, [&] { return detail::read_petsc_row_ptr(*file, o, rows.begin, rows.end); });
  index_t const first = detail::sum_before(c, ptr.back()), total = all_reduce(c, ptr.back());
  if (total != o.entries) detail::fail_petsc_total(*file, o, total);
  auto slice = detail::together(c, [&] {
    auto found = detail::read_petsc_entries<T>(*file, o, std::move(ptr), first);
    return detail::rank_rows<T>{std::move(found.ptr), std::move(found.col), std::move(found.values), 1, 1};
  });
  if (!rows.own) slice = detail::delivered_rows(c, slice, detail::range_of(rows), *layout.rows, o.cols);
  auto [local, handle] = detail::localize<Sparse>(slice, Matrix(o.rows, o.cols), m, 0, {}, layout.rows);
  return distributed<Sparse, Mesh, SparseShard<0>>(std::move(local), std::move(handle));
}
/// The first vector in such a file, as a layout says: `read_petsc_vector<double>(D.row_layout(), "system.petsc")`. Collective.
/// Cost, Errors: as above, and a shape_error where the file has another length than the layout.
template <Scalar T, class Mesh, class P>
auto read_petsc_vector(vector_layout<Mesh, P> const& like, std::string const& path) {
  static_assert(detail::shards_rows<P>, "sla: read_petsc_vector<T>(layout, path): the layout is one of vectors: D.row_layout(), D.col_layout(), or x.layout()");
  auto const& layout = *like.handle();
  any_communicator& c = layout.mesh.communicator(0);
  auto const rows = detail::rows_to_read<P>(false, layout.extent[0], layout);
  auto x = detail::together(c, [&] {
    detail::ranged_file const file(path);
    auto const o = detail::find_petsc<T>(file, detail::petsc_class::vector);
    if (o.rows != layout.extent[0]) throw shape_error(text(path, ": a vector of ", o.rows, ", and the layout is of vectors of ", layout.extent[0]));
    vector<T> read(Extents<dyn>(rows.end - rows.begin), uninitialized);
    detail::read_big_endian<T>(file, o.at + rows.begin * index_t(sizeof(T)), read.size(), read.data());
    return read;
  });
  if (!rows.own) x = detail::delivered_part<typename P::family>(c, layout, detail::range_of(rows), x, 1, 1, [](index_t own) { return vector<T>(Extents<dyn>(own), uninitialized); });
  return distributed<vector<T>, Mesh, P>(std::move(x), like.handle());
}
/// Distributed matrices and vectors, one after the other, in one file: `write_petsc("system.petsc", D, x)`. Collective. Each rank writes its ranges of a new file, which
/// takes the place of the old one when all is on the disk.
/// Law: SparseShard<0> and Shard<0, ...>, without batches and blocks, rows in ranges. Errors, on every rank: io_error; value_error, if rows lie without order.
template <std::integral Index = std::int32_t, class X, class... More>
  requires(is_distributed<X> && (is_distributed<More> && ...))
void write_petsc(std::string const& path, X const& x, More const&... more) {
  constexpr bool fit = detail::is_saveable<X> && detail::is_petsc_object<local_of_t<X>> && ((detail::is_saveable<More> && detail::is_petsc_object<local_of_t<More>>)&&...);
  static_assert(fit, "sla: write_petsc(path, D, x, ...): over a mesh of one axis, matrices by SparseShard<0> in the format Csr, and vectors by Shard<0, ...>, without batches and blocks");
  if constexpr (fit) {
    any_communicator& c = x.mesh().communicator(0);
    auto const ordered = [](auto const& y) { return detail::lies_in_ranges<typename detail::the_placement<std::remove_cvref_t<decltype(y)>>::type>(*y.handle()); };
    if (!(ordered(x) && (ordered(more) && ...)))
      throw value_error(text("write_petsc('", path, "', ...): such files have rows in the order of the ranks, and these are scattered: repartition(D, equal_rows{}) first"));
    std::optional<detail::replacement> old;
    auto name = detail::together(c, [&] {
      if (c.rank() == 0) old.emplace(path);
      return old ? std::vector<char>(old->name().begin(), old->name().end()) : std::vector<char>();
    });
    broadcast(c, name);
    detail::opened_disk disk;
    std::optional<detail::new_file<detail::opened_disk>> file;
    detail::together(c, [&] { return file.emplace(disk, std::string(name.begin(), name.end())), 0; });
    index_t at = 0;
    detail::write_petsc_part<Index>(c, file, at, x);
    (detail::write_petsc_part<Index>(c, file, at, more), ...);
    detail::together(c, [&] { return file->finish(), 0; });
    detail::together(c, [&] {
      if (old) old->take_place();
      return 0;
    });
  }
}

} // namespace sla

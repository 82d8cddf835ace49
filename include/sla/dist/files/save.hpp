// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `save(path, D, x, ...)`: distributed tensors as one file of each rank and an index, which names them and takes the place of the old one when
// all is on the disk. Reading is in dist/files/load.hpp, the index in dist/files/shard_index.hpp.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <sla/dist/files/shard_index.hpp>
#include <sla/dist/halo/halo.hpp>
#include <sla/dist/value/distributed.hpp>
#include <sla/spmd/mesh/mesh.hpp>

namespace sla {

namespace detail {
/// Distributed tensors that can be saved: dense ones by Shard<d, ...>, and rows of sparse ones.
template <class X>
inline constexpr bool is_saveable = false;
template <class T, class E, class Mesh, DenseShard P>
inline constexpr bool is_saveable<distributed<tensor<T, E>, Mesh, P>> = true;
template <class T, class S, class Col, class Ptr, class Mesh, class F>
  requires(!F::stated)
inline constexpr bool is_saveable<distributed<sparse_tensor<T, S, Csr<Col, Ptr>>, Mesh, SparseShard<0, F>>> = true;

template <class... X>
constexpr bool require_saveable() {
  static_assert(sizeof...(X) > 0, "sla: save(path, D, x, ...): give a tensor to be saved");
  static_assert((is_distributed<X> && ...),
                "sla: save(path, D, x, ...), load<...>(mesh, path): tensors on a mesh; the value of an expression is eval(e), a tensor of one rank is "
                "shared out by distribute(A, mesh), or written without a mesh by <sla/adapter/safetensors.hpp>");
  static_assert(!(is_distributed<X> && ...) || (is_saveable<X> && ...),
                "sla: save(path, D, x, ...), load<...>(mesh, path): over a mesh of one axis, dense tensors by Shard<d, ...> and sparse ones by "
                "SparseShard<0>, in the format Csr; get others there by distribute, repartition or to<Csr<>>");
  return sizeof...(X) > 0 && (is_saveable<X> && ...);
}
template <class P>
inline constexpr int sharded_dim = 0;
template <DenseShard P>
inline constexpr int sharded_dim<P> = P::dim;
template <class X>
struct the_placement;
template <class Local, class Mesh, class P>
struct the_placement<distributed<Local, Mesh, P>> {
  using type = P;
};

/// What a type says of a tensor; extents that it leaves open are -1.
template <class X>
saved_tensor saved_type() {
  using Local = local_of_t<X>;
  using T = typename Local::value_type;
  saved_tensor out{.sparse = is_sparse_tensor<Local>, .is_double = sizeof(real_t<T>) == 8, .complex = is_complex<T>};
  auto const add = [&]<class E>(E const&) {
    for (int a = 0; a < E::rank; ++a) out.shape.push_back(E::static_extent(a) == dyn ? -1 : E::static_extent(a));
  };
  if constexpr (is_sparse_tensor<Local>) {
    using S = typename Local::shape_type;
    add(S().batch());
    out.axis = S::batch_extents::rank;
    out.shape.insert(out.shape.end(), {-1, -1});
    if (S::is_blocked) out.shape.insert(out.shape.end(), {S::block_rows, S::block_cols});
  } else {
    add(typename Local::extents_type());
    out.axis = sharded_dim<typename the_placement<X>::type>;
    out.shape[std::size_t(out.axis)] = -1;
  }
  return out;
}
/// Has each rank a range of rows, and the next rank the next one?
template <class P, class Mesh>
bool lies_in_ranges(shared_layout<Mesh> const& layout) {
  if constexpr (P::family::stated)
    return P::family::contiguous;
  else
    return layout.rows->contiguous();
}
/// x as the index has it.
template <class X>
saved_tensor saved_as(X const& x) {
  saved_tensor out = saved_type<X>();
  auto const& local = x.local();
  if constexpr (is_sparse_tensor<local_of_t<X>>) {
    for (int a = 0; a < out.axis; ++a) out.shape[std::size_t(a)] = local.shape().batch()[a];
    out.shape[std::size_t(out.axis)] = x.rows(), out.shape[std::size_t(out.axis) + 1] = x.cols();
  } else {
    for (std::size_t a = 0; a < out.shape.size(); ++a) out.shape[a] = local.extent(int(a));
    out.shape[std::size_t(out.axis)] = x.handle()->extent[0];
  }
  out.scattered = !lies_in_ranges<typename the_placement<X>::type>(*x.handle());
  return out;
}
template <class X>
shard_counts counts_of(X const& x) {
  if constexpr (is_sparse_tensor<local_of_t<X>>)
    return {x.local().rows(), x.local().nnz()};
  else
    return {x.local().extent(sharded_dim<typename the_placement<X>::type>), 0};
}
/// n numbers, of which f makes each, piece by piece.
template <class Number, class Put, class F>
void put_numbers(Put const& put, index_t n, F const& f) {
  std::vector<Number> piece;
  for (index_t k = 0; k < n; k += index_t(piece.size())) {
    piece.resize(std::size_t((std::min)(n - k, index_t(1) << 13)));
    for (std::size_t j = 0; j < piece.size(); ++j) piece[j] = Number(f(k + index_t(j)));
    put(piece.data(), index_t(piece.size() * sizeof(Number)));
  }
}
/// One part of this rank's x, as a shard has it.
template <class X, class Put>
void put_part(X const& x, saved_tensor const& t, shard_part part, Put const& put) {
  auto const& local = x.local();
  if constexpr (is_sparse_tensor<local_of_t<X>>) {
    auto const& layout = *x.handle();
    auto const& pattern = local.pattern();
    row_partition const& columns = *domain_layout(x.handle())->rows;
    auto const col = [&](index_t k) { return layout.halo->global(columns, index_t(pattern.col[k])); };
    if (part == shard_part::values) put(local.values().data(), index_t(local.values().bytes()));
    if (part == shard_part::row_ptr) put_numbers<std::int64_t>(put, local.rows() + 1, [&](index_t i) { return pattern.row_ptr[i]; });
    if (part == shard_part::col) t.wide_columns() ? put_numbers<std::int64_t>(put, local.nnz(), col) : put_numbers<std::int32_t>(put, local.nnz(), col);
    if (part == shard_part::numbers) put_numbers<std::int64_t>(put, local.rows(), [&](index_t i) { return layout.rows->global(i); });
  } else {
    using Family = typename the_placement<X>::type::family;
    if (part == shard_part::values) put(local.data(), local.size() * index_t(sizeof(*local.data())));
    if (part == shard_part::numbers) put_numbers<std::int64_t>(put, counts_of(x).rows, [&](index_t i) { return part_global<Family>(*x.handle(), 0, i); });
  }
}

/// The generation of a file of this path, in the name of a shard or of an index on its way, or -1.
template <class = void>
index_t generation_in(std::string_view name, std::string_view of) {
  if (name.substr(0, of.size()) != of || name.substr(of.size(), 1) != ".") return -1;
  name.remove_prefix(of.size() + 1);
  auto const number = [&] {
    index_t n = -1;
    auto const status = std::from_chars(name.data(), name.data() + name.size(), n);
    if (status.ec != std::errc{} || name.substr(0, 1) == "-" || n > (std::numeric_limits<index_t>::max)() / 2) return index_t(-1);
    name.remove_prefix(std::size_t(status.ptr - name.data()));
    return n;
  };
  index_t const generation = number();
  if (generation < 0 || name.substr(0, 1) != "." || name == ".index") return name == ".index" ? generation : -1;
  name.remove_prefix(1);
  return number() >= 0 && name == ".safetensors" ? generation : -1;
}
/// One that no file of this path has yet. Errors: io_error, if the folder cannot be read, or `path` is of another kind.
template <class = void>
index_t new_generation(std::string const& path) {
  auto const [folder, file] = folder_and_name(path);
  index_t last = 0;
  bool replaced = false;
  for_names_in(folder, [&, &of = file](std::string const& name) {
    last = (std::max)(last, generation_in(name, of));
    replaced = replaced || name == of;
  });
  if (replaced) {
    ranged_file const old(path);
    std::string first((std::min)(std::size_t(old.size()), shard_index::first_line.size()), '\0');
    old.read(0, index_t(first.size()), first.data());
    if (!first.empty() && first != shard_index::first_line)
      old.fail("the file is no index that sla::save has written, and is not replaced: remove it, or give another path");
  }
  return last + 1;
}
/// Removes the files of all other generations; what stays, the next save removes.
template <class Disk>
void remove_others(Disk& disk, std::string const& path, index_t generation) {
  auto const [folder, file] = folder_and_name(path);
  std::vector<std::string> old;
  try {
    for_names_in(folder, [&, &of = file](std::string const& found) {
      if (auto const g = generation_in(found, of); g >= 0 && g != generation) old.push_back(found);
    });
  } catch (error const&) {
    return;
  }
  for (auto const& found : old) disk.remove(path.substr(0, path.size() - file.size()) + found);
}
/// f(), with `undo` on every rank if it fails on one, whose error is then that of all.
template <class F, class Undo>
void together_or(any_communicator& c, F const& f, Undo const& undo) {
  std::exception_ptr mine;
  try {
    f();
  } catch (error const&) {
    mine = std::current_exception();
  }
  if (all_reduce(c, std::int64_t(mine ? 1 : 0), monoid::maximum) != 0) undo();
  together(c, [&] {
    if (mine) std::rethrow_exception(mine);
    return 0;
  });
}

template <class Disk, class X, class... More>
void save_on(Disk& disk, std::string const& path, X const& x, More const&... more) {
  any_communicator& c = x.mesh().communicator(0);
  if constexpr (sizeof...(More) > 0)
    if (!((more.mesh() == x.mesh()) && ...))
      throw value_error(text("save('", path, "', ...): the tensors are on meshes of different worlds; save those of each mesh by themselves"));
  std::vector<char> first(path.begin(), path.end());
  broadcast(c, first);
  auto const found = together(c, [&] {
    if (std::string const given(first.begin(), first.end()); path != given)
      throw value_error(text("save on rank ", c.rank(), ": the path is '", path, "', and '", given,
                             "' on rank 0; every rank gives the same, and writes a file of its own beside it"));
    return c.rank() == 0 ? new_generation(path) : index_t(0);
  });
  index_t const generation = all_reduce(c, found, monoid::maximum);

  shard_index index{.generation = generation, .tensors = {saved_as(x), saved_as(more)...}};
  saved_shard mine{.counts = {counts_of(x), counts_of(more)...}};
  std::string const name = shard_index::shard_name(path, generation, c.rank());
  std::string const beside = text(path, ".", generation, ".index");
  auto const give_up = [&] {
    disk.remove(name);
    if (c.rank() == 0) disk.remove(beside);
  };
  together_or(c, [&] {
    shard_map const map(index.tensors, mine.counts);
    checked_writer<Disk> out(disk, name);
    auto const put = [&](void const* data, index_t bytes) { out.put(data, bytes); };
    put(map.head().data(), index_t(map.head().size()));
    for (int width : {8, 4}) {  // in the order of the map
      int k = 0;
      auto const write = [&](auto const& y) {
        saved_tensor const& t = index.tensors[std::size_t(k++)];
        if ((t.is_double ? 8 : 4) == width) put_part(y, t, shard_part::values, put);
        if (t.scattered && width == 8) put_part(y, t, shard_part::numbers, put);
        if (t.sparse && width == 8) put_part(y, t, shard_part::row_ptr, put);
        if (t.sparse && (t.wide_columns() ? 8 : 4) == width) put_part(y, t, shard_part::col, put);
      };
      write(x), (write(more), ...);
    }
    mine.checksum = out.finish();
  }, give_up);

  std::vector<index_t> numbers{index_t(mine.checksum)};
  for (auto const& n : mine.counts) numbers.insert(numbers.end(), {n.rows, n.entries});
  auto const all = all_gather(c, numbers).values;
  together_or(c, [&] {
    if (c.rank() != 0) return;
    for (std::size_t at = 0; at < all.size(); at += numbers.size()) {
      saved_shard s{.checksum = std::uint32_t(all[at])};
      for (std::size_t n = at + 1; n < at + numbers.size(); n += 2) s.counts.push_back({all[n], all[n + 1]});
      index.shards.push_back(std::move(s));
    }
    std::string const words = index.text_of();
    new_file<Disk> file(disk, beside);
    file.write(0, words.data(), index_t(words.size()));
    file.finish();
    disk.finish_folder(folder_and_name(path).first);  // the shards are found, before the index that names them
    disk.rename(beside, path);
    disk.finish_folder(folder_and_name(path).first);
  }, give_up);
  if (c.rank() == 0) remove_others(disk, path, generation);
}
} // namespace detail

/// Writes distributed tensors to files that any number of ranks reads: an index at `path`, and beside it a shard of each rank,
/// path.GENERATION.RANK.safetensors, which readers of safetensors know: the tensor k is the array k, a sparse one k.values, k.row_ptr and
/// k.col, the rows of that rank with global columns. The checksums of a shard, CRC-32C of each 64 KiB, are its last array. Collective.
///     save("state", K, x);   auto [K2, x2] = load<decltype(K), decltype(x)>(m, "state");
/// Each shard is new and on the disk before the index that names them takes the place of the old one, by a rename; then the old shards are
/// removed. So whoever is killed at any byte leaves the old state or the new one, and files that the next save removes. One save of a path
/// runs at a time, and no load beside it.
/// Law: dense tensors by Shard<d, ...> (any axes, as several right-hand sides), sparse ones by SparseShard<0>, Csr, with batches and blocks;
/// all on one mesh of one axis.
/// Cost: a rank writes its part, once, and holds 64 KiB of it twice. Errors, on every rank: io_error, which names the file; the old state is kept then.
/// Source: the safetensors format, https://huggingface.co/docs/safetensors.
template <class... X>
void save(std::string const& path, X const&... x) {
  if constexpr (detail::require_saveable<X...>()) {
    detail::system_disk disk;
    detail::save_on(disk, path, x...);
  }
}

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `load<Sparse, Dense, ...>(mesh, path)`: what `save` has written, on any number of ranks, each of which reads the ranges of the shards that have its rows.
#pragma once

#include <memory>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <sla/dist/assembly/vectors.hpp>
#include <sla/dist/files/save.hpp>

namespace sla {

/// Rows lie as they were saved, where the mesh has as many ranks as then; else in equal ranges.
struct saved_rows {};

namespace detail {

/// The files of one `load` on one rank, opened when something of them is wanted.
class saved_files {
public:
  template <class = void>
  saved_files(any_communicator& c, std::string path) : path_(std::move(path)) {
    auto bytes = together(c, [&] {
      std::vector<char> all;
      if (c.rank() != 0) return all;
      ranged_file const file(path_);
      all.resize(std::size_t(file.size()));
      file.read(0, file.size(), all.data());
      return all;
    });
    broadcast(c, bytes);
    index_ = shard_index::read(path_, std::string(bytes.begin(), bytes.end()));
    open_.resize(index_.shards.size());
  }
  std::string const& path() const { return path_; }
  shard_index const& index() const { return index_; }
  saved_tensor const& tensor(int k) const { return index_.tensors[std::size_t(k)]; }

  /// f(shard, first, count, at) for what the shards have of the rows [begin, end) in the order of the shards: `count` rows from that shard's row `first`
  /// are those from begin + at on.
  template <class F>
  void for_rows(int k, index_t begin, index_t end, F const& f) const {
    index_t start = 0;
    for (std::size_t s = 0; s < index_.shards.size() && start < end; ++s) {
      index_t const next = start + index_.shards[s].counts[std::size_t(k)].rows, lo = (std::max)(begin, start), hi = (std::min)(end, next);
      if (lo < hi) f(int(s), lo - start, hi - lo, lo - begin);
      start = next;
    }
  }
  shard_counts counts(int shard, int k) const { return index_.shards[std::size_t(shard)].counts[std::size_t(k)]; }
  /// `count` numbers of the k-th tensor's array from its number `first` on. Errors: io_error with the name of the shard.
  template <class T>
  void read(int shard, int k, shard_part part, index_t first, index_t count, T* to) {
    auto& found = opened(shard);
    found.file.read(found.map.begin(k, part) + first * index_t(sizeof(T)), count * index_t(sizeof(T)), to);
  }
  template <class = void>
  [[noreturn]] void fail(int shard, std::string const& what) const {
    throw io_error(shard_index::shard_name(path_, index_.generation, shard), 0, 0, what);
  }
  /// A shard, whose length and header are as the index says.
  template <class = void>
  void open(int shard) { (void)opened(shard); }

private:
  struct open_shard {
    shard_map map;
    checked_reader file;
  };
  template <class = void>
  open_shard& opened(int shard) {
    auto& at = open_[std::size_t(shard)];
    if (at) return *at;
    auto const& s = index_.shards[std::size_t(shard)];
    shard_map map(index_.tensors, s.counts);
    index_t const content = map.content();
    at.reset(new open_shard{std::move(map), {shard_index::shard_name(path_, index_.generation, shard), content, s.checksum}});
    std::string head(at->map.head().size(), '\0');
    at->file.read(0, index_t(head.size()), head.data());
    if (head != at->map.head()) fail(shard, "the header is another one than its index says");
    return *at;
  }
  std::string path_;
  shard_index index_;
  std::vector<std::unique_ptr<open_shard>> open_;
};

/// The rows of a tensor that a rank reads, in the order of the shards: its own where those are a range, else an equal share of all.
struct read_rows {
  index_t begin, end;
  bool own;
};
template <class P, class Mesh>
read_rows rows_to_read(bool scattered, index_t rows, shared_layout<Mesh> const& layout) {
  int const rank = layout.mesh.coordinate(0), ranks = layout.mesh.size(0);
  if (scattered || !lies_in_ranges<P>(layout)) return {Balanced::first(rank, rows, ranks), Balanced::first(rank + 1, rows, ranks), false};
  index_t const count = part_extent<typename P::family>(layout, 0, rank), first = count > 0 ? part_global<typename P::family>(layout, 0, 0) : 0;
  return {first, first + count, true};
}
template <class = void>
std::vector<index_t> range_of(read_rows const& rows) {
  std::vector<index_t> out(std::size_t(rows.end - rows.begin));
  std::iota(out.begin(), out.end(), rows.begin);
  return out;
}
/// The global numbers of such rows of a saved tensor.
template <class = void>
std::vector<index_t> numbers_of(saved_files& files, int k, read_rows const& rows) {
  auto out = range_of(rows);
  if (!files.tensor(k).scattered) return out;
  files.for_rows(k, rows.begin, rows.end, [&](int shard, index_t first, index_t count, index_t at) {
    files.read(shard, k, shard_part::numbers, first, count, out.data() + at);
    for (index_t n = at; n < at + count; ++n)
      if (index_t const i = out[std::size_t(n)], all = files.tensor(k).rows(); i < 0 || i >= all) files.fail(shard, text("a row of tensor ", k, " has the number ", i, " of ", all));
  });
  return out;
}

/// What this rank owns of dense rows with these global numbers: x is [outer][row][inner], and so is part(count). Collective.
template <class Family, class Mesh, class Local, class Part>
Local delivered_part(any_communicator& c, shared_layout<Mesh> const& layout, std::vector<index_t> const& number, Local const& x, index_t outer, index_t inner, Part const& part) {
  using T = typename Local::value_type;
  rank_group const group = group_of(layout, 0);
  index_t const given = index_t(number.size()), own = part_extent<Family>(group, group.rank);
  terms_by_owner const terms(c, part_owners<Family>(group, given, [&](index_t n) { return number[std::size_t(n)]; }));
  auto const places = terms.template send<index_t>(c, 1, [&](index_t n, index_t* to) { *to = number[std::size_t(n)]; });
  auto const values = terms.template send<T>(c, outer * inner, [&](index_t n, T* to) {
    for (index_t o = 0; o < outer; ++o) to = std::copy_n(x.data() + (o * given + n) * inner, inner, to);
  });
  auto out = together(c, [&] {
    if (index_t(places.values.size()) != own) throw value_error(text("of the rows in the files, ", places.values.size(), " belong to rank ", c.rank(), ", which has ", own));
    return part(own);
  });
  T const* from = values.values.data();
  for (index_t const global : places.values) {
    index_t const n = local_row<Family>(group, global);
    for (index_t o = 0; o < outer; ++o, from += inner) std::copy_n(from, inner, out.data() + (o * own + n) * inner);
  }
  return out;
}

/// The k-th tensor, dense, by this layout. Collective.
template <class X, class Mesh>
X load_dense(any_communicator& c, saved_files& files, int k, std::shared_ptr<shared_layout<Mesh>> layout) {
  using Local = local_of_t<X>;
  using P = typename the_placement<X>::type;
  using Family = typename P::family;
  saved_tensor const& t = files.tensor(k);
  layout->extent[0] = t.rows();
  require_accepted<Family>(t.rows(), layout->mesh.size(0));
  index_t const outer = t.outer(), inner = t.inner();
  auto const rows = rows_to_read<P>(t.scattered, t.rows(), *layout);
  index_t const wanted = rows.end - rows.begin;
  auto const part = [&](index_t count) {
    auto shape = t.shape;
    shape[std::size_t(t.axis)] = count;
    return Local(extents_from<typename Local::extents_type>(shape.data()), uninitialized);
  };
  std::vector<index_t> number;
  Local x = together(c, [&] {
    files.for_rows(k, rows.begin, rows.end, [&](int shard, index_t, index_t, index_t) { files.open(shard); });
    Local read = part(wanted);
    files.for_rows(k, rows.begin, rows.end, [&](int shard, index_t first, index_t count, index_t at) {
      for (index_t o = 0; o < outer; ++o)
        files.read(shard, k, shard_part::values, (o * files.counts(shard, k).rows + first) * inner, count * inner, read.data() + (o * wanted + at) * inner);
    });
    if (!rows.own) number = numbers_of(files, k, rows);
    return read;
  });
  if (!rows.own) x = delivered_part<Family>(c, *layout, number, x, outer, inner, part);
  return X(std::move(x), std::move(layout));
}

/// The rows [begin, end) of the k-th tensor, sparse, with global columns.
template <class T>
rank_rows<T> read_sparse_rows(saved_files& files, int k, read_rows const& rows) {
  saved_tensor const& t = files.tensor(k);
  rank_rows<T> out;
  out.batch = t.outer(), out.block = t.inner();
  std::vector<index_t> piece;
  files.for_rows(k, rows.begin, rows.end, [&](int shard, index_t first, index_t count, index_t) {
    piece.resize(std::size_t(count) + 1);
    files.read(shard, k, shard_part::row_ptr, first, count + 1, piece.data());
    index_t const before = out.ptr.back();
    if (piece[0] < 0 || piece.back() > files.counts(shard, k).entries || !std::is_sorted(piece.begin(), piece.end()))
      files.fail(shard, text("the row pointers of tensor ", k, " do not ascend from 0 to the number of its entries"));
    for (std::size_t n = 1; n < piece.size(); ++n) out.ptr.push_back(before + piece[n] - piece[0]);
  });
  index_t const all = out.ptr.back();
  out.col.resize(std::size_t(all));
  out.values = buffer<T>(all * out.batch * out.block, uninitialized);
  std::vector<std::int32_t> narrow;
  files.for_rows(k, rows.begin, rows.end, [&](int shard, index_t first, index_t count, index_t at) {
    index_t begin = 0;
    files.read(shard, k, shard_part::row_ptr, first, 1, &begin);
    index_t const to = out.ptr[std::size_t(at)], n = out.ptr[std::size_t(at + count)] - to;
    if (t.wide_columns()) {
      files.read(shard, k, shard_part::col, begin, n, out.col.data() + to);
    } else {
      narrow.resize(std::size_t(n));
      files.read(shard, k, shard_part::col, begin, n, narrow.data());
      std::copy(narrow.begin(), narrow.end(), out.col.begin() + to);
    }
    for (index_t e = to; e < to + n; ++e)
      if (index_t const j = out.col[std::size_t(e)]; j < 0 || j >= t.cols()) files.fail(shard, text("an entry of tensor ", k, " is in column ", j, " of ", t.cols()));
    for (index_t b = 0; b < out.batch; ++b)
      files.read(shard, k, shard_part::values, (b * files.counts(shard, k).entries + begin) * out.block, n * out.block, out.values.data() + (b * all + to) * out.block);
  });
  return out;
}
/// Rows with these global numbers, at their owners. Collective.
template <class T>
rank_rows<T> delivered_rows(any_communicator& c, rank_rows<T> const& mine, std::vector<index_t> const& number, row_partition const& rows, index_t cols) {
  std::vector<index_t> row(mine.col.size());
  for (std::size_t i = 0; i < number.size(); ++i) std::fill(row.begin() + mine.ptr[i], row.begin() + mine.ptr[i + 1], number[i]);
  index_t const count = index_t(row.size());
  return deliver<T>(
      c, rows, cols, count, mine.batch, mine.block, [&](index_t e) { return entry_place{row[std::size_t(e)], mine.col[std::size_t(e)]}; },
      [&](index_t e, T* to) {
        for (index_t b = 0; b < mine.batch; ++b) to = std::copy_n(mine.values.data() + (b * count + e) * mine.block, mine.block, to);
      });
}
/// The k-th tensor, sparse, by this layout of its rows. Collective.
template <class X, class Mesh>
X load_sparse(any_communicator& c, saved_files& files, int k, shared_layout<Mesh> const& layout) {
  using Sparse = local_of_t<X>;
  using S = typename Sparse::shape_type;
  saved_tensor const& t = files.tensor(k);
  auto const rows = rows_to_read<typename the_placement<X>::type>(t.scattered, t.rows(), layout);
  std::vector<index_t> number;
  auto slice = together(c, [&] {
    files.for_rows(k, rows.begin, rows.end, [&](int shard, index_t, index_t, index_t) { files.open(shard); });
    auto out = read_sparse_rows<typename Sparse::value_type>(files, k, rows);
    if (!rows.own) number = numbers_of(files, k, rows);
    return out;
  });
  if (!rows.own) slice = delivered_rows(c, slice, number, *layout.rows, t.cols());
  auto const batch = extents_from<typename S::batch_extents>(t.shape.data());
  auto [local, handle] = localize<Sparse>(slice, S(batch, t.rows(), t.cols()), layout.mesh, 0, {}, layout.rows);
  return X(std::move(local), std::move(handle));
}

/// Who owns the rows of the k-th tensor. Tensors with the same owners share them. Collective.
template <class How, class Mesh>
std::shared_ptr<row_partition const> rows_of_saved(any_communicator& c, saved_files& files, int k, How const& how, Mesh const& m,
                                                   std::vector<std::shared_ptr<row_partition const>>& known) {
  saved_tensor const& t = files.tensor(k);
  std::shared_ptr<row_partition const> found;
  if constexpr (std::same_as<How, saved_rows>) {
    std::vector<index_t> first{0};
    for (int s = 0; s < int(files.index().shards.size()); ++s) first.push_back(first.back() + files.counts(s, k).rows);
    if (int(first.size()) != c.size() + 1) {
      found = std::make_shared<row_partition const>(owner_map::equal(t.rows(), c.size()), c.rank());
    } else if (!t.scattered) {
      found = std::make_shared<row_partition const>(owner_map(std::move(first)), c.rank());
    } else {
      auto const r = std::size_t(c.rank());
      auto const mine = together(c, [&] { return numbers_of(files, k, {first[r], first[r + 1], false}); });
      found = std::make_shared<row_partition const>(c, t.rows(), mine, std::vector<int>(mine.size(), c.rank()));
    }
  } else {
    found = rows_by(how, "load<...>(mesh, path, layout)", c, unseen_pattern{t.rows(), t.sparse ? t.cols() : 1}, m.size(0), m.coordinate(0));
  }
  for (auto const& other : known)
    if (same_rows(other.get(), found.get())) return other;
  known.push_back(found);
  return found;
}
template <class X, class How, class Mesh>
X load_one(any_communicator& c, saved_files& files, int k, How const& how, Mesh const& m, std::vector<std::shared_ptr<row_partition const>>& known) {
  saved_tensor const asked = saved_type<X>();
  if (!asked.accepts(files.tensor(k)))
    throw io_error(files.path(), 0, 0, text("tensor ", k, " is ", files.tensor(k).words(), ", and the type to be loaded is ", asked.words(),
                                            "; load<...> takes the types that were saved, in their order"));
  auto layout = std::make_shared<shared_layout<Mesh>>();
  layout->mesh = m;
  if constexpr (!the_placement<X>::type::family::stated) layout->rows = rows_of_saved(c, files, k, how, m, known);
  if constexpr (is_sparse_tensor<local_of_t<X>>)
    return load_sparse<X>(c, files, k, *layout);
  else
    return load_dense<X>(c, files, k, std::move(layout));
}
template <class... X>
struct loaded {
  using type = std::tuple<std::remove_cvref_t<X>...>;
};
template <class X>
struct loaded<X> {
  using type = std::remove_cvref_t<X>;
};
template <class... X>
using loaded_t = typename loaded<X...>::type;
template <class Mesh, class X>
inline constexpr bool is_on = false;
template <class Mesh, class Local, class... P>
inline constexpr bool is_on<Mesh, distributed<Local, Mesh, P...>> = true;
} // namespace detail

/// What `save` has written at `path`, as the types that were saved, in their order; a tuple of them if there are several. Collective.
///     auto [K2, x2] = load<decltype(K), decltype(x)>(mesh, "state");
/// The mesh may have any number of ranks. Rows are sharded as `how` says: saved_rows, a partitioner that needs no pattern (as equal_rows), or a layout; tensors by the same
/// owners share them. Bits are those that were saved. Placement: that of the types, and of a rectangular matrix the columns in equal ranges.
/// Cost: a rank reads the 64 KiB pieces that have its rows. Where rows are or get scattered, it reads an equal share and sends each row to its owner.
/// Errors, on every rank: io_error that names the shard that is missing, cut short or damaged, or the index; a tensor is of another type than it was saved as.
template <class... X, class Mesh, class How = saved_rows>
  requires(is_mesh<Mesh>)
detail::loaded_t<X...> load(Mesh const& m, std::string const& path, How const& how = {}) {
  constexpr bool saveable = detail::require_saveable<std::remove_cvref_t<X>...>(), same_mesh = (detail::is_on<Mesh, std::remove_cvref_t<X>> && ...);
  static_assert(!saveable || same_mesh, "sla: load<decltype(D), ...>(mesh, path): the types are of tensors on another kind of mesh than this one");
  if constexpr (saveable && same_mesh) {
    any_communicator& c = m.communicator(0);
    detail::saved_files files(c, path);
    if (files.index().tensors.size() != sizeof...(X))
      throw io_error(path, 0, 0, text("there are ", files.index().tensors.size(), " tensors, and the types of ", sizeof...(X),
                                      " are given; load<...> takes the types that were saved, in their order"));
    std::vector<std::shared_ptr<row_partition const>> known;
    return [&]<std::size_t... K>(std::index_sequence<K...>) {
      return detail::loaded_t<X...>{detail::load_one<std::remove_cvref_t<X>>(c, files, int(K), how, m, known)...};
    }(std::index_sequence_for<X...>{});
  } else {
    throw value_error("");  // after the sentence
  }
}

} // namespace sla

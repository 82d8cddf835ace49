// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One subdomain of a matrix: its rows and columns as a square tensor, and a preconditioner of it on vectors where they lie. How
// subdomains are put together is in solve/precond/composed/schwarz.hpp, and on ranks in dist/solve/schwarz_on_ranks.hpp.
#pragma once

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include <sla/core/held.hpp>
#include <sla/exec/host.hpp>
#include <sla/tensor/build/convert.hpp>

namespace sla::detail {

/// Those of `more` that are not in `set`, once and ascending; `set` ascends.
template <class = void>
std::vector<index_t> outside_of(std::vector<index_t> const& set, std::vector<index_t> more) {
  std::sort(more.begin(), more.end());
  more.erase(std::unique(more.begin(), more.end()), more.end());
  std::vector<index_t> out;
  std::set_difference(more.begin(), more.end(), set.begin(), set.end(), std::back_inserter(out));
  return out;
}
/// Both, ascending, of two lists that ascend and have nothing in common.
template <class = void>
std::vector<index_t> merged(std::vector<index_t> const& a, std::vector<index_t> const& b) {
  std::vector<index_t> out(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), out.begin());
  return out;
}

/// The square of the given rows (ascending) and the columns of these numbers, sorted: `walk(k, f)` calls f(source, column) for
/// the entries of rows[k].
template <class F, class Walk>
pattern_map<F> square_of(std::vector<index_t> const& rows, Walk const& walk) {
  using Col = typename F::col_type;
  using Ptr = typename F::ptr_type;
  index_t const n = index_t(rows.size());
  std::vector<index_t> sources;
  std::vector<Col> columns;
  std::vector<std::pair<index_t, index_t>> entries;
  buffer<Ptr> ptr(n + 1, uninitialized);
  ptr[0] = 0;
  for (index_t k = 0; k < n; ++k) {
    entries.clear();
    walk(k, [&](index_t source, index_t column) {
      auto const at = std::lower_bound(rows.begin(), rows.end(), column);
      if (at != rows.end() && *at == column) entries.push_back({at - rows.begin(), source});
    });
    std::sort(entries.begin(), entries.end());
    for (auto const& [column, source] : entries) {
      columns.push_back(Col(column));
      sources.push_back(source);
    }
    ptr[k + 1] = narrowed<Ptr>(index_t(columns.size()), "the number of entries of a subdomain,", "Csr<std::int32_t, std::int64_t>");
  }
  buffer<Col> col(index_t(columns.size()), uninitialized);
  buffer<index_t> source(col.size(), uninitialized);
  std::copy(columns.begin(), columns.end(), col.data());
  std::copy(sources.begin(), sources.end(), source.data());
  using Pattern = typename F::template pattern<host_memory>;
  return {detail::shared_of<Pattern const>(Pattern{n, n, std::move(ptr), std::move(col)}), std::move(source)};
}

/// z = m * r for vectors (*batch, rows, *block[, rhs]) of a matrix of this shape, where they lie.
template <bool HasRhs, class S, class M, class X>
void apply_where_it_lies(M const& m, S const& shape, X const* r, X* z, index_t rhs) {
  using E = join_t<range_extents_t<S>, std::conditional_t<HasRhs, Extents<dyn>, Extents<>>>;
  constexpr int batch = S::batch_extents::rank;
  auto const size = [&](int axis) {
    return axis < batch ? shape.batch()[axis] : axis == batch ? shape.rows() : HasRhs && axis + 1 == E::rank ? rhs : S::block_rows;
  };
  E const extents = [&]<std::size_t... Axis>(std::index_sequence<Axis...>) { return E(size(int(Axis))...); }
  (std::make_index_sequence<std::size_t(E::rank)>{});
  tensor_view<X, E, host_memory> const vector{r, extents};
  auto node = as_node(m * vector);
  immediate<> space;
  fuse_local(space, set_statement<X, decltype(node), host_memory>{z, extents.total(), std::move(node)});
}

} // namespace sla::detail

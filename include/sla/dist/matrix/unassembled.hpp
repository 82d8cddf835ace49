// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Unassembled sparse tensors, Partial: every rank holds terms on a pattern of its own. `assemble<"rows",
// SparseShard<0>>(A)` unites the patterns and adds what meets in one entry. Assembly from triplets is in
// dist/assembly/assemble.hpp.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include <sla/dist/assembly/assemble.hpp>
#include <sla/dist/matrix/matrix_product.hpp>
#include <sla/dist/step/steps.hpp>
#include <sla/dist/value/cotangent_space.hpp>
#include <sla/grad/tape/record.hpp>

namespace sla {

namespace detail {
/// All ranks' terms on the union of their patterns, each row on its owner in `rows`.
template <int Axis, class T, class S, class F, class Mesh>
auto united_rows(shared_layout<Mesh> const& layout, sparse_tensor<T, S, F> const& A,
                 std::shared_ptr<row_partition const> const& rows) {
  auto const mine = terms_of(A);
  index_t const size = A.batch_count() * A.block_size;
  auto const slice = deliver<T>(
      layout.mesh.communicator(Axis), *rows, A.cols(), index_t(mine.place.size()), A.batch_count(), A.block_size,
      [&](index_t k) { return mine.place[std::size_t(k)]; },
      [&](index_t k, T* to) { std::copy_n(mine.value.data() + k * size, size, to); });
  using Sparse = sparse_tensor<T, open_shape_t<S>, local_csr_t<F>>;
  typename Sparse::shape_type const whole(A.shape().batch(), A.rows(), A.cols());
  return localize<Sparse>(slice, whole, layout.mesh, Axis, layout.extent, rows);
}

/// The slot of an entry in a row of a pattern; column(j) are the numbers to compare.
template <class Pattern, class Column>
index_t slot_in_row(Pattern const& pattern, index_t i, index_t col, Column const& column) {
  index_t found = -1;
  pattern.for_row(i, [&](index_t s, index_t j) {
    if (column(j) == col) found = s;
  });
  return found;
}
/// Values for the pattern of A; from(k, i, j) points to the [batch][block] of its k-th entry, at (i, j).
template <class Sparse, class From>
auto values_on(Sparse const& A, From const& from) {
  using T = typename Sparse::value_type;
  vector<T> out({A.values().size()}, uninitialized);
  index_t k = 0;
  auto const pattern = A.pattern().view();
  for (index_t i = 0; i < A.rows(); ++i)
    pattern.for_row(i, [&](index_t s, index_t j) {
      T const* const entry = from(k++, i, j);
      for (index_t b = 0; b < A.batch_count(); ++b)
        std::copy_n(entry + b * A.block_size, A.block_size, out.data() + b * A.batch_stride() + s * A.block_size);
    });
  return out;
}
/// The values [batch][block] of one entry.
template <class Sparse>
std::vector<typename Sparse::value_type> stored_entry(Sparse const& A, index_t slot) {
  std::vector<typename Sparse::value_type> out;
  for (index_t b = 0; b < A.batch_count(); ++b) {
    auto const* const from = A.values().data() + b * A.batch_stride() + slot * A.block_size;
    out.insert(out.end(), from, from + A.block_size);
  }
  return out;
}

/// A cotangent of the united tensor, on this rank's own pattern: of a pending sum summed first.
template <bool Sum, class Sparse>
auto restricted(any_communicator& c, Sparse g, Sparse const& own) {
  using T = typename Sparse::value_type;
  if constexpr (Sum) all_reduce(c, std::span<T>(g.values().data(), std::size_t(g.values().size())));
  auto const pattern = g.pattern().view();
  std::vector<T> entry;
  return values_on(own, [&](index_t, index_t i, index_t j) {
    entry = stored_entry(g, slot_in_row(pattern, i, j, [](index_t n) { return n; }));
    return entry.data();
  });
}
/// The same of one whose rows are sharded: each rank asks the owners for the entries of its pattern. Collective.
template <class Rows, class Mesh, class Sparse>
auto restricted_rows(any_communicator& c, Rows const& g, shared_layout<Mesh> const& layout, Sparse const& own) {
  using T = typename Sparse::value_type;
  auto const terms = terms_of(own);
  auto const& rows = *layout.rows;
  auto const& columns = layout.domain ? *layout.domain->rows : rows;
  using place = dependent_t<entry_place, Sparse>;
  std::vector<std::vector<place>> by(std::size_t(c.size()));
  auto const owner = rows.owners_of(c, index_t(terms.place.size()), [&](index_t k) { return terms.place[std::size_t(k)].row; });
  for (std::size_t k = 0; k < owner.size(); ++k) by[std::size_t(owner[k])].push_back(terms.place[k]);
  std::vector<place> requested;
  std::vector<std::size_t> counts, replies;
  index_t const size = own.batch_count() * own.block_size;
  for (auto const& list : by) {
    requested.insert(requested.end(), list.begin(), list.end());
    counts.push_back(list.size());
    replies.push_back(list.size() * std::size_t(size));
  }
  auto const heard = all_to_all(c, requested, counts);
  auto const pattern = g.pattern().view();
  std::vector<T> answers;
  std::vector<std::size_t> answered;
  for (std::size_t n : heard.counts) answered.push_back(n * std::size_t(size));
  for (entry_place const& p : heard.values) {
    auto const entry = stored_entry(
        g, slot_in_row(pattern, rows.local(p.row), p.col, [&](index_t j) { return layout.halo->global(columns, j); }));
    answers.insert(answers.end(), entry.begin(), entry.end());
  }
  std::vector<T> got(requested.size() * std::size_t(size));
  all_to_all(c, std::span<T const>(answers), answered, std::span<T>(got), replies);
  std::vector<std::size_t> next(counts.size(), 0);
  for (std::size_t r = 1; r < next.size(); ++r) next[r] = next[r - 1] + counts[r - 1];
  return values_on(own, [&](index_t k, index_t, index_t) {
    return got.data() + index_t(next[std::size_t(owner[std::size_t(k)])]++) * size;
  });
}
} // namespace detail

template <StepOn S, DistributedSparse X, class How = equal_rows>
  requires(S::how == step::assemble)
auto perform(S, X const& x, How const& how = {}) {
  using Mesh = mesh_of_t<X>;
  using To = typename S::to;
  using decided = detail::step_decision<S, X>;
  decided::require();
  if constexpr (!decided::legal) {
    return x;
  } else {
    using List = typename decided::result;
    constexpr int a = decided::at;
    auto& c = x.mesh().communicator(a);
    if constexpr (To::kind == placement_kind::sparse_shard) {
      static_assert(To::dim == 0 && detail::sparse_axis<List> == a,
                    "sla: assemble<axis, SparseShard<0>>(A): rows are sharded");
      detail::require_found<To>();
      detail::unseen_pattern const pattern{x.local().rows(), x.local().cols()};
      auto const rows = detail::rows_by(how, "assemble(A, layout)", c, pattern, c.size(), c.rank());
      auto [local, layout] = detail::united_rows<a>(*x.handle(), x.local(), rows);
      return typename detail::distributed_with<decltype(local), Mesh, List>::type(std::move(local), std::move(layout));
    } else {
      auto local = detail::all_terms<typename local_of_t<X>::format_type>(c, x.local().shape(), detail::terms_of(x.local()));
      return typename detail::distributed_with<decltype(local), Mesh, List>::type(std::move(local), x.handle());
    }
  }
}
template <StepOn S, class X, class How = equal_rows>
  requires(S::how == step::assemble && Traced<X> && DistributedSparse<plain_t<X>>)
auto perform(S s, X const& x, How const& how = {}) {
  using To = typename S::to;
  auto const* const own = &x.variable();
  auto rule = linear_in(
      x,
      [own](auto const&, auto const& g) {
        auto& c = g.mesh().template communicator<S::axis>();
        if constexpr (To::kind == placement_kind::sparse_shard)
          return detail::restricted_rows(c, g.local(), *g.handle(), own->value().local());
        else
          return detail::restricted<std::same_as<To, Replicate>>(c, g.local(), own->value().local());
      },
      [s, how](auto const&, auto const& d) { return perform(s, d, how); });
  return record(x.home(), perform(s, x.value(), how), std::move(rule));
}

} // namespace sla

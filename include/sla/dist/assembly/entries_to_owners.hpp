// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Entries on their way to the owners of their rows: what assembly and stored transposes are made of. A rank holds what it
// sends and what it owns, never the whole. What becomes of delivered rows is in dist/assembly/rows.hpp.
#pragma once

#include <utility>
#include <vector>

#include <sla/dist/assembly/rows.hpp>
#include <sla/dist/engine/terms_by_owner.hpp>
#include <sla/tensor/build/build.hpp>

namespace sla::detail {

/// Where an entry belongs, in global numbers.
struct entry_place {
  index_t row, col;
};

/// Entries row by row: where they belong, and their values [entry][batch][block].
template <class T>
struct sparse_terms {
  std::vector<entry_place> place;
  std::vector<T> value;
};
/// Those of A, placed by place(i, j), in its own numbers unless they are others in the whole.
template <class T, class S, class F, class Place>
sparse_terms<T> terms_of(sparse_tensor<T, S, F> const& A, Place const& place) {
  sparse_terms<T> out;
  auto const pattern = A.pattern().view();
  for (index_t i = 0; i < A.rows(); ++i)
    pattern.for_row(i, [&](index_t s, index_t j) {
      out.place.push_back(place(i, j));
      for (index_t b = 0; b < A.batch_count(); ++b) {
        auto const* from = A.values().data() + b * A.batch_stride() + s * A.block_size;
        out.value.insert(out.value.end(), from, from + A.block_size);
      }
    });
  return out;
}
template <class T, class S, class F>
sparse_terms<T> terms_of(sparse_tensor<T, S, F> const& A) {
  return terms_of(A, [](index_t i, index_t j) { return entry_place{i, j}; });
}
/// Values [entry][batch][block] as tensors have them, [batch][entry][block].
template <class T>
void store_by_item(T const* from, T* to, index_t count, index_t batch, index_t block) {
  for (index_t k = 0; k < count; ++k)
    for (index_t b = 0; b < batch; ++b) std::copy_n(from + (k * batch + b) * block, block, to + (b * count + k) * block);
}
/// The sum of all ranks' terms, on the union of their patterns, on every rank. Collective.
template <class F, class T, class S>
sparse_tensor<T, S, F> all_terms(any_communicator& c, S const& shape, sparse_terms<T> const& mine) {
  auto const places = all_gather(c, mine.place).values;
  auto const values = all_gather(c, mine.value).values;
  std::vector<index_t> row, col;
  for (entry_place const& p : places) row.push_back(p.row), col.push_back(p.col);
  std::vector<T> by_item(values.size());
  store_by_item(values.data(), by_item.data(), index_t(places.size()), shape.batch_count(), S::block_rows * S::block_cols);
  return from_triplets<T, F>(shape, row, col, by_item);
}

/// The entries that all ranks have for the rows of `cols` columns that this rank owns: place(k) says where the k-th of this rank's `count`
/// belongs. What stays for other values is where they go. Collective.
class row_delivery {
public:
  template <class Place>
  row_delivery(any_communicator& c, row_partition const& rows, index_t cols, index_t count, Place const& place)
      : terms_(c, rows.owners_of(c, count, [&](index_t k) { return place(k).row; })) {
    auto places = terms_.template send<entry_place>(c, 1, [&](index_t k, entry_place* to) { *to = place(k); }).values;
    index_t const n = index_t(places.size());
    buffer<sorted_triplet<index_t>> order(n, uninitialized);
    auto begin = counting_sort(
        n, n, rows.count(),
        [&](index_t lo, index_t hi, auto const& f) {
          for (index_t k = lo; k < hi; ++k) f(rows.local(places[std::size_t(k)].row), k);
        },
        [&, sorted = order.data()](index_t at, index_t k) { sorted[at] = {places[std::size_t(k)].col, k}; });
    places = {};
    sorted_ = sort_within_rows<index_t, index_t>(rows.count(), cols, std::move(begin), std::move(order));
  }
  csr_pattern<index_t, index_t, host_memory> const& pattern() const { return *sorted_.pattern; }
  auto shared_pattern() const { return sorted_.pattern; }
  /// Values [batch][entry][block] of the pattern; write(k, to) writes the batch x block values of this rank's k-th. Entries of one place are
  /// summed, those of rank 0 first, each rank's in the order given: the bits do not depend on the engine. Collective.
  template <class T, class Write>
  buffer<T> values(any_communicator& c, index_t batch, index_t block, Write const& write) const {
    auto sums = sum_triplets<T>(sorted_, terms_.template send<T>(c, batch * block, write).values.data(), 1, batch * block); // [entry][batch][block]
    if (batch == 1) return sums;
    buffer<T> out(sums.size(), uninitialized);
    store_by_item(std::as_const(sums).data(), out.data(), pattern().nnz(), batch, block);
    return out;
  }

private:
  terms_by_owner terms_;
  triplet_order<index_t, index_t> sorted_;
};

/// The rows that this rank owns, made of the entries that all ranks have for them, as above. Collective.
/// Cost: two all_to_alls with their counts; memory of the entries sent and received.
template <class T, class Place, class Write>
rank_rows<T> deliver(any_communicator& c, row_partition const& rows, index_t cols, index_t count, index_t batch,
                     index_t block, Place const& place, Write const& write) {
  auto [pattern, values] = [&] {
    row_delivery const entries(c, rows, cols, count, place);
    return std::pair(entries.shared_pattern(), entries.values<T>(c, batch, block, write));
  }();
  return {{pattern->row_ptr.begin(), pattern->row_ptr.end()}, {pattern->col.begin(), pattern->col.end()}, std::move(values), batch, block};
}

} // namespace sla::detail

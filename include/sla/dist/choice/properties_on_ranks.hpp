// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The look at a matrix whose rows are on ranks: each looks at its own, under their numbers in the whole, and sums tell all of them what holds. That of one
// rank: tensor/structure/properties.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include <sla/dist/matrix/stored_transpose.hpp>
#include <sla/dist/multigrid/rank_level.hpp>
#include <sla/tensor/structure/properties.hpp>

namespace sla::detail {

/// The numbers in the whole of the scalar rows and columns that this rank has of D.
template <class D>
struct scalar_places {
  using S = typename local_of_t<D>::shape_type;
  global_places<D> of;
  index_t row(index_t i) const { return of.row(i / S::block_rows) * S::block_rows + i % S::block_rows; }
  index_t col(index_t j) const { return of.col(j / S::block_cols) * S::block_cols + j % S::block_cols; }
};

/// The scans of all ranks of c as one, but for the places of what was found, which are this rank's. Collective.
template <class = void>
void merge_scans(any_communicator& c, row_scan& r) {
  std::uint64_t sums[] = {r.structure, r.transposed, r.adjoint, std::uint64_t(r.zeros), std::uint64_t(r.dominant), std::uint64_t(r.strict), std::uint64_t(r.entries), std::uint64_t(r.zero_rows)};
  double most[] = {-r.low, r.high, double(r.longest), r.any ? -double(r.shortest) : -INFINITY, double(r.lower), double(r.upper), double(!r.positive), double(!r.negative), double(!r.opposed),
                   double(r.zero_amid_nonzeros), double(r.bad_row >= 0), double(r.any)};
  all_reduce(c, std::span<std::uint64_t>(sums));
  all_reduce(c, std::span<double>(most), monoid::maximum);
  r.structure = sums[0], r.transposed = sums[1], r.adjoint = sums[2];
  r.zeros = index_t(sums[3]), r.dominant = index_t(sums[4]), r.strict = index_t(sums[5]), r.entries = index_t(sums[6]), r.zero_rows = index_t(sums[7]);
  r.low = -most[0], r.high = most[1], r.longest = index_t(most[2]), r.lower = index_t(most[4]), r.upper = index_t(most[5]);
  r.positive = most[6] == 0, r.negative = most[7] == 0, r.opposed = most[8] == 0, r.zero_amid_nonzeros = most[9] > 0, r.any = most[11] > 0;
  r.shortest = r.any ? index_t(-most[3]) : 0;
  if (r.bad_row < 0 && most[10] > 0) r.bad_row = 0;
}

/// What is symmetric up to rounding, where the sums of scans are not: pairs that one rank has are compared there, and, where no rank has found two that differ,
/// the entries of the others go to the owners of their partners. Collective.
template <class D>
void settle_symmetry_on_ranks(D const& d, typename D::local_type const& A, row_scan& all, double tolerance) {
  using Local = local_of_t<D>;
  using T = typename Local::value_type;
  using K = kernel_t<T>;
  constexpr index_t P = Local::shape_type::block_rows, Q = Local::shape_type::block_cols;
  struct crossing {
    index_t row, col, item;
    K value;
    double size;
  };
  any_communicator& c = sharing(d);
  auto const& rows = *d.handle()->rows;
  index_t const own = d.handle()->halo->own() * Q;
  scalar_places<D> const places{{d}};
  auto const view = A.pattern().view();
  auto const item = [&](index_t b) { return scalar_rows<T, decltype(view), P, Q>{view, kernel_pointer(A.values().data()) + b * A.batch_stride(), A.rows() * P, A.cols() * Q}; };
  row_scan seen;
  seen.skew = seen.skew_hermitian = false;
  auto const agree = [&] {
    std::int64_t lost[] = {!seen.symmetric, !seen.hermitian};
    all_reduce(c, std::span<std::int64_t>(lost));
    seen.symmetric = lost[0] == 0, seen.hermitian = lost[1] == 0;
    return seen.has_symmetry();
  };
  for (index_t b = 0; b < A.batch_count(); ++b) {
    auto const of = item(b);
    typename decltype(of)::sizes size(of);
    for (index_t i = 0; i < of.rows && seen.has_symmetry(); ++i)
      of.for_row(i, [&](index_t j, K v) {
        if (j >= i && j < own && seen.has_symmetry()) of.compare(i, j, v, tolerance, size, seen);
        if (j < (std::min)(i, own) && seen.has_symmetry() && find_slot(view, j / P, i / Q) < 0) of.compare(i, j, v, tolerance, size, seen);
      });
  }
  if (agree()) {
    std::vector<crossing> mine;
    std::vector<typename decltype(item(0))::sizes> size;
    for (index_t b = 0; b < A.batch_count(); ++b) {
      auto const of = item(b);
      size.emplace_back(of);
      for (index_t i = 0; i < of.rows; ++i)
        of.for_row(i, [&](index_t j, K v) {
          if (j >= own) mine.push_back({places.row(i), places.col(j), b, v, size.back().root_of(i)});
        });
    }
    auto owner = rows.owners_of(c, index_t(mine.size()), [&](index_t k) { return mine[std::size_t(k)].col / P; });
    auto const arrived = terms_by_owner(c, std::move(owner)).template send<crossing>(c, 1, [&](index_t k, crossing* to) { *to = mine[std::size_t(k)]; });
    auto const place = [](crossing const& x) { return std::tuple(x.item, x.row, x.col); };
    std::ranges::sort(mine, {}, place);
    for (crossing const& other : arrived.values) {
      if (!seen.has_symmetry()) break;
      auto const partner = std::ranges::lower_bound(mine, std::tuple(other.item, other.col, other.row), {}, place);
      bool const stored = partner != mine.end() && place(*partner) == std::tuple(other.item, other.col, other.row);
      index_t const i = rows.local(other.col / P) * P + other.col % P;
      item(0).compare(other.value, stored ? partner->value : K{}, [&] { return other.size * size[std::size_t(other.item)].root_of(i); }, tolerance, seen);
    }
    agree();
  }
  all.symmetric = all.symmetric || seen.symmetric, all.hermitian = all.hermitian || seen.hermitian;
}

/// Does every connected component of the graph of D, which is symmetric, have a strictly dominant row? As far as a few exchanges show. Collective.
template <class D, class Rows>
bool strict_rows_reach_all_ranks(D const& d, Rows const& rows) {
  auto const& halo = *d.handle()->halo;
  std::vector<char> reached(std::size_t(rows.rows), 0);
  std::vector<index_t> next;
  auto const reach = [&](index_t i) {
    if (!std::exchange(reached[std::size_t(i)], char(1))) next.push_back(i);
  };
  auto const spread = [&] {
    for (; !next.empty();) {
      index_t const i = next.back();
      next.pop_back();
      rows.for_row(i, [&](index_t j, auto v) {
        if (j < rows.rows && v != decltype(v){}) reach(j);
      });
    }
  };
  for (index_t i = 0; i < rows.rows; ++i)
    if (rows.is_strict(i)) reach(i);
  for (int round = 0; round < 8; ++round) {
    spread();
    std::int64_t const left = std::count(reached.begin(), reached.end(), char(0));
    if (all_reduce(halo.communicator(), left) == 0) return true;
    auto const known = with_ghosts(halo, reached);
    for (index_t i = 0; i < rows.rows; ++i)
      rows.for_row(i, [&](index_t j, auto v) {
        if (j >= rows.rows && known[std::size_t(j)] && v != decltype(v){}) reach(i);
      });
  }
  return false;
}

/// What is said of one matrix to hold on every rank of c where it does on all that have items of it, and the largest counts. Collective.
template <class = void>
void agree_on_properties(any_communicator& c, matrix_properties& p) {
  constexpr int counts = 6, kinds = 6;
  double most[5 + counts + kinds] = {double(!p.symmetric),    double(!p.hermitian),    double(!p.positive_diagonal), double(!p.opposed_off_diagonal), double(!p.strictly_dominant()), double(p.zero_diagonals),
                                     double(p.longest_row), double(p.lower_bandwidth), double(p.upper_bandwidth),    double(p.entries),               double(p.batch)};
  double* const definite = most + 5 + counts;
  definite[int(p.definite)] = 1;
  if (p.batch == 0) std::ranges::fill(most, 0.0);  // all holds of no items
  all_reduce(c, std::span<double>(most), monoid::maximum);
  p.symmetric = most[0] == 0, p.hermitian = most[1] == 0, p.positive_diagonal = most[2] == 0, p.opposed_off_diagonal = most[3] == 0;
  p.zero_diagonals = index_t(most[5]), p.longest_row = index_t(most[6]), p.lower_bandwidth = index_t(most[7]), p.upper_bandwidth = index_t(most[8]);
  p.entries = index_t(most[9]), p.batch = index_t(most[10]), p.strictly_dominant_rows = most[4] == 0 ? p.rows * p.batch : 0;
  double const* const first = std::find(definite, definite + kinds, 1.0);
  if (first == definite + kinds) return;  // no rank has items
  p.definite = definiteness(first - definite);
  for (int k = 0; k < kinds; ++k)
    if (definite[k] == 1) p.definite = weaker(p.definite, definiteness(k));
}

/// The properties of D, by rows, or copies, the same on every rank: what the automatic choice asks of them, which is no place, no skew symmetry, no zero columns. Of blocks
/// and batches little is proved of definiteness. Collective. Cost: a pass over the matrix, two all_reduces; where a_ij and a_ji differ by rounding, the entries whose
/// columns are other ranks' travel once.
template <class D>
matrix_properties properties_on_ranks(D const& d, double tolerance = 8 * double(std::numeric_limits<real_t<typename local_of_t<D>::value_type>>::epsilon())) {
  using Local = local_of_t<D>;
  using T = typename Local::value_type;
  using S = typename Local::shape_type;
  Local const& A = d.local();
  matrix_properties out;
  if constexpr (owners_axis<placements_of_t<D>> < 0) {
    out = properties(A, tolerance);
  } else {
    if constexpr (is_csr<typename Local::format_type>)
      if (std::int64_t const unsorted = !has_sorted_columns(A.pattern()); all_reduce(sharing(d), unsorted) > 0)
        return properties_on_ranks(D(Local(sorted(A)), d.handle()), tolerance);
    out.rows = d.rows() * S::block_rows, out.cols = d.cols() * S::block_cols, out.batch = A.batch_count();
    out.square = out.rows == out.cols, out.complex = is_complex<T>;
    auto const view = A.pattern().view();
    scalar_places<D> const places{{d}};
    row_scan all;
    for (index_t b = 0; b < out.batch; ++b) {
      scalar_rows<T, decltype(view), S::block_rows, S::block_cols> const rows{view, kernel_pointer(A.values().data()) + b * A.batch_stride(), A.rows() * S::block_rows, out.cols};
      auto item = merged_ranges<row_scan>(rows.rows, [&](index_t lo, index_t hi) { return rows.scan(lo, hi, tolerance, places); });
      std::uint64_t const own = b == 0 ? 1 : entry_sums::mixed(std::uint64_t(b)) | 1;  // items do not make up for each other
      item.structure *= own, item.transposed *= own, item.adjoint *= own;
      all.merge(item);
    }
    merge_scans(sharing(d), all);
    out.finite = all.bad_row < 0;
    all.same_structure = all.structure == 0, all.symmetric = out.finite && all.transposed == 0, all.hermitian = out.finite && all.adjoint == 0;
    all.skew = all.skew_hermitian = false;
    bool const one_partition = same_rows(d.handle()->rows.get(), domain_layout(d.handle())->rows.get());
    if (out.square && out.finite && one_partition && !(all.symmetric && all.hermitian)) settle_symmetry_on_ranks(d, A, all, tolerance);
    tell(all, out);
    bool const is_weak = out.hermitian && all.any && all.dominant == out.rows * out.batch && all.low >= 0;
    bool strict = is_weak && out.strictly_dominant();
    if constexpr (!S::is_batched && !S::is_blocked)
      if (is_weak && !strict && all.strict > 0 && all.zeros == 0)
        strict = strict_rows_reach_all_ranks(d, scalar_rows<T, decltype(view), 1, 1>{view, kernel_pointer(A.values().data()), A.rows(), out.cols});
    if (out.hermitian && ((all.low < 0 && all.high > 0) || all.zero_amid_nonzeros))
      out.definite = definiteness::indefinite;
    else if (is_weak && (strict || all.strict == 0))
      out.definite = strict && all.zeros == 0 ? definiteness::positive_definite : definiteness::positive_semidefinite;
  }
  if constexpr (mesh_of_t<D>::rank > 1 || owners_axis<placements_of_t<D>> < 0) agree_on_properties(d.mesh().world(), out);
  return out;
}

} // namespace sla::detail

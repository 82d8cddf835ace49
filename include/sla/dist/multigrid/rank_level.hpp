// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A level of multigrid on ranks: aggregates of each rank's rows, the prolongation from them, which is smoothed with the matrix of all, and what a cycle
// multiplies by. What is asked of the rows of a level is in solve/precond/amg; local columns behind the rank's own are ghosts.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <sla/dist/matrix/algebra_on_ranks.hpp>
#include <sla/solve/precond/amg/level.hpp>

namespace sla::detail {

/// The matrix of a level on ranks: rows as those of D, of scalar entries.
template <class D>
using rank_rows_like = typename distributed_with<amg_matrix<typename local_of_t<D>::value_type>, mesh_of_t<D>, placements_of_t<D>>::type;

/// It, as a cycle multiplies by it: x and A x are this rank's parts. Nothing on the last level.
template <class L>
struct rank_matrix {
  std::shared_ptr<L const> all = {};

  rank_matrix() = default;
  explicit rank_matrix(L matrix) : all(std::make_shared<L const>(std::move(matrix))) {}
  halo_plan const& halo() const { return *all->handle()->halo; }
  index_t rows() const { return all->local().rows(); }
  index_t cols() const { return halo().own(); }
  index_t nnz() const { return all->local().nnz(); }
};
template <class L, class X>
auto operator*(rank_matrix<L> const& A, X const& x) {
  auto const rows = view(A.all->local());
  using Product = halo_product<std::remove_const_t<decltype(rows)>, X, halo_plan const*>;
  return Product{{rows, x, typename Product::extents_type(A.rows())}, &A.halo()};
}

/// The numbers of this rank's columns, behind them those of its ghosts. Collective.
template <class T>
std::vector<T> with_ghosts(halo_plan const& halo, std::vector<T> own) {
  halo_exchange<T> under_way(halo, own.data(), {1, 1});
  under_way.wait();
  own.insert(own.end(), under_way.ghosts(), under_way.ghosts() + halo.ghosts());
  return own;
}

/// Is A its own adjoint, up to rounding? Entries whose column is another rank's go to its owner, and are compared there. Collective.
template <class L>
bool is_hermitian_on_ranks(L const& A) {
  using T = typename local_of_t<L>::value_type;
  struct crossing {
    index_t row, col;
    T value;
  };
  auto const& halo = *A.handle()->halo;
  auto const& rows = *A.handle()->rows;
  any_communicator& c = halo.communicator();
  auto const pattern = A.local().pattern().view();
  std::vector<crossing> mine;
  for (index_t i = 0; i < A.local().rows(); ++i)
    pattern.for_row(i, [&](index_t s, index_t j) {
      if (j >= halo.own()) mine.push_back({rows.global(i), halo.global(rows, j), A.local().values()[s]});
    });
  auto owner = rows.owners_of(c, index_t(mine.size()), [&](index_t k) { return mine[std::size_t(k)].col; });
  auto const arrived = terms_by_owner(c, std::move(owner)).template send<crossing>(c, 1, [&](index_t k, crossing* to) { *to = mine[std::size_t(k)]; });
  auto const least = 64 * std::numeric_limits<real_t<T>>::epsilon();
  bool holds = is_hermitian(cols(A.local(), 0, halo.own()));
  for (crossing const& other : arrived.values) {
    bool partner = false;
    pattern.for_row(rows.local(other.col), [&](index_t s, index_t j) {
      if (j < halo.own() || halo.global(rows, j) != other.row) return;
      auto const a = to_kernel(A.local().values()[s]);
      partner = abs_of(a - conj_of(to_kernel(other.value))) <= least * abs_of(a);
    });
    holds = holds && partner;
  }
  return all_reduce(c, index_t(!holds)) == 0;
}

/// Aggregates of all ranks: that of each of this rank's rows, -1 for none, and who owns them.
struct rank_aggregates {
  std::vector<index_t> of;
  std::shared_ptr<row_partition const> owners;
};
/// `mine`, of this rank's rows, numbered among those of all ranks. Rows that are left alone where ranks meet join the aggregate of the row that they are coupled
/// to most, as those of threads do (joined_ranges), whose ever it is: a pair of them is that of the one with the larger number. Aggregates belong to as many ranks as have
/// `gathered` of them each: of 2, 4, 8, ... ranks to the first. Collective.
template <class L>
rank_aggregates joined_ranks(L const& A, amg_rows<typename local_of_t<L>::value_type> const& rows, aggregates const& mine, index_t gathered) {
  struct member {
    index_t row = -1, group = -1, partner = -1;  ///< the partner is that of one who is alone
    std::int64_t alone = 0;
  };
  auto const& halo = *A.handle()->halo;
  any_communicator& c = halo.communicator();
  auto const& owners = *A.handle()->rows;
  index_t const n = A.local().rows();
  auto const starts_of = [&](index_t count) {
    std::vector<index_t> first{0};
    for (index_t k : all_gather(c, count)) first.push_back(first.back() + k);
    return first;
  };
  auto const pattern = A.local().pattern().view();
  auto const most_coupled = [&](index_t i, auto const& may) {
    index_t to = -1;
    real_t<typename local_of_t<L>::value_type> most = 0;
    pattern.for_row(i, [&](index_t s, index_t j) {
      auto const w = coupling(to_kernel(A.local().values()[s]), rows.phase[i]);
      if (j != i && w > most && may(j)) most = w, to = j;
    });
    return to;
  };
  std::vector<index_t> size(std::size_t(mine.count), 0);
  for (index_t i = 0; i < n; ++i)
    if (mine.of[i] >= 0) ++size[std::size_t(mine.of[i])];
  index_t const first = starts_of(mine.count)[std::size_t(c.rank())];
  std::vector<member> members(static_cast<std::size_t>(n));
  for (index_t i = 0; i < n; ++i) {
    index_t const g = mine.of[i];
    bool const alone = g >= 0 && size[std::size_t(g)] < 2;
    index_t const to = alone ? most_coupled(i, [](index_t) { return true; }) : -1;
    members[std::size_t(i)] = {owners.global(i), g < 0 ? -1 : first + g, to < 0 ? -1 : halo.global(owners, to), alone};
  }
  members = with_ghosts(halo, std::move(members));
  std::vector<index_t> joins(std::size_t(n), -1);
  for (index_t i = 0; i < n; ++i) {
    member const& me = members[std::size_t(i)];
    if (!me.alone) continue;
    index_t to = most_coupled(i, [&](index_t j) { return members[std::size_t(j)].group >= 0; });
    if (to >= 0 && members[std::size_t(to)].alone) {
      bool const pair = members[std::size_t(to)].partner == me.row;
      if (pair && me.row > members[std::size_t(to)].row) continue;
      if (!pair) to = most_coupled(i, [&](index_t j) { return members[std::size_t(j)].group >= 0 && !members[std::size_t(j)].alone; });
    }
    if (to >= 0) joins[std::size_t(i)] = to, size[std::size_t(mine.of[i])] = 0;
  }
  index_t left = 0;
  for (index_t& s : size) s = s > 0 ? left++ : -1;
  auto starts = starts_of(left);
  index_t const begin = starts[std::size_t(c.rank())];
  int stride = 1;
  while (stride < c.size() && starts.back() < gathered * ((c.size() + stride - 1) / stride)) stride *= 2;
  for (int r = 0; r < c.size(); ++r) starts[std::size_t(r)] = starts[std::size_t((std::min)(c.size(), (r + stride - 1) / stride * stride))];
  rank_aggregates out{std::vector<index_t>(std::size_t(n), -1), std::make_shared<row_partition const>(owner_map(std::move(starts)), c.rank())};
  for (index_t i = 0; i < n; ++i)
    if (mine.of[i] >= 0 && joins[std::size_t(i)] < 0) out.of[std::size_t(i)] = begin + size[std::size_t(mine.of[i])];
  auto const all = with_ghosts(halo, out.of);
  for (index_t i = 0; i < n; ++i)
    if (joins[std::size_t(i)] >= 0) out.of[std::size_t(i)] = all[std::size_t(joins[std::size_t(i)])];
  return out;
}

/// What belongs to the pattern of a prolongation on ranks.
template <class L>
struct rank_prolongation {
  aggregates groups;  ///< of this rank's rows and of the ghosts that A reads, by local numbers
  std::shared_ptr<amg_pattern const> pattern;
  layout_handle<mesh_of_t<L>> layout;

  /// Collective.
  rank_prolongation(L const& A, rank_aggregates const& all, amg_rows<typename local_of_t<L>::value_type> const& rows, amg_coarsening how) {
    auto const& halo = *A.handle()->halo;
    any_communicator& c = halo.communicator();
    index_t const n = A.local().rows();
    auto const& coarse = all.owners;
    auto const group = with_ghosts(halo, all.of);
    std::vector<index_t> grouped;
    std::copy_if(group.begin(), group.end(), std::back_inserter(grouped), [](index_t g) { return g >= 0; });
    ghost_numbers const numbers(c, *coarse, grouped);
    groups.of = buffer<std::int32_t>(index_t(group.size()), uninitialized);
    for (std::size_t j = 0; j < group.size(); ++j) groups.of[index_t(j)] = group[j] < 0 ? -1 : std::int32_t(numbers.local(group[j]));
    groups.count = numbers.count();
    pattern = prolongation(A.local(), groups, rows, how).shared_pattern();

    auto of_rows = std::make_shared<shared_layout<mesh_of_t<L>>>(*A.handle()), of_columns = std::make_shared<shared_layout<mesh_of_t<L>>>(*A.handle());
    of_columns->extent[sparse_axis<placements_of_t<L>>] = coarse->extent();
    of_columns->rows = coarse;
    of_columns->halo = nullptr;
    auto const* const ptr = pattern->row_ptr.data();
    of_rows->halo = numbers.plan(c, runs_of(n, [&](index_t i) { return ptr[i] < ptr[i + 1] && pattern->col[ptr[i + 1] - 1] >= coarse->count(); }));
    of_rows->domain = std::move(of_columns);
    layout = std::move(of_rows);
  }
  /// The values of A.
  L operator()(L const& A, amg_rows<typename local_of_t<L>::value_type> const& rows, amg_coarsening how) const {
    return L(prolongation(A.local(), groups, rows, how, pattern), layout);
  }
};

/// How a level goes over to the next one: all that new values on the pattern leave as it is. The adjoint's prolongation is another, where A is not Hermitian.
template <class L>
struct rank_transfer {
  rank_prolongation<L> right;
  std::shared_ptr<rank_prolongation<L> const> left;
};

template <class L>
class rank_galerkin;
/// A level, as solve/precond/amg/level.hpp has it; rows and entries are those of all ranks.
template <class L>
struct rank_level {
  using T = typename local_of_t<L>::value_type;
  rank_matrix<L> A;
  vector<T> smoother;
  index_t rows, entries;
  std::shared_ptr<rank_transfer<L> const> transfer = {};
  std::shared_ptr<rank_galerkin<L> const> galerkin = {};
  rank_matrix<L> P = {}, R = {};
  std::shared_ptr<amg_sweep<T> const> before = {}, after = {};  ///< none
  amli_range range = {};
};

} // namespace sla::detail

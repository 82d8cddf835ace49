// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The Galerkin product of levels on ranks in local numbers: the rows of P that a rank reads are sent once, each rank multiplies as one rank does, and what it has for
// rows of others goes to these. Plans: new values on the patterns send and multiply values alone. Products of any matrices on ranks are in dist/matrix/multiply_on_ranks.hpp.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <sla/dist/multigrid/rank_level.hpp>

namespace sla::detail {

/// The messages that carry the entries of rows, whose numbers `per_row` has message after message.
inline std::vector<halo_message> messages_of_entries(std::vector<halo_message> const& rows, std::vector<std::int32_t> const& per_row) {
  std::vector<halo_message> out;
  index_t at = 0;
  for (halo_message const& m : rows) {
    index_t const first = at;
    for (index_t n = m.first; n < m.first + m.count; ++n) at += per_row[std::size_t(n)];
    if (at > first) out.push_back({m.rank, first, at - first});
  }
  return out;
}
/// What comes in such messages for what is sent. Neighbours exchange messages.
template <class V>
std::vector<V> exchanged(any_communicator& c, std::vector<V> const& sent, std::vector<halo_message> const& sends, std::vector<halo_message> const& receives) {
  std::vector<V> out(receives.empty() ? 0 : std::size_t(receives.back().first + receives.back().count));
  std::vector<outgoing_message> to;
  std::vector<incoming_message> from;
  for (halo_message const& m : sends) to.push_back(send_to(m.rank, std::span<V const>(sent).subspan(std::size_t(m.first), std::size_t(m.count))));
  for (halo_message const& m : receives) from.push_back(receive_from(m.rank, std::span<V>(out).subspan(std::size_t(m.first), std::size_t(m.count))));
  c.start(to, from)->wait();
  return out;
}

/// The rows of P that this rank owns and, behind them, those that the ghosts of A are: their columns are numbered as P's, and behind these come others'.
template <class L>
class rows_with_ghosts {
  using T = typename local_of_t<L>::value_type;

public:
  /// Collective.
  rows_with_ghosts(L const& A, L const& P) : halo_(A.handle()->halo) {
    any_communicator& c = halo_->communicator();
    auto const& mine = P.local().pattern();
    auto const& of_columns = *P.handle()->halo;
    auto const& coarse = *domain_layout(P.handle())->rows;
    std::vector<std::int32_t> lengths;
    std::vector<index_t> columns;
    for (index_t i : halo_->sent()) {
      lengths.push_back(mine.row_ptr[i + 1] - mine.row_ptr[i]);
      mine.view().for_row(i, [&](index_t s, index_t j) { columns.push_back(of_columns.global(coarse, j)), sent_.push_back(std::int32_t(s)); });
    }
    auto const arriving = exchanged(c, lengths, halo_->sends(), halo_->receives());
    sends_ = messages_of_entries(halo_->sends(), lengths), receives_ = messages_of_entries(halo_->receives(), arriving);
    auto const of_ghosts = exchanged(c, columns, sends_, receives_);

    std::vector<std::pair<index_t, std::int32_t>> known;  // columns that are no rank's own rows here, by their numbers among all
    for (index_t j = of_columns.own(); j < mine.cols; ++j) known.push_back({of_columns.global(coarse, j), std::int32_t(j)});
    std::sort(known.begin(), known.end());
    auto const place = [&](index_t g) { return std::lower_bound(known.begin(), known.end(), std::pair(g, std::int32_t(0))); };
    for (index_t g : of_ghosts) {
      auto const at = place(g);
      if (!coarse.owns(g) && (at == known.end() || at->first != g)) others.push_back(g);
    }
    std::sort(others.begin(), others.end());
    others.erase(std::unique(others.begin(), others.end()), others.end());
    for (std::size_t k = 0; k < others.size(); ++k) known.push_back({others[k], std::int32_t(mine.cols + index_t(k))});
    std::sort(known.begin(), known.end());

    index_t const own = mine.rows, here = mine.nnz();
    amg_pattern all{own + halo_->ghosts(), mine.cols + index_t(others.size()), buffer<std::int32_t>(own + halo_->ghosts() + 1, uninitialized),
                    buffer<std::int32_t>(here + index_t(of_ghosts.size()), uninitialized)};
    std::copy_n(mine.row_ptr.data(), own + 1, all.row_ptr.data());
    std::copy_n(mine.col.data(), here, all.col.data());
    for (index_t g = 0; g < halo_->ghosts(); ++g) all.row_ptr[own + g + 1] = all.row_ptr[own + g] + arriving[std::size_t(g)];
    for (std::size_t k = 0; k < of_ghosts.size(); ++k) all.col[here + index_t(k)] = coarse.owns(of_ghosts[k]) ? std::int32_t(coarse.local(of_ghosts[k])) : place(of_ghosts[k])->second;
    pattern = std::make_shared<amg_pattern const>(std::move(all));
  }
  /// Collective.
  amg_matrix<T> operator()(L const& P) const {
    std::vector<T> out;
    for (std::int32_t s : sent_) out.push_back(P.local().values()[s]);
    auto const arrived = exchanged(halo_->communicator(), out, sends_, receives_);
    buffer<T> values(pattern->nnz(), uninitialized);
    std::copy(arrived.begin(), arrived.end(), std::copy_n(P.local().values().data(), P.local().nnz(), values.data()));
    return amg_matrix<T>(Matrix(pattern->rows, pattern->cols), pattern, std::move(values));
  }

  std::shared_ptr<amg_pattern const> pattern;
  std::vector<index_t> others;  ///< the columns behind those of P, by their numbers among all

private:
  std::shared_ptr<halo_plan const> halo_;
  std::vector<std::int32_t> sent_;
  std::vector<halo_message> sends_, receives_;  ///< of entries
};

/// A matrix whose rows are the sums of what all ranks have for them: each has a share X of its own rows and, behind them, of the ghosts of a halo.
template <class L>
class summed_rows {
  using T = typename local_of_t<L>::value_type;

public:
  /// global(j): column j of X among those of all ranks. Rows lie as `rows`, columns as `columns`. Collective.
  template <class Global>
  summed_rows(std::shared_ptr<halo_plan const> halo, layout_handle<mesh_of_t<L>> const& like, std::shared_ptr<row_partition const> const& rows,
              std::shared_ptr<row_partition const> const& columns, amg_pattern const& X, Global const& global)
      : halo_(std::move(halo)), own_(X.row_ptr[halo_->own()]) {
    any_communicator& c = halo_->communicator();
    index_t const n = halo_->own();
    std::vector<std::int32_t> lengths;
    std::vector<index_t> sent;
    for (index_t i = n; i < X.rows; ++i) lengths.push_back(X.row_ptr[i + 1] - X.row_ptr[i]);
    for (index_t s = own_; s < X.nnz(); ++s) sent.push_back(global(index_t(X.col[s])));
    auto const arriving = exchanged(c, lengths, halo_->receives(), halo_->sends());
    sends_ = messages_of_entries(halo_->receives(), lengths), receives_ = messages_of_entries(halo_->sends(), arriving);
    auto const arrived = exchanged(c, sent, sends_, receives_);

    std::vector<std::int32_t> number(std::size_t(X.cols), -1);  // of the columns of own rows, in the sum
    for (index_t s = 0; s < own_; ++s) number[std::size_t(X.col[s])] = 0;
    std::vector<index_t> used;
    for (index_t j = 0; j < X.cols; ++j)
      if (number[std::size_t(j)] == 0 && !columns->owns(global(j))) used.push_back(global(j));
    std::copy_if(arrived.begin(), arrived.end(), std::back_inserter(used), [&](index_t g) { return !columns->owns(g); });
    ghost_numbers const numbers(c, *columns, used);
    for (index_t j = 0; j < X.cols; ++j)
      if (number[std::size_t(j)] == 0) number[std::size_t(j)] = std::int32_t(numbers.local(global(j)));

    std::vector<index_t> first(std::size_t(n) + 1, 0);  // what arrived, by rows
    for (std::size_t k = 0; k < arriving.size(); ++k) first[std::size_t(halo_->sent()[k]) + 1] += arriving[k];
    for (index_t i = 0; i < n; ++i) first[std::size_t(i) + 1] += first[std::size_t(i)];
    std::vector<std::pair<std::int32_t, index_t>> by_row(arrived.size());
    auto next = first;
    index_t at = 0;
    for (std::size_t k = 0; k < arriving.size(); ++k)
      for (std::int32_t m = 0; m < arriving[k]; ++m, ++at)
        by_row[std::size_t(next[std::size_t(halo_->sent()[k])]++)] = {std::int32_t(numbers.local(arrived[std::size_t(at)])), own_ + at};

    to_.resize(std::size_t(own_) + arrived.size());
    buffer<std::int32_t> row_ptr(n + 1);
    std::vector<std::int32_t> col;
    std::vector<std::pair<std::int32_t, index_t>> entries;
    auto runs = runs_of(n, [&](index_t i) {
      entries.clear();
      X.view().for_row(i, [&](index_t s, index_t j) { entries.push_back({number[std::size_t(j)], s}); });
      entries.insert(entries.end(), by_row.begin() + first[std::size_t(i)], by_row.begin() + first[std::size_t(i) + 1]);
      if (!std::is_sorted(entries.begin(), entries.end())) std::sort(entries.begin(), entries.end());
      for (auto const& [j, from] : entries) {
        if (index_t(col.size()) == row_ptr[i] || col.back() != j) col.push_back(j);
        to_[std::size_t(from)] = std::int32_t(col.size()) - 1;
      }
      row_ptr[i + 1] = std::int32_t(col.size());
      return !entries.empty() && entries.back().first >= columns->count();
    });
    buffer<std::int32_t> all(index_t(col.size()), uninitialized);
    std::copy(col.begin(), col.end(), all.data());
    pattern_ = std::make_shared<amg_pattern const>(amg_pattern{n, numbers.count(), std::move(row_ptr), std::move(all)});

    constexpr int axis = sparse_axis<placements_of_t<L>>;
    auto layout = std::make_shared<shared_layout<mesh_of_t<L>>>(*like);
    layout->extent[axis] = rows->extent();
    layout->rows = rows, layout->halo = numbers.plan(c, std::move(runs)), layout->domain = nullptr;
    if (rows != columns) {
      auto of_columns = std::make_shared<shared_layout<mesh_of_t<L>>>(*like);
      of_columns->extent[axis] = columns->extent();
      of_columns->rows = columns, of_columns->halo = nullptr, of_columns->domain = nullptr;
      layout->domain = std::move(of_columns);
    }
    layout_ = std::move(layout);
  }
  /// The sum of such shares. Collective.
  L operator()(amg_matrix<T> const& X) const {
    std::vector<T> const sent(X.values().begin() + own_, X.values().end());
    auto const arrived = exchanged(halo_->communicator(), sent, sends_, receives_);
    buffer<T> values(pattern_->nnz());
    auto* const out = kernel_pointer(values.data());
    for (index_t s = 0; s < own_; ++s) out[to_[std::size_t(s)]] = out[to_[std::size_t(s)]] + to_kernel(X.values()[s]);
    for (std::size_t k = 0; k < arrived.size(); ++k) out[to_[std::size_t(own_) + k]] = out[to_[std::size_t(own_) + k]] + to_kernel(arrived[k]);
    return L(amg_matrix<T>(Matrix(pattern_->rows, pattern_->cols), pattern_, std::move(values)), layout_);
  }

private:
  std::shared_ptr<halo_plan const> halo_;
  index_t own_;                   ///< entries of X in own rows
  std::vector<std::int32_t> to_;  ///< where they and those that arrive are summed
  std::vector<halo_message> sends_, receives_;
  std::shared_ptr<amg_pattern const> pattern_;
  layout_handle<mesh_of_t<L>> layout_;
};

/// R = Q^H and R A P, of patterns that stay.
template <class L>
class rank_galerkin {
  using Format = typename local_of_t<L>::format_type;

public:
  /// Collective.
  rank_galerkin(L const& Q, L const& A, L const& P)
      : read_(A, P), right_(A.local().shared_pattern(), read_.pattern), turn_(Q.local().shared_pattern()), both_(turn_.shared_pattern(), right_.shared_pattern()),
        restriction_(Q.handle()->halo, A.handle(), coarse(P), A.handle()->rows, *turn_.shared_pattern(), [&](index_t i) { return A.handle()->rows->global(i); }),
        product_(Q.handle()->halo, A.handle(), coarse(P), coarse(P), *both_.shared_pattern(), [&](index_t j) {
          index_t const known = P.local().cols();
          return j < known ? P.handle()->halo->global(*coarse(P), j) : read_.others[std::size_t(j - known)];
        }) {}
  /// R and R A P of such values. Collective.
  std::pair<L, L> operator()(L const& Q, L const& A, L const& P) const {
    auto const R = turn_.adjoint(Q.local());
    return {restriction_(R), product_(both_(R, right_(A.local(), read_(P))))};
  }

private:
  static std::shared_ptr<row_partition const> const& coarse(L const& P) { return domain_layout(P.handle())->rows; }

  rows_with_ghosts<L> read_;
  multiply_plan<Format, Format> right_;
  transpose_plan<Format> turn_;
  multiply_plan<Format, Format> both_;
  summed_rows<L> restriction_, product_;
};

} // namespace sla::detail

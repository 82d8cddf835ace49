// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Additive Schwarz whose subdomains are the ranks': a rank's rows and some layers of its neighbours', whose entries are fetched.
// Within one rank, and what is common: solve/precond/composed/schwarz.hpp.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sla/core/held.hpp>
#include <sla/dist/solve/mesh_world.hpp>
#include <sla/solve/precond/composed/schwarz.hpp>

namespace sla {

namespace detail {
/// What a rank's rows with overlap are, once per pattern. The square's rows are in ascending global order, whoever owns them.
template <class D>
struct rank_subdomain {
  using Local = local_of_t<D>;
  using T = typename Local::value_type;
  using Square = csr_for_t<typename Local::format_type>;
  static constexpr index_t block = Local::block_size;

  layout_handle<mesh_of_t<D>> layout;
  std::shared_ptr<typename Local::pattern_type const> pattern;  ///< of the rank's rows
  std::unique_ptr<halo_plan const> halo;  ///< of vectors: ghosts are the rows of the overlap
  pattern_map<Square> square;             ///< sources: slots of the local tensor, then entries that are fetched
  std::vector<index_t> own, ghost;        ///< where the rank's rows, by local number, and the ghosts are in the square
  std::vector<index_t> sent;              ///< slots of entries that others fetch, by rank
  std::vector<std::size_t> sent_counts;

  /// Collective.
  rank_subdomain(D const& d, int overlap) : layout(d.handle()), pattern(d.local().shared_pattern()) {
    auto const& rows = *layout->rows;
    any_communicator& c = layout->halo->communicator();
    auto const entries = pattern->view();
    global_places<D> const places{d};
    std::vector<index_t> const mine = rows.members();
    std::vector<index_t> beyond, reached;
    foreign_indices sharded;  // those beyond, owner after owner
    for (index_t g = 0; g < layout->halo->ghosts(); ++g) reached.push_back(places.col(rows.count() + g));

    gathered<index_t> requested{{}, std::vector<std::size_t>(std::size_t(c.size()), 0)}, lengths, columns;
    for (int k = 0; k < overlap; ++k) {
      beyond = merged(beyond, outside_of(merged(mine, beyond), std::move(reached)));
      sharded = foreign_among(c, rows, beyond);
      requested = ask_owners(c, sharded);
      std::vector<index_t> told_lengths, told_columns;
      sent.clear();
      sent_counts.clear();
      for (std::size_t r = 0, n = 0; r < requested.counts.size(); ++r) {
        std::size_t const sent_before = sent.size();
        for (std::size_t end = n + requested.counts[r]; n < end; ++n) {
          std::size_t const start = sent.size();
          entries.for_row(rows.local(requested.values[n]), [&](index_t s, index_t j) {
            sent.push_back(s);
            told_columns.push_back(places.col(j));
          });
          told_lengths.push_back(index_t(sent.size() - start));
        }
        sent_counts.push_back(sent.size() - sent_before);
      }
      lengths = all_to_all(c, told_lengths, requested.counts);
      columns = all_to_all(c, told_columns, sent_counts);
      reached = columns.values;
    }
    halo = std::make_unique<halo_plan const>(c, rows, sharded, requested);
    if (sent_counts.empty()) sent_counts.resize(std::size_t(c.size()));

    auto const all = merged(mine, beyond);
    auto const place = [&](index_t row) { return std::lower_bound(all.begin(), all.end(), row) - all.begin(); };
    std::vector<index_t> fetched(all.size(), -1);  // which ghost a row of the square is
    for (index_t row : sharded.at) {
      ghost.push_back(place(row));
      fetched[std::size_t(ghost.back())] = index_t(ghost.size()) - 1;
    }
    std::vector<index_t> starts{0};
    for (index_t n : lengths.values) starts.push_back(starts.back() + n);
    square = square_of<Square>(all, [&](index_t k, auto const& f) {
      index_t const g = fetched[std::size_t(k)];
      if (g < 0) {
        entries.for_row(rows.local(all[std::size_t(k)]), [&](index_t s, index_t j) { f(s, places.col(j)); });
      } else {
        for (index_t n = starts[std::size_t(g)]; n < starts[std::size_t(g) + 1]; ++n) f(d.local().nnz() + n, columns.values[std::size_t(n)]);
      }
    });
    for (index_t i = 0; i < rows.count(); ++i) own.push_back(place(rows.global(i)));
  }

  /// The row of the whole that row k of the square is.
  index_t row(index_t k) const {
    auto const& rows = *layout->rows;
    if (auto const at = std::lower_bound(own.begin(), own.end(), k); at != own.end() && *at == k) return rows.global(at - own.begin());
    return halo->global(rows, rows.count() + (std::find(ghost.begin(), ghost.end(), k) - ghost.begin()));
  }
  /// The square of this rank's subdomain, with the values of A. Collective.
  auto operator()(Local const& A) const {
    using Open = open_shape_t<typename Local::shape_type>;
    index_t const batch = A.batch_count(), nnz = square.source.size();
    std::vector<T> outgoing;
    std::vector<std::size_t> counts;
    for (index_t s : sent)
      for (index_t b = 0; b < batch; ++b) {
        T const* const from = A.values().data() + b * A.batch_stride() + s * block;
        outgoing.insert(outgoing.end(), from, from + block);
      }
    for (std::size_t n : sent_counts) counts.push_back(n * std::size_t(batch * block));
    auto const fetched = all_to_all(halo->communicator(), outgoing, counts);
    buffer<T> values(batch * nnz * block, uninitialized);
    for (index_t b = 0; b < batch; ++b)
      for (index_t n = 0; n < nnz; ++n) {
        index_t const s = square.source[n], beyond = s - A.nnz();
        T const* const from = beyond < 0 ? A.values().data() + b * A.batch_stride() + s * block : fetched.values.data() + (beyond * batch + b) * block;
        std::copy_n(from, block, values.data() + (b * nnz + n) * block);
      }
    index_t const rows = square.pattern->rows;
    return sparse_tensor<T, Open, Square>(Open(A.shape().batch(), rows, rows), square.pattern, std::move(values));
  }

  /// f(the square) on every rank. An error on one rank is thrown on all of them, and names it.
  template <class F>
  auto with_square(D const& d, F const& f) const {
    auto const A = (*this)(d.local());
    return together(d.mesh().world(), [&] {
      auto const described = [&] {
        return text("of rank ", halo->communicator().rank(), "'s subdomain, of ", A.rows(), " rows, ", halo->ghosts(), " of them of other ranks");
      };
      return with_subdomain<typename Local::shape_type>(described, [&](index_t k) { return row(k); }, [&] { return f(A); });
    });
  }
};

/// This rank's part of z = sum of R_i^T M_i R_i r. A task that all ranks share.
template <class Subdomain, class M, class S, bool HasRhs>
struct rank_schwarz_view {
  Subdomain const* part;
  M const* inner;
  S shape;  ///< of this rank's rows
  bool own_in, own_out;

  template <bool, class X, class Out>
  void sweep(X const* x, Out* out, index_t rhs) const {
    row_shape const each{shape.batch_count(), S::block_rows * rhs};
    index_t const rows = part->square.pattern->rows;
    auto const& own = part->own;
    auto const& ghost = part->ghost;
    std::vector<X> r(std::size_t(rows * each.size())), z(r.size());
    // f(element of a square's vector, of this rank's vector) and f(element of a square's, of the ghosts').
    auto const for_own = [&](auto const& f) {
      for (index_t b = 0; b < each.batch; ++b)
        for (std::size_t i = 0; i < own.size(); ++i)
          for (index_t w = 0; w < each.inner; ++w)
            f(std::size_t((b * rows + own[i]) * each.inner + w), (b * index_t(own.size()) + index_t(i)) * each.inner + w);
    };
    auto const for_ghosts = [&](auto const& f) {
      for (index_t b = 0; b < each.batch; ++b)
        for (std::size_t g = 0; g < ghost.size(); ++g)
          for (index_t w = 0; w < each.inner; ++w)
            f(std::size_t((b * rows + ghost[g]) * each.inner + w), (index_t(g) * each.batch + b) * each.inner + w);
    };
    std::optional<halo_exchange<X>> under_way;
    if (!own_in) under_way.emplace(*part->halo, x, each);
    for_own([&](std::size_t at, index_t n) { r[at] = x[n]; });
    if (under_way) {
      under_way->wait();
      for_ghosts([&](std::size_t at, index_t n) { r[at] = under_way->ghosts()[n]; });
    }
    apply_where_it_lies<HasRhs>(*inner, S(shape.batch(), rows, rows), static_cast<X const*>(r.data()), z.data(), rhs);
    for_own([&](std::size_t at, index_t n) { out[n] = scalar_cast<Out>(z[at]); });
    if (own_out) return;
    kept_list<Out> elsewhere(ghost.size() * std::size_t(each.size()));
    for_ghosts([&](std::size_t at, index_t n) { elsewhere[std::size_t(n)] = scalar_cast<Out>(z[at]); });
    reverse_halo(*part->halo, elsewhere, out, each);
  }
};
} // namespace detail

/// Schwarz over the ranks that share D's rows: M * r, M.adjoint() * r, all of them collective. Made by `schwarz(inner).setup(D)`.
template <class M, class D>
class rank_schwarz {
  using Subdomain = detail::rank_subdomain<D>;
  using S = typename local_of_t<D>::shape_type;
  using Open = detail::open_shape_t<S>;

public:
  using value_type = typename local_of_t<D>::value_type;

  rank_schwarz(std::shared_ptr<Subdomain const> part, M inner, Open shape, bool own_in, bool own_out, std::string remark)
      : part_(std::move(part)), inner_(std::move(inner)), shape_(shape), own_in_(own_in), own_out_(own_out), remark_(std::move(remark)) {}

  auto adjoint() const
    requires detail::HasAdjoint<M>
  {
    using Adjoint = decltype(inner_.adjoint());
    return rank_schwarz<Adjoint, D>(part_.shared(), inner_.adjoint(), shape_, own_out_, own_in_, remark_);
  }
  /// New values on the same pattern, those of the overlap fetched. Where this throws, all ranks are as before.
  /// Errors, on every rank: shape_error for another pattern.
  void update(D const& d) {
    bool const same = same_pattern(*part_->pattern, d.local().pattern());
    if (all_reduce(d.mesh().world(), index_t(!same)) > 0)
      throw shape_error("schwarz: update(D) takes another pattern than that of the set-up; set up anew");
    M next = inner_;
    part_->with_square(d, [&](auto const& square) { return next.update(square), 0; });
    inner_ = std::move(next);
  }
  /// This rank's preconditioner.
  M const& inner() const { return inner_; }
  /// What a report adds to the name.
  std::string const& remark() const { return remark_; }

  template <class X>
  auto times(X&& x) const {
    constexpr bool has_rhs = (node_t<X>::extents_type::rank > range_extents_t<S>::rank);
    detail::rank_schwarz_view<Subdomain, M, Open, has_rhs> const view{part_.get(), &inner_, shape_, own_in_, own_out_};
    return detail::swept<S, false>(view, shape_.batch_count() * shape_.rows() * S::block_rows, std::forward<X>(x), "schwarz");
  }

private:
  detail::held<Subdomain const, "a preconditioner"> part_;
  M inner_;
  Open shape_;
  bool own_in_, own_out_;
  std::string remark_;
};

template <class M, class D, DistributedExpr X>
auto operator*(rank_schwarz<M, D> const& m, X&& x) {
  return detail::distributed_like(std::forward<X>(x), [&](auto&& node) { return m.times(std::move(node)); });
}

/// `schwarz(inner, {...}).setup(D)` for D whose rows are on ranks. Errors: value_error on all ranks: for `parts` that is not
/// the number of ranks, an owner array (the partition says who owns what), overlap below 0; those of the inner set-up;
/// shape_error, if D is not square.
template <class Inner, DistributedSparse D>
  requires(detail::sparse_axis<placements_of_t<D>> >= 0)
auto perform(op::setup, schwarz<Inner> const& p, D const& d) {
  constexpr bool has_rows = detail::sparse_dim<placements_of_t<D>> == 0;
  static_assert(has_rows, "sla: schwarz on ranks wants A's rows sharded, SparseShard<0>: its columns are; distribute it by rows, or take transposed(D)");
  if constexpr (has_rows) {
    auto const& o = p.options;
    int const ranks = d.handle()->rows->ranks();
    detail::require_square("schwarz", "A", d);
    if (o.overlap < 0) throw value_error(text("schwarz(..., {.overlap = ", o.overlap, "}): the overlap is at least 0"));
    if ((o.parts != 0 && o.parts != ranks) || !o.owner.empty())
      throw value_error(text("schwarz(..., {.parts = ", o.parts, "}): the rows are on ", ranks,
                             " ranks, and each has one subdomain of the rows that it owns; leave parts and owner out"));
    auto const part = std::make_shared<detail::rank_subdomain<D> const>(d, o.overlap);
    auto const shape = detail::open_shape_t<typename local_of_t<D>::shape_type>(d.local().shape().batch(), d.local().rows(), d.local().rows());
    return part->with_square(d, [&](auto const& square) {
      auto m = p.inner.setup(square);
      return rank_schwarz<decltype(m), D>(part, std::move(m), shape, false, o.restricted, detail::schwarz_remark(p.inner, o, ranks));
    });
  } else {
    return applied_identity{};  // well-formed, so that the sentence is the only error
  }
}

} // namespace sla

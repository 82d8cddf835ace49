// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Preconditioners of the local block (rows and columns of one rank), and what a report tells of those of all ranks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sla/dist/matrix/matrix_product.hpp>
#include <sla/dist/matrix/stored_transpose.hpp>
#include <sla/dist/matrix/to_entries.hpp>
#include <sla/dist/solve/memory_on_ranks.hpp>
#include <sla/solve/seam/method.hpp>
#include <sla/solve/seam/numbered_error.hpp>
#include <sla/solve/seam/report.hpp>
#include <sla/tensor/arrange/slice.hpp>

namespace sla {

namespace detail {
/// What is said behind words that count rows as a rank does.
template <class = void>
std::string in_local_order(row_partition const& rows) {
  return text(" (rows of rank ", rows.rank(), ", which owns ", rows.words(), ", are counted in its local order, ascending)");
}
/// Words about rows that the rank owns or, OfLocal, about those of D.local(): by their numbers in the whole.
template <bool OfLocal, class D>
std::string in_the_whole(numbered_text const& words, D const& d, char const* remedy = "") {
  using S = typename local_of_t<D>::shape_type;
  auto const& rows = *d.handle()->rows;
  global_places<D> const places{d};
  return text(words.with(S::block_rows, S::block_cols, [&](index_t i) { return OfLocal ? places.row(i) : rows.global(i); }, [&](index_t j) { return places.col(j); }), remedy, " (found by rank ", rows.rank(), ')');
}
/// f() on every rank, where f sees the rows of D by their local numbers: those that the rank owns, or the rows of D.local(), which are others where entries are
/// distributed. An error on one rank is thrown on all, names the rank, and rows by their numbers in the whole where it can.
template <bool OfLocal = false, class D, class F>
auto with_local_rows(D const& d, F const& f) {
  return together(d.mesh().world(), [&] {
    if constexpr (owners_axis<placements_of_t<D>> < 0) {
      return f();
    } else {
      try {
        return f();
      } catch (numbered_error const& e) {
        throw value_error(in_the_whole<OfLocal>(e.words(), d));
      } catch (value_error const& e) {
        throw value_error(e.what() + in_local_order(*d.handle()->rows));
      }
    }
  });
}
/// The same with f(the block of D that reads this rank's part only): what local preconditioners see. M, what is made of it or what makes that, may say that it
/// reads the diagonal only: the block is not cut out for it then, nor where it is all that the rank has.
template <class M, class D, class F>
auto with_own_block(D const& d, F const& f) {
  if constexpr (by_entries<placements_of_t<D>>) {
    auto const block = own_block(d);
    return with_local_rows(d, [&] { return f(block); });
  } else {
    return with_local_rows(d, [&] {
      using Local = local_of_t<D>;
      if constexpr (sparse_axis<placements_of_t<D>> < 0 || requires { requires M::reads_diagonal_only; }) {
        return f(d.local());
      } else {
        index_t const own = d.handle()->halo->own();
        if (own == d.local().cols()) return f(d.local());
        Local const block = [&] {
          if constexpr (Local::memory_type::is_host)
            return cols(d.local(), 0, own);
          else  // once per set-up
            return to<typename Local::memory_type>(cols(to<host_memory>(d.local()), 0, own));
        }();
        return f(block);
      }
    });
  }
}

/// f(dimension of rows) on every rank, where f sees what this rank has of a vector that lies so: an error on one rank is thrown on all, and names rows of the whole.
template <class Mesh, class... P, class F>
auto with_own_elements(layout_handle<Mesh> const& layout, placements<P...>, F const& f) {
  int rows = 0;
  ([&] {
    if constexpr (P::kind == placement_kind::shard)
      if constexpr (!P::family::stated) rows = P::dim;
  }(), ...);
  return together(layout->mesh.world(), [&] {
    try {
      return f(rows);
    } catch (numbered_error const& e) {
      auto const global = [&](index_t n) {
        index_t at = n;
        int axis = 0;
        ([&] {
          if constexpr (P::kind == placement_kind::shard)
            if (P::dim == rows) at = part_global<typename P::family>(*layout, axis, n);
          ++axis;
        }(), ...);
        return at;
      };
      throw value_error(text(e.words().with(1, 1, global, global), " (found by rank ", layout->mesh.world().rank(), ')'));
    }
  });
}

/// What a report tells of preconditioners of ranks' own blocks: the same on all ranks that share a matrix.
struct block_words {
  struct failed {
    reason why = reason::converged;
    std::string what;
  };
  std::vector<failed> failures = {};  ///< of items: that of the first rank that has one
  std::size_t bytes = 0;              ///< of all ranks
  std::string remark = {};            ///< of the first rank that has rows

  /// Of copies each rank's own. Collective.
  template <class M, class D>
  static block_words of(M const& m, D const& d) {
    constexpr int axis = owners_axis<placements_of_t<D>>;
    block_words out;
    if constexpr (counts_failures<M>) {
      out.bytes = m.bytes();
      for (index_t b = 0; b < m.batch_count(); ++b) {
        auto const& failure = m.failure(b);
        out.failures.push_back({failure.why, failure.what});
        std::string& what = out.failures.back().what;
        if constexpr (requires { failure.in_solves; }) what += failure.in_solves;
        if constexpr (axis >= 0)
          if (failure.why != reason::converged && d.handle()->rows->ranks() > 1) {
            if constexpr (requires { in_the_whole<false>(failure.what, d, failure.in_solves); })
              what = in_the_whole<false>(failure.what, d, failure.in_solves);
            else
              what += in_local_order(*d.handle()->rows);
          }
      }
    }
    if constexpr (remarks_text<M>) out.remark = m.remark();
    if constexpr (axis >= 0) out.agree(d.mesh().communicator(axis), d.handle()->rows->count() > 0);
    return out;
  }

private:
  template <class Communicator>
  void agree(Communicator& c, bool has_rows) {
    bytes = std::size_t(all_reduce(c, std::uint64_t(bytes)));
    auto const first = [&](bool has) { return int(all_reduce(c, std::int64_t(has ? c.rank() : c.size()), monoid::minimum)); };
    for (failed& f : failures) {
      int const from = first(f.why != reason::converged);
      if (from == c.size()) continue;
      std::int64_t why = std::int64_t(f.why);
      broadcast(c, std::span<dependent_t<std::int64_t, Communicator>>(&why, 1), from);
      f.why = reason(why);
      send(c, f.what, from);
    }
    if (int const from = first(has_rows); from < c.size()) send(c, remark, from);
    if (!remark.empty() && c.size() > 1) remark += text(", on the first of ", c.size(), " ranks");
  }
  template <class Communicator>
  static void send(Communicator& c, std::string& words, int from) {
    std::vector<dependent_t<char, Communicator>> told(words.begin(), words.end());
    broadcast(c, told, from);
    words.assign(told.begin(), told.end());
  }
};
} // namespace detail

/// A preconditioner of each rank's own block (block Jacobi over the ranks): no communication. D is the matrix of all.
template <class M>
class local_preconditioner {
public:
  template <class D>
  local_preconditioner(M m, D const& d) : m_(std::move(m)), words_(detail::block_words::of(m_, d)) {}
  local_preconditioner(M m, detail::block_words words) : m_(std::move(m)), words_(std::move(words)) {}
  M const& local() const { return m_; }
  auto adjoint() const
    requires detail::HasAdjoint<M>
  {
    using Adjoint = decltype(m_.adjoint());
    return local_preconditioner<Adjoint>(m_.adjoint(), words_);
  }
  template <class D>
  void update(D const& d) {
    M next = m_;  // one rank's failure leaves all ranks as they were
    detail::with_own_block<M>(d, [&](auto const& block) { return next.update(block), 0; });
    words_ = detail::block_words::of(next, d);
    m_ = std::move(next);
  }
  auto const& failure(index_t item) const
    requires detail::counts_failures<M>
  {
    return words_.failures[std::size_t(item)];
  }
  index_t batch_count() const
    requires detail::counts_failures<M>
  {
    return m_.batch_count();
  }
  std::size_t bytes() const
    requires detail::counts_failures<M>
  {
    return words_.bytes;
  }
  std::string const& remark() const
    requires detail::remarks_text<M>
  {
    return words_.remark;
  }

private:
  M m_;
  detail::block_words words_;
};
template <class M, DistributedExpr X>
auto operator*(local_preconditioner<M> const& m, X&& x) {
  return detail::distributed_like(std::forward<X>(x), [&](auto&& node) { return as_node(m.local() * std::move(node)); });
}

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Factors of a matrix whose rows are on ranks: the first of the ranks that share it gathers and factors it, and solves for all.
#pragma once

#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sla/dist/matrix/stored_transpose.hpp>
#include <sla/dist/multigrid/rank_level.hpp>
#include <sla/dist/solve/mesh_world.hpp>
#include <sla/solve/direct/direct.hpp>

namespace sla {

namespace detail {
template <class D>
using matrix_on_first = sparse_tensor<typename local_of_t<D>::value_type, open_shape_t<typename local_of_t<D>::shape_type>, Csr<>>;

/// All rows of D on the first of the ranks that share them, none on the others. Collective.
template <class D>
matrix_on_first<D> whole_on_first(D const& d) {
  using M = matrix_on_first<D>;
  using T = typename M::value_type;
  any_communicator& c = sharing(d);
  global_places<D> const places{d};
  auto const terms = terms_of(d.local(), [&](index_t i, index_t j) { return entry_place{places.row(i), places.col(j)}; });
  terms_by_owner const to_first(c, std::vector<int>(terms.place.size(), 0));
  auto const place = to_first.template send<entry_place>(c, 1, [&](index_t k, entry_place* to) { *to = terms.place[std::size_t(k)]; });
  auto const value = to_first.template send<T>(c, M::block_size, [&](index_t k, T* to) { std::copy_n(terms.value.data() + k * M::block_size, M::block_size, to); });
  std::vector<index_t> row, col;
  for (entry_place const& p : place.values) row.push_back(p.row), col.push_back(p.col);
  index_t const n = c.rank() == 0 ? d.rows() : 0;
  return from_triplets<T, Csr<>>(typename M::shape_type(d.local().shape().batch(), n, n), row, col, value.values);
}
/// f() on the first of the ranks that share D, its numbers on all. Errors, on every rank: std::bad_alloc, where one has no memory.
template <class D, class F>
auto on_first(D const& d, F const& f) {
  using Result = decltype(f());
  static_assert(std::is_trivially_copyable_v<Result>);
  any_communicator& c = sharing(d);
  Result out{};
  bool const has_memory = together(d.mesh().world(), [&] {
    try {
      if (c.rank() == 0) out = f();
      return true;
    } catch (std::bad_alloc const&) {
      return false;
    }
  });
  if (all_reduce(d.mesh().world(), std::int64_t(!has_memory)) > 0) throw std::bad_alloc();
  std::vector<char> bytes(reinterpret_cast<char const*>(&out), reinterpret_cast<char const*>(&out) + sizeof(Result));
  broadcast(c, std::span<char>(bytes));
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(&out));
  return out;
}

/// The sweep of factors that the first rank has, over vectors of all.
template <class Factors, index_t Block>
struct factors_on_first {
  any_communicator* c;
  Factors factors;  ///< of the first rank
  std::vector<index_t> order;  ///< the rows of all ranks, one rank after the other
  std::vector<std::size_t> counts;
  factor_failure failure{};
  std::size_t bytes = 0;

  template <bool Adjoint, class X, class Out>
  void sweep(X const* x, Out* out, index_t rhs) const {
    bool const first = c->rank() == 0;
    std::size_t const each = std::size_t(Block * rhs), own = counts[std::size_t(c->rank())] * each;
    std::vector<std::size_t> to_first(counts.size(), 0), from_all(counts.size(), 0);
    to_first[0] = own;
    if (first)
      for (std::size_t r = 0; r < counts.size(); ++r) from_all[r] = counts[r] * each;
    kept_list<Out> mine(own), in_turn(first ? order.size() * each : 0), whole(in_turn.size());
    for (std::size_t k = 0; k < own; ++k) mine[k] = scalar_cast<Out>(x[k]);
    all_to_all(*c, std::span<Out const>(mine), to_first, std::span<Out>(in_turn), from_all);
    if (first) {
      for (std::size_t k = 0; k < order.size(); ++k) std::copy_n(in_turn.data() + k * each, each, whole.data() + std::size_t(order[k]) * each);
      factors.view().template sweep<Adjoint>(static_cast<Out const*>(whole.data()), whole.data(), rhs);
      for (std::size_t k = 0; k < order.size(); ++k) std::copy_n(whole.data() + std::size_t(order[k]) * each, each, in_turn.data() + k * each);
    }
    all_to_all(*c, std::span<Out const>(in_turn), from_all, std::span<Out>(mine), to_first);
    std::copy(mine.begin(), mine.end(), out);
  }
};
template <class Solver>
struct factors_on_first_view {
  Solver const* all;
  template <bool Adjoint, class X, class Out>
  void sweep(X const* x, Out* out, index_t rhs) const {
    all->template sweep<Adjoint>(x, out, rhs);
  }
};

/// A^-1 by factors on the first of the ranks that share A: M * r, collective. Made by `factor_on_first<Kind>{}.setup(D)`.
template <class D, factorization Kind, bool Adjoint = false>
class applied_factors_on_first {
  using M = matrix_on_first<D>;
  using T = typename M::value_type;
  using S = typename local_of_t<D>::shape_type;
  using Factors = applied_factors<T, typename M::shape_type, Csr<>, Kind>;
  using Solver = factors_on_first<Factors, S::block_rows>;

public:
  using value_type = T;
  explicit applied_factors_on_first(D const& d) : layout_(d.handle()), solver_(make(d)) {}
  applied_factors_on_first(std::shared_ptr<Solver const> solver, layout_handle<mesh_of_t<D>> layout) : layout_(std::move(layout)), solver_(std::move(solver)) {}

  applied_factors_on_first<D, Kind, !Adjoint> adjoint() const {
    return {solver_.shared(), layout_.shared()};
  }
  /// New values. Collective.
  void update(D const& d) { *this = applied_factors_on_first(d); }
  factor_failure const& failure(index_t) const { return solver_->failure; }
  index_t batch_count() const { return 1; }
  std::size_t bytes() const { return solver_->bytes; }
  /// What sweeps over this rank's part, collective.
  auto view() const { return factors_on_first_view<Solver>{solver_.get()}; }
  std::string remark() const { return solver_->counts.size() > 1 ? text("factors on one of ", solver_->counts.size(), " ranks") : std::string("factors"); }

  template <class X>
  auto times(X&& x) const {
    return swept<S, Adjoint>(view(), index_t(solver_->counts[std::size_t(solver_->c->rank())]) * S::block_rows, std::forward<X>(x), "factors");
  }

private:
  static std::shared_ptr<Solver const> make(D const& d) {
    any_communicator& c = sharing(d);
    auto const& rows = *d.handle()->rows;
    auto const whole = whole_on_first(d);
    auto made = together(d.mesh().world(), [&] {
      try {
        return std::make_shared<Solver>(Solver{&c, Factors(whole), {}, {}});
      } catch (std::bad_alloc const&) {
        throw value_error(text(name_of(Kind), ": out of memory"));
      }
    });
    made->order = rows.order(c);
    for (int r = 0; r < rows.ranks(); ++r) made->counts.push_back(std::size_t(rows.count(r)));
    made->failure = made->factors.failure(0);
    std::uint64_t numbers[] = {std::uint64_t(made->failure.why), made->factors.bytes()};
    broadcast(c, std::span<std::uint64_t>(numbers));
    std::string const words = text(made->failure.what, made->failure.in_solves);
    std::vector<char> told(words.begin(), words.end());
    broadcast(c, told);
    made->failure = {reason(numbers[0]), numbered_text(std::string(told.begin(), told.end()))};
    made->bytes = std::size_t(numbers[1]);
    return made;
  }
  held<shared_layout<mesh_of_t<D>> const, "a preconditioner"> layout_;  ///< whose communicator the solver uses
  held<Solver const, "a preconditioner"> solver_;
};
template <class D, factorization Kind, bool Adjoint, DistributedExpr X>
auto operator*(applied_factors_on_first<D, Kind, Adjoint> const& m, X&& x) {
  return distributed_like(std::forward<X>(x), [&](auto&& node) { return m.times(std::move(node)); });
}
/// Factors as a preconditioner of a matrix on ranks.
template <factorization Kind>
struct factor_on_first {
  using preconditioner_tag = void;
  using spans_ranks_tag = void;
  static constexpr char const* name = "";

  template <DistributedSparse D>
  auto setup(D const& d) const {
    return applied_factors_on_first<D, Kind>(d);
  }
};
} // namespace detail

} // namespace sla

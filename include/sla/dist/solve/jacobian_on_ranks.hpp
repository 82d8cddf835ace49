// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Jacobians of functions of vectors on ranks, stored on the pattern of a distributed matrix: `jacobian_on(D)`, an option of nonlinear_solve and
// integrate, by which their linear solves have entries.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <sla/dist/matrix/matrix_functions.hpp>
#include <sla/dist/solve/solve_gradient.hpp>
#include <sla/dist/solve/unknowns_on_ranks.hpp>
#include <sla/grad/call/jvp.hpp>
#include <sla/solve/krylov/gmres.hpp>
#include <sla/solve/nonlinear/coloring.hpp>
#include <sla/solve/precond/jacobi.hpp>

namespace sla {

namespace detail {
/// The places of this rank's entries by the colours of their columns.
template <class Index = index_t>
struct colored_entries {
  struct place {
    Index slot, row;
  };
  int colors = 0;
  std::vector<std::int32_t> own;  ///< the colour of each of this rank's columns
  std::vector<std::vector<place>> of_color;
  std::vector<index_t> diagonal;  ///< the slot of each row, or -1

  template <class D>
  explicit colored_entries(D const& d) {
    auto const whole = color_columns(gather(d));
    auto const& rows = *d.handle()->rows;
    auto const& halo = *d.handle()->halo;
    colors = whole.count, of_color.resize(std::size_t(colors)), diagonal.assign(std::size_t(d.local().rows()), -1);
    auto const color_of = [&](index_t global) { return whole.color[std::size_t(global)]; };
    for (index_t n = 0; n < halo.own(); ++n) own.push_back(color_of(rows.global(n)));
    for (index_t i = 0; i < d.local().rows(); ++i)
      d.local().pattern().view().for_row(i, [&](index_t s, index_t j) {
        index_t const column = halo.global(rows, j);
        of_color[std::size_t(color_of(column))].push_back({s, i});
        if (column == rows.global(i)) diagonal[std::size_t(i)] = s;
      });
  }
};

/// What solves with the Jacobian of F on a pattern: exact, by dual numbers, a colour of columns at a time. D: the matrix.
template <class D, class V, class... Linear>
class rank_jacobian_solver {
  using T = typename V::value_type;
  static auto prepared_for(D const& J, double rtol, Linear const&... linear) {
    if constexpr (sizeof...(Linear) == 0)
      return prepare(J, gmres{.rtol = rtol}, jacobi{});
    else
      return prepare(J, linear...);
  }

public:
  rank_jacobian_solver(D const& d, std::shared_ptr<colored_entries<> const> entries, double rtol, Linear const&... linear) : J_(d), entries_(std::move(entries)), rtol_(rtol), linear_(linear...) {}
  rank_jacobian_solver& with_diagonal() { return *this; }

  /// The Jacobian at u. Errors, on every rank: value_error, where the pattern misses an entry, or a derivative is no number; shape_error, where u lies otherwise than the rows of D.
  template <class F, class Report>
  void look(F const& f, V const& u, Report& report) {
    require_partition(u.handle(), J_.handle(), true, "jacobian_on(D): u");
    auto const slope = [&](V const& d) { return std::get<1>(jvp(f, std::tie(u), std::tie(d))); };
    V seed = u;
    auto* const values = J_.local().values().data();
    for (int c = 0; c < entries_->colors; ++c) {
      for (index_t n = 0; n < seed.local().size(); ++n) seed.local()[n] = T(entries_->own[std::size_t(n)] == c ? 1 : 0);
      auto const y = slope(seed);
      for (auto const& at : entries_->of_color[std::size_t(c)]) values[at.slot] = y.local()[at.row];
    }
    ++report.jacobians, report.derivatives += entries_->colors + 1;
    report.jacobian = text("dual numbers in ", entries_->colors, entries_->colors == 1 ? " colour" : " colours", ", pattern given");
    for (index_t n = 0; n < seed.local().size(); ++n) seed.local()[n] = random_at<T>(71, J_.handle()->rows->global(n));
    V const along = slope(seed);
    for (auto const& suspect : suspects(eval(J_ * seed), along)) {
      check(suspect.row, V(slope(without_row(seed, suspect.row))));
      if constexpr (is_complex<T>) check(suspect.row, V(slope(times_i(seed)) - times_i(along)));  // of an analytic F this is 0
    }
  }
  /// Ready to solve with J + c I. Errors: value_error, where c is not 0 and the pattern has no diagonal.
  void set_up_shifted(real_t<T> c) {
    D K = J_;
    if (c != 0) add_to_diagonal(K, [c](index_t) { return T(c); });
    set_up(K);
  }
  /// Ready to solve with J in free elements, which are 1, and c in the others, which are 0. Errors: as of set_up_shifted.
  void set_up_held(V const& free, V const& c) {
    D K = scale_rows(scale_cols(J_, free), free);
    add_to_diagonal(K, [&](index_t i) { return free.local()[i] == T(0) ? c.local()[i] : T(0); });
    set_up(K);
  }
  /// The diagonal of the Jacobian in a row of this rank.
  T diagonal_at(index_t i) const {
    index_t const s = entries_->diagonal[std::size_t(i)];
    return s < 0 ? T(0) : J_.local().values()[s];
  }
  template <class F, class Report>
  void linearize(F const& f, V const& u, Report& report) {
    look(f, u, report);
    set_up_shifted(0);
  }
  template <class Report>
  std::pair<V, sla::report> solve(V const& r, Report& report) const {
    auto s = s_->try_solve(r);
    ++report.linear_solves;
    report.linear_iterations += s.report.iterations();
    report.linear = s.report.preconditioner.empty() ? s.report.method : text(s.report.method, " + ", s.report.preconditioner);
    return {std::move(s.x), std::move(s.report)};
  }
  V solve(V const& r) const { return s_->solve(r); }
  V solve_adjoint(V const& g) const { return s_->solve_adjoint(g); }
  V times(V const& x) const { return eval(J_ * x); }
  V times_adjoint(V const& x) const { return eval(adjoint(J_) * x); }

private:
  template <class Addend>
  void add_to_diagonal(D& K, Addend const& addend) const {
    together(J_.mesh().world(), [&] {
      for (index_t i = 0; i < K.local().rows(); ++i) {
        index_t const s = entries_->diagonal[std::size_t(i)];
        if (s < 0) throw value_error(text("jacobian_on(D): the pattern has no diagonal entry in row ", K.handle()->rows->global(i), ", where steps in time, bounds and folds need one"));
        K.local().values()[s] += addend(i);
      }
      return 0;
    });
  }
  void set_up(D const& K) {
    if (s_)
      s_->update(K);
    else
      s_.emplace(std::apply([&](Linear const&... o) { return prepared_for(K, rtol_, o...); }, linear_));
  }
  /// The rows in which J v and the slope along v differ: those to look at, the same on every rank. Errors, on every rank: value_error, if a derivative is no number.
  auto suspects(V const& product, V const& slope) const {
    auto& world = J_.mesh().world();
    auto own = together(world, [&] {
      std::vector<dependent_t<suspect_row, V>> out;
      double const tolerance = std::sqrt(double(std::numeric_limits<real_t<T>>::epsilon()));
      for (index_t i = 0; i < slope.local().size(); ++i) {
        double size = std::abs(slope.local()[i]);
        J_.local().pattern().view().for_row(i, [&](index_t s, index_t) { size += std::abs(J_.local().values()[s]); });
        index_t const row = J_.handle()->rows->global(i);
        double const apart = std::abs(product.local()[i] - slope.local()[i]);
        if (!std::isfinite(apart))
          throw value_error(text("jacobian_on(D): the derivative of element ", row, " of F is NaN or infinite at this u; begin where F has derivatives"));
        if (apart > tolerance * size) out.push_back({row, apart});
      }
      return out;
    });
    return most_suspect(all_gather(world, most_suspect(std::move(own))).values);
  }
  /// v, but 0 on the columns of the pattern in a row of the whole: there the slope of that row is 0 too, unless an entry is missing. Collective.
  V without_row(V v, index_t row) const {
    auto const& rows = *J_.handle()->rows;
    std::vector<index_t> columns;
    for (index_t i = 0; i < J_.local().rows(); ++i)
      if (rows.global(i) == row) J_.local().pattern().view().for_row(i, [&](index_t, index_t j) { columns.push_back(J_.handle()->halo->global(rows, j)); });
    columns = all_gather(J_.mesh().world(), columns).values;
    std::sort(columns.begin(), columns.end());
    for (index_t n = 0; n < v.local().size(); ++n)
      if (std::binary_search(columns.begin(), columns.end(), rows.global(n))) v.local()[n] = T(0);
    return v;
  }
  static V times_i(V v) {
    for (index_t n = 0; n < v.local().size(); ++n) v.local()[n] *= T(0, 1);
    return v;
  }
  /// Errors, on every rank: value_error, where that row of what should be 0 is not.
  void check(index_t row, V const& zero) const {
    together(J_.mesh().world(), [&] {
      for (index_t i = 0; i < zero.local().size(); ++i)
        if (J_.handle()->rows->global(i) == row && zero.local()[i] != T(0))
          throw value_error(text("jacobian_on(D): the pattern of D misses an entry of row ", row, ", which directional derivatives of F have; give a D with the whole pattern"));
      return 0;
    });
  }
  D J_;
  std::shared_ptr<colored_entries<> const> entries_;
  double rtol_;
  std::tuple<Linear...> linear_;
  decltype(std::optional(prepared_for(std::declval<D const&>(), 0.0, std::declval<Linear const&>()...))) s_;
};
} // namespace detail

/// The option of nonlinear_solve, solve_bounded, trace_branch and integrate that stores Jacobians of functions of vectors on ranks, on the pattern of D, whose values do not count: `nonlinear_solve(F, u0, newton{}, jacobian_on(D), cg{},
/// amg{}, ...)`. They are exact, by dual numbers in colours of columns, and the linear method and the preconditioner behind it are set up for them; without these it is gmres{} with jacobi{}.
/// Law: D is square and sharded by rows, as u0 is; every entry of the Jacobian that is not 0 somewhere is in the pattern. Cost: once the pattern of all on every rank, for colours;
/// of a Jacobian as many derivatives of F as colours, and one more; a few more where terms cancel. Errors: value_error, on every rank, where the pattern misses an entry, or a derivative is no number; shape_error.
/// Source: Curtis, Powell and Reid, On the estimation of sparse Jacobian matrices (1974).
template <class D>
class jacobian_on {
  static_assert(always_false<D>, "sla: jacobian_on(D): D is a sparse matrix that is distributed by rows, and not traced, distribute<SparseShard<0>>(A, mesh, partitioner); of a u0 in host memory leave jacobian_on out: the pattern is found by itself");

public:
  using jacobian_option_tag = void;
  using refused = void;
  explicit jacobian_on(D const&) {}
};
template <DistributedSparse D>
class jacobian_on<D> {
public:
  using jacobian_option_tag = void;
  explicit jacobian_on(D d) : d_(std::move(d)) {
    static_assert(detail::sparse_dim<placements_of_t<D>> == 0 && local_of_t<D>::block_size == 1 && !local_of_t<D>::shape_type::is_batched,
                  "sla: jacobian_on(D): the rows of D are sharded, and it has no blocks and no batch");
    linear_world<D>::check(d_, true);
    entries_ = std::make_shared<detail::colored_entries<> const>(d_);
  }
  /// What solves with Jacobians of functions of V.
  template <class V, class... Linear>
  auto solver(double rtol, std::tuple<Linear const&...> const& linear) const {
    static_assert(std::same_as<typename V::value_type, typename local_of_t<D>::value_type>, "sla: jacobian_on(D): D has the scalars of u0: cast<T>(A) before it is distributed");
    return std::apply([&](Linear const&... o) { return std::make_shared<detail::rank_jacobian_solver<D, V, Linear...>>(d_, entries_, rtol, o...); }, linear);
  }

private:
  D d_;
  std::shared_ptr<detail::colored_entries<> const> entries_;
};
template <class D>
jacobian_on(D const&) -> jacobian_on<D>;

} // namespace sla

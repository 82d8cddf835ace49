// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The backend of a rank: a pass with halo products starts their exchanges, runs the interior rows, moving messages on between its
// blocks, waits, and runs the boundary rows with the same accumulators. Passes without halo products are those of the host.
#pragma once

#include <memory>
#include <span>

#include <sla/dist/halo/row_product.hpp>
#include <sla/exec/backend.hpp>

namespace sla {

namespace detail {
/// The exchanges of one pass, in the order of its halo products, and which rows read no ghosts of any.
struct pending_halos {
  struct any_exchange : kept_object {
    virtual ~any_exchange() = default;
    virtual void wait() = 0;
    virtual bool advance() = 0;
    virtual void const* ghosts() const = 0;
  };
  template <class T>
  struct typed_exchange final : any_exchange {
    halo_exchange<T> exchange;
    typed_exchange(halo_plan const& plan, T const* x, row_shape shape) : exchange(plan, x, shape) {}
    void wait() override { exchange.wait(); }
    bool advance() override { return exchange.advance(); }
    void const* ghosts() const override { return exchange.ghosts(); }
  };
  kept_list<std::unique_ptr<any_exchange>> list;
  row_runs const* runs = nullptr;
  row_runs common;  ///< of several plans
  int blocks = 0;   ///< since the messages were moved on; -1 where there is nothing left to move

  /// Moves the messages on after every fourth block: a call of MPI takes about a fortieth of the time of four blocks.
  template <class = void>
  between_blocks move_on() {
    return {[](void* of) {
              auto& all = *static_cast<pending_halos*>(of);
              if (all.blocks < 0 || ++all.blocks % 4 != 0) return;
              bool over = true;
              for (auto const& one : all.list) over = one->advance() && over;
              if (over) all.blocks = -1;
            },
            this};
  }

  template <class View, class X>
  void begin(halo_product<View, X, halo_plan const*> const& y) {
    using T = typename X::value_type;
    list.push_back(std::make_unique<typed_exchange<T>>(*y.plan, y.x.data, y.shape()));
    row_runs const& other = y.plan->runs();
    if (runs && runs != &other) {
      common.boundary = united(runs->boundary, other.boundary);
      common.interior = all_but(common.boundary, y.A.shape.rows());
      runs = &common;
    } else {
      runs = &other;
    }
  }
};
/// Runs statements on the rows of a list of ranges.
template <class Partials>
void run_pass(std::span<pass_statement const> statements, frame const& f, kept_list<row_range> const& runs, Partials& partials, between_blocks between = {}) {
  if (runs.empty() || f.batch == 0 || f.inner == 0) return;
  if (runs.size() == 1) return sla::run_pass(statements, f, runs[0], threads_in_use(), partials, between);
  runs_walk<dependent_t<row_range, Partials>> walk(f, runs, rows_of_blocks(statements, f));
  run_blocks(statements, f, walk, partials, between);
}

/// Maps over the statements of a pass, which replace its halo products. This one begins their exchanges by halos->begin(product), the next has
/// them read the own part only, the last the ghosts too.
template <class Halos = pending_halos>
struct begin_halos {
  Halos* halos;
  template <class X>
  X operator()(X const& x) const {
    (void)x.rebuild(*this);
    return x;
  }
  template <class View, class X>
  auto operator()(halo_product<View, X, halo_plan const*> const& y) const {
    halos->begin(y);
    return y;
  }
};
struct to_interior {
  template <class X>
  auto operator()(X const& x) const {
    return x.rebuild(*this);
  }
  template <class View, class X>
  auto operator()(halo_product<View, X, halo_plan const*> const& y) const {
    return y.interior();
  }
};
struct to_boundary {
  pending_halos const* halos;
  std::size_t* next;  ///< null for statements of other passes
  template <class X>
  auto operator()(X const& x) const {
    return x.rebuild(*this);
  }
  template <class View, class X>
  auto operator()(halo_product<View, X, halo_plan const*> const& y) const {
    using T = typename X::value_type;
    return y.boundary(next ? static_cast<T const*>(halos->list[(*next)++]->ghosts()) : nullptr);
  }
};
/// The statements, those of the pass with the ghosts that have arrived.
template <std::size_t Count, class... S>
auto with_ghosts(pending_halos const& halos, pass_plan<Count> const& plan, int pass, pack<S...> const& statements) {
  std::size_t next = 0, n = 0;
  return with_parts(
      [&](auto const&... s) {
        auto bound = [&](auto const& one) { return one.rebuild(to_boundary{&halos, plan.pass_of[n++] == pass ? &next : nullptr}); };
        return pack<decltype(bound(s))...>{{{bound(s)}...}};  // in braces: in this order
      },
      statements);
}
} // namespace detail

/// The backend of a rank's space.
struct overlapped {
  static constexpr bool is_backend = true;

  template <std::size_t Count, class... S, class F>
  void run(pass_plan<Count> const& plan, int pass, detail::pack<S...> const& statements, F f, bool merged,
           result_pointers<S...> const& results) const {
    detail::pending_halos halos;
    detail::for_statements(plan, pass, statements, [&](auto const& s, auto) { (void)s.rebuild(detail::begin_halos<>{&halos}); });
    if (halos.list.empty()) return openmp{}.run(plan, pass, statements, f, merged, results);

    pass_partials<dependent_t<std::byte, F>> partials;
    auto const list_of = [&](auto const& pieces) { return detail::statements_of_pass<F>(plan, pass, pieces, results); };
    auto const near = detail::with_parts([](auto const&... s) { return detail::packed(s.rebuild(detail::to_interior{})...); }, statements);
    detail::run_pass(list_of(near), f, halos.runs->interior, partials, halos.move_on());
    for (auto& halo : halos.list) halo->wait();
    auto const all = detail::with_ghosts(halos, plan, pass, statements);
    auto const boundary = list_of(all);
    detail::run_pass(boundary, f, halos.runs->boundary, partials);
    partials.fold(boundary, f, merged);
  }
};

} // namespace sla

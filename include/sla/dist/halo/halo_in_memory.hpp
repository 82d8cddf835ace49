// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The spaces of a rank by the memory of its tensors. On the host those of exec/host.hpp on the backend of dist/halo/overlap.hpp; elsewhere the spaces of that
// memory, whose halos are packed and read there, and are sent from host memory.
#pragma once

#include <memory>
#include <utility>

#include <sla/dist/halo/overlap.hpp>
#include <sla/exec/host.hpp>

namespace sla {

namespace detail {
/// The listed rows of x, as a message holds them.
template <class T, class Memory>
struct rows_of_message {
  using expression_tag = void;
  using value_type = T;
  using extents_type = Extents<dyn>;
  using memory_type = Memory;
  static constexpr reach depth = reach::gather;

  T const* data;
  index_t const* row;
  index_t own, batch, inner;
  extents_type shape;

  SLA_HD extents_type const& extents() const { return shape; }
  SLA_HD T at(element e) const {
    index_t const n = e.at / inner, w = e.at - n * inner, b = n % batch;
    return data[(b * own + row[n / batch]) * inner + w];
  }
  template <class F>
  rows_of_message rebuild(F const&) const {
    return *this;
  }
  template <class F>
  void accesses(F&& f, bool) const {
    f(memory_access{data, batch * own * inner * index_t(sizeof(T)), true, false});
  }
};

/// An exchange whose ghosts go on to the memory of the vector.
template <class T, class Engine>
struct exchange_elsewhere final : pending_halos::any_exchange {
  halo_exchange<T> exchange;
  Engine& engine;
  index_t count;
  std::shared_ptr<T> there{};

  template <class Pack>
  exchange_elsewhere(halo_plan const& plan, row_shape shape, Engine& e, Pack const& pack) : exchange(plan, shape, pack), engine(e), count(plan.ghosts() * shape.size()) {}
  void wait() override {
    exchange.wait();
    there = engine.template take<T>(count);
    if (count > 0) engine.write(exchange.ghosts(), there.get(), std::size_t(count) * sizeof(T));
  }
  bool advance() override { return exchange.advance(); }
  void const* ghosts() const override { return there.get(); }
};

/// Does a lowered statement have halo products?
template <class S>
inline constexpr bool has_halos = !std::same_as<S, decltype(std::declval<S const&>().rebuild(to_boundary{nullptr, nullptr}))>;
} // namespace detail

/// A space of another memory than the host's, on a rank: its passes exchange the halos of their products first. Base keeps a protected `engine_`, whose
/// `take`, `read` and `write` are in the order of its work (exec/cuda/space.cuh).
/// Cost: of a halo one pass over the rows that are sent, and a copy each way; no rows are computed meanwhile.
template <class Base>
class halos_in_memory : public Base {
public:
  using typename Base::memory_type;
  halos_in_memory() = default;
  /// Its numbers are looked at as of now: the ranks have waited for them.
  explicit halos_in_memory(frame const& f) : Base(f, 0) {}

  template <std::size_t Count, class... S, class... R>
  void run_pass(pass_plan<Count> const& plan, int pass, detail::pack<S...> const& statements, detail::pack<R...>& results) {
    if constexpr ((detail::has_halos<S> || ...)) {
      detail::pending_halos halos;
      detail::for_statements(plan, pass, statements, [&](auto const& s, auto) { (void)s.rebuild(begin_halos{this, &halos}); });
      for (auto& halo : halos.list) halo->wait();
      Base::run_pass(plan, pass, detail::with_ghosts(halos, plan, pass, statements), results);
    } else {
      Base::run_pass(plan, pass, statements, results);
    }
  }

private:
  using engine_type = std::remove_cvref_t<decltype(std::declval<Base const&>().engine())>;
  struct begin_halos {
    halos_in_memory* space;
    detail::pending_halos* halos;
    template <class X>
    X operator()(X const& x) const {
      (void)x.rebuild(*this);
      return x;
    }
    template <class View, class X>
    auto operator()(halo_product<View, X, halo_plan const*> const& y) const {
      halos->list.push_back(space->begin(*y.plan, y.x.data, y.shape()));
      return y;
    }
  };
  template <class T>
  std::unique_ptr<detail::pending_halos::any_exchange> begin(halo_plan const& plan, T const* x, detail::row_shape shape) {
    index_t const count = index_t(plan.sent().size()) * shape.size();
    return std::make_unique<detail::exchange_elsewhere<T, engine_type>>(plan, shape, this->engine_, [&](T* out) {
      if (count > 0) this->engine_.read(packed(plan, x, shape, count).get(), out, std::size_t(count) * sizeof(T));
    });
  }
  template <class T>
  std::shared_ptr<T> packed(halo_plan const& plan, T const* x, detail::row_shape shape, index_t count) {
    using Rows = detail::rows_of_message<T, memory_type>;
    auto out = this->engine_.template take<T>(count);
    Rows const rows{x, sent_rows(plan), plan.own(), shape.batch, shape.inner, Extents<dyn>(count)};
    auto now = immediate_space(memory_type{});
    fuse(now, set_statement<T, Rows, memory_type>{out.get(), count, rows});
    return out;
  }
  index_t const* sent_rows(halo_plan const& plan) {
    using List = buffer<index_t, memory_type>;
    return plan.template lists_elsewhere<List>([&] {
      List list(index_t(plan.sent().size()), uninitialized);
      this->engine_.write(plan.sent().data(), list.data(), list.bytes());
      return list;
    }).data();
  }
};

/// The spaces of a rank whose tensors lie in Memory: `immediate` behind assignment, and `solving<Many>` of an algorithm.
template <class Memory>
struct rank_spaces {
  using immediate = halos_in_memory<decltype(immediate_space(Memory{}))>;
  template <bool>
  using solving = halos_in_memory<decltype(solve_space(Memory{}, frame{}))>;
};
template <class Memory>
  requires(std::same_as<Memory, host_memory> || std::same_as<Memory, any_memory>)
struct rank_spaces<Memory> {
  using immediate = sla::immediate<overlapped>;
  template <bool Many>
  using solving = host_space<Many, overlapped>;
};

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The spaces of a rank by the memory of its tensors. On the host those of exec/host.hpp on the backend of dist/halo/overlap.hpp; elsewhere the spaces of that
// memory, whose halos are packed and read there, and are sent from host memory.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <sla/core/kept_blocks.hpp>
#include <sla/dist/halo/overlap.hpp>
#include <sla/exec/host.hpp>

namespace sla {

namespace detail {
/// The listed rows of x, or all of its first ones, as a message holds them. `rows`: of a batch item of x.
template <class T, class Memory>
struct rows_of_message {
  using expression_tag = void;
  using value_type = T;
  using extents_type = Extents<dyn>;
  using memory_type = Memory;
  static constexpr reach depth = reach::gather;

  T const* data;
  index_t const* row;  ///< null: all
  index_t rows, batch, inner;
  extents_type shape;

  SLA_HD extents_type const& extents() const { return shape; }
  SLA_HD T at(element e) const {
    index_t const line = e.at / inner, w = e.at - line * inner, n = line / batch, b = line - n * batch;
    return data[(b * rows + (row ? row[n] : n)) * inner + w];
  }
  template <class F>
  rows_of_message rebuild(F const&) const {
    return *this;
  }
  template <class F>
  void accesses(F&& f, bool) const {
    f(memory_access{data, batch * rows * inner * index_t(sizeof(T)), true, false});
  }
};
/// The own rows of x (*batch, own + ghosts, inner), with what others have added to some of them.
template <class T, class Memory>
struct rows_with_contributions {
  using expression_tag = void;
  using value_type = T;
  using extents_type = Extents<dyn>;
  using memory_type = Memory;
  static constexpr reach depth = reach::gather;

  T const *data, *added;
  index_t const* place;  ///< among the added rows; -1: of none
  index_t own, rows, batch, inner;
  extents_type shape;

  SLA_HD extents_type const& extents() const { return shape; }
  SLA_HD T at(element e) const {
    index_t const line = e.at / inner, w = e.at - line * inner, b = line / own, i = line - b * own;
    T const mine = data[(b * rows + i) * inner + w];
    return place[i] < 0 ? mine : mine + added[(place[i] * batch + b) * inner + w];
  }
  template <class F>
  rows_with_contributions rebuild(F const&) const {
    return *this;
  }
  template <class F>
  void accesses(F&& f, bool) const {
    f(memory_access{data, batch * rows * inner * index_t(sizeof(T)), true, false});
  }
};
/// The rows of a plan that others read, as lists in another memory.
template <class Memory>
struct sent_rows_in {
  buffer<index_t, Memory> sent, place;  ///< the rows in the order of messages; of each own row its place among those that are sent, or -1
  std::vector<index_t> place_of_sent;
  index_t count;

  template <class Engine>
  sent_rows_in(halo_plan const& plan, Engine& engine) : sent(index_t(plan.sent().size()), uninitialized), place(plan.own(), uninitialized), count(0) {
    std::vector<index_t> places(std::size_t(plan.own()), -1);
    for (index_t row : plan.sent()) {
      auto& at = places[std::size_t(row)];
      if (at < 0) at = count++;
      place_of_sent.push_back(at);
    }
    if (sent.size() > 0) engine.write(plan.sent().data(), sent.data(), sent.bytes());
    if (place.size() > 0) engine.write(places.data(), place.data(), place.bytes());
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
      halos_of_pass halos;
      halos.space = this;
      detail::for_statements(plan, pass, statements, [&](auto const& s, auto) { (void)s.rebuild(detail::begin_halos<halos_of_pass>{&halos}); });
      for (auto& halo : halos.list) halo->wait();
      Base::run_pass(plan, pass, detail::with_ghosts(halos, plan, pass, statements), results);
    } else {
      Base::run_pass(plan, pass, statements, results);
    }
  }

  /// out = transpose(A) x: of what this rank adds up, the rows of ghosts go to their owners. Cost: A's list by columns, made on the host once.
  template <class Y, class T>
  void put_transposed(Y const& y, T* out) {
    constexpr bool turns = requires { y.A.transposed(); };
    static_assert(turns, "sla: transpose(D) * x of parts in another memory than the host's are there for D by Csr, Sell and Dia; store the transpose of others, transposed(to<host_memory>(D))");
    if constexpr (turns) {
      using Wide = typename Y::template sum_type<T>;
      using Rows = decltype(y.A.transposed());
      using Own = detail::rows_with_contributions<Wide, memory_type>;
      halo_plan const& plan = *y.plan;
      auto const s = y.shape();
      index_t const own = plan.own(), rows = own + plan.ghosts(), ghosts = plan.ghosts() * s.size();
      auto const all = this->engine_.template take<Wide>(rows * s.size());
      write_now(all.get(), rows * s.size(), product<Rows, std::remove_cvref_t<decltype(y.x)>>{y.A.transposed(), y.x, y.local_extents()});
      detail::kept_list<Wide> to_others(static_cast<std::size_t>(ghosts));
      if (ghosts > 0) read_rows(all.get() + own * s.inner, nullptr, rows, s, ghosts, to_others.data());
      auto const& lists = lists_of(plan);
      detail::kept_list<Wide> added(static_cast<std::size_t>(lists.count * s.size()));
      detail::reverse_exchange<Wide>(plan, to_others, s).add_to_rows([&](std::size_t n, index_t b) { return added.data() + (lists.place_of_sent[n] * s.batch + b) * s.inner; });
      auto const there = this->engine_.template take<Wide>(index_t(added.size()));
      if (!added.empty()) this->engine_.write(added.data(), there.get(), added.size() * sizeof(Wide));
      index_t const size = own * s.size();
      write_now(out, size, Own{all.get(), there.get(), lists.place.data(), own, rows, s.batch, s.inner, Extents<dyn>(size)});
    }
  }

private:
  using engine_type = std::remove_cvref_t<decltype(std::declval<Base const&>().engine())>;
  /// Halos under way that go on to the memory of the space.
  struct halos_of_pass : detail::pending_halos {
    halos_in_memory* space;
    template <class Y>
    void begin(Y const& y) {
      list.push_back(space->begin(*y.plan, y.x.data, y.shape()));
    }
  };
  template <class T>
  std::unique_ptr<detail::pending_halos::any_exchange> begin(halo_plan const& plan, T const* x, detail::row_shape shape) {
    index_t const count = index_t(plan.sent().size()) * shape.size();
    return std::make_unique<detail::exchange_elsewhere<T, engine_type>>(plan, shape, this->engine_, [&](T* out) {
      if (count > 0) read_rows(x, lists_of(plan).sent.data(), plan.own(), shape, count, out);
    });
  }
  /// Rows of x, packed there, to the host.
  template <class T>
  void read_rows(T const* x, index_t const* row, index_t rows, detail::row_shape shape, index_t count, T* out) {
    auto const packed = this->engine_.template take<T>(count);
    write_now(packed.get(), count, detail::rows_of_message<T, memory_type>{x, row, rows, shape.batch, shape.inner, Extents<dyn>(count)});
    this->engine_.read(packed.get(), out, std::size_t(count) * sizeof(T));
  }
  /// In the order of the space's work, whose items do not count here.
  template <class T, class Node>
  static void write_now(T* out, index_t count, Node const& node) {
    auto now = immediate_space(memory_type{});
    fuse(now, set_statement<T, Node, memory_type>{out, count, node});
  }
  detail::sent_rows_in<memory_type> const& lists_of(halo_plan const& plan) {
    using Lists = detail::sent_rows_in<memory_type>;
    return plan.template lists_elsewhere<Lists>([&] { return Lists(plan, this->engine_); });
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

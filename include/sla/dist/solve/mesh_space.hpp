// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The space of a mesh: the operations of solve/seam/space.hpp on distributed vectors. A rank's statements are those of its memory, with
// halos; the reductions of one fuse are folded over the ranks together, so that every rank has the same bits.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include <sla/core/kept_blocks.hpp>
#include <sla/dist/value/reductions.hpp>
#include <sla/solve/seam/space.hpp>

namespace sla {

namespace detail {
template <class Local, class Mesh, class... P>
inline constexpr bool is_computed<distributed<Local, Mesh, P...>> = true;

/// Is the dimension of a vector that this placement shards an item (a batch axis or right-hand sides)? Its ranks solve
/// systems of their own; else they share a system, and reductions cross the axis.
template <class P, int BatchRank, int DomainRank>
inline constexpr bool shares_system = false;
template <int D, class F, int BatchRank, int DomainRank>
inline constexpr bool shares_system<Shard<D, F>, BatchRank, DomainRank> = D >= BatchRank && D < DomainRank;

/// The accumulators of one result as reals: complex numbers and arrays of either are runs of them.
template <class A>
std::span<double> reals_of(A& value, index_t) {
  return {reinterpret_cast<double*>(&value), sizeof(A) / sizeof(double)};
}
template <class A>
std::span<double> reals_of(item_scalar<A, host_memory>& values, index_t items) {
  return {reinterpret_cast<double*>(values.data()), std::size_t(items) * sizeof(A) / sizeof(double)};
}
/// The reals of a statement's results that are summed over ranks, in order: of blocks of vectors the products of columns that there are.
template <class Parts, class S, class A>
void append_reals(Parts& parts, S const& statement, A& result, index_t items) {
  if constexpr (requires { requires S::is_block; }) {
    auto* const matrices = [&] {
      if constexpr (requires { result.data(); })
        return result.data();
      else
        return &result;
    }();
    for (index_t k = 0; k < items; ++k)
      for (int a = 0; a < statement.vectors(); ++a)
        parts.push_back({reinterpret_cast<double*>(&matrices[k](a, 0)), std::size_t(statement.components()) * sizeof(typename S::summand) / sizeof(double)});
  } else {
    parts.push_back(reals_of(result, items));
  }
}
template <class T>
T const& inner_of(T const& s) {
  return s;
}
template <class T, class Mesh, class... P>
T const& inner_of(mesh_scalar<T, Mesh, P...> const& s) {
  return s.inner;
}
/// The number of a statement is pending on every axis over which the space reduces; else the space would add copies up.
template <class Space, class S>
constexpr void require_pending(S const*) {}
template <class Space, class... P>
constexpr void require_pending_on() {
  static_assert(Space::template folds<P...>,
                "sla: fuse(space, statements...): a reduction of values that every rank has, on an axis whose ranks share the system: the "
                "space would count it once per rank. Reduce shards; of copies the number is dot(x, y), without the space");
}
template <class Space, class S, class... P>
  requires(sizeof...(P) > 0)
constexpr void require_pending(distributed_statement<S, P...> const*) {
  require_pending_on<Space, P...>();
}
template <class Space, class R, class Mesh, class... P>
constexpr void require_pending(distributed_reduction<R, Mesh, P...> const*) {
  if constexpr (!is_norm<R>) require_pending_on<Space, P...>();
}
template <class Finish>
struct finished_by {
  template <class A>
  SLA_HD auto operator()(A const& a) const {
    return Finish::apply(a);
  }
};
} // namespace detail

template <Scalar T, class Mesh, class... P>
inline constexpr bool is_finished_number<distributed<T, Mesh, P...>> = true;

/// What a space has sent for its rank.
struct mesh_traffic {
  int reductions = 0;  ///< all_reduces
  std::uint64_t halos = 0, messages = 0, bytes = 0;
};

/// The space of a solve on a mesh. `Shared` says of each axis whether its ranks share the systems.
/// Law: all ranks that share a system call it alike. What the types check of that: a reduction is pending on each shared axis and
/// is finished there by its fuse, once; a scalar is Replicate on shared axes; only the numbers of such scalars come out of peek, so
/// that a method branches alike on all ranks that ever wait for each other. Ranks of other axes have scalars of their own
/// (Varying), and send each other nothing; those that hold copies of a system call it alike too, and hear of each other's observers. What
/// they cannot check: that `map` is given the same plain numbers everywhere.
/// Base: the space of one rank (dist/halo/halo_in_memory.hpp). Of another memory than the host's the numbers of a fuse come to the host, are folded
/// over the ranks there and go back: its work has ended then.
template <class Base, class Mesh, bool... Shared>
class basic_mesh_space : public Base {
  using base = Base;
  static constexpr bool on_host = Base::memory_type::is_host;

public:
  static constexpr bool is_distributed = true;
  template <class T>
  using scalar_type = mesh_scalar<typename base::template scalar_type<T>, Mesh, std::conditional_t<Shared, Replicate, Varying>...>;
  /// Does a reduction in these placements wait for the ranks of every shared axis?
  template <class... P>
  static constexpr bool folds = ((!Shared || P::kind == placement_kind::partial) && ...);

  /// `copied` says of each axis whether its ranks hold copies of the systems.
  basic_mesh_space(frame f, Mesh const& m, std::array<bool, sizeof...(Shared)> copied = {}) : base(f), mesh_(m), before_(carried()), copied_(copied) {}

  /// A work vector like x, in its placements.
  template <class T, class U, class E, class Memory, class... P>
  distributed<tensor<T, E, Memory>, Mesh, P...> like(distributed<tensor<U, E, Memory>, Mesh, P...> const& x) {
    return {base::template like<T>(x.local()), x.handle()};
  }
  template <class F, class... A>
  auto map(F f, A const&... a) {
    auto out = base::map(f, detail::inner_of(a)...);
    if constexpr (detail::is_pack<decltype(out)>)
      return detail::with_parts([](auto const&... part) { return detail::packed(typed(part)...); }, out);
    else
      return typed(std::move(out));
  }
  /// The scalar of these numbers, one per item of this rank. Law: ranks that share a system give the same.
  template <class T>
  scalar_type<kernel_t<T>> scalar(std::vector<T> const& numbers) {
    return typed(base::scalar(numbers));
  }
  template <class T, class... P>
  auto peek(mesh_scalar<T, Mesh, P...> const& s) {
    static_assert(((!Shared || P::kind == placement_kind::replicate) && ...),
                  "sla[E23]: the ranks that share a system may not branch on a scalar that differs among them: it comes from another space");
    return base::peek(s.inner);
  }
  template <class T, class... P>
  auto read(mesh_scalar<T, Mesh, P...> const& s) {
    return base::read(s.inner);
  }
  template <class S>
  auto result() {
    if constexpr (on_host)
      return base::template result<S>();
    else
      return this->template room<S, true>(this->items());
  }
  template <class S, class A>
  auto finished(A const& folded) {
    if constexpr (on_host) {
      return typed(base::template finished<S>(folded));
    } else {
      item_scalar<typename A::number, typename base::memory_type> numbers(folded.numbers, this->items());
      if constexpr (std::same_as<typename S::finish_type, as_is>)
        return typed(std::move(numbers));
      else
        return typed(base::map(detail::finished_by<typename S::finish_type>{}, numbers));
    }
  }

  /// A run of a method begins, and this rank watches it or not: the next sums tell all ranks whether any does, those that hold copies
  /// of the systems too. Then every sum carries two numbers more, by which one that asks to stop is heard by all at once.
  void begin_watch(bool watches) {
    request_[0] = watches;
    carries_ = true;
  }
  /// This rank asks to stop, or not. Has any rank asked, before the last sums?
  bool agreed(bool asks) {
    request_[1] = asks;
    return heard_;
  }

  /// The reductions of a fuse cross the ranks: one all_reduce per monoid and shared axis, complex numbers as reals.
  template <class... S, class... R>
  void reduce(detail::pack<S...> const& statements, detail::pack<R...>& results) {
    if constexpr (on_host) {
      fold_all(statements, results);
      base::reduce(statements, results);
    } else {
      base::reduce(statements, results);
      if constexpr ((R::is_reduction || ...)) {
        auto numbers = detail::with_parts([&](auto const&... room) { return detail::packed(on_host_from(room)...); }, results);
        fold_all(statements, numbers);
        [&]<std::size_t... N>(std::index_sequence<N...>) {
          (write_back(detail::part<N>(numbers), detail::part<N>(results)), ...);
        }(std::index_sequence_for<R...>{});
      }
    }
  }

  /// What this rank has sent since the space was made.
  mesh_traffic traffic() const {
    mesh_traffic now = carried();
    now.reductions -= before_.reductions;
    now.halos -= before_.halos;
    now.messages -= before_.messages;
    now.bytes -= before_.bytes;
    return now;
  }
  /// Tells a report what an iteration has sent.
  template <class Report>
  void account(Report& report) const {
    auto const t = traffic();
    double const n = (std::max)(1, report.iterations());
    report.sent = {t.reductions / n, double(t.halos) / n, double(t.messages) / n, double(t.bytes) / n};
  }

private:
  template <class T>
  static auto typed(T inner) {
    return mesh_scalar<T, Mesh, std::conditional_t<Shared, Replicate, Varying>...>{std::move(inner)};
  }
  template <class R>
  auto on_host_from(R const& room) {
    if constexpr (R::is_reduction) {
      index_t const count = this->items();
      item_scalar<typename R::number, host_memory> out(detail::kept_room<typename R::number>(std::size_t(count)), count);
      if (count > 0) this->engine_.read(room.numbers.get(), out.data(), std::size_t(count) * sizeof(typename R::number));
      return out;
    } else {
      return detail::nothing{};
    }
  }
  template <class N, class R>
  void write_back(N const& numbers, R const& room) {
    if constexpr (R::is_reduction)
      if (numbers.count() > 0) this->engine_.write(numbers.data(), room.numbers.get(), std::size_t(numbers.count()) * sizeof(typename R::number));
  }
  template <class Statements, class Results>
  void fold_all(Statements const& statements, Results& results) {
    fold<op::plus>(statements, results, monoid::sum);
    fold<op::maximum>(statements, results, monoid::maximum);
    fold<op::minimum>(statements, results, monoid::minimum);
  }
  template <class Fold, class... S, class... R>
  void fold(detail::pack<S...> const& statements, detail::pack<R...>& results, monoid how) {
    using real = dependent_t<double, Fold>;
    detail::kept_list<std::span<real>> parts;
    auto const take = [&]<class Statement>(Statement const& statement, auto& result) {
      if constexpr (detail::has_result<Statement>)
        if constexpr (detail::rank_monoid<typename Statement::monoid_type>() == detail::rank_monoid<Fold>())
          detail::append_reals(parts, statement, result, this->items());
    };
    [&]<std::size_t... N>(std::index_sequence<N...>) {
      (take(detail::part<N>(statements), detail::part<N>(results)), ...);
    }(std::index_sequence_for<S...>{});
    if (parts.empty()) return;
    std::array<double, 2> request = request_;
    bool const carrying = carries_ && how == monoid::sum;
    if (carrying) parts.push_back(request);
    detail::kept_list<real> all;
    for (auto const& p : parts) all.insert(all.end(), p.begin(), p.end());
    int a = 0;
    ((Shared ? all_reduce(mesh_.communicator(a++), std::span<double>(all), how) : void(a++)), ...);
    double const* from = all.data();
    for (auto const& p : parts) {
      std::copy_n(from, p.size(), p.begin());
      from += p.size();
    }
    if (!carrying) return;
    for (std::size_t k = 0; k < copied_.size(); ++k)  // copies stay alike: who holds one hears of it too
      if (copied_[k]) all_reduce(mesh_.communicator(int(k)), std::span<double>(request), how);
    carries_ = request[0] > 0;
    heard_ = heard_ || request[1] > 0;
  }
  mesh_traffic carried() const {
    mesh_traffic out;
    int a = 0;
    auto const add = [&](bool shared) {
      auto const& s = mesh_.communicator(a++).stats();
      if (!shared) return;
      out.reductions += int(s.count(collective::all_reduce));
      out.halos += s.exchanges;
      out.messages += s.messages;
      out.bytes += s.message_bytes + s.collective_bytes;
    };
    (add(Shared), ...);
    return out;
  }

  Mesh mesh_;
  mesh_traffic before_;
  std::array<bool, sizeof...(Shared)> copied_;
  std::array<double, 2> request_{}; ///< watches, asks to stop
  bool carries_ = false, heard_ = false;
};

/// The space of a mesh whose ranks have their tensors in host memory. Many: there may be several items.
template <class Mesh, bool Many, bool... Shared>
using mesh_space = basic_mesh_space<host_space<Many, overlapped>, Mesh, Shared...>;
/// The same of any memory.
template <class Memory, class Mesh, bool Many, bool... Shared>
using mesh_space_in = basic_mesh_space<typename rank_spaces<Memory>::template solving<Many>, Mesh, Shared...>;

/// A statement of `fuse` with distributed operands.
template <class S>
concept DistributedStatement = requires { typename std::remove_cvref_t<S>::distributed_statement_tag; };

/// The statements in order on a mesh; the reductions come back as scalars of the space, the same on all ranks.
/// Cost: one all_reduce per monoid, halos of gathered operands beside their interior rows.
template <ExecutionSpace Space, DistributedStatement... S>
  requires(Space::is_distributed)
auto fuse(Space& space, S const&... statements) {
  (detail::require_pending<Space>(&statements), ...);
  return detail::fuse_local(space, statements.local...);
}

} // namespace sla

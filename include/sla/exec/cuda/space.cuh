// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The Space of a device: all work is queued, scalars stay there, and `peek` answers for some calls ago, so that the device never
// waits for the host. `basic_immediate` is for plain assignment and `fuse` without a space. Engines: exec/cuda/launcher.cuh.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <sla/exec/cuda/launcher.cuh>
#include <sla/exec/fuse.hpp>
#include <sla/exec/host.hpp>
#include <sla/exec/list_space.hpp>
#include <sla/exec/space_scalar.hpp>
#include <sla/tensor/storage/dense.hpp>

namespace sla::cuda {

/// What both spaces do alike.
template <class Engine>
class space_base {
public:
  using space_tag = void;
  using memory_type = typename Engine::memory_type;
  static constexpr bool is_distributed = false;

  space_base(space_base const&) = delete;
  space_base& operator=(space_base const&) = delete;

  template <class T, class E>
  tensor<T, E, memory_type> temporary(E const& extents) {
    return vectors_.template take<T>(extents);
  }
  template <class... S>
  void count(int passes, S const&...) {
    passes_ += passes;
    ++open_;
  }
  /// A task on host memory has no place in the order of a device.
  template <class F>
  void run(F const&) {
    static_assert(always_false<F>,
                  "sla: this runs on the host alone (ilu0, factorisations, and transpose(A) * u in a format of yours whose pattern keeps no `turned` rows): on a device take "
                  "jacobi{}, and Csr for A, or store the adjoint beside it: with_adjoint(to<device_memory>(A), to<device_memory>(adjointed(A))), whose products go by rows both ways");
  }

  /// What was launched, and how many passes over memory that made.
  Engine const& engine() const { return engine_; }
  index_t passes() const { return passes_; }

protected:
  space_base() = default;
  template <class S, bool Unfinished = false>
  auto room(index_t items) {
    using Room = room_for<S, Unfinished>;
    if constexpr (std::is_void_v<typename S::result_type>)
      return Room{};
    else
      return Room{engine_.template take<typename Room::number>(items)};
  }
  template <class... S, class... R>
  void fold(detail::pack<S...> const& statements, detail::pack<R...> const& rooms, index_t items) {
    launcher<Engine>(engine_).fold(statements, rooms, items);
    if (--open_ == 0) vectors_.give_back();
  }
  Engine engine_;

private:
  detail::vectors_between<memory_type> vectors_;
  index_t passes_ = 0;
  int open_ = 0;
};

/// Everything one item, and numbers read at once.
template <class Engine>
class basic_immediate : public space_base<Engine> {
public:
  basic_immediate() = default;
  template <class S>
  auto result() {
    return this->template room<S>(1);
  }
  template <std::size_t Count, class... S, class... R>
  void run_pass(pass_plan<Count> const& plan, int pass, detail::pack<S...> const& statements, detail::pack<R...>& rooms) {
    frame const f = detail::frame_of_pass(plan.layouts[std::size_t(pass)]);
    launcher<Engine>(this->engine_).run_pass(plan, pass, statements, f, rooms);
    [&]<std::size_t... N>(std::index_sequence<N...>) {
      (merge(detail::part<N>(rooms), plan.pass_of[N] == pass, f.items()), ...);
    }(std::index_sequence_for<S...>{});
  }
  template <class... S, class... R>
  void reduce(detail::pack<S...> const& statements, detail::pack<R...>& rooms) {
    this->fold(statements, rooms, 1);
  }
  template <class S, class R>
  auto finished(R const& room) {
    typename S::result_type number;
    this->engine_.read(room.numbers.get(), &number, sizeof number);
    return user_t<typename S::result_type>(number);
  }

private:
  /// The partial results of all items are one list.
  template <class R>
  static void merge(R& room, bool now, index_t items) {
    if constexpr (R::is_reduction && !requires { requires R::is_gram; }) {  // the grid of those is of one item
      if (now) room.parts *= items;
    } else {
      (void)room, (void)now, (void)items;
    }
  }
};

/// The space of an algorithm, for vectors of any sizes that have the same items. `lag`: how many calls late `peek` answers; results do not depend on
/// it, bit for bit. Besides what launcher.cuh asks for, Engine supplies map(f, place, count, argument...), finish(),
/// read(from, to, bytes), write(from, to, bytes), and a `late_copies` with exchange(from, bytes) and forget().
template <class Engine>
class basic_space : public space_base<Engine> {
public:
  static constexpr int default_lag = 4;
  static constexpr bool has_items = true;
  using typename space_base<Engine>::memory_type;
  template <class T>
  using scalar_type = item_scalar<T, memory_type>;

  /// f: the layout of some vector, of which the items count.
  explicit basic_space(frame f = {}, int lag = default_lag) : frame_(f), by_items_(f), late_(checked(lag)) {}
  /// Of packed vectors, with an item for each system: `per_system(list, on([](frame f, auto const& systems) { return space(f, systems); }))`.
  /// Cost: each system gets as many blocks as the largest, so that sizes that differ much leave many idle.
  basic_space(frame packed, packed_systems const& systems, int lag = default_lag)
      : frame_(packed), by_items_(systems.by_items(packed)), late_(checked(lag)) {
    auto const& cuts = systems.cuts();
    cuts_ = this->engine_.template take<index_t>(index_t(cuts.size()));
    this->engine_.write(cuts.data(), cuts_.get(), cuts.size() * sizeof(index_t));
    packed_ = {cuts_.get(), 0};
    for (std::size_t k = 0; k + 1 < cuts.size(); ++k) packed_.most = (std::max)(packed_.most, cuts[k + 1] - cuts[k]);
  }

  frame const& layout() const { return frame_; }
  index_t items() const { return by_items_.items(); }
  /// How often the host waited for all work: calls of `finish`.
  int synchronizations() const { return synchronizations_; }

  template <class T, class U, class E>
  tensor<T, E, memory_type> like(tensor<U, E, memory_type> const& x) {
    return tensor<T, E, memory_type>(x.extents(), uninitialized);
  }

  template <class F, class... A>
  auto map(F const& f, A const&... a) {
    static_assert(std::is_trivially_copyable_v<F>, "sla: map(f, s...): f is a trivially copyable functor for host and device");
    using R = decltype(f(detail::item_value(detail::map_argument(a), 0)...));
    auto out = detail::results_of_map<R>([&]<class T>(std::type_identity<T>) { return scalar_type<T>(this->engine_.template take<T>(items()), items()); });
    if (items() > 0) this->engine_.map(f, detail::place_of_results(out), items(), detail::map_argument(a)...);
    return out;
  }

  /// The scalar of these numbers, one per item: the way back of `read`.
  template <class T>
  scalar_type<kernel_t<T>> scalar(std::vector<T> const& numbers) {
    buffer<kernel_t<T>> host(items(), uninitialized);
    detail::copy_numbers(numbers, host.data(), items());
    scalar_type<kernel_t<T>> out(this->engine_.template take<kernel_t<T>>(items()), items());
    if (items() > 0) this->engine_.write(host.data(), out.data(), host.bytes());
    return out;
  }
  template <class T>
  std::vector<T> peek(item_scalar<T, memory_type> const& s) {
    void const* const then = items() > 0 ? late_.exchange(s.data(), std::size_t(items()) * sizeof(T)) : nullptr;
    return then ? copied(static_cast<T const*>(then)) : std::vector<T>{};
  }
  void finish() {
    this->engine_.finish();
    late_.forget();
    ++synchronizations_;
  }
  /// The numbers of s, exactly: after `finish`, which left nothing to wait for.
  template <class T>
  std::vector<T> read(item_scalar<T, memory_type> const& s) {
    buffer<T> host(items(), uninitialized);
    if (items() > 0) this->engine_.read(s.data(), host.data(), host.bytes());
    return copied(static_cast<T const*>(host.data()));
  }

  template <class S>
  auto result() {
    return this->template room<S>(items());
  }
  template <std::size_t Count, class... S, class... R>
  void run_pass(pass_plan<Count> const& plan, int pass, detail::pack<S...> const& statements, detail::pack<R...>& rooms) {
    frame f = detail::frame_of_pass(plan.layouts[std::size_t(pass)], frame_);
    if (packed_.begin && f.rows != frame_.rows)
      throw shape_error(text("fuse: a statement of ", f.rows, " rows in a list of systems with ", frame_.rows, " rows together"));
    f.batch = by_items_.batch;
    launcher<Engine>(this->engine_).run_pass(plan, pass, statements, f, rooms, packed_, items());
  }
  template <class... S, class... R>
  void reduce(detail::pack<S...> const& statements, detail::pack<R...>& rooms) {
    this->fold(statements, rooms, items());
  }
  template <class S, class R>
  scalar_type<typename S::result_type> finished(R const& room) {
    return {room.numbers, items()};
  }

private:
  static int checked(int lag) {
    if (lag < 0) throw value_error(text("a space with a lag of ", lag, ": the lag is at least 0"));
    return lag;
  }
  template <class T>
  std::vector<T> copied(T const* from) const {
    return {from, from + items()};
  }
  frame frame_, by_items_;
  std::shared_ptr<index_t> cuts_;
  packed_rows packed_;
  typename Engine::late_copies late_;
  int synchronizations_ = 0;
};

} // namespace sla::cuda

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The spaces of the host. With one item scalars are plain numbers; with several (batch items, right-hand sides) they are
// item_scalars. `immediate` is the space behind plain assignment: everything is one item.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include <sla/core/kept_blocks.hpp>
#include <sla/exec/backend.hpp>
#include <sla/exec/fuse.hpp>
#include <sla/exec/space_scalar.hpp>
#include <sla/tensor/storage/dense.hpp>

namespace sla {

namespace detail {
/// What every space on host memory does alike.
struct host_space_base {
  using space_tag = void;
  using memory_type = host_memory;
  static constexpr bool is_distributed = false, ends_alone = true;

  template <class T, class E>
  tensor<T, E> temporary(E const& extents) {
    return vectors_.take<T>(extents);
  }
  /// A fuse begins; whole nodes may call others inside of it.
  template <class... S>
  void count(int, S const&...) {
    ++open_;
  }
  /// A fuse ends: the vectors that hoisting asked for are free again.
  template <class... S>
  void reduce(detail::pack<S...> const&, auto const&) {
    (void)closes();
  }

  /// Where the result of a statement is written.
  template <class T>
  static T* address(item_scalar<T, host_memory>& r) {
    return r.data();
  }
  template <class T>
  static T* address(T& r) {
    return &r;
  }

protected:
  /// Does the outermost fuse end?
  bool closes() {
    if ((open_ = (std::max)(open_ - 1, 0)) != 0) return false;
    vectors_.give_back();
    return true;
  }

private:
  vectors_between<host_memory> vectors_;
  int open_ = 0;
};
/// Can the backend run statements whose types it does not know? A space that folds results in a `reduce` of its own, by the types of
/// statements, runs typed passes: here that gets none.
template <class B>
inline constexpr bool runs_untyped = requires(B const& backend, std::span<pass_statement const> statements, frame const& f) { backend.run(statements, f, true); };
/// Is A x beside A^T u one walk over A on the backend?
template <class B>
inline constexpr bool joins_products = requires { requires B::joins_products; };

/// The passes of a fuse on such a backend: a list of statements without their types.
template <class Space>
void run_list(Space& space, std::span<dependent_t<pass_statement, Space>> list) {
  ending(space, [&] { run_passes(space, list); });
}
template <class Space, class... S, class... R>
void run_fused(Space& space, pack<R...>& results, S const&... lowered) {
  [&]<std::size_t... N>(std::index_sequence<N...>) {
    std::array<pass_statement, sizeof...(S)> list{{{&lowered, &functions_of<typename Space::span_type, Space, S>, Space::address(part<N>(results))}...}};
    space.count(plan_passes(list), lowered...);
    run_list(space, list);
  }(std::index_sequence_for<S...>{});
  space.reduce(pack<>{}, results);
}
} // namespace detail

/// Everything now, everything one item: assignment, and `fuse` without a space.
template <Backend B = openmp>
struct immediate : detail::host_space_base {
  static constexpr bool runs_untyped = detail::runs_untyped<B>, joins_products = detail::joins_products<B>;
  using span_type = row_span;
  B backend{};

  template <class S>
  detail::accumulator_of_t<S> result() {
    return {};
  }
  template <class S, class A>
  auto finished(A const& folded) {
    return user_t<typename S::result_type>(S::finish_type::apply(folded));
  }
  template <class F>
  void run(F const& f) {
    f();
  }
  template <std::size_t Count, class... S, class... R>
  void run_pass(pass_plan<Count> const& plan, int pass, detail::pack<S...> const& statements, detail::pack<R...>& results) {
    frame const f = detail::frame_of_pass(plan.layouts[std::size_t(pass)]);
    detail::with_parts([&](auto&... r) { backend.run(plan, pass, statements, f, true, result_pointers<S...>{{{&r}...}}); }, results);
  }
  void run_pass(std::span<detail::pass_statement const> statements, pass_layout const& elements) { backend.run(statements, detail::frame_of_pass(elements), true); }
};

/// The space that evaluates at once, in this memory.
inline immediate<> immediate_space(host_memory) { return {}; }
inline immediate<> immediate_space(any_memory) { return {}; }

/// The space of an algorithm on the host, for vectors of any sizes that have the same items, as scalars have.
/// Many = false: one item, scalars are numbers. Many = true: scalars are item_scalars.
template <bool Many, Backend B = openmp>
class host_space : public detail::host_space_base {
public:
  static constexpr bool runs_untyped = detail::runs_untyped<B>, joins_products = detail::joins_products<B>, has_items = Many;
  using span_type = std::conditional_t<Many, row_span, column_span>;
  template <class T>
  using scalar_type = std::conditional_t<Many, item_scalar<T, host_memory>, T>;

  /// f: the layout of some vector, of which the items count.
  explicit host_space(frame f = {}, B backend = {}) : frame_(f), backend_(backend) {
    if (!Many && f.items() != 1)
      throw shape_error(text("a space of one item for ", f.items(), " items; use host_space<true>"));
  }

  frame const& layout() const { return frame_; }
  index_t items() const { return detail::by_items(backend_, frame_).items(); }

  /// A work vector like x, of scalars T.
  template <class T, class U, class E>
  tensor<T, E> like(tensor<U, E> const& x) {
    return tensor<T, E>(x.extents(), uninitialized);
  }

  /// f on scalars, per item. If f returns a pack, its parts become a scalar each.
  template <class F, class... A>
  auto map(F f, A const&... a) {
    using R = decltype(f(detail::item_value(detail::map_argument(a), 0)...));
    if constexpr (Many) {
      auto out = detail::results_of_map<R>([&]<class T>(std::type_identity<T>) { return make<T>(); });
      auto const place = detail::place_of_results(out);
      for (index_t k = 0; k < items(); ++k) detail::put_result(place, k, f(detail::item_value(detail::map_argument(a), k)...));
      return out;
    } else {
      return f(a...);
    }
  }

  /// The scalar of these numbers, one per item: the way back of `read`.
  template <class T>
  scalar_type<kernel_t<T>> scalar(std::vector<T> const& numbers) {
    scalar_type<kernel_t<T>> out{};
    if constexpr (Many) out = make<kernel_t<T>>();
    detail::copy_numbers(numbers, address(out), items());
    return out;
  }
  /// The numbers of s, one per item, while s is there: now, on this space; others may answer for an earlier call.
  template <class T>
  std::span<T const> peek(item_scalar<T, host_memory> const& s) {
    return {s.data(), std::size_t(items())};
  }
  template <class T>
  std::array<T, 1> peek(T const& s) {
    return {s};
  }
  /// Waits for all work: there is none left on this space.
  void finish() {}
  /// The numbers of s, one per item, exactly: after `finish`.
  template <class T>
  std::vector<T> read(T const& s) {
    return {s};
  }
  template <class T>
  std::vector<T> read(item_scalar<T, host_memory> const& s) {
    return {s.data(), s.data() + items()};
  }
  /// A task on host memory, in the order of the space.
  template <class F>
  void run(F const& f) {
    f();
  }

  template <class S>
  auto result() {
    if constexpr (Many && !std::is_void_v<typename S::result_type>)
      return make<typename S::accumulator_type>();
    else
      return detail::accumulator_of_t<S>{};
  }
  template <class S, class A>
  auto finished(A const& folded) {
    if constexpr (std::same_as<typename S::finish_type, as_is>)
      return folded;
    else
      return map([](auto a) { return S::finish_type::apply(a); }, folded);
  }
  template <std::size_t Count, class... S, class... R>
  void run_pass(pass_plan<Count> const& plan, int pass, detail::pack<S...> const& statements, detail::pack<R...>& results) {
    std::conditional_t<Many, frame, column_frame> const f{detail::by_items(backend_, detail::frame_of_pass(plan.layouts[std::size_t(pass)], frame_))};
    detail::with_parts([&](auto&... r) { backend_.run(plan, pass, statements, f, false, result_pointers<S...>{{{address(r)}...}}); }, results);
  }
  void run_pass(std::span<detail::pass_statement const> statements, pass_layout const& elements) {
    backend_.run(statements, detail::by_items(backend_, detail::frame_of_pass(elements, frame_)), false);
  }

private:
  template <class T>
  item_scalar<T, host_memory> make() {
    return {detail::kept_room<T>(std::size_t(items())), items()};
  }
  frame frame_;
  B backend_;
};

} // namespace sla

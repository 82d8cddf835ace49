// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The device's stand-in: a space that queues all work, whose scalars have no conversion, and whose `peek` answers for a
// chosen number of calls ago. What runs here runs on a GPU; results do not depend on the lag.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <sla/core/held.hpp>
#include <sla/core/kept_blocks.hpp>
#include <sla/exec/host.hpp>

namespace sla {

/// A space that queues all work, whose scalars do not convert and whose flag lags by a chosen number of iterations: how the order
/// of a device is tested on the host.
template <Backend B = openmp>
class basic_deferred : public detail::host_space_base {
  /// Work in order. What tasks hold is released with them: scalars and kept vectors go after the work that reads them.
  struct queue {
    struct task : detail::kept_object {
      std::unique_ptr<task> next;
      virtual ~task() = default;
      virtual void run() = 0;
    };
    template <class F>
    struct task_of final : task {
      F f;
      explicit task_of(F work) : f(std::move(work)) {}
      void run() override { f(); }
    };
    std::unique_ptr<task> first;
    task* last = nullptr;
    std::size_t issued = 0, done = 0;
    bool is_closed = false;

    template <class F>
    void add(F work) {
      if (is_closed) return;
      auto& place = first ? last->next : first;
      place.reset(new task_of<F>(std::move(work)));  // a unique_ptr of each type would cost its reader's compiler more than the task
      last = place.get();
      ++issued;
    }
    std::unique_ptr<task> take() {
      auto out = std::move(first);
      first = std::move(out->next);
      return out;
    }
    /// Drops what has not run: after an exception its vectors are gone already.
    void close() {
      is_closed = true;
      while (first) take();
    }
    void run_to(std::size_t mark) {
      while (done < mark) {
        auto const next = take();
        ++done;
        next->run();
      }
    }
  };

public:
  static constexpr bool has_items = true, joins_products = detail::joins_products<B>;
  template <class T>
  using scalar_type = item_scalar<T, host_memory>;

  /// f: the layout of some vector, of which the items count.
  basic_deferred(frame f, int lag, B backend = {}) : frame_(f), backend_(std::move(backend)), queue_(detail::shared_of<queue>()), peeked_(std::size_t(lag) + 1) {}
  /// Work that no `finish` waited for is dropped.
  ~basic_deferred() {
    forget();
    queue_->close();
  }
  basic_deferred(basic_deferred const&) = delete;
  basic_deferred& operator=(basic_deferred const&) = delete;

  frame const& layout() const { return frame_; }
  index_t items() const { return detail::by_items(backend_, frame_).items(); }
  int synchronizations() const { return synchronizations_; }

  /// A work vector like x; methods end with `finish`, so it outlives the work that uses it.
  template <class T, class U, class E>
  tensor<T, E> like(tensor<U, E> const& x) {
    return tensor<T, E>(x.extents(), uninitialized);
  }

  template <class F, class... A>
  auto map(F f, A const&... a) {
    using R = decltype(f(detail::item_value(detail::map_argument(a), 0)...));
    auto out = detail::results_of_map<R>([&]<class T>(std::type_identity<T>) { return make<T>(); });
    queue_->add([f, place = detail::place_of_results(out), count = items(), ... argument = detail::map_argument(a)] {
      for (index_t k = 0; k < count; ++k) detail::put_result(place, k, f(detail::item_value(argument, k)...));
    });
    return out;
  }

  /// The scalar of these numbers, one per item: the way back of `read`.
  template <class T>
  scalar_type<kernel_t<T>> scalar(std::vector<T> const& numbers) {
    auto out = make<kernel_t<T>>();
    detail::copy_numbers(numbers, out.data(), items());  // no work before knows of its memory
    return out;
  }
  /// The numbers of s as they were `lag` calls ago; none while there were fewer calls.
  template <class T>
  std::span<T const> peek(item_scalar<T, host_memory> const& s) {
    peeked_[peeks_++ % peeked_.size()] = {queue_->issued, s.share()};
    if (peeks_ < peeked_.size()) return {};
    glance const& first = peeked_[peeks_ % peeked_.size()];
    queue_->run_to(first.mark);
    return {static_cast<T const*>(first.kept.get()), std::size_t(items())};
  }
  void finish() {
    queue_->run_to(queue_->issued);
    forget();
    ++synchronizations_;
  }

  template <class T>
  std::vector<T> read(scalar_type<T> const& s) const {
    return {s.data(), s.data() + items()};
  }

  template <class F>
  void run(F f) {
    queue_->add(std::move(f));
  }

  template <class S>
  auto result() {
    if constexpr (std::is_void_v<typename S::result_type>)
      return detail::nothing{};
    else
      return make<typename S::accumulator_type>();
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
    auto pointers = detail::with_parts([&](auto&... r) { return result_pointers<S...>{{{address(r)}...}}; }, results);
    frame const f = detail::by_items(backend_, detail::frame_of_pass(plan.layouts[std::size_t(pass)], frame_));
    queue_->add([=, backend = backend_] { backend.run(plan, pass, statements, f, false, pointers); });
  }
  /// A statement whose operands were moved into it, until its work is done.
  template <class S>
  std::remove_cvref_t<S> const& keep(S&& statement) {
    using Kept = std::remove_cvref_t<S>;
    auto const kept = std::allocate_shared<Kept>(detail::kept_allocator<Kept>(), std::forward<S>(statement));
    kept_.push_back(kept);
    return *kept;
  }
  template <class... S>
  void reduce(detail::pack<S...> const&, auto const&) {
    if (closes() && !kept_.empty()) queue_->add([kept = std::exchange(kept_, {})] {});
  }

private:
  template <class T>
  scalar_type<T> make() {
    auto const room = detail::kept_room<T>(std::size_t(items()));
    std::fill_n(room.get(), items(), T{});
    auto release = [q = queue_, room](T*) { q->add([room] {}); };
    return {std::shared_ptr<T>(room.get(), release, detail::kept_allocator<T>()), items()};
  }
  template <class T>
  static T* address(scalar_type<T>& r) {
    return r.data();
  }
  static detail::nothing* address(detail::nothing& r) { return &r; }

  void forget() {
    std::fill(peeked_.begin(), peeked_.end(), glance{});
    peeks_ = 0;
  }

  struct glance {
    std::size_t mark = 0;
    std::shared_ptr<void> kept;
  };
  frame frame_;
  int synchronizations_ = 0;
  B backend_;
  std::shared_ptr<queue> queue_;
  detail::kept_list<std::shared_ptr<void>> kept_;  ///< statements of the fuse that is open
  std::vector<glance> peeked_;  ///< as many as lag behind, and one, in turn
  std::size_t peeks_ = 0;
};
/// `basic_deferred` on the default backend.
using deferred = basic_deferred<>;

} // namespace sla

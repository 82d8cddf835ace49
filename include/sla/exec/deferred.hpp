// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The device's stand-in: a space that queues all work, whose scalars have no conversion, and whose `peek` answers for a
// chosen number of calls ago. What runs here runs on a GPU; results do not depend on the lag.
#pragma once

#include <deque>
#include <functional>
#include <utility>

#include <sla/exec/host.hpp>

namespace sla {

/// A space that queues all work, whose scalars do not convert and whose flag lags by a chosen number of iterations: how the order
/// of a device is tested on the host.
template <Backend B = openmp>
class basic_deferred : public detail::host_space_base {
  /// Work in order. What tasks hold is released with them: scalars and kept vectors go after the work that reads them.
  struct queue {
    std::deque<std::function<void()>> tasks;
    std::size_t issued = 0, done = 0;
    bool is_closed = false;

    void add(std::function<void()> task) {
      if (is_closed) return;
      tasks.push_back(std::move(task));
      ++issued;
    }
    /// Drops what has not run: after an exception its vectors are gone already.
    void close() {
      is_closed = true;
      std::exchange(tasks, {});
    }
    void run_to(std::size_t mark) {
      while (done < mark) {
        auto const task = std::move(tasks.front());
        tasks.pop_front();
        ++done;
        task();
      }
    }
  };

public:
  static constexpr bool has_items = true, joins_products = detail::joins_products<B>;
  template <class T>
  using scalar_type = item_scalar<T, host_memory>;

  /// f: the layout of some vector, of which the items count.
  basic_deferred(frame f, int lag, B backend = {}) : frame_(f), lag_(lag), backend_(std::move(backend)), queue_(std::make_shared<queue>()) {}
  /// Work that no `finish` waited for is dropped.
  ~basic_deferred() {
    peeked_.clear();
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
  std::vector<T> peek(item_scalar<T, host_memory> const& s) {
    peeked_.push_back({queue_->issued, std::make_shared<scalar_type<T>>(s)});
    if (int(peeked_.size()) <= lag_) return {};
    auto const [mark, kept] = peeked_.front();
    peeked_.pop_front();
    queue_->run_to(mark);
    T const* const data = std::static_pointer_cast<scalar_type<T>>(kept)->data();
    return {data, data + items()};
  }
  void finish() {
    queue_->run_to(queue_->issued);
    peeked_.clear();
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
    auto const kept = std::make_shared<std::remove_cvref_t<S>>(std::forward<S>(statement));
    temporaries_.push_back(kept);
    return *kept;
  }
  template <class... S>
  void reduce(detail::pack<S...> const&, auto const&) {
    if (closes() && !temporaries_.empty()) queue_->add([kept = std::exchange(temporaries_, {})] {});
  }

private:
  template <class T>
  scalar_type<T> make() {
    auto release = [q = queue_](T* p) { q->add([owned = std::shared_ptr<T[]>(p)] {}); };
    return {std::shared_ptr<T>(new T[std::size_t(items())]{}, release), items()};
  }
  template <class T>
  static T* address(scalar_type<T>& r) {
    return r.data();
  }
  static detail::nothing* address(detail::nothing& r) { return &r; }

  struct glance {
    std::size_t mark;
    std::shared_ptr<void> kept;
  };
  frame frame_;
  int lag_, synchronizations_ = 0;
  B backend_;
  std::shared_ptr<queue> queue_;
  std::deque<glance> peeked_;
};
/// `basic_deferred` on the default backend.
using deferred = basic_deferred<>;

} // namespace sla

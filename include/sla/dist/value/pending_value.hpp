// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `pending<Y>`: a distributed value that is on its way. What begins to send one is in dist/step/pending.hpp.
#pragma once

#include <memory>
#include <utility>

#include <sla/core/error.hpp>
#include <sla/core/meta.hpp>

namespace sla {

namespace detail {
template <class Y>
struct work_under_way {
  virtual ~work_under_way() = default;
  virtual bool done() = 0;
  virtual Y finish() = 0;
};
} // namespace detail

/// A distributed value that is being communicated. The operand may change or go at once.
/// Law: every rank waits, once, and in the same order where several all_reduces are under way. One that goes without
/// being waited for receives its messages and drops them.
template <class Y>
class [[nodiscard]] pending {
public:
  explicit pending(std::unique_ptr<detail::work_under_way<Y>> work) : work_(std::move(work)) {}

  /// The value. Errors: value_error, if it has been taken.
  Y wait() && {
    if (!work_) throw value_error("pending: wait() was called before; a value is taken out once");
    return std::exchange(work_, nullptr)->finish();
  }
  template <class Z = Y>
  Z wait() & {
    static_assert(always_false<Z>, "sla: pending: wait() takes the value out: write std::move(p).wait()");
    return std::move(*this).wait();
  }
  /// Have all messages arrived? It also lets an engine work that moves messages only inside calls.
  bool done() { return !work_ || work_->done(); }

private:
  std::unique_ptr<detail::work_under_way<Y>> work_;
};

namespace detail {
template <class X>
inline constexpr bool is_pending = false;
template <class Y>
inline constexpr bool is_pending<pending<Y>> = true;
template <class... X>
concept SomePending = (is_pending<std::remove_cvref_t<X>> || ...);
template <class... X>
struct value_of_pending {};
template <class X, class... Rest>
struct value_of_pending<X, Rest...> : value_of_pending<Rest...> {};
template <class Y, class... Rest>
struct value_of_pending<pending<Y>, Rest...> {
  using type = Y;
};
/// What a refused operation on it gives back, so that its sentence is the only error; never made.
template <class X, class... Rest>
auto awaited(X const&, Rest const&... rest) {
  if constexpr (is_pending<X>) {
    static_assert(always_false<X>, "sla: this value is still on its way: take it out first, auto y = std::move(p).wait(), and compute with y");
    return [](auto* none) { return *none; }(static_cast<typename value_of_pending<X>::type*>(nullptr));
  } else {
    return awaited(rest...);
  }
}
} // namespace detail

// A step under way is no operand: one sentence for each of these.
template <class L, class R>
  requires detail::SomePending<L, R>
auto operator+(L const& l, R const& r) {
  return detail::awaited(l, r);
}
template <class L, class R>
  requires detail::SomePending<L, R>
auto operator-(L const& l, R const& r) {
  return detail::awaited(l, r);
}
template <class L, class R>
  requires detail::SomePending<L, R>
auto operator*(L const& l, R const& r) {
  return detail::awaited(l, r);
}
template <class L, class R>
  requires detail::SomePending<L, R>
auto operator/(L const& l, R const& r) {
  return detail::awaited(l, r);
}
template <class Op, class... X>
  requires detail::SomePending<X...>
auto perform(Op, X const&... x) -> typename detail::value_of_pending<X...>::type {
  return detail::awaited(x...);
}

} // namespace sla

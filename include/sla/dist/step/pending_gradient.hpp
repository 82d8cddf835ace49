// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Derivatives of steps that do not wait: cotangents begin their way back where the value was waited for, and are waited for
// where the step began; tangents travel beside their values. The steps are in dist/step/pending.hpp.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include <sla/dist/step/pending.hpp>
#include <sla/dist/step/steps_gradient.hpp>

namespace sla {

namespace detail {
/// In the place of a value that is under way, on a tape: its cotangent is a Back under way.
template <class Back>
struct in_transit {};
} // namespace detail

template <class Back>
struct cotangent_space<detail::in_transit<Back>> {
  using type = std::shared_ptr<pending<Back>>;
  static type zero(detail::in_transit<Back> const&) { return nullptr; }
  static void add(std::optional<type>& sum, detail::in_transit<Back> const&, type const& contribution) { sum = contribution; }
};

namespace detail {
/// How the value that has arrived depends on the operand. On a tape `begun` stands where the step began, in forward mode the
/// tangent is under way, if there is one.
template <class S, class Back, class Layout>
struct arrival_rule {
  using rule_tag = void;
  tape_variable<in_transit<Back>>* begun;
  Layout home;

  template <class Y, class G>
  void pullback(Y const&, G const& g) const {
    begun->add(std::make_shared<pending<Back>>(perform(begin_step<S>{}, g, home)));
  }
};
template <class Tangent>
struct tangent_rule {
  using rule_tag = void;
  std::optional<pending<Tangent>>* under_way;

  template <class Y, class Out>
  void pushforward(Y const&, Out& out) const {
    if (*under_way) out.add(std::move(**under_way).wait());
  }
};

template <class Y, class Rule, class Home>
struct traced_under_way final : work_under_way<traced<Y, Home>> {
  pending<Y> value;
  Home* home;
  Rule rule;
  traced_under_way(pending<Y> v, Home& h, Rule r) : value(std::move(v)), home(&h), rule(std::move(r)) {}
  bool done() override { return value.done(); }
  traced<Y, Home> finish() override { return record(*home, std::move(value).wait(), rule); }
};
template <class Y>
struct pair_under_way final : work_under_way<traced<Y, forward_mode>> {
  pending<Y> value;
  std::optional<pending<Y>> tangent;
  forward_mode* home;
  pair_under_way(pending<Y> v, std::optional<pending<Y>> d, forward_mode& h) : value(std::move(v)), tangent(std::move(d)), home(&h) {}
  bool done() override { return value.done() && (!tangent || tangent->done()); }
  traced<Y, forward_mode> finish() override { return record(*home, std::move(value).wait(), tangent_rule<Y>{&tangent}); }
};
template <class Y>
Y awaited_type(pending<Y> const&);
} // namespace detail

template <StepOn S, detail::TracedSteppable X>
auto perform(begin_step<S> to_begin, X const& x, layout_handle<mesh_of_t<plain_t<X>>> const& layout_source = {}) {
  auto value = perform(to_begin, x.value(), layout_source);
  using Y = decltype(detail::awaited_type(value));
  using Home = std::remove_cvref_t<decltype(x.home())>;
  if constexpr (std::same_as<Home, forward_mode>) {
    std::optional<pending<Y>> tangent;
    if (auto const* d = x.variable().tangent()) tangent.emplace(perform(to_begin, *d, layout_source));
    return pending<traced<Y, Home>>(std::make_unique<detail::pair_under_way<Y>>(std::move(value), std::move(tangent), x.home()));
  } else {
    using Back = detail::step_back<S, X>;
    using G = decltype(detail::awaited_type(perform(begin_step<Back>{}, std::declval<cotangent_t<Y>>(), x.value().handle())));
    auto* const v = &x.variable();
    auto& begun = x.home().record(detail::in_transit<G>{}, [v](auto const&, auto const& g) { v->add(std::move(*g).wait()); });
    using Rule = detail::arrival_rule<Back, G, layout_handle<mesh_of_t<plain_t<X>>>>;
    using Work = detail::traced_under_way<Y, Rule, Home>;
    return pending<traced<Y, Home>>(std::make_unique<Work>(std::move(value), x.home(), Rule{&begun, x.value().handle()}));
  }
}

} // namespace sla

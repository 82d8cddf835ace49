// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A thousand programs of steps and operations in random order, on thread ranks against one rank: values, gradients, and the same
// bits when run again. Which placement a value has is known to a program as it runs: types are few, orders many.
#include <random>
#include <variant>

#include <sla/dist/grad/value_and_gradient.hpp>
#include <sla/dist/step/pending_gradient.hpp>
#include <sla/dist/plan/redistribute.hpp>
#include <sla/dist/engine/threads.hpp>

#include "catch.hpp"
#include "suites/steps.hpp"

using namespace sla;

namespace {
namespace random_walks {
using Ranks = mesh<axis<"tp">>;
using Whole = tensor<double, Extents<dyn, dyn>>;
template <class P>
using On = distributed<Whole, Ranks, P>;
using Rows = Shard<0, Balanced>;
using Columns = Shard<1, Balanced>;
using Traced = std::variant<traced<On<Replicate>>, traced<On<Partial<>>>, traced<On<Rows>>, traced<On<Columns>>>;
constexpr int states = 4, pending_sum = 1;

/// A value on the ranks, and on one rank.
struct pair {
  Traced parts;
  traced<Whole> whole;
};
template <class X>
Traced some(X const& x) { // a traced value converts to anything, by a sentence
  return Traced(std::in_place_type<X>, x);
}
template <class F>
Traced in_state(int state, F const& f) {
  switch (state) {
  case 0: return f(std::type_identity<Replicate>{});
  case pending_sum: return f(std::type_identity<Partial<>>{});
  case 2: return f(std::type_identity<Rows>{});
  default: return f(std::type_identity<Columns>{});
  }
}
/// x in another placement: by its one step, by a plan, or by a step that does not wait.
template <class To, class X>
traced<On<To>> moved(X const& x, int way) {
  using From = placement_on_t<plain_t<X>, 0>;
  constexpr auto from = From::kind, to = To::kind;
  constexpr bool planned = to != placement_kind::partial || from == placement_kind::replicate;
  if constexpr (std::same_as<From, To>) {
    return x;
  } else {
    if constexpr (planned)
      if (way == 0) return redistribute<To>(x);
    if (way == 1) {
      if constexpr (from == placement_kind::partial && to == placement_kind::replicate)
        return all_reduce<"tp">(x, async).wait();
      else if constexpr (from == placement_kind::partial)
        return reduce_scatter<"tp", To>(x, async).wait();
      else if constexpr (from == placement_kind::shard && to == placement_kind::replicate)
        return all_gather<"tp">(x, async).wait();
      else if constexpr (from == placement_kind::shard && to == placement_kind::shard)
        return all_to_all<"tp", To>(x, async).wait();
    }
    return redistribute<"tp", To>(x);
  }
}
Traced moved(Traced const& v, int to, int way) {
  return std::visit([&](auto const& x) { return in_state(to, [&]<class To>(std::type_identity<To>) -> Traced { return some(moved<To>(x, way)); }); }, v);
}

/// One operation or step, the same on all ranks.
void advance(pair& a, pair const& b, std::minstd_rand& dice) {
  auto const roll = [&](int n) { return int(dice() >> 8) % n; };
  int const state = int(a.parts.index()), what = roll(8), way = roll(3), to = roll(states);
  bool const sum = state == pending_sum;
  auto const each = [&](auto const& f) {
    a.parts = std::visit([&](auto const& x) { return some(f(x)); }, a.parts);
    a.whole = f(a.whole);
  };
  if (what <= 2) {
    a.parts = moved(a.parts, to, way);
  } else if (what == 3) {
    each([](auto const& x) { return eval(0.5 * x); });
  } else if (what == 4 && !sum) { // of a pending sum there is none
    a.parts = std::visit(
        [](auto const& x) -> Traced {
          if constexpr (std::same_as<placement_on_t<plain_t<decltype(x)>, 0>, Partial<>>)
            return some(x);
          else
            return some(eval(tanh(x)));
        },
        a.parts);
    a.whole = tanh(a.whole);
  } else if (what == 5 || what == 4) {
    each([](auto const& x) { return eval(-x); });
  } else {
    bool const product = what == 6; // a pending sum times what is whole on every rank
    auto const other = moved(b.parts, product && sum ? 0 : state, way);
    a.parts = std::visit(
        [&](auto const& x, auto const& y) -> Traced {
          using P = placement_on_t<plain_t<decltype(x)>, 0>;
          using Q = placement_on_t<plain_t<decltype(y)>, 0>;
          if constexpr (std::same_as<P, Partial<>> && std::same_as<Q, Replicate>) {
            return some(eval(x * y));
          } else if constexpr (std::same_as<P, Q>) {
            if constexpr (!std::same_as<P, Partial<>>)
              if (product) return some(eval(x * y));
            return some(eval(x - y));
          } else {
            return some(x);
          }
        },
        a.parts, other);
    a.whole = product ? a.whole * b.whole : a.whole - b.whole;
  }
}

/// w as a cotangent of a value in the placement P.
template <class P>
cotangent_t<On<P>> cotangent(Whole const& w, Ranks const& m) {
  if constexpr (std::same_as<P, Replicate>)
    return convert<"tp", Partial<>>(distribute<Replicate>(w, m));
  else if constexpr (std::same_as<P, Partial<>>)
    return distribute<Replicate>(w, m);
  else
    return distribute<P>(w, m);
}

struct outcome {
  Whole value, expected, gradient, expected_gradient;
};
outcome run(unsigned seed, Ranks const& m) {
  std::minstd_rand dice(seed * 7919 + 1);
  index_t const extents[] = {1, 2, 3, 5, 8};
  Extents<dyn, dyn> const shape(extents[dice() % 5], extents[dice() % 5]);
  auto const noise = [&](int n) { return random<double, Extents<dyn, dyn>>(shape, seed * 4 + unsigned(n)); };
  Whole const first = noise(0), second = noise(1), w = noise(2);
  auto const x = distribute<Replicate>(first, m);
  auto const y = distribute<Rows>(second, m);
  tape t, alone;
  auto& of_x = t.input(x);
  auto& of_y = t.input(y);
  auto &of_first = alone.input(first), &of_second = alone.input(second);
  pair a{traced<On<Replicate>>(t, of_x), traced<Whole>(alone, of_first)}, b{traced<On<Rows>>(t, of_y), traced<Whole>(alone, of_second)};
  for (int n = 0; n < 10; ++n) {
    advance(a, b, dice);
    if (dice() % 3 == 0) std::swap(a, b);
  }
  outcome out;
  std::visit(
      [&](auto const& v) {
        out.value = gather(v.value());
        v.variable().add(cotangent<placement_on_t<plain_t<decltype(v)>, 0>>(w, m));
      },
      a.parts);
  out.expected = a.whole.value();
  a.whole.variable().add(w);
  t.sweep();
  alone.sweep();
  out.gradient = eval(gather(of_x.take_cotangent()) + 3.0 * gather(of_y.take_cotangent()));
  out.expected_gradient = eval(of_first.take_cotangent() + 3.0 * of_second.take_cotangent());
  return out;
}
} // namespace random_walks
} // namespace

TEST_CASE("programs in random order have the values and gradients of one rank, and the same bits each time") {
  using namespace random_walks;
  for (int ranks : {2, 3, 4})
    CHECK_NOTHROW(threads::run(ranks, [&](auto& world) {
      Ranks const m(world);
      auto& c = m.communicator(0);
      auto const close = [](Whole const& a, Whole const& b) { return double(norm(a - b)) <= 1e-10 * (1 + double(norm(b))); };
      for (unsigned seed = unsigned(ranks); seed < 1002; seed += 3) {
        auto const one = run(seed, m), again = run(seed, m);
        suite::require(close(one.value, one.expected), c, "the value of program " + std::to_string(seed));
        suite::require(close(one.gradient, one.expected_gradient), c, "the gradient of program " + std::to_string(seed));
        suite::require(suite::equal(one.value, again.value) && suite::equal(one.gradient, again.gradient), c,
                       "the bits of program " + std::to_string(seed));
      }
    }));
}

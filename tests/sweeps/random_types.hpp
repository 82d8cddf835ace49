// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random calls as types, from a fixed seed: what the compiler decides about distributed<...> is what check says of the
// same placements as values, and the gradient of a gradient has the type of its tensor. A part of them per test file.
#pragma once
#include <array>
#include <concepts>
#include <type_traits>
#include <utility>

#include <sla/spmd/rule/rules.hpp>
#include <sla/spmd/rule/well_typed.hpp>

#include "catch.hpp"

namespace random_types {

using namespace sla;

/// What ranks hold: to the rules a part is its dimensions, and whether its entries have gradients.
template <class T, int Rank>
struct dense_part {
  using value_type = T;
  struct extents_type {
    static constexpr int rank = Rank;
  };
};
struct sparse_part {
  using value_type = double;
  struct shape_type {
    struct batch_extents {
      static constexpr int rank = 0;
    };
    static constexpr bool is_blocked = false;
  };
};
using Grid = mesh<axis<"dp", 2>, axis<"tp", 4>>;

template <class... T>
using list = detail::type_list<T...>;
using p = Part<"p">;
using all_placements =
    list<Replicate, Invariant, Varying, Partial<>, Partial<Avg>, Partial<Max>, Partial<Min>, Partial<Prod>, Shard<0>,
         Shard<1>, Shard<0, Even, 1>, Shard<0, Balanced>, Shard<0, p>, Shard<0, Part<"q">>, Ghost<0, p, "halo">,
         GhostP<0, p, "halo">, SparseShard<0, p>, SparseShard<1, p>, Hyper<p>, Untyped>;
inline constexpr int placement_count = 20, first_sparse = 16;
using all_locals =
    list<dense_part<double, 1>, dense_part<float, 2>, dense_part<double, 0>, dense_part<int, 1>, sparse_part>;
inline constexpr int sparse_local = 4;
using all_operations = list<op::add, op::sub, op::mul, op::div, op::dot, op::matvec, op::transposed_matvec, op::solve,
                            op::neg, op::exp, op::sqrt, op::abs, op::sum, op::squared_norm, op::maximum, op::norm>;
inline constexpr int operation_count = 16, binary = 8, first_sparse_operation = 5;

template <int N, class List>
using at_t = typename detail::type_at<N, List>::type;

/// The placements as values, all against one list of families.
template <class List>
struct numbering;
template <class... P>
struct numbering<list<P...>> {
  using keys = typename detail::key_list<P...>::type;
  static constexpr std::array<placement_value, sizeof...(P)> value{detail::to_value<P, keys>()...};
};
using numbers = numbering<all_placements>;
template <class... P>
constexpr tensor_placement tensor_placement_of(placements<P...>) {
  tensor_placement t;
  int a = 0;
  ((t.on[a++] = detail::to_value<P, numbers::keys>()), ...);
  return t;
}

/// An operation, its operands' parts and their placements, by number. The second operand is often one that fits.
struct draw {
  int operation = 0, local[2] = {}, at[2][2] = {};
};
constexpr draw drawn(int number) {
  std::uint64_t state = 0x9e3779b97f4a7c15ULL * static_cast<std::uint64_t>(number + 1);
  auto const next = [&](int below) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return static_cast<int>((state >> 20) % static_cast<std::uint64_t>(below));
  };
  draw d;
  d.operation = next(operation_count);
  bool const product = d.operation >= first_sparse_operation && d.operation < binary;
  d.local[0] = product ? sparse_local : next(sparse_local + 1);
  d.local[1] = product ? next(2) : next(3) ? d.local[0] : next(sparse_local + 1);
  for (int a = 0; a < 2; ++a) {
    int const sparse = next(5) < 3 ? first_sparse + next(3) : next(first_sparse);
    d.at[0][a] = d.local[0] == sparse_local ? sparse : next(first_sparse + 1);
    if (d.at[0][a] == first_sparse) d.at[0][a] = d.local[0] == sparse_local ? first_sparse : placement_count - 1;
    int const whole = next(2) * d.at[0][a];           // Replicate, or the same
    int const side = 12 + 2 * next(2) - 12 * next(2); // of a product: a shard of p, its ghost, or Replicate, Partial
    d.at[1][a] = !next(4) ? next(placement_count) : product ? (side < 0 ? 0 : side) : whole;
  }
  return d;
}

/// What the types say of one call.
struct answer {
  bool ok = false, involution = false;
  diagnostic why{};
  tensor_placement result{};
};
template <class T>
constexpr bool is_own_bidual() {
  if constexpr (requires {
                  []<class... P>(placements<P...>) requires(!std::same_as<typename P::dual, no_dual> && ...) {}
                  (placements_of_t<T>{});
                })
    return std::same_as<cotangent_t<cotangent_t<T>>, T>;
  else
    return true; // no gradient
}
template <int Number, int K>
constexpr auto operand_type() {
  constexpr draw d = drawn(Number);
  return std::type_identity<distributed<at_t<d.local[K], all_locals>, Grid, at_t<d.at[K][0], all_placements>,
                                        at_t<d.at[K][1], all_placements>>>{};
}
template <class Op, class... T>
constexpr answer said_by_types(std::type_identity<T>...) {
  answer out{well_typed<Op, T...>, (is_own_bidual<T>() && ...), outcome_of<Op, T...>.why, {}};
  if constexpr (well_typed<Op, T...>) {
    using result = result_t<double, Op, T...>;
    out.result = tensor_placement_of(placements_of_t<result>{});
    out.involution = out.involution && is_own_bidual<result>();
  }
  return out;
}
template <int Number>
constexpr answer answered() {
  constexpr int n = drawn(Number).operation;
  using Op = at_t<n, all_operations>;
  if constexpr (n < binary)
    return said_by_types<Op>(operand_type<Number, 0>(), operand_type<Number, 1>());
  else
    return said_by_types<Op>(operand_type<Number, 0>());
}
template <int First, int... N>
inline constexpr std::array<answer, sizeof...(N)> answers{answered<First + N>()...};

template <class... Op>
placement_outcome said_by_values(list<Op...>, draw const& d) {
  static constexpr int rank[] = {1, 2, 0, 1, 2};
  operand operands[2];
  for (int k = 0; k < 2; ++k) {
    auto& t = operands[k].type;
    t.axes = 2;
    t.rank = static_cast<std::int8_t>(rank[d.local[k]]);
    t.batch = d.local[k] == sparse_local ? 0 : -1;
    operands[k].gradient = d.local[k] != 3; // integers
    for (int a = 0; a < 2; ++a) t.on[a] = numbers::value[static_cast<std::size_t>(d.at[k][a])];
  }
  static constexpr op_rule rules[] = {rule_of<Op>...};
  return check(rules[d.operation], {operands, d.operation < binary ? 2U : 1U});
}

/// So many calls from a number on; how many were accepted.
template <int First, int... N>
int compare(std::integer_sequence<int, N...>) {
  int accepted = 0, number = First;
  for (auto const& types : answers<First, N...>) {
    auto const d = drawn(number);
    auto const values = said_by_values(all_operations{}, d);
    INFO("call " << number << ", operation " << d.operation);
    CHECK(types.ok == values.ok());
    CHECK(types.why == values.why);
    CHECK(types.involution);
    for (int a = 0; a < 2 && types.ok; ++a) CHECK(types.result.on[a] == values.type.on[a]);
    accepted += types.ok;
    ++number;
  }
  return accepted;
}

} // namespace random_types

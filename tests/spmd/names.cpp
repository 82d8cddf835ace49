// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The whole house in a program whose own types have common names: `using namespace sla` makes none of them ambiguous.
#include "catch.hpp"

#include <sla/sla.hpp>

namespace test_names {

using namespace sla;

namespace {

struct Plan {};
struct Route {};
struct Result {};
struct Apply {};
struct Arg {};
struct Piece {};
struct Envelope {};
struct Expect {};
struct AllGather {};
struct AllReduce {};
struct Convert {};
struct plan {};
struct step_kind {};
struct wires {};
struct distances {};
struct outcome {};
struct choice {};
struct expansion {};
struct inserted {};
struct companion {};
struct reshaped {};
struct indexing {};

template <class... T>
constexpr int common_names = sizeof...(T);

} // namespace

TEST_CASE("common names are the user's") {
  STATIC_REQUIRE(common_names<Plan, Route, Result, Apply, Arg, Piece, Envelope, Expect, AllGather, AllReduce, Convert, plan> == 12);
  STATIC_REQUIRE(common_names<step_kind, wires, distances, outcome, choice, expansion, inserted, companion, reshaped, indexing> == 10);
}

} // namespace test_names

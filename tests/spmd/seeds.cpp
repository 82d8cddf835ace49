// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Seeds: the steps that a refusal prints lead, one legal step after the other, to the placements of the gradient.
#include <vector>

#include <sla/spmd/refusal/seed.hpp>

#include "catch.hpp"
#include "placed.hpp"

namespace seeds_of_gradients {
namespace {

using namespace sla;
using namespace placed_values;

TEST_CASE("the steps that mend a seed are legal, and end in the dual of the value's placements") {
  std::vector<placement_value> const all = {R, Inv, V, P, S(0), S(1)};
  int mended = 0, hopeless = 0;
  for (auto value0 : all)
    for (auto value1 : all)
      for (auto seed0 : all)
        for (auto seed1 : all) {
          auto gradient = tensor_on(dual(value0), 2).type, seed = tensor_on(seed0, 2).type;
          gradient.axes = seed.axes = 2;
          gradient.on[1] = dual(value1);
          seed.on[1] = seed1;
          if (check_placements(gradient).what != code::ok || check_placements(seed).what != code::ok) continue;
          auto const f = suggest_seed(seed, gradient);
          if (seed == gradient) {
            CHECK(f.size == 0);
            continue;
          }
          for (int n = 0; n < f.size; ++n) {
            auto const& s = f.steps[n];
            CHECK(s.step.from == seed.on[s.axis]);
            CHECK(check_step(s.step.how, seed, s.axis, s.step.to, s.insisted).what == code::ok);
            seed.on[s.axis] = s.step.to;
          }
          if (f.size) CHECK(seed == gradient);
          bool const varies = (value0 == V) != (seed0 == V) || (value1 == V) != (seed1 == V); // nothing says what the parts are
          bool const nested = is_sharded(gradient.on[0].kind) && gradient.on[0] == gradient.on[1]; // one dimension by both axes
          bool const nested_seed = is_sharded(seed0.kind) && seed0 == seed1;
          if (!f.size) CHECK((varies || nested || nested_seed));
          ++(f.size ? mended : hopeless);
        }
  INFO(mended << " mended, " << hopeless << " not");
  CHECK(mended > 2 * hopeless);
}

using Grid = mesh<axis<"dp", 2>, axis<"tp", 4>>;
struct Local {
  using extents_type = Extents<dyn>;
};
template <class... P>
using X = distributed<Local, Grid, P...>;

// what compilers print below the sentence
template <class Y, class G, class... Facts>
constexpr bool says = std::is_same_v<typename detail::seed_refusal<Y, G>::facts, detail::type_list<Facts...>>;
static_assert(says<X<Replicate, Shard<0>>, X<Replicate, Replicate>, seed_is<placements<Replicate, Replicate>>,
                   gradient_is<placements<Partial<>, Shard<0>>>, fix_by<call::convert<"dp", Partial<>>, call::convert<"tp", Shard<0>>>>);
static_assert(says<X<Partial<>, Invariant>, double, seed_is<double>, gradient_is<X<Replicate, Invariant>>>);

} // namespace
} // namespace seeds_of_gradients

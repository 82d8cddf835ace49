// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The texts of refusals, compared in constant expressions; that each code has one sentence, and the same rule in both places.
#include <fstream>
#include <sstream>
#include <string>

#include <sla/core/op.hpp>
#include <sla/spmd.hpp>
#include <sla/tensor/storage/dense.hpp>
#include <sla/tensor/storage/sparse.hpp>

#include "catch.hpp"
#include "data.hpp"

namespace test_messages {

using namespace sla;

namespace {

using Grid = mesh<axis<"dp", 2>, axis<"tp", 4>>;
template <class... P>
using X = distributed<vector<double>, Grid, P...>;
template <class... P>
using A = distributed<sparse_tensor<double>, Grid, P...>;
template <class P>
using OnTp = X<Replicate, P>;
using pending = OnTp<Partial<>>;
using copies = OnTp<Replicate>;
struct my_op;
struct Cyclic { // a user's family
  static constexpr bool even = false, contiguous = false, stated = true;
};

// whole messages
static_assert(explain_error<op::add, pending, pending>().empty());
static_assert(explain_error<op::add, pending, copies>() ==
              "sla[E03] add: a pending sum (Partial) is added to a Replicate, which would be counted once per rank. found arg0: "
              "Partial<Sum>, arg1: Replicate on tp. fix: convert<\"tp\", Partial<Sum>>(arg1) (forward free, backward free); or "
              "all_reduce<\"tp\", Replicate>(arg0) (forward all_reduce, backward all_reduce). context: add(arg0: {dp: Replicate, tp: "
              "Partial<Sum>}, arg1: {dp: Replicate, tp: Replicate}) on mesh{dp: 2, tp: 4}");
static_assert(explain_error<op::mul, X<Invariant, Partial<>>, X<Shard<0>, Varying>>() ==
              "sla[E02] mul: Invariant meets values that differ between ranks (Varying, Shard): its gradient would need a sum over the "
              "axis that nothing performs. found arg0: Invariant, arg1: Shard<0> on dp. fix: convert<\"dp\", Shard<0>>(arg0) (forward "
              "free, backward all_gather) and all_reduce<\"tp\", Replicate>(arg0) (forward all_reduce, backward all_reduce). context: "
              "mul(arg0: {dp: Invariant, tp: Partial<Sum>}, arg1: {dp: Shard<0>, tp: Varying}) on mesh{dp: 2, tp: 4}");
static_assert(explain_error<op::matvec, A<SparseShard<0>, Replicate>, X<Shard<0, Table<1, 2>>, Replicate>>().starts_with(
    "sla[E19] matvec: the vector does not match the partition of the sparse operand. found arg0: SparseShard<0>, arg1: Shard<0, "
    "Table<1, 2>> on dp. fix: repartition<\"dp\", Shard<0, Part<>>>(arg1, layout) (forward repartition, backward repartition); or "
    "all_gather<\"dp\", Replicate>(arg1) (forward all_gather, backward reduce_scatter)"));
static_assert(explain_error<op::add, pending, double>() ==
              "sla[E24] add: a run-time number has no placement. found arg0: {dp: Replicate, tp: Partial<Sum>}, arg1: a run-time double. "
              "fix: uniform(arg1). context: add(arg0: {dp: Replicate, tp: Partial<Sum>}, arg1: a run-time double) on mesh{dp: 2, tp: 4}");

// the heads and the fixes of others
template <class Op, class... Ts>
constexpr bool says(std::string_view head, std::string_view mended) {
  auto const text = explain_error<Op, Ts...>();
  return text.starts_with(head) && text.find(mended) != std::string_view::npos;
}
static_assert(says<op::add, OnTp<Invariant>, copies>("sla[E01] add: ", "fix: convert<\"tp\", Replicate>(arg0) (forward free, backward "
                                                                       "all_reduce)."));
static_assert(says<op::add, pending, literal<double>>("sla[E04] add: ", "arg1: a literal on tp. fix: all_reduce<\"tp\", Replicate>(arg0) "));
static_assert(says<op::mul, pending, pending>("sla[E05] mul: ", "fix: all_reduce<\"tp\", Replicate>(arg0) "));
static_assert(says<op::add, pending, OnTp<Varying>>("sla[E06] add: ", "fix: all_reduce<\"tp\", Replicate>(arg0) "));
static_assert(says<op::exp, pending>("sla[E07] exp: ", "; or all_reduce<\"tp\", Replicate>(arg0) "));
static_assert(says<op::pow, pending, pending>("sla[E07] pow: ", "fix: all_reduce<\"tp\", Replicate>(arg0) (forward all_reduce, backward "
                                                                "all_reduce) and all_reduce<\"tp\", Replicate>(arg1) "));
static_assert(says<op::div, copies, pending>("sla[E08] div: ", "fix: all_reduce<\"tp\", Replicate>(arg1) "));
static_assert(says<op::add, copies, vector<double>>("sla[E35] add: ", "arg1: a plain tensor. fix: distribute(arg1, layout)."));
static_assert(says<op::add, copies, distributed<vector<double>, mesh<axis<"dp", 2>>, Replicate>>("sla[E15] add: ", "fix: reinterpret_mesh"));
static_assert(says<my_op, copies>("sla[E21] my_op: ", "fix: specialise rule_of"));
static_assert(says<op::add, X<Shard<0, Cyclic>, Replicate>, X<Replicate, Replicate>>("sla[E17] add: ",
                                                                                     "fix: convert<\"dp\", Shard<0, Cyclic>>(arg1) "));
static_assert(says<op::add, X<Shard<0, Part<"geo">>, Replicate>, X<Varying, Replicate>>("sla[E33] add: ", "found arg0: Shard<0, "
                                                                                                          "Part<\"geo\">>, arg1: Varying on dp."));
static_assert(says<op::dot, X<Ghost<0, Part<"geo">, "stencil">, Replicate>, X<Ghost<0, Part<"geo">, "stencil">, Replicate>>(
    "sla[E32] dot: ", "arg0: Ghost<0, Part<\"geo\">, \"stencil\">, arg1: Ghost<0, Part<\"geo\">, \"stencil\"> on dp. fix: owned<\"dp\">(arg0) "
                      "(forward free, backward free) and owned<\"dp\">(arg1) "));

using halo_sum = OnTp<GhostP<0, Part<>, "stencil">>;
static_assert(says<op::mul, halo_sum, halo_sum>("sla[E", "halo_reduce<\"tp\">(arg0) (forward halo_reduce, backward halo_exchange)"));
static_assert(says<op::add, OnTp<Ghost<0, Part<>, "stencil">>, copies>("sla[E", "restrict_to<\"tp\", \"stencil\">(arg1, A) (forward free, "
                                                                                 "backward free)"));

// steps
static_assert(explain_step_error<step::all_reduce, pending, "tp", Replicate>().empty());
static_assert(explain_step_error<step::convert, pending, "tp", Replicate>() ==
              "sla[E12] convert: no conversion without communication leads there. found x: Partial<Sum> on tp. fix: all_reduce<\"tp\", "
              "Replicate>(x) (forward all_reduce, backward all_reduce). context: convert<\"tp\", Replicate>(x: {dp: Replicate, tp: "
              "Partial<Sum>}) on mesh{dp: 2, tp: 4}");
template <step How, class T, fixed_string Axis, class To>
constexpr bool step_says(std::string_view head, std::string_view mended) {
  auto const text = explain_step_error<How, T, Axis, To>();
  return text.starts_with(head) && text.find(mended) != std::string_view::npos;
}
static_assert(step_says<step::all_reduce, copies, "tp", Replicate>("sla[E10] all_reduce: ", "fix: remove the call."));
static_assert(step_says<step::all_gather, pending, "tp", Replicate>("sla[E11] all_gather: ", "fix: all_reduce<\"tp\", Replicate>(x) "));
static_assert(step_says<step::reinterpret, OnTp<Varying>, "tp", Replicate>("sla[E13] reinterpret: ", "fix: all_gather<\"tp\", Replicate>(x) "));
static_assert(step_says<step::convert, copies, "tp", Invariant>("sla[E14] convert: ", "fix: convert<\"tp\", Invariant>(x, expert) (forward "
                                                                                      "free, backward free)."));
static_assert(step_says<step::all_gather, X<Shard<0>, Shard<0>>, "dp", Replicate>(
    "sla[E16] all_gather: ", "fix: all_gather<\"tp\", Replicate>(x) (forward all_gather, backward reduce_scatter), then all_gather<\"dp\", "
                             "Replicate>(x) (forward all_gather, backward reduce_scatter), then convert<\"tp\", Shard<0>>(x) (forward free, "
                             "backward free)."));
static_assert(step_says<step::convert, X<Replicate, Shard<0>>, "dp", Shard<0>>("sla[E16] convert: ", "fix: convert<\"dp\", Shard<0, Even, 1>>(x) (forward free, "));
static_assert(step_says<step::reinterpret, X<Shard<0>, Replicate>, "dp", Replicate>("sla[E34] reinterpret: ",
                                                                                    "fix: all_gather<\"dp\", Replicate>(x) "));

// extents that the type states, and the ranks do not divide
template <class E, class... P>
using Stated = distributed<tensor<double, E>, Grid, P...>;
static_assert(explain_step_error<step::reduce_scatter, Stated<Extents<9>, Replicate, Partial<>>, "tp", Shard<0>>() ==
              "sla[E30] reduce_scatter: this step needs equal pieces, and the ranks of the axis do not hold them, or do not divide the "
              "extent. found x: Partial<Sum> on tp, 9 indices for 4 ranks. fix: reduce_scatter<\"tp\", Shard<0, Balanced>>(x) (forward "
              "reduce_scatter, backward all_gather). context: reduce_scatter<\"tp\", Shard<0>>(x: {dp: Replicate, tp: Partial<Sum>}) on "
              "mesh{dp: 2, tp: 4}");
static_assert(step_says<step::convert, Stated<Extents<8, 6>, Replicate, Replicate>, "tp", Shard<1>>("sla[E30] convert: ",
                                                                                              "6 indices for 4 ranks. fix: convert<\"tp\", "
                                                                                              "Shard<1, Balanced>>(x) "));
static_assert(explain_step_error<step::convert, Stated<Extents<8, 6>, Replicate, Replicate>, "dp", Shard<1>>().empty());
static_assert(step_says<step::all_to_all, Stated<Extents<8, 7>, Shard<0>, Replicate>, "dp", Shard<1>>("sla[E30] all_to_all: ",
                                                                                                "all_to_all<\"dp\", Shard<1, Balanced>>(x)"));
static_assert(step_says<step::repartition, Stated<Extents<3>, Shard<0>, Replicate>, "dp", Shard<0, Table<2, 3>>>(
    "sla[E30] repartition: ", "6 indices for 2 ranks. fix: repartition<\"dp\", Shard<0, Balanced>>(x)"));
static_assert(explain_step_error<step::repartition, Stated<Extents<3>, Shard<0>, Replicate>, "dp", Shard<0, Table<2, 4>>>().empty());
static_assert(explain_step_error<step::convert, Stated<Extents<dyn>, Replicate, Replicate>, "dp", Shard<0>>().empty()); // nobody knows

/// The literals of spmd/refusal/sentences.hpp, adjacent ones joined.
std::vector<std::string> sentences() {
  std::ifstream in(data("../../include/sla/spmd/refusal/sentences.hpp"));
  REQUIRE(in);
  std::stringstream whole;
  whole << in.rdbuf();
  std::string const text = whole.str();
  std::vector<std::string> out;
  for (std::size_t at = text.find('"'); at != std::string::npos; at = text.find('"', at)) {
    auto const end = text.find('"', at + 1);
    auto const literal = text.substr(at + 1, end - at - 1);
    if (literal.starts_with("sla[E"))
      out.push_back(literal);
    else
      out.back() += literal;
    at = end + 1;
  }
  return out;
}

} // namespace

TEST_CASE("every code has its sentence, which begins with the rule that explain_error states") {
  auto const all = sentences();
  for (int n = 1; n <= static_cast<int>(code::ambiguous_rule); ++n) {
    fixed_text<200> head;
    head << "sla[E" << (n < 10 ? "0" : "") << n << "]: " << rule_broken(static_cast<code>(n));
    int found = 0;
    for (auto const& s : all) {
      if (!s.starts_with(head.view().substr(0, 8))) continue;
      INFO(s);
      CHECK(s.starts_with(head.view()));
      CHECK(s.size() > head.view().size() + 10); // and says what to write
      ++found;
    }
    INFO(n);
    bool const gated = n == number_of(code::expert_only), of_loss = n == number_of(code::repeated_seed);
    CHECK(found == (gated ? 7 : of_loss ? 3 : 1)); // one for each kind of gated transition, and for what ranks may hold of a loss
  }
}

TEST_CASE("text is cut where its storage ends") {
  fixed_text<8> t;
  t << "ab" << -120 << "cdef";
  CHECK(t == "ab-120cd");
}

} // namespace test_messages

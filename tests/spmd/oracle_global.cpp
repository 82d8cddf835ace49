// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every operation of the recorded tables with shards of one dense tensor: products in index notation, two operands, one
// operand. What brute force calls wrong is refused, what it calls right is accepted; where it was not computed the
// model is the measure; a reviewed list says where and why not.
#include <sla/spmd/rule/rules.hpp>
#include <sla/spmd/rule/table/composite.hpp>
#include <sla/spmd/rule/table/einsum.hpp>
#include <sla/spmd/rule/table/make.hpp>
#include <sla/spmd/rule/table/move.hpp>
#include <sla/spmd/rule/table/pointwise.hpp>
#include <sla/spmd/rule/table/folds.hpp>

#include "oracle.hpp"

namespace test_oracle_global {

using namespace sla;
using namespace placed_values;
using namespace sla::strategies;
using sla::strategies::along, sla::strategies::unary; // not those of sla, which other files of the program include

namespace {

struct subject {
  strategy what;
  std::vector<int> ranks;
  int literal_at = -1;
  bool condition_first = false; // the first operand also makes a condition
};

std::map<std::string, subject> subjects() {
  auto const v = dims::unknown(1), m = dims::unknown(2), b = dims::unknown(3), square = dims(4, 4);
  std::map<std::string, subject> out;
  auto const all = [&](strategy const& s, std::vector<int> const& ranks, std::initializer_list<char const*> names) {
    for (auto const* n : names) out[n] = {s, ranks};
  };
  for (char const* spec :
       {"mk,kn->mn", "bmk,bkn->bmn", "mk,k->m", "m,m->", "m,n->mn", "mk,nk->mn", "mk,mk->mk", "m,mk->mk"}) {
    std::string const text = spec;
    auto const comma = text.find(','), arrow = text.find('-');
    std::vector<int> const ranks = {int(comma), int(arrow - comma - 1)};
    all(einsum(spec), ranks, {("einsum " + text).c_str(), ("rules.einsum " + text + " linear_in=(0,1)").c_str()});
  }
  for (char const* spec : {"mk->k", "mk->m", "mk->", "mk->km"})
    all(einsum(spec), {2}, {(std::string("rules.einsum ") + spec + " linear_in=(0,)").c_str()});
  all(contraction("mk,mk->mk"), {2, 2}, {"rules.einsum mk,mk->mk linear_in=()"});
  all(contraction("mk,mk->mk").linear_in(operand_bits(0, 1)), {2, 2}, {"rules.einsum mk,mk->mk linear_in=((0,1),)"});
  all(mul(m, m), {2, 2}, {"mul"});
  all(add(m, m), {2, 2}, {"add"});
  all(sub(m, m), {2, 2}, {"sub"});
  all(div(m, m), {2, 2}, {"div"});
  all(maximum(m, m), {2, 2}, {"maximum"});
  all(pointwise(m, m), {2, 2}, {"pow"});
  all(einsum("m,mk->mk"), {1, 2}, {"mul_row_m_mk"});
  all(mul(v, m), {1, 2}, {"mul_col_k_mk"});
  all(add(m, v), {2, 1}, {"add_bias"});
  all(einsum("mk,kn->mn"), {2, 2}, {"mm", "matmul"});
  all(einsum("bmk,bkn->bmn"), {3, 3}, {"bmm"});
  all(einsum("...mk,kn->...mn", b, m), {3, 2}, {"matmul_3d_2d"});
  all(einsum("mk,k->m"), {2, 1}, {"mv"});
  all(einsum("m,m->"), {1, 1}, {"dot"});
  all(einsum("m,n->mn"), {1, 1}, {"outer"});
  all(einsum("mk,nk->mn"), {2, 2}, {"linear"});
  all(einsum_plus("mk,kn->mn", m, 0, m, m), {2, 2, 2}, {"addmm"});
  all(cat(0, {m, m}), {2, 2}, {"cat_dim0"});
  all(cat(1, {m, m}), {2, 2}, {"cat_dim1"});
  all(stack(0, {m, m}), {2, 2}, {"stack_dim0"});
  out["where_cond_from_a"] = {where(m, m, m), {2, 2}, -1, true};
  all(sum(m, over(0)), {2}, {"sum_dim0"});
  all(sum(m, over(1)), {2}, {"sum_dim1"});
  all(sum(m, over(1), true), {2}, {"sum_dim1_keepdim"});
  all(sum(m), {2}, {"sum_all"});
  all(mean(m, over(0), false, kernel_knows::its_place), {2}, {"mean_dim0"});
  all(mean(m, over(1), false, kernel_knows::its_place), {2}, {"mean_dim1"});
  all(mean(m, over_all, false, kernel_knows::its_place), {2}, {"mean_all"});
  all(fold(m, monoid::maximum, over(0)), {2}, {"amax_dim0", "any_dim0"});
  all(fold(m, monoid::maximum, over(1)), {2}, {"amax_dim1"});
  all(fold(m, monoid::minimum, over(0)), {2}, {"amin_dim0", "all_dim0"});
  all(fold(m, monoid::maximum), {2}, {"max_all"});
  all(unsplit(m, over(0), false, 2), {2}, {"max_dim0"});
  all(fold(m, monoid::product, over(0)), {2}, {"prod_dim0"});
  all(fold(m, monoid::product, over(1)), {2}, {"prod_dim1"});
  all(unsplit(m, over(0)), {2}, {"argmax_dim0", "var_dim0", "logsumexp_dim0"});
  all(unsplit(m, over(1)), {2}, {"argmax_dim1", "var_dim1"});
  all(norm(m, norm_order::other), {2}, {"norm"});
  all(norm(m, norm_order::other, over(1)), {2}, {"norm_dim1"});
  all(move(m, {1, 0}), {2}, {"transpose", "T_property"});
  all(move(b, {2, 0, 1}), {3}, {"permute_3d"});
  all(unary(m, behaviour::rising), {2}, {"exp", "relu"});
  all(unary(m, behaviour::rising_bounded), {2}, {"sqrt"});
  all(unary(m), {2}, {"abs"});
  all(neg(m), {2}, {"neg"});
  all(unary(m, behaviour::copy), {2}, {"clone", "detach", "contiguous", "double"});
  all(along(m, over(0)), {2}, {"softmax_dim0"});
  all(along(m, over(1)), {2}, {"softmax_dim1"});
  all(along(m, over(0), 2), {2}, {"sort_dim0", "topk_dim0"});
  all(along(m, over(1), 2), {2}, {"sort_dim1", "topk_dim1"});
  all(cumulative_sum(m, 0), {2}, {"cumsum_dim0"});
  all(cumulative_sum(m, 1), {2}, {"cumsum_dim1"});
  all(move_along(m, over(0)), {2}, {"flip_dim0", "roll_dim0", "narrow_dim0", "repeat_2_1"});
  all(move_along(m, over(1)), {2}, {"flip_dim1", "roll_dim1", "narrow_dim1", "repeat_1_2"});
  all(move_along(m, over(0), 2), {2}, {"split_dim0", "chunk_dim0"});
  all(move_along(m, over(1), 2), {2}, {"split_dim1"});
  all(triangle(m), {2}, {"tril"});
  all(move(m, {1}), {2}, {"select_dim0", "getitem_int_dim0"});
  all(move(m, {0}), {2}, {"select_dim1"});
  all(move(m, {1}, 4), {2}, {"unbind_dim0"});
  all(move(m, {0}, 4), {2}, {"unbind_dim1"});
  all(move(m, {-1}), {2}, {"diagonal"});
  all(move(m, {-1, 0, 1}), {2}, {"unsqueeze_0", "expand_new_dim"});
  all(reshape(square, dims(16)), {2}, {"flatten", "view_16"});
  all(reshape(square, dims(2, 2, 4)), {2}, {"view_2_2_4"});
  all(reshape(square, dims(4, 2, 2)), {2}, {"view_4_2_2"});
  all(opaque(1).linear_in(operand_bits(0)), {2}, {"trace"});
  all(like(m), {2}, {"zeros_like", "ones_like"});
  all(scale(m), {2}, {"scale_literal"});
  all(shift(m), {2}, {"add_literal"});
  return out;
}

} // namespace

TEST_CASE("every recorded operation with shards") {
  auto const what = subjects();
  reviewed_list reviewed("reviewed_global.csv");
  call_context const global{.global_axes = 1};
  std::string last;
  int rows = 0, accepted = 0;
  for (auto const& row : table("global_all.csv", '|')) {
    if (!row[0].empty()) last = row[0];
    INFO(last << " " << row[1]);
    auto const found = what.find(last);
    REQUIRE(found != what.end());
    std::vector<operand> operands;
    auto const args = split(row[1], ';');
    for (std::size_t k = 0; k < args.size(); ++k) operands.push_back(tensor_on(parse(args[k]), found->second.ranks[k]));
    if (found->second.condition_first) {
      operands.insert(operands.begin(), operands[0]);
      operands[0].gradient = false;
    }
    auto const got = check(found->second.what, operands, global);
    auto const ours = got.ok() ? name(got.type.on[0]) : "ERROR";
    bool agrees = ours == row[2];
    if (row.size() < 4 || row[3] != "none") {
      auto const right = right_results(row.size() > 3 ? row[3] : "");
      agrees = got.ok() ? right.count(ours) > 0 : right.empty();
    }
    if (!agrees && !reviewed.accepts(last + " " + row[1], ours))
      FAIL_CHECK("we answer " << ours << " not " << row[2] << " / " << (row.size() > 3 ? row[3] : ""));
    ++rows, accepted += got.ok();
  }
  CHECK(rows == 1851);
  CHECK(accepted > 500);
  for (auto const& row : reviewed.stale()) FAIL_CHECK("no longer differs: " << row);
}

} // namespace test_oracle_global

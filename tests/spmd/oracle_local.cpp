// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every operation of the recorded tables without shards: 173 operations, every combination of Replicate, Invariant,
// Varying and Partial operands. What brute force calls wrong is refused, what it calls right is accepted, except where
// a reviewed list says why not.
#include <sla/spmd/rule/rules.hpp>
#include <sla/spmd/rule/table/composite.hpp>
#include <sla/spmd/rule/table/einsum.hpp>
#include <sla/spmd/rule/table/index.hpp>
#include <sla/spmd/rule/table/make.hpp>
#include <sla/spmd/rule/table/move.hpp>
#include <sla/spmd/rule/table/pointwise.hpp>
#include <sla/spmd/rule/table/folds.hpp>

#include "oracle.hpp"

namespace test_oracle_local {

using namespace sla;
using namespace placed_values;
using namespace sla::strategies;
using sla::strategies::along, sla::strategies::unary; // not those of sla, which other files of the program include

namespace {

struct subject {
  strategy what;
  unsigned indices = 0; // operands that are integers or conditions: a bit each
  int literal_at = -1;  // where a literal stands among the operands
};

std::map<std::string, subject> subjects() {
  auto const v = dims::unknown(1), m = dims::unknown(2), b = dims::unknown(3);
  std::map<std::string, subject> out;
  auto const all = [&](strategy const& s, std::initializer_list<char const*> names, unsigned indices = 0,
                       int literal_at = -1) {
    for (auto const* n : names) out[n] = {s, indices, literal_at};
  };
  all(add(m, m), {"add", "add_operator", "add_method", "add_alpha_literal", "add_0d"});
  all(sub(m, m), {"sub", "sub_operator", "rsub"});
  all(mul(m, m), {"mul", "mul_operator", "mul_0d"});
  all(div(m, m), {"div", "div_operator"});
  all(stepwise(m, m), {"div_floor", "div_trunc", "floor_divide", "equal_elementwise"});
  all(less(m, m), {"less"});
  all(pointwise(m, m), {"remainder", "pow_tensor", "atan2"});
  all(maximum(m, m), {"maximum"});
  all(minimum(m, m), {"minimum"});
  all(einsum("mk,kn->mn"), {"matmul", "matmul_operator", "mm", "einsum_mk_kn_mn", "tensordot"});
  all(einsum("bmk,bkn->bmn"), {"bmm"});
  all(einsum("i,i->"), {"dot", "vdot", "einsum_m_m_"});
  all(einsum("mk,k->m"), {"mv", "einsum_mk_k_m"});
  all(einsum("m,n->mn"), {"outer", "einsum_m_n_mn"});
  all(einsum("mk,nk->mn"), {"inner", "einsum_mk_nk_mn", "linear"});
  all(einsum("ij,ij->ij"), {"einsum_ij_ij_ij"});
  all(einsum("ij->i"), {"einsum_ij_i"});
  all(einsum("ab,bc,cd->ad"), {"einsum_3_operands"});
  all(opaque(2, 2).linear_in(operand_bits(0)).linear_in(operand_bits(1)), {"kron", "cross", "conv1d"});
  all(einsum_plus("mk,nk->mn", v, 2, m, m), {"linear_bias"});
  all(einsum_plus("mk,kn->mn", m, 0, m, m), {"addmm", "addmm_beta_alpha"});
  all(einsum_plus("mk,k->m", v, 0, m, v), {"addmv"});
  all(einsum_plus("bmk,bkn->bmn", b, 0, b, b), {"baddbmm"});
  all(einsum_plus("bmk,bkn->mn", m, 0, b, b), {"addbmm"});
  all(einsum_plus("m,n->mn", m, 0, v, v), {"addr"});
  all(multiply_add(m, m, m), {"addcmul"});
  all(add(m, m), {"lerp_literal"});
  all(lerp(m, m, m), {"lerp_tensor"});
  all(attention(1), {"sdpa"});
  all(neg(m), {"neg", "neg_operator"});
  all(unary(m, behaviour::copy), {"positive", "clone", "detach", "contiguous", "to_dtype", "double", "to_device_cpu",
                                  "pow_1", "add_literal_zero"});
  all(cast(m), {"to_float16"});
  all(unary(m, behaviour::rising), {"exp", "relu", "sigmoid", "clamp", "pow_operator_3"});
  all(unary(m, behaviour::rising_bounded), {"log", "sqrt"});
  all(unary(m), {"abs", "gelu", "square", "reciprocal", "pow_2", "rpow_literal"});
  all(unary(m, behaviour::linear), {"real"});
  auto steps = unary(m, behaviour::rising);
  steps.differentiable = false;
  all(steps, {"sign", "round"});
  all(move(m, {1, 0}), {"transpose", "t", "T_property", "mT_property", "permute"});
  all(move(m, {-1}), {"flatten", "ravel", "diagonal", "diag"});
  all(move(m, {-1, -1}), {"reshape", "view", "unfold"});
  all(move(dims(4, 1), {0}), {"squeeze"});
  all(move(m, {-1, 0, 1}), {"unsqueeze", "expand", "broadcast_to", "getitem_none"});
  all(move(m, {1}), {"select", "getitem_int"});
  all(move(m, {1}, 3), {"unbind"});
  all(move_along(m, over(0)), {"narrow", "getitem_slice", "flip", "roll", "repeat", "tile", "pad"});
  all(move_along(m, over(0), 2), {"split", "chunk"});
  all(triangle(m), {"tril"});
  all(sum(m), {"sum"});
  all(sum(m, over(0)), {"sum_dim0"});
  all(sum(m, over(0), true), {"sum_keepdim"});
  all(mean(m), {"mean"});
  all(mean(m, over(0)), {"mean_dim0"});
  all(cumulative_sum(m, 0), {"cumsum"});
  all(opaque(1).linear_in(operand_bits(0)), {"trace"});
  all(unsplit(m), {"nansum", "nanmean", "logsumexp", "var", "std", "norm", "vector_norm", "cumprod"});
  all(fold(m, monoid::product), {"prod"});
  all(fold(m, monoid::maximum), {"max_all"});
  all(fold(m, monoid::maximum, over(0)), {"amax"});
  all(fold(m, monoid::minimum, over(0)), {"amin"});
  all(unsplit(m, over(0), false, 2), {"max_dim0"});
  auto arg = unsplit(m, over(0));
  arg.differentiable = false;
  all(arg, {"argmax"});
  all(along(m, over(0)), {"softmax", "log_softmax"});
  all(along(m, over(0), 2), {"sort", "topk"});
  all(scale(m), {"scale_literal_left", "scale_literal_right", "scale_literal_mul", "div_literal"});
  all(div(dims{}, m), {"rdiv_literal"}, 0, 0);
  all(shift(m), {"add_literal", "radd_literal", "sub_literal"});
  all(shift(m, -1), {"rsub_literal"});
  all(mul(m, dims{}), {"mul_by_zero_literal"}, 0, 1);
  all(cat(0, {m, m}), {"cat", "hstack"});
  all(stack(0, {m, m}), {"stack"});
  all(opaque(2, 2).linear_in(operand_bits(0, 1)), {"block_diag"});
  all(layer_norm(m, 1, 1), {"layer_norm"});
  all(dense_function(m, 0), {"det"});
  all(dense_function(m, 2), {"inv"});
  all(where(m, m, m), {"where"}, 1);
  all(masked_fill(m, m, true), {"masked_fill_literal"}, 2);
  all(index_select(m, 0), {"index_select", "getitem_index_tensor", "repeat_interleave_tensor"}, 2);
  all(gather(m, 0, m), {"gather"}, 2);
  all(embedding(v), {"embedding"}, 1); // the table has (index, weight)
  all(index_add(m, 0), {"index_add"}, 2);
  all(scatter_add(m, 0, m, m), {"scatter_add"}, 2);
  all(opaque(2), {"cross_entropy"}, 2);
  all(like(m), {"zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full"});
  all(dense_solve(m), {"linalg_solve"});
  return out;
}

} // namespace

TEST_CASE("every recorded operation without shards") {
  auto const what = subjects();
  reviewed_list reviewed("reviewed_local.csv");
  std::string last;
  int rows = 0, accepted = 0, models = 0;
  for (auto const& row : table("local_all.csv")) {
    if (!row[0].empty()) last = row[0];
    INFO(last << " " << row[1]);
    auto const found = what.find(last);
    REQUIRE(found != what.end());
    auto const& [op, indices, literal_at] = found->second;
    std::vector<operand> operands;
    auto const args = split(row[1], ';');
    for (std::size_t k = 0; k < args.size(); ++k) {
      if (literal_at == static_cast<int>(k)) operands.push_back(literal_operand());
      operands.push_back(tensor_on(parse(args[k]), 2));
      operands.back().gradient = !(indices >> k & 1);
    }
    if (literal_at == static_cast<int>(args.size())) operands.push_back(literal_operand());
    if (last == "embedding") std::swap(operands[0], operands[1]);
    auto const got = check(op, operands);
    auto const ours = got.ok() ? name(got.type.on[0]) : "ERROR";
    auto const right = right_results(row.size() > 3 ? row[3] : "");
    bool const agrees = got.ok() ? right.count(ours) > 0 : right.empty();
    if (!agrees && !reviewed.accepts(last + " " + row[1], ours)) FAIL_CHECK("we answer " << ours);
    if (!got.ok()) CHECK(got.why.operand >= 0);
    ++rows, accepted += got.ok(), models += ours == row[2];
  }
  CHECK(rows == 2264);
  CHECK(accepted > 900);
  CHECK(models > 2100);
  INFO("accepted " << accepted << ", as the model " << models);
  for (auto const& row : reviewed.stale()) FAIL_CHECK("no longer differs: " << row);
}

} // namespace test_oracle_local

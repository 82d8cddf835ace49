// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Literals, typed scalars, factories and changes in place against recorded tables: 2219 + 336 rows. Scalars never
// receive a gradient. There is no brute force for these; a reviewed list says where the model is wrong or another
// policy.
#include <sla/spmd/rule/rules.hpp>
#include <sla/spmd/rule/table/composite.hpp>
#include <sla/spmd/rule/table/make.hpp>
#include <sla/spmd/rule/table/move.hpp>
#include <sla/spmd/rule/table/pointwise.hpp>
#include <sla/spmd/rule/table/folds.hpp>
#include <sla/spmd/step/transition.hpp>

#include "oracle.hpp"

namespace test_oracle_scalars {

using namespace sla;
using namespace placed_values;
using namespace sla::strategies;
using sla::strategies::constant, sla::strategies::unary; // not those of sla, which other files of the program include

namespace {

operand scalar_on(placement_value at) {
  operand o = tensor_on(at, 0);
  o.gradient = false;
  return o;
}
operand mask_of(operand o) { // x > 0
  o.gradient = false;
  return o;
}

// "R", "sV", "2.0", "1j", "true"
operand parse_operand(std::string const& text, bool gradient) {
  if (text[0] == 's') return scalar_on(parse(text.substr(1)));
  if (std::string("RIVPS").find(text[0]) == std::string::npos) return literal_operand();
  auto const slash = text.find('/');
  operand o = tensor_on(parse(text.substr(0, slash)), 2);
  o.gradient = slash == std::string::npos ? gradient : text[slash + 1] == '1';
  return o;
}

std::string answer(placement_outcome const& got) { return got.ok() ? name(got.type.on[0]) : "ERROR"; }
std::string call(strategy const& s, std::vector<operand> const& operands, int in_place = -1, bool permissive = false) {
  call_context now;
  now.in_place = static_cast<std::int8_t>(in_place);
  now.permissive = permissive;
  return answer(check(s, operands, now));
}
std::string branch(operand const& o) { return check_branch(o.type).what == code::ok ? "number" : "ERROR"; }

// What needs no rule: questions about shapes, and what only the host's language has.
bool is_foreign(std::string const& op) {
  for (char const* n :
       {"scalar hash(a)", "scalar round(a)", "scalar range(a)", "x.numpy()", "len(x)", "x.shape", "x.data"})
    if (op == n) return true;
  return false;
}

std::string of_scalar(std::string const& op, operand const& x, operand const& s) {
  auto const m = dims::unknown(2), zero = dims{};
  auto const is = [&](std::initializer_list<char const*> names) {
    for (auto const* n : names)
      if (op == n) return true;
    return false;
  };
  if (is({"x+s", "torch.add(x,s)"})) return call(add(m, zero), {x, s});
  if (is({"s+x"})) return call(add(zero, m), {s, x});
  if (is({"x-s"})) return call(sub(m, zero), {x, s});
  if (is({"s-x"})) return call(sub(zero, m), {s, x});
  if (is({"x*s", "torch.mul(x,s)"})) return call(mul(m, zero), {x, s});
  if (is({"s*x"})) return call(mul(zero, m), {s, x});
  if (is({"x/s", "torch.div(x,s)"})) return call(div(m, zero), {x, s});
  if (is({"s/x"})) return call(div(zero, m), {s, x});
  if (is({"x**s"})) return call(pointwise(m, zero), {x, s});
  if (is({"s**x"})) return call(pointwise(zero, m), {s, x});
  if (is({"x==s", "x<s"})) return call(stepwise(m, zero), {x, s});
  if (is({"maximum(x,tensor(s))", "clamp(x,min=s)"})) return call(maximum(m, zero), {x, s});
  if (is({"where(x>0,x,s)"})) return call(where(m, m, zero), {mask_of(x), x, s});
  if (is({"masked_fill(x,x>0,s)"})) return call(where(m, m, zero), {mask_of(x), s, x});
  if (is({"torch.add(x,x,alpha=s)"})) return call(axpy(m), {s, x, x});
  if (is({"addmm(x,x,x,alpha=s)"})) return call(opaque(4), {s, x, x, x});
  if (is({"full_like(x,s)"})) return call(from_scalars(1, 2), {s}); // x lends its shape
  if (is({"x.fill_(s)"})) return call(copy_in_place(m, zero), {x, s}, 0);
  if (is({"x.add_(s)"})) return call(add(m, zero), {x, s}, 0);
  if (is({"x.mul_(s)"})) return call(mul(m, zero), {x, s}, 0);
  if (is({"lerp(x,x,s)", "lerp(x,2*x,s)"})) return call(lerp(m, m, zero), {x, x, s});
  // a scalar in the place of an offset, an extent or a dimension
  return call(opaque(2).linear_in(operand_bits(0)), {x, s});
}

std::string of_scalars(std::string const& op, std::vector<operand> const& a) {
  auto const zero = dims{};
  auto const is = [&](std::initializer_list<char const*> names) {
    for (auto const* n : names)
      if (op == n) return true;
    return false;
  };
  if (is({"scalar a+b"})) return call(add(zero, zero), a);
  if (is({"scalar a-b"})) return call(sub(zero, zero), a);
  if (is({"scalar a*b"})) return call(mul(zero, zero), a);
  if (is({"scalar a/b"})) return call(div(zero, zero), a);
  if (is({"scalar a//b", "scalar a%b", "scalar a**b"})) return call(pointwise(zero, zero), a);
  if (is({"scalar a==b", "scalar a<b", "scalar a>=b"})) return call(stepwise(zero, zero), a);
  if (is({"scalar min(a,b)"})) return call(minimum(zero, zero), a);
  if (is({"scalar -a"})) return call(neg(zero), a);
  if (is({"scalar +a", "scalar torch.tensor(a)"})) return call(unary(zero, behaviour::copy), a);
  if (is({"scalar abs(a)"})) return call(unary(zero), a);
  if (is({"torch.equal(x,x)", "torch.allclose(x,x)"})) return branch(a[0]);
  REQUIRE(is({"scalar int(a)", "scalar float(a)", "scalar bool(a)", "scalar if a", "x.item()", "float(x)", "bool(x)",
              "x.tolist()", "if x>0"}));
  return branch(a[0]);
}

std::string of_factory(std::string const& op, bool permissive, operand const& x) {
  auto const m = dims::unknown(2);
  auto const is = [&](std::initializer_list<char const*> names) {
    for (auto const* n : names)
      if (op == n) return true;
    return false;
  };
  operand zeros = tensor_on(R, 2), noise = tensor_on(placement_value{}, 2);
  zeros.gradient = noise.gradient = false;
  auto const with = [&](strategy const& s, std::vector<operand> const& o) { return call(s, o, -1, permissive); };
  if (is({"zeros_like", "ones_like", "full_like"})) return with(like(m), {x});
  if (is({"new_zeros", "new_ones", "new_full", "new_tensor", "zeros(x.shape)"})) return with(constant(1, 2), {x});
  if (is({"empty_like", "rand_like", "randn_like", "randint_like", "new_empty"})) return with(random(1, 2), {x});
  if (is({"bernoulli", "dropout"})) return with(drawn_by(1, 2), {x});
  if (is({"tensor(x.item())"})) return branch(x) == "number" ? "R" : "ERROR"; // a uniform number
  if (is({"full((3,),s)", "arange(s)", "arange(0,s)", "linspace(0,s,3)", "zeros(s)", "tensor(s)", "eye(s)"}))
    return with(from_scalars(1, 1), {x});
  if (is({"randint(0,s,(3,))"})) return with(drawn_by(1, 1), {x});
  if (is({"randn+x"})) return with(add(m, m), {noise, x});
  if (is({"x*randn"})) return with(mul(m, m), {x, noise});
  if (is({"zeros+x"})) return with(add(m, m), {zeros, x});
  if (is({"x*ones"})) return with(mul(m, m), {x, zeros});
  if (is({"exp(randn)"})) return with(unary(m), {noise});
  if (is({"randn+randn"})) return with(add(m, m), {noise, noise});
  if (is({"zeros+randn"})) return with(add(m, m), {zeros, noise});
  if (is({"all_reduce(randn)"})) return check(transition{step::all_reduce, {}, R}) == code::ok ? "R" : "ERROR";
  if (is({"cat([x,zeros])"})) return with(cat(0, {m, m}), {x, zeros});
  if (is({"where(x>0,x,zeros)"})) return with(where(m, m, m), {mask_of(x), x, zeros});
  FAIL("no factory " << op);
  return "";
}

std::string normal(std::string const& model) {
  if (model.rfind("python:", 0) == 0) return "number";
  return model[0] == 's' ? model.substr(1) : model;
}

// Every row of the table, each a line of operation, what holds for all, and pairs.
template <class Answer>
int compare(std::string const& file, reviewed_list& reviewed, Answer ours_of) {
  int rows = 0;
  for (auto const& row : table(file, '|'))
    for (auto const& entry : split(row[2], ' ')) {
      auto const eq = entry.rfind('=');
      auto const args = entry.substr(0, eq);
      ++rows;
      if (is_foreign(row[0]) || args.find("s?") != std::string::npos) continue; // no mesh is another type here
      auto const ours = ours_of(row[0], row[1], args);
      auto const at = row[0] + " " + (row[1].empty() ? "" : row[1] + " ") + args;
      if (ours != normal(entry.substr(eq + 1)) && !reviewed.accepts(at, ours))
        FAIL_CHECK(at << " -> " << ours << " not " << entry.substr(eq + 1));
    }
  for (auto const& row : reviewed.stale()) FAIL_CHECK("no longer differs: " << row);
  return rows;
}

} // namespace

TEST_CASE("literals and typed scalars at every position") {
  reviewed_list reviewed("reviewed_scalars.csv");
  int const rows =
      compare("scalars.csv", reviewed, [](std::string const& op, std::string const& gradient, std::string const& text) {
        std::vector<operand> operands;
        for (auto const& part : split(text, ';')) operands.push_back(parse_operand(part, gradient == "1"));
        return gradient.empty() ? of_scalars(op, operands) : of_scalar(op, operands[0], operands[1]);
      });
  CHECK(rows == 2219);
}

TEST_CASE("factories, and what they make beside what has a placement") {
  reviewed_list reviewed("reviewed_factories.csv");
  int const rows =
      compare("factories.csv", reviewed, [](std::string const& op, std::string const& mode, std::string const& text) {
        return of_factory(op, mode.find("permissive") != std::string::npos, parse_operand(text, true));
      });
  CHECK(rows == 336);
}

} // namespace test_oracle_scalars

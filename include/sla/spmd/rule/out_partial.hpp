// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Asking for a pending sum: an operation that says on which axes its result is one, `out_partial<mm, "tp">`, as a mesh
// with the promise explicit_partial wants it. Meshes are in spmd/mesh/mesh.hpp, the rules of the operation itself in
// spmd/rule/table/op_rule.hpp; products and reductions so asked for are in dist/.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include <sla/core/meta.hpp>
#include <sla/spmd/rule/compose.hpp>
#include <sla/spmd/rule/rules.hpp>

namespace sla {

namespace detail {
template <fixed_string Name>
struct axis_word { // a name as a type: not every compiler matches specialisations by strings
  static constexpr std::string_view view() { return Name.view(); }
};
template <class Op, class Word>
struct requesting_partial {
  template <class... X>
  static auto apply(X const&... x) {
    return Op::apply(x...);
  }
  template <class... X>
  static auto pullback(X const&... x) {
    return Op::pullback(x...);
  }
};
/// Op where nothing has to be said: the backward pass, whose placements follow from those of the forward pass.
template <class Op>
struct inferring_partial {};

/// The operation that is asked for.
template <class Op>
struct requested_op {
  using type = Op;
};
template <class Op, class Word>
struct requested_op<requesting_partial<Op, Word>> : requested_op<Op> {};
template <class Op>
struct requested_op<inferring_partial<Op>> : requested_op<Op> {};
template <class Op>
using requested_op_t = typename requested_op<Op>::type;
} // namespace detail

/// The operation Op whose result is a pending sum on this axis: `perform(out_partial<op::dot, "tp">{}, x, y)`, of products
/// `perform(out_partial<op::matvec, "tp">{}, A, x)`, of an own operation `custom<out_partial<mm, "tp">>(x, w)`. Law: the result is Partial
/// there, since an index that Op sums over is sharded, or an operand varies. Errors: E18 if it would not be. Of several axes:
/// `out_partial<out_partial<mm, "dp">, "tp">`.
template <class Op, fixed_string Axis>
using out_partial = detail::requesting_partial<Op, detail::axis_word<Axis>>;

namespace rules {
/// The rule of an operation whose result is asked to be Partial.
template <class Op, class Word>
struct requested_partial {
  bool known = rule_of<Op>.known;
};
/// The rule of an operation whose result's placement is inferred, Partial too.
template <class Op>
struct inferred_partial {
  bool known = rule_of<Op>.known;
};
} // namespace rules

template <class Op, class Word>
inline constexpr rules::requested_partial<Op, Word> rule_of<detail::requesting_partial<Op, Word>>{};
template <class Op>
inline constexpr rules::inferred_partial<Op> rule_of<detail::inferring_partial<Op>>{};

/// The decision for Op, and then that the result be Partial. Errors: different_meshes if the mesh of the call has no such axis.
template <class Op, class Word>
constexpr placement_outcome check(rules::requested_partial<Op, Word> const&, std::span<operand const> operands,
                        call_context now = {}) {
  placement_outcome missing;
  missing.why.what = code::different_meshes;
  int at = -1;
  for (int a = 0; a < max_mesh_axes; ++a)
    if (now.axis_names[a] == Word::view()) at = a;
  if (at < 0) return missing;
  now.out_partial = static_cast<std::uint8_t>(now.out_partial | 1U << at);
  return check(rule_of<Op>, operands, now);
}
template <class Op>
constexpr placement_outcome check(rules::inferred_partial<Op> const&, std::span<operand const> operands, call_context now = {}) {
  now.explicit_partial = 0;
  return check(rule_of<Op>, operands, now);
}

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The words of a step that communicates: what engines compare between ranks, and name where ranks take different ones.
// How placements are spelled is in spmd/placement/spelling.hpp.
#pragma once

#include <sla/core/meta.hpp>
#include <sla/spmd/placement/spelling.hpp>
#include <sla/spmd/refusal/words.hpp>

namespace sla::detail {

/// `all_gather<"tp", Shard<0>, Replicate>`, and of several axes `all_gather<flat<"dp", "cp">, Shard<0>, Replicate>`.
template <step How, class From, class To, class Mesh, int... A>
inline constexpr auto step_words = [] {
  constexpr bool several = sizeof...(A) > 1;
  fixed_text<200> out;
  out << name_of(How) << (several ? "<flat<" : "<");
  int n = 0;
  ((out << (n++ ? ", \"" : "\"") << Mesh::name(A) << "\""), ...);
  out << (several ? ">, " : ", ");
  write_placement<From>(out);
  out << ", ";
  write_placement<To>(out);
  out << ">";
  return out;
}();

/// Steps that are one collective; halos are messages between neighbours.
constexpr bool is_one_collective(step how) {
  return how == step::all_reduce || how == step::all_gather || how == step::reduce_scatter || how == step::all_to_all ||
         how == step::repartition;
}

} // namespace sla::detail

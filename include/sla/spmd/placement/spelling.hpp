// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Placements, families and meshes as a program spells them, in constant expressions: `Shard<0, Part<"geo">>`, `{dp:
// Replicate}`. Plain text and the words of codes and steps are in spmd/refusal/words.hpp, whole messages in
// spmd/refusal/explain_error.hpp.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include <sla/core/shape.hpp>
#include <sla/spmd/mesh/mesh.hpp>
#include <sla/spmd/placement/family.hpp>
#include <sla/spmd/placement/placement.hpp>
#include <sla/spmd/placement/placement_values.hpp>

namespace sla::detail {

template <class T>
constexpr std::string_view signature_of() {
  return __PRETTY_FUNCTION__;
}

/// The name of a type without namespaces and template arguments.
template <class T>
constexpr std::string_view short_name() {
  std::string_view name = signature_of<T>();
  std::string_view const known = signature_of<void>();
  auto const before = known.find("void"), after = known.size() - before - 4;
  name = name.substr(before, name.size() - before - after);
  std::size_t begin = 0, end = 0;
  while (end < name.size() && name[end] != '<') {
    if (name[end] == ':' || name[end] == ' ') begin = end + 1;
    ++end;
  }
  return name.substr(begin, end - begin);
}

// Families and placements as a program spells them; a family of a user by its name.
template <class F>
struct family_words {
  static constexpr void write(auto& out) {
    out << short_name<F>();
    if constexpr (requires { F::tag; }) { // nvcc takes no string out of Part<"name">
      if (F::tag.view().empty())
        out << "<>";
      else
        out << "<\"" << F::tag.view() << "\">";
    }
  }
};
template <std::int64_t... Sizes>
struct family_words<Table<Sizes...>> {
  static constexpr void write(auto& out) {
    int n = 0;
    out << "Table<";
    ((out << (n++ ? ", " : "") << static_cast<int>(Sizes)), ...);
    out << ">";
  }
};
template <int Pieces, class Base>
struct family_words<Strided<Pieces, Base>> {
  static constexpr void write(auto& out) {
    out << "Strided<" << Pieces;
    if constexpr (!std::is_same_v<Base, Even>) {
      out << ", ";
      family_words<Base>::write(out);
    }
    out << ">";
  }
};
template <class P>
constexpr void write_placement(auto& out) {
  constexpr auto kind = P::kind;
  out << short_name<P>();
  if constexpr (kind == placement_kind::partial) {
    out << "<" << short_name<typename P::monoid_type>() << ">";
  } else if constexpr (is_sharded(kind)) {
    using F = typename P::family;
    bool const usual = std::is_same_v<F, std::conditional_t<kind == placement_kind::shard, Even, Part<>>>;
    out << "<";
    if constexpr (kind != placement_kind::hyper) out << static_cast<int>(P::dim);
    bool more = !usual;
    if constexpr (requires { P::level; }) more = more || P::level != 0;
    if constexpr (HasPattern<P>) more = more || !P::pattern::value.view().empty();
    if (more) {
      if constexpr (kind != placement_kind::hyper) out << ", ";
      family_words<F>::write(out);
    }
    if constexpr (requires { P::level; })
      if (P::level != 0) out << ", " << static_cast<int>(P::level);
    if constexpr (HasPattern<P>)
      if (!P::pattern::value.view().empty()) out << ", \"" << P::pattern::value.view() << "\"";
    out << ">";
  }
}

template <class... P, class Mesh>
constexpr void write_placements(auto& out, placements<P...>, std::type_identity<Mesh>) {
  int a = 0;
  out << "{";
  ((out << (a ? ", " : "") << Mesh::name(a) << ": ", ++a, write_placement<P>(out)), ...);
  out << "}";
}

template <class Mesh>
constexpr void write_mesh(auto& out) {
  out << " on mesh{";
  for (int a = 0; a < Mesh::rank; ++a) {
    out << (a ? ", " : "") << Mesh::name(a) << ": ";
    if (Mesh::static_size(a) == dyn)
      out << "dyn";
    else
      out << Mesh::static_size(a);
  }
  out << "}";
}

} // namespace sla::detail

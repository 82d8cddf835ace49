// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Nodes with a run-time count, for GMRES and its kin: `dots(V, k, w)` gives k inner products with a basis, `combine(V, k, h)`
// the linear combination of its first k vectors with coefficients h.
#pragma once

#include <vector>

#include <sla/expr/dense/reduce.hpp>

namespace sla {

/// The first vectors of a Krylov basis: at most Capacity of them, as a kernel sees them.
template <class T, class E, class Memory, int Capacity>
struct basis_view {
  fixed_array<T const*, Capacity> data;
  E shape;
};

/// sum of conj(V_j) w, for j < k: a statement with a fixed_array of k numbers and zeros.
template <class T, class E, class Memory, int Capacity, class X>
struct dots_statement {
  using statement_tag = void;
  using monoid_type = op::plus;
  using finish_type = as_is;
  using expression_type = X;
  using memory_type = Memory;
  using summand = decltype(op::inner::apply(T{}, typename X::value_type{}));
  using accumulator_type = fixed_array<summand, Capacity>;
  using result_type = accumulator_type;
  static constexpr reach depth = X::depth;

  basis_view<T, E, Memory, Capacity> V;
  int count;
  X x;

  index_t total() const { return V.shape.total(); }
  template <class F>
  auto rebuild(F const& f) const {
    return dots_statement<T, E, Memory, Capacity, decltype(f(x))>{V, count, f(x)};
  }
  template <class F>
  void accesses(F&& f) const {
    for (int j = 0; j < count; ++j) f(memory_access{V.data[j], V.shape.total() * index_t(sizeof(T)), false, false});
    x.accesses(f, false);
  }
  SLA_HD static accumulator_type identity() { return {}; }

  SLA_HD void run(column_span s, accumulator_type* result) const {
    for (int j = 0; j < count; ++j) {
      using Leaf = tensor_view<T, E, Memory>;
      using Summand = binary<op::inner, Leaf, X>;
      summand folded{};
      reduction<op::plus, Summand>{Summand{Leaf{V.data[j], V.shape}, x}}.run(s, &folded);
      (*result)[j] += folded;
    }
  }
  SLA_HD void run(row_span s, accumulator_type* result) const {
    if (s.rhs == 1) return run(column_span{s.first, s.count, s.item}, result);
    for (int j = 0; j < count; ++j)
      detail::for_elements(s, [&](element e) { result[e.item - s.item][j] += op::inner::apply(V.data[j][e.at], x.at(e)); });
  }
};

/// sum of h_j V_j for j < k; `Coefficients` is a number node of fixed_array (constant or per item).
template <class T, class E, class Memory, int Capacity, class Coefficients>
struct combine_node {
  using expression_tag = void;
  using value_type = T;
  using extents_type = E;
  using memory_type = Memory;
  static constexpr reach depth = reach::pointwise;

  basis_view<T, E, Memory, Capacity> V;
  int count;
  Coefficients h;

  SLA_HD E const& extents() const { return V.shape; }
  SLA_HD T at(element e) const {
    auto const& c = h.refer(e);
    decltype(op::mul::apply(c[0], T{})) total{};
    for (int j = 0; j < count; ++j) total += op::mul::apply(c[j], V.data[j][e.at]);
    return scalar_cast<T>(total);
  }
  template <class F>
  auto rebuild(F const& f) const {
    return combine_node<T, E, Memory, Capacity, decltype(f(h))>{V, count, f(h)};
  }
  template <class F>
  void accesses(F&& f, bool elsewhere) const {
    for (int j = 0; j < count; ++j) f(memory_access{V.data[j], V.shape.total() * index_t(sizeof(T)), elsewhere, false});
  }
};

namespace detail {
/// The views of the first `count` of a list of equal tensors. Errors: there are fewer, more than Capacity, or they differ.
template <int Capacity, class V>
auto view_basis(std::vector<V> const& vectors, int count, char const* operation) {
  using Leaf = decltype(view(vectors.front()));
  if (vectors.empty() || count < 0 || count > Capacity || count > int(vectors.size()))
    throw shape_error(text(operation, ": count is ", count, ", of ", vectors.size(), " vectors and ", Capacity,
                           " coefficients; it is at most both, and there is at least one vector"));
  for (int j = 1; j < count; ++j) require_same_extents(view(vectors[std::size_t(j)]).shape, view(vectors[0]).shape, operation);
  basis_view<typename Leaf::value_type, typename Leaf::extents_type, typename Leaf::memory_type, Capacity> basis{};
  basis.shape = view(vectors.front()).shape;
  for (int j = 0; j < count; ++j) basis.data[j] = view(vectors[std::size_t(j)]).data;
  return basis;
}
} // namespace detail

/// The statement of count inner products conj(V_j) . w, for j < count <= Capacity.
/// Law: w has the extents of each V_j. Errors: shape_error where only run time can tell, or for a count out of range.
template <int Capacity, class V, Tensorial X>
  requires is_tensor<V>
auto dots(std::vector<V> const& vectors, int count, X&& w) {
  using Leaf = decltype(view(vectors.front()));
  static_assert(same_extents_law<typename Leaf::extents_type, typename node_t<X>::extents_type>,
                "sla: dots(V, count, w): w has another shape than the vectors of V");
  dots_statement<typename Leaf::value_type, typename Leaf::extents_type, typename Leaf::memory_type, Capacity, node_t<X>> statement{
      detail::view_basis<Capacity>(vectors, count, "dots(V, count, w)"), count, as_node(std::forward<X>(w))};
  require_same_extents(statement.V.shape, statement.x.extents(), "dots(V, count, w)");
  return statement;
}

/// The expression sum of h_j V_j, for j < count; h is a fixed_array, or one per item. Its type is that of V, rounded once.
/// Errors: shape_error for a count out of range.
template <class V, class H>
  requires is_tensor<V>
auto combine(std::vector<V> const& vectors, int count, H const& h) {
  using Leaf = decltype(view(vectors.front()));
  using Coefficients = decltype(as_coefficients(h));
  constexpr int capacity = Coefficients::value_type::size();
  static_assert(storage_law<typename Leaf::value_type, std::remove_cvref_t<decltype(typename Coefficients::value_type{}[0])>>,
                "sla: combine(V, count, h): complex coefficients of real vectors; make the vectors complex");
  return combine_node<typename Leaf::value_type, typename Leaf::extents_type, typename Leaf::memory_type, capacity, Coefficients>{
      detail::view_basis<capacity>(vectors, count, "combine(V, count, h)"), count, as_coefficients(h)};
}

template <class T, int Capacity>
constant<fixed_array<T, Capacity>> as_coefficients(fixed_array<T, Capacity> const& h) {
  return {h};
}

} // namespace sla

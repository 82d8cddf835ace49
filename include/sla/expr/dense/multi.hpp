// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sets of vectors: `gram_of(V, W)` gives the inner products of all columns of two blocks, `combine(V, C)` the columns of V C. Of vectors that
// lie each by itself, as a Krylov basis does, these are `dots(V, count, w)` and `combine(V, count, h)`.
#pragma once

#include <utility>
#include <vector>

#include <sla/core/small_matrix.hpp>
#include <sla/expr/dense/block_kernels.hpp>
#include <sla/expr/dense/reduce.hpp>

namespace sla {

/// The first `count` of a list of vectors, at most Capacity of them, as a kernel sees them.
template <class T, class E, class Memory, int Capacity>
struct listed_vectors {
  using value_type = T;
  using memory_type = Memory;
  static constexpr bool is_block = false;
  static constexpr reach depth = reach::pointwise;

  fixed_array<T const*, Capacity> data;
  E shape;
  int count;

  /// The j-th inner product's term of element e, which is w of the other operand.
  template <class W>
  SLA_HD auto term(int j, element e, W const& w) const {
    return op::inner::apply(data[j][e.at], w);
  }
  template <class C>
  SLA_HD auto combination(C const& c, element e) const {
    decltype(op::mul::apply(c[0], T{})) total{};
    for (int j = 0; j < count; ++j) total += op::mul::apply(c[j], data[j][e.at]);
    return total;
  }
  template <class F>
  void accesses(F&& f, bool elsewhere) const {
    for (int j = 0; j < count; ++j) f(memory_access{data[j], shape.total() * index_t(sizeof(T)), elsewhere, false});
  }
};

/// The columns of a block (*batch, N, k), as a kernel sees them: a row of k numbers for each of N.
template <class T, class E, class Memory>
struct block_view : tensor_view<T, E, Memory> {
  static constexpr bool is_block = true;
  static constexpr reach depth = reach::row;

  index_t most = 1;  ///< numbers that a statement makes of a block of rows, which has at least 16 times as many elements

  SLA_HD index_t columns() const { return this->shape[E::rank - 1]; }
  /// All columns are of one item, those of a batch item are as many rows of the space.
  frame layout() const { return {1, columns() ? this->shape.total() / columns() : 0, columns(), 1}; }
  index_t rows_at_once() const { return columns() ? 16 * most / columns() : 1; }
  template <class F>
  block_view rebuild(F const&) const {
    return *this;
  }
  /// The term of an inner product of column j, where v is element e of the left block, whose columns are right-hand sides of the pass.
  template <class W>
  SLA_HD auto term(int j, element e, W const& v) const {
    return op::inner::apply(v, this->data[e.row * columns() + j]);
  }
  template <class C>
  SLA_HD auto combination(C const& c, index_t row, int b) const {
    index_t const k = columns();
    decltype(op::mul::apply(c[0], T{})) total{};
    for (int a = 0; a < k; ++a) total += op::mul::apply(c(a, b), this->data[row * k + a]);
    return total;
  }
  template <class F>
  void accesses(F&& f, bool elsewhere) const {
    f(memory_access{this->data, this->shape.total() * index_t(sizeof(T)), elsewhere, false, 0, true});
  }
};

/// One column of a block, (*batch, N), where it lies.
template <class T, class E, class Memory>
struct column_view {
  using expression_tag = void;
  using value_type = T;
  using extents_type = E;
  using memory_type = Memory;
  static constexpr reach depth = reach::pointwise;

  T const* data;  ///< of its first row
  index_t step;
  E shape;

  SLA_HD E const& extents() const { return shape; }
  SLA_HD T at(element e) const { return data[e.at * step]; }
  template <class F>
  column_view rebuild(F const&) const {
    return *this;
  }
  template <class F>
  void accesses(F&& f, bool elsewhere) const {
    f(memory_access{data, (shape.total() ? (shape.total() - 1) * step + 1 : 0) * index_t(sizeof(T)), elsewhere, false, 0, false, step * index_t(sizeof(T))});
  }
};

/// A column of a block that may be written: `set(column(V, j), x)`.
template <class T, class E, class Memory>
struct writable_column : column_view<T, E, Memory> {
  T* out;  ///< its first row
};

/// Inner products, many at once: of a list of vectors with x, or of the columns of x with those of a block. Result has room for them.
template <class Set, class X, class Result>
struct gram_statement {
  using statement_tag = void;
  using monoid_type = op::plus;
  using finish_type = as_is;
  using expression_type = X;
  using memory_type = typename Set::memory_type;
  using accumulator_type = Result;
  using result_type = Result;
  using summand = std::remove_cvref_t<decltype(Result{}[0])>;
  static constexpr reach depth = X::depth;
  static constexpr bool is_block = Set::is_block;

  Set V;
  X x;

  index_t total() const { return x.extents().total(); }
  /// The inner products of each vector of x with the set; and how many vectors x is.
  SLA_HD int components() const {
    if constexpr (is_block)
      return int(V.columns());
    else
      return V.count;
  }
  SLA_HD int vectors() const {
    if constexpr (is_block)
      return int(x.columns());
    else
      return 1;
  }
  template <class F>
  auto rebuild(F const& f) const {
    return gram_statement<Set, decltype(f(x)), Result>{V, f(x)};
  }
  template <class F>
  void accesses(F&& f) const {
    V.accesses(f, false);
    x.accesses(f, false);
  }
  SLA_HD static accumulator_type identity() { return {}; }

  SLA_HD void run(column_span s, accumulator_type* result) const
    requires(!is_block)
  {
    for (int j = 0; j < V.count; ++j) {
      using Leaf = tensor_view<typename Set::value_type, decltype(V.shape), memory_type>;
      using Summand = binary<op::inner, Leaf, X>;
      summand folded{};
      reduction<op::plus, Summand>{Summand{Leaf{V.data[j], V.shape}, x}}.run(s, &folded);
      (*result)[j] += folded;
    }
  }
  SLA_HD void run(row_span s, accumulator_type* result) const
    requires(!is_block)
  {
    if (s.rhs == 1) return run(column_span{s.first, s.count, s.item}, result);
    for (int j = 0; j < V.count; ++j)
      detail::for_elements(s, [&](element e) { result[e.item - s.item][j] += V.term(j, e, x.at(e)); });
  }
  /// Whole rows, all of one item.
  void run(row_span s, accumulator_type* result) const
    requires is_block
  {
    index_t const k = x.columns(), m = V.columns(), row = s.first / k;
    detail::gram_rows(x.data + s.first, k, V.data + row * m, m, s.count / k, &(*result)[0], Result::cols());
  }
};

/// Linear combinations: of a list of vectors, sum of h_j V_j; of a block, the columns of V C. `Coefficients` is a number node (constant, or
/// per item).
template <class Set, class E, class Coefficients>
struct combine_node {
  using expression_tag = void;
  using value_type = typename Set::value_type;
  using extents_type = E;
  using memory_type = typename Set::memory_type;
  static constexpr reach depth = Set::depth;

  Set V;
  E shape;
  Coefficients h;

  SLA_HD E const& extents() const { return shape; }
  SLA_HD value_type at(element e) const {
    auto const& c = h.refer(e);
    if constexpr (Set::is_block) {
      index_t const m = shape[E::rank - 1], row = e.at / m;
      return scalar_cast<value_type>(V.combination(c, row, int(e.at - row * m)));
    } else {
      return scalar_cast<value_type>(V.combination(c, e));
    }
  }
  frame layout() const
    requires(Set::is_block)
  {
    return {1, V.layout().rows, shape[E::rank - 1], 1};
  }
  /// Writes whole rows of one item; they may be those that are read.
  template <class Span, class T>
    requires(Set::is_block)
  void store(Span s, T* out) const {
    using C = std::remove_cvref_t<decltype(h.refer(element{}))>;
    index_t const k = V.columns(), m = shape[E::rank - 1], row = s.first / m;
    auto const& c = h.refer(element{s.first, s.first, s.item});
    detail::combine_rows<C::cols()>(V.data + row * k, k, &c[0], C::cols(), m, s.count / m, out);
  }
  template <class F>
  auto rebuild(F const& f) const {
    return combine_node<Set, E, decltype(f(h))>{V, shape, f(h)};
  }
  template <class F>
  void accesses(F&& f, bool elsewhere) const {
    V.accesses(f, elsewhere);
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
  listed_vectors<typename Leaf::value_type, typename Leaf::extents_type, typename Leaf::memory_type, Capacity> basis{};
  basis.shape = view(vectors.front()).shape;
  basis.count = count;
  for (int j = 0; j < count; ++j) basis.data[j] = view(vectors[std::size_t(j)]).data;
  return basis;
}
/// The statement of inner products with a list; Node is that of w.
template <int Capacity, class V, class Node>
auto dots_of_node(std::vector<V> const& vectors, int count, Node node) {
  using Set = decltype(view_basis<Capacity>(vectors, count, ""));
  using Summand = decltype(op::inner::apply(typename Set::value_type{}, typename Node::value_type{}));
  gram_statement<Set, Node, fixed_array<Summand, Capacity>> statement{view_basis<Capacity>(vectors, count, "dots(V, count, w)"), std::move(node)};
  require_same_extents(statement.V.shape, statement.x.extents(), "dots(V, count, w)");
  return statement;
}

/// The extents of a block with Columns in the place of its columns, a number or `dyn`.
template <class E, index_t Columns>
struct columns_replaced;
template <index_t... E, index_t Columns>
struct columns_replaced<Extents<E...>, Columns> {
  using type = decltype([]<std::size_t... Axis>(std::index_sequence<Axis...>) {
    return Extents<(Axis + 1 < sizeof...(E) ? Extents<E...>::static_extent(int(Axis)) : Columns)...>{};
  }(std::make_index_sequence<sizeof...(E)>{}));
};
/// The extents of one column of a block.
template <class E>
struct extents_of_column;
template <index_t... E>
struct extents_of_column<Extents<E...>> {
  using type = decltype([]<std::size_t... Axis>(std::index_sequence<Axis...>) {
    return Extents<Extents<E...>::static_extent(int(Axis))...>{};
  }(std::make_index_sequence<sizeof...(E) - 1>{}));
};
/// The columns of a block that its type knows, or else Most, the most that there may be.
template <int Most, class E>
inline constexpr int columns_of = E::static_extent(E::rank - 1) == dyn ? Most : int(E::static_extent(E::rank - 1));

/// A block as kernels see it. Errors: shape_error, if it has more columns than the statement has room for.
template <int Most, class T, class E, class Memory>
block_view<kernel_t<T>, E, Memory> view_block(tensor<T, E, Memory> const& V, index_t most, char const* operation, char const* remedy) {
  block_view<kernel_t<T>, E, Memory> out{view(V), most};
  if (out.columns() > Most) throw shape_error(text(operation, ": a block of ", out.columns(), " columns; there is room for ", Most, remedy));
  return out;
}
} // namespace detail

/// The statement of count inner products conj(V_j) . w, for j < count <= Capacity: a fixed_array of these numbers and zeros.
/// Law: w has the extents of each V_j. Errors: shape_error where only run time can tell, or for a count out of range.
template <int Capacity, class V, Tensorial X>
  requires is_tensor<V>
auto dots(std::vector<V> const& vectors, int count, X&& w) {
  using Leaf = decltype(view(vectors.front()));
  static_assert(same_extents_law<typename Leaf::extents_type, typename node_t<X>::extents_type>,
                "sla: dots(V, count, w): w has another shape than the vectors of V");
  return detail::dots_of_node<Capacity>(vectors, count, as_node(std::forward<X>(w)));
}

/// The expression sum of h_j V_j, for j < count; h is a fixed_array, or one per item. Its type is that of V, rounded once.
/// Errors: shape_error for a count out of range.
template <class V, class H>
  requires is_tensor<V>
auto combine(std::vector<V> const& vectors, int count, H const& h) {
  using Coefficients = decltype(as_coefficients(h));
  constexpr int capacity = Coefficients::value_type::size();
  auto basis = detail::view_basis<capacity>(vectors, count, "combine(V, count, h)");
  using Set = decltype(basis);
  static_assert(storage_law<typename Set::value_type, std::remove_cvref_t<decltype(typename Coefficients::value_type{}[0])>>,
                "sla: combine(V, count, h): complex coefficients of real vectors; make the vectors complex");
  return combine_node<Set, decltype(basis.shape), Coefficients>{basis, basis.shape, as_coefficients(h)};
}

/// The statement of V^H W: (*batch, N, k) and (*batch, N, m) give a `small_matrix` k x m, one for each item of the space; all columns of a
/// block are of one item. Columns that are counted at run time are at most Most: `gram_of<16>(V, W)`.
/// Cost: reads V and W once; on ranks k m numbers in the fuse's one all_reduce. float adds up in double.
/// Law: V and W are tensors, of as many rows. An expression is set before, in the same fuse, which costs no pass of its own.
/// Gradient: of `gram(V, W)`, a traced small_matrix: a cotangent S of it is W S^H to V, and V S to W.
/// Errors: shape_error, if the rows differ, or for more than Most columns.
template <int Most = 0, class T, class E, class U, class E2, class Memory>
auto gram_of(tensor<T, E, Memory> const& V SLA_LIFETIMEBOUND, tensor<U, E2, Memory> const& W SLA_LIFETIMEBOUND) {
  static_assert(E::rank >= 2 && E2::rank == E::rank, "sla: gram_of(V, W): V and W are blocks, (*batch, N, k) and (*batch, N, m)");
  constexpr int rows = detail::columns_of<Most, E>, cols = detail::columns_of<Most, E2>;
  static_assert(rows > 0 && cols > 0, "sla: gram_of(V, W): the columns of a block are counted at run time: say how many there are at most, gram_of<16>(V, W), "
                                      "or in its type, tensor<double, Extents<dyn, 4>>");
  using Sum = decltype(op::inner::apply(kernel_t<T>{}, kernel_t<U>{}));
  constexpr char const* remedy = ": gram_of<Most>(V, W) with a larger number has more";
  auto const x = detail::view_block<rows>(V, rows * cols, "gram_of(V, W)", remedy);
  auto const set = detail::view_block<cols>(W, 1, "gram_of(V, W)", remedy);
  for (int a = 0; a + 1 < E::rank; ++a)
    if (V.extent(a) != W.extent(a))
      throw shape_error(text("gram_of(V, W): the blocks are ", to_string(V.extents()), " and ", to_string(W.extents()), "; they need equal rows"));
  return gram_statement<std::remove_const_t<decltype(set)>, std::remove_const_t<decltype(x)>, small_matrix<Sum, rows, cols>>{set, x};
}

/// The expression V C, (*batch, N, k) times a `small_matrix` k x m, or one per item: (*batch, N, m), of V's scalars, rounded once. Of V whose
/// columns are counted at run time as many, or `columns`. `set(V, combine(V, C))` works in place, row by row, on the host.
/// Cost: reads V once for all m columns. Gradient: a cotangent Z is Z C^H to V, and V^H Z to C.
/// Errors: shape_error, if C has fewer rows or columns.
template <class T, class E, class Memory, class C>
auto combine(tensor<T, E, Memory> const& V SLA_LIFETIMEBOUND, C const& c, index_t columns = -1) {
  using Coefficients = decltype(as_coefficients(c));
  using Small = typename Coefficients::value_type;
  constexpr bool fixed = E::static_extent(E::rank - 1) != dyn;
  static_assert(E::rank >= 2, "sla: combine(V, C): V is a block, (*batch, N, k)");
  static_assert(!fixed || E::static_extent(E::rank - 1) == Small::rows(), "sla: combine(V, C): C has other rows than V has columns");
  static_assert(storage_law<T, typename Small::value_type>, "sla: combine(V, C): complex coefficients of a real block; make the block complex");
  auto const block = detail::view_block<Small::rows()>(V, 1, "combine(V, C)", " rows in C");
  if (columns < 0) columns = fixed ? Small::cols() : block.columns();
  if (columns > Small::cols()) throw shape_error(text("combine(V, C): ", columns, " columns are wanted, and C has ", Small::cols()));
  using Wide = typename detail::columns_replaced<E, fixed ? index_t(Small::cols()) : dyn>::type;
  auto const shape = [&]<std::size_t... Axis>(std::index_sequence<Axis...>) {
    return Wide((int(Axis) + 1 < E::rank ? V.extent(int(Axis)) : columns)...);
  }(std::make_index_sequence<std::size_t(E::rank)>{});
  return combine_node<std::remove_const_t<decltype(block)>, Wide, Coefficients>{block, shape, as_coefficients(c)};
}

/// Column j of a block (*batch, N, k) as an expression, (*batch, N): nothing is copied. Errors: index_error, if there is none.
template <class T, class E, class Memory>
auto column(tensor<T, E, Memory> const& V SLA_LIFETIMEBOUND, index_t j) {
  static_assert(E::rank >= 2, "sla: column(V, j): V is a block, (*batch, N, k)");
  index_t const k = V.extent(E::rank - 1);
  if (j < 0 || j >= k) throw index_error(text("column(V, ", j, "): V is ", to_string(V.extents()), " and has columns 0 to ", k - 1));
  using One = typename detail::extents_of_column<E>::type;
  auto const shape = [&]<std::size_t... Axis>(std::index_sequence<Axis...>) {
    return One(V.extent(int(Axis))...);
  }(std::make_index_sequence<std::size_t(E::rank) - 1>{});
  return column_view<kernel_t<T>, One, Memory>{kernel_pointer(V.data()) + j, k, shape};
}
/// The same of a block that may be written: `set(column(V, j), x)`.
template <class T, class E, class Memory>
auto column(tensor<T, E, Memory>& V SLA_LIFETIMEBOUND, index_t j) {
  auto* const first = kernel_pointer(V.data());
  auto const read = column(std::as_const(V), j);
  return writable_column<kernel_t<T>, typename decltype(read)::extents_type, Memory>{read, first + j};
}

/// The statement V_j = expression, of column j of a block (*batch, N, k): `set(column(V, j), x)`, x (*batch, N). The other columns stay.
/// Law, Errors: as of `set(x, expression)`. Cost: writes N numbers, k apart.
template <class T, class E, class Memory, Operand X>
[[nodiscard]] auto set(writable_column<T, E, Memory> const& to, X&& expression) {
  using Source = node_t<X>;
  static_assert(same_extents_law<E, typename Source::extents_type>, "sla: set(column(V, j), expression): the expression has another shape than a column of V");
  static_assert(same_memory_law<Memory, typename Source::memory_type>, "sla: set(column(V, j), expression): V and the expression live in different memories; bring one over with to<Memory>(...)");
  static_assert(storage_law<T, typename Source::value_type>, "sla: set(column(V, j), expression): a complex value cannot be stored in a real block; take real(...), imag(...) or abs(...)");
  set_statement<T, Source, Memory, strided_numbers<T>> statement{{to.out, to.step}, to.shape.total(), as_node(std::forward<X>(expression))};
  require_same_extents(to.shape, statement.x.extents(), "set(column(V, j), expression)");
  return statement;
}

/// Refused by one sentence.
template <class T, class E, class Memory, Operand X>
auto set(column_view<T, E, Memory> const& from, X const&) {
  static_assert(always_false<X>, "sla: set(column(V, j), expression): V is const, and is not written: take column of a V that is not");
  return set_statement<T, column_view<T, E, Memory>>{nullptr, 0, from};
}

template <class T, int Capacity>
constant<fixed_array<T, Capacity>> as_coefficients(fixed_array<T, Capacity> const& h) {
  return {h};
}
template <class T, int Rows, int Cols>
constant<small_matrix<T, Rows, Cols>> as_coefficients(small_matrix<T, Rows, Cols> const& c) {
  return {c};
}

} // namespace sla

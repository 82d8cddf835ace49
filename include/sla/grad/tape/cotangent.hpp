// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Cotangents: g of a value v is such that dL = Re sum conj(g) dv. What type they have, and how contributions add up.
// The tape that carries them is in grad/tape/tape.hpp, the rules that make them in grad/tape/derivatives.hpp.
#pragma once

#include <optional>

#include <sla/exec/evaluate.hpp>

namespace sla {

/// The cotangents of a V: `type`; `zero(v)`; and `add(sum, v, contribution)`, which adds to a sum that may be empty yet.
/// A higher floor specialises it for its own values.
template <class V>
struct cotangent_space;

/// The type of a cotangent of V.
template <class V>
using cotangent_type_t = typename cotangent_space<V>::type;
/// What can be traced.
template <class V>
concept HasCotangent = requires { typename cotangent_space<V>::type; };

namespace detail {
/// To a real value only the real part of a complex contribution counts.
template <class T>
struct onto {
  template <class A>
  SLA_HD static constexpr auto apply(A a) {
    if constexpr (is_complex<A> && !is_complex<T>)
      return real_of(a);
    else
      return a;
  }
};
template <class T, class Node>
auto onto_field(Node const& node) {
  if constexpr (is_complex<typename Node::value_type> && !is_complex<T>)
    return unary<onto<T>, Node>{node};
  else
    return node;
}

/// x = node. A pointwise node on the host needs no planning of passes, which takes compilers longer than the loop.
template <class T, class E, class Memory, class Node>
void write(tensor<T, E, Memory>& x, Node const& node) {
  if constexpr (Memory::is_host && Node::depth == reach::pointwise) {
    auto const whole = set(x, node); // tensors that the node holds live as long as the loop that reads them
    auto const statement = lower_tree{}(whole);
    parallel_ranges(x.size(), [&](index_t first, index_t last) { statement.run(row_span{first, last - first, 0, 1}); }, light_below);
  } else {
    fuse(set(x, node));
  }
}
template <class Node>
auto written(Node const& node) {
  tensor<user_t<typename Node::value_type>, typename Node::extents_type, typename Node::memory_type> x(node.extents(), uninitialized);
  write(x, node);
  return x;
}

/// A sum, if it has begun.
template <class A>
struct partial_sum {
  A value;
  bool begun;
};
struct begin_sum {
  template <class A>
  SLA_HD static constexpr partial_sum<A> apply(A sum, bool begun) {
    return {sum, begun};
  }
};
struct extend_sum {
  template <class A, class B>
  SLA_HD static constexpr auto apply(partial_sum<A> sum, B b) {
    using T = promote_t<A, B>;
    return sum.begun ? T(sum.value) + T(b) : T(b);
  }
};

/// sum += contribution, or sum = contribution if it is the first: one pass, and one loop for compilers to instantiate.
/// Errors: shape_error, if a contribution, which may be of a rule of the user's, has not as many elements.
template <class T, class E, class Memory, class X>
void add_to(tensor<T, E, Memory>& sum, bool first, X const& contribution) {
  auto const field = onto_field<T>(as_node(contribution));
  if constexpr (!std::same_as<typename std::remove_const_t<decltype(field)>::extents_type, no_extents>)
    if (field.extents().total() != sum.size())
      throw shape_error(text("a derivative: a rule contributes ", to_string(field.extents()), " to the cotangent or tangent of a value of ", to_string(sum.extents()), "; both have the same extents"));
  auto const sum_view = view(sum);
  using Sum = binary<begin_sum, std::remove_const_t<decltype(sum_view)>, constant<bool>>;
  write(sum, binary<extend_sum, Sum, std::remove_const_t<decltype(field)>>{Sum{sum_view, {!first}}, field});
}
} // namespace detail

template <Scalar T>
struct cotangent_space<T> {
  using type = T;
  static T zero(T) { return T{}; }
  /// The contributions of the elements of a tensor add up: it was broadcast.
  template <class X>
  static void add(std::optional<T>& sum, T, X const& contribution) {
    auto const field = detail::onto_field<T>(as_node(contribution));
    using Field = std::remove_const_t<decltype(field)>;
    auto const total = [&] {
      if constexpr (std::same_as<typename Field::extents_type, no_extents>)
        return field.at(element{});
      else
        return to_kernel(sla::sum(field));
    }();
    T const value = T(scalar_cast<kernel_t<T>>(total));
    sum = sum ? *sum + value : value;
  }
};

/// A contribution is an expression of the elements, or adds itself: `contribution.add_to(sum)`.
template <class T, class E, class Memory>
struct cotangent_space<tensor<T, E, Memory>> {
  using type = tensor<T, E, Memory>;
  static type zero(type const& v) { return type(v.extents()); }
  template <class X>
  static void add(std::optional<type>& sum, type const& v, X const& contribution) {
    bool const first = !sum;
    if constexpr (requires { contribution.add_to(*sum); }) {
      if (first) sum.emplace(zero(v));
      contribution.add_to(*sum);
    } else {
      if (first) sum.emplace(v.extents(), uninitialized);
      detail::add_to(*sum, first, contribution);
    }
  }
};

/// On the pattern of the value. A contribution is a vector of values, or adds itself: `contribution.add_to(sum)`.
template <class T, class S, class F, class Memory>
struct cotangent_space<sparse_tensor<T, S, F, Memory>> {
  using type = sparse_tensor<T, S, F, Memory>;
  static type zero(type const& v) { return type(v.shape(), v.shared_pattern()); }
  template <class X>
  static void add(std::optional<type>& sum, type const& v, X const& contribution) {
    bool const first = !sum;
    if (first) sum.emplace(zero(v));
    if constexpr (requires { contribution.add_to(*sum); }) {
      contribution.add_to(*sum);
    } else {
      vector<T, Memory> values(Extents<dyn>(v.values().size()), buffer<T, Memory>::borrow(sum->values().data(), v.values().size()));
      detail::add_to(values, first, contribution);
    }
  }
};

namespace detail {
/// A contribution that adds itself.
template <class F>
struct adding {
  F f;
  template <class Sum>
  void add_to(Sum& sum) const {
    f(sum);
  }
};
} // namespace detail

/// A contribution to a cotangent or tangent that is no expression of the elements, such as one to the stored entries of a sparse
/// operand: f(sum) adds it to the sum, a tensor or a sparse tensor, at once.
///     adds([&](auto& sum) { add_outer(sum, g, x); })   // g[row] conj(x[col]) on the pattern
template <class F>
detail::adding<F> adds(F f) {
  return {std::move(f)};
}

namespace detail {

/// What is differentiated with respect to: an owner by reference, an expression evaluated, an integer as double.
template <class X>
decltype(auto) argument(X const& x) {
  if constexpr (std::integral<X>)
    return double(x);
  else if constexpr (Expression<X>)
    return eval(x);
  else
    return (x);
}

template <class X>
using argument_t = std::remove_cvref_t<decltype(argument(std::declval<X const&>()))>;

/// A cotangent as a contribution: a sparse one by its values, others as they are.
template <class G>
decltype(auto) contributed(G const& g) {
  if constexpr (is_sparse_tensor<G>)
    return values(g);
  else
    return (g);
}

/// The cotangent of v that one contribution makes.
template <class V, class X>
cotangent_type_t<V> collected(V const& v, X const& contribution) {
  std::optional<cotangent_type_t<V>> sum;
  cotangent_space<V>::add(sum, v, contribution);
  return std::move(*sum);
}
} // namespace detail

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the driver of solve/linear/linear.hpp must know of the world: `linear_world<A>`, specialised per kind of operator. Sparse
// tensors on the host and operators of the user are here; devices and meshes add their own beside their spaces.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include <sla/exec/evaluate.hpp>
#include <sla/exec/host.hpp>
#include <sla/expr/sparse/linear_operator.hpp>
#include <sla/expr/sparse/norms.hpp>
#include <sla/solve/precond/hermitian.hpp>
#include <sla/solve/precond/identity.hpp>
#include <sla/solve/precond/triangles.hpp>
#include <sla/solve/seam/measure.hpp>
#include <sla/solve/seam/method.hpp>
#include <sla/solve/seam/space.hpp>
#include <sla/tensor/arrange/transpose.hpp>
#include <sla/tensor/build/block.hpp>
#include <sla/tensor/build/entries.hpp>

namespace sla {

/// The world of operators A. A specialisation supplies
///   operator_type              A: `prepare(A)` is meant for it
///   is_square, fits<B>         optional: what the types know of the shapes of A and b
///   has_all_rows               optional: false, if no rank holds the whole of a system
///   accepts<B>                 may B be a right-hand side? (false: another `perform` is meant)
///   placed<B>, refuse<B>()     optional: does B lie as A wants it? The sentence that says why not
///   vector_type<B>             the vectors of the solve: x, and b as the method sees it
///   check(a)                   value_error: a is no matrix to solve with
///   check_square(a)            shape_error: a is not square, for methods that want that; without it, `check` says so
///   right_hand_side(a, b)      b as a vector_type, checked: its shape, no NaN (a reference where it is one already)
///   zero(a, b)                 x = 0
///   zero_of_domain(a, b)       optional: the same where a need not be square, of the type and size of vectors that a multiplies
///   check_guess(x0, b)         shape_error: x0 is no such x
///   space(a, b)                the Space of a solve, by value
///   is_empty(a, b)             nothing to do
///   sets_up<P>                 optional: can the options P be set up for a?
///   setup(p, a)                the preconditioner p of a: stands left of `*`, has `adjoint()` and `update(a)`
///   probe(a, seed)             optional: a vector of a's domain, random, the same on any number of ranks
///   probe_of_range(a, seed, n) optional: the same like a * x, of the random numbers from the n-th on
///   beside(x, count), own(x)   optional: as many vectors like x beside each other, uninitialized; this rank's part of vectors, a tensor
///   rest(value, y)             optional: what makes a number like dot(x, x) value, added to y
///   common(a, numbers)         optional: numbers that all ranks have alike, as traced programs hold them
///   adjoint(a)                 the conjugate transpose, stored, an operator of the same world; of some operators there is none
///   is_self_adjoint(a)         optional: is a its own conjugate transpose, to rounding? Methods that demand it then store none
///   same_pattern(a, a2)        may a2's values replace a's?
///   asymmetry(a, who)          optional: what is not Hermitian in a, for a method that failed and wants it; else empty
/// On a mesh all ranks call these together, and errors are the errors of all.
template <class A>
struct linear_world {
  template <class B>
  static constexpr bool accepts = false;
};

/// An operator of the user's: a linear_operator, or a class that says `using linear_operator_tag = void;`.
template <class A>
concept OwnOperator = requires { typename A::linear_operator_tag; };

namespace detail {
/// Errors: the first element that is NaN or infinite, by its place.
template <class T, class E>
void require_finite(tensor<T, E> const& x, char const* name) {
  index_t const bad = first_where(x.size(), [p = kernel_pointer(x.data())](index_t n) { return !is_finite(p[n]); }, light_below);
  if (bad < 0) return;
  std::string place;
  for (int a = E::rank, n = 0; n < a; ++n) {
    index_t below = 1;
    for (int c = n + 1; c < a; ++c) below *= x.extent(c);
    place += (n ? ", " : "") + std::to_string(bad / below % x.extent(n));
  }
  throw value_error(text("solve: ", name, '(', place, ") is ", x[bad], "; every element must be a finite number"));
}

template <class T, class S, class F>
void require_finite(sparse_tensor<T, S, F> const& A, char const* who = "solve") {
  T const* const values = A.values().data();
  index_t const bad = first_where(A.values().size(), [p = kernel_pointer(values)](index_t n) { return !is_finite(p[n]); }, light_below);
  if (bad < 0) return;
  index_t const item = bad / A.batch_stride(), slot = bad % A.batch_stride() / A.block_size;
  for (index_t i = 0; i < A.rows(); ++i)
    A.pattern().view().for_row(i, [&](index_t s, index_t j) {
      if (s == slot)
        throw value_error(text(who, ": A(", i, ", ", j, ')', A.block_size > 1 ? text(", in block entry ", bad % A.block_size) : "",
                               S::is_batched ? text(", of batch item ", item) : "", " is ", values[bad],
                               "; every entry must be a finite number"));
    });
}

/// b as a tensor of scalars T.
template <class T, class B>
struct vector_of_scalars;
template <class T, class U, class E, class Memory>
struct vector_of_scalars<T, tensor<U, E, Memory>> {
  using type = tensor<user_t<promote_t<kernel_t<T>, kernel_t<U>>>, E, Memory>;
};
template <class T, class B>
  requires Expression<B>
struct vector_of_scalars<T, B> : vector_of_scalars<T, tensor<user_t<typename B::value_type>, typename B::extents_type, typename B::memory_type>> {};
template <class T, class B>
using vector_of_scalars_t = typename vector_of_scalars<T, std::remove_cvref_t<B>>::type;

template <class B, class Memory>
concept VectorOn = (is_tensor<B> || Expression<B>) && requires { typename B::memory_type; } && std::same_as<typename B::memory_type, Memory> && !is_dual<typename B::value_type>;

/// The preconditioner that `p` asks for; one that is set up already is itself.
template <class P, class A>
auto setup(P const& p, A const& a) {
  if constexpr (PreconditionerOptions<P>)
    return p.setup(a);
  else
    return p;
}

/// Where an operator of the user's works.
template <class A>
struct memory_of_operator {
  using type = host_memory;
};
template <class A>
  requires requires { typename A::memory_type; }
struct memory_of_operator<A> {
  using type = typename A::memory_type;
};

/// Errors: shape_error, if x0 is no x of the system with b.
template <class V>
void check_guess(V const& x0, V const& b) {
  if (x0.extents() != b.extents())
    throw shape_error(text("solve(A, b, ..., initial_guess(x0)): x0 is ", to_string(x0.extents()), ", and the solution ", to_string(b.extents())));
}

/// b as a V: itself, or evaluated.
template <class V, class B>
decltype(auto) as_vector(B const& b) {
  if constexpr (std::same_as<B, V>) {
    return (b);
  } else {
    V vector(b.extents(), uninitialized);
    fuse(set(vector, b));
    return vector;
  }
}

/// What operators have alike whose vectors are tensors of one memory.
template <class A>
struct tensor_world {
  template <class V>
  static V zero(A const&, V const& b) {
    return V(b.extents());
  }
  template <class V>
  static void check_guess(V const& x0, V const& b) {
    detail::check_guess(x0, b);
  }
  template <class V>
  static bool is_empty(A const&, V const& b) {
    return b.size() == 0;
  }
  template <class P>
  static auto setup(P const& p, A const& a) {
    return detail::setup(p, a);
  }
  template <class T, index_t... E, class Memory>
  static auto beside(tensor<T, Extents<E...>, Memory> const& x, index_t count) {
    return [&]<std::size_t... Axis>(std::index_sequence<Axis...>) {
      using Wide = Extents<E..., dyn>;
      return tensor<T, Wide, Memory>(Wide(x.extent(int(Axis))..., count), uninitialized);
    }(std::make_index_sequence<sizeof...(E)>{});
  }
  template <class V>
  static V& own(V& x) {
    return x;
  }
  static double rest(double value, double y) { return value - y; }
};

/// What sparse tensors of every memory have alike.
template <class A>
struct sparse_world : tensor_world<A> {
  using T = typename A::value_type;
  using S = typename A::shape_type;
  template <class B>
  static constexpr bool accepts = VectorOn<std::remove_cvref_t<B>, typename A::memory_type>;
  template <class B>
  using vector_type = vector_of_scalars_t<T, B>;

  /// The rows and items of A x = b.
  template <class V>
  static frame layout(A const& a, V const& b) {
    index_t const rhs = V::rank > domain_extents_t<S>::rank ? b.extent(V::rank - 1) : 1;
    return {a.batch_count(), a.rows(), S::block_rows * rhs, rhs};
  }
  /// One item, and the types say so: the scalars of the space can be plain numbers.
  template <class V>
  static constexpr bool has_items = S::is_batched || (V::rank > domain_extents_t<S>::rank);

  /// The laws of solving, as far as the types know.
  static constexpr bool is_square = S::block_rows == S::block_cols && (S::static_rows == S::static_cols || S::static_rows == dyn || S::static_cols == dyn);
  template <class B>
  static constexpr bool fits = B::extents_type::rank == range_extents_t<S>::rank || B::extents_type::rank == range_extents_t<S>::rank + 1;

  static void check_square(A const& a) {
    if (a.rows() != a.cols())
      throw shape_error(text("solve(A, b): A is ", a.rows(), " x ", a.cols(),
                             ", and must be square; for least squares, least_squares(A, b)"));
  }
  template <class V>
  static auto zero_of_domain(A const& a, V const& b) {
    using Domain = transposed_shape_t<S>;
    using E = typename product_extents<domain_extents_t<S>, typename V::extents_type, has_rhs_axis<Domain, typename V::extents_type>>::type;
    return tensor<typename V::value_type, E, typename A::memory_type>(make_product_extents<E>(Domain(a.shape().batch(), a.cols(), a.rows()), b.extents()));
  }
  template <class E>
  static void check_extents(A const& a, E const& b) {
    using Range = range_extents_t<S>;
    static_assert(E::rank == Range::rank || E::rank == Range::rank + 1,
                  "sla: solve(A, b): b must have the extents (*batch, M, p) of A's range, plus at most one axis of right-hand sides");
    auto const range = a.range();
    for (int axis = 0; axis < Range::rank && axis < E::rank; ++axis)
      if (b[axis] != range[axis])
        throw shape_error(text("solve(A, b): A is ", a.rows(), " x ", a.cols(), ", b is ", to_string(b), "; axis ", axis, " of b should be ", range[axis]));
  }
};
} // namespace detail

template <class T, class S, class F>
  requires(!is_dual<T>)  // dual numbers: grad/operation/dual_solve.hpp
struct linear_world<sparse_tensor<T, S, F, host_memory>> : detail::sparse_world<sparse_tensor<T, S, F, host_memory>> {
  using A = sparse_tensor<T, S, F, host_memory>;
  using operator_type = A;
  using base = detail::sparse_world<A>;

  template <class P>
  static constexpr bool sets_up = detail::SetsUp<P, A>;

  static void check(A const& a) { detail::require_finite(a); }
  template <class B>
  static decltype(auto) right_hand_side(A const& a, B const& b) {
    base::check_extents(a, b.extents());
    decltype(auto) vector = detail::as_vector<typename base::template vector_type<B>>(b);
    detail::require_finite(vector, "b");
    return vector;
  }
  template <class V>
  static auto space(A const& a, V const& b) {
    return host_space<base::template has_items<V>>(base::layout(a, b));
  }
  static auto probe(A const& a, std::uint64_t seed) { return random<T, domain_extents_t<S>>(a.domain(), seed); }
  static void require_hermitian(A const& a, char const* who, double tolerance) {
    detail::row_order<F>(a.shared_pattern()).apply(a, [&](auto const& sorted) { return detail::require_hermitian(sorted, who, "gmres{} or bicgstab{}", tolerance), 0; });
  }
  static bool is_self_adjoint(A const& a) {
    try {
      return require_hermitian(a, "", 0), true;
    } catch (value_error const&) {
      return false;
    }
  }
  static std::string asymmetry(A const& a, char const* who) {
    try {
      require_hermitian(a, who, 1e-10);
      return {};
    } catch (value_error const& e) {
      index_t below = 0, above = 0;
      for (index_t i = 0; i < a.rows(); ++i) a.pattern().view().for_row(i, [&](index_t, index_t j) { below += j < i, above += j > i; });
      return text(e.what(), below == 0 || above == 0 ? "; A holds one triangle only: if it stands for both, store both" : "");
    }
  }
  static auto adjoint(A const& a) { return adjointed(a); }
  static bool same_pattern(A const& a, A const& a2) { return a.shape() == a2.shape() && sla::same_pattern(a.pattern(), a2.pattern()); }
};

/// A `linear_operator<T>`; or a class of the user with an `operator*` that returns a node, marked by `using linear_operator_tag =
/// void;`, of a `value_type`. Vectors have one axis, and perhaps one of right-hand sides. Transposed solves and gradients need its
/// `adjoint()`, but of methods for Hermitian operators. Devices: `solve_space(memory, frame)` is theirs.
template <OwnOperator A>
struct linear_world<A> : detail::tensor_world<A> {
  using operator_type = A;
  using Memory = typename detail::memory_of_operator<A>::type;
  template <class B>
  static constexpr bool accepts = detail::VectorOn<std::remove_cvref_t<B>, Memory>;
  template <class B>
  static constexpr bool fits = B::extents_type::rank == 1 || B::extents_type::rank == 2;
  template <class B>
  using vector_type = detail::vector_of_scalars_t<typename A::value_type, B>;

  static void check(A const&) {}
  static void check_square(A const& a) {
    if constexpr (requires { a.rows() != a.cols(); })
      if (a.rows() != a.cols()) throw shape_error(text("solve(A, b): A is an operator of ", a.rows(), " x ", a.cols(), ", and must be square"));
  }
  template <class B>
  static decltype(auto) right_hand_side(A const& a, B const& b) {
    using V = vector_type<B>;
    static_assert(fits<V>, "sla: solve(A, b) with an operator of yours: b has one axis, and perhaps one of right-hand sides");
    if constexpr (requires { a.rows(); })
      if (b.extents()[0] != a.rows())
        throw shape_error(text("solve(A, b): A is an operator of ", a.rows(), " x ", a.cols(), ", b is ", to_string(b.extents()), "; axis 0 of b should be ", a.rows()));
    decltype(auto) vector = detail::as_vector<V>(b);
    if constexpr (Memory::is_host)
      detail::require_finite(vector, "b");
    else if (!(norm_inf(vector - vector) == 0))  // NaN for NaN and infinity
      detail::require_finite(to<host_memory>(vector), "b");
    return vector;
  }
  template <class V>
  static frame layout(A const&, V const& b) {
    index_t const rhs = V::rank > 1 ? b.extent(V::rank - 1) : 1;
    return {1, b.extent(0), rhs, rhs};
  }
  template <class V>
  static auto space(A const& a, V const& b) {
    if constexpr (Memory::is_host)
      return host_space<(V::rank > 1)>(layout(a, b));
    else
      return solve_space(Memory{}, layout(a, b));
  }
  template <class V>
  static auto zero_of_domain(A const& a, V const& b)
    requires requires { a.cols(); }
  {
    using E = typename V::extents_type;
    using T = typename V::value_type;
    if constexpr (V::rank > 1)
      return tensor<T, Extents<dyn, E::static_extent(1)>, Memory>(Extents<dyn, E::static_extent(1)>(a.cols(), b.extent(1)));
    else
      return tensor<T, Extents<dyn>, Memory>(Extents<dyn>(a.cols()));
  }
  /// A law of `solve` says which can be set up; others would only be more errors.
  template <class P>
  static auto setup(P const& p, A const& a) {
    if constexpr (requires { typename P::preconditioner_tag; } && !requires { p.setup(a); })
      return applied_identity{};
    else
      return detail::setup(p, a);
  }
  static auto adjoint(A const& a)
    requires requires { a.adjoint(); }
  {
    return a.adjoint();
  }
  static bool same_pattern(A const& a, A const& a2) {
    if constexpr (requires { a.rows() == a2.rows(); })
      return a.rows() == a2.rows();
    else
      return true;
  }
};

namespace detail {
/// The rows and columns of A, of scalars: of all ranks.
template <class A>
std::pair<index_t, index_t> sides_of(A const& a) {
  if constexpr (requires { linear_world<A>::sides(a); })
    return linear_world<A>::sides(a);
  else if constexpr (is_sparse_tensor<A>)
    return {a.rows() * A::shape_type::block_rows, a.cols() * A::shape_type::block_cols};
  else
    return {a.rows(), a.cols()};
}
/// Does the world know the domain of A, where it may be another than the range? Square operators have one for both.
template <class Method, class A, class V>
inline constexpr bool has_own_domain = !wants_square<Method> && requires(A const& a, V const& b) { linear_world<A>::zero_of_domain(a, b); };
/// x = 0 in A x = b.
template <class Method, class A, class V>
auto zero_solution(A const& a, V const& b) {
  if constexpr (has_own_domain<Method, A, V>)
    return linear_world<A>::zero_of_domain(a, b);
  else
    return linear_world<A>::zero(a, b);
}
template <class Method, class A, class V>
using solution_of_t = decltype(zero_solution<Method>(std::declval<A const&>(), std::declval<V const&>()));

/// Errors: value_error, shape_error: a is nothing that the method solves with.
template <class Method, class A>
void check_operator(A const& a) {
  if constexpr (wants_square<Method> && requires { linear_world<A>::check_square(a); }) linear_world<A>::check_square(a);
  linear_world<A>::check(a);
}
} // namespace detail

} // namespace sla

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
#include <sla/solve/seam/numbered_error.hpp>
#include <sla/solve/seam/space.hpp>
#include <sla/tensor/arrange/transpose.hpp>
#include <sla/tensor/build/block.hpp>
#include <sla/tensor/build/entries.hpp>

namespace sla {

/// The world of operators A. A specialisation supplies
///   operator_type              A: `prepare(A)` is meant for it
///   is_square, fits<B>         optional: what the types know of the shapes of A and b
///   is_factored                optional: false, if direct methods cannot factor it
///   of_whole(factor)           optional: what direct methods are set up by, where that is not their preconditioner()
///   is_chosen_for              optional: true, if the automatic choice has a look at such operators (choice_world)
///   accepts<B>                 may B be a right-hand side? (false: another `perform` is meant)
///   placed<B>, refuse<B>()     optional: does B lie as A wants it? The sentence that says why not
///   vector_type<B>             the vectors of the solve: x, and b as the method sees it
///   check(a, square, who)      value_error: a is no matrix to solve with; where it has to be square, shape_error: it is not
///   right_hand_side(a, b)      b as a vector_type, checked: its shape, no NaN (a reference where it is one already)
///   zero(a, b)                 optional: x = 0, where that is not V(b.extents())
///   zero_of_domain(a, b)       optional: the same where a need not be square, of the type and size of vectors that a multiplies
///   check_guess(x0, b)         shape_error: x0 is no such x
///   layout(a, b), has_items<V> the rows and items of a x = b, and whether there may be several items
///   space(a, b)                optional: the Space of a solve, by value, where that is not the host's of this layout
///   is_empty(a, b)             optional: is there nothing to do, where that is not b.size() == 0?
///   sets_up<P>                 optional: can the options P be set up for a?
///   setup(p, a)                optional: the preconditioner p of a, where that is not p.setup(a): it stands left of `*`, has `adjoint()` and `update(a)`
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
/// Errors: the first element that is NaN or infinite, by its place. rows: the axis of the rows of A.
template <class T, class E, class Memory>
void require_finite(tensor<T, E, Memory> const& x, char const* name, int rows = 0) {
  if constexpr (!Memory::is_host) {
    if (!(norm_inf(x - x) == 0)) require_finite(to<host_memory>(x), name, rows);  // NaN for NaN and infinity; without elements 0
  } else {
    index_t const bad = first_where(x.size(), [p = kernel_pointer(x.data())](index_t n) { return !is_finite(p[n]); }, light_below);
    if (bad < 0) return;
    std::string before, after;
    index_t row = 0;
    for (int a = E::rank, n = 0; n < a; ++n) {
      index_t below = 1;
      for (int c = n + 1; c < a; ++c) below *= x.extent(c);
      index_t const at = bad / below % x.extent(n);
      if (n == rows)
        row = at;
      else
        (n < rows ? before : after) += n < rows ? text(at, ", ") : text(", ", at);
    }
    throw numbered_error("solve: ", name, '(', before, row_number{row}, after, ") is ", x[bad], "; every element must be a finite number");
  }
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
concept VectorOn = (is_tensor<B> || Expression<B>) && requires { typename B::memory_type; } && std::same_as<typename B::memory_type, Memory> && !is_dual<real_t<typename B::value_type>>;

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

/// Errors: shape_error, if x0 is no x of the system with b; value_error, if it is not finite. rows: the axis of the rows of x0.
template <class V>
void check_guess(V const& x0, V const& b, int rows = 0) {
  if (x0.extents() != b.extents())
    throw shape_error(text("solve(A, b, ..., initial_guess(x0)): x0 is ", to_string(x0.extents()), ", and the solution ", to_string(b.extents())));
  require_finite(x0, "x0", rows);
}

/// The scalars of an operator of the user's.
template <class A>
struct scalars_of_operator {
  using type = double;  // refused by check
};
template <class A>
  requires requires { typename A::value_type; }
struct scalars_of_operator<A> {
  using type = typename A::value_type;
};

/// What operators have alike whose vectors are tensors of one memory.
template <class A>
struct tensor_world {
  template <class B>
  static decltype(auto) right_hand_side(A const& a, B const& b) {
    using V = typename linear_world<A>::template vector_type<B>;
    using E = typename V::extents_type;
    if constexpr (is_sparse_tensor<A>) {
      using Range = range_extents_t<typename A::shape_type>;
      static_assert(E::rank == Range::rank || E::rank == Range::rank + 1,
                    "sla: solve(A, b): b must have the extents (*batch, M, p) of A's range, plus at most one axis of right-hand sides");
      auto const range = a.range();
      for (int axis = 0; axis < Range::rank && axis < E::rank; ++axis)
        if (b.extents()[axis] != range[axis])
          throw shape_error(text("solve(A, b): A is ", a.rows(), " x ", a.cols(), ", b is ", to_string(b.extents()), "; axis ", axis, " of b should be ", range[axis]));
    } else {
      static_assert(E::rank == 1 || E::rank == 2, "sla: solve(A, b) with an operator of yours: b has one axis, and perhaps one of right-hand sides");
      if constexpr (requires { a.rows() != a.cols(); })  // the message has both
        if (b.extents()[0] != a.rows())
          throw shape_error(text("solve(A, b): A is an operator of ", a.rows(), " x ", a.cols(), ", b is ", to_string(b.extents()), "; axis 0 of b should be ", a.rows()));
    }
    if constexpr (!std::same_as<B, V>) {
      V vector(b.extents(), uninitialized);
      fuse(set(vector, b));
      (void)right_hand_side(a, vector);
      return vector;
    } else {
      require_finite(b, "b");
      return (b);
    }
  }
  template <class V>
  static void check_guess(V const& x0, V const& b) {
    detail::check_guess(x0, b);
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

  static void check(A const& a, bool square, char const* who = "solve(A, b)") {
    if (square && a.rows() != a.cols())
      throw shape_error(text(who, ": A is ", a.rows(), " x ", a.cols(), ", and must be square; for least squares, least_squares(A, b)"));
    if constexpr (A::memory_type::is_host) {
      T const* const numbers = a.values().data();
      index_t const bad = first_where(a.values().size(), [p = kernel_pointer(numbers)](index_t n) { return !is_finite(p[n]); }, light_below);
      if (bad < 0) return;
      index_t const item = bad / a.batch_stride(), slot = bad % a.batch_stride() / a.block_size;
      for (index_t i = 0; i < a.rows(); ++i)
        a.pattern().view().for_row(i, [&](index_t s, index_t j) {
          if (s == slot)
            throw detail::numbered_error(who, ": A(", detail::row_number{i}, ", ", detail::col_number{j}, ')', a.block_size > 1 ? text(", in block entry ", bad % a.block_size) : "",
                                         S::is_batched ? text(", of batch item ", item) : "", " is ", numbers[bad], "; every entry must be a finite number");
        });
    } else if (!(norm_inf(values(a) - values(a)) == 0)) {  // as in require_finite
      auto const there = to<host_memory>(a);
      linear_world<std::remove_const_t<decltype(there)>>::check(there, square, who);
    }
  }
  /// The rows and items of A x = b.
  template <class V>
  static frame layout(A const& a, V const& b) {
    index_t const rhs = V::rank > domain_extents_t<S>::rank ? b.extent(V::rank - 1) : 1;
    return {a.batch_count(), a.rows(), S::block_rows * rhs, rhs};
  }
  template <class V>
  static constexpr bool has_items = S::is_batched || (V::rank > domain_extents_t<S>::rank);

  /// The laws of solving, as far as the types know.
  static constexpr bool is_square = S::block_rows == S::block_cols && (S::static_rows == S::static_cols || S::static_rows == dyn || S::static_cols == dyn);
  template <class B>
  static constexpr bool fits = B::extents_type::rank == range_extents_t<S>::rank || B::extents_type::rank == range_extents_t<S>::rank + 1;

  template <class V>
  static auto zero_of_domain(A const& a, V const& b) {
    using Domain = transposed_shape_t<S>;
    using E = typename product_extents<domain_extents_t<S>, typename V::extents_type, has_rhs_axis<Domain, typename V::extents_type>>::type;
    return tensor<typename V::value_type, E, typename A::memory_type>(make_product_extents<E>(Domain(a.shape().batch(), a.cols(), a.rows()), b.extents()));
  }
};
} // namespace detail

template <class T, class S, class F>
  requires(!is_dual<real_t<T>>)  // dual numbers: grad/operation/dual_solve.hpp
struct linear_world<sparse_tensor<T, S, F, host_memory>> : detail::sparse_world<sparse_tensor<T, S, F, host_memory>> {
  using A = sparse_tensor<T, S, F, host_memory>;
  using operator_type = A;
  using base = detail::sparse_world<A>;

  template <class P>
  static constexpr bool sets_up = detail::SetsUp<P, A>;

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
  using vector_type = detail::vector_of_scalars_t<typename detail::scalars_of_operator<A>::type, B>;

  static void check([[maybe_unused]] A const& a, [[maybe_unused]] bool square, [[maybe_unused]] char const* who = "solve(A, b)") {
    constexpr bool has_scalars = requires { typename A::value_type; };
    static_assert(has_scalars, "sla: solve(A, b): the operator has no member `value_type`: using value_type = double, the scalars that it multiplies by");
    if constexpr (requires { a.rows() != a.cols(); })
      if (square && a.rows() != a.cols()) throw shape_error(text(who, ": A is an operator of ", a.rows(), " x ", a.cols(), ", and must be square"));
  }
  template <class V>
  static constexpr bool has_items = V::rank > 1;
  template <class V>
  static frame layout(A const&, V const& b) {
    index_t const rhs = V::rank > 1 ? b.extent(V::rank - 1) : 1;
    return {1, b.extent(0), rhs, rhs};
  }
  template <class V>
    requires(!Memory::is_host)
  static auto space(A const& a, V const& b) {
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
  static auto adjoint(A const& a)
    requires detail::HasAdjoint<A>
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
/// The check of A that names the call.
template <class A>
void check_named(A const& a, bool square, char const* who) {
  linear_world<A>::check(a, square, who);
}
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
/// x = 0 in A x = b, which is of the domain of A where the world knows that.
template <bool OfDomain, class A, class V>
auto zero_vector(A const& a, V const& b) {
  if constexpr (OfDomain)
    return linear_world<A>::zero_of_domain(a, b);
  else if constexpr (requires { linear_world<A>::zero(a, b); })
    return linear_world<A>::zero(a, b);
  else
    return V(b.extents());
}
template <class Method, class A, class V>
auto zero_solution(A const& a, V const& b) {
  return zero_vector<has_own_domain<Method, A, V>, A, V>(a, b);
}
template <class Method, class A, class V>
using solution_of_t = decltype(zero_solution<Method>(std::declval<A const&>(), std::declval<V const&>()));
} // namespace detail

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An inner iteration as preconditioner: some steps of a method, from 0, on A itself. It is another operator at every step, so
// the outer method is solve/krylov/fgmres.hpp. A task on the host, applied as a whole node.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include <sla/core/held.hpp>
#include <sla/exec/host.hpp>
#include <sla/solve/driver/engine.hpp>
#include <sla/solve/precond/identity.hpp>
#include <sla/solve/precond/sweep.hpp>
#include <sla/solve/seam/stop.hpp>
#include <sla/tensor/arrange/transpose.hpp>

namespace sla {

namespace detail {
/// The inner iteration as sweeps see it.
template <class Applied>
struct inner_view {
  Applied const* M;
  template <bool, class X, class Out>
  void sweep(X const* x, Out* out, index_t rhs) const {
    M->improve(x, out, rhs);
  }
};
/// The shape of an operator: one of the user's has vectors as a matrix has.
template <class A>
struct shape_of_operator {
  using type = Matrix;
};
template <class A>
  requires requires { typename A::shape_type; }
struct shape_of_operator<A> {
  using type = typename A::shape_type;
};
} // namespace detail

/// `z = M * r`: z after some steps of a method on A z = r. Made by `inner(method, preconditioner).setup(A)`.
template <class A, class Method, class M>
class applied_inner {
  using S = typename detail::shape_of_operator<A>::type;
  using World = linear_world<A>;

public:
  using value_type = typename A::value_type;
  using shape_type = S;

  applied_inner(A a, Method method, M m) : a_(detail::shared_of<A const>(std::move(a))), method_(std::move(method)), m_(std::move(m)) {}

  /// The same method on A's conjugate transpose, which is stored, with the preconditioner's adjoint.
  auto adjoint() const
    requires(detail::HasAdjoint<M> && requires(A const& a) { World::adjoint(a); })
  {
    using Adjoint = decltype(World::adjoint(*a_));
    return applied_inner<Adjoint, Method, decltype(m_.adjoint())>(World::adjoint(*a_), method_, m_.adjoint());
  }
  void update(A const& a) {
    m_.update(a);
    a_ = detail::shared_of<A const>(a);
  }

  /// out = M x for contiguous x of `rhs` right-hand sides. Every right-hand side of every batch item stops by itself.
  template <class X, class Out>
  void improve(X const* x, Out* out, index_t rhs) const {
    using E = join_t<range_extents_t<S>, Extents<dyn>>;
    auto const extents = [&] {
      if constexpr (requires(A const& a) { a.range(); })
        return [&]<std::size_t... N>(std::index_sequence<N...>) { return E{a_->range()[int(N)]..., rhs}; }(std::make_index_sequence<std::size_t(E::rank - 1)>{});
      else
        return E{a_->rows(), rhs};
    }();
    tensor<user_t<Out>, E> b(extents, uninitialized), z(extents);
    for (index_t n = 0; n < b.size(); ++n) b[n] = scalar_cast<Out>(x[n]);
    auto space = detail::space_of_call(*a_, b);
    method_.run(space, *a_, m_, b, z, stop_maker{{relative_tolerance(method_.rtol).*detail::tolerance_of<Out>, method_.atol, method_.max_iterations, method_.watch}});
    std::copy_n(kernel_pointer(std::as_const(z).data()), z.size(), out);
  }
  detail::inner_view<applied_inner> view() const { return {this}; }
  index_t elements() const {
    if constexpr (requires { a_->batch_count(); })
      return a_->batch_count() * a_->rows() * S::block_rows;
    else
      return a_->rows();
  }

private:
  detail::held<A const, "a preconditioner"> a_;
  Method method_;
  M m_;
};

template <class A, class Method, class M, Tensorial X>
auto operator*(applied_inner<A, Method, M> const& inner, X&& x) {
  return detail::swept<typename applied_inner<A, Method, M>::shape_type, false>(inner.view(), inner.elements(), std::forward<X>(x), "inner iteration");
}

namespace detail {
/// "inner gmres + ilu0"
template <class Method, class P>
constexpr auto name_of_inner() {
  constexpr std::string_view method = Method::name, preconditioner = name_of_options<P>, with = preconditioner.empty() ? "" : " + ";
  fixed_string<sizeof("inner ") + method.size() + with.size() + preconditioner.size()> out;
  std::size_t n = 0;
  for (std::string_view part : {std::string_view("inner "), method, with, preconditioner})
    for (char letter : part) out.data[n++] = letter;
  return out;
}
} // namespace detail

/// What `inner` makes: a preconditioner that changes with what it is applied to.
template <class Method, class P>
class inner_iteration {
  static constexpr auto named = detail::name_of_inner<Method, P>();

public:
  Method method;
  P preconditioner;

  using preconditioner_tag = void;
  using varying_tag = void;
  static constexpr char const* name = named.data;

  template <class T, class S, class F>
  auto setup(sparse_tensor<T, S, F> const& A) const {
    static_assert(S::block_rows == S::block_cols, "sla: inner wants a square matrix: square blocks too");
    auto m = preconditioner.setup(A);
    return applied_inner<sparse_tensor<T, S, F>, Method, decltype(m)>(A, detail::sensible(method), std::move(m));
  }
  /// On an operator of the user's, with a preconditioner that needs no entries.
  template <OwnOperator A>
    requires(detail::memory_of_operator<A>::type::is_host && requires(P const& p, A const& a) { a.rows(), p.setup(a); })
  auto setup(A const& a) const {
    auto m = preconditioner.setup(a);
    return applied_inner<A, Method, decltype(m)>(a, detail::sensible(method), std::move(m));
  }
};

/// `solve(A, b, fgmres{}, inner(bicgstab{.rtol = 0.1, .max_iterations = 10}, ilu0{}))`: at each step, the method's own steps on
/// A z = r from 0, until its tolerance or its limit: whichever is first, and no matter which. A may be a linear_operator, with a
/// preconditioner that needs no entries.
/// Placement: on ranks, each has an inner iteration of its own rows and columns, without communication, so of sparse tensors only. Host only.
/// Cost: the method's, times its steps. Memory: the method's, and A's values once more.
template <class Method, class P = identity>
inner_iteration<Method, P> inner(Method method, P preconditioner = {}) {
  constexpr bool allows_for_it = !requires { typename P::varying_tag; } || requires { typename Method::flexible_tag; };
  static_assert(allows_for_it, "sla: inner(method, inner(...)): an inner iteration is another operator at every step; name the method that allows for it, fgmres{}");
  return {std::move(method), std::move(preconditioner)};
}

} // namespace sla

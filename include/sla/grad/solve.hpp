// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Solves, by any method: one entry of the tape whatever the iterations, and one solve with the adjoint of what the forward
// solve had set up. A^H w = g gives b: w and A_k: -w[row] conj(x[col]). A failed adjoint solve is a solve_error.
#pragma once

#include <memory>
#include <tuple>
#include <utility>

#include <sla/grad/product.hpp>
#include <sla/solve/linear.hpp>

namespace sla {

namespace detail {
/// Which system a prepared operator solves: A x = b, A^T x = b or A^H x = b.
template <bool Transposed, bool Conj>
struct orientation {
  static_assert(Transposed || !Conj);

  template <class Prepared, class B, class... Options>
  static auto try_solve(Prepared const& s, B const& b, Options const&... options) {
    if constexpr (!Transposed)
      return s.try_solve(b, options...);
    else if constexpr (Conj)
      return s.try_solve_adjoint(b, options...);
    else
      return s.try_solve_transpose(b, options...);
  }
  /// w with op(A)^H w = g, its true residual checked. Errors: solve_error.
  template <class Prepared, class G, class... Options>
  static auto pull(Prepared const& s, G const& g, Options const&... options) {
    if constexpr (!Transposed) {
      return s.solve_adjoint(g, options...);
    } else if constexpr (Conj || !is_complex<typename G::value_type>) {
      return s.solve(g, options...);
    } else {
      auto w = s.solve(conj(g), options...);  // conj(A) w = g is A conj(w) = conj(g)
      w = conj(w);
      return w;
    }
  }
};

/// In the place of a traced matrix, where the matrix is constant.
struct constant_matrix {
  static constexpr bool traced = false;
};

/// The options of one call, for values without a trace: where to begin does not change the solution.
template <class O>
O const& plain_option(O const& option) {
  return option;
}
template <class V>
guess<V> plain_option(guess<traced<V>> const& option) {
  return {&option.x->value()};
}
/// What the adjoint solve takes over of a call: where to run.
template <class O>
auto adjoint_option(O const& option) {
  if constexpr (is_on_space<O>)
    return std::tuple{option};
  else
    return std::tuple<>{};
}

template <class X>
decltype(auto) plain_value(X const& x) {
  if constexpr (Traced<X>)
    return x.value();
  else
    return (x);
}
template <class X>
auto traced_or_ignored(X const& x) {
  if constexpr (Traced<X>)
    return traced_operand<plain_t<X>>{&x.variable()};
  else
    return ignored_operand{};
}

/// {x, report} of a prepared operator, traced: its matrix (or not), and b (or not).
template <bool Transposed, bool Conj, class Prepared, class A, class B, class... Options>
auto trace_solve(tape& t, std::shared_ptr<Prepared const> s, A matrix, B const& b, Options const&... options) {
  using Orientation = orientation<Transposed, Conj>;
  auto forward = Orientation::try_solve(*s, plain_value(b), plain_option(options)...);
  auto const rhs = traced_or_ignored(b);
  auto x = record(t, std::move(forward.x),
                  [s, matrix, rhs, report = forward.report, keep = std::tuple_cat(adjoint_option(options)...)](auto const& solved, auto const& g) {
                    if (!report.converged()) throw solve_error(report);
                    auto const w = std::apply([&](auto const&... o) { return Orientation::pull(*s, g, o...); }, keep);
                    if constexpr (A::traced) matrix.v->add(to_values<Transposed, Conj>(view(solved), view(w), -1));
                    if constexpr (is_traced_operand<std::remove_cvref_t<decltype(rhs)>>) rhs.add(w);
                  });
  return solution<decltype(x)>{x, std::move(forward.report)};
}
}  // namespace detail

/// A traced operator set up once, for values and gradients: what `prepare(A, method, preconditioner)` is of a traced A.
template <class V, class Prepared, class... Options>
class traced_prepared {
 public:
  traced_prepared(traced<V> a, std::tuple<Options...> options) : a_(a), options_(std::move(options)), s_(made()) {}

  traced<V> const& matrix() const { return a_; }
  int setups() const { return setups_; }

  template <class B, class... CallOptions>
  auto try_solve(B const& b, CallOptions const&... options) const {
    return run<false, false>(b, options...);
  }
  template <class B, class... CallOptions>
  auto try_solve_transpose(B const& b, CallOptions const&... options) const {
    return run<true, false>(b, options...);
  }
  template <class B, class... CallOptions>
  auto try_solve_adjoint(B const& b, CallOptions const&... options) const {
    return run<true, true>(b, options...);
  }
  template <class B, class... CallOptions>
  auto solve(B const& b, CallOptions const&... options) const {
    return detail::solved(try_solve(b, options...));
  }
  template <class B, class... CallOptions>
  auto solve_transpose(B const& b, CallOptions const&... options) const {
    return detail::solved(try_solve_transpose(b, options...));
  }
  template <class B, class... CallOptions>
  auto solve_adjoint(B const& b, CallOptions const&... options) const {
    return detail::solved(try_solve_adjoint(b, options...));
  }
  /// Another traced matrix. Solves that are recorded keep what they were made with.
  void update(traced<V> a) {
    a_ = a;
    s_ = made();
    ++setups_;
  }

 private:
  std::shared_ptr<Prepared const> made() const {
    return std::apply([&](auto const&... o) { return std::make_shared<Prepared const>(perform(op::prepare{}, a_.value(), o...)); }, options_);
  }
  template <bool Transposed, bool Conj, class B, class... CallOptions>
  auto run(B const& b, CallOptions const&... options) const {
    detail::traced_matrix<V, Transposed, Conj> const matrix{&a_.variable()};
    return detail::trace_solve<Transposed, Conj>(a_.home(), s_, matrix, b, options...);
  }
  traced<V> a_;
  std::tuple<Options...> options_;
  std::shared_ptr<Prepared const> s_;
  int setups_ = 1;
};

/// What a prepared operator and the solution of A x = b hand back: (-w[row] conj(x[col]) on the pattern of A, w), A^H w = g.
/// Errors: solve_error, if the adjoint solve fails.
template <class A, class Method, class P, class X, class G>
auto vjp(op::solve, prepared<A, Method, P> const& s, X const& x, G const& g) {
  auto const& solved = detail::argument(x);
  auto w = s.solve_adjoint(detail::argument(g));
  auto to_A = detail::collected(s.matrix(), detail::to_values<false, false>(view(solved), view(w), -1));
  return std::tuple{std::move(to_A), std::move(w)};
}

namespace detail {
template <class B>
concept TracedTensor = Traced<B> && is_tensor<plain_t<B>>;
template <class A, class B>
concept TracedSystem = (TracedSparse<A> && VectorOrTraced<B>) || (!Traced<A> && TracedTensor<B>);
}  // namespace detail

template <class A, class B, class... Options>
  requires detail::TracedSystem<A, B>
auto perform(op::try_solve, A const& a, B const& b, Options const&... options) {
  tape& t = detail::tape_of(a, b);
  using Prepared = decltype(perform(op::prepare{}, detail::plain_value(a), options...));
  auto const s = std::make_shared<Prepared const>(perform(op::prepare{}, detail::plain_value(a), options...));
  if constexpr (Traced<A>) {
    detail::traced_matrix<plain_t<A>, false, false> const matrix{&a.variable()};
    return detail::trace_solve<false, false>(t, s, matrix, b, options...);
  } else {
    return detail::trace_solve<false, false>(t, s, detail::constant_matrix{}, b, options...);
  }
}
template <class A, class B, class... Options>
  requires detail::TracedSystem<A, B>
auto perform(op::solve, A const& a, B const& b, Options const&... options) {
  return detail::solved(perform(op::try_solve{}, a, b, options...));
}
template <TracedSparse A, class... Options>
auto perform(op::prepare, A const& a, Options const&... options) {
  using Prepared = decltype(perform(op::prepare{}, a.value(), options...));
  return traced_prepared<plain_t<A>, Prepared, Options...>(a, std::tuple<Options...>(options...));
}

}  // namespace sla

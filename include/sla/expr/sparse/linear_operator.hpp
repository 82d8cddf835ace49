// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operators of the user: `linear_operator<T>(rows, cols, apply)` makes a function on arrays stand left of `*`. Its product is a
// whole node, a task in the order of its space. What solves ask of operators is in solve/driver/world.hpp; ranks: dist/solve/own_operator.hpp.
#pragma once

#include <algorithm>
#include <complex>
#include <concepts>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <sla/core/held.hpp>
#include <sla/expr/sparse/product.hpp>

namespace sla {

/// Says that an operator is its own conjugate transpose: `linear_operator<T>(n, n, apply, self_adjoint)`.
struct self_adjoint_t {};
inline constexpr self_adjoint_t self_adjoint{}; ///< the value of `self_adjoint_t`

namespace detail {
/// A user's function of (x, y), which writes y.
template <class T>
using array_function = std::function<void(std::span<T const>, std::span<T>)>;

template <class T, class F>
std::shared_ptr<array_function<T> const> kept_function(F f) {
  constexpr bool takes_arrays = std::is_invocable_v<F&, std::span<T const>, std::span<T>>;
  static_assert(takes_arrays, "sla: linear_operator<T>(rows, cols, apply): apply(x, y) takes a std::span<T const> and a std::span<T>, and writes y = A x");
  if constexpr (takes_arrays)  // shared, so that functions that only move are kept too
    return detail::shared_of<array_function<T> const>([kept = detail::shared_of<F>(std::move(f))](auto x, auto y) { (void)std::invoke(*kept, x, y); });
  else
    return nullptr;
}

/// y = A x by a user's function, once for each of the batch items and right-hand sides of x. Function: a shared_ptr, lowered to a pointer.
template <class T, class Function, class X, class E>
struct function_product {
  using expression_tag = void;
  using value_type = promote_t<kernel_t<T>, typename X::value_type>;
  using extents_type = E;
  using memory_type = typename X::memory_type;
  static constexpr reach depth = reach::whole;
  static constexpr bool needs_vector = true;

  Function f;
  X x;
  E result;
  index_t rows, cols, batch, rhs;

  SLA_HD E const& extents() const { return result; }
  template <class Y>
  auto with_operand(Y const& y) const {
    return function_product<T, Function, Y, E>{f, y, result, rows, cols, batch, rhs};
  }
  template <class F>
  auto rebuild(F const& g) const {
    return function_product<T, array_function<T> const*, decltype(g(x)), E>{std::to_address(f), g(x), result, rows, cols, batch, rhs};
  }
  template <class F>
  void accesses(F&& g, bool) const {
    x.accesses(g, true);
  }

  /// In the order of the space; on a device the function itself puts work on its stream.
  template <class Space, class Out>
  void apply(Space& space, Out* out) const {
    if constexpr (memory_type::is_host)
      space.run([y = *this, out] { y.write(out); });
    else
      write(out);
  }
  template <class Out>
  void write(Out* out) const {
    using Number = kernel_t<T>;
    using From = typename X::value_type;
    constexpr bool as_it_lies = std::same_as<From, Number> && std::same_as<Out, Number>;
    static_assert(as_it_lies || memory_type::is_host, "sla: A * x with a linear_operator on a device: its function writes where A x goes, which has elements of T's type");
    if constexpr (as_it_lies)
      if (rhs == 1) {
        for (index_t b = 0; b < batch; ++b) call(x.data + b * cols, out + b * rows);
        return;
      }
    if constexpr (memory_type::is_host) {
      constexpr bool slopes = is_dual<From> && !is_dual<Number>;
      constexpr int parts = slopes || (is_complex<From> && !is_complex<Number>) ? 2 : 1;  // a real operator of complex vectors, or of dual numbers: of both parts
      buffer<Number> in(cols, uninitialized), image(rows, uninitialized);
      for (index_t b = 0; b < batch; ++b)
        for (index_t k = 0; k < rhs; ++k)
          for (int part = 0; part < parts; ++part) {
            for (index_t j = 0; j < cols; ++j) {
              From const value = x.data[(b * cols + j) * rhs + k];
              if constexpr (slopes)
                in[j] = part == 0 ? value.value : value.slope[0];
              else
                in[j] = part == 0 ? scalar_cast<Number>(value) : scalar_cast<Number>(imag_of(value));
            }
            call(std::as_const(in).data(), image.data());
            for (index_t i = 0; i < rows; ++i) {
              Out& to = out[(b * rows + i) * rhs + k];
              if constexpr (slopes)
                (part == 0 ? to.value : to.slope[0]) = image[i];
              else if constexpr (parts == 2)
                to = part == 0 ? scalar_cast<Out>(image[i]) : Out(real_of(to), real_t<Out>(image[i]));
              else
                to = scalar_cast<Out>(image[i]);
            }
          }
    }
  }

private:
  void call(kernel_t<T> const* from, kernel_t<T>* to) const {
    if constexpr (memory_type::is_host)
      parallel_ranges(rows, [&](index_t lo, index_t hi) { std::fill(to + lo, to + hi, kernel_t<T>{}); });
    else
      memory_type::zero(to, std::size_t(rows) * sizeof(T));
    (*f)({reinterpret_cast<T const*>(from), std::size_t(cols)}, {reinterpret_cast<T*>(to), std::size_t(rows)});
  }
};
} // namespace detail

template <class T, class Memory, int Rank>
class applied_operator;

/// An operator of yours, from a function that computes it: an FFT, a stencil, a factorisation of another library.
///     linear_operator<double> A(rows, cols, [&](std::span<double const> x, std::span<double> y) { ... });   // y = A x
/// A fourth argument is the same for the conjugate transpose, or `self_adjoint`. It stands left of `*` in expressions, and is the
/// matrix or the preconditioner of any Krylov method. A function gets one vector at a time: of a batch (as preconditioner) and of
/// several right-hand sides each by itself, of complex vectors under a real T both parts. y is zero at first, and never overlaps x.
/// Law: x has `cols` elements, and at most one axis of right-hand sides; the function is linear, and gives the same for the same x (but
/// under fgmres). Placement: host; on ranks a function gets what its rank holds, in the rank's order (dist/solve/own_operator.hpp);
/// linear_operator<T, device_memory> gets device pointers, puts its work on cuda::current_stream(), and takes one right-hand side of
/// T's type. Gradient: to x of A * x, and to b of solve(A, b), by the adjoint. Cost: a pass of its own and one call per vector, on the calling thread;
/// two copies where right-hand sides lie side by side or x is of another type than T. Copies share the functions, and solves on
/// several threads call them at the same time.
/// Errors: shape_error for sizes that do not fit; value_error where an adjoint is needed and none was given; whatever the function
/// throws passes through. NaN that it writes ends a solve with reason::not_a_number.
template <class T, class Memory = host_memory>
class linear_operator {
  using function = std::shared_ptr<detail::array_function<T> const>;

public:
  using value_type = T;
  using memory_type = Memory;
  using linear_operator_tag = void;
  using preconditioner_tag = void;
  using spans_ranks_tag = void;
  static constexpr char const* name = "linear_operator";

  template <class F>
  linear_operator(index_t rows, index_t cols, F apply) : linear_operator(rows, cols, detail::kept_function<T>(std::move(apply)), function()) {}
  template <class F, class G>
  linear_operator(index_t rows, index_t cols, F apply, G apply_adjoint)
      : linear_operator(rows, cols, detail::kept_function<T>(std::move(apply)), detail::kept_function<T>(std::move(apply_adjoint))) {}
  template <class F>
  linear_operator(index_t rows, index_t cols, F apply, self_adjoint_t) : linear_operator(rows, cols, std::move(apply)) {
    if (rows != cols) throw shape_error(text("linear_operator(", rows, ", ", cols, ", apply, self_adjoint): an operator that is its own adjoint is square"));
    back_ = forth_.shared();
  }

  index_t rows() const { return rows_; }
  index_t cols() const { return cols_; }
  bool has_adjoint() const { return back_ != nullptr; }
  /// Errors: value_error, if none was given.
  linear_operator adjoint() const {
    if (!back_)
      throw value_error(text("linear_operator: this ", rows_, " x ", cols_, " operator was made without its adjoint, which least squares, transposed solves and gradients need: "
                             "linear_operator<T>(rows, cols, apply, apply_adjoint), or self_adjoint in its place"));
    return {cols_, rows_, back_, forth_.shared()};
  }
  /// conj(A) x = conj(A conj(x)).
  linear_operator conjugated() const {
    if constexpr (is_complex<T>)
      return {rows_, cols_, conjugated(forth_.shared()), conjugated(back_)};
    else
      return *this;
  }

  /// As preconditioner of A: of every item of its batch. Errors: shape_error, if A has other rows.
  template <class A>
  auto setup(A const& a) const {
    if constexpr (Performs<op::setup, linear_operator const&, A const&>) {
      return perform(op::setup{}, *this, a);
    } else {
      auto const require = [&](index_t rows) {
        if (rows_ != rows || cols_ != rows)
          throw shape_error(text("solve(A, b, method, linear_operator): A has ", rows, " rows, and the linear_operator is ", rows_, " x ", cols_));
      };
      if constexpr (requires { typename A::shape_type; }) {
        using S = typename A::shape_type;
        require(a.rows() * S::block_rows);
        return applied_operator<T, Memory, range_extents_t<S>::rank>(*this, a.batch_count());
      } else {
        if constexpr (requires { a.rows(); }) require(a.rows());
        return applied_operator<T, Memory, 1>(*this, 1);
      }
    }
  }

  /// The node of A x for x of so many batch items; Rank: of x without its right-hand sides.
  template <int Rank, class X>
  auto times(X&& x, index_t batch = 1) const {
    using Operand = node_t<X>;
    using XE = typename Operand::extents_type;
    constexpr bool has_rhs = XE::rank == Rank + 1;
    constexpr bool fits = XE::rank == Rank || has_rhs;
    constexpr bool together = same_memory_law<Memory, typename Operand::memory_type>;
    constexpr bool as_it_lies = Memory::is_host || (!has_rhs && std::same_as<typename Operand::value_type, kernel_t<T>>);
    static_assert(fits, "sla: A * x with a linear_operator A: x has one axis (as preconditioner those of the matrix's range), plus at most one of right-hand sides");
    static_assert(together, "sla: A * x: A and x live in different memories: bring one over with to<Memory>(x), or make a linear_operator<T, Memory>");
    static_assert(as_it_lies, "sla: A * x with a linear_operator on a device: its function gets x as it lies, so x is of T's type and has no axis of right-hand sides");
    auto node = as_node(std::forward<X>(x));
    if constexpr (fits && together && as_it_lies) {
      index_t const rhs = has_rhs ? node.extents()[XE::rank - 1] : 1;
      if (node.extents().total() != batch * cols_ * rhs || (Rank == 1 && node.extents()[0] != cols_))
        throw shape_error(text("A * x: A is a linear_operator of ", rows_, " x ", cols_, ", x is ", to_string(node.extents()),
                               Rank == 1 ? text("; axis 0 of x should be ", cols_) : text(", and should have ", batch * cols_ * rhs, " elements")));
      auto const made = [&]<class E>(E const& result) {
        return detail::function_product<T, function, decltype(node), E>{forth_.shared(), std::move(node), result, rows_, cols_, batch, rhs};
      };
      if constexpr (Rank > 1)
        return made(XE(node.extents()));
      else if constexpr (has_rhs)
        return made(Extents<dyn, XE::static_extent(1)>(rows_, rhs));
      else
        return made(Extents<dyn>(rows_));
    } else {
      return node;  // well-formed, so that the sentence above is the only error
    }
  }

private:
  linear_operator(index_t rows, index_t cols, function forth, function back) : rows_(rows), cols_(cols), forth_(std::move(forth)), back_(std::move(back)) {
    if (rows < 0 || cols < 0) throw shape_error(text("linear_operator(", rows, ", ", cols, ", apply): rows and columns are at least 0"));
  }
  static function conjugated(function const& f) {
    static_assert(Memory::is_host, "sla: transpose(A), conj(A) of a complex linear_operator on a device: use adjoint(A), which is the function that you gave");
    if (!f) return f;
    return detail::kept_function<T>([f](std::span<T const> x, std::span<T> y) {
      std::vector<T> conjugated(x.begin(), x.end());
      for (T& value : conjugated) value = std::conj(value);
      (*f)(conjugated, y);
      for (T& value : y) value = std::conj(value);
    });
  }
  index_t rows_, cols_;
  detail::held<detail::array_function<T> const, "a linear_operator"> forth_;
  function back_;
};

/// A linear_operator as the preconditioner of a matrix, applied to every item of its batch. Made by `setup`.
template <class T, class Memory, int Rank>
class applied_operator {
public:
  using value_type = T;
  using linear_operator_tag = void;

  applied_operator(linear_operator<T, Memory> of, index_t batch) : of_(std::move(of)), batch_(batch) {}
  applied_operator adjoint() const { return {of_.adjoint(), batch_}; }
  /// The function knows by itself what it is made of.
  template <class A>
  void update(A const&) {}
  template <class X>
  auto times(X&& x) const {
    return of_.template times<Rank>(std::forward<X>(x), batch_);
  }

private:
  linear_operator<T, Memory> of_;
  index_t batch_;
};

/// "linear_operator of 9 x 9, with its adjoint".
template <class T, class Memory>
std::string to_string(linear_operator<T, Memory> const& a) {
  return text(a.name, " of ", a.rows(), " x ", a.cols(), a.has_adjoint() ? ", with its adjoint" : ", without its adjoint");
}
template <class T, class Memory, Tensorial X>
auto operator*(linear_operator<T, Memory> const& a, X&& x) {
  return a.template times<1>(std::forward<X>(x));
}
template <class T, class Memory, Viewed X>
auto operator*(linear_operator<T, Memory> const& a, X& x SLA_LIFETIMEBOUND) { return a.template times<1>(x); }
template <class T, class Memory, int Rank, Tensorial X>
auto operator*(applied_operator<T, Memory, Rank> const& m, X&& x) {
  return m.times(std::forward<X>(x));
}

template <class T, class Memory>
linear_operator<T, Memory> perform(op::adjoint, linear_operator<T, Memory> const& a) {
  return a.adjoint();
}
template <class T, class Memory>
linear_operator<T, Memory> perform(op::conj, linear_operator<T, Memory> const& a) {
  return a.conjugated();
}
template <class T, class Memory>
linear_operator<T, Memory> perform(op::transpose, linear_operator<T, Memory> const& a) {
  return a.adjoint().conjugated();
}

/// The conjugate transpose of a class of the user's that has one. A method outside of the namespace says `using sla::adjoint;` for it.
template <class A>
  requires(!Performs<op::adjoint, A const&>) && requires(A const& a) {
    typename A::linear_operator_tag;
    a.adjoint();
  }
auto adjoint(A const& a) {
  return a.adjoint();
}

} // namespace sla

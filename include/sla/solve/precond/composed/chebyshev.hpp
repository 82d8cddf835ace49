// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Chebyshev polynomials of D^-1 A (Saad, Iterative Methods for Sparse Linear Systems, section 12.3; Adams, Brezina, Hu and
// Tuminaro 2003): products with A, so that one text runs wherever A * x does. On meshes: dist/solve/mesh_world.hpp.
#pragma once

#include <string>
#include <utility>

#include <sla/core/held.hpp>
#include <sla/exec/fuse.hpp>
#include <sla/solve/driver/engine.hpp>
#include <sla/solve/precond/hermitian.hpp>
#include <sla/solve/precond/identity.hpp>
#include <sla/solve/precond/jacobi.hpp>
#include <sla/solve/precond/lanczos.hpp>
#include <sla/solve/precond/triangles.hpp>
#include <sla/solve/seam/numbered_error.hpp>

namespace sla {

/// What the eigenvalues of D^-1 A are taken to lie between.
struct eigenvalue_bounds {
  double lowest, highest;
};

namespace detail {
inline constexpr char const* definite_remedy = "gmres{} or bicgstab{} with ilu0{}";

/// D^-1 of rows that are checked: Hermitian, their diagonal positive. On a device the iteration checks alone.
struct definite_diagonal {
  using preconditioner_tag = void;
  template <class T, class S, class F, class Memory>
  auto setup(sparse_tensor<T, S, F, Memory> const& A) const {
    static_assert(S::block_rows == S::block_cols, "sla: chebyshev wants a square matrix: square blocks too");
    auto inverse = inverse_of_diagonal(A, "chebyshev");
    if constexpr (Memory::is_host) {
      row_order<F>(A.shared_pattern()).apply(A, [](auto const& sorted) { return require_hermitian(sorted, "chebyshev", definite_remedy); });
      auto const* const d = kernel_pointer(inverse.data());
      index_t const bad = first_where(inverse.size(), [&](index_t n) { return !(real_of(d[n]) > 0); });
      if (bad >= 0)
        throw numbered_error("chebyshev: A is not positive definite: the diagonal entry of row ", row_number{bad / S::block_rows % A.rows()},
                             " is not positive; use ", definite_remedy);
    }
    return applied_jacobi<T, range_extents_t<S>, Memory>(std::move(inverse), A.batch_count(), S::block_rows);
  }
};

/// z = M r around the product A r, whose operand is another vector from step to step: z_k+1 = z_k + c (z_k - z_k-1) +
/// s D^-1 (r - A z_k), which is one pass: A z_k by itself runs as fast row kernels. A whole node.
template <class Product, class Scaling>
struct chebyshev_node : Product {
  static constexpr reach depth = reach::whole;
  static constexpr bool needs_vector = true;

  Scaling d;
  eigenvalue_bounds bounds;
  int degree;

  template <class P>
  auto around(P const& another) const {
    return chebyshev_node<P, Scaling>{another, d, bounds, degree};
  }
  template <class Y>
  auto with_operand(Y const& y) const {
    return around(Product::with_operand(y));
  }
  template <class F>
  auto rebuild(F const& f) const {
    return around(Product::rebuild(f));
  }
  template <class F>
  void accesses(F&& f, bool) const {
    Product::accesses(f, true);
    d.accesses(f, true);
  }

  template <class Space, class T>
  void apply(Space& space, T* out) const {
    using E = typename Product::extents_type;
    using Memory = typename Product::memory_type;
    using R = real_t<T>;
    auto const extents = E(this->extents());
    auto other = space.template temporary<user_t<T>>(extents), image = space.template temporary<user_t<T>>(extents);
    auto const write = [&](T* to, auto const& value) { return set_statement<T, std::remove_cvref_t<decltype(value)>, Memory>{to, extents.total(), value}; };
    T* now = degree % 2 ? kernel_pointer(other.data()) : out;
    T* next = degree % 2 ? out : kernel_pointer(other.data());
    double const middle = (bounds.highest + bounds.lowest) / 2, half = (bounds.highest - bounds.lowest) / 2;
    double rho = half / middle;
    fuse_local(space, write(now, R(1 / middle) * (d * this->x)), write(next, constant<R>{0}));
    for (int k = 1; k <= degree; ++k) {
      double const before = std::exchange(rho, 1 / (2 * middle / half - rho));
      tensor_view<T, E, Memory> const z{now, extents}, last{next, extents}, Az = view(image);
      fuse_local(space, write(kernel_pointer(image.data()), Product::with_operand(z)),
                 write(next, z + R(rho * before) * (z - last) + R(2 * rho / half) * (d * (this->x - Az))));
      std::swap(now, next);
    }
  }
};
} // namespace detail

template <class A>
class applied_chebyshev;

/// `solve(A, b, cg{}, chebyshev{})`: M = q(D^-1 A) D^-1, where D is the diagonal of A and q the polynomial of that degree for
/// which 1 - t q(t) is least on [highest / ratio, highest] (a scaled and shifted Chebyshev polynomial). M is Hermitian positive
/// definite where A is and `highest` bounds the eigenvalues of D^-1 A. It is estimated, at set-up, by `steps` steps of
/// Lanczos's iteration from a vector of a fixed seed, and enlarged by `margin`; `bounds()` tells it. A batch has one pair of
/// bounds, for the item that needs the largest.
/// Placement: host and device; with A's rows on ranks, the polynomial is that of the whole A. Setup: a copy of A, steps + 2 products. Cost of an
/// application: `degree` products and passes, one halo each; memory of two vectors.
/// Errors: value_error for options out of range; naming an entry that is not the conjugate of its mirror image (between ranks
/// it is two products that differ), a diagonal entry that is zero, missing or not positive; if A is seen not to be definite.
struct chebyshev {
  int degree = 4;
  double ratio = 30;
  int steps = 10;
  double margin = 1.1;

  using preconditioner_tag = void;
  using spans_ranks_tag = void;
  static constexpr char const* name = "chebyshev";

  template <class A>
    requires requires { typename linear_world<A>::operator_type; }
  auto setup(A const& a) const {
    constexpr bool is_readable = requires { linear_world<A>::probe(a, 1); };
    static_assert(is_readable, "sla: chebyshev needs the diagonal of A: A is a sparse tensor, whole or with its rows on ranks");
    if constexpr (is_readable)
      return applied_chebyshev<A>(*this, a);
    else
      return applied_identity{};  // well-formed, so that the sentence is the only error
  }
};

/// The polynomial for one operator: M * r. Made by `chebyshev{}.setup(A)`.
template <class A>
class applied_chebyshev {
  using World = linear_world<A>;
  using Scaling = decltype(detail::set_up(detail::definite_diagonal{}, std::declval<A const&>()));

public:
  using value_type = typename A::value_type;

  applied_chebyshev(chebyshev const& options, A const& a) : options_(options) {
    if (options.degree < 1)
      throw value_error(text("chebyshev{.degree = ", options.degree, "}: the degree is at least 1; jacobi{} is what degree 0 would be"));
    if (!(options.ratio > 1)) throw value_error(text("chebyshev{.ratio = ", options.ratio, "}: the highest eigenvalue over the lowest is greater than 1"));
    if (options.steps < 1 || !(options.margin >= 1))
      throw value_error(text("chebyshev{.steps = ", options.steps, ", .margin = ", options.margin, "}: both are at least 1"));
    update(a);
  }

  /// A is Hermitian, and so is M.
  applied_chebyshev adjoint() const { return *this; }

  /// New values; the bounds are estimated anew. Where this throws, all is as before.
  void update(A const& a) {
    auto scaling = detail::set_up(detail::definite_diagonal{}, a);
    auto const start = World::probe(a, 1), other = World::probe(a, 2);
    auto space = detail::space_of_call(a, start);
    using Real = real_t<value_type>;
    double const largest = detail::lanczos(space, a, scaling, start, other, options_.steps)
                               .largest(double(std::numeric_limits<Real>::epsilon()), chebyshev::name, detail::definite_remedy);
    double const highest = largest > 0 ? options_.margin * largest : 1;  // there may be no rows
    state_ = detail::shared_of<state const>(state{a, std::move(scaling), {highest / options_.ratio, highest}});
  }

  eigenvalue_bounds bounds() const { return state_->bounds; }
  A const& matrix() const { return state_->a; }
  /// What a report adds to the name.
  std::string remark() const { return text(" of degree ", options_.degree, " for eigenvalues from ", bounds().lowest, " to ", bounds().highest); }

  /// The node of M * r, from that of A * r.
  template <class Product>
  auto around(Product product) const {
    auto const& d = [&]() -> auto const& {
      if constexpr (requires { state_->scaling.local(); })
        return state_->scaling.local();
      else
        return state_->scaling;
    }();
    auto const spread = d.spread_over(product.extents());
    return detail::chebyshev_node<Product, std::remove_const_t<decltype(spread)>>{std::move(product), spread, bounds(), options_.degree};
  }

private:
  struct state {
    A a;
    Scaling scaling;
    eigenvalue_bounds bounds;
  };
  chebyshev options_;
  detail::held<state const, "a preconditioner"> state_;
};

template <class A, Tensorial X>
auto operator*(applied_chebyshev<A> const& M, X&& x) {
  return M.around(M.matrix() * std::forward<X>(x));
}

} // namespace sla

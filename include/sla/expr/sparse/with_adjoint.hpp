// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A sparse tensor with its conjugate transpose stored: `with_adjoint(A)`, an operator whose products go by rows both ways.
#pragma once

#include <memory>
#include <utility>

#include <sla/core/held.hpp>
#include <sla/expr/sparse/linear_operator.hpp>
#include <sla/expr/sparse/values.hpp>
#include <sla/tensor/arrange/transpose.hpp>

namespace sla {

namespace detail {
/// A sparse tensor that several share; lowering views it.
template <class Owner>
struct shared_sparse {
  using value_type = kernel_t<typename Owner::value_type>;
  using shape_type = typename Owner::shape_type;
  using memory_type = typename Owner::memory_type;

  std::shared_ptr<Owner const> owner;
  shape_type shape = owner->shape();

  template <class F>
  auto rebuild(F const& f) const {
    return view(*owner).rebuild(f);
  }
};
} // namespace detail

/// A and A^H. It stands left of `*`, and `adjoint(K) * u` is as much a product by rows as `K * x`: it fuses with what stands around it, runs
/// on all threads with the same bits on any number of them, and on devices. As the matrix of a solve it is an operator that has no entries
/// to make a preconditioner of. Made by `with_adjoint(A)`; copies and adjoints share both.
template <class A, class AH>
class matrix_with_adjoint {
public:
  using value_type = typename A::value_type;
  using memory_type = typename A::memory_type;
  using linear_operator_tag = void;

  matrix_with_adjoint(std::shared_ptr<A const> forth, std::shared_ptr<AH const> back) : forth_(std::move(forth)), back_(std::move(back)) {
    if (forth_->rows() != back_->cols() || forth_->cols() != back_->rows())
      throw shape_error(text("with_adjoint(A, AH): A is ", forth_->rows(), " x ", forth_->cols(), ", and AH ", back_->rows(), " x ", back_->cols()));
  }
  A const& matrix() const { return *forth_; }
  index_t rows() const { return forth_->rows(); }
  index_t cols() const { return forth_->cols(); }
  matrix_with_adjoint<AH, A> adjoint() const { return {back_, forth_}; }

  template <Tensorial X>
  auto times(X&& x) const {
    return sparse_operand<detail::shared_sparse<A>, false>{{forth_}} * std::forward<X>(x);
  }

private:
  std::shared_ptr<A const> forth_;
  std::shared_ptr<AH const> back_;
};

/// A with its conjugate transpose, of plain matrices. Cost: another matrix of the size of A, made once; products with A^H then take as long
/// as those with A, where without it they take half as long again. Move A in to spare a copy of its values.
template <SparseOwner A>
  requires(std::remove_cvref_t<A>::memory_type::is_host)
auto with_adjoint(A&& a) {
  using M = std::remove_cvref_t<A>;
  using AH = decltype(adjointed(a));
  auto back = detail::shared_of<AH const>(adjointed(a));
  return matrix_with_adjoint<M, AH>(detail::shared_of<M const>(std::forward<A>(a)), std::move(back));
}
/// The same of an adjoint that is there already, in any memory. Law: AH is the conjugate transpose of A. Errors: shape_error.
template <SparseOwner A, SparseOwner AH>
auto with_adjoint(A&& a, AH&& ah) {
  using M = std::remove_cvref_t<A>;
  using N = std::remove_cvref_t<AH>;
  return matrix_with_adjoint<M, N>(detail::shared_of<M const>(std::forward<A>(a)), detail::shared_of<N const>(std::forward<AH>(ah)));
}
template <class A, class AH, Tensorial X>
auto operator*(matrix_with_adjoint<A, AH> const& a, X&& x) {
  return a.times(std::forward<X>(x));
}
template <class A, class AH, Viewed X>
auto operator*(matrix_with_adjoint<A, AH> const& a, X& x SLA_LIFETIMEBOUND) { return a.times(x); }

} // namespace sla

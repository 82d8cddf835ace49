// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the Krylov methods for eigenpairs share: a decomposition A V = V H + v b^H with orthonormal V and v, which is expanded by Arnoldi's
// process and contracted to an invariant subspace of H (Stewart 2001).
#pragma once

#include <utility>
#include <vector>

#include <sla/solve/eigen/krylov/orthonormal_list.hpp>
#include <sla/solve/precond/identity.hpp>

namespace sla::detail {

/// A V = V H + v b^H for the operator that `multiply` applies: `multiply(x, y, f)` calls f with the statements that set y. V has `size()` vectors; v is
/// the next one, unless `is_closed()`: then V spans an invariant subspace, and the next vector is a random one.
/// Cost: of an expansion one product and four passes over the basis for each vector, and one synchronisation.
template <int Capacity, class S, class V, class Multiply, class Inner, class Random>
class krylov_process {
public:
  using list = orthonormal_list<Capacity, S, V, Inner, Random>;
  using U = typename list::U;
  using matrix_type = projected_matrix<U>;
  using column_type = projected_column<U>;
  static constexpr double unit_rounding = double(list::unit_rounding);

  /// dimension: of the whole space. A vector and the capacity are here for their types.
  krylov_process(std::integral_constant<int, Capacity>, S& space, V const&, Multiply multiply, Inner inner, Random random, index_t dimension)
      : space_(space), multiply_(std::move(multiply)), basis_(space, std::move(inner), std::move(random)), dimension_(dimension) {}

  int size() const { return int(H_.rows()); }
  bool is_closed() const { return is_closed_; }
  bool is_whole() const { return size() >= dimension_; }
  index_t products() const { return products_; }
  matrix_type const& projected() const { return H_; }
  column_type const& coupling() const { return b_; }  ///< b
  V const& residual() const { return basis_.vectors()[std::size_t(size())]; }  ///< v
  S& space() const { return space_; }

  /// Makes V of `most` vectors, or of as many as there are.
  void expand(int most) {
    if (dimension_ < most) most = int(dimension_);
    while (size() < most) {
      if (is_closed_) basis_.join_random(size()), b_.setZero(), is_closed_ = false;
      take_steps(most);
    }
  }
  /// V Q in the place of V, for orthonormal Q that spans an invariant subspace of H; `locked`: and of A too, so that v goes, and a random vector comes next.
  void contract(matrix_type const& Q, bool locked = false) {
    basis_.contract(Q);
    H_ = dense_adjoint_product<U>(Q, dense_product<U>(H_, Q));
    b_ = (Q.adjoint() * b_).eval();
    if (locked || is_closed_) b_.setZero(), is_closed_ = true;
  }
  /// V C.
  std::vector<V> combined(matrix_type const& C) { return basis_.combined(C); }

private:
  /// Steps are taken until V has `most` vectors, and looked at when all are done: after one that left nothing the others are in vain.
  void take_steps(int most) {
    int const begin = size();
    auto const issue = [&](int j) {
      return multiply_(basis_.at(j), basis_.next(), [&](auto&&... statement) { return basis_.join(j + 1, std::forward<decltype(statement)>(statement)...); });
    };
    std::vector<decltype(issue(0))> steps;
    for (int j = begin; j < most; ++j) steps.push_back(issue(j));
    products_ += most - begin;
    space_.finish();
    for (int j = begin; j < most; ++j) {
      auto const [h, length] = basis_.read(j + 1, steps[std::size_t(j - begin)]);
      matrix_type grown = matrix_type::Zero(j + 1, j + 1);
      grown.topLeftCorner(j, j) = H_;
      grown.row(j).head(j) = b_.adjoint();
      grown.col(j) = h;
      H_ = std::move(grown);
      b_ = column_type::Zero(j + 1);
      is_closed_ = length == 0;
      if (is_closed_) return;
      b_(j) = length;
    }
  }

  S& space_;
  Multiply multiply_;
  list basis_;
  index_t dimension_, products_ = 0;
  matrix_type H_{0, 0};
  column_type b_{0};
  bool is_closed_ = true;
};

/// The operator A itself.
template <class A>
struct multiply_by {
  A const& a;
  template <class V, class F>
  auto operator()(V const& x, V& y, F const& f) const {
    return f(set(y, a * x));
  }
};
/// M B, where M stands for an inverse: (A - sigma B)^-1, or B^-1 with A in the place of B.
template <class M, class B, class V>
struct multiply_by_both {
  M m;
  B const& b;
  V& between;
  template <class F>
  auto operator()(V const& x, V& y, F const& f) const {
    if constexpr (std::same_as<B, applied_identity>)
      return f(set(y, m * x));
    else
      return f(set(between, b * x), set(y, m * between));
  }
};

} // namespace sla::detail

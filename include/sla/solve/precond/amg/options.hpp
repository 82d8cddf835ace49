// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The words of algebraic multigrid: the options `amg{...}` of solve/precond/amg/amg.hpp, and the matrices of its levels.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <sla/tensor/storage/sparse.hpp>

namespace sla {

namespace detail {
/// The matrix of a level: scalar entries, each row's columns ascending.
template <class T>
using amg_matrix = sparse_tensor<T, Matrix, Csr<std::int32_t>>;
using amg_pattern = csr_pattern<std::int32_t, std::int32_t, host_memory>;

/// A preconditioner S as the smoother of a level: out = S r for contiguous vectors, which are two.
template <class T>
struct amg_sweep {
  virtual ~amg_sweep() = default;
  virtual void apply(kernel_t<T> const* r, kernel_t<T>* out) const = 0;
  virtual std::shared_ptr<amg_sweep const> adjoint() const = 0;
};
/// What sets one up for levels of each of the scalars.
template <class T>
struct amg_makes_sweeps {
  virtual ~amg_makes_sweeps() = default;
  virtual std::shared_ptr<amg_sweep<T> const> setup(amg_matrix<T> const& A) const = 0;
};
struct amg_sweep_maker : amg_makes_sweeps<float>, amg_makes_sweeps<double>, amg_makes_sweeps<std::complex<float>>, amg_makes_sweeps<std::complex<double>> {};
template <class P>
struct amg_sweeps_of;  // solve/precond/amg/sweeps.hpp
} // namespace detail

/// The order in which a cycle visits the levels: each once on the way down and once on the way up, or each twice as often as the
/// one above it.
enum class amg_cycle { V, W };
/// What is done on each level: x += D (b - A x), with d_i = 1.1 a_ii / sum |a_ij|^2 (SPAI-0: Broeker and Grote 2002), but at most 1.9 / sum
/// |a_ij|, so that it converges for every Hermitian definite A; or with d_i = 1 / sum |a_ij|; or x += S (b - A x) for a preconditioner S that
/// is set up for each level, and its adjoint after the correction, where A is Hermitian: `.smoother = chebyshev{.degree = 2}`, `ssor{}`, `ilu0{}`.
class amg_smoother {
public:
  static amg_smoother const spai0, l1_jacobi;

  /// Law: P is options of a preconditioner, as those of `solve(A, b, cg{}, P{})`.
  template <class P>
    requires requires { typename P::preconditioner_tag; }
  amg_smoother(P const& options) : maker_(std::make_shared<detail::amg_sweeps_of<P> const>(options)), name_(detail::amg_sweeps_of<P>::name()) {}  // NOLINT: `.smoother = ssor{}`

  friend bool operator==(amg_smoother const& a, amg_smoother const& b) { return a.maker_ == b.maker_ && a.l1_ == b.l1_; }
  friend char const* to_string(amg_smoother const& s) { return s.name_; }
  /// What sets sweeps up; nothing, where a diagonal is the smoother.
  std::shared_ptr<detail::amg_sweep_maker const> const& maker() const { return maker_; }

private:
  constexpr explicit amg_smoother(bool l1) : l1_(l1), name_(l1 ? "l1-Jacobi" : "SPAI-0") {}

  std::shared_ptr<detail::amg_sweep_maker const> maker_ = {};
  bool l1_ = false;
  char const* name_;
};
inline amg_smoother const amg_smoother::spai0{false}, amg_smoother::l1_jacobi{true};

/// How a level goes over to the next one. smoothed, plain: by aggregates, on which a correction is the constant after a step of damped
/// Jacobi, or the constant. grid: every second point of a grid, with the interpolation of black-box multigrid (Dendy 1982), where A is a
/// symmetric operator of 5, 9, 7 or 27 points. automatic: grid, where A is found to be one and contracts well, else smoothed.
enum class amg_coarsening { automatic, grid, smoothed, plain };

/// Their names, as reports print them.
inline constexpr char const* to_string(amg_cycle c) { return c == amg_cycle::V ? "V-cycle" : "W-cycle"; }
inline constexpr char const* to_string(amg_coarsening c) {
  constexpr char const* names[] = {"automatic", "grid", "smoothed aggregation", "plain aggregation"};
  return names[int(c)];
}

namespace detail {
/// The options as the rooms of multigrid read them.
struct amg_options {
  amg_cycle cycle = amg_cycle::V;
  amg_smoother smoother = amg_smoother::spai0;
  amg_coarsening coarsening = amg_coarsening::smoothed;
  int sweeps = 1;
  index_t coarsest = 200;
  double strength = 0.4;
  int max_levels = 30;
};
} // namespace detail

} // namespace sla

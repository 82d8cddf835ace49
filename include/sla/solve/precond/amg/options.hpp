// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The words of algebraic multigrid: the options `amg{...}` of solve/precond/amg/amg.hpp, and the matrices of its levels.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include <sla/core/held.hpp>
#include <sla/tensor/storage/dense.hpp>
#include <sla/tensor/storage/sparse.hpp>

namespace sla {

namespace detail {
/// The matrix of a level: scalar entries, each row's columns ascending.
template <class T, class Memory = host_memory>
using amg_matrix = sparse_tensor<T, Matrix, Csr<std::int32_t>, Memory>;
using amg_pattern = csr_pattern<std::int32_t, std::int32_t, host_memory>;
/// The scalars that levels are rounded to.
template <class T>
using single_t = std::conditional_t<is_complex<T>, std::complex<float>, float>;

/// A preconditioner S as the smoother of a level: out = S r for contiguous vectors, which are two.
template <class T>
struct amg_sweep {
  virtual ~amg_sweep() = default;
  virtual void apply(kernel_t<T> const* r, kernel_t<T>* out) const = 0;
  virtual std::shared_ptr<amg_sweep const> adjoint() const = 0;
  virtual std::size_t bytes() const = 0;  ///< 0: not known
};
/// What sets one up for the levels.
template <class T>
struct amg_makes_sweeps {
  virtual ~amg_makes_sweeps() = default;
  virtual std::shared_ptr<amg_sweep<T> const> setup(amg_matrix<T> const& A) const = 0;
};
/// How levels become coarser, where the rows of A alone do not say it: one object goes down with the levels.
template <class T>
struct amg_coarsener {
  virtual ~amg_coarsener() = default;
  /// The prolongation P from the next level, and `left` for A^H where that is not A and is given. Returns the columns; as many as there
  /// are rows, or 0, where coarsening comes to a halt.
  virtual index_t next(amg_matrix<T> const& A, amg_matrix<T> const* adjoint, int level, amg_matrix<T>& P, amg_matrix<T>& left) = 0;
};
struct amg_options;
template <class T>
struct amg_makes_coarseners {
  virtual ~amg_makes_coarseners() = default;
  virtual std::shared_ptr<amg_coarsener<T>> begin(amg_options const& o, index_t rows, std::type_identity<T> of) const = 0;
};
/// One that serves levels of all scalars.
template <template <class> class Makes>
struct amg_for_all : Makes<float>, Makes<double>, Makes<std::complex<float>>, Makes<std::complex<double>> {};
using amg_sweep_maker = amg_for_all<amg_makes_sweeps>;
using amg_coarsener_maker = amg_for_all<amg_makes_coarseners>;
template <class U>
class node_coarseners;  // solve/precond/amg/nodes.hpp
template <class P>
struct amg_sweeps_of;  // solve/precond/amg/sweeps.hpp
} // namespace detail

/// The order in which a cycle visits the levels: each once on the way down and once on the way up; or each twice as often as the one above it (W), or
/// twice, first in this way and then once on the way up (F: Trottenberg, Oosterlee and Schueller, section 2.4; M is not Hermitian: take gmres or bicgstab); or
/// as W, as two steps of Chebyshev's iteration with bounds that are measured at set-up (AMLI: Axelsson and Vassilevski 1990), where A is Hermitian:
/// the K-cycle of Notay (2010) with coefficients that stay, so that M is linear and every method may take it.
enum class amg_cycle { V, W, F, amli };
/// What is done on each level: x += D (b - A x), with d_i = 1.1 a_ii / sum |a_ij|^2 (SPAI-0: Broeker and Grote 2002), but at most 1.9 / sum
/// |a_ij|, so that it converges for every Hermitian definite A; or with d_i = 1 / sum |a_ij|; or x += S (b - A x) for a preconditioner S that
/// is set up for each level, and its adjoint after the correction, where A is Hermitian: `.smoother = chebyshev{.degree = 2}`, `ssor{}`, `ilu0{}`.
/// automatic: ilu0{}, where A is real and its couplings point one way, as those of transport: a_ij and a_ji differ, of a few rows, by more than a fifth of their sum; its factors are rounded to float, where that holds them;
/// SPAI-0 elsewhere, of complex numbers and nodes, on devices, across ranks, and on a level that has no such factors.
class amg_smoother {
public:
  static amg_smoother const automatic;  ///< ilu0{} of transport, else spai0
  static amg_smoother const spai0;      ///< d_i = 1.1 a_ii / sum |a_ij|^2, at most 1.9 / sum |a_ij|
  static amg_smoother const l1_jacobi;  ///< d_i = 1 / sum |a_ij|

  /// Law: P is options of a preconditioner, as those of `solve(A, b, cg{}, P{})`.
  template <class P>
    requires requires { typename P::preconditioner_tag; }
  amg_smoother(P const& options) : maker_(detail::shared_of<detail::amg_sweeps_of<P> const>(options)), name_(detail::amg_sweeps_of<P>::name()) {}  // NOLINT: `.smoother = ssor{}`

  friend bool operator==(amg_smoother const& a, amg_smoother const& b) { return a.maker_ == b.maker_ && a.kind_ == b.kind_; }
  friend char const* to_string(amg_smoother const& s) { return s.name_; }
  /// Is it SPAI-0 for a Hermitian A?
  bool is_usual() const { return *this == automatic || *this == spai0; }
  /// What sets sweeps up; nothing, where a diagonal is the smoother.
  std::shared_ptr<detail::amg_sweep_maker const> const& maker() const { return maker_; }

private:
  constexpr amg_smoother(int kind, char const* name) : kind_(kind), name_(name) {}

  std::shared_ptr<detail::amg_sweep_maker const> maker_ = {};
  int kind_ = 0;  ///< of those that are no preconditioners
  char const* name_;
};
/// ILU(0) of transport, else SPAI-0.
inline amg_smoother const amg_smoother::automatic{0, "automatic"};
/// SPAI-0.
inline amg_smoother const amg_smoother::spai0{1, "SPAI-0"};
/// l1-Jacobi.
inline amg_smoother const amg_smoother::l1_jacobi{2, "l1-Jacobi"};

/// How a level goes over to the next one. smoothed, plain: by aggregates, on which a correction is the constant after a step of damped
/// Jacobi, or the constant. grid: every second point of a grid, with the interpolation of black-box multigrid (Dendy 1982), where A is a
/// symmetric operator of 5, 9, 7 or 27 points. automatic: grid, where A is found to be one and contracts well; else plain with the AMLI-cycle, where
/// aggregates are large and A is Hermitian, with 6000 rows or more; else smoothed, of such a matrix with the AMLI-cycle on levels of less than a fifth of the
/// entries of the one above. classical: by coarse points and extended+i interpolation (De Sterck, Falgout, Nolting and Yang 2008), which automatic takes for a
/// Hermitian A with coefficients that jump in many rows, where the cycle of aggregates is found to contract badly: a dearer set-up, for iterations that no jump adds to. Where smoothing would fill the coarse matrices, as of a network with hubs, constants again. On ranks, levels across them are smoothed.
enum class amg_coarsening { automatic, grid, smoothed, plain, classical };

/// What A all but annihilates, for systems and for rows that do not sum to 0: `amg{.near_null = rigid_body_modes(points)}`. A row per unknown
/// (those of a block follow each other), a column per mode. Rows of a node are aggregated together: those of a block of A, or, of a matrix
/// of numbers, as many consecutive rows as the second argument says: `.near_null = {modes, 3}`. Modes are copied.
class amg_near_null {
public:
  amg_near_null() = default;
  template <class T>
  amg_near_null(matrix<T> const& modes, index_t unknowns = 0)  // NOLINT: `.near_null = modes`
      : maker_(detail::shared_of<detail::node_coarseners<T> const>(modes)), modes_(modes.extent(1)), unknowns_(unknowns) {}

  index_t modes() const { return modes_; }
  /// Of a node; 0: those of a block.
  index_t unknowns() const { return unknowns_; }
  std::shared_ptr<detail::amg_coarsener_maker const> const& maker() const { return maker_; }
  friend std::string to_string(amg_near_null const& s) { return text(s.modes_, s.modes_ == 1 ? " mode" : " modes"); }

private:
  std::shared_ptr<detail::amg_coarsener_maker const> maker_ = {};
  index_t modes_ = 0, unknowns_ = 0;
};

/// Their names, as reports print them.
inline constexpr char const* to_string(amg_cycle c) {
  constexpr char const* names[] = {"V-cycle", "W-cycle", "F-cycle", "AMLI-cycle"};
  return names[int(c)];
}
inline constexpr char const* to_string(amg_coarsening c) {
  constexpr char const* names[] = {"automatic", "grid", "smoothed aggregation", "plain aggregation", "classical, extended+i"};
  return names[int(c)];
}

namespace detail {
/// The options as the rooms of multigrid read them.
struct amg_options {
  amg_cycle cycle = amg_cycle::V;
  amg_smoother smoother = amg_smoother::automatic;
  amg_coarsening coarsening = amg_coarsening::smoothed;
  int sweeps = 1;
  index_t coarsest = 200;
  double strength = 0.4;
  int max_levels = 30;
  std::shared_ptr<amg_coarsener_maker const> coarsener = {};  ///< instead of aggregates of rows
  index_t unknowns = 1;                                       ///< of a node, for it
  bool in_float = true;                                       ///< levels that automatic coarsening chooses, grids and constants, whatever A is of
  bool coarse_only = false;                                   ///< no smoothing on the finest level
  bool on_device = false;                                     ///< automatic coarsening takes grids, which end smaller, or smooths
  bool steps_where_cheap = false;                             ///< of the AMLI-cycle: on levels that are small beside the one above, where automatic coarsening smooths
};
} // namespace detail

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Preconditioners as smoothers of multigrid: `amg{.smoother = ssor{}}`. They are compiled where one is named; of amg{} ilu0 alone.
#pragma once

#include <complex>
#include <memory>
#include <utility>

#include <sla/core/held.hpp>
#include <sla/exec/fuse.hpp>
#include <sla/exec/host.hpp>
#include <sla/solve/precond/amg/options.hpp>
#include <sla/solve/seam/method.hpp>

namespace sla::detail {

/// M, set up for one level.
template <class T, class M>
struct amg_sweep_of final : amg_sweep<T> {
  M m;
  index_t rows;

  amg_sweep_of(M of, index_t n) : m(std::move(of)), rows(n) {}
  void apply(kernel_t<T> const* r, kernel_t<T>* out) const override {
    using K = kernel_t<T>;
    auto space = immediate_space(host_memory{});
    auto const z = m * tensor_view<K, Extents<dyn>, host_memory>{const_cast<K*>(r), Extents<dyn>(rows)};
    fuse(space, set_statement<K, std::remove_cvref_t<decltype(z)>, host_memory>{out, rows, z});
  }
  std::shared_ptr<amg_sweep<T> const> adjoint() const override {
    auto other = m.adjoint();
    return detail::shared_of<amg_sweep_of<T, decltype(other)> const>(std::move(other), rows);
  }
  std::size_t bytes() const override {
    if constexpr (requires { m.bytes(); })
      return m.bytes();
    else
      return 0;
  }
};
/// M of a level whose matrix is A.
template <class T, class M>
std::shared_ptr<amg_sweep<T> const> amg_sweep_on(M m, amg_matrix<T> const& A) {
  return detail::shared_of<amg_sweep_of<T, M> const>(std::move(m), A.rows());
}

/// The options of a preconditioner, to be set up for each level.
template <class P>
struct amg_sweeps_of final : amg_sweep_maker {
  P options;

  explicit amg_sweeps_of(P const& p) : options(p) {}
  static constexpr char const* name() { return name_of_options<P>; }
  std::shared_ptr<amg_sweep<float> const> setup(amg_matrix<float> const& A) const override { return made(A); }
  std::shared_ptr<amg_sweep<double> const> setup(amg_matrix<double> const& A) const override { return made(A); }
  std::shared_ptr<amg_sweep<std::complex<float>> const> setup(amg_matrix<std::complex<float>> const& A) const override { return made(A); }
  std::shared_ptr<amg_sweep<std::complex<double>> const> setup(amg_matrix<std::complex<double>> const& A) const override { return made(A); }

private:
  template <class T>
  std::shared_ptr<amg_sweep<T> const> made(amg_matrix<T> const& A) const {
    return amg_sweep_on(options.setup(A), A);
  }
};

} // namespace sla::detail

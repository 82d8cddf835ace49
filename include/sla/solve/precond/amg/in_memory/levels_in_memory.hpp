// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Multigrid in the memory of a device: levels are set up on the host and copied there once, and the cycle is that of solve/precond/amg/cycle.hpp, or that
// of a grid (solve/precond/amg/in_memory/grid_in_memory.hpp), in the space of the solve.
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <sla/core/held.hpp>
#include <sla/solve/precond/amg/amg.hpp>
#include <sla/solve/precond/amg/in_memory/grid_in_memory.hpp>
#include <sla/solve/precond/amg/in_memory/in_memory.hpp>

namespace sla {

namespace detail {
/// The levels of a hierarchy in another memory; the inverse of the last one is a matrix whose rows are full. GridReal: the scalars of levels that are grids.
template <class T, class GridReal, class Memory>
struct levels_in_memory {
  amg_options options;
  bool reversed;
  std::vector<amg_level<T, Memory>> levels;
  amg_matrix<T, Memory> inverse;  ///< no rows: smoothing has to do
  std::shared_ptr<grid_in_memory<GridReal, Memory> const> grid = {};  ///< in the place of all levels

  explicit levels_in_memory(amg_hierarchy<T> const& host) : options(host.options), reversed(host.reversed) {
    if constexpr (!is_complex<T>)
      if (host.grid) grid = detail::shared_of<grid_in_memory<GridReal, Memory> const>(static_cast<grid_levels<GridReal, kernel_t<T>> const&>(*host.grid));
    for (auto const& level : host.levels) {
      levels.push_back({in_memory<Memory>(level.A), in_memory<Memory>(level.smoother), level.transfer});
      auto& here = levels.back();
      here.range = level.range;
      if (level.transfer) here.P = in_memory<Memory>(level.P), here.R = in_memory<Memory>(level.R);
    }
    if (host.inverse.empty()) return;
    inverse = full_matrix<T, Memory>(host.inverse, host.levels.back().A.rows());
  }

  /// f(type_identity of the levels' numbers, by what a cycle's result is too large, cycle(space, b, z)).
  template <class F>
  void with_cycle(F const& f) const {
    if constexpr (!is_complex<T>)
      if (grid) return f(std::type_identity<GridReal>{}, grid->scale(), [&](auto& space, GridReal const* b, GridReal* z) { grid->apply(space, b, z); });
    f(std::type_identity<kernel_t<T>>{}, 1.0, [&](auto& space, kernel_t<T> const* b, kernel_t<T>* z) {
      amg_work<T, Memory> work(*this, [&](index_t n) { return space.template temporary<T>(Extents<dyn>(n)); });  // of the space: its stream may not be that of another thread's solve
      amg_cycle_from(space, *this, work, 0, b, z, options.cycle);
    });
  }
  bool takes_steps(std::size_t l) const { return levels[l].range.least > 0; }
  template <class Space>
  bool solve_last(Space& space, kernel_t<T> const* b, kernel_t<T>* z) const {
    index_t const n = inverse.rows();
    if (n == 0) return false;
    fuse(space, put_at<Memory>(z, n, inverse * numbers_at<Memory>(b, n)));
    return true;
  }
  std::size_t bytes() const {
    std::size_t total = inverse.bytes() + (grid ? grid->bytes() : 0);
    for (auto const& level : levels) total += level.A.bytes() + level.smoother.values().bytes() + (level.transfer ? level.P.bytes() + level.R.bytes() : 0);
    return total;
  }
};

/// 1 / the largest number of a vector; 1 for zeros.
struct inverse_of_largest {
  template <class R>
  SLA_HD R operator()(R largest) const {
    return largest > 0 ? R(1) / largest : R(1);
  }
};
struct its_inverse {
  double scale;
  template <class R>
  SLA_HD R operator()(R factor) const {
    return R(scale) / factor;
  }
};

/// z = M r by one cycle. Vectors that the levels' type may not hold are scaled by the largest number. A whole node.
template <class Levels, class X>
struct cycle_node {
  using expression_tag = void;
  using value_type = typename X::value_type;
  using extents_type = typename X::extents_type;
  using memory_type = typename X::memory_type;
  static constexpr reach depth = reach::whole;
  static constexpr bool needs_vector = true;

  Levels const* levels;
  X x;

  auto extents() const { return x.extents(); }
  template <class Y>
  auto with_operand(Y const& y) const {
    return cycle_node<Levels, Y>{levels, y};
  }
  template <class F>
  auto rebuild(F const& f) const {
    return cycle_node<Levels, decltype(f(x))>{levels, f(x)};
  }
  template <class F>
  void accesses(F&& f, bool) const {
    x.accesses(f, true);
  }

  template <class Space, class Out>
  void apply(Space& space, Out* out) const {
    levels->with_cycle([&]<class K>(std::type_identity<K>, double scale, auto const& cycle) {
      if constexpr (std::same_as<value_type, K> && std::same_as<Out, K>)
        if (scale == 1) return cycle(space, x.data, out);
      index_t const n = x.extents().total();
      auto b = space.template temporary<user_t<K>>(Extents<dyn>(n)), z = space.template temporary<user_t<K>>(Extents<dyn>(n));
      auto const of = [n](auto const& v) { return numbers_at<memory_type>(kernel_pointer(v.data()), n); };
      auto const [largest] = fuse_local(space, norm_inf_of(x));
      auto const factor = space.map(inverse_of_largest{}, largest);
      fuse_local(space, put_at<memory_type>(kernel_pointer(b.data()), n, factor * x));
      cycle(space, kernel_pointer(std::as_const(b).data()), kernel_pointer(z.data()));
      auto const back = space.map(its_inverse{1 / scale}, factor);
      fuse_local(space, put_at<memory_type>(out, n, back * of(std::as_const(z))));
    });
  }
};
} // namespace detail

/// Multigrid for one matrix in the memory of a device: `M * r` is one cycle there. Made by `amg{}.setup(A)`, on the host.
template <class T, class S, class Stored, class Memory, class GridReal = float>
class applied_amg_in {
  using Host = applied_amg<T, S, Stored, GridReal>;
  using Levels = detail::levels_in_memory<Stored, GridReal, Memory>;

public:
  using value_type = T;

  template <class F>
  applied_amg_in(detail::amg_options const& options, sparse_tensor<T, S, F, Memory> const& A) : host_(options, detail::in_memory<host_memory>(A)) {
    copy();
  }

  /// The same levels, where A is Hermitian.
  applied_amg_in adjoint() const {
    Host other = host_.adjoint();
    return &other.hierarchy() == &host_.hierarchy() ? *this : applied_amg_in(std::move(other));
  }
  /// New values on the same pattern: aggregates and the patterns of all products are kept. Where this throws, all is as before.
  template <class F>
  void update(sparse_tensor<T, S, F, Memory> const& A) {
    Host next = host_;
    next.update(detail::in_memory<host_memory>(A));
    *this = applied_amg_in(std::move(next));
  }

  /// The multigrid of the host whose levels these are.
  Host const& host() const { return host_; }
  /// Of the device.
  std::size_t bytes() const { return levels_->bytes(); }
  std::string remark() const { return host_.remark(); }

  template <class X>
  auto times(X&& x) const {
    using XE = typename node_t<X>::extents_type;
    static_assert(!S::is_batched && XE::rank == range_extents_t<S>::rank,
                  "sla: amg on a device takes one system and one right-hand side: solve for them one after the other, or take chebyshev{} or block_jacobi{}");
    auto node = as_node(std::forward<X>(x));
    if (node.extents().total() != host_.elements())
      throw shape_error(text("amg * x: x is ", to_string(node.extents()), ", and should have ", host_.elements(), " elements"));
    return detail::cycle_node<Levels, decltype(node)>{levels_.get(), std::move(node)};
  }

private:
  explicit applied_amg_in(Host host) : host_(std::move(host)) { copy(); }
  void copy() { levels_ = detail::shared_of<Levels const>(host_.hierarchy()); }

  Host host_;
  detail::held<Levels const, "a preconditioner"> levels_;
};

template <class T, class S, class Stored, class Memory, class GridReal, Tensorial X>
auto operator*(applied_amg_in<T, S, Stored, Memory, GridReal> const& M, X&& x) {
  return M.times(std::forward<X>(x));
}

namespace detail {
/// The options for levels that a device walks. Errors: value_error for options that want the host.
inline amg_options on_device(amg_options o) {
  if (o.smoother.maker())
    throw value_error(text("amg{.smoother = ", to_string(o.smoother), "} on a device: preconditioners smooth on the host alone; take amg_smoother::spai0 or l1_jacobi"));
  o.on_device = true;
  return o;
}
} // namespace detail

/// `amg{...}.setup(A)` for A in the memory of a device. Setup: on the host, with A brought there. Memory: that of the levels, on the host and on the
/// device. Errors: those of amg on the host; value_error for options that want the host.
template <class Stored, class T, class S, class F, class Memory>
  requires(!Memory::is_host)
auto perform(op::setup, amg_in<Stored> const& p, sparse_tensor<T, S, F, Memory> const& A) {
  static_assert(S::block_rows == S::block_cols, "sla: amg wants a square matrix: square blocks too");
  if (A.rows() != A.cols()) throw shape_error(text("amg: A is ", A.rows(), " x ", A.cols(), ", and must be square"));
  using GridReal = std::conditional_t<std::same_as<Stored, double>, double, float>;
  return applied_amg_in<T, S, detail::level_scalar_t<Stored, T>, Memory, GridReal>(detail::on_device(p.checked(S::block_rows)), A);
}

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Multigrid in the memory of a device: levels are set up on the host and copied there once, and the cycle is that of
// solve/precond/amg/cycle.hpp, in the space of the solve. Law: `to<Memory>(x)` moves tensors, as adapter/cuda/transfer.cuh has it.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <sla/solve/precond/amg/amg.hpp>

namespace sla {

namespace detail {
/// x in this memory.
template <class Memory, class X>
auto in_memory(X const& x) {
  if constexpr (std::same_as<Memory, typename X::memory_type>)
    return x;
  else
    return to<Memory>(x);
}

/// The levels of a hierarchy in another memory; the inverse of the last one is a matrix whose rows are full.
template <class T, class Memory>
struct levels_in_memory {
  amg_options options;
  bool reversed;
  std::vector<amg_level<T, Memory>> levels;
  amg_matrix<T, Memory> inverse;  ///< no rows: smoothing has to do
  idle_work<amg_work<T, Memory>> idle{};

  explicit levels_in_memory(amg_hierarchy<T> const& host) : options(host.options), reversed(host.reversed) {
    for (auto const& level : host.levels) {
      levels.push_back({in_memory<Memory>(level.A), in_memory<Memory>(level.smoother), level.transfer});
      auto& here = levels.back();
      here.range = level.range;
      if (level.transfer) here.P = in_memory<Memory>(level.P), here.R = in_memory<Memory>(level.R);
    }
    if (host.inverse.empty()) return;
    index_t const n = host.levels.back().A.rows();
    amg_pattern full{n, n, buffer<std::int32_t>(n + 1, uninitialized), buffer<std::int32_t>(n * n, uninitialized)};
    for (index_t i = 0; i <= n; ++i) full.row_ptr[i] = std::int32_t(i * n);
    for (index_t i = 0; i < n; ++i) std::iota(full.col.data() + i * n, full.col.data() + (i + 1) * n, 0);
    buffer<T> numbers(n * n, uninitialized);
    std::copy(host.inverse.begin(), host.inverse.end(), kernel_pointer(numbers.data()));
    inverse = in_memory<Memory>(amg_matrix<T>(Matrix(n, n), std::make_shared<amg_pattern const>(std::move(full)), std::move(numbers)));
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
    std::size_t total = inverse.bytes();
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
  template <class R>
  SLA_HD R operator()(R factor) const {
    return R(1) / factor;
  }
};

/// z = M r by one cycle. Vectors that the levels' type may not hold are scaled by the largest number. A whole node.
template <class T, class Memory, class X>
struct cycle_node {
  using expression_tag = void;
  using value_type = typename X::value_type;
  using extents_type = typename X::extents_type;
  using memory_type = typename X::memory_type;
  static constexpr reach depth = reach::whole;
  static constexpr bool needs_vector = true;

  levels_in_memory<T, Memory> const* levels;
  X x;

  auto extents() const { return x.extents(); }
  template <class Y>
  auto with_operand(Y const& y) const {
    return cycle_node<T, Memory, Y>{levels, y};
  }
  template <class F>
  auto rebuild(F const& f) const {
    return cycle_node<T, Memory, decltype(f(x))>{levels, f(x)};
  }
  template <class F>
  void accesses(F&& f, bool) const {
    x.accesses(f, true);
  }

  template <class Space, class Out>
  void apply(Space& space, Out* out) const {
    using K = kernel_t<T>;
    index_t const n = x.extents().total();
    levels->idle.with([&] { return amg_work<T, Memory>(*levels); }, [&](amg_work<T, Memory>& work) {
      auto const cycle = [&](K const* b, K* z) { amg_cycle_from(space, *levels, work, 0, b, z, levels->options.cycle); };
      if constexpr (std::same_as<value_type, K> && std::same_as<Out, K>) {
        cycle(x.data, out);
      } else {
        auto b = space.template temporary<T>(Extents<dyn>(n)), z = space.template temporary<T>(Extents<dyn>(n));
        auto const [largest] = fuse_local(space, norm_inf_of(x));
        auto const factor = space.map(inverse_of_largest{}, largest);
        fuse_local(space, put_at<Memory>(kernel_pointer(b.data()), n, factor * x));
        cycle(kernel_pointer(std::as_const(b).data()), kernel_pointer(z.data()));
        auto const back = space.map(its_inverse{}, factor);
        fuse_local(space, put_at<Memory>(out, n, back * numbers_at<Memory>(kernel_pointer(std::as_const(z).data()), n)));
      }
    });
  }
};
} // namespace detail

/// Multigrid for one matrix in the memory of a device: `M * r` is one cycle there. Made by `amg{}.setup(A)`, on the host.
template <class T, class S, class Stored, class Memory>
class applied_amg_in {
  using Host = applied_amg<T, S, Stored>;
  using Levels = detail::levels_in_memory<Stored, Memory>;

public:
  using value_type = T;

  template <class F>
  applied_amg_in(detail::amg_options const& options, sparse_tensor<T, S, F, Memory> const& A) : host_(options, detail::in_memory<host_memory>(A)) {
    copy();
  }

  applied_amg_in adjoint() const { return applied_amg_in(host_.adjoint()); }
  /// New values on the same pattern: aggregates and the patterns of all products are kept. Where this throws, all is as before.
  template <class F>
  void update(sparse_tensor<T, S, F, Memory> const& A) {
    host_.update(detail::in_memory<host_memory>(A));
    copy();
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
    return detail::cycle_node<Stored, Memory, decltype(node)>{levels_.get(), std::move(node)};
  }

private:
  explicit applied_amg_in(Host host) : host_(std::move(host)) { copy(); }
  void copy() { levels_ = std::make_shared<Levels const>(host_.hierarchy()); }

  Host host_;
  detail::held<Levels const, "a preconditioner"> levels_;
};

template <class T, class S, class Stored, class Memory, Tensorial X>
auto operator*(applied_amg_in<T, S, Stored, Memory> const& M, X&& x) {
  return M.times(std::forward<X>(x));
}

namespace detail {
/// The options for levels that a device walks: those of grids, and those in float of constants, have kernels of the host.
/// Errors: value_error for options that want them.
inline amg_options on_device(amg_options o) {
  if (o.coarsening == amg_coarsening::grid)
    throw value_error("amg{.coarsening = amg_coarsening::grid} on a device: grids have a cycle on the host alone; take amg_coarsening::smoothed, which is what automatic takes there");
  if (o.smoother.maker())
    throw value_error(text("amg{.smoother = ", to_string(o.smoother), "} on a device: preconditioners smooth on the host alone; take amg_smoother::spai0 or l1_jacobi"));
  if (o.coarsening == amg_coarsening::automatic) o.coarsening = amg_coarsening::smoothed;
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
  return applied_amg_in<T, S, detail::level_scalar_t<Stored, T>, Memory>(detail::on_device(p.checked(S::block_rows)), A);
}

} // namespace sla

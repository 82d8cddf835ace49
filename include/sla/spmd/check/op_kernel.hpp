// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel and the pullbacks of an operation, as `custom<Op>` runs them, for check_rule: `op_kernel<Op, X...>{}` with the types of the
// local operands. Not part of spmd.hpp.
#pragma once
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <sla/core/error.hpp>
#include <sla/spmd/check/kernel.hpp>
#include <sla/tensor/storage/dense.hpp>

namespace sla {

/// Op::apply on the parts of simulated ranks, and Op::pullback(operand_number<K>, x..., g) as its adjoint, which is compared with
/// differences of Op::apply on whole operands. X: dense tensors of double, as the operation takes them. An operand without a pullback has
/// gradient = false. Law: Op::apply throws an sla::error for parts that do not go together; that is no result.
template <class Op, class... X>
struct op_kernel {
  using operation = Op;
  using number = sim::dual<sim::detail::directions>;
  template <class>
  using part = sim::array<double> const&;
  template <class>
  using slope = sim::array<number> const&;

  sim::array<double> operator()(part<X>... x) const {
    try {
      return array_of(Op::apply(tensor_of<X>(x)...));
    } catch (error const&) {
      return sim::no_result<double>();
    }
  }
  /// Differences of fourth order: exact for polynomials of degree 4.
  sim::array<number> operator()(slope<X>... x) const {
    constexpr double h = 1.0 / 256;
    auto const base = (*this)(values(x)...);
    sim::array<number> y(base.extents);
    if (base.extents == sim::no_result<double>().extents) return sim::no_result<number>();
    for (int n = 0; n < y.size(); ++n) y[n] = number(base[n]);
    for (int d = 0; d < sim::detail::directions; ++d) {
      if (!(moves(x, d) || ...)) continue;
      double const weight[] = {1, -8, 8, -1}, step[] = {-2 * h, -h, h, 2 * h};
      for (int k = 0; k < 4; ++k) {
        auto const at = (*this)(moved(x, d, step[k])...);
        for (int n = 0; n < y.size(); ++n) y[n].slope[d] += weight[k] / (12 * h) * at[n];
      }
    }
    return y;
  }
  std::vector<sim::array<double>> pullback(std::vector<sim::array<double>> const& x, std::vector<sim::array<double>> const& g) const {
    return [&]<std::size_t... K>(std::index_sequence<K...>) {
      std::tuple<X...> const parts(tensor_of<X>(x[K])...);
      using Result = std::remove_cvref_t<decltype(Op::apply(std::get<K>(parts)...))>;
      auto const seed = tensor_of<Result>(g[0]);
      std::vector<sim::array<double>> out;
      (out.push_back(gradient<int(K)>(x[K], parts, seed)), ...);
      return out;
    }
    (std::index_sequence_for<X...>{});
  }

private:
  template <class Y>
  static Y tensor_of(sim::array<double> const& x) {
    if constexpr (std::is_arithmetic_v<Y>) {
      return x[0];
    } else {
      Y y = [&]<std::size_t... D>(std::index_sequence<D...>) { return Y(typename Y::extents_type(index_t(x.extents[D])...)); }
      (std::make_index_sequence<static_cast<std::size_t>(Y::rank)>{});
      for (int n = 0; n < x.size(); ++n) y[n] = x[n];
      return y;
    }
  }
  template <class Y>
  static sim::array<double> array_of(Y const& y) {
    if constexpr (std::is_arithmetic_v<Y>) {
      return sim::array<double>(std::vector<int>{}, double(y));
    } else {
      std::vector<int> extents;
      for (int d = 0; d < Y::rank; ++d) extents.push_back(static_cast<int>(y.extent(d)));
      sim::array<double> x(extents);
      for (int n = 0; n < x.size(); ++n) x[n] = y[n];
      return x;
    }
  }
  template <int K, class Parts, class G>
  static sim::array<double> gradient(sim::array<double> const& x, Parts const& parts, G const& g) {
    return std::apply(
        [&](auto const&... p) {
          constexpr std::integral_constant<int, K> k;
          if constexpr (requires { Op::pullback(k, p..., g); })
            return array_of(X_of<K>(Op::pullback(k, p..., g)));
          else
            return sim::array<double>(x.extents);
        },
        parts);
  }
  template <int K>
  using X_of = std::tuple_element_t<static_cast<std::size_t>(K), std::tuple<X...>>;
  static sim::array<double> values(sim::array<number> const& x) { return moved(x, 0, 0); }
  static sim::array<double> moved(sim::array<number> const& x, int d, double step) {
    sim::array<double> y(x.extents);
    for (int n = 0; n < x.size(); ++n) y[n] = x[n].value + step * x[n].slope[d];
    return y;
  }
  static bool moves(sim::array<number> const& x, int d) {
    for (int n = 0; n < x.size(); ++n)
      if (x[n].slope[d] != 0) return true;
    return false;
  }
};

} // namespace sla

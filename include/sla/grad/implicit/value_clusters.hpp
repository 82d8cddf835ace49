// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What derivatives of eigenvalues and of singular values have alike: which values are one cluster, how the tape holds values that all ranks have,
// and columns of cotangents.
#pragma once

#include <algorithm>
#include <vector>

#include <sla/solve/driver/world.hpp>
#include <sla/solve/eigen/eigen_report.hpp>
#include <sla/solve/eigen/problem.hpp>

namespace sla::detail {

/// Which values are one cluster: neighbours that are no further apart than 1e-6, or what the tolerance, or `rounding` of values, resolves.
template <class Values>
class value_clusters {
public:
  /// Errors begin with `call`: eigen_error, if the pairs did not converge.
  value_clusters(Values const& w, eigen_report const& report, double rounding, char const* call) : w_(w), report_(report), call_(call) {
    if (!report.converged()) throw eigen_error(report, call);
    double const apart = (std::max)(1e-6, 100 * report.rtol);
    for (index_t j = 0; j < w.size(); ++j)
      for (index_t i = 0; i < w.size(); ++i)
        near_.push_back(i == j || std::abs(double(w[i] - w[j])) <= (std::max)(rounding, apart * (std::max)(std::abs(double(w[i])), std::abs(double(w[j])))));
  }

  index_t count() const { return w_.size(); }
  bool are_near(index_t i, index_t j) const { return near_[std::size_t(j * count() + i)]; }
  /// Errors: value_error, where a derivative of column or value j is asked for whose cluster has vectors that are not there.
  void require_whole(index_t j, char const* what) const {
    if (report_.cuts_cluster && are_near(j, count() - 1))
      throw value_error(text(call_, ": a derivative of ", what, ' ', j, " (", w_[j], "), whose value is in a cluster that goes on beyond the ", count(), " pairs that were asked for; ask for more pairs"));
  }
  void refuse_cluster(index_t i, index_t j, char const* what) const {
    throw value_error(text(call_, ": a derivative of ", what, " through values ", i, " and ", j, " (", w_[i], " and ", w_[j],
                           "), which are one cluster: only what does not change when the vectors of a cluster are mixed has a derivative, such as the sum of its values or of v v^H"));
  }
  /// Errors: value_error, where the cotangent g of the values tells those of a cluster apart.
  template <class G>
  void require_invariant(G const& g) const {
    using Real = typename Values::value_type;
    double most = 0;
    for (index_t j = 0; j < count(); ++j) most = (std::max)(most, std::abs(double(g[j])));
    for (index_t j = 0; j < count(); ++j) {
      if (g[j] != Real(0)) require_whole(j, "value");
      for (index_t i = 0; i < j; ++i)
        if (are_near(i, j) && std::abs(double(g[i] - g[j])) > 1e-6 * most) refuse_cluster(i, j, "single values");
    }
  }

private:
  Values const& w_;
  eigen_report const& report_;
  char const* call_;
  std::vector<dependent_t<char, Values>> near_;
};

/// x becomes column j of a block of vectors, or of cotangents, which lie as these do.
template <class V, class Block>
void copy_column(V& x, Block const& block, index_t j) {
  auto* const to = own_numbers(x);
  auto const* const from = own_numbers(block);
  for (index_t i = 0; i < own_size(x); ++i) to[i] = from[i * width_of(block) + j];
}

/// Values as the tape holds them, and the numbers of those.
template <class A, class Values>
auto recorded_values(A const& a, Values const& w) {
  if constexpr (requires { linear_world<A>::common(a, w); })
    return linear_world<A>::common(a, w);
  else
    return w;
}
template <class V>
auto const& common_numbers(V const& x) {
  if constexpr (requires { x.local(); })
    return x.local();
  else
    return x;
}

} // namespace sla::detail

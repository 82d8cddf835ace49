// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `logdet(A, stochastic_lanczos{})`: an estimate from products with A alone, with its standard error, for matrices without room for
// factors, operators, and matrices on ranks. One text for all spaces. Its derivative is in grad/implicit/traced_estimate.hpp.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <ostream>
#include <utility>
#include <vector>

#include <sla/solve/determinant/slogdet.hpp>
#include <sla/solve/driver/rescaled.hpp>

namespace sla {

/// The options of `logdet(A, stochastic_lanczos{.probes = 64, .seed = 1})`: the mean of z^H log(A) z over probes z of random signs, each by Gauss
/// quadrature with the nodes of some steps of Lanczos's iteration. The signs depend on the seed and the numbers of rows alone, so that ranks have
/// the same, and so has the gradient. At most `steps`, fewer where they have converged beyond the noise of the probes; rtol: of the solves of the gradient.
struct stochastic_lanczos {
  int probes = 32;
  std::uint64_t seed = 0;
  int steps = 200;
  relative_tolerance rtol = {};

  using estimator_tag = void;
};

/// What that gives: the value, a number, or a tensor of a batch's extents, and its error: the standard error of the mean over the probes, with what the
/// quadrature is estimated to miss, where its steps did not suffice, which is `quadrature` too. Infinity, for one probe.
template <class Value, class Error>
struct estimate {
  Value value;
  Error error, quadrature;
  int probes = 0, steps = 0;
};
/// `31.4 +- 0.2 (64 probes, 80 steps)`
template <class Value, class Error>
std::ostream& operator<<(std::ostream& out, estimate<Value, Error> const& e) {
  return out << e.value << " +- " << e.error << " (" << e.probes << " probes, " << e.steps << " steps)";
}

namespace detail {
/// e_1^T log(T) e_1 for a symmetric tridiagonal T, with d on its diagonal and e beside it, from its eigenvalues and the first components of its
/// eigenvectors, by the implicit QL iteration. NaN, if an eigenvalue is not positive, or the iteration does not converge.
/// Not Eigen's computeFromTridiagonal: it gives whole eigenvectors, in O(n^3), or none; this is O(n^2).
/// Source: Golub and Welsch, Calculation of Gauss quadrature rules (Math. Comp. 1969).
template <class X = void, class Numbers = std::vector<dependent_t<double, X>>>
double quadrature_of_log(Numbers d, Numbers e) {
  std::size_t const n = d.size();
  Numbers z(n, 0.0);
  z[0] = 1;
  e.resize(n, 0.0);
  for (std::size_t l = 0; l < n; ++l)
    for (int turn = 0;; ++turn) {
      std::size_t m = l;
      while (m + 1 < n && std::abs(e[m]) > std::numeric_limits<double>::epsilon() * (std::abs(d[m]) + std::abs(d[m + 1]))) ++m;
      if (m == l) break;
      if (turn == 60) return std::numeric_limits<double>::quiet_NaN();
      double g = (d[l + 1] - d[l]) / (2 * e[l]), r = std::hypot(g, 1.0), s = 1, c = 1, p = 0;
      g = d[m] - d[l] + e[l] / (g + std::copysign(r, g));
      std::size_t i = m;
      while (i-- > l) {
        double const f = s * e[i], b = c * e[i];
        e[i + 1] = r = std::hypot(f, g);
        if (r == 0) {
          d[i + 1] -= p, e[m] = 0;
          break;
        }
        s = f / r, c = g / r;
        g = d[i + 1] - p;
        r = (d[i] - g) * s + 2 * c * b;
        p = s * r;
        d[i + 1] = g + p, g = c * r - b;
        double const above = z[i];
        z[i] = c * above - s * z[i + 1], z[i + 1] = s * above + c * z[i + 1];
      }
      if (r == 0 && i + 1 > l) continue;
      d[l] -= p, e[l] = g, e[m] = 0;
    }
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += z[i] * z[i] * std::log(d[i]);
  return sum;
}

/// The probes first ... first + count - 1 of A, vectors of signs beside each other.
template <class A>
auto sign_probes(A const& a, std::uint64_t seed, index_t first, index_t count) {
  auto const probe = [&](index_t k) {
    std::uint64_t const stream = seed + 0x9e3779b97f4a7c15ULL * std::uint64_t(k + 1);
    if constexpr (requires { linear_world<A>::probe(a, stream); })
      return linear_world<A>::probe(a, stream);
    else
      return random<typename A::value_type>(a.rows(), stream);
  };
  auto one = probe(first);
  using T = typename std::remove_cvref_t<decltype(one)>::value_type;
  using World = linear_world<A>;
  auto all = World::beside(one, count);
  auto& to = World::own(all);
  for (index_t k = 0; k < count; ++k) {
    if (k > 0) one = probe(first + k);
    auto const& from = World::own(one);
    for (index_t n = 0; n < from.size(); ++n) to.data()[n * count + k] = T(std::real(from.data()[n]) < 0 ? -1 : 1);
  }
  return all;
}

/// z^H log(A) z for each item as far as the iteration has come, how it changed since the last look, and how much it will yet.
struct seen_quadrature {
  static constexpr char const* who = "logdet(A, stochastic_lanczos{})";
  std::size_t steps = 0;
  std::vector<double> value, change, missing;

  template <std::same_as<lanczos_record> Record>
  void look(Record const& record, double rounding) {
    auto& seen = static_cast<dependent_t<seen_quadrature, Record>&>(*this);
    auto &value = seen.value, &change = seen.change, &missing = seen.missing;
    constexpr double unknown = std::numeric_limits<double>::infinity();
    if (steps == record.rz.size()) return;
    steps = record.rz.size();
    std::size_t const items = record.asymmetry.size();
    value.resize(items, unknown), change.resize(items, unknown), missing.resize(items, unknown);
    for (std::size_t k = 0; k < items; ++k) {
      auto const [d, e] = record.tridiagonal(k, rounding, who, "slogdet(A), which takes any square matrix");
      double const now = d.empty() ? 0 : record.rz[0][k] * quadrature_of_log(d, e);
      if (!(now - now == 0)) throw value_error(text(who, ": A is not positive definite: an eigenvalue of Lanczos's iteration is not positive; use slogdet(A), which takes any square matrix"));
      double const before = change[k];
      change[k] = std::abs(now - value[k]);
      value[k] = now;
      if (d.size() < steps || change[k] <= 1e-12 * std::abs(now))
        missing[k] = d.size() < steps ? 0 : change[k];
      else  // changes fall as a geometric sequence: the sum of the rest of it
        missing[k] = change[k] < before && before < unknown ? change[k] / (before / change[k] - 1) : unknown;
    }
  }
};

/// The mean, its standard error, and what the quadrature misses, of count numbers for a batch item.
struct probe_mean {
  double mean = 0, error = std::numeric_limits<double>::infinity(), missing = 0;
  probe_mean(double const* value, double const* missed, index_t count) {
    double const n = double(count);
    for (index_t k = 0; k < count; ++k) mean += value[k] / n, missing += missed[k] / n;
    double squares = 0;
    for (index_t k = 0; k < count; ++k) squares += (value[k] - mean) * (value[k] - mean);
    if (count > 1) error = std::sqrt(squares / (n - 1) / n);
  }
};
/// These of all batch items.
struct probe_means {
  std::vector<double> mean, error, missing;
  int steps = 0;
};

template <class A, class... Options>
auto estimated_logdet(A const& a, stochastic_lanczos const& options, index_t batch, Options const&... where) {
  char const* const who = seen_quadrature::who;
  if (options.probes < 1 || options.steps < 1) throw value_error(text(who, ": ", options.probes, " probes and ", options.steps, " steps; both are at least 1"));
  if (double const rtol = options.rtol; !(rtol >= 0 && rtol <= 1)) throw value_error(text(who, ": .rtol = ", rtol, ", of the solves of the gradient, is from 0 to 1"));
  if constexpr (requires { a.rows() != a.cols(); })
    if (a.rows() != a.cols()) throw shape_error(text(who, ": A is ", a.rows(), " x ", a.cols(), ", and must be square"));
  check_named(a, true, who);
  index_t const probes = options.probes;
  std::vector<dependent_t<double, A>> values(std::size_t(batch * probes), 0.0), missing = values;
  probe_means out;
  for (index_t first = 0; first < options.probes; first += 16) {
    index_t const count = (std::min)(index_t(16), options.probes - first);
    auto const z = sign_probes(a, options.seed, first, count);
    using T = typename std::remove_cvref_t<decltype(z)>::value_type;
    double const rounding = double(std::numeric_limits<real_t<T>>::epsilon());
    auto space = space_of_call(a, z, where...);
    auto const other = sign_probes(a, options.seed ^ 0x5851f42d4c957f2dULL, first, count);
    int const check = (std::max)((std::min)(options.steps / 4, 16), 1);
    seen_quadrature seen;
    auto const record = lanczos(space, a, applied_identity{}, z, other, options.steps, check, [&](lanczos_record const& so_far) {
      seen.look(so_far, rounding);
      if (index_t(seen.value.size()) != batch * count) throw value_error(text(who, ": a batch of matrices on ranks; estimate its items one by one"));
      for (index_t b = 0; b < batch; ++b) {
        probe_mean const now(seen.value.data() + b * count, seen.missing.data() + b * count, count);
        double const noise = count > 1 ? now.error * std::sqrt(double(count) / options.probes) : 0;
        if (!(now.missing <= (std::max)(0.05 * noise, 1e-10 * std::abs(now.mean)))) return false;
      }
      return true;
    });
    seen.look(record, rounding);
    out.steps = (std::max)(out.steps, int(record.rz.size()));
    for (index_t b = 0; b < batch; ++b) {
      std::copy_n(seen.value.data() + b * count, count, values.data() + b * probes + first);
      std::copy_n(seen.missing.data() + b * count, count, missing.data() + b * probes + first);
    }
  }
  for (index_t b = 0; b < batch; ++b) {
    probe_mean const m(values.data() + b * probes, missing.data() + b * probes, probes);
    out.mean.push_back(m.mean), out.error.push_back(m.error), out.missing.push_back(m.missing);
  }
  return out;
}
/// The same of an A whose squares may be out of range: log(2^e A) is log(A) + e log(2) times the identity, and |z|^2 the number of rows.
template <class A, class... Options>
auto estimated_logdet_in_range(A const& a, stochastic_lanczos const& options, index_t batch, Options const&... where) {
  if constexpr (Rescalable<A>) {
    auto const exponents = exponents_out_of_range(a);
    if (std::any_of(exponents.begin(), exponents.end(), [](int e) { return e != 0; })) {
      auto out = estimated_logdet(rescaled(a, exponents), options, batch, where...);
      double const squares = [&] {
        auto const sum = eval(norm1(sign_probes(a, options.seed, 0, 1)));
        if constexpr (requires { sum.value(); })  // on ranks
          return double(sum.value()) / double(batch);
        else
          return double(sum) / double(batch);
      }();
      for (std::size_t b = 0; b < out.mean.size(); ++b) out.mean[b] += squares * exponents[b] * 0.69314718055994530942;
      return out;
    }
  }
  return estimated_logdet(a, options, batch, where...);
}
/// Is there a world of A, so that algorithms run on it?
template <class A>
concept HasWorld = requires { typename linear_world<A>::operator_type; };
} // namespace detail

/// Law: A is Hermitian positive definite: a sparse tensor of any format, batches of them, a linear_operator, or distributed by rows. `on(...)` says where to run.
/// Cost: steps products with 16 vectors for each 16 probes. Errors: value_error, as soon as A is seen not to be Hermitian or positive definite, and for NaN.
/// Placement: rows on ranks; value and error are the same on all. Gradient: the mean of A^-1 z z^H on A's pattern, Hermitian part, by the same probes z.
/// Source: Ubaru, Chen, Saad, Fast estimation of tr(f(A)) via stochastic Lanczos quadrature (SIMAX 2017).
template <detail::HasWorld A, class... Where>
auto perform(op::logdet, A const& a, stochastic_lanczos const& options, Where const&... where) {
  auto const numbers = [&](index_t batch, auto const& per_item) {
    auto found = detail::estimated_logdet_in_range(a, options, batch, where...);
    for (std::size_t b = 0; b < found.error.size(); ++b) found.error[b] = std::hypot(found.error[b], found.missing[b]);
    auto v = per_item(found.mean), e = per_item(found.error), q = per_item(found.missing);
    return estimate<decltype(v), decltype(e)>{std::move(v), std::move(e), std::move(q), options.probes, found.steps};
  };
  if constexpr (is_sparse_tensor<A>)
    return numbers(a.batch_count(), [&](auto const& v) { return detail::number_per_item(a.shape(), v); });
  else
    return numbers(1, [](auto const& v) { return v[0]; });
}

} // namespace sla

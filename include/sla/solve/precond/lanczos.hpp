// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Some steps of Lanczos's iteration for M A, run as conjugate gradients (Saad, Iterative Methods for Sparse Linear Systems,
// section 6.7.3), to estimate the largest eigenvalue for preconditioners that need it. One text for host, device and ranks.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include <sla/solve/seam/space.hpp>

namespace sla::detail {

/// num / den of real numbers, 0 where den is not positive.
struct positive_ratio {
  template <class N, class D>
  SLA_HD real_t<D> operator()(N num, D den) const {
    return real_of(den) > 0 ? real_t<D>(real_of(num)) / real_of(den) : real_t<D>(0);
  }
};
struct real_part {
  template <class T>
  SLA_HD double operator()(T s) const {
    return double(real_of(s));
  }
};
/// |a - b|^2 relative to a bound c d of |a|^2.
struct relative_difference {
  template <class T, class R>
  SLA_HD double operator()(T a, T b, R c, R d) const {
    double const bound = double(c) * double(d);
    return bound > 0 ? double(abs2_of(a - b)) / bound : 0;
  }
};

/// The largest eigenvalue of the symmetric tridiagonal matrix with diagonal d and e beside it, by bisection: x is above all
/// eigenvalues where every pivot of the factorisation of T - x is negative. Not Eigen's computeFromTridiagonal: sla/krylov.hpp reads none of Eigen, and compiles in 3.3 s, with that in 5.6 s (g++ 12, -O2).
template <class = void>
double largest_of_tridiagonal(std::vector<double> const& d, std::vector<double> const& e) {
  double low = d[0], high = d[0];
  for (std::size_t n = 0; n < d.size(); ++n) {
    double const beside = (n > 0 ? std::abs(e[n - 1]) : 0) + (n + 1 < d.size() ? std::abs(e[n]) : 0);
    low = (std::max)(low, d[n]), high = (std::max)(high, d[n] + beside);
  }
  for (int step = 0; step < 60; ++step) {
    double const x = low + (high - low) / 2;
    double pivot = -1;
    for (std::size_t n = 0; n < d.size() && pivot < 0; ++n) pivot = d[n] - x - (n > 0 ? e[n - 1] * e[n - 1] / pivot : 0);
    (pivot < 0 ? high : low) = x;
  }
  return high;
}

/// What the iteration saw, per step and item: (r, M r) before the step and (p, A p); and how far u^H A p and (A u)^H p are
/// apart, squared and relative.
struct lanczos_record {
  struct tridiagonal_matrix {
    std::vector<double> diagonal, beside;
  };
  std::vector<std::vector<double>> rz, pq;
  std::vector<double> asymmetry;

  /// The tridiagonal matrix of item k, its diagonal and what is beside it, as far as the iteration went on.
  /// Errors: value_error, if A is not Hermitian or A or M not positive definite, as far as that was seen.
  template <class = void>
  tridiagonal_matrix tridiagonal(std::size_t k, double rounding, char const* who, char const* remedy) const {
    double const tolerance = (std::max)(1e-10, 64 * rounding);
    if (!(asymmetry[k] <= tolerance * tolerance))
      throw value_error(text(who, ": A is not Hermitian: for two vectors u and p, (u, A p) and (A u, p) differ by ", std::sqrt(asymmetry[k]),
                             " of |u| |A p|; use ", remedy));
    std::vector<double> d, e;
    for (std::size_t j = 0; j < rz.size() && (j == 0 || rz[j][k] > 1e-20 * rz[0][k]); ++j) {
      if (rz[j][k] == 0) break;
      if (!std::isfinite(rz[j][k]))
        throw value_error(text(who, ": a residual divided by the diagonal has elements that are NaN or infinite, so that (r, r / diagonal) = ", rz[j][k], "; scale A, whose diagonal is too small"));
      if (!std::isfinite(pq[j][k]))
        throw value_error(text(who, ": a product with A has elements that are NaN or infinite, so that a vector has (p, A p) = ", pq[j][k], "; A gives finite ones of finite vectors"));
      if (!(rz[j][k] > 0) || !(pq[j][k] > 0))
        throw value_error(text(who, ": A is not positive definite: a vector has ", rz[j][k] > 0 ? "(p, A p) = " : "(r, r / diagonal) = ",
                               rz[j][k] > 0 ? pq[j][k] : rz[j][k], "; use ", remedy));
      double const inverse_alpha = pq[j][k] / rz[j][k], beta = j > 0 ? rz[j][k] / rz[j - 1][k] : 0;
      double const before = j > 0 ? pq[j - 1][k] / rz[j - 1][k] : 0;
      d.push_back(inverse_alpha + beta * before);
      if (j > 0) e.push_back(std::sqrt(beta) * before);
    }
    return {std::move(d), std::move(e)};
  }
  /// The largest eigenvalue of M A as the iteration sees it, which is from below, over all items. Errors: those of tridiagonal.
  template <class = void>
  double largest(double rounding, char const* who, char const* remedy) const {
    double out = 0;
    for (std::size_t k = 0; k < asymmetry.size(); ++k) {
      auto const [d, e] = tridiagonal(k, rounding, who, remedy);
      if (!d.empty()) out = (std::max)(out, largest_of_tridiagonal(d, e));
    }
    return out;
  }
};

/// At most `steps` steps for M A from `start`; `other` is a second vector, for the symmetry of A. After every `check` of them the record
/// is read, and done(record) may say that it is enough. Cost: a product per step, and two; one synchronisation, and one per check.
template <class S, class A, class M, class V, class Done>
  requires Space<S, V> && LinearOperator<A, V> && LinearOperator<M, V>
lanczos_record lanczos(S& space, A const& a, M const& m, V const& start, V const& other, int steps, int check, Done const& done) {
  using T = typename V::value_type;
  auto r = space.template like<T>(start), z = space.template like<T>(start);
  auto p = space.template like<T>(start), q = space.template like<T>(start);
  auto [rz] = fuse(space, set(r, start), set(z, m * r), set(p, z), dot_of(r, z));
  auto [left, right, qq, uu] = fuse(space, set(q, a * p), dot_of(other, q), dot_of(a * other, p), squared_norm_of(q), squared_norm_of(other));
  auto const asymmetry = space.map(relative_difference{}, left, right, qq, uu);
  std::vector<decltype(space.map(real_part{}, rz))> rzs, pqs;
  lanczos_record out;
  auto const read = [&] {
    space.finish();
    if (out.asymmetry.empty()) out.asymmetry = space.read(asymmetry);
    for (auto n = out.rz.size(); n < rzs.size(); ++n) out.rz.push_back(space.read(rzs[n])), out.pq.push_back(space.read(pqs[n]));
  };
  for (int j = 0; j < steps; ++j) {
    auto [pq] = fuse(space, set(q, a * p), dot_of(p, q));
    auto alpha = space.map(positive_ratio{}, rz, pq);
    rzs.push_back(space.map(real_part{}, rz));
    pqs.push_back(space.map(real_part{}, pq));
    auto [rz2] = fuse(space, set(r, r - alpha * q), set(z, m * r), dot_of(r, z));
    auto beta = space.map(positive_ratio{}, rz2, rz);
    fuse(space, set(p, z + beta * p));
    rz = rz2;
    if ((j + 1) % check == 0 && j + 1 < steps) {
      read();
      if (done(out)) break;
    }
  }
  read();
  return out;
}
/// All steps.
template <class S, class A, class M, class V>
lanczos_record lanczos(S& space, A const& a, M const& m, V const& start, V const& other, int steps) {
  return lanczos(space, a, m, start, other, steps, (std::max)(steps, 1), [](lanczos_record const&) { return false; });
}

} // namespace sla::detail

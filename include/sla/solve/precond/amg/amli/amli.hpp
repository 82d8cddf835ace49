// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the AMLI-cycle asks of a level: the least eigenvalue of M A, and the two steps of Chebyshev's iteration that stand for the inverse
// of M A on [least, 1] (Axelsson and Vassilevski, Algebraic multilevel preconditioning methods II, 1990).
#pragma once

#include <algorithm>
#include <vector>

#include <sla/exec/fuse.hpp>
#include <sla/exec/host.hpp>
#include <sla/expr/dense/ops.hpp>
#include <sla/solve/precond/lanczos.hpp>
#include <sla/tensor/storage/dense.hpp>

namespace sla::detail {

/// n numbers at p, and the statement that writes n numbers there.
template <class Memory = host_memory, class T>
auto numbers_at(T const* p, index_t n) {
  return tensor_view<T, Extents<dyn>, Memory>{p, Extents<dyn>(n)};
}
template <class Memory = host_memory, class T, class X>
auto put_at(T* to, index_t n, X const& value) {
  return set_statement<T, X, Memory>{to, n, value};
}

/// Where the eigenvalues of M A are taken to be; `least` is 0 where nothing is known of them. None is above `bound`, whatever was seen of them.
struct amli_range {
  double least = 0, most = 1, bound = 1;
};

/// With c = M b and z = M (b - A c / middle), the two steps give first c + second z. The eigenvalues of that times A are 1 - p, where |p| <= `error` on
/// [least, most], and p < 1 below 2 middle: beyond it the steps would not be definite.
struct amli_steps {
  double middle, first, second, error;

  explicit amli_steps(amli_range of) : middle((of.most + of.least) / 2) {
    double const half = (of.most - of.least) / 2, ratio = half / middle, next = 1 / (2 / ratio - ratio);
    first = (1 + next * ratio) / middle, second = 2 * next / half, error = 1 / (2 / (ratio * ratio) - 1);
  }
};

/// What no eigenvalue of M A exceeds on the level above one of this range: with B in the place of that level's inverse, I - M A is (I - S A)(I - P B R A)(I - S A),
/// whose middle is at least 1 minus the largest eigenvalue of B times the coarse matrix, and whose outer factors contract: with the weights of
/// solve/precond/amg/strength.hpp they do; with a preconditioner in their place it has to see to that.
inline double bound_above(amli_range const& coarse) { return coarse.least > 0 ? 1 + amli_steps(coarse).error : (std::max)(1.0, coarse.bound); }

/// What some steps of conjugate gradients tell of M A: the tridiagonal matrix of Lanczos's iteration, and (r, M r) before each step.
struct cg_trace {
  std::vector<double> diagonal, beside, energy;
};
/// A function of two vectors, such as q = A p, whose type is not known where it is called.
template <class K>
class vector_map {
public:
  template <class F>
  vector_map(F const& f) : f_(&f), call_([](void const* g, K const* from, K* to) { (*static_cast<F const*>(g))(from, to); }) {}  // NOLINT: of the caller
  void operator()(K const* from, K* to) const { call_(f_, from, to); }

private:
  void const* f_;
  void (*call_)(void const*, K const*, K*);
};
/// At most `most` steps from the residual r, which is overwritten, while goes_on(energy, of); they end too where r is all but 0, or A or M is found not to be definite.
/// multiply(p, q): q = A p; cycle(r, z): z = M r. Vectors have as many numbers as r, n of them used.
template <class K>
cg_trace cg_steps(index_t n, buffer<K>& r, int most, bool (*goes_on)(std::vector<double> const& energy, void* of), void* of_steps, vector_map<K> multiply, vector_map<K> cycle) {
  using Real = real_t<K>;
  auto space = immediate_space(host_memory{});
  buffer<K> z(r.size()), p(r.size()), q(r.size());
  auto const of = [n](buffer<K> const& v) { return numbers_at(v.data(), n); };
  dependent_t<cg_trace, K> out;
  double step = 0;
  for (int k = 0; k < most; ++k) {
    cycle(r.data(), z.data());
    double const rz = double(real_of(to_kernel(std::get<0>(fuse(space, dot_of(of(r), of(z)))))));
    out.energy.push_back(rz);
    if (!(rz > 1e-12 * out.energy[0]) || (goes_on && !goes_on(out.energy, of_steps))) break;
    double const beta = k > 0 ? rz / out.energy[std::size_t(k) - 1] : 0;
    fuse(space, put_at(p.data(), n, of(z) + Real(beta) * of(p)));
    multiply(p.data(), q.data());
    double const pq = double(real_of(to_kernel(std::get<0>(fuse(space, dot_of(of(p), of(q)))))));
    if (!(pq > 0)) break;
    double const inverse = pq / rz;  // of the step's length
    out.diagonal.push_back(inverse + beta * step);
    if (k > 0) out.beside.push_back(std::sqrt(beta) * step);
    step = inverse;
    fuse(space, put_at(r.data(), n, of(r) + Real(-1 / inverse) * of(q)));
  }
  return out;
}

/// The range of the eigenvalues of M A as six of those steps see it, for a right-hand side in the range of A: two fifths
/// are taken off below, a twentieth added above, and so much that the two steps are definite up to `bound`: six steps may not see an eigenvalue of few rows among
/// large jumps. Nothing is known where it is narrow, too: a cycle does for the two steps.
/// `smoother` has the n weights of the smoother: by their square roots the rows of small couplings count as much as those of large ones.
template <class K>
amli_range eigenvalue_range(index_t n, index_t room, K const* smoother, double bound, dependent_t<vector_map<K>, K> multiply, dependent_t<vector_map<K>, K> cycle) {
  buffer<K> r(room), z(room);
  for (index_t i = 0; i < n; ++i) z[i] = K(real_t<K>(uniform_at(1, std::uint64_t(i)) * std::sqrt(double(abs_of(smoother[i])))));
  multiply(z.data(), r.data());
  auto const trace = cg_steps(n, r, 6, nullptr, nullptr, multiply, cycle);
  amli_range out{0, 1, bound};
  if (trace.diagonal.empty()) return out;
  auto negative = trace.diagonal;
  for (double& d : negative) d = -d;
  double const least = -largest_of_tridiagonal(negative, trace.beside), most = largest_of_tridiagonal(trace.diagonal, trace.beside);
  if (least > 0 && least < 0.95 * most) out.least = 0.6 * least, out.most = (std::max)(1.05 * most, bound - 0.5 * out.least);
  return out;
}

/// The mean factor by which steps of conjugate gradients lessen sqrt((r, M r)) once the first ones have dealt with what any cycle contracts, for a right-hand side
/// of chance whose numbers sum to 0: that of the third to fifth step, or, where it is neither below 0.35 nor above 0.5, of the fifth to eighth. Infinity where M
/// is not definite; 0 where nothing is left, or A is not definite.
template <class K>
double late_contraction(index_t n, dependent_t<vector_map<K>, K> multiply, dependent_t<vector_map<K>, K> cycle) {
  buffer<K> r(n, uninitialized);
  double mean = 0, late = 0;
  for (index_t i = 0; i < n; ++i) mean += uniform_at(1, std::uint64_t(i)) / double(n);
  for (index_t i = 0; i < n; ++i) r[i] = K(real_t<K>(uniform_at(1, std::uint64_t(i)) - mean));
  auto const undecided = [](std::vector<double> const& energy, void* of) {
    double& late = *static_cast<double*>(of);
    if (energy.size() == 6) late = std::pow(energy[5] / energy[2], 1.0 / 6);
    if (energy.size() == 9) late = std::pow(energy[8] / energy[4], 1.0 / 8);
    return energy.size() < 6 || (energy.size() < 9 && late >= 0.35 && late <= 0.5);
  };
  return cg_steps<K>(n, r, 9, undecided, &late, multiply, cycle).energy.back() >= 0 ? late : INFINITY;
}

} // namespace sla::detail

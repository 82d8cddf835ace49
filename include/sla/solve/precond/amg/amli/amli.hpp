// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the AMLI-cycle asks of a level: the least eigenvalue of M A, and the two steps of Chebyshev's iteration that stand for the inverse
// of M A on [least, 1] (Axelsson and Vassilevski, Algebraic multilevel preconditioning methods II, 1990).
#pragma once

#include <cmath>
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

/// Where the eigenvalues of M A are taken to be; `least` is 0 where nothing is known of them.
struct amli_range {
  double least = 0, most = 1;
};

/// With c = M b and z = M (b - A c / middle), the two steps give first c + second z.
struct amli_steps {
  double middle, first, second;

  explicit amli_steps(amli_range of) : middle((of.most + of.least) / 2) {
    double const half = (of.most - of.least) / 2, ratio = half / middle, next = 1 / (2 / ratio - ratio);
    first = (1 + next * ratio) / middle, second = 2 * next / half;
  }
};

/// The range of the eigenvalues of M A as six steps of Lanczos's iteration (conjugate gradients) see it, for a right-hand side in the range of A: two fifths
/// are taken off below, a twentieth added above. Nothing is known where it is narrow, too: a cycle does for the two steps.
/// multiply(p, q): q = A p; cycle(r, z): z = M r. Vectors have `room` numbers, n of them used.
template <class K, class Multiply, class Cycle>
amli_range eigenvalue_range(index_t n, index_t room, Multiply const& multiply, Cycle const& cycle) {
  using Real = real_t<K>;
  auto space = immediate_space(host_memory{});
  buffer<K> r(room), z(room), p(room), q(room);
  auto const of = [n](buffer<K> const& v) { return numbers_at(v.data(), n); };
  for (index_t i = 0; i < n; ++i) z[i] = K(Real(uniform_at(1, std::uint64_t(i))));
  multiply(z.data(), r.data());
  std::vector<double> d, e, negative;
  double last = 0, step = 0, first = 0;
  for (int k = 0; k < 6; ++k) {
    cycle(r.data(), z.data());
    double const rz = double(real_of(to_kernel(std::get<0>(fuse(space, dot_of(of(r), of(z)))))));
    if (k == 0) first = rz;
    if (!(rz > 1e-12 * first)) break;
    double const beta = k > 0 ? rz / last : 0;
    fuse(space, put_at(p.data(), n, of(z) + Real(beta) * of(p)));
    multiply(p.data(), q.data());
    double const pq = double(real_of(to_kernel(std::get<0>(fuse(space, dot_of(of(p), of(q)))))));
    if (!(pq > 0)) break;
    double const inverse = pq / rz;  // of the step's length
    d.push_back(inverse + beta * step), negative.push_back(-d.back());
    if (k > 0) e.push_back(std::sqrt(beta) * step);
    step = inverse, last = rz;
    fuse(space, put_at(r.data(), n, of(r) + Real(-1 / inverse) * of(q)));
  }
  if (d.empty()) return {};
  double const least = -largest_of_tridiagonal(negative, e), most = largest_of_tridiagonal(d, e);
  return least > 0 && least < 0.95 * most ? amli_range{0.6 * least, 1.05 * most} : amli_range{};
}

} // namespace sla::detail

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The seam between `eigsh` and its methods: `eigen_problem` is what a method is given, `eigen_found` what it gives, `judged_pairs` what is then
// recomputed from the definition. One text for host, queue and ranks. At the end, problems whose squares leave the range of double.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <sla/solve/driver/rescaled.hpp>
#include <sla/solve/eigen/eigen_report.hpp>
#include <sla/solve/eigen/wanted.hpp>
#include <sla/solve/seam/own_numbers.hpp>

namespace sla {

/// A method of eigsh, as options of one name. It makes its own spaces by `problem.space()`, so that a `run(space, ...)` of it is one text for all:
///   using eigen_method_tag = void;
///   static constexpr char const* name     for reports
///   double rtol                           of |A v - w B v| / |w B v|
///   find(problem, k, wanted)              an `eigen_found`: problem is an `eigen_problem`, checked; 1 <= k <= n
/// eigsh orders what was found, fixes the gauge, and recomputes residuals and orthogonality.
template <class M>
concept EigenMethod = requires(M const& m) {
  typename M::eigen_method_tag;
  m.rtol + 1.0;
};

namespace detail {
/// The vector p, of scalars T.
template <class T, class P>
auto column_of_scalars(P const& p) {
  auto v = column_like<T>(p);
  auto* const to = own_numbers(v);
  for (index_t i = 0; i < own_size(v); ++i) to[i] = T(own_numbers(p)[i]);
  return v;
}
/// A random vector like A x, of the random numbers from `first` on, the same on any number of ranks.
template <class A>
auto random_of_range(A const& a, std::uint64_t seed, index_t first = 0) {
  using T = typename A::value_type;
  if constexpr (requires { linear_world<A>::probe_of_range(a, seed, first); }) {
    return column_of_scalars<T>(linear_world<A>::probe_of_range(a, seed, first));
  } else {
    vector<T> v(Extents<dyn>(a.rows()), uninitialized);
    for (index_t i = 0; i < v.size(); ++i) v[i] = random_at<T>(seed, first + i);
    return v;
  }
}
/// The scalars of the vectors of A v = w B v, where B may be `applied_identity`.
template <class A, class B>
struct eigen_scalar {
  using type = user_t<promote_t<kernel_t<typename A::value_type>, kernel_t<typename B::value_type>>>;
};
template <class A>
struct eigen_scalar<A, applied_identity> {
  using type = typename A::value_type;
};
} // namespace detail

/// A v = w B v as a method sees it. B is `applied_identity` where there is none, P options of a preconditioner, one that is set up, or `none`,
/// On an option `on(make_space)`, or `none`.
template <class A, class B, class P, class On>
struct eigen_problem {
  using world = linear_world<A>;
  using value_type = typename detail::eigen_scalar<A, B>::type;  ///< of vectors
  using real_type = real_t<value_type>;                          ///< of values
  static constexpr bool is_standard = std::same_as<B, applied_identity>;
  static constexpr bool is_preconditioned = !std::same_as<P, detail::none>;

  A const& a;
  B const& b;
  P const& preconditioner;
  On const& on;
  index_t n;  ///< rows of A, on all ranks

  /// A random vector, the same on any number of ranks.
  auto random_vector(std::uint64_t seed) const {
    auto const p = [&] {
      if constexpr (requires { world::probe(a, seed); })
        return world::probe(a, seed);
      else
        return random<value_type>(a.rows(), seed);
    }();
    return detail::column_of_scalars<value_type>(p);
  }
  /// A block of so many random vectors.
  auto random_block(index_t columns, std::uint64_t seed) const {
    auto out = block_like<value_type>(random_vector(seed), columns);
    auto* const to = detail::own_numbers(out);
    for (index_t j = 0; j < columns; ++j) {
      auto const v = random_vector(seed + std::uint64_t(j));
      auto const* const from = detail::own_numbers(v);
      for (index_t i = 0; i < detail::own_size(v); ++i) to[i * columns + j] = from[i];
    }
    return out;
  }
  /// The space to run in: all vectors and blocks of vectors are of its one item.
  auto space() const {
    auto const v = random_vector(1);
    if constexpr (std::same_as<On, detail::none>)
      return detail::space_of_call(a, v);
    else
      return detail::space_of_call(a, v, on);
  }
  /// The preconditioner, set up for A.
  auto setup() const {
    if constexpr (is_preconditioned)
      return detail::set_up(preconditioner, a);
    else
      return applied_identity{};
  }
  /// Of what `setup` made, for the report.
  template <class M>
  static std::string name_of_preconditioner(M const& m) {
    if constexpr (is_preconditioned && detail::remarks_text<M>)
      return detail::name_of<P>() + m.remark();
    else
      return detail::name_of<P>();
  }
};

/// What a method found: k values and the block (n, k) of their vectors, in any order.
template <class Real, class Vectors>
struct eigen_found {
  std::vector<Real> values;
  Vectors vectors;
  sla::reason reason = sla::reason::running;
  int iterations = 0;
  index_t products = 0, applications = 0;
  std::string method = {}, preconditioner = {}, choice = {};  ///< names for the report, and remarks
  int sees_multiplicity = 1;
  bool cuts_cluster = false;
  bool proves_definite = false;  ///< have Cholesky factors of B been made?
};

namespace detail {
/// conj(z) / |z|: what turns z real and positive; 1 for zero.
template <class Z>
Z turned(Z z) {
  auto const size = std::abs(z);
  if (!(size > 0)) return Z(1);
  if constexpr (is_complex<Z>)
    return std::conj(z) / size;
  else
    return z < 0 ? Z(-1) : Z(1);
}

/// What rounding may leave of |A v - w B v| of a v of length 1: 16 units of it beside |A|.
template <class Real>
constexpr double rounding_beside(double size_of_a) {
  return 16 * double(std::numeric_limits<Real>::epsilon()) * size_of_a;
}
/// What the residual `apart` is beside: |w B v| of a v of length 1, and |A| where both are 0 but for rounding.
inline double scale_of_residual(double apart, double beside, double size_of_a, double rounding) { return apart <= rounding && beside <= rounding ? size_of_a : beside; }

/// The larger of a lower bound of |A| and another, where that is a number.
inline double larger_bound(double size, double other) { return std::isfinite(other) ? (std::max)(size, other) : size; }
/// A lower bound of |A|, by its products with p and then with that image: of an A of low rank that of one product is far from it. Each is of a vector of length 1,
/// so that no more than |A|^2 must be in range. u, v: room for images of A.
template <class A, class Space, class P, class V>
double lower_bound_of_norm(A const& a, Space& space, P const& p, V& u, V& v) {
  auto [pp] = fuse(space, set(u, p), squared_norm_of(u));
  double size = 0, length = std::sqrt(double(read_one(space, pp)));
  for (int product = 0; product < 2 && length > 0; ++product) {
    auto [aa] = fuse(space, set(v, number_in(space, real_t<typename V::value_type>(1 / length)) * u), set(u, a * v), squared_norm_of(u));
    length = std::sqrt(double(read_one(space, aa)));
    size = larger_bound(size, length);
  }
  return size;
}

/// |A v - w B v| over |w B v| of each column, and how much of that rounding may be; of two calls the worse ones. p: a random vector; v: room.
template <class A, class B, class Space, class Values, class Block, class P, class V>
void judge_columns(A const& a, B const& b, Space& space, Values const& values, Block const& vectors, P const& p, V& v, dependent_t<eigen_report, A>& out) {
  auto av = space.template like<typename V::value_type>(v), bv = space.template like<typename V::value_type>(v);
  std::vector<double> besides, apart;  // of v of length 1
  double size = lower_bound_of_norm(a, space, p, av, v);
  for (index_t j = 0; j < values.size(); ++j) {
    auto const w = number_in(space, values[j]);
    auto [vv] = fuse(space, set(v, column(vectors, j)), squared_norm_of(v));
    auto [aa, bb] = fuse(space, set(av, a * v), set(bv, b * v), squared_norm_of(av), squared_norm_of(bv));
    auto [rr] = fuse(space, squared_norm_of(av - w * bv));
    double const of_v = std::sqrt(double(read_one(space, vv)));
    size = larger_bound(size, std::sqrt(double(read_one(space, aa))) / of_v);
    apart.push_back(std::sqrt(double(read_one(space, rr))) / of_v), besides.push_back(double(std::abs(values[j])) * std::sqrt(double(read_one(space, bb))) / of_v);
  }
  double const limit = rounding_beside<real_t<typename V::value_type>>(size);
  bool const is_first = out.residuals.empty();
  out.residuals.resize(apart.size()), out.rounding.resize(apart.size());
  for (std::size_t j = 0; j < apart.size(); ++j) {
    double const scale = scale_of_residual(apart[j], besides[j], size, limit), residual = apart[j] == 0 ? 0 : apart[j] / scale;
    if (!(residual <= out.residuals[j])) out.residuals[j] = residual;  // NaN too
    double& rounding = out.rounding[j];                                // 0, if a residual is more than that
    rounding = apart[j] <= limit && (is_first || rounding > 0) ? (std::max)(rounding, limit / scale) : 0;
  }
}
/// The largest element of V^H B V - I, of `count` vectors, `vector(j)` being one of them. v: room.
template <class Space, class B, class V, class F>
double apart_from_orthonormal(Space& space, B const& b, index_t count, V& v, F const& vector) {
  constexpr index_t at_once = 16;
  double most = 0;
  std::vector<V> some;
  for (index_t from = 0; from < count; from += at_once) {
    int const columns = int((std::min)(at_once, count - from));
    some.clear();
    for (int c = 0; c < columns; ++c) {
      some.push_back(space.template like<typename V::value_type>(v));
      fuse(space, set(v, vector(from + c)), set(some.back(), b * v));
      space.finish();
    }
    for (index_t j = from; j < count; ++j) {
      auto [h] = fuse(space, set(v, vector(j)), dots<int(at_once)>(some, columns, v));
      auto const numbers = read_one(space, h);
      for (int c = 0; c < columns; ++c) {
        double const apart = double(abs_of(numbers[c] - std::remove_cvref_t<decltype(numbers[c])>(from + c == j ? 1 : 0)));
        if (!(apart <= most)) most = apart;
      }
    }
  }
  return most;
}
/// What the method has told, as the report of the call.
template <class Found, class W>
dependent_t<eigen_report, Found> report_of(Found& found, W const& wanted, double rtol) {
  dependent_t<eigen_report, Found> out;
  out.method = std::move(found.method), out.preconditioner = std::move(found.preconditioner), out.choice = std::move(found.choice);
  out.wanted = wanted.name, out.reason = found.reason, out.iterations = found.iterations;
  out.products = found.products, out.applications = found.applications;
  out.rtol = rtol, out.sees_multiplicity = found.sees_multiplicity, out.cuts_cluster = found.cuts_cluster;
  return out;
}
/// The numbers from 0 on, in the order of their keys.
template <class Key>
std::vector<index_t> ordered_by(index_t count, Key const& key) {
  std::vector<index_t> order(static_cast<std::size_t>(count));
  for (index_t j = 0; j < count; ++j) order[std::size_t(j)] = j;
  std::stable_sort(order.begin(), order.end(), [&](index_t i, index_t j) { return key(i) < key(j); });
  return order;
}

/// The pairs that were found, in order, each vector in its gauge, and what is true of them. Cost: k + 2 products with A, 2 k with B, k^2 / 2 inner products.
template <class Problem, class Space, class Vectors>
auto judged_pairs(Problem const& problem, Space& space, eigen_found<typename Problem::real_type, Vectors>&& found, auto const& wanted, double rtol) {
  using T = typename Problem::value_type;
  using Real = typename Problem::real_type;
  auto out = report_of(found, wanted, rtol);
  auto const order = ordered_by(index_t(found.values.size()), [&](index_t j) { return wanted.key(found.values[std::size_t(j)]); });
  auto const p = problem.random_vector(1);
  vector<Real> values(index_t(order.size()));
  auto vectors = block_like<T>(found.vectors, values.size());
  auto v = column_like<T>(p);
  for (index_t j = 0; j < values.size(); ++j) {
    index_t const from = order[std::size_t(j)];
    values[j] = found.values[std::size_t(from)];
    auto [pv] = fuse(space, set(v, column(found.vectors, from)), dot_of(p, v));
    fuse(space, set(v, number_in(space, turned(read_number(space, pv))) * v));
    space.finish();
    put_column(vectors, j, v);
  }
  judge_columns(problem.a, problem.b, space, values, vectors, p, v, out);
  out.let_residuals_decide();
  out.orthogonality = apart_from_orthonormal(space, problem.b, values.size(), v, [&](index_t j) { return column(vectors, j); });
  return eigenpairs<vector<Real>, decltype(vectors)>{std::move(values), std::move(vectors), std::move(out)};
}

/// Errors: shape_error, if B has other sides than A, or lies on ranks otherwise.
template <class A, class B>
void require_sides_of(A const& a, B const& b, char const* call) {
  if constexpr (requires { a.rows() != b.rows(); })
    if (a.rows() != b.rows() || a.cols() != b.cols()) throw shape_error(text(call, ": A is ", a.rows(), " x ", a.cols(), ", and B ", b.rows(), " x ", b.cols()));
  if constexpr (requires { linear_world<A>::check_beside(a, b, call); }) linear_world<A>::check_beside(a, b, text(call, ": B").c_str());
}

// ---- A v = w B v where the squares of A or B leave the range of double: the same problem of 2^p A and 2^q B, whose pairs are told as those of A and B

/// The exponent of one matrix, or operator.
template <class A>
int exponent_out_of_range(A const& a, double most) {
  if constexpr (Rescalable<A>)
    return exponents_out_of_range(a, most).front();
  else
    return 0;
}
template <class A>
A times_power_of_two(A const& a, int exponent) {
  if constexpr (Rescalable<A>)
    return rescaled(a, {-exponent});
  else
    return a;
}
/// What is wanted of values times 2^exponent.
template <class W>
W scaled_wanted(W wanted, int exponent, char const* call) {
  if constexpr (is_near<W>) {
    auto const sigma = times_power(wanted.sigma, exponent);
    if (std::abs(wanted.sigma) - std::abs(wanted.sigma) == 0 && !(largest_part(sigma) <= 1e100))
      throw value_error(text(call, ": near{", wanted.sigma, "}: sigma is ", std::log10(largest_part(wanted.sigma)) + 0.30103 * exponent, " decimal orders above the values of A"));
    wanted.sigma = sigma;
  }
  return wanted;
}

/// What `body(A, B, wanted)` finds, in which A and B are multiplied by powers of two where that is wanted. Undo(found, q): of the vectors, where B was by 2^q.
/// `may`: no option depends on the size of A. Errors: value_error, if a value is out of the range of its type.
template <class A, class B, class W, class Body, class Undo>
auto in_range(A const& a, B const& b, W const& wanted, bool may, char const* call, Body const& body, Undo const& undo) {
  double const most = std::same_as<B, applied_identity> ? 1e100 : 1e50;
  int const of_a = may ? exponent_out_of_range(a, most) : 0, of_b = may ? exponent_out_of_range(b, most) / 2 * 2 : 0;
  if (of_a == 0 && of_b == 0) return body(a, b, wanted);
  std::string const remark = text("by ", of_a == 0 ? std::string("A") : text("2^", -of_a, " A"), of_b == 0 ? std::string() : text(" and 2^", -of_b, " B"));
  try {
    auto out = body(times_power_of_two(a, -of_a), times_power_of_two(b, -of_b), scaled_wanted(wanted, of_b - of_a, call));
    for (auto& w : out.values) {
      w = times_power(w, of_a - of_b);
      if (!(largest_part(w) - largest_part(w) == 0)) throw value_error("a value is above the range of its type");
    }
    undo(out, -of_b);
    add_remark(out.report.choice, remark);
    return out;
  } catch (value_error const& e) {
    throw value_error(text(e.what(), " (", remark, ")"));
  }
}
/// The numbers of a block times 2^exponent.
template <class Block>
void multiply_by_power(Block& block, int exponent) {
  for (index_t n = 0; n < own_size(block); ++n) own_numbers(block)[n] = times_power(own_numbers(block)[n], exponent);
}
} // namespace detail

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls: `eigsh(A, k, wanted, method, preconditioner)`, and `eigsh(A, B, k, ...)` of A v = w B v; what they check, and what they tell.
// Derivatives are in grad/implicit/traced_eigen.hpp.
#pragma once

#include <string>
#include <string_view>

#include <sla/solve/eigen/choose_eigen.hpp>
#include <sla/solve/precond/lanczos.hpp>
#include <sla/solve/precond/row_norms.hpp>

namespace sla {

namespace detail {
template <class O>
using wants_eigen_method = std::bool_constant<EigenMethod<O>>;
template <class O>
concept EigenOption = EigenMethod<O> || PreconditionerOptions<O> || (!MethodOption<O> && AppliedPreconditioner<O>) || is_on_space<O>;

template <class A>
consteval bool says_one_matrix() {
  if constexpr (requires { typename A::shape_type; })
    return !A::shape_type::is_batched && !A::shape_type::is_blocked;
  else if constexpr (requires { typename A::local_type; })
    return says_one_matrix<typename A::local_type>();
  else
    return true;
}
/// No batch, no blocks.
template <class A>
inline constexpr bool is_one_matrix = says_one_matrix<A>();

template <class A>
consteval bool says_it_has_rows() {
  if constexpr (requires { typename A::local_type; })
    return requires(A const& a) { linear_world<A>::probe(a, 1); };
  else
    return true;
}
/// Are its vectors the host's? Methods for eigenvalues read and write their numbers.
template <class A>
inline constexpr bool works_on_host = [] {
  if constexpr (requires { typename A::local_type::memory_type; })
    return A::local_type::memory_type::is_host;
  else if constexpr (requires { typename A::memory_type; })
    return A::memory_type::is_host;
  else
    return true;
}();
/// What eigsh solves with by itself; all else is a `perform` of a higher floor.
template <class A>
concept PlainEigenOperator = is_one_matrix<A> && works_on_host<A> && requires { typename linear_world<A>::operator_type; } && says_it_has_rows<A>();
/// One of them on ranks, and the other a matrix of one rank.
template <class A, class B>
concept ApartOnRanks = (is_sparse_tensor<A> && requires { typename B::local_type; }) || (is_sparse_tensor<B> && requires { typename A::local_type; });

/// How an error about k ends: "; ask for 1 to 3 pairs".
template <class = void>
std::string ask_for(index_t most, char const* what) { return most == 0 ? text("; it has no ", what, 's') : text("; ask for 1 to ", most, ' ', what, most == 1 ? "" : "s"); }
/// The call, where an error speaks of A and means what is named so.
template <class Char>
std::string call_about(Char const* name, Char const* call) { return std::basic_string_view<Char>(name) == "A" ? call : text(call, ", ", name, " in the place of A"); }
/// Errors: value_error for NaN and infinity, naming the call.
template <class A>
void check_finite(A const& a, char const* name, char const* call, bool square = false) {
  check_named(a, square && !Readable<A>, call_about(name, call).c_str());
}
/// Errors: value_error, where what was made of products with A is NaN, as of an operator that gives NaN or infinity.
inline void require_number(double of_products, char const* name, char const* call) {
  if (of_products != of_products)
    throw value_error(text(call, ": NaN or infinity is in the product of ", name, " and a random x, whose numbers are finite; the products of ", name, " have to be finite, too"));
}
/// Is A x more than zeros? Errors: value_error, if squares of |A x| do not keep their digits: no residual could be told. z is room for A x.
template <class Space, class A, class V, class U>
bool require_range(Space& space, A const& a, V const& x, U& z, char const* name, char const* call, double most = 1e140) {
  using Real = real_t<typename V::value_type>;
  if constexpr (std::same_as<Real, float>) most = 1e25;
  auto const length = [&](auto const& ax) {
    auto [zz] = fuse(space, set(z, ax), squared_norm_of(z));
    return std::sqrt(double(read_one(space, zz)));
  };
  auto [xx] = fuse(space, squared_norm_of(x));
  double const below = std::sqrt(double(read_one(space, xx))), size = below > 0 ? length(a * x) / below : 1;
  if (size >= 1 / most && size <= most) return true;
  require_number(size, name, call);
  if (size == 0) {  // zeros, or as good as that
    auto large = space.template like<typename V::value_type>(x);
    fuse(space, set(large, number_in(space, Real(std::same_as<Real, float> ? 1e30 : 1e300)) * x));
    if (length(a * large) == 0) return false;
  }
  throw value_error(text(call, ": ", name, " is too ", size < 1 ? "small" : "large", ": |", name, " x| / |x| is ", size, " for a random x, and norms keep their digits from ", 1 / most, " to ", most,
                         "; scale it, c * ", name, " in the place of ", name, ", and the values with it"));
}
/// The same of a weight, which is not 0.
template <class Space, class B, class V, class U>
void require_weight(Space& space, B const& b, V const& x, U& z, char const* call) {
  if (!require_range(space, b, x, z, "B", call, 1e70)) throw value_error(text(call, ": B is 0, so that A v = w B v has no eigenvalues; those of A v = w v are found without it"));
}
/// Errors: value_error for options that make no sense.
template <class Method, class W>
void require_sensible_call(Method const& m, [[maybe_unused]] W const& wanted, [[maybe_unused]] char const* call) {
  if constexpr (is_near<W>)
    if (!(std::abs(wanted.sigma) - std::abs(wanted.sigma) == 0)) throw value_error(text(call, ": near{", wanted.sigma, "}: sigma must be a finite number"));
  std::string const type = [] {  // what the caller wrote, which is not what reports call it
    if constexpr (requires { Method::type; })
      return std::string(Method::type);
    else
      return type_name(Method::name);
  }();
  int most = 0;
  if constexpr (requires { m.max_iterations; }) most = m.max_iterations;
  if constexpr (requires { m.max_restarts; })
    if (m.max_restarts < 0) throw value_error(text(type, "{.max_restarts = ", m.max_restarts, "}: a limit is a number from 0 on, such as 1000"));
  if constexpr (requires { m.basis; })
    if (m.basis < 0) throw value_error(text(type, "{.basis = ", m.basis, "}: so many vectors are kept, such as 30; 0 leaves it to the method"));
  require_sensible(type.c_str(), m.rtol, 0, most, "a number of iterations is another option");
}
/// Errors: a is not square, not finite, or not Hermitian.
template <class A, class V>
void check_hermitian(A const& a, V const& x, V const& y, char const* name, char const* call) {
  if (a.rows() != a.cols())
    throw shape_error(text(call, ": ", name, " is ", a.rows(), " x ", a.cols(), ", and must be square; of a rectangular matrix take singular values, svds(A, k)"));
  if constexpr (Readable<A>) {
    check_finite(a, name, call);
    using F = typename A::format_type;
    row_order<F>(a.shared_pattern()).apply(a, [&](auto const& rows) { return require_hermitian(rows, call_about(name, call).c_str(), "eigs(A, k, ...)", 1e-10), 0; });
  } else {
    check_finite(a, name, call, true);
    auto space = space_of_call(a, x);
    auto z = space.template like<typename V::value_type>(x);
    auto [xay, length] = fuse(space, set(z, a * y), dot_of(x, z), squared_norm_of(z));
    auto [yax] = fuse(space, set(z, a * x), dot_of(y, z));
    auto [xx] = fuse(space, squared_norm_of(x));
    auto const l = read_one(space, xay), r = read_one(space, yax);
    double const size = std::sqrt(double(read_one(space, length)) * double(read_one(space, xx)));
    double const apart = double(abs_of(l - conj_of(r)));
    require_number(apart, name, call);
    if (!(apart <= 1e4 * double(std::numeric_limits<real_t<typename V::value_type>>::epsilon()) * size))
      throw value_error(text(call, ": ", name, " is not Hermitian: (x, ", name, " y) and (", name, " x, y) differ by ", apart, " for random x and y; use eigs(A, k, ...)"));
  }
}
/// Errors: value_error, if B is found to be indefinite: by factors, where these are cheap, else where conjugate gradients for it meet a direction p with (p, B p) < 0, which 40 steps
/// do, but of a B with few negative values that are small beside the others once its rows are scaled: false then, for B is not known to be definite. B that are singular are left to the method.
template <class Space, class B, class V>
bool require_no_negative(Space& space, B const& b, V const& x, V const& y) {
  if constexpr (Readable<B>) {
    auto const known = properties(b).definite;
    if (known == definiteness::positive_definite || known == definiteness::positive_semidefinite) return true;
    constexpr double most = 2e8;  // multiplications: some tenths of a second
    if (b.rows() <= 4000 || (b.nnz() <= 4000000 && cost_of_factors(b, most).operations <= most)) {
      if (has_negative_values<std::conditional_t<is_complex<typename B::value_type>, std::complex<double>, double>>(b)) throw_not_definite("it has no Cholesky factors");
      return true;
    }
  }
  auto const scaling = [&] {  // in which what has few values, as the mass matrices of finite elements do, shows a negative one
    if constexpr (Readable<B>) {
      auto inverse = inverse_row_norms(b);
      auto const d = diagonal_of(b);
      for (index_t i = 0; i < d.size(); ++i)
        if (std::real(d[i]) > 0) inverse[i] = typename B::value_type(1) / d[i];
      return applied_jacobi<typename B::value_type, std::remove_cvref_t<decltype(inverse.extents())>>(std::move(inverse), 1, 1);
    } else {
      return applied_identity{};
    }
  }();
  auto const record = lanczos(space, b, scaling, x, y, 40);
  double most = 0;
  for (std::size_t j = 0; j < record.rz.size() && record.rz[j][0] > 1e-20 * record.rz[0][0]; ++j) {
    double const curvature = record.pq[j][0] / record.rz[j][0];
    if (curvature < -(std::max)(1e-10, 64 * double(std::numeric_limits<real_t<typename V::value_type>>::epsilon())) * most) throw_not_definite("a vector p has (p, B p) = ", record.pq[j][0]);
    most = (std::max)(most, std::abs(curvature));
  }
  return false;
}
/// The elements of x, on all ranks.
template <class Space, class V>
index_t count_elements(Space& space, V x) {
  auto* const p = own_numbers(x);
  for (index_t i = 0; i < own_size(x); ++i) p[i] = 1;
  auto [sum] = fuse(space, squared_norm_of(x));
  return index_t(std::llround(double(read_one(space, sum))));
}

template <class A, class B, class W, class... Options>
auto eigsh_in_range(A const& a, B const& b, int k, W const& wanted, Options const&... options) {
  static_assert((int(EigenMethod<Options>) + ... + 0) <= 1 && (EigenOption<Options> && ...),
                "sla: eigsh(A, k, wanted, options...): options are one method (lobpcg{}, lanczos{}, dense_eigen{}), one preconditioner, on(space)");
  constexpr bool standard = std::same_as<B, applied_identity>;
  constexpr char const* call = standard ? "eigsh(A, k, ...)" : "eigsh(A, B, k, ...)";
  double const began = seconds_now();
  none const no{};
  automatic_eigen const automatic{};
  auto const& method = pick<wants_eigen_method>(options..., automatic);
  auto const& p = pick<wants_preconditioner>(options..., no);
  auto const& on = pick<wants_space>(options..., no);
  using P = std::remove_cvref_t<decltype(p)>;
  using On = std::remove_cvref_t<decltype(on)>;
  eigen_problem<A, B, P, On> problem{a, b, p, on, 0};
  require_sensible_call(method, wanted, call);
  auto const x = problem.random_vector(1), y = problem.random_vector(2);
  auto z = y;
  double const most = standard ? 1e140 : 1e70;
  check_hermitian(a, x, y, "A", call);
  {
    auto space = space_of_call(a, x);
    problem.n = count_elements(space, x);
    require_range(space, a, x, z, "A", call, most);
  }
  [[maybe_unused]] bool is_known = true;
  if constexpr (!standard) {
    require_sides_of(a, b, call);
    check_hermitian(b, x, y, "B", call);
    if constexpr (is_sparse_tensor<B> && Readable<B>) {
      auto const d = diagonal_of(b);
      for (index_t i = 0; i < d.size(); ++i)
        if (std::real(d[i]) < 0)
          throw_not_definite("B(", i, ", ", i, ") is ", std::real(d[i]));
    }
    auto space = space_of_call(a, x);
    require_weight(space, b, x, z, call);
    is_known = require_no_negative(space, b, x, y);
  }
  if (k < 1 || k > problem.n)
    throw value_error(text(call, ": k is ", k, ", and A has ", problem.n, problem.n == 1 ? " row" : " rows", ask_for(problem.n, "pair")));
  auto found = method.find(problem, k, wanted);
  is_known = is_known || found.proves_definite;
  auto space = problem.space();
  auto out = judged_pairs(problem, space, std::move(found), wanted, method.rtol);
  if (!is_known) add_remark(out.report.choice, "no vector with (v, B v) < 0 was met, which does not prove that B is positive definite");
  out.report.seconds = seconds_now() - began;
  return out;
}
/// A method that finds some of what may be wanted says so at the door.
template <class W, class Option>
constexpr void require_wanted_of() {
  if constexpr (requires { Option::template require_wanted<W>(); }) Option::template require_wanted<W>();
}
template <class A, class B, class W, class... Options>
auto eigsh_of(A const& a, B const& b, int k, W const& wanted, Options const&... options) {
  (require_wanted_of<W, Options>(), ...);
  constexpr bool may = ((PreconditionerOptions<Options> || !AppliedPreconditioner<Options>) && ...);
  return in_range(
      a, b, wanted, may, "eigsh(A, k, ...)", [&](auto const& c, auto const& d, W const& w) { return eigsh_in_range(c, d, k, w, options...); },
      [](auto& out, int of_b) {
        if (of_b != 0) multiply_by_power(out.vectors, of_b / 2);
      });
}
} // namespace detail

/// The k eigenpairs A v = w v of a Hermitian matrix that are wanted: smallest{}, largest{}, largest_magnitude{}, near{sigma}; `auto [w, V, report] =
/// eigsh(A, 4, smallest{})`. The library looks at A and picks the method; `eigsh(A, k, smallest{}, lobpcg{.rtol = 1e-10}, amg{})` names it and the
/// preconditioner; `on(make_space)` says where to run. A may be a sparse matrix of the host, a distributed one, or a linear_operator.
/// Law: one matrix with scalar entries. Each vector's inner product with random<T>(n, 1) is real and positive. What did not converge is in the report:
/// nothing is thrown for that. Gradient: of values and vectors (grad/implicit/traced_eigen.hpp).
/// Errors: shape_error, if A is not square; value_error, if it is not Hermitian, for NaN, k < 1 or k > n.
template <class A, class W, class... Options>
  requires Wanted<W>
[[nodiscard]] auto eigsh(A const& a, int k, W const& wanted, Options const&... options) {
  if constexpr (detail::PlainEigenOperator<A>) {
    static applied_identity const one{};
    return detail::eigsh_of(a, one, k, wanted, options...);
  } else {
    return perform(op::eigsh{}, a, k, wanted, options...);
  }
}
/// The same of A v = w B v with Hermitian positive definite B: V^H B V = I. Errors: value_error, if B is found not to be positive definite.
template <class A, class B, class W, class... Options>
  requires Wanted<W>
[[nodiscard]] auto eigsh(A const& a, B const& b, int k, W const& wanted, Options const&... options) {
  if constexpr (detail::PlainEigenOperator<A> && detail::PlainEigenOperator<B> && !detail::ApartOnRanks<A, B>)
    return detail::eigsh_of(a, b, k, wanted, options...);
  else
    return perform(op::eigsh{}, a, b, k, wanted, options...);
}
/// Refused: the arguments in another order, or no word of which pairs.
template <class A, class... X>
  requires(!detail::in_order_of_eigenpairs<X...>)
[[nodiscard]] auto eigsh(A const&, X const&...) {
  static_assert(always_false<A>, "sla: eigsh(A, k, wanted, options...): the number of eigenpairs comes before what is wanted, which is smallest{}, largest{}, largest_magnitude{} or near{sigma}: eigsh(A, 6, smallest{})");
  return dependent_t<eigenpairs<vector<double>, matrix<double>>, A>{};
}

/// Refused: what has no eigenpairs here.
template <class A, class... X>
auto perform(op::eigsh, A const&, X const&...) {
  constexpr bool one = detail::is_one_matrix<A> && (detail::is_one_matrix<X> && ...);
  static_assert(one, "sla: eigsh(A, k, ...): A is one matrix with scalar entries: of batches and blocks in host memory it is in <sla/eigenvalues.hpp>; else take batch_item(A, b) and unblocked(A)");
  static_assert(!one, "sla: eigsh(A, k, wanted, ...), eigsh(A, B, k, wanted, ...): A and B are sparse matrices, both in host memory or both distributed by rows, traced or not, or a linear_operator: "
                                 "of a dense matrix take to<Csr<>>(A), of a view or an expression eval(A), of a matrix on a device to<host_memory>(A)");
  return dependent_t<eigenpairs<vector<double>, matrix<double>>, A>{};
}

} // namespace sla

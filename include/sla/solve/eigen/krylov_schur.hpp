// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The Krylov-Schur method for A v = w B v with any square A (Stewart 2001): in real arithmetic for a real A, with shift and invert for `near{sigma}`,
// and left vectors on request. Below it all pairs by the dense Schur form, and the choice of eigs where no method is named.
#pragma once

#include <algorithm>
#include <complex>
#include <utility>
#include <vector>

#include <sla/solve/eigen/krylov/restarts.hpp>
#include <sla/solve/eigen/spectral_operator.hpp>

namespace sla {

/// The Krylov-Schur method for `eigs`: `eigs(A, 4, largest_magnitude{}, krylov_schur{.rtol = 1e-10})`. near{sigma} factors A - sigma B (shift and invert); the
/// others multiply by A, and where there is a B, solve with its factors. At most Capacity basis vectors; of fewer unknowns it finds all pairs, as a dense solver does.
/// Cost: of each of the basis vectors of a cycle one product, or solve, and four passes over the basis; one synchronisation per cycle. Memory: 2 basis vectors.
/// Where sigma is an eigenvalue, nearly, a shift beside it is inverted, which the report says; nearest is what is nearest to sigma. move_shift = false refuses such a sigma instead.
/// Errors: value_error, if A - sigma B is singular for both shifts; shape_error for more pairs than the basis has room for.
/// Source: Stewart, SIAM J. Matrix Anal. Appl. 23 (2001) 601.
template <int Capacity>
struct basic_krylov_schur {
  double rtol = default_rule().rtol;
  int max_restarts = 1000;
  int basis = 0;  ///< vectors of the basis; 0: some more than twice the pairs that are wanted
  bool find_multiples = true;  ///< look for others beside what has converged
  bool move_shift = true;  ///< of near{sigma}, where sigma is a value of A, nearly

  using general_eigen_method_tag = void;
  static constexpr char const* name = "krylov-schur";
  static constexpr int capacity = Capacity;

  /// The k pairs that are wanted, or of the conjugate transpose those with the conjugate values: complex values and vectors.
  template <bool Adjoint, class Problem, class W>
  auto find(Problem const& problem, index_t k, W const& wanted) const {
    using T = typename Problem::value_type;
    using Z = std::complex<typename Problem::real_type>;
    detail::require_basis(name, k, problem.n, Capacity);
    auto space = problem.space();
    auto const like = problem.random_vector(1);
    auto between = space.template like<T>(like);
    auto const random = [&](std::uint64_t seed) { return problem.random_vector(seed); };
    detail::restart_rule const rule{rtol, max_restarts, problem.n <= Capacity ? int(problem.n) : detail::basis_for(k, basis, Capacity), find_multiples};
    return detail::with_operator<Adjoint>(problem, wanted, space, between, false, "eigs(A", [&](auto const& op) {
      detail::krylov_process process(std::integral_constant<int, Capacity>{}, space, like, op.multiply, detail::plain_inner{}, random, problem.n);
      auto const scale = [&](auto const& p) { return detail::residual_scale(problem, p, wanted, between); };
      auto const found = detail::restarted<detail::schur_problem>(process, int(k), rule, op.inverted, op.key, op.to_a, scale);
      auto block = block_like<Z>(like, k);
      put_vectors(process, found.vectors(), block);
      eigen_found<Z, decltype(block)> out{{}, std::move(block), found.reason, found.restarts + 1, op.inverted ? 0 : process.products(), op.by.empty() ? 0 : process.products(), name, op.by,
                                          op.remark, found.alone ? int(problem.n) : 1, found.cuts_cluster};
      if (found.alone && !process.is_whole()) detail::add_remark(out.choice, "a run beside these pairs found no others");
      for (int j = 0; j < found.count; ++j) out.values.push_back(Z(op.to_a(found.problem->value(j))));
      if (op.inverted && found.count > 0) {  // the residuals of the inverse are rounding beside its size, those of A beside its values
        double const beyond = double(process.projected().norm()) / double(std::abs(found.problem->value(found.count - 1))), left = process.unit_rounding * beyond;
        if (beyond > 1e3 && left > rtol)
          detail::add_remark(out.choice, "the inverse is ", beyond, " times as large as its value for the last pair, as where A is far from normal or sigma is nearly a value of it: "
                             "its rounding may leave residuals up to about ", left, std::same_as<real_t<T>, float> ? ", in double less" : "");
      }
      return out;
    }, move_shift);
  }

private:
  /// The columns of V C, for a complex C.
  template <class Process, class C, class Block>
  static void put_vectors(Process& process, C const& c, Block& block) {
    using U = typename Process::U;
    using Z = typename Block::value_type;
    auto const take = [&](auto const& coefficients, auto const& as) {
      auto const vectors = process.combined(coefficients);
      process.space().finish();
      auto* const to = detail::own_numbers(block);
      for (std::size_t j = 0; j < vectors.size(); ++j) {
        auto const* const from = detail::own_numbers(vectors[j]);
        index_t const rows = detail::own_size(vectors[j]), columns = rows ? detail::own_size(block) / rows : 0;
        for (index_t i = 0; i < rows; ++i) as(to[i * columns + index_t(j)], from[i]);
      }
    };
    if constexpr (is_complex<U>) {
      take(detail::projected_matrix<U>(c), [](Z& z, auto x) { z = Z(x); });
    } else {
      take(detail::projected_matrix<U>(c.real()), [](Z& z, auto x) { z = Z(x, 0); });
      take(detail::projected_matrix<U>(c.imag()), [](Z& z, auto x) { z = Z(z.real(), x); });
    }
  }
};
/// `basic_krylov_schur` of at most 64 basis vectors.
using krylov_schur = basic_krylov_schur<64>;

/// `eigs(A, k, wanted, dense_schur{})`: all values of A, or of B^-1 A, by dense algebra, of which k are returned with their vectors. near{sigma} of A v = w B v is by
/// (A - sigma B)^-1 B, as of krylov_schur. Law: A is a sparse matrix in host memory. Cost: some 25 n^3 operations, and of a B n solves.
/// Source: Golub and Van Loan, Matrix Computations, 7.5 and 7.6.
struct dense_schur {
  double rtol = default_rule().rtol;

  using general_eigen_method_tag = void;
  static constexpr char const* name = "dense", *type = "dense_schur";

  /// The pairs of an `eigen_problem`, or of the conjugate transpose those with the conjugate values.
  template <bool Adjoint, class Problem, class W>
  auto find(Problem const& problem, index_t k, W const& wanted) const {
    using T = typename Problem::value_type;
    auto between = column_like<T>(problem.random_vector(1));
    if constexpr (detail::is_near<W> && Problem::is_standard) {
      auto const& a = detail::oriented<Adjoint>(problem.a);
      auto const key = [&](auto theta) { return wanted.key(Adjoint ? detail::conj_of_value(theta) : theta); };
      auto const to_a = [](auto theta) { return theta; };
      return found_by(problem, k, detail::spectral_operator{detail::multiply_by<std::remove_cvref_t<decltype(a)>>{a}, false, key, to_a, ""});
    } else {
      auto space = problem.space();
      return detail::with_operator<Adjoint>(problem, wanted, space, between, false, "eigs(A", [&](auto const& op) { return found_by(problem, k, op); }, true);
    }
  }

private:
  template <class Problem, class Operator>
  static auto found_by(Problem const& problem, index_t k, Operator const& op) {
    using T = typename Problem::value_type;
    using U = detail::small_scalar<T>;
    using Z = std::complex<typename Problem::real_type>;
    using Dense = detail::small_dense<U>;
    using Wide = detail::small_complex<U>;
    index_t const n = problem.n;
    auto space = problem.space();
    auto unit = problem.random_vector(1), image = unit;
    std::fill_n(detail::own_numbers(unit), n, T(0));
    Dense H(n, n), form, Q;
    for (index_t j = 0; j < n; ++j) {
      detail::own_numbers(unit)[j] = T(1);
      op.multiply(unit, image, [&](auto&&... statement) { return fuse(space, std::forward<decltype(statement)>(statement)...), 0; });
      space.finish();
      for (index_t i = 0; i < n; ++i) H(i, j) = U(detail::own_numbers(image)[i]);
      detail::own_numbers(unit)[j] = T(0);
    }
    if (!detail::schur_form<U>(H, form, Q)) throw error("eigs: the Schur form of A was not found");
    std::vector<std::pair<Wide, index_t>> values;  // and the rows where their blocks begin
    for (index_t i = 0; i < n; i += detail::block_at<U>(form, i))
      for (auto const v : detail::values_of_block<U>(form, i)) values.emplace_back(v, i);
    std::stable_sort(values.begin(), values.end(), [&](auto const& x, auto const& y) { return op.key(x.first) < op.key(y.first); });

    detail::small_dense<Wide> X(n, k);
    for (index_t j = 0; j < k; ++j) X.col(j) = detail::eigenvector_of_schur<U>(form, values[std::size_t(j)].second, values[std::size_t(j)].first);
    if constexpr (is_complex<U>) {
      X = detail::dense_product<U>(Q, X);
    } else {
      Dense const re = detail::dense_product<U>(Q, X.real()), im = detail::dense_product<U>(Q, X.imag());
      X.real() = re, X.imag() = im;
    }
    auto block = block_like<Z>(image, k);
    for (index_t i = 0; i < n; ++i)
      for (index_t j = 0; j < k; ++j) detail::own_numbers(block)[i * k + j] = Z(X(i, j));
    eigen_found<Z, decltype(block)> out{{}, std::move(block), reason::converged, 0, op.inverted ? 0 : n, op.by.empty() ? 0 : n, name, op.by, op.remark, int(n), false};
    for (index_t j = 0; j < k; ++j) out.values.push_back(Z(op.to_a(values[std::size_t(j)].first)));
    if (k < n) {
      auto const apart = std::abs(values[std::size_t(k)].first - values[std::size_t(k - 1)].first);
      out.cuts_cluster = apart <= 100 * double(n) * std::numeric_limits<double>::epsilon() * detail::scale_of(form);
    }
    return out;
  }
};

/// The method of `eigs(A, k, wanted)`: krylov_schur, but where many of few values are wanted: then dense_schur.
struct automatic_eigs {
  double rtol = default_rule().rtol;

  using general_eigen_method_tag = void;
  static constexpr char const* name = "automatic", *type = "automatic_eigs";

  template <bool Adjoint, class Problem, class W>
  auto find(Problem const& problem, index_t k, W const& wanted) const {
    constexpr int room = krylov_schur::capacity;
    if constexpr (detail::Readable<std::remove_cvref_t<decltype(problem.a)>>)
      if (problem.n > room && problem.n <= 1000 && (k > problem.n / 5 || k + 3 > room)) return dense_schur{rtol}.find<Adjoint>(problem, k, wanted);
    return krylov_schur{rtol}.find<Adjoint>(problem, k, wanted);
  }
};

} // namespace sla

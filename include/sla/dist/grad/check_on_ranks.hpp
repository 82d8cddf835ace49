// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `check_gradient(f, args...)` of distributed arguments (grad/call/check_gradient.hpp): directions in their placements. Collective: every rank
// calls it and has the same outcome, rank 0 prints.
#pragma once

#include <utility>

#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/grad/value_and_gradient.hpp>
#include <sla/dist/matrix/stored_transpose.hpp>
#include <sla/grad/call/check_gradient.hpp>

namespace sla {

namespace detail {
template <class P>
inline constexpr bool is_sparse_part = P::kind == placement_kind::sparse_shard;

/// A seed of this rank's own on the axes whose ranks hold different numbers; sparse parts are told apart by global indices.
template <class Mesh, class... P>
std::uint64_t seed_of_rank(Mesh const& m, placements<P...>, std::uint64_t seed) {
  int a = 0;
  auto const add = [&](bool own) {
    if (own) seed = seed * 0x9e3779b97f4a7c15ULL + std::uint64_t(m.coordinate(a));
    ++a;
  };
  (add(!is_copied(P::kind) && !is_sparse_part<P>), ...);
  return seed;
}

/// Stored entries times a number that is random by row and column, of (j, i) the conjugate of that of (i, j): the direction of a
/// hermitian matrix is one. Entries of zero stay.
template <class D>
D random_part(D const& d, std::uint64_t seed) {
  using Local = local_of_t<D>;
  using T = typename Local::value_type;
  constexpr index_t P = Local::shape_type::block_rows, Q = Local::shape_type::block_cols;
  global_places<D> const places{d};
  Local out = d.local();
  for (index_t i = 0; i < out.rows(); ++i)
    out.pattern().view().for_row(i, [&](index_t s, index_t j) {
      for (index_t e = 0; e < P * Q; ++e) {
        auto const row = std::uint64_t(places.row(i) * P + e / Q), col = std::uint64_t(places.col(j) * Q + e % Q);
        T u = random_number<T>(seed, (row < col ? row : col) * 0x100000001b3ULL + (row < col ? col : row));
        if constexpr (is_complex<T>) u = row == col ? T(u.real()) : row > col ? T(std::conj(u)) : u;
        for (index_t b = 0; b < out.batch_count(); ++b) {
          T& v = out.values()[b * out.batch_stride() + s * P * Q + e];
          v = u * T(real_t<T>(std::abs(v)));
        }
      }
    });
  return {std::move(out), d.handle()};
}
} // namespace detail

template <class Local, class Mesh, class... P>
struct direction_space<distributed<Local, Mesh, P...>> {
  using V = distributed<Local, Mesh, P...>;
  static constexpr bool on_ranks = true;

  static V random(V const& x, std::uint64_t seed) {
    seed = detail::seed_of_rank(x.mesh(), placements<P...>{}, seed);
    if constexpr (is_sparse_tensor<Local>)
      return detail::random_part(x, seed);
    else
      return {detail::random_direction(x.local(), seed), x.handle()};
  }
  /// A cotangent is in the dual placement, so the ranks' products add up; along an Invariant axis they are one and the same.
  template <class G>
  static double pairing(G const& g, V const& d) {
    double sum = detail::pairing(g.local(), d.local());
    int a = 0;
    auto const add = [&](bool several) {
      if (several) sum = all_reduce(d.mesh().communicator(a), sum);
      ++a;
    };
    (add(P::kind != placement_kind::invariant), ...);
    return sum;
  }
  static V moved(V const& x, double h, V const& d) { return {detail::moved(x.local(), h, d.local()), x.handle()}; }
  template <class Y>
  static double number(Y const& y) {
    if constexpr (is_distributed<Y>)
      return double(gather(y));
    else
      return double(y);  // a norm of a matrix
  }
  static bool speaks(V const& x) { return x.mesh().world().rank() == 0; }
};
/// Not values with halos, whose ghosts a direction would have to repeat, nor matrices of which no rank has whole rows or columns:
/// their entries cannot be told apart by global indices.
template <class Local, class Mesh, class... P>
inline constexpr bool has_directions<distributed<Local, Mesh, P...>> =
    has_directions<Local> && !detail::has_halo<placements<P...>> && !detail::is_grid<placements<P...>> && !detail::by_entries<placements<P...>>;

} // namespace sla

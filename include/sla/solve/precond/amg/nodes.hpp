// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Aggregation of systems: rows in nodes (the unknowns of a point), nodes in aggregates by the norms of the blocks that couple them, and from
// given vectors, the near-null space, the columns of a prolongation that reproduces them (Vanek, Mandel and Brezina 1996).
#pragma once

#include <algorithm>
#include <complex>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <sla/core/held.hpp>
#include <sla/solve/precond/amg/aggregates.hpp>
#include <sla/solve/precond/amg/blocks/block_cycle.hpp>
#include <sla/tensor/algebra/add.hpp>
#include <sla/tensor/algebra/multiply.hpp>
#include <sla/tensor/build/entries.hpp>

namespace sla::detail {

/// In double precision: near-null spaces are orthogonalised in it, whatever the levels are of.
template <class T>
using amg_wide = std::conditional_t<is_complex<T>, std::complex<double>, double>;

/// Which rows make up each node, and the near-null space: `modes` numbers per row. Rows of a node follow each other.
template <class T>
struct amg_nodes {
  std::vector<std::int32_t> first;  ///< of the rows of each node, and the number of rows
  std::vector<kernel_t<amg_wide<T>>> space;
  index_t modes;

  index_t count() const { return index_t(first.size()) - 1; }
};

/// v -> |v|^2 in a unit, a power of 2, in which the squares of n numbers are in the range of double.
template <class K>
auto squares_beside(K const* a, index_t n) {
  double const largest = double(norm_inf(numbers_at(a, n)));
  double const unit = largest > 0 && std::isfinite(largest) ? std::ldexp(1.0, -std::clamp(std::ilogb(largest), -1000, 1000)) : 1;
  return [unit](K v) { return double(abs_of(v)) * unit * (double(abs_of(v)) * unit); };
}

/// How strongly nodes are coupled: -|A_ij| / sqrt(|A_ii| |A_jj|), by the Frobenius norms of blocks, positive on the diagonal: the same,
/// however unknowns are scaled.
template <class T>
amg_matrix<double> coupled_nodes(amg_matrix<T> const& A, std::vector<std::int32_t> const& first) {
  index_t const nodes = index_t(first.size()) - 1;
  buffer<std::int32_t> node_of(A.rows(), uninitialized);
  for (index_t v = 0; v < nodes; ++v) std::fill(node_of.begin() + first[std::size_t(v)], node_of.begin() + first[std::size_t(v) + 1], std::int32_t(v));
  auto const view = A.pattern().view();
  auto const* const a = kernel_pointer(A.values().data());
  auto const squared = squares_beside(a, A.nnz());
  // f(column, squares) for the nodes that node v is coupled to, ascending.
  auto const row = [&](index_t v, std::vector<std::pair<std::int32_t, dependent_t<double, T>>>& out) {
    out.clear();
    for (index_t i = first[std::size_t(v)]; i < first[std::size_t(v) + 1]; ++i) {
      std::size_t const before = out.size();
      std::size_t known = 0;
      view.for_row(i, [&](index_t s, index_t j) {
        std::int32_t const to = node_of[j];
        while (known < before && out[known].first < to) ++known;
        if (known < before && out[known].first == to)
          out[known].second += squared(a[s]);
        else if (out.size() > before && out.back().first == to)
          out.back().second += squared(a[s]);
        else
          out.emplace_back(to, squared(a[s]));
      });
      std::inplace_merge(out.begin(), out.begin() + std::ptrdiff_t(before), out.end(), [](auto const& x, auto const& y) { return x.first < y.first; });
    }
  };
  buffer<std::int32_t> sizes(nodes, uninitialized);
  buffer<double> scale(nodes, uninitialized);  // 1 / sqrt(|A_ii|)
  parallel_ranges(nodes, [&, c = sizes.data(), d = scale.data()](index_t lo, index_t hi) {
    std::vector<std::pair<std::int32_t, dependent_t<double, T>>> one;
    for (index_t v = lo; v < hi; ++v) {
      row(v, one), c[v] = std::int32_t(one.size()), d[v] = 1;
      for (auto const& [to, squares] : one)
        if (to == v && squares > 0) d[v] = 1 / std::sqrt(std::sqrt(squares));
    }
  });
  auto row_ptr = row_pointers<std::int32_t>(nodes, [c = sizes.data()](index_t v) { return index_t(c[v]); });
  buffer<std::int32_t> col(row_ptr[nodes], uninitialized);
  buffer<double> values(row_ptr[nodes], uninitialized);
  parallel_ranges(nodes, [&, c = col.data(), to = values.data(), d = scale.data()](index_t lo, index_t hi) {
    std::vector<std::pair<std::int32_t, dependent_t<double, T>>> one;
    for (index_t v = lo; v < hi; ++v) {
      row(v, one);
      for (std::size_t k = 0; k < one.size(); ++k) {
        c[row_ptr[v] + index_t(k)] = one[k].first;
        to[row_ptr[v] + index_t(k)] = std::sqrt(one[k].second) * d[v] * d[one[k].first] * (one[k].first == v ? 1 : -1);
      }
    }
  });
  return {Matrix(nodes, nodes), detail::shared_of<amg_pattern const>(amg_pattern{nodes, nodes, std::move(row_ptr), std::move(col)}), std::move(values)};
}

/// The same of square blocks, each of the unknowns of two nodes.
template <class T, index_t B>
amg_matrix<double> coupled_nodes(block_matrix<T, B, B> const& A) {
  index_t const n = A.rows();
  auto const view = A.pattern().view();
  buffer<double> values(A.nnz(), uninitialized), scale(n, uninitialized);
  parallel_ranges(n, [&, a = A.values().data(), squared = squares_beside(A.values().data(), A.nnz() * B * B), norm = values.data(), d = scale.data()](index_t lo, index_t hi) {
    for (index_t i = lo; i < hi; ++i) {
      d[i] = 1;
      view.for_row(i, [&](index_t s, index_t j) {
        double squares = 0;
        for (index_t e = 0; e < B * B; ++e) squares += squared(a[s * B * B + e]);
        norm[s] = std::sqrt(squares);
        if (i == j && squares > 0) d[i] = 1 / std::sqrt(norm[s]);
      });
    }
  });
  parallel_ranges(n, [&, norm = values.data(), d = std::as_const(scale).data()](index_t lo, index_t hi) {
    for (index_t i = lo; i < hi; ++i) view.for_row(i, [&](index_t s, index_t j) { norm[s] *= d[i] * d[j] * (i == j ? 1 : -1); });
  });
  return {Matrix(n, n), A.shared_pattern(), std::move(values)};
}

/// An orthonormal basis Q of the columns of an m x k array, row by row in its place, and R with what was = Q R, by Gram and Schmidt twice
/// (Giraud, Langou, Rozloznik and van den Eshof 2005). Columns that others make up are left out: the rank is returned.
template <class K>
index_t orthonormalize(std::vector<K>& q, index_t m, index_t k, std::vector<K>& r) {
  constexpr double least = 1e-10;  // of its own length: a column of which no more is left is rounding
  r.assign(std::size_t(k * k), K{});
  index_t rank = 0;
  auto const length = [&](index_t c) {
    double sum = 0;
    for (index_t i = 0; i < m; ++i) sum += abs2_of(q[std::size_t(i * k + c)]);
    return std::sqrt(sum);
  };
  for (index_t c = 0; c < k; ++c) {
    double const before = length(c);
    for (int pass = 0; pass < 2; ++pass)
      for (index_t e = 0; e < rank; ++e) {
        K dot{};
        for (index_t i = 0; i < m; ++i) dot = dot + conj_of(q[std::size_t(i * k + e)]) * q[std::size_t(i * k + c)];
        for (index_t i = 0; i < m; ++i) q[std::size_t(i * k + c)] = q[std::size_t(i * k + c)] - dot * q[std::size_t(i * k + e)];
        r[std::size_t(e * k + c)] = r[std::size_t(e * k + c)] + dot;
      }
    double const left = length(c);
    if (!(left > least * before)) continue;
    for (index_t i = 0; i < m; ++i) q[std::size_t(i * k + rank)] = q[std::size_t(i * k + c)] * K(1 / left);
    r[std::size_t(rank++ * k + c)] = K(left);
  }
  return rank;
}

/// Of each aggregate of nodes, an orthonormal basis Q of the near-null space on its rows, `modes` numbers per row of A, and what the space is on the basis: `modes` rows per
/// aggregate, of which `rank` are used.
template <class T>
struct amg_bases {
  std::vector<kernel_t<amg_wide<T>>> basis, coarse;
  std::vector<std::int32_t> rank;
};
template <class T>
amg_bases<T> bases_of(amg_nodes<T> const& nodes, aggregates const& groups) {
  using W = kernel_t<amg_wide<T>>;
  index_t const n = nodes.first.back(), k = nodes.modes;
  // The rows of each aggregate, one after the other.
  std::vector<index_t> begin(std::size_t(groups.count) + 1);
  for (index_t v = 0; v < nodes.count(); ++v)
    if (groups.of[v] >= 0) begin[std::size_t(groups.of[v]) + 1] += nodes.first[std::size_t(v) + 1] - nodes.first[std::size_t(v)];
  for (std::size_t g = 1; g < begin.size(); ++g) begin[g] += begin[g - 1];
  std::vector<std::int32_t> rows(std::size_t(begin.back()));
  auto next = begin;
  for (index_t v = 0; v < nodes.count(); ++v)
    if (auto const g = groups.of[v]; g >= 0)
      for (std::int32_t i = nodes.first[std::size_t(v)]; i < nodes.first[std::size_t(v) + 1]; ++i) rows[std::size_t(next[std::size_t(g)]++)] = i;

  amg_bases<T> out{std::vector<W>(std::size_t(n * k)), std::vector<W>(std::size_t(groups.count * k * k)), std::vector<std::int32_t>(std::size_t(groups.count))};
  parallel_ranges(groups.count, [&](index_t lo, index_t hi) {
    std::vector<W> q, r;
    for (index_t g = lo; g < hi; ++g) {
      index_t const first = begin[std::size_t(g)], m = begin[std::size_t(g) + 1] - first;
      q.resize(std::size_t(m * k));
      for (index_t e = 0; e < m * k; ++e) q[std::size_t(e)] = nodes.space[std::size_t(rows[std::size_t(first + e / k)] * k + e % k)];
      index_t const rank = orthonormalize(q, m, k, r);
      out.rank[std::size_t(g)] = std::int32_t(rank);
      for (index_t e = 0; e < m * k; ++e) out.basis[std::size_t(rows[std::size_t(first + e / k)] * k + e % k)] = e % k < rank ? q[std::size_t(e)] : W{};
      std::copy(r.begin(), r.end(), out.coarse.begin() + g * k * k);
    }
  }, 64);
  return out;
}

/// The prolongation that is a basis of the near-null space on each aggregate of nodes, and the nodes of the next level: an aggregate each.
template <class T>
std::pair<amg_matrix<T>, amg_nodes<T>> tentative_prolongation(amg_nodes<T> const& nodes, aggregates const& groups) {
  index_t const n = nodes.first.back(), k = nodes.modes;
  auto const bases = bases_of(nodes, groups);
  amg_nodes<T> after{std::vector<std::int32_t>(std::size_t(groups.count) + 1), {}, k};
  for (index_t g = 0; g < groups.count; ++g) {
    auto const from = bases.coarse.begin() + g * k * k;
    after.first[std::size_t(g) + 1] = after.first[std::size_t(g)] + bases.rank[std::size_t(g)];
    after.space.insert(after.space.end(), from, from + index_t(bases.rank[std::size_t(g)]) * k);
  }
  std::vector<std::int32_t> group_of(std::size_t(n), -1);
  for (index_t v = 0; v < nodes.count(); ++v) std::fill(group_of.begin() + nodes.first[std::size_t(v)], group_of.begin() + nodes.first[std::size_t(v) + 1], groups.of[v]);
  auto const width = [&](index_t i) { return group_of[std::size_t(i)] < 0 ? 0 : index_t(bases.rank[std::size_t(group_of[std::size_t(i)])]); };
  auto row_ptr = row_pointers<std::int32_t>(n, width);
  buffer<std::int32_t> col(row_ptr[n], uninitialized);
  buffer<T> values(row_ptr[n], uninitialized);
  for (index_t i = 0; i < n; ++i)
    for (index_t c = 0; c < width(i); ++c) {
      col[row_ptr[i] + c] = after.first[std::size_t(group_of[std::size_t(i)])] + std::int32_t(c);
      kernel_pointer(values.data())[row_ptr[i] + c] = scalar_cast<kernel_t<T>>(bases.basis[std::size_t(i * k + c)]);
    }
  index_t const cols = after.first.back();
  return {amg_matrix<T>(Matrix(n, cols), detail::shared_of<amg_pattern const>(amg_pattern{n, cols, std::move(row_ptr), std::move(col)}), std::move(values)), std::move(after)};
}
/// The same in blocks of the unknowns of a node and the modes: where there are fewer on an aggregate, the others are zero, and so are their rows and columns of the next level's matrix.
template <index_t B, index_t K, class T>
std::pair<block_matrix<T, B, K>, amg_nodes<T>> tentative_blocks(amg_nodes<T> const& nodes, aggregates const& groups) {
  index_t const n = nodes.count();
  auto bases = bases_of(nodes, groups);
  auto row_ptr = row_pointers<std::int32_t>(n, [&](index_t v) { return index_t(groups.of[v] >= 0); });
  buffer<std::int32_t> col(row_ptr[n], uninitialized);
  buffer<T> values(row_ptr[n] * B * K, uninitialized);
  for (index_t v = 0; v < n; ++v)
    if (index_t const s = row_ptr[v]; groups.of[v] >= 0) {
      col[s] = groups.of[v];
      for (index_t e = 0; e < B * K; ++e) values[s * B * K + e] = T(bases.basis[std::size_t(v * B * K + e)]);
    }
  amg_nodes<T> after{std::vector<std::int32_t>(std::size_t(groups.count) + 1), std::move(bases.coarse), K};
  for (index_t g = 0; g <= groups.count; ++g) after.first[std::size_t(g)] = std::int32_t(g * K);
  return {block_matrix<T, B, K>({n, groups.count}, detail::shared_of<amg_pattern const>(amg_pattern{n, groups.count, std::move(row_ptr), std::move(col)}), std::move(values)), std::move(after)};
}

/// P - weight D^-1 A P, where the weight is 4/3 over the largest eigenvalue of D^-1 A, as some power steps see it. Of entries, or of blocks.
template <class T, class SA, class SP>
sparse_tensor<T, SP, Csr<std::int32_t>> smoothed_prolongation(sparse_tensor<T, SA, Csr<std::int32_t>> const& A, sparse_tensor<T, SP, Csr<std::int32_t>> const& P) {
  using K = kernel_t<T>;
  using Real = real_t<T>;
  constexpr index_t B = SA::block_rows, each = B * SP::block_cols;
  index_t const n = A.rows() * B;
  auto const view = A.pattern().view();
  auto const* const a = kernel_pointer(A.values().data());
  buffer<K> inverse(n, uninitialized), x(n, uninitialized), y(n, uninitialized);
  for (index_t i = 0; i < n; ++i) inverse[i] = K{}, x[i] = K(Real(uniform_at(1, std::uint64_t(i))));
  for (index_t v = 0; v < A.rows(); ++v)
    view.for_row(v, [&](index_t s, index_t j) {
      for (index_t c = 0; c < B; ++c)
        if (K const diagonal = a[s * B * B + c * (B + 1)]; v == j && abs_of(diagonal) > 0) inverse[v * B + c] = K(Real(1)) / diagonal;
    });
  double radius = 0;
  for (int step = 0; step < 12; ++step) {
    auto const grown = merged_ranges<largest_size<Real>>(A.rows(), [&, from = x.data(), to = y.data(), d = inverse.data()](index_t lo, index_t hi) {
      largest_size<Real> here;
      for (index_t v = lo; v < hi; ++v) {
        K sum[B] = {};
        view.for_row(v, [&](index_t s, index_t j) {
          for (index_t e = 0; e < B * B; ++e) sum[e / B] = sum[e / B] + a[s * B * B + e] * from[j * B + e % B];
        });
        for (index_t c = 0; c < B; ++c) {
          to[v * B + c] = d[v * B + c] * sum[c];
          here.merge({Real(abs_of(to[v * B + c]))});
        }
      }
      return here;
    });
    if (!(grown.value > 0)) break;
    radius = double(grown.value);  // x has the size 1
    for (index_t i = 0; i < n; ++i) x[i] = y[i] / grown.value;
  }
  if (!(radius > 0)) return P;
  auto step = multiply_plan<Csr<std::int32_t>, Csr<std::int32_t>>(A.shared_pattern(), P.shared_pattern())(A, P);
  auto const& ptr = step.pattern().row_ptr;
  auto* const v = kernel_pointer(step.values().data());
  for (index_t i = 0; i < A.rows(); ++i)
    for (index_t e = ptr[i] * each; e < ptr[i + 1] * each; ++e) v[e] = inverse[i * B + e % each / SP::block_cols] * v[e];
  return add(Real(1), P, Real(-4 / (3 * radius)), step);
}

/// Levels of nodes: each takes the nodes and the near-null space that the one above left to it.
template <class T>
class node_coarsener final : public amg_coarsener<T> {
public:
  node_coarsener(amg_options const& o, amg_nodes<T> nodes) : strength_(o.strength / 2), smoothed_(o.coarsening == amg_coarsening::smoothed), nodes_(std::move(nodes)) {}

  index_t next(amg_matrix<T> const& A, amg_matrix<T> const* adjoint, int level, amg_matrix<T>& P, amg_matrix<T>& left) override {
    auto C = coupled_nodes(A, nodes_.first);
    if (adjoint) C = add(1.0, C, 1.0, coupled_nodes(*adjoint, nodes_.first));
    auto const groups = aggregate(C, look_at_rows(C, amg_smoother::spai0, 1), strength_ * std::pow(0.5, level));
    auto [T0, after] = tentative_prolongation(nodes_, groups);
    nodes_ = std::move(after);
    P = smoothed_ ? smoothed_prolongation(A, T0) : T0;
    if (adjoint) left = smoothed_ ? smoothed_prolongation(*adjoint, T0) : T0;
    return P.cols();
  }
  /// A prolongation in blocks from the next level, of as many block columns as it has; none, where coarsening comes to a halt.
  template <index_t K, index_t B>
  block_matrix<T, B, K> next_blocks(block_matrix<T, B, B> const& A, int level) {
    auto const C = coupled_nodes<T, B>(A);
    auto const groups = aggregate(C, look_at_rows(C, amg_smoother::spai0, 1), strength_ * std::pow(0.5, level));
    auto [T0, after] = tentative_blocks<B, K>(nodes_, groups);
    nodes_ = std::move(after);
    return smoothed_ ? smoothed_prolongation(A, T0) : std::move(T0);
  }
  index_t modes() const { return nodes_.modes; }

private:
  double strength_;  ///< norms of blocks differ less than entries do
  bool smoothed_;
  amg_nodes<T> nodes_;
};

/// Modes, to begin levels of any scalar with.
template <class U>
class node_coarseners final : public amg_coarsener_maker {
public:
  node_coarseners(matrix<U> modes) : modes_(std::move(modes)) {}

  std::shared_ptr<amg_coarsener<float>> begin(amg_options const& o, index_t rows, std::type_identity<float>) const override { return made<float>(o, rows); }
  std::shared_ptr<amg_coarsener<double>> begin(amg_options const& o, index_t rows, std::type_identity<double>) const override { return made<double>(o, rows); }
  std::shared_ptr<amg_coarsener<std::complex<float>>> begin(amg_options const& o, index_t rows, std::type_identity<std::complex<float>>) const override { return made<std::complex<float>>(o, rows); }
  std::shared_ptr<amg_coarsener<std::complex<double>>> begin(amg_options const& o, index_t rows, std::type_identity<std::complex<double>>) const override { return made<std::complex<double>>(o, rows); }

private:
  template <class T>
  std::shared_ptr<amg_coarsener<T>> made(amg_options const& o, index_t n) const {
    using W = kernel_t<amg_wide<T>>;
    index_t const k = modes_.extent(1), each = o.unknowns;
    if (modes_.extent(0) != n)
      throw shape_error(text("amg{.near_null}: its ", modes_.extent(0), " rows are not the ", n, " rows of A, those of blocks one by one; give a row per unknown and a column per mode"));
    if (n % each != 0) throw shape_error(text("amg{.near_null}: nodes of ", each, " unknowns do not make up the ", n, " rows of A"));
    amg_nodes<T> nodes{{}, std::vector<W>(std::size_t(n * k)), k};
    for (index_t i = 0; i <= n; i += each) nodes.first.push_back(std::int32_t(i));
    for (index_t e = 0; e < n * k; ++e) {
      auto const value = to_kernel(modes_.data()[e]);
      if (!is_finite(value)) throw value_error(text("amg{.near_null}: the mode ", e % k, " has ", modes_.data()[e], " in row ", e / k, "; every element must be a finite number"));
      if constexpr (is_complex<U> && !is_complex<T>) {
        if (imag_of(value) != 0) throw value_error("amg{.near_null}: modes are complex and A is real; give real ones");
        nodes.space[std::size_t(e)] = W(real_of(value));
      } else {
        nodes.space[std::size_t(e)] = scalar_cast<W>(value);
      }
    }
    return std::make_unique<node_coarsener<T>>(o, std::move(nodes));
  }
  matrix<U> modes_;
};

} // namespace sla::detail

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Classical multigrid: coarse points (PMIS: De Sterck, Yang and Heys, Reducing complexity in parallel algebraic multigrid preconditioners, 2006) and extended+i
// interpolation from them (De Sterck, Falgout, Nolting and Yang, Distance-two interpolation for parallel algebraic multigrid, 2008), truncated.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <sla/core/held.hpp>
#include <sla/solve/precond/amg/aggregates.hpp>
#include <sla/tensor/storage/dense.hpp>

namespace sla::detail {

/// A row depends strongly on those that it is coupled to at least this much, of its largest coupling.
inline constexpr double classical_strength = 0.25;

/// f(slot, column) for each row on which row i depends strongly. Columns of other ranks are left out.
template <class T, class F>
void for_strong(amg_matrix<T> const& A, amg_rows<T> const& rows, index_t i, F const& f) {
  using Real = real_t<T>;
  auto const* const a = kernel_pointer(A.values().data());
  Real const most = rows.strongest.data()[i], least = Real(classical_strength) * most;
  if (!(most > 0)) return;
  A.pattern().view().for_row(i, [&, p = rows.phase.data()[i]](index_t s, index_t j) {
    if (j != i && j < A.rows() && coupling(a[s], p) >= least) f(s, j);
  });
}

/// The number of each coarse point among them, -1 of the other rows, and how many there are. No row depends strongly
/// on one that was taken before it. They do not depend on the number of threads: rows are taken in the order of how many depend on them, equal ones in an order of chance that their number fixes.
template <class T>
aggregates coarse_points(amg_matrix<T> const& A, amg_rows<T> const& rows) {
  index_t const n = A.rows();
  // The rows that depend on each.
  buffer<std::int32_t> begin(n + 1);
  auto* const first = begin.data();
  for (index_t i = 0; i < n; ++i) for_strong(A, rows, i, [&](index_t, index_t j) { ++first[j]; });
  std::int32_t sum = 0;
  for (index_t i = 0; i < n; ++i) sum += std::exchange(first[i], sum);
  first[n] = sum;
  buffer<std::int32_t> dependent(sum, uninitialized);
  for (index_t i = n; i-- > 0;) for_strong(A, rows, i, [&](index_t, index_t j) { dependent.data()[first[j]++] = std::int32_t(i); });
  for (index_t i = n; i > 0; --i) first[i] = first[i - 1];
  first[0] = 0;
  auto const dependents = [&](index_t i, auto const& f) {
    for (std::int32_t s = first[i]; s < first[i + 1]; ++s) f(dependent.data()[s]);
  };
  // By number of dependents, then by chance.
  std::vector<std::pair<double, std::int32_t>> order(static_cast<std::size_t>(n));
  for (index_t i = 0; i < n; ++i) order[std::size_t(i)] = {double(first[i + 1] - first[i]) + uniform_at(1, std::uint64_t(i)), std::int32_t(i)};
  std::sort(order.begin(), order.end(), [](auto const& x, auto const& y) { return x > y; });
  constexpr std::int32_t open = -2;
  aggregates out{buffer<std::int32_t>(A.cols(), uninitialized)};
  auto* const of = out.of.data();
  std::fill(of, of + n, open), std::fill(of + n, of + A.cols(), -1);
  for (auto const& [weight, i] : order) {
    if (of[i] != open) continue;
    bool const alone = first[i] == first[i + 1] && !(rows.strongest.data()[i] > 0);
    of[i] = alone ? -1 : 0;
    if (!alone) dependents(i, [&](std::int32_t j) { of[j] = of[j] == open ? -1 : of[j]; });
  }
  for (index_t i = 0; i < n; ++i)
    if (of[i] == 0) of[i] = std::int32_t(out.count++);
  return out;
}

/// Weights that a row keeps; they are scaled, so that a constant is interpolated as by all of them.
inline constexpr int classical_weights = 4;

/// Makes rows of the interpolation, one after the other, in memory that it keeps.
template <class T>
class extended_interpolation {
  using K = kernel_t<T>;
  using Real = real_t<T>;

public:
  /// A coarse point and its weight.
  using weight = std::pair<std::int32_t, K>;

  extended_interpolation(amg_matrix<T> const& A, amg_rows<T> const& rows, aggregates const& points) : A_(A), rows_(rows), of_(points.of.data()), place_(std::size_t(A.cols()), -1) {}

  /// All weights of row i, coarse points in no order: those on which it depends strongly, and those on which its strong neighbours do. Couplings to
  /// neighbours between are distributed over what those are coupled to with the right sign, row i itself among them; all others are added to the diagonal.
  std::vector<weight>& all(index_t i) {
    found_.clear();
    if (of_[i] >= 0) {
      found_.emplace_back(of_[i], K(Real(1)));
      return found_;
    }
    auto const reach = [&](index_t j) {
      if (place_[std::size_t(j)] < 0) place_[std::size_t(j)] = std::int32_t(found_.size()), found_.emplace_back(std::int32_t(j), K{});
    };
    between_.clear();
    for_strong(A_, rows_, i, [&](index_t s, index_t j) {
      if (of_[j] >= 0) return reach(j);
      between_.emplace_back(s, j);
      for_strong(A_, rows_, j, [&](index_t, index_t k) {
        if (of_[k] >= 0) reach(k);
      });
    });
    auto const view = A_.pattern().view();
    auto const* const a = kernel_pointer(A_.values().data());
    K diagonal{}, sum{};
    std::size_t next = 0;
    view.for_row(i, [&](index_t s, index_t j) {
      if (auto const to = place_[std::size_t(j)]; to >= 0) return void(found_[std::size_t(to)].second = found_[std::size_t(to)].second + a[s]);
      bool const is_between = next < between_.size() && between_[next].first == s;
      next += is_between;
      K total{};
      auto const shares = [&](auto const& f) {
        view.for_row(j, [&, p = rows_.phase.data()[j]](index_t t, index_t k) {
          if ((k == i || place_[std::size_t(k)] >= 0) && coupling(a[t], p) > 0) f(k, a[t]);
        });
      };
      if (is_between) shares([&](index_t, K share) { total = total + share; });
      if (total == K{}) return void(diagonal = diagonal + a[s]);
      shares([&, factor = a[s] / total](index_t k, K share) {
        K& to = k == i ? diagonal : found_[std::size_t(place_[std::size_t(k)])].second;
        to = to + factor * share;
      });
    });
    for (auto& [j, w] : found_) place_[std::size_t(j)] = -1, j = of_[j], sum = sum + w;
    K const phase = rows_.phase.data()[i];
    if (!(real_of(diagonal * phase) > Real(1e-3) * real_of(-sum * phase))) diagonal = -sum;  // couplings of both signs left too little
    for (auto& [j, w] : found_) w = diagonal == K{} ? K{} : -w / diagonal;
    return found_;
  }
  /// The weights of row i that are kept, coarse points ascending.
  std::vector<weight>& kept(index_t i) {
    all(i);
    if (found_.size() > classical_weights) {
      K const before = total();
      std::sort(found_.begin(), found_.end(), [](weight const& x, weight const& y) { return abs_of(x.second) != abs_of(y.second) ? abs_of(x.second) > abs_of(y.second) : x.first < y.first; });
      found_.resize(classical_weights);
      scale_to(before);
    }
    std::sort(found_.begin(), found_.end(), [](weight const& x, weight const& y) { return x.first < y.first; });
    return found_;
  }
  /// The weights of row i to the given coarse points, ascending, as out[0], out[1], ...
  void at(index_t i, std::int32_t const* first, std::int32_t const* last, K* out) {
    K const before = (all(i), total());
    found_.erase(std::remove_if(found_.begin(), found_.end(), [&](weight const& w) { return !std::binary_search(first, last, w.first); }), found_.end());
    scale_to(before);
    for (auto const& [j, w] : found_) out[std::lower_bound(first, last, j) - first] = w;
  }

private:
  K total() const {
    K sum{};
    for (auto const& [j, w] : found_) sum = sum + w;
    return sum;
  }
  void scale_to(K sum) {
    K const now = total();
    if (now == K{}) return;
    for (auto& [j, w] : found_) w = w * (sum / now);
  }

  amg_matrix<T> const& A_;
  amg_rows<T> const& rows_;
  std::int32_t const* of_;
  std::vector<std::int32_t> place_;                     ///< of a row among those found, -1 elsewhere
  std::vector<weight> found_;
  std::vector<std::pair<index_t, index_t>> between_;  ///< slots and columns of strong neighbours that are no coarse points
};

/// The pattern of the interpolation: the coarse points that each row keeps, ascending.
template <class T>
std::shared_ptr<amg_pattern const> extended_pattern(amg_matrix<T> const& A, amg_rows<T> const& rows, aggregates const& points) {
  index_t const n = A.rows();
  int const parts = parallel_parts(n);
  buffer<std::int32_t> count(n, uninitialized), found(n * classical_weights, uninitialized);
  parallel(parts, [&, c = count.data(), to = found.data()](int t) {
    extended_interpolation<T> row(A, rows, points);
    for (index_t i = n * t / parts; i < n * (t + 1) / parts; ++i) {
      auto const& kept = row.kept(i);
      c[i] = std::int32_t(kept.size());
      for (std::size_t k = 0; k < kept.size(); ++k) to[i * classical_weights + index_t(k)] = kept[k].first;
    }
  });
  auto row_ptr = row_pointers<std::int32_t>(n, [c = count.data()](index_t i) { return index_t(c[i]); });
  buffer<std::int32_t> col(row_ptr[n], uninitialized);
  parallel_ranges(n, [&, c = count.data(), from = found.data(), to = col.data()](index_t lo, index_t hi) {
    for (index_t i = lo; i < hi; ++i) std::copy_n(from + i * classical_weights, c[i], to + row_ptr[i]);
  });
  return detail::shared_of<amg_pattern const>(amg_pattern{n, points.count, std::move(row_ptr), std::move(col)});
}

/// The interpolation on a pattern of it: also new values keep the coarse points of each row.
template <class T>
amg_matrix<T> extended_values(amg_matrix<T> const& A, amg_rows<T> const& rows, aggregates const& points, std::shared_ptr<amg_pattern const> const& pattern) {
  amg_matrix<T> P(Matrix(A.rows(), points.count), pattern);
  index_t const n = A.rows();
  int const parts = parallel_parts(n);
  parallel(parts, [&, p = kernel_pointer(P.values().data()), ptr = pattern->row_ptr.data(), col = pattern->col.data()](int t) {
    extended_interpolation<T> row(A, rows, points);
    for (index_t i = n * t / parts; i < n * (t + 1) / parts; ++i) row.at(i, col + ptr[i], col + ptr[i + 1], p + ptr[i]);
  });
  return P;
}

} // namespace sla::detail

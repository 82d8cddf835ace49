// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The factors of a batch, in double precision: those of each item or, where these do not exist, of its connected components. What
// kind they are is known by two functions, so that the set-up is compiled once for all kinds. Made by solve/direct/direct.hpp.
#pragma once

#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <sla/solve/direct/factors.hpp>
#include <sla/solve/direct/matching.hpp>
#include <sla/solve/driver/prepared.hpp>
#include <sla/solve/precond/sweep.hpp>
#include <sla/solve/seam/numbered_error.hpp>
#include <sla/tensor/structure/components.hpp>

namespace sla::detail {

/// What went wrong with the factors of a batch item.
struct factor_failure {
  reason why = reason::converged;
  numbered_text what{};
  char const* in_solves = "";  ///< a remedy that solves have beside, and determinants have not
};

/// The functions of one kind of factors (solve/seam/factorization.hpp).
template <class Number, class Index>
struct factor_kind {
  factorization kind;
  factored (*factor)(std::shared_ptr<void>& of, index_t n, Index const* row_ptr, Index const* col, Number const* values, bool anew);
  std::size_t (*bytes)(void const* of);
};
template <class Number, factorization Kind>
inline constexpr factor_kind<Number, factor_index<Kind>> factor_functions{
    Kind,
    [](std::shared_ptr<void>& of, index_t n, factor_index<Kind> const* row_ptr, factor_index<Kind> const* col, Number const* values, bool anew) {
      auto f = std::static_pointer_cast<factors_of_one<Number, Kind>>(of);
      auto const out = factor_one(f, n, row_ptr, col, values, anew);
      of = std::move(f);
      return out;
    },
    [](void const* of) { return bytes_of_one(*static_cast<factors_of_one<Number, Kind> const*>(of)); }};

/// The factors of all rows of an item, or, where those failed, of one connected component: the others are solved.
template <class Index>
struct factors_part {
  std::shared_ptr<void> of{};  ///< factors_of_one; none: they failed, and give 0
  std::vector<Index> rows{};   ///< empty: all of them
};
/// The factors of each batch item.
template <class Number, class Index>
struct factors {
  index_t rows = 0;
  std::vector<std::vector<factors_part<Index>>> items;
  std::vector<factor_failure> failures;
  std::shared_ptr<void const> pattern;  ///< that the ordering is for
  std::size_t bytes = 0;

  /// Some rows of an n x rhs item of x, taken and written.
  template <class X, class Out>
  struct columns {
    X const* x;
    Out* out;
    index_t rhs;
    Index const* rows;
    index_t at(index_t i, index_t k) const { return (rows ? rows[i] : i) * rhs + k; }
    Number get(index_t i, index_t k) const { return Number(scalar_cast<kernel_t<Number>>(x[at(i, k)])); }
    void put(index_t i, index_t k, Number v) const { out[at(i, k)] = scalar_cast<Out>(kernel_t<Number>(v)); }
  };
  /// solve: one column with one factor.
  template <class X, class Out>
  void sweep(void (*solve)(void const* of, index_t n, Number* b), X const* x, Out* out, index_t rhs) const {
    for_batch_items(index_t(items.size()), [&](index_t b) {
      index_t const first = b * rows * rhs;
      for (auto const& p : items[std::size_t(b)]) {
        index_t const count = p.rows.empty() ? rows : index_t(p.rows.size());
        columns<X, Out> const at{x + first, out + first, rhs, p.rows.empty() ? nullptr : p.rows.data()};
        std::vector<Number> one(std::size_t(count), Number{});
        for (index_t k = 0; k < rhs && count > 0; ++k) {
          if (p.of) {
            for (index_t i = 0; i < count; ++i) one[std::size_t(i)] = at.get(i, k);
            solve(p.of.get(), count, one.data());
          }
          for (index_t i = 0; i < count; ++i) at.put(i, k, one[std::size_t(i)]);
        }
      }
    }, index_t(bytes / (sizeof(Number) + sizeof(int))) * rhs);
  }
};

/// The factors as sweeps see them.
template <class Number, factorization Kind>
struct factors_view {
  factors<Number, factor_index<Kind>> const* all;
  template <bool Adjoint, class X, class Out>
  void sweep(X const* x, Out* out, index_t rhs) const {
    all->sweep([](void const* of, index_t n, Number* b) { solve_one<Adjoint>(*static_cast<factors_of_one<Number, Kind> const*>(of), n, b); }, x, out, rhs);
  }
};

/// The factors of a part, if they exist.
template <class Number, class Index>
factored make_part(factor_kind<Number, Index> const& kind, factors_part<Index>& p, index_t n, Index const* row_ptr, Index const* col, Number const* values, bool anew) {
  try {
    return kind.factor(p.of, n, row_ptr, col, values, anew);
  } catch (std::bad_alloc const&) {
    p.of.reset();
    throw;
  }
}
/// What to say where they do not; rows: the numbers of the rows, null for 0, 1, ...; at: that of the pivot, if it is known.
template <class View, class Number, class Index>
factor_failure why_not(factorization kind, View const& view, Number const* values, Index const* rows, index_t at) {
  index_t const row = unmatched_row(without_zeros<View, Number>{view, values, view.rows, view.cols});
  auto const number = [&](index_t n) { return row_number{rows ? index_t(rows[n]) : n, true}; };
  if (row >= 0) return {reason::singular, numbered_text("structurally singular: no choice of pivots serves row ", number(row))};
  auto const pivot = [&](char const* is) { return at < 0 ? numbered_text("a pivot ", is) : numbered_text("the pivot of row ", number(at), ' ', is); };
  if (is_cholesky(kind)) return {reason::indefinite_matrix, pivot("is not positive: use ldlt or lu")};
  if (kind == factorization::ldlt) return {reason::zero_pivot, pivot("is zero, and ldlt exchanges no rows, so that A need not be singular: take lu{}"), " or minres{}"};
  return {reason::singular, pivot("is zero")};
}
/// The factors of item b, and what went wrong; where they fail, those of its connected components, each by itself: the systems of a list, for one.
template <class Number, class Index, class Scalars>
factor_failure factor_item(factor_kind<Number, Index> const& kind, Scalars const& A, index_t b, std::vector<factors_part<Index>>& parts, index_t bare, bool anew) {
  factor_failure failure;
  auto const& p = A.pattern();
  auto const* const values = A.values().data() + b * A.batch_stride();
  if (parts.size() != 1 || !parts[0].of || !parts[0].rows.empty()) parts.clear(), parts.resize(1), anew = true;
  factored made{false};
  if (bare < 0 && (made = make_part(kind, parts[0], A.rows(), p.row_ptr.data(), p.col.data(), values, anew)).done) return failure;
  auto const components = connected_components(A);
  if (components.count == 1) {
    parts[0].of.reset();
    return why_not(kind.kind, p.view(), values, static_cast<Index const*>(nullptr), made.row);
  }
  parts.clear(), parts.resize(std::size_t(components.count));
  std::vector<Index> place(std::size_t(A.rows()));  // of each row in its component
  for (index_t i = 0; i < A.rows(); ++i) {
    auto& rows = parts[std::size_t(components.label[i])].rows;
    place[std::size_t(i)] = Index(rows.size());
    rows.push_back(Index(i));
  }
  std::vector<Index> row_ptr, col;
  std::vector<Number> entries;
  for (auto& one : parts) {
    row_ptr.assign(1, 0), col.clear(), entries.clear();
    for (Index const i : one.rows) {
      p.view().for_row(i, [&](index_t s, index_t j) { col.push_back(place[std::size_t(j)]), entries.push_back(values[s]); });
      row_ptr.push_back(Index(col.size()));
    }
    index_t const n = index_t(one.rows.size());
    csr_view<Index, Index> const view{row_ptr.data(), col.data(), n, n};
    made = {false};
    if (unmatched_row(view) < 0 && (made = make_part(kind, one, n, row_ptr.data(), col.data(), entries.data(), true)).done) continue;
    one.of.reset();
    if (failure.why == reason::converged) failure = why_not(kind.kind, view, entries.data(), one.rows.data(), made.row);
  }
  return failure;
}
/// The factors f of all items of A; their order too, if anew. Errors: std::bad_alloc, and all items say so.
template <class Number, class Index, class Scalars>
void make_parts(factors<Number, Index>& f, factor_kind<Number, Index> const& kind, Scalars const& A, bool anew) {
  f.pattern = nullptr;
  f.rows = A.rows();
  f.items.resize(std::size_t(A.batch_count()));
  f.failures.resize(f.items.size());
  index_t const bare = anew ? unmatched_row(A.pattern().view()) : -1;
  try {
    for_batch_items(A.batch_count(), [&](index_t b) { f.failures[std::size_t(b)] = factor_item(kind, A, b, f.items[std::size_t(b)], bare, anew); });
  } catch (...) {
    for (std::size_t b = 0; b < f.items.size(); ++b) {
      f.items[b].clear(), f.items[b].resize(1);
      f.failures[b] = {reason::setup_failed, numbered_text("out of memory")};  // as short as not to want memory
    }
    f.bytes = 0;
    throw;
  }
  f.bytes = 0;
  for (auto const& parts : f.items)
    for (auto const& p : parts)
      if (p.of) f.bytes += kind.bytes(p.of.get());
}

} // namespace sla::detail

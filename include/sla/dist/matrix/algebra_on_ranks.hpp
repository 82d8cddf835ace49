// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sparse algebra across ranks, with sparse results: D + E, D - E, D * E, s * D, of matrices whose rows are on ranks; views are stored first:
// transpose(P) * (D * P). That of one rank is in expr/sparse/algebra.hpp; scaling by rows and columns in dist/matrix/matrix_functions.hpp.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <sla/dist/matrix/matrix_functions.hpp>

namespace sla {

namespace detail {
/// Rows on one axis, found at run time, and whole copies of them on the others.
template <class P>
inline constexpr bool is_found_rows = false;
template <class F>
inline constexpr bool is_found_rows<SparseShard<0, F>> = !F::stated;
template <class List>
inline constexpr bool has_found_rows = false;
template <class... P>
inline constexpr bool has_found_rows<placements<P...>> = (int(is_found_rows<P>) + ... + 0) == 1 && ((is_found_rows<P> || is_copied(P::kind)) && ...);
template <class A>
using matrix_of_t = std::remove_cvref_t<decltype(matrix_of(std::declval<A const&>()))>;
template <class A, class B>
inline constexpr bool rows_alike = has_found_rows<placements_of_t<matrix_of_t<A>>> && std::same_as<placements_of_t<matrix_of_t<A>>, placements_of_t<matrix_of_t<B>>> &&
                                   std::same_as<mesh_of_t<matrix_of_t<A>>, mesh_of_t<matrix_of_t<B>>>;

/// A matrix itself, or what a view of one says, stored. Collective where it is transposed.
template <class A>
decltype(auto) stored_on_ranks(A const& a) {
  using V = view_orientation<A>;
  if constexpr (V::transposed) {
    return stored_transpose<V::conj>(*a.matrix);
  } else if constexpr (V::conj) {
    auto local = with_values(a.matrix->local(), conj(values(a.matrix->local())));
    return typename distributed_with<decltype(local), mesh_of_t<matrix_of_t<A>>, placements_of_t<matrix_of_t<A>>>::type(std::move(local), a.matrix->handle());
  } else {
    return (matrix_of(a));
  }
}

template <class T, class S>
using global_rows_t = sparse_tensor<T, open_shape_t<S>, Csr<index_t, index_t>>;
template <class T, class S, class Values>
auto made_of_global_rows(S const& shape, buffer<index_t> row_ptr, buffer<index_t> col, Values values) {
  using pattern = csr_pattern<index_t, index_t, host_memory>;
  auto shared = std::make_shared<pattern const>(pattern{shape.rows(), shape.cols(), std::move(row_ptr), std::move(col)});
  return global_rows_t<T, S>(shape, std::move(shared), std::move(values));
}
/// This rank's rows with the global numbers of their columns, ascending.
template <class D>
auto global_rows(D const& d) {
  using Local = local_of_t<D>;
  using S = open_shape_t<typename Local::shape_type>;
  Local const& A = d.local();
  global_places<D> const places{d};
  buffer<index_t> row_ptr(A.rows() + 1, uninitialized), col(A.nnz(), uninitialized), from(A.nnz(), uninitialized);
  std::vector<std::pair<index_t, index_t>> entries;
  index_t at = row_ptr[0] = 0;
  for (index_t i = 0; i < A.rows(); ++i) {
    entries.clear();
    A.pattern().view().for_row(i, [&](index_t s, index_t j) { entries.push_back({places.col(j), s}); });
    std::sort(entries.begin(), entries.end());
    for (auto const& [j, s] : entries) {
      col[at] = j;
      from[at++] = s;
    }
    row_ptr[i + 1] = at;
  }
  S const shape(A.shape().batch(), A.rows(), domain_layout(d.handle())->rows->extent());
  return made_of_global_rows<typename Local::value_type>(shape, std::move(row_ptr), std::move(col),
                                                         gathered_blocks<Local::block_size>(A.values().data(), A.batch_stride(), from, A.batch_count()));
}
/// Such rows as a matrix whose rows lie as those of D, and its columns as `domain`. Collective.
template <class D, class Rows>
auto with_local_columns(D const& d, Rows const& rows, std::shared_ptr<row_partition const> const& domain) {
  using Sparse = sparse_tensor<typename Rows::value_type, open_shape_t<typename Rows::shape_type>, local_csr_t<typename local_of_t<D>::format_type>>;
  typename Sparse::shape_type const whole(rows.shape().batch(), d.handle()->rows->extent(), rows.cols());
  auto const at = locate<Sparse>(rows.pattern().row_ptr, rows.pattern().col, whole, d.mesh(), sparse_axis<placements_of_t<D>>, d.handle()->extent, d.handle()->rows, domain);
  return typename distributed_with<Sparse, mesh_of_t<D>, placements_of_t<D>>::type(at.template tensor_of<Sparse>(whole, rows.values().data()), at.layout);
}

/// Errors: shape_error, in words that begin with the call, if sides that meet have other extents or owners.
inline void require_one_side(char const* call, char const* of, row_partition const& a, row_partition const& b) {
  if (a.extent() != b.extent()) throw shape_error(text(call, ": ", of, " are ", a.extent(), " and ", b.extent(), "; they must be equal"));
  if (!same_rows(&a, &b))
    throw shape_error(text(call, ": ", of, " have other owners: rank ", a.rank(), " has ", a.words(), " of the one, and ", b.words(),
                           " of the other; distribute both by one layout, D.row_layout(), or repartition one"));
}

template <class NA, class D, class NB, class E>
auto sum_on_ranks(NA alpha, D const& d, NB beta, E const& e) {
  require_one_side("D + E", "their rows", *d.handle()->rows, *e.handle()->rows);
  auto const& columns = domain_layout(d.handle())->rows;
  require_one_side("D + E", "their columns", *columns, *domain_layout(e.handle())->rows);
  return with_local_columns(d, add(alpha, global_rows(d), beta, global_rows(e)), columns);
}

/// The rows of E that this rank owns, and behind them those of the ghosts that D reads. Collective.
template <class D, class E>
auto rows_read(D const& d, E const& e) {
  using Local = local_of_t<E>;
  using T = typename Local::value_type;
  constexpr index_t block = Local::block_size;
  auto const& halo = *d.handle()->halo;
  any_communicator& c = halo.communicator();
  auto const mine = global_rows(e);
  auto const& pattern = mine.pattern();
  std::vector<index_t> lengths, columns;
  std::vector<T> sent;
  std::vector<std::size_t> rows_for(std::size_t(c.size()), 0), entries_for = rows_for;
  for (halo_message const& m : halo.sends()) {
    rows_for[std::size_t(m.rank)] = std::size_t(m.count);
    std::size_t const before = columns.size();
    for (index_t n = m.first; n < m.first + m.count; ++n) {
      index_t const i = halo.sent()[std::size_t(n)], begin = pattern.row_ptr[i], end = pattern.row_ptr[i + 1];
      lengths.push_back(end - begin);
      columns.insert(columns.end(), pattern.col.data() + begin, pattern.col.data() + end);
      sent.insert(sent.end(), mine.values().data() + begin * block, mine.values().data() + end * block);
    }
    entries_for[std::size_t(m.rank)] = columns.size() - before;
  }
  auto const got_lengths = all_to_all(c, lengths, rows_for);
  auto const got_columns = all_to_all(c, columns, entries_for);
  for (std::size_t& n : entries_for) n *= std::size_t(block);
  auto const got = all_to_all(c, sent, entries_for);

  index_t const own = mine.rows(), ghosts = halo.ghosts(), nnz = mine.nnz() + index_t(got_columns.values.size());
  buffer<index_t> row_ptr(own + ghosts + 1, uninitialized), col(nnz, uninitialized);
  buffer<T> values(nnz * block, uninitialized);
  std::copy_n(pattern.row_ptr.data(), own + 1, row_ptr.data());
  for (index_t g = 0; g < ghosts; ++g) row_ptr[own + g + 1] = row_ptr[own + g] + got_lengths.values[std::size_t(g)];
  std::copy(got_columns.values.begin(), got_columns.values.end(), std::copy_n(pattern.col.data(), mine.nnz(), col.data()));
  std::copy(got.values.begin(), got.values.end(), std::copy_n(mine.values().data(), mine.nnz() * block, values.data()));
  open_shape_t<typename Local::shape_type> const shape(mine.shape().batch(), own + ghosts, mine.cols());
  return made_of_global_rows<T>(shape, std::move(row_ptr), std::move(col), std::move(values));
}
template <class D, class E>
auto product_on_ranks(D const& d, E const& e) {
  require_one_side("D * E", "the columns of D and the rows of E", *domain_layout(d.handle())->rows, *e.handle()->rows);
  return with_local_columns(d, to<Csr<index_t, index_t>>(d.local()) * rows_read(d, e), domain_layout(e.handle())->rows);
}

/// s D, or D / s: on D's pattern, no communication.
template <class D, class F>
auto scaled_on_ranks(D const& d, F const& f) {
  auto local = f(d.local());
  return typename distributed_with<decltype(local), mesh_of_t<D>, placements_of_t<D>>::type(std::move(local), d.handle());
}
template <class A>
using literal_of = std::type_identity_t<literal<typename matrix_of_t<A>::value_type>>;
} // namespace detail

/// D + E and D - E on the union of their patterns. Law: both are sharded by rows on one axis, with the same owners. Placement: theirs.
/// Collective: columns are numbered again. Cost: time and memory of both; the numbers of ghosts travel. Gradient: dist/matrix/algebra_gradient.hpp.
/// Errors, on every rank: shape_error, if their extents or owners differ.
template <DistributedOperator A, DistributedOperator B>
auto operator+(A const& a, B const& b) {
  static_assert(detail::rows_alike<A, B>, "sla: D + E of distributed matrices: both are sharded by rows, over one axis of one mesh: distribute<SparseShard<0>>(A, mesh, "
                                          "partitioner); of others add what they make, D * x + E * x");
  if constexpr (detail::rows_alike<A, B>)
    return detail::sum_on_ranks(1, detail::stored_on_ranks(a), 1, detail::stored_on_ranks(b));
  else
    return detail::matrix_of(a);
}
template <DistributedOperator A, DistributedOperator B>
auto operator-(A const& a, B const& b) {
  static_assert(detail::rows_alike<A, B>, "sla: D - E of distributed matrices: both are sharded by rows, over one axis of one mesh: distribute<SparseShard<0>>(A, mesh, "
                                          "partitioner); of others subtract what they make, D * x - E * x");
  if constexpr (detail::rows_alike<A, B>)
    return detail::sum_on_ranks(1, detail::stored_on_ranks(a), -1, detail::stored_on_ranks(b));
  else
    return detail::matrix_of(a);
}
/// D * E, sparse. Law: both are sharded by rows on one axis; E's rows are owned as D's columns are; no batches. Placement: rows as D's, columns
/// as E's. Collective. Cost: the rows of E that D's ghosts name travel once; else that of the product of a rank's rows. Gradient: as of the sum.
/// Errors, on every rank: shape_error, if the sides that meet differ in extents or owners.
template <DistributedOperator A, DistributedOperator B>
auto operator*(A const& a, B const& b) {
  constexpr bool plain = !local_of_t<detail::matrix_of_t<A>>::shape_type::is_batched && !local_of_t<detail::matrix_of_t<B>>::shape_type::is_batched;
  static_assert(detail::rows_alike<A, B> && plain, "sla: D * E of distributed matrices: both are sharded by rows, over one axis of one mesh, and have no batch: "
                                                   "distribute<SparseShard<0>>(A, mesh, partitioner); of others apply one after the other, D * (E * x)");
  if constexpr (detail::rows_alike<A, B> && plain)
    return detail::product_on_ranks(detail::stored_on_ranks(a), detail::stored_on_ranks(b));
  else
    return detail::matrix_of(a);
}
/// A multiple of D, whatever its placement, in that. The number stands in the program, or is `uniform(s)`. No communication. Gradient: conj(s) g.
template <DistributedOperator A>
auto operator*(detail::literal_of<A> s, A const& a) {
  return detail::scaled_on_ranks(detail::stored_on_ranks(a), [&](auto const& local) { return s.value() * local; });
}
template <DistributedOperator A>
auto operator*(A const& a, detail::literal_of<A> s) {
  return detail::scaled_on_ranks(detail::stored_on_ranks(a), [&](auto const& local) { return local * s.value(); });
}
template <DistributedOperator A>
auto operator/(A const& a, detail::literal_of<A> s) {
  return detail::scaled_on_ranks(detail::stored_on_ranks(a), [&](auto const& local) { return local / s.value(); });
}
template <class T, DistributedOperator A>
auto operator*(uniform_number<T> s, A const& a) {
  return detail::scaled_on_ranks(detail::stored_on_ranks(a), [&](auto const& local) { return s.value() * local; });
}
template <class T, DistributedOperator A>
auto operator*(A const& a, uniform_number<T> s) {
  return detail::scaled_on_ranks(detail::stored_on_ranks(a), [&](auto const& local) { return local * s.value(); });
}
template <class T, DistributedOperator A>
auto operator/(A const& a, uniform_number<T> s) {
  return detail::scaled_on_ranks(detail::stored_on_ranks(a), [&](auto const& local) { return local / s.value(); });
}
template <DistributedOperator A>
auto operator-(A const& a) {
  return detail::scaled_on_ranks(detail::stored_on_ranks(a), [](auto const& local) { return -local; });
}

} // namespace sla

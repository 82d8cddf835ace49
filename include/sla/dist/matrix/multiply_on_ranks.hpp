// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of matrices whose rows are on ranks: `multiply_plan`, which finds the pattern of D E and who reads what once, and then sends and multiplies
// values. The operator D * E is in dist/matrix/algebra_on_ranks.hpp, the plan of one rank in tensor/algebra/multiply.hpp.
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
/// This rank's rows by the global numbers of their columns, ascending, and the slots that these entries have in D.
struct global_order {
  buffer<index_t> row_ptr, col, from;
  template <class D>
  explicit global_order(D const& d) : row_ptr(d.local().rows() + 1, uninitialized), col(d.local().nnz(), uninitialized), from(d.local().nnz(), uninitialized) {
    global_places<D> const places{d};
    std::vector<std::pair<index_t, index_t>> entries;
    index_t at = row_ptr[0] = 0;
    for (index_t i = 0; i < d.local().rows(); ++i) {
      entries.clear();
      d.local().pattern().view().for_row(i, [&](index_t s, index_t j) { entries.push_back({places.col(j), s}); });
      std::sort(entries.begin(), entries.end());
      for (auto const& [j, s] : entries) {
        col[at] = j;
        from[at++] = s;
      }
      row_ptr[i + 1] = at;
    }
  }
};
template <class D>
auto global_rows(D const& d) {
  using Local = local_of_t<D>;
  Local const& A = d.local();
  global_order order(d);
  open_shape_t<typename Local::shape_type> const shape(A.shape().batch(), A.rows(), domain_layout(d.handle())->rows->extent());
  auto values = gathered_blocks<Local::block_size>(A.values().data(), A.batch_stride(), order.from, A.batch_count());
  return made_of_global_rows<typename Local::value_type>(shape, std::move(order.row_ptr), std::move(order.col), std::move(values));
}
/// Such rows as a matrix whose rows lie as those of D, and its columns as `domain`. Collective.
template <class D, class Rows>
auto with_local_columns(D const& d, Rows const& rows, std::shared_ptr<row_partition const> const& domain) {
  using Sparse = sparse_tensor<typename Rows::value_type, open_shape_t<typename Rows::shape_type>, local_csr_t<typename local_of_t<D>::format_type>>;
  typename Sparse::shape_type const whole(rows.shape().batch(), d.handle()->rows->extent(), rows.cols());
  auto const at = locate<Sparse>(rows.pattern().row_ptr, rows.pattern().col, whole, d.mesh(), sparse_axis<placements_of_t<D>>, d.handle()->extent, d.handle()->rows, domain);
  return typename distributed_with<Sparse, mesh_of_t<D>, placements_of_t<D>>::type(at.template tensor_of<Sparse>(whole, rows.values().data()), at.layout);
}

/// The rows of E that this rank owns, and behind them the ghosts of a halo of such rows: their pattern, by global numbers of columns, and the messages
/// in which their values come.
class rows_read {
public:
  /// Collective.
  template <class E>
  rows_read(halo_plan const& halo, E const& e) {
    any_communicator& c = halo.communicator();
    global_order mine(e);
    std::vector<index_t> lengths, columns;
    std::vector<std::size_t> rows_for(std::size_t(c.size()), 0), entries_for = rows_for;
    for (halo_message const& m : halo.sends()) {
      rows_for[std::size_t(m.rank)] = std::size_t(m.count);
      index_t const before = index_t(sent_.size());
      for (index_t n = m.first; n < m.first + m.count; ++n) {
        index_t const i = halo.sent()[std::size_t(n)], begin = mine.row_ptr[i], end = mine.row_ptr[i + 1];
        lengths.push_back(end - begin);
        columns.insert(columns.end(), mine.col.data() + begin, mine.col.data() + end);
        sent_.insert(sent_.end(), mine.from.data() + begin, mine.from.data() + end);
      }
      sends_.push_back({m.rank, before, index_t(sent_.size()) - before});
      entries_for[std::size_t(m.rank)] = std::size_t(sends_.back().count);
    }
    auto const got_lengths = all_to_all(c, lengths, rows_for);
    auto const got_columns = all_to_all(c, columns, entries_for);
    for (halo_message const& m : halo.receives()) {
      receives_.push_back({m.rank, arriving_, index_t(got_columns.counts[std::size_t(m.rank)])});
      arriving_ += receives_.back().count;
    }
    index_t const own = e.local().rows(), ghosts = halo.ghosts(), here = mine.col.size();
    buffer<index_t> row_ptr(own + ghosts + 1, uninitialized), col(here + arriving_, uninitialized);
    std::copy_n(mine.row_ptr.data(), own + 1, row_ptr.data());
    for (index_t g = 0; g < ghosts; ++g) row_ptr[own + g + 1] = row_ptr[own + g] + got_lengths.values[std::size_t(g)];
    std::copy(got_columns.values.begin(), got_columns.values.end(), std::copy_n(mine.col.data(), here, col.data()));
    from_ = std::move(mine.from);
    pattern = std::make_shared<wide_pattern const>(wide_pattern{own + ghosts, domain_layout(e.handle())->rows->extent(), std::move(row_ptr), std::move(col)});
  }
  /// The values of these rows. Collective: neighbours exchange messages.
  template <class Local>
  auto values(any_communicator& c, Local const& e) const {
    using T = typename Local::value_type;
    constexpr index_t block = Local::block_size;
    std::vector<T> sent(sent_.size() * std::size_t(block));
    for (std::size_t n = 0; n < sent_.size(); ++n) std::copy_n(e.values().data() + sent_[n] * block, block, sent.data() + index_t(n) * block);
    index_t const here = from_.size() * block;
    buffer<T> out(here + arriving_ * block, uninitialized);
    std::vector<dependent_t<outgoing_message, T>> sends;
    std::vector<dependent_t<incoming_message, T>> receives;
    for (halo_message const& m : sends_)
      if (m.count > 0) sends.push_back(send_to(m.rank, std::span<T const>(sent).subspan(std::size_t(m.first * block), std::size_t(m.count * block))));
    for (halo_message const& m : receives_)
      if (m.count > 0) receives.push_back(receive_from(m.rank, std::span<T>(out.data() + here + m.first * block, std::size_t(m.count * block))));
    auto const under_way = c.start(sends, receives);
    for (index_t n = 0; n < from_.size(); ++n) std::copy_n(e.values().data() + from_[n] * block, block, out.data() + n * block);
    under_way->wait();
    return out;
  }

  using wide_pattern = csr_pattern<index_t, index_t, host_memory>;
  std::shared_ptr<wide_pattern const> pattern;

private:
  buffer<index_t> from_;  ///< the slots of the own rows
  std::vector<index_t> sent_;
  std::vector<halo_message> sends_, receives_;  ///< of entries
  index_t arriving_ = 0;
};
} // namespace detail

/// The pattern of D E on ranks, kept, with who reads what: new values on the old patterns are sent to the ranks that read them, and multiplied.
///     multiply_plan plan(D, E);  auto C = plan(D, E);  plan.update(C, D2, E2);  // transposes: transpose_plan
/// Law, placement: those of D * E. Each call is collective. Cost: once that of D * E; then a message to each neighbour, and the multiplications.
/// Memory: the patterns of D, of the rows of E that are read, and of C. Errors, on every rank: shape_error, for other patterns than those of the
/// plan, and where C is not of it.
template <DistributedSparse D, DistributedSparse E>
class multiply_plan<D, E> {
  static constexpr bool plain = !local_of_t<D>::shape_type::is_batched && !local_of_t<E>::shape_type::is_batched;
  static_assert(detail::rows_alike<D, E> && plain, "sla: multiply_plan plan(D, E) of distributed matrices: both are sharded by rows, over one axis of one mesh, and have no batch: "
                                                   "distribute<SparseShard<0>>(A, mesh, partitioner)");
  using wide = Csr<index_t, index_t>;
  using Shape = detail::open_shape_t<multiplied_shape_t<typename local_of_t<D>::shape_type, typename local_of_t<E>::shape_type>>;
  using T = user_t<promote_t<typename local_of_t<D>::value_type, typename local_of_t<E>::value_type>>;
  using local_type = sparse_tensor<T, Shape, detail::local_csr_t<typename local_of_t<D>::format_type>>;

public:
  using result_type = typename detail::distributed_with<local_type, mesh_of_t<D>, placements_of_t<D>>::type;

  /// Collective. Errors, on every rank: shape_error, if the sides that meet differ in extents or owners.
  multiply_plan(D const& d, E const& e)
      : patterns_{(detail::require_one_side("D * E", "the columns of D and the rows of E", *detail::domain_layout(d.handle())->rows, *e.handle()->rows), d.local().shared_pattern()),
                  e.local().shared_pattern()},
        layout_(d.handle()), rows_(*d.handle()->halo, e), left_(widened(d.local().pattern())), local_(left_, rows_.pattern), whole_({}, d.rows(), e.cols()),
        at_(detail::locate<local_type>(local_.shared_pattern()->row_ptr, local_.shared_pattern()->col, whole_, d.mesh(), detail::sparse_axis<placements_of_t<D>>, d.handle()->extent,
                                       d.handle()->rows, detail::domain_layout(e.handle())->rows)) {}

  /// D E.
  result_type operator()(D const& d, E const& e) const { return {product(d, e), at_.layout}; }
  /// The values of D E into C, which is of this plan.
  void update(result_type& c, D const& d, E const& e) const {
    require(c.local().shared_pattern() == at_.pattern, "; C must come from this plan: C = plan(D, E)");
    c.local() = product(d, e);
  }

private:
  template <class Pattern>
  static std::shared_ptr<detail::rows_read::wide_pattern const> widened(Pattern const& p) {
    detail::rows_read::wide_pattern out{p.rows, p.cols, buffer<index_t>(p.rows + 1, uninitialized), buffer<index_t>(p.nnz(), uninitialized)};
    std::copy_n(p.row_ptr.data(), p.rows + 1, out.row_ptr.data());
    std::copy_n(p.col.data(), p.nnz(), out.col.data());
    return std::make_shared<detail::rows_read::wide_pattern const>(std::move(out));
  }
  void require(bool fits, char const* remedy) const {
    detail::together(layout_->halo->communicator(), [&] {
      if (!fits) throw shape_error(text("multiply_plan(D, E) on rank ", layout_->rows->rank(), ": other patterns than those of the plan", remedy));
      return 0;
    });
  }
  local_type product(D const& d, E const& e) const {
    require(same_pattern(d.local().pattern(), *patterns_.first) && same_pattern(e.local().pattern(), *patterns_.second), "; make a plan of those");
    using A = sparse_tensor<typename local_of_t<D>::value_type, detail::open_shape_t<typename local_of_t<D>::shape_type>, wide>;
    using B = sparse_tensor<typename local_of_t<E>::value_type, detail::open_shape_t<typename local_of_t<E>::shape_type>, wide>;
    B const right({{}, rows_.pattern->rows, rows_.pattern->cols}, rows_.pattern, rows_.values(layout_->halo->communicator(), e.local()));
    auto const values = buffer<typename A::value_type>::borrow(d.local().values().data(), d.local().values().size());
    return at_.template tensor_of<local_type>(whole_, local_(A({{}, left_->rows, left_->cols}, left_, values), right).values().data());
  }

  std::pair<std::shared_ptr<typename local_of_t<D>::pattern_type const>, std::shared_ptr<typename local_of_t<E>::pattern_type const>> patterns_;
  layout_handle<mesh_of_t<D>> layout_;
  detail::rows_read rows_;
  std::shared_ptr<detail::rows_read::wide_pattern const> left_;
  multiply_plan<wide, wide> local_;
  Shape whole_;
  detail::local_entries<local_type, mesh_of_t<D>> at_;
};
template <DistributedSparse D, DistributedSparse E>
multiply_plan(D const&, E const&) -> multiply_plan<D, E>;

} // namespace sla

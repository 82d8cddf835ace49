// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sparse tensors of different sizes, packed as one block-diagonal tensor. Products and the space whose items are the systems
// are in exec/list_space.hpp, `solve` of a list in solve/linear/linear_list.hpp. Systems of one pattern are a batch (tensor/build/block.hpp).
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <sla/core/held.hpp>
#include <sla/tensor/arrange/cat.hpp>
#include <sla/tensor/arrange/slice.hpp>

namespace sla {

/// A list of sparse tensors (M_k, N_k, *block), stored as the tensor (sum of M_k, sum of N_k, *block) with them along its
/// diagonal: `sparse_list A(std::vector{A0, A1, A2});` The names: system k is A[k], vectors of all systems are packed one
/// after the other.
template <Scalar T, class S = Matrix, Format F = Csr<>>
class sparse_list {
public:
  using value_type = T;
  using packed_type = sparse_tensor<T, S, F>;
  using system_type = packed_type;
  using cuts_type = std::shared_ptr<std::vector<index_t> const>;

  /// Errors: shape_error, if there is no system.
  template <class S2, class F2>
  explicit sparse_list(std::vector<sparse_tensor<T, S2, F2>> const& systems) : packed_(block_diagonal(some(systems))) {
    static_assert(!S::is_batched, "sla: sparse_list: its systems have no batch axes; a batch in one pattern is one tensor");
    std::vector<index_t> rows{0}, cols{0};
    for (auto const& a : systems) {
      rows.push_back(rows.back() + a.rows());
      cols.push_back(cols.back() + a.cols());
    }
    keep(std::move(rows), std::move(cols));
  }
  /// A tensor that is block diagonal already, and where its systems begin and end: systems + 1 rows, and as many columns.
  /// Errors: shape_error, if they do not ascend from 0 to its extents; index_error, if an entry lies outside of the systems.
  sparse_list(packed_type packed, std::vector<index_t> row_cuts, std::vector<index_t> col_cuts) : packed_(std::move(packed)) {
    keep(std::move(row_cuts), std::move(col_cuts));
    check_cuts(*row_cuts_, packed_.rows(), "rows");
    check_cuts(*col_cuts_, packed_.cols(), "columns");
    if (row_cuts_->size() != col_cuts_->size())
      throw shape_error(text("sparse_list: ", count(), " systems by their rows, ", col_cuts_->size() - 1, " by their columns"));
    for (index_t k = 0; k < count(); ++k)
      for (index_t i = first_row(k); i < first_row(k + 1); ++i)
        packed_.pattern().view().for_row(i, [&](index_t, index_t j) {
          if (j < first_col(k) || j >= first_col(k + 1))
            throw index_error(text("sparse_list: entry (", i, ", ", j, ") is outside of system ", k, ", rows ", first_row(k), " .. ", first_row(k + 1),
                                   ", columns ", first_col(k), " .. ", first_col(k + 1), "; systems share no entries"));
        });
  }

  index_t count() const { return index_t(row_cuts_->size()) - 1; }
  index_t nnz() const { return packed_.nnz(); }
  /// All systems along the diagonal; new values on its pattern are new systems.
  packed_type const& packed() const { return packed_; }
  packed_type& packed() { return packed_; }
  /// System k begins at row (*row_cuts())[k] of the packed tensor; the last number is that of all rows.
  cuts_type const& row_cuts() const { return row_cuts_.shared(); }
  cuts_type const& col_cuts() const { return col_cuts_.shared(); }
  index_t rows(index_t k) const { return first_row(k + 1) - first_row(k); }
  index_t cols(index_t k) const { return first_col(k + 1) - first_col(k); }

  /// System k, with values of its own. Errors: index_error.
  system_type operator[](index_t k) const {
    if (k < 0 || k >= count()) throw index_error(text("L[k]: system ", k, " of a list of ", count(), "; k is at least 0 and less than that"));
    return systems_of(k, k + 1);
  }

  /// The systems first to last - 1, as a list; there is at least one. Errors: index_error.
  sparse_list systems(index_t first, index_t last) const {
    if (first < 0 || last > count() || first >= last)
      throw index_error(text("systems ", first, " .. ", last, " of a list of ", count(), "; a list has at least one"));
    auto const moved = [&](std::vector<index_t> const& cuts) {
      std::vector<index_t> out(cuts.begin() + first, cuts.begin() + last + 1);
      for (index_t& at : out) at -= cuts[std::size_t(first)];
      return out;
    };
    return {systems_of(first, last), moved(*row_cuts_), moved(*col_cuts_)};
  }

  /// Vectors of the systems' rows (or columns), one after the other: b[k] is (M_k, p), or has one more axis of right-hand
  /// sides; the axes after the first are equal. Errors: shape_error that names the system.
  template <class U, class E>
  tensor<U, E> pack_rows(std::vector<tensor<U, E>> const& b) const {
    return pack(b, *row_cuts_, "rows");
  }
  template <class U, class E>
  tensor<U, E> pack_cols(std::vector<tensor<U, E>> const& x) const {
    return pack(x, *col_cuts_, "columns");
  }
  /// The parts of a packed vector, by rows or by columns.
  template <class U, class E>
  std::vector<tensor<U, E>> unpack_rows(tensor<U, E> const& b) const {
    return unpack(b, *row_cuts_, "rows");
  }
  template <class U, class E>
  std::vector<tensor<U, E>> unpack_cols(tensor<U, E> const& x) const {
    return unpack(x, *col_cuts_, "columns");
  }

private:
  template <class Systems>
  static Systems const& some(Systems const& systems) {
    if (systems.empty()) throw shape_error("sparse_list: a list of no systems; it has at least one");
    return systems;
  }
  packed_type systems_of(index_t first, index_t last) const {
    return sla::cols(sla::rows(packed_, first_row(first), first_row(last)), first_col(first), first_col(last));
  }
  index_t first_row(index_t k) const { return (*row_cuts_)[std::size_t(k)]; }
  index_t first_col(index_t k) const { return (*col_cuts_)[std::size_t(k)]; }
  void keep(std::vector<index_t> rows, std::vector<index_t> cols) {
    row_cuts_ = detail::shared_of<std::vector<index_t> const>(std::move(rows));
    col_cuts_ = detail::shared_of<std::vector<index_t> const>(std::move(cols));
  }
  static void check_cuts(std::vector<index_t> const& cuts, index_t extent, char const* what) {
    for (std::size_t k = 0; k + 1 < cuts.size(); ++k)
      if (cuts[k + 1] < cuts[k])
        throw shape_error(text("sparse_list: system ", k, " has ", what, ' ', cuts[k], " .. ", cuts[k + 1], "; systems ascend and do not overlap"));
    if (cuts.size() < 2 || cuts.front() != 0 || cuts.back() != extent)
      throw shape_error(text("sparse_list: the systems have ", what, cuts.empty() ? text(" nowhere") : text(' ', cuts.front(), " .. ", cuts.back()), " of 0 .. ",
                             extent, "; they cover them all"));
  }
  template <class U, class E>
  static tensor<U, E> pack(std::vector<tensor<U, E>> const& parts, std::vector<index_t> const& cuts, char const* what) {
    static_assert(E::rank > 0 && E::static_extent(0) == dyn, "sla: vectors of a list differ in their first extent: dyn");
    if (parts.size() + 1 != cuts.size()) throw shape_error(text(parts.size(), " vectors for a list of ", cuts.size() - 1, " systems; there is one for each"));
    for (std::size_t k = 0; k < parts.size(); ++k) {
      if (parts[k].extent(0) != cuts[k + 1] - cuts[k])
        throw shape_error(text("vector ", k, " of a list is ", to_string(parts[k].extents()), "; system ", k, " has ", cuts[k + 1] - cuts[k], ' ', what));
      for (int axis = 1; axis < E::rank; ++axis)
        if (parts[k].extent(axis) != parts[0].extent(axis))
          throw shape_error(text("vector ", k, " of a list is ", to_string(parts[k].extents()), ", vector 0 ", to_string(parts[0].extents()),
                                 "; the axes after the first are equal"));
    }
    tensor<U, E> out(sized<E>(parts[0].extents(), cuts.back()), uninitialized);
    index_t at = 0;
    for (auto const& part : parts) {
      std::copy(part.begin(), part.end(), out.data() + at);
      at += part.size();
    }
    return out;
  }
  template <class U, class E>
  static std::vector<tensor<U, E>> unpack(tensor<U, E> const& all, std::vector<index_t> const& cuts, char const* what) {
    static_assert(E::rank > 0 && E::static_extent(0) == dyn, "sla: vectors of a list differ in their first extent: dyn");
    if (all.extent(0) != cuts.back())
      throw shape_error(text("a packed vector of ", to_string(all.extents()), " for a list of ", cuts.back(), ' ', what, " in all; the vectors of its systems stand one after the other"));
    index_t const each = all.size() / (std::max)(index_t(1), cuts.back());
    std::vector<tensor<U, E>> out;
    for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
      out.emplace_back(sized<E>(all.extents(), cuts[k + 1] - cuts[k]), uninitialized);
      std::copy(all.begin() + cuts[k] * each, all.begin() + cuts[k + 1] * each, out.back().data());
    }
    return out;
  }
  /// The extents e with another first one.
  template <class E>
  static E sized(E const& e, index_t first) {
    return [&]<std::size_t... Axis>(std::index_sequence<Axis...>) { return E((Axis == 0 ? first : e[int(Axis)])...); }
    (std::make_index_sequence<std::size_t(E::rank)>{});
  }
  packed_type packed_;
  detail::held<std::vector<index_t> const, "a sparse_list"> row_cuts_, col_cuts_;
};
template <class T, class S, class F>
sparse_list(std::vector<sparse_tensor<T, S, F>>) -> sparse_list<T, typename detail::any_size<S>::type, csr_for_t<F>>;

} // namespace sla

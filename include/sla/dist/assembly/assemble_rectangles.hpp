// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Assembly of rectangles: `assemble<SparseShard<0, Balanced>, SparseShard<1, Balanced>>(mesh, rows, cols, i, j, v)`, where each rank of two axes gives
// any triplets. That of rows is in dist/assembly/assemble.hpp, rectangles of a matrix that every rank has in dist/assembly/grid.hpp.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <sla/dist/assembly/assemble.hpp>

namespace sla {

/// Rectangles that are assembled again and again with other values at the same places: `plan_assembly<SparseShard<0, F>, SparseShard<1, G>>(mesh,
/// rows, cols, i, j)` makes one, plan(v) the matrix, and plan.update(D, v) gives it other values, which alone travel.
template <class Mesh, class F, class... P>
class rectangle_plan {
  static constexpr int axis_of(int side) {
    int a = 0, found = 0;
    ((P::dim == side ? void(found = a++) : void(a++)), ...);
    return found;
  }
  template <int Side>
  using family = typename detail::placement_number<axis_of(Side), placements<P...>>::type::family;
  using pattern_type = typename F::template pattern<host_memory>;

public:
  /// Of checked indices. Collective.
  template <class Rows, class Cols>
  rectangle_plan(Mesh const& m, index_t rows, index_t cols, Rows const& i, Cols const& j)
      : layout_(laid_out(m, rows, cols)), count_(index_t(std::size(i))),
        inner_(m.communicator(1), owners<1>(m, count_, [&](index_t k) { return detail::entry_place{index_t(std::data(i)[k]), index_t(std::data(j)[k])}; })) {
    // Along the second axis first: then what comes to a rank is in the order of the ranks that gave it.
    auto const near = inner_.template send<detail::entry_place>(m.communicator(1), 1, [&](index_t k, detail::entry_place* to) {
      *to = {index_t(std::data(i)[k]), index_t(std::data(j)[k])};
    });
    outer_ = detail::terms_by_owner(m.communicator(0), owners<0>(m, index_t(near.values.size()), [&](index_t k) { return near.values[std::size_t(k)]; }));
    auto const here = outer_.template send<detail::entry_place>(m.communicator(0), 1, [&](index_t k, detail::entry_place* to) { *to = near.values[std::size_t(k)]; });
    std::vector<index_t> row, col;
    for (detail::entry_place const& p : here.values) row.push_back(p.row - first<0>(m)), col.push_back(p.col - first<1>(m));
    sorted_ = detail::sort_triplets<typename F::col_type, typename F::ptr_type>(extent<0>(m), extent<1>(m), index_t(row.size()), row.data(), col.data());
  }

  /// The matrix with v[k] added at the k-th place that this rank gave, for all ranks together. Collective.
  /// Errors, on every rank: shape_error where there are not as many values as places.
  template <class Values>
  auto operator()(Values const& v) const {
    using T = detail::element_t<Values const>;
    sparse_tensor<T, Matrix, F> local(Matrix(sorted_.pattern->rows, sorted_.pattern->cols), sorted_.pattern, sums<T>(v));
    return distributed<sparse_tensor<T, Matrix, F>, Mesh, P...>(std::move(local), layout_);
  }
  /// D's values become those of v. Cost: each value travels once along each axis. Errors: as above, and a value_error of a D of another plan.
  template <class T, class Values>
  void update(distributed<sparse_tensor<T, Matrix, F>, Mesh, P...>& d, Values const& v) const {
    detail::together(layout_->mesh.world(), [&] {
      if (d.local().shared_pattern() != sorted_.pattern)
        throw value_error("plan.update(D, v): D has another pattern than those that this plan makes; D = plan(v) makes one of its own");
      return 0;
    });
    d.local() = sparse_tensor<T, Matrix, F>(d.local().shape(), sorted_.pattern, sums<T>(v));
  }

private:
  static layout_handle<Mesh> laid_out(Mesh const& m, index_t rows, index_t cols) {
    auto layout = std::make_shared<shared_layout<Mesh>>();
    layout->mesh = m;
    layout->extent[axis_of(0)] = rows;
    layout->extent[axis_of(1)] = cols;
    detail::require_accepted<family<0>>(rows, m.size(axis_of(0)));
    detail::require_accepted<family<1>>(cols, m.size(axis_of(1)));
    return layout;
  }
  template <int Side>
  index_t first(Mesh const& m) const {
    return family<Side>::first(m.coordinate(axis_of(Side)), layout_->extent[axis_of(Side)], m.size(axis_of(Side)));
  }
  template <int Side>
  index_t extent(Mesh const& m) const {
    return detail::part_extent<family<Side>>(*layout_, axis_of(Side), m.coordinate(axis_of(Side)));
  }
  /// The coordinates along an axis of the ranks that places belong to.
  template <int Axis, class Place>
  std::vector<int> owners(Mesh const& m, index_t count, Place const& place) const {
    constexpr int side = axis_of(0) == Axis ? 0 : 1;
    std::vector<int> out;
    for (index_t k = 0; k < count; ++k) out.push_back(family<side>::owner(side == 0 ? place(k).row : place(k).col, layout_->extent[Axis], m.size(Axis)));
    return out;
  }
  template <class T, class Values>
  buffer<T> sums(Values const& v) const {
    Mesh const& m = layout_->mesh;
    detail::together(m.world(), [&] {
      if (index_t(std::size(v)) != count_) throw shape_error(text("assemble on rank ", m.world().rank(), ": ", std::size(v), " values for ", count_, " places"));
      return 0;
    });
    auto const near = inner_.template send<T>(m.communicator(1), 1, [&](index_t k, T* to) { *to = T(std::data(v)[k]); });
    auto const here = outer_.template send<T>(m.communicator(0), 1, [&](index_t k, T* to) { *to = near.values[std::size_t(k)]; });
    return detail::sum_triplets<T>(sorted_, here.values.data(), 1, 1);
  }

  layout_handle<Mesh> layout_;
  index_t count_;
  detail::terms_by_owner inner_, outer_;
  detail::triplet_order<typename F::col_type, typename F::ptr_type> sorted_;
};

namespace detail {
template <class P, class Q>
inline constexpr bool are_rectangles = P::kind == placement_kind::sparse_shard && Q::kind == placement_kind::sparse_shard && P::dim + Q::dim == 1 && P::family::stated &&
                                       P::family::contiguous && Q::family::stated && Q::family::contiguous;
template <class P, class Q, class Mesh, class Rows, class Cols>
constexpr bool require_rectangles() {
  constexpr bool fits = Mesh::rank == 2 && are_rectangles<P, Q> && std::integral<element_t<Rows const>> && std::integral<element_t<Cols const>>;
  static_assert(fits, "sla: assemble<SparseShard<0, F>, SparseShard<1, G>>(mesh, rows, cols, i, j, v): the mesh has two axes, F and G are families that are contiguous, Balanced say, and i "
                      "and j are ranges of integers");
  return fits;
}
/// Errors: those of triplets, on every rank; shape_error, if ranks disagree about the shape.
template <class Mesh, class Check>
void check_places(Mesh const& m, index_t rows, index_t cols, Check const& check) {
  require_agreement(m.world(), "assemble", "rows, columns", std::array<index_t, 2>{rows, cols});
  together(m.world(), [&] { return check(text("assemble on rank ", m.world().rank(), ": ")), 0; });
}
} // namespace detail

/// What `assemble` finds out about places of rectangles: for matrices of one pattern and many values. Each rank gives any places. Collective.
/// Cost: each place travels once along each axis. Errors: as `assemble`.
template <Placement P, Placement Q, detail::FormatOption F = Csr<>, class Mesh, class Rows, class Cols>
  requires(is_mesh<Mesh>)
auto plan_assembly(Mesh const& m, index_t rows, index_t cols, Rows const& i, Cols const& j) {
  constexpr bool fits = detail::require_rectangles<P, Q, Mesh, Rows, Cols>();
  detail::check_places(m, rows, cols, [&](std::string const& where) {
    if (std::size(i) != std::size(j)) throw shape_error(text(where, std::size(i), " row indices and ", std::size(j), " column indices; as many are wanted of each"));
    detail::check_triplets(rows, cols, index_t(std::size(i)), std::data(i), std::data(j), where);
  });
  if constexpr (fits) return rectangle_plan<Mesh, detail::local_csr_t<F>, P, Q>(m, rows, cols, i, j);
}
/// The rows x cols matrix with v[k] added at (i[k], j[k]), for the triplets of all ranks together, in rectangles: P and Q shard its rows and
/// its columns by the two axes of the mesh. Collective. Entries of one place are summed as by `from_triplets` of all in rank order, to the last
/// bit. Cost: each triplet travels once along each axis. Errors: as `assemble` of rows.
template <Placement P, Placement Q, detail::FormatOption F = Csr<>, class Mesh, class Rows, class Cols, class Values>
  requires(is_mesh<Mesh>)
auto assemble(Mesh const& m, index_t rows, index_t cols, Rows const& i, Cols const& j, Values const& v, assembly options = {}) {
  using T = detail::element_t<Values const>;
  constexpr bool fits = detail::require_rectangles<P, Q, Mesh, Rows, Cols>();
  detail::check_places(m, rows, cols, [&](std::string const& where) { detail::check_assembly<T>(Matrix(rows, cols), i, j, v, options, where); });
  if constexpr (fits) return rectangle_plan<Mesh, detail::local_csr_t<F>, P, Q>(m, rows, cols, i, j)(v);
}

} // namespace sla

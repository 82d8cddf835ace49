// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Distributed values: what this rank holds (a plain tensor) and one shared handle to mesh and layout; placements are types.
// Operators are in dist/value/expression.hpp, the way from and to plain tensors in dist/assembly/distribute.hpp.
#pragma once

#include <utility>

#include <sla/core/held.hpp>
#include <sla/dist/engine/together.hpp>
#include <sla/dist/halo/layout.hpp>
#include <sla/exec/evaluate.hpp>
#include <sla/spmd/refusal/diagnose.hpp>
#include <sla/tensor/storage/sparse.hpp>

namespace sla {

template <class Node, class Mesh, class... P>
struct distributed_node;

namespace detail {
template <class E>
struct dynamic_extents;
template <index_t... E>
struct dynamic_extents<Extents<E...>> {
  using type = Extents<(E * 0 + dyn)...>;
};
template <class E>
E extents_from(index_t const* sizes) {
  return [&]<std::size_t... N>(std::index_sequence<N...>) { return E(sizes[N]...); }(std::make_index_sequence<std::size_t(E::rank)>{});
}
template <class Local>
inline constexpr bool is_plain_number = Number<Local> || std::same_as<Local, bool>;

template <class Local>
struct wrapped_value {
  using type = typename Local::value_type;
};
template <class Local>
  requires is_plain_number<Local>
struct wrapped_value<Local> {
  using type = Local;
};
template <class Local>
struct extents_of {
  using type = Extents<>;
};
template <class Local>
  requires is_tensor<Local>
struct extents_of<Local> {
  using type = typename Local::extents_type;
};

template <class P>
concept DenseShard = P::kind == placement_kind::shard;

template <class P>
inline constexpr int level_of = 0;
template <class P>
  requires requires { P::level; }
inline constexpr int level_of<P> = P::level;
/// The axes of a mesh, those that shard first what others share first: by level, then by number.
template <class List>
struct sharding_order;
template <class... P>
struct sharding_order<placements<P...>> {
  static constexpr int count = int(sizeof...(P));
  static constexpr fixed_array<int, count> axis = [] {
    int const level[] = {level_of<P>...};
    fixed_array<int, count> out{};
    for (int a = 0; a < count; ++a) {
      int at = a;
      for (; at > 0 && level[out[at - 1]] > level[a]; --at) out[at] = out[at - 1];
      out[at] = a;
    }
    return out;
  }();
};

/// The extent of dimension P::dim becomes this rank's share of it, and the layout remembers the whole.
template <class P, class Mesh>
void take_part(shared_layout<Mesh>& layout, int a, index_t* sizes) {
  if constexpr (DenseShard<P>) {
    static_assert(P::family::stated, "sla: zeros(mesh, extents): the partition of Part is found at run time; make the tensor like another of its layout");
    layout.extent[a] = sizes[P::dim];
    require_accepted<typename P::family>(sizes[P::dim], layout.mesh.size(a));
    sizes[P::dim] = part_extent<typename P::family>(layout, a, layout.mesh.coordinate(a));
  }
}

/// The placement of a vector on an axis where the sparse operand has P: rows by rows, batches by batches.
template <int Batch, class P>
struct vector_placement {
  using type = P;
};
template <int Batch, int Axis, class F>
struct vector_placement<Batch, SparseShard<Axis, F>> {
  using type = Shard<Batch, F>;
};
template <class P, int Side>
inline constexpr bool is_side = false;
template <int Side, class F>
inline constexpr bool is_side<SparseShard<Side, F>, Side> = true;
template <int Batch, class F>
struct vector_placement<Batch, Hyper<F>> {
  using type = Shard<Batch, F>;
};
/// Does one axis shard rows, and another one columns?
template <class List>
inline constexpr bool is_grid = false;
template <class... P>
inline constexpr bool is_grid<placements<P...>> = (is_side<P, 0> || ...) && (is_side<P, 1> || ...);
template <class P, int Side>
inline constexpr bool is_other_side = false;
template <int Axis, class F, int Side>
inline constexpr bool is_other_side<SparseShard<Axis, F>, Side> = Axis != Side;
/// The layout of a vector on a side of a matrix: 0 as its rows, 1 as its columns. On a grid the axis of the other side has it whole.
template <int Side, class Local, class Mesh, class... P>
struct layouts_of {
  static constexpr int batch = Local::shape_type::batch_extents::rank;
  using type = vector_layout<Mesh, std::conditional_t<is_grid<placements<P...>> && is_other_side<P, Side>, Replicate,
                                                      typename vector_placement<batch, P>::type>...>;
};
template <int Side, class Local, class Mesh, class List>
struct layouts_of_placements;
template <int Side, class Local, class Mesh, class... P>
struct layouts_of_placements<Side, Local, Mesh, placements<P...>> : layouts_of<Side, Local, Mesh, P...> {};
} // namespace detail

/// `distributed<vector<double>, Mesh, Replicate, Shard<0>>`: a tensor (or a number) on a mesh, one placement per mesh axis. What
/// the ranks hold is `local()`; what that means is in the type. `dtensor` and `dsparse_tensor` are its common names.
/// Law: one placement per axis, each on a dimension that Local has.
template <class Local, class Mesh, class... P>
class distributed {
  static_assert((require_placements<Local, Mesh, P...>(), require_modes<Local, Mesh, P...>(), true));

public:
  using local_type = Local;
  using mesh_type = Mesh;
  using layout_type = vector_layout<Mesh, P...>;
  using value_type = typename detail::wrapped_value<Local>::type;

  /// This rank's part. Every rank of the mesh makes one, of matching extents.
  distributed(Local local, layout_handle<Mesh> handle) : local_(std::move(local)), handle_(std::move(handle)) {}

  /// The value of an expression of distributed values, without communication beyond what its products imply.
  template <class Node>
  distributed(distributed_node<Node, Mesh, P...> const& x)  // NOLINT: `dtensor<...> z = x * y` converts by intent
      : local_(x.evaluated()), handle_(x.layout) {}
  template <class Node, class... Q>
    requires(!std::same_as<placements<P...>, placements<Q...>>)
  distributed(distributed_node<Node, Mesh, Q...> const& x) : handle_(x.layout) {  // NOLINT: it exists for its sentence
    static_assert(std::is_same_v<placements<P...>, placements<Q...>>,
                  "sla: the expression has other placements than the variable; write `auto`, or a collective: all_reduce, all_gather, convert");
  }
  template <class Node>
  distributed& operator=(distributed_node<Node, Mesh, P...> const& x) {
    assign_distributed(*this, x);
    return *this;
  }

  /// Zero, in the stated placements: the extents are those of the whole tensor.
  /// Errors: shape_error, if a family cannot shard its dimension.
  static distributed zeros(Mesh const& m, typename detail::dynamic_extents<typename detail::extents_of<Local>::type>::type const& extents) {
    auto layout = std::make_shared<shared_layout<Mesh>>();
    layout->mesh = m;
    index_t sizes[Local::rank > 0 ? Local::rank : 1] = {};
    for (int d = 0; d < Local::rank; ++d) sizes[d] = extents[d];
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      constexpr auto order = detail::sharding_order<placements<P...>>::axis;
      (detail::take_part<typename detail::placement_number<order[int(K)], placements<P...>>::type>(*layout, order[int(K)], sizes), ...);
    }(std::index_sequence_for<P...>{});
    return {Local(detail::extents_from<typename Local::extents_type>(sizes)), std::move(layout)};
  }

  Local const& local() const& { return local_; }
  Local& local() & { return local_; }
  Local&& local() && { return std::move(local_); }
  Mesh const& mesh() const { return handle_->mesh; }
  layout_handle<Mesh> const& handle() const { return handle_.shared(); }
  layout_type layout() const { return layout_type(handle()); }
  /// Of a number: itself, where every rank has it.
  value_type value() const
    requires detail::is_plain_number<Local>
  {
    static_assert((is_copied(P::kind) && ...),
                  "sla: this number is not complete on every rank: finish it first, all_reduce<axis>(x).value()");
    return local_;
  }

  /// Of a truth value: itself, where every rank has it. `if (norm < 1e-8)`.
  explicit operator bool() const
    requires std::same_as<Local, bool>
  {
    static_assert((is_copied(P::kind) && ...),
                  "sla[E23]: a branch on what may differ between ranks: they would not meet in the same collectives. Of a pending sum, compare "
                  "all_reduce<axis>(x); of a Varying, write any_of<axis>(x < y) or all_of<axis>(x < y)");
    return local_;
  }

  /// The rows and columns of the whole of a sparse operand.
  index_t rows() const
    requires is_sparse_tensor<Local>
  {
    return side<0>();
  }
  index_t cols() const
    requires is_sparse_tensor<Local>
  {
    return side<1>();
  }
  /// The layouts of the rows of a sparse operand, and of x in A * x.
  auto row_layout() const
    requires is_sparse_tensor<Local>
  {
    return typename detail::layouts_of<0, Local, Mesh, P...>::type(handle());
  }
  auto col_layout() const
    requires is_sparse_tensor<Local>
  {
    return typename detail::layouts_of<1, Local, Mesh, P...>::type(detail::domain_layout(handle()));
  }

private:
  template <int Side>
  index_t side() const {
    constexpr bool grid = detail::is_grid<placements<P...>>;
    constexpr int axis = [] {
      int a = 0, found = -1;
      ((P::kind == placement_kind::hyper || (P::kind == placement_kind::sparse_shard && (!grid || detail::is_side<P, Side>)) ? void(found = a++) : void(a++)), ...);
      return found;
    }();
    if constexpr (axis < 0)
      return Side == 0 ? local_.rows() : local_.cols();
    else
      return (Side == 0 || grid ? handle() : detail::domain_layout(handle()))->extent[axis];
  }

  Local local_;
  detail::held<shared_layout<Mesh> const, "a distributed value"> handle_;
};

/// A dense tensor on a mesh, with a placement per axis: `dtensor<vector<double>, Mesh, Shard<0>, Replicate>`.
template <class Local, class Mesh, class... P>
using dtensor = distributed<Local, Mesh, P...>;
/// A sparse tensor on a mesh, with a placement per axis.
template <class Local, class Mesh, class... P>
using dsparse_tensor = distributed<Local, Mesh, P...>;

/// Is X a tensor on a mesh?
template <class X>
inline constexpr bool is_distributed = false;
template <class Local, class Mesh, class... P>
inline constexpr bool is_distributed<distributed<Local, Mesh, P...>> = true;

/// A distributed dense tensor, in any memory.
template <class X>
concept PlacedTensor = is_distributed<std::remove_cvref_t<X>> && is_tensor<local_of_t<X>>;
/// A distributed sparse tensor, in any memory.
template <class X>
concept PlacedSparse = is_distributed<std::remove_cvref_t<X>> && is_sparse_tensor<local_of_t<X>>;
/// A distributed dense tensor in host memory: what functions take that read its parts.
template <class X>
concept DistributedTensor = PlacedTensor<X> && local_of_t<X>::memory_type::is_host;
/// A distributed sparse tensor in host memory.
template <class X>
concept DistributedSparse = PlacedSparse<X> && local_of_t<X>::memory_type::is_host;

/// This rank's part as kernels see it.
template <PlacedTensor X>
auto view(X const& x) {
  return view(x.local());
}

namespace detail {
/// Has every rank the whole?
template <class List>
inline constexpr bool all_copied = false;
template <class... P>
inline constexpr bool all_copied<placements<P...>> = (is_copied(P::kind) && ...);

/// The extent of dimension d of the whole tensor: what the outermost axis that shards it has, or what this rank has.
template <PlacedTensor X>
index_t global_extent(X const& x, int d) {
  auto const order = order_of(tensor_placement_of<X>, d);
  return order.count ? x.handle()->extent[order.axis[0]] : x.local().extent(d);
}
} // namespace detail

} // namespace sla

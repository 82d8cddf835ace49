// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Several axes of a mesh as one, `all_gather<flat<"dp", "tp">>(x)`: one collective over the ranks of all of them, the
// first axis outermost; and axes that shard one dimension in another order, `permute_shards<"tp", "dp">(x)`. Even
// shards only.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include <sla/dist/step/collectives.hpp>
#include <sla/dist/step/steps_gradient.hpp>
#include <sla/dist/value/cotangent_space.hpp>

namespace sla {

namespace detail {
/// The ranks that several axes of a mesh connect, the first outermost. Its members make it when they first ask.
template <class Mesh>
any_communicator& communicator_of(Mesh const& m, std::span<int const> axes) {
  if (axes.size() == 1) return m.communicator(axes[0]);
  int order[Mesh::rank], stride[Mesh::rank], size = 1; // ranks of the mesh's world ascend by strides, where those are stated
  for (int a = 0; a < Mesh::rank; ++a) order[a] = a;
  if constexpr (Mesh::is_strided)
    std::sort(order, order + Mesh::rank, [](int a, int b) { return Mesh::static_stride(a) > Mesh::static_stride(b); });
  for (int n = Mesh::rank; n-- > 0; size *= m.size(order[n])) stride[order[n]] = size;
  int first = m.world().rank();
  for (int a : axes) first -= m.coordinate(a) * stride[a];
  std::vector<int> members{first};
  for (int a : axes) {
    std::vector<int> const outer = std::exchange(members, {});
    for (int from : outer)
      for (int n = 0; n < m.size(a); ++n) members.push_back(from + n * stride[a]);
  }
  return m.world().part(members);
}
/// The extents that axes shard when the first one gets `extent`, and each what the one before leaves.
template <class Mesh>
layout_handle<Mesh> nested_layout(layout_handle<Mesh> const& old, std::span<int const> axes, index_t extent) {
  index_t ranks = 1;
  for (int a : axes) ranks *= old->mesh.size(a);
  require_accepted<Even>(extent, int(ranks));
  auto layout = std::make_shared<shared_layout<Mesh>>(*old);
  for (int a : axes) {
    layout->extent[a] = extent;
    extent /= old->mesh.size(a);
  }
  return layout;
}

template <int... A>
  requires(sizeof...(A) > 1)
struct axes_as_one<A...> {
  static constexpr int list[sizeof...(A)] = {A...};
  static constexpr int first = list[0];
  template <class Mesh>
  static constexpr index_t ranks = ((Mesh::static_size(A) == dyn) || ...) ? dyn : (index_t(Mesh::static_size(A)) * ...);
  template <class Mesh>
  static rank_group group(shared_layout<Mesh> const& layout) {
    any_communicator& c = communicator_of(layout.mesh, list);
    return {&c, c.size(), c.rank(), layout.extent[first], nullptr};
  }
  template <class Family, class Mesh>
  static auto sharded(layout_handle<Mesh> const& old, index_t extent, layout_handle<Mesh> const&) {
    return nested_layout(old, list, extent);
  }
  template <step How, class Mesh, class From, class To>
  static constexpr std::string_view words() {
    return step_words<How, From, To, Mesh, A...>.view();
  }
};

/// Block n of the old order goes where it is block n of the new one: one message from each rank, and to each.
template <class Local, class Mesh>
Local permuted_blocks(Local const& x, Mesh const& m, std::span<int const> old, std::span<int const> now) {
  auto& c = communicator_of(m, old);
  std::vector<int> to(
      std::size_t(c.size())); // by old place: the place, in the old order, of the rank that gets the block
  for (int n = 0; n < c.size(); ++n) {
    std::vector<int> at(std::size_t(Mesh::rank), 0);
    for (std::size_t k = now.size(), rest = std::size_t(n); k-- > 0; rest /= std::size_t(m.size(now[k])))
      at[std::size_t(now[k])] = int(rest % std::size_t(m.size(now[k])));
    for (int a : old) to[std::size_t(n)] = to[std::size_t(n)] * m.size(a) + at[std::size_t(a)];
  }
  Local out(x.extents(), uninitialized);
  int const from = int(std::find(to.begin(), to.end(), c.rank()) - to.begin());
  std::vector<dependent_t<outgoing_message, Local>> const sends{send_to(to[std::size_t(c.rank())], elements_of(x))};
  std::vector<dependent_t<incoming_message, Local>> const receives{receive_from(from, elements_of(out))};
  c.start(sends, receives)->wait();
  return out;
}
template <class Order, class X>
auto permuted(X const& x) {
  if constexpr (!is_distributed<X>) {
    return permuted<Order>(eval(x));
  } else {
    using decided = step_decision<Order, X>;
    decided::require();
    if constexpr (!decided::legal) {
      return x;
    } else {
      constexpr auto const& found = decided::found;
      int old[max_mesh_axes], now[max_mesh_axes];
      auto const count = std::size_t(found.old.count);
      for (int n = 0; n < found.old.count; ++n) old[n] = found.old.axis[n], now[n] = found.now.axis[n];
      std::span<int const> const before(old, count), after(now, count);
      auto layout = nested_layout(x.handle(), after, x.handle()->extent[old[0]]);
      using Out = typename distributed_with<local_of_t<X>, mesh_of_t<X>, typename decided::result>::type;
      return Out(permuted_blocks(x.local(), x.mesh(), before, after), std::move(layout));
    }
  }
}
} // namespace detail

template <detail::OrderOfShards Order, DistributedExpr X>
auto perform(Order, X const& x) {
  return detail::permuted<Order>(x);
}
template <detail::OrderOfShards Order, detail::TracedSteppable X>
auto perform(Order s, X const& x) {
  using Back = typename Order::template before<plain_t<X>>;
  return record(x.home(), perform(s, x.value()),
                        linear_in(
                            x, [](auto const&, auto const& g) { return perform(Back{}, g); },
                            [s](auto const&, auto const& d) { return perform(s, d); }));
}

} // namespace sla

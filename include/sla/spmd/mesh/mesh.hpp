// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Meshes: the ranks of a world arranged along named axes, `mesh<axis<"dp", 2>, axis<"tp", 4>>`, and what a program on them
// promises (mesh_policy). What ranks hold along an axis is in spmd/placement/placement.hpp; worlds and communicators are in dist/.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <sla/core/error.hpp>
#include <sla/core/meta.hpp>
#include <sla/core/shape.hpp>
#include <sla/spmd/mesh/axis_layout.hpp>
#include <sla/spmd/mesh/axis_names.hpp>

namespace sla {

class any_communicator; // this and what makes one are defined in dist/engine/communicator.hpp and erase.hpp
template <class World>
std::shared_ptr<any_communicator> erase(World& world);

/// One axis of a mesh. Its size is known, or `dyn`: what is left of the world. Neighbours are Stride ranks apart; 0: as in a
/// row-major array of the mesh's axes.
template <fixed_string Name, int Size = static_cast<int>(dyn), int Stride = 0>
struct axis {
  using axis_tag = void;
  static_assert(Size > 0 || Size == dyn, "sla: the size of a mesh axis is at least 1, or dyn");
  static_assert(Stride >= 0 && (Stride == 0 || Size > 0), "sla: the stride of a mesh axis is positive, and its size known");
  static constexpr int size = Size, stride = Stride;
  static constexpr std::string_view name() { return Name.view(); }
};

// What a program on a mesh promises: the arguments of mesh_policy.
/// The axes of these names, which are the first of the mesh, are local: their ranks run programs of their own, on Varying
/// values. On the other axes then no Varying enters: all ranks compute parts of one value.
template <fixed_string... Names>
struct local_axes {
  static constexpr int count = static_cast<int>(sizeof...(Names));
  /// Are they the axes of these names, in order?
  static constexpr bool are_first(auto const& name_of) {
    int a = 0;
    return ((Names.view() == name_of(a++)) && ...);
  }
};
/// A product that sums over a sharded index has to say so: `out_partial`.
struct explicit_partial {};
/// Operands without a placement may be used; what is made of them has none.
struct permissive {};

/// The first argument of a mesh that has one: `mesh<mesh_policy<local_axes<"dp">>, axis<"dp", 2>, axis<"tp", 4>>`.
template <class... Promises>
struct mesh_policy {
  template <class Promise>
  static constexpr bool has = (std::is_same_v<Promise, Promises> || ...);
};

namespace detail {

template <class Promise>
struct local_prefix {
  static constexpr int count = -1;
  static constexpr bool of(auto const&) { return std::is_same_v<Promise, explicit_partial> || std::is_same_v<Promise, permissive>; }
};
template <class Promise>
requires requires { Promise::count; }
struct local_prefix<Promise> {
  static constexpr int count = Promise::count;
  static constexpr bool of(auto const& name_of) { return Promise::are_first(name_of); }
};

/// Never true; its arguments are what a refusal prints: an axis, and axes that reach the same ranks.
template <class Axis, class... Others>
inline constexpr bool ranks_are_distinct = false;

template <class T>
concept MeshAxis = requires {
  typename T::axis_tag;
};

/// Holds where engines are known: any_communicator is complete.
template <class World>
concept ErasableWorld = requires(World& world) {
  erase(world)->size();
};

} // namespace detail

/// The ranks of a world in row-major order over named axes: a handle, cheap to copy. The names and the known sizes are
/// in the type; a mesh object holds the sizes, this rank's coordinates and one communicator per axis (also for size 1).
template <class... Axes>
class mesh {
  static_assert(sizeof...(Axes) > 0, "sla: a mesh has at least one axis: mesh<axis<\"rows\">>");
  static_assert((detail::MeshAxis<Axes> && ...),
                "sla: the arguments of mesh<...> are axes: mesh<axis<\"dp\", 2>, axis<\"tp\", 4>>");

public:
  static constexpr int rank = static_cast<int>(sizeof...(Axes));

  static constexpr std::string_view name(int a) {
    std::string_view const all[] = {Axes::name()...};
    return all[a];
  }
  template <int A>
  static consteval auto name_string() { // for messages: a string that can be a template argument
    fixed_string<name(A).size() + 1> out;
    for (std::size_t n = 0; n < name(A).size(); ++n) out.data[n] = name(A)[n];
    return out;
  }
  /// The size in the type: a number, or `dyn`.
  static constexpr int static_size(int a) {
    int const all[] = {Axes::size...};
    return all[a];
  }
  /// The distance of neighbours along an axis, counted in ranks; `dyn` if a later axis is.
  static constexpr int static_stride(int a) {
    if (is_strided) {
      int const all[] = {Axes::stride...};
      return all[a];
    }
    int stride = 1;
    for (int b = rank - 1; b > a; --b) {
      if (static_size(b) == dyn) return static_cast<int>(dyn);
      stride *= static_size(b);
    }
    return stride;
  }
  /// Do the axes state their strides?
  static constexpr bool is_strided = ((Axes::stride != 0) || ...);
  /// The ranks that an axis connects. A size `dyn` is symbol 0.
  static constexpr axis_layout layout(int a) {
    auto const size_of = [](int b) { return static_size(b) == dyn ? rank_count::symbol(0) : rank_count{static_size(b)}; };
    if (is_strided) return {size_of(a), {static_stride(a)}};
    rank_count stride;
    for (int b = rank - 1; b > a; --b) stride = stride * size_of(b);
    return {size_of(a), stride};
  }
  /// All ranks that the mesh speaks of, as one axis.
  static constexpr axis_layout region() {
    axis_layout const all[] = {layout(find(Axes::name()))...};
    return flatten(std::span<axis_layout const>(all)).layout;
  }
  /// The axes with their names, for `axis_label`.
  static constexpr auto axes() {
    fixed_array<named_axis, rank> all;
    for (int a = 0; a < rank; ++a) all[a] = {name(a), layout(a)};
    return all;
  }
  using policy = mesh_policy<>;
  /// How many of the first axes are local; -1 if no promise says which are.
  static constexpr int local_axis_count = -1;
  /// The number of the axis of this name; -1 if there is none.
  static constexpr int find(std::string_view name_of_axis) {
    for (int a = 0; a < rank; ++a)
      if (name(a) == name_of_axis) return a;
    return -1;
  }

  mesh() = default;

  /// Arranges the ranks of a world. Every rank of it takes part.
  /// Errors: shape_error if the sizes do not multiply to the size of the world.
  template <class World>
  requires(!std::is_same_v<std::remove_cv_t<World>, mesh>) explicit mesh(World& world) {
    if constexpr (!detail::ErasableWorld<World>) {
      static_assert(always_false<World>,
                    "sla: a mesh is made from a world: self, fake, the argument of threads::run, or mpi.world() "
                    "(include <sla/dist.hpp> or the adapter of the engine)");
    } else {
      arrange(erase(world));
    }
  }

  explicit operator bool() const { return state_ != nullptr; }

  int size(int a) const { return ranks().size[a]; }
  int coordinate(int a) const { return ranks().coordinate[a]; }
  any_communicator& communicator(int a) const { return *ranks().along[a]; }

  template <fixed_string Name>
  int size() const {
    return size(index<Name>());
  }
  template <fixed_string Name>
  int coordinate() const {
    return coordinate(index<Name>());
  }
  template <fixed_string Name>
  any_communicator& communicator() const {
    return communicator(index<Name>());
  }
  /// All ranks of the mesh.
  any_communicator& world() const { return *ranks().world; }
  std::shared_ptr<any_communicator> const& world_handle() const { return ranks().world; }

  /// The number of the axis Name. Errors: a sentence if the mesh has none of this name.
  template <fixed_string Name>
  static consteval int index() {
    static_assert(find(Name.view()) >= 0,
                  "sla: this mesh has no axis of that name; the names are in its type, mesh<axis<\"name\">...>");
    return find(Name.view()) < 0 ? 0 : find(Name.view()); // one error, not a chain
  }

  /// The same mesh object, or a copy of it.
  bool operator==(mesh const&) const = default;

private:
  static constexpr bool names_differ() {
    for (int a = 0; a < rank; ++a)
      if (find(name(a)) != a) return false;
    return true;
  }
  static constexpr int open_axes() { return (int{Axes::size == dyn} + ...); }
  static_assert(names_differ(), "sla: two axes of a mesh have the same name");
  static_assert(open_axes() <= 1,
                "sla: at most one axis of a mesh may be dyn: its size is what the others leave of the world");

  static_assert(!is_strided || ((Axes::stride != 0) && ...),
                "sla: either all axes of a mesh state their strides or none: axis<\"dp\", 2, 4>, axis<\"tp\", 4, 1>");
  static constexpr axis_overlap overlapping() {
    if (!is_strided) return {};
    axis_layout const all[] = {axis_layout(Axes::size, Axes::stride)...};
    return overlap(all);
  }
  template <int... A>
  static consteval bool distinct(std::integer_sequence<int, A...>) {
    if constexpr (constexpr auto found = overlapping(); bool(found)) {
      static_assert(detail::ranks_are_distinct<typename detail::type_at_index<found.second, Axes...>::type,
                                               std::conditional_t<(found.first >> A & 1u) != 0, Axes, void>...>,
                    "sla[E27]: axes of a mesh are not jointly orthogonal: steps along the first axis below and along the others"
                    " there meet in one rank. Give the axes strides that clear what the axes of smaller strides reach");
    }
    return true;
  }
  static_assert(distinct(std::make_integer_sequence<int, rank>{}));

  struct state {
    int size[sizeof...(Axes)], coordinate[sizeof...(Axes)];
    std::shared_ptr<any_communicator> world, along[sizeof...(Axes)];
  };

  state const& ranks() const {
    if (!state_) throw value_error("this mesh was never made from a world; write mesh<...> m(world)");
    return *state_;
  }

  static std::string described() {
    std::string out;
    for (int a = 0; a < rank; ++a) {
      out += a ? " x " : "";
      out += name(a), out += '=';
      out += static_size(a) == dyn ? "dyn" : std::to_string(static_size(a));
    }
    return out;
  }

  template <class Handle> // a template, since any_communicator is complete only where a mesh is made
  void arrange(Handle world) {
    int const ranks = world->size();
    int known = 1;
    for (int a = 0; a < rank; ++a) known *= static_size(a) == dyn ? 1 : static_size(a);
    if (open_axes() || is_strided ? ranks % known != 0 : ranks != known)
      throw shape_error(text("a mesh ", described(), " needs ", open_axes() || is_strided ? "a multiple of " : "", known,
                             " ranks, and this world has ", ranks,
                             ": start it with that many, change a size, or let one "
                             "axis be dyn, axis<\"",
                             name(0), "\">"));
    auto made = std::make_shared<state>();
    int stride = 1, first = world->rank();
    for (int a = rank - 1; a >= 0; --a) {
      made->size[a] = static_size(a) == dyn ? ranks / known : static_size(a);
      if (is_strided) stride = static_stride(a);
      made->coordinate[a] = world->rank() / stride % made->size[a];
      made->along[a] = world->axis(made->size[a], stride);
      first -= made->coordinate[a] * stride;
      stride *= made->size[a];
    }
    if (is_strided && known != ranks) { // the ranks of the region, ascending
      auto const all = region();
      auto const apart = static_cast<int>(all.count == 1 ? all.atom[0].stride.number : 1);
      int const me = world->rank();
      world = all.count <= 1 ? world->axis(known, apart) : world->split(first, me);
    }
    made->world = std::move(world);
    state_ = std::move(made);
  }

  std::shared_ptr<state const> state_;
};

/// A mesh with promises. What is said of a mesh without holds for its axes.
template <class... Promises, class... Axes>
class mesh<mesh_policy<Promises...>, Axes...> : public mesh<Axes...> {
  using plain = mesh<Axes...>;
  static constexpr int local_lists() { return (int{detail::local_prefix<Promises>::count >= 0} + ... + 0); }
  static constexpr bool are_known() {
    auto const name_of = [](int a) { return a < plain::rank ? plain::name(a) : std::string_view{}; };
    return (detail::local_prefix<Promises>::of(name_of) && ...);
  }
  static_assert(are_known() && local_lists() <= 1,
                "sla: a promise of mesh_policy<...> is explicit_partial, permissive, or one local_axes<...>, which names the first "
                "axes of the mesh, each once and in the order of the mesh");

public:
  using plain::plain;
  using policy = mesh_policy<Promises...>;
  static constexpr int local_axis_count = [] {
    int count = -1;
    ((count = detail::local_prefix<Promises>::count >= 0 ? detail::local_prefix<Promises>::count : count), ...);
    return count;
  }();
  bool operator==(mesh const&) const = default;
};

/// Is T a mesh?
template <class T>
inline constexpr bool is_mesh = false;
template <class... Axes>
inline constexpr bool is_mesh<mesh<Axes...>> = true;

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Meshes: the ranks of a world arranged along named axes, `mesh<axis<"dp", 2>, axis<"tp", 4>>`.
// What ranks hold along an axis is in spmd/placement.hpp; worlds and communicators are in dist/.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <sla/core/error.hpp>
#include <sla/core/meta.hpp>
#include <sla/core/shape.hpp>

namespace sla {

class any_communicator; // this and what makes one are defined in dist/communicator.hpp
template <class World>
std::shared_ptr<any_communicator> erase(World& world);

/// One axis of a mesh. Its size is known, or `dyn`: what is left of the world.
template <fixed_string Name, int Size = static_cast<int>(dyn)>
struct axis {
  using axis_tag = void;
  static_assert(Size > 0 || Size == dyn, "sla: the size of a mesh axis is at least 1, or dyn");
  static constexpr int size = Size;
  static constexpr std::string_view name() { return Name.view(); }
};

namespace detail {

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
    int stride = 1;
    for (int b = rank - 1; b > a; --b) {
      if (static_size(b) == dyn) return static_cast<int>(dyn);
      stride *= static_size(b);
    }
    return stride;
  }
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
      out += (a ? " x " : "") + std::string(name(a)) + "=";
      out += static_size(a) == dyn ? "dyn" : std::to_string(static_size(a));
    }
    return out;
  }

  template <class Handle> // a template, since any_communicator is complete only where a mesh is made
  void arrange(Handle world) {
    int const ranks = world->size();
    int known = 1;
    for (int a = 0; a < rank; ++a) known *= static_size(a) == dyn ? 1 : static_size(a);
    if (open_axes() ? ranks % known != 0 : ranks != known)
      throw shape_error(text("a mesh ", described(), " needs ", open_axes() ? "a multiple of " : "", known,
                             " ranks, and this world has ", ranks,
                             ": start it with that many, change a size, or let one "
                             "axis be dyn, axis<\"",
                             name(0), "\">"));
    auto made = std::make_shared<state>();
    int stride = 1;
    for (int a = rank - 1; a >= 0; --a) {
      made->size[a] = static_size(a) == dyn ? ranks / known : static_size(a);
      made->coordinate[a] = world->rank() / stride % made->size[a];
      made->along[a] = world->axis(made->size[a], stride);
      stride *= made->size[a];
    }
    made->world = std::move(world);
    state_ = std::move(made);
  }

  std::shared_ptr<state const> state_;
};

template <class T>
inline constexpr bool is_mesh = false;
template <class... Axes>
inline constexpr bool is_mesh<mesh<Axes...>> = true;

} // namespace sla

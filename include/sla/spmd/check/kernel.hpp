// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel on simulated ranks: run once per rank, compared with one run on the whole operands, and so its gradients.
// All placements are gone through in spmd/check/check_rule.hpp. Not part of spmd.hpp.
#pragma once
#include <concepts>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <sla/spmd/check/domain.hpp>
#include <sla/spmd/check/sim/derivative.hpp>
#include <sla/spmd/check/sim/value.hpp>

namespace sla::sim {

/// What a kernel may ask of the place where it runs: the global indices of its parts, for each operand and result and
/// each of their dimensions, in local order. On whole operands `out` is empty.
struct rank_indices {
  std::vector<std::vector<std::vector<int>>> in{}, out{};
  /// The indices of dimension d of result n, which has this extent globally.
  constexpr std::vector<int> result(std::size_t n, std::size_t d, int extent) const {
    if (out.empty()) return all_indices(extent);
    return out[n][d];
  }
};

namespace detail {

template <class K, class T, class Index>
struct takes_arrays;
template <class K, class T, std::size_t... N>
struct takes_arrays<K, T, std::index_sequence<N...>> {
  template <std::size_t>
  using one = array<T> const&;
  static constexpr bool wants_position = std::is_invocable_v<K const&, rank_indices const&, one<N>...>;
};

template <class T>
constexpr std::vector<array<T>> as_list(array<T> y) {
  std::vector<array<T>> out;
  out.push_back(std::move(y));
  return out;
}
template <class T>
constexpr std::vector<array<T>> as_list(std::vector<array<T>> y) {
  return y;
}

/// kernel(a, b, ...) or kernel(here, a, b, ...), which returns one array or several.
template <int Arity, class K, class T>
constexpr std::vector<array<T>> call(K const& kernel, rank_indices const& at, std::vector<array<T>> const& x) {
  return [&]<std::size_t... N>(std::index_sequence<N...> all) {
    if constexpr (takes_arrays<K, T, decltype(all)>::wants_position)
      return as_list(kernel(at, x[N]...));
    else
      return as_list(kernel(x[N]...));
  }
  (std::make_index_sequence<static_cast<std::size_t>(Arity)>{});
}

inline constexpr int directions = 8;

/// A kernel with a hand-written adjoint: pullback(operands, gradients of results) gives the gradients of the operands.
template <class K>
concept HasPullback = requires(K const& kernel, std::vector<array<double>> const& x) {
  { kernel.pullback(x, x) } -> std::same_as<std::vector<array<double>>>;
};

/// A kernel that communicates: together(world, parts) gives what every rank makes, [rank][result], of parts[rank][operand].
template <class K>
concept Communicates = requires(K const& kernel, world const& w, std::vector<std::vector<array<double>>> const& parts) {
  { kernel.together(w, parts) } -> std::same_as<std::vector<std::vector<array<double>>>>;
};
/// A kernel whose pullback is that of an operation.
template <class K>
concept IsOperation = requires { typename K::operation; };

} // namespace detail

/// A kernel behind one interface: on numbers, on numbers with derivatives, and its own adjoint if it has one. Pointers
/// to functions, since compilers do not yet instantiate virtual templates within constant expressions.
class any_kernel {
public:
  using numbers = std::vector<array<double>>;
  using duals = std::vector<array<dual<detail::directions>>>;
  constexpr numbers operator()(rank_indices const& at, numbers const& x) const { return value_(*this, at, x); }
  constexpr duals operator()(rank_indices const& at, duals const& x) const { return slopes_(*this, at, x); }
  constexpr std::optional<numbers> pullback(numbers const& x, numbers const& g) const { return pullback_(*this, x, g); }
  /// What all ranks make, where they communicate.
  constexpr std::vector<numbers> together(world const& w, std::vector<numbers> const& parts) const { return together_(*this, w, parts); }
  constexpr bool communicates() const { return together_; }
  constexpr adjoint_source adjoint() const { return adjoint_; }
  /// Does it ask where it runs?
  constexpr bool wants_position() const { return wants_position_; }

protected:
  numbers (*value_)(any_kernel const&, rank_indices const&, numbers const&) = nullptr;
  duals (*slopes_)(any_kernel const&, rank_indices const&, duals const&) = nullptr;
  std::optional<numbers> (*pullback_)(any_kernel const&, numbers const&, numbers const&) = nullptr;
  std::vector<numbers> (*together_)(any_kernel const&, world const&, std::vector<numbers> const&) = nullptr;
  bool wants_position_ = false;
  adjoint_source adjoint_ = adjoint_source::derived;
};

/// A kernel of a type K, with its slopes and its pullback.
template <int Arity, class K>
class kernel_of : public any_kernel {
public:
  constexpr explicit kernel_of(K const& kernel) : kernel_(kernel) {
    value_ = &run<double>;
    slopes_ = &run<dual<detail::directions>>;
    pullback_ = &run_back;
    if constexpr (detail::Communicates<K>) together_ = &run_together;
    if constexpr (detail::HasPullback<K>) adjoint_ = detail::IsOperation<K> ? adjoint_source::operation : adjoint_source::stated;
    wants_position_ = detail::takes_arrays<K, double, std::make_index_sequence<static_cast<std::size_t>(Arity)>>::wants_position;
  }

private:
  template <class T>
  static constexpr std::vector<array<T>> run(any_kernel const& self, rank_indices const& at, std::vector<array<T>> const& x) {
    return detail::call<Arity>(static_cast<kernel_of const&>(self).kernel_, at, x);
  }
  static constexpr std::vector<numbers> run_together(any_kernel const& self, world const& w, std::vector<numbers> const& parts)
    requires detail::Communicates<K>
  {
    return static_cast<kernel_of const&>(self).kernel_.together(w, parts);
  }
  static constexpr std::optional<numbers> run_back(any_kernel const& self, numbers const& x, numbers const& g) {
    if constexpr (detail::HasPullback<K>)
      return static_cast<kernel_of const&>(self).kernel_.pullback(x, g);
    else
      return static_cast<void>(self), static_cast<void>(x), static_cast<void>(g), std::nullopt;
  }

  K const& kernel_;
};

namespace detail {

/// The gradients of <g, kernel(x)> in the operands of `wanted`; nothing if the results do not have the shapes of g.
template <class F>
constexpr std::optional<std::vector<array<double>>> gradients_of(F const& function, std::vector<array<double>> const& x,
                                                                 std::vector<array<double>> const& g, unsigned wanted) {
  using number = dual<directions>;
  std::vector<array<double>> out;
  std::vector<array<number>> lifted;
  for (auto const& a : x) {
    array<number> b(a.extents);
    for (int n = 0; n < a.size(); ++n) b[n] = number(a[n]);
    lifted.push_back(std::move(b));
    out.emplace_back(a.extents);
  }
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (!(wanted >> k & 1U)) continue;
    for (int first = 0; first < x[k].size(); first += directions) {
      int const n = x[k].size() - first < directions ? x[k].size() - first : directions;
      for (int d = 0; d < n; ++d) lifted[k][first + d].slope[d] = 1;
      auto const y = function(lifted);
      for (std::size_t r = 0; r < g.size(); ++r) {
        if (y.size() != g.size() || y[r].extents != g[r].extents) return std::nullopt;
        for (int m = 0; m < g[r].size(); ++m)
          for (int d = 0; d < n; ++d) out[k][first + d] += g[r][m] * y[r][m].slope[d];
      }
      for (int d = 0; d < n; ++d) lifted[k][first + d].slope[d] = 0;
    }
  }
  return out;
}

/// Numbers of both signs that repeat nowhere soon.
constexpr array<double> cotangent(std::vector<int> const& extents, int which) {
  array<double> g(extents);
  for (int n = 0; n < g.size(); ++n) g[n] = (n * 7 + which * 3) % 13 - 5;
  return g;
}

} // namespace detail

/// One simulated call: operands as whole values (a tuple has its ranks in front), their placements, and what the ranks
/// hold of them: parts[rank][operand].
struct call_on_ranks {
  world const& w;
  std::vector<tensor_placement> types{};
  std::vector<array<double>> whole{};
  std::vector<std::vector<array<double>>> parts{};
};

/// How many dimensions the tuples of a Varying value put in front.
constexpr int tuple_dims(tensor_placement const& t) {
  int n = 0;
  for (int a = 0; a < t.axes; ++a) n += t.on[a].kind == placement_kind::varying ? 1 : 0;
  return n;
}
/// The extents without them.
constexpr std::vector<int> without_tuples(std::vector<int> const& extents, tensor_placement const& t) {
  return {extents.begin() + tuple_dims(t), extents.end()};
}

/// The indices of the operands and results on one rank.
constexpr rank_indices place_of(call_on_ranks const& c, std::vector<tensor_placement> const& made,
                        std::vector<std::vector<int>> const& made_extents, int rank) {
  rank_indices at;
  for (std::size_t k = 0; k < c.types.size(); ++k)
    at.in.push_back(held_by(c.w, c.types[k], without_tuples(c.whole[k].extents, c.types[k]), rank));
  for (std::size_t n = 0; n < made.size(); ++n)
    at.out.push_back(held_by(c.w, made[n], without_tuples(made_extents[n], made[n]), rank));
  return at;
}

/// The kernel on whole operands, once per element of the tuples on the axes from `axis` on.
template <class T>
constexpr std::vector<array<T>> truth(any_kernel const& kernel, world const& w, std::vector<tensor_placement> const& types,
                                      std::vector<array<T>> const& whole, int axis = 0) {
  int const axes = w.axes();
  while (axis < axes) {
    bool varying = false;
    for (auto const& t : types) varying = varying || t.on[axis].kind == placement_kind::varying;
    if (varying) break;
    ++axis;
  }
  if (axis == axes) {
    rank_indices everywhere;
    for (auto const& x : whole) {
      std::vector<std::vector<int>> held;
      for (int e : x.extents) held.push_back(all_indices(e));
      everywhere.in.push_back(std::move(held));
    }
    return kernel(everywhere, whole);
  }
  std::vector<on_ranks<T>> results;
  for (int c = 0; c < w.ranks_of(axis); ++c) {
    std::vector<array<T>> at_c;
    for (std::size_t k = 0; k < whole.size(); ++k) {
      bool const tuple = types[k].on[axis].kind == placement_kind::varying;
      if (tuple)
        at_c.push_back(unstack(whole[k])[static_cast<std::size_t>(c)]);
      else
        at_c.push_back(whole[k]);
    }
    auto y = truth(kernel, w, types, at_c, axis + 1);
    results.resize(y.size(), on_ranks<T>{});
    for (std::size_t n = 0; n < y.size(); ++n) results[n].push_back(std::move(y[n]));
  }
  std::vector<array<T>> out;
  for (auto const& r : results) out.push_back(stack(r));
  return out;
}

} // namespace sla::sim

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a step of a plan costs: integers throughout, so that every compiler finds the same plan. How placements may
// change is in spmd/plan/moves.hpp.
#pragma once
#include <cstdint>

#include <sla/core/meta.hpp>
#include <sla/spmd/placement/placement_values.hpp>
#include <sla/spmd/step/transition.hpp>

namespace sla::plans {

/// The wires between neighbours along a mesh axis. Law: at least 1 MB/s and at most 10 ms, so that costs fit 64 bits.
struct wires {
  std::int64_t latency_ns = 2700;
  std::int64_t megabytes_per_s = 19300;
  constexpr bool operator==(wires const&) const = default;
};

} // namespace sla::plans

namespace sla {

/// The wires of each axis of a mesh.
struct topology {
  fixed_array<plans::wires, max_mesh_axes> along{};
  int backward = 0; ///< percent of the cost of a step's backward all_reduce that convert<axis, Replicate> of an Invariant pays
  /// Set this if a reduced number steers control flow. Plans then never reduce after they replicate, so that all ranks get the same
  /// bits: sums over several axes are reduced at once, or scattered and gathered. (Of two all_reduces one after the other the second
  /// is done by several groups of ranks, and an engine may add in another order in each.)
  bool bitwise_replicated = false;
  constexpr bool operator==(topology const&) const = default;
};

/// Axes from `first_near` on are inside one machine, those before it between machines.
constexpr topology two_level(int first_near, plans::wires near = {600, 87700}, plans::wires far = {}) {
  topology out;
  for (int a = 0; a < max_mesh_axes; ++a) out.along[a] = a < first_near ? far : near;
  return out;
}

/// The wires that plans on this mesh are priced with. For an own machine:
/// `template <> inline constexpr sla::topology sla::topology_of<my_mesh> = sla::two_level(1);`
template <class Mesh>
inline constexpr topology topology_of{};

} // namespace sla

namespace sla::plans {

/// A product that stays within 64 bits, sums of several too: clipped at 2^59, which is 8.8 s.
constexpr std::int64_t saturated(std::int64_t per_byte, std::int64_t bytes) {
  std::int64_t const most = std::int64_t{1} << 59, bound = bytes > 1 ? most / bytes : most;
  return per_byte > bound ? most : per_byte < -bound ? -most : per_byte * bytes;
}

/// A cost that is a line in the bytes of the whole tensor: picoseconds, and picoseconds per byte in units of 2^-16.
struct linear_cost {
  std::int64_t fixed = 0, per_byte = 0;
  constexpr bool operator==(linear_cost const&) const = default;
  constexpr linear_cost& operator+=(linear_cost const& other) {
    fixed += other.fixed;
    per_byte += other.per_byte;
    return *this;
  }
  /// In units of 2^-16 picoseconds.
  constexpr std::int64_t at(std::int64_t bytes) const { return fixed * 65536 + saturated(per_byte, bytes); }
};

/// Tensors beyond this size are priced as if they had it.
inline constexpr std::int64_t largest_priced = std::int64_t{1} << 34;

/// Slow wires bring costs to the end of 64 bits earlier, long after latencies matter.
template <class = void>
constexpr std::int64_t largest_priced_on(topology const& t) {
  std::int64_t most = largest_priced;
  for (auto const& w : t.along.data)
    while ((std::int64_t{1000000} << 16) / w.megabytes_per_s > (std::int64_t{1} << 56) / most) most /= 2;
  return most;
}
/// What a tensor of these bytes is priced as.
constexpr std::int64_t priced_bytes(std::int64_t bytes, topology const& t) {
  auto const most = largest_priced_on(t);
  return bytes < most ? bytes : most;
}

/// What a tensor is priced as where its size is not known and has to be compared with another's.
inline constexpr std::int64_t nominal_bytes = std::int64_t{1} << 20;

/// A step over n ranks in all, on a tensor of which each rank holds a 1/parts before it.
template <class = void>
constexpr linear_cost price_of(step how, wires const& w, std::int64_t n, std::int64_t parts) {
  std::int64_t const alpha = w.latency_ns * 1000;
  std::int64_t const beta = (std::int64_t{1000000} << 16) / w.megabytes_per_s; // of 2^-16 ps per byte
  switch (how) {
  case step::all_gather:
    return {(n - 1) * alpha, beta * (n - 1) / parts};
  case step::all_to_all:
  case step::reduce_scatter:
  case step::repartition:
    return {(n - 1) * alpha, beta * (n - 1) / n / parts};
  case step::all_reduce:
    return {2 * (n - 1) * alpha, 2 * (beta * (n - 1) / n / parts)};
  case step::permute_shards:
    return {alpha, beta / parts};
  case step::convert:
    return {1000, 0};
  default:
    return {};
  }
}

/// Where the sizes of axes are unknown, plans are ordered by what their steps are, the dearest kind first: all_gather,
/// then reduce_scatter and all_to_all, which move less than a rank holds, then permute_shards, then copies; then by
/// rounds. An all_reduce counts as the reduce_scatter and the all_gather that it consists of.
template <class = void>
constexpr std::int64_t class_of(step how, std::int64_t n) {
  std::int64_t const rounds = n - 1;
  auto const count = [](int place) { return std::int64_t{1} << (22 + 6 * place); };
  switch (how) {
  case step::all_gather:
    return count(3) + rounds;
  case step::all_to_all:
  case step::reduce_scatter:
  case step::repartition:
    return count(2) + rounds;
  case step::all_reduce:
    return count(3) + count(2) + 2 * rounds;
  case step::permute_shards:
    return count(1) + 1;
  case step::convert:
    return count(0);
  default:
    return 0;
  }
}

} // namespace sla::plans

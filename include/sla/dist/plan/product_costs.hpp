// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a product costs by the ways that its vector can take, before anything is sharded: `product_costs(A, owners).cheapest()`.
// Between the first two auto_plan<op::matvec>(D, x) chooses by itself, once D is sharded by rows.
#pragma once

#include <cstdint>

#include <sla/dist/partition/quality.hpp>
#include <sla/spmd/plan/cost.hpp>

namespace sla {

/// By rows with the halo of x, by rows with the whole x, or by columns with terms of y that are added.
enum class product_way : std::uint8_t { halo, whole, columns };

/// The cost of one product's communication for the mean rank, in picoseconds.
class product_costs {
public:
  /// `owners` own the rows of A; columns would be sharded as evenly. Wires are those of the mesh's axis: the first of `wired`.
  /// Cost: that of partition_quality. Errors: as partition_quality.
  template <class Sparse>
  product_costs(Sparse const& A, owner_map const& owners, topology const& wired = {}) {
    using T = typename Sparse::value_type;
    std::int64_t const ranks = owners.parts(), size = sizeof(T);
    auto const quality = partition_quality(A, owners);
    auto const collective = [&](plans::step_kind how, std::int64_t parts, index_t entries) {
      return plans::price_of(how, wired.along[0], ranks, parts).at(entries * size) / 65536;
    };
    cost_[0] = plans::price_of_halo(wired, 0, ranks, quality.messages()).at(quality.halo() * size) / 65536;
    cost_[1] = collective(plans::step_kind::all_gather, ranks, A.cols());
    cost_[2] = collective(plans::step_kind::reduce_scatter, 1, A.rows());
  }
  std::int64_t of(product_way how) const { return cost_[static_cast<int>(how)]; }
  /// Of equal ones the first.
  product_way cheapest() const {
    int best = 0;
    for (int n = 1; n < 3; ++n)
      if (cost_[n] < cost_[best]) best = n;
    return static_cast<product_way>(best);
  }

private:
  std::int64_t cost_[3] = {};
};

} // namespace sla

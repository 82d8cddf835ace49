// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Eigenpairs and singular triplets of traced batches and blocks: those of their items, each with its derivative, stacked.
#pragma once

#include <utility>
#include <vector>

#include <sla/grad/implicit/traced_eigen.hpp>
#include <sla/grad/operation/traced_slice.hpp>
#include <sla/solve/eigen/eigen_of_batch.hpp>

namespace sla {

namespace detail {
/// Of tensors that were stacked: each gets its part of the cotangent.
template <class Operand>
struct stacked_rule {
  using rule_tag = void;
  std::vector<Operand> items;

  template <class Y, class G>
  void pullback(Y const&, G const& g) const {
    index_t at = 0;
    for (auto const& item : items) {
      auto part = item.value();
      std::copy_n(g.data() + at, part.size(), part.data());
      at += part.size();
      item.v->add(part);
    }
  }
  template <class Y, class Out>
  void pushforward(Y const& y, Out& out) const {
    Y d(y.extents());
    index_t at = 0;
    for (auto const& item : items) {
      if (auto const* tangent = item.v->tangent()) std::copy_n(tangent->data(), tangent->size(), d.data() + at);
      at += item.value().size();
    }
    out.add(d);
  }
};
} // namespace detail

/// Traced tensors of the same extents, one behind the other, with the axes of a batch before theirs.
template <class Batch, class V, class Home>
auto stack_items(Batch const& batch, std::vector<traced<V, Home>> const& items) {
  std::vector<V> values;
  detail::stacked_rule<decltype(detail::operand_of(items.front()))> rule;
  for (auto const& item : items) values.push_back(item.value()), rule.items.push_back(detail::operand_of(item));
  return record(items.front().home(), detail::stack_items(batch, values), std::move(rule));
}

namespace detail {
template <class V, class Home>
inline constexpr bool has_items<traced<V, Home>> = is_sparse_tensor<V>;
} // namespace detail

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `eigsh` of batches, item by item, and of blocks, as the matrix of their scalars. One text for plain and for traced matrices: what stacks the
// results of items is `stack_items`, of which grad/implicit/traced_batch.hpp has the other one.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include <sla/solve/eigen/eigsh.hpp>
#include <sla/tensor/build/block.hpp>

namespace sla {

namespace detail {
template <class A>
using shape_of = std::remove_cvref_t<decltype(std::declval<A const&>().shape())>;
/// A sparse tensor that is not one matrix with scalar entries: a batch, or of blocks, or both.
template <class A>
concept BatchOrBlocks = requires { typename shape_of<A>; } && (shape_of<A>::is_batched || shape_of<A>::is_blocked);
/// Sparse tensors, of which some is a batch or has blocks.
template <class... A>
concept AnyBatchOrBlocks = (is_sparse_tensor<A> && ...) && (BatchOrBlocks<A> || ...);

template <class E, int More>
struct with_axes;
template <index_t... B, int More>
struct with_axes<Extents<B...>, More> {
  using type = std::conditional_t<More == 1, Extents<B..., dyn>, Extents<B..., dyn, dyn>>;
};
/// The extents of a batch of tensors.
template <class Batch, class E>
auto stacked_extents(Batch const& batch, E const& item) {
  using Whole = typename with_axes<Batch, E::rank>::type;
  return [&]<std::size_t... Outer, std::size_t... Inner>(std::index_sequence<Outer...>, std::index_sequence<Inner...>) {
    return Whole(batch[int(Outer)]..., item[int(Inner)]...);
  }(std::make_index_sequence<std::size_t(Batch::rank)>{}, std::make_index_sequence<std::size_t(E::rank)>{});
}
/// Tensors of the same extents, one behind the other, with the axes of a batch before theirs.
template <class Batch, class T, class E>
auto stack_items(Batch const& batch, std::vector<tensor<T, E>> const& items) {
  auto const extents = stacked_extents(batch, items.front().extents());
  tensor<T, std::remove_const_t<decltype(extents)>> out(extents, uninitialized);
  T* to = out.data();
  for (auto const& item : items) to = std::copy_n(item.data(), item.size(), to);
  return out;
}

/// The reports of a batch as one.
template <class = void>
eigen_report joined_report(std::vector<eigen_report> items) {
  eigen_report out = items.front();
  out.residuals.clear(), out.rounding.clear();
  out.iterations = 0, out.products = out.applications = 0, out.seconds = 0;
  for (auto const& item : items) {
    if (out.reason == reason::converged) out.reason = item.reason;
    out.iterations = (std::max)(out.iterations, item.iterations);
    out.products += item.products, out.applications += item.applications, out.seconds += item.seconds;
    out.residuals.insert(out.residuals.end(), item.residuals.begin(), item.residuals.end());
    out.rounding.insert(out.rounding.end(), item.rounding.begin(), item.rounding.end());
    if (!(item.orthogonality <= out.orthogonality)) out.orthogonality = item.orthogonality;
    out.sees_multiplicity = (std::min)(out.sees_multiplicity, item.sees_multiplicity);
    out.cuts_cluster = out.cuts_cluster || item.cuts_cluster;
  }
  out.items = std::move(items);
  return out;
}

/// One matrix with scalar entries: of a batch item b.
template <class A>
auto scalar_item(A const& a, index_t b) {
  using S = shape_of<A>;
  if constexpr (S::is_batched)
    return scalar_item(batch_item(a, b), 0);
  else if constexpr (S::is_blocked)
    return unblocked(a);
  else
    return a;
}
/// call(A of the item, ...) of each item of a batch, or of the one matrix that there is.
template <class Call, class First, class... A>
auto eigsh_of_items(Call const& call, First const& a, A const&... more) {
  constexpr bool is_batch = (shape_of<First>::is_batched || ... || shape_of<A>::is_batched);
  if constexpr (!is_batch) {
    return call(scalar_item(a, 0), scalar_item(more, 0)...);
  } else {
    auto const& batch = [&]() -> auto const& {
      if constexpr (shape_of<First>::is_batched)
        return a.shape().batch();
      else
        return (more.shape().batch(), ...);
    }();
    auto const require = [&](auto const& shape) {
      if constexpr (std::remove_cvref_t<decltype(shape)>::is_batched)
        if (shape.batch().total() != batch.total()) throw shape_error(text("eigsh(A, B, k, ...): A is a batch of ", batch.total(), ", and B of ", shape.batch().total()));
    };
    (require(more.shape()), ...);
    if (batch.total() == 0) throw value_error("eigsh(A, k, ...): A is a batch of nothing");
    using Pairs = decltype(call(scalar_item(a, 0), scalar_item(more, 0)...));
    std::vector<decltype(Pairs::values)> values;
    std::vector<decltype(Pairs::vectors)> vectors;
    std::vector<eigen_report> reports;
    for (index_t b = 0; b < batch.total(); ++b) {
      try {
        Pairs pairs = call(scalar_item(a, b), scalar_item(more, b)...);
        values.push_back(std::move(pairs.values)), vectors.push_back(std::move(pairs.vectors)), reports.push_back(std::move(pairs.report));
      } catch (value_error const& e) {
        throw value_error(text(e.what(), " (batch item ", b, ')'));
      }
    }
    auto w = stack_items(batch, values);
    auto V = stack_items(batch, vectors);
    return eigenpairs<decltype(w), decltype(V)>{std::move(w), std::move(V), joined_report(std::move(reports))};
  }
}
} // namespace detail

/// Eigenpairs of a batch, `eigsh(A, k, wanted, ...)` of (*batch, N, N): of each item by itself, values (*batch, k) and vectors (*batch, N, k); `report.items`
/// has the report of each, the report itself what is the worst of all. Of blocks, (N, N, p, p), they are those of unblocked(A), vectors (N p, k).
/// In A v = w B v one of both may be a batch, or both may. Gradient: of values and vectors. Cost: that of the items, one after the other.
template <class A, class W, class... Options>
  requires(detail::AnyBatchOrBlocks<A> && Wanted<W>)
auto perform(op::eigsh, A const& a, int k, W const& wanted, Options const&... options) {
  return detail::eigsh_of_items([&](auto const& item) { return eigsh(item, k, wanted, options...); }, a);
}
template <class A, class B, class W, class... Options>
  requires(detail::AnyBatchOrBlocks<A, B> && Wanted<W>)
auto perform(op::eigsh, A const& a, B const& b, int k, W const& wanted, Options const&... options) {
  return detail::eigsh_of_items([&](auto const& item, auto const& weight) { return eigsh(item, weight, k, wanted, options...); }, a, b);
}

} // namespace sla

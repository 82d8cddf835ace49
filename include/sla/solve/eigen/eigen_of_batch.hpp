// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `eigsh`, `eigs` and `svds` of batches, item by item, and of blocks, as the matrix of their scalars. One text for plain and for traced matrices:
// what stacks the results of items is `stack_items`, of which grad/implicit/traced_batch.hpp has the other one.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include <sla/solve/eigen/eigs.hpp>
#include <sla/solve/eigen/eigsh.hpp>
#include <sla/solve/eigen/svds.hpp>
#include <sla/tensor/build/block.hpp>

namespace sla {

namespace detail {
template <class A>
using shape_of = std::remove_cvref_t<decltype(std::declval<A const&>().shape())>;
/// A sparse tensor that is not one matrix with scalar entries: a batch, or of blocks, or both.
template <class A>
concept BatchOrBlocks = requires { typename shape_of<A>; } && (shape_of<A>::is_batched || shape_of<A>::is_blocked);
/// A sparse tensor in host memory; a traced one too, where its floor says so.
template <class A>
inline constexpr bool has_items = is_sparse_tensor<A>;
/// Sparse tensors, of which some is a batch or has blocks.
template <class... A>
concept AnyBatchOrBlocks = (has_items<A> && ...) && (BatchOrBlocks<A> || ...);

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
template <class Report>
Report joined_report(std::vector<Report> items) {
  Report out = items.front();
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
/// f(), whose errors of values name the item.
template <class F>
auto naming_item(index_t b, F const& f) {
  try {
    return f();
  } catch (value_error const& e) {
    throw value_error(text(e.what(), " (batch item ", b, ')'));
  }
}
/// The results of all items as one, of the same kind.
template <class Batch, class Item>
auto stack_results(Batch const& batch, std::vector<Item>& found, dependent_t<eigen_report, Batch> report) {
  auto const stacked = [&]<class Part>(Part Item::*part) {
    std::vector<Part> parts;
    for (auto& item : found) parts.push_back(std::move(item.*part));
    return stack_items(batch, parts);
  };
  auto w = stacked(&Item::values);
  if constexpr (requires { &Item::right; }) {
    auto U = stacked(&Item::left);
    auto V = stacked(&Item::right);
    return singular_triplets<decltype(U), decltype(w), decltype(V)>{std::move(U), std::move(w), std::move(V), std::move(report)};
  } else {
    auto V = stacked(&Item::vectors);
    if constexpr (requires { &Item::left; })
      return eigentriples<decltype(w), decltype(V)>{std::move(w), std::move(V), stacked(&Item::left), std::move(report)};
    else
      return eigenpairs<decltype(w), decltype(V)>{std::move(w), std::move(V), std::move(report)};
  }
}
/// call(A of the item, ...) of each item of a batch, or of the one matrix that there is. `name` is that of the call.
template <class Call, class First, class... A>
auto eigen_of_items(char const* name, Call const& call, First const& a, A const&... more) {
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
        if (shape.batch().total() != batch.total()) throw shape_error(text(name, "(A, B, k, ...): A is a batch of ", batch.total(), ", and B of ", shape.batch().total()));
    };
    (require(more.shape()), ...);
    if (batch.total() == 0) throw value_error(text(name, "(A, k, ...): A is a batch of nothing"));
    std::vector<decltype(call(scalar_item(a, 0), scalar_item(more, 0)...))> found;
    std::vector<dependent_t<eigen_report, First>> reports;
    for (index_t b = 0; b < batch.total(); ++b) {
      found.push_back(naming_item(b, [&] { return call(scalar_item(a, b), scalar_item(more, b)...); }));
      reports.push_back(std::move(found.back().report));
    }
    return stack_results(batch, found, joined_report(std::move(reports)));
  }
}
} // namespace detail

/// Eigenpairs of a batch, `eigsh(A, k, wanted, ...)` of (*batch, N, N): of each item by itself, values (*batch, k) and vectors (*batch, N, k); `report.items`
/// has the report of each, the report itself what is the worst of all. Of blocks, (N, N, p, p), they are those of unblocked(A), vectors (N p, k).
/// In A v = w B v one of both may be a batch, or both may. Gradient: of values and vectors. Cost: that of the items, one after the other.
template <class A, class W, class... Options>
  requires(detail::AnyBatchOrBlocks<A> && Wanted<W>)
auto perform(op::eigsh, A const& a, int k, W const& wanted, Options const&... options) {
  return detail::eigen_of_items("eigsh", [&](auto const& item) { return eigsh(item, k, wanted, options...); }, a);
}
template <class A, class B, class W, class... Options>
  requires(detail::AnyBatchOrBlocks<A, B> && Wanted<W>)
auto perform(op::eigsh, A const& a, B const& b, int k, W const& wanted, Options const&... options) {
  return detail::eigen_of_items("eigsh", [&](auto const& item, auto const& weight) { return eigsh(item, weight, k, wanted, options...); }, a, b);
}
/// The same of `eigs(A, k, wanted, ...)`; with `left_vectors` those are (*batch, N, k) too.
template <class A, class W, class... Options>
  requires(detail::AnyBatchOrBlocks<A> && Wanted<W>)
auto perform(op::eigs, A const& a, int k, W const& wanted, Options const&... options) {
  return detail::eigen_of_items("eigs", [&](auto const& item) { return eigs(item, k, wanted, options...); }, a);
}
template <class A, class B, class W, class... Options>
  requires(detail::AnyBatchOrBlocks<A, B> && Wanted<W>)
auto perform(op::eigs, A const& a, B const& b, int k, W const& wanted, Options const&... options) {
  return detail::eigen_of_items("eigs", [&](auto const& item, auto const& weight) { return eigs(item, weight, k, wanted, options...); }, a, b);
}
/// Singular triplets of a batch, `svds(A, k, wanted, ...)` of (*batch, M, N): U (*batch, M, k), values (*batch, k), V (*batch, N, k). Of blocks, (M, N, p, q), they are those of
/// unblocked(A), U (M p, k) and V (N q, k). Reports, gradients and cost are as of eigsh.
template <class A, class W, class... Options>
  requires(detail::AnyBatchOrBlocks<A> && Wanted<W>)
auto perform(op::svds, A const& a, int k, W const& wanted, Options const&... options) {
  return detail::eigen_of_items("svds", [&](auto const& item) { return svds(item, k, wanted, options...); }, a);
}

/// The condition numbers of a batch, a tensor of its extents; of blocks that of unblocked(A).
template <class T, class S, class F>
  requires(S::is_batched || S::is_blocked)
[[nodiscard]] auto condition_number(sparse_tensor<T, S, F> const& A) {
  if constexpr (S::is_batched) {
    auto const& batch = A.shape().batch();
    tensor<double, std::remove_cvref_t<decltype(batch)>> out(batch);
    for (index_t b = 0; b < batch.total(); ++b) out.data()[b] = detail::naming_item(b, [&] { return condition_number(detail::scalar_item(A, b)); });
    return out;
  } else {
    return condition_number(unblocked(A));
  }
}

} // namespace sla

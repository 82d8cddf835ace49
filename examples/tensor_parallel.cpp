// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A network of two layers, sharded over the ranks of an axis "tp", in two styles of communication. What each sends, forward and
// backward, is asserted before anything runs; the gradients are those of one rank.
#include <iostream>

#include <sla/dist/grad/custom.hpp>
#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/engine/threads.hpp>
#include <sla/spmd/rule/table/einsum.hpp>

using namespace sla;

/// A product of dense matrices: (m, k) x (k, n). An operation of this program: the library learns its rule, kernel and adjoints.
struct mm {
  template <class A, class B>
  using extents = Extents<A::static_extent(0), B::static_extent(1)>;

  template <class T, class E, class F>
  static auto apply(tensor<T, E> const& a, tensor<T, F> const& b) {
    tensor<T, extents<E, F>> c(extents<E, F>(a.extent(0), b.extent(1)));
    for (index_t i = 0; i < a.extent(0); ++i)
      for (index_t k = 0; k < a.extent(1); ++k)
        for (index_t j = 0; j < b.extent(1); ++j) c[i * b.extent(1) + j] += a[i * a.extent(1) + k] * b[k * b.extent(1) + j];
    return c;
  }
  template <class T, class E>
  static auto turned(tensor<T, E> const& a) {
    tensor<T, Extents<E::static_extent(1), E::static_extent(0)>> t({a.extent(1), a.extent(0)});
    for (index_t i = 0; i < a.extent(0); ++i)
      for (index_t j = 0; j < a.extent(1); ++j) t[j * a.extent(0) + i] = a[i * a.extent(1) + j];
    return t;
  }
  // c = a b: the gradient of a is g b^T, that of b is a^T g
  static auto pullback(operand_number<0>, auto const&, auto const& b, auto const& g) { return apply(g, turned(b)); }
  static auto pullback(operand_number<1>, auto const& a, auto const&, auto const& g) { return apply(turned(a), g); }
};
/// Each index may be sharded (k leaves a pending sum), and it is linear in a and in b.
template <>
inline constexpr auto sla::rule_of<mm> = strategies::einsum("mk,kn->mn");

using Mesh = mesh<axis<"tp", 4>>;
inline constexpr index_t tokens = 8, width = 12, hidden = 16;
template <index_t M, index_t N, class P>
using Part_of = dtensor<tensor<double, Extents<M, N>>, Mesh, P>;

// ---- every rank has the tokens: one all_reduce forward, one backward

constexpr auto by_copies = [](auto const& x, auto const& w1, auto const& w2) {
  auto h = tanh(custom<mm>(convert<"tp", Replicate>(x), w1));  // Shard<1>: columns of the hidden layer
  return all_reduce<"tp", Invariant>(custom<mm>(h, w2));       // of a Partial: a term of the sum over the hidden layer
};
using W1 = Part_of<width, hidden / 4, Shard<1>>;
using W2 = Part_of<hidden / 4, width, Shard<0>>;
constexpr auto copies = schedule<by_copies, Part_of<tokens, width, Invariant>, W1, W2>;
static_assert(copies.collectives() == 1 && count_steps<step::all_reduce>(copies) == 1);
static_assert(copies.backward().collectives() == 1 && count_steps<step::all_reduce>(copies.backward()) == 1);
static_assert(copies.peak() == 8 * tokens * width);

// ---- every rank has a part of the tokens between the products: the same number of bytes, and less memory

constexpr auto by_parts = [](auto const& x, auto const& w1, auto const& w2) {
  auto h = tanh(custom<mm>(all_gather<"tp">(x), w1));
  return reduce_scatter<"tp", Shard<0>>(custom<mm>(h, w2));
};
constexpr auto parts = schedule<by_parts, Part_of<tokens / 4, width, Shard<0>>, W1, W2>;
static_assert(parts.collectives() == 2 && count_steps<step::all_gather>(parts) == 1 && count_steps<step::reduce_scatter>(parts) == 1);
static_assert(count_steps<step::all_gather>(parts.backward()) == 1 && count_steps<step::reduce_scatter>(parts.backward()) == 1);
static_assert(parts[0].bytes.at(0) == 8 * tokens / 4 * width && parts[1].result.at(0) == 8 * tokens / 4 * width);

template <class X, class Y>
double difference(X const& x, Y const& y) {
  double most = 0;
  for (index_t n = 0; n < y.size(); ++n) most = std::max(most, std::abs(x.data()[n] - y.data()[n]));
  return most;
}

int main() {
  auto const x = random<double, Extents<tokens, width>>({}, 1), target = random<double, Extents<tokens, width>>({}, 2);
  auto const w1 = random<double, Extents<width, hidden>>({}, 3);
  auto const w2 = random<double, Extents<hidden, width>>({}, 4);

  // one rank, by hand
  auto const h = eval(tanh(mm::apply(x, w1)));
  auto const error = eval(mm::apply(h, w2) - target);
  double const loss = 0.5 * squared_norm(error);
  auto const g2 = mm::pullback(operand_number<1>{}, h, w2, error);
  auto const gh = eval(mm::pullback(operand_number<0>{}, h, w2, error) * (1.0 - h * h));
  auto const g1 = mm::pullback(operand_number<1>{}, x, w1, gh);
  auto const gx = mm::pullback(operand_number<0>{}, x, w1, gh);

  auto const good = threads::run(4, [&](auto& world) {
    Mesh m(world);
    auto const d1 = distribute<Shard<1>>(w1, m);
    auto const d2 = distribute<Shard<0>>(w2, m);
    auto const check = [&](char const* style, auto const& model, auto const& dx, auto const& goal) {
      auto const [value, to_x, to_w1, to_w2] = value_and_gradient(
          [&](auto const& a, auto const& b, auto const& c) { return 0.5 * squared_norm(model(a, b, c) - goal); }, dx, d1, d2);
      static_assert(has_placements<decltype(to_w1), Shard<1>> && has_placements<decltype(to_w2), Shard<0>>);
      static_assert(std::same_as<placements_of_t<decltype(to_x)>, placements_of_t<decltype(dx)>>);  // Invariant and Shard are their own duals
      double const apart = std::abs(value - loss) + difference(gather(to_x), gx) + difference(gather(to_w1), g1) +
                           difference(gather(to_w2), g2);
      if (world.rank() == 0) std::cout << style << ": loss " << value << ", gradients differ from one rank's by " << apart << '\n';
      return apart <= 1e-12 * (1 + loss);
    };
    bool const one = check("copies of the tokens", by_copies, distribute<Invariant>(x, m), distribute<Invariant>(target, m));
    bool const two = check("parts of the tokens ", by_parts, distribute<Shard<0>>(x, m), distribute<Shard<0>>(target, m));
    return one && two;
  });
  for (bool one : good)
    if (!one) return 1;
  return 0;
}

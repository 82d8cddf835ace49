// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The schedules of the Krylov methods, from their texts, and the placements of the scalars of a mesh's space. That ranks send
// what a schedule says is tested in solve.cpp.
#include <sla/dist/solve/recording.hpp>
#include <sla/dist/solve/mesh_space.hpp>

#include "catch.hpp"

namespace test_recording {

using namespace sla;
using Rows = mesh<axis<"rows", 4>>;

namespace {
template <class T>
using Operator = dsparse_tensor<sparse_tensor<T>, Rows, SparseShard<0, Part<>>>;
template <class T>
using Column = dtensor<vector<T>, Rows, Shard<0, Part<>>>;
template <class Method, class T = double>
inline constexpr auto of = method_schedule<Method, Operator<T>, Column<T>>;

/// Halos and all_reduces of one iteration, and that all iterations are alike.
template <class Method, class T = double>
constexpr bool sends(int halos, int reductions) {
  auto const one = of<Method, T>.iteration();
  return one == of<Method, T>.iteration(1) && one.count(step::halo_exchange) == halos && one.count(step::all_reduce) == reductions &&
         one.size() == halos + reductions && one.merged() == one;
}
static_assert(sends<cg>(1, 2) && sends<cg, std::complex<double>>(1, 2) && sends<cg, float>(1, 2));
static_assert(sends<bicgstab>(2, 3));
static_assert(sends<minres>(1, 2));
static_assert(sends<gmres>(1, 3), "Gram-Schmidt twice: two runs of inner products, and a norm");
static_assert(sends<fgmres>(1, 3));

// what travels: pq; then rz and rr together
static_assert(of<cg>.iteration()[1].bytes == linear_bytes{8, 0} && of<cg>.iteration()[2].bytes == linear_bytes{16, 0});
static_assert(of<cg>.iteration()[2].values == 2 && of<cg>.iteration()[0].bytes == linear_bytes{0, 8});
static_assert(of<cg, std::complex<double>>.iteration()[2].bytes == linear_bytes{24, 0}, "a complex number and a real one");
static_assert(of<cg, float>.iteration()[1].bytes == linear_bytes{8, 0} && of<cg, float>.iteration()[0].bytes == linear_bytes{0, 4});
static_assert(of<gmres>.iteration()[1].bytes == linear_bytes{8 * 32, 0});

// the way back: adjoints in reverse order
static_assert(of<cg>.iteration().backward().count(step::halo_reduce) == 1 && of<cg>.iteration().backward().count(step::all_reduce) == 2);

// replicated systems send nothing
using Copy = mesh<axis<"copies", 3>>;
static_assert(method_schedule<cg, dsparse_tensor<sparse_tensor<double>, Copy, Replicate>, dtensor<vector<double>, Copy, Replicate>>.size() == 0);

// on a mesh that runs, the scalars of a space have placements: Replicate where ranks share the system, once fuse has reduced them
using Grid = mesh<axis<"batches">, axis<"rows", 2>>;
using Space_ = mesh_space<Grid, true, false, true>;
using Item = dtensor<tensor<double, Extents<dyn, dyn>>, Grid, Shard<0>, Shard<1, Part<>>>;
using Reduced = std::tuple_element_t<0, decltype(fuse(std::declval<Space_&>(), squared_norm_of(std::declval<Item const&>())))>;
static_assert(std::same_as<Reduced::placement_list, placements<Varying, Replicate>>);
static_assert(std::same_as<Reduced, scalar_of_t<Space_, double>>);
static_assert(std::same_as<placements_of_t<decltype(eval(dot(std::declval<Item const&>(), std::declval<Item const&>())))>,
                           placements<Partial<>, Partial<>>>, "before that it is pending");
static_assert(Space_::folds<Partial<>, Partial<>> && Space_::folds<Replicate, Partial<>> && !Space_::folds<Partial<>, Replicate>);

/// An iteration of subspaces, on blocks of three columns.
struct subspaces {
  template <class S, class A, class M, class V, class X, class MakeStop>
  static constexpr auto run(S& space, A const& a, M const&, V const& b, X& x, MakeStop make_stop) {
    auto r = space.template like<double>(b);
    auto [bb] = fuse(space, squared_norm_of(column(b, 0)));
    auto stop = make_stop(space, bb);
    auto rr = bb;
    while (stop.go_on(rr)) {
      auto [G, s] = fuse(space, set(r, a * x), gram_of(x, r), squared_norm_of(column(r, 0)));
      fuse(space, set(x, combine(r, space.map([](auto const& g) { return g; }, G))));
      rr = s;
    }
    return stop.outcome();
  }
};
template <class T>
using Block = dtensor<tensor<T, Extents<dyn, 3>>, Rows, Shard<0, Part<>>>;
constexpr auto of_blocks = method_schedule<subspaces, Operator<double>, Block<double>>.iteration();
static_assert(of_blocks.count(step::halo_exchange) == 1 && of_blocks.count(step::all_reduce) == 1 && of_blocks.size() == 2);
static_assert(of_blocks[1].values == 2 && of_blocks[1].bytes == linear_bytes{9 * 8 + 8, 0}, "nine inner products and a norm travel together");

/// A preconditioner of two products by the same matrix, as a polynomial of degree two is.
struct two_products {
  outline<sparse_shape_only<double, Matrix>, Rows, SparseShard<0, Part<>>> A;
};
template <class X>
constexpr auto operator*(two_products const& m, X const& x) {
  return m.A * eval(m.A * x);
}
}  // namespace

TEST_CASE("a method at run time leaves the schedule of the compiler, and its preconditioner's products are in it") {
  recorder to(2);
  recording_space<Rows> space(to);
  outline<sparse_shape_only<double, Matrix>, Rows, SparseShard<0, Part<>>> const A(to);
  outline<shape_only<double, Extents<dyn>>, Rows, Shard<0, Part<>>> b(to), x(to);
  SECTION("without one") {
    (void)cg::run(space, A, local_operator{}, b, x, detail::recorded_stop_maker_of_outlines{});
    CHECK(to.steps() == of<cg>);
  }
  SECTION("with one") {
    (void)cg::run(space, A, two_products{A}, b, x, detail::recorded_stop_maker_of_outlines{});
    CHECK(to.steps().iteration().count(step::halo_exchange) == 3);
    CHECK(to.steps().iteration().count(step::all_reduce) == 2);
  }
}
} // namespace test_recording

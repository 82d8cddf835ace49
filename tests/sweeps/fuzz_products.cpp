// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The placement fuzz, products and contractions: every combination of placements on small meshes, values and gradients;
// a matrix product has no other right rules than those stated.
#include <sla/spmd/rule/table/einsum.hpp>

#include "dense_kernels.hpp"

using namespace fuzz;

namespace {

struct einsum2 {
  std::string spec;
  template <class T>
  array<T> operator()(array<T> const& a, array<T> const& b) const {
    return product<T>(spec, {&a, &b});
  }
};
struct einsum3 {
  std::string spec;
  template <class T>
  array<T> operator()(array<T> const& a, array<T> const& b, array<T> const& c) const {
    return product<T>(spec, {&a, &b, &c});
  }
};
/// bias + product, the bias aligned at the last dimension.
struct fused {
  std::string spec;
  template <class T>
  array<T> operator()(array<T> const& bias, array<T> const& a, array<T> const& b) const {
    auto y = product<T>(spec, {&a, &b});
    if (y.extents.empty() || y.extent(0) < 0) return y;
    int const m = y.extent(0), n = y.extent(1);
    bool const rows = bias.rank() == 2;
    if (bias.extent(bias.rank() - 1) != n || (rows && bias.extent(0) != m)) return sim::no_result<T>();
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) y(i, j) = y(i, j) + (rows ? bias(i, j) : bias(j));
    return y;
  }
};

} // namespace

TEST_CASE("products of two operands") {
  composition_state l;
  struct {
    char const* spec;
    shape a, b;
  } const cases[] = {{"mk,kn->mn", {4, 5}, {5, 3}}, {"bmk,bkn->bmn", {3, 2, 5}, {3, 5, 2}},
                     {"mk,k->m", {4, 5}, {5}},      {"mk,m->k", {4, 5}, {4}},
                     {"i,i->", {7}, {7}},           {"ij,ij->ij", {5, 3}, {5, 3}},
                     {"m,mk->mk", {5}, {5, 3}},     {"m,n->mn", {5}, {4}},
                     {"mk,nk->mn", {4, 5}, {3, 5}}, {"ij,ij->i", {5, 3}, {5, 3}}};
  for (auto const& [spec, ea, eb] : cases) {
    auto const a = values(ea, 0), b = values(eb, 1);
    on_all_meshes(l, spec, strategies::einsum(spec, dims_of(a), dims_of(b)), einsum2{spec}, a, b);
  }
  CHECK(l.gradients > 1500 / one_in());
  l.finish();
}

TEST_CASE("products of three operands, and with a bias") {
  composition_state l;
  auto const a = values({3, 5}, 0), b = values({5, 2}, 1), c = values({3, 2}, 2), d = values({2}, 3);
  on_all_meshes(l, "mk,kn,mn->k", strategies::einsum("mk,kn,mn->k", dims_of(a), dims_of(b), dims_of(c)),
                einsum3{"mk,kn,mn->k"}, a, b, c);
  on_all_meshes(l, "mk,kn plus mn", strategies::einsum_plus("mk,kn->mn", dims_of(c), 0, dims_of(a), dims_of(b)),
                fused{"mk,kn->mn"}, c, a, b);
  on_all_meshes(l, "mk,kn plus n", strategies::einsum_plus("mk,kn->mn", dims_of(d), 0, dims_of(a), dims_of(b)),
                fused{"mk,kn->mn"}, d, a, b);
  l.finish();
}

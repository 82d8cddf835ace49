// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: of shards no rank has all elements
// apart: compiled with others, clang does not tell who asked for it
#include <sla/dist.hpp>

using namespace sla;
using Mesh = mesh<axis<"tp", 2>>;

auto f(dtensor<vector<double>, Mesh, Shard<0>> const& x) {
#ifdef FIXED
  return jvp([](auto const& v) { return dot(v, v); }, std::tie(x), std::tie(x));
#else
  return jvp([](auto const& v) { return v[0]; }, std::tie(x), std::tie(x));
#endif
}
int main() {}

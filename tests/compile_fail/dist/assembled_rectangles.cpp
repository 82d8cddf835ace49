// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: assemble<SparseShard<0, F>, SparseShard<1, G>>\(mesh, rows, cols, i, j, v\): the mesh has two axes, F and G are families that are contiguous
#include <sla/dist/assembly/assemble_rectangles.hpp>

using namespace sla;
using Mesh = mesh<axis<"pr">, axis<"pc", 2>>;
#ifdef FIXED
using Rows = SparseShard<0, Balanced>;
#else
using Rows = SparseShard<0>;
#endif

auto assembled(Mesh const& m, std::vector<int> const& i, std::vector<int> const& j, std::vector<double> const& v) { return assemble<Rows, SparseShard<1, Balanced>>(m, 4, 4, i, j, v); }
int main() {}

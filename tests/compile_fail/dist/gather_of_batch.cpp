// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: the batch of D is sharded
#include <sla/dist/matrix/matrix_functions.hpp>
#include <sla/dist/engine/threads.hpp>
#include <sla/tensor/problems/problems.hpp>

using namespace sla;

int main() {
  threads::run(4, [](auto& world) {
    mesh<axis<"dp", 2>, axis<"rows", 2>> m(world);
    auto A = stack_batch(problems::poisson({4, 4}), problems::poisson({4, 4}));
#ifdef FIXED
    auto D = distribute<Replicate, SparseShard<0>>(A, m);
#else
    auto D = distribute<Shard<0>, SparseShard<0>>(A, m);
#endif
    return gather(D).nnz();
  });
}

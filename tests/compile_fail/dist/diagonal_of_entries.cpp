// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: no rank has whole rows or columns of this matrix
#include <sla/dist/matrix/matrix_functions.hpp>

using namespace sla;
using Mesh = mesh<axis<"rows">>;
#ifdef FIXED
using Operator = dsparse_tensor<sparse_tensor<double>, Mesh, SparseShard<0>>;
#else
using Operator = dsparse_tensor<sparse_tensor<double>, Mesh, Hyper<>>;
#endif

auto diagonal(Operator const& D) { return diagonal_of(D); }
int main() {}

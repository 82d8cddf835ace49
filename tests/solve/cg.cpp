// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/precond/ilu0.hpp>
#include <sla/solve/precond/jacobi.hpp>

#include "suites/krylov.hpp"

TEST_CASE("cg gives the dense solution, the same bits on the host and on a queue of any lag") { suite::plain(sla::cg{.rtol = 1e-10}); }
TEST_CASE("cg in complex numbers") { suite::complex_numbers(sla::cg{.rtol = 1e-10}); }

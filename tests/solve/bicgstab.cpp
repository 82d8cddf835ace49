// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <sla/solve/krylov/bicgstab.hpp>
#include <sla/solve/precond/ilu0.hpp>
#include <sla/solve/precond/jacobi.hpp>

#include "suites/krylov.hpp"

TEST_CASE("bicgstab gives the dense solution, the same bits on the host and on a queue of any lag") { suite::plain(sla::bicgstab{.rtol = 1e-10}); }
TEST_CASE("bicgstab in complex numbers") { suite::complex_numbers(sla::bicgstab{.rtol = 1e-10}); }
TEST_CASE("bicgstab without a preconditioner") { suite::without_preconditioner(sla::bicgstab{.rtol = 1e-10}); }

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <sla/solve/krylov/bicgstab.hpp>
#include <sla/solve/precond/ilu0.hpp>
#include <sla/solve/precond/jacobi.hpp>

#include "suites/krylov.hpp"

TEST_CASE("bicgstab on a batch with several right-hand sides") { suite::batches_with_right_hand_sides(sla::bicgstab{.rtol = 1e-10}); }
TEST_CASE("bicgstab on blocks with several right-hand sides") { suite::blocks_with_right_hand_sides(sla::bicgstab{.rtol = 1e-10}); }
TEST_CASE("bicgstab stops each item by itself") { suite::items_are_independent(sla::bicgstab{.rtol = 1e-10}); }

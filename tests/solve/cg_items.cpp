// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/precond/ilu0.hpp>
#include <sla/solve/precond/jacobi.hpp>

#include "suites/krylov.hpp"

TEST_CASE("cg on a batch with several right-hand sides") { suite::batches_with_right_hand_sides(sla::cg{.rtol = 1e-10}); }
TEST_CASE("cg on blocks with several right-hand sides") { suite::blocks_with_right_hand_sides(sla::cg{.rtol = 1e-10}); }
TEST_CASE("cg stops each item by itself") { suite::items_are_independent(sla::cg{.rtol = 1e-10}); }

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <sla/solve/krylov/gmres.hpp>
#include <sla/solve/precond/ilu0.hpp>
#include <sla/solve/precond/jacobi.hpp>

#include "suites/krylov.hpp"

TEST_CASE("gmres on a batch with several right-hand sides") { suite::batches_with_right_hand_sides(sla::gmres{.rtol = 1e-10}); }
TEST_CASE("gmres on blocks with several right-hand sides") { suite::blocks_with_right_hand_sides(sla::gmres{.rtol = 1e-10}); }
TEST_CASE("gmres stops each item by itself") { suite::items_are_independent(sla::gmres{.rtol = 1e-10}); }

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The door to many ranks: worlds, distributed tensors, assembly, collectives, products, solving, gradients. Placements as types alone are behind
// sla/spmd.hpp; the engine for many machines is sla/adapter/mpi.hpp.
#pragma once

#include <sla/spmd.hpp>

#include <sla/dist/assembly/assemble.hpp>
#include <sla/dist/assembly/assemble_rectangles.hpp>
#include <sla/dist/assembly/diagonal_on_ranks.hpp>
#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/assembly/factories.hpp>
#include <sla/dist/assembly/matrix_market_on_ranks.hpp>
#include <sla/dist/assembly/problems_on_ranks.hpp>
#include <sla/dist/assembly/vectors.hpp>
#include <sla/dist/engine/fake.hpp>
#include <sla/dist/engine/self.hpp>
#include <sla/dist/engine/threads.hpp>
#include <sla/dist/files/load.hpp>
#include <sla/dist/grad/check_on_ranks.hpp>
#include <sla/dist/grad/custom.hpp>
#include <sla/dist/grad/value_and_gradient.hpp>
#include <sla/dist/matrix/algebra_gradient.hpp>
#include <sla/dist/matrix/eliminate_on_ranks.hpp>
#include <sla/dist/matrix/matrix_functions.hpp>
#include <sla/dist/matrix/matrix_gradient.hpp>
#include <sla/dist/matrix/matrix_product.hpp>
#include <sla/dist/matrix/reshard_rows.hpp>
#include <sla/dist/matrix/unassembled.hpp>
#include <sla/dist/partition/picture.hpp>
#include <sla/dist/partition/quality.hpp>
#include <sla/dist/partition/rcb.hpp>
#include <sla/dist/plan/auto_plan.hpp>
#include <sla/dist/plan/redistribute.hpp>
#include <sla/dist/multigrid/amg_on_ranks.hpp>
#include <sla/dist/solve/jacobian_on_ranks.hpp>
#include <sla/dist/solve/mesh_blocks.hpp>
#include <sla/dist/solve/mesh_world.hpp>
#include <sla/dist/solve/own_operator.hpp>
#include <sla/dist/solve/recording.hpp>
#include <sla/dist/solve/schwarz_on_ranks.hpp>
#include <sla/dist/solve/solve_entries.hpp>
#include <sla/dist/solve/unknowns_on_ranks.hpp>
#include <sla/dist/step/collectives.hpp>
#include <sla/dist/step/flat_steps.hpp>
#include <sla/dist/step/halo_steps.hpp>
#include <sla/dist/step/pending.hpp>
#include <sla/dist/step/pending_gradient.hpp>
#include <sla/dist/step/precision_steps.hpp>
#include <sla/dist/step/splits.hpp>
#include <sla/dist/value/compare.hpp>
#include <sla/dist/value/explain_placement.hpp>
#include <sla/dist/value/in_place.hpp>
#include <sla/dist/view/batched.hpp>
#include <sla/dist/view/local_map.hpp>
#include <sla/dist/view/reinterpret_mesh.hpp>
#include <sla/dist/view/views_gradient.hpp>
#include <sla/solve.hpp>

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The door to many ranks: worlds, distributed tensors, assembly, collectives, products, solving, gradients. Placements as types alone are behind
// sla/spmd.hpp; the engine for many machines is sla/adapter/mpi.hpp.
#pragma once

#include <sla/spmd.hpp>

#include <sla/dist/auto_plan.hpp>
#include <sla/dist/assemble.hpp>
#include <sla/dist/batched.hpp>
#include <sla/dist/collectives.hpp>
#include <sla/dist/choose.hpp>
#include <sla/dist/custom.hpp>
#include <sla/dist/deal_rows.hpp>
#include <sla/dist/distribute.hpp>
#include <sla/dist/eliminate.hpp>
#include <sla/dist/explain.hpp>
#include <sla/dist/factories.hpp>
#include <sla/dist/fake.hpp>
#include <sla/dist/flat.hpp>
#include <sla/dist/grad.hpp>
#include <sla/dist/grad_check.hpp>
#include <sla/dist/grad_matrix.hpp>
#include <sla/dist/grad_pending.hpp>
#include <sla/dist/grad_views.hpp>
#include <sla/dist/halos.hpp>
#include <sla/dist/in_place.hpp>
#include <sla/dist/linear_operator.hpp>
#include <sla/dist/local_map.hpp>
#include <sla/dist/matrix.hpp>
#include <sla/dist/partition/picture.hpp>
#include <sla/dist/partition/quality.hpp>
#include <sla/dist/partition/rcb.hpp>
#include <sla/dist/pending.hpp>
#include <sla/dist/precision.hpp>
#include <sla/dist/product.hpp>
#include <sla/dist/reinterpret_mesh.hpp>
#include <sla/dist/recording.hpp>
#include <sla/dist/redistribute.hpp>
#include <sla/dist/schwarz.hpp>
#include <sla/dist/self.hpp>
#include <sla/dist/solve.hpp>
#include <sla/dist/splits.hpp>
#include <sla/dist/threads.hpp>
#include <sla/dist/unassembled.hpp>
#include <sla/solve.hpp>

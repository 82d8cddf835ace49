// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The door to eigenvalues: eigsh of Hermitian matrices, eigs of others, svds, and the derivatives of what they give. It opens
// sla/grad.hpp, and the doors below, too.
#pragma once

#include <sla/grad.hpp>

#include <sla/grad/implicit/dual_eigen.hpp>
#include <sla/grad/implicit/dual_eigs.hpp>
#include <sla/grad/implicit/dual_svds.hpp>
#include <sla/grad/implicit/traced_batch.hpp>
#include <sla/grad/implicit/traced_eigen.hpp>
#include <sla/grad/implicit/traced_eigs.hpp>
#include <sla/grad/implicit/traced_svds.hpp>
#include <sla/solve/eigen/eigen_of_batch.hpp>
#include <sla/solve/eigen/eigs.hpp>
#include <sla/solve/eigen/eigsh.hpp>
#include <sla/solve/eigen/svds.hpp>

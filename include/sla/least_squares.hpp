// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The door to least squares: lsmr, lsqr, cgls, dense_qr, the automatic choice, and derivatives. It opens the doors below it too.
// Sparse QR by SuiteSparse is in <sla/adapter/spqr.hpp>.
#pragma once

#include <sla/grad.hpp>

#include <sla/grad/implicit/traced_least_squares.hpp>
#include <sla/solve/least_squares/least_squares_calls.hpp>

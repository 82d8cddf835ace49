// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The door to determinants: det, slogdet, logdet, selected_inverse, and logdet by stochastic_lanczos, with their derivatives. It opens the
// doors below it too.
#pragma once

#include <sla/grad.hpp>

#include <sla/grad/implicit/traced_determinant.hpp>
#include <sla/grad/implicit/traced_estimate.hpp>
#include <sla/solve/determinant/slogdet.hpp>
#include <sla/solve/determinant/stochastic_lanczos.hpp>

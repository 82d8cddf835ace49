// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The backend suite on the device's space with simulated blocks: complex scalars.
#include <complex>
#include <memory>

#include "simulated.hpp"
#include "suites/backend.hpp"

TEST_CASE("the backend suite on simulated blocks, complex") {
  suites::backend_suite<std::complex<float>>([](sla::frame f) { return std::make_unique<simulated_space>(f); }, 1e-4);
}

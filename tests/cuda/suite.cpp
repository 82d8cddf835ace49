// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The backend suite on the device's space with simulated blocks.
#include <complex>
#include <memory>

#include "simulated.hpp"
#include "suites/backend.hpp"

TEST_CASE("simulated blocks agree with serial") { suites::backend_suite(simulate, 1e-12); }
TEST_CASE("vectors of several sizes share the space of a device") {
  for (int lag : {0, 4, 32}) suites::sizes_suite([lag](sla::frame f) { return std::make_unique<simulated_space>(f, lag); }, 1e-12);
}
TEST_CASE("simulated blocks agree with serial, complex of float") { suites::scalar_suite<std::complex<float>>(simulate, 1e-4); }

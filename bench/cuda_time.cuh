// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Seconds of work on a GPU, by its own events.
#pragma once

#include <sla/adapter/cuda.cuh>

#include "table.hpp"

namespace bench {
namespace cuda = sla::cuda;

/// Seconds of f on the device, once without counting unless it is to run only once, then `repetitions` times.
template <class F>
samples device_seconds(int repetitions, F const& f) {
  cudaEvent_t start{}, stop{};
  cuda::check(cudaEventCreate(&start), "cudaEventCreate");
  cuda::check(cudaEventCreate(&stop), "cudaEventCreate");
  samples out;
  for (int k = repetitions == 1 ? 0 : -1; k < repetitions; ++k) {
    float milliseconds = 0;
    cuda::check(cudaEventRecord(start, cuda::current_stream()), "cudaEventRecord");
    f();
    cuda::check(cudaEventRecord(stop, cuda::current_stream()), "cudaEventRecord");
    cuda::check(cudaEventSynchronize(stop), "cudaEventSynchronize");
    cuda::check(cudaEventElapsedTime(&milliseconds, start, stop), "cudaEventElapsedTime");
    if (k >= 0) out.add(1e-3 * milliseconds);
  }
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
  return out;
}

}  // namespace bench

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CUDA: `device_memory`, `to<device_memory>(x)` and back, expressions, `fuse` and `solve` on device tensors, streams. Compile
// with nvcc -std=c++20; no other flag is needed. Without a device cuda::available() is false.
#pragma once

#include <sla/adapter/cuda/device.cuh>
#include <sla/adapter/cuda/engine.cuh>
#include <sla/adapter/cuda/transfer.cuh>
#include <sla/adapter/cuda/world.cuh>

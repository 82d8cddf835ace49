// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The CUDA device: is there one, errors that name the call, streams, and `device_memory`, released in stream order.
// Transfers are in adapter/cuda/transfer.cuh, what runs on it in adapter/cuda/space.cuh.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstdint>

#include <sla/core/error.hpp>
#include <sla/tensor/storage/memory.hpp>

namespace sla::detail {
inline thread_local cudaStream_t device_stream = nullptr;  ///< nullptr: the device's default stream
inline std::atomic<std::size_t> device_bytes_now{0}, device_bytes_peak{0};
} // namespace sla::detail

namespace sla::cuda {

/// Throws what a call of the CUDA runtime reports, with the call's name.
/// Errors: unavailable_error where there is no device or driver, else error.
inline void check(cudaError_t status, char const* call) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // an error that was told is not told again by the next call
  auto const why = text(call, " failed: ", cudaGetErrorName(status), ", ", cudaGetErrorString(status));
  if (status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver)
    throw unavailable_error(text("no CUDA device can be used (", why, "); ask cuda::available() first, and stay in host_memory without one"));
  throw error(text("CUDA: ", why));
}

/// Is there a CUDA device that this program can use?
inline bool available() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count > 0;
  cudaGetLastError();
  return false;
}

/// A queue of work on the current device; ends when its work has.
class stream {
public:
  stream() { check(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags"); }
  ~stream() {
    cudaStreamSynchronize(handle_);
    cudaStreamDestroy(handle_);
  }
  stream(stream const&) = delete;
  stream& operator=(stream const&) = delete;
  cudaStream_t handle() const { return handle_; }

private:
  cudaStream_t handle_ = nullptr;
};

/// The stream that this thread's device work and device memory belong to.
inline cudaStream_t current_stream() { return detail::device_stream; }

/// Until the end of its scope this thread's device work goes to `s`, after what went to the stream before; afterwards the
/// stream before continues after the work of `s`. So a thread's work stays in one order, and its memory with it.
class use_stream {
public:
  explicit use_stream(stream const& s) : before_(detail::device_stream) { move_to(s.handle()); }
  ~use_stream() {
    try {
      move_to(before_);
    } catch (error const&) {  // a failed device is told by the next call that may throw
      detail::device_stream = before_;
    }
  }
  use_stream(use_stream const&) = delete;
  use_stream& operator=(use_stream const&) = delete;

private:
  static void move_to(cudaStream_t next) {
    cudaEvent_t done{};
    check(cudaEventCreateWithFlags(&done, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    auto status = cudaEventRecord(done, detail::device_stream);
    if (status == cudaSuccess) status = cudaStreamWaitEvent(next, done, 0);
    cudaEventDestroy(done);
    check(status, "cudaStreamWaitEvent");
    detail::device_stream = next;
  }
  cudaStream_t before_;
};

/// Waits for the work of this thread's stream.
inline void synchronize() { check(cudaStreamSynchronize(current_stream()), "cudaStreamSynchronize"); }

/// Bytes of device memory that tensors and spaces hold now, and the most they held. All threads.
inline memory_use memory_in_use() { return {detail::device_bytes_now.load(), detail::device_bytes_peak.load()}; }
/// Lets the peak of `cuda::memory_in_use()` count from what is in use now.
inline void memory_peak_reset() { detail::device_bytes_peak = detail::device_bytes_now.load(); }

} // namespace sla::cuda

namespace sla {

/// The memory of the current CUDA device. Allocation and release are in the order of the thread's stream: releasing does
/// not wait for work that still reads, and memory is reused by the device's pool.
struct device_memory {
  static constexpr bool is_host = false;

  /// Errors: unavailable_error, which names the bytes asked for and free, where the device has too few.
  static void* allocate(std::size_t bytes) {
    if (bytes == 0) return nullptr;
    keep_pool();
    void* p = nullptr;
    auto const status = cudaMallocAsync(&p, bytes, cuda::current_stream());
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      std::size_t left = 0, all = 0;
      cudaMemGetInfo(&left, &all);
      throw unavailable_error(text("device memory for ", bytes, " bytes: the device has ", all, " bytes, ", left,
                                   " of them free; solve in parts or over more devices, or use float or narrower indices"));
    }
    cuda::check(status, "cudaMallocAsync");
    std::size_t const now = detail::device_bytes_now += bytes;
    auto& most = detail::device_bytes_peak;
    for (std::size_t peak = most; peak < now && !most.compare_exchange_weak(peak, now);) {
    }
    return p;
  }
  static void deallocate(void* p, std::size_t bytes) noexcept {
    if (!p) return;
    detail::device_bytes_now -= bytes;
    cudaFreeAsync(p, cuda::current_stream());
  }
  static void zero(void* p, std::size_t bytes) {
    if (bytes) cuda::check(cudaMemsetAsync(p, 0, bytes, cuda::current_stream()), "cudaMemsetAsync");
  }
  /// Device to device.
  static void copy(void const* from, void* to, std::size_t bytes) {
    if (bytes)
      cuda::check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, cuda::current_stream()), "cudaMemcpyAsync");
  }

private:
  /// Keeps released memory in the pool: returning it to the system at every synchronisation would cost more than a pass.
  static void keep_pool() {
    static bool const kept = [] {
      int device = 0;
      cudaMemPool_t pool{};
      std::uint64_t all = ~std::uint64_t(0);
      cuda::check(cudaGetDevice(&device), "cudaGetDevice");
      cuda::check(cudaDeviceGetDefaultMemPool(&pool, device), "cudaDeviceGetDefaultMemPool");
      return cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all) == cudaSuccess;
    }();
    (void)kept;
  }
};

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernels and their launches: one kernel per fuse, which runs its passes one after the other, the fold of its reductions,
// and `map`. Their bodies are in exec/cuda/pass.cuh, what decides on them in exec/cuda/launcher.cuh.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <sla/adapter/cuda/device.cuh>
#include <sla/exec/cuda/pass.cuh>
#include <sla/exec/space_scalar.hpp>

namespace sla::cuda {

/// The kernel of one pass over memory: every statement that is not masked.
template <class... P>
__global__ void __launch_bounds__(block_threads)
    pass_kernel(__grid_constant__ pass_grid const g, unsigned mask, __grid_constant__ P const... p) {
  __shared__ alignas(slot_bytes) unsigned char shared[block_threads * slot_bytes];
  pass_body(device_block{index_t(blockIdx.x), shared}, g, mask, p...);
}

/// A pass whose last block to end makes the numbers of the fuse: a launch less, where a launch is what an iteration costs.
template <class Targets, class... P>
__global__ void __launch_bounds__(block_threads)
    pass_and_fold_kernel(__grid_constant__ pass_grid const g, unsigned mask, index_t numbers, unsigned* ended, __grid_constant__ Targets const targets,
                         __grid_constant__ P const... p) {
  __shared__ alignas(slot_bytes) unsigned char shared[block_threads * slot_bytes];
  __shared__ bool is_last;
  pass_body(device_block{index_t(blockIdx.x), shared}, g, mask, p...);
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();  // this block's partial results come before its arrival,
    is_last = atomicInc(ended, gridDim.x - 1) == gridDim.x - 1;
    __threadfence();  // and those of the others before what the last one reads
  }
  __syncthreads();
  if (is_last)
    for (index_t n = 0; n < numbers; ++n) fold_all(device_block{n, shared}, targets);
}

/// The kernel of `dots(V, k, w)`: k reductions in one pass.
template <class D>
__global__ void __launch_bounds__(block_threads)
    dots_kernel(__grid_constant__ pass_grid const g, __grid_constant__ D const d, typename D::summand* partials) {
  __shared__ alignas(slot_bytes) unsigned char shared[block_threads * slot_bytes];
  dots_body(device_block{index_t(blockIdx.x), shared}, g, int(blockIdx.y) * dots_at_once, d, partials);
}

/// The kernel that folds the partial results of a pass.
template <class... Target>
__global__ void __launch_bounds__(block_threads) fold_kernel(__grid_constant__ Target const... target) {
  __shared__ alignas(slot_bytes) unsigned char shared[block_threads * slot_bytes];
  fold_body(device_block{index_t(blockIdx.x), shared}, target...);
}

/// The kernel of `map(f, scalars...)`: one thread per item.
template <class F, class Place, class... A>
__global__ void __launch_bounds__(block_threads) map_kernel(F f, Place place, index_t count, A... argument) {
  index_t const k = index_t(blockIdx.x) * block_threads + threadIdx.x;
  if (k < count) detail::put_result(place, k, f(detail::item_value(argument, k)...));
}

/// Scalars and partial results in device memory. What is released may be given away again at once: its next owner writes
/// it later in the order of the stream.
class scalar_pool {
public:
  scalar_pool() = default;
  scalar_pool(scalar_pool const&) = delete;
  scalar_pool& operator=(scalar_pool const&) = delete;
  ~scalar_pool() {
    for (auto const& [bytes, list] : free_)
      for (void* p : list) device_memory::deallocate(p, bytes);
  }
  void* take(std::size_t bytes) {
    auto& list = free_[bytes];
    if (list.empty()) return device_memory::allocate(bytes);
    void* const p = list.back();
    list.pop_back();
    return p;
  }
  void give(void* p, std::size_t bytes) { free_[bytes].push_back(p); }

private:
  std::map<std::size_t, std::vector<void*>> free_;
};

/// Pinned memory of the host with an event. What is given back is kept for those who ask next, as long as the program runs: to pin memory and to
/// release it takes longer than ten iterations of a small solve.
class pinned_slot {
public:
  void* host = nullptr;
  cudaEvent_t ready = nullptr;
  int device = 0;  ///< that the event is of

  static pinned_slot take(std::size_t bytes) {
    auto const place = key(bytes);
    {
      std::lock_guard const lock(turn_);
      if (auto& list = free_[place]; !list.empty()) {
        auto const slot = list.back();
        list.pop_back();
        return slot;
      }
    }
    pinned_slot slot;
    slot.device = place.first;
    check(cudaHostAlloc(&slot.host, place.second, cudaHostAllocDefault), "cudaHostAlloc");
    if (auto const status = cudaEventCreateWithFlags(&slot.ready, cudaEventDisableTiming); status != cudaSuccess) {
      cudaFreeHost(slot.host);
      check(status, "cudaEventCreateWithFlags");
    }
    return slot;
  }
  /// Waits for what was to be copied there.
  static void give(pinned_slot const& slot, std::size_t bytes) noexcept {
    cudaEventSynchronize(slot.ready);
    try {
      std::lock_guard const lock(turn_);
      free_[{slot.device, room_for(bytes)}].push_back(slot);
    } catch (...) {
      cudaEventDestroy(slot.ready), cudaFreeHost(slot.host);
    }
  }

private:
  /// The device, and a power of two.
  static std::pair<int, std::size_t> key(std::size_t bytes) {
    int device = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    return {device, room_for(bytes)};
  }
  static std::size_t room_for(std::size_t bytes) {
    std::size_t room = 64;
    while (room < bytes) room *= 2;
    return room;
  }
  static inline std::mutex turn_;
  static inline std::map<std::pair<int, std::size_t>, std::vector<pinned_slot>> free_;
};

/// Launches on the thread's stream. Nothing but `read`, `finish` and a late copy waits for the device.
class device_engine {
public:
  using memory_type = device_memory;
  static constexpr int threads = block_threads;

  template <class T>
  std::shared_ptr<T> take(index_t n) {
    std::size_t bytes = 256;
    while (bytes < std::size_t(n) * sizeof(T)) bytes *= 2;
    return {static_cast<T*>(pool_->take(bytes)), [pool = pool_, bytes](T* p) { pool->give(p, bytes); }};
  }

  template <class... P>
  void pass(pass_grid const& g, unsigned mask, P const&... p) {
    static_assert((sizeof(P) + ... + sizeof(pass_grid)) < 32000, "sla: the statements of one fuse are too large for a kernel; split it");
    pass_kernel<<<unsigned(g.blocks()), threads, 0, current_stream()>>>(g, mask, p...);
    launched("the kernel of a fuse");
  }
  template <class Targets, class... P>
  void pass_and_fold(pass_grid const& g, unsigned mask, index_t numbers, Targets const& targets, P const&... p) {
    static_assert((sizeof(P) + ... + (sizeof(pass_grid) + sizeof(Targets))) < 32000, "sla: the statements of one fuse are too large for a kernel; split it");
    if (!ended_) {
      ended_ = take<unsigned>(1);
      check(cudaMemsetAsync(ended_.get(), 0, sizeof(unsigned), current_stream()), "cudaMemsetAsync");
    }
    pass_and_fold_kernel<<<unsigned(g.blocks()), threads, 0, current_stream()>>>(g, mask, numbers, ended_.get(), targets, p...);
    launched("the kernel of a fuse");
  }
  template <class D>
  void dots(pass_grid const& g, int chunks, D const& d, typename D::summand* partials) {
    dots_kernel<<<dim3(unsigned(g.blocks()), unsigned(chunks)), threads, 0, current_stream()>>>(g, d, partials);
    launched("the kernel of dots");
  }
  template <class... Target>
  void fold(index_t blocks, Target const&... target) {
    fold_kernel<<<unsigned(blocks), threads, 0, current_stream()>>>(target...);
    launched("the fold of a fuse");
  }
  template <class F, class Place, class... A>
  void map(F const& f, Place const& place, index_t count, A const&... argument) {
    map_kernel<<<unsigned((count + threads - 1) / threads), threads, 0, current_stream()>>>(f, place, count, argument...);
    launched("map");
  }

  void finish() { synchronize(); }
  void read(void const* from, void* to, std::size_t bytes) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, current_stream()), "cudaMemcpyAsync");
    synchronize();
  }

  /// What is read may change when this returns.
  void write(void const* from, void* to, std::size_t bytes) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, current_stream()), "cudaMemcpyAsync");
    synchronize();
  }

  /// Copies to pinned host memory that are looked at some calls later, when they have long arrived.
  class late_copies {
  public:
    explicit late_copies(int lag) : slots_(std::size_t(lag) + 1) {}
    late_copies(late_copies const&) = delete;
    late_copies& operator=(late_copies const&) = delete;
    ~late_copies() { release(); }

    /// Copies `bytes`; returns those of `lag` calls ago, or nullptr where there were fewer.
    void const* exchange(void const* from, std::size_t bytes) {
      if (bytes != bytes_ || !slots_.back().host) prepare(bytes);  // the last one is missing where that failed
      pinned_slot const& now = slots_[calls_ % slots_.size()];
      check(cudaMemcpyAsync(now.host, from, bytes, cudaMemcpyDeviceToHost, current_stream()), "cudaMemcpyAsync");
      check(cudaEventRecord(now.ready, current_stream()), "cudaEventRecord");
      if (++calls_ < slots_.size()) return nullptr;
      pinned_slot const& then = slots_[calls_ % slots_.size()];
      check(cudaEventSynchronize(then.ready), "cudaEventSynchronize");
      return then.host;
    }
    void forget() { calls_ = 0; }

  private:
    void prepare(std::size_t bytes) {
      release();
      bytes_ = bytes;
      for (pinned_slot& s : slots_) s = pinned_slot::take(bytes);
      calls_ = 0;
    }
    void release() noexcept {
      for (pinned_slot& s : slots_)
        if (s.host) pinned_slot::give(std::exchange(s, {}), bytes_);
      bytes_ = 0;
    }
    std::vector<pinned_slot> slots_;
    std::size_t bytes_ = 0, calls_ = 0;
  };

private:
  void launched(char const* what) {
    check(cudaGetLastError(), what);
  }
  std::shared_ptr<scalar_pool> pool_ = std::make_shared<scalar_pool>();
  std::shared_ptr<unsigned> ended_;  ///< blocks of the running pass that have ended; 0 again after each
};

} // namespace sla::cuda

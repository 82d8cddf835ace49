// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks of threads, real and simulated, and how the elements of a frame are shared between them. Kernel bodies
// (exec/cuda/pass.cuh) are written over these, so that a host test runs the same text.
#pragma once

#include <algorithm>

#include <sla/core/twofold.hpp>
#include <sla/expr/dense/node.hpp>

namespace sla::cuda {

/// Threads of every block; shared bytes that one of them may use at a time (a complex<double>).
inline constexpr int block_threads = 256, slot_bytes = 16;
/// Threads that exchange registers.
inline constexpr int warp_threads = 32;
/// The most blocks of a pass, several waves of a large device, and how many of one tile each fill it: numbers of the frame alone,
/// so that the order of reductions, and with it every bit of the result, is that of any other run.
inline constexpr index_t most_blocks = 4096, filling_blocks = 1024;

/// A block on the device. A region runs once per thread; what a thread keeps between regions is a `local`.
struct device_block {
  static constexpr int threads = block_threads;
  template <class T>
  struct local {
    T value;
    SLA_HD T& operator[](int) { return value; }
    SLA_HD T const& operator[](int) const { return value; }
  };

  index_t index;
  void* shared;

  template <class F>
  SLA_HD void each_thread(F const& f) const {
#ifdef __CUDA_ARCH__
    f(int(threadIdx.x));
#else
    (void)f;
#endif
  }
  SLA_HD void sync() const {
#ifdef __CUDA_ARCH__
    __syncthreads();
#endif
  }
  /// For the threads of each warp alone.
  SLA_HD void sync_warp() const {
#ifdef __CUDA_ARCH__
    __syncwarp();
#endif
  }
};

/// A block on the host, for tests: a region runs for one thread after the other, so a sync has nothing to wait for.
template <int Threads>
struct simulated_block {
  static constexpr int threads = Threads;
  template <class T>
  struct local {
    T value[Threads];
    T& operator[](int t) { return value[t]; }
    T const& operator[](int t) const { return value[t]; }
  };

  index_t index;
  void* shared;

  template <class F>
  void each_thread(F const& f) const {
    for (int t = 0; t < Threads; ++t) f(t);
  }
  void sync() const {}
  void sync_warp() const {}
};

#ifdef __CUDA_ARCH__
/// The value of the thread at this distance (xor) in the warp.
template <class T>
__device__ T other_lane(T mine, int distance) {
  if constexpr (is_complex<T>)
    return {other_lane(mine.re, distance), other_lane(mine.im, distance)};
  else if constexpr (std::same_as<T, twofold>)
    return {other_lane(mine.hi, distance), other_lane(mine.lo, distance), other_lane(mine.size, distance)};
  else
    return __shfl_xor_sync(0xffffffffu, mine, distance);
}
#endif

/// value(lane) of `width` neighbouring threads, folded in a fixed order; all of them get the result. On the device the
/// lanes are those of a warp, all of which must be here; on the host they are computed one after the other.
template <class T, class F>
SLA_HD T fold_lanes(int width, F const& value) {
#ifdef __CUDA_ARCH__
  T mine = value(int(threadIdx.x) & (width - 1));
  for (int distance = width / 2; distance > 0; distance /= 2) mine += other_lane(mine, distance);
  return mine;
#else
  T lane[32];
  for (int n = 0; n < width; ++n) lane[n] = value(n);
  for (int distance = width / 2; distance > 0; distance /= 2)
    for (int n = 0; n < distance; ++n) lane[n] += lane[n + distance];
  return lane[0];
#endif
}

/// Where the batch items of a frame begin that are packed systems of different sizes; nowhere, where all have the frame's rows.
struct packed_rows {
  index_t const* begin = nullptr;  ///< on the device
  index_t most = 0;                ///< rows of the largest system
};

/// How the blocks of a pass share a frame. A line is a row, or a component of a block row: `rhs` elements of one batch
/// item. A block works for one batch item and at most `threads` right-hand sides; a thread keeps to one right-hand side.
struct pass_grid {
  frame f;
  index_t lines;     ///< per batch item, or of the largest
  index_t per_tile;  ///< lines that a block takes at a time
  index_t tiles;     ///< of one batch item and one chunk of right-hand sides
  index_t chunks;    ///< of right-hand sides
  index_t parts;     ///< blocks that share these tiles, and so partial results per item
  int across;        ///< right-hand sides in a chunk
  int width;         ///< threads that share a row of a product, for one right-hand side
  int steps;         ///< in which the threads of a block compute a tile of such rows
  packed_rows packed{};

  index_t blocks() const { return f.batch * chunks * parts; }
  /// The line of thread t in a tile; a division only where there are right-hand sides.
  SLA_HD int line(int t) const { return across == 1 ? t : t / across; }
};

/// The grid of a frame. With right-hand sides, neighbouring threads take neighbouring ones, which lie side by side, of the
/// same row, whose entries they read together: a row is then cut between no more threads than a warp has left. Each packed system
/// gets as many blocks as the largest. A device once filled, a block takes four tiles: what it does once costs as much as a tile. Rows that threads
/// share are in smaller tiles where there are few: a block then takes all of one at a time, and more blocks have work.
inline pass_grid share(frame f, int threads, int width, packed_rows packed = {}) {
  pass_grid g{f, 0, 1, 0, 0, 0, 1, width, width, packed};
  if (f.total() == 0) return g;
  g.lines = (packed.begin ? packed.most : f.rows) * (f.inner / f.rhs);
  g.across = int((std::min)(f.rhs, index_t(threads)));
  while (g.width > 1 && g.width * g.across > warp_threads) g.width /= 2;
  g.per_tile = threads / g.across;
  for (int cut = g.width; cut > 1 && g.lines < filling_blocks * g.per_tile; cut /= 2) g.per_tile = (std::max)(index_t(1), g.per_tile / 2);
  g.steps = (int(g.per_tile) * g.across * g.width + threads - 1) / threads;
  g.tiles = (g.lines + g.per_tile - 1) / g.per_tile;
  g.chunks = (f.rhs + g.across - 1) / g.across;
  index_t const items = f.batch * g.chunks, blocks = (std::clamp)(items * g.tiles / 4, filling_blocks, most_blocks);
  g.parts = (std::max)(index_t(1), (std::min)(g.tiles, blocks / items));
  return g;
}

/// A block's share: tiles part, part + parts, ... of batch item b, right-hand sides from k0.
struct block_place {
  index_t b, k0, part;
  index_t first, lines;  ///< of batch item b
  index_t tiles;

  SLA_HD block_place(pass_grid const& g, index_t index) : b(0), k0(0), part(index), first(0), lines(g.lines), tiles(g.tiles) {
    if (g.parts < index + 1) {
      index_t const group = index / g.parts;
      part = index - group * g.parts;
      b = group / g.chunks;
      k0 = (group - b * g.chunks) * g.across;
      first = b * g.lines;
    }
    if (g.packed.begin) {
      index_t const per_row = g.f.inner / g.f.rhs;
      first = g.packed.begin[b] * per_row;
      lines = g.packed.begin[b + 1] * per_row - first;
      tiles = (lines + g.per_tile - 1) / g.per_tile;
    }
  }
  /// Is there work for thread t of a tile?
  SLA_HD bool holds(pass_grid const& g, index_t tile, int t) const {
    int const line = g.line(t), k = t - line * g.across;
    return line < g.per_tile && tile * g.per_tile + line < lines && k0 + k < g.f.rhs;
  }
  /// The element of thread t of a tile.
  SLA_HD element at(pass_grid const& g, index_t tile, int t) const {
    int const line = g.line(t), k = t - line * g.across;
    index_t const row = first + tile * g.per_tile + line, rhs = k0 + k;
    return {row * g.f.rhs + rhs, row, b * g.f.rhs + rhs};
  }
};

} // namespace sla::cuda

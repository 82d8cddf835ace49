// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matrices of levels in float: off-diagonal entries and sums of rows, (A x)_i = s_i x_i + sum a_ij (x_j - x_i), which rounding leaves definite whatever
// the jumps of coefficients; 16 rows side by side. Where no a_ij and no s_i pulls against the diagonal, rounding changes x^H A x by no more than the largest relative error of
// an a_ij: there an entry is one word, a_ij in bfloat16 and how far its column is from the least of the 16 rows. With them, the nodes of `fuse` that a cycle is made of.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include <sla/core/bfloat16.hpp>
#include <sla/exec/fuse.hpp>
#include <sla/exec/host.hpp>
#include <sla/tensor/storage/dense.hpp>

namespace sla::detail {

/// Rows that are stored side by side; vectors have room for whole chunks.
inline constexpr index_t packed_chunk = 16;
inline constexpr index_t packed_room(index_t rows) { return (rows + packed_chunk - 1) / packed_chunk * packed_chunk; }

/// Where the entries of a level are: what its pattern says.
struct packed_pattern {
  index_t rows = 0, entries = 0;
  buffer<std::int32_t> begin = {}, least = {};  ///< of the slots of each chunk, in chunks; the least column of each chunk, rows themselves counted
  bool fits = true;                             ///< 16 bits hold how far columns are from that

  std::size_t bytes() const { return begin.bytes() + least.bytes(); }
};

/// An off-diagonal entry in one word: the upper half of a_ij as a float, and the distance of its column.
struct packed_word {
  std::uint32_t bits;

  static constexpr index_t most = (std::numeric_limits<std::uint16_t>::max)();
  static constexpr double changes = 1 + 0x1p-7;  ///< bounds x^H A x of rounded entries by that of others, those of the next level, or of A
  static packed_word of(float a, index_t distance) { return {__builtin_bit_cast(std::uint32_t, float(bfloat16(a))) | std::uint32_t(distance)}; }
  float value() const { return __builtin_bit_cast(float, bits & ~std::uint32_t(most)); }
  std::int32_t distance() const { return std::int32_t(bits & std::uint32_t(most)); }
};

/// to[k] = x[place(k)], by a load each: the gathers that g++ makes of them under -march=native take twice as long where the processor's microcode guards
/// against gather data sampling (Intel 2023), and no less elsewhere.
template <class Place>
void load_each(float const* x, Place const& place, float (&to)[packed_chunk]) {
  auto const alone = [](index_t at) {
    asm("" : "+r"(at));  // the vectoriser stops here
    return at;
  };
  [&]<std::size_t... k>(std::index_sequence<k...>) { ((to[k] = x[alone(place(index_t(k)))]), ...); }(std::make_index_sequence<packed_chunk>());
}

/// A level as its passes see it: by words, or, where there are none, by columns and values.
struct packed_view {
  index_t rows;
  std::int32_t const *begin, *least;
  packed_word const* word;
  std::int32_t const* col;
  float const *value, *sum, *smoother;

  /// f(first, last, A x from there on) for runs of the rows [lo, hi), which chunks end.
  template <class F>
  void products(index_t lo, index_t hi, float const* x, F const& f) const {
    for (index_t block = lo / packed_chunk; block * packed_chunk < hi; ++block) {
      index_t const at = block * packed_chunk;
      float total[packed_chunk], here[packed_chunk], there[packed_chunk];
      for (index_t k = 0; k < packed_chunk; ++k) here[k] = x[at + k], total[k] = sum[at + k] * here[k];
      if (word) {
        float const* const near = x + least[block];
        for (index_t s = begin[block]; s < begin[block + 1]; ++s) {
          packed_word const* const w = word + s * packed_chunk;
          load_each(near, [w](index_t k) { return w[k].distance(); }, there);
          for (index_t k = 0; k < packed_chunk; ++k) total[k] += w[k].value() * (there[k] - here[k]);
        }
      } else {
        for (index_t s = begin[block]; s < begin[block + 1]; ++s) {
          std::int32_t const* const c = col + s * packed_chunk;
          float const* const v = value + s * packed_chunk;
          load_each(x, [c](index_t k) { return c[k]; }, there);
          for (index_t k = 0; k < packed_chunk; ++k) total[k] += v[k] * (there[k] - here[k]);
        }
      }
      index_t const from = (std::max)(lo, at), to = (std::min)(hi, at + packed_chunk);
      f(from, to, total + (from - at));
    }
  }
};

/// What the nodes share: `count` numbers, from vectors of a level that they read at other rows.
template <class T>
struct packed_node {
  using expression_tag = void;
  using value_type = T;
  using extents_type = Extents<dyn>;
  using memory_type = host_memory;
  static constexpr reach depth = reach::gather;

  index_t count;

  extents_type extents() const { return extents_type(count); }
  frame layout() const { return {1, count, 1, 1}; }
  template <class N, class F>
  static void reads(N const* from, index_t size, F& f) {
    f(memory_access{from, size * index_t(sizeof(N)), true, false});
  }
};

/// A vector times a factor, in the scalars of the factor.
template <class T, class From, class K>
struct packed_scaled : packed_node<T> {
  From const* from;
  K factor;

  template <class F>
  packed_scaled rebuild(F const&) const {
    return *this;
  }
  template <class F>
  void accesses(F&& f, bool) const {
    f(memory_access{from, this->count * index_t(sizeof(From)), false, false});
  }
  template <class Span, class Out>
  void store(Span s, Out* out) const {
    for (index_t i = 0; i < s.count; ++i) out[i] = Out(K(from[s.first + i]) * factor);
  }
};

/// The sums of r over the members of each aggregate: P^T r.
struct packed_summed : packed_node<float> {
  std::int32_t const *begin, *member;
  float const* r;
  index_t rows;

  template <class F>
  packed_summed rebuild(F const&) const {
    return *this;
  }
  template <class F>
  void accesses(F&& f, bool) const {
    reads(r, rows, f);
  }
  template <class Span>
  void store(Span s, float* out) const {
    std::int32_t k = begin[s.first];
    for (index_t g = 0; g < s.count; ++g) {
      float total = 0;
      for (std::int32_t const end = begin[s.first + g + 1]; k < end; ++k) total += r[member[k]];
      out[g] = total;
    }
  }
};

/// x + factor P e.
struct packed_corrected : packed_node<float> {
  std::int32_t const* of;
  float const *x, *e;
  float factor;
  index_t coarse;

  template <class F>
  packed_corrected rebuild(F const&) const {
    return *this;
  }
  template <class F>
  void accesses(F&& f, bool) const {
    f(memory_access{x, count * index_t(sizeof(float)), false, false});
    reads(e, coarse, f);
  }
  template <class Span>
  void store(Span s, float* out) const {
    for (index_t i = 0; i < s.count; ++i) {
      std::int32_t const g = of[s.first + i];
      out[i] = x[s.first + i] + (g < 0 ? 0.f : factor * e[g]);
    }
  }
};

/// keep x + weight (b - part A x), where the weight is times the smoother's number of the row, if `by_rows`; b is nothing where it is null.
struct packed_swept : packed_node<float> {
  packed_view A;
  float const *b, *x;
  float keep, weight, part;
  bool by_rows;

  template <class F>
  packed_swept rebuild(F const&) const {
    return *this;
  }
  template <class F>
  void accesses(F&& f, bool) const {
    reads(x, A.rows, f);
    if (b) f(memory_access{b, A.rows * index_t(sizeof(float)), false, false});
  }
  template <class Span>
  void store(Span s, float* out) const {
    float const zeros[packed_chunk] = {};
    A.products(s.first, s.first + s.count, x, [&](index_t i, index_t last, float const* product) {
      float* const to = out + (i - s.first);
      float const *const at = x + i, *const d = A.smoother + i, *const f = b ? b + i : zeros;
      for (index_t k = 0; k < last - i; ++k) {
        float const left = weight * (f[k] - part * product[k]);
        to[k] = keep * at[k] + (by_rows ? d[k] * left : left);
      }
    });
  }
};

} // namespace sla::detail

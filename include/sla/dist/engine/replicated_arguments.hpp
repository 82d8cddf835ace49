// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Do the ranks mean the same? Sizes and contents of arguments that every rank gives alike, compared in one collective, before
// anything is sharded by them.
#pragma once

#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <sla/dist/engine/typed_collectives.hpp>
#include <sla/tensor/storage/dense.hpp>
#include <sla/tensor/storage/sparse.hpp>

namespace sla::detail {

/// A hash of bytes, in eight lanes. Cost: half the speed at which memory is read, little beside sharding it.
template <class = void>
std::uint64_t hash_bytes(void const* data, std::size_t bytes, std::uint64_t seed = 0) {
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15ULL;
  constexpr std::size_t lanes = 8, step = lanes * sizeof(std::uint64_t);
  std::uint64_t lane[lanes];
  for (std::size_t n = 0; n < lanes; ++n) lane[n] = seed + n;
  auto const one = [](std::uint64_t before, char const* from) {
    std::uint64_t word;
    std::memcpy(&word, from, sizeof(word));
    return std::rotl((before ^ word) * odd, 29);
  };
  auto const mix = [&](char const* from) { // written out: at -O2 a loop over lanes would stay one
    [&]<std::size_t... N>(std::index_sequence<N...>) { ((lane[N] = one(lane[N], from + 8 * N)), ...); }(std::make_index_sequence<lanes>{});
  };
  auto const* from = static_cast<char const*>(data);
  std::size_t left = bytes;
  for (; left >= step; left -= step, from += step) mix(from);
  char last[step] = {};
  if (left) std::memcpy(last, from, left);
  mix(last);
  std::uint64_t out = bytes;
  for (std::uint64_t l : lane) out = (out ^ l ^ (l >> 32)) * odd;
  return out ^ (out >> 29);
}
template <class T>
std::uint64_t hash_of(buffer<T> const& values, std::uint64_t seed = 0) {
  return hash_bytes(values.data(), values.bytes(), seed);
}
template <class T, class E>
std::uint64_t hash_of(tensor<T, E> const& x) {
  return hash_bytes(x.data(), std::size_t(x.size()) * sizeof(T));
}
template <class T, class S, class F>
std::uint64_t hash_of(sparse_tensor<T, S, F> const& A) {
  auto const& p = A.pattern();
  std::uint64_t h = hash_of(A.values());
  if constexpr (requires { p.row_ptr; })
    h = hash_of(p.col, hash_of(p.row_ptr, h));
  else if constexpr (requires { p.row; })
    h = hash_of(p.col, hash_of(p.row, h));
  else
    h = hash_of(p.offset, h);
  return h;
}

/// Errors, on every rank: shape_error if the numbers that describe an argument of `call` differ between ranks; value_error
/// if its contents do, by their hash.
template <class Communicator, std::size_t Count>
void require_agreement(Communicator& c, char const* call, char const* what, std::array<index_t, Count> const& mine,
                       std::uint64_t hash = 0) {
  std::vector<index_t> sent(mine.begin(), mine.end());
  sent.push_back(std::bit_cast<index_t>(hash));
  std::size_t const each = sent.size();
  std::vector<index_t> all(each * std::size_t(c.size()));
  all_gather(c, std::span<index_t const>(sent), std::span<index_t>(all), std::vector<std::size_t>(std::size_t(c.size()), each));
  if (c.engine() == "fake") return; // nobody else is there
  auto const of = [&](int rank) { return std::span<index_t const>(all).subspan(std::size_t(rank) * each, each); };
  for (int r = 1; r < c.size(); ++r) {
    auto const first = of(0), other = of(r);
    if (!std::equal(first.begin(), first.end() - 1, other.begin())) {
      auto const list = [](std::span<index_t const> numbers) {
        std::string out;
        for (index_t n : numbers.first(Count)) out += text(out.empty() ? "" : ", ", n);
        return out;
      };
      throw shape_error(text(call, ": the ranks disagree about the sizes of their argument (", what, "): rank 0 has ", list(first),
                             ", rank ", r, " has ", list(other), "; every rank gives the same"));
    }
    if (first.back() != other.back())
      throw value_error(text(call, ": rank ", r, " gives another tensor of this size than rank 0; every rank gives the same, to the "
                             "last bit, and the ranks' parts of one are put together by assemble<SparseShard<0>>(mesh, ...)"));
  }
}

} // namespace sla::detail

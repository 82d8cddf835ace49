// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shapes: `Extents<...>` of dense tensors and `Shape<Batch<...>, M, N, Block<...>>` of sparse ones. Every extent is
// static or `dyn`. The laws that relate shapes, with their sentences, are in expr/dense/law.hpp.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include <sla/core/config.hpp>
#include <sla/core/error.hpp>
#include <sla/core/meta.hpp>

namespace sla {

/// Counts and positions of elements.
using index_t = std::int64_t;

/// An extent that is known at run time only.
inline constexpr index_t dyn = -1;

/// The extents of a dense tensor, row-major. `Extents<4, dyn>{4, n}` gives all of them, static ones are checked.
template <index_t... E>
class Extents {
public:
  static constexpr int rank = int(sizeof...(E));
  static constexpr bool is_static = ((E != dyn) && ...);

  constexpr Extents() = default;

  template <std::integral... Sizes>
    requires(sizeof...(Sizes) == sizeof...(E) && sizeof...(Sizes) > 0)
  constexpr Extents(Sizes... sizes) : sizes_{{index_t(sizes)...}} {  // NOLINT: `{4, n}` converts by intent
    for (int a = 0; a < rank; ++a) {
      if (sizes_[a] < 0)
        throw shape_error(text("extent ", sizes_[a], " on axis ", a, ": an extent is at least 0"));
      if (static_extent(a) != dyn && static_extent(a) != sizes_[a])
        throw shape_error(text("extent ", sizes_[a], " on axis ", a, ", where the type says ", static_extent(a)));
    }
    index_t room = (std::numeric_limits<index_t>::max)();
    for (index_t size : sizes_.data)
      if (size > 0 && (room /= size) == 0) throw shape_error(text("extents of more elements than std::int64_t counts, among them ", size));
  }

  SLA_HD static constexpr index_t static_extent(int axis) {
    index_t const all[] = {E..., dyn};
    return all[axis];
  }
  SLA_HD constexpr index_t operator[](int axis) const { return sizes_[axis]; }
  /// The sizes of `other` on the axes that are dynamic here; static ones stay.
  template <index_t... Other>
  SLA_HD static constexpr Extents from(Extents<Other...> const& other) {
    static_assert(sizeof...(Other) == sizeof...(E));
    Extents same;
    for (int a = 0; a < rank; ++a)
      if (static_extent(a) == dyn) same.sizes_[a] = other[a];
    return same;
  }

  /// The number of elements.
  SLA_HD constexpr index_t total() const {
    index_t product = 1;
    for (int a = 0; a < rank; ++a) product *= sizes_[a];
    return product;
  }
  constexpr bool operator==(Extents const&) const = default;

private:
  fixed_array<index_t, rank> sizes_{{(E == dyn ? 0 : E)...}};
};

/// "4 x 100", for messages.
template <index_t... E>
std::string to_string(Extents<E...> const& extents) {
  std::string out;
  for (int a = 0; a < extents.rank; ++a) out += text(a ? " x " : "", extents[a]);
  return extents.rank ? out : "scalar";
}

/// `Front ++ Back`.
template <class Front, class Back>
struct joined_extents;
template <index_t... F, index_t... B>
struct joined_extents<Extents<F...>, Extents<B...>> {
  using type = Extents<F..., B...>;
};
/// The extents Front, then Back.
template <class Front, class Back>
using join_t = typename joined_extents<Front, Back>::type;

namespace detail {
/// What is known of extents that are to be equal.
template <class L, class R>
struct common_extents_type {
  using type = L;  // of different rank: refused by the laws
};
template <index_t... L, index_t... R>
  requires(sizeof...(L) == sizeof...(R))
struct common_extents_type<Extents<L...>, Extents<R...>> {
  using type = Extents<(L == dyn ? R : L)...>;
};
/// Are the extents equal, as far as the types say?
template <class L, class R>
inline constexpr bool extents_may_agree = false;
template <index_t... L, index_t... R>
  requires(sizeof...(L) == sizeof...(R))
inline constexpr bool extents_may_agree<Extents<L...>, Extents<R...>> = ((L == R || L == dyn || R == dyn) && ...);

/// Extents where dimension D has another size, with a dimension more that becomes D, and without D.
template <class E, int D, index_t Size, class Dims = std::make_integer_sequence<int, E::rank>>
struct resized_extents;
template <class E, int D, index_t Size, int... N>
struct resized_extents<E, D, Size, std::integer_sequence<int, N...>> {
  using type = Extents<(N == D ? Size : E::static_extent(N))...>;
};
template <class E, int D, index_t Size, class Dims = std::make_integer_sequence<int, E::rank + 1>>
struct inserted_extent;
template <class E, int D, index_t Size, int... N>
struct inserted_extent<E, D, Size, std::integer_sequence<int, N...>> {
  using type = Extents<(N == D ? Size : E::static_extent(N < D ? N : N - 1))...>;
};
template <class E, int D, class Dims = std::make_integer_sequence<int, E::rank - 1>>
struct removed_extent;
template <class E, int D, int... N>
struct removed_extent<E, D, std::integer_sequence<int, N...>> {
  using type = Extents<E::static_extent(N < D ? N : N + 1)...>;
};
} // namespace detail

/// What two extents have in common, axis by axis: the static extent, where one of them is.
template <class L, class R>
using common_extents_t = typename detail::common_extents_type<L, R>::type;

/// The batch axes and the block axes of a sparse shape.
template <index_t... E>
struct Batch {
  using extents = Extents<E...>;
};
/// The block axes of a sparse shape: `Block<3, 3>`, or `Block<>` where entries are numbers.
template <index_t... E>
struct Block {
  static_assert(((E != dyn) && ...), "block extents are known at compile time: Block<3, 3>");
  static_assert(sizeof...(E) == 0 || sizeof...(E) == 2, "a block has no extents or two: Block<> or Block<P, Q>");
};

/// The shape (*batch, M, N, *block) of a sparse tensor. Batch and block axes are dense; M and N are the sparse ones.
template <class BatchAxes, index_t M, index_t N, class BlockAxes>
class Shape;

template <index_t... B, index_t M, index_t N, index_t... PQ>
class Shape<Batch<B...>, M, N, Block<PQ...>> {
  static constexpr index_t block_extent(int axis) {
    index_t const all[] = {PQ..., 1, 1};
    return all[axis];
  }
  static constexpr index_t most = (std::numeric_limits<index_t>::max)() / 2;

public:
  using batch_extents = Extents<B...>;
  using block_axes = Block<PQ...>;
  static constexpr index_t static_rows = M, static_cols = N;
  static constexpr index_t block_rows = block_extent(0), block_cols = block_extent(1);
  static constexpr bool is_batched = sizeof...(B) > 0, is_blocked = sizeof...(PQ) > 0;

  constexpr Shape() = default;
  constexpr Shape(index_t rows, index_t cols)
    requires(!is_batched)
      : Shape(batch_extents{}, rows, cols) {}
  constexpr Shape(batch_extents batch, index_t rows, index_t cols) : batch_(batch), rows_(rows), cols_(cols) {
    if (rows < 0 || cols < 0) throw shape_error(text("a matrix of ", rows, " x ", cols, ": extents are at least 0"));
    if (rows > most / block_rows || cols > most / block_cols)
      throw shape_error(text("a matrix of ", rows, " x ", cols, is_blocked ? " blocks" : "", ": rows and columns are at most 2^62 - 1, so that their sum can be counted"));
    if ((M != dyn && M != rows) || (N != dyn && N != cols))
      throw shape_error(text("a matrix of ", rows, " x ", cols, " where the type says ", M, " x ", N));
  }

  SLA_HD constexpr batch_extents const& batch() const { return batch_; }
  SLA_HD constexpr index_t rows() const { return rows_; }
  SLA_HD constexpr index_t cols() const { return cols_; }
  SLA_HD constexpr index_t batch_count() const { return batch_.total(); }
  constexpr bool operator==(Shape const&) const = default;

private:
  batch_extents batch_{};
  index_t rows_ = M == dyn ? 0 : M, cols_ = N == dyn ? 0 : N;
};

/// The default: one matrix, sizes at run time, scalar entries.
using Matrix = Shape<Batch<>, dyn, dyn, Block<>>;

/// Is S a `Shape<Batch<...>, M, N, Block<...>>`?
template <class S>
inline constexpr bool is_shape = false;
template <class B, index_t M, index_t N, class K>
inline constexpr bool is_shape<Shape<B, M, N, K>> = true;

template <class S>
struct transposed_shape;
template <class B, index_t M, index_t N>
struct transposed_shape<Shape<B, M, N, Block<>>> {
  using type = Shape<B, N, M, Block<>>;
};
template <class B, index_t M, index_t N, index_t P, index_t Q>
struct transposed_shape<Shape<B, M, N, Block<P, Q>>> {
  using type = Shape<B, N, M, Block<Q, P>>;
};
/// (*batch, N, M, q, p) for (*batch, M, N, p, q).
template <class S>
using transposed_shape_t = typename transposed_shape<S>::type;

namespace detail {
template <class S>
struct open_shape;
template <class B, index_t M, index_t N, class K>
struct open_shape<Shape<B, M, N, K>> {
  using type = Shape<B, dyn, dyn, K>;
};
/// The shape S with rows and columns found at run time.
template <class S>
using open_shape_t = typename open_shape<S>::type;

template <class B, index_t N, class K>
struct vector_extents;
template <index_t... B, index_t N>
struct vector_extents<Extents<B...>, N, Extents<>> {
  using type = Extents<B..., N>;
};
template <index_t... B, index_t N, index_t Q>
struct vector_extents<Extents<B...>, N, Extents<Q>> {
  using type = Extents<B..., N, Q>;
};
} // namespace detail

/// The extents (*batch, N, q) of a vector in the domain of a matrix of shape S, and (*batch, M, p) of its range.
template <class S>
using domain_extents_t =
    typename detail::vector_extents<typename S::batch_extents, S::static_cols,
                                    std::conditional_t<S::is_blocked, Extents<S::block_cols>, Extents<>>>::type;
/// The extents of A * x: (*batch, M, p).
template <class S>
using range_extents_t = domain_extents_t<transposed_shape_t<S>>;

} // namespace sla

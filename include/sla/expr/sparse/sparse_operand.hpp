// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What stands left of `*` in a product: a view of a sparse tensor, or the tensor itself where it was moved in; conjugated by the type
// of the view, transposed by the type of the operand.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include <sla/expr/dense/ops.hpp>
#include <sla/tensor/storage/sparse.hpp>

namespace sla {

/// A sparse tensor as kernels see it: `Pattern` walks rows; Conj conjugates the values as they are read.
template <class T, class S, class Pattern, class Memory, bool Conj = false>
struct sparse_view {
  using value_type = T;
  using shape_type = S;
  using pattern_type = Pattern;
  using memory_type = Memory;
  using conjugate_type = sparse_view<T, S, Pattern, Memory, !Conj>;

  Pattern pattern;
  T const* values;
  index_t batch_stride;
  S shape;
  index_t bytes;  ///< of pattern and values, for counting

  SLA_HD T read(T value) const { return Conj ? conj_of(value) : value; }
  /// Entry (c, q) of a stored block of batch item b.
  SLA_HD T entry(index_t b, index_t slot, index_t c, index_t q) const {
    if constexpr (requires { requires Pattern::is_turned; })
      return read(values[b * batch_stride + (slot * S::block_cols + q) * S::block_rows + c]);
    else
      return read(values[b * batch_stride + (slot * S::block_rows + c) * S::block_cols + q]);
  }
  conjugate_type conjugated() const { return {pattern, values, batch_stride, shape, bytes}; }
  /// The transpose by its rows, of formats that can walk them.
  auto transposed() const
    requires((!S::is_blocked || requires { Pattern::turns_blocks; }) && requires(Pattern const& p) { p.transposed(); })
  {
    using Rows = decltype(pattern.transposed());
    return sparse_view<T, transposed_shape_t<S>, Rows, Memory, Conj>{pattern.transposed(), values, batch_stride, {shape.batch(), shape.cols(), shape.rows()}, bytes};
  }
  /// What a product reads: an element walks slots of any place.
  memory_access stored() const {
    index_t const of_values = shape.batch_count() * batch_stride * index_t(sizeof(T));
    return {values, of_values, true, false, bytes - of_values};
  }
  /// A map over trees may replace the entries: expr/sparse/residual.hpp.
  template <class F>
  auto rebuild(F const& f) const {
    if constexpr (requires { f.entries(*this); })
      return f.entries(*this);
    else
      return *this;
  }
};

template <class T, class S, class F, class Memory>
auto view(sparse_tensor<T, S, F, Memory> const& A) {
  using Pattern = decltype(detail::view_in(Memory{}, A.pattern()));
  return sparse_view<kernel_t<T>, S, Pattern, Memory>{detail::view_in(Memory{}, A.pattern()), kernel_pointer(A.values().data()),
                                                      A.batch_stride(), A.shape(), index_t(A.bytes())};
}

/// A sparse tensor that was moved into an expression; lowering views it. Turned: its transpose, by rows.
template <class Owner, bool Conj = false, bool Turned = false>
struct held_sparse {
  using value_type = kernel_t<typename Owner::value_type>;
  using shape_type = std::conditional_t<Turned, transposed_shape_t<typename Owner::shape_type>, typename Owner::shape_type>;
  using memory_type = typename Owner::memory_type;
  using conjugate_type = held_sparse<Owner, !Conj, Turned>;

  Owner owner;
  shape_type shape = [this] {
    auto const& s = owner.shape();
    if constexpr (Turned)
      return shape_type(s.batch(), s.cols(), s.rows());
    else
      return s;
  }();

  conjugate_type conjugated() && { return {std::move(owner)}; }
  auto transposed() &&
    requires requires(Owner const& a) { view(a).transposed(); }
  {
    return held_sparse<Owner, Conj, !Turned>{std::move(owner)};
  }
  template <class F>
  auto rebuild(F const&) const {
    auto const oriented = [](auto const& v) {
      if constexpr (Turned)
        return v.transposed();
      else
        return v;
    };
    if constexpr (Conj)
      return oriented(view(owner).conjugated());
    else
      return oriented(view(owner));
  }
};

template <class View, bool Transposed>
struct sparse_operand;
namespace detail {
/// The value of a view, as an owner: expr/sparse/stored.hpp.
template <class T, class S, class Pattern, class Memory, bool Conj, bool Transposed>
auto stored(sparse_operand<sparse_view<T, S, Pattern, Memory, Conj>, Transposed> const& a);
template <class Owner, bool Conj, bool Transposed>
auto stored(sparse_operand<held_sparse<Owner, Conj>, Transposed> const& a);
} // namespace detail

/// What may stand left of `*` as a sparse operator, transposed by its type.
template <class View, bool Transposed>
struct sparse_operand {
  using view_type = View;
  using value_type = typename View::value_type;
  using memory_type = typename View::memory_type;
  using shape_type = std::conditional_t<Transposed, transposed_shape_t<typename View::shape_type>, typename View::shape_type>;
  static constexpr bool is_transposed = Transposed;

  View A;

  index_t rows() const { return Transposed ? A.shape.cols() : A.shape.rows(); }
  index_t cols() const { return Transposed ? A.shape.rows() : A.shape.cols(); }
  shape_type shape() const { return {A.shape.batch(), rows(), cols()}; }

  /// Its value, as of dense expressions: `sparse_tensor<double> B = transpose(A);`
  template <class To>
    requires is_sparse_tensor<To>
  operator To() const {  // NOLINT: converts by intent
    constexpr bool same = std::same_as<To, decltype(detail::stored(*this))>;
    static_assert(same, "sla: B = transpose(A), adjoint(A) or conj(A): B has another scalar, shape or format than the view of A: take "
                        "auto B = eval(transpose(A)), and then cast<T>(B) or to<Format>(B)");
    if constexpr (same)
      return detail::stored(*this);
    else
      return {};
  }
};

namespace detail {
template <class View, bool Transposed>
  requires(View::memory_type::is_host)
inline constexpr bool is_plain_entries<sparse_operand<View, Transposed>> = true;
} // namespace detail

/// A sparse tensor, or a view of one, as the operand of a product.
template <class T, class S, class F, class Memory>
auto as_sparse(sparse_tensor<T, S, F, Memory> const& A) {
  return sparse_operand<decltype(view(A)), false>{view(A)};
}
template <class T, class S, class F, class Memory>
auto as_sparse(sparse_tensor<T, S, F, Memory>& A) { return sparse_operand<decltype(view(A)), false>{view(A)}; }
template <class T, class S, class F, class Memory>
auto as_sparse(sparse_tensor<T, S, F, Memory>&& A) {
  using Held = held_sparse<sparse_tensor<T, S, F, Memory>>;
  return sparse_operand<Held, false>{Held{std::move(A)}};
}
template <class T, class S, class F, class Memory>
auto as_sparse(sparse_tensor<T, S, F, Memory> const&& A) { return as_sparse(sparse_tensor<T, S, F, Memory>(A)); }
template <class View, bool Transposed>
auto as_sparse(sparse_operand<View, Transposed> A) {
  return A;
}

/// A sparse tensor, or a view of one by `transpose`, `adjoint` or `conj`.
template <class A>
concept SparseOperand = requires(A&& a) { as_sparse(std::forward<A>(a)); };
/// A sparse tensor that has a name, which an expression views: as Viewed of dense ones.
template <class A>
concept ViewedSparse = is_sparse_tensor<std::remove_const_t<A>>;
/// The operand that A is in a product.
template <class A>
using operand_t = decltype(as_sparse(std::declval<A>()));

} // namespace sla

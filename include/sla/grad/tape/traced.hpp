// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Traced values: what a differentiated function computes with instead of tensors, sparse tensors and numbers. How their
// operations are recorded is in grad/tape/record.hpp; operators are in grad/operation/.
#pragma once

#include <ostream>

#include <sla/expr/sparse/values.hpp>
#include <sla/grad/tape/dual.hpp>
#include <sla/grad/tape/tape.hpp>

namespace sla {

namespace detail {
template <class V>
tape_variable<V>& referred(std::reference_wrapper<tape_variable<V>> const& v) {
  return v.get();
}
template <class Variable>
Variable& referred(std::shared_ptr<Variable> const& v) {
  return *v;
}
} // namespace detail

/// A V on a tape, or with its tangent in forward mode: a handle, cheap to copy, valid inside of the differentiated function.
/// Assignment makes it name another value.
template <class V, class Home = tape>
class traced {
public:
  using plain_type = V;
  using variable_type = typename Home::template variable_type<V>;
  using handle_type = typename Home::template handle_type<V>;

  traced(Home& home, handle_type v) : home_(&home), variable_(std::move(v)) {}

  /// The plain value; what is computed from it is constant for the derivative.
  V const& value() const { return variable().value(); }
  Home& home() const { return *home_; }
  variable_type& variable() const { return detail::referred(variable_); }

  /// These exist for their sentence. That to V alone is what std::sqrt(x) asks a number for.
  operator V() const { return refuse_conversion<V>(); }  // NOLINT
  template <class U>
    requires(!std::convertible_to<V, U>)
  operator U() const {  // NOLINT
    return refuse_conversion<U>();
  }

  /// Exists for its sentence.
  template <Number N>
  void operator=(N) {  // NOLINT
    static_assert(always_false<N>, "sla: y[i] = s, y = s of a traced y: traced values are not written to; compute another: auto z = keep * y, of a vector keep that is 0 where z is to be, and 1 elsewhere");
  }

  /// One element, a traced number. Gradient: g to that element. Cost: as of a plain one; the first also that of zeros for all others.
  template <std::integral... Index>
    requires(requires(V const& v, Index... at) { v(at...); })
  auto operator()(Index... at) const {
    return perform(op::entry{}, *this, index_t(at)...);
  }
  template <std::integral Index>
    requires(requires(traced const& x, Index at) { perform(op::entry{}, x, at); })
  auto operator[](Index n) const {
    return perform(op::entry{}, *this, index_t(n));
  }

  // What generic code asks of shapes.
  auto const& extents() const
    requires is_tensor<V>
  {
    return value().extents();
  }
  index_t extent(int axis) const
    requires is_tensor<V>
  {
    return value().extent(axis);
  }
  index_t size() const
    requires is_tensor<V>
  {
    return value().size();
  }
  auto const& shape() const
    requires is_sparse_tensor<V>
  {
    return value().shape();
  }
  index_t rows() const
    requires is_sparse_tensor<V>
  {
    return value().rows();
  }
  index_t cols() const
    requires is_sparse_tensor<V>
  {
    return value().cols();
  }
  index_t nnz() const
    requires is_sparse_tensor<V>
  {
    return value().nnz();
  }
  auto domain() const
    requires is_sparse_tensor<V>
  {
    return value().domain();
  }
  auto range() const
    requires is_sparse_tensor<V>
  {
    return value().range();
  }

private:
  template <class U>
  static U refuse_conversion() {
    static_assert(always_false<U>, "sla: a traced value does not convert to a plain one: write `auto`, or `auto x = eval(...)`, in a differentiated function, "
                                   "and sqrt(x), not std::sqrt(x)");
    return U{};
  }

  Home* home_;
  handle_type variable_;
};

/// Prints the plain value.
template <class V, class Home>
std::ostream& operator<<(std::ostream& out, traced<V, Home> const& x) {
  return out << x.value();
}

/// Is X a traced value?
template <class X>
inline constexpr bool is_traced = false;
template <class V, class Home>
inline constexpr bool is_traced<traced<V, Home>> = true;
/// A traced value of any floor.
template <class X>
concept Traced = is_traced<std::remove_cvref_t<X>>;

/// Traced values, and views of them: their operators are those of this floor.
template <class X>
inline constexpr bool is_tracing = is_traced<X>;

/// The type without tracing: that of the value.
template <class X>
struct plain_of {
  using type = std::remove_cvref_t<X>;
};
template <class V, class Home>
struct plain_of<traced<V, Home>> {
  using type = V;
};
/// V of a traced V, and X itself of any other X.
template <class X>
using plain_t = typename plain_of<std::remove_cvref_t<X>>::type;

namespace detail {
template <class X>
decltype(auto) plain_value(X const& x) {
  if constexpr (Traced<X>)
    return x.value();
  else
    return (x);
}
} // namespace detail

/// Traced values of this floor: numbers and tensors, which mix in elementwise operations, and sparse tensors.
template <class X>
concept TracedElements = Traced<X> && (is_tensor<plain_t<X>> || Number<plain_t<X>>);
/// A traced sparse tensor.
template <class X>
concept TracedSparse = Traced<X> && is_sparse_tensor<plain_t<X>>;

/// eval of a traced value is itself: it is evaluated already, and stays traced.
template <Traced X>
std::remove_cvref_t<X> perform(op::eval, X const& x) {
  return x;
}

} // namespace sla

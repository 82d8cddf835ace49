// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dense tensors: `tensor<T, Extents<...>, Memory>` owns row-major elements; `vector` and `matrix` are its common names.
// Assignment from an expression is in exec/evaluate.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <ostream>
#include <type_traits>
#include <utility>

#include <sla/core/meta.hpp>
#include <sla/core/scalar.hpp>
#include <sla/core/shape.hpp>
#include <sla/tensor/storage/memory.hpp>

namespace sla {

namespace detail {
/// An array or container whose numbers become those of a T: what has extents of its own is none.
template <class X, class T>
concept ArrayOfNumbers = !requires { typename X::extents_type; } && requires(X const& x) {
  { *std::data(x) } -> std::convertible_to<T>;
  *std::begin(x);
  std::size(x);
  requires !std::same_as<std::remove_cvref_t<decltype(*std::data(x))>, char>;
};
/// The same of the rows of a matrix: a std::vector<std::vector<double>>.
template <class X, class T>
concept ArrayOfRows = !requires { typename X::extents_type; } && requires(X const& x) {
  { *std::begin(*std::begin(x)) } -> std::convertible_to<T>;
  requires !std::same_as<std::remove_cvref_t<decltype(*std::begin(*std::begin(x)))>, char>;
  std::size(*std::begin(x));
  std::size(x);
};
} // namespace detail

/// A dense tensor, row-major, in one memory: it owns its elements, and a copy is a copy of them. Elements are `x[k]` in order,
/// and `x(i, j, ...)`.
template <class T, class E, class Memory = host_memory>
class tensor {
public:
  using value_type = T;
  using extents_type = E;
  using memory_type = Memory;
  static constexpr int rank = E::rank;

  /// Of no elements, where some extent is dynamic; else of zeros.
  tensor() {
    if constexpr (E::is_static) values_ = buffer<T, Memory>(extents_.total());
  }
  /// Zeros.
  explicit tensor(E extents)
    requires(rank <= 1)
      : extents_(extents), values_(extents.total()) {}
  template <std::same_as<E> Sizes>
    requires(rank > 1)
  explicit tensor(Sizes const& extents) : extents_(extents), values_(extents.total()) {}
  /// Zeros, of one extent for each axis: `matrix<double>(3, 4)`, and `({3, 4})`.
  template <std::integral... Sizes>
    requires(rank > 1 && sizeof...(Sizes) == std::size_t(rank))
  tensor(Sizes... sizes) : tensor(E(index_t(sizes)...)) {}  // NOLINT: of braces by intent
  tensor(E extents, uninitialized_t) : extents_(extents), values_(extents.total(), uninitialized) {}
  /// The elements of a buffer, row-major. Errors: their number is not that of the extents.
  tensor(E extents, buffer<T, Memory> values) : extents_(extents), values_(std::move(values)) {
    if (values_.size() != extents_.total())
      throw shape_error(text(values_.size(), " values for a tensor of ", to_string(extents_), " = ", extents_.total(), " elements"));
  }
  /// The elements: `vector<double>{1.0, 2.0}`.
  tensor(std::initializer_list<T> values)
    requires(rank == 1 && Memory::is_host)
      : tensor(E(index_t(values.size())), uninitialized) {
    std::copy(values.begin(), values.end(), values_.begin());
  }
  /// The elements, written as integers. Errors: shape_error for a single one, ({5}), which zeros<double>({5}) takes for an extent: C++ does
  /// not tell it from {5}.
  template <std::integral Integer>
    requires(rank == 1 && Memory::is_host)
  tensor(std::initializer_list<Integer> values) : tensor(E(index_t(values.size())), uninitialized) {
    if (values.size() == 1)
      throw shape_error(text("a vector of {", *values.begin(), "}: is this its element or its extent? {", *values.begin(), ".0} is one element, and zeros<double>(",
                             *values.begin(), ") or vector<double>(", *values.begin(), ") has so many"));
    std::transform(values.begin(), values.end(), values_.begin(), [](Integer v) { return T(real_t<T>(v)); });
  }
  /// A copy of a user's array of numbers; `borrow(data, n)` copies nothing.
  template <detail::ArrayOfNumbers<T> Array>
    requires(rank == 1 && Memory::is_host)
  tensor(Array const& values) : tensor(E(index_t(std::size(values))), values) {}  // NOLINT: `vector<double> x = v` converts by intent
  /// The same for any extents, row-major: `matrix<double>({2, 3}, v)`. Errors: shape_error, if the counts differ.
  template <detail::ArrayOfNumbers<T> Array>
    requires(Memory::is_host)
  tensor(E extents, Array const& values) : tensor(extents, uninitialized) {
    if (index_t(std::size(values)) != size())
      throw shape_error(text(std::size(values), " values for a tensor of ", to_string(extents_), " = ", extents_.total(), " elements"));
    std::transform(std::begin(values), std::end(values), values_.begin(), [](auto const& v) { return T(v); });  // whatever its stride
  }
  /// A matrix by its rows: `matrix<double>{{1, 2, 3}, {4, 5, 6}}`. Errors: shape_error that names the row of another length.
  tensor(std::initializer_list<std::initializer_list<T>> rows)
    requires(rank == 2 && Memory::is_host)
      : tensor(rows, by_rows) {}
  template <detail::ArrayOfRows<T> Rows>
    requires(rank == 2 && Memory::is_host)
  tensor(Rows const& rows) : tensor(rows, by_rows) {}  // NOLINT: as of a vector

  // What is neither extents nor elements.
  explicit tensor(index_t)
    requires(rank > 1)
  {
    static_assert(rank == 1, "sla: a tensor of several axes is given one extent; all of them are wanted, static ones too: tensor<double, Extents<dyn, 2>>({n, 2})");
  }
  template <detail::ArrayOfNumbers<T> Array>
    requires(rank > 1 && Memory::is_host)
  explicit tensor(Array const&) {
    static_assert(rank == 1, "sla: a tensor of several axes is given elements without extents; both are wanted, row-major: tensor<double, Extents<dyn, 2>>({n, 2}, v), matrix<double>({2, 3}, v)");
  }
  template <Number First, Number... More>
    requires(sizeof...(More) > 0 && !(rank == int(1 + sizeof...(More)) && std::integral<First> && (std::integral<More> && ...)))
  explicit tensor(First, More...) {
    static_assert(rank > 1, "sla: a vector of several numbers in parentheses: vector<double>{1.0, 2.0} has these elements, full<double>(n, value) n times the value");
    static_assert(rank == 1, "sla: a tensor of several axes takes its extents, matrix<double>(3, 4), its rows, matrix<double>{{1, 2}, {3, 4}}, "
                             "or its extents and an array of elements, row-major; one value everywhere is full<double, Extents<dyn, dyn>>({3, 4}, value)");
  }

  tensor(tensor const&) = default;
  /// What was moved from is empty, and says so: its dynamic extents are 0; where all are static, its data are refused.
  tensor(tensor&& other) noexcept : extents_(std::exchange(other.extents_, E{})), values_(std::move(other.values_)) {}
  /// A tensor that borrows a user's array writes into that array, and keeps its extents. Errors: shape_error, if they differ.
  tensor& operator=(tensor const& other) {
    if (borrows())
      write_through(other);
    else
      extents_ = other.extents_, values_ = other.values_;
    return *this;
  }
  tensor& operator=(tensor&& other) {
    if (borrows())
      write_through(other);
    else
      extents_ = std::exchange(other.extents_, E{}), values_ = std::move(other.values_);
    return *this;
  }

  /// The value of an expression, in one pass over memory.
  template <Expression X>
  tensor(X&& x) {  // NOLINT: `vector<double> y = A * x` converts by intent
    assign(*this, std::forward<X>(x));
  }
  template <Expression X>
  tensor& operator=(X&& x) {
    assign(*this, std::forward<X>(x));
    return *this;
  }
  /// The elements of a tensor of another type, as those of an expression: as float, with extents that the type knows.
  template <class U, class E2>
    requires(detail::extents_may_agree<E, E2> && (is_complex<T> || !is_complex<U>) && !std::same_as<tensor<U, E2, Memory>, tensor> &&
             requires(tensor<U, E2, Memory> const& y) { as_node(y); })
  tensor(tensor<U, E2, Memory> const& x) {  // NOLINT: `vector<float> y = x` converts by intent
    assign(*this, as_node(x));
  }
  /// Refused: what is neither a tensor nor an expression.
  template <class X>
    requires(!Expression<X> && !std::convertible_to<X, tensor>)
  tensor& operator=(X const&) {
    static_assert(always_false<X>, "sla: x = y of tensors: y is neither a tensor nor an expression that has x's number of axes and, where x is real, real elements: "
                                   "one value everywhere is full<double>(n, value), of a sparse tensor to_dense(A), of complex numbers real(y), imag(y) or abs(y)");
    return *this;
  }

  SLA_HD E const& extents() const SLA_LIFETIMEBOUND { return extents_; }
  index_t extent(int axis) const { return extents_[axis]; }
  index_t size() const { return values_.size(); }
  /// Errors: shape_error, if the extents are static and the elements were moved away.
  T const* data() const SLA_LIFETIMEBOUND { return require_elements(), values_.data(); }
  T* data() SLA_LIFETIMEBOUND { return require_elements(), values_.data(); }
  buffer<T, Memory> const& values() const SLA_LIFETIMEBOUND { return values_; }
  buffer<T, Memory>& values() SLA_LIFETIMEBOUND { return values_; }

  T const* begin() const SLA_LIFETIMEBOUND
    requires(Memory::is_host)
  {
    return values_.begin();
  }
  T const* end() const SLA_LIFETIMEBOUND
    requires(Memory::is_host)
  {
    return values_.end();
  }
  T* begin() SLA_LIFETIMEBOUND
    requires(Memory::is_host)
  {
    return values_.begin();
  }
  T* end() SLA_LIFETIMEBOUND
    requires(Memory::is_host)
  {
    return values_.end();
  }

  /// The element at a linear, row-major position. Errors: index_error, if there is none, where assertions are on (no NDEBUG).
  T const& operator[](index_t n) const SLA_LIFETIMEBOUND
    requires(Memory::is_host)
  {
    return values_[checked(n)];
  }
  T& operator[](index_t n) SLA_LIFETIMEBOUND
    requires(Memory::is_host)
  {
    return values_[checked(n)];
  }
  /// The element at one position per axis. Errors: as above, with the axis.
  template <std::integral... Index>
    requires(Memory::is_host && sizeof...(Index) == std::size_t(E::rank))
  T const& operator()(Index... at) const SLA_LIFETIMEBOUND {
    return values_[linear(index_t(at)...)];
  }
  template <std::integral... Index>
    requires(Memory::is_host && sizeof...(Index) == std::size_t(E::rank))
  T& operator()(Index... at) SLA_LIFETIMEBOUND {
    return values_[linear(index_t(at)...)];
  }

private:
  struct by_rows_t {};
  static constexpr by_rows_t by_rows{};
  template <class Rows>
  tensor(Rows const& rows, by_rows_t)
      : tensor(E(index_t(std::size(rows)), std::size(rows) > 0 ? index_t(std::size(*std::begin(rows))) : (std::max)(index_t(0), E::static_extent(1))), uninitialized) {
    index_t at = 0, i = 0;
    for (auto const& row : rows) {
      if (index_t(std::size(row)) != extents_[1])
        throw shape_error(text("a matrix by its rows: row ", i, " has ", std::size(row), " elements, row 0 has ", extents_[1], "; rows are equally long"));
      for (auto const& value : row) values_[at++] = T(value);
      ++i;
    }
  }
  void require_elements() const {
    if constexpr (E::is_static)
      if (values_.size() < extents_.total())
        throw shape_error(text("a tensor of ", to_string(extents_), " was moved from and has no elements; assign a value to it first"));
  }
  bool borrows() const { return !values_.owns() && values_.size() > 0; }
  void write_through(tensor const& other) {
    if (!(extents_ == other.extents_))
      throw shape_error(text("x = y: x borrows an array of ", to_string(extents_), ", y is ", to_string(other.extents_),
                             "; a borrowed array keeps its extents"));
    T const* const from = other.values_.data();
    if (from == std::as_const(values_).data()) return;
    Memory::copy(detail::overlap(values_, other.values_) ? buffer<T, Memory>(other.values_).data() : from, values_.data(), values_.bytes());
  }
  index_t checked(index_t n) const {
    if (SLA_CHECKED && (n < 0 || n >= values_.size())) refuse(n, -1);
    return n;
  }
  template <class... Index>
  index_t linear(Index... at) const {
    index_t n = 0;
    int axis = 0;
    auto along = [&](index_t index) {
      if (SLA_CHECKED && (index < 0 || index >= extents_[axis])) refuse(index, axis);
      return extents_[axis++];
    };
    ((n = n * along(at) + at), ...);
    return checked(n);
  }
  [[noreturn]] void refuse(index_t index, int axis) const {
    require_elements();
    detail::refuse_index(axis < 0 ? text("element ", index) : text("index ", index, " on axis ", axis), text("a tensor of ", to_string(extents_)), index,
                         axis < 0 ? size() : extents_[axis]);
  }
  E extents_{};
  buffer<T, Memory> values_;
  static_assert(detail::is_scalar<T>, "sla: tensor<T, ...>, vector<T>, matrix<T>: T is float, double, std::complex<float> or std::complex<double>; indices, counts and flags stay in a std::vector<int>");
};

/// A dense tensor of one axis.
template <class T, class Memory = host_memory>
using vector = tensor<T, Extents<dyn>, Memory>;
/// A dense tensor of two axes, row-major.
template <class T, class Memory = host_memory>
using matrix = tensor<T, Extents<dyn, dyn>, Memory>;

/// Is X a dense tensor?
template <class X>
inline constexpr bool is_tensor = false;
template <class T, class E, class Memory>
inline constexpr bool is_tensor<tensor<T, E, Memory>> = true;

/// One in the memory of the host?
template <class X>
inline constexpr bool is_host_tensor = false;
template <class T, class E>
inline constexpr bool is_host_tensor<tensor<T, E>> = true;

/// A dense tensor of two axes?
template <class X>
inline constexpr bool is_dense_matrix = false;
template <class T, class E, class Memory>
inline constexpr bool is_dense_matrix<tensor<T, E, Memory>> = E::rank == 2;

/// The elements, row-major: those of the last axis on one line.
template <class T, class E, class Memory>
  requires(Memory::is_host)
std::ostream& operator<<(std::ostream& out, tensor<T, E, Memory> const& x) {
  index_t across = 1;
  if constexpr (E::rank > 0) across = x.extent(E::rank - 1);
  for (index_t n = 0; n < x.size(); ++n) out << (n == 0 ? "" : n % across == 0 ? "\n" : " ") << x[n];
  return out;
}

template <class T, class E = Extents<dyn>>
tensor<T, E> zeros(std::type_identity_t<E> extents) {
  return tensor<T, E>(extents);
}

template <class T, class E = Extents<dyn>>
tensor<T, E> full(std::type_identity_t<E> extents, std::type_identity_t<T> value) {
  tensor<T, E> x(extents, uninitialized);
  parallel_ranges(x.size(), [&, p = x.data()](index_t lo, index_t hi) { std::fill(p + lo, p + hi, value); }, light_below);
  return x;
}

template <class T, class E = Extents<dyn>>
tensor<T, E> ones(std::type_identity_t<E> extents) {
  return full<T, E>(extents, T(1));
}

/// count numbers at equal distances, the first and the last of them as given; one alone is the first.
template <class T = double>
vector<T> linspace(std::type_identity_t<T> first, std::type_identity_t<T> last, index_t count) {
  vector<T> x(Extents<dyn>(count), uninitialized);
  for (index_t n = 0; n < count; ++n) x[n] = n == 0 ? first : n + 1 == count ? last : first + (last - first) * T(n) / T(count - 1);
  return x;
}

namespace detail {
/// The n-th number of the stream of a seed: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), uniform in [-1, 1).
inline double uniform_at(std::uint64_t seed, std::uint64_t n) {
  std::uint64_t z = (seed * 0x2545f4914f6cdd1dULL) ^ ((n + 1) * 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return double((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1.0;
}

/// The n-th number of the stream of a seed; both parts of a complex one.
template <class T>
T random_at(std::uint64_t seed, index_t n) {
  auto draw = [&](int part) { return real_t<T>(uniform_at(seed, 2 * std::uint64_t(n) + std::uint64_t(part))); };
  if constexpr (is_complex<T>)
    return T(draw(0), draw(1));
  else
    return draw(0);
}
} // namespace detail

/// Uniform in [-1, 1) (both parts of a complex number), the same for a seed on every machine and thread count.
template <class T, class E = Extents<dyn>>
tensor<T, E> random(std::type_identity_t<E> extents, std::uint64_t seed) {
  tensor<T, E> x(extents, uninitialized);
  parallel_ranges(x.size(), [&, p = x.data()](index_t lo, index_t hi) {
    for (index_t n = lo; n < hi; ++n) p[n] = detail::random_at<T>(seed, n);
  });
  return x;
}

/// A user's array as a tensor, not copied: the user keeps it alive. Assignment writes into the array; copies of the tensor
/// own their elements. Writing to a const array through `data()`, iterators or assignment is refused.
template <class T, class E = Extents<dyn>>
tensor<std::remove_const_t<T>, E> borrow(T* data, std::type_identity_t<E> extents) {
  return {extents, buffer<std::remove_const_t<T>>::borrow(data, extents.total())};
}

} // namespace sla

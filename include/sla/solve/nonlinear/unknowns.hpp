// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where a nonlinear solve runs: the space of vectors like u, on the host, a queue or ranks, and `nonlinear_problem`: F with its counters, and the few
// statements that methods are written in. What ranks add is in dist/solve/unknowns_on_ranks.hpp.
#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include <sla/grad/call/jvp.hpp>
#include <sla/solve/driver/engine.hpp>
#include <sla/solve/nonlinear/nonlinear_report.hpp>
#include <sla/solve/seam/own_numbers.hpp>

namespace sla {

/// An operator of yours on this process's numbers, as one that maps vectors which lie as x does. Of a tensor it is the operator itself.
template <class T, class U, class E>
linear_operator<T> place_operator(linear_operator<T> const& a, tensor<U, E, host_memory> const&) {
  return a;
}

namespace detail {
/// The elements of a tensor of any extents as a vector. Vectors on ranks are such.
template <class T, class E>
vector<T> flat(tensor<T, E> const& x) {
  return {Extents<dyn>(x.size()), x.values()};
}
template <class V>
  requires requires(V const& x) { x.local(); }
V const& flat(V const& x) {
  return x;
}
/// The same back, and what F returned, as an unknown: it has as many elements.
template <class V, class Y>
V laid_as(V const& u, Y y) {
  if constexpr (requires { u.local(); })
    return y;
  else
    return V(u.extents(), std::move(y.values()));
}
/// A look at numbers of this process as a vector like u.
template <class V, class T>
V borrowed_as(V const& u, std::span<T const> x) {
  auto const numbers = [&] { return buffer<T>::borrow(x.data(), index_t(x.size())); };
  if constexpr (requires { u.local(); })
    return V(typename V::local_type(u.local().extents(), numbers()), u.handle());
  else
    return V(u.extents(), numbers());
}
/// A vector like u without elements.
template <class V>
V no_elements_of(V const& u) {
  if constexpr (requires { u.local(); })
    return V(typename V::local_type(Extents<dyn>(0)), u.handle());
  else
    return V();
}
} // namespace detail

/// say(n, "7") of the first element of x, the n-th of this process and number 7 of all, where is(n); or nothing. On ranks they call it together, and all hear the same.
template <class T, class E, class Is, class Say>
std::string first_said(tensor<T, E, host_memory> const& x, Is const& is, Say const& say) {
  for (index_t n = 0; n < x.size(); ++n)
    if (is(n)) return say(n, std::to_string(n));
  return {};
}

/// A number that is the same on all ranks, as a factor of vectors that lie as x does.
template <class T, class E>
real_t<T> common_number(tensor<T, E, host_memory> const&, double a) {
  return real_t<T>(a);
}
/// A number that is the same on all ranks, as an argument of functions of vectors that lie as x does; it may be traced.
template <class T, class E>
T argument_number(tensor<T, E, host_memory> const&, double a) {
  return T(a);
}

namespace detail {
/// "nan at element 7": the first element of x that is no finite number, or nothing.
template <class V>
std::string not_finite_in(V const& x) {
  auto const* const numbers = own_numbers(x);
  return first_said(x, [&](index_t n) { return !is_finite(to_kernel(numbers[n])); }, [&](index_t n, std::string const& number) { return text(numbers[n], " at element ", number); });
}
/// Where u may lie for methods that need no entries of a Jacobian.
template <class V>
concept Unknown = requires(V const& u, linear_operator<typename V::value_type> const& a) { linear_world<decltype(place_operator(a, u))>::layout(place_operator(a, u), u); };

/// The law of u, with its sentence.
template <class V>
constexpr bool require_unknown() {
  constexpr bool lies = Unknown<V>;
  static_assert(lies, "sla: nonlinear_solve(F, u0, method, parameters...), trace_branch(F, u0, lambda0, arclength{}): u is a tensor in host memory, or, with <sla/dist.hpp>, a vector on ranks that is Shard on every axis; to<host_memory>(u) is one of a u on a device");
  return lies;
}
/// The space of vectors like u, of one item, or that of an option `on(...)`. On: a tuple of it, or none.
template <class V, class On>
auto space_of_unknowns(V const& u, On const& on) {
  using T = typename V::value_type;
  auto const of_numbers = [](std::span<T const>, std::span<T>) {};
  auto const a = place_operator(linear_operator<T>(own_size(u), own_size(u), of_numbers), u);
  decltype(auto) x = flat(u);
  return std::apply([&](auto const&... o) { return space_of_call(a, x, o...); }, on);
}

/// A value of F with its norm.
template <class V>
struct residual_at {
  V r;
  double norm;
};

/// F with its parameters, as methods see it: values, directional derivatives, and statements on vectors like u. What these return is there, whatever
/// the space queues: F and linear solves read it at once.
template <class F, class V, class Space>
class nonlinear_problem {
public:
  using value_type = typename V::value_type;
  using real_type = real_t<value_type>;

  nonlinear_problem(F const& of_u, nonlinear_report& r, Space& space) : f_(of_u), report_(r), space_(space) {}
  nonlinear_report& report() const { return report_; }
  F const& function() const { return f_; }

  /// F(u), which may have elements that are no numbers; its norm is none then. Errors: shape_error, if F has not as many elements as u.
  residual_at<V> value(V const& u) const {
    ++report_.evaluations;
    auto r = eval(f_(u));
    if (own_size(r) != own_size(u))
      throw shape_error(text(report_.method, "{}: F(u) has ", own_size(r), " elements and u ", own_size(u), "; F gives one equation for each unknown"));
    V x = laid_as(u, std::move(r));
    double const size = norm(x);
    return {std::move(x), size};
  }
  /// F(u0). Errors: value_error, if it is no number, or not 0 and yet so small that its square is none.
  residual_at<V> first_value(V const& u) const {
    constexpr double least = 1e-140;
    auto at = value(u);
    if (at.norm < least && report_.atol < least) {
      auto const* const numbers = own_numbers(at.r);
      std::string const words = first_said(at.r, [&](index_t n) { return numbers[n] != value_type(0); }, [&](index_t n, std::string const& number) { return text(numbers[n], " at element ", number); });
      if (!words.empty()) throw value_error(text(report_.method, "{}: |F(u0)| is below ", least, ", with ", words, ", in iteration 0: scale F, so that it and its square are numbers, or give an .atol"));
    }
    if (!std::isfinite(at.norm)) {
      std::string const words = not_finite_in(at.r);
      throw value_error(words.empty() ? text(report_.method, "{}: |F(u0)| is ", at.norm, ", in iteration 0: scale F, so that it and its square are numbers")
                                      : text(report_.method, "{}: F(u0) has ", words, ", in iteration 0; begin where F is finite"));
    }
    return at;
  }
  /// "F is nan at element 7", of a value whose norm is none.
  std::string words_of(V const& r) const {
    std::string const words = not_finite_in(r);
    return words.empty() ? text("|F| is too large for a number") : text("F is ", words);
  }
  /// dF/du d.
  V slope(V const& u, V const& d) const {
    ++report_.derivatives;
    return laid_as(u, std::get<1>(jvp(f_, std::tie(u), std::tie(d))));
  }

  double norm(V const& x) const {
    auto const [s] = fuse(space_, norm_of(x));
    return double(read_one(space_, s));
  }
  /// How many elements of x, which are 0 or 1, are 1.
  int count(V const& x) const {
    auto const [s] = fuse(space_, squared_norm_of(x));
    return int(std::llround(double(read_one(space_, s))));
  }
  /// (x, y), conjugated in x.
  value_type inner(V const& x, V const& y) const {
    auto const [s] = fuse(space_, dot_of(x, y));
    return value_type(read_number(space_, s));
  }
  /// a x.
  V scaled(value_type a, V const& x) const {
    return made(x, number_in(space_, a) * x);
  }
  /// x + a y.
  V sum(V const& x, value_type a, V const& y) const {
    return made(x, x + number_in(space_, a) * y);
  }
  /// x += a y.
  void add(V& x, value_type a, V const& y) const {
    fuse(space_, set(x, x + number_in(space_, a) * y));
    space_.finish();
  }

  /// How much F changes by rounding u, and its own values, about: what |F| cannot fall below. Cost: a derivative.
  double rounding_at(V const& u) const { return norm(slope(u, rounding_of(u))); }
  /// The same of a residual r = `residual(u)` of u, without derivatives. Cost: that of the residual.
  template <class Residual>
  double rounding_at(V const& u, V const& r, Residual const& residual) const {
    return norm(sum(residual(sum(u, 1, rounding_of(u))), -1, r));
  }

private:
  /// What rounding may change of u, each element up or down at random.
  static V rounding_of(V d) {
    auto* const numbers = own_numbers(d);
    double const rounding = double(std::numeric_limits<real_type>::epsilon());
    for (index_t n = 0; n < own_size(d); ++n) numbers[n] *= real_type(uniform_at(29, std::uint64_t(n)) < 0 ? -rounding : rounding);
    return d;
  }
  template <class X>
  V made(V const& like, X const& expression) const {
    V out = space_.template like<value_type>(like);
    fuse(space_, set(out, expression));
    space_.finish();
    return out;
  }
  F const& f_;
  nonlinear_report& report_;
  Space& space_;
};
} // namespace detail

} // namespace sla

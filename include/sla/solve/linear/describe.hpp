// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A line for what solves are made of: `std::cout << cg{} << ilu0{} << prepare(A, cg{}, jacobi{})`. Reports are in solve/seam/report.hpp;
// whatever has a `to_string` is printed by tensor/files/print.hpp.
#pragma once

#include <string>

#include <sla/solve/direct/direct.hpp>
#include <sla/solve/precond/composed/inner.hpp>
#include <sla/solve/precond/composed/schwarz.hpp>
#include <sla/solve/precond/identity.hpp>
#include <sla/solve/seam/report.hpp>

namespace sla {

namespace detail {
/// The options of a method or of a preconditioner that have a name known here, as braces hold them: "{.rtol = 1e-08, ...}".
template <class X>
std::string options_text(X const& x) {
  std::string all;
  auto const option = [&](char const* name, auto const& value) { all += text(all.empty() ? "." : ", .", name, " = ", value); };
  auto const flag = [&](char const* name, bool value) { option(name, value ? "true" : "false"); };
  if constexpr (requires { x.restart; }) option("restart", x.restart);
  if constexpr (requires { x.rtol; }) option("rtol", x.rtol);
  if constexpr (requires { x.atol; }) option("atol", x.atol);
  if constexpr (requires { x.max_iterations; }) option("max_iterations", x.max_iterations);
  if constexpr (requires { x.omega; }) option("omega", x.omega);
  if constexpr (requires { x.level; }) option("level", x.level);
  if constexpr (requires { x.shift; }) option("shift", x.shift);
  if constexpr (requires { x.degree; }) option("degree", x.degree);
  if constexpr (requires { x.ratio; }) option("ratio", x.ratio);
  if constexpr (requires { x.steps; }) option("steps", x.steps);
  if constexpr (requires { x.margin; }) option("margin", x.margin);
  if constexpr (requires { x.size; }) option("size", x.size);
  if constexpr (requires { x.parts; }) option("parts", x.parts);
  if constexpr (requires { x.overlap; }) option("overlap", x.overlap);
  if constexpr (requires { x.restricted; }) flag("restricted", x.restricted);
  if constexpr (requires { x.cycle; }) option("cycle", to_string(x.cycle));
  if constexpr (requires { x.smoother; }) option("smoother", to_string(x.smoother));
  if constexpr (requires { x.coarsening; }) option("coarsening", to_string(x.coarsening));
  if constexpr (requires { x.sweeps; }) option("sweeps", x.sweeps);
  if constexpr (requires { x.coarsest; }) option("coarsest", x.coarsest);
  if constexpr (requires { x.strength; }) option("strength", x.strength);
  if constexpr (requires { x.max_levels; }) option("max_levels", x.max_levels);
  if constexpr (requires { x.near_null; })
    if (x.near_null.modes() > 0) option("near_null", to_string(x.near_null));
  if constexpr (requires { x.drop_tolerance; }) option("drop_tolerance", x.drop_tolerance);
  if constexpr (requires { x.fill; }) option("fill", x.fill);
  return text('{', all, '}');
}
/// The options of a solve: a method, or a preconditioner that is not set up.
template <class X>
concept NamedOptions = requires { typename X::method_tag; } || requires { typename X::preconditioner_tag; };
} // namespace detail

/// A method or a preconditioner as it is written, with all its options: "cg{.rtol = 1e-08, .atol = 0, .max_iterations = 10000}".
template <detail::NamedOptions X>
std::string to_string(X const& x) {
  if constexpr (requires { x.method(); })  // lu{}: its refinement has the name
    return text(decltype(x.method())::name, detail::options_text(x));
  else if constexpr (std::same_as<X, identity>)
    return "identity{}";
  else if constexpr (requires { X::name; })
    return text(X::name, detail::options_text(x));
  else
    return text("options of yours", detail::options_text(x));
}
template <class Method, class P>
std::string to_string(inner_iteration<Method, P> const& x) {
  return text("inner(", to_string(x.method), ", ", to_string(x.preconditioner), ')');
}
template <class Inner>
std::string to_string(schwarz<Inner> const& x) {
  return text("schwarz(", to_string(x.inner), ", ", detail::options_text(x.options), ')');
}
/// "keep_history".
inline std::string to_string(keep_history_t) { return "keep_history"; }
/// The extents of x0: "initial_guess(9)".
template <class X>
std::string to_string(detail::guess<X> const& x) {
  if constexpr (requires { to_string(x.x->extents()); })
    return text("initial_guess(", to_string(x.x->extents()), ')');
  else
    return "initial_guess";
}
/// The names of method and preconditioner, the extents and entries of A, and how often it was set up.
template <class A, class Method, class P>
std::string to_string(prepared<A, Method, P> const& s) {
  std::string const preconditioner = detail::name_of<P>();
  std::string out = text("prepared ", Method::name, preconditioner.empty() ? "" : " + ", preconditioner);
  if constexpr (requires { s.matrix().rows(); }) out += text(" for ", s.matrix().rows(), " x ", s.matrix().cols());
  if constexpr (requires { s.matrix().nnz(); }) out += text(", ", s.matrix().nnz(), " entries");
  return out + text(", set up ", s.setups(), s.setups() == 1 ? " time" : " times");
}
/// The report: x is printed by itself.
template <class X>
std::string to_string(solution<X> const& s) {
  return text(s.report);
}

} // namespace sla

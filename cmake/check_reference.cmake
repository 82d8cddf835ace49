# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -DROOT=<repository> -DSCRATCH=<folder> -P cmake/check_reference.cmake
# Every public name has a /// comment, so that the reference (docs/build.sh) tells what it is.
cmake_minimum_required(VERSION 3.24)
find_program(awk NAMES awk mawk gawk REQUIRED)
function(find_names result)
  execute_process(COMMAND ${awk} -v check=1 -f "${ROOT}/cmake/public_names.awk" ${ARGN} OUTPUT_VARIABLE out COMMAND_ERROR_IS_FATAL ANY)
  set(${result} "${out}" PARENT_SCOPE)
endfunction()

# Of a header that has one of each kind: is it seen what is public, and what has a comment?
file(WRITE "${SCRATCH}/sample.hpp" [[
namespace sla {
template <class T> requires(sizeof(T) > 1) && requires(T t) { t.size(); }
auto bare_function(T const& t = {}) { struct inner {}; return t; }
/// Text.
template <class T>
struct described;
template <class T>
struct described<T*> {};
template <> struct described<int> { int member(); };
struct bare_class { int member() const { return 0; } };
enum class bare_enum { a };
enum class with_words { a }; ///< Text.
template <class T>
concept BareConcept = requires(T t) { t.size(); };
template <class T>
using bare_alias = decltype(sizeof(T));
inline constexpr int bare_value = 3;
struct option { /// Text.
  int x = 0;
};
/// Text.
option overloaded(int);
option overloaded(double);
option operator+(option a, option b);
described(int) -> described<int>;
namespace detail { void hidden(); }
namespace plans { void search(); }
}
]])
find_names(out "${SCRATCH}/sample.hpp")
string(REGEX MATCHALL "sla::[A-Za-z_:]+" seen "${out}")
set(wanted sla::bare_function sla::bare_class sla::bare_enum sla::BareConcept sla::bare_alias sla::bare_value sla::option)
if(NOT seen STREQUAL wanted)
  message(FATAL_ERROR "cmake/public_names.awk finds ${seen} in its sample; ${wanted} are without a comment")
endif()

file(GLOB_RECURSE headers "${ROOT}/include/sla/*.hpp" "${ROOT}/include/sla/*.cuh")
find_names(out ${headers})
if(out)
  string(REPLACE "${ROOT}/" "" out "${out}")
  message(FATAL_ERROR "Names without a comment:\n  ${out}")
endif()

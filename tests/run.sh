#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# sh tests/run.sh [all]: installs what is missing, builds, and runs the tests. Alone: the tests that a user wants to see pass, with
# g++. With `all` also the others: the tests of every floor with clang, with the address and undefined behaviour sanitizers, with the thread
# sanitizer or without either (tests/CMakeLists.txt), users' programs, wrong programs and each header alone with clang, the readers with
# fuzzers for half a minute each, and device code with nvcc where there is one.
set -u
cd "$(dirname "$0")/.." || exit 1
. cmake/packages.sh

kind=${1:-default}
# asan comes last: its tests are many and keep all cores busy, where the two programs of cuda would leave one idle at the end.
case $kind in
  default) others= ;;
  all) others="clang cuda tsan fuzz asan" ;;
  *) echo "sh tests/run.sh [all]: there is no '$kind'" >&2; exit 1 ;;
esac
need g++=g++ cmake=cmake ninja=ninja-build /usr/include/eigen3=libeigen3-dev /usr/include/catch2=catch2 \
  mpirun=openmpi-bin mpicxx=libopenmpi-dev /usr/include/zlib.h=zlib1g-dev /usr/include/nlohmann/json.hpp=nlohmann-json3-dev /usr/include/metis.h=libmetis-dev \
  /usr/include/suitesparse/cholmod.h=libsuitesparse-dev

jobs=$(nproc)
exec 3>&1 # what a reader sees; the lines for test_each go to the standard output
seconds_since() { echo $(($(date +%s) - $1)); }

# build <configuration> [<command that runs it>]: a line for test_each, which says what failed, and the seconds.
build() {
  began=$(date +%s)
  failed=-
  printf '\n==== build of %s ====\n' "$1" >&3
  if ! report=$(cmake --preset "$1" 2>&1); then
    echo "$report" >&3
    failed=configure
  elif ! ${2:-} cmake --build --preset "$1" -j "$jobs" >&3 2>&3; then
    failed=build
  fi
  echo "$1 $failed $(seconds_since "$began")"
}

# Tests what the lines name, as they come, and sums up.
test_each() {
  missing=" default $others "
  seconds="               build    test"
  failures=
  while read -r name failed of_build; do
    missing=${missing%" $name "*}" "${missing#*" $name "}
    of_tests=0
    if [ "$failed" = - ]; then
      printf '\n==== tests of %s ====\n' "$name" >&3
      # The thread sanitizer of older compilers wants addresses that are not randomised.
      plain=
      [ "$name" = tsan ] && setarch "$(uname -m)" -R true 2>/dev/null && plain="setarch $(uname -m) -R"
      began=$(date +%s)
      $plain ctest --preset "$name" -j "$jobs" >&3 2>&3 </dev/null || failed=tests
      of_tests=$(seconds_since "$began")
    fi
    [ "$failed" = - ] || failures="$failures $name($failed)"
    seconds="$seconds
$(printf '%-10s %7d s %5d s' "$name" "$of_build" "$of_tests")"
  done
  for name in $missing; do failures="$failures $name(not reached)"; done

  together=$(seconds_since "$start")
  printf '\n%s\ntogether %9d s\n' "$seconds" "$together"
  awk -v total="$together" -v eigen="$eigen_seconds" 'BEGIN {printf "as %6.0f s on a machine that reads the direct solvers of Eigen in 0.8 s; this one took %.2f s of user and system time\n\n", total * 0.8 / eigen, eigen}'
  if [ -n "$failures" ]; then
    echo "FAILED:$failures"
    return 1
  fi
  echo "All configurations passed."
}

# The seconds of user and system time in which g++ reads the direct solvers of Eigen, over an empty file, as in bench/compile_time.sh: the
# median of three, while the machine is idle.
read_eigen() {
  for turn in 1 2 3; do
    for text in '#include <Eigen/SparseCholesky>\n#include <Eigen/SparseLU>\n' ''; do
      printf "$text" | sh -c 'g++ -std=c++20 -fopenmp -fsyntax-only -isystem /usr/include/eigen3 -x c++ - >&2; times' |
        awk 'END {split($0, t, /[ms ]+/); printf "%.3f ", 60 * t[1] + t[2] + 60 * t[3] + t[4]}'
    done
    echo
  done | awk '{print $1 - $2}' | sort -n | sed -n 2p
}
start=$(date +%s)
eigen_seconds=$(read_eigen)
if [ "$kind" = all ]; then
  clang=$(clang_version)
  need clang++-$clang=clang-$clang /usr/lib/llvm-$clang/lib/libomp.so=libomp-$clang-dev \
    /usr/lib/llvm-$clang/lib/clang/$clang/lib/linux=libclang-rt-$clang-dev ld.lld=lld
fi
# While a configuration is tested the others are built, one after another, from what the tests leave idle.
{
  build default
  for name in $others; do build "$name" nice; done
} | test_each

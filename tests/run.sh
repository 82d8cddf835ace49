#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# sh tests/run.sh [all | rest]: installs what is missing, builds, and runs the tests. Alone: the tests that a user wants to see pass, with
# g++. With `all` also the others: every floor with clang and the address and undefined behaviour sanitizers, users' programs, wrong
# programs and each header alone with clang, the readers with fuzzers for half a minute each, what threads share with the thread
# sanitizer, and device code with nvcc where there is one. With `rest` these others alone.
set -u
cd "$(dirname "$0")/.." || exit 1
. cmake/packages.sh

kind=${1:-default}
need g++=g++ cmake=cmake ninja=ninja-build /usr/include/eigen3=libeigen3-dev /usr/include/catch2=catch2 \
  mpirun=openmpi-bin mpicxx=libopenmpi-dev /usr/include/zlib.h=zlib1g-dev /usr/include/nlohmann/json.hpp=nlohmann-json3-dev /usr/include/metis.h=libmetis-dev \
  /usr/include/suitesparse/cholmod.h=libsuitesparse-dev
if [ "$kind" != default ]; then
  clang=$(clang_version)
  need clang++-$clang=clang-$clang /usr/lib/llvm-$clang/lib/libomp.so=libomp-$clang-dev \
    /usr/lib/llvm-$clang/lib/clang/$clang/lib/linux=libclang-rt-$clang-dev
fi

case $kind in
  default | all | rest) ;;
  *) echo "sh tests/run.sh [all | rest]: there is no '$kind'" >&2; exit 1 ;;
esac

jobs=$(nproc)
failed=
seconds="                 build     test"
# The thread sanitizer of older compilers wants addresses that are not randomised.
plain=
setarch "$(uname -m)" -R true 2>/dev/null && plain="setarch $(uname -m) -R"

configuration() {
  printf '\n==== %s ====\n' "$1"
  started=$(date +%s)
  report=$(cmake --preset "$1" 2>&1) || { echo "$report"; failed="$failed $1(configure)"; return; }
  cmake --build --preset "$1" -j "$jobs" || { failed="$failed $1(build)"; return; }
  built=$(date +%s)
  $2 ctest --preset "$1" -j "$jobs" || failed="$failed $1(tests)"
  seconds="$seconds
$(printf '%-12s %7d s %6d s' "$1" $((built - started)) $(($(date +%s) - built)))"
}

[ "$kind" = rest ] || configuration default ""
if [ "$kind" != default ]; then
  configuration asan ""
  configuration clang ""
  configuration fuzz ""
  configuration tsan "$plain"
  configuration cuda ""
fi

printf '\n%s\n\n' "$seconds"
if [ -n "$failed" ]; then
  echo "FAILED:$failed"
  exit 1
fi
echo "All configurations passed."

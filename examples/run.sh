#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# sh examples/run.sh [matrix.mtx ...]: installs what is missing, builds the main job, and runs it with the arguments given.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/cmake/packages.sh"
need g++=g++ cmake=cmake ninja=ninja-build /usr/include/eigen3=libeigen3-dev

log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! (cd "$root" && cmake --preset examples && cmake --build --preset examples --target examples.main_job) >"$log" 2>&1; then
  cat "$log"
  exit 1
fi
"$root/build/examples/examples/main_job" "$@"

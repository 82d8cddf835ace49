#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# sh bench/compile_time.sh: seconds that each door costs over an empty file, in Markdown. Each row is the median of five runs
# in turn with the empty file's, user and system time, which other work on the machine disturbs least.
set -u
cd "$(dirname "$0")/.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

eigen=${EIGEN:-/usr/include/eigen3}
: >"$work/empty.cpp"
: >"$work/empty.cu"

# Seconds of user and system time of a command.
cost() {
  # The shell's own account of its finished children: the last line of `times`.
  sh -c '"$@" >/dev/null 2>&1; times' cost "$@" | awk 'END {split($0, t, /[ms ]+/); printf "%.3f\n", 60 * t[1] + t[2] + 60 * t[3] + t[4]}'
}
# over <name> <budget>: the median of five differences of $measured and $base, and their spread.
over() {
  name=$1 budget=$2
  : >"$work/differences"
  for turn in 1 2 3 4 5; do
    with=$(cost $measured) without=$(cost $base)
    echo "$with $without" | awk '{printf "%.3f\n", $1 - $2}' >>"$work/differences"
  done
  sort -n "$work/differences" | awk -v name="$name" -v budget="$budget" '
    {v[NR] = $1}
    END {verdict = budget == "" ? "" : (v[3] <= budget ? budget ": met" : budget ": missed")
         printf "| %s | %.2f (%.2f .. %.2f) | %s |\n", name, v[3], v[1], v[5], verdict}'
}
# door <header> <budget> [base file, and what it is called]
door() {
  echo "#include <$1>" >"$work/door.cpp"
  measured="$compile $work/door.cpp" base="$compile $work/${3:-empty}.cpp"
  over "$1${4:+, over $4}" "$2"
}

echo "## Compile time"
echo
echo "$(c++ --version | head -n 1), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1). Seconds of user and system time over an empty"
echo "file; median (lowest .. highest) of five runs in turn."
echo
echo "| what | seconds | budget |"
echo "|------|---------|--------|"
{
  echo '#include <Eigen/SparseCholesky>'
  echo '#include <Eigen/SparseLU>'
} >"$work/eigen.cpp"

compile="g++ -std=c++20 -fopenmp -fsyntax-only -Iinclude -isystem $eigen"
measured="$compile $work/eigen.cpp" base="$compile $work/empty.cpp"
over "Eigen's direct solvers" ""
door sla/tensor.hpp 0.6
door sla/spmd.hpp 0.4
for header in solve grad dist sla; do
  [ -e include/sla/$header.hpp ] && door sla/$header.hpp 0.6 eigen "Eigen's direct solvers"
done

if [ -e include/sla/sla.hpp ]; then
  measured="g++ -std=c++20 -fopenmp -O2 -c -Iinclude -isystem $eigen tests/targets/01_solve.cpp -o $work/out.o" base=true
  over "tests/targets/01_solve.cpp, -O2 -c, all of it" 3
  nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
  if [ -n "$nvcc" ]; then
    echo '#include <sla/sla.hpp>' >"$work/sla.cu"
    echo '#include <sla/adapter/cuda.cuh>' >"$work/cuda.cu"
    compile="$nvcc -std=c++20 -arch=sm_90 -Xcompiler=-fopenmp -Iinclude -isystem $eigen -c -o $work/out.o"
    measured="$compile $work/cuda.cu" base="$compile $work/sla.cu"
    over "sla/adapter/cuda.cuh, nvcc, over sla/sla.hpp" 1.5
  fi
fi
echo

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
  sh -c '"$@" >/dev/null 2>&1 || echo "failed: $*" >&2; times' cost "$@" | awk 'END {split($0, t, /[ms ]+/); printf "%.3f\n", 60 * t[1] + t[2] + 60 * t[3] + t[4]}'
}
# over <name> <budget>: the median of five differences of $measured and $base, and their spread; and the median on a machine that
# reads Eigen's direct solvers in 0.8 s, for which the budgets were made.
eigen_seconds=
over() {
  name=$1 budget=$2
  : >"$work/differences"
  for turn in 1 2 3 4 5; do
    with=$(cost $measured) without=$(cost $base)
    echo "$with $without" | awk '{printf "%.3f\n", $1 - $2}' >>"$work/differences"
  done
  sort -n "$work/differences" >"$work/sorted"
  [ -n "$eigen_seconds" ] || eigen_seconds=$(sed -n 3p "$work/sorted")
  awk -v name="$name" -v budget="$budget" -v eigen="$eigen_seconds" '
    {v[NR] = $1}
    END {scaled = v[3] * 0.8 / eigen
         verdict = budget == "" ? "" : budget ": " (v[3] <= budget ? "met" : scaled <= budget + 0.005 ? "met there" : "missed")
         printf "| %s | %.2f (%.2f .. %.2f) | %.2f | %s |\n", name, v[3], v[1], v[5], scaled, verdict}' "$work/sorted"
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
echo "file; median (lowest .. highest) of five runs in turn; and the median scaled to a machine that reads Eigen's direct solvers in"
echo "0.8 s, for which the budgets were made."
echo
echo "| what | seconds | scaled | budget |"
echo "|------|---------|--------|--------|"
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

# Planning: matrix products with mismatched operands, over the types alone; and a program on a mesh of 8192 ranks.
cat >"$work/plan_base.cpp" <<'END'
#include <sla/spmd.hpp>
END
cat >"$work/plan_head.hpp" <<'END'
#include <sla/spmd.hpp>
#include <sla/spmd/plan/plan_set.hpp>
using namespace sla;
struct own_product {};
template <>
inline constexpr op_rule sla::rule_of<own_product> = {.indices = index_use::matvec, .linear = linearity::separate, .contraction = monoid::sum};
struct held {
  using value_type = double;
  using extents_type = Extents<1024, 1024>;
};
END
cat >"$work/plan.cpp" <<'END'
#include "plan_head.hpp"
using Mesh = mesh<axis<"pp", 2>, axis<"dp", 2>, axis<"tp", 4>>;
using X = distributed<held, Mesh, Shard<0>, Shard<0>, Replicate>;
using Y = distributed<held, Mesh, Replicate, Shard<0>, Shard<1>>;
using namespace sla::plans;
static_assert(std::is_same_v<plan_of<own_product, X, Y>, Plan<Arg<0, AllToAll<Shard<0>, Shard<1>, "dp">>, Arg<1>, Apply<own_product>, Result<>>>);
END
cat >"$work/plan_four.cpp" <<'END'
#include "plan_head.hpp"
using Mesh = mesh<axis<"pp", 2>, axis<"dp", 2>, axis<"cp", 2>, axis<"tp", 4>>;
using X = distributed<held, Mesh, Shard<0>, Shard<0>, Replicate, Replicate>;
using Y = distributed<held, Mesh, Replicate, Shard<0>, Shard<1, Balanced>, Replicate>;
static_assert(count<plans::motion::all_gather, plan_of<own_product, X, Y>>() == 1);
END
cat >"$work/fake.cpp" <<'END'
#include <sla/dist/collectives.hpp>
#include <sla/dist/fake.hpp>
using namespace sla;
using Mesh = mesh<axis<"pp", 8>, axis<"dp", 16>, axis<"cp", 8>, axis<"tp", 8>>;
int main() {
  fake world(8192, 77);
  Mesh m(world);
  auto x = dtensor<matrix<double>, Mesh, Replicate, Shard<0>, Shard<0>, Shard<1>>::zeros(m, {4096, 64});
  auto y = all_gather<"cp">(all_gather<"tp">(x));
  static_assert(has_placements<decltype(y), Replicate, Shard<0>, Replicate, Replicate>);
  return int(y.local().extent(0));
}
END
sed 's/auto y = .*/auto y = redistribute<Replicate, Shard<0>, Replicate, Replicate>(x);/; s/collectives/redistribute/' "$work/fake.cpp" >"$work/fake_plan.cpp"
for cxx in g++ clang++-16; do
  command -v $cxx >/dev/null || continue
  compile="$cxx -std=c++20 -fopenmp -fsyntax-only -Iinclude -isystem $eigen"
  measured="$compile $work/plan.cpp" base="$compile $work/plan_base.cpp"
  over "the plan of a matrix product on three axes, over sla/spmd.hpp, $cxx" 0.6
  measured="$compile $work/plan_four.cpp" base="$compile $work/plan_base.cpp"
  over "the same on four axes with two families of shards, $cxx" ""
  measured="$compile $work/fake.cpp" base=true
  over "a program on a mesh of four axes and 8192 ranks, engine fake, all of it, $cxx" 3
  measured="$compile $work/fake_plan.cpp" base=true
  over "the same with its plan by size, redistribute on four axes, $cxx" ""
done

if [ -e include/sla/sla.hpp ]; then
  measured="g++ -std=c++20 -fopenmp -O2 -c -Iinclude -isystem $eigen tests/targets/01_solve.cpp -o $work/out.o" base=true
  over "tests/targets/01_solve.cpp, -O2 -c, all of it" 3
  nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
  if [ -n "$nvcc" ]; then
    echo '#include <sla/sla.hpp>' >"$work/sla.cu"
    printf '#include <sla/sla.hpp>\n#include <sla/adapter/cuda.cuh>\n' >"$work/cuda.cu"
    compile="$nvcc -std=c++20 -arch=sm_90 -Xcompiler=-fopenmp -Iinclude -isystem $eigen -c -o $work/out.o"
    measured="$compile $work/cuda.cu" base="$compile $work/sla.cu"
    over "sla/adapter/cuda.cuh, nvcc, over sla/sla.hpp" 1.5
  fi
fi
echo

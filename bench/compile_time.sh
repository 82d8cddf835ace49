#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# sh bench/compile_time.sh: what each door costs over an empty file, in Markdown. Seconds are the median of five runs in turn with the
# empty file's, user and system time, which other work on the machine disturbs least. Instructions are counted once: by perf, where it may; or by
# valgrind, thirty times slower, where INSTRUCTIONS=valgrind asks for it. INSTANCES=<folder> is the build folder of an sla that was
# configured with -DSLA_BUILD_INSTANCES=ON: its headers say what is compiled already.
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
# Instructions of a command and of those that it starts, in 1e9; nothing, where nobody counts them.
count() {
  if [ -n "$by_perf" ]; then
    perf stat -x, -e instructions:u -o "$work/count" "$@" >/dev/null 2>&1
    awk -F, '/instructions/ {printf "%.3f\n", $1 / 1e9}' "$work/count"
  elif [ "${INSTRUCTIONS:-}" = valgrind ]; then
    rm -f "$work"/count.*
    valgrind --tool=exp-bbv --instr-count-only=yes --bb-out-file=/dev/null --trace-children=yes --log-file="$work/count.%p" "$@" >/dev/null 2>&1
    cat "$work"/count.* | awk '/Total instructions/ {sum += $NF} END {printf "%.3f\n", sum / 1e9}'
  fi
}
by_perf=
if perf stat -x, -e instructions:u -o "$work/count" true >/dev/null 2>&1 && ! grep -q 'not ' "$work/count"; then by_perf=yes; fi

# over <name> <budget>: the median of five differences of $measured and $base, and their spread; the median on a machine that reads
# Eigen's direct solvers in 0.8 s, for which budgets in seconds were made; and the difference of instructions. A budget such as 10x is
# a multiple of what it costs to read Eigen's direct solvers, by instructions where they are counted, else by seconds.
eigen_seconds= unit_seconds= unit_count=
over() {
  name=$1 budget=$2
  counted=$(count $measured)
  [ -z "$counted" ] || counted=$(echo "$counted $(count $base)" | awk '{printf "%.2f", $1 - $2}')
  [ -n "$unit_count" ] || unit_count=$counted
  : >"$work/differences"
  for turn in 1 2 3 4 5; do
    with=$(cost $measured) without=$(cost $base)
    echo "$with $without" | awk '{printf "%.3f\n", $1 - $2}' >>"$work/differences"
  done
  sort -n "$work/differences" >"$work/sorted"
  median=$(sed -n 3p "$work/sorted")
  [ -n "$eigen_seconds" ] || eigen_seconds=$median unit_seconds=$median
  awk -v name="$name" -v budget="$budget" -v eigen="$eigen_seconds" -v counted="$counted" -v unit_seconds="$unit_seconds" -v unit_count="$unit_count" '
    {v[NR] = $1}
    END {scaled = v[3] * 0.8 / eigen
         times = counted != "" ? counted / unit_count : v[3] / unit_seconds
         if (budget ~ /x$/)
           verdict = sprintf("%s: %.1fx, %s", budget, times, times <= budget + 0 ? "met" : "missed")
         else
           verdict = budget == "" ? "" : budget ": " (v[3] <= budget ? "met" : scaled <= budget + 0.005 ? "met there" : "missed")
         printf "| %s | %.2f (%.2f .. %.2f) | %.2f | %s | %s |\n", name, v[3], v[1], v[5], scaled, counted, verdict}' "$work/sorted"
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
echo "file; median (lowest .. highest) of five runs in turn; the median scaled to a machine that reads Eigen's direct solvers in"
echo "0.8 s, for which budgets in seconds were made; and 1e9 instructions, where they were counted. 10x: of reading Eigen's direct solvers."
echo
echo "| what | seconds | scaled | instructions | budget |"
echo "|------|---------|--------|--------------|--------|"
{
  echo '#include <Eigen/SparseCholesky>'
  echo '#include <Eigen/SparseLU>'
} >"$work/eigen.cpp"

compile="g++ -std=c++20 -fopenmp -fsyntax-only -Iinclude -isystem $eigen"
measured="$compile $work/eigen.cpp" base="$compile $work/empty.cpp"
over "Eigen's direct solvers" ""
door sla/tensor.hpp 0.6
door sla/spmd.hpp 0.4
door sla/krylov.hpp ""
for header in solve grad dist; do
  [ -e include/sla/$header.hpp ] && door sla/$header.hpp 0.6 eigen "Eigen's direct solvers"
done
door sla/sla.hpp 0.9x eigen "Eigen's direct solvers"

# The dense inverse of multigrid's coarsest level, with its code, and what Eigen has in its place: bench/dense_inverse.cpp.
cat >"$work/inverse.cpp" <<'END'
#include <sla/solve/precond/amg/coarsest.hpp>
template void sla::detail::invert_regular_part<double>(std::vector<double>&, sla::index_t);
END
cat >"$work/eigen_inverse.cpp" <<'END'
#include <Eigen/QR>
Eigen::MatrixXd inverse_of(Eigen::MatrixXd const& A) { return Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd>(A).pseudoInverse(); }
END
translate="g++ -std=c++20 -O2 -c -o /dev/null -Iinclude -isystem $eigen"
for inverse in inverse eigen_inverse; do
  measured="$translate $work/$inverse.cpp" base="$translate $work/empty.cpp"
  over "a dense inverse of singular matrices, $([ $inverse = inverse ] && echo ours || echo "Eigen's")" ""
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
static_assert(count_steps<step::all_gather, plan_of<own_product, X, Y>>() == 1);
END
cat >"$work/fake.cpp" <<'END'
#include <sla/dist/step/collectives.hpp>
#include <sla/dist/engine/fake.hpp>
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
  over "tests/targets/01_solve.cpp, -O2 -c, all of it" 10x
  # A program of Eigen's for the same job, and how often it goes into target 01 with what is compiled already.
  cat >"$work/same_job.cpp" <<'END'
#include <Eigen/SparseCholesky>
#include <Eigen/SparseLU>
#include <iostream>
#include <unsupported/Eigen/SparseExtra>

int main(int, char** argv) {
  Eigen::SparseMatrix<double> A;
  if (!Eigen::loadMarket(A, argv[1])) return 1;
  Eigen::VectorXd b = A * Eigen::VectorXd::Ones(A.cols());
  Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>> solver(A);
  Eigen::VectorXd x = solver.solve(b);
  double const residual = (b - A * x).norm() / b.norm();
  std::cout << "ldlt: true residual " << residual << '\n';
  return solver.info() == Eigen::Success && residual <= 1e-8 ? 0 : 1;
}
END
  measured="g++ -std=c++20 -fopenmp -O2 -c -isystem $eigen $work/same_job.cpp -o $work/out.o"
  over "a program of Eigen's for the same job (LDLT), -O2 -c, all of it" ""
  if [ -n "${INSTANCES:-}" ]; then
    reading_seconds=$unit_seconds reading_count=$unit_count unit_seconds=$median unit_count=$counted
    measured="g++ -std=c++20 -fopenmp -O2 -c -I$INSTANCES/instances/include -Iinclude -isystem $eigen tests/targets/01_solve.cpp -o $work/out.o"
    over "tests/targets/01_solve.cpp with the component instances, -O2 -c, all of it; its budget is a multiple of the program of Eigen's" 2.5x
    unit_seconds=$reading_seconds unit_count=$reading_count
  fi
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

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# sh bench/run.sh [tables] [folder of .mtx and .mtx.gz]: builds the benchmarks, runs them one after the other on an otherwise idle machine, and
# writes bench/results/*.md; with `multigrid` those of tables alone whose names begin so. About 20 minutes, and longer where peers of multigrid are found.
set -eu
cd "$(dirname "$0")/.."
only=
if [ $# -gt 0 ] && [ ! -d "$1" ]; then
  only=$1
  shift
fi
. cmake/packages.sh
need g++=g++ cmake=cmake ninja=ninja-build /usr/include/eigen3=libeigen3-dev

cmake --preset bench >/dev/null
cmake --build --preset bench
programs=build/bench/bench
results=bench/results
mkdir -p "$results"

# Threads that wait spin, and stay where they are; a benchmark has the machine for itself.
export OMP_PROC_BIND=true OMP_NUM_THREADS="${OMP_NUM_THREADS:-$(nproc)}"

# table <file> <program [arguments]>...: their outputs, one after the other; each is started through $through.
through=
found=
wanted() { case $1 in "$only"*) found=yes ;; *) false ;; esac; }
table() {
  wanted "$1" || return 0
  out=$results/$1.md
  shift
  echo "<!-- Written by bench/run.sh -->" >"$out.new"
  for command in "$@"; do
    echo "$command" >&2
    $through $programs/$command >>"$out.new"
  done
  mv "$out.new" "$out"
}

table cg "cg 2048 30" "cg.O2 2048 30" "cg 4096 15"
table spmv spmv spmv.O2
table expressions expressions expressions.O2
table spgemm spgemm spgemm.O2
table kernels kernels kernels.O2
table blocks blocks blocks.O2
table small small small.O2
table dense_inverse dense_inverse dense_inverse.O2
table least_squares least_squares
table nonlinear nonlinear
table memory memory
table choice "choice 5" "choice 5 ${1:-tests/data}"
table multigrid_peers multigrid
if wanted multigrid_peers && python=$(command -v "${PYTHON:-python3}"); then "$python" bench/plot_multigrid.py $results/multigrid_peers.md $results/multigrid.svg; fi
if [ -x "$programs/real_matrices.complex" ]; then
  table real_matrices "real_matrices ${1:-tests/data} real" "real_matrices.complex ${1:-tests/data} complex"
else
  table real_matrices "real_matrices ${1:-tests/data}"
fi
pairs=$(mktemp -d)
table eigen_matrices "eigen_matrices ${1:-tests/data} 1900 $pairs"
if wanted eigen_matrices && "${PYTHON:-/usr/bin/python3}" -c 'import scipy' 2>/dev/null; then "${PYTHON:-/usr/bin/python3}" bench/peers/scipy_eigen.py matrices "${1:-tests/data}" "$pairs" >>"$results/eigen_matrices.md"; fi
rm -r "$pairs"
table eigen_peers eigen
OMP_PROC_BIND=false table ranks ranks
if wanted ranks && [ -x "$programs/ranks_mpi" ]; then OMP_PROC_BIND=false OMP_NUM_THREADS=1 mpiexec -n 2 "$programs/ranks_mpi" >>"$results/ranks.md"; fi
if wanted overlap && [ -x "$programs/overlap" ]; then
  through="mpiexec -n 2"
  table overlap overlap
  through="env OMPI_MCA_btl=tcp,self $through"
  $through $programs/overlap >>$results/overlap.md
  through=
fi
# Processor time is measured there: who waits sleeps.
if [ -x "$programs/partition" ]; then OMP_PROC_BIND=false OMP_WAIT_POLICY=passive table partition "partition 1000 5 $(find "${1:-tests/data}" -name '*_laplacian.mtx*' | tr '\n' ' ')"; fi
if [ -x "$programs/direct" ]; then OMP_NUM_THREADS=1 table direct direct; fi
OMP_NUM_THREADS=1 table determinant determinant
if wanted compile_time; then sh bench/compile_time.sh >"$results/compile_time.md"; fi
[ -n "$found" ] || { echo "sh bench/run.sh [tables] [folder]: '$only' is no folder, and no table begins so" >&2; exit 1; }

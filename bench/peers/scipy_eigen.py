# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SciPy as a peer of eigenvalues (Debian: python3-scipy). bench/eigen.cpp calls the first two, bench/run.sh the last.
#   scipy_eigen.py laplacian <points> <k> <tol> SA|shift   the k smallest pairs of a square: seconds, seconds of processor, residual, values
#   scipy_eigen.py near <points> <k> <tol> <sigma>         those nearest sigma, with factors that are there: seconds of processor of a factorisation, of
#                                                          the rest and of one solve, solves, residual, values
#   scipy_eigen.py matrices <folder> <pairs>               a table: what eigen_matrices wrote to the folder <pairs> beside ARPACK's answers
import os
import sys
import time

import numpy as np
import scipy.io
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg as sla


def square(points):
    line = sp.diags([-1, 2, -1], [-1, 0, 1], shape=(points, points))
    return sp.kronsum(line, line).tocsc()


def processor_seconds(f):
    start = time.process_time()
    out = f()
    return time.process_time() - start, out


def residual(A, w, v):
    return float(np.max(np.linalg.norm(A @ v - v * w, axis=0) / abs(w)))


def laplacian(points, k, tol, which):
    A = square(points)
    start = time.perf_counter()
    options = {"sigma": 0} if which == "shift" else {"which": "SA", "maxiter": 100000}
    used, (w, v) = processor_seconds(lambda: sla.eigsh(A, k, tol=tol, **options))
    print(time.perf_counter() - start, used, residual(A, w, v), *np.sort(w))


def near(points, k, tol, sigma):
    A = square(points)
    factored, lu = processor_seconds(lambda: sla.splu((A - sigma * sp.identity(A.shape[0])).tocsc()))
    solves = 0

    def solve(b):
        nonlocal solves
        solves += 1
        return lu.solve(b)

    rest, (w, v) = processor_seconds(lambda: sla.eigsh(A, k, sigma=sigma, tol=tol, OPinv=sla.LinearOperator(A.shape, solve, dtype=float)))
    b = np.ones(A.shape[0])
    one = processor_seconds(lambda: [lu.solve(b) for _ in range(20)])[0] / 20
    print(factored, rest, one, solves, residual(A, w, v), *np.sort(w))


def read_pairs(path):
    """What bench/eigen_matrices.cpp writes: a line of words, then values and blocks of vectors, row by row, as complex numbers."""
    with open(path, "rb") as f:
        call, rows, cols, k, seconds, sigma = f.readline().decode().rsplit(maxsplit=5)
        rows, cols, k = int(rows), int(cols), int(k)
        numbers = np.frombuffer(f.read(), dtype=complex)
    w, u = numbers[:k], numbers[k : k + rows * k].reshape(rows, k)
    v = numbers[k + rows * k :].reshape(cols, k) if call.startswith("svds") else None
    return call, k, float(seconds), complex(sigma), w, u, v


def ask_arpack(A, call, k, sigma):
    """A few more than k, so that clusters are whole: values, vectors, left ones."""
    n, more = min(A.shape), 6
    more = min(k + more, n - 2)
    start = np.random.default_rng(1).standard_normal(n)
    if call.startswith("svds"):
        u, s, vt = sla.svds(A.astype(complex) if np.iscomplexobj(A.data) else A, more, which="LM" if call == "svds_largest" else "SM", maxiter=300, v0=start, tol=0)
        return s, u, vt.conj().T
    solve = sla.eigsh if call.startswith("eigsh") else sla.eigs
    if call.endswith("near"):
        at = sigma.real if sigma.imag == 0 else sigma
        return (*solve(A.tocsc(), more, sigma=at, v0=start), None)
    return (*solve(A, more, which="LA" if call == "eigsh_largest" else "LM", v0=start, maxiter=20000), None)


def outside(v, basis):
    """The sine of the angle between v and a subspace."""
    q = scipy.linalg.qr(basis, mode="economic", pivoting=True)
    rank = max(1, int(np.sum(abs(np.diag(q[1])) > 1e-12 * abs(q[1][0, 0]))))
    q = q[0][:, :rank]
    v = v / np.linalg.norm(v)
    return np.linalg.norm(v - q @ (q.conj().T @ v))


def matrices(folder, pairs):
    print("| matrix | call | ours, ms | SciPy, ms | values apart, relative | subspaces apart | residuals: ours, SciPy's | |")
    print("|---|---|---|---|---|---|---|---|")
    bad = 0
    for name in sorted(os.listdir(pairs)):
        call, k, seconds, sigma, w, u, v = read_pairs(os.path.join(pairs, name))
        matrix = name.split("@")[0]
        path = [p for p in os.listdir(folder) if p.split(".mtx")[0] == matrix][0]
        A = scipy.io.mmread(os.path.join(folder, path)).tocsr()
        if A.dtype.kind in "iu":
            A = A.astype(float)

        def left(values, a, b):
            if b is not None:
                return (np.linalg.norm(A @ b - a * values, axis=0) + np.linalg.norm(A.conj().T @ a - b * values, axis=0)) / abs(values)
            return np.linalg.norm(A @ a - a * values, axis=0) / (abs(values) * np.linalg.norm(a, axis=0))

        ours = left(w, u, v).max()
        try:
            start = time.perf_counter()
            W, U, V = ask_arpack(A, call, k, sigma)
            peer_ms = 1e3 * (time.perf_counter() - start)
        except Exception as e:  # of SciPy: ARPACK's words
            print(f"| {matrix} | {call} | {1e3 * seconds:.0f} | | | | {ours:.1e}, | SciPy: {str(e).splitlines()[0][:90]} |", flush=True)
            continue
        apart = max(min(abs(W - x)) / abs(x) for x in w)
        angle = 0
        for j in range(k):
            group = abs(W - w[j]) <= 1e-5 * abs(w[j])
            angle = max(angle, outside(u[:, j], U[:, group]) if group.any() else 1)
        # The k best of ARPACK: is one of them missed by us, or one of ours by ARPACK?
        rank = (lambda x: abs(x - sigma)) if call.endswith("near") else (lambda x: abs(x)) if call == "svds_smallest" else (lambda x: -x.real) if call == "eigsh_largest" else (lambda x: -abs(x))
        order, own = np.sort([rank(x) for x in W])[:k], np.sort([rank(x) for x in w])
        off = np.flatnonzero(abs(order - own) > 1e-6 * (abs(own) + 1e-300))
        remark = "" if off.size == 0 else "SciPy misses a pair" if order[off[0]] > own[off[0]] else "ours misses a pair"
        bad += apart > 1e-10 or angle > 1e-8
        peer = left(W[np.argsort([rank(x) for x in W])[:k]], U[:, np.argsort([rank(x) for x in W])[:k]], None if V is None else V[:, np.argsort([rank(x) for x in W])[:k]]).max()
        print(f"| {matrix} | {call} | {1e3 * seconds:.0f} | {peer_ms:.0f} | {apart:.1e} | {angle:.1e} | {ours:.1e}, {peer:.1e} | {remark} |", flush=True)
    print(f"\nBeyond 1e-10 or 1e-8: {bad} rows.")


if __name__ == "__main__":
    mode, *rest = sys.argv[1:]
    if mode == "laplacian":
        laplacian(int(rest[0]), int(rest[1]), float(rest[2]), rest[3])
    elif mode == "near":
        near(int(rest[0]), int(rest[1]), float(rest[2]), float(rest[3]))
    else:
        matrices(rest[0], rest[1])

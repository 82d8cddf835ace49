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


def ask_arpack(A, call, k, sigma, more):
    """A few more than k, so that clusters are whole: values, vectors, left ones. The smallest singular values of a square A by factors: of A, if it is Hermitian, else of A and A^H."""
    n = min(A.shape)
    more = min(k + more, n - 2)
    start = np.random.default_rng(1).standard_normal(n)
    if call == "svds_smallest" and A.shape[0] == A.shape[1]:
        if abs(A - A.conj().T).max() == 0:
            w, v = sla.eigsh(A.tocsc(), more, sigma=-1e-9 * abs(A).max(), v0=start)
            return abs(w), v * np.where(w < 0, -1, 1), v
        lu = sla.splu(A.tocsc())
        inverse = sla.LinearOperator(A.shape, lambda x: lu.solve(lu.solve(x, "H" if np.iscomplexobj(A.data) else "T")), dtype=A.dtype)
        _, v = sla.eigsh(inverse, more, v0=start)
        u = A @ v
        s = np.linalg.norm(u, axis=0)
        return s, u / s, v
    if call.startswith("svds"):
        u, s, vt = sla.svds(A.astype(complex) if np.iscomplexobj(A.data) else A, more, which="LM" if call == "svds_largest" else "SM", maxiter=300, v0=start, tol=0)
        return s, u, vt.conj().T
    solve = sla.eigsh if call.startswith("eigsh") else sla.eigs
    if call.endswith("near"):
        at = sigma.real if sigma.imag == 0 else sigma
        return (*solve(A.tocsc(), more, sigma=at, v0=start), None)
    return (*solve(A, more, which="LA" if call == "eigsh_largest" else "LM", v0=start, maxiter=20000), None)


def box(n):
    """The values of the Laplacian of a box, all of them, and the vectors of those at some places."""
    lines = [(4 * np.sin(np.pi * np.arange(1, m + 1) / (2 * (m + 1))) ** 2) for m in n]
    values = (lines[0][:, None, None] + lines[1][None, :, None] + lines[2][None, None, :]).ravel()

    def vectors(places):
        out = []
        for place in places:
            which = np.unravel_index(place, n)
            x, y, z = (np.sin(np.pi * np.arange(1, m + 1) * (j + 1) / (m + 1)) for m, j in zip(n, which))
            out.append((z[:, None, None] * y[None, :, None] * x[None, None, :]).ravel())  # the first axis runs fastest
        return np.array(out).T

    return values, vectors


def ask_closed_form(n, call, k, sigma, more):
    values, vectors = box(n)
    rank = abs(values - sigma.real) if call.endswith("near") else values if call == "svds_smallest" else -values
    places = np.argsort(rank)[: k + more]
    V = vectors(places)
    V /= np.linalg.norm(V, axis=0)
    return values[places], V, V if call.startswith("svds") else None


def orthonormal(basis):
    q = scipy.linalg.qr(basis, mode="economic", pivoting=True)
    rank = max(1, int(np.sum(abs(np.diag(q[1])) > 1e-12 * abs(q[1][0, 0]))))
    return q[0][:, :rank]


def outside(v, basis):
    """The sine of the angle between v and a subspace."""
    q = orthonormal(basis)
    v = v / np.linalg.norm(v)
    return np.linalg.norm(v - q @ (q.conj().T @ v))


def outside_null_space(M, v):
    """The sine of the angle between v and the null space of M, whose rows that are not 0 are independent: the shortest z with M z = M v, over |v|."""
    N = M.tocsr()[np.flatnonzero(np.diff(M.tocsr().indptr))]
    zero = np.zeros(N.shape[1], dtype=v.dtype)
    K = sp.bmat([[sp.identity(N.shape[1], dtype=v.dtype), N.conj().T], [N, None]]).tocsc()
    z = sla.splu(K).solve(np.r_[zero, N @ v])[: N.shape[1]]
    return np.linalg.norm(z) / np.linalg.norm(v)


def separation(A, w, V):
    """The smallest singular value of A - w I but for those that the vectors of w have, by a border of both null spaces."""
    n, V = A.shape[0], orthonormal(V)
    m, size = V.shape[1], abs(A).max()
    M = (A - w * sp.identity(n)).tocsc()
    near = sla.splu((M - 1e-9 * size * sp.identity(n)).tocsc())
    U = np.random.default_rng(2).standard_normal((n, m)).astype(M.dtype)
    for _ in range(3):
        U = np.linalg.qr(near.solve(U, "H" if np.iscomplexobj(M.data) else "T"))[0]
    B = sp.bmat([[M, sp.csc_matrix(size * U)], [sp.csc_matrix(size * V.conj().T), None]]).tocsc()
    lu = sla.splu(B)
    inverse = sla.LinearOperator(B.shape, lambda x: lu.solve(lu.solve(x, "H" if np.iscomplexobj(M.data) else "T")), dtype=B.dtype)
    return 1 / np.sqrt(sla.eigsh(inverse, 1, tol=1e-3)[0][0])


def matrices(folder, pairs):
    print("| matrix | call | ours, ms | oracle, ms | values apart, relative | subspaces apart | their bound | residuals: ours, the oracle's | |")
    print("|---|---|---|---|---|---|---|---|---|")
    bad = settled = 0
    for name in sorted(os.listdir(pairs)):
        call, k, seconds, sigma, w, u, v = read_pairs(os.path.join(pairs, name))
        matrix = name.split("@")[0]
        if known := matrix.startswith("box_"):
            n = [int(m) for m in matrix.split("_")[1:]]
            line = lambda m: sp.diags([-1, 2, -1], [-1, 0, 1], shape=(m, m))
            A = sp.kronsum(sp.kronsum(line(n[0]), line(n[1])), line(n[2])).tocsr()
            ask = lambda more: ask_closed_form(n, call, k, sigma, more)
        else:
            path = [p for p in os.listdir(folder) if p.split(".mtx")[0] == matrix][0]
            A = scipy.io.mmread(os.path.join(folder, path)).tocsr()
            if A.dtype.kind in "iu":
                A = A.astype(float)
            ask = lambda more: ask_arpack(A, call, k, sigma, more)
        largest = sla.norm(A, 1)

        def left(values, a, b):
            """|A v - w v| of each pair, v of length 1; of triplets both parts together."""
            if b is not None:
                return np.hypot(np.linalg.norm(A @ b - a * values, axis=0), np.linalg.norm(A.conj().T @ a - b * values, axis=0))
            return np.linalg.norm(A @ a - a * values, axis=0) / np.linalg.norm(a, axis=0)

        size = lambda x: np.where(abs(x) < 1e-13 * largest, largest, abs(x))  # a value 0 is judged beside |A|
        rank = (lambda x: abs(x - sigma)) if call.endswith("near") else (lambda x: abs(x)) if call == "svds_smallest" else (lambda x: -x.real) if call == "eigsh_largest" else (lambda x: -abs(x))
        of_cluster = lambda x, W: abs(W - x) <= 1e-5 * size(x)
        ours = left(w, u, v)
        try:
            start = time.perf_counter()
            more = 6
            W, U, V = ask(more)
            while more < 100 and of_cluster(W[np.argmax(rank(W))], w).any():  # the last cluster may go on
                more *= 4
                W, U, V = ask(more)
            peer_ms = 1e3 * (time.perf_counter() - start)
        except Exception as e:  # of SciPy: ARPACK's words
            print(f"| {matrix} | {call} | {1e3 * seconds:.0f} | | | | | {(ours / size(w)).max():.1e}, | SciPy: {str(e).splitlines()[0][:90]} |", flush=True)
            continue
        peers = left(W, U, V)
        apart = max((abs(W - x) / size(x)).min() for x in w)
        angle, bound, is_within = 0, 0, True
        remark = "closed forms" if known else ""
        for j in range(k):
            group = of_cluster(w[j], W)
            mine = outside(u[:, j], U[:, group]) if group.any() else 1
            if call.startswith("eigs_") and mine > 1e-8:
                M = (A - w[j] * sp.identity(A.shape[0])).tocsr()
                M.data[abs(M.data) < 1e-11 * max(1, abs(w[j]))] = 0
                M.eliminate_zeros()
                if (zeros := np.sum(np.diff(M.indptr) == 0)) > group.sum():  # w has so many vectors, of which ARPACK has some
                    remark = f"beside all {zeros} vectors of the value"
                    angle = max(angle, outside_null_space(M, u[:, j]))
                    continue
            others = np.abs(W[~group] - w[j])
            gap = others.min() if others.size else abs(w[j])
            if call.startswith("svds") and A.shape[0] != A.shape[1]:
                gap = min(gap, abs(w[j]))  # (u, -v) has -s, and A^H has null vectors
            if call.startswith("eigs_"):
                gap = separation(A, w[j], U[:, group]) if mine > 1e-9 and group.any() else np.inf
            allowed = (ours[j] + np.linalg.norm(peers[group])) / gap
            angle, bound = max(angle, mine), max(bound, allowed)
            is_within = is_within and (mine <= 1e-8 or mine <= allowed)
        # The k best of the oracle: is one of them missed by us, or one of ours by it?
        best = np.argsort([rank(x) for x in W])[:k]
        order, own = np.sort(rank(W))[:k], np.sort(rank(w))
        off = np.flatnonzero(abs(order - own) > 1e-6 * abs(own) + 1e-12 * largest)
        if off.size:
            remark = "SciPy misses a pair" if order[off[0]] > own[off[0]] else "ours misses a pair"
        if angle > 1e-8 or apart > 1e-10:
            bad += 1
            settled += angle <= 1e-8 or is_within
        said = f"{bound:.1e}" if bound > 0 else ""
        print(f"| {matrix} | {call} | {1e3 * seconds:.0f} | {peer_ms:.0f} | {apart:.1e} | {angle:.1e} | {said} | {(ours / size(w)).max():.1e}, {(peers[best] / size(W[best])).max():.1e} | {remark} |", flush=True)
    print(f"\nBeyond 1e-10 or 1e-8: {bad} rows, of which the subspaces of {settled} are within 1e-8 or their bound.")


if __name__ == "__main__":
    mode, *rest = sys.argv[1:]
    if mode == "laplacian":
        laplacian(int(rest[0]), int(rest[1]), float(rest[2]), rest[3])
    elif mode == "near":
        near(int(rest[0]), int(rest[1]), float(rest[2]), float(rest[3]))
    else:
        matrices(rest[0], rest[1])

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# python3 bench/plot_multigrid.py <multigrid_peers.md> <out.svg>: draws our total time beside each peer's, from the tables that bench/multigrid.cpp prints.
import html
import re
import sys

COLOURS = {"AMGCL": "#4477aa", "hypre": "#ee6677", "GAMG": "#228833", "CHOLMOD": "#ccbb44", "our cg + jacobi": "#66ccee", "Eigen, cg + IC": "#aa3377"}


def rows_of(path):
    """(problem, unknowns, rtol, {peer: ratio of our total time to its}) of each row; peers that did not reach rtol are left out."""
    columns = []
    for line in open(path, encoding="utf-8"):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if cells[:2] == ["problem", "unknowns"]:
            columns = cells
        elif line.startswith("|") and columns and len(cells) == len(columns) and cells[1].isdigit():
            row = dict(zip(columns, cells))
            ratios = {peer: float(re.match(r"[0-9.]+", row[peer]).group()) for peer in COLOURS if row.get(peer) and "not in" not in row[peer]}
            if ratios:
                yield row["problem"], int(row["unknowns"]), float(row["rtol"]), ratios


def draw(rows, out):
    step, left, width, top = 18, 330, 520, 46
    height = top + step * len(rows) + 34
    at = lambda ratio: left + width * min(ratio, 1.3) / 1.3
    text = lambda x, y, words, more="": f'<text x="{x}" y="{y}" {more}>{html.escape(words)}</text>'
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 20}" height="{height}" font-family="sans-serif" font-size="11">',
             f'<rect width="{left + width + 20}" height="{height}" fill="white"/>', text(8, 16, "Total time of sla's multigrid by that of a peer, set-up included: left of 1.0 sla is the faster")]
    for k, (peer, colour) in enumerate(COLOURS.items()):
        lines += [f'<circle cx="{left + 100 * k - 280}" cy="30" r="4" fill="{colour}"/>', text(left + 100 * k - 272, 34, peer)]
    for tick in (0, 0.25, 0.5, 0.75, 1.0, 1.25):
        lines += [f'<line x1="{at(tick)}" x2="{at(tick)}" y1="{top}" y2="{height - 28}" stroke="{"#444" if tick == 1.0 else "#ddd"}"/>', text(at(tick), height - 12, f"{tick:g}", 'text-anchor="middle"')]
    for k, (problem, unknowns, rtol, ratios) in enumerate(rows):
        y = top + step * k + step / 2
        lines.append(text(left - 8, y + 4, f"{problem}, {unknowns}, {rtol:.0e}", 'text-anchor="end"'))
        lines += [f'<circle cx="{at(ratio):.1f}" cy="{y}" r="4" fill="{COLOURS[peer]}"><title>{html.escape(peer)}: {ratio}</title></circle>' for peer, ratio in ratios.items()]
    open(out, "w", encoding="utf-8").write("\n".join(lines + ["</svg>\n"]))


draw(list(rows_of(sys.argv[1])), sys.argv[2])

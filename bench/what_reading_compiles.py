#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# python3 bench/what_reading_compiles.py [door [rows]]: which functions of the library make every reader of a door (sla/sla.hpp) compile templates, as
# functions do that are no templates. Of each, in instructions of an object without optimisation: its share of the templates that such functions reach, and what
# it alone reaches. Then, by the type in their names, the instances that templates make where a name does not depend on their arguments (dependent_t).
import collections
import os
import re
import subprocess
import sys
import tempfile

door, rows = (sys.argv[1:] + ["sla/sla.hpp", "40"][len(sys.argv) - 1:])[:2]
root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
with tempfile.TemporaryDirectory() as work:
    source, made = os.path.join(work, "door.cpp"), os.path.join(work, "door.o")
    with open(source, "w") as file:
        file.write(f"#include <{door}>\n")
    subprocess.run(["g++", "-std=c++20", "-fopenmp", "-O0", "-fkeep-inline-functions", f"-I{root}/include", "-isystem", os.environ.get("EIGEN", "/usr/include/eigen3"), "-c", source, "-o", made], check=True)
    listing = subprocess.run(["objdump", "-dr", "--no-show-raw-insn", made], check=True, capture_output=True, text=True).stdout

size, calls, here = {}, collections.defaultdict(set), None
for line in listing.splitlines():
    if found := re.match(r"[0-9a-f]+ <(.+)>:$", line):
        here = found[1]
        size[here] = 0
    elif here and (found := re.match(r"\s+[0-9a-f]+:\s+R_\S+\s+(\S+)", line)):
        calls[here].add(re.sub(r"[-+]0x[0-9a-f]+$", "", found[1]))
    elif here and re.match(r"\s+[0-9a-f]+:\s", line):
        size[here] += 1
words = subprocess.run(["c++filt"], input="\n".join(size), capture_output=True, text=True).stdout.split("\n")
name = dict(zip(size, words))


def is_template(function):
    depth, text = 0, name[function]
    for at, letter in enumerate(text):
        depth += (letter == "<") - (letter == ">")
        if letter == "(" and depth == 0:
            return "<" in text[:at]
    return "<" in text


plain = {f for f in size if not is_template(f)}
reached_by = collections.defaultdict(set)
for root_function in plain:
    seen, left = set(), [root_function]
    while left:
        for to in calls[left.pop()]:
            if to in size and to not in plain and to not in seen:
                seen.add(to)
                left.append(to)
    for to in seen:
        reached_by[to].add(root_function)

share, alone = collections.Counter(), collections.Counter()
for to, by in reached_by.items():
    for f in by:
        share[f] += size[to] / len(by)
    if len(by) == 1:
        alone[next(iter(by))] += size[to]
unreached = [f for f in size if f not in plain and f not in reached_by]
print(f"{door}: {len(size)} functions, {sum(size.values())} instructions; templates that plain functions reach: {len(reached_by)}, {sum(size[f] for f in reached_by)}; others: {len(unreached)}, {sum(size[f] for f in unreached)}")
print("  share  alone  function")
for f, instructions in [(f, n) for f, n in share.most_common() if "sla::" in name[f]][:int(rows)]:
    print(f"{instructions:7.0f} {alone[f]:6d}  {name[f][:160]}")
print("  alone  of")
by_type = collections.Counter()
for f in unreached:
    if found := re.search(r"sla::[A-Za-z_:]+", name[f]):
        by_type[found[0]] += size[f]
for of, instructions in by_type.most_common(int(rows) // 2):
    print(f"{instructions:7d}  {of}")

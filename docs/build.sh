#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# sh docs/build.sh: installs what is missing, and makes the reference and the pages as build/docs/html/index.html.
set -eu
cd "$(dirname "$0")/.."
. cmake/packages.sh
need doxygen=doxygen

out=build/docs
rm -rf "$out"
mkdir -p "$out"

# The page of names: every public name, by floor and header in reading order, with the first sentence of its comment.
headers=$(sed -n 's/^\([a-z][^ ]*\.[hc][pu][ph]\).*/include\/sla\/\1/p' cmake/floors.txt)
awk -f cmake/public_names.awk $headers | awk -F '\t' -f docs/names.awk >"$out/names.md"

doxygen docs/Doxyfile
echo "The reference: $out/html/index.html"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# sh docs/build.sh: installs what is missing, and makes the reference, the pages and their pictures as build/docs/html/index.html.
set -eu
cd "$(dirname "$0")/.."
. cmake/packages.sh
need doxygen=doxygen g++=g++ /usr/include/eigen3=libeigen3-dev

out=build/docs
rm -rf "$out"
mkdir -p "$out/pictures"

# The page of names: every public name, by floor and header in reading order, with the first sentence of its comment.
headers=$(sed -n 's/^\([a-z][^ ]*\.[hc][pu][ph]\).*/include\/sla\/\1/p' cmake/floors.txt)
awk -f cmake/public_names.awk $headers | awk -F '\t' -f docs/names.awk >"$out/names.md"

"${CXX:-g++}" -std=c++20 -O1 -fopenmp -Iinclude -isystem /usr/include/eigen3 docs/pictures.cpp -o "$out/pictures/make"
"$out/pictures/make" "$out/pictures"

doxygen docs/Doxyfile
echo "The reference: $out/html/index.html"

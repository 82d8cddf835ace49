// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files that are gone with their scope: scratch_file file("a.mtx", "its bytes"); file.name is the path. Programs run side by side:
// each has its own endings.
#pragma once
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

struct scratch_file {
  std::string name;

  explicit scratch_file(std::string const& ending, std::string const& what = {}) {
    static int count = 0;
    name = "scratch_" + std::to_string(++count) + "_" + ending;
    write(what);
  }
  ~scratch_file() { std::remove(name.c_str()); }
  scratch_file(scratch_file const&) = delete;
  scratch_file& operator=(scratch_file const&) = delete;

  void write(std::string const& bytes) const { std::ofstream(name, std::ios::binary) << bytes; }
  std::string bytes() const {
    std::ifstream in(name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

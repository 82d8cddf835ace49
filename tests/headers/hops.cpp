// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How far it is from `solve(A, b, cg{}, jacobi{})` to the text of the method: the functions of the floor `solve` that are entered before
// cg::run, without constructors and lambdas, which stand where they are read. Compiled by g++ -O0 -finstrument-functions.
#include <algorithm>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include <sla/krylov.hpp>

namespace {
struct entry {
  void* function;
  int depth;
};
entry entered[20000];
int count = 0, depth = 0;
bool counts = false;
} // namespace

extern "C" {
[[gnu::no_instrument_function]] void __cyg_profile_func_enter(void* function, void*) {
  if (counts && count < int(std::size(entered))) entered[count++] = {function, depth};
  ++depth;
}
[[gnu::no_instrument_function]] void __cyg_profile_func_exit(void*, void*) { --depth; }
}

namespace {
/// sla::detail::engine of "auto sla::detail::engine<...>(...) [with ...]".
std::string plain_name(std::string const& signature) {
  std::string name;
  int inside = 0;
  for (char const c : signature) {
    inside -= c == '>' || c == ')';
    if (inside == 0 && c == '(' && !name.ends_with("decltype")) break;
    if (inside == 0 && c != '>' && c != '<') name = c == ' ' ? std::string() : name + c;
    inside += c == '<' || c == '(';
  }
  return name;
}
} // namespace

int main(int, char** argv) {
  auto const A = sla::problems::poisson<double>({4, 4});
  auto const b = sla::ones<double>(A.rows());
  sla::cg const method;
  counts = true;
  auto const x = sla::solve(A, b, method, sla::jacobi{});
  counts = false;

  std::string command = std::string("addr2line -f -C -e ") + argv[0];
  for (int n = 0; n < count; ++n) {
    char address[32];
    std::snprintf(address, sizeof(address), " %p", entered[n].function);
    command += address;
  }
  std::FILE* const lines = popen(command.c_str(), "r");
  char signature[60000], place[2000];
  std::set<std::string> functions, files;
  std::vector<std::string> above;  // the files of the functions that are running, by their depth
  bool arrived = false, comes_back = false;
  for (int n = 0; n < count && std::fgets(signature, sizeof(signature), lines) && std::fgets(place, sizeof(place), lines); ++n) {
    std::string const name = plain_name(signature), where = place;
    auto const at = where.find("include/sla/solve/");
    auto const colons = name.rfind("::");
    std::string const last = name.substr(colons + 2), before = name.substr(0, colons);
    above.resize(std::size_t(entered[n].depth - entered[0].depth));
    bool const begins_or_ends = last.starts_with("~") || before.ends_with("::" + last);
    if (arrived || at == std::string::npos || begins_or_ends || std::string(signature).find("lambda") != std::string::npos) {
      above.push_back({});
      continue;
    }
    std::string const file = where.substr(at + 12, where.find(':', at) - at - 12);
    if (name == "sla::cg::run") arrived = true;
    above.push_back(file);
    // No file is left and read again: of the functions that run, those of one file stand together.
    std::vector<std::string> way;
    for (auto const& f : above)
      if (!f.empty() && (way.empty() || way.back() != f)) way.push_back(f);
    std::set<std::string> const once(way.begin(), way.end());
    comes_back = comes_back || once.size() != way.size();
    if (!arrived && functions.insert(file + " " + name).second) std::printf("%*s%s  (%s)\n", int(way.size()), "", name.c_str(), file.c_str());
    if (!arrived) files.insert(file);
  }
  pclose(lines);
  std::printf("%zu functions in %zu files before the method\n", functions.size(), files.size());
  if (!arrived) std::puts("the method was not found: addr2line, of binutils, is wanted");
  if (comes_back) std::puts("a file is left and read again");
  return arrived && !comes_back && functions.size() <= 20 && files.size() <= 6 && sla::norm(b - A * x) <= 1e-6 ? 0 : 1;
}

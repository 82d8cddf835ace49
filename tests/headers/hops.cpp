// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How far it is from `solve(A, b, cg{}, jacobi{})` to the text of the method: the functions of the floor `solve` that are entered before
// cg::run, without constructors and lambdas, which stand where they are read. And that `perform`, by which operands of other floors are
// served, is entered by no call of what the library itself stores. Compiled by g++ -O0 -finstrument-functions.
#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <sla/krylov.hpp>
#include <sla/solve/direct/eliminate.hpp>

namespace {
struct entry {
  void* function;
  int depth;
};
entry entered[100000];
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

/// The signature and the place of each function that was entered.
std::map<void*, std::pair<std::string, std::string>> functions_of(char const* program) {
  std::map<void*, std::pair<std::string, std::string>> out;
  for (int n = 0; n < count; ++n) out[entered[n].function] = {};
  std::string command = std::string("addr2line -f -C -e ") + program;
  for (auto const& [function, place] : out) {
    char address[32];
    std::snprintf(address, sizeof(address), " %p", function);
    command += address;
  }
  std::FILE* const lines = popen(command.c_str(), "r");
  static char signature[60000], line[2000];
  for (auto& [function, place] : out)
    if (std::fgets(signature, sizeof(signature), lines) && std::fgets(line, sizeof(line), lines)) place = {signature, line};
  pclose(lines);
  return out;
}

/// Does a call of plain operands enter `perform`?
template <class F>
bool performs(char const* program, char const* what, F const& f) {
  count = 0, counts = true;
  f();
  counts = false;
  bool found = false;
  for (auto const& [function, place] : functions_of(program))
    if (place.first.empty())
      found = true, std::printf("%s: addr2line says nothing of %p\n", what, function);
    else if (plain_name(place.first).ends_with("sla::perform")) found = true, std::printf("%s enters %s at %s", what, place.first.c_str(), place.second.c_str());
  return found;
}
bool some_perform(char const* program) {
  using namespace sla;
  auto const A = problems::poisson<double>({4, 4});
  auto const x = ones<double>(A.rows());
  vector<double> y = x;
  double number = 0;
  auto const none = [&](char const* what, auto const& f) { return performs(program, what, f); };
  bool const found[] = {
      none("A^T x", [&] { y = transpose(A) * x + adjoint(A) * x + conj(A) * x; }),
      none("B = A^T", [&] { sparse_tensor<double> const B = transpose(A); number += double(B.nnz()); }),
      none("an algebra", [&] { number += double((2.0 * A + A * A).nnz() + kron(A, A).nnz() + masked(A, A).nnz() + scale_rows(A, x).nnz() + with_values(A, 2.0 * values(A)).nnz() + abs(A).nnz()); }),
      none("a triangle", [&] { number += double(tril(A).nnz() + triu(A, 1).nnz()) + trace(A); }),
      none("rows", [&] { number += double(rows(A, 0, 3).nnz() + select(A, {0, 1}, {1, 2}).nnz()) + diagonal_of(A)[0]; }),
      none("permuted(x, p)", [&] { y = permuted(x, {15, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0}); }),
      none("numbers", [&] { number += norm(A) + sum(A) + norm1(A) + norm(A.values()) + norm(transpose(A)) + dot(x, y) + norm(x) + max(x); }),
      none("functions", [&] { y = abs(x) + pow(x, 2.0) + maximum(x, y) + where(x < y, x, y) + conj(x) + apply([](double t) { return 2 * t; }, x); }),
      none("eliminate(A, b, fixed, values)", [&] { y = eliminate(A, x, {0, 3}, 1.0).second; }),
  };
  return std::find(std::begin(found), std::end(found), true) != std::end(found);
}
} // namespace

int main(int, char** argv) {
  auto const A = sla::problems::poisson<double>({4, 4});
  auto const b = sla::ones<double>(A.rows());
  sla::cg const method;
  counts = true;
  auto const x = sla::solve(A, b, method, sla::jacobi{});
  counts = false;

  auto const places = functions_of(argv[0]);
  std::set<std::string> functions, files;
  std::vector<std::string> above;  // the files of the functions that are running, by their depth
  bool arrived = false, comes_back = false;
  for (int n = 0; n < count; ++n) {
    auto const& [signature, where] = places.at(entered[n].function);
    std::string const name = plain_name(signature);
    auto const at = where.find("include/sla/solve/");
    auto const colons = name.rfind("::");
    std::string const last = name.substr(colons + 2), before = name.substr(0, colons);
    above.resize(std::size_t(entered[n].depth - entered[0].depth));
    bool const begins_or_ends = last.starts_with("~") || before.ends_with("::" + last);
    if (arrived || at == std::string::npos || begins_or_ends || signature.find("lambda") != std::string::npos) {
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
  std::printf("%zu functions in %zu files before the method\n", functions.size(), files.size());
  if (!arrived) std::puts("the method was not found: addr2line, of binutils, is wanted");
  if (comes_back) std::puts("a file is left and read again");
  bool const plain_calls_perform = some_perform(argv[0]);
  return arrived && !comes_back && !plain_calls_perform && functions.size() <= 20 && files.size() <= 6 && sla::norm(b - A * x) <= 1e-6 ? 0 : 1;
}

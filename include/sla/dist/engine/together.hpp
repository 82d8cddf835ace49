// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `together(c, f)`: what each rank does by itself and may refuse, so that the error of one is the error of all.
// How engines fail is in dist/engine/capabilities.hpp.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sla/dist/engine/typed_collectives.hpp>

namespace sla::detail {

/// f() on every rank; if it throws on one, all throw: that rank its error, the others its words, which name it.
template <class F>
auto together(any_communicator& c, F const& f) {
  using Result = decltype(f());
  std::optional<Result> result;
  std::exception_ptr mine;
  std::vector<char> words;
  try {
    result.emplace(f());
  } catch (error const& e) {
    mine = std::current_exception();
    std::string const what = e.what();
    words.assign(what.begin(), what.end());
  }
  std::int64_t const bad = all_reduce(c, mine ? std::int64_t(c.rank()) : std::int64_t(c.size()), monoid::minimum);
  if (bad < c.size()) {
    broadcast(c, words, int(bad));
    if (mine && bad == c.rank()) std::rethrow_exception(mine);
    std::string const told(words.begin(), words.end());
    throw value_error(failure_of(int(bad), told, rank_named_by(told) >= 0));
  }
  return std::move(*result);
}

} // namespace sla::detail

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `checkpoint_stack<State>`: the states of a process, latest first, of which a stated number is stored at once, and the others are computed
// again from those: in as few steps as there can be, by binomial checkpointing.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include <sla/core/error.hpp>
#include <sla/core/shape.hpp>

namespace sla {

namespace detail {
/// (stored + repeats) over stored: how many states, at most, are given back by so many that are stored if each step is done `repeats` times at most.
inline double reach_of_checkpoints(index_t stored, index_t repeats) {
  if (stored < 0 || repeats < 0) return 0;
  double reach = 1;
  for (index_t k = 1; k <= (std::min)(stored, repeats); ++k) reach = reach * double((std::max)(stored, repeats) + k) / double(k);
  return reach;
}
/// The least `repeats` by which so many states are within reach.
inline index_t repeats_for(index_t states, index_t stored) {
  index_t repeats = 0;
  while (reach_of_checkpoints(stored, repeats) < double(states)) ++repeats;
  return repeats;
}
/// The least number that is stored by which each step is done `repeats` times at most.
inline index_t stored_for(index_t states, index_t repeats) {
  index_t stored = 1;
  while (reach_of_checkpoints(stored, repeats) < double(states)) ++stored;
  return stored;
}
} // namespace detail

/// How many steps there are in all, the first pass over them counted, where the states 0 ... states - 1 are asked for from the last on, and `stored` are held at most.
/// Source: Griewank and Walther, Algorithm 799: revolve (TOMS 2000), equation 3.
inline double checkpointed_steps(index_t states, index_t stored) {
  index_t const repeats = detail::repeats_for(states, stored);
  return double(repeats) * double(states) - detail::reach_of_checkpoints(stored + 1, repeats - 1);
}

/// States of a process, asked for from the latest to the first, of which `capacity` are stored, the first one included:
///     checkpoint_stack<State> kept(8, first);
///     for (index_t n = last; n >= 0; --n) use(kept.at(n, [&](index_t k, State const& s) { return next(k, s); }));   // next: the state k + 1 from the k-th
/// Law: n falls from call to call; what comes first stores on its way. Cost: checkpointed_steps(last + 1, capacity) steps, which is the least there can be.
/// Source: Griewank and Walther, Algorithm 799: revolve (TOMS 2000).
template <class State>
class checkpoint_stack {
public:
  checkpoint_stack(index_t capacity, State first) : capacity_(capacity) {
    if (capacity < 1) throw value_error(text("checkpoint_stack(", capacity, ", first): at least the first state is stored"));
    stored_.emplace_back(0, std::move(first));
  }
  /// The n-th state.
  template <class Advance>
  State at(index_t n, Advance const& advance) {
    while (stored_.back().first > n) stored_.pop_back();
    index_t k = stored_.back().first;
    State state = stored_.back().second;
    while (k < n) {
      for (index_t const stop = next_stop(k, n); k < stop; ++k, ++steps_) state = advance(k, state);
      if (k < n) {
        stored_.emplace_back(k, state);
        most_ = (std::max)(most_, index_t(stored_.size()));
      }
    }
    return state;
  }
  /// What was stored at once, at most.
  index_t most_stored() const { return most_; }
  /// All calls of advance.
  index_t steps() const { return steps_; }

private:
  /// Where to store next on the way from k, which is stored, to n; n itself is not.
  index_t next_stop(index_t k, index_t n) const {
    index_t const states = n + 1 - k, stored = capacity_ - index_t(stored_.size()) + 1;
    if (stored < 2 || states < 3) return n;
    index_t const repeats = detail::repeats_for(states, stored);
    double const left = (std::max)(detail::reach_of_checkpoints(stored, repeats - 2), double(states) - detail::reach_of_checkpoints(stored - 1, repeats));
    return (std::min)(n, k + (std::max)(index_t(1), index_t(left)));
  }

  index_t capacity_, most_ = 1, steps_ = 0;
  std::vector<std::pair<index_t, State>> stored_;
};

} // namespace sla

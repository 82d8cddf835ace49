// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tape: one entry per operation on whole tensors, each with its value, its cotangent and its pullback, typed. It owns
// what pullbacks read. Users see traced values (grad/tape/traced.hpp) and value_and_gradient (grad/call/gradient.hpp).
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <tuple>
#include <typeinfo>
#include <unordered_map>
#include <vector>

#include <sla/core/held.hpp>
#include <sla/grad/tape/cotangent.hpp>

namespace sla {

namespace detail {
/// What the sweep knows of an entry.
struct tape_entry {
  tape_entry() = default;
  tape_entry(tape_entry const&) = delete;
  tape_entry& operator=(tape_entry const&) = delete;
  virtual ~tape_entry() = default;
  virtual void pullback() {}
};
} // namespace detail

/// A value on a tape, and the sum of the contributions to its cotangent.
template <class V>
class tape_variable : public detail::tape_entry {
public:
  using value_type = V;

  V const& value() const { return *value_; }
  template <class X>
  void add(X const& contribution) {
    cotangent_space<V>::add(cotangent_, *value_, contribution);
  }
  /// Does anything depend on the value, as far as the sweep has come?
  bool has_cotangent() const { return cotangent_.has_value(); }
  /// The cotangent after the sweep; zero if nothing depends on the value.
  cotangent_type_t<V> take_cotangent() {
    return cotangent_ ? std::move(*cotangent_) : cotangent_space<V>::zero(*value_);
  }

protected:
  explicit tape_variable(V const* value) : value_(value) {}
  V const* value_;
  std::optional<cotangent_type_t<V>> cotangent_;
};

namespace detail {
template <class V>
struct input_variable : tape_variable<V> {
  explicit input_variable(V const& value) : tape_variable<V>(&value) {}
};

/// A result of an operation, which the tape owns.
template <class V>
class result_variable : public tape_variable<V> {
public:
  explicit result_variable(V value) : tape_variable<V>(nullptr), own_(std::move(value)) { this->value_ = &own_; }

private:
  V own_;
};
/// An operation and its result. `pullback(y, g)` adds to the cotangents of the operands.
template <class V, class Pullback>
class operation : public result_variable<V> {
public:
  operation(V value, Pullback pullback) : result_variable<V>(std::move(value)), pullback_(std::move(pullback)) {}
  void pullback() override {
    if (this->cotangent_) pullback_(this->value(), std::as_const(*this->cotangent_));
  }

private:
  Pullback pullback_;
};
/// An operation with several results, and one pullback of all: y and g are tuples, g with zero for what nothing depends on.
template <class Pullback, class... V>
class joint_operation : public tape_entry {
public:
  joint_operation(std::tuple<V...>&& values, Pullback pullback)
      : results_(std::apply([](V&... v) { return std::tuple<std::unique_ptr<result_variable<V>>...>(std::make_unique<result_variable<V>>(std::move(v))...); }, values)),
        pullback_(std::move(pullback)) {}
  std::tuple<tape_variable<V>&...> results() {
    return std::apply([](auto&... r) { return std::tuple<tape_variable<V>&...>(*r...); }, results_);
  }
  void pullback() override {
    std::apply(
        [&](auto&... r) {
          if (!(r->has_cotangent() || ...)) return;
          std::tuple<cotangent_type_t<V>...> const g(r->take_cotangent()...);
          pullback_(std::tuple<V const&...>(r->value()...), g);
        },
        results_);
  }

private:
  std::tuple<std::unique_ptr<result_variable<V>>...> results_;
  Pullback pullback_;
};

template <class T, class Memory>
bool same_elements(buffer<T, Memory> const& a, buffer<T, Memory> const& b) {
  if constexpr (Memory::is_host)
    return a.size() == b.size() && (a.size() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0);
  else
    return false;
}
template <class T, class E, class Memory>
bool same_contents(tensor<T, E, Memory> const& a, tensor<T, E, Memory> const& b) {
  return a.extents() == b.extents() && same_elements(a.values(), b.values());
}
template <class T, class S, class F, class Memory>
bool same_contents(sparse_tensor<T, S, F, Memory> const& a, sparse_tensor<T, S, F, Memory> const& b) {
  return a.shape() == b.shape() && same_elements(a.values(), b.values()) &&
         (a.shared_pattern() == b.shared_pattern() || same_slots(a.pattern(), b.pattern()));
}
} // namespace detail

/// The record of operations on whole tensors, for the reverse sweep. `gradient` and `value_and_gradient` make their own.
class tape {
public:
  /// What traced values of this home refer to, and how they hold it: the tape owns it.
  template <class V>
  using variable_type = tape_variable<V>;
  template <class V>
  using handle_type = std::reference_wrapper<tape_variable<V>>;

  tape() = default;
  tape(tape const&) = delete;
  tape& operator=(tape const&) = delete;

  /// A value to differentiate with respect to; it is viewed, and must outlive the tape.
  template <class V>
  tape_variable<V>& input(V const& value) {
    auto entry = std::make_unique<detail::input_variable<V>>(value);
    auto& result = *entry;
    inputs_.push_back(std::move(entry));
    return result;
  }
  /// The result of an operation; `pullback(y, g)` is called once in the sweep, if anything depends on y. What it reads it owns:
  /// other variables by reference, plain values through `keep`.
  template <class V, class Pullback>
  tape_variable<V>& record(V value, Pullback pullback) {
    auto entry = std::make_unique<detail::operation<V, Pullback>>(std::move(value), std::move(pullback));
    auto& result = *entry;
    operations_.push_back(std::move(entry));
    return result;
  }
  /// The results of an operation that has several; `pullback(y, g)` gets tuples of values and of cotangents, zero where nothing depends
  /// on a result, and is called once if anything depends on any.
  template <class... V, class Pullback>
  std::tuple<tape_variable<V>&...> record(std::tuple<V...> values, Pullback pullback) {
    auto entry = std::make_unique<detail::joint_operation<Pullback, V...>>(std::move(values), std::move(pullback));
    auto results = entry->results();
    operations_.push_back(std::move(entry));
    return results;
  }

  /// A copy of a plain operand that a pullback will read: the original may be gone, or changed, by then. An operand that
  /// comes again unchanged is copied once, but of what lies on ranks.
  template <class V>
  std::shared_ptr<V const> keep(V const& value) {
    if constexpr (requires { value.values(); })
      return keep_as(value, [&] { return detail::shared_of<V const>(value); });
    else
      return detail::shared_of<V const>(value);
  }
  /// The same for a value that borrows; `copy()` owns.
  template <class V, class Copy>
  std::shared_ptr<V const> keep_as(V const& value, Copy const& copy) {
    kept& known = kept_[value.values().data()];
    if (known.type && *known.type == typeid(V))
      if (auto old = std::static_pointer_cast<V const>(known.value); detail::same_contents(*old, value)) return old;
    std::shared_ptr<V const> fresh = copy();
    known = {&typeid(V), fresh};
    return fresh;
  }

  /// Pulls all operations back, latest first; each is released when it is done. Errors: value_error, if one records another.
  template <class = void>
  void sweep() {
    for (std::size_t n = operations_.size(); n > 0; operations_.resize(--n)) {
      operations_.back()->pullback();
      if (operations_.size() != n)
        throw value_error("a derivative: a rule, or the residual of an equation, computes with a traced value that it has caught from outside: hand it over as a parameter of implicit(...), or take its value()");
    }
  }
  /// Operations recorded and not yet pulled back.
  std::size_t operations() const { return operations_.size(); }

private:
  struct kept {
    std::type_info const* type = nullptr;
    std::shared_ptr<void const> value;
  };
  std::vector<std::unique_ptr<detail::tape_entry>> inputs_, operations_;
  std::unordered_map<void const*, kept> kept_;
};

} // namespace sla

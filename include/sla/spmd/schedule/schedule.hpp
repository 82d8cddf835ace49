// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Schedules: the steps of a program along the axes of its mesh, in order, as values: what is sent, how much, and by which
// steps gradients go back. What records them is in spmd/schedule/outline.hpp, of the solvers in dist/solve/recording.hpp.
#pragma once
#include <concepts>
#include <cstdint>

#include <sla/core/meta.hpp>
#include <sla/spmd/refusal/words.hpp>
#include <sla/spmd/step/transition.hpp>

namespace sla {

/// A number of bytes that is a line in the run-time size n of a local part: fixed + slope n. n is the product of the extents
/// that the type leaves open; of a halo it is the number of ghosts.
struct linear_bytes {
  std::int64_t fixed = 0, slope = 0;
  constexpr std::int64_t at(std::int64_t n) const { return fixed + slope * n; }
  constexpr linear_bytes& operator+=(linear_bytes other) {
    fixed += other.fixed;
    slope += other.slope;
    return *this;
  }
  constexpr bool operator==(linear_bytes const&) const = default;
};

/// What a rank hands in, and what it gets.
struct carried_bytes {
  linear_bytes bytes{}, result{};
  constexpr bool operator==(carried_bytes const&) const = default;
};

/// One step of a schedule, on one axis of the mesh or on several as one.
struct scheduled_step : carried_bytes {
  static constexpr int at_once = 0, never = -1;

  transition what{};
  std::int8_t axis = -1;        ///< the outermost one
  std::int8_t further = 0;      ///< how many axes act with it
  fixed_array<std::int8_t, max_mesh_axes> inner{};  ///< these, from the outside to the inside; of permute_shards all in the order of the mesh
  std::int16_t values = 1;      ///< how many values travel together
  std::int16_t after = 0;       ///< the operand is known once so many steps of the schedule are done
  std::int16_t awaited = at_once;  ///< of a step under way: how many steps of the schedule had begun when it was waited for
  bool scalar = false;          ///< numbers, not tensors
  bool other_way_back = false;  ///< gradients travel in other numbers: in `back`
  carried_bytes back{};

  constexpr scheduled_step() = default;
  constexpr explicit scheduled_step(transition t, int a = -1) : what(t), axis(static_cast<std::int8_t>(a)) {}

  constexpr step how() const { return what.how; }
  constexpr bool operator==(scheduled_step const&) const = default;
  constexpr void act_with(int a) { inner[further++] = static_cast<std::int8_t>(a); }
  /// Does it act along this axis, alone or with others?
  constexpr bool is_along(int a) const {
    bool among = a == axis;
    for (int n = 0; n < further; ++n) among = among || a == inner[n];
    return among;
  }
  constexpr bool is_differentiable() const {
    return dual(what.from).kind != placement_kind::untyped && dual(what.to).kind != placement_kind::untyped;
  }
  /// The step that carries a gradient back.
  template <class = void>
  constexpr scheduled_step adjoint() const {
    scheduled_step out = *this;
    out.what = adjoint_of(what);
    carried_bytes const forward{bytes, result};
    static_cast<carried_bytes&>(out) = other_way_back ? back : carried_bytes{result, bytes};
    out.back = other_way_back ? forward : carried_bytes{};
    out.after = 0;
    return out;
  }
};

/// The steps of a program in order, those without communication too, since their adjoints may communicate.
template <int Capacity>
class scheduled_steps {
public:
  constexpr int size() const { return size_; }
  constexpr scheduled_step const& operator[](int n) const { return steps_[n]; }
  constexpr scheduled_step const* begin() const { return steps_.data; }
  constexpr scheduled_step const* end() const { return steps_.data + size_; }
  constexpr bool operator==(scheduled_steps const& other) const {
    bool same = size_ == other.size_;
    for (int n = 0; same && n < size_; ++n) same = steps_[n] == other.steps_[n];
    return same;
  }

  /// Errors: more steps than Capacity; a constant expression ends here then.
  constexpr void add(scheduled_step s) {
    if (size_ == Capacity) throw "sla: a schedule has more steps than its list holds";
    steps_[size_++] = s;
  }

  /// The last step goes on while others begin; step n, which does, is waited for now.
  constexpr void leave_under_way() { steps_[size_ - 1].awaited = scheduled_step::never; }
  constexpr void await(int n) { steps_[n].awaited = static_cast<std::int16_t>(size_); }

  /// How many steps of this kind there are, on all axes or along one.
  constexpr int count(step how, int axis = -1) const {
    int n = 0;
    for (auto const& s : *this) n += s.how() == how && (axis < 0 || s.is_along(axis));
    return n;
  }
  /// How many steps communicate, on all axes or along one.
  constexpr int collectives(int axis = -1) const {
    int n = 0;
    for (auto const& s : *this) n += !is_free(s.how()) && (axis < 0 || s.is_along(axis));
    return n;
  }
  /// Is a communicator of this axis needed, or of these as one, forward or backward?
  template <std::same_as<int>... Axis>
  constexpr bool needs(Axis... axes) const {
    auto const uses = [&](scheduled_steps const& all) {
      bool any = false;
      for (auto const& s : all) {
        bool same = !is_free(s.how()) && s.further + 1 == int(sizeof...(Axis));
        int n = 0;
        ((same = same && (n == 0 ? s.axis : s.inner[n - 1]) == axes, ++n), ...);
        any = any || same;
      }
      return any;
    };
    return uses(*this) || uses(backward());
  }
  /// What a rank hands in, all together, and the largest message, where open extents have the size n.
  constexpr std::int64_t bytes(std::int64_t n = 0) const {
    std::int64_t sum = 0;
    for (auto const& s : *this) sum += !is_free(s.how()) ? s.bytes.at(n) : 0;
    return sum;
  }
  constexpr std::int64_t peak(std::int64_t n = 0) const {
    std::int64_t most = 0;
    for (auto const& s : *this)
      if (!is_free(s.how()) && s.bytes.at(n) > most) most = s.bytes.at(n);
    return most;
  }

  /// Can gradients go back through every step? Only sums have duals.
  constexpr bool is_differentiable() const {
    for (auto const& s : *this)
      if (!s.is_differentiable()) return false;
    return true;
  }
  /// The steps of the reverse sweep: the adjoints in reverse order; of a step without one there is none. What was under way is
  /// so again: its adjoint begins where it was waited for, and is waited for where it began.
  constexpr scheduled_steps backward() const {
    scheduled_steps out;
    fixed_array<int, Capacity> begun{};
    for (int done = size_; done >= 0; --done) {
      for (int n = done; n-- > 0;)  // waited for when so many had begun
        if (steps_[n].awaited == done && steps_[n].is_differentiable()) {
          begun[n] = out.size_;
          out.add(steps_[n].adjoint());
          out.steps_[begun[n]].awaited = scheduled_step::never;
        }
      if (done == 0 || !steps_[done - 1].is_differentiable()) continue;
      if (steps_[done - 1].awaited == scheduled_step::at_once)
        out.add(steps_[done - 1].adjoint());
      else if (steps_[done - 1].awaited != scheduled_step::never)
        out.await(begun[done - 1]);
    }
    return out;
  }
  /// Steps [first, last); what was done before is known.
  constexpr scheduled_steps slice(int first, int last) const {
    scheduled_steps out;
    for (int n = first; n < last; ++n) {
      auto s = steps_[n];
      s.after = static_cast<std::int16_t>(s.after > first ? s.after - first : 0);
      if (s.awaited > 0) s.awaited = static_cast<std::int16_t>(s.awaited - first);
      out.add(s);
    }
    return out;
  }
  /// The same with reductions of numbers joined that follow each other on one axis and do not wait for each other.
  /// Law: the values are those of the schedule; a joined step waits for what all its parts wait for.
  constexpr scheduled_steps merged() const {
    scheduled_steps out;
    int first = 0;  // of the steps that the last of `out` stands for
    for (int n = 0; n < size_; ++n) {
      auto const& s = steps_[n];
      if (out.size_ > 0) {
        auto& last = out.steps_[out.size_ - 1];
        bool const alike = last.what == s.what && last.axis == s.axis && last.inner == s.inner && last.further == s.further && last.scalar && s.scalar && s.how() == step::all_reduce;
        if (alike && s.after <= first) {
          last.values = static_cast<std::int16_t>(last.values + s.values);
          last.bytes += s.bytes;
          last.result += s.result;
          continue;
        }
      }
      first = n;
      out.add(s);
    }
    return out;
  }

private:
  int size_ = 0;
  fixed_array<scheduled_step, Capacity> steps_{};
};

/// A recorded program: its steps, and where it asked whether to go on (a condition, or the stop test of a solver).
struct recorded_schedule : scheduled_steps<64> {
  static constexpr int max_answers = 8;
  int answered = 0;
  fixed_array<int, max_answers> at{};  ///< steps before the n-th answer

  /// What lies between two answers: one pass of the loop, the first one by default.
  template <class = void>
  constexpr scheduled_steps<64> iteration(int n = 0) const {
    if (n + 1 >= answered) throw "sla: the program did not ask so often whether to go on";
    return slice(at[n], at[n + 1]);
  }
};

/// `static_assert(count_steps<step::all_reduce>(schedule<f, X, Y>) == 2)`
template <step How, int Capacity>
constexpr int count_steps(scheduled_steps<Capacity> const& s) {
  return s.count(How);
}

/// A schedule as text, a line per step that communicates: `all_reduce<"rows"> 16 bytes, 2 values`, `all_gather<flat<"dp", "tp">>
/// 64 bytes, under way`.
template <class Mesh, int Capacity>
constexpr auto explain(scheduled_steps<Capacity> const& schedule) {
  fixed_text<2000> out;
  for (auto const& s : schedule) {
    if (is_free(s.how())) continue;
    out << name_of(s.how()) << (s.further ? s.how() == step::permute_shards ? "<" : "<flat<" : "<") << "\"" << Mesh::name(s.axis) << "\"";
    for (int n = 0; n < s.further; ++n) out << ", \"" << Mesh::name(s.inner[n]) << "\"";
    out << (s.further && s.how() != step::permute_shards ? ">> " : "> ");
    if (s.bytes.fixed || !s.bytes.slope) out << s.bytes.fixed;
    if (s.bytes.fixed && s.bytes.slope) out << " + ";
    if (s.bytes.slope) out << s.bytes.slope << " n";
    out << " bytes";
    if (s.values > 1) out << ", " << int{s.values} << " values";
    if (s.awaited != scheduled_step::at_once) out << ", under way";
    out << "\n";
  }
  return out;
}

/// Writes down what a program does. Conditions are true for the first `yes` times that one is asked.
class recorder {
public:
  constexpr explicit recorder(int yes = 0) : yes_(yes) {}
  constexpr recorded_schedule const& steps() const { return steps_; }
  constexpr int size() const { return steps_.size(); }
  constexpr void add(scheduled_step s) { steps_.add(s); }
  constexpr void leave_under_way() { steps_.leave_under_way(); }
  constexpr void await(int n) { steps_.await(n); }
  constexpr bool answer() {
    if (steps_.answered < recorded_schedule::max_answers) steps_.at[steps_.answered++] = size();
    return yes_-- > 0;
  }

private:
  recorded_schedule steps_{};
  int yes_;
};

} // namespace sla

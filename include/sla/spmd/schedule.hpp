// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Schedules: the steps of a program along the axes of its mesh, in order, as values: what is sent, how much, and by which
// steps gradients go back. What records them is in spmd/outline.hpp, of the solvers in dist/recording.hpp.
#pragma once
#include <cstdint>

#include <sla/core/meta.hpp>
#include <sla/spmd/transition.hpp>
#include <sla/spmd/words.hpp>

namespace sla {

/// A number of bytes that is a line in the run-time size n of a local part: fixed + slope n. n is the product of the extents
/// that the type leaves open; of a halo it is the number of ghosts.
struct byte_line {
  std::int64_t fixed = 0, slope = 0;
  constexpr std::int64_t at(std::int64_t n) const { return fixed + slope * n; }
  constexpr byte_line& operator+=(byte_line other) {
    fixed += other.fixed;
    slope += other.slope;
    return *this;
  }
  constexpr bool operator==(byte_line const&) const = default;
};

/// One step of a schedule, on one axis of the mesh.
struct scheduled_step {
  transition what{};
  std::int8_t axis = -1;
  std::int16_t values = 1;  ///< how many values travel together
  std::int16_t after = 0;   ///< the operand is known once so many steps of the schedule are done
  byte_line bytes{}, result{};  ///< what a rank hands in, and what it gets
  bool scalar = false;          ///< numbers, not tensors

  constexpr step how() const { return what.how; }
  constexpr bool operator==(scheduled_step const&) const = default;
  /// The step that carries a gradient back.
  constexpr scheduled_step adjoint() const {
    scheduled_step back = *this;
    back.what = adjoint_of(what);
    back.bytes = result;
    back.result = bytes;
    back.after = 0;
    return back;
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

  /// How many steps of this kind there are, on all axes or on one.
  constexpr int count(step how, int axis = -1) const {
    int n = 0;
    for (auto const& s : *this) n += s.how() == how && (axis < 0 || s.axis == axis);
    return n;
  }
  /// How many steps communicate, on all axes or on one.
  constexpr int collectives(int axis = -1) const {
    int n = 0;
    for (auto const& s : *this) n += !is_free(s.how()) && (axis < 0 || s.axis == axis);
    return n;
  }
  /// Is a communicator of this axis needed, forward or backward?
  constexpr bool needs(int axis) const { return collectives(axis) + backward().collectives(axis) > 0; }
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
      if (dual(s.what.from).kind == placement_kind::untyped || dual(s.what.to).kind == placement_kind::untyped) return false;
    return true;
  }
  /// The steps of the reverse sweep: the adjoints in reverse order; of a step without one there is none.
  constexpr scheduled_steps backward() const {
    scheduled_steps out;
    for (int n = size_; n-- > 0;)
      if (dual(steps_[n].what.from).kind != placement_kind::untyped && dual(steps_[n].what.to).kind != placement_kind::untyped)
        out.add(steps_[n].adjoint());
    return out;
  }
  /// Steps [first, last); what was done before is known.
  constexpr scheduled_steps slice(int first, int last) const {
    scheduled_steps out;
    for (int n = first; n < last; ++n) {
      auto s = steps_[n];
      s.after = static_cast<std::int16_t>(s.after > first ? s.after - first : 0);
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
        bool const alike = last.what == s.what && last.axis == s.axis && last.scalar && s.scalar && s.how() == step::all_reduce;
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
  constexpr scheduled_steps<64> iteration(int n = 0) const {
    if (n + 1 >= answered) throw "sla: the program did not ask so often whether to go on";
    return slice(at[n], at[n + 1]);
  }
};

/// `static_assert(count<step::all_reduce>(schedule<f, X, Y>) == 2)`
template <step How, int Capacity>
constexpr int count(scheduled_steps<Capacity> const& s) {
  return s.count(How);
}

/// A schedule as text, a line per step that communicates: `all_reduce<"rows"> 16 bytes, 2 values`.
template <class Mesh, int Capacity>
constexpr auto explain(scheduled_steps<Capacity> const& schedule) {
  fixed_text<2000> out;
  for (auto const& s : schedule) {
    if (is_free(s.how())) continue;
    out << name_of(s.how()) << "<\"" << Mesh::name(s.axis) << "\"> ";
    if (s.bytes.fixed || !s.bytes.slope) out << s.bytes.fixed;
    if (s.bytes.fixed && s.bytes.slope) out << " + ";
    if (s.bytes.slope) out << s.bytes.slope << " n";
    out << " bytes";
    if (s.values > 1) out << ", " << int{s.values} << " values";
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
  constexpr bool answer() {
    if (steps_.answered < recorded_schedule::max_answers) steps_.at[steps_.answered++] = size();
    return yes_-- > 0;
  }

 private:
  recorded_schedule steps_{};
  int yes_;
};

}  // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the examples end with: a line per check against an independent answer, and the exit status of the program.
#pragma once

#include <iostream>

class checks {
public:
  /// Prints what was compared and how far apart it is. A NaN does not pass.
  void at_most(char const* what, double difference, double tolerance) {
    bool const right = difference <= tolerance;
    std::cout << (right ? "right: " : "WRONG: ") << what << ": " << difference << " (at most " << tolerance << ")\n";
    all_right_ = all_right_ && right;
  }
  int exit_status() const { return all_right_ ? 0 : 1; }

private:
  bool all_right_ = true;
};

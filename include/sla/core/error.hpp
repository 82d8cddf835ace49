// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the library throws. Every message names the value, the place and the remedy.
// Failed solves are in solve/report.hpp, failing ranks in dist/communicator.hpp.
#pragma once

#include <cstddef>
#include <sstream>
#include <stdexcept>
#include <string>

namespace sla {

/// The base of everything that `sla` throws.
class error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Sizes that do not fit together: lengths, extents, an index type too narrow.
class shape_error : public error {
 public:
  using error::error;
};

/// An index outside of its range.
class index_error : public error {
 public:
  using error::error;
};

/// A value that cannot be used: NaN or infinity where numbers are needed, a zero on a diagonal.
class value_error : public error {
 public:
  using error::error;
};

/// A file or stream that cannot be read or written; the message begins with `name:line:column:`.
class io_error : public error {
 public:
  io_error(std::string const& name, std::size_t line, std::size_t column, std::string const& what)
      : error(name + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " + what),
        line_(line),
        column_(column) {}
  std::size_t line() const { return line_; }
  std::size_t column() const { return column_; }

 private:
  std::size_t line_, column_;
};

/// A capability that this machine or build does not have: a GPU, a package, a communication primitive.
class unavailable_error : public error {
 public:
  using error::error;
};

/// The parts, printed one after the other: `text("row ", i, " of ", n)`.
template <class... Parts>
std::string text(Parts const&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

}  // namespace sla

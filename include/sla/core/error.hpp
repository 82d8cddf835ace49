// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the library throws. Every message names the value, the place and the remedy.
// Failed solves are in solve/seam/report.hpp, failing ranks in dist/engine/communicator.hpp.
#pragma once

#include <cstddef>
#include <cstdio>
#include <initializer_list>
#include <new>
#include <ostream>
#include <stdexcept>
#include <streambuf>
#include <string>
#include <type_traits>

namespace sla {

/// The base of everything that `sla` throws, but for memory_error.
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
      : error(placed(name, line, column, what)),
        line_(line),
        column_(column) {}
  std::size_t line() const { return line_; }
  std::size_t column() const { return column_; }

private:
  static std::string placed(std::string out, std::size_t line, std::size_t column, std::string const& what) {
    for (std::size_t n : {line, column}) out += ':', out += std::to_string(n);
    return out += ": ", out += what, out;
  }
  std::size_t line_, column_;
};

/// A capability that this machine or build does not have: a GPU, a package, a communication primitive.
class unavailable_error : public error {
public:
  using error::error;
};

/// The system has no room for so many bytes more. What catches the standard's error catches it.
class memory_error : public std::bad_alloc {
public:
  memory_error(std::size_t bytes, std::size_t in_use) noexcept {
    std::snprintf(what_, sizeof what_, "out of memory: no room for %zu bytes (%.3g GB) more; tensors hold %.3g GB now", bytes, double(bytes) / 1e9,
                  double(in_use) / 1e9);
  }
  char const* what() const noexcept override { return what_; }

private:
  char what_[128];
};

namespace detail {
/// One part of a text, and how it is printed: by its type alone, so that texts of many parts cost no code of their own.
struct text_part {
  void const* value;
  void (*print)(std::ostream&, void const*);
};
template <class T>
text_part printed_part(T const& value) {
  return {&value, [](std::ostream& out, void const* v) {
            if constexpr (std::is_same_v<T, signed char> || std::is_same_v<T, unsigned char>)
              out << int(*static_cast<T const*>(v));  // an index of eight bits
            else
              out << *static_cast<T const*>(v);
          }};
}
inline text_part printed_part(char const* literal) {
  return {literal, [](std::ostream& out, void const* v) { out << static_cast<char const*>(v); }};
}
/// Appends to a text what is printed; <sstream> would be dear for every header that throws.
class text_buffer : public std::streambuf {
public:
  explicit text_buffer(std::string& text) : text_(text) {}

protected:
  int_type overflow(int_type c) override {
    if (!traits_type::eq_int_type(c, traits_type::eof())) text_ += traits_type::to_char_type(c);
    return traits_type::not_eof(c);
  }
  std::streamsize xsputn(char const* s, std::streamsize n) override {
    return text_.append(s, static_cast<std::size_t>(n)), n;
  }

private:
  std::string& text_;
};
template <class = void>
std::string printed(std::initializer_list<text_part> parts) {
  std::string all;
  text_buffer buffer(all);
  std::ostream out(&buffer);
  out.imbue(std::locale::classic());  // a program's own would put separators into numbers, of files too
  for (text_part const& p : parts) p.print(out, p.value);
  return all;
}
} // namespace detail

/// The parts, printed one after the other: `text("row ", i, " of ", n)`.
template <class... Parts>
std::string text(Parts const&... parts) {
  return detail::printed({detail::printed_part(parts)...});
}

namespace detail {
/// Adds a remark to those that are there.
template <class... Parts>
void add_remark(std::string& remarks, Parts const&... parts) {
  remarks += text(remarks.empty() ? "" : "; ", parts...);
}
} // namespace detail

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A text file read line by line in large pieces, with numbers parsed in place; errors know the line and the column.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <sla/core/error.hpp>
#include <sla/core/shape.hpp>

namespace sla::detail {

template <class Stream>
class text_lines {
public:
  text_lines(Stream& in, std::string name) : in_(in), name_(std::move(name)), buffer_(std::size_t(1) << 12) {}

  /// On to the next line; false at the end of the file, which is then a place of its own.
  bool next() {
    ++line_;
    begin_ = at_ = last_ = next_;
    for (std::size_t searched = 0;;) {
      char* const from = buffer_.data() + next_ + searched;
      if (void* newline = std::memchr(from, '\n', filled_ - next_ - searched)) {
        last_ = std::size_t(static_cast<char*>(newline) - buffer_.data());
        next_ = last_ + 1;
        break;
      }
      searched = filled_ - next_;
      if (!refill()) {
        if (filled_ == next_) {
          ended_ = true;
          return false;
        }
        last_ = next_ = filled_;
        break;
      }
    }
    if (last_ > begin_ && buffer_[last_ - 1] == '\r') --last_;
    return true;
  }
  /// The next line with data on it: neither blank nor a comment that begins with `mark`.
  bool next_data(char mark) {
    while (next())
      if (!at_end() && buffer_[at_] != mark) return true;
    return false;
  }

  /// Fails if the line begins as gzipped files do; `remedy` reads those.
  void refuse_gzipped(char const* remedy) const {
    if (last_ - at_ >= 2 && buffer_[at_] == '\x1f' && buffer_[at_ + 1] == '\x8b')
      throw io_error(name_, line_, 1, text("expected text, found a gzipped file; it is read by ", remedy));
  }

  /// Where this line, and the next one, begin in the stream, counted from where it was when reading began.
  std::uint64_t begins_at() const { return dropped_ + begin_; }
  std::uint64_t next_begins_at() const { return dropped_ + next_; }

  /// Nothing but blanks is left on the line.
  bool at_end() {
    while (at_ < last_ && (buffer_[at_] == ' ' || buffer_[at_] == '\t')) ++at_;
    return at_ == last_;
  }
  std::string_view word() {
    auto const token = peek();
    word_ = at_;
    at_ += token.size();
    return token;
  }
  index_t integer(char const* expected) {
    index_t value = 0;
    return parse(value, expected) ? value : (fail(expected), 0);
  }
  double number(char const* expected) {
    double value = 0;
    if (parse(value, expected)) return value;
    return unusual_number(expected);
  }

  /// Fails at the word that comes next.
  [[noreturn]] void fail(std::string const& expected) { fail_at(peek(), expected); }
  /// Fails at the word or number that was read last.
  [[noreturn]] void fail_last(std::string const& expected) const {
    fail_at({buffer_.data() + word_, at_ - word_}, expected);
  }
  void expect_end(char const* after) {
    if (!at_end()) fail(text("the end of the line after ", after));
  }

private:
  static constexpr std::size_t large = std::size_t(1) << 18;   // a piece that a disc reads well; little files take less
  static constexpr std::size_t longest = std::size_t(1) << 24; // a line is held whole: a gzipped file of 3 MB can hold one of 3 GB

  static bool is_blank(char c) { return c == ' ' || c == '\t'; }
  [[noreturn]] void fail_at(std::string_view token, std::string const& expected) const {
    std::size_t const at = token.empty() ? at_ : std::size_t(token.data() - buffer_.data());
    std::string const found = token.size() > 40 ? text(token.substr(0, 40), "...") : std::string(token);
    throw io_error(name_, line_, at - begin_ + 1,
                   text("expected ", expected, ", found ",
                        !found.empty() ? text("'", found, "'")
                        : ended_       ? "the end of the file"
                                       : "the end of the line"));
  }
  std::string_view peek() {
    if (at_end()) return {};
    std::size_t end = at_;
    while (end < last_ && !is_blank(buffer_[end])) ++end;
    return {buffer_.data() + at_, end - at_};
  }
  template <class Value>
  bool parse(Value& value, char const* expected) {
    if (at_end()) fail(expected);
    word_ = at_;
    char const* const last = buffer_.data() + last_;
    auto const [end, status] = scan(buffer_.data() + at_, last, value);
    if (status != std::errc{} || (end != last && !is_blank(*end))) return false;
    at_ = std::size_t(end - buffer_.data());
    return true;
  }
  /// As std::from_chars, with a plus sign before what has none, and without nan(...).
  template <class Value>
  static std::from_chars_result scan(char const* first, char const* last, Value& value) {
    if (last - first > 1 && first[0] == '+' && first[1] != '-') ++first;
    auto result = std::from_chars(first, last, value);
    if (result.ptr != first && result.ptr[-1] == ')') result.ec = std::errc::invalid_argument;
    return result;
  }
  /// Fortran's exponents (1.0D+3), and numbers too little or too large for a double.
  double unusual_number(char const* expected) {
    std::string copy(peek());
    for (char& c : copy) c = c == 'd' || c == 'D' || c == 'E' ? 'e' : c;
    double value = 0;
    char const* const last = copy.data() + copy.size();
    auto const [end, status] = scan(copy.data(), last, value);
    if (end != last || status == std::errc::invalid_argument) fail(expected);
    if (status == std::errc::result_out_of_range) {
      if (!is_below_one(copy)) fail("a number that a double can hold");
      value = copy[0] == '-' ? -0.0 : 0.0;
    }
    at_ += copy.size();
    return value;
  }
  /// Is |x| < 1, of digits that a double cannot hold? By where the first of them that is not 0 stands before the point, and by the
  /// exponent: neither depends on the locale, as std::strtod does.
  static bool is_below_one(std::string_view number) {
    auto const e = (std::min)(number.find('e'), number.size());
    auto const digits = number.substr(0, e), power = number.substr((std::min)(e + 1, number.size()));
    auto const place = std::int64_t((std::min)(digits.find('.'), digits.size())) - std::int64_t(digits.find_first_of("123456789"));
    std::int64_t exponent = 0;
    auto const status = std::from_chars(power.data() + power.starts_with('+'), power.data() + power.size(), exponent).ec;
    return status == std::errc::result_out_of_range ? power[0] == '-' : exponent < -place;
  }
  /// More text behind what is there; false at the end of the stream.
  bool refill() {
    if (begin_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, filled_ - begin_);
      dropped_ += begin_;
      filled_ -= begin_;
      next_ -= begin_;
      begin_ = at_ = last_ = 0;
    }
    if (filled_ >= longest)
      throw io_error(name_, line_, 1, text("a line of more than ", longest, " characters; this is not a file of this kind, or it is damaged"));
    if (filled_ == buffer_.size() || buffer_.size() < large) buffer_.resize(2 * buffer_.size());
    in_.read(buffer_.data() + filled_, std::streamsize(buffer_.size() - filled_));
    filled_ += std::size_t(in_.gcount());
    if (in_.bad()) throw io_error(name_, line_, 0, "the file cannot be read; is it a folder?");
    return in_.gcount() > 0;
  }

  Stream& in_;
  std::string name_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, at_ = 0, last_ = 0, next_ = 0, filled_ = 0, word_ = 0, line_ = 0;
  std::uint64_t dropped_ = 0;  ///< bytes of the stream before the buffer
  bool ended_ = false;
};

} // namespace sla::detail

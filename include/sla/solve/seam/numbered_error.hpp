// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Texts and errors that name rows and columns of a matrix, so that who knows better numbers for them can say these: a rank those of the whole.
#pragma once

#include <initializer_list>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <sla/core/error.hpp>
#include <sla/core/shape.hpp>

namespace sla::detail {

/// The number of a row, or column, in the text of a numbered_error: of the matrix, or of its scalar rows, some of which make up one of blocks.
struct row_number {
  index_t at;
  bool of_scalars = false;
};
struct col_number {
  index_t at;
  bool of_scalars = false;
};
inline std::ostream& operator<<(std::ostream& out, row_number n) { return out << n.at; }
inline std::ostream& operator<<(std::ostream& out, col_number n) { return out << n.at; }

/// One part of a numbered text.
struct numbered_part {
  text_part printed;
  bool is_number = false, is_row = false, of_scalars = false;
  index_t at = 0;
};
template <class T>
numbered_part numbered(T const& part) {
  if constexpr (std::is_same_v<T, row_number> || std::is_same_v<T, col_number>)
    return {printed_part(part), true, std::is_same_v<T, row_number>, part.of_scalars, part.at};
  else
    return {printed_part(part)};
}

/// A text of these parts, of which some are such numbers.
class numbered_text {
public:
  numbered_text() = default;
  template <class... Parts>
  explicit numbered_text(Parts const&... parts) {
    add<>({numbered(parts)...});
  }
  /// With row(i) for the number of row i, col(j) for that of column j, of blocks of so many scalar rows and columns.
  template <class Row, class Col>
  std::string with(index_t block_rows, index_t block_cols, Row const& row, Col const& col) const {
    std::string out;
    for (number const& n : numbers_) {
      index_t const block = !n.of_scalars ? 1 : n.is_row ? block_rows : block_cols;
      out += text(n.before, (n.is_row ? row(n.at / block) : col(n.at / block)) * block + n.at % block);
    }
    return out + after_;
  }
  /// With the numbers as they are.
  operator std::string() const {
    auto const as_it_is = [](index_t at) { return at; };
    return with(1, 1, as_it_is, as_it_is);
  }

  friend std::ostream& operator<<(std::ostream& out, numbered_text const& words) { return out << std::string(words); }

private:
  template <class = void>
  void add(std::initializer_list<numbered_part> parts) {
    for (numbered_part const& p : parts)
      if (p.is_number) {
        numbers_.push_back({std::move(after_), p.is_row, p.of_scalars, p.at});
        after_.clear();
      } else {
        after_ += printed({p.printed});
      }
  }
  struct number {
    std::string before;
    bool is_row, of_scalars;
    index_t at;
  };
  std::vector<number> numbers_{};
  std::string after_{};
};

/// A value_error of such a text.
class numbered_error : public value_error {
public:
  template <class... Parts>
  explicit numbered_error(Parts const&... parts) : numbered_error(made(), numbered_text(parts...)) {}
  numbered_text const& words() const { return words_; }

private:
  struct made {};
  template <class Words>
  numbered_error(made, Words&& words) : value_error(std::string(words)), words_(std::forward<Words>(words)) {}
  numbered_text words_;
};

} // namespace sla::detail

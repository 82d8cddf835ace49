// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pictures of sparsity patterns: `std::cout << spy(A)` as text, `spy(A).write_svg("A.svg")` as a drawing.
// Pictures of partitions are in dist/partition/.
#pragma once

#include <algorithm>
#include <fstream>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <sla/tensor/files/files.hpp>
#include <sla/tensor/storage/sparse.hpp>

namespace sla {

/// A pattern, seen through a grid of cells: how many of its entries fall into each.
class spy_picture {
public:
  spy_picture(index_t height, index_t width, std::string caption, std::vector<index_t> counts)
      : height_(height), width_(width), caption_(std::move(caption)), counts_(std::move(counts)) {}

  index_t height() const { return height_; }
  index_t width() const { return width_; }
  /// Extents, entries, blocks and batch in words.
  std::string const& caption() const { return caption_; }
  /// Entries in a cell; none outside of the grid.
  index_t count(index_t i, index_t j) const { return i < height_ && j < width_ ? counts_[std::size_t(i * width_ + j)] : 0; }

  /// Text: a caption, and a frame of characters of two by four dots (Unicode's Braille patterns), a dot for each cell that
  /// has an entry.
  template <class = void>
  friend std::ostream& operator<<(std::ostream& out, spy_picture const& p) {
    constexpr int bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    std::string const border = text("+", std::string(std::size_t((p.width_ + 1) / 2), '-'), "+\n");
    out << p.caption_ << '\n' << border;
    for (index_t i = 0; i < p.height_; i += 4) {
      std::string line = "|";
      for (index_t j = 0; j < p.width_; j += 2) {
        int dots = 0;
        for (int a = 0; a < 4; ++a)
          for (int b = 0; b < 2; ++b) dots |= p.count(i + a, j + b) > 0 ? bits[a][b] : 0;
        line += {'\xe2', char(0xa0 + dots / 64), char(0x80 + dots % 64)};  // U+2800 + dots
      }
      out << line << "|\n";
    }
    return out << border;
  }

  /// A drawing in SVG, 600 units wide: a cell is the darker the more entries it has. Errors: the file cannot be written.
  template <class = void>
  void write_svg(std::ostream& out, std::string const& name = "stream") const {
    constexpr int shades = 8;
    index_t largest = 1;
    for (index_t n : counts_) largest = (std::max)(largest, n);
    auto shade = [&](index_t i, index_t j) { return int(std::ceil(shades * std::sqrt(double(count(i, j)) / double(largest)))); };
    double const size = 600 / double((std::max)(index_t(1), width_));
    out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"600\" height=\"" << std::ceil(size * double(height_)) << "\" viewBox=\"0 0 "
        << width_ << ' ' << height_ << "\">\n<title>" << caption_ << "</title>\n<rect width=\"" << width_ << "\" height=\"" << height_
        << "\" fill=\"white\"/>\n";
    for (int s = 1; s <= shades; ++s) {
      std::string runs;
      for (index_t i = 0; i < height_; ++i)
        for (index_t j = 0, end = 0; j < width_; j = (std::max)(end, j + 1))
          if (shade(i, j) == s) {
            for (end = j + 1; end < width_ && shade(i, end) == s;) ++end;
            runs += text('M', j, ' ', i, 'h', end - j, "v1H", j, 'z');
          }
      if (!runs.empty()) out << "<path fill=\"#123a6b\" fill-opacity=\"" << double(s) / shades << "\" d=\"" << runs << "\"/>\n";
    }
    out << "</svg>\n";
    if (!out.flush()) throw io_error(name, 0, 0, "the file cannot be written to its end");
  }
  template <class = void>
  void write_svg(std::string const& path) const {
    detail::write_file<std::ofstream>(path, [&](std::ostream& out) { write_svg(out, path); });
  }

private:
  index_t height_, width_;
  std::string caption_;
  std::vector<index_t> counts_;
};

/// The pattern of A in a grid of at most `across` cells side by side (two make a character of text), and as many below
/// each other as A's shape asks for, four times `across` at most. Of blocks, each is one entry.
///     std::cout << spy(A) << spy(A, 40);   spy(A, 500).write_svg("A.svg");
/// Cost: one pass over the pattern. Errors: `across` is less than 1.
template <class T, class S, class F>
spy_picture spy(sparse_tensor<T, S, F> const& A, index_t across = 144) {
  if (across < 1) throw value_error(text("spy(A, ", across, "): a picture is at least 1 cell wide"));
  index_t const rows = A.rows(), cols = A.cols(), width = (std::min)(cols, across);
  index_t const scaled = cols > 0 ? index_t(std::ceil(double(rows) * double(width) / double(cols))) : 0;
  index_t const height = (std::min)({rows, scaled, 4 * across});
  std::vector<index_t> counts(std::size_t(height * width));
  auto const view = A.pattern().view();
  int const parts = parallel_parts(rows);
  parallel(parts, [&](int t) {  // rows of the picture, so that each has one writer
    for (index_t i = height * t / parts; i < height * (t + 1) / parts; ++i)
      for (index_t r = (i * rows + height - 1) / height; r * height / rows == i && r < rows; ++r)
        view.for_row(r, [&](index_t, index_t j) { ++counts[std::size_t(i * width + j * width / cols)]; });
  });
  std::string caption = text(rows, " x ", cols, ", ", A.nnz(), S::is_blocked ? " blocks of " : " entries");
  if (S::is_blocked) caption += text(S::block_rows, " x ", S::block_cols);
  if (S::is_batched) caption += text(", ", A.batch_count(), " in a batch");
  return {height, width, std::move(caption), std::move(counts)};
}

} // namespace sla

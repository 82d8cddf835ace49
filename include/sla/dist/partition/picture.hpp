// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A picture of a partition: a dot for each row at its coordinates, a colour for each part, as SVG.
// The partition in numbers is in dist/partition/quality.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <sla/dist/partition/rcb.hpp>
#include <sla/tensor/files/files.hpp>

namespace sla {

/// How a partition is drawn.
struct picture_options {
  int width = 800;              ///< pixels; the height follows from the coordinates
  index_t across = 0, up = 1;   ///< the axes of the coordinates that are drawn, to the right and upwards
};

namespace detail {
/// Colours that differ for neighbouring numbers: hues a golden angle apart, in three shades.
template <class = void>
std::string part_colour(int part) {
  double const hue = std::fmod(137.50776 * part, 360) / 60, light = 0.42 + 0.12 * (part / 7 % 3), chroma = 0.8 * (1 - std::abs(2 * light - 1));
  double const second = chroma * (1 - std::abs(std::fmod(hue, 2) - 1));
  int const sector = int(hue);
  std::array<double, 3> rgb{};
  rgb[std::size_t((sector + 1) / 2 % 3)] = chroma;
  rgb[std::size_t((7 - sector) % 3)] = second;
  char out[8];
  auto const byte = [&](std::size_t n) { return unsigned(std::lround(255 * (rgb[n] + light - chroma / 2))); };
  std::snprintf(out, sizeof out, "#%02x%02x%02x", byte(0) & 255u, byte(1) & 255u, byte(2) & 255u);
  return out;
}
} // namespace detail

/// The rows of a partition at their coordinates (rows x axes), each part in its colour, as SVG. Rows of one part that fall
/// on the same half pixel are one dot, so that the size is bounded by the picture's.
/// Errors: shape_error and value_error, if coordinates are of another length, not finite, or lack an axis that is asked for.
template <class Pixel = int>
void draw_partition(std::ostream& out, matrix<double> const& coordinates, owner_map const& owners, picture_options const& options = {}) {
  index_t const rows = owners.rows(), axes = coordinates.extent(1);
  detail::require_coordinates(coordinates, rows, "draw_partition");
  if (options.width < 16) throw value_error(text("draw_partition: a width of ", options.width, " pixels; give at least 16"));
  if (options.across < 0 || options.across >= axes || options.up < 0 || (options.up >= axes && axes > 1))
    throw shape_error(text("draw_partition: axes ", options.across, " and ", options.up, " of coordinates that have ", axes));
  auto const at = [&](index_t i, index_t axis) { return axis < axes ? coordinates(i, axis) : 0.0; };
  double low[2] = {0, 0}, high[2] = {0, 0};
  index_t const drawn[2] = {options.across, options.up};
  for (int a = 0; a < 2; ++a)
    for (index_t i = 0; i < rows; ++i) {
      double const v = at(i, drawn[a]);
      low[a] = i ? (std::min)(low[a], v) : v;
      high[a] = i ? (std::max)(high[a], v) : v;
    }
  double const margin = 8, wide = high[0] - low[0], tall = high[1] - low[1];
  // The box fills the width, or a square of it where it is tall.
  double const scale = (options.width - 2 * margin) / ((std::max)(wide, tall) > 0 ? (std::max)(wide, tall) : 1);
  double const width = wide * scale + 2 * margin, height = tall * scale + 2 * margin;
  double const room = (std::max)(wide * scale, 1.0) * (std::max)(tall * scale, 1.0);
  double const dot = (std::clamp)(std::sqrt(room / double((std::max)(rows, index_t(1)))), 0.7, 12.0);

  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << std::ceil(width) << "\" height=\"" << std::ceil(height) << "\" viewBox=\"0 0 "
      << std::ceil(width) << ' ' << std::ceil(height) << "\">\n<title>" << rows << " rows in " << owners.parts()
      << " parts</title>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  auto const order = owners.order();
  std::size_t n = 0;
  std::vector<std::pair<Pixel, Pixel>> dots;  // in half pixels
  for (int r = 0; r < owners.parts(); ++r) {
    dots.clear();
    for (index_t k = 0; k < owners.count(r); ++k) {
      index_t const i = order[n++];
      dots.push_back({int(std::lround(2 * (margin + (at(i, drawn[0]) - low[0]) * scale))), int(std::lround(2 * (margin + (high[1] - at(i, drawn[1])) * scale)))});
    }
    if (dots.empty()) continue;
    std::sort(dots.begin(), dots.end());
    dots.erase(std::unique(dots.begin(), dots.end()), dots.end());
    out << "<path stroke=\"" << detail::part_colour(r) << "\" stroke-width=\"" << dot << "\" stroke-linecap=\"round\" d=\"";
    for (auto const& [x, y] : dots) out << 'M' << x / 2.0 << ' ' << y / 2.0 << "h0";
    out << "\"><title>part " << r << ": " << owners.count(r) << " rows</title></path>\n";
  }
  out << "</svg>\n";
}
/// The same into a file. Errors: io_error, if it cannot be written.
template <class = void>
void draw_partition(std::string const& path, matrix<double> const& coordinates, owner_map const& owners, picture_options const& options = {}) {
  detail::write_file<std::ofstream>(path, [&](std::ostream& out) { draw_partition(out, coordinates, owners, options); });
}

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is in a saved set of files: its tensors, the index that names the shards, and where everything is in a shard. A shard is a safetensors
// file, whose header follows from the index; nothing in it has to be parsed. Writing is in dist/files/save.hpp, reading in dist/files/load.hpp.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sla/tensor/files/shard_file.hpp>

namespace sla::detail {

/// A tensor as it was saved. Its shape is that of the whole: of a dense one all extents, of a sparse one (*batch, rows, columns, *block).
struct saved_tensor {
  bool sparse = false, is_double = true, complex = false;
  bool scattered = false;  ///< rows are not in the order of the shards: each has its number beside it
  int axis = 0;            ///< the dimension that is sharded
  std::vector<index_t> shape{};

  index_t rows() const { return shape[std::size_t(axis)]; }
  index_t cols() const { return shape[std::size_t(axis) + 1]; }
  bool wide_columns() const { return cols() > (std::numeric_limits<std::int32_t>::max)(); }
  /// How many items have rows, or entries, of their own, and how many numbers one of them has.
  index_t outer() const { return product(0, std::size_t(axis)); }
  index_t inner() const { return product(std::size_t(axis) + (sparse ? 2 : 1), shape.size()); }
  /// In words: "a sparse tensor of complex<double>, 100 x 100". An extent of -1 may be any.
  template <class = void>
  std::string words() const {
    std::string extents;
    for (index_t n : shape) extents += (extents.empty() ? "" : " x ") + (n < 0 ? "?" : std::to_string(n));
    char const* const part = is_double ? "double" : "float";
    return text("a ", sparse ? "sparse" : "dense", " tensor of ", complex ? text("complex<", part, ">") : part, ", ", extents, ", sharded along its axis ", axis);
  }
  /// Is this the type of what was saved as `other`?
  template <class = void>
  bool accepts(saved_tensor const& other) const {
    auto const fits = [](index_t mine, index_t theirs) { return mine < 0 || mine == theirs; };
    return sparse == other.sparse && is_double == other.is_double && complex == other.complex && axis == other.axis &&
           std::equal(shape.begin(), shape.end(), other.shape.begin(), other.shape.end(), fits);
  }

private:
  template <class = void>
  index_t product(std::size_t first, std::size_t last) const {
    index_t n = 1;
    for (std::size_t a = first; a < last; ++a) n = Extents<dyn, dyn>(n, shape[a]).total();  // which is checked
    return n;
  }
};

/// How many rows and entries of a tensor a shard has.
struct shard_counts {
  index_t rows = 0, entries = 0;
};

/// The arrays of one tensor in a shard; `numbers` are those of scattered rows.
enum class shard_part { values, row_ptr, numbers, col };

/// Where everything is in a shard: the k-th tensor as the arrays k.values, k.row_ptr and k.col of a sparse one or k of a dense one, k.rows
/// with the numbers of scattered rows, and behind all others the checksums.
class shard_map {
public:
  /// Errors: shape_error, if std::int64_t does not count the bytes.
  template <class = void>
  shard_map(std::vector<saved_tensor> const& tensors, std::vector<shard_counts> const& counts) : begin_(tensors.size()) {
    std::string metadata = R"({"__metadata__":{"format":"sla")", arrays;
    index_t at = 0;
    auto const list = [](std::vector<index_t> const& numbers) {
      std::string out;
      for (index_t n : numbers) out += text(out.empty() ? "" : ",", n);
      return text("[", out, "]");
    };
    auto const add = [&](std::string const& name, char const* dtype, index_t width, std::vector<index_t> const& shape) {
      index_t bytes = width;
      for (index_t n : shape) bytes = Extents<dyn, dyn>(bytes, n).total();
      if (at > (std::numeric_limits<index_t>::max)() / 2 - bytes) throw shape_error("a shard has more bytes than std::int64_t counts");
      arrays += text(",\"", name, R"(":{"dtype":")", dtype, R"(","shape":)", list(shape), R"(,"data_offsets":)", list({at, at + bytes}), "}");
      return std::exchange(at, at + bytes);
    };
    for (int width : {8, 4}) // wide elements first: all are aligned
      for (std::size_t k = 0; k < tensors.size(); ++k) {
        saved_tensor const& t = tensors[k];
        auto const [rows, entries] = counts[k];
        auto const put = [&](shard_part part, char const* name, char const* dtype, int bytes, std::vector<index_t> const& shape) {
          if (bytes == width) begin_[k][std::size_t(part)] = add(text(k, name), dtype, bytes, shape);
        };
        auto shape = t.shape;
        if (t.sparse) shape.erase(shape.begin() + t.axis);
        shape[std::size_t(t.axis)] = t.sparse ? entries : rows;
        if (t.complex) shape.push_back(2);
        put(shard_part::values, t.sparse ? ".values" : "", t.is_double ? "F64" : "F32", t.is_double ? 8 : 4, shape);
        if (t.scattered) put(shard_part::numbers, ".rows", "I64", 8, {rows});
        if (!t.sparse) continue;
        put(shard_part::row_ptr, ".row_ptr", "I64", 8, {rows + 1});
        put(shard_part::col, ".col", t.wide_columns() ? "I64" : "I32", t.wide_columns() ? 8 : 4, {entries});
        auto whole = t.shape;
        whole[std::size_t(t.axis)] = rows;
        if (width == 8) metadata += text(",\"", k, R"(.shape":")", list(whole), "\",\"", k, R"(.sparse_axes":")", list({t.axis, t.axis + 1}), "\"");
      }
    // The checksums are of the header too, which tells how many there are: it has room for any number.
    index_t const data = at;
    std::string json = text(metadata, "}", arrays);
    std::size_t const length_of_json = (json.size() + 160) / 8 * 8;
    content_ = 8 + index_t(length_of_json) + data;
    arrays.clear();
    add("crc32c", "U32", 4, {checked_pieces(content_)});
    json += text(arrays, "}");
    json.resize(length_of_json, ' ');
    std::uint64_t const length = json.size();
    head_.assign(reinterpret_cast<char const*>(&length), 8);
    head_ += json;
  }
  /// The bytes before the arrays: the length of the header, and the header.
  std::string const& head() const { return head_; }
  index_t begin(int tensor, shard_part part) const { return index_t(head_.size()) + begin_[std::size_t(tensor)][std::size_t(part)]; }
  /// The bytes before the checksums.
  index_t content() const { return content_; }
  index_t bytes() const { return content_ + checked_pieces(content_) * index_t(sizeof(std::uint32_t)); }

private:
  std::string head_;
  std::vector<std::array<index_t, 4>> begin_;
  index_t content_ = 0;
};

/// One shard as the index has it.
struct saved_shard {
  std::uint32_t checksum = 0;  ///< of the checksums
  std::vector<shard_counts> counts{};
};

/// The index of a set of files: a text, the last line of which is its own checksum.
struct shard_index {
  index_t generation = 0;
  std::vector<saved_tensor> tensors{};
  std::vector<saved_shard> shards{};

  static constexpr std::string_view first_line = "sla: an index of shards, 1\n";
  /// The name of a shard beside its index.
  template <class = void>
  static std::string shard_name(std::string const& path, index_t generation, int rank) {
    return text(path, ".", generation, ".", rank, ".safetensors");
  }
  template <class = void>
  std::string text_of() const {
    std::string out(first_line);
    out += text("generation ", generation, "\ntensors ", tensors.size(), "\n");
    for (saved_tensor const& t : tensors) {
      out += text(t.sparse ? "sparse " : "dense ", t.is_double ? "F64 " : "F32 ", t.complex ? "complex " : "real ", t.scattered ? "scattered " : "ranges ");
      out += text(t.axis, " ", t.shape.size());
      for (index_t n : t.shape) out += text(" ", n);
      out += "\n";
    }
    out += text("shards ", shards.size(), "\n");
    for (saved_shard const& s : shards) {
      out += std::to_string(s.checksum);
      for (auto const& n : s.counts) out += text(" ", n.rows, " ", n.entries);
      out += "\n";
    }
    return out + text("crc32c ", crc32c(out.data(), out.size()), "\n");
  }
  /// The index in a file. Errors: io_error with its name.
  template <class = void>
  static shard_index read(std::string const& path, std::string const& file) {
    std::string_view const all = file;
    auto const fail = [&](auto const&... what) { throw io_error(path, 0, 0, text(what...)); };
    if (all.substr(0, first_line.size()) != first_line)
      fail("the file is no index that sla::save has written: its first line is not '", first_line.substr(0, first_line.size() - 1), "'");
    auto const last = all.rfind("\ncrc32c ");
    std::string_view rest = last == all.npos ? all : all.substr(0, last + 1);
    if (last == all.npos || all.substr(last) != text("\ncrc32c ", crc32c(rest.data(), rest.size()), "\n"))
      fail("the index has another checksum (CRC-32C) than when it was written: the file is damaged, or was cut short");
    rest.remove_prefix(first_line.size());
    auto const word = [&] {
      auto const begin = (std::min)(rest.find_first_not_of(" \n"), rest.size()), end = (std::min)(rest.find_first_of(" \n", begin), rest.size());
      auto const out = rest.substr(begin, end - begin);
      rest.remove_prefix(end);
      return out;
    };
    auto const expect = [&](std::string_view wanted) {
      if (auto const found = word(); found != wanted) fail("the index has '", found.substr(0, 40), "' where '", wanted, "' is expected");
    };
    auto const number = [&](index_t most) {
      auto const digits = word();
      index_t n = -1;
      auto const status = std::from_chars(digits.data(), digits.data() + digits.size(), n);
      if (status.ec != std::errc{} || status.ptr != digits.data() + digits.size() || n < 0 || n > most)
        fail("the index has '", digits.substr(0, 40), "' where a number from 0 to ", most, " is expected");
      return n;
    };
    auto const one_of = [&](std::string_view no, std::string_view yes) {
      auto const found = word();
      if (found != no && found != yes) fail("the index has '", found.substr(0, 40), "' where '", no, "' or '", yes, "' is expected");
      return found == yes;
    };
    constexpr index_t any = (std::numeric_limits<index_t>::max)() / 2;
    shard_index out;
    expect("generation"), out.generation = number(any);
    expect("tensors");
    for (index_t k = number(1000); k > 0; --k) {
      saved_tensor t;
      t.sparse = one_of("dense", "sparse"), t.is_double = one_of("F32", "F64");
      t.complex = one_of("real", "complex"), t.scattered = one_of("ranges", "scattered");
      t.axis = int(number(63));
      for (index_t axes = number(64); axes > 0; --axes) t.shape.push_back(number(any));
      if (std::size_t(t.axis) + t.sparse >= t.shape.size()) fail("the index has a tensor of ", t.shape.size(), " axes that is sharded along axis ", t.axis);
      out.tensors.push_back(std::move(t));
    }
    expect("shards");
    for (index_t k = number(index_t(rest.size())); k > 0; --k) {
      saved_shard s;
      s.checksum = std::uint32_t(number((std::numeric_limits<std::uint32_t>::max)()));
      for (std::size_t t = 0; t < out.tensors.size(); ++t) {
        index_t const rows = number(out.tensors[t].rows());
        s.counts.push_back({rows, number(any)});
      }
      out.shards.push_back(std::move(s));
    }
    if (auto const more = word(); !more.empty()) fail("the index has '", more.substr(0, 40), "' behind its last shard");
    for (std::size_t k = 0; k < out.tensors.size(); ++k) {
      index_t left = out.tensors[k].rows();
      for (saved_shard const& s : out.shards)
        if ((left -= s.counts[k].rows) < 0) break;
      if (left != 0) fail("the shards have another number of rows of tensor ", k, " than it has, ", out.tensors[k].rows());
    }
    return out;
  }
};

} // namespace sla::detail

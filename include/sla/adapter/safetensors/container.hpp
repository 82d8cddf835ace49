// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The container: an eight-byte length, a header in JSON, and the bytes of named arrays, checked to the last byte before any
// of them is read. What the arrays mean is in adapter/safetensors.hpp.
#pragma once

#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sla/core/error.hpp>
#include <sla/core/shape.hpp>

namespace sla {

/// One named array of a safetensors file: its element type as the format names it ("F64", "I32", ...), its shape, and
/// where its bytes are, counted from the end of the header.
struct safetensors_entry {
  std::string dtype;
  std::vector<index_t> shape;
  index_t begin = 0, end = 0;

  /// Of elements; the bytes of the file bound it.
  index_t size() const {
    if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
    index_t product = 1;
    for (index_t n : shape) product *= n;
    return product;
  }
};

/// The header of a file: its arrays and its metadata, both by name.
struct safetensors_contents {
  std::map<std::string, safetensors_entry> entries;
  std::map<std::string, std::string> metadata;
};

namespace detail {
static_assert(std::endian::native == std::endian::little, "sla: safetensors files are little-endian, and so must the machine be");

/// The bytes of an element; 0 for a type that the format does not have.
inline index_t dtype_bytes(std::string_view dtype) {
  constexpr std::pair<std::string_view, index_t> known[] = {
      {"BOOL", 1}, {"U8", 1},   {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"U16", 2}, {"I16", 2}, {"F16", 2},
      {"BF16", 2}, {"U32", 4}, {"I32", 4}, {"F32", 4},     {"U64", 8},     {"I64", 8}, {"F64", 8}, {"C64", 8}};
  for (auto const& [name, bytes] : known)
    if (name == dtype) return bytes;
  return 0;
}

/// "4 x 100" and 'name', for messages.
inline std::string shape_text(std::vector<index_t> const& shape) {
  std::string out;
  for (index_t n : shape) out += (out.empty() ? "" : " x ") + std::to_string(n);
  return out.empty() ? "scalar" : out;
}
inline std::string in_quotes(std::string_view name) {
  return text("'", name.substr(0, 60), name.size() > 60 ? "..." : "", "'");
}
[[noreturn]] inline void safetensors_fail(std::string const& file, std::string const& what) {
  throw io_error(file, 0, 0, "safetensors: " + what);
}

/// What the JSON of a header tells, event by event: nothing is built of what the format does not have.
class safetensors_events : public nlohmann::json_sax<nlohmann::json> {
public:
  safetensors_events(std::string const& file, safetensors_contents& out) : file_(file), out_(out) {}

  bool null() override { odd_value(); }
  bool boolean(bool) override { odd_value(); }
  bool binary(binary_t&) override { odd_value(); }
  bool number_integer(number_integer_t value) override { odd_number(text(value)); }
  bool number_float(number_float_t, string_t const& digits) override { odd_number(digits.substr(0, 40)); }
  bool number_unsigned(number_unsigned_t value) override {
    if (at_ != in_shape && at_ != in_offsets) odd_value();
    if (!std::in_range<index_t>(value)) odd_number(text(value));
    auto& numbers = at_ == in_shape ? entry_.shape : offsets_;
    if (numbers.size() == 64) fail(text("the array ", in_quotes(name_), " has more than 64 axes"));
    numbers.push_back(index_t(value));
    return true;
  }
  bool string(string_t& value) override {
    if (at_ == in_metadata)
      out_.metadata[key_] = value;
    else if (at_ == in_entry && key_ == "dtype")
      entry_.dtype = value;
    else
      odd_value();
    return true;
  }
  bool start_object(std::size_t) override {
    if (at_ != before && at_ != in_header) odd_value();
    at_ = at_ == before ? in_header : name_ == "__metadata__" ? in_metadata : in_entry;
    keys_.clear(), entry_ = {};
    return true;
  }
  bool key(string_t& value) override {
    if (at_ == in_header) {
      name_ = value;
      if (!names_.insert(name_).second) fail(text("the header has ", place(), " twice"));
      return true;
    }
    key_ = value;
    if (!keys_.insert(key_).second) fail(text("the header has ", place(), " twice"));
    if (at_ == in_entry && key_ != "dtype" && key_ != "shape" && key_ != "data_offsets")
      fail(text("the header has ", place(), ", where 'dtype', 'shape' and 'data_offsets' are meant"));
    return true;
  }
  bool end_object() override {
    if (at_ == in_header) {
      at_ = after;
      return true;
    }
    if (at_ == in_entry) {
      for (char const* needed : {"dtype", "shape", "data_offsets"})
        if (!keys_.count(needed)) fail(text("the array ", in_quotes(name_), " has no '", needed, "' in the header"));
      out_.entries[name_] = std::move(entry_);
    }
    at_ = in_header;
    return true;
  }
  bool start_array(std::size_t) override {
    if (at_ != in_entry || key_ == "dtype") odd_value();
    at_ = key_ == "shape" ? in_shape : in_offsets;
    offsets_.clear();
    return true;
  }
  bool end_array() override {
    if (at_ == in_offsets) {
      if (offsets_.size() != 2)
        fail(text("the array ", in_quotes(name_), " has ", offsets_.size(), " data_offsets; they are two, begin and end"));
      entry_.begin = offsets_[0], entry_.end = offsets_[1];
    }
    at_ = in_entry;
    return true;
  }
  bool parse_error(std::size_t position, std::string const& token, nlohmann::json::exception const&) override {
    fail(text("the header is not JSON at its byte ", position, ", ", in_quotes(token), "; the file is damaged, or of another kind"));
  }

private:
  enum state { before, in_header, in_metadata, in_entry, in_shape, in_offsets, after };

  [[noreturn]] void fail(std::string const& what) const { safetensors_fail(file_, what); }
  std::string place() const { return at_ == in_header ? in_quotes(name_) : text(in_quotes(key_), " of ", in_quotes(name_)); }
  [[noreturn]] void odd_number(std::string const& digits) const {
    if (at_ != in_shape && at_ != in_offsets) odd_value();
    fail(text("the header has the number ", digits, " in ", place(), "; sizes and offsets are integers from 0 to 2^63 - 1"));
  }
  [[noreturn]] void odd_value() const {
    fail(at_ == before ? std::string("the header is not a JSON object")
                       : text("the header has a value of the wrong kind in ", place(), at_ == in_metadata ? "; metadata are texts" : ""));
  }

  std::string const& file_;
  safetensors_contents& out_;
  state at_ = before;
  std::string name_, key_;
  std::set<std::string> names_, keys_;
  safetensors_entry entry_;
  std::vector<index_t> offsets_;
};

/// Every array has a known type, as many bytes as its shape says, and the arrays fill `bytes` without gap or overlap.
inline void check_entries(std::string const& file, safetensors_contents const& contents, index_t bytes) {
  std::vector<std::pair<std::string const*, safetensors_entry const*>> order;
  for (auto const& [name, entry] : contents.entries) {
    auto fail = [&file, &array = name](auto const&... what) { safetensors_fail(file, text("the array ", in_quotes(array), " ", what...)); };
    index_t const each = dtype_bytes(entry.dtype);
    if (each == 0) fail("is of the unknown type ", in_quotes(entry.dtype));
    bool const none = std::find(entry.shape.begin(), entry.shape.end(), 0) != entry.shape.end();
    index_t room = bytes / each;
    for (index_t n : entry.shape)
      if (!none && (room /= n) == 0) fail("of shape ", shape_text(entry.shape), " is larger than the file; its header lies, or the file was cut short");
    if (entry.end < entry.begin) fail("has the data_offsets ", entry.begin, ", ", entry.end, "; the end is not before the begin");
    if (entry.end > bytes) fail("ends at byte ", entry.end, " of ", bytes, "; the file was cut short, or its header lies");
    if (entry.end - entry.begin != entry.size() * each)
      fail("of type ", entry.dtype, " and shape ", shape_text(entry.shape), " has ", entry.end - entry.begin, " bytes; it needs ",
           entry.size() * each);
    order.push_back({&name, &entry});
  }
  std::sort(order.begin(), order.end(), [](auto const& a, auto const& b) {
    return std::pair(a.second->begin, a.second->end) < std::pair(b.second->begin, b.second->end);
  });
  index_t at = 0;
  for (auto const& [name, entry] : order) {
    if (entry->begin != at)
      safetensors_fail(file, text("the array ", in_quotes(*name), " begins at byte ", entry->begin, ", where the arrays before it end at ", at,
                                  entry->begin < at ? "; arrays do not overlap" : "; there are no gaps between arrays"));
    at = entry->end;
  }
  if (at != bytes) safetensors_fail(file, text("the arrays end at byte ", at, ", but the file has ", bytes, " behind the header; there is nothing behind the arrays"));
}

/// The format's own limit on headers.
inline constexpr std::uint64_t largest_header = 100'000'000;

/// The header of a stream, which then stands at the arrays.
inline safetensors_contents read_safetensors_header(std::istream& in, std::string const& file) {
  auto fail = [&](auto const&... what) { safetensors_fail(file, text(what...)); };
  in.seekg(0, std::ios::end);
  std::streamoff const size = in.tellg();
  in.seekg(0);
  if (!in || size < 0) fail("the stream cannot be searched; give a file, or a std::istringstream");
  std::uint64_t length = 0;
  if (size < 8 || !in.read(reinterpret_cast<char*>(&length), 8)) fail("the file has ", size, " bytes, where the length of the header alone has 8; it was cut short");
  if (length > largest_header)
    fail("a header of ", length, " bytes, where the format allows ", largest_header, "; the file is damaged, or of another kind");
  if (length > std::uint64_t(size - 8)) fail("a header of ", length, " bytes in a file of ", size, "; it was cut short, or is of another kind");
  std::string json(std::size_t(length), '\0');
  if (!in.read(json.data(), std::streamsize(length))) fail("the file cannot be read to the end of its header");
  safetensors_contents contents;
  safetensors_events events(file, contents);
  nlohmann::json::sax_parse(json, &events);
  check_entries(file, contents, size - 8 - index_t(length));
  return contents;
}

/// An array on its way into a file.
struct safetensors_array {
  std::string name, dtype;
  std::vector<index_t> shape;
  void const* data;
  index_t bytes;
};

/// Arrays of wide elements come first, behind a header of a multiple of eight bytes: all are aligned.
inline void write_safetensors_arrays(std::ostream& out, std::string const& file, std::vector<safetensors_array> arrays,
                                     std::map<std::string, std::string> const& metadata) {
  std::stable_sort(arrays.begin(), arrays.end(),
                   [](auto const& a, auto const& b) { return dtype_bytes(a.dtype) > dtype_bytes(b.dtype); });
  std::string head;
  try {
    nlohmann::json header = nlohmann::json::object();
    if (!metadata.empty()) header["__metadata__"] = metadata;
    index_t at = 0;
    for (auto const& a : arrays) {
      if (a.name == "__metadata__" || header.contains(a.name))
        throw value_error(text(file, ": an array named ", in_quotes(a.name), a.name == "__metadata__" ? "; the format keeps that name" : " is there already"));
      header[a.name] = {{"dtype", a.dtype}, {"shape", a.shape}, {"data_offsets", {at, at + a.bytes}}};
      at += a.bytes;
    }
    head = header.dump();
  } catch (nlohmann::json::exception const&) {
    throw value_error(text(file, ": a name or a metadata text is not UTF-8, which JSON wants"));
  }
  head.resize((head.size() + 7) / 8 * 8, ' ');
  std::uint64_t const length = head.size();
  out.write(reinterpret_cast<char const*>(&length), 8).write(head.data(), std::streamsize(length));
  for (auto const& a : arrays) out.write(static_cast<char const*>(a.data), std::streamsize(a.bytes));
  if (!out.flush()) throw io_error(file, 0, 0, "the file cannot be written to its end");
}
} // namespace detail

} // namespace sla

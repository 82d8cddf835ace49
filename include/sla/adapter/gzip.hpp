// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gzipped files through zlib (component `gzip`): streams that any reader or writer of the library takes, and Matrix Market
// files as `.mtx.gz`. The format itself is in tensor/files/matrix_market.hpp.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <fstream>
#include <istream>
#include <new>
#include <ostream>
#include <streambuf>
#include <string>
#include <utility>
#include <vector>

#include <sla/tensor/files/matrix_market.hpp>
#include <sla/tensor/files/matrix_market_write.hpp>

namespace sla {

namespace detail {
/// The text of a gzipped file: one member after the other, as `cat a.gz b.gz` makes them.
class inflating_buffer : public std::streambuf {
public:
  explicit inflating_buffer(std::string name) : name_(std::move(name)), file_(name_, std::ios::binary), coded_(size), plain_(size) {
    if (inflateInit2(&state_, 15 + 16) != Z_OK) throw std::bad_alloc();  // 16: gzip, not zlib
  }
  ~inflating_buffer() override { inflateEnd(&state_); }
  inflating_buffer(inflating_buffer const&) = delete;
  inflating_buffer& operator=(inflating_buffer const&) = delete;
  bool is_open() const { return file_.is_open(); }

protected:
  int_type underflow() override {
    state_.next_out = reinterpret_cast<Bytef*>(plain_.data());
    state_.avail_out = uInt(size);
    while (state_.avail_out == uInt(size)) {
      if (state_.avail_in == 0 && !refill()) {
        if (within_) fail("the file ends within its data", again);
        return traits_type::eof();
      }
      if (!within_ && !begin_member()) return traits_type::eof();
      int const status = inflate(&state_, Z_NO_FLUSH);
      if (status == Z_MEM_ERROR) throw std::bad_alloc();
      if (status == Z_STREAM_END)
        within_ = false;
      else if (status != Z_OK && status != Z_BUF_ERROR)
        fail(text("the file is damaged: ", state_.msg ? state_.msg : "no reason given"), again);
    }
    setg(plain_.data(), plain_.data(), reinterpret_cast<char*>(state_.next_out));
    return traits_type::to_int_type(plain_[0]);
  }

private:
  static constexpr std::size_t size = std::size_t(1) << 16;
  static constexpr char const* again = "copy or download it again (gzip -t checks a file)";

  [[noreturn]] void fail(std::string const& what, char const* remedy) const {
    throw io_error(name_, 0, 0, text("gzip: ", what, ", at byte ", bytes_ - state_.avail_in, "; ", remedy));
  }
  bool refill() {
    file_.read(coded_.data(), std::streamsize(size));
    state_.next_in = reinterpret_cast<Bytef*>(coded_.data());
    state_.avail_in = uInt(file_.gcount());
    bytes_ += std::size_t(file_.gcount());
    if (file_.bad()) throw io_error(name_, 0, 0, "the file cannot be read to its end");
    return state_.avail_in > 0;
  }
  /// On to the next member; false where only zeros follow, with which tapes and discs fill up.
  bool begin_member() {
    if (bytes_ > state_.avail_in) {
      do {
        while (state_.avail_in > 0 && *state_.next_in == 0) ++state_.next_in, --state_.avail_in;
      } while (state_.avail_in == 0 && refill());
      if (state_.avail_in == 0) return false;
    }
    if (*state_.next_in != 0x1f)
      fail("this is not gzipped", bytes_ > state_.avail_in ? again : "plain text is read by read_matrix_market");
    inflateReset(&state_);
    return within_ = true;
  }

  std::string name_;
  std::ifstream file_;
  std::vector<char> coded_, plain_;
  z_stream state_{};
  std::size_t bytes_ = 0;
  bool within_ = false;  ///< a member
};

/// Text on its way into a gzipped file of one member.
class deflating_buffer : public std::streambuf {
public:
  explicit deflating_buffer(std::string const& path) : file_(path, std::ios::binary), coded_(size), plain_(size) {
    if (deflateInit2(&state_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) throw std::bad_alloc();
    setp(plain_.data(), plain_.data() + size);
  }
  ~deflating_buffer() override {
    finish();
    deflateEnd(&state_);
  }
  deflating_buffer(deflating_buffer const&) = delete;
  deflating_buffer& operator=(deflating_buffer const&) = delete;
  bool is_open() const { return file_.is_open(); }

  /// The end of the member; false if the file does not take it. Nothing is written afterwards.
  bool finish() {
    if (file_.is_open()) {
      bool const written = deflate_all(Z_FINISH);
      file_.close();
      good_ = good_ && written && bool(file_);
      setp(nullptr, nullptr);
    }
    return good_;
  }

protected:
  int_type overflow(int_type c) override {
    if (!file_.is_open() || !deflate_all(Z_NO_FLUSH)) return traits_type::eof();
    return traits_type::eq_int_type(c, traits_type::eof()) ? traits_type::not_eof(c) : sputc(traits_type::to_char_type(c));
  }
  /// What waits stays with zlib: to hand it out now would cost compression.
  int sync() override { return file_.is_open() && deflate_all(Z_NO_FLUSH) ? 0 : -1; }

private:
  static constexpr std::size_t size = std::size_t(1) << 16;

  bool deflate_all(int flush) {
    state_.next_in = reinterpret_cast<Bytef*>(pbase());
    state_.avail_in = uInt(pptr() - pbase());
    do {
      state_.next_out = reinterpret_cast<Bytef*>(coded_.data());
      state_.avail_out = uInt(size);
      deflate(&state_, flush);
      file_.write(coded_.data(), std::streamsize(size - state_.avail_out));
    } while (state_.avail_out == 0);
    setp(plain_.data(), plain_.data() + size);
    return bool(file_);
  }

  std::ofstream file_;
  std::vector<char> coded_, plain_;
  z_stream state_{};
  bool good_ = true;
};
} // namespace detail

/// A gzipped file as a stream of its text: `gzip_istream in("A.mtx.gz"); auto A = read_matrix_market<double>(in, "A.mtx.gz");`
/// It is not open (`!in`) where the file cannot be opened. Errors: io_error, thrown by whatever reads, where the file is
/// not gzipped, damaged (its check sum is compared) or cut short.
/// Source: Deutsch, GZIP file format specification (RFC 1952).
class gzip_istream : public std::istream {
public:
  explicit gzip_istream(std::string const& path, std::ios::openmode = std::ios::binary) : std::istream(nullptr), buffer_(path) {
    rdbuf(&buffer_);
    exceptions(std::ios::badbit);  // what the buffer throws goes through
    if (!buffer_.is_open()) setstate(std::ios::failbit);
  }

private:
  detail::inflating_buffer buffer_;
};

/// A file that gzips what is written to it. `close()` ends it and tells by failbit whether all went well; else the
/// destructor ends it.
class gzip_ostream : public std::ostream {
public:
  explicit gzip_ostream(std::string const& path, std::ios::openmode = std::ios::binary) : std::ostream(nullptr), buffer_(path) {
    rdbuf(&buffer_);
    if (!buffer_.is_open()) setstate(std::ios::failbit);
  }
  void close() {
    if (!buffer_.finish()) setstate(std::ios::failbit);
  }

private:
  detail::deflating_buffer buffer_;
};

/// The sparse matrix of a gzipped Matrix Market file: as `read_matrix_market`, which see.
///     auto A = read_matrix_market_gzip<double>("bcsstk14.mtx.gz");
/// Errors: those of `read_matrix_market` (line and column are of the text), and those of `gzip_istream`.
template <Scalar T, class F = Csr<>>
sparse_tensor<T, Matrix, detail::whole_format<F>> read_matrix_market_gzip(std::string const& path, assembly options = {}) {
  return detail::with_file<gzip_istream>(
      path, [&](std::istream& in) { return read_matrix_market<T, detail::whole_format<F>>(in, path, options); });
}

/// A as a gzipped Matrix Market file: as `write_matrix_market`, which see.
template <class X>
  requires(is_sparse_tensor<X> || is_tensor<X>)
void write_matrix_market_gzip(std::string const& path, X const& A, matrix_market_options const& options = {}) {
  detail::write_file<gzip_ostream>(path, [&](gzip_ostream& out) { detail::write_market(out, path, A, options); });
}

} // namespace sla

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files in binary, read by ranges and written to the disk: what saves of many ranks and PETSc's files are made of. CRC-32C, and files
// that carry the checksums of their pieces. Text files and files that take the place of others are in tensor/files/files.hpp.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <sla/core/shape.hpp>
#include <sla/tensor/files/files.hpp>

namespace sla::detail {

/// CRC-32C (Castagnoli) of bytes, after those whose checksum is `before`. Cost: some 2 GB/s. Source: RFC 3720, appendix B.4.
template <class = void>
std::uint32_t crc32c(void const* data, std::size_t bytes, std::uint32_t before = 0) {
  static auto const table = [] { // table[k][b]: byte b, and k bytes of zero behind it
    std::array<std::array<std::uint32_t, 256>, 8> t{};
    for (std::uint32_t b = 0; b < 256; ++b) {
      std::uint32_t crc = b;
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78u : 0u);
      t[0][b] = crc;
    }
    for (std::size_t k = 1; k < 8; ++k)
      for (std::size_t b = 0; b < 256; ++b) t[k][b] = (t[k - 1][b] >> 8) ^ t[0][t[k - 1][b] & 255];
    return t;
  }();
  auto const* from = static_cast<unsigned char const*>(data);
  std::uint32_t crc = ~before;
  for (; bytes >= 8; bytes -= 8, from += 8) {
    std::uint32_t const low = crc ^ (from[0] | std::uint32_t(from[1]) << 8 | std::uint32_t(from[2]) << 16 | std::uint32_t(from[3]) << 24);
    crc = table[7][low & 255] ^ table[6][low >> 8 & 255] ^ table[5][low >> 16 & 255] ^ table[4][low >> 24] ^ table[3][from[4]] ^ table[2][from[5]] ^
          table[1][from[6]] ^ table[0][from[7]];
  }
  for (; bytes > 0; --bytes, ++from) crc = (crc >> 8) ^ table[0][(crc ^ *from) & 255];
  return ~crc;
}

/// What writing asks of the system; a test may stand in its place. Errors of all: io_error with the name of the file.
struct system_disk {
  /// A new, empty file in the place of an old one of this name, to be closed by `finish` or `abandon`.
  template <class = void>
  int create(std::string const& name) {
    int const file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) throw io_error(name, 0, 0, text("the file cannot be made: ", errno_text()));
    return file;
  }
  /// At this place of the file.
  template <class = void>
  void write(int file, std::string const& name, index_t at, void const* data, index_t bytes) {
    for (auto const* from = static_cast<char const*>(data); bytes > 0;) {
      auto const done = ::pwrite(file, from, std::size_t(bytes), off_t(at));
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) throw io_error(name, 0, 0, text("the file cannot be written to its end: ", errno_text()));
      from += done, at += done, bytes -= done;
    }
  }
  /// What was written reaches the disk.
  template <class = void>
  void finish(int file, std::string const& name) {
    bool const done = ::fsync(file) == 0 || errno == EINVAL;  // EINVAL: there is no disk
    std::string const why = errno_text();
    if (::close(file) != 0 || !done) throw io_error(name, 0, 0, text("the file cannot be written to its end: ", why));
  }
  void abandon(int file) { ::close(file); }
  template <class = void>
  void rename(std::string const& name, std::string const& to) {
    if (std::rename(name.c_str(), to.c_str()) != 0) throw io_error(to, 0, 0, text("the file cannot be replaced: ", errno_text()));
  }
  void remove(std::string const& name) { std::remove(name.c_str()); }
  /// The names in a folder reach the disk, where the system can do that.
  template <class = void>
  void finish_folder(std::string const& folder) {
    int const file = ::open(folder.c_str(), O_RDONLY | O_CLOEXEC);
    if (file >= 0) ::fsync(file), ::close(file);
  }
};

/// The folder of a path, and its name there.
template <class = void>
std::pair<std::string, std::string> folder_and_name(std::string const& path) {
  auto const slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {path.substr(0, slash + 1), path.substr(slash + 1)};
}
/// f(name) for what is in a folder. Errors: io_error, if it cannot be read.
template <class F>
void for_names_in(std::string const& folder, F const& f) {
  errno = 0;
  std::unique_ptr<dependent_t<DIR, F>, void (*)(DIR*)> const in(::opendir(folder.c_str()), [](DIR* d) { ::closedir(d); });
  if (!in) throw io_error(folder, 0, 0, text("the folder cannot be read: ", errno_text()));
  while (auto const* const entry = ::readdir(in.get())) f(std::string(entry->d_name));
}

/// A file that is read by ranges of its bytes. Errors of all: io_error with its name.
class ranged_file {
public:
  template <class = void>
  explicit ranged_file(std::string name) : name_(std::move(name)) {
    errno = 0;
    struct stat found {};
    file_ = ::open(name_.c_str(), O_RDONLY | O_CLOEXEC);
    if (file_ < 0 || ::fstat(file_, &found) != 0) {
      std::string const why = errno_text();
      if (file_ >= 0) ::close(file_);
      fail(text("the file cannot be opened: ", why));
    }
    size_ = index_t(found.st_size);
  }
  ranged_file(ranged_file const&) = delete;
  ~ranged_file() { ::close(file_); }

  std::string const& name() const { return name_; }
  index_t size() const { return size_; }
  template <class = void>
  [[noreturn]] void fail(std::string const& what) const {
    throw io_error(name_, 0, 0, what);
  }
  template <class = void>
  void read(index_t at, index_t bytes, void* to) const {
    if (at < 0 || bytes < 0 || at > size_ - bytes) fail(text("the file has ", size_, " bytes, where ", bytes, " from byte ", at, " are wanted; it was cut short"));
    for (auto* into = static_cast<char*>(to); bytes > 0;) {
      auto const done = ::pread(file_, into, std::size_t(bytes), off_t(at));
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) fail(text("the file cannot be read at byte ", at, ": ", done < 0 ? errno_text() : "it ends there"));
      into += done, at += done, bytes -= done;
    }
  }

private:
  std::string name_;
  int file_ = -1;
  index_t size_ = 0;
};

/// The checksums of a file are of pieces of so many bytes, and lie behind them.
inline constexpr index_t checked_piece = index_t(1) << 16;
constexpr index_t checked_pieces(index_t bytes) { return (bytes + checked_piece - 1) / checked_piece; }

/// A file on its way to a disk; one that is not finished is closed as it stands.
template <class Disk>
class new_file {
public:
  new_file(Disk& disk, std::string name) : disk_(&disk), name_(std::move(name)), file_(disk.create(name_)) {}
  new_file(new_file const&) = delete;
  ~new_file() {
    if (file_ >= 0) disk_->abandon(file_);
  }
  void write(index_t at, void const* data, index_t bytes) { disk_->write(file_, name_, at, data, bytes); }
  void finish() { disk_->finish(std::exchange(file_, -1), name_); }

private:
  Disk* disk_;
  std::string name_;
  int file_;
};

/// A file that is written from its beginning to its end, with the CRC-32C of each piece behind it.
template <class Disk>
class checked_writer {
public:
  checked_writer(Disk& disk, std::string name) : file_(disk, std::move(name)) {}
  void put(void const* data, index_t bytes) {
    if (bytes == 0) return;
    for (index_t done = 0; done < bytes;) {
      index_t const n = (std::min)(bytes - done, checked_piece - at_ % checked_piece);
      if (at_ % checked_piece == 0) checksums_.push_back(0);
      checksums_.back() = crc32c(static_cast<char const*>(data) + done, std::size_t(n), checksums_.back());
      done += n, at_ += n;
    }
    file_.write(at_ - bytes, data, bytes);
  }
  /// The checksum of the checksums, once all is on the disk.
  std::uint32_t finish() {
    index_t const bytes = index_t(checksums_.size() * sizeof(std::uint32_t));
    file_.write(at_, checksums_.data(), bytes);
    file_.finish();
    return crc32c(checksums_.data(), std::size_t(bytes));
  }

private:
  new_file<Disk> file_;
  index_t at_ = 0;
  std::vector<std::uint32_t> checksums_;
};

/// Such a file, of which `content` bytes are followed by checksums whose own one is `checksum`; whatever is read is checked.
/// Errors: io_error with the name of the file, which is missing, of another length, or whose bytes are others than were written.
class checked_reader {
public:
  template <class = void>
  checked_reader(std::string name, index_t content, std::uint32_t checksum) : file_(std::move(name)), content_(content) {
    index_t const pieces = checked_pieces(content), bytes = pieces * index_t(sizeof(std::uint32_t));
    if (file_.size() != content + bytes)
      file_.fail(text("the file has ", file_.size(), " bytes, where its index says ", content + bytes, file_.size() < content + bytes ? "; it was cut short" : ""));
    checksums_.resize(std::size_t(pieces));
    file_.read(content, bytes, checksums_.data());
    if (crc32c(checksums_.data(), std::size_t(bytes)) != checksum) fail(content, bytes);
  }
  template <class = void>
  void read(index_t at, index_t bytes, void* to) {
    for (index_t const end = at + bytes; at < end;) {
      index_t const piece = at / checked_piece, begin = piece * checked_piece, length = (std::min)(checked_piece, content_ - begin);
      if (piece != loaded_) {
        loaded_ = -1;
        piece_.resize(std::size_t(length));
        file_.read(begin, length, piece_.data());
        if (crc32c(piece_.data(), std::size_t(length)) != checksums_[std::size_t(piece)]) fail(begin, length);
        loaded_ = piece;
      }
      index_t const n = (std::min)(end, begin + length) - at;
      std::memcpy(to, piece_.data() + (at - begin), std::size_t(n));
      to = static_cast<char*>(to) + n, at += n;
    }
  }
  std::string const& name() const { return file_.name(); }

private:
  template <class = void>
  [[noreturn]] void fail(index_t begin, index_t bytes) const {
    file_.fail(text("the bytes ", begin, " to ", begin + bytes - 1, " have another checksum (CRC-32C) than when they were written: the file is damaged"));
  }
  ranged_file file_;
  index_t content_, loaded_ = -1;
  std::vector<std::uint32_t> checksums_;
  std::vector<char> piece_;
};

} // namespace sla::detail

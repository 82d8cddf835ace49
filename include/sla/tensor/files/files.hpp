// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files: opened to be read, and written beside the old one, whose place they take once they are whole and on the disk. Nothing is
// lost by a write that is refused or fails.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include <sla/core/error.hpp>

namespace sla::detail {

/// The system's reason for what just failed.
inline std::string errno_text() { return errno ? std::strerror(errno) : "unknown reason"; }

/// f(stream) for the file at `path`. Errors: it cannot be opened.
template <class Stream, class F>
auto with_file(std::string const& path, F const& f) {
  errno = 0;
  Stream stream(path, std::ios::binary);
  if (!stream) throw io_error(path, 0, 0, text("the file cannot be opened: ", errno_text()));
  return f(stream);
}

/// A new file beside the one at `path`, which goes with this object unless it has taken that place. Where a new one would not be the
/// same (the old one has other names, or an owner or group that the writer cannot give), its content is copied into the old one. What
/// is no file that can be replaced (a pipe, a device, the standard streams) is written to as it stands.
class replacement {
public:
  /// Errors: io_error, if the old file must not be written, or the folder takes no new one.
  template <class = void>
  explicit replacement(std::string const& path) : path_(path), name_(path) {
    struct stat old {};
    bool const exists = ::stat(path.c_str(), &old) == 0;
    auto begins = [&](char const* with) { return path.rfind(with, 0) == 0; };
    if (exists && (!S_ISREG(old.st_mode) || begins("/dev/std") || begins("/dev/fd/") || begins("/proc/"))) return;
    if (struct stat link {}; !exists && ::lstat(path.c_str(), &link) == 0) return;  // a link that leads nowhere yet
    target_ = exists ? behind_links(path) : path;
    if (exists && ::access(target_.c_str(), W_OK) != 0) throw io_error(path, 0, 0, text("the file cannot be opened: ", errno_text()));
    int file = -1;
    std::string beside = target_;
    for (int n = 0; file < 0; ++n) {
      name_ = text(beside, ".part", n);
      file = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, exists ? 0600 : 0666);
      if (file < 0 && errno == ENAMETOOLONG && !beside.empty() && beside.back() != '/')
        beside.resize(target_.rfind('/') + 1);  // in the folder, without the name
      else if (file < 0 && errno != EEXIST)
        throw io_error(path, 0, 0, text("the file cannot be opened: ", name_, ", which is to take its place, cannot be made: ", errno_text()));
    }
    if (exists) {
      copies_ = old.st_nlink > 1 || ::fchown(file, old.st_uid, old.st_gid) != 0;  // which only some may do
      if (!copies_) ::fchmod(file, old.st_mode & 0777);
    }
    ::close(file);
  }
  replacement(replacement const&) = delete;
  ~replacement() {
    if (!target_.empty()) std::remove(name_.c_str());
  }
  /// Where to write.
  std::string const& name() const { return name_; }
  /// Errors: io_error; the new file then stays beside the old one if that is no longer whole, and the message names it.
  template <class = void>
  void take_place() {
    if (target_.empty()) return;
    synchronise(name_);
    if (copies_) return copy();
    if (std::rename(name_.c_str(), target_.c_str()) != 0) throw io_error(path_, 0, 0, text("the file cannot be replaced: ", errno_text()));
    target_.clear();
  }

private:
  /// What is written reaches the disk, before it is what others find.
  template <class = void>
  void synchronise(std::string const& name) const {
    int const file = ::open(name.c_str(), O_WRONLY | O_CLOEXEC);
    bool const done = file >= 0 && (::fsync(file) == 0 || errno == EINVAL);  // EINVAL: there is no disk
    std::string const why = errno_text();
    if (file >= 0) ::close(file);
    if (!done) throw io_error(path_, 0, 0, text("the file cannot be written to its end: ", why));
  }
  template <class = void>
  void copy() {
    std::ifstream from(name_, std::ios::binary);
    if (!from) throw io_error(path_, 0, 0, text("the file cannot be replaced: ", errno_text()));
    std::ofstream to(target_, std::ios::binary);
    if (!to) throw io_error(path_, 0, 0, text("the file cannot be replaced: ", errno_text()));
    auto const target = std::exchange(target_, "");  // from here on the new file is the whole one
    if (from.peek() != std::ifstream::traits_type::eof()) to << from.rdbuf();
    to.close();
    if (!to || from.bad()) throw io_error(path_, 0, 0, text("the file cannot be written to its end; what it was to hold is in ", name_));
    synchronise(target);
    std::remove(name_.c_str());
  }
  template <class Char = char>
  static std::string behind_links(std::string const& path) {
    std::unique_ptr<Char, void (*)(void*)> const found(::realpath(path.c_str(), nullptr), std::free);
    return found ? found.get() : path;
  }
  std::string path_, target_, name_;
  bool copies_ = false;
};

/// f(stream) for a new file that takes the place of the one at `path` when all is written. It stands beside it until then, and
/// goes if f throws or the disk is full. Links of both kinds still lead to it; owner, group and permissions stay.
/// Errors: io_error, if the file cannot be made, written to its end or replaced; the old one is then as it was. Only where it has
/// several names, or an owner or group that the writer cannot give, may it be lost to a full disk: the new one then stays beside it.
template <class Stream, class F>
void write_file(std::string const& path, F const& f) {
  replacement file(path);
  errno = 0;
  Stream stream(file.name(), std::ios::binary);
  if (!stream) throw io_error(path, 0, 0, text("the file cannot be opened: ", errno_text()));
  f(stream);
  stream.close();
  if (!stream) throw io_error(path, 0, 0, "the file cannot be written to its end");
  file.take_place();
}

} // namespace sla::detail

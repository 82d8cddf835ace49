// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files: opened to be read, and written beside the old one, whose place they take once they are whole. Nothing is lost by a
// write that is refused or fails.
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

/// A new file beside the one at `path`, which goes with this object unless it has taken that place. What is no file that can
/// be replaced (a pipe, a device, the standard streams) is written to as it stands.
class replacement {
public:
  /// Errors: io_error, if the old file must not be written, or the folder takes no new one.
  explicit replacement(std::string const& path) : path_(path), name_(path) {
    struct stat old {};
    bool const exists = ::stat(path.c_str(), &old) == 0;
    auto begins = [&](char const* with) { return path.rfind(with, 0) == 0; };
    if (exists && (!S_ISREG(old.st_mode) || begins("/dev/std") || begins("/dev/fd/") || begins("/proc/"))) return;
    if (struct stat link {}; !exists && ::lstat(path.c_str(), &link) == 0) return;  // a link that leads nowhere yet
    target_ = exists ? behind_links(path) : path;
    if (exists && ::access(target_.c_str(), W_OK) != 0) throw io_error(path, 0, 0, text("the file cannot be opened: ", errno_text()));
    int file = -1;
    for (int n = 0; file < 0; ++n) {
      name_ = text(target_, ".part", n);
      file = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, exists ? 0600 : 0666);
      if (file < 0 && errno != EEXIST)
        throw io_error(path, 0, 0, text("the file cannot be opened: ", name_, ", which is to take its place, cannot be made: ", errno_text()));
    }
    if (exists) {
      [[maybe_unused]] int const given = ::fchown(file, old.st_uid, old.st_gid);  // what only some may do; else it is the writer's
      ::fchmod(file, old.st_mode & 0777);
    }
    ::close(file);
  }
  replacement(replacement const&) = delete;
  ~replacement() {
    if (!target_.empty()) std::remove(name_.c_str());
  }
  /// Where to write.
  std::string const& name() const { return name_; }
  void take_place() {
    if (target_.empty()) return;
    if (std::rename(name_.c_str(), target_.c_str()) != 0) throw io_error(path_, 0, 0, text("the file cannot be replaced: ", errno_text()));
    target_.clear();
  }

private:
  static std::string behind_links(std::string const& path) {
    std::unique_ptr<char, void (*)(void*)> const found(::realpath(path.c_str(), nullptr), std::free);
    return found ? found.get() : path;
  }
  std::string path_, target_, name_;
};

/// f(stream) for a new file that takes the place of the one at `path` when all is written. It stands beside it until then, and
/// goes if f throws or the disk is full. Links still lead to it; permissions stay.
/// Errors: io_error, if the file cannot be made, written to its end or replaced; the old one is then as it was.
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

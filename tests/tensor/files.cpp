// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files that are replaced: the old one stays until the new one is whole, whatever happens in between.
#include "catch.hpp"

#include <grp.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <thread>
#include <vector>

#include <sla/tensor/files/matrix_market_write.hpp>
#include <sla/tensor/problems/problems.hpp>
#include <sla/tensor/files/spy.hpp>

namespace test_files {

using namespace sla;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {
/// A folder of its own, gone with its scope.
struct scratch_folder {
  fs::path path;
  explicit scratch_folder(std::string const& name) : path(fs::absolute("scratch_folder_" + name + "_" + std::to_string(::getpid()))) { fs::create_directory(path); }
  ~scratch_folder() { fs::remove_all(path); }
  std::string operator/(std::string const& name) const { return (path / name).string(); }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (auto const& entry : fs::directory_iterator(path)) out.push_back(entry.path().filename().string());
    std::sort(out.begin(), out.end());
    return out;
  }
};
std::string bytes(std::string const& name) {
  std::ifstream in(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
auto const old_matrix = problems::poisson({3, 3});
auto unsymmetric() { return from_triplets<double>(2, 2, {0}, {1}, {1.0}); }
using names = std::vector<std::string>;
} // namespace

TEST_CASE("a write that is refused leaves the old file, and nothing beside it") {
  scratch_folder const folder("refused");
  std::string const file = folder / "a.mtx";
  write_matrix_market(file, old_matrix);
  std::string const before = bytes(file);
  REQUIRE(before.size() > 100);
  CHECK_THROWS_AS(write_matrix_market(file, unsymmetric(), {.symmetry = matrix_symmetry::symmetric}), value_error);
  CHECK(bytes(file) == before);
  CHECK_THROWS_AS(write_matrix_market(folder / "new.mtx", unsymmetric(), {.symmetry = matrix_symmetry::symmetric}), value_error);
  CHECK(folder.names() == names{"a.mtx"});
  write_matrix_market(file, unsymmetric());
  CHECK(read_matrix_market<double>(file).nnz() == 1);
  CHECK(folder.names() == names{"a.mtx"});
}

TEST_CASE("a full disk leaves the old file, and nothing beside it") {
  scratch_folder const folder("full");
  std::string const file = folder / "a.mtx", picture = folder / "a.svg";
  write_matrix_market(file, old_matrix);
  spy(old_matrix).write_svg(picture);
  std::string const before = bytes(file), drawn = bytes(picture);
  auto const large = problems::poisson({60, 60});
  rlimit room{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &room) == 0);
  auto const handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit const little{4096, room.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &little) == 0);
  std::string said, of_picture;
  try {
    write_matrix_market(file, large);
  } catch (io_error const& e) {
    said = e.what();
  }
  try {
    spy(large, 500).write_svg(picture);
  } catch (io_error const& e) {
    of_picture = e.what();
  }
  ::setrlimit(RLIMIT_FSIZE, &room);
  std::signal(SIGXFSZ, handler);
  CHECK(said == file + ":0:0: the file cannot be written to its end");
  CHECK(of_picture == picture + ":0:0: the file cannot be written to its end");
  CHECK(bytes(file) == before);
  CHECK(bytes(picture) == drawn);
  CHECK(folder.names() == names{"a.mtx", "a.svg"});
}

TEST_CASE("links and permissions stay, pipes and devices are written to") {
  scratch_folder const folder("links");
  std::string const file = folder / "a.mtx", link = folder / "link.mtx";
  write_matrix_market(file, old_matrix);
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
  fs::create_symlink("a.mtx", link);
  write_matrix_market(link, unsymmetric());
  CHECK(fs::is_symlink(link));
  CHECK(read_matrix_market<double>(file).nnz() == 1);
  CHECK(fs::status(file).permissions() == (fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read));

  std::string const dangling = folder / "dangling.mtx";
  fs::create_symlink("b.mtx", dangling);
  write_matrix_market(dangling, unsymmetric());
  CHECK(fs::is_symlink(dangling));
  CHECK(read_matrix_market<double>(folder / "b.mtx").nnz() == 1);

  std::string const pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::string received;
  {
    std::jthread const reader([&] { received = bytes(pipe); });
    write_matrix_market(pipe, old_matrix);
  }
  CHECK(received.find("9 9 33\n") != std::string::npos);
  CHECK(fs::is_fifo(pipe));
  CHECK_THROWS_AS(write_matrix_market(folder.path.string(), old_matrix), io_error);
  CHECK(folder.names() == names{"a.mtx", "b.mtx", "dangling.mtx", "link.mtx", "pipe"});
}

TEST_CASE("all names of a file lead to what is written") {
  scratch_folder const folder("names");
  std::string const file = folder / "a.mtx", other = folder / "other.mtx";
  write_matrix_market(file, old_matrix);
  fs::create_hard_link(file, other);
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  std::string const before = bytes(file);
  CHECK_THROWS_AS(write_matrix_market(file, unsymmetric(), {.symmetry = matrix_symmetry::symmetric}), value_error);
  CHECK(bytes(other) == before);
  for (auto const& name : {file, other}) {  // longer, and shorter than what was there
    auto const next = name == file ? problems::poisson({6, 6}) : unsymmetric();
    write_matrix_market(name, next);
    CHECK(read_matrix_market<double>(file).nnz() == next.nnz());
    CHECK(bytes(file) == bytes(other));
  }
  CHECK(fs::hard_link_count(file) == 2);
  CHECK(fs::status(file).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
  CHECK(folder.names() == names{"a.mtx", "other.mtx"});
}

TEST_CASE("owner and permissions stay where the writer cannot give them to a new file") {
  if (::geteuid() != 0) return;  // only root can write as another
  scratch_folder const folder("owner");
  std::string const file = folder / "a.mtx";
  write_matrix_market(file, old_matrix);
  fs::permissions(file, fs::perms::owner_all | fs::perms::group_read | fs::perms::others_write);
  fs::permissions(folder.path, fs::perms::all);
  pid_t const child = ::fork();
  if (child == 0) {
    int failed = ::chdir(folder.path.c_str()) + ::setgroups(0, nullptr) + ::setgid(65534) + ::setuid(65534);
    try {
      write_matrix_market("a.mtx", unsymmetric());
    } catch (std::exception const&) {
      failed = 1;
    }
    ::_exit(failed);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  struct stat now {};
  REQUIRE(::stat(file.c_str(), &now) == 0);
  CHECK(now.st_uid == 0);
  CHECK(now.st_gid == ::getegid());
  CHECK((now.st_mode & 0777) == 0742);
  CHECK(read_matrix_market<double>(file).nnz() == 1);
  CHECK(folder.names() == names{"a.mtx"});
}

TEST_CASE("names as long as the system takes are written to") {
  scratch_folder const folder("long");
  std::string const name(251, 'n'), longest(255, 'm');
  for (auto const& path : {folder / name, folder / longest}) {
    write_matrix_market(path, old_matrix);
    write_matrix_market(path, unsymmetric());
    CHECK(read_matrix_market<double>(path).nnz() == 1);
  }
  CHECK(folder.names() == names{longest, name});
  auto const at = fs::current_path();
  fs::current_path(folder.path);
  write_matrix_market(std::string(255, 'k'), old_matrix);
  fs::current_path(at);
  CHECK(folder.names() == names{std::string(255, 'k'), longest, name});
  CHECK_THROWS_WITH(write_matrix_market(folder / std::string(256, 'n'), old_matrix), ContainsSubstring("the file cannot be"));
}

TEST_CASE("a file that must not be written, and a folder that takes none, are named") {
  scratch_folder const folder("kept");
  CHECK_THROWS_WITH(write_matrix_market(folder / "no/such.mtx", old_matrix), ContainsSubstring("the file cannot be opened: ") && ContainsSubstring("No such file"));
  if (::geteuid() == 0) return;  // whom nothing is forbidden
  std::string const file = folder / "a.mtx";
  write_matrix_market(file, old_matrix);
  std::string const before = bytes(file);
  fs::permissions(file, fs::perms::owner_read);
  CHECK_THROWS_WITH(write_matrix_market(file, unsymmetric()), ContainsSubstring("the file cannot be opened: Permission denied"));
  fs::permissions(file, fs::perms::owner_all);
  fs::permissions(folder.path, fs::perms::owner_read | fs::perms::owner_exec);
  CHECK_THROWS_WITH(write_matrix_market(file, unsymmetric()), ContainsSubstring("which is to take its place, cannot be made"));
  fs::permissions(folder.path, fs::perms::owner_all);
  CHECK(bytes(file) == before);
}

TEST_CASE("two that write one file at once leave one of theirs, whole") {
  scratch_folder const folder("two");
  std::string const file = folder / "a.mtx";
  auto const A = problems::poisson({20, 20}), B = problems::poisson({25, 25});
  {
    auto write = [&](auto const& matrix) {
      return std::jthread([&file, &matrix] {
        for (int k = 0; k < 20; ++k) write_matrix_market(file, matrix);
      });
    };
    auto const first = write(A), second = write(B);
  }
  auto const rows = read_matrix_market<double>(file).rows();
  CHECK((rows == 400 || rows == 625));
  CHECK(folder.names() == names{"a.mtx"});
}

} // namespace test_files

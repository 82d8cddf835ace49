// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Distributed tensors in files: the bits come back on any number of ranks, the old state outlives whoever is killed, and a damaged file is named.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <complex>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <sla/dist/assembly/diagonal_on_ranks.hpp>
#include <sla/dist/assembly/problems_on_ranks.hpp>
#include <sla/dist/files/petsc_on_ranks.hpp>
#include <sla/dist/matrix/matrix_functions.hpp>
#include <sla/dist/matrix/matrix_product.hpp>

#include "catch.hpp"
#include "data.hpp"
#include "suites/partition.hpp"
#include "suites/spread.hpp"

namespace test_save {

using namespace sla;
using C = std::complex<double>;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {
using Line = mesh<axis<"line">>;

/// A folder of its own, gone with its scope.
struct scratch {
  fs::path folder;
  scratch() {
    static int count = 0;
    folder = fs::absolute("scratch_save_" + std::to_string(::getpid()) + "_" + std::to_string(++count));
    fs::create_directory(folder);
  }
  ~scratch() { fs::remove_all(folder); }
  std::string path() const { return (folder / "state").string(); }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (auto const& entry : fs::directory_iterator(folder)) out.push_back(entry.path().filename().string());
    std::sort(out.begin(), out.end());
    return out;
  }
  std::string shard(int rank, int generation = 1) const { return path() + "." + std::to_string(generation) + "." + std::to_string(rank) + ".safetensors"; }
};
std::string bytes_of(std::string const& name) {
  std::ifstream in(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write(std::string const& name, std::string const& bytes) { std::ofstream(name, std::ios::binary) << bytes; }

template <class T, class E>
bool same(tensor<T, E> const& a, tensor<T, E> const& b) {
  return a.extents() == b.extents() && (a.size() == 0 || std::memcmp(a.data(), b.data(), std::size_t(a.size()) * sizeof(T)) == 0);
}
template <class T, class S, class F>
bool same(sparse_tensor<T, S, F> const& a, sparse_tensor<T, S, F> const& b) {
  return a.shape() == b.shape() && same_pattern(a.pattern(), b.pattern()) && (a.values().size() == 0 || std::memcmp(a.values().data(), b.values().data(), a.values().bytes()) == 0);
}
/// Does f(world) hold on all ranks?
template <class F>
bool all_ranks(int ranks, F const& f) {
  auto const held = threads::run(ranks, f);
  return std::count(held.begin(), held.end(), true) == ranks;
}

/// A matrix, a rectangular one, a vector with zeros of both signs and a NaN, and right-hand sides.
struct sample {
  sparse_tensor<double> A = suite::scattered<double>(30, 30, 90), R = suite::scattered<double>(30, 21, 80);
  sla::vector<double> x = random<double>({30}, 4);
  sla::matrix<double> X = random<double, Extents<dyn, dyn>>({30, 3}, 5);
  sample() { x[0] = -0.0, x[1] = std::numeric_limits<double>::quiet_NaN(); }

  void saved(std::string const& path, int ranks, bool scattered) const {
    threads::run(ranks, [&](auto& world) {
      Line const m(world);
      auto const D = distribute<SparseShard<0>>(A, m, suite::owners_for(A, ranks, scattered));
      save(path, D, distribute<SparseShard<0>>(R, m, suite::owners_for(R, ranks, scattered)), distribute(x, D.row_layout()), distribute(X, D.row_layout()));
    });
  }
  template <class Rows>
  bool loaded(std::string const& path, int ranks, Rows const& rows_of) const {
    return all_ranks(ranks, [&](auto& world) {
      Line const m(world);
      using Mesh = std::remove_const_t<decltype(m)>;
      using D = distributed<sparse_tensor<double>, Mesh, SparseShard<0>>;
      auto const [a, r, v, w] =
          load<D, D, distributed<sla::vector<double>, Mesh, Shard<0, Part<>>>, distributed<sla::matrix<double>, Mesh, Shard<0, Part<>>>>(m, path, rows_of(m));
      return same(gather(a), A) && same(gather(r), R) && same(gather(v), x) && same(gather(w), X) && v.handle()->rows == a.handle()->rows &&
             eval(a * w).local().extent(0) == a.local().rows();
    });
  }
};
} // namespace

TEST_CASE("what ranks save, any number of ranks loads, bit for bit") {
  sample const s;
  auto const as_saved = [](auto const&) { return saved_rows{}; };
  for (int writers : {1, 2, 3, 4, 8})
    for (bool scattered : {false, true}) {
      scratch const at;
      s.saved(at.path(), writers, scattered);
      CHECK(at.names().size() == std::size_t(writers) + 1);
      for (int readers : {1, 2, 3, 4, 8}) {
        INFO(writers << " write, " << readers << " read, scattered: " << scattered);
        CHECK(s.loaded(at.path(), readers, as_saved));
        CHECK(s.loaded(at.path(), readers, [&](auto& m) { return suite::scattered_owners(30, m.size(0)); }));
      }
    }
}

TEST_CASE("rows stay with their owners on as many ranks, and a layout is followed") {
  scratch const at;
  for (auto const& owners : {owner_map(std::vector<index_t>{0, 1, 9, 9, 40}), suite::scattered_owners(40, 4)})
    threads::run(4, [&](auto& world) {
      Line const m(world);
      auto const K = problems::poisson<double>(m, {8, 5}, owners);
      save(at.path(), K);
      auto const kept = load<decltype(K)>(m, at.path()), equal = load<decltype(K)>(m, at.path(), equal_rows{}), like = load<decltype(K)>(m, at.path(), equal.row_layout());
      if (kept.handle()->rows->fingerprint() != owners.fingerprint() || equal.handle()->rows->fingerprint() != owner_map::equal(40, 4).fingerprint() || like.handle()->rows != equal.handle()->rows)
        throw value_error("other owners");
      if (!same(kept.local(), K.local())) throw value_error("another pattern");
    });
}

TEST_CASE("batches, blocks, complex numbers, floats, other dimensions, and files of many pieces come back") {
  scratch const at;
  suite::random_triplets<C> const t(20, 20, 60, 3, 8);
  auto const B = from_triplets<C>(Shape<Batch<2>, dyn, dyn, Block<2, 2>>({}, 20, 20), t.row, t.col, t.value);
  index_t const n = 30000;
  auto const y = random<float, Extents<dyn, dyn>>({3, n}, 6);
  auto const z = random<float>({10}, 7);
  auto const entry = [](index_t i) { return 1.0 / double(i + 1); };
  auto const run = [&](auto& world, auto const& f) {
    Line const m(world);
    auto const D = distribute<SparseShard<0>>(B, m, suite::scattered_owners(20, world.size()));
    auto const E = diagonal(generate(problems::poisson<double>(m, {n}).row_layout(), entry));
    return f(m, D, E, distribute<Shard<1, Balanced>>(y, m), distribute<Shard<0, Strided<2, Balanced>>>(z, m));
  };
  threads::run(4, [&](auto& world) { return run(world, [&](auto const&, auto const&... x) { return save(at.path(), x...), 0; }); });
  for (int ranks : {1, 3, 4})
    CHECK(all_ranks(ranks, [&](auto& world) {
      return run(world, [&](auto const& m, auto const&... x) {
        auto const [d, e, v, w] = load<std::remove_cvref_t<decltype(x)>...>(m, at.path());
        bool right = same(gather(d), B) && same(gather(v), y) && same(gather(w), z) && e.rows() == n;
        for (index_t k = 0; k < e.local().nnz(); ++k) right = right && e.local().values()[k] == entry(e.handle()->rows->global(k));
        return right;
      });
    }));
}

namespace {
auto solution(index_t number) {
  return [number](index_t i) { return double(i + 100 * number); };
}
/// K and a vector that tells its number.
template <class Mesh>
auto state(Mesh const& m, index_t number) {
  auto K = problems::poisson<double>(m, {6, 5});
  auto x = generate(K.row_layout(), solution(number));
  return std::pair(std::move(K), std::move(x));
}
void save_state(std::string const& path, int ranks, index_t number) {
  threads::run(ranks, [&](auto& world) {
    Line const m(world);
    auto const [K, x] = state(m, number);
    save(path, K, x);
  });
}
/// The number of the state at `path`.
index_t state_at(std::string const& path, int ranks = 3) {
  auto const found = threads::run(ranks, [&](auto& world) {
    Line const m(world);
    auto const expected = state(m, 0);
    auto const [K, x] = load<std::remove_cvref_t<decltype(expected.first)>, std::remove_cvref_t<decltype(expected.second)>>(m, path);
    auto const whole = gather(x);
    for (index_t i = 0; i < whole.size(); ++i)
      if (whole[i] != whole[0] + double(i)) return index_t(-1);
    return same(K.local(), expected.first.local()) ? index_t(whole[0]) / 100 : index_t(-2);
  });
  for (index_t n : found)
    if (n != found[0]) return -3;
  return found[0];
}

/// A disk that calls fail() at its n-th step, half of a write being done.
template <class Fail>
struct failing_disk : detail::system_disk {
  std::atomic<int>* steps;
  int last;
  Fail fail;
  failing_disk(std::atomic<int>& s, int n, Fail f) : steps(&s), last(n), fail(f) {}

  bool now() { return ++*steps == last; }
  int create(std::string const& name) {
    if (now()) fail();
    return detail::system_disk::create(name);
  }
  void write(int file, std::string const& name, index_t at, void const* data, index_t bytes) {
    bool const stops = now();
    detail::system_disk::write(file, name, at, data, stops ? bytes / 2 : bytes);
    if (stops) fail();
  }
  void finish(int file, std::string const& name) {
    if (now()) fail();
    detail::system_disk::finish(file, name);
  }
  void rename(std::string const& name, std::string const& to) {
    if (now()) fail();
    detail::system_disk::rename(name, to);
    if (now()) fail();
  }
  void remove(std::string const& name) {
    if (now()) fail();
    detail::system_disk::remove(name);
  }
};
template <class Fail>
void save_failing(std::string const& path, index_t number, std::atomic<int>& steps, int last, Fail const& fail) {
  threads::run(2, [&](auto& world) {
    Line const m(world);
    auto const [K, x] = state(m, number);
    failing_disk<Fail> disk(steps, last, fail);
    detail::save_on(disk, path, K, x);
  });
}
} // namespace

TEST_CASE("whoever is killed at any step of a save leaves the old state or the new one") {
  scratch const at;
  save_state(at.path(), 3, 0);
  index_t number = 0;
  int killed = 0, kept = 0;
  for (bool done = false; !done && killed < 1000;) {
    ++killed;
    pid_t const child = ::fork();
    if (child == 0) {
      try {
        std::atomic<int> steps = 0;
        save_failing(at.path(), number + 1, steps, killed, [] { ::_exit(9); });
      } catch (std::exception const&) {
        ::_exit(1);
      }
      ::_exit(0);
    }
    int status = 0;
    REQUIRE((::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) != 1));
    done = WEXITSTATUS(status) == 0;
    index_t const found = state_at(at.path());
    CHECK((found == number || found == number + 1));
    kept += found == number;
    number = found;
  }
  CHECK(killed > 20);
  CHECK(kept > 15);  // all but those behind the rename
  CHECK(at.names().size() == 3);  // the index and two shards: the rest of the killed is gone
}

/// A disk that calls fail() when all ranks together have written so many bytes.
template <class Fail>
struct short_disk : detail::system_disk {
  std::atomic<index_t>* left;
  Fail fail;
  short_disk(std::atomic<index_t>& l, Fail f) : left(&l), fail(f) {}

  void write(int file, std::string const& name, index_t at, void const* data, index_t bytes) {
    index_t const had = left->fetch_sub(bytes);
    detail::system_disk::write(file, name, at, data, std::clamp(had, index_t(0), bytes));
    if (had < bytes) fail();
  }
};

TEST_CASE("whoever is killed after any byte of a save leaves the old state") {
  scratch const at;
  save_state(at.path(), 2, 0);
  index_t bytes = 0;
  for (bool done = false; !done; bytes += !done) {
    pid_t const child = ::fork();
    if (child == 0) {
      std::atomic<index_t> left = bytes;
      threads::run(2, [&](auto& world) {
        Line const m(world);
        auto const [K, x] = state(m, 1);
        auto const killed = [] { ::_exit(9); };
        short_disk<decltype(killed)> disk(left, killed);
        detail::save_on(disk, at.path(), K, x);
      });
      ::_exit(0);
    }
    int status = 0;
    REQUIRE((::waitpid(child, &status, 0) == child && WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 9)));
    done = WEXITSTATUS(status) == 0;
    REQUIRE(state_at(at.path(), 1) == int(done));
  }
  INFO(bytes << " bytes");
  CHECK(bytes > 1000);
  CHECK(at.names().size() == 3);
}

TEST_CASE("a rank that dies in a save, and a disk that is full, leave the old state") {
  scratch const at;
  save_state(at.path(), 3, 0);
  auto const before = at.names();
  struct death : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  int steps_of_a_save = 0;
  {
    std::atomic<int> steps = 0;
    save_failing(at.path(), 0, steps, 0, [] {});
    steps_of_a_save = steps;
  }
  save_state(at.path(), 3, 0);
  for (int last = 1; last <= steps_of_a_save; ++last) {
    std::atomic<int> steps = 0;
    CHECK_THROWS(save_failing(at.path(), 1, steps, last, [] { throw death("a rank died"); }));
    index_t const found = state_at(at.path());
    CHECK((found == 0 || found == 1));
    save_state(at.path(), 3, 0);
    CHECK(at.names().size() == before.size());
  }
  for (int last = 1; last <= 12; ++last) {  // each is before the rename
    auto const now = at.names();
    std::atomic<int> steps = 0;
    auto const words = suite::words_of(2, [&](auto& world) {
      Line const m(world);
      auto const [K, x] = state(m, 1);
      auto const full = [] { throw io_error("state", 0, 0, "the file cannot be written to its end: No space left on device"); };
      failing_disk<decltype(full)> disk(steps, last, full);
      detail::save_on(disk, at.path(), K, x);
    });
    for (auto const& w : words) CHECK_THAT(w, ContainsSubstring("No space left on device"));
    CHECK(at.names() == now);
  }
  CHECK(state_at(at.path()) == 0);
}

TEST_CASE("a damaged set of files is refused by one sentence that names the file") {
  scratch const at;
  save_state(at.path(), 2, 7);
  CHECK(state_at(at.path()) == 7);
  auto const words = [&](int ranks = 3) {
    auto const all = suite::words_of(ranks, [&](auto& world) {
      Line const m(world);
      auto const like = state(m, 0);
      (void)load<std::remove_cvref_t<decltype(like.first)>, std::remove_cvref_t<decltype(like.second)>>(m, at.path());
    });
    for (auto const& w : all)
      if (w.empty()) return std::string("a rank heard nothing");
    return all[0];
  };
  std::string const shard = at.shard(1), good = bytes_of(shard), index = bytes_of(at.path());
  for (std::size_t n = 0; n < good.size(); n += 61) {
    write(shard, good.substr(0, n));
    CHECK_THAT(words(), ContainsSubstring("state.1.1.safetensors") && ContainsSubstring("it was cut short"));
    auto flipped = good;
    flipped[n] = char(flipped[n] ^ 4);
    write(shard, flipped);
    CHECK_THAT(words(), ContainsSubstring("state.1.1.safetensors") && ContainsSubstring("the file is damaged"));
  }
  for (std::size_t n = 0; n < good.size(); ++n) {  // each byte, heard by one rank
    auto flipped = good;
    flipped[n] = char(flipped[n] ^ 4);
    write(shard, flipped);
    auto const heard = words(1);
    REQUIRE((heard.find("state.1.1.safetensors") != std::string::npos && heard.find("the file is damaged") != std::string::npos));
  }
  write(shard, good + "x");
  CHECK_THAT(words(), ContainsSubstring("state.1.1.safetensors") && ContainsSubstring("where its index says"));
  write(shard, bytes_of(at.shard(0)));
  CHECK_THAT(words(), ContainsSubstring("state.1.1.safetensors"));
  fs::remove(shard);
  CHECK_THAT(words(), ContainsSubstring("state.1.1.safetensors") && ContainsSubstring("No such file"));
  write(shard, good);
  CHECK(state_at(at.path()) == 7);
  for (std::size_t n = 0; n < index.size(); n += 17) {
    auto flipped = index;
    flipped[n] = char(flipped[n] ^ 1);
    write(at.path(), flipped);
    CHECK_THAT(words(), ContainsSubstring("state:0:0: the "));
    write(at.path(), index.substr(0, n));
    CHECK_THAT(words(), ContainsSubstring("state:0:0: the "));
  }
  fs::remove(at.path());
  CHECK_THAT(words(), ContainsSubstring("state:0:0: the file cannot be opened: No such file"));
  write(at.path(), "%%MatrixMarket matrix");
  CHECK_THAT(words(), ContainsSubstring("no index that sla::save has written"));
  for (auto const& w : suite::words_of(2, [&](auto& world) {
         Line const m(world);
         save(at.path(), state(m, 0).second);
       }))
    CHECK_THAT(w, ContainsSubstring("is not replaced: remove it, or give another path"));
  CHECK(bytes_of(at.path()) == "%%MatrixMarket matrix");
}

TEST_CASE("what an earlier version saved is still read, and written so") {
  scratch const at;
  auto const right = all_ranks(2, [&](auto& world) {
    Line const m(world);
    auto const K = problems::poisson<double>(m, {3, 2});
    auto const x = generate(K.row_layout(), [](index_t i) { return C(double(i), -0.5); });
    save(at.path(), K, x);
    auto const [K2, x2] = load<decltype(K), decltype(x)>(m, data("saved"));
    return same(K.local(), K2.local()) && same(x.local(), x2.local());
  });
  CHECK(right);
  CHECK(bytes_of(at.path()) == bytes_of(data("saved")));
  for (int r : {0, 1}) CHECK(bytes_of(at.shard(r)) == bytes_of(data("saved.1." + std::to_string(r) + ".safetensors")));
}

TEST_CASE("PETSc's files are read and written by ranges, as by one rank") {
  scratch const at;
  sample const s;
  write_petsc(at.path(), s.A, s.R, s.x);
  auto const one = bytes_of(at.path());
  for (int ranks : {1, 2, 3, 4, 8}) {
    CHECK(all_ranks(ranks, [&](auto& world) {
      Line const m(world);
      auto const D = read_petsc<double>(m, at.path()), E = read_petsc<double>(m, at.path(), suite::scattered_owners(30, ranks));
      auto const x = read_petsc_vector<double>(D.row_layout(), at.path()), y = read_petsc_vector<double>(E.row_layout(), at.path());
      auto const R = distribute<SparseShard<0>>(s.R, m, equal_rows{});
      write_petsc(at.path() + "2", D, R, x);
      return same(gather(D), s.A) && same(gather(E), s.A) && same(gather(x), s.x) && same(gather(y), s.x);
    }));
    CHECK(bytes_of(at.path() + "2") == one);
  }
  write(at.path(), one.substr(0, one.size() - 3));
  auto const heard = suite::words_of(3, [&](auto& world) { (void)read_petsc<double>(Line(world), at.path()); });
  for (auto const& w : heard) CHECK_THAT(w, ContainsSubstring("it was cut short"));
  auto const scattered = suite::words_of(2, [&](auto& world) {
    Line const m(world);
    write_petsc(at.path(), distribute<SparseShard<0>>(s.A, m, suite::scattered_owners(30, 2)));
  });
  for (auto const& w : scattered) CHECK_THAT(w, ContainsSubstring("these are scattered: repartition(D, equal_rows{}) first"));
}

TEST_CASE("what is not what was saved is one sentence") {
  scratch const at;
  save_state(at.path(), 2, 1);
  auto const heard = [&]<class... X>(std::type_identity<X>...) {
    auto const all = suite::words_of(2, [&](auto& world) { (void)load<X...>(Line(world), at.path()); });
    CHECK(all[0] == all[1]);
    return all[0];
  };
  using Mesh = Line;
  using D = distributed<sparse_tensor<double>, Mesh, SparseShard<0>>;
  std::type_identity<D> const d;
  std::type_identity<distributed<sla::vector<double>, Mesh, Shard<0>>> const v;
  std::type_identity<distributed<sla::matrix<double>, Mesh, Shard<0, Part<>>>> const two;
  std::type_identity<distributed<sla::vector<float>, Mesh, Shard<0, Part<>>>> const narrow;
  CHECK(heard(d, v) == "");  // 30 rows over two ranks, evenly
  CHECK_THAT(heard(d), ContainsSubstring("there are 2 tensors, and the types of 1 are given"));
  CHECK_THAT(heard(v, d), ContainsSubstring("tensor 0 is a sparse tensor of double, 30 x 30, sharded along its axis 0, and the type to be loaded is a dense tensor of double, ?, sharded"));
  CHECK_THAT(heard(d, two), ContainsSubstring("tensor 1 is a dense tensor of double, 30, sharded along its axis 0, and the type to be loaded is a dense tensor of double, ? x ?"));
  CHECK_THAT(heard(d, narrow), ContainsSubstring("is a dense tensor of float, ?"));
  for (auto const& w : suite::words_of(2, [&](auto& world) { save(at.path() + std::to_string(world.rank()), state(Line(world), 0).second); }))
    CHECK_THAT(w, ContainsSubstring("save on rank 1: the path is"));
  auto const missing = suite::words_of(2, [&](auto& world) { save((at.folder / "none" / "state").string(), state(Line(world), 0).second); });
  for (auto const& w : missing) CHECK_THAT(w, ContainsSubstring("none/:0:0: the folder cannot be read: No such file"));
  CHECK(detail::crc32c("123456789", 9) == 0xe3069283u);  // the check value of the catalogue of CRCs
}

} // namespace test_save

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What every engine must do, against the specification on lists: each rank knows what all ranks hold, applies a pure
// function to that list, and compares. A difference is thrown, so that the suite runs on threads and under MPI alike.
#pragma once

#include <array>
#include <complex>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <sla/dist/engine/erase.hpp>
#include <sla/dist/engine/typed_collectives.hpp>

namespace suite {

using sla::any_communicator;
using sla::monoid;
template <class T>
using list = std::vector<std::vector<T>>; // what each rank holds
using lengths = std::vector<std::size_t>;

inline std::size_t at(int r) { return static_cast<std::size_t>(r); }

inline void require(bool condition, any_communicator const& c, std::string const& what) {
  if (!condition)
    throw std::runtime_error(what + " on rank " + std::to_string(c.rank()) + " of " + std::to_string(c.size()));
}

template <class T>
bool same_bits(std::vector<T> const& a, std::vector<T> const& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// What rank r holds in place n: whole numbers from 1 to 5, whose sums and products are exact in any order.
template <class T>
T held(int r, std::size_t n) {
  using Real = sla::real_t<T>;
  Real const re = static_cast<Real>(1 + (at(r) * 7 + n * 3) % 5);
  if constexpr (sla::is_complex<T>)
    return T(re, static_cast<Real>(1 + (at(r) * 3 + n) % 4));
  else
    return re;
}
template <class T>
std::vector<T> holding(int r, std::size_t n) {
  std::vector<T> out(n);
  for (std::size_t k = 0; k < n; ++k) out[k] = held<T>(r, k);
  return out;
}
/// Piece r of a cut has (r + salt) mod 4 elements: some are empty.
inline lengths cut(int ranks, int salt) {
  lengths n;
  for (int r = 0; r < ranks; ++r) n.push_back(at((r + salt) % 4));
  return n;
}
inline std::size_t sum_of(lengths const& n, int until) {
  std::size_t sum = 0;
  for (int r = 0; r < until; ++r) sum += n[at(r)];
  return sum;
}

// ---- the specification: list in, list out --------------------------------------------------------------------------

template <class T>
std::vector<T> folded(list<T> const& xs, monoid how) {
  std::vector<T> out = xs[0];
  for (std::size_t r = 1; r < xs.size(); ++r)
    for (std::size_t n = 0; n < out.size(); ++n) {
      T const x = xs[r][n];
      if (how == monoid::sum || how == monoid::average) out[n] = static_cast<T>(out[n] + x);
      if constexpr (!sla::is_complex<T>) {
        if (how == monoid::product) out[n] = static_cast<T>(out[n] * x);
        if (how == monoid::minimum) out[n] = x < out[n] ? x : out[n];
        if (how == monoid::maximum) out[n] = x > out[n] ? x : out[n];
      }
    }
  if constexpr (sla::Scalar<T>)
    if (how == monoid::average)
      for (T& x : out) x = x / T(static_cast<sla::real_t<T>>(xs.size()));
  return out;
}
template <class T>
std::vector<T> concatenated(list<T> const& xs) {
  std::vector<T> out;
  for (auto const& x : xs) out.insert(out.end(), x.begin(), x.end());
  return out;
}

// ---- the suite -----------------------------------------------------------------------------------------------------

template <class T>
std::vector<monoid> monoids() {
  if constexpr (sla::is_complex<T>)
    return {monoid::sum, monoid::average};
  else if constexpr (sla::Scalar<T>)
    return {monoid::sum, monoid::average, monoid::minimum, monoid::maximum, monoid::product};
  else
    return {monoid::sum, monoid::minimum, monoid::maximum, monoid::product};
}

template <class T>
void folds(any_communicator& c, std::string const& type) {
  for (monoid how : monoids<T>()) {
    std::string const what = std::string(sla::name_of(how)) + " of " + type;
    for (std::size_t const n : lengths{0, 1, 3, 16, 33, 1000}) {
      list<T> xs;
      for (int r = 0; r < c.size(); ++r) xs.push_back(holding<T>(r, n));
      std::vector<T> x = xs[at(c.rank())];
      all_reduce(c, std::span<T>(x), how);
      require(x == folded(xs, how), c, "all_reduce, " + what + ", length " + std::to_string(n));
    }
    T const one = all_reduce(c, held<T>(c.rank(), 2), how);
    list<T> ones;
    for (int r = 0; r < c.size(); ++r) ones.push_back({held<T>(r, 2)});
    require(one == folded(ones, how)[0], c, "all_reduce of a value, " + what);

    for (int salt = 0; salt < 3; ++salt) {
      lengths const n = cut(c.size(), salt);
      list<T> xs;
      for (int r = 0; r < c.size(); ++r) xs.push_back(holding<T>(r, sum_of(n, c.size())));
      std::vector<T> const all = folded(xs, how);
      std::vector<T> mine(n[at(c.rank())]);
      reduce_scatter(c, std::span<T const>(xs[at(c.rank())]), std::span<T>(mine), n, how);
      auto const first = all.begin() + static_cast<std::ptrdiff_t>(sum_of(n, c.rank()));
      require(mine == std::vector<T>(first, first + static_cast<std::ptrdiff_t>(mine.size())), c,
              "reduce_scatter, " + what);
    }
  }
}

template <class T>
void moves(any_communicator& c, std::string const& type, T (*held_by)(int, std::size_t)) {
  auto const make = [&](int r, std::size_t n) {
    std::vector<T> out;
    for (std::size_t k = 0; k < n; ++k) out.push_back(held_by(r, k));
    return out;
  };
  for (int root = 0; root < c.size(); ++root) {
    std::vector<T> x = make(c.rank(), 40);
    broadcast(c, std::span<T>(x), root);
    require(x == make(root, 40), c, "broadcast of " + type);
    std::vector<T> y = make(c.rank(), at(c.rank()));
    broadcast(c, y, root);
    require(y == make(root, at(root)), c, "broadcast of a vector of " + type);
  }
  for (int salt = 0; salt < 3; ++salt) {
    lengths const n = cut(c.size(), salt);
    list<T> xs;
    for (int r = 0; r < c.size(); ++r) xs.push_back(make(r, n[at(r)]));
    std::vector<T> all(sum_of(n, c.size()));
    all_gather(c, std::span<T const>(xs[at(c.rank())]), std::span<T>(all), n);
    require(all == concatenated(xs), c, "all_gather of " + type);
    auto const told = all_gather(c, xs[at(c.rank())]);
    require(told.values == concatenated(xs) && told.counts == n, c, "all_gather of vectors of " + type);

    // Rank r sends (r + 2 q + salt) mod 3 elements to rank q.
    auto const length = [&](int r, int q) { return at((r + 2 * q + salt) % 3); };
    std::vector<T> from, expected;
    lengths send, receive;
    for (int q = 0; q < c.size(); ++q) {
      send.push_back(length(c.rank(), q));
      receive.push_back(length(q, c.rank()));
      for (std::size_t k = 0; k < send.back(); ++k) from.push_back(held_by(c.rank() * 10 + q, k));
      for (std::size_t k = 0; k < receive.back(); ++k) expected.push_back(held_by(q * 10 + c.rank(), k));
    }
    std::vector<T> into(expected.size());
    all_to_all(c, std::span<T const>(from), send, std::span<T>(into), receive);
    require(into == expected, c, "all_to_all of " + type);
    auto const got = all_to_all(c, from, send);
    require(got.values == expected && got.counts == receive, c, "all_to_all of unknown lengths of " + type);
  }
  auto const ranks = all_gather(c, held_by(c.rank(), 3));
  for (int r = 0; r < c.size(); ++r) require(ranks[at(r)] == held_by(r, 3), c, "all_gather of a value of " + type);
}

/// Sums that depend on the order of the ranks are the same bits everywhere; a NaN reaches every rank.
inline void equal_bits(any_communicator& c) {
  for (std::size_t const n : lengths{1, 7, 500}) {
    std::vector<double> x(n);
    for (std::size_t k = 0; k < n; ++k)
      x[k] = 0.1 * (c.rank() + 1) + 1e-9 * static_cast<double>(k * k) / (c.rank() + 3);
    all_reduce(c, std::span<double>(x));
    std::vector<double> first = x;
    broadcast(c, std::span<double>(first));
    require(same_bits(x, first), c, "a sum of doubles, bit by bit");
  }
  double const nan = std::numeric_limits<double>::quiet_NaN();
  for (int bad = 0; bad < c.size(); ++bad)
    for (monoid how : {monoid::sum, monoid::product, monoid::minimum, monoid::maximum}) {
      double const x = all_reduce(c, c.rank() == bad ? nan : 1.0 + c.rank(), how);
      require(x != x, c, "a NaN of one rank in the " + std::string(sla::name_of(how)));
    }
}

inline void messages(any_communicator& c) {
  int const next = (c.rank() + 1) % c.size(), last = (c.rank() + c.size() - 1) % c.size();
  // Three exchanges under way at once, waited for in the reverse order; two messages per pair, one of them empty.
  std::vector<std::vector<int>> out, in;
  std::vector<std::unique_ptr<sla::message_exchange>> under_way;
  for (int k = 0; k < 3; ++k) {
    out.push_back(std::vector<int>(at(5 + k), 100 * c.rank() + k));
    in.push_back(std::vector<int>(at(5 + k), -1));
  }
  for (std::size_t k = 0; k < 3; ++k) {
    auto const outward = sla::send_to(next, std::span<int const>(out[k]));
    auto const inward = sla::receive_from(last, std::span<int>(in[k]));
    std::vector<sla::outgoing_message> const sends{outward, {next, {}}};
    std::vector<sla::incoming_message> const receives{inward, {last, {}}};
    under_way.push_back(c.start(sends, receives));
  }
  for (std::size_t k = 3; k-- > 0;) {
    under_way[k]->wait();
    require(under_way[k]->done(), c, "an exchange that was waited for is done");
    require(in[k] == std::vector<int>(5 + k, 100 * last + static_cast<int>(k)), c, "messages around a ring");
  }
  // One to everybody, itself included; the destructor waits.
  std::vector<double> from(at(c.size()), -1.0);
  double const mine = 0.5 + c.rank();
  {
    std::vector<sla::outgoing_message> sends;
    std::vector<sla::incoming_message> receives;
    for (int r = 0; r < c.size(); ++r) {
      sends.push_back(sla::send_to(r, std::span<double const>(&mine, 1)));
      receives.push_back(sla::receive_from(r, std::span<double>(&from[at(r)], 1)));
    }
    auto const e = c.start(sends, receives);
  }
  for (int r = 0; r < c.size(); ++r) require(from[at(r)] == 0.5 + r, c, "messages to all");
  // A message and a collective may overlap.
  int got = -1;
  std::vector<sla::outgoing_message> const sends{sla::send_to(next, std::span<int const>(&next, 1))};
  std::vector<sla::incoming_message> const receives{sla::receive_from(last, std::span<int>(&got, 1))};
  auto const e = c.start(sends, receives);
  require(all_reduce(c, 1) == c.size(), c, "a sum while a message is under way");
  e->wait();
  require(got == c.rank(), c, "a message around a sum");
  while (!e->done()) {
  }
}

/// Messages around a ring, twice the same ranks at once, in several rounds: what the memory holds when a round begins arrives.
inline void repeated(any_communicator& c) {
  int const next = (c.rank() + 1) % c.size(), last = (c.rank() + c.size() - 1) % c.size();
  std::vector<std::array<int, 3>> out(2), in(2);
  std::vector<std::unique_ptr<sla::repeated_exchange>> rings;
  for (std::size_t k = 0; k < 2; ++k) {
    std::vector<sla::outgoing_message> const sends{sla::send_to(next, std::span<int const>(out[k]))};
    std::vector<sla::incoming_message> const receives{sla::receive_from(last, std::span<int>(in[k]))};
    rings.push_back(c.repeat(sends, receives));
  }
  auto const before = c.stats();
  for (int round = 0; round < 3; ++round) {
    auto const sent = [&](int rank, std::size_t k) { return std::array{rank, round, static_cast<int>(k)}; };
    for (std::size_t k = 0; k < 2; ++k) {
      out[k] = sent(c.rank(), k);
      c.begin(*rings[k]);
    }
    for (std::size_t k = 2; k-- > 0;) {
      rings[k]->wait();
      require(in[k] == sent(last, k) && rings[k]->done() && rings[k]->advance(), c, "a round of repeated messages");
    }
    require(all_reduce(c, 1) == c.size(), c, "a sum between rounds");
  }
  require(c.stats().messages - before.messages == 6 && c.stats().message_bytes - before.message_bytes == 72, c, "traffic of repeated messages");
  c.begin(*rings[0]);  // the destructor waits
}

inline void parts(any_communicator& c) {
  // Even and odd ranks, backwards.
  auto const half = c.split(c.rank() % 2, -c.rank());
  int const members = (c.size() - c.rank() % 2 + 1) / 2;
  require(half->size() == members && half->rank() == members - 1 - c.rank() / 2, c, "split");
  auto const ranks = all_gather(*half, c.rank());
  for (int k = 0; k < members; ++k)
    require(ranks[at(k)] == c.rank() % 2 + 2 * (members - 1 - k), c, "the order of a split");
  // Rows and columns of every mesh of two axes.
  for (int rows = 1; rows <= c.size(); ++rows) {
    if (c.size() % rows != 0) continue;
    int const columns = c.size() / rows, row = c.rank() / columns, column = c.rank() % columns;
    auto const down = c.axis(rows, columns), across = c.axis(columns, 1);
    require(down->size() == rows && down->rank() == row && across->size() == columns && across->rank() == column, c,
            "axis");
    auto const in_column = all_gather(*down, c.rank()), in_row = all_gather(*across, c.rank());
    for (int r = 0; r < rows; ++r)
      require(in_column[at(r)] == r * columns + column, c, "the ranks of an axis, downwards");
    for (int k = 0; k < columns; ++k) require(in_row[at(k)] == row * columns + k, c, "the ranks of an axis, across");
    require(all_reduce(*across, all_reduce(*down, 1)) == c.size(), c, "sums over both axes");
    messages(*down);
  }
}

inline void counted(any_communicator& c) {
  c.reset_stats();
  all_reduce(c, 1.0);
  c.barrier();
  all_gather(c, 1.0f);
  double const x = 1;
  double y = 0;
  std::vector<sla::outgoing_message> const sends{sla::send_to(c.rank(), std::span<double const>(&x, 1))};
  std::vector<sla::incoming_message> const receives{sla::receive_from(c.rank(), std::span<double>(&y, 1))};
  c.start(sends, receives)->wait();
  sla::traffic const t = c.stats();
  require(t.collectives() == 3 && t.count(sla::collective::all_reduce) == 1 && t.collective_bytes == 12, c,
          "traffic of collectives");
  require(t.exchanges == 1 && t.messages == 1 && t.message_bytes == 8 && y == 1, c, "traffic of messages");
}

template <class Error, class Call>
void refuses(any_communicator& c, std::string_view sentence, Call call) {
  try {
    call();
  } catch (Error const& e) {
    require(std::string_view(e.what()).find(sentence) != std::string_view::npos, c,
            std::string("the sentence ") + e.what());
    return;
  }
  require(false, c, "no error for: " + std::string(sentence));
}

inline void bad_arguments(any_communicator& c) {
  std::vector<double> x(3), y(5);
  lengths const n(at(c.size()), 2), too_many(at(c.size() + 1), 2);
  refuses<sla::shape_error>(c, "x float64 need",
                            [&] { all_gather(c, std::span<double const>(x), std::span<double>(y), n); });
  refuses<sla::shape_error>(c, "counts for",
                            [&] { all_gather(c, std::span<double const>(x), std::span<double>(y), too_many); });
  refuses<sla::index_error>(c, "is not one of 0 to", [&] { broadcast(c, std::span<double>(x), c.size()); });
  refuses<sla::index_error>(c, "is not one of 0 to", [&] {
    std::vector<sla::outgoing_message> const sends{sla::send_to(-1, std::span<double const>(x))};
    auto const e = c.start(sends, {});
  });
  refuses<sla::value_error>(c, "average of elements int32", [&] { all_reduce(c, 1, monoid::average); });
  refuses<sla::value_error>(c, "complex numbers", [&] { all_reduce(c, std::complex<double>(1, 1), monoid::maximum); });
  refuses<sla::value_error>(c, "is negative", [&] { c.split(-1, 0); });
  refuses<sla::shape_error>(c, "does not divide", [&] { c.axis(c.size() + 1, 1); });
}

struct triple {
  char a;
  int b;
  double c;
  bool operator==(triple const&) const = default;
};

inline void communicator(any_communicator& c) {
  folds<float>(c, "float");
  folds<double>(c, "double");
  folds<std::complex<double>>(c, "std::complex<double>");
  folds<sla::complex<float>>(c, "sla::complex<float>");
  folds<std::int32_t>(c, "int32");
  folds<std::int64_t>(c, "int64");
  folds<std::uint64_t>(c, "uint64");
  moves<double>(c, "double", held<double>);
  moves<std::complex<float>>(c, "std::complex<float>", held<std::complex<float>>);
  moves<triple>(c, "a struct", [](int r, std::size_t n) {
    return triple{char('a' + r % 20), static_cast<int>(n), 0.5 * r};
  });
  equal_bits(c);
  messages(c);
  repeated(c);
  parts(c);
  counted(c);
  bad_arguments(c);
  c.barrier();
}

} // namespace suite

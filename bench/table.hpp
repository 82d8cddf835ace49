// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What every benchmark shares: repetitions in turn, medians with their spread, ratios repetition by repetition, and tables
// in Markdown. The machine's bandwidth is in triad.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sla/core/error.hpp>

namespace bench {

using sla::text;

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
template <class F>
double seconds(F const& f) {
  double const start = now();
  f();
  return now() - start;
}

/// Seconds that the processor works at f, by one of its clocks: what others take from the machine is not counted.
template <class F>
double seconds_of(clockid_t clock, F const& f) {
  auto now = [clock] {
    timespec t;
    clock_gettime(clock, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
  };
  double const start = now();
  f();
  return now() - start;
}
/// On this thread.
template <class F>
double cpu_seconds(F const& f) {
  return seconds_of(CLOCK_THREAD_CPUTIME_ID, f);
}
/// On all threads.
template <class F>
double process_seconds(F const& f) {
  return seconds_of(CLOCK_PROCESS_CPUTIME_ID, f);
}

/// Repeated measurements of one thing.
class samples {
 public:
  void add(double value) { values_.push_back(value); }
  std::size_t size() const { return values_.size(); }
  double operator[](std::size_t n) const { return values_[n]; }
  double median() const {
    auto v = values_;
    std::sort(v.begin(), v.end());
    return (v[(v.size() - 1) / 2] + v[v.size() / 2]) / 2;
  }
  double low() const { return *std::min_element(values_.begin(), values_.end()); }
  double high() const { return *std::max_element(values_.begin(), values_.end()); }
  /// Each measurement through f.
  template <class F>
  samples map(F const& f) const {
    samples out;
    for (double v : values_) out.add(f(v));
    return out;
  }

 private:
  std::vector<double> values_;
};

/// a / b, repetition by repetition: what drifts with the machine drifts in both.
inline samples operator/(samples const& a, samples const& b) {
  samples out;
  for (std::size_t n = 0; n < a.size(); ++n) out.add(a[n] / b[n]);
  return out;
}

/// The seconds of each part: all of them in turn, once without counting, then `repetitions` times. Of one thread, seconds of its processor.
template <class... Parts>
std::array<samples, sizeof...(Parts)> interleaved_on(int threads, int repetitions, Parts const&... parts) {
  std::array<samples, sizeof...(Parts)> out;
  for (int k = -1; k < repetitions; ++k) {
    std::size_t n = 0;
    auto one = [&](auto const& part) {
      double const t = threads == 1 ? cpu_seconds(part) : seconds(part);
      if (k >= 0) out[n].add(t);
      ++n;
    };
    (one(parts), ...);
  }
  return out;
}
/// The same of parts that may have any number of threads.
template <class... Parts>
std::array<samples, sizeof...(Parts)> interleaved(int repetitions, Parts const&... parts) {
  return interleaved_on(0, repetitions, parts...);
}

inline std::string fixed(double value, int digits) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.*f", digits, value);
  return buffer;
}
inline std::string scientific(double value) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.1e", value);
  return buffer;
}
/// "median (lowest .. highest)"
inline std::string spread(samples const& s, int digits, double scale = 1) {
  return text(fixed(s.median() * scale, digits), " (", fixed(s.low() * scale, digits), " .. ", fixed(s.high() * scale, digits), ')');
}
/// A target and whether the median meets it.
inline std::string target(samples const& s, double wanted, int digits = 2) {
  return text(">= ", fixed(wanted, digits), s.median() >= wanted ? ": met" : ": missed");
}

/// Rows of text, printed as a Markdown table.
class table {
 public:
  explicit table(std::vector<std::string> heads) { rows_.push_back(std::move(heads)); }
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  ~table() {
    std::vector<std::size_t> width(rows_[0].size(), 0);
    for (auto const& r : rows_)
      for (std::size_t c = 0; c < r.size(); ++c) width[c] = (std::max)(width[c], r[c].size());
    for (std::size_t n = 0; n < rows_.size(); ++n) {
      for (std::size_t c = 0; c < rows_[n].size(); ++c)
        std::cout << "| " << rows_[n][c] << std::string(width[c] - rows_[n][c].size() + 1, ' ');
      std::cout << "|\n";
      if (n > 0) continue;
      for (std::size_t w : width) std::cout << '|' << std::string(w + 2, '-');
      std::cout << "|\n";
    }
    std::cout << std::endl;
  }
  table(table const&) = delete;
  table& operator=(table const&) = delete;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// Bytes of the largest cache that the first processor sees; 32 MiB where the system does not say.
inline double last_level_cache() {
  double kibibytes = 0;
  for (int level = 0; level < 4; ++level) {
    double found = 0;
    if (std::ifstream in(text("/sys/devices/system/cpu/cpu0/cache/index", level, "/size")); in >> found) kibibytes = (std::max)(kibibytes, found);
  }
  return (kibibytes > 0 ? kibibytes : 32 * 1024) * 1024;
}

/// The heading of a program's output: what it measures, where, and how it was compiled.
inline void heading(std::string const& what) {
  std::string model = "unknown processor", line, pages = "unknown";
  for (std::ifstream info("/proc/cpuinfo"); std::getline(info, line);)
    if (line.rfind("model name", 0) == 0) {
      model = line.substr(line.find(':') + 2);
      break;
    }
  if (std::ifstream in("/sys/kernel/mm/transparent_hugepage/enabled"); in) std::getline(in, pages);
  std::cout << "## " << what << "\n\n" << model << ", " << std::thread::hardware_concurrency() << " threads, last-level cache "
            << last_level_cache() / (1 << 20) << " MiB, large pages: " << pages << ". Compiler " << __VERSION__ << ", " << SLA_BENCH_FLAGS
            << ". Medians (lowest .. highest) of runs in turn; ratios within each turn.\n\n";
}

/// The n-th argument as a number, or `otherwise`.
inline long argument(int argc, char** argv, int n, long otherwise) { return n < argc ? std::atol(argv[n]) : otherwise; }

}  // namespace bench

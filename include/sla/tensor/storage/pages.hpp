// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Long runs of host memory: large pages from the system, where it has them. Each thread keeps the last few that it freed:
// fresh pages cost as much as several passes over them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

namespace sla::detail {

inline constexpr std::size_t large_page = std::size_t(1) << 21;

/// A run of whole pages. Its memory starts some lines behind the first page's start: runs that all begin at one offset
/// fight for the same cache sets. The line before it says how long the run is while it is in use.
struct page_run {
  void* at = nullptr;
  std::size_t length = 0;

  static constexpr std::size_t colour = 832, colours = 5, line = 64;
  /// The length of a run that holds so many bytes.
  static std::size_t length_for(std::size_t bytes) { return (bytes + colour * colours + large_page - 1) / large_page * large_page; }

#ifdef MADV_HUGEPAGE
  static page_run from_system(std::size_t length) noexcept {
    void* const raw = mmap(nullptr, length + large_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) return {};
    auto const first = reinterpret_cast<std::uintptr_t>(raw), start = (first + large_page - 1) / large_page * large_page;
    if (start > first) munmap(raw, start - first);
    if (first + large_page > start) munmap(reinterpret_cast<void*>(start + length), first + large_page - start);
    madvise(reinterpret_cast<void*>(start), length, MADV_HUGEPAGE);
    static std::atomic<std::size_t> turn{0};
    return {reinterpret_cast<void*>(start + line + turn++ % colours * colour), length};
  }
  void to_system() const noexcept { munmap(pages(), length); }
  /// A run in use, by its memory; and the memory of one that is about to be.
  static page_run in_use(void* at) noexcept { return {at, *length_before(at)}; }
  void* use() const noexcept {
    if (at) *length_before(at) = length;
    return at;
  }
  /// The system may take the contents, and then the memory, back before the run is used again.
  void offer() const noexcept {
#ifdef MADV_FREE
    madvise(pages(), length, MADV_FREE);
#endif
  }

private:
  static std::size_t* length_before(void* at) { return reinterpret_cast<std::size_t*>(static_cast<char*>(at) - line); }
  void* pages() const { return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(at) / large_page * large_page); }
#else
  static page_run from_system(std::size_t length) noexcept {
    char* const first = static_cast<char*>(std::aligned_alloc(line, length));
    return {first ? first + line : nullptr, length};
  }
  void to_system() const noexcept { std::free(static_cast<char*>(at) - line); }
  void offer() const noexcept {}

private:
  static std::size_t* length_before(void* at) { return reinterpret_cast<std::size_t*>(static_cast<char*>(at) - line); }
#endif
};

/// The runs that this thread freed last.
class kept_runs {
public:
  kept_runs() = default;
  kept_runs(kept_runs const&) = delete;
  ~kept_runs() {
    trim(0);
    closed = true;
  }
  /// False once the thread's list is gone: other statics are destroyed later.
  static bool open() { return !closed; }

  /// The shortest run of this length or up to a half more, or none.
  page_run take(std::size_t length) noexcept {
    std::size_t best = count_;
    for (std::size_t k = count_; k-- > 0;)
      if (runs_[k].length >= length && runs_[k].length <= length + length / 2 && (best == count_ || runs_[k].length < runs_[best].length)) best = k;
    return best == count_ ? page_run{} : remove(best);
  }
  /// Keeps the run, then trims.
  void give(page_run run, std::size_t most) noexcept {
    if (count_ == runs_.size()) remove(0).to_system();
    run.offer();
    runs_[count_++] = run;
    bytes_ += run.length;
    trim(most);
  }
  /// Frees the oldest until at most `most` bytes are kept.
  void trim(std::size_t most) noexcept {
    while (bytes_ > most) remove(0).to_system();
  }

private:
  page_run remove(std::size_t k) noexcept {
    page_run const out = runs_[k];
    for (--count_; k < count_; ++k) runs_[k] = runs_[k + 1];
    bytes_ -= out.length;
    return out;
  }

  static inline thread_local bool closed = false;
  std::array<page_run, 8> runs_{};
  std::size_t count_ = 0, bytes_ = 0;
};

inline kept_runs& runs_of_this_thread() {
  thread_local kept_runs runs;
  return runs;
}

/// Null, if the system has no such run even without those that the thread keeps.
inline void* take_run(std::size_t bytes) noexcept {
  std::size_t const length = page_run::length_for(bytes);
  if (!kept_runs::open()) return page_run::from_system(length).use();
  auto& kept = runs_of_this_thread();
  if (page_run const again = kept.take(length); again.at) return again.use();
  if (page_run const fresh = page_run::from_system(length); fresh.at) return fresh.use();
  kept.trim(0);
  return page_run::from_system(length).use();
}
/// Of the runs that are freed, a thread keeps at most as many bytes as are in use.
inline void give_run(void* p, std::size_t in_use) noexcept {
  page_run const run = page_run::in_use(p);
  if (kept_runs::open())
    runs_of_this_thread().give(run, in_use);
  else
    run.to_system();
}

} // namespace sla::detail

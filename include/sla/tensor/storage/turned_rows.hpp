// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rows of a transpose as a list: what products with A^T read in memories where no thread may add to another's numbers. Made once per
// pattern, at the first such product, from A's own slots; the host scatters instead (expr/sparse/scatter.hpp).
#pragma once

#include <memory>
#include <mutex>

#include <sla/core/config.hpp>
#include <sla/core/held.hpp>
#include <sla/tensor/storage/memory.hpp>

namespace sla {

template <class Col, class Ptr>
struct csr_view;

namespace detail {
/// The rows of A^T as kernels see them: entry n of a row is in slot source[n] of A.
template <class Col, class Ptr>
struct turned_view {
  using format_type = typename csr_view<Col, Ptr>::format_type;
  static constexpr bool is_turned = true;

  Ptr const* row_ptr;
  Col const* col;
  Ptr const* source;
  index_t rows, cols;

  SLA_AS_CALLEE
  template <class F>
  SLA_HD void for_row(index_t i, F&& f) const {
    for (index_t n = row_ptr[i], last = row_ptr[i + 1]; n < last; ++n) f(index_t(source[n]), index_t(col[n]));
  }
  SLA_HD index_t entries_before(index_t i) const { return row_ptr[i]; }
};

/// What owns them.
template <class Col, class Ptr, class Memory>
struct turned_rows {
  buffer<Ptr, Memory> row_ptr;
  buffer<Col, Memory> col;
  buffer<Ptr, Memory> source;
};

/// The list of a pattern, which goes with it. A copy of the pattern makes its own.
template <class Col, class Ptr, class Memory>
class kept_turned_rows {
public:
  kept_turned_rows() = default;
  kept_turned_rows(kept_turned_rows const&) {}
  kept_turned_rows& operator=(kept_turned_rows const&) { return rows_.reset(), *this; }

  /// The list, made by make() where it is not there yet: one thread makes it, and others wait.
  template <class Make>
  turned_rows<Col, Ptr, Memory> const& get(Make const& make) const {
    std::lock_guard const lock(turn_);
    if (!rows_) rows_ = detail::shared_of<turned_rows<Col, Ptr, Memory> const>(make());
    return *rows_;
  }

private:
  mutable std::mutex turn_;
  mutable std::shared_ptr<turned_rows<Col, Ptr, Memory> const> rows_;
};
/// The host needs none.
template <class Col, class Ptr, class Memory>
  requires(Memory::is_host)
class kept_turned_rows<Col, Ptr, Memory> {};

/// The view of a pattern in a memory that the host does not read, with the way to its transpose.
template <class View, class Pattern, class Memory>
struct far_view : View {
  static constexpr bool turns_blocks = true;

  Pattern const* owner;

  /// The rows of the transpose. `turned_rows_in(Memory, pattern)`, found by the memory's namespace, makes the list.
  auto transposed() const {
    auto const& list = owner->turned.get([this] { return turned_rows_in(Memory{}, *owner); });
    return turned(list);
  }

private:
  template <class Col, class Ptr>
  turned_view<Col, Ptr> turned(turned_rows<Col, Ptr, Memory> const& list) const {
    return {list.row_ptr.data(), list.col.data(), list.source.data(), this->cols, this->rows};
  }
};
template <class Memory, class Pattern>
auto view_in(Memory, Pattern const& pattern) {
  if constexpr (!Memory::is_host && requires { pattern.turned; })
    return far_view<decltype(pattern.view()), Pattern, Memory>{pattern.view(), &pattern};
  else
    return pattern.view();
}
} // namespace detail

} // namespace sla

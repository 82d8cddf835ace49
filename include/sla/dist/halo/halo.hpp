// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Halo plans: which of its rows a rank sends to whom, and which copies of others' rows (ghosts) it receives; the exchange, in
// two steps so that work can go on in between, and its reverse, which adds into the owners. Products are in dist/halo/row_product.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <sla/dist/engine/replicated_arguments.hpp>
#include <sla/dist/engine/typed_collectives.hpp>
#include <sla/dist/halo/layout.hpp>
#include <sla/dist/halo/row_runs.hpp>
#include <sla/tensor/storage/parallel.hpp>

namespace sla {

/// A neighbour and a run of a plan's list: entries [first, first + count).
struct halo_message {
  int rank;
  index_t first, count;
};

class halo_plan;
namespace detail {
/// An exchange of a plan for rows of so many bytes, or its reverse: the memory and the messages, which are prepared once.
struct kept_exchange {
  std::size_t row;
  bool reverse;
  std::vector<std::max_align_t> sent, received;
  std::unique_ptr<repeated_exchange> messages;

  template <class = void>
  kept_exchange(halo_plan const& plan, std::size_t row, bool reverse);
};
} // namespace detail

/// What the products of one sparse operand exchange. Ghosts are numbered after the rank's own indices, ordered by owner.
class halo_plan {
public:
  /// Collective. `ghosts` are the global indices that this rank reads and does not own, by owner; `requested` are those that others
  /// read of this rank, by rank (`detail::ask_owners`); `runs` tell which rows read ghosts.
  template <class = void>
  halo_plan(any_communicator& c, row_partition const& domain, detail::foreign_indices const& ghosts, gathered<index_t> const& requested,
            row_runs runs = {})
      : communicator_(&c), own_(domain.count()), runs_(std::move(runs)), ghosts_(ghosts.at), sends_(messages_of(requested.counts)), receives_(messages_of(ghosts.counts)) {
    for (index_t global : requested.values) sent_.push_back(domain.local(global));
    auto const of_rank = detail::hash_bytes(ghosts_.data(), ghosts_.size() * sizeof(index_t), std::uint64_t(c.rank()) + 1);
    std::uint64_t sums[] = {of_rank, ghosts_.size(), receives_.size()};
    all_reduce(c, std::span<std::uint64_t>(sums));
    fingerprint_ = domain.fingerprint() ^ sums[0];
    volume_ = index_t(sums[1]);
    messages_ = index_t(sums[2]);
  }

  any_communicator& communicator() const { return *communicator_; }
  index_t own() const { return own_; }
  index_t ghosts() const { return index_t(ghosts_.size()); }
  /// The global index of a local column: the own ones of `domain`, then the ghosts.
  index_t global(row_partition const& domain, index_t column) const {
    return column < own_ ? domain.global(column) : ghosts_[std::size_t(column - own_)];
  }
  /// The ghosts of all ranks, and the messages in which they come: the same on every rank.
  index_t volume() const { return volume_; }
  index_t messages() const { return messages_; }
  /// The rows that read no ghosts, and the others; of a plan that belongs to no rows, none.
  row_runs const& runs() const { return runs_; }
  std::vector<halo_message> const& sends() const { return sends_; }
  std::vector<halo_message> const& receives() const { return receives_; }
  /// Are the ghosts of all ranks those of another plan, in the same places? All ranks have the same answer.
  bool same_ghosts(halo_plan const& other) const { return fingerprint_ == other.fingerprint_; }
  /// The local indices that are sent, message after message.
  std::vector<index_t> const& sent() const { return sent_; }
  /// What make() makes of them once, for vectors in a memory that is not the host's; that of the last such memory is kept.
  template <class Lists, class Make>
  Lists const& lists_elsewhere(Make const& make) const {
    char const* const kind = &kind_of<Lists>;
    if (kind_elsewhere_ != kind) {
      elsewhere_ = std::make_shared<Lists const>(make());
      kind_elsewhere_ = kind;
    }
    return *static_cast<Lists const*>(elsewhere_.get());
  }

  /// An exchange that is not under way, the last one of its kind that was kept or a new one; `keep` takes it back, and forgets the oldest of four.
  template <class = void>
  std::unique_ptr<detail::kept_exchange> exchange_of(std::size_t row, bool reverse) const {
    for (std::size_t n = kept_.size(); n-- > 0;) {
      if (kept_[n]->row != row || kept_[n]->reverse != reverse) continue;
      auto out = std::move(kept_[n]);
      kept_.erase(kept_.begin() + std::ptrdiff_t(n));
      return out;
    }
    return std::make_unique<detail::kept_exchange>(*this, row, reverse);
  }
  template <class = void>
  void keep(std::unique_ptr<detail::kept_exchange> exchange) const {
    if (kept_.size() == 4) kept_.erase(kept_.begin());
    kept_.push_back(std::move(exchange));
  }

private:
  template <class = void>
  static std::vector<halo_message> messages_of(std::vector<std::size_t> const& counts) {
    std::vector<halo_message> out;
    index_t at = 0;
    for (std::size_t r = 0; r < counts.size(); at += index_t(counts[r++]))
      if (counts[r]) out.push_back({int(r), at, index_t(counts[r])});
    return out;
  }

  any_communicator* communicator_;
  index_t own_, volume_ = 0, messages_ = 0;
  row_runs runs_;
  std::uint64_t fingerprint_ = 0;  // of the domain and of the ghosts of all ranks
  std::vector<index_t> ghosts_, sent_;
  std::vector<halo_message> sends_, receives_;
  mutable std::vector<std::unique_ptr<detail::kept_exchange>> kept_;
  mutable std::shared_ptr<void const> elsewhere_;
  mutable char const* kind_elsewhere_ = nullptr;
  template <class Lists>
  static constexpr char kind_of = 0;  ///< whose address tells them apart
};

namespace detail {
template <class X>
kept_exchange::kept_exchange(halo_plan const& plan, std::size_t row_bytes, bool reversed) : row(row_bytes), reverse(reversed) {
  auto const& to = reverse ? plan.receives() : plan.sends();
  auto const& from = reverse ? plan.sends() : plan.receives();
  auto const bytes = [&](std::vector<halo_message> const& list) { return list.empty() ? 0 : std::size_t(list.back().first + list.back().count) * row; };
  auto const room = [](std::size_t n) { return (n + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t); };
  sent.resize(room(bytes(to))), received.resize(room(bytes(from)));
  std::vector<dependent_t<outgoing_message, X>> sends;
  std::vector<dependent_t<incoming_message, X>> receives;
  using memory = std::span<dependent_t<std::max_align_t, X>>;
  auto const piece = [&](auto all, halo_message const& m) { return all.subspan(std::size_t(m.first) * row, std::size_t(m.count) * row); };
  for (halo_message const& m : to) sends.push_back({m.rank, piece(std::as_bytes(memory(sent)), m)});
  for (halo_message const& m : from) receives.push_back({m.rank, piece(std::as_writable_bytes(memory(received)), m)});
  messages = plan.communicator().repeat(sends, receives);
}
/// Tells the owners which of their indices this rank reads; hears which of its own others read.
template <class Communicator>
gathered<index_t> ask_owners(Communicator& c, foreign_indices const& ghosts) { return all_to_all(c, ghosts.at, ghosts.counts); }

/// The elements of one row of a vector (*batch, own, inner) in a message: batch after batch.
struct row_shape {
  index_t batch, inner;
  index_t size() const { return batch * inner; }
};

/// An exchange of rows of T, or its reverse, under way: it is kept for the next one once it has been waited for. The plan outlives it.
template <class T>
class exchange_under_way {
public:
  exchange_under_way(halo_plan const& plan, row_shape shape, bool reverse)
      : plan_(plan), kept_(plan.exchange_of(std::size_t(shape.size()) * sizeof(T), reverse)) {}
  exchange_under_way(exchange_under_way const&) = delete;
  exchange_under_way& operator=(exchange_under_way const&) = delete;
  ~exchange_under_way() {
    if (waited_) plan_.keep(std::move(kept_));
  }
  T* sent() { return reinterpret_cast<T*>(kept_->sent.data()); }
  T const* received() const { return reinterpret_cast<T const*>(kept_->received.data()); }
  void begin() { plan_.communicator().begin(*kept_->messages); }
  void wait() {
    kept_->messages->wait();
    waited_ = true;
  }
  bool done() { return kept_->messages->done(); }
  bool advance() { return kept_->messages->advance(); }

private:
  halo_plan const& plan_;
  std::unique_ptr<kept_exchange> kept_;
  bool waited_ = false;
};
/// f(element of x, message's, count) for the rows of a plan that others read, several threads at once; x has `own` rows.
template <class F>
void for_sent_rows(halo_plan const& plan, row_shape shape, F const& f) {
  auto const& rows = plan.sent();
  index_t const least = (std::max)(index_t(2), serial_below / (std::max)(index_t(1), shape.size()));
  parallel_ranges(index_t(rows.size()), [&](index_t first, index_t last) {
    for (index_t n = first; n < last; ++n)
      for (index_t b = 0; b < shape.batch; ++b) f((b * plan.own() + rows[std::size_t(n)]) * shape.inner, (n * shape.batch + b) * shape.inner);
  }, least);
}

/// One exchange of a vector's halo under way.
template <class T>
class halo_exchange {
public:
  /// Packs and sends; x has `own` rows. Ghost g of batch item b is at ghosts()[(g * batch + b) * inner].
  halo_exchange(halo_plan const& plan, T const* x, row_shape shape)
      : halo_exchange(plan, shape, [&](T* out) {
          for_sent_rows(plan, shape, [=, inner = shape.inner](index_t at, index_t to) {
            for (index_t w = 0; w < inner; ++w) out[to + w] = x[at + w];
          });
        }) {}
  /// Sends what pack(room) writes there: the rows of `plan.sent()`, each with those of all batch items.
  template <class Pack>
  halo_exchange(halo_plan const& plan, row_shape shape, Pack const& pack) : under_way_(plan, shape, false) {
    pack(under_way_.sent());
    under_way_.begin();
  }
  T const* ghosts() const { return under_way_.received(); }
  void wait() { under_way_.wait(); }
  bool done() { return under_way_.done(); }
  bool advance() { return under_way_.advance(); }

private:
  exchange_under_way<T> under_way_;
};

/// The reverse: contributions to ghosts (laid out as they arrive above) go to their owners.
template <class T>
class reverse_exchange {
public:
  reverse_exchange(halo_plan const& plan, std::span<T const> ghosts, row_shape shape) : plan_(&plan), shape_(shape), under_way_(plan, shape, true) {
    std::copy(ghosts.begin(), ghosts.end(), under_way_.sent());
    under_way_.begin();
  }
  bool done() { return under_way_.done(); }
  /// Waits, and adds them into the owners' rows of y, neighbour by neighbour in rank order.
  void add_to(T* y) {
    add_to_rows([&](std::size_t n, index_t b) { return y + (b * plan_->own() + plan_->sent()[n]) * shape_.inner; });
  }
  /// The same, where row(n, b) is where row n of `plan.sent()` is, of batch item b.
  template <class Row>
  void add_to_rows(Row const& row) {
    under_way_.wait();
    T const* in = under_way_.received();
    for (std::size_t n = 0; n < plan_->sent().size(); ++n)
      for (index_t b = 0; b < shape_.batch; ++b) {
        T* const to = row(n, b);
        for (index_t w = 0; w < shape_.inner; ++w) to[w] += *in++;
      }
  }

private:
  halo_plan const* plan_;
  row_shape shape_;
  exchange_under_way<T> under_way_;
};
template <class T>
void reverse_halo(halo_plan const& plan, kept_list<T> const& ghosts, T* y, row_shape shape) {
  reverse_exchange<T>(plan, ghosts, shape).add_to(y);
}
/// What x (*batch, own + ghosts, inner) has for ghosts, as messages hold it.
template <class T>
kept_list<T> packed_ghosts(halo_plan const& plan, T const* x, row_shape shape) {
  index_t const own = plan.own() * shape.inner, ghosts = plan.ghosts();
  kept_list<T> out(std::size_t(ghosts * shape.size()));
  for (index_t b = 0; b < shape.batch; ++b)
    for (index_t g = 0; g < ghosts; ++g)
      std::copy_n(x + (b + 1) * own + (b * ghosts + g) * shape.inner, shape.inner, out.data() + (g * shape.batch + b) * shape.inner);
  return out;
}
/// y = the own rows of such an x, with what all ranks have for them added. Collective.
template <class T>
void fold_halo(halo_plan const& plan, T const* x, T* y, row_shape shape) {
  index_t const own = plan.own() * shape.inner, all = own + plan.ghosts() * shape.inner;
  for (index_t b = 0; b < shape.batch; ++b) std::copy_n(x + b * all, own, y + b * own);
  reverse_halo(plan, packed_ghosts(plan, x, shape), y, shape);
}
} // namespace detail

} // namespace sla

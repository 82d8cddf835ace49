// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Terms on their way to the ranks that own them: whatever each rank has for others, sent in one exchange. Who owns what is said by
// dist/halo/row_partition.hpp; entries of matrices are sent so in dist/assembly/entries_to_owners.hpp.
#pragma once

#include <utility>
#include <vector>

#include <sla/core/shape.hpp>
#include <sla/dist/engine/typed_collectives.hpp>

namespace sla::detail {

/// Terms that go to the ranks that own them: by rank, those of one in the order given.
class terms_by_owner {
public:
  terms_by_owner() = default;
  /// The k-th is owner[k]'s, one of c's ranks.
  template <class = void>
  terms_by_owner(any_communicator const& c, std::vector<int> owner) : owner_(std::move(owner)), counts_(std::size_t(c.size()), 0) {
    for (int r : owner_) ++counts_[std::size_t(r)];
  }
  /// What all ranks send to this one: write(k, to) writes the `each` values of the k-th. Collective.
  template <class T, class Write>
  gathered<T> send(any_communicator& c, index_t each, Write const& write) const {
    std::vector<T> out(owner_.size() * std::size_t(each));
    std::vector<T*> next;
    auto counts = counts_;
    T* at = out.data();
    for (std::size_t& n : counts) {
      next.push_back(at);
      at += n *= std::size_t(each);
    }
    for (std::size_t k = 0; k < owner_.size(); ++k) {
      T*& to = next[std::size_t(owner_[k])];
      write(index_t(k), to);
      to += each;
    }
    return all_to_all(c, out, counts);
  }

private:
  std::vector<int> owner_;
  std::vector<std::size_t> counts_;
};

} // namespace sla::detail

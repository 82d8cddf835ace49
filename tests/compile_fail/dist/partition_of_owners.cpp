// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: partition\(A, parts, partitioner\): a partitioner has a member owner_map partition\(pattern view, parts\) const; strips\{\} is one
#include <sla/dist/assembly/distribute.hpp>

struct halves {
#ifdef FIXED
  using answer = sla::owner_map;
#else
  using answer = std::vector<int>;
#endif
  template <class View>
  answer partition(View const& view, int parts) const {
    std::vector<int> owner(std::size_t(view.rows), 0);
    for (std::size_t i = 0; i < owner.size() / 2; ++i) owner[i] = parts - 1;
#ifdef FIXED
    return {std::move(owner), parts};
#else
    return owner;
#endif
  }
};

auto f(sla::sparse_tensor<double> const& A) { return sla::partition(A, 2, halves{}); }
int main() {}

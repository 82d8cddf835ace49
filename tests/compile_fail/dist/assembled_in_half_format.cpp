// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: the pattern of the format has no member `none`
#include <vector>

#include <sla/tensor/storage/format_members.hpp>

#include <sla/dist.hpp>

#ifdef FIXED
using Half = sla::Csr<>;
#else
struct Half {
  using col_type = int;
  using ptr_type = int;
  template <class Memory>
  struct pattern {
    sla::index_t rows = 0, cols = 0;
  };
};
#endif

auto assembled(sla::mesh<sla::axis<"rows">> const& m, std::vector<int> const& i, std::vector<double> const& v) { return sla::assemble<sla::SparseShard<0>, Half>(m, 1, 1, i, i, v); }
auto read(sla::mesh<sla::axis<"rows">> const& m) { return sla::read_petsc<double, Half>(m, "A.petsc"); }
int main() {}

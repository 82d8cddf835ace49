// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: scalars of a space have no arithmetic among themselves.*space.map
#include <sla/exec/deferred.hpp>
#include <sla/tensor.hpp>

using namespace sla;

int main() {
  auto v = ones<double>(3);
  deferred queue({1, 3, 1, 1}, 2);
  auto c = queue.scalar(std::vector<double>{2.0}), d = queue.scalar(std::vector<double>{3.0});
#ifdef FIXED
  fuse(queue, set(v, queue.map([](auto x, auto y) { return x * y; }, c, d) * v));
#else
  fuse(queue, set(v, (c * d) * v));
#endif
  queue.finish();
  return v[0] == 6 ? 0 : 1;
}

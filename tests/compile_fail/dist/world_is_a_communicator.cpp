// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: a world must model Communicator, and has no member `engine\(\)`
#include <sla/dist/engine/self.hpp>

#ifdef FIXED
using engine = sla::self;
#else
struct engine {
  int size() const { return 1; }
  int rank() const { return 0; }
};
#endif

int main() {
  engine world;
  return sla::erase(world)->rank();
}

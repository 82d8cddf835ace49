// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: only trivially copyable values travel between ranks; send their parts
#include <span>
#include <string>
#include <vector>

#include <sla/dist/engine/self.hpp>
#include <sla/dist/engine/typed_collectives.hpp>

int main() {
  sla::self world;
  auto const c = sla::erase(world);
#ifdef FIXED
  std::vector<char> values(3);
#else
  std::vector<std::string> values(3);
#endif
  broadcast(*c, std::span(values), 0);
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as the index of a saved set of files, with the checksum that they should have: refused by an error, or written as they were read,
// with a place for every array.
#include "fuzz.hpp"

#include <sla/dist/files/shard_index.hpp>

using namespace sla;

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string bytes(reinterpret_cast<char const*>(data), size);
  attempt([&] { (void)detail::shard_index::read("index", bytes); });
  bytes = bytes.substr(0, bytes.rfind("\ncrc32c ")) + "\n";
  bytes += text("crc32c ", detail::crc32c(bytes.data(), bytes.size()), "\n");
  attempt([&] {
    auto const index = detail::shard_index::read("index", bytes);
    auto const again = detail::shard_index::read("index", index.text_of());
    demand(again.text_of() == index.text_of(), "the same index again");
    for (auto const& s : index.shards)
      attempt([&] {
        detail::shard_map const map(index.tensors, s.counts);
        for (int k = 0; k < int(index.tensors.size()); ++k)
          for (auto part : {detail::shard_part::values, detail::shard_part::row_ptr, detail::shard_part::numbers, detail::shard_part::col})
            demand(map.begin(k, part) >= index_t(map.head().size()) && map.begin(k, part) <= map.content(), "arrays between the header and the checksums");
      });
  });
  return 0;
}

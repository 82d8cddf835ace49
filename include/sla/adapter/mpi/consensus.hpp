// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Who has something for a rank, where nobody knows it before: the nonblocking consensus, whose cost is that of the neighbours.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <sla/adapter/mpi/group.hpp>

namespace sla::detail {

/// How many elements each rank has for this one, which has send[r] for rank r. Each tells its neighbours by messages that end when they
/// are received, answers to what comes meanwhile, and enters a barrier that does not block when its own have ended: when all are in it,
/// all messages have been received. Cost: a message of 8 bytes per neighbour and log2(ranks) steps. Two tags in turn keep apart the messages
/// of one round and of the next, which a rank may begin before others have seen the end of this one.
/// Source: Hoefler, Siebert, Lumsdaine (2010), Scalable communication protocols for dynamic sparse data exchange, algorithm NBX.
inline std::vector<std::size_t> mpi_discover(mpi_group& group, rank_counts send) {
  int const tag = 3 + static_cast<int>(group.discoveries++ % 2);
  auto const me = static_cast<std::size_t>(group.rank);
  std::vector<std::size_t> heard(send.size(), 0);
  heard[me] = send[me];
  std::vector<std::uint64_t> const told(send.begin(), send.end());
  std::vector<MPI_Request> requests;
  for (std::size_t r = 0; r < told.size(); ++r)
    if (told[r] != 0 && r != me)
      mpi_check(MPI_Issend(&told[r], 1, MPI_UINT64_T, static_cast<int>(r), tag, group.comm, &requests.emplace_back()), "MPI_Issend");
  MPI_Request all_in = MPI_REQUEST_NULL;
  bool is_in = false;
  mpi_wait(
      group,
      [&] {
        int there = 1, over = 0;
        MPI_Status from;
        while (mpi_check(MPI_Iprobe(MPI_ANY_SOURCE, tag, group.comm, &there, &from), "MPI_Iprobe"), there != 0) {
          std::uint64_t count = 0;
          mpi_check(MPI_Recv(&count, 1, MPI_UINT64_T, from.MPI_SOURCE, tag, group.comm, MPI_STATUS_IGNORE), "MPI_Recv");
          heard[static_cast<std::size_t>(from.MPI_SOURCE)] = static_cast<std::size_t>(count);
        }
        if (is_in) {
          mpi_check(MPI_Test(&all_in, &over, MPI_STATUS_IGNORE), "MPI_Test");
          return over != 0;
        }
        mpi_check(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &over, MPI_STATUSES_IGNORE), "MPI_Testall");
        if (over == 0) return false;
        mpi_check(MPI_Ibarrier(group.comm, &all_in), "MPI_Ibarrier");
        is_in = true;
        return false;
      },
      [] { return mpi_watch::all_ranks; }, [] { return std::string("all_to_all, in which the ranks find out who has something for them"); });
  return heard;
}

} // namespace sla::detail

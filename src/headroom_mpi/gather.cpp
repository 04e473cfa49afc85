// SPDX-License-Identifier: Apache-2.0
#include "headroom_mpi/gather.h"

#include <mpi.h>

#include <algorithm>
#include <cstdint>

namespace headroom::mpi {
namespace {

constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 28;
constexpr int kRoot = 0, kTag = 1;

/// Calls `transfer(offset, count)` for pieces that MPI can count.
template <typename Transfer>
void in_pieces(std::uint64_t size, Transfer transfer) {
  for (std::uint64_t at = 0; at < size; at += kPieceBytes)
    transfer(at, static_cast<int>(std::min(kPieceBytes, size - at)));
}

}  // namespace

std::vector<std::string> gather_texts(const std::string& mine) {
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const std::uint64_t length = mine.size();
  std::vector<std::uint64_t> lengths(rank == kRoot ? static_cast<std::size_t>(size) : 0);
  MPI_Gather(&length, 1, MPI_UINT64_T, lengths.data(), 1, MPI_UINT64_T, kRoot, MPI_COMM_WORLD);
  if (rank != kRoot) {
    in_pieces(length, [&](std::uint64_t at, int count) {
      MPI_Send(mine.data() + at, count, MPI_BYTE, kRoot, kTag, MPI_COMM_WORLD);
    });
    return {};
  }
  std::vector<std::string> texts{mine};
  for (int from = 1; from < size; ++from) {
    std::string& text = texts.emplace_back(lengths[static_cast<std::size_t>(from)], '\0');
    in_pieces(text.size(), [&](std::uint64_t at, int count) {
      MPI_Recv(text.data() + at, count, MPI_BYTE, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    });
  }
  return texts;
}

}  // namespace headroom::mpi

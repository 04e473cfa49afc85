// SPDX-License-Identifier: Apache-2.0
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iterator>
#include <string>
#include <vector>

#include "headroom/console/option_table.h"
#include "headroom_trace/program/trace.h"
#include "headroom_trace/program/trace_options.h"
#include "headroom_trace/report/file_analysis.h"

namespace headroom::mpi {
namespace {

constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 28;
constexpr int kRoot = 0, kTag = 1;

/// MPI counts are int.
template <typename Transfer>
void in_pieces(std::uint64_t size, Transfer transfer) {
  for (std::uint64_t at = 0; at < size; at += kPieceBytes)
    transfer(at, static_cast<int>(std::min(kPieceBytes, size - at)));
}

/// Collective. Returns all texts in rank order on process 0. Texts may exceed MPI's int count.
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

using trace::FileAnalysis;

std::vector<FileAnalysis> gather(std::vector<FileAnalysis> mine) {
  std::vector<FileAnalysis> all;
  for (const std::string& text : gather_texts(trace::to_text(mine))) {
    std::vector<FileAnalysis> theirs = trace::file_analyses_from_text(text);
    all.insert(all.end(), std::move_iterator(theirs.begin()), std::move_iterator(theirs.end()));
  }
  return all;
}

ExitCode analyze(cli::Arguments arguments, const cli::TraceProcessGroup& group) {
  return cli::analysis_options(
             arguments, {},
             [&](const cli::TraceOptions& options) { return cli::analyze_traces(options, group); })
      .run(arguments);
}

ExitCode run(const cli::Arguments& arguments, int index, int size) {
  bool gathered = false;
  cli::TraceProcessGroup group{static_cast<std::size_t>(index), static_cast<std::size_t>(size), {}};
  group.gather = [&gathered](std::vector<FileAnalysis> mine) {
    gathered = true;
    return gather(std::move(mine));
  };
  try {
    return analyze(arguments, group);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "headroom-trace-mpi: %s\n", error.what());
    // Process 0 waits: send an empty part with the reason.
    if (!gathered) {
      FileAnalysis failure;
      failure.error = error.what();
      gather({failure});
    }
    return ExitCode::kError;
  }
}

}  // namespace
}  // namespace headroom::mpi

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank != 0) {
    if (std::freopen("/dev/null", "w", stdout) == nullptr ||
        std::freopen("/dev/null", "w", stderr) == nullptr)
      MPI_Abort(MPI_COMM_WORLD, static_cast<int>(headroom::ExitCode::kError));
  }
  const auto code = headroom::mpi::run({argv + 1, argv + argc}, rank, size);
  std::fflush(nullptr);
  MPI_Finalize();
  return static_cast<int>(code);
}

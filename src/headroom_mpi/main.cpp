// SPDX-License-Identifier: Apache-2.0
#include <mpi.h>

#include <cstdio>
#include <exception>
#include <iterator>
#include <string>
#include <vector>

#include "cli/commands/trace_command.h"
#include "cli/commands/trace_options.h"
#include "headroom/trace/report/file_analysis_json.h"
#include "headroom_mpi/gather.h"

namespace headroom::mpi {
namespace {

using trace::FileAnalysis;

std::vector<FileAnalysis> gather(std::vector<FileAnalysis> mine) {
  std::vector<FileAnalysis> all;
  for (const std::string& text : gather_texts(trace::to_text(mine))) {
    std::vector<FileAnalysis> theirs = trace::file_analyses_from_text(text);
    all.insert(all.end(), std::move_iterator(theirs.begin()), std::move_iterator(theirs.end()));
  }
  return all;
}

ExitCode analyze(const cli::Arguments& arguments, cli::TraceCrew& crew) {
  ExitCode done = ExitCode::kFine;
  const auto options = cli::parse_trace_options(arguments, {}, done);
  return options ? cli::analyze_traces(*options, crew) : done;
}

ExitCode run(const cli::Arguments& arguments, int index, int size) {
  bool gathered = false;
  cli::TraceCrew crew{static_cast<std::size_t>(index), static_cast<std::size_t>(size), {}};
  crew.gather = [&gathered](std::vector<FileAnalysis> mine) {
    gathered = true;
    return gather(std::move(mine));
  };
  try {
    return analyze(arguments, crew);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "headroom-trace-mpi: %s\n", error.what());
    // The others wait for this process's part: it is that there is none, and why.
    if (!gathered) {
      FileAnalysis failure;
      failure.error = error.what();
      gather({failure});
    }
    return ExitCode::kCannot;
  }
}

}  // namespace
}  // namespace headroom::mpi

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  // All say the same of the command line; what the others find in files they send to the first.
  if (rank != 0) {
    if (std::freopen("/dev/null", "w", stdout) == nullptr ||
        std::freopen("/dev/null", "w", stderr) == nullptr)
      MPI_Abort(MPI_COMM_WORLD, static_cast<int>(headroom::ExitCode::kCannot));
  }
  const auto code = headroom::mpi::run({argv + 1, argv + argc}, rank, size);
  std::fflush(nullptr);
  MPI_Finalize();
  return static_cast<int>(code);
}

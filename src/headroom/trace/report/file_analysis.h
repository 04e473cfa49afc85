// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "headroom/trace/analysis.h"
#include "headroom/trace/columns/trace_facts.h"

namespace headroom::trace {

/// What an analysis gave of one file.
struct FileAnalysis {
  TraceFacts facts;   ///< only the source where the file could not be read
  std::string error;  ///< why it could not be read or analysed; empty when it could
  AnalysisResult result;
};

struct FilesProgress {
  std::size_t files_done = 0, files = 0;
  std::uint64_t bytes_done = 0, bytes = 0;  ///< of the files as they are stored
};

struct FilesOptions {
  int threads = 0;                                  ///< 0: as many as this process may run on
  std::vector<std::string> communication_patterns;  ///< Trace::communication_patterns of each
  /// Called now and then, by one thread at a time.
  std::function<void(const FilesProgress&)> progress;
  /// Asked now and then; true ends it soon, with the files that are left as errors.
  std::function<bool()> is_cancelled;
};

/// What is read of a file of that size, as it is stored.
using NeedsOfFile = std::function<Needs(const std::filesystem::path& file, std::uint64_t bytes)>;

/// A guess at how much text is in a file of that size, as it is stored: packed traces unpack to ten to twenty
/// times their size. For who compares it with kLargeTrace.
std::uint64_t text_bytes(const std::filesystem::path& file, std::uint64_t bytes);

/// Reads each file and hands it on, by the thread that read it: `use(i, trace)` of files[i], which is gone
/// afterwards. Several are worked on side by side, by one thread each; no more traces than threads are in
/// memory at any time. Returns why each file could not be read or used, empty where it could; a file of
/// which no event could be read is such a one, but for who asks what is broken in it (Needs::kSyntax).
std::vector<std::string> read_files(std::span<const std::filesystem::path> files, const NeedsOfFile& needs,
                                    const FilesOptions& how,
                                    const std::function<void(std::size_t, const Trace&)>& use);

/// Reads and analyses each file, as read_files does. An error of one file does not end the others. In the
/// order of `files`.
std::vector<FileAnalysis> analyze_files(std::span<const std::filesystem::path> files,
                                        const Analysis& analysis, const AnalysisOptions& options,
                                        const FilesOptions& how = {});

/// The results of the ranks of one job as one.
AnalysisResult combined(std::span<const RankResult> ranks, const Analysis& analysis,
                        const AnalysisOptions& options);

}  // namespace headroom::trace

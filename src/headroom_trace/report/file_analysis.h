// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headroom_trace/analysis.h"
#include "headroom_trace/columns/trace_facts.h"

namespace headroom::trace {

/// The analysis of one file.
struct FileAnalysis {
  TraceFacts facts;   ///< only the source if the file was unreadable
  std::string error;  ///< why reading or analysing failed; else empty
  AnalysisResult result;
};

struct FilesProgress {
  std::size_t files_done = 0, files = 0;
  std::uint64_t bytes_done = 0, bytes = 0;  ///< of the files as they are stored
};

struct FilesOptions {
  int threads = 0;                                  ///< 0: as many as this process may run on
  std::vector<std::string> communication_patterns;  ///< Trace::communication_patterns of each
  /// Called from time to time, by one thread at a time.
  std::function<void(const FilesProgress&)> progress;
  /// Polled; true ends the work soon, with errors for the remaining files.
  std::function<bool()> is_cancelled;
};

/// Chooses the needs for a file of that stored size.
using NeedsOfFile = std::function<Needs(const std::filesystem::path& file, std::uint64_t bytes)>;

/// Estimates the unpacked size of a file of that stored size (packed traces unpack to ten to twenty times
/// their size). For comparison with kLargeTrace.
std::uint64_t text_bytes(const std::filesystem::path& file, std::uint64_t bytes);

/// Reads each file and calls `use(i, trace)` for files[i] on the reading thread; the trace is freed
/// afterwards. Files are read in parallel, at most one trace per thread in memory. Returns the error of each
/// file, empty if none. A file without a readable event is an error, except with Needs::kSyntax.
std::vector<std::string> read_files(std::span<const std::filesystem::path> files, const NeedsOfFile& needs,
                                    const FilesOptions& how,
                                    const std::function<void(std::size_t, const Trace&)>& use);

/// Reads and analyses each file, as read_files does. One file's error does not end the others. In the order
/// of `files`.
std::vector<FileAnalysis> analyze_files(std::span<const std::filesystem::path> files,
                                        const Analysis& analysis, const AnalysisOptions& options,
                                        const FilesOptions& how = {});

/// Analyses a trace without its impossible events and says in `doubts` how many those are and what the file
/// lacks; `validate` and `--pytorch-compat` have all events.
AnalysisResult analyze_trace(const Trace& trace, const Analysis& analysis, const AnalysisOptions& options);

/// Returns a sentence for each kind of impossible event in a trace that is written again with all of them: "1
/// impossible duration kept (...)".
std::vector<std::string> impossible_events_kept(const Trace& trace);

/// Combines the results of the ranks of one job.
AnalysisResult combined(std::span<const RankResult> ranks, const Analysis& analysis,
                        const AnalysisOptions& options);

/// Serialises the analyses for another process of the same version. file_analyses_from_text restores them
/// exactly, except that bytes that are not UTF-8 become U+FFFD.
std::string to_text(std::span<const FileAnalysis> analyses);

/// Throws Error for a text that to_text did not write.
std::vector<FileAnalysis> file_analyses_from_text(std::string_view text);

}  // namespace headroom::trace

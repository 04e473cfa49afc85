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

struct FileAnalysis {
  TraceFacts facts;   ///< only the source if the file was unreadable
  std::string error;  ///< empty if successful
  AnalysisResult result;
};

struct FilesProgress {
  std::size_t files_done = 0, files = 0;
  std::uint64_t bytes_done = 0, bytes = 0;  ///< stored bytes
};

struct FilesOptions {
  int threads = 0;  ///< 0: all CPUs
  std::vector<std::string> communication_patterns;
  /// Called by one thread at a time.
  std::function<void(const FilesProgress&)> progress;
  /// Polled; true ends the work, with errors for the remaining files.
  std::function<bool()> is_cancelled;
};

using FileNeeds = std::function<Needs(const std::filesystem::path& file, std::uint64_t bytes)>;

/// For comparison with kLargeTrace.
std::uint64_t text_bytes(const std::filesystem::path& file, std::uint64_t bytes);

/// Calls `use(i, trace)` for files[i] on the reading thread; reads files in parallel, at most one trace per
/// thread. Returns an error per file, or "". A file without a readable event is an error, except with
/// Needs::kSyntax.
std::vector<std::string> read_files(std::span<const std::filesystem::path> files, const FileNeeds& needs,
                                    const FilesOptions& how,
                                    const std::function<void(std::size_t, const Trace&)>& use);

/// As read_files. Results are in the order of `files`.
std::vector<FileAnalysis> analyze_files(std::span<const std::filesystem::path> files,
                                        const Analysis& analysis, const AnalysisOptions& options,
                                        const FilesOptions& how = {});

/// Leaves out impossible events and reports them, and missing parts, in `doubts`; keeps all for `validate`
/// and `--pytorch-compat`.
AnalysisResult analyze_trace(const Trace& trace, const Analysis& analysis, const AnalysisOptions& options);

/// For writers that keep all events: "1 impossible duration kept (...)".
std::vector<std::string> impossible_events_kept(const Trace& trace);

AnalysisResult combined(std::span<const RankResult> ranks, const Analysis& analysis,
                        const AnalysisOptions& options);

/// For another process of this version. Exact, but invalid UTF-8 becomes U+FFFD.
std::string to_text(std::span<const FileAnalysis> analyses);

/// Throws Error for a text that to_text did not write.
std::vector<FileAnalysis> file_analyses_from_text(std::string_view text);

}  // namespace headroom::trace

// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/report/file_analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/trace/columns/kernel_type.h"
#include "headroom/trace/readers/read.h"

namespace headroom::trace {
namespace {

namespace fs = std::filesystem;
using UseTrace = std::function<void(std::size_t, const Trace&)>;

std::uint64_t size_of(const fs::path& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  return error ? 0 : size;
}

/// Whether there is nothing to analyse because all that there was could not be read.
bool is_lost(const Trace& trace) {
  return trace.problems.events_skipped > 0 && trace.events_skipped_by_need == 0 && trace.events.size() == 0 &&
         trace.memory.empty() && trace.flows.empty();
}

[[noreturn]] void fail_as_lost(const Trace& trace) {
  const Problem& first = trace.problems.first.front();
  throw Error(fmt::format(
      "cannot use the trace {}: none of its events could be read, {} of {} are lost; the first at byte {}: "
      "{}; headroom trace validate FILE says more",
      in_quotes(trace.source), trace.problems.events_skipped, trace.events_seen, first.offset, first.what));
}

/// What the user named and no kernel is called, for the notes.
void note_unused_patterns(const Trace& trace, AnalysisResult& result) {
  if (trace.communication_patterns.empty()) return;
  std::set<NameId> names;
  for (const GpuDetail& work : trace.gpu) names.insert(trace.events.name[work.event]);
  for (const std::string& pattern : trace.communication_patterns) {
    const auto fits = [&](NameId name) { return fits_kernel(pattern, trace.names[name]); };
    if (std::ranges::none_of(names, fits)) {
      result.notes.push_back(
          fmt::format("--communication {}: no kernel has such a name", in_quotes(pattern)));
    }
  }
}

/// Takes files from the list until none is left.
class FileQueue {
 public:
  FileQueue(std::span<const fs::path> files, const NeedsOfFile& needs, const FilesOptions& how,
            const UseTrace& use)
      : files_(files), needs_(needs), how_(how), use_(use), errors_(files.size()) {
    for (const fs::path& file : files) sizes_.push_back(size_of(file));
    progress_.files = files.size();
    progress_.bytes = std::accumulate(sizes_.begin(), sizes_.end(), std::uint64_t{0});
    order_.resize(files.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    // The longest first: else one that comes last keeps a single thread busy while the others wait.
    std::ranges::stable_sort(order_, std::greater{}, [this](std::size_t i) { return sizes_[i]; });
    read_.resize(files.size());
  }

  void work(int threads_per_file) {
    for (;;) {
      const std::size_t place = next_.fetch_add(1);
      if (place >= order_.size()) return;
      read_one(order_[place], threads_per_file);
    }
  }

  std::vector<std::string> errors() { return std::move(errors_); }

 private:
  void read_one(std::size_t i, int threads) {
    try {
      ReadOptions reading;
      reading.needs = needs_(files_[i], sizes_[i]);
      reading.threads = threads;
      reading.is_cancelled = how_.is_cancelled;
      if (how_.progress) {
        reading.progress = [this, i](std::uint64_t bytes, std::uint64_t) { tell(i, bytes, false); };
      }
      Trace trace = read(files_[i], reading);
      if (is_lost(trace) && !has(reading.needs, Needs::kSyntax)) fail_as_lost(trace);
      trace.communication_patterns = how_.communication_patterns;
      use_(i, trace);
    } catch (const std::bad_alloc&) {
      errors_[i] = files_[i].string() +
                   ": not enough memory for this trace; --max-memory allows more, fewer --threads take less";
    } catch (const std::exception& error) {
      errors_[i] = error.what();
    }
    tell(i, sizes_[i], true);
  }

  void tell(std::size_t i, std::uint64_t bytes, bool is_done) {
    if (!how_.progress) return;
    const std::lock_guard lock(mutex_);
    bytes = std::min(bytes, sizes_[i]);
    progress_.bytes_done += bytes - read_[i];
    read_[i] = bytes;
    if (is_done) ++progress_.files_done;
    how_.progress(progress_);
  }

  std::span<const fs::path> files_;
  const NeedsOfFile& needs_;
  const FilesOptions& how_;
  const UseTrace& use_;
  std::vector<std::string> errors_;
  std::vector<std::uint64_t> sizes_, read_;
  std::vector<std::size_t> order_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  FilesProgress progress_;
};

}  // namespace

std::vector<std::string> read_files(std::span<const fs::path> files, const NeedsOfFile& needs,
                                    const FilesOptions& how, const UseTrace& use) {
  const int threads =
      how.threads > 0 ? how.threads : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const int workers =
      static_cast<int>(std::min<std::size_t>(files.size(), static_cast<std::size_t>(threads)));
  FileQueue queue(files, needs, how, use);
  const int threads_per_file = workers > 0 ? threads / workers : 1;
  {
    std::vector<std::jthread> others;
    for (int i = 1; i < workers; ++i) others.emplace_back([&] { queue.work(threads_per_file); });
    queue.work(threads_per_file);
  }
  return queue.errors();
}

std::uint64_t text_bytes(const fs::path& file, std::uint64_t bytes) {
  constexpr std::uint64_t kPacked = 16;
  const std::string end = file.extension().string();
  return end == ".gz" || end == ".zst" || end == ".zip" ? kPacked * bytes : bytes;
}

std::vector<FileAnalysis> analyze_files(std::span<const fs::path> files, const Analysis& analysis,
                                        const AnalysisOptions& options, const FilesOptions& how) {
  std::vector<FileAnalysis> analyses(files.size());
  const Needs needs = needs_of(analysis, options);
  const NeedsOfFile needs_of_file = [&](const fs::path& file, std::uint64_t bytes) {
    return analysis.needs_of_large && text_bytes(file, bytes) > kLargeTrace ? *analysis.needs_of_large
                                                                            : needs;
  };
  std::vector<std::string> errors =
      read_files(files, needs_of_file, how, [&](std::size_t i, const Trace& trace) {
        analyses[i].facts = facts_of(trace);
        analyses[i].result = analysis.analyze(trace, options);
        note_unused_patterns(trace, analyses[i].result);
      });
  for (std::size_t i = 0; i < analyses.size(); ++i) {
    analyses[i].facts.source = files[i].string();
    analyses[i].error = std::move(errors[i]);
  }
  return analyses;
}

AnalysisResult combined(std::span<const RankResult> ranks, const Analysis& analysis,
                        const AnalysisOptions& options) {
  return analysis.combine != nullptr ? analysis.combine(ranks, options) : combine_headlines(ranks);
}

}  // namespace headroom::trace

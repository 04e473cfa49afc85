// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/report_traces.h"

#include <algorithm>
#include <filesystem>
#include <future>
#include <utility>

#include "cli/commands/trace_files.h"
#include "cli/commands/trace_warnings.h"
#include "cli/shared/max_memory.h"
#include "cli/shared/say.h"
#include "headroom/base/error.h"
#include "headroom/page/trace_section.h"
#include "headroom/trace/analysis.h"
#include "headroom/trace/columns/rank_numbers.h"
#include "headroom/trace/merge/rank_clocks.h"
#include "headroom/trace/report/trace_answer.h"
#include "headroom/trace/timeline/job_timeline.h"
#include "headroom/trace/timeline/rank_timeline.h"

namespace headroom::cli {
namespace {

/// What is kept of the traces once their columns are gone, by file.
struct ReadTraces {
  std::vector<trace::AnalysisResult> results;
  std::vector<trace::RankClock> clocks;
  std::vector<trace::RankTimeline> timelines;

  explicit ReadTraces(std::size_t files) : results(files), clocks(files), timelines(files) {}
};

bool is_large(const std::filesystem::path& file, std::uint64_t bytes) {
  return trace::text_bytes(file, bytes) > trace::kLargeTrace;
}

ReadTraces read_traces(const std::vector<std::filesystem::path>& files, const trace::Analysis& analysis,
                       const TraceReading& reading) {
  ReadTraces read(files.size());
  trace::Needs needs = analysis.needs | trace::kTimelineNeeds;
  if (files.size() > 1) needs = needs | trace::kClockNeeds;
  const trace::NeedsOfFile needs_of = [needs](const std::filesystem::path& file, std::uint64_t bytes) {
    return is_large(file, bytes) ? needs : needs | trace::kModuleNeeds;
  };
  const trace::TimelineLimits limits = trace::limits_of_rank({}, files.size());
  TraceProgress terminal;
  const std::vector<std::string> errors = trace::read_files(
      files, needs_of, files_options(reading, terminal), [&](std::size_t i, const trace::Trace& trace) {
        // What to fix is looked for while the picture is made.
        auto result = std::async(std::launch::async, [&] { return analysis.analyze(trace, {}); });
        read.clocks[i] = trace::rank_clock(trace);
        read.clocks[i].file = files[i];
        read.timelines[i] = trace::rank_timeline(trace, read.clocks[i].calls, limits);
        read.results[i] = result.get();
      });
  for (const std::string& error : errors) {
    if (!error.empty()) throw Error(error);
  }
  return read;
}

TraceReport report_of(ReadTraces& read, const trace::Analysis& analysis) {
  TraceReport report;
  report.analysis = analysis.name;
  for (const trace::RankClock& clock : read.clocks) report.files.push_back(clock.facts);
  if (read.results.size() == 1) {
    report.result = std::move(read.results.front());
  } else {
    const trace::RankNumbers numbers = trace::rank_numbers(report.files);
    for (std::size_t i = 0; i < read.results.size(); ++i)
      report.ranks.push_back({report.files[i].source, numbers.ranks[i], std::move(read.results[i])});
    std::ranges::stable_sort(report.ranks, {}, &trace::RankResult::rank);
    report.result = trace::combined(report.ranks, analysis, {});
  }
  report.result.answer = trace_answer(report);
  return report;
}

/// Of a job of several ranks all is read that is read of small files: their clocks want it.
void note_large(const TraceReport& report, trace::JobTimeline& timeline) {
  if (report.files.size() > 1 || !is_large(report.files.front().source, report.files.front().file_bytes))
    return;
  timeline.notes.emplace_back(
      "of a file as large as this the arguments of operators are not read: `headroom trace findings` finds "
      "more with them, `headroom trace modules` tells what is of the backward pass");
}

PageSection section_of(const std::vector<std::string>& operands, const TraceReading& reading) {
  const TraceFiles files = trace_files(operands);
  for (const std::string& note : files.notes) say_sentence(note);
  const trace::Analysis& analysis = *trace::find_analysis("summary");
  ReadTraces read = read_traces(files.paths, analysis, reading);
  const TraceReport report = report_of(read, analysis);
  warn_of_problems(report.files);
  trace::JobTimeline timeline =
      trace::job_timeline(std::move(read.timelines), trace::job_clocks(std::move(read.clocks)));
  note_large(report, timeline);
  return trace_section(trace_name(files.paths), report, timeline);
}

}  // namespace

PageSection traces_section(const std::vector<std::string>& operands, const TraceReading& reading) {
  return within_memory(reading.max_memory, "the traces", [&] { return section_of(operands, reading); });
}

}  // namespace headroom::cli

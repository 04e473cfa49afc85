// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/secrets.h"
#include "headroom/base/units.h"
#include "headroom/console/interrupt.h"
#include "headroom/console/max_memory.h"
#include "headroom/console/option_table.h"
#include "headroom/console/output.h"
#include "headroom/files/compressed_file.h"
#include "headroom_trace/merge/trace_merge.h"
#include "headroom_trace/program/trace.h"
#include "headroom_trace/program/trace_files.h"
#include "headroom_trace/program/trace_options.h"
#include "headroom_trace/report/trace_report.h"

namespace headroom::cli {
namespace {

namespace fs = std::filesystem;

constexpr ConstantHelp kTraceMergeExamples[] = {
    {"headroom trace merge 'job/rank*.json.gz' -o merged.json.gz", ""},
    {"headroom trace merge --json clocks.json rank0.json rank1.json -o merged.json", ""},
};

constexpr const char* kTraceMergeDetails[] = {
    "OUT is a Chrome trace for ui.perfetto.dev, with the events of all ranks: processes are named \"rank "
    "N\", and an arrow leads from the last rank of a collective to each of the others. A clock is moved by "
    "the median difference between the ends of its rank's collectives and those of the others. .gz and .zst "
    "compress OUT; '-' is standard output.",
};

struct MergeOptions {
  std::vector<std::string> operands;
  std::string out, json;
  TraceReading reading;
};

void check(const MergeOptions& options) {
  if (options.operands.empty())
    throw Error(
        "no traces given: headroom trace merge FILE... -o OUT; headroom trace merge --help shows more");
  if (options.out.empty()) throw Error("no output given: headroom trace merge FILE... -o OUT");
  if (options.out.ends_with(".csv") || options.out.ends_with(".csv.gz") || options.out.ends_with(".csv.zst"))
    throw Error(options.out +
                " is not a name of a trace: give one in .json (headroom trace convert writes tables)");
  if (options.out == "-" && options.json == "-")
    throw Error("--output - and --json - both write to standard output: give one of them a file");
  if (!options.json.empty() && options.json != "-") require_writable(options.json);
}

/// Throws Error for files that cannot be read twice or are outputs too.
void check_files(const std::vector<fs::path>& files, const MergeOptions& options) {
  std::error_code none;
  for (const fs::path& file : files) {
    if (fs::exists(file, none) && !fs::is_regular_file(file, none) && !fs::is_directory(file, none))
      throw Error(file.string() +
                  " can be read only once, but merging reads it twice: write it to a file first");
    for (const std::string& path : {options.out, options.json}) {
      if (!path.empty() && path != "-" && fs::equivalent(path, file, none))
        throw Error(path + " is an input trace: give another output");
    }
  }
}

void print_clocks(const trace::MergedTrace& merged) {
  constexpr std::size_t kMost = 64;
  for (std::size_t i = 0; i < merged.ranks.size() && i < kMost; ++i) {
    const trace::MergedRank& rank = merged.ranks[i];
    const char* const way = rank.moved_ns < 0 ? "back" : "forward";
    const std::string moved = rank.moved_ns == 0
                                  ? "clock unchanged"
                                  : fmt::format("clock moved {} by {}", way,
                                                format_time_ns(std::abs(static_cast<double>(rank.moved_ns))));
    print_sentence(fmt::format("rank {}: {}, from {} {}", rank.rank, moved, rank.collectives,
                               rank.collectives == 1 ? "collective" : "collectives"));
  }
  if (merged.ranks.size() > kMost)
    print_sentence(fmt::format("and {} more ranks; --json FILE lists all", merged.ranks.size() - kMost));
}

void write_json(const trace::MergedTrace& merged, const MergeOptions& options) {
  TraceReport report;
  report.analysis = "merge";
  report.name = options.out;
  report.command = {"headroom", "trace", "merge", "-o", options.out};
  report.command.insert(report.command.end(), options.operands.begin(), options.operands.end());
  report.command = redact_secrets(std::move(report.command));
  for (const trace::MergedRank& rank : merged.ranks) report.files.push_back(rank.facts);
  report.result.tables = {trace::clock_table(merged)};
  report.result.notes = merged.notes;
  const std::string text = trace_json_text(report);
  if (options.json == "-") {
    std::fwrite(text.data(), 1, text.size(), stdout);
  } else {
    write_file_atomically(options.json, text);
  }
}

void print_summary(const trace::MergedTrace& merged, const MergeOptions& options) {
  std::vector<trace::TraceFacts> facts;
  std::uint64_t events = 0;
  for (const trace::MergedRank& rank : merged.ranks) {
    facts.push_back(rank.facts);
    events += rank.events_written;
  }
  print_sentence(fmt::format("{} events of {} ranks and {} {} between them written to {}", events,
                             merged.ranks.size(), merged.arrows, merged.arrows == 1 ? "arrow" : "arrows",
                             options.out == "-" ? "standard output" : options.out));
  warn_of_problems(facts);
  for (const std::string& note : merged.notes) print_sentence(note);
  print_clocks(merged);
}

ExitCode merge(const MergeOptions& options) {
  const TraceFiles files = trace_files(options.operands);
  for (const std::string& note : files.notes) print_sentence(note);
  check_files(files.paths, options);
  FileWriter file(options.out == "-" ? "/dev/stdout" : options.out);
  const trace::WriteText write = [&file](std::string_view text) { file.write(text); };
  trace::MergedTrace merged;
  {
    TraceProgress terminal;
    merged = trace::merge_traces(files.paths, write, files_options(options.reading, terminal));
  }
  if (interrupt_flag()) throw Error("interrupted");
  file.finish();
  if (!options.json.empty()) write_json(merged, options);
  print_summary(merged, options);
  return ExitCode::kSuccess;
}

}  // namespace

OptionTable trace_merge_options() {
  OptionTable table("Merge the traces of a job's ranks into one, with aligned clocks.",
                    "headroom trace merge");
  auto& options = table.own<MergeOptions>();
  table.examples(kTraceMergeExamples);
  table.details(kTraceMergeDetails);
  table.add_option("FILE", options.operands, "traces, folders or patterns: each file is one rank")
      .completed_by(Completes::kFile)
      .take_all();
  table.add_option("-o,--output", options.out, "write the merged trace to OUT")
      .completed_by(Completes::kFile)
      .type_name("OUT");
  table.add_no_follow();
  table.add_option("--json", options.json, "also write the clock shifts to FILE; - is standard output")
      .completed_by(Completes::kFile)
      .type_name("FILE");
  declare_reading(table, options.reading);
  table.finish([&options] {
    check(options);
    return unless_interrupted([&] {
      return with_memory_limit(options.reading.max_memory, "the traces", [&] { return merge(options); });
    });
  });
  return table;
}

}  // namespace headroom::cli

// SPDX-License-Identifier: Apache-2.0
#include <mutex>

#include "headroom/base/error.h"
#include "headroom/console/interrupt.h"
#include "headroom/console/max_memory.h"
#include "headroom/console/option_table.h"
#include "headroom/console/output.h"
#include "headroom_trace/program/trace.h"
#include "headroom_trace/program/trace_files.h"
#include "headroom_trace/program/trace_options.h"
#include "headroom_trace/report/trace_diff.h"

namespace headroom::cli {
namespace {

constexpr ConstantHelp kTraceDiffExamples[] = {
    {"headroom trace diff before.json.gz after.json.gz", ""},
    {"headroom trace diff --step 12 before.json after.json", "one step of each"},
    {"headroom trace diff --per-step before/ after/", "runs of unequal length"},
    {"headroom trace diff --top 0 --csv diff.csv a.json b.json", ""},
};

constexpr const char* kTraceDiffDetails[] = {
    "A and B are each a trace, or a folder or a pattern of the ranks of a job, which are summed. Lines are "
    "sorted by their change in time; below 1 % (at least 1 us, at most 1 ms) they count as unchanged.",
    "For a verdict on numbers such as utilisation: headroom trace --name N --json, then headroom diff.",
};

struct TraceDiffOptions {
  std::int64_t top = 20, step = 0;
  bool no_store = false;  // accepted but unused
  std::vector<std::string> operands;
  TraceOutputOptions outputs;
  trace::ProfileOptions profile;
  trace::DiffOptions diff;
  TraceReading reading;
};

struct Side {
  trace::TraceProfile profile;
  bool any_failed = false;
};

Side read_side(const std::string& operand, const TraceDiffOptions& options,
               std::vector<trace::TraceFacts>& facts) {
  const TraceFiles files = trace_files({operand});
  protect_inputs(options.outputs, files.paths);
  Side side;
  std::mutex mutex;
  TraceProgress terminal;
  const auto errors = trace::read_files(
      files.paths, [](const auto&, auto) { return trace::kProfileNeeds; },
      files_options(options.reading, terminal),
      [&](std::size_t, const trace::Trace& trace) {
        const trace::TraceProfile profile = trace::profile_of(trace, options.profile);
        const std::lock_guard lock(mutex);
        trace::add(side.profile, profile);
        facts.push_back(trace::facts_of(trace));
      });
  for (const std::string& error : errors) {
    if (error.empty() || interrupt_flag()) continue;
    print_sentence(error);
    side.any_failed = true;
  }
  return side;
}

ExitCode diff_traces(const TraceDiffOptions& options) {
  static_cast<void>(interrupt_flag());
  const MemoryCap cap(max_memory_bytes(options.reading.max_memory));
  TraceReport report;
  report.analysis = "diff";
  report.name = options.operands[0] + " and " + options.operands[1];
  const Side before = read_side(options.operands[0], options, report.files);
  const Side after = read_side(options.operands[1], options, report.files);
  if (interrupt_flag()) {
    print_sentence("interrupted; nothing was written");
    return ExitCode::kInterrupted;
  }
  if (before.profile.traces == 0 || after.profile.traces == 0) return ExitCode::kError;
  warn_of_problems(report.files);
  report.result = trace::diff(before.profile, after.profile, options.diff);
  report.result.answer = trace_answer(report);
  write_report(report, options.outputs);
  return before.any_failed || after.any_failed ? ExitCode::kError : ExitCode::kSuccess;
}

}  // namespace

OptionTable trace_diff_options() {
  OptionTable table("Compare two traces: kernels and ops added, removed, slower, faster.",
                    "headroom trace diff");
  auto& options = table.own<TraceDiffOptions>();
  table.examples(kTraceDiffExamples);
  table.details(kTraceDiffDetails);
  table.add_option("A B", options.operands, "the two sides: a trace, or a folder or pattern of ranks")
      .completed_by(Completes::kFile)
      .take_all();
  const Option& given =
      table.add_option("--step", options.step, "compare only step N of both").type_name("N");
  table.add_flag("--per-step", options.diff.per_step,
                 "divide counts and times by steps, for traces of unequal length");
  table.add_option("--top", options.top, "show at most N rows of each table (default 20; 0: all)")
      .type_name("N")
      .range(0, std::int64_t{1} << 40);
  declare_outputs(table, options.outputs);
  declare_reading(table, options.reading);
  table.add_flag("--no-store", options.no_store, "keep no history (always so; accepted for scripts)");
  table.finish([&] {
    if (options.operands.size() != 2) throw Error("headroom trace diff needs two traces: give A and B");
    if (given.count > 0) options.profile.step = options.step;
    options.profile.full_names = options.outputs.full_names;
    options.diff.top = static_cast<std::size_t>(options.top);
    check_outputs(options.outputs);
    return diff_traces(options);
  });
  return table;
}

}  // namespace headroom::cli

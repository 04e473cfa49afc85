// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"
#include "headroom/compare/diff_report.h"
#include "headroom/console/interrupt.h"
#include "headroom/console/max_memory.h"
#include "headroom/console/option_table.h"
#include "headroom/console/output.h"
#include "headroom/history/store.h"
#include "headroom/record/record.h"
#include "headroom/results/compared_sides.h"
#include "headroom/results/record_files.h"
#include "headroom/results/shown_records.h"
#include "headroom_pages/page.h"
#include "headroom_pages/program/pages.h"
#include "headroom_pages/sections.h"
#include "headroom_trace/analysis.h"
#include "headroom_trace/columns/trace_facts.h"
#include "headroom_trace/cost/roofline.h"
#include "headroom_trace/index/trace_index.h"
#include "headroom_trace/index/trace_trust.h"
#include "headroom_trace/merge/trace_merge.h"
#include "headroom_trace/program/trace_files.h"
#include "headroom_trace/program/trace_options.h"
#include "headroom_trace/report/file_analysis.h"
#include "headroom_trace/report/trace_report.h"
#include "headroom_trace/timeline/rank_timeline.h"
#include "headroom_trace/timeline/timeline.h"

namespace headroom::cli {
namespace {

/// By file; kept after the traces are freed.
struct ReadTraces {
  std::vector<trace::AnalysisResult> results;
  std::vector<trace::RankClock> clocks;
  std::vector<trace::RankTimeline> timelines;
  std::vector<std::vector<std::string>> left_out;
  std::vector<std::optional<AchievedRate>> achieved;

  explicit ReadTraces(std::size_t files)
      : results(files), clocks(files), timelines(files), left_out(files), achieved(files) {}
};

bool is_large(const std::filesystem::path& file, std::uint64_t bytes) {
  return trace::text_bytes(file, bytes) > trace::kLargeTrace;
}

/// Nothing without an operator of known cost.
std::optional<AchievedRate> achieved_rate(const trace::Trace& trace) {
  const trace::Roofline found = trace::roofline(trace, {});
  const trace::TraceIndex index(trace);
  const trace::Span window = index.window();
  const bool has_steps = !index.steps().measured().empty();
  double flops = 0, device_ns = 0;
  for (const trace::RooflineRow& row : found.rows) {
    const auto counted = std::ranges::count_if(row.call_events, [&](std::uint32_t event) {
      const std::int64_t start = trace.events.start_ns[event];
      return !has_steps || (start >= window.start && start < window.end);
    });
    flops += row.flops / static_cast<double>(row.calls) * static_cast<double>(counted);
  }
  for (const double covered : found.covered_ns) device_ns += covered;
  if (flops <= 0 || window.end <= window.start) return std::nullopt;
  return AchievedRate{flops / static_cast<double>(window.end - window.start) * 1e9,
                      found.covered_ns[static_cast<std::size_t>(trace::Coverage::kKnown)] / device_ns};
}

/// The mean of the ranks; nothing if one is unknown.
std::optional<AchievedRate> mean_rate(const std::vector<std::optional<AchievedRate>>& ranks) {
  AchievedRate sum;
  for (const std::optional<AchievedRate>& rank : ranks) {
    if (!rank) return std::nullopt;
    sum.flops_per_second += rank->flops_per_second / static_cast<double>(ranks.size());
    sum.covered += rank->covered / static_cast<double>(ranks.size());
  }
  return sum;
}

ReadTraces read_traces(const std::vector<std::filesystem::path>& files, const trace::Analysis& analysis,
                       const TraceReading& reading) {
  ReadTraces read(files.size());
  trace::Needs needs = analysis.needs | trace::kTimelineNeeds;
  if (files.size() > 1) needs = needs | trace::kClockNeeds;
  const trace::FileNeeds needs_of = [needs](const std::filesystem::path& file, std::uint64_t bytes) {
    return is_large(file, bytes) ? needs : needs | trace::kModuleNeeds;
  };
  const trace::TimelineLimits limits = trace::limits_of_rank({}, files.size());
  TraceProgress terminal;
  const std::vector<std::string> errors = trace::read_files(
      files, needs_of, files_options(reading, terminal), [&](std::size_t i, const trace::Trace& trace) {
        // Runs while the timeline is built.
        auto result =
            std::async(std::launch::async, [&] { return trace::analyze_trace(trace, analysis, {}); });
        const trace::ImpossibleEvents impossible = trace::impossible_events(trace::TraceIndex(trace));
        const trace::Trace kept =
            impossible.rows.empty() ? trace::Trace{} : trace::without(trace, impossible);
        const trace::Trace& drawn = impossible.rows.empty() ? trace : kept;
        for (const trace::Doubt& doubt : impossible.doubts) read.left_out[i].push_back(doubt_text(doubt));
        read.clocks[i] = trace::rank_clock(drawn);
        read.clocks[i].file = files[i];
        read.timelines[i] = trace::rank_timeline(drawn, read.clocks[i].calls, limits);
        read.achieved[i] = achieved_rate(drawn);
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

/// Several ranks are read in full, to align their clocks.
void note_large(const TraceReport& report, trace::JobTimeline& timeline) {
  if (report.files.size() > 1 || !is_large(report.files.front().source, report.files.front().file_bytes))
    return;
  timeline.notes.emplace_back(
      "operator arguments are not read from a file this large: `headroom trace findings` finds more with "
      "them, `headroom trace modules` shows the backward pass");
}

PageSection section_of(const std::vector<std::string>& operands, const TraceReading& reading) {
  const TraceFiles files = trace_files(operands);
  for (const std::string& note : files.notes) print_sentence(note);
  const trace::Analysis& analysis = *trace::find_analysis("summary");
  ReadTraces read = read_traces(files.paths, analysis, reading);
  const TraceReport report = report_of(read, analysis);
  warn_of_problems(report.files);
  trace::JobTimeline timeline =
      trace::job_timeline(std::move(read.timelines), trace::job_clocks(std::move(read.clocks)));
  note_large(report, timeline);
  for (std::size_t i = 0; i < read.left_out.size(); ++i) {
    for (const std::string& text : read.left_out[i]) {
      timeline.notes.push_back(
          read.left_out.size() == 1 ? text : fmt::format("{}: {}", files.paths[i].string(), text));
    }
  }
  return trace_section(trace_name(files.paths), report, timeline, mean_rate(read.achieved));
}

constexpr ConstantHelp kReportExamples[] = {
    {"headroom report @last -o report.html", "the last run"},
    {"headroom report a.json b.json -o report.html", "two files, one below the other"},
    {"headroom report --diff base.json new.json -o diff.html", "slower and faster cases"},
    {"headroom report --diff --margin 3% @19 @20 -o diff.html", "two runs of the history"},
    {"headroom report 'job/rank*.json.gz' -o job.html", "traces: what to fix first, and the timeline"},
    {"headroom report nightly/ --title nightly -o -", "a folder, to standard output"},
};

constexpr const char* kReportDetails[] = {
    "WHAT: a results file in any format that headroom reads, a folder of them, or a run of the history: "
    "@last, @ID (headroom history lists them) or @git:REV. Each becomes a section of the page. Traces "
    "(files, folders, patterns) are the ranks of one job and share a section. The page is one self-contained "
    "file.",
};

struct ReportOptions {
  std::vector<std::string> operands;
  std::string out, title, store = default_store();
  std::string margin, from;
  TraceReading reading;
  bool is_diff = false, across_machines = false, force = false;
};

/// True if the file is absent, special, empty, or a page.
bool may_be_replaced(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return true;
  std::ifstream file(path, std::ios::binary);
  std::string head(1'000, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  return head.empty() || is_page_html(head);
}

/// "r.html" for r.json, "last.html" for @last, "diff.html", "report.html" for several; in this folder.
std::string default_page(const ReportOptions& options) {
  if (options.is_diff) return "diff.html";
  if (options.operands.size() > 1) return "report.html";
  std::filesystem::path file = std::filesystem::path(options.operands.front()).lexically_normal();
  if (!file.has_filename()) file = file.parent_path();
  while (file.extension() == ".gz" || file.extension() == ".zst") file = file.stem();
  std::string name = file.stem().string();
  std::erase_if(
      name, [](char letter) { return std::string_view("@*?[]:").find(letter) != std::string_view::npos; });
  return (name.empty() || name.front() == '.' ? "report" : name) + ".html";
}

/// Early, as -o is easily mistyped as the results file.
void require_page_path(const ReportOptions& options) {
  if (options.out == "-") return;
  if (!options.force && !may_be_replaced(options.out)) {
    throw Error(options.out +
                " exists and is not a headroom page: name another file, or overwrite it with --force");
  }
  require_writable(options.out);
}

PageSection comparison_of(const ReportOptions& options) {
  if (options.operands.size() < 2)
    throw Error("--diff needs two inputs or more: the baseline, then the candidates");
  DiffOptions diff;
  diff.store = options.store;
  diff.max_memory = options.reading.max_memory;
  diff.across_machines = options.across_machines;
  diff.from = options.from;
  if (!options.margin.empty())
    diff.judge.margins.overall = with_context("--margin", [&] { return parse_margin(options.margin); });
  const DiffSide baseline = read_side(options.operands.front(), diff);
  std::vector<DiffSide> tests;
  for (std::size_t i = 1; i < options.operands.size(); ++i)
    tests.push_back(read_side(options.operands[i], diff));
  const DiffReport report = compare_sides(baseline, tests, diff);
  if (report.comparisons.empty())
    throw Error("nothing to compare: no case of " + report.baseline + " is in a candidate");
  View view;
  answer_diff(view, report);
  return diff_section(report, view.answers());
}

bool is_of_traces(const std::string& operand) {
  if (operand.starts_with("@") || operand == "-") return false;
  try {
    return is_trace_file(trace_files({operand}).paths.front().string());
  } catch (const Error&) {
    return false;  // reading it as results reports the error
  }
}

/// One section for a trace or the ranks of a job. Reads each file once. Throws Error for an unreadable file,
/// and "interrupted".
PageSection traces_section(const std::vector<std::string>& operands, const TraceReading& reading) {
  return with_memory_limit(reading.max_memory, "the traces", [&] { return section_of(operands, reading); });
}

std::vector<PageSection> page_sections(ShownRun run, const std::string& operand) {
  const std::string& title = run.title.empty() ? operand : run.title;
  std::vector<PageSection> sections;
  for (const InstrumentRecords& part : group_by_instrument(std::move(run.records))) {
    std::vector<std::string> answers = part.view.answers();
    if (!run.note.empty()) answers.push_back(run.note);
    const bool is_run = std::string_view(part.kind) == "run";
    sections.push_back(is_run ? run_section(title, part.records, answers)
                              : instrument_section(part.kind, title, part.records, answers));
  }
  return sections;
}

/// File names without folders, unless two are the same; "run @last"; "standard input".
std::vector<std::string> short_names(const std::vector<std::string>& operands) {
  std::vector<std::string> names;
  for (const std::string& operand : operands) {
    const std::filesystem::path path = std::filesystem::path(operand).lexically_normal();
    const std::filesystem::path name = path.has_filename() ? path.filename() : path.parent_path().filename();
    names.push_back(operand == "-"                                ? "standard input"
                    : operand.starts_with("@")                    ? "run " + operand
                    : name.empty() || name == "." || name == ".." ? operand
                                                                  : name.string());
  }
  const std::set<std::string> distinct(names.begin(), names.end());
  return distinct.size() == names.size() ? names : operands;
}

/// "a and b"; "a, b and 4 more".
std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 3;
  if (names.size() > kMost) return fmt::format("{}, {} and {} more", names[0], names[1], names.size() - 2);
  std::string text = names.front();
  for (std::size_t i = 1; i < names.size(); ++i) text += (i + 1 < names.size() ? ", " : " and ") + names[i];
  return text;
}

/// "Benchmark results of base.json", "new.json compared with base.json".
std::string title_of(const ReportOptions& options, std::size_t traces) {
  if (!options.title.empty()) return options.title;
  const std::vector<std::string> names = short_names(options.operands);
  if (options.is_diff) return listed({names.begin() + 1, names.end()}) + " compared with " + names.front();
  const std::string of = " of " + listed(names);
  if (traces == 0) return "Benchmark results" + of;
  if (traces < names.size()) return "Benchmark results and traces" + of;
  return (traces == 1 ? "Trace" : "Traces") + of;
}

Page page_of(const ReportOptions& options) {
  Page page;
  if (options.is_diff) {
    page.sections.push_back(comparison_of(options));
    page.title = title_of(options, 0);
    return page;
  }
  std::vector<std::string> results, traces;
  for (const std::string& operand : options.operands)
    (options.from.empty() && is_of_traces(operand) ? traces : results).push_back(operand);
  page.title = title_of(options, traces.size());
  if (!traces.empty()) page.sections.push_back(traces_section(traces, options.reading));
  for (const std::string& operand : results) {
    OperandRecords found =
        records_of_operand(operand, options.store, options.reading.max_memory, options.from);
    for (const std::string& warning : found.warnings) print_sentence(warning);
    for (ShownRun& run : runs_to_show(std::move(found.files))) {
      for (PageSection& section : page_sections(std::move(run), operand))
        page.sections.push_back(std::move(section));
    }
  }
  return page;
}

ExitCode write_report(ReportOptions& options) {
  if (!options.is_diff && (!options.margin.empty() || options.across_machines))
    throw Error("--margin and --across-machines need --diff: add it, or leave them out");
  static_cast<void>(interrupt_flag());  // from here on Ctrl-C sets a flag
  const bool is_named = !options.out.empty();
  if (!is_named) options.out = default_page(options);
  require_page_path(options);
  return unless_interrupted([&] {
    const Page page = page_of(options);
    if (interrupt_flag()) throw Error("interrupted");
    write_file_atomically(options.out == "-" ? "/dev/stdout" : options.out, page_html(page));
    if (!is_named) print_message("wrote {}", options.out);
    return ExitCode::kSuccess;
  });
}

}  // namespace

OptionTable report_options(Arguments&) {
  OptionTable table("Write results as one HTML page: the answer, charts and searchable tables.",
                    "headroom report");
  auto& options = table.own<ReportOptions>();
  table.examples(kReportExamples);
  table.details(kReportDetails);
  table.add_option("WHAT", options.operands, "a file, a folder, or a run of the history")
      .completed_by(Completes::kFileOrRun)
      .required();
  table
      .add_option("-o,--output", options.out,
                  "HTML file to write ('-': standard output; default: WHAT.html in this folder)")
      .completed_by(Completes::kFile);
  table.add_flag("--diff", options.is_diff, "compare the first WHAT (baseline) with the others (candidates)");
  table.add_option("--margin", options.margin,
                   "with --diff: changes up to this count as the same (default: 1%)");
  table.add_flag("--across-machines", options.across_machines,
                 "with --diff: compare results of different machines");
  table.add_option("--title", options.title, "title of the page (default: each WHAT)");
  table.add_flag("--force", options.force, "overwrite a file that is not a headroom page");
  table.add_no_follow();
  table.add_option("--store", options.store, "history with the runs").completed_by(Completes::kFile);
  declare_format(table, options.from);
  declare_reading(table, options.reading);
  declare_communication(table, options.reading);
  table.finish([&options] { return write_report(options); });
  return table;
}

}  // namespace headroom::cli

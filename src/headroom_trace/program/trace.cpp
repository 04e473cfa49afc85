// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/program/trace.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <string>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/base/secrets.h"
#include "headroom/console/interrupt.h"
#include "headroom/console/max_memory.h"
#include "headroom/console/output.h"
#include "headroom/results/record_files.h"
#include "headroom/tables/table.h"
#include "headroom_trace/columns/trace_facts.h"
#include "headroom_trace/program/trace_files.h"
#include "headroom_trace/report/trace_report.h"

namespace headroom::cli {
namespace {

using trace::FileAnalysis;
using Paths = std::vector<std::filesystem::path>;

void check_values(const TraceOptions& options) {
  for (const trace::AnalysisOption& option : options.analysis->options) {
    if (!options.values.flag(option.name)) continue;
    const std::string_view kind = option.value;
    if (kind == "TIME") static_cast<void>(options.values.time_ns(option.name, 0));
    if (kind == "SECONDS" || kind == "COUNT") static_cast<void>(options.values.number(option.name, 0));
    if (kind == "FILE") require_writable(options.values.text(option.name));
  }
  static_cast<void>(trace::needs_of(*options.analysis, options.values));
}

/// Round-robin, to share large and small files.
std::vector<FileAnalysis> analyze_share(const Paths& files, const TraceOptions& options,
                                        const TraceProcessGroup& group) {
  Paths mine;
  for (std::size_t i = group.index; i < files.size(); i += group.size) mine.push_back(files[i]);
  TraceProgress terminal;
  const trace::FilesOptions how = files_options(options.reading, terminal);
  std::vector<FileAnalysis> done = trace::analyze_files(mine, *options.analysis, options.values, how);
  return group.gather ? group.gather(std::move(done)) : done;
}

void sort_as(const Paths& files, std::vector<FileAnalysis>& analyses) {
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < files.size(); ++i) places[files[i].string()] = i;
  std::ranges::stable_sort(analyses, {}, [&](const FileAnalysis& one) { return places[one.facts.source]; });
}

bool drop_failures(std::vector<FileAnalysis>& analyses) {
  std::set<std::string> said;
  for (const FileAnalysis& analysis : analyses) {
    if (!analysis.error.empty() && said.insert(analysis.error).second) print_sentence(analysis.error);
  }
  return std::erase_if(analyses, [](const FileAnalysis& analysis) { return !analysis.error.empty(); }) > 0;
}

TraceReport report_of(std::vector<FileAnalysis> analyses, const Paths& files, const TraceOptions& options) {
  TraceReport report;
  report.name = options.name.empty() ? trace_name(files) : options.name;
  report.analysis = options.analysis->name;
  report.command = {"headroom", "trace", options.analysis->name};
  report.command.insert(report.command.end(), options.given.begin(), options.given.end());
  report.command.insert(report.command.end(), options.operands.begin(), options.operands.end());
  report.command = redact_secrets(std::move(report.command));
  report.operands = options.operands;
  for (const FileAnalysis& analysis : analyses) report.files.push_back(analysis.facts);
  if (files.size() == 1) {
    report.result = std::move(analyses.front().result);
    report.result.answer = trace_answer(report);
    return report;
  }
  const trace::RankNumbers numbers = trace::rank_numbers(report.files);
  for (const std::string& note : numbers.notes) print_sentence(note);
  for (std::size_t i = 0; i < analyses.size(); ++i) {
    report.ranks.push_back({report.files[i].source, numbers.ranks[i], std::move(analyses[i].result)});
  }
  std::ranges::stable_sort(report.ranks, {}, &trace::RankResult::rank);
  report.result = trace::combined(report.ranks, *options.analysis, options.values);
  report.result.answer = trace_answer(report);
  return report;
}

ExitCode answer(const TraceReport& report) {
  if (report.analysis != "validate") return ExitCode::kSuccess;
  const auto is_broken = [](const trace::Headline& headline) {
    return headline.metric == "problems" && headline.value > 0;
  };
  const auto any = [&](const trace::AnalysisResult& result) {
    return std::ranges::any_of(result.headlines, is_broken);
  };
  const bool broken =
      any(report.result) || std::ranges::any_of(report.ranks, any, &trace::RankResult::result);
  return broken ? ExitCode::kFailure : ExitCode::kSuccess;
}

constexpr TraceAction kActions[] = {
    {"diff", "A B", "compare two traces: kernels and ops added, removed, slower, faster", trace_diff_options},
    {"convert", "IN OUT", "rewrite a trace as clean Chrome JSON, or its events as CSV",
     trace_convert_options},
    {"merge", "FILE... -o OUT", "merge the traces of all ranks of a job, with aligned clocks",
     trace_merge_options},
};

std::string option_text(const trace::AnalysisOption& option) {
  std::string text = std::string("--") + option.name;
  if (option.value[0] != '\0') text += std::string(" ") + option.value;
  if (option.default_text[0] != '\0') text += std::string(" (") + option.default_text + ")";
  return text;
}

Json list_json() {
  Json list = Json::array();
  for (const trace::Analysis* analysis : trace::analyses()) {
    Json options = Json::array();
    for (const trace::AnalysisOption& option : analysis->options) {
      options.push_back({{"name", option.name},
                         {"value", option.value},
                         {"default", option.default_text},
                         {"help", option.help}});
    }
    list.push_back({{"name", analysis->name}, {"summary", analysis->summary}, {"options", options}});
  }
  return list;
}

ExitCode list(const std::string& json) {
  if (!json.empty())
    write_file_atomically(json == "-" ? "/dev/stdout" : json, dump_json_pretty(list_json()) + "\n");
  if (json == "-") return ExitCode::kSuccess;
  Table table({{"analysis"}, {"description, options (defaults)"}});
  for (const trace::Analysis* analysis : trace::analyses()) {
    table.row({analysis->name, analysis->summary});
    for (const trace::AnalysisOption& option : analysis->options) table.row({"", "  " + option_text(option)});
  }
  print_table(table, stdout);
  return ExitCode::kSuccess;
}

}  // namespace

ExitCode analyze_traces(const TraceOptions& options, const TraceProcessGroup& group) {
  static_cast<void>(interrupt_flag());
  const MemoryCap cap(max_memory_bytes(options.reading.max_memory));
  if (group.index == 0) check_outputs(options.outputs);
  check_values(options);
  const TraceFiles files = trace_files(options.operands);
  protect_inputs(options.outputs, files.paths);
  if (is_pytorch_compatible(options) && files.paths.size() > 1)
    throw Error("--pytorch-compat takes one trace: give one file");
  std::vector<FileAnalysis> analyses = analyze_share(files.paths, options, group);
  if (interrupt_flag()) {
    if (group.index == 0) print_message("interrupted; nothing was written");
    return ExitCode::kInterrupted;
  }
  if (group.index != 0) return ExitCode::kSuccess;
  for (const std::string& note : files.notes) print_sentence(note);
  sort_as(files.paths, analyses);
  const bool any_failed = drop_failures(analyses);
  if (analyses.empty()) return ExitCode::kError;
  const TraceReport report = report_of(std::move(analyses), files.paths, options);
  if (report.analysis != "validate") warn_of_problems(report.files);
  if (is_pytorch_compatible(options)) {
    write_pytorch_pair(report, options.outputs);
  } else {
    run_writes(
        {[&] { write_report(report, options.outputs); }, [&] { keep_in_history(report, options.store); }});
  }
  return any_failed ? ExitCode::kError : answer(report);
}

OptionTable trace_options(Arguments& arguments) {
  const std::size_t place = first_operand(arguments);
  for (const TraceAction& action : kActions) {
    if (place >= arguments.size() || arguments[place] != action.name) continue;
    arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(place));
    return action.options();
  }
  return analysis_options(arguments, kActions, [](const TraceOptions& options) {
    return options.list ? list(options.outputs.json) : analyze_traces(options);
  });
}

std::vector<CommandWord> trace_words() {
  std::vector<CommandWord> words;
  for (const trace::Analysis* analysis : trace::analyses())
    words.push_back({analysis->name, analysis->summary});
  for (const TraceAction& action : kActions) words.push_back({action.name, action.summary});
  return words;
}

}  // namespace headroom::cli

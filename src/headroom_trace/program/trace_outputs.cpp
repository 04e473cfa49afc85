// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/program/trace_outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <limits>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/console/output.h"
#include "headroom/history/store.h"
#include "headroom/results/record_files.h"
#include "headroom_trace/report/trace_json.h"

namespace headroom::cli {
namespace {

constexpr const char* kStdout = "-";

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void write(const std::string& path, const std::string& text) {
  if (path == kStdout) {
    print(text);
  } else {
    write_file_atomically(path, text);
  }
}

/// "kernels.streams.csv" of "kernels.csv" and "streams".
std::string with_key(const std::string& path, const std::string& key) {
  const std::filesystem::path whole(path);
  const std::string ending = whole.extension().string();
  return path.substr(0, path.size() - ending.size()) + "." + key + ending;
}

void write_csv(const trace::AnalysisResult& result, const std::string& path) {
  if (path == kStdout) return print(trace_csv(result));
  for (const trace::DataTable& table : result.tables) {
    const bool is_first = &table == &result.tables.front();
    write_file_atomically(is_first ? path : with_key(path, table.key), trace_csv(table));
  }
}

/// As Python's json.dumps writes it, byte for byte.
std::string pytorch_json(const trace::AnalysisResult& result) {
  std::string text;
  for (const trace::Headline& headline : result.headlines)
    text += (text.empty() ? "{\"" : ", \"") + headline.metric + "\": " + dump_json(Json(headline.value));
  return text + "}\n";
}

std::int64_t first_instant(const TraceReport& report) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for (const trace::TraceFacts& facts : report.files) first = std::min(first, facts.start_ns);
  return report.files.empty() ? 0 : first;
}

/// The files that the analyses themselves were asked for; of several ranks each has its own.
void write_result_files(const TraceReport& report) {
  for (const trace::OutputFile& file : report.result.files) write_file_atomically(file.path, file.content);
  for (const trace::RankResult& rank : report.ranks) {
    for (const trace::OutputFile& file : rank.result.files) {
      write_file_atomically(with_key(file.path, "rank" + std::to_string(rank.rank)), file.content);
    }
  }
}

/// The report first: files that cannot be written take it from nobody.
void print_and_write(const TraceReport& report, const TraceOutputOptions& outputs, const std::string& json) {
  // What goes to standard output for a program to read stands there alone.
  if (outputs.json != kStdout && outputs.csv != kStdout)
    print_sheet(trace_sheet(report.result, {outputs.markdown, outputs.whole_names, first_instant(report),
                                            terminal_width(stdout)}),
                stdout, outputs.markdown);
  write_each({[&] {
                if (!outputs.json.empty()) write(outputs.json, json);
              },
              [&] { write_result_files(report); },
              [&] {
                if (!outputs.csv.empty()) write_csv(report.result, outputs.csv);
              }});
}

std::string problems_text(const trace::TraceFacts& facts) {
  const trace::Problems& problems = facts.problems;
  const char* const advice = "; headroom trace validate FILE says more";
  if (problems.count == 0) {
    if (facts.is_complete) return "";
    return facts.source + ": the file ends before its JSON does; used up to there" + advice;
  }
  std::string text = fmt::format("{}: {} {}, {} {} left out", facts.source, problems.count,
                                 problems.count == 1 ? "problem" : "problems", problems.events_skipped,
                                 problems.events_skipped == 1 ? "event" : "events");
  if (!problems.first.empty()) {
    const trace::Problem& first = problems.first.front();
    text += fmt::format("; the first at byte {}: {}", first.offset, first.what);
  }
  return text + advice;
}

}  // namespace

bool is_pytorch_compatible(const TraceOptions& options) {
  return std::string_view(options.analysis->name) == "utilization" && options.values.flag("pytorch-compat");
}

void check_outputs(const TraceOutputOptions& outputs) {
  if (outputs.json == kStdout && outputs.csv == kStdout)
    throw Error("--json - and --csv - both write to standard output: give one of them a file");
  for (const std::string& path : {outputs.json, outputs.csv}) {
    if (!path.empty() && path != kStdout) require_writable(path);
  }
}

void keep_inputs(const TraceOutputOptions& outputs, std::span<const std::filesystem::path> inputs) {
  for (const std::string& path : {outputs.json, outputs.csv}) {
    if (path.empty() || path == kStdout) continue;
    std::error_code none;
    for (const std::filesystem::path& input : inputs) {
      if (std::filesystem::equivalent(path, input, none))
        throw Error(path + " is a trace that is to be read: give another file to write to");
    }
  }
}

void write_report(const TraceReport& report, const TraceOutputOptions& outputs) {
  print_and_write(report, outputs, outputs.json.empty() ? "" : trace_json_text(report));
}

void write_pytorch_pair(const TraceReport& report, const TraceOutputOptions& outputs) {
  print_and_write(report, outputs, pytorch_json(report.result));
}

void keep_in_history(const TraceReport& report, const std::string& store) {
  try {
    append_to_history(trace_records(report), store, Equal::kOnce);
  } catch (const Error& error) {
    const std::string unkept = std::string("not kept in the history: ") + error.what();
    if (store != default_store()) throw Error(unkept);
    say_sentence(unkept);
  }
}

void warn_of_problems(const std::vector<trace::TraceFacts>& traces) {
  constexpr std::size_t kMost = 10;
  std::size_t files = 0;
  for (const trace::TraceFacts& facts : traces) {
    const std::string text = problems_text(facts);
    if (!text.empty() && ++files <= kMost) say_sentence(text);
  }
  if (files > kMost) say_sentence(fmt::format("and {} more files with problems", files - kMost));
}

}  // namespace headroom::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/trace_outputs.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <limits>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/history/store.h"
#include "headroom/report/trace_csv.h"
#include "headroom/report/trace_json.h"
#include "headroom/report/trace_records.h"
#include "headroom/report/trace_text.h"

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

void write_csv(const trace::AnalysisResult& result, const std::string& path) {
  if (path == kStdout) return print(trace_csv(result));
  for (const trace::DataTable& table : result.tables) {
    const bool is_first = &table == &result.tables.front();
    write_file_atomically(is_first ? path : csv_path(path, table.key), trace_csv(table));
  }
}

/// A history that cannot be written to is no reason to fail an analysis that was made. The same trace
/// analysed again is the same run.
void append_to_history(const TraceReport& report, const std::string& store) {
  const std::vector<Record> records = trace_records(report);
  if (store.empty() || records.empty()) return;
  try {
    open_store(store)->append_if_new(records);
  } catch (const Error& error) {
    std::fprintf(stderr, "headroom: not kept in the history: %s\n", error.what());
  }
}

std::string pytorch_json(const trace::AnalysisResult& result) {
  Json json = Json::object();
  for (const trace::Headline& headline : result.headlines) json[headline.metric] = headline.value;
  return dump_json(json) + "\n";
}

std::int64_t first_instant(const TraceReport& report) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for (const trace::TraceFacts& facts : report.files) first = std::min(first, facts.start_ns);
  return report.files.empty() ? 0 : first;
}

}  // namespace

bool is_pytorch_compatible(const TraceOptions& options) {
  return std::string_view(options.analysis->name) == "utilization" && options.values.flag("pytorch-compat");
}

void require_writable_outputs(const TraceOptions& options) {
  for (const std::string& path : {options.json, options.csv}) {
    if (!path.empty() && path != kStdout) require_writable(path);
  }
}

std::string csv_path(const std::string& path, const std::string& table_key) {
  const std::filesystem::path whole(path);
  const std::string ending = whole.extension().string();
  return path.substr(0, path.size() - ending.size()) + "." + table_key + ending;
}

void write_outputs(const TraceReport& report, const TraceOptions& options) {
  const bool is_pair = is_pytorch_compatible(options);
  if (!options.json.empty())
    write(options.json, is_pair ? pytorch_json(report.result) : trace_json_text(report));
  if (!options.csv.empty()) write_csv(report.result, options.csv);
  if (!is_pair) append_to_history(report, options.store);
  // What goes to standard output for a program to read stands there alone.
  if (options.json == kStdout || options.csv == kStdout) return;
  print(trace_text(report.result, {options.markdown, options.whole_names, first_instant(report)}));
}

}  // namespace headroom::cli

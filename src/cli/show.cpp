// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/console/max_memory.h"
#include "headroom/console/option_table.h"
#include "headroom/console/output.h"
#include "headroom/console/program.h"
#include "headroom/history/store.h"
#include "headroom/record/metrics.h"
#include "headroom/report/metric_text.h"
#include "headroom/results/record_files.h"
#include "headroom/results/shown_records.h"

namespace headroom::cli {
namespace {

constexpr ConstantHelp kShowExamples[] = {
    {"headroom show result.json", "the tables of a stored run"},
    {"headroom show @20", "a run of the history"},
    {"headroom show @last --markdown", "the last run, for a report"},
    {"headroom show @last --html > last.html", "the same as a page for a browser"},
    {"headroom show trace.json.gz", "the summary of a profiler trace"},
    {"headroom show pytest.json --json -", "results of another tool as records, with samples"},
    {"headroom show result.json --export bmf bencher.json", "as another tool reads them"},
};

constexpr const char* kShowDetails[] = {
    "Each RESULT is a file of results in any format that headroom reads, a folder of them, or a run of the "
    "history: @last, @ID (headroom history lists them), @git:REV, or @unfinished, the newest killed command. "
    "Each is shown as by the command that measured it, a trace as by headroom trace summary.",
};

constexpr ForeignOption kForeignShowOptions[] = {
    {"-o,--output,--csv", true, nullptr, "give --json FILE for the records, or > FILE for the table"},
    {"--list", false, nullptr, "headroom history lists the runs, headroom list the experiments"},
};

using Titled = std::vector<std::pair<std::string, View>>;

struct Shown {
  const std::vector<std::string>& operands;
  const Titled& views;
  const std::string& store;
  const std::string& from;
};

struct ShownForm {
  const char* option;
  const char* help;
  bool is_of_trace_command;  ///< also of headroom trace; else headroom report shows traces
  ExitCode (*print)(const Shown& shown);
};

void print_views(const Shown& shown, bool markdown) {
  for (const auto& [title, view] : shown.views) {
    if (&view != &shown.views.front().second) std::fputs("\n", stdout);
    if (!title.empty()) print_view(View().title(title), stdout, markdown);
    print_view(view, stdout, markdown);
  }
}

constexpr std::array kForms{
    ShownForm{"--markdown", "print the tables in Markdown", true,
              [](const Shown& shown) {
                print_views(shown, true);
                return ExitCode::kSuccess;
              }},
    ShownForm{"--html", "print a page for a browser (headroom report writes it to a file)", false,
              [](const Shown& shown) {
                Arguments arguments{"report", "-o", "-", "--store", shown.store};
                if (!shown.from.empty()) arguments.insert(arguments.end(), {"--from", shown.from});
                arguments.insert(arguments.end(), shown.operands.begin(), shown.operands.end());
                return run_program("headroom-pages", arguments);
              }},
};

struct ShowOptions {
  std::vector<std::string> operands;
  std::string json, oss, max_memory, from, store = default_store();
  MetricChoice metrics;
  Exports exports;
  std::array<bool, kForms.size()> forms{};

  /// null: text
  const ShownForm* form() const {
    const auto chosen = std::ranges::find(forms, true);
    return chosen == forms.end() ? nullptr : &kForms[static_cast<std::size_t>(chosen - forms.begin())];
  }
};

bool is_trace(const Record& record) {
  return record.instrument == Instrument::kTrace;
}

ExitCode show_traces(Arguments arguments, const std::vector<std::string>& traces,
                     const ShowOptions& options) {
  const ShownForm* form = options.form();
  const bool is_page = form != nullptr && !form->is_of_trace_command;
  if (is_page) {
    arguments = {"report", "-o", "-"};
    arguments.insert(arguments.end(), traces.begin(), traces.end());
  }
  if (!options.max_memory.empty()) arguments.insert(arguments.end(), {"--max-memory", options.max_memory});
  if (is_page) return run_program("headroom-pages", arguments);
  if (form != nullptr) arguments.emplace_back(form->option);
  arguments.emplace_back("--no-store");
  if (!options.json.empty()) arguments.insert(arguments.end(), {"--json", options.json});
  return run_program("headroom-trace", arguments);
}

bool is_trace_file(const std::string& operand) {
  std::error_code ignored;
  if (operand.starts_with("@") || !std::filesystem::is_regular_file(operand, ignored)) return false;
  if (find_program_of_ours("headroom-trace").empty()) return false;
  return run_program("headroom-trace", {"--is-trace", operand}) == ExitCode::kSuccess;
}

/// Reads the traces of a stored run again. Nothing if they are gone or the analysis wrote a file.
std::optional<ExitCode> reanalyse_traces(const std::vector<Record>& records, const ShowOptions& options) {
  const auto& environment = records.front().environment;
  if (!environment || environment->command.size() < 3) return std::nullopt;
  const std::vector<std::string>& traces = environment->options.traces;
  const auto is_there = [](const std::string& trace) {
    std::error_code ignored;
    return std::filesystem::exists(trace, ignored);
  };
  if (traces.empty() || !std::ranges::all_of(traces, is_there)) return std::nullopt;
  if (environment->options.writes_file) return std::nullopt;
  return show_traces({environment->command.begin() + 2, environment->command.end()}, traces, options);
}

View headlines_view(const std::vector<Record>& records) {
  Table table({{"metric"}, {"of", Align::kLeft, ""}, {"rank"}, {"device"}, {"value", Align::kRight}});
  for (const Record& record : records) {
    const Record::Metric& metric = record.metric;
    table.row({metric.name, record.model.name, axis_text(record, "rank"), axis_text(record, "device"),
               value_text(metric.value, metric.unit, metric.name)});
  }
  const Record::Metric& first = records.front().metric;
  View view;
  return view
      .answer(fmt::format("{}: {} {}", records.front().model.name, first.name,
                          value_text(first.value, first.unit, first.name)))
      .table(std::move(table))
      .notes("  stored numbers of a trace analysis; the trace itself is not read here\n");
}

OperandRecords read_operands(const ShowOptions& options) {
  OperandRecords all;
  for (const std::string& operand : options.operands) {
    OperandRecords found = records_of_operand(operand, options.store, options.max_memory, options.from);
    for (const std::string& warning : found.warnings) print_sentence(warning);
    std::ranges::move(found.files, std::back_inserter(all.files));
  }
  return all;
}

void require_metrics(const std::vector<FileResults>& files, const std::vector<std::string>& names) {
  std::set<std::string> known;
  for (const FileResults& file : files) {
    for (const Record& record : file.records) known.insert(record.metric.name);
  }
  for (const std::string& name : names) {
    if (std::ranges::any_of(known, [&](const std::string& other) { return is_same_metric(name, other); }))
      continue;
    throw Error("no result has the metric " + quote(name) + "; the metrics are " +
                join(std::vector<std::string>(known.begin(), known.end()), ", "));
  }
}

View record_view(const ShownRun& run, const MetricChoice& metrics) {
  View view = shown_records(run.records);
  view.answer(run.note).table(metric_table(run.records, metrics));
  if (!metrics.all && shows_cases(run.records)) view.notes(unshown_metrics_text(run.records));
  return view;
}

Titled views_of(std::vector<FileResults> files, const MetricChoice& metrics) {
  require_metrics(files, metrics.names);
  Titled views;
  for (const ShownRun& run : runs_to_show(std::move(files)))
    views.emplace_back(run.title, record_view(run, metrics));
  return views;
}

ExitCode show_all(const ShowOptions& options) {
  std::vector<std::string> forms;
  for (std::size_t i = 0; i < kForms.size(); ++i) {
    if (options.forms[i]) forms.emplace_back(kForms[i].option);
  }
  if (forms.size() > 1) throw Error(join(forms, " and ") + " conflict; give one");
  RecordFiles files(options.json, options.oss);
  files.add_exports(options.exports);
  const bool is_one = options.operands.size() == 1;
  const bool writes = !options.json.empty() || !options.oss.empty() || !options.exports.empty();
  if (is_one && options.from.empty() && is_trace_file(options.operands.front())) {
    if (!options.oss.empty() || !options.exports.empty())
      throw Error("--oss and --export need results: " + options.operands.front() + " is a trace");
    return show_traces({"summary", options.operands.front()}, options.operands, options);
  }
  OperandRecords found = read_operands(options);
  const bool are_traces = std::ranges::all_of(
      found.files, [](const FileResults& file) { return std::ranges::all_of(file.records, is_trace); });
  if (are_traces && is_one && options.operands.front().starts_with("@") && !writes) {
    if (const auto done = reanalyse_traces(found.files.front().records, options)) return *done;
  }
  const std::vector<Record> records = writes ? OperandRecords(found).take_records() : std::vector<Record>{};
  if (!files.uses_stdout()) {
    const auto views = are_traces ? Titled{{"", headlines_view(found.take_records())}}
                                  : views_of(std::move(found.files), options.metrics);
    const Shown shown{options.operands, views, options.store, options.from};
    if (options.form() != nullptr) {
      const ExitCode printed = options.form()->print(shown);
      if (printed != ExitCode::kSuccess) return printed;
    } else {
      print_views(shown, false);
    }
  }
  files.finish(records);
  return ExitCode::kSuccess;
}

}  // namespace

OptionTable show_options(Arguments&) {
  OptionTable table("Show results of any tool, of a run of the history, or of a trace.", "headroom show");
  auto& options = table.own<ShowOptions>();
  table.examples(kShowExamples);
  table.details(kShowDetails);
  table.add_option("RESULT", options.operands, "file, folder, or run of the history")
      .completed_by(Completes::kFileOrRun)
      .required();
  for (std::size_t i = 0; i < kForms.size(); ++i)
    table.add_flag(kForms[i].option, options.forms[i], kForms[i].help);
  table.add_option("--metric", options.metrics.names, "also show a table of this metric (may be repeated)")
      .type_name("NAME")
      .repeated();
  table.add_flag("--all-metrics", options.metrics.all,
                 "also show a table of every metric without a column: counters, CPU time");
  declare_format(table, options.from);
  declare_record_files(table, options.json, options.oss);
  declare_exports(table, options.exports, Exported::kResults);
  table.add_option("--store", options.store, "history to read runs from").completed_by(Completes::kFile);
  declare_max_memory(table, options.max_memory);
  table.foreign(kForeignShowOptions);
  table.finish([&options] { return show_all(options); });
  return table;
}

}  // namespace headroom::cli

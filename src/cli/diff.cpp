// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/regular_expression.h"
#include "headroom/base/text.h"
#include "headroom/compare/diff_report.h"
#include "headroom/compare/gate_outputs.h"
#include "headroom/console/max_memory.h"
#include "headroom/console/option_table.h"
#include "headroom/console/output.h"
#include "headroom/files/compressed_file.h"
#include "headroom/history/store.h"
#include "headroom/ranks/ddp/ddp.h"
#include "headroom/results/compared_sides.h"
#include "headroom/results/record_files.h"

namespace headroom::cli {
namespace {

constexpr ConstantHelp kDiffExamples[] = {
    {"headroom diff before.json after.json", "a table: ratio, interval, verdict"},
    {"headroom diff --gate 3% before.json after.json", "exit 1 on a regression beyond 3 %"},
    {"headroom diff --gate '3%,p95 10%' old/ new/", "gate the 95th percentile, too"},
    {"headroom diff --gate-file gate.toml before/ after/", "margins by case"},
    {"headroom diff --metric latency --filter 'gemv.*int8' --sort ratio a.json b.json",
     "some cases, the worst first"},
    {"headroom diff --shift --filter 'gemv D=64' a.json b.json", "did all samples move, or the slowest?"},
    {"headroom diff @git:1a2b3c @last", "two runs of the history"},
    {"headroom diff --format ddp a.json b.json", "in the form of PyTorch's DDP diff.py"},
};

constexpr const char* kDiffDetails[] = {
    "BASELINE and CANDIDATE are each a file of results in any format that headroom reads, a folder of them, "
    "or a run of the history: @last, @ID (headroom history lists them), @git:REV.",
    "exit codes with a gate: 0 the same or better, 1 a regression, 2 error, 3 inconclusive",
};

constexpr ForeignOption kForeignDiffOptions[] = {
    {"-t,--threshold,--fail-above,--fail-threshold,--max-regression", true, "--gate {}"},
    {"-f", true, "--filter {}"},
    {"-o,--output,--csv,--export-csv", true, nullptr,
     "give --json FILE for the comparison, or > FILE for the table"},
    {"-a,--alpha", true, nullptr, "intervals have 95 %; --gate 3% decides by them"},
};

struct Texts {
  std::vector<std::string> operands;
  std::string format = "table", sort, percentiles, gate, gate_file, run_spread;
  Exports exports;
};

std::vector<double> parse_percentiles(const std::string& text) {
  std::vector<double> all;
  for (const std::string& part : split(text, ',')) {
    const auto number = to_number(trimmed(part));
    if (!number || !(*number >= 0 && *number <= 100)) {
      throw Error("--percentile " + quote(text) + ": " + quote(part) + " is not a number from 0 to 100");
    }
    all.push_back(*number);
  }
  return all;
}

DiffOptions::Sort sort_of(const std::string& name) {
  static const std::map<std::string, DiffOptions::Sort> kSorts{{"", DiffOptions::Sort::kNone},
                                                               {"name", DiffOptions::Sort::kName},
                                                               {"ratio", DiffOptions::Sort::kRatio},
                                                               {"time", DiffOptions::Sort::kTime}};
  return kSorts.at(name);
}

/// Parses "p95 5%".
TailMargin parse_tail(const std::string& text) {
  const std::size_t blank = text.find(' ');
  const auto percentile = to_number(text.substr(1, blank == std::string::npos ? blank : blank - 1));
  if (!percentile || !(*percentile > 0 && *percentile < 100) || blank == std::string::npos)
    throw Error("--gate " + quote(text) + ": expected a percentile and its margin, such as 'p95 5%'");
  return {*percentile, parse_margin(trimmed(text.substr(blank + 1)))};
}

void parse_gate(DiffOptions& options, const Texts& texts) {
  options.gate = !texts.gate.empty() || !texts.gate_file.empty();
  if (options.gate) options.judge.multiplicity = Multiplicity::kHolm;
  if (!texts.gate_file.empty()) {
    GateFile file = read_gate_file(texts.gate_file);
    options.judge.margins.rules = std::move(file.rules);
    if (file.margin) options.judge.margins.overall = *file.margin;
    if (!file.margin && texts.gate.empty()) {
      throw Error(texts.gate_file +
                  ": no margin for all cases; write margin = \"3%\" at the top, or give --gate 3%");
    }
  }
  for (const std::string& part : split(texts.gate, ',')) {
    const std::string text = std::string(trimmed(part));
    if (text.empty()) continue;
    if (text.starts_with("p")) {
      options.tails.push_back(parse_tail(text));
    } else {
      options.judge.margins.overall = parse_margin(text);
    }
  }
  const bool only_tails =
      !options.tails.empty() && texts.gate.find(',') == std::string::npos && texts.gate_file.empty();
  if (only_tails) options.judge.margins.overall = options.tails.front().margin;
  for (const TailMargin& tail : options.tails) {
    if (std::ranges::find(options.percentiles, tail.percentile) == options.percentiles.end())
      options.percentiles.push_back(tail.percentile);
  }
}

void apply_raw_options(DiffOptions& options, const Texts& texts) {
  options.baseline = texts.operands.front();
  options.tests.assign(texts.operands.begin() + 1, texts.operands.end());
  options.ddp_form = texts.format == "ddp";
  options.sort = sort_of(texts.sort);
  if (!texts.percentiles.empty()) options.percentiles = parse_percentiles(texts.percentiles);
  parse_gate(options, texts);
  if (!texts.run_spread.empty())
    options.run_spread = with_context("--run-spread", [&] { return parse_margin(texts.run_spread); });
  if (!options.filter.empty()) {
    with_context("--filter", [&] { static_cast<void>(RegularExpression(options.filter)); });
  }
  for (const std::string& metric : options.higher_is_better) {
    if (std::ranges::find(options.lower_is_better, metric) == options.lower_is_better.end()) continue;
    throw Error(quote(metric) + " is in --higher-is-better and in --lower-is-better: keep one");
  }
  if (!options.confirm.empty() && !options.gate) throw Error("--confirm needs a gate: give --gate, too");
  if (!options.ddp_form) return;
  if (options.tests.size() != 1) throw Error("--format ddp compares exactly two files");
  if (options.gate || !options.json.empty() || options.markdown || !options.percentiles.empty() ||
      options.shift || !texts.exports.empty()) {
    throw Error(
        "--format ddp conflicts with --gate, --json, --export, --markdown, --percentile and --shift: it "
        "prints only the output of PyTorch's diff.py");
  }
}

void print(std::string_view text) {
  print_text(text, stdout);
}

void report_no_comparison(const DiffReport& report) {
  const auto first =
      std::ranges::find_if(report.comparisons, [](const Comparison& c) { return !c.problem.empty(); });
  const std::string why =
      first == report.comparisons.end() ? "" : ": " + case_name(*first->baseline) + ": " + first->problem;
  print_message("gate: {}{}", report.gate->sentence, why);
}

View diff_view(const DiffReport& report) {
  View view;
  answer_diff(view, report);
  return view.table(environment_table(report))
      .table(diff_table(report))
      .table(scaling_table(report))
      .table(percentile_table(report))
      .table(shift_table(report))
      .notes(diff_summary(report), Tone::kPlain);
}

RecordFiles files_of(const DiffOptions& options, const Exports& exports,
                     const std::optional<DiffReport>& report) {
  for (const auto& [name, path] : exports) {
    if (std::ranges::find(gate_forms(), name, &GateForm::name) == gate_forms().end())
      throw Error("--export " + name + ": diff writes the answer of its gate; headroom show FILE --export " +
                  name + " " + path + " writes results");
  }
  RecordFiles files("", "");
  files.add_exports(exports,
                    options.gate ? [&](const auto&) { return gate_report(*report); } : GateReporter());
  if (options.json == "-" && files.uses_stdout())
    throw Error("--json and --export both write to standard output: give one of them a file");
  return files;
}

ExitCode diff(const DiffOptions& options, const Exports& exports) {
  if (options.ddp_form) {
    print(ddp_diff(std::filesystem::path(options.baseline), std::filesystem::path(options.tests.front())));
    return ExitCode::kSuccess;
  }
  std::optional<DiffReport> made;
  const RecordFiles files = files_of(options, exports, made);
  const bool json_only = options.json == "-";
  if (!options.json.empty() && !json_only) require_writable(options.json);
  const DiffSide baseline = read_side(options.baseline, options);
  std::vector<DiffSide> tests;
  for (const std::string& operand : options.tests) tests.push_back(read_side(operand, options));
  const DiffReport& report = made.emplace(compare_sides(baseline, tests, options));

  if (json_only) {
    write_diff_json(report, print);
  } else {
    print_view(diff_view(report), files.uses_stdout() ? stderr : stdout, options.markdown);
    if (!options.json.empty()) {
      FileWriter file(options.json);
      write_diff_json(report, [&file](std::string_view text) { file.write(text); });
      file.finish();
    }
  }
  if (report.comparisons.empty()) {
    throw Error("nothing was compared: no case of " + report.baseline + " is in a candidate");
  }
  files.finish({});
  if (!report.gate) return ExitCode::kSuccess;
  if (report.gate->exit == ExitCode::kError) report_no_comparison(report);
  return report.gate->exit;
}

}  // namespace

OptionTable diff_options(Arguments&) {
  OptionTable table("Compare measurements, case by case: slower, faster, the same, or inconclusive.",
                    "headroom diff");
  auto& options = table.own<DiffOptions>();
  auto& texts = table.own<Texts>();
  table.examples(kDiffExamples);
  table.details(kDiffDetails);
  table.add_option("BASELINE CANDIDATE", texts.operands, "the baseline, then one or more candidates")
      .completed_by(Completes::kFileOrRun)
      .required()
      .expected(2, 64);
  table.add_option("--metric", options.metrics, "compare only this metric (may be repeated)")
      .type_name("NAME")
      .repeated();
  table.add_flag("--all-metrics", options.all_metrics, "compare every metric of a case, not one");
  table
      .add_option("--higher-is-better", options.higher_is_better,
                  "metric for which higher is better (may be repeated)")
      .type_name("NAME")
      .repeated();
  table
      .add_option("--lower-is-better", options.lower_is_better,
                  "metric for which lower is better (may be repeated)")
      .type_name("NAME")
      .repeated();
  table.add_option("--filter", options.filter,
                   "compare only cases whose name matches this regular expression");
  table
      .add_option("--sort", texts.sort,
                  "sort by name, ratio (worst first) or time (longest first); default: as in BASELINE")
      .one_of({"name", "ratio", "time"});
  table.add_option("--percentile", texts.percentiles, "also compare these percentiles: 50,75,95");
  table.add_flag("--shift", options.shift,
                 "also compare all deciles of each case: did all samples move, or only the slowest?");
  table.add_option(
      "--gate", texts.gate,
      "exit 1 if a case got slower by more than this: 3%; 'p95 5%' gates a tail, '3%,p95 5%' both");
  table.add_option("--gate-file", texts.gate_file, "TOML file of margins by case")
      .completed_by(Completes::kFile)
      .type_name("FILE");
  table.add_option("--run-spread", texts.run_spread,
                   "run-to-run spread on this machine, a standard deviation: 1% (default: from several runs "
                   "of a side, the history and --calibrate-noise; else up to 16 % is assumed)");
  table.add_flag("--across-machines", options.across_machines,
                 "allow comparing results of different machines");
  table
      .add_option("--confirm", options.confirm,
                  "rerun each suspected regression with this command, which measures both builds: 'headroom "
                  "run --runner OLD --runner NEW'")
      .type_name("COMMAND");
  table
      .add_option("--store", options.store,
                  "history of @last, @ID and @git:REV (default: HEADROOM_STORE, or the user's)")
      .completed_by(Completes::kFile);
  table.add_no_follow();
  declare_format(table, options.from);
  declare_max_memory(table, options.max_memory);
  table.add_flag("--markdown", options.markdown, "print the table in Markdown");
  table
      .add_option("--json", options.json,
                  "also write the comparison to FILE; - is standard output, instead of the table")
      .type_name("FILE");
  declare_exports(table, texts.exports, Exported::kGate);
  table
      .add_option("--format", texts.format,
                  "output as a table, or as ddp: the form of PyTorch's DDP benchmark")
      .one_of({"table", "ddp"});
  table.foreign(kForeignDiffOptions);
  table.finish([&options, &texts] {
    apply_raw_options(options, texts);
    return diff(options, texts.exports);
  });
  return table;
}

}  // namespace headroom::cli

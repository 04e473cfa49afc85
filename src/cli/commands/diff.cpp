// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/diff.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/diff_options.h"
#include "cli/commands/diff_sides.h"
#include "cli/shared/print_table.h"
#include "cli/shared/say.h"
#include "headroom/base/error.h"
#include "headroom/base/file_writer.h"
#include "headroom/base/files.h"
#include "headroom/compare/diff_json.h"
#include "headroom/compare/diff_table.h"
#include "headroom/ranks/ddp/ddp_diff.h"
#include "headroom/ranks/ddp/ddp_scaling.h"

namespace headroom::cli {
namespace {

void print(std::string_view text) {
  print_text(text, stdout);
}

void say_why_nothing_was_compared(const DiffReport& report) {
  const auto first =
      std::ranges::find_if(report.comparisons, [](const Comparison& c) { return !c.problem.empty(); });
  const std::string why =
      first == report.comparisons.end() ? "" : ": " + case_name(*first->baseline) + ": " + first->problem;
  say("gate: {}{}", report.gate->sentence, why);
}

Sheet diff_sheet(const DiffReport& report) {
  Sheet sheet;
  answer_diff(sheet, report);
  return sheet.table(environment_table(report))
      .table(diff_table(report))
      .table(scaling_table(report))
      .table(percentile_table(report))
      .table(shift_table(report))
      .notes(diff_summary(report), Tone::kPlain);
}

}  // namespace

ExitCode diff(const Arguments& arguments) {
  ExitCode done = ExitCode::kFine;
  const std::optional<DiffOptions> options = parse_diff_options(arguments, done);
  if (!options) return done;
  if (options->ddp_form) {
    print(ddp_diff(std::filesystem::path(options->baseline), std::filesystem::path(options->tests.front())));
    return ExitCode::kFine;
  }
  const bool json_only = options->json == "-";
  if (!options->json.empty() && !json_only) require_writable(options->json);
  const DiffSide baseline = read_side(options->baseline, *options);
  std::vector<DiffSide> tests;
  for (const std::string& operand : options->tests) tests.push_back(read_side(operand, *options));
  const DiffReport report = compare_sides(baseline, tests, *options);

  if (json_only) {
    write_diff_json(report, print);
  } else {
    print_sheet(diff_sheet(report), stdout, options->markdown);
    if (!options->json.empty()) {
      FileWriter file(options->json);
      write_diff_json(report, [&file](std::string_view text) { file.write(text); });
      file.finish();
    }
  }
  if (report.comparisons.empty()) {
    throw Error("no case of " + report.baseline + " is in what it is compared with: nothing was compared");
  }
  if (!report.gate) return ExitCode::kFine;
  if (report.gate->exit == ExitCode::kCannot) say_why_nothing_was_compared(report);
  return report.gate->exit;
}

}  // namespace headroom::cli

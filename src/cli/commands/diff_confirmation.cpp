// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/diff_confirmation.h"

#include <fmt/format.h>

#include <chrono>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/command/command_line.h"
#include "headroom/process/spawn.h"
#include "headroom/process/temporary_folder.h"
#include "headroom/record/formats.h"

namespace headroom::cli {
namespace {

std::vector<std::string> command_for(const Record& record, const std::string& command,
                                     const std::string& json) {
  if (trimmed(command).empty()) {
    throw Error("--confirm needs a command, for example 'headroom run --runner OLD --runner NEW'");
  }
  std::vector<std::string> arguments = with_context("--confirm", [&] { return split_command_line(command); });
  arguments.push_back(record.model.name);
  for (const auto& [axis, value] : record.axes) {
    arguments.insert(arguments.end(), {"-a", axis + "=" + value.text()});
  }
  arguments.insert(arguments.end(), {"--backend", record.model.backend, "--json", json});
  if (record.threads > 0) arguments.insert(arguments.end(), {"--threads", std::to_string(record.threads)});
  if (record.caches == "hot") arguments.emplace_back("--hot");
  return arguments;
}

std::vector<Record> rerun(const Record& record, const std::string& command) {
  const TemporaryFolder folder;
  const std::string json = (folder.path() / "records.json").string();
  SpawnOptions options;
  options.arguments = command_for(record, command, json);
  Child child(options);
  const auto status = child.wait(std::chrono::milliseconds(-1));
  if (!status->ok()) {
    throw Error("the command of --confirm failed (" + status->text() + "): " + join(options.arguments, " ") +
                "; " + join(child.stderr_lines().lines(), " | "));
  }
  return read_records(json);
}

/// The two measurements of the record's quantity in `records`: the old build's first.
std::vector<const Record*> both_of(const std::vector<Record>& records, const Record& record) {
  std::vector<const Record*> found;
  for (const Record& candidate : records) {
    if (identity(candidate) == identity(record)) found.push_back(&candidate);
  }
  if (found.size() != 2) {
    throw Error(fmt::format("the command of --confirm measured {} {} times, not by two runners",
                            case_name(record), found.size()));
  }
  return found;
}

/// Whether it is said to have regressed, or looks like it, by its modes or by their shares, and cannot be
/// told.
bool is_suspect(const Comparison& comparison) {
  if (comparison.verdict == Verdict::kRegression) return true;
  const auto looks_worse = [&](const std::optional<RatioEstimate>& ratio) {
    return ratio && worsening(*ratio, comparison.baseline->metric.direction).ratio > 1 + comparison.margin;
  };
  return comparison.verdict == Verdict::kInconclusive &&
         (looks_worse(comparison.ratio) || (comparison.modes && looks_worse(comparison.modes->share_effect)));
}

}  // namespace

std::vector<std::string> confirm_regressions(std::span<Comparison> comparisons, const JudgeRule& rule,
                                             const std::string& command) {
  std::vector<std::string> said;
  for (Comparison& comparison : comparisons) {
    if (!is_suspect(comparison)) continue;
    const std::vector<Record> records = rerun(*comparison.baseline, command);
    const auto both = both_of(records, *comparison.baseline);
    std::vector<Comparison> again{compare_records(*both[0], *both[1])};
    judge(again, rule);
    const bool confirmed = again.front().verdict == Verdict::kRegression;
    // Side by side counts more than apart, whatever it says.
    comparison.ratio = again.front().ratio;
    comparison.estimator = again.front().estimator;
    comparison.modes = again.front().modes;
    comparison.samples = again.front().samples;
    comparison.verdict = again.front().verdict;
    comparison.p_value = again.front().p_value;
    comparison.doubts.clear();
    said.push_back(fmt::format("{}: {} by an interleaved rerun ({}, ratio {:.4f})",
                               case_name(*comparison.baseline), confirmed ? "confirmed" : "not confirmed",
                               to_string(again.front().verdict),
                               again.front().ratio ? again.front().ratio->ratio : 0));
  }
  return said;
}

}  // namespace headroom::cli

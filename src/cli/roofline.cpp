// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <filesystem>
#include <set>

#include "cli/commands.h"
#include "cli/measuring/machine_sweep.h"
#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/console/max_memory.h"
#include "headroom/console/option_table.h"
#include "headroom/console/output.h"
#include "headroom/history/store.h"
#include "headroom/record/formats.h"
#include "headroom/report/roofline.h"
#include "headroom/results/record_files.h"

namespace headroom::cli {
namespace {

constexpr ConstantHelp kRooflineExamples[] = {
    {"headroom run gemv layer_norm && headroom roofline", "the last run"},
    {"headroom roofline result.json --svg roofline.svg", ""},
    {"headroom roofline @12 --limits limits.json", "with the limits of another run on the same machine"},
};

constexpr const char* kRooflineDetails[] = {
    "The roofs are the limits sampled with the cases, the limits that are cases of the run (headroom run "
    "gemv limit.read limit.peak), the limits of --limits, and those stored by headroom machine for the "
    "machine of the run.",
};

struct RooflineOptions {
  std::string max_memory;
  std::string run = "@last";
  std::string limits, svg, json, store;
};

std::string fingerprint_of(const std::vector<Record>& records, const std::string& operand) {
  std::set<std::string> found;
  for (const Record& record : records) {
    if (record.environment && !record.environment->fingerprint.empty())
      found.insert(record.environment->fingerprint);
  }
  if (found.size() > 1) {
    const std::vector<std::string> names(found.begin(), found.end());
    throw Error(operand + ": results are from several machines (" + join(names, ", ") +
                "); a roofline shows one: give the results of one machine");
  }
  return found.empty() ? "" : *found.begin();
}

std::vector<Record> records_of(const std::string& operand, const RooflineOptions& options) {
  OperandRecords found = records_of_operand(operand, options.store, options.max_memory);
  for (const std::string& warning : found.warnings) print_sentence(warning);
  return found.take_records();
}

/// Empty if none are stored.
std::filesystem::path stored_limits(const std::string& fingerprint) {
  if (fingerprint.empty()) return {};
  try {
    const std::filesystem::path stored = stored_sweep(fingerprint);
    return std::filesystem::exists(stored) ? stored : std::filesystem::path{};
  } catch (const Error&) {
    return {};
  }
}

std::vector<Record> limits_of(const RooflineOptions& options, const std::string& fingerprint) {
  if (!options.limits.empty()) {
    std::vector<Record> limits = records_of(options.limits, options);
    const std::string other = fingerprint_of(limits, options.limits);
    if (!fingerprint.empty() && !other.empty() && other != fingerprint) {
      throw Error(options.limits + ": limits are of machine " + other + ", but the run is of " + fingerprint +
                  "; leave out --limits, or give limits of that machine");
    }
    return limits;
  }
  const std::filesystem::path stored = stored_limits(fingerprint);
  return stored.empty() ? std::vector<Record>{} : read_records(stored);
}

Roofline read_roofline(const RooflineOptions& options) {
  const std::vector<Record> records = records_of(options.run, options);
  Roofline roofline = roofline_of(records, limits_of(options, fingerprint_of(records, options.run)));
  if (!roofline.cases.empty()) return roofline;
  std::string why = "it has only limits";
  if (!roofline.left_out.empty())
    why = roofline.left_out.front().first + ": " + roofline.left_out.front().second;
  throw Error(options.run + ": no case with both FLOPs and bytes, which a roofline needs (" + why +
              "); headroom run gemv --json FILE makes one");
}

ExitCode show(const RooflineOptions& options) {
  if (!options.svg.empty()) require_writable(options.svg);
  if (!options.json.empty() && options.json != "-") require_writable(options.json);
  const Roofline roofline = read_roofline(options);
  if (!options.svg.empty())
    write_file_atomically(options.svg, roofline_svg(roofline, "roofline of " + options.run));
  const View view = roofline_view(roofline, terminal_width(stdout));
  if (!options.json.empty()) {
    Json json = roofline_json(roofline);
    json["answer"] = view.answers();
    write_file_atomically(options.json == "-" ? "/dev/stdout" : options.json, dump_json_pretty(json) + "\n");
  }
  if (options.json != "-") print_view(view, stdout);
  return ExitCode::kSuccess;
}

}  // namespace

OptionTable roofline_options(Arguments&) {
  OptionTable table("Plot the cases of a run under the roofs of its machine, on logarithmic axes.",
                    "headroom roofline");
  auto& options = table.own<RooflineOptions>();
  table.examples(kRooflineExamples);
  table.details(kRooflineDetails);
  table
      .add_option("RUN", options.run,
                  "file or folder of results, or @last, @ID, @git:REV of the history (default: @last)")
      .completed_by(Completes::kFileOrRun);
  table
      .add_option("--limits", options.limits,
                  "file or run of this machine's limits, instead of the stored ones")
      .completed_by(Completes::kFileOrRun);
  table.add_option("--svg", options.svg, "also draw the plot to this file").completed_by(Completes::kFile);
  table
      .add_option("--json", options.json,
                  "also write the numbers to this file ('-': only to standard output)")
      .completed_by(Completes::kFile);
  table.add_no_follow();
  declare_max_memory(table, options.max_memory);
  table.add_option("--store", options.store, "history of @last (default: HEADROOM_STORE, or the user's)")
      .completed_by(Completes::kFile);
  table.finish([&options] { return show(options); });
  return table;
}

}  // namespace headroom::cli

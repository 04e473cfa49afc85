// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/measuring/measurement.h"
#include "cli/measuring/progress.h"
#include "cli/measuring/run_options.h"
#include "cli/measuring/runners.h"
#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/compare/match.h"
#include "headroom/compare/verdict.h"
#include "headroom/console/command.h"
#include "headroom/console/interrupt.h"
#include "headroom/console/output.h"
#include "headroom/console/program.h"
#include "headroom/environment/fingerprint.h"
#include "headroom/experiment/buffer.h"
#include "headroom/experiment/process_counters.h"
#include "headroom/machine/memory.h"
#include "headroom/process/spawn.h"
#include "headroom/ranks/rank_group.h"
#include "headroom/record/formats.h"
#include "headroom/record/formats/seed_rows.h"
#include "headroom/record/metrics.h"
#include "headroom/record/record.h"
#include "headroom/record/targets.h"
#include "headroom/report/case_rows.h"
#include "headroom/report/metric_text.h"
#include "headroom/report/run_view.h"
#include "headroom/report/text_plot.h"
#include "headroom/results/compared_sides.h"
#include "headroom/results/record_files.h"
#include "headroom/results/run_journal.h"
#include "headroom/runner/protocol.h"
#include "headroom/schedule/calibration.h"
#include "headroom/schedule/case_records.h"
#include "headroom/schedule/group_run.h"
#include "headroom/schedule/plan.h"
#include "headroom/schedule/session.h"
#include "headroom/schedule/track.h"
#include "headroom/stats/quantile.h"
#include "headroom/tables/table.h"

namespace headroom::cli {
namespace {

/// Draws the table and sample distributions on the terminal's alternate screen, between rounds, at most ten
/// times a second and in 5 % of the time. Restores the terminal.
class LiveRun final : public Observer {
 public:
  LiveRun(std::vector<std::string> labels, std::shared_ptr<const Environment> environment,
          std::function<void(const std::vector<Record>&)> on_records,
          std::function<void(const GroupResult&)> on_round)
      : labels_(std::move(labels)),
        environment_(std::move(environment)),
        on_records_(std::move(on_records)),
        on_round_(std::move(on_round)) {}
  LiveRun(const LiveRun&) = delete;
  LiveRun& operator=(const LiveRun&) = delete;
  ~LiveRun() override;

  void progress(const Progress& progress) override { progress_ = progress; }
  void sampled(const GroupResult& so_far) override;
  void finished(const std::vector<Record>& records) override;

  static bool is_possible();

 private:
  void draw(const std::vector<Record>& records);
  void leave();

  std::vector<std::string> labels_;
  std::shared_ptr<const Environment> environment_;
  std::function<void(const std::vector<Record>&)> on_records_;
  std::function<void(const GroupResult&)> on_round_;
  Progress progress_;
  std::vector<Record> finished_;
  bool is_drawn_ = false;
  std::chrono::steady_clock::time_point next_{};
};

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenFrames{100};
/// A frame takes 1/N of the time.
constexpr int kShareOfTime = 20;
constexpr std::size_t kBins = 24;

constexpr const char* kEnter = "\033[?1049h\033[?25l";
constexpr const char* kLeave = "\033[?25h\033[?1049l";
constexpr const char* kClear = "\033[H\033[J";

/// Reads the variables in the C library's order.
bool has_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || value[0] == '\0') continue;
    const std::string_view text(value);
    return contains(text, "UTF-8") || contains(text, "utf8") || contains(text, "utf-8") ||
           contains(text, "UTF8");
  }
  return false;
}

std::size_t terminal_rows() {
  winsize size{};
  constexpr std::size_t kUsual = 24;
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : kUsual;
}

Table distribution_table(const std::vector<Record>& records) {
  Table table({{"distribution"},
               {"backend", Align::kLeft, ""},
               {"dtype", Align::kLeft, ""},
               {"least", Align::kRight},
               {"samples of each time"},
               {"95 %"}});
  const bool ascii = !has_utf8();
  for (const CaseRow& row : case_rows(records)) {
    const Record* timed = row.latency;
    if (timed == nullptr) continue;
    const std::vector<double> values = steady_values(*timed);
    if (values.empty()) continue;
    const auto text = [&](double value) { return value_text(value, timed->metric.unit, timed->metric.name); };
    table.row({case_text(*timed), timed->model.backend, timed->benchmark.dtype,
               text(std::ranges::min(values)), spark(values, kBins, ascii), text(quantile(values, 0.95))});
  }
  return table;
}

/// "[2/6] gemv D=1024, process 1 of 3, 12 rounds, 0.8 of at most 5 s".
std::string progress_text(const Progress& at) {
  std::string text = fmt::format("[{}/{}] {}", at.group + 1, at.groups, at.title);
  if (at.processes > 1) text += fmt::format(", process {} of {}", at.process + 1, at.processes);
  text += fmt::format(", {}, {:.1f} of at most {:.0f} s", counted(at.rounds, "round"),
                      at.elapsed_ns / kNsPerSecond, at.max_time_ns / kNsPerSecond);
  return at.worst_half_width ? text + fmt::format(", ±{} (goal {})", format_percent(*at.worst_half_width),
                                                  format_percent(at.goal))
                             : text;
}

std::string first_rows(const std::string& text, std::size_t rows) {
  std::size_t end = 0, lines = 0;
  while (lines + 1 < rows && end < text.size()) {
    const std::size_t line_end = text.find('\n', end);
    if (line_end == std::string::npos) return text;
    end = line_end + 1;
    ++lines;
  }
  return text.substr(0, end);
}

struct BusyTime {
  double utilization_us = 0, mm_conv_us = 0;
  std::string problem;
};

BusyTime busy_time(const Json& answer) {
  if (const std::string problem = answer.value("error", ""); !problem.empty()) return {0, 0, problem};
  return {answer.at("utilization").get<double>(), answer.at("mm_conv_utilization").get<double>(), ""};
}

std::map<std::string, BusyTime> busy_times(const std::set<std::string>& files) {
  std::map<std::string, BusyTime> found;
  const auto fail = [&](const std::string& problem) {
    for (const std::string& file : files) found[file] = {0, 0, problem};
    return found;
  };
  SpawnOptions options;
  options.arguments = {find_program_of_ours("headroom-trace"), "--recorded-utilization",
                       std::to_string(kTracedIterations)};
  if (options.arguments.front().empty())
    return fail("headroom-trace, which reads traces, not found next to this program or in PATH");
  options.arguments.insert(options.arguments.end(), files.begin(), files.end());
  options.capture_bytes = std::size_t{1} << 24;
  try {
    Child child(options);
    const std::optional<ExitStatus> status = child.wait(std::chrono::milliseconds(-1));
    if (!status || !status->ok()) return fail("headroom-trace: " + (status ? status->text() : "did not end"));
    const Json answers = parse_json(child.captured_output(), "output of headroom-trace");
    for (const Json& answer : answers) found[answer.at("file").get<std::string>()] = busy_time(answer);
  } catch (const std::exception& error) {
    return fail(error.what());
  }
  return found;
}

Record share_of(const Record& latency, const char* metric, double busy_us) {
  Record record = latency;
  record.metric = {};
  record.metric.name = metric;
  record.metric.unit = "1";
  record.metric.direction = Direction::kHigherIsBetter;
  record.metric.value = busy_us / latency.metric.value;
  record.metric.extra_info = {{"busy_us", fmt::format("{:.9g}", busy_us)},
                              {"length_us", fmt::format("{:.9g}", latency.metric.value)},
                              {"traced_iterations", std::to_string(kTracedIterations)}};
  record.limit.reset();
  if (latency.interval)
    record.interval = Interval{busy_us / latency.interval->high, busy_us / latency.interval->low,
                               latency.interval->confidence};
  for (ProcessSamples& process : record.samples) {
    for (double& value : process.values) value = busy_us / value;
  }
  return record;
}

LiveRun::~LiveRun() {
  leave();
}

bool LiveRun::is_possible() {
  return ::isatty(STDERR_FILENO) == 1;
}

void LiveRun::sampled(const GroupResult& so_far) {
  on_round_(so_far);
  const steady_clock::time_point start = steady_clock::now();
  if (start < next_) return;
  std::vector<Record> records = finished_;
  std::ranges::move(case_records(so_far, labels_, environment_), std::back_inserter(records));
  draw(records);
  const steady_clock::time_point end = steady_clock::now();
  next_ = end + std::max<steady_clock::duration>(kBetweenFrames, kShareOfTime * (end - start));
}

void LiveRun::finished(const std::vector<Record>& records) {
  // Messages must stay visible after the run.
  leave();
  on_records_(records);
  finished_.insert(finished_.end(), records.begin(), records.end());
}

void LiveRun::draw(const std::vector<Record>& records) {
  if (!is_drawn_) {
    restore_terminal_with(kLeave);
    std::fputs(kEnter, stderr);
  }
  is_drawn_ = true;
  View view;
  view.answer(progress_text(progress_)).table(run_table(records)).table(distribution_table(records));
  const std::string text = first_rows(view.text(table_form(stderr, false)), terminal_rows());
  std::fputs(kClear, stderr);
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

void LiveRun::leave() {
  if (!is_drawn_) return;
  std::fputs(kLeave, stderr);
  std::fflush(stderr);
  restore_terminal_with(nullptr);
  is_drawn_ = false;
}

/// Throws Error if no runner can trace its cases or `folder` is not writable.
void require_traces(const std::string& folder, const std::vector<Group>& groups,
                    const std::vector<RunnerOffer>& offers) {
  std::set<std::string> runners;
  for (const Group& group : groups) {
    for (const PlannedCase& planned : group.cases) {
      if (offers.at(planned.runner).traces) return require_writable_folder(folder);
      runners.insert(offers.at(planned.runner).label);
    }
  }
  throw Error("--trace: " + join(std::vector(runners.begin(), runners.end()), ", ") +
              " cannot record traces; use headroom-torch (--backend aten, or --module FILE) or headroom-cuda "
              "(--backend cuda)");
}

void report_traces(const std::string& folder, const std::vector<Record>& records) {
  std::set<std::string> files, said;
  std::string of_gpu;
  for (const Record& record : records) {
    const StringMap& extra = record.model.extra_info;
    if (const auto trace = extra.find("trace"); trace != extra.end()) {
      files.insert(trace->second);
      if (of_gpu.empty() && record.metric.name == kGpuUtilization) of_gpu = trace->second;
    }
    const auto untraced = extra.find("untraced");
    if (untraced == extra.end()) continue;
    const std::string what = "no trace of " + case_name(record) + " by " + record.model.backend + " [" +
                             record.runner + "]: " + untraced->second;
    if (said.insert(what).second) print_sentence(what);
  }
  if (files.empty()) return;
  print_message("{} in {}; for example: headroom trace {} {}", counted(files.size(), "trace"), folder,
                of_gpu.empty() ? "ops" : "kernels", quote(of_gpu.empty() ? *files.begin() : of_gpu));
}

/// "gpu_utilization" and "mm_conv_utilization", as PyTorch's benchmark_utilization, relative to untraced
/// iterations. Returns a line for each unreadable trace.
std::vector<std::string> append_utilization(std::vector<Record>& records) {
  std::set<std::string> files;
  const auto trace_of = [](const Record& record) -> std::string {
    const auto file = record.model.extra_info.find("trace");
    return file == record.model.extra_info.end() || record.metric.name != "latency" ? "" : file->second;
  };
  for (const Record& record : records) {
    if (std::string file = trace_of(record); !file.empty()) files.insert(std::move(file));
  }
  if (files.empty()) return {};
  std::map<std::string, BusyTime> times = busy_times(files);
  std::vector<std::string> problems;
  std::vector<Record> made;
  for (const Record& record : records) {
    const std::string file = trace_of(record);
    if (file.empty()) continue;
    const BusyTime& busy = times[file];
    if (!busy.problem.empty())
      problems.push_back("no GPU utilisation of " + case_name(record) + ": " + busy.problem);
    if (!(busy.utilization_us > 0)) continue;
    made.push_back(share_of(record, kGpuUtilization, busy.utilization_us));
    made.push_back(share_of(record, kMmConvUtilization, busy.mm_conv_us));
  }
  records.insert(records.end(), std::make_move_iterator(made.begin()), std::make_move_iterator(made.end()));
  return problems;
}

/// Kept in tuning/FINGERPRINT.json of the user's cache folder; choices depend on HEADROOM_ISA.
class TunedVariants final : public TuningStore {
 public:
  /// `anew`: ignore stored choices.
  TunedVariants(const std::string& fingerprint, bool anew);

  std::optional<std::string> chosen(const std::string& key) override;
  /// Ignores failures: it is a cache.
  void choose(const std::string& key, const std::string& variant) override;

 private:
  std::string isa_key(const std::string& key) const;

  std::filesystem::path path_;  ///< empty without a cache folder
  std::string isa_;
  bool anew_;
  std::map<std::string, std::string> variants_;
  std::map<std::string, std::string> chosen_here_;
};

[[noreturn]] void refuse(const UnfinishedRun& run, const std::string& why) {
  throw Error(fmt::format("cannot resume `{}`: {}; `headroom show @unfinished` shows its results",
                          join(run.environment.command, " "), why));
}

constexpr int kTuningSchema = 1;

std::filesystem::path tuning_path(const std::string& fingerprint) {
  try {
    return user_cache_folder() / "tuning" / (fingerprint + ".json");
  } catch (const Error&) {
    return {};
  }
}

std::map<std::string, std::string> read_variants(const std::filesystem::path& path) {
  std::map<std::string, std::string> variants;
  if (path.empty() || !std::filesystem::exists(path)) return variants;
  try {
    const Json file = parse_json(read_file(path), path.string());
    if (json_number(file, "schema", path.string()) != kTuningSchema) return {};
    for (const auto& [key, variant] : json_member(file, "variants", path.string()).items()) {
      if (variant.is_string()) variants[key] = variant.get<std::string>();
    }
  } catch (const Error&) {
    return {};
  }
  return variants;
}

/// "yes (the kernel's policy: madvise)".
std::string huge_pages_of(const SessionRequest& request) {
  static_cast<void>(page_policy());  // throws before runners do
  const char* inherited = std::getenv(kHugePagesVariable);
  std::string wish = inherited == nullptr || *inherited == '\0' ? "yes" : inherited;
  for (const auto& [name, value] : request.environment) {
    if (name == kHugePagesVariable) wish = value;
  }
  const std::string policy = huge_page_policy();
  return wish + (policy.empty() ? " (the kernel has none)" : " (the kernel's policy: " + policy + ")");
}

void note_resumed(const UnfinishedRun& before, Environment& environment) {
  if (before.finished.empty()) return;
  environment.extra_info["resumed"] =
      fmt::format("{} groups were measured by a run that began at {} s since 1970 and was killed",
                  before.finished.size(), before.environment.timestamp);
}

std::shared_ptr<const Environment> environment_of(const Arguments& arguments, const RunOptions& options,
                                                  const UnfinishedRun* before = nullptr) {
  Environment environment =
      measuring_environment("run", arguments, options.request.selection.seed,
                            options.request.stop.max_time_ns, options.request.stop.precision);
  if (options.request.counts) {
    const ProcessCounters counters;
    environment.options.counters = counters.scope();
    environment.options.no_counters = counters.absence();
    environment.extra_info["hardware_counters"] = counters.text();
  } else {
    environment.extra_info["hardware_counters"] = "not asked for (--no-counters)";
  }
  environment.extra_info["huge_pages"] = huge_pages_of(options.request);
  if (options.request.subtracts_overhead) environment.extra_info[kOverheadTakenOff] = "yes";
  if (before != nullptr) note_resumed(*before, environment);
  return std::make_shared<const Environment>(std::move(environment));
}

/// "D=1024,4096,8192", or "bytes=16384,32768,...,1073741824 (17 values)".
std::string axis_text(const Axis& axis) {
  constexpr std::size_t kShown = 8;
  if (axis.values.size() <= kShown) return axis.name + "=" + join(axis.values, ",");
  return fmt::format("{}={},{},...,{} ({} values)", axis.name, axis.values[0], axis.values[1],
                     axis.values.back(), axis.values.size());
}

void print_list(const std::vector<RunnerOffer>& offers) {
  Table table(Columns().left({"experiment", "runner"}).text("backends").text("axes", Cut::kEnd));
  for (const RunnerOffer& offer : offers) {
    for (const ExperimentDescription& experiment : offer.experiments) {
      std::vector<std::string> axes;
      for (const Axis& axis : experiment.axes) axes.push_back(axis_text(axis));
      table.row({experiment.name, offer.label, join(experiment.backends, ","), join(axes, " ")});
      table.line("    " + experiment.summary);
    }
  }
  print_table(table, stdout);
}

std::string list_json(const std::vector<RunnerOffer>& offers) {
  Json list = Json::array();
  for (const RunnerOffer& offer : offers) {
    Json experiments = Json::array();
    for (const ExperimentDescription& experiment : offer.experiments)
      experiments.push_back(to_json(experiment));
    list.push_back({{"runner", offer.label}, {"experiments", experiments}});
  }
  return dump_json_pretty(list) + "\n";
}

void list(const std::vector<RunnerOffer>& offers, const std::string& json) {
  if (!json.empty() && json != "-") require_writable(json);
  if (json != "-") print_list(offers);
  if (!json.empty()) write_file_atomically(json == "-" ? "/dev/stdout" : json, list_json(offers));
}

/// Whether results exceed the machine's limits.
bool report_miscounted(const std::vector<Record>& records) {
  const auto count = std::ranges::count_if(
      records, [](const Record& record) { return record.metric.headline && is_miscounted(record); });
  if (count == 0) return false;
  print_message(
      "{} result{} above the limits of this machine, which is impossible: the declared bytes or FLOPs are "
      "wrong; neither ranked nor averaged",
      count, count == 1 ? " lies" : "s lie");
  return true;
}

ExitCode exit_code_of(const std::vector<Record>& records, bool fail_below_target) {
  const bool miscounted = report_miscounted(records);
  if (miscounted || any_outcome(records, Outcome::Kind::kFailed)) return ExitCode::kFailure;
  const bool unreached = std::ranges::any_of(records, is_unreached);
  if (!fail_below_target) return unreached ? ExitCode::kInconclusive : ExitCode::kSuccess;
  const auto any = [&](auto&& is) { return std::ranges::any_of(records, is); };
  if (any([](const Record& record) { return target_verdict(record) == TargetVerdict::kMissed; })) {
    return ExitCode::kFailure;
  }
  const bool inconclusive = unreached || any([](const Record& record) {
                              return target_verdict(record) == TargetVerdict::kInconclusive;
                            });
  return inconclusive ? ExitCode::kInconclusive : ExitCode::kSuccess;
}

/// Each time against that of the first backend or runner.
std::vector<Comparison> compared_times(const std::vector<Record>& records) {
  std::vector<Comparison> comparisons;
  for (const Record& record : records) {
    if (!record.ratio || record.metric.name != "latency") continue;
    const auto is_baseline = [&](const Record& other) {
      return other.metric.name == record.metric.name && other.model.name == record.model.name &&
             other.axes == record.axes && other.threads == record.threads &&
             other.model.backend == record.ratio->backend && other.runner == record.ratio->runner;
    };
    const auto baseline = std::ranges::find_if(records, is_baseline);
    if (baseline != records.end()) comparisons.push_back(compare_records(*baseline, record));
  }
  return comparisons;
}

ExitCode gate_times(const std::vector<Record>& records, double margin) {
  std::vector<Comparison> judged = compared_times(records);
  judge(judged, {.margins = {.overall = margin, .rules = {}}, .multiplicity = Multiplicity::kHolm});
  const GateResult gate = gate_result(judged, 0);
  print_message("gate: {}", gate.sentence);
  return gate.exit;
}

/// Returns kInconclusive if there is nothing to store.
ExitCode store_run_spreads(const std::vector<Record>& records) {
  const RunSpreads spreads = spreads_of(records, "");
  if (spreads.empty()) {
    print_message("no run-to-run spread stored: no metric was measured in two runs");
    return ExitCode::kInconclusive;
  }
  std::vector<double> shares;
  for (const auto& [name, known] : spreads) shares.push_back(known.values->log_sd);
  const std::string path = store_spreads(records.front().environment->fingerprint, spreads);
  print_message("run-to-run spread {} (standard deviation; median of {} metrics, at most {}); stored in {}",
                format_percent(median(shares)), spreads.size(), format_percent(std::ranges::max(shares)),
                path);
  return ExitCode::kSuccess;
}

void report_missing_limits(const SessionRequest& request) {
  if (!request.limits) return;
  std::vector<std::string> runners;
  for (const RunnerCommand& command : request.runners) runners.push_back(command.path);
  for (const std::string& sentence : missing_limits_of(runners)) print_sentence(sentence);
}

/// Only the first of each experiment is compared.
void report_left_out_backends(const SessionRequest& request, const std::vector<Group>& groups,
                              const std::vector<RunnerOffer>& offers) {
  if (request.runners.size() < 2 || !request.selection.backends.empty()) return;
  std::set<std::string> left_out;
  for (const Group& group : groups) {
    for (const RunnerOffer& offer : offers) {
      const auto experiment = std::ranges::find(offer.experiments, group.cases.front().spec.experiment,
                                                &ExperimentDescription::name);
      if (offer.only_limits || experiment == offer.experiments.end()) continue;
      left_out.insert(experiment->backends.begin() + 1, experiment->backends.end());
    }
  }
  if (left_out.empty()) return;
  print_message(
      "measuring only the first backend of each experiment; --backend selects others ({}), --all-backends "
      "all",
      join(std::vector<std::string>(left_out.begin(), left_out.end()), ", "));
}

std::unique_ptr<Observer> observer_of(const RunOptions& options, const Session& session,
                                      std::function<void(const std::vector<Record>&)> on_records,
                                      std::function<void(const GroupResult&)> on_round) {
  if (options.live && LiveRun::is_possible()) {
    return std::make_unique<LiveRun>(session.labels(), session.environment(), std::move(on_records),
                                     std::move(on_round));
  }
  if (options.live) print_message("--live needs a terminal on standard error: measuring without it");
  return std::make_unique<TerminalProgress>(std::move(on_records), std::move(on_round));
}

RecordFiles files_of(const RunOptions& options) {
  RecordFiles files(options.json, options.oss);
  files.add_exports(options.exports);
  if (options.csv.empty()) return files;
  if (options.csv.ends_with(".json") && options.csv != options.json) {
    throw Error(
        "--output and the JSON lines beside --output name the same file: --output takes a CSV file; --json " +
        options.csv + " writes records");
  }
  files.add("--output", options.csv, format_named("seed-csv"));
  files.add("the JSON lines beside --output",
            std::filesystem::path(options.csv).replace_extension(".json").string(),
            format_named("seed-jsonl"));
  return files;
}

/// Repeats the run with fresh runners.
ExitCode calibrate(const Arguments& arguments, const RunOptions& options,
                   const std::atomic<bool>& interrupted) {
  constexpr int kRuns = 5;
  const RecordFiles files = files_of(options);
  std::vector<Record> all;
  for (int run = 1; run <= kRuns && !interrupted; ++run) {
    print_message("run {} of {}", run, kRuns);
    const auto environment = environment_of(arguments, options);
    TunedVariants tuned(environment->fingerprint, false);
    SessionRequest request = options.request;
    request.tuning = &tuned;
    request.run_time_ns /= kRuns;
    Session session(std::move(request), environment, interrupted);
    TerminalProgress progress([&](const std::vector<Record>& finished) {
      all.insert(all.end(), finished.begin(), finished.end());
    });
    session.run(session.groups(), progress);
  }
  if (all.empty()) throw Error("--calibrate-noise: no run was measured, nothing is stored");
  JoinedRecords joined = join_duplicates(std::move(all));
  print_view(run_view(joined.records), files.uses_stdout() ? stderr : stdout, options.markdown);
  files.finish(joined.records);
  const ExitCode stored = store_run_spreads(joined.records);
  return interrupted ? report_interrupted() : stored;
}

class RunMeasurement final : public Measurement {
 public:
  /// `before`: a killed run to continue, or null.
  RunMeasurement(const Arguments& arguments, const RunOptions& options, const UnfinishedRun* before)
      : Measurement(files_of(options), options.store, options.markdown),
        arguments_(arguments),
        options_(options),
        before_(before),
        targets_(options.targets.empty() ? shipped_targets() : read_targets(options.targets)) {}

 private:
  void measure() override {
    const auto environment = environment_of(arguments_, options_, before_);
    TunedVariants tuned(environment->fingerprint, options_.retune);
    SessionRequest request = options_.request;
    request.tuning = &tuned;
    Session session(std::move(request), environment, interrupt_flag());
    for (const std::string& reason : session.left_out()) print_message("without {}", reason);
    for (const std::string& reason : session.unusable_runners())
      print_message("{}; measuring the others without it", reason);
    if (options_.list) return list(session.offers(), options_.json);
    lacks_runners_ = !session.unusable_runners().empty();
    report_missing_limits(options_.request);
    std::vector<Group> groups = session.groups();
    report_left_out_backends(options_.request, groups, session.offers());
    const std::string& traces = options_.request.traces;
    if (!traces.empty()) require_traces(traces, groups, session.offers());
    const auto busy = warn_when_busy(max_threads(groups));
    QuotaWatch quota;
    journal().begin(*session.environment(), session.labels());
    if (before_ != nullptr) take_finished(groups, session.environment());
    std::vector<std::string> problems;
    const auto complete = [&](std::vector<Record>& finished) {
      problems = append_utilization(finished);
      apply_targets(finished, targets_);
      note_busy(finished, busy);
      quota.note(finished);
    };
    const auto on_records = [&](const std::vector<Record>& finished) {
      for (const std::string& problem : problems) print_sentence(problem);
      add(finished);
    };
    const auto progress = observer_of(options_, session, on_records,
                                      [&](const GroupResult& so_far) { journal().note(so_far); });
    if (!traces.empty()) make_folders_above(std::filesystem::path(traces) / "trace.json");
    session.run(groups, *progress, complete);
  }

  /// Moves groups that the killed run finished from `groups` to the records.
  void take_finished(std::vector<Group>& groups, const std::shared_ptr<const Environment>& environment) {
    for (const FinishedGroup& finished : before_->finished) {
      const auto group = std::ranges::find(groups, finished.title, &Group::title);
      // Groups without samples run again.
      if (group == groups.end()) continue;
      groups.erase(group);
      FinishedGroup taken = finished;
      for (Record& record : taken.records) record.environment = environment;
      take(taken);
    }
    print_message("{} group{} taken from that run, {} to measure", before_->finished.size(),
                  before_->finished.size() == 1 ? " is" : "s are", groups.size());
    std::error_code error;
    std::filesystem::remove(before_->path, error);
  }

  void print_extras() override {
    if (!options_.request.traces.empty()) report_traces(options_.request.traces, records());
  }

  ExitCode verdict() override {
    if (options_.list) return ExitCode::kSuccess;
    if (lacks_runners_) return ExitCode::kError;
    const ExitCode measured = exit_code_of(records(), options_.fail_below_target);
    return options_.gate && measured != ExitCode::kFailure ? gate_times(records(), *options_.gate) : measured;
  }

  const Arguments& arguments_;
  const RunOptions& options_;
  const UnfinishedRun* before_;
  std::vector<Target> targets_;
  bool lacks_runners_ = false;
};

ExitCode run_with(const Arguments& arguments, const RunOptions& options, const UnfinishedRun* before) {
  if (options.ranks && options.ranks->place && options.ranks->place->rank > 0) return follow(*options.ranks);
  if (!options.calibrate_noise || options.list) return RunMeasurement(arguments, options, before).run();
  return calibrate(arguments, options, interrupt_flag());
}

/// Enters its folder. Throws Error if none can be resumed: none was killed, or it has another machine,
/// functions of a dead process, or a secret in its command line.
UnfinishedRun run_to_resume() {
  UnfinishedRun run = newest_unfinished("run");
  print_sentence(run.sentence());
  if (!run.is_whole_command) refuse(run, "a secret in its command line was not stored");
  const std::vector<std::string>& words = run.environment.command;
  if (std::ranges::any_of(words, [](const std::string& word) { return word.starts_with("--runner-socket"); }))
    refuse(run, "it measured functions of a process that has ended");
  if (run.environment.fingerprint != read_environment({}).fingerprint)
    refuse(run, "it ran on another machine, or the kernel or settings of this one have changed");
  std::error_code error;
  std::filesystem::current_path(run.folder, error);
  if (error)
    refuse(run, fmt::format("cannot enter its folder {}: {}", quote(run.folder.string()), error.message()));
  return run;
}

TunedVariants::TunedVariants(const std::string& fingerprint, bool anew)
    : path_(tuning_path(fingerprint)), anew_(anew), variants_(read_variants(path_)) {
  if (const char* isa = std::getenv("HEADROOM_ISA")) isa_ = isa;
}

std::string TunedVariants::isa_key(const std::string& key) const {
  return isa_.empty() ? key : key + " " + isa_;
}

std::optional<std::string> TunedVariants::chosen(const std::string& key) {
  const auto& variants = anew_ ? chosen_here_ : variants_;
  const auto found = variants.find(isa_key(key));
  if (found == variants.end()) return std::nullopt;
  return found->second;
}

void TunedVariants::choose(const std::string& key, const std::string& variant) {
  variants_[isa_key(key)] = chosen_here_[isa_key(key)] = variant;
  if (path_.empty()) return;
  Json file{{"schema", kTuningSchema}, {"variants", variants_}};
  try {
    make_folders_above(path_);
    write_file_atomically(path_, dump_json_pretty(file) + "\n");
  } catch (const Error&) {
    path_.clear();
  }
}

}  // namespace

OptionTable run_options(Arguments& arguments) {
  return run_table([arguments](const RunOptions& options) {
    if (!options.resume) return run_with(arguments, options, nullptr);
    if (arguments.size() > 1)
      throw Error("--resume takes no other option: it uses those of the killed command");
    const UnfinishedRun before = run_to_resume();
    const std::vector<std::string>& words = before.environment.command;
    const Arguments again(words.begin() + 2, words.end());
    return run_table([&](const RunOptions& killed) { return run_with(again, killed, &before); }).run(again);
  });
}

}  // namespace headroom::cli

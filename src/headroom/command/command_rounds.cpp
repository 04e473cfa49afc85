// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/command_rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "headroom/base/error.h"
#include "headroom/base/units.h"
#include "headroom/stats/compare.h"

namespace headroom {
namespace {

constexpr const char* kPaddingName = "HEADROOM_PADDING";
constexpr std::size_t kMaxPadding = 4096;
/// Resolution of 10 ms; reading takes tens of microseconds.
constexpr double kNoiseNs = 5e6;
constexpr std::size_t kMinIntervalRounds = 6;
constexpr std::size_t kMinSlowRounds = 10;
constexpr double kLongNs = 10e9;

/// An interval that holds 1 and an edge of the margin cannot reach this goal.
StopRule deciding_rule(StopRule rule, double margin) {
  if (margin > 0) rule.precision = std::min(rule.precision, margin / 2);
  return rule;
}

std::uint32_t saturated(std::int64_t value) {
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(value, 0, std::numeric_limits<std::uint32_t>::max()));
}

/// In the order of CommandColumn.
std::vector<double> columns_of(const CommandResult& result) {
  const auto number = [](std::int64_t value) { return static_cast<double>(value); };
  return {result.user_ns / kNsPerSecond,
          result.system_ns / kNsPerSecond,
          number(result.peak_rss_bytes),
          number(result.minor_faults + result.major_faults),
          number(result.major_faults),
          number(result.voluntary_switches + result.involuntary_switches),
          number(result.involuntary_switches),
          number(result.status.signalled ? -result.status.code : result.status.code),
          number(result.peak_rss_floor_bytes)};
}

}  // namespace

Track command_track(const PlannedCommand& command) {
  Track track;
  track.planned.spec.experiment = command.name;
  track.planned.spec.axes = command.parameters;
  track.info.notes = {{"command", command.line}, {"title", command.title}};
  track.pids = {0};
  return track;
}

std::optional<RoundRatio> round_ratio(const Track& test, const Track& baseline, Look look) {
  const SeriesPairs pairs = pairs_of(steady_series(test.readings), steady_series(baseline.readings));
  return RoundRatio::of(pairs.a, pairs.b, look);
}

CommandRounds::CommandRounds(std::vector<PlannedCommand> commands, CommandRoundSettings settings,
                             ChildCounters& counters, std::function<void(const Progress&)> report)
    : commands_(std::move(commands)),
      settings_(std::move(settings)),
      counters_(counters),
      report_(std::move(report)),
      stopping_(settings_.stop),
      deciding_(deciding_rule(settings_.stop, settings_.margin)),
      random_(settings_.seed),
      started_ns_(settings_.now_ns()) {
  group_.of_commands = true;
  for (const PlannedCommand& command : commands_) group_.cases.push_back(command_track(command));
  progress_.phase = "sampling";
  progress_.goal = settings_.stop.precision;
  progress_.max_time_ns = settings_.stop.max_time_ns;
}

GroupResult CommandRounds::run() {
  if (is_late()) {
    mark_out_of_time();
    return std::move(group_);
  }
  setup_all();
  started_ns_ = settings_.now_ns();
  watch_noise();
  while (any_alive() && !interrupted_) {
    sample_round();
    if (interrupted_ || should_end()) break;
  }
  if (interrupted_) {
    group_.stop = StopReason::kInterrupted;
    group_.look = Look::kRunning;
  }
  if (!interrupted_) mark_out_of_time();
  group_.reached_exact_rounds = settings_.exact_rounds && group_.stop == StopReason::kMaxSamples;
  cleanup_all();
  note_left_running();
  return std::move(group_);
}

void CommandRounds::mark_out_of_time() {
  for (Track& track : group_.cases) {
    if (track.alive() && track.readings.empty())
      track.outcome = {Outcome::Kind::kSkipped, settings_.out_of_time};
  }
}

void CommandRounds::setup_all() {
  std::set<std::string> done;
  for (std::size_t i = 0; i < commands_.size(); ++i) {
    if (interrupted_ || settings_.is_interrupted()) break;
    const std::string& line = commands_[i].setup;
    if (!line.empty() && done.insert(line).second) run_hook(i, {"setup", line}, settings_.is_interrupted);
  }
}

void CommandRounds::cleanup_all() {
  std::set<std::string> done;
  for (std::size_t i = 0; i < commands_.size(); ++i) {
    if (settings_.is_hurried()) break;
    const std::string& line = commands_[i].cleanup;
    if (line.empty() || !done.insert(line).second) continue;
    Track& track = group_.cases[i];
    const Outcome measured = std::exchange(track.outcome, {});
    run_hook(i, {"cleanup", line}, settings_.is_hurried);
    if (!track.alive()) track.notes.push_back(track.outcome.reason);
    track.outcome = measured;
  }
}

void CommandRounds::note_left_running() {
  for (std::size_t i = 0; i < commands_.size(); ++i) {
    std::string note = left_running_.note(i);
    if (!note.empty()) group_.cases[i].notes.push_back(std::move(note));
  }
}

void CommandRounds::sample_round() {
  std::vector<std::size_t> order(commands_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::shuffle(order, random_);
  const std::string padding(random_() % kMaxPadding, 'x');
  for (const std::size_t index : order) {
    interrupted_ = interrupted_ || settings_.is_interrupted();
    if (interrupted_) return;
    if (is_late()) break;
    if (!group_.cases[index].alive()) continue;
    CommandSpec spec = commands_[index].spec;
    spec.environment.push_back(left_running_.mark(index));
    if (settings_.random_environment) spec.environment.emplace_back(kPaddingName, padding);
    progress_.title = commands_[index].title;
    progress_.rounds = round_;
    progress_.median_ns = recent_median_ns(group_.cases.front().readings).value_or(progress_.median_ns);
    announce();
    sample(index, spec);
  }
  ++round_;
  settings_.on_round(group_);
}

void CommandRounds::sample(std::size_t index, const CommandSpec& spec) {
  const PlannedCommand& command = commands_[index];
  Track& track = group_.cases[index];
  if (!run_hook(index, {"prepare", command.prepare}, settings_.is_interrupted)) return;
  try {
    counters_.start();
    const CommandResult result = run(spec, settings_.is_interrupted);
    const auto counts = counters_.stop();
    interrupted_ = result.interrupted;
    if (!interrupted_) keep(track, result, counts);
  } catch (const Error& error) {
    track.outcome = {Outcome::Kind::kFailed, error.what()};
  }
  if (!settings_.is_hurried()) run_hook(index, {"conclude", command.conclude}, settings_.is_hurried);
}

CommandResult CommandRounds::run(const CommandSpec& spec, const std::function<bool()>& give_up) {
  return settings_.run(spec, [&] {
    announce();
    return give_up();
  });
}

void CommandRounds::keep(Track& track, const CommandResult& result,
                         const std::vector<std::optional<double>>& counts) {
  if (result.timed_out || (!result.ok() && !settings_.ignore_failure)) {
    track.outcome = {Outcome::Kind::kFailed,
                     fmt::format("{} (in run {}{})", result.failure(), track.readings.size() + 1,
                                 result.timed_out ? "" : "; --ignore-failure measures failing runs too")};
    return;
  }
  Reading reading;
  reading.round = round_;
  reading.ns = result.wall_ns;
  reading.noise.steal_ms = steal_ms();
  reading.noise.involuntary_switches = saturated(result.involuntary_switches);
  reading.noise.page_faults = saturated(result.minor_faults + result.major_faults);
  reading.columns = columns_of(result);
  for (const std::optional<double>& count : counts) reading.columns.push_back(count.value_or(kUncounted));
  track.readings.push_back(std::move(reading));
}

void CommandRounds::watch_noise() {
  noise_since_ns_ = settings_.now_ns();
  noise_.start();
}

double CommandRounds::steal_ms() {
  if (settings_.now_ns() - noise_since_ns_ < kNoiseNs) return 0;
  const double stolen = noise_.stop().steal_ms;
  watch_noise();
  return stolen;
}

bool CommandRounds::run_hook(std::size_t index, const Hook& hook, const std::function<bool()>& give_up) {
  if (hook.line.empty()) return true;
  Track& track = group_.cases[index];
  std::string failure;
  try {
    CommandSpec spec;
    spec.arguments = shell_arguments(hook.line);
    spec.environment = commands_[index].spec.environment;
    spec.environment.push_back(left_running_.mark(index));
    spec.folder = commands_[index].spec.folder;
    const CommandResult result = run(spec, give_up);
    interrupted_ = interrupted_ || result.interrupted;
    if (!result.interrupted) failure = result.failure();
  } catch (const Error& error) {
    failure = error.what();
  }
  watch_noise();
  if (!failure.empty() && track.alive()) {
    track.outcome = {Outcome::Kind::kFailed, fmt::format("--{} failed: {}", hook.name, failure)};
  }
  return failure.empty() && !interrupted_;
}

bool CommandRounds::should_end() {
  progress_.elapsed_ns = settings_.now_ns() - started_ns_;
  StopState state{round_, progress_.elapsed_ns, std::nullopt};
  // Estimates get slower with the samples: renew after every eighth more, and before a cap.
  if (round_ >= next_look_ || is_late() || should_stop(settings_.stop, state)) {
    next_look_ = round_ + std::max<std::size_t>(1, round_ / 8);
    state.relative_half_width = worst_half_width();
    progress_.worst_half_width = state.relative_half_width;
  }
  const auto reason = stop_reason(state);
  if (is_late()) {
    group_.stop = reason.value_or(StopReason::kMaxTime);
    return true;
  }
  if (!reason) return false;
  // If warm-up left too few samples, allow as many rounds again.
  const bool too_few = !progress_.worst_half_width && settings_.min_rounds >= kMinIntervalRounds;
  if (*reason == StopReason::kMaxTime && round_ < settings_.min_rounds * (too_few ? 2 : 1)) return false;
  group_.stop = *reason;
  return true;
}

std::optional<StopReason> CommandRounds::stop_reason(const StopState& state) {
  if (may_stop_early(state)) {
    group_.look = Look::kRunning;
    return StopReason::kPrecision;
  }
  const auto asked = stopping_.check(state), deciding = deciding_.check(state);
  if (deciding || asked != StopReason::kPrecision || !decided()) return deciding;
  group_.look = Look::kRunning;
  return asked;
}

/// A gate and slow commands may stop after any round once decided.
bool CommandRounds::may_stop_early(const StopState& state) const {
  if (settings_.is_gate)
    return state.samples >= settings_.min_rounds && state.relative_half_width && decided();
  return settings_.margin > 0 && state.samples >= kMinSlowRounds && state.elapsed_ns >= kLongNs &&
         state.relative_half_width && *state.relative_half_width <= settings_.stop.precision &&
         !compared().empty() && decided();
}

std::vector<const Track*> CommandRounds::compared() const {
  std::vector<const Track*> others;
  if (!group_.cases.front().alive()) return others;
  for (auto track = group_.cases.begin() + 1; track != group_.cases.end(); ++track) {
    if (track->alive()) others.push_back(&*track);
  }
  return others;
}

bool CommandRounds::decided() const {
  const std::vector<const Track*> others = compared();
  const double tail = kRunningTail / static_cast<double>(std::max<std::size_t>(1, others.size()));
  return std::ranges::all_of(others, [&](const Track* track) {
    const auto ratio = round_ratio(*track, group_.cases.front(), Look::kRunning);
    if (!ratio) return false;
    if (settings_.is_gate) {
      const double limit = 1 + settings_.margin;
      return std::min(ratio->p_above(limit), ratio->p_below(limit)) <= tail;
    }
    const bool apart = std::min(ratio->p_above(1), ratio->p_below(1)) <= tail;
    return apart ||
           (ratio->p_below(1 + settings_.margin) <= tail && ratio->p_above(1 - settings_.margin) <= tail);
  });
}

std::optional<double> CommandRounds::worst_half_width() const {
  const Track& baseline = group_.cases.front();
  const std::vector<const Track*> others = compared();
  double worst = 0;
  for (const Track* track : others) {
    const auto ratio = round_ratio(*track, baseline, Look::kLast);
    const RatioEstimate estimate = ratio ? ratio->estimate() : RatioEstimate{};
    if (!estimate.interval) return std::nullopt;
    worst = std::max(worst, relative_half_width(*estimate.interval, estimate.ratio));
  }
  if (!others.empty()) return worst;
  for (const Track& track : group_.cases) {
    if (!track.alive()) continue;
    const auto width = sampling_half_width(steady_series(track.readings));
    if (!width) return std::nullopt;
    worst = std::max(worst, *width);
  }
  return worst;
}

bool CommandRounds::any_alive() const {
  return std::ranges::any_of(group_.cases, &Track::alive);
}

void CommandRounds::announce() {
  progress_.elapsed_ns = settings_.now_ns() - started_ns_;
  report_(progress_);
}

}  // namespace headroom

// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/command_rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

#include "headroom/base/error.h"
#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

constexpr const char* kPaddingName = "HEADROOM_PADDING";
constexpr std::size_t kMaxPadding = 4096;
constexpr std::size_t kShownSamples = 31;
/// Resolution of 10 ms; reading takes tens of microseconds.
constexpr double kNoiseNs = 5e6;
constexpr std::size_t kFewestForInterval = 6;
constexpr std::size_t kFewestWhereLong = 10;
constexpr double kLongNs = 10e9;

CommandSpec hook_spec(const CommandTrack& track, const std::string& line) {
  CommandSpec spec;
  spec.arguments = shell_arguments(line);
  spec.environment = track.planned.spec.environment;
  spec.folder = track.planned.spec.folder;
  return spec;
}

/// An interval that holds 1 and an edge of the margin cannot reach this goal.
StopRule deciding_rule(StopRule rule, double margin) {
  if (margin > 0) rule.precision = std::min(rule.precision, margin / 2);
  return rule;
}

int exit_code_of(const ExitStatus& status) {
  return status.signalled ? -status.code : status.code;
}

}  // namespace

std::size_t warmup_of(const CommandTrack& track) {
  std::vector<double> values;
  for (const CommandSample& sample : track.samples) values.push_back(sample.wall_ns);
  return warmup_length(values);
}

Series steady_series(const CommandTrack& track) {
  Series series;
  for (std::size_t i = warmup_of(track); i < track.samples.size(); ++i) {
    series.values.push_back(track.samples[i].wall_ns);
    series.rounds.push_back(track.samples[i].round);
  }
  if (!series.values.empty()) series.group_sizes.push_back(series.values.size());
  return series;
}

std::optional<RoundRatio> round_ratio(const CommandTrack& test, const CommandTrack& baseline, Look look) {
  const SeriesPairs pairs = pairs_of(steady_series(test), steady_series(baseline));
  return RoundRatio::of(pairs.a, pairs.b, look);
}

CommandRounds::CommandRounds(std::vector<PlannedCommand> commands, CommandRoundSettings settings,
                             ChildCounters& counters, std::function<void(const CommandProgress&)> report)
    : settings_(std::move(settings)),
      counters_(counters),
      report_(std::move(report)),
      stopping_(settings_.stop),
      deciding_(deciding_rule(settings_.stop, settings_.margin)),
      random_(settings_.seed) {
  for (PlannedCommand& command : commands) {
    CommandTrack track;
    track.planned = std::move(command);
    group_.commands.push_back(std::move(track));
  }
}

CommandGroup CommandRounds::run() {
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
  group_.as_many_as_asked = settings_.exact_rounds && group_.stop == StopReason::kMaxSamples;
  cleanup_all();
  note_left_running();
  return std::move(group_);
}

void CommandRounds::mark_out_of_time() {
  for (CommandTrack& track : group_.commands) {
    if (track.alive() && track.samples.empty())
      track.outcome = {Outcome::Kind::kSkipped, settings_.out_of_time};
  }
}

void CommandRounds::setup_all() {
  std::set<std::string> done;
  for (CommandTrack& track : group_.commands) {
    if (interrupted_ || settings_.is_interrupted()) break;
    const std::string& line = track.planned.setup;
    if (!line.empty() && done.insert(line).second) run_hook(track, {"setup", line}, settings_.is_interrupted);
  }
}

void CommandRounds::cleanup_all() {
  std::set<std::string> done;
  for (CommandTrack& track : group_.commands) {
    if (settings_.is_hurried()) break;
    const std::string& line = track.planned.cleanup;
    if (line.empty() || !done.insert(line).second) continue;
    const Outcome measured = std::exchange(track.outcome, {});
    run_hook(track, {"cleanup", line}, settings_.is_hurried);
    if (!track.alive()) track.notes.push_back(track.outcome.reason);
    track.outcome = measured;
  }
}

std::size_t CommandRounds::number_of(const CommandTrack& track) const {
  return static_cast<std::size_t>(&track - group_.commands.data());
}

void CommandRounds::note_left_running() {
  for (CommandTrack& track : group_.commands) {
    std::string note = left_running_.note(number_of(track));
    if (!note.empty()) track.notes.push_back(std::move(note));
  }
}

void CommandRounds::sample_round() {
  std::vector<CommandTrack*> order;
  for (CommandTrack& track : group_.commands) order.push_back(&track);
  std::ranges::shuffle(order, random_);
  const std::string padding(random_() % kMaxPadding, 'x');
  for (CommandTrack* track : order) {
    interrupted_ = interrupted_ || settings_.is_interrupted();
    if (interrupted_) return;
    if (is_late()) break;
    if (!track->alive()) continue;
    CommandSpec spec = track->planned.spec;
    spec.environment.push_back(left_running_.mark(number_of(*track)));
    if (settings_.random_environment) spec.environment.emplace_back(kPaddingName, padding);
    announce(track->planned.title);
    sample(*track, spec);
  }
  ++round_;
  settings_.on_round(group_);
}

void CommandRounds::sample(CommandTrack& track, const CommandSpec& spec) {
  if (!run_hook(track, {"prepare", track.planned.prepare}, settings_.is_interrupted)) return;
  try {
    counters_.start();
    const CommandResult result = settings_.run(spec, settings_.is_interrupted);
    auto counts = counters_.stop();
    interrupted_ = result.interrupted;
    if (!interrupted_) keep(track, result, std::move(counts));
  } catch (const Error& error) {
    track.outcome = {Outcome::Kind::kFailed, error.what()};
  }
  if (!settings_.is_hurried()) run_hook(track, {"conclude", track.planned.conclude}, settings_.is_hurried);
}

void CommandRounds::keep(CommandTrack& track, const CommandResult& result,
                         std::vector<std::optional<double>> counts) {
  if (result.timed_out || (!result.ok() && !settings_.ignore_failure)) {
    track.outcome = {Outcome::Kind::kFailed,
                     fmt::format("{} (in run {}{})", result.failure(), track.samples.size() + 1,
                                 result.timed_out ? "" : "; --ignore-failure measures failing runs too")};
    return;
  }
  CommandSample sample;
  sample.round = round_;
  sample.exit_code = exit_code_of(result.status);
  sample.wall_ns = result.wall_ns;
  sample.user_ns = result.user_ns;
  sample.system_ns = result.system_ns;
  sample.steal_ms = steal_ms();
  sample.peak_rss_bytes = result.peak_rss_bytes;
  sample.page_faults = result.minor_faults + result.major_faults;
  sample.major_faults = result.major_faults;
  sample.context_switches = result.voluntary_switches + result.involuntary_switches;
  sample.involuntary_switches = result.involuntary_switches;
  if (counters_.any()) sample.counters = std::move(counts);
  track.peak_rss_floor_bytes = std::max(track.peak_rss_floor_bytes, result.peak_rss_floor_bytes);
  track.samples.push_back(std::move(sample));
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

bool CommandRounds::run_hook(CommandTrack& track, const Hook& hook, const std::function<bool()>& give_up) {
  if (hook.line.empty()) return true;
  std::string failure;
  try {
    CommandSpec spec = hook_spec(track, hook.line);
    spec.environment.push_back(left_running_.mark(number_of(track)));
    const CommandResult result = settings_.run(spec, give_up);
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
    progress_.half_width = state.relative_half_width;
  }
  const auto reason = reason_to_end(state);
  if (is_late()) {
    group_.stop = reason.value_or(StopReason::kMaxTime);
    return true;
  }
  if (!reason) return false;
  // If warm-up left too few samples, allow as many rounds again.
  const bool too_few = !progress_.half_width && settings_.min_rounds >= kFewestForInterval;
  if (*reason == StopReason::kMaxTime && round_ < settings_.min_rounds * (too_few ? 2 : 1)) return false;
  group_.stop = *reason;
  return true;
}

std::optional<StopReason> CommandRounds::reason_to_end(const StopState& state) {
  if (is_long_decided(state)) {
    group_.look = Look::kRunning;
    return StopReason::kPrecision;
  }
  const auto asked = stopping_.check(state), deciding = deciding_.check(state);
  if (deciding || asked != StopReason::kPrecision || !decided()) return deciding;
  group_.look = Look::kRunning;
  return asked;
}

/// Slow commands may stop after any round once decided.
bool CommandRounds::is_long_decided(const StopState& state) const {
  return settings_.margin > 0 && state.samples >= kFewestWhereLong && state.elapsed_ns >= kLongNs &&
         state.relative_half_width && *state.relative_half_width <= settings_.stop.precision &&
         !compared().empty() && decided();
}

std::vector<const CommandTrack*> CommandRounds::compared() const {
  std::vector<const CommandTrack*> others;
  if (!group_.commands.front().alive()) return others;
  for (auto track = group_.commands.begin() + 1; track != group_.commands.end(); ++track) {
    if (track->alive()) others.push_back(&*track);
  }
  return others;
}

bool CommandRounds::decided() const {
  const std::vector<const CommandTrack*> others = compared();
  const double tail = kRunningTail / static_cast<double>(std::max<std::size_t>(1, others.size()));
  return std::ranges::all_of(others, [&](const CommandTrack* track) {
    const auto ratio = round_ratio(*track, group_.commands.front(), Look::kRunning);
    if (!ratio) return false;
    const bool apart = std::min(ratio->p_above(1), ratio->p_below(1)) <= tail;
    return apart ||
           (ratio->p_below(1 + settings_.margin) <= tail && ratio->p_above(1 - settings_.margin) <= tail);
  });
}

std::optional<double> CommandRounds::worst_half_width() const {
  const CommandTrack& baseline = group_.commands.front();
  const std::vector<const CommandTrack*> others = compared();
  double worst = 0;
  for (const CommandTrack* track : others) {
    const auto ratio = round_ratio(*track, baseline, Look::kLast);
    const RatioEstimate estimate = ratio ? ratio->estimate() : RatioEstimate{};
    if (!estimate.interval) return std::nullopt;
    worst = std::max(worst, relative_half_width(*estimate.interval, estimate.ratio));
  }
  if (!others.empty()) return worst;
  for (const CommandTrack& track : group_.commands) {
    if (!track.alive()) continue;
    const auto width = sampling_half_width(steady_series(track));
    if (!width) return std::nullopt;
    worst = std::max(worst, *width);
  }
  return worst;
}

bool CommandRounds::any_alive() const {
  return std::ranges::any_of(group_.commands, &CommandTrack::alive);
}

void CommandRounds::announce(const std::string& command) {
  progress_.command = command;
  progress_.rounds = round_;
  progress_.elapsed_ns = settings_.now_ns() - started_ns_;
  const auto& samples = group_.commands.front().samples;
  std::vector<double> values;
  for (const CommandSample& sample : std::span(samples).last(std::min(samples.size(), kShownSamples))) {
    values.push_back(sample.wall_ns);
  }
  if (!values.empty()) progress_.median_ns = median(values);
  report_(progress_);
}

}  // namespace headroom

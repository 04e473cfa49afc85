// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/group_run.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "headroom/record/metrics.h"

namespace headroom {
namespace {

void mark_failed(Track& track, const std::string& reason) {
  track.outcome = {Outcome::Kind::kFailed, reason};
  track.info.verified = false;
}

void add_conclusions(Track& track, std::vector<Conclusion> reported) {
  for (const Conclusion& conclusion : reported) {
    for (const auto& [name, text] : conclusion.notes) track.info.notes.emplace(name, text);
    track.changed.insert(conclusion.changed.begin(), conclusion.changed.end());
    if (!conclusion.wrong.empty() && track.info.wrong.empty()) {
      track.info.wrong = conclusion.wrong;
      track.info.verified = false;
    }
    if (!conclusion.failure.empty() && track.alive()) mark_failed(track, conclusion.failure);
  }
  track.reported = std::move(reported);
}

void mark_late(Track& track, const std::string& reason) {
  if (!track.readings.empty() || !track.alive()) return;
  track.outcome = {Outcome::Kind::kSkipped, reason};
  track.out_of_time = true;
}

/// A final loss is reported once for the run.
void mark_lost(Track& track, const RunnerLost& lost) {
  if (lost.is_final && !track.readings.empty()) return;
  track.outcome = {Outcome::Kind::kFailed, (lost.is_final ? "" : "the runner ") + lost.reason};
}

std::size_t readings_since(const Track& track, std::uint32_t first_round) {
  return static_cast<std::size_t>(track.readings.end() -
                                  std::ranges::lower_bound(track.readings, first_round, {}, &Reading::round));
}

constexpr std::size_t kSamplesOfAPass = 10;
constexpr std::size_t kMaxPasses = 5;

std::size_t samples_since(const Track& track, std::uint32_t round) {
  return static_cast<std::size_t>(
      std::ranges::count_if(track.readings, [&](const Reading& reading) { return reading.round >= round; }));
}

WorkCounts per_iteration(WorkCounts counts, std::uint64_t iterations) {
  const auto count = static_cast<double>(iterations);
  for (std::optional<double>* number : {&counts.instructions, &counts.cycles, &counts.cache_misses,
                                        &counts.memory_bytes, &counts.memory_bytes_written}) {
    if (*number) **number /= count;
  }
  counts.background_bytes /= count;
  return counts;
}

/// Short, as every round has one.
constexpr double kPingPongNs = 2e5;
constexpr double kMinLimitNs = 1e6;
/// All limits of a round together, in samples of a case.
constexpr double kLimitsShare = 2;
/// Below this, an untimed iteration before each sample warms up at no cost.
constexpr double kLeadInNs = 1e6;
/// Above the numbers of cases and limits.
constexpr int kFirstTuningId = 100'000;
constexpr double kTuningShare = 0.25;
/// Share of the remaining time after which no case is prepared; grace for a case in preparation.
constexpr double kPreparingShare = 0.75, kGraceNs = 3e9;
/// Of the remaining time, for fresh processes.
constexpr double kFreshShare = 0.5;
/// Of the grace, for restarting a late runner.
constexpr double kRestartShare = 0.25;
constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr const char* kTimeIsOver = "the run's time limit was reached";
constexpr const char* kAllOverhead =
    "overhead exceeds the measured time: nothing is left after subtracting it";
constexpr const char* kOtherColumns = "a sample has a different number of columns than the case declared";
constexpr const char* kOtherRanks =
    "a sample has the times of more or fewer ranks than the case's first sample";
constexpr const char* kNoTime =
    "a sample took no time: its work was optimised away, or its clock does not advance";

double overhead_ns(const CaseInfo& info, const std::vector<double>& columns) {
  double sum = 0;
  std::size_t column = 0;
  for (const ReportedMetric& metric : info.metrics) {
    if (metric.kind != ReportedMetric::Kind::kColumn) continue;
    if (is_overhead(metric.name)) sum += columns.at(column);
    ++column;
  }
  return sum;
}

std::size_t column_count(const CaseInfo& info) {
  return static_cast<std::size_t>(
      std::ranges::count(info.metrics, ReportedMetric::Kind::kColumn, &ReportedMetric::kind));
}

}  // namespace

void PreparedTracks::prepare_all() {
  std::vector<Track*> order = all();
  if (epoch_ % 2 == 1) std::ranges::reverse(order);
  for (Track* track : order) {
    if (track->is_sampled()) prepare(*track);
  }
}

void PreparedTracks::prepare(Track& track) {
  if (*interrupted_) throw Interrupted{};
  if (is_closed_ && track.pids.empty()) return mark_late(track, out_of_time_);
  run_guarded(track, [&](Worker& worker) {
    const PrepareReply reply = worker.prepare(track.id, track.planned.spec);
    track.outcome = reply.outcome;
    if (!track.alive()) return;
    track.info = reply.info;
    track.pids.resize(epoch_ + 1, 0);
    track.pids[epoch_] = worker.pid();
  });
}

void PreparedTracks::run_guarded(Track& track, const std::function<void(Worker&)>& body) {
  const std::size_t runner = track.planned.runner;
  try {
    body(workers_->at(runner));
  } catch (const RunnerLost& lost) {
    mark_lost(track, lost);
    workers_->stop(runner);
    if (lost.is_final) throw;
    prepare_again(runner);
  } catch (const OutOfTime&) {
    if (!grace_ns_) throw;
    const double left_ns = *grace_ns_ - prepare_by_ns_;
    set_deadline(*grace_ns_);
    is_closed_ = true;
    mark_late(track, out_of_time_);
    workers_->stop(runner);
    if (workers_->start_ns(runner) <= kRestartShare * left_ns) return prepare_again(runner);
    for (Track* other : all()) {
      if (other->planned.runner == runner) mark_late(*other, out_of_time_);
    }
  }
}

void PreparedTracks::set_prepare_deadline(double ns, double grace_ns, std::string reason) {
  if (is_closed_) return;
  prepare_by_ns_ = ns;
  grace_ns_ = grace_ns;
  out_of_time_ = std::move(reason);
  workers_->set_deadline(ns);
}

void PreparedTracks::set_deadline(double ns) {
  grace_ns_.reset();
  workers_->set_deadline(ns);
}

void PreparedTracks::mark_out_of_time() {
  for (Track& track : result_->cases) mark_late(track, out_of_time_);
}

std::string PreparedTracks::run_optional(const Track& track, const std::function<void(Worker&)>& body) {
  const std::size_t runner = track.planned.runner;
  try {
    body(workers_->at(runner));
    return {};
  } catch (const RunnerLost& lost) {
    workers_->stop(runner);
    if (lost.is_final) throw;
    prepare_again(runner);
    return "the runner " + lost.reason;
  }
}

void PreparedTracks::prepare_again(std::size_t runner) {
  const std::uint32_t epoch = ++epoch_;
  for (Track* track : all()) {
    if (epoch_ != epoch) return;
    const bool was_prepared = !track->pids.empty();
    if (!track->is_sampled() || !was_prepared) continue;
    if (track->planned.runner == runner) {
      prepare(*track);
    } else {
      track->pids.resize(epoch_ + 1, track->pids.back());
    }
  }
}

void PreparedTracks::conclude_all() {
  std::set<std::size_t> lost_runners;
  const std::vector<Track*> tracks = all();
  for (auto next = tracks.begin(); next != tracks.end(); ++next) {
    Track* track = *next;
    const std::size_t runner = track->planned.runner;
    if (!track->is_sampled() || lost_runners.contains(runner)) continue;
    try {
      add_conclusions(*track, workers_->at(runner).conclude(track->id));
    } catch (const OutOfTime&) {
      // They may have stopped computing.
      std::for_each(next, tracks.end(), [](Track* late) { late->info.verified = false; });
      throw;
    } catch (const RunnerLost& lost) {
      mark_lost(*track, lost);
      workers_->stop(runner);
      if (lost.is_final) throw;
      lost_runners.insert(runner);
    }
  }
}

void PreparedTracks::stop_runners() {
  for (const Track* track : all()) workers_->stop(track->planned.runner);
}

void PreparedTracks::renew_runners() {
  for (const std::size_t runner : runners()) workers_->renew(runner);
}

double PreparedTracks::start_ns() const {
  double sum = 0;
  for (const std::size_t runner : runners()) sum += workers_->start_ns(runner);
  return sum;
}

std::set<std::size_t> PreparedTracks::runners() const {
  std::set<std::size_t> runners;
  for (const Track& track : result_->cases) runners.insert(track.planned.runner);
  for (const LimitTrack& limit : result_->limits) runners.insert(limit.track.planned.runner);
  return runners;
}

std::optional<SampleReply> PreparedTracks::sample(Track& track, const SampleRequest& request) {
  std::optional<SampleReply> reply;
  run_guarded(track, [&](Worker& worker) { reply = worker.sample(track.id, request); });
  if (!reply || reply->failure.empty()) return reply;
  fail(track, reply->failure);
  return std::nullopt;
}

void PreparedTracks::fail(Track& track, const std::string& reason) {
  mark_failed(track, reason);
  run_guarded(track, [&](Worker& worker) { worker.release(track.id); });
}

std::vector<Track*> PreparedTracks::all() {
  std::vector<Track*> tracks;
  for (Track& track : result_->cases) tracks.push_back(&track);
  for (LimitTrack& limit : result_->limits) tracks.push_back(&limit.track);
  return tracks;
}

std::vector<Track*> PreparedTracks::sampled() {
  std::vector<Track*> tracks;
  for (Track& track : result_->cases) tracks.push_back(&track);
  for (LimitTrack& limit : result_->limits) {
    if (limit.resource != Resource::kPingPong && !limit.track.rests) tracks.push_back(&limit.track);
  }
  return tracks;
}

bool PreparedTracks::any_case_alive() const {
  return std::ranges::any_of(result_->cases, &Track::alive);
}

void SettledCases::look(std::span<const Track> cases, std::span<const double> half_widths, double elapsed_ns,
                        std::uint32_t first_round) {
  for (std::size_t i = 0; i < cases.size(); ++i) {
    StopState state{readings_since(cases[i], first_round), elapsed_ns, half_widths[i]};
    if (!std::isfinite(half_widths[i])) state.relative_half_width.reset();
    settled_[i] = stopping_[i].check(state) == StopReason::kPrecision;
  }
  spared_ = settled_;
  const auto first = std::ranges::find_if(cases, &Track::alive);
  if (first != cases.end()) spared_[static_cast<std::size_t>(first - cases.begin())] = false;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!settled_[i]) spared_.at(cases[i].planned.baseline) = false;
  }
}

std::size_t fewest_readings(std::span<const Track> cases, std::uint32_t first_round) {
  std::optional<std::size_t> fewest;
  for (const Track& track : cases) {
    if (!track.alive()) continue;
    const std::size_t readings = readings_since(track, first_round);
    fewest = std::min(fewest.value_or(readings), readings);
  }
  return fewest.value_or(0);
}

StopRule process_share(const StopRule& rule, int processes) {
  const auto count = static_cast<std::size_t>(processes);
  StopRule share = rule;
  share.precision = rule.precision * std::sqrt(static_cast<double>(processes));
  share.min_samples = (rule.min_samples + count - 1) / count;
  share.max_samples = std::max<std::size_t>(1, rule.max_samples / count);
  share.min_time_ns = rule.min_time_ns / processes;
  share.max_time_ns = rule.max_time_ns / processes;
  return share;
}

std::vector<Track*> countable(std::vector<Track>& cases, const std::vector<RunnerOffer>& offers,
                              std::uint32_t first_round) {
  std::vector<Track*> tracks;
  for (Track& track : cases) {
    if (!track.alive() || track.planned.device != "cpu" || samples_since(track, first_round) == 0) continue;
    const std::size_t runner = track.planned.runner;
    if (runner < offers.size() && offers[runner].counts) tracks.push_back(&track);
  }
  return tracks;
}

void count_passes(Track& track, Worker& worker, std::uint32_t epoch, std::uint32_t first_round) {
  const std::size_t passes =
      std::clamp<std::size_t>(samples_since(track, first_round) / kSamplesOfAPass, 1, kMaxPasses);
  track.calls_after = 0;
  for (std::size_t pass = 0; pass < passes; ++pass) {
    const CountReply reply = worker.count(track.id, {track.iterations, track.lead_in});
    track.calls_after += track.iterations + track.lead_in;
    if (!reply.failure.empty()) {
      track.uncounted = reply.failure;
      return;
    }
    track.counted.push_back({epoch, per_iteration(reply.counts, track.iterations)});
  }
}

GroupResult unreached(const Group& group, const std::string& reason) {
  GroupResult result;
  result.title = group.title;
  for (const PlannedCase& planned : group.cases) {
    result.cases.emplace_back().planned = planned;
    mark_late(result.cases.back(), reason);
  }
  return result;
}

GroupRun::GroupRun(const Group& group, const std::vector<RunnerOffer>& offers, Workers& workers,
                   RoundSettings settings, std::function<void(const Progress&)> report,
                   const std::atomic<bool>& interrupted)
    : offers_(offers),
      settings_(std::move(settings)),
      report_(std::move(report)),
      interrupted_(interrupted),
      tracks_(result_, workers, interrupted),
      random_(settings_.seed) {
  result_.title = group.title;
  for (const PlannedCase& planned : group.cases) {
    Track track;
    track.id = static_cast<int>(result_.cases.size());
    track.planned = planned;
    result_.cases.push_back(std::move(track));
  }
  progress_.title = group.title;
  progress_.processes = static_cast<std::size_t>(settings_.processes);
  progress_.max_time_ns = settings_.stop.max_time_ns;
  progress_.goal = settings_.stop.precision;
}

GroupResult GroupRun::run() {
  try {
    for (int process = 0; process < settings_.processes && (process == 0 || tracks_.any_case_alive());
         ++process) {
      if (process > 0 && settings_.now_ns() + prepared_ns_ >= settings_.end_ns) {
        result_.stop = StopReason::kMaxTime;
        refuse_traces();
        break;
      }
      run_process(process);
    }
    const bool any_sampled =
        std::ranges::any_of(result_.cases, [](const Track& track) { return !track.readings.empty(); });
    if (!tracks_.any_case_alive() && any_sampled) result_.stop = StopReason::kRunnerLost;
  } catch (const RunnerLost& lost) {
    result_.stop = StopReason::kRunnerLost;
    result_.lost = lost.reason;
  } catch (const Interrupted&) {
    // Do not ask: a runner may be in a long sample.
    tracks_.stop_runners();
    result_.stop = StopReason::kInterrupted;
  } catch (const OutOfTime&) {
    tracks_.stop_runners();
    result_.stop = StopReason::kMaxTime;
    tracks_.mark_out_of_time();
  }
  return std::move(result_);
}

void GroupRun::run_process(int process) {
  progress_.process = static_cast<std::size_t>(process);
  const bool keeps = process == 0 && keeps_runners();
  if (settings_.processes > 1 && !keeps) tracks_.renew_runners();
  if (process > 0) tracks_.next_epoch();
  if (process == 0) {
    for (Track& track : result_.cases) recall_variant(track);
  }
  announce("preparing");
  const double start_ns = settings_.now_ns();
  const double grace_ns = grace_end_ns();
  if (process == 0) {
    prepare_by_ns_ = start_ns + kPreparingShare * (settings_.end_ns - start_ns);
    tracks_.set_prepare_deadline(prepare_by_ns_, grace_ns, settings_.out_of_time);
  } else {
    tracks_.set_deadline(grace_ns);
  }
  tracks_.prepare_all();
  const bool is_first = process == 0 && tracks_.any_case_alive();
  if (is_first) tune_all();
  refuse_coarse_sums();
  if (is_first && settings_.limits && settings_.now_ns() < prepare_by_ns_) add_limits();
  // It may compile the case.
  if (process == 0) tracks_.set_prepare_deadline(settings_.end_ns, grace_ns, settings_.out_of_time);
  if (is_first) calibrate_all();
  warm_up();
  if (process == 0) {
    prepared_ns_ = settings_.now_ns() - start_ns + (keeps ? tracks_.start_ns() : 0);
    limit_processes();
  }
  // A sample begun in time may end later.
  if (process == 0) tracks_.set_deadline(kNever);
  if (tracks_.any_case_alive()) sample_rounds();
  tracks_.set_deadline(std::max(grace_ns, settings_.now_ns() + kGraceNs));
  count_cases();
  const bool traced = process + 1 == settings_.processes && trace_cases();
  tracks_.conclude_all();
  // The recorder may slow the next group.
  if (traced) tracks_.stop_runners();
}

bool GroupRun::keeps_runners() const {
  const double left_ns = std::min(settings_.end_ns - settings_.now_ns(), settings_.share_ns);
  return left_ns < kNever && tracks_.start_ns() > kFreshShare * left_ns;
}

bool GroupRun::recall_variant(Track& track) {
  const std::vector<std::string>& variants = track.planned.variants;
  if (settings_.tuning == nullptr || variants.empty()) return false;
  const auto chosen = settings_.tuning->chosen(tuning_key(track.planned.spec));
  // The choice may come from another build.
  if (!chosen || std::ranges::find(variants, *chosen) == variants.end()) return false;
  track.planned.spec.variant = *chosen;
  return true;
}

void GroupRun::tune_all() {
  if (settings_.tuning == nullptr || !settings_.tunes) return;
  int first_id = kFirstTuningId;
  for (Track& track : result_.cases) {
    if (!track.alive() || track.planned.variants.size() < 2 || !track.planned.spec.variant.empty()) continue;
    announce("tuning");
    tune(track, first_id);
    first_id += static_cast<int>(track.planned.variants.size());
  }
}

void GroupRun::tune(Track& track, int first_id) {
  // Another build may have just chosen.
  if (recall_variant(track)) return tracks_.prepare(track);
  TuningRule rule;
  const double left_ns = prepare_by_ns_ - settings_.now_ns();
  rule.max_time_ns =
      std::min({rule.max_time_ns, settings_.stop.max_time_ns * kTuningShare, left_ns * kTuningShare});
  rule.sample_ns = std::min(rule.sample_ns, settings_.sample_ns);
  rule.seed = settings_.seed;
  rule.now_ns = settings_.now_ns;
  tracks_.run_guarded(track, [&](Worker& worker) {
    const auto result = fastest_variant(worker, track.planned, first_id, rule, interrupted_);
    if (!result) return;
    worker.release(track.id);
    track.id = result->id;
    track.info = result->info;
    track.planned.spec.variant = result->variant;
    if (result->settled) settings_.tuning->choose(tuning_key(track.planned.spec), result->variant);
  });
}

void GroupRun::refuse_coarse_sums() {
  if (!settings_.strict) return;
  for (Track& track : result_.cases) {
    if (!track.alive() || !track.info.sums_in || !is_below_f32(*track.info.sums_in)) continue;
    const std::string reason = sums_text(*track.info.sums_in, track.info.max_error, track.info.tolerance) +
                               ", but --strict requires f32";
    tracks_.fail(track, reason);
  }
}

std::vector<const Track*> GroupRun::limit_representatives() const {
  std::vector<const Track*> first;
  for (const Track& track : result_.cases) {
    const auto is_same = [&](const Track* other) { return share_limits(*other, track); };
    if (track.alive() && std::ranges::none_of(first, is_same)) first.push_back(&track);
  }
  return first;
}

void GroupRun::add_limits() {
  for (const Track* first : limit_representatives()) {
    for (LimitTrack& limit : limit_candidates(offers_, *first)) {
      result_.limits.push_back(std::move(limit));
    }
  }
  int id = static_cast<int>(result_.cases.size());
  for (LimitTrack& limit : result_.limits) limit.track.id = id++;
  for (LimitTrack& limit : result_.limits) tracks_.prepare(limit.track);
}

void GroupRun::calibrate_all() {
  announce("calibrating");
  std::vector<CalibratedCase> compared;
  for (Track& track : result_.cases) {
    if (!track.alive()) continue;
    calibrate(track, settings_.sample_ns);
    if (track.alive()) compared.push_back({track.iterations, track.waited_ns});
  }
  if (compared.empty()) return;
  const std::uint64_t shared = shared_iterations(compared, settings_.sample_ns);
  for (Track& track : result_.cases) track.iterations = shared;
  for (LimitTrack& limit : result_.limits) {
    if (limit.track.alive()) {
      calibrate(limit.track, limit.resource == Resource::kPingPong ? kPingPongNs : kMinLimitNs);
    }
  }
  drop_loose_limits();
  lengthen_limits();
}

void GroupRun::lengthen_limits() {
  const auto is_rate = [](const LimitTrack& limit) {
    return limit.track.alive() && limit.resource != Resource::kPingPong;
  };
  const auto count = static_cast<double>(std::ranges::count_if(result_.limits, is_rate));
  const double each = std::min(settings_.sample_ns, kLimitsShare * settings_.sample_ns / count);
  for (LimitTrack& limit : result_.limits) {
    if (!is_rate(limit) || each <= kMinLimitNs) continue;
    limit.track.iterations =
        std::max(limit.track.iterations, static_cast<std::uint64_t>(each / limit.track.calibrated_ns));
  }
}

void GroupRun::drop_loose_limits() {
  const std::vector<LimitTrack> candidates = std::move(result_.limits);
  result_.limits.clear();
  std::set<int> kept;
  for (const Track* bounded : limit_representatives()) {
    std::vector<LimitTrack> limits = limits_of(*bounded, candidates);
    const bool needs_peak = bounded->planned.metric == "flops_utilization";
    drop_loose_candidates(limits, bounded->info.work, needs_peak);
    for (LimitTrack& limit : limits) {
      kept.insert(limit.track.id);
      result_.limits.push_back(std::move(limit));
    }
  }
  for (LimitTrack limit : candidates) {
    if (kept.contains(limit.track.id) || !limit.track.alive()) continue;
    tracks_.run_guarded(limit.track, [&](Worker& worker) { worker.release(limit.track.id); });
  }
}

void GroupRun::calibrate(Track& track, double target_ns) {
  Calibration calibration(target_ns);
  while (track.alive() && !calibration.done()) {
    if (interrupted_) throw Interrupted{};
    if (is_late() && calibration.ns_per_iteration() > 0) break;
    const double start = settings_.now_ns();
    if (const auto reply = tracks_.sample(track, {calibration.next_iterations(), 0})) {
      calibration.add(reply->sample.iterations, reply->sample.elapsed_ns, settings_.now_ns() - start);
    }
  }
  if (!track.alive()) return;
  if (!(calibration.ns_per_iteration() > 0)) {
    tracks_.fail(track, kNoTime);
    return;
  }
  track.iterations = calibration.iterations();
  track.calibrated_ns = calibration.ns_per_iteration();
  track.waited_ns = calibration.waited_ns_per_iteration();
  track.lead_in = track.calibrated_ns < kLeadInNs ? 1 : 0;
}

void GroupRun::warm_up() {
  if (settings_.warmup > 0) announce("warming up");
  const double until_ns = (prepare_by_ns_ + settings_.end_ns) / 2;
  for (std::uint32_t i = 0; i < settings_.warmup; ++i) {
    for (Track& track : result_.cases) {
      if (interrupted_) throw Interrupted{};
      if (settings_.now_ns() >= until_ns) return;
      if (track.alive()) tracks_.sample(track, {track.iterations, 0});
    }
  }
}

void GroupRun::limit_processes() {
  const double left_ns = std::min(settings_.end_ns - settings_.now_ns(), settings_.share_ns);
  while (settings_.processes > 1 && left_ns < kNever &&
         (settings_.processes - 1) * prepared_ns_ > kFreshShare * left_ns)
    --settings_.processes;
  progress_.processes = static_cast<std::size_t>(settings_.processes);
}

StopRule GroupRun::rule_of_process() const {
  StopRule rule = process_share(settings_.stop, settings_.processes);
  const int left = settings_.processes - static_cast<int>(progress_.process);
  const double left_ns = settings_.end_ns - settings_.now_ns() - (left - 1) * prepared_ns_;
  rule.max_time_ns = std::min(rule.max_time_ns, left_ns / left);
  return rule;
}

void GroupRun::sample_rounds() {
  sampling_since_ = settings_.now_ns();
  first_round_ = round_;
  next_look_ = 0;
  const StopRule rule = rule_of_process();
  Stopping stopping(rule);
  settled_ = SettledCases(rule, result_.cases.size());
  // At least one round, whatever the caps.
  do {
    if (interrupted_) throw Interrupted{};
    sample_round();
  } while (tracks_.any_case_alive() && !should_end(rule, stopping));
  sampled_before_ns_ += sampling_ns();
  sampling_since_.reset();
}

void GroupRun::sample_round() {
  placement_ns_ = 0;
  for (LimitTrack& limit : result_.limits) {
    if (limit.resource != Resource::kPingPong || !limit.track.alive()) continue;
    sample(limit.track);
    if (limit.track.alive()) placement_ns_ = limit.track.readings.back().ns;
  }
  std::vector<Track*> order = tracks_.sampled();
  for (std::size_t i = 0; i < result_.cases.size(); ++i) {
    if (!settled_.is_due(i, round_)) std::erase(order, &result_.cases[i]);
  }
  std::ranges::shuffle(order, random_);
  for (Track* track : order) {
    const bool is_first = progress_.process == 0 && round_ == first_round_;
    if (is_late() && !is_first) break;
    if (settings_.now_ns() >= grace_end_ns()) throw OutOfTime{};
    if (track->alive()) sample(*track);
  }
  ++round_;
  settings_.on_round(result_);
}

void GroupRun::sample(Track& track) {
  const auto reply = tracks_.sample(track, {track.iterations, track.lead_in});
  if (!reply) return;
  const auto iterations = static_cast<double>(reply->sample.iterations);
  Reading reading{round_,
                  tracks_.epoch(),
                  reply->sample.elapsed_ns / iterations,
                  reply->sample.noise,
                  reply->sample.device,
                  reply->sample.columns,
                  reply->ranks};
  for (RankSample& rank : reading.ranks) rank.elapsed_ns /= iterations;
  const auto has_columns = [n = column_count(track.info)](const auto& sample) {
    return sample.columns.size() == n;
  };
  if (!has_columns(reading) || !std::ranges::all_of(reading.ranks, has_columns)) {
    return tracks_.fail(track, kOtherColumns);
  }
  if (!track.readings.empty() && reading.ranks.size() != track.readings.front().ranks.size()) {
    return tracks_.fail(track, kOtherRanks);
  }
  // Ratios need positive times.
  if (!(reading.ns > 0)) return tracks_.fail(track, kNoTime);
  if (settings_.subtracts_overhead) {
    reading.ns -= overhead_ns(track.info, reading.columns);
    if (!(reading.ns > 0)) return tracks_.fail(track, kAllOverhead);
  }
  // CPU placement does not affect a device.
  if (track.planned.device == "cpu") reading.noise.placement_ns = placement_ns_;
  track.readings.push_back(std::move(reading));
}

bool GroupRun::should_end(const StopRule& rule, Stopping& stopping) {
  const std::size_t rounds = round_ - first_round_;
  // The cap counts rounds; settled cases have fewer samples.
  const std::size_t fewest = fewest_readings(result_.cases, first_round_);
  StopState state{rounds >= rule.max_samples ? rounds : fewest, sampling_ns(), std::nullopt};
  // Estimates are costly: renew after an eighth more rounds, and before a cap.
  if (rounds >= next_look_ || should_stop(rule, state)) {
    next_look_ = rounds + std::max<std::size_t>(1, rounds / 8);
    const std::vector<double> widths = half_widths(result_.cases);
    state.relative_half_width = worst_half_width(widths);
    progress_.worst_half_width = state.relative_half_width;
    settled_.look(result_.cases, widths, sampling_ns(), first_round_);
    pause_beaten_limits();
  }
  announce("sampling");
  const auto reason = stopping.check(state);
  if (reason) result_.stop = *reason;
  return reason.has_value();
}

void GroupRun::pause_beaten_limits() {
  for (const std::size_t index : beaten_limits(result_.limits)) {
    Track& track = result_.limits[index].track;
    track.rests = true;
    tracks_.run_guarded(track, [&](Worker& worker) { worker.release(track.id); });
  }
}

void GroupRun::count_cases() {
  const std::vector<Track*> tracks = countable(result_.cases, offers_, first_round_);
  if (!settings_.counts || tracks.empty()) return;
  if (is_late()) {
    for (Track* track : tracks) track->uncounted = kTimeIsOver;
    return;
  }
  announce("counting");
  for (Track* track : tracks) {
    if (interrupted_) throw Interrupted{};
    // The samples stay valid if the runner dies here.
    const std::string lost = tracks_.run_optional(
        *track, [&](Worker& worker) { count_passes(*track, worker, tracks_.epoch(), first_round_); });
    if (!lost.empty()) track->uncounted = lost;
  }
}

void GroupRun::refuse_traces() {
  for (Track& track : result_.cases) {
    if (!settings_.traces.empty() || !track.planned.trace.empty()) track.untraced = kTimeIsOver;
  }
}

bool GroupRun::trace_cases() {
  bool asked = false;
  if (is_late()) {
    refuse_traces();
    return false;
  }
  for (Track& track : result_.cases) {
    const std::string& own = track.planned.trace;
    if (!track.alive() || track.readings.empty() || (own.empty() && settings_.traces.empty())) continue;
    announce("tracing");
    if (!offers_.at(track.planned.runner).traces) {
      track.untraced = "this runner cannot record traces";
      continue;
    }
    const std::string file =
        own.empty() ? trace_file(settings_.traces, result_.title, track.planned, offers_) : own;
    asked = asked || own.empty();
    // The samples stay valid if the runner dies here.
    const std::string lost =
        tracks_.run_optional(track, [&](Worker& worker) { track.untraced = worker.trace(track.id, file); });
    if (!lost.empty()) track.untraced = lost;
    if (track.untraced.empty()) track.trace = file;
  }
  return asked;
}

double GroupRun::grace_end_ns() const {
  return settings_.end_ns + kGraceNs;
}

double GroupRun::sampling_ns() const {
  return sampling_since_ ? settings_.now_ns() - *sampling_since_ : 0;
}

void GroupRun::announce(const char* phase) {
  progress_.phase = phase;
  progress_.rounds = round_;
  progress_.elapsed_ns = sampled_before_ns_ + sampling_ns();
  if (const auto recent = recent_median_ns(result_.cases.front().readings)) progress_.median_ns = *recent;
  report_(progress_);
}

}  // namespace headroom

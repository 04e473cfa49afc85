// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/prepared_tracks.h"

#include <algorithm>
#include <set>

namespace headroom {
namespace {

void mark_failed(Track& track, const std::string& reason) {
  track.outcome = {Outcome::Kind::kFailed, reason};
  track.info.verified = false;
}

/// What one rank notes is a note of the case, and where one has failed all have.
void hear(Track& track, std::vector<Conclusion> told) {
  for (const Conclusion& conclusion : told) {
    for (const auto& [name, text] : conclusion.notes) track.info.notes.emplace(name, text);
    if (!conclusion.failure.empty() && track.alive()) mark_failed(track, conclusion.failure);
  }
  track.told = std::move(told);
}

/// A loss that ends the run is told once for all; what was sampled by then counts.
void mark_lost(Track& track, const RunnerLost& lost) {
  if (lost.is_final && !track.readings.empty()) return;
  track.outcome = {Outcome::Kind::kFailed, (lost.is_final ? "" : "the runner ") + lost.reason};
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
  guarded(track, [&](Worker& worker) {
    const PrepareReply reply = worker.prepare(track.id, track.planned.spec);
    track.outcome = reply.outcome;
    if (!track.alive()) return;
    track.info = reply.info;
    track.pids.resize(epoch_ + 1, 0);
    track.pids[epoch_] = worker.pid();
  });
}

void PreparedTracks::guarded(Track& track, const std::function<void(Worker&)>& body) {
  const std::size_t runner = track.planned.runner;
  try {
    body(workers_->at(runner));
  } catch (const RunnerLost& lost) {
    mark_lost(track, lost);
    workers_->stop(runner);
    if (lost.is_final) throw;
    prepare_again(runner);
  }
}

std::string PreparedTracks::spared(const Track& track, const std::function<void(Worker&)>& body) {
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
    // A loss in here has brought back all that are left.
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
  for (Track* track : all()) {
    const std::size_t runner = track->planned.runner;
    if (!track->is_sampled() || lost_runners.contains(runner)) continue;
    try {
      hear(*track, workers_->at(runner).conclude(track->id));
    } catch (const RunnerLost& lost) {
      // Nothing is brought back: all samples of this process are taken.
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

std::optional<SampleReply> PreparedTracks::sample(Track& track, const SampleRequest& request) {
  std::optional<SampleReply> reply;
  guarded(track, [&](Worker& worker) { reply = worker.sample(track.id, request); });
  if (!reply || reply->failure.empty()) return reply;
  fail(track, reply->failure);
  return std::nullopt;
}

void PreparedTracks::fail(Track& track, const std::string& reason) {
  mark_failed(track, reason);
  guarded(track, [&](Worker& worker) { worker.release(track.id); });
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

}  // namespace headroom

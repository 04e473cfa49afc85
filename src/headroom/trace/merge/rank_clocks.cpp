// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/merge/rank_clocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/trace/columns/rank_numbers.h"

namespace headroom::trace {
namespace {

void number_ranks(JobClocks& job) {
  std::vector<TraceFacts> facts;
  for (const RankClock& clock : job.ranks) facts.push_back(clock.facts);
  RankNumbers numbers = rank_numbers(facts);
  for (std::size_t i = 0; i < job.ranks.size(); ++i) job.ranks[i].rank = numbers.ranks[i];
  std::ranges::stable_sort(job.ranks, {}, &RankClock::rank);
  job.notes = std::move(numbers.notes);
}

void match(JobClocks& job) {
  std::vector<std::vector<CollectiveCall>> calls;
  for (RankClock& clock : job.ranks) calls.push_back(std::move(clock.calls));
  job.matches = match_collectives(calls);
  const std::vector<double> offsets = clock_offsets(job.ranks.size(), job.matches.matched);
  for (const MatchedCollective& collective : job.matches.matched) {
    for (const Part& part : collective.parts) ++job.ranks[part.rank].matched;
  }
  // The matches point into the buffers of `calls`, which move with them.
  for (std::size_t i = 0; i < job.ranks.size(); ++i) {
    job.ranks[i].calls = std::move(calls[i]);
    job.ranks[i].offset_ns = std::llround(offsets[i]);
  }
}

/// Of what stands apart one sentence, however many ranks it is about.
void add_notes(JobClocks& job) {
  if (job.matches.matched.empty()) {
    job.notes.emplace_back(
        "no collective is found in the traces of several ranks: no clock was moved and no arrow drawn; are "
        "they "
        "of one job, at one time?");
    return;
  }
  std::string alone;
  for (const RankClock& clock : job.ranks) {
    if (clock.matched == 0) alone += fmt::format("{}{}", alone.empty() ? "" : ", ", clock.rank);
  }
  if (!alone.empty())
    job.notes.push_back("no collective is shared with the others, and the clock not moved, of rank " + alone);
  for (const std::string& group : job.matches.groups_by_time)
    job.notes.push_back(
        fmt::format("group {}: the traces do not hold the same collectives, so that they are paired by time, "
                    "which needs clocks that agree",
                    group));
}

}  // namespace

RankClock rank_clock(const Trace& trace) {
  RankClock clock;
  clock.facts = facts_of(trace);
  clock.base_ns = trace.base_time_ns;
  clock.calls = collective_calls(trace);
  std::map<std::uint32_t, std::uint32_t> rows;
  for (const CollectiveCall& call : clock.calls) {
    const std::uint32_t thread = trace.events.thread[call.event];
    const auto [row, is_new] = rows.emplace(thread, static_cast<std::uint32_t>(clock.threads.size()));
    if (is_new) clock.threads.push_back(trace.threads[thread]);
    clock.call_threads.push_back(row->second);
  }
  for (const GpuDetail& work : trace.gpu) clock.last_device = std::max(clock.last_device, work.device);
  for (const DeviceProperties& device : trace.devices)
    clock.last_device = std::max(clock.last_device, device.id);
  return clock;
}

JobClocks job_clocks(std::vector<RankClock> ranks) {
  JobClocks job;
  job.ranks = std::move(ranks);
  for (std::size_t i = 0; i < job.ranks.size(); ++i) job.ranks[i].place = i;
  number_ranks(job);
  match(job);
  add_notes(job);
  return job;
}

JobClocks job_clocks(std::span<const std::filesystem::path> files, const FilesOptions& how) {
  std::vector<RankClock> ranks(files.size());
  const std::vector<std::string> errors = read_files(
      files, [](const auto&, auto) { return kClockNeeds; }, how,
      [&](std::size_t i, const Trace& trace) {
        ranks[i] = rank_clock(trace);
        ranks[i].file = files[i];
      });
  for (const std::string& error : errors) {
    if (!error.empty()) throw Error(error);
  }
  return job_clocks(std::move(ranks));
}

}  // namespace headroom::trace

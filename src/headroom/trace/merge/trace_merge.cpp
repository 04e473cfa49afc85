// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/merge/trace_merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "headroom/base/error.h"
#include "headroom/trace/merge/merged_document.h"
#include "headroom/trace/merge/rank_clocks.h"
#include "headroom/trace/readers/json_repair.h"
#include "headroom/trace/readers/rewrite.h"

namespace headroom::trace {
namespace {

/// What a rank's times count from once its clock is right.
std::int64_t zero_of(const RankClock& clock) {
  return clock.base_ns - clock.offset_ns;
}

/// The base of the merged times: the earliest, so that no time becomes smaller than it was. Viewers take none
/// below zero.
std::int64_t common_base(const JobClocks& job) {
  for (const RankClock& clock : job.ranks) {
    if (clock.offset_ns > readers::kMostNs || clock.offset_ns < -readers::kMostNs)
      throw Error(
          fmt::format("the clock of {} is decades from those of the other ranks: are they of one job?",
                      clock.facts.source));
  }
  const auto [first, last] = std::ranges::minmax_element(job.ranks, {}, zero_of);
  const auto apart = static_cast<double>(zero_of(*last)) - static_cast<double>(zero_of(*first));
  if (apart > static_cast<double>(readers::kMostNs) || std::abs(zero_of(*first)) > readers::kMostNs)
    throw Error(fmt::format("the clocks of {} and {} are decades apart: are they of one job?",
                            first->facts.source, last->facts.source));
  return zero_of(*first);
}

std::vector<readers::RankMark> marks_of(const JobClocks& job, std::int64_t base_ns) {
  // Process ids that are numbers fit 32 bits, as viewers take them; more ranks leave less room for each.
  const auto ranks = static_cast<std::int64_t>(job.ranks.size());
  const std::int64_t process_stride =
      std::min(readers::RankMark().process_stride, std::numeric_limits<std::int32_t>::max() / ranks);
  std::int64_t device_stride = readers::RankMark().device_stride;
  for (const RankClock& clock : job.ranks) {
    while (device_stride <= clock.last_device) device_stride *= 10;
  }
  std::vector<readers::RankMark> marks;
  for (const RankClock& clock : job.ranks) {
    marks.push_back({clock.rank, std::ssize(marks), zero_of(clock) - base_ns, process_stride, device_stride});
  }
  return marks;
}

/// The options of reading one file after the others, whose progress is that of all.
class Reading {
 public:
  Reading(const JobClocks& job, const FilesOptions& how) : how_(how) {
    progress_.files = job.ranks.size();
    for (const RankClock& clock : job.ranks) progress_.bytes += clock.facts.file_bytes;
  }
  ReadOptions options() {
    ReadOptions options;
    options.threads = how_.threads;
    options.is_cancelled = how_.is_cancelled;
    if (how_.progress)
      options.progress = [this](std::uint64_t bytes, std::uint64_t) {
        FilesProgress now = progress_;
        now.bytes_done += bytes;
        how_.progress(now);
      };
    return options;
  }
  void finish_file(std::uint64_t bytes) {
    ++progress_.files_done;
    progress_.bytes_done += bytes;
  }

 private:
  const FilesOptions& how_;
  FilesProgress progress_;
};

MergedRank write_rank(const RankClock& clock, const readers::RankMark& mark, Reading& reading,
                      MergedDocument& document) {
  document.begin_rank(mark, clock.facts.source, -clock.offset_ns);
  const readers::RewriteSink sink{
      [&](std::string_view lines) { document.add_events(lines); },
      [&](std::string_view name, std::string_view json) { document.add_member(name, json); }, &mark,
      [&](std::span<const readers::RewrittenProcess> processes) { document.add_processes(processes); }};
  MergedRank rank{facts_of(rewrite(clock.file, sink, reading.options())), clock.rank, -clock.offset_ns,
                  clock.matched, 0};
  if (rank.facts.json_bytes != clock.facts.json_bytes)
    throw Error(clock.facts.source +
                " has changed while it was read: merge the traces once they are written");
  rank.events_written = document.end_rank();
  reading.finish_file(clock.facts.file_bytes);
  return rank;
}

/// A thread id as JSON, as the rewriter has it: the reader does not tell numbers from text.
std::string thread_json(const std::string& tid) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(tid.data(), tid.data() + tid.size(), number);
  std::string json;
  if (error == std::errc{} && end == tid.data() + tid.size()) {
    readers::append_clean_scalar(tid, json);
  } else {
    readers::append_json_string(tid, json);
  }
  return json;
}

class Arrows {
 public:
  Arrows(const JobClocks& job, std::span<const readers::RankMark> marks) : job_(job), marks_(marks) {
    for (const RankClock& clock : job.ranks) offsets_.push_back(static_cast<double>(clock.offset_ns));
  }

  /// How many were drawn.
  std::uint64_t draw(MergedDocument& document) const {
    // Beyond the ids of the last rank.
    const std::int64_t first = std::ssize(marks_) * readers::kIdsOfARank;
    std::int64_t id = first;
    for (const MatchedCollective& collective : job_.matches.matched) {
      const std::size_t last_rank = arrival_of(collective, offsets_).last_rank;
      const auto last = std::ranges::find(collective.parts, last_rank, &Part::rank);
      const ArrowEnd from = end_in(*last, std::numeric_limits<std::int64_t>::min());
      const std::string& name = last->call->collective.empty() ? last->call->kernel : last->call->collective;
      for (const Part& part : collective.parts) {
        if (part.rank != last_rank) document.add_arrow(id++, name, from, end_in(part, from.at_ns));
      }
    }
    return static_cast<std::uint64_t>(id - first);
  }

 private:
  /// Where the kernel starts, and no earlier than `least`: there it waits for the other end.
  ArrowEnd end_in(const Part& part, std::int64_t least) const {
    const RankClock& clock = job_.ranks[part.rank];
    const auto call = static_cast<std::size_t>(part.call - clock.calls.data());
    const Thread& thread = clock.threads[clock.call_threads[call]];
    ArrowEnd end{"", thread_json(thread.tid), 0};
    readers::append_process(marks_[part.rank], thread.pid, end.process);
    // The times of calls have the file's base in them.
    end.at_ns = std::max(part.call->start_ns - clock.base_ns + marks_[part.rank].shift_ns, least);
    return end;
  }

  const JobClocks& job_;
  std::span<const readers::RankMark> marks_;
  std::vector<double> offsets_;
};

}  // namespace

MergedTrace merge_traces(std::span<const std::filesystem::path> files, const WriteText& write,
                         const FilesOptions& how) {
  if (files.size() < 2)
    throw Error(
        "one trace has nothing to be merged with: give those of several ranks (headroom trace convert "
        "writes "
        "one again)");
  JobClocks job = job_clocks(files, how);
  const std::int64_t base_ns = common_base(job);
  const std::vector<readers::RankMark> marks = marks_of(job, base_ns);
  MergedDocument document(write, base_ns);
  MergedTrace merged;
  Reading reading(job, how);
  for (std::size_t i = 0; i < job.ranks.size(); ++i)
    merged.ranks.push_back(write_rank(job.ranks[i], marks[i], reading, document));
  merged.arrows = Arrows(job, marks).draw(document);
  document.finish();
  merged.notes = std::move(job.notes);
  return merged;
}

DataTable clock_table(const MergedTrace& merged) {
  DataTable table{"clocks",
                  "how far each clock was moved",
                  {{"rank", "rank", Kind::kCount},
                   {"file", "file", Kind::kText},
                   {"moved_ns", "moved by", Kind::kTimeNs},
                   {"collectives", "collectives", Kind::kCount},
                   {"events", "events", Kind::kCount}},
                  {}};
  for (const MergedRank& rank : merged.ranks) {
    table.rows.push_back({rank.rank, rank.facts.source, rank.moved_ns,
                          static_cast<std::int64_t>(rank.collectives),
                          static_cast<std::int64_t>(rank.events_written)});
  }
  return table;
}

}  // namespace headroom::trace

// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/merge/trace_merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom_trace/collectives/collective_matching.h"
#include "headroom_trace/index/trace_index.h"
#include "headroom_trace/json/strict_json.h"
#include "headroom_trace/readers/event_rewriter.h"

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
  // Matches point into `calls`: move the buffers.
  for (std::size_t i = 0; i < job.ranks.size(); ++i) {
    job.ranks[i].calls = std::move(calls[i]);
    job.ranks[i].offset_ns = std::llround(offsets[i]);
  }
}

void add_notes(JobClocks& job) {
  if (job.matches.matched.empty()) {
    job.notes.emplace_back(
        "no collective appears in the traces of several ranks: no clock moved, no arrow drawn; are they from "
        "one run of one job?");
    return;
  }
  std::string alone;
  for (const RankClock& clock : job.ranks) {
    if (clock.matched == 0) alone += fmt::format("{}{}", alone.empty() ? "" : ", ", clock.rank);
  }
  if (!alone.empty())
    job.notes.push_back("clock not moved, because it shares no collective with the others: rank " + alone);
  for (const std::string& group : job.matches.groups_by_time)
    job.notes.push_back(
        fmt::format("group {}: the traces hold different collectives, so they are paired by time, which "
                    "needs clocks that agree",
                    group));
}

struct ArrowEnd {
  std::string process, thread;  ///< as JSON
  std::int64_t at_ns = 0;       ///< on the merged clock
};

class MergedDocument {
 public:
  /// `base_ns`: origin of the times.
  MergedDocument(const WriteText& write, std::int64_t base_ns);

  /// Additions belong to this rank until the next begins.
  void begin_rank(const readers::RankRemap& remap, const std::string& source, std::int64_t moved_ns);
  void add_events(std::string_view lines);
  void add_processes(std::span<const readers::RewrittenProcess> processes);
  void add_member(std::string_view name, std::string_view json);
  /// Names unnamed processes. Returns the other events of the rank.
  std::uint64_t end_rank();

  void add_arrow(std::int64_t id, const std::string& name, const ArrowEnd& from, const ArrowEnd& to);
  void finish();

 private:
  void add_line(std::string_view line);
  void add_devices(std::string_view json);

  const WriteText& write_;
  bool has_events_ = false;
  std::uint64_t events_ = 0;  ///< of the rank
  readers::RankRemap remap_;
  std::map<std::string, readers::RewrittenProcess> processes_;
  std::set<std::string> names_;
  std::string member_;
  std::string members_;  ///< of earlier ranks
  std::string devices_;  ///< of all ranks
};

constexpr std::string_view kBetween = ",\n";

std::string json_text(std::string_view text) {
  std::string json;
  append_json_string(json, text);
  return json;
}

std::string microseconds(std::int64_t ns) {
  return fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", std::abs(ns) / 1000, std::abs(ns) % 1000);
}

MergedDocument::MergedDocument(const WriteText& write, std::int64_t base_ns) : write_(write) {
  write_(fmt::format("{{\"schemaVersion\":1,\n\"baseTimeNanoseconds\":{},\n\"traceEvents\":[\n", base_ns));
}

void MergedDocument::begin_rank(const readers::RankRemap& remap, const std::string& source,
                                std::int64_t moved_ns) {
  remap_ = remap;
  events_ = 0;
  processes_.clear();
  names_ = {"merged"};
  member_ = fmt::format(",\n\"rank {}\":{{\"merged\":{{\"file\":{},\"clock_moved_ns\":{}}}", remap.rank,
                        json_text(source), moved_ns);
}

void MergedDocument::add_events(std::string_view lines) {
  events_ += static_cast<std::uint64_t>(std::ranges::count(lines, '\n'));
  lines.remove_suffix(kBetween.size());
  add_line(lines);
}

void MergedDocument::add_line(std::string_view line) {
  if (has_events_) write_(kBetween);
  has_events_ = true;
  write_(line);
}

void MergedDocument::add_processes(std::span<const readers::RewrittenProcess> processes) {
  for (const readers::RewrittenProcess& process : processes) {
    readers::RewrittenProcess& known = processes_[process.pid];
    known.is_named |= process.is_named;
    known.is_sorted |= process.is_sorted;
  }
}

void MergedDocument::add_member(std::string_view name, std::string_view json) {
  // The first member of a name counts.
  if (name == "traceEvents" || json.empty() || !names_.emplace(name).second) return;
  member_ += fmt::format(",\n{}:{}", json_text(name), json);
  if (name == "deviceProperties") add_devices(json);
}

void MergedDocument::add_devices(std::string_view json) {
  if (!is_json(json)) return;
  Json list = parse_json(json, "deviceProperties");
  if (!list.is_array()) return;
  std::int64_t place = 0;
  for (Json& device : list) {
    if (!device.is_object()) continue;
    const Json* const id = device.find("id");
    const std::string number = id != nullptr ? dump_json(*id) : std::to_string(place);
    if (const auto marked = readers::remapped_argument(remap_, "device", number)) device["id"] = *marked;
    devices_ += (devices_.empty() ? "" : ",") + dump_json(device);
    ++place;
  }
}

std::uint64_t MergedDocument::end_rank() {
  const std::uint64_t events = events_;
  const auto describe = [&](const std::string& pid, const char* what, const std::string& value) {
    add_line(
        fmt::format(R"({{"ph":"M","ts":0,"pid":{},"tid":0,"name":"{}","args":{{{}}}}})", pid, what, value));
  };
  for (const auto& [pid, process] : processes_) {
    if (!process.is_named) describe(pid, "process_name", fmt::format("\"name\":\"rank {}\"", remap_.rank));
    if (!process.is_sorted)
      describe(pid, "process_sort_index",
               fmt::format("\"sort_index\":{}", readers::remapped_sort_index(remap_, std::nullopt)));
  }
  members_ += member_ + "}";
  return events;
}

void MergedDocument::add_arrow(std::int64_t id, const std::string& name, const ArrowEnd& from,
                               const ArrowEnd& to) {
  const auto end = [&](const char* phase, const ArrowEnd& at, const char* more) {
    add_line(fmt::format(R"({{"ph":"{}","ts":{},"pid":{},"tid":{},"cat":"collective","name":{},"id":{}{}}})",
                         phase, microseconds(at.at_ns), at.process, at.thread, json_text(name), id, more));
  };
  end("s", from, "");
  // Binds the arrow to the enclosing event.
  end("f", to, R"(,"bp":"e")");
}

void MergedDocument::finish() {
  write_("\n]");
  if (!devices_.empty()) write_(",\n\"deviceProperties\":[" + devices_ + "]");
  write_(members_ + "}\n");
}

/// Of a rank's corrected times.
std::int64_t zero_of(const RankClock& clock) {
  return clock.base_ns - clock.offset_ns;
}

/// The earliest: viewers reject negative times.
std::int64_t common_base(const JobClocks& job) {
  for (const RankClock& clock : job.ranks) {
    if (clock.offset_ns > readers::kMaxNs || clock.offset_ns < -readers::kMaxNs)
      throw Error(fmt::format(
          "the clock of {} differs by decades from those of the other ranks: are they from one job?",
          clock.facts.source));
  }
  const auto [first, last] = std::ranges::minmax_element(job.ranks, {}, zero_of);
  const auto apart = static_cast<double>(zero_of(*last)) - static_cast<double>(zero_of(*first));
  if (apart > static_cast<double>(readers::kMaxNs) || std::abs(zero_of(*first)) > readers::kMaxNs)
    throw Error(fmt::format("the clocks of {} and {} differ by decades: are they from one job?",
                            first->facts.source, last->facts.source));
  return zero_of(*first);
}

std::vector<readers::RankRemap> remaps_of(const JobClocks& job, std::int64_t base_ns) {
  // Viewers take 32-bit process ids.
  const auto ranks = static_cast<std::int64_t>(job.ranks.size());
  const std::int64_t process_stride =
      std::min(readers::RankRemap().process_stride, std::numeric_limits<std::int32_t>::max() / ranks);
  std::int64_t device_stride = readers::RankRemap().device_stride;
  for (const RankClock& clock : job.ranks) {
    while (device_stride <= clock.last_device) device_stride *= 10;
  }
  std::vector<readers::RankRemap> remaps;
  for (const RankClock& clock : job.ranks) {
    remaps.push_back(
        {clock.rank, std::ssize(remaps), zero_of(clock) - base_ns, process_stride, device_stride});
  }
  return remaps;
}

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

MergedRank write_rank(const RankClock& clock, const readers::RankRemap& remap, Reading& reading,
                      MergedDocument& document) {
  document.begin_rank(remap, clock.facts.source, -clock.offset_ns);
  const readers::RewriteSink sink{
      [&](std::string_view lines) { document.add_events(lines); },
      [&](std::string_view name, std::string_view json) { document.add_member(name, json); }, &remap,
      [&](std::span<const readers::RewrittenProcess> processes) { document.add_processes(processes); }};
  MergedRank rank{facts_of(rewrite(clock.file, sink, reading.options())), clock.rank, -clock.offset_ns,
                  clock.matched, 0};
  if (rank.facts.json_bytes != clock.facts.json_bytes)
    throw Error(clock.facts.source + " changed while it was read: merge the traces after they are written");
  rank.events_written = document.end_rank();
  reading.finish_file(clock.facts.file_bytes);
  return rank;
}

/// Writes ids like the rewriter, as the reader does not distinguish numbers from text.
std::string thread_json(const std::string& tid) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(tid.data(), tid.data() + tid.size(), number);
  std::string json;
  if (error == std::errc{} && end == tid.data() + tid.size()) {
    readers::append_clean_scalar(tid, json);
  } else {
    append_json_string(json, tid);
  }
  return json;
}

class Arrows {
 public:
  Arrows(const JobClocks& job, std::span<const readers::RankRemap> remaps) : job_(job), marks_(remaps) {
    for (const RankClock& clock : job.ranks) offsets_.push_back(static_cast<double>(clock.offset_ns));
  }

  std::uint64_t draw(MergedDocument& document) const {
    const std::int64_t first = std::ssize(marks_) * readers::kRankIdStride;
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
  /// The kernel's start, but at least `least`, where it waits for the other end.
  ArrowEnd end_in(const Part& part, std::int64_t least) const {
    const RankClock& clock = job_.ranks[part.rank];
    const auto call = static_cast<std::size_t>(part.call - clock.calls.data());
    const Thread& thread = clock.threads[clock.call_threads[call]];
    ArrowEnd end{"", thread_json(thread.tid), 0};
    readers::append_process(marks_[part.rank], thread.pid, end.process);
    // Call times include the file's base.
    end.at_ns = std::max(part.call->start_ns - clock.base_ns + marks_[part.rank].shift_ns, least);
    return end;
  }

  const JobClocks& job_;
  std::span<const readers::RankRemap> marks_;
  std::vector<double> offsets_;
};

}  // namespace

RankClock rank_clock(const Trace& trace) {
  RankClock clock;
  clock.facts = facts_of(trace);
  clock.base_ns = trace.base_time_ns;
  clock.impossible = impossible_events_kept(trace);
  clock.calls = TraceIndex(trace).calls();
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

MergedTrace merge_traces(std::span<const std::filesystem::path> files, const WriteText& write,
                         const FilesOptions& how) {
  if (files.size() < 2)
    throw Error(
        "cannot merge a single trace: give those of several ranks (headroom trace convert rewrites one)");
  JobClocks job = job_clocks(files, how);
  for (const RankClock& clock : job.ranks) {
    for (const std::string& text : clock.impossible)
      job.notes.push_back(fmt::format("rank {}: {}", clock.rank, text));
  }
  const std::int64_t base_ns = common_base(job);
  const std::vector<readers::RankRemap> remaps = remaps_of(job, base_ns);
  MergedDocument document(write, base_ns);
  MergedTrace merged;
  Reading reading(job, how);
  for (std::size_t i = 0; i < job.ranks.size(); ++i)
    merged.ranks.push_back(write_rank(job.ranks[i], remaps[i], reading, document));
  merged.arrows = Arrows(job, remaps).draw(document);
  document.finish();
  merged.notes = std::move(job.notes);
  return merged;
}

DataTable clock_table(const MergedTrace& merged) {
  DataTable table{"clocks",
                  "clock shift of each rank",
                  {Column::count("rank"), Column::text("file"), Column::time("moved_ns", "moved by"),
                   Column::count("collectives"), Column::count("events")}};
  for (const MergedRank& rank : merged.ranks) {
    table.rows.push_back({rank.rank, rank.facts.source, rank.moved_ns,
                          static_cast<std::int64_t>(rank.collectives),
                          static_cast<std::int64_t>(rank.events_written)});
  }
  return table;
}

}  // namespace headroom::trace

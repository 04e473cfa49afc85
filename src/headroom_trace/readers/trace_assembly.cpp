// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/readers/trace_assembly.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <new>
#include <optional>
#include <utility>

#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom_trace/columns/trace_facts.h"
#include "headroom_trace/json/json_text.h"
#include "headroom_trace/readers/device_timelines.h"
#include "headroom_trace/readers/event_fields.h"

namespace headroom::trace::readers {
namespace {

constexpr std::size_t kPage = 4096;

/// Large pages: one fault instead of 512.
template <typename Value>
void make_room(std::vector<Value>& column, std::size_t rows) {
  if (rows <= column.capacity()) return;
  column.reserve(rows);
  const auto start = reinterpret_cast<std::uintptr_t>(column.data());
  const std::uintptr_t first = (start + kPage - 1) / kPage * kPage;
  const std::uintptr_t end = (start + column.capacity() * sizeof(Value)) / kPage * kPage;
  constexpr std::size_t kWorthIt = std::size_t{8} << 20;
  if (end > first + kWorthIt)  // NOLINTNEXTLINE(performance-no-int-to-ptr)
    static_cast<void>(::madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE));
}

template <typename Value>
void keep_rows(std::vector<Value>& column, const std::vector<bool>& is_dropped) {
  std::size_t kept = 0;
  for (std::size_t row = 0; row < column.size(); ++row) {
    if (!is_dropped[row]) column[kept++] = column[row];
  }
  column.resize(kept);
}

template <typename Detail>
void keep_details(std::vector<Detail>& details, const std::vector<std::uint32_t>& new_rows, Events& events) {
  std::size_t kept = 0;
  for (const Detail& detail : details) {
    const std::uint32_t row = new_rows[detail.event];
    if (row == kNone) continue;
    details[kept] = detail;
    details[kept].event = row;
    events.detail[row] = static_cast<std::uint32_t>(kept++);
  }
  details.resize(kept);
}

template <typename Value>
void append_column(std::vector<Value>& column, const std::vector<Value>& more) {
  column.insert(column.end(), more.begin(), more.end());
}

std::uint32_t shifted(std::uint32_t row, std::uint32_t first) {
  return row == kNone ? kNone : row + first;
}

template <typename Rows>
std::uint32_t size_of(const Rows& rows) {
  return static_cast<std::uint32_t>(rows.size());
}

void resize(Events& events, std::size_t size) {
  events.start_ns.resize(size);
  events.duration_ns.resize(size);
  events.name.resize(size);
  events.thread.resize(size);
  events.category.resize(size);
  events.correlation.resize(size);
  events.detail.resize(size);
}

/// The first key present; accepts strings.
std::optional<std::int64_t> whole(const Json& object, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    const Json* member = object.find(key);
    if (member == nullptr) continue;
    return parse_integer(member->is_string() ? member->string() : dump_json(*member));
  }
  return std::nullopt;
}

std::string text(const Json& object, const char* key) {
  std::string valid;
  const Json* member = object.find(key);
  if (member != nullptr && member->is_string()) append_valid_utf8(member->string(), valid);
  return valid;
}

/// deviceProperties, or computeProperties of early Kineto.
void read_devices(const Json& list, Trace& trace) {
  for (const Json& entry : list) {
    if (!entry.is_object()) continue;
    const auto number = [&](std::initializer_list<const char*> keys, std::int64_t absent = 0) {
      return static_cast<std::int32_t>(whole(entry, keys).value_or(absent));
    };
    DeviceProperties& device = trace.devices.emplace_back();
    device.id = number({"id"}, static_cast<std::int64_t>(trace.devices.size()) - 1);
    device.name = text(entry, "name");
    device.total_memory_bytes = static_cast<double>(whole(entry, {"totalGlobalMem"}).value_or(0));
    device.multiprocessors = number({"numSms", "multiProcessorCount"});
    device.max_threads_per_multiprocessor =
        number({"maxThreadsPerMultiprocessor", "maxThreadsPerMultiProcessor"});
    device.warp_size = number({"warpSize"}, 32);
  }
}

/// Pools written by headroom for a memory snapshot.
void read_pools(const Json& list, Trace& trace) {
  constexpr std::size_t kMostPools = 4096;
  for (const Json& entry : list) {
    if (!entry.is_object() || trace.memory_pools.size() == kMostPools) continue;
    const auto number = [&](const char* key, std::int64_t most = std::int64_t{1} << 56) {
      return std::clamp<std::int64_t>(whole(entry, {key}).value_or(0), 0, most);
    };
    constexpr std::int64_t kMostDevice = std::numeric_limits<std::int32_t>::max();
    MemoryPool& pool = trace.memory_pools.emplace_back();
    pool.device_type = static_cast<std::int32_t>(number("device_type", kMostDevice));
    pool.device = static_cast<std::int32_t>(number("device", kMostDevice));
    pool.segments = number("segments");
    pool.reserved_bytes = number("reserved_bytes");
    pool.active_bytes = number("active_bytes");
    pool.requested_bytes = number("requested_bytes");
    pool.waiting_bytes = number("waiting_bytes");
    pool.free_whole_bytes = number("free_whole_bytes");
    pool.inactive_split_bytes = number("inactive_split_bytes");
    pool.largest_free_bytes = number("largest_free_bytes");
    pool.out_of_memory = number("out_of_memory");
    pool.wanted_bytes = number("wanted_bytes");
    pool.device_free_bytes = number("device_free_bytes");
    if (const std::string stack = text(entry, "wanted_stack"); !stack.empty())
      pool.wanted_stack = trace.names.intern(stack);
  }
}

void read_distributed(const Json& info, Trace& trace) {
  if (const auto rank = whole(info, {"rank"}); rank && *rank >= 0) trace.rank = rank;
  if (const auto size = whole(info, {"world_size"}); size && *size > 0) trace.world_size = size;
  trace.communication_backend = text(info, "backend");
}

void note_metadata(std::string_view key, const char* what, std::uint64_t offset, Trace& trace) {
  append(trace.problems, {1, 0, {{offset, fmt::format("{} is {}", quote(key), what)}}});
}

std::string dropped_records_text(std::int64_t dropped) {
  return fmt::format(
      "{} {} dropped during recording: GPU work is missing, its times are too short and its gaps too long",
      dropped, dropped == 1 ? "record was" : "records were");
}

/// Growing by copying takes twice the memory, untouched pages nothing.
void make_room(Trace& trace, Needs needs, std::size_t events) {
  constexpr std::size_t kMost = std::size_t{1} << 24;  // limits address space
  const std::size_t rows = std::min(events, kMost);
  try {
    make_room(trace.events.start_ns, rows);
    make_room(trace.events.duration_ns, rows);
    make_room(trace.events.name, rows);
    make_room(trace.events.thread, rows);
    make_room(trace.events.category, rows);
    make_room(trace.events.correlation, rows);
    make_room(trace.events.detail, rows);
    make_room(trace.gpu, rows);
    if (has(needs, Needs::kOpIds)) make_room(trace.ops, rows);
    if (has(needs, Needs::kMemory)) make_room(trace.memory, rows);
    if (has(needs, Needs::kFlows)) make_room(trace.flows, rows);
  } catch (const std::bad_alloc&) {
  }
}

void remove_events(Trace& trace, const std::vector<bool>& is_dropped) {
  Events& events = trace.events;
  std::vector<std::uint32_t> new_rows(events.size(), kNone);
  std::uint32_t next = 0;
  for (std::size_t row = 0; row < new_rows.size(); ++row) {
    if (!is_dropped[row]) new_rows[row] = next++;
  }
  keep_rows(events.start_ns, is_dropped);
  keep_rows(events.duration_ns, is_dropped);
  keep_rows(events.name, is_dropped);
  keep_rows(events.thread, is_dropped);
  keep_rows(events.category, is_dropped);
  keep_rows(events.correlation, is_dropped);
  keep_rows(events.detail, is_dropped);
  keep_details(trace.gpu, new_rows, events);
  keep_details(trace.ops, new_rows, events);
  keep_details(trace.syncs, new_rows, events);
  std::erase_if(trace.precise_times, [&](PreciseTime& time) {
    time.event = new_rows[time.event];
    return time.event == kNone;
  });
}

}  // namespace

bool BeginEndPairs::end(const UnpairedEvent& mark, std::uint32_t thread, NameId name, Events& events,
                        Problems& problems) {
  std::vector<Begin>& stack = open_[thread];
  if (stack.empty()) return false;
  auto match = std::prev(stack.end());
  if (name != kNoName) {
    const auto same = std::find_if(stack.rbegin(), stack.rend(),
                                   [&](const Begin& begin) { return events.name[begin.row] == name; });
    if (same != stack.rend()) {
      match = std::prev(same.base());
    } else {
      append(problems, {1, 0, {{mark.offset, "an E event with another name than the B event that it ends"}}});
    }
  }
  std::int64_t& duration = events.duration_ns[match->row];
  duration = mark.at_ns - events.start_ns[match->row];
  if (duration < 0) {
    append(problems, {1, 0, {{mark.offset, "an E event before its B event; its duration is read as 0"}}});
    duration = 0;
  }
  stack.erase(match);
  return true;
}

std::vector<BeginEndPairs::Begin> BeginEndPairs::open() const {
  std::vector<Begin> all;
  for (const auto& [thread, stack] : open_) all.insert(all.end(), stack.begin(), stack.end());
  std::ranges::sort(all, {}, &Begin::offset);
  return all;
}

void TraceAssembly::append(Batch& batch, Translations& known) {
  learn(batch, known);
  const std::uint32_t first_event = size_of(trace_.events);
  trace_.events_seen += batch.seen;
  trace_.events_skipped_by_need += batch.skipped_by_need;
  trace_.events_without_columns += batch.without_columns;
  readers::append(trace_.problems, std::move(batch.problems));
  append_details(batch, known);
  append_events(batch, known);
  append_others(batch, known);
  append_unpaired(batch, known, first_event);
  append_name_events(batch, known);
  for (const std::uint32_t row : batch.uncategorized) {
    uncategorized_.push_back(first_event + row);
    provisional_.push_back(first_event + row);
  }
  for (PreciseTime time : batch.precise_times) {
    time.event += first_event;
    trace_.precise_times.push_back(time);
  }
}

void TraceAssembly::expect(double share) {
  constexpr double kMargin = 1.25;
  if (has_room_ || share <= 0 || trace_.events_seen == 0) return;
  has_room_ = true;
  make_room(trace_, needs_,
            static_cast<std::size_t>(kMargin * static_cast<double>(trace_.events_seen) / share));
}

void TraceAssembly::learn(const Batch& batch, Translations& known) {
  known.texts.learn(batch.new_texts);
  known.json.learn(batch.new_json);
  append_column(known.thread_keys, batch.new_threads);
  known.thread_rows.resize(known.thread_keys.size(), kNone);
}

void TraceAssembly::append_events(const Batch& batch, Translations& known) {
  Events& events = trace_.events;
  const auto first_gpu = static_cast<std::uint32_t>(trace_.gpu.size() - batch.gpu.size());
  const auto first_op = static_cast<std::uint32_t>(trace_.ops.size() - batch.ops.size());
  const auto first_sync = static_cast<std::uint32_t>(trace_.syncs.size() - batch.syncs.size());
  std::size_t at = events.size();
  resize(events, at + batch.events.size());
  for (const EventRow& row : batch.events) {
    events.start_ns[at] = row.start_ns;
    events.duration_ns[at] = row.duration_ns;
    events.name[at] = known.texts.translate(row.name, trace_.names);
    events.thread[at] = thread_row(row.thread, known);
    events.category[at] = row.category;
    events.correlation[at] = row.correlation;
    const std::uint32_t first = is_gpu_work(row.category)            ? first_gpu
                                : row.category == Category::kGpuSync ? first_sync
                                                                     : first_op;
    events.detail[at++] = shifted(row.detail, first);
  }
}

void TraceAssembly::append_details(const Batch& batch, Translations& known) {
  const std::uint32_t first_event = size_of(trace_.events);
  const std::uint32_t first_collective = size_of(trace_.collectives);
  const auto text = [&](NameId id) { return known.texts.translate(id, trace_.names); };
  const auto json = [&](NameId id) { return known.json.translate(id, trace_.names); };
  for (GpuDetail detail : batch.gpu) {
    detail.event += first_event;
    detail.collective = shifted(detail.collective, first_collective);
    trace_.gpu.push_back(detail);
  }
  for (OpDetail detail : batch.ops) {
    detail.event += first_event;
    detail.collective = shifted(detail.collective, first_collective);
    detail.dims = json(detail.dims);
    detail.types = json(detail.types);
    detail.strides = json(detail.strides);
    detail.values = json(detail.values);
    detail.stack = text(detail.stack);
    trace_.ops.push_back(detail);
  }
  for (SyncDetail detail : batch.syncs) {
    detail.event += first_event;
    detail.kind = text(detail.kind);
    trace_.syncs.push_back(detail);
  }
  for (Collective collective : batch.collectives) {
    collective.name = text(collective.name);
    collective.group = text(collective.group);
    collective.ranks = text(collective.ranks);
    collective.dtype = text(collective.dtype);
    trace_.collectives.push_back(collective);
  }
}

void TraceAssembly::append_others(const Batch& batch, Translations& known) {
  for (MemoryEvent event : batch.memory) {
    event.thread = thread_row(event.thread, known);
    event.stack = known.texts.translate(event.stack, trace_.names);
    trace_.memory.push_back(event);
  }
  for (Flow flow : batch.flows) {
    flow.thread = thread_row(flow.thread, known);
    flow.category = known.texts.translate(flow.category, trace_.names);
    trace_.flows.push_back(flow);
  }
}

void TraceAssembly::append_unpaired(const Batch& batch, Translations& known, std::uint32_t first_event) {
  for (const UnpairedEvent& mark : batch.marks) {
    const std::uint32_t thread = thread_row(mark.thread, known);
    if (mark.row != kNone) {
      pairs_.begin(first_event + mark.row, thread, mark.offset);
      provisional_.push_back(first_event + mark.row);
      continue;
    }
    const NameId name = known.texts.translate(mark.name, trace_.names);
    if (pairs_.end(mark, thread, name, trace_.events, trace_.problems)) {
      ++trace_.events_without_columns;
    } else {
      readers::append(trace_.problems, {1, 1, {{mark.offset, "an E event without a B event before it"}}});
    }
  }
}

void TraceAssembly::append_name_events(const Batch& batch, Translations& known) {
  for (const NameEvent& naming : batch.name_events) {
    const std::string text(trace_.names[known.texts.translate(naming.text, trace_.names)]);
    if (naming.what == NameEvent::What::kThread) {
      trace_.threads[thread_row(naming.thread, known)].thread_name = text;
      continue;
    }
    const std::string pid = known.texts.meaning(split_key(known.thread_keys[naming.thread]).pid);
    if (naming.what == NameEvent::What::kProcess) {
      process_names_[pid] = text;
    } else if (std::string& labels = process_labels_[pid]; labels.find(text) == std::string::npos) {
      labels += (labels.empty() ? "" : ", ") + text;
    }
  }
}

std::uint32_t TraceAssembly::thread_row(std::uint32_t local, Translations& known) {
  std::uint32_t& row = known.thread_rows[local];
  if (row != kNone) return row;
  const ThreadKey key = split_key(known.thread_keys[local]);
  Thread thread{known.texts.meaning(key.pid), known.texts.meaning(key.tid), "", "", ""};
  const auto [entry, is_new] =
      thread_rows_.emplace(thread.pid + '\x1f' + thread.tid, size_of(trace_.threads));
  if (is_new) trace_.threads.push_back(std::move(thread));
  return row = entry->second;
}

void TraceAssembly::finish() {
  name_threads();
  categorize_by_timeline(trace_, uncategorized_);
  follow_launch_arrows(trace_);
  trace_.writer = writer_of(trace_);
  drop_rows();
  add_base_time();
  std::ranges::stable_sort(trace_.problems.first, {}, &Problem::offset);
  if (trace_.problems.first.size() > Problems::kShown) trace_.problems.first.resize(Problems::kShown);
}

void TraceAssembly::name_threads() {
  for (Thread& thread : trace_.threads) {
    if (const auto name = process_names_.find(thread.pid); name != process_names_.end())
      thread.process_name = name->second;
    if (const auto labels = process_labels_.find(thread.pid); labels != process_labels_.end())
      thread.process_labels = labels->second;
  }
}

void TraceAssembly::drop_rows() {
  std::vector<bool> is_dropped(provisional_.empty() ? 0 : trace_.events.size());
  bool any = false;
  for (const BeginEndPairs::Begin& begin : pairs_.open()) {
    any = is_dropped[begin.row] = true;
    ++trace_.problems.count;
    ++trace_.problems.events_skipped;
    trace_.problems.first.push_back({begin.offset, "a B event without an E event after it"});
  }
  for (const std::uint32_t row : provisional_) {
    if (is_dropped[row] || has(needs_, need_of(trace_.events.category[row]))) continue;
    any = is_dropped[row] = true;
    ++trace_.events_skipped_by_need;
  }
  if (any) remove_events(trace_, is_dropped);
}

void TraceAssembly::add_base_time() {
  // Cannot overflow (json_text.h).
  const std::int64_t base = trace_.base_time_ns;
  if (base == 0) return;
  for (std::int64_t& start : trace_.events.start_ns) start += base;
  for (MemoryEvent& event : trace_.memory) event.at_ns += base;
  for (Flow& flow : trace_.flows) flow.at_ns += base;
}

bool is_metadata_key(std::string_view key) {
  return key == "deviceProperties" || key == "computeProperties" || key == "distributedInfo" ||
         key == "baseTimeNanoseconds" || key == "schemaVersion" || key == "dropped_records" ||
         key == "memory_pools";
}

void read_metadata(std::string_view key, std::string_view value, std::uint64_t offset, Trace& trace) {
  const auto report_problem = [&](const char* what) { note_metadata(key, what, offset, trace); };
  if (key == "schemaVersion") {
    trace.schema_version = parse_integer(value);
  } else if (key == "dropped_records") {
    const auto dropped = parse_integer(value);
    if (!dropped || *dropped < 0) return report_problem("not a number of records; left out");
    if (*dropped > 0) append(trace.problems, {1, 0, {{offset, dropped_records_text(*dropped)}}});
  } else if (key == "baseTimeNanoseconds") {
    const auto base = parse_integer(value);
    if (!base || *base > kMaxNs || *base < -kMaxNs) return report_problem("not a time; times have no base");
    trace.base_time_ns = *base;
  } else {
    if (!is_json(value)) return report_problem("not JSON; left out");
    take_metadata(key, parse_json(value, trace.source), offset, trace);
  }
}

void take_metadata(std::string_view key, const Json& value, std::uint64_t offset, Trace& trace) {
  if (key == "distributedInfo" && value.is_object()) return read_distributed(value, trace);
  if (key == "memory_pools" && value.is_array()) return read_pools(value, trace);
  if (key != "distributedInfo" && value.is_array()) return read_devices(value, trace);
  note_metadata(key, key == "distributedInfo" ? "not an object; left out" : "not an array; left out", offset,
                trace);
}

void read_rank_from_name(Trace& trace) {
  if (!trace.rank) trace.rank = rank_in_name(trace.source);
}

}  // namespace headroom::trace::readers

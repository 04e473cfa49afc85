// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/trace_assembly.h"

#include <algorithm>
#include <utility>

#include "headroom/trace/readers/categories.h"
#include "headroom/trace/readers/column_room.h"
#include "headroom/trace/readers/json_text.h"
#include "headroom/trace/readers/row_removal.h"
#include "headroom/trace/readers/viewer_timelines.h"

namespace headroom::trace::readers {
namespace {

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

}  // namespace

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
  append_marks(batch, known, first_event);
  append_namings(batch, known);
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
  // A little more than the first events make likely.
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
  // The details of this batch are in place already.
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

void TraceAssembly::append_marks(const Batch& batch, Translations& known, std::uint32_t first_event) {
  for (const Mark& mark : batch.marks) {
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

void TraceAssembly::append_namings(const Batch& batch, Translations& known) {
  for (const Naming& naming : batch.namings) {
    const std::string text(trace_.names[known.texts.translate(naming.text, trace_.names)]);
    if (naming.what == Naming::What::kThread) {
      trace_.threads[thread_row(naming.thread, known)].thread_name = text;
      continue;
    }
    const std::string pid = clean_text(split_key(known.thread_keys[naming.thread]).pid).text;
    if (naming.what == Naming::What::kProcess) {
      process_names_[pid] = text;
    } else if (std::string& labels = process_labels_[pid]; labels.find(text) == std::string::npos) {
      // A process may have several.
      labels += (labels.empty() ? "" : ", ") + text;
    }
  }
}

std::uint32_t TraceAssembly::thread_row(std::uint32_t local, Translations& known) {
  std::uint32_t& row = known.thread_rows[local];
  if (row != kNone) return row;
  const ThreadKey key = split_key(known.thread_keys[local]);
  Thread thread{clean_text(key.pid).text, clean_text(key.tid).text, "", "", ""};
  const auto [entry, is_new] =
      thread_rows_.emplace(thread.pid + '\x1f' + thread.tid, size_of(trace_.threads));
  if (is_new) trace_.threads.push_back(std::move(thread));
  return row = entry->second;
}

void TraceAssembly::finish() {
  name_threads();
  categorize_by_timeline(trace_, uncategorized_);
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
  // Both are within their limits (json_text.h), so that no sum leaves 64 bits.
  const std::int64_t base = trace_.base_time_ns;
  if (base == 0) return;
  for (std::int64_t& start : trace_.events.start_ns) start += base;
  for (MemoryEvent& event : trace_.memory) event.at_ns += base;
  for (Flow& flow : trace_.flows) flow.at_ns += base;
}

}  // namespace headroom::trace::readers

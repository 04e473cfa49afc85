// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/event_reader.h"

#include <fmt/format.h>

#include "headroom/base/text.h"
#include "headroom/trace/readers/categories.h"

namespace headroom::trace {
namespace {

/// A value in a message: enough of it to be found again.
std::string shown(Raw value) {
  constexpr std::size_t kMost = 60;
  const std::string_view text = without_quotes(value);
  return in_quotes(text.substr(0, kMost)) + (text.size() > kMost ? "..." : "");
}

/// Instants, counters, asynchronous events, objects, marks, memory dumps, contexts, clocks: the phases of the
/// format that no column holds.
bool is_known_phase(char phase) {
  return std::string_view("iIRCbneSTpFtNODPvVc(),M").find(phase) != std::string_view::npos;
}

}  // namespace

bool EventReader::read(Walk& walk, std::uint64_t offset, Batch& batch) {
  fields_ = {};
  if (!walk_event(walk, fields_)) return false;
  offset_ = offset;
  const Raw phase = without_quotes(fields_.phase);
  phase_ = phase.empty() ? '\0' : phase.front();
  has_category_ = !fields_.category.empty();
  category_ = has_category_ ? category_of(without_quotes(fields_.category)) : Category::kOther;
  arguments_.clear();
  if (wants_arguments() && !arguments_.read(fields_.arguments)) return false;
  ++batch.seen;
  if (phase.size() > 1)
    batch.add_problem(offset_,
                      fmt::format("a phase of more than one letter, {}, read as its first", shown(phase)));
  add_event(batch);
  return true;
}

void EventReader::explain(Batch& batch) {
  tables_.texts.take_new(batch.new_texts);
  tables_.json.take_new(batch.new_json);
  tables_.threads.take_new(batch.new_threads);
}

bool EventReader::wants_arguments() const {
  switch (phase_) {
    case 'X':
    case 'B':
      // Those without a category may turn out to be work of a device.
      return !has_category_ || (category_ <= Category::kUserAnnotation &&
                                category_ != Category::kGpuAnnotation && has(needs_, need_of(category_)));
    case 'M':
      return true;
    case 'i':
    case 'I':
      return has(needs_, Needs::kMemory);
    default:
      return false;
  }
}

void EventReader::add_event(Batch& batch) {
  switch (phase_) {
    case 'X':
      return add_complete(batch);
    case 'B':
      return add_begin(batch);
    case 'E':
      return add_end(batch);
    case 'i':
    case 'I':
      return add_instant(batch);
    case 's':
    case 'f':
      return add_flow(phase_ == 's', batch);
    case 'M':
      return add_naming(batch);
    case '\0':
      return batch.skip_event(offset_, "an event without a phase (ph)");
    default:
      if (is_known_phase(phase_)) {
        ++batch.without_columns;
      } else {
        batch.skip_event(offset_, fmt::format("an unknown phase (ph): {}", shown(fields_.phase)));
      }
  }
}

/// Steps and data loading are asked for always, as annotations are; Kineto once wrote them as operators.
bool EventReader::is_annotation_of_old_kineto() const {
  if (category_ != Category::kCpuOp || without_quotes(fields_.category) != "Operator") return false;
  const std::string_view name = without_quotes(fields_.name);
  return name.starts_with("ProfilerStep#") || name.starts_with("enumerate(DataLoader)");
}

void EventReader::add_complete(Batch& batch) {
  // What has no category may turn out to be work of a device: that is known when all threads have names.
  if (has_category_ && !has(needs_, need_of(category_)) && !is_annotation_of_old_kineto()) {
    ++batch.skipped_by_need;
    return;
  }
  const auto at = start(batch);
  if (!at) return;
  const std::uint32_t row = add_row(*at, duration(batch), batch);
  if (!has_category_) batch.uncategorized.push_back(row);
}

void EventReader::add_begin(Batch& batch) {
  const auto at = start(batch);
  if (!at) return;
  const std::uint32_t row = add_row(*at, 0, batch);
  if (!has_category_) batch.uncategorized.push_back(row);
  batch.marks.push_back({offset_, *at, row, batch.events.thread[row], batch.events.name[row]});
}

void EventReader::add_end(Batch& batch) {
  const auto at = start(batch);
  if (!at) return;
  const NameId own = fields_.name.empty() ? kNoName : name(batch);
  batch.marks.push_back({offset_, *at, kNone, thread(), own});
}

void EventReader::add_instant(Batch& batch) {
  if (without_quotes(fields_.name) != "[memory]") {
    ++batch.without_columns;
    return;
  }
  if (!has(needs_, Needs::kMemory)) {
    ++batch.skipped_by_need;
    return;
  }
  const auto at = start(batch);
  if (!at) return;
  MemoryEvent event{.at_ns = *at};
  event.device_type = whole<std::int32_t>(Argument::kDeviceType, -1);
  event.device = whole<std::int32_t>(Argument::kDeviceId, -1);
  event.bytes = whole<std::int64_t>(Argument::kBytes, 0);
  event.address = whole<std::int64_t>(Argument::kAddress, 0);
  event.total_allocated = whole<std::int64_t>(Argument::kTotalAllocated, -1);
  event.total_reserved = whole<std::int64_t>(Argument::kTotalReserved, -1);
  batch.memory.push_back(event);
}

void EventReader::add_flow(bool is_start, Batch& batch) {
  if (!has(needs_, Needs::kFlows)) {
    ++batch.skipped_by_need;
    return;
  }
  const auto at = start(batch);
  if (!at) return;
  batch.flows.push_back({*at, parse_id(fields_.id), thread(), text(fields_.category, batch), is_start});
}

void EventReader::add_naming(Batch& batch) {
  ++batch.without_columns;
  const std::string_view what = without_quotes(fields_.name);
  if (what == "process_name") {
    batch.namings.push_back({Naming::What::kProcess, thread(), text(arguments_[Argument::kName], batch)});
  } else if (what == "process_labels") {
    batch.namings.push_back({Naming::What::kLabels, thread(), text(arguments_[Argument::kLabels], batch)});
  } else if (what == "thread_name") {
    batch.namings.push_back({Naming::What::kThread, thread(), text(arguments_[Argument::kName], batch)});
  }
}

std::uint32_t EventReader::add_row(std::int64_t start_ns, std::int64_t duration_ns, Batch& batch) {
  Events& events = batch.events;
  const auto row = static_cast<std::uint32_t>(events.size());
  events.start_ns.push_back(start_ns);
  events.duration_ns.push_back(duration_ns);
  events.name.push_back(name(batch));
  events.thread.push_back(thread());
  events.category.push_back(category_);
  events.correlation.push_back(whole<std::int64_t>(Argument::kCorrelation, kNoCorrelation));
  events.detail.push_back(add_detail(row, batch));
  return row;
}

std::optional<std::int64_t> EventReader::start(Batch& batch) {
  const auto at = fields_.ts.empty() ? std::nullopt : parse_microseconds(fields_.ts);
  if (!at) {
    batch.skip_event(offset_, fields_.ts.empty() ? "an event without a time (ts)"
                                                 : fmt::format("ts is not a number: {}", shown(fields_.ts)));
  }
  return at;
}

std::int64_t EventReader::duration(Batch& batch) {
  if (fields_.dur.empty()) {
    batch.add_problem(offset_, "an X event without a duration (dur), read as 0");
    return 0;
  }
  const auto length = parse_microseconds(fields_.dur);
  if (!length || *length < 0) {
    batch.add_problem(offset_, fmt::format("dur is {}: {}, read as 0", length ? "negative" : "not a number",
                                           shown(fields_.dur)));
    return 0;
  }
  return *length;
}

std::uint32_t EventReader::thread() {
  return tables_.threads.intern(without_quotes(fields_.pid), without_quotes(fields_.tid));
}

NameId EventReader::text(Raw value, Batch& batch) {
  const NameId id = tables_.texts.intern(without_quotes(value));
  if (tables_.texts.is_dirty(id)) {
    batch.add_problem(offset_,
                      fmt::format("text with a bad escape or bytes that are no UTF-8: {}", shown(value)));
  }
  return id;
}

NameId EventReader::json(Raw value, Batch& batch) {
  const NameId id = tables_.json.intern(value);
  if (tables_.json.is_dirty(id)) {
    batch.add_problem(offset_, fmt::format("an argument with bytes that are no UTF-8: {}", shown(value)));
  }
  return id;
}

}  // namespace headroom::trace

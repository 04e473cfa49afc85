// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/readers/event_reader.h"

#include <fmt/format.h>

#include <charconv>

namespace headroom::trace::readers {
namespace {

constexpr ArgumentMask kCollectiveArguments =
    mask_of(Argument::kCollectiveName, Argument::kGroupName, Argument::kGroupRanks, Argument::kGroupSize,
            Argument::kDtype, Argument::kElementsIn, Argument::kElementsOut);
constexpr ArgumentMask kGpuArguments =
    mask_of(Argument::kBytes, Argument::kBandwidth, Argument::kBlocksPerSm, Argument::kWarpsPerSm,
            Argument::kOccupancy, Argument::kRegisters, Argument::kGrid, Argument::kBlock);
constexpr ArgumentMask kOpArguments =
    mask_of(Argument::kDims, Argument::kTypes, Argument::kStrides, Argument::kValues, Argument::kStack);

/// Counters, asynchronous events, objects, marks, samples, memory dumps, contexts, clocks.
bool is_without_column(char phase) {
  return phase != '\0' && std::string_view("RCbneSTpFtNODPvVc(),").find(phase) != std::string_view::npos;
}

}  // namespace

ArgumentMask arguments_of(Category category, Needs needs) {
  ArgumentMask wanted = 0;
  switch (category) {
    case Category::kKernel:
    case Category::kGpuMemcpy:
    case Category::kGpuMemset:
      wanted = mask_of(Argument::kCorrelation, Argument::kDevice, Argument::kStream, Argument::kExternalId);
      return has(needs, Needs::kGpuArguments) ? wanted | kGpuArguments | kCollectiveArguments : wanted;
    case Category::kRuntime:
    case Category::kDriver:
      return mask_of(Argument::kCorrelation);
    case Category::kCpuOp:
    case Category::kUserAnnotation:
      if (has(needs, Needs::kOpIds))
        wanted = mask_of(Argument::kExternalId, Argument::kSequence, Argument::kForwardThread);
      return has(needs, Needs::kOpArguments) ? wanted | kOpArguments | kCollectiveArguments : wanted;
    case Category::kGpuSync:
      return mask_of(Argument::kCorrelation, Argument::kSyncKind, Argument::kDevice, Argument::kStream,
                     Argument::kWaitOnStream, Argument::kWaitOnRecord, Argument::kWaitOnEvent);
    case Category::kGpuAnnotation:
    case Category::kPython:
    case Category::kOverhead:
    case Category::kOther:
      break;
  }
  return 0;
}

NameId EventValues::text(Raw value, Batch& batch) {
  const NameId id = tables.texts.intern(without_quotes(value));
  if (tables.texts.is_dirty(id)) {
    batch.add_problem(offset,
                      fmt::format("a string with an invalid escape or invalid UTF-8: {}", shown(value)));
  }
  return id;
}

void read_extent(Raw value, std::uint32_t (&size)[3]) {
  if (value.size() < 2 || value.front() != '[') return;
  const char* at = value.data() + 1;
  const char* const end = value.data() + value.size() - 1;
  for (std::uint32_t& number : size) {
    while (at < end && (*at < '0' || *at > '9')) ++at;
    if (at == end) return;
    at = std::from_chars(at, end, number).ptr;
  }
}

NameId EventValues::json(Argument argument, Batch& batch) {
  const Raw value = arguments[argument];
  const NameId id = tables.json.intern(value);
  if (tables.json.is_dirty(id)) {
    batch.add_problem(offset, fmt::format("an argument with invalid UTF-8: {}", shown(value)));
  }
  return id;
}

EventReader::EventReader(Needs needs) : needs_(needs) {
  for (std::size_t i = 0; i < kCategories; ++i) wanted_[i] = arguments_of(static_cast<Category>(i), needs);
}

Walk EventReader::read(Walk walk, std::uint64_t offset, Batch& batch) {
  if (walk.next_token() == '}') {
    // JAX writes an empty event at the end.
    ++batch.seen;
    ++batch.without_columns;
    return {walk.text, walk.at + 2};
  }
  fields_ = {};
  later_ = {};
  values_.arguments.clear();
  phase_ = '\0';
  category_ = Category::kOther;
  const Walk after = walk_event(walk);
  if (after.at == nullptr) return after;
  values_.offset = offset;
  ++batch.seen;
  if (fields_.phase.size() > 3) batch.add_problem(values_.offset, long_phase_error(fields_.phase));
  add_event(batch);
  return after;
}

Walk EventReader::walk_event(Walk walk) {
  const Walk after = walk_object(walk, [this](Raw key, Walk at) -> AfterMember {
    Raw* const slot = slot_of(fields_, key);
    if (slot == nullptr) return key == "args" ? read_arguments(at) : AfterMember{past_value(at)};
    // The first phase counts.
    if (slot == &fields_.phase && phase_ != '\0') return {past_value(at)};
    at = take_value(at, *slot);
    if (slot == &fields_.phase) {
      const Raw letters = without_quotes(fields_.phase);
      phase_ = letters.empty() ? '\0' : letters.front();
    } else if (slot == &fields_.category) {
      category_ = cached_category();
    } else {
      return {at};
    }
    if (at.at == nullptr || !is_skipped()) return {at};
    return {past_close(at, true, kValue), true};
  });
  if (after.at == nullptr) return after;
  refine_category();
  if (later_.at == nullptr) return after;
  return values_.arguments.read(later_, wanted_arguments()).at == nullptr ? Walk{} : after;
}

AfterMember EventReader::read_arguments(Walk walk) {
  // Usually first.
  const bool is_known = phase_ != '\0' && (phase_ != 'X' || !fields_.category.empty());
  if (is_known) {
    refine_category();
    return {values_.arguments.read(walk, wanted_arguments())};
  }
  later_ = walk;
  return {past_value(walk)};
}

Category EventReader::cached_category() {
  const Raw text = without_quotes(fields_.category);
  if (text.size() != category_size_ || !are_equal(text.data(), category_text_.data(), text.size())) {
    if (text.size() > category_text_.size() - 8) return category_of(text);
    category_size_ = text.copy(category_text_.data(), text.size());
    category_of_text_ = category_of(text);
  }
  return category_of_text_;
}

/// MTIA categorises stream waits as work.
void EventReader::refine_category() {
  if (category_ != Category::kKernel) return;
  const std::string_view name = without_quotes(fields_.name);
  if (name != "event_wait" && name != "event_record") return;
  if (without_quotes(fields_.category) == "mtia_ccp_events") category_ = Category::kGpuSync;
}

void EventReader::flush_tables(Batch& batch) {
  values_.tables.texts.take_new(batch.new_texts);
  values_.tables.json.take_new(batch.new_json);
  values_.tables.threads.take_new(batch.new_threads);
}

/// Whether no column can hold the event. Without a category, thread names decide later.
bool EventReader::is_skipped() const {
  switch (phase_) {
    case 'X':
      return !fields_.category.empty() && !has(needs_, need_of(category_)) && !may_be_old_kineto_annotation();
    case 's':
    case 'f':
      return !has(needs_, Needs::kFlows);
    case 'i':
    case 'I':
      return !has(needs_, Needs::kMemory);
    default:
      return is_without_column(phase_);
  }
}

ArgumentMask EventReader::wanted_arguments() const {
  switch (phase_) {
    case 'X':
    case 'B':
      return fields_.category.empty() ? mask_of(Argument::kCorrelation, Argument::kLabels)
                                      : wanted_[static_cast<std::size_t>(category_)];
    case 'M':
      return mask_of(Argument::kName, Argument::kLabels);
    case 'i':
    case 'I':
      return kMemoryArguments;
    default:
      return 0;
  }
}

void EventReader::add_event(Batch& batch) {
  if (is_skipped()) {
    ++(is_without_column(phase_) ? batch.without_columns : batch.skipped_by_need);
    return;
  }
  switch (phase_) {
    case 'X':
    case 'B':
      return add_duration(batch);
    case 'E':
      return add_end(batch);
    case 'i':
    case 'I':
      return add_instant(batch);
    case 's':
    case 'f':
      return add_flow(batch);
    case 'M':
      return add_name_event(batch);
    default:
      return batch.skip_event(values_.offset, phase_error(fields_.phase));
  }
}

/// Annotations are always kept, but old Kineto writes them as operators.
bool EventReader::may_be_old_kineto_annotation() const {
  if (category_ != Category::kCpuOp || without_quotes(fields_.category) != "Operator") return false;
  const std::string_view name = without_quotes(fields_.name);
  return fields_.name.empty() || name.starts_with("ProfilerStep#") ||
         name.starts_with("enumerate(DataLoader)");
}

void EventReader::add_duration(Batch& batch) {
  const auto at = start(batch);
  if (!at) return;
  const auto row = static_cast<std::uint32_t>(batch.events.size());
  EventRow event;
  event.start_ns = *at;
  if (phase_ == 'X') event.duration_ns = duration(batch);
  values_.take(Argument::kCorrelation, event.correlation);
  event.name = values_.text(fields_.name, batch);
  event.thread = thread();
  event.category = category_;
  event.detail = add_detail(category_, needs_, values_, row, batch);
  batch.events.push_back(event);
  if (fields_.category.empty()) {
    batch.uncategorized.push_back(row);
    if (without_quotes(fields_.name) == "process_labels") add_labels(batch);
  }
  if (has(needs_, Needs::kPreciseTimes)) add_precise_time(row, batch);
  if (phase_ == 'B') batch.marks.push_back({values_.offset, *at, row, event.thread, event.name});
}

void EventReader::add_end(Batch& batch) {
  const auto at = start(batch);
  if (!at) return;
  const NameId own = fields_.name.empty() ? kNoName : values_.text(fields_.name, batch);
  batch.marks.push_back({values_.offset, *at, kNone, thread(), own});
}

void EventReader::add_instant(Batch& batch) {
  if (without_quotes(fields_.name) != "[memory]") {
    ++batch.without_columns;
    return;
  }
  const auto at = start(batch);
  if (!at) return;
  add_memory_event({.at_ns = *at, .thread = thread()}, values_, batch);
}

void EventReader::add_flow(Batch& batch) {
  const auto at = start(batch);
  if (!at) return;
  batch.flows.push_back(
      {*at, parse_id(fields_.id), thread(), values_.text(fields_.category, batch), phase_ == 's'});
}

/// Keeps times with more decimals than nanoseconds.
void EventReader::add_precise_time(std::uint32_t row, Batch& batch) {
  const auto is_rounded = [](Raw value) {
    const Raw text = without_quotes(value);
    const std::size_t point = text.find_first_of(".eE");
    return point != Raw::npos && (text[point] != '.' || text.size() - point > 4);
  };
  if (!is_rounded(fields_.ts) && !is_rounded(fields_.dur)) return;
  batch.precise_times.push_back(
      {row, parse_real(fields_.ts).value_or(0), parse_real(fields_.dur).value_or(0)});
}

void EventReader::add_labels(Batch& batch) {
  batch.name_events.push_back(
      {NameEvent::What::kLabels, thread(), values_.text(values_.arguments[Argument::kLabels], batch)});
}

void EventReader::add_name_event(Batch& batch) {
  ++batch.without_columns;
  const std::string_view what = without_quotes(fields_.name);
  if (what == "process_name") {
    batch.name_events.push_back(
        {NameEvent::What::kProcess, thread(), values_.text(values_.arguments[Argument::kName], batch)});
  } else if (what == "process_labels") {
    add_labels(batch);
  } else if (what == "thread_name") {
    batch.name_events.push_back(
        {NameEvent::What::kThread, thread(), values_.text(values_.arguments[Argument::kName], batch)});
  }
}

std::optional<std::int64_t> EventReader::start(Batch& batch) {
  const auto at = fields_.ts.empty() ? std::nullopt : quick_microseconds(fields_.ts);
  if (!at) batch.skip_event(values_.offset, time_error(fields_.ts));
  return at;
}

std::int64_t EventReader::duration(Batch& batch) {
  const auto length = fields_.dur.empty() ? std::nullopt : quick_microseconds(fields_.dur);
  if (length && *length >= 0) return *length;
  batch.add_problem(values_.offset, duration_error(fields_.dur));
  return 0;
}

std::uint32_t EventReader::thread() {
  return values_.tables.threads.intern(without_quotes(fields_.pid), without_quotes(fields_.tid));
}

}  // namespace headroom::trace::readers

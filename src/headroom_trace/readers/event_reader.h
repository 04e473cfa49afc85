// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "headroom_trace/json/json_text.h"
#include "headroom_trace/readers/batch.h"
#include "headroom_trace/readers/event_details.h"
#include "headroom_trace/readers/event_fields.h"
#include "headroom_trace/readers/read.h"

namespace headroom::trace::readers {

struct EventValues {
  Arguments arguments;
  LocalTables tables;
  std::uint64_t offset = 0;

  NameId text(Raw value, Batch& batch);
  NameId text(Argument argument, Batch& batch) { return text(arguments[argument], batch); }
  NameId json(Argument argument, Batch& batch);

  bool has(Argument argument) const { return arguments.has(argument); }
  bool has_text(Argument argument) const { return !without_quotes(arguments[argument]).empty(); }
  void extent(Argument argument, std::uint32_t (&size)[3]) const { read_extent(arguments[argument], size); }

  /// Keeps `number` if the argument is absent or unreadable.
  template <typename Number>
  void take(Argument argument, Number& number) const {
    if (!has(argument)) return;
    if constexpr (std::is_integral_v<Number>) {
      if (const auto whole = quick_integer(arguments[argument])) number = static_cast<Number>(*whole);
    } else {
      if (const auto real = parse_real(arguments[argument])) number = static_cast<Number>(*real);
    }
  }
};

inline constexpr std::size_t kCategories = static_cast<std::size_t>(Category::kOther) + 1;

/// Reads events into batches. One per reading thread.
class EventReader {
 public:
  explicit EventReader(Needs needs);

  /// Reads the event at `offset` in the file. Returns the walk after it; a broken walk, adding nothing, if it
  /// is not an object.
  Walk read(Walk walk, std::uint64_t offset, Batch& batch);

  /// Sets the stack (JSON text) of the batch's last allocation.
  void add_stack(Raw stack, Batch& batch) { batch.memory.back().stack = values_.text(stack, batch); }

  /// Adds new table entries; call before handing the batch on.
  void flush_tables(Batch& batch);

 private:
  Walk walk_event(Walk walk);
  AfterMember read_arguments(Walk walk);
  Category cached_category();
  void refine_category();
  bool is_skipped() const;
  ArgumentMask wanted_arguments() const;

  bool may_be_old_kineto_annotation() const;
  void add_event(Batch& batch);
  void add_duration(Batch& batch);
  void add_end(Batch& batch);
  void add_instant(Batch& batch);
  void add_flow(Batch& batch);
  void add_name_event(Batch& batch);
  void add_labels(Batch& batch);
  void add_precise_time(std::uint32_t row, Batch& batch);

  /// Returns nothing, counting the event as skipped, if unreadable.
  std::optional<std::int64_t> start(Batch& batch);
  std::int64_t duration(Batch& batch);
  std::uint32_t thread();

  Needs needs_;
  std::array<ArgumentMask, kCategories> wanted_;
  /// Cache: adjacent events mostly share it.
  std::array<char, 40> category_text_{};
  std::size_t category_size_ = 0;
  Category category_of_text_ = Category::kOther;
  // Current event.
  EventFields fields_;
  EventValues values_;
  Walk later_;  ///< arguments seen too early
  char phase_ = 0;
  Category category_ = Category::kOther;
};

}  // namespace headroom::trace::readers

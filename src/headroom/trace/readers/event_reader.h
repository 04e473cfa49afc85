// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "headroom/trace/readers/event_fields.h"
#include "headroom/trace/readers/event_values.h"
#include "headroom/trace/readers/read.h"

namespace headroom::trace::readers {

inline constexpr std::size_t kCategories = static_cast<std::size_t>(Category::kOther) + 1;

inline constexpr ArgumentMask kMemoryArguments =
    mask_of(Argument::kDeviceType, Argument::kDeviceId, Argument::kBytes, Argument::kAddress,
            Argument::kTotalAllocated, Argument::kTotalReserved, Argument::kStack);

/// Turns the tokens of events into rows of a batch. One for each reading thread.
class EventReader {
 public:
  explicit EventReader(Needs needs);

  /// Reads the event whose { the walk is on; `offset` is its place in the file. Gives the walk after it; a
  /// broken one, with nothing added to the batch, when its tokens make no object.
  Walk read(Walk walk, std::uint64_t offset, Batch& batch);

  /// Gives the last allocation of the batch its stack, a JSON text.
  void add_stack(Raw stack, Batch& batch) { batch.memory.back().stack = values_.text(stack, batch); }

  /// Before a batch is handed on: says what its numbers stand for.
  void explain(Batch& batch);

 private:
  Walk walk_event(Walk walk);
  AfterMember read_arguments(Walk walk);
  Category cached_category();
  bool is_skipped() const;
  /// Arguments of the event at hand that some column holds.
  ArgumentMask wanted_arguments() const;

  bool may_be_annotation_of_old_kineto() const;
  void add_event(Batch& batch);
  void add_duration(Batch& batch);
  void add_end(Batch& batch);
  void add_instant(Batch& batch);
  void add_flow(Batch& batch);
  void add_naming(Batch& batch);
  void add_labels(Batch& batch);
  void add_precise_time(std::uint32_t row, Batch& batch);

  /// The time of the event; nothing, and the event counted as skipped, when there is none that can be read.
  std::optional<std::int64_t> start(Batch& batch);
  std::int64_t duration(Batch& batch);
  std::uint32_t thread();

  Needs needs_;
  std::array<ArgumentMask, kCategories> wanted_;
  /// The last "cat" and what it is: neighbours mostly share it.
  std::array<char, 40> category_text_{};
  std::size_t category_size_ = 0;
  Category category_of_text_ = Category::kOther;
  // The event at hand.
  EventFields fields_;
  EventValues values_;
  Walk later_;  ///< at arguments that came before it was known which of them are wanted
  char phase_ = 0;
  Category category_ = Category::kOther;
};

}  // namespace headroom::trace::readers

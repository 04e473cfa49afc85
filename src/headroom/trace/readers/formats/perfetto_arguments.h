// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/trace/columns/trace.h"
#include "headroom/trace/readers/formats/perfetto_sequence.h"
#include "headroom/trace/readers/formats/perfetto_tracks.h"
#include "headroom/trace/readers/json_members.h"

namespace headroom::trace::readers {

/// A TrackEvent with the names that its sequence has for its numbers. Texts are good as long as packet and
/// sequence.
struct PerfettoEvent {
  enum Type : std::uint8_t { kUnknown, kBegin, kEnd, kInstant, kCounter, kComplete };

  /// Takes the place of what it was before.
  void read(std::string_view bytes, const PerfettoSequence& sequence);

  Type type = kUnknown;
  std::uint64_t track = 0;
  std::string_view name, category_text;
  std::int64_t duration_ns = 0;  ///< of kComplete, from the days before there were slices
  std::optional<std::int64_t> delta_us, absolute_us;
  JsonMembers arguments;  ///< by Kineto's names
  bool is_whole = false;

  /// By its categories where any is known (kineto's, rocprofv3's), else by what is known of it: kineto writes
  /// none.
  Category category(const PerfettoTrack& on) const;
  /// arguments.text() with what the category and the track add: an external id, device and stream.
  std::string arguments_of(Category category, const PerfettoTrack& on) const;
  /// An allocation.
  bool is_memory() const;

  /// What kineto writes of the trace as instants.
  template <typename Use>
  void each_metadata(Use use) const {
    for (const auto& [key, value] : texts_) {
      if (name == "trace_metadata") use(key, value);
      if (name == "device_properties" && key == "properties")
        use("deviceProperties", value.starts_with('[') ? std::string(value) : '[' + std::string(value) + ']');
    }
  }

 private:
  /// Whether an argument is there, under Kineto's name.
  bool has(std::string_view key) const { return arguments.has(key) || has_key(metadata_, key); }
  bool is_operator() const;
  void read_annotation(std::string_view bytes, const PerfettoSequence& sequence);
  void read_legacy(std::string_view bytes, const PerfettoSequence& sequence);

  std::vector<std::pair<std::string_view, std::string_view>> texts_;
  std::string_view metadata_;  ///< members of JSON: what kineto has in "args", read where it is needed
};

}  // namespace headroom::trace::readers

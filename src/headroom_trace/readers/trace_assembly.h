// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "headroom/base/json.h"
#include "headroom_trace/columns/trace.h"
#include "headroom_trace/readers/batch.h"
#include "headroom_trace/readers/read.h"

namespace headroom::trace::readers {

/// Pairs B and E per thread in file order: an E ends the innermost open B of its name, else the innermost B.
class BeginEndPairs {
 public:
  void begin(std::uint32_t row, std::uint32_t thread, std::uint64_t offset) {
    open_[thread].push_back({row, offset});
  }
  /// Returns false if no B is open.
  bool end(const UnpairedEvent& mark, std::uint32_t thread, NameId name, Events& events, Problems& problems);

  struct Begin {
    std::uint32_t row = 0;
    std::uint64_t offset = 0;
  };
  std::vector<Begin> open() const;

 private:
  std::unordered_map<std::uint32_t, std::vector<Begin>> open_;  ///< innermost last
};

/// Joins batches in file order.
class TraceAssembly {
 public:
  TraceAssembly(Trace& trace, Needs needs) : trace_(trace), needs_(needs) {}

  /// `known` belongs to the batch's reading thread.
  void append(Batch& batch, Translations& known);
  /// Reserves capacity, given that `share` (0..1) has been appended.
  void expect(double share);
  /// Takes only new table entries, which later batches need.
  static void learn(const Batch& batch, Translations& known);

  /// Call after the last batch.
  void finish();

 private:
  void append_events(const Batch& batch, Translations& known);
  void append_details(const Batch& batch, Translations& known);
  void append_others(const Batch& batch, Translations& known);
  void append_unpaired(const Batch& batch, Translations& known, std::uint32_t first_event);
  void append_name_events(const Batch& batch, Translations& known);
  std::uint32_t thread_row(std::uint32_t local, Translations& known);
  void name_threads();
  void drop_rows();
  void add_base_time();

  Trace& trace_;
  Needs needs_;
  bool has_room_ = false;
  std::unordered_map<std::string, std::uint32_t> thread_rows_;
  BeginEndPairs pairs_;
  std::vector<std::uint32_t> provisional_;
  std::vector<std::uint32_t> uncategorized_;
  std::unordered_map<std::string, std::string> process_names_, process_labels_;
};

/// Whether a top-level member describes the trace.
bool is_metadata_key(std::string_view key);

/// Reports faults as problems. `offset`: position in the file.
void read_metadata(std::string_view key, std::string_view value, std::uint64_t offset, Trace& trace);
void take_metadata(std::string_view key, const Json& value, std::uint64_t offset, Trace& trace);

/// Sets trace.rank unless already set.
void read_rank_from_name(Trace& trace);

}  // namespace headroom::trace::readers

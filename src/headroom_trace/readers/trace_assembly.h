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

/// Pairs B and E events, thread by thread in the order of the file: an E ends the innermost open B of its
/// name; without a name or a match, the innermost B.
class BeginEndPairs {
 public:
  void begin(std::uint32_t row, std::uint32_t thread, std::uint64_t offset) {
    open_[thread].push_back({row, offset});
  }
  /// Sets the duration of the row that ends here. Returns false if none is open.
  bool end(const Mark& mark, std::uint32_t thread, NameId name, Events& events, Problems& problems);

  struct Begin {
    std::uint32_t row = 0;
    std::uint64_t offset = 0;
  };
  /// The begins without an end.
  std::vector<Begin> open() const;

 private:
  std::unordered_map<std::uint32_t, std::vector<Begin>> open_;  ///< by thread, innermost last
};

/// Joins batches, in the order of the file, into a trace.
class TraceAssembly {
 public:
  TraceAssembly(Trace& trace, Needs needs) : trace_(trace), needs_(needs) {}

  /// Appends the rows of a batch; `known` holds the translations of its reading thread.
  void append(Batch& batch, Translations& known);
  /// Reserves capacity for the whole file, of which `share` (0..1) has been appended.
  void expect(double share);
  /// Takes only the new table entries of a batch, on which later batches of its thread build.
  static void learn(const Batch& batch, Translations& known);

  /// Call after the last batch: pairs open events, names processes and threads, categorises events, drops
  /// rows that nobody needs, and adds the base time.
  void finish();

 private:
  void append_events(const Batch& batch, Translations& known);
  void append_details(const Batch& batch, Translations& known);
  void append_others(const Batch& batch, Translations& known);
  void append_marks(const Batch& batch, Translations& known, std::uint32_t first_event);
  void append_namings(const Batch& batch, Translations& known);
  std::uint32_t thread_row(std::uint32_t local, Translations& known);
  void name_threads();
  void drop_rows();
  void add_base_time();

  Trace& trace_;
  Needs needs_;
  bool has_room_ = false;
  std::unordered_map<std::string, std::uint32_t> thread_rows_;
  BeginEndPairs pairs_;
  std::vector<std::uint32_t> provisional_;    ///< rows kept before it was known whether they are needed
  std::vector<std::uint32_t> uncategorized_;  ///< those of them without a category
  std::unordered_map<std::string, std::string> process_names_, process_labels_;
};

/// Whether a member of the outermost object, other than the events, describes the trace.
bool is_metadata_key(std::string_view key);

/// Stores such a member in the trace, and its faults in the problems. `offset` is its position in the file.
void read_metadata(std::string_view key, std::string_view value, std::uint64_t offset, Trace& trace);
/// The same for a list or an object that needs no parsing.
void take_metadata(std::string_view key, const Json& value, std::uint64_t offset, Trace& trace);

/// Sets trace.rank from the file's name (headroom_trace/columns/trace_facts.h) if the file itself did not.
void read_rank_from_name(Trace& trace);

}  // namespace headroom::trace::readers

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headroom/trace/columns/trace.h"
#include "headroom/trace/readers/local_names.h"
#include "headroom/trace/readers/local_threads.h"

namespace headroom::trace::readers {

/// What one reading thread has numbered for itself; lives until the trace is built.
struct LocalTables {
  LocalNames texts{LocalNames::Form::kText};
  LocalNames json{LocalNames::Form::kJson};  ///< dims, types, strides and values of ops
  LocalThreads threads;
};

/// An event with a duration: one row of Events.
struct EventRow {
  std::int64_t start_ns = 0, duration_ns = 0, correlation = kNoCorrelation;
  NameId name = kNoName;
  std::uint32_t thread = 0, detail = kNone;
  Category category = Category::kOther;
};

/// A begin or an end, to be paired when everything before it is known.
struct Mark {
  std::uint64_t offset = 0;
  std::int64_t at_ns = 0;
  std::uint32_t row = kNone;  ///< of the batch; kNone: an end
  std::uint32_t thread = 0;
  NameId name = kNoName;
};

/// A metadata event (ph M) that names a process or a thread.
struct Naming {
  enum class What : std::uint8_t { kProcess, kLabels, kThread };
  What what = What::kProcess;
  std::uint32_t thread = 0;
  NameId text = kNoName;
};

/// A process of events that are written again with the mark of their rank.
struct RewrittenProcess {
  std::string pid;  ///< as JSON
  bool is_named = false, is_sorted = false;
};

/// What such numbers stand for in the trace, known to whoever appends.
struct Translations {
  NameTranslation texts{LocalNames::Form::kText};
  NameTranslation json{LocalNames::Form::kJson};
  std::vector<std::string_view> thread_keys;
  std::vector<std::uint32_t> thread_rows;
};

/// The events of a piece of the file. Names and threads are numbers of the LocalTables, rows are
/// those of the batch itself.
struct Batch {
  /// What is new in the tables since the reading thread's last batch.
  std::vector<std::string_view> new_texts, new_json, new_threads;
  std::vector<EventRow> events;
  std::vector<GpuDetail> gpu;
  std::vector<OpDetail> ops;
  std::vector<SyncDetail> syncs;
  std::vector<Collective> collectives;
  std::vector<MemoryEvent> memory;
  std::vector<Flow> flows;
  std::vector<Mark> marks;
  std::vector<Naming> namings;
  std::vector<std::uint32_t> uncategorized;  ///< rows without a "cat"
  std::vector<PreciseTime> precise_times;
  std::uint64_t seen = 0, skipped_by_need = 0, without_columns = 0;
  std::string rewritten;  ///< the events as clean JSON, where they are written again instead of kept
  std::vector<RewrittenProcess> processes;  ///< of these, where they are marked
  Problems problems;

  /// An event that is kept, with something amiss.
  void add_problem(std::uint64_t offset, std::string what);
  /// An event that is not kept.
  void skip_event(std::uint64_t offset, std::string what);
  /// Empty again, with the room that it had.
  void clear();
};

/// Appends to what is known of problems, all of which come later in the file.
void append(Problems& problems, Problems&& later);

}  // namespace headroom::trace::readers

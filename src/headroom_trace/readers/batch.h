// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headroom_trace/columns/trace.h"

namespace headroom::trace::readers {

/// Interned texts of a reading thread. Views stay valid for its lifetime, in all threads.
class LocalNames {
 public:
  enum class Form {
    kEscaped,  ///< inside of a string
    kPlain     ///< text, or a value as JSON
  };
  explicit LocalNames(Form form) : form_(form) {}

  /// Eight bytes must be readable.
  NameId intern(std::string_view raw);
  /// Bad escape or invalid UTF-8.
  bool is_dirty(NameId id) const { return any_dirty_ && dirty_[id]; }
  /// Appends the texts added since the last call.
  void take_new(std::vector<std::string_view>& out);

 private:
  NameId intern_slowly(std::string_view raw);

  static constexpr std::size_t kRecent = 4096;
  Form form_;
  Names raw_;
  std::vector<NameId> recent_ = std::vector<NameId>(kRecent, kNoName);  ///< by a quick hash
  std::vector<bool> dirty_;
  bool any_dirty_ = false;
  std::size_t taken_ = 0;
};

/// A thread's ids to the trace's, once per text.
class NameTranslation {
 public:
  explicit NameTranslation(LocalNames::Form form) : form_(form) {}
  void learn(const std::vector<std::string_view>& raws);
  std::string meaning(std::string_view raw) const;
  NameId translate(NameId id, Names& names) {
    if (id == kNoName) return kNoName;
    return translated_[id] == kNoName ? translate_new(id, names) : translated_[id];
  }

 private:
  NameId translate_new(NameId id, Names& names);

  LocalNames::Form form_;
  std::vector<std::string_view> raws_;
  std::vector<NameId> translated_;
};

/// Interned (pid, tid) pairs of a reading thread.
class LocalThreads {
 public:
  /// Eight bytes of each must be readable.
  std::uint32_t intern(std::string_view pid, std::string_view tid);
  /// Appends the keys added since the last call; valid for the lifetime of the table.
  void take_new(std::vector<std::string_view>& out);

 private:
  struct Recent {
    std::array<char, 32> pid{}, tid{};
    std::size_t pid_size = 0, tid_size = 0;
    std::uint32_t id = kNoName;
  };

  Names keys_;
  static constexpr std::size_t kRecent = 16;
  std::array<Recent, kRecent> recent_;  ///< by a quick hash
  std::size_t taken_ = 0;
};

struct ThreadKey {
  std::string_view pid, tid;
};
ThreadKey split_key(std::string_view key);

/// Tables of a reading thread; live until the trace is built.
struct LocalTables {
  explicit LocalTables(LocalNames::Form form = LocalNames::Form::kEscaped) : texts(form) {}
  LocalNames texts;
  LocalNames json{LocalNames::Form::kPlain};
  LocalThreads threads;
};

struct EventRow {
  std::int64_t start_ns = 0, duration_ns = 0, correlation = kNoCorrelation;
  NameId name = kNoName;
  std::uint32_t thread = 0, detail = kNone;
  Category category = Category::kOther;
};

/// Paired later.
struct UnpairedEvent {
  std::uint64_t offset = 0;
  std::int64_t at_ns = 0;
  std::uint32_t row = kNone;  ///< of the batch; kNone: an end
  std::uint32_t thread = 0;
  NameId name = kNoName;
};

struct NameEvent {
  enum class What : std::uint8_t { kProcess, kLabels, kThread };
  What what = What::kProcess;
  std::uint32_t thread = 0;
  NameId text = kNoName;
};

struct RewrittenProcess {
  std::string pid;  ///< as JSON
  bool is_named = false, is_sorted = false;
};

/// A reading thread's ids in the trace; used by the appending thread.
struct Translations {
  explicit Translations(LocalNames::Form form = LocalNames::Form::kEscaped) : texts(form) {}
  NameTranslation texts;
  NameTranslation json{LocalNames::Form::kPlain};
  std::vector<std::string_view> thread_keys;
  std::vector<std::uint32_t> thread_rows;
};

/// Names and threads index LocalTables, rows the batch.
struct Batch {
  std::vector<std::string_view> new_texts, new_json, new_threads;
  std::vector<EventRow> events;
  std::vector<GpuDetail> gpu;
  std::vector<OpDetail> ops;
  std::vector<SyncDetail> syncs;
  std::vector<Collective> collectives;
  std::vector<MemoryEvent> memory;
  std::vector<Flow> flows;
  std::vector<UnpairedEvent> marks;
  std::vector<NameEvent> name_events;
  std::vector<std::uint32_t> uncategorized;
  std::vector<PreciseTime> precise_times;
  std::uint64_t seen = 0, skipped_by_need = 0, without_columns = 0;
  std::string rewritten;                    ///< as strict JSON
  std::vector<RewrittenProcess> processes;  ///< of marked ranks
  Problems problems;

  /// In a kept event.
  void add_problem(std::uint64_t offset, std::string what);
  /// For a dropped event.
  void skip_event(std::uint64_t offset, std::string what);
  /// Keeps the capacity.
  void clear();
};

/// `later` must come later in the file.
void append(Problems& problems, Problems&& later);

}  // namespace headroom::trace::readers

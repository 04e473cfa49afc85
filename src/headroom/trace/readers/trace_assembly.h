// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "headroom/trace/columns/trace.h"
#include "headroom/trace/readers/batch.h"
#include "headroom/trace/readers/begin_end_pairs.h"
#include "headroom/trace/readers/read.h"

namespace headroom::trace::readers {

/// Joins batches, in the order of the file, into a trace.
class TraceAssembly {
 public:
  TraceAssembly(Trace& trace, Needs needs) : trace_(trace), needs_(needs) {}

  /// Takes the rows of a batch; `known` is what its reading thread's earlier batches explained.
  void append(Batch& batch, Translations& known);
  /// Makes room for the whole of a file of which `share` (0..1) has been appended.
  void expect(double share);
  /// Takes no rows, only what the batch explains: later ones of the same thread build on it.
  static void learn(const Batch& batch, Translations& known);

  /// After the last batch: pairs what is left, names processes and threads, gives events without a category
  /// one, drops what turned out to be of no need, and adds the base time.
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
  std::vector<std::uint32_t> provisional_;    ///< rows that were kept without asking whether they are needed
  std::vector<std::uint32_t> uncategorized_;  ///< of which those without a category
  std::unordered_map<std::string, std::string> process_names_, process_labels_;
};

}  // namespace headroom::trace::readers

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "headroom/trace/readers/convert.h"
#include "headroom/trace/readers/event_rewriter.h"

namespace headroom::trace {

/// A point of a thread, for an end of an arrow.
struct ArrowEnd {
  std::string process, thread;  ///< as JSON
  std::int64_t at_ns = 0;       ///< on the clock of the document
};

/// The document around the events of several ranks: one list of all of them, then what stood beside the
/// lists.
class MergedDocument {
 public:
  /// Times count from `base_ns`, which is nanoseconds since 1970 where the files' are.
  MergedDocument(const WriteText& write, std::int64_t base_ns);

  /// The events of a rank, its processes and members go here until the next rank begins.
  void begin_rank(const readers::RankMark& mark, const std::string& source, std::int64_t moved_ns);
  void add_events(std::string_view lines);
  void add_processes(std::span<const readers::RewrittenProcess> processes);
  void add_member(std::string_view name, std::string_view json);
  /// Names the processes that had no name; returns how many events the rank had without these.
  std::uint64_t end_rank();

  void add_arrow(std::int64_t id, const std::string& name, const ArrowEnd& from, const ArrowEnd& to);
  void finish();

 private:
  void add_line(std::string_view line);
  void add_devices(std::string_view json);

  const WriteText& write_;
  bool has_events_ = false;
  std::uint64_t events_ = 0;  ///< of the rank
  readers::RankMark mark_;
  std::map<std::string, readers::RewrittenProcess> processes_;
  std::set<std::string> names_;  ///< of the members of the rank
  std::string member_;           ///< of the rank at hand
  std::string members_;          ///< of the ranks before, each with a comma before it
  std::string devices_;          ///< of all ranks, likewise
};

}  // namespace headroom::trace

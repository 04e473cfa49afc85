// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "headroom/trace/columns/names.h"
#include "headroom/trace/columns/trace.h"

namespace headroom::trace::readers {

/// Where the events of a track are drawn.
struct PerfettoTrack {
  std::string pid, tid, process_name, process_labels, thread_name;
  std::int64_t device = -1, stream = -1;  ///< of a device's queue, where its name says so
};

/// The tracks of a trace, by the numbers that events name them by.
class PerfettoTracks {
 public:
  /// Takes a TrackDescriptor; a later one of the same track adds to it.
  void describe(std::string_view descriptor);
  /// `is_new`: asked for the first time.
  const PerfettoTrack& find(std::uint64_t uuid, bool& is_new);

 private:
  /// Kineto has a track for each event: what they have in common is elsewhere.
  struct Description {
    std::uint64_t uuid = 0, parent = 0;
    NameId name = kNoName;
    std::uint32_t owner = kNone;  ///< row of owners_: a track of a process or a thread
    std::uint32_t found = kNone;  ///< row of found_
    bool has_parent = false;
  };
  struct Owner {
    bool is_process = false, is_thread = false;
    std::int64_t pid = 0, tid = 0;
    std::string process_name, process_labels, thread_name;
  };
  void read_process(std::string_view bytes, std::string_view track_name, Owner& owner);
  void read_thread(std::string_view bytes, Owner& owner);
  Description& description(std::uint64_t uuid);
  const Description* description_of(std::uint64_t uuid) const;
  std::size_t slot_of(std::uint64_t uuid) const;
  std::string_view name_of(const Description& one) const;
  const Description* owner_of(const Description* own, bool& is_of_thread) const;
  PerfettoTrack resolve(std::uint64_t uuid, const Description* own, const Description* owner,
                        bool is_of_thread) const;

  Names names_;
  std::vector<Description> descriptions_;
  std::vector<std::uint32_t> slots_;  ///< by uuid: open addressing, a power of two; kNone is free
  std::vector<Owner> owners_;
  std::unordered_map<std::int64_t, std::uint32_t>
      processes_;  ///< rows of owners_ by pid: what threads do not repeat
  std::deque<PerfettoTrack> found_;
  std::unordered_map<std::uint64_t, std::uint32_t> found_rows_;  ///< of tracks that nothing describes
};

}  // namespace headroom::trace::readers

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "headroom_trace/columns/spans.h"
#include "headroom_trace/columns/trace.h"
#include "headroom_trace/index/trace_index.h"

namespace headroom::trace {

/// Changes to a recorded trace. Empty members: unchanged.
struct WhatIf {
  Spans host_removed{};                     ///< removed host times
  std::vector<bool> waits_removed{};        ///< by index of Replay::waits(): removed waits
  std::vector<std::int64_t> duration_ns{};  ///< of GPU work, by row of Trace::gpu; kRemoved: removed
  std::vector<bool> launched_ahead{};       ///< by row of Trace::gpu: queued long before
  std::vector<bool> delays_removed{};       ///< by row of Trace::gpu: at most the usual delay

  static constexpr std::int64_t kRemoved = -1;
};

std::vector<std::int64_t> recorded_durations(const Trace& trace);

/// The shorter of two durations wins.
WhatIf operator+(const WhatIf& a, const WhatIf& b);

/// Simulates a part of a trace under other assumptions. The host does the same work in the same time and
/// waits for the same GPU work; a blocked launch returns when its queue has room (full_queue). GPU work
/// starts after its launch, the preceding work of its stream, and its dependency on another stream, with the
/// recorded delay after the last of them. Unchanged, the replay takes exactly the recorded time.
///
/// Files lack dependencies between streams: work is assumed to depend on the last work to end on other
/// streams before it started, so only recorded concurrency occurs.
class Replay {
 public:
  /// A host call that waits for GPU work.
  struct Wait {
    std::uint32_t call = 0;
    std::vector<std::uint32_t> rows;        ///< of Trace::gpu
    std::int64_t start_ns = 0, end_ns = 0;  ///< relative to the window
    bool has_waited = false;                ///< the work ended after the call began
  };

  struct Link {
    enum class Kind : std::uint8_t {
      kHost,    ///< before the launch of `row`; kNone: until the end
      kLaunch,  ///< from the launch of `row` to its start
      kBlocked,
      kWork,
      kGap,    ///< from the end of other work to `row`, launched earlier
      kReturn  ///< from the end of `row` until its wait returns
    };
    Span time;
    Kind kind = Kind::kHost;
    std::uint32_t row = kNone;   ///< of Trace::gpu
    std::uint32_t call = kNone;  ///< of kReturn: row of Trace::events
  };

  /// Keeps no reference to `index`. Needs kLaunches; kSyncs replaces assumptions. O(n log n).
  Replay(const TraceIndex& index, Span window);

  const std::vector<Wait>& waits() const { return waits_; }
  Span window() const { return window_; }

  /// Time from the window's start until host and devices have finished, ns; only the host if all work
  /// launched in the window runs after it. O(n).
  std::int64_t length_ns(const WhatIf& what_if = {}) const;

  /// The chain of last causes, back from the end of the window: the preceding work of the stream, the source,
  /// or the launch; then along the host to the last late call and the work it waited for. In order of time;
  /// the links fill length_ns() from the window's start. O(n).
  std::vector<Link> chain() const;

 private:
  static constexpr std::uint32_t kNoIndex = kNone;
  static constexpr std::int64_t kNoTail = -1;

  enum class Bound : std::uint8_t { kLaunch, kPrevious, kSource };
  struct Piece {
    std::uint32_t row = 0;
    Bound bound = Bound::kLaunch;
    std::uint32_t previous = kNoIndex, source = kNoIndex;  ///< indices of pieces_
    std::uint32_t call = kNoIndex;                         ///< index of calls_
    bool has_launch = false;
    std::int64_t queued_ns = 0;  ///< start of the launch, never before the preceding work's
    std::int64_t launch_ns = 0;  ///< without the time blocked or in initialisation
    std::int64_t launch_delay_ns = 0, previous_delay_ns = 0, source_delay_ns = 0;
    std::int64_t start_ns = 0, duration_ns = 0;
  };
  struct Call {
    std::uint32_t piece = 0;                             ///< the first launched
    std::uint32_t queue = kNoIndex, blocker = kNoIndex;  ///< index of queues_; the piece waited for
    std::int64_t begin_ns = 0, end_ns = 0;
    std::int64_t own_ns = 0;   ///< without the time blocked
    std::int64_t tail_ns = 0;  ///< from the blocker's start to the return
  };
  struct Queue {
    std::size_t depth = 0;
    std::size_t first = 0;  ///< place among the launches of all queues
  };
  /// A host action on pieces_[index], calls_[index] or waits_[index].
  enum class ActionKind : std::uint8_t { kLaunch, kReturn, kWait };
  struct Action {
    std::int64_t at_ns;
    std::uint32_t index;
    ActionKind kind;
  };
  class Run;
  class Walk;

  void add_pieces(const TraceIndex& index);
  void add_calls(const TraceIndex& trace_index);
  void find_end(const Trace& trace);
  void find_delays();
  void find_sources(const Trace& trace);
  void add_waits(const TraceIndex& index);
  void sort_actions();
  std::int64_t after_start(std::int64_t at_ns) const;
  std::int64_t end_of(std::uint32_t piece) const {
    return pieces_[piece].start_ns + pieces_[piece].duration_ns;
  }
  std::uint32_t last_of(const Wait& wait) const;

  Span window_;
  std::int64_t window_ns_ = 0;
  std::int64_t host_end_ns_ = 0;           ///< the last host event if a device ends the window
  bool are_devices_after_ = false;         ///< all launched work runs after the window
  std::int64_t device_tail_ns_ = kNoTail;  ///< without launches: after the last work
  std::int64_t usual_launch_ns_ = 0, usual_neighbour_ns_ = 0;
  std::vector<Piece> pieces_;
  std::vector<std::uint32_t> piece_of_row_;
  std::vector<Wait> waits_;
  std::vector<Call> calls_;
  std::vector<Queue> queues_;
  std::size_t queued_ = 0;  ///< in all queues_
  std::vector<Action> actions_;
};

}  // namespace headroom::trace

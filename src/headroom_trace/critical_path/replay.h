// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "headroom_trace/columns/spans.h"
#include "headroom_trace/columns/trace.h"
#include "headroom_trace/work/stream_order.h"

namespace headroom::trace {

/// Changes to a recorded trace. Empty members: unchanged.
struct WhatIf {
  Spans host_gone{};                        ///< host times removed
  std::vector<bool> waits_gone{};           ///< by index of Replay::waits(): removed waits
  std::vector<std::int64_t> duration_ns{};  ///< of GPU work, by row of Trace::gpu; kGone: removed
  std::vector<bool> launched_ahead{};       ///< by row of Trace::gpu: in the queue long before
  std::vector<bool> delays_gone{};  ///< by row of Trace::gpu: starts after no more than the usual delay

  static constexpr std::int64_t kGone = -1;
};

/// Recorded values of WhatIf::duration_ns, for the caller to shorten.
std::vector<std::int64_t> recorded_durations(const Trace& trace);

/// Combines two; the shorter of two durations wins.
WhatIf operator+(const WhatIf& a, const WhatIf& b);

/// Simulates a part of a trace under other assumptions. The host does the same work in the same time and
/// waits for the same GPU work. A launch that blocked because the queue of its stream was full returns when
/// there is room; the depth of a queue is learnt from such launches (full_queue). GPU work starts after its
/// launch, the preceding work of its stream, and its dependency on another stream, with the recorded delay
/// after the last of them. Work without a launch in the file starts after the other two. Unchanged, the
/// replay takes exactly the recorded time.
///
/// Dependencies between streams are not in every file: work is assumed to depend on the work that ended last
/// on another stream before it started, so only recorded concurrency occurs.
class Replay {
 public:
  /// A host call that cannot return before GPU work has ended.
  struct Wait {
    std::uint32_t call = 0;                 ///< row of Trace::events
    std::vector<std::uint32_t> rows;        ///< of Trace::gpu
    std::int64_t start_ns = 0, end_ns = 0;  /// of the call, after the start of the window
    bool has_waited = false;                ///< one of the rows ended after the call began
  };

  /// A link of the chain of causes that set the length.
  struct Link {
    enum class Kind : std::uint8_t {
      kHost,     ///< the host's own time until it launches `row`; kNone: until the end
      kLaunch,   ///< from the launch of `row` to its start
      kBlocked,  ///< the launch of `row` until other work made room in the queue
      kWork,     ///< `row` runs
      kGap,      ///< from the end of other work to the start of `row`, which was launched before
      kReturn    ///< from the end of `row` until the call that waited for it returns
    };
    Span time;
    Kind kind = Kind::kHost;
    std::uint32_t row = kNone;   ///< of Trace::gpu
    std::uint32_t call = kNone;  ///< of kReturn: row of Trace::events
  };

  /// `work` is device_work(trace), `launch` launches(trace). Needs kLaunches; with kSyncs more is known and
  /// less assumed. O(n log n).
  Replay(const Trace& trace, Span window, const DeviceWork& work, std::span<const std::uint32_t> launch);

  const std::vector<Wait>& waits() const { return waits_; }
  Span window() const { return window_; }
  const std::vector<StreamOrder>& streams() const { return streams_; }

  /// Time from the start of the window until host and devices have finished, ns; until the host has finished
  /// if the devices start so late that all work launched in the window runs after it. O(n).
  std::int64_t length_ns(const WhatIf& what_if = {}) const;

  /// Goes back from the end to the start of the window, always to the last of what had to come before: from
  /// work to the work before it on its stream, to its source, or to its launch; from there along the host to
  /// the last call that returned late, and to the work that it waited for. In order of time; the links fill
  /// the time from the window's start to its start + length_ns() without hole or overlap. O(n).
  std::vector<Link> chain() const;

 private:
  static constexpr std::uint32_t kNobody = kNone;
  static constexpr std::int64_t kNoTail = -1;

  /// The last of what a piece waited for.
  enum class Bound : std::uint8_t { kLaunch, kPrevious, kSource };
  struct Piece {
    std::uint32_t row = 0;
    Bound bound = Bound::kLaunch;
    std::uint32_t previous = kNobody, source = kNobody;  ///< indices of pieces_
    std::uint32_t call = kNobody;                        ///< index of calls_
    bool has_launch = false;
    std::int64_t queued_ns = 0;  ///< start of the launch, never before that of the preceding work
    std::int64_t launch_ns = 0;  ///< without the time for which the launch was blocked or initialised
    std::int64_t launch_delay_ns = 0, previous_delay_ns = 0, source_delay_ns = 0;
    std::int64_t start_ns = 0, duration_ns = 0;  ///< as recorded
  };
  /// A launch that may block.
  struct Call {
    std::uint32_t piece = 0;                           ///< the first that it launches
    std::uint32_t queue = kNobody, blocker = kNobody;  ///< index of queues_; without one the piece waited for
    std::int64_t begin_ns = 0, end_ns = 0;
    std::int64_t own_ns = 0;   ///< without the time blocked
    std::int64_t tail_ns = 0;  ///< from the start of the piece that makes room until the call returns
  };
  /// A stream whose depth is known.
  struct Queue {
    std::size_t depth = 0;
    std::size_t first = 0;  ///< place of its first launch among those of all queues
  };
  /// An action of the host: the launch of pieces_[index], the return of calls_[index] or of waits_[index].
  enum class Act : std::uint8_t { kLaunch, kReturn, kWait };
  struct Action {
    std::int64_t at_ns;
    std::uint32_t index;
    Act act;
  };
  class Run;
  class Walk;

  void add_pieces(const Trace& trace, std::span<const std::uint32_t> launch);
  void add_calls(const Trace& trace, std::span<const std::uint32_t> launch);
  void find_end(const Trace& trace);
  void find_delays();
  void find_sources(const Trace& trace);
  void add_waits(const Trace& trace, std::span<const std::uint32_t> launch);
  void sort_actions();
  std::int64_t after_start(std::int64_t at_ns) const;
  std::int64_t end_of(std::uint32_t piece) const {
    return pieces_[piece].start_ns + pieces_[piece].duration_ns;
  }
  std::uint32_t last_of(const Wait& wait) const;

  Span window_;
  std::int64_t window_ns_ = 0;
  std::int64_t host_end_ns_ = 0;    ///< the window's end, or the last of the host if a device ends the window
  bool are_devices_after_ = false;  ///< all that was launched in the window
  std::int64_t device_tail_ns_ =
      kNoTail;  ///< without launches: from the end of the last work to the window's
  std::int64_t usual_launch_ns_ = 0, usual_neighbour_ns_ = 0;  ///< delays
  std::vector<StreamOrder> streams_;
  std::vector<Piece> pieces_;
  std::vector<std::uint32_t> piece_of_row_;
  std::vector<Wait> waits_;
  std::vector<Call> calls_;
  std::vector<Queue> queues_;
  std::size_t queued_ = 0;  ///< launches of all queues_
  std::vector<Action> actions_;
};

}  // namespace headroom::trace

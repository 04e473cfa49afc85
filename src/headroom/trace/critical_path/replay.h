// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "headroom/trace/columns/spans.h"
#include "headroom/trace/columns/trace.h"
#include "headroom/trace/work/stream_order.h"

namespace headroom::trace {

/// What would be otherwise than it was recorded. Empty members: as it was.
struct WhatIf {
  Spans host_gone{};                        ///< times of the host that nobody spends
  std::vector<bool> waits_gone{};           ///< by index of Replay::waits(): calls that wait no longer
  std::vector<std::int64_t> duration_ns{};  ///< of GPU work, by row of Trace::gpu; kGone: there is none
  std::vector<bool> launched_ahead{};       ///< by row of Trace::gpu: was in the queue long before

  static constexpr std::int64_t kGone = -1;
};

/// WhatIf::duration_ns as it was, to be shortened here and there.
std::vector<std::int64_t> recorded_durations(const Trace& trace);

/// Both at once; of two durations the shorter one.
WhatIf operator+(const WhatIf& a, const WhatIf& b);

/// A part of a trace, to be run again under other assumptions: the host does what it did, as long as it took;
/// it waits where it waited, for the same work, until that ends now; GPU work starts when it has been
/// launched, the work before it on its stream has ended, and what it waited for on another stream has. How
/// long after that it started is kept. Run again as it was, it takes exactly the time that was recorded.
///
/// What waits for what on other streams is not in every file: work is taken to wait for what had ended last
/// on another stream before it started, so that nothing runs side by side that was not seen to.
class Replay {
 public:
  /// A call of the host that cannot return before GPU work has ended.
  struct Wait {
    std::uint32_t call = 0;                 ///< row of Trace::events
    std::vector<std::uint32_t> rows;        ///< of Trace::gpu
    std::int64_t start_ns = 0, end_ns = 0;  /// of the call, after the start of the window
    bool has_waited = false;                ///< one of the rows ended after the call began
  };

  /// `work` is device_work(trace), `launch` launches(trace). Needs kLaunches; with kSyncs more is known and
  /// less assumed. O(n log n).
  Replay(const Trace& trace, Span window, const DeviceWork& work, std::span<const std::uint32_t> launch);

  const std::vector<Wait>& waits() const { return waits_; }
  Span window() const { return window_; }
  const std::vector<StreamOrder>& streams() const { return streams_; }

  /// From the start of the window until host and devices are done with it, ns. O(n).
  std::int64_t length_ns(const WhatIf& what_if = {}) const;

 private:
  static constexpr std::uint32_t kNobody = kNone;

  struct Piece {
    std::uint32_t row = 0;
    std::uint32_t previous = kNobody, source = kNobody;  ///< indices of pieces_
    std::uint32_t blocker = kNobody;  ///< whose start made room in the queue for its launch
    bool has_launch = false;
    std::int64_t launch_ns = 0;  ///< on the host
    std::int64_t launch_delay_ns = 0, previous_delay_ns = 0, source_delay_ns = 0;
    std::int64_t start_ns = 0, duration_ns = 0;  ///< as recorded
  };
  /// What the host does in its order: a launch of pieces_[index] or the end of waits_[index].
  struct Action {
    std::int64_t at_ns;
    std::uint32_t index;
    bool is_wait;
  };

  void add_pieces(const Trace& trace, std::span<const std::uint32_t> launch);
  void find_delays();
  void find_sources(const Trace& trace);
  void add_waits(const Trace& trace, std::span<const std::uint32_t> launch);
  void sort_actions();
  std::int64_t after_start(std::int64_t at_ns) const;

  Span window_;
  std::int64_t window_ns_ = 0;
  std::vector<StreamOrder> streams_;
  std::vector<Piece> pieces_;
  std::vector<std::uint32_t> piece_of_row_;
  std::vector<Wait> waits_;
  std::vector<Action> actions_;
};

}  // namespace headroom::trace

// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/critical_path/replay.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "headroom/stats/quantile.h"

namespace headroom::trace {
namespace {

/// Work that starts later than this after its predecessor was delayed by something else.
constexpr std::int64_t kShortDelayNs = 30'000;
/// Longest time in which a call returns whose wait is already over.
constexpr std::int64_t kReturnNs = 4'000;
/// Launches that a queue of a device takes before the next one blocks the host, as measured on CUDA.
constexpr std::size_t kQueueLength = 1'022;
/// Times of damaged files are held within this of the window's start, so that sums of them stay numbers.
constexpr std::int64_t kFarNs = std::int64_t{1} << 58;
constexpr std::int64_t kNeverNs = std::numeric_limits<std::int64_t>::min() / 4;

/// Time of the host that is gone up to a moment: sums up to each span. O(1) where moments come in order,
/// O(log n) otherwise.
class GoneTime {
 public:
  GoneTime(const Spans& spans, std::int64_t origin_ns) {
    std::int64_t sum = 0;
    for (const Span& span : spans) {
      const Span from_origin{span.start - origin_ns, span.end - origin_ns};
      starts_.push_back(from_origin.start);
      before_.push_back(sum);
      lengths_.push_back(from_origin.end - from_origin.start);
      sum += lengths_.back();
    }
  }
  std::int64_t until(std::int64_t at_ns) {
    if (!is_next(at_ns, next_) && (next_ == starts_.size() || !is_next(at_ns, ++next_)))
      next_ = static_cast<std::size_t>(std::ranges::upper_bound(starts_, at_ns) - starts_.begin());
    if (next_ == 0) return 0;
    const std::size_t last = next_ - 1;
    return before_[last] + std::min(lengths_[last], at_ns - starts_[last]);
  }

 private:
  /// Whether the span of that number is the first that starts after the moment.
  bool is_next(std::int64_t at_ns, std::size_t next) const {
    return (next == 0 || starts_[next - 1] <= at_ns) && (next == starts_.size() || at_ns < starts_[next]);
  }

  std::size_t next_ = 0;  ///< the span after the last moment
  std::vector<std::int64_t> starts_, before_, lengths_;
};

/// The usual one; `otherwise` where none is known.
std::int64_t median_or(std::vector<double> delays, std::int64_t otherwise) {
  return delays.empty() ? otherwise : static_cast<std::int64_t>(median(std::move(delays)));
}

template <typename T>
std::vector<bool> either(const T& a, const T& b) {
  std::vector<bool> both(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < both.size(); ++i) both[i] = (i < a.size() && a[i]) || (i < b.size() && b[i]);
  return both;
}

}  // namespace

std::vector<std::int64_t> recorded_durations(const Trace& trace) {
  std::vector<std::int64_t> durations;
  durations.reserve(trace.gpu.size());
  for (const GpuDetail& work : trace.gpu) durations.push_back(trace.events.duration_ns[work.event]);
  return durations;
}

WhatIf operator+(const WhatIf& a, const WhatIf& b) {
  WhatIf both{unite(a.host_gone, b.host_gone), either(a.waits_gone, b.waits_gone), a.duration_ns,
              either(a.launched_ahead, b.launched_ahead)};
  if (both.duration_ns.empty()) both.duration_ns = b.duration_ns;
  for (std::size_t row = 0; row < b.duration_ns.size(); ++row)
    both.duration_ns[row] = std::min(both.duration_ns[row], b.duration_ns[row]);
  return both;
}

Replay::Replay(const Trace& trace, Span window, const DeviceWork& work, std::span<const std::uint32_t> launch)
    : window_(window),
      streams_(stream_orders(trace, work, launch)),
      piece_of_row_(trace.gpu.size(), kNobody) {
  window_ns_ = after_start(window.end);
  add_pieces(trace, launch);
  find_delays();
  add_waits(trace, launch);
  sort_actions();
}

std::int64_t Replay::after_start(std::int64_t at_ns) const {
  std::int64_t after = 0;
  if (__builtin_sub_overflow(at_ns, window_.start, &after)) return at_ns < 0 ? -kFarNs : kFarNs;
  return std::clamp(after, -kFarNs, kFarNs);
}

/// In the order in which they entered the queues of their streams.
void Replay::add_pieces(const Trace& trace, std::span<const std::uint32_t> launch) {
  const Events& events = trace.events;
  struct Queued {
    std::int64_t queued_ns, start_ns;
    std::uint32_t row, stream;
  };
  std::vector<Queued> order;
  order.reserve(trace.gpu.size());
  for (std::uint32_t stream = 0; stream < streams_.size(); ++stream) {
    for (std::size_t place = 0; place < streams_[stream].rows.size(); ++place) {
      const std::uint32_t row = streams_[stream].rows[place];
      const std::int64_t start = events.start_ns[trace.gpu[row].event];
      const std::int64_t queued = streams_[stream].queued_ns[place];
      order.push_back(
          {queued == std::numeric_limits<std::int64_t>::min() ? start : queued, start, row, stream});
    }
  }
  std::erase_if(order, [&](const Queued& one) { return one.queued_ns >= window_.end; });
  merge_runs(std::span(order), [](const Queued& a, const Queued& b) {
    return std::tie(a.queued_ns, a.start_ns, a.row) < std::tie(b.queued_ns, b.start_ns, b.row);
  });
  pieces_.reserve(order.size());
  std::vector<std::vector<std::uint32_t>> launched(streams_.size());  // the pieces that have a launch
  std::vector<std::uint32_t> latest(streams_.size(), kNobody);        // what ends last so far
  for (const Queued& one : order) {
    Piece piece;
    const std::uint32_t event = trace.gpu[one.row].event, call = launch[one.row];
    piece.row = one.row;
    piece.previous = latest[one.stream];
    piece.start_ns = after_start(one.start_ns);
    piece.duration_ns = std::min(events.duration_ns[event], kFarNs);
    piece.launch_ns = after_start(one.queued_ns);
    piece.has_launch = call != kNone;
    const auto index = static_cast<std::uint32_t>(pieces_.size());
    if (piece.has_launch) {
      std::vector<std::uint32_t>& of_stream = launched[one.stream];
      if (of_stream.size() >= kQueueLength) {
        const std::uint32_t blocker = of_stream[of_stream.size() - kQueueLength];
        if (pieces_[blocker].start_ns <= piece.launch_ns) piece.blocker = blocker;
      }
      of_stream.push_back(index);
    }
    piece_of_row_[one.row] = index;
    pieces_.push_back(piece);
    const auto end_of = [&](std::uint32_t of) { return pieces_[of].start_ns + pieces_[of].duration_ns; };
    if (latest[one.stream] == kNobody || end_of(index) >= end_of(latest[one.stream]))
      latest[one.stream] = index;
  }
  find_sources(trace);
}

/// Finds the assumed dependency of each piece on other streams: the work that ended last before it started,
/// if later than the preceding work of its own stream. If its launch came last, a wait is unknown, and
/// concurrency that was not recorded is not assumed.
void Replay::find_sources(const Trace& trace) {
  const auto end_of = [&](std::uint32_t of) { return pieces_[of].start_ns + pieces_[of].duration_ns; };
  const auto take = [&](Piece& piece, std::uint32_t source) {
    if (piece.source == kNobody || end_of(source) > end_of(piece.source)) piece.source = source;
  };
  std::map<std::int32_t, std::vector<std::uint32_t>> by_end;
  for (std::uint32_t index = 0; index < pieces_.size(); ++index)
    by_end[device_of(trace, trace.gpu[pieces_[index].row])].push_back(index);
  for (auto& [device, ended] : by_end) {
    std::ranges::sort(ended, {}, end_of);
    for (const std::uint32_t index : ended) {
      Piece& piece = pieces_[index];
      auto at = std::ranges::upper_bound(ended, piece.start_ns, {}, end_of);
      constexpr int kMostLooks = 8;
      for (int looks = 0; at != ended.begin() && looks < kMostLooks; ++looks) {
        const std::uint32_t other = *--at;
        if (other == piece.previous) break;
        if (other >= index) continue;
        take(piece, other);
        break;
      }
    }
  }
}

/// Keeps the delay between the last dependency of each piece and its start. If another dependency becomes the
/// last, the trace's usual delay applies.
void Replay::find_delays() {
  const auto end_of = [&](std::uint32_t of) { return pieces_[of].start_ns + pieces_[of].duration_ns; };
  const auto earliest = [&](const Piece& piece) {
    std::int64_t ready = kNeverNs;
    if (piece.previous != kNobody) ready = end_of(piece.previous);
    if (piece.source != kNobody) ready = std::max(ready, end_of(piece.source));
    return ready;
  };
  std::vector<double> of_launches, of_neighbours;
  for (const Piece& piece : pieces_) {
    const std::int64_t ready = earliest(piece);
    if (piece.has_launch && piece.launch_ns > ready) {
      of_launches.push_back(static_cast<double>(piece.start_ns - piece.launch_ns));
    } else if (ready > kNeverNs && piece.start_ns - ready < kShortDelayNs) {
      of_neighbours.push_back(static_cast<double>(piece.start_ns - ready));
    }
  }
  const std::int64_t launch_ns = std::max<std::int64_t>(0, median_or(std::move(of_launches), 6'000)),
                     neighbour_ns = median_or(std::move(of_neighbours), 1'000);
  for (Piece& piece : pieces_) {
    const std::int64_t ready = earliest(piece);
    const bool waits_for_launch = piece.launch_ns > ready;
    piece.launch_delay_ns = piece.start_ns - piece.launch_ns;
    if (!waits_for_launch) piece.launch_delay_ns = std::min(piece.launch_delay_ns, launch_ns);
    const auto delay_after = [&](std::uint32_t of) {
      const std::int64_t delay = piece.start_ns - end_of(of);
      return !waits_for_launch && end_of(of) == ready ? delay : std::min(delay, neighbour_ns);
    };
    if (piece.previous != kNobody) piece.previous_delay_ns = delay_after(piece.previous);
    if (piece.source != kNobody) piece.source_delay_ns = delay_after(piece.source);
  }
}

void Replay::add_waits(const Trace& trace, std::span<const std::uint32_t> launch) {
  const Events& events = trace.events;
  const SyncWaits found = sync_waits(trace, launch, streams_);
  std::map<std::uint32_t, Wait> by_call;
  const auto wait_of = [&](std::uint32_t call) -> Wait& {
    Wait& wait = by_call[call];
    wait.call = call;
    return wait;
  };
  for (const std::uint32_t call : found.blocking) wait_of(call);
  for (const HostWait& wait : found.host) {
    // Work queued after the window has no piece; a query that found its work done did not wait for it.
    const bool is_of_window = piece_of_row_[wait.row] != kNobody;
    const bool is_query =
        !std::ranges::binary_search(found.blocking, wait.call) && launch[wait.row] != wait.call;
    if (is_of_window && !is_query) wait_of(wait.call).rows.push_back(wait.row);
  }
  for (auto& [call, wait] : by_call) {
    if (events.start_ns[call] < window_.start || events.end_ns(call) > window_.end) continue;
    wait.start_ns = after_start(events.start_ns[call]);
    wait.end_ns = after_start(events.end_ns(call));
    for (const std::uint32_t row : wait.rows) {
      const Piece& piece = pieces_[piece_of_row_[row]];
      if (piece.start_ns + piece.duration_ns > wait.start_ns) wait.has_waited = true;
    }
    waits_.push_back(std::move(wait));
  }
}

void Replay::sort_actions() {
  actions_.reserve(pieces_.size() + waits_.size());
  for (std::uint32_t i = 0; i < pieces_.size(); ++i) actions_.push_back({pieces_[i].launch_ns, i, false});
  for (std::uint32_t i = 0; i < waits_.size(); ++i) actions_.push_back({waits_[i].end_ns, i, true});
  merge_runs(std::span(actions_), [](const Action& a, const Action& b) { return a.at_ns < b.at_ns; });
}

std::int64_t Replay::length_ns(const WhatIf& what_if) const {
  GoneTime gone(what_if.host_gone, window_.start);
  std::vector<std::int64_t> start(pieces_.size()), end(pieces_.size());
  std::int64_t earlier = 0;  // how much earlier the host is than it was, beside what is gone
  const auto host = [&](std::int64_t at_ns) { return at_ns - gone.until(at_ns) - earlier; };
  const auto end_of = [&](std::uint32_t piece) { return piece == kNobody ? kNeverNs : end[piece]; };

  const auto launch = [&](std::uint32_t index) {
    const Piece& piece = pieces_[index];
    const std::int64_t duration = what_if.duration_ns.empty()
                                      ? piece.duration_ns
                                      : std::min(piece.duration_ns, what_if.duration_ns[piece.row]);
    if (duration == WhatIf::kGone) {
      start[index] = end[index] = end_of(piece.previous);
      return;
    }
    if (piece.blocker != kNobody)
      earlier = std::min(earlier, piece.launch_ns - gone.until(piece.launch_ns) - start[piece.blocker]);
    const bool is_ahead = !what_if.launched_ahead.empty() && what_if.launched_ahead[piece.row];
    std::int64_t at = kNeverNs;
    if (piece.previous != kNobody) at = end[piece.previous] + piece.previous_delay_ns;
    if (piece.source != kNobody) at = std::max(at, end[piece.source] + piece.source_delay_ns);
    if (!is_ahead || at <= kNeverNs / 2) at = std::max(at, host(piece.launch_ns) + piece.launch_delay_ns);
    start[index] = at;
    end[index] = at + duration;
  };
  const auto wait = [&](std::uint32_t index) {
    const Wait& call = waits_[index];
    const std::int64_t begun = host(call.start_ns), length = call.end_ns - call.start_ns;
    std::int64_t done = begun;
    const bool is_gone = (index < what_if.waits_gone.size() && what_if.waits_gone[index]) ||
                         (length > 0 && host(call.end_ns) == begun);
    if (!is_gone) {
      std::int64_t recorded_end = kNeverNs, now_end = kNeverNs;
      for (const std::uint32_t row : call.rows) {
        const std::uint32_t piece = piece_of_row_[row];
        recorded_end = std::max(recorded_end, pieces_[piece].start_ns + pieces_[piece].duration_ns);
        now_end = std::max(now_end, end[piece]);
      }
      const std::int64_t tail = call.has_waited ? call.end_ns - recorded_end : std::min(length, kReturnNs);
      const std::int64_t own = call.has_waited ? std::clamp<std::int64_t>(tail, 0, length) : length;
      done = std::max(begun + own, now_end + tail);
    }
    earlier = call.end_ns - gone.until(call.end_ns) - done;
  };

  std::int64_t last = 0;
  for (const Action& action : actions_) {
    if (action.is_wait) {
      wait(action.index);
    } else {
      launch(action.index);
      last = std::max(last, end[action.index]);
    }
  }
  return std::max(last, host(window_ns_));
}

}  // namespace headroom::trace

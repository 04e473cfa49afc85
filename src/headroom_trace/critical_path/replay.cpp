// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/critical_path/replay.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "headroom/stats/quantile.h"
#include "headroom_trace/columns/attribution.h"
#include "headroom_trace/work/launches.h"

namespace headroom::trace {
namespace {

/// A longer delay after the preceding work has another cause.
constexpr std::int64_t kShortDelayNs = 30'000;
/// A longer delay after a launch is a late device.
constexpr std::int64_t kLateDeviceNs = 1'000'000;
/// Longest return of a finished wait.
constexpr std::int64_t kReturnNs = 4'000;
/// A synchronous copy may return this early by the device clock.
constexpr std::int64_t kEarlyReturnNs = 20'000;
/// Keeps sums of times in damaged files from overflow.
constexpr std::int64_t kFarNs = std::int64_t{1} << 58;
constexpr std::int64_t kNeverNs = std::numeric_limits<std::int64_t>::min() / 4;

/// Host time removed before a moment. O(1) for ascending moments, else O(log n).
class RemovedTime {
 public:
  RemovedTime(const Spans& spans, std::int64_t origin_ns) {
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
  bool is_next(std::int64_t at_ns, std::size_t next) const {
    return (next == 0 || starts_[next - 1] <= at_ns) && (next == starts_.size() || at_ns < starts_[next]);
  }

  std::size_t next_ = 0;
  std::vector<std::int64_t> starts_, before_, lengths_;
};

std::int64_t median_or(std::vector<double> delays, std::int64_t otherwise) {
  return delays.empty() ? otherwise : static_cast<std::int64_t>(median(std::move(delays)));
}

/// Work and when it was queued; kNotQueued before the first launch in the file.
struct Queued {
  std::int64_t queued_ns, start_ns;
  std::uint32_t row, stream;
};
constexpr std::int64_t kNotQueued = std::numeric_limits<std::int64_t>::min();

/// After all work that started earlier and before the later work of its stream.
void guess_unknown(std::vector<Queued>& order, std::size_t streams, std::int64_t window_end_ns) {
  if (std::ranges::none_of(order, [](const Queued& one) { return one.queued_ns == kNotQueued; })) return;
  std::int64_t latest = std::numeric_limits<std::int64_t>::max();
  for (const Queued& one : order) {
    if (one.queued_ns != kNotQueued) latest = std::min(latest, one.queued_ns);
  }
  std::erase_if(
      order, [&](const Queued& one) { return one.queued_ns == kNotQueued && one.start_ns >= window_end_ns; });
  merge_runs(std::span(order), [](const Queued& a, const Queued& b) {
    return std::tie(a.start_ns, a.row) < std::tie(b.start_ns, b.row);
  });
  std::vector<std::int64_t> guesses(order.size(), kNotQueued),
      next(streams, std::numeric_limits<std::int64_t>::max());
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i].queued_ns == kNotQueued) {
      guesses[i] = std::min(order[i].start_ns, latest);
    } else {
      latest = std::max(latest, order[i].queued_ns);
    }
  }
  for (std::size_t i = order.size(); i-- > 0;) {
    std::int64_t& behind = next[order[i].stream];
    if (guesses[i] != kNotQueued) order[i].queued_ns = std::min(guesses[i], behind);
    behind = order[i].queued_ns;
  }
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
  WhatIf both{unite(a.host_removed, b.host_removed), either(a.waits_removed, b.waits_removed), a.duration_ns,
              either(a.launched_ahead, b.launched_ahead), either(a.delays_removed, b.delays_removed)};
  if (both.duration_ns.empty()) both.duration_ns = b.duration_ns;
  for (std::size_t row = 0; row < b.duration_ns.size(); ++row)
    both.duration_ns[row] = std::min(both.duration_ns[row], b.duration_ns[row]);
  return both;
}

Replay::Replay(const TraceIndex& index, Span window)
    : window_(window), piece_of_row_(index.trace().gpu.size(), kNoIndex) {
  const Trace& trace = index.trace();
  window_ns_ = after_start(window.end);
  add_pieces(index);
  add_waits(index);
  add_calls(index);
  find_delays();
  find_end(trace);
  sort_actions();
}

std::int64_t Replay::after_start(std::int64_t at_ns) const {
  std::int64_t after = 0;
  if (__builtin_sub_overflow(at_ns, window_.start, &after)) return at_ns < 0 ? -kFarNs : kFarNs;
  return std::clamp(after, -kFarNs, kFarNs);
}

void Replay::add_pieces(const TraceIndex& index) {
  const Trace& trace = index.trace();
  const Events& events = trace.events;
  const std::vector<StreamOrder>& streams = index.streams();
  std::vector<Queued> order;
  order.reserve(trace.gpu.size());
  for (std::uint32_t stream = 0; stream < streams.size(); ++stream) {
    for (std::size_t place = 0; place < streams[stream].rows.size(); ++place) {
      const std::uint32_t row = streams[stream].rows[place];
      order.push_back({streams[stream].queued_ns[place], events.start_ns[trace.gpu[row].event], row, stream});
    }
  }
  guess_unknown(order, streams.size(), window_.end);
  std::erase_if(order, [&](const Queued& one) { return one.queued_ns >= window_.end; });
  merge_runs(std::span(order), [](const Queued& a, const Queued& b) {
    return std::tie(a.queued_ns, a.start_ns, a.row) < std::tie(b.queued_ns, b.start_ns, b.row);
  });
  pieces_.reserve(order.size());
  std::vector<std::uint32_t> latest(streams.size(), kNoIndex);  // ends last, by stream
  for (const Queued& one : order) {
    Piece piece;
    const std::uint32_t event = trace.gpu[one.row].event;
    piece.row = one.row;
    piece.previous = latest[one.stream];
    piece.start_ns = after_start(one.start_ns);
    piece.duration_ns = std::min(events.duration_ns[event], kFarNs);
    piece.queued_ns = piece.launch_ns = after_start(one.queued_ns);
    piece.has_launch = index.launches()[one.row] != kNone;
    const auto place = static_cast<std::uint32_t>(pieces_.size());
    piece_of_row_[one.row] = place;
    pieces_.push_back(piece);
    if (latest[one.stream] == kNoIndex || end_of(place) >= end_of(latest[one.stream]))
      latest[one.stream] = place;
  }
  find_sources(trace);
}

/// Launches that wait for their own work may not block.
void Replay::add_calls(const TraceIndex& trace_index) {
  const Trace& trace = trace_index.trace();
  const std::vector<std::uint32_t>& launch = trace_index.launches();
  const Events& events = trace.events;
  const std::vector<std::int64_t> usual = usual_call_ns(trace, launch);
  std::vector<std::uint32_t> waiting;
  for (const Wait& wait : waits_) waiting.push_back(wait.call);
  struct OfStream {
    std::vector<QueuedLaunch> launches;
    std::vector<std::uint32_t> pieces;
  };
  std::vector<OfStream> of_streams;
  for (const StreamOrder& stream : trace_index.streams()) {
    OfStream& of_stream = of_streams.emplace_back();
    std::uint32_t last_call = kNone;
    for (const std::uint32_t row : stream.rows) {
      const std::uint32_t call = launch[row], index = piece_of_row_[row];
      if (call == kNone || index == kNoIndex || std::ranges::binary_search(waiting, call)) continue;
      if (std::exchange(last_call, call) == call) continue;  // a graph is queued once
      Piece& piece = pieces_[index];
      const std::int64_t begin = after_start(events.start_ns[call]),
                         end = begin + std::min(events.duration_ns[call], kFarNs),
                         own = std::min(events.duration_ns[call], usual[events.name[call]]);
      if (end - own <= piece.start_ns) piece.launch_ns = std::max(piece.queued_ns, end - own);
      of_stream.launches.push_back({begin, end, own, piece.start_ns});
      of_stream.pieces.push_back(index);
    }
  }
  for (const OfStream& of_stream : of_streams) {
    const FullQueue full = full_queue(of_stream.launches);
    std::uint32_t queue = kNoIndex;
    if (full.depth > 0) {
      queue = static_cast<std::uint32_t>(queues_.size());
      queues_.push_back({full.depth, queued_});
      queued_ += of_stream.launches.size();
    }
    for (std::size_t i = 0; i < of_stream.launches.size(); ++i) {
      const bool has_blocked = full.blocker[i] != kNone;
      if (queue == kNoIndex && !has_blocked) continue;
      const QueuedLaunch& one = of_stream.launches[i];
      Call call{of_stream.pieces[i], queue,      kNoIndex,
                one.begin_ns,        one.end_ns, has_blocked ? one.own_ns : one.end_ns - one.begin_ns,
                full.usual_tail_ns};
      if (has_blocked) {
        call.blocker = of_stream.pieces[full.blocker[i]];
        call.tail_ns = one.end_ns - pieces_[call.blocker].start_ns;
      } else if (i >= full.depth) {
        const Piece& before = pieces_[of_stream.pieces[i - full.depth]];
        call.tail_ns = std::min(call.tail_ns, one.end_ns - before.start_ns);
      }
      pieces_[call.piece].call = static_cast<std::uint32_t>(calls_.size());
      calls_.push_back(call);
    }
  }
}

/// If a device ends the window, the host ends with its last event. Without launches the host waits for the
/// devices.
void Replay::find_end(const Trace& trace) {
  const Events& events = trace.events;
  host_end_ns_ = window_ns_;
  std::int64_t last_end = kNeverNs, first_start = kFarNs, first_delay = 0;
  bool has_launches = false;
  for (const Piece& piece : pieces_) {
    last_end = std::max(last_end, piece.start_ns + piece.duration_ns);
    has_launches = has_launches || piece.has_launch;
    if (piece.has_launch && piece.queued_ns >= 0 && piece.start_ns < first_start) {
      first_start = piece.start_ns;
      first_delay = piece.start_ns - piece.queued_ns;
    }
  }
  are_devices_after_ = first_start < kFarNs && first_start >= window_ns_ && first_delay > window_ns_ / 2;
  if (!has_launches && !pieces_.empty()) device_tail_ns_ = std::max<std::int64_t>(0, window_ns_ - last_end);
  if (last_end < window_ns_) return;
  host_end_ns_ = 0;
  for (std::uint32_t event = 0; event < events.size(); ++event) {
    const std::int64_t end = after_start(events.end_ns(event));
    if (end <= window_ns_ && (mask_of(events.category[event]) & kOnCpu) != 0)
      host_end_ns_ = std::max(host_end_ns_, end);
  }
}

/// Each piece depends on the work of other streams that ended last before its start, if later than the
/// preceding work of its stream, even if launched later.
void Replay::find_sources(const Trace& trace) {
  const auto end_of = [&](std::uint32_t of) { return this->end_of(of); };
  const auto take = [&](Piece& piece, std::uint32_t source) {
    if (piece.source == kNoIndex || end_of(source) > end_of(piece.source)) piece.source = source;
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

/// Keeps the delay after the last dependency; the trace's usual delay if another one becomes the last.
void Replay::find_delays() {
  const auto earliest = [&](const Piece& piece) {
    std::int64_t ready = kNeverNs;
    if (piece.previous != kNoIndex) ready = end_of(piece.previous);
    if (piece.source != kNoIndex) ready = std::max(ready, end_of(piece.source));
    return ready;
  };
  std::vector<double> of_launches, of_neighbours;
  const auto waits_for_launch = [](const Piece& piece, std::int64_t ready) {
    return (piece.has_launch || ready <= kNeverNs) && piece.launch_ns > ready;
  };
  for (const Piece& piece : pieces_) {
    const std::int64_t ready = earliest(piece);
    if (piece.has_launch && waits_for_launch(piece, ready)) {
      if (piece.start_ns - piece.launch_ns < kLateDeviceNs)
        of_launches.push_back(static_cast<double>(piece.start_ns - piece.launch_ns));
    } else if (ready > kNeverNs && piece.start_ns - ready < kShortDelayNs) {
      of_neighbours.push_back(static_cast<double>(piece.start_ns - ready));
    }
  }
  usual_launch_ns_ = std::max<std::int64_t>(0, median_or(std::move(of_launches), 6'000));
  usual_neighbour_ns_ = median_or(std::move(of_neighbours), 1'000);
  for (Piece& piece : pieces_) {
    const std::int64_t ready = earliest(piece);
    const bool is_after_launch = waits_for_launch(piece, ready);
    piece.bound = is_after_launch                                                 ? Bound::kLaunch
                  : piece.previous != kNoIndex && end_of(piece.previous) == ready ? Bound::kPrevious
                                                                                  : Bound::kSource;
    piece.launch_delay_ns = piece.start_ns - piece.launch_ns;
    if (!is_after_launch) piece.launch_delay_ns = std::min(piece.launch_delay_ns, usual_launch_ns_);
    const auto delay_after = [&](std::uint32_t of) {
      const std::int64_t delay = piece.start_ns - end_of(of);
      return !is_after_launch && end_of(of) == ready ? delay : std::min(delay, usual_neighbour_ns_);
    };
    if (piece.previous != kNoIndex) piece.previous_delay_ns = delay_after(piece.previous);
    if (piece.source != kNoIndex) piece.source_delay_ns = delay_after(piece.source);
  }
}

void Replay::add_waits(const TraceIndex& index) {
  const Trace& trace = index.trace();
  const std::vector<std::uint32_t>& launch = index.launches();
  const Events& events = trace.events;
  const SyncWaits& found = index.syncs();
  std::map<std::uint32_t, Wait> by_call;
  const auto wait_of = [&](std::uint32_t call) -> Wait& {
    Wait& wait = by_call[call];
    wait.call = call;
    return wait;
  };
  for (const std::uint32_t call : found.blocking) wait_of(call);
  for (const HostWait& wait : found.host) {
    // Work queued after the window has no piece; a query did not wait for finished work.
    const bool is_in_window = piece_of_row_[wait.row] != kNoIndex;
    const bool is_query =
        !std::ranges::binary_search(found.blocking, wait.call) && launch[wait.row] != wait.call;
    if (is_in_window && !is_query) wait_of(wait.call).rows.push_back(wait.row);
  }
  for (std::uint32_t row = 0; row < trace.gpu.size(); ++row) {
    const std::uint32_t call = launch[row], work = trace.gpu[row].event;
    if (call == kNone || piece_of_row_[row] == kNoIndex || events.duration_ns[call] < kShortDelayNs ||
        !is_synchronous_copy(trace, row, call))
      continue;
    const std::int64_t end = events.end_ns(call);
    if (end < events.end_ns(work) && end > events.start_ns[work] - kEarlyReturnNs)
      wait_of(call).rows.push_back(row);
  }
  for (auto& [call, wait] : by_call) {
    if (events.start_ns[call] < window_.start || events.end_ns(call) > window_.end) continue;
    wait.start_ns = after_start(events.start_ns[call]);
    wait.end_ns = after_start(events.end_ns(call));
    for (const std::uint32_t row : wait.rows) {
      if (end_of(piece_of_row_[row]) > wait.start_ns) wait.has_waited = true;
    }
    waits_.push_back(std::move(wait));
  }
}

void Replay::sort_actions() {
  actions_.reserve(pieces_.size() + calls_.size() + waits_.size());
  for (std::uint32_t i = 0; i < calls_.size(); ++i)
    actions_.push_back({calls_[i].end_ns, i, ActionKind::kReturn});
  for (std::uint32_t i = 0; i < waits_.size(); ++i) {
    if (waits_[i].end_ns > waits_[i].start_ns) actions_.push_back({waits_[i].end_ns, i, ActionKind::kWait});
  }
  for (std::uint32_t i = 0; i < pieces_.size(); ++i)
    actions_.push_back({pieces_[i].queued_ns, i, ActionKind::kLaunch});
  for (std::uint32_t i = 0; i < waits_.size(); ++i) {
    if (waits_[i].end_ns == waits_[i].start_ns) actions_.push_back({waits_[i].end_ns, i, ActionKind::kWait});
  }
  merge_runs(std::span(actions_), [](const Action& a, const Action& b) { return a.at_ns < b.at_ns; });
}

class Replay::Run {
 public:
  Run(const Replay& replay, const WhatIf& what_if)
      : replay_(replay),
        what_if_(what_if),
        removed_(what_if.host_removed, replay.window_.start),
        start_(replay.pieces_.size()),
        end_(replay.pieces_.size()),
        queued_(replay.queued_),
        in_queue_(replay.queues_.size()),
        blocker_(replay.calls_.size(), kNoIndex) {}

  std::int64_t length_ns() {
    std::int64_t last = 0;
    for (const Action& action : replay_.actions_) {
      switch (action.kind) {
        case ActionKind::kLaunch:
          launch(action.index);
          last = std::max(last, end_[action.index]);
          break;
        case ActionKind::kReturn:
          set_host_time(replay_.calls_[action.index].end_ns, returns(action.index));
          break;
        case ActionKind::kWait:
          set_host_time(replay_.waits_[action.index].end_ns, waited(action.index));
          break;
      }
    }
    if (replay_.device_tail_ns_ != kNoTail) return last + replay_.device_tail_ns_;
    const std::int64_t host_end = host(replay_.host_end_ns_);
    return replay_.are_devices_after_ ? host_end : std::max(last, host_end);
  }

 private:
  /// Simulated time of a recorded host time.
  std::int64_t host(std::int64_t at_ns) { return at_ns - removed_.until(at_ns) - earlier_; }
  void set_host_time(std::int64_t recorded_ns, std::int64_t now_ns) {
    earlier_ = recorded_ns - removed_.until(recorded_ns) - now_ns;
  }
  std::int64_t end_of(std::uint32_t piece) const { return piece == kNoIndex ? kNeverNs : end_[piece]; }
  static bool has(const std::vector<bool>& rows, std::uint32_t row) { return row < rows.size() && rows[row]; }

  void launch(std::uint32_t index) {
    const Piece& piece = replay_.pieces_[index];
    const std::int64_t duration = what_if_.duration_ns.empty()
                                      ? piece.duration_ns
                                      : std::min(piece.duration_ns, what_if_.duration_ns[piece.row]);
    // Without a launch, the time before the work stays.
    const bool is_removed = duration == WhatIf::kRemoved;
    if (is_removed && piece.has_launch) {
      start_[index] = end_[index] = end_of(piece.previous);
      return;
    }
    const std::int64_t launched = launched_at(piece, index);
    const bool has_usual_delays = has(what_if_.delays_removed, piece.row);
    const auto delay = [&](std::int64_t recorded, std::int64_t usual) {
      return has_usual_delays ? std::min(recorded, usual) : recorded;
    };
    std::int64_t at = kNeverNs;
    if (piece.previous != kNoIndex)
      at = end_[piece.previous] + delay(piece.previous_delay_ns, replay_.usual_neighbour_ns_);
    if (piece.source != kNoIndex)
      at = std::max(at, end_[piece.source] + delay(piece.source_delay_ns, replay_.usual_neighbour_ns_));
    const bool needs_launch = piece.has_launch && !has(what_if_.launched_ahead, piece.row);
    if (needs_launch || at <= kNeverNs / 2)
      at = std::max(at, launched + delay(piece.launch_delay_ns, replay_.usual_launch_ns_));
    start_[index] = at;
    end_[index] = is_removed ? at : at + duration;
  }

  std::int64_t launched_at(const Piece& piece, std::uint32_t index) {
    if (piece.call == kNoIndex) return host(piece.launch_ns);
    const Call& call = replay_.calls_[piece.call];
    blocker_[piece.call] = call.blocker;
    if (call.queue != kNoIndex) {
      const Queue& queue = replay_.queues_[call.queue];
      std::size_t& length = in_queue_[call.queue];
      blocker_[piece.call] = length < queue.depth ? kNoIndex : queued_[queue.first + length - queue.depth];
      queued_[queue.first + length++] = index;
    }
    return returns(piece.call) - (call.end_ns - std::max(piece.launch_ns, call.begin_ns));
  }

  std::int64_t returns(std::uint32_t index) {
    const Call& call = replay_.calls_[index];
    const std::int64_t begun = host(call.begin_ns), length = call.end_ns - call.begin_ns,
                       left = length - (removed_.until(call.end_ns) - removed_.until(call.begin_ns));
    if (length > 0 && left <= 0) return begun;
    const std::int64_t done = begun + std::min(call.own_ns, left);
    return blocker_[index] == kNoIndex ? done : std::max(done, start_[blocker_[index]] + call.tail_ns);
  }

  std::int64_t waited(std::uint32_t index) {
    const Wait& call = replay_.waits_[index];
    const std::int64_t begun = host(call.start_ns), length = call.end_ns - call.start_ns;
    if (has(what_if_.waits_removed, index) || (length > 0 && host(call.end_ns) == begun)) return begun;
    std::int64_t recorded_end = kNeverNs, now_end = kNeverNs;
    for (const std::uint32_t row : call.rows) {
      const std::uint32_t piece = replay_.piece_of_row_[row];
      recorded_end = std::max(recorded_end, replay_.end_of(piece));
      now_end = std::max(now_end, end_[piece]);
    }
    const std::int64_t tail = call.has_waited ? call.end_ns - recorded_end : std::min(length, kReturnNs);
    const std::int64_t own = call.has_waited ? std::clamp<std::int64_t>(tail, 0, length) : length;
    return std::max(begun + own, now_end + tail);
  }

  const Replay& replay_;
  const WhatIf& what_if_;
  RemovedTime removed_;
  std::int64_t earlier_ = 0;  ///< lead over the recorded host, without removed time
  std::vector<std::int64_t> start_, end_;
  std::vector<std::uint32_t> queued_;  ///< pieces in queue order, by queue
  std::vector<std::size_t> in_queue_;
  std::vector<std::uint32_t> blocker_;  ///< by call
};

std::int64_t Replay::length_ns(const WhatIf& what_if) const {
  return Run(*this, what_if).length_ns();
}

/// Walks back along the chain. Pieces and actions only get earlier, so the walk ends even in damaged files.
class Replay::Walk {
 public:
  explicit Walk(const Replay& replay)
      : replay_(replay),
        at_(replay.length_ns()),
        place_(replay.actions_.size()),
        limit_(static_cast<std::uint32_t>(replay.pieces_.size())) {}

  std::vector<Link> links() {
    for (std::uint32_t piece = from_end(); at_ > 0 && piece != kNoIndex;) piece = before(piece);
    std::ranges::reverse(links_);
    return std::move(links_);
  }

 private:
  /// `from_ns` is relative to the window.
  void add(std::int64_t from_ns, Link::Kind kind, std::uint32_t row, std::uint32_t call = kNone) {
    from_ns = std::max<std::int64_t>(from_ns, 0);
    if (from_ns >= at_) return;
    links_.push_back({{replay_.window_.start + from_ns, replay_.window_.start + at_}, kind, row, call});
    at_ = from_ns;
  }

  bool take(std::uint32_t piece) {
    if (piece >= limit_) return false;
    limit_ = piece;
    return true;
  }

  std::uint32_t run(std::uint32_t piece) {
    add(replay_.pieces_[piece].start_ns, Link::Kind::kWork, replay_.pieces_[piece].row);
    return piece;
  }

  std::uint32_t from_end() {
    std::uint32_t last = kNoIndex;
    for (std::uint32_t i = 0; i < limit_; ++i) {
      if (last == kNoIndex || replay_.end_of(i) >= replay_.end_of(last)) last = i;
    }
    const bool is_host_last =
        last == kNoIndex || replay_.are_devices_after_ ||
        (replay_.device_tail_ns_ == kNoTail && replay_.end_of(last) < replay_.host_end_ns_);
    if (is_host_last || !take(last)) return host(kNone);
    add(replay_.end_of(last), Link::Kind::kHost, kNone);
    return run(last);
  }

  std::uint32_t before(std::uint32_t index) {
    const Piece& piece = replay_.pieces_[index];
    const std::uint32_t other = piece.bound == Bound::kPrevious ? piece.previous : piece.source;
    if (piece.bound != Bound::kLaunch && take(other)) {
      add(replay_.end_of(other), Link::Kind::kGap, piece.row);
      return run(other);
    }
    add(piece.launch_ns, Link::Kind::kLaunch, piece.row);
    if (piece.call != kNoIndex) {
      const std::uint32_t blocker = replay_.calls_[piece.call].blocker;
      if (blocker != kNoIndex && take(blocker)) {
        add(replay_.pieces_[blocker].start_ns, Link::Kind::kBlocked, piece.row);
        return blocker;
      }
    }
    const auto launches = [&](const Action& action) {
      return action.kind == ActionKind::kLaunch && action.index == index;
    };
    while (place_ > 0 && !launches(replay_.actions_[place_ - 1])) --place_;
    return host(piece.row);
  }

  /// Back to the piece that the host last waited for.
  std::uint32_t host(std::uint32_t row) {
    for (; place_ > 0; --place_) {
      const Action& action = replay_.actions_[place_ - 1];
      if (action.at_ns > at_) continue;
      if (action.kind == ActionKind::kReturn) {
        const Call& call = replay_.calls_[action.index];
        if (call.blocker == kNoIndex || !take(call.blocker)) continue;
        add(call.end_ns, Link::Kind::kHost, row);
        add(replay_.pieces_[call.blocker].start_ns, Link::Kind::kBlocked, replay_.pieces_[call.piece].row);
        return call.blocker;
      }
      if (action.kind == ActionKind::kWait) {
        const Wait& wait = replay_.waits_[action.index];
        if (!wait.has_waited || wait.end_ns <= wait.start_ns) continue;
        const std::uint32_t piece = replay_.last_of(wait);
        if (!take(piece)) continue;
        add(wait.end_ns, Link::Kind::kHost, row);
        add(replay_.end_of(piece), Link::Kind::kReturn, replay_.pieces_[piece].row, wait.call);
        return run(piece);
      }
    }
    add(0, Link::Kind::kHost, row);
    return kNoIndex;
  }

  const Replay& replay_;
  std::int64_t at_;      ///< current time, relative to the window
  std::size_t place_;    ///< host actions before
  std::uint32_t limit_;  ///< pieces before
  std::vector<Link> links_;
};

std::uint32_t Replay::last_of(const Wait& wait) const {
  const auto last =
      std::ranges::max_element(wait.rows, {}, [&](std::uint32_t row) { return end_of(piece_of_row_[row]); });
  return piece_of_row_[*last];
}

std::vector<Replay::Link> Replay::chain() const {
  return Walk(*this).links();
}

}  // namespace headroom::trace

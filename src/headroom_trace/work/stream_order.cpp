// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/work/stream_order.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

#include "headroom/base/text.h"
#include "headroom_trace/columns/attribution.h"

namespace headroom::trace {
namespace {

void find_queued(const Trace& trace, std::span<const std::uint32_t> launch, StreamOrder& order) {
  std::int64_t latest = std::numeric_limits<std::int64_t>::min();
  order.queued_ns.reserve(order.rows.size());
  for (const std::uint32_t row : order.rows) {
    if (launch[row] != kNone) latest = std::max(latest, trace.events.start_ns[launch[row]]);
    order.queued_ns.push_back(latest);
  }
}

struct Launched {
  std::int64_t launch_ns, start_ns;
  std::uint32_t place;
  std::ptrdiff_t started = 0;
};

/// First work of each launch. `seen`: by event, the last stream it launched to.
std::vector<Launched> first_of_launches(const Trace& trace, std::span<const std::uint32_t> launch,
                                        const StreamOrder& order, std::uint32_t stream_number,
                                        std::vector<std::uint32_t>& seen) {
  std::vector<Launched> firsts;
  for (std::uint32_t place = 0; place < order.rows.size(); ++place) {
    const std::uint32_t row = order.rows[place];
    if (launch[row] == kNone || std::exchange(seen[launch[row]], stream_number) == stream_number) continue;
    const std::int64_t launched = trace.events.start_ns[launch[row]];
    // Work cannot start before its launch, even if clocks differ.
    firsts.push_back({launched, std::max(trace.events.start_ns[trace.gpu[row].event], launched + 1), place});
  }
  return firsts;
}

/// Counts launches minus starts; of equal times the start comes first.
void find_empty_queue(std::vector<Launched> firsts, StreamOrder& order) {
  order.met_empty_queue.assign(order.rows.size(), false);
  std::vector<std::int64_t> starts, launches;
  std::ranges::stable_sort(firsts, {}, &Launched::start_ns);
  for (Launched& one : firsts) {
    starts.push_back(one.start_ns);
    one.started = std::ssize(starts);
  }
  std::ranges::stable_sort(firsts, {}, &Launched::launch_ns);
  for (const Launched& one : firsts) {
    launches.push_back(one.launch_ns);
    const auto at_launch =
        std::ssize(launches) - (std::ranges::upper_bound(starts, one.launch_ns) - starts.begin());
    order.met_empty_queue[one.place] = at_launch == 1;
  }
  for (const Launched& one : firsts) {
    const auto launched = std::ranges::lower_bound(launches, one.start_ns) - launches.begin();
    if (launched != one.started) order.met_empty_queue[one.place] = false;
  }
}

enum class SyncKind : std::uint8_t { kNone, kContext, kStream, kEvent, kStreamWaitEvent, kQuery };

/// "Context Sync", "Stream Sync", "Event Sync", "Stream Wait Event".
SyncKind kind_of_sync(std::string_view name) {
  if (contains(name, "Wait Event")) return SyncKind::kStreamWaitEvent;
  if (contains(name, "Event")) return SyncKind::kEvent;
  if (contains(name, "Stream")) return SyncKind::kStream;
  if (contains(name, "Context") || contains(name, "Device")) return SyncKind::kContext;
  return SyncKind::kNone;
}

SyncKind kind_of_call(std::string_view name) {
  if (contains(name, "Query")) return SyncKind::kQuery;
  if (!contains(name, "Synchronize")) return SyncKind::kNone;
  if (contains(name, "StreamSynchronize")) return SyncKind::kStream;
  if (contains(name, "EventSynchronize")) return SyncKind::kEvent;
  for (const std::string_view part : {"DeviceSynchronize", "CtxSynchronize", "ThreadSynchronize"}) {
    if (contains(name, part)) return SyncKind::kContext;
  }
  return SyncKind::kNone;
}

class WaitFinder {
 public:
  WaitFinder(const Trace& trace, std::span<const std::uint32_t> launch, std::span<const StreamOrder> streams)
      : trace_(trace), events_(trace.events), launch_(launch), streams_(streams) {
    for (std::size_t i = 0; i < streams.size(); ++i) by_stream_[{streams[i].device, streams[i].stream}] = i;
    classify_calls();
  }

  SyncWaits find() {
    waits_.is_inferred = trace_.syncs.empty();
    if (waits_.is_inferred) {
      infer();
    } else {
      find_calls();
      for (const SyncDetail& sync : trace_.syncs) {
        if (!add_sync(sync)) waits_.unmatched.push_back(sync.event);
      }
    }
    add_copies();
    return std::move(waits_);
  }

 private:
  struct Launch {
    std::uint32_t thread;
    std::int64_t at_ns;
    std::uint32_t stream;
  };

  SyncKind call_kind(std::uint32_t event) const { return kinds_[events_.name[event]]; }
  bool is_call(std::uint32_t event) const {
    return events_.category[event] == Category::kRuntime || events_.category[event] == Category::kDriver;
  }
  std::int64_t end_of_row(std::uint32_t row) const { return events_.end_ns(trace_.gpu[row].event); }

  void classify_calls() {
    kinds_.assign(trace_.names.size(), SyncKind::kNone);
    for (NameId name = 0; name < kinds_.size(); ++name) kinds_[name] = kind_of_call(trace_.names[name]);
    for (std::uint32_t event = 0; event < events_.size(); ++event) {
      if (is_call(event) && call_kind(event) != SyncKind::kNone && call_kind(event) != SyncKind::kQuery)
        waits_.blocking.push_back(event);
    }
  }

  /// By correlation.
  void find_calls() {
    for (const SyncDetail& sync : trace_.syncs) {
      calls_.emplace(events_.correlation[sync.event], kNone);
      calls_.emplace(sync.wait_on_event_record_correlation, kNone);
    }
    for (std::uint32_t event = 0; event < events_.size(); ++event) {
      if (!is_call(event) || events_.correlation[event] == kNoCorrelation) continue;
      if (const auto found = calls_.find(events_.correlation[event]);
          found != calls_.end() && found->second == kNone) {
        found->second = event;
      }
    }
  }
  std::uint32_t call_of(std::int64_t correlation) const {
    const auto found = calls_.find(correlation);
    return correlation == kNoCorrelation || found == calls_.end() ? kNone : found->second;
  }

  std::uint32_t last_before(const StreamOrder& stream, std::int64_t at_ns) const {
    const std::ptrdiff_t place = stream.last_queued_before(at_ns);
    return place < 0 ? kNone : stream.rows[static_cast<std::size_t>(place)];
  }
  const StreamOrder* stream_of(std::int32_t device, std::int64_t stream) const {
    const auto found = by_stream_.find({device, stream});
    return found == by_stream_.end() ? nullptr : &streams_[found->second];
  }

  void add_host_wait(std::uint32_t call, std::uint32_t row) {
    if (row == kNone) return;
    if (call_kind(call) == SyncKind::kQuery && end_of_row(row) > events_.end_ns(call)) return;
    waits_.host.push_back({call, row});
  }

  /// False if the file lacks the call or the source. An empty queue is not missing.
  bool add_sync(const SyncDetail& sync) {
    const std::uint32_t call = call_of(events_.correlation[sync.event]);
    const NameId name = sync.kind != kNoName ? sync.kind : events_.name[sync.event];
    const SyncKind kind = kind_of_sync(trace_.names[name]);
    if (call == kNone || kind == SyncKind::kNone) return false;
    if (kind == SyncKind::kContext) {
      for (const StreamOrder& stream : streams_) {
        if (sync.device < 0 || stream.device == sync.device)
          add_host_wait(call, last_before(stream, events_.start_ns[call]));
      }
      return true;
    }
    if (kind == SyncKind::kStream) {
      if (const StreamOrder* stream = stream_of(sync.device, sync.stream); stream != nullptr)
        add_host_wait(call, last_before(*stream, events_.start_ns[call]));
      return true;
    }
    return add_event_sync(sync, kind, call);
  }

  bool add_event_sync(const SyncDetail& sync, SyncKind kind, std::uint32_t call) {
    const std::uint32_t record = call_of(sync.wait_on_event_record_correlation);
    const StreamOrder* recorded = stream_of(sync.device, sync.wait_on_stream);
    if (record == kNone) return false;
    if (recorded == nullptr) return true;
    const std::uint32_t source = last_before(*recorded, events_.start_ns[record]);
    if (kind == SyncKind::kEvent) {
      add_host_wait(call, source);
      return true;
    }
    const StreamOrder* waiting = stream_of(sync.device, sync.stream);
    if (waiting == nullptr || waiting == recorded || source == kNone) return true;
    const std::size_t place = waiting->first_queued_from(events_.start_ns[call]);
    if (place < waiting->rows.size()) waits_.streams.push_back({source, waiting->rows[place]});
    return true;
  }

  void infer() {
    std::vector<Launch> last_launches;
    for (std::uint32_t i = 0; i < streams_.size(); ++i) {
      for (const std::uint32_t row : streams_[i].rows) {
        if (launch_[row] != kNone)
          last_launches.push_back({events_.thread[launch_[row]], events_.start_ns[launch_[row]], i});
      }
    }
    const auto before = [](const Launch& a, const Launch& b) {
      return a.thread != b.thread ? a.thread < b.thread : a.at_ns < b.at_ns;
    };
    std::ranges::stable_sort(last_launches, before);
    for (const std::uint32_t call : waits_.blocking) {
      if (call_kind(call) == SyncKind::kContext) {
        for (const StreamOrder& stream : streams_) infer_wait(call, stream);
        continue;
      }
      const auto next = std::ranges::lower_bound(
          last_launches, Launch{events_.thread[call], events_.start_ns[call], 0}, before);
      if (next != last_launches.begin() && std::prev(next)->thread == events_.thread[call])
        infer_wait(call, streams_[std::prev(next)->stream]);
    }
  }
  void infer_wait(std::uint32_t call, const StreamOrder& stream) {
    const std::uint32_t row = last_before(stream, events_.start_ns[call]);
    if (row != kNone && end_of_row(row) <= events_.end_ns(call)) waits_.host.push_back({call, row});
  }

  void add_copies() {
    for (std::uint32_t row = 0; row < trace_.gpu.size(); ++row) {
      const std::uint32_t call = launch_[row];
      if (call != kNone && is_synchronous_copy(trace_, row, call) && end_of_row(row) <= events_.end_ns(call))
        waits_.host.push_back({call, row});
    }
  }

  const Trace& trace_;
  const Events& events_;
  std::span<const std::uint32_t> launch_;
  std::span<const StreamOrder> streams_;
  std::map<std::pair<std::int32_t, std::int64_t>, std::size_t> by_stream_;
  std::vector<SyncKind> kinds_;
  std::unordered_map<std::int64_t, std::uint32_t> calls_;
  SyncWaits waits_;
};

}  // namespace

std::ptrdiff_t StreamOrder::last_queued_before(std::int64_t at_ns) const {
  return std::ranges::lower_bound(queued_ns, at_ns) - queued_ns.begin() - 1;
}

std::size_t StreamOrder::first_queued_from(std::int64_t at_ns) const {
  return static_cast<std::size_t>(std::ranges::lower_bound(queued_ns, at_ns) - queued_ns.begin());
}

std::vector<StreamOrder> stream_orders(const Trace& trace, const DeviceWork& work,
                                       std::span<const std::uint32_t> launch) {
  std::map<std::pair<std::int32_t, std::int64_t>, StreamOrder> by_stream;
  StreamOrder* recent = nullptr;
  for (const DeviceWork::Item& item : work.items) {
    const std::int32_t device = work.devices[item.device];
    const std::int64_t stream = trace.gpu[item.row].stream;
    if (recent == nullptr || recent->device != device || recent->stream != stream) {
      recent = &by_stream[{device, stream}];
      recent->device = device;
      recent->stream = stream;
    }
    recent->rows.push_back(item.row);
  }
  std::vector<StreamOrder> orders;
  for (auto& [key, order] : by_stream) {
    find_queued(trace, launch, order);
    orders.push_back(std::move(order));
  }
  return orders;
}

void find_empty_queues(const Trace& trace, std::span<const std::uint32_t> launch,
                       std::vector<StreamOrder>& orders) {
  std::vector<std::uint32_t> seen(trace.events.size(), kNone);
  for (std::uint32_t number = 0; number < orders.size(); ++number)
    find_empty_queue(first_of_launches(trace, launch, orders[number], number, seen), orders[number]);
}

bool is_blocking_call(std::string_view name) {
  const SyncKind kind = kind_of_call(name);
  return kind != SyncKind::kNone && kind != SyncKind::kQuery;
}

bool is_synchronous_copy(const Trace& trace, std::uint32_t row, std::uint32_t call) {
  const Events& events = trace.events;
  const std::uint32_t event = trace.gpu[row].event;
  if (events.category[event] != Category::kGpuMemcpy) return false;
  const std::string_view copy = trace.names[events.name[event]], name = trace.names[events.name[call]];
  constexpr std::int64_t kStagedNs = 20'000;
  const bool is_staged = contains(copy, "HtoD") && events.end_ns(call) > events.start_ns[event] &&
                         events.end_ns(call) > events.end_ns(event) - kStagedNs;
  return (contains(copy, "Pageable") && (contains(copy, "DtoH") || is_staged)) ||
         (contains(name, "Memcpy") && !contains(name, "Async"));
}

SyncWaits sync_waits(const Trace& trace, std::span<const std::uint32_t> launch,
                     std::span<const StreamOrder> streams) {
  return WaitFinder(trace, launch, streams).find();
}

}  // namespace headroom::trace

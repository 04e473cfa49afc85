// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/work/stream_order.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

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
  std::ptrdiff_t started = 0;  ///< how many of the stream have started with it
};

/// The first work of each launch on this stream. `seen` has the last stream in which each event was found to
/// be a launch.
std::vector<Launched> first_of_launches(const Trace& trace, std::span<const std::uint32_t> launch,
                                        const StreamOrder& order, std::uint32_t stream_number,
                                        std::vector<std::uint32_t>& seen) {
  std::vector<Launched> firsts;
  for (std::uint32_t place = 0; place < order.rows.size(); ++place) {
    const std::uint32_t row = order.rows[place];
    if (launch[row] == kNone || std::exchange(seen[launch[row]], stream_number) == stream_number) continue;
    const std::int64_t launched = trace.events.start_ns[launch[row]];
    // Nothing starts before its launch, whatever the clocks of host and device say.
    firsts.push_back({launched, std::max(trace.events.start_ns[trace.gpu[row].event], launched + 1), place});
  }
  return firsts;
}

/// Length of the queue = launches begun - work started. A start counts before a launch at the same time.
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
  StreamOrder* recent = nullptr;  // Neighbours are of one stream, mostly.
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

}  // namespace headroom::trace

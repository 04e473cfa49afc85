// SPDX-License-Identifier: Apache-2.0
#include "headroom/experiment/process_counters.h"

#include <fmt/format.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <set>
#include <thread>

#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array<CounterEvent, 3> kWorkEvents{{
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"cache_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
}};
/// For counting other programs' traffic.
constexpr std::chrono::milliseconds kMinIdle{1}, kMaxIdle{50};

constexpr const char* kNoController = "none is listed in /sys/bus/event_source/devices";

std::string controller_absence(int error) {
  if (error != EACCES && error != EPERM) return perf_event_absence(error);
  return "not permitted, because they count all programs; lower /proc/sys/kernel/perf_event_paranoid to 0 or "
         "less, or give the program CAP_PERFMON";
}

CounterRequest request_of(const ControllerEvent& event) {
  return {.type = event.type, .config = event.config, .thread = -1, .cpu = event.cpu};
}

/// Each counter is scaled to the whole time.
class Sum {
 public:
  /// `factor`: amount per count.
  void add(const CounterReading& reading, double factor = 1) {
    if (reading.enabled_ns == 0) return;  // its thread slept
    any_ = true;
    const double share = static_cast<double>(reading.running_ns) / static_cast<double>(reading.enabled_ns);
    share_ = std::min(share_, share);
    value_ += factor * reading.whole().value_or(0);
  }
  /// Voids the sum, as a counter could not be read.
  void lack() { lacks_ = true; }
  /// Nullopt for no or void counts, or if a counter never ran.
  std::optional<double> value() const {
    if (!any_ || lacks_ || !(share_ > 0)) return std::nullopt;
    return value_;
  }
  double share() const { return any_ ? share_ : 1; }

 private:
  double value_ = 0, share_ = 1;
  bool any_ = false, lacks_ = false;
};

/// Empty if the later one could not be read.
CounterReading difference(const CounterReading& later, const CounterReading& earlier) {
  if (later.enabled_ns < earlier.enabled_ns) return {};
  return {later.count - earlier.count, later.enabled_ns - earlier.enabled_ns,
          later.running_ns - earlier.running_ns};
}

}  // namespace

std::span<const CounterEvent> work_events() {
  return kWorkEvents;
}

/// Open for one call of count().
class ProcessCounters::Opened {
 public:
  explicit Opened(const ProcessCounters& from) : from_(from), of_events_(from.events_.events.size()) {
    try {
      for (const int thread : from_.kernel_->threads()) open_thread(thread);
      for (const ControllerEvent& event : from_.controllers_) {
        of_controllers_.push_back(opened(request_of(event)));
      }
    } catch (...) {
      close();
      throw;
    }
  }
  ~Opened() { close(); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  /// Starts the threads' counters last, so that they do not count starting the controllers.
  void start() {
    for (const int counter : of_controllers_) from_.kernel_->start(counter);
    for (const int leader : leaders_) from_.kernel_->start(leader);
  }
  void stop() {
    for (const int leader : leaders_) from_.kernel_->stop(leader);
    stop_controllers();
  }
  void start_controllers() {
    for (const int counter : of_controllers_) from_.kernel_->start(counter);
  }
  void stop_controllers() {
    for (const int counter : of_controllers_) from_.kernel_->stop(counter);
  }

  Sum of_event(std::size_t event) const {
    Sum sum;
    for (const int counter : of_events_[event]) {
      if (const auto reading = from_.kernel_->read(counter)) {
        sum.add(*reading);
      } else {
        sum.lack();
      }
    }
    return sum;
  }
  std::vector<CounterReading> controllers() const {
    std::vector<CounterReading> readings;
    for (const int counter : of_controllers_)
      readings.push_back(from_.kernel_->read(counter).value_or(CounterReading{}));
    return readings;
  }

 private:
  int opened(const CounterRequest& request) {
    const int counter = from_.kernel_->open(request);
    if (counter >= 0) all_.push_back(counter);
    if (counter >= 0 || counter == -ESRCH) return counter;
    if (counter == -EMFILE) {
      throw Error(fmt::format("{} counters are open, and the limit on open files is reached; raise ulimit -n",
                              all_.size()));
    }
    throw Error("the counters are no longer available: " + perf_event_absence(-counter));
  }

  void open_thread(int thread) {
    int leader = -1;
    for (std::size_t i = 0; i < of_events_.size(); ++i) {
      if (!from_.events_.available[i]) continue;
      CounterRequest request = from_.events_.request(i);
      request.thread = thread;
      request.leader = leader;
      int counter = leader < 0 ? -EINVAL : from_.kernel_->open(request);
      if (counter >= 0) {
        all_.push_back(counter);
      } else {
        // A group larger than the hardware is refused: open a separate, multiplexed counter.
        request.leader = -1;
        counter = opened(request);
        if (counter < 0) return;  // the thread has ended
        leaders_.push_back(counter);
        if (leader < 0) leader = counter;
      }
      of_events_[i].push_back(counter);
    }
  }

  void close() {
    // In reverse: leaders were opened before their groups.
    for (; !all_.empty(); all_.pop_back()) from_.kernel_->close(all_.back());
  }

  const ProcessCounters& from_;
  std::vector<int> all_, leaders_;
  std::vector<std::vector<int>> of_events_;  ///< a counter per thread
  std::vector<int> of_controllers_;
};

ProcessCounters::ProcessCounters(CounterKernel& kernel, std::span<const CounterEvent> events,
                                 const std::vector<ControllerEvent>& controllers)
    : kernel_(&kernel), events_(countable_events(kernel, events)) {
  controllers_absence_ = controllers.empty() ? kNoController : "";
  for (const ControllerEvent& event : controllers) {
    const int counter = kernel_->open(request_of(event));
    if (counter >= 0) {
      kernel_->close(counter);
      continue;
    }
    // Some controllers would not count all bytes.
    controllers_absence_ = controller_absence(-counter);
    break;
  }
  if (controllers_absence_.empty()) controllers_ = controllers;
}

std::string ProcessCounters::text() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < events_.events.size(); ++i) {
    std::string name = events_.events[i].name;
    std::ranges::replace(name, '_', ' ');
    if (events_.available[i]) names.push_back(std::move(name));
  }
  std::string text = names.empty() ? "none: " + events_.absence : join(names, ", ");
  if (!names.empty() && events_.user_space) text += " (user space only)";
  if (!names.empty() && !events_.absence.empty()) text += "; not the others: " + events_.absence;
  if (!controllers_.empty()) {
    std::set<std::string> units;
    for (const ControllerEvent& event : controllers_)
      units.insert(fmt::format("{}@{}", event.unit, event.cpu));
    return text + "; bytes of " + counted(units.size(), "memory controller");
  }
  // Without any counter, a missing controller adds no information.
  if (names.empty() && controllers_absence_ == kNoController) return text;
  return text + "; memory controllers: " + controllers_absence_;
}

CounterScope ProcessCounters::scope() const {
  if (!events_.any()) return CounterScope::kNone;
  return events_.user_space ? CounterScope::kUserSpace : CounterScope::kAll;
}

WorkCounts ProcessCounters::count(const std::function<void()>& run) const {
  Opened counters(*this);
  const auto began = Clock::now();
  counters.start();
  try {
    run();
  } catch (...) {
    counters.stop();
    throw;
  }
  counters.stop();
  const std::chrono::duration<double> took = Clock::now() - began;

  WorkCounts counts;
  const std::array<std::optional<double>*, kWorkEvents.size()> places{&counts.instructions, &counts.cycles,
                                                                      &counts.cache_misses};
  for (std::size_t i = 0; i < std::min(events_.events.size(), places.size()); ++i) {
    const Sum sum = counters.of_event(i);
    *places.at(i) = sum.value();
    counts.share = std::min(counts.share, sum.value() ? sum.share() : 1);
  }
  if (!controllers_.empty()) count_controllers(counters, took.count(), counts);
  return counts;
}

void ProcessCounters::count_controllers(Opened& counters, double took_s, WorkCounts& counts) const {
  const std::vector<CounterReading> after = counters.controllers();
  const auto idle_from = Clock::now();
  counters.start_controllers();
  std::this_thread::sleep_for(
      std::clamp<std::chrono::duration<double>>(std::chrono::duration<double>(took_s), kMinIdle, kMaxIdle));
  counters.stop_controllers();
  const std::chrono::duration<double> idle = Clock::now() - idle_from;
  const std::vector<CounterReading> at_end = counters.controllers();

  Sum moved, written, background;
  bool tells_writes = true;
  for (std::size_t i = 0; i < controllers_.size(); ++i) {
    const ControllerEvent& event = controllers_[i];
    if (after[i].enabled_ns == 0) return;
    moved.add(after[i], event.bytes_per_count);
    background.add(difference(at_end[i], after[i]), event.bytes_per_count);
    if (event.traffic == ControllerEvent::Traffic::kWrite) written.add(after[i], event.bytes_per_count);
    tells_writes = tells_writes && event.traffic != ControllerEvent::Traffic::kBoth;
  }
  counts.memory_bytes = moved.value();
  if (!counts.memory_bytes) return;
  if (tells_writes) counts.memory_bytes_written = written.value();
  counts.share = std::min(counts.share, moved.share());
  counts.background_bytes = background.value().value_or(0) * took_s / idle.count();
}

}  // namespace headroom

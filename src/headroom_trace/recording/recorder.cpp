// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/recording/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "headroom/base/error.h"

namespace headroom::trace {
namespace {

constexpr double kLeastForARateNs = 10e6;
constexpr double kMostRateError = 0.01;

template <typename Clock>
std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

/// Below the host, as in Kineto.
constexpr std::int64_t kFirstDeviceSortIndex = 5'000'000;

Json properties_of(const DeviceDescription& device) {
  return {{"id", device.id},
          {"name", device.name},
          {"totalGlobalMem", device.memory_bytes},
          {"computeMajor", device.compute_major},
          {"computeMinor", device.compute_minor},
          {"maxThreadsPerBlock", device.max_threads_per_block},
          {"maxThreadsPerMultiprocessor", device.max_threads_per_multiprocessor},
          {"regsPerBlock", device.registers_per_block},
          {"warpSize", device.warp_size},
          {"sharedMemPerBlock", device.shared_memory_per_block},
          {"numSms", device.multiprocessors},
          {"regsPerMultiprocessor", device.registers_per_multiprocessor},
          {"sharedMemPerBlockOptin", device.shared_memory_per_block_optin},
          {"sharedMemPerMultiprocessor", device.shared_memory_per_multiprocessor}};
}

double product(const std::array<std::int32_t, 3>& extent) {
  return static_cast<double>(extent[0]) * extent[1] * extent[2];
}

/// Kineto's estimate.
void add_occupancy(const KernelShape& kernel, const DeviceDescription& device, Json& arguments) {
  if (device.multiprocessors <= 0 || device.warp_size <= 0) return;
  const double threads = product(kernel.block);
  const double blocks = product(kernel.grid) / device.multiprocessors;
  arguments["blocks per SM"] = blocks;
  arguments["warps per SM"] = blocks * threads / device.warp_size;
  if (kernel.resident_blocks <= 0 || device.max_threads_per_multiprocessor <= 0) return;
  const double resident = std::min<double>(kernel.resident_blocks, blocks);
  arguments["est. achieved occupancy %"] =
      std::lround(resident * threads / device.max_threads_per_multiprocessor * 100);
}

class ActivityFile {
 public:
  ActivityFile(const std::filesystem::path& file, const DeviceActivity& activity)
      : activity_(activity), file_(file, head_of(activity)) {
    for (const DeviceDescription& device : activity.devices) devices_[device.id] = &device;
    choose_calls();
  }

  void write() {
    name_host();
    name_devices();
    for (std::size_t i = 0; i < activity_.steps.size(); ++i) {
      const HostSpan& step = activity_.steps[i];
      file_.add(complete_event("user_annotation", step_name(i), {activity_.process, step.thread},
                               since_base(step.start_ns), step.end_ns - step.start_ns, Json::object()));
    }
    for (const ApiCall* call : calls_) add_call(*call);
    std::vector<const RecordedWork*> work;
    for (const RecordedWork& one : activity_.work) work.push_back(&one);
    std::ranges::stable_sort(work, {}, &RecordedWork::start_ns);
    for (const RecordedWork* one : work) add_work(*one);
    if (activity_.dropped_records > 0) warn_dropped();
    file_.finish();
  }

 private:
  static KinetoHeader head_of(const DeviceActivity& activity) {
    KinetoHeader head;
    head.base_unix_ns = activity.started.unix_ns;
    head.recorded_by = activity.recorded_by;
    for (const DeviceDescription& device : activity.devices)
      head.device_properties.push_back(properties_of(device));
    head.further_members["dropped_records"] = activity.dropped_records;
    return head;
  }

  std::int64_t since_base(std::int64_t steady_ns) const { return steady_ns - activity_.started.steady_ns; }

  /// By start, without driver calls inside runtime calls.
  void choose_calls() {
    std::map<std::int64_t, std::vector<const ApiCall*>> runtime_by_thread;
    for (const ApiCall& call : activity_.calls) {
      if (!call.is_driver) runtime_by_thread[call.thread].push_back(&call);
    }
    for (auto& [thread, calls] : runtime_by_thread) std::ranges::sort(calls, {}, &ApiCall::start_ns);
    for (const ApiCall& call : activity_.calls) {
      if (!call.is_driver || !is_within(call, runtime_by_thread[call.thread])) calls_.push_back(&call);
    }
    // Readers expect enclosing calls first.
    std::ranges::stable_sort(calls_, [](const ApiCall* a, const ApiCall* b) {
      return std::pair(a->start_ns, -a->end_ns) < std::pair(b->start_ns, -b->end_ns);
    });
    for (const ApiCall* call : calls_) caller_.try_emplace(call->correlation, call);
  }

  /// Calls nest or follow one another.
  static bool is_within(const ApiCall& call, const std::vector<const ApiCall*>& by_start) {
    const auto after = std::ranges::upper_bound(by_start, call.start_ns, {}, &ApiCall::start_ns);
    return after != by_start.begin() && call.end_ns <= (*std::prev(after))->end_ns;
  }

  void name_host() {
    const std::int64_t process = activity_.process;
    file_.name_process(process, activity_.program);
    file_.label_process(process, "CPU");
    file_.set_process_order(process, process);
    std::set<std::int64_t> threads;
    for (const HostSpan& step : activity_.steps) threads.insert(step.thread);
    for (const ApiCall* call : calls_) threads.insert(call->thread);
    for (const std::int64_t thread : threads) {
      file_.name_thread(process, thread, fmt::format("thread {}", thread));
      file_.set_thread_order(process, thread, thread);
    }
  }

  void name_devices() {
    std::map<std::int32_t, std::set<std::int32_t>> streams;
    for (const RecordedWork& work : activity_.work) streams[work.device].insert(work.stream);
    for (const auto& [device, its_streams] : streams) {
      file_.name_process(device, activity_.program);
      file_.label_process(device, fmt::format("GPU {}", device));
      file_.set_process_order(device, kFirstDeviceSortIndex + device);
      for (const std::int32_t stream : its_streams) {
        file_.name_thread(device, stream, fmt::format("stream {}", stream));
        file_.set_thread_order(device, stream, stream);
      }
    }
  }

  void add_call(const ApiCall& call) {
    file_.add(complete_event(call.is_driver ? "cuda_driver" : "cuda_runtime", call.name,
                             {activity_.process, call.thread}, since_base(call.start_ns),
                             call.end_ns - call.start_ns,
                             {{"cbid", call.function}, {"correlation", call.correlation}}));
  }

  void add_work(const RecordedWork& work) {
    Json arguments{{"device", work.device},
                   {"context", work.context},
                   {"stream", work.stream},
                   {"correlation", work.correlation}};
    if (work.graph != 0) arguments["graph id"] = work.graph;
    const auto [category, name] =
        std::visit([&](const auto& shape) { return describe(shape, work, arguments); }, work.shape);
    file_.add(complete_event(category, name, {work.device, work.stream}, since_base(work.start_ns),
                             work.end_ns - work.start_ns, std::move(arguments)));
    add_arrow(work);
  }

  using Description = std::pair<const char*, std::string>;  ///< category and name

  Description describe(const KernelShape& kernel, const RecordedWork& work, Json& arguments) const {
    arguments["queued"] = 0;
    arguments["registers per thread"] = kernel.registers_per_thread;
    arguments["shared memory"] = kernel.shared_memory_bytes;
    arguments["grid"] = kernel.grid;
    arguments["block"] = kernel.block;
    if (const auto device = devices_.find(work.device); device != devices_.end())
      add_occupancy(kernel, *device->second, arguments);
    return {"kernel", work.name};
  }

  Description describe(const CopyShape& copy, const RecordedWork& work, Json& arguments) const {
    add_bytes(copy.bytes, work, arguments);
    return {"gpu_memcpy", fmt::format("Memcpy {} ({} -> {})", copy.kind, copy.from, copy.to)};
  }

  Description describe(const SetShape& set, const RecordedWork& work, Json& arguments) const {
    add_bytes(set.bytes, work, arguments);
    return {"gpu_memset", fmt::format("Memset ({})", set.memory)};
  }

  static void add_bytes(std::int64_t bytes, const RecordedWork& work, Json& arguments) {
    arguments["bytes"] = bytes;
    const std::int64_t ns = work.end_ns - work.start_ns;
    if (ns > 0) arguments["memory bandwidth (GB/s)"] = static_cast<double>(bytes) / static_cast<double>(ns);
  }

  /// A graph launch has one start and many ends.
  void add_arrow(const RecordedWork& work) {
    const auto found = caller_.find(work.correlation);
    if (found == caller_.end()) return;
    const ApiCall& call = *found->second;
    if (started_arrows_.insert(work.correlation).second)
      file_.add(arrow("s", work.correlation, {activity_.process, call.thread}, call.start_ns));
    Json end = arrow("f", work.correlation, {work.device, work.stream}, work.start_ns);
    end["bp"] = "e";
    file_.add(end);
  }

  Json arrow(const char* phase, std::int64_t id, KinetoThread place, std::int64_t at_ns) const {
    return {{"ph", phase},
            {"id", id},
            {"pid", place.process},
            {"tid", place.thread},
            {"ts", static_cast<double>(since_base(at_ns)) / 1e3},
            {"cat", "ac2g"},
            {"name", "ac2g"}};
  }

  void warn_dropped() {
    file_.add({{"ph", "i"},
               {"s", "g"},
               {"name", fmt::format("{} records of the device were dropped", activity_.dropped_records)},
               {"pid", activity_.process},
               {"tid", 0},
               {"ts", 0}});
  }

  const DeviceActivity& activity_;
  KinetoFile file_;
  std::map<std::int32_t, const DeviceDescription*> devices_;
  std::vector<const ApiCall*> calls_;
  std::unordered_map<std::int64_t, const ApiCall*> caller_;  ///< by correlation
  std::set<std::int64_t> started_arrows_;
};

}  // namespace

ClockReading read_clocks() {
  const std::int64_t unix_ns = now_ns<std::chrono::system_clock>();
  return {now_ns<std::chrono::steady_clock>(), unix_ns};
}

ClockMap::ClockMap(ClockPair earlier, ClockPair later) : origin_(earlier) {
  const auto from = static_cast<double>(later.from_ns - earlier.from_ns);
  const auto to = static_cast<double>(later.to_ns - earlier.to_ns);
  const bool went_back = from < 0 || to < 0;
  const bool tells_rate = from >= kLeastForARateNs && to >= kLeastForARateNs;
  if (tells_rate) rate_ = to / from;
  if (went_back || std::abs(rate_ - 1) > kMostRateError) {
    throw Error(
        fmt::format("the recorder's clock advanced {:.6f} s but the system clock {:.6f} s: one of them was "
                    "set during the recording; record again",
                    from / 1e9, to / 1e9));
  }
}

std::int64_t ClockMap::operator()(std::int64_t from_ns) const {
  return origin_.to_ns + std::llround(static_cast<double>(from_ns - origin_.from_ns) * rate_);
}

KinetoFile::KinetoFile(const std::filesystem::path& file, const KinetoHeader& head) : writer_(file) {
  Json json{{"schemaVersion", 1},         {"deviceProperties", head.device_properties},
            {"displayTimeUnit", "ms"},    {"baseTimeNanoseconds", head.base_unix_ns},
            {"traceName", file.string()}, {"recorded_by", head.recorded_by}};
  json.update(head.further_members);
  // Events last: tools looking for the rank stop there.
  std::string text = dump_json(json);
  text.back() = ',';
  writer_.write(text + "\n\"traceEvents\":[\n");
}

void KinetoFile::describe(const char* what, std::int64_t process, std::int64_t thread, Json arguments) {
  add({{"ph", "M"},
       {"name", what},
       {"pid", process},
       {"tid", thread},
       {"ts", 0},
       {"args", std::move(arguments)}});
}

void KinetoFile::name_process(std::int64_t process, const std::string& name) {
  describe("process_name", process, 0, {{"name", name}});
}

void KinetoFile::label_process(std::int64_t process, const std::string& labels) {
  describe("process_labels", process, 0, {{"labels", labels}});
}

void KinetoFile::name_thread(std::int64_t process, std::int64_t thread, const std::string& name) {
  describe("thread_name", process, thread, {{"name", name}});
}

void KinetoFile::set_process_order(std::int64_t process, std::int64_t sort_index) {
  describe("process_sort_index", process, 0, {{"sort_index", sort_index}});
}

void KinetoFile::set_thread_order(std::int64_t process, std::int64_t thread, std::int64_t sort_index) {
  describe("thread_sort_index", process, thread, {{"sort_index", sort_index}});
}

void KinetoFile::add(const Json& event) {
  writer_.write((is_first_ ? "" : ",\n") + dump_json(event));
  is_first_ = false;
}

void KinetoFile::finish() {
  writer_.write("\n]}\n");
  writer_.finish();
}

Json complete_event(const char* category, const std::string& name, KinetoThread place, std::int64_t start_ns,
                    std::int64_t duration_ns, Json arguments) {
  return {{"ph", "X"},
          {"cat", category},
          {"name", name},
          {"pid", place.process},
          {"tid", place.thread},
          {"ts", static_cast<double>(start_ns) / 1e3},
          {"dur", static_cast<double>(duration_ns) / 1e3},
          {"args", std::move(arguments)}};
}

std::string step_name(std::size_t step) {
  return "ProfilerStep#" + std::to_string(step);
}

void write_device_activity(const std::filesystem::path& file, const DeviceActivity& activity) {
  ActivityFile(file, activity).write();
}

}  // namespace headroom::trace

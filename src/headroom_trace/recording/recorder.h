// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "headroom/base/json.h"
#include "headroom/files/compressed_file.h"
#include "headroom_trace/columns/trace.h"

namespace headroom::trace {

/// The result of a recorder: the file that it wrote, or the trace itself.
using Recording = std::variant<std::filesystem::path, Trace>;

/// Records device work while a program runs. Recorders for an engine (torch's profiler, CUPTI) come with the
/// runners that link it.
class Recorder {
 public:
  virtual ~Recorder() = default;
  /// Throws Error when it cannot record.
  virtual void start() = 0;
  /// Ends the recording; called once for each start(), even if the recorded code threw.
  virtual Recording stop() = 0;
};

/// For Registry::trace_with: records one call of `run` into `file`. If `run` throws, the recorder's
/// destructor ends the recording and nothing is written.
template <typename FileRecorder>
void record_call(const std::string& file, const std::function<void()>& run) {
  FileRecorder recorder(file);
  recorder.start();
  run();
  recorder.stop();
}

/// One moment on the steady clock and on the system clock.
struct ClockReading {
  std::int64_t steady_ns = 0;  ///< std::chrono::steady_clock
  std::int64_t unix_ns = 0;    ///< std::chrono::system_clock
};

ClockReading read_clocks();

/// The same moment on two clocks.
struct ClockPair {
  std::int64_t from_ns = 0, to_ns = 0;
};

/// Converts times of a foreign clock (a device's, a profiler's) to ours. Clocks differ in offset and, by
/// parts per million, in rate: two pairs give both. Pairs less than 10 ms apart give the offset only, because
/// their reading error would dominate the rate.
class ClockMap {
 public:
  /// Throws Error if the later pair is before the earlier on either clock, or if the rates differ by more
  /// than 1 % (a clock was set).
  ClockMap(ClockPair earlier, ClockPair later);

  /// Returns nanoseconds of the second clock, for times outside the pairs too.
  std::int64_t operator()(std::int64_t from_ns) const;

 private:
  ClockPair origin_;
  double rate_ = 1;  ///< nanoseconds of the second clock for one of the first
};

/// The header of a trace.
struct KinetoHead {
  std::int64_t base_unix_ns = 0;           ///< from which the events' times count
  std::string recorded_by;                 ///< program and engine, with versions
  Json device_properties = Json::array();  ///< one object for each device, as Kineto writes them
  Json further_members = Json::object();   ///< additional members
};

/// Writes a trace file as PyTorch's Kineto does ("traceEvents" of the Trace Event Format, times in
/// microseconds), readable by `headroom trace`, Perfetto and Holistic Trace Analysis. Compressed for names
/// ending in .gz or .zst. Without finish() there is no file. Functions throw Error naming the file.
class KinetoFile {
 public:
  KinetoFile(const std::filesystem::path& file, const KinetoHead& head);

  void name_process(std::int64_t process, const std::string& name);
  /// "CPU", "GPU 0". PyTorch's compute_utilization finds device work by the "GPU" in it.
  void label_process(std::int64_t process, const std::string& labels);
  void name_thread(std::int64_t process, std::int64_t thread, const std::string& name);
  /// Viewers draw the lowest index first.
  void place_process(std::int64_t process, std::int64_t sort_index);
  void place_thread(std::int64_t process, std::int64_t thread, std::int64_t sort_index);
  void add(const Json& event);
  /// Once, after the last event.
  void finish();

 private:
  void describe(const char* what, std::int64_t process, std::int64_t thread, Json arguments);

  FileWriter writer_;
  bool is_first_ = true;
};

/// The track of an event: a process and thread of the host, or a device and its stream.
struct KinetoPlace {
  std::int64_t process = 0, thread = 0;
};

/// Makes an event with a duration; `start_ns` counts from the base of the trace.
Json complete_event(const char* category, const std::string& name, KinetoPlace place, std::int64_t start_ns,
                    std::int64_t duration_ns, Json arguments);

/// "ProfilerStep#3": readers take it for the fourth step.
std::string step_name(std::size_t step);

/// A device in Kineto's "deviceProperties".
struct DeviceDescription {
  std::int32_t id = 0;
  std::string name;
  std::int64_t memory_bytes = 0;
  std::int32_t compute_major = 0, compute_minor = 0;
  std::int32_t multiprocessors = 0;
  std::int32_t warp_size = 32;
  std::int32_t max_threads_per_block = 0, max_threads_per_multiprocessor = 0;
  std::int32_t registers_per_block = 0, registers_per_multiprocessor = 0;
  std::int64_t shared_memory_per_block = 0, shared_memory_per_block_optin = 0,
               shared_memory_per_multiprocessor = 0;  ///< bytes
};

/// A kernel as it was launched.
struct KernelShape {
  std::array<std::int32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  std::int32_t registers_per_thread = 0;
  std::int64_t shared_memory_bytes = 0;  ///< of a block, static and dynamic
  std::int32_t resident_blocks = 0;      ///< blocks that fit on a multiprocessor at once; 0: unknown
};
struct CopyShape {
  std::string kind;      ///< "DtoH"
  std::string from, to;  ///< kinds of memory: "Device", "Pinned"
  std::int64_t bytes = 0;
};
struct SetShape {
  std::string memory;  ///< kind of memory: "Device"
  std::int64_t bytes = 0;
};

/// A piece of work of a device.
struct RecordedWork {
  std::variant<KernelShape, CopyShape, SetShape> shape;
  std::string name;  ///< of a kernel; copies and sets are named by their shape
  std::int32_t device = 0, context = 0, stream = 0;
  std::int64_t correlation = 0;           ///< of the launching call
  std::int64_t graph = 0;                 ///< the graph that launched it; 0: none
  std::int64_t start_ns = 0, end_ns = 0;  ///< on the steady clock of the host
};

/// A call of CUDA's runtime or driver.
struct ApiCall {
  std::string name;  ///< "cudaLaunchKernel"
  bool is_driver = false;
  std::int32_t function = 0;  ///< the tracer's number ("cbid")
  std::int64_t thread = 0;    ///< the thread id of the OS kernel
  std::int64_t correlation = 0;
  std::int64_t start_ns = 0, end_ns = 0;  ///< on the steady clock of the host
};

/// A named time span of the program.
struct HostSpan {
  std::int64_t thread = 0;
  std::int64_t start_ns = 0, end_ns = 0;  ///< on the steady clock of the host
};

/// Everything that a device API tracer recorded of one process.
struct DeviceActivity {
  ClockReading started;  ///< from which the times of the file count
  std::string program, recorded_by;
  std::int64_t process = 0;
  std::vector<DeviceDescription> devices;
  std::vector<RecordedWork> work;
  std::vector<ApiCall> calls;
  std::vector<HostSpan> steps;
  std::int64_t dropped_records = 0;  ///< lost for lack of buffer space
};

/// Writes the activity in Kineto's form (KinetoFile): kernels, copies and sets on streams of the process
/// labelled "GPU 0", host calls, and arrows ("ac2g") from calls to their work. Omits driver calls made within
/// a runtime call. `file` is complete or absent. Throws Error.
void write_device_activity(const std::filesystem::path& file, const DeviceActivity& activity);

}  // namespace headroom::trace

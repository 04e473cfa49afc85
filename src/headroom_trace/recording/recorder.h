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

using Recording = std::variant<std::filesystem::path, Trace>;

/// Implemented by runners that link an engine (torch's profiler, CUPTI).
class Recorder {
 public:
  virtual ~Recorder() = default;
  /// Throws Error if it cannot record.
  virtual void start() = 0;
  /// Called once after each start(), even after an exception.
  virtual Recording stop() = 0;
};

/// For Registry::trace_with. Writes nothing if `run` throws.
template <typename FileRecorder>
void record_call(const std::string& file, const std::function<void()>& run) {
  FileRecorder recorder(file);
  recorder.start();
  run();
  recorder.stop();
}

/// Simultaneous readings of two clocks.
struct ClockReading {
  std::int64_t steady_ns = 0;
  std::int64_t unix_ns = 0;
};

ClockReading read_clocks();

/// One moment on two clocks.
struct ClockPair {
  std::int64_t from_ns = 0, to_ns = 0;
};

/// Converts times of a foreign clock. Pairs less than 10 ms apart give only the offset, as reading errors
/// would dominate the rate.
class ClockMap {
 public:
  /// Throws Error if a clock goes back or the rates differ by more than 1 % (a clock was set).
  ClockMap(ClockPair earlier, ClockPair later);

  std::int64_t operator()(std::int64_t from_ns) const;

 private:
  ClockPair origin_;
  double rate_ = 1;  ///< second clock / first
};

struct KinetoHeader {
  std::int64_t base_unix_ns = 0;  ///< origin of the events' times
  std::string recorded_by;        ///< with versions
  Json device_properties = Json::array();
  Json further_members = Json::object();
};

/// A trace in Kineto's format. Compressed for .gz and .zst. No file without finish(). Throws Error naming the
/// file.
class KinetoFile {
 public:
  KinetoFile(const std::filesystem::path& file, const KinetoHeader& head);

  void name_process(std::int64_t process, const std::string& name);
  /// PyTorch's compute_utilization looks for "GPU".
  void label_process(std::int64_t process, const std::string& labels);
  void name_thread(std::int64_t process, std::int64_t thread, const std::string& name);
  /// Lowest first.
  void set_process_order(std::int64_t process, std::int64_t sort_index);
  void set_thread_order(std::int64_t process, std::int64_t thread, std::int64_t sort_index);
  void add(const Json& event);
  /// Once.
  void finish();

 private:
  void describe(const char* what, std::int64_t process, std::int64_t thread, Json arguments);

  FileWriter writer_;
  bool is_first_ = true;
};

/// Host process and thread, or device and stream.
struct KinetoThread {
  std::int64_t process = 0, thread = 0;
};

/// `start_ns` counts from the base of the trace.
Json complete_event(const char* category, const std::string& name, KinetoThread place, std::int64_t start_ns,
                    std::int64_t duration_ns, Json arguments);

/// "ProfilerStep#3".
std::string step_name(std::size_t step);

/// As in Kineto's "deviceProperties".
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

struct KernelShape {
  std::array<std::int32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  std::int32_t registers_per_thread = 0;
  std::int64_t shared_memory_bytes = 0;  ///< per block
  std::int32_t resident_blocks = 0;      ///< per multiprocessor; 0: unknown
};
struct CopyShape {
  std::string kind;      ///< "DtoH"
  std::string from, to;  ///< kinds of memory: "Device", "Pinned"
  std::int64_t bytes = 0;
};
struct SetShape {
  std::string memory;
  std::int64_t bytes = 0;
};

struct RecordedWork {
  std::variant<KernelShape, CopyShape, SetShape> shape;
  std::string name;  ///< for kernels only
  std::int32_t device = 0, context = 0, stream = 0;
  std::int64_t correlation = 0;
  std::int64_t graph = 0;                 ///< 0: none
  std::int64_t start_ns = 0, end_ns = 0;  ///< on the host's steady clock
};

struct ApiCall {
  std::string name;  ///< "cudaLaunchKernel"
  bool is_driver = false;
  std::int32_t function = 0;  ///< the tracer's number ("cbid")
  std::int64_t thread = 0;    ///< OS thread id
  std::int64_t correlation = 0;
  std::int64_t start_ns = 0, end_ns = 0;  ///< on the host's steady clock
};

struct HostSpan {
  std::int64_t thread = 0;
  std::int64_t start_ns = 0, end_ns = 0;  ///< on the host's steady clock
};

/// Of one process.
struct DeviceActivity {
  ClockReading started;  ///< origin of the file's times
  std::string program, recorded_by;
  std::int64_t process = 0;
  std::vector<DeviceDescription> devices;
  std::vector<RecordedWork> work;
  std::vector<ApiCall> calls;
  std::vector<HostSpan> steps;
  std::int64_t dropped_records = 0;
};

/// Writes a KinetoFile: device work on streams of processes labelled "GPU 0", host calls, and arrows
/// ("ac2g"). Omits driver calls within a runtime call. `file` is complete or absent. Throws Error.
void write_device_activity(const std::filesystem::path& file, const DeviceActivity& activity);

}  // namespace headroom::trace

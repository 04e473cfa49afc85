// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "headroom/trace/recording/recording_clock.h"

namespace headroom::trace {

/// What Kineto says of a device in "deviceProperties".
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
  std::int32_t resident_blocks = 0;      ///< that fit on a multiprocessor at the same time; 0: not known
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
  std::int64_t correlation = 0;           ///< that of the call that launched it
  std::int64_t graph = 0;                 ///< the graph that it was launched with; 0: none
  std::int64_t start_ns = 0, end_ns = 0;  ///< on the steady clock of the host
};

/// A call of CUDA's runtime or driver.
struct ApiCall {
  std::string name;  ///< "cudaLaunchKernel"
  bool is_driver = false;
  std::int32_t function = 0;  ///< the tracer's number of it ("cbid")
  std::int64_t thread = 0;    ///< the kernel's number of it
  std::int64_t correlation = 0;
  std::int64_t start_ns = 0, end_ns = 0;  ///< on the steady clock of the host
};

/// A time in which a program did something that a person named.
struct HostSpan {
  std::int64_t thread = 0;
  std::int64_t start_ns = 0, end_ns = 0;  ///< on the steady clock of the host
};

/// Everything that a tracer of a device's API saw while it recorded one process.
struct DeviceActivity {
  ClockReading started;  ///< from which the times of the file count
  std::string program, recorded_by;
  std::int64_t process = 0;
  std::vector<DeviceDescription> devices;
  std::vector<RecordedWork> work;
  std::vector<ApiCall> calls;
  std::vector<HostSpan> steps;
  std::int64_t dropped_records = 0;  ///< that the tracer had no room for
};

/// Writes it in Kineto's form (kineto_file.h): kernels, copies and sets on streams of the process that is
/// labelled "GPU 0", calls of the host, and arrows ("ac2g") from calls to the work that they launched. Calls
/// of the driver from within a call of the runtime are left out: they are its own. `file` is whole or absent.
/// Throws Error.
void write_device_activity(const std::filesystem::path& file, const DeviceActivity& activity);

}  // namespace headroom::trace

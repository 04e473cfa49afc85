// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::trace {

using NameId = std::uint32_t;
inline constexpr NameId kNoName = 0xffffffffU;

/// Views stay valid, even if the table is moved.
class Names {
 public:
  Names() = default;
  Names(Names&&) = default;
  Names& operator=(Names&&) = default;

  NameId intern(std::string_view text);
  /// Or kNoName.
  NameId find(std::string_view text) const;
  std::string_view operator[](NameId id) const { return id == kNoName ? std::string_view{} : texts_[id]; }
  std::size_t size() const { return texts_.size(); }

 private:
  std::vector<std::string_view> texts_;
  std::vector<std::uint64_t> hashes_;
  std::vector<NameId> slots_;  ///< open addressing; kNoName: free
  std::deque<std::string> blocks_;
  void grow();
  std::size_t slot_of(std::string_view text, std::uint64_t hash) const;
};

/// By "cat" in old and new Kineto, ROCm, MTIA, XPU and JAX files.
enum class Category : std::uint8_t {
  kKernel,          ///< kernel, Kernel, mtia_ccp_events
  kGpuMemcpy,       ///< gpu_memcpy, Memcpy
  kGpuMemset,       ///< gpu_memset, Memset
  kGpuAnnotation,   ///< gpu_user_annotation: not device work
  kGpuSync,         ///< cuda_sync, hip_sync: not device work
  kRuntime,         ///< cuda_runtime, Runtime, hip_runtime, mtia_runtime, xpu_runtime, privateuse1_runtime
  kDriver,          ///< cuda_driver, xpu_driver, privateuse1_driver
  kCpuOp,           ///< cpu_op, Operator
  kUserAnnotation,  ///< user_annotation: record_function, ProfilerStep#N, DataLoader
  kPython,          ///< python_function
  kOverhead,
  kOther
};

constexpr bool is_gpu_work(Category category) {
  return category <= Category::kGpuMemset;
}

inline constexpr std::int64_t kNoCorrelation = -1;
inline constexpr std::uint32_t kNone = 0xffffffffU;

/// Events with a duration (X, and B with its E). Columns in file order.
struct Events {
  std::vector<std::int64_t> start_ns;     ///< exact, with base time
  std::vector<std::int64_t> duration_ns;  ///< not negative
  std::vector<NameId> name;
  std::vector<std::uint32_t> thread;  ///< row of Trace::threads
  std::vector<Category> category;
  std::vector<std::int64_t> correlation;  ///< kNoCorrelation: none
  std::vector<std::uint32_t> detail;      ///< row of Trace::gpu, ops or syncs, or kNone

  std::size_t size() const { return start_ns.size(); }
  std::int64_t end_ns(std::size_t event) const { return start_ns[event] + duration_ns[event]; }
};

struct Thread {
  std::string pid, tid;  ///< numbers or text
  std::string process_name, process_labels, thread_name;
};

struct GpuDetail {
  std::uint32_t event = 0;   ///< row of Trace::events
  std::int32_t device = -1;  ///< -1: unknown
  std::int64_t stream = -1;
  std::int64_t external_id = -1;  ///< of the launching op
  double bytes = -1;              ///< of a copy or set
  double bandwidth_gb_s = -1;     ///< "memory bandwidth (GB/s)"
  float blocks_per_sm = -1, warps_per_sm = -1;
  float occupancy_percent = -1;  ///< "est. achieved occupancy %"
  std::int32_t registers_per_thread = -1;
  std::uint32_t grid[3] = {0, 0, 0}, block[3] = {0, 0, 0};  ///< zeros: unknown
  std::uint32_t collective = kNone;                         ///< row of Trace::collectives
};

/// An operator's arguments as the file's JSON text.
struct OpDetail {
  std::uint32_t event = 0;
  std::int64_t external_id = -1;
  std::int64_t sequence = -1;  ///< "Sequence number": joins forward and backward
  std::int64_t forward_thread = -1;
  NameId dims = kNoName, types = kNoName, strides = kNoName,
         values = kNoName;  ///< "Input Dims", "Input type", ...
  NameId stack = kNoName;   ///< "Call stack"
  std::uint32_t collective = kNone;
};

/// Arguments of a GPU kernel or a record_param_comms op.
struct Collective {
  NameId name = kNoName;   ///< "allreduce"
  NameId group = kNoName;  ///< "Process Group Name"
  NameId ranks = kNoName;  ///< "Process Group Ranks", as text
  NameId dtype = kNoName;
  double elements_in = -1, elements_out = -1;
  std::int32_t group_size = -1;
};

/// cuda_sync
struct SyncDetail {
  std::uint32_t event = 0;
  NameId kind = kNoName;  ///< "Stream Sync", "Event Sync", "Context Sync", "Stream Wait Event"
  std::int32_t device = -1;
  std::int64_t stream = -1, wait_on_stream = -1;
  std::int64_t wait_on_event_record_correlation = -1, wait_on_event_id = -1;
};

/// "[memory]"
struct MemoryEvent {
  std::int64_t at_ns = 0;
  std::int32_t device_type = -1;  ///< as in torch: 0 CPU, 1 CUDA
  std::int32_t device = -1;
  std::int64_t bytes = 0;  ///< negative: freed
  std::int64_t address = 0;
  std::int64_t total_allocated = -1, total_reserved = -1;
  std::uint32_t thread = kNone;  ///< row of Trace::threads
  NameId stack = kNoName;        ///< "Call stack": "file.py(41): func;...", innermost first
  bool is_held_before = false;   ///< before the recording
};

/// Final state of an allocator, from a memory snapshot.
struct MemoryPool {
  std::int32_t device_type = -1, device = -1;
  std::int64_t segments = 0;
  std::int64_t reserved_bytes = 0;        ///< active, free whole and inactive split
  std::int64_t active_bytes = 0;          ///< blocks in use, rounded up
  std::int64_t requested_bytes = 0;       ///< part of active_bytes
  std::int64_t waiting_bytes = 0;         ///< part of active_bytes: freed, waiting for a stream
  std::int64_t free_whole_bytes = 0;      ///< unused segments: returnable to the driver
  std::int64_t inactive_split_bytes = 0;  ///< free, in used segments: not returnable
  std::int64_t largest_free_bytes = 0;    ///< in one block
  std::int64_t out_of_memory = 0;         ///< failed allocations
  std::int64_t wanted_bytes = 0,
               device_free_bytes = 0;  ///< at the last failure
  NameId wanted_stack = kNoName;       ///< as MemoryEvent::stack
};

/// One end of an arrow: ph s or f.
struct Flow {
  std::int64_t at_ns = 0;
  std::int64_t id = 0;
  std::uint32_t thread = 0;
  NameId category = kNoName;  ///< ac2g, fwdbwd, async_cpu_to_gpu, ...
  bool is_start = false;
};

struct DeviceProperties {
  std::int32_t id = -1;
  std::string name;
  double total_memory_bytes = 0;
  std::int32_t multiprocessors = 0;  ///< numSms
  std::int32_t max_threads_per_multiprocessor = 0;
  std::int32_t warp_size = 32;
  std::int32_t max_warps_per_multiprocessor() const {
    return warp_size > 0 ? max_threads_per_multiprocessor / warp_size : 0;
  }
};

/// Fractions of a nanosecond. Needs kPreciseTimes.
struct PreciseTime {
  std::uint32_t event = 0;  ///< row of Trace::events
  double start_us = 0, duration_us = 0;
};

/// An unreadable place in the file. Not fatal.
struct Problem {
  std::uint64_t offset = 0;  ///< in the decompressed JSON
  std::string what;
};

struct Problems {
  std::uint64_t count = 0;
  std::uint64_t events_skipped = 0;  ///< missing from the columns
  std::vector<Problem> first;        ///< at most kShown, by offset
  static constexpr std::size_t kShown = 20;
};

/// Decides the wording of advice.
enum class Writer : std::uint8_t { kUnknown, kPyTorch, kJax, kNsight, kRocprof, kAscend, kChakra };

struct Trace {
  std::string source;
  Writer writer = Writer::kUnknown;
  std::uint64_t json_bytes = 0, file_bytes = 0;
  // events_seen = events.size() + memory.size() + flows.size() + events_without_columns +
  // events_skipped_by_need + problems.events_skipped.
  std::uint64_t events_seen = 0;
  std::uint64_t events_skipped_by_need = 0;
  std::uint64_t events_without_columns = 0;  ///< thread names, ends of B events, counters, instants...

  Names names;
  Events events;
  std::vector<Thread> threads;
  std::vector<GpuDetail> gpu;
  std::vector<OpDetail> ops;
  std::vector<SyncDetail> syncs;
  std::vector<Collective> collectives;
  std::vector<MemoryEvent> memory;
  std::vector<MemoryPool> memory_pools;
  std::vector<Flow> flows;
  std::vector<DeviceProperties> devices;
  std::vector<PreciseTime> precise_times;

  /// Communication kernels declared by the user; override kernel_type().
  std::vector<std::string> communication_patterns;
  std::int64_t base_time_ns = 0;  ///< added to all times
  std::optional<std::int64_t> rank, world_size;
  std::string communication_backend;
  std::optional<std::int64_t> schema_version;
  bool is_complete = true;  ///< false: truncated
  Problems problems;

  std::string_view event_name(std::size_t event) const { return names[events.name[event]]; }
};

/// The "device" argument, else the process's device, else -1.
std::int32_t device_of(const Trace& trace, const GpuDetail& work);

/// Keeps all memory events, flows and reader counts.
Trace subset(const Trace& trace, const std::vector<bool>& is_kept);

}  // namespace headroom::trace

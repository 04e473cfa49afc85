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

/// Interned text: each distinct text once, numbered in order of first use. Texts never move, so string_views
/// stay valid; the table moves but does not copy.
class Names {
 public:
  Names() = default;
  Names(Names&&) = default;
  Names& operator=(Names&&) = default;

  NameId intern(std::string_view text);
  /// kNoName when the text was never interned.
  NameId find(std::string_view text) const;
  /// "" for kNoName.
  std::string_view operator[](NameId id) const { return id == kNoName ? std::string_view{} : texts_[id]; }
  std::size_t size() const { return texts_.size(); }

 private:
  std::vector<std::string_view> texts_;
  std::vector<std::uint64_t> hashes_;
  std::vector<NameId> slots_;  ///< open addressing; a power of two; kNoName is free
  std::deque<std::string> blocks_;
  void grow();
  std::size_t slot_of(std::string_view text, std::uint64_t hash) const;
};

/// The category of an event, by its "cat" in old and new Kineto, ROCm, MTIA, XPU and JAX files.
enum class Category : std::uint8_t {
  kKernel,          ///< kernel, Kernel, mtia_ccp_events
  kGpuMemcpy,       ///< gpu_memcpy, Memcpy
  kGpuMemset,       ///< gpu_memset, Memset
  kGpuAnnotation,   ///< gpu_user_annotation: no work of the device
  kGpuSync,         ///< cuda_sync, hip_sync: no work of the device
  kRuntime,         ///< cuda_runtime, Runtime, hip_runtime, mtia_runtime, xpu_runtime, privateuse1_runtime
  kDriver,          ///< cuda_driver, xpu_driver, privateuse1_driver
  kCpuOp,           ///< cpu_op, Operator
  kUserAnnotation,  ///< user_annotation: record_function, ProfilerStep#N, DataLoader
  kPython,          ///< python_function
  kOverhead,        ///< overhead: of the profiler itself
  kOther            ///< everything else with a duration
};

/// True for the work of a device: kernels, copies and sets.
constexpr bool is_gpu_work(Category category) {
  return category <= Category::kGpuMemset;
}

inline constexpr std::int64_t kNoCorrelation = -1;
inline constexpr std::uint32_t kNone = 0xffffffffU;

/// The events with a duration: X, and B with its E. Columns of equal length, in file order.
struct Events {
  std::vector<std::int64_t> start_ns;     ///< exact: decimals of the file's microseconds, plus its base time
  std::vector<std::int64_t> duration_ns;  ///< zero or more
  std::vector<NameId> name;
  std::vector<std::uint32_t> thread;  ///< row of Trace::threads
  std::vector<Category> category;
  std::vector<std::int64_t> correlation;  ///< joins a launch with its GPU work; kNoCorrelation without one
  std::vector<std::uint32_t> detail;      ///< row of Trace::gpu, ops or syncs, by the category; or kNone

  std::size_t size() const { return start_ns.size(); }
  std::int64_t end_ns(std::size_t event) const { return start_ns[event] + duration_ns[event]; }
};

/// A (process, thread) pair of the file.
struct Thread {
  std::string pid, tid;  ///< as the file writes them: numbers or text
  std::string process_name, process_labels, thread_name;
};

/// Details of GPU work; one row for each kernel, copy or set event.
struct GpuDetail {
  std::uint32_t event = 0;   ///< row of Trace::events
  std::int32_t device = -1;  ///< -1: not said
  std::int64_t stream = -1;
  std::int64_t external_id = -1;  ///< that of the launching op
  double bytes = -1;              ///< of a copy or set
  double bandwidth_gb_s = -1;     ///< "memory bandwidth (GB/s)"
  float blocks_per_sm = -1, warps_per_sm = -1;
  float occupancy_percent = -1;  ///< "est. achieved occupancy %"
  std::int32_t registers_per_thread = -1;
  std::uint32_t grid[3] = {0, 0, 0}, block[3] = {0, 0, 0};  ///< zeros: not said
  std::uint32_t collective = kNone;                         ///< row of Trace::collectives
};

/// Arguments of an operator, as the file's own JSON text. One row for each kCpuOp or kUserAnnotation event
/// that has any.
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

/// A collective of one rank, from a GPU kernel's or a record_param_comms op's arguments.
struct Collective {
  NameId name = kNoName;   ///< "allreduce"
  NameId group = kNoName;  ///< "Process Group Name"
  NameId ranks = kNoName;  ///< "Process Group Ranks", as text
  NameId dtype = kNoName;
  double elements_in = -1, elements_out = -1;
  std::int32_t group_size = -1;
};

/// A device synchronisation (cuda_sync).
struct SyncDetail {
  std::uint32_t event = 0;
  NameId kind = kNoName;  ///< "Stream Sync", "Event Sync", "Context Sync", "Stream Wait Event"
  std::int32_t device = -1;
  std::int64_t stream = -1, wait_on_stream = -1;
  std::int64_t wait_on_event_record_correlation = -1, wait_on_event_id = -1;
};

/// An allocation or a free: the instant "[memory]".
struct MemoryEvent {
  std::int64_t at_ns = 0;
  std::int32_t device_type = -1;  ///< 0 CPU, 1 CUDA, as torch numbers them
  std::int32_t device = -1;
  std::int64_t bytes = 0;  ///< negative: freed
  std::int64_t address = 0;
  std::int64_t total_allocated = -1, total_reserved = -1;
  std::uint32_t thread = kNone;  ///< row of Trace::threads
  NameId stack = kNoName;        ///< "Call stack": "file.py(41): func;...", the innermost first
  bool is_held_before = false;   ///< allocated before the recording began, at an unknown time
};

/// State of a device's allocator at the end, by the blocks of its segments. Only memory snapshots have it.
struct MemoryPool {
  std::int32_t device_type = -1, device = -1;
  std::int64_t segments = 0;
  std::int64_t reserved_bytes = 0;    ///< of all segments: active, free whole and inactive split
  std::int64_t active_bytes = 0;      ///< of blocks in use, rounded up as the allocator does it
  std::int64_t requested_bytes = 0;   ///< of these, the bytes requested
  std::int64_t waiting_bytes = 0;     ///< of active_bytes, freed, but until a stream is done still in use
  std::int64_t free_whole_bytes = 0;  ///< of segments without a block in use: can be returned to the driver
  std::int64_t inactive_split_bytes = 0;  ///< free, but in segments with blocks in use: cannot be returned
  std::int64_t largest_free_bytes = 0;    ///< of one block: a larger request needs a new segment
  std::int64_t out_of_memory = 0;         ///< number of failed allocations
  std::int64_t wanted_bytes = 0,
               device_free_bytes = 0;  ///< at the last failure: requested, and free on the device
  NameId wanted_stack = kNoName;       ///< as MemoryEvent::stack
};

/// One end of an arrow: ph s or f (t is dropped).
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

/// Times of an event that are not whole nanoseconds, as the file's own doubles. Needs kPreciseTimes.
struct PreciseTime {
  std::uint32_t event = 0;  ///< row of Trace::events
  double start_us = 0, duration_us = 0;
};

/// A place in the file that could not be read as it stands. Not fatal, always reported.
struct Problem {
  std::uint64_t offset = 0;  ///< byte in the (decompressed) JSON
  std::string what;          ///< "ts is not a number: \"abc\""
};

struct Problems {
  std::uint64_t count = 0;           ///< all of them
  std::uint64_t events_skipped = 0;  ///< of these, events missing from the columns
  std::vector<Problem> first;        ///< the first kShown, by offset
  static constexpr std::size_t kShown = 20;
};

/// The tool that wrote a trace, which decides the words of advice.
enum class Writer : std::uint8_t { kUnknown, kPyTorch, kJax, kNsight, kRocprof, kAscend, kChakra };

/// A profiler trace as columns: what the readers fill and the analyses read.
struct Trace {
  std::string source;  ///< the file's path
  Writer writer = Writer::kUnknown;
  std::uint64_t json_bytes = 0, file_bytes = 0;
  // Every event of the file is counted once: events_seen = events.size() + memory.size() + flows.size() +
  // events_without_columns + events_skipped_by_need + problems.events_skipped.
  std::uint64_t events_seen = 0;  ///< of any phase and category, kept or not
  std::uint64_t events_skipped_by_need = 0;
  std::uint64_t events_without_columns = 0;  ///< names of threads, ends of B events, counters, instants...

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

  /// Kernels that the user declared as communication, overriding kernel_type().
  std::vector<std::string> communication_patterns;
  std::int64_t base_time_ns = 0;                 ///< baseTimeNanoseconds: already added to every time
  std::optional<std::int64_t> rank, world_size;  ///< distributedInfo, else from the file's name
  std::string communication_backend;
  std::optional<std::int64_t> schema_version;
  bool is_complete = true;  ///< false: the file ends before its JSON does
  Problems problems;
};

/// Returns the device of a piece of GPU work: its "device" argument, else that of its process, else -1.
std::int32_t device_of(const Trace& trace, const GpuDetail& work);

}  // namespace headroom::trace

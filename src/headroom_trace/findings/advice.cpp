// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/findings/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "headroom_trace/work/memory.h"

namespace headroom::trace {
namespace {

struct Words {
  Advice what;
  Writer writer;
  std::string_view text;
};

constexpr Words kWords[] = {
    {Advice::kLoadAhead, Writer::kPyTorch,
     "load ahead: more workers (num_workers), prefetch_factor, persistent_workers; make the input cheaper or "
     "prepare it once"},
    {Advice::kLoadAhead, Writer::kJax,
     "load ahead: more workers and prefetch in the input pipeline (tf.data, grain), jax.device_put of the "
     "next batch while this one computes; make the input cheaper or prepare it once"},
    {Advice::kLoadAhead, Writer::kUnknown,
     "load ahead: more workers, a prefetch of the next batch; make the input cheaper or prepare it once"},

    {Advice::kReuseMemory, Writer::kPyTorch,
     "keep shapes the same or allocate the largest first, PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, "
     "no empty_cache() in the loop"},
    {Advice::kReuseMemory, Writer::kJax,
     "keep shapes the same, leave XLA_PYTHON_CLIENT_PREALLOCATE on, donate buffers (donate_argnums)"},
    {Advice::kReuseMemory, Writer::kRocprof,
     "allocate before the loop and keep the memory, or allocate from a pool (hipMallocAsync)"},
    {Advice::kReuseMemory, Writer::kAscend,
     "keep shapes the same or allocate the largest first, PYTORCH_NPU_ALLOC_CONF=expandable_segments:True, "
     "no empty_cache() in the loop"},
    {Advice::kReuseMemory, Writer::kUnknown,
     "allocate before the loop and keep the memory, or allocate from a pool (cudaMallocAsync)"},

    {Advice::kReadLater, Writer::kPyTorch,
     "keep the value on the device (no .item(), .cpu(), print, if on a tensor in the loop), read it every so "
     "many steps, or copy it with non_blocking=True and look later"},
    {Advice::kReadLater, Writer::kJax,
     "keep the value on the device (no float(), np.asarray(), print, block_until_ready() in the loop), read "
     "it every so many steps, or copy_to_host_async() and look later"},
    {Advice::kReadLater, Writer::kRocprof,
     "keep the value on the device, read it every so many steps, or hipMemcpyAsync to pinned memory and look "
     "later; wait for an event or a stream in place of the device"},
    {Advice::kReadLater, Writer::kUnknown,
     "keep the value on the device, read it every so many steps, or copy it asynchronously to pinned memory "
     "and look later; wait for an event or a stream in place of the device"},

    {Advice::kRecordHost, Writer::kPyTorch,
     "record with_stack=True to see which Python it is; move it out of the step or to another thread"},
    {Advice::kRecordHost, Writer::kJax,
     "record with a higher host_tracer_level or python_tracer_level, or put jax.profiler.TraceAnnotation "
     "around it, to see what it is; move it out of the step or to another thread"},
    {Advice::kRecordHost, Writer::kNsight,
     "record with nsys profile --trace=cuda,nvtx,osrt (--python-backtrace=cuda for Python), or put NVTX "
     "ranges around it, to see what it is; move it out of the step or to another thread"},
    {Advice::kRecordHost, Writer::kRocprof,
     "record with rocprofv3 --hip-trace --marker-trace and put roctx ranges around it, to see what it is; "
     "move it out of the step or to another thread"},
    {Advice::kRecordHost, Writer::kAscend,
     "record the host's functions, too, to see what it is; move it out of the step or to another thread"},
    {Advice::kRecordHost, Writer::kUnknown,
     "record the host's functions, too, to see what it is; move it out of the step or to another thread"},

    {Advice::kRecordLaunches, Writer::kPyTorch, "record the CPU, too (ProfilerActivity.CPU)"},
    {Advice::kRecordLaunches, Writer::kJax, "record the host, too (host_tracer_level of 1 and more)"},
    {Advice::kRecordLaunches, Writer::kNsight, "record the runtime's calls, too (nsys profile --trace=cuda)"},
    {Advice::kRecordLaunches, Writer::kRocprof, "record the runtime's calls, too (rocprofv3 --hip-trace)"},
    {Advice::kRecordLaunches, Writer::kAscend, "record the CPU, too (ProfilerActivity.CPU)"},
    {Advice::kRecordLaunches, Writer::kUnknown, "record the host's launch calls, too"},

    {Advice::kRecordDevice, Writer::kPyTorch,
     "was the profiler told to record the device (ProfilerActivity.CUDA)"},
    {Advice::kRecordDevice, Writer::kAscend,
     "was the profiler told to record the device (ProfilerActivity.NPU)"},
    {Advice::kRecordDevice, Writer::kNsight, "were calls and kernels recorded (nsys profile --trace=cuda)"},
    {Advice::kRecordDevice, Writer::kRocprof,
     "were kernels and copies recorded (rocprofv3 --kernel-trace --memory-copy-trace)"},
    {Advice::kRecordDevice, Writer::kChakra,
     "was the trace linked with one of the device (chakra_trace_link)"},
    {Advice::kRecordDevice, Writer::kUnknown, "was the profiler told to record the device"},

    {Advice::kRecordSyncs, Writer::kPyTorch, "record them with torch.profiler's enable_cuda_sync_events"},
    {Advice::kRecordSyncs, Writer::kUnknown, "record them, too, where the profiler can"},

    {Advice::kMarkSteps, Writer::kPyTorch, "mark them with the profiler's step() after each iteration"},
    {Advice::kMarkSteps, Writer::kJax,
     "mark them with jax.profiler.StepTraceAnnotation around each iteration"},
    {Advice::kMarkSteps, Writer::kNsight, "mark them with an NVTX range of one name around each iteration"},
    {Advice::kMarkSteps, Writer::kRocprof,
     "mark them with a roctx range of one name around each iteration (rocprofv3 --marker-trace)"},
    {Advice::kMarkSteps, Writer::kUnknown, "mark them with an annotation of one name around each iteration"},

    {Advice::kRecordLines, Writer::kPyTorch, "record it with with_stack=True, and with with_modules=True"},
    {Advice::kRecordLines, Writer::kJax, "record it with a python_tracer_level of 1"},
    {Advice::kRecordLines, Writer::kNsight, "record it with nsys profile --python-backtrace=cuda"},
    {Advice::kRecordLines, Writer::kAscend, "record the call stacks of operators, too"},
    {Advice::kRecordLines, Writer::kUnknown, "record the host's functions, too"},

    {Advice::kMoveHostWork, Writer::kUnknown, "move it out of the step, to another thread, or to the device"},

    {Advice::kCompileOnce, Writer::kUnknown,
     "warm up before measuring; keep shapes and arguments the same or mark them dynamic "
     "(TORCH_LOGS=recompiles says why)"},
    {Advice::kCollectLater, Writer::kUnknown,
     "gc.freeze() after the start, gc.disable() in the loop and gc.collect() between epochs"},

    {Advice::kLaunchLess, Writer::kPyTorch,
     "launch less often: torch.compile (mode=\"reduce-overhead\") or CUDA graphs, fused or foreach "
     "optimizers, larger batches"},
    {Advice::kLaunchLess, Writer::kJax,
     "launch less often: more of the step in one jax.jit function, lax.scan for loops, larger batches"},
    {Advice::kLaunchLess, Writer::kRocprof, "launch less often: HIP graphs, fused kernels, larger batches"},
    {Advice::kLaunchLess, Writer::kAscend,
     "launch less often: fused or foreach optimizers, graph mode, larger batches"},
    {Advice::kLaunchLess, Writer::kUnknown, "launch less often: CUDA graphs, fused kernels, larger batches"},

    {Advice::kFuseKernels, Writer::kPyTorch,
     "fuse them (torch.compile, foreach or fused optimizers, a kernel of your own), or capture the step in a "
     "CUDA graph"},
    {Advice::kFuseKernels, Writer::kJax,
     "fuse them: one jax.jit function around them, so that XLA sees all, or a kernel of your own (Pallas)"},
    {Advice::kFuseKernels, Writer::kRocprof, "fuse them into one kernel, or capture them in a HIP graph"},
    {Advice::kFuseKernels, Writer::kUnknown, "fuse them into one kernel, or capture them in a CUDA graph"},

    {Advice::kFuseNeighbours, Writer::kPyTorch,
     "fuse it with its neighbours (torch.compile), or a kernel made for these shapes"},
    {Advice::kFuseNeighbours, Writer::kJax,
     "one jax.jit function around it and its neighbours, so that XLA fuses them, or a kernel made for these "
     "shapes (Pallas)"},
    {Advice::kFuseNeighbours, Writer::kUnknown,
     "fuse it with its neighbours, or a kernel made for these shapes"},

    {Advice::kFasterProduct, Writer::kUnknown,
     "another type (TF32, bf16), padding to multiples of 8, larger batches"},

    {Advice::kPinMemory, Writer::kPyTorch,
     "pin the host's memory (pin_memory=True) and copy with non_blocking=True, on a stream of its own, while "
     "the step before computes"},
    {Advice::kPinMemory, Writer::kJax,
     "jax.device_put the next batch while this one computes; keep arrays on the device between steps"},
    {Advice::kPinMemory, Writer::kRocprof,
     "pin the host's memory (hipHostMalloc) and copy with hipMemcpyAsync, on a stream of its own, while the "
     "step before computes"},
    {Advice::kPinMemory, Writer::kUnknown,
     "pin the host's memory (cudaHostAlloc) and copy with cudaMemcpyAsync, on a stream of its own, while the "
     "step before computes"},
    {Advice::kCopyAhead, Writer::kJax, "jax.device_put the next batch while this one computes, or copy less"},
    {Advice::kCopyAhead, Writer::kUnknown,
     "copy on a stream of its own while the step before computes, or copy less"},

    {Advice::kOverlapCommunication, Writer::kPyTorch,
     "overlap it with computing (smaller buckets, earlier all-reduce, prefetch in FSDP), send less (gradient "
     "accumulation, a narrower type), or a faster link; over all ranks `headroom trace collectives`"},
    {Advice::kOverlapCommunication, Writer::kJax,
     "overlap it with computing (--xla_gpu_enable_latency_hiding_scheduler=true), send less (a narrower "
     "type, another sharding), or a faster link; over all ranks `headroom trace collectives`"},
    {Advice::kOverlapCommunication, Writer::kUnknown,
     "overlap it with computing (another stream, smaller pieces, sooner), send less (less often, a narrower "
     "type), or a faster link; over all ranks `headroom trace collectives`"},
    {Advice::kFillPipeline, Writer::kUnknown,
     "more micro-batches, or an interleaved schedule: stages wait for each other"},

    {Advice::kWarmUp, Writer::kJax,
     "warm up before measuring or serving: compile and run each shape once (jit(f).lower(...).compile()), "
     "keep compiled code (jax_compilation_cache_dir)"},
    {Advice::kWarmUp, Writer::kNsight,
     "warm up before measuring or serving: run each kernel once, create handles and capture graphs at the "
     "start; CUDA_MODULE_LOADING=EAGER loads kernels at the start; record later (nsys profile "
     "--capture-range=cudaProfilerApi)"},
    {Advice::kWarmUp, Writer::kRocprof,
     "warm up before measuring or serving: run each kernel once, create handles and capture graphs at the "
     "start; HIP_ENABLE_DEFERRED_LOADING=0 loads kernels at the start"},
    {Advice::kWarmUp, Writer::kUnknown,
     "warm up before measuring or serving: run each shape and kernel once, create handles and capture graphs "
     "at the start (on CUDA, CUDA_MODULE_LOADING=EAGER loads kernels there)"},

    {Advice::kFreeHost, Writer::kAscend,
     "where calls compile operators (aclopCompileAndExecute), "
     "torch_npu.npu.set_compile_mode(jit_compile=False); else find what holds the calls up: few or busy CPU "
     "cores, a lock that other threads hold, the profiler"},
    {Advice::kFreeHost, Writer::kUnknown,
     "find what holds the calls up: few or busy CPU cores (affinity, CPU limits of the container), a lock of "
     "the driver that other threads hold, a profiler that intercepts launches; fewer launches (a graph) cost "
     "less"},
    {Advice::kFindDeviceWait, Writer::kNsight,
     "find what the device waits for: another process on it (nsys profile --gpuctxsw=true shows them), an "
     "event of another stream or device (--cuda-event-trace=true), a host function in the stream; faster "
     "launches would not help"},
    {Advice::kFindDeviceWait, Writer::kUnknown,
     "find what the device waits for: another process on it, an event of another stream or device, a host "
     "function in the stream, its queue; faster launches would not help"},

    {Advice::kExpandSegments, Writer::kPyTorch,
     "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or sizes that repeat; it costs no time until memory "
     "ends"},
    {Advice::kExpandSegments, Writer::kAscend,
     "PYTORCH_NPU_ALLOC_CONF=expandable_segments:True, or sizes that repeat; it costs no time until memory "
     "ends"},
    {Advice::kExpandSegments, Writer::kUnknown, "sizes that repeat; it costs no time until memory ends"},
};

}  // namespace

std::string advice(Advice what, Writer writer) {
  const auto text_for = [&](Writer of) {
    const auto* const found = std::ranges::find_if(
        kWords, [&](const Words& words) { return words.what == what && words.writer == of; });
    return found == std::end(kWords) ? std::string_view() : found->text;
  };
  std::string_view text = text_for(writer);
  if (text.empty() && writer == Writer::kAscend) text = text_for(Writer::kPyTorch);
  return std::string(text.empty() ? text_for(Writer::kUnknown) : text);
}

std::string no_gpu_work(const Trace& trace) {
  if (trace.events_seen == 0) return "the file holds no events";
  if (is_memory_alone(trace))
    return "this file is about memory and has no times of work: `headroom trace memory` reads it";
  return fmt::format(
      "no kernel, copy or set of a device among {} events: {}, and did the work run while it "
      "recorded?",
      trace.events_seen, advice(Advice::kRecordDevice, trace.writer));
}

}  // namespace headroom::trace

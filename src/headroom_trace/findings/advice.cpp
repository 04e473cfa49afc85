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
     "keep the value on the GPU (no .item(), .cpu(), print or if on a tensor in the loop), read it only "
     "every N steps, or copy it with non_blocking=True and read it later"},
    {Advice::kReadLater, Writer::kJax,
     "keep the value on the device (no float(), np.asarray(), print or block_until_ready() in the loop), "
     "read it only every N steps, or call copy_to_host_async() and read it later"},
    {Advice::kReadLater, Writer::kRocprof,
     "keep the value on the GPU, read it only every N steps, or copy it with hipMemcpyAsync to pinned memory "
     "and read it later; wait for an event or stream, not for the whole device"},
    {Advice::kReadLater, Writer::kUnknown,
     "keep the value on the device, read it only every N steps, or copy it asynchronously to pinned memory "
     "and read it later; wait for an event or stream, not for the whole device"},

    {Advice::kRecordHost, Writer::kPyTorch,
     "find the Python code (record with_stack=True), then move it out of the step or to another thread"},
    {Advice::kRecordHost, Writer::kJax,
     "find the code (higher host_tracer_level or python_tracer_level, or jax.profiler.TraceAnnotation), then "
     "move it out of the step or to another thread"},
    {Advice::kRecordHost, Writer::kNsight,
     "find the code (nsys profile --trace=cuda,nvtx,osrt, --python-backtrace=cuda for Python, or NVTX "
     "ranges), then move it out of the step or to another thread"},
    {Advice::kRecordHost, Writer::kRocprof,
     "find the code (rocprofv3 --hip-trace --marker-trace, with roctx ranges), then move it out of the step "
     "or to another thread"},
    {Advice::kRecordHost, Writer::kAscend,
     "find the code (record CPU functions too), then move it out of the step or to another thread"},
    {Advice::kRecordHost, Writer::kUnknown,
     "find the code (record CPU functions too), then move it out of the step or to another thread"},

    {Advice::kRecordLaunches, Writer::kPyTorch, "record the CPU too (ProfilerActivity.CPU)"},
    {Advice::kRecordLaunches, Writer::kJax, "record the CPU too (host_tracer_level of 1 or more)"},
    {Advice::kRecordLaunches, Writer::kNsight, "record runtime calls too (nsys profile --trace=cuda)"},
    {Advice::kRecordLaunches, Writer::kRocprof, "record runtime calls too (rocprofv3 --hip-trace)"},
    {Advice::kRecordLaunches, Writer::kAscend, "record the CPU too (ProfilerActivity.CPU)"},
    {Advice::kRecordLaunches, Writer::kUnknown, "record launch calls too"},

    {Advice::kRecordDevice, Writer::kPyTorch, "record the GPU (ProfilerActivity.CUDA)"},
    {Advice::kRecordDevice, Writer::kAscend, "record the NPU (ProfilerActivity.NPU)"},
    {Advice::kRecordDevice, Writer::kNsight, "record calls and kernels (nsys profile --trace=cuda)"},
    {Advice::kRecordDevice, Writer::kRocprof,
     "record kernels and copies (rocprofv3 --kernel-trace --memory-copy-trace)"},
    {Advice::kRecordDevice, Writer::kChakra, "link the trace with a device trace (chakra_trace_link)"},
    {Advice::kRecordDevice, Writer::kUnknown, "record the device too"},

    {Advice::kRecordSyncs, Writer::kPyTorch, "record them with torch.profiler's enable_cuda_sync_events"},
    {Advice::kRecordSyncs, Writer::kUnknown, "record them if the profiler can"},

    {Advice::kMarkSteps, Writer::kPyTorch, "mark steps with the profiler's step() after each iteration"},
    {Advice::kMarkSteps, Writer::kJax,
     "mark steps with jax.profiler.StepTraceAnnotation around each iteration"},
    {Advice::kMarkSteps, Writer::kNsight, "mark steps with an NVTX range of one name around each iteration"},
    {Advice::kMarkSteps, Writer::kRocprof,
     "mark steps with a roctx range of one name around each iteration (rocprofv3 --marker-trace)"},
    {Advice::kMarkSteps, Writer::kUnknown, "mark steps with an annotation of one name around each iteration"},

    {Advice::kRecordLines, Writer::kPyTorch, "record with_stack=True and with_modules=True"},
    {Advice::kRecordLines, Writer::kJax, "record with a python_tracer_level of 1"},
    {Advice::kRecordLines, Writer::kNsight, "record with nsys profile --python-backtrace=cuda"},
    {Advice::kRecordLines, Writer::kAscend, "record operator call stacks too"},
    {Advice::kRecordLines, Writer::kUnknown, "record CPU functions too"},

    {Advice::kMoveHostWork, Writer::kUnknown, "move it out of the step, to another thread, or to the device"},

    {Advice::kCompileOnce, Writer::kUnknown,
     "warm up before measuring; keep shapes and arguments the same or mark them dynamic "
     "(TORCH_LOGS=recompiles shows why)"},
    {Advice::kCollectLater, Writer::kUnknown,
     "call gc.freeze() after start-up, gc.disable() in the loop and gc.collect() between epochs"},

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
     "fuse them (torch.compile, foreach or fused optimizers, a custom kernel), or capture the step in a CUDA "
     "graph"},
    {Advice::kFuseKernels, Writer::kJax,
     "fuse them: one jax.jit function around all of them, or a custom kernel (Pallas)"},
    {Advice::kFuseKernels, Writer::kRocprof, "fuse them into one kernel, or capture them in a HIP graph"},
    {Advice::kFuseKernels, Writer::kUnknown, "fuse them into one kernel, or capture them in a CUDA graph"},

    {Advice::kFuseNeighbours, Writer::kPyTorch,
     "fuse it with its neighbours (torch.compile), or write a kernel for these shapes"},
    {Advice::kFuseNeighbours, Writer::kJax,
     "fuse it with its neighbours (one jax.jit function around them), or write a kernel for these shapes "
     "(Pallas)"},
    {Advice::kFuseNeighbours, Writer::kUnknown,
     "fuse it with its neighbours, or write a kernel for these shapes"},

    {Advice::kFasterProduct, Writer::kUnknown,
     "use another dtype (TF32, bf16), pad to multiples of 8, or use larger batches"},

    {Advice::kPinMemory, Writer::kPyTorch,
     "pin CPU memory (pin_memory=True) and copy with non_blocking=True on a separate stream while the "
     "previous step computes"},
    {Advice::kPinMemory, Writer::kJax,
     "call jax.device_put on the next batch while this one computes; keep arrays on the device between "
     "steps"},
    {Advice::kPinMemory, Writer::kRocprof,
     "pin CPU memory (hipHostMalloc) and copy with hipMemcpyAsync on a separate stream while the previous "
     "step computes"},
    {Advice::kPinMemory, Writer::kUnknown,
     "pin CPU memory (cudaHostAlloc) and copy with cudaMemcpyAsync on a separate stream while the previous "
     "step computes"},
    {Advice::kCopyAhead, Writer::kJax,
     "call jax.device_put on the next batch while this one computes, or copy less"},
    {Advice::kCopyAhead, Writer::kUnknown,
     "copy on a separate stream while the previous step computes, or copy less"},

    {Advice::kOverlapCommunication, Writer::kPyTorch,
     "overlap it with compute (smaller buckets, earlier all-reduce, FSDP prefetch), send less (gradient "
     "accumulation, a narrower dtype) or use a faster link; for all ranks see `headroom trace collectives`"},
    {Advice::kOverlapCommunication, Writer::kJax,
     "overlap it with compute (--xla_gpu_enable_latency_hiding_scheduler=true), send less (a narrower dtype, "
     "another sharding) or use a faster link; for all ranks see `headroom trace collectives`"},
    {Advice::kOverlapCommunication, Writer::kUnknown,
     "overlap it with compute (another stream, smaller messages, an earlier start), send less (less often, a "
     "narrower dtype) or use a faster link; for all ranks see `headroom trace collectives`"},
    {Advice::kFillPipeline, Writer::kUnknown,
     "use more micro-batches or an interleaved schedule: stages wait for each other"},

    {Advice::kWarmUp, Writer::kJax,
     "warm up before measuring or serving: compile and run each shape once (jit(f).lower(...).compile()), "
     "keep compiled code (jax_compilation_cache_dir)"},
    {Advice::kWarmUp, Writer::kNsight,
     "warm up before measuring or serving: run each kernel once, create handles and capture graphs at the "
     "start (CUDA_MODULE_LOADING=EAGER loads kernels there); start recording later (nsys profile "
     "--capture-range=cudaProfilerApi)"},
    {Advice::kWarmUp, Writer::kRocprof,
     "warm up before measuring or serving: run each kernel once, create handles and capture graphs at the "
     "start (HIP_ENABLE_DEFERRED_LOADING=0 loads kernels there)"},
    {Advice::kWarmUp, Writer::kUnknown,
     "warm up before measuring or serving: run each shape and kernel once, create handles and capture graphs "
     "at the start (on CUDA, CUDA_MODULE_LOADING=EAGER loads kernels there)"},

    {Advice::kFreeHost, Writer::kAscend,
     "if calls compile operators (aclopCompileAndExecute), call "
     "torch_npu.npu.set_compile_mode(jit_compile=False); else look for too few or busy CPU cores, a lock "
     "held by other threads, or profiler overhead"},
    {Advice::kFreeHost, Writer::kUnknown,
     "look for too few or busy CPU cores (affinity, CPU limits of the container), a driver lock held by "
     "other threads, or a profiler that intercepts launches; launch less often (a graph)"},
    {Advice::kFindDeviceWait, Writer::kNsight,
     "look for another process on the GPU (nsys profile --gpuctxsw=true shows it), an event of another "
     "stream or device (--cuda-event-trace=true), or a host function in the stream; faster launches would "
     "not help"},
    {Advice::kFindDeviceWait, Writer::kUnknown,
     "look for another process on the device, an event of another stream or device, a host function in the "
     "stream, or a full queue; faster launches would not help"},

    {Advice::kExpandSegments, Writer::kPyTorch,
     "set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or use sizes that repeat; costs no time until "
     "memory runs out"},
    {Advice::kExpandSegments, Writer::kAscend,
     "set PYTORCH_NPU_ALLOC_CONF=expandable_segments:True, or use sizes that repeat; costs no time until "
     "memory runs out"},
    {Advice::kExpandSegments, Writer::kUnknown, "use sizes that repeat; costs no time until memory runs out"},
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
  if (has_only_memory(trace)) return "the file has only memory events: run `headroom trace memory`";
  return fmt::format(
      "no GPU work (kernel, memcpy, memset) among {} events: {}, and check that work ran during recording",
      trace.events_seen, advice(Advice::kRecordDevice, trace.writer));
}

}  // namespace headroom::trace

// SPDX-License-Identifier: Apache-2.0
#include "generated_trace.h"

#include <fmt/format.h>

#include <array>

namespace headroom::trace {
namespace {

using Texts = std::span<const std::string_view>;

constexpr std::string_view kWorkNames[] = {"sgemm_128x64",
                                           "ncclDevKernel_AllReduce_Sum_f32",
                                           "void at::native::elementwise<float>(float*)",
                                           "Memcpy HtoD (Pageable -> Device)",
                                           "Memcpy DtoH (Device -> Pinned)",
                                           "Memset (Device)",
                                           "cudnn::winograd",
                                           "ncclKernel_AllGather",
                                           "triton_poi_fused_0",
                                           "Cijk_Alik_Bljk"};
constexpr std::string_view kCalls[] = {
    "cudaLaunchKernel",      "cudaGraphLaunch",  "cudaMemcpyAsync",     "cudaStreamSynchronize",
    "cudaDeviceSynchronize", "cudaEventRecord",  "cudaStreamWaitEvent", "cudaEventSynchronize",
    "hipLaunchKernel",       "cuLaunchKernelEx", "cudaMemcpy"};
constexpr std::string_view kOps[] = {"aten::mm",
                                     "aten::addmm",
                                     "aten::bmm",
                                     "aten::convolution",
                                     "aten::convolution_backward",
                                     "aten::cudnn_convolution",
                                     "aten::_scaled_dot_product_flash_attention",
                                     "aten::add",
                                     "aten::_softmax",
                                     "aten::native_layer_norm",
                                     "aten::native_batch_norm",
                                     "aten::copy_",
                                     "aten::embedding",
                                     "aten::cat",
                                     "aten::item",
                                     "record_param_comms",
                                     "aten::index_select",
                                     "aten::sum",
                                     "aten::linear"};
constexpr std::string_view kAnnotations[] = {"ProfilerStep#1",
                                             "ProfilerStep#2",
                                             "ProfilerStep#99999999999999999999",
                                             "ProfilerStep#",
                                             "enumerate(DataLoader)#_SingleProcess",
                                             "nccl:all_reduce",
                                             "forward"};
constexpr std::string_view kSyncs[] = {"Stream Sync", "Event Sync", "Context Sync", "Stream Wait Event"};
constexpr std::string_view kNumbers[] = {"0",
                                         "1",
                                         "2",
                                         "7",
                                         "1024",
                                         "-1",
                                         "0.5",
                                         "2147483648",
                                         "4294967295",
                                         "9223372036854775807",
                                         "18446744073709551615",
                                         "-9223372036854775808",
                                         "1e308",
                                         "1e-308",
                                         "NaN",
                                         "\"7\"",
                                         "null",
                                         "[]"};
constexpr std::string_view kDims[] = {"[[2, 3], [3, 4]]",
                                      "[[3], [2, 3], [3, 4], [], []]",
                                      "[[8, 2, 3], [8, 3, 4]]",
                                      "[[1, 3, 8, 8], [4, 3, 3, 3], [4], [], [], [], [], [], []]",
                                      "[[2, 8, 16, 64], [2, 8, 16, 64], [2, 8, 16, 64]]",
                                      "[]",
                                      "[[]]",
                                      "[[4294967296, 4294967296], [4294967296, 4294967296]]",
                                      "[[0, 0], [0, 0]]",
                                      "[[-1, 3], [3, 4]]",
                                      "[[[2, 3], [3, 4]], []]",
                                      "\"[[2, 3]]\"",
                                      "[[9223372036854775807], [2]]"};
constexpr std::string_view kTypes[] = {
    R"(["float", "float", "float", "Scalar", ""])", R"(["c10::BFloat16", "c10::Half", "int"])", "[]",
    R"(["TensorList", "Scalar"])", R"(["signed char", "double", "long int"])"};
constexpr std::string_view kValues[] = {
    R"(["", "", "", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"])",
    R"(["", "", "", "0.", "True", ""])", "[]", R"(["[9223372036854775807, 0]", "1e400", "-1"])"};
constexpr std::string_view kCollectives[] = {
    "allreduce", "_allgather_base", "_reduce_scatter_base", "broadcast", "all_to_allv", "send", "wait", ""};
constexpr std::string_view kGroups[] = {"0", "1", "default_pg", ""};
constexpr std::string_view kRanks[] = {"[0, 1]", "[0, 1, 2]", "[1]", "[]", "[0, ...", "0"};

/// The bits of one byte choose an event's arguments.
class Writer {
 public:
  explicit Writer(Choices& choices) : choices_(choices) {}

  std::string list() {
    constexpr int kMostEvents = 400;
    for (int i = 0; i < kMostEvents && !choices_.is_over(); ++i) {
      if (!text_.empty()) text_ += ",\n";
      text_ += '{';
      add_event();
      text_ += '}';
    }
    return text_;
  }

 private:
  void add_event() {
    switch (choices_.byte() % 12) {
      case 0:
      case 1:
      case 2:
        return add_work("kernel");
      case 3:
        return add_work(choices_.byte() % 2 == 0 ? "gpu_memcpy" : "gpu_memset");
      case 4:
      case 5:
        add_duration("cuda_runtime", kCalls);
        open_arguments(true);
        text_ += '}';
        return;
      case 6:
      case 7:
        return add_op("cpu_op", kOps);
      case 8:
        return add_op("user_annotation", kAnnotations);
      case 9:
        return add_sync();
      case 10:
        return add_memory();
      default:
        return add_other();
    }
  }

  void add_work(std::string_view category) {
    add_duration(category, kWorkNames);
    const std::uint8_t some = choices_.byte();
    open_arguments(true);
    if ((some & 1) != 0) add("device", small());
    if ((some & 2) != 0) add("stream", small());
    if ((some & 4) != 0) add("External id", small());
    if ((some & 8) != 0) add("grid", fmt::format("[{}, {}, 1]", number(), small()));
    if ((some & 8) != 0) add("block", fmt::format("[{}, 1, {}]", small(), number()));
    if ((some & 16) != 0) add("blocks per SM", number()), add("warps per SM", number());
    if ((some & 16) != 0) add("est. achieved occupancy %", number());
    if ((some & 32) != 0) add("bytes", number());
    if ((some & 64) != 0) add("memory bandwidth (GB/s)", number());
    if ((some & 128) != 0) add_collective();
    text_ += '}';
  }

  void add_op(std::string_view category, Texts names) {
    add_duration(category, names);
    const std::uint8_t some = choices_.byte();
    open_arguments(false);
    if ((some & 1) != 0) add("External id", small());
    if ((some & 2) != 0) add("Input Dims", choices_.one_of(kDims));
    if ((some & 2) != 0) add("Input type", choices_.one_of(kTypes));
    if ((some & 4) != 0) add("Input Strides", choices_.one_of(kDims));
    if ((some & 8) != 0) add("Concrete Inputs", choices_.one_of(kValues));
    if ((some & 16) != 0) add("Sequence number", small()), add("Fwd thread id", small());
    if ((some & 32) != 0) add("Call stack", "\"a.py(1): f\\nb.py(2): g\"");
    if ((some & 128) != 0) add_collective();
    text_ += '}';
  }

  void add_sync() {
    add_duration("cuda_sync", kSyncs);
    open_arguments(true);
    add("cuda_sync_kind", fmt::format("\"{}\"", choices_.one_of(kSyncs)));
    add("stream", small()), add("wait_on_stream", small());
    add("wait_on_cuda_event_record_corr_id", small()), add("wait_on_cuda_event_id", small());
    add("device", small());
    text_ += '}';
  }

  void add_memory() {
    text_ += fmt::format(R"("ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": {})", time());
    open_arguments(false);
    add("Device Type", small()), add("Device Id", small()), add("Addr", small()), add("Bytes", number());
    if (choices_.byte() % 2 == 0) add("Total Allocated", number()), add("Total Reserved", number());
    text_ += '}';
  }

  void add_other() {
    constexpr std::string_view kPhases[] = {"B", "E", "M", "s", "f", "C", "i"};
    constexpr std::string_view kNames[] = {"process_labels", "thread_name", "process_name", "a"};
    text_ +=
        fmt::format(R"("ph": "{}", "name": "{}", "cat": "ac2g", "id": {}, "pid": {}, "tid": {}, "ts": {})",
                    choices_.one_of(kPhases), choices_.one_of(kNames), small(), small(), small(), time());
    text_ += R"(, "args": {"name": "stream 7", "labels": "GPU 0"})";
  }

  void add_duration(std::string_view category, Texts names) {
    text_ += fmt::format(R"("ph": "X", "cat": "{}", "name": "{}", "pid": {}, "tid": {}, "ts": {}, "dur": {})",
                         category, choices_.one_of(names), small(), small(), time(), time());
  }

  void open_arguments(bool has_correlation) {
    text_ += R"(, "args": {"": 0)";
    if (has_correlation) add("correlation", small());
  }
  void add_collective() {
    add("Collective name", fmt::format("\"{}\"", choices_.one_of(kCollectives)));
    add("Process Group Name", fmt::format("\"{}\"", choices_.one_of(kGroups)));
    add("Process Group Ranks", fmt::format("\"{}\"", choices_.one_of(kRanks)));
    add("Group size", number()), add("In msg nelems", number()), add("Out msg nelems", number());
    add("dtype", "\"Float\"");
  }
  void add(std::string_view key, std::string_view value) {
    text_ += fmt::format(R"(, "{}": {})", key, value);
  }

  std::string_view number() { return choices_.one_of(kNumbers); }
  /// A small range, so that events share numbers.
  std::string small() {
    const std::uint8_t choice = choices_.byte();
    return choice < 240 ? std::to_string(choice % 6) : std::string(choices_.one_of(kNumbers));
  }
  /// Microseconds: mostly close together, some at the limits of the format.
  std::string time() {
    const std::uint8_t choice = choices_.byte();
    if (choice < 200) return std::to_string(choice % 50);
    if (choice < 240) return fmt::format("{}.{:03}", choices_.byte(), choices_.byte());
    if (choice < 248) return std::to_string(1000 * choices_.byte());
    constexpr std::string_view kFar[] = {"2305843009213693.951",
                                         "-2305843009213693.951",
                                         "9223372036854775807",
                                         "-1",
                                         "\"12.5\"",
                                         "1e3",
                                         "0.0005",
                                         "1700000000000000"};
    return std::string(choices_.one_of(kFar));
  }

  Choices& choices_;
  std::string text_;
};

}  // namespace

std::string generated_trace(Choices& choices, int rank) {
  constexpr std::string_view kBaseTimes[] = {"0", "0", "1700000000000000000", "2305843009213693951",
                                             "-2305843009213693951"};
  const std::string_view base = choices.one_of(kBaseTimes);
  const std::string events = Writer(choices).list();
  return fmt::format(
      R"({{"schemaVersion": 1, "distributedInfo": {{"backend": "nccl", "rank": {}, "world_size": 3}},)"
      R"( "deviceProperties": [{{"id": 0, "name": "Tesla V100", "numSms": 80, "maxThreadsPerMultiprocessor": 2048,)"
      R"( "warpSize": 32, "totalGlobalMem": 16000000000}}], "baseTimeNanoseconds": {}, "traceEvents": [{}]}})",
      rank, base, events);
}

}  // namespace headroom::trace

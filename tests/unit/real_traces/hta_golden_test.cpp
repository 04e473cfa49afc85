// SPDX-License-Identifier: Apache-2.0
// Figures of Holistic Trace Analysis (bench/hta_golden.py) follow exactly from our columns and HtaWays.

#include <cmath>
#include <filesystem>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <optional>
#include <ostream>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>

#include "../trace/analysis_run.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/files/csv.h"
#include "headroom_trace/columns/kernel_names.h"
#include "headroom_trace/columns/trace.h"
#include "headroom_trace/readers/read.h"
#include "headroom_trace/report/trace_diff.h"
#include "headroom_trace/work/device_work.h"

namespace headroom::trace {
namespace {

namespace fs = std::filesystem;

/// Differences of HTA 0.6.1 from our analyses.
struct HtaWays {
  /// Starts up and ends down to whole microseconds, in doubles.
  bool rounds = true;
  /// Rounded work can end before it starts, with negative time.
  bool keeps_reversed_work = true;
  /// Of several steps, only work launched before the last ProfilerStep annotation (the later of CPU and GPU).
  enum class Steps { kBeforeLast, kLaunched, kAll } steps = Steps::kBeforeLast;
  /// Stream synchronisations count as work.
  bool counts_syncs = true;
  /// Idle intervals start at the previous work's end (negative for overlaps); empty ones count.
  bool idles_from_work_before = true;
  /// The file's first event launched it.
  bool missing_launch_is_first_event = true;
  /// Knows NCCL-like names only: multimem_all_reduce counts as computing.
  bool knows_few_communications = true;
  /// Operators of torch.compile's Triton kernels count as work.
  bool counts_triton_operators = true;
};

struct HtaEvent {
  std::uint32_t event = 0;  ///< row of Trace::events
  std::int64_t start_ns = 0, end_ns = 0;
  std::int64_t stream = -1;      ///< -1: on the CPU, for HTA
  std::uint32_t launch = kNone;  ///< row of Trace::events
  std::int64_t duration_ns() const { return end_ns - start_ns; }
};

class HtaView {
 public:
  HtaView(const Trace& trace, const HtaWays& ways);

  /// Reversed work has duration 0.
  Trace as_trace() const;

  struct Temporal {
    std::int64_t idle_ns = 0, compute_ns = 0, non_compute_ns = 0, span_ns = 0;
    bool operator==(const Temporal&) const = default;
  };
  /// None if the non-compute time is negative (HTA's assertion fails).
  std::optional<Temporal> temporal() const;

  struct Overlap {
    std::int64_t both_ns = 0, communication_ns = 0;
    bool operator==(const Overlap&) const = default;
    /// Two decimals; nothing without communication (HTA: NaN).
    std::optional<double> percent() const;
  };
  Overlap overlap() const;

  /// Time (ns) and number by (stream, cause).
  using Idle = std::map<std::pair<std::int64_t, std::string>, std::pair<std::int64_t, std::int64_t>>;
  Idle idle() const;

  struct Launch {
    std::int64_t launches = 0;
    std::int64_t call_total_ns = 0, call_max_ns = 0, gpu_total_ns = 0, gpu_max_ns = 0, delay_total_ns = 0,
                 delay_max_ns = 0;
    void add(std::int64_t call_ns, std::int64_t gpu_ns, std::int64_t delay_ns);
    bool operator==(const Launch&) const = default;
  };
  /// Only functions that HTA knows.
  Launch launch() const;
  static bool knows_launch_function(std::string_view name);

 private:
  using Interval = std::pair<std::int64_t, std::int64_t>;
  template <typename Wanted>
  std::vector<Interval> merged_intervals(Wanted wanted) const;
  HtaEvent seen(std::uint32_t event) const;
  bool is_communication(const HtaEvent& event) const;
  bool is_compute(const HtaEvent& event) const;
  bool is_on_gpu(const HtaEvent& event) const;
  void keep_launched(std::vector<HtaEvent> gpu, std::vector<HtaEvent> cpu, std::int64_t last_step_ns);
  std::string_view name_of(const HtaEvent& event) const {
    return trace_.names[trace_.events.name[event.event]];
  }

  const Trace& trace_;
  HtaWays ways_;
  std::vector<KernelType> types_;
  std::vector<HtaEvent> events_;
};

constexpr std::int64_t kEarliest = std::numeric_limits<std::int64_t>::min();

bool starts_with_any(std::string_view name, std::initializer_list<std::string_view> starts) {
  return std::ranges::any_of(starts, [&](std::string_view start) { return name.starts_with(start); });
}

bool is_named_communication(std::string_view name) {
  return starts_with_any(name, {"nccl", "hip", "hccl"}) || name.find("ncclKernel") != std::string_view::npos;
}

bool is_named_compute(std::string_view name) {
  if (is_named_communication(name) || starts_with_any(name, {"runFunction", "job_exe", "packet", "pe_exe"}))
    return false;
  for (const std::string_view part : {"Memcpy", "Memset", "dma", "Sync", "Stream Wait Event"}) {
    if (name.find(part) != std::string_view::npos) return false;
  }
  return true;
}

template <typename Intervals>
std::int64_t total_of(const Intervals& intervals) {
  std::int64_t sum = 0;
  for (const auto& [start, end] : intervals) sum += end - start;
  return sum;
}

bool HtaView::is_communication(const HtaEvent& event) const {
  if (ways_.knows_few_communications || !is_gpu_work(trace_.events.category[event.event]))
    return is_named_communication(name_of(event));
  return types_[trace_.events.detail[event.event]] == KernelType::kCommunication;
}

bool HtaView::is_compute(const HtaEvent& event) const {
  return is_named_compute(name_of(event)) && !is_communication(event);
}

HtaEvent HtaView::seen(std::uint32_t event) const {
  const Events& events = trace_.events;
  HtaEvent one{event, events.start_ns[event] - trace_.base_time_ns, 0, -1, kNone};
  one.end_ns = one.start_ns + events.duration_ns[event];
  if (ways_.rounds) {
    const auto us = [](std::int64_t ns) { return static_cast<double>(static_cast<long double>(ns) / 1000); };
    const double start = us(one.start_ns), end = start + us(events.duration_ns[event]);
    one.start_ns = 1000 * static_cast<std::int64_t>(std::ceil(start));
    one.end_ns = 1000 * static_cast<std::int64_t>(std::floor(end));
  }
  if (!ways_.keeps_reversed_work) one.end_ns = std::max(one.start_ns, one.end_ns);
  const std::uint32_t detail = events.detail[event];
  if (detail != kNone && is_gpu_work(events.category[event])) one.stream = trace_.gpu[detail].stream;
  if (detail != kNone && ways_.counts_syncs && events.category[event] == Category::kGpuSync)
    one.stream = std::max<std::int64_t>(-1, trace_.syncs[detail].stream);
  if (ways_.counts_triton_operators && events.category[event] == Category::kCpuOp &&
      trace_.names[events.name[event]].starts_with("triton_"))
    one.stream = 0;
  return one;
}

bool HtaView::is_on_gpu(const HtaEvent& event) const {
  const std::string_view name = name_of(event);
  return (event.stream >= 0 && trace_.events.correlation[event.event] >= 0) || name == "Event Sync" ||
         name == "Context Sync";
}

HtaView::HtaView(const Trace& trace, const HtaWays& ways)
    : trace_(trace), ways_(ways), types_(kernel_types(trace)) {
  std::vector<HtaEvent> gpu, cpu;
  std::unordered_map<std::int64_t, std::uint32_t> launch;
  std::set<std::string_view> steps;
  std::int64_t last_step_ns = kEarliest;
  for (std::uint32_t event = 0; event < trace.events.size(); ++event) {
    const HtaEvent one = seen(event);
    if (is_on_gpu(one)) {
      gpu.push_back(one);
      continue;
    }
    // Other events do not affect figures.
    const std::int64_t correlation = trace.events.correlation[event];
    if (correlation != kNoCorrelation || one.stream != -1 || event == 0) cpu.push_back(one);
    if (correlation != kNoCorrelation) launch[correlation] = event;
    if (!name_of(one).starts_with("ProfilerStep#")) continue;
    steps.insert(name_of(one));
    last_step_ns = std::max(last_step_ns, one.start_ns);
  }
  for (HtaEvent& event : gpu) {
    const auto found = launch.find(trace.events.correlation[event.event]);
    if (found != launch.end())
      event.launch = found->second;
    else if (ways.missing_launch_is_first_event)
      event.launch = 0;
  }
  if (ways.steps == HtaWays::Steps::kAll || steps.size() < 2) {
    std::ranges::merge(gpu, cpu, std::back_inserter(events_), {}, &HtaEvent::event, &HtaEvent::event);
  } else {
    keep_launched(std::move(gpu), std::move(cpu), last_step_ns);
  }
}

void HtaView::keep_launched(std::vector<HtaEvent> gpu, std::vector<HtaEvent> cpu, std::int64_t last_step_ns) {
  if (ways_.steps == HtaWays::Steps::kBeforeLast)
    std::erase_if(cpu, [&](const HtaEvent& event) { return event.start_ns >= last_step_ns; });
  std::unordered_map<std::int64_t, int> launches;
  for (const HtaEvent& event : cpu) ++launches[trace_.events.correlation[event.event]];
  for (const HtaEvent& event : gpu) {
    // Once for each: HTA joins two tables.
    const auto found = launches.find(trace_.events.correlation[event.event]);
    if (found != launches.end()) events_.insert(events_.end(), found->second, event);
  }
  events_.insert(events_.end(), cpu.begin(), cpu.end());
}

Trace HtaView::as_trace() const {
  Trace made;
  made.threads = trace_.threads;
  for (const HtaEvent& one : events_) {
    const auto row = static_cast<std::uint32_t>(made.events.size());
    made.events.start_ns.push_back(one.start_ns);
    made.events.duration_ns.push_back(std::max<std::int64_t>(0, one.duration_ns()));
    made.events.name.push_back(made.names.intern(name_of(one)));
    made.events.thread.push_back(trace_.events.thread[one.event]);
    made.events.category.push_back(trace_.events.category[one.event]);
    made.events.correlation.push_back(trace_.events.correlation[one.event]);
    made.events.detail.push_back(kNone);
    if (!is_gpu_work(trace_.events.category[one.event])) continue;
    made.events.detail.back() = static_cast<std::uint32_t>(made.gpu.size());
    made.gpu.push_back(trace_.gpu[trace_.events.detail[one.event]]);
    made.gpu.back().event = row;
  }
  return made;
}

template <typename Wanted>
std::vector<HtaView::Interval> HtaView::merged_intervals(Wanted wanted) const {
  std::vector<Interval> all;
  for (const HtaEvent& event : events_) {
    if (event.stream != -1 && wanted(event)) all.emplace_back(event.start_ns, event.end_ns);
  }
  std::ranges::stable_sort(all, {}, &Interval::first);
  std::vector<Interval> merged;
  std::int64_t latest = kEarliest;
  for (const Interval& one : all) {
    if (merged.empty() || one.first > latest) {
      merged.push_back(one);
    } else {
      merged.back().second = std::max(merged.back().second, one.second);
    }
    latest = std::max(latest, one.second);
  }
  return merged;
}

std::optional<HtaView::Temporal> HtaView::temporal() const {
  const std::vector<Interval> all = merged_intervals([](const HtaEvent&) { return true; });
  Temporal times;
  if (all.empty()) return times;
  times.span_ns = all.back().second - all.front().first;
  times.idle_ns = times.span_ns - total_of(all);
  times.compute_ns = total_of(merged_intervals([&](const HtaEvent& event) { return is_compute(event); }));
  times.non_compute_ns = times.span_ns - times.compute_ns - times.idle_ns;
  if (times.non_compute_ns < 0) return std::nullopt;
  return times;
}

std::optional<double> HtaView::Overlap::percent() const {
  if (communication_ns == 0) return std::nullopt;
  const double share = static_cast<double>(both_ns) / static_cast<double>(communication_ns);
  return std::nearbyint(10'000 * share) / 100;
}

HtaView::Overlap HtaView::overlap() const {
  const std::vector<Interval> communication =
      merged_intervals([&](const HtaEvent& event) { return is_communication(event); });
  std::vector<std::pair<std::int64_t, int>> changes;
  const auto add = [&](const std::vector<Interval>& intervals, int step) {
    for (const auto& [start, end] : intervals) {
      changes.emplace_back(start, step);
      changes.emplace_back(end, -step);
    }
  };
  add(communication, 1);
  add(merged_intervals([&](const HtaEvent& event) { return is_compute(event); }), 2);
  std::ranges::stable_sort(changes, {}, [](const auto& change) { return change.first; });
  Overlap overlap{0, total_of(communication)};
  int running = 0;
  for (std::size_t i = 0; i + 1 < changes.size(); ++i) {
    running += changes[i].second;
    if (running == 3) overlap.both_ns += changes[i + 1].first - changes[i].first;
  }
  return overlap;
}

HtaView::Idle HtaView::idle() const {
  constexpr std::int64_t kThresholdNs = 30'000;
  std::map<std::int64_t, std::vector<HtaEvent>> streams;
  std::unordered_map<std::uint32_t, std::int64_t> start_ns;
  for (const HtaEvent& event : events_) {
    start_ns.emplace(event.event, event.start_ns);
    if (event.stream != -1 && is_gpu_work(trace_.events.category[event.event]))
      streams[event.stream].push_back(event);
  }
  Idle idle;
  for (auto& [stream, works] : streams) {
    std::ranges::stable_sort(works, {}, &HtaEvent::start_ns);
    std::int64_t before = works.front().end_ns;
    for (const HtaEvent& work : std::span(works).subspan(1)) {
      const std::int64_t interval = work.start_ns - before;
      const auto launched = start_ns.find(work.launch);
      const bool is_late = launched != start_ns.end() && launched->second > before;
      before = ways_.idles_from_work_before ? work.end_ns : std::max(before, work.end_ns);
      if (!ways_.idles_from_work_before && interval <= 0) continue;
      auto& [time, count] = idle[{stream, is_late                   ? "host_wait"
                                          : interval < kThresholdNs ? "kernel_wait"
                                                                    : "other"}];
      time += interval;
      ++count;
    }
  }
  return idle;
}

void HtaView::Launch::add(std::int64_t call_ns, std::int64_t gpu_ns, std::int64_t delay_ns) {
  ++launches;
  call_total_ns += call_ns;
  gpu_total_ns += gpu_ns;
  delay_total_ns += delay_ns;
  call_max_ns = std::max(call_max_ns, call_ns);
  gpu_max_ns = std::max(gpu_max_ns, gpu_ns);
  delay_max_ns = std::max(delay_max_ns, delay_ns);
}

bool HtaView::knows_launch_function(std::string_view name) {
  return name == "cudaLaunchKernel" || name == "cudaLaunchKernelExC" || name == "cudaMemcpyAsync" ||
         name == "cudaMemsetAsync";
}

HtaView::Launch HtaView::launch() const {
  std::unordered_map<std::int64_t, HtaEvent> calls;
  for (const HtaEvent& event : events_) {
    if (event.stream == -1 && knows_launch_function(name_of(event)))
      calls[trace_.events.correlation[event.event]] = event;
  }
  Launch sum;
  for (const HtaEvent& event : events_) {
    if (event.stream == -1) continue;
    const auto call = calls.find(trace_.events.correlation[event.event]);
    if (call != calls.end())
      sum.add(call->second.duration_ns(), event.duration_ns(),
              std::max<std::int64_t>(0, event.start_ns - call->second.end_ns));
  }
  return sum;
}

using json = headroom::Json;
using Steps = HtaWays::Steps;

std::optional<HtaView::Temporal> temporal_of(const json& figures) {
  if (figures.is_string()) return std::nullopt;  // the text of HTA's error
  const auto ns = [&](const char* key) { return 1000 * figures[key].get<std::int64_t>(); };
  return HtaView::Temporal{ns("idle_us"), ns("compute_us"), ns("non_compute_us"), ns("span_us")};
}

std::optional<double> overlap_of(const json& figure) {
  return figure.is_null() ? std::optional<double>{} : figure.get<double>();
}

/// Without causes that have no intervals: HTA lists one for the first work of each stream.
HtaView::Idle idle_of(const json& figures) {
  HtaView::Idle idle;
  for (const json& one : figures) {
    if (one["intervals"] != 0)
      idle[{one["stream"].get<std::int64_t>(), one["cause"].string()}] = {
          1000 * one["time_us"].get<std::int64_t>(), one["intervals"].get<std::int64_t>()};
  }
  return idle;
}

HtaView::Launch launch_of(const json& figures) {
  const auto ns = [&](const char* key) {
    return figures[key].is_null() ? 0 : 1000 * figures[key].get<std::int64_t>();
  };
  return {figures["launches"].get<std::int64_t>(),
          ns("call_total_us"),
          ns("call_max_us"),
          ns("gpu_total_us"),
          ns("gpu_max_us"),
          ns("delay_total_us"),
          ns("delay_max_us")};
}

HtaView::Temporal our_temporal(const Trace& trace) {
  const Breakdown sum = total(device_times(trace, device_work(trace), kernel_types(trace)));
  return {sum.idle_ns, sum.compute_ns, sum.span_ns - sum.idle_ns - sum.compute_ns, sum.span_ns};
}

HtaView::Overlap our_overlap(const Trace& trace) {
  const AnalysisResult view = run_analysis("overlap", trace);
  HtaView::Overlap overlap;
  for (std::size_t row = 0; row < row_count(view, "devices"); ++row) {
    overlap.both_ns += integer(view, "devices", row, "overlap_ns");
    overlap.communication_ns += integer(view, "devices", row, "communication_ns");
  }
  return overlap;
}

HtaView::Idle our_idle(const Trace& trace) {
  const AnalysisResult view = run_analysis("idle", trace);
  HtaView::Idle idle;
  for (std::size_t row = 0; row < row_count(view, "streams"); ++row) {
    for (const std::string cause : {"host_wait", "kernel_wait", "other"}) {
      const std::int64_t gaps = integer(view, "streams", row, cause + "_gaps");
      if (gaps > 0)
        idle[{integer(view, "streams", row, "stream"), cause}] = {
            integer(view, "streams", row, cause + "_ns"), gaps};
    }
  }
  return idle;
}

HtaView::Launch our_launch(const Trace& trace, bool summary_records) {
  const AnalysisResult view = run_analysis("launch", trace, {{"each", ""}});
  HtaView::Launch sum;
  for (std::size_t row = 0; row < row_count(view, "each"); ++row) {
    if (summary_records || HtaView::knows_launch_function(text(view, "each", row, "function")))
      sum.add(integer(view, "each", row, "call_ns"), integer(view, "each", row, "gpu_ns"),
              integer(view, "each", row, "delay_ns"));
  }
  return sum;
}

struct HtaFile {
  const char* name;
  std::string_view matters;  ///< the differences that change its figures
  /// GPU work with a launch, all steps, of functions that HTA knows.
  std::int64_t launched;
  std::int64_t idle_ns;  ///< exact, all steps
};

const HtaFile kHtaFiles[] = {
    // Only rounding and the last step differ.
    {"hta__nccl_parser_config_nccl_data.json.gz", "", 3774, 503'050'991},
    // NCCL, whole microseconds, five streams, two steps.
    {"hta__timeline_analysis_sampled_rank-0.json.gz", "", 1204, 675'191'000},
    // Overlaps within a stream, 614 works without launch, 5046 from graphs.
    {"hta__trace_diff_test_test.json.gz", "work_before", 15'018, 27'296'000},
    // HIP: HTA knows none of the functions.
    {"hta__amd_trace_mi250_minitoy_train_ROCm6_2_kineto.json.gz", "", 16, 8'762'845},
    {"tracelens__mi300_resnet_act_checkpoint.json.gz", "reversed", 2685, 2'565'652},
    // HTA's temporal breakdown fails for 22 kernels of less than 1 us.
    {"tracelens__h100_Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz", "reversed first_event", 1198, 4'005'532},
    // Gaps of some ns: rounding makes 458 us of 25.
    {"tracelens__inference_vllm_decode_full_graph_execution.json.gz", "", 434, 25'473},
    {"hta__critical_path_cuda_event_sync_multi_stream_event_sync_trace.json.gz", "syncs", 6, 19'134'000},
    {"hta__df_index_resolver_df_index_resolver.json.gz", "work_before", 22'290, 732'352'000},
    {"hta__critical_path_alexnet_benchmark_result_2869224_1695835535_trace.json.gz", "syncs", 98,
     12'854'103'000},
    // A symmetric-memory all-reduce, 2.1 ms, counts as computing.
    {"tracelens__b200_eager_trace.json.gz", "work_before names operators", 929, 72'890'696},
    // Four operators count as GPU work.
    {"tracelens__torch_compile_triton_trace.json.gz", "operators", 12, 11},
    // Kernels of less than 1 us.
    {"tracelens__h100_google_owlv2-large-patch14-ensemble__1016001.json.gz", "reversed", 5165, 511'528'902},
    // Rounding removes 7.9 of 33.1 ms of idle time.
    {"tracelens__inference_xdit_flux.1_aiter_sage_profile_trace_rank_0.json.gz", "", 7866, 25'243'922},
};

void PrintTo(const HtaFile& file, std::ostream* out) {
  *out << file.name;
}

class HtaGolden : public testing::TestWithParam<HtaFile> {
 protected:
  void SetUp() override {
    const std::filesystem::path path = std::filesystem::path(HEADROOM_SHARED "/traces") / GetParam().name;
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
    ReadOptions options;
    options.needs = Needs::kLaunches | Needs::kOps | Needs::kSyncs | Needs::kOthers;
    static std::map<std::string, Trace> read_before;
    auto found = read_before.find(GetParam().name);
    if (found == read_before.end()) found = read_before.emplace(GetParam().name, read(path, options)).first;
    trace = &found->second;
    golden = parse_json(read_file(HEADROOM_TEST_DATA "/trace/hta_golden.json"), "hta_golden.json")
                 .at("files")
                 .at(GetParam().name);
  }
  HtaView view(const HtaWays& ways) const { return HtaView(*trace, ways); }

  const Trace* trace = nullptr;
  json golden;
};

TEST_P(HtaGolden, FiguresFollowFromOurColumns) {
  for (const Steps steps : {Steps::kBeforeLast, Steps::kLaunched}) {
    const json& figures = golden.at(steps == Steps::kBeforeLast ? "without_last_step" : "with_last_step");
    const HtaView hta = view({.steps = steps});
    EXPECT_EQ(hta.temporal(), temporal_of(figures["temporal"]));
    EXPECT_EQ(hta.overlap().percent(), overlap_of(figures["overlap"]));
    EXPECT_EQ(hta.idle(), idle_of(figures["idle"]));
    EXPECT_EQ(hta.launch(), launch_of(figures["launch"]));
  }
}

constexpr HtaWays kOurs{.rounds = false,
                        .keeps_reversed_work = false,
                        .steps = Steps::kAll,
                        .counts_syncs = false,
                        .idles_from_work_before = false,
                        .missing_launch_is_first_event = false,
                        .knows_few_communications = false,
                        .counts_triton_operators = false};

void expect_ours(const HtaView& view, const Trace& trace) {
  EXPECT_EQ(view.temporal(), our_temporal(trace));
  EXPECT_EQ(view.overlap(), our_overlap(trace));
  EXPECT_EQ(view.idle(), our_idle(trace));
  EXPECT_EQ(view.launch(), our_launch(trace, false));
}

TEST_P(HtaGolden, WithoutItsWaysTheFiguresAreOurs) {
  expect_ours(view(kOurs), *trace);
  HtaWays rounding = kOurs;
  rounding.rounds = true;
  expect_ours(view(rounding), view(rounding).as_trace());
  rounding.steps = Steps::kBeforeLast;
  expect_ours(view(rounding), view(rounding).as_trace());
}

TEST_P(HtaGolden, WhichWaysMatterWhere) {
  const HtaView with = view({.steps = Steps::kLaunched});
  std::string matters;
  const auto note = [&](const char* name, HtaWays ways) {
    ways.steps = Steps::kLaunched;
    const HtaView without = view(ways);
    if (with.temporal() != without.temporal() || with.overlap() != without.overlap() ||
        with.idle() != without.idle() || with.launch() != without.launch())
      matters += (matters.empty() ? "" : " ") + std::string(name);
  };
  note("reversed", {.keeps_reversed_work = false});
  note("syncs", {.counts_syncs = false});
  note("work_before", {.idles_from_work_before = false});
  note("first_event", {.missing_launch_is_first_event = false});
  note("names", {.knows_few_communications = false});
  note("operators", {.counts_triton_operators = false});
  EXPECT_EQ(matters, GetParam().matters);
  EXPECT_EQ(our_launch(*trace, true).launches, GetParam().launched);
  EXPECT_EQ(our_temporal(*trace).idle_ns, GetParam().idle_ns);
}

INSTANTIATE_TEST_SUITE_P(RealFiles, HtaGolden, testing::ValuesIn(kHtaFiles),
                         [](const auto& tested) { return "file_" + std::to_string(tested.index); });

struct Pair {
  const char* figures;
  const char* before;
  const char* after;
};

class DiffAgainstHta : public testing::TestWithParam<Pair> {
 protected:
  static fs::path trace_path(const char* name) {
    return fs::path(HEADROOM_SHARED) / "traces" / (std::string(name) + ".json.gz");
  }
  static TraceProfile profile(const char* name) {
    TraceProfile profile = profile_of(read(trace_path(name), only(kProfileNeeds)), {1009, true});
    if (const auto step = profile.annotations.extract("ProfilerStep"); !step.empty())
      profile.annotations["ProfilerStep#1009"] = step.mapped();
    return profile;
  }
};

using Lines = std::map<std::pair<std::string, std::string>, DiffLine>;

Lines lines_of(const TraceProfile& before, const TraceProfile& after) {
  Lines lines;
  for (const auto& [part, device] : {std::pair{&TraceProfile::kernels, "GPU"},
                                     {&TraceProfile::ops, "CPU"},
                                     {&TraceProfile::annotations, "CPU"},
                                     {&TraceProfile::calls, "CPU"}}) {
    for (DiffLine& line : joined(before.*part, after.*part)) lines[{device, line.name}] = line;
  }
  return lines;
}

/// bench/hta_diff_golden.py made the figures with HTA 0.6.1.
TEST_P(DiffAgainstHta, HasTheSameNamesCountsAndTimes) {
  const Pair pair = GetParam();
  if (!fs::exists(trace_path(pair.before))) GTEST_SKIP() << "the shared traces are not here";
  Lines lines = lines_of(profile(pair.before), profile(pair.after));
  const std::string figures = std::string(HEADROOM_TEST_DATA) + "/trace_diff/" + pair.figures + ".csv";
  const std::vector<CsvRow> rows = parse_csv(read_file(figures), figures);
  ASSERT_GT(rows.size(), 1U);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const auto found = lines.extract({rows[i].at(0), rows[i].at(1)});
    ASSERT_FALSE(found.empty()) << rows[i][1];
    const DiffLine& line = found.mapped();
    EXPECT_EQ(line.before.count, std::stoll(rows[i].at(2))) << line.name;
    EXPECT_EQ(line.before.total_ns, 1000 * std::stoll(rows[i].at(3))) << line.name;
    EXPECT_EQ(line.after.count, std::stoll(rows[i].at(4))) << line.name;
    EXPECT_EQ(line.after.total_ns, 1000 * std::stoll(rows[i].at(5))) << line.name;
  }
  for (const auto& [key, line] : lines) ADD_FAILURE() << "not in HTA's: " << key.first << " " << key.second;
}

INSTANTIATE_TEST_SUITE_P(
    Pairs, DiffAgainstHta,
    testing::Values(Pair{"compare", "hta__trace_compare_base_base", "hta__trace_compare_test_test"},
                    Pair{"diff", "hta__trace_diff_control_control", "hta__trace_diff_test_test"}),
    [](const auto& instance) { return std::string(instance.param.figures); });

}  // namespace
}  // namespace headroom::trace

// SPDX-License-Identifier: Apache-2.0
// What must hold between the tables of the device analyses, whatever the file: on every real one.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "headroom/base/error.h"
#include "headroom/trace/columns/attribution.h"
#include "headroom/trace/columns/kernel_type.h"
#include "headroom/trace/readers/read.h"
#include "headroom/trace/work/queue_length.h"
#include "headroom/trace/work/transfers.h"
#include "result_view.h"

namespace headroom::trace {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> real_files() {
  std::vector<std::string> files;
  const fs::path folder = HEADROOM_SHARED "/traces";
  if (!fs::exists(folder)) return {""};
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    const fs::path extension = entry.path().extension();
    if (extension == ".json" || extension == ".gz")
      files.push_back(entry.path().lexically_relative(folder).string());
  }
  std::ranges::sort(files);
  return files;
}

std::int64_t sum(const ResultView& view, const std::string& table, const std::string& column) {
  std::int64_t total = 0;
  for (std::size_t row = 0; row < view.rows(table); ++row) total += view.integer(table, row, column);
  return total;
}

void expect_parts_of_the_span(const ResultView& idle, const std::string& table) {
  for (std::size_t row = 0; row < idle.rows(table); ++row) {
    const auto ns = [&](const char* column) { return idle.integer(table, row, column); };
    EXPECT_EQ(ns("busy_ns") + ns("idle_ns"), ns("span_ns"));
    EXPECT_EQ(ns("host_wait_ns") + ns("kernel_wait_ns") + ns("other_ns"), ns("idle_ns"));
    EXPECT_GE(ns("busy_ns"), 0);
    EXPECT_LT(ns("host_wait_gaps") + ns("kernel_wait_gaps") + ns("other_gaps"), ns("work"));
  }
}

void expect_idle_and_overlap_to_share_out_the_span(const Trace& trace) {
  AnalysisOptions options;
  options.top = 0;
  const ResultView idle = view_analysis("idle", trace, options),
                   overlap = view_analysis("overlap", trace, options);
  ASSERT_EQ(idle.has("devices"), !trace.gpu.empty());
  ASSERT_EQ(overlap.has("devices"), !trace.gpu.empty());
  if (trace.gpu.empty()) return;
  expect_parts_of_the_span(idle, "devices");
  expect_parts_of_the_span(idle, "streams");
  EXPECT_EQ(sum(idle, "devices", "work"), static_cast<std::int64_t>(trace.gpu.size()));
  EXPECT_EQ(sum(idle, "streams", "work"), static_cast<std::int64_t>(trace.gpu.size()));
  EXPECT_EQ(sum(idle, "device_gaps", "idle_ns"), sum(idle, "devices", "idle_ns"));
  EXPECT_EQ(sum(idle, "stream_gaps", "idle_ns"), sum(idle, "streams", "idle_ns"));
  EXPECT_EQ(sum(idle, "ops", "idle_ns"), sum(idle, "devices", "idle_ns"));
  EXPECT_EQ(sum(idle, "causes", "time_ns"),
            sum(idle, "devices", "idle_ns") + sum(idle, "streams", "idle_ns"));
  ASSERT_EQ(overlap.rows("devices"), idle.rows("devices"));
  for (std::size_t row = 0; row < overlap.rows("devices"); ++row) {
    const auto ns = [&](const char* column) { return overlap.integer("devices", row, column); };
    EXPECT_EQ(ns("overlap_ns") + ns("exposed_communication_ns"), ns("communication_ns"));
    EXPECT_EQ(ns("compute_ns") + ns("exposed_communication_ns") + ns("exposed_memory_ns"),
              idle.integer("devices", row, "busy_ns"));
    EXPECT_EQ(ns("span_ns"), idle.integer("devices", row, "span_ns"));
    EXPECT_LE(ns("exposed_memory_ns"), ns("memory_ns"));
  }
  EXPECT_GE(sum(overlap, "kernels", "time_ns"), sum(overlap, "devices", "communication_ns"));
  EXPECT_GE(sum(overlap, "kernels", "hidden_ns"), sum(overlap, "devices", "overlap_ns"));
}

void expect_every_launch_in_the_tables(const Trace& trace, const std::vector<std::uint32_t>& launch) {
  AnalysisOptions options = option("each");
  options.top = 0;
  const ResultView view = view_analysis("launch", trace, options);
  if (trace.gpu.empty()) return;
  const auto launched = static_cast<std::int64_t>(trace.gpu.size() - std::ranges::count(launch, kNone));
  EXPECT_EQ(sum(view, "coverage", "works"), static_cast<std::int64_t>(trace.gpu.size()));
  EXPECT_EQ(sum(view, "coverage", "launched"), launched);
  EXPECT_EQ(sum(view, "functions", "works"), launched);
  ASSERT_EQ(view.rows("each"), static_cast<std::size_t>(launched));
  std::int64_t calls = 0;
  for (std::size_t row = 0; row < view.rows("launches"); ++row) {
    if (view.text("launches", row, "quantity") == "call") calls += view.integer("launches", row, "count");
    EXPECT_LE(view.number("launches", row, "median_ns"), view.number("launches", row, "p95_ns"));
    EXPECT_LE(view.number("launches", row, "p99_ns"),
              static_cast<double>(view.integer("launches", row, "max_ns")));
  }
  EXPECT_EQ(sum(view, "functions", "calls"), calls);
  for (std::size_t row = 0; row < view.rows("each"); ++row)
    EXPECT_EQ(view.integer("each", row, "delay_ns"),
              std::max<std::int64_t>(0, view.integer("each", row, "signed_delay_ns")));
}

void expect_the_queue_to_hold_each_piece_until_its_start(const Trace& trace,
                                                         const std::vector<std::uint32_t>& launch) {
  double waited = 0, in_queues = 0;
  for (std::size_t row = 0; row < trace.gpu.size(); ++row) {
    if (launch[row] == kNone) continue;
    waited += static_cast<double>(std::max<std::int64_t>(
        0, trace.events.start_ns[trace.gpu[row].event] - trace.events.start_ns[launch[row]]));
  }
  for (const StreamQueue& queue : queue_lengths(trace, launch)) {
    for (const QueueStep& step : queue.steps) EXPECT_GE(step.length, 0);
    if (!queue.steps.empty()) {
      EXPECT_EQ(queue.steps.back().length, 0);
    }
    in_queues += summarize(queue.steps, 1024).length_ns;
  }
  EXPECT_NEAR(in_queues, waited, 1e-9 * waited);
}

void expect_bandwidth_times_time_to_be_what_was_moved(const Trace& trace) {
  const std::vector<Transfer> found = transfers(trace);
  EXPECT_EQ(static_cast<std::ptrdiff_t>(found.size()),
            std::ranges::count(kernel_types(trace), KernelType::kMemory));
  double moved = 0, in_series = 0;
  for (const Transfer& transfer : found) {
    const std::int64_t duration = transfer.duration_ns > 0 ? transfer.duration_ns : 1000;
    if (transfer.bandwidth_gb_s >= 0) moved += transfer.bandwidth_gb_s * static_cast<double>(duration);
  }
  for (const BandwidthSeries& series : bandwidth_series(found)) {
    for (std::size_t i = 0; i + 1 < series.steps.size(); ++i)
      in_series +=
          series.steps[i].gb_s * static_cast<double>(series.steps[i + 1].at_ns - series.steps[i].at_ns);
    if (!series.steps.empty()) {
      EXPECT_EQ(series.steps.back().active, 0);
    }
  }
  EXPECT_NEAR(in_series, moved, 1e-6 * moved);
  const ResultView view = view_analysis("memory", trace);
  EXPECT_EQ(sum(view, "transfers", "transfers"), static_cast<std::int64_t>(found.size()));
  EXPECT_EQ(sum(view, "allocators", "allocations") + sum(view, "allocators", "frees"),
            static_cast<std::int64_t>(trace.memory.size()));
}

class DeviceInvariants : public testing::TestWithParam<std::string> {};

TEST_P(DeviceInvariants, Hold) {
  if (GetParam().empty()) GTEST_SKIP() << "the folder of real traces is not there";
  ReadOptions options;
  options.needs = Needs::kLaunches | Needs::kOps | Needs::kMemory | Needs::kGpuArguments;
  const Trace trace = read(fs::path(HEADROOM_SHARED "/traces") / GetParam(), options);
  const std::vector<std::uint32_t> launch = launches(trace);
  expect_idle_and_overlap_to_share_out_the_span(trace);
  expect_every_launch_in_the_tables(trace, launch);
  expect_the_queue_to_hold_each_piece_until_its_start(trace, launch);
  expect_bandwidth_times_time_to_be_what_was_moved(trace);
}

INSTANTIATE_TEST_SUITE_P(RealFiles, DeviceInvariants, testing::ValuesIn(real_files()),
                         [](const auto& tested) { return "file_" + std::to_string(tested.index); });

}  // namespace
}  // namespace headroom::trace

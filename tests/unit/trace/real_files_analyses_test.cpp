// SPDX-License-Identifier: Apache-2.0
// What must hold of every trace there is: sums add up to the nanosecond, unions are no longer than their
// spans, analyses agree with one another.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "analysis_run.h"
#include "headroom/base/error.h"
#include "headroom/trace/findings/finding_search.h"
#include "headroom/trace/work/idle_culprits.h"

namespace headroom::trace {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> readable_files() {
  std::vector<fs::path> files;
  const fs::path traces = fs::path(HEADROOM_SHARED) / "traces";
  if (!fs::exists(traces)) return files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(traces)) {
    if (entry.is_regular_file() && entry.path().extension() != ".md") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

std::int64_t column_sum(const DataTable& table, const std::string& key) {
  std::int64_t sum = 0;
  for (std::size_t row = 0; row < table.rows.size(); ++row) sum += integer(table, row, key);
  return sum;
}

void check_utilization(const Trace& trace) {
  const AnalysisResult result = run_analysis("utilization", trace);
  if (trace.gpu.empty()) return;
  const DataTable& devices = table_of(result, "devices");
  for (std::size_t row = 0; row < devices.rows.size(); ++row) {
    const std::int64_t span = integer(devices, row, "span_ns");
    EXPECT_EQ(integer(devices, row, "compute_ns") + integer(devices, row, "exposed_communication_ns") +
                  integer(devices, row, "exposed_memory_ns") + integer(devices, row, "idle_ns"),
              span);
    EXPECT_GE(integer(devices, row, "idle_ns"), 0);
    EXPECT_LE(integer(devices, row, "matmul_convolution_ns"), integer(devices, row, "busy_ns"));
  }
  const AnalysisResult summary = run_analysis("summary", trace);
  EXPECT_EQ(summary.headlines.empty(), result.headlines.empty());
  if (result.headlines.empty()) return;
  EXPECT_EQ(headline(summary, "utilization"), headline(result, "utilization"));
}

void check_kernels(const Trace& trace) {
  if (trace.gpu.empty()) return;
  const AnalysisResult devices = run_analysis("utilization", trace);
  for (const char* by : {"name", "type", "shape", "op"}) {
    const AnalysisResult result = run_analysis("kernels", trace, {{"by", by}}, 0);
    const DataTable& kernels = table_of(result, "kernels");
    EXPECT_EQ(column_sum(kernels, "count"), static_cast<std::int64_t>(trace.gpu.size())) << by;
    EXPECT_EQ(column_sum(kernels, "total_ns"), static_cast<std::int64_t>(headline(result, "gpu_time_ns")))
        << by;
    const DataTable& table = table_of(devices, "devices");
    EXPECT_EQ(column_sum(table_of(result, "combinations"), "time_ns"),
              integer(table, table.rows.size() - 1, "busy_ns"));
  }
}

/// Python is to blame for what the other analyses say of all, no more and no less.
void check_modules(const Trace& trace) {
  const AnalysisResult result = run_analysis("modules", trace, {}, 0);
  if (result.tables.empty()) return;
  const DataTable& totals = table_of(result, "totals");
  constexpr std::size_t kAll = 2;
  const auto sum_of_placed = [&](const char* key) {
    std::int64_t own = 0;
    for (const char* table : {"modules", "lines"})
      own = std::max(own, column_sum(table_of(result, table), key));
    return own;
  };
  EXPECT_LE(sum_of_placed("own_device_ns"), integer(totals, 0, "device_ns"));
  EXPECT_EQ(integer(totals, kAll, "device_ns"),
            static_cast<std::int64_t>(headline(run_analysis("kernels", trace), "gpu_time_ns")));
  if (!trace.gpu.empty()) {
    EXPECT_LE(sum_of_placed("own_idle_ns"), integer(totals, 0, "idle_ns"));
    const AnalysisResult of_idle = run_analysis("idle", trace, {}, 0);
    const DataTable& culprits = table_of(of_idle, "culprits");
    std::int64_t idle = 0;
    for (std::size_t row = 0; row < culprits.rows.size(); ++row) {
      if (integer(culprits, row, "depth") == 0) idle += integer(culprits, row, "idle_ns");
    }
    EXPECT_EQ(integer(totals, kAll, "idle_ns"), idle);
  }
  if (!trace.memory.empty()) {
    const AnalysisResult memory = run_analysis("memory", trace);
    const DataTable& devices = table_of(memory, "allocators");
    std::int64_t peak = 0;
    for (std::size_t row = 0; row < devices.rows.size(); ++row) {
      if (text(devices, row, "memory") != "CPU") peak += integer(devices, row, "peak_allocated_bytes");
    }
    EXPECT_EQ(integer(totals, kAll, "peak_bytes"), peak);
  }
}

/// A step's culprits are the parts of the idle times that lie in it, none left out.
void check_step_culprits(const Trace& trace, const DataTable& culprits) {
  const IdleCulprits found = idle_culprits(trace, device_work(trace), launches(trace), host_order(trace));
  std::map<std::string, std::int64_t> expected, said;
  std::vector<Step> all = steps(trace);
  if (all.empty()) {
    const Extent whole = whole_extent(trace);
    all.push_back({-1, "all", whole.start_ns, whole.end_ns});
  }
  for (const Step& step : all) {
    for (const IdlePart& part : found.parts) {
      const std::int64_t inside =
          std::min(part.time.end, step.end_ns) - std::max(part.time.start, step.start_ns);
      if (inside > 0) expected[step_text(step) + to_string(part.doing)] += inside;
    }
  }
  for (std::size_t row = 0; row < culprits.rows.size(); ++row)
    said[text(culprits, row, "step") + text(culprits, row, "doing")] += integer(culprits, row, "idle_ns");
  EXPECT_EQ(said, expected);
}

void check_steps(const Trace& trace) {
  const AnalysisResult result = run_analysis("steps", trace, {}, 0);
  if (trace.events.size() == 0) return;
  const DataTable& steps = table_of(result, "steps");
  for (std::size_t row = 0; row < steps.rows.size(); ++row) {
    std::int64_t sum = 0;
    for (std::size_t column = 5; column < steps.columns.size(); ++column) {
      const std::int64_t part = integer(steps, row, steps.columns[column].key);
      EXPECT_GE(part, 0) << steps.columns[column].key;
      sum += part;
    }
    EXPECT_EQ(sum, integer(steps, row, "wall_ns"));
    EXPECT_LE(integer(steps, row, "busy_ns"), integer(steps, row, "wall_ns"));
  }
  if (!trace.gpu.empty()) check_step_culprits(trace, table_of(result, "step_culprits"));
}

void check_ops(const Trace& trace) {
  for (const char* by : {"name", "shape", "stack"}) {
    const AnalysisResult result = run_analysis("ops", trace, {{"by", by}}, 0);
    if (result.tables.empty()) continue;
    const DataTable& ops = table_of(result, "ops");
    std::int64_t device = 0;
    for (const GpuDetail& work : trace.gpu) device += trace.events.duration_ns[work.event];
    EXPECT_LE(column_sum(ops, "self_device_ns"), device);
    for (std::size_t row = 0; row < ops.rows.size(); ++row) {
      EXPECT_GE(integer(ops, row, "self_cpu_ns"), 0);
      EXPECT_GE(integer(ops, row, "cpu_total_ns"), 0);
      EXPECT_GT(integer(ops, row, "calls"), 0);
      EXPECT_LE(integer(ops, row, "self_device_ns"), integer(ops, row, "device_total_ns"));
    }
  }
}

void check_efficiency(const Trace& trace) {
  for (const Headline& headline : run_analysis("efficiency", trace).headlines) {
    EXPECT_GE(headline.value, 0) << headline.metric;
    EXPECT_LE(headline.value, 1) << headline.metric;
  }
}

/// Run again as it was, a trace takes what it took; what is found never gains more than what is lost.
void check_findings(const Trace& trace) {
  const FindingSearch before(trace, device_work(trace));
  const Span window = before.window();
  std::int64_t length = window.end - window.start, computing = 0, idle = 0;
  for (const StreamOrder& stream : before.replay().streams()) {
    for (std::size_t place = 0; place < stream.rows.size(); ++place) {
      const std::uint32_t event = trace.gpu[stream.rows[place]].event;
      const bool is_known = stream.queued_ns[place] != std::numeric_limits<std::int64_t>::min();
      if ((is_known ? stream.queued_ns[place] : trace.events.start_ns[event]) < window.end)
        length = std::max(length, trace.events.end_ns(event) - window.start);
    }
  }
  EXPECT_EQ(before.replay().length_ns(), length);
  for (const DeviceTimes& device : before.devices()) {
    computing = std::max(computing, length_within(device.compute, window));
    idle += window.end - window.start - length_within(device.busy(), window);
  }
  FindingSearch search(trace, device_work(trace));
  double gains = 0;
  for (const Finding& finding : search_findings(search)) {
    EXPECT_GE(finding.recoverable_ns, 0) << to_string(finding.kind);
    EXPECT_LE(finding.share, 1) << to_string(finding.kind);
    if (finding.kind != FindingKind::kKernelBelowRoof) gains += finding.recoverable_ns;
  }
  // Kernels that a fusion takes away are computing, all else is idle or exposed.
  double fusible = 0;
  for (const GpuDetail& work : trace.gpu) {
    const std::int64_t duration = trace.events.duration_ns[work.event];
    if (duration < 5'000 && is_generic_kernel(trace.names[trace.events.name[work.event]]))
      fusible += static_cast<double>(duration);
  }
  EXPECT_LE(gains * search.step_count(), static_cast<double>(length - computing) + fusible + 1);
  std::int64_t parts = 0;
  for (const IdlePart& part : search.culprits().parts) parts += part.length_ns();
  EXPECT_EQ(parts, idle);
}

TEST(RealFiles, SumsAddUpAndAnalysesAgree) {
  const std::vector<fs::path> files = readable_files();
  if (files.empty()) GTEST_SKIP() << "needs " << HEADROOM_SHARED << "/traces";
  std::size_t checked = 0;
  for (const fs::path& file : files) {
    SCOPED_TRACE(file.filename().string());
    Trace trace;
    try {
      trace = read(file);
    } catch (const Error&) {
      continue;  // no trace at all: the readers' tests say which
    }
    check_utilization(trace);
    check_kernels(trace);
    check_modules(trace);
    check_steps(trace);
    check_ops(trace);
    check_efficiency(trace);
    check_findings(trace);
    ++checked;
  }
  EXPECT_GE(checked, 60U);
}

}  // namespace
}  // namespace headroom::trace

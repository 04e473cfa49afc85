// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>
#include <utility>

#include "headroom/base/units.h"
#include "headroom/trace/analysis.h"
#include "headroom/trace/tables/cells.h"
#include "headroom/trace/tables/reading_notes.h"
#include "headroom/trace/work/python_work.h"

namespace headroom::trace {
namespace {

constexpr const char* kWithin = " > ";
constexpr double kGiga = 1e9;

/// Whether the file knows of it: else no column is shown.
struct Known {
  bool flops = false, idle = false, memory = false;
};

Known known_of(const Trace& trace, const PythonWork& work) {
  return {work.total.flops > 0, !trace.gpu.empty(), !trace.memory.empty()};
}

void add_amount_columns(const Known& known, DataTable& table) {
  if (known.flops) table.columns.push_back({"gflop", "GFLOP", Kind::kNumber});
  if (known.idle) {
    table.columns.push_back({"own_idle_ns", "own idle", Kind::kTimeNs});
    table.columns.push_back({"idle_ns", "devices idle", Kind::kTimeNs});
  }
  if (!known.memory) return;
  table.columns.push_back({"kept_bytes", "allocated - freed", Kind::kBytes});
  table.columns.push_back({"peak_bytes", "held at the peak", Kind::kBytes});
  table.columns.push_back({"peak_share", "of the peak", Kind::kShare});
}

void add_amount_cells(const PythonTimes& times, const PythonWork& work, const Known& known,
                      std::vector<Cell>& row) {
  if (known.flops) row.emplace_back(times.all.flops / kGiga);
  if (known.idle) row.insert(row.end(), {times.own.idle_ns, times.all.idle_ns});
  if (known.memory)
    row.insert(row.end(), {times.all.kept_bytes, times.all.peak_bytes,
                           share_cell(times.all.peak_bytes, work.total.peak_bytes)});
}

void add_columns(const Known& known, DataTable& table) {
  for (Column& column : std::vector<Column>{{"calls", "calls", Kind::kCount},
                                            {"host_ns", "host", Kind::kTimeNs},
                                            {"own_launches", "own launches", Kind::kCount},
                                            {"launches", "launches", Kind::kCount},
                                            {"own_device_ns", "own device", Kind::kTimeNs},
                                            {"device_ns", "device", Kind::kTimeNs},
                                            {"share", "of all", Kind::kShare}}) {
    table.columns.push_back(std::move(column));
  }
  add_amount_columns(known, table);
}

void add_cells(const PythonTimes& times, const PythonWork& work, const Known& known, std::vector<Cell>& row) {
  row.insert(row.end(), {number_cell(times.calls), times.host_ns < 0 ? Cell{} : Cell{times.host_ns},
                         times.own.launches, times.all.launches, times.own.device_ns, times.all.device_ns,
                         share_cell(times.all.device_ns, work.total.device_ns)});
  add_amount_cells(times, work, known, row);
}

/// The rows with the most device time, then those in which the devices had nothing to do the longest, those
/// with the most memory, those with the most host time; what is before another stays so where all are equal.
std::vector<std::uint32_t> by_total_time(const std::vector<PythonTimes>& times) {
  std::vector<std::uint32_t> order(times.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, std::greater{}, [&](std::uint32_t i) {
    return std::tuple(times[i].all.device_ns, times[i].all.idle_ns, times[i].all.peak_bytes,
                      times[i].host_ns);
  });
  return order;
}

/// The lines that launch the most themselves: those far out have all of it. Without work of a device those
/// that hold the most memory.
std::vector<std::uint32_t> by_own_time(const std::vector<PythonTimes>& lines) {
  std::vector<std::uint32_t> order(lines.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, std::greater{}, [&](std::uint32_t i) {
    const PythonTimes& times = lines[i];
    return std::tuple(times.own.device_ns, times.all.device_ns, times.own.idle_ns, times.own.peak_bytes,
                      times.host_ns);
  });
  return order;
}

std::string path_of(const std::vector<PythonModule>& modules, std::uint32_t module) {
  std::string path(modules[module].name);
  for (module = modules[module].parent; module != kNone; module = modules[module].parent)
    path = std::string(modules[module].name) + kWithin + path;
  return path;
}

/// Those of `order` as a tree: children after their parent, the one with the most time first.
std::vector<std::uint32_t> as_tree(const std::vector<PythonModule>& modules,
                                   const std::vector<std::uint32_t>& order) {
  std::vector<std::vector<std::uint32_t>> children(modules.size() + 1);
  for (const std::uint32_t module : order)
    children[modules[module].parent == kNone ? modules.size() : modules[module].parent].push_back(module);
  std::vector<std::uint32_t> tree, open(children.back().rbegin(), children.back().rend());
  while (!open.empty()) {
    const std::uint32_t module = open.back();
    open.pop_back();
    tree.push_back(module);
    open.insert(open.end(), children[module].rbegin(), children[module].rend());
  }
  return tree;
}

/// A child has at most its parent's time, on the device and on the host: with a module its parents are kept.
DataTable module_table(const PythonWork& work, const Known& known, std::size_t top, std::size_t& left_out) {
  DataTable table{"modules",
                  "by nn.Module, each within those around it",
                  {{"path", "module", Kind::kText}, {"depth", "depth", Kind::kCount}},
                  {}};
  add_columns(known, table);
  std::vector<std::uint32_t> order = by_total_time(work.module_times);
  if (top > 0 && order.size() > top) {
    left_out += order.size() - top;
    order.resize(top);
  }
  for (const std::uint32_t module : as_tree(work.modules, order)) {
    std::vector<Cell>& row = table.rows.emplace_back(
        std::vector<Cell>{path_of(work.modules, module), count_cell(work.modules[module].depth)});
    add_cells(work.module_times[module], work, known, row);
  }
  return table;
}

DataTable line_table(const PythonWork& work, const Known& known, std::size_t top, std::size_t& left_out) {
  DataTable table{"lines", "by line of Python", {{"line", "line", Kind::kText}}, {}};
  add_columns(known, table);
  for (const std::uint32_t line : by_own_time(work.line_times)) {
    std::vector<Cell>& row = table.rows.emplace_back(std::vector<Cell>{std::string(work.lines[line])});
    add_cells(work.line_times[line], work, known, row);
  }
  left_out += keep_top(table, top);
  return table;
}

/// What of each is below any Python that the file has; sums to what idle, roofline and memory say of all.
DataTable totals_table(const PythonWork& work, const Known& known) {
  DataTable table{"totals",
                  "of all of it",
                  {{"where", "where", Kind::kText}, {"device_ns", "device", Kind::kTimeNs}},
                  {}};
  if (known.flops) table.columns.push_back({"gflop", "GFLOP", Kind::kNumber});
  if (known.idle) table.columns.push_back({"idle_ns", "devices idle", Kind::kTimeNs});
  if (known.memory) {
    table.columns.push_back({"kept_bytes", "allocated - freed", Kind::kBytes});
    table.columns.push_back({"peak_bytes", "held at the peak", Kind::kBytes});
  }
  const auto add = [&](const char* where, const PythonAmounts& amounts) {
    std::vector<Cell>& row =
        table.rows.emplace_back(std::vector<Cell>{std::string(where), amounts.device_ns});
    if (known.flops) row.emplace_back(amounts.flops / kGiga);
    if (known.idle) row.emplace_back(amounts.idle_ns);
    if (known.memory) row.insert(row.end(), {amounts.kept_bytes, amounts.peak_bytes});
  };
  add("Python in the file", work.placed);
  add("elsewhere", work.elsewhere);
  add("all", work.total);
  return table;
}

void add_notes(const PythonWork& work, std::size_t left_out, AnalysisResult& result) {
  if (left_out > 0) result.notes.push_back(fmt::format("{} more rows: --top 0 shows all", left_out));
  if (work.source == StackSource::kCallStacks) {
    result.notes.emplace_back(
        "from the call stacks of the operators: how often and how long Python was anywhere they do not say");
  }
  if (work.backward_ns > 0) {
    result.notes.push_back(fmt::format(
        "{} of the devices' time was launched by autograd, and stands where the forward operator was "
        "called",
        format_time_ns(static_cast<double>(work.backward_ns))));
  }
  if (const std::int64_t lost = work.elsewhere.device_ns; lost > 0) {
    result.notes.push_back(
        fmt::format("{} of the devices' time was launched by no Python that is in the file",
                    format_time_ns(static_cast<double>(lost))));
  }
}

AnalysisResult analyze(const Trace& trace, const AnalysisOptions& options) {
  AnalysisResult result;
  const PythonWork work = python_work(trace);
  if (work.source == StackSource::kNothing) {
    result.notes.emplace_back(
        "no function of Python and no call stack is in the file: record it with with_stack=True, and with "
        "with_modules=True");
    return result;
  }
  std::size_t left_out = 0;
  const Known known = known_of(trace, work);
  result.tables.push_back(module_table(work, known, options.top, left_out));
  result.tables.push_back(line_table(work, known, options.top, left_out));
  result.tables.push_back(totals_table(work, known));
  add_notes(work, left_out, result);
  if (trace.gpu.empty()) result.notes.push_back(no_gpu_work(trace));
  result.headlines = {
      {"modules", Kind::kCount, true, static_cast<double>(work.modules.size()), ""},
      {"lines", Kind::kCount, true, static_cast<double>(work.lines.size()), ""},
      {"placed_device_ns", Kind::kTimeNs, false, static_cast<double>(work.placed.device_ns), ""}};
  return result;
}

}  // namespace

namespace analysis {

extern const Analysis modules{
    "modules",
    "device and host time, FLOPs, idle time and memory by nn.Module and by line of Python",
    Needs::kLaunches | Needs::kOps | Needs::kOpArguments | Needs::kPython | Needs::kMemory,
    analyze,
    {},
    nullptr};

}  // namespace analysis
}  // namespace headroom::trace

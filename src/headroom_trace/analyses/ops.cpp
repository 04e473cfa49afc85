// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom_trace/analysis.h"
#include "headroom_trace/columns/attribution.h"
#include "headroom_trace/columns/trace.h"
#include "headroom_trace/columns/trace_facts.h"
#include "headroom_trace/findings/advice.h"
#include "headroom_trace/index/trace_index.h"
#include "headroom_trace/tables/data_table.h"
#include "headroom_trace/work/python_work.h"

namespace headroom::trace {
namespace {

/// Host calls as torch.profiler nests them, with their GPU work. Columns are by event; kNone and 0 for other
/// events.
struct OpTree {
  std::vector<std::uint32_t> calls;   ///< parents before children
  std::vector<std::uint32_t> parent;  ///< innermost enclosing call
  std::vector<std::int64_t> self_ns;
  std::vector<std::int64_t> device_ns;        ///< launched by the call itself
  std::vector<std::int64_t> device_total_ns;  ///< with the children's
  /// The call itself, or its parent's if it is an only child of the same name (as torch counts aten::arange)
  /// or belongs to the profiler.
  std::vector<std::uint32_t> representative;
  std::int64_t unattributed_device_ns = 0;
};

constexpr CategoryMask kCalls = mask_of(Category::kCpuOp) | mask_of(Category::kUserAnnotation) |
                                mask_of(Category::kRuntime) | mask_of(Category::kDriver);

/// Calls that torch omits.
bool is_profiler_event(std::string_view name) {
  constexpr std::array<std::string_view, 6> kNames{"profiler::_record_function_enter",
                                                   "profiler::_record_function_enter_new",
                                                   "profiler::_record_function_exit",
                                                   "aten::is_leaf",
                                                   "aten::output_nr",
                                                   "aten::_version"};
  return std::ranges::find(kNames, name) != kNames.end();
}

/// The innermost operator, as in torch, else the innermost annotation, else kNone.
std::vector<std::uint32_t> owners(const Trace& trace, const OpTree& tree) {
  std::vector<std::uint32_t> owner(trace.events.size(), kNone);
  for (const std::uint32_t call : tree.calls) {
    const std::uint32_t parent = tree.parent[call], above = parent == kNone ? kNone : owner[parent];
    const Category category = trace.events.category[call];
    const bool is_in_op = above != kNone && trace.events.category[above] == Category::kCpuOp;
    const bool is_owner =
        category == Category::kCpuOp || (category == Category::kUserAnnotation && !is_in_op);
    owner[call] = is_owner ? call : above;
  }
  return owner;
}

void add_device_times(const TraceIndex& index, OpTree& tree) {
  const Trace& trace = index.trace();
  const std::vector<std::uint32_t>& launch = index.launches();
  const std::vector<std::uint32_t> owner = owners(trace, tree);
  for (std::size_t row = 0; row < trace.gpu.size(); ++row) {
    std::uint32_t call = launch[row] == kNone ? kNone : owner[launch[row]];
    if (call == kNone) call = index.ops()[row];
    const std::int64_t duration = trace.events.duration_ns[trace.gpu[row].event];
    std::int64_t& time = call == kNone ? tree.unattributed_device_ns : tree.device_ns[call];
    time = saturating_add(time, duration);
  }
  tree.device_total_ns = tree.device_ns;
  for (auto call = tree.calls.rbegin(); call != tree.calls.rend(); ++call) {
    if (const std::uint32_t parent = tree.parent[*call]; parent != kNone)
      tree.device_total_ns[parent] =
          saturating_add(tree.device_total_ns[parent], tree.device_total_ns[*call]);
  }
}

void find_representatives(const Trace& trace, OpTree& tree) {
  const std::vector<NameId>& name = trace.events.name;
  std::vector<std::uint32_t> children(trace.events.size(), 0);
  for (const std::uint32_t call : tree.calls) {
    if (tree.parent[call] != kNone && !is_profiler_event(trace.names[name[call]]))
      ++children[tree.parent[call]];
  }
  tree.representative.assign(trace.events.size(), kNone);
  for (const std::uint32_t call : tree.calls) {
    const std::uint32_t parent = tree.parent[call];
    const bool is_folded = parent != kNone && ((name[parent] == name[call] && children[parent] == 1) ||
                                               is_profiler_event(trace.names[name[call]]));
    tree.representative[call] = is_folded ? tree.representative[parent] : call;
  }
}

enum class OpsBy { kName, kShape, kStack };

OpsBy ops_by(const AnalysisOptions& options) {
  constexpr std::pair<const char*, OpsBy> kChoices[] = {
      {"name", OpsBy::kName}, {"shape", OpsBy::kShape}, {"stack", OpsBy::kStack}};
  return options.choice("by", kChoices);
}

struct OpGroup {
  std::string name, detail;  ///< detail: the shapes or the stack
  const char* kind = "";
  std::int64_t calls = 0, self_cpu = 0, cpu = 0, self_device = 0, device = 0;
};

const char* kind_of(Category category) {
  switch (category) {
    case Category::kCpuOp:
      return "op";
    case Category::kUserAnnotation:
      return "annotation";
    case Category::kRuntime:
      return "runtime";
    default:
      return "driver";
  }
}

/// Innermost frames come first, separated by semicolons.
std::string top_frames(std::string_view stack, std::size_t frames) {
  std::size_t end = 0;
  for (; frames > 0 && end != std::string_view::npos; --frames) end = stack.find(';', end == 0 ? 0 : end + 1);
  return std::string(stack.substr(0, end));
}

/// Needs kLaunches and kOps.
OpTree op_tree(const TraceIndex& index) {
  const Trace& trace = index.trace();
  const Events& events = trace.events;
  OpTree tree;
  HostOrder host = host_order(trace, kCalls);
  tree.self_ns = self_times(trace, host);
  tree.calls = std::move(host.events);
  tree.parent = std::move(host.parent);
  tree.device_ns.assign(events.size(), 0);
  add_device_times(index, tree);
  find_representatives(trace, tree);
  std::erase_if(tree.calls, [&](std::uint32_t call) {
    return tree.parent[call] == kNone && is_profiler_event(trace.names[events.name[call]]);
  });
  return tree;
}

class Averages {
 public:
  Averages(const TraceIndex& index, OpsBy by, std::size_t frames)
      : trace_(index.trace()),
        tree_(op_tree(index)),
        by_(by),
        frames_(frames),
        group_(trace_.events.size(), kNone) {
    if (by == OpsBy::kStack) frame_ = parents(trace_, mask_of(Category::kPython));
    for (const std::uint32_t call : tree_.calls) add(call);
  }
  std::vector<OpGroup> groups;
  std::int64_t unattributed_device_ns() const { return tree_.unattributed_device_ns; }

 private:
  const Trace& trace_;
  const OpTree tree_;
  OpsBy by_;
  std::size_t frames_;
  std::vector<std::uint32_t> group_;
  std::vector<std::uint32_t> frame_;  ///< innermost python_function around each call
  std::map<std::tuple<std::string_view, std::string, Category>, std::uint32_t> places_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> open_;  ///< enclosing calls, with rows
  std::vector<std::uint32_t> open_of_group_;

  std::string functions_above(std::uint32_t event) const {
    std::string stack;
    std::uint32_t frame = frame_[event];
    for (std::size_t count = 0; count < frames_ && frame != kNone; ++count, frame = frame_[frame]) {
      if (count > 0) stack += ';';
      stack += plain_frame(trace_.event_name(frame));
    }
    return stack;
  }

  std::string detail_of(std::uint32_t event) const {
    const std::string own = own_detail_of(event);
    return by_ == OpsBy::kStack && own.empty() ? functions_above(event) : own;
  }

  std::string own_detail_of(std::uint32_t event) const {
    const std::uint32_t row = trace_.events.detail[event];
    const Category category = trace_.events.category[event];
    if (by_ == OpsBy::kName || row == kNone || row >= trace_.ops.size() ||
        (category != Category::kCpuOp && category != Category::kUserAnnotation)) {
      return "";
    }
    if (by_ == OpsBy::kShape) return std::string(trace_.names[trace_.ops[row].dims]);
    return top_frames(trace_.names[trace_.ops[row].stack], frames_);
  }

  std::uint32_t group_of(std::uint32_t event) {
    if (group_[event] != kNone) return group_[event];
    // Steps share a row, as in torch.
    std::string_view name = trace_.event_name(event);
    if (name.starts_with("ProfilerStep#")) name = "ProfilerStep*";
    const Category category = trace_.events.category[event];
    std::string detail = detail_of(event);
    const auto [place, is_new] =
        places_.emplace(std::tuple(name, detail, category), static_cast<std::uint32_t>(groups.size()));
    if (is_new) {
      OpGroup& group = groups.emplace_back();
      group.name = std::string(name);
      group.detail = std::move(detail);
      group.kind = kind_of(category);
    }
    return group_[event] = place->second;
  }

  /// True if an enclosing call of the same row already includes its times.
  bool enter(std::uint32_t call, std::uint32_t group) {
    while (!open_.empty() && open_.back().first != tree_.parent[call]) {
      --open_of_group_[open_.back().second];
      open_.pop_back();
    }
    open_.emplace_back(call, group);
    open_of_group_.resize(groups.size(), 0);
    return open_of_group_[group]++ > 0;
  }

  void add(std::uint32_t call) {
    const std::uint32_t representative = tree_.representative[call], place = group_of(representative);
    OpGroup& group = groups[place];
    group.self_cpu = saturating_add(group.self_cpu, tree_.self_ns[call]);
    group.self_device = saturating_add(group.self_device, tree_.device_ns[call]);
    const bool is_inside = enter(call, place);
    if (representative != call) return;
    ++group.calls;
    if (is_inside) return;
    group.cpu = saturating_add(group.cpu, trace_.events.duration_ns[call]);
    group.device = saturating_add(group.device, tree_.device_total_ns[call]);
  }
};

std::int64_t OpGroup::*sort_key(const AnalysisOptions& options, bool has_device_time) {
  if (!options.flag("sort")) return has_device_time ? &OpGroup::self_device : &OpGroup::self_cpu;
  constexpr std::pair<const char*, std::int64_t OpGroup::*> kChoices[] = {
      {"self-cpu", &OpGroup::self_cpu},
      {"cpu", &OpGroup::cpu},
      {"self-device", &OpGroup::self_device},
      {"device", &OpGroup::device},
      {"calls", &OpGroup::calls}};
  return options.choice("sort", kChoices);
}

DataTable op_table(const std::vector<OpGroup>& groups, OpsBy by, std::int64_t self_cpu,
                   std::int64_t self_device) {
  DataTable table{"ops", "CPU calls", {Column::text("name"), Column::text("kind").detail()}};
  if (by == OpsBy::kShape) table.columns.push_back(Column::text("input_shapes").main());
  if (by == OpsBy::kStack) table.columns.push_back(Column::text("stack").main());
  add_columns(table,
              {Column::count("calls"), Column::time("self_cpu_ns", "self CPU").main(),
               Column::share("self_cpu_share", "of all").main(), Column::time("cpu_total_ns", "CPU total"),
               Column::time("cpu_mean_ns", "CPU mean").detail(), Column::time("self_device_ns").main(),
               Column::share("self_device_share", "of all").main(), Column::time("device_total_ns"),
               Column::time("device_mean_ns").detail()});
  for (const OpGroup& group : groups) {
    std::vector<Cell>& row = table.rows.emplace_back(std::vector<Cell>{group.name, group.kind});
    if (by != OpsBy::kName) row.emplace_back(group.detail);
    const auto calls = static_cast<double>(group.calls);
    row.insert(row.end(), {group.calls, group.self_cpu, share_cell(group.self_cpu, self_cpu), group.cpu,
                           static_cast<double>(group.cpu) / calls, group.self_device,
                           share_cell(group.self_device, self_device), group.device,
                           static_cast<double>(group.device) / calls});
  }
  return table;
}

AnalysisResult analyze_ops(const TraceIndex& index, const AnalysisOptions& options) {
  const OpsBy by = ops_by(options);
  const double frames = options.number("frames", 5);
  if (!(frames >= 1)) throw Error("--frames: give at least 1");
  Averages averages(index, by, static_cast<std::size_t>(std::min(frames, 1e6)));
  std::vector<OpGroup> groups = std::move(averages.groups);
  AnalysisResult result;
  if (groups.empty()) {
    result.notes.emplace_back("no operator, annotation or runtime call in the file: was the CPU recorded?");
    return result;
  }
  std::int64_t calls = 0, self_cpu = 0, self_device = 0;
  for (const OpGroup& group : groups) {
    calls += group.calls;
    self_cpu = saturating_add(self_cpu, group.self_cpu);
    self_device = saturating_add(self_device, group.self_device);
  }
  const auto key = sort_key(options, self_device > 0);
  std::ranges::stable_sort(groups, [&](const OpGroup& a, const OpGroup& b) { return a.*key > b.*key; });
  DataTable table = op_table(groups, by, self_cpu, self_device);
  if (const std::size_t left_out = keep_top(table, options.top); left_out > 0)
    result.notes.push_back(fmt::format("{} more rows: --top 0 shows all", left_out));
  if (const std::int64_t lost = averages.unattributed_device_ns(); lost > 0) {
    result.notes.push_back(fmt::format("{} of the GPU time was launched outside operators and annotations",
                                       format_time_ns(static_cast<double>(lost))));
  }
  result.tables.push_back(std::move(table));
  result.headlines = {{"calls", Kind::kCount, true, static_cast<double>(calls)},
                      {"self_cpu_ns", Kind::kTimeNs, true, static_cast<double>(self_cpu)},
                      {"self_device_ns", Kind::kTimeNs, true, static_cast<double>(self_device)}};
  return result;
}

Needs needs_with_ops(const AnalysisOptions& options) {
  const OpsBy by = ops_by(options);
  if (by == OpsBy::kName) return Needs::kGpuWork;
  return by == OpsBy::kStack ? Needs::kOpArguments | Needs::kPython : Needs::kOpArguments;
}

constexpr AnalysisOption kOpsOptions[] = {
    {"by", "WHAT", "name", "group rows by name, by name and input shapes, or by name and stack"},
    {"frames", "N", "5", "compare N stack frames with --by stack"},
    {"sort", "WHAT", "",
     "sort by self-cpu, cpu, self-device, device or calls; self-device if the file has GPU work"}};

constexpr const char* kWithin = " > ";
constexpr double kGiga = 1e9;

struct Known {
  bool flops = false, idle = false, memory = false;
};

Known known_of(const Trace& trace, const PythonWork& work) {
  return {work.total.flops > 0, !trace.gpu.empty(), !trace.memory.empty()};
}

void add_amount_columns(const Known& known, DataTable& table) {
  if (known.flops) table.columns.push_back(Column::number("gflop", "GFLOP"));
  if (known.idle) {
    table.columns.push_back(Column::time("own_idle_ns"));
    table.columns.push_back(Column::time("idle_ns", "devices idle").main());
  }
  if (!known.memory) return;
  table.columns.push_back(Column::bytes("kept_bytes", "allocated - freed").detail());
  table.columns.push_back(Column::bytes("peak_bytes", "held at the peak").detail());
  table.columns.push_back(Column::share("peak_share", "of the peak").detail());
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
  add_columns(table, {Column::count("calls"), Column::time("host_ns").main(), Column::count("own_launches"),
                      Column::count("launches"), Column::time("own_device_ns"),
                      Column::time("device_ns").main(), Column::share("share", "of all").main()});
  add_amount_columns(known, table);
}

void add_cells(const PythonTimes& times, const PythonWork& work, const Known& known, std::vector<Cell>& row) {
  row.insert(row.end(), {number_cell(times.calls), times.host_ns < 0 ? Cell{} : Cell{times.host_ns},
                         times.own.launches, times.all.launches, times.own.device_ns, times.all.device_ns,
                         share_cell(times.all.device_ns, work.total.device_ns)});
  add_amount_cells(times, work, known, row);
}

std::vector<std::uint32_t> by_total_time(const std::vector<PythonTimes>& times) {
  std::vector<std::uint32_t> order(times.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, std::greater{}, [&](std::uint32_t i) {
    return std::tuple(times[i].all.device_ns, times[i].all.idle_ns, times[i].all.peak_bytes,
                      times[i].host_ns);
  });
  return order;
}

/// By own device time; without GPU work by memory.
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

/// The first `top` modules and their parents: no child exceeds its parent's time.
DataTable module_table(const PythonWork& work, const Known& known, std::size_t top, std::size_t& left_out) {
  DataTable table{
      "modules", "by nn.Module, nested", {Column::text("path", "module"), Column::count("depth").detail()}};
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
  DataTable table{"lines", "by Python line", {Column::text("line")}};
  add_columns(known, table);
  for (const std::uint32_t line : by_own_time(work.line_times)) {
    std::vector<Cell>& row = table.rows.emplace_back(std::vector<Cell>{std::string(work.lines[line])});
    add_cells(work.line_times[line], work, known, row);
  }
  left_out += keep_top(table, top);
  return table;
}

/// Totals that sum to those of idle, roofline and memory.
DataTable totals_table(const PythonWork& work, const Known& known) {
  DataTable table{"totals", "totals", {Column::text("where"), Column::time("device_ns").main()}};
  if (known.flops) table.columns.push_back(Column::number("gflop", "GFLOP"));
  if (known.idle) table.columns.push_back(Column::time("idle_ns", "devices idle").main());
  if (known.memory) {
    table.columns.push_back(Column::bytes("kept_bytes", "allocated - freed").detail());
    table.columns.push_back(Column::bytes("peak_bytes", "held at the peak").detail());
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
        "measured from operator call stacks, which do not show how often or how long Python itself ran");
  }
  if (work.backward_ns > 0) {
    result.notes.push_back(fmt::format(
        "{} of the GPU time was launched by autograd and counts where the forward operator was called",
        format_time_ns(static_cast<double>(work.backward_ns))));
  }
  if (const std::int64_t lost = work.elsewhere.device_ns; lost > 0) {
    result.notes.push_back(fmt::format("{} of the GPU time was launched by no recorded Python",
                                       format_time_ns(static_cast<double>(lost))));
  }
}

AnalysisResult analyze_modules(const TraceIndex& index, const AnalysisOptions& options) {
  const Trace& trace = index.trace();
  AnalysisResult result;
  const PythonWork work = python_work(trace, index.launches(), index.ops(), index.host());
  if (work.source == StackSource::kNothing) {
    result.notes.push_back("no Python function and no call stack in the file: " +
                           advice(Advice::kRecordLines, trace.writer));
    return result;
  }
  std::size_t left_out = 0;
  const Known known = known_of(trace, work);
  result.tables.push_back(module_table(work, known, options.top, left_out));
  result.tables.push_back(line_table(work, known, options.top, left_out));
  result.tables.push_back(totals_table(work, known));
  add_notes(work, left_out, result);
  if (trace.gpu.empty()) result.notes.push_back(no_gpu_work(trace));
  result.headlines = {{"modules", Kind::kCount, true, static_cast<double>(work.modules.size())},
                      {"lines", Kind::kCount, true, static_cast<double>(work.lines.size())},
                      {"placed_device_ns", Kind::kTimeNs, false, static_cast<double>(work.placed.device_ns)}};
  return result;
}

}  // namespace

namespace analysis {

extern const Analysis ops{.name = "ops",
                          .summary = "show CPU and device time of operators, like key_averages",
                          .needs = Needs::kLaunches | Needs::kOps,
                          .analyze = analyze_ops,
                          .options = kOpsOptions,
                          .needs_with = needs_with_ops};

extern const Analysis modules{
    .name = "modules",
    .summary = "show time, FLOPs and memory by nn.Module and Python line",
    .needs = Needs::kLaunches | Needs::kOps | Needs::kOpArguments | Needs::kPython | Needs::kMemory,
    .analyze = analyze_modules};

}  // namespace analysis

}  // namespace headroom::trace

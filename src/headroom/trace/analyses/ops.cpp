// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/trace/analysis.h"
#include "headroom/trace/columns/attribution.h"
#include "headroom/trace/tables/cells.h"
#include "headroom/trace/tables/duration_stats.h"
#include "headroom/trace/work/op_tree.h"
#include "headroom/trace/work/python_work.h"

namespace headroom::trace {
namespace {

enum class By { kName, kShape, kStack };

By by_of(const AnalysisOptions& options) {
  const std::string text = options.text("by", "name");
  if (text == "name") return By::kName;
  if (text == "shape") return By::kShape;
  if (text == "stack") return By::kStack;
  throw Error(fmt::format("--by {}: give name, shape or stack", in_quotes(text)));
}

/// A row of key_averages.
struct Group {
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

/// The first frames of a call stack, which the file writes innermost first with semicolons between.
std::string top_frames(std::string_view stack, std::size_t frames) {
  std::size_t end = 0;
  for (; frames > 0 && end != std::string_view::npos; --frames) end = stack.find(';', end == 0 ? 0 : end + 1);
  return std::string(stack.substr(0, end));
}

class Averages {
 public:
  Averages(const Trace& trace, By by, std::size_t frames)
      : trace_(trace), tree_(op_tree(trace)), by_(by), frames_(frames), group_(trace.events.size(), kNone) {
    if (by == By::kStack) frame_ = parents(trace, mask_of(Category::kPython));
    for (const std::uint32_t call : tree_.calls) add(call);
  }
  std::vector<Group> groups;
  std::int64_t unattributed_device_ns() const { return tree_.unattributed_device_ns; }

 private:
  const Trace& trace_;
  const OpTree tree_;
  By by_;
  std::size_t frames_;
  std::vector<std::uint32_t> group_;  ///< of each event that stands for itself
  std::vector<std::uint32_t> frame_;  ///< the innermost python_function around each call
  std::map<std::tuple<std::string_view, std::string, Category>, std::uint32_t> places_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>>
      open_;  ///< calls that enclose the current one, with rows
  std::vector<std::uint32_t> open_of_group_;

  /// The functions of Python around the call, as a call stack has them.
  std::string functions_above(std::uint32_t event) const {
    std::string stack;
    std::uint32_t frame = frame_[event];
    for (std::size_t count = 0; count < frames_ && frame != kNone; ++count, frame = frame_[frame]) {
      if (count > 0) stack += ';';
      stack += plain_frame(trace_.names[trace_.events.name[frame]]);
    }
    return stack;
  }

  std::string detail_of(std::uint32_t event) const {
    const std::string own = own_detail_of(event);
    return by_ == By::kStack && own.empty() ? functions_above(event) : own;
  }

  std::string own_detail_of(std::uint32_t event) const {
    const std::uint32_t row = trace_.events.detail[event];
    const Category category = trace_.events.category[event];
    if (by_ == By::kName || row == kNone || row >= trace_.ops.size() ||
        (category != Category::kCpuOp && category != Category::kUserAnnotation)) {
      return "";
    }
    if (by_ == By::kShape) return std::string(trace_.names[trace_.ops[row].dims]);
    return top_frames(trace_.names[trace_.ops[row].stack], frames_);
  }

  std::uint32_t group_of(std::uint32_t event) {
    if (group_[event] != kNone) return group_[event];
    // As torch does, steps of different numbers are one row.
    std::string_view name = trace_.names[trace_.events.name[event]];
    if (name.starts_with("ProfilerStep#")) name = "ProfilerStep*";
    const Category category = trace_.events.category[event];
    std::string detail = detail_of(event);
    const auto [place, is_new] =
        places_.emplace(std::tuple(name, detail, category), static_cast<std::uint32_t>(groups.size()));
    if (is_new) {
      Group& group = groups.emplace_back();
      group.name = std::string(name);
      group.detail = std::move(detail);
      group.kind = kind_of(category);
    }
    return group_[event] = place->second;
  }

  /// Leaves the calls that do not enclose this one, and enters it. True where a call that encloses it is in
  /// the same row: the times of that one hold this one's already.
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
    const std::uint32_t stand_in = tree_.stand_in[call], place = group_of(stand_in);
    Group& group = groups[place];
    group.self_cpu = saturating_add(group.self_cpu, tree_.self_ns[call]);
    group.self_device = saturating_add(group.self_device, tree_.device_ns[call]);
    const bool is_inside = enter(call, place);
    if (stand_in != call) return;
    ++group.calls;
    if (is_inside) return;
    group.cpu = saturating_add(group.cpu, trace_.events.duration_ns[call]);
    group.device = saturating_add(group.device, tree_.device_total_ns[call]);
  }
};

std::int64_t Group::*sort_key(const AnalysisOptions& options, bool has_device_time) {
  const std::string text = options.text("sort", has_device_time ? "self-device" : "self-cpu");
  constexpr std::pair<const char*, std::int64_t Group::*> kChoices[] = {{"self-cpu", &Group::self_cpu},
                                                                        {"cpu", &Group::cpu},
                                                                        {"self-device", &Group::self_device},
                                                                        {"device", &Group::device},
                                                                        {"calls", &Group::calls}};
  for (const auto& [name, member] : kChoices) {
    if (text == name) return member;
  }
  throw Error(fmt::format("--sort {}: give self-cpu, cpu, self-device, device or calls", in_quotes(text)));
}

DataTable op_table(const std::vector<Group>& groups, By by, std::int64_t self_cpu, std::int64_t self_device) {
  DataTable table{
      "ops", "calls of the host", {{"name", "name", Kind::kText}, {"kind", "kind", Kind::kText}}, {}};
  if (by == By::kShape) table.columns.push_back({"input_shapes", "input shapes", Kind::kText});
  if (by == By::kStack) table.columns.push_back({"stack", "stack", Kind::kText});
  for (Column& column : std::vector<Column>{{"calls", "calls", Kind::kCount},
                                            {"self_cpu_ns", "self CPU", Kind::kTimeNs},
                                            {"self_cpu_share", "of all", Kind::kShare},
                                            {"cpu_total_ns", "CPU total", Kind::kTimeNs},
                                            {"cpu_mean_ns", "CPU mean", Kind::kTimeNs},
                                            {"self_device_ns", "self device", Kind::kTimeNs},
                                            {"self_device_share", "of all", Kind::kShare},
                                            {"device_total_ns", "device total", Kind::kTimeNs},
                                            {"device_mean_ns", "device mean", Kind::kTimeNs}}) {
    table.columns.push_back(std::move(column));
  }
  for (const Group& group : groups) {
    std::vector<Cell>& row = table.rows.emplace_back(std::vector<Cell>{group.name, group.kind});
    if (by != By::kName) row.emplace_back(group.detail);
    const auto calls = static_cast<double>(group.calls);
    row.insert(row.end(), {group.calls, group.self_cpu, share_cell(group.self_cpu, self_cpu), group.cpu,
                           static_cast<double>(group.cpu) / calls, group.self_device,
                           share_cell(group.self_device, self_device), group.device,
                           static_cast<double>(group.device) / calls});
  }
  return table;
}

AnalysisResult analyze(const Trace& trace, const AnalysisOptions& options) {
  const By by = by_of(options);
  const double frames = options.number("frames", 5);
  if (!(frames >= 1)) throw Error("--frames: give at least 1");
  Averages averages(trace, by, static_cast<std::size_t>(std::min(frames, 1e6)));
  std::vector<Group> groups = std::move(averages.groups);
  AnalysisResult result;
  if (groups.empty()) {
    result.notes.emplace_back("no operator, annotation or runtime call in the file: was the CPU recorded?");
    return result;
  }
  std::int64_t calls = 0, self_cpu = 0, self_device = 0;
  for (const Group& group : groups) {
    calls += group.calls;
    self_cpu = saturating_add(self_cpu, group.self_cpu);
    self_device = saturating_add(self_device, group.self_device);
  }
  const auto key = sort_key(options, self_device > 0);
  std::ranges::stable_sort(groups, [&](const Group& a, const Group& b) { return a.*key > b.*key; });
  DataTable table = op_table(groups, by, self_cpu, self_device);
  if (const std::size_t left_out = keep_top(table, options.top); left_out > 0)
    result.notes.push_back(fmt::format("{} more rows: --top 0 shows all", left_out));
  if (const std::int64_t lost = averages.unattributed_device_ns(); lost > 0) {
    result.notes.push_back(fmt::format("{} of the devices' time was launched by no call that is in the file",
                                       format_time_ns(static_cast<double>(lost))));
  }
  result.tables.push_back(std::move(table));
  result.headlines = {{"calls", Kind::kCount, true, static_cast<double>(calls), ""},
                      {"self_cpu_ns", Kind::kTimeNs, true, static_cast<double>(self_cpu), ""},
                      {"self_device_ns", Kind::kTimeNs, true, static_cast<double>(self_device), ""}};
  return result;
}

Needs needs_with(const AnalysisOptions& options) {
  const By by = by_of(options);
  if (by == By::kName) return Needs::kGpuWork;
  return by == By::kStack ? Needs::kOpArguments | Needs::kPython : Needs::kOpArguments;
}

constexpr AnalysisOption kOptions[] = {
    {"by", "WHAT", "name",
     "a row for each name, for each name and shape of its inputs, or for each name and stack"},
    {"frames", "N", "5", "frames of the stack that tell rows apart, with --by stack"},
    {"sort", "WHAT", "", "self-cpu, cpu, self-device, device or calls; self-device where a device worked"}};

}  // namespace

namespace analysis {

extern const Analysis ops{"ops",
                          "operators: self and total time of CPU and device, as key_averages",
                          Needs::kLaunches | Needs::kOps,
                          analyze,
                          kOptions,
                          nullptr,
                          needs_with};

}  // namespace analysis
}  // namespace headroom::trace

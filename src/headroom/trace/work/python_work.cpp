// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/work/python_work.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "headroom/base/text.h"
#include "headroom/trace/columns/attribution.h"
#include "headroom/trace/tables/duration_stats.h"

namespace headroom::trace {
namespace {

/// Python itself stops at 1000 calls within one another, and no model has so many modules: what a broken file
/// has beyond counts where it gets too deep.
constexpr std::size_t kMostFrames = 1000;
constexpr std::uint32_t kDeepestModule = 100;

/// Rows of PythonWork::lines and PythonWork::modules above a place, the innermost first.
struct Stack {
  std::vector<std::uint32_t> lines;
  std::uint32_t module = kNone;
};

/// The places in Python by their frames.
class Places {
 public:
  explicit Places(PythonWork& work) : work_(work) {}

  std::uint32_t line(std::string_view frame) {
    const auto [place, is_new] =
        lines_.try_emplace(std::string(frame), static_cast<std::uint32_t>(work_.lines.size()));
    if (is_new) work_.lines.push_back({std::string(frame), {}});
    return place->second;
  }

  std::uint32_t module(std::uint32_t parent, std::string_view name) {
    if (parent != kNone && work_.modules[parent].depth == kDeepestModule) return parent;
    const auto [place, is_new] = modules_.try_emplace(std::pair(parent, std::string(name)),
                                                      static_cast<std::uint32_t>(work_.modules.size()));
    if (is_new) {
      const std::uint32_t depth = parent == kNone ? 0 : work_.modules[parent].depth + 1;
      work_.modules.push_back({parent, depth, std::string(name), {}});
    }
    return place->second;
  }

 private:
  PythonWork& work_;
  std::unordered_map<std::string, std::uint32_t> lines_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> modules_;
};

void add_launch(PythonTimes& times, bool is_own, std::int64_t launches, std::int64_t device_ns) {
  times.launches += launches;
  times.device_ns = saturating_add(times.device_ns, device_ns);
  if (!is_own) return;
  times.own_launches += launches;
  times.own_device_ns = saturating_add(times.own_device_ns, device_ns);
}

/// Adds work to each place of the stack once, however often a function is in it.
void add_work(PythonWork& work, const Stack& stack, std::int64_t launches, std::int64_t device_ns) {
  std::vector<std::uint32_t> seen;
  for (const std::uint32_t line : stack.lines) {
    if (std::ranges::find(seen, line) != seen.end()) continue;
    add_launch(work.lines[line].times, seen.empty(), launches, device_ns);
    seen.push_back(line);
  }
  for (std::uint32_t module = stack.module; module != kNone; module = work.modules[module].parent)
    add_launch(work.modules[module].times, module == stack.module, launches, device_ns);
}

/// Launches and device time by a key, in the order of their first sight.
class Sums {
 public:
  void add(std::uint32_t key, std::int64_t device_ns, bool is_launch) {
    const auto [place, is_new] = places_.try_emplace(key, sums_.size());
    if (is_new) sums_.push_back({key, 0, 0});
    Sum& sum = sums_[place->second];
    sum.launches += is_launch ? 1 : 0;
    sum.device_ns = saturating_add(sum.device_ns, device_ns);
  }
  struct Sum {
    std::uint32_t key;
    std::int64_t launches, device_ns;
  };
  const std::vector<Sum>& sums() const { return sums_; }

 private:
  std::unordered_map<std::uint32_t, std::size_t> places_;
  std::vector<Sum> sums_;
};

/// The forward operator whose backward pass launched something.
class ForwardOps {
 public:
  explicit ForwardOps(const Trace& trace)
      : trace_(trace),
        parent_(
            parents(trace, mask_of(Category::kCpuOp),
                    mask_of(Category::kCpuOp) | mask_of(Category::kRuntime) | mask_of(Category::kDriver))) {
    for (const OpDetail& op : trace.ops) {
      if (op.sequence < 0 || op.forward_thread > 0 || trace.events.category[op.event] != Category::kCpuOp)
        continue;
      const auto [place, is_new] = forward_.try_emplace(op.sequence, op.event);
      std::uint32_t& event = place->second;
      if (is_new || event == kNone) continue;
      // Threads count for themselves: of a number that two have none is known to be meant.
      if (trace.events.thread[event] != trace.events.thread[op.event]) {
        event = kNone;
      } else if (trace.events.start_ns[op.event] > trace.events.start_ns[event]) {
        event = op.event;
      }
    }
  }

  /// The innermost operator around each operator and launch.
  const std::vector<std::uint32_t>& parent() const { return parent_; }

  /// Of the backward operator that `op` is or is in; kNone where there is none.
  std::uint32_t of(std::uint32_t op) const {
    for (; op != kNone; op = parent_[op]) {
      const std::uint32_t row = trace_.events.detail[op];
      if (row == kNone || trace_.ops[row].forward_thread <= 0) continue;
      const auto found = forward_.find(trace_.ops[row].sequence);
      if (found != forward_.end()) return found->second;
    }
    return kNone;
  }

 private:
  const Trace& trace_;
  std::vector<std::uint32_t> parent_;
  std::unordered_map<std::int64_t, std::uint32_t> forward_;
};

/// Work by python_function events.
class ByFunctions {
 public:
  ByFunctions(const Trace& trace, PythonWork& work)
      : trace_(trace),
        work_(work),
        places_(work),
        frame_(parents(trace, mask_of(Category::kPython))),
        forward_(trace) {
    add_calls();
    add_device_work();
  }

 private:
  std::string_view name_of(std::uint32_t event) const { return trace_.names[trace_.events.name[event]]; }

  /// Numbers the places in the order of their calls, so that parents come before children, and sums these.
  void add_calls() {
    line_.assign(trace_.events.size(), kNone);
    module_.assign(trace_.events.size(), kNone);
    for (const std::uint32_t event : nesting_order(trace_, mask_of(Category::kPython))) {
      const std::uint32_t around = frame_[event];
      const std::uint32_t outer = around == kNone ? kNone : module_[around];
      module_[event] = outer;
      if (const std::string_view module = module_of_frame(name_of(event)); !module.empty()) {
        module_[event] = places_.module(outer, module);
        add_call(work_.modules[module_[event]].times, event, false);
      } else if (is_line_of_python(name_of(event))) {
        line_[event] = places_.line(name_of(event));
        add_call(work_.lines[line_[event]].times, event, is_within(event));
      }
    }
  }

  bool is_within(std::uint32_t event) const {
    std::size_t frames = 0;
    for (std::uint32_t around = frame_[event]; around != kNone && ++frames < kMostFrames;
         around = frame_[around]) {
      if (line_[around] == line_[event]) return true;
    }
    return false;
  }

  void add_call(PythonTimes& times, std::uint32_t event, bool is_inside) const {
    if (times.calls < 0) times.calls = times.host_ns = 0;
    ++times.calls;
    if (!is_inside) times.host_ns = saturating_add(times.host_ns, trace_.events.duration_ns[event]);
  }

  void add_device_work() {
    const std::vector<std::uint32_t> launch = launches(trace_);
    std::unordered_map<std::uint32_t, bool> known;  // launches: a graph has many kernels
    Sums sums;
    for (std::size_t row = 0; row < trace_.gpu.size(); ++row) {
      if (launch[row] == kNone) continue;
      std::uint32_t frame = frame_[launch[row]];
      const std::int64_t duration = trace_.events.duration_ns[trace_.gpu[row].event];
      if (frame == kNone) {
        const std::uint32_t op = forward_.of(forward_.parent()[launch[row]]);
        frame = op == kNone ? kNone : frame_[op];
        if (frame == kNone) continue;
        work_.backward_ns = saturating_add(work_.backward_ns, duration);
      }
      sums.add(frame, duration, known.try_emplace(launch[row], true).second);
      work_.placed_ns = saturating_add(work_.placed_ns, duration);
    }
    for (const Sums::Sum& sum : sums.sums()) add_work(work_, stack_of(sum.key), sum.launches, sum.device_ns);
  }

  Stack stack_of(std::uint32_t frame) const {
    Stack stack{{}, module_[frame]};
    for (std::size_t frames = 0; frame != kNone && ++frames < kMostFrames; frame = frame_[frame]) {
      if (line_[frame] != kNone) stack.lines.push_back(line_[frame]);
    }
    return stack;
  }

  const Trace& trace_;
  PythonWork& work_;
  Places places_;
  std::vector<std::uint32_t> frame_;
  ForwardOps forward_;
  std::vector<std::uint32_t> line_, module_;  ///< of each python_function: itself or around it
};

/// The stack of the innermost operator around `op` that has one.
NameId call_stack_above(const Trace& trace, std::uint32_t op, const std::vector<std::uint32_t>& parent) {
  for (; op != kNone; op = parent[op]) {
    const std::uint32_t row = trace.events.detail[op];
    if (row != kNone && trace.ops[row].stack != kNoName) return trace.ops[row].stack;
  }
  return kNoName;
}

/// Takes the first of the frames away, which stand innermost first with semicolons between.
std::string_view next_frame(std::string_view& stack) {
  const std::size_t end = std::min(stack.find(';'), stack.size());
  const std::string_view frame = trimmed(stack.substr(0, end));
  stack.remove_prefix(std::min(end + 1, stack.size()));
  return frame;
}

Stack stack_of_text(std::string_view text, Places& places) {
  Stack stack;
  std::vector<std::string_view> modules;
  while (!text.empty()) {
    const std::string_view frame = next_frame(text);
    if (const std::string_view module = module_of_frame(frame); !module.empty()) {
      modules.push_back(module);
    } else if (is_line_of_python(frame)) {
      stack.lines.push_back(places.line(frame));
    }
  }
  for (auto module = modules.rbegin(); module != modules.rend(); ++module)
    stack.module = places.module(stack.module, *module);
  return stack;
}

void add_by_call_stacks(const Trace& trace, PythonWork& work) {
  const std::vector<std::uint32_t> launch = launches(trace);
  const ForwardOps forward(trace);
  const std::vector<std::uint32_t> op = launching_ops(trace, forward.parent());
  std::unordered_map<std::uint32_t, bool> known;
  Sums sums;
  for (std::size_t row = 0; row < trace.gpu.size(); ++row) {
    const std::int64_t duration = trace.events.duration_ns[trace.gpu[row].event];
    NameId stack = call_stack_above(trace, op[row], forward.parent());
    if (stack == kNoName) {
      stack = call_stack_above(trace, forward.of(op[row]), forward.parent());
      if (stack == kNoName) continue;
      work.backward_ns = saturating_add(work.backward_ns, duration);
    }
    sums.add(stack, duration, launch[row] == kNone || known.try_emplace(launch[row], true).second);
    work.placed_ns = saturating_add(work.placed_ns, duration);
  }
  Places places(work);
  for (const Sums::Sum& sum : sums.sums())
    add_work(work, stack_of_text(trace.names[sum.key], places), sum.launches, sum.device_ns);
}

}  // namespace

std::string_view module_of_frame(std::string_view frame) {
  constexpr std::string_view kPrefix = "nn.Module: ";
  return frame.starts_with(kPrefix) ? frame.substr(kPrefix.size()) : std::string_view{};
}

bool is_line_of_python(std::string_view frame) {
  const std::size_t end = frame.find("): ");
  if (end == std::string_view::npos || end == 0 || frame.starts_with('<')) return false;
  const std::size_t open = frame.rfind('(', end);
  if (open == std::string_view::npos || open == 0 || open + 1 == end) return false;
  return std::ranges::all_of(frame.substr(open + 1, end - open - 1), is_digit);
}

bool is_own_line(std::string_view frame) {
  return is_line_of_python(frame) && !contains(frame, "site-packages") && !contains(frame, "dist-packages") &&
         !contains(frame, "/lib/python3.") && !frame.starts_with("torch/");
}

std::string_view own_line_of(std::string_view stack) {
  std::string_view innermost;
  while (!stack.empty()) {
    const std::string_view frame = next_frame(stack);
    if (is_own_line(frame)) return frame;
    if (innermost.empty()) innermost = frame;
  }
  return innermost;
}

std::string plain_frame(std::string_view frame) {
  constexpr std::string_view kPlace = " at 0x";
  const std::size_t at = frame.find(kPlace);
  if (at == std::string_view::npos) return std::string(frame);
  const std::size_t end = frame.find_first_not_of("0123456789abcdefABCDEF", at + kPlace.size());
  return std::string(frame.substr(0, at)) + std::string(frame.substr(std::min(end, frame.size())));
}

PythonWork python_work(const Trace& trace) {
  PythonWork work;
  for (const GpuDetail& gpu : trace.gpu)
    work.device_ns = saturating_add(work.device_ns, trace.events.duration_ns[gpu.event]);
  const auto& categories = trace.events.category;
  if (std::ranges::find(categories, Category::kPython) != categories.end()) {
    work.source = StackSource::kFunctions;
    ByFunctions(trace, work);
  } else if (std::ranges::any_of(trace.ops, [](const OpDetail& op) { return op.stack != kNoName; })) {
    work.source = StackSource::kCallStacks;
    add_by_call_stacks(trace, work);
  }
  return work;
}

}  // namespace headroom::trace

// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/work/python_work.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <unordered_set>

#include "headroom/base/text.h"
#include "headroom_trace/columns/attribution.h"
#include "headroom_trace/cost/roofline.h"
#include "headroom_trace/tables/data_table.h"
#include "headroom_trace/work/idle_culprits.h"
#include "headroom_trace/work/memory.h"

namespace headroom::trace {
namespace {

/// Python allows 1000 nested calls: deeper nesting is damage.
constexpr std::size_t kMostFrames = 1000;
constexpr std::uint32_t kDeepestModule = 100;

NameId call_stack_above(const Trace& trace, std::uint32_t op, const std::vector<std::uint32_t>& parent) {
  for (; op != kNone; op = parent[op]) {
    const std::uint32_t row = trace.events.detail[op];
    if (row != kNone && trace.ops[row].stack != kNoName) return trace.ops[row].stack;
  }
  return kNoName;
}

std::string_view next_frame(std::string_view& stack) {
  const std::size_t end = std::min(stack.find(';'), stack.size());
  const std::string_view frame = trimmed(stack.substr(0, end));
  stack.remove_prefix(std::min(end + 1, stack.size()));
  return frame;
}

StackSource source_of(const Trace& trace) {
  const auto& categories = trace.events.category;
  if (std::ranges::find(categories, Category::kPython) != categories.end()) return StackSource::kFunctions;
  const auto has_stack = [](const auto& row) { return row.stack != kNoName; };
  return std::ranges::any_of(trace.ops, has_stack) || std::ranges::any_of(trace.memory, has_stack)
             ? StackSource::kCallStacks
             : StackSource::kNothing;
}

std::vector<std::uint32_t> around_allocations(const Trace& trace, const HostOrder& host) {
  const Events& events = trace.events;
  std::vector<std::uint32_t> order(trace.memory.size()), around(trace.memory.size(), kNone);
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t row) {
    return std::tuple(trace.memory[row].thread, trace.memory[row].at_ns);
  });
  auto row = order.begin();
  for_each_innermost(trace, host, [&](Span span, std::uint32_t event) {
    const auto is_before = [&](std::int64_t at_ns) {
      return row != order.end() && std::tuple(trace.memory[*row].thread, trace.memory[*row].at_ns) <
                                       std::tuple(events.thread[event], at_ns);
    };
    while (is_before(span.start)) ++row;
    for (; is_before(span.end); ++row) around[*row] = event;
  });
  return around;
}

class PythonWorkBuilder {
 public:
  PythonWorkBuilder(const Trace& trace, std::span<const std::uint32_t> launch,
                    std::span<const std::uint32_t> op, const HostOrder& host)
      : trace_(trace), launch_(launch), op_(op), host_(host), places_(trace) {}

  PythonWork build() {
    work_.source = places_.source();
    work_.modules = places_.modules();
    work_.lines = places_.lines();
    work_.module_times.resize(work_.modules.size());
    work_.line_times.resize(work_.lines.size());
    last_stack_.assign(work_.lines.size(), 0);
    if (work_.source == StackSource::kNothing) return std::move(work_);
    if (work_.source == StackSource::kFunctions) add_calls();
    add_device_work();
    add_flops();
    add_idle_times();
    add_memory();
    for (const auto& [key, amounts] : sums_) add_to_stack(places_.stack_of(key), amounts);
    return std::move(work_);
  }

 private:
  void add(PythonPlaces::Place place, const PythonAmounts& amounts) {
    work_.total.add(amounts);
    (place.key == kNone ? work_.elsewhere : work_.placed).add(amounts);
    if (place.key == kNone) return;
    const auto [found, is_new] = places_of_sums_.try_emplace(place.key, sums_.size());
    if (is_new) sums_.emplace_back(place.key, PythonAmounts{});
    sums_[found->second].second.add(amounts);
    if (place.is_of_backward) work_.backward_ns = saturating_add(work_.backward_ns, amounts.device_ns);
  }

  /// Counts each place of the stack once, despite recursion.
  void add_to_stack(const PythonStack& stack, const PythonAmounts& amounts) {
    ++stack_;
    for (const std::uint32_t line : stack.lines) {
      if (std::exchange(last_stack_[line], stack_) == stack_) continue;
      work_.line_times[line].all.add(amounts);
    }
    if (!stack.lines.empty()) work_.line_times[stack.lines.front()].own.add(amounts);
    if (stack.module != kNone) work_.module_times[stack.module].own.add(amounts);
    for (std::uint32_t module = stack.module; module != kNone; module = work_.modules[module].parent)
      work_.module_times[module].all.add(amounts);
  }

  void add_calls() {
    for (const std::uint32_t event : nesting_order(trace_, mask_of(Category::kPython))) {
      if (const std::uint32_t module = places_.own_module(event); module != kNone)
        add_call(work_.module_times[module], event, false);
      if (const std::uint32_t line = places_.own_line(event); line != kNone)
        add_call(work_.line_times[line], event, is_within(event, line));
    }
  }

  bool is_within(std::uint32_t event, std::uint32_t line) const {
    std::size_t frames = 0;
    for (event = places_.around(event); event != kNone && ++frames < kMostFrames;
         event = places_.around(event)) {
      if (places_.own_line(event) == line) return true;
    }
    return false;
  }

  void add_call(PythonTimes& times, std::uint32_t event, bool is_inside) const {
    if (times.calls < 0) times.calls = times.host_ns = 0;
    ++times.calls;
    if (!is_inside) times.host_ns = saturating_add(times.host_ns, trace_.events.duration_ns[event]);
  }

  void add_device_work() {
    std::unordered_set<std::uint32_t> known;
    for (std::size_t row = 0; row < trace_.gpu.size(); ++row) {
      PythonPlaces::Place place = places_.place_of(launch_[row]);
      if (place.key == kNone) place = places_.place_of(op_[row]);
      PythonAmounts amounts;
      amounts.launches = launch_[row] == kNone || known.insert(launch_[row]).second ? 1 : 0;
      amounts.device_ns = trace_.events.duration_ns[trace_.gpu[row].event];
      add(place, amounts);
    }
  }

  void add_flops() {
    for (const RooflineRow& row : roofline(trace_, DevicePeaks{}).rows) {
      PythonAmounts amounts;
      amounts.flops = row.flops / static_cast<double>(row.calls);
      for (const std::uint32_t call : row.call_events) add(places_.place_of(call), amounts);
    }
  }

  void add_idle_times() {
    for (const IdlePart& part : idle_culprits(trace_, device_work(trace_), launch_, host_).parts) {
      PythonAmounts amounts;
      amounts.idle_ns = part.length_ns();
      add(places_.place_of(part.event), amounts);
    }
  }

  void add_memory() {
    const MemoryHistory history = memory_history(trace_);
    const bool has_devices = std::ranges::any_of(
        history.devices, [](const DeviceMemory& memory) { return memory.device_type != 0; });
    const auto is_counted = [&](std::int32_t type) { return (type != 0) == has_devices; };
    const std::vector<std::uint32_t> around = around_allocations(trace_, host_);
    const auto place_of = [&](std::uint32_t row) {
      const PythonPlaces::Place place = places_.place_of_stack(trace_.memory[row].stack);
      return place.key == kNone ? places_.place_of(around[row]) : place;
    };
    for (std::uint32_t row = 0; row < trace_.memory.size(); ++row) {
      if (!is_counted(trace_.memory[row].device_type)) continue;
      PythonAmounts amounts;
      amounts.kept_bytes = trace_.memory[row].bytes;
      add(place_of(row), amounts);
    }
    for (std::size_t i = 0; i < history.devices.size(); ++i) {
      const DeviceMemory& memory = history.devices[i];
      if (!is_counted(memory.device_type)) continue;
      std::int64_t known = 0;
      for (const std::uint32_t row : history.of_device[i]) {
        const Allocation& one = history.allocations[row];
        if (!one.is_held_at(memory.peak_place)) continue;
        PythonAmounts amounts;
        amounts.peak_bytes = one.bytes;
        known = saturating_add(known, one.bytes);
        add(place_of(one.event), amounts);
      }
      // The rest predates the trace.
      PythonAmounts rest;
      rest.peak_bytes = std::max<std::int64_t>(memory.peak_allocated_bytes - known, 0);
      add({}, rest);
    }
  }

  const Trace& trace_;
  std::span<const std::uint32_t> launch_, op_;
  const HostOrder& host_;
  PythonPlaces places_;
  PythonWork work_;
  std::vector<std::pair<std::uint32_t, PythonAmounts>> sums_;
  std::unordered_map<std::uint32_t, std::size_t> places_of_sums_;
  std::size_t stack_ = 0;
  std::vector<std::size_t> last_stack_;
};

}  // namespace

PythonPlaces::PythonPlaces(const Trace& trace) : trace_(trace), source_(source_of(trace)) {
  if (source_ == StackSource::kNothing) return;
  op_ = parents(trace, mask_of(Category::kCpuOp));
  find_forward_ops();
  if (source_ == StackSource::kFunctions) {
    frame_ = parents(trace, mask_of(Category::kPython));
    read_functions();
  } else {
    read_call_stacks();
  }
}

/// In call order: parents before children.
void PythonPlaces::read_functions() {
  line_.assign(trace_.events.size(), kNone);
  module_.assign(trace_.events.size(), kNone);
  for (const std::uint32_t event : nesting_order(trace_, mask_of(Category::kPython))) {
    const std::string_view frame = trace_.event_name(event);
    const std::uint32_t outer = frame_[event] == kNone ? kNone : module_[frame_[event]];
    const std::string_view name = module_of_frame(frame);
    module_[event] = name.empty() ? outer : module(outer, name);
    if (name.empty() && is_python_line(frame)) line_[event] = line(frame);
  }
}

void PythonPlaces::read_call_stacks() {
  for (const OpDetail& op : trace_.ops) add_call_stack(op.stack);
  for (const MemoryEvent& event : trace_.memory) add_call_stack(event.stack);
}

void PythonPlaces::add_call_stack(NameId stack) {
  if (stack == kNoName) return;
  const auto [place, is_new] = stacks_.try_emplace(stack);
  if (!is_new) return;
  std::vector<std::string_view> modules;
  for (std::string_view text = trace_.names[stack]; !text.empty();) {
    const std::string_view frame = next_frame(text);
    if (const std::string_view name = module_of_frame(frame); !name.empty()) {
      modules.push_back(name);
    } else if (is_python_line(frame)) {
      place->second.lines.push_back(line(frame));
    }
  }
  for (auto name = modules.rbegin(); name != modules.rend(); ++name)
    place->second.module = module(place->second.module, *name);
}

void PythonPlaces::find_forward_ops() {
  const Events& events = trace_.events;
  for (const OpDetail& op : trace_.ops) {
    if (op.sequence < 0 || op.forward_thread > 0 || events.category[op.event] != Category::kCpuOp) continue;
    const auto [place, is_new] = forward_ops_.try_emplace(op.sequence, op.event);
    std::uint32_t& event = place->second;
    if (is_new || event == kNone) continue;
    // A sequence number used by two threads is ambiguous.
    if (events.thread[event] != events.thread[op.event]) {
      event = kNone;
    } else if (events.start_ns[op.event] > events.start_ns[event]) {
      event = op.event;
    }
  }
}

std::uint32_t PythonPlaces::line(std::string_view frame) {
  const auto [place, is_new] = line_numbers_.try_emplace(frame, static_cast<std::uint32_t>(lines_.size()));
  if (is_new) lines_.push_back(frame);
  return place->second;
}

std::uint32_t PythonPlaces::module(std::uint32_t parent, std::string_view name) {
  if (parent != kNone && modules_[parent].depth == kDeepestModule) return parent;
  const auto [place, is_new] =
      module_numbers_.try_emplace(std::pair(parent, name), static_cast<std::uint32_t>(modules_.size()));
  if (is_new) modules_.push_back({parent, parent == kNone ? 0 : modules_[parent].depth + 1, name});
  return place->second;
}

/// The forward operator of `op` or its enclosing operator; kNone if unknown.
std::uint32_t PythonPlaces::forward_of(std::uint32_t op) const {
  for (; op != kNone; op = op_[op]) {
    const std::uint32_t row = trace_.events.detail[op];
    if (row == kNone || trace_.ops[row].forward_thread <= 0) continue;
    const auto found = forward_ops_.find(trace_.ops[row].sequence);
    if (found != forward_ops_.end()) return found->second;
  }
  return kNone;
}

std::uint32_t PythonPlaces::key_of_op(std::uint32_t op) const {
  if (source_ == StackSource::kCallStacks) return call_stack_above(trace_, op, op_);
  return op == kNone ? kNone : frame_[op];
}

PythonPlaces::Place PythonPlaces::place_of(std::uint32_t event) const {
  if (event == kNone || source_ == StackSource::kNothing) return {};
  const Category category = trace_.events.category[event];
  const std::uint32_t op = category == Category::kCpuOp ? event : op_[event];
  Place place;
  if (source_ == StackSource::kCallStacks) {
    place.key = key_of_op(op);
  } else {
    place.key = category == Category::kPython ? event : frame_[event];
  }
  if (place.key != kNone) return place;
  place.key = key_of_op(forward_of(op));
  place.is_of_backward = place.key != kNone;
  return place;
}

PythonPlaces::Place PythonPlaces::place_of_stack(NameId stack) const {
  return {source_ == StackSource::kCallStacks ? stack : kNone, false};
}

PythonStack PythonPlaces::stack_of(std::uint32_t key) const {
  if (source_ == StackSource::kCallStacks) {
    const auto found = stacks_.find(key);
    return found == stacks_.end() ? PythonStack{} : found->second;
  }
  PythonStack stack;
  if (key == kNone || source_ == StackSource::kNothing) return stack;
  stack.module = module_[key];
  for (std::size_t frames = 0; key != kNone && ++frames < kMostFrames; key = frame_[key]) {
    if (line_[key] != kNone) stack.lines.push_back(line_[key]);
  }
  return stack;
}

std::uint32_t PythonPlaces::own_module(std::uint32_t event) const {
  return module_of_frame(trace_.event_name(event)).empty() ? kNone : module_[event];
}

std::string_view module_of_frame(std::string_view frame) {
  constexpr std::string_view kPrefix = "nn.Module: ";
  return frame.starts_with(kPrefix) ? frame.substr(kPrefix.size()) : std::string_view{};
}

bool is_python_line(std::string_view frame) {
  const std::size_t end = frame.find("): ");
  if (end == std::string_view::npos || end == 0 || frame.starts_with('<')) return false;
  const std::size_t open = frame.rfind('(', end);
  if (open == std::string_view::npos || open == 0 || open + 1 == end) return false;
  return std::ranges::all_of(frame.substr(open + 1, end - open - 1), is_digit);
}

bool is_user_line(std::string_view frame) {
  return is_python_line(frame) && !contains(frame, "site-packages") && !contains(frame, "dist-packages") &&
         !contains(frame, "/lib/python3.") && !frame.starts_with("torch/");
}

std::string_view user_line(std::string_view stack) {
  std::string_view innermost;
  while (!stack.empty()) {
    const std::string_view frame = next_frame(stack);
    if (is_user_line(frame)) return frame;
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

void PythonAmounts::add(const PythonAmounts& more) {
  launches += more.launches;
  device_ns = saturating_add(device_ns, more.device_ns);
  flops += more.flops;
  idle_ns = saturating_add(idle_ns, more.idle_ns);
  kept_bytes = saturating_add(kept_bytes, more.kept_bytes);
  peak_bytes = saturating_add(peak_bytes, more.peak_bytes);
}

PythonWork python_work(const Trace& trace, std::span<const std::uint32_t> launch,
                       std::span<const std::uint32_t> op, const HostOrder& host) {
  return PythonWorkBuilder(trace, launch, op, host).build();
}

}  // namespace headroom::trace

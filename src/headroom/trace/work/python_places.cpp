// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/work/python_places.h"

#include <algorithm>

#include "headroom/base/text.h"
#include "headroom/trace/columns/attribution.h"

namespace headroom::trace {
namespace {

/// Python itself stops at 1000 calls within one another, and no model has so many modules: what a broken file
/// has beyond counts where it gets too deep.
constexpr std::size_t kMostFrames = 1000;
constexpr std::uint32_t kDeepestModule = 100;

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

StackSource source_of(const Trace& trace) {
  const auto& categories = trace.events.category;
  if (std::ranges::find(categories, Category::kPython) != categories.end()) return StackSource::kFunctions;
  const auto has_stack = [](const auto& row) { return row.stack != kNoName; };
  return std::ranges::any_of(trace.ops, has_stack) || std::ranges::any_of(trace.memory, has_stack)
             ? StackSource::kCallStacks
             : StackSource::kNothing;
}

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

/// Numbers the places in the order of their calls, so that parents come before children.
void PythonPlaces::read_functions() {
  line_.assign(trace_.events.size(), kNone);
  module_.assign(trace_.events.size(), kNone);
  for (const std::uint32_t event : nesting_order(trace_, mask_of(Category::kPython))) {
    const std::string_view frame = trace_.names[trace_.events.name[event]];
    const std::uint32_t outer = frame_[event] == kNone ? kNone : module_[frame_[event]];
    const std::string_view name = module_of_frame(frame);
    module_[event] = name.empty() ? outer : module(outer, name);
    if (name.empty() && is_line_of_python(frame)) line_[event] = line(frame);
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
    } else if (is_line_of_python(frame)) {
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
    // Threads count for themselves: of a number that two have none is known to be meant.
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

/// Of the backward operator that `op` is or is in; kNone where there is none.
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
  return module_of_frame(trace_.names[trace_.events.name[event]]).empty() ? kNone : module_[event];
}

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

}  // namespace headroom::trace

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "headroom_trace/columns/host_order.h"
#include "headroom_trace/columns/trace.h"

namespace headroom::trace {

enum class StackSource : std::uint8_t {
  kNothing,
  kFunctions,  ///< python_function events, nested by time
  kCallStacks  ///< the "Call stack" of operators and allocations
};

struct PythonModule {
  std::uint32_t parent = kNone;  ///< index; kNone: outermost
  std::uint32_t depth = 0;
  std::string_view name;  ///< "Linear_0", from Trace::names
};

/// The lines and module above a place, as indices of PythonPlaces. Lines may repeat.
struct PythonStack {
  std::vector<std::uint32_t> lines;  ///< innermost first
  std::uint32_t module = kNone;      ///< innermost
};

/// Maps host events to places in Python code.
class PythonPlaces {
 public:
  /// Needs kOps, kOpArguments and kPython.
  explicit PythonPlaces(const Trace& trace);

  StackSource source() const { return source_; }
  const std::vector<PythonModule>& modules() const { return modules_; }
  const std::vector<std::string_view>& lines() const { return lines_; }  ///< "train.py(41): step"

  /// kNone if unknown. Autograd events take the place of the forward operator with the same sequence number.
  struct Place {
    std::uint32_t key = kNone;
    bool is_of_backward = false;
  };
  Place place_of(std::uint32_t event) const;
  Place place_of_stack(NameId stack) const;
  PythonStack stack_of(std::uint32_t key) const;

  // Of python_function events; kNone if unknown.
  std::uint32_t own_module(std::uint32_t event) const;
  std::uint32_t own_line(std::uint32_t event) const { return line_[event]; }
  std::uint32_t around(std::uint32_t event) const { return frame_[event]; }

 private:
  void read_functions();
  void read_call_stacks();
  void add_call_stack(NameId stack);
  void find_forward_ops();
  std::uint32_t line(std::string_view frame);
  std::uint32_t module(std::uint32_t parent, std::string_view name);
  std::uint32_t forward_of(std::uint32_t op) const;
  std::uint32_t key_of_op(std::uint32_t op) const;

  const Trace& trace_;
  StackSource source_ = StackSource::kNothing;
  std::vector<PythonModule> modules_;
  std::vector<std::string_view> lines_;
  std::map<std::pair<std::uint32_t, std::string_view>, std::uint32_t> module_numbers_;
  std::unordered_map<std::string_view, std::uint32_t> line_numbers_;
  std::vector<std::uint32_t> op_;             ///< innermost around each host event
  std::vector<std::uint32_t> frame_;          ///< innermost around each host event
  std::vector<std::uint32_t> line_, module_;  ///< of each python_function: own or enclosing
  std::unordered_map<NameId, PythonStack> stacks_;
  std::unordered_map<std::int64_t, std::uint32_t> forward_ops_;  ///< by sequence number; kNone: ambiguous
};

/// "Linear_0" of "nn.Module: Linear_0"; else empty.
std::string_view module_of_frame(std::string_view frame);
/// Removes object addresses, as in "<built-in method copy_ of Tensor object at 0x7fd0>".
std::string plain_frame(std::string_view frame);
/// True for "file.py(41): func"; false for C functions.
bool is_python_line(std::string_view frame);
bool is_user_line(std::string_view frame);
/// Innermost line of the user's code in a stack (innermost first, separated by semicolons), else its first
/// frame.
std::string_view user_line(std::string_view stack);

struct PythonAmounts {
  std::int64_t launches = 0, device_ns = 0;
  double flops = 0;             ///< of known cost
  std::int64_t idle_ns = 0;     ///< device idle time it caused (idle_culprits)
  std::int64_t kept_bytes = 0;  ///< allocated minus freed
  std::int64_t peak_bytes = 0;

  void add(const PythonAmounts& more);
};

/// Times of a place; `own` excludes nested places of the same kind.
struct PythonTimes {
  std::int64_t calls = -1,
               host_ns = -1;  ///< -1: unknown; recursion counts once
  PythonAmounts own, all;
};

struct PythonWork {
  StackSource source = StackSource::kNothing;
  std::vector<PythonModule> modules;
  std::vector<std::string_view> lines;
  std::vector<PythonTimes> module_times, line_times;
  PythonAmounts total;
  PythonAmounts placed, elsewhere;  ///< below a line or module; elsewhere
  std::int64_t backward_ns = 0;     ///< part of device_ns launched by autograd
};

/// Attributes GPU work, FLOPs, device idle time and memory to the Python functions around the launch,
/// operator, host activity or allocation; for autograd's threads, around the forward operator with the same
/// sequence number; else to the call stacks of the enclosing operators. Memory is the devices', or the CPU's
/// if the file has none for devices. Idle times sum to those of idle_culprits, FLOPs to roofline's. `launch`
/// is launches(trace), `op` launching_ops(trace), `host` host_order(trace). Needs kLaunches, kOps,
/// kOpArguments, kPython and, for memory, kMemory.
PythonWork python_work(const Trace& trace, std::span<const std::uint32_t> launch,
                       std::span<const std::uint32_t> op, const HostOrder& host);

}  // namespace headroom::trace

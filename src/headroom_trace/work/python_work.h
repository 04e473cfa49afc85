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

/// The source of Python stacks.
enum class StackSource : std::uint8_t {
  kNothing,
  kFunctions,  ///< python_function events, nested by time
  kCallStacks  ///< the "Call stack" of operators and allocations
};

/// An nn.Module instance in its hierarchy.
struct PythonModule {
  std::uint32_t parent = kNone;  ///< index of an earlier module; kNone: outermost
  std::uint32_t depth = 0;
  std::string_view name;  ///< "Linear_0", of Trace::names
};

/// The modules and lines above a place, as indices of PythonPlaces. A line may occur several times.
struct PythonStack {
  std::vector<std::uint32_t> lines;  ///< the innermost first
  std::uint32_t module = kNone;      ///< the innermost
};

/// Maps the events of the host to places in the program's Python.
class PythonPlaces {
 public:
  /// Needs kOps and kOpArguments, and kPython.
  explicit PythonPlaces(const Trace& trace);

  StackSource source() const { return source_; }
  const std::vector<PythonModule>& modules() const { return modules_; }
  const std::vector<std::string_view>& lines() const { return lines_; }  ///< "train.py(41): step"

  /// Returns the place of an event; kNone if unknown. An event of autograd takes the place of the forward
  /// operator with the same sequence number.
  struct Place {
    std::uint32_t key = kNone;
    bool is_of_backward = false;
  };
  Place place_of(std::uint32_t event) const;
  /// Same, by the stack of an allocation.
  Place place_of_stack(NameId stack) const;
  /// Returns the modules and lines above a place.
  PythonStack stack_of(std::uint32_t key) const;

  // By python_function event: its module or line, else kNone, and the function around it.
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
  std::vector<std::uint32_t> op_;                   ///< the innermost operator around each event of the host
  std::vector<std::uint32_t> frame_;                ///< the innermost function around each
  std::vector<std::uint32_t> line_, module_;        ///< of each python_function: itself, or around it
  std::unordered_map<NameId, PythonStack> stacks_;  ///< of call stacks
  std::unordered_map<std::int64_t, std::uint32_t> forward_ops_;  ///< by sequence number; kNone: not known
};

/// "Linear_0" of "nn.Module: Linear_0"; empty if not a module.
std::string_view module_of_frame(std::string_view frame);
/// Removes object addresses, which separate calls of one function: "<built-in method copy_ of Tensor object
/// at 0x7fd0>" becomes the same for every tensor.
std::string plain_frame(std::string_view frame);
/// True for a place in a file, "file.py(41): func"; false for C functions.
bool is_line_of_python(std::string_view frame);
/// True for a line of the user's code, false for a library's.
bool is_own_line(std::string_view frame);
/// Returns the innermost line of the user's own code in a stack (innermost first, separated by semicolons),
/// else the innermost frame.
std::string_view own_line_of(std::string_view stack);

/// The costs of a place in Python.
struct PythonAmounts {
  std::int64_t launches = 0, device_ns = 0;
  double flops = 0;             ///< of the operators whose cost is known (roofline)
  std::int64_t idle_ns = 0;     ///< device idle time that it caused (idle_culprits)
  std::int64_t kept_bytes = 0;  ///< allocated minus freed; may be negative
  std::int64_t peak_bytes = 0;  ///< held when the memory was fullest

  void add(const PythonAmounts& more);
};

/// Own: without nested places of the same kind. All: with them.
struct PythonTimes {
  std::int64_t calls = -1,
               host_ns = -1;  ///< -1: unknown, as for call stacks; recursion counts once
  PythonAmounts own, all;
};

struct PythonWork {
  StackSource source = StackSource::kNothing;
  std::vector<PythonModule> modules;
  std::vector<std::string_view> lines;                ///< of Trace::names
  std::vector<PythonTimes> module_times, line_times;  ///< of each of them
  PythonAmounts total;                                ///< of the whole trace
  PythonAmounts placed, elsewhere;                    ///< below any line or module, and elsewhere
  std::int64_t backward_ns =
      0;  ///< part of its device time that autograd launched, counted at the forward operator
};

/// Attributes GPU work, FLOPs, device idle time and memory to Python: to the functions around the launch, the
/// operator, the host activity or the allocation; for autograd's threads, around the forward operator with
/// the same sequence number; else to the call stacks of the enclosing operators. Memory is that of the
/// devices, or of the CPU if the file has none of devices. Idle times sum to those of idle_culprits, FLOPs to
/// those of roofline, the peak to the devices' own. `launch` launches(trace), `op` launching_ops(trace),
/// `host` host_order(trace). Needs kLaunches, kOps, kOpArguments, kPython and, for memory, kMemory.
PythonWork python_work(const Trace& trace, std::span<const std::uint32_t> launch,
                       std::span<const std::uint32_t> op, const HostOrder& host);

}  // namespace headroom::trace

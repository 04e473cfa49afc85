// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "headroom/trace/columns/trace.h"

namespace headroom::trace {

/// Where the stacks of Python are from.
enum class StackSource : std::uint8_t {
  kNothing,
  kFunctions,  ///< python_function events, nested by time
  kCallStacks  ///< the "Call stack" of operators and allocations
};

/// An instance of nn.Module within those around it.
struct PythonModule {
  std::uint32_t parent = kNone;  ///< an index of modules before this one; kNone: of the outermost
  std::uint32_t depth = 0;
  std::string_view name;  ///< "Linear_0", of Trace::names
};

/// Indices of PythonPlaces::modules and lines above a place. A line may be there several times.
struct PythonStack {
  std::vector<std::uint32_t> lines;  ///< the innermost first
  std::uint32_t module = kNone;      ///< the innermost
};

/// Where in the program's Python the events of the host are.
class PythonPlaces {
 public:
  /// Needs kOps and kOpArguments, and kPython.
  explicit PythonPlaces(const Trace& trace);

  StackSource source() const { return source_; }
  const std::vector<PythonModule>& modules() const { return modules_; }
  const std::vector<std::string_view>& lines() const { return lines_; }  ///< "train.py(41): step"

  /// A place that events share; kNone where nothing is known. By autograd: that of the forward operator of
  /// the same sequence number, for the event itself is below no function.
  struct Place {
    std::uint32_t key = kNone;
    bool is_of_backward = false;
  };
  Place place_of(std::uint32_t event) const;
  /// The same by the stack that the file gives an allocation.
  Place place_of_stack(NameId stack) const;
  /// What is above a place.
  PythonStack stack_of(std::uint32_t key) const;

  // Of python_function events: the module or line that one is, else kNone, and the function around it.
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

/// "Linear_0" of "nn.Module: Linear_0"; empty of what is no module.
std::string_view module_of_frame(std::string_view frame);
/// Without the address of an object, which tells calls of one function apart: "<built-in method copy_ of
/// Tensor object at 0x7fd0>" is that of every tensor.
std::string plain_frame(std::string_view frame);
/// Whether it is a place in a file: "file.py(41): func". Functions of C are none.
bool is_line_of_python(std::string_view frame);
/// Whether it is a line of the user's own, not one of a library.
bool is_own_line(std::string_view frame);
/// Of a stack whose frames stand innermost first, with semicolons between: the innermost line that is the
/// user's own; without one the innermost frame.
std::string_view own_line_of(std::string_view stack);

}  // namespace headroom::trace

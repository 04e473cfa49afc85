// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/trace/columns/trace.h"

namespace headroom::trace {

/// Where the stacks of Python are from.
enum class StackSource : std::uint8_t {
  kNothing,
  kFunctions,  ///< python_function events, nested by time
  kCallStacks  ///< the "Call stack" of operators
};

/// What was launched below a place in Python. Own: with no other such place between.
struct PythonTimes {
  std::int64_t calls = -1,
               host_ns = -1;  ///< -1: not known, as of call stacks; a call within one is its time once
  std::int64_t own_launches = 0, launches = 0;
  std::int64_t own_device_ns = 0, device_ns = 0;
};

/// An instance of nn.Module within those around it.
struct PythonModule {
  std::uint32_t parent = kNone;  ///< of PythonWork::modules, before this one; kNone: of the outermost
  std::uint32_t depth = 0;
  std::string name;  ///< "Linear_0"
  PythonTimes times;
};

/// A line of Python as the profiler has it: where a function starts, or where it is, with its name.
struct PythonLine {
  std::string name;  ///< "train.py(41): step"
  PythonTimes times;
};

struct PythonWork {
  StackSource source = StackSource::kNothing;
  std::vector<PythonModule> modules;
  std::vector<PythonLine> lines;
  std::int64_t device_ns = 0;    ///< of all GPU work
  std::int64_t placed_ns = 0;    ///< of what was launched below any line or module
  std::int64_t backward_ns = 0;  ///< of which by autograd, and placed where its forward operator was called
};

/// GPU work by the Python that launched it: the functions around its launch; around the forward operator of
/// the same sequence number where autograd's threads launched it; else the call stacks of the operators
/// around the launch. Needs kLaunches, kOps, kOpArguments and kPython.
PythonWork python_work(const Trace& trace);

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

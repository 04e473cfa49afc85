// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

/// One OpenCL kernel with a problem to give it and the answer that it must find.
struct OpenclProblem {
  const char* name;
  const char* source;         ///< one kernel, called `run`: (global const float* input, global float* output)
  std::size_t global, local;  ///< work items
  std::size_t outputs;
  std::vector<float> input;
  std::vector<double> expected;
};

/// The names of the problems.
std::span<const char* const> opencl_problem_names();

/// The problem of that name; `name` must be one of them.
OpenclProblem opencl_problem(const std::string& name);

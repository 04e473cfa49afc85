// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

/// An OpenCL kernel with its input and expected output.
struct OpenclProblem {
  const char* name;
  const char* source;         ///< one kernel, `run`: (global const float* input, global float* output)
  std::size_t global, local;  ///< work items
  std::size_t outputs;
  std::vector<float> input;
  std::vector<double> expected;
};

std::span<const char* const> opencl_problem_names();

/// Returns the problem of that name, which must exist.
OpenclProblem opencl_problem(const std::string& name);

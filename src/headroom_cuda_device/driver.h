// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace headroom::cuda {

/// What NVIDIA's driver on this machine says of itself.
struct DriverAnswers {
  std::string load_error;                   ///< why libcuda.so.1 could not be loaded; empty: it was
  int version = 0;                          ///< the newest CUDA that it supports, 13000 for 13.0
  int init_status = 0;                      ///< of cuInit
  std::string init_error;                   ///< its name, where that is not 0
  int devices = 0;                          ///< that this process sees
  std::string device_name;                  ///< of the first
  int compute_capability = 0;               ///< of the first, 90 for 9.0
  std::optional<std::string> visible = {};  ///< CUDA_VISIBLE_DEVICES
};

/// Loads the driver and asks it.
DriverAnswers ask_driver();

/// What keeps a program built with CUDA `built_with` (13000) from running, and what to do about it; empty:
/// nothing.
std::string device_problem(const DriverAnswers& driver, int built_with);

/// Throws Error where this machine has no CUDA device for this program.
void require_device();

}  // namespace headroom::cuda

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "headroom/record/record.h"

namespace headroom {

/// The level of memory that a limit of `bytes` of working set is about: "L1", "L2", "memory"; empty where it
/// lies between the last cache and memory. By the caches that the environment of the record tells of its CPU
/// or its GPU.
std::string roofline_level(const Record& record, double bytes);

/// Whether the threads of the record are what its work ran on: those of a GPU's case only start it.
bool counts_threads(const Record& record);

}  // namespace headroom

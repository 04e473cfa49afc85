// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "headroom/trace/columns/trace.h"

namespace headroom::trace {

/// Why an analysis of GPU work has nothing to say of a trace without any, and what to do: a sentence.
std::string no_gpu_work(const Trace& trace);

/// What is missing of the file, or could not be read in it; empty where all is well.
std::string what_is_missing(const Trace& trace);

}  // namespace headroom::trace

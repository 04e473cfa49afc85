// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headroom/trace/analysis.h"
#include "headroom/trace/columns/trace_facts.h"

namespace headroom {

/// All that an analysis of one trace, or of the traces of one job, has to tell. Every output is made of it.
struct TraceReport {
  std::string name;                      ///< of the program that was traced: what its records are called
  std::string analysis;                  ///< "idle"
  std::vector<std::string> command;      ///< what gives this result again
  std::vector<trace::TraceFacts> files;  ///< those that could be read
  std::vector<trace::RankResult> ranks;  ///< one for each of `files`; empty for a single trace
  trace::AnalysisResult result;
};

}  // namespace headroom

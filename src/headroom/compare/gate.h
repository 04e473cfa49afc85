// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

#include "headroom/base/exit_code.h"
#include "headroom/compare/comparison.h"

namespace headroom {

/// The answer of a gate for a whole suite.
struct GateAnswer {
  ExitCode exit = ExitCode::kFine;
  std::map<Verdict, std::size_t> counts;
  std::size_t missing = 0;  ///< cases of the baseline that the test does not have
  std::string sentence;     ///< "2 of 50 cases regressed", ...
};

/// Judged comparisons in, answer out. kNo where any case regressed, or failed that the baseline measured;
/// kCannot where no case could be compared at all; kInconclusive where any of the others is neither same nor
/// improved, or the test lacks cases of the baseline; kFine otherwise.
GateAnswer gate_answer(std::span<const Comparison> judged, std::size_t missing);

}  // namespace headroom

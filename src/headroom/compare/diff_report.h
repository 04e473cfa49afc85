// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headroom/compare/comparison.h"
#include "headroom/compare/environment_differences.h"
#include "headroom/compare/gate.h"
#include "headroom/compare/match.h"
#include "headroom/compare/verdict.h"

namespace headroom {

/// One test as it stands to the baseline.
struct DiffTest {
  std::string label;  ///< the operand: a file, a folder, a run
  EnvironmentDifferences environment;
  std::vector<const Record*> only_baseline, only_test;
};

/// All that `headroom diff` has to tell. Owns no record.
struct DiffReport {
  std::string baseline;  ///< label
  std::vector<DiffTest> tests;
  std::vector<Comparison> comparisons;  ///< judged; of all tests, in the order in which they are shown
  Multiplicity multiplicity = Multiplicity::kBenjaminiHochberg;
  std::vector<double> percentiles;  ///< from 0 to 100; empty: not asked for
  bool shift = false;               ///< show the shift function of each case
  std::optional<GateAnswer> gate;
};

}  // namespace headroom

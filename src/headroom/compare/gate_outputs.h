// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/compare/comparison.h"
#include "headroom/compare/verdict.h"

namespace headroom {

struct DiffReport;

/// A gate's answer on one case, as text. Names and units are untrusted.
struct GatedCase {
  GateOutcome outcome = GateOutcome::kOpen;
  bool is_change = false;
  std::string name, metric;
  std::string baseline, candidate, ratio;  ///< "20.0 ms", "1.02 (0.98 to 1.06)"
  std::string verdict;                     ///< with the reason

  std::string sentence() const;
};

GatedCase gated_case(std::string name, const Comparison& comparison, GateOutcome outcome);

/// The answer of `headroom diff --gate` or `headroom ab --gate`, for CI systems.
struct GateReport {
  std::string baseline, candidate;
  GateResult result;
  std::vector<GatedCase> cases;
  std::string details;  ///< text
};

/// Needs a gate.
GateReport gate_report(const DiffReport& report);

/// `write` escapes untrusted text by the rules of the form.
struct GateForm {
  const char* name;
  std::string (*write)(const GateReport& report);
};

/// "junit": JUnit XML, a test for each case. "comment": Markdown for a pull request, with a first line by
/// which a bot finds it again. "github": workflow commands that annotate a run of GitHub Actions.
std::span<const GateForm> gate_forms();

/// At most 60 kB: GitHub refuses comments of more than 65,536 characters.
std::string gate_comment(const GateReport& report);

}  // namespace headroom

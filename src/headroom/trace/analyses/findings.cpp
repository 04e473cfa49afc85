// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/analysis.h"
#include "headroom/trace/findings/findings_result.h"
#include "headroom/trace/tables/reading_notes.h"

namespace headroom::trace {
namespace {

constexpr AnalysisOption kOptions[] = {
    {"without", "NAME", "",
     "also say what a step would take if nothing of that name took any time (* fits anything)"}};

AnalysisResult analyze(const Trace& trace, const AnalysisOptions& options) {
  AnalysisResult result;
  if (std::string missing = what_is_missing(trace); !missing.empty())
    result.notes.push_back(std::move(missing));
  add_findings(trace, device_work(trace), options.top, result, options.text("without"));
  return result;
}

AnalysisResult combine(std::span<const RankResult> ranks, const AnalysisOptions& options) {
  AnalysisResult result;
  combine_findings(ranks, options.top, result);
  return result;
}

}  // namespace

namespace analysis {

extern const Analysis findings{
    "findings",
    "what to fix first: each cause of lost time with what a step would gain without it",
    kFindingNeeds | Needs::kOpIds | Needs::kPython | Needs::kOpArguments | Needs::kGpuArguments |
        Needs::kMemory,
    analyze,
    kOptions,
    combine};

}  // namespace analysis
}  // namespace headroom::trace

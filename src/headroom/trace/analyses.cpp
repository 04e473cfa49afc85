// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/analysis.h"

// One line an analysis, in the order of the help; each is `const Analysis NAME` in analyses/NAME.cpp.
#define HEADROOM_TRACE_ANALYSES(ANALYSIS) \
  ANALYSIS(summary)                       \
  ANALYSIS(findings)                      \
  ANALYSIS(utilization)                   \
  ANALYSIS(kernels)                       \
  ANALYSIS(ops)                           \
  ANALYSIS(modules)                       \
  ANALYSIS(idle)                          \
  ANALYSIS(launch)                        \
  ANALYSIS(queue)                         \
  ANALYSIS(memory)                        \
  ANALYSIS(overlap)                       \
  ANALYSIS(steps)                         \
  ANALYSIS(efficiency)                    \
  ANALYSIS(critical_path)                 \
  ANALYSIS(collectives)                   \
  ANALYSIS(stragglers)                    \
  ANALYSIS(roofline)                      \
  ANALYSIS(validate)

namespace headroom::trace {
namespace analysis {

#define HEADROOM_DECLARE(name) extern const Analysis name;
HEADROOM_TRACE_ANALYSES(HEADROOM_DECLARE)
#undef HEADROOM_DECLARE

}  // namespace analysis

std::span<const Analysis* const> analyses() {
#define HEADROOM_ENTRY(name) &analysis::name,
  static constexpr const Analysis* kAnalyses[] = {HEADROOM_TRACE_ANALYSES(HEADROOM_ENTRY)};
#undef HEADROOM_ENTRY
  return kAnalyses;
}

const Analysis* find_analysis(std::string_view name) {
  for (const Analysis* analysis : analyses()) {
    if (name == analysis->name) return analysis;
  }
  return nullptr;
}

}  // namespace headroom::trace

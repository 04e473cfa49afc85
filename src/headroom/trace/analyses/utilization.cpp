// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/analysis.h"
#include "headroom/trace/spans.h"
#include "headroom/trace/steps.h"

namespace headroom::trace {
namespace {

AnalysisResult analyze(const Trace& trace, const AnalysisOptions&) {
  std::vector<Span> spans;
  for (const GpuDetail& work : trace.gpu)
    spans.push_back({trace.events.start_ns[work.event], trace.events.end_ns(work.event)});
  const auto busy = length(merged(std::move(spans)));
  const auto span = gpu_extent(trace).length_ns();
  AnalysisResult result;
  if (span > 0) {
    result.headlines.push_back(
        {"utilization", Kind::kShare, false, static_cast<double>(busy) / static_cast<double>(span), ""});
  }
  return result;
}

}  // namespace

namespace analysis {

extern const Analysis utilization{
    "utilization", "share of the time in which each device works", Needs::kGpuWork, analyze, {}, nullptr};

}  // namespace analysis
}  // namespace headroom::trace

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../error_message.h"
#include "headroom/compare/comparison.h"
#include "headroom/compare/verdict.h"
#include "headroom/record/record.h"

namespace headroom::test {

inline const RunKnowledge kRunsAreAlike{RunSpread{0, 1000}, std::nullopt, "a test"};

/// In microseconds, of one process; no samples if `values` is empty.
inline Record record_of(const std::string& name, const std::vector<double>& values) {
  Record record;
  record.model.name = name;
  record.model.backend = "native";
  record.runner = "native";
  record.metric.name = "latency";
  record.metric.unit = "us";
  if (values.empty()) return record;
  ProcessSamples process;
  process.values = values;
  for (std::uint32_t i = 0; i < values.size(); ++i) process.rounds.push_back(i);
  record.samples = {process};
  record.metric.value = values[values.size() / 2];
  return record;
}

/// Spread by 1 % without a trend.
inline std::vector<double> around(double center, std::size_t count) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    values.push_back(center * (1 + 0.01 * (static_cast<double>((i * 7) % 11) - 5) / 5));
  }
  return values;
}

inline std::shared_ptr<Environment> environment_of(std::uint64_t timestamp, const std::string& fingerprint) {
  auto environment = std::make_shared<Environment>();
  environment->timestamp = timestamp;
  environment->fingerprint = fingerprint;
  return environment;
}

inline Comparison judged(const Record& before, const Record& after,
                         double margin = JudgeRule().margins.overall,
                         const RunKnowledge& known = kRunsAreAlike) {
  Comparison comparison = compare_records(before, after, known);
  JudgeRule rule;
  rule.margins.overall = margin;
  judge(std::span(&comparison, 1), rule);
  return comparison;
}

}  // namespace headroom::test

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/report/measured_case.h"

namespace headroom {

/// The cases among `records` that are steps, not collectives.
std::vector<MeasuredCase> ddp_cases(const std::vector<Record>& records);

/// "no ddp", "1M/2G": the step that a record is of.
std::string ddp_step_label(const Record& record);

/// One step of `headroom ddp`.
struct DdpStepRecords : MeasuredCase {
  int ranks() const;
  std::string label() const { return ddp_step_label(*first); }
};

/// The steps of a model with buckets of one size, that without DDP (which all sizes share) first.
struct DdpSeries {
  std::string model, batch_size, image_size, bucket, runner;
  std::vector<DdpStepRecords> steps;

  bool has_images() const { return !image_size.empty(); }
  /// The step without DDP where it was measured.
  const DdpStepRecords* without_ddp() const;
};

/// In the order of the records, which those of a step follow on its headline. A model of which only the step
/// without DDP is there has a series with no bucket size.
std::vector<DdpSeries> ddp_series(const std::vector<Record>& records);

}  // namespace headroom

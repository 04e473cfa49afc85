// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "headroom/record/record.h"

namespace headroom {

/// The records of one step of `headroom ddp`, by metric.
struct DdpStepRecords {
  const Record* latency = nullptr;               ///< the headline, measured or not
  std::map<std::string, const Record*> metrics;  ///< those with samples or a value

  const Record* find(const std::string& metric) const;
  int ranks() const;
  std::string label() const;  ///< "no ddp", "1M/2G"
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

// SPDX-License-Identifier: Apache-2.0
#include "headroom/report/ddp_seed_report.h"

#include <set>

#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/report/ddp_series.h"

namespace headroom {
namespace {

constexpr double kMebibyte = 1 << 20;

Json number_or_text(const std::string& text) {
  const auto number = to_integer(text);
  return number ? Json(*number) : Json(text);
}

/// In MB, as the benchmark has it.
Json bucket_size(const std::string& bucket) {
  const double mebibytes = static_cast<double>(parse_bytes(bucket)) / kMebibyte;
  const auto whole = static_cast<std::int64_t>(mebibytes);
  return static_cast<double>(whole) == mebibytes ? Json(whole) : Json(mebibytes);
}

Json round_of(const DdpStepRecords& step) {
  Json ranks = Json::array(), measurements = Json::array();
  for (int rank = 0; rank < step.ranks(); ++rank) ranks.push_back(rank);
  for (const ProcessSamples& rank : step.find("latency")->samples) {
    for (const double seconds : rank.values) measurements.push_back(seconds);
  }
  return {{"ranks", std::move(ranks)}, {"measurements", std::move(measurements)}};
}

}  // namespace

std::string ddp_seed_report(const std::vector<Record>& records, const std::string& library,
                            const std::string& backend) {
  Json results = Json::array();
  std::set<std::string> buckets;
  for (const DdpSeries& series : ddp_series(records)) {
    if (series.without_ddp() == nullptr) continue;
    Json rounds = Json::array();
    for (const DdpStepRecords& step : series.steps) {
      if (step.find("latency") != nullptr) rounds.push_back(round_of(step));
    }
    Json result = {{"model", series.model},
                   {"batch_size", number_or_text(series.batch_size)},
                   {"image_size", number_or_text(series.image_size)}};
    if (!series.bucket.empty()) {
      result["bucket_size"] = bucket_size(series.bucket);
      buckets.insert(series.bucket);
    }
    result["result"] = std::move(rounds);
    results.push_back(std::move(result));
  }
  Json report = {{"pytorch_version", library.substr(library.find(' ') + 1)},
                 {"cuda_version", nullptr},
                 {"distributed_backend", backend}};
  if (buckets.size() == 1) report["bucket_size"] = bucket_size(*buckets.begin());
  report["benchmark_results"] = std::move(results);
  return dump_json(report) + "\n";
}

}  // namespace headroom

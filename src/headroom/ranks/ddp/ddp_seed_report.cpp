// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/ddp/ddp_seed_report.h"

#include <set>

#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/ranks/ddp/ddp_series.h"

namespace headroom {
namespace {

/// What PyTorch's benchmark trains on, and does not say.
constexpr const char* kUsualImage = "224";

Json number_or_text(const std::string& text) {
  if (const auto whole = to_integer(text)) return *whole;
  const auto number = to_number(text);
  return number ? Json(*number) : Json(text);
}

Json round_of(const DdpStepRecords& step) {
  Json ranks = Json::array(), measurements = Json::array();
  for (int rank = 0; rank < step.ranks(); ++rank) ranks.push_back(rank);
  for (const ProcessSamples& rank : step.find("latency")->samples) {
    for (const double seconds : rank.values) measurements.push_back(seconds);
  }
  return {{"ranks", std::move(ranks)}, {"measurements", std::move(measurements)}};
}

/// `buckets`, `runners`: of all series; what differs between them is told of each.
Json result_of(const DdpSeries& series, const std::set<std::string>& buckets,
               const std::set<std::string>& runners) {
  Json result = {{"model", series.model}, {"batch_size", number_or_text(series.batch_size)}};
  if (series.has_images() && series.image_size != kUsualImage) {
    result["image_size"] = number_or_text(series.image_size);
  }
  if (runners.size() > 1) result["runner"] = series.runner;
  if (buckets.size() > 1 && !series.bucket.empty()) result["bucket_size"] = number_or_text(series.bucket);
  Json rounds = Json::array();
  for (const DdpStepRecords& step : series.steps) {
    if (step.find("latency") != nullptr) rounds.push_back(round_of(step));
  }
  result["result"] = std::move(rounds);
  return result;
}

}  // namespace

std::string ddp_seed_report(const std::vector<Record>& records, const std::string& library,
                            const std::string& backend) {
  const std::vector<DdpSeries> all = ddp_series(records);
  std::set<std::string> buckets, runners;
  for (const DdpSeries& series : all) {
    runners.insert(series.runner);
    if (!series.bucket.empty()) buckets.insert(series.bucket);
  }
  Json results = Json::array();
  for (const DdpSeries& series : all) {
    if (series.without_ddp() != nullptr) results.push_back(result_of(series, buckets, runners));
  }
  Json report = {{"pytorch_version", library.substr(library.find(' ') + 1)},
                 {"cuda_version", nullptr},
                 {"distributed_backend", backend}};
  if (buckets.size() == 1) report["bucket_size"] = number_or_text(*buckets.begin());
  report["benchmark_results"] = std::move(results);
  return dump_json(report) + "\n";
}

}  // namespace headroom

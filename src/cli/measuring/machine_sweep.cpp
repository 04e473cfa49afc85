// SPDX-License-Identifier: Apache-2.0
#include "cli/measuring/machine_sweep.h"

#include <algorithm>
#include <tuple>

#include "headroom/base/files.h"
#include "headroom/record/formats/seed_rows.h"

namespace headroom::cli {
namespace {

constexpr const char* kPrefix = "limit.";
constexpr const char* kCpu = "cpu";

/// Returns the title without the pattern.
std::string point_of(const CaseSpec& spec) {
  std::string title = spec.experiment;
  for (const auto& [axis, value] : spec.axes) {
    if (axis != "pattern") title += " " + axis + "=" + value;
  }
  return title + " threads=" + std::to_string(spec.threads);
}

std::vector<RunnerOffer> limits_of(std::vector<RunnerOffer> offers, const std::string& device) {
  for (RunnerOffer& offer : offers) {
    std::erase_if(offer.experiments, [&](const ExperimentDescription& experiment) {
      return !experiment.is_limit || experiment.device != device;
    });
  }
  return offers;
}

/// The CPU first.
std::vector<std::string> devices_of(const std::vector<RunnerOffer>& offers) {
  std::vector<std::string> devices{kCpu};
  for (const RunnerOffer& offer : offers) {
    for (const ExperimentDescription& experiment : offer.experiments) {
      const bool is_new = std::ranges::find(devices, experiment.device) == devices.end();
      if (experiment.is_limit && is_new) devices.push_back(experiment.device);
    }
  }
  return devices;
}

std::vector<std::string> limit_names(const std::vector<RunnerOffer>& offers) {
  std::vector<std::string> names;
  for (const char* name : {"limit.read", "limit.write", "limit.zero_fill", "limit.copy", "limit.peak"}) {
    const bool is_offered = std::ranges::any_of(offers, [&](const RunnerOffer& offer) {
      return std::ranges::find(offer.experiments, name, &ExperimentDescription::name) !=
             offer.experiments.end();
    });
    if (is_offered) names.emplace_back(name);
  }
  return names;
}

std::vector<AxisRequest> coarse_sizes(const std::vector<RunnerOffer>& offers) {
  for (const RunnerOffer& offer : offers) {
    for (const ExperimentDescription& experiment : offer.experiments) {
      if (experiment.name != "limit.read") continue;
      for (const Axis& axis : experiment.axes) {
        if (axis.name != "bytes") continue;
        AxisRequest request{"bytes", {}};
        for (std::size_t i = 0; i < axis.values.size(); i += 2) request.values.push_back(axis.values[i]);
        return {request};
      }
    }
  }
  return {};
}

void append_merged(std::vector<Group> groups, std::vector<Group>& merged) {
  for (Group& group : groups) {
    const std::string point = point_of(group.cases.front().spec);
    const auto same = std::ranges::find(merged, point, &Group::title);
    if (same == merged.end()) {
      merged.push_back({point, std::move(group.cases)});
    } else {
      same->cases.insert(same->cases.end(), group.cases.begin(), group.cases.end());
    }
  }
}

}  // namespace

std::vector<Group> sweep_groups(const std::vector<RunnerOffer>& offers, int threads, bool coarse) {
  std::vector<Group> all;
  for (const std::string& device : devices_of(offers)) {
    const std::vector<RunnerOffer> limits = limits_of(offers, device);
    const bool counts_threads = device == kCpu && threads > 1;
    std::vector<Group> merged;
    for (const int count : counts_threads ? std::vector{1, threads} : std::vector{1}) {
      Selection selection;
      selection.names = limit_names(limits);
      if (selection.names.empty()) continue;
      if (coarse) selection.axes = coarse_sizes(limits);
      selection.default_threads = count;
      selection.caches = Caches::kHot;
      append_merged(plan(limits, selection), merged);
    }
    all.insert(all.end(), merged.begin(), merged.end());
  }
  return all;
}

std::filesystem::path stored_sweep(const std::string& fingerprint) {
  return user_data_folder() / "machines" / (fingerprint + ".json");
}

std::vector<SweepPoint> sweep_points(const std::vector<Record>& records) {
  std::vector<SweepPoint> points;
  for (const Record& record : records) {
    if (!record.metric.headline || record.samples.empty() || !record.model.name.starts_with(kPrefix))
      continue;
    SweepPoint point;
    point.device = record.device.empty() ? kCpu : record.device;
    point.limit = record.model.name.substr(std::string_view(kPrefix).size());
    point.threads = record.threads;
    point.bytes = whole_axis(record, "bytes").value_or(0);
    point.dtype = axis_text(record, "dtype");
    point.pattern = axis_text(record, "pattern");
    point.rate = record.metric.value;
    if (record.interval) point.spread = relative_half_width(*record.interval, record.metric.value);
    for (const ProcessSamples& process : record.samples) point.samples += process.values.size();
    const auto same = std::ranges::find_if(points, [&](const SweepPoint& other) {
      return std::tie(other.device, other.limit, other.threads, other.bytes, other.dtype) ==
             std::tie(point.device, point.limit, point.threads, point.bytes, point.dtype);
    });
    if (same == points.end()) {
      points.push_back(std::move(point));
    } else if (same->rate < point.rate) {
      *same = std::move(point);
    }
  }
  return points;
}

}  // namespace headroom::cli

// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/ddp/ddp_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "headroom/base/text.h"
#include "headroom/base/units.h"

namespace headroom {
namespace {

constexpr double kMebibyte = 1 << 20;

/// In MiB, as --bucket-size and PyTorch's benchmark have it: the shortest number that is so many whole bytes,
/// which is what was asked for.
std::string bucket_mebibytes(std::int64_t bytes) {
  constexpr int kAllDigits = 17;
  std::string text;
  for (int digits = 1; digits <= kAllDigits; ++digits) {
    const double mebibytes =
        std::stod(fmt::format("{:.{}g}", static_cast<double>(bytes) / kMebibyte, digits));
    text = fmt::format("{}", mebibytes);
    if (static_cast<std::int64_t>(mebibytes * kMebibyte) == bytes) break;
  }
  return text;
}

/// PyTorch's benchmark tells iterations in seconds.
void tell_in_seconds(Record& latency) {
  latency.metric.unit = "s";
  for (ProcessSamples& rank : latency.samples) {
    for (double& value : rank.values) value *= kNsPerUs / kNsPerSecond;
  }
  estimate(latency);
  if (latency.limit) latency.limit->value *= kNsPerUs / kNsPerSecond;
  latency.modes = find_modes(steady(latency).values);
}

AxisValues axes_in_order(const Record& record, bool ddp) {
  AxisValues axes;
  for (const char* name : {"batch_size", "ranks", "ddp", "image_size"}) {
    if (const std::string text = axis_text(record, name); !text.empty()) axes.emplace_back(name, text);
  }
  const auto bytes = whole_axis(record, "bucket_size");
  if (ddp && bytes) axes.emplace_back("bucket_size", bucket_mebibytes(*bytes));
  return axes;
}

std::string label_of(const Record& record, bool ddp, const std::vector<DdpStep>& steps) {
  const auto step = std::ranges::find_if(steps, [&](const DdpStep& known) {
    return known.ddp == ddp && known.ranks == whole_axis(record, "ranks");
  });
  return step == steps.end() ? "" : step->label;
}

void tell_notes(Record& record) {
  StringMap& info = record.model.extra_info;
  if (const auto unused = info.find("unused parameters"); unused != info.end())
    record.notes.push_back("no rank used the parameters " + unused->second);
  if (const auto untraced = info.find("untraced"); untraced != info.end())
    record.notes.push_back("no trace: " + untraced->second);
}

}  // namespace

std::vector<Record> ddp_records(std::vector<Record> records, const std::vector<DdpStep>& steps) {
  for (Record& record : records) {
    const bool ddp = axis_text(record, "ddp") == "yes";
    record.benchmark.name = "ddp";
    record.benchmark.mode = "training";
    record.benchmark.dtype = "f32";
    if (record.model.name.starts_with(kDdpPrefix))
      record.model.name.erase(0, std::string_view(kDdpPrefix).size());
    record.model.type = "OSS model";
    if (!ddp) record.model.backend.clear();
    record.model.extra_info["step"] = label_of(record, ddp, steps);
    record.device = axis_text(record, "transport") == "nccl" ? "cuda" : "cpu";
    record.axes = axes_in_order(record, ddp);
    record.caches.clear();
    if (record.metric.name == "latency") tell_in_seconds(record);
    if (record.metric.headline) {
      tell_notes(record);
    } else {
      record.notes.clear();
    }
  }
  return records;
}

}  // namespace headroom

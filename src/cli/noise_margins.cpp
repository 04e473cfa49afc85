// SPDX-License-Identifier: Apache-2.0
#include "cli/noise_margins.h"

#include <algorithm>
#include <filesystem>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/compare/comparison.h"

namespace headroom::cli {
namespace {

constexpr int kMarginsSchema = 1;

std::filesystem::path margins_path(const std::string& fingerprint) {
  return user_data_folder() / "noise" / (fingerprint + ".json");
}

}  // namespace

NoiseMargins margins_of(const std::vector<Record>& records) {
  NoiseMargins margins;
  std::map<std::string, const Record*> first;
  for (const Record& record : records) {
    const auto [found, is_new] = first.emplace(identity(record), &record);
    if (is_new) continue;
    const Comparison comparison = compare_records(*found->second, record);
    if (!comparison.ratio || !comparison.ratio->interval) continue;
    const Interval& interval = *comparison.ratio->interval;
    margins[found->first] = std::max({interval.high - 1, 1 - interval.low, 0.0});
  }
  return margins;
}

NoiseMargins stored_margins(const std::string& fingerprint) {
  const std::filesystem::path path = margins_path(fingerprint);
  if (fingerprint.empty() || !std::filesystem::exists(path)) return {};
  const Json file = parse_json(read_file(path), path.string());
  if (json_number(file, "schema", path.string()) > kMarginsSchema) {
    throw Error(path.string() + ": written by a newer headroom; update this one, or remove the file");
  }
  NoiseMargins margins;
  for (const auto& [name, margin] : json_member(file, "margins", path.string()).items()) {
    if (!margin.is_number()) throw Error(path.string() + ": /margins/" + name + ": expected a number");
    margins[name] = margin.get<double>();
  }
  return margins;
}

std::string store_margins(const std::string& fingerprint, const NoiseMargins& margins) {
  NoiseMargins all = stored_margins(fingerprint);
  for (const auto& [name, margin] : margins) all[name] = margin;
  Json file{{"schema", kMarginsSchema}, {"fingerprint", fingerprint}, {"margins", Json::object()}};
  for (const auto& [name, margin] : all) file["margins"][name] = margin;
  const std::filesystem::path path = margins_path(fingerprint);
  write_file_atomically(path, dump_json_pretty(file) + "\n");
  return path.string();
}

}  // namespace headroom::cli

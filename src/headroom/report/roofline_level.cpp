// SPDX-License-Identifier: Apache-2.0
#include "headroom/report/roofline_level.h"

#include <fmt/format.h>

#include <algorithm>

#include "headroom/base/text.h"
#include "headroom/base/units.h"

namespace headroom {
namespace {

/// A hot working set of fewer last-level caches than this is partly in them.
constexpr double kCachesBehind = 4;

/// Sizes in a text of the machine's description; none where it has no such text.
std::vector<double> sizes_of(const Record& record, const char* name) {
  std::vector<double> sizes;
  if (!record.environment || record.environment->machines.empty()) return sizes;
  const auto& extra = record.environment->machines.front().extra_info;
  const auto found = extra.find(name);
  if (found == extra.end() || found->second.empty()) return sizes;
  for (const std::string& size : split(found->second, ',')) {
    sizes.push_back(static_cast<double>(parse_bytes(trimmed(size))));
  }
  return sizes;
}

std::string beyond(double bytes, double last_cache) {
  return bytes >= kCachesBehind * last_cache ? "memory" : "";
}

}  // namespace

bool counts_threads(const Record& record) {
  return !record.device.starts_with("cuda");
}

std::string roofline_level(const Record& record, double bytes) {
  if (record.caches == "cold") return "memory";
  const bool on_cpu = counts_threads(record);
  // The data caches that one CPU sees, the first level first; of a GPU the one that all its multiprocessors
  // share.
  const std::vector<double> caches = sizes_of(record, on_cpu ? "caches" : "gpu_l2");
  if (caches.empty()) return fmt::format("{} working set", format_bytes(bytes));
  if (!on_cpu) return bytes <= caches.front() ? "L2" : beyond(bytes, caches.front());
  const double threads = std::max(1, record.threads);
  for (std::size_t level = 0; level < caches.size(); ++level) {
    const bool shared = level + 1 == caches.size() && caches.size() > 2;
    if (bytes <= caches[level] * (shared ? 1 : threads)) return fmt::format("L{}", level + 1);
  }
  return beyond(bytes, caches.back());
}

}  // namespace headroom

// SPDX-License-Identifier: Apache-2.0
#include "headroom/machine/cpu_folder.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "headroom/base/files.h"
#include "headroom/base/text.h"
#include "headroom/process/affinity.h"

namespace headroom {
namespace {

struct CacheEntry {
  int level = 0;
  std::int64_t bytes = 0;
  std::filesystem::path path;
};

std::vector<CacheEntry> caches_of(const std::filesystem::path& cpu) {
  std::vector<CacheEntry> entries;
  for (int index = 0;; ++index) {
    const std::filesystem::path path = cpu / "cache" / ("index" + std::to_string(index));
    const std::string type = read_file_value(path / "type");
    if (type.empty()) return entries;
    if (type == "Instruction") continue;
    const int level = static_cast<int>(to_integer(read_file_value(path / "level")).value_or(0));
    entries.push_back({level, parse_cache_size(read_file_value(path / "size")), path});
  }
}

}  // namespace

std::vector<int> parse_cpu_list(std::string_view text) {
  constexpr std::int64_t kMax = 1 << 20;
  std::vector<int> cpus;
  text = trimmed(text);
  if (text.empty()) return cpus;
  for (const std::string& part : split(text, ',')) {
    const std::size_t dash = part.find('-');
    const auto first = to_integer(part.substr(0, dash));
    const auto last = dash == std::string::npos ? first : to_integer(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last > kMax) return {};
    for (std::int64_t cpu = *first; cpu <= *last; ++cpu) cpus.push_back(static_cast<int>(cpu));
  }
  return cpus;
}

std::int64_t parse_cache_size(std::string_view text) {
  std::int64_t unit = 1;
  if (text.ends_with('K')) unit = std::int64_t{1} << 10;
  if (text.ends_with('M')) unit = std::int64_t{1} << 20;
  if (text.ends_with('G')) unit = std::int64_t{1} << 30;
  if (unit > 1) text.remove_suffix(1);
  const std::int64_t count = to_integer(text).value_or(0);
  return count > 0 ? count * unit : 0;
}

CpuFolder::CpuFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

std::filesystem::path CpuFolder::of_cpu(int cpu) const {
  return folder_ / ("cpu" + std::to_string(cpu));
}

std::vector<int> CpuFolder::siblings_of(int cpu) const {
  const std::filesystem::path topology = of_cpu(cpu) / "topology";
  std::string siblings = read_file_or_empty(topology / "core_cpus_list");
  if (siblings.empty()) siblings = read_file_or_empty(topology / "thread_siblings_list");  // before Linux 5.3
  return parse_cpu_list(siblings);
}

std::vector<int> CpuFolder::online_cpus() const {
  return parse_cpu_list(read_file_or_empty(folder_ / "online"));
}

int CpuFolder::cores(std::span<const int> cpus) const {
  std::set<int> counted;
  int cores = 0;
  for (const int cpu : cpus) {
    if (!counted.insert(cpu).second) continue;
    ++cores;
    for (const int sibling : siblings_of(cpu)) counted.insert(sibling);
  }
  return cores;
}

int CpuFolder::core_of(int cpu) const {
  const std::vector<int> siblings = siblings_of(cpu);
  return siblings.empty() ? cpu : *std::ranges::min_element(siblings);
}

std::vector<std::int64_t> CpuFolder::cache_bytes(int cpu) const {
  std::map<int, std::int64_t> by_level;
  for (const CacheEntry& entry : caches_of(of_cpu(cpu))) by_level[entry.level] = entry.bytes;
  std::vector<std::int64_t> sizes;
  for (const auto& [level, bytes] : by_level) sizes.push_back(bytes);
  return sizes;
}

std::int64_t CpuFolder::last_level_cache_bytes(std::span<const int> cpus) const {
  std::set<int> counted;
  std::int64_t total = 0;
  for (const int cpu : cpus) {
    if (!counted.insert(cpu).second) continue;
    const CacheEntry* last = nullptr;
    const std::vector<CacheEntry> entries = caches_of(of_cpu(cpu));
    for (const CacheEntry& entry : entries) {
      if (last == nullptr || entry.level > last->level) last = &entry;
    }
    if (last == nullptr) continue;
    total += last->bytes;
    for (const int sharer : parse_cpu_list(read_file_or_empty(last->path / "shared_cpu_list")))
      counted.insert(sharer);
  }
  return total;
}

std::int64_t last_level_cache_bytes() {
  const std::int64_t bytes = CpuFolder().last_level_cache_bytes(allowed_cpus());
  return bytes > 0 ? bytes : kUnknownCacheBytes;
}

std::int64_t cache_line_bytes() {
  constexpr std::int64_t kUsual = 64;
  const long bytes = ::sysconf(_SC_LEVEL1_DCACHE_LINESIZE);
  return bytes > 0 ? bytes : kUsual;
}

}  // namespace headroom

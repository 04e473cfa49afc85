// SPDX-License-Identifier: Apache-2.0
#include "headroom/machine/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <system_error>

#include "headroom/base/text.h"
#include "headroom/machine/cgroup.h"
#include "headroom/machine/text_file.h"

namespace headroom {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

}  // namespace

std::optional<std::int64_t> meminfo_bytes(std::string_view meminfo, std::string_view name) {
  for (const std::string& line : split(meminfo, '\n')) {
    std::string_view rest = line;
    if (!rest.starts_with(name) || rest.size() <= name.size() || rest[name.size()] != ':') continue;
    rest = trimmed(rest.substr(name.size() + 1));
    if (!rest.ends_with(" kB")) return std::nullopt;
    const auto kibibytes = to_integer(trimmed(rest.substr(0, rest.size() - 3)));
    if (!kibibytes) return std::nullopt;
    return *kibibytes * 1024;
  }
  return std::nullopt;
}

std::int64_t system_memory_left(const std::filesystem::path& root) {
  const std::string meminfo = text_of_file(root / "proc/meminfo");
  // MemAvailable came with Linux 3.14; some sandboxes leave it out.
  auto left = meminfo_bytes(meminfo, "MemAvailable");
  if (!left) left = meminfo_bytes(meminfo, "MemFree");
  return std::min(left.value_or(kNoLimit), cgroup_memory_left(root).value_or(kNoLimit));
}

std::int64_t fitted_memory_bytes(const std::filesystem::path& root) {
  const std::filesystem::path folder = root / "sys/devices/system/memory";
  std::int64_t block_bytes = 0;  // in hexadecimal without a prefix
  const std::string text = value_in_file(folder / "block_size_bytes");
  std::from_chars(text.data(), text.data() + text.size(), block_bytes, 16);
  std::int64_t blocks = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (name.starts_with("memory") && to_integer(std::string_view(name).substr(6))) ++blocks;
  }
  if (blocks > 0 && block_bytes > 0) return blocks * block_bytes;
  return meminfo_bytes(text_of_file(root / "proc/meminfo"), "MemTotal").value_or(0);
}

std::int64_t address_space_left(std::uint64_t limit, std::string_view statm, std::int64_t page_bytes) {
  if (limit >= static_cast<std::uint64_t>(kNoLimit)) return kNoLimit;  // RLIM_INFINITY is the largest number
  const std::int64_t pages = to_integer(statm.substr(0, statm.find(' '))).value_or(0);
  return std::max<std::int64_t>(static_cast<std::int64_t>(limit) - pages * page_bytes, 0);
}

std::int64_t available_memory_bytes() {
  const std::int64_t left = system_memory_left("/");
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return left;
  const std::string statm = text_of_file("/proc/self/statm");
  return std::min(left, address_space_left(limit.rlim_cur, statm, ::sysconf(_SC_PAGESIZE)));
}

std::int64_t total_memory_bytes() {
  return meminfo_bytes(text_of_file("/proc/meminfo"), "MemTotal").value_or(0);
}

}  // namespace headroom

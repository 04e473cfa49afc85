// SPDX-License-Identifier: Apache-2.0
#include "headroom/machine/memory.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <system_error>
#include <utility>

#include "headroom/base/files.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

struct Mount {
  std::string root;  ///< shown folder of the file system
  std::string point;
  std::string type;
  std::string options;  ///< super block options: the controllers of a v1 hierarchy
};

/// Decodes \ooo.
std::string unescaped(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](std::size_t k) { return i + k < text.size() ? text[i + k] - '0' : -1; };
    const bool octal = text[i] == '\\' && std::min({digit(1), digit(2), digit(3)}) >= 0 &&
                       std::max({digit(1), digit(2), digit(3)}) < 8;
    if (octal) {
      result.push_back(static_cast<char>(digit(1) * 64 + digit(2) * 8 + digit(3)));
      i += 3;
    } else {
      result.push_back(text[i]);
    }
  }
  return result;
}

/// Parses "36 35 98:0 /root /point rw shared:1 - type source options" (fields before the dash vary).
std::optional<Mount> parse_mount(std::string_view line) {
  const std::vector<std::string> fields = split(line, ' ');
  const auto dash = std::find(fields.begin(), fields.end(), "-");
  if (dash - fields.begin() < 6 || fields.end() - dash < 4) return std::nullopt;
  return Mount{unescaped(fields[3]), unescaped(fields[4]), dash[1], dash[3]};
}

bool has_word(std::string_view list, std::string_view word) {
  const std::vector<std::string> words = split(list, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// From a v2 line "0::/a/b" or a v1 line "4:cpu,memory:/a/b".
std::optional<std::string> group_path(std::string_view self_cgroup, int version,
                                      std::string_view controller) {
  for (const std::string& line : split(self_cgroup, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool match = version == 2 ? controllers.empty() : has_word(controllers, controller);
    if (match) return line.substr(second + 1);
  }
  return std::nullopt;
}

/// From the group up to the mount point; only the mount point for a group outside the mount (a container
/// without a cgroup namespace).
void add_folders(const Mount& mount, const std::string& group, int version,
                 std::vector<CgroupFolder>& folders) {
  const std::filesystem::path point = mount.point;
  std::filesystem::path below = std::filesystem::path(group).lexically_relative(mount.root);
  if (below.empty() || *below.begin() == "..") below = ".";
  for (; below != "." && !below.empty(); below = below.parent_path()) {
    folders.push_back({point / below, version});
  }
  folders.push_back({point, version});
}

std::optional<std::int64_t> stat_value(std::string_view stat, std::string_view name) {
  for (const std::string& line : split(stat, '\n')) {
    if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ' ') {
      return to_integer(trimmed(std::string_view(line).substr(name.size())));
    }
  }
  return std::nullopt;
}

std::vector<CgroupFolder> cgroup_folders(std::string_view self_cgroup, std::string_view mountinfo,
                                         std::string_view controller) {
  std::vector<CgroupFolder> folders;
  for (const std::string& line : split(mountinfo, '\n')) {
    const std::optional<Mount> mount = parse_mount(line);
    if (!mount) continue;
    const bool v1 = mount->type == "cgroup" && has_word(mount->options, controller);
    if (!v1 && mount->type != "cgroup2") continue;
    const int version = v1 ? 1 : 2;
    const std::optional<std::string> group = group_path(self_cgroup, version, controller);
    if (group) add_folders(*mount, *group, version, folders);
  }
  return folders;
}

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

// From linux/fs.h of Linux 6.7 and later: Documentation/admin-guide/mm/pagemap.rst.
struct PageRegion {
  std::uint64_t start, end, categories;
};
struct PageScan {
  std::uint64_t size, flags, start, end, walk_end, regions, region_count, most_pages, inverted, mask, any_of,
      returned;
};
constexpr unsigned long kPagemapScan = _IOWR('f', 16, PageScan);
constexpr std::uint64_t kIsHuge = 1U << 6U;

std::optional<std::size_t> scanned(std::size_t start, std::size_t bytes) {
  const Descriptor pagemap(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  if (!pagemap.is_open()) return std::nullopt;
  std::array<PageRegion, 64> regions{};
  PageScan scan{};
  scan.size = sizeof scan;
  scan.start = start;
  scan.end = start + bytes;
  scan.regions = reinterpret_cast<std::uintptr_t>(regions.data());
  scan.region_count = regions.size();
  scan.mask = kIsHuge;
  scan.returned = kIsHuge;
  std::size_t huge = 0;
  while (scan.start < scan.end) {
    const int found = ::ioctl(pagemap.get(), kPagemapScan, &scan);
    if (found < 0 || scan.walk_end <= scan.start) return std::nullopt;
    for (int i = 0; i < found; ++i) {
      const PageRegion& region = regions.at(static_cast<std::size_t>(i));
      huge += static_cast<std::size_t>(region.end - region.start);
    }
    scan.start = scan.walk_end;
  }
  return huge;
}

/// Parses the range of "7f12a000-7f13b000 rw-p ...".
std::optional<std::pair<std::size_t, std::size_t>> mapping_of(std::string_view line) {
  std::size_t first = 0, last = 0;
  const char* const end = line.data() + line.size();
  const auto [dash, error] = std::from_chars(line.data(), end, first, 16);
  if (error != std::errc() || dash == end || *dash != '-') return std::nullopt;
  const auto [space, other_error] = std::from_chars(dash + 1, end, last, 16);
  if (other_error != std::errc() || space == end || *space != ' ' || last <= first) return std::nullopt;
  return std::pair(first, last);
}

std::optional<std::size_t> bytes_of(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !line.ends_with(" kB")) return std::nullopt;
  const auto kibibytes = to_integer(trimmed(line.substr(colon + 1, line.size() - colon - 4)));
  if (!kibibytes || *kibibytes < 0) return std::nullopt;
  return static_cast<std::size_t>(*kibibytes) * 1024;
}

}  // namespace

std::vector<CgroupFolder> cgroup_memory_folders(std::string_view self_cgroup, std::string_view mountinfo) {
  return cgroup_folders(self_cgroup, mountinfo, "memory");
}

std::optional<std::int64_t> cgroup_memory_left(const CgroupMemory& memory) {
  std::optional<std::int64_t> limit = to_integer(trimmed(memory.limit));  // nullopt for v2's "max"
  if (const auto high = to_integer(trimmed(memory.high))) limit = limit ? std::min(*limit, *high) : *high;
  const std::optional<std::int64_t> usage = to_integer(trimmed(memory.usage));
  if (!limit || !usage || *limit < 0) return std::nullopt;
  // v1 includes the groups below only in the total_ fields.
  auto cache = stat_value(memory.stat, "total_inactive_file");
  if (!cache) cache = stat_value(memory.stat, "inactive_file");
  const std::int64_t used = std::max<std::int64_t>(*usage - cache.value_or(0), 0);
  return std::max<std::int64_t>(*limit - used, 0);
}

std::optional<std::int64_t> cgroup_memory_left(const std::filesystem::path& root) {
  std::optional<std::int64_t> least;
  const auto folders = cgroup_memory_folders(read_file_or_empty(root / "proc/self/cgroup"),
                                             read_file_or_empty(root / "proc/self/mountinfo"));
  for (const CgroupFolder& folder : folders) {
    const std::filesystem::path path = root / folder.path.relative_path();
    CgroupMemory memory;
    memory.limit = read_file_or_empty(path / (folder.version == 2 ? "memory.max" : "memory.limit_in_bytes"));
    memory.usage =
        read_file_or_empty(path / (folder.version == 2 ? "memory.current" : "memory.usage_in_bytes"));
    if (folder.version == 2) memory.high = read_file_or_empty(path / "memory.high");
    memory.stat = read_file_or_empty(path / "memory.stat");
    const auto left = cgroup_memory_left(memory);
    if (left) least = least ? std::min(*least, *left) : *left;
  }
  return least;
}

std::optional<double> cgroup_throttled_s(const std::filesystem::path& root) {
  constexpr double kUsPerSecond = 1e6, kNsPerSecond = 1e9;
  std::optional<double> sum;
  const auto folders = cgroup_folders(read_file_or_empty(root / "proc/self/cgroup"),
                                      read_file_or_empty(root / "proc/self/mountinfo"), "cpu");
  for (const CgroupFolder& folder : folders) {
    const std::string stat = read_file_or_empty(root / folder.path.relative_path() / "cpu.stat");
    const bool v2 = folder.version == 2;
    const auto throttled = stat_value(stat, v2 ? "throttled_usec" : "throttled_time");
    if (throttled)
      sum = sum.value_or(0) + static_cast<double>(*throttled) / (v2 ? kUsPerSecond : kNsPerSecond);
  }
  return sum;
}

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
  const std::string meminfo = read_file_or_empty(root / "proc/meminfo");
  // MemAvailable exists since Linux 3.14; some sandboxes omit it.
  auto left = meminfo_bytes(meminfo, "MemAvailable");
  if (!left) left = meminfo_bytes(meminfo, "MemFree");
  return std::min(left.value_or(kNoLimit), cgroup_memory_left(root).value_or(kNoLimit));
}

std::int64_t fitted_memory_bytes(const std::filesystem::path& root) {
  const std::filesystem::path folder = root / "sys/devices/system/memory";
  std::int64_t block_bytes = 0;  // hexadecimal without prefix
  const std::string text = read_file_value(folder / "block_size_bytes");
  std::from_chars(text.data(), text.data() + text.size(), block_bytes, 16);
  std::int64_t blocks = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (name.starts_with("memory") && to_integer(std::string_view(name).substr(6))) ++blocks;
  }
  if (blocks > 0 && block_bytes > 0) return blocks * block_bytes;
  return meminfo_bytes(read_file_or_empty(root / "proc/meminfo"), "MemTotal").value_or(0);
}

std::int64_t address_space_left(std::uint64_t limit, std::string_view statm, std::int64_t page_bytes) {
  if (limit >= static_cast<std::uint64_t>(kNoLimit)) return kNoLimit;  // includes RLIM_INFINITY
  const std::int64_t pages = to_integer(statm.substr(0, statm.find(' '))).value_or(0);
  return std::max<std::int64_t>(static_cast<std::int64_t>(limit) - pages * page_bytes, 0);
}

std::int64_t available_memory_bytes() {
  const std::int64_t left = system_memory_left("/");
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return left;
  const std::string statm = read_file_or_empty("/proc/self/statm");
  return std::min(left, address_space_left(limit.rlim_cur, statm, ::sysconf(_SC_PAGESIZE)));
}

std::int64_t total_memory_bytes() {
  return meminfo_bytes(read_file_or_empty("/proc/meminfo"), "MemTotal").value_or(0);
}

MemoryCap::MemoryCap(std::int64_t bytes) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_DATA, &limit) != 0) return;
  before_ = limit.rlim_cur;
  limit.rlim_cur = std::min<rlim_t>(static_cast<rlim_t>(bytes), limit.rlim_cur);
  is_set_ = ::setrlimit(RLIMIT_DATA, &limit) == 0;
}

MemoryCap::~MemoryCap() {
  rlimit limit{};
  if (!is_set_ || ::getrlimit(RLIMIT_DATA, &limit) != 0) return;
  limit.rlim_cur = before_;
  ::setrlimit(RLIMIT_DATA, &limit);
}

std::string huge_page_policy(const std::filesystem::path& root) {
  const std::string text = read_file_value(root / "sys/kernel/mm/transparent_hugepage/enabled");
  const std::size_t open = text.find('['), close = text.find(']');
  if (open == std::string::npos || close == std::string::npos || close < open) return {};
  return text.substr(open + 1, close - open - 1);
}

std::optional<std::size_t> huge_page_bytes_of_smaps(std::string_view smaps, std::size_t start,
                                                    std::size_t bytes) {
  std::size_t covered = 0, share = 0, mapping = 0;
  bool any = false;
  for (std::size_t at = 0; at < smaps.size();) {
    const std::size_t end = std::min(smaps.find('\n', at), smaps.size());
    const std::string_view line = smaps.substr(at, end - at);
    at = end + 1;
    if (const auto ends = mapping_of(line)) {
      const std::size_t low = std::max(ends->first, start), high = std::min(ends->second, start + bytes);
      covered = high > low ? high - low : 0;
      mapping = ends->second - ends->first;
    } else if (covered > 0 && line.starts_with("AnonHugePages:")) {
      const auto huge = bytes_of(line);
      if (!huge) return std::nullopt;
      any = true;
      share += static_cast<std::size_t>(static_cast<double>(*huge) * static_cast<double>(covered) /
                                        static_cast<double>(mapping));
    }
  }
  if (!any) return std::nullopt;
  return std::min(share, bytes);
}

std::optional<std::size_t> huge_page_bytes(const void* start, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(start);
  if (const auto huge = scanned(address, bytes)) return huge;
  return huge_page_bytes_of_smaps(read_file_or_empty("/proc/self/smaps"), address, bytes);
}

}  // namespace headroom

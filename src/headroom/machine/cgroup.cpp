// SPDX-License-Identifier: Apache-2.0
#include "headroom/machine/cgroup.h"

#include <algorithm>

#include "headroom/base/text.h"
#include "headroom/machine/text_file.h"

namespace headroom {
namespace {

struct Mount {
  std::string root;   ///< the folder of the file system that the mount shows
  std::string point;  ///< where it is mounted
  std::string type;
  std::string options;  ///< of the super block: the controllers of a v1 hierarchy
};

/// mountinfo writes blanks and backslashes of paths as \ooo.
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

/// "36 35 98:0 /root /point rw shared:1 - type source options": any number of fields before the dash.
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

/// The path of the group in its hierarchy. "0::/a/b" is v2's line, "4:cpu,memory:/a/b" v1's.
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

/// The group's folders from its own up to the mount point. A group outside of what the mount shows (a
/// container without a namespace of its own) leaves the mount point, which is then the container's own group.
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

/// The value after "name " at the start of a line.
std::optional<std::int64_t> stat_value(std::string_view stat, std::string_view name) {
  for (const std::string& line : split(stat, '\n')) {
    if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ' ') {
      return to_integer(trimmed(std::string_view(line).substr(name.size())));
    }
  }
  return std::nullopt;
}

/// Those in which `controller` may limit the process.
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

}  // namespace

std::vector<CgroupFolder> cgroup_memory_folders(std::string_view self_cgroup, std::string_view mountinfo) {
  return cgroup_folders(self_cgroup, mountinfo, "memory");
}

std::optional<std::int64_t> cgroup_memory_left(const CgroupMemory& memory) {
  std::optional<std::int64_t> limit = to_integer(trimmed(memory.limit));  // v2's "max" is no number
  if (const auto high = to_integer(trimmed(memory.high))) limit = limit ? std::min(*limit, *high) : *high;
  const std::optional<std::int64_t> usage = to_integer(trimmed(memory.usage));
  if (!limit || !usage || *limit < 0) return std::nullopt;
  // v1 counts the groups below only in the fields that start with total_.
  auto cache = stat_value(memory.stat, "total_inactive_file");
  if (!cache) cache = stat_value(memory.stat, "inactive_file");
  const std::int64_t used = std::max<std::int64_t>(*usage - cache.value_or(0), 0);
  return std::max<std::int64_t>(*limit - used, 0);
}

std::optional<std::int64_t> cgroup_memory_left(const std::filesystem::path& root) {
  std::optional<std::int64_t> least;
  const auto folders = cgroup_memory_folders(text_of_file(root / "proc/self/cgroup"),
                                             text_of_file(root / "proc/self/mountinfo"));
  for (const CgroupFolder& folder : folders) {
    const std::filesystem::path path = root / folder.path.relative_path();
    CgroupMemory memory;
    memory.limit = text_of_file(path / (folder.version == 2 ? "memory.max" : "memory.limit_in_bytes"));
    memory.usage = text_of_file(path / (folder.version == 2 ? "memory.current" : "memory.usage_in_bytes"));
    if (folder.version == 2) memory.high = text_of_file(path / "memory.high");
    memory.stat = text_of_file(path / "memory.stat");
    const auto left = cgroup_memory_left(memory);
    if (left) least = least ? std::min(*least, *left) : *left;
  }
  return least;
}

std::optional<double> cgroup_throttled_s(const std::filesystem::path& root) {
  constexpr double kUsPerSecond = 1e6, kNsPerSecond = 1e9;
  std::optional<double> sum;
  const auto folders = cgroup_folders(text_of_file(root / "proc/self/cgroup"),
                                      text_of_file(root / "proc/self/mountinfo"), "cpu");
  for (const CgroupFolder& folder : folders) {
    const std::string stat = text_of_file(root / folder.path.relative_path() / "cpu.stat");
    const bool v2 = folder.version == 2;
    const auto told = stat_value(stat, v2 ? "throttled_usec" : "throttled_time");
    if (told) sum = sum.value_or(0) + static_cast<double>(*told) / (v2 ? kUsPerSecond : kNsPerSecond);
  }
  return sum;
}

}  // namespace headroom

// SPDX-License-Identifier: Apache-2.0
#include "headroom/machine/huge_pages.h"

#include <fcntl.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <system_error>
#include <utility>

#include "headroom/base/text.h"
#include "headroom/machine/text_file.h"
#include "headroom/process/descriptor.h"

namespace headroom {
namespace {

// Of linux/fs.h, which says so only since Linux 6.7: Documentation/admin-guide/mm/pagemap.rst.
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
  // A call ends where its regions are full.
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

/// "7f12a000-7f13b000 rw-p ..." as the ends of a mapping; nothing where `line` begins none.
std::optional<std::pair<std::size_t, std::size_t>> mapping_of(std::string_view line) {
  std::size_t first = 0, last = 0;
  const char* const end = line.data() + line.size();
  const auto [dash, error] = std::from_chars(line.data(), end, first, 16);
  if (error != std::errc() || dash == end || *dash != '-') return std::nullopt;
  const auto [space, other_error] = std::from_chars(dash + 1, end, last, 16);
  if (other_error != std::errc() || space == end || *space != ' ' || last <= first) return std::nullopt;
  return std::pair(first, last);
}

/// The bytes of "AnonHugePages:      2048 kB".
std::optional<std::size_t> bytes_of(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !line.ends_with(" kB")) return std::nullopt;
  const auto kibibytes = to_integer(trimmed(line.substr(colon + 1, line.size() - colon - 4)));
  if (!kibibytes || *kibibytes < 0) return std::nullopt;
  return static_cast<std::size_t>(*kibibytes) * 1024;
}

}  // namespace

std::string huge_page_policy(const std::filesystem::path& root) {
  const std::string text = value_in_file(root / "sys/kernel/mm/transparent_hugepage/enabled");
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
  return huge_page_bytes_of_smaps(text_of_file("/proc/self/smaps"), address, bytes);
}

}  // namespace headroom

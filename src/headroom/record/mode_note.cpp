// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/mode_note.h"

#include <fmt/format.h>

#include <algorithm>

#include "headroom/base/text.h"
#include "headroom/base/units.h"

namespace headroom {

std::string mode_note(const Modes& modes) {
  if (modes.groups.empty()) return "";
  std::vector<std::string> parts;
  for (const Mode& group : modes.groups) {
    parts.push_back(fmt::format("{} in {:.0f} %{}", format_time_ns(group.median), 100 * group.share,
                                parts.empty() ? " of the samples" : ""));
  }
  parts.push_back(modes.in_stretches ? fmt::format("in stretches ({} change{})", modes.changes,
                                                   modes.changes == 1 ? "" : "s")
                                     : "mixed");
  return kModesNote + join(parts, ", ");
}

StringMap mode_info(const Modes& modes, double unit_ns) {
  if (modes.groups.empty()) return {};
  std::vector<std::string> medians, shares;
  for (const Mode& group : modes.groups) {
    medians.push_back(fmt::format("{:.6g}", group.median / unit_ns));
    shares.push_back(fmt::format("{:.3f}", group.share));
  }
  return {{"modes", join(medians, " ")},
          {"mode_shares", join(shares, " ")},
          {"mode_order", modes.in_stretches ? "stretches" : "mixed"}};
}

std::string mode_note_of(const Record& record) {
  const auto found = std::ranges::find_if(
      record.notes, [](const std::string& note) { return note.starts_with(kModesNote); });
  return found == record.notes.end() ? "" : *found;
}

}  // namespace headroom

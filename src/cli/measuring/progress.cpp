// SPDX-License-Identifier: Apache-2.0
#include "cli/measuring/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/console/output.h"

namespace headroom::cli {
namespace {

constexpr std::chrono::milliseconds kRedraw{100};

std::string line_of(const Progress& progress) {
  std::string line = fmt::format("[{}/{}] {}", progress.group + 1, progress.groups, progress.title);
  if (progress.processes > 1)
    line += fmt::format("  process {}/{}", progress.process + 1, progress.processes);
  if (progress.phase != "sampling") return line + "  " + progress.phase;
  line += fmt::format("  round {}  {}", progress.rounds, format_time_ns(progress.median_ns));
  if (progress.worst_half_width) {
    line += fmt::format(" ±{} (goal {})", format_percent(*progress.worst_half_width),
                        format_percent(progress.goal));
  }
  return line +
         fmt::format("  {:.1f} of at most {:.0f} s", progress.elapsed_ns / 1e9, progress.max_time_ns / 1e9);
}

}  // namespace

TerminalProgress::TerminalProgress(std::function<void(const std::vector<Record>&)> on_records,
                                   std::function<void(const GroupResult&)> on_round)
    : on_records_(std::move(on_records)),
      on_round_(std::move(on_round)),
      is_terminal_(isatty(STDERR_FILENO) == 1) {}

TerminalProgress::~TerminalProgress() {
  clear();
}

void TerminalProgress::progress(const Progress& progress) {
  if (!is_terminal_) {
    title_ = progress.title;
    group_ = progress.group;
    groups_ = progress.groups;
    elapsed_ns_ = progress.elapsed_ns;
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < kRedraw) return;
  last_ = now;
  drawn_ = true;
  std::fputs(("\r\x1b[2K" + visible(line_of(progress))).c_str(), stderr);
  std::fflush(stderr);
}

void TerminalProgress::finished(const std::vector<Record>& records) {
  clear();
  if (groups_ > 1) say("[{}/{}] {}: {:.1f} s", group_ + 1, groups_, title_, elapsed_ns_ / 1e9);
  on_records_(records);
}

void TerminalProgress::clear() {
  if (drawn_) std::fputs("\r\x1b[2K", stderr);
  drawn_ = false;
}

}  // namespace headroom::cli

// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/left_running.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <vector>

#include "headroom/base/text.h"
#include "headroom/machine/text_file.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVariable = "HEADROOM_COMMAND";
constexpr std::size_t kShown = 5;

bool is_number(const std::string& name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
}

/// Whether one of the assignments in the text of /proc/PID/environ is this one.
bool has(const std::string& environment, const std::string& assignment) {
  return ('\0' + environment).find('\0' + assignment + '\0') != std::string::npos;
}

}  // namespace

LeftRunning::LeftRunning()
    : session_(
          fmt::format("{}-{}", ::getpid(), std::chrono::steady_clock::now().time_since_epoch().count())) {}

std::pair<std::string, std::string> LeftRunning::mark(std::size_t command) const {
  return {kVariable, fmt::format("{}-{}", session_, command)};
}

std::string LeftRunning::note(std::size_t command) const {
  const auto [name, value] = mark(command);
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    const fs::path& process = entry->path();
    // Of one that has ended and waits to be reaped the environment is empty.
    if (!is_number(process.filename()) || !has(text_of_file(process / "environ"), name + "=" + value))
      continue;
    found.push_back(
        fmt::format("{} (process {})", value_in_file(process / "comm"), process.filename().string()));
  }
  if (found.empty()) return "";
  const std::size_t more = found.size() - std::min(found.size(), kShown);
  found.resize(found.size() - more);
  return "left running: " + join(found, ", ") + (more > 0 ? fmt::format(", {} more", more) : "");
}

}  // namespace headroom

// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/trace_progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "cli/shared/interrupt.h"
#include "cli/shared/max_memory.h"
#include "cli/shared/option_table.h"
#include "headroom/base/units.h"
#include "headroom/process/affinity.h"

namespace headroom::cli {
namespace {

constexpr std::chrono::milliseconds kQuiet{500}, kRedraw{100};

std::string line_of(const trace::FilesProgress& progress) {
  std::string line = "reading " + format_bytes(static_cast<double>(progress.bytes_done));
  if (progress.bytes > 0) {
    line += " of " + format_bytes(static_cast<double>(progress.bytes));
    line += fmt::format(" ({:.0f} %)",
                        100 * static_cast<double>(progress.bytes_done) / static_cast<double>(progress.bytes));
  }
  if (progress.files > 1) line += fmt::format(", {} of {} files done", progress.files_done, progress.files);
  return line;
}

}  // namespace

TraceProgress::TraceProgress()
    : is_terminal_(isatty(STDERR_FILENO) == 1), next_(std::chrono::steady_clock::now() + kQuiet) {}

TraceProgress::~TraceProgress() {
  if (drawn_) std::fputs("\r\x1b[2K", stderr);
}

void TraceProgress::show(const trace::FilesProgress& progress) {
  const auto now = std::chrono::steady_clock::now();
  if (!is_terminal_ || now < next_) return;
  next_ = now + kRedraw;
  drawn_ = true;
  std::fputs(("\r\x1b[2K" + line_of(progress)).c_str(), stderr);
  std::fflush(stderr);
}

void declare_reading(OptionTable& table, TraceReading& reading) {
  table.add_option("--threads", reading.threads, "threads that read (default: all CPUs of this process)")
      .type_name("N")
      .range(1, 4096);
  declare_max_memory(table, reading.max_memory);
}

void declare_communication(OptionTable& table, TraceReading& reading) {
  table
      .add_option(
          "--communication", reading.communication,
          "kernels that are communication whatever their names say, for every analysis: their names, * "
          "for any characters; several with commas or by giving it again")
      .type_name("PATTERN")
      .delimiter(',')
      .repeated();
}

trace::FilesOptions files_options(const TraceReading& reading, TraceProgress& progress) {
  trace::FilesOptions how;
  how.communication_patterns = reading.communication;
  how.threads = reading.threads > 0 ? reading.threads : static_cast<int>(allowed_cpus().size());
  how.progress = [&progress](const trace::FilesProgress& now) { progress.show(now); };
  how.is_cancelled = [] { return interrupt_flag().load(); };
  return how;
}

}  // namespace headroom::cli

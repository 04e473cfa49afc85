// SPDX-License-Identifier: Apache-2.0
#include "cli/measuring/run_live.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <utility>

#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/console/interrupt.h"
#include "headroom/console/output.h"
#include "headroom/report/case_rows.h"
#include "headroom/report/metric_text.h"
#include "headroom/report/run_sheet.h"
#include "headroom/report/text_plot.h"
#include "headroom/schedule/case_records.h"
#include "headroom/schedule/track.h"
#include "headroom/stats/quantile.h"

namespace headroom::cli {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenFrames{100};
/// A drawing takes one of so many parts of the time.
constexpr int kShareOfTime = 20;
constexpr std::size_t kBins = 24;

// The other screen without a cursor, and back: whatever the terminal's size is by then, nothing is left
// behind.
constexpr const char* kEnter = "\033[?1049h\033[?25l";
constexpr const char* kLeave = "\033[?25h\033[?1049l";
constexpr const char* kClear = "\033[H\033[J";

/// As the C library decides what bytes mean, by the first of these that is set.
bool has_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || value[0] == '\0') continue;
    const std::string_view text(value);
    return contains(text, "UTF-8") || contains(text, "utf8") || contains(text, "utf-8") ||
           contains(text, "UTF8");
  }
  return false;
}

/// The lines that the terminal has; it may have been resized since the last drawing.
std::size_t terminal_rows() {
  winsize size{};
  constexpr std::size_t kUsual = 24;
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : kUsual;
}

Table distribution_table(const std::vector<Record>& records) {
  Table table({{"distribution"},
               {"backend", Align::kLeft, ""},
               {"dtype", Align::kLeft, ""},
               {"least", Align::kRight},
               {"samples of each time"},
               {"95 %"}});
  const bool ascii = !has_utf8();
  for (const CaseRow& row : case_rows(records)) {
    const Record* timed = row.latency;
    if (timed == nullptr) continue;
    const std::vector<double> values = steady_values(*timed);
    if (values.empty()) continue;
    const auto text = [&](double value) { return value_text(value, timed->metric.unit, timed->metric.name); };
    table.row({case_text(*timed), timed->model.backend, timed->benchmark.dtype,
               text(std::ranges::min(values)), spark(values, kBins, ascii), text(quantile(values, 0.95))});
  }
  return table;
}

/// "[2/6] gemv D=1024, process 1 of 3, 12 rounds, 0.8 of at most 5 s".
std::string where_text(const Progress& at) {
  std::string text = fmt::format("[{}/{}] {}", at.group + 1, at.groups, at.title);
  if (at.processes > 1) text += fmt::format(", process {} of {}", at.process + 1, at.processes);
  text += fmt::format(", {} round{}, {:.1f} of at most {:.0f} s", at.rounds, at.rounds == 1 ? "" : "s",
                      at.elapsed_ns / kNsPerSecond, at.max_time_ns / kNsPerSecond);
  return at.worst_half_width ? text + fmt::format(", ±{} (goal {})", format_percent(*at.worst_half_width),
                                                  format_percent(at.goal))
                             : text;
}

/// The first lines, as many as there is room for.
std::string fitting(const std::string& text, std::size_t rows) {
  std::size_t end = 0, lines = 0;
  while (lines + 1 < rows && end < text.size()) {
    const std::size_t line_end = text.find('\n', end);
    if (line_end == std::string::npos) return text;
    end = line_end + 1;
    ++lines;
  }
  return text.substr(0, end);
}

}  // namespace

LiveRun::LiveRun(std::vector<std::string> labels, std::shared_ptr<const Environment> environment,
                 std::function<void(const std::vector<Record>&)> on_records,
                 std::function<void(const GroupResult&)> on_round)
    : labels_(std::move(labels)),
      environment_(std::move(environment)),
      on_records_(std::move(on_records)),
      on_round_(std::move(on_round)) {}

LiveRun::~LiveRun() {
  leave();
}

bool LiveRun::is_possible() {
  return ::isatty(STDERR_FILENO) == 1;
}

void LiveRun::sampled(const GroupResult& so_far) {
  on_round_(so_far);
  const steady_clock::time_point start = steady_clock::now();
  if (start < next_) return;
  std::vector<Record> records = finished_;
  std::ranges::move(case_records(so_far, labels_, environment_), std::back_inserter(records));
  draw(records);
  const steady_clock::time_point end = steady_clock::now();
  next_ = end + std::max<steady_clock::duration>(kBetweenFrames, kShareOfTime * (end - start));
}

void LiveRun::finished(const std::vector<Record>& records) {
  // What is said meanwhile is to be read when the run is over.
  leave();
  on_records_(records);
  finished_.insert(finished_.end(), records.begin(), records.end());
}

void LiveRun::draw(const std::vector<Record>& records) {
  if (!is_drawn_) {
    restore_terminal_with(kLeave);
    std::fputs(kEnter, stderr);
  }
  is_drawn_ = true;
  Sheet sheet;
  sheet.answer(where_text(progress_)).table(run_table(records)).table(distribution_table(records));
  const std::string text = fitting(sheet.text(form_for(stderr, false)), terminal_rows());
  std::fputs(kClear, stderr);
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

void LiveRun::leave() {
  if (!is_drawn_) return;
  std::fputs(kLeave, stderr);
  std::fflush(stderr);
  restore_terminal_with(nullptr);
  is_drawn_ = false;
}

}  // namespace headroom::cli

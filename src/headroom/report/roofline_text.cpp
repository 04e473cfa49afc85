// SPDX-License-Identifier: Apache-2.0
#include "headroom/report/roofline_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "headroom/base/units.h"
#include "headroom/report/bandwidth_plot.h"
#include "headroom/report/metric_text.h"

namespace headroom {
namespace {

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kDigits = "123456789";
constexpr const char* kUnnamed = "*";  ///< cases behind the last letter
constexpr const char* kRoof = "·";

std::string sign_of(std::size_t index) {
  return index < kLetters.size() ? std::string(1, kLetters[index]) : kUnnamed;
}

/// At the ends of a roof.
std::string digit_of(std::size_t index) {
  return index < kDigits.size() ? std::string(1, kDigits[index]) : kRoof;
}

std::string plot(const Roofline& roofline, std::size_t width) {
  constexpr std::size_t kLeast = 40, kMost = 100;
  const RooflineFrame frame = frame_of(roofline);
  std::vector<PlotLine> lines;
  for (std::size_t i = 0; i < roofline.cases.size(); ++i) {
    lines.push_back({"", {{roofline.cases[i].intensity, roofline.cases[i].gflops}}, sign_of(i)});
  }
  for (std::size_t i = 0; i < roofline.roofs.size(); ++i) {
    const auto [from, to] = ends_of(roofline.roofs[i], roofline, frame);
    lines.push_back({"", {from, to}, digit_of(i)});
  }
  PlotOptions options;
  options.width = width == 0 ? kMost : std::clamp(width, kLeast, kMost);
  options.height = 24;
  options.log_y = true;
  options.bytes_x = false;
  options.legend = false;
  options.x_label = "FLOP/byte";
  options.y_label = units_of(roofline.cases);
  return line_plot(lines, options);
}

/// "± 0.8 %", "?" where there are too few samples.
std::string spread(const std::optional<Interval>& interval, double value) {
  return interval ? fmt::format("{:.1f} %", relative_half_width(*interval, value) * 100) : "?";
}

std::string share_of(const RooflineCase& one) {
  if (!one.limit) return "";
  return share_with_interval(one.limit->fraction, one.limit->interval) + " of " + limit_name(*one.limit);
}

Table cases_table(const std::vector<RooflineCase>& cases) {
  Table table({{""},
               {"case"},
               {"backend", Align::kLeft, ""},
               {"dtype", Align::kLeft, ""},
               {"threads", Align::kRight, "threads"},
               {"FLOP/byte", Align::kRight},
               {units_of(cases), Align::kRight},
               {"± 95 %", Align::kRight},
               {"n", Align::kRight},
               {"GB/s", Align::kRight},
               {"bytes"},
               {"of its limit, in the same rounds"}});
  const bool any_counted =
      std::ranges::any_of(cases, [](const RooflineCase& one) { return one.counted.has_value(); });
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const RooflineCase& one = cases[i];
    table.row({sign_of(i), one.name + (one.caches == "hot" ? " hot" : ""), one.backend, one.dtype,
               one.threads > 0 ? std::to_string(one.threads) : "-", format_number(one.intensity),
               format_number(one.gflops), spread(one.interval, one.gflops), std::to_string(one.samples),
               format_number(one.bandwidth),
               !any_counted  ? ""
               : one.counted ? "counted"
                             : "declared",
               share_of(one)});
  }
  return table;
}

Table roofs_table(const std::vector<Roof>& roofs) {
  Table table(
      {{""}, {"roof"}, {"rate", Align::kRight}, {"± 95 %", Align::kRight}, {"n", Align::kRight}, {"from"}});
  for (std::size_t i = 0; i < roofs.size(); ++i) {
    const Roof& roof = roofs[i];
    table.row({digit_of(i), name_of(roof), format_number(roof.rate) + " " + unit_of(roof),
               spread(roof.interval, roof.rate), std::to_string(roof.samples), roof.source});
  }
  return table;
}

void answer_cases(Sheet& sheet, const std::vector<RooflineCase>& cases) {
  const RooflineCase* furthest = nullptr;
  std::size_t limited = 0, by_peak = 0;
  for (const RooflineCase& one : cases) {
    if (!one.limit) continue;
    ++limited;
    by_peak += !one.limit->parts.empty() && one.limit->parts.front().kind == "peak" ? 1 : 0;
    if (furthest == nullptr || one.limit->fraction < furthest->limit->fraction) furthest = &one;
  }
  if (furthest == nullptr) {
    sheet.answer(
        fmt::format("{} case{} stand{} under the roofs; how near cannot be said: no limit was sampled "
                    "beside them",
                    cases.size(), cases.size() == 1 ? "" : "s", cases.size() == 1 ? "s" : ""));
    return;
  }
  const std::string share = share_with_interval(furthest->limit->fraction, furthest->limit->interval);
  const std::string name = furthest->name + " " + furthest->backend;
  if (limited == 1) {
    sheet.answer(fmt::format("{} reaches {} of its limit, {}", name, share, limit_name(*furthest->limit)));
    return;
  }
  sheet.answer(fmt::format("{} is furthest from its limit: {}", name, share));
  sheet.answer(
      fmt::format("memory bounds {} of {} cases, arithmetic {}", limited - by_peak, limited, by_peak));
}

}  // namespace

Sheet roofline_sheet(const Roofline& roofline, std::size_t width) {
  Sheet sheet;
  answer_cases(sheet, roofline.cases);
  sheet.drawing(plot(roofline, width)).table(cases_table(roofline.cases));
  if (roofline.roofs.empty()) {
    sheet.notes("no roofs: the run has no limits of its cases (run it without --no-limits)\n", Tone::kPlain);
  } else {
    sheet.table(roofs_table(roofline.roofs));
  }
  sheet.notes(work_text(roofline) + "\n");
  for (const std::string& finding : roofline.findings) sheet.notes(finding + "\n", Tone::kBad);
  if (!roofline.left_out.empty()) {
    sheet.title("no point in the plot:");
    for (const auto& [name, reason] : roofline.left_out) sheet.notes("  " + name + ": " + reason + "\n");
  }
  return sheet;
}

}  // namespace headroom

// SPDX-License-Identifier: Apache-2.0
#include "headroom/report/roofline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/record/metrics.h"
#include "headroom/record/noise.h"
#include "headroom/record/record_json.h"
#include "headroom/report/case_rows.h"
#include "headroom/report/counted_work.h"
#include "headroom/report/metric_text.h"
#include "headroom/report/text_plot.h"

namespace headroom {
namespace {

constexpr std::string_view kLimitPrefix = "limit.";

Roof roof_of(const Record& record, Roof::Kind kind, std::string what, std::string level) {
  const int threads = counts_threads(record) ? record.threads : 0;
  Roof roof{kind, std::move(what), std::move(level), record.device, threads, 0, {}, 0, {}, {}};
  roof.samples = sample_count(record);
  return roof;
}

std::optional<Roof> measured_roof(const Record& record) {
  const std::string kind = record.model.name.substr(kLimitPrefix.size());
  Roof roof;
  if (kind == "peak") {
    if (!is_operation_rate(record.metric.name)) return std::nullopt;
    roof = roof_of(record, Roof::Kind::kPeak, axis_text(record, "dtype"), "");
  } else {
    const auto bytes = whole_axis(record, "bytes");
    if (!bytes || record.metric.name != "memory_bandwidth(GB/s)") return std::nullopt;
    roof = roof_of(record, Roof::Kind::kBandwidth, kind, roofline_level(record, static_cast<double>(*bytes)));
    if (roof.level.empty()) return std::nullopt;
  }
  roof.rate = record.metric.value;
  roof.interval = record.interval;
  roof.pages = record.huge_pages;
  roof.source = case_name(record);
  return roof;
}

std::optional<Roof> attached_roof(const Record& record) {
  if (!record.limit || record.limit->parts.size() != 1) return std::nullopt;
  const LimitPart& part = record.limit->parts.front();
  Roof roof;
  if (part.kind == "peak") {
    if (!is_operation_rate(record.metric.name)) return std::nullopt;
    roof = roof_of(record, Roof::Kind::kPeak, part.dtype, "");
  } else {
    if (part.bytes <= 0 || record.metric.name != "memory_bandwidth(GB/s)") return std::nullopt;
    roof = roof_of(record, Roof::Kind::kBandwidth, part.kind,
                   roofline_level(record, static_cast<double>(part.bytes)));
    if (roof.level.empty()) return std::nullopt;
  }
  roof.rate = record.limit->value;
  roof.source = limit_name(*record.limit) + ", with " + case_name(record);
  return roof;
}

bool is_measured(const Record& record) {
  return record.outcome.kind == Outcome::Kind::kMeasured && std::isfinite(record.metric.value) &&
         record.metric.value > 0;
}

class RoofSet {
 public:
  void add(std::optional<Roof> roof) {
    if (!roof || !(roof->rate > 0) || !std::isfinite(roof->rate)) return;
    const auto key = std::tuple(roof->kind, roof->what, roof->level, roof->device, roof->threads);
    const auto [place, is_new] = roofs_.try_emplace(key, *roof);
    if (!is_new && place->second.rate < roof->rate) place->second = *roof;
  }

  std::vector<Roof> over(const std::vector<RooflineCase>& cases) const {
    std::vector<Roof> roofs;
    for (const auto& [key, roof] : roofs_) {
      const bool applies = std::ranges::any_of(cases, [&roof = roof](const RooflineCase& one) {
        return one.device == roof.device && one.threads == roof.threads;
      });
      if (applies) roofs.push_back(roof);
    }
    std::ranges::stable_sort(roofs, [](const Roof& a, const Roof& b) {
      return std::pair(a.kind, -a.rate) < std::pair(b.kind, -b.rate);
    });
    return roofs;
  }

 private:
  std::map<std::tuple<Roof::Kind, std::string, std::string, std::string, int>, Roof> roofs_;
};

struct CaseParts {
  const Record* first = nullptr;
  const Record* flops = nullptr;
  const Record* bytes = nullptr;
  const Record* utilization = nullptr;
};

std::vector<CaseParts> parts_of(const std::vector<Record>& records) {
  std::map<std::string, std::size_t> places;
  std::vector<CaseParts> all;
  for (const Record& record : records) {
    if (record.model.name.starts_with(kLimitPrefix)) continue;
    const std::size_t place = places.try_emplace(row_key(record), all.size()).first->second;
    if (place == all.size()) all.push_back({&record, nullptr, nullptr, nullptr});
    if (!is_measured(record)) continue;
    if (is_operation_rate(record.metric.name)) all[place].flops = &record;
    if (record.metric.name == "memory_bandwidth(GB/s)") all[place].bytes = &record;
    if (record.metric.name == "flops_utilization") all[place].utilization = &record;
  }
  return all;
}

std::string reason_of(const CaseParts& parts) {
  if (parts.first->outcome.kind != Outcome::Kind::kMeasured) return parts.first->outcome.reason;
  if (parts.flops == nullptr && parts.bytes == nullptr) return "no FLOPs and no bytes";
  return parts.flops == nullptr ? "no FLOPs" : "no bytes";
}

RooflineCase point_of(const CaseParts& parts) {
  const Record& flops = *parts.flops;
  RooflineCase point{case_text(flops),
                     flops.model.name,
                     flops.model.backend,
                     flops.runner,
                     flops.benchmark.dtype,
                     flops.device,
                     flops.caches,
                     counts_threads(flops) ? flops.threads : 0,
                     0,
                     0,
                     flops.metric.name,
                     {},
                     0,
                     0,
                     {}};
  point.gflops = flops.metric.value;
  point.bandwidth = parts.bytes->metric.value;
  point.intensity = point.gflops / point.bandwidth;
  point.interval = flops.interval;
  point.samples = sample_count(flops);
  point.limit = flops.limit;
  point.pages = flops.huge_pages;
  return point;
}

void take_counted(const std::optional<CountedWork>& work, RooflineCase& point) {
  if (!work || work->volume == nullptr || !work->memory_source || !(work->volume->metric.value > 0)) return;
  const auto [low, high] = counted_range(*work->volume);
  const double counted = work->volume->metric.value;
  point.counted = {counted, low, high, sample_count(*work->volume), point.intensity};
  point.bandwidth *= counted / work->declared_bytes;
  point.intensity = point.gflops / point.bandwidth;
}

std::optional<Roof> implied_peak(const CaseParts& parts) {
  if (parts.utilization == nullptr || parts.flops == nullptr) return std::nullopt;
  // int8 may be the dtype of the weights only.
  const std::string& dtype = parts.flops->benchmark.dtype;
  if (dtype.empty() || dtype == "int8") return std::nullopt;
  Roof roof = roof_of(*parts.flops, Roof::Kind::kPeak, dtype, "");
  roof.rate = parts.flops->metric.value / parts.utilization->metric.value;
  roof.source = "flops_utilization of " + case_name(*parts.flops);
  return roof;
}

std::string page_finding(const Roofline& roofline) {
  for (const Roof& roof : roofline.roofs) {
    if (!roof.pages || roof.level != "memory") continue;
    for (const RooflineCase& one : roofline.cases) {
      const bool applies = one.device == roof.device && one.threads == roof.threads && one.pages;
      if (!applies || has_huge_pages(*one.pages) == has_huge_pages(*roof.pages)) continue;
      return fmt::format(
          "{} {} has {:.0f} % of its inputs and outputs in huge pages, its roof {} has {:.0f} %: measure a "
          "matching roof with headroom run limit.{} --huge-pages {}",
          one.name, one.backend, 100 * *one.pages, name_of(roof), 100 * *roof.pages, roof.what,
          has_huge_pages(*one.pages) ? "yes" : "no");
    }
  }
  return {};
}

double highest_peak(const Roofline& roofline) {
  double highest = 0;
  for (const Roof& roof : roofline.roofs) {
    if (roof.kind == Roof::Kind::kPeak) highest = std::max(highest, roof.rate);
  }
  return highest;
}

double fastest_bandwidth(const Roofline& roofline) {
  double fastest = 0;
  for (const Roof& roof : roofline.roofs) {
    if (roof.kind == Roof::Kind::kBandwidth) fastest = std::max(fastest, roof.rate);
  }
  return fastest;
}

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kDigits = "123456789";
constexpr const char* kUnnamed = "*";  ///< cases after the last letter
constexpr const char* kRoof = "·";

std::string sign_of(std::size_t index) {
  return index < kLetters.size() ? std::string(1, kLetters[index]) : kUnnamed;
}

std::string digit_of(std::size_t index) {
  return index < kDigits.size() ? std::string(1, kDigits[index]) : kRoof;
}

std::string plot(const Roofline& roofline, std::size_t width) {
  constexpr std::size_t kMin = 40, kMax = 100;
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
  options.width = width == 0 ? kMax : std::clamp(width, kMin, kMax);
  options.height = 24;
  options.log_y = true;
  options.bytes_x = false;
  options.legend = false;
  options.x_label = "FLOP/byte";
  options.y_label = units_of(roofline.cases);
  return line_plot(lines, options);
}

std::string spread(const std::optional<Interval>& interval, double value) {
  return interval ? fmt::format("{:.1f} %", relative_half_width(*interval, value) * 100) : "?";
}

Table cases_table(const std::vector<RooflineCase>& cases) {
  Table table(Columns()
                  .left({"", "case"})
                  .shared("backend", Align::kLeft, "")
                  .shared("dtype", Align::kLeft, "")
                  .shared("threads", Align::kRight, "threads")
                  .priority(Priority::kFirst)
                  .right({"FLOP/byte", units_of(cases)})
                  .priority(Priority::kNormal)
                  .right({"± 95 %"})
                  .priority(Priority::kLast)
                  .right({"n", "GB/s"})
                  .left({"bytes"})
                  .priority(Priority::kFirst)
                  .right({"of limit"})
                  .priority(Priority::kNormal)
                  .text("limit, in the same rounds"),
              4);
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
               one.limit ? share_cell(one.limit->fraction, one.limit->interval) : "",
               one.limit ? limit_name(*one.limit) : ""});
  }
  return table;
}

Table roofs_table(const std::vector<Roof>& roofs) {
  Table table(Columns()
                  .left({"", "roof"})
                  .priority(Priority::kFirst)
                  .right({"rate", "± 95 %"})
                  .priority(Priority::kNormal)
                  .right({"n"})
                  .text("from"),
              2);
  for (std::size_t i = 0; i < roofs.size(); ++i) {
    const Roof& roof = roofs[i];
    table.row({digit_of(i), name_of(roof), format_number(roof.rate) + " " + unit_of(roof),
               spread(roof.interval, roof.rate), std::to_string(roof.samples), roof.source});
  }
  return table;
}

void answer_cases(View& view, const std::vector<RooflineCase>& cases) {
  const RooflineCase* furthest = nullptr;
  std::size_t limited = 0, by_peak = 0;
  for (const RooflineCase& one : cases) {
    if (!one.limit) continue;
    ++limited;
    by_peak += !one.limit->parts.empty() && one.limit->parts.front().kind == "peak" ? 1 : 0;
    if (furthest == nullptr || one.limit->fraction < furthest->limit->fraction) furthest = &one;
  }
  if (furthest == nullptr) {
    view.answer(
        fmt::format("{} plot{} under the roofs, share of the limit unknown: no limit was sampled with them",
                    counted(cases.size(), "case"), cases.size() == 1 ? "s" : ""));
    return;
  }
  const std::string share = share_with_interval(furthest->limit->fraction, furthest->limit->interval);
  const std::string name = furthest->name + " " + furthest->backend;
  if (limited == 1) {
    view.answer(fmt::format("{} reaches {} of its limit, {}", name, share, limit_name(*furthest->limit)));
    return;
  }
  view.answer(fmt::format("{} is furthest from its limit: {}", name, share));
  view.answer(
      fmt::format("memory bounds {} of {} cases, arithmetic {}", limited - by_peak, limited, by_peak));
}

Json case_json(const RooflineCase& one) {
  Json json{{"name", one.name},
            {"backend", one.backend},
            {"runner", one.runner},
            {"dtype", one.dtype},
            {"device", one.device},
            {"caches", one.caches},
            {"threads", one.threads},
            {"flop_per_byte", one.intensity},
            {"gflops", one.gflops},
            {"unit", one.unit},
            {"low", low_of(one.interval)},
            {"high", high_of(one.interval)},
            {"n", one.samples},
            {"bandwidth_gb_s", one.bandwidth},
            {"bytes", one.counted ? "counted" : "declared"},
            {"limit", nullptr}};
  if (one.counted) {
    json["counted_bytes"] = {{"value", one.counted->bytes},
                             {"low", one.counted->low},
                             {"high", one.counted->high},
                             {"n", one.counted->passes}};
    json["declared_flop_per_byte"] = one.counted->declared_intensity;
  }
  if (one.limit) {
    json["limit"] = {{"name", limit_name(*one.limit)},
                     {"share", one.limit->fraction},
                     {"low", low_of(one.limit->interval)},
                     {"high", high_of(one.limit->interval)},
                     {"unstable", one.limit->unstable}};
  }
  return json;
}

Json roof_json(const Roof& roof) {
  const bool is_peak = roof.kind == Roof::Kind::kPeak;
  return {{"name", name_of(roof)},
          {"kind", is_peak ? "peak" : "bandwidth"},
          {"what", roof.what},
          {"level", roof.level},
          {"device", roof.device},
          {"threads", roof.threads},
          {"rate", roof.rate},
          {"unit", unit_of(roof)},
          {"low", low_of(roof.interval)},
          {"high", high_of(roof.interval)},
          {"n", roof.samples},
          {"source", roof.source}};
}

}  // namespace

std::string unit_of(const Roof& roof) {
  return roof.kind == Roof::Kind::kPeak ? operation_rate(roof.what) : "GB/s";
}

std::string units_of(const std::vector<RooflineCase>& cases) {
  std::set<std::string> units;
  for (const RooflineCase& one : cases) units.insert(one.unit);
  return units.empty() ? kFloatRate : fmt::format("{}", fmt::join(units, ", "));
}

std::string name_of(const Roof& roof) {
  std::string what = roof.kind == Roof::Kind::kPeak ? roof.what + " peak" : roof.level + " " + roof.what;
  if (roof.device.starts_with("cuda")) what = roof.device + " " + what;
  if (roof.threads == 0) return what;
  return fmt::format("{}, {}", what, counted(roof.threads, "thread"));
}

Roofline roofline_of(const std::vector<Record>& records, const std::vector<Record>& limits) {
  Roofline roofline;
  RoofSet roofs;
  const std::vector<CountedWork> counted = counted_work(records);
  roofline.findings = counted_findings(counted);
  for (const CaseParts& parts : parts_of(records)) {
    if (parts.flops != nullptr && parts.bytes != nullptr) {
      roofline.cases.push_back(point_of(parts));
      take_counted(counted_work_of(counted, *parts.first), roofline.cases.back());
      roofs.add(implied_peak(parts));
    } else {
      const std::string backend = parts.first->model.backend;
      roofline.left_out.emplace_back(case_name(*parts.first) + (backend.empty() ? "" : " " + backend),
                                     reason_of(parts));
    }
  }
  for (const auto* source : {&records, &limits}) {
    for (const Record& record : *source) {
      if (!is_measured(record)) continue;
      roofs.add(record.model.name.starts_with(kLimitPrefix) ? measured_roof(record) : attached_roof(record));
    }
  }
  roofline.roofs = roofs.over(roofline.cases);
  if (std::string pages = page_finding(roofline); !pages.empty())
    roofline.findings.push_back(std::move(pages));
  return roofline;
}

const char* source_of_bytes(const Roofline& roofline) {
  const auto counted =
      std::ranges::count_if(roofline.cases, [](const RooflineCase& one) { return one.counted.has_value(); });
  if (counted == 0) return "declared";
  return static_cast<std::size_t>(counted) == roofline.cases.size() ? "counted" : "declared and counted";
}

std::string work_text(const Roofline& roofline) {
  const std::string source = source_of_bytes(roofline);
  if (source == "declared")
    return "Operations and bytes are as declared by the cases; no hardware counters were read.";
  const std::string operations = "Operations are as declared by the cases; bytes ";
  if (source == "counted") return operations + "were counted by the memory controllers.";
  return operations + "were counted by the memory controllers or declared, as shown for each case.";
}

RooflineFrame frame_of(const Roofline& roofline) {
  RooflineFrame frame{INFINITY, 0, INFINITY, 0};
  const double peak = highest_peak(roofline);
  for (const RooflineCase& one : roofline.cases) {
    frame.x_low = std::min(frame.x_low, one.intensity);
    frame.x_high = std::max(frame.x_high, one.intensity);
    frame.y_low = std::min(frame.y_low, one.gflops);
    frame.y_high = std::max(frame.y_high, one.gflops);
  }
  frame.x_low /= 4;
  for (const Roof& roof : roofline.roofs) {
    if (roof.kind == Roof::Kind::kPeak) continue;
    if (peak > 0) frame.x_high = std::max(frame.x_high, peak / roof.rate);
    frame.y_low = std::min(frame.y_low, roof.rate * frame.x_low);
  }
  frame.x_high *= 4;
  frame.y_low /= 1.5;
  frame.y_high =
      1.5 * std::max({frame.y_high, peak, peak > 0 ? 0 : fastest_bandwidth(roofline) * frame.x_high});
  return frame;
}

std::pair<std::pair<double, double>, std::pair<double, double>> ends_of(const Roof& roof,
                                                                        const Roofline& roofline,
                                                                        const RooflineFrame& frame) {
  if (roof.kind == Roof::Kind::kPeak) {
    const double fastest = fastest_bandwidth(roofline);
    const double from = fastest > 0 ? std::max(frame.x_low, roof.rate / fastest) : frame.x_low;
    return {{from, roof.rate}, {frame.x_high, roof.rate}};
  }
  const double peak = highest_peak(roofline);
  const double to = peak > 0 ? std::min(frame.x_high, peak / roof.rate) : frame.x_high;
  return {{frame.x_low, roof.rate * frame.x_low}, {to, roof.rate * to}};
}

View roofline_view(const Roofline& roofline, std::size_t width) {
  View view;
  answer_cases(view, roofline.cases);
  view.drawing(plot(roofline, width)).table(cases_table(roofline.cases));
  if (roofline.roofs.empty()) {
    view.notes("no roofs: the run sampled no limits (run it without --no-limits)\n", Tone::kPlain);
  } else {
    view.table(roofs_table(roofline.roofs));
  }
  view.notes(work_text(roofline) + "\n");
  for (const std::string& finding : roofline.findings) view.notes(finding + "\n", Tone::kBad);
  if (!roofline.left_out.empty()) {
    view.title("not in the plot:");
    for (const auto& [name, reason] : roofline.left_out) view.notes("  " + name + ": " + reason + "\n");
  }
  return view;
}

Json roofline_json(const Roofline& roofline) {
  Json cases = Json::array(), roofs = Json::array(), left_out = Json::array();
  for (const RooflineCase& one : roofline.cases) cases.push_back(case_json(one));
  for (const Roof& roof : roofline.roofs) roofs.push_back(roof_json(roof));
  for (const auto& [name, reason] : roofline.left_out)
    left_out.push_back({{"name", name}, {"reason", reason}});
  return {{"headroom_roofline", {{"schema", 1}}},
          {"work", source_of_bytes(roofline)},
          {"findings", roofline.findings},
          {"cases", std::move(cases)},
          {"roofs", std::move(roofs)},
          {"left_out", std::move(left_out)}};
}

}  // namespace headroom

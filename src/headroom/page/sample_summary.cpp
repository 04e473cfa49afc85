// SPDX-License-Identifier: Apache-2.0
#include "headroom/page/sample_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "headroom/record/throttle.h"
#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

/// More digits than a picture or a clock has are half of the size of a page.
Json seven_digits(double value) {
  return std::strtod(fmt::format("{:.7g}", value).c_str(), nullptr);
}

/// Neighbours that one mark stands for: from..to of the samples of a process.
struct Stretch {
  std::size_t from = 0, to = 0;
};

/// Cut so that none holds both warm-up and what comes after.
std::vector<Stretch> stretches_of(const ProcessSamples& process, std::size_t each) {
  std::vector<Stretch> all;
  const std::size_t count = process.values.size(), warmup = std::min(process.warmup, count);
  for (std::size_t from = 0; from < count;) {
    const std::size_t end = from < warmup ? warmup : count;
    all.push_back({from, std::min(from + each, end)});
    from = all.back().to;
  }
  return all;
}

/// What held the program up during most of them; nullptr where nothing did.
const char* disturbance_in(const ProcessSamples& process, const Stretch& stretch) {
  std::size_t stolen = 0, preempted = 0, throttled = 0;
  for (std::size_t i = stretch.from; i < stretch.to; ++i) {
    if (i < process.noise.size()) {
      stolen += process.noise.value(i, &SampleNoise::steal_ms) > 0 ? 1 : 0;
      preempted += process.noise.value(i, &SampleNoise::involuntary_switches) > 0 ? 1 : 0;
    }
    if (i < process.device.size()) throttled += is_throttled(process.device[i].throttle) ? 1 : 0;
  }
  const std::size_t most = (stretch.to - stretch.from) / 2 + 1;
  if (throttled >= most) return "throttled";
  if (stolen >= most) return "stolen";
  return preempted >= most ? "preempted" : nullptr;
}

/// The finite ones of a stretch.
void take_finite(const ProcessSamples& process, const Stretch& stretch, std::vector<double>& values) {
  values.clear();
  for (std::size_t i = stretch.from; i < stretch.to; ++i) {
    if (std::isfinite(process.values[i])) values.push_back(process.values[i]);
  }
}

/// What the marks of a process are, column by column.
class Marks {
 public:
  Marks(const ProcessSamples& process, std::size_t each) : process_(process), each_(each) {
    columns_.fill(Json::array());
    for (const Stretch& stretch : stretches_of(process, each)) add(stretch);
  }

  Json json() && {
    Json json{{"pid", process_.pid}, {"warmup", warmup_}, {"round", first_round_}};
    if (each_ > 1) json["warmup_samples"] = std::min(process_.warmup, process_.values.size());
    if (!counts_up_) json["rounds"] = std::move(rounds_);
    for (std::size_t q = 0; q < kQuantiles.size(); ++q) {
      if (!columns_[q].empty()) json[kQuantiles[q].first] = std::move(columns_[q]);
    }
    if (!disturbed_.empty()) json["disturbed"] = std::move(disturbed_);
    return json;
  }

 private:
  static constexpr std::array<std::pair<const char*, double>, 5> kQuantiles{
      {{"low", 0}, {"quarter", .25}, {"values", .5}, {"upper", .75}, {"high", 1}}};

  void add(const Stretch& stretch) {
    take_finite(process_, stretch, finite_);
    for (std::size_t q = 0; q < kQuantiles.size(); ++q) {
      const double p = kQuantiles[q].second;
      if (each_ == 1 && p != .5) continue;
      columns_[q].push_back(finite_.empty() ? Json(nullptr) : seven_digits(quantile_in_place(finite_, p)));
    }
    const std::size_t round =
        stretch.from < process_.rounds.size() ? process_.rounds[stretch.from] : stretch.from;
    if (count_ == 0) first_round_ = round;
    counts_up_ = counts_up_ && round == first_round_ + stretch.from;
    rounds_.push_back(round);
    if (const char* what = disturbance_in(process_, stretch))
      disturbed_.push_back(Json::array({Json(count_), Json(what)}));
    warmup_ += stretch.from < process_.warmup ? 1 : 0;
    ++count_;
  }

  const ProcessSamples& process_;
  std::size_t each_, count_ = 0, warmup_ = 0, first_round_ = 0;
  bool counts_up_ = true;
  std::array<Json, kQuantiles.size()> columns_;
  Json rounds_ = Json::array(), disturbed_ = Json::array();
  std::vector<double> finite_;
};

/// How many of the values after warm-up lie where. Its ends leave out one in 200 on either side, which would
/// make all others one bar.
Json histogram_of(const Record& record) {
  constexpr std::size_t kLeast = 8, kMostBars = 50;
  constexpr double kTail = .005;
  std::vector<double> values;
  std::size_t all = 0;
  for (const ProcessSamples& process : record.samples) {
    for (const double value : steady(process)) {
      ++all;
      if (std::isfinite(value)) values.push_back(value);
    }
  }
  if (values.size() < kLeast) return nullptr;
  const double from = quantile_in_place(values, kTail), to = quantile_in_place(values, 1 - kTail);
  const double box = quantile_in_place(values, .75) - quantile_in_place(values, .25);
  if (!(to > from)) return nullptr;
  // Freedman and Diaconis 1981.
  const double width = 2 * box / std::cbrt(static_cast<double>(values.size()));
  const double bars = width > 0 ? std::ceil((to - from) / width) : 1;
  const auto count = static_cast<std::size_t>(std::clamp(bars, 8.0, static_cast<double>(kMostBars)));
  std::vector<std::size_t> counts(count);
  std::size_t below = 0, above = all - values.size();
  for (const double value : values) {
    if (value < from) {
      ++below;
    } else if (value > to) {
      ++above;
    } else {
      ++counts[std::min(count - 1,
                        static_cast<std::size_t>((value - from) / (to - from) * static_cast<double>(count)))];
    }
  }
  return {{"from", seven_digits(from)},
          {"to", seven_digits(to)},
          {"below", below},
          {"above", above},
          {"counts", counts}};
}

}  // namespace

Json sample_summary(const Record& record, std::size_t most) {
  std::size_t count = 0, warmup = 0;
  for (const ProcessSamples& process : record.samples) {
    count += process.values.size();
    warmup += std::min(process.warmup, process.values.size());
  }
  if (count == 0) return nullptr;
  // More marks than these touch each other on most screens.
  constexpr std::size_t kNumbersOfMark = 6, kMostMarks = 240;
  const std::size_t marks = std::clamp<std::size_t>(most / kNumbersOfMark, 1, kMostMarks);
  const std::size_t each = count <= most ? 1 : (count + marks - 1) / marks;
  Json processes = Json::array();
  for (const ProcessSamples& process : record.samples) {
    if (!process.values.empty()) processes.push_back(Marks(process, each).json());
  }
  Json summary{{"n", count}, {"warmup", warmup}, {"each", each}, {"processes", std::move(processes)}};
  Json histogram = histogram_of(record);
  if (!histogram.is_null()) summary["histogram"] = std::move(histogram);
  return summary;
}

std::size_t numbers_that_fit(std::size_t records) {
  constexpr std::size_t kOfPage = 60'000, kLeast = 12, kMost = 3'000;
  return std::clamp(kOfPage / std::max<std::size_t>(1, records), kLeast, kMost);
}

}  // namespace headroom

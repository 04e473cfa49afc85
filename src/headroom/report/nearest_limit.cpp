// SPDX-License-Identifier: Apache-2.0
#include "headroom/report/nearest_limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/record/target_verdict.h"
#include "headroom/report/case_rows.h"
#include "headroom/report/metric_text.h"

namespace headroom {
namespace {

using Rows = std::vector<const Record*>;  // of the metric "latency"

bool is_same_case(const Record& a, const Record& b) {
  return case_text(a) == case_text(b) && a.benchmark.dtype == b.benchmark.dtype && a.device == b.device &&
         a.caches == b.caches && a.threads == b.threads;
}

/// The measured rows of each case; those of a case stand together.
std::vector<Rows> compared_rows(const std::vector<Record>& records) {
  std::vector<Rows> cases;
  for (const CaseRow& row : case_rows(records)) {
    if (row.latency == nullptr || row.latency->outcome.kind != Outcome::Kind::kMeasured) continue;
    if (is_miscounted(*row.latency)) continue;
    if (cases.empty() || !is_same_case(*cases.back().front(), *row.latency)) cases.emplace_back();
    cases.back().push_back(row.latency);
  }
  std::erase_if(cases, [](const Rows& rows) { return rows.size() < 2; });
  return cases;
}

std::string who(const Record& record) {
  return record.runner.empty() || record.runner == record.model.backend
             ? record.model.backend
             : record.model.backend + " [" + record.runner + "]";
}

std::string share(const Record& record) {
  return record.limit ? " (" + share_with_interval(record.limit->fraction, record.limit->interval) + ")" : "";
}

/// Of the times of `record` to those of `other`, by the samples of the same rounds; nothing where `record`
/// was compared with another.
std::optional<RatioToOther> ratio_to(const Record& record, const Record& other) {
  const bool is_to_other = record.ratio && record.ratio->other == other.model.backend + "@" + other.runner;
  return is_to_other ? record.ratio : std::nullopt;
}

/// One of the two may be what the other was compared with.
std::optional<RatioToOther> ratio_between(const Record& next, const Record& nearest) {
  if (const auto ratio = ratio_to(next, nearest)) return ratio;
  std::optional<RatioToOther> turned = ratio_to(nearest, next);
  if (!turned || !(turned->ratio > 0)) return std::nullopt;
  turned->ratio = 1 / turned->ratio;
  if (turned->interval) {
    turned->interval->low = 1 / std::exchange(turned->interval->high, 1 / turned->interval->low);
  }
  return turned;
}

/// How much longer `next` takes than `nearest`.
std::string behind(const Record& next, const Record& nearest) {
  const std::optional<RatioToOther> found = ratio_between(next, nearest);
  if (!found)
    return fmt::format("{:.3f} x the time, by the medians", next.metric.value / nearest.metric.value);
  if (!found->interval) return fmt::format("{:.3f} x the time, too few pairs for an interval", found->ratio);
  const char* undecided = found->interval->contains(1) ? ": not told apart" : "";
  return fmt::format("{:.3f} x the time ({:.3f} to {:.3f}){}", found->ratio, found->interval->low,
                     found->interval->high, undecided);
}

}  // namespace

std::string nearest_limit_text(const std::vector<Record>& records) {
  std::string text;
  for (Rows& rows : compared_rows(records)) {
    std::ranges::stable_sort(rows, {}, [](const Record* record) { return record->metric.value; });
    const Record& nearest = *rows[0];
    const std::string dtype = nearest.benchmark.dtype.empty() ? "" : " " + nearest.benchmark.dtype;
    const char* what = nearest.limit ? "nearest the limit" : "fastest";
    text += fmt::format("{}: {}{}: {}{}, then {}: {}\n", what, case_text(nearest), dtype, who(nearest),
                        share(nearest), who(*rows[1]), behind(*rows[1], nearest));
  }
  return text;
}

}  // namespace headroom

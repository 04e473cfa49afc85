// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/analysis.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"

namespace headroom::trace {

std::string AnalysisOptions::text(const std::string& name, const std::string& fallback) const {
  const auto found = values_.find(name);
  return found == values_.end() ? fallback : found->second;
}

double AnalysisOptions::number(const std::string& name, double fallback) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return fallback;
  const std::string& text = found->second;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    throw Error(fmt::format("--{} {}: give a number", name, in_quotes(text)));
  return value;
}

double AnalysisOptions::time_ns(const std::string& name, double fallback_ns) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return fallback_ns;
  return with_context("--" + name, [&] { return parse_time_ns(found->second); });
}

Needs needs_of(const Analysis& analysis, const AnalysisOptions& options) {
  return analysis.needs_with == nullptr ? analysis.needs : analysis.needs | analysis.needs_with(options);
}

std::int64_t AnalysisOptions::whole_time_ns(const std::string& name, std::int64_t fallback_ns) const {
  if (!values_.contains(name)) return fallback_ns;
  constexpr double kMost = 9.2e18;
  return std::llround(std::clamp(time_ns(name, 0), -kMost, kMost));
}

std::size_t keep_top(DataTable& table, std::size_t top) {
  if (top == 0 || table.rows.size() <= top) return 0;
  const std::size_t left_out = table.rows.size() - top;
  table.rows.resize(top);
  return left_out;
}

}  // namespace headroom::trace

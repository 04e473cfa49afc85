// SPDX-License-Identifier: Apache-2.0
#include "headroom/experiment/experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

constexpr std::size_t kMaxRangeValues = 10'000;

struct Range {
  std::int64_t first = 0, last = 0, step = 1;
  bool multiplies = false;
};

/// "16-1024*2", "1-10+3", "1-10"; nullopt for other text.
std::optional<Range> parse_range(std::string_view text) {
  const std::size_t dash = text.find('-', 1);
  if (dash == std::string_view::npos) return std::nullopt;
  const std::size_t step_at = text.find_first_of("*+", dash);
  const auto first = to_integer(text.substr(0, dash));
  const auto last =
      to_integer(text.substr(dash + 1, step_at == std::string_view::npos ? step_at : step_at - dash - 1));
  if (!first || !last) return std::nullopt;
  Range range{*first, *last, 1, false};
  if (step_at != std::string_view::npos) {
    const auto step = to_integer(text.substr(step_at + 1));
    if (!step) return std::nullopt;
    range.step = *step;
    range.multiplies = text[step_at] == '*';
  }
  return range;
}

void append_range(const Range& range, std::string_view text, std::vector<std::string>& values) {
  const bool grows = range.multiplies ? range.step >= 2 && range.first >= 1 : range.step >= 1;
  if (!grows || range.last < range.first) {
    throw Error("the range " + quote(text) +
                " never ends or is empty; write first-last*factor with factor >= 2, or first-last+step");
  }
  std::size_t count = 0;
  for (std::int64_t value = range.first; value <= range.last;) {
    values.push_back(std::to_string(value));
    if (++count > kMaxRangeValues) throw Error("the range " + quote(text) + " has over 10,000 values");
    const bool overflows = range.multiplies ? __builtin_mul_overflow(value, range.step, &value)
                                            : __builtin_add_overflow(value, range.step, &value);
    if (overflows) break;
  }
}

}  // namespace

AxisRequest parse_axis_request(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    throw Error("axis request " + quote(text) + " is not of the form name=value[,value...]");
  }
  AxisRequest request{std::string(text.substr(0, equals)), {}};
  for (const std::string& part : split(text.substr(equals + 1), ',')) {
    if (part.empty()) throw Error("axis request " + quote(text) + " has an empty value");
    if (const auto range = parse_range(part)) {
      append_range(*range, part, request.values);
    } else {
      request.values.push_back(part);
    }
  }
  return request;
}

bool accepts(const Axis& axis, std::string_view value) {
  switch (axis.kind) {
    case Axis::Kind::kInteger:
      return to_integer(value).value_or(0) >= 1;
    case Axis::Kind::kText:
      return std::ranges::find(axis.values, value) != axis.values.end();
    case Axis::Kind::kFree:
      return !value.empty();
    case Axis::Kind::kWhole:
      return to_integer(value).has_value();
    case Axis::Kind::kReal:
      return std::isfinite(to_number(value).value_or(INFINITY));
  }
  return false;
}

std::string valid_values(const Axis& axis) {
  switch (axis.kind) {
    case Axis::Kind::kInteger:
      return "a positive integer";
    case Axis::Kind::kText:
      return "one of " + join(axis.values, ", ");
    case Axis::Kind::kFree:
      return "a text such as " + join(axis.values, ", ");
    case Axis::Kind::kWhole:
      return "an integer";
    case Axis::Kind::kReal:
      return "a number";
  }
  return {};
}

std::string axis_text(const Axis& axis, const std::string& text) {
  if (axis.kind == Axis::Kind::kText || axis.kind == Axis::Kind::kFree) return text;
  if (const auto whole = to_integer(text)) return std::to_string(*whole);
  if (axis.kind != Axis::Kind::kReal) return text;
  const auto real = to_number(text);
  return real ? fmt::format("{}", *real) : text;
}

AxisType axis_type(const Axis& axis, const std::string& text) {
  const auto found = std::ranges::find(axis.values, text);
  const auto place = static_cast<std::size_t>(found - axis.values.begin());
  if (found != axis.values.end()) return place < axis.types.size() ? axis.types[place] : AxisType::kAsWritten;
  return axis.kind == Axis::Kind::kReal ? AxisType::kReal : AxisType::kAsWritten;
}

std::vector<std::string> select_values(const Axis& axis, std::span<const AxisRequest> requests) {
  bool named = false;
  std::vector<std::string> selected;
  for (const AxisRequest& request : requests) {
    if (request.name != axis.name) continue;
    named = true;
    for (const std::string& value : request.values) {
      if (!accepts(axis, value)) continue;
      const std::string plain = axis_text(axis, value);
      if (std::ranges::find(selected, plain) == selected.end()) selected.push_back(plain);
    }
  }
  return named ? selected : axis.values;
}

Experiment& Experiment::summary(std::string text) {
  summary_ = std::move(text);
  return *this;
}

Experiment& Experiment::axis(std::string name, std::initializer_list<long long> values) {
  Axis made{std::move(name), Axis::Kind::kInteger, {}};
  for (const long long value : values) made.values.push_back(std::to_string(value));
  return axis(std::move(made));
}

Experiment& Experiment::axis(std::string name, std::initializer_list<const char*> values) {
  return axis(Axis{std::move(name), Axis::Kind::kText, {values.begin(), values.end()}});
}

Experiment& Experiment::axis(Axis axis) {
  axes_.push_back(std::move(axis));
  return *this;
}

Experiment& Experiment::backends(std::initializer_list<const char*> names) {
  backends_.assign(names.begin(), names.end());
  return *this;
}

Experiment& Experiment::backends(std::span<const std::string> names) {
  backends_.assign(names.begin(), names.end());
  return *this;
}

Experiment& Experiment::variants(const std::string& backend, std::vector<std::string> names) {
  variants_[backend] = std::move(names);
  return *this;
}

Experiment& Experiment::metric(std::string name) {
  metric_ = std::move(name);
  return *this;
}

Experiment& Experiment::also_metrics(std::vector<std::string> names) {
  also_metrics_ = std::move(names);
  return *this;
}

Experiment& Experiment::model(std::string name) {
  model_ = std::move(name);
  return *this;
}

Experiment& Experiment::on_request() {
  is_on_request_ = true;
  return *this;
}

Experiment& Experiment::device(std::string name) {
  device_ = std::move(name);
  return *this;
}

Experiment& Experiment::places_itself() {
  is_placing_itself_ = true;
  return *this;
}

Experiment& Experiment::threads(std::vector<int> counts) {
  threads_ = std::move(counts);
  return *this;
}

Experiment& Experiment::each_rank_counts() {
  is_each_rank_counting_ = true;
  return *this;
}

Experiment& Experiment::limit() {
  is_limit_ = true;
  return *this;
}

}  // namespace headroom

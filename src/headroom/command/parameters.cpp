// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <set>

#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

constexpr std::size_t kMaxPoints = 10'000;
constexpr int kMaxDecimals = 9;

/// units / 10^decimals.
struct Decimal {
  std::int64_t units = 0;
  int decimals = 0;
};

std::int64_t power_of_ten(int exponent) {
  std::int64_t value = 1;
  for (; exponent > 0; --exponent) value *= 10;
  return value;
}

Decimal parse_decimal(std::string_view text) {
  const std::size_t dot = std::min(text.find('.'), text.size());
  const std::string_view fraction = dot < text.size() ? text.substr(dot + 1) : std::string_view();
  const auto units = to_integer(std::string(text.substr(0, dot)) + std::string(fraction));
  constexpr std::int64_t kLargest = 1'000'000'000'000'000;
  if (!units || fraction.size() > kMaxDecimals || std::abs(*units) > kLargest || fraction.starts_with('-') ||
      fraction.starts_with('+')) {
    throw Error(fmt::format("{} is not a decimal number such as 4, -2 or 0.25 (up to {} decimals)",
                            in_quotes(text), kMaxDecimals));
  }
  return {*units, static_cast<int>(fraction.size())};
}

std::int64_t in_decimals(const Decimal& number, int decimals) {
  const std::int64_t factor = power_of_ten(decimals - number.decimals);
  std::int64_t units = 0;
  if (__builtin_mul_overflow(number.units, factor, &units)) throw Error("its numbers have too many digits");
  return units;
}

std::string text_of(std::int64_t units, int decimals) {
  if (decimals == 0) return std::to_string(units);
  const std::int64_t scale = power_of_ten(decimals), size = std::abs(units);
  return fmt::format("{}{}.{:0{}}", units < 0 ? "-" : "", size / scale, size % scale, decimals);
}

std::string checked_name(std::string_view name) {
  if (name.empty() || name.find_first_of("{} \t\n") != std::string_view::npos) {
    throw Error(fmt::format("{} cannot be the name of a parameter: it stands in commands as {{name}}",
                            in_quotes(name)));
  }
  return std::string(name);
}

}  // namespace

CommandParameter listed_parameter(std::string_view name, std::string_view values) {
  CommandParameter parameter{checked_name(name), {""}};
  for (std::size_t at = 0; at < values.size(); ++at) {
    const bool escaped = values.substr(at).starts_with("\\,");
    if (values[at] == ',') {
      parameter.values.emplace_back();
    } else {
      parameter.values.back() += escaped ? ',' : values[at];
    }
    if (escaped) ++at;
  }
  const std::set<std::string> distinct(parameter.values.begin(), parameter.values.end());
  if (distinct.size() < parameter.values.size()) {
    throw Error(fmt::format("parameter {}: a value is given twice in {}", name, in_quotes(values)));
  }
  if (values.empty()) throw Error(fmt::format("parameter {} has no values; give some, as in a,b", name));
  return parameter;
}

CommandParameter stepped_parameter(std::string_view name, std::string_view first, std::string_view last,
                                   std::string_view step) {
  CommandParameter parameter{checked_name(name), {}};
  return with_context(fmt::format("parameter {}", name), [&] {
    const Decimal from = parse_decimal(first), to = parse_decimal(last), by = parse_decimal(step);
    const int decimals = std::max({from.decimals, to.decimals, by.decimals});
    const std::int64_t begin = in_decimals(from, decimals), end = in_decimals(to, decimals),
                       stride = in_decimals(by, decimals);
    if (stride == 0 || (end - begin) / stride < 0) {
      throw Error(fmt::format("steps of {} do not lead from {} to {}", step, first, last));
    }
    if (static_cast<std::uint64_t>((end - begin) / stride) >= kMaxPoints) {
      throw Error(fmt::format("more than {} values from {} to {}", kMaxPoints, first, last));
    }
    for (std::int64_t value = begin; stride > 0 ? value <= end : value >= end; value += stride) {
      parameter.values.push_back(text_of(value, decimals));
    }
    return parameter;
  });
}

std::vector<AxisTexts> parameter_points(std::span<const CommandParameter> parameters) {
  std::vector<AxisTexts> points(1);
  std::set<std::string> names;
  for (const CommandParameter& parameter : parameters) {
    if (!names.insert(parameter.name).second) {
      throw Error("parameter " + in_quotes(parameter.name) + " is given twice; name its values once");
    }
    if (points.size() * parameter.values.size() > kMaxPoints) {
      throw Error(fmt::format("more than {} combinations of parameters", kMaxPoints));
    }
    std::vector<AxisTexts> extended;
    for (const AxisTexts& point : points) {
      for (const std::string& value : parameter.values) {
        extended.push_back(point);
        extended.back().emplace_back(parameter.name, value);
      }
    }
    points = std::move(extended);
  }
  return points;
}

}  // namespace headroom

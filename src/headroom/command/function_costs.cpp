// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/function_costs.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "headroom/base/text.h"

namespace headroom {
namespace {

constexpr double kSamplingErrors = 3;

std::string one_line(std::string_view name) {
  const std::string quoted = quote(name);
  return quoted.substr(1, quoted.size() - 2);
}

/// Addresses differ between builds: code without a name is that of its file.
std::string function_name(std::string_view name, std::string_view file) {
  if (!name.starts_with("0x")) return one_line(name);
  const std::string short_name = std::filesystem::path(file).filename().string();
  return one_line("unnamed code" + (short_name.empty() || file == "???" ? "" : " of " + short_name));
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!(line = trimmed(line)).empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return words;
}

/// A place such as "12", "+3", "-3", "*" or "0x1f0".
bool is_place(std::string_view word) {
  if (word == "*") return true;
  if (word.starts_with('+') || word.starts_with('-')) word.remove_prefix(1);
  if (word.starts_with("0x")) word.remove_prefix(2);
  return !word.empty() && word.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

class CallgrindReader {
 public:
  void read(std::string_view line) {
    const std::size_t equal = line.find('=');
    const std::string_view key = line.substr(0, equal);
    if (line.starts_with("positions:")) {
      places_ = words_of(line.substr(10)).size();
    } else if (line.starts_with("events:")) {
      const std::vector<std::string_view> events = words_of(line.substr(7));
      column_ = static_cast<std::size_t>(std::ranges::find(events, "Ir") - events.begin());
    } else if (line.starts_with("summary:") || line.starts_with("totals:")) {
      const std::vector<std::string_view> totals = words_of(line.substr(line.find(':') + 1));
      if (column_ < totals.size()) total_ = to_number(totals[column_]);
    } else if (key == "ob") {
      file_ = named(files_, line.substr(equal + 1));
    } else if (key == "cob") {
      named(files_, line.substr(equal + 1));
    } else if (key == "fn") {
      function_ = function_name(named(functions_, line.substr(equal + 1)), file_);
    } else if (key == "cfn") {
      named(functions_, line.substr(equal + 1));
    } else if (key == "calls") {
      is_call_ = true;
    } else if (const auto cost = cost_of(line)) {
      // The costs of a call are those of the functions called.
      if (!is_call_) costs_.by_function[function_] += *cost;
      is_call_ = false;
    }
  }

  std::optional<FunctionCosts> result() {
    if (!total_) return std::nullopt;
    costs_.total = *total_;
    double sum = 0;
    for (const auto& [function, cost] : costs_.by_function) sum += cost;
    if (sum != *total_) costs_.by_function.clear();
    return std::move(costs_);
  }

 private:
  using Names = std::map<std::string, std::string, std::less<>>;

  /// "(7) name" defines a name, "(7)" refers to it.
  static std::string named(Names& names, std::string_view text) {
    const std::size_t end = text.find(')');
    if (!text.starts_with('(') || end == std::string_view::npos || end < 2 || !is_digit(text[1]))
      return std::string(text);
    std::string& name = names[std::string(text.substr(0, end + 1))];
    if (const std::string_view rest = trimmed(text.substr(end + 1)); !rest.empty()) name = rest;
    return name;
  }

  std::optional<double> cost_of(std::string_view line) const {
    const std::vector<std::string_view> words = words_of(line);
    if (words.size() <= places_ || !std::ranges::all_of(words, is_place)) return std::nullopt;
    // Trailing zeros may be left out.
    return places_ + column_ < words.size() ? to_number(words[places_ + column_]) : 0;
  }

  std::size_t places_ = 1, column_ = 0;
  Names files_, functions_;
  std::string file_, function_;
  bool is_call_ = false;
  std::optional<double> total_;
  FunctionCosts costs_;
};

}  // namespace

void FunctionCosts::add(const FunctionCosts& other) {
  // Functions of a part would not sum up to the total.
  const bool are_whole =
      (total == 0 || !by_function.empty()) && (other.total == 0 || !other.by_function.empty());
  total += other.total;
  samples += other.samples;
  for (const auto& [function, cost] : other.by_function) by_function[function] += cost;
  if (!are_whole) by_function.clear();
}

std::optional<FunctionCosts> parse_callgrind(std::string_view text) {
  CallgrindReader reader;
  for (const std::string& line : split(text, '\n')) reader.read(line);
  return reader.result();
}

FunctionCosts parse_perf_report(std::string_view text, char separator) {
  FunctionCosts costs;
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> fields = split(line, separator);
    if (fields.size() != 3) continue;
    const auto period = to_number(trimmed(fields[0])), samples = to_number(trimmed(fields[1]));
    const std::string_view symbol = trimmed(fields[2]);  // "[.] main", "[k] do_syscall_64"
    if (!period || !samples || symbol.size() < 5 || symbol[0] != '[' || symbol[2] != ']') continue;
    costs.total += *period;
    costs.samples += static_cast<std::size_t>(*samples);
    costs.by_function[function_name(symbol.substr(4), "")] += *period;
  }
  return costs;
}

std::vector<FunctionDifference> largest_differences(const FunctionCosts& baseline, const FunctionCosts& test,
                                                    double least, std::size_t count) {
  std::vector<FunctionDifference> differences;
  if (baseline.by_function.empty() || test.by_function.empty() || baseline.total <= 0) return differences;
  std::map<std::string, std::pair<double, double>> costs;
  for (const auto& [function, cost] : baseline.by_function) costs[function].first = cost;
  for (const auto& [function, cost] : test.by_function) costs[function].second = cost;
  const auto period = [](const FunctionCosts& side) {
    return side.samples == 0 ? 0 : side.total / static_cast<double>(side.samples);
  };
  for (const auto& [function, sides] : costs) {
    const double difference = sides.second - sides.first;
    const double error = std::sqrt(sides.first * period(baseline) + sides.second * period(test));
    if (std::abs(difference) < least * baseline.total || std::abs(difference) <= kSamplingErrors * error)
      continue;
    differences.push_back({function, difference / baseline.total});
  }
  const auto size = [](const FunctionDifference& one) { return std::abs(one.share); };
  std::ranges::stable_sort(differences, std::greater(), size);
  if (differences.size() > count) differences.resize(count);
  return differences;
}

}  // namespace headroom

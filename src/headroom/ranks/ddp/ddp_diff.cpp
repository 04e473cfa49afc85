// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/ddp/ddp.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <future>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/files/json_stream.h"
#include "headroom/record/formats/ddp_report_walk.h"

namespace headroom {
namespace {

struct DdpReport {
  static constexpr std::array kPercentiles{75, 95};

  struct Round {
    std::optional<std::size_t> ranks;
    std::size_t measurements = 0;
    std::array<double, kPercentiles.size()> percentiles{};  ///< seconds; valid if there are measurements
  };
  struct Model {
    std::optional<std::string> name;
    std::optional<double> batch_size;
    std::optional<std::vector<Round>> rounds;
  };

  std::string source;                         ///< file name, for messages
  std::map<std::string, std::string> fields;  ///< all but the results, as Python's str()
  std::vector<Model> models;
};

/// repr() of a float. fmt differs only in whole numbers.
std::string python_float(double value) {
  const std::string text = fmt::format("{}", value);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

/// `token`: a JSON number, as Python writes it (NaN, Infinity), or a literal. Integers keep all digits.
std::string python_scalar(const std::string& token) {
  if (token == "null") return "None";
  if (token == "true" || token == "false") return token == "true" ? "True" : "False";
  if (token == "-0") return "0";
  const bool whole = token.find_first_of(".eENI") == std::string::npos;
  return whole ? token : python_float(json_number_value(token));
}

/// repr() of a text. Refuses what Python escapes.
std::string python_quoted(const JsonReader& stream, std::string_view text) {
  if (!std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~' && c != '\\'; }))
    stream.refuse("text in a list or an object may hold printable ASCII only, without backslash");
  const bool single = !contains(text, "'");
  if (!single && contains(text, "\""))
    stream.refuse("text in a list or an object may hold one kind of quotes");
  return fmt::format("{0}{1}{0}", single ? '\'' : '"', text);
}

/// Appends repr() of the next value: {'a': [1, 2.5, "it's"]}.
void append_python_repr(JsonReader& stream, std::string& out) {
  switch (stream.peek()) {
    case '{': {
      std::set<std::string> keys;
      out += '{';
      stream.members([&](const std::string& key) {
        out += (keys.empty() ? "" : ", ") + python_quoted(stream, key) + ": ";
        if (!keys.insert(key).second) stream.refuse("the key " + quote(key) + " occurs twice");
        append_python_repr(stream, out);
      });
      out += '}';
      break;
    }
    case '[': {
      std::string_view separator;
      out += '[';
      stream.elements([&] {
        out += std::exchange(separator, ", ");
        append_python_repr(stream, out);
      });
      out += ']';
      break;
    }
    case '"':
      out += python_quoted(stream, stream.value().get<std::string>());
      break;
    default:
      out += python_scalar(stream.raw_value());
  }
}

/// str() of the next value.
std::string python_str(JsonReader& stream) {
  if (stream.peek() == '"') return stream.value().get<std::string>();
  std::string out;
  append_python_repr(stream, out);
  return out;
}

/// Pads to `width` code points, as Python counts.
std::string python_padded(std::string_view text, std::size_t width, bool on_left) {
  const std::size_t characters = character_count(text);
  const std::string padding(width > characters ? width - characters : 0, ' ');
  return on_left ? padding + std::string(text) : std::string(text) + padding;
}

/// numpy.percentile to the last bit: interpolates from the nearer end; NaN if any value is. Reorders.
double percentile(std::span<double> values, int percentile) {
  if (std::ranges::any_of(values, [](double value) { return std::isnan(value); }))
    return std::numeric_limits<double>::quiet_NaN();
  const double position = static_cast<double>(values.size() - 1) * (percentile / 100.0);
  const double rank = std::floor(position), share = position - rank;
  const auto below = values.begin() + static_cast<std::ptrdiff_t>(rank);
  std::ranges::nth_element(values, below);
  const auto next = std::min_element(below + 1, values.end());
  const double above = next == values.end() ? *below : *next, step = above - *below;
  return share >= 0.5 ? above - step * (1 - share) : *below + step * share;
}

class Reader : DdpReportWalk {
 public:
  Reader(JsonReader& stream, const std::string& source) : DdpReportWalk(stream, source) {
    report_.source = source;
  }

  DdpReport read() {
    walk();
    return std::move(report_);
  }

 private:
  void begin_results() override { report_.models.clear(); }
  void take_field(const std::string& key) override { report_.fields[key] = python_str(stream()); }
  void begin_model() override { report_.models.emplace_back(); }
  void take_model() override {
    require('"', "a string");
    report_.models.back().name = stream().value().get<std::string>();
  }
  void take_batch_size() override {
    const Json value = stream().value();
    if (!value.is_number()) throw Error(where() + ": expected a number, found " + dump_json(value));
    report_.models.back().batch_size = value.get<double>();
  }
  void begin_rounds() override { report_.models.back().rounds.emplace(); }

  /// Skips the first round (without DDP).
  bool begin_round(std::size_t index) override {
    report_.models.back().rounds->emplace_back();
    return index > 0;
  }

  void take_ranks() override {
    require('[', "a list");
    std::size_t count = 0;
    stream().elements([&] {
      stream().skip_value();
      ++count;
    });
    report_.models.back().rounds->back().ranks = count;
  }

  void take_measurements() override {
    seconds_.clear();
    stream().numbers(seconds_, [this](std::string_view) { stream().refuse("expected a number"); });
    DdpReport::Round& round = report_.models.back().rounds->back();
    round.measurements = seconds_.size();
    for (std::size_t p = 0; p < DdpReport::kPercentiles.size() && !seconds_.empty(); ++p)
      round.percentiles[p] = percentile(seconds_, DdpReport::kPercentiles[p]);
  }

  DdpReport report_;
  std::vector<double> seconds_;  ///< reused
};

struct Place {
  const DdpReport& report;
  std::size_t model = 0;

  template <typename T>
  const T& required(const std::optional<T>& member, const std::string& name) const {
    if (!member) {
      throw Error(fmt::format("{}: /benchmark_results/{}/{}: missing", report.source, model, name));
    }
    return *member;
  }
};

std::string value_of(const DdpReport& report, const std::string& key) {
  const auto found = report.fields.find(key);
  return found == report.fields.end() ? "-" : found->second;
}

std::string head(const DdpReport& a, const DdpReport& b) {
  const std::string rule(20, '-');
  std::string out = fmt::format("{:20} {:>20}      {:>20}\n", "", "baseline", "test");
  out += fmt::format("{:20} {:>20}      {:>20}\n", "", rule, rule);
  std::set<std::string> keys;
  for (const auto& [key, value] : a.fields) keys.insert(key);
  for (const auto& [key, value] : b.fields) keys.insert(key);
  for (const std::string& key : keys) {
    out += python_padded(key + ":", 20, false) + " " + python_padded(value_of(a, key), 20, true) + "  vs  " +
           python_padded(value_of(b, key), 20, true) + "\n";
  }
  return out + "\n";
}

std::string measurement(int percentile, double before, double after, double batch_size, const Place& test) {
  const double rate = std::trunc(batch_size / after);
  if (!std::isfinite(rate)) {
    throw Error(fmt::format("{}: /benchmark_results/{}: cannot compute a rate from a time of {}",
                            test.report.source, test.model, after == 0 ? "zero" : python_float(after)));
  }
  const double delta = -100 * ((after - before) / before);
  // Adding zero removes the sign of a zero. Without ">", fmt does not align infinity and NaN to the right.
  return fmt::format("  p{:02}: {:>8.3f}s {:7.0f}/s {:>+8.1f}%", percentile, after, rate + 0.0,
                     std::isnan(delta) ? std::fabs(delta) : delta);
}

void append_round(std::string& out, const Place& a, const Place& b, std::size_t index, double batch_size) {
  const DdpReport::Round& before = (*a.report.models[a.model].rounds)[index];
  const DdpReport::Round& after = (*b.report.models[b.model].rounds)[index];
  const std::string path = fmt::format("result/{}/", index);
  const std::size_t ranks = a.required(before.ranks, path + "ranks");
  if (ranks != b.required(after.ranks, path + "ranks")) return;
  for (const auto& [place, round] : {std::pair{&a, &before}, std::pair{&b, &after}}) {
    if (round->measurements == 0) {
      throw Error(fmt::format("{}: /benchmark_results/{}/{}measurements: missing or empty",
                              place->report.source, place->model, path));
    }
  }
  out += fmt::format("{:>4} GPUs:", ranks);
  for (std::size_t p = 0; p < DdpReport::kPercentiles.size(); ++p) {
    out +=
        measurement(DdpReport::kPercentiles[p], before.percentiles[p], after.percentiles[p], batch_size, b);
  }
  out += '\n';
}

void append_model(std::string& out, const Place& a, const Place& b) {
  const DdpReport::Model& before = a.report.models[a.model];
  const DdpReport::Model& after = b.report.models[b.model];
  const std::string& name = a.required(before.name, "model");
  if (name != b.required(after.name, "model")) return;
  const double size = a.required(before.batch_size, "batch_size");
  if (size != b.required(after.batch_size, "batch_size")) return;
  // Towards zero, without the sign of a zero, like Python's int().
  const double batch_size = std::trunc(size) + 0.0;
  out += fmt::format("Benchmark: {} with batch size {:.0f}\n\n{:10}", name, batch_size, "");
  for (std::size_t p = 0; p < DdpReport::kPercentiles.size(); ++p) {
    out += fmt::format("{:>16}{:>10}{:>10}", "sec/iter", "ex/sec", "diff");
  }
  out += '\n';
  const std::size_t rounds =
      std::min(a.required(before.rounds, "result").size(), b.required(after.rounds, "result").size());
  for (std::size_t i = 1; i < rounds; ++i) append_round(out, a, b, i, batch_size);
  out += '\n';
}

DdpReport read_ddp_report(const std::filesystem::path& path) {
  JsonStream stream(path);
  stream.accept_numbers({"NaN", "Infinity", "-Infinity"});
  return Reader(stream, path.string()).read();
}

}  // namespace

std::string ddp_diff(const std::filesystem::path& baseline, const std::filesystem::path& test) {
  constexpr std::uintmax_t kMinThreadWork = 1 << 20;
  std::error_code ignored;
  const std::uintmax_t bytes = std::filesystem::file_size(test, ignored);
  const bool large = !ignored && bytes > kMinThreadWork;
  auto other = std::async(large ? std::launch::async : std::launch::deferred, read_ddp_report, test);
  const DdpReport before = read_ddp_report(baseline), after = other.get();
  std::string out = head(before, after);
  const std::size_t models = std::min(before.models.size(), after.models.size());
  for (std::size_t i = 0; i < models; ++i) append_model(out, {before, i}, {after, i});
  return out;
}

}  // namespace headroom

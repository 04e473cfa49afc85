// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/cache_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/stats/quantile.h"
#include "headroom/tables/width.h"

namespace headroom {
namespace {

constexpr double kConfidence = 0.95;
constexpr std::size_t kSignInterval = 6;
constexpr std::size_t kMinPairs = 3;
constexpr double kMuchLonger = 1.25, kSpreads = 6;

std::optional<Interval> interval_of_logs(std::span<const double> logs) {
  if (logs.size() >= kSignInterval) return series_median_interval(logs, {}, kConfidence);
  if (logs.size() < 2) return std::nullopt;
  const double t = student_t_quantile(1 - (1 - kConfidence) / 2, logs.size() - 1);
  const double half = t * standard_deviation(logs) / std::sqrt(static_cast<double>(logs.size()));
  return Interval{mean(logs) - half, mean(logs) + half, kConfidence};
}

CacheEstimate estimate_of_logs(std::span<const double> logs) {
  CacheEstimate estimate{std::exp(median(logs)), std::nullopt, logs.size()};
  if (const auto interval = interval_of_logs(logs)) {
    estimate.interval = Interval{std::exp(interval->low), std::exp(interval->high), kConfidence};
  }
  return estimate;
}

bool are_positive(std::span<const double> values) {
  return std::ranges::all_of(values, [](double value) { return value > 0; });
}

/// Returns ln(from / to), negated if higher is better.
std::optional<double> log_gain(double from, double to, Direction direction) {
  if (!(from > 0) || !(to > 0)) return std::nullopt;
  const double gain = std::log(from / to);
  return direction == Direction::kLowerIsBetter ? gain : -gain;
}

template <typename Gain>
std::optional<CacheEstimate> estimate_of_pairs(const ModelRun& model, Gain&& gain) {
  std::vector<double> logs;
  for (const CachePair& pair : model.pairs) {
    if (const std::optional<double> value = gain(pair)) logs.push_back(*value);
  }
  if (logs.empty()) return std::nullopt;
  return estimate_of_logs(logs);
}

constexpr const char* kSpeedUp = "speedup";

std::string option_or(const OptionValues& options, const char* name, const char* fallback) {
  const auto found = options.find(name);
  return found == options.end() ? fallback : found->second;
}

StopReason stop_of(const CacheRequest& request, const CacheRun& run, std::size_t pairs, bool capped) {
  if (pairs == request.repeat) return StopReason::kMaxSamples;
  if (capped) return StopReason::kMaxTime;
  return run.interrupted ? StopReason::kInterrupted : StopReason::kNone;
}

class RecordMaker {
 public:
  RecordMaker(const CacheRequest& request, const CacheRun& run,
              std::shared_ptr<const Environment> environment)
      : request_(request), run_(run), environment_(std::move(environment)) {}

  void add_model(const ModelRun& model, std::vector<Record>& records) const {
    const MetricSource& metric = request_.suite.metric;
    if (!model.failure.empty() || model.pairs.empty()) {
      Record record = phase_record(model, "Cold");
      if (!model.pairs.empty()) set_values(record, model, cold_values(model));
      record.outcome = {Outcome::Kind::kSkipped, "interrupted before its first pair"};
      if (!model.failure.empty()) record.outcome = {Outcome::Kind::kFailed, model.failure};
      if (!model.unreached.empty()) {
        record.outcome.reason = model.unreached;
        record.stop = StopReason::kMaxTime;
      }
      records.push_back(std::move(record));
      return;
    }
    add_phase(model, "Cold", cold_values(model), records);
    add_phase(model, "Warm", warm_values(model), records);
    if (request_.warm_twice) {
      std::vector<double> again;
      for (const CachePair& pair : model.pairs) again.push_back(pair.warm_again.value_or(pair.warm));
      add_phase(model, "Second warm", again, records);
    }
    for (std::size_t part = 0; part < run_.parts.size(); ++part) add_part(model, part, records);
    const auto gain = speed_up(model, metric.direction);
    if (!gain || gain->count != model.pairs.size()) return;
    std::vector<double> ratios;
    for (const CachePair& pair : model.pairs) {
      const bool lower = metric.direction == Direction::kLowerIsBetter;
      ratios.push_back(lower ? pair.cold / pair.warm : pair.warm / pair.cold);
    }
    Record record = record_of(model.model, kSpeedUp, "x", Direction::kHigherIsBetter);
    set_values(record, model, ratios);
    set_estimate(record, *gain);
    record.metric.headline = true;
    if (const auto saved = saved_share(*gain, metric.direction))
      record.metric.extra_info["saved_percent"] = fmt::format("{}", *saved * 100);
    records.push_back(std::move(record));
  }

  void add_suite(std::vector<Record>& records) const {
    const auto gain = suite_speed_up(run_, request_.suite.metric.direction);
    if (!gain || run_.models.size() < 2) return;
    Record record = record_of("geometric mean", kSpeedUp, "x", Direction::kHigherIsBetter);
    set_estimate(record, *gain);
    std::vector<std::string> models;
    for (const ModelRun& model : run_.models) {
      if (model.failure.empty()) models.push_back(model.model);
    }
    record.metric.extra_info["models"] = join(models, " ");
    record.stop = stop_of(request_, run_, gain->count, std::ranges::any_of(run_.models, &ModelRun::capped));
    records.push_back(std::move(record));
  }

 private:
  Record record_of(const std::string& model, const std::string& metric, const std::string& unit,
                   Direction direction) const {
    Record record;
    const Suite& suite = request_.suite;
    record.benchmark.name = suite.benchmark;
    record.benchmark.mode = option_or(request_.options, "mode", "");
    record.model.name = model;
    record.model.type = "compile cache";
    record.instrument = Instrument::kCache;
    record.model.backend = suite.backend;
    record.model.origins = {suite.name};
    record.metric.name = metric;
    record.metric.unit = unit;
    record.metric.direction = direction;
    record.device = option_or(request_.options, "device", "cpu");
    record.axes.emplace_back("suite", suite.name);
    for (const SuiteOption& option : suite.options) {
      if (option.name != "device") record.axes.emplace_back(option.label, request_.options.at(option.name));
    }
    record.environment = environment_;
    return record;
  }

  Record phase_record(const ModelRun& model, const char* phase) const {
    const MetricSource& metric = request_.suite.metric;
    Record record = record_of(model.model, phase_metric(phase, metric), metric.unit, metric.direction);
    record.caches = phase == std::string_view("Cold") ? "cold" : "hot";
    return record;
  }

  void add_phase(const ModelRun& model, const char* phase, const std::vector<double>& values,
                 std::vector<Record>& records) const {
    Record record = phase_record(model, phase);
    set_values(record, model, values);
    set_estimate(record, estimate_of(values));
    const std::string unnamed = unnamed_cache(model, request_.suite.metric.direction);
    if (record.caches == "cold" && !unnamed.empty()) record.notes.push_back(unnamed);
    if (!model.left_running.empty()) record.notes.push_back(model.left_running);
    records.push_back(std::move(record));
  }

  void add_part(const ModelRun& model, std::size_t part, std::vector<Record>& records) const {
    const MetricSource& metric = request_.suite.metric;
    const PartSamples of_part = part_samples(model, part);
    if (of_part.without.empty()) return;
    Record without = phase_record(model, ("Without " + run_.parts[part]).c_str());
    set_samples(without, model, of_part.without, of_part.rounds);
    set_estimate(without, estimate_of(of_part.without));
    without.metric.extra_info["cache"] = run_.parts[part];
    without.metric.extra_info["held"] =
        fmt::format("files {}, bytes {}", of_part.held.files, of_part.held.bytes);
    without.metric.numbers["saves"] = part_saving(of_part, metric.direction);
    records.push_back(std::move(without));
    const auto worth = part_slowdown(model, part, metric.direction);
    if (!worth || worth->count != of_part.without.size()) return;
    Record ratio = record_of(model.model, std::string(kSpeedUp) + " by " + run_.parts[part], "x",
                             Direction::kHigherIsBetter);
    std::vector<double> ratios;
    for (std::size_t i = 0; i < of_part.without.size(); ++i) {
      const double times = of_part.without[i] / of_part.warm[i];
      ratios.push_back(metric.direction == Direction::kLowerIsBetter ? times : 1 / times);
    }
    set_samples(ratio, model, ratios, of_part.rounds);
    set_estimate(ratio, *worth);
    ratio.metric.extra_info["cache"] = run_.parts[part];
    records.push_back(std::move(ratio));
  }

  void set_values(Record& record, const ModelRun& model, const std::vector<double>& values) const {
    std::vector<std::uint32_t> rounds;
    for (const CachePair& pair : model.pairs) rounds.push_back(pair.round);
    set_samples(record, model, values, std::move(rounds));
  }

  void set_samples(Record& record, const ModelRun& model, const std::vector<double>& values,
                   std::vector<std::uint32_t> rounds) const {
    ProcessSamples samples;
    samples.iterations = 1;
    samples.values = values;
    samples.rounds = std::move(rounds);
    record.samples = {std::move(samples)};
    record.metric.value = median(values);
    record.stop = stop_of(request_, run_, model.pairs.size(), model.capped);
    add_layers(record, model);
  }

  static void set_estimate(Record& record, const CacheEstimate& estimate) {
    record.metric.value = estimate.value;
    record.interval = estimate.interval;
  }

  /// Adds each layer's content in the last pair (before cold, after cold, after warm): "files 0 12 12, bytes
  /// 0 40960 40960".
  void add_layers(Record& record, const ModelRun& model) const {
    if (const LeftOver& left = model.pairs.back().elsewhere; left.content.files > 0) {
      record.metric.extra_info["in no layer"] =
          fmt::format("files {}, bytes {}, in TMPDIR/{}", left.content.files, left.content.bytes, left.where);
    }
    for (std::size_t i = 0; i < request_.suite.layers.size(); ++i) {
      const LayerReading& last = model.pairs.back().layers[i];
      record.metric.extra_info["layer." + request_.suite.layers[i].name] =
          fmt::format("files {} {} {}, bytes {} {} {}", last.before.files, last.after_cold.files,
                      last.after_warm.files, last.before.bytes, last.after_cold.bytes, last.after_warm.bytes);
      const auto warm = std::ranges::find_if(
          model.pairs, [i](const CachePair& pair) { return !pair.layers[i].warmth.empty(); });
      if (warm == model.pairs.end()) continue;
      record.notes.push_back(fmt::format("the cache layer {} was not cold: {}", request_.suite.layers[i].name,
                                         warm->layers[i].warmth));
    }
  }

  const CacheRequest& request_;
  const CacheRun& run_;
  std::shared_ptr<const Environment> environment_;
};

Json extra_value(const std::string& value) {
  if (value == "true" || value == "false") return value == "true";
  return value;
}

std::string value_with_unit(double value, const std::string& unit) {
  if (unit == "s") return format_time_ns(value * 1e9);
  return unit.empty() ? format_number(value) : format_number(value) + " " + unit;
}

std::string half_width(const CacheEstimate& estimate) {
  if (!estimate.interval) return "";
  return format_percent(relative_half_width(*estimate.interval, estimate.value));
}

std::string shown_name(const std::string& name) {
  return shortened(name, 48);
}

std::string factor(double value) {
  return format_number(value) + "x";
}

std::string range(const std::optional<Interval>& interval) {
  return interval ? factor(interval->low) + " to " + factor(interval->high) : "";
}

/// Returns the range over all pairs: "12" or "12-14".
std::string range_over_pairs(const CacheRun& run, std::size_t layer, LayerContent LayerReading::*when,
                             const std::function<std::string(const LayerContent&)>& text,
                             const std::function<std::uint64_t(const LayerContent&)>& number) {
  const LayerContent *least = nullptr, *most = nullptr;
  for (const ModelRun& model : run.models) {
    for (const CachePair& pair : model.pairs) {
      const LayerContent& content = pair.layers[layer].*when;
      if (least == nullptr || number(content) < number(*least)) least = &content;
      if (most == nullptr || number(content) > number(*most)) most = &content;
    }
  }
  if (least == nullptr) return "";
  return number(*least) == number(*most) ? text(*least) : text(*least) + " - " + text(*most);
}

std::string files_over_pairs(const CacheRun& run, std::size_t layer, LayerContent LayerReading::*when) {
  return range_over_pairs(
      run, layer, when, [](const LayerContent& content) { return std::to_string(content.files); },
      [](const LayerContent& content) { return content.files; });
}

std::string bytes_over_pairs(const CacheRun& run, std::size_t layer, LayerContent LayerReading::*when) {
  return range_over_pairs(
      run, layer, when,
      [](const LayerContent& content) { return format_bytes(static_cast<double>(content.bytes)); },
      [](const LayerContent& content) { return content.bytes; });
}

std::size_t pair_count(const CacheRun& run) {
  std::size_t count = 0;
  for (const ModelRun& model : run.models) count += model.pairs.size();
  return count;
}

Table model_table(const CacheRequest& request, const CacheRun& run) {
  const MetricSource& metric = request.suite.metric;
  Columns columns = Columns()
                        .left({"model"})
                        .priority(Priority::kFirst)
                        .right({"cold"})
                        .priority(Priority::kLast)
                        .right({"± 95 %"})
                        .priority(Priority::kFirst)
                        .right({"warm"})
                        .priority(Priority::kLast)
                        .right({"± 95 %"})
                        .priority(Priority::kFirst)
                        .right({"speed-up", "95 % interval"})
                        .priority(Priority::kNormal)
                        .right({"saved"})
                        .shared("pairs", Align::kRight, "pairs");
  if (request.warm_twice) columns.right({"warm / warm again"});
  Table table(columns);
  for (const ModelRun& model : run.models) {
    if (model.pairs.empty() || !model.failure.empty()) continue;
    const CacheEstimate cold = estimate_of(cold_values(model)), warm = estimate_of(warm_values(model));
    const auto gain = speed_up(model, metric.direction);
    const auto saved = gain ? saved_share(*gain, metric.direction) : std::nullopt;
    std::vector<std::string> cells{shown_name(model.model),
                                   value_with_unit(cold.value, metric.unit),
                                   half_width(cold),
                                   value_with_unit(warm.value, metric.unit),
                                   half_width(warm),
                                   gain ? factor(gain->value) : "",
                                   gain ? range(gain->interval) : "",
                                   saved ? format_percent(*saved) : "",
                                   std::to_string(model.pairs.size())};
    if (const auto again = warm_run_ratio(model, metric.direction)) {
      cells.push_back(factor(again->value) + (again->interval ? " (" + range(again->interval) + ")" : ""));
    }
    table.row(std::move(cells));
  }
  const auto mean = suite_speed_up(run, metric.direction);
  if (mean && table.size() > 1) {
    table.rule();
    table.row({"geometric mean", "", "", "", "", factor(mean->value), range(mean->interval), "",
               std::to_string(mean->count)});
  }
  return table;
}

Table layer_table(const CacheRequest& request, const CacheRun& run) {
  Table table(
      Columns()
          .left({"cache layer"})
          .text("made cold by")
          .right({"files before", "after cold", "after warm", "bytes before", "after cold", "after warm"}));
  for (std::size_t i = 0; i < request.suite.layers.size(); ++i) {
    const LayerSpec& layer = request.suite.layers[i];
    std::vector<std::string> cells{layer.name, layer.method()};
    for (const auto when : {&LayerReading::before, &LayerReading::after_cold, &LayerReading::after_warm}) {
      cells.push_back(files_over_pairs(run, i, when));
    }
    for (const auto when : {&LayerReading::before, &LayerReading::after_cold, &LayerReading::after_warm}) {
      cells.push_back(bytes_over_pairs(run, i, when));
    }
    table.row(std::move(cells));
  }
  return table;
}

Table part_table(const CacheRequest& request, const CacheRun& run) {
  const MetricSource& metric = request.suite.metric;
  Table table(Columns()
                  .left({"model", "cold alone"})
                  .right({"held", metric.name, "over warm", "95 % interval", "saves"}));
  for (const ModelRun& model : run.models) {
    for (std::size_t part = 0; part < run.parts.size(); ++part) {
      const auto worth = part_slowdown(model, part, metric.direction);
      if (!worth || !model.failure.empty()) continue;
      const PartSamples samples = part_samples(model, part);
      table.row(
          {shown_name(model.model), run.parts[part], format_bytes(static_cast<double>(samples.held.bytes)),
           value_with_unit(median(samples.without), metric.unit), factor(worth->value),
           range(worth->interval), value_with_unit(part_saving(samples, metric.direction), metric.unit)});
    }
  }
  return table;
}

void add_parts(View& view, const CacheRequest& request, const CacheRun& run) {
  Table table = part_table(request, run);
  std::vector<std::string> empty;
  for (std::size_t part = 0; part < run.parts.size(); ++part) {
    const bool held = std::ranges::any_of(
        run.models, [&](const ModelRun& model) { return !part_samples(model, part).without.empty(); });
    if (!held) empty.push_back(run.parts[part]);
  }
  if (table.size() > 0) {
    view.table(std::move(table))
        .notes("  each row is a run without that cache only; caches overlap, so the savings do not add up\n");
  }
  if (!empty.empty()) view.notes("  empty: " + join(empty, ", ") + "\n");
}

/// May be empty.
std::string left_over_text(const CacheRun& run) {
  const LeftOver* most = nullptr;
  for (const ModelRun& model : run.models) {
    for (const CachePair& pair : model.pairs) {
      if (most == nullptr || pair.elsewhere.content.bytes > most->content.bytes) most = &pair.elsewhere;
    }
  }
  if (most == nullptr || most->content.files == 0) return "";
  const std::string where = most->where.empty() ? "" : ", mostly in TMPDIR/" + most->where;
  return fmt::format(
      "in no layer: commands left {}, {}, in TMPDIR{}; it was also empty before each cold run\n",
      counted(most->content.files, "file"), format_bytes(static_cast<double>(most->content.bytes)), where);
}

bool any_pair(const CacheRun& run, std::size_t layer, const std::function<bool(const LayerReading&)>& holds) {
  return std::ranges::any_of(run.models, [&](const ModelRun& model) {
    return std::ranges::any_of(model.pairs, [&](const CachePair& pair) { return holds(pair.layers[layer]); });
  });
}

std::string warm_lines(const CacheRequest& request, const CacheRun& run) {
  std::string text;
  for (std::size_t i = 0; i < request.suite.layers.size(); ++i) {
    for (const ModelRun& model : run.models) {
      const auto warm = std::ranges::find_if(
          model.pairs, [i](const CachePair& pair) { return !pair.layers[i].warmth.empty(); });
      if (warm == model.pairs.end()) continue;
      text += fmt::format("NOT COLD: {} before a cold run of {}: {}\n", request.suite.layers[i].name,
                          model.model, warm->layers[i].warmth);
    }
  }
  for (const ModelRun& model : run.models) {
    const std::string unnamed = unnamed_cache(model, request.suite.metric.direction);
    if (unnamed.empty() || !model.failure.empty()) continue;
    text += fmt::format("NOT COLD: {}: {}; name it with --layer (pages for the page cache)\n",
                        shown_name(model.model), unnamed);
  }
  return text;
}

std::string layer_lines(const CacheRequest& request, const CacheRun& run) {
  std::string text;
  for (std::size_t i = 0; i < request.suite.layers.size(); ++i) {
    const LayerSpec& layer = request.suite.layers[i];
    if (layer.kind == LayerSpec::Kind::kPages) continue;
    if (!any_pair(run, i, [](const LayerReading& reading) { return reading.after_cold.files > 0; })) {
      text += fmt::format("unused: no command wrote to {}\n", layer.name);
    } else if (any_pair(run, i, [](const LayerReading& reading) {
                 return reading.after_warm.bytes > 2 * reading.after_cold.bytes;
               })) {
      text += fmt::format("still filling: warm runs more than doubled the bytes in {}\n", layer.name);
    }
  }
  return text + left_over_text(run);
}

std::string cold_sentence(const CacheRequest& request, const CacheRun& run) {
  const bool drops_pages = std::ranges::any_of(request.suite.layers, [](const LayerSpec& layer) {
    return layer.kind == LayerSpec::Kind::kPages && layer.path.empty();
  });
  return fmt::format("cold runs were cold: before each of the {}, every layer was {}", pair_count(run),
                     drops_pages ? "empty or dropped" : "empty");
}

void answer_part_slowdown(View& view, const CacheRequest& request, const CacheRun& run) {
  const Direction direction = request.suite.metric.direction;
  const auto text = [&](const std::string& what, const CacheEstimate& gain) {
    const std::string over =
        gain.interval ? " (95 % interval " + range(gain.interval) + ")" : " (too few pairs for an interval)";
    const bool inconclusive = gain.interval && gain.interval->contains(1);
    return fmt::format("{}: warm is {} as {} as cold{}{}", what, factor(gain.value),
                       direction == Direction::kLowerIsBetter ? "fast" : "good", over,
                       inconclusive ? ": inconclusive" : "");
  };
  std::vector<std::pair<std::string, CacheEstimate>> gains;
  for (const ModelRun& model : run.models) {
    if (model.pairs.empty() || !model.failure.empty()) continue;
    if (const auto gain = speed_up(model, direction)) gains.emplace_back(shown_name(model.model), *gain);
  }
  if (gains.size() == 1) view.answer(text(gains.front().first, gains.front().second));
  const auto mean = suite_speed_up(run, direction);
  if (gains.size() < 2 || !mean) return;
  view.answer(text(fmt::format("geometric mean of {} models", mean->count), *mean));
  const auto least = std::ranges::min_element(gains, {}, [](const auto& gain) { return gain.second.value; });
  view.answer(fmt::format("smallest for {}: {}", least->first, factor(least->second.value)));
}

}  // namespace

CacheEstimate estimate_of(std::span<const double> values) {
  if (!are_positive(values)) return {median(values), std::nullopt, values.size()};
  std::vector<double> logs(values.begin(), values.end());
  for (double& value : logs) value = std::log(value);
  CacheEstimate estimate = estimate_of_logs(logs);
  estimate.value = median(values);
  return estimate;
}

std::optional<CacheEstimate> speed_up(const ModelRun& model, Direction direction) {
  return estimate_of_pairs(model,
                           [&](const CachePair& pair) { return log_gain(pair.cold, pair.warm, direction); });
}

std::optional<CacheEstimate> warm_run_ratio(const ModelRun& model, Direction direction) {
  return estimate_of_pairs(model, [&](const CachePair& pair) {
    return pair.warm_again ? log_gain(pair.warm, *pair.warm_again, direction) : std::nullopt;
  });
}

std::optional<CacheEstimate> part_slowdown(const ModelRun& model, std::size_t part, Direction direction) {
  return estimate_of_pairs(model, [&](const CachePair& pair) {
    if (part >= pair.without.size() || !pair.without[part].value) return std::optional<double>();
    return log_gain(*pair.without[part].value, pair.part_baseline(), direction);
  });
}

PartSamples part_samples(const ModelRun& model, std::size_t part) {
  PartSamples samples;
  for (const CachePair& pair : model.pairs) {
    if (part >= pair.without.size() || !pair.without[part].value) continue;
    samples.without.push_back(*pair.without[part].value);
    samples.warm.push_back(pair.part_baseline());
    samples.rounds.push_back(pair.round);
    if (pair.without[part].held.bytes >= samples.held.bytes) samples.held = pair.without[part].held;
  }
  return samples;
}

double part_saving(const PartSamples& samples, Direction direction) {
  std::vector<double> saved;
  for (std::size_t i = 0; i < samples.without.size(); ++i) {
    const double more = samples.without[i] - samples.warm[i];
    saved.push_back(direction == Direction::kLowerIsBetter ? more : -more);
  }
  return median(saved);
}

std::optional<CacheEstimate> suite_speed_up(const CacheRun& run, Direction direction) {
  std::size_t rounds = SIZE_MAX;
  for (const ModelRun& model : run.models) {
    if (model.failure.empty()) rounds = std::min(rounds, model.pairs.size());
  }
  std::vector<double> logs;
  for (std::size_t round = 0; rounds != SIZE_MAX && round < rounds; ++round) {
    double sum = 0;
    std::size_t count = 0;
    for (const ModelRun& model : run.models) {
      if (!model.failure.empty()) continue;
      const auto gain = log_gain(model.pairs[round].cold, model.pairs[round].warm, direction);
      if (!gain) return std::nullopt;
      sum += *gain;
      ++count;
    }
    logs.push_back(sum / static_cast<double>(count));
  }
  if (logs.empty()) return std::nullopt;
  return estimate_of_logs(logs);
}

std::optional<double> saved_share(const CacheEstimate& speed_up, Direction direction) {
  if (direction != Direction::kLowerIsBetter || !(speed_up.value > 0)) return std::nullopt;
  return 1 - 1 / speed_up.value;
}

std::optional<double> first_cold_excess(const ModelRun& model, Direction direction) {
  if (model.pairs.size() < kMinPairs) return std::nullopt;
  std::vector<double> later;
  for (auto pair = model.pairs.begin() + 1; pair != model.pairs.end(); ++pair) {
    const auto gain = log_gain(model.pairs.front().cold, pair->cold, direction);
    if (!gain) return std::nullopt;
    later.push_back(*gain);
  }
  const double excess = median(later);
  for (double& value : later) value = std::abs(value - excess);
  if (excess < std::max(std::log(kMuchLonger), kSpreads * quantile(later, 0.75))) return std::nullopt;
  return std::exp(excess);
}

std::string unnamed_cache(const ModelRun& model, Direction direction) {
  const auto excess = first_cold_excess(model, direction);
  if (!excess) return "";
  return fmt::format(
      "the first cold run was {:.3g} times as {} as the {} later ones: a cache outside the layers survived "
      "the clearing",
      *excess, direction == Direction::kLowerIsBetter ? "long" : "poor", model.pairs.size() - 1);
}

std::optional<double> cachebench_percent(const ModelRun& model) {
  const std::vector<double> cold = cold_values(model), warm = warm_values(model);
  const double cold_sum = std::accumulate(cold.begin(), cold.end(), 0.0);
  const double warm_sum = std::accumulate(warm.begin(), warm.end(), 0.0);
  if (cold_sum == 0) return std::nullopt;
  return (1 - (warm_sum / cold_sum)) * 100;
}

std::vector<double> cold_values(const ModelRun& model) {
  std::vector<double> values;
  for (const CachePair& pair : model.pairs) values.push_back(pair.cold);
  return values;
}

std::vector<double> warm_values(const ModelRun& model) {
  std::vector<double> values;
  for (const CachePair& pair : model.pairs) values.push_back(pair.warm);
  return values;
}

std::string phase_metric(const char* phase, const MetricSource& metric) {
  return fmt::format("{} {} ({})", phase, metric.name, metric.unit);
}

std::vector<Record> cache_records(const CacheRequest& request, const CacheRun& run,
                                  const std::shared_ptr<const Environment>& environment) {
  auto shown = environment ? std::make_shared<Environment>(*environment) : std::make_shared<Environment>();
  shown->options.cache_run = cache_run_json(request, run);
  const RecordMaker maker(request, run, std::move(shown));
  std::vector<Record> records;
  for (const ModelRun& model : run.models) maker.add_model(model, records);
  maker.add_suite(records);
  return records;
}

std::string cachebench_json(const CacheRequest& request, const CacheRun& run) {
  const Suite& suite = request.suite;
  Json extra = Json::object();
  for (const SuiteOption& option : suite.options) {
    if (option.name != "mode") extra[option.label] = extra_value(request.options.at(option.name));
  }
  Json records = Json::array();
  for (const ModelRun& model : run.models) {
    const auto saved = cachebench_percent(model);
    if (!model.failure.empty() || !saved) continue;
    const std::pair<std::string, std::vector<double>> metrics[] = {
        {phase_metric("Cold", suite.metric), cold_values(model)},
        {phase_metric("Warm", suite.metric), warm_values(model)},
        {"Speedup (%)", {*saved}}};
    for (const auto& [name, values] : metrics) {
      records.push_back(
          {{"benchmark",
            {{"name", suite.benchmark},
             {"mode", option_or(request.options, "mode", "")},
             {"extra_info", extra}}},
           {"model",
            {{"name", model.model}, {"backend", suite.backend}, {"origins", Json::array({suite.name})}}},
           {"metric", {{"name", name}, {"type", "OSS model"}, {"benchmark_values", values}}}});
    }
  }
  return records.empty() ? "" : dump_json(records) + "\n";
}

View cache_view(const CacheRequest& request, const CacheRun& run) {
  const Suite& suite = request.suite;
  View view;
  const auto failed =
      std::ranges::count_if(run.models, [](const ModelRun& model) { return !model.failure.empty(); });
  if (failed > 0) {
    view.answer(
        fmt::format("{} of {} failed: see the last lines", failed, counted(run.models.size(), "model")),
        Tone::kBad);
  }
  const auto unreached =
      std::ranges::count_if(run.models, [](const ModelRun& model) { return !model.unreached.empty(); });
  if (unreached > 0) {
    view.answer(fmt::format("{} of {} not measured: time ran out before one cold and one warm run", unreached,
                            counted(run.models.size(), "model")),
                Tone::kBad);
  }
  if (pair_count(run) > 0) {
    answer_part_slowdown(view, request, run);
    const std::string warm = warm_lines(request, run);
    if (warm.empty()) {
      view.answer(cold_sentence(request, run));
    } else {
      view.answer(warm, Tone::kBad);
    }
    view.title(fmt::format("{}: {} ({}), cold against warm, {} order", suite.name, suite.metric.name,
                           suite.metric.unit, suite.random_order ? "models in random" : "models in listed"));
    view.table(model_table(request, run));
    const bool few = std::ranges::any_of(
        run.models, [](const ModelRun& model) { return model.pairs.size() > 1 && model.pairs.size() < 6; });
    if (few) view.notes("  fewer than 6 pairs: intervals use Student's t on logarithms\n");
    if (request.repeat == 1) view.notes("  one pair gives no interval: use --repeat 6\n");
    if (!run.parts.empty()) add_parts(view, request, run);
    view.table(layer_table(request, run)).notes(layer_lines(request, run), Tone::kPlain);
  }
  for (const ModelRun& model : run.models) {
    if (!model.unreached.empty())
      view.notes(fmt::format("skipped: {}: {}\n", shown_name(model.model), model.unreached), Tone::kBad);
    if (model.capped && !model.pairs.empty() && model.pairs.size() < request.repeat) {
      view.notes(fmt::format("{}: {} of {} pairs: time ran out\n", shown_name(model.model),
                             model.pairs.size(), request.repeat),
                 Tone::kPlain);
    }
    if (!model.left_running.empty())
      view.notes(fmt::format("{}: {}\n", shown_name(model.model), model.left_running), Tone::kPlain);
    if (model.failure.empty()) continue;
    view.notes(
        fmt::format("FAILED: {}: {}{}\n", shown_name(model.model), model.failure,
                    model.pairs.empty() ? "" : fmt::format(" ({} pairs before that)", model.pairs.size())),
        Tone::kBad);
  }
  return view;
}

}  // namespace headroom

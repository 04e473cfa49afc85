// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/cache_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/command/cache_estimate.h"
#include "headroom/command/cache_run_json.h"
#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

constexpr const char* kSpeedUp = "speedup";

std::string option_or(const OptionValues& options, const char* name, const char* fallback) {
  const auto found = options.find(name);
  return found == options.end() ? fallback : found->second;
}

StopReason stop_of(const CacheRequest& request, const CacheRun& run, std::size_t pairs) {
  if (pairs == request.repeat) return StopReason::kMaxSamples;
  return run.interrupted ? StopReason::kInterrupted : StopReason::kNone;
}

/// Makes the records of one request.
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
      record.outcome = model.failure.empty()
                           ? Outcome{Outcome::Kind::kSkipped, "interrupted before its first pair"}
                           : Outcome{Outcome::Kind::kFailed, model.failure};
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
    record.stop = stop_of(request_, run_, gain->count);
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

  /// The runs without a part, and how many times as long as the warm ones they are.
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
    without.metric.extra_info["saves"] = fmt::format("{}", saved_by_part(of_part, metric.direction));
    records.push_back(std::move(without));
    const auto worth = worth_of_part(model, part, metric.direction);
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
    record.stop = stop_of(request_, run_, model.pairs.size());
    add_layers(record, model);
  }

  static void set_estimate(Record& record, const CacheEstimate& estimate) {
    record.metric.value = estimate.value;
    record.interval = estimate.interval;
  }

  /// What no layer has of TMPDIR, where that is anything, and what each layer held:
  /// "files 0 12 12, bytes 0 40960 40960" of the last pair: before, after the cold run, after the warm one.
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

/// "true" and "false" as what they mean, any other value as it is.
Json extra_value(const std::string& value) {
  if (value == "true" || value == "false") return value == "true";
  return value;
}

}  // namespace

std::string phase_metric(const char* phase, const MetricSource& metric) {
  return fmt::format("{} {} ({})", phase, metric.name, metric.unit);
}

std::vector<Record> cache_records(const CacheRequest& request, const CacheRun& run,
                                  std::shared_ptr<const Environment> environment) {
  auto shown = environment ? std::make_shared<Environment>(*environment) : std::make_shared<Environment>();
  shown->extra_info[kCacheRunKey] = cache_run_json(request, run);
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

}  // namespace headroom

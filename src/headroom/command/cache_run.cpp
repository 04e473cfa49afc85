// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/cache_run.h"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/command/measured_command.h"
#include "headroom/record/metrics.h"
#include "headroom/schedule/runner.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kCaptureBytes = std::size_t{16} << 20;
constexpr std::uint64_t kFullDiskBytes = 64 << 10;

bool is_full(const fs::path& folder) {
  struct statvfs disk {};
  return ::statvfs(folder.c_str(), &disk) == 0 &&
         std::uint64_t{disk.f_bavail} * disk.f_frsize < kFullDiskBytes;
}

struct PairInterrupted {};
struct PairOutOfTime {};

class Layers {
 public:
  Layers(const CacheRequest& request, const fs::path& folder, const fs::path& temporary) {
    for (const LayerSpec& spec : request.suite.layers) {
      names_.push_back(spec.name);
      layers_.push_back(with_context("cache layer " + quote(spec.name),
                                     [&] { return open_layer(spec, folder, temporary, request.journal); }));
    }
  }

  std::vector<std::string> parts() const {
    std::vector<std::string> all;
    for (const auto& layer : layers_) {
      for (std::string& part : layer->parts()) all.push_back(std::move(part));
    }
    return all;
  }
  std::pair<CacheLayer*, std::size_t> part(std::size_t index) const {
    for (const auto& layer : layers_) {
      const std::size_t own = layer->parts().size();
      if (index < own) return {layer.get(), index};
      index -= own;
    }
    throw std::out_of_range("no layer has this part");
  }

  std::vector<LayerReading> clear() {
    std::vector<LayerReading> readings(layers_.size());
    for (const auto& layer : layers_) layer->clear();
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      readings[i].before = layers_[i]->content();
      readings[i].warmth = layers_[i]->warmth(readings[i].before);
    }
    return readings;
  }
  void read(std::vector<LayerReading>& readings, LayerContent LayerReading::*when) const {
    for (std::size_t i = 0; i < layers_.size(); ++i) readings[i].*when = layers_[i]->content();
  }
  void require_intact() const {
    for (const auto& layer : layers_) {
      if (std::string damage = layer->damage(); !damage.empty()) throw Error(damage);
    }
  }
  void add_environment(std::vector<std::pair<std::string, std::string>>& environment) const {
    // Later variables win.
    for (const auto& layer : layers_) {
      for (auto& variable : layer->environment_of_parts()) environment.push_back(std::move(variable));
    }
    for (const auto& layer : layers_) {
      for (auto& variable : layer->environment()) environment.push_back(std::move(variable));
    }
  }
  void add_folders(Placeholders& values) const {
    for (std::size_t i = 0; i < layers_.size(); ++i)
      values["layer." + names_[i]] = layers_[i]->folder().string();
  }
  std::string full_disk() const {
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const fs::path folder = layers_[i]->folder();
      if (!folder.empty() && is_full(folder))
        return "; the disk of the cache layer " + quote(names_[i]) + " is full";
    }
    return "";
  }
  void put_back() {
    for (const auto& layer : layers_) layer->put_back();
  }

 private:
  std::vector<std::string> names_;
  std::vector<std::unique_ptr<CacheLayer>> layers_;
};

class PairRunner {
 public:
  PairRunner(const CacheRequest& request, const CacheObserver& observer,
             const std::function<bool()>& is_interrupted)
      : request_(request),
        observer_(observer),
        is_interrupted_(is_interrupted),
        temporary_(folder_.path() / "tmp"),
        layers_(request, folder_.path(), temporary_),
        order_(request.seed),
        end_ns_(steady_now_ns() + request.run_time_ns) {}

  bool is_late() const { return steady_now_ns() >= end_ns_; }

  std::vector<std::string> parts() const { return layers_.parts(); }

  /// Throws Error if the model fails, PairInterrupted, PairOutOfTime.
  CachePair run(const std::string& model, std::uint32_t round, CacheStep step) {
    step.model = model;
    step.round = round;
    CachePair pair;
    pair.round = round;
    work_ = folder_.path() / "work";
    remove_tree(work_);
    fs::create_directory(work_);
    // Files that no layer names must be cold, too.
    remove_tree(temporary_);
    fs::create_directory(temporary_);
    pair.layers = layers_.clear();
    pair.cold = measure("cold", step);
    layers_.read(pair.layers, &LayerReading::after_cold);
    layers_.require_intact();
    pair.warm = measure("warm", step);
    if (request_.warm_twice && !request_.each_layer) pair.warm_again = measure("warm again", step);
    layers_.read(pair.layers, &LayerReading::after_warm);
    pair.elsewhere = left_over(temporary_, request_.suite.layers);
    if (request_.each_layer) measure_parts(pair, step);
    return pair;
  }

  void put_back() { layers_.put_back(); }
  std::string left_running(const std::string& model) const { return left_running_.note(number_of(model)); }

 private:
  /// Uses a random order per pair, second warm run included.
  void measure_parts(CachePair& pair, const CacheStep& step) {
    const std::vector<std::string> names = layers_.parts();
    pair.without.resize(names.size());
    std::vector<std::size_t> order(names.size() + (request_.warm_twice ? 1 : 0));
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[order_() % i]);
    for (const std::size_t index : order) {
      if (index == names.size()) {
        pair.warm_again = measure("warm again", step);
        continue;
      }
      const auto [layer, part] = layers_.part(index);
      PartRun& run = pair.without[index];
      run.held = layer->part_content(part);
      if (run.held.files == 0 && run.held.bytes == 0) continue;
      layer->clear_part(part);
      run.value = measure(names[index] + " cold", step);
      layer->restore_part(part);
    }
  }

  std::size_t number_of(const std::string& model) const {
    return static_cast<std::size_t>(std::ranges::find(request_.models, model) - request_.models.begin());
  }

  double measure(const std::string& phase, CacheStep step) {
    if (is_late()) throw PairOutOfTime{};
    step.phase = phase;
    if (observer_.on_step) observer_.on_step(step);
    try {
      return with_context(fmt::format("{} run of pair {}", phase, step.round + 1),
                          [&] { return measured(step.model); });
    } catch (const Error& error) {
      throw Error(error.what() + layers_.full_disk());
    }
  }

  double measured(const std::string& model) {
    const Suite& suite = request_.suite;
    const fs::path output = folder_.path() / fmt::format("output-{}", ++runs_) / "result.csv";
    fs::create_directory(output.parent_path());
    Placeholders values = request_.places;
    values["model"] = model;
    values["output"] = output.string();
    values["work"] = work_.string();
    layers_.add_folders(values);

    CommandSpec spec;
    spec.arguments = command_of(suite, request_.options, values);
    spec.folder = fill_placeholders(suite.folder, values);
    spec.environment.emplace_back("TMPDIR", temporary_.string());
    for (const auto& [name, value] : suite.environment)
      spec.environment.emplace_back(name, fill_placeholders(value, values));
    layers_.add_environment(spec.environment);
    spec.environment.push_back(left_running_.mark(number_of(model)));
    spec.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(suite.timeout_s * 1e3));
    const bool in_file = suite.metric.needs_document() && mentions_placeholder(suite, "output");
    if (suite.metric.needs_document() && !in_file) spec.output = CommandSpec::Output::kCapture;
    spec.capture_bytes = kCaptureBytes;

    const CommandResult result = run_command(spec, is_interrupted_);
    if (result.interrupted) throw PairInterrupted{};
    if (!result.ok()) throw Error(failure_of(result));
    MetricDocument document{result.output, "its standard output", result.output_cut};
    if (in_file) document = {written(output), "its output file", false};
    const double value = read_metric(suite.metric, result, document);
    remove_tree(output.parent_path());
    return value;
  }

  std::string failure_of(const CommandResult& result) const {
    if (!result.timed_out) return result.failure();
    return fmt::format("{} after {:g} s", result.failure(), request_.suite.timeout_s);
  }

  static std::string written(const fs::path& output) {
    std::error_code error;
    if (!fs::exists(output, error)) throw Error("it wrote no file {output}");
    return read_file(output);
  }

  const CacheRequest& request_;
  const CacheObserver& observer_;
  const std::function<bool()>& is_interrupted_;
  TemporaryFolder folder_;
  fs::path temporary_;
  Layers layers_;
  std::mt19937_64 order_;
  double end_ns_;
  fs::path work_;
  int runs_ = 0;
  LeftRunning left_running_;
};

Json content_json(const LayerContent& content) {
  return Json::array({content.files, content.bytes});
}

LayerContent content_of(const Json& json) {
  return {json.at(0).get<std::uint64_t>(), json.at(1).get<std::uint64_t>()};
}

Json optional_json(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::optional<double> optional_of(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional(json.get<double>());
}

Json pair_json(const CachePair& pair) {
  Json layers = Json::array(), without = Json::array();
  for (const LayerReading& layer : pair.layers) {
    layers.push_back(Json::array({content_json(layer.before), content_json(layer.after_cold),
                                  content_json(layer.after_warm), layer.warmth}));
  }
  for (const PartRun& part : pair.without)
    without.push_back(Json::array({content_json(part.held), optional_json(part.value)}));
  return {{"round", pair.round},
          {"cold", pair.cold},
          {"warm", pair.warm},
          {"warm_again", optional_json(pair.warm_again)},
          {"layers", layers},
          {"without", without},
          {"elsewhere", Json::array({content_json(pair.elsewhere.content), pair.elsewhere.where})}};
}

CachePair pair_of(const Json& json) {
  CachePair pair;
  pair.round = json.at("round").get<std::uint32_t>();
  pair.cold = json.at("cold").get<double>();
  pair.warm = json.at("warm").get<double>();
  pair.warm_again = optional_of(json.at("warm_again"));
  for (const Json& layer : json.at("layers")) {
    pair.layers.push_back(
        {content_of(layer.at(0)), content_of(layer.at(1)), content_of(layer.at(2)), layer.at(3).string()});
  }
  for (const Json& part : json.at("without"))
    pair.without.push_back({content_of(part.at(0)), optional_of(part.at(1))});
  const Json& elsewhere = json.at("elsewhere");
  pair.elsewhere = {content_of(elsewhere.at(0)), elsewhere.at(1).string()};
  return pair;
}

Json request_json(const CacheRequest& request) {
  const Suite& suite = request.suite;
  Json layers = Json::array();
  for (const LayerSpec& layer : suite.layers)
    layers.push_back(Json::array({layer.name, static_cast<int>(layer.kind), layer.variable, layer.path}));
  return {{"suite", suite.name},
          {"metric", suite.metric.name},
          {"unit", suite.metric.unit},
          {"lower_is_better", suite.metric.direction == Direction::kLowerIsBetter},
          {"random_order", suite.random_order},
          {"repeat", request.repeat},
          {"warm_twice", request.warm_twice},
          {"layers", layers}};
}

CacheRequest request_of(const Json& json) {
  CacheRequest request;
  Suite& suite = request.suite;
  suite.name = json.at("suite").string();
  suite.metric.name = json.at("metric").string();
  suite.metric.unit = json.at("unit").string();
  suite.metric.direction =
      json.at("lower_is_better").get<bool>() ? Direction::kLowerIsBetter : Direction::kHigherIsBetter;
  suite.random_order = json.at("random_order").get<bool>();
  request.repeat = json.at("repeat").get<std::uint64_t>();
  request.warm_twice = json.at("warm_twice").get<bool>();
  for (const Json& layer : json.at("layers")) {
    LayerSpec& spec = suite.layers.emplace_back();
    const int kind = layer.at(1).get<int>();
    if (kind < 0 || kind > static_cast<int>(LayerSpec::Kind::kPages)) throw Error("an unknown kind of layer");
    spec.name = layer.at(0).string();
    spec.kind = static_cast<LayerSpec::Kind>(kind);
    spec.variable = layer.at(2).string();
    spec.path = layer.at(3).string();
  }
  return request;
}

void check_value(double value) {
  if (value < 0 || !is_bounded(value)) throw Error(fmt::format("{:g} is not a possible measurement", value));
}

void check(const ShownCacheRun& shown) {
  for (const ModelRun& model : shown.run.models) {
    for (const CachePair& pair : model.pairs) {
      const bool fits = pair.layers.size() == shown.request.suite.layers.size() &&
                        pair.without.size() == shown.run.parts.size();
      if (!fits) throw Error("a pair has different layers than the suite");
      for (const std::optional<double>& value :
           {std::optional(pair.cold), std::optional(pair.warm), pair.warm_again})
        check_value(value.value_or(0));
      for (const PartRun& part : pair.without) check_value(part.value.value_or(0));
      if (pair.warm_again && !shown.request.warm_twice) throw Error("a second warm run was not requested");
    }
  }
}

}  // namespace

std::vector<std::size_t> pair_order(std::size_t models, std::size_t repeat, bool random_order,
                                    std::uint64_t seed) {
  std::vector<std::size_t> order;
  if (!random_order) {
    for (std::size_t model = 0; model < models; ++model) order.insert(order.end(), repeat, model);
    return order;
  }
  std::mt19937_64 random(seed);
  for (std::size_t round = 0; round < repeat; ++round) {
    const std::size_t first = order.size();
    for (std::size_t model = 0; model < models; ++model) order.push_back(model);
    // Not std::shuffle, which differs between standard libraries; the bias of % is below 2^-50.
    for (std::size_t i = models; i > 1; --i) std::swap(order[first + i - 1], order[first + random() % i]);
  }
  return order;
}

namespace {

/// Shares the time between models.
double max_ns_of_model(const CacheRequest& request) {
  if (request.suite.random_order) return request.max_ns_of_model;
  return std::min(request.max_ns_of_model, request.run_time_ns / static_cast<double>(request.models.size()));
}

void end_by_time(const CacheRequest& request, ModelRun& model) {
  model.capped = true;
  if (model.pairs.empty()) model.unreached = request.out_of_time;
}

}  // namespace

CacheRun run_cache(const CacheRequest& request, const CacheObserver& observer,
                   const std::function<bool()>& is_interrupted) {
  CacheRun run;
  for (const std::string& model : request.models) run.models.push_back({model, {}, ""});
  PairRunner runner(request, observer, is_interrupted);
  if (request.each_layer) run.parts = runner.parts();
  const std::vector<std::size_t> order =
      pair_order(request.models.size(), request.repeat, request.suite.random_order, request.seed);
  const double most_ns = max_ns_of_model(request);
  std::vector<double> spent_ns(run.models.size(), 0);
  for (std::size_t i = 0; i < order.size() && !run.interrupted; ++i) {
    ModelRun& model = run.models[order[i]];
    if (!model.failure.empty()) continue;
    if (runner.is_late() || (spent_ns[order[i]] >= most_ns && !model.pairs.empty())) {
      end_by_time(request, model);
      continue;
    }
    if (is_interrupted && is_interrupted()) {
      run.interrupted = true;
      break;
    }
    const double start_ns = steady_now_ns();
    try {
      const auto round = static_cast<std::uint32_t>(model.pairs.size());
      model.pairs.push_back(runner.run(model.model, round, {"", "", 0, i + 1, order.size()}));
    } catch (const Error& error) {
      model.failure = error.what();
    } catch (const PairInterrupted&) {
      run.interrupted = true;
    } catch (const PairOutOfTime&) {
      end_by_time(request, model);
    }
    spent_ns[order[i]] += steady_now_ns() - start_ns;
    if (observer.on_progress && !run.interrupted) observer.on_progress(run);
  }
  for (ModelRun& model : run.models) model.left_running = runner.left_running(model.model);
  runner.put_back();
  return run;
}

Json cache_run_json(const CacheRequest& request, const CacheRun& run) {
  Json models = Json::array();
  for (const ModelRun& model : run.models) {
    Json pairs = Json::array();
    for (const CachePair& pair : model.pairs) pairs.push_back(pair_json(pair));
    Json one = {{"model", model.model},
                {"pairs", pairs},
                {"failure", model.failure},
                {"left_running", model.left_running}};
    if (model.capped) one["capped"] = true;
    if (!model.unreached.empty()) one["unreached"] = model.unreached;
    models.push_back(std::move(one));
  }
  return {{"request", request_json(request)}, {"models", models}, {"parts", run.parts}};
}

ShownCacheRun cache_run_from_json(const Json& json, const std::string& source) {
  return with_context(source, [&] {
    ShownCacheRun shown;
    shown.request = request_of(json.at("request"));
    shown.run.parts = json.at("parts").get<std::vector<std::string>>();
    for (const Json& model : json.at("models")) {
      ModelRun& one = shown.run.models.emplace_back(ModelRun{model.at("model").string(), {}, ""});
      one.failure = model.at("failure").string();
      one.left_running = model.at("left_running").string();
      one.capped = model.contains("capped") && model.at("capped").get<bool>();
      if (model.contains("unreached")) one.unreached = model.at("unreached").string();
      for (const Json& pair : model.at("pairs")) one.pairs.push_back(pair_of(pair));
    }
    check(shown);
    return shown;
  });
}

}  // namespace headroom

// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/cache_run_json.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/json.h"

namespace headroom {
namespace {

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

/// Ratios of what lies beyond are no numbers.
void check_value(double value) {
  constexpr double kLeast = 1e-100, kMost = 1e100;
  if (value != 0 && !(value >= kLeast && value <= kMost))
    throw Error(fmt::format("a measurement of {:g}, which none can be", value));
}

/// What the table takes for granted of every pair.
void check(const ShownCacheRun& shown) {
  for (const ModelRun& model : shown.run.models) {
    for (const CachePair& pair : model.pairs) {
      const bool fits = pair.layers.size() == shown.request.suite.layers.size() &&
                        pair.without.size() == shown.run.parts.size();
      if (!fits) throw Error("a pair with other layers than the suite");
      for (const std::optional<double>& value :
           {std::optional(pair.cold), std::optional(pair.warm), pair.warm_again})
        check_value(value.value_or(0));
      for (const PartRun& part : pair.without) check_value(part.value.value_or(0));
      if (pair.warm_again && !shown.request.warm_twice)
        throw Error("a second warm run that was not asked for");
    }
  }
}

}  // namespace

std::string cache_run_json(const CacheRequest& request, const CacheRun& run) {
  Json models = Json::array();
  for (const ModelRun& model : run.models) {
    Json pairs = Json::array();
    for (const CachePair& pair : model.pairs) pairs.push_back(pair_json(pair));
    models.push_back({{"model", model.model},
                      {"pairs", pairs},
                      {"failure", model.failure},
                      {"left_running", model.left_running}});
  }
  return dump_json({{"request", request_json(request)}, {"models", models}, {"parts", run.parts}});
}

ShownCacheRun cache_run_from_json(const std::string& text, const std::string& source) {
  return with_context(source, [&] {
    const Json json = parse_json(text, kCacheRunKey);
    ShownCacheRun shown;
    shown.request = request_of(json.at("request"));
    shown.run.parts = json.at("parts").get<std::vector<std::string>>();
    for (const Json& model : json.at("models")) {
      ModelRun& one = shown.run.models.emplace_back(ModelRun{model.at("model").string(), {}, ""});
      one.failure = model.at("failure").string();
      one.left_running = model.at("left_running").string();
      for (const Json& pair : model.at("pairs")) one.pairs.push_back(pair_of(pair));
    }
    check(shown);
    return shown;
  });
}

}  // namespace headroom

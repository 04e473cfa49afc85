// SPDX-License-Identifier: Apache-2.0
#include "headroom/runner/dispatch_protocol.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <limits>
#include <numeric>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/runner/blas_protocol.h"
#include "headroom/runner/json_integer.h"
#include "headroom/runner/json_numbers.h"

namespace headroom {
namespace {

constexpr int kMostDims = 8;

template <typename Integer>
std::vector<Integer> integers(const Json& object, const char* key) {
  std::vector<Integer> values;
  for (const Json& value : json_array(object, key, "")) {
    values.push_back(json_integer<Integer>(Json{{"value", value}}, "value", key));
  }
  return values;
}

DispatchSteps steps_from_json(const Json& object, const char* key) {
  const Json& json = json_member(object, key, "");
  DispatchSteps steps;
  for (const auto& [name, values] : json.items()) steps[name] = json_numbers(json, name.c_str(), "");
  return steps;
}

std::string placements_text(const std::vector<PlacementText>& placements) {
  std::vector<std::string> texts;
  for (const PlacementText& placement : placements) texts.push_back(placement_text(placement));
  return join(texts, ",");
}

Json choices_json(const std::vector<RankHello::Op>& choices) {
  Json json = Json::array();
  for (const RankHello::Op& choice : choices)
    json.push_back({{"name", choice.name}, {"summary", choice.summary}, {"default", choice.by_default}});
  return json;
}

std::vector<RankHello::Op> choices_of(const Json& json, const char* key) {
  std::vector<RankHello::Op> choices;
  const std::string where = std::string("/") + key;
  for (const Json& choice : json_array(json, key, "")) {
    choices.push_back({json_string(choice, "name", where), json_string(choice, "summary", where),
                       json_bool(choice, "default", where)});
  }
  return choices;
}

}  // namespace

PlacementText parse_placement(std::string_view text) {
  std::string lower(trimmed(text));
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (lower == "r" || lower == "replicate") return {PlacementText::Kind::kReplicate};
  if (lower == "p" || lower == "partial") return {PlacementText::Kind::kPartial};
  for (const std::string_view name : {"shard", "s"}) {
    if (!lower.starts_with(name)) continue;
    std::string_view dim = std::string_view(lower).substr(name.size());
    if (dim.starts_with('(') && dim.ends_with(')')) dim = dim.substr(1, dim.size() - 2);
    const auto number = to_integer(dim);
    if (number && *number >= 0 && *number < kMostDims) {
      return {PlacementText::Kind::kShard, static_cast<int>(*number)};
    }
  }
  throw Error("a placement is S(dim), R or P, not " + in_quotes(text) +
              "; S(0) cuts the rows of a tensor among the ranks, R gives all of it to each");
}

std::string placement_text(const PlacementText& placement) {
  if (placement.kind == PlacementText::Kind::kReplicate) return "R";
  if (placement.kind == PlacementText::Kind::kPartial) return "P";
  return fmt::format("S({})", placement.dim);
}

void require_fit(const DispatchSetup& setup, int ranks) {
  const auto product = std::accumulate(setup.mesh.begin(), setup.mesh.end(), 1LL, std::multiplies<>());
  if (product != ranks) {
    throw Error(fmt::format("a mesh of {} has {} ranks, but there {} {}: change --mesh or --ranks",
                            fmt::join(setup.mesh, "x"), product, ranks == 1 ? "is" : "are", ranks));
  }
  if (setup.placements.size() != setup.mesh.size()) {
    throw Error(fmt::format("{} placement(s) ({}) for a mesh of {} dimension(s): give one for each",
                            setup.placements.size(), placements_text(setup.placements), setup.mesh.size()));
  }
  for (const PlacementText& placement : setup.placements) {
    if (placement.kind != PlacementText::Kind::kShard) continue;
    if (placement.dim < static_cast<int>(setup.shape.size())) continue;
    throw Error(fmt::format(
        "the placement S({}) shards dimension {} of a tensor of shape {}, which has dimensions 0 to {}",
        placement.dim, placement.dim, fmt::join(setup.shape, "x"), setup.shape.size() - 1));
  }
}

Json to_json(const RankHello& hello) {
  Json json{{"rank", hello.rank},
            {"size", hello.size},
            {"pid", hello.pid},
            {"library", hello.library},
            {"no_counters", hello.no_counters},
            {"ops", choices_json(hello.ops)},
            {"models", choices_json(hello.models)},
            {"arguments", hello.arguments},
            {"host", hello.host},
            {"cores", hello.cores}};
  if (hello.blas) json["blas"] = to_json(*hello.blas);
  return json;
}

RankHello rank_hello_from_json(const Json& json) {
  RankHello hello;
  hello.rank = json_integer<int>(json, "rank", "");
  hello.size = json_integer<int>(json, "size", "");
  hello.pid = json_integer<std::int64_t>(json, "pid", "");
  hello.library = json_string(json, "library", "");
  hello.no_counters = json_string(json, "no_counters", "");
  hello.ops = choices_of(json, "ops");
  if (json.contains("models")) hello.models = choices_of(json, "models");
  hello.arguments = json_string_or(json, "arguments", "", "");
  hello.host = json_string_or(json, "host", "", "");
  if (json.contains("cores")) hello.cores = integers<int>(json, "cores");
  hello.blas = blas_of_json(json);
  return hello;
}

Json to_json(const DispatchSetup& setup) {
  Json placements = Json::array();
  for (const PlacementText& placement : setup.placements) placements.push_back(placement_text(placement));
  return {{"mesh", setup.mesh},       {"placements", std::move(placements)},
          {"shape", setup.shape},     {"dtype", setup.dtype},
          {"repeats", setup.repeats}, {"threads", setup.threads},
          {"seed", setup.seed},       {"backend", setup.backend}};
}

DispatchSetup dispatch_setup_from_json(const Json& json) {
  DispatchSetup setup;
  setup.mesh = integers<int>(json, "mesh");
  setup.placements.clear();
  for (const Json& placement : json_array(json, "placements", "")) {
    setup.placements.push_back(parse_placement(placement.is_string() ? placement.get<std::string>() : ""));
  }
  setup.shape = integers<std::int64_t>(json, "shape");
  setup.dtype = json_string(json, "dtype", "");
  setup.repeats = json_integer<int>(json, "repeats", "");
  setup.threads = json_integer<int>(json, "threads", "");
  setup.seed = json_integer<std::uint64_t>(json, "seed", "");
  setup.backend = json_string_or(json, "backend", setup.backend, "");
  return setup;
}

Json to_json(const DispatchCycles& cycles) {
  return {{"plain_ns", cycles.plain_ns},
          {"local_ns", cycles.local_ns},
          {"miss_ns", cycles.miss_ns},
          {"hit_ns", cycles.hit_ns}};
}

DispatchCycles dispatch_cycles_from_json(const Json& json) {
  return {json_numbers(json, "plain_ns", ""), json_numbers(json, "local_ns", ""),
          json_numbers(json, "miss_ns", ""), json_numbers(json, "hit_ns", "")};
}

Json to_json(const DispatchDetails& details) {
  return {{"miss", details.miss},
          {"hit", details.hit},
          {"cache_hits", details.cache_hits},
          {"cache_misses", details.cache_misses},
          {"cache_size", details.cache_size},
          {"instructions", details.instructions}};
}

DispatchDetails dispatch_details_from_json(const Json& json) {
  DispatchDetails details;
  details.miss = steps_from_json(json, "miss");
  details.hit = steps_from_json(json, "hit");
  details.cache_hits = json_integer<std::uint64_t>(json, "cache_hits", "");
  details.cache_misses = json_integer<std::uint64_t>(json, "cache_misses", "");
  details.cache_size = json_integer<std::uint64_t>(json, "cache_size", "");
  const Json& instructions = json_member(json, "instructions", "");
  for (const auto& [name, value] : instructions.items()) {
    details.instructions[name] = json_number(instructions, name.c_str(), "/instructions");
  }
  return details;
}

}  // namespace headroom

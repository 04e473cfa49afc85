// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/rank_hello.h"

#include "headroom/base/json_numbers.h"
#include "headroom/runner/blas_protocol.h"

namespace headroom {
namespace {

std::vector<int> cores_of(const Json& json) {
  std::vector<int> cores;
  for (const Json& core : json_array(json, "cores", ""))
    cores.push_back(json_integer<int>(Json{{"core", core}}, "core", "/cores"));
  return cores;
}

}  // namespace

Json to_json(const RankHello& hello) {
  Json json{{"rank", hello.rank},
            {"size", hello.size},
            {"pid", hello.pid},
            {"library", hello.library},
            {"no_counters", hello.no_counters},
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
  hello.arguments = json_string_or(json, "arguments", "", "");
  hello.host = json_string_or(json, "host", "", "");
  if (json.contains("cores")) hello.cores = cores_of(json);
  hello.blas = blas_of_json(json);
  return hello;
}

}  // namespace headroom
